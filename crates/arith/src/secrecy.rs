//! Where a process leaves secrets: on its stack, and in the image of its memory that the system writes to a
//! disk.

/// More than a hash function uses of the stack.
const CLEARED_BYTES: usize = 16 * 1024;

/// Overwrites the stack below the caller, where calls before may have left copies of secrets: those that
/// other libraries make, a hash function for example, and nobody can name.
#[inline(never)]
pub fn clear_stack() {
    std::hint::black_box(&mut [0u8; CLEARED_BYTES]);
}

/// Keeps the system from writing this process's memory, secrets among it, to a disk where the process ends by
/// a fault. Other systems than Unix decide by themselves.
pub fn forbid_core_dumps() {
    #[cfg(unix)]
    {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both calls take a pointer to a structure that outlives them.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) == 0 {
                limit.rlim_cur = 0;
                libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
            }
        }
    }
}
