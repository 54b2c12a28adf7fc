//! The secret key, which is never given away by accident.

use std::sync::Arc;

use clathrate_ckks::file::{FileReader, Replaced, Stored};
use clathrate_ckks::keys::{EncryptOptions, HonestEvaluator};
use clathrate_ckks::{Ciphertext, SecretKey};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::arrays::{Array, array, to_numpy};
use crate::authentication::PyAuthenticationKey;
use crate::ciphertext::{PyCiphertext, PyTransposed};
use crate::encryption::options;
use crate::errors::{out_of_range, raise, raise_for_array};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::layout::{LaneCount, Placing};
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole, Wholes};
use crate::params::{PyParams, warn_unbounded};
use crate::paths::FilePath;
use crate::public_key::PyPublicKey;
use crate::run::{detached, with_progress};
use crate::text::hex;

/// The key of the owner of the data: it encrypts, decrypts, and makes the other keys.
///
/// `SecretKey.generate(params)` makes one. It is never printed, and `pickle` and `copy` refuse it; only `save` writes it to a file.
///
/// Examples
/// --------
/// >>> key = cl.SecretKey.generate(params)
/// >>> key.decrypt(key.encrypt([1.0, 2.0])).round(4)
/// array([1., 2.])
#[pyclass(frozen, module = "clathrate", name = "SecretKey")]
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
            Self::Rows(rows) => &rows.get().data,
            Self::Columns(view) => &view.get().base.get().data,
        }
    }

    /// The numbers as they are read.
    fn transposed(&self, numbers: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if matches!(self, Self::Rows(_)) { Ok(numbers) } else { numbers.getattr("T") }
    }
}

