//! Polynomials over a residue basis, typed by domain: [`Poly`] owns its residues, [`PolyRef`] and [`PolyMut`]
//! borrow them.
//!
//! [`crate::polys`] has the types for several polynomials in one allocation.

use std::borrow::Cow;
use std::fmt::Debug;
use std::marker::PhantomData;

use clathrate_arith::{ArithError, Automorphism, Buffer, Form, Rows, RowsMut};

pub use crate::basis::Basis;
use crate::error::LatticeError;
use crate::ring::Ring;

/// Coefficient form: entry `i` is the coefficient of `X^i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coeff;

/// Evaluation form: entry `i` is the value at `psi^(2 brv(i) + 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eval;

/// The two representations of a polynomial, [`Coeff`] and [`Eval`].
pub trait Domain: Debug + Clone + Copy + PartialEq + Send + Sync + 'static {
    /// Name of the form in messages.
    const NAME: &'static str;
    /// The form, as a value for engines.
    const FORM: Form;
}
impl Domain for Coeff {
    const NAME: &'static str = "Coeff";
    const FORM: Form = Form::Coeff;
}
impl Domain for Eval {
    const NAME: &'static str = "Eval";
    const FORM: Form = Form::Eval;
}

/// A polynomial of `R_Q`, where `Q` is the product of the basis: one row of fully reduced residues per
/// modulus.
#[derive(Debug, Clone)]
pub struct Poly<D: Domain> {
    ring: Ring,
    basis: Basis,
    data: Buffer,
    domain: PhantomData<D>,
}

/// A borrowed polynomial: a [`Poly`], or one of several polynomials in one allocation.
#[derive(Debug, Clone, Copy)]
pub struct PolyRef<'a, D: Domain> {
    ring: &'a Ring,
    basis: &'a Basis,
    rows: Rows<'a>,
    domain: PhantomData<D>,
}

/// A mutably borrowed polynomial.
#[derive(Debug)]
pub struct PolyMut<'a, D: Domain> {
    ring: &'a Ring,
    basis: &'a Basis,
    rows: RowsMut<'a>,
    domain: PhantomData<D>,
}

impl<'a, D: Domain> From<&'a Poly<D>> for PolyRef<'a, D> {
    fn from(poly: &'a Poly<D>) -> Self {
        poly.view()
    }
}

/// Types from which a polynomial can be borrowed: [`Poly`], [`PolyRef`] and references to either.
pub trait AsPoly<D: Domain> {
    /// The polynomial, borrowed.
    fn poly(&self) -> PolyRef<'_, D>;
}

impl<D: Domain> AsPoly<D> for Poly<D> {
    fn poly(&self) -> PolyRef<'_, D> {
        self.view()
    }
}

impl<D: Domain> AsPoly<D> for PolyRef<'_, D> {
    fn poly(&self) -> PolyRef<'_, D> {
        *self
    }
}

impl<D: Domain, P: AsPoly<D>> AsPoly<D> for &P {
    fn poly(&self) -> PolyRef<'_, D> {
        (*self).poly()
    }
}

impl<D: Domain> PartialEq for PolyRef<'_, D> {
    fn eq(&self, other: &Self) -> bool {
        self.ring.same_as(other.ring) && self.basis == other.basis && self.rows == other.rows
    }
}

impl<D: Domain> PartialEq for Poly<D> {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl<D: Domain> PartialEq<PolyRef<'_, D>> for Poly<D> {
    fn eq(&self, other: &PolyRef<'_, D>) -> bool {
        self.view() == *other
    }
}

impl<D: Domain> PartialEq<Poly<D>> for PolyRef<'_, D> {
    fn eq(&self, other: &Poly<D>) -> bool {
        *self == other.view()
    }
}

impl<'a, D: Domain> PolyRef<'a, D> {
    /// A view of rows of residues. The caller guarantees that the residues are fully reduced and that there
    /// is one row per modulus of the basis.
    pub(crate) fn from_rows(ring: &'a Ring, basis: &'a Basis, rows: Rows<'a>) -> Self {
        debug_assert_eq!(rows.rows(), basis.len(), "one row per modulus");
        Self { ring, basis, rows, domain: PhantomData }
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &'a Ring {
        self.ring
    }

