//! How large the error of a polynomial's circuit can get.
//!
//! Root mean squares add up whatever the dependence of the errors (Minkowski), so no independence is assumed between terms:
//!
//! ```text
//! e(x y) <= |x| e(y) + |y| e(x) + e(x) e(y),        e(sum c_i x_i) <= sum |c_i| e(x_i)
//! ```
//!
//! with magnitudes bounded by 1 for powers and by their largest value on the interval for parts. A bound, not an estimate: errors
//! of different origin rarely add up in one slot.

use crate::keys::Operation;

use super::plan::{PolynomialPlan, Product, Step};

impl PolynomialPlan {
    /// Root mean square of a slot's error in a fresh public-key encryption at the input's level and scale.
    #[must_use]
    pub fn fresh_error(&self) -> f64 {
        self.slot_error(self.params().noise_model().fresh_public(), self.input_scale())
    }

    /// Bound on the root mean square of a slot's error in the result, for inputs in the domain with an error of this root mean square.
    #[must_use]
    pub fn error(&self, input_error: f64) -> f64 {
        let (a, b) = self.polynomial().domain();
        let mut values = vec![(a.abs().max(b.abs()).max(1.0), input_error)];
        for step in &self.steps {
            let error = self.step_error(step, &values);
            values.push((step.magnitude.max(f64::MIN_POSITIVE), error));
        }
        values[values.len() - 1].1
    }

    /// From the variance of a coefficient to the root mean square of a slot: a slot is the sum of `n` coefficients times roots of unity.
    fn slot_error(&self, variance: f64, scale: f64) -> f64 {
        (variance * self.params().degree() as f64).sqrt() / scale
    }

    fn step_error(&self, step: &Step, values: &[(f64, f64)]) -> f64 {
        let sum_scale = self.sum_scale(step);
        let products = step.products.iter().map(|&Product { left, right, twice }| {
            let ((a, error_a), (b, error_b)) = (values[left], values[right]);
            (a * error_b + b * error_a + error_a * error_b) * if twice { 2.0 } else { 1.0 }
        });
        let linear = step.linear.iter().map(|&(operand, c)| {
            // A factor is rounded to an integer at the scale that is left for it.
            let rounding = if step.rescales() { 0.5 * self.scale_of(operand) / sum_scale } else { 0.0 };
            let (x, error) = values[operand];
            (c.abs() + rounding) * error + rounding * x
        });
        let constant = if step.constant == 0.0 { 0.0 } else { 0.5 / step.scale };
        products.sum::<f64>() + linear.sum::<f64>() + constant + self.slot_error(self.added_variance(step), step.scale)
    }

    /// What the relinearisation and the rescale add, in units of the result's integers.
    fn added_variance(&self, step: &Step) -> f64 {
        let (params, model) = (self.params(), self.params().noise_model());
        let rounding = if step.rescales() { model.rounding() } else { 0.0 };
        if step.products.is_empty() {
            return rounding;
        }
        let level = step.working_level();
        let divisor = params.step_product(level).log2();
        params.operation_variance(Operation::Multiply, level).map_or(rounding, |variance| variance * (-2.0 * divisor).exp2() + rounding)
    }
}
