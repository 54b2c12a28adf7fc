//! The representation of switching keys with which a method computes: special primes, merged digits, KLSS key
//! digits.

use std::ops::Range;

use clathrate_arith::aligned::ALIGNMENT;
use clathrate_arith::bit_packing::{VECTOR, packed_bits};

use super::coalesce;
use super::method::SwitchMethod;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::{DIGIT_SLACK_BITS, Gadget};
use crate::poly::Basis;
use crate::ring::Ring;

/// The representation of switching keys with which one method computes. Several levels of inputs share it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRepresentation {
    pub(super) method: SwitchMethod,
    /// Highest level that the keys serve.
    pub(super) key_level: Level,
    /// Highest level of the inputs that use this representation.
    pub(super) level: Level,
    /// The special primes.
    pub(super) special: Basis,
    /// Ciphertext primes up to `level`, then the special primes.
    pub(super) basis: Basis,
    /// The digits, as runs of base digits.
    pub(super) runs: Vec<Range<usize>>,
    /// Key digits and auxiliary primes, for the KLSS method.
    pub(super) klss: Option<KeyDigits>,
}

/// Key digits of the KLSS method, and the auxiliary primes modulo which products with them are computed.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyDigits {
    pub(super) digits: Vec<Basis>,
    pub(super) auxiliary: Basis,
    /// Bits of the longest key digit; bits that the auxiliary modulus needs for the sums of one input, and
    /// bits that it has.
    bits: f64,
    needed: f64,
    available: f64,
}

impl KeyRepresentation {
    /// The representation for `method`, for inputs up to `level` and keys up to `key_level` with at most
    /// `inputs` inputs.
    ///
    /// # Errors
    /// [`LatticeError::FewFreePrimes`], [`LatticeError::DigitTooLarge`],
    /// [`LatticeError::FewAuxiliaryPrimes`].
    pub(super) fn new(
        chain: &Chain,
        gadget: &Gadget,
        method: SwitchMethod,
        level: Level,
        key_level: Level,
        inputs: usize,
    ) -> Result<Self, LatticeError> {
        let free = coalesce::free_primes(chain, gadget, level, key_level);
        Self::with_special_of(&free, chain, gadget, method, (level, key_level), inputs)
    }

    /// [`KeyRepresentation::new`] with the primes that can be special ones, [`coalesce::free_primes`].
    pub(super) fn with_special_of(
        free: &Basis,
        chain: &Chain,
        gadget: &Gadget,
        method: SwitchMethod,
        (level, key_level): (Level, Level),
        inputs: usize,
    ) -> Result<Self, LatticeError> {
        let Some(first) = free.len().checked_sub(method.special).filter(|_| method.special > 0) else {
            return Err(LatticeError::FewFreePrimes {
                special: method.special,
                free: free.len(),
                level: level.0,
                key_level: key_level.0,
            });
        };
        let special = Basis::new(free.indices()[first..].iter().copied());
        let runs = if method.coalesced {
            coalesce::merged_digits(
                chain,
                gadget,
                level,
                special.log2(chain.ring()) + DIGIT_SLACK_BITS,
                inputs,
            )?
        } else {
            (0..gadget.digit_count(chain, level)).map(|digit| digit..digit + 1).collect()
        };
        let basis = chain.basis(level).join(&special);
        let klss = method
            .key_digit
            .map(|length| KeyDigits::new(chain, gadget, &runs, &basis, length, inputs))
            .transpose()?;
        Ok(Self { method, key_level, level, special, basis, runs, klss })
    }

    /// Whether the generated key is used unchanged.
    pub(super) fn is_base(&self) -> bool {
        self.klss.is_none() && self.runs.iter().all(|run| run.len() == 1)
    }

    /// Refuses a number of inputs whose sums could exceed the auxiliary modulus; the hybrid method has no
    /// such limit.
    pub(super) fn check_headroom(&self, inputs: usize) -> Result<(), LatticeError> {
        self.klss.as_ref().map_or(Ok(()), |digits| digits.check_headroom(inputs))
    }

