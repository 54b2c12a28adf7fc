//! The moduli of a polynomial, in order.

use std::sync::Arc;

use crate::error::LatticeError;
use crate::ring::Ring;

/// An ordered set of moduli of a ring, by index. Row `i` of a polynomial has modulus `indices()[i]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis(Arc<[usize]>);

impl Basis {
    /// The basis of the given modulus indices.
    #[must_use]
    pub fn new(indices: impl IntoIterator<Item = usize>) -> Self {
        Self(indices.into_iter().collect())
    }

    /// The modulus indices, in row order.
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        &self.0
    }

    /// Number of moduli.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the basis is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The row of modulus `index`, if it is in the basis.
    #[must_use]
    pub fn row_of(&self, index: usize) -> Option<usize> {
        self.0.iter().position(|&i| i == index)
    }

    /// The rows of `other`'s moduli in this basis, or `None` when one is missing.
    #[must_use]
    pub fn rows_of(&self, other: &[usize]) -> Option<Vec<usize>> {
        other.iter().map(|&index| self.row_of(index)).collect()
    }

    /// This basis followed by `other`.
    #[must_use]
    pub fn join(&self, other: &Basis) -> Self {
        Self::new(self.0.iter().chain(other.0.iter()).copied())
    }

    /// Checks that this is a basis of `ring`.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] where the basis is empty; [`LatticeError::BasisMismatch`] where the ring
    /// lacks a prime or a prime is repeated.
    pub fn check(&self, ring: &Ring) -> Result<(), LatticeError> {
        if self.is_empty() {
            return Err(LatticeError::EmptyShape { what: "the number of primes", got: 0 });
        }
        let known = ring.moduli().len();
        if self.0.iter().enumerate().any(|(row, &index)| index >= known || self.row_of(index) != Some(row)) {
            return Err(LatticeError::BasisMismatch { left: known, right: self.len() });
        }
        Ok(())
    }

    /// `c` modulo each modulus of the basis.
    #[must_use]
    pub fn residues_of(&self, ring: &Ring, c: i128) -> Vec<u64> {
        self.0.iter().map(|&i| ring.moduli()[i].reduce_i128(c)).collect()
    }

    /// `log2` of the product of the moduli.
    #[must_use]
    pub fn log2(&self, ring: &Ring) -> f64 {
        self.0.iter().map(|&i| ring.log2_modulus(i)).sum()
    }
}
