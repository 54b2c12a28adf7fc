//! Transciphering with an offline phase.

use std::sync::{Arc, Mutex, PoisonError};

use clathrate_ckks::circuits::samples::SamplesPlan;
use clathrate_ckks::circuits::transcipher::PreparedSamples;
use clathrate_ckks::file::Stored;
use clathrate_ckks::light::Receiver;
use clathrate_ckks::{Evaluator, Progress};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::ciphertext::PyCiphertext;
use crate::errors::out_of_range;
use crate::evaluation_keys::PyEvaluationKeys;
use crate::light::{PyReceiver, counter_of};
use crate::numbers::Whole;
use crate::paths::FilePath;
use crate::run::{computing, detached};
use crate::samples::PySamplesPlan;
use crate::saving::replaced;

#[pyclass(frozen, module = "clathrate._native", name = "PreparedSamples")]
pub struct PyPreparedSamples {
    prepared: Mutex<PreparedSamples>,
    plan: Arc<SamplesPlan>,
    receiver: Receiver,
    keys: Py<PyEvaluationKeys>,
}

impl PyPreparedSamples {
    fn with<T>(&self, work: impl FnOnce(&mut PreparedSamples) -> T) -> T {
        // A panic while the lock was held leaves the masks as they were.
        work(&mut self.prepared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyPreparedSamples {
    #[new]
    fn new(
        py: Python<'_>,
        plan: &PySamplesPlan,
        keys: Py<PyEvaluationKeys>,
        receiver: &PyReceiver,
        first: &Bound<'_, PyAny>,
        count: Option<Whole>,
    ) -> PyResult<Self> {
        let start = counter_of(py, first)?;
        let count = match count {
            Some(count) => count.count(py, "`count`")?,
            None => plan.plan.count().div_ceil(plan.plan.samples().degree()),
        };
        let end = start
            .checked_add(count as u64)
            .ok_or_else(|| out_of_range(py, "`first`", start, "use counters of 64 bits"))?;
        let (evaluator, receiver, plan) =
            (Evaluator::with_keys(keys.get().keys.clone()), receiver.receiver.clone(), plan.plan.clone());
        let prepared = computing(py, |progress| {
            plan.prepare(&evaluator.with_progress(progress.clone()), &receiver, start..end)
        })?;
        Ok(Self { prepared: Mutex::new(prepared), plan, receiver, keys })
    }

    #[getter]
    fn counters(&self) -> (u64, u64) {
        let counters = self.with(|prepared| prepared.counters());
        (counters.start, counters.end)
    }

    #[getter]
    fn used(&self) -> bool {
        self.with(|prepared| prepared.is_used())
    }

    fn bootstrap<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let messages: Vec<&[u8]> = messages.iter().map(|message| message.as_bytes()).collect();
        let keys = self.keys.get();
        let evaluator = Evaluator::with_keys(keys.keys.clone());
        let x = computing(py, |progress| {
            let evaluator = evaluator.with_progress(progress.clone());
            self.with(|prepared| self.plan.run_prepared(&evaluator, prepared, &self.receiver, &messages))
        })?;
        Bound::new(py, PyCiphertext::new(py, x, &keys.params)?)?
            .call_method1("with_keys", (self.keys.clone_ref(py), py.None()))
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        let save =
            |prepared: &mut PreparedSamples| prepared.save_as(&path, replaced(overwrite), &Progress::none());
        detached(py, || Ok(self.with(save)?))
    }

    #[staticmethod]
    fn take(
        py: Python<'_>,
        path: FilePath,
        plan: &PySamplesPlan,
        keys: Py<PyEvaluationKeys>,
        receiver: &PyReceiver,
    ) -> PyResult<Self> {
        let (plan, receiver) = (plan.plan.clone(), receiver.receiver.clone());
        let prepared = detached(py, || PreparedSamples::take(&path, plan.half_bootstrap().params()))?;
        Ok(Self { prepared: Mutex::new(prepared), plan, receiver, keys })
    }

    fn __repr__(&self) -> String {
        let (start, end) = self.counters();
        format!("PreparedSamples(counters {start} to {}{})", end - 1, if self.used() { ", used" } else { "" })
    }
}
