//! Modular reduction: from `x = I + m / rho` with an integer `I` to `m`.
//!
//! ```text
//! sin(2 pi x) / (2 pi) = m / rho - (2 pi m / rho)^3 / (12 pi) + ..
//! sin(2 pi x) = cos(2 pi (x - 1/4)) = D^r( cos(2 pi (x - 1/4) / 2^r) ),    D(y) = 2 y^2 - 1
//! ```
//!
//! A Chebyshev polynomial of `t = (x - 1/4) / R` approximates the cosine; `R = K - 3/4` is the largest
//! magnitude of `x - 1/4`. The polynomial is even, so half the products suffice. Then `r` double angles
//! follow. A change of the scale multiplies the result by `rho / 2 pi`.
//!
//! The cubic error is balanced over the messages by a larger slope, or removed by a polynomial of the
//! arcsine, `y + y^3 / 6 + ..`, which takes further levels. Below 30 bits of precision an arcsine does not
//! pay: a larger ratio `rho` costs less modulus than the levels of the arcsine.
//!
//! Source: Han and Ki (CT-RSA 2020), sec. 4 (double angles); Lee et al. (EUROCRYPT 2021), sec. 3; balanced
//! cubic error: [bootstrapping study], sec. 2.3.

use std::f64::consts::PI;

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::cosine::{cosine, radius};
use crate::arrays::Ciphertext;
use crate::circuits::polynomial::{Polynomial, PolynomialBasis, PolynomialPlan};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::combinations::ProductTerm;
use crate::parameters::Params;

/// A larger slope compensates this share of the cubic error at the largest message, so that the error is
/// balanced over messages in [-1, 1].
const SLOPE: f64 = 0.65;

/// The circuit of a modular reduction, from one level and scale to another.
#[derive(Debug)]
pub struct ModularReduction {
    params: Params,
    range: usize,
    doublings: usize,
    cosine: PolynomialPlan,
    arcsine: Option<PolynomialPlan>,
    output_level: Level,
    /// The scale of the sine, or of its arcsine.
    sine_scale: f64,
    /// The ratio `rho` of the modulus to the message's scale.
    ratio: f64,
}

/// Degrees of the arcsine's polynomial.
const ARCSINE_DEGREES: std::ops::RangeInclusive<usize> = 3..=15;

/// The levels that a polynomial of this degree takes.
fn depth_of(degree: usize) -> usize {
    usize::BITS as usize - degree.leading_zeros() as usize
}

/// The Taylor polynomial of the arcsine, of odd degree, times `factor`. A Taylor polynomial suffices because
/// inputs are small.
///
/// # Errors
/// [`CkksError::OutOfRange`] for another degree.
fn arcsine_of(degree: usize, factor: f64) -> Result<Polynomial, CkksError> {
    if !ARCSINE_DEGREES.contains(&degree) || degree.is_multiple_of(2) {
        return Err(CkksError::OutOfRange {
            what: "the degree of the arcsine",
            value: degree.to_string(),
            remedy: format!(
                "use an odd number from {} to {}",
                ARCSINE_DEGREES.start(),
                ARCSINE_DEGREES.end()
            ),
        });
    }
    let mut coefficients = vec![0.0; degree + 1];
    let mut binomial = 1.0;
    for k in 0..=degree / 2 {
        // binomial(2 k, k) / 4^k
        coefficients[2 * k + 1] = factor * binomial / (2 * k + 1) as f64;
        binomial *= (2 * k + 1) as f64 / (2 * k + 2) as f64;
    }
    Polynomial::new(coefficients, PolynomialBasis::Power, (-1.0, 1.0))
}

