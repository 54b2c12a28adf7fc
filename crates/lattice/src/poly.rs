//! Polynomials over a residue basis, typed by domain ([`Coeff`], [`Eval`]) and by number ([`One`], [`Many`]).
//!
//! [`Polynomials`] owns its residues, in one allocation; [`PolynomialsRef`] and [`PolynomialsMut`] borrow
//! them. [`Poly`], [`PolyRef`] and [`PolyMut`] are one polynomial, [`Polys`], [`PolysRef`] and [`PolysMut`]
//! are several, the storage of bundles and tensors. An operation on several polynomials is one call of the
//! engine.

mod several;

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

/// One polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct One;

/// Any number of polynomials over one basis, which is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Many;

/// How many polynomials a value holds: [`One`] or [`Many`].
pub trait Count: Debug + Clone + Copy + PartialEq + Send + Sync + 'static {
    /// The number of polynomials with `rows` rows of residues, of `primes` rows each; `None` where the rows
    /// do not fit.
    fn of_rows(rows: usize, primes: usize) -> Option<usize>;
}
impl Count for One {
    fn of_rows(rows: usize, primes: usize) -> Option<usize> {
        (rows == primes).then_some(1)
    }
}
impl Count for Many {
    fn of_rows(rows: usize, primes: usize) -> Option<usize> {
        (primes > 0 && rows.is_multiple_of(primes)).then(|| rows / primes)
    }
}

/// Polynomials of `R_Q`, where `Q` is the product of the basis: one row of fully reduced residues for each
/// polynomial and modulus, polynomial after polynomial.
#[derive(Debug, Clone)]
pub struct Polynomials<D: Domain, N: Count> {
    ring: Ring,
    basis: Basis,
    data: Buffer,
    kind: PhantomData<(D, N)>,
}

/// Borrowed polynomials: all those of a [`Polynomials`], or some of them.
#[derive(Debug, Clone, Copy)]
pub struct PolynomialsRef<'a, D: Domain, N: Count> {
    ring: &'a Ring,
    basis: &'a Basis,
    rows: Rows<'a>,
    kind: PhantomData<(D, N)>,
}

/// Mutably borrowed polynomials.
#[derive(Debug)]
pub struct PolynomialsMut<'a, D: Domain, N: Count> {
    ring: &'a Ring,
    basis: &'a Basis,
    rows: RowsMut<'a>,
    kind: PhantomData<(D, N)>,
}

/// A polynomial.
pub type Poly<D> = Polynomials<D, One>;
/// A borrowed polynomial: a [`Poly`], or one of several.
pub type PolyRef<'a, D> = PolynomialsRef<'a, D, One>;
/// A mutably borrowed polynomial.
pub type PolyMut<'a, D> = PolynomialsMut<'a, D, One>;
/// Several polynomials in one allocation.
pub type Polys<D> = Polynomials<D, Many>;
/// A borrowed range of several polynomials.
pub type PolysRef<'a, D> = PolynomialsRef<'a, D, Many>;
/// A mutably borrowed range of several polynomials.
pub type PolysMut<'a, D> = PolynomialsMut<'a, D, Many>;

impl<'a, D: Domain, N: Count> From<&'a Polynomials<D, N>> for PolynomialsRef<'a, D, N> {
    fn from(polys: &'a Polynomials<D, N>) -> Self {
        polys.view()
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

impl<D: Domain, N: Count> PartialEq for PolynomialsRef<'_, D, N> {
    fn eq(&self, other: &Self) -> bool {
        self.ring.same_as(other.ring) && self.basis == other.basis && self.rows == other.rows
    }
}

impl<D: Domain, N: Count> PartialEq for Polynomials<D, N> {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl<D: Domain, N: Count> PartialEq<PolynomialsRef<'_, D, N>> for Polynomials<D, N> {
    fn eq(&self, other: &PolynomialsRef<'_, D, N>) -> bool {
        self.view() == *other
    }
}

