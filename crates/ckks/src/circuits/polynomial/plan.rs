//! The planned circuit of a polynomial: every step with its level and exact scale, before any ciphertext exists.
//!
//! Depth: `ceil(log2 (degree + 1))` levels; one more for a domain other than `[-1, 1]` unless its map is a product with an integer
//! (`[-1/k, 1/k]`) or the degree is 1, which absorbs it; one more for an input that is not rescaled, or whose scale is no canonical one.
//! A single power with an integer coefficient, and a constant beside it, takes `ceil(log2 degree)`.
//!
//! Steps come as late as their results are needed, where ciphertexts are shorter. Powers have the scale that their factors give;
//! every part gets the scale that its sum asks for, by the scale of its coefficients; the whole ends at the canonical scale.

use std::fmt;

use clathrate_lattice::Level;
use serde::Serialize;

use super::powers::{chain_for, depth_of, operands};
use super::split::{Part, split};
use super::{Polynomial, PolynomialBasis, UNIT_DOMAIN, bound_on_interval};
use crate::circuits::rank_schedule::{LevelWork, RankSchedule, RankSteps};
use crate::error::CkksError;
use crate::evaluation::evaluator::same_scale;
use crate::keys::{KeyNeeds, Operation, Reach};
use crate::parameters::Params;

/// Coefficients below this share of the largest are rounding errors of whoever computed them, and are dropped.
const NEGLIGIBLE: f64 = 1.0 / (1u64 << 50) as f64;

/// Largest integer factor that is applied without a level: 16 bits of the room for messages.
const LARGEST_FREE_FACTOR: f64 = 65536.0;

/// Largest scaled coefficient, in bits: it must be exact in an `i128`.
const INTEGER_BITS: f64 = 120.0;

/// A scale off the canonical one by this many bits after all squarings is brought back first.
const DRIFT_BITS: f64 = 1.0;

/// What a step computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// The input, divided by its step because it is not rescaled yet.
    Rescaled,
    /// The input mapped to `[-1, 1]`, or brought to the canonical scale.
    Mapped,
    /// `y^i` or `T_i(y)`.
    Power(usize),
    /// The same power at a lower level and its canonical scale.
    Lowered(usize),
    /// A part of this degree; the last one is the polynomial.
    Part(usize),
}

/// Where a step's scale comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scaling {
    /// The operand's: nothing is divided.
    Kept,
    /// The operand's, divided.
    Divided,
    /// The factors', divided.
    Factors,
    /// The canonical one of its level.
    Canonical,
    /// What the sum that uses it asks for.
    Asked,
}

/// A product inside a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Product {
    pub left: usize,
    pub right: usize,
    /// Whether it counts twice.
    pub twice: bool,
}

/// A sum of products and of multiples at one scale; then one relinearisation and one rescale.
///
/// Values are counted from the input, 0; step `i` makes value `i + 1`.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub(super) value: Value,
    pub(super) products: Vec<Product>,
    pub(super) linear: Vec<(usize, f64)>,
    pub(super) constant: f64,
    scaling: Scaling,
    pub(super) level: Level,
    pub(super) scale: f64,
    /// A bound on its value where the input is in the domain.
    pub(super) magnitude: f64,
}

impl Step {
    /// What it computes.
    #[must_use]
    pub fn value(&self) -> Value {
        self.value
    }

    /// Level of the result.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Scale of the result.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Products of ciphertexts in it: more than one share the relinearisation.
    #[must_use]
    pub fn products(&self) -> usize {
        self.products.len()
    }

    /// Multiples of values in it.
    #[must_use]
    pub fn terms(&self) -> usize {
        self.linear.len()
    }

    /// Whether it ends with a rescale.
    #[must_use]
    pub fn rescales(&self) -> bool {
        self.scaling != Scaling::Kept
    }

    /// The level its operands meet at.
    pub(super) fn working_level(&self) -> Level {
        Level(self.level.0 + usize::from(self.rescales()))
    }

