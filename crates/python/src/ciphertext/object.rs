//! The class: the core's encrypted array, its parameters, and the evaluation keys that it carries.
//!
//! A ciphertext may carry evaluation keys (`with_keys`), which results inherit: that is how an operator finds
//! them. They are shared, never copied, and never part of a file or a pickle.

use std::sync::Arc;

use clathrate_ckks::encrypted_array::EncryptedArray;
use clathrate_ckks::{Ciphertext, CkksError, Evaluator, Progress};
use pyo3::prelude::*;

use crate::errors::{exception, raise};
use crate::evaluation_keys::{PyEvaluationKeys, attachable};
use crate::numbers::Whole;
use crate::params::PyParams;
use crate::run::{computing, computing_with, detached, running};

#[pyclass(frozen, module = "clathrate._native", name = "Ciphertext")]
pub struct PyCiphertext {
    pub array: EncryptedArray,
    pub(super) params: Py<PyParams>,
    /// The keys that `with_keys` attached.
    pub(super) keys: Option<Py<PyEvaluationKeys>>,
}

impl PyCiphertext {
    /// A ciphertext without keys. `params` are the parameters it was made or read with; its own may be of
    /// another degree and rank.
    ///
    /// # Errors
    /// Those of allocating a Python object.
    pub fn new(py: Python<'_>, data: impl Into<Arc<Ciphertext>>, params: &Py<PyParams>) -> PyResult<Self> {
        let data = data.into();
        let params = PyParams::of(py, data.params(), params)?;
        let evaluator = Evaluator::new(data.params());
        Ok(Self::made(EncryptedArray::new(data, &evaluator), params, None))
    }

    fn made(array: EncryptedArray, params: Py<PyParams>, keys: Option<Py<PyEvaluationKeys>>) -> Self {
        let evaluator = array.evaluator().clone().keeping(&params.get().plans);
        Self { array: array.with_evaluator(&evaluator), params, keys }
    }

    /// A symbol whose operators write their needs to `recorder`.
    pub fn symbol(data: Ciphertext, params: Py<PyParams>, recorder: &Evaluator) -> Self {
        Self::made(EncryptedArray::new(data, recorder), params, None)
    }

    /// A symbol whose operations are recorded.
    pub fn recorded(array: EncryptedArray, params: Py<PyParams>) -> Self {
        Self::made(array, params, None)
    }

    /// A ciphertext that carries `keys`.
    ///
    /// # Errors
    /// Those of allocating a Python object.
    pub fn with(
        py: Python<'_>,
        data: impl Into<Arc<Ciphertext>>,
        params: &Py<PyParams>,
        keys: Option<&Py<PyEvaluationKeys>>,
    ) -> PyResult<Self> {
        let plain = Self::new(py, data, params)?;
        let Some(keys) = keys else { return Ok(plain) };
        let evaluator = keys.get().evaluator(None).map_err(|error| raise(py, error))?;
        let array = plain.array.with_evaluator(&evaluator);
        Ok(Self::made(array, plain.params, Some(keys.clone_ref(py))))
    }

    pub fn data(&self) -> &Ciphertext {
        self.array.data()
    }

    /// A result beside this array: same family of parameters, same keys.
    ///
    /// # Errors
    /// Those of allocating a Python object.
    pub fn beside(&self, py: Python<'_>, array: &EncryptedArray) -> PyResult<Self> {
        let params = PyParams::of(py, array.data().params(), &self.params)?;
        let keys = self.keys.as_ref().map(|keys| keys.clone_ref(py));
        Ok(Self { array: array.with_evaluator(self.array.evaluator()), params, keys })
    }

    /// Whether operators find keys, or write down which they would use.
    pub fn has_keys(&self) -> bool {
        self.array.evaluator().has_keys()
    }

