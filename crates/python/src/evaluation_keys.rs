//! Evaluation keys: what computing on ciphertexts needs.

use std::sync::Arc;

use clathrate_ckks::file::FileReader;
use clathrate_ckks::keys::{HeldKey, KeyAddress};
use clathrate_ckks::{CkksError, EvaluationKeys, Evaluator, Level};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffers::{BufferAndRebuild, reduce};
use crate::errors::raise;
use crate::numbers::{Whole, Wholes};
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::{detached, file_bytes, watch, with_progress};
use crate::saving::{save, to_bytes};
use crate::text::hex;

/// Evaluation keys: they let anyone compute on ciphertexts, and decrypt nothing.
///
/// `SecretKey.evaluation_keys(needs)` makes them. A relinearisation key serves products of ciphertexts, a rotation key one rotation, and so
/// on; each serves ciphertexts up to a level. `Ciphertext.with_keys(keys)` attaches them to a ciphertext, whose results inherit them.
///
/// A file stores each key once. Faster key switching needs other representations of a key at some levels, which are derived from the stored
/// key on first use and kept in memory (`Runtime`).
///
/// Examples
/// --------
/// >>> keys = secret_key.evaluation_keys(cl.Needs(relinearise=True, rotations=[1]))
/// >>> x = secret_key.encrypt([1.0, 2.0]).with_keys(keys)
/// >>> secret_key.decrypt((x * x).rescale().rotate(1)).round(4)
/// array([4., 1.])
#[pyclass(frozen, module = "clathrate", name = "EvaluationKeys")]
pub struct PyEvaluationKeys {
    pub keys: Arc<EvaluationKeys>,
    pub params: Py<PyParams>,
}

impl PyEvaluationKeys {
    /// The Python object of `keys`.
    pub fn new(keys: Arc<EvaluationKeys>, params: Py<PyParams>) -> Self {
        Self { keys, params }
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
    /// The same evaluation keys on another device.
    ///
    /// Parameters
    /// ----------
    /// device : str
    ///     "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.
    ///
    /// Returns
    /// -------
    /// EvaluationKeys
    ///     The keys, in the memory of that device. Meanwhile the host holds them twice.
    ///
    /// Raises
    /// ------
    /// DeviceError
    ///     Where there is no such device, or no driver for it.
    /// NotEnoughMemoryError
    ///     Where the device has no room.
    ///
    /// Examples
    /// --------
    /// >>> keys.to("cpu").rotations == keys.rotations
    /// True
    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let keys = self.keys.clone();
        let moved = detached(py, || {
            let runtime = keys.params().runtime().clone().on(device)?;
            if runtime == *keys.params().runtime() { Ok(keys) } else { keys.under(&runtime).map(Arc::new) }
        })?;
        let params = Py::new(py, PyParams::from_core(moved.params().clone()))?;
        Ok(Self::new(moved, params))
    }

    /// The rotation steps that there are keys for, ascending, in (-slot_count / 2, slot_count / 2].
    #[getter]
    fn rotations(&self) -> Vec<i64> {
        let slots = self.keys.params().slot_count() as i64;
        let signed = |step: i64| if step > slots / 2 { step - slots } else { step };
        let mut steps: Vec<i64> = self.keys.rotation_steps().into_iter().map(signed).collect();
        steps.sort_unstable();
        steps
    }

    /// Whether ciphertexts can be multiplied.
    #[getter]
    fn has_relinearisation(&self) -> bool {
        self.keys.relinearisation().is_ok()
    }

    /// Whether ciphertexts can be conjugated.
    #[getter]
    fn has_conjugation(&self) -> bool {
        self.keys.own().conjugation().is_some()
    }

    /// Whether ciphertexts can be rotated by any step, made of rotations by powers of two at the temporary rank.
    #[getter]
    fn has_power_rotations(&self) -> bool {
        self.keys.has_powers()
    }

    /// The ranks that the rank of `params` can be reduced to directly, highest first.
    #[getter]
    fn ranks(&self) -> Vec<usize> {
        self.keys.reduced_ranks().rev().collect()
    }

    /// The degree and rank of all ciphertexts that there are keys for, those of `params` first.
    #[getter]
    fn shapes(&self) -> Vec<(usize, usize)> {
        self.keys.shapes().into_iter().map(|shape| (shape.degree, shape.rank)).collect()
    }

