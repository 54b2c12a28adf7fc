//! Keys: the secret one, which never leaves by accident, and those that may be given away.

use std::sync::Arc;

use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::{Encoding, EvaluationKeys, PublicKey, SecretKey};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrays::{Array, array, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::{out_of_range, raise, raise_for_array};
use crate::files::{BufferAndRebuild, FilePath, reduce, to_array};
use crate::needs::PyNeeds;
use crate::operand::{Real, Whole, Wholes};
use crate::params::{PyParams, hex};
use crate::run::{detached, with_progress};

pub fn options(
    py: Python<'_>,
    params: &PyParams,
    encoding: Option<&str>,
    level: Option<Whole>,
    scale: Option<Real>,
) -> PyResult<EncryptOptions> {
    let encoding = match encoding {
        None => None,
        Some("slots") => Some(Encoding::Slots),
        Some("coefficients") => Some(Encoding::Coefficients),
        Some(other) => return Err(out_of_range(py, "`encoding`", format!("\"{other}\""), "use \"slots\" or \"coefficients\"")),
    };
    let level = level.map(|level| params.level(py, Some(level))).transpose()?;
    Ok(EncryptOptions { encoding, level, scale: Real::given(scale) })
}

/// The owner's key: encrypts, decrypts and makes the other keys.
///
/// Never printed; `pickle` and `copy` refuse it: give `save` a path on purpose.
#[pyclass(frozen, module = "clathrate", name = "SecretKey")]
pub struct PySecretKey {
    key: SecretKey,
    params: Py<PyParams>,
}

#[pymethods]
impl PySecretKey {
    /// A fresh key from the operating system's entropy.
    ///
    /// Errors: `RandomError` where entropy fails.
    #[staticmethod]
    fn generate(py: Python<'_>, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || SecretKey::generate(&params.get().params))?;
        Ok(Self { key, params })
    }

    /// Encrypts an array of at most two axes; the shape is kept.
    ///
    /// Parameters
    /// ----------
    /// array : numbers of any numeric dtype, order and strides. Complex ones go to slots.
    /// encoding : "slots" (products element by element, rotations; n/2 complex numbers per polynomial) or "coefficients" (twice as
    ///     dense; sums, scalar products, `W @ ct`). None: coefficients for real matrices, slots for the rest.
    /// level : 0 to `params.max_level`, the top if None: what is left of the modulus, and of the time and size.
    /// scale : what numbers are multiplied by before rounding; the level's own if None.
    /// progress : True for a bar, or a function of (polynomials done, total) that may return False to stop.
    ///
    /// Errors: `DataError` (NaN, infinities, too large, empty, more than two axes), `TypeError` (no numbers), `ShapeError` (complex
    /// data in coefficients), `LevelError`, `ScaleError`, `CancelledError`.
    #[pyo3(signature = (array, encoding=None, level=None, scale=None, progress=None))]
    fn encrypt(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        encoding: Option<&str>,
        level: Option<Whole>,
        scale: Option<Real>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCiphertext> {
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let Array { values, shape } = self::array(array)?;
        let translate = |error| raise_for_array(py, error, &shape);
        let ciphertext = with_progress(py, progress, "encrypt", translate, |tick| self.key.encrypt(&values, &shape, options, tick))?;
        PyCiphertext::new(py, ciphertext, &self.params)
    }

    /// Decrypts to a NumPy array of the ciphertext's shape: float64, or complex128 where the data was complex.
    ///
    /// For the key's owner. The error of an approximate decryption carries information about the secret: share results through
    /// `decrypt_to_share`.
    ///
    /// Errors: `WrongParamsError`, `WrongSecretError`, `CancelledError`; `DataError` where numbers have visibly outgrown the modulus.
    #[pyo3(signature = (ciphertext, progress=None))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertext: &Bound<'py, PyCiphertext>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let data = &ciphertext.get().data;
        let values = with_progress(py, progress, "decrypt", |error| raise(py, error), |tick| self.key.decrypt(data, tick))?;
        to_numpy(py, values, data.shape())
    }

    /// Decrypts with flooding noise, for results that others see.
    ///
    /// `flood_bits`: 1 to 62; noise uniform in [-2**(flood_bits - 1), 2**(flood_bits - 1)) is added to each scaled coefficient.
    /// Chosen lambda bits above a bound on the circuit's error, what is revealed is within 2**-lambda of independent of that error.
    ///
    /// Errors: those of `decrypt`; `DataError` for `flood_bits` out of range.
    #[pyo3(signature = (ciphertext, flood_bits, progress=None))]
    fn decrypt_to_share<'py>(
        &self,
        py: Python<'py>,
        ciphertext: &Bound<'py, PyCiphertext>,
        flood_bits: Whole,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let data = &ciphertext.get().data;
        let bits = u32::try_from(flood_bits.0).map_err(|_| out_of_range(py, "`flood_bits`", flood_bits.0, "use 1 to 62 bits"))?;
        let translate = |error| raise(py, error);
        let values = with_progress(py, progress, "decrypt", translate, |tick| self.key.decrypt_to_share(data, bits, tick))?;
        to_numpy(py, values, data.shape())
    }

    /// A public key, which encrypts for this one at any level.
    ///
    /// Errors: `RandomError`.
    fn public_key(&self, py: Python<'_>) -> PyResult<PyPublicKey> {
        let key = detached(py, || self.key.public_key())?;
        Ok(PyPublicKey { key: Arc::new(key), params: self.params.clone_ref(py) })
    }

    /// Exactly the evaluation keys that `needs` states.
    ///
    /// Errors: `ParamsError` where the parameters have no special primes, no temporary rank for `power_rotations`, or not the `ranks` that
    /// are asked for; `CancelledError`.
    #[pyo3(signature = (needs, progress=None))]
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        needs: &Bound<'_, PyNeeds>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyEvaluationKeys> {
        let needs = &needs.get().needs;
        let translate = |error| raise(py, error);
        let keys = with_progress(py, progress, "evaluation keys", translate, |tick| self.key.evaluation_keys(needs, tick))?;
        Ok(PyEvaluationKeys { keys: Arc::new(keys), params: self.params.clone_ref(py) })
    }

    /// The same secret at another shape of the same family, `params.relative(...)`, `params.at_rank(r)` or `params.rlwe()`: encrypts there.
    ///
    /// Nothing of the kind is needed to decrypt: `decrypt` takes the ciphertexts of every shape.
    ///
    /// >>> ct = key.relative(params.rlwe()).encrypt(x)
    ///
    /// Errors: `WrongParamsError` for other families, and for larger dimensions than this key's.
    fn relative(&self, py: Python<'_>, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || self.key.relative(&params.get().params))?;
        Ok(Self { key, params })
    }

    /// Writes the key to `path`, readable by its owner only. Returns the file's bytes.
    ///
    /// overwrite : whether a secret key at `path` may be replaced; nothing else that is saved ever replaces one.
    ///
    /// Errors: `FileAccessError`, also for a secret key in the way.
    #[pyo3(signature = (path, overwrite=false))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        detached(py, || Ok(if overwrite { self.key.replace(&path) } else { self.key.save(&path) }?))
    }

    /// A key from a file that `save` wrote.
    ///
    /// Errors: `FileFormatError`, `FileAccessError`, `WrongParamsError`.
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || SecretKey::from_reader(&FileReader::open(&path)?, &params.get().params))?;
        Ok(Self { key, params })
    }

    /// The parameters.
    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    /// Its public name, 32 hexadecimal digits; ciphertexts and keys carry it, messages show the first 12.
    #[getter]
    fn key_id(&self) -> String {
        hex(&self.key.id().0)
    }

    fn __repr__(&self) -> String {
        format!("SecretKey({}, id {}, secret redacted)", self.key.params().spec().name, self.key.id())
    }

    fn __reduce_ex__(&self, protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = protocol;
        Err(PyTypeError::new_err("a secret key is never pickled: save it to a file of your own with `SecretKey.save(path)`"))
    }

    fn __copy__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a secret key is never copied: share the object"))
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = memo;
        self.__copy__()
    }
}

