//! The predicted error of a bootstrap: the variance of the error of a real or imaginary part, by source.
//!
//! The errors of different sources are independent, so their variances add. All are in units of the message.
//! Three facts carry them to the result:
//!
//! ```text
//! coefficient to slot    noise of variance V in each coefficient is noise of variance V n in the real part of one of n slots, because decoding reads only the 2 n
//!                        coefficients of the subring
//! linear maps            a factor of the transforms is a unitary map times a number g, so it multiplies variances by g^2
//! modular reduction      x = I + m / rho and t = x / R: an error dt becomes an error rho R dt of the message
//! ```
//!
//! If the transforms have more slots than the array, each number is in several slots, and decoding takes the
//! mean of these. The variance of errors that are independent from slot to slot is then divided by the number
//! of repetitions. The integer parts are independent but the message is the same, so a part of the
//! approximation's error remains: its mean over the integer parts.
//!
//! If slots-to-coefficients comes last, the modular reduction works on the coefficients of the message, which
//! are small. Each slot of the result is a sum of the errors of all coefficients, so variances grow by the
//! number of slots.
//!
//! Source: [bootstrapping study], sec. 2.3, derived again. Inside the modular reduction, the second Chebyshev
//! polynomial has the largest noise, because its derivative is smallest at the most frequent integer parts.

use clathrate_lattice::Level;

use super::eval_mod::Approximation;
use super::failure::log2_tail;
use super::plan::{BOOTSTRAP, BootstrapPlan};
use super::raise::{ModRaise, RaiseMethod};
use super::stage::{Place, Step};
use crate::arrays::{Ciphertext, Estimate, Layout, SecretName};
use crate::circuits::linear::factors::{PREDICTION_MARGIN, diagonals_error, gain_from};
use crate::error::CkksError;
use crate::keys::{Operation, Switch};

/// The variance of a number that is uniform in [-1, 1].
const UNIFORM: f64 = 1.0 / 3.0;

/// The excess over 1 that numbers may have because of noise.
const SLACK: f64 = 1e-3;

/// Predicted variances of the error of a real or imaginary part, by source, for messages whose parts are
/// uniform in [-1, 1].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BootstrapError {
    /// Slots to coefficients: roundings, the rounding of the diagonals, and changes of shared masks. Includes
    /// the rescale to level 0 if there is one.
    pub to_coefficients: f64,
    /// The change to the ephemeral secret.
    pub encapsulation: f64,
    /// The raise, coefficients to slots, and the split: roundings, the rounding of the diagonals, which
    /// multiply the integer parts, too, and changes of shared masks.
    pub to_slots: f64,
    /// Noise of the modular reduction.
    pub reduction: f64,
    /// The modular reduction in exact arithmetic: the error of the polynomial, and the difference between the
    /// sine and its argument.
    pub approximation: f64,
    /// The part of `approximation` that all numbers have in common: the square of the mean error of the
    /// modular reduction.
    pub bias: f64,
    /// Rounding errors between rounds at the application's scale; 0 for one round.
    pub rounds: f64,
}

impl BootstrapError {
    /// The standard deviation of the total error.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        (self.noise() + self.approximation).sqrt()
    }

    /// The sum without the approximation.
    fn noise(&self) -> f64 {
        self.to_coefficients + self.encapsulation + self.to_slots + self.reduction + self.rounds
    }

    /// The sum, source by source.
    fn plus(self, other: Self) -> Self {
        Self {
            to_coefficients: self.to_coefficients + other.to_coefficients,
            encapsulation: self.encapsulation + other.encapsulation,
            to_slots: self.to_slots + other.to_slots,
            reduction: self.reduction + other.reduction,
            approximation: self.approximation + other.approximation,
            bias: self.bias + other.bias,
            rounds: self.rounds + other.rounds,
        }
    }

    /// With all variances multiplied by `factor`.
    fn times(self, factor: f64) -> Self {
        Self {
            to_coefficients: factor * self.to_coefficients,
            encapsulation: factor * self.encapsulation,
            to_slots: factor * self.to_slots,
            reduction: factor * self.reduction,
            approximation: factor * self.approximation,
            bias: factor * self.bias,
            rounds: factor * self.rounds,
        }
    }
}

