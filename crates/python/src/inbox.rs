//! Inboxes: messages of light clients, kept in a file.

use std::sync::{Mutex, PoisonError};

use clathrate_ckks::light::{Batch, Inbox, MOST_WAITING};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::authentication::PyAuthenticationKey;
use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, raise};
use crate::numbers::Whole;
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::detached;

/// Messages of light clients, kept in a file until what is computed of them is safe.
///
/// What `accept` returned for is stored: a server that is killed and opens the inbox again has every sample that is not done. A counter is
/// accepted once. What no client of the owner sent is refused and leaves nothing behind. One program has an inbox open at a time.
///
/// Parameters
/// ----------
/// path : str, bytes or path-like
///     The file; it is made where there is none.
/// params : Params
///     The clients' parameters.
/// key : AuthenticationKey
///     The key of the clients' owner.
/// limit : int, optional
///     How many numbers of one client may wait; further messages of it are refused until some are taken. The default is 65536.
///
/// Raises
/// ------
/// FileAccessError
///     Where the file cannot be opened or read.
/// DataError
///     For a file that another program has open, that is no inbox or of other parameters, or is damaged before its end.
/// WrongSecretError
///     For a file of another owner's clients.
/// WrongParamsError
///     For a key of other parameters.
///
/// Examples
/// --------
/// >>> inbox = cl.Inbox("inbox.log", params, secret_key.authentication_key())
/// >>> client = cl.LightClient(secret_key, precision_bits=20)
/// >>> _ = inbox.introduce(client.introduction)
/// >>> inbox.accept([client.encrypt([0.5]), b"damaged", client.encrypt([0.25])])
/// [1, DataError('a message of a light client is of an unknown client: introduce the client first'), 1]
/// >>> batch = inbox.take(100)
/// >>> secret_key.decrypt(batch.samples).round(3)
/// array([0.5 , 0.25])
/// >>> inbox.done(batch)
/// 0
#[pyclass(frozen, module = "clathrate", name = "Inbox")]
pub struct PyInbox {
    inbox: Mutex<Inbox>,
    params: Py<PyParams>,
}

/// Samples that were taken from an inbox together, by `Inbox.take`.
///
/// Examples
/// --------
/// >>> inbox = cl.Inbox("batch.log", params, secret_key.authentication_key())
/// >>> client = cl.LightClient(secret_key)
/// >>> name = inbox.introduce(client.introduction)
/// >>> _ = inbox.accept([client.encrypt([0.5, 0.25])])
/// >>> batch = inbox.take(2)
/// >>> batch.sources == [(name, 0), (name, 1)], batch.samples.shape
/// (True, (2,))
#[pyclass(frozen, module = "clathrate", name = "Batch")]
pub struct PyBatch {
    /// Absent once it is done or given back.
    batch: Mutex<Option<Batch>>,
    params: Py<PyParams>,
}

