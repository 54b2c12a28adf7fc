//! Encrypted arrays with NumPy's operations: an array carries what computes on it, and decides by itself when
//! products are rescaled, when an array is bootstrapped or converted, and what is behind its numbers.
//!
//! [`Evaluator`] computes what it is told; this room decides what to tell it. Operations return arrays with
//! the keys of their operands.

mod contraction;
mod graph;
mod matrix;
mod operand;
mod operation;
mod operators;
mod reductions;
mod rolled;
mod rows;
mod subscripts;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

pub(crate) use graph::digest_of;
pub use graph::{ArrayGraph, GraphNode, GraphOperand, GraphRecorder};
pub use matrix::PlainMatrix;
pub use operand::{Operand, PlainArray, PlainInput};
pub use operation::{ArrayOperation, PlacesId, StoredPlacement};
pub use subscripts::Subscripts;

use graph::Recorded;

use crate::arrays::{Ciphertext, Encoding, Layout, Padding};
use crate::circuits::automatic::kept_bootstrap;
use crate::circuits::bootstrap::BootstrapPlan;
use crate::circuits::conversion::{ConversionOptions, ConversionPlan};
use crate::circuits::linear::gather::{gather, is_movable};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::broadcasting::{broadcast_sources, common_shape};
use crate::parameters::Rescale;
use crate::progress::Progress;

/// The operations' name where memory is missing.
const OPERATION: &str = "an operation on this array";

/// A ciphertext, and the evaluator that its operations use.
///
/// ```
/// use clathrate_ckks::encrypted_array::EncryptedArray;
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let heights = [1.62, 1.75, 1.80, 1.71];
///
/// // A dry run on a symbol finds the keys.
/// let recorder = Evaluator::recording(&params);
/// let symbol = recorder.symbol(&[4], Encoding::Slots, params.fresh_level(), 2.0)?;
/// EncryptedArray::new(symbol, &recorder).variance(None, 0, false)?;
/// let evaluator = Evaluator::with_keys(owner.evaluation_keys(&recorder.needs())?);
///
/// let x = EncryptedArray::new(owner.encrypt(&heights)?, &evaluator);
/// let variance = owner.decrypt(x.variance(None, 0, false)?.data())?.into_real()?;
/// assert!((variance[0] - 0.00435).abs() < 1e-6);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct EncryptedArray {
    data: Arc<Ciphertext>,
    evaluator: Evaluator,
    made: Arc<Made>,
    /// Which value of a recording this is.
    recorded: Option<Recorded>,
}

/// What operations have made of an array, once for all of them.
#[derive(Debug, Default)]
struct Made {
    /// The numbers at a level from which a product can start, where the array was bootstrapped or lowered.
    fresh: OnceLock<Arc<Ciphertext>>,
    /// The array rescaled, where it is a product.
    rescaled: OnceLock<Arc<Ciphertext>>,
    /// Where the array is a mean: the sum that it is a share of, and how many numbers were added up.
    mean_of: OnceLock<(Arc<Ciphertext>, usize)>,
}

/// `data`, or what `work` makes of it, which `made` keeps from then on.
fn once(
    data: &Arc<Ciphertext>,
    made: &OnceLock<Arc<Ciphertext>>,
    work: impl FnOnce() -> Result<Option<Ciphertext>, CkksError>,
) -> Result<Arc<Ciphertext>, CkksError> {
    if let Some(made) = made.get() {
        return Ok(made.clone());
    }
    Ok(work()?.map_or_else(|| data.clone(), |new| made.get_or_init(|| Arc::new(new)).clone()))
}

/// The new ciphertext, if it is one.
fn if_new(data: Cow<'_, Ciphertext>) -> Option<Ciphertext> {
    match data {
        Cow::Borrowed(_) => None,
        Cow::Owned(new) => Some(new),
    }
}

impl EncryptedArray {
    /// An array whose operations use `evaluator`: one with keys, one for dry runs, or one without keys.
    #[must_use]
    pub fn new(data: impl Into<Arc<Ciphertext>>, evaluator: &Evaluator) -> Self {
        Self { data: data.into(), evaluator: evaluator.clone(), made: Arc::default(), recorded: None }
    }