    pub(super) fn operands(&self) -> impl Iterator<Item = usize> {
        self.products.iter().flat_map(|product| [product.left, product.right]).chain(self.linear.iter().map(|term| term.0))
    }
}

/// The circuit of one polynomial for inputs of one level and scale.
#[derive(Debug, Clone)]
pub struct PolynomialPlan {
    params: Params,
    polynomial: Polynomial,
    /// Degree without what is dropped.
    degree: usize,
    dropped: usize,
    input: (Level, f64),
    pub(super) steps: Vec<Step>,
    /// Which rank each level's steps are at; the parameters' own without one.
    schedule: Option<RankSchedule>,
}

impl Polynomial {
    /// The circuit for fresh inputs at `level`.
    ///
    /// # Errors
    /// As [`Polynomial::plan_at`].
    pub fn plan(&self, params: &Params, level: Level) -> Result<PolynomialPlan, CkksError> {
        params.check_level(level)?;
        self.plan_at(params, level, params.scale(level))
    }

    /// The circuit for inputs at `level` with `scale`; an input above the level is lowered.
    ///
    /// # Errors
    /// [`CkksError::PolynomialDepth`] with the levels it takes; [`CkksError::ValueTooLarge`] where the coefficients leave the modulus no room;
    /// [`CkksError::ScaleOutOfRange`], [`CkksError::OutOfRange`] where scales and steps do not fit together; level errors.
    pub fn plan_at(&self, params: &Params, level: Level, scale: f64) -> Result<PolynomialPlan, CkksError> {
        params.check_level(level)?;
        params.check_scale(scale, level)?;
        let (coefficients, dropped) = significant(self.coefficients());
        let degree = coefficients.len() - 1;
        let mut builder = Builder { params, basis: self.basis(), level, scale, steps: Vec::new(), depths: vec![0] };
        builder.build(self, coefficients);
        let depth = builder.depths[builder.depths.len() - 1];
        if depth > level.0 {
            return Err(CkksError::PolynomialDepth { degree, depth, level: level.0, max_level: params.max_level().0 });
        }
        let mut plan = PolynomialPlan {
            params: params.clone(),
            polynomial: self.clone(),
            degree,
            dropped,
            input: (level, scale),
            steps: builder.steps,
            schedule: None,
        };
        plan.assign_levels(Level(level.0 - depth));
        plan.assign_scales();
        plan.check()?;
        Ok(plan)
    }
}

/// The coefficients up to the last that matters, the negligible ones zero, and how many those are.
fn significant(coefficients: &[f64]) -> (Vec<f64>, usize) {
    let largest = coefficients.iter().fold(0.0f64, |largest, c| largest.max(c.abs()));
    let negligible = |c: f64| c != 0.0 && c.abs() < largest * NEGLIGIBLE;
    let dropped = coefficients.iter().filter(|&&c| negligible(c)).count();
    let mut kept: Vec<f64> = coefficients.iter().map(|&c| if negligible(c) { 0.0 } else { c }).collect();
    kept.truncate(kept.iter().rposition(|&c| c != 0.0).map_or(1, |last| last + 1));
    (kept, dropped)
}

/// A factor that needs no level.
fn is_free(factor: f64) -> bool {
    factor.fract() == 0.0 && factor.abs() <= LARGEST_FREE_FACTOR
}

/// Puts steps together; depths count the levels from the input.
struct Builder<'p> {
    params: &'p Params,
    basis: PolynomialBasis,
    /// Level and scale of the value that comes next to be used as `y`.
    level: Level,
    scale: f64,
    steps: Vec<Step>,
    depths: Vec<usize>,
}

