//! Files, bytes and pickles of ciphertexts.

use clathrate_ckks::Ciphertext;
use clathrate_ckks::file::FileReader;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::object::PyCiphertext;
use crate::errors::raise;
use crate::layout::PyLayout;
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::{file_bytes, transferring};
use crate::saving::{save, to_array, to_bytes};

/// What is known of a symbol beside its layout: its shape, level, scale, secret and estimate.
type Description = (Vec<usize>, usize, f64, String, String);

impl PyCiphertext {
    /// Refuses a symbol, which has nothing to store.
    fn check_data(&self, py: Python<'_>) -> PyResult<()> {
        self.data().check_data("a file").map_err(|error| raise(py, error))
    }
}

#[pymethods]
impl PyCiphertext {
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        self.check_data(py)?;
        save(py, self.data(), &path, overwrite, self.data().bytes())
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let data = transferring(py, "loading", file_bytes(&path), |progress| {
            let reader = FileReader::open(&path)?.with_progress(progress.clone());
            Ciphertext::from_reader(&reader, &params.get().params)
        })?;
        Self::new(py, data, &params)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.check_data(py)?;
        to_bytes(py, self.data(), self.data().bytes())
    }

    fn to_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_array(py, self.data(), self.data().bytes())
    }

    fn symbol_description(&self, py: Python<'_>) -> PyResult<Option<(String, Description)>> {
        let data = self.data();
        if !data.is_symbol() {
            return Ok(None);
        }
        let (shape, secret) = (data.shape().to_vec(), data.secret().to_string());
        let description = (shape, data.level().0, data.scale(), secret, data.estimate().to_text());
        Ok(Some((PyLayout::new(*data.layout()).to_json(py)?, description)))
    }
}
