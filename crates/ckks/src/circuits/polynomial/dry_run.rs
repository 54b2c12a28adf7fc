//! The dry run of a polynomial's circuit: its keys, its cost and a bound on its error.
//!
//! The general rules ([`crate::arrays::estimate`]) would add the errors of all terms of a sum, most of which
//! cancel. A plan gives better bounds: the error of the input is multiplied by `p'(x)`, and the noise of a
//! node by the derivative of the result with respect to the node, both evaluated on a grid of the interval.

use rustfft::num_complex::Complex64;

use super::ZERO;
use super::plan::PolynomialPlan;
use crate::arrays::estimate::product;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::recording::Recording;
use crate::keys::KeyNeeds;

/// The error that a node adds to its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    /// Its root mean square in a slot, typical and for the worst numbers.
    slot: (f64, f64),
    /// The root mean square of a number, and the bound on all numbers.
    number: (f64, f64),
}

impl Noise {
    /// The errors of a value of an array with this layout.
    pub(super) fn of(value: &Estimate, layout: &Layout) -> Self {
        Self {
            slot: value.repeated_slot_errors(layout),
            number: (value.error_rms(layout), value.error_bound(layout)),
        }
    }
}

impl PolynomialPlan {
    /// Root mean square of a slot's error in a fresh public-key encryption at the input's level and scale.
    #[must_use]
    pub fn fresh_error(&self) -> f64 {
        (self.params.noise_model().fresh_public() * self.params.degree() as f64).sqrt() / self.input_scale()
    }

    /// Root mean square of a slot's error in the result, for the worst inputs in the domain, inputs with
    /// errors of root mean square `input_error`, and the keys of [`PolynomialPlan::needs`].
    pub fn error(&self, input_error: f64) -> Result<f64, CkksError> {
        Ok(self.dry_run(Estimate::fresh(self.domain_magnitude(), input_error))?.1.slot_errors().1)
    }

    /// Runs the circuit on a symbol of one bundle; returns needs, cost and the estimate of the result.
    pub fn dry_run(&self, input: Estimate) -> Result<(Recording, Estimate), CkksError> {
        let (evaluator, result) =
            self.run_on_symbol(Evaluator::recording_for(&self.params, self.needs()?), input)?;
        Ok((evaluator.recorded(), result.estimate().clone()))
    }

