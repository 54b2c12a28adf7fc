//! Light clients and the server's side of them.

use std::sync::{Mutex, PoisonError};

use clathrate_ckks::SecretName;
use clathrate_ckks::light::{LightClient, LightOptions, Receiver};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::array;
use crate::authentication::PyAuthenticationKey;
use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, raise, raise_for_array};
use crate::keys::PySecretKey;
use crate::numbers::{Real, Whole, Wholes};
use crate::params::{PyParams, insecurity, size, warn_insecure};
use crate::paths::FilePath;
use crate::run::{detached, detached_with};
use crate::samples::PySamplesPlan;
use crate::saving::replaced;

/// A device that encrypts numbers one by one, in a few bytes for each, with nothing but a secret and a counter.
///
/// The device sends its introduction once, then messages. Both sides expand the random part of an encryption from a public seed and a
/// counter, so that a message has only the part that hides the number, without its lowest bits. A server makes ciphertexts of the
/// messages with a `Receiver` and packs them; it answers with `Receiver.reply`, which the device decrypts. Introductions, messages and
/// replies end in a tag of 16 bytes: the server refuses what no client of the owner made, and the client what its server did not.
///
/// In Rust a client runs in less than 256 KiB of memory at dimension 2^12; this class is the same code.
///
/// Parameters
/// ----------
/// secret_key : SecretKey
///     The owner's key. Without `device`, the client gets the owner's secret.
/// degree : int, optional
///     How many numbers share a mask, a power of two. The default is 1: LWE samples. With more, the numbers of a message are the
///     rows of a
///     matrix, `degree` in each.
/// level : int, optional
///     The level of the encryptions, of at most 120 bits. The default is 0.
/// precision_bits : float, optional
///     How much may be cut off: the root mean square of the error by that is at most 2**-precision_bits. By default it is about that of
///     the encryption.
/// device : int, optional
///     A number for the device, which gets a secret of its own, drawn from the owner's key: by itself it cannot read what others
///     encrypt. Pack its samples by a `PackingPlan` with the same `device`, which brings them under the owner's secret.
///     `Ciphertext.change_secret` brings answers under the device's, by a key that must not get into the hands of whoever has the
///     device's secret: both together give the owner's.
/// plan : SamplesPlan, optional
///     Makes the client for `Ciphertext.bootstrap_samples` by this plan, which says degree, dimension, scale and, unless `device` does,
///     the device.
///
/// Raises
/// ------
/// DataError
///     For a plan together with a degree or a level, a degree that is no power of two, a modulus of more than 120 bits, a precision that
///     the scale does not have, or a
///     negative number of a device.
/// LevelError
///     For a level that does not exist.
/// RandomError
///     Where the operating system gives no randomness.
///
/// Examples
/// --------
/// >>> client = cl.LightClient(secret_key, precision_bits=20)
/// >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
/// >>> message = client.encrypt([20.5, 21.0])
/// >>> len(message), client.bits_per_number
/// (38, 39)
/// >>> samples = receiver.receive([message])
/// >>> client.decrypt(receiver.reply(samples + 1)).round(3)
/// array([21.5, 22. ])
#[pyclass(frozen, module = "clathrate", name = "LightClient")]
pub struct PyLightClient {
    client: Mutex<LightClient>,
    /// What encrypting warns of: that the owner's parameters protect nothing, or, of a stored state, that its samples alone do not.
    warning: Option<String>,
}

/// A counter, which has all 64 bits.
pub fn counter_of(py: Python<'_>, counter: &Bound<'_, PyAny>) -> PyResult<u64> {
    let message = || format!("the counter {counter} is out of range: use a whole number from 0 to 2**64 - 1");
    counter.extract::<u64>().map_err(|_| exception(py, "DataError", message()))
}