/// Encrypts for the owner of a secret key; safe to give away.
#[pyclass(frozen, module = "clathrate", name = "PublicKey")]
pub struct PyPublicKey {
    pub key: Arc<PublicKey>,
    pub params: Py<PyParams>,
}

#[pymethods]
impl PyPublicKey {
    /// Encrypts an array; as `SecretKey.encrypt`, with more noise and twice the file size.
    ///
    /// Errors: those of `SecretKey.encrypt`.
    #[pyo3(signature = (array, encoding=None, level=None, scale=None, progress=None))]
    fn encrypt(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        encoding: Option<&str>,
        level: Option<Whole>,
        scale: Option<Real>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCiphertext> {
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let Array { values, shape } = self::array(array)?;
        let translate = |error| raise_for_array(py, error, &shape);
        let ciphertext = with_progress(py, progress, "encrypt", translate, |tick| self.key.encrypt(&values, &shape, options, tick))?;
        PyCiphertext::new(py, ciphertext, &self.params)
    }

    /// Writes the key to `path`, which is replaced at once or not at all. Returns the file's bytes.
    ///
    /// Errors: `FileAccessError`.
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<u64> {
        detached(py, || Ok(self.key.save(&path)?))
    }

    /// A key from a file that `save` wrote.
    ///
    /// Errors: `FileFormatError`, `FileAccessError`, `WrongParamsError`.
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || PublicKey::from_reader(&FileReader::open(&path)?, &params.get().params))?;
        Ok(Self { key: Arc::new(key), params })
    }

    /// The file's bytes as a read-only uint8 array; `clathrate.from_bytes` reads them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_array(py, detached(py, || Ok(self.key.to_file_bytes()?))?)
    }

    /// The parameters.
    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    /// The public name of the secret it encrypts for, 32 hexadecimal digits.
    #[getter]
    fn key_id(&self) -> String {
        hex(&self.key.id().0)
    }

    fn __repr__(&self) -> String {
        format!("PublicKey({}, id {})", self.key.params().spec().name, self.key.id())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: Whole) -> PyResult<BufferAndRebuild<'py>> {
        reduce(self.to_bytes(py)?, &self.params, protocol)
    }
}

