//! The plan of a bootstrap: linear maps, their levels and scales, the range of the modular reduction.

use std::sync::OnceLock;

use clathrate_arith::text::counted;
use clathrate_lattice::{Level, Raise};

use super::REDUCTION;
use super::eval_mod::ModularReduction;
use super::failure::{least_range, log2_tail};
use super::options::{BatchCost, BootstrapOptions, MOST_BODIES};
use super::raise::RaisedTransform;
use crate::arrays::{Ciphertext, Encoding, Layout, SecretName};
use crate::circuits::linear::LinearTransformPlan;
use crate::circuits::linear::factors::{plan_factors, rounding_weight};
use crate::encoding::dft;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::recording::Recording;
use crate::keys::{EvaluationKeys, KeyLevel, KeyNeeds, RaisedMap};
use crate::parameters::{LOG2_FAILURE, Params, StageLevels};

/// The operation's name in errors.
pub(super) const BOOTSTRAP: &str = "a bootstrap";

/// Degree of the cosine's polynomial: with 8 levels for the modular reduction, three double angles remain.
const COSINE_DEGREE: usize = 30;

/// Least bits by which the raised ciphertext is multiplied, so that the noise of the change to the main
/// secret is small against the message.
const GUARD_BITS: f64 = 4.0;

/// Least accuracy of the modular reduction without noise, in bits of the worst message.
const LEAST_BITS: f64 = 10.0;

/// A further round multiplies the error by the largest power of two that leaves it this many bits below 1, in
/// standard deviations: the largest of 2^16 errors is at about ten deviations, because the noise inside the
/// modular reduction is amplified most where the integer part is 0.
const CORRECTION_MARGIN_BITS: f64 = 4.0;

/// Where the application's scale holds so many bits more than one round leaves, the plan has a second round.
const SECOND_ROUND_BITS: f64 = 16.0;

/// Polynomials over all primes that the steps of a bootstrap keep at once, beside its arrays: digits,
/// extended sums, encoded diagonals.
const WORKING_POLYNOMIALS: usize = 48;

/// Most rounds.
const MOST_ROUNDS: usize = 4;

/// The circuit of a bootstrap for arrays with a given number of slots.
#[derive(Debug)]
pub struct BootstrapPlan {
    pub(super) params: Params,
    /// Slots of each polynomial of the arrays.
    pub(super) slots: usize,
    /// Slots of the linear transforms: numbers repeat in them with period `slots`.
    pub(super) transform_slots: usize,
    pub(super) real: bool,
    pub(super) half: bool,
    /// Polynomials that share a mask in the linear maps.
    pub(super) bodies: usize,
    /// Whether slots-to-coefficients ends at level 1.
    pub(super) product: bool,
    pub(super) levels: StageLevels,
    pub(super) to_coefficients: Vec<LinearTransformPlan>,
    pub(super) raise: ModRaise,
    pub(super) raised_level: Level,
    /// The scale of the raised array: its numbers are `v / (q0 R)`, `v` the raised phase.
    pub(super) raised_scale: f64,
    pub(super) to_slots: Vec<LinearTransformPlan>,
    pub(super) reduction: ModularReduction,
    pub(super) weight: usize,
    pub(super) rounds: usize,
    needs: OnceLock<KeyNeeds>,
    /// As `BootstrapPlan::variances` says.
    pub(super) variances: OnceLock<([(f64, f64); 2], f64)>,
    /// The most bytes that the arrays of one polynomial take at once.
    array_bytes: OnceLock<usize>,
    /// The binary logarithm of the factor that a further round multiplies the error of the rounds before
    /// with, for each round.
    pub(super) log2_factors: Vec<u32>,
    /// The polynomials of the batch that the bodies were chosen for, and what was priced.
    pub(super) batch: Option<(usize, Vec<BatchCost>)>,
}

/// How the modulus is raised.
#[derive(Debug)]
pub(super) enum ModRaise {
    /// The lift alone; the phase is multiplied by an integer, so that the noise of the change to the main
    /// secret is small against the message.
    Plain {
        /// The lift.
        lift: Box<Raise>,
        /// The integer.
        guard: i128,
    },
    /// The lift with the first map from coefficients to slots.
    Mapped(Box<RaisedTransform>),
}

