//! The plan of a bootstrap: its linear maps with their levels and scales, and the range of its modular
//! reduction.

use std::sync::OnceLock;

use clathrate_arith::text::counted;
use clathrate_lattice::Level;

use super::eval_mod::ModularReduction;
use super::failure::log2_tail;
use super::options::{BatchCost, BootstrapOptions, Checked};
use super::raise::ModRaise;
use super::stage::Stage;
use super::tables::{Factors, Maps, reduction_for};
use crate::arrays::{Ciphertext, Encoding, Layout, SecretName};
use crate::circuits::linear::LinearTransformPlan;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::recording::Recording;
use crate::keys::{EvaluationKeys, KeyLevel, KeyNeeds};
use crate::parameters::{Params, StageLevels};

/// The operation's name in errors.
pub(super) const BOOTSTRAP: &str = "a bootstrap";

/// A further round multiplies the error by the largest power of two that leaves the standard deviation this
/// many bits below 1. The largest of 2^16 errors is about ten standard deviations, because the noise inside
/// the modular reduction is amplified most if the integer part is 0.
const CORRECTION_MARGIN_BITS: f64 = 4.0;

/// The plan has a second round if the application's scale holds at least this many bits more than one round
/// leaves.
const SECOND_ROUND_BITS: f64 = 16.0;

/// The number of polynomials over all primes that the steps of a bootstrap hold at once beside its arrays:
/// digits, extended sums, encoded diagonals.
const WORKING_POLYNOMIALS: usize = 48;

/// The maximum number of rounds.
const MAX_ROUNDS: usize = 4;

/// The circuit of a bootstrap for arrays with a given number of slots.
#[derive(Debug)]
pub struct BootstrapPlan {
    pub(super) params: Params,
    /// The slots of each polynomial of the arrays.
    pub(super) slots: usize,
    /// The slots of the linear transforms, in which numbers repeat with period `slots`.
    pub(super) transform_slots: usize,
    pub(super) real: bool,
    pub(super) half: bool,
    /// The number of polynomials that share a mask in the linear maps.
    pub(super) bodies: usize,
    /// Whether slots-to-coefficients ends at level 1.
    pub(super) product: bool,
    pub(super) levels: StageLevels,
    pub(super) to_coefficients: Vec<LinearTransformPlan>,
    pub(super) raise: ModRaise,
    pub(super) to_slots: Vec<LinearTransformPlan>,
    pub(super) reduction: ModularReduction,
    /// The stages of a round, which use the tables above.
    pub(super) stages: OnceLock<Vec<Stage>>,
    pub(super) weight: usize,
    pub(super) rounds: usize,
    needs: OnceLock<KeyNeeds>,
    /// The result of `BootstrapPlan::variances`.
    pub(super) variances: OnceLock<([(f64, f64); 2], f64)>,
    /// The maximum bytes that the arrays of one polynomial take at once.
    array_bytes: OnceLock<usize>,
    /// For each further round, the binary logarithm of the factor by which it multiplies the error of the
    /// rounds before.
    pub(super) log2_factors: Vec<u32>,
    /// The number of polynomials of the batch that the bodies were chosen for, and the candidates.
    pub(super) batch: Option<(usize, Vec<BatchCost>)>,
}

impl BootstrapPlan {
    /// The fastest circuit of one round with any keys.
    pub(super) fn one_round(
        params: &Params,
        options: BootstrapOptions,
        factors: &Factors,
    ) -> Result<Self, CkksError> {
        let Checked { levels, slots, transform_slots, weight, log2_failure } = options.check(params)?;
        let reduction = reduction_for(params, &levels, &options, (weight, log2_failure))?;
        let maps = Maps { factors, params, levels: &levels, transform_slots, options: &options };
        let q0 = params.log2_q(Level(0)).exp2();
        let to_coefficients = maps.to_coefficients(q0 / reduction.ratio())?;
        let (raise, to_slots) = maps.raise_and_to_slots(q0 * reduction.radius())?;
        Ok(Self {
            params: params.clone(),
            slots,
            transform_slots,
            real: options.real,
            half: options.half,
            bodies: options.bodies,
            product: options.product,
            levels,
            to_coefficients,
            raise,
            to_slots,
            reduction,
            stages: OnceLock::new(),
            weight,
            rounds: 1,
            needs: OnceLock::new(),
            variances: OnceLock::new(),
            array_bytes: OnceLock::new(),
            log2_factors: Vec::new(),
            batch: None,
        })
    }

