//! The end of a division on the CPU, from the remainder's conversion to the quotient: all polynomials at one modulus, then at the next.
//!
//! Where a transform in two parts takes the remainder in limbs ([`crate::kernels::split`]), its head makes the residues; block by
//! block, the tails of all polynomials use the same factors, and what a tail leaves in the first-level cache becomes the quotient at
//! once. Elsewhere a row is converted, transformed and finished by itself.

use super::digits::{PreparedTerms, Term};
use super::{CpuEngine, rows_of_all};
use crate::buffer::Buffer;
use crate::conversion::BaseConversion;
use crate::engine::{DivisionInput, Engine};
use crate::kernels::RowKernel;
use crate::kernels::split::{Ahead, RADIX, SplitTransform, VECTOR, head_place, head_words};
use crate::limbs::{LimbForm, LimbWeights};

/// Rows of one polynomial that share one reading of its remainder.
const ROWS: usize = 4;

/// Words of a block of the conversion, and at most of a tail where a sixteenth of a row is less.
const BLOCK: usize = 4096;

/// Vectors of a sixteenth row whose limbs stay in the second-level cache while the next row reads them again.
const TILE: usize = 32;

/// What a task works on.
struct Pass<'a> {
    engine: &'a CpuEngine,
    conversion: &'a BaseConversion,
    inputs: &'a [DivisionInput<'a>],
    prepared: PreparedTerms,
    constants: &'a [u64],
    transform: bool,
}

/// A remainder in limbs and how one target reads it.
struct Limbs<'a> {
    split: &'a dyn SplitTransform,
    limbs: &'a [u64],
    form: &'a LimbForm,
    weights: &'a LimbWeights,
}

impl<'a> Pass<'a> {
    fn kernel(&self, target: usize) -> &'a dyn RowKernel {
        self.engine.tables[self.conversion.targets[target]].kernel()
    }

    /// How the remainder of input `index` reaches a target through a head.
    fn limbs(&'a self, index: usize, target: usize) -> Option<Limbs<'a>> {
        let (form, weights) = self.conversion.limbs.as_ref()?;
        let (split, limbs) = self.prepared.limbs(self.engine, index, self.conversion.targets[target], form)?;
        Some(Limbs { split, limbs, form, weights: &weights[target] })
    }

    /// One input at one target, without a transform in two parts.
    fn row(&self, out: &mut [u64], index: usize, target: usize) {
        let (engine, input, kernel) = (self.engine, &self.inputs[index], self.kernel(target));
        let modulus = &engine.moduli[self.conversion.targets[target]];
        let w = modulus.multiplier(self.constants[target]);
        kernel.combine(out, &self.prepared.columns(index), &self.conversion.weights[target], self.conversion.y_bits);
        if let Some(part) = input.coeff {
            kernel.sub_mul_constant_assign(out, part.residues.row(part.rows[target]), w);
        }
        if self.transform {
            kernel.forward(out);
        }
        match (input.coeff, input.eval) {
            (None, Some(part)) => kernel.sub_mul_constant_assign(out, part.residues.row(part.rows[target]), w),
            // The remainder has met its constant.
            (Some(_), Some(part)) => {
                let negative = modulus.multiplier(modulus.neg(self.constants[target]));
                kernel.add_mul_constant_assign(out, part.residues.row(part.rows[target]), negative);
            }
            (None, None) => kernel.mul_constant_assign(out, w),
            (Some(_), None) => {}
        }
    }

    /// All inputs at the targets from `first` on; `outputs[target - first]` are that target's rows of the quotients.
    fn rows(&self, outputs: &mut [Vec<&mut [u64]>], first: usize) {
        let degree = self.engine.degree;
        let (rows, count) = (outputs.len(), self.inputs.len());
        let head = head_words(degree).max(degree);
        let block = (degree / RADIX).max(BLOCK).min(degree);
        let mut scratch = self.engine.scratch((rows * count * head + block).div_ceil(degree));
        let (heads, rest) = scratch.host_mut().split_at_mut(rows * count * head);
        let words = &mut rest[..block];
        for (index, heads) in heads.chunks_exact_mut(rows * head).enumerate() {
            let mut readers: Vec<(Limbs<'_>, &mut [u64])> = (first..)
                .zip(heads.chunks_exact_mut(head))
                .filter_map(|(target, head)| Some((self.limbs(index, target)?, head)))
                .collect();
            let vectors = degree / (RADIX * VECTOR);
            for start in (0..vectors).step_by(TILE) {
                for (Limbs { split, limbs, form, weights }, head) in &mut readers {
                    split.digit_head(head, limbs, form, start..(start + TILE).min(vectors), weights, false);
                }
            }
        }
        for (row, outputs) in outputs.iter_mut().enumerate() {
            let target = first + row;
            let kernel = self.kernel(target);
            let w = self.engine.moduli[self.conversion.targets[target]].multiplier(self.constants[target]);
            let readers: Vec<Option<Limbs<'_>>> = (0..count).map(|index| self.limbs(index, target)).collect();
            for (index, out) in outputs.iter_mut().enumerate().filter(|&(index, _)| readers[index].is_none()) {
                self.row(out, index, target);
            }
            for start in (0..degree).step_by(block) {
                for (index, out) in outputs.iter_mut().enumerate() {
                    let Some(Limbs { split, .. }) = readers[index] else { continue };
                    let head = &heads[(index * rows + row) * head..][..head];
                    let part = self.inputs[index].eval.map(|part| &part.residues.row(part.rows[target])[start..start + block]);
                    let next = head.get(head_place(degree, start + block)..).unwrap_or_default();
                    let next = &next[..next.len().min(block)];
                    let out = &mut out[start..start + block];
                    split.tail(words, head, start, [part.map_or(Ahead::default(), Ahead::words), Ahead::words(next)]);
                    out.copy_from_slice(words);
                    match part {
                        Some(part) => kernel.sub_mul_constant_assign(out, part, w),
                        None => kernel.mul_constant_assign(out, w),
                    }
                }
            }
        }
    }
}

pub(super) fn divide(
    engine: &CpuEngine,
    conversion: &BaseConversion,
    inputs: &[DivisionInput<'_>],
    constants: &[u64],
    transform: bool,
) -> Vec<Buffer> {
    let targets = conversion.targets.len();
    assert!(constants.len() == targets, "one constant per target");
    assert!(inputs.iter().all(|input| input.divisors.rows() >= conversion.sources.len()), "one row per source");
    let parts = || inputs.iter().flat_map(|input| input.coeff.iter().chain(&input.eval));
    assert!(parts().all(|part| part.rows.len() == targets), "one row of each part per target");
    assert!(transform || inputs.iter().all(|input| input.eval.is_none()), "parts in Eval form meet results in Eval form");
    // A part in Coeff form meets the remainder before its transform.
    let terms: Vec<Term<'_>> = inputs
        .iter()
        .map(|input| Term { conversion, residues: input.divisors, first: 0, limbs: transform && input.coeff.is_none() })
        .collect();
    let prepared = PreparedTerms::new(engine, &terms);
    let pass = Pass { engine, conversion, inputs, prepared, constants, transform };
    let mut out: Vec<Buffer> = inputs.iter().map(|_| engine.scratch(targets)).collect();
    let mut by_row = rows_of_all(&mut out, engine.degree);
    let rows = std::env::var("DROWS").ok().and_then(|x| x.parse().ok()).unwrap_or(1);
    let mut tasks: Vec<&mut [Vec<&mut [u64]>]> = by_row.chunks_mut(rows).collect();
    engine.each(&mut tasks, |index, outputs| pass.rows(outputs, index * rows));
    out
}
