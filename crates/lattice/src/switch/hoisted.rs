//! Baby steps of a linear transform, a few primes at a time.
//!
//! The rotations of one ciphertext before their mod-down, all together, take as much memory as there are baby steps; a plaintext product reads them once and they
//! are gone. [`Switcher::hoisted_combinations`] computes all rotations modulo a few primes, multiplies them, and goes on to the next primes, so that the rotations
//! stay near the processor and no more than those of a few primes exist at a time. The results are those of [`crate::Bundle::rotate_extended`] and
//! [`Extended::packed_combinations`], bit for bit.

use std::ops::Range;

use clathrate_arith::{Automorphism, PlaintextSum, Rows};

use super::extended::Extended;
use super::hybrid::{Digits, Reading};
use super::key::SwitchKey;
use super::switcher::Switcher;
use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::linear_combination::{PackedCombination, check_combinations};
use crate::poly::{Basis, Eval};
use crate::polys::{Polys, PolysMut};

/// Primes that are computed at once.
const PRIMES_AT_ONCE: usize = 4;

/// A rotation of the input, with its key; `None` for the input itself.
pub type BabyStep<'a> = Option<(&'a Automorphism, &'a SwitchKey)>;

impl Switcher {
    /// Several linear combinations, with packed plaintexts, of rotations of one bundle: `sum_t x_(inputs[t]) * plaintexts[t]` over `P Q_l` for each combination,
    /// where `x_b` is `P phi_b(x)`, or `P x`.
    ///
    /// `digits` are the bundle's ([`Bundle::decompose_mask`]), by tables of the hybrid method.
    ///
    /// # Errors
    /// As [`Bundle::rotate_extended`] and [`Extended::packed_combinations`]; [`LatticeError::KeyGadget`] for digits of the KLSS method.
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
        check_combinations(ring, extended, babies.len(), combinations)?;
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
                    return Err(LatticeError::BodiesMismatch { left: bundle.body_count(), right: key.body_count() });
                }
                Ok(Some((*phi, self.reading(tables, digits.len(), key)?)))
            })
            .collect::<Result<Vec<Option<(&Automorphism, Reading)>>, LatticeError>>()?;
        let columns = bundle.view().len();
        let mut sums: Vec<Polys<Eval>> = combinations.iter().map(|_| Polys::scratch(ring, extended, columns)).collect();
        for chunk in chunks(own, extended.len()) {
            let part = Basis::new(extended.indices()[chunk.clone()].iter().copied());
            let lifted = chunk.start < own;
            let constants = if lifted { &frame.special_product()[chunk.clone()] } else { &[] };
            let rotated: Vec<Option<Polys<Eval>>> = readings
                .iter()
                .map(|reading| match reading {
                    // `P x` is zero modulo the special primes.
                    None if !lifted => Ok(None),
                    None => {
                        let mut product = Polys::<Eval>::zero(ring, &part, columns);
                        let x = bundle.view().restrict(&part)?;
                        engine.add_mul_constants_assign(product.view_mut().into_rows(), x.view().rows(), constants, part.indices());
                        Ok(Some(product))
                    }
                    Some((phi, reading)) => {
                        let xs: Vec<Rows<'_>> = (0..tables.digits.len())
                            .flat_map(|digit| digits.iter().map(move |input| input.polys()[digit].rows()))
                            .map(|rows| rows.slice(chunk.clone()))
                            .collect();
                        let mut product = Polys::<Eval>::scratch(ring, &part, columns);
                        let rows = &reading.rows[chunk.clone()];
                        engine.factor_products(
                            product.view_mut().into_rows(),
                            &xs,
                            &reading.factors,
                            &reading.groups,
                            rows,
                            part.indices(),
                        );
                        if lifted {
                            for (target, body) in product.view_mut().into_iter().skip(bundle.rank()).zip(bundle.bodies()) {
                                let body = body.rows().slice(chunk.clone());
                                engine.add_mul_constants_assign(target.into_rows(), body, constants, part.indices());
                            }
                        }
                        Ok(Some(product.view().automorphism(phi)))
                    }
                })
                .collect::<Result<_, LatticeError>>()?;
            let nothing = bundle.view().rows().slice(0..0);
            let xs: Vec<Rows<'_>> = rotated.iter().map(|polys| polys.as_ref().map_or(nothing, |polys| polys.view().rows())).collect();
            let rows = combinations
                .iter()
                .map(|combination| combination.plaintexts.basis().rows_of(part.indices()))
                .collect::<Option<Vec<_>>>()
                .ok_or(LatticeError::BasisMismatch { left: extended.len(), right: part.len() })?;
            let plaintexts: Vec<PlaintextSum<'_>> = combinations
                .iter()
                .zip(&rows)
                .map(|(combination, rows)| PlaintextSum { plaintexts: combination.plaintexts.factors(), rows, inputs: combination.inputs })
                .collect();
            let mut parts: Vec<Polys<Eval>> = combinations.iter().map(|_| Polys::scratch(ring, &part, columns)).collect();
            let mut targets: Vec<_> = parts.iter_mut().map(Polys::view_mut).map(PolysMut::into_rows).collect();
            engine.plaintext_products(&mut targets, &xs, &plaintexts, part.indices());
            for (part, sum) in parts.iter().zip(&mut sums) {
                for (part, target) in part.view().iter().zip(sum.view_mut()) {
                    engine.copy(target.into_rows().slice(chunk.clone()), part.rows());
                }
            }
        }
        let finish = |sum| Ok(Extended { frame: frame.clone(), coeff: None, eval: Some(Bundle::from_polys(sum, bundle.rank())?) });
        sums.into_iter().map(finish).collect()
    }
}

/// Runs of rows: first those of the level's `own` primes, then those of the special primes, a few at a time.
fn chunks(own: usize, all: usize) -> impl Iterator<Item = Range<usize>> {
    let runs = |range: Range<usize>| range.clone().step_by(PRIMES_AT_ONCE).map(move |start| start..range.end.min(start + PRIMES_AT_ONCE));
    runs(0..own).chain(runs(own..all))
}