impl Builder<'_> {
    /// Adds a step; its value.
    fn push(
        &mut self,
        value: Value,
        scaling: Scaling,
        products: Vec<Product>,
        linear: Vec<(usize, f64)>,
        (constant, magnitude): (f64, f64),
    ) -> usize {
        let step = Step { value, products, linear, constant, scaling, level: Level(0), scale: 0.0, magnitude };
        let below = step.operands().map(|operand| self.depths[operand]).max().unwrap_or(0);
        self.depths.push(below + usize::from(step.rescales()));
        self.steps.push(step);
        self.steps.len()
    }

    fn canonical(&self) -> bool {
        same_scale(self.scale, self.params.scale(self.level))
    }

    /// The scale after a step down, where there is one.
    fn descend(&mut self, scale: impl Fn(&Params, Level) -> f64) {
        if self.level.0 > 0 {
            self.scale = scale(self.params, self.level);
            self.level = Level(self.level.0 - 1);
        }
    }

    fn build(&mut self, polynomial: &Polynomial, coefficients: Vec<f64>) {
        let mut y = 0;
        // A product that is not rescaled yet.
        while self.level.0 > 0 && (self.scale / self.params.scale(self.level)).log2() > self.params.step_product(self.level).log2() / 2.0 {
            y = self.push(Value::Rescaled, Scaling::Divided, vec![], vec![(y, 1.0)], (0.0, 1.0));
            let divided = self.scale;
            self.descend(|params, level| divided / params.step_product(level));
        }
        let (alpha, beta) = if polynomial.domain() == UNIT_DOMAIN { (1.0, 0.0) } else { polynomial.map() };
        match coefficients[..] {
            [constant] => {
                // Nothing of the input is left.
                self.push(Value::Part(0), Scaling::Kept, vec![], vec![], (constant, constant.abs()));
            }
            [c0, c1] => {
                let (factor, constant) = (c1 * alpha, c0 + c1 * beta);
                let kept = is_free(factor) && self.canonical();
                if !(kept && factor == 1.0 && constant == 0.0) {
                    let scaling = if kept { Scaling::Kept } else { Scaling::Asked };
                    self.push(Value::Part(1), scaling, vec![], vec![(y, factor)], (constant, bound_on_interval(&coefficients, self.basis)));
                }
            }
            _ => {
                let drift = (self.scale / self.params.scale(self.level)).log2().abs() * coefficients.len() as f64;
                if !is_free(alpha) || drift > DRIFT_BITS {
                    y = self.push(Value::Mapped, Scaling::Canonical, vec![], vec![(y, alpha)], (beta, 1.0));
                    self.descend(|params, level| params.scale(Level(level.0 - 1)));
                } else if (alpha, beta) != (1.0, 0.0) {
                    y = self.push(Value::Mapped, Scaling::Kept, vec![], vec![(y, alpha)], (beta, 1.0));
                }
                self.nonlinear(y, coefficients);
            }
        }
    }

    /// Degree 2 or more in `y`.
    fn nonlinear(&mut self, y: usize, mut coefficients: Vec<f64>) {
        let degree = coefficients.len() - 1;
        let whole = bound_on_interval(&coefficients, self.basis);
        let single = coefficients[1..degree].iter().all(|&c| c == 0.0) && is_free(coefficients[degree]);
        if single && self.canonical() {
            let power = self.monomial(y, degree);
            if (coefficients[degree], coefficients[0]) != (1.0, 0.0) {
                self.push(Value::Part(degree), Scaling::Kept, vec![], vec![(power, coefficients[degree])], (coefficients[0], whole));
            }
            return;
        }
        // p(y) = r(T_2(y)) for even p.
        let (mut base, mut stride) = (y, 1);
        while coefficients.len() > 2 && coefficients.iter().skip(1).step_by(2).all(|&c| c == 0.0) {
            stride *= 2;
            base = self.power(stride, base, base, None);
            coefficients = coefficients.iter().copied().step_by(2).collect();
        }
        if let [constant, factor] = coefficients[..] {
            self.push(Value::Part(degree), Scaling::Asked, vec![], vec![(base, factor)], (constant, whole));
            return;
        }
        let split = split(&coefficients, self.basis);
        let mut powers = std::collections::BTreeMap::from([(1, base)]);
        for (&index, &(a, b)) in &split.chain {
            let subtracted = powers.get(&(a - b)).copied();
            let value = self.power(index * stride, powers[&a], powers[&b], subtracted);
            powers.insert(index, value);
        }
        let mut parts = Vec::with_capacity(split.parts.len());
        for Part { products, linear, constant, degree, magnitude, .. } in split.parts {
            let products =
                products.iter().map(|&(part, power)| Product { left: parts[part], right: powers[&power], twice: false }).collect();
            let linear = linear.iter().map(|&(power, c)| (powers[&power], c)).collect();
            parts.push(self.push(Value::Part(degree * stride), Scaling::Asked, products, linear, (constant, magnitude)));
        }
    }

    /// `y^index` from its factors; in the Chebyshev basis `subtracted` is `T_{a-b}`, and none for `T_0 = 1`.
    fn power(&mut self, index: usize, left: usize, right: usize, subtracted: Option<usize>) -> usize {
        let chebyshev = self.basis == PolynomialBasis::Chebyshev;
        let products = vec![Product { left, right, twice: chebyshev }];
        let (linear, constant) = match subtracted {
            Some(value) if chebyshev && left != right => (vec![(value, -1.0)], 0.0),
            _ if chebyshev => (vec![], -1.0),
            _ => (vec![], 0.0),
        };
        self.push(Value::Power(index), Scaling::Factors, products, linear, (constant, 1.0))
    }

    /// `y^degree` alone, at a canonical scale: factors of unequal depth meet at the canonical scale of the deeper one's level.
    fn monomial(&mut self, y: usize, degree: usize) -> usize {
        let chain = chain_for(&[degree], self.basis);
        let mut powers = std::collections::BTreeMap::from([(1, y)]);
        for (&index, &(a, b)) in &chain {
            let mut right = powers[&b];
            if depth_of(b) < depth_of(a) {
                right = self.push(Value::Lowered(b), Scaling::Canonical, vec![], vec![(right, 1.0)], (0.0, 1.0));
            }
            let subtracted = operands((a, b), self.basis).nth(2).and_then(|i| powers.get(&i).copied());
            let value = self.power(index, powers[&a], right, subtracted);
            powers.insert(index, value);
        }
        powers[&degree]
    }
}

