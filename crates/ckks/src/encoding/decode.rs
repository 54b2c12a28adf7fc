//! Converts between real coefficients and residues: encoding rounds to integers, decoding composes residues by the Chinese remainder theorem.
//!
//! A message is small compared to the modulus, so a few primes determine it. Coefficients are composed in 128-bit integers from the shortest
//! prefix of primes that has at least 100 bits, and checked against one more prime. If the check fails, all primes are composed in big
//! integers. A coefficient that is too large for the prefix passes the check only by chance, with probability 2^-30.

use clathrate_arith::Modulus;
use clathrate_lattice::{Basis, Coeff, Eval, Level, Poly, Ring};
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

use crate::error::CkksError;
use crate::parameters::Params;

/// Bits of the prefix: its integers fit an `i128` with a sign.
const PREFIX_BITS: f64 = 100.0;
const PREFIX_LIMIT_BITS: f64 = 125.0;

/// Largest magnitude of a scaled coefficient, in bits: it must be exact in an `i128`.
const COEFFICIENT_LIMIT_BITS: f64 = 120.0;

/// `round(coefficients * scale)` as a polynomial at `level`.
///
/// # Errors
/// [`CkksError::NotFinite`], [`CkksError::ValueTooLarge`].
pub fn encode_coefficients(params: &Params, coefficients: Vec<f64>, scale: f64, level: Level) -> Result<Poly<Eval>, CkksError> {
    let ring = params.chain().ring();
    let basis = params.chain().basis(level);
    if !coefficients.iter().fold(true, |finite, value| finite & value.is_finite()) {
        let (index, &value) = coefficients.iter().enumerate().find(|(_, value)| !value.is_finite()).unwrap_or((0, &f64::NAN));
        return Err(CkksError::NotFinite { index, value });
    }
    check_room(params, largest_magnitude(&coefficients), scale, level)?;
    Ok(round_to_poly(ring, &basis, coefficients, scale)?.into_eval())
}

/// The largest magnitude, 0 of no values. In lanes that do not wait for each other, so that the compiler uses vectors.
fn largest_magnitude(values: &[f64]) -> f64 {
    let mut largest = [0.0f64; 8];
    let lanes = values.chunks_exact(largest.len());
    let rest = lanes.remainder().iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    for lane in lanes {
        largest.iter_mut().zip(lane).for_each(|(largest, value)| *largest = if value.abs() > *largest { value.abs() } else { *largest });
    }
    largest.into_iter().fold(rest, f64::max)
}

/// Magnitudes below this are rounded by adding [`ROUNDER`].
const FAST_LIMIT: f64 = (1u64 << 51) as f64;

/// A number of at most half this magnitude plus this number has the integer, rounded to the nearest and to even at ties, in its last bits, because
/// doubles of this size are integers. Processors without an instruction for rounding vectors have additions of vectors.
const ROUNDER: f64 = (3u64 << 51) as f64;

/// `round(coefficients * scale)` as a polynomial of `ring`, whose degree is the number of coefficients, over `basis`.
///
/// # Errors
/// [`CkksError::ValueTooLarge`] above 120 bits, beyond which integers are not exact.
pub(crate) fn round_to_poly(ring: &Ring, basis: &Basis, coefficients: Vec<f64>, scale: f64) -> Result<Poly<Coeff>, CkksError> {
    let largest = largest_magnitude(&coefficients);
    if largest * scale < FAST_LIMIT {
        // In the memory of the coefficients: a collected `Vec` of the same size reuses it.
        let round = |c: f64| (c * scale + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits()).cast_signed();
        let values: Vec<i64> = coefficients.into_iter().map(round).collect();
        return Ok(Poly::from_signed(ring, basis, &values));
    }
    if largest * scale < 2f64.powi(62) {
        let values: Vec<i64> = coefficients.into_iter().map(|c| (c * scale).round_ties_even() as i64).collect();
        return Ok(Poly::from_signed(ring, basis, &values));
    }
    let needed = (largest * scale).log2();
    if needed > COEFFICIENT_LIMIT_BITS {
        let room = COEFFICIENT_LIMIT_BITS;
        return Err(CkksError::ValueTooLarge { value: largest, log2_scale: scale.log2(), needed, room, level: 0 });
    }
    let wide: Vec<i128> = coefficients.iter().map(|&c| (c * scale).round_ties_even() as i128).collect();
    Ok(wide_to_poly(ring, basis, &wide))
}

