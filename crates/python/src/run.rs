//! Running core code: without the interpreter lock, with progress, and with panics caught.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
        Ok(Err(CkksError::Cancelled)) if PyErr::occurred(py) => Err(PyErr::fetch(py)),
        Ok(Err(error)) => Err(translate(error)),
        Err(panic) => Err(internal(py, &*panic)),
    }
}

/// Runs `work` with the lock released.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, CkksError> + Send) -> PyResult<T> {
    detached_with(py, |error| raise(py, error), work)
}

/// The same evaluator, which stops at Ctrl-C: the exception is then Python's current one.
pub fn interruptible(evaluator: Evaluator) -> Evaluator {
    let last = Mutex::new(Instant::now());
    evaluator.interruptible(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() < SIGNAL_INTERVAL {
            return true;
        }
        *last = Instant::now();
        Python::attach(|py| py.check_signals().map_err(|interrupt| interrupt.restore(py)).is_ok())
    })
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
    fn new(progress: Option<&Bound<'_, PyAny>>, description: &str) -> PyResult<Self> {
        let Some(progress) = progress.filter(|progress| !progress.is_none()) else { return Ok(Self { call: None, bar: false }) };
        if let Ok(wanted) = progress.extract::<bool>() {
            let bar = match wanted {
                true => progress.py().import("clathrate._progress")?.call_method1("bar", (description,))?,
                false => return Ok(Self { call: None, bar: false }),
            };
            return Ok(if bar.is_none() { Self { call: None, bar: false } } else { Self { call: Some(bar.unbind()), bar: true } });
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
        let answer = call.bind(py).call1((done, total))?;
        Ok(!answer.extract::<bool>().is_ok_and(|go_on| !go_on))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if let (true, Some(call)) = (self.bar, &self.call) {
            call.bind(py).call_method0("close")?;
        }
        Ok(())
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
    let callback = Callback::new(progress, description)?;
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
    let closed = callback.close(py);
    match failure {
        Some(error) => Err(error),
        None => result.and_then(|value| closed.map(|()| value)),
    }
}
