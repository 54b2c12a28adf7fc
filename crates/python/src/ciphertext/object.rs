//! The class: data, parameters, and the evaluation keys that operators use.
//!
//! A ciphertext may carry evaluation keys (`with_keys`), which results inherit: that is how an operator finds
//! them. They are shared, never copied, and never part of a file or a pickle.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use clathrate_ckks::parameters::Rescale;
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, Padding};
use pyo3::prelude::*;

use crate::errors::{exception, raise, raise_for_key};
use crate::evaluation_keys::{PyEvaluationKeys, attachable};
use crate::numbers::Whole;
use crate::params::PyParams;
use crate::run::{detached, detached_with, interruptible};

/// What operations on one array are called where memory is missing.
const OPERATION: &str = "an operation on this array";

#[pyclass(frozen, module = "clathrate._native", name = "Ciphertext")]
pub struct PyCiphertext {
    pub data: Arc<Ciphertext>,
    pub(super) params: Py<PyParams>,
    pub(super) keys: Keys,
    /// The same numbers at a higher level, where an operator bootstrapped them: the next operators use it as
    /// well.
    fresh: OnceLock<Arc<Ciphertext>>,
    /// The same numbers rescaled, where this is a product and an operator rescaled it: the next operators use
    /// it as well.
    rescaled: OnceLock<Arc<Ciphertext>>,
    /// Where this is a mean: the sum that it is a share of, and how many numbers were added up.
    pub(super) mean_of: OnceLock<(Arc<Ciphertext>, usize)>,
}

/// Where operators find evaluation keys.
pub(super) enum Keys {
    /// Nowhere.
    None,
    /// Attached by `with_keys`.
    Attached(Py<PyEvaluationKeys>, Evaluator),
    /// This is a symbol of a dry run: its operators write down the keys they would use.
    Recorded(Evaluator),
}

impl Keys {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::None => Self::None,
            Self::Attached(keys, evaluator) => Self::Attached(keys.clone_ref(py), evaluator.clone()),
            Self::Recorded(evaluator) => Self::Recorded(evaluator.clone()),
        }
    }
}

/// `data`, or what `work` makes of it, which `made` keeps from then on.
fn settle<'c>(
    py: Python<'_>,
    data: &'c Arc<Ciphertext>,
    made: &OnceLock<Arc<Ciphertext>>,
    work: impl FnOnce() -> Result<Cow<'c, Ciphertext>, CkksError> + Send,
) -> PyResult<Arc<Ciphertext>> {
    if let Some(made) = made.get() {
        return Ok(made.clone());
    }
    let new = detached(py, || {
        Ok(match work()? {
            Cow::Borrowed(_) => None,
            Cow::Owned(new) => Some(Arc::new(new)),
        })
    })?;
    Ok(new.map_or_else(|| data.clone(), |new| made.get_or_init(|| new).clone()))
}

impl PyCiphertext {
    /// A ciphertext without keys. `params` are the parameters it was made or read with; its own may be of
    /// another degree and rank.
    ///
    /// # Errors
    /// Those of allocating a Python object.
    pub fn new(py: Python<'_>, data: Ciphertext, params: &Py<PyParams>) -> PyResult<Self> {
        let params = PyParams::of(py, data.params(), params)?;
        Ok(Self::made(Arc::new(data), params, Keys::None))
    }

    fn made(data: Arc<Ciphertext>, params: Py<PyParams>, keys: Keys) -> Self {
        Self {
            data,
            params,
            keys,
            fresh: OnceLock::new(),
            rescaled: OnceLock::new(),
            mean_of: OnceLock::new(),
        }
    }

    /// A symbol whose operators write their needs to `recorder`.
    pub fn symbol(data: Ciphertext, params: Py<PyParams>, recorder: Evaluator) -> Self {
        Self::made(Arc::new(data), params, Keys::Recorded(recorder))
    }

    /// `data` as a ciphertext beside this one: same family of parameters, same keys.
    ///
    /// # Errors
    /// `DataError` where the numbers of a dry run may be too large for the modulus.
    pub fn beside(&self, py: Python<'_>, data: Ciphertext) -> PyResult<Self> {
        data.check_bound().map_err(|error| raise(py, error))?;
        let params = PyParams::of(py, data.params(), &self.params)?;
        Ok(Self::made(Arc::new(data), params, self.keys.clone_ref(py)))
    }

    /// The same ciphertext as another object.
    pub(super) fn again(&self, py: Python<'_>) -> Self {
        Self::made(self.data.clone(), self.params.clone_ref(py), self.keys.clone_ref(py))
    }

