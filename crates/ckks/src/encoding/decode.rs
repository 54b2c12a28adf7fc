//! Converts residues to real coefficients: decoding composes residues by the Chinese remainder theorem.
//!
//! A message is small compared to the modulus, so a few primes determine it. Coefficients are composed in
//! 128-bit integers from the shortest prefix of primes that has at least 100 bits, and checked against one
//! more prime. If the check fails, all primes are composed in big integers. A coefficient that is too large
//! for the prefix passes the check only by chance, with probability 2^-30.
//!
//! Functions that branch on numbers are never inlined, so that the constant-time test finds their names.

use std::borrow::Cow;

use clathrate_arith::Modulus;
use clathrate_lattice::rounding::quotient;
use clathrate_lattice::{Basis, Coeff, Level, Poly};
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

use super::encode::{GUARD_BITS, SIGN_BITS};
use super::values::largest_magnitude;
use crate::embedding::Integers;
use crate::error::CkksError;
use crate::parameters::Params;

/// Bits of the prefix: its integers fit a signed `i128`.
const PREFIX_BITS: f64 = 100.0;
const PREFIX_LIMIT_BITS: f64 = 125.0;

/// Bits by which noise may take a decrypted coefficient beyond the encodable range.
const NOISE_SLACK_BITS: f64 = 0.1;

/// Refuses decrypted coefficients (already divided by `scale`) in the guard range, above a quarter of the
/// modulus.
///
/// Half of the numbers that overflowed and are uniform modulo the modulus are in the guard range. So the
/// check finds most overflows, but does not prove that there was none.
///
/// # Errors
/// [`CkksError::TooLarge`].
#[inline(never)]
pub fn check_guard(params: &Params, coefficients: &[f64], scale: f64, level: Level) -> Result<(), CkksError> {
    let limit = params.log2_q(level) - SIGN_BITS - GUARD_BITS;
    // A coefficient too large for a double is infinite.
    let largest = largest_magnitude(coefficients);
    // Compares without a logarithm of the number, which would read tables at addresses that depend on it.
    if largest.is_finite() && largest <= (limit + NOISE_SLACK_BITS - scale.log2()).exp2() {
        return Ok(());
    }
    Err(CkksError::overflow(scale.log2(), level.0, limit - scale.log2()))
}

/// The primes of a level that decryption reads first: a prefix of the basis, and whether it is shorter than
/// the basis.
#[must_use]
pub fn deciding_basis(params: &Params, level: Level) -> (Basis, bool) {
    let basis = params.chain().basis(level);
    let (prefix, check) = prefix_length(&basis, params.chain().ring().moduli());
    let length = prefix + usize::from(check);
    (Basis::new(basis.indices()[..length].iter().copied()), length < basis.len())
}

/// The number of primes that coefficients are composed from, and whether a check prime follows.
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

/// Centred coefficients divided by `scale`; `None` if the given primes do not determine the coefficients and
/// the level has more primes (`complete` is false).
#[must_use]
#[inline(never)]
pub fn decode_coefficients(poly: &Poly<Coeff>, scale: f64, complete: bool) -> Option<Vec<f64>> {
    let residues = Residues::new(poly);
    let short = residues.compose_short().map(|words| quotients(&words, scale));
    short.or_else(|| {
        let quotient = |value: &BigInt| value.to_f64().unwrap_or(f64::NAN) / scale;
        complete.then(|| compose_long(&residues.rows(), &residues.primes).iter().map(quotient).collect())
    })
}

/// Integers divided by `scale`. The time reveals whether one of them has more than 53 bits.
fn quotients(words: &[i128], scale: f64) -> Vec<f64> {
    let ones = words.iter().fold(0, |ones, word| ones | word.unsigned_abs());
    if ones >> 53 == 0 {
        return words.iter().map(|&word| word as i64 as f64 / scale).collect();
    }
    // A conversion to double and a division would round large numbers twice.
    words.iter().map(|&word| quotient(word, 0, scale)).collect()
}

/// The centred coefficients of a polynomial that [`decode_coefficients`] has decoded.
pub(crate) fn centred_integers(poly: &Poly<Coeff>) -> Integers {
    let residues = Residues::new(poly);
    match residues.compose_short() {
        Some(words) => Integers { words, shift: 0 },
        None => compose_long(&residues.rows(), &residues.primes).into(),
    }
}

/// The residues of a polynomial, read once.
struct Residues<'p> {
    words: Cow<'p, [u64]>,
    degree: usize,
    primes: Vec<Modulus>,
    /// Number of primes that coefficients are composed from, and whether the next prime checks them.
    prefix: (usize, bool),
}

impl<'p> Residues<'p> {
    fn new(poly: &'p Poly<Coeff>) -> Self {
        let (basis, moduli) = (poly.basis(), poly.ring().moduli());
        Self {
            words: poly.download(),
            degree: poly.ring().degree(),
            primes: basis.indices().iter().map(|&i| moduli[i]).collect(),
            prefix: prefix_length(basis, moduli),
        }
    }

    fn rows(&self) -> Vec<&[u64]> {
        self.words.chunks_exact(self.degree).collect()
    }

    /// The centred coefficients, composed from the first primes; `None` if the check prime disagrees.
    fn compose_short(&self) -> Option<Vec<i128>> {
        let (prefix, check) = self.prefix;
        compose_short(&self.rows(), &self.primes[..prefix], check.then(|| &self.primes[prefix]))
    }
}

/// Mixed-radix composition in 128 bits; `None` if the check prime disagrees. The time does not depend on the
/// coefficients.
#[inline(never)] // Tests know the branch on numbers by the name of this function.
fn compose_short(rows: &[&[u64]], primes: &[Modulus], check: Option<&Modulus>) -> Option<Vec<i128>> {
    // radix[i] = q_0 .. q_{i-1}; inverse[i] = its inverse modulo q_i.
    let mut radix = vec![1i128];
    for q in primes {
        radix.push(radix[radix.len() - 1] * i128::from(q.value()));
    }
    let inverses: Vec<u64> =
        primes.iter().zip(&radix).map(|(q, &r)| q.inverse(q.reduce_i128(r))).collect::<Option<_>>()?;
    let inverses: Vec<_> = primes.iter().zip(inverses).map(|(q, inverse)| q.multiplier(inverse)).collect();
    let half = radix[primes.len()] / 2;
    let mut agree = true;
    let composed = (0..rows.first().map_or(0, |row| row.len()))
        .map(|column| {
            let mut value = 0i128;
            for (i, q) in primes.iter().enumerate() {
                let difference = q.sub(rows[i][column], q.reduce_u128(value.unsigned_abs()));
                value += radix[i] * i128::from(q.mul_shoup(difference, inverses[i]));
            }
            // All ones if the value is above half: the sign of the difference.
            value -= radix[primes.len()] & ((half - value) >> (i128::BITS - 1));
            agree &= check.is_none_or(|q| q.reduce_i128(value) == rows[primes.len()][column]);
            value
        })
        .collect();
    agree.then_some(composed)
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
            let sum =
                units.iter().enumerate().fold(BigInt::zero(), |sum, (i, unit)| sum + unit * rows[i][column]);
            let value = sum % &product;
            if value > half { value - &product } else { value }
        })
        .collect()
}
