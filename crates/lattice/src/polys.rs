//! Several polynomials over one basis, stored one after another in one allocation: the storage of bundles and
//! tensors.
//!
//! [`Polys`] owns the polynomials; [`PolysRef`] and [`PolysMut`] borrow a range of them. An operation on all
//! of them is one call of the engine.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;

use clathrate_arith::{Automorphism, Buffer, Rows, RowsMut};

use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Domain, Eval, Poly, PolyMut, PolyRef, check_same_basis};
use crate::ring::Ring;

/// Polynomials over one basis in one allocation.
#[derive(Debug, Clone)]
pub struct Polys<D: Domain> {
    ring: Ring,
    basis: Basis,
    data: Buffer,
    domain: PhantomData<D>,
}

/// A borrowed range of the polynomials of a [`Polys`].
#[derive(Debug, Clone, Copy)]
pub struct PolysRef<'a, D: Domain> {
    ring: &'a Ring,
    basis: &'a Basis,
    rows: Rows<'a>,
    domain: PhantomData<D>,
}

/// A mutably borrowed range of the polynomials of a [`Polys`].
#[derive(Debug)]
pub struct PolysMut<'a, D: Domain> {
    ring: &'a Ring,
    basis: &'a Basis,
    rows: RowsMut<'a>,
    domain: PhantomData<D>,
}

impl<D: Domain> PartialEq for Polys<D> {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl<D: Domain> PartialEq for PolysRef<'_, D> {
    fn eq(&self, other: &Self) -> bool {
        self.ring.same_as(other.ring) && self.basis == other.basis && self.rows == other.rows
    }
}

impl<D: Domain> PartialEq<PolysRef<'_, D>> for Polys<D> {
    fn eq(&self, other: &PolysRef<'_, D>) -> bool {
        self.view() == *other
    }
}

impl<'a, D: Domain> IntoIterator for &'a Polys<D> {
    type Item = PolyRef<'a, D>;
    type IntoIter = std::vec::IntoIter<PolyRef<'a, D>>;

    fn into_iter(self) -> Self::IntoIter {
        self.view().into_iter()
    }
}

impl<D: Domain> Polys<D> {
    /// Wraps rows of residues as `data.rows() / basis.len()` polynomials. The caller guarantees that the
    /// residues are fully reduced.
    ///
    /// # Panics
    /// Where the basis is empty, or the number of rows is not a multiple of its length.
    #[must_use]
    pub fn from_buffer(ring: &Ring, basis: &Basis, data: Buffer) -> Self {
        assert!(
            !basis.is_empty() && data.rows().is_multiple_of(basis.len()),
            "one row per modulus of each polynomial"
        );
        Self { ring: ring.clone(), basis: basis.clone(), data, domain: PhantomData }
    }

    /// `count` zero polynomials.
    #[must_use]
    pub fn zero(ring: &Ring, basis: &Basis, count: usize) -> Self {
        Self::from_buffer(ring, basis, ring.engine().zeroed(count * basis.len()))
    }

    /// `count` polynomials with unspecified residues, for callers that overwrite all of them.
    #[must_use]
    pub(crate) fn scratch(ring: &Ring, basis: &Basis, count: usize) -> Self {
        Self::from_buffer(ring, basis, ring.engine().scratch(count * basis.len()))
    }

    /// The same polynomials in the memory of another ring's engine, through the host.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] for a ring of another degree or other moduli.
    pub(crate) fn on_ring(&self, ring: &Ring) -> Result<Self, LatticeError> {
        if self.ring.degree() != ring.degree() || self.ring.moduli() != ring.moduli() {
            return Err(LatticeError::RingMismatch { left: self.ring.degree(), right: ring.degree() });
        }
        let mut data = ring.engine().scratch(self.data.rows());
        ring.engine().upload(data.view_mut(), &self.ring.engine().download(self.data.view()));
        Ok(Self::from_buffer(ring, &self.basis, data))
    }