    /// Whether operators find keys, or write down which they would use.
    pub fn has_keys(&self) -> bool {
        !matches!(self.keys, Keys::None)
    }

    pub fn evaluator(&self) -> Evaluator {
        match &self.keys {
            Keys::Attached(_, evaluator) => interruptible(evaluator.clone()),
            Keys::Recorded(evaluator) => evaluator.clone(),
            Keys::None => interruptible(Evaluator::new(self.data.params())),
        }
    }

    /// Whether an operator has brought this ciphertext to the level of a factor already, by a bootstrap for
    /// example.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh.get().is_some()
    }

    /// Whether operators rescale products by themselves.
    pub fn is_automatic(&self) -> bool {
        self.data.params().runtime().rescale == Rescale::Automatic
    }

    /// This ciphertext, rescaled if it is a product that was not, unless the runtime leaves that to the
    /// caller.
    pub fn settled(&self, py: Python<'_>, evaluator: &Evaluator) -> PyResult<Arc<Ciphertext>> {
        settle(py, &self.data, &self.rescaled, || evaluator.settled(&self.data))
    }

    /// The operand of a product: this ciphertext, rescaled if it is a product, or the same numbers at a
    /// higher level where `evaluator` bootstraps them, and at the highest level of the application where this
    /// is in the levels of a bootstrap.
    pub(super) fn factor(&self, py: Python<'_>, evaluator: &Evaluator) -> PyResult<Arc<Ciphertext>> {
        let data = self.settled(py, evaluator)?;
        if !evaluator.bootstraps() && data.level() <= data.params().fresh_level() {
            return Ok(data);
        }
        settle(py, &data, &self.fresh, || evaluator.with_levels(&data, 1))
    }

    /// This ciphertext, rescaled if it is a product, whoever rescales.
    pub(super) fn rescaled_anyway(&self, py: Python<'_>) -> PyResult<Self> {
        if self.data.awaits_rescale() {
            self.map(py, |evaluator, x| evaluator.rescale(x))
        } else {
            Ok(self.again(py))
        }
    }

    /// This array with zero padding in slots: cleared by a product where it is dirty, unless products are the
    /// caller's affair.
    pub fn cleared(&self, py: Python<'_>) -> PyResult<Self> {
        if self.data.encoding() != Encoding::Slots
            || self.data.padding() == Padding::Zero
            || !self.is_automatic()
        {
            return Ok(self.again(py));
        }
        self.map_settled(py, |evaluator, x| evaluator.clear_padding(x))
    }

    /// Runs a computation on this ciphertext alone, as it is.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn map(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let (evaluator, data) = (self.evaluator(), &*self.data);
        let result = detached(py, || {
            data.check_room_for_another(OPERATION)?;
            work(&evaluator, data)
        })?;
        self.beside(py, result)
    }

    /// Runs a computation on this ciphertext, rescaled if it is a product.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn map_settled(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let evaluator = self.evaluator();
        let data = self.settled(py, &evaluator)?;
        let result = detached(py, || {
            data.check_room_for_another(OPERATION)?;
            work(&evaluator, &data)
        })?;
        self.beside(py, result)
    }

    /// As [`Self::map_settled`]. Where a key is missing, the error says that `needs`, Python code, makes it.
    ///
    /// # Errors
    /// Those of `work`.
    pub(super) fn map_needing(
        &self,
        py: Python<'_>,
        needs: &str,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let evaluator = self.evaluator();
        let data = self.settled(py, &evaluator)?;
        let result = detached_with(
            py,
            |error| raise_for_key(py, error, needs),
            || {
                data.check_room_for_another(OPERATION)?;
                work(&evaluator, &data)
            },
        )?;
        self.beside(py, result)
    }

    /// Runs a computation on two ciphertexts, repeated to the shape that they have together, with the keys of
    /// the left one, or else of the right one.
    pub(super) fn zip<'py>(
        &self,
        py: Python<'py>,
        other: &Self,
        operation: &'static str,
        work: impl FnOnce(&Evaluator, &Ciphertext, &Ciphertext) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let holder = if matches!(self.keys, Keys::None) { other } else { self };
        // A sum of an array in slots with one in coefficients is in slots.
        let differ = self.data.encoding() != other.data.encoding();
        let converted = if differ {
            [self.brought_to_slots(py, holder)?, other.brought_to_slots(py, holder)?]
        } else {
            [None, None]
        };
        let left = converted[0].as_ref().unwrap_or(self);
        let right = converted[1].as_ref().unwrap_or(other);
        let (evaluator, left, right) = (holder.evaluator(), &*left.data, &*right.data);
        let result = detached(py, || {
            left.check_room_for_another(operation)?;
            right.check_room_for_another(operation)?;
            let (left, right) = evaluator.broadcast_pair(left, right, operation)?;
            work(&evaluator, &left, &right)
        })?;
        holder.beside(py, result)
    }

    /// As [`Self::zip`], for the factors of a product.
    pub(super) fn zip_factors(
        &self,
        py: Python<'_>,
        other: &Self,
        operation: &'static str,
        work: impl FnOnce(&Evaluator, &Ciphertext, &Ciphertext) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let holder = if matches!(self.keys, Keys::None) { other } else { self };
        let evaluator = holder.evaluator();
        let (left, right) = (self.settled(py, &evaluator)?, other.settled(py, &evaluator)?);
        // The product is as low as the lower factor: where that one stays, the other one need not rise.
        let left_is_lower = left.level() <= right.level();
        let (low, high) =
            if left_is_lower { ((self, left), (other, right)) } else { ((other, right), (self, left)) };
        let lower = low.0.factor(py, &evaluator)?;
        let higher = if Arc::ptr_eq(&lower, &low.1) { high.1 } else { high.0.factor(py, &evaluator)? };
        let (left, right) = if left_is_lower { (lower, higher) } else { (higher, lower) };
        let result = detached(py, || {
            left.check_room_for_another(operation)?;
            right.check_room_for_another(operation)?;
            // The square of an array is the product of one operand with itself.
            if Arc::ptr_eq(&left, &right) {
                return work(&evaluator, &left, &left);
            }
            let (left, right) = evaluator.broadcast_pair(&left, &right, operation)?;
            work(&evaluator, &left, &right)
        })?;
        holder.beside(py, result)
    }

    /// As [`Self::map`], for the factor of a product with a number.
    pub(super) fn map_factor(
        &self,
        py: Python<'_>,
        translate: impl Fn(CkksError) -> PyErr,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let evaluator = self.evaluator();
        let data = self.factor(py, &evaluator)?;
        let result = detached_with(py, translate, || {
            data.check_room_for_another(OPERATION)?;
            work(&evaluator, &data)
        })?;
        self.beside(py, result)
    }
}

