//! Sums of rotations, each of the sum before it: `(1 + phi_k) .. (1 + phi_1) x`, as they add up all slots.
//!
//! Only the mask of a sum is decomposed again, so that only the mask is divided by `P` after each switch. The bodies stay over `P Q_l`, where `phi (P b + v)` needs no division, and are
//! divided once, at the end: `k - 1` mod-downs of every body are saved, and their rounding. The giant steps of double hoisting do the same for rotations of different sums
//! ([`Extended::rotate`](super::Extended::rotate)).

use std::sync::Arc;

use clathrate_arith::Automorphism;

use super::key::SwitchKey;
use super::switcher::Switcher;
use super::tables::SwitchTables;
use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::hoisting::check_shape;
use crate::multiply::check_automorphism;
use crate::poly::{Eval, PolyRef};
use crate::polys::Polys;
use crate::shape::{Bodies, Rank};

impl Switcher {
    /// `(1 + phi_k) .. (1 + phi_1) x` for a bundle `x` at the level of `tables`, under the same secret. Each key was made by [`SwitchKey::automorphism`], and `tables` serve all of them
    /// ([`Switcher::tables_for_keys`]).
    ///
    /// Cost: a decomposition, a product with a key and a mod-down of the mask for each rotation, and one mod-down of the bodies.
    ///
    /// # Errors
    /// As [`Switcher::product_by`]; [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`] where a key has another shape; [`LatticeError::RingMismatch`] for an automorphism of
    /// another degree; [`LatticeError::BasisMismatch`] where `x` is not at the level of `tables`.
    pub fn add_rotated(
        &self,
        tables: &Arc<SwitchTables>,
        x: &Bundle<Eval>,
        rotations: &[(&Automorphism, &SwitchKey)],
    ) -> Result<Bundle<Eval>, LatticeError> {
        for (phi, key) in rotations {
            check_automorphism(phi, x.ring())?;
            check_shape(key, Rank(x.rank()), Bodies(x.body_count()))?;
        }
        x.ring().together(|| self.added(tables, x, rotations))
    }

    fn added(
        &self,
        tables: &Arc<SwitchTables>,
        x: &Bundle<Eval>,
        rotations: &[(&Automorphism, &SwitchKey)],
    ) -> Result<Bundle<Eval>, LatticeError> {
        let frame = tables.frame();
        let mut mask = x.mask().to_polys();
        let mut bodies: Option<Polys<Eval>> = None;
        for (phi, key) in rotations {
            let inputs: Vec<PolyRef<'_, Eval>> = mask.iter().collect();
            let product = self.product_by(tables, &inputs, key)?.into_eval_form()?;
            let mut product = product.eval.ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })?;
            let sum = match bodies.take() {
                None => {
                    frame.add_lifted(product.bodies_mut(), x.bodies());
                    let mut lifted = Polys::zero(x.ring(), frame.extended(), x.body_count());
                    frame.add_lifted(lifted.view_mut(), x.bodies());
                    lifted
                }
                Some(sum) => {
                    product.bodies_mut().add_assign(sum.view())?;
                    sum
                }
            };
            let sum = bodies.insert(sum);
            sum.view_mut().add_assign(product.bodies().automorphism(phi).view())?;
            mask.view_mut().add_assign(frame.mod_down().divide_evals(product.mask())?.view().automorphism(phi).view())?;
        }
        match bodies {
            None => Ok(x.clone()),
            Some(bodies) => Bundle::new(mask.iter(), frame.mod_down().divide_evals(bodies.view())?.iter()),
        }
    }
}
