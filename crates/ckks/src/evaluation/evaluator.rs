//! Computes on ciphertexts; holds evaluation keys, never a secret.
//!
//! Scales are exact per level: a fresh ciphertext, and a rescaled product of two of one level, have the canonical scale of their
//! level to the bit. Operands of different levels meet at the lower one; a product not yet rescaled and a fresh operand meet by an
//! integer factor. What is left is a scale the caller chose, and an error that says so.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_lattice::{Bundle, Eval, LatticeError, Level, Poly};

use super::recording::Recording;
use crate::arrays::ciphertext::Symbol;
use crate::arrays::memory::Footprint;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Padding};
use crate::encoding::check_room;
use crate::encoding::plaintext::Plaintext;
use crate::error::CkksError;
use crate::keys::{Cost, EvaluationKeys, Found, KeyNeeds, Operation, ValuesRef};
use crate::parameters::Params;

/// Scales closer than this (relatively) are one scale: an integer factor of 40 bits rounds that much.
const SCALE_TOLERANCE: f64 = 1e-11;

/// What an integer factor may round a scale by: a message of magnitude 1 then moves by no more than one unit of its integers, which is
/// below the noise of any encryption.
fn factor_tolerance(scale: f64) -> f64 {
    SCALE_TOLERANCE.max(1.0 / scale)
}

/// Computes under one parameter set.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let keys = owner.evaluation_keys(&KeyNeeds::new().relinearise(Reach::Top).rotations([1], Reach::Top))?;
/// let evaluator = Evaluator::with_keys(keys);
///
/// // (x^2 + 1) and its rotation by one place.
/// let x = owner.encrypt(&[1.0, 2.0, 3.0, 4.0])?;
/// let y = evaluator.add_plain(&evaluator.multiply_rescale(&x, &x)?, &[1.0; 4])?;
/// let sum = evaluator.add(&y, &evaluator.rotate(&y, 1)?)?;
/// assert_eq!(sum.level(), Level(x.level().0 - 1));
/// let numbers = owner.decrypt(&sum)?.into_real()?;
/// assert!(numbers.iter().zip([7.0, 15.0, 27.0, 19.0]).all(|(number, expected)| (number - expected).abs() < 1e-5));
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator {
    params: Params,
    keys: Keys,
    /// Who hears the names of stages.
    watch: Option<Watch>,
}

/// Called with the name of a stage; answers whether to go on.
#[derive(Clone)]
struct Watch(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl std::ops::Deref for Watch {
    type Target = dyn Fn(&str) -> bool + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// From the variance of a coefficient to the root mean square of an entry's error: a slot is the sum of `n` coefficients times roots of unity.
pub(crate) fn entry_error(x: &Ciphertext, variance: f64) -> f64 {
    let terms = if x.encoding() == Encoding::Slots { x.params.degree() as f64 } else { 1.0 };
    (variance * terms).sqrt() / x.scale
}

/// Where an evaluator looks for keys.
#[derive(Debug, Clone)]
enum Keys {
    /// It has none.
    None,
    /// In a set made by the owner.
    Held(Arc<EvaluationKeys>),
    /// Nowhere: it runs on symbols and writes down what it would need.
    Recorded(Arc<Mutex<Recording>>),
}

/// `x` with `f` of the bounds of both operands; without bounds where one operand has none.
pub(crate) fn joined(x: Ciphertext, y: &Ciphertext, f: impl FnOnce(Estimate, Estimate) -> Estimate) -> Ciphertext {
    match y.estimate() {
        Some(other) => x.estimated(|own| f(own, other)),
        None => x.unbounded(),
    }
}

/// `z`, made of `x` and `y` entry by entry: complex where one of them is, with this padding.
fn entrywise(mut z: Ciphertext, (x, y): (&Ciphertext, &Ciphertext), padding: Padding) -> Ciphertext {
    z.layout.complex = x.is_complex() || y.is_complex();
    z.padded(padding)
}

/// Whether two scales are one.
pub(crate) fn same_scale(x: f64, y: f64) -> bool {
    (x / y - 1.0).abs() < SCALE_TOLERANCE
}

/// How errors call a product of ciphertexts.
const PRODUCT: &str = "a product of ciphertexts";

/// How errors call a product with a plaintext.
const ELEMENT_WISE: &str = "an element-wise product";

/// Refuses coefficient encoding, whose ring product is no product of the entries.
pub(crate) fn check_slots(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    if x.encoding() == Encoding::Slots {
        return Ok(());
    }
    let (expected, got) = (Encoding::Slots.name().to_owned(), x.encoding().name().to_owned());
    Err(CkksError::Encoding { operation, expected, got })
}

/// Whether the bundles of `out` are as large as those of `x`.
fn fits(out: &Ciphertext, x: &Ciphertext) -> bool {
    let same = |out: &Bundle<Eval>, x: &Bundle<Eval>| out.check_same_shape(x).is_ok();
    !x.is_symbol() && out.bundles.len() == x.bundles.len() && out.bundles.iter().zip(&x.bundles).all(|(out, x)| same(out, x))
}

type Combine = fn(&Bundle<Eval>, &Bundle<Eval>) -> Result<Bundle<Eval>, LatticeError>;
type CombineInPlace = fn(&mut Bundle<Eval>, &Bundle<Eval>) -> Result<(), LatticeError>;

/// `x` with every bundle combined with `y`'s: in place where `x` is owned, else in one pass into new bundles, as a clone would be a second one.
fn combined(x: Cow<'_, Ciphertext>, y: &Ciphertext, combine: Combine, in_place: CombineInPlace) -> Result<Ciphertext, CkksError> {
    match x {
        Cow::Owned(mut x) => {
            x.bundles.iter_mut().zip(&y.bundles).try_for_each(|(x, y)| in_place(x, y))?;
            Ok(x)
        }
        Cow::Borrowed(x) => {
            let bundles = x.bundles.iter().zip(&y.bundles).map(|(x, y)| combine(x, y)).collect::<Result<_, _>>()?;
            Ok(x.with(bundles, x.level, x.scale))
        }
    }
}

/// The polynomial that each bundle is multiplied by: one for all of its bodies, because they share the mask.
///
/// # Errors
/// [`CkksError::SharedMask`] where bodies of one bundle have different factors.
fn common_factors<'m>(layout: &Layout, messages: &'m [Poly<Eval>]) -> Result<Vec<&'m Poly<Eval>>, CkksError> {
    let of_bundle = |bundle: usize| {
        let mut factors = (0..layout.bodies).filter_map(|body| messages.get(layout.polynomial_at(bundle, body)?));
        let first = factors.next()?;
        factors.all(|factor| factor == first).then_some(first)
    };
    let factors: Option<Vec<_>> = (0..layout.bundles()).map(of_bundle).collect();
    factors.ok_or(CkksError::SharedMask {
        operation: ELEMENT_WISE,
        bodies: layout.bodies,
        reason: "the factors differ from body to body",
        remedy: "multiply all rows or chunks of one mask by the same numbers, or take the bodies apart with split_mask",
    })
}

