//! Counts and limits the bytes of a device's memory that a process allocates.

use std::sync::atomic::{AtomicU64, Ordering};

use clathrate_arith::DeviceError;

/// The bytes of a device that one process has allocated, with a limit. The check and the count are one atomic
/// step, so that concurrent threads cannot exceed the limit together.
#[derive(Debug)]
pub(crate) struct Budget {
    allocated: AtomicU64,
    limit: AtomicU64,
}

impl Budget {
    /// A budget without allocations and without a limit.
    pub(crate) const fn unlimited() -> Self {
        Self { allocated: AtomicU64::new(0), limit: AtomicU64::new(u64::MAX) }
    }

    /// Counts `bytes` as allocated. To be called before the allocation.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] where they exceed the limit; then they are not counted.
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

    /// [`Budget::take`] without the check of the limit.
    #[cfg(any(feature = "driver", test))]
    pub(crate) fn take_unlimited(&self, bytes: u64) {
        self.allocated.fetch_add(bytes, Ordering::Relaxed);
    }

    /// No longer counts `bytes`: they were freed or could not be allocated.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.allocated.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes that count as allocated.
    pub(crate) fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// Sets the limit. Bytes that are already counted stay counted.
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
