//! The hybrid engine: digits extended to the whole modulus `P Q_l`, multiplied there.
//!
//! Digits are centred, in `[-D/2, D/2]`, by the exact conversion; any engine that computes the same sum of the same integer
//! digits gives this engine's output bit for bit. Source: [klss, sec. 4.2]; differs: centred digits, level-free gadget.

use clathrate_arith::{Buffer, DigitExtension, GadgetInput};

use super::key::SwitchKey;
use super::plan::SwitchPlan;
use crate::bundle::Bundle;
use crate::chain::Level;
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::poly::{Basis, Coeff, Eval, Poly};

/// A decomposed polynomial: its digits in Eval form over the extended basis.
#[derive(Debug)]
pub struct Digits {
    pub(super) gadget: Gadget,
    pub(super) level: Level,
    pub(super) extended: Basis,
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
        self.level
    }
}

pub(super) fn decompose(plan: &SwitchPlan, u: &Poly<Eval>) -> Digits {
    let coefficients = u.clone().into_coeff();
    decompose_forms(plan, coefficients.data(), Some(u.data()))
}

pub(super) fn decompose_coeff(plan: &SwitchPlan, u: &Poly<Coeff>) -> Digits {
    decompose_forms(plan, u.data(), None)
}

fn decompose_forms(plan: &SwitchPlan, coefficients: &Buffer, values: Option<&Buffer>) -> Digits {
    let (engine, moduli) = (plan.ring.engine(), plan.extended.indices());
    let digit = |digit: &DigitExtension| {
        let mut out = engine.scratch(plan.extended.len());
        engine.convert(digit.conversion(), coefficients, digit.own().start, &mut out, &digit.target_rows());
        let own = digit.own();
        // The own rows are one constant away from the input, in either form.
        let mut rows = values.unwrap_or(coefficients).select(&own.clone().collect::<Vec<_>>());
        engine.mul_constants_assign(&mut rows, digit.constants(), &moduli[own.clone()]);
        for (i, row) in own.clone().enumerate() {
            out.row_mut(row).copy_from_slice(rows.row(i));
        }
        if values.is_some() {
            engine.forward_ntt(&mut out, 0..own.start, moduli);
            engine.forward_ntt(&mut out, own.end..moduli.len(), moduli);
        } else {
            engine.forward_ntt(&mut out, 0..moduli.len(), moduli);
        }
        Poly::from_buffer(&plan.ring, &plan.extended, out)
    };
    let polys = plan.digits.iter().map(digit).collect();
    Digits { gadget: plan.gadget.clone(), level: plan.level, extended: plan.extended.clone(), polys }
}

/// What a key must offer for digits at one level: its rows, and one column of factors per polynomial of the result.
struct KeyColumns<'k> {
    rows: Vec<usize>,
    columns: Vec<Vec<&'k Buffer>>,
}

fn key_columns<'k>(plan: &SwitchPlan, inputs: usize, key: &'k SwitchKey) -> Result<KeyColumns<'k>, LatticeError> {
    if inputs == 0 || inputs != key.inputs() {
        return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs });
    }
    if plan.level > key.level() {
        return Err(LatticeError::KeyLevelTooLow { key_level: key.level().0, level: plan.level.0 });
    }
    let digits = plan.digits.len();
    let foreign = LatticeError::KeyGadget { key_digits: key.digit_count(), digits };
    if !plan.ring.same_as(key.ring()) || plan.gadget != *key.gadget() {
        return Err(foreign);
    }
    let rows = key.basis().rows_of(plan.extended.indices()).ok_or(foreign)?;
    let entries: Vec<&Bundle<Eval>> = (0..inputs).flat_map(|i| (0..digits).map(move |j| key.entry(i, j))).collect();
    let columns = (0..key.rank() + key.body_count())
        .map(|column| entries.iter().filter_map(|entry| entry.polys().nth(column)).map(Poly::data).collect())
        .collect();
    Ok(KeyColumns { rows, columns })
}

fn bundle_of(plan: &SwitchPlan, rank: usize, out: Vec<Buffer>) -> Result<Bundle<Eval>, LatticeError> {
    let mut polys = out.into_iter().map(|data| Poly::from_buffer(&plan.ring, &plan.extended, data));
    let mask = polys.by_ref().take(rank).collect();
    Bundle::new(mask, polys.collect())
}

pub(super) fn inner_product(plan: &SwitchPlan, inputs: &[&Digits], key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
    if let Some(other) = inputs.iter().find(|digits| digits.level != plan.level) {
        return Err(LatticeError::BasisMismatch { left: plan.extended.len(), right: other.extended.len() });
    }
    if let Some(other) = inputs.iter().find(|digits| !plan.ring.same_as(digits.polys[0].ring()) || digits.gadget != plan.gadget) {
        return Err(LatticeError::KeyGadget { key_digits: other.polys.len(), digits: plan.digits.len() });
    }
    let KeyColumns { rows, columns } = key_columns(plan, inputs.len(), key)?;
    let xs: Vec<&Buffer> = inputs.iter().flat_map(|digits| digits.polys.iter().map(Poly::data)).collect();
    let mut out: Vec<Buffer> = columns.iter().map(|_| plan.ring.engine().scratch(plan.extended.len())).collect();
    plan.ring.engine().inner_products(&mut out, &xs, &columns, &rows, plan.extended.indices());
    bundle_of(plan, key.rank(), out)
}

/// Decomposition and inner product in one pass, for digits that no other key needs.
pub(super) fn product(plan: &SwitchPlan, inputs: &[GadgetInput<'_>], key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
    let KeyColumns { rows, columns } = key_columns(plan, inputs.len(), key)?;
    let mut out: Vec<Buffer> = columns.iter().map(|_| plan.ring.engine().scratch(plan.extended.len())).collect();
    plan.ring.engine().gadget_products(&mut out, inputs, &plan.digits, &columns, &rows, plan.extended.indices());
    bundle_of(plan, key.rank(), out)
}

/// `sum <- sum + P x`: the special rows of `P x` are zero.
pub(super) fn add_lifted(plan: &SwitchPlan, sum: &mut Poly<Eval>, x: &Poly<Eval>) {
    plan.ring.engine().add_mul_constants_assign(sum.data_mut(), x.data(), &plan.special_product, plan.basis.indices());
}
