//! The evaluator: its keys, its receiver of progress, and the recording of a dry run. Its operations are in
//! the other files of this folder.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_lattice::{LatticeError, Level};

use super::kept::{Keepable, KeptPlans};
use super::recording::{NeededPlaintexts, Recording};
use crate::arrays::memory::Footprint;
use crate::arrays::{Ciphertext, Encoding, Estimate, Padding};
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::keys::{Cost, EvaluationKeys, Found, KeyNeeds, Operation};
use crate::parameters::{DEFAULT_PLAINTEXT_CACHE_BYTES, Params};
use crate::progress::{Event, Progress, Steps};

/// Computes on ciphertexts of one parameter set; holds evaluation keys, never a secret.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let keys = owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1], KeyLevel::Top))?;
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
    /// The receiver of progress reports, which can cancel operations.
    progress: Progress,
    /// Bootstraps operands that lack the levels of an operation, if set.
    automatic: Option<Arc<dyn AutomaticBootstraps>>,
    /// Plans of linear maps and conversions that operations made.
    kept: KeptPlans,
}

/// The levels that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LevelsNeeded {
    /// The rescaled result is this many levels below the operand.
    Depth(usize),
    /// The operand must be at least at this level.
    Level(Level),
}

/// Automatic bootstrapping of arrays that lack levels. The functions receive the evaluator with automatic
/// bootstrapping switched off.
pub(crate) trait AutomaticBootstraps: std::fmt::Debug + Send + Sync {
    /// The same numbers at a higher level; `None` if the array has the levels or cannot be bootstrapped.
    fn bootstrapped(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        headroom: LevelsNeeded,
    ) -> Result<Option<Ciphertext>, CkksError>;

    /// The product of a plain matrix with `x`, not rescaled; `None` if `x` has the levels, or must be
    /// bootstrapped before the product.
    fn product(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        weights: Matrix<'_>,
    ) -> Result<Option<Ciphertext>, CkksError>;

    /// Describes how that product is computed.
    fn explained(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        weights: Matrix<'_>,
    ) -> Result<Option<String>, CkksError>;
}

/// The source of an evaluator's keys.
#[derive(Debug, Clone)]
enum Keys {
    /// The evaluator has no keys.
    None,
    /// A key set made by the owner.
    Held(Arc<EvaluationKeys>),
    /// The evaluator runs on symbols and needs no keys; it records the keys that it would use.
    Recorded(Arc<Mutex<Recording>>),
}

/// Marks `z`, which was computed from `x` and `y` entry by entry, as complex if an operand is, and sets its
/// padding.
pub(super) fn entrywise(
    mut z: Ciphertext,
    (x, y): (&Ciphertext, &Ciphertext),
    padding: Padding,
) -> Ciphertext {
    z.layout = z.layout.of_numbers(x.is_complex() || y.is_complex());
    z.padded(padding)
}

/// Refuses coefficient encoding, where the product of polynomials is not the product of entries.
pub(crate) fn check_slots(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    if x.encoding() == Encoding::Slots {
        return Ok(());
    }
    let (expected, got) = (Encoding::Slots.name().to_owned(), x.encoding().name().to_owned());
    Err(CkksError::Encoding { operation, expected, got })
}

/// The keys that an operation on an array needs, and how often it uses them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyQuery<'q> {
    /// The operation's name in errors.
    what: &'static str,
    operation: Operation,
    x: &'q Ciphertext,
    params: &'q Params,
    level: Level,
    period: usize,
    switches: usize,
    priced: bool,
}

impl<'q> KeyQuery<'q> {
    /// The keys of `operation` on `x` at its level and shape, with one switch for each bundle.
    pub(crate) fn new(what: &'static str, operation: Operation, x: &'q Ciphertext) -> Self {
        Self {
            what,
            operation,
            x,
            params: &x.params,
            level: x.level,
            period: x.params.slot_count(),
            switches: x.layout.bundles(),
            priced: true,
        }
    }

