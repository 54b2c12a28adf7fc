//! Digits between the input of a switch and its fused pass: the left sides of their base conversions, computed once for all rows.

use super::{CONVERSION_BLOCK, CpuEngine};
use crate::buffer::Buffer;
use crate::conversion::BaseConversion;
use crate::engine::Engine;
use crate::extension::DigitExtension;
use crate::kernels::split::{RADIX, SplitTransform, VECTOR, digit_words};
use crate::limbs::LimbForm;

/// Words of a row that are prepared at once where sixteen rows are: what is written stays in the second-level cache.
const PIECE: usize = 128;

/// The left side of one digit's conversion, in the forms that the rows of this call read.
pub(super) struct PreparedDigit {
    /// In limbs, for transforms in two parts.
    limbs: Option<Buffer>,
    /// One row per column, for all others.
    columns: Option<Buffer>,
}

impl PreparedDigit {
    /// Prepares digit `digit` of `x` for rows of the given moduli.
    pub(super) fn new(engine: &CpuEngine, x: &Buffer, digit: &DigitExtension, moduli: &[usize]) -> Self {
        let conversion = digit.conversion();
        let form = conversion.limbs.as_ref().map(|(form, _)| form);
        let (mut split, mut other) = (None, false);
        for (_, &modulus) in moduli.iter().enumerate().filter(|&(row, _)| digit.target(row).is_some()) {
            match form.and_then(|form| Some((engine.split(modulus, form)?, form))) {
                Some(found) => split = Some(found),
                None => other = true,
            }
        }
        Self {
            limbs: split.map(|(split, form)| engine.interleave(split, form, conversion, x, digit.source())),
            columns: other.then(|| engine.prepare(conversion, x, digit.source())),
        }
    }

    /// What the transform of `modulus` in two parts reads; `None` where [`PreparedDigit::columns`] serves.
    pub(super) fn limbs<'a>(&'a self, engine: &'a CpuEngine, modulus: usize, form: &LimbForm) -> Option<(&'a dyn SplitTransform, &'a [u64])> {
        Some((engine.split(modulus, form)?, self.limbs.as_ref()?.host()))
    }

    /// One row per column.
    pub(super) fn columns(&self) -> Vec<&[u64]> {
        self.columns.iter().flat_map(|buffer| (0..buffer.rows()).map(|i| buffer.row(i))).collect()
    }
}

impl CpuEngine {
    /// The transform in two parts of `modulus`, where it takes digits of this form.
    fn split(&self, modulus: usize, form: &LimbForm) -> Option<&dyn SplitTransform> {
        self.tables[modulus].kernel().split().filter(|split| split.takes(form))
    }

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

    /// The same as integers in limbs, in the order of [`crate::kernels::split`].
    fn interleave(&self, split: &dyn SplitTransform, form: &LimbForm, conversion: &BaseConversion, x: &Buffer, first: usize) -> Buffer {
        let mut digit = self.scratch(digit_words(form, self.degree).div_ceil(self.degree));
        let stride = self.degree / RADIX;
        let piece = PIECE.min(stride);
        let mut fraction = vec![0f64; piece];
        let mut columns = vec![0; conversion.columns() * piece];
        for start in (0..stride).step_by(piece) {
            for row in 0..RADIX {
                let mut targets: Vec<&mut [u64]> = columns.chunks_exact_mut(piece).collect();
                self.prepare_block(conversion, x, first, row * stride + start, &mut targets, &mut fraction);
                let columns: Vec<&[u64]> = columns.chunks_exact(piece).collect();
                split.write_digit(digit.host_mut(), form, row, start / VECTOR, &columns);
            }
        }
        digit
    }
}
