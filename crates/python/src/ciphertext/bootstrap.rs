//! Bootstraps.

use std::sync::Arc;

use clathrate_ckks::{BootstrapOptions, BootstrapPlan, Ciphertext, CkksError};
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::rows::parts_of;
use crate::bootstrap::PyBootstrapPlan;
use crate::errors::{raise, raise_for_key};
use crate::run::{detached, detached_with, with_progress};
use crate::samples::PySamplesPlan;

#[pymethods]
impl PyCiphertext {
    /// The same numbers at a high level, for further products: a bootstrap.
    ///
    /// Parameters
    /// ----------
    /// plan : BootstrapPlan, optional
    ///     The plan; by default one for this array's slots, and for real numbers if the array is real. Make a plan once where several
    ///     arrays are bootstrapped, because the plan keeps its tables.
    /// progress : bool or callable, optional
    ///     True for a progress bar, or a function of the stages that are done and of all stages. The default is no progress.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The array at `plan.output_level`.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where the parameters cannot be bootstrapped.
    /// LevelError
    ///     Where the array is below `plan.input_level`.
    /// MissingKeyError
    ///     Without the keys of `plan.needs`.
    ///
    /// Notes
    /// -----
    /// Numbers must be at most 1 in magnitude. Larger ones lose precision with the third power, and wrap around where they are much
    /// larger.
    ///
    /// Examples
    /// --------
    /// >>> params = cl.Params.preset("insecure_boot")
    /// >>> owner = cl.SecretKey.generate(params)
    /// >>> plan = cl.BootstrapPlan(params, slots=8, is_complex=False)
    /// >>> x = owner.encrypt([0.5, -0.25], level=3, capacity=8).with_keys(owner.evaluation_keys(plan.needs))
    /// >>> owner.decrypt(x.bootstrap(plan)).round(3)
    /// array([ 0.5 , -0.25])
    #[pyo3(signature = (plan=None, progress=None))]
    fn bootstrap(
        &self,
        py: Python<'_>,
        plan: Option<&PyBootstrapPlan>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let evaluator = self.evaluator();
        let x = &*self.settled(py, &evaluator)?;
        let own = plan.map(|plan| plan.plan.clone());
        let plan = detached(py, || own.map_or_else(|| plan_for(x), Ok))?;
        let translate = |error| raise_for_key(py, error, "cl.BootstrapPlan(params).needs");
        let fresh = with_progress(py, progress, "bootstrap", translate, |tick| {
            evaluator.bootstrap_with_progress(x, &plan, tick)
        })?;
        self.beside(py, fresh)
    }

    /// The numbers of LWE or MLWE samples in slots, at a high level: packed, and bootstrapped by the second half of a bootstrap.
    ///
    /// Parameters
    /// ----------
    /// plan : SamplesPlan
    ///     The plan that the samples' light client was made with.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     A vector of the samples' numbers in their order, at `plan.output_level`; with `plan.pairs` a complex one, with two
    ///     consecutive numbers in each slot.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Without the keys of `plan.needs`.
    /// ShapeError
    ///     For samples of another shape, secret or order than the plan's.
    /// LevelError
    ///     Above level 0.
    /// ScaleError
    ///     At another scale than `plan.scale`.
    ///
    /// Notes
    /// -----
    /// Numbers must be at most 1 in magnitude.
    ///
    /// Examples
    /// --------
    /// >>> params = cl.Params.preset("insecure_boot")
    /// >>> owner = cl.SecretKey.generate(params)
    /// >>> plan = cl.SamplesPlan(params, 32, degree=16, device=3)
    /// >>> client = cl.LightClient(owner, plan=plan)
    /// >>> message = client.encrypt(np.linspace(-1, 1, 32))
    /// >>> samples = cl.Receiver(params, client.introduction, owner.authentication_key()).receive([message])
    /// >>> x = samples.with_keys(owner.evaluation_keys(plan.needs)).bootstrap_samples(plan)
    /// >>> owner.decrypt(x).view(float)[:3].round(3), np.linspace(-1, 1, 32)[:3].round(3)
    /// (array([-1.   , -0.935, -0.871]), array([-1.   , -0.935, -0.871]))
    fn bootstrap_samples(&self, py: Python<'_>, plan: &PySamplesPlan) -> PyResult<Self> {
        let plan = plan.plan.clone();
        self.map_needing(py, SAMPLES_NEEDS, move |evaluator, x| evaluator.bootstrap_samples(x, &plan))
    }

