//! Transciphering with an offline phase.

use std::sync::{Arc, Mutex, PoisonError};

use clathrate_ckks::Evaluator;
use clathrate_ckks::circuits::samples::SamplesPlan;
use clathrate_ckks::circuits::transcipher::PreparedSamples;
use clathrate_ckks::file::Stored;
use clathrate_ckks::light::Receiver;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::ciphertext::PyCiphertext;
use crate::errors::{out_of_range, raise_for_key};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::light::{PyReceiver, counter_of};
use crate::numbers::Whole;
use crate::paths::FilePath;
use crate::run::{detached, detached_with};
use crate::samples::PySamplesPlan;
use crate::saving::replaced;

/// The packed masks of messages that are not there yet: what of `Ciphertext.bootstrap_samples` can be computed ahead.
///
/// The masks of a light client's messages follow from its introduction and a counter, so a server packs them before the messages come
/// (offline). When they are there, `bootstrap` adds what they bring (online). The result is the same, to the last bit. Masks serve
/// once; a file of them is taken once.
///
/// Parameters
/// ----------
/// plan : SamplesPlan
///     The plan that the client was made with.
/// keys : EvaluationKeys
///     Keys that the owner made for `plan.needs`.
/// receiver : Receiver
///     The client's receiver.
/// first : int
///     The counter of the first sample.
/// count : int, optional
///     How many samples; by default as many as hold the plan's numbers.
///
/// Raises
/// ------
/// MissingKeyError
///     Where the keys are not those of `plan.needs`.
/// DataError
///     Without samples, or for counters beyond 64 bits.
/// ShapeError
///     For a client of another plan.
/// NotEnoughMemoryError
///     Where the masks take more memory than is free.
///
/// Examples
/// --------
/// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
/// >>> plan = cl.SamplesPlan(owner.params, 2)
/// >>> client = cl.LightClient(owner, plan=plan)
/// >>> receiver = cl.Receiver(owner.params, client.introduction, owner.authentication_key())
/// >>> masks = cl.PreparedSamples(plan, owner.evaluation_keys(plan.needs), receiver, client.next_counter)
/// >>> x = masks.bootstrap([client.encrypt([0.5, -0.25])])
/// >>> owner.decrypt(x).round(3), masks.used
/// (array([ 0.5 , -0.25]), True)
#[pyclass(frozen, module = "clathrate", name = "PreparedSamples")]
pub struct PyPreparedSamples {
    prepared: Mutex<PreparedSamples>,
    plan: Arc<SamplesPlan>,
    receiver: Receiver,
    keys: Py<PyEvaluationKeys>,
}

/// The hint of an error of missing keys.
const NEEDS: &str = "plan.needs";

