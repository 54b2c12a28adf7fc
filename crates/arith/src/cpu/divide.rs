//! The last step of a division on the CPU, from the conversion of the remainder to the quotient. All
//! polynomials are processed at one modulus before the next modulus.
//!
//! If the two-part transform of a modulus reads the remainder in limbs ([`crate::kernels::split`]), its head
//! computes the residues. Then, block by block, the tails of all polynomials use the same factors, and each
//! quotient is computed while the output of its tail is in the first-level cache. Otherwise a row is
//! converted, transformed and divided by itself.

use super::digits::{PreparedTerms, Term};
use super::{CpuEngine, rows_of_all};
use crate::buffer::Buffer;
use crate::conversion::BaseConversion;
use crate::engine::{DivisionInput, Engine};
use crate::kernels::RowKernel;
use crate::kernels::split::{Ahead, RADIX, SplitTransform, VECTOR, head_words};
use crate::limbs::{LimbForm, LimbWeights};
use crate::meter::Pass;
use crate::modulus::Multiplier;

/// Targets per task, which share one reading of the remainder: in limbs, and as columns.
const ROWS: [usize; 2] = [2, 8];

/// Words of a block of tails, unless a sixteenth of a row is longer.
const BLOCK: usize = 4096;

/// Words of each column that are converted for one target after another.
const COLUMN_BLOCK: usize = 1024;

/// Vectors of each sixteenth of a row that are processed at a time: their limbs stay in the second-level
/// cache until the next target reads them.
const TILE: usize = 32;

/// The data that all tasks share.
struct Task<'a> {
    engine: &'a CpuEngine,
    conversion: &'a BaseConversion,
    inputs: &'a [DivisionInput<'a>],
    prepared: PreparedTerms,
    constants: &'a [u64],
    transform: bool,
}

/// A remainder in limbs, with the transform and the weights by which one target reads it.
struct Limbs<'a> {
    split: &'a dyn SplitTransform,
    words: &'a [u64],
    form: &'a LimbForm,
    weights: &'a LimbWeights,
}

