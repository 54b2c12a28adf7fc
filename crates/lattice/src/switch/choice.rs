//! How one level switches: which primes are special there, which digits, which engine.

use std::ops::Range;

use clathrate_arith::packing::{VECTOR, packed_bits};

use super::key::SwitchKey;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::{DIGIT_SLACK_BITS, Gadget};
use crate::poly::Basis;
use crate::ring::Ring;

/// One way to switch. All of them compute the same thing up to noise; those with equal digits and special primes, the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SwitchChoice {
    /// How many primes are special: the last ones of the key, steps that the level no longer uses included. On a chain of equal primes this is the
    /// digit length `r`.
    pub special: usize,
    /// Whether base digits are joined, as many as the special modulus can divide away.
    pub coalesced: bool,
    /// Length `r~` of key digits, in primes of the chain's largest size, for the key-decomposed engine; `None` for the hybrid one.
    pub key_digit: Option<usize>,
}

impl SwitchChoice {
    /// The key as it was made: the chain's own special primes, base digits, the hybrid engine.
    #[must_use]
    pub fn as_made(chain: &Chain) -> Self {
        Self { special: chain.special_basis().len(), coalesced: false, key_digit: None }
    }

    /// `special` special primes and digits as long as they allow, under the hybrid engine.
    #[must_use]
    pub fn hybrid(special: usize) -> Self {
        Self { special, coalesced: true, key_digit: None }
    }

    /// The same digits under the key-decomposed engine.
    #[must_use]
    pub fn decomposed(special: usize, key_digit: usize) -> Self {
        Self { special, coalesced: true, key_digit: Some(key_digit) }
    }
}

/// What keys turn into for one choice: everything that does not depend on the level of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyShape {
    pub(super) choice: SwitchChoice,
    /// Highest level of the keys.
    pub(super) reach: Level,
    /// Highest level of the inputs.
    pub(super) level: Level,
    /// The special primes.
    pub(super) special: Basis,
    /// Ciphertext primes up to `level`, then the special ones.
    pub(super) basis: Basis,
    /// The digits, as runs of base digits.
    pub(super) runs: Vec<Range<usize>>,
    /// Key digits and the auxiliary primes they are held over.
    pub(super) decomposed: Option<KeyDigits>,
}

/// Key digits of the key-decomposed engine.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyDigits {
    pub(super) digits: Vec<Basis>,
    pub(super) auxiliary: Basis,
    /// Bits of the longest key digit, and of the auxiliary modulus: what one input needs, and what there is.
    bits: f64,
    needed: f64,
    available: f64,
}

impl KeyShape {
    /// The shape of `choice` for inputs up to `level` and keys up to `reach` with at most `inputs` inputs.
    ///
    /// # Errors
    /// [`LatticeError::FewFreePrimes`], [`LatticeError::DigitTooLarge`], [`LatticeError::FewAuxiliaryPrimes`].
    pub(super) fn new(
        chain: &Chain,
        gadget: &Gadget,
        choice: SwitchChoice,
        level: Level,
        reach: Level,
        inputs: usize,
    ) -> Result<Self, LatticeError> {
        let free = gadget.free_primes(chain, level, reach);
        let Some(first) = free.len().checked_sub(choice.special).filter(|_| choice.special > 0) else {
            return Err(LatticeError::FewFreePrimes { special: choice.special, free: free.len(), level: level.0, reach: reach.0 });
        };
        let special = Basis::new(free.indices()[first..].iter().copied());
        let runs = if choice.coalesced {
            gadget.coalesce(chain, level, special.log2(chain.ring()) + DIGIT_SLACK_BITS)?
        } else {
            (0..gadget.digit_count(chain, level)).map(|digit| digit..digit + 1).collect()
        };
        let basis = chain.basis(level).join(&special);
        let decomposed = choice.key_digit.map(|length| KeyDigits::new(chain, gadget, &runs, &basis, length, inputs)).transpose()?;
        Ok(Self { choice, reach, level, special, basis, runs, decomposed })
    }

    /// Whether keys serve as they are.
    pub(super) fn is_base(&self) -> bool {
        self.decomposed.is_none() && self.runs.iter().all(|run| run.len() == 1)
    }

    /// Refuses more inputs than an auxiliary modulus holds the sums of.
    pub(super) fn check_room(&self, inputs: usize) -> Result<(), LatticeError> {
        self.decomposed.as_ref().map_or(Ok(()), |digits| digits.check_room(inputs))
    }

    /// Bytes that `key` takes in this shape.
    pub(super) fn bytes(&self, key: &SwitchKey) -> usize {
        self.bytes_for(key.ring(), key.inputs(), key.rank() + key.body_count())
    }

    /// Bytes that a key of `columns` polynomials and `inputs` inputs takes in this shape; 0 where it serves as it is.
    pub(super) fn bytes_for(&self, ring: &Ring, inputs: usize, columns: usize) -> usize {
        if self.is_base() {
            return 0;
        }
        let groups = self.decomposed.as_ref().map_or(1, |key| key.digits.len());
        let rows = self.decomposed.as_ref().map_or(&self.basis, |key| &key.auxiliary);
        packed_bytes(ring, rows) * groups * self.runs.len() * inputs * columns
    }
}

/// Bytes of one packed polynomial over `basis`.
pub(super) fn packed_bytes(ring: &Ring, basis: &Basis) -> usize {
    let bits = |&i: &usize| packed_bits(ring.moduli()[i].bits()) as usize;
    basis.indices().iter().map(bits).sum::<usize>() * ring.degree().div_ceil(VECTOR)
}

impl KeyDigits {
    /// Key digits of `length` primes over `basis`, and the auxiliary primes by [klss, Eq. (5)]: with centred digits of both kinds,
    /// `|sum| <= terms N (D / 2) (D~ / 2) < B' / 2`.
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
        let bits_of = |index: usize| (ring.moduli()[index].value() as f64).log2();
        let largest = basis.indices().iter().map(|&i| bits_of(i)).fold(0.0, f64::max);
        let room = length as f64 * largest + DIGIT_SLACK_BITS;
        let mut digits: Vec<Vec<usize>> = Vec::new();
        let mut left = 0.0;
        for &index in basis.indices() {
            match digits.last_mut() {
                Some(digit) if bits_of(index) <= left => digit.push(index),
                _ => {
                    digits.push(vec![index]);
                    left = room;
                }
            }
            left -= bits_of(index);
        }
        let digits: Vec<Basis> = digits.into_iter().map(Basis::new).collect();
        let most = |bits: f64, basis: &Basis| bits.max(basis.log2(ring));
        let key_bits = digits.iter().fold(0.0, most);
        let run_bits = |run: &Range<usize>| gadget.digits()[run.clone()].iter().map(|digit| digit.log2(ring)).sum::<f64>();
        let digit_bits = runs.iter().map(run_bits).fold(0.0, f64::max);
        let terms = (runs.len() * ring.degree()) as f64;
        // The rounding that recombines a sum is exact up to 2^-40 of B' from the boundary; a hundredth of a bit is far beyond that.
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
        made.check_room(inputs).map(|()| made)
    }

    /// Refuses more inputs than the auxiliary modulus holds the sums of.
    fn check_room(&self, inputs: usize) -> Result<(), LatticeError> {
        let needed = self.needed + (inputs as f64).log2();
        if self.available < needed {
            return Err(LatticeError::FewAuxiliaryPrimes { bits: self.bits, needed, available: self.available });
        }
        Ok(())
    }
}
