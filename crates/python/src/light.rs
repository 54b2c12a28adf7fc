//! Light clients and the server's side of them.

use std::sync::{Mutex, PoisonError};

use clathrate_ckks::light::{LightClient, LightOptions, Receiver, load_client, save_client};
use clathrate_ckks::{CkksError, SecretName};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::array;
use crate::authentication::PyAuthenticationKey;
use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, raise};
use crate::keys::PySecretKey;
use crate::numbers::{Real, Whole, Wholes};
use crate::params::{PyParams, size};
use crate::paths::FilePath;
use crate::run::{computing_with, detached};
use crate::samples::PySamplesPlan;
use crate::saving::replaced;

#[pyclass(frozen, module = "clathrate._native", name = "LightClient")]
pub struct PyLightClient {
    client: Mutex<LightClient>,
    /// Of the owner's parameters, or, of a stored state, of its samples alone.
    security_bits: f64,
}

/// A counter, which has all 64 bits.
pub fn counter_of(py: Python<'_>, counter: &Bound<'_, PyAny>) -> PyResult<u64> {
    let message = || format!("the counter {counter} is out of range: use a whole number from 0 to 2**64 - 1");
    counter.extract::<u64>().map_err(|_| exception(py, "DataError", message()))
}

impl PyLightClient {
    fn with<T>(&self, work: impl FnOnce(&mut LightClient) -> T) -> T {
        // A panic while the lock was held cannot have left a used counter unused: it moves on before a
        // message exists.
        work(&mut self.client.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyLightClient {
    #[new]
    fn new(
        py: Python<'_>,
        secret_key: &PySecretKey,
        degree: Option<Whole>,
        level: Option<Whole>,
        precision_bits: Option<Real>,
        device: Option<Whole>,
        plan: Option<&PySamplesPlan>,
    ) -> PyResult<Self> {
        let security_bits = secret_key.key.params().security_bits();
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
            return Ok(Self { client: Mutex::new(client), security_bits });
        }
        let degree = degree.map_or(Ok(1), |degree| degree.count(py, "`degree`"))?;
        let level = level.map_or(Ok(0), |level| level.count(py, "`level`"))?;
        let level = clathrate_lattice::Level(level);
        let device = device.map(|device| device.secret_number(py, "`device`")).transpose()?;
        let secret = SecretName::of_device(device);
        let options =
            LightOptions { degree, level, precision_bits: precision, secret, ..LightOptions::default() };
        let client = detached(py, || key.light_client(&options))?;
        Ok(Self { client: Mutex::new(client), security_bits })
    }

    #[getter]
    fn introduction<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.with(|client| client.introduction()))
    }

    #[getter]
    fn device(&self) -> Option<u64> {
        self.with(|client| client.device())
    }

    fn precompute(&self, py: Python<'_>, samples: Whole) -> PyResult<usize> {
        let samples = samples.count(py, "`samples`")?;
        detached(py, || {
            self.with(|client| {
                client.precompute(samples)?;
                Ok(client.precomputed())
            })
        })
    }

    #[getter]
    fn security_bits(&self) -> f64 {
        self.security_bits
    }

    #[getter]
    fn next_counter(&self) -> u64 {
        self.with(|client| client.next_counter())
    }

    #[getter]
    fn bits_per_number(&self) -> u32 {
        self.with(|client| client.bits_per_number())
    }

    #[getter]
    fn degree(&self) -> usize {
        self.with(|client| client.degree())
    }

    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        numbers: &Bound<'py, PyAny>,
        counter: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let array = array(numbers)?;
        let clathrate_ckks::keys::Values::Real(values) = &array.values else {
            return Err(PyTypeError::new_err("a light client encrypts real numbers"));
        };
        let counter = counter.map(|counter| counter_of(py, counter)).transpose()?;
        let translate = |error: CkksError| raise(py, error.in_shape(&array.shape));
        let message = computing_with(py, translate, |_| {
            self.with(|client| match counter {
                Some(counter) => Ok(client.encrypt_at(counter, values)?),
                None => Ok(client.encrypt(values)?),
            })
        })?;
        Ok(PyBytes::new(py, &message))
    }

    fn decrypt<'py>(&self, py: Python<'py>, reply: &[u8]) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let numbers = detached(py, || self.with(|client| Ok(client.decrypt(reply)?)))?;
        Ok(PyArray1::from_vec(py, numbers))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.with(|client| client.to_bytes()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        let client = LightClient::from_bytes(state).map_err(|error| raise(py, error.into()))?;
        let security_bits = client.security_bits();
        Ok(Self { client: Mutex::new(client), security_bits })
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        detached(py, || self.with(|client| save_client(client, &path, replaced(overwrite))))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath) -> PyResult<Self> {
        let client = detached(py, || load_client(&path))?;
        let security_bits = client.security_bits();
        Ok(Self { client: Mutex::new(client), security_bits })
    }

    fn __repr__(&self) -> String {
        self.with(|client| {
            format!("LightClient(degree={}, next_counter={})", client.degree(), client.next_counter())
        })
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "Receiver")]
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

    #[getter]
    fn client_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.receiver.client_id())
    }

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
    fn reply<'py>(&self, py: Python<'py>, ciphertext: &PyCiphertext) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || self.receiver.reply(ciphertext.data()))?;
        Ok(PyBytes::new(py, &bytes))
    }
}
