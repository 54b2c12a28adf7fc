//! A transform in two parts, for work that streams: a head over the whole row, which may begin with a digit's extension, then
//! tails of independent blocks, each finished while it stays in the first-level cache.
//!
//! # A digit's limbs
//! A head of radix 16 meets the words `i, i + n/16, .., i + 15 n/16` at once. So a digit, in limbs ([`crate::limbs`]), is stored in
//! the order in which it is read, one stream, and packed to whole bytes, as every modulus reads it again:
//!
//! ```text
//! vector i of n/16 words > half of the sixteen rows > limb > row of the half (8) > 8 words of 6 bytes; the highest limb, as needed
//! ```

use std::fmt::Debug;
use std::ops::Range;

use crate::limbs::{LIMB_BYTES, LimbForm, LimbWeights};

/// Rows that a head combines at once.
pub const RADIX: usize = 16;

/// Words per vector.
pub const VECTOR: usize = 8;

/// Rows per half.
pub const HALF: usize = RADIX / 2;

/// Words from one of the sixteen rows that a head writes to the next. With a power of two, all rows would map to one set of the first-level cache, which has
/// fewer than sixteen ways.
#[must_use]
pub fn head_stride(degree: usize) -> usize {
    degree / RADIX + if degree >= PADDED_DEGREE { VECTOR } else { 0 }
}

/// The degrees from which on the rows are 4 KiB apart.
const PADDED_DEGREE: usize = RADIX * 512;

/// Words that a head writes.
#[must_use]
pub fn head_words(degree: usize) -> usize {
    RADIX * head_stride(degree)
}

/// The index at which a head writes the words from `start` on; `start` is a multiple of a sixteenth of the degree.
#[must_use]
pub fn head_place(degree: usize, start: usize) -> usize {
    start * RADIX / degree * head_stride(degree)
}

/// Words of one half of one vector: eight words of some bytes each are as many words.
#[must_use]
pub fn half_words(form: &LimbForm) -> usize {
    HALF * ((form.count() - 1) * LIMB_BYTES + form.top_bytes())
}

/// Words of a digit of a polynomial of `degree`, with those that a read of the last vector may touch beyond.
#[must_use]
pub fn digit_words(form: &LimbForm, degree: usize) -> usize {
    degree / (RADIX * VECTOR) * 2 * half_words(form) + VECTOR
}

/// Bytes that will be read soon, in runs some bytes apart, as packed factors of some of their terms are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ahead<'a> {
    /// The bytes, from the first run on.
    pub bytes: &'a [u8],
    /// Bytes per run.
    pub run: usize,
    /// Bytes from one run to the next.
    pub stride: usize,
    /// Number of runs.
    pub runs: usize,
}

impl<'a> Ahead<'a> {
    /// One run of words.
    #[must_use]
    pub fn words(words: &'a [u64]) -> Self {
        let bytes = bytemuck::cast_slice(words);
        Self { bytes, run: bytes.len(), stride: bytes.len(), runs: 1 }
    }

    /// The runs of part `part` of `parts`.
    #[must_use]
    pub fn part(self, part: usize, parts: usize) -> Self {
        let (first, end) = (self.runs * part / parts, self.runs * (part + 1) / parts);
        Self { bytes: &self.bytes[(first * self.stride).min(self.bytes.len())..], runs: end - first, ..self }
    }
}

/// The forward transform of one modulus and degree in two parts; [`super::RowKernel::split`].
///
/// Between head and tails, words are the kernel's own lazy form, sixteen rows [`head_stride`] apart.
pub trait SplitTransform: Send + Sync + Debug {
    /// Whether [`SplitTransform::digit_head`] takes digits of this form.
    fn takes(&self, form: &LimbForm) -> bool;

    /// Writes the integers of `columns` (the sources `y_i`, then `z` if centred), which are the words from `8 * i` on of row `row`
    /// of the sixteen, to their places in `digit`.
    fn write_digit(&self, digit: &mut [u64], form: &LimbForm, row: usize, i: usize, columns: &[&[u64]]);

    /// The head of a digit's extension to this modulus, for the vectors in `vectors` of each of the sixteen rows: its residues, less those
    /// of the row `less`, if any, then [`SplitTransform::head`]. If it is `far`, writes bypass the caches where the kernel can.
    fn digit_head(
        &self,
        out: &mut [u64],
        digit: &[u64],
        form: &LimbForm,
        vectors: Range<usize>,
        weights: &LimbWeights,
        less: Option<&[u64]>,
        far: bool,
    );

    /// The head of a row `x` of reduced residues.
    fn head(&self, out: &mut [u64], x: &[u64]);

    /// What remains of the transform for the words of `out`, the first of which is word `start` of the row; both are multiples of a
    /// sixteenth of the degree. `x` is what the head wrote. The result is that of [`super::RowKernel::forward`].
    ///
    /// Prefetches `ahead` while computing, because the transform leaves memory bandwidth unused. The block's factors are prefetched too, unless they are
    /// `near`, that is, in the cache because another tail of the same block was computed just before.
    fn tail(&self, out: &mut [u64], x: &[u64], start: usize, near: bool, ahead: [Ahead<'_>; 2]);
}
