//! The hybrid method: each digit is extended to the modulus `P Q_l` and multiplied there. The KLSS method
//! uses the same decomposition and products.
//!
//! The exact conversion gives centred digits, in `[-D/2, D/2]`. All methods that compute the same sum of
//! these integer digits give the same result bit for bit. Source: [klss, sec. 4.2]; differs: centred digits,
//! level-free gadget.

use std::sync::Arc;

use clathrate_arith::{Buffer, FactorGroups, Factors, GadgetInput, Rows};

use super::extended::Extended;
use super::key::SwitchKey;
use super::tables::SwitchTables;
use crate::bundle::Bundle;
use crate::chain::Level;
use crate::error::LatticeError;
use crate::poly::{Coeff, Domain, Eval, Poly, Polys};

/// A decomposed polynomial: its digits in Eval form over the product basis of its tables.
#[derive(Debug)]
pub struct Digits {
    pub(super) tables: Arc<SwitchTables>,
    /// Each digit has its own allocation, because one allocation of all digits may be larger than the buffers
    /// that an engine keeps for reuse.
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
        self.tables.level()
    }

    /// The tables by which the polynomial was decomposed.
    #[must_use]
    pub fn tables(&self) -> &Arc<SwitchTables> {
        &self.tables
    }
}

/// The digits of a polynomial given in Coeff form, and in Eval form too if the caller has it, which saves
/// transforms.
pub(super) fn decompose(
    tables: &Arc<SwitchTables>,
    coefficients: Rows<'_>,
    values: Option<Rows<'_>>,
) -> Digits {
    let (engine, moduli) = (tables.ring().engine(), tables.product_basis.indices());
    let mut polys = Vec::with_capacity(tables.digits.len());
    for digit in &tables.digits {
        let mut buffer = engine.scratch(moduli.len());
        let mut out = buffer.view_mut();
        let sources = coefficients.slice(digit.source()..digit.source() + digit.conversion().sources().len());
        engine.convert(digit.conversion(), sources, out.reborrow(), &digit.target_rows());
        let own = digit.own();
        if !own.is_empty() {
            // Modulo a digit's own primes, the digit is the input times a constant, so these rows need no
            // conversion in either form.
            engine.copy(out.reborrow().slice(own.clone()), values.unwrap_or(coefficients).slice(own.clone()));
            engine.mul_constants_assign(
                out.reborrow().slice(own.clone()),
                digit.constants(),
                &moduli[own.clone()],
            );
        }
        if values.is_some() {
            let (before, after) = out.split_at(own.start);
            engine.forward_ntt(before, &moduli[..own.start]);
            engine.forward_ntt(after.split_at(own.len()).1, &moduli[own.end..]);
        } else {
            engine.forward_ntt(out, moduli);
        }
        polys.push(Poly::from_buffer(tables.ring(), &tables.product_basis, buffer));
    }
    Digits { tables: tables.clone(), polys }
}

/// The part of a key that a switch with one [`SwitchTables`] reads.
pub(super) struct Reading {
    pub(super) factors: Arc<Factors>,
    pub(super) groups: Vec<usize>,
    pub(super) rows: Vec<usize>,
    rank: usize,
    columns: usize,
}

impl Reading {
    /// The groups and rows that the engine multiplies with, over the product basis of `tables`.
    fn groups_in<'a>(&'a self, tables: &'a SwitchTables) -> FactorGroups<'a> {
        FactorGroups {
            factors: &self.factors,
            groups: &self.groups,
            rows: &self.rows,
            moduli: tables.product_basis.indices(),
        }
    }
}

