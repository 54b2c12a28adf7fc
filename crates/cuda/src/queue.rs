//! Launches that are held back while an operation is put together, and given to the device as one.
//!
//! A thread opens a queue for a device ([`Queued::open`]); until it closes it, its launches wait, and with
//! them the memory that it frees. Whatever else it asks of the device, but for memory, first sends off what
//! waits, so that everything still takes effect in the order of the calls. Other threads are not held back,
//! and need not be: they cannot have the results of an operation that is not finished.

use std::cell::RefCell;
use std::sync::Arc;

use clathrate_arith::DeviceError;

use crate::device::{Addressed, Butterflies, Device, Launch, Limits};
use crate::memory::Block;

/// What waits for one device.
struct Waiting {
    /// The address of the device's value.
    device: usize,
    /// How often the queue was opened.
    depth: usize,
    launches: Vec<Launch>,
    /// Address and words.
    freed: Vec<(u64, usize)>,
    /// Memory of others that launches read.
    kept: Vec<Arc<Block>>,
    /// The first failure: whoever met it may have been a destructor, which cannot tell.
    failed: Option<DeviceError>,
}

thread_local! {
    static WAITING: RefCell<Vec<Waiting>> = const { RefCell::new(Vec::new()) };
}

/// A device whose launches can wait.
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

    /// Works on what waits, if this thread's queue is open.
    fn waiting<T>(&self, work: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
        // While a thread ends, its queues are gone.
        let found = WAITING
            .try_with(|all| all.borrow_mut().iter_mut().find(|own| own.device == self.key()).map(work));
        found.ok().flatten()
    }

    /// Holds this thread's launches back.
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

    /// Ends one [`Queued::open`]; the last one sends off what waits, or drops it where `keep` is false.
    ///
    /// # Errors
    /// Those of the device, since the queue was opened.
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
        // Closed before anything is sent off, so that nothing waits for ever, whatever comes.
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

    /// Keeps `memory` until what waits is sent off: another thread may free it meanwhile.
    pub(crate) fn keep(&self, memory: &Arc<Block>) {
        self.waiting(|own| {
            if !own.kept.iter().any(|kept| Arc::ptr_eq(kept, memory)) {
                own.kept.push(memory.clone());
            }
        });
    }

    /// Sends off what waits.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn send(&self) -> Result<(), DeviceError> {
        let taken = self.waiting(|own| (std::mem::take(&mut own.launches), std::mem::take(&mut own.kept)));
        let Some((launches, kept)) = taken else { return Ok(()) };
        let sent = self.run_now(&launches);
        // Adds to what is freed, where this was the last owner.
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
            // There may be room when what waits to be freed is.
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
        // What is overwritten may be a secret, whatever became of the launches before.
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
