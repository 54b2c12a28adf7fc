//! Automatic bootstraps: an evaluator bootstraps operands without enough levels.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::bootstrap::{BootstrapOptions, BootstrapPlan, Factors, stages};
use super::mambo::MamboPlan;
use super::matrix_plan::{MatrixMethod, MatrixOptions};
use crate::arrays::{Ciphertext, Encoding, Order, SecretName};
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::evaluator::{AutomaticBootstraps, LevelsNeeded};
use crate::evaluation::kept::Keepable;
use crate::parameters::{Params, StageLevels};

/// Plans by the slots of an array, whether its numbers are real, and whether a product is inside; `None` if
/// there is no plan.
type KnownPlans = BTreeMap<(usize, bool, bool), Option<Arc<BootstrapPlan>>>;

/// The plans of automatic bootstraps that were made so far. Evaluators that share them plan each bootstrap
/// once, whether they record or compute.
#[derive(Debug, Clone)]
pub struct AutomaticPlans {
    params: Params,
    known: Arc<Mutex<KnownPlans>>,
    /// Factors of transforms, which plans for other parameters of the same degree have, too.
    factors: Factors,
}

/// A plan keeps its plaintexts beside the byte budget of evaluators: who bootstraps once does it again, and
/// to encode takes as long as to bootstrap.
impl Keepable for BootstrapPlan {
    fn kept_bytes(&self) -> usize {
        0
    }

    fn pass(&mut self) {}
}

/// A plan for the slots of `x`, which `evaluator` keeps.
///
/// # Errors
/// Those of [`BootstrapPlan::with_options`].
pub(crate) fn kept_bootstrap(
    evaluator: &Evaluator,
    x: &Ciphertext,
    real: bool,
) -> Result<Arc<BootstrapPlan>, CkksError> {
    let (params, slots) = (x.params(), x.layout().period());
    let mut purpose = blake3::Hasher::new_derive_key("clathrate plan of a bootstrap");
    purpose.update(params.digest());
    purpose.update(format!("{slots} {real} {} {}", params.degree(), params.rank()).as_bytes());
    evaluator.kept_plan(x, &purpose, || {
        let options = BootstrapOptions { slots: Some(slots), real, ..BootstrapOptions::default() };
        BootstrapPlan::with_options(params, options)
    })
}

impl AutomaticPlans {
    /// An empty set of plans for evaluators with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), known: Arc::default(), factors: Factors::default() }
    }

    /// An empty set of plans for evaluators with other parameters, which shares factors of transforms with
    /// this one.
    pub(crate) fn of_others(&self, params: &Params) -> Self {
        Self { factors: self.factors.clone(), ..Self::new(params) }
    }

    /// The same plans, without factors that none of them has.
    pub(crate) fn alone(&self) -> Self {
        Self { factors: Factors::default(), ..self.clone() }
    }

    fn known(&self, (slots, real, product): (usize, bool, bool)) -> Option<Arc<BootstrapPlan>> {
        let mut plans = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            // A bootstrap with a product inside has one round.
            let (transform_slots, rounds) = if product { (Some(slots), Some(1)) } else { (None, None) };
            let options = BootstrapOptions {
                slots: Some(slots),
                transform_slots,
                real,
                product,
                rounds,
                ..BootstrapOptions::default()
            };
            BootstrapPlan::with_factors(&self.params, options, &self.factors).ok().map(Arc::new)
        };
        plans.entry((slots, real, product)).or_insert_with(make).clone()
    }

    /// `x` bootstrapped by a plan for its slots; as it is where it is not below the level that this leads to.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for an array that cannot be bootstrapped; missing keys; those of
    /// [`BootstrapPlan::run`].
    pub(crate) fn bootstrapped(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Ciphertext, CkksError> {
        let levels = StageLevels::new(&self.params)?;
        let automatic = Automatic { levels, least: levels.start, plans: self.clone() };
        let refuse = || CkksError::Unsuitable {
            operation: "a bootstrap",
            reason:
                "an array is bootstrapped in slots, under the main secret, from a level of the application"
                    .to_owned(),
        };
        if !automatic.is_able(evaluator, x) {
            return Err(refuse());
        }
        let plan = self.plan_of(x).ok_or_else(refuse)?;
        if x.level() >= plan.output_level() {
            return Ok(x.clone());
        }
        let x = automatic.at_canonical_scale(evaluator, x)?.ok_or_else(refuse)?;
        evaluator.stage(stages::AUTOMATIC, || plan.run(evaluator, &x))
    }

    fn plan_of(&self, x: &Ciphertext) -> Option<Arc<BootstrapPlan>> {
        // Two polynomials of real numbers share a bootstrap of complex numbers.
        let (slots, real) = (x.layout().period(), !x.is_complex() && x.layout().bundles() == 1);
        self.known((slots, real, false))
    }
}

