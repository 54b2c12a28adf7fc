//! Keys by which a server knows the owner's light clients.

use clathrate_ckks::file::FileReader;
use clathrate_ckks::light::AuthenticationKey;
use pyo3::prelude::*;

use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::detached;
use crate::saving::save;
use crate::text::hex;

#[pyclass(frozen, module = "clathrate._native", name = "AuthenticationKey")]
pub struct PyAuthenticationKey {
    pub key: AuthenticationKey,
}

#[pymethods]
impl PyAuthenticationKey {
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &self.key, &path, overwrite, 0)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: &PyParams) -> PyResult<Self> {
        let key = detached(py, || AuthenticationKey::from_reader(&FileReader::open(&path)?, &params.params))?;
        Ok(Self { key })
    }

    #[getter]
    fn key_id(&self) -> String {
        hex(&self.key.key_id().0)
    }

    fn __repr__(&self) -> String {
        format!("AuthenticationKey({}, redacted)", self.key.key_id())
    }
}
