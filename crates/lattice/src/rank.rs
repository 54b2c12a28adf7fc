//! Moves of the rank: appending zero masks.
//!
//! With zero polynomials appended to its mask, a bundle of rank `k` under `s` is a bundle of rank `k' > k`
//! under any secret that begins with `s`. Lowering the rank needs a key and is a switch.

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Domain, Polys};

impl<D: Domain> Bundle<D> {
    /// The same samples at rank `rank`, with new mask polynomials that are zero: valid under every secret
    /// that extends the old one.
    ///
    /// # Errors
    /// [`LatticeError::RankUp`] where `rank` is below the bundle's rank.
    pub fn rank_up(&self, rank: usize) -> Result<Self, LatticeError> {
        if rank < self.rank() {
            return Err(LatticeError::RankUp { from: self.rank(), to: rank });
        }
        let (engine, indices) = (self.ring().engine(), self.basis().indices());
        let mut polys = Polys::scratch(self.ring(), self.basis(), rank + self.body_count());
        let (mask, bodies) = polys.view_mut().split_at(rank);
        let (kept, new) = mask.split_at(self.rank());
        engine.copy(kept.into_rows(), self.mask().rows());
        if rank > self.rank() {
            engine.fill(new.into_rows(), &vec![0; indices.len()]);
        }
        engine.copy(bodies.into_rows(), self.bodies().rows());
        Self::from_polys(polys, rank)
    }

    /// The same bodies with the first `rank` polynomials of the mask: the same messages under a secret whose
    /// other polynomials are zero.
    ///
    /// # Errors
    /// [`LatticeError::MaskRank`] where `rank` is not from 1 up to the bundle's rank.
    pub fn leading_masks(&self, rank: usize) -> Result<Self, LatticeError> {
        if rank == 0 || rank > self.rank() {
            return Err(LatticeError::MaskRank { rank: self.rank(), requested: rank });
        }
        let engine = self.ring().engine();
        let mut polys = Polys::scratch(self.ring(), self.basis(), rank + self.body_count());
        let (mask, bodies) = polys.view_mut().split_at(rank);
        engine.copy(mask.into_rows(), self.mask().range(0..rank).rows());
        engine.copy(bodies.into_rows(), self.bodies().rows());
        Self::from_polys(polys, rank)
    }
}
