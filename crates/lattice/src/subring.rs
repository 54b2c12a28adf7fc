//! Subrings: plaintexts whose slots repeat with a short period.
//!
//! A polynomial `b(X^g)`, `g = N / n`, of the ring of degree `N` is a polynomial `b` of the subring of degree
//! `n`. In Eval form, each of the `n` values of `b` occurs `g` times in succession. A vector of `N / 2` slots
//! with period `p` encodes to such a polynomial with `n = 2 p`, so its plaintext needs `2 p` words for each
//! prime instead of `N`, and an encoding of `p` slots instead of `N / 2`.
//!
//! [`Ring::subring`] makes the ring in which such plaintexts are encoded and transformed,
//! [`crate::PackedPlaintexts`] holds them, and the products of [`crate::linear_combination`] and
//! [`crate::switch::Extended`] read them at their own degree. [`crate::PolyRef::iota`] expands such a
//! polynomial to degree `N`. The diagonals of the discrete Fourier transform's factors have such periods.

use crate::error::LatticeError;
use crate::ring::Ring;

impl Ring {
    /// The ring of the smaller degree `degree` with the same moduli: `Z_q[Y]/(Y^n + 1)` with `Y = X^(N/n)`.
    /// It computes on an engine of the same kind as this ring's, so that this ring's engine reads its
    /// polynomials.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where `degree` is no power of two or above this ring's;
    /// [`LatticeError::Arith`] where the engine cannot be made.
    pub fn subring(&self, degree: usize) -> Result<Self, LatticeError> {
        let gap = self
            .degree()
            .checked_div(degree)
            .filter(|&gap| gap.is_power_of_two() && gap * degree == self.degree());
        if gap.is_none() {
            return Err(LatticeError::DegreeChange {
                degree: self.degree(),
                rank: 1,
                target: degree,
                what: "degree",
            });
        }
        if degree == self.degree() {
            return Ok(self.clone());
        }
        Ok(self.of_smaller_degree(degree)?)
    }

    /// Refuses a ring that is neither this one nor a subring of it.
    pub(crate) fn check_subring(&self, small: &Self) -> Result<(), LatticeError> {
        if !self.same_moduli_as(small) {
            return Err(LatticeError::RingMismatch { left: self.degree(), right: small.degree() });
        }
        if !self.degree().is_multiple_of(small.degree()) {
            return Err(LatticeError::DegreeChange {
                degree: self.degree(),
                rank: 1,
                target: small.degree(),
                what: "degree",
            });
        }
        Ok(())
    }
}