    /// The same array, whose operations use `evaluator`.
    #[must_use]
    pub fn with_evaluator(&self, evaluator: &Evaluator) -> Self {
        Self { evaluator: evaluator.clone(), ..self.clone() }
    }

    /// The same array, whose operations report to `progress`.
    #[must_use]
    pub fn with_progress(&self, progress: &Progress) -> Self {
        Self { evaluator: self.evaluator.clone().with_progress(progress.clone()), ..self.clone() }
    }

    /// The ciphertext.
    #[must_use]
    pub fn data(&self) -> &Arc<Ciphertext> {
        &self.data
    }

    /// What computes on the array.
    #[must_use]
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// Whether operators rescale products by themselves.
    #[must_use]
    pub fn is_automatic(&self) -> bool {
        self.data.params().runtime().rescale == Rescale::Automatic
    }

    /// `data` as an array with the evaluator of this one.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`] if the numbers of a dry run may be too large for the modulus.
    pub fn beside(&self, data: Ciphertext) -> Result<Self, CkksError> {
        data.check_bound()?;
        Ok(Self {
            data: Arc::new(data),
            evaluator: self.evaluator.clone(),
            made: Arc::default(),
            recorded: None,
        })
    }

    /// Where the array is a mean: the sum that it is a share of, and how many numbers were added up.
    pub(crate) fn mean_of(&self) -> Option<&(Arc<Ciphertext>, usize)> {
        self.made.mean_of.get()
    }

    /// The same numbers as the mean that they are: `sum` divided by `count`.
    pub(crate) fn with_mean_of(&self, sum: Arc<Ciphertext>, count: usize) -> Self {
        let made = Made::default();
        // It is set once, here.
        let _ = made.mean_of.set((sum, count));
        Self { made: Arc::new(made), ..self.clone() }
    }

    /// The array that has the keys for an operation on both: this one, or else `other`.
    fn holder<'a>(&'a self, other: &'a Self) -> &'a Self {
        if self.evaluator.has_keys() { self } else { other }
    }

    /// The ciphertext, rescaled if it is a product that was not, unless the runtime leaves that to the
    /// caller.
    ///
    /// # Errors
    /// Those of [`Evaluator::rescale`].
    pub fn settled(&self) -> Result<Arc<Ciphertext>, CkksError> {
        self.settled_by(&self.evaluator)
    }

    fn settled_by(&self, evaluator: &Evaluator) -> Result<Arc<Ciphertext>, CkksError> {
        once(&self.data, &self.made.rescaled, || evaluator.settled(&self.data).map(if_new))
    }

    /// The operand of a product: the ciphertext, rescaled if it is a product; at a higher level if
    /// `evaluator` bootstraps it; at the highest level of the application if it is at the levels of a
    /// bootstrap.
    fn factor_by(&self, evaluator: &Evaluator) -> Result<Arc<Ciphertext>, CkksError> {
        let data = self.settled_by(evaluator)?;
        if !evaluator.bootstraps() && data.level() <= data.params().fresh_level() {
            return Ok(data);
        }
        once(&data, &self.made.fresh, || evaluator.with_levels(&data, 1).map(if_new))
    }

    /// This array, rescaled if it is a product, also where the runtime leaves rescales to the caller.
    fn rescaled_anyway(&self) -> Result<Self, CkksError> {
        if self.data.awaits_rescale() { self.map(Evaluator::rescale) } else { Ok(self.clone()) }
    }