impl PolynomialPlan {
    /// As late as each value is needed: at the highest level among the steps that use it.
    fn assign_levels(&mut self, output: Level) {
        let mut levels = vec![output; self.steps.len() + 1];
        levels[..self.steps.len()].fill(Level(0));
        for index in (0..self.steps.len()).rev() {
            let step = &mut self.steps[index];
            step.level = levels[index + 1];
            let working = step.working_level();
            for operand in step.operands() {
                levels[operand] = levels[operand].max(working);
            }
        }
        debug_assert!(levels[0] <= self.input.0, "the depth fits");
    }

    /// Scales that follow from operands first, then, from the whole down, those that sums ask for.
    fn assign_scales(&mut self) {
        for index in 0..self.steps.len() {
            let step = &self.steps[index];
            let (canonical, divisor) = (self.params.scale(step.level), self.divisor(step));
            let scale = match step.scaling {
                Scaling::Kept => step.linear.first().map_or(canonical, |term| self.scale_of(term.0)),
                Scaling::Divided => self.scale_of(step.linear[0].0) / divisor,
                Scaling::Factors => self.scale_of(step.products[0].left) * self.scale_of(step.products[0].right) / divisor,
                Scaling::Canonical | Scaling::Asked => canonical,
            };
            self.steps[index].scale = if same_scale(scale, canonical) { canonical } else { scale };
        }
        // Quotients come before the sums they are in: from the whole down, every sum is known when its quotients ask.
        for index in (0..self.steps.len()).rev() {
            let step = &self.steps[index];
            if step.scaling == Scaling::Asked {
                let sum = self.sum_scale(step);
                let asked: Vec<_> = step.products.iter().map(|product| (product.left, sum / self.scale_of(product.right))).collect();
                asked.into_iter().for_each(|(part, scale)| self.steps[part - 1].scale = scale);
            }
        }
    }

