//! Secret keys: `m` vectors of `k` small polynomials.

use std::fmt;

use zeroize::Zeroizing;

use crate::error::LatticeError;
use crate::poly::{Basis, Eval, Poly};
use crate::ring::Ring;
use crate::sampling::{SecretDistribution, SecretRng};
use crate::shape::{Bodies, Degree, Rank};
use clathrate_arith::Automorphism;

/// A secret polynomial in Eval form. Its residues are overwritten when it is dropped, and `Debug` does not
/// print them.
pub struct SecretPoly(Poly<Eval>);

impl SecretPoly {
    /// Wraps `poly`, so that its residues are overwritten when the wrapper is dropped.
    #[must_use]
    pub fn new(poly: Poly<Eval>) -> Self {
        Self(poly)
    }

    /// The polynomial.
    #[must_use]
    pub fn get(&self) -> &Poly<Eval> {
        &self.0
    }
}

impl Drop for SecretPoly {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretPoly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretPoly(redacted)")
    }
}

/// Secrets `s_b in R^k` for `m` bodies, as small signed coefficients.
///
/// The coefficients are overwritten when the key is dropped; `Debug` prints only the shape.
pub struct SecretKey {
    degree: usize,
    rank: usize,
    bodies: usize,
    distribution: SecretDistribution,
    /// `bodies * rank` polynomials of `degree` coefficients, body-major.
    coefficients: Zeroizing<Vec<i64>>,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(degree {}, rank {}, bodies {}, redacted)", self.degree, self.rank, self.bodies)
    }
}

impl SecretKey {
    /// Samples fresh independent secrets.
    ///
    /// `FixedWeight(h)` is the number of non-zero coefficients among the `rank * degree` coefficients of each
    /// body's secret.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for a degree, rank or number of bodies of 0; [`LatticeError::Sampling`]
    /// where `h` exceeds `rank * degree`; [`LatticeError::SecretTooLarge`] where the coefficients exceed the
    /// address space.
    pub fn generate(
        Degree(degree): Degree,
        Rank(rank): Rank,
        Bodies(bodies): Bodies,
        distribution: SecretDistribution,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        for (what, got) in [("the rank", rank), ("the number of bodies", bodies), ("the degree", degree)] {
            if got == 0 {
                return Err(LatticeError::EmptyShape { what, got });
            }
        }
        let total = shape_product(Degree(degree), Rank(rank), Bodies(bodies))?;
        let mut coefficients = Zeroizing::new(vec![0; total]);
        for body in coefficients.chunks_exact_mut(degree * rank) {
            rng.secret(distribution, body)?;
        }
        Ok(Self { degree, rank, bodies, distribution, coefficients })
    }

    /// A key from stored coefficients: `bodies * rank` polynomials of `degree` coefficients, body-major.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] where the number of coefficients is 0 or not `bodies * rank * degree`;
    /// [`LatticeError::SecretTooLarge`].
    pub fn from_coefficients(
        Degree(degree): Degree,
        Rank(rank): Rank,
        Bodies(bodies): Bodies,
        distribution: SecretDistribution,
        coefficients: Zeroizing<Vec<i64>>,
    ) -> Result<Self, LatticeError> {
        if coefficients.is_empty()
            || coefficients.len() != shape_product(Degree(degree), Rank(rank), Bodies(bodies))?
        {
            return Err(LatticeError::EmptyShape {
                what: "the number of secret coefficients that fit the shape",
                got: coefficients.len(),
            });
        }
        Ok(Self { degree, rank, bodies, distribution, coefficients })
    }

    /// The ring degree.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The rank `k`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of bodies `m`.
    #[must_use]
    pub fn bodies(&self) -> usize {
        self.bodies
    }

    /// Checks that the secret and `ring` have the same degree.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] where they differ.
    pub fn check_degree(&self, ring: &Ring) -> Result<(), LatticeError> {
        if self.degree == ring.degree() {
            return Ok(());
        }
        Err(LatticeError::RingMismatch { left: self.degree, right: ring.degree() })
    }

