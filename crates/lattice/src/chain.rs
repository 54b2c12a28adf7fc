//! The modulus chain: the roles of the primes of a ring.
//!
//! The ring's moduli, in order: ciphertext primes in steps, special primes, temporary primes, auxiliary
//! primes.
//!
//! At level `l`, a ciphertext has the primes of steps `0..=l`. A step is one or more primes (two 29-bit
//! primes give a 58-bit step); a rescale divides by one step. Special primes are used only by key switching,
//! which may also use the primes of steps above the level as special primes. Temporary primes become special
//! primes in a widened chain, for keys of a higher rank [dpad-he, sec. 3.2]. Auxiliary primes divide no
//! ciphertext or key modulus: the KLSS method computes inner products modulo them.

use std::fmt;
use std::ops::Range;

use crate::error::LatticeError;
use crate::poly::Basis;
use crate::ring::Ring;

/// Index of the highest modulus step in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub usize);

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Steps of ciphertext primes `q_0 .. q_L`, then special primes, temporary primes and auxiliary primes, all
/// of one ring.
#[derive(Debug, Clone)]
pub struct Chain {
    ring: Ring,
    steps: Vec<Range<usize>>,
    special: Range<usize>,
    temporary: Range<usize>,
}

impl Chain {
    /// A chain over all moduli of `ring`: step `i` has `step_lengths[i]` primes, and the moduli after the
    /// last step are special primes.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] where a step (or the chain) is empty or the ring has too few moduli;
    /// [`LatticeError::RepeatedPrime`].
    pub fn new(ring: Ring, step_lengths: &[usize]) -> Result<Self, LatticeError> {
        Self::with_auxiliary(ring, step_lengths, 0)
    }

    /// [`Chain::new`] where the last `auxiliary` moduli of the ring are auxiliary primes.
    pub fn with_auxiliary(
        ring: Ring,
        step_lengths: &[usize],
        auxiliary: usize,
    ) -> Result<Self, LatticeError> {
        Self::with_temporary(ring, step_lengths, 0, auxiliary)
    }

    /// [`Chain::with_auxiliary`] where the `temporary` moduli before the auxiliary primes are temporary
    /// primes, which only [`Chain::widened`] makes special primes.
    pub fn with_temporary(
        ring: Ring,
        step_lengths: &[usize],
        temporary: usize,
        auxiliary: usize,
    ) -> Result<Self, LatticeError> {
        let mut steps = Vec::with_capacity(step_lengths.len());
        let mut next = 0usize;
        for &length in step_lengths {
            if length == 0 {
                return Err(LatticeError::EmptyShape {
                    what: "the number of primes of a modulus step",
                    got: 0,
                });
            }
            let end = next.saturating_add(length);
            steps.push(next..end);
            next = end;
        }
        let last = ring.moduli().len().checked_sub(auxiliary);
        let ends = last
            .and_then(|last| Some((last.checked_sub(temporary)?, last)))
            .filter(|&(end, _)| !steps.is_empty() && next <= end);
        let (end, last) = ends.ok_or(LatticeError::EmptyShape {
            what: "the number of modulus steps that fit the ring's primes",
            got: 0,
        })?;
        let moduli = ring.moduli();
        if let Some((_, q)) = moduli.iter().enumerate().find(|&(i, q)| moduli[..i].contains(q)) {
            return Err(LatticeError::RepeatedPrime { prime: q.value() });
        }
        Ok(Self { ring, steps, special: next..end, temporary: end..last })
    }

    /// The chain of the same levels with the special modulus `P^ = P T`, where `T` is the product of the
    /// first `count` temporary primes. It is used for keys to a secret of higher rank. Its special primes
    /// begin with this chain's. [dpad-he, sec. 3.2.2]
    ///
    /// # Errors
    /// [`LatticeError::FewTemporaryPrimes`].
    pub fn widened(&self, count: usize) -> Result<Self, LatticeError> {
        if count > self.temporary.len() {
            return Err(LatticeError::FewTemporaryPrimes { wanted: count, available: self.temporary.len() });
        }
        let end = self.special.end + count;
        Ok(Self { special: self.special.start..end, temporary: end..self.temporary.end, ..self.clone() })
    }