impl PyInbox {
    fn with<T>(&self, work: impl FnOnce(&mut Inbox) -> T) -> T {
        work(&mut self.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyInbox {
    #[new]
    #[pyo3(signature = (path, params, key, limit=None))]
    fn new(
        py: Python<'_>,
        path: FilePath,
        params: Py<PyParams>,
        key: &PyAuthenticationKey,
        limit: Option<Whole>,
    ) -> PyResult<Self> {
        let limit = limit.map_or(Ok(MOST_WAITING), |limit| limit.count(py, "`limit`"))?;
        let mut inbox = detached(py, || Inbox::open(&path, &params.get().params, &key.key))?;
        inbox.limit_waiting(limit);
        Ok(Self { inbox: Mutex::new(inbox), params })
    }

    /// Takes a client's introduction; one that is known changes nothing.
    ///
    /// Parameters
    /// ----------
    /// introduction : bytes
    ///     `LightClient.introduction`.
    ///
    /// Returns
    /// -------
    /// bytes
    ///     A name for the client, 32 bytes.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For bytes that are no introduction, of other parameters, or not from a client of the owner.
    /// WrongSecretError
    ///     For a client of another owner.
    /// FileAccessError
    ///     Where the file cannot be written.
    ///
    /// Examples
    /// --------
    /// >>> inbox = cl.Inbox("clients.log", params, secret_key.authentication_key())
    /// >>> len(inbox.introduce(cl.LightClient(secret_key).introduction))
    /// 32
    fn introduce<'py>(&self, py: Python<'py>, introduction: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let id = detached(py, || self.with(|inbox| inbox.introduce(introduction)))?;
        Ok(PyBytes::new(py, &id))
    }

    /// Stores messages of any clients. A message that is refused leaves the others.
    ///
    /// Parameters
    /// ----------
    /// messages : sequence of bytes
    ///     What clients sent.
    ///
    /// Returns
    /// -------
    /// list
    ///     For each message how many samples were stored, or the error that says why it is refused.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be written: then nothing was taken.
    ///
    /// Examples
    /// --------
    /// >>> inbox = cl.Inbox("messages.log", params, secret_key.authentication_key())
    /// >>> client = cl.LightClient(secret_key)
    /// >>> _ = inbox.introduce(client.introduction)
    /// >>> inbox.accept([client.encrypt([0.5, 0.25])])
    /// [2]
    fn accept<'py>(&self, py: Python<'py>, messages: Vec<Bound<'py, PyBytes>>) -> PyResult<Vec<Py<PyAny>>> {
        let messages: Vec<&[u8]> = messages.iter().map(|message| message.as_bytes()).collect();
        let answers = detached(py, || self.with(|inbox| inbox.accept(&messages)))?;
        let answer = |answer: Result<usize, _>| match answer {
            Ok(count) => Ok(count.into_pyobject(py)?.into_any().unbind()),
            Err(error) => Ok(raise(py, error).into_value(py).into_any()),
        };
        answers.into_iter().map(answer).collect()
    }

    /// Samples of one kind, of each client in turn, as a batch: the oldest one of each, then the next one of each, until it is full.
    ///
    /// Until `done` they are given again to whoever opens the inbox anew.
    ///
    /// Parameters
    /// ----------
    /// most : int
    ///     The most samples.
    /// together : bool, optional
    ///     Whether samples of several secrets may come together, for `bootstrap_samples(batch.arrays, plan)`. The default is False: those
    ///     of the secret of the client whose turn it is.
    ///
    /// Returns
    /// -------
    /// Batch or None
    ///     The batch; None where no sample waits.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a negative number.
    /// NotEnoughMemoryError
    ///     Where the masks take more memory than is free.
    ///
    /// Examples
    /// --------
    /// >>> inbox = cl.Inbox("empty.log", params, secret_key.authentication_key())
    /// >>> inbox.take(10) is None
    /// True
    #[pyo3(signature = (most, *, together=false))]
    fn take(&self, py: Python<'_>, most: Whole, together: bool) -> PyResult<Option<PyBatch>> {
        let most = most.count(py, "`most`")?;
        let work =
            |inbox: &mut Inbox| if together { inbox.take_of_all_secrets(most) } else { inbox.take(most) };
        let batch = detached(py, || self.with(work))?;
        Ok(batch.map(|batch| PyBatch { batch: Mutex::new(Some(batch)), params: self.params.clone_ref(py) }))
    }

    /// Says that what was computed of a batch is safe: its samples are not given again.
    ///
    /// Parameters
    /// ----------
    /// batch : Batch
    ///     The batch.
    ///
    /// Returns
    /// -------
    /// int
    ///     How many samples wait.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a batch that is done or was given back.
    /// FileAccessError
    ///     Where the file cannot be written.
    ///
    /// Examples
    /// --------
    /// >>> inbox = cl.Inbox("done.log", params, secret_key.authentication_key())
    /// >>> client = cl.LightClient(secret_key)
    /// >>> _ = inbox.introduce(client.introduction), inbox.accept([client.encrypt([0.5])])
    /// >>> inbox.done(inbox.take(1))
    /// 0
    fn done(&self, py: Python<'_>, batch: &PyBatch) -> PyResult<usize> {
        let batch = batch.spent(py)?;
        detached(py, || self.with(|inbox| inbox.done(batch)))?;
        Ok(self.__len__())
    }

    /// Gives a batch back whose computation failed: its samples wait again.
    ///
    /// Parameters
    /// ----------
    /// batch : Batch
    ///     The batch.
    ///
    /// Returns
    /// -------
    /// int
    ///     How many samples wait.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a batch that is done or was given back.
    ///
    /// Examples
    /// --------
    /// >>> inbox = cl.Inbox("back.log", params, secret_key.authentication_key())
    /// >>> client = cl.LightClient(secret_key)
    /// >>> _ = inbox.introduce(client.introduction), inbox.accept([client.encrypt([0.5])])
    /// >>> inbox.give_back(inbox.take(1))
    /// 1
    fn give_back(&self, py: Python<'_>, batch: &PyBatch) -> PyResult<usize> {
        let batch = batch.spent(py)?;
        self.with(|inbox| inbox.give_back(batch));
        Ok(self.__len__())
    }

    /// The seconds that the oldest sample has waited; None where none waits.
    #[getter]
    fn oldest(&self) -> Option<f64> {
        self.with(|inbox| inbox.oldest()).map(|age| age.as_secs_f64())
    }

    /// How many samples wait.
    fn __len__(&self) -> usize {
        self.with(|inbox| inbox.waiting())
    }

    fn __repr__(&self) -> String {
        let (clients, waiting) = self.with(|inbox| (inbox.clients().len(), inbox.waiting()));
        format!("Inbox({clients} clients, {waiting} samples waiting)")
    }
}

impl PyBatch {
    /// The batch, which is then gone.
    fn spent(&self, py: Python<'_>) -> PyResult<Batch> {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner).take();
        batch.ok_or_else(|| {
            exception(py, "DataError", "the batch is done, or was given back: take another".to_owned())
        })
    }
}

#[pymethods]
impl PyBatch {
    /// The samples as an array, in the order in which they were accepted; those of several secrets are `arrays`, here a `DataError`.
    #[getter]
    fn samples(&self, py: Python<'_>) -> PyResult<PyCiphertext> {
        match <[_; 1]>::try_from(self.arrays(py)?) {
            Ok([samples]) => Ok(samples),
            Err(arrays) => {
                let message =
                    format!("the batch has samples under {} secrets: take its `arrays`", arrays.len());
                Err(exception(py, "DataError", message))
            }
        }
    }

    /// The samples as arrays, one for each secret; in each in the order in which they were accepted.
    #[getter]
    fn arrays(&self, py: Python<'_>) -> PyResult<Vec<PyCiphertext>> {
        let arrays = self
            .batch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(|batch| batch.arrays().to_vec());
        let spent =
            || exception(py, "DataError", "the batch is done, or was given back: take another".to_owned());
        arrays
            .ok_or_else(spent)?
            .into_iter()
            .map(|samples| PyCiphertext::new(py, samples, &self.params))
            .collect()
    }

    /// Whose samples they are, in the order of the arrays: the client's name and the counter of each.
    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        batch
            .iter()
            .flat_map(Batch::sources)
            .map(|(client, counter)| (PyBytes::new(py, &client), counter))
            .collect()
    }

    fn __repr__(&self) -> String {
        let batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        batch.as_ref().map_or_else(
            || "Batch(spent)".to_owned(),
            |batch| format!("Batch({} samples)", batch.sources().len()),
        )
    }
}