impl<'a> Task<'a> {
    fn kernel(&self, target: usize) -> &'a dyn RowKernel {
        self.engine.tables[self.conversion.targets[target]].kernel()
    }

    fn constant(&self, target: usize) -> Multiplier {
        self.engine.moduli[self.conversion.targets[target]].multiplier(self.constants[target])
    }

    /// Computes rows of the quotient of input `index`, each given with its target, one complete row after
    /// another.
    fn whole_rows(&self, rows: &mut [(usize, &mut [u64])], index: usize) {
        let (degree, input, columns) =
            (self.engine.degree, &self.inputs[index], self.prepared.columns(index));
        for start in (0..degree).step_by(COLUMN_BLOCK) {
            let span = start..(start + COLUMN_BLOCK).min(degree);
            let columns: Vec<&[u64]> = columns.iter().map(|column| &column[span.clone()]).collect();
            for (target, row) in rows.iter_mut() {
                let weights = &self.conversion.weights[*target];
                self.kernel(*target).combine(
                    &mut row[span.clone()],
                    &columns,
                    weights,
                    self.conversion.y_bits,
                );
            }
        }
        for (target, row) in rows {
            let (target, kernel, w) = (*target, self.kernel(*target), self.constant(*target));
            if let Some(part) = input.coeff {
                kernel.sub_mul_constant_assign(row, part.row(target), w);
            }
            if self.transform {
                kernel.forward(row);
                self.engine.count(Pass::Forward, 1);
            }
            match (input.coeff, input.eval) {
                (None, Some(part)) => kernel.sub_mul_constant_assign(row, part.row(target), w),
                // The constant was applied above together with the Coeff part; only the Eval part remains to
                // be multiplied.
                (Some(_), Some(part)) => {
                    let modulus = &self.engine.moduli[self.conversion.targets[target]];
                    kernel.add_mul_constant_assign(
                        row,
                        part.row(target),
                        modulus.multiplier(modulus.neg(self.constants[target])),
                    );
                }
                (None, None) => kernel.mul_constant_assign(row, w),
                (Some(_), None) => {}
            }
            self.engine.count_conversion(self.conversion, 1);
            self.engine.count(Pass::Division, 1);
        }
    }

    /// The remainder of input `index` in the limbs that `target` reads, or `None` if the target reads
    /// columns. The choice is the same for all inputs.
    fn limbs(&'a self, index: usize, target: usize) -> Option<Limbs<'a>> {
        let (form, weights) = self.conversion.limbs.as_ref()?;
        let (split, words) =
            self.prepared.limbs(self.engine, index, self.conversion.targets[target], form)?;
        Some(Limbs { split, words, form, weights: &weights[target] })
    }

    /// Computes the rows of all quotients for targets that read limbs.
    fn split_rows(&self, rows: &mut [(usize, Vec<&mut [u64]>)]) {
        let (degree, head) = (self.engine.degree, head_words(self.engine.degree));
        let (block, vectors) = ((degree / RADIX).max(BLOCK).min(degree), degree / (RADIX * VECTOR));
        // Scratch memory: the heads of all rows, input by input, then one block of a row.
        let words = rows.len() * self.inputs.len() * head;
        let mut scratch = self.engine.scratch((words + block).div_ceil(degree));
        let (heads, rest) = scratch.host_mut().split_at_mut(words);
        for ((index, input), heads) in
            self.inputs.iter().enumerate().zip(heads.chunks_exact_mut(rows.len() * head))
        {
            for start in (0..vectors).step_by(TILE) {
                for (&(target, _), head) in rows.iter().zip(heads.chunks_exact_mut(head)) {
                    let Some(Limbs { split, words, form, weights }) = self.limbs(index, target) else {
                        continue;
                    };
                    let less = input.coeff.map(|part| part.row(target));
                    split.digit_head(
                        head,
                        words,
                        form,
                        start..(start + TILE).min(vectors),
                        weights,
                        less,
                        false,
                    );
                }
            }
        }
        let count = rows.len();
        for (row, (target, outputs)) in rows.iter_mut().enumerate() {
            let (target, kernel, w) = (*target, self.kernel(*target), self.constant(*target));
            for start in (0..degree).step_by(block) {
                for (index, out) in outputs.iter_mut().enumerate() {
                    let Some(Limbs { split, .. }) = self.limbs(index, target) else { continue };
                    let part = self.inputs[index].eval.map(|part| &part.row(target)[start..start + block]);
                    let ahead = part.map_or(Ahead::default(), Ahead::words);
                    let words = &mut rest[..block];
                    split.tail(
                        words,
                        &heads[(index * count + row) * head..][..head],
                        start,
                        index > 0,
                        [ahead, Ahead::default()],
                    );
                    // Bypasses the caches, where the quotients and their dividends would evict one another.
                    kernel.quotient(&mut out[start..start + block], words, part, w, true);
                }
            }
            self.engine.count_conversion(self.conversion, outputs.len());
            self.engine.count(Pass::Forward, outputs.len());
            self.engine.count(Pass::Division, outputs.len());
        }
    }

    /// Divides all inputs at the targets from `first` on; `outputs[target - first]` are that target's rows of
    /// the quotients.
    fn rows(&self, outputs: &mut [Vec<&mut [u64]>], first: usize) {
        let mut whole: Vec<Vec<(usize, &mut [u64])>> = self.inputs.iter().map(|_| Vec::new()).collect();
        let mut split: Vec<(usize, Vec<&mut [u64]>)> = Vec::new();
        for (target, outputs) in (first..).zip(outputs) {
            let outputs = outputs.iter_mut().map(|out| &mut **out);
            if self.limbs(0, target).is_some() {
                split.push((target, outputs.collect()));
            } else {
                whole.iter_mut().zip(outputs).for_each(|(rows, out)| rows.push((target, out)));
            }
        }
        whole.iter_mut().enumerate().for_each(|(index, rows)| self.whole_rows(rows, index));
        if !split.is_empty() {
            self.split_rows(&mut split);
        }
    }
}

pub(super) fn divide(
    engine: &CpuEngine,
    conversion: &BaseConversion,
    inputs: &[DivisionInput<'_>],
    constants: &[u64],
    transform: bool,
) -> Buffer {
    let (sources, targets) = (conversion.sources.len(), conversion.targets.len());
    assert!(constants.len() == targets, "one constant per target");
    assert!(inputs.iter().all(|input| input.divisors.rows() >= sources), "one row per source");
    let parts = || inputs.iter().flat_map(|input| input.coeff.iter().chain(&input.eval));
    assert!(parts().all(|part| part.rows.len() == targets), "one row of each part per target");
    assert!(
        transform || inputs.iter().all(|input| input.eval.is_none()),
        "parts in Eval form meet results in Eval form"
    );
    let limbs = transform && engine.divides_by_limbs(sources, targets, inputs.len());
    let terms: Vec<Term<'_>> =
        inputs.iter().map(|input| Term { conversion, residues: input.divisors, limbs }).collect();
    let task = Task {
        engine,
        conversion,
        inputs,
        prepared: PreparedTerms::new(engine, &terms),
        constants,
        transform,
    };
    let mut out = engine.scratch(inputs.len() * targets);
    let mut by_row = rows_of_all(out.host_mut(), targets, engine.degree);
    let rows = ROWS[usize::from(!limbs)];
    let mut tasks: Vec<&mut [Vec<&mut [u64]>]> = by_row.chunks_mut(rows).collect();
    engine.each(&mut tasks, |index, outputs| task.rows(outputs, index * rows));
    out
}