    /// The basis.
    #[must_use]
    pub fn basis(&self) -> &'a Basis {
        self.basis
    }

    /// The residues, one row per modulus, as an operand of engines.
    #[must_use]
    pub fn rows(&self) -> Rows<'a> {
        self.rows
    }

    /// The residues on the host, row after row.
    #[must_use]
    pub fn download(&self) -> Cow<'a, [u64]> {
        self.ring.engine().download(self.rows)
    }

    /// The residues of one row on the host.
    #[must_use]
    pub fn download_row(&self, row: usize) -> Cow<'a, [u64]> {
        self.ring.engine().download(self.rows.slice(row..row + 1))
    }

    /// An owned polynomial with the same residues.
    #[must_use]
    pub fn to_poly(&self) -> Poly<D> {
        let mut data = self.ring.engine().scratch(self.basis.len());
        self.ring.engine().copy(data.view_mut(), self.rows);
        Poly::from_buffer(self.ring, self.basis, data)
    }

    /// Checks that both polynomials have the same ring and the same basis.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`].
    pub fn check_same_basis<'b, E: Domain>(
        &self,
        other: impl Into<PolyRef<'b, E>>,
    ) -> Result<(), LatticeError> {
        let other = other.into();
        check_same_basis((self.ring, self.basis), (other.ring, other.basis))
    }

    /// `c` modulo each modulus of the basis.
    #[must_use]
    pub fn residues_of(&self, c: i128) -> Vec<u64> {
        self.basis.residues_of(self.ring, c)
    }

    /// The same polynomial modulo fewer primes: rows of `basis` only.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where this polynomial lacks a prime of `basis`.
    pub fn restrict(&self, basis: &Basis) -> Result<Poly<D>, LatticeError> {
        let rows = self
            .basis
            .rows_of(basis.indices())
            .ok_or(LatticeError::BasisMismatch { left: self.basis.len(), right: basis.len() })?;
        Ok(Poly::from_buffer(self.ring, basis, self.ring.engine().select(self.rows, &rows)))
    }

    /// `phi(self)`.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Poly<D> {
        let data = self.ring.engine().automorphism(D::FORM, phi, self.rows, self.basis.indices());
        Poly::from_buffer(self.ring, self.basis, data)
    }
}

impl PolyRef<'_, Coeff> {
    /// `self * X^power`.
    #[must_use]
    pub fn mul_monomial(&self, power: usize) -> Poly<Coeff> {
        Poly::from_buffer(
            self.ring,
            self.basis,
            self.ring.engine().mul_monomial(self.rows, power, self.basis.indices()),
        )
    }
}

impl PolyRef<'_, Eval> {
    /// A copy in Coeff form, in one pass over memory.
    #[must_use]
    pub fn to_coeff(&self) -> Poly<Coeff> {
        Poly::from_buffer(
            self.ring,
            self.basis,
            self.ring.engine().inverse_ntt_of(self.rows, self.basis.indices()),
        )
    }
}

impl<'a, D: Domain> PolyMut<'a, D> {
    /// A view of rows of residues. The caller guarantees that the residues are fully reduced and that there
    /// is one row per modulus of the basis.
    pub(crate) fn from_rows(ring: &'a Ring, basis: &'a Basis, rows: RowsMut<'a>) -> Self {
        debug_assert_eq!(rows.rows(), basis.len(), "one row per modulus");
        Self { ring, basis, rows, domain: PhantomData }
    }

