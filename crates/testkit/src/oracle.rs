//! The oracle: residues as big integers.

use clathrate_arith::Modulus;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

/// The product of the moduli.
#[must_use]
pub fn product(moduli: &[Modulus]) -> BigInt {
    moduli.iter().fold(BigInt::one(), |product, q| product * q.value())
}

/// `x mod q` in `[0, q)`.
#[must_use]
pub fn residue(x: &BigInt, q: &Modulus) -> u64 {
    let r = x.mod_floor(&BigInt::from(q.value()));
    r.iter_u64_digits().next().unwrap_or(0)
}

/// `x` centred modulo `q`, in `(-q/2, q/2]`.
#[must_use]
pub fn centre(x: &BigInt, q: &BigInt) -> BigInt {
    let r = x.mod_floor(q);
    if &r * 2 > *q { r - q } else { r }
}

/// The integers in `[0, Q)` whose residues are the given rows (Chinese remainder theorem).
#[must_use]
pub fn compose(rows: &[&[u64]], moduli: &[Modulus]) -> Vec<BigInt> {
    let q = product(moduli);
    let units: Vec<BigInt> = moduli
        .iter()
        .map(|modulus| {
            let cofactor = &q / modulus.value();
            let inverse = modulus.inverse(residue(&cofactor, modulus)).expect("distinct primes");
            cofactor * inverse
        })
        .collect();
    let degree = rows.first().map_or(0, |row| row.len());
    (0..degree)
        .map(|i| {
            let sum = rows.iter().zip(&units).fold(BigInt::zero(), |sum, (row, unit)| sum + unit * row[i]);
            sum.mod_floor(&q)
        })
        .collect()
}

/// [`compose`] with results centred modulo `Q`.
#[must_use]
pub fn compose_centred(rows: &[&[u64]], moduli: &[Modulus]) -> Vec<BigInt> {
    let q = product(moduli);
    compose(rows, moduli).iter().map(|x| centre(x, &q)).collect()
}

/// `round(x / d)` to the nearest integer (ties away from zero).
#[must_use]
pub fn round_div(x: &BigInt, d: &BigInt) -> BigInt {
    let twice = x.abs() * 2 + d;
    let quotient: BigInt = twice / (d * 2);
    if x.is_negative() { -quotient } else { quotient }
}

/// Negacyclic product of two integer polynomials, by the definition.
#[must_use]
pub fn negacyclic_product(x: &[BigInt], y: &[BigInt]) -> Vec<BigInt> {
    let n = x.len();
    let mut out = vec![BigInt::zero(); n];
    for (i, a) in x.iter().enumerate() {
        for (j, b) in y.iter().enumerate() {
            if i + j < n {
                out[i + j] += a * b;
            } else {
                out[i + j - n] -= a * b;
            }
        }
    }
    out
}

/// A big integer from an unsigned one, for tests that read constants.
#[must_use]
pub fn big(x: u64) -> BigInt {
    BigInt::from(BigUint::from(x))
}