/// The part of `key` that a switch of `inputs` polynomials with `tables` reads; `factors` is the key in the
/// representation of `tables`.
pub(super) fn reading(
    tables: &SwitchTables,
    inputs: usize,
    key: &SwitchKey,
    factors: Arc<Factors>,
) -> Result<Reading, LatticeError> {
    let foreign = LatticeError::KeyGadget { key_digits: key.digit_count(), digits: tables.digits.len() };
    check_key(tables, inputs, key)?;
    let (groups, rows) = match &tables.recombination {
        Some(recombination) => (recombination.groups(), (0..tables.product_basis.len()).collect()),
        None => {
            let basis =
                if tables.representation.is_base() { key.basis() } else { &tables.representation.basis };
            (vec![0], basis.rows_of(tables.extended().indices()).ok_or(foreign)?)
        }
    };
    Ok(Reading { factors, groups, rows, rank: key.rank(), columns: key.columns() })
}

/// Refuses keys that do not fit `tables`.
pub(super) fn check_key(tables: &SwitchTables, inputs: usize, key: &SwitchKey) -> Result<(), LatticeError> {
    if inputs == 0 || inputs != key.inputs() {
        return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs });
    }
    if tables.level() > key.level() {
        return Err(LatticeError::KeyLevelTooLow { key_level: key.level().0, level: tables.level().0 });
    }
    // The gadget divides the modulus that ends with the last special prime, so key and tables must have the
    // same last special prime.
    let same_end = key.basis().indices().last() == tables.extended().indices().last();
    let fits = same_end
        && tables.gadget == *key.gadget()
        && key.basis().rows_of(tables.extended().indices()).is_some();
    if !tables.ring().same_as(key.ring()) || !fits {
        return Err(LatticeError::KeyGadget { key_digits: key.digit_count(), digits: tables.digits.len() });
    }
    Ok(())
}

fn bundle_of<D: Domain>(tables: &SwitchTables, rank: usize, out: Buffer) -> Result<Bundle<D>, LatticeError> {
    Bundle::from_polys(Polys::from_buffer(tables.ring(), tables.extended(), out), rank)
}

/// Converts sums over the product basis to the extended basis: the KLSS method recombines them; in the hybrid
/// method the bases are the same.
fn finish(tables: &Arc<SwitchTables>, reading: &Reading, sums: Buffer) -> Result<Extended, LatticeError> {
    let (coeff, eval): (Option<Bundle<Coeff>>, Option<Bundle<Eval>>) = match &tables.recombination {
        None => (None, Some(bundle_of(tables, reading.rank, sums)?)),
        Some(recombination) => {
            let sums = recombination.apply(
                tables.ring(),
                &tables.product_basis,
                tables.extended(),
                sums,
                reading.columns,
            );
            (Some(bundle_of(tables, reading.rank, sums)?), None)
        }
    };
    Ok(Extended { frame: tables.frame.clone(), coeff, eval })
}

fn scratch(tables: &SwitchTables, reading: &Reading) -> Buffer {
    tables.ring().engine().scratch(reading.groups.len() * reading.columns * tables.product_basis.len())
}

/// The products of a key with digits that have been computed before.
pub(super) fn inner_product(
    tables: &Arc<SwitchTables>,
    inputs: &[&Digits],
    reading: &Reading,
) -> Result<Extended, LatticeError> {
    let xs: Vec<Rows<'_>> = (0..tables.digits.len())
        .flat_map(|digit| inputs.iter().map(move |input| input.polys[digit].rows()))
        .collect();
    let mut out = scratch(tables, reading);
    tables.ring().engine().factor_products(out.view_mut(), &xs, reading.groups_in(tables));
    finish(tables, reading, out)
}

/// Decomposition and products in one pass, for inputs whose digits are multiplied by one key only.
pub(super) fn product(
    tables: &Arc<SwitchTables>,
    inputs: &[GadgetInput<'_>],
    reading: &Reading,
) -> Result<Extended, LatticeError> {
    let mut out = scratch(tables, reading);
    let by = reading.groups_in(tables);
    tables.ring().engine().gadget_products(out.view_mut(), inputs, &tables.digits, by);
    finish(tables, reading, out)
}