    /// The same query at the shape of `params`, for all of their slots.
    pub(crate) fn under(self, params: &'q Params) -> Self {
        Self { params, period: params.slot_count(), ..self }
    }

    /// The same query at another level.
    pub(crate) fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// The same query for slots that repeat with `period`.
    pub(crate) fn repeating(self, period: usize) -> Self {
        Self { period, ..self }
    }

    /// The same query with this number of switches of bundles.
    pub(crate) fn switching(self, switches: usize) -> Self {
        Self { switches, ..self }
    }

    /// The same query, of which a dry run records the need and the use; the caller records the cost.
    pub(crate) fn without_cost(self) -> Self {
        Self { priced: false, ..self }
    }
}

impl Evaluator {
    fn of(params: Params, keys: Keys) -> Self {
        Self { params, keys, progress: Progress::none(), automatic: None, kept: KeptPlans::default() }
    }

    /// An evaluator without keys, for operations that need none. Products of ciphertexts and rotations need
    /// keys.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self::of(params.clone(), Keys::None)
    }

    /// An evaluator with `keys`.
    #[must_use]
    pub fn with_keys(keys: impl Into<Arc<EvaluationKeys>>) -> Self {
        let keys = keys.into();
        Self::of(keys.params().clone(), Keys::Held(keys))
    }

    /// An evaluator for dry runs on symbols ([`Ciphertext::symbol`]). It checks shapes, levels and scales
    /// like any evaluator, without data and keys. [`Evaluator::needs`] returns the keys that the computation
    /// would use. Clones share their recording.
    #[must_use]
    pub fn recording(params: &Params) -> Self {
        Self::of(params.clone(), Keys::Recorded(Arc::default()))
    }

    /// [`Evaluator::recording`] for a computation whose keys will be made for `needs`. Costs and error bounds
    /// depend on the keys: a key for lower levels leaves more primes free as special primes.
    /// [`Evaluator::recording`] assumes keys for all levels.
    #[must_use]
    pub fn recording_for(params: &Params, needs: KeyNeeds) -> Self {
        let recording = Arc::new(Mutex::new(Recording::made_for(needs)));
        Self::of(params.clone(), Keys::Recorded(recording))
    }

    /// The recorded operations that need keys, each with the highest level at which it is used; empty if the
    /// evaluator does not record.
    #[must_use]
    pub fn needs(&self) -> KeyNeeds {
        self.recorded().needs().clone()
    }

    /// The recording of a recording evaluator; empty for other evaluators.
    #[must_use]
    pub fn recorded(&self) -> Recording {
        match &self.keys {
            Keys::Recorded(recording) => recording.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Keys::None | Keys::Held(_) => Recording::default(),
        }
    }

    /// The predicted cost of everything that a dry run has recorded, for one thread.
    pub(crate) fn predicted_cost(&self) -> Cost {
        match &self.keys {
            Keys::Recorded(recording) => recording.lock().unwrap_or_else(PoisonError::into_inner).cost(),
            Keys::None | Keys::Held(_) => Cost::default(),
        }
    }

    /// The same evaluator, which shares the plans that it keeps with others on the same device.
    #[must_use]
    pub fn keeping(self, plans: &KeptPlans) -> Self {
        Self { kept: plans.clone(), ..self }
    }

    /// The plans that this evaluator keeps, with the plaintexts that they encoded.
    #[must_use]
    pub fn kept(&self) -> &KeptPlans {
        &self.kept
    }

    /// The plan for a purpose, which `make` makes unless this evaluator keeps it. In a dry run, where plans
    /// have no plaintexts, the recording decides which ones would be kept.
    pub(crate) fn kept_plan<P: Keepable>(
        &self,
        x: &Ciphertext,
        purpose: &blake3::Hasher,
        make: impl FnOnce() -> Result<P, CkksError>,
    ) -> Result<Arc<P>, CkksError> {
        if x.is_symbol() {
            return self.kept.plan(purpose, DEFAULT_PLAINTEXT_CACHE_BYTES, make, |_| {});
        }
        self.kept.plan(purpose, self.params.runtime().plaintext_budget(), make, P::pass)
    }

    /// Records the bootstraps of so many polynomials, in a dry run.
    pub(crate) fn record_bootstraps(&self, polynomials: usize) {
        if let Keys::Recorded(recording) = &self.keys {
            recording.lock().unwrap_or_else(PoisonError::into_inner).add_bootstraps(polynomials);
        }
    }

    /// Records that plaintexts for `x` are needed.
    pub(crate) fn record_plaintexts(
        &self,
        x: &Ciphertext,
        needed: impl FnOnce() -> Result<NeededPlaintexts, CkksError>,
    ) -> Result<(), CkksError> {
        if let Keys::Recorded(recording) = &self.keys
            && x.is_symbol()
        {
            let (needed, budget) = (needed()?, self.params.runtime().plaintext_budget());
            recording.lock().unwrap_or_else(PoisonError::into_inner).add_plaintexts(needed, budget);
        }
        Ok(())
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// A symbol of a fresh public-key encryption of numbers up to `bound`, for this dry run. All symbols
    /// computed from it have bounds on numbers and errors ([`Ciphertext::estimate`]).
    ///
    /// # Errors
    /// [`CkksError::Symbol`] for an evaluator that does not record; [`CkksError::OutOfRange`] for a bound
    /// that is not a positive number.
    pub fn symbol(
        &self,
        shape: &[usize],
        encoding: Encoding,
        level: Level,
        bound: f64,
    ) -> Result<Ciphertext, CkksError> {
        self.params.check_level(level)?;
        let symbol =
            Ciphertext::symbol(&self.params, shape, encoding, false, level, self.params.scale(level))?;
        self.take_symbol(symbol, Some(bound))
    }

    /// The keys of an evaluator that computes on data; `None` without keys and on dry runs.
    pub(crate) fn held(&self) -> Option<&EvaluationKeys> {
        match &self.keys {
            Keys::Held(keys) => Some(keys),
            Keys::None | Keys::Recorded(_) => None,
        }
    }

    /// A recording evaluator that bootstraps automatically in the same cases as this one.
    pub(crate) fn recording_alike(&self) -> Self {
        Self { automatic: self.automatic.clone(), ..Self::recording(&self.params) }
    }

    /// Whether the evaluator has all these keys, or records and so needs no keys.
    pub(crate) fn holds_all(&self, needs: &KeyNeeds) -> Result<bool, CkksError> {
        Ok(match &self.keys {
            Keys::None => needs.is_empty(),
            Keys::Recorded(_) => true,
            Keys::Held(keys) => {
                match keys.check_needs(&self.params, "an operation", needs, self.params.slot_count()) {
                    Err(CkksError::MissingKeys { .. }) => false,
                    other => other.map(|()| true)?,
                }
            }
        })
    }

    /// Whether the evaluator has the keys of `operation` on `x`.
    pub(crate) fn holds(&self, x: &Ciphertext, operation: Operation) -> bool {
        self.held()
            .is_some_and(|keys| keys.find(&x.params, operation, x.level, x.params.slot_count()).is_ok())
    }

    /// Adds a symbol to this dry run, as a fresh public-key encryption. The dry run then counts the memory of
    /// this array and of every array computed from it. With `bound`, the largest magnitude of its numbers,
    /// all these arrays have bounds on numbers and errors.
    ///
    /// # Errors
    /// [`CkksError::Symbol`] for an evaluator that does not record; [`CkksError::Unsuitable`] for a
    /// ciphertext with data; [`CkksError::OutOfRange`] for a bound that is not a positive number;
    /// [`CkksError::TooLarge`] if numbers of this bound do not fit the symbol's level and scale.
    pub fn take_symbol(&self, symbol: Ciphertext, bound: Option<f64>) -> Result<Ciphertext, CkksError> {
        let variance = symbol.params.noise_model().fresh_public();
        let symbol = self.take_encrypted(symbol, bound, variance)?;
        symbol.check_bound()?;
        Ok(symbol)
    }

    /// Adds a symbol from an earlier dry run to this one, with the given estimate.
    pub fn take_symbol_of(&self, symbol: Ciphertext, estimate: Estimate) -> Result<Ciphertext, CkksError> {
        Ok(self.take_symbol(symbol, None)?.estimated(|_| estimate))
    }

    /// [`Evaluator::take_symbol`] for an encryption whose error has variance `variance` in a coefficient.
    pub(crate) fn take_encrypted(
        &self,
        mut symbol: Ciphertext,
        bound: Option<f64>,
        variance: f64,
    ) -> Result<Ciphertext, CkksError> {
        let Keys::Recorded(recording) = &self.keys else {
            return Err(CkksError::Symbol { operation: "a computation on data" });
        };
        self.check(&symbol)?;
        if !symbol.is_symbol() {
            let reason =
                "the ciphertext has data: give a symbol of it, with its shape, encoding, level and scale"
                    .to_owned();
            return Err(CkksError::Unsuitable { operation: "a dry run", reason });
        }
        if let Some(bound) = bound.filter(|bound| !(bound.is_finite() && *bound > 0.0)) {
            let remedy = "give the largest magnitude of the numbers, above 0".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the bound on the numbers",
                value: bound.to_string(),
                remedy,
            });
        }
        let meter = recording.lock().unwrap_or_else(PoisonError::into_inner).meter().clone();
        symbol.footprint = Some(Footprint::new(&meter, symbol.predicted_bytes()));
        Ok(symbol.freshly(bound, variance, false))
    }

    /// Runs a named stage of a circuit. Reports the name ([`Event::Stage`]) before the stage runs; a dry run
    /// records the stage's cost under the name.
    ///
    /// # Errors
    /// [`CkksError::Cancelled`] if the receiver of progress cancels.
    pub fn stage<T>(&self, name: &str, run: impl FnOnce() -> Result<T, CkksError>) -> Result<T, CkksError> {
        self.progress.report(Event::Stage(name))?;
        self.enter_stage(name);
        let result = run();
        self.leave_stage();
        result
    }

    /// Opens a stage of a dry run, for callers that cannot run the stage as one function;
    /// [`Evaluator::leave_stage`] closes it. Does nothing on data.
    pub fn enter_stage(&self, name: &str) {
        if let Keys::Recorded(recording) = &self.keys {
            recording.lock().unwrap_or_else(PoisonError::into_inner).enter(name);
        }
    }

    /// Closes the stage of a dry run that was opened last.
    pub fn leave_stage(&self) {
        if let Keys::Recorded(recording) = &self.keys {
            recording.lock().unwrap_or_else(PoisonError::into_inner).leave();
        }
    }

    /// The names of the stages of a dry run that are open, with slashes between them.
    pub(crate) fn open_stage(&self) -> String {
        match &self.keys {
            Keys::Recorded(recording) => {
                recording.lock().unwrap_or_else(PoisonError::into_inner).open_stage()
            }
            Keys::None | Keys::Held(_) => String::new(),
        }
    }

    /// The same evaluator, which reports to `progress`: every operation, the steps of long operations, and
    /// the stages of circuits. A long operation of several ciphertexts counts them; a bootstrap counts
    /// stages, and matrix products count what their documentation says.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// Whether the evaluator has keys, or records the keys that operations would use.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        !matches!(self.keys, Keys::None)
    }

    /// The receiver of this evaluator's progress reports.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The same evaluator for a part of the operation `whole` ([`Steps::part`]).
    pub(crate) fn for_part(
        &self,
        whole: &Steps<'_>,
        place: impl Fn(usize, usize) -> (usize, usize) + Send + Sync + 'static,
    ) -> Self {
        self.clone().with_progress(whole.part(place))
    }

    /// [`Params::for_each`] of the bundles of an operation, each of which is a step.
    ///
    /// # Errors
    /// Those of `work`; [`CkksError::Cancelled`] if the receiver of progress cancels.
    pub(crate) fn for_each<B: Send, T: Send>(
        &self,
        bundles: impl IntoIterator<Item = B, IntoIter: ExactSizeIterator + Send>,
        work: impl Fn(B) -> Result<T, CkksError> + Sync,
    ) -> Result<Vec<T>, CkksError> {
        let bundles = bundles.into_iter();
        let steps = Mutex::new(self.progress.steps(bundles.len()));
        let begin = || steps.lock().unwrap_or_else(PoisonError::into_inner).begin();
        let results = self.params.for_each(bundles, |bundle| {
            begin()?;
            work(bundle)
        })?;
        steps.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
        Ok(results)
    }

    /// The same evaluator with automatic bootstrapping by `automatic`.
    pub(crate) fn bootstrapping_with(self, automatic: impl AutomaticBootstraps + 'static) -> Self {
        Self { automatic: Some(Arc::new(automatic)), ..self }
    }

    /// The automatic bootstrapping of this evaluator, if it is set.
    pub(crate) fn automatic(&self) -> Option<&dyn AutomaticBootstraps> {
        self.automatic.as_deref()
    }

    /// Whether this evaluator bootstraps automatically.
    #[must_use]
    pub fn bootstraps(&self) -> bool {
        self.automatic.is_some()
    }

    /// The same evaluator without automatic bootstrapping.
    #[must_use]
    pub fn without_bootstrapping(&self) -> Self {
        Self { automatic: None, ..self.clone() }
    }

    /// `x` at a level from which an operation that takes `levels` levels can start. An array at the levels of
    /// the bootstrap is lowered to the highest level of the application. If this evaluator bootstraps
    /// automatically ([`Evaluator::bootstrapping`]), an array without enough levels is bootstrapped. Call
    /// this once for an array that several operations use.
    pub fn with_levels<'x>(
        &self,
        x: &'x Ciphertext,
        levels: usize,
    ) -> Result<Cow<'x, Ciphertext>, CkksError> {
        self.check(x)?;
        self.with_levels_needed(x, LevelsNeeded::Depth(levels))
    }

    /// `x`, or the same numbers bootstrapped if the levels do not suffice, or lowered to the highest level of
    /// the application if a product would be at the levels of the bootstrap, whose steps do not keep the
    /// scale of products. Plans do not call this: their levels are fixed.
    pub(crate) fn with_levels_needed<'x>(
        &self,
        x: &'x Ciphertext,
        headroom: LevelsNeeded,
    ) -> Result<Cow<'x, Ciphertext>, CkksError> {
        self.with_levels_needed_by(x, || headroom)
    }

    /// [`Evaluator::with_levels_needed`] that computes the needed levels only if it uses them.
    pub(crate) fn with_levels_needed_by<'x>(
        &self,
        x: &'x Ciphertext,
        headroom: impl FnOnce() -> LevelsNeeded,
    ) -> Result<Cow<'x, Ciphertext>, CkksError> {
        if x.level > x.params.fresh_level() {
            return if matches!(headroom(), LevelsNeeded::Depth(1..)) {
                self.at_level(x, x.params.fresh_level())
            } else {
                Ok(Cow::Borrowed(x))
            };
        }
        let Some(automatic) = &self.automatic else { return Ok(Cow::Borrowed(x)) };
        Ok(automatic
            .bootstrapped(&self.without_bootstrapping(), x, headroom())?
            .map_or(Cow::Borrowed(x), Cow::Owned))
    }

    /// [`Evaluator::with_levels_needed`] for the factors of a product; an array times itself is bootstrapped
    /// once.
    pub(crate) fn factors_with_levels<'x>(
        &self,
        x: &'x Ciphertext,
        y: &'x Ciphertext,
    ) -> Result<(Cow<'x, Ciphertext>, Cow<'x, Ciphertext>), CkksError> {
        if x.level > y.level {
            let (y, x) = self.factors_with_levels(y, x)?;
            return Ok((x, y));
        }
        let fresh = self.with_levels_needed(x, LevelsNeeded::Depth(1))?;
        if std::ptr::eq(x, y) {
            return Ok((fresh.clone(), fresh));
        }
        // The product is at the level of the lower factor, so the other factor needs no bootstrap if the
        // lower one needs none.
        let other = if matches!(fresh, Cow::Borrowed(_)) && y.level <= y.params.fresh_level() {
            Cow::Borrowed(y)
        } else {
            self.with_levels_needed(y, LevelsNeeded::Depth(1))?
        };
        Ok((fresh, other))
    }

    /// Runs `run`; a dry run counts all that `run` records `count` times.
    pub(crate) fn repeated<T>(
        &self,
        count: usize,
        run: impl FnOnce() -> Result<T, CkksError>,
    ) -> Result<T, CkksError> {
        let Keys::Recorded(recording) = &self.keys else { return run() };
        let before = recording.lock().unwrap_or_else(PoisonError::into_inner).repeat(count);
        let result = run();
        recording.lock().unwrap_or_else(PoisonError::into_inner).end_repeat(before);
        result
    }

    /// Records the cost of an operation on each bundle of a symbol.
    pub(crate) fn record(
        &self,
        x: &Ciphertext,
        cost: impl FnOnce() -> Result<Cost, CkksError>,
    ) -> Result<(), CkksError> {
        self.record_once(x, || Ok(cost()?.times(x.layout.bundles() as f64)))
    }

    /// Records the cost of an operation on a whole symbol. Every operation calls this once, so this function
    /// also reports that the operation is at work.
    pub(crate) fn record_once(
        &self,
        x: &Ciphertext,
        cost: impl FnOnce() -> Result<Cost, CkksError>,
    ) -> Result<(), CkksError> {
        self.progress.report(Event::Working)?;
        if let Keys::Recorded(recording) = &self.keys
            && x.is_symbol()
        {
            let cost = cost()?;
            recording.lock().unwrap_or_else(PoisonError::into_inner).add_cost(cost);
        }
        Ok(())
    }

    /// [`Evaluator::record`] for one pass over every polynomial: a sum, or a product with an integer.
    pub(crate) fn record_pass(&self, x: &Ciphertext) -> Result<(), CkksError> {
        self.record(x, || {
            Ok(x.params.passes_cost(x.polys_per_bundle() * x.params.chain().basis(x.level).len()))
        })
    }

    /// Records the cost of encoding `polynomials` polynomials as operands for `x`.
    pub(crate) fn record_encoding(&self, x: &Ciphertext, polynomials: usize) -> Result<(), CkksError> {
        self.record(x, || {
            let cost = x.params.encoding_cost(x.params.chain().ring(), &x.params.chain().basis(x.level));
            Ok(cost.times(polynomials as f64 / x.layout.bundles() as f64))
        })
    }

    pub(crate) fn check(&self, x: &Ciphertext) -> Result<(), CkksError> {
        self.params.check_related(&x.params, "the ciphertext")?;
        let memory = |params: &Params| params.chain().ring().engine().memory_kind();
        match (memory(&x.params), memory(&self.params)) {
            (left, right) if left != right => Err(LatticeError::MemoryMismatch { left, right }.into()),
            _ => Ok(()),
        }
    }

    /// The keys that `query` asks for; `None` on a dry run, which records the operation.
    pub(crate) fn keys_of(&self, query: KeyQuery<'_>) -> Result<Option<Found<'_>>, CkksError> {
        let KeyQuery { x, params, operation, level, period, switches, .. } = query;
        self.check(x)?;
        match &self.keys {
            Keys::Held(keys) => {
                params.check_switching(operation.is_in_packing_ring())?;
                x.key_id.check_same(keys.id(), "the evaluation key")?;
                keys.find(params, operation, level, period).map(Some)
            }
            Keys::Recorded(recording) if x.is_symbol() => {
                params.check_switching(operation.is_in_packing_ring())?;
                // An operation whose cost cannot be computed is refused and not recorded.
                let cost = match query.priced {
                    true => params
                        .operation_cost_by(operation, level, self.key_level(params, operation, level))?
                        .times(switches as f64),
                    false => Cost::default(),
                };
                // The recording is consistent even if a thread panicked while it held the lock.
                let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
                recording.write(&self.params, params, operation, level, (switches, cost))?;
                Ok(None)
            }
            Keys::None | Keys::Recorded(_) => Err(CkksError::NoKeys { operation: query.what }),
        }
    }

    pub(crate) fn check_pair(
        &self,
        x: &Ciphertext,
        y: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        self.check(x)?;
        self.check(y)?;
        if x.is_symbol() != y.is_symbol() {
            return Err(CkksError::Symbol { operation });
        }
        x.key_id.check_same(y.key_id, "the right operand")?;
        if x.secret != y.secret {
            return Err(CkksError::different_secrets(operation, x.secret, y.secret));
        }
        if x.params != y.params {
            let (left, right) = (x.params.shape(), y.params.shape());
            let reason = format!(
                "the operands have degree and rank {left} and {right}: bring them to one with to_rank, to_rlwe or to_mlwe"
            );
            return Err(CkksError::Unsuitable { operation, reason });
        }
        if x.encoding() != y.encoding() {
            let (expected, got) = (x.encoding().name().to_owned(), y.encoding().name().to_owned());
            return Err(CkksError::Encoding { operation, expected, got });
        }
        if x.shape != y.shape {
            let remedy = "ciphertexts combine at equal shapes".to_owned();
            return Err(CkksError::Shape {
                operation,
                left: x.shape.clone(),
                right: y.shape.clone(),
                remedy,
            });
        }
        if !x.layout.same_places(&y.layout) {
            let remedy = if x.layout.bodies() != y.layout.bodies() {
                "encrypt both in one way, or take the bodies apart and put them under one mask in one way"
            } else {
                "encrypt both in one way, one with the capacity, the lanes and the copies that the other's layout shows"
            };
            return Err(CkksError::different_layouts(operation, x.layout, y.layout, remedy));
        }
        Ok(())
    }

    /// The highest level, at least `level`, that the keys of `operation` at the shape of `params` serve: the
    /// top level, unless this is a dry run for keys of given needs ([`Evaluator::recording_for`]).
    pub(crate) fn key_level(&self, params: &Params, operation: Operation, level: Level) -> Level {
        self.known_key_level(params, operation).unwrap_or(params.max_level()).max(level)
    }

    fn known_key_level(&self, params: &Params, operation: Operation) -> Option<Level> {
        match &self.keys {
            Keys::Recorded(recording) => recording.lock().unwrap_or_else(PoisonError::into_inner).key_level(
                &self.params,
                params,
                operation,
            ),
            Keys::None | Keys::Held(_) => None,
        }
    }

    /// The variance of the switches of `operation` at `level` under `params` on symbols. If the level of the
    /// keys is unknown, the larger of the variances of keys for this level and of keys for all levels.
    pub(crate) fn variance_on_symbols(
        &self,
        params: &Params,
        operation: Operation,
        level: Level,
    ) -> Result<f64, CkksError> {
        let by = |key_level: Level| params.operation_variance_by(operation, level, key_level.max(level));
        match self.known_key_level(params, operation) {
            Some(key_level) => by(key_level),
            None => Ok(by(level)?.max(by(params.max_level())?)),
        }
    }

    /// Adds to the estimate of `x` the error of the switches of `operation` at `level` under `params`,
    /// followed by a division by `divisor`.
    pub(crate) fn switched(
        &self,
        params: &Params,
        x: Ciphertext,
        operation: Operation,
        level: Level,
        divisor: f64,
    ) -> Result<Ciphertext, CkksError> {
        if !x.estimate.has_errors() {
            return Ok(x);
        }
        let switch = match &self.keys {
            Keys::Held(keys) if !x.is_symbol() => {
                keys.variance(params, operation, level, x.layout.period())?
            }
            _ => self.variance_on_symbols(params, operation, level)?,
        };
        let variance = switch / (divisor * divisor) + x.params.noise_model().rounding();
        let error = x.slot_error(variance);
        Ok(x.estimated(|own| own.with_error(error)))
    }
}
