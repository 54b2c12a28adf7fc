//! The hybrid engine: digits extended to the whole modulus `P Q_l`, multiplied there.
//!
//! Digits are centred, in `[-D/2, D/2]`, by the exact conversion; any engine that computes the same sum of the same integer
//! digits gives this engine's output bit for bit. Source: [klss, sec. 4.2]; differs: centred digits, level-free gadget.

use clathrate_arith::Buffer;

use super::key::SwitchKey;
use super::plan::{DigitPlan, SwitchPlan};
use crate::bundle::Bundle;
use crate::chain::Level;
use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Eval, Poly};

/// A decomposed polynomial: its digits in Eval form over the extended basis.
#[derive(Debug)]
pub struct Digits {
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

pub(super) fn decompose(plan: &SwitchPlan, u: &Poly<Eval>) -> Result<Digits, LatticeError> {
    let coefficients = u.clone().into_coeff();
    let engine = plan.ring.engine();
    let digit = |digit: &DigitPlan| {
        let mut out = extend(plan, digit, coefficients.data());
        let own = digit.first..digit.first + digit.own;
        // The own rows are known in Eval form already: one constant away from the input.
        let mut rows = u.data().select(&own.clone().collect::<Vec<_>>());
        engine.mul_constants_assign(&mut rows, &digit.constants, &plan.extended.indices()[own.clone()]);
        for (i, row) in own.clone().enumerate() {
            out.row_mut(row).copy_from_slice(rows.row(i));
        }
        engine.forward_ntt(&mut out, 0..own.start, plan.extended.indices());
        engine.forward_ntt(&mut out, own.end..plan.extended.len(), plan.extended.indices());
        Poly::from_buffer(&plan.ring, &plan.extended, out)
    };
    let polys = plan.digits.iter().map(digit).collect();
    Ok(Digits { level: plan.level, extended: plan.extended.clone(), polys })
}

pub(super) fn decompose_coeff(plan: &SwitchPlan, u: &Poly<Coeff>) -> Result<Digits, LatticeError> {
    let engine = plan.ring.engine();
    let digit = |digit: &DigitPlan| {
        let mut out = extend(plan, digit, u.data());
        let own = digit.first..digit.first + digit.own;
        let mut rows = u.data().select(&own.clone().collect::<Vec<_>>());
        engine.mul_constants_assign(&mut rows, &digit.constants, &plan.extended.indices()[own.clone()]);
        for (i, row) in own.enumerate() {
            out.row_mut(row).copy_from_slice(rows.row(i));
        }
        engine.forward_ntt(&mut out, 0..plan.extended.len(), plan.extended.indices());
        Poly::from_buffer(&plan.ring, &plan.extended, out)
    };
    let polys = plan.digits.iter().map(digit).collect();
    Ok(Digits { level: plan.level, extended: plan.extended.clone(), polys })
}

/// The digit in Coeff form over all primes but its own; its own rows are left unspecified.
fn extend(plan: &SwitchPlan, digit: &DigitPlan, coefficients: &Buffer) -> Buffer {
    let mut out = plan.ring.engine().scratch(plan.extended.len());
    plan.ring.engine().convert(&digit.conversion, coefficients, digit.first, &mut out, &digit.targets);
    out
}

pub(super) fn inner_product(inputs: &[&Digits], key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
    let mismatch = LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: inputs.len() };
    let Some(first) = inputs.first().filter(|_| inputs.len() == key.inputs()) else { return Err(mismatch) };
    if first.level > key.level() {
        return Err(LatticeError::KeyLevelTooLow { key_level: key.level().0, level: first.level.0 });
    }
    if let Some(other) = inputs.iter().find(|digits| digits.level != first.level) {
        return Err(LatticeError::BasisMismatch { left: first.extended.len(), right: other.extended.len() });
    }
    let digits = first.polys.len();
    let ring = first.polys[0].ring();
    if !ring.same_as(key.ring()) || digits > key.digit_count() {
        return Err(LatticeError::KeyGadget { key_digits: key.digit_count(), digits });
    }
    let rows = key.basis().rows_of(first.extended.indices()).ok_or(LatticeError::KeyGadget { key_digits: key.digit_count(), digits })?;
    let xs: Vec<&Buffer> = inputs.iter().flat_map(|digits| digits.polys.iter().map(Poly::data)).collect();
    let entries: Vec<&Bundle<Eval>> = (0..inputs.len()).flat_map(|i| (0..digits).map(move |j| key.entry(i, j))).collect();
    let columns = key.rank() + key.body_count();
    let ys: Vec<Vec<&Buffer>> =
        (0..columns).map(|column| entries.iter().filter_map(|entry| entry.polys().nth(column)).map(Poly::data).collect()).collect();
    let mut out: Vec<Buffer> = (0..columns).map(|_| ring.engine().scratch(first.extended.len())).collect();
    ring.engine().inner_products(&mut out, &xs, &ys, &rows, first.extended.indices());
    let mut polys = out.into_iter().map(|data| Poly::from_buffer(ring, &first.extended, data));
    let mask = polys.by_ref().take(key.rank()).collect();
    Bundle::new(mask, polys.collect())
}

pub(super) fn lift(plan: &SwitchPlan, x: &Poly<Eval>) -> Result<Poly<Eval>, LatticeError> {
    let mut data = plan.ring.engine().zeroed(plan.extended.len());
    let words = plan.basis.len() * plan.ring.degree();
    data.host_mut()[..words].copy_from_slice(&x.data().host()[..words]);
    let mut constants = plan.special_product.clone();
    constants.resize(plan.extended.len(), 0);
    plan.ring.engine().mul_constants_assign(&mut data, &constants, plan.extended.indices());
    Ok(Poly::from_buffer(&plan.ring, &plan.extended, data))
}