    /// The keys that the circuit needs: those of its products, and those of its rank schedule, if any.
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        let input = Estimate::exact(self.domain_magnitude());
        let needs = self.run_on_symbol(Evaluator::recording(&self.params), input)?.0.needs();
        Ok(match &self.schedule {
            Some(schedule) => schedule.allowing_steps(needs),
            None => needs,
        })
    }

    fn run_on_symbol(
        &self,
        evaluator: Evaluator,
        input: Estimate,
    ) -> Result<(Evaluator, Ciphertext), CkksError> {
        // The symbol's row has padding, because clearing the padding adds an error.
        let (columns, bound) = (self.params.slot_count() - 1, self.domain_magnitude().max(f64::MIN_POSITIVE));
        let symbol = evaluator.symbol(&[columns], Encoding::Slots, self.input_level(), bound)?;
        let symbol = symbol.at_scale(self.input_scale()).estimated(|_| input);
        let result = self.run_inside(&evaluator, &symbol)?;
        Ok((evaluator, result))
    }

    /// The largest magnitude of a number of the domain.
    pub(super) fn domain_magnitude(&self) -> f64 {
        let (a, b) = self.polynomial.domain();
        a.abs().max(b.abs())
    }

    /// The estimate of the result, from that of the input and the noise of each node, typical and for the
    /// worst numbers.
    pub(super) fn estimate_of(
        &self,
        input: &Estimate,
        layout: &Layout,
        noise: &[Noise],
        most: f64,
    ) -> Estimate {
        // For complex numbers only the bound is known, from the magnitudes of all terms.
        if layout.is_complex() {
            return Estimate::bounded(self.largest_of_complex(input.magnitude));
        }
        let bound = input.magnitude;
        let count = POINTS + POINTS_PER_DEGREE * self.polynomial.degree();
        let (low, high) = self.polynomial.domain();
        let beyond = bound.is_finite() && bound > self.domain_magnitude();
        let (low, high) = if beyond { (-bound, bound) } else { (low.max(-bound), high.min(bound)) };
        let (low, high) = if low <= high { (low, high) } else { self.polynomial.domain() };
        let own = Noise::of(input, layout);
        let (mut typical_errors, mut worst_errors) = (vec![own.number.0], vec![own.number.1]);
        typical_errors.extend(noise.iter().map(|own| own.number.0));
        worst_errors.extend(noise.iter().map(|own| own.number.1));
        let worst_noise = (noise.iter().map(|own| own.slot.1), &worst_errors[..]);
        let worst = self.on_points(extremes(low, high, count), worst_noise);
        // Typical numbers are taken as spread evenly, with their mean and root mean square.
        let spread = (3.0 * (input.typical * input.typical - input.mean * input.mean).max(0.0)).sqrt();
        let (from, to) = ((input.mean - spread).clamp(low, high), (input.mean + spread).clamp(low, high));
        let interval = if spread.is_finite() && from < to { (from, to) } else { (low, high) };
        let typical_noise = (noise.iter().map(|own| own.slot.0), &typical_errors[..]);
        let typical = self.on_points(evenly(interval.0, interval.1, count), typical_noise);
        let rms = |values: &[f64]| {
            (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
        };
        let peak = |values: &[f64], between: f64| between * values.iter().copied().fold(0.0, f64::max);
        let largest = if bound != self.domain_magnitude() && bound.is_finite() {
            peak(&worst.value, BETWEEN).min(most)
        } else {
            most
        };
        // Numbers without a bound are only supposed to be in the domain.
        let numbers = if bound.is_finite() {
            (largest, rms(&typical.value).min(largest), typical.mean.clamp(-largest, largest))
        } else {
            (f64::INFINITY, f64::INFINITY, 0.0)
        };
        let estimate = input
            .clone()
            .applied(
                self.polynomial.name(),
                numbers,
                (rms(&typical.derivative), peak(&worst.derivative, BETWEEN)),
            )
            .with_errors(rms(&typical.noise), peak(&worst.noise, BETWEEN_SQUARES));
        // Products of errors, which derivatives do not know of, matter where errors are large.
        let products = (rms(&typical.products), peak(&worst.products, BETWEEN_PRODUCTS));
        if products.1.is_nan() || products.1 <= NEGLIGIBLE_PRODUCTS * estimate.error_bound(layout) {
            return estimate;
        }
        estimate.with_error_of_numbers(layout, [products.0.min(products.1); 16], products.1)
    }

    /// A bound on the values at complex numbers of magnitude up to `magnitude`.
    fn largest_of_complex(&self, magnitude: f64) -> f64 {
        let mut most = vec![magnitude];
        for node in &self.nodes {
            let products: f64 = node
                .products
                .iter()
                .map(|p| product(most[p.left], most[p.right]) * if p.twice { 2.0 } else { 1.0 })
                .sum();
            let multiples: f64 = node.linear.iter().map(|&(value, c)| product(most[value], c.norm())).sum();
            most.push(products + multiples + node.constant.norm());
        }
        most.last().copied().unwrap_or(magnitude)
    }

    /// A bound on the values on the domain.
    pub(super) fn largest(&self) -> f64 {
        self.nodes.last().map_or(self.domain_magnitude(), |node| node.magnitude)
    }

    /// Values, derivatives and the noise of the nodes at `points`. `errors` are those of the input and of
    /// each node alone, in a number.
    fn on_points(
        &self,
        points: impl ExactSizeIterator<Item = f64>,
        (noise, errors): (impl Iterator<Item = f64>, &[f64]),
    ) -> Grid {
        let noise: Vec<f64> = noise.collect();
        let count = points.len();
        let mut grid = Grid {
            value: Vec::with_capacity(count),
            derivative: Vec::with_capacity(count),
            noise: Vec::with_capacity(count),
            products: Vec::with_capacity(count),
            mean: 0.0,
        };
        let mut values = vec![ZERO; self.nodes.len() + 1];
        let mut slopes = vec![ZERO; self.nodes.len() + 1];
        // Bounds on the errors of values without products of errors, and on what these add.
        let mut bounds = vec![(errors[0], 0.0); self.nodes.len() + 1];
        for point in points {
            values[0] = Complex64::from(point);
            for (index, node) in self.nodes.iter().enumerate() {
                let products = node
                    .products
                    .iter()
                    .map(|p| values[p.left] * values[p.right] * if p.twice { 2.0 } else { 1.0 });
                let multiples = node.linear.iter().map(|&(value, c)| values[value] * c);
                values[index + 1] = products.chain(multiples).sum::<Complex64>() + node.constant;
                let mut own = (errors[index + 1], 0.0);
                for p in &node.products {
                    let times = if p.twice { 2.0 } else { 1.0 };
                    let (left, right) = (values[p.left].norm(), values[p.right].norm());
                    let ((of_left, more_left), (of_right, more_right)) = (bounds[p.left], bounds[p.right]);
                    own.0 += times * (left * of_right + right * of_left);
                    let both = (of_left + more_left) * (of_right + more_right);
                    own.1 += times * (left * more_right + right * more_left + both);
                }
                for &(value, c) in &node.linear {
                    own.0 += c.norm() * bounds[value].0;
                    own.1 += c.norm() * bounds[value].1;
                }
                bounds[index + 1] = own;
            }
            // The derivatives of the result with respect to the values, from the last value backwards.
            slopes.fill(ZERO);
            if let Some(last) = slopes.last_mut() {
                *last = Complex64::from(1.0);
            }
            for (index, node) in self.nodes.iter().enumerate().rev() {
                let slope = slopes[index + 1];
                for p in &node.products {
                    let factor = slope * if p.twice { 2.0 } else { 1.0 };
                    let (left, right) = (values[p.left], values[p.right]);
                    slopes[p.left] += factor * right;
                    slopes[p.right] += factor * left;
                }
                node.linear.iter().for_each(|&(value, c)| slopes[value] += slope * c);
            }
            let own: f64 =
                noise.iter().zip(&slopes[1..]).map(|(noise, slope)| noise * noise * slope.norm_sqr()).sum();
            let value = values.last().copied().unwrap_or(ZERO);
            grid.value.push(value.norm());
            grid.derivative.push(slopes[0].norm());
            grid.noise.push(own.sqrt());
            grid.products.push(bounds.last().map_or(0.0, |own| own.1));
            grid.mean += value.re / count as f64;
        }
        grid
    }
}

