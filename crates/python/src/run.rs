//! Running core code: without the interpreter lock, with progress, and with panics caught.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clathrate_ckks::{CkksError, Event, Progress};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::{internal, raise};

/// How often a long call without a callback looks for signals (Ctrl-C).
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work` with the lock released; its error or panic as an exception.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, CkksError> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(|error| raise(py, error)),
        Err(panic) => Err(internal(py, &*panic)),
    }
}

/// Runs an operation without a name with the lock released, and its error as an exception made by
/// `translate`. Ctrl-C stops it; in the block of `clathrate.progress` it is shown where it has several steps.
pub fn computing_with<T: Send>(
    py: Python<'_>,
    translate: impl FnOnce(CkksError) -> PyErr,
    work: impl FnOnce(&Progress) -> Result<T, CkksError> + Send,
) -> PyResult<T> {
    let callback = if REPORTS.get() { Callback::none() } else { Callback::current(py, "computing")? };
    Reports::new(callback, 1).run(py, translate, work)
}

/// As [`computing_with`], with the core's errors.
pub fn computing<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Progress) -> Result<T, CkksError> + Send,
) -> PyResult<T> {
    computing_with(py, |error| raise(py, error), work)
}

/// Runs a long operation, called `description`, with the lock released, and reports its steps to `progress`,
/// or else to what `clathrate.progress` asks for.
///
/// A callback that returns `False` or raises stops the work: `CancelledError`, or the exception itself. So
/// does Ctrl-C.
pub fn running<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    description: &str,
    work: impl FnOnce(&Progress) -> Result<T, CkksError> + Send,
) -> PyResult<T> {
    Reports::new(Callback::new(py, progress, description)?, 0).run(py, |error| raise(py, error), work)
}

/// Reads or writes about `total` bytes with the lock released, and shows progress in mebibytes in the block
/// of `clathrate.progress`.
pub fn transferring<T: Send>(
    py: Python<'_>,
    description: &str,
    total: u64,
    work: impl FnOnce(&Progress) -> Result<T, CkksError> + Send,
) -> PyResult<T> {
    let mebibytes = (total >> 20) as usize;
    let shown = mebibytes > 1 && !REPORTS.get();
    let callback = if shown { Callback::current(py, description)? } else { Callback::none() };
    Reports { mebibytes, ..Reports::new(callback, 0) }.run(py, |error| raise(py, error), work)
}

/// Where the reports of one operation go.
struct Reports {
    callback: Callback,
    /// Operations of more steps than these are shown.
    more_than: usize,
    /// What a transfer of bytes counts to.
    mebibytes: usize,
    state: Mutex<State>,
}

/// What changes while an operation runs.
struct State {
    /// When signals were looked for.
    last: Instant,
    /// The bytes that were read or written.
    bytes: u64,
    /// The exception that stopped the operation.
    failure: Option<PyErr>,
}

impl Reports {
    fn new(callback: Callback, more_than: usize) -> Self {
        let state = Mutex::new(State { last: Instant::now(), bytes: 0, failure: None });
        Self { callback, more_than, mebibytes: 0, state }
    }

    fn run<T: Send>(
        self,
        py: Python<'_>,
        translate: impl FnOnce(CkksError) -> PyErr,
        work: impl FnOnce(&Progress) -> Result<T, CkksError> + Send,
    ) -> PyResult<T> {
        let reports = Arc::new(self);
        let receiver = reports.clone();
        let progress = Progress::new(move |event| receiver.go_on(event));
        let result = match py.detach(|| catch_unwind(AssertUnwindSafe(|| work(&progress)))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(translate(error)),
            Err(panic) => Err(internal(py, &*panic)),
        };
        let failure = reports.state().failure.take();
        let closed = reports.callback.close(py);
        match failure {
            Some(error) => Err(error),
            None => result.and_then(|value| closed.map(|()| value)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the operation that reports `event` continues.
    fn go_on(&self, event: Event<'_>) -> bool {
        if self.state().failure.is_some() {
            return false;
        }
        if let Event::Stage(name) = event
            && self.callback.bar
        {
            Python::attach(|py| self.callback.stage(py, name));
        }
        let mut state = self.state();
        let shown = self.callback.call.is_some();
        let steps = match event {
            Event::Steps { done, total } if shown && total > self.more_than => Some((done, total)),
            Event::Bytes(bytes) => {
                state.bytes += bytes;
                None
            }
            _ => None,
        };
        if steps.is_none() && state.last.elapsed() < SIGNAL_INTERVAL {
            return true;
        }
        state.last = Instant::now();
        let transferred = || (((state.bytes >> 20) as usize).min(self.mebibytes), self.mebibytes);
        let steps = steps.or_else(|| (shown && self.mebibytes > 0).then(transferred));
        // The callback may wait for another thread that reports, too.
        drop(state);
        let answer = Python::attach(|py| match steps {
            Some((done, total)) => self.callback.report(py, done, total),
            None => py.check_signals().map(|()| true),
        });
        answer.unwrap_or_else(|error| {
            self.state().failure = Some(error);
            false
        })
    }
}

/// The bytes of the file at `path`; 0 where it has none to count, such as a pipe.
pub fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

thread_local! {
    /// Whether a report runs, so that operations within it are not reported.
    static REPORTS: Cell<bool> = const { Cell::new(false) };
}

/// Sets [`REPORTS`] until it is dropped.
struct Reporting(bool);

impl Reporting {
    fn begin() -> Self {
        Self(REPORTS.replace(true))
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        REPORTS.set(self.0);
    }
}

/// Runs `work` with the lock held, for data that Python code could change meanwhile.
pub fn attached<T>(py: Python<'_>, work: impl FnOnce() -> Result<T, CkksError>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| raise(py, error)),
        Err(panic) => Err(internal(py, &*panic)),
    }
}

/// What the caller passed as `progress`, ready to be called.
struct Callback {
    call: Option<Py<PyAny>>,
    /// A progress bar of ours, to be closed.
    bar: bool,
}

impl Callback {
    /// Reports nothing.
    const fn none() -> Self {
        Self { call: None, bar: false }
    }

    /// What `clathrate.progress` asks for, in whose block the call is.
    fn current(py: Python<'_>, description: &str) -> PyResult<Self> {
        let found = py.import("clathrate._progress")?.call_method1("current", (description,))?;
        let (call, bar): (Option<Py<PyAny>>, bool) = found.extract()?;
        Ok(Self { call, bar })
    }

    fn new(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, description: &str) -> PyResult<Self> {
        let Some(progress) = progress.filter(|progress| !progress.is_none()) else {
            return if REPORTS.get() { Ok(Self::none()) } else { Self::current(py, description) };
        };
        if let Ok(wanted) = progress.extract::<bool>() {
            let bar = match wanted {
                true => progress.py().import("clathrate._progress")?.call_method1("bar", (description,))?,
                false => return Ok(Self::none()),
            };
            return Ok(if bar.is_none() {
                Self::none()
            } else {
                Self { call: Some(bar.unbind()), bar: true }
            });
        }
        if progress.is_callable() {
            return Ok(Self { call: Some(progress.clone().unbind()), bar: false });
        }
        Err(PyTypeError::new_err("`progress` is True, False, None or a function of (done, total)"))
    }

    /// One report; `Ok(false)` asks to stop.
    fn report(&self, py: Python<'_>, done: usize, total: usize) -> PyResult<bool> {
        py.check_signals()?;
        let Some(call) = &self.call else { return Ok(true) };
        let _within = Reporting::begin();
        let answer = call.bind(py).call1((done, total))?;
        Ok(!answer.extract::<bool>().is_ok_and(|go_on| !go_on))
    }

    /// Shows the name of the stage that begins; a bar that cannot goes on.
    fn stage(&self, py: Python<'_>, name: &str) {
        if let Some(bar) = &self.call {
            let _ = bar.bind(py).call_method1("stage", (name,));
        }
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match &self.call {
            Some(call) if self.bar => call.bind(py).call_method0("close").map(drop),
            _ => Ok(()),
        }
    }
}