    /// Bytes that a key of `inputs` inputs and `columns` polynomials (rank and bodies) takes in this
    /// representation; 0 where the generated key is used unchanged.
    pub(super) fn bytes_for(&self, ring: &Ring, inputs: usize, columns: usize) -> usize {
        if self.is_base() {
            return 0;
        }
        let groups = self.klss.as_ref().map_or(1, |key| key.digits.len());
        let rows = self.klss.as_ref().map_or(&self.basis, |key| &key.auxiliary);
        let slots = groups * self.runs.len() * inputs * columns;
        rows.indices()
            .iter()
            .map(|&i| (packed_bytes(ring, &Basis::new([i])) * slots).next_multiple_of(ALIGNMENT))
            .sum()
    }
}

/// Bytes of one packed polynomial over `basis`.
pub(super) fn packed_bytes(ring: &Ring, basis: &Basis) -> usize {
    let bits = |&i: &usize| packed_bits(ring.moduli()[i].bits()) as usize;
    basis.indices().iter().map(bits).sum::<usize>() * ring.degree().div_ceil(VECTOR)
}

impl KeyDigits {
    /// Key digits of `length` primes over `basis`, and the auxiliary primes by [klss, Eq. (5)]: with centred
    /// digits of both kinds, `|sum| <= terms N (D / 2) (D~ / 2) < B' / 2`.
    fn new(
        chain: &Chain,
        gadget: &Gadget,
        runs: &[Range<usize>],
        basis: &Basis,
        length: usize,
        inputs: usize,
    ) -> Result<Self, LatticeError> {
        if length == 0 {
            return Err(LatticeError::EmptyShape { what: "the length of key digits", got: 0 });
        }
        let ring = chain.ring();
        let bits_of = |index: usize| ring.log2_modulus(index);
        let largest = basis.indices().iter().map(|&i| bits_of(i)).fold(0.0, f64::max);
        let headroom = length as f64 * largest + DIGIT_SLACK_BITS;
        let mut digits: Vec<Vec<usize>> = Vec::new();
        let mut left = 0.0;
        for &index in basis.indices() {
            match digits.last_mut() {
                Some(digit) if bits_of(index) <= left => digit.push(index),
                _ => {
                    digits.push(vec![index]);
                    left = headroom;
                }
            }
            left -= bits_of(index);
        }
        let digits: Vec<Basis> = digits.into_iter().map(Basis::new).collect();
        let most = |bits: f64, basis: &Basis| bits.max(basis.log2(ring));
        let key_bits = digits.iter().fold(0.0, most);
        let run_bits = |run: &Range<usize>| {
            gadget.digits()[run.clone()].iter().map(|digit| digit.log2(ring)).sum::<f64>()
        };
        let digit_bits = runs.iter().map(run_bits).fold(0.0, f64::max);
        let terms = (runs.len() * ring.degree()) as f64;
        // The rounding that recombines a sum is exact unless the sum is within 2^-40 B' of the boundary B' /
        // 2; a margin of 0.01 bit keeps sums away from it.
        let needed = terms.log2() + digit_bits + key_bits - 1.0 + 0.01;
        let (mut auxiliary, mut available, enough) = (Vec::new(), 0.0, needed + (inputs as f64).log2());
        for &index in chain.auxiliary_basis().indices() {
            if available >= enough {
                break;
            }
            available += bits_of(index);
            auxiliary.push(index);
        }
        let made = Self { digits, auxiliary: Basis::new(auxiliary), bits: key_bits, needed, available };
        made.check_headroom(inputs).map(|()| made)
    }

    /// Refuses a number of inputs whose sums could exceed the auxiliary modulus.
    fn check_headroom(&self, inputs: usize) -> Result<(), LatticeError> {
        let needed = self.needed + (inputs as f64).log2();
        if self.available < needed {
            return Err(LatticeError::FewAuxiliaryPrimes {
                bits: self.bits,
                needed,
                available: self.available,
            });
        }
        Ok(())
    }
}