    /// Copies of the given polynomials, in one allocation.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without polynomials; [`LatticeError::RingMismatch`],
    /// [`LatticeError::BasisMismatch`] where the polynomials differ.
    pub fn copied<'a, P: Into<PolyRef<'a, D>>>(
        polys: impl IntoIterator<Item = P>,
    ) -> Result<Self, LatticeError> {
        let polys: Vec<PolyRef<'a, D>> = polys.into_iter().map(Into::into).collect();
        let first =
            polys.first().ok_or(LatticeError::EmptyShape { what: "the number of polynomials", got: 0 })?;
        polys.iter().try_for_each(|poly| first.check_same_basis(*poly))?;
        let mut copy = Self::scratch(first.ring(), first.basis(), polys.len());
        for (target, poly) in copy.view_mut().into_iter().zip(&polys) {
            first.ring().engine().copy(target.into_rows(), poly.rows());
        }
        Ok(copy)
    }

    /// The polynomials, borrowed.
    #[must_use]
    pub fn view(&self) -> PolysRef<'_, D> {
        PolysRef { ring: &self.ring, basis: &self.basis, rows: self.data.view(), domain: PhantomData }
    }

    /// The polynomials, mutably borrowed.
    #[must_use]
    pub fn view_mut(&mut self) -> PolysMut<'_, D> {
        PolysMut { ring: &self.ring, basis: &self.basis, rows: self.data.view_mut(), domain: PhantomData }
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

    /// The number of polynomials.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are no polynomials.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.rows() == 0
    }

    /// Polynomial `index`.
    ///
    /// # Panics
    /// Where the polynomials are fewer.
    #[must_use]
    pub fn at(&self, index: usize) -> PolyRef<'_, D> {
        self.view().at(index)
    }

    /// All polynomials.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PolyRef<'_, D>> + DoubleEndedIterator + Clone {
        self.view().iter()
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

    /// Copies of the polynomials, each in its own allocation.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Poly<D>> {
        self.view().to_vec()
    }

    /// The same residues, read as the other form.
    #[must_use]
    pub(crate) fn read_as<E: Domain>(self) -> Polys<E> {
        Polys { ring: self.ring, basis: self.basis, data: self.data, domain: PhantomData }
    }

    /// Bytes of all residues.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.bytes()
    }

    /// Drops the polynomials `count..`. Their memory stays allocated.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.data.truncate(count * self.basis.len());
    }

    /// Copies polynomial `from` to polynomial `to`, for `to < from`.
    pub(crate) fn move_down(&mut self, from: usize, to: usize) {
        let rows = self.basis.len();
        let (before, after) = self.data.view_mut().split_at(from * rows);
        self.ring.engine().copy(before.slice(to * rows..(to + 1) * rows), after.view().slice(0..rows));
    }
}

impl Polys<Coeff> {
    /// The same polynomials in Eval form.
    #[must_use]
    pub fn into_eval(mut self) -> Polys<Eval> {
        self.ring.engine().forward_ntt(self.data.view_mut(), self.basis.indices());
        Polys { ring: self.ring, basis: self.basis, data: self.data, domain: PhantomData }
    }
}

impl Polys<Eval> {
    /// The same polynomials in Coeff form.
    #[must_use]
    pub fn into_coeff(mut self) -> Polys<Coeff> {
        self.ring.engine().inverse_ntt(self.data.view_mut(), self.basis.indices());
        Polys { ring: self.ring, basis: self.basis, data: self.data, domain: PhantomData }
    }
}

/// One polynomial as a range of length 1.
impl<'a, D: Domain> From<PolyRef<'a, D>> for PolysRef<'a, D> {
    fn from(poly: PolyRef<'a, D>) -> Self {
        Self { ring: poly.ring(), basis: poly.basis(), rows: poly.rows(), domain: PhantomData }
    }
}

impl<'a, D: Domain> PolysRef<'a, D> {
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