    /// One rescale; if operators rescale products by themselves, none for an array at the scale of its level.
    ///
    /// # Errors
    /// Those of [`Evaluator::rescale`].
    pub fn rescale(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Rescale, &[self.into()], || self.rescale());
        }
        if self.is_automatic() && self.data.has_canonical_scale() {
            return Ok(self.clone());
        }
        self.map(Evaluator::rescale)
    }

    /// This array with zeros behind its numbers in slots: a product clears them, unless products are the
    /// caller's affair.
    ///
    /// # Errors
    /// Those of [`Evaluator::clear_padding`].
    pub fn cleared(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Cleared, &[self.into()], || self.cleared());
        }
        let data = &self.data;
        if data.encoding() != Encoding::Slots || data.padding() == Padding::Zero || !self.is_automatic() {
            return Ok(self.clone());
        }
        self.map_settled(Evaluator::clear_padding)
    }

    /// This array with zeros behind its numbers in slots, also where they are zeros or products are the
    /// caller's affair.
    ///
    /// # Errors
    /// Those of [`Evaluator::clear_padding`].
    pub fn clear_padding(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::ClearPadding, &[self.into()], || self.clear_padding());
        }
        self.map_settled(Evaluator::clear_padding)
    }

    /// Every row rotated by `steps` places.
    ///
    /// # Errors
    /// Those of [`Evaluator::rotate`].
    pub fn rotate(&self, steps: i64) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Rotate { steps }, &[self.into()], || self.rotate(steps));
        }
        self.map_settled(|evaluator, x| evaluator.rotate(x, steps))
    }

    /// [`EncryptedArray::rotate`] by each of `steps`.
    ///
    /// # Errors
    /// Those of [`Evaluator::rotate_many`].
    pub fn rotate_many(&self, steps: &[i64]) -> Result<Vec<Self>, CkksError> {
        if self.recorder().is_some() {
            return steps.iter().map(|&steps| self.rotate(steps)).collect();
        }
        let rotated = self.evaluator.rotate_many(&*self.settled()?, steps)?;
        rotated.into_iter().map(|data| self.beside(data)).collect()
    }

    /// The only column of a matrix, repeated to `columns` columns.
    ///
    /// # Errors
    /// Those of [`Evaluator::broadcast`].
    pub fn repeat_column(&self, columns: usize) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::RepeatColumn { columns };
            return graph.record(operation, &[self.into()], || self.repeat_column(columns));
        }
        self.map(|evaluator, x| evaluator.broadcast(x, columns))
    }

    /// This array with another bound on its numbers, by the caller's word.
    ///
    /// # Errors
    /// Those of [`Ciphertext::with_bound`].
    pub fn with_bound(&self, bound: Option<f64>) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::WithBound { bound };
            return graph.record(operation, &[self.into()], || self.with_bound(bound));
        }
        self.map(|_, x| x.with_bound(bound))
    }

    /// This array, of which the caller knows that each number is one of `x` or `y`, as
    /// [`Ciphertext::as_chosen_from`].
    ///
    /// # Errors
    /// [`CkksError::NotEnoughMemory`].
    pub fn chosen_from(&self, x: &Self, y: &Self, share: f64) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operands = [self.into(), x.into(), y.into()];
            return graph
                .record(ArrayOperation::ChosenFrom { share }, &operands, || self.chosen_from(x, y, share));
        }
        self.map(|_, own| Ok(own.clone().as_chosen_from(x.data(), y.data(), share)))
    }

    /// What `work` makes of the ciphertext as it is.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn map(
        &self,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>,
    ) -> Result<Self, CkksError> {
        self.check_unrecorded()?;
        self.data.check_room_for_another(OPERATION)?;
        self.beside(work(&self.evaluator, &self.data)?)
    }

    /// What `work` makes of the ciphertext, rescaled if it is a product.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn map_settled(
        &self,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>,
    ) -> Result<Self, CkksError> {
        self.check_unrecorded()?;
        let data = self.settled()?;
        data.check_room_for_another(OPERATION)?;
        self.beside(work(&self.evaluator, &data)?)
    }

    /// What `work` makes of the ciphertext as the factor of a product: rescaled, bootstrapped or lowered as
    /// needed.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn map_factor(
        &self,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError>,
    ) -> Result<Self, CkksError> {
        self.check_unrecorded()?;
        let data = self.factor_by(&self.evaluator)?;
        data.check_room_for_another(OPERATION)?;
        self.beside(work(&self.evaluator, &data)?)
    }

    /// What `work` makes of two arrays, broadcast to the shape that they have together, with the keys of this
    /// one, or else of the other.
    fn zip(
        &self,
        other: &Self,
        operation: &'static str,
        work: impl FnOnce(&Evaluator, &Ciphertext, &Ciphertext) -> Result<Ciphertext, CkksError>,
    ) -> Result<Self, CkksError> {
        let holder = self.holder(other);
        // The sum of an array in slots and one in coefficients is in slots.
        let differ = self.data.encoding() != other.data.encoding();
        let [left, right] = [self, other].map(|own| {
            let converted = if differ { own.brought_to_slots(holder)? } else { None };
            Ok::<_, CkksError>(converted.map_or_else(|| own.data.clone(), |own| own.data))
        });
        let (left, right) = (left?, right?);
        left.check_room_for_another(operation)?;
        right.check_room_for_another(operation)?;
        let (left, right) = at_the_same_places(&holder.evaluator, &left, &right, operation)?;
        holder.beside(work(&holder.evaluator, &left, &right)?)
    }

    /// As [`Self::zip`], for the factors of a product.
    fn zip_factors(
        &self,
        other: &Self,
        operation: &'static str,
        work: impl FnOnce(&Evaluator, &Ciphertext, &Ciphertext) -> Result<Ciphertext, CkksError>,
    ) -> Result<Self, CkksError> {
        let holder = self.holder(other);
        let evaluator = &holder.evaluator;
        let (left, right) = (self.settled_by(evaluator)?, other.settled_by(evaluator)?);
        // The square of an array is the product of one operand with itself.
        if Arc::ptr_eq(&left, &right) {
            let factor = self.factor_by(evaluator)?;
            factor.check_room_for_another(operation)?;
            return holder.beside(work(evaluator, &factor, &factor)?);
        }
        let known = |own: &Self, data: Arc<Ciphertext>| {
            let changes = evaluator.bootstraps() || data.level() > data.params().fresh_level();
            own.made.fresh.get().filter(|_| changes).cloned().unwrap_or(data)
        };
        let (left, right) = (known(self, left), known(other, right));
        let kept = |own: &Self, data: &Arc<Ciphertext>, new: Option<Ciphertext>| match new {
            Some(new) => own.made.fresh.get_or_init(|| Arc::new(new)).clone(),
            None => data.clone(),
        };
        let (new_left, new_right) = evaluator.factors_with_levels(&left, &right)?;
        let (new_left, new_right) = (if_new(new_left), if_new(new_right));
        let (left, right) = (kept(self, &left, new_left), kept(other, &right, new_right));
        left.check_room_for_another(operation)?;
        right.check_room_for_another(operation)?;
        let (left, right) = at_the_same_places(evaluator, &left, &right, operation)?;
        holder.beside(work(evaluator, &left, &right)?)
    }

    /// This array in the encoding `to`, by a plan that its evaluator keeps; `levels` are those that the
    /// conversion takes, or a choice.
    ///
    /// # Errors
    /// Those of [`ConversionPlan::run`](crate::circuits::conversion::ConversionPlan::run) and its plan.
    pub fn converted(&self, to: Encoding, levels: Option<usize>) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Converted { to, levels }, &[self.into()], || {
                self.converted(to, levels)
            });
        }
        if self.data.encoding() == to {
            return Ok(self.clone());
        }
        let data = self.settled()?;
        let plan = ConversionPlan::kept(&self.evaluator, &data, ConversionOptions { levels })?;
        self.beside(plan.run(&self.evaluator, &data)?)
    }

    /// This array converted to slots, for an operation that is defined there alone, with the keys of
    /// `holder`; `None` if it is in slots, if levels are the caller's affair, and if keys are missing: the
    /// operation then says which encoding it needs.
    fn brought_to_slots(&self, holder: &Self) -> Result<Option<Self>, CkksError> {
        let evaluator = &holder.evaluator;
        if self.data.encoding() == Encoding::Slots || !self.is_automatic() || !evaluator.has_keys() {
            return Ok(None);
        }
        let data = self.settled_by(evaluator)?;
        match ConversionPlan::kept(evaluator, &data, ConversionOptions::default()) {
            Ok(plan) if plan.has_keys_in(evaluator) => holder.beside(plan.run(evaluator, &data)?).map(Some),
            Err(error) if error.kind() == crate::error::ErrorKind::Level => Err(error),
            _ => Ok(None),
        }
    }

    /// This array in slots where [`Self::brought_to_slots`] converts it, else as it is.
    ///
    /// # Errors
    /// Those of the conversion.
    pub fn in_slots(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::InSlots, &[self.into()], || self.in_slots());
        }
        Ok(self.brought_to_slots(self)?.unwrap_or_else(|| self.clone()))
    }

    /// The array at a high level, bootstrapped by `plan`, or else by one for its slots and numbers.
    ///
    /// # Errors
    /// Those of [`BootstrapPlan::run`] and [`BootstrapPlan::with_options`].
    pub fn bootstrap(&self, plan: Option<&BootstrapPlan>) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            if plan.is_some() {
                self.check_unrecorded()?;
            }
            // Symbols of recordings have all the levels that they need.
            return graph.record(ArrayOperation::Bootstrap, &[self.into()], || {
                self.beside((*self.settled()?).clone())
            });
        }
        let x = self.settled()?;
        // Several polynomials of real numbers share bootstraps of complex ones.
        let real = !x.is_complex() && x.layout().bundles() == 1;
        self.beside(match plan {
            Some(plan) => plan.run(&self.evaluator, &x)?,
            None => kept_bootstrap(&self.evaluator, &x, real)?.run(&self.evaluator, &x)?,
        })
    }

    /// The array among `parts` whose keys an operation on all of them uses; `operation` in errors.
    fn holder_of<'a>(parts: &[&'a Self], operation: &'static str) -> Result<&'a Self, CkksError> {
        let first = parts.first().ok_or(CkksError::no_terms(operation))?;
        Ok(parts.iter().find(|part| part.evaluator.has_keys()).unwrap_or(first))
    }

    /// What `work` makes of several arrays, each rescaled if it is a product, with the keys of the first that
    /// has some; `operation` in errors.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without parts; those of `work`.
    pub fn gather<T>(
        parts: &[&Self],
        operation: &'static str,
        work: impl FnOnce(&Self, &[&Ciphertext]) -> Result<T, CkksError>,
    ) -> Result<T, CkksError> {
        let holder = Self::holder_of(parts, operation)?;
        let settled =
            parts.iter().map(|part| part.settled_by(&holder.evaluator)).collect::<Result<Vec<_>, _>>()?;
        work(holder, &settled.iter().map(|part| &**part).collect::<Vec<_>>())
    }
}

