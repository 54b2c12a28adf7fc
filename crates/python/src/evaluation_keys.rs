//! Evaluation keys: what computing on ciphertexts needs.

use std::path::PathBuf;
use std::sync::Arc;

use clathrate_ckks::file::FileReader;
use clathrate_ckks::keys::{HeldKey, KeyAddress};
use clathrate_ckks::store::ExpandedKeys;
use clathrate_ckks::{CkksError, EvaluationKeys, Evaluator, Level};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::raise;
use crate::needs::PyNeeds;
use crate::numbers::Wholes;
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::{detached, file_bytes, running, transferring};
use crate::saving::{save, to_array, to_bytes};
use crate::text::hex;
use crate::trusted::options_of;

#[pyclass(frozen, module = "clathrate._native", name = "EvaluationKeys")]
pub struct PyEvaluationKeys {
    pub keys: Arc<EvaluationKeys>,
    pub params: Py<PyParams>,
    /// The file that they are read from when they are used.
    file: Option<PathBuf>,
}

impl PyEvaluationKeys {
    /// The Python object of `keys`.
    pub fn new(keys: Arc<EvaluationKeys>, params: Py<PyParams>) -> Self {
        Self { keys, params, file: None }
    }

    /// An evaluator with these keys, which bootstraps by itself below level `below`.
    ///
    /// # Errors
    /// Where a level is given, and the parameters cannot bootstrap or have no such level.
    pub fn evaluator(&self, below: Option<Level>) -> Result<Evaluator, CkksError> {
        let plain = Evaluator::with_keys(self.keys.clone());
        if below.is_none() { Ok(plain) } else { plain.bootstrapping_by(&self.params.get().bootstraps, below) }
    }

    /// What `repr` adds: keys of rotations by powers of two and keys of other shapes, where there are any.
    fn elsewhere(&self) -> String {
        let powers = if self.keys.has_powers() { " and powers of two" } else { "" };
        let shapes: Vec<String> = self.keys.shapes().iter().skip(1).map(ToString::to_string).collect();
        if shapes.is_empty() { powers.to_owned() } else { format!("{powers}, also at {}", shapes.join(" ")) }
    }
}

/// The keys that `with_keys` attaches.
///
/// # Errors
/// `TypeError`, which says what to give in place of anything else.
pub fn attachable(keys: &Bound<'_, PyAny>) -> PyResult<Py<PyEvaluationKeys>> {
    if let Ok(keys) = keys.cast::<PyEvaluationKeys>() {
        return Ok(keys.clone().unbind());
    }
    let kind = keys.get_type().name()?.to_string();
    let remedy = match kind.as_str() {
        "SecretKey" => {
            "the secret key stays with its owner, who makes evaluation keys of it, `secret_key.keys_for(function, x.shape)`"
        }
        "Needs" => "make the keys that are needed, `secret_key.evaluation_keys(needs)`",
        _ => {
            "make them with `secret_key.keys_for(function, x.shape)`, or read them from a file with `cl.load(path, params)`"
        }
    };
    Err(PyTypeError::new_err(format!(
        "`with_keys` attaches EvaluationKeys, and a {kind} was given: {remedy}"
    )))
}