    /// The ring.
    #[must_use]
    pub fn ring(&self) -> &'a Ring {
        self.ring
    }

    /// The basis.
    #[must_use]
    pub fn basis(&self) -> &'a Basis {
        self.basis
    }

    /// The polynomial, borrowed for reading.
    #[must_use]
    pub fn view(&self) -> PolyRef<'_, D> {
        PolyRef::from_rows(self.ring, self.basis, self.rows.view())
    }

    /// The residues, one row per modulus, as an operand of engines.
    #[must_use]
    pub fn into_rows(self) -> RowsMut<'a> {
        self.rows
    }

    /// `self <- other`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the rings or the bases differ.
    pub fn assign<'b>(&mut self, other: impl Into<PolyRef<'b, D>>) -> Result<(), LatticeError> {
        let other = other.into();
        self.view().check_same_basis(other)?;
        self.ring.engine().copy(self.rows.reborrow(), other.rows());
        Ok(())
    }

    /// `self <- x - y`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the rings or the bases differ.
    pub fn assign_difference<'b, 'c>(
        &mut self,
        x: impl Into<PolyRef<'b, D>>,
        y: impl Into<PolyRef<'c, D>>,
    ) -> Result<(), LatticeError> {
        let (x, y) = (x.into(), y.into());
        self.view().check_same_basis(x)?;
        self.view().check_same_basis(y)?;
        self.ring.engine().sub(self.rows.reborrow(), x.rows(), y.rows(), self.basis.indices());
        Ok(())
    }

    /// `self <- self + c other`, where `c` is given by its residues, one per modulus of the basis.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the rings or the bases differ.
    pub fn add_multiple<'b>(
        &mut self,
        other: impl Into<PolyRef<'b, D>>,
        residues: &[u64],
    ) -> Result<(), LatticeError> {
        let other = other.into();
        self.view().check_same_basis(other)?;
        self.ring.engine().add_mul_constants_assign(
            self.rows.reborrow(),
            other.rows(),
            residues,
            self.basis.indices(),
        );
        Ok(())
    }

    /// `self <- self + other`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the rings or the bases differ.
    pub fn add_assign<'b>(&mut self, other: impl Into<PolyRef<'b, D>>) -> Result<(), LatticeError> {
        let other = other.into();
        self.view().check_same_basis(other)?;
        self.ring.engine().add_assign(self.rows.reborrow(), other.rows(), self.basis.indices());
        Ok(())
    }

    /// `self <- self - other`.
    pub fn sub_assign<'b>(&mut self, other: impl Into<PolyRef<'b, D>>) -> Result<(), LatticeError> {
        let other = other.into();
        self.view().check_same_basis(other)?;
        self.ring.engine().sub_assign(self.rows.reborrow(), other.rows(), self.basis.indices());
        Ok(())
    }

    /// `self <- -self`.
    pub fn negate_assign(&mut self) {
        self.ring.engine().negate_assign(self.rows.reborrow(), self.basis.indices());
    }

    /// `self <- self * c` for an integer given by its residues, one per modulus of the basis.
    pub fn mul_constants_assign(&mut self, residues: &[u64]) {
        self.ring.engine().mul_constants_assign(self.rows.reborrow(), residues, self.basis.indices());
    }

    /// `self <- self * c` for a signed integer.
    pub fn mul_integer_assign(&mut self, c: i128) {
        let residues = self.basis.residues_of(self.ring, c);
        self.mul_constants_assign(&residues);
    }
}

impl PolyMut<'_, Eval> {
    /// `self <-` the polynomial with the given `degree` signed coefficients.
    pub(crate) fn set_signed(&mut self, values: &[i64]) {
        let (engine, indices) = (self.ring.engine(), self.basis.indices());
        engine.reduce_signed(self.rows.reborrow(), values, indices);
        engine.forward_ntt(self.rows.reborrow(), indices);
    }

    /// `self <- self * other`, the ring product.
    pub fn mul_assign<'b>(&mut self, other: impl Into<PolyRef<'b, Eval>>) -> Result<(), LatticeError> {
        let other = other.into();
        self.view().check_same_basis(other)?;
        self.ring.engine().mul_assign(self.rows.reborrow(), other.rows(), self.basis.indices());
        Ok(())
    }
}

/// Checks that two polynomials have the same ring and the same basis.
pub(crate) fn check_same_basis(left: (&Ring, &Basis), right: (&Ring, &Basis)) -> Result<(), LatticeError> {
    if !left.0.same_as(right.0) {
        let (kinds, degrees) = (
            (left.0.engine().memory_kind(), right.0.engine().memory_kind()),
            (left.0.degree(), right.0.degree()),
        );
        return Err(match kinds {
            (left, right) if left != right && degrees.0 == degrees.1 => {
                LatticeError::MemoryMismatch { left, right }
            }
            _ => LatticeError::RingMismatch { left: degrees.0, right: degrees.1 },
        });
    }
    if left.1 != right.1 {
        return Err(LatticeError::BasisMismatch { left: left.1.len(), right: right.1.len() });
    }
    Ok(())
}