/// Both arrays broadcast to their common shape, at the same places: as [`Evaluator::broadcast_pair`] does if
/// that suffices, otherwise by a gather in slots, which takes a level and rotations.
fn at_the_same_places<'c>(
    evaluator: &Evaluator,
    left: &'c Ciphertext,
    right: &'c Ciphertext,
    operation: &'static str,
) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>), CkksError> {
    let pair = evaluator.broadcast_pair(left, right, operation);
    let refused = match &pair {
        Ok((left, right)) => !left.layout().same_places(right.layout()),
        Err(error) => matches!(error, CkksError::Shape { .. } | CkksError::Unsuitable { .. }),
    };
    if !refused || !is_movable(left) || !is_movable(right) {
        return pair;
    }
    let shape = common_shape(left.shape(), right.shape(), operation)?;
    let decides = [left, right].into_iter().find(|own| own.shape() == shape).map(|own| *own.layout());
    let moved = |own: &'c Ciphertext| match decides {
        Some(to) if own.shape() == shape && own.layout().same_places(&to) => Ok(Cow::Borrowed(own)),
        _ => broadcast_by_gather(evaluator, own, &shape, decides).map(Cow::Owned),
    };
    Ok((moved(left)?, moved(right)?))
}

/// An array broadcast to `shape`: as [`Evaluator::spread`] does if that suffices, otherwise by a gather in
/// slots.
fn broadcast<'c>(
    evaluator: &Evaluator,
    x: &'c Ciphertext,
    shape: &[usize],
) -> Result<Cow<'c, Ciphertext>, CkksError> {
    match evaluator.spread(x, shape) {
        Err(CkksError::Shape { .. } | CkksError::Unsuitable { .. }) if is_movable(x) => {
            broadcast_by_gather(evaluator, x, shape, None).map(Cow::Owned)
        }
        spread => spread,
    }
}

/// An array broadcast to `shape`, at the places of `to`.
fn broadcast_by_gather(
    evaluator: &Evaluator,
    x: &Ciphertext,
    shape: &[usize],
    to: Option<Layout>,
) -> Result<Ciphertext, CkksError> {
    let settled = if x.awaits_rescale() { Cow::Owned(evaluator.rescale(x)?) } else { Cow::Borrowed(x) };
    let sources: Vec<_> = broadcast_sources(x.shape(), shape).into_iter().map(Some).collect();
    gather(evaluator, &settled, shape, to, &sources)
}
