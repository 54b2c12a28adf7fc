//! Inboxes: messages of light clients, kept in a file.

use std::sync::{Mutex, PoisonError};

use clathrate_service::{Batch, Inbox, MAX_WAITING};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::authentication::PyAuthenticationKey;
use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, raise};
use crate::numbers::Whole;
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::detached;

#[pyclass(frozen, module = "clathrate._native", name = "Inbox")]
pub struct PyInbox {
    inbox: Mutex<Inbox>,
    params: Py<PyParams>,
}

#[pyclass(frozen, module = "clathrate._native", name = "Batch")]
pub struct PyBatch {
    /// Absent once it is done or given back.
    batch: Mutex<Option<Batch>>,
    params: Py<PyParams>,
}

impl PyInbox {
    fn with<T>(&self, work: impl FnOnce(&mut Inbox) -> T) -> T {
        work(&mut self.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyInbox {
    #[new]
    fn new(
        py: Python<'_>,
        path: FilePath,
        params: Py<PyParams>,
        key: &PyAuthenticationKey,
        limit: Option<Whole>,
    ) -> PyResult<Self> {
        let limit = limit.map_or(Ok(MAX_WAITING), |limit| limit.count(py, "`limit`"))?;
        let mut inbox = detached(py, || Inbox::open(&path, &params.get().params, &key.key))?;
        inbox.limit_waiting(limit);
        Ok(Self { inbox: Mutex::new(inbox), params })
    }

    fn introduce<'py>(&self, py: Python<'py>, introduction: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let id = detached(py, || self.with(|inbox| inbox.introduce(introduction)))?;
        Ok(PyBytes::new(py, &id))
    }

    fn accept<'py>(&self, py: Python<'py>, messages: Vec<Bound<'py, PyBytes>>) -> PyResult<Vec<Py<PyAny>>> {
        let messages: Vec<&[u8]> = messages.iter().map(|message| message.as_bytes()).collect();
        let answers = detached(py, || self.with(|inbox| inbox.accept(&messages)))?;
        let answer = |answer: Result<usize, _>| match answer {
            Ok(count) => Ok(count.into_pyobject(py)?.into_any().unbind()),
            Err(error) => Ok(raise(py, error).into_value(py).into_any()),
        };
        answers.into_iter().map(answer).collect()
    }

    fn take(&self, py: Python<'_>, most: Whole, together: bool) -> PyResult<Option<PyBatch>> {
        let most = most.count(py, "`most`")?;
        let work =
            |inbox: &mut Inbox| if together { inbox.take_of_all_secrets(most) } else { inbox.take(most) };
        let batch = detached(py, || self.with(work))?;
        Ok(batch.map(|batch| PyBatch { batch: Mutex::new(Some(batch)), params: self.params.clone_ref(py) }))
    }

    fn done(&self, py: Python<'_>, batch: &PyBatch) -> PyResult<usize> {
        let batch = batch.spent(py)?;
        detached(py, || self.with(|inbox| inbox.done(batch)))?;
        Ok(self.__len__())
    }

    fn give_back(&self, py: Python<'_>, batch: &PyBatch) -> PyResult<usize> {
        let batch = batch.spent(py)?;
        self.with(|inbox| inbox.give_back(batch));
        Ok(self.__len__())
    }

    #[getter]
    fn oldest(&self) -> Option<f64> {
        self.with(|inbox| inbox.oldest()).map(|age| age.as_secs_f64())
    }

    fn __len__(&self) -> usize {
        self.with(|inbox| inbox.waiting())
    }

    fn __repr__(&self) -> String {
        let (clients, waiting) = self.with(|inbox| (inbox.clients().len(), inbox.waiting()));
        format!("Inbox({clients} clients, {waiting} samples waiting)")
    }
}

impl PyBatch {
    /// The batch, which is then gone.
    fn spent(&self, py: Python<'_>) -> PyResult<Batch> {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner).take();
        batch.ok_or_else(|| {
            exception(py, "DataError", "the batch is done, or was given back: take another".to_owned())
        })
    }
}

#[pymethods]
impl PyBatch {
    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<PyCiphertext> {
        match <[_; 1]>::try_from(self.arrays(py)?) {
            Ok([samples]) => Ok(samples),
            Err(arrays) => {
                let message =
                    format!("the batch has samples under {} secrets: take its `arrays`", arrays.len());
                Err(exception(py, "DataError", message))
            }
        }
    }

    #[getter]
    fn arrays(&self, py: Python<'_>) -> PyResult<Vec<PyCiphertext>> {
        let arrays = self
            .batch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(|batch| batch.arrays().to_vec());
        let spent =
            || exception(py, "DataError", "the batch is done, or was given back: take another".to_owned());
        arrays
            .ok_or_else(spent)?
            .into_iter()
            .map(|samples| PyCiphertext::new(py, samples, &self.params))
            .collect()
    }

    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        batch
            .iter()
            .flat_map(Batch::sources)
            .map(|(client, counter)| (PyBytes::new(py, &client), counter))
            .collect()
    }

    fn __repr__(&self) -> String {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        batch.as_ref().map_or_else(
            || "Batch(spent)".to_owned(),
            |batch| format!("Batch({} samples)", batch.sources().len()),
        )
    }
}
