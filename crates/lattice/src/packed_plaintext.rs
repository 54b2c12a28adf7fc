//! Plaintext polynomials packed to the width of their primes.
//!
//! A linear transform reads its plaintexts from memory, so their size bounds its speed. A packed residue
//! modulo a 36-bit prime takes 36 bits instead of 64. The products of [`crate::linear_combination`] and
//! [`crate::switch::Extended`] read packed plaintexts in place.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use clathrate_arith::mapped::FileWords;
use clathrate_arith::text::counted;
use clathrate_arith::{Engine, FactorLayout, FactorShape, Factors, Rows};

use crate::error::LatticeError;
use crate::poly::{Basis, Eval, Poly};
use crate::ring::Ring;

/// Plaintext polynomials in Eval form, packed to the width of their primes: the plaintexts of one linear
/// combination, in the order of its terms.
///
/// They belong to the ring of the bundles that they multiply or to a subring of it ([`Ring::subring`]), over
/// the primes of those bundles and possibly others: plaintexts over the primes of a high level, or over the
/// extended modulus `P Q_l`, multiply bundles of lower levels too.
#[derive(Clone)]
pub struct PackedPlaintexts {
    ring: Ring,
    basis: Basis,
    factors: Arc<Factors>,
}

impl PackedPlaintexts {
    /// Packs `plaintexts`.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without plaintexts; [`LatticeError::RingMismatch`],
    /// [`LatticeError::BasisMismatch`] where they differ.
    pub fn pack(plaintexts: &[&Poly<Eval>]) -> Result<Self, LatticeError> {
        Self::pack_in(plaintexts, |engine, shape, moduli| engine.zeroed_factors(shape, moduli))
    }

    /// As [`PackedPlaintexts::pack`], for plaintexts that are used and dropped: their memory is recycled, and
    /// bytes between and after the rows may be those of other data, so [`PackedPlaintexts::words`] are not to
    /// be stored.
    ///
    /// # Errors
    /// As [`PackedPlaintexts::pack`].
    pub fn pack_for_one_use(plaintexts: &[&Poly<Eval>]) -> Result<Self, LatticeError> {
        Self::pack_in(plaintexts, |engine, shape, moduli| engine.scratch_factors(shape, moduli))
    }

    fn pack_in(
        plaintexts: &[&Poly<Eval>],
        memory: impl FnOnce(&dyn Engine, FactorShape, &[usize]) -> Factors,
    ) -> Result<Self, LatticeError> {
        let first = plaintexts
            .first()
            .ok_or(LatticeError::EmptyShape { what: "the number of plaintexts", got: 0 })?;
        plaintexts.iter().try_for_each(|&plaintext| first.check_same_basis(plaintext))?;
        let (ring, basis) = (first.ring().clone(), first.basis().clone());
        let shape = FactorShape { groups: 1, terms: plaintexts.len(), columns: 1, packed: true };
        let mut factors = memory(ring.engine(), shape, basis.indices());
        let sources: Vec<Vec<Rows<'_>>> = plaintexts.iter().map(|plaintext| vec![plaintext.rows()]).collect();
        ring.engine().pack_factors(&mut factors, 0, &sources, &(0..basis.len()).collect::<Vec<_>>());
        Ok(Self { ring, basis, factors: Arc::new(factors) })
    }

    /// The length of [`PackedPlaintexts::words`] for `count` plaintexts of `ring` over `basis`.
    #[must_use]
    pub fn word_count(ring: &Ring, basis: &Basis, count: usize) -> usize {
        Self::layout(ring, basis, count).words()
    }

    fn layout(ring: &Ring, basis: &Basis, terms: usize) -> FactorLayout {
        let shape = FactorShape { groups: 1, terms, columns: 1, packed: true };
        FactorLayout::new(
            shape,
            ring.degree(),
            basis.indices().iter().map(|&index| (index, ring.moduli()[index].bits())),
        )
    }

    /// The first residue of packed plaintexts in `words` that is not below its prime: its row, its place
    /// within the row, its value. `None` where all are below, or there are too few words.
    #[must_use]
    pub fn first_not_reduced(
        ring: &Ring,
        basis: &Basis,
        count: usize,
        words: &[u64],
    ) -> Option<(usize, usize, u64)> {
        let layout = Self::layout(ring, basis, count);
        let primes: Vec<u64> = basis.indices().iter().map(|&index| ring.moduli()[index].value()).collect();
        if words.len() < layout.words() { None } else { layout.first_not_below(words, &primes) }
    }

    /// The packed residues in the layout of [`clathrate_arith::factors`]. Bytes between and after the rows
    /// have no meaning.
    #[must_use]
    pub fn words(&self) -> Cow<'_, [u64]> {
        self.ring.engine().factor_words(&self.factors)
    }

    /// `count` plaintexts from their packed residues ([`PackedPlaintexts::words`]), which may stay in a
    /// mapped file. Residues are not checked; if some are not reduced, products are wrong.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without plaintexts; [`LatticeError::BasisMismatch`] where the ring lacks
    /// a prime; [`LatticeError::WordCount`] where the number of words differs.
    pub fn from_words(
        ring: &Ring,
        basis: &Basis,
        count: usize,
        words: FileWords,
    ) -> Result<Self, LatticeError> {
        if count == 0 {
            return Err(LatticeError::EmptyShape { what: "the number of plaintexts", got: 0 });
        }
        basis.check(ring)?;
        let layout = Self::layout(ring, basis, count);
        let (expected, found) = (layout.words(), words.len());
        if found != expected {
            return Err(LatticeError::WordCount { expected, found });
        }
        let factors = ring.engine().adopt_factors(Factors::in_memory(layout, words.into()));
        Ok(Self { ring: ring.clone(), basis: basis.clone(), factors: Arc::new(factors) })
    }

    /// Plaintext `index`, unpacked: the polynomial that was packed, bit for bit. `None` where there is no
    /// such plaintext.
    #[must_use]
    pub fn unpack(&self, index: usize) -> Option<Poly<Eval>> {
        if index >= self.len() {
            return None;
        }
        let rows: Vec<usize> = (0..self.basis.len()).collect();
        let data = self.ring.engine().unpack_factors(&self.factors, 0, &[index], 0..1, &rows);
        Some(Poly::from_buffer(&self.ring, &self.basis, data))
    }

    /// Number of plaintexts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.factors.shape().terms
    }

    /// Whether there are no plaintexts: always false, because [`PackedPlaintexts::pack`] refuses an empty
    /// list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ring of the plaintexts: the bundles' ring or its subring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The primes of the plaintexts.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.factors.bytes()
    }

    /// The plaintexts as packed factors, the layout that the engine reads.
    pub(crate) fn factors(&self) -> &Factors {
        &self.factors
    }
}

impl fmt::Debug for PackedPlaintexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, degree, primes) = (self.len(), self.ring.degree(), counted(self.basis.len(), "prime"));
        write!(
            f,
            "PackedPlaintexts({count} of degree {degree} over {primes}, {})",
            counted(self.bytes(), "byte")
        )
    }
}
