//! Writes a digit as an integer in limbs, which is computed once from the digit's residues and then reduced
//! modulo each of the moduli to which the digit is extended.
//!
//! `r` residues give `x = sum_i y_i D/q_i - z D` ([`crate::conversion`]). Without limbs, each of dozens of
//! target moduli computes a sum of `r + 1` terms. If the integer `x + H >= 0` is written in `m` limbs of 48
//! bits, a target sums only `m` terms, the first with weight 1:
//!
//! ```text
//! x mod p = u_0 + sum_l u_l [2^48l]_p + [-H]_p,      x + H = sum_l u_l 2^48l
//! ```
//!
//! Four primes of 36 bits make three limbs: two products per target instead of five.

use crate::modulus::{Modulus, Multiplier};

/// Bits of all limbs but the highest.
pub const LIMB_BITS: u32 = 48;

/// Bytes of a limb that is not the highest.
pub const LIMB_BYTES: usize = 6;

/// Largest number of bits of the highest limb, which must stay below 2^52 as an operand of a product.
pub const TOP_BITS: u32 = 51;

/// Largest number of limbs of a form.
pub const MAX_LIMBS: usize = 16;

/// Largest number of sources: the accumulators of a limb hold this many terms.
pub const MAX_SOURCES: usize = 64;

/// Largest number of bits of a source modulus.
pub const SOURCE_BITS: u32 = 52;

/// The floating-point quotient may be off by one near the boundary, so a centred value can exceed `D/2`
/// slightly; the offset reserves `D` over this power of two.
const SLACK_BITS: u32 = 32;

/// Smallest number of targets per source for which converting a division's remainders to limbs pays.
const DIVISION_TARGETS: usize = 3;

/// Smallest number of words of quotients for which limbs pay. Fewer words fit the caches, where separate
/// steps are as fast.
const DIVISION_WORDS: usize = 1 << 19;

/// Whether a division of `polys` polynomials of `degree` from `sources` moduli to `targets` reads its
/// remainders in limbs, if the kernels can.
#[must_use]
pub fn serve_division(sources: usize, targets: usize, polys: usize, degree: usize) -> bool {
    targets >= DIVISION_TARGETS * sources && polys * targets * degree >= DIVISION_WORDS
}

/// The constants that convert residues of the source moduli to limbs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimbForm {
    /// Per source: the limbs of `D/q_i`.
    pub sources: Vec<Vec<u64>>,
    /// The limbs of `D` if the conversion is centred, which subtracts `z D`.
    pub modulus: Option<Vec<u64>>,
    /// The limbs of `H`.
    pub offset: Vec<u64>,
    /// Bits of the highest limb.
    pub top_bits: u32,
}

/// `x * y`.
fn times(x: &[u64], y: u64) -> Vec<u64> {
    let mut carry = 0u128;
    let mut out: Vec<u64> = x
        .iter()
        .map(|&limb| {
            carry += u128::from(limb) * u128::from(y);
            let low = carry as u64 & mask();
            carry >>= LIMB_BITS;
            low
        })
        .collect();
    while carry > 0 {
        out.push(carry as u64 & mask());
        carry >>= LIMB_BITS;
    }
    out
}

/// `x + y + 1`, one limb longer than the longer operand.
fn plus_and_one(x: &[u64], y: &[u64]) -> Vec<u64> {
    let mut carry = 1;
    (0..=x.len().max(y.len()))
        .map(|i| {
            carry += x.get(i).unwrap_or(&0) + y.get(i).unwrap_or(&0);
            let low = carry & mask();
            carry >>= LIMB_BITS;
            low
        })
        .collect()
}

/// `floor(x / 2^shift)` for `shift` below the bits of a limb.
fn shifted(x: &[u64], shift: u32) -> Vec<u64> {
    (0..x.len())
        .map(|i| (x[i] >> shift) | (x.get(i + 1).unwrap_or(&0) << (LIMB_BITS - shift)) & mask())
        .collect()
}

fn bits(x: &[u64]) -> u32 {
    x.iter().rposition(|&limb| limb > 0).map_or(0, |i| i as u32 * LIMB_BITS + 64 - x[i].leading_zeros())
}

const fn mask() -> u64 {
    (1 << LIMB_BITS) - 1
}

/// The lowest `count` limbs, the last of them extended by the bits of the limb above it.
fn fit(x: &[u64], count: usize) -> Vec<u64> {
    let mut out: Vec<u64> = (0..count).map(|i| x.get(i).copied().unwrap_or(0)).collect();
    if let (Some(last), Some(above)) = (out.last_mut(), x.get(count)) {
        *last |= above << LIMB_BITS;
    }
    out
}