    /// The circuit with `rounds` rounds, or with the number that suits the application's scale.
    pub(super) fn with_rounds(mut self, rounds: Option<usize>) -> Result<Self, CkksError> {
        let (start, end) = (self.levels.start, self.levels.end);
        let one = self.predicted_error()?.deviation();
        let held = self.rounding_error().sqrt();
        let rounds = if self.half { rounds.or(Some(1)) } else { rounds };
        let rounds = rounds.unwrap_or(if (one / held).log2() >= SECOND_ROUND_BITS { 2 } else { 1 });
        let most = if self.half { 1 } else { MAX_ROUNDS.min((end.0 - start.0).max(1)) };
        if !(1..=most).contains(&rounds) {
            let remedy = format!(
                "use 1 to {most}: each round after the first takes one of the {} left",
                counted(end.0 - start.0, "level")
            );
            return Err(CkksError::OutOfRange {
                what: "the number of rounds of a bootstrap",
                value: rounds.to_string(),
                remedy,
            });
        }
        if rounds > 1 && self.ends_in_slots_to_coeffs() && self.transform_slots < self.params.slot_count() {
            // A further round corrects numbers. It would leave the differences between the slots that repeat
            // a number.
            let reason = format!(
                "slots to coefficients comes last and {rounds} rounds by transforms of {} slots would leave the errors of the first round in each of the slots that repeat a number: leave \
                 `transform_slots` out, or use one round",
                self.transform_slots
            );
            return Err(CkksError::not_bootstrappable(&self.params.spec().name, reason));
        }
        let step = (-one.log2() - CORRECTION_MARGIN_BITS).floor();
        // Errors below the rounding error cannot be corrected.
        let limit = -held.log2();
        self.log2_factors = (1..rounds).map(|round| (step * round as f64).min(limit) as u32).collect();
        self.rounds = rounds;
        (self.needs, self.variances) = (OnceLock::new(), OnceLock::new());
        Ok(self)
    }

    /// The linear maps: first those of slots-to-coefficients, then those of coefficients-to-slots.
    pub(super) fn linear_maps(&self) -> impl Iterator<Item = &LinearTransformPlan> {
        self.to_coefficients.iter().chain(&self.to_slots)
    }

    /// Replaces the linear map with this index by `plan`.
    pub(super) fn set_linear_map(&mut self, index: usize, plan: LinearTransformPlan) {
        let down = self.to_coefficients.len();
        if index < down {
            self.to_coefficients[index] = plan;
        } else {
            self.to_slots[index - down] = plan;
        }
        (self.needs, self.variances) = (OnceLock::new(), OnceLock::new());
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The slots of each polynomial.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The slots of the linear transforms, in which the numbers of [`BootstrapPlan::slots`] repeat.
    #[must_use]
    pub fn transform_slots(&self) -> usize {
        self.transform_slots
    }

    /// Whether numbers are real.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.real
    }

    /// The lowest level of an array that can be bootstrapped. The levels below are for slots-to-coefficients.
    #[must_use]
    pub fn input_level(&self) -> Level {
        if self.half { Level(0) } else { self.levels.start }
    }

    /// The number of polynomials that share a mask in the linear maps.
    #[must_use]
    pub fn bodies(&self) -> usize {
        self.bodies
    }

    /// Whether slots-to-coefficients ends at level 1, so that a product with a known matrix can follow.
    #[must_use]
    pub fn has_product(&self) -> bool {
        self.product
    }

    /// The secret of arrays between the linear maps.
    pub(super) fn mapped_secret(&self) -> SecretName {
        if self.bodies == 1 { SecretName::Main } else { SecretName::Bodies(self.bodies) }
    }

    /// The sparse secret under which the modulus is raised, if the parameters have an ephemeral secret.
    pub(super) fn sparse_secret(&self) -> SecretName {
        if self.bodies == 1 { SecretName::Ephemeral } else { SecretName::EphemeralBodies(self.bodies) }
    }

    /// Whether the circuit starts from coefficients at level 0.
    #[must_use]
    pub fn is_half(&self) -> bool {
        self.half
    }

    /// The level of a bootstrapped array.
    #[must_use]
    pub fn output_level(&self) -> Level {
        let end = if self.half { self.levels.reduced } else { self.levels.end };
        Level(end.0 - (self.rounds - 1))
    }

    /// The number of rounds; see [`BootstrapOptions::rounds`].
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Whether slots-to-coefficients comes last.
    #[must_use]
    pub fn slots_last(&self) -> bool {
        self.levels.slots_last()
    }

    /// Whether the modular reduction runs on both halves of the coefficients. Real numbers in slots have
    /// coefficients in both halves, but a half bootstrap starts from the numbers themselves.
    pub(super) fn both_halves(&self) -> bool {
        !self.real || (self.slots_last() && !self.half)
    }

    /// The modular reduction.
    #[must_use]
    pub fn reduction(&self) -> &ModularReduction {
        &self.reduction
    }

    /// The maps of slots-to-coefficients, in the order in which they run.
    #[must_use]
    pub fn to_coefficients(&self) -> &[LinearTransformPlan] {
        &self.to_coefficients
    }

    /// The maps of coefficients-to-slots, in the order in which they run.
    #[must_use]
    pub fn to_slots(&self) -> &[LinearTransformPlan] {
        &self.to_slots
    }

    /// Binary logarithm of the probability that any round of the bootstrap of one polynomial fails.
    #[must_use]
    pub fn log2_failure(&self) -> f64 {
        log2_tail(self.weight, self.reduction.range())
            + (self.params.degree() as f64 * self.rounds as f64).log2()
    }