impl PyPreparedSamples {
    fn with<T>(&self, work: impl FnOnce(&mut PreparedSamples) -> T) -> T {
        // A panic while the lock was held leaves the masks as they were.
        work(&mut self.prepared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyPreparedSamples {
    #[new]
    #[pyo3(signature = (plan, keys, receiver, first, count=None))]
    fn new(
        py: Python<'_>,
        plan: &PySamplesPlan,
        keys: Py<PyEvaluationKeys>,
        receiver: &PyReceiver,
        first: &Bound<'_, PyAny>,
        count: Option<Whole>,
    ) -> PyResult<Self> {
        let start = counter_of(py, first)?;
        let count = match count {
            Some(count) => count.count(py, "`count`")?,
            None => plan.plan.count().div_ceil(plan.plan.samples().degree()),
        };
        let end = start
            .checked_add(count as u64)
            .ok_or_else(|| out_of_range(py, "`first`", start, "use counters of 64 bits"))?;
        let (evaluator, receiver, plan) =
            (Evaluator::with_keys(keys.get().keys.clone()), receiver.receiver.clone(), plan.plan.clone());
        let translate = |error| raise_for_key(py, error, NEEDS);
        let prepared =
            detached_with(py, translate, || evaluator.prepare_samples(&receiver, start..end, &plan))?;
        Ok(Self { prepared: Mutex::new(prepared), plan, receiver, keys })
    }

    /// The counters that the messages must have: the first, and the one after the last.
    #[getter]
    fn counters(&self) -> (u64, u64) {
        let counters = self.with(|prepared| prepared.counters());
        (counters.start, counters.end)
    }

    /// Whether the masks have served.
    #[getter]
    fn used(&self) -> bool {
        self.with(|prepared| prepared.is_used())
    }

    /// Brings the messages of these counters to slots: the online phase.
    ///
    /// Parameters
    /// ----------
    /// messages : sequence of bytes
    ///     Messages with all counters of the masks, in any order.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The numbers, by counters, as of `Ciphertext.bootstrap_samples`, with the keys attached.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For masks that have served, damaged messages, and counters that are missing, twice there, or outside the masks' range. The masks
    ///     stay as they are.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    /// >>> plan = cl.SamplesPlan(owner.params, 32, degree=16)
    /// >>> client = cl.LightClient(owner, plan=plan)
    /// >>> receiver = cl.Receiver(owner.params, client.introduction, owner.authentication_key())
    /// >>> masks = cl.PreparedSamples(plan, owner.evaluation_keys(plan.needs), receiver, 0)
    /// >>> messages = [client.encrypt(part) for part in np.linspace(-1, 1, 32).reshape(2, 16)]
    /// >>> owner.decrypt(masks.bootstrap(messages[::-1])).view(float)[:2].round(3)
    /// array([-1.   , -0.935])
    fn bootstrap<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let messages: Vec<&[u8]> = messages.iter().map(|message| message.as_bytes()).collect();
        let keys = self.keys.get();
        let evaluator = Evaluator::with_keys(keys.keys.clone());
        let translate = |error| raise_for_key(py, error, NEEDS);
        let work = || {
            self.with(|prepared| {
                evaluator.bootstrap_prepared(prepared, &self.receiver, &messages, &self.plan)
            })
        };
        let x = detached_with(py, translate, work)?;
        Bound::new(py, PyCiphertext::new(py, x, &keys.params)?)?
            .call_method1("with_keys", (self.keys.clone_ref(py),))
    }

    /// Writes the masks to a file, which `take` takes once.
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
    ///     The bytes written.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     For masks that have served.
    /// FileAccessError
    ///     Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    /// >>> plan, keys = (plan := cl.SamplesPlan(owner.params, 2)), owner.evaluation_keys(plan.needs)
    /// >>> receiver = cl.Receiver(owner.params, cl.LightClient(owner, plan=plan).introduction, owner.authentication_key())
    /// >>> size = cl.PreparedSamples(plan, keys, receiver, 0).save("masks.clt")
    /// >>> cl.PreparedSamples.take("masks.clt", plan, keys, receiver).counters
    /// (0, 2)
    #[pyo3(signature = (path, overwrite=true))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        detached(py, || Ok(self.with(|prepared| prepared.save_as(&path, replaced(overwrite), None))?))
    }

    /// Takes masks from a file, which gets the ending ".used": no program takes it again.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    /// plan : SamplesPlan
    ///     The plan that the masks were prepared with.
    /// keys : EvaluationKeys
    ///     Keys that the owner made for `plan.needs`.
    /// receiver : Receiver
    ///     The client's receiver.
    ///
    /// Returns
    /// -------
    /// PreparedSamples
    ///     The masks.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     For a file that has been taken.
    /// FileFormatError
    ///     Where the file does not hold prepared masks, or is damaged.
    /// MissingFileError
    ///     Where there is no such file.
    /// WrongParamsError
    ///     For masks of other parameters.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    /// >>> plan, keys = (plan := cl.SamplesPlan(owner.params, 2)), owner.evaluation_keys(plan.needs)
    /// >>> client = cl.LightClient(owner, plan=plan)
    /// >>> receiver = cl.Receiver(owner.params, client.introduction, owner.authentication_key())
    /// >>> size = cl.PreparedSamples(plan, keys, receiver, 0).save("once.clt")
    /// >>> x = cl.PreparedSamples.take("once.clt", plan, keys, receiver).bootstrap([client.encrypt([0.5, -0.25])])
    /// >>> try:
    /// ...     cl.PreparedSamples.take("once.clt", plan, keys, receiver)
    /// ... except cl.DataError as error:
    /// ...     print(str(error).split(",")[0])
    /// the file of prepared masks is once.clt: it has been taken
    #[staticmethod]
    fn take(
        py: Python<'_>,
        path: FilePath,
        plan: &PySamplesPlan,
        keys: Py<PyEvaluationKeys>,
        receiver: &PyReceiver,
    ) -> PyResult<Self> {
        let (plan, receiver) = (plan.plan.clone(), receiver.receiver.clone());
        let prepared = detached(py, || PreparedSamples::take(&path, plan.half_bootstrap().params()))?;
        Ok(Self { prepared: Mutex::new(prepared), plan, receiver, keys })
    }

    fn __repr__(&self) -> String {
        let (start, end) = self.counters();
        format!("PreparedSamples(counters {start} to {}{})", end - 1, if self.used() { ", used" } else { "" })
    }
}