/// A polynomial at points of an interval: magnitudes of values and derivatives, the root mean square of the
/// noise, a bound on what products of errors add, and the mean of the values.
struct Grid {
    value: Vec<f64>,
    derivative: Vec<f64>,
    noise: Vec<f64>,
    products: Vec<f64>,
    mean: f64,
}

/// Equidistant points of an interval, including its ends.
fn evenly(low: f64, high: f64, count: usize) -> impl ExactSizeIterator<Item = f64> {
    (0..count).map(move |point| low + (high - low) * point as f64 / (count - 1) as f64)
}

/// The extremes of a Chebyshev polynomial on an interval, at equidistant angles. There a polynomial of degree
/// `d` is one of degree `d` in the cosine.
fn extremes(low: f64, high: f64, count: usize) -> impl ExactSizeIterator<Item = f64> {
    let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0);
    (0..count).map(move |point| {
        (middle + half * (std::f64::consts::PI * point as f64 / (count - 1) as f64).cos()).clamp(low, high)
    })
}

/// A polynomial of degree `d` is at most `1 / cos(d w / 2)` times its largest value at [`extremes`], where
/// `w`, the distance of their angles, is at most `pi / (4 d)`.
const BETWEEN: f64 = 1.083;

/// The same factor for the root of a sum of squares of such polynomials, which has degree `2 d`: the root of
/// `1 / cos(pi / 4)`.
const BETWEEN_SQUARES: f64 = 1.19;

/// The same factor for sums of products of magnitudes of polynomials, degree `d` together, each of which may
/// be so much larger between the points.
const BETWEEN_PRODUCTS: f64 = 1.5;

/// Products of errors below this part of the bound on all errors are not counted: the factors above leave
/// more room.
const NEGLIGIBLE_PRODUCTS: f64 = 1e-3;

/// Number of points of a grid: a constant, and points per degree.
const POINTS: usize = 33;
const POINTS_PER_DEGREE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// `T_d(cos t) = cos(d t)`, summed with weights.
    fn series(weights: &[f64], t: f64) -> f64 {
        weights.iter().enumerate().map(|(d, weight)| weight * (d as f64 * t).cos()).sum()
    }

    #[test]
    fn a_polynomial_is_nowhere_larger_than_its_values_at_the_extremes_tell() {
        let mut random = 0x2545_f491_4f6c_dd1du64;
        let mut sign = || {
            random = random.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            (random >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        for degree in [1usize, 2, 7, 31, 63] {
            let count = POINTS + POINTS_PER_DEGREE * degree;
            let pure =
                |d: usize| (0..=degree).map(|index| f64::from(u8::from(index == d))).collect::<Vec<_>>();
            let mixed: Vec<Vec<f64>> = (0..20).map(|_| (0..=degree).map(|_| sign()).collect()).collect();
            for weights in mixed.iter().cloned().chain([pure(degree), pure(degree / 2)]) {
                let angles = (0..=20_000).map(|index| std::f64::consts::PI * f64::from(index) / 20_000.0);
                let [own, other] = [&weights, &mixed[0]];
                let most = angles.clone().map(|t| series(own, t).abs()).fold(0.0, f64::max);
                let most_of_squares =
                    angles.map(|t| series(own, t).hypot(series(other, t))).fold(0.0, f64::max);
                let points: Vec<f64> = extremes(-1.0, 1.0, count).map(f64::acos).collect();
                let told = points.iter().map(|&t| series(own, t).abs()).fold(0.0, f64::max);
                let told_of_squares =
                    points.iter().map(|&t| series(own, t).hypot(series(other, t))).fold(0.0, f64::max);
                assert!(
                    most <= BETWEEN * told && told <= most * (1.0 + 1e-6),
                    "degree {degree}: {most} and {told}"
                );
                assert!(most_of_squares <= BETWEEN_SQUARES * told_of_squares, "degree {degree}");
            }
        }
    }
}
