//! The factors of the transforms between slots and coefficients: their scales, their plans, and their effect
//! on sizes and errors.

use std::sync::Arc;

use clathrate_lattice::Level;

use super::{LinearTransform, LinearTransformOptions, LinearTransformPlan};
use crate::embedding::encoding_errors;
use crate::error::CkksError;
use crate::parameters::Params;

/// Predicted variances of chains of linear maps differ from measured ones by up to 20 %, so bounds multiply
/// them by this factor.
pub(in crate::circuits) const PREDICTION_MARGIN: f64 = 1.25;

/// The square of the factor by which the map multiplies the norm of a vector: the square of a row's norm,
/// because rows are orthogonal.
fn gain(factor: &LinearTransform) -> f64 {
    factor
        .shifts()
        .filter_map(|shift| factor.diagonal(shift as i64))
        .map(|diagonal| diagonal[0].norm_sqr())
        .sum()
}

/// `sqrt(2 p D)` divided by the norm of a row, for a map of period `p` with `D` diagonals. If diagonals are
/// rounded at scale `s`, the relative error of the result is this weight divided by `sqrt(6) s`.
pub(in crate::circuits) fn rounding_weight(factor: &LinearTransform) -> f64 {
    (2.0 * factor.period() as f64 * factor.shifts().count() as f64 / gain(factor)).sqrt()
}

/// The square of the relative error of rounding the diagonals.
pub(in crate::circuits) fn diagonals_error(factor: &LinearTransform, scale: f64) -> f64 {
    (rounding_weight(factor) * encoding_errors(1, scale).0).powi(2)
}

/// The product of the gains of `plans` from index `first` on.
pub(in crate::circuits) fn gain_from(plans: &[LinearTransformPlan], first: usize) -> f64 {
    plans[first..].iter().map(|plan| gain(plan.transform())).product()
}

/// Distributes `total` bits of scale among the factors. Rounding a factor's diagonals causes a relative error
/// proportional to `sqrt(2 p D) / 2^(w/2)` divided by its scale (`p` the period, `D` the number of diagonals,
/// `2^w` of them nonzero in a row); the sum of the squares is minimal if all are equal.
fn scale_bits(factors: &[Arc<LinearTransform>], total: f64) -> Vec<f64> {
    let weights: Vec<f64> = factors.iter().map(|factor| rounding_weight(factor).log2()).collect();
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let each = total / factors.len() as f64;
    weights.iter().map(|weight| each + weight - mean).collect()
}

/// Plans `factors` from `level` down, from `input_scale` to `output_scale`.
pub(in crate::circuits) fn plan_factors(
    params: &Params,
    factors: &[Arc<LinearTransform>],
    level: Level,
    (input_scale, output_scale): (f64, f64),
    bodies: usize,
) -> Result<Vec<LinearTransformPlan>, CkksError> {
    let steps = (0..factors.len()).map(|index| params.step_product(Level(level.0 - index)));
    let total = steps.map(f64::log2).sum::<f64>() + output_scale.log2() - input_scale.log2();
    let mut scale = input_scale;
    let mut plans = Vec::with_capacity(factors.len());
    for (index, (factor, bits)) in factors.iter().zip(scale_bits(factors, total)).enumerate() {
        let at = Level(level.0 - index);
        // The last factor has exactly the output scale.
        let output = if index + 1 == factors.len() {
            output_scale
        } else {
            scale * bits.exp2() / params.step_product(at)
        };
        let (input_scale, output_scale, bodies) = (Some(scale), Some(output), Some(bodies));
        let options =
            LinearTransformOptions { input_scale, output_scale, bodies, ..LinearTransformOptions::default() };
        plans.push(factor.plan_of(params, at, options)?);
        scale = output;
    }
    Ok(plans)
}