impl<D: Domain, N: Count> PartialEq<Polynomials<D, N>> for PolynomialsRef<'_, D, N> {
    fn eq(&self, other: &Polynomials<D, N>) -> bool {
        *self == other.view()
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

impl<'a, D: Domain, N: Count> PolynomialsRef<'a, D, N> {
    /// A view of rows of residues. The caller guarantees that the residues are fully reduced and that there
    /// is one row per polynomial and modulus.
    fn from_rows(ring: &'a Ring, basis: &'a Basis, rows: Rows<'a>) -> Self {
        debug_assert!(N::of_rows(rows.rows(), basis.len()).is_some(), "one row per modulus");
        Self { ring, basis, rows, kind: PhantomData }
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

    /// The residues, one row per polynomial and modulus, as an operand of engines.
    #[must_use]
    pub fn rows(&self) -> Rows<'a> {
        self.rows
    }

    /// The number of polynomials.
    fn count(&self) -> usize {
        N::of_rows(self.rows.rows(), self.basis.len()).unwrap_or(0)
    }

    /// The residues on the host, polynomial after polynomial, row after row.
    #[must_use]
    pub fn download(&self) -> Cow<'a, [u64]> {
        self.ring.engine().download(self.rows)
    }

    /// Copies of all polynomials, in one allocation.
    #[must_use]
    pub fn to_owned(&self) -> Polynomials<D, N> {
        let mut data = self.ring.engine().scratch(self.rows.rows());
        self.ring.engine().copy(data.view_mut(), self.rows);
        Polynomials::from_buffer(self.ring, self.basis, data)
    }

    /// Checks that both sides have the same ring and the same basis.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`].
    pub fn check_same_basis<'b, E: Domain>(
        &self,
        other: impl Into<PolynomialsRef<'b, E, N>>,
    ) -> Result<(), LatticeError> {
        let other = other.into();
        check_same_basis((self.ring, self.basis), (other.ring, other.basis))
    }

    /// Indices of the rows for the primes of `basis`, in every polynomial.
    fn rows_of(&self, basis: &Basis) -> Result<Vec<usize>, LatticeError> {
        let mismatch = LatticeError::BasisMismatch { left: self.basis.len(), right: basis.len() };
        let rows = self.basis.rows_of(basis.indices()).ok_or(mismatch)?;
        Ok(self.repeated(&rows))
    }

    /// The given rows of each polynomial, as row indices of the view.
    pub(crate) fn repeated(&self, rows: &[usize]) -> Vec<usize> {
        (0..self.count()).flat_map(|poly| rows.iter().map(move |row| poly * self.basis.len() + row)).collect()
    }

    /// The same polynomials modulo fewer primes: rows of `basis` only.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the polynomials lack a prime of `basis`.
    pub fn restrict(&self, basis: &Basis) -> Result<Polynomials<D, N>, LatticeError> {
        let data = self.ring.engine().select(self.rows, &self.rows_of(basis)?);
        Ok(Polynomials::from_buffer(self.ring, basis, data))
    }

    /// `phi` of every polynomial.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Polynomials<D, N> {
        let data = self.ring.engine().automorphism(D::FORM, phi, self.rows, self.basis.indices());
        Polynomials::from_buffer(self.ring, self.basis, data)
    }
}

impl<N: Count> PolynomialsRef<'_, Eval, N> {
    /// Copies in Coeff form, in one pass over memory.
    #[must_use]
    pub fn to_coeff(&self) -> Polynomials<Coeff, N> {
        let data = self.ring.engine().inverse_ntt_of(self.rows, self.basis.indices());
        Polynomials::from_buffer(self.ring, self.basis, data)
    }
}

impl<'a, D: Domain, N: Count> PolynomialsMut<'a, D, N> {
    /// A view of rows of residues. The caller guarantees that the residues are fully reduced and that there
    /// is one row per polynomial and modulus.
    fn from_rows(ring: &'a Ring, basis: &'a Basis, rows: RowsMut<'a>) -> Self {
        debug_assert!(N::of_rows(rows.rows(), basis.len()).is_some(), "one row per modulus");
        Self { ring, basis, rows, kind: PhantomData }
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

    /// The polynomials, borrowed for reading.
    #[must_use]
    pub fn view(&self) -> PolynomialsRef<'_, D, N> {
        PolynomialsRef::from_rows(self.ring, self.basis, self.rows.view())
    }

