//! Removes secrets from the stack, and keeps them out of core dumps.

/// More bytes than a hash function uses on the stack.
const CLEARED_BYTES: usize = 16 * 1024;

/// Overwrites the stack below the caller, where earlier calls, such as a hash function of another library,
/// may have left copies of secrets.
#[inline(never)]
pub fn clear_stack() {
    std::hint::black_box(&mut [0u8; CLEARED_BYTES]);
}

/// Forbids the system to write this process's memory, with its secrets, to a core dump. Has no effect on
/// systems other than Unix.
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
