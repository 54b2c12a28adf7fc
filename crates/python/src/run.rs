//! Running core code: without the interpreter lock, with progress, and with panics caught.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clathrate_ckks::file::{FileError, Watch};
use clathrate_ckks::keys::Progress;
use clathrate_ckks::{CkksError, Evaluator};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::{internal, raise};

/// How often a long call without a callback looks for signals (Ctrl-C).
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work` with the lock released; its error or panic as an exception made by `translate`.
pub fn detached_with<T: Send>(
    py: Python<'_>,
    translate: impl FnOnce(CkksError) -> PyErr,
    work: impl FnOnce() -> Result<T, CkksError> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(Ok(value)) => Ok(value),
        // An interrupt, whose exception `interruptible` has left.
        Ok(Err(CkksError::Cancelled | CkksError::File(FileError::Cancelled))) if PyErr::occurred(py) => {
            Err(PyErr::fetch(py))
        }
        Ok(Err(error)) => Err(translate(error)),
        Err(panic) => Err(internal(py, &*panic)),
    }
}

/// Runs `work` with the lock released.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, CkksError> + Send) -> PyResult<T> {
    detached_with(py, |error| raise(py, error), work)
}

/// The same evaluator, which stops at Ctrl-C and where the function of `clathrate.progress` says so, and
/// shows the progress of long operations inside of it. An exception is then Python's current one.
pub fn interruptible(evaluator: Evaluator) -> Evaluator {
    let last = Mutex::new(Instant::now());
    let shown = Python::attach(|py| {
        Callback::current(py, "computing").unwrap_or_else(|error| {
            error.write_unraisable(py, None);
            Callback::none()
        })
    });
    evaluator.interruptible(move |done, total| {
        let reports = total > 1 && shown.call.is_some() && !REPORTS.get();
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if !reports && last.elapsed() < SIGNAL_INTERVAL {
            return true;
        }
        *last = Instant::now();
        let answer = |py: Python<'_>| {
            if reports { shown.report(py, done, total) } else { py.check_signals().map(|()| true) }
        };
        Python::attach(|py| {
            answer(py).unwrap_or_else(|error| {
                error.restore(py);
                false
            })
        })
    })
}

/// What stops reading and writing at Ctrl-C, whose exception is then Python's current one, and shows the
/// progress of about `total` bytes in the block of `clathrate.progress`, in mebibytes.
pub fn watch(description: &str, total: u64) -> Watch {
    let total = (total >> 20) as usize;
    let shown = Python::attach(|py| {
        let current = if total > 1 && !REPORTS.get() {
            Callback::current(py, description)
        } else {
            Ok(Callback::none())
        };
        current.unwrap_or_else(|error| {
            error.write_unraisable(py, None);
            Callback::none()
        })
    });
    let state = Mutex::new((Instant::now(), 0u64));
    Watch::new(move |bytes| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 += bytes;
        if state.0.elapsed() < SIGNAL_INTERVAL {
            return true;
        }
        state.0 = Instant::now();
        let done = ((state.1 >> 20) as usize).min(total);
        let answer = |py: Python<'_>| {
            if shown.call.is_some() {
                shown.report(py, done, total)
            } else {
                py.check_signals().map(|()| true)
            }
        };
        Python::attach(|py| {
            answer(py).unwrap_or_else(|error| {
                error.restore(py);
                false
            })
        })
    })
}

/// The bytes of the file at `path`; 0 where it has none to count, such as a pipe.
pub fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

thread_local! {
    /// Whether a call reports its progress, or a report runs, so that operations within do not.
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

    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        if let (true, Some(call)) = (self.bar, self.call.take()) {
            call.bind(py).call_method0("close")?;
        }
        Ok(())
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if self.bar && self.call.is_some() {
            Python::attach(|py| self.close(py).unwrap_or_else(|error| error.write_unraisable(py, None)));
        }
    }
}

/// Runs `work` with the lock released and a progress function that reports to `progress` and notices Ctrl-C.
///
/// A callback that returns `False` or raises stops the work: `CancelledError`, or the exception itself.
pub fn with_progress<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    description: &str,
    translate: impl FnOnce(CkksError) -> PyErr,
    work: impl FnOnce(Progress<'_>) -> Result<T, CkksError> + Send,
) -> PyResult<T> {
    let mut callback = Callback::new(py, progress, description)?;
    let within = callback.call.is_some().then(Reporting::begin);
    let mut failure: Option<PyErr> = None;
    let mut last = Instant::now();
    let result = detached_with(py, translate, || {
        work(&mut |done, total| {
            if failure.is_some() {
                return false;
            }
            if callback.call.is_none() && last.elapsed() < SIGNAL_INTERVAL {
                return true;
            }
            last = Instant::now();
            match Python::attach(|py| callback.report(py, done, total)) {
                Ok(go_on) => go_on,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            }
        })
    });
    drop(within);
    let closed = callback.close(py);
    match failure {
        Some(error) => Err(error),
        None => result.and_then(|value| closed.map(|()| value)),
    }
}