impl ModularReduction {
    /// A circuit from `level` to `output`, each at its canonical scale, for integer parts of magnitude below
    /// `range`.
    ///
    /// It has a cosine polynomial of degree `degree` and as many double angles as the levels allow. `arcsine`
    /// adds a polynomial of the arcsine, with its degree and the ratio of the modulus to the message's scale.
    /// Without an arcsine, the ratio follows from the scales.
    ///
    /// # Errors
    /// [`CkksError::Unsupported`] if the levels do not suffice for the polynomials and one double
    /// angle, or are too many; [`CkksError::OutOfRange`] unless the degree of the arcsine is odd and in
    /// range; the errors of [`Polynomial::plan_at`](crate::Polynomial::plan_at).
    pub(super) fn new(
        params: &Params,
        (level, output): (Level, Level),
        range: usize,
        degree: usize,
        arcsine: Option<(usize, f64)>,
    ) -> Result<Self, CkksError> {
        if let Some((degree, ratio)) = arcsine {
            arcsine_of(degree, ratio)?;
        }
        let depth = depth_of(degree) + arcsine.map_or(0, |(degree, _)| depth_of(degree));
        let doublings = (level.0 - output.0).saturating_sub(depth);
        if doublings == 0 {
            let levels = level.0 - output.0;
            let reason = format!(
                "the modular reduction has {levels} levels, a polynomial of degree {degree}, one double angle{} take {}: make its segment longer",
                if arcsine.is_some() { " and the arcsine" } else { "" },
                depth + 1
            );
            return Err(CkksError::not_bootstrappable(&params.spec().name, reason));
        }
        let cosine = cosine(range, degree, doublings)?.plan(params, level)?;
        let mut scale = cosine.output_scale();
        let mut at = cosine.output_level();
        for _ in 0..doublings {
            scale = scale * scale / params.step_product(at);
            at = Level(at.0 - 1);
        }
        let given = arcsine.map(|(_, ratio)| ratio);
        let arcsine = match arcsine {
            None => None,
            Some((degree, ratio)) => {
                // The coefficients contain the factor rho / 2 pi, and the quotient of the wanted scale and
                // the scale of the result. The latter scale does not depend on the coefficients.
                let plan =
                    |factor: f64| arcsine_of(degree, factor * ratio / (2.0 * PI))?.plan_at(params, at, scale);
                let first = plan(1.0)?;
                Some(plan(params.scale(first.output_level()) / first.output_scale())?)
            }
        };
        if let Some(arcsine) = &arcsine {
            (at, scale) = (arcsine.output_level(), arcsine.output_scale());
        }
        if at != output {
            let reason = format!(
                "for integer parts below {range} the polynomials of the modular reduction take {} levels, not {depth}: make the segment shorter by {}, or \
                 use a larger `ephemeral_weight`",
                cosine.depth() + arcsine.as_ref().map_or(0, PolynomialPlan::depth),
                at.0 - output.0
            );
            return Err(CkksError::not_bootstrappable(&params.spec().name, reason));
        }
        let mut reduction = Self {
            params: params.clone(),
            range,
            doublings,
            cosine,
            arcsine,
            output_level: at,
            sine_scale: scale,
            ratio: given.unwrap_or(2.0 * PI * scale / params.scale(at)),
        };
        if given.is_some() {
            return Ok(reduction);
        }
        // The slope and the ratio depend on each other, by less than 2^-10, so a few iterations suffice.
        for _ in 0..8 {
            reduction.ratio = 2.0 * PI * reduction.sine_scale / (params.scale(at) * reduction.slope());
        }
        Ok(reduction)
    }

    /// The range: integer parts of this magnitude or more make the result wrong.
    #[must_use]
    pub fn range(&self) -> usize {
        self.range
    }

    /// The number of double angles.
    #[must_use]
    pub fn doublings(&self) -> usize {
        self.doublings
    }

    /// The plan of the cosine's polynomial.
    #[must_use]
    pub fn cosine(&self) -> &PolynomialPlan {
        &self.cosine
    }

    /// The plan of the arcsine's polynomial; `None` without an arcsine.
    #[must_use]
    pub fn arcsine(&self) -> Option<&PolynomialPlan> {
        self.arcsine.as_ref()
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

    /// The largest magnitude `R` of `x - 1/4`. The circuit takes `x / R`.
    #[must_use]
    pub fn radius(&self) -> f64 {
        radius(self.range)
    }

    /// The result of the circuit for `x`, without encryption and noise: the message with the errors of the
    /// approximation and of the sine.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> f64 {
        let mut y = self.cosine.polynomial().evaluate_real((x - 0.25) / self.radius());
        for _ in 0..self.doublings {
            y = 2.0 * y * y - 1.0;
        }
        if let Some(arcsine) = &self.arcsine {
            return arcsine.polynomial().evaluate_real(y) * self.sine_scale
                / self.params.scale(self.output_level);
        }
        y * self.ratio * self.slope() / (2.0 * PI)
    }

    /// The root mean square and the largest error of the circuit without noise, over messages of magnitude up
    /// to `largest` and integer parts below the range. The root mean square weights each integer part with
    /// `weight`.
    #[must_use]
    pub fn approximation_error(&self, largest: f64, weight: impl Fn(i64) -> f64) -> (f64, f64) {
        let errors: Vec<(f64, f64)> =
            messages(largest).map(|message| self.error_at(message, &weight)).collect();
        let mean = grid_mean(&errors.iter().map(|&(square, _)| square).collect::<Vec<_>>());
        (mean.sqrt(), errors.iter().fold(0.0, |worst, &(_, error)| error.max(worst)))
    }

    /// The error of the circuit without noise, over messages of magnitude up to `largest`, with integer parts
    /// weighted by `weight`.
    pub(super) fn approximation(&self, largest: f64, weight: impl Fn(i64) -> f64) -> Approximation {
        let moments: Vec<_> = messages(largest).map(|message| self.moments(message, &weight)).collect();
        Approximation::of(moments.into_iter())
    }