    /// What `work` makes of this array.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn compute(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&EncryptedArray) -> Result<EncryptedArray, CkksError> + Send,
    ) -> PyResult<Self> {
        self.compute_with(py, |error| raise(py, error), work)
    }

    /// As [`Self::compute`]; errors become exceptions by `translate`.
    pub(super) fn compute_with(
        &self,
        py: Python<'_>,
        translate: impl FnOnce(CkksError) -> PyErr,
        work: impl FnOnce(&EncryptedArray) -> Result<EncryptedArray, CkksError> + Send,
    ) -> PyResult<Self> {
        let array = &self.array;
        let result = computing_with(py, translate, |progress| work(&array.with_progress(progress)))?;
        self.beside(py, &result)
    }

    /// As [`Self::compute`], for a long operation with an argument `progress`, called `name` there.
    pub fn compute_long(
        &self,
        py: Python<'_>,
        (name, progress): (&str, Option<&Bound<'_, PyAny>>),
        work: impl FnOnce(&EncryptedArray) -> Result<EncryptedArray, CkksError> + Send,
    ) -> PyResult<Self> {
        let array = &self.array;
        let result = running(py, progress, name, |progress| work(&array.with_progress(progress)))?;
        self.beside(py, &result)
    }

    /// The one of two operands whose keys an operation on both uses: this one, or else `other`.
    pub(super) fn holder<'a>(&'a self, other: &'a Self) -> &'a Self {
        if self.has_keys() { self } else { other }
    }

    /// What `work` makes of two arrays.
    pub(super) fn join(
        &self,
        py: Python<'_>,
        other: &Self,
        work: impl FnOnce(&EncryptedArray, &EncryptedArray) -> Result<EncryptedArray, CkksError> + Send,
    ) -> PyResult<Self> {
        let (holder, x, y) = (self.holder(other), &self.array, &other.array);
        // An operand twice stays one operand.
        let one = std::ptr::eq(x, y);
        let joined = |progress: &Progress| {
            let x = x.with_progress(progress);
            if one { work(&x, &x) } else { work(&x, &y.with_progress(progress)) }
        };
        let result = computing(py, joined)?;
        holder.beside(py, &result)
    }

    /// What `work` makes of several arrays, with the keys of the first that has some.
    pub(super) fn gather<T: Send>(
        py: Python<'_>,
        parts: &[Bound<'_, Self>],
        work: impl FnOnce(&[&EncryptedArray]) -> Result<T, CkksError> + Send,
    ) -> PyResult<T> {
        let parts: Vec<&EncryptedArray> = parts.iter().map(|part| &part.get().array).collect();
        computing(py, |progress| {
            let parts: Vec<EncryptedArray> = parts.iter().map(|part| part.with_progress(progress)).collect();
            work(&parts.iter().collect::<Vec<_>>())
        })
    }

    /// The array among `parts` beside which results of all of them are.
    pub(super) fn holder_of<'p>(parts: &'p [Bound<'_, Self>]) -> Option<&'p Self> {
        let mut all = parts.iter().map(|part| part.get());
        all.clone().find(|part| part.has_keys()).or_else(|| all.next())
    }
}

#[pymethods]
impl PyCiphertext {
    fn with_keys(
        &self,
        py: Python<'_>,
        keys: Option<&Bound<'_, PyAny>>,
        bootstrap_below: Option<Whole>,
    ) -> PyResult<Self> {
        let keys = keys.map(attachable).transpose()?;
        let data = self.array.data();
        if data.is_symbol() {
            return self.beside(py, &self.array);
        }
        if let Some(keys) = &keys {
            let keys = &keys.get().keys;
            let (own, theirs) = (data.params().runtime().device(), keys.params().runtime().device());
            if own != theirs {
                let message = format!(
                    "the array is on the device \"{own}\", the keys are on \"{theirs}\": bring both to one with `to`, such as `keys.to(\"{own}\")`"
                );
                return Err(exception(py, "DeviceError", message));
            }
            data.params()
                .check_related(keys.params(), "the set of evaluation keys")
                .map_err(|error| raise(py, error))?;
            data.key_id()
                .check_same(keys.id(), "the set of evaluation keys")
                .map_err(|error| raise(py, error))?;
        }
        let below = bootstrap_below.map(|level| self.params.get().level(py, Some(level))).transpose()?;
        let evaluator = match &keys {
            Some(keys) => keys.get().evaluator(below).map_err(|error| raise(py, error))?,
            None => Evaluator::new(data.params()),
        };
        let array = EncryptedArray::new(data.clone(), &evaluator);
        Ok(Self::made(array, self.params.clone_ref(py), keys))
    }

    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let data = self.array.data().clone();
        let moved = detached(py, || {
            let runtime = data.params().runtime().clone().on(device)?;
            if runtime == *data.params().runtime() { Ok(None) } else { data.under(&runtime).map(Some) }
        })?;
        let Some(moved) = moved else { return self.beside(py, &self.array) };
        let params = Py::new(py, PyParams::from_core(moved.params().clone()))?;
        Self::new(py, moved, &params)
    }

    #[getter]
    fn keys(&self, py: Python<'_>) -> Option<Py<PyEvaluationKeys>> {
        self.keys.as_ref().map(|keys| keys.clone_ref(py))
    }
}
