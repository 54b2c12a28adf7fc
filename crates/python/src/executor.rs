//! Operations of programs that Python objects compute, in other processes for example.

use std::sync::{Arc, Mutex, PoisonError};

use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::program::{Executor, TaskValue};
use clathrate_ckks::{Ciphertext, CkksError, Params};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A value without keys as files: the array, and of a mean the sum and the number that divides it.
pub type ValueFiles = (Vec<u8>, Option<(Vec<u8>, usize)>);

/// The same as Python's objects.
pub type PyValueFiles<'py> = (Bound<'py, PyBytes>, Option<(Bound<'py, PyBytes>, usize)>);

pub fn files_of(value: &TaskValue) -> Result<ValueFiles, CkksError> {
    let sum_of = value.sum_of.as_ref().map(|(sum, count)| Ok::<_, CkksError>((sum.to_file_bytes()?, *count)));
    Ok((value.data.to_file_bytes()?, sum_of.transpose()?))
}

pub fn value_of((data, sum_of): &ValueFiles, params: &Params) -> Result<TaskValue, CkksError> {
    let read = |bytes: &[u8]| {
        let data = Ciphertext::from_reader(&FileReader::from_bytes(bytes)?, params)?;
        Ok::<_, CkksError>(Arc::new(data))
    };
    let sum_of = sum_of.as_ref().map(|(sum, count)| Ok::<_, CkksError>((read(sum)?, *count)));
    Ok(TaskValue { data: read(data)?, sum_of: sum_of.transpose()? })
}

pub fn to_python<'py>(py: Python<'py>, (data, sum_of): &ValueFiles) -> PyValueFiles<'py> {
    let sum_of = sum_of.as_ref().map(|(sum, count)| (PyBytes::new(py, sum), *count));
    (PyBytes::new(py, data), sum_of)
}

/// A Python object with the methods `submit(value, operands)`, which returns a future, `wait(future)`, which
/// returns a tuple of a value, or after a while None, and `cancel(future)`.
pub struct PyExecutor {
    object: Py<PyAny>,
    workers: usize,
    params: Params,
    /// The first exception.
    failure: Mutex<Option<PyErr>>,
}

impl PyExecutor {
    pub fn new(object: Py<PyAny>, workers: usize, params: &Params) -> Self {
        Self { object, workers, params: params.clone(), failure: Mutex::new(None) }
    }

    /// The exception that ended the run, if one of Python's did.
    pub fn failure(self) -> Option<PyErr> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first exception; the core knows that the run was stopped.
    fn failed(&self, error: PyErr) -> CkksError {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        CkksError::Cancelled
    }

    fn wait(&self, future: &Py<PyAny>, goes_on: &dyn Fn() -> bool) -> PyResult<Option<ValueFiles>> {
        while goes_on() {
            let found = Python::attach(|py| {
                self.object.call_method1(py, "wait", (future,))?.extract::<Option<(ValueFiles,)>>(py)
            })?;
            if let Some((found,)) = found {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl Executor for PyExecutor {
    fn workers(&self) -> usize {
        self.workers
    }

    fn compute(
        &self,
        value: usize,
        operands: Vec<(usize, TaskValue)>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<TaskValue, CkksError> {
        let files = operands.iter().map(|(number, own)| Ok((*number, files_of(own)?)));
        let files = files.collect::<Result<Vec<_>, CkksError>>()?;
        let future = Python::attach(|py| {
            let rows: Vec<_> = files.iter().map(|(number, own)| (*number, to_python(py, own))).collect();
            self.object.call_method1(py, "submit", (value, rows))
        });
        let future = future.map_err(|error| self.failed(error))?;
        let found = self.wait(&future, goes_on);
        if let Ok(Some(found)) = &found {
            return value_of(found, &self.params);
        }
        let cancelled = Python::attach(|py| self.object.call_method1(py, "cancel", (&future,)).map(drop));
        match found {
            Err(error) => Err(self.failed(error)),
            Ok(_) => Err(cancelled.err().map_or(CkksError::Cancelled, |error| self.failed(error))),
        }
    }
}