    /// What a step divides by.
    fn divisor(&self, step: &Step) -> f64 {
        if step.rescales() { self.params.step_product(step.working_level()) } else { 1.0 }
    }

    /// The one scale at which a step's terms meet.
    pub(super) fn sum_scale(&self, step: &Step) -> f64 {
        step.scale * self.divisor(step)
    }

    /// Scale of a value, the input being 0.
    pub(super) fn scale_of(&self, value: usize) -> f64 {
        value.checked_sub(1).map_or(self.input.1, |index| self.steps[index].scale)
    }

    /// Refuses sums that outgrow their modulus, and coefficients that would be rounded away.
    fn check(&self) -> Result<(), CkksError> {
        for step in &self.steps {
            self.params.check_scale(step.scale, step.level)?;
            for (scale, level) in [(self.sum_scale(step), step.working_level()), (step.scale, step.level)] {
                // A sign, and a guard that shows where a message has outgrown the rest.
                let (needed, room) = ((step.magnitude * scale + 1.0).log2() + 1.0, self.params.log2_q(level) - 1.0);
                let room = if step.constant == 0.0 { room } else { room.min(INTEGER_BITS + self.divisor(step).log2()) };
                if needed > room {
                    return Err(CkksError::ValueTooLarge { value: step.magnitude, log2_scale: scale.log2(), needed, room, level: level.0 });
                }
            }
            for &(operand, c) in &step.linear {
                let factor_scale = self.sum_scale(step) / self.scale_of(operand);
                let (needed, room) = ((c.abs() * factor_scale).log2(), INTEGER_BITS);
                if needed > room {
                    return Err(CkksError::ValueTooLarge {
                        value: c.abs(),
                        log2_scale: factor_scale.log2(),
                        needed,
                        room,
                        level: step.level.0,
                    });
                }
                let fixed = !step.rescales() || step.scaling == Scaling::Divided;
                if !fixed && factor_scale < self.divisor(step).sqrt() {
                    let remedy =
                        format!("the step below level {} leaves coefficients too few bits; use steps of one size", step.working_level());
                    let value = format!("2^{:.1}", factor_scale.log2());
                    return Err(CkksError::OutOfRange { what: "the scale left for coefficients", value, remedy });
                }
            }
        }
        Ok(())
    }

