//! Moves of the rank: appending zero masks.
//!
//! A bundle of rank `k` under `s` is one of rank `k' > k` under any secret that begins with `s`. Going back down needs a
//! key and is a switch.

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Domain, Poly};

impl<D: Domain> Bundle<D> {
    /// The same samples at rank `rank`, the new mask polynomials zero: valid under every secret that extends the old one.
    ///
    /// # Errors
    /// [`LatticeError::RankUp`] where `rank` is below the present one.
    pub fn rank_up(&self, rank: usize) -> Result<Self, LatticeError> {
        if rank < self.rank() {
            return Err(LatticeError::RankUp { from: self.rank(), to: rank });
        }
        let zero = || Poly::zero(self.ring(), self.basis());
        let mask = self.mask().iter().cloned().chain(std::iter::repeat_with(zero).take(rank - self.rank())).collect();
        Self::new(mask, self.bodies().to_vec())
    }
}
