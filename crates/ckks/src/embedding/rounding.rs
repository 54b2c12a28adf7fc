//! The errors of rounding the coefficients of encoded arrays to integers.

use super::DOUBLE_SHARE;

/// The root mean square of the error that encoding and decoding cause in a sum of `terms` coefficients times
/// factors of magnitude 1, in units of numbers at this scale: for scaled numbers uniform between integers,
/// and a bound on it, for numbers half-way between integers.
///
/// Rounding errors are independent and each is in an interval of length 1, so their sums have no heavier
/// tails than normal errors of the larger variance (Hoeffding 1963, Theorem 2).
pub(crate) fn encoding_errors(terms: usize, scale: f64) -> (f64, f64) {
    let of = |variance: f64| error_of(terms, variance) / scale;
    (of(1.0 / 6.0), of(1.0 / 4.0))
}

/// The root mean square of [`encoding_errors`] for arrays that are rounded to the nearest integers.
pub(crate) fn mask_error(terms: usize, scale: f64) -> f64 {
    error_of(terms, 1.0 / 12.0) / scale
}

/// Whether a mask with this scaled number can be rounded to the nearest integers. The coefficients of a mask
/// of one slot are `A cos(t angle)` with `A = 2 scaled / n`. Their rounding errors sum in that slot to about
/// `n / (8 sqrt(A))` (the Bessel function of the sawtooth's first harmonic). For `A >= n / 8` this is below
/// the root mean square of random rounding, `sqrt(n / 12)`.
pub(crate) fn is_fine(degree: usize, scaled: f64) -> bool {
    scaled.abs() >= (degree as f64 / 4.0).powi(2)
}

/// Each of the two transforms adds at most an eighth of the root mean square of rounding to the nearest
/// integer, for numbers of any magnitude.
fn error_of(terms: usize, variance: f64) -> f64 {
    (terms as f64 * (variance + 2.0 * DOUBLE_SHARE * DOUBLE_SHARE / 12.0)).sqrt()
}