    /// The stored keys: for each its name, the degree and rank of the ciphertexts that it serves, and the highest level that it serves.
    ///
    /// The names are those of the keys' files. "relinearise" is the key of products; "automorphism 5" that of the rotation which maps X to
    /// X**5, and of the conjugation where the number is twice the degree less 1; "reduce-rank 2" reduces the rank to 2. Names with "cross",
    /// "direct", "temporary" and "rank-down" are keys of the temporary rank.
    ///
    /// Examples
    /// --------
    /// >>> keys.names[0]
    /// ('relinearise', (1024, 1), 5)
    #[getter]
    fn names(&self) -> Vec<(String, (usize, usize), usize)> {
        let entry = |(address, held): (KeyAddress, &HeldKey)| {
            (address.name.to_string(), (address.shape.degree, address.shape.rank), held.key().level().0)
        };
        self.keys.iter().map(entry).collect()
    }

    /// The size of the stored keys in memory in bytes, without what is derived from them.
    #[getter]
    fn nbytes(&self) -> usize {
        self.keys.bytes()
    }

    /// The size in bytes of what is derived from these keys at present.
    #[getter]
    fn derived_bytes(&self) -> usize {
        self.keys.derived_bytes()
    }

    /// Derives now what first uses would derive, so that the first product or rotation is as fast as later ones.
    ///
    /// What does not fit into `Runtime.key_cache_mib` is left out; the stored key is used in its place.
    ///
    /// Parameters
    /// ----------
    /// levels : sequence of int, optional
    ///     The levels of the ciphertexts to derive for. None, the default, derives for all levels. Levels that a key does not serve are
    ///     skipped.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (derivations done, derivations in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// int
    ///     `derived_bytes` afterwards.
    ///
    /// Raises
    /// ------
    /// LevelError
    ///     Where there is no such level.
    /// CancelledError
    ///     Where the progress function returned False; what was derived by then is kept.
    ///
    /// Examples
    /// --------
    /// >>> keys.derive() == keys.derived_bytes
    /// True
    #[pyo3(signature = (levels=None, progress=None))]
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
        with_progress(
            py,
            progress,
            "derive keys",
            |error| raise(py, error),
            |tick| self.keys.derive_with_progress(levels.as_deref(), tick),
        )
    }

    /// Frees the memory of what is derived; it is derived again when needed.
    ///
    /// Examples
    /// --------
    /// >>> keys.drop_derived()
    /// >>> keys.derived_bytes
    /// 0
    fn drop_derived(&self) {
        self.keys.drop_derived();
    }

    /// The parameters.
    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    /// The public name of the secret that they belong to, 32 hexadecimal digits.
    #[getter]
    fn key_id(&self) -> String {
        hex(&self.keys.id().0)
    }

    /// Writes the keys to a file; what is derived from them is not written.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
    /// overwrite : bool, optional
    ///     Whether a file that exists may be replaced. The default is True; for secret keys it is False.
    ///
    /// Returns
    /// -------
    /// int
    ///     The length of the file in bytes.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.
    ///
    /// Examples
    /// --------
    /// >>> size = keys.save("keys.clt")
    #[pyo3(signature = (path, overwrite=true))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &*self.keys, &path, overwrite, self.keys.bytes() / 2)
    }

    /// Evaluation keys from a file that `save` wrote.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    /// params : Params
    ///     The parameters they were made with.
    ///
    /// Returns
    /// -------
    /// EvaluationKeys
    ///     The keys.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     Where the file does not hold evaluation keys, or is damaged.
    /// FileAccessError
    ///     Where the file cannot be read.
    /// WrongParamsError
    ///     Where the file was made with other parameters.
    ///
    /// Examples
    /// --------
    /// >>> size = keys.save("keys.clt")
    /// >>> cl.EvaluationKeys.load("keys.clt", params).rotations
    /// [1, 2]
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let keys = detached(py, || {
            EvaluationKeys::from_reader(
                &FileReader::open(&path)?.watched_by(watch("loading", file_bytes(&path))),
                &params.get().params,
            )
        })?;
        Ok(Self::new(Arc::new(keys), params))
    }

    /// The bytes that `save` would write.
    ///
    /// Returns
    /// -------
    /// bytes
    ///     The bytes; `from_bytes` reads them.
    ///
    /// Examples
    /// --------
    /// >>> again = cl.from_bytes(keys.to_bytes(), params)
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &*self.keys, self.keys.bytes() / 2)
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

    /// The keys of both sets, of one secret; they share their memory.
    fn __or__(&self, py: Python<'_>, other: PyRef<'_, Self>) -> PyResult<Self> {
        let keys = self.keys.merged(&other.keys).map_err(|error| raise(py, error))?;
        Ok(Self::new(Arc::new(keys), self.params.clone_ref(py)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: Whole) -> PyResult<BufferAndRebuild<'py>> {
        reduce(py, &*self.keys, self.keys.bytes() / 2, &self.params, protocol)
    }
}
