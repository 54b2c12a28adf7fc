//! Reports of long computations.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thiserror::Error;

/// The receiver of the reports has cancelled the computation. It becomes
/// [`CkksError::Cancelled`](crate::CkksError::Cancelled).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("stopped by the progress callback")]
pub struct Cancelled;

/// What a computation reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'n> {
    /// An operation is at work whose steps are not reported: it is short, or part of another one.
    Working,
    /// An operation has finished `done` of its `total` steps.
    Steps {
        /// The finished steps.
        done: usize,
        /// All steps.
        total: usize,
    },
    /// The stage of a circuit with this name begins.
    Stage(&'n str),
    /// So many bytes of a file are read or written next; 0 where only a checksum is computed.
    Bytes(u64),
}

/// Receives the reports of computations, and cancels them.
///
/// Evaluators and keys have one ([`Evaluator::with_progress`](crate::Evaluator::with_progress)); clones share
/// it. An operation that consists of others reports its own steps alone.
///
/// ```
/// use clathrate_ckks::prelude::*;
/// use clathrate_ckks::{Event, Progress};
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let patient = Progress::new(|event| {
///     if let Event::Steps { done, total } = event {
///         println!("{done} of {total}");
///     }
///     true
/// });
/// let owner = SecretKey::generate(&params)?.with_progress(patient);
/// assert!(owner.encrypt_array(&[0.0; 6], &[3, 2], EncryptOptions::default()).is_ok());
///
/// let impatient = owner.with_progress(Progress::new(|_| false));
/// assert!(matches!(impatient.encrypt(&[0.5]), Err(CkksError::Cancelled)));
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Receiver>>);

struct Receiver {
    go_on: Box<dyn Fn(Event<'_>) -> bool + Send + Sync>,
    /// Operations that report steps, one inside the other.
    depth: AtomicUsize,
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress" } else { "no progress" })
    }
}

impl Progress {
    /// Reports go to `go_on`, which returns whether to continue.
    #[must_use]
    pub fn new(go_on: impl Fn(Event<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Receiver { go_on: Box::new(go_on), depth: AtomicUsize::new(0) })))
    }

    /// Reports to nobody.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Reports `event`.
    ///
    /// # Errors
    /// [`Cancelled`] if the receiver says so.
    pub fn report(&self, event: Event<'_>) -> Result<(), Cancelled> {
        match &self.0 {
            Some(receiver) if !(receiver.go_on)(event) => Err(Cancelled),
            _ => Ok(()),
        }
    }

    /// The steps of an operation, which are reported unless the operation is part of another one. An
    /// operation that reports the steps of its parts ([`Steps::part`]), or counts them itself
    /// ([`Steps::at`]), gives 0.
    pub(crate) fn steps(&self, total: usize) -> Steps<'_> {
        let inside = self.0.as_ref().is_some_and(|own| own.depth.fetch_add(1, Ordering::Relaxed) > 0);
        Steps { progress: self, inside, done: 0, total }
    }
}

/// The steps of one operation.
#[derive(Debug)]
pub(crate) struct Steps<'p> {
    progress: &'p Progress,
    inside: bool,
    done: usize,
    total: usize,
}

impl Steps<'_> {
    /// Reports that one more step begins.
    ///
    /// # Errors
    /// [`Cancelled`] if the receiver says so.
    pub(crate) fn begin(&mut self) -> Result<(), Cancelled> {
        self.done += 1;
        self.at(self.done - 1, self.total)
    }

    /// A part of the operation as an operation of its own: `place` turns the finished steps of the part and
    /// their total into those of the whole operation.
    pub(crate) fn part(
        &self,
        place: impl Fn(usize, usize) -> (usize, usize) + Send + Sync + 'static,
    ) -> Progress {
        let (Some(own), inside) = (self.progress.0.clone(), self.inside) else { return Progress::none() };
        Progress::new(move |event| match event {
            Event::Steps { .. } if inside => (own.go_on)(Event::Working),
            Event::Steps { done, total } => {
                let (done, total) = place(done, total);
                (own.go_on)(Event::Steps { done, total })
            }
            other => (own.go_on)(other),
        })
    }

    /// Reports that all steps are done.
    ///
    /// # Errors
    /// [`Cancelled`] if the receiver says so.
    pub(crate) fn finish(self) -> Result<(), Cancelled> {
        self.at(self.total, self.total)
    }

    /// Reports that `done` of `total` steps are done, for callers that count themselves.
    ///
    /// # Errors
    /// [`Cancelled`] if the receiver says so.
    pub(crate) fn at(&self, done: usize, total: usize) -> Result<(), Cancelled> {
        let event = if self.inside { Event::Working } else { Event::Steps { done, total } };
        self.progress.report(event)
    }
}

impl Drop for Steps<'_> {
    fn drop(&mut self) {
        if let Some(own) = &self.progress.0 {
            own.depth.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