    /// The same polynomials, reborrowed for a shorter lifetime.
    #[must_use]
    pub fn reborrow(&mut self) -> PolynomialsMut<'_, D, N> {
        PolynomialsMut::from_rows(self.ring, self.basis, self.rows.reborrow())
    }

    /// The residues, one row per polynomial and modulus, as an operand of engines.
    #[must_use]
    pub fn into_rows(self) -> RowsMut<'a> {
        self.rows
    }

    fn check(&self, other: PolynomialsRef<'_, D, N>) -> Result<(), LatticeError> {
        check_same_basis((self.ring, self.basis), (other.ring, other.basis))?;
        let (left, right) = (self.view().count(), other.count());
        if left == right { Ok(()) } else { Err(LatticeError::BodiesMismatch { left, right }) }
    }

    /// `self <- other`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`], [`LatticeError::BodiesMismatch`]
    /// where rings, bases or numbers of polynomials differ.
    pub fn assign<'b>(&mut self, other: impl Into<PolynomialsRef<'b, D, N>>) -> Result<(), LatticeError> {
        let other = other.into();
        self.check(other)?;
        self.ring.engine().copy(self.rows.reborrow(), other.rows);
        Ok(())
    }

    /// `self <- self + other`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`], [`LatticeError::BodiesMismatch`]
    /// where rings, bases or numbers of polynomials differ.
    pub fn add_assign<'b>(&mut self, other: impl Into<PolynomialsRef<'b, D, N>>) -> Result<(), LatticeError> {
        let other = other.into();
        self.check(other)?;
        self.ring.engine().add_assign(self.rows.reborrow(), other.rows, self.basis.indices());
        Ok(())
    }

    /// `self <- self - other`.
    ///
    /// # Errors
    /// As [`PolynomialsMut::add_assign`].
    pub fn sub_assign<'b>(&mut self, other: impl Into<PolynomialsRef<'b, D, N>>) -> Result<(), LatticeError> {
        let other = other.into();
        self.check(other)?;
        self.ring.engine().sub_assign(self.rows.reborrow(), other.rows, self.basis.indices());
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

impl<D: Domain, N: Count> Polynomials<D, N> {
    /// Wraps rows of residues: `basis.len()` rows for each polynomial. The caller guarantees that the
    /// residues are fully reduced.
    ///
    /// # Panics
    /// Where the number of rows does not fit the number of polynomials, and for several polynomials over an
    /// empty basis.
    #[must_use]
    pub fn from_buffer(ring: &Ring, basis: &Basis, data: Buffer) -> Self {
        assert!(N::of_rows(data.rows(), basis.len()).is_some(), "one row per modulus of each polynomial");
        Self { ring: ring.clone(), basis: basis.clone(), data, kind: PhantomData }
    }

    /// The polynomials, borrowed.
    #[must_use]
    pub fn view(&self) -> PolynomialsRef<'_, D, N> {
        PolynomialsRef::from_rows(&self.ring, &self.basis, self.data.view())
    }

    /// The polynomials, mutably borrowed.
    #[must_use]
    pub fn view_mut(&mut self) -> PolynomialsMut<'_, D, N> {
        PolynomialsMut::from_rows(&self.ring, &self.basis, self.data.view_mut())
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

    /// The residues, one row per polynomial and modulus, as an operand of engines.
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

    /// The residues on the host, polynomial after polynomial, row after row.
    #[must_use]
    pub fn download(&self) -> Cow<'_, [u64]> {
        self.view().download()
    }

    /// [`PolynomialsRef::check_same_basis`].
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`].
    pub fn check_same_basis<'b, E: Domain>(
        &self,
        other: impl Into<PolynomialsRef<'b, E, N>>,
    ) -> Result<(), LatticeError> {
        self.view().check_same_basis(other)
    }

    /// [`PolynomialsRef::restrict`].
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the polynomials lack a prime of `basis`.
    pub fn restrict(&self, basis: &Basis) -> Result<Self, LatticeError> {
        self.view().restrict(basis)
    }

    /// [`PolynomialsRef::automorphism`].
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Self {
        self.view().automorphism(phi)
    }

    /// [`PolynomialsMut::add_assign`].
    ///
    /// # Errors
    /// As there.
    pub fn add_assign<'b>(&mut self, other: impl Into<PolynomialsRef<'b, D, N>>) -> Result<(), LatticeError> {
        self.view_mut().add_assign(other)
    }

    /// [`PolynomialsMut::sub_assign`].
    ///
    /// # Errors
    /// As there.
    pub fn sub_assign<'b>(&mut self, other: impl Into<PolynomialsRef<'b, D, N>>) -> Result<(), LatticeError> {
        self.view_mut().sub_assign(other)
    }

    /// [`PolynomialsMut::negate_assign`].
    pub fn negate_assign(&mut self) {
        self.view_mut().negate_assign();
    }

    /// [`PolynomialsMut::mul_constants_assign`].
    pub fn mul_constants_assign(&mut self, residues: &[u64]) {
        self.view_mut().mul_constants_assign(residues);
    }

    /// [`PolynomialsMut::mul_integer_assign`].
    pub fn mul_integer_assign(&mut self, c: i128) {
        self.view_mut().mul_integer_assign(c);
    }

    /// The same residues, read as the other form.
    #[must_use]
    pub(crate) fn read_as<E: Domain>(self) -> Polynomials<E, N> {
        Polynomials { ring: self.ring, basis: self.basis, data: self.data, kind: PhantomData }
    }
}

impl<N: Count> Polynomials<Coeff, N> {
    /// The same polynomials in Eval form.
    #[must_use]
    pub fn into_eval(mut self) -> Polynomials<Eval, N> {
        self.ring.engine().forward_ntt(self.data.view_mut(), self.basis.indices());
        self.read_as()
    }
}

impl<N: Count> Polynomials<Eval, N> {
    /// The same polynomials in Coeff form.
    #[must_use]
    pub fn into_coeff(mut self) -> Polynomials<Coeff, N> {
        self.ring.engine().inverse_ntt(self.data.view_mut(), self.basis.indices());
        self.read_as()
    }

    /// [`PolynomialsRef::to_coeff`].
    #[must_use]
    pub fn to_coeff(&self) -> Polynomials<Coeff, N> {
        self.view().to_coeff()
    }
}

impl<'a, D: Domain> PolyRef<'a, D> {
    /// The residues of one row on the host.
    #[must_use]
    pub fn download_row(&self, row: usize) -> Cow<'a, [u64]> {
        self.ring.engine().download(self.rows.slice(row..row + 1))
    }

    /// `c` modulo each modulus of the basis.
    #[must_use]
    pub fn residues_of(&self, c: i128) -> Vec<u64> {
        self.basis.residues_of(self.ring, c)
    }
}

impl PolyRef<'_, Coeff> {
    /// `self * X^power`.
    #[must_use]
    pub fn mul_monomial(&self, power: usize) -> Poly<Coeff> {
        let data = self.ring.engine().mul_monomial(self.rows, power, self.basis.indices());
        Poly::from_buffer(self.ring, self.basis, data)
    }
}

impl<D: Domain> PolyMut<'_, D> {
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
        self.check(x)?;
        self.check(y)?;
        self.ring.engine().sub(self.rows.reborrow(), x.rows, y.rows, self.basis.indices());
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
        self.check(other)?;
        let engine = self.ring.engine();
        engine.add_mul_constants_assign(self.rows.reborrow(), other.rows, residues, self.basis.indices());
        Ok(())
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
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the rings or the bases differ.
    pub fn mul_assign<'b>(&mut self, other: impl Into<PolyRef<'b, Eval>>) -> Result<(), LatticeError> {
        let other = other.into();
        self.check(other)?;
        self.ring.engine().mul_assign(self.rows.reborrow(), other.rows, self.basis.indices());
        Ok(())
    }
}

impl<D: Domain> Poly<D> {
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

    /// The residues of one row on the host.
    #[must_use]
    pub fn download_row(&self, row: usize) -> Cow<'_, [u64]> {
        self.view().download_row(row)
    }

    /// `c` modulo each modulus of the basis.
    #[must_use]
    pub fn residues_of(&self, c: i128) -> Vec<u64> {
        self.view().residues_of(c)
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

    /// `self <- self * other`, the ring product.
    ///
    /// # Errors
    /// As [`PolyMut::mul_assign`].
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
