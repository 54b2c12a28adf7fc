//! A transform in two parts, for work that streams: a head over the whole row, which may begin with a digit's extension, then
//! tails of independent blocks, each finished while it stays in the first-level cache.
//!
//! # A digit's columns
//! A head of radix 16 meets the words `i, i + n/16, .., i + 15 n/16` at once. So the left side of a digit's base conversion is
//! stored in the order in which it is read, one stream, and packed to whole bytes, as every modulus reads it again:
//!
//! ```text
//! vector i of n/16 words > half of the sixteen rows > source > row of the half (8) > 8 residues
//!                                                   > z of the 8 rows, one byte each
//! ```
//!
//! A digit of one prime needs no matrix: `y - z q` is stored as the single word `y + (1 - z) q`.

use std::fmt::Debug;
use std::ops::Range;

use crate::modulus::Multiplier;

/// Rows that a head combines at once.
pub const RADIX: usize = 16;

/// Words per vector.
pub const VECTOR: usize = 8;

/// Rows per half.
pub const HALF: usize = RADIX / 2;

/// What a digit's columns hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigitShape {
    /// Source moduli.
    pub sources: usize,
    /// Whether `z` is there.
    pub centred: bool,
    /// Every source residue is below `1 << bits`.
    pub bits: u32,
    /// The modulus of a digit of one prime.
    pub modulus: u64,
}

impl DigitShape {
    /// Whether it is stored as one word, offset and all.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.sources == 1
    }

    /// Bytes per stored residue.
    #[must_use]
    pub fn width(&self) -> usize {
        (self.bits + u32::from(self.is_single() && self.centred)).div_ceil(8) as usize
    }

    /// Whether bytes of `z` follow the sources.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        self.centred && !self.is_single()
    }

    /// Words of one half of one vector. Eight residues of `width` bytes are `width` words.
    #[must_use]
    pub fn half_words(&self) -> usize {
        HALF * (self.sources * self.width() + usize::from(self.has_counts()))
    }

    /// Words of a digit of a polynomial of `degree`, with those that a read of the last vector may touch beyond.
    #[must_use]
    pub fn words(&self, degree: usize) -> usize {
        degree / (RADIX * VECTOR) * 2 * self.half_words() + VECTOR
    }

    /// First word of source `source` (or of the bytes of `z`, as one more) for vector `i` of row `row`.
    #[must_use]
    pub fn place(&self, i: usize, row: usize, source: usize) -> usize {
        let inside = if source < self.sources { (source * HALF + row % HALF) * self.width() } else { self.sources * HALF * self.width() + row % HALF };
        (2 * i + row / HALF) * self.half_words() + inside
    }
}

/// The forward transform of one modulus and degree in two parts; [`super::RowKernel::split`].
///
/// Between head and tails, words are the kernel's own lazy form.
pub trait SplitTransform: Send + Sync + Debug {
    /// Whether [`SplitTransform::digit_head`] takes digits of this shape.
    fn takes(&self, shape: &DigitShape) -> bool;

    /// Writes `columns` (the sources, then `z` if centred), which are the words from `8 * i` on of row `row` of the sixteen, to
    /// their places in `digit`.
    fn write_digit(&self, digit: &mut [u64], shape: &DigitShape, row: usize, i: usize, columns: &[&[u64]]);

    /// The head of a digit's extension to this modulus, for the vectors in `vectors` of each of the sixteen rows: as
    /// [`super::RowKernel::combine`] with `weights`, then [`SplitTransform::head`].
    fn digit_head(&self, x: &mut [u64], digit: &[u64], shape: &DigitShape, vectors: Range<usize>, weights: &[Multiplier]);

    /// The head of a row of reduced residues.
    fn head(&self, x: &mut [u64]);

    /// What remains of the transform for the words `x`, the first of which is word `start` of the row; both are multiples of a
    /// sixteenth of the degree. The result is that of [`super::RowKernel::forward`].
    fn tail(&self, x: &mut [u64], start: usize);
}