    /// The chain of levels `0..=most` whose special primes are those with indices `special`: special primes
    /// of this chain or primes of its higher levels. It is used for keys to a secret that is not secure over
    /// the full modulus. Its gadget belongs to its own product of primes `Q`, so its keys work with no other
    /// chain.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`]; [`LatticeError::NoSpecialPrimes`] where `special` is empty;
    /// [`LatticeError::BasisMismatch`] where `special` contains a prime of levels `0..=most`, or one beyond
    /// this chain's special primes.
    pub fn narrowed(&self, most: Level, special: Range<usize>) -> Result<Self, LatticeError> {
        self.check_level(most)?;
        if special.is_empty() {
            return Err(LatticeError::NoSpecialPrimes);
        }
        if special.start < self.step(most).end || special.end > self.special.end {
            return Err(LatticeError::BasisMismatch { left: self.special.len(), right: special.len() });
        }
        Ok(Self { steps: self.steps[..=most.0].to_vec(), special, ..self.clone() })
    }

    /// The chain with the first `count` special primes as a further step; `None` where `count` is 0 or no
    /// special prime remains.
    pub(crate) fn moved_special(&self, count: usize) -> Option<Self> {
        let start = self.special.start + count;
        if count == 0 || start >= self.special.end {
            return None;
        }
        let mut steps = self.steps.clone();
        steps.push(self.special.start..start);
        Some(Self { steps, special: start..self.special.end, ..self.clone() })
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The highest level.
    #[must_use]
    pub fn max_level(&self) -> Level {
        Level(self.steps.len() - 1)
    }

    /// Primes of step `level`, by index.
    #[must_use]
    pub fn step(&self, level: Level) -> Range<usize> {
        self.steps[level.0].clone()
    }

    /// Checks that the chain has the level.
    ///
    /// # Errors
    /// [`LatticeError::LevelOutOfRange`].
    pub fn check_level(&self, level: Level) -> Result<(), LatticeError> {
        if level > self.max_level() {
            return Err(LatticeError::LevelOutOfRange { level: level.0, max: self.max_level().0 });
        }
        Ok(())
    }

    /// Basis of ciphertexts at `level`: the primes of steps `0..=level`.
    #[must_use]
    pub fn basis(&self, level: Level) -> Basis {
        Basis::new(0..self.steps[level.0].end)
    }

    /// Basis of the special primes.
    #[must_use]
    pub fn special_basis(&self) -> Basis {
        Basis::new(self.special.clone())
    }

    /// Basis of the temporary primes.
    #[must_use]
    pub fn temporary_basis(&self) -> Basis {
        Basis::new(self.temporary.clone())
    }

    /// Basis of the auxiliary primes.
    #[must_use]
    pub fn auxiliary_basis(&self) -> Basis {
        Basis::new(self.temporary.end..self.ring.moduli().len())
    }

    /// Basis of the gadget's modulus `Q`: all ciphertext primes, then all special primes.
    #[must_use]
    pub fn whole_basis(&self) -> Basis {
        self.key_basis(self.max_level())
    }

    /// Basis of a key for levels up to `level`: ciphertext primes, then special primes.
    #[must_use]
    pub fn key_basis(&self, level: Level) -> Basis {
        self.basis(level).join(&self.special_basis())
    }

    /// The level whose basis is `basis`, if any.
    #[must_use]
    pub fn level_of(&self, basis: &Basis) -> Option<Level> {
        let level = self.steps.iter().position(|step| step.end == basis.len())?;
        (self.basis(Level(level)) == *basis).then_some(Level(level))
    }

    /// `log2` of the step that a rescale from `level` divides by.
    #[must_use]
    pub fn log2_step(&self, level: Level) -> f64 {
        Basis::new(self.step(level)).log2(&self.ring)
    }
}