/// The polynomial with these coefficients.
pub(crate) fn wide_to_poly(ring: &Ring, basis: &Basis, wide: &[i128]) -> Poly<Coeff> {
    Poly::<Coeff>::upload(ring, basis, |row, words| {
        let modulus = &ring.moduli()[basis.indices()[row]];
        words.iter_mut().zip(wide).for_each(|(target, &value)| *target = modulus.reduce_i128(value));
    })
}

/// Bits of the modulus that messages leave free: one for the sign, and one guard bit that shows overflows.
const SIGN_BITS: f64 = 1.0;
const GUARD_BITS: f64 = 1.0;

/// How far a decrypted coefficient may exceed the encodable range because of noise, in bits.
const NOISE_SLACK_BITS: f64 = 0.1;

/// Refuses a magnitude above a quarter of the modulus of `level`. A magnitude above half the modulus would wrap around; the range between is a guard.
///
/// # Errors
/// [`CkksError::ValueTooLarge`].
pub fn check_room(params: &Params, largest: f64, scale: f64, level: Level) -> Result<(), CkksError> {
    check_bits(largest, scale, level, (params.log2_q(level) - GUARD_BITS).min(COEFFICIENT_LIMIT_BITS))
}

/// As [`check_room`], for numbers that are not encoded at `scale`, but factors of products which have it.
///
/// # Errors
/// [`CkksError::ValueTooLarge`].
pub fn check_product_room(params: &Params, largest: f64, scale: f64, level: Level) -> Result<(), CkksError> {
    check_bits(largest, scale, level, params.log2_q(level) - GUARD_BITS)
}

fn check_bits(largest: f64, scale: f64, level: Level, room: f64) -> Result<(), CkksError> {
    let needed = (largest * scale + 1.0).log2() + SIGN_BITS;
    if needed <= room {
        return Ok(());
    }
    Err(CkksError::ValueTooLarge { value: largest, log2_scale: scale.log2(), needed, room, level: level.0 })
}

/// Refuses decrypted coefficients (already divided by `scale`) that reach into the guard, above a quarter of the modulus.
///
/// Of numbers that overflowed and are spread evenly modulo the modulus, every second one is in the guard. This finds most overflows but does not prove that
/// there was none.
///
/// # Errors
/// [`CkksError::Overflow`].
pub fn check_guard(params: &Params, coefficients: &[f64], scale: f64, level: Level) -> Result<(), CkksError> {
    let limit = params.log2_q(level) - SIGN_BITS - GUARD_BITS;
    // A coefficient that is too large for a double is infinite, and so is its logarithm.
    let largest = coefficients.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    if largest.log2() + scale.log2() <= limit + NOISE_SLACK_BITS {
        return Ok(());
    }
    Err(CkksError::Overflow { log2_scale: scale.log2(), level: level.0, log2_limit: limit - scale.log2() })
}

/// The primes of a level that decryption reads first: a prefix of the basis, and whether the prefix is shorter than the basis.
#[must_use]
pub fn deciding_basis(params: &Params, level: Level) -> (Basis, bool) {
    let basis = params.chain().basis(level);
    let (prefix, check) = prefix_length(&basis, params.chain().ring().moduli());
    let length = prefix + usize::from(check);
    (Basis::new(basis.indices()[..length].iter().copied()), length < basis.len())
}

/// Length of the prefix that coefficients are composed from, and whether a check prime follows.
fn prefix_length(basis: &Basis, moduli: &[Modulus]) -> (usize, bool) {
    let mut bits = 0.0;
    for (length, &index) in basis.indices().iter().enumerate() {
        let next = (moduli[index].value() as f64).log2();
        if bits >= PREFIX_BITS || bits + next > PREFIX_LIMIT_BITS {
            return (length, true);
        }
        bits += next;
    }
    (basis.len(), false)
}

