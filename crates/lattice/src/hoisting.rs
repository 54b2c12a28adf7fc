//! Rotations without the division by `P`: the baby and giant steps of a linear transform with double
//! hoisting.
//!
//! ```text
//! sum_g phi_g( sum_b d_{g,b} phi_b(x) )
//! ```
//!
//! 1. [`Bundle::decompose_mask`]: the mask's digits, once for all baby steps.
//! 2. [`Bundle::rotate_extended`]: `P phi_b(x)` over `P Q_l` for each baby step `b`, an inner product of the
//!    digits with the key of `phi_b`; for the identity, [`Extended::lift_of`] gives `P x`.
//! 3. [`Extended::linear_combination`] or [`Extended::packed_combinations`]: the inner sum of each giant step
//!    `g`.
//! 4. [`Extended::rotate`]: the giant step. Only the mask is divided by `P`, decomposed and switched; the
//!    bodies stay over `P Q_l`.
//! 5. [`Extended::add_assign`], then one [`Switcher::mod_down`] or [`Switcher::mod_down_rescale`].
//!
//! Source: Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux (EUROCRYPT 2021), sec. 4.2; differs: any rank, any
//! number of bodies under one mask.

use std::sync::Arc;

use clathrate_arith::Automorphism;

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::multiply::check_automorphism;
use crate::poly::Eval;
use crate::shape::{Bodies, Rank};
use crate::switch::{Digits, Extended, SwitchKey, SwitchTables, Switcher};

/// Checks that the result of a switch with `key` has the given rank and number of bodies.
pub(crate) fn check_shape(
    key: &SwitchKey,
    Rank(rank): Rank,
    Bodies(bodies): Bodies,
) -> Result<(), LatticeError> {
    if key.rank() != rank {
        return Err(LatticeError::RankMismatch { left: rank, right: key.rank() });
    }
    if key.body_count() != bodies {
        return Err(LatticeError::BodiesMismatch { left: bodies, right: key.body_count() });
    }
    Ok(())
}

impl Bundle<Eval> {
    /// An encryption of `P phi(messages)` over `P Q_l`, under the same secret, from this bundle's digits:
    /// [`Bundle::rotate_hoisted`] without its mod-down. `key` was made by [`SwitchKey::automorphism`].
    ///
    /// # Errors
    /// As [`Switcher::inner_product`]; [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`] where
    /// the key has another shape; [`LatticeError::RingMismatch`] for an automorphism of another degree.
    pub fn rotate_extended(
        &self,
        phi: &Automorphism,
        digits: &[Digits],
        switcher: &Switcher,
        key: &SwitchKey,
    ) -> Result<Extended, LatticeError> {
        check_automorphism(phi, self.ring())?;
        check_shape(key, Rank(self.rank()), Bodies(self.body_count()))?;
        let mut sum = switcher.inner_product(&digits.iter().collect::<Vec<_>>(), key)?;
        sum.add_lifted_bodies(self.bodies())?;
        sum.automorphism(phi)
    }
}

impl Extended {
    /// An encryption of `phi` of the messages, under the same secret and still over `P Q_l`. `tables` are the
    /// tables with which this sum was computed; `key` was made by [`SwitchKey::automorphism`].
    ///
    /// The mask is divided by `P`, with rounding, and switched; the bodies are not divided. The added noise
    /// is `P` times the noise of a complete switch, without the rounding error of the bodies.
    ///
    /// # Errors
    /// As [`Switcher::product_coeff_by`]; [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`]
    /// where the key has another shape; [`LatticeError::RingMismatch`] for an automorphism of another degree;
    /// [`LatticeError::BasisMismatch`] where the level or the special modulus of `tables` is not this sum's.
    pub fn rotate(
        self,
        phi: &Automorphism,
        switcher: &Switcher,
        tables: &Arc<SwitchTables>,
        key: &SwitchKey,
    ) -> Result<Self, LatticeError> {
        check_automorphism(phi, self.frame().ring())?;
        check_shape(key, Rank(self.rank()), Bodies(self.body_count()))?;
        if self.frame().extended() != tables.extended() {
            return Err(LatticeError::BasisMismatch {
                left: self.frame().extended().len(),
                right: tables.extended().len(),
            });
        }
        let (mask, bodies) = self.split_mask()?;
        let mut sum = switcher.product_coeff_by(tables, &mask.iter().collect::<Vec<_>>(), key)?;
        sum.add_bodies(bodies)?;
        sum.automorphism(phi)
    }
}