impl LimbForm {
    /// The form for the given source moduli; `None` where there are too many or they are too wide.
    #[must_use]
    pub fn new(moduli: &[u64], centred: bool) -> Option<Self> {
        if moduli.is_empty() || moduli.len() > MAX_SOURCES || moduli.iter().any(|q| q >> SOURCE_BITS > 0) {
            return None;
        }
        let product = |skip: usize| {
            moduli
                .iter()
                .enumerate()
                .filter(|&(i, _)| i != skip)
                .fold(vec![1], |product, (_, &q)| times(&product, q))
        };
        let whole = product(usize::MAX);
        // H = D/2 + D/2^32 + 1, and then 0 <= x + H < D + D/2^31 + 2; else 0 <= x < r D.
        let (offset, bound) = if centred {
            (
                plus_and_one(&shifted(&whole, 1), &shifted(&whole, SLACK_BITS)),
                plus_and_one(&whole, &shifted(&whole, SLACK_BITS - 2)),
            )
        } else {
            (vec![0], times(&whole, moduli.len() as u64))
        };
        let bits = bits(&bound);
        let count = 1 + bits.saturating_sub(TOP_BITS).div_ceil(LIMB_BITS) as usize;
        (count <= MAX_LIMBS).then(|| Self {
            sources: (0..moduli.len()).map(|i| fit(&product(i), count)).collect(),
            modulus: centred.then(|| fit(&whole, count)),
            offset: fit(&offset, count),
            top_bits: bits - (count as u32 - 1) * LIMB_BITS,
        })
    }

    /// Number of limbs of an integer.
    #[must_use]
    pub fn count(&self) -> usize {
        self.offset.len()
    }

    /// Bytes of the highest limb.
    #[must_use]
    pub fn top_bytes(&self) -> usize {
        self.top_bits.div_ceil(8) as usize
    }

    /// Bits of the lowest limb.
    #[must_use]
    pub fn first_bits(&self) -> u32 {
        if self.count() == 1 { self.top_bits } else { LIMB_BITS }
    }

    /// The weights by which a modulus reduces limbs to a residue.
    #[must_use]
    pub fn weights(&self, modulus: &Modulus) -> LimbWeights {
        let powers: Vec<u64> = (0..self.count() as u64)
            .map(|l| modulus.pow(modulus.reduce(2), l * u64::from(LIMB_BITS)))
            .collect();
        let offset = self
            .offset
            .iter()
            .zip(&powers)
            .fold(0, |sum, (&limb, &power)| modulus.add(sum, modulus.mul(modulus.reduce(limb), power)));
        LimbWeights {
            powers: powers[1..].iter().map(|&power| modulus.multiplier(power)).collect(),
            constant: modulus.neg(offset),
        }
    }
}

/// The residues modulo one modulus by which limbs are multiplied, and the constant to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimbWeights {
    /// `[2^48l]` for all limbs but the lowest.
    pub powers: Vec<Multiplier>,
    /// `[-H]`.
    pub constant: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(limbs: &[u64]) -> u128 {
        limbs.iter().rev().fold(0, |value, &limb| (value << LIMB_BITS) + u128::from(limb))
    }

    #[test]
    fn forms_hold_their_integers() {
        for moduli in [
            vec![97],
            vec![(1 << 36) - 5],
            vec![(1 << 51) - 1],
            vec![97, 193],
            vec![(1 << 36) - 5, (1 << 36) - 17, (1 << 40) + 15],
        ] {
            let whole: u128 = moduli.iter().map(|&q| u128::from(q)).product();
            for centred in [false, true] {
                let form = LimbForm::new(&moduli, centred).expect("small enough");
                for (source, &q) in form.sources.iter().zip(&moduli) {
                    assert_eq!(value(source), whole / u128::from(q));
                }
                let top = if centred { whole + (whole >> 31) } else { whole * moduli.len() as u128 - 1 };
                assert!(
                    top.ilog2() < (form.count() as u32 - 1) * LIMB_BITS + form.top_bits
                        && form.top_bits <= TOP_BITS,
                    "{moduli:?}"
                );
                assert_eq!(form.modulus.as_deref().map(value), centred.then_some(whole));
                let offset = if centred { whole / 2 + (whole >> 32) + 1 } else { 0 };
                assert_eq!(value(&form.offset), offset);
                let modulus = Modulus::new(1_000_003).expect("odd");
                let weights = form.weights(&modulus);
                assert_eq!(modulus.add(weights.constant, (offset % 1_000_003) as u64), 0);
                for (l, power) in weights.powers.iter().enumerate() {
                    assert_eq!(power.value, modulus.pow(2, (l as u64 + 1) * 48));
                }
            }
        }
    }

    #[test]
    fn forms_too_large_are_refused() {
        assert_eq!(LimbForm::new(&[], true), None);
        assert_eq!(LimbForm::new(&[1 << 52], true), None);
        assert_eq!(LimbForm::new(&[3; MAX_SOURCES + 1], true), None);
        assert_eq!(LimbForm::new(&[(1 << 52) - 1; 16], true), None);
        assert!(LimbForm::new(&[(1 << 36) - 1; 20], true).is_some());
    }
}