    /// Two arrays of real numbers at a high level, in the time of one of complex numbers: they are its real and imaginary parts.
    ///
    /// The rows of one array are bootstrapped in pairs by `bootstrap` already, with a plan for complex numbers.
    ///
    /// Parameters
    /// ----------
    /// other : Ciphertext
    ///     The other array, of the same shape.
    /// plan : BootstrapPlan, optional
    ///     A plan for complex numbers; by default one for this array's slots.
    ///
    /// Returns
    /// -------
    /// tuple of Ciphertext
    ///     Both arrays at `plan.output_level`.
    ///
    /// Raises
    /// ------
    /// ParamsError
    ///     Where the parameters cannot be bootstrapped.
    /// ShapeError
    ///     Where the shapes differ.
    /// LevelError
    ///     Where an array is below `plan.input_level`.
    /// MissingKeyError
    ///     Without the keys of `plan.needs`.
    ///
    /// Examples
    /// --------
    /// >>> params = cl.Params.preset("insecure_boot")
    /// >>> owner = cl.SecretKey.generate(params)
    /// >>> keys = owner.evaluation_keys(cl.BootstrapPlan(params, slots=8).needs)
    /// >>> x, y = (owner.encrypt([value] * 8, level=3).with_keys(keys) for value in (0.5, -0.25))
    /// >>> [owner.decrypt(fresh).round(3)[0] for fresh in x.bootstrap_pair(y)]
    /// [np.float64(0.5), np.float64(-0.25)]
    #[pyo3(signature = (other, plan=None))]
    fn bootstrap_pair(
        &self,
        py: Python<'_>,
        other: &Self,
        plan: Option<&PyBootstrapPlan>,
    ) -> PyResult<(Self, Self)> {
        let evaluator = self.evaluator();
        let (x, y) = (&*self.settled(py, &evaluator)?, &*other.settled(py, &evaluator)?);
        let own = plan.map(|plan| plan.plan.clone());
        let plan = detached(py, || own.map_or_else(|| plan_of(x, false), Ok))?;
        let translate = |error| raise_for_key(py, error, "cl.BootstrapPlan(params).needs");
        let (fresh, beside) = detached_with(py, translate, || evaluator.bootstrap_pair(x, y, &plan))?;
        Ok((self.beside(py, fresh)?, self.beside(py, beside)?))
    }
}

/// A plan for the slots and numbers of `x`; several polynomials of real numbers share bootstraps of complex ones.
fn plan_for(x: &clathrate_ckks::Ciphertext) -> Result<Arc<BootstrapPlan>, CkksError> {
    plan_of(x, !x.is_complex() && x.layout().bundles() == 1)
}

fn plan_of(x: &clathrate_ckks::Ciphertext, real: bool) -> Result<Arc<BootstrapPlan>, CkksError> {
    let options = BootstrapOptions { slots: Some(x.layout().period()), real, ..BootstrapOptions::default() };
    BootstrapPlan::with_options(x.params(), options).map(Arc::new)
}

/// The hint of an error of missing keys.
const SAMPLES_NEEDS: &str = "cl.SamplesPlan(params).needs";

/// The numbers of samples under several secrets in slots: one vector of all arrays' numbers, those of the first array first.
///
/// Each array is packed by a key for its secret, and adds the error of packing once: fewer arrays are faster and more precise.
///
/// Parameters
/// ----------
/// arrays : sequence of Ciphertext
///     Samples under the owner's secret and devices', one of them with keys attached.
/// plan : SamplesPlan
///     The plan that the samples' light clients were made with.
///
/// Returns
/// -------
/// Ciphertext
///     As of `Ciphertext.bootstrap_samples`.
///
/// Raises
/// ------
/// MissingKeyError
///     Without the keys of `plan.needs_of(devices)`.
/// ShapeError
///     For samples of another shape or order than the plan's.
/// LevelError
///     Above level 0.
/// ScaleError
///     At another scale than `plan.scale`.
/// DataError
///     Without arrays, and for samples of another library among others.
/// ParamsError
///     Where samples of this dimension are not secure under the owner's secret.
/// WrongSecretError
///     For arrays of different owners.
/// NotEnoughMemoryError
///     Where the work takes more memory than is free.
/// TypeError
///     For anything but a list of ciphertexts.
///
/// Examples
/// --------
/// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
/// >>> plan = cl.SamplesPlan(owner.params, 4, device=1)
/// >>> keys = owner.evaluation_keys(plan.needs_of([1, 2]))
/// >>> clients = [cl.LightClient(owner, plan=plan, device=device) for device in (1, 2)]
/// >>> receivers = [cl.Receiver(owner.params, client.introduction, owner.authentication_key()) for client in clients]
/// >>> first, second = (receiver.receive([client.encrypt([0.5, 0.25])]) for receiver, client in zip(receivers, clients))
/// >>> owner.decrypt(cl.bootstrap_samples([first.with_keys(keys), second], plan)).round(3)
/// array([0.5 , 0.25, 0.5 , 0.25])
#[pyfunction]
pub fn bootstrap_samples(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    plan: &PySamplesPlan,
) -> PyResult<PyCiphertext> {
    let parts = parts_of(arrays, "bootstrap_samples", "cl.bootstrap_samples([x, y], plan)")?;
    let plan = plan.plan.clone();
    let holder = parts
        .iter()
        .map(|part| part.get())
        .find(|part| part.has_keys())
        .or_else(|| parts.first().map(|part| part.get()));
    let Some(holder) = holder else {
        return Err(raise(py, CkksError::NoTerms { operation: "a bootstrap of samples" }));
    };
    let evaluator = holder.evaluator();
    let settled =
        parts.iter().map(|part| part.get().settled(py, &evaluator)).collect::<PyResult<Vec<_>>>()?;
    let data: Vec<&Ciphertext> = settled.iter().map(|part| &**part).collect();
    let translate = |error| raise_for_key(py, error, SAMPLES_NEEDS);
    let whole = detached_with(py, translate, || evaluator.bootstrap_samples_of(&data, &plan))?;
    holder.beside(py, whole)
}

