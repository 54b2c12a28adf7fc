//! Polynomials over a residue basis, typed by domain.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use clathrate_arith::{ArithError, Automorphism, Buffer, automorphism};

use crate::error::LatticeError;
use crate::ring::Ring;

/// Coefficient form: entry `i` is the coefficient of `X^i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coeff;

/// Evaluation form: entry `i` is the value at `psi^(2 brv(i) + 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eval;

/// The two forms of a polynomial.
pub trait Domain: Debug + Clone + Copy + PartialEq + Send + Sync + 'static {
    /// Name in messages.
    const NAME: &'static str;
}
impl Domain for Coeff {
    const NAME: &'static str = "Coeff";
}
impl Domain for Eval {
    const NAME: &'static str = "Eval";
}

/// An ordered set of moduli of a ring, by index: which row of a polynomial has which modulus.
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

    /// Whether it has no modulus.
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

    /// Refuses a basis that `ring` does not have.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without primes; [`LatticeError::BasisMismatch`] where the ring lacks one, or one is repeated.
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

    /// Bits of the product of its moduli in `ring`.
    #[must_use]
    pub fn log2(&self, ring: &Ring) -> f64 {
        self.0.iter().map(|&i| (ring.moduli()[i].value() as f64).log2()).sum()
    }
}

/// A polynomial of `R_Q` for `Q` the product of its basis; one row of residues per modulus, fully reduced.
#[derive(Debug, Clone)]
pub struct Poly<D: Domain> {
    ring: Ring,
    basis: Basis,
    data: Buffer,
    domain: PhantomData<D>,
}

impl<D: Domain> PartialEq for Poly<D> {
    fn eq(&self, other: &Self) -> bool {
        self.ring.same_as(&other.ring) && self.basis == other.basis && self.data == other.data
    }
}

impl<D: Domain> Poly<D> {
    /// Wraps rows of residues; the caller vouches that they are reduced.
    #[must_use]
    pub fn from_buffer(ring: &Ring, basis: &Basis, data: Buffer) -> Self {
        assert_eq!(data.rows(), basis.len(), "one row per modulus");
        Self { ring: ring.clone(), basis: basis.clone(), data, domain: PhantomData }
    }

    /// The zero polynomial.
    #[must_use]
    pub fn zero(ring: &Ring, basis: &Basis) -> Self {
        Self::from_buffer(ring, basis, ring.engine().zeroed(basis.len()))
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The basis.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The residues.
    #[must_use]
    pub fn data(&self) -> &Buffer {
        &self.data
    }

    /// The residues, writable.
    #[must_use]
    pub fn data_mut(&mut self) -> &mut Buffer {
        &mut self.data
    }

    /// Gives up the residues.
    #[must_use]
    pub fn into_buffer(self) -> Buffer {
        self.data
    }

    /// Checks that both polynomials have one ring and one basis.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`].
    pub fn check_same_basis<E: Domain>(&self, other: &Poly<E>) -> Result<(), LatticeError> {
        if !self.ring.same_as(&other.ring) {
            return Err(LatticeError::RingMismatch { left: self.ring.degree(), right: other.ring.degree() });
        }
        if self.basis != other.basis {
            return Err(LatticeError::BasisMismatch { left: self.basis.len(), right: other.basis.len() });
        }
        Ok(())
    }

    /// `self <- self + other`.
    ///
    /// # Errors
    /// As [`Poly::check_same_basis`].
    pub fn add_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_basis(other)?;
        self.ring.engine().add_assign(&mut self.data, &other.data, self.basis.indices());
        Ok(())
    }

    /// `self <- self - other`.
    ///
    /// # Errors
    /// As [`Poly::check_same_basis`].
    pub fn sub_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_basis(other)?;
        self.ring.engine().sub_assign(&mut self.data, &other.data, self.basis.indices());
        Ok(())
    }

    /// `self <- -self`.
    pub fn negate_assign(&mut self) {
        self.ring.engine().negate_assign(&mut self.data, self.basis.indices());
    }

    /// `self <- self * c` for an integer given by its residues, one per modulus of the basis.
    pub fn mul_constants_assign(&mut self, residues: &[u64]) {
        self.ring.engine().mul_constants_assign(&mut self.data, residues, self.basis.indices());
    }

    /// `self <- self * c` for a signed integer.
    pub fn mul_integer_assign(&mut self, c: i128) {
        let residues = self.residues_of(c);
        self.mul_constants_assign(&residues);
    }

    /// `c` modulo each modulus of the basis.
    #[must_use]
    pub fn residues_of(&self, c: i128) -> Vec<u64> {
        self.basis.indices().iter().map(|&i| self.ring.moduli()[i].reduce_i128(c)).collect()
    }

    /// The same polynomial modulo fewer primes: rows of `basis` only.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where this polynomial lacks one of them.
    pub fn restrict(&self, basis: &Basis) -> Result<Self, LatticeError> {
        let rows = self.basis.rows_of(basis.indices()).ok_or(LatticeError::BasisMismatch { left: self.basis.len(), right: basis.len() })?;
        Ok(Self::from_buffer(&self.ring, basis, self.data.select(&rows)))
    }
}