    /// The residues on the host, polynomial after polynomial, row after row.
    #[must_use]
    pub fn download(&self) -> Cow<'a, [u64]> {
        self.ring.engine().download(self.rows)
    }

    /// The number of polynomials.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.rows() / self.basis.len()
    }

    /// Whether there are no polynomials.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.rows() == 0
    }

    /// The polynomials in `range`.
    ///
    /// # Panics
    /// Where the polynomials are fewer.
    #[must_use]
    pub fn range(&self, range: Range<usize>) -> Self {
        let rows = self.basis.len();
        Self { rows: self.rows.slice(range.start * rows..range.end * rows), ..*self }
    }

    /// Polynomial `index`, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<PolyRef<'a, D>> {
        (index < self.len()).then(|| self.at(index))
    }

    /// Polynomial `index`.
    ///
    /// # Panics
    /// Where the polynomials are fewer.
    #[must_use]
    pub fn at(&self, index: usize) -> PolyRef<'a, D> {
        let rows = self.basis.len();
        PolyRef::from_rows(self.ring, self.basis, self.rows.slice(index * rows..(index + 1) * rows))
    }

    /// All polynomials.
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = PolyRef<'a, D>> + DoubleEndedIterator + Clone + use<'a, D> {
        let all = *self;
        (0..self.len()).map(move |index| all.at(index))
    }

    /// Copies of the polynomials, each in its own allocation.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Poly<D>> {
        self.iter().map(|poly| poly.to_poly()).collect()
    }

    /// Copies of all polynomials, in one allocation.
    #[must_use]
    pub fn to_polys(&self) -> Polys<D> {
        let mut copy = Polys::scratch(self.ring, self.basis, self.len());
        self.ring.engine().copy(copy.data.view_mut(), self.rows);
        copy
    }

    /// Indices of the rows for the primes of `basis`, in every polynomial.
    fn rows_of(&self, basis: &Basis) -> Result<Vec<usize>, LatticeError> {
        let mismatch = LatticeError::BasisMismatch { left: self.basis.len(), right: basis.len() };
        let rows = self.basis.rows_of(basis.indices()).ok_or(mismatch)?;
        Ok(self.repeated(&rows))
    }

    /// The given rows of each polynomial, as row indices of the view.
    pub(crate) fn repeated(&self, rows: &[usize]) -> Vec<usize> {
        (0..self.len()).flat_map(|poly| rows.iter().map(move |row| poly * self.basis.len() + row)).collect()
    }

    /// The same polynomials modulo fewer primes: rows of `basis` only.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the polynomials lack a prime of `basis`.
    pub fn restrict(&self, basis: &Basis) -> Result<Polys<D>, LatticeError> {
        Ok(Polys::from_buffer(self.ring, basis, self.ring.engine().select(self.rows, &self.rows_of(basis)?)))
    }

    /// `phi` of every polynomial.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Polys<D> {
        let data = self.ring.engine().automorphism(D::FORM, phi, self.rows, self.basis.indices());
        Polys::from_buffer(self.ring, self.basis, data)
    }
}

impl<'a> PolysRef<'a, Eval> {
    /// The same residues in Coeff form at degree 1, where both forms are equal; otherwise `None`.
    #[must_use]
    pub fn as_coeff(&self) -> Option<PolysRef<'a, Coeff>> {
        let same = PolysRef { ring: self.ring, basis: self.basis, rows: self.rows, domain: PhantomData };
        (self.ring.degree() == 1).then_some(same)
    }
}

impl PolysRef<'_, Eval> {
    /// Copies in Coeff form, in one pass over memory.
    #[must_use]
    pub fn to_coeff(&self) -> Polys<Coeff> {
        Polys::from_buffer(
            self.ring,
            self.basis,
            self.ring.engine().inverse_ntt_of(self.rows, self.basis.indices()),
        )
    }
}

impl<'a, D: Domain> IntoIterator for PolysRef<'a, D> {
    type Item = PolyRef<'a, D>;
    type IntoIter = std::vec::IntoIter<PolyRef<'a, D>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter().collect::<Vec<_>>().into_iter()
    }
}

impl<'a, D: Domain> IntoIterator for PolysMut<'a, D> {
    type Item = PolyMut<'a, D>;
    type IntoIter = std::vec::IntoIter<PolyMut<'a, D>>;

    fn into_iter(self) -> Self::IntoIter {
        let (ring, basis) = (self.ring, self.basis);
        let polys: Vec<_> =
            self.rows.chunks(basis.len()).map(|rows| PolyMut::from_rows(ring, basis, rows)).collect();
        polys.into_iter()
    }
}

impl<'a, D: Domain> PolysMut<'a, D> {
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