/// Refuses an array whose bound exceeds 1.
///
/// # Errors
/// [`CkksError::TooLarge`].
pub(in crate::circuits) fn check_range(
    operation: &str,
    x: &Ciphertext,
    remedy: &str,
) -> Result<(), CkksError> {
    match x.bound().filter(|&bound| bound > 1.0 + SLACK) {
        Some(bound) => Err(CkksError::beyond_range(operation, bound, remedy)),
        None => Ok(()),
    }
}

impl BootstrapPlan {
    /// The predicted error, by source. After several rounds, the error of the last round counts, divided by
    /// the factor of that round.
    pub fn predicted_error(&self) -> Result<BootstrapError, CkksError> {
        let weight = self.probabilities();
        let (share, spread) = (self.share(), self.coefficient_to_slot());
        // The coefficients of a message have the size of its slots divided by the square root of their
        // number. An error that is equal in all coefficients affects only a few slots, so there is no bias.
        let lowered = |largest: f64| {
            let own = self.reduction.approximation(largest / spread.sqrt(), &weight);
            (spread * (own.common + own.own), 0.0)
        };
        let in_slots = |own: Approximation| (own.common + share * own.own, own.mean * own.mean);
        let (approximation, bias) = if self.ends_in_slots_to_coeffs() {
            lowered(1.0)
        } else {
            in_slots(self.reduction.approximation(1.0, &weight))
        };
        let first = BootstrapError { approximation, bias, ..self.round_noise(UNIFORM)? };
        let (Some(&bits), Some(&last)) = (self.log2_factors.first(), self.log2_factors.last()) else {
            return Ok(first);
        };
        // The messages of the second round are the errors of the first times its factor. The messages of
        // further rounds have the same size.
        let factor = f64::from(bits).exp2();
        let (square, (approximation, bias)) = if self.ends_in_slots_to_coeffs() {
            let square = (factor * first.deviation()).powi(2);
            (square, lowered((square / UNIFORM).sqrt()))
        } else {
            let (square, own) =
                self.reduction.later_approximation(factor, (first.noise() / share).sqrt(), &weight);
            (square, in_slots(own))
        };
        let later = BootstrapError { approximation, bias, ..self.round_noise(square)? };
        Ok(BootstrapError { rounds: self.rounding_error(), ..later.times(4f64.powi(-(last as i32))) })
    }

    /// Whether slots-to-coefficients follows the modular reduction and turns errors of coefficients into
    /// errors of slots.
    pub(super) fn ends_in_slots_to_coeffs(&self) -> bool {
        self.slots_last() && !self.is_half()
    }

    /// The factor by which the mean of all slots that hold one number reduces a variance.
    fn share(&self) -> f64 {
        self.slots as f64 / self.transform_slots as f64
    }

    /// The factor from the variance of a coefficient after the modular reduction to that of a number.
    pub(super) fn coefficient_to_slot(&self) -> f64 {
        if self.ends_in_slots_to_coeffs() { self.slots as f64 } else { self.share() }
    }

    /// The errors of one round without that of the approximation, for messages whose parts have the mean
    /// square `square`.
    fn round_noise(&self, square: f64) -> Result<BootstrapError, CkksError> {
        self.stages().iter().try_fold(BootstrapError::default(), |sum, stage| {
            stage.steps.iter().try_fold(sum, |sum, step| Ok(sum.plus(step.error(self, square)?)))
        })
    }

    /// The factor from the variance of an error of the cosine's input to that of a number.
    pub(super) fn reduction_gain(&self) -> f64 {
        self.coefficient_to_slot() * (self.reduction.ratio() * self.reduction.radius()).powi(2)
    }

    /// The variance of the rounding error of a coefficient in the mod-down of the change to the sparse
    /// secret. It is small, because that secret has a small weight.
    fn sparse_rounding(&self) -> f64 {
        (1.0 + self.weight as f64) / 12.0
    }

