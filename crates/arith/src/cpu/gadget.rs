//! The fused pass of a key switch on the CPU: digits are extended, transformed and multiplied, for a few rows
//! of the result at a time.
//!
//! For these rows, all digits of a group of terms are extended and go through the head of their transforms,
//! which writes each word once. Then, block by block in the order of the factors, the tails of all terms run
//! in the first-level cache, and their results are multiplied by the factors while they are still in the
//! second-level cache, so that a transformed row is never written back to memory.

use super::digits::{PreparedTerms, Term};
use super::{CpuEngine, rows_of_all};
use crate::bit_packing::Run;
use crate::buffer::RowsMut;
use crate::engine::{Engine, FactorGroups, GadgetInput};
use crate::extension::DigitExtension;
use crate::kernels::RowKernel;
use crate::kernels::split::{Ahead, RADIX, VECTOR, head_place, head_words};
use crate::meter::Pass;
use crate::modulus::Multiplier;

/// Largest number of rows that are extended from one reading of a digit.
const ROWS: usize = 2;

/// Cap on buffered rows, summed over all terms. It bounds a thread's scratch memory; at least one row per
/// term is always buffered.
const WAITING: usize = 48;

/// Thresholds for long digits: words of limbs of all terms, and limbs of the longest digit. If both are
/// reached, reading the limbs again for each group of rows costs more than buffering more rows.
const LONG_DIGITS: (usize, usize) = (1 << 21, 6);

/// The limits `ROWS` and `WAITING` for long digits.
const LONG_ROWS: (usize, usize) = (4, 192);

/// Largest number of terms that are buffered for one pass over the keys. If there are more terms, each pass
/// reads a part of the keys and reads the results again.
const TERMS: usize = 64;

/// Largest number of bytes of factors that tails prefetch: what a product reads before its own prefetching
/// takes effect. Prefetching more delays the tails by as much as it saves the product.
const AHEAD: usize = 1 << 16;

/// Words of heads from which on the heads are written past the caches, because heads, digits and factors
/// would evict one another.
const FAR_WORDS: usize = 1 << 19;

/// Vectors of each sixteenth of a row that are processed at a time: their limbs stay in the second-level
/// cache until the next row reads them.
const TILE: usize = 32;

/// The data that all tasks of a call share: its inputs and the digits prepared from them.
struct Task<'a> {
    engine: &'a CpuEngine,
    inputs: &'a [GadgetInput<'a>],
    digits: &'a [DigitExtension],
    prepared: PreparedTerms,
    by: FactorGroups<'a>,
}

/// The state of a row of a digit after the heads of the transforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The row is in Eval form already.
    Done,
    /// The head is done, the tails remain.
    Head,
    /// The row is the input's own row in Eval form and not yet scaled.
    Values,
}