    /// The error of the circuit in a second round, whose messages are errors of the first round times
    /// `factor`. An error of the first round is that of the circuit, for messages of magnitude up to 1, plus
    /// noise of standard deviation `noise`. Returns the mean square of the second round's messages, and its
    /// error, whose means are taken for each message of the first round.
    pub(super) fn later_approximation(
        &self,
        factor: f64,
        noise: f64,
        weight: impl Fn(i64) -> f64,
    ) -> (f64, Approximation) {
        let (mut input, mut moments) = (Vec::new(), Vec::new());
        for message in messages(1.0) {
            let (mut sums, mut weights) = ([0.0; 3], 0.0);
            for integer in self.integers() {
                let error = message - self.evaluate(integer as f64 + message / self.ratio);
                for second in [factor * (error - noise), factor * (error + noise)] {
                    let (own, (mean, square)) = (weight(integer), self.moments(second, &weight));
                    weights += own;
                    sums = [sums[0] + own * second * second, sums[1] + own * mean, sums[2] + own * square];
                }
            }
            input.push(sums[0] / weights);
            moments.push((sums[1] / weights, sums[2] / weights));
        }
        (grid_mean(&input), Approximation::of(moments.into_iter()))
    }

    /// The mean error of a message over the integer parts, weighted by `weight`.
    pub(super) fn mean_error(&self, message: f64, weight: impl Fn(i64) -> f64) -> f64 {
        self.moments(message, weight).0
    }

    /// The mean error of a message over the integer parts, and the mean square, both weighted by `weight`.
    fn moments(&self, message: f64, weight: impl Fn(i64) -> f64) -> (f64, f64) {
        let (mut sum, mut squares, mut weights) = (0.0, 0.0, 0.0);
        for integer in self.integers() {
            let (own, error) =
                (weight(integer), self.evaluate(integer as f64 + message / self.ratio) - message);
            sum += own * error;
            squares += own * error * error;
            weights += own;
        }
        (sum / weights, squares / weights)
    }

    /// The integer parts below the range.
    fn integers(&self) -> impl Iterator<Item = i64> {
        let most = self.range as i64 - 1;
        -most..=most
    }

    /// The largest root mean square error of a message of magnitude up to 1, over the integer parts, weighted
    /// by `weight`.
    pub(super) fn worst_message_error(&self, weight: impl Fn(i64) -> f64) -> f64 {
        messages(1.0).map(|message| self.error_at(message, &weight).0).fold(0.0, f64::max).sqrt()
    }

    /// The mean square error of one message over the integer parts below the range, weighted by `weight`, and
    /// the largest error.
    fn error_at(&self, message: f64, weight: impl Fn(i64) -> f64) -> (f64, f64) {
        let error = |integer: i64| (self.evaluate(integer as f64 + message / self.ratio) - message).abs();
        // A result that is not a number counts as an infinite error.
        let worst = self
            .integers()
            .map(error)
            .fold(0.0f64, |worst, own| if own.is_nan() { f64::INFINITY } else { worst.max(own) });
        (self.moments(message, weight).1, worst)
    }

    /// The message of every slot, from `x / R` in every slot. Both are real.
    pub(super) fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let quarter = Complex64::new(-0.25 / self.radius(), 0.0);
        let mut y = self.cosine.run(evaluator, &evaluator.add_constant(x, quarter)?)?;
        for _ in 0..self.doublings {
            y = evaluator
                .sum_of_products_rescale(&[ProductTerm { left: &y, right: &y, twice: true }], None)?;
            y = evaluator.with_constant(y, Complex64::new(-1.0, 0.0))?;
        }
        if let Some(arcsine) = &self.arcsine {
            y = arcsine.run(evaluator, &y)?;
        }
        let scale = self.params.scale(self.output_level);
        Ok(y.at_scale(scale))
    }
}

/// The error of a circuit without noise. Its mean square is `common + own`.
pub(super) struct Approximation {
    /// The mean over messages and integer parts.
    pub(super) mean: f64,
    /// The largest magnitude, over messages, of the mean over the integer parts.
    pub(super) largest: f64,
    /// The mean square over messages of the mean over the integer parts.
    pub(super) common: f64,
    /// The mean over messages of the variance over the integer parts.
    pub(super) own: f64,
}

impl Approximation {
    /// The summary of the mean and the mean square over the integer parts, given for each message of a grid.
    fn of(moments: impl Iterator<Item = (f64, f64)>) -> Self {
        let (means, squares): (Vec<f64>, Vec<f64>) = moments.unzip();
        let common = grid_mean(&means.iter().map(|mean| mean * mean).collect::<Vec<_>>());
        let largest = means.iter().fold(0.0, |most: f64, mean| most.max(mean.abs()));
        Self { mean: grid_mean(&means), largest, common, own: grid_mean(&squares) - common }
    }
}

/// The mean of values on a grid of an interval, whose ends have half the weight.
fn grid_mean(values: &[f64]) -> f64 {
    let ends = [values.first(), values.last()].into_iter().flatten().sum::<f64>() / 2.0;
    (values.iter().sum::<f64>() - ends) / (values.len() - 1) as f64
}

/// Messages of magnitude up to `largest`, evenly spaced.
fn messages(largest: f64) -> impl Iterator<Item = f64> {
    const STEPS: i64 = 32;
    (-STEPS..=STEPS).map(move |step| largest * step as f64 / STEPS as f64)
}