impl PyLightClient {
    fn with<T>(&self, work: impl FnOnce(&mut LightClient) -> T) -> T {
        // A panic while the lock was held cannot have left a used counter unused: it moves on before a message exists.
        work(&mut self.client.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyLightClient {
    #[new]
    #[pyo3(signature = (secret_key, degree=None, level=None, precision_bits=None, *, device=None, plan=None))]
    fn new(
        py: Python<'_>,
        secret_key: &PySecretKey,
        degree: Option<Whole>,
        level: Option<Whole>,
        precision_bits: Option<Real>,
        device: Option<Whole>,
        plan: Option<&PySamplesPlan>,
    ) -> PyResult<Self> {
        let warning = insecurity(secret_key.key.params().security_bits());
        let (key, precision) = (&secret_key.key, Real::given(precision_bits));
        if let Some(plan) = plan {
            if degree.is_some() || level.is_some() {
                let message =
                    "a plan says degree, dimension, level and scale: leave degree and level out, or the plan"
                        .to_owned();
                return Err(exception(py, "DataError", message));
            }
            let mut options = plan.plan.client_options(precision);
            if let Some(device) = device {
                options.secret = SecretName::Device(device.secret_number(py, "`device`")?);
            }
            let client = detached(py, || {
                plan.plan.check_secret(options.secret)?;
                key.light_client(&options)
            })?;
            return Ok(Self { client: Mutex::new(client), warning });
        }
        let degree = degree.map_or(Ok(1), |degree| degree.count(py, "`degree`"))?;
        let level = level.map_or(Ok(0), |level| level.count(py, "`level`"))?;
        let level = clathrate_lattice::Level(level);
        let device = device.map(|device| device.secret_number(py, "`device`")).transpose()?;
        let secret = device.map_or(SecretName::Main, SecretName::Device);
        let options =
            LightOptions { degree, level, precision_bits: precision, secret, ..LightOptions::default() };
        let client = detached(py, || key.light_client(&options))?;
        Ok(Self { client: Mutex::new(client), warning })
    }

    /// What the server needs once, before messages. It holds no secret.
    #[getter]
    fn introduction<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.with(|client| client.introduction()))
    }

    /// The number of the device whose secret it has; None for the owner's secret.
    #[getter]
    fn device(&self) -> Option<u64> {
        self.with(|client| if let SecretName::Device(number) = client.secret() { Some(number) } else { None })
    }

    /// Does the work of the next samples that needs no numbers ahead: their encryption then takes a small part of its time.
    ///
    /// Parameters
    /// ----------
    /// samples : int
    ///     How many samples; each takes 8 bytes for each number and prime.
    ///
    /// Returns
    /// -------
    /// int
    ///     How many samples are ready.
    ///
    /// Raises
    /// ------
    /// NotEnoughMemoryError
    ///     Where they take more memory than is free.
    ///
    /// Examples
    /// --------
    /// >>> client = cl.LightClient(secret_key)
    /// >>> client.precompute(2)
    /// 2
    /// >>> len(client.encrypt([0.5]))
    /// 36
    fn precompute(&self, py: Python<'_>, samples: Whole) -> PyResult<usize> {
        let samples = samples.count(py, "`samples`")?;
        detached(py, || self.with(|client| client.precompute(samples).map(|()| client.precomputed())))
    }

    /// The counter of the next sample.
    #[getter]
    fn next_counter(&self) -> u64 {
        self.with(|client| client.next_counter())
    }

    /// The bits of a number in a message.
    #[getter]
    fn bits_per_number(&self) -> u32 {
        self.with(|client| client.bits_per_number())
    }

    /// How many numbers share a mask.
    #[getter]
    fn degree(&self) -> usize {
        self.with(|client| client.degree())
    }

    /// Encrypts numbers: 28 bytes and `bits_per_number` bits for each.
    ///
    /// Parameters
    /// ----------
    /// numbers : array_like
    ///     Real numbers, a multiple of `degree` of them; of an array row after row.
    /// counter : int, optional
    ///     The counter of the first sample, which must not have been used or skipped. By default the next one.
    ///
    /// Returns
    /// -------
    /// bytes
    ///     The message.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a used counter, numbers that are no multiple of the degree, NaN, infinite or too large, and without numbers.
    ///
    /// Warns
    /// -----
    /// InsecureWarning
    ///     Where the parameters have less than 128 bits of security.
    ///
    /// Examples
    /// --------
    /// >>> client = cl.LightClient(secret_key)
    /// >>> first, second = client.encrypt([1.0]), client.encrypt([2.0, 3.0])
    /// >>> client.next_counter
    /// 3
    #[pyo3(signature = (numbers, counter=None))]
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        numbers: &Bound<'py, PyAny>,
        counter: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        warn_insecure(py, self.warning.as_deref())?;
        let array = array(numbers)?;
        let clathrate_ckks::keys::Values::Real(values) = &array.values else {
            return Err(PyTypeError::new_err("a light client encrypts real numbers"));
        };
        let counter = counter.map(|counter| counter_of(py, counter)).transpose()?;
        let translate = |error| raise_for_array(py, error, &array.shape);
        let message = detached_with(py, translate, || {
            self.with(|client| match counter {
                Some(counter) => client.encrypt_at(counter, values),
                None => client.encrypt(values),
            })
        })?;
        Ok(PyBytes::new(py, &message))
    }

