//! Queues the launches of an operation, and submits them to the device together.
//!
//! Each thread has a queue for each device. While it is open ([`Queued::open`]), launches and frees of this
//! thread are queued. Every other call except an allocation first submits the queue, so that all calls take
//! effect in their order. Launches of other threads are not queued, and cannot read results of this thread's
//! operation before it ends.

use std::cell::RefCell;
use std::sync::Arc;

use clathrate_arith::DeviceError;

use crate::device::{Addressed, Butterflies, Device, Launch, Limits};
use crate::memory::Block;

/// One thread's queue for one device.
struct Waiting {
    /// Identifies the device: the address of its value in this process.
    device: usize,
    /// Number of calls of `open` that are not yet closed.
    depth: usize,
    launches: Vec<Launch>,
    /// Address and words.
    freed: Vec<(u64, usize)>,
    /// Shared memory that queued launches read.
    kept: Vec<Arc<Block>>,
    /// The first error of a submission. It may have occurred in a destructor, which cannot report it.
    failed: Option<DeviceError>,
}

thread_local! {
    static WAITING: RefCell<Vec<Waiting>> = const { RefCell::new(Vec::new()) };
}

/// A device with a queue for each thread.
#[derive(Debug)]
pub(crate) struct Queued {
    inner: Arc<dyn Device>,
}

impl Queued {
    pub(crate) fn new(inner: Arc<dyn Device>) -> Self {
        Self { inner }
    }

    fn key(&self) -> usize {
        Arc::as_ptr(&self.inner).cast::<()>() as usize
    }

    /// Calls `work` on this thread's queue, if it is open.
    fn waiting<T>(&self, work: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
        // The thread-local queues may be destroyed already while a thread ends.
        let found = WAITING
            .try_with(|all| all.borrow_mut().iter_mut().find(|own| own.device == self.key()).map(work));
        found.ok().flatten()
    }

    /// Opens this thread's queue.
    pub(crate) fn open(&self) {
        if self.waiting(|own| own.depth += 1).is_none() {
            let own = Waiting {
                device: self.key(),
                depth: 1,
                launches: Vec::new(),
                freed: Vec::new(),
                kept: Vec::new(),
                failed: None,
            };
            WAITING.with(|all| all.borrow_mut().push(own));
        }
    }

    /// Ends one [`Queued::open`]. The outermost `close` submits the queue. Where `keep` is false, queued
    /// launches are dropped.
    ///
    /// # Errors
    /// The first error of the device since the queue was opened.
    pub(crate) fn close(&self, keep: bool) -> Result<(), DeviceError> {
        let last = self.waiting(|own| {
            own.depth -= 1;
            if !keep {
                own.launches.clear();
            }
            own.depth == 0
        });
        if last != Some(true) {
            return Ok(());
        }
        // The queue is removed before it is submitted, so that it is closed even if the submission fails.
        let own = WAITING.with(|all| {
            let mut all = all.borrow_mut();
            all.iter().position(|own| own.device == self.key()).map(|place| all.swap_remove(place))
        });
        let Some(Waiting { launches, freed, kept, failed, .. }) = own else { return Ok(()) };
        let sent = self.run_now(&launches);
        drop(kept);
        freed.into_iter().for_each(|(address, words)| self.inner.free(address, words));
        failed.map_or(sent, Err)
    }

    fn run_now(&self, launches: &[Launch]) -> Result<(), DeviceError> {
        if launches.is_empty() { Ok(()) } else { self.inner.run(launches) }
    }

    /// Keeps `memory` allocated until the queue is submitted, because another thread may drop it before.
    pub(crate) fn keep(&self, memory: &Arc<Block>) {
        self.waiting(|own| {
            if !own.kept.iter().any(|kept| Arc::ptr_eq(kept, memory)) {
                own.kept.push(memory.clone());
            }
        });
    }

    /// Submits the queue.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn send(&self) -> Result<(), DeviceError> {
        let taken = self.waiting(|own| (std::mem::take(&mut own.launches), std::mem::take(&mut own.kept)));
        let Some((launches, kept)) = taken else { return Ok(()) };
        let sent = self.run_now(&launches);
        // Queues frees of the blocks of which this was the last owner.
        drop(kept);
        let freed = self.waiting(|own| std::mem::take(&mut own.freed)).unwrap_or_default();
        freed.into_iter().for_each(|(address, words)| self.inner.free(address, words));
        if let Err(error) = &sent {
            self.waiting(|own| own.failed.get_or_insert_with(|| error.clone()).clone());
        }
        sent
    }
}

impl Device for Queued {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn memory_kind(&self) -> &'static str {
        self.inner.memory_kind()
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn butterflies(&self) -> Butterflies {
        self.inner.butterflies()
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.send()?;
        self.inner.finish()
    }

    fn set_graphs(&self, on: bool) -> Result<(), DeviceError> {
        self.inner.set_graphs(on)
    }

    fn allocated_bytes(&self) -> u64 {
        self.inner.allocated_bytes()
    }

    fn set_memory_limit(&self, bytes: u64) {
        self.inner.set_memory_limit(bytes);
    }
}

impl Addressed for Queued {
    fn allocate(&self, words: usize) -> Result<u64, DeviceError> {
        match self.inner.allocate(words) {
            // Submitting the queue frees memory.
            Err(DeviceError::OutOfMemory { .. })
                if self.waiting(|own| !own.freed.is_empty() || !own.kept.is_empty()) == Some(true) =>
            {
                self.send()?;
                self.inner.allocate(words)
            }
            found => found,
        }
    }

    fn free(&self, address: u64, words: usize) {
        if self.waiting(|own| own.freed.push((address, words))).is_none() {
            self.inner.free(address, words);
        }
    }

    fn write(&self, address: u64, words: &[u64]) -> Result<(), DeviceError> {
        self.send()?;
        self.inner.write(address, words)
    }

    fn read(&self, words: &mut [u64], address: u64) -> Result<(), DeviceError> {
        self.send()?;
        self.inner.read(words, address)
    }

    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), DeviceError> {
        self.send()?;
        self.inner.copy(to, from, words)
    }

    fn zero(&self, address: u64, words: usize) -> Result<(), DeviceError> {
        // The memory may hold a secret, so it is overwritten even if the submission fails.
        let sent = self.send();
        self.inner.zero(address, words)?;
        sent
    }

    fn launch(&self, launch: &Launch) -> Result<(), DeviceError> {
        match self.waiting(|own| own.launches.push(launch.clone())) {
            Some(()) => Ok(()),
            None => self.inner.launch(launch),
        }
    }

    fn run(&self, launches: &[Launch]) -> Result<(), DeviceError> {
        launches.iter().try_for_each(|launch| self.launch(launch))
    }
}
