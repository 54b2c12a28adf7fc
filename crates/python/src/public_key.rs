//! The public key, which encrypts for the owner of the secret key.

use std::sync::Arc;

use clathrate_ckks::PublicKey;
use clathrate_ckks::file::FileReader;
use clathrate_ckks::keys::EncryptOptions;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{Array, array};
use crate::ciphertext::PyCiphertext;
use crate::encryption::options;
use crate::layout::{LaneCount, Placing};
use crate::numbers::{Real, Whole};
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::{detached, running};
use crate::saving::{save, to_array, to_bytes};
use crate::text::hex;

#[pyclass(frozen, module = "clathrate._native", name = "PublicKey")]
pub struct PyPublicKey {
    pub key: Arc<PublicKey>,
    pub params: Py<PyParams>,
}

#[pymethods]
impl PyPublicKey {
    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let key = detached(py, || self.key.under(&self.key.params().runtime().clone().on(device)?))?;
        let params = Py::new(py, PyParams::from_core(key.params().clone()))?;
        Ok(Self { key: Arc::new(key), params })
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
        lanes: Option<LaneCount>,
        bound: Option<Real>,
    ) -> PyResult<PyCiphertext> {
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let options =
            Placing { bodies: None, axis: None, capacity: None, lanes, copies: None, order: "natural" }
                .apply(py, options)?;
        let options = EncryptOptions { bound: Real::given(bound), ..options };
        let Array { values, shape, .. } = self::array(array)?;
        let ciphertext = running(py, progress, "encrypt", |progress| {
            let key = PublicKey::clone(&self.key).with_progress(progress.clone());
            key.encrypt_array(&values, &shape, options)
        })?;
        PyCiphertext::new(py, ciphertext, &self.params)
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &*self.key, &path, overwrite, 0)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || PublicKey::from_reader(&FileReader::open(&path)?, &params.get().params))?;
        Ok(Self { key: Arc::new(key), params })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &*self.key, 0)
    }

    fn to_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_array(py, &*self.key, 0)
    }

    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    #[getter]
    fn key_id(&self) -> String {
        hex(&self.key.id().0)
    }

    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.key.fingerprint())
    }

    fn __repr__(&self) -> String {
        format!("PublicKey({}, id {})", self.key.params().spec().name, self.key.id())
    }
}