/// Several arrays bootstrapped as one batch.
///
/// All their polynomials are one batch: they share masks where the plan has several bodies, and of a plan for complex numbers two
/// polynomials of real numbers are bootstrapped as one, whichever arrays they are of. Every array keeps its shape.
///
/// Parameters
/// ----------
/// arrays : sequence of Ciphertext
///     Arrays in slots, all of real numbers or all of complex ones, at `plan.input_level` or above, one of them with keys attached.
/// plan : BootstrapPlan
///     The plan, as `BootstrapPlan(params, batch=polynomials)` chooses it.
/// progress : bool or callable, optional
///     True for a progress bar, or a function of the stages that are done and of all stages. The default is no progress.
///
/// Returns
/// -------
/// list of Ciphertext
///     The arrays at `plan.output_level`, in their order.
///
/// Raises
/// ------
/// DataError
///     Without arrays.
/// ShapeError
///     For an array of another number of slots than the plan's, in coefficients, or complex among real ones; the message says which.
/// LevelError
///     For an array below `plan.input_level`.
/// ScaleError
///     For an array that is not rescaled.
/// WrongSecretError
///     For an array under another secret.
/// MissingKeyError
///     Without the keys of `plan.needs`.
/// NotEnoughMemoryError
///     Where the work takes more memory than is free.
/// CancelledError
///     Where the progress function returned False.
/// TypeError
///     For anything but a list of ciphertexts.
///
/// Examples
/// --------
/// >>> params = cl.Params.preset("insecure_boot")
/// >>> owner = cl.SecretKey.generate(params)
/// >>> plan = cl.BootstrapPlan(params, batch=3)
/// >>> x, y = (owner.encrypt(np.full(shape, 0.5), encoding="slots", level=3) for shape in [(2, 512), 500])
/// >>> fresh = cl.bootstrap_batch([x.with_keys(owner.evaluation_keys(plan.needs)), y], plan)
/// >>> [(array.shape, array.level, bool(abs(owner.decrypt(array) - 0.5).max() < 1e-4)) for array in fresh]
/// [((2, 512), 6, True), ((500,), 6, True)]
#[pyfunction]
#[pyo3(signature = (arrays, plan, progress=None))]
pub fn bootstrap_batch(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    plan: &PyBootstrapPlan,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<PyCiphertext>> {
    let parts = parts_of(arrays, "bootstrap_batch", "cl.bootstrap_batch([x, y], plan)")?;
    let plan = plan.plan.clone();
    let holder = parts
        .iter()
        .map(|part| part.get())
        .find(|part| part.has_keys())
        .or_else(|| parts.first().map(|part| part.get()));
    let Some(holder) = holder else {
        return Err(raise(py, CkksError::NoTerms { operation: "a bootstrap of a batch" }));
    };
    let evaluator = holder.evaluator();
    let settled =
        parts.iter().map(|part| part.get().settled(py, &evaluator)).collect::<PyResult<Vec<_>>>()?;
    let data: Vec<&Ciphertext> = settled.iter().map(|part| &**part).collect();
    let translate = |error| raise_for_key(py, error, "cl.BootstrapPlan(params).needs");
    let fresh = with_progress(py, progress, "bootstrap", translate, |tick| {
        evaluator.bootstrap_batch(&data, &plan, tick)
    })?;
    fresh.into_iter().map(|fresh| holder.beside(py, fresh)).collect()
}
