//! The fused pass of a switch on the CPU: extend, transform and multiply, some rows of the result after the others.
//!
//! For a few rows at a time, all digits of a group of terms are extended and brought through the head of their transforms, which
//! writes each word once. Then, block by block of the factors' order, the tails of all terms run in the first-level cache, and
//! what they leave in the second is multiplied by the factors at once: a transformed row is never written back to far
//! memory.

use super::digits::PreparedDigit;
use super::{CpuEngine, factors, rows_of_all};
use crate::buffer::Buffer;
use crate::engine::{Engine, GadgetInput};
use crate::extension::DigitExtension;
use crate::factors::Factors;
use crate::kernels::split::{RADIX, VECTOR};

/// Rows extended side by side from one reading of a digit.
const ROWS: usize = 2;

/// Most terms that wait for one pass over the keys.
const TERMS: usize = 12;

/// Vectors of a sixteenth row whose columns stay in the first-level cache while the next row reads them again.
const TILE: usize = 8;

/// What a task works on: the inputs of the call and the digits prepared from them.
struct Pass<'a> {
    engine: &'a CpuEngine,
    inputs: &'a [GadgetInput<'a>],
    digits: &'a [DigitExtension],
    prepared: Vec<PreparedDigit>,
    factors: &'a Factors,
    groups: &'a [usize],
    rows: &'a [usize],
    moduli: &'a [usize],
}

/// How far a row of a digit is when the heads are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In Eval form.
    Done,
    /// Its tails remain.
    Head,
    /// It is the input's own row in Eval form, and not yet scaled.
    Values,
}

impl Pass<'_> {
    /// The heads of one term for the rows from `first` on; `outputs` are their words.
    fn heads(&self, outputs: &mut [&mut [u64]], first: usize, term: usize) -> Vec<State> {
        let (digit, input) = (&self.digits[term / self.inputs.len()], self.inputs[term % self.inputs.len()]);
        let prepared = &self.prepared[term];
        let mut states = Vec::with_capacity(outputs.len());
        let mut shared = Vec::with_capacity(outputs.len());
        for (row, out) in (first..).zip(outputs) {
            let (modulus, kernel) = (self.moduli[row], self.engine.tables[self.moduli[row]].kernel());
            let limbs = digit.conversion().limbs.as_ref();
            states.push(match (digit.target(row), input.values, kernel.split()) {
                (Some(target), _, split) => match limbs.and_then(|(form, weights)| Some((form, &weights[target], prepared.limbs(self.engine, modulus, form)?))) {
                    Some((form, weights, (split, limbs))) => {
                        shared.push((split, form, limbs, weights, out));
                        State::Head
                    }
                    None => {
                        let conversion = digit.conversion();
                        kernel.combine(out, &prepared.columns(), &conversion.weights[target], conversion.y_bits);
                        match split {
                            Some(split) => {
                                split.head(out);
                                State::Head
                            }
                            None => {
                                kernel.forward(out);
                                State::Done
                            }
                        }
                    }
                },
                (None, Some(_), _) => State::Values,
                (None, None, split) => {
                    out.copy_from_slice(input.coefficients.row(row));
                    kernel.mul_constant_assign(out, self.engine.moduli[modulus].multiplier(digit.constants()[row - digit.own().start]));
                    match split {
                        Some(split) => {
                            split.head(out);
                            State::Head
                        }
                        None => {
                            kernel.forward(out);
                            State::Done
                        }
                    }
                }
            });
        }
        let vectors = self.engine.degree / (RADIX * VECTOR);
        for start in (0..vectors).step_by(TILE) {
            for (split, form, limbs, weights, out) in &mut shared {
                split.digit_head(out, limbs, form, start..(start + TILE).min(vectors), weights);
            }
        }
        states
    }

    /// Finishes the words from `start` on of row `row` of a term.
    fn finish(&self, x: &mut [u64], start: usize, row: usize, term: usize, state: State) {
        let (modulus, kernel) = (self.moduli[row], self.engine.tables[self.moduli[row]].kernel());
        let (digit, input) = (&self.digits[term / self.inputs.len()], self.inputs[term % self.inputs.len()]);
        match (state, kernel.split(), input.values) {
            (State::Head, Some(split), _) => split.tail(x, start),
            (State::Values, _, Some(values)) => {
                x.copy_from_slice(&values.row(row)[start..start + x.len()]);
                kernel.mul_constant_assign(x, self.engine.moduli[modulus].multiplier(digit.constants()[row - digit.own().start]));
            }
            _ => {}
        }
    }

    /// All of the rows from `first` on; `outputs[row - first]` are that row's words of each result.
    fn rows(&self, outputs: &mut [Vec<&mut [u64]>], first: usize) {
        let (degree, columns, block) = (self.engine.degree, self.factors.shape().columns, self.factors.block());
        let terms = self.prepared.len();
        let together = terms.div_ceil(terms.div_ceil(TERMS).max(1)).max(1);
        let mut scratch = self.engine.scratch(outputs.len() * together);
        for term in (0..terms).step_by(together) {
            let count = together.min(terms - term);
            // Words `(slot * rows + row)`, so that the rows of a term are neighbours.
            let mut words: Vec<&mut [u64]> = scratch.host_mut().chunks_exact_mut(degree).collect();
            let states: Vec<Vec<State>> =
                words.chunks_mut(outputs.len()).take(count).enumerate().map(|(slot, words)| self.heads(words, first, term + slot)).collect();
            let stride = outputs.len();
            for (index, outputs) in outputs.iter_mut().enumerate() {
                let (row, kernel) = (first + index, self.engine.tables[self.moduli[first + index]].kernel());
                for start in (0..degree).step_by(block) {
                    for slot in 0..count {
                        self.finish(&mut words[slot * stride + index][start..start + block], start, row, term + slot, states[slot][index]);
                    }
                    let left: Vec<&[u64]> = (0..count).map(|slot| &words[slot * stride + index][start..start + block]).collect();
                    for (outputs, &group) in outputs.chunks_mut(columns).zip(self.groups) {
                        let mut targets: Vec<&mut [u64]> = outputs.iter_mut().map(|row| &mut row[start..start + block]).collect();
                        kernel.dot_packed(&mut targets, &left, self.factors.run(self.rows[row], start, group, term), term > 0);
                    }
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
    let mut prepared: Vec<Option<PreparedDigit>> = (0..terms).map(|_| None).collect();
    engine.each(&mut prepared, |t, prepared| {
        *prepared = Some(PreparedDigit::new(engine, inputs[t % inputs.len()].coefficients, &digits[t / inputs.len()], moduli));
    });
    let pass = Pass { engine, inputs, digits, prepared: prepared.into_iter().flatten().collect(), factors, groups, rows, moduli };
    let mut by_row = rows_of_all(out, engine.degree);
    let mut tasks: Vec<&mut [Vec<&mut [u64]>]> = by_row.chunks_mut(ROWS).collect();
    engine.each(&mut tasks, |index, outputs| pass.rows(outputs, index * ROWS));
}
