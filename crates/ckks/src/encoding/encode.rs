//! Rounds numbers to the integers of polynomials.
//!
//! A scaled coefficient is rounded at random to one of the two neighbouring integers, so that the errors of
//! an array are independent for any numbers ([`Rounding`]). Where a transform or a product in double
//! precision would add more than an eighth of the rounding error, fixed point is used. A bound on the numbers
//! decides this, and no later step depends on the numbers, so the time of an encryption reveals only the
//! bound, or that a number was refused.
//!
//! Functions that branch on numbers, to refuse them or because there is no bound, are never inlined, so that
//! the constant-time test finds their names.

use clathrate_lattice::rounding::Rounding;
use clathrate_lattice::{Basis, Coeff, Eval, Level, Poly, Ring};
use rustfft::num_complex::Complex64;

use super::values::{ValuesRef, largest_magnitude};
use crate::arrays::Layout;
use crate::embedding::{Encoder, doubles_suffice, encoding_errors, scaled_integers, short_integers};
use crate::error::CkksError;
use crate::parameters::Params;

/// Largest magnitude of a scaled coefficient, in bits: it must be exact in an `i128`.
const COEFFICIENT_LIMIT_BITS: f64 = 120.0;

/// Bound on the encoding error in units of its worst root mean square: both parts of a normally distributed
/// complex number are below it with a probability of `1 - 2^-40`.
const ENCODING_TAIL: f64 = 7.7;

/// The root mean square of the error of an entry by encoding and decoding, in units of the numbers, and a
/// bound that it exceeds with a probability below `2^-40`. The error of the encryption is not included.
///
/// Numbers up to `largest` increase the error only by the rounding of the decoded double, which the bound
/// includes.
#[must_use]
pub fn encoding_error(layout: &Layout, largest: f64, scale: f64) -> (f64, f64) {
    // A number is the mean of the slots that repeat it.
    let terms = layout.coefficients_of_number(2 * layout.period());
    let (typical, worst) = encoding_errors(terms, scale);
    (typical, ENCODING_TAIL * worst + largest * f64::EPSILON / 2.0)
}

/// Products with the scale up to this limit have an error of at most an eighth in double precision.
const PRODUCT_LIMIT: f64 = (1u64 << 51) as f64;

/// Integers below this limit fit 64-bit words.
const SHORT_LIMIT: f64 = (1u64 << 62) as f64;

/// `round(coefficients * scale)` as a polynomial at `level`.
///
/// # Errors
/// [`CkksError::NotFinite`], [`CkksError::TooLarge`].
pub fn encode_coefficients(
    params: &Params,
    coefficients: Vec<f64>,
    scale: f64,
    level: Level,
) -> Result<Poly<Eval>, CkksError> {
    let largest = largest_magnitude(&coefficients);
    let rounding = Rounding::of(ValuesRef::from(&coefficients).name());
    encode_coefficients_below(params, coefficients, largest, (scale, rounding), level)
}

/// [`encode_coefficients`] for coefficients of at most the magnitude `largest`. The time depends on
/// `largest`, not on the coefficients.
#[inline(never)]
pub(crate) fn encode_coefficients_below(
    params: &Params,
    coefficients: Vec<f64>,
    largest: f64,
    (scale, rounding): (f64, Rounding),
    level: Level,
) -> Result<Poly<Eval>, CkksError> {
    let (ring, basis) = (params.chain().ring(), params.chain().basis(level));
    if !coefficients.iter().fold(true, |finite, value| finite & value.is_finite()) {
        let (index, &value) =
            coefficients.iter().enumerate().find(|(_, value)| !value.is_finite()).unwrap_or((0, &f64::NAN));
        return Err(CkksError::NotFinite { index, value, shape: None });
    }
    check_headroom(params, largest_magnitude(&coefficients), scale, level)?;
    if largest * scale <= PRODUCT_LIMIT {
        return Ok(round_short(ring, &basis, coefficients, (scale, rounding)).into_eval());
    }
    check_bits(largest, scale, level, COEFFICIENT_LIMIT_BITS)?;
    Ok(integers_to_poly(
        ring,
        &basis,
        scaled_integers(&coefficients, largest, scale, rounding),
        largest * scale,
    )
    .into_eval())
}

/// `round(coefficients * scale)` as a polynomial, for products below `2^62`.
fn round_short(
    ring: &Ring,
    basis: &Basis,
    coefficients: Vec<f64>,
    (scale, rounding): (f64, Rounding),
) -> Poly<Coeff> {
    Poly::from_signed(ring, basis, &short_integers(coefficients, scale, rounding))
}

/// `round(scale * m)` as a polynomial at `level`, for the polynomial `m` with `count` slots, which `fill`
/// writes; slots that it does not write are zero.
///
/// `largest` is a bound on the slots' magnitudes. It decides the precision of the transform, so the time
/// depends on it and not on the slots.
///
/// # Errors
/// [`CkksError::TooLarge`].
#[inline(never)]
pub(crate) fn encode_slots(
    params: &Params,
    count: usize,
    largest: f64,
    fill: impl FnOnce(&mut [Complex64]),
    (scale, rounding): (f64, Rounding),
    level: Level,
) -> Result<Poly<Eval>, CkksError> {
    let (ring, basis) = (params.chain().ring(), params.chain().basis(level));
    let headroom = (level, room_bits(params, level));
    Ok(slots_to_poly(params.encoder(), ring, &basis, (count, largest), fill, (scale, rounding), headroom)?
        .into_eval())
}