    /// The number of polynomials.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.rows() / self.basis.len()
    }

    /// Whether there are no polynomials.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.rows() == 0
    }

    /// The polynomials, borrowed for reading.
    #[must_use]
    pub fn view(&self) -> PolysRef<'_, D> {
        PolysRef { ring: self.ring, basis: self.basis, rows: self.rows.view(), domain: PhantomData }
    }

    /// The same polynomials, reborrowed for a shorter lifetime.
    #[must_use]
    pub fn reborrow(&mut self) -> PolysMut<'_, D> {
        PolysMut { rows: self.rows.reborrow(), ring: self.ring, basis: self.basis, domain: PhantomData }
    }

    /// The residues, one row per polynomial and modulus, as an operand of engines.
    #[must_use]
    pub fn into_rows(self) -> RowsMut<'a> {
        self.rows
    }

    /// Polynomial `index`.
    ///
    /// # Panics
    /// Where the polynomials are fewer.
    #[must_use]
    pub fn at(&mut self, index: usize) -> PolyMut<'_, D> {
        let rows = self.basis.len();
        PolyMut::from_rows(
            self.ring,
            self.basis,
            self.rows.reborrow().slice(index * rows..(index + 1) * rows),
        )
    }

    /// All polynomials.
    pub fn iter_mut(&mut self) -> std::vec::IntoIter<PolyMut<'_, D>> {
        self.reborrow().into_iter()
    }

    /// The first `count` polynomials, and the others.
    ///
    /// # Panics
    /// Where the polynomials are fewer.
    #[must_use]
    pub fn split_at(self, count: usize) -> (Self, Self) {
        let (ring, basis) = (self.ring, self.basis);
        let (left, right) = self.rows.split_at(count * basis.len());
        let part = |rows| Self { ring, basis, rows, domain: PhantomData };
        (part(left), part(right))
    }

    fn check(&self, other: PolysRef<'_, D>) -> Result<(), LatticeError> {
        check_same_basis((self.ring, self.basis), (other.ring, other.basis))?;
        if self.len() == other.len() {
            return Ok(());
        }
        Err(LatticeError::BodiesMismatch { left: self.len(), right: other.len() })
    }

    /// `self <- other`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`], [`LatticeError::BodiesMismatch`]
    /// where rings, bases or numbers of polynomials differ.
    pub fn assign(&mut self, other: PolysRef<'_, D>) -> Result<(), LatticeError> {
        self.check(other)?;
        self.ring.engine().copy(self.rows.reborrow(), other.rows);
        Ok(())
    }

    /// `self <- self + other`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`], [`LatticeError::BodiesMismatch`]
    /// where rings, bases or numbers of polynomials differ.
    pub fn add_assign(&mut self, other: PolysRef<'_, D>) -> Result<(), LatticeError> {
        self.check(other)?;
        self.ring.engine().add_assign(self.rows.reborrow(), other.rows, self.basis.indices());
        Ok(())
    }

    /// `self <- self - other`.
    pub fn sub_assign(&mut self, other: PolysRef<'_, D>) -> Result<(), LatticeError> {
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

    /// `self <- self + c * other` for a signed integer, in one pass over memory. The basis of `other` may
    /// have further primes after those of `self`; their residues are not read.
    pub fn add_multiple(&mut self, other: PolysRef<'_, D>, c: i128) -> Result<(), LatticeError> {
        let primes = self.basis.len();
        let residues = self.basis.residues_of(self.ring, c);
        if !other.basis.indices().starts_with(self.basis.indices()) || other.basis == self.basis {
            self.check(other)?;
            self.ring.engine().add_mul_constants_assign(
                self.rows.reborrow(),
                other.rows,
                &residues,
                self.basis.indices(),
            );
            return Ok(());
        }
        if !self.ring.same_as(other.ring) {
            return Err(LatticeError::RingMismatch { left: self.ring.degree(), right: other.ring.degree() });
        }
        if self.len() != other.len() {
            return Err(LatticeError::BodiesMismatch { left: self.len(), right: other.len() });
        }
        for (index, poly) in other.iter().enumerate() {
            let target = self.rows.reborrow().slice(index * primes..(index + 1) * primes);
            self.ring.engine().add_mul_constants_assign(
                target,
                poly.rows().slice(0..primes),
                &residues,
                self.basis.indices(),
            );
        }
        Ok(())
    }
}

impl PolysMut<'_, Eval> {
    /// Every polynomial times `p`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the ring or the basis of `p`
    /// differs.
    pub fn mul_poly_assign<'b>(&mut self, p: impl Into<PolyRef<'b, Eval>>) -> Result<(), LatticeError> {
        let p = p.into();
        check_same_basis((self.ring, self.basis), (p.ring(), p.basis()))?;
        self.ring.engine().mul_assign(self.rows.reborrow(), p.rows(), self.basis.indices());
        Ok(())
    }
}