/// What computing on ciphertexts needs: no secret among it. Attach them with `Ciphertext.with_keys`.
#[pyclass(frozen, module = "clathrate", name = "EvaluationKeys")]
pub struct PyEvaluationKeys {
    pub keys: Arc<EvaluationKeys>,
    pub params: Py<PyParams>,
}

impl PyEvaluationKeys {
    /// What else `repr` tells: powers of two and other shapes, where there are any.
    fn elsewhere(&self) -> String {
        let powers = if self.keys.has_powers() { " and powers of two" } else { "" };
        let shapes: Vec<String> = self.keys.shapes().iter().skip(1).map(ToString::to_string).collect();
        if shapes.is_empty() { powers.to_owned() } else { format!("{powers}, also at {}", shapes.join(" ")) }
    }
}

#[pymethods]
impl PyEvaluationKeys {
    /// Rotation steps there are keys for, ascending, in (-slot_count / 2, slot_count / 2].
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

    /// Whether rotations by any step follow from keys of powers of two at the temporary rank.
    #[getter]
    fn has_power_rotations(&self) -> bool {
        self.keys.has_powers()
    }

    /// Ranks there are reduction keys for from the rank of `params`, highest first; those from lower ranks not among them.
    #[getter]
    fn ranks(&self) -> Vec<usize> {
        self.keys.reduced_ranks().rev().collect()
    }

    /// The (degree, rank) of every shape there are keys for, that of `params` first.
    #[getter]
    fn shapes(&self) -> Vec<(usize, usize)> {
        self.keys.shapes().into_iter().map(|shape| (shape.degree, shape.rank)).collect()
    }

    /// Bytes in memory, without what is derived.
    #[getter]
    fn nbytes(&self) -> usize {
        self.keys.bytes()
    }

    /// Bytes derived from these keys so far: what faster switching makes of them, on first use or by `prepare`.
    #[getter]
    fn derived_bytes(&self) -> usize {
        self.keys.derived_bytes()
    }

    /// Derives now what the first uses would derive, so that they take no longer than the later ones. Returns `derived_bytes`.
    ///
    /// levels : the levels of ciphertexts to prepare for; all if None. Levels above a key's own are left out.
    /// progress : True for a bar, or a function of (derivations done, total) that may return False to stop.
    ///
    /// What does not fit `key_cache_mib` is left out: switching uses the keys as they were made there.
    ///
    /// Errors: `LevelError`; `CancelledError`, with what was derived so far kept.
    #[pyo3(signature = (levels=None, progress=None))]
    fn prepare(&self, py: Python<'_>, levels: Option<Wholes>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let params = self.params.get();
        let levels = levels
            .map(|levels| levels.0.into_iter().map(|level| params.level(py, Some(level))).collect::<PyResult<Vec<_>>>())
            .transpose()?;
        with_progress(py, progress, "prepare keys", |error| raise(py, error), |tick| self.keys.prepare(levels.as_deref(), tick))
    }

    /// Drops what is derived; it is derived again when needed.
    fn drop_derived(&self) {
        self.keys.drop_derived();
    }

    /// The parameters.
    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    /// The public name of the secret they belong to, 32 hexadecimal digits.
    #[getter]
    fn key_id(&self) -> String {
        hex(&self.keys.id().0)
    }

    /// Writes the keys to `path`, which is replaced at once or not at all. Returns the file's bytes.
    ///
    /// Errors: `FileAccessError`.
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<u64> {
        detached(py, || Ok(self.keys.save(&path)?))
    }

    /// Keys from a file that `save` wrote.
    ///
    /// Errors: `FileFormatError`, `FileAccessError`, `WrongParamsError`.
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let keys = detached(py, || EvaluationKeys::from_reader(&FileReader::open(&path)?, &params.get().params))?;
        Ok(Self { keys: Arc::new(keys), params })
    }

    /// The file's bytes as a read-only uint8 array; `clathrate.from_bytes` reads them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_array(py, detached(py, || Ok(self.keys.to_file_bytes()?))?)
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

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: Whole) -> PyResult<BufferAndRebuild<'py>> {
        reduce(self.to_bytes(py)?, &self.params, protocol)
    }
}