impl<'a> Task<'a> {
    fn kernel(&self, row: usize) -> &'a dyn RowKernel {
        self.engine.tables[self.by.moduli[row]].kernel()
    }

    fn term(&self, term: usize) -> (&'a DigitExtension, GadgetInput<'a>) {
        (&self.digits[term / self.inputs.len()], self.inputs[term % self.inputs.len()])
    }

    /// The factor by which own row `row` of a digit is scaled.
    fn constant(&self, digit: &DigitExtension, row: usize) -> Multiplier {
        self.engine.moduli[self.by.moduli[row]].multiplier(digit.constants()[row - digit.own().start])
    }

    /// Computes the heads of one term for the rows from `first` on, into `outs`. With `far`, the outputs
    /// exceed the caches and are written past them.
    fn heads(&self, outs: &mut [&mut [u64]], first: usize, term: usize, far: bool) -> Vec<State> {
        let (digit, input) = self.term(term);
        let conversion = digit.conversion();
        let mut states = Vec::with_capacity(outs.len());
        let mut shared = Vec::with_capacity(outs.len());
        for (row, out) in (first..).zip(outs) {
            let kernel = self.kernel(row);
            let extended = |x: &mut [u64]| match digit.target(row) {
                Some(target) => {
                    kernel.combine(
                        x,
                        &self.prepared.columns(term),
                        &conversion.weights[target],
                        conversion.y_bits,
                    );
                    self.engine.count_conversion(conversion, 1);
                }
                None => {
                    kernel.quotient(x, input.coefficients.row(row), None, self.constant(digit, row), false);
                }
            };
            let limbs = digit.target(row).zip(conversion.limbs.as_ref());
            let limbs = limbs.and_then(|(target, (form, weights))| {
                let (split, limbs) = self.prepared.limbs(self.engine, term, self.by.moduli[row], form)?;
                Some((split, limbs, form, &weights[target]))
            });
            states.push(match (limbs, kernel.split()) {
                (Some((split, limbs, form, weights)), _) => {
                    shared.push((split, limbs, form, weights, out));
                    State::Head
                }
                _ if digit.target(row).is_none() && input.values.is_some() => State::Values,
                (None, Some(split)) => {
                    let mut x = self.engine.scratch(1);
                    extended(x.host_mut());
                    split.head(out, x.host());
                    State::Head
                }
                (None, None) => {
                    let out = &mut out[..self.engine.degree];
                    extended(out);
                    kernel.forward(out);
                    self.engine.count(Pass::Forward, 1);
                    State::Done
                }
            });
        }
        let vectors = self.engine.degree / (RADIX * VECTOR);
        for start in (0..vectors).step_by(TILE) {
            for (split, limbs, form, weights, out) in &mut shared {
                split.digit_head(out, limbs, form, start..(start + TILE).min(vectors), weights, None, far);
            }
        }
        self.engine.count_conversion(conversion, shared.len());
        states
    }

    /// The words from `start` on of row `row` of a term in Eval form: a part of `head` if the transform is
    /// complete, else computed in `block`.
    fn finish<'b>(
        &self,
        block: &'b mut [u64],
        head: &'b [u64],
        start: usize,
        row: usize,
        term: usize,
        state: State,
        near: bool,
        ahead: [Ahead<'_>; 2],
    ) -> &'b [u64] {
        let kernel = self.kernel(row);
        let (digit, input) = self.term(term);
        match (state, kernel.split(), input.values) {
            (State::Head, Some(split), _) => split.tail(block, head, start, near, ahead),
            (State::Values, _, Some(values)) => {
                kernel.quotient(
                    block,
                    &values.row(row)[start..start + block.len()],
                    None,
                    self.constant(digit, row),
                    false,
                );
            }
            _ => return &head[start..start + block.len()],
        }
        block
    }

    /// The factors that the block from `start` on of row `row` is multiplied by first, for `count` terms from
    /// `term` on.
    fn ahead(&self, row: usize, start: usize, term: usize, count: usize) -> Ahead<'_> {
        let Some(&group) = self.by.groups.first() else { return Ahead::default() };
        let Run { bytes, bits, stride, .. } = self.by.factors.run(self.by.rows[row], start, group, term);
        let run = count * self.by.factors.shape().columns * bits as usize;
        let vectors = self.by.factors.block().div_ceil(VECTOR);
        let all = if run == stride { self.by.groups.len() * vectors } else { vectors };
        Ahead { bytes, run, stride, runs: all.min(AHEAD / run) }
    }

    /// Computes the rows from `first` on; `outputs[row - first]` are that row's words of each result.
    fn rows(&self, outputs: &mut [Vec<&mut [u64]>], first: usize) {
        let (degree, columns, part) =
            (self.engine.degree, self.by.factors.shape().columns, self.by.factors.block());
        // Tails finish whole sixteenths of a row, which at the largest degree are longer than a block of the
        // factors.
        let block = part.max(degree / RADIX);
        let (terms, rows) = (self.inputs.len() * self.digits.len(), outputs.len());
        let together = terms.div_ceil(terms.div_ceil(TERMS).max(1)).max(1);
        // Scratch memory: the heads of all rows, term by term, then the blocks of one row.
        let head = head_words(degree).max(degree);
        let mut scratch = self.engine.scratch((together * (rows * head + block)).div_ceil(degree));
        let (heads, rest) = scratch.host_mut().split_at_mut(together * rows * head);
        let blocks = &mut rest[..together * block];
        for term in (0..terms).step_by(together) {
            let count = together.min(terms - term);
            let mut outs: Vec<&mut [u64]> = heads.chunks_exact_mut(head).take(count * rows).collect();
            let far = count * rows * head >= FAR_WORDS;
            let states: Vec<Vec<State>> = outs
                .chunks_mut(rows)
                .zip(term..)
                .map(|(outs, term)| self.heads(outs, first, term, far))
                .collect();
            for (index, outputs) in outputs.iter_mut().enumerate() {
                let (row, kernel) = (first + index, self.kernel(first + index));
                let first_tail = states.iter().position(|states| states[index] == State::Head);
                for start in (0..degree).step_by(block) {
                    let ahead = self.ahead(row, start, term, count);
                    // The words of heads that are read next: the next term's part of this block, or the first
                    // term's part of the next block. Heads that stay in the caches need no prefetching.
                    let next = |slot: usize| {
                        if !far {
                            return Ahead::default();
                        }
                        let (slot, start) =
                            if slot + 1 < count { (slot + 1, start) } else { (0, start + block) };
                        let words = outs[slot * rows + index]
                            .get(head_place(degree, start)..head_place(degree, start + block));
                        words.map_or(Ahead::default(), Ahead::words)
                    };
                    let slots = blocks
                        .chunks_exact_mut(block)
                        .zip(outs.iter().skip(index).step_by(rows))
                        .zip(&states);
                    let left: Vec<&[u64]> = slots
                        .enumerate()
                        .map(|(slot, ((block, head), states))| {
                            let near = Some(slot) != first_tail;
                            self.finish(
                                block,
                                head,
                                start,
                                row,
                                term + slot,
                                states[index],
                                near,
                                [ahead.part(slot, count), next(slot)],
                            )
                        })
                        .collect();
                    for inside in (0..block).step_by(part) {
                        let (start, left) = (
                            start + inside,
                            left.iter().map(|left| &left[inside..inside + part]).collect::<Vec<_>>(),
                        );
                        for (outputs, &group) in outputs.chunks_mut(columns).zip(self.by.groups) {
                            let mut targets: Vec<&mut [u64]> =
                                outputs.iter_mut().map(|row| &mut row[start..start + part]).collect();
                            kernel.dot_packed(
                                &mut targets,
                                &left,
                                self.by.factors.run(self.by.rows[row], start, group, term),
                                term > 0,
                            );
                        }
                    }
                }
                // Counted here for all blocks: the tails of this row, and its products.
                self.engine.count(
                    Pass::Forward,
                    states.iter().filter(|states| states[index] == State::Head).count(),
                );
                self.engine.count(Pass::Hadamard, outputs.len() * count);
            }
        }
    }
}