/// Bootstraps operands whose results would be below the level `least`.
#[derive(Debug)]
struct Automatic {
    levels: StageLevels,
    least: Level,
    plans: AutomaticPlans,
}

impl Evaluator {
    /// The same evaluator with automatic bootstraps: of operands of products, polynomials and linear
    /// transforms whose rescaled results would be below `lowest`, by default the lowest level of the
    /// application. Products of plain matrices with rows that fill polynomials are computed inside the
    /// bootstrap ([`multiply_inside_bootstrap`](crate::circuits::matrix::multiply_inside_bootstrap)). An
    /// array is not bootstrapped without the keys, under another secret or rank, in coefficients, or at a
    /// scale that is not canonical and cannot be made so.
    ///
    /// A higher `lowest` bootstraps earlier, which saves time for an array that is used several times
    /// afterwards: an operand is bootstrapped at each use at too low a level. Compare the costs by dry runs
    /// ([`Evaluator::recorded`]). Numbers must be at most 1 in magnitude wherever a bootstrap is possible.
    ///
    /// # Errors
    /// [`CkksError::Unsupported`] for parameters that cannot bootstrap; [`CkksError::OutOfRange`] for a
    /// level outside of the application.
    pub fn bootstrapping(self, lowest: Option<Level>) -> Result<Self, CkksError> {
        let plans = AutomaticPlans::new(self.params());
        self.bootstrapping_by(&plans, lowest)
    }

    /// [`Evaluator::bootstrapping`] with plans that evaluators share.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`] for plans of other parameters; those of [`Evaluator::bootstrapping`].
    pub fn bootstrapping_by(self, plans: &AutomaticPlans, lowest: Option<Level>) -> Result<Self, CkksError> {
        self.params().check_same(&plans.params, "plans of bootstraps")?;
        let levels = StageLevels::new(self.params())?;
        let least = lowest.unwrap_or(levels.start);
        if !(levels.start..levels.end).contains(&least) {
            let remedy = format!("use a level from {} to {}", levels.start, levels.end.0.saturating_sub(1));
            return Err(CkksError::OutOfRange {
                what: "the level to bootstrap below",
                value: least.to_string(),
                remedy,
            });
        }
        Ok(self.bootstrapping_with(Automatic { levels, least, plans: plans.clone() }))
    }
}

impl Automatic {
    /// Whether the array can be bootstrapped.
    fn is_able(&self, evaluator: &Evaluator, x: &Ciphertext) -> bool {
        x.params() == evaluator.params()
            && x.secret() == SecretName::Main
            && x.encoding() == Encoding::Slots
            && x.level() >= self.levels.start
    }

