//! Prepares the terms of a fused pass: computes the scaled sources `y_i` (and `z`) of their base conversions
//! once for all rows.

use std::ops::Range;

use super::CpuEngine;
use super::convert::CONVERSION_BLOCK;
use crate::buffer::{Buffer, Rows};
use crate::conversion::BaseConversion;
use crate::engine::Engine;
use crate::kernels::split::{RADIX, SplitTransform, VECTOR, digit_words};
use crate::limbs::LimbForm;

/// Words prepared at a time of each of the sixteen rows that a head combines: enough for the hardware
/// prefetcher to follow, few enough that the written limbs stay in the second-level cache.
const PIECE: usize = 512;

/// A base conversion to prepare: its sources are the rows of `residues` from 0 on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term<'a> {
    pub(super) conversion: &'a BaseConversion,
    pub(super) residues: Rows<'a>,
    /// Whether two-part transforms read the term in limbs.
    pub(super) limbs: bool,
}

/// The prepared terms of a call: each in limbs, in columns or in both, depending on what the transforms of
/// the result's rows read.
pub(super) struct PreparedTerms {
    /// Terms in limbs, one after another in one allocation, so that they lie in huge pages: the limbs are
    /// streamed once per row of the result, and the hardware prefetcher stops at the end of a page.
    limbs: Buffer,
    terms: Vec<PreparedTerm>,
}

struct PreparedTerm {
    /// The words of the term's limbs, if a two-part transform reads them.
    limbs: Option<Range<usize>>,
    /// One row per column, if another transform reads them.
    columns: Option<Buffer>,
}

impl PreparedTerms {
    /// Prepares all terms for the targets of their conversions.
    pub(super) fn new(engine: &CpuEngine, terms: &[Term<'_>]) -> Self {
        let mut end = 0;
        // Per term: a transform that reads limbs, if any, and whether any transform reads columns.
        let readers: Vec<(Option<&dyn SplitTransform>, bool)> =
            terms.iter().map(|term| engine.readers(term)).collect();
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
        let terms = tasks
            .into_iter()
            .zip(places)
            .map(|((_, columns), limbs)| PreparedTerm { limbs, columns })
            .collect();
        Self { limbs, terms }
    }

    /// The two-part transform of `modulus` and the limbs of a term that it reads; `None` if this modulus
    /// reads [`PreparedTerms::columns`].
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
    /// The two-part transform of `modulus`, if it accepts digits of this form.
    fn split(&self, modulus: usize, form: &LimbForm) -> Option<&dyn SplitTransform> {
        self.tables[modulus].kernel().split().filter(|split| split.takes(form))
    }

    /// A two-part transform of one of the targets that reads the term in limbs, if any, and whether other
    /// targets read its columns.
    fn readers(&self, term: &Term<'_>) -> (Option<&dyn SplitTransform>, bool) {
        let form = term.conversion.limbs.as_ref().map(|(form, _)| form).filter(|_| term.limbs);
        let splits: Vec<_> = term
            .conversion
            .targets
            .iter()
            .map(|&modulus| form.and_then(|form| self.split(modulus, form)))
            .collect();
        (splits.iter().copied().flatten().next(), splits.iter().any(Option::is_none))
    }

    /// The columns of a base conversion for all coefficients, one row each: the scaled sources `y_i`, then
    /// `z` if centred.
    pub(super) fn prepare(&self, conversion: &BaseConversion, x: Rows<'_>) -> Buffer {
        let mut scaled = self.scratch(conversion.columns());
        let block = CONVERSION_BLOCK.min(self.degree);
        let mut fraction = vec![0f64; block];
        let mut rows: Vec<&mut [u64]> = scaled.host_mut().chunks_exact_mut(self.degree).collect();
        for start in (0..self.degree).step_by(block) {
            let mut columns: Vec<&mut [u64]> =
                rows.iter_mut().map(|row| &mut row[start..start + block]).collect();
            self.prepare_block(conversion, x, start, &mut columns, &mut fraction);
        }
        scaled
    }

    /// The integers that the columns represent, in limbs, in the order of [`crate::kernels::split`].
    fn interleave(
        &self,
        digit: &mut [u64],
        split: &dyn SplitTransform,
        form: &LimbForm,
        conversion: &BaseConversion,
        x: Rows<'_>,
    ) {
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
