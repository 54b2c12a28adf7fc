//! The threads of an engine. A forked process does not inherit them, so it starts its own.

use std::process;
use std::sync::{Arc, OnceLock};

use crate::error::ArithError;

/// A pool of threads that survives a fork.
#[derive(Debug)]
pub struct Threads {
    count: usize,
    /// The process that the threads belong to.
    process: u32,
    pool: rayon::ThreadPool,
    /// The threads of a process forked from `process`; `None` where the system refuses them.
    forked: OnceLock<Option<Box<Self>>>,
}

impl Threads {
    /// A pool of `count` threads; `None` for one.
    ///
    /// # Errors
    /// [`ArithError::ThreadPool`] where the system refuses the threads.
    pub(super) fn new(count: usize) -> Result<Option<Arc<Self>>, ArithError> {
        if count <= 1 { Ok(None) } else { Self::start(count).map(|threads| Some(Arc::new(threads))) }
    }

    fn start(count: usize) -> Result<Self, ArithError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(count)
            .thread_name(|i| format!("clathrate-{i}"))
            .build()
            .map_err(|error| ArithError::ThreadPool { threads: count, reason: error.to_string() })?;
        Ok(Self { count, process: process::id(), pool, forked: OnceLock::new() })
    }

    /// The number of threads.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The threads of this process; `None` where the system refuses threads to a forked process, so that the
    /// calling thread does the work.
    pub(super) fn pool(&self) -> Option<&rayon::ThreadPool> {
        if process::id() == self.process {
            return Some(&self.pool);
        }
        self.forked.get_or_init(|| Self::start(self.count).ok().map(Box::new)).as_ref()?.pool()
    }
}
