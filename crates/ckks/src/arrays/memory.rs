//! Memory of the arrays of a dry run: the bytes that are alive now, and the most that were alive at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clathrate_arith::machine::{self, MEMORY_LIMIT};

use crate::error::CkksError;

/// Counts the bytes of all arrays that are alive.
#[derive(Debug, Default)]
pub struct MemoryMeter {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl MemoryMeter {
    /// The most bytes that were alive at once.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }
}

/// The bytes that one array would take; given back when it is dropped.
#[derive(Debug)]
pub struct Footprint {
    meter: Arc<MemoryMeter>,
    bytes: usize,
}

impl Footprint {
    /// `bytes` bytes counted by `meter`.
    #[must_use]
    pub fn new(meter: &Arc<MemoryMeter>, bytes: usize) -> Self {
        meter.add(bytes);
        Self { meter: meter.clone(), bytes }
    }

    /// Another array of `bytes` bytes, counted by the same meter.
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

/// Refuses an operation that takes more memory than is free, before it starts. Where the system does not tell
/// how much is free, nothing is refused.
///
/// # Errors
/// [`CkksError::NotEnoughMemory`]; [`CkksError::OutOfRange`] for a limit in the environment that is no
/// number.
pub(crate) fn check_free(
    operation: &'static str,
    needed: usize,
    remedy: &'static str,
) -> Result<(), CkksError> {
    if let Some(Err(value)) = machine::limit_in(MEMORY_LIMIT) {
        return Err(CkksError::no_bytes("the environment variable CLATHRATE_MEMORY_LIMIT", value));
    }
    let needed = needed as u64;
    match machine::memory() {
        Some(memory) if memory.free_bytes < needed => {
            Err(CkksError::NotEnoughMemory { operation, needed, free: memory.free_bytes, remedy })
        }
        _ => Ok(()),
    }
}
