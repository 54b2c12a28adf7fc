//! Detects whether this process created an object, or is a fork of the process that did.
//!
//! In this crate because a page of memory that a fork clears needs `unsafe`. The process number is not
//! enough: a child in another PID namespace, such as a container, can have its parent's number.

use std::fmt;

/// A mark that is valid in the process that made it, and not in processes that are forked from it later.
///
/// On Linux (4.14 and later) it is a page of memory that the system clears in the child; elsewhere the number
/// of the process.
///
/// ```
/// use clathrate_arith::process::ProcessMark;
///
/// assert!(ProcessMark::here().holds());
/// ```
pub struct ProcessMark {
    /// Absent where the system has no such pages.
    page: Option<page::Page>,
    number: u32,
}

impl ProcessMark {
    /// A mark of this process.
    #[must_use]
    pub fn here() -> Self {
        Self { page: page::Page::marked(), number: std::process::id() }
    }

    /// Whether this is the process of the mark.
    #[must_use]
    pub fn holds(&self) -> bool {
        match &self.page {
            Some(page) => page.is_marked(),
            None => self.number == std::process::id(),
        }
    }
}

impl fmt::Debug for ProcessMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessMark(process {}, holds: {})", self.number, self.holds())
    }
}

#[cfg(target_os = "linux")]
mod page {
    use std::ptr::NonNull;

    /// Bytes to map; the system rounds them up to a page.
    const BYTES: usize = 1;

    /// A page whose first byte is 1 in the process that made it, and 0 in its children.
    pub(super) struct Page(NonNull<u8>);

    // SAFETY: the page belongs to this value alone, is written before the value exists, and then only read
    // until it is dropped.
    unsafe impl Send for Page {}
    // SAFETY: as above.
    unsafe impl Sync for Page {}

    impl Page {
        /// `None` where the system gives no page, or cannot clear it in children.
        pub(super) fn marked() -> Option<Self> {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a new anonymous mapping at an address of the system's choice touches no memory that is
            // in use.
            let address = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, kind, -1, 0) };
            if address == libc::MAP_FAILED {
                return None;
            }
            let page = Self(NonNull::new(address.cast())?);
            // SAFETY: the page was mapped above, and is unmapped only when `page` is dropped.
            let cleared = unsafe { libc::madvise(address, BYTES, libc::MADV_WIPEONFORK) } == 0;
            // SAFETY: the page is writable, and nobody else knows its address.
            unsafe { page.0.as_ptr().write_volatile(1) };
            cleared.then_some(page)
        }

        pub(super) fn is_marked(&self) -> bool {
            // SAFETY: the page is mapped and readable as long as this value exists. Volatile, because the
            // system changes it.
            unsafe { self.0.as_ptr().read_volatile() == 1 }
        }
    }

    impl Drop for Page {
        fn drop(&mut self) {
            // SAFETY: `marked` mapped these bytes, and nobody else has their address.
            unsafe { libc::munmap(self.0.as_ptr().cast(), BYTES) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod page {
    /// Other systems have no such pages.
    pub(super) enum Page {}

    impl Page {
        pub(super) fn marked() -> Option<Self> {
            None
        }

        pub(super) fn is_marked(&self) -> bool {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Runs `work` in a forked process, and returns its result by the exit code.
    fn in_a_child(work: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child allocates nothing, takes no lock, and ends by `_exit`.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "no fork");
        if child == 0 {
            let code = i32::from(work());
            // SAFETY: ends the child immediately, without the exit handlers of the test program.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: `status` outlives the call, and the child is this process's own.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status), "the child ended otherwise: {status}");
        libc::WEXITSTATUS(status) == 1
    }

    #[test]
    fn a_mark_holds_in_its_own_process_alone_whatever_the_numbers() {
        let mark = ProcessMark::here();
        assert!(mark.page.is_some(), "this system clears no pages");
        assert!(mark.holds());
        // Only the page counts, so a child with its parent's process number is detected too.
        assert!(!in_a_child(|| mark.holds()));
        // A mark made in the child is valid there; in a grandchild neither mark is valid.
        assert!(in_a_child(|| {
            let own = ProcessMark::here();
            own.holds() && !in_a_child(|| own.holds() || mark.holds())
        }));
        assert!(mark.holds(), "a fork changes nothing here");
        assert!(
            std::thread::scope(|scope| scope.spawn(|| mark.holds()).join().expect("a thread")),
            "threads are the same process"
        );
    }
}
