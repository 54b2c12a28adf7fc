//! The hybrid engine: digits extended to the whole modulus `P Q_l`, multiplied there.
//!
//! Digits are centred, in `[-D/2, D/2]`, by the exact conversion; any engine that computes the same sum of the same integer
//! digits gives this engine's output bit for bit. Source: [klss, sec. 4.2]; differs: centred digits, level-free gadget.

use std::sync::Arc;

use clathrate_arith::{Buffer, DigitExtension, Factors, GadgetInput};

use super::extended::Extended;
use super::key::SwitchKey;
use super::plan::SwitchPlan;
use crate::bundle::Bundle;
use crate::chain::Level;
use crate::error::LatticeError;
use crate::poly::{Coeff, Domain, Eval, Poly};

/// A decomposed polynomial: its digits in Eval form over the moduli that its plan multiplies over.
#[derive(Debug)]
pub struct Digits {
    pub(super) plan: Arc<SwitchPlan>,
    pub(super) polys: Vec<Poly<Eval>>,
}

impl Digits {
    /// The digits, lowest primes first.
    #[must_use]
    pub fn polys(&self) -> &[Poly<Eval>] {
        &self.polys
    }

    /// The level of the decomposed polynomial.
    #[must_use]
    pub fn level(&self) -> Level {
        self.plan.level()
    }

    /// How it was decomposed.
    #[must_use]
    pub fn plan(&self) -> &Arc<SwitchPlan> {
        &self.plan
    }
}

/// The digits of a polynomial given in Coeff form, and in Eval form where that is there.
pub(super) fn decompose(plan: &Arc<SwitchPlan>, coefficients: &Buffer, values: Option<&Buffer>) -> Digits {
    let (engine, moduli) = (plan.ring().engine(), plan.product_basis.indices());
    let digit = |digit: &DigitExtension| {
        let mut out = engine.scratch(moduli.len());
        engine.convert(digit.conversion(), coefficients, digit.source(), &mut out, &digit.target_rows());
        let own = digit.own();
        if !own.is_empty() {
            // The own rows are one constant away from the input, in either form.
            let mut rows = values.unwrap_or(coefficients).select(&own.clone().collect::<Vec<_>>());
            engine.mul_constants_assign(&mut rows, digit.constants(), &moduli[own.clone()]);
            for (i, row) in own.clone().enumerate() {
                out.row_mut(row).copy_from_slice(rows.row(i));
            }
        }
        if values.is_some() {
            engine.forward_ntt(&mut out, 0..own.start, moduli);
            engine.forward_ntt(&mut out, own.end..moduli.len(), moduli);
        } else {
            engine.forward_ntt(&mut out, 0..moduli.len(), moduli);
        }
        Poly::from_buffer(plan.ring(), &plan.product_basis, out)
    };
    let polys = plan.digits.iter().map(digit).collect();
    Digits { plan: plan.clone(), polys }
}

/// A key as one plan reads it.
pub(super) struct Reading {
    factors: Arc<Factors>,
    groups: Vec<usize>,
    rows: Vec<usize>,
    rank: usize,
    columns: usize,
}

/// How `plan` reads `key`, for `inputs` polynomials.
pub(super) fn reading(plan: &SwitchPlan, inputs: usize, key: &SwitchKey, factors: Arc<Factors>) -> Result<Reading, LatticeError> {
    let foreign = LatticeError::KeyGadget { key_digits: key.digit_count(), digits: plan.digits.len() };
    check_key(plan, inputs, key)?;
    let (groups, rows) = match &plan.recombination {
        Some(recombination) => (recombination.groups(), (0..plan.product_basis.len()).collect()),
        None => {
            let basis = if plan.shape.is_base() { key.basis() } else { &plan.shape.basis };
            (vec![0], basis.rows_of(plan.extended().indices()).ok_or(foreign)?)
        }
    };
    Ok(Reading { factors, groups, rows, rank: key.rank(), columns: key.rank() + key.body_count() })
}

/// Refuses keys that do not serve `plan`.
pub(super) fn check_key(plan: &SwitchPlan, inputs: usize, key: &SwitchKey) -> Result<(), LatticeError> {
    if inputs == 0 || inputs != key.inputs() {
        return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs });
    }
    if plan.level() > key.level() {
        return Err(LatticeError::KeyLevelTooLow { key_level: key.level().0, level: plan.level().0 });
    }
    // The last special prime is the end of the modulus that the gadget divides: the key's must be the plan's.
    let same_end = key.basis().indices().last() == plan.extended().indices().last();
    let fits = same_end && plan.gadget == *key.gadget() && key.basis().rows_of(plan.extended().indices()).is_some();
    if !plan.ring().same_as(key.ring()) || !fits {
        return Err(LatticeError::KeyGadget { key_digits: key.digit_count(), digits: plan.digits.len() });
    }
    Ok(())
}

fn bundle_of<D: Domain>(plan: &SwitchPlan, rank: usize, out: Vec<Buffer>) -> Result<Bundle<D>, LatticeError> {
    let mut polys = out.into_iter().map(|data| Poly::<D>::from_buffer(plan.ring(), plan.extended(), data));
    let mask = polys.by_ref().take(rank).collect();
    Bundle::new(mask, polys.collect())
}

/// Sums over the product basis, as the result over the extended one.
fn finish(plan: &Arc<SwitchPlan>, reading: &Reading, sums: Vec<Buffer>) -> Result<Extended, LatticeError> {
    let (coeff, eval): (Option<Bundle<Coeff>>, Option<Bundle<Eval>>) = match &plan.recombination {
        None => (None, Some(bundle_of(plan, reading.rank, sums)?)),
        Some(recombination) => (Some(bundle_of(plan, reading.rank, recombination.apply(plan, sums, reading.columns))?), None),
    };
    Ok(Extended { frame: plan.frame.clone(), coeff, eval })
}

fn scratch(plan: &SwitchPlan, reading: &Reading) -> Vec<Buffer> {
    let sums = reading.groups.len() * reading.columns;
    (0..sums).map(|_| plan.ring().engine().scratch(plan.product_basis.len())).collect()
}

/// The products of digits that are there.
pub(super) fn inner_product(plan: &Arc<SwitchPlan>, inputs: &[&Digits], reading: &Reading) -> Result<Extended, LatticeError> {
    let xs: Vec<&Buffer> = (0..plan.digits.len()).flat_map(|digit| inputs.iter().map(move |input| input.polys[digit].data())).collect();
    let mut out = scratch(plan, reading);
    let Reading { factors, groups, rows, .. } = reading;
    plan.ring().engine().factor_products(&mut out, &xs, factors, groups, rows, plan.product_basis.indices());
    finish(plan, reading, out)
}

/// Decomposition and products in one pass, for digits that no other key needs.
pub(super) fn product(plan: &Arc<SwitchPlan>, inputs: &[GadgetInput<'_>], reading: &Reading) -> Result<Extended, LatticeError> {
    let mut out = scratch(plan, reading);
    let Reading { factors, groups, rows, .. } = reading;
    plan.ring().engine().gadget_products(&mut out, inputs, &plan.digits, factors, groups, rows, plan.product_basis.indices());
    finish(plan, reading, out)
}