    /// The polynomial.
    #[must_use]
    pub fn polynomial(&self) -> &Polynomial {
        &self.polynomial
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Level of the input.
    #[must_use]
    pub fn input_level(&self) -> Level {
        self.input.0
    }

    /// Scale of the input.
    #[must_use]
    pub fn input_scale(&self) -> f64 {
        self.input.1
    }

    /// Level of the result.
    #[must_use]
    pub fn output_level(&self) -> Level {
        self.steps.last().map_or(self.input.0, Step::level)
    }

    /// Scale of the result: the canonical one of its level.
    #[must_use]
    pub fn output_scale(&self) -> f64 {
        self.steps.last().map_or(self.input.1, Step::scale)
    }

    /// Levels it takes.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.input.0.0 - self.output_level().0
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Products of ciphertexts, before relinearisation.
    #[must_use]
    pub fn products(&self) -> usize {
        self.steps.iter().map(Step::products).sum()
    }

    /// Relinearisations, each fused with a rescale.
    #[must_use]
    pub fn relinearisations(&self) -> usize {
        self.steps.iter().filter(|step| !step.products.is_empty()).count()
    }

    /// Rescales that are not part of a relinearisation.
    #[must_use]
    pub fn rescales(&self) -> usize {
        self.steps.iter().filter(|step| step.products.is_empty() && step.rescales()).count()
    }

    /// Powers (or Chebyshev polynomials) that are computed, ascending.
    #[must_use]
    pub fn powers(&self) -> Vec<usize> {
        let mut powers: Vec<usize> = self
            .steps
            .iter()
            .filter_map(|step| match step.value {
                Value::Power(index) => Some(index),
                _ => None,
            })
            .collect();
        powers.sort_unstable();
        powers
    }

    /// The same circuit, at lower ranks where the modulus allows and the rest of it pays for the reduction. [dpad-he, RQ4]
    ///
    /// # Errors
    /// As [`RankSchedule::plan`].
    pub fn with_rank_schedule(mut self, steps: RankSteps) -> Result<Self, CkksError> {
        let mut work = vec![LevelWork::default(); self.input.0.0 + 1];
        let mut last_use = vec![None; self.steps.len() + 1];
        for step in &self.steps {
            let level = step.working_level().0;
            work[level].products += step.products.len();
            work[level].relinearisations += usize::from(!step.products.is_empty());
            for operand in step.operands() {
                last_use[operand] = Some(last_use[operand].map_or(level, |last: usize| last.min(level)));
            }
        }
        let made = |value: usize| if value == 0 { self.input.0.0 } else { self.steps[value - 1].level.0 };
        for (value, last) in last_use.iter().enumerate().filter_map(|(value, last)| Some((value, (*last)?))) {
            work[last..=made(value)].iter_mut().for_each(|level| level.carried += 1);
        }
        self.schedule = Some(RankSchedule::plan(&self.params, &work, steps)?);
        Ok(self)
    }

    /// The ranks it goes through, where it has a schedule.
    #[must_use]
    pub fn rank_schedule(&self) -> Option<&RankSchedule> {
        self.schedule.as_ref()
    }

    /// The rank that a step at `level` is at.
    pub(super) fn rank_at(&self, level: Level) -> usize {
        self.schedule.as_ref().map_or(self.params.rank(), |schedule| schedule.rank_at(level))
    }

    /// The reductions of values that steps at a lower rank use: ranks from and to, and the level.
    pub(super) fn reductions(&self) -> Vec<(usize, usize, Level)> {
        let mut reductions = Vec::new();
        for step in &self.steps {
            let level = step.working_level();
            let to = self.rank_at(level);
            for operand in step.operands() {
                let from = operand.checked_sub(1).map_or(self.params.rank(), |index| self.rank_at(self.steps[index].working_level()));
                if from > to && !reductions.contains(&(from, to, level)) {
                    reductions.push((from, to, level));
                }
            }
        }
        reductions
    }

    /// Rank of the result.
    #[must_use]
    pub fn output_rank(&self) -> usize {
        self.steps.last().map_or(self.params.rank(), |step| self.rank_at(step.working_level()))
    }

    /// The keys it needs: the relinearisation key, up to the level of the first product; with a schedule, those of every rank and of the reductions.
    #[must_use]
    pub fn needs(&self) -> KeyNeeds {
        if let Some(schedule) = &self.schedule {
            return schedule.needs();
        }
        let level = self.steps.iter().filter(|step| !step.products.is_empty()).map(|step| step.working_level().0).max();
        level.map_or_else(KeyNeeds::new, |level| KeyNeeds::new().relinearise(Reach::Level(level)))
    }

    /// What the plan says, to be printed.
    #[must_use]
    pub fn explain(&self) -> PolynomialExplanation {
        PolynomialExplanation {
            degree: self.degree,
            basis: self.polynomial.basis().name(),
            domain: self.polynomial.domain(),
            dropped: self.dropped,
            input_level: self.input.0.0,
            output_level: self.output_level().0,
            depth: self.depth(),
            log2_input_scale: self.input.1.log2(),
            log2_output_scale: self.output_scale().log2(),
            powers: self.powers(),
            products: self.products(),
            relinearisations: self.relinearisations(),
            rescales: self.rescales(),
            relinearisation_level: self.needs().reach_of(Operation::Multiply).map(|reach| reach.level(self.params.max_level()).0),
            error: self.error(self.fresh_error()),
            steps: self.steps.iter().map(|step| self.row(step)).collect(),
        }
    }

    fn row(&self, step: &Step) -> StepRow {
        let symbol = if self.polynomial.basis() == PolynomialBasis::Power { "y^" } else { "T" };
        let value = match step.value {
            Value::Rescaled => "x rescaled".to_owned(),
            Value::Mapped => "y".to_owned(),
            Value::Power(index) => format!("{symbol}{index}"),
            Value::Lowered(index) => format!("{symbol}{index} lowered"),
            Value::Part(degree) => format!("part of degree {degree}"),
        };
        StepRow { value, level: step.level.0, log2_scale: step.scale.log2(), products: step.products.len(), terms: step.linear.len() }
    }
}

/// One step of an explanation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    /// What it computes.
    pub value: String,
    /// Level of the result.
    pub level: usize,
    /// Binary logarithm of its scale.
    pub log2_scale: f64,
    /// Products of ciphertexts in it.
    pub products: usize,
    /// Multiples of values in it.
    pub terms: usize,
}

