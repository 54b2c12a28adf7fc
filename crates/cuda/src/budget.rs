//! How many bytes of a device's memory are allocated, and how many may be.

use std::sync::atomic::{AtomicU64, Ordering};

use clathrate_arith::DeviceError;

/// The bytes that one process has of a device, under a limit. Threads that allocate at one moment do not
/// exceed it together.
#[derive(Debug)]
pub(crate) struct Budget {
    allocated: AtomicU64,
    limit: AtomicU64,
}

impl Budget {
    /// Nothing allocated, and no limit.
    pub(crate) const fn unlimited() -> Self {
        Self { allocated: AtomicU64::new(0), limit: AtomicU64::new(u64::MAX) }
    }

    /// Counts `bytes` as allocated, before they are.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] where they do not fit the limit; then they do not count.
    pub(crate) fn take(&self, bytes: u64, device: impl FnOnce() -> String) -> Result<(), DeviceError> {
        let limit = self.limit.load(Ordering::Relaxed);
        let fits = |allocated: u64| allocated.checked_add(bytes).filter(|&sum| sum <= limit);
        self.allocated.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map(drop).map_err(
            |allocated| DeviceError::OutOfMemory {
                device: device(),
                needed: bytes,
                free: limit.saturating_sub(allocated),
                total: limit,
                limited: true,
            },
        )
    }

    /// As [`Budget::take`], whatever the limit is.
    #[cfg(any(feature = "driver", test))]
    pub(crate) fn take_unlimited(&self, bytes: u64) {
        self.allocated.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that were taken are free again, or could not be allocated.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.allocated.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes that count as allocated.
    pub(crate) fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// From now on at most `bytes` bytes count as allocated at a time; those that do already stay.
    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_together_do_not_exceed_the_limit() {
        let budget = Budget::unlimited();
        budget.set_limit(1000);
        let taken: usize = std::thread::scope(|scope| {
            let take = || (0..1000).filter(|_| budget.take(3, || "a device".to_owned()).is_ok()).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!((taken, budget.allocated()), (333, 999));
        budget.give_back(999);
        assert_eq!(budget.allocated(), 0);
    }

    #[test]
    fn refusals_name_the_limit_and_count_nothing() {
        let budget = Budget::unlimited();
        budget.take_unlimited(600);
        budget.set_limit(500);
        let error = budget.take(8, || "cuda:0".to_owned()).expect_err("above the limit");
        assert_eq!(
            error,
            DeviceError::OutOfMemory {
                device: "cuda:0".to_owned(),
                needed: 8,
                free: 0,
                total: 500,
                limited: true
            }
        );
        assert!(error.to_string().contains("0 of the 500 bytes that its memory limit allows"), "{error}");
        assert!(budget.take(u64::MAX, || "cuda:0".to_owned()).is_err());
        assert_eq!(budget.allocated(), 600);
        budget.set_limit(u64::MAX);
        assert!(budget.take(8, || "cuda:0".to_owned()).is_ok());
    }
}