/// [`encode_slots`] over any basis of a ring of the encoder's degree. Coefficients have `headroom` bits; an
/// error names `level`.
///
/// # Errors
/// [`CkksError::TooLarge`], also for slots of more than 120 bits, for which the transform is not exact
/// enough.
fn slots_to_poly(
    encoder: &Encoder,
    ring: &Ring,
    basis: &Basis,
    (count, largest): (usize, f64),
    fill: impl FnOnce(&mut [Complex64]),
    (scale, rounding): (f64, Rounding),
    (level, headroom): (Level, f64),
) -> Result<Poly<Coeff>, CkksError> {
    if doubles_suffice(count, largest * scale) {
        let coefficients = encoder.embed_with(count, fill);
        check_bits(largest_magnitude(&coefficients), scale, level, headroom)?;
        return Ok(round_short(ring, basis, coefficients, (scale, rounding)));
    }
    check_bits(largest, scale, level, COEFFICIENT_LIMIT_BITS)?;
    let integers = encoder.embed_integers(count, largest, (scale, rounding), fill);
    let most = integers.iter().fold(0, |most, integer| integer.unsigned_abs().max(most));
    let most = (most >> 64) as u64 as f64 * 2f64.powi(64) + most as u64 as f64;
    check_bits(most / scale, scale, level, headroom)?;
    Ok(integers_to_poly(ring, basis, integers, largest * scale))
}

/// The polynomial with these coefficients, whose magnitudes are at most `largest`.
#[inline(never)]
fn integers_to_poly(ring: &Ring, basis: &Basis, integers: Vec<i128>, largest: f64) -> Poly<Coeff> {
    if largest < SHORT_LIMIT {
        let short: Vec<i64> = integers.into_iter().map(|integer| integer as i64).collect();
        return Poly::from_signed(ring, basis, &short);
    }
    wide_to_poly(ring, basis, &integers)
}

/// `round(scale * m)` for the polynomial `m` with the numbers of a diagonal in its slots.
pub(crate) fn diagonal_to_poly(
    encoder: &Encoder,
    ring: &Ring,
    basis: &Basis,
    diagonal: &[Complex64],
    scale: f64,
) -> Result<Poly<Eval>, CkksError> {
    let (largest, rounding) =
        (ValuesRef::from(diagonal).largest(), Rounding::of(ValuesRef::from(diagonal).name()));
    let fill = |slots: &mut [Complex64]| slots.copy_from_slice(diagonal);
    Ok(slots_to_poly(
        encoder,
        ring,
        basis,
        (diagonal.len(), largest),
        fill,
        (scale, rounding),
        (Level(0), COEFFICIENT_LIMIT_BITS),
    )?
    .into_eval())
}

/// The polynomial with these coefficients.
pub(crate) fn wide_to_poly(ring: &Ring, basis: &Basis, wide: &[i128]) -> Poly<Coeff> {
    Poly::<Coeff>::upload(ring, basis, |row, words| {
        let modulus = &ring.moduli()[basis.indices()[row]];
        words.iter_mut().zip(wide).for_each(|(target, &value)| *target = modulus.reduce_i128(value));
    })
}

/// Bits of the modulus that messages leave free: one for the sign, and one guard bit that detects overflows.
pub(super) const SIGN_BITS: f64 = 1.0;
pub(super) const GUARD_BITS: f64 = 1.0;

/// Refuses a magnitude above a quarter of the modulus of `level`. A magnitude above half the modulus would
/// wrap around; the range between is a guard.
///
/// # Errors
/// [`CkksError::TooLarge`].
#[inline(always)] // The test of constant time names the functions that refuse secret numbers.
pub fn check_headroom(params: &Params, largest: f64, scale: f64, level: Level) -> Result<(), CkksError> {
    check_bits(largest, scale, level, room_bits(params, level))
}

/// Bits of room for a coefficient, sign included.
fn room_bits(params: &Params, level: Level) -> f64 {
    (params.log2_q(level) - GUARD_BITS).min(COEFFICIENT_LIMIT_BITS)
}

/// The bound on the magnitudes that decides the precision of a transform: the declared bound, which is
/// public. If there is none, or it is too large for any transform, the largest magnitude.
pub(crate) fn deciding_magnitude(declared: Option<f64>, values: ValuesRef<'_>, scale: f64) -> f64 {
    let fits = |bound: &f64| check_bits(*bound, scale, Level(0), COEFFICIENT_LIMIT_BITS).is_ok();
    declared.filter(fits).unwrap_or_else(|| values.largest())
}

/// [`check_headroom`] for numbers that are not encoded at `scale`, but are factors of products at this scale.
///
/// # Errors
/// [`CkksError::TooLarge`].
pub fn check_product_headroom(
    params: &Params,
    largest: f64,
    scale: f64,
    level: Level,
) -> Result<(), CkksError> {
    check_bits(largest, scale, level, params.log2_q(level) - GUARD_BITS)
}

fn check_bits(largest: f64, scale: f64, level: Level, headroom: f64) -> Result<(), CkksError> {
    // A logarithm reads tables at addresses that depend on the number, so it is only computed for refused
    // numbers.
    let scaled = largest * scale + 1.0;
    if scaled.is_finite() && scaled <= (headroom - SIGN_BITS).exp2() {
        return Ok(());
    }
    let needed = scaled.log2() + SIGN_BITS;
    Err(CkksError::value_too_large(largest, scale.log2(), needed, headroom, level.0))
}