    /// The error of the maps of slots-to-coefficients, for messages whose parts have the mean square
    /// `square`.
    fn slots_to_coeffs_noise(&self, square: f64) -> Result<f64, CkksError> {
        let (secret, spread) = (self.mapped_secret(), self.coefficient_to_slot());
        let mut noise = 0.0;
        for (index, plan) in self.to_coefficients.iter().enumerate() {
            // Slots that become coefficients have the noise of one coefficient. Slots that remain slots have
            // that of all.
            let variance = spread * plan.variance(secret)? / plan.output_scale().powi(2);
            noise += variance * gain_from(&self.to_coefficients, index + 1);
            // If numbers repeat with the period of the diagonals, each repetition is multiplied by the same
            // rounded diagonals, so these errors repeat, too.
            let share = self.slots as f64 / self.slots.max(plan.transform().period()) as f64;
            noise += share * square * diagonals_error(plan.transform(), plan.diagonal_scale());
        }
        Ok(noise)
    }

    /// The error of the maps of coefficients-to-slots, as a variance of the cosine's input.
    fn coeffs_to_slots_noise(&self) -> Result<f64, CkksError> {
        let (secret, raised) = (self.mapped_secret(), self.raised_square());
        let mut noise = 0.0;
        for (index, plan) in self.to_slots.iter().enumerate() {
            noise += self.transform_slots as f64 * plan.variance(secret)? / plan.output_scale().powi(2)
                * gain_from(&self.to_slots, index + 1);
            noise += raised * diagonals_error(plan.transform(), plan.diagonal_scale());
        }
        Ok(noise)
    }

    /// The mean square of the raised numbers. The phase over q0 is a sum of `weight + 1` uniform numbers.
    fn raised_square(&self) -> f64 {
        self.sparse_rounding() / self.reduction.radius().powi(2)
    }

    /// The error of the raise, as a variance of the cosine's input.
    fn raise_noise(&self) -> Result<f64, CkksError> {
        let ModRaise { method, level, scale } = &self.raise;
        let params = &self.params;
        let in_slots = |coefficient: f64| {
            self.transform_slots as f64 * coefficient / scale.powi(2) * gain_from(&self.to_slots, 0)
        };
        let own = match method {
            RaiseMethod::Mapped(transform) => self.raised_square() * transform.rounding(),
            RaiseMethod::Plain { .. } => {
                let change = Operation::Switch(Switch::ChangeSecret {
                    from: self.sparse_secret(),
                    to: self.mapped_secret(),
                });
                in_slots(params.operation_variance(change, *level)?)
            }
        };
        Ok(in_slots(params.noise_model().rounding()) + own)
    }

    /// The noise of the second Chebyshev polynomial y = 2 t^2 - 1, with the derivative 4 t, as a variance of
    /// the cosine's input. The noise is complex: the imaginary part of the noise of one half of the message
    /// adds to the real part of the other half.
    fn reduction_noise(&self) -> Result<f64, CkksError> {
        let (params, reduction) = (&self.params, &self.reduction);
        let level = reduction.input_level();
        let product = params.operation_variance(Operation::Multiply, level)?
            / params.step_product(level).powi(2)
            + params.noise_model().rounding();
        let inverse_square: f64 = self
            .integer_parts()
            .map(|(i, p)| p / (4.0 * (i as f64 - 0.25) / reduction.radius()).powi(2))
            .sum();
        let scale = params.scale(Level(level.0 - 1));
        Ok(self.halves() * self.transform_slots as f64 * product / scale.powi(2) * inverse_square)
    }

    /// The number of parts of a complex message whose noise adds in a number.
    pub(super) fn halves(&self) -> f64 {
        if self.both_halves() { 2.0 } else { 1.0 }
    }

    /// The variances of the error before a product at level 1, which multiplies it, and after the product,
    /// for numbers whose parts are uniform in [-1, 1] before and after.
    pub(in crate::circuits) fn error_around_product(&self) -> Result<(f64, f64), CkksError> {
        let before = self.before_product().iter().flat_map(|stage| &stage.steps);
        let before = before
            .map(|step| Ok(step.error(self, UNIFORM)?.to_coefficients))
            .sum::<Result<f64, CkksError>>()?;
        // The product includes the rescale.
        let rescale =
            self.coefficient_to_slot() * self.params.noise_model().rounding() / self.message_scale().powi(2);
        Ok((before, self.predicted_error()?.deviation().powi(2) - before - rescale))
    }

