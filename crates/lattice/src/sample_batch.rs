//! Many LWE samples in one allocation.
//!
//! A sample of dimension `k` is a bundle of degree 1, rank `k` and one body: `k + 1` words per prime. A batch
//! of, for example, 2^16 samples is one allocation instead of 2^16: samples are stored one after another,
//! mask then body, so that an operation on all samples is one call of the engine.

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Polys, PolysMut, PolysRef};
use crate::ring::Ring;
use crate::shape::Rank;

/// LWE samples of one dimension over one basis. Bytes: `8 (k + 1)` per prime and sample.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleBatch {
    polys: Polys<Coeff>,
    dimension: usize,
}

impl SampleBatch {
    /// `count` samples of the given dimension, all zero.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] unless the ring's degree is 1; [`LatticeError::EmptyShape`] for
    /// dimension 0, no samples or no primes; [`LatticeError::BasisMismatch`];
    /// [`LatticeError::SecretTooLarge`] where the samples exceed the address space.
    pub fn zero(
        ring: &Ring,
        basis: &Basis,
        count: usize,
        Rank(dimension): Rank,
    ) -> Result<Self, LatticeError> {
        check_degree(ring)?;
        basis.check(ring)?;
        for (what, got) in [("the number of samples", count), ("the dimension", dimension)] {
            if got == 0 {
                return Err(LatticeError::EmptyShape { what, got });
            }
        }
        let words = dimension
            .checked_add(1)
            .and_then(|each| each.checked_mul(count))
            .and_then(|polys| polys.checked_mul(basis.len()));
        if words.is_none_or(|words| words > isize::MAX as usize / 8) {
            return Err(LatticeError::SecretTooLarge { degree: 1, rank: dimension, bodies: count });
        }
        Ok(Self { polys: Polys::zero(ring, basis, count * (dimension + 1)), dimension })
    }

    /// A batch of copies of the bundles, which have degree 1 and one body each.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without bundles; [`LatticeError::RingMismatch`] unless the degree is 1;
    /// [`LatticeError::BodiesMismatch`] unless every bundle has one body; [`LatticeError::RankMismatch`],
    /// [`LatticeError::BasisMismatch`] where the bundles differ.
    pub fn from_bundles<'a>(
        bundles: impl IntoIterator<Item = &'a Bundle<Coeff>>,
    ) -> Result<Self, LatticeError> {
        let bundles: Vec<&Bundle<Coeff>> = bundles.into_iter().collect();
        let first =
            bundles.first().ok_or(LatticeError::EmptyShape { what: "the number of samples", got: 0 })?;
        let mut samples = Self::zero(first.ring(), first.basis(), bundles.len(), Rank(first.rank()))?;
        bundles.iter().enumerate().try_for_each(|(index, bundle)| samples.set(index, bundle))?;
        Ok(samples)
    }

    /// A batch of one sample, without a copy of the bundle.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] unless the degree is 1; [`LatticeError::BodiesMismatch`] unless the
    /// bundle has one body.
    pub fn from_bundle(bundle: Bundle<Coeff>) -> Result<Self, LatticeError> {
        check_degree(bundle.ring())?;
        check_bodies(&bundle)?;
        let dimension = bundle.rank();
        Ok(Self { polys: bundle.into_polys(), dimension })
    }

    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.polys.len() / (self.dimension + 1)
    }

    /// Whether there are no samples: always `false`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.polys.is_empty()
    }

    /// The dimension `k`.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The ring, of degree 1.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        self.polys.ring()
    }

    /// The basis.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        self.polys.basis()
    }

    /// Bytes of all residues.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.polys.bytes()
    }

    fn place(&self, index: usize) -> Result<usize, LatticeError> {
        if index < self.len() {
            return Ok(index * (self.dimension + 1));
        }
        Err(LatticeError::BodyOutOfRange { body: index, bodies: self.len() })
    }

    /// All samples, one after another: `dimension + 1` polynomials of degree 1 per sample, mask first.
    #[must_use]
    pub fn view(&self) -> PolysRef<'_, Coeff> {
        self.polys.view()
    }

    /// All samples, writable.
    #[must_use]
    pub fn view_mut(&mut self) -> PolysMut<'_, Coeff> {
        self.polys.view_mut()
    }

    /// Sample `index`: the mask's `dimension` polynomials of degree 1, then the body.
    ///
    /// # Errors
    /// [`LatticeError::BodyOutOfRange`] where `index` is out of range.
    pub fn sample(&self, index: usize) -> Result<PolysRef<'_, Coeff>, LatticeError> {
        let first = self.place(index)?;
        Ok(self.polys.view().range(first..first + self.dimension + 1))
    }

    /// A copy of sample `index` as a bundle.
    ///
    /// # Errors
    /// [`LatticeError::BodyOutOfRange`] where `index` is out of range.
    pub fn bundle(&self, index: usize) -> Result<Bundle<Coeff>, LatticeError> {
        Bundle::from_polys(self.sample(index)?.to_owned(), self.dimension)
    }

    /// Overwrites sample `index`.
    ///
    /// # Errors
    /// [`LatticeError::BodyOutOfRange`] where `index` is out of range; [`LatticeError::RankMismatch`],
    /// [`LatticeError::BodiesMismatch`], [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`]
    /// where the bundle has another shape.
    pub fn set(&mut self, index: usize, bundle: &Bundle<Coeff>) -> Result<(), LatticeError> {
        let first = self.place(index)?;
        check_bodies(bundle)?;
        if bundle.rank() != self.dimension {
            return Err(LatticeError::RankMismatch { left: self.dimension, right: bundle.rank() });
        }
        let (_, rest) = self.polys.view_mut().split_at(first);
        let (mut target, _) = rest.split_at(self.dimension + 1);
        target.assign(bundle.view())
    }

    fn check_same_shape(&self, other: &Self) -> Result<(), LatticeError> {
        if self.dimension == other.dimension {
            Ok(())
        } else {
            Err(LatticeError::RankMismatch { left: self.dimension, right: other.dimension })
        }
    }

    /// `self <- self + other`, sample by sample.
    ///
    /// # Errors
    /// [`LatticeError::RankMismatch`] where the dimensions differ; [`LatticeError::BodiesMismatch`] where the
    /// numbers of samples differ; [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the
    /// rings or the bases differ.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_shape(other)?;
        self.polys.view_mut().add_assign(other.view())
    }

    /// `self <- self - other`, sample by sample.
    pub fn sub_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        self.check_same_shape(other)?;
        self.polys.view_mut().sub_assign(other.view())
    }

    /// `self <- -self`.
    pub fn negate_assign(&mut self) {
        self.polys.view_mut().negate_assign();
    }
}

fn check_degree(ring: &Ring) -> Result<(), LatticeError> {
    if ring.degree() == 1 {
        Ok(())
    } else {
        Err(LatticeError::RingMismatch { left: ring.degree(), right: 1 })
    }
}

fn check_bodies(bundle: &Bundle<Coeff>) -> Result<(), LatticeError> {
    if bundle.body_count() == 1 {
        Ok(())
    } else {
        Err(LatticeError::BodiesMismatch { left: 1, right: bundle.body_count() })
    }
}