    /// `x` at the canonical scale of its level, from which a bootstrap starts; an array of another scale is
    /// lowered by a level. `None` if there is no such level.
    fn at_canonical_scale<'x>(
        &self,
        evaluator: &Evaluator,
        x: &'x Ciphertext,
    ) -> Result<Option<Cow<'x, Ciphertext>>, CkksError> {
        if x.has_canonical_scale() {
            return Ok(Some(Cow::Borrowed(x)));
        }
        if x.level() <= self.levels.start {
            return Ok(None);
        }
        let below = Level(x.level().0 - 1);
        let lowered = evaluator.lower(x, below, x.params().scale(below))?;
        Ok(lowered.has_canonical_scale().then_some(Cow::Owned(lowered)))
    }

    /// The plan of a product inside a bootstrap, if no level is free for a separate product: requires rows
    /// that fill polynomials, products in the range of a bootstrap, that the array alone takes one round, and
    /// a lower price than the product of the bootstrapped array.
    fn product_plan(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        weights: Matrix<'_>,
    ) -> Option<Arc<MamboPlan>> {
        let (layout, slots) = (x.layout(), x.params().slot_count());
        let whole = layout.capacity() == slots
            && layout.bodies() == 1
            && layout.order() == Order::Natural
            && layout.lanes() == 1;
        if x.level() > self.least
            || !self.is_able(evaluator, x)
            || !x.has_canonical_scale()
            || !whole
            || x.shape().len() != 2
            || x.shape()[0] != weights.columns
        {
            return None;
        }
        // Ignores bounds below 1, so that data with and without declared bounds are computed as their dry
        // run.
        let largest = x.bound().map_or(1.0, |bound| bound.max(1.0));
        let row_sum = weights.each_row().map(|row| row.iter().map(|w| w.abs()).sum()).fold(0.0, f64::max);
        if row_sum * largest > 1.0 || !row_sum.is_finite() {
            return None;
        }
        // Of several polynomials of real numbers, two form a complex one.
        let real = !x.is_complex() && weights.rows * layout.chunks() == 1;
        let (bootstrap, alone) = (self.plans.known((slots, real, true))?, self.plans.plan_of(x)?);
        let lacks = |plan: &BootstrapPlan| !plan.known_keys_in(evaluator);
        if lacks(&bootstrap) || alone.rounds() > 1 {
            return None;
        }
        let options = MatrixOptions { method: Some(MatrixMethod::ByRows), ..MatrixOptions::default() };
        let plan = MamboPlan::around(bootstrap, weights, layout.chunks() * slots, &options).ok()?;
        // A plan for complex numbers bootstraps two polynomials of real numbers at once.
        let polys =
            if x.is_complex() || alone.is_real() { layout.bundles() } else { layout.bundles().div_ceil(2) };
        let separately =
            if lacks(&alone) { f64::INFINITY } else { alone.dry_run_of(polys).ok()?.cost().price };
        // The product of the bootstrapped array has the primes of that array's level.
        let primes = |level: Level| x.params().chain().basis(level).len() as f64;
        let product =
            plan.matrix().chosen().prices.0 * primes(alone.output_level()) / primes(plan.matrix().level());
        (plan.price_of(!x.is_complex()).ok()? < separately + product).then(|| Arc::new(plan))
    }
}

impl AutomaticBootstraps for Automatic {
    fn bootstrapped(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        headroom: LevelsNeeded,
    ) -> Result<Option<Ciphertext>, CkksError> {
        // Numbers beyond 1 are divided in a rescale to the next level, for which a level must be left.
        let spare = usize::from(BootstrapPlan::log2_divisor(x) > 0);
        // The preferred and the required level of the operation's input.
        let (wanted, needed) = match headroom {
            LevelsNeeded::Depth(0) => return Ok(None),
            LevelsNeeded::Depth(depth) => (
                Level(self.least.0.max(self.levels.start.0 + spare) + depth),
                Level(self.levels.start.0 + depth),
            ),
            LevelsNeeded::Level(level) => (level, level),
        };
        if x.level() >= wanted || !self.is_able(evaluator, x) {
            return Ok(None);
        }
        let Some(plan) = self.plans.plan_of(x) else { return Ok(None) };
        // If the bootstrap leaves too few levels for the operation, or keys are missing, the operation
        // reports the error.
        let output = plan.output_level();
        if x.level() >= output || output < needed || !plan.known_keys_in(evaluator) {
            return Ok(None);
        }
        let Some(x) = self.at_canonical_scale(evaluator, x)? else { return Ok(None) };
        evaluator.stage(stages::AUTOMATIC, || plan.run(evaluator, &x)).map(Some)
    }

    fn product(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        weights: Matrix<'_>,
    ) -> Result<Option<Ciphertext>, CkksError> {
        let Some(plan) = self.product_plan(evaluator, x, weights) else { return Ok(None) };
        let ([rows, _], [inner, columns]) = (plan.array_shapes().1, plan.array_shapes().0);
        let layout = *x.layout();
        let whole = x.clone().rearranged(vec![inner, columns], layout.of_columns(columns));
        let matrix = plan.prepare(evaluator)?;
        let fresh = evaluator.stage(stages::AUTOMATIC, || matrix.multiply(evaluator, &whole))?;
        // Like other products it is not rescaled.
        let (level, params) = (fresh.level(), x.params());
        let scale = params.step_product(level) * params.scale(Level(level.0 - 1));
        let product = evaluator.linear_combination(&[(&fresh, Complex64::from(1.0))], scale)?;
        Ok(Some(product.rearranged(vec![rows, layout.columns()], layout.of_rows(rows))))
    }

    fn explained(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        weights: Matrix<'_>,
    ) -> Result<Option<String>, CkksError> {
        self.product_plan(evaluator, x, weights).map(|plan| plan.explain_of(!x.is_complex())).transpose()
    }
}