#[pymethods]
impl PyCiphertext {
    fn with_keys(
        &self,
        py: Python<'_>,
        keys: Option<&Bound<'_, PyAny>>,
        bootstrap_below: Option<Whole>,
    ) -> PyResult<Self> {
        let keys = keys.map(attachable).transpose()?;
        if let (Some(keys), false) = (&keys, self.data.is_symbol()) {
            let keys = &keys.get().keys;
            let (own, theirs) = (self.data.params().runtime().device(), keys.params().runtime().device());
            if own != theirs {
                let message = format!(
                    "the array is on the device \"{own}\", the keys are on \"{theirs}\": bring both to one with `to`, such as `keys.to(\"{own}\")`"
                );
                return Err(exception(py, "DeviceError", message));
            }
            self.data
                .params()
                .check_related(keys.params(), "the set of evaluation keys")
                .map_err(|error| raise(py, error))?;
            self.data
                .key_id()
                .check_same(keys.id(), "the set of evaluation keys")
                .map_err(|error| raise(py, error))?;
        }
        let below = bootstrap_below.map(|level| self.params.get().level(py, Some(level))).transpose()?;
        let keys = match (&self.keys, keys) {
            (Keys::Recorded(recorder), _) => Keys::Recorded(recorder.clone()),
            (_, Some(keys)) => {
                let evaluator = keys.get().evaluator(below).map_err(|error| raise(py, error))?;
                Keys::Attached(keys, evaluator)
            }
            (_, None) => Keys::None,
        };
        Ok(Self::made(self.data.clone(), self.params.clone_ref(py), keys))
    }

    fn to(&self, py: Python<'_>, device: &str) -> PyResult<Self> {
        let data = self.data.clone();
        let moved = detached(py, || {
            let runtime = data.params().runtime().clone().on(device)?;
            if runtime == *data.params().runtime() { Ok(None) } else { data.under(&runtime).map(Some) }
        })?;
        let Some(moved) = moved else {
            return Ok(Self::made(self.data.clone(), self.params.clone_ref(py), self.keys.clone_ref(py)));
        };
        let params = Py::new(py, PyParams::from_core(moved.params().clone()))?;
        Ok(Self::made(Arc::new(moved), params, Keys::None))
    }

    #[getter]
    fn keys(&self, py: Python<'_>) -> Option<Py<PyEvaluationKeys>> {
        match &self.keys {
            Keys::Attached(keys, _) => Some(keys.clone_ref(py)),
            Keys::None | Keys::Recorded(_) => None,
        }
    }
}
