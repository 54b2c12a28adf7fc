//! Modular reduction: from `x = I + m / rho` with an integer `I` to `m`.
//!
//! ```text
//! sin(2 pi x) / (2 pi) = m / rho - (2 pi m / rho)^3 / (12 pi) + ..
//! sin(2 pi x) = cos(2 pi (x - 1/4)) = D^r( cos(2 pi (x - 1/4) / 2^r) ),    D(y) = 2 y^2 - 1
//! ```
//!
//! The cosine is approximated by a Chebyshev polynomial of `t = (x - 1/4) / R`, which is even, so that half the products suffice; `R = K - 3/4` is the largest
//! magnitude of `x - 1/4`. Then `r` double angles follow. The result is multiplied with `rho / 2 pi` by a change of its scale alone.
//!
//! Source: Han and Ki (CT-RSA 2020), sec. 4 (double angles); Lee et al. (EUROCRYPT 2021), sec. 3; balanced cubic error: [bootstrapping study], sec. 2.3.

use std::f64::consts::PI;

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::cosine::{cosine, radius};
use crate::arrays::Ciphertext;
use crate::circuits::polynomial::PolynomialPlan;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::combinations::ProductTerm;
use crate::parameters::Params;

/// The share of the cubic error at the largest message that a larger slope takes away everywhere, so that the error is balanced over messages in [-1, 1].
const SLOPE: f64 = 0.65;

/// The circuit of a modular reduction, from one level and scale to another.
#[derive(Debug)]
pub struct ModularReduction {
    params: Params,
    range: usize,
    doublings: usize,
    cosine: PolynomialPlan,
    output_level: Level,
    /// The scale of the sine.
    sine_scale: f64,
    /// The ratio `rho` of the modulus to the message's scale.
    ratio: f64,
}

impl ModularReduction {
    /// A circuit from `level`, at its canonical scale, to `output`, where the message has the canonical scale: for integer parts of magnitude below `range`, by
    /// a polynomial of degree `degree` and as many double angles as the levels allow.
    ///
    /// # Errors
    /// [`CkksError::NotBootstrappable`] where the levels do not suffice for the polynomial and one double angle; as
    /// [`Polynomial::plan_at`](crate::Polynomial::plan_at).
    pub(super) fn new(params: &Params, (level, output): (Level, Level), range: usize, degree: usize) -> Result<Self, CkksError> {
        let depth = usize::BITS as usize - degree.leading_zeros() as usize;
        let doublings = (level.0 - output.0).saturating_sub(depth);
        if doublings == 0 {
            let levels = level.0 - output.0;
            let reason = format!(
                "the modular reduction has {levels} levels, a polynomial of degree {degree} and one double angle take {}: make its segment longer",
                depth + 1
            );
            return Err(CkksError::NotBootstrappable { params: params.spec().name.clone(), reason });
        }
        let cosine = cosine(range, degree, doublings)?.plan(params, level)?;
        let mut scale = cosine.output_scale();
        let mut at = cosine.output_level();
        for _ in 0..doublings {
            scale = scale * scale / params.step_product(at);
            at = Level(at.0 - 1);
        }
        if at != output {
            let reason = format!(
                "for integer parts below {range} the polynomial of the modular reduction takes {} levels, not {depth}: make the segment shorter by {}, or \
                 use a larger `ephemeral_weight`",
                cosine.depth(),
                at.0 - output.0
            );
            return Err(CkksError::NotBootstrappable { params: params.spec().name.clone(), reason });
        }
        let mut reduction = Self {
            params: params.clone(),
            range,
            doublings,
            cosine,
            output_level: at,
            sine_scale: scale,
            ratio: 2.0 * PI * scale / params.scale(at),
        };
        // The slope depends on the ratio and the ratio on the slope, by less than 2^-10.
        for _ in 0..8 {
            reduction.ratio = 2.0 * PI * reduction.sine_scale / (params.scale(at) * reduction.slope());
        }
        Ok(reduction)
    }