impl<D: Domain> Poly<D> {
    /// Wraps rows of residues. The caller guarantees that they are fully reduced.
    ///
    /// # Panics
    /// Unless there is one row per modulus of the basis.
    #[must_use]
    pub fn from_buffer(ring: &Ring, basis: &Basis, data: Buffer) -> Self {
        assert_eq!(data.rows(), basis.len(), "one row per modulus");
        Self { ring: ring.clone(), basis: basis.clone(), data, domain: PhantomData }
    }

    /// A polynomial of residues from the host: `fill(i, row)` writes the residues modulo the `i`-th modulus
    /// of the basis. The caller guarantees that they are fully reduced.
    #[must_use]
    pub fn upload(ring: &Ring, basis: &Basis, fill: impl Fn(usize, &mut [u64]) + Sync) -> Self {
        let mut data = ring.engine().scratch(basis.len());
        ring.engine().upload_rows(data.view_mut(), &fill);
        Self::from_buffer(ring, basis, data)
    }

    /// The zero polynomial.
    #[must_use]
    pub fn zero(ring: &Ring, basis: &Basis) -> Self {
        Self::from_buffer(ring, basis, ring.engine().zeroed(basis.len()))
    }

    /// The polynomial, borrowed.
    #[must_use]
    pub fn view(&self) -> PolyRef<'_, D> {
        PolyRef::from_rows(&self.ring, &self.basis, self.data.view())
    }

    /// The polynomial, mutably borrowed.
    #[must_use]
    pub fn view_mut(&mut self) -> PolyMut<'_, D> {
        PolyMut::from_rows(&self.ring, &self.basis, self.data.view_mut())
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

    /// The residues, one row per modulus, as an operand of engines.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        self.data.view()
    }

    /// Returns the buffer of residues.
    #[must_use]
    pub fn into_buffer(self) -> Buffer {
        self.data
    }

    /// Overwrites the residues with zeroes; the compiler cannot remove these writes.
    pub fn zeroize(&mut self) {
        self.data.zeroize();
    }

    /// The residues on the host, row after row.
    #[must_use]
    pub fn download(&self) -> Cow<'_, [u64]> {
        self.view().download()
    }

    /// The residues of one row on the host.
    #[must_use]
    pub fn download_row(&self, row: usize) -> Cow<'_, [u64]> {
        self.view().download_row(row)
    }

    /// Checks that both polynomials have the same ring and the same basis.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`].
    pub fn check_same_basis<'b, E: Domain>(
        &self,
        other: impl Into<PolyRef<'b, E>>,
    ) -> Result<(), LatticeError> {
        self.view().check_same_basis(other)
    }

    /// `self <- self + other`.
    pub fn add_assign<'b>(&mut self, other: impl Into<PolyRef<'b, D>>) -> Result<(), LatticeError> {
        self.view_mut().add_assign(other)
    }

    /// `self <- self - other`.
    pub fn sub_assign<'b>(&mut self, other: impl Into<PolyRef<'b, D>>) -> Result<(), LatticeError> {
        self.view_mut().sub_assign(other)
    }

    /// `self <- -self`.
    pub fn negate_assign(&mut self) {
        self.view_mut().negate_assign();
    }

    /// `self <- self * c` for an integer given by its residues, one per modulus of the basis.
    pub fn mul_constants_assign(&mut self, residues: &[u64]) {
        self.view_mut().mul_constants_assign(residues);
    }

    /// `self <- self * c` for a signed integer.
    pub fn mul_integer_assign(&mut self, c: i128) {
        self.view_mut().mul_integer_assign(c);
    }

    /// `c` modulo each modulus of the basis.
    #[must_use]
    pub fn residues_of(&self, c: i128) -> Vec<u64> {
        self.view().residues_of(c)
    }

    /// The same polynomial modulo fewer primes: rows of `basis` only.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where this polynomial lacks a prime of `basis`.
    pub fn restrict(&self, basis: &Basis) -> Result<Self, LatticeError> {
        self.view().restrict(basis)
    }

    /// `phi(self)`.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Self {
        self.view().automorphism(phi)
    }
}