    /// The distribution of the coefficients.
    #[must_use]
    pub fn distribution(&self) -> SecretDistribution {
        self.distribution
    }

    /// Coefficients of polynomial `index` of body `body`.
    #[must_use]
    pub fn coefficients(&self, body: usize, index: usize) -> &[i64] {
        let start = (body * self.rank + index) * self.degree;
        &self.coefficients[start..start + self.degree]
    }

    /// All coefficients, body-major, for storage by the key's owner.
    #[must_use]
    pub fn all_coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The polynomials of body `body` in Eval form over `basis`.
    #[must_use]
    pub fn eval(&self, ring: &Ring, basis: &Basis, body: usize) -> Vec<SecretPoly> {
        (0..self.rank)
            .map(|i| SecretPoly::new(Poly::from_signed(ring, basis, self.coefficients(body, i)).into_eval()))
            .collect()
    }

    /// `phi(s)`: the automorphism applied to every polynomial.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Self {
        let mut coefficients = Zeroizing::new(vec![0; self.coefficients.len()]);
        let mask = 2 * self.degree - 1;
        for (target, source) in
            coefficients.chunks_exact_mut(self.degree).zip(self.coefficients.chunks_exact(self.degree))
        {
            for (i, &value) in source.iter().enumerate() {
                let exponent = (i * phi.element().value()) & mask;
                target[exponent % self.degree] = if exponent >= self.degree { -value } else { value };
            }
        }
        Self { coefficients, ..*self }
    }

    /// The secret of body `body` only, with the same rank.
    #[must_use]
    pub fn body(&self, body: usize) -> Self {
        let span = self.rank * self.degree;
        let coefficients = Zeroizing::new(self.coefficients[body * span..(body + 1) * span].to_vec());
        Self { coefficients, bodies: 1, ..*self }
    }

    /// The secret of the first `rank` polynomials of each body. A fixed weight `h` becomes its share `h *
    /// rank / self.rank()`, rounded.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for rank 0, [`LatticeError::SecretRank`] for a rank above this key's.
    pub fn truncate_rank(&self, rank: usize) -> Result<Self, LatticeError> {
        if rank == 0 {
            return Err(LatticeError::EmptyShape { what: "the rank", got: rank });
        }
        if rank > self.rank {
            return Err(LatticeError::SecretRank { rank: self.rank, requested: rank });
        }
        let mut coefficients = Zeroizing::new(Vec::with_capacity(self.bodies * rank * self.degree));
        for body in self.coefficients.chunks_exact(self.rank * self.degree) {
            coefficients.extend_from_slice(&body[..rank * self.degree]);
        }
        let distribution = match self.distribution {
            // On average, a part of the polynomials has the proportional part of the weight.
            SecretDistribution::FixedWeight(weight) => SecretDistribution::FixedWeight(
                ((weight as u128 * rank as u128 + self.rank as u128 / 2) / self.rank as u128) as usize,
            ),
            uniform => uniform,
        };
        Ok(Self { coefficients, rank, distribution, ..*self })
    }

    /// `s || s'`: the polynomials of each body, followed by those of `extra`. The rank is the sum of both
    /// ranks.
    ///
    /// # Errors
    /// [`LatticeError::BodiesMismatch`], [`LatticeError::RingMismatch`] where the numbers of bodies or the
    /// degrees differ; [`LatticeError::SecretTooLarge`].
    pub fn join_rank(&self, extra: &Self) -> Result<Self, LatticeError> {
        if self.bodies() != extra.bodies() {
            return Err(LatticeError::BodiesMismatch { left: self.bodies(), right: extra.bodies() });
        }
        if self.degree() != extra.degree() {
            return Err(LatticeError::RingMismatch { left: self.degree(), right: extra.degree() });
        }
        let mut coefficients = Zeroizing::new(Vec::with_capacity(
            self.all_coefficients().len() + extra.all_coefficients().len(),
        ));
        for body in 0..self.bodies() {
            (0..self.rank()).for_each(|i| coefficients.extend_from_slice(self.coefficients(body, i)));
            (0..extra.rank()).for_each(|i| coefficients.extend_from_slice(extra.coefficients(body, i)));
        }
        let distribution = match (self.distribution(), extra.distribution()) {
            (SecretDistribution::UniformTernary, SecretDistribution::UniformTernary) => {
                SecretDistribution::UniformTernary
            }
            // Otherwise the sum of the expected weights, which gives the correct variance of the joined
            // secret.
            _ => SecretDistribution::FixedWeight(self.expected_weight() + extra.expected_weight()),
        };
        let rank = Rank(self.rank() + extra.rank());
        Self::from_coefficients(
            Degree(self.degree()),
            rank,
            Bodies(self.bodies()),
            distribution,
            coefficients,
        )
    }

    /// The secret of the polynomials `rank..` of each body: the complement of [`SecretKey::truncate_rank`].
    ///
    /// # Errors
    /// [`LatticeError::NothingBeyondRank`] where `rank` is not below this key's; [`LatticeError::EmptyShape`]
    /// for rank 0.
    pub fn beyond_rank(&self, rank: usize) -> Result<Self, LatticeError> {
        if rank == 0 {
            return Err(LatticeError::EmptyShape { what: "the rank", got: rank });
        }
        if rank >= self.rank() {
            return Err(LatticeError::NothingBeyondRank { rank: self.rank(), at: rank });
        }
        let mut coefficients =
            Zeroizing::new(Vec::with_capacity(self.bodies() * (self.rank() - rank) * self.degree()));
        for body in 0..self.bodies() {
            (rank..self.rank()).for_each(|i| coefficients.extend_from_slice(self.coefficients(body, i)));
        }
        // The expected weight that the first `rank` polynomials leave.
        let distribution = match (self.distribution(), self.truncate_rank(rank)?.distribution()) {
            (SecretDistribution::FixedWeight(weight), SecretDistribution::FixedWeight(below)) => {
                SecretDistribution::FixedWeight(weight - below)
            }
            (whole, _) => whole,
        };
        let rank = Rank(self.rank() - rank);
        Self::from_coefficients(
            Degree(self.degree()),
            rank,
            Bodies(self.bodies()),
            distribution,
            coefficients,
        )
    }

    /// Expected weight of one body's secret, to the nearest integer.
    fn expected_weight(&self) -> usize {
        match self.distribution {
            SecretDistribution::UniformTernary => {
                ((self.rank * self.degree) as f64 * 2.0 / 3.0).round() as usize
            }
            SecretDistribution::FixedWeight(weight) => weight,
        }
    }

    /// Expected square of one coefficient.
    #[must_use]
    pub fn coefficient_variance(&self) -> f64 {
        match self.distribution {
            SecretDistribution::UniformTernary => 2.0 / 3.0,
            SecretDistribution::FixedWeight(weight) => weight as f64 / (self.rank * self.degree) as f64,
        }
    }
}

/// `degree * rank * bodies`, or an error where that many words exceed the address space.
fn shape_product(
    Degree(degree): Degree,
    Rank(rank): Rank,
    Bodies(bodies): Bodies,
) -> Result<usize, LatticeError> {
    let total = degree
        .checked_mul(rank)
        .and_then(|part| part.checked_mul(bodies))
        .filter(|&total| total <= isize::MAX as usize / 8);
    total.ok_or(LatticeError::SecretTooLarge { degree, rank, bodies })
}

impl Clone for SecretKey {
    fn clone(&self) -> Self {
        Self { coefficients: self.coefficients.clone(), ..*self }
    }
}
