//! Digits between the input of a switch and its fused pass: the left sides of their base conversions, computed once for all rows.

use super::{CONVERSION_BLOCK, CpuEngine};
use crate::buffer::Buffer;
use crate::conversion::{BaseConversion, Rounding};
use crate::engine::Engine;
use crate::extension::DigitExtension;
use crate::kernels::split::{DigitShape, RADIX, SplitTransform, VECTOR};

/// Words of a row that are prepared at once where sixteen rows are: what is written stays in the second-level cache.
const PIECE: usize = 128;

/// The left side of one digit's conversion, in the forms that the rows of this call read.
pub(super) struct PreparedDigit {
    shape: DigitShape,
    /// For transforms in two parts.
    interleaved: Option<Buffer>,
    /// One row per column, for all others.
    columns: Option<Buffer>,
}

impl PreparedDigit {
    /// Prepares digit `digit` of `x` for rows of the given moduli.
    pub(super) fn new(engine: &CpuEngine, x: &Buffer, digit: &DigitExtension, moduli: &[usize]) -> Self {
        let conversion = digit.conversion();
        let shape = DigitShape {
            sources: conversion.sources.len(),
            centred: conversion.rounding == Rounding::Centred,
            bits: conversion.y_bits,
            modulus: engine.moduli[conversion.sources[0]].value(),
        };
        let targets = (0..moduli.len()).filter(|&row| digit.target(row).is_some());
        let (split, other): (Vec<_>, Vec<_>) = targets.map(|row| engine.split(moduli[row], &shape)).partition(Option::is_some);
        Self {
            shape,
            interleaved: split.first().copied().flatten().map(|split| engine.interleave(split, &shape, conversion, x, digit.source())),
            columns: (!other.is_empty()).then(|| engine.prepare(conversion, x, digit.source())),
        }
    }

    /// What the transform of `modulus` in two parts reads; `None` where [`PreparedDigit::columns`] serves.
    pub(super) fn interleaved<'a>(&'a self, engine: &'a CpuEngine, modulus: usize) -> Option<(&'a dyn SplitTransform, &'a DigitShape, &'a [u64])> {
        let digit = self.interleaved.as_ref()?;
        Some((engine.split(modulus, &self.shape)?, &self.shape, digit.host()))
    }

    /// One row per column.
    pub(super) fn columns(&self) -> Vec<&[u64]> {
        self.columns.iter().flat_map(|buffer| (0..buffer.rows()).map(|i| buffer.row(i))).collect()
    }
}

impl CpuEngine {
    /// The transform in two parts of `modulus`, where it takes digits of this shape.
    fn split(&self, modulus: usize, shape: &DigitShape) -> Option<&dyn SplitTransform> {
        self.tables[modulus].kernel().split().filter(|split| split.takes(shape))
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

    /// The same in the order of [`crate::kernels::split`].
    fn interleave(&self, split: &dyn SplitTransform, shape: &DigitShape, conversion: &BaseConversion, x: &Buffer, first: usize) -> Buffer {
        let mut digit = self.scratch(shape.words(self.degree).div_ceil(self.degree));
        let stride = self.degree / RADIX;
        let piece = PIECE.min(stride);
        let mut fraction = vec![0f64; piece];
        let mut columns = vec![0; conversion.columns() * piece];
        for start in (0..stride).step_by(piece) {
            for row in 0..RADIX {
                let mut targets: Vec<&mut [u64]> = columns.chunks_exact_mut(piece).collect();
                self.prepare_block(conversion, x, first, row * stride + start, &mut targets, &mut fraction);
                let columns: Vec<&[u64]> = columns.chunks_exact(piece).collect();
                split.write_digit(digit.host_mut(), shape, row, start / VECTOR, &columns);
            }
        }
        digit
    }
}
