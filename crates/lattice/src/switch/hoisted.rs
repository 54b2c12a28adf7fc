//! Baby steps of a linear transform, fused with the products that follow them.
//!
//! The baby steps, rotations of one ciphertext before their mod-down, take much memory and are read only
//! once, by the products with plaintexts. In [`Switcher::hoisted_combinations`] the engine computes and
//! multiplies them in one operation, so that they stay in the cache and are never stored completely. The
//! results are those of [`crate::Bundle::rotate_extended`] and [`Extended::packed_combinations`], bit for
//! bit.

use clathrate_arith::{Automorphism, Hoisted, PermutedProduct, PlaintextSum, Rows};

use super::extended::Extended;
use super::hybrid::{Digits, Reading};
use super::key::SwitchKey;
use super::switcher::Switcher;
use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::linear_combination::{PackedCombination, check_combinations};
use crate::poly::{Eval, Polys, PolysMut};

/// A rotation of the input, with its key; `None` for the input itself.
pub type BabyStep<'a> = Option<(&'a Automorphism, &'a SwitchKey)>;

impl Switcher {
    /// Several linear combinations, with packed plaintexts, of rotations of one bundle:
    /// `sum_t x_(inputs[t]) * plaintexts[t]` over `P Q_l` for each combination, where `x_b` is `P phi_b(x)`,
    /// or `P x`.
    ///
    /// `digits` are the digits of the bundle's mask ([`Bundle::decompose_mask`]) with tables of the hybrid
    /// method.
    ///
    /// # Errors
    /// As [`Bundle::rotate_extended`] and [`Extended::packed_combinations`]; [`LatticeError::KeyGadget`] for
    /// digits of the KLSS method.
    pub fn hoisted_combinations(
        &self,
        bundle: &Bundle<Eval>,
        digits: &[Digits],
        babies: &[BabyStep<'_>],
        combinations: &[PackedCombination<'_>],
    ) -> Result<Vec<Extended>, LatticeError> {
        let first = digits.first().ok_or(LatticeError::KeyInputs { key_inputs: bundle.rank(), inputs: 0 })?;
        let tables = first.tables();
        if tables.recombination.is_some() {
            return Err(LatticeError::KeyGadget { key_digits: tables.digits.len(), digits: 0 });
        }
        let (frame, ring) = (tables.frame(), tables.ring());
        let (engine, extended, own) = (ring.engine(), frame.extended(), frame.basis().len());
        if bundle.basis() != frame.basis() {
            return Err(LatticeError::BasisMismatch { left: bundle.basis().len(), right: own });
        }
        let rows = check_combinations(ring, extended, babies.len(), combinations)?;
        let readings = babies
            .iter()
            .map(|baby| {
                let Some((phi, key)) = baby else { return Ok(None) };
                if phi.degree() != ring.degree() {
                    return Err(LatticeError::RingMismatch { left: phi.degree(), right: ring.degree() });
                }
                if key.rank() != bundle.rank() {
                    return Err(LatticeError::RankMismatch { left: bundle.rank(), right: key.rank() });
                }
                if key.body_count() != bundle.body_count() {
                    return Err(LatticeError::BodiesMismatch {
                        left: bundle.body_count(),
                        right: key.body_count(),
                    });
                }
                Ok(Some((*phi, self.reading(tables, digits.len(), key)?)))
            })
            .collect::<Result<Vec<Option<(&Automorphism, Reading)>>, LatticeError>>()?;
        let view = bundle.view();
        let lifted: Vec<Rows<'_>> = (0..view.len()).map(|index| view.at(index).rows()).collect();
        let digits: Vec<Rows<'_>> = (0..tables.digits.len())
            .flat_map(|digit| digits.iter().map(move |input| input.polys()[digit].rows()))
            .collect();
        let input = Hoisted {
            digits: &digits,
            lifted: &lifted,
            masks: bundle.rank(),
            constants: frame.special_product(),
        };
        let products: Vec<Option<PermutedProduct<'_>>> = readings
            .iter()
            .map(|reading| {
                reading.as_ref().map(|&(phi, ref reading)| PermutedProduct {
                    phi,
                    factors: &reading.factors,
                    rows: &reading.rows,
                })
            })
            .collect();
        let plaintexts: Vec<PlaintextSum<'_>> = combinations
            .iter()
            .zip(&rows)
            .map(|(combination, rows)| PlaintextSum {
                plaintexts: combination.plaintexts.factors(),
                rows,
                inputs: combination.inputs,
            })
            .collect();
        let mut sums: Vec<Polys<Eval>> =
            combinations.iter().map(|_| Polys::scratch(ring, extended, view.len())).collect();
        let mut targets: Vec<_> = sums.iter_mut().map(Polys::view_mut).map(PolysMut::into_rows).collect();
        engine.hoisted_products(&mut targets, &input, &products, &plaintexts, extended.indices());
        drop(targets);
        let finish = |sum| {
            Ok(Extended {
                frame: frame.clone(),
                coeff: None,
                eval: Some(Bundle::from_polys(sum, bundle.rank())?),
            })
        };
        sums.into_iter().map(finish).collect()
    }
}