impl Evaluator {
    /// An evaluator without keys: everything but products of ciphertexts and rotations.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), keys: Keys::None, watch: None }
    }

    /// An evaluator with `keys`.
    #[must_use]
    pub fn with_keys(keys: impl Into<Arc<EvaluationKeys>>) -> Self {
        let keys = keys.into();
        Self { params: keys.params().clone(), keys: Keys::Held(keys), watch: None }
    }

    /// An evaluator for dry runs on symbols ([`Ciphertext::symbol`]): the same rules for shapes, levels and scales, no data, no keys;
    /// [`Evaluator::needs`] tells what keys the computation would use. Clones share what they write down.
    #[must_use]
    pub fn recording(params: &Params) -> Self {
        Self { params: params.clone(), keys: Keys::Recorded(Arc::default()), watch: None }
    }

    /// As [`Evaluator::recording`], for a computation whose keys will be made for `needs`: the bounds on errors are those of such keys. A key for lower levels
    /// has fewer primes that can be special. Without this, keys are taken to serve all levels.
    #[must_use]
    pub fn recording_for(params: &Params, needs: KeyNeeds) -> Self {
        let recording = Arc::new(Mutex::new(Recording::made_for(needs)));
        Self { params: params.clone(), keys: Keys::Recorded(recording), watch: None }
    }

    /// The operations of a recording evaluator's computations that need keys, each at the highest level it is used at; nothing for any other.
    #[must_use]
    pub fn needs(&self) -> KeyNeeds {
        self.recorded().needs().clone()
    }

    /// What a recording evaluator has written down; nothing for any other.
    #[must_use]
    pub fn recorded(&self) -> Recording {
        match &self.keys {
            Keys::Recorded(recording) => recording.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Keys::None | Keys::Held(_) => Recording::default(),
        }
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// A symbol of a fresh public-key encryption for this dry run: its numbers are at most `bound`, and what is computed from it carries bounds on numbers and
    /// errors ([`Ciphertext::estimate`]).
    ///
    /// # Errors
    /// As [`Ciphertext::symbol`]; [`CkksError::Symbol`] for an evaluator that does not record; [`CkksError::OutOfRange`] for a bound that is no
    /// positive number.
    pub fn symbol(&self, shape: &[usize], encoding: Encoding, level: Level, bound: f64) -> Result<Ciphertext, CkksError> {
        self.params.check_level(level)?;
        let symbol = Ciphertext::symbol(&self.params, shape, encoding, false, level, self.params.scale(level))?;
        self.take_symbol(symbol, Some(bound))
    }

    /// Takes a symbol that was made elsewhere into this dry run, as a fresh public-key encryption. From then on the memory of its array counts, and so does that of
    /// every array computed from it. Where `bound` is the largest magnitude of its numbers, all of them carry bounds on numbers and errors.
    ///
    /// # Errors
    /// As [`Evaluator::symbol`]; [`CkksError::WrongParams`]; [`CkksError::Conversion`] for a ciphertext with data.
    pub fn take_symbol(&self, mut symbol: Ciphertext, bound: Option<f64>) -> Result<Ciphertext, CkksError> {
        let Keys::Recorded(recording) = &self.keys else { return Err(CkksError::Symbol { operation: "a computation on data" }) };
        self.check(&symbol)?;
        if !symbol.is_symbol() {
            let reason = "the ciphertext has data: give a symbol of it, with its shape, encoding, level and scale".to_owned();
            return Err(CkksError::Conversion { operation: "a dry run", reason });
        }
        if let Some(bound) = bound.filter(|bound| !(bound.is_finite() && *bound > 0.0)) {
            let remedy = "give the largest magnitude of the numbers, above 0".to_owned();
            return Err(CkksError::OutOfRange { what: "the bound on the numbers", value: bound.to_string(), remedy });
        }
        let error = entry_error(&symbol, symbol.params.noise_model().fresh_public());
        let meter = recording.lock().unwrap_or_else(PoisonError::into_inner).meter().clone();
        let footprint = Footprint::new(&meter, symbol.predicted_bytes());
        symbol.symbol = Some(Symbol { estimate: bound.map(|magnitude| Estimate { magnitude, error }), footprint });
        Ok(symbol)
    }

    /// Runs a named stage of a circuit. A dry run books its cost under the name; on data, whoever watches the evaluator hears the name first.
    ///
    /// # Errors
    /// As `run`; [`CkksError::Cancelled`] where the watcher says so.
    pub fn stage<T>(&self, name: &str, run: impl FnOnce() -> Result<T, CkksError>) -> Result<T, CkksError> {
        if let Some(watch) = &self.watch
            && !watch(name)
        {
            return Err(CkksError::Cancelled);
        }
        self.enter_stage(name);
        let result = run();
        self.leave_stage();
        result
    }

    /// Opens a stage of a dry run, for callers that cannot run the stage as one function; [`Evaluator::leave_stage`] closes it. On data nothing happens.
    pub fn enter_stage(&self, name: &str) {
        if let Keys::Recorded(recording) = &self.keys {
            recording.lock().unwrap_or_else(PoisonError::into_inner).enter(name);
        }
    }

    /// Closes the stage of a dry run that was opened last, if there is one.
    pub fn leave_stage(&self) {
        if let Keys::Recorded(recording) = &self.keys {
            recording.lock().unwrap_or_else(PoisonError::into_inner).leave();
        }
    }

    /// The same evaluator, telling `watch` the name of each stage before it runs; the answer `false` cancels.
    #[must_use]
    pub fn watched(self, watch: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { watch: Some(Watch(Arc::new(watch))), ..self }
    }

    /// What `run` on symbols writes down counts `count` times.
    pub(crate) fn repeated<T>(&self, count: usize, run: impl FnOnce() -> Result<T, CkksError>) -> Result<T, CkksError> {
        let Keys::Recorded(recording) = &self.keys else { return run() };
        let before = recording.lock().unwrap_or_else(PoisonError::into_inner).repeat(count);
        let result = run();
        recording.lock().unwrap_or_else(PoisonError::into_inner).end_repeat(before);
        result
    }

    /// Books what an operation on the bundles of a symbol costs, each of them.
    pub(crate) fn spend(&self, x: &Ciphertext, cost: impl FnOnce() -> Result<Cost, CkksError>) -> Result<(), CkksError> {
        self.spend_once(x, || Ok(cost()?.times(x.layout.bundles() as f64)))
    }

    /// Books what an operation on a symbol costs as a whole.
    pub(crate) fn spend_once(&self, x: &Ciphertext, cost: impl FnOnce() -> Result<Cost, CkksError>) -> Result<(), CkksError> {
        if let Keys::Recorded(recording) = &self.keys
            && x.is_symbol()
        {
            let cost = cost()?;
            recording.lock().unwrap_or_else(PoisonError::into_inner).spend(cost);
        }
        Ok(())
    }

    /// As [`Evaluator::spend`], of a sum, or a product with a number, of every polynomial.
    pub(crate) fn spend_pass(&self, x: &Ciphertext) -> Result<(), CkksError> {
        self.spend(x, || Ok(x.params.passes_cost(x.polys_per_bundle() * x.params.chain().basis(x.level).len())))
    }

    /// As [`Evaluator::spend`], of the encoding of `polynomials` polynomials as operands for `x`, whatever bundles they belong to.
    pub(crate) fn spend_encoding(&self, x: &Ciphertext, polynomials: usize) -> Result<(), CkksError> {
        self.spend(x, || Ok(x.params.transforms_cost(x.level, x.params.degree()).times(polynomials as f64 / x.layout.bundles() as f64)))
    }

    pub(crate) fn check(&self, x: &Ciphertext) -> Result<(), CkksError> {
        self.params.check_related(&x.params, "the ciphertext")
    }

    /// The keys of `operation` on `x` at `level`, which counts as of the shape of `params`; `None` on a dry run, which writes it down.
    pub(crate) fn keys_for(
        &self,
        params: &Params,
        x: &Ciphertext,
        what: &'static str,
        operation: Operation,
        level: Level,
    ) -> Result<Option<Found<'_>>, CkksError> {
        self.keys_at(params, x, what, operation, (level, params.slot_count()))
    }

    /// As [`Evaluator::keys_for`], for slots that repeat with a period.
    pub(crate) fn keys_at(
        &self,
        params: &Params,
        x: &Ciphertext,
        what: &'static str,
        operation: Operation,
        (level, period): (Level, usize),
    ) -> Result<Option<Found<'_>>, CkksError> {
        self.keys_switching(params, x, (what, x.layout.bundles()), operation, (level, period))
    }

    /// As [`Evaluator::keys_at`], where an operation's keys do not switch each bundle of `x` once, but so many bundles in all.
    pub(crate) fn keys_switching(
        &self,
        params: &Params,
        x: &Ciphertext,
        (what, switches): (&'static str, usize),
        operation: Operation,
        (level, period): (Level, usize),
    ) -> Result<Option<Found<'_>>, CkksError> {
        self.check(x)?;
        match &self.keys {
            Keys::Held(keys) => {
                x.key_id.check_same(keys.id(), "the evaluation key")?;
                keys.find(params, operation, level, period).map(Some)
            }
            Keys::Recorded(recording) if x.is_symbol() => {
                params.switcher()?;
                // A panic elsewhere cannot leave half an entry.
                let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
                recording.write(&self.params, params, operation, level, switches)?;
                Ok(None)
            }
            Keys::None | Keys::Recorded(_) => Err(CkksError::NoKeys { operation: what }),
        }
    }

    pub(crate) fn check_pair(&self, x: &Ciphertext, y: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
        self.check(x)?;
        self.check(y)?;
        if x.is_symbol() != y.is_symbol() {
            return Err(CkksError::Symbol { operation });
        }
        x.key_id.check_same(y.key_id, "the right operand")?;
        x.secret.check_same(y.secret, operation)?;
        if x.params != y.params {
            let (left, right) = (x.params.shape(), y.params.shape());
            let reason =
                format!("the operands have degree and rank {left} and {right}: bring them to one with to_rank, to_rlwe or to_mlwe");
            return Err(CkksError::Conversion { operation, reason });
        }
        if x.encoding() != y.encoding() {
            let (expected, got) = (x.encoding().name().to_owned(), y.encoding().name().to_owned());
            return Err(CkksError::Encoding { operation, expected, got });
        }
        if x.shape != y.shape {
            let remedy = "ciphertexts combine at equal shapes".to_owned();
            return Err(CkksError::Shape { operation, left: x.shape.clone(), right: y.shape.clone(), remedy });
        }
        if !x.layout.same_places(&y.layout) {
            let (left, right) = (x.layout.to_string(), y.layout.to_string());
            let remedy = "encrypt both in one way, or take the bodies apart and put them under one mask in one way";
            return Err(CkksError::DifferentLayouts { operation, left, right, remedy });
        }
        Ok(())
    }

    /// Brings both to one level and one scale; what is there already is not copied.
    fn align<'c>(&self, x: &'c Ciphertext, y: &'c Ciphertext) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>), CkksError> {
        let (x, y) = match x.level.cmp(&y.level) {
            std::cmp::Ordering::Equal => (Cow::Borrowed(x), Cow::Borrowed(y)),
            std::cmp::Ordering::Greater => (Cow::Owned(self.lower(x, y.level, y.scale)?), Cow::Borrowed(y)),
            std::cmp::Ordering::Less => (Cow::Borrowed(x), Cow::Owned(self.lower(y, x.level, x.scale)?)),
        };
        if same_scale(x.scale, y.scale) {
            return Ok((x, y));
        }
        let mismatch = CkksError::ScaleMismatch { left: x.scale.log2(), right: y.scale.log2() };
        let ratio = if x.scale > y.scale { x.scale / y.scale } else { y.scale / x.scale };
        let factor = ratio.round();
        if (ratio / factor - 1.0).abs() > factor_tolerance(x.scale.min(y.scale)) || factor > 2f64.powi(100) {
            return Err(mismatch);
        }
        let grow = |small: &Ciphertext, scale: f64| {
            let mut grown = small.clone();
            grown.bundles.iter_mut().for_each(|bundle| bundle.mul_integer_assign(factor as i128));
            grown.scale = scale;
            grown
        };
        Ok(if x.scale < y.scale {
            (Cow::Owned(grow(&x, y.scale)), y)
        } else {
            let grown = grow(&y, x.scale);
            (x, Cow::Owned(grown))
        })
    }

    /// Drops primes to `level`, and brings the scale to `scale` where one rescale on the way can do that exactly enough. A product
    /// not yet rescaled is divided by its own step first.
    ///
    /// A scale that the lower modulus cannot hold is refused: the message would wrap around unnoticed.
    fn lower(&self, x: &Ciphertext, level: Level, scale: f64) -> Result<Ciphertext, CkksError> {
        let restrict = |scale: f64| {
            x.params.check_scale(scale, level)?;
            let basis = x.params.chain().basis(level);
            x.try_map(level, scale, |bundle| Ok(bundle.restrict(&basis)?))
        };
        if same_scale(x.scale, scale) {
            return restrict(scale);
        }
        // Also here: the canonical scale of a level need not fit a base step that is shorter than it.
        x.params.check_scale(scale, level)?;
        let above = Level(level.0 + 1);
        let factor = (scale * x.params.step_product(above) / x.scale).round();
        if 0.5 / factor > factor_tolerance(scale) || factor > 2f64.powi(100) {
            let (below, rescaled) = self.rescaled(x, x.level, x.scale)?;
            if !same_scale(rescaled, x.params.scale(below)) {
                return restrict(x.scale);
            }
            let x = self.rescale(x)?;
            return if below == level { Ok(x) } else { self.lower(&x, level, scale) };
        }
        let division = x.params.chain().rescale_division(above)?;
        let upper = x.params.chain().basis(above);
        self.spend(x, || Ok(x.params.rescale_cost(above, x.polys_per_bundle())))?;
        let lowered = x.try_map(level, scale, |bundle| {
            let mut bundle = bundle.restrict(&upper)?;
            bundle.mul_integer_assign(factor as i128);
            Ok(bundle.divide(&division)?)
        })?;
        let error = entry_error(&lowered, lowered.params.noise_model().rounding());
        Ok(lowered.estimated(|own| own.with_error(error)))
    }

    /// The same array at a lower level, with that level's canonical scale where `x` has its own level's.
    ///
    /// # Errors
    /// [`CkksError::LevelUp`]; [`CkksError::ScaleOutOfRange`] where the scale does not fit the modulus there.
    pub fn drop_to_level(&self, x: &Ciphertext, level: Level) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if level > x.level {
            return Err(CkksError::LevelUp { from: x.level.0, to: level.0 });
        }
        self.at_level(x, level).map(Cow::into_owned)
    }

    /// `x` at a level not above its own, with that level's canonical scale where it has its own level's.
    pub(crate) fn at_level<'c>(&self, x: &'c Ciphertext, level: Level) -> Result<Cow<'c, Ciphertext>, CkksError> {
        if level == x.level {
            return Ok(Cow::Borrowed(x));
        }
        let target = if same_scale(x.scale, x.params.scale(x.level)) { x.params.scale(level) } else { x.scale };
        self.lower(x, level, target).map(Cow::Owned)
    }

    /// `x + y`.
    ///
    /// Padding is zero where that of both is.
    ///
    /// # Errors
    /// Shape, encoding, layout, secret and scale errors.
    pub fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check_pair(x, y, "addition")?;
        let padding = x.padding().max(y.padding());
        let (left, right) = self.align(x, y)?;
        let sum = combined(left, &right, Bundle::sum, Bundle::add_assign)?;
        self.spend_pass(&sum)?;
        Ok(entrywise(joined(sum, &right, Estimate::plus), (x, y), padding))
    }

    /// `x - y`.
    ///
    /// # Errors
    /// As [`Evaluator::add`].
    pub fn sub(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check_pair(x, y, "subtraction")?;
        let padding = x.padding().max(y.padding());
        let (left, right) = self.align(x, y)?;
        let difference = combined(left, &right, Bundle::difference, Bundle::sub_assign)?;
        self.spend_pass(&difference)?;
        Ok(entrywise(joined(difference, &right, Estimate::plus), (x, y), padding))
    }

    /// `x <- x + y`: in `x`'s memory where both have one level and one scale. On an error `x` is as it was.
    ///
    /// # Errors
    /// As [`Evaluator::add`].
    pub fn add_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<(), CkksError> {
        self.check_pair(x, y, "addition")?;
        if x.level == y.level && same_scale(x.scale, y.scale) {
            return self.combine_in_place(x, y, Bundle::add_assign);
        }
        *x = self.add(x, y)?;
        Ok(())
    }

    /// `x <- x - y`: in `x`'s memory where both have one level and one scale. On an error `x` is as it was.
    ///
    /// # Errors
    /// As [`Evaluator::add`].
    pub fn sub_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<(), CkksError> {
        self.check_pair(x, y, "subtraction")?;
        if x.level == y.level && same_scale(x.scale, y.scale) {
            return self.combine_in_place(x, y, Bundle::sub_assign);
        }
        *x = self.sub(x, y)?;
        Ok(())
    }

    fn combine_in_place(&self, x: &mut Ciphertext, y: &Ciphertext, in_place: CombineInPlace) -> Result<(), CkksError> {
        self.spend_pass(x)?;
        x.bundles.iter_mut().zip(&y.bundles).try_for_each(|(x, y)| in_place(x, y))?;
        if let Some(symbol) = &mut x.symbol {
            symbol.estimate = symbol.estimate.zip(y.estimate()).map(|(own, other)| own.plus(other));
        }
        x.layout.complex |= y.is_complex();
        x.layout = x.layout.with_padding(x.padding().max(y.padding()));
        Ok(())
    }

    /// `out <- x + y`: in `out`'s memory where it is as large as the sum and the operands have one level and one scale. What `out` held before is lost; on an
    /// error it is as it was.
    ///
    /// # Errors
    /// As [`Evaluator::add`].
    pub fn add_into(&self, out: &mut Ciphertext, x: &Ciphertext, y: &Ciphertext) -> Result<(), CkksError> {
        self.check_pair(x, y, "addition")?;
        if !fits(out, x) || x.level != y.level || !same_scale(x.scale, y.scale) {
            *out = self.add(x, y)?;
            return Ok(());
        }
        let padding = x.padding().max(y.padding());
        for ((out, x), y) in out.bundles.iter_mut().zip(&x.bundles).zip(&y.bundles) {
            out.assign_sum(x, y)?;
        }
        let bundles = std::mem::take(&mut out.bundles);
        *out = entrywise(x.with(bundles, x.level, x.scale), (x, y), padding);
        Ok(())
    }

    /// `-x`.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`].
    pub fn negate(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let mut x = x.clone();
        x.bundles.iter_mut().for_each(Bundle::negate_assign);
        self.spend_pass(&x)?;
        Ok(x)
    }

    /// Encodes an array, once for many operations; see [`Plaintext::encode`].
    ///
    /// # Errors
    /// As [`Plaintext::encode`].
    pub fn encode<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        encoding: Encoding,
        level: Level,
        scale: f64,
    ) -> Result<Plaintext, CkksError> {
        Plaintext::encode(&self.params, values, shape, encoding, level, scale)
    }

    /// `x + values`, an array of `x`'s shape. Nothing is added to the padding.
    ///
    /// # Errors
    /// Shape errors; [`CkksError::NotFinite`], [`CkksError::ValueTooLarge`].
    pub fn add_plain<'v>(&self, x: &Ciphertext, values: impl Into<ValuesRef<'v>>) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        self.spend_encoding(x, x.layout.polynomials())?;
        self.add_encoded(x, &Plaintext::encode_for(x, values, x.level, x.scale)?)
    }

    /// `x + plaintext`, where the two have one scale. Nothing is added to the padding.
    ///
    /// # Errors
    /// [`CkksError::ScaleMismatch`]; [`CkksError::OutOfRange`] for a plaintext of a lower level; shape and encoding errors.
    pub fn add_encoded(&self, x: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let messages = plaintext.operand(x, "a sum with a plaintext")?;
        if !same_scale(x.scale, plaintext.scale()) {
            return Err(CkksError::ScaleMismatch { left: x.scale.log2(), right: plaintext.scale().log2() });
        }
        let mut sum = x.clone();
        sum.layout.complex |= plaintext.is_complex();
        for (index, bundle) in sum.bundles.iter_mut().enumerate() {
            for body in 0..x.layout.bodies {
                let message = x.layout.polynomial_at(index, body).and_then(|polynomial| messages.get(polynomial));
                message.map_or(Ok(()), |message| bundle.add_message(body, message))?;
            }
        }
        self.spend_pass(&sum)?;
        let rounding = entry_error(&sum, 1.0 / 12.0);
        Ok(sum.estimated(|own| own.plus(Estimate { magnitude: plaintext.largest(), error: rounding })))
    }

    /// The scale at which to encode a factor for `x`, so that the product, rescaled, has the canonical scale of the level below.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::OutOfRange`] where that scale is below the square root of the step: the factor
    /// itself would be rounded away, at scale 1 all of a fraction.
    pub fn factor_scale(&self, x: &Ciphertext) -> Result<f64, CkksError> {
        self.factor_scale_for(x, "a product with a plaintext")
    }

    pub(crate) fn factor_scale_for(&self, x: &Ciphertext, operation: &'static str) -> Result<f64, CkksError> {
        let below = x.level.0.checked_sub(1).ok_or(CkksError::LevelTooLow { operation, needed: 1, level: 0 })?;
        let step = x.params.step_product(x.level);
        let scale = x.params.scale(Level(below)) * step / x.scale;
        if scale >= step.sqrt() {
            return Ok(scale);
        }
        let remedy = format!("at scale 2^{:.1} the ciphertext leaves the factor too few bits; rescale it first", x.scale.log2());
        Err(CkksError::OutOfRange { what: "the scale left for the factor", value: format!("2^{:.1}", scale.log2()), remedy })
    }

    fn product_scale(&self, x: &Ciphertext, factor: f64) -> Result<f64, CkksError> {
        let scale = x.scale * factor;
        x.params.check_scale(scale, x.level)?;
        Ok(scale)
    }

    /// `x * values`, element by element; not yet rescaled. The padding is multiplied by zero.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless slots; [`CkksError::SharedMask`] where bodies under one mask would be multiplied by different numbers;
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::OutOfRange`] where `x`'s scale leaves the
    /// factor no bits; shape and value errors.
    pub fn multiply_plain<'v>(&self, x: &Ciphertext, values: impl Into<ValuesRef<'v>>) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, ELEMENT_WISE)?;
        let factor = self.factor_scale_for(x, ELEMENT_WISE)?;
        self.spend_encoding(x, x.layout.polynomials())?;
        self.multiply_encoded(x, &Plaintext::encode_for(x, values, x.level, factor)?)
    }

    /// `x * plaintext`, element by element; not yet rescaled. A plaintext at [`Evaluator::factor_scale`] leads to canonical scales. The padding is multiplied by
    /// zero.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless slots; [`CkksError::SharedMask`] where bodies under one mask would be multiplied by different numbers; [`CkksError::ScaleOutOfRange`] where the modulus has no room for the product;
    /// [`CkksError::OutOfRange`] for a plaintext of a lower level; shape errors.
    pub fn multiply_encoded(&self, x: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, ELEMENT_WISE)?;
        let messages = plaintext.operand(x, ELEMENT_WISE)?;
        let scale = self.product_scale(x, plaintext.scale())?;
        let factors = common_factors(&x.layout, &messages)?;
        let mut product = x.clone();
        product.layout.complex |= plaintext.is_complex();
        product.scale = scale;
        product.bundles.iter_mut().zip(factors).try_for_each(|(bundle, factor)| bundle.mul_poly_assign(factor))?;
        self.spend(&product, || Ok(x.params.rows_cost(x.polys_per_bundle() * x.params.chain().basis(x.level).len())))?;
        // The plaintext's coefficients are rounded to integers at its scale.
        let rounding = (x.params.degree() as f64 / 12.0).sqrt() / plaintext.scale();
        let product = product.estimated(|own| own.multiply(Estimate { magnitude: plaintext.largest(), error: rounding }));
        Ok(product.padded(Padding::Zero))
    }

    /// `x * factor` for a real number; not yet rescaled. An integer costs no level: the result keeps `x`'s scale.
    ///
    /// # Errors
    /// [`CkksError::NotFinite`], [`CkksError::ValueTooLarge`]; [`CkksError::LevelTooLow`] for a fraction at level 0.
    pub fn multiply_scalar(&self, x: &Ciphertext, factor: f64) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if !factor.is_finite() {
            return Err(CkksError::NotFinite { index: 0, value: factor });
        }
        let whole = factor.fract() == 0.0;
        let factor_scale = if whole { 1.0 } else { self.factor_scale_for(x, "a product with a fraction")? };
        let scale = if whole { x.scale } else { self.product_scale(x, factor_scale)? };
        check_room(&x.params, factor.abs(), scale, x.level)?;
        let integer = (factor * factor_scale).round() as i128;
        let mut product = x.clone();
        product.scale = scale;
        product.bundles.iter_mut().for_each(|bundle| bundle.mul_integer_assign(integer));
        self.spend_pass(&product)?;
        let rounding = if whole { 0.0 } else { 0.5 / factor_scale };
        Ok(product.estimated(|own| own.multiply(Estimate { magnitude: factor.abs(), error: rounding })))
    }

    fn multiply_operands<'c>(
        &self,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>, f64), CkksError> {
        self.check_pair(x, y, PRODUCT)?;
        check_slots(x, PRODUCT)?;
        x.check_main(PRODUCT)?;
        let level = x.level.min(y.level);
        let (x, y) = (self.at_level(x, level)?, self.at_level(y, level)?);
        let scale = x.scale * y.scale;
        x.params.check_scale(scale, level)?;
        Ok((x, y, scale))
    }

    fn finish_product(&self, x: &Ciphertext, y: &Ciphertext, bundles: Vec<Bundle<Eval>>, level: Level, scale: f64) -> Ciphertext {
        let product = joined(x.with(bundles, level, scale), y, Estimate::multiply);
        // A product is zero where one of the factors is.
        entrywise(product, (x, y), x.padding().min(y.padding()))
    }

    /// `x`, the result of the switches of `operation` at `level` under `params` and of a division by `divisor`, with the error that these add.
    pub(crate) fn switched(
        &self,
        params: &Params,
        x: Ciphertext,
        operation: Operation,
        level: Level,
        divisor: f64,
    ) -> Result<Ciphertext, CkksError> {
        if x.estimate().is_none() {
            return Ok(x);
        }
        let reach = match &self.keys {
            Keys::Recorded(recording) => recording.lock().unwrap_or_else(PoisonError::into_inner).reach(&self.params, params, operation),
            Keys::None | Keys::Held(_) => params.max_level(),
        };
        let variance =
            params.operation_variance_by(operation, level, reach.max(level))? / (divisor * divisor) + x.params.noise_model().rounding();
        let error = entry_error(&x, variance);
        Ok(x.estimated(|own| own.with_error(error)))
    }

    /// `x * y`, element by element, relinearised, not yet rescaled.
    ///
    /// # Errors
    /// [`CkksError::NoKeys`], [`CkksError::NoRelinearisationKey`]; [`CkksError::SecretWithoutKeys`] for several bodies under one mask; shape, encoding,
    /// layout, level, scale and secret errors.
    pub fn multiply(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        x.check_main(PRODUCT)?;
        let keys = self.keys_for(&x.params, x, PRODUCT, Operation::Multiply, x.level.min(y.level))?;
        let (x, y, scale) = self.multiply_operands(x, y)?;
        let products = |keys: &Found<'_>| x.bundles.iter().zip(&y.bundles).map(|(a, b)| keys.relinearise(&a.tensor(b)?)).collect();
        let bundles = keys.as_ref().map_or_else(|| Ok(Vec::new()), products)?;
        self.spend(&x, || Ok(x.params.tensor_cost(x.level)))?;
        self.switched(&x.params, self.finish_product(&x, &y, bundles, x.level, scale), Operation::Multiply, x.level, 1.0)
    }

    /// `x * y`, relinearised and rescaled by one division: faster and less noisy than the two in turn.
    ///
    /// # Errors
    /// As [`Evaluator::multiply`] and [`Evaluator::rescale`].
    pub fn multiply_rescale(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        x.check_main(PRODUCT)?;
        let keys = self.keys_for(&x.params, x, PRODUCT, Operation::Multiply, x.level.min(y.level))?;
        let (x, y, scale) = self.multiply_operands(x, y)?;
        let (level, rescaled) = self.rescaled(&x, x.level, scale)?;
        let products = |keys: &Found<'_>| x.bundles.iter().zip(&y.bundles).map(|(a, b)| keys.relinearise_rescale(&a.tensor(b)?)).collect();
        let bundles = keys.as_ref().map_or_else(|| Ok(Vec::new()), products)?;
        self.spend(&x, || Ok(x.params.tensor_cost(x.level)))?;
        let product = self.finish_product(&x, &y, bundles, level, rescaled);
        self.switched(&x.params, product, Operation::Multiply, x.level, x.params.step_product(x.level))
    }

    /// `x * x`, relinearised, not yet rescaled.
    ///
    /// # Errors
    /// As [`Evaluator::multiply`].
    pub fn square(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.multiply(x, x)
    }

    /// Level and scale after a rescale from `level`; refused where nothing would be left of the message.
    pub(crate) fn rescaled(&self, x: &Ciphertext, level: Level, scale: f64) -> Result<(Level, f64), CkksError> {
        let below = Level(level.0.checked_sub(1).ok_or(CkksError::LevelTooLow { operation: "rescaling", needed: 1, level: 0 })?);
        let rescaled = scale / x.params.step_product(level);
        let canonical = x.params.scale(below);
        x.params.check_scale(rescaled, below)?;
        // Rounding alone would exceed a message of magnitude 1.
        if rescaled * rescaled < x.params.noise_model().rounding() {
            return Err(CkksError::ScaleOutOfRange { log2_scale: rescaled.log2(), level: below.0, room: x.params.log2_q(below) });
        }
        Ok((below, if same_scale(rescaled, canonical) { canonical } else { rescaled }))
    }

    /// Divides by the last modulus step: one level and one step of scale less.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::ScaleOutOfRange`] where nothing would be left of the message.
    pub fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let (level, scale) = self.rescaled(x, x.level, x.scale)?;
        let division = x.params.chain().rescale_division(x.level)?;
        self.spend(x, || Ok(x.params.rescale_cost(x.level, x.polys_per_bundle())))?;
        let rescaled = x.try_map(level, scale, |bundle| Ok(bundle.divide(&division)?))?;
        let error = entry_error(&rescaled, rescaled.params.noise_model().rounding());
        Ok(rescaled.estimated(|own| own.with_error(error)))
    }
}
