//! Prepares the terms of a fused pass: computes the left sides of their base conversions once for all rows.

use std::ops::Range;

use super::CpuEngine;
use super::convert::CONVERSION_BLOCK;
use crate::buffer::{Buffer, Rows};
use crate::conversion::BaseConversion;
use crate::engine::Engine;
use crate::kernels::split::{RADIX, SplitTransform, VECTOR, digit_words};
use crate::limbs::LimbForm;

/// Words of a row that are prepared at once where sixteen rows are: long enough to be fetched as streams, short enough that
/// what is written stays in the second-level cache.
const PIECE: usize = 512;

/// What is converted: the conversion's sources are the rows of `residues` from 0 on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term<'a> {
    pub(super) conversion: &'a BaseConversion,
    pub(super) residues: Rows<'a>,
    /// Whether two-part transforms read the term in limbs.
    pub(super) limbs: bool,
}

/// The left sides of all conversions of a call, term by term, in the forms that its rows read.
pub(super) struct PreparedTerms {
    /// Terms in limbs, one after another: memory of one piece lies in huge pages, and what is read once per row comes as fast as
    /// the processor's own fetching, which stops at a page's end, allows.
    limbs: Buffer,
    terms: Vec<PreparedTerm>,
}

struct PreparedTerm {
    /// Where the term's limbs are, for two-part transforms.
    limbs: Option<Range<usize>>,
    /// One row per column, for all others.
    columns: Option<Buffer>,
}

impl PreparedTerms {
    /// Prepares all terms for the targets of their conversions.
    pub(super) fn new(engine: &CpuEngine, terms: &[Term<'_>]) -> Self {
        let mut end = 0;
        // Per term: who reads it in limbs, and whether anyone reads columns.
        let readers: Vec<(Option<&dyn SplitTransform>, bool)> = terms.iter().map(|term| engine.readers(term)).collect();
        let places: Vec<Option<Range<usize>>> = readers
            .iter()
            .zip(terms)
            .map(|((split, _), term)| {
                let (form, _) = term.conversion.limbs.as_ref().filter(|_| split.is_some())?;
                let place = end..end + digit_words(form, engine.degree).next_multiple_of(VECTOR);
                end = place.end;
                Some(place)
            })
            .collect();
        let mut limbs = engine.scratch(end.div_ceil(engine.degree));
        let mut rest = limbs.host_mut();
        let mut tasks: Vec<(&mut [u64], Option<Buffer>)> = Vec::with_capacity(places.len());
        for place in &places {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(place.as_ref().map_or(0, Range::len));
            tasks.push((own, None));
            rest = others;
        }
        engine.each(&mut tasks, |index, (words, columns)| {
            let (Term { conversion, residues, .. }, (split, other)) = (terms[index], readers[index]);
            if let (Some(split), Some((form, _))) = (split, &conversion.limbs) {
                engine.interleave(words, split, form, conversion, residues);
            }
            *columns = other.then(|| engine.prepare(conversion, residues));
        });
        let terms = tasks.into_iter().zip(places).map(|((_, columns), limbs)| PreparedTerm { limbs, columns }).collect();
        Self { limbs, terms }
    }

    /// What the transform of `modulus` in two parts reads of a term; `None` where [`PreparedTerms::columns`] serves.
    pub(super) fn limbs<'a>(
        &'a self,
        engine: &'a CpuEngine,
        term: usize,
        modulus: usize,
        form: &LimbForm,
    ) -> Option<(&'a dyn SplitTransform, &'a [u64])> {
        Some((engine.split(modulus, form)?, &self.limbs.host()[self.terms[term].limbs.clone()?]))
    }

    /// A term's columns, one row each.
    pub(super) fn columns(&self, term: usize) -> Vec<&[u64]> {
        self.terms[term].columns.iter().flat_map(|buffer| (0..buffer.rows()).map(|i| buffer.row(i))).collect()
    }
}

impl CpuEngine {
    /// The transform in two parts of `modulus`, where it takes digits of this form.
    fn split(&self, modulus: usize, form: &LimbForm) -> Option<&dyn SplitTransform> {
        self.tables[modulus].kernel().split().filter(|split| split.takes(form))
    }

    /// A transform that reads a term in limbs, if one of the targets has it, and whether others read its columns.
    fn readers(&self, term: &Term<'_>) -> (Option<&dyn SplitTransform>, bool) {
        let form = term.conversion.limbs.as_ref().map(|(form, _)| form).filter(|_| term.limbs);
        let splits: Vec<_> = term.conversion.targets.iter().map(|&modulus| form.and_then(|form| self.split(modulus, form))).collect();
        (splits.iter().copied().flatten().next(), splits.iter().any(Option::is_none))
    }

    /// The left side of a base conversion for all coefficients: one row per column of its matrix.
    pub(super) fn prepare(&self, conversion: &BaseConversion, x: Rows<'_>) -> Buffer {
        let mut scaled = self.scratch(conversion.columns());
        let block = CONVERSION_BLOCK.min(self.degree);
        let mut fraction = vec![0f64; block];
        let mut rows: Vec<&mut [u64]> = scaled.host_mut().chunks_exact_mut(self.degree).collect();
        for start in (0..self.degree).step_by(block) {
            let mut columns: Vec<&mut [u64]> = rows.iter_mut().map(|row| &mut row[start..start + block]).collect();
            self.prepare_block(conversion, x, start, &mut columns, &mut fraction);
        }
        scaled
    }

    /// The same as integers in limbs, in the order of [`crate::kernels::split`].
    fn interleave(&self, digit: &mut [u64], split: &dyn SplitTransform, form: &LimbForm, conversion: &BaseConversion, x: Rows<'_>) {
        let stride = self.degree / RADIX;
        let piece = PIECE.min(stride);
        let mut fraction = vec![0f64; piece];
        let mut columns = vec![0; conversion.columns() * piece];
        for start in (0..stride).step_by(piece) {
            for row in 0..RADIX {
                let mut targets: Vec<&mut [u64]> = columns.chunks_exact_mut(piece).collect();
                self.prepare_block(conversion, x, row * stride + start, &mut targets, &mut fraction);
                let columns: Vec<&[u64]> = columns.chunks_exact(piece).collect();
                split.write_digit(digit, form, row, start / VECTOR, &columns);
            }
        }
    }
}