/// Centred coefficients divided by `scale`; `None` if the given primes do not determine the coefficients and the level has more primes.
#[must_use]
pub fn decode_coefficients(poly: &Poly<Coeff>, scale: f64, complete: bool) -> Option<Vec<f64>> {
    let (basis, moduli) = (poly.basis(), poly.ring().moduli());
    let (prefix, check) = prefix_length(basis, moduli);
    let primes: Vec<Modulus> = basis.indices().iter().map(|&i| moduli[i]).collect();
    let (words, degree) = (poly.download(), poly.ring().degree());
    let rows: Vec<&[u64]> = words.chunks_exact(degree).collect();
    if let Some(values) = compose_short(&rows, &primes[..prefix], check.then(|| &primes[prefix]), scale) {
        return Some(values);
    }
    complete.then(|| compose_long(&rows, &primes).iter().map(|v| v.to_f64().unwrap_or(f64::NAN) / scale).collect())
}

/// Mixed-radix composition in 128 bits, divided by `scale`; `None` where the check prime disagrees.
fn compose_short(rows: &[&[u64]], primes: &[Modulus], check: Option<&Modulus>, scale: f64) -> Option<Vec<f64>> {
    // radix[i] = q_0 .. q_{i-1}; inverse[i] = its inverse modulo q_i.
    let mut radix = vec![1i128];
    for q in primes {
        radix.push(radix[radix.len() - 1] * i128::from(q.value()));
    }
    let inverses: Vec<u64> = primes.iter().zip(&radix).map(|(q, &r)| q.inverse(q.reduce_i128(r))).collect::<Option<_>>()?;
    let inverses: Vec<_> = primes.iter().zip(inverses).map(|(q, inverse)| q.multiplier(inverse)).collect();
    let half = radix[primes.len()] / 2;
    (0..rows.first().map_or(0, |row| row.len()))
        .map(|column| {
            let mut value = 0i128;
            for (i, q) in primes.iter().enumerate() {
                let difference = q.sub(rows[i][column], q.reduce_u128(value.unsigned_abs()));
                value += radix[i] * i128::from(q.mul_prepared(difference, inverses[i]));
            }
            if value > half {
                value -= radix[primes.len()];
            }
            let agrees = check.is_none_or(|q| q.reduce_i128(value) == rows[primes.len()][column]);
            agrees.then_some(value as f64 / scale)
        })
        .collect()
}

fn compose_long(rows: &[&[u64]], primes: &[Modulus]) -> Vec<BigInt> {
    let product = primes.iter().fold(BigInt::one(), |product, q| product * q.value());
    let half: BigInt = &product / 2;
    let units: Vec<BigInt> = primes
        .iter()
        .map(|q| {
            let cofactor: BigInt = &product / q.value();
            let residue = (&cofactor % q.value()).to_u64().unwrap_or(0);
            cofactor * q.inverse(residue).unwrap_or(0)
        })
        .collect();
    (0..rows.first().map_or(0, |row| row.len()))
        .map(|column| {
            let sum = units.iter().enumerate().fold(BigInt::zero(), |sum, (i, unit)| sum + unit * rows[i][column]);
            let value = sum % &product;
            if value > half { value - &product } else { value }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_rounding_is_rounding_to_even() {
        let edges =
            [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.499_999_999_999_999_94, -0.0, 1e15 + 0.5, FAST_LIMIT - 0.25, 0.25 - FAST_LIMIT];
        for value in edges.into_iter().chain((0..4000).map(|i| f64::from(i - 2000) * 0.125 + 1e14)) {
            let fast = (value + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits()).cast_signed();
            assert_eq!(fast, value.round_ties_even() as i64, "{value}");
        }
    }

    #[test]
    fn largest_magnitude_reads_every_place() {
        for len in [0usize, 1, 7, 8, 9, 24, 31] {
            for place in 0..len {
                let mut values = vec![0.25; len];
                values[place] = -3.0;
                assert_eq!(largest_magnitude(&values), 3.0);
            }
            assert_eq!(largest_magnitude(&vec![0.0; len]), 0.0);
        }
    }
}
