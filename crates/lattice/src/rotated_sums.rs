//! Repeated sums of a bundle and its rotation: `(1 + phi_k) .. (1 + phi_1) x`, which for example adds up all
//! slots.
//!
//! Only the mask of a sum is decomposed for the next rotation, so only the mask is divided by `P` after each
//! switch. The bodies stay over `P Q_l`, where automorphisms apply too, and are divided once at the end. This
//! saves `k - 1` mod-downs of every body and their rounding. The giant steps of double hoisting do the same
//! for rotations of different sums ([`crate::switch::Extended::rotate`]).

use std::sync::Arc;

use clathrate_arith::Automorphism;

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::hoisting::check_shape;
use crate::multiply::check_automorphism;
use crate::poly::{Eval, PolyRef, Polys};
use crate::shape::{Bodies, Rank};
use crate::switch::{SwitchKey, SwitchTables, Switcher};

impl Bundle<Eval> {
    /// `(1 + phi_k) .. (1 + phi_1)` of the messages of a bundle at the level of `tables`, under the same
    /// secret. Each key was made by [`SwitchKey::automorphism`], and `tables` fit all of them
    /// ([`Switcher::tables_for_keys`]).
    ///
    /// Cost: a decomposition, a product with a key and a mod-down of the mask for each rotation, and one
    /// mod-down of the bodies.
    ///
    /// # Errors
    /// As [`Switcher::product_by`]; [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`] where a
    /// key has another shape; [`LatticeError::RingMismatch`] for an automorphism of another degree;
    /// [`LatticeError::BasisMismatch`] where the bundle is not at the level of `tables`.
    pub fn plus_rotated(
        &self,
        rotations: &[(&Automorphism, &SwitchKey)],
        switcher: &Switcher,
        tables: &Arc<SwitchTables>,
    ) -> Result<Self, LatticeError> {
        for (phi, key) in rotations {
            check_automorphism(phi, self.ring())?;
            check_shape(key, Rank(self.rank()), Bodies(self.body_count()))?;
        }
        self.ring().together(|| self.sum_of_rotations(rotations, switcher, tables))
    }

    fn sum_of_rotations(
        &self,
        rotations: &[(&Automorphism, &SwitchKey)],
        switcher: &Switcher,
        tables: &Arc<SwitchTables>,
    ) -> Result<Self, LatticeError> {
        let frame = tables.frame();
        let mut mask = self.mask().to_owned();
        let mut bodies: Option<Polys<Eval>> = None;
        for (phi, key) in rotations {
            let inputs: Vec<PolyRef<'_, Eval>> = mask.iter().collect();
            let mut product = switcher.product_by(tables, &inputs, key)?.into_eval()?;
            let sum = match bodies.take() {
                None => {
                    frame.add_lifted(product.bodies_mut(), self.bodies());
                    let mut lifted = Polys::zero(self.ring(), frame.extended(), self.body_count());
                    frame.add_lifted(lifted.view_mut(), self.bodies());
                    lifted
                }
                Some(sum) => {
                    product.bodies_mut().add_assign(sum.view())?;
                    sum
                }
            };
            let sum = bodies.insert(sum);
            sum.view_mut().add_assign(product.bodies().automorphism(phi).view())?;
            mask.view_mut()
                .add_assign(frame.mod_down().divide_evals(product.mask())?.view().automorphism(phi).view())?;
        }
        match bodies {
            None => Ok(self.clone()),
            Some(bodies) => Self::new(mask.iter(), frame.mod_down().divide_evals(bodies.view())?.iter()),
        }
    }
}