#[pymethods]
impl PySecretKey {
    /// The same secret key on another device.
    ///
    /// Parameters
    /// ----------
    /// device : str
    ///     "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.
    ///
    /// Returns
    /// -------
    /// SecretKey
    ///     The key, which encrypts and decrypts on that device.
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
    /// >>> secret_key.to("cpu").params == params
    /// True
    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let key = detached(py, || self.key.under(&self.key.params().runtime().clone().on(device)?))?;
        let params = Py::new(py, PyParams::from_core(key.params().clone()))?;
        Ok(Self { key, params })
    }

    /// A fresh secret key from the randomness of the operating system.
    ///
    /// Parameters
    /// ----------
    /// params : Params
    ///     The parameters.
    ///
    /// Returns
    /// -------
    /// SecretKey
    ///     The key.
    ///
    /// Raises
    /// ------
    /// RandomError
    ///     Where the operating system gives no randomness.
    ///
    /// Warns
    /// -----
    /// InsecureWarning
    ///     Where the parameters have less than 128 bits of security.
    ///
    /// Examples
    /// --------
    /// >>> key = cl.SecretKey.generate(params)
    #[staticmethod]
    fn generate(py: Python<'_>, params: Py<PyParams>) -> PyResult<Self> {
        params.get().warn_insecure(py)?;
        let key = detached(py, || SecretKey::generate(&params.get().params))?;
        Ok(Self { key, params })
    }

    /// Encrypts an array; the ciphertext has its shape.
    ///
    /// Parameters
    /// ----------
    /// array : array_like
    ///     Numbers of any numeric type and memory layout, at most two axes.
    /// encoding : {"slots", "coefficients"}, optional
    ///     How numbers are placed in polynomials. "slots" holds n / 2 complex numbers per polynomial, for products element by element and
    ///     rotations. "coefficients" holds n real or n / 2 complex numbers, for sums, products with plain numbers and `W @ ct`. None, the
    ///     default, takes coefficients for real matrices and slots for everything else.
    /// level : int, optional
    ///     The level, 0 to `params.max_level`: the number of rescales that the ciphertext allows. A lower level is smaller and faster.
    ///     None, the default, is the highest level of `params.application_levels`, or `params.max_level` without them.
    /// scale : float, optional
    ///     The factor that numbers are multiplied by before they are rounded. None, the default, is the canonical scale of the level.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (polynomials done, polynomials in all) and may return False to stop.
    /// bodies : int, optional
    ///     How many polynomials share a mask, 1 to 4096. The array takes less memory, and operations on the mask serve all of them;
    ///     products of such arrays with each other are refused. The array is under a secret of its own, "bodies:" and the number. None,
    ///     the default, is one, under the secret "main".
    /// axis : {"rows", "chunks"}, optional
    ///     Which polynomials share a mask. "rows" are consecutive rows of the array, so that rotations serve several rows. "chunks" are
    ///     consecutive polynomials of one row, so that `W @ ct` multiplies one mask for the whole row. None, the default, takes chunks
    ///     where a row needs several polynomials, and rows otherwise.
    /// capacity : int, optional
    ///     The most numbers in one polynomial, a power of two. Slots repeat with this period; coefficients are spread evenly. None, the
    ///     default, is the length of a row rounded up to a power of two in slots, and all coefficients.
    /// lanes : int or "most", optional
    ///     How many consecutive rows share a polynomial, a power of two, where rows of slots or of real coefficients are shorter than a
    ///     polynomial. "most" is as many as there is room for. Such arrays are much smaller, and operations on them faster. In slots rows
    ///     lie one behind the other. In coefficients they alternate, as prepared matrices want them, and `to_mlwe` takes them apart.
    ///     None, the default, is one row in a polynomial.
    /// copies : int, optional
    ///     How many neighbouring slots hold each number, a power of two. Only for arrays that are combined with sums of rows that share
    ///     polynomials: their `layout` says how many. None, the default, is 1.
    /// order : {"natural", "bit-reversed"}, optional
    ///     The order of the numbers in a polynomial. "bit-reversed" puts number j at the place whose bits are those of j reversed. The
    ///     default is "natural".
    /// bound : float, optional
    ///     The largest magnitude that the numbers may have; larger ones are refused. Results have bounds (`Ciphertext.bound`), and what
    ///     might wrap around is refused before it is computed. It is public: it is in files, and nothing is taken from the numbers
    ///     themselves. With a bound the time of an encryption does not depend on the numbers; without, it shows whether the largest one is
    ///     too large for double precision to serve. None, the default, is no bound.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The encrypted array, without evaluation keys.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where numbers are NaN, infinite or too large, there are none, or there are more than two axes; for a number of bodies, a
    ///     capacity, lanes or copies out of range, and for another axis or order; for numbers above the bound, and a bound without room.
    /// TypeError
    ///     Where the entries are no numbers.
    /// LevelError
    ///     Where there is no such level.
    /// ScaleError
    ///     Where the scale is not positive, or leaves the level no room.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Warns
    /// -----
    /// InsecureWarning
    ///     Where the parameters have less than 128 bits of security.
    ///
    /// Examples
    /// --------
    /// >>> secret_key.encrypt(np.zeros((3, 4))).encoding
    /// 'coefficients'
    /// >>> (secret_key.encrypt([1.0, 2.0], bound=10.0) + 5).bound
    /// 15.0
    /// >>> secret_key.encrypt(np.zeros((3, 4)), bodies=3).layout
    /// 1024 real numbers in coefficients of degree 1024, 3 rows under one mask
    #[pyo3(signature = (array, encoding=None, level=None, scale=None, progress=None, *, bodies=None, axis=None, capacity=None, lanes=None, copies=None, order="natural", bound=None))]
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
        self.params.get().warn_insecure(py)?;
        if bound.is_none() {
            warn_unbounded(py)?;
        }
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let options = Placing { bodies, axis, capacity, lanes, copies, order }.apply(py, options)?;
        let options = EncryptOptions { bound: Real::given(bound), ..options };
        let Array { values, shape, .. } = self::array(array)?;
        let translate = |error| raise_for_array(py, error, &shape);
        let ciphertext = with_progress(py, progress, "encrypt", translate, |tick| {
            self.key.encrypt_array_with_progress(&values, &shape, options, tick)
        })?;
        PyCiphertext::new(py, ciphertext, &self.params)
    }

    /// Decrypts a ciphertext to an array, for the owner of the key alone.
    ///
    /// The result has a small error, and the error depends on the secret. Neither the numbers nor whether decryption failed may reach
    /// whoever computed the ciphertext, or its friends: with changed ciphertexts, each that is read or refused gives a part of the key
    /// away. To show the numbers to others, use `decrypt_to_share`.
    ///
    /// Parameters
    /// ----------
    /// ciphertext : Ciphertext or TransposedCiphertext
    ///     A ciphertext under this secret, at any degree and rank that the parameters lead to.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (polynomials done, polynomials in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     The numbers, of the shape of the ciphertext: float64, or complex128 where the encrypted numbers were complex.
    ///
    /// Raises
    /// ------
    /// WrongParamsError
    ///     Where the ciphertext has other parameters.
    /// WrongSecretError
    ///     Where the ciphertext belongs to another secret.
    /// DataError
    ///     Where the numbers have visibly outgrown the modulus.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> secret_key.decrypt(ct + 1).round(4)
    /// array([2., 3., 4.])
    #[pyo3(signature = (ciphertext, progress=None))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        ciphertext: Readable<'py>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let data = ciphertext.data();
        let values = with_progress(
            py,
            progress,
            "decrypt",
            |error| raise(py, error),
            |tick| self.key.decrypt_with_progress(data, tick),
        )?;
        ciphertext.transposed(to_numpy(py, values, data.shape())?)
    }

    /// Decrypts a ciphertext with noise on top, for results of an honest server that others will see.
    ///
    /// Noise protects results of a server that computed what was asked. A server that did not can add multiples of the secret to its
    /// result and read them in the numbers, or from whether they came; the numbers look right all the same, and noise does not help. So
    /// the call takes your word, `honest_evaluator=True`. Where you cannot give it, compute the result again, or have a second server do
    /// so, and compare (`Ciphertext.same_as`), or show nobody the numbers.
    ///
    /// The error of a decryption depends on the secret, so publishing exact decryptions leaks it. Here noise, uniform in [-2**(flood_bits -
    /// 1), 2**(flood_bits - 1)), is added to each scaled coefficient. `Ciphertext.flood_bits` says how many bits that takes: it counts the
    /// error, the coefficients and all decryptions that will be shared. Do not choose the number without it. A key counts its shared
    /// results where it was given a number of them (`with_share_budget`); for others you have to.
    ///
    /// Parameters
    /// ----------
    /// ciphertext : Ciphertext or TransposedCiphertext
    ///     A ciphertext under this secret.
    /// flood_bits : int
    ///     The bits of noise, 1 to 118. `Ciphertext.flood_bits` computes them from a bound on the error.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (polynomials done, polynomials in all) and may return False to stop.
    /// honest_evaluator : bool, optional
    ///     Your word that the ciphertext is what you asked to be computed. Without it, the default, nothing is shared.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     The numbers, of the shape of the ciphertext.
    ///
    /// Raises
    /// ------
    /// WrongParamsError
    ///     Where the ciphertext has other parameters.
    /// WrongSecretError
    ///     Where the ciphertext belongs to another secret.
    /// DataError
    ///     Without `honest_evaluator=True`; where `flood_bits` is out of range, the budget of shared results is spent, or the numbers have
    ///     visibly outgrown the modulus.
    /// FileAccessError
    ///     Where the count of shared results cannot be written to the file of the key.
    /// CancelledError
    ///     Where the progress function returned False. The result is counted all the same.
    ///
    /// Examples
    /// --------
    /// >>> secret_key.decrypt_to_share(ct, flood_bits=20, honest_evaluator=True).round(3)
    /// array([1., 2., 3.])
    #[pyo3(signature = (ciphertext, flood_bits, progress=None, *, honest_evaluator=false))]
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
        let translate = |error| raise(py, error);
        let values = with_progress(py, progress, "decrypt", translate, |tick| {
            self.key.decrypt_to_share_with_progress(data, bits, HonestEvaluator, tick)
        })?;
        ciphertext.transposed(to_numpy(py, values, data.shape())?)
    }

    /// A public key: whoever has it can encrypt for this secret key, at any level.
    ///
    /// Returns
    /// -------
    /// PublicKey
    ///     A fresh public key.
    ///
    /// Raises
    /// ------
    /// RandomError
    ///     Where the operating system gives no randomness.
    ///
    /// Examples
    /// --------
    /// >>> secret_key.public_key().key_id == secret_key.key_id
    /// True
    fn public_key(&self, py: Python<'_>) -> PyResult<PyPublicKey> {
        let key = detached(py, || self.key.public_key())?;
        Ok(PyPublicKey { key: Arc::new(key), params: self.params.clone_ref(py) })
    }

    /// The key by which a server knows what this owner's light clients send: always the same one.
    ///
    /// Returns
    /// -------
    /// AuthenticationKey
    ///     For `Receiver`, `Inbox` and `clathrate pack`. It decrypts nothing, but whoever has it can send numbers in the name of every
    ///     client.
    ///
    /// Examples
    /// --------
    /// >>> secret_key.authentication_key().key_id == secret_key.key_id
    /// True
    fn authentication_key(&self) -> PyAuthenticationKey {
        PyAuthenticationKey { key: self.key.authentication_key() }
    }

    /// The evaluation keys of a computation: exactly those that `needs` states.
    ///
    /// Parameters
    /// ----------
    /// needs : Needs
    ///     What the computation does: products, rotations, conjugation, changes of rank. `trace` finds it out for a function.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (keys done, keys in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// EvaluationKeys
    ///     The keys; they may be given to whoever computes.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where the parameters have no special primes, no temporary rank for `power_rotations`, or not the ranks that are asked for.
    /// LevelError
    ///     Where the level that is asked for does not exist.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> secret_key.evaluation_keys(cl.Needs(rotations=[1, 2])).rotations
    /// [1, 2]
    #[pyo3(signature = (needs, progress=None))]
    fn evaluation_keys(
        &self,
        py: Python<'_>,
        needs: &Bound<'_, PyNeeds>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyEvaluationKeys> {
        let needs = &needs.get().needs;
        let translate = |error| raise(py, error);
        let keys = with_progress(py, progress, "evaluation keys", translate, |tick| {
            self.key.evaluation_keys_with_progress(needs, tick)
        })?;
        Ok(PyEvaluationKeys::new(Arc::new(keys), self.params.clone_ref(py)))
    }

    /// The evaluation keys that a function of encrypted arrays needs, found by a dry run.
    ///
    /// `keys_for(f, shape)` is `evaluation_keys(cl.trace(f, shape, params=key.params).needs)`. Use `trace` itself to see time and bytes
    /// before keys are made, and for functions that bootstrap by themselves: its `bootstrap_below` is needed, too.
    ///
    /// Parameters
    /// ----------
    /// function : callable
    ///     The computation, as `trace` takes it: it gets one array for each shape.
    /// *shapes : sequence of int or Input
    ///     The shapes of the arrays.
    /// progress : bool or callable, optional
    ///     As `evaluation_keys` takes it.
    /// **options
    ///     How the arrays are encrypted: the keywords of `trace`, such as `level`, and `encoding`, which matrices in slots have to be
    ///     given.
    ///
    /// Returns
    /// -------
    /// EvaluationKeys
    ///     The keys. `keys | other` joins sets of several functions.
    ///
    /// Raises
    /// ------
    /// ClathrateError
    ///     As `trace` and `evaluation_keys`.
    ///
    /// Examples
    /// --------
    /// >>> f = lambda x, y: x.dot(y)
    /// >>> keys = secret_key.keys_for(f, (4,), (4,))
    /// >>> keys.rotations, keys.has_relinearisation
    /// ([1, 2], True)
    /// >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
    /// >>> float(secret_key.decrypt(f(x, x)).round(4))
    /// 30.0
    #[pyo3(signature = (function, *shapes, progress=None, **options))]
    fn keys_for(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        shapes: &Bound<'_, PyTuple>,
        progress: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyEvaluationKeys> {
        let keywords = options.map_or_else(|| Ok(PyDict::new(py)), |options| options.copy())?;
        if keywords.contains("params")? {
            return Err(PyTypeError::new_err("`keys_for` takes no `params`: the secret key has its own"));
        }
        keywords.set_item("params", self.params.clone_ref(py))?;
        let arguments: Vec<Bound<'_, PyAny>> =
            std::iter::once(function.clone()).chain(shapes.iter()).collect();
        let found =
            py.import("clathrate")?.getattr("trace")?.call(PyTuple::new(py, arguments)?, Some(&keywords))?;
        let needs = found.getattr("needs")?.cast_into::<PyNeeds>()?;
        self.evaluation_keys(py, &needs, progress)
    }

    /// The same secret at another degree and rank, to encrypt there.
    ///
    /// To decrypt it is not needed: `decrypt` takes ciphertexts of every degree and rank that these parameters lead to.
    ///
    /// The key is as secret as this one, also where it is smaller: it holds the seed that all devices', bodies' and packing secrets of this
    /// owner are drawn from, and the authentication key. It is no key to give to somebody else. What a device gets is `LightClient`.
    ///
    /// Parameters
    /// ----------
    /// params : Params
    ///     What `params.relative(...)`, `params.at_rank(...)` or `params.rlwe()` gave.
    ///
    /// Returns
    /// -------
    /// SecretKey
    ///     The same secret there.
    ///
    /// Raises
    /// ------
    /// WrongParamsError
    ///     Where these are not parameters that this key's parameters lead to, or degree times rank is larger.
    ///
    /// Examples
    /// --------
    /// >>> four = cl.Params.preset("insecure_dpad")
    /// >>> key = cl.SecretKey.generate(four)
    /// >>> key.decrypt(key.relative(four.rlwe()).encrypt([1.0, 2.0])).round(4)
    /// array([1., 2.])
    fn relative(&self, py: Python<'_>, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || self.key.relative(&params.get().params))?;
        Ok(Self { key, params })
    }

    /// This key with the secret of another library's LWE samples, which it can then decrypt and make keys for.
    ///
    /// The other secret is not stored with the key: `save` writes the owner's alone.
    ///
    /// Parameters
    /// ----------
    /// number : int
    ///     A number for the other secret, for `SamplesPlan(..., outside=number)`.
    /// coefficients : sequence of int
    ///     The other secret: -1, 0 or 1 each, at most degree times rank of them.
    ///
    /// Returns
    /// -------
    /// SecretKey
    ///     The key with both secrets.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a negative number, other coefficients, none, or too many.
    ///
    /// Examples
    /// --------
    /// >>> both = secret_key.with_outside_secret(1, [0, 1, 1, 0, 1])
    /// >>> both.key_id == secret_key.key_id
    /// True
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

    /// This key with a number of results that it shares and no more: `decrypt_to_share` counts them.
    ///
    /// The noise of shared results is computed for a number of them (`Ciphertext.flood_bits(queries=...)`), and more would leak. The count
    /// is stored with the key. A key that was saved or loaded counts in its file, before it decrypts: programs that use one file count
    /// together, and a result that is lost is counted, too. Copies of the file count on their own, backups among them.
    ///
    /// Parameters
    /// ----------
    /// results : int
    ///     How many results the key may share.
    ///
    /// Returns
    /// -------
    /// SecretKey
    ///     The key, which counts from now on. To keep the count it has to be saved.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a negative number, and where the key has a budget already.
    ///
    /// Examples
    /// --------
    /// >>> key = secret_key.with_share_budget(100)
    /// >>> shared = key.decrypt_to_share(ct, flood_bits=20, honest_evaluator=True)
    /// >>> key.share_budget, key.shares_left
    /// (100, 99)
    fn with_share_budget(&self, py: Python<'_>, results: Whole) -> PyResult<Self> {
        let results = u64::try_from(results.0)
            .map_err(|_| out_of_range(py, "`results`", results.0, "use 0 or more"))?;
        let key = detached(py, || self.key.with_share_budget(results))?;
        Ok(Self { key, params: self.params.clone_ref(py) })
    }

    /// How many results the key may share in all, or None where nobody counts.
    #[getter]
    fn share_budget(&self) -> Option<u64> {
        self.key.shares().map(|shares| shares.budget)
    }

    /// How many results the key may still share, as its file says where it has one, or None where nobody counts.
    #[getter]
    fn shares_left(&self) -> Option<u64> {
        self.key.shares().map(|shares| shares.left)
    }

    /// The tag of a file under a name, by which the owner knows a file again that is stored elsewhere.
    ///
    /// Whoever stores the file cannot make the tag of another file, or of this one under another name. Keep the tag and compare it before
    /// you use the file again: it is another one where the file was changed, exchanged or set back to an older one. Checksums inside of
    /// files notice accidents alone.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     Any file.
    /// name : str, optional
    ///     What the file is to be, such as its path and date. The default is an empty name.
    ///
    /// Returns
    /// -------
    /// str
    ///     128 bits, as 32 hexadecimal digits.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be read.
    ///
    /// Examples
    /// --------
    /// >>> size = secret_key.encrypt([1.0, 2.0], bound=2.0).save("monday.clt")
    /// >>> tag = secret_key.tag("monday.clt", "readings of monday")
    /// >>> tag == secret_key.tag("monday.clt", "readings of monday"), tag == secret_key.tag("monday.clt", "readings of tuesday")
    /// (True, False)
    #[pyo3(signature = (path, name=""))]
    fn tag(&self, py: Python<'_>, path: FilePath, name: &str) -> PyResult<String> {
        detached(py, || Ok(hex(&self.key.tag_of_file(name, &path)?)))
    }

    /// Writes the secret key to a file that only its owner may read.
    ///
    /// The file is not encrypted: whoever can read it can decrypt. A budget of shared results is stored, too.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file. If it exists it is replaced as a whole or not at all.
    /// overwrite : bool, optional
    ///     Whether a file that exists may be replaced, even if it holds a secret key. The default is False.
    ///
    /// Returns
    /// -------
    /// int
    ///     The length of the file in bytes.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be written, or exists and `overwrite` is False.
    ///
    /// Examples
    /// --------
    /// >>> size = secret_key.save("secret.clt")
    #[pyo3(signature = (path, overwrite=false))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        let replaced = if overwrite { Replaced::Anything } else { Replaced::Nothing };
        detached(py, || Ok(self.key.save_as(&path, replaced, None)?))
    }

    /// A secret key from a file that `save` wrote.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    /// params : Params
    ///     The parameters it was made with.
    ///
    /// Returns
    /// -------
    /// SecretKey
    ///     The key.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     Where the file does not hold a secret key, or is damaged.
    /// FileAccessError
    ///     Where the file cannot be read.
    /// WrongParamsError
    ///     Where the file was made with other parameters.
    ///
    /// Examples
    /// --------
    /// >>> size = secret_key.save("secret.clt")
    /// >>> cl.SecretKey.load("secret.clt", params).key_id == secret_key.key_id
    /// True
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

    /// The public name of the secret, 32 hexadecimal digits. Ciphertexts and keys carry it; messages show the first 12 digits.
    #[getter]
    fn key_id(&self) -> String {
        hex(&self.key.id().0)
    }

    fn __repr__(&self) -> String {
        format!("SecretKey({}, id {}, secret redacted)", self.key.params().spec().name, self.key.id())
    }

    fn __reduce_ex__(&self, protocol: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = protocol;
        Err(PyTypeError::new_err(
            "a secret key is never pickled: save it to a file of your own with `SecretKey.save(path)`",
        ))
    }

    fn __copy__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a secret key is never copied: share the object"))
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = memo;
        self.__copy__()
    }
}