    /// The numbers of a server's answer.
    ///
    /// Parameters
    /// ----------
    /// reply : bytes
    ///     What `Receiver.reply` made, for this client.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     The numbers, row after row, as one axis.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the bytes are no reply, cut off or damaged, for another client, or under another secret of the same owner.
    /// WrongSecretError
    ///     Where they belong to another owner.
    ///
    /// Examples
    /// --------
    /// >>> client = cl.LightClient(secret_key)
    /// >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
    /// >>> x = secret_key.encrypt([1.0, 2.0], encoding="coefficients", level=0)
    /// >>> client.decrypt(receiver.reply(x)).round(4)
    /// array([1., 2.])
    fn decrypt<'py>(&self, py: Python<'py>, reply: &[u8]) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let numbers = detached(py, || self.with(|client| client.decrypt(reply)))?;
        Ok(PyArray1::from_vec(py, numbers))
    }

    /// The state with the secret, for a device that has its own way to keep secrets. `save` writes a file that only its owner may read.
    ///
    /// Python cannot overwrite these bytes: the secret stays in the memory of the process after they are dropped, and goes where they are
    /// written.
    ///
    /// Returns
    /// -------
    /// bytes
    ///     For `from_bytes`. Whoever has them can decrypt, and send in the client's name.
    ///
    /// Examples
    /// --------
    /// >>> client = cl.LightClient(secret_key)
    /// >>> again = cl.LightClient.from_bytes(client.to_bytes())
    /// >>> again.introduction == client.introduction
    /// False
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.with(|client| client.to_bytes()))
    }

    /// A client from a stored state, which draws a new seed and introduces itself again.
    ///
    /// No mask is used twice, even if the state is restored from an old copy.
    ///
    /// Parameters
    /// ----------
    /// state : bytes
    ///     What `to_bytes` gave.
    ///
    /// Returns
    /// -------
    /// LightClient
    ///     The client, with a count from 0.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the bytes are no state, cut off or damaged.
    /// RandomError
    ///     Where the operating system gives no randomness.
    ///
    /// Examples
    /// --------
    /// >>> cl.LightClient.from_bytes(cl.LightClient(secret_key, degree=8).to_bytes()).degree
    /// 8
    #[staticmethod]
    fn from_bytes(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        let client = LightClient::from_bytes(state).map_err(|error| raise(py, error))?;
        let warning = insecurity(client.security_bits());
        Ok(Self { client: Mutex::new(client), warning })
    }

    /// Writes the state with the secret to a file that only its owner may read.
    ///
    /// The file is not encrypted: whoever can read it can decrypt, and send in the client's name.
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
    /// >>> size = cl.LightClient(secret_key).save("client.state")
    #[pyo3(signature = (path, overwrite=true))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        detached(py, || self.with(|client| client.save_as(&path, replaced(overwrite))))
    }

    /// A client from a file that `save` wrote, which draws a new seed and introduces itself again.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    ///
    /// Returns
    /// -------
    /// LightClient
    ///     The client, with a count from 0.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the file is no state, cut off or damaged.
    /// FileAccessError
    ///     Where the file cannot be read.
    /// RandomError
    ///     Where the operating system gives no randomness.
    ///
    /// Examples
    /// --------
    /// >>> size = cl.LightClient(secret_key, degree=8).save("client.state")
    /// >>> cl.LightClient.load("client.state").degree
    /// 8
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath) -> PyResult<Self> {
        let client = detached(py, || LightClient::load(&path))?;
        let warning = insecurity(client.security_bits());
        Ok(Self { client: Mutex::new(client), warning })
    }

    fn __repr__(&self) -> String {
        self.with(|client| {
            format!("LightClient(degree={}, next_counter={})", client.degree(), client.next_counter())
        })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a light client holds a secret and is not pickled: `save` writes its state on purpose",
        ))
    }
}

