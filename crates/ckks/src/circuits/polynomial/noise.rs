//! How large the error of a polynomial's circuit can get.
//!
//! Root mean squares add up whatever the dependence of the errors (Minkowski), so no independence is assumed between terms:
//!
//! ```text
//! e(x y) <= |x| e(y) + |y| e(x) + e(x) e(y),        e(sum c_i x_i) <= sum |c_i| e(x_i)
//! ```
//!
//! (as for any circuit, [`crate::arrays::estimate`]) with magnitudes bounded by 1 for powers and by their largest value on the interval for parts. A bound, not an estimate: errors
//! of different origin rarely add up in one slot.
//!
//! Each node adds the noise of the rank it is computed at, and an operand of a higher rank the noise of its reduction to that rank.

use std::f64::consts::FRAC_1_SQRT_2;

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::ZERO;
use super::node::{Node, Product, Scaling};
use super::plan::PolynomialPlan;
use crate::arrays::Estimate;
use crate::keys::Operation;
use crate::parameters::Params;

/// Largest error of rounding a number's scaled parts to integers.
fn rounding_of(c: Complex64) -> f64 {
    if c.im == 0.0 { 0.5 } else { FRAC_1_SQRT_2 }
}

impl PolynomialPlan {
    /// Root mean square of a slot's error in a fresh public-key encryption at the input's level and scale.
    #[must_use]
    pub fn fresh_error(&self) -> f64 {
        self.slot_error(self.params.noise_model().fresh_public(), self.input_scale())
    }

    /// Bound on the root mean square of a slot's error in the result, for inputs in the domain with an error of this root mean square, and the keys of
    /// [`PolynomialPlan::needs`].
    #[must_use]
    pub fn error(&self, input_error: f64) -> f64 {
        self.estimate(Estimate { magnitude: self.domain_magnitude(), error: input_error }).error
    }

    /// As [`PolynomialPlan::error`], with a bound on the result's numbers. Both are infinite where the bound on the input's numbers exceeds every number of
    /// the domain: outside, a polynomial is not bounded.
    #[must_use]
    pub fn estimate(&self, input: Estimate) -> Estimate {
        let magnitude = self.domain_magnitude();
        if input.magnitude > magnitude {
            return Estimate { magnitude: f64::INFINITY, error: f64::INFINITY };
        }
        let mut values = vec![(Estimate { magnitude: magnitude.max(1.0), ..input }, self.params.rank())];
        for node in &self.nodes {
            let error = self.node_error(node, &values);
            let rank = self.rank_at(node.working_level());
            values.push((Estimate { magnitude: node.magnitude.max(f64::MIN_POSITIVE), error }, rank));
        }
        values[values.len() - 1].0
    }

    /// The largest magnitude of a number of the domain.
    fn domain_magnitude(&self) -> f64 {
        let (a, b) = self.polynomial.domain();
        a.abs().max(b.abs())
    }

    /// From the variance of a coefficient to the root mean square of a slot: a slot is the sum of `n` coefficients times roots of unity.
    fn slot_error(&self, variance: f64, scale: f64) -> f64 {
        (variance * self.params.degree() as f64).sqrt() / scale
    }

    fn node_error(&self, node: &Node, values: &[(Estimate, usize)]) -> f64 {
        let sum_scale = self.sum_scale(node);
        let operand = |value: usize| {
            let (estimate, rank) = values[value];
            estimate.with_error(self.slot_error(self.reduction_variance(rank, node.working_level()), self.scale_of(value)))
        };
        let products = node
            .products
            .iter()
            .map(|&Product { left, right, twice }| operand(left).multiply(operand(right)).error * if twice { 2.0 } else { 1.0 });
        let linear = node.linear.iter().map(|&(value, c)| {
            // A factor is rounded to an integer at the scale that is left for it. Where the operand is only divided, no scale is left, and the factor is an integer.
            let exact = matches!(node.scaling, Scaling::Kept | Scaling::Divided);
            let rounding = if exact { 0.0 } else { rounding_of(c) * self.scale_of(value) / sum_scale };
            let Estimate { magnitude, error } = operand(value);
            (c.norm() + rounding) * error + rounding * magnitude
        });
        let constant = if node.constant == ZERO { 0.0 } else { rounding_of(node.constant) / node.scale };
        products.sum::<f64>() + linear.sum::<f64>() + constant + self.slot_error(self.added_variance(node), node.scale)
    }

    /// What the relinearisation and the rescale add at the node's rank, in units of the result's integers.
    fn added_variance(&self, node: &Node) -> f64 {
        let level = node.working_level();
        let params = self.params_at(self.rank_at(level));
        let rounding = if node.rescales() { params.noise_model().rounding() } else { 0.0 };
        if node.products.is_empty() {
            return rounding;
        }
        let divisor = params.step_product(level).log2();
        let variance = params.operation_variance_by(Operation::Multiply, level, self.key_level(params.rank()).max(level));
        variance.map_or(rounding, |variance| variance * (-2.0 * divisor).exp2() + rounding)
    }

    /// What the reductions of a value of rank `from` to the rank of `level` add, in units of its integers: one switch per rank of the schedule between.
    fn reduction_variance(&self, from: usize, level: Level) -> f64 {
        let Some(schedule) = &self.schedule else { return 0.0 };
        let to = self.rank_at(level);
        let ranks = schedule.relatives().iter().map(Params::rank).filter(|&rank| (to..from).contains(&rank));
        let mut high = from;
        let mut variance = 0.0;
        for rank in ranks {
            let reach = self.key_level(rank).max(level);
            variance += self.params_at(high).operation_variance_by(Operation::ReduceRank(rank), level, reach).unwrap_or(0.0);
            high = rank;
        }
        variance
    }

    /// The parameters at one of the ranks of the schedule.
    fn params_at(&self, rank: usize) -> &Params {
        let relatives = self.schedule.as_ref().map_or(&[][..], |schedule| schedule.relatives());
        relatives.iter().find(|params| params.rank() == rank).unwrap_or(&self.params)
    }

    /// The level that the keys of `rank` reach: that of the highest node there.
    fn key_level(&self, rank: usize) -> Level {
        let highest = match &self.schedule {
            Some(schedule) => schedule.rows().iter().filter(|row| row.rank == rank).map(|row| row.level).max(),
            None => self.needs().reach_of(Operation::Multiply).map(|reach| reach.level(self.params.max_level()).0),
        };
        Level(highest.unwrap_or(0))
    }
}
