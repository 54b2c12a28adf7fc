//! The public key, which encrypts for the owner of the secret key.

use std::sync::Arc;

use clathrate_ckks::PublicKey;
use clathrate_ckks::file::FileReader;
use clathrate_ckks::keys::EncryptOptions;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{Array, array};
use crate::buffers::{BufferAndRebuild, reduce};
use crate::ciphertext::PyCiphertext;
use crate::encryption::options;
use crate::errors::raise_for_array;
use crate::layout::{LaneCount, Placing};
use crate::numbers::{Real, Whole};
use crate::params::{PyParams, warn_unbounded};
use crate::paths::FilePath;
use crate::run::{detached, with_progress};
use crate::saving::{save, to_bytes};
use crate::text::hex;

/// A public key: it encrypts for the owner of a secret key and cannot decrypt.
///
/// `SecretKey.public_key()` makes it. It may be given to anyone.
///
/// Examples
/// --------
/// >>> public_key = secret_key.public_key()
/// >>> secret_key.decrypt(public_key.encrypt([1.0, 2.0])).round(4)
/// array([1., 2.])
#[pyclass(frozen, module = "clathrate", name = "PublicKey")]
pub struct PyPublicKey {
    pub key: Arc<PublicKey>,
    pub params: Py<PyParams>,
}

#[pymethods]
impl PyPublicKey {
    /// The same public key on another device.
    ///
    /// Parameters
    /// ----------
    /// device : str
    ///     "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.
    ///
    /// Returns
    /// -------
    /// PublicKey
    ///     The key, which encrypts on that device.
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
    /// >>> secret_key.public_key().to("cpu").params == params
    /// True
    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let key = detached(py, || self.key.under(&self.key.params().runtime().clone().on(device)?))?;
        let params = Py::new(py, PyParams::from_core(key.params().clone()))?;
        Ok(Self { key: Arc::new(key), params })
    }

    /// Encrypts an array, as `SecretKey.encrypt` does, with more noise and at twice the file size.
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
    /// lanes : int or "most", optional
    ///     How many consecutive rows share a polynomial, as in `SecretKey.encrypt`. None, the default, is one row in a polynomial.
    /// bound : float, optional
    ///     The largest magnitude that the numbers may have, as in `SecretKey.encrypt`. None, the default, is no bound.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The encrypted array, without evaluation keys.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where numbers are NaN, infinite or too large, there are none, or there are more than two axes; for lanes out of range.
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
    /// >>> secret_key.public_key().encrypt([1.0, 2.0]).shape
    /// (2,)
    #[pyo3(signature = (array, encoding=None, level=None, scale=None, progress=None, *, lanes=None, bound=None))]
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
        self.params.get().warn_insecure(py)?;
        if bound.is_none() {
            warn_unbounded(py)?;
        }
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let options =
            Placing { bodies: None, axis: None, capacity: None, lanes, copies: None, order: "natural" }
                .apply(py, options)?;
        let options = EncryptOptions { bound: Real::given(bound), ..options };
        let Array { values, shape, .. } = self::array(array)?;
        let translate = |error| raise_for_array(py, error, &shape);
        let ciphertext = with_progress(py, progress, "encrypt", translate, |tick| {
            self.key.encrypt_array_with_progress(&values, &shape, options, tick)
        })?;
        PyCiphertext::new(py, ciphertext, &self.params)
    }

    /// Writes the public key to a file.
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
    /// >>> size = secret_key.public_key().save("public.clt")
    #[pyo3(signature = (path, overwrite=true))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &*self.key, &path, overwrite, 0)
    }

    /// A public key from a file that `save` wrote.
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
    /// PublicKey
    ///     The key.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     Where the file does not hold a public key, or is damaged.
    /// FileAccessError
    ///     Where the file cannot be read.
    /// WrongParamsError
    ///     Where the file was made with other parameters.
    ///
    /// Examples
    /// --------
    /// >>> size = secret_key.public_key().save("public.clt")
    /// >>> public_key = cl.PublicKey.load("public.clt", params)
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let key = detached(py, || PublicKey::from_reader(&FileReader::open(&path)?, &params.get().params))?;
        Ok(Self { key: Arc::new(key), params })
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
    /// >>> again = cl.from_bytes(secret_key.public_key().to_bytes(), params)
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &*self.key, 0)
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

    /// 128 bits of a hash of the key, as eight groups of four hexadecimal digits, to be compared by voice with what its owner says.
    ///
    /// `key_id` is a label that anybody can write on another key: whoever encrypts with a key of unknown origin encrypts for whoever made
    /// it. `clathrate inspect` prints the fingerprint of a file.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.key.fingerprint())
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
        reduce(py, &*self.key, 0, &self.params, protocol)
    }
}