pub(super) fn products<'a>(
    engine: &CpuEngine,
    out: RowsMut<'_>,
    inputs: &'a [GadgetInput<'a>],
    digits: &'a [DigitExtension],
    by: FactorGroups<'_>,
) {
    let terms = inputs.len() * digits.len();
    by.check(&out, terms);
    assert!(digits.iter().all(|digit| digit.rows() == by.moduli.len()), "digits extend to all rows");
    let sources = digits.iter().flat_map(|digit| {
        let (conversion, first) = (digit.conversion(), digit.source());
        let residues =
            move |input: &GadgetInput<'a>| input.coefficients.slice(first..first + conversion.sources.len());
        inputs.iter().map(move |input| Term { conversion, residues: residues(input), limbs: true })
    });
    let prepared = PreparedTerms::new(engine, &sources.collect::<Vec<_>>());
    let task = Task { engine, inputs, digits, prepared, by };
    let mut by_row = rows_of_all(out.host(), by.moduli.len(), engine.degree);
    let limbs =
        |digit: &DigitExtension| digit.conversion().limbs.as_ref().map_or(0, |(form, _)| form.count());
    let words = inputs.len() * engine.degree * digits.iter().map(limbs).sum::<usize>();
    let long = words >= LONG_DIGITS.0 && digits.iter().map(limbs).max().unwrap_or(0) >= LONG_DIGITS.1;
    let (most, waiting) = if long { LONG_ROWS } else { (ROWS, WAITING) };
    let side_by_side = (waiting / terms.clamp(1, TERMS)).clamp(1, most);
    let mut tasks: Vec<&mut [Vec<&mut [u64]>]> = by_row.chunks_mut(side_by_side).collect();
    engine.each(&mut tasks, |index, outputs| task.rows(outputs, index * side_by_side));
}
