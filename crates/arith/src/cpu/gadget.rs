//! The fused pass of a switch on the CPU: extend, transform and multiply, one row of the result after the other.

use rayon::prelude::*;

use super::{CONVERSION_BLOCK, CpuEngine, factors, rows_of_all};
use crate::buffer::Buffer;
use crate::conversion::BaseConversion;
use crate::engine::{Engine, GadgetInput};
use crate::extension::DigitExtension;
use crate::factors::Factors;

/// Words of extended digits that wait for one pass over the keys: a few rows, near the size of the second-level cache.
const GROUP_WORDS: usize = 1 << 18;

impl CpuEngine {
    /// The left side of a base conversion for all coefficients: one row per column of its matrix.
    fn prepare(&self, conversion: &BaseConversion, x: &Buffer, first: usize) -> Buffer {
        let mut scaled = self.scratch(conversion.columns());
        let block = CONVERSION_BLOCK.min(self.degree);
        let mut fraction = vec![0f64; block];
        let mut rows: Vec<&mut [u64]> = scaled.host_mut().chunks_exact_mut(self.degree).collect();
        for start in (0..self.degree).step_by(block) {
            let mut columns: Vec<&mut [u64]> = rows.iter_mut().map(|row| &mut row[start..start + block]).collect();
            self.prepare_block(conversion, x, first, start, &mut columns, &mut fraction);
        }
        scaled
    }

    /// Row `row` of a digit in Eval form.
    fn digit_row(&self, out: &mut [u64], row: usize, modulus: usize, input: GadgetInput<'_>, digit: &DigitExtension, prepared: &Buffer) {
        let kernel = self.tables[modulus].kernel();
        match (digit.target(row), input.values) {
            (Some(target), _) => {
                let conversion = digit.conversion();
                let columns: Vec<&[u64]> = (0..prepared.rows()).map(|i| prepared.row(i)).collect();
                kernel.combine(out, &columns, &conversion.weights[target], conversion.y_bits);
                kernel.forward(out);
            }
            (None, values) => {
                out.copy_from_slice(values.unwrap_or(input.coefficients).row(row));
                kernel.mul_constant_assign(out, self.moduli[modulus].multiplier(digit.constants()[row - digit.own().start]));
                if values.is_none() {
                    kernel.forward(out);
                }
            }
        }
    }
}

pub(super) fn products(
    engine: &CpuEngine,
    out: &mut [Buffer],
    inputs: &[GadgetInput<'_>],
    digits: &[DigitExtension],
    factors: &Factors,
    groups: &[usize],
    rows: &[usize],
    moduli: &[usize],
) {
    let terms = inputs.len() * digits.len();
    factors::check(out, terms, factors, groups, rows, moduli);
    assert!(digits.iter().all(|digit| digit.rows() == moduli.len()), "digits extend to all rows");
    let prepare = |t: usize| {
        let digit = &digits[t / inputs.len()];
        engine.prepare(digit.conversion(), inputs[t % inputs.len()].coefficients, digit.source())
    };
    let prepared: Vec<Buffer> = match &engine.threads {
        None => (0..terms).map(prepare).collect(),
        Some(pool) => pool.install(|| (0..terms).into_par_iter().map(prepare).collect()),
    };
    let (columns, block) = (factors.shape().columns, factors.block());
    let group_terms = (GROUP_WORDS / engine.degree).clamp(2, 32).min(terms);
    let mut by_row = rows_of_all(out, engine.degree);
    engine.each(&mut by_row, |row, outputs| {
        let kernel = engine.tables[moduli[row]].kernel();
        let mut extended = engine.scratch(group_terms);
        for first in (0..terms).step_by(group_terms) {
            let now = first..(first + group_terms).min(terms);
            for (slot, t) in extended.host_mut().chunks_exact_mut(engine.degree).zip(now.clone()) {
                engine.digit_row(slot, row, moduli[row], inputs[t % inputs.len()], &digits[t / inputs.len()], &prepared[t]);
            }
            for start in (0..engine.degree).step_by(block) {
                let left: Vec<&[u64]> = (0..now.len()).map(|slot| &extended.row(slot)[start..start + block]).collect();
                for (outputs, &group) in outputs.chunks_mut(columns).zip(groups) {
                    let mut targets: Vec<&mut [u64]> = outputs.iter_mut().map(|row| &mut row[start..start + block]).collect();
                    kernel.dot_packed(&mut targets, &left, factors.run(rows[row], start, group, first), first > 0);
                }
            }
        }
    });
}