    /// Integer parts of this magnitude or more make the result wrong.
    #[must_use]
    pub fn range(&self) -> usize {
        self.range
    }

    /// Double angles.
    #[must_use]
    pub fn doublings(&self) -> usize {
        self.doublings
    }

    /// The plan of the cosine's polynomial.
    #[must_use]
    pub fn cosine(&self) -> &PolynomialPlan {
        &self.cosine
    }

    /// The ratio `rho` of the modulus to the scale of the message: `x = I + m / rho`.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Level of the input.
    #[must_use]
    pub fn input_level(&self) -> Level {
        self.cosine.input_level()
    }

    /// Level of the result.
    #[must_use]
    pub fn output_level(&self) -> Level {
        self.output_level
    }

    /// The factor that balances the cubic error.
    fn slope(&self) -> f64 {
        1.0 + SLOPE * (2.0 * PI / self.ratio).powi(2) / 6.0
    }

    /// The largest magnitude of `x - 1/4`: inputs are `x / R`.
    #[must_use]
    pub fn radius(&self) -> f64 {
        radius(self.range)
    }

    /// What the circuit makes of `x`, in the clear and without noise: the message, with the errors of the approximation and of the sine.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> f64 {
        let mut y = self.cosine.polynomial().evaluate_real((x - 0.25) / self.radius());
        for _ in 0..self.doublings {
            y = 2.0 * y * y - 1.0;
        }
        y * self.ratio * self.slope() / (2.0 * PI)
    }

    /// The root mean square and the largest error of the circuit without noise, over messages of magnitude up to `largest` and integer parts below the range; the
    /// root mean square weighs each integer part with `weight`.
    #[must_use]
    pub fn approximation_error(&self, largest: f64, weight: impl Fn(i64) -> f64) -> (f64, f64) {
        let errors: Vec<(f64, f64)> = messages(largest).map(|message| self.error_at(message, &weight)).collect();
        let mean = errors.iter().map(|(square, _)| square).sum::<f64>() / errors.len() as f64;
        (mean.sqrt(), errors.iter().fold(0.0, |worst, &(_, error)| error.max(worst)))
    }

    /// As [`ModularReduction::approximation_error`], the root mean square over the integer parts alone, for the message of magnitude up to 1 that it is largest for.
    pub(super) fn worst_message_error(&self, weight: impl Fn(i64) -> f64) -> f64 {
        messages(1.0).map(|message| self.error_at(message, &weight).0).fold(0.0, f64::max).sqrt()
    }

    /// The mean square, by `weight`, and the largest error of one message over the integer parts below the range.
    fn error_at(&self, message: f64, weight: impl Fn(i64) -> f64) -> (f64, f64) {
        let most = self.range as i64 - 1;
        let (mut sum, mut weights, mut worst) = (0.0, 0.0, 0.0f64);
        for integer in -most..=most {
            let (own, error) = (weight(integer), self.evaluate(integer as f64 + message / self.ratio) - message);
            sum += own * error * error;
            weights += own;
            // A result that is no number is the worst.
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error.abs()) };
        }
        (sum / weights, worst)
    }

    /// The message of every slot, from `x / R` in every slot, both real.
    pub(super) fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let quarter = Complex64::new(-0.25 / self.radius(), 0.0);
        let mut y = evaluator.run_polynomial(&evaluator.add_constant(x, quarter)?, &self.cosine)?;
        for _ in 0..self.doublings {
            y = evaluator.sum_of_products_rescale(&[ProductTerm { left: &y, right: &y, twice: true }], None)?;
            y = evaluator.with_constant(y, Complex64::new(-1.0, 0.0))?;
        }
        let scale = self.params.scale(self.output_level);
        Ok(y.at_scale(scale))
    }
}

/// Messages of magnitude up to `largest`, evenly spread.
fn messages(largest: f64) -> impl Iterator<Item = f64> {
    const STEPS: i64 = 32;
    (-STEPS..=STEPS).map(move |step| largest * step as f64 / STEPS as f64)
}