    /// The binary logarithm of the power of two that divides an array's numbers, so that they are at most 1
    /// and in the range of the modular reduction. It is 0 without a known bound.
    pub(in crate::circuits) fn log2_divisor(x: &Ciphertext) -> u32 {
        x.bound()
            .filter(|&bound| bound > 1.0 + SLACK)
            .map_or(0, |bound| (bound / (1.0 + SLACK)).log2().ceil() as u32)
    }

    /// Refuses an array whose bound exceeds 1.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`].
    pub(in crate::circuits) fn check_range(&self, x: &Ciphertext) -> Result<(), CkksError> {
        check_range(
            BOOTSTRAP,
            x,
            "bootstrap at a higher level than the lowest of the application, where they are divided by a power of two on the way",
        )
    }

    /// The estimate of a bootstrapped array with the layout `to`, from the estimate of the array before, with
    /// the layout `from`. If the numbers have no known bound, they are assumed to be at most 1.
    pub(in crate::circuits) fn bootstrapped(
        &self,
        own: &Estimate,
        from: &Layout,
        to: &Layout,
    ) -> Result<Estimate, CkksError> {
        // Complex numbers have a real and an imaginary part.
        let parts = if to.is_complex() { 2.0f64 } else { 1.0 };
        let (variances, bias) = self.variances()?;
        let [noise, approximation] =
            variances.map(|(typical, worst)| ((parts * typical).sqrt(), (parts * worst).sqrt()));
        let moved = own.clone().moved(from, to, noise);
        if to.is_complex() || self.rounds > 1 || self.ends_in_slots_to_coeffs() || !own.magnitude.is_finite()
        {
            return Ok(moved.with_rounding_of_numbers(to, approximation).with_bias(to, parts.sqrt() * bias));
        }
        // The error of the sine, and the mean error of the polynomial, follow from the number.
        let weight = self.probabilities();
        let Approximation { own: varying, largest, .. } =
            self.reduction.approximation(own.magnitude, &weight);
        let (varying, largest) = ((self.share() * varying).sqrt(), PREDICTION_MARGIN.sqrt() * largest);
        let at = own.typical_numbers().map(|number| self.reduction.mean_error(number, &weight));
        let moved = moved.with_rounding_of_numbers(to, (varying, PREDICTION_MARGIN.sqrt() * varying));
        Ok(moved.with_error_of_numbers(to, at, largest))
    }

    /// Two variances of a real or imaginary part, each for typical and for worst messages: that of the noise,
    /// and that of the approximation's error, which no key affects, without its constant part. Also returns
    /// that constant. Finding them takes as long as a dry run.
    fn variances(&self) -> Result<([(f64, f64); 2], f64), CkksError> {
        if let Some(&known) = self.variances.get() {
            return Ok(known);
        }
        let predicted = self.predicted_error()?;
        let (noise, approximation, bias) =
            (predicted.noise(), predicted.approximation, predicted.bias.sqrt());
        // The worst case of one round is the message with the largest error of the sine and the polynomial.
        let worst = self.reduction.worst_message_error(self.probabilities()).powi(2);
        let worst =
            PREDICTION_MARGIN * if self.rounds > 1 { approximation } else { approximation.max(worst) };
        let own = ((approximation - predicted.bias).max(0.0), (worst.sqrt() + bias).powi(2));
        Ok(*self.variances.get_or_init(|| ([(noise, PREDICTION_MARGIN * noise), own], bias)))
    }

    /// The variance of the rounding errors between two rounds. One comes from lowering the result of a round
    /// to the level of the input, the other from the rescale of the sum.
    pub(super) fn rounding_error(&self) -> f64 {
        let slot = self.params.noise_model().rounding() * self.slots as f64;
        let [input, output] =
            [self.input_level(), Level(self.levels.end.0 - 1)].map(|level| self.params.scale(level));
        slot * (input.powi(-2) + output.powi(-2))
    }