/// The figures of [`PolynomialPlan::explain`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolynomialExplanation {
    /// Degree, without the coefficients that are dropped.
    pub degree: usize,
    /// Name of the basis.
    pub basis: &'static str,
    /// The interval that is mapped to `[-1, 1]`.
    pub domain: (f64, f64),
    /// Coefficients dropped: below 2^-50 of the largest.
    pub dropped: usize,
    /// Level of the input.
    pub input_level: usize,
    /// Level of the result.
    pub output_level: usize,
    /// Levels between.
    pub depth: usize,
    /// Binary logarithm of the input's scale.
    pub log2_input_scale: f64,
    /// Binary logarithm of the result's scale.
    pub log2_output_scale: f64,
    /// Powers (or Chebyshev polynomials) that are computed.
    pub powers: Vec<usize>,
    /// Products of ciphertexts.
    pub products: usize,
    /// Relinearisations, each fused with a rescale.
    pub relinearisations: usize,
    /// Other rescales.
    pub rescales: usize,
    /// Level that the relinearisation key must reach, where one is needed.
    pub relinearisation_level: Option<usize>,
    /// Bound on the error's root mean square for a fresh input.
    pub error: f64,
    /// The steps, in order.
    pub steps: Vec<StepRow>,
}

impl fmt::Display for PolynomialExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "polynomial of degree {} in the {} basis on [{}, {}]", self.degree, self.basis, self.domain.0, self.domain.1)?;
        if self.dropped > 0 {
            writeln!(f, "  dropped    {} coefficients below 2^-50 of the largest", self.dropped)?;
        }
        writeln!(
            f,
            "  levels     {} to {}: {} in all; scale 2^{:.2} to 2^{:.2}",
            self.input_level, self.output_level, self.depth, self.log2_input_scale, self.log2_output_scale
        )?;
        let powers = self.powers.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        writeln!(f, "  powers     {}", if powers.is_empty() { "none" } else { &powers })?;
        writeln!(
            f,
            "  work       {} products of ciphertexts, {} relinearisations with a rescale, {} other rescales",
            self.products, self.relinearisations, self.rescales
        )?;
        match self.relinearisation_level {
            Some(level) => writeln!(f, "  keys       relinearisation, up to level {level}")?,
            None => writeln!(f, "  keys       none")?,
        }
        writeln!(f, "  precision  error of a fresh input at most 2^{:.1} (root mean square)", self.error.log2())?;
        write!(f, "  steps      {:<22}{:>6}{:>9}{:>10}{:>7}", "value", "level", "scale", "products", "terms")?;
        for step in &self.steps {
            let scale = format!("2^{:.2}", step.log2_scale);
            write!(f, "\n             {:<22}{:>6}{:>9}{:>10}{:>7}", step.value, step.level, scale, step.products, step.terms)?;
        }
        Ok(())
    }
}
