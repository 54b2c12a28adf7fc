//! The steps of the KLSS method: decomposing keys into digits over auxiliary primes, and converting sums back
//! to the extended modulus.
//!
//! A key polynomial `u` over the key's modulus is decomposed into centred key digits `v_j = [u] mod D~_j`.
//! With digits `b_i` of the input,
//!
//! ```text
//! sum_i b_i u_i  =  sum_i b_i v_ij   mod D~_j,
//! ```
//!
//! so the sum modulo a prime of `D~_j` is the integer `sum_i b_i v_ij` modulo that prime. The integer is
//! small, so it is computed modulo a few auxiliary primes of product `B'` and converted to the primes of
//! `D~_j`. The number of transforms falls from quadratic to linear in the number of primes, and the result
//! equals the hybrid method's bit for bit. Where a level uses only some primes of a key digit, only those
//! residues are computed. Source: [klss, sec. 3, 4.3].

use clathrate_arith::{BaseConversion, Buffer, FactorShape, Factors, Rounding};

use super::key::SwitchKey;
use super::representation::KeyDigits;
use crate::error::LatticeError;
use crate::poly::Basis;
use crate::ring::Ring;

/// Converts sums over the auxiliary primes to residues of an extended basis.
#[derive(Debug)]
pub struct Recombination {
    /// For each key digit in use: its index, the conversion to its primes in use, and the rows of those
    /// primes in the extended basis.
    parts: Vec<(usize, BaseConversion, Vec<usize>)>,
}

impl Recombination {
    pub(super) fn new(ring: &Ring, key: &KeyDigits, extended: &Basis) -> Result<Self, LatticeError> {
        let sources = key.auxiliary.indices();
        let ones = vec![1; sources.len()];
        let mut parts = Vec::new();
        for (group, digit) in key.digits.iter().enumerate() {
            let used: Vec<usize> =
                digit.indices().iter().copied().filter(|&i| extended.row_of(i).is_some()).collect();
            let Some(rows) = extended.rows_of(&used).filter(|rows| !rows.is_empty()) else { continue };
            let conversion = ring
                .engine()
                .base_conversion(sources, &used, &ones, Rounding::Centred)
                .ok_or(LatticeError::BasisMismatch { left: sources.len(), right: used.len() })?;
            parts.push((group, conversion, rows));
        }
        Ok(Self { parts })
    }

    /// Indices of the key digits in use.
    pub(super) fn groups(&self) -> Vec<usize> {
        self.parts.iter().map(|(group, ..)| *group).collect()
    }

    /// Converts sums in Eval form over the auxiliary primes (`columns` sums for each key digit in turn) to
    /// Coeff form over the extended basis.
    pub(super) fn apply(
        &self,
        ring: &Ring,
        auxiliary: &Basis,
        extended: &Basis,
        mut sums: Buffer,
        columns: usize,
    ) -> Buffer {
        let engine = ring.engine();
        let mut out = engine.scratch(columns * extended.len());
        for ((_, conversion, rows), sums) in
            self.parts.iter().zip(sums.view_mut().chunks(columns * auxiliary.len()))
        {
            for (mut sum, out) in sums.chunks(auxiliary.len()).zip(out.view_mut().chunks(extended.len())) {
                engine.inverse_ntt(sum.reborrow(), auxiliary.indices());
                engine.convert(conversion, sum.view(), out, rows);
            }
        }
        out
    }
}

/// Merges the key's components by `terms` and decomposes them into key digits over the auxiliary primes;
/// `None` where the key lacks a prime. [klss, sec. 4.4, "alternatively"]
pub(super) fn derive(key_digits: &KeyDigits, key: &SwitchKey, terms: &[Vec<usize>]) -> Option<Factors> {
    let (engine, columns) = (key.ring().engine(), key.columns());
    let KeyDigits { digits, auxiliary, .. } = key_digits;
    let shape = FactorShape { groups: digits.len(), terms: terms.len(), columns, packed: true };
    let mut factors = engine.zeroed_factors(shape, auxiliary.indices());
    let all: Vec<usize> = (0..auxiliary.len()).collect();
    for (group, digit) in digits.iter().enumerate() {
        let own = key.basis().rows_of(digit.indices())?;
        let ones = vec![1; digit.len()];
        let conversion =
            engine.base_conversion(digit.indices(), auxiliary.indices(), &ones, Rounding::Centred)?;
        let slots: Vec<Buffer> = terms
            .iter()
            .flat_map(|term| (0..columns).map(move |column| (term, column)))
            .map(|(term, column)| {
                let mut residues = engine.unpack_factors(key.factors(), 0, term, column..column + 1, &own);
                engine.inverse_ntt(residues.view_mut(), digit.indices());
                let mut extended = engine.scratch(auxiliary.len());
                engine.convert(&conversion, residues.view(), extended.view_mut(), &all);
                engine.forward_ntt(extended.view_mut(), auxiliary.indices());
                extended
            })
            .collect();
        engine.pack_factors(
            &mut factors,
            group,
            &slots.iter().map(|slot| vec![slot.view()]).collect::<Vec<_>>(),
            &all,
        );
    }
    Some(factors)
}