    /// The probability of an integer part in the range. The exact sums are computed once and not for each of
    /// the thousands of points of an average.
    pub(super) fn probabilities(&self) -> impl Fn(i64) -> f64 + use<> {
        let at_least: Vec<f64> =
            (0..=self.reduction.range()).map(|i| log2_tail(self.weight, i).exp2()).collect();
        let known: Vec<f64> = at_least
            .windows(2)
            .enumerate()
            .map(|(i, tails)| if i == 0 { 1.0 - tails[1] } else { (tails[0] - tails[1]) / 2.0 })
            .collect();
        move |integer| known.get(integer.unsigned_abs() as usize).copied().unwrap_or(0.0)
    }

    /// The integer parts in the range and their probabilities.
    fn integer_parts(&self) -> impl Iterator<Item = (i64, f64)> {
        let most = self.reduction.range() as i64 - 1;
        let probability = self.probabilities();
        (-most..=most).map(move |integer| (integer, probability(integer)))
    }
}

impl Step {
    /// The error that the step adds to a number of the result, for messages whose parts have the mean square
    /// `square`. It excludes the error of the modular reduction in exact arithmetic.
    fn error(self, plan: &BootstrapPlan, square: f64) -> Result<BootstrapError, CkksError> {
        let params = &plan.params;
        let (rounding, none) = (params.noise_model().rounding(), BootstrapError::default());
        let (spread, message_scale) = (plan.coefficient_to_slot(), plan.message_scale());
        let masks = |operation: Operation, Place { level, scale, gain }: Place| {
            let variance = params.operation_variance(operation, level)? + rounding;
            let own = gain * variance / (scale * scale);
            Ok(if level == plan.reduction.input_level() {
                BootstrapError { to_slots: own, ..none }
            } else {
                BootstrapError { to_coefficients: own, ..none }
            })
        };
        match self {
            Self::Enter | Self::ReadAsCoeffs(_) | Self::JoinReIm => Ok(none),
            Self::ShareMasks(place) => {
                masks(Operation::Switch(Switch::FormatSwitch { from: 1, to: plan.bodies }), place)
            }
            Self::SplitMasks(place) => {
                let body = SecretName::Body { count: plan.bodies, index: 0 };
                masks(Operation::Switch(Switch::ChangeSecret { from: body, to: SecretName::Main }), place)
            }
            Self::SlotsToCoeffs => {
                Ok(BootstrapError { to_coefficients: plan.slots_to_coeffs_noise(square)?, ..none })
            }
            Self::Rescale => {
                Ok(BootstrapError { to_coefficients: spread * rounding / message_scale.powi(2), ..none })
            }
            Self::Encapsulate => {
                let change = Operation::Switch(Switch::ChangeSecret {
                    from: plan.mapped_secret(),
                    to: plan.sparse_secret(),
                });
                let variance = params.operation_variance(change, Level(0))? + plan.sparse_rounding();
                Ok(BootstrapError { encapsulation: spread * variance / message_scale.powi(2), ..none })
            }
            Self::ModRaise => {
                Ok(BootstrapError { to_slots: plan.reduction_gain() * plan.raise_noise()?, ..none })
            }
            Self::CoeffsToSlots => {
                Ok(BootstrapError { to_slots: plan.reduction_gain() * plan.coeffs_to_slots_noise()?, ..none })
            }
            Self::SplitReIm => {
                // The sum with the conjugate is twice the part, and contains the noise of the conjugation
                // once.
                let level = plan.reduction.input_level();
                let conjugate = Operation::conjugation(plan.mapped_secret())
                    .ok_or(CkksError::NoKeys { operation: BOOTSTRAP })?;
                let variance = params.operation_variance(conjugate, level)? + rounding;
                let own = plan.transform_slots as f64 * variance / params.scale(level).powi(2);
                Ok(BootstrapError { to_slots: plan.reduction_gain() * own, ..none })
            }
            Self::EvalMod => {
                Ok(BootstrapError { reduction: plan.reduction_gain() * plan.reduction_noise()?, ..none })
            }
        }
    }
}
