//! The gadget, which is the same at every level: component `j` of a key encrypts `T * Q / D_j` modulo `Q`.
//!
//! `Q` is the product of *all* primes of the chain, special ones included, and `D_j` a base digit: a run of
//! consecutive primes. Modulo a prime of `D_j` the entry is `Q / D_j`, modulo every other prime it is 0, so
//! the key does not depend on where the ciphertext modulus ends and the special modulus `P` begins. A key
//! switch at level `l` with `M = P Q_l` computes
//!
//! ```text
//! sum_j d_j (Q / D_j) = P u  mod M,     d_j = [u / (Q / (P D_j))] mod D_j
//! ```
//!
//! because `Q / (P D_j)` is 0 modulo every other digit, whichever primes were dropped from the ciphertext
//! modulus. Source: [level-aware, sec. 3.2]; differs: base digits may have any length, so that a key can be
//! generated with fewer, longer digits.

use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::poly::Basis;

/// A digit may exceed the special modulus by this many bits, because primes of one nominal size differ by
/// fractions of a bit.
pub const DIGIT_SLACK_BITS: f64 = 0.5;

/// A partition of the chain's ciphertext primes into base digits.
#[derive(Debug, Clone, PartialEq)]
pub struct Gadget {
    digits: Vec<Basis>,
}

impl Gadget {
    /// Digits of consecutive primes, each with as many primes as `max_bits` allows and at least one. The
    /// bound is in bits rather than in primes, because a chain may mix 60- and 40-bit primes.
    #[must_use]
    pub fn by_bits(chain: &Chain, max_bits: f64) -> Self {
        let bits_of = |index: usize| chain.ring().log2_modulus(index);
        let mut digits: Vec<Vec<usize>> = Vec::new();
        let mut headroom = 0.0;
        for &index in chain.basis(chain.max_level()).indices() {
            match digits.last_mut() {
                Some(digit) if bits_of(index) <= headroom => digit.push(index),
                _ => {
                    digits.push(vec![index]);
                    headroom = max_bits;
                }
            }
            headroom -= bits_of(index);
        }
        Self { digits: digits.into_iter().map(Basis::new).collect() }
    }

    /// Digits that fit the special modulus, so that the division by `P` keeps the noise small: each has at
    /// most the bits of the special modulus plus `slack_bits`.
    ///
    /// # Errors
    /// [`LatticeError::NoSpecialPrimes`]; [`LatticeError::DigitTooLarge`] where a single prime exceeds this
    /// bound.
    pub fn for_special_modulus(chain: &Chain, slack_bits: f64) -> Result<Self, LatticeError> {
        let special = chain.special_basis();
        if special.is_empty() {
            return Err(LatticeError::NoSpecialPrimes);
        }
        let special_bits = special.log2(chain.ring());
        let gadget = Self::by_bits(chain, special_bits + slack_bits);
        gadget.check(chain, special_bits + slack_bits)?;
        Ok(gadget)
    }

    /// Checks that no digit has more than `max_bits`.
    ///
    /// # Errors
    /// [`LatticeError::DigitTooLarge`].
    pub fn check(&self, chain: &Chain, max_bits: f64) -> Result<(), LatticeError> {
        for (digit, basis) in self.digits.iter().enumerate() {
            let digit_bits = basis.log2(chain.ring());
            if digit_bits > max_bits {
                return Err(LatticeError::DigitTooLarge { digit, digit_bits, special_bits: max_bits });
            }
        }
        Ok(())
    }

    /// Checks that the digits consist of exactly the chain's ciphertext primes.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`].
    pub fn check_chain(&self, chain: &Chain) -> Result<(), LatticeError> {
        let own = Basis::new(self.digits.iter().flat_map(|digit| digit.indices().iter().copied()));
        let basis = chain.basis(chain.max_level());
        if own == basis {
            return Ok(());
        }
        Err(LatticeError::BasisMismatch { left: basis.len(), right: own.len() })
    }

    /// The base digits, lowest primes first.
    #[must_use]
    pub fn digits(&self) -> &[Basis] {
        &self.digits
    }

    /// The number of base digits of a key for levels up to `level`.
    #[must_use]
    pub fn digit_count(&self, chain: &Chain, level: Level) -> usize {
        let primes = chain.basis(level).len();
        self.digits.iter().take_while(|digit| digit.indices()[0] < primes).count()
    }

    /// `Q / D_digit` modulo each prime of `basis`: zero outside the digit.
    #[must_use]
    pub fn entry_constants(&self, chain: &Chain, basis: &Basis, digit: usize) -> Vec<u64> {
        let inside = |i: usize| self.digits[digit].row_of(i).is_some();
        basis
            .indices()
            .iter()
            .map(|&i| if inside(i) { self.cofactor(chain, i, digit, &[]) } else { 0 })
            .collect()
    }

    /// `(Q / (P D_digit))^-1` modulo prime `index` of the digit, `P` the product of `special`.
    #[must_use]
    pub fn inverse_constant(&self, chain: &Chain, index: usize, digit: usize, special: &Basis) -> u64 {
        // The primes are distinct, so the cofactor is invertible; the fallback value is never used.
        chain.ring().moduli()[index]
            .inverse(self.cofactor(chain, index, digit, special.indices()))
            .unwrap_or(0)
    }

    /// The product of all primes of `Q` outside the digit and `special`, modulo prime `index`.
    fn cofactor(&self, chain: &Chain, index: usize, digit: usize, special: &[usize]) -> u64 {
        let (moduli, whole) = (chain.ring().moduli(), chain.whole_basis());
        let modulus = &moduli[index];
        let others = whole
            .indices()
            .iter()
            .copied()
            .filter(|i| self.digits[digit].row_of(*i).is_none() && !special.contains(i));
        others.fold(1, |product, i| modulus.mul(product, moduli[i].value()))
    }
}