/// The server's side of one light client: it makes ciphertexts of messages, and replies of ciphertexts.
///
/// Parameters
/// ----------
/// params : Params
///     The parameters of the owner.
/// introduction : bytes
///     What the client sent first.
/// key : AuthenticationKey
///     The key of the client's owner.
///
/// Raises
/// ------
/// DataError
///     Where the bytes are no introduction, damaged, for other parameters, or not from a client of the owner.
/// WrongSecretError
///     For a client of another owner.
///
/// Examples
/// --------
/// >>> client = cl.LightClient(secret_key)
/// >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
/// >>> receiver.receive([client.encrypt([1.0]), client.encrypt([2.0])]).shape
/// (2,)
#[pyclass(frozen, module = "clathrate", name = "Receiver")]
pub struct PyReceiver {
    pub receiver: Receiver,
    params: Py<PyParams>,
}

#[pymethods]
impl PyReceiver {
    #[new]
    fn new(
        py: Python<'_>,
        params: Py<PyParams>,
        introduction: &[u8],
        key: &PyAuthenticationKey,
    ) -> PyResult<Self> {
        let receiver =
            Receiver::new(&params.get().params, introduction, &key.key).map_err(|error| raise(py, error))?;
        Ok(Self { receiver, params })
    }

    /// A name for the client, 32 bytes: what `Inbox.introduce` gives.
    #[getter]
    fn client_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.receiver.client_id())
    }

    /// The numbers of messages, in their order, as an encrypted array of samples.
    ///
    /// `Ciphertext.pack` brings samples into ciphertexts; those of several numbers each with `lanes=True`.
    ///
    /// Parameters
    /// ----------
    /// messages : sequence of bytes
    ///     The messages.
    /// shape : tuple of int, optional
    ///     The shape of the array. By default a vector; for a client of a degree above 1, a matrix with a row for each sample.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The samples, in coefficients.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where bytes are no message, cut off, changed, of another introduction or not from this client, and without messages.
    /// ShapeError
    ///     Where the numbers do not fill the shape.
    ///
    /// Examples
    /// --------
    /// >>> client = cl.LightClient(secret_key)
    /// >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
    /// >>> x = receiver.receive([client.encrypt([1.0, 2.0, 3.0, 4.0])], shape=(2, 2))
    /// >>> secret_key.decrypt(x).round(3)
    /// array([[1., 2.],
    ///        [3., 4.]])
    #[pyo3(signature = (messages, shape=None))]
    fn receive(
        &self,
        py: Python<'_>,
        messages: Vec<Bound<'_, PyBytes>>,
        shape: Option<Wholes>,
    ) -> PyResult<PyCiphertext> {
        let messages: Vec<&[u8]> = messages.iter().map(|message| message.as_bytes()).collect();
        let axis = |axis| size(py, "an axis of the shape", axis);
        let shape: Option<Vec<usize>> =
            shape.map(|shape| shape.0.into_iter().map(axis).collect()).transpose()?;
        let samples = detached(py, || self.receiver.receive(&messages, shape.as_deref()))?;
        PyCiphertext::new(py, samples, &self.params)
    }
    /// An encrypted array as bytes for this client, which decrypts them.
    ///
    /// The client must have at least the level of the array: 0 suits every client. Of each polynomial the whole mask is sent.
    ///
    /// Parameters
    /// ----------
    /// ciphertext : Ciphertext
    ///     The array: real numbers in coefficients, under the client's secret.
    ///
    /// Returns
    /// -------
    /// bytes
    ///     For `LightClient.decrypt`.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     For complex numbers, and unless in coefficients.
    /// WrongSecretError
    ///     For an array under several secrets: take its bodies apart first.
    ///
    /// Examples
    /// --------
    /// >>> client = cl.LightClient(secret_key)
    /// >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
    /// >>> x = secret_key.encrypt([0.5], encoding="coefficients", level=0)
    /// >>> client.decrypt(receiver.reply(x)).round(3)
    /// array([0.5])
    fn reply<'py>(&self, py: Python<'py>, ciphertext: &PyCiphertext) -> PyResult<Bound<'py, PyBytes>> {
        let data = ciphertext.data.clone();
        let bytes = detached(py, || self.receiver.reply(&data))?;
        Ok(PyBytes::new(py, &bytes))
    }
}