    /// The scale of the message in coefficients at level 0.
    #[must_use]
    pub fn message_scale(&self) -> f64 {
        self.params.log2_q(Level(0)).exp2() / self.reduction.ratio()
    }

    /// The keys of the bootstrap.
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        self.known_needs().cloned()
    }

    /// Refuses complex numbers if the plan is for real numbers.
    pub(in crate::circuits) fn check_numbers(
        &self,
        x: &Ciphertext,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        if !self.real || !x.is_complex() {
            return Ok(());
        }
        let reason = "the plan is for real numbers and the array is complex: make a plan for complex numbers"
            .to_owned();
        Err(CkksError::Unsuitable { operation, reason })
    }

    /// Whether an evaluator has the keys of the bootstrap, or records and needs none.
    pub(in crate::circuits) fn known_keys_in(&self, evaluator: &Evaluator) -> bool {
        self.known_needs().and_then(|needs| evaluator.holds_all(needs)).unwrap_or(false)
    }

    /// Refuses keys unless they contain all that the bootstrap needs.
    ///
    /// # Errors
    /// [`CkksError::MissingKeys`], with all missing keys.
    pub(in crate::circuits) fn check_keys(&self, keys: &EvaluationKeys) -> Result<(), CkksError> {
        // The sum into a subring rotates by multiples of the slots of the transforms, so rotations are
        // distinct only modulo the number of all slots.
        keys.check_needs(&self.params, BOOTSTRAP, self.known_needs()?, self.params.slot_count())
    }

    /// The approximate bytes that a bootstrap of `polys` polynomials takes beside its keys: all arrays before
    /// and after it, the peak of the arrays of one group of polynomials, and the temporary data of linear
    /// maps and modular reduction for one polynomial or one shared mask.
    pub fn memory_bytes(&self, polys: usize) -> Result<usize, CkksError> {
        let arrays = match self.array_bytes.get() {
            Some(&bytes) => bytes,
            None => {
                let bytes = self.dry_run()?.peak_array_bytes();
                *self.array_bytes.get_or_init(|| bytes)
            }
        };
        let widest = self.params.chain().key_basis(self.params.max_level()).len()
            * self.params.degree()
            * size_of::<u64>();
        // All arrays before and after the bootstrap.
        let row = 2 * self.params.degree() * size_of::<u64>();
        let held = polys
            * row
            * (self.params.chain().basis(self.input_level()).len()
                + self.params.chain().basis(self.output_level()).len());
        let at_a_time = polys.min(self.group()).div_ceil(self.bodies);
        Ok(held + arrays * at_a_time + WORKING_POLYNOMIALS * widest * (self.bodies + 1) / 2)
    }

    /// [`BootstrapPlan::needs`], found on first use.
    pub(super) fn known_needs(&self) -> Result<&KeyNeeds, CkksError> {
        if let Some(needs) = self.needs.get() {
            return Ok(needs);
        }
        let mut needs = self.run_on_symbol(Evaluator::recording(&self.params), self.bodies)?.needs().clone();
        if self.bodies > 1 && self.rounds > 1 && !self.real {
            // Two real arrays that were bootstrapped as one are split after the last round, when they have
            // separate masks.
            needs = needs.conjugate(KeyLevel::Level(self.levels.reduced.0));
        }
        Ok(self.needs.get_or_init(|| needs))
    }

    /// Runs the circuit on a symbol of as many polynomials as share a mask, usually one. The keys are those
    /// of [`BootstrapPlan::needs`]. Predicts the time by stage, transforms and products.
    pub fn dry_run(&self) -> Result<Recording, CkksError> {
        self.dry_run_of(self.bodies)
    }

    /// [`BootstrapPlan::dry_run`] on a symbol of `polys` polynomials.
    pub fn dry_run_of(&self, polys: usize) -> Result<Recording, CkksError> {
        self.run_on_symbol(Evaluator::recording_for(&self.params, self.needs()?), polys)
    }

    fn run_on_symbol(&self, evaluator: Evaluator, polys: usize) -> Result<Recording, CkksError> {
        let shape = [polys, self.slots];
        let layout = Layout::new(&shape, Encoding::Slots, self.params.degree())?.with_capacity(self.slots)?;
        if self.half {
            let layout = layout.as_complex_coefficients(layout.order());
            let symbol = Ciphertext::symbol_with(
                &self.params,
                &shape,
                layout,
                SecretName::Main,
                Level(0),
                self.message_scale(),
            )?;
            self.run_half(&evaluator, &evaluator.take_symbol(symbol, None)?)?;
            return Ok(evaluator.recorded());
        }
        let layout = layout.of_numbers(!self.real);
        let level = self.input_level();
        let symbol = Ciphertext::symbol_with(
            &self.params,
            &shape,
            layout,
            SecretName::Main,
            level,
            self.params.scale(level),
        )?;
        self.run(&evaluator, &evaluator.take_symbol(symbol, None)?)?;
        Ok(evaluator.recorded())
    }
}
