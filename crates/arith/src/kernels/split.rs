//! The forward transform in two parts, for rows that stream through the caches: a head of four stages over
//! the complete row, which can include a digit's base extension, then tails on independent blocks, each
//! computed in the first-level cache.
//!
//! # A digit's limbs
//! A head of radix 16 combines the words `i, i + n/16, .., i + 15 n/16`. A digit, in limbs
//! ([`crate::limbs`]), is therefore stored in the order in which the head reads it, as one sequential stream.
//! It is packed to whole bytes, because it is read again for every modulus. The indices, outermost first:
//!
//! ```text
//! vector i of n/16 words > half of the sixteen rows > limb > row of the half (8) > 8 words of 6 bytes (of the highest limb: of the bytes it needs)
//! ```

use std::fmt::Debug;
use std::ops::Range;

use crate::limbs::{LIMB_BYTES, LimbForm, LimbWeights};

/// Rows that a head combines.
pub const RADIX: usize = 16;

/// Words per vector.
pub const VECTOR: usize = 8;

/// Rows per half.
pub const HALF: usize = RADIX / 2;

/// Distance in words between the sixteen rows that a head writes. At a power of two, all rows would map to
/// one set of the first-level cache, which has fewer than sixteen ways.
#[must_use]
pub fn head_stride(degree: usize) -> usize {
    degree / RADIX + if degree >= PADDED_DEGREE { VECTOR } else { 0 }
}

/// Smallest degree at which rows without padding are a multiple of 4 KiB apart.
const PADDED_DEGREE: usize = RADIX * 512;

/// Words that a head writes, padding included.
#[must_use]
pub fn head_words(degree: usize) -> usize {
    RADIX * head_stride(degree)
}

/// The index at which a head writes the words from `start` of the row on; `start` is a multiple of a
/// sixteenth of the degree.
#[must_use]
pub fn head_place(degree: usize, start: usize) -> usize {
    start * RADIX / degree * head_stride(degree)
}

/// Words of one half (eight rows) of one vector of a digit: eight packed words of `b` bytes each take `b`
/// words.
#[must_use]
pub fn half_words(form: &LimbForm) -> usize {
    HALF * ((form.count() - 1) * LIMB_BYTES + form.top_bytes())
}

/// Words of a digit of a polynomial of `degree`, including those beyond its end that a load of the last
/// vector may read.
#[must_use]
pub fn digit_words(form: &LimbForm, degree: usize) -> usize {
    degree / (RADIX * VECTOR) * 2 * half_words(form) + VECTOR
}

/// Bytes to prefetch, because they will be read soon: runs of equal length at equal distances, such as the
/// packed factors of some terms.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ahead<'a> {
    /// The bytes, beginning with the first run.
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

    /// Part number `part` of the runs, divided into `parts` nearly equal parts.
    #[must_use]
    pub fn part(self, part: usize, parts: usize) -> Self {
        let (first, end) = (self.runs * part / parts, self.runs * (part + 1) / parts);
        Self { bytes: &self.bytes[(first * self.stride).min(self.bytes.len())..], runs: end - first, ..self }
    }
}

/// The forward transform of one modulus and degree in two parts; [`super::RowKernel::split`].
///
/// Between head and tails, the words are in sixteen rows [`head_stride`] apart, lazily reduced with a range
/// that depends on the kernel.
pub trait SplitTransform: Send + Sync + Debug {
    /// Whether [`SplitTransform::digit_head`] accepts digits of this form.
    fn takes(&self, form: &LimbForm) -> bool;

    /// Computes integers from `columns` (the sources `y_i`, then `z` if centred) and writes their limbs to
    /// `digit`. The columns hold the words from `8 * i` on of row `row` of the sixteen.
    fn write_digit(&self, digit: &mut [u64], form: &LimbForm, row: usize, i: usize, columns: &[&[u64]]);

    /// The head of a digit's extension to this modulus, for the vectors in `vectors` of each of the sixteen
    /// rows: computes the digit's residues, subtracts the row `less`, if given, then does
    /// [`SplitTransform::head`]. With `far`, the kernel may write with non-temporal stores, which bypass the
    /// caches.
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

    /// The remaining stages of the transform for the words of `out`, the first of which is word `start` of
    /// the row; `start` and the length of `out` are multiples of a sixteenth of the degree. `x` is the output
    /// of the head. The result is that of [`super::RowKernel::forward`].
    ///
    /// Prefetches `ahead` while computing, because the transform leaves memory bandwidth unused. The block's
    /// factors are prefetched too, unless they are `near`, that is, in the cache because another tail of the
    /// same block was computed just before.
    fn tail(&self, out: &mut [u64], x: &[u64], start: usize, near: bool, ahead: [Ahead<'_>; 2]);
}
