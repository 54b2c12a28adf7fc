//! What the factors of the transforms between slots and coefficients do to sizes and errors.

use crate::circuits::linear::LinearTransform;

/// The square of the factor by which the map multiplies the norm of a vector: that of a row, because rows are orthogonal.
pub(super) fn gain(factor: &LinearTransform) -> f64 {
    factor.shifts().filter_map(|shift| factor.diagonal(shift as i64)).map(|diagonal| diagonal[0].norm_sqr()).sum()
}

/// `sqrt(2 p D)` over the norm of a row, for a map of period `p` with `D` diagonals: the relative error of its result, where diagonals are rounded at scale
/// `s`, is this over `sqrt(12) s`.
pub(super) fn rounding_weight(factor: &LinearTransform) -> f64 {
    (2.0 * factor.period() as f64 * factor.shifts().count() as f64 / gain(factor)).sqrt()
}
