//! What calls leave behind on the stack.

/// More than a hash function uses of the stack.
const CLEARED_BYTES: usize = 16 * 1024;

/// Overwrites the stack below the caller, where calls before may have left copies of secrets: those that other libraries make, a hash function for example, and nobody can name.
#[inline(never)]
pub fn clear_stack() {
    std::hint::black_box(&mut [0u8; CLEARED_BYTES]);
}