impl Poly<Coeff> {
    /// The polynomial with the given signed coefficients, one per power of `X`.
    #[must_use]
    pub fn from_signed(ring: &Ring, basis: &Basis, values: &[i64]) -> Self {
        Self::from_buffer(ring, basis, ring.engine().reduce_signed(values, basis.indices()))
    }

    /// The same polynomial in Eval form.
    #[must_use]
    pub fn into_eval(mut self) -> Poly<Eval> {
        self.ring.engine().forward_ntt(&mut self.data, 0..self.basis.len(), self.basis.indices());
        Poly { ring: self.ring, basis: self.basis, data: self.data, domain: PhantomData }
    }

    /// `phi(self)`.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Self {
        let data = self.ring.engine().automorphism_coeff(phi, &self.data, self.basis.indices());
        Self::from_buffer(&self.ring, &self.basis, data)
    }

    /// `self * X^power`.
    #[must_use]
    pub fn mul_monomial(&self, power: usize) -> Self {
        let mut data = self.ring.engine().scratch(self.basis.len());
        for (row, &index) in self.basis.indices().iter().enumerate() {
            automorphism::mul_monomial(data.row_mut(row), self.data.row(row), power, &self.ring.moduli()[index]);
        }
        Self::from_buffer(&self.ring, &self.basis, data)
    }
}

impl Poly<Eval> {
    /// The same polynomial in Coeff form.
    #[must_use]
    pub fn into_coeff(mut self) -> Poly<Coeff> {
        self.ring.engine().inverse_ntt(&mut self.data, 0..self.basis.len(), self.basis.indices());
        Poly { ring: self.ring, basis: self.basis, data: self.data, domain: PhantomData }
    }

    /// A copy in Coeff form: one pass, where a clone and its transform would be two.
    #[must_use]
    pub fn to_coeff(&self) -> Poly<Coeff> {
        let data = self.ring.engine().inverse_ntt_of(&self.data, self.basis.indices());
        Poly { ring: self.ring.clone(), basis: self.basis.clone(), data, domain: PhantomData }
    }

    /// `self <- self * other`, the ring product.
    ///
    /// # Errors
    /// As [`Poly::check_same_basis`].
    pub fn mul_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_basis(other)?;
        self.ring.engine().mul_assign(&mut self.data, &other.data, self.basis.indices());
        Ok(())
    }

    /// `phi(self)`.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Self {
        Self::from_buffer(&self.ring, &self.basis, self.ring.engine().automorphism_eval(phi, &self.data))
    }

    /// `sum_j xs[j] * ys[j]`, over the basis of the first factor; factors on the right may have more primes.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where a factor lacks a prime; [`LatticeError::RingMismatch`]; [`LatticeError::EmptyShape`]
    /// without factors; [`clathrate_arith::ArithError::Shape`] where the two sides have different numbers of them.
    pub fn inner_product(xs: &[&Poly<Eval>], ys: &[&Poly<Eval>]) -> Result<Poly<Eval>, LatticeError> {
        let (Some(first), Some(right)) = (xs.first(), ys.first()) else {
            return Err(LatticeError::EmptyShape { what: "the number of factors", got: 0 });
        };
        if xs.len() != ys.len() {
            return Err(ArithError::Shape { what: "factors on the right of an inner product", expected: xs.len(), got: ys.len() }.into());
        }
        let (ring, basis) = (first.ring(), first.basis());
        if let Some(bad) = xs.iter().chain(ys).find(|factor| !factor.ring().same_as(ring)) {
            return Err(LatticeError::RingMismatch { left: ring.degree(), right: bad.ring().degree() });
        }
        let mismatch = |other: &Basis| LatticeError::BasisMismatch { left: basis.len(), right: other.len() };
        if let Some(bad) = xs.iter().find(|x| x.basis() != basis).or_else(|| ys.iter().find(|y| y.basis() != right.basis())) {
            return Err(mismatch(bad.basis()));
        }
        let rows = right.basis().rows_of(basis.indices()).ok_or_else(|| mismatch(right.basis()))?;
        let mut out = [ring.engine().scratch(basis.len())];
        let left: Vec<&Buffer> = xs.iter().map(|x| x.data()).collect();
        let factors = [ys.iter().map(|y| y.data()).collect()];
        ring.engine().inner_products(&mut out, &left, &factors, &rows, basis.indices());
        let [data] = out;
        Ok(Poly::from_buffer(ring, basis, data))
    }
}
