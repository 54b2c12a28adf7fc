//! Keys by which a server knows the owner's light clients.

use clathrate_ckks::file::FileReader;
use clathrate_ckks::light::AuthenticationKey;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::detached;
use crate::saving::save;
use crate::text::hex;

/// The key by which a server knows what the owner's light clients send.
///
/// `SecretKey.authentication_key()` makes it, always the same one for an owner. It decrypts nothing. Whoever has it can send numbers in the
/// name of every client of the owner, and answers to it: give it to the server that takes the messages, and to nobody else.
///
/// Examples
/// --------
/// >>> key = secret_key.authentication_key()
/// >>> client = cl.LightClient(secret_key)
/// >>> cl.Receiver(params, client.introduction, key).receive([client.encrypt([1.0])]).shape
/// (1,)
/// >>> stranger = cl.LightClient(cl.SecretKey.generate(params))
/// >>> try:
/// ...     cl.Receiver(params, stranger.introduction, key)
/// ... except cl.WrongSecretError:
/// ...     print("refused")
/// refused
#[pyclass(frozen, module = "clathrate", name = "AuthenticationKey")]
pub struct PyAuthenticationKey {
    pub key: AuthenticationKey,
}

#[pymethods]
impl PyAuthenticationKey {
    /// Writes the key to a file that only its owner may read.
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
    /// >>> size = secret_key.authentication_key().save("authentication.clt")
    #[pyo3(signature = (path, overwrite=true))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &self.key, &path, overwrite, 0)
    }

    /// A key from a file that `save` or `clathrate keygen --authentication` wrote.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    /// params : Params
    ///     The parameters of the owner.
    ///
    /// Returns
    /// -------
    /// AuthenticationKey
    ///     The key.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     Where the file does not hold an authentication key, or is damaged.
    /// FileAccessError
    ///     Where the file cannot be read.
    /// WrongParamsError
    ///     Where the file was made with other parameters.
    ///
    /// Examples
    /// --------
    /// >>> size = secret_key.authentication_key().save("authentication.clt")
    /// >>> cl.AuthenticationKey.load("authentication.clt", params).key_id == secret_key.key_id
    /// True
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: &PyParams) -> PyResult<Self> {
        let key = detached(py, || AuthenticationKey::from_reader(&FileReader::open(&path)?, &params.params))?;
        Ok(Self { key })
    }

    /// The public name of the owner's secret, 32 hexadecimal digits.
    #[getter]
    fn key_id(&self) -> String {
        hex(&self.key.key_id().0)
    }

    fn __repr__(&self) -> String {
        format!("AuthenticationKey({}, redacted)", self.key.key_id())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an authentication key is a secret and is not pickled: `save` writes it on purpose",
        ))
    }
}
