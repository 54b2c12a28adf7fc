//! Memory of the arrays of a dry run: the bytes in use now, and their maximum so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clathrate_arith::machine::{self, Shortage};

use crate::error::CkksError;

/// Counts the bytes of all arrays that exist.
#[derive(Debug, Default)]
pub struct MemoryMeter {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl MemoryMeter {
    /// The maximum of the bytes in use so far.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }
}

/// The bytes of one array, subtracted from its meter on drop.
#[derive(Debug)]
pub struct Footprint {
    meter: Arc<MemoryMeter>,
    bytes: usize,
}

impl Footprint {
    /// Adds `bytes` bytes to `meter`.
    #[must_use]
    pub fn new(meter: &Arc<MemoryMeter>, bytes: usize) -> Self {
        meter.add(bytes);
        Self { meter: meter.clone(), bytes }
    }

    /// The footprint of another array of `bytes` bytes on the same meter.
    #[must_use]
    pub fn another(&self, bytes: usize) -> Self {
        Self::new(&self.meter, bytes)
    }
}

impl Clone for Footprint {
    fn clone(&self) -> Self {
        self.another(self.bytes)
    }
}

impl Drop for Footprint {
    fn drop(&mut self) {
        self.meter.now.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Refuses an operation before it starts if it takes more memory than is free. Accepts every operation if the
/// operating system does not report the free memory.
///
/// # Errors
/// [`CkksError::NotEnoughMemory`]; [`CkksError::OutOfRange`] if the environment variable with the memory
/// limit is not a number.
pub(crate) fn check_free(
    operation: &'static str,
    needed: usize,
    remedy: &'static str,
) -> Result<(), CkksError> {
    let needed = needed as u64;
    machine::check_free(needed).map_err(|shortage| match shortage {
        Shortage::Limit(value) => {
            CkksError::no_bytes("the environment variable CLATHRATE_MEMORY_LIMIT", value)
        }
        Shortage::Free(free) => CkksError::NotEnoughMemory { operation, needed, free, remedy },
    })
}