impl BootstrapPlan {
    /// The fastest circuit of one round with any keys.
    pub(super) fn one_round(params: &Params, options: BootstrapOptions) -> Result<Self, CkksError> {
        let refuse =
            |reason: String| Err(CkksError::NotBootstrappable { params: params.spec().name.clone(), reason });
        if params.rank() != 1 {
            return refuse(format!("the rank is {}: convert to rank 1 with to_rlwe first", params.rank()));
        }
        let levels = StageLevels::new(params)?;
        let slots = options.slots.unwrap_or_else(|| params.slot_count());
        if !slots.is_power_of_two() || !(1..=params.slot_count()).contains(&slots) {
            let remedy = format!("use a power of two from 1 to {}", params.slot_count());
            return Err(CkksError::OutOfRange {
                what: "the number of slots of a bootstrap",
                value: slots.to_string(),
                remedy,
            });
        }
        let transform_slots = options.transform_slots.unwrap_or(slots);
        if !transform_slots.is_power_of_two()
            || !(slots..=params.slot_count()).contains(&transform_slots)
            || options.half && transform_slots > slots
        {
            let remedy = match options.half {
                true => {
                    format!("use {slots}, those of the array: half bootstraps have no numbers that repeat")
                }
                false => format!("use a power of two from {slots} to {}", params.slot_count()),
            };
            return Err(CkksError::OutOfRange {
                what: "the slots of a bootstrap's transforms",
                value: transform_slots.to_string(),
                remedy,
            });
        }
        if !(1..=MOST_BODIES).contains(&options.bodies) {
            let remedy = format!("use 1 to {MOST_BODIES}");
            return Err(CkksError::OutOfRange {
                what: "the bodies under one mask of a bootstrap",
                value: options.bodies.to_string(),
                remedy,
            });
        }
        if options.product && options.half {
            return refuse(
                "half a bootstrap starts behind the product: leave out `product` or `half`".to_owned(),
            );
        }
        if options.product && (levels.slots_last() || levels.start.0 < 2) {
            return refuse(format!(
                "a product inside the bootstrap needs slots-to-coefficients first, with two levels or more below the application, and these parameters have {}",
                if levels.slots_last() { "that last".to_owned() } else { counted(levels.start.0, "level") }
            ));
        }
        let weight = match (params.encapsulation(), params.spec().secret_weight) {
            (Some(encapsulation), _) => encapsulation.weight,
            (None, Some(weight)) => weight,
            (None, None) => {
                return refuse("the secret is uniform and there is no ephemeral sparse secret: set `ephemeral_weight`, e.g. 32".to_owned());
            }
        };
        if weight > super::failure::MOST_WEIGHT {
            return refuse(format!(
                "secrets of weight {weight} need too wide a range: use a weight of at most {}",
                super::failure::MOST_WEIGHT
            ));
        }
        let log2_failure =
            options.log2_failure.or(params.spec().bootstrap_log2_failure).unwrap_or(LOG2_FAILURE);
        if !(log2_failure.is_finite() && log2_failure < 0.0) {
            let remedy = "give a negative number, the binary logarithm of a probability".to_owned();
            return Err(CkksError::OutOfRange {
                what: "log2_failure",
                value: log2_failure.to_string(),
                remedy,
            });
        }
        let range = options.range.unwrap_or_else(|| least_range(weight, params.degree(), log2_failure));
        let input = levels.slots;
        let degree = options.degree.unwrap_or(COSINE_DEGREE);
        // With an arcsine the message is at the nominal scale of the lowest segment.
        let ratio = params.log2_q(Level(0)).exp2() / params.scale(Level(levels.start.0.saturating_sub(1)));
        let arcsine = options.arcsine.map(|degree| (degree, ratio));
        let reduction = ModularReduction::new(params, (input, levels.reduced), range, degree, arcsine)?;
        let (_, worst) = reduction.approximation_error(1.0, |_| 1.0);
        if options.range.is_none() && (worst.is_nan() || -worst.log2() < LEAST_BITS) {
            return refuse(format!(
                "for integer parts below {range}, a polynomial of degree {} and {} leave {:.1} bits at a ratio of 2^{:.1}, at least {LEAST_BITS} are needed: \
                 make the segment \"{REDUCTION}\" longer or its scale larger, or use a smaller `ephemeral_weight`",
                reduction.cosine().polynomial().degree(),
                counted(reduction.doublings(), "double angle"),
                -worst.log2(),
                reduction.ratio().log2()
            ));
        }
        let q0 = params.log2_q(Level(0)).exp2();
        let message_scale = q0 / reduction.ratio();
        let to_coefficients = if options.half {
            Vec::new()
        } else if levels.slots_last() {
            // From the level after the modular reduction to the application's highest.
            let down = dft::slots_to_coefficients(transform_slots, levels.reduced.0 - levels.end.0)?;
            plan_factors(
                params,
                &down,
                Level(levels.end.0 + down.len()),
                (params.scale(levels.reduced), params.scale(levels.end)),
                options.bodies,
            )?
        } else {
            // From the application's lowest level to level 0, at the scale that the modular reduction asks
            // for, or to level 1.
            let last = usize::from(options.product);
            let output_scale = if options.product { params.scale(Level(1)) } else { message_scale };
            let down = dft::slots_to_coefficients(transform_slots, levels.start.0 - last)?;
            plan_factors(
                params,
                &down,
                Level(down.len() + last),
                (params.scale(levels.start), output_scale),
                options.bodies,
            )?
        };
        // Coefficients to slots: of the raised phase v, v / (q0 R) is to be in slots, and half of it for the
        // sum with the conjugate. A sum into a subring multiplies v by the number of terms.
        let (steps, output_scale) = (params.max_level().0 - input.0, params.scale(input) / 2.0);
        let mapped = options.raise_keys
            && transform_slots == params.slot_count()
            && (transform_slots.trailing_zeros() as usize) > steps;
        let (raise, up, raised_level, raised_scale) = match params.mapped_raise().filter(|_| mapped) {
            Some(mapped_raise) => {
                let layers = transform_slots.trailing_zeros().div_ceil(steps as u32 + 1);
                let (first, rest) = (
                    dft::first_to_slots(transform_slots, layers)?,
                    dft::rest_to_slots(transform_slots, layers, steps)?,
                );
                // All factors get relative rounding errors of one size: b_k - w_k is equal for all, with b_k
                // the bits at which a factor's diagonals are rounded and w_k those of its rounding weight.
                // The first factor's bits are those of the step and of the growth of the scale.
                let bits = (1..=rest.len())
                    .map(|index| params.step_product(Level(input.0 + index)).log2())
                    .sum::<f64>();
                let unmapped = (q0 * reduction.radius()).log2();
                let weights =
                    rest.iter().chain([&first]).map(|factor| rounding_weight(factor).log2()).sum::<f64>();
                let each = (mapped_raise.log2_step + bits + output_scale.log2() - unmapped - weights)
                    / (rest.len() + 1) as f64;
                // The mod-down of the raise rounds at the raised scale, so the message must be larger there
                // than it was at level 0.
                let bits =
                    (each + rounding_weight(&first).log2()).max(mapped_raise.log2_step + GUARD_BITS).ceil();
                let map = RaisedMap {
                    slots: transform_slots,
                    layers,
                    log2_scale: bits as u32,
                    bodies: options.bodies,
                };
                let scale = (unmapped + bits - mapped_raise.log2_step).exp2();
                (
                    ModRaise::Mapped(Box::new(RaisedTransform::new(params, map)?)),
                    rest,
                    Level(input.0 + steps),
                    scale,
                )
            }
            None => {
                let up = dft::coefficients_to_slots(transform_slots, steps)?;
                let (ring, chain, level) = (params.chain().ring(), params.chain(), Level(input.0 + up.len()));
                let guard = GUARD_BITS.exp2();
                let terms = (params.slot_count() / transform_slots) as f64;
                let lift = Raise::new(ring, &chain.basis(Level(0)), &chain.basis(level))?;
                (
                    ModRaise::Plain { lift: Box::new(lift), guard: guard as i128 },
                    up,
                    level,
                    q0 * reduction.radius() * guard * terms,
                )
            }
        };
        let to_slots = plan_factors(params, &up, raised_level, (raised_scale, output_scale), options.bodies)?;
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
            raised_level,
            raised_scale,
            to_slots,
            reduction,
            weight,
            rounds: 1,
            needs: OnceLock::new(),
            variances: OnceLock::new(),
            array_bytes: OnceLock::new(),
            log2_factors: Vec::new(),
            batch: None,
        })
    }

    /// The circuit with `rounds` rounds, or as many as the application's scale asks for.
    pub(super) fn with_rounds(mut self, rounds: Option<usize>) -> Result<Self, CkksError> {
        let (start, end) = (self.levels.start, self.levels.end);
        let one = self.predicted_error()?.deviation();
        let held = self.rounding_error().sqrt();
        let rounds = if self.half { rounds.or(Some(1)) } else { rounds };
        let rounds = rounds.unwrap_or(if (one / held).log2() >= SECOND_ROUND_BITS { 2 } else { 1 });
        let most = if self.half { 1 } else { MOST_ROUNDS.min((end.0 - start.0).max(1)) };
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
            // A further round corrects numbers, and the noise between the slots that repeat one would stay.
            let reason = format!(
                "slots to coefficients comes last and {rounds} rounds by transforms of {} slots would leave the errors of the first round in each of the slots that repeat a number: leave \
                 `transform_slots` out, or use one round",
                self.transform_slots
            );
            return Err(CkksError::NotBootstrappable { params: self.params.spec().name.clone(), reason });
        }
        let step = (-one.log2() - CORRECTION_MARGIN_BITS).floor();
        // Errors below the rounding cannot be corrected.
        let limit = -held.log2();
        self.log2_factors = (1..rounds).map(|round| (step * round as f64).min(limit) as u32).collect();
        self.rounds = rounds;
        (self.needs, self.variances) = (OnceLock::new(), OnceLock::new());
        Ok(self)
    }

    /// The linear maps, those of slots-to-coefficients first.
    pub(super) fn linear_maps(&self) -> impl Iterator<Item = &LinearTransformPlan> {
        self.to_coefficients.iter().chain(&self.to_slots)
    }

    /// Takes `plan` in place of the linear map with this number.
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

    /// Slots of each polynomial.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Slots of the linear transforms, in which the numbers of [`BootstrapPlan::slots`] repeat.
    #[must_use]
    pub fn transform_slots(&self) -> usize {
        self.transform_slots
    }

    /// Whether numbers are real.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.real
    }

    /// The lowest level of an array that can be bootstrapped: the levels below are for slots-to-coefficients.
    #[must_use]
    pub fn input_level(&self) -> Level {
        if self.half { Level(0) } else { self.levels.start }
    }

    /// Polynomials that share a mask in the linear maps.
    #[must_use]
    pub fn bodies(&self) -> usize {
        self.bodies
    }

    /// Whether slots-to-coefficients ends at level 1, where a product with a known matrix can follow.
    #[must_use]
    pub fn has_product(&self) -> bool {
        self.product
    }

    /// The secret of arrays between the linear maps.
    pub(super) fn mapped_secret(&self) -> SecretName {
        if self.bodies == 1 { SecretName::Main } else { SecretName::Bodies(self.bodies) }
    }

    /// The sparse secret that the modulus is raised under, where there is one.
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

    /// Rounds; see [`BootstrapOptions::rounds`].
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Whether slots-to-coefficients comes last.
    #[must_use]
    pub fn slots_last(&self) -> bool {
        self.levels.slots_last()
    }

    /// Whether the modular reduction runs on both halves of the coefficients: real numbers in slots have real
    /// coefficients in both. A half bootstrap starts from the numbers themselves.
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

    /// Binary logarithm of the probability that the bootstrap of one polynomial fails, in any of its rounds.
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

    /// What the bootstrap does: levels, scales, the accuracy of the modular reduction, the probability of
    /// failure, keys, and the predicted cost by stage.
    pub fn explain(&self) -> Result<String, CkksError> {
        const GIB: f64 = (1u64 << 30) as f64;
        let (recording, reduction) = (self.dry_run()?, &self.reduction);
        let keys = recording.keys(&self.params)?;
        let (mean, worst) = reduction.approximation_error(1.0, self.probabilities());
        let error = self.predicted_error()?;
        let kept = self.params.log2_q(self.output_level()) - self.params.log2_q(self.input_level());
        let splits = |plans: &[LinearTransformPlan]| {
            let one = |plan: &LinearTransformPlan| {
                let (before, after) = plan.switches();
                let keys = if plan.is_iterated() {
                    format!(" by {}", counted(plan.rotations().len(), "key"))
                } else {
                    String::new()
                };
                format!("{before} + {after}{keys}")
            };
            plans.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let mut batch = String::new();
        if let Some((polys, costs)) = &self.batch {
            batch = format!(
                "for {polys} polynomials, a star marks the choice:\n  bodies under a mask  milliseconds each  GiB of keys\n"
            );
            for cost in costs {
                let (milliseconds, gibibytes) = (cost.nanoseconds / 1e6, cost.key_bytes as f64 / GIB);
                let mark = if cost.bodies == self.bodies { '*' } else { ' ' };
                batch += &format!("{mark} {:>19}  {milliseconds:>17.1}  {gibibytes:>11.2}\n", cost.bodies);
            }
        }
        let numbers = if self.real { "real" } else { "complex" };
        Ok(format!(
            "bootstrap of {} {numbers} slots under \"{}\", {}{}{}\n\
             levels {} to {}: {kept:.1} bits left for the application\n\
             rotations of the linear maps, baby + giant steps: slots to coefficients {}; coefficients to slots {}{}\n\
             modular reduction: |I| < {}, degree {}, {}{}, ratio 2^{:.2}; its error alone: {:.1} bits (root mean square), {:.1} (worst)\n\
             predicted error of a real or imaginary part, uniform in [-1, 1]: {:.1} bits (root mean square); of slots to coefficients alone {:.1}, \
             encapsulation {:.1}, coefficients to slots {:.1}, noise of the modular reduction {:.1}\n\
             failure: 2^{:.1} for each polynomial\n\
             keys: {}, {:.2} GiB\n{batch}{recording}",
            self.slots,
            self.params.spec().name,
            counted(self.rounds, "round"),
            match self.transform_slots {
                all if all > self.slots => format!(", by transforms of {all} slots in which numbers repeat"),
                _ => String::new(),
            },
            match (self.bodies, self.product) {
                (1, _) => String::new(),
                (bodies, false) => format!(", {bodies} polynomials under one mask in the linear maps"),
                (bodies, true) => format!(
                    ", {bodies} polynomials under one mask in the linear maps, and apart for a product"
                ),
            },
            self.input_level(),
            self.output_level(),
            splits(&self.to_coefficients),
            if matches!(self.raise, ModRaise::Mapped(_)) { "in the raise, " } else { "" },
            splits(&self.to_slots),
            reduction.range(),
            reduction.cosine().polynomial().degree(),
            counted(reduction.doublings(), "double angle"),
            reduction.arcsine().map_or_else(String::new, |arcsine| format!(
                ", arcsine of degree {}",
                arcsine.polynomial().degree()
            )),
            reduction.ratio().log2(),
            -mean.log2(),
            -worst.log2(),
            -error.deviation().log2(),
            -error.to_coefficients.log2() / 2.0,
            -error.encapsulation.log2() / 2.0,
            -error.to_slots.log2() / 2.0,
            -error.reduction.log2() / 2.0,
            self.log2_failure(),
            keys.len(),
            keys.bytes(&self.params)? as f64 / GIB,
        ))
    }

    /// The keys of the bootstrap.
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        self.known_needs().cloned()
    }

    /// Refuses complex numbers where the plan is for real ones.
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
        Err(CkksError::Conversion { operation, reason })
    }

    /// Whether an evaluator has the keys of the bootstrap, or needs none because it records.
    pub(in crate::circuits) fn known_keys_in(&self, evaluator: &Evaluator) -> bool {
        self.known_needs().and_then(|needs| evaluator.holds_all(needs)).unwrap_or(false)
    }

    /// Refuses keys that lack one of those that the bootstrap needs.
    ///
    /// # Errors
    /// [`CkksError::MissingKeys`], with all that are missing.
    pub(in crate::circuits) fn check_keys(&self, keys: &EvaluationKeys) -> Result<(), CkksError> {
        // The sum into a subring rotates by multiples of the slots of the transforms, so only the period of
        // all slots tells rotations apart.
        keys.check_needs(&self.params, BOOTSTRAP, self.known_needs()?, self.params.slot_count())
    }

    /// Bytes that a bootstrap of `polys` polynomials takes beside its keys, about: all arrays before and
    /// behind it, the most that its arrays take at once of the polynomials that are bootstrapped at a time,
    /// and what the steps of linear maps and modular reduction take for one polynomial.
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
        // All arrays before and behind, and what is kept of those that are bootstrapped at a time.
        let row = 2 * self.params.degree() * size_of::<u64>();
        let held = polys
            * row
            * (self.params.chain().basis(self.input_level()).len()
                + self.params.chain().basis(self.output_level()).len());
        let at_a_time = polys.min(self.group()).div_ceil(self.bodies);
        Ok(held + arrays * at_a_time + WORKING_POLYNOMIALS * widest * (self.bodies + 1) / 2)
    }

    /// As [`BootstrapPlan::needs`], found once.
    pub(super) fn known_needs(&self) -> Result<&KeyNeeds, CkksError> {
        if let Some(needs) = self.needs.get() {
            return Ok(needs);
        }
        let mut needs = self.run_on_symbol(Evaluator::recording(&self.params), self.bodies)?.needs().clone();
        if self.bodies > 1 && self.rounds > 1 && !self.real {
            // Real arrays that were bootstrapped as one come apart after the last round, with masks of their
            // own.
            needs = needs.conjugate(KeyLevel::Level(self.levels.reduced.0));
        }
        Ok(self.needs.get_or_init(|| needs))
    }

    /// Runs the circuit on a symbol of as many polynomials as share a mask, usually one, for keys made for [`BootstrapPlan::needs`]: predicted time by stage, transforms, products.
    pub fn dry_run(&self) -> Result<Recording, CkksError> {
        self.dry_run_of(self.bodies)
    }

    /// As [`BootstrapPlan::dry_run`], on a symbol of `polys` polynomials.
    pub fn dry_run_of(&self, polys: usize) -> Result<Recording, CkksError> {
        self.run_on_symbol(Evaluator::recording_for(&self.params, self.needs()?), polys)
    }

    fn run_on_symbol(&self, evaluator: Evaluator, polys: usize) -> Result<Recording, CkksError> {
        let shape = [polys, self.slots];
        let layout = Layout::new(&shape, Encoding::Slots, self.params.degree())?.with_capacity(self.slots)?;
        if self.half {
            let layout = Layout { encoding: Encoding::Coefficients, complex: true, ..layout };
            let symbol = Ciphertext::symbol_with(
                &self.params,
                &shape,
                layout,
                SecretName::Main,
                Level(0),
                self.message_scale(),
            )?;
            evaluator.half_bootstrap(&evaluator.take_symbol(symbol, None)?, self)?;
            return Ok(evaluator.recorded());
        }
        let layout = Layout { complex: !self.real, ..layout };
        let level = self.input_level();
        let symbol = Ciphertext::symbol_with(
            &self.params,
            &shape,
            layout,
            SecretName::Main,
            level,
            self.params.scale(level),
        )?;
        evaluator.bootstrap(&evaluator.take_symbol(symbol, None)?, self)?;
        Ok(evaluator.recorded())
    }
}
