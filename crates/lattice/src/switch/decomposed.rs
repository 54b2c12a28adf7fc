//! The key-decomposed engine's own steps: keys as digits over auxiliary primes, and sums back to the extended modulus.
//!
//! A key polynomial `u` over the key's modulus is cut into key digits `v_j = [u] mod D~_j`, centred. With digits `b_i` of the input,
//!
//! ```text
//! sum_i b_i u_i  =  sum_i b_i v_ij   mod D~_j,
//! ```
//!
//! so the sum modulo a prime of `D~_j` is the integer `sum_i b_i v_ij` modulo it, which is small: it is computed modulo a few
//! auxiliary primes, product `B'`, and recombined. Transforms fall from quadratic to linear in the number of primes, and the result is the hybrid engine's bit
//! for bit. A key digit of which a level uses some primes only recombines to those. Source: [klss, sec. 3, 4.3].

use clathrate_arith::{BaseConversion, Buffer, FactorShape, Factors, Rounding};

use super::choice::{KeyDigits, KeyShape};
use super::key::SwitchKey;
use super::plan::SwitchPlan;
use crate::error::LatticeError;
use crate::poly::Basis;
use crate::ring::Ring;

/// How sums over the auxiliary primes become residues of an extended basis.
#[derive(Debug)]
pub struct Recombination {
    /// Per key digit in use: which it is, the conversion to its primes in use, and their rows in the extended basis.
    parts: Vec<(usize, BaseConversion, Vec<usize>)>,
}

impl Recombination {
    pub(super) fn new(ring: &Ring, key: &KeyDigits, extended: &Basis) -> Result<Self, LatticeError> {
        let sources = key.auxiliary.indices();
        let ones = vec![1; sources.len()];
        let mut parts = Vec::new();
        for (group, digit) in key.digits.iter().enumerate() {
            let used: Vec<usize> = digit.indices().iter().copied().filter(|&i| extended.row_of(i).is_some()).collect();
            let Some(rows) = extended.rows_of(&used).filter(|rows| !rows.is_empty()) else { continue };
            let conversion = BaseConversion::new(ring.moduli(), sources, &used, &ones, Rounding::Centred)
                .ok_or(LatticeError::BasisMismatch { left: sources.len(), right: used.len() })?;
            parts.push((group, conversion, rows));
        }
        Ok(Self { parts })
    }

    /// The key digits in use.
    pub(super) fn groups(&self) -> Vec<usize> {
        self.parts.iter().map(|(group, ..)| *group).collect()
    }

    /// Sums in Eval form over the auxiliary primes (key digit by key digit, `columns` each) to Coeff form over the extended basis.
    pub(super) fn apply(&self, plan: &SwitchPlan, mut sums: Vec<Buffer>, columns: usize) -> Vec<Buffer> {
        let engine = plan.ring().engine();
        let mut out: Vec<Buffer> = (0..columns).map(|_| engine.scratch(plan.extended().len())).collect();
        for ((_, conversion, rows), sums) in self.parts.iter().zip(sums.chunks_mut(columns)) {
            for (sum, out) in sums.iter_mut().zip(&mut out) {
                engine.inverse_ntt(sum, 0..plan.product_basis.len(), plan.product_basis.indices());
                engine.convert(conversion, sum, 0, out, rows);
            }
        }
        out
    }
}

/// A key in `shape`, derived from the key that travelled. [klss, sec. 4.4, "alternatively"], [level-aware, sec. 4.3, Expand]
pub(super) fn derive(shape: &KeyShape, key: &SwitchKey) -> Result<Factors, LatticeError> {
    let (engine, inputs) = (key.ring().engine(), key.inputs());
    let foreign = LatticeError::KeyGadget { key_digits: key.digit_count(), digits: shape.runs.len() };
    let rows = key.basis().rows_of(shape.basis.indices()).ok_or_else(|| foreign.clone())?;
    // Terms digit by digit, as keys are laid out.
    let terms: Vec<Vec<usize>> =
        shape.runs.iter().flat_map(|run| (0..inputs).map(move |input| run.clone().map(|digit| digit * inputs + input).collect())).collect();
    let Some(KeyDigits { digits, auxiliary, .. }) = &shape.decomposed else {
        return Ok(engine.sum_factors(key.factors(), &terms, &rows));
    };
    let columns = key.rank() + key.body_count();
    let wide = FactorShape { groups: digits.len(), terms: terms.len(), columns, packed: true };
    let mut factors = engine.zeroed_factors(wide, auxiliary.indices());
    let all: Vec<usize> = (0..auxiliary.len()).collect();
    for (group, digit) in digits.iter().enumerate() {
        let own = key.basis().rows_of(digit.indices()).ok_or_else(|| foreign.clone())?;
        let conversion =
            BaseConversion::new(key.ring().moduli(), digit.indices(), auxiliary.indices(), &vec![1; digit.len()], Rounding::Centred)
                .ok_or_else(|| foreign.clone())?;
        let slots: Vec<Buffer> = terms
            .iter()
            .flat_map(|term| (0..columns).map(move |column| (term, column)))
            .map(|(term, column)| {
                let mut residues = engine.unpack_factor(key.factors(), 0, term, column, &own);
                engine.inverse_ntt(&mut residues, 0..own.len(), digit.indices());
                let mut extended = engine.scratch(auxiliary.len());
                engine.convert(&conversion, &residues, 0, &mut extended, &all);
                engine.forward_ntt(&mut extended, 0..auxiliary.len(), auxiliary.indices());
                extended
            })
            .collect();
        engine.pack_factors(&mut factors, group, &slots.iter().map(|slot| vec![slot]).collect::<Vec<_>>(), &all);
    }
    Ok(factors)
}