impl Poly<Coeff> {
    /// The polynomial with the given signed coefficients, one per power of `X`.
    #[must_use]
    pub fn from_signed(ring: &Ring, basis: &Basis, values: &[i64]) -> Self {
        let mut data = ring.engine().scratch(basis.len());
        ring.engine().reduce_signed(data.view_mut(), values, basis.indices());
        Self::from_buffer(ring, basis, data)
    }

    /// The same polynomial in Eval form.
    #[must_use]
    pub fn into_eval(mut self) -> Poly<Eval> {
        self.ring.engine().forward_ntt(self.data.view_mut(), self.basis.indices());
        Poly { ring: self.ring, basis: self.basis, data: self.data, domain: PhantomData }
    }

    /// `self * X^power`.
    #[must_use]
    pub fn mul_monomial(&self, power: usize) -> Self {
        self.view().mul_monomial(power)
    }
}

impl Poly<Eval> {
    /// The constant polynomial `c`, given by its residues, one per modulus of the basis.
    #[must_use]
    pub fn constant(ring: &Ring, basis: &Basis, residues: &[u64]) -> Self {
        let mut data = ring.engine().scratch(basis.len());
        ring.engine().fill(data.view_mut(), residues);
        Self::from_buffer(ring, basis, data)
    }

    /// The same polynomial in Coeff form.
    #[must_use]
    pub fn into_coeff(mut self) -> Poly<Coeff> {
        self.ring.engine().inverse_ntt(self.data.view_mut(), self.basis.indices());
        Poly { ring: self.ring, basis: self.basis, data: self.data, domain: PhantomData }
    }

    /// A copy in Coeff form, in one pass over memory.
    #[must_use]
    pub fn to_coeff(&self) -> Poly<Coeff> {
        self.view().to_coeff()
    }

    /// `self <- self * other`, the ring product.
    pub fn mul_assign<'b>(&mut self, other: impl Into<PolyRef<'b, Eval>>) -> Result<(), LatticeError> {
        self.view_mut().mul_assign(other)
    }

    /// `sum_j xs[j] * ys[j]`, over the basis of the left factors; the right factors may have more primes.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the factors of one side differ, or the right factors lack a
    /// prime; [`LatticeError::RingMismatch`]; [`LatticeError::EmptyShape`] without factors;
    /// [`clathrate_arith::ArithError::Shape`] where the two sides have different numbers of factors.
    pub fn inner_product<'a, 'b, X, Y>(xs: &[X], ys: &[Y]) -> Result<Poly<Eval>, LatticeError>
    where
        X: Copy + Into<PolyRef<'a, Eval>>,
        Y: Copy + Into<PolyRef<'b, Eval>>,
    {
        let xs: Vec<PolyRef<'a, Eval>> = xs.iter().map(|&x| x.into()).collect();
        let ys: Vec<PolyRef<'b, Eval>> = ys.iter().map(|&y| y.into()).collect();
        let (Some(first), Some(right)) = (xs.first(), ys.first()) else {
            return Err(LatticeError::EmptyShape { what: "the number of factors", got: 0 });
        };
        if xs.len() != ys.len() {
            return Err(ArithError::Shape {
                what: "factors on the right of an inner product",
                expected: xs.len(),
                got: ys.len(),
            }
            .into());
        }
        let (ring, basis) = (first.ring, first.basis);
        let rings = xs.iter().map(|x| x.ring).chain(ys.iter().map(|y| y.ring));
        if let Some(bad) = rings.into_iter().find(|other| !other.same_as(ring)) {
            return Err(LatticeError::RingMismatch { left: ring.degree(), right: bad.degree() });
        }
        let mismatch = |other: &Basis| LatticeError::BasisMismatch { left: basis.len(), right: other.len() };
        if let Some(bad) = xs.iter().find(|x| x.basis != basis) {
            return Err(mismatch(bad.basis));
        }
        if let Some(bad) = ys.iter().find(|y| y.basis != right.basis) {
            return Err(mismatch(bad.basis));
        }
        let rows = right.basis.rows_of(basis.indices()).ok_or_else(|| mismatch(right.basis))?;
        let mut out = ring.engine().scratch(basis.len());
        let terms = xs.iter().zip(&ys).map(|(x, y)| (x.rows, y.rows)).collect();
        ring.engine().dot_products(out.view_mut(), &[terms], &rows, basis.indices());
        Ok(Poly::from_buffer(ring, basis, out))
    }
}
