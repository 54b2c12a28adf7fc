//! What several polynomials have in addition: ranges of them, single ones, and products with one polynomial.

use std::marker::PhantomData;
use std::ops::Range;

use super::{
    Basis, Coeff, Domain, Eval, Poly, PolyMut, PolyRef, Polys, PolysMut, PolysRef, check_same_basis,
};
use crate::error::LatticeError;
use crate::ring::Ring;

impl<'a, D: Domain> IntoIterator for &'a Polys<D> {
    type Item = PolyRef<'a, D>;
    type IntoIter = std::vec::IntoIter<PolyRef<'a, D>>;

    fn into_iter(self) -> Self::IntoIter {
        self.view().into_iter()
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

/// One polynomial as a range of length 1.
impl<'a, D: Domain> From<PolyRef<'a, D>> for PolysRef<'a, D> {
    fn from(poly: PolyRef<'a, D>) -> Self {
        Self::from_rows(poly.ring, poly.basis, poly.rows)
    }
}

impl<D: Domain> Polys<D> {
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
        ring.engine().upload(data.view_mut(), &self.download());
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

    /// The number of polynomials.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are no polynomials.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
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

    /// Copies of the polynomials, each in its own allocation.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Poly<D>> {
        self.view().to_vec()
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

impl<'a, D: Domain> PolysRef<'a, D> {
    /// The number of polynomials.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count()
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
        PolyRef::from_rows(self.ring, self.basis, self.range(index..index + 1).rows)
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
        self.iter().map(|poly| poly.to_owned()).collect()
    }
}

impl<'a> PolysRef<'a, Eval> {
    /// The same residues in Coeff form at degree 1, where both forms are equal; otherwise `None`.
    #[must_use]
    pub fn as_coeff(&self) -> Option<PolysRef<'a, Coeff>> {
        let same = PolysRef { ring: self.ring, basis: self.basis, rows: self.rows, kind: PhantomData };
        (self.ring.degree() == 1).then_some(same)
    }
}

impl<'a, D: Domain> PolysMut<'a, D> {
    /// The number of polynomials.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are no polynomials.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }

    /// Polynomial `index`.
    ///
    /// # Panics
    /// Where the polynomials are fewer.
    #[must_use]
    pub fn at(&mut self, index: usize) -> PolyMut<'_, D> {
        let rows = self.basis.len();
        let own = self.rows.reborrow().slice(index * rows..(index + 1) * rows);
        PolyMut::from_rows(self.ring, self.basis, own)
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
        (Self::from_rows(ring, basis, left), Self::from_rows(ring, basis, right))
    }

    /// `self <- self + c * other` for a signed integer, in one pass over memory. The basis of `other` may
    /// have further primes after those of `self`; their residues are not read.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`], [`LatticeError::BodiesMismatch`]
    /// where rings, bases or numbers of polynomials differ.
    pub fn add_multiple(&mut self, other: PolysRef<'_, D>, c: i128) -> Result<(), LatticeError> {
        let primes = self.basis.len();
        let (engine, residues) = (self.ring.engine(), self.basis.residues_of(self.ring, c));
        let indices = self.basis.indices();
        if !other.basis.indices().starts_with(indices) || other.basis == self.basis {
            self.check(other)?;
            engine.add_mul_constants_assign(self.rows.reborrow(), other.rows, &residues, indices);
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
            engine.add_mul_constants_assign(target, poly.rows().slice(0..primes), &residues, indices);
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
