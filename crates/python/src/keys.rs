//! The secret key, which is never given away by accident.

use std::sync::Arc;

use clathrate_ckks::file::{FileReader, Replaced, Stored};
use clathrate_ckks::keys::{EncryptOptions, HonestEvaluator};
use clathrate_ckks::{Ciphertext, Progress, SecretKey};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::arrays::{Array, array, to_numpy};
use crate::authentication::PyAuthenticationKey;
use crate::ciphertext::{PyCiphertext, PyTransposed};
use crate::encryption::options;
use crate::errors::out_of_range;
use crate::evaluation_keys::PyEvaluationKeys;
use crate::layout::{LaneCount, Placing};
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole, Wholes};
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::public_key::PyPublicKey;
use crate::run::{detached, running};
use crate::text::hex;

#[pyclass(frozen, module = "clathrate._native", name = "SecretKey")]
pub struct PySecretKey {
    pub key: SecretKey,
    params: Py<PyParams>,
}

/// What the owner reads: a ciphertext, or its view by columns.
enum Readable<'py> {
    Rows(Bound<'py, PyCiphertext>),
    Columns(Bound<'py, PyTransposed>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Readable<'py> {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(rows) = data.cast::<PyCiphertext>() {
            return Ok(Self::Rows(rows.to_owned()));
        }
        if let Ok(columns) = data.cast::<PyTransposed>() {
            return Ok(Self::Columns(columns.to_owned()));
        }
        let kind = data.get_type().name()?;
        let remedy = if data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>() {
            "decrypt each of several, `[secret_key.decrypt(ct) for ct in cts]`"
        } else if data.is_instance_of::<PyBytes>() {
            "read the bytes first, `cl.from_bytes(data, params)`"
        } else if data.is_instance_of::<PyString>() {
            "read the file first, `cl.load(path, params)`"
        } else if data.hasattr("__array__")? {
            "these numbers are in the clear already"
        } else {
            "give what `encrypt` and operations on ciphertexts gave"
        };
        Err(PyTypeError::new_err(format!(
            "what is decrypted is a Ciphertext, and a {kind} was given: {remedy}"
        )))
    }
}

impl<'py> Readable<'py> {
    fn data(&self) -> &Ciphertext {
        match self {
            Self::Rows(rows) => rows.get().data(),
            Self::Columns(view) => view.get().base.get().data(),
        }
    }

    /// The numbers as they are read.
    fn transposed(&self, numbers: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if matches!(self, Self::Rows(_)) { Ok(numbers) } else { numbers.getattr("T") }
    }
}

#[pymethods]
impl PySecretKey {
    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let key = detached(py, || self.key.under(&self.key.params().runtime().clone().on(device)?))?;
        let params = Py::new(py, PyParams::from_core(key.params().clone()))?;
        Ok(Self { key, params })
    }

    #[staticmethod]
    fn generate(py: Python<'_>, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || SecretKey::generate(&params.get().params))?;
        Ok(Self { key, params })
    }

    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn encrypt(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        encoding: Option<&str>,
        level: Option<Whole>,
        scale: Option<Real>,
        progress: Option<&Bound<'_, PyAny>>,
        bodies: Option<Whole>,
        axis: Option<&str>,
        capacity: Option<Whole>,
        lanes: Option<LaneCount>,
        copies: Option<Whole>,
        order: &str,
        bound: Option<Real>,
    ) -> PyResult<PyCiphertext> {
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let options = Placing { bodies, axis, capacity, lanes, copies, order }.apply(py, options)?;
        let options = EncryptOptions { bound: Real::given(bound), ..options };
        let Array { values, shape, .. } = self::array(array)?;
        let ciphertext = running(py, progress, "encrypt", |progress| {
            self.key.clone().with_progress(progress.clone()).encrypt_array(&values, &shape, options)
        })?;
        PyCiphertext::new(py, ciphertext, &self.params)
    }

    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertext: Readable<'py>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let data = ciphertext.data();
        let values = running(py, progress, "decrypt", |progress| {
            self.key.clone().with_progress(progress.clone()).decrypt(data)
        })?;
        ciphertext.transposed(to_numpy(py, values, data.shape())?)
    }

    fn decrypt_to_share<'py>(
        &self,
        py: Python<'py>,
        ciphertext: Readable<'py>,
        flood_bits: Whole,
        progress: Option<&Bound<'py, PyAny>>,
        honest_evaluator: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !honest_evaluator {
            let remedy = "noise hides the error of a server that computed what was asked, and not the secret key, which one that deviates can put into the numbers; \
                          pass honest_evaluator=True where you trust it, or where the result was computed again and is the same (`result.same_as(again)`)";
            return Err(out_of_range(py, "`honest_evaluator`", "False", remedy));
        }
        let data = ciphertext.data();
        let bits = u32::try_from(flood_bits.0)
            .map_err(|_| out_of_range(py, "`flood_bits`", flood_bits.0, "use 1 to 118 bits"))?;
        let values = running(py, progress, "decrypt", |progress| {
            let key = self.key.clone().with_progress(progress.clone());
            key.decrypt_to_share(data, bits, HonestEvaluator)
        })?;
        ciphertext.transposed(to_numpy(py, values, data.shape())?)
    }

    fn public_key(&self, py: Python<'_>) -> PyResult<PyPublicKey> {
        let key = detached(py, || self.key.public_key())?;
        Ok(PyPublicKey { key: Arc::new(key), params: self.params.clone_ref(py) })
    }

    fn authentication_key(&self) -> PyAuthenticationKey {
        PyAuthenticationKey { key: self.key.authentication_key() }
    }

    fn evaluation_keys(
        &self,
        py: Python<'_>,
        needs: &Bound<'_, PyNeeds>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyEvaluationKeys> {
        let needs = &needs.get().needs;
        let keys = running(py, progress, "evaluation keys", |progress| {
            self.key.clone().with_progress(progress.clone()).evaluation_keys(needs)
        })?;
        Ok(PyEvaluationKeys::new(Arc::new(keys), self.params.clone_ref(py)))
    }

    fn relative(&self, py: Python<'_>, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || self.key.relative(&params.get().params))?;
        Ok(Self { key, params })
    }

    fn with_outside_secret(&self, py: Python<'_>, number: Whole, coefficients: Wholes) -> PyResult<Self> {
        let number = number.secret_number(py, "`number`")?;
        let small = |Whole(value)| {
            let refused = || {
                out_of_range(
                    py,
                    "a coefficient of the secret of another library",
                    value,
                    "binary and ternary secrets are taken in",
                )
            };
            i8::try_from(value).map_err(|_| refused())
        };
        let coefficients = coefficients.0.into_iter().map(small).collect::<PyResult<Vec<i8>>>()?;
        let key = detached(py, || self.key.with_outside_secret(number, &coefficients))?;
        Ok(Self { key, params: self.params.clone_ref(py) })
    }

    fn with_share_budget(&self, py: Python<'_>, results: Whole) -> PyResult<Self> {
        let results = u64::try_from(results.0)
            .map_err(|_| out_of_range(py, "`results`", results.0, "use 0 or more"))?;
        let key = detached(py, || self.key.with_share_budget(results))?;
        Ok(Self { key, params: self.params.clone_ref(py) })
    }

    #[getter]
    fn share_budget(&self) -> Option<u64> {
        self.key.shares().map(|shares| shares.budget)
    }

    #[getter]
    fn shares_left(&self) -> Option<u64> {
        self.key.shares().map(|shares| shares.left)
    }

    fn tag(&self, py: Python<'_>, path: FilePath, name: &str) -> PyResult<String> {
        detached(py, || Ok(hex(&self.key.tag_of_file(name, &path)?)))
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        let replaced = if overwrite { Replaced::Anything } else { Replaced::Nothing };
        detached(py, || Ok(self.key.save_as(&path, replaced, &Progress::none())?))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || SecretKey::from_reader(&FileReader::open(&path)?, &params.get().params))?;
        Ok(Self { key, params })
    }

    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    #[getter]
    fn key_id(&self) -> String {
        hex(&self.key.id().0)
    }

    fn __repr__(&self) -> String {
        format!("SecretKey({}, id {}, secret redacted)", self.key.params().spec().name, self.key.id())
    }
}