#[pymethods]
impl PyEvaluationKeys {
    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let keys = self.keys.clone();
        let moved = detached(py, || {
            let runtime = keys.params().runtime().clone().on(device)?;
            if runtime == *keys.params().runtime() { Ok(keys) } else { keys.under(&runtime).map(Arc::new) }
        })?;
        let params = Py::new(py, PyParams::from_core(moved.params().clone()))?;
        Ok(Self::new(moved, params))
    }

    #[getter]
    fn rotations(&self) -> Vec<i64> {
        let slots = self.keys.params().slot_count() as i64;
        let signed = |step: i64| if step > slots / 2 { step - slots } else { step };
        let mut steps: Vec<i64> = self.keys.rotation_steps().into_iter().map(signed).collect();
        steps.sort_unstable();
        steps
    }

    #[getter]
    fn has_relinearisation(&self) -> bool {
        self.keys.relinearisation().is_some()
    }

    #[getter]
    fn has_conjugation(&self) -> bool {
        self.keys.own().conjugation().is_some()
    }

    #[getter]
    fn has_power_rotations(&self) -> bool {
        self.keys.has_powers()
    }

    #[getter]
    fn ranks(&self) -> Vec<usize> {
        self.keys.reduced_ranks().rev().collect()
    }

    #[getter]
    fn shapes(&self) -> Vec<(usize, usize)> {
        self.keys.shapes().into_iter().map(|shape| (shape.degree, shape.rank)).collect()
    }

    #[getter]
    fn names(&self) -> Vec<(String, (usize, usize), usize)> {
        let entry = |(address, held): (KeyAddress, &HeldKey)| {
            (address.name.to_string(), (address.shape.degree, address.shape.rank), held.key().level().0)
        };
        self.keys.iter().map(entry).collect()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.keys.bytes()
    }

    #[getter]
    fn derived_bytes(&self) -> usize {
        self.keys.derived_bytes()
    }

    fn derive(
        &self,
        py: Python<'_>,
        levels: Option<Wholes>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let params = self.params.get();
        let levels = levels
            .map(|levels| {
                levels.0.into_iter().map(|level| params.level(py, Some(level))).collect::<PyResult<Vec<_>>>()
            })
            .transpose()?;
        running(py, progress, "derive keys", |progress| self.keys.derive(levels.as_deref(), progress))
    }

    fn drop_derived(&self) {
        self.keys.drop_derived();
    }

    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    #[getter]
    fn key_id(&self) -> String {
        hex(&self.keys.id().0)
    }

    fn missing(&self, py: Python<'_>, needs: &PyNeeds) -> PyResult<PyNeeds> {
        let needs = self.keys.missing_of(&needs.needs).map_err(|error| raise(py, error))?;
        Ok(PyNeeds { needs })
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool, expanded: bool) -> PyResult<u64> {
        match expanded {
            true => save(py, &ExpandedKeys(&self.keys), &path, overwrite, self.keys.bytes()),
            false => save(py, &*self.keys, &path, overwrite, self.keys.bytes() / 2),
        }
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>, trusted_map: bool) -> PyResult<Self> {
        let (keys, is_expanded) = transferring(py, "loading", file_bytes(&path), |progress| {
            let reader =
                FileReader::open_with(&path, options_of(trusted_map))?.with_progress(progress.clone());
            let keys = EvaluationKeys::from_reader(&reader, &params.get().params)?;
            let metadata: serde_json::Value = reader.metadata()?;
            Ok((keys, metadata["expanded"] == true))
        })?;
        let file = (trusted_map && is_expanded)
            .then(|| std::path::absolute(&path).unwrap_or_else(|_| path.to_path_buf()));
        Ok(Self { file, ..Self::new(Arc::new(keys), params) })
    }

    // The expanded file that they are read from.
    #[getter]
    fn file(&self) -> Option<PathBuf> {
        self.file.clone()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &*self.keys, self.keys.bytes() / 2)
    }

    fn to_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_array(py, &*self.keys, self.keys.bytes() / 2)
    }

    fn __repr__(&self) -> String {
        format!(
            "EvaluationKeys({}, id {}, relinearisation {}, conjugation {}, rotations {:?}{}, {:.1} MiB)",
            self.keys.params().spec().name,
            self.keys.id(),
            if self.has_relinearisation() { "yes" } else { "no" },
            if self.has_conjugation() { "yes" } else { "no" },
            self.rotations(),
            self.elsewhere(),
            self.nbytes() as f64 / 1_048_576.0
        )
    }

    fn __or__(&self, py: Python<'_>, other: PyRef<'_, Self>) -> PyResult<Self> {
        let keys = self.keys.merged(&other.keys).map_err(|error| raise(py, error))?;
        Ok(Self::new(Arc::new(keys), self.params.clone_ref(py)))
    }
}
