//! The forward transform in two parts, and a digit's extension as the first step of its head.
//!
//! # Ranges
//! A digit's value modulo `q` is a sum of `y_j w_j` and of `z [-D]`. With `w'_j = floor(w_j 2^52 / q)` and `y_j < 2^52`,
//! `y_j w_j - floor(y_j w'_j / 2^52) q` lies in `[0, 2q)` ([`super::ntt`]), so `sum_j y_j w_j - (sum_j floor(y_j w'_j / 2^52)) q`
//! over `t` columns lies in `[0, 2 t q)`: two multiplier instructions a column and one at the end, no reduction. Where that bound is
//! `B`, a transform of `L` stages that starts from it stays below `B + 4 L q`, by the proof there. Thus
//! - **roomy**: `B + 4 L q <= 2^52`, the sum is taken as it is, junk above bit 52 and all;
//! - **narrow**: `B <= 2^52`, and one more reduction to `[0, 2q)` comes before the offset of the first stage, as
//!   `(4 L + 2) q <= 2^52`;
//! - **wide**: `B <= 2^52`, and the sum is reduced to `[0, q)`, exact.
//!
//! Up to seven sources, `z < 8` picks its product `[0, 2q)` from a register. A digit of one prime `q_s` is stored as
//! `u = y + (1 - z) q_s < 2^(bits + 1)`; its value is `u + [-q_s]`, below `2^(bits + 1) + q`.

use std::arch::x86_64::*;
use std::ops::Range;

use super::inner::{INNER, INNER_TABLE, forward_inner};
use super::lanes::{Constants, FACTOR_BITS, LANES, Lanes, add, load, multiply_high, multiply_low, splat, store};
use super::ntt::Transform;
use super::passes::forward_stage;
use crate::kernels::split::{DigitShape, HALF, RADIX, SplitTransform};
use crate::modulus::Multiplier;

/// Stages of a head.
pub const HEAD_STAGES: u32 = 4;

/// The smallest degree with a split: the innermost blocks come in pairs.
pub const MIN_DEGREE: usize = 2 * INNER * RADIX;

/// Most sources whose `z` picks its product from a register.
const TABLE_SOURCES: usize = LANES - 1;

/// How a digit's sum enters the transform; see the module's proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Roomy,
    Narrow,
    Wide,
}

const ROOMY: usize = 0;
const NARROW: usize = 1;
const WIDE: usize = 2;

/// Packed residues, eight at a time.
#[derive(Clone, Copy)]
struct Unpacker {
    order: Lanes,
    mask: __mmask64,
}

impl Unpacker {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    fn new(width: usize) -> Self {
        let mut order = [0u8; 64];
        let mut mask = 0;
        for lane in 0..LANES {
            for byte in 0..width.min(8) {
                order[8 * lane + byte] = (lane * width + byte) as u8;
                mask |= 1 << (8 * lane + byte);
            }
        }
        // SAFETY: 64 bytes.
        Self { order: unsafe { _mm512_loadu_si512(order.as_ptr().cast()) }, mask }
    }

    /// # Safety
    /// `source` is valid for reading eight words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn load(&self, source: *const u64) -> Lanes {
        // SAFETY: the caller's.
        _mm512_maskz_permutexvar_epi8(self.mask, self.order, unsafe { load(source) })
    }
}

/// How one modulus reads a digit's columns.
struct Columns<'a> {
    unpacker: Unpacker,
    /// Words per packed vector.
    width: usize,
    weights: &'a [Multiplier],
    /// The weight of `z` and its quotient, where `z` is multiplied.
    count_weight: Option<[u64; 2]>,
    /// Else the products of `z = 0, .., 7`.
    products: Option<Lanes>,
    /// What a digit of one prime gets added.
    constant: Lanes,
}

/// The multiplier's operands of one weight.
fn operands(weight: &Multiplier) -> [u64; 2] {
    // floor(floor(w 2^64 / q) / 2^12) = floor(w 2^52 / q).
    [weight.value, weight.quotient >> (64 - FACTOR_BITS)]
}

impl<'a> Columns<'a> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    fn new(c: &Constants, shape: &DigitShape, weights: &'a [Multiplier]) -> Self {
        let (weights, counts) = weights.split_at(shape.sources);
        let count_weight = counts.first().map(operands);
        let products = count_weight.filter(|_| shape.sources <= TABLE_SOURCES).map(|[w, quotient]| {
            c.mul_lazy(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), splat(w), splat(quotient))
        });
        Self {
            unpacker: Unpacker::new(shape.width()),
            width: shape.width(),
            weights,
            count_weight: if products.is_some() { None } else { count_weight },
            products,
            constant: splat(count_weight.map_or(0, |[w, _]| w)),
        }
    }

    /// The sums of eight vectors on top of `start`, with junk.
    ///
    /// # Safety
    /// `digit` is one half of a vector's columns.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn sum(&self, c: &Constants, digit: *const u64, start: Lanes) -> [Lanes; HALF] {
        let (mut low, mut high) = ([start; HALF], [c.zero; HALF]);
        let mut column = digit;
        for weight in self.weights {
            let [w, quotient] = operands(weight);
            let (w, quotient) = (splat(w), splat(quotient));
            for k in 0..HALF {
                // SAFETY: the caller's.
                let y = unsafe { self.unpacker.load(column.add(k * self.width)) };
                low[k] = multiply_low(low[k], y, w);
                high[k] = multiply_high(high[k], y, quotient);
            }
            column = column.wrapping_add(HALF * self.width);
        }
        // SAFETY: the caller's.
        let counts = |k: usize| unsafe { _mm512_cvtepu8_epi64(_mm_loadl_epi64(column.add(k).cast())) };
        if let Some(products) = self.products {
            for k in 0..HALF {
                low[k] = add(low[k], _mm512_permutexvar_epi64(counts(k), products));
            }
        } else if let Some([w, quotient]) = self.count_weight {
            for k in 0..HALF {
                low[k] = multiply_low(low[k], counts(k), splat(w));
                high[k] = multiply_high(high[k], counts(k), splat(quotient));
            }
        }
        for k in 0..HALF {
            low[k] = multiply_low(low[k], high[k], c.negative_q);
        }
        low
    }
}

impl Transform {
    /// Whether the degree is large enough.
    pub fn has_split(&self) -> bool {
        !self.split.is_empty()
    }

    fn bound(&self, shape: &DigitShape) -> u128 {
        let q = u128::from(self.words.q);
        if shape.is_single() {
            (1 << (shape.bits + u32::from(shape.centred))) + q
        } else {
            2 * q * (shape.sources + usize::from(shape.centred)) as u128
        }
    }

    fn entry(&self, shape: &DigitShape) -> Entry {
        let room = (1u128 << FACTOR_BITS) - u128::from(4 * self.degree.trailing_zeros()) * u128::from(self.words.q);
        match self.narrow {
            false => Entry::Wide,
            true if self.bound(shape) <= room => Entry::Roomy,
            true => Entry::Narrow,
        }
    }

    /// [`SplitTransform::digit_head`].
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, BW, VL, IFMA and VBMI; `x` is a row, `digit` one of this shape and the row's degree, `vectors` below
    /// a sixteenth of it, `weights` one per column.
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn extend<const ENTRY: usize, const SINGLE: bool>(
        &self,
        x: *mut u64,
        digit: *const u64,
        shape: &DigitShape,
        vectors: Range<usize>,
        weights: &[Multiplier],
    ) {
        let c = Constants::new(&self.words);
        let (width, half_words, stride) = (shape.width(), shape.half_words(), self.degree / RADIX);
        let offset = splat(2 * self.words.q * u64::from(self.degree.trailing_zeros()));
        let table = self.forward[self.split[0].twiddles..].as_ptr();
        let columns = Columns::new(&c, shape, weights);
        for i in vectors {
            // SAFETY: within the digit and the row; the table has the head's factors.
            unsafe {
                let digit = digit.add(2 * i * half_words);
                let mut v = [c.zero; RADIX];
                if SINGLE {
                    let constant = [add(columns.constant, if ENTRY == ROOMY { offset } else { c.zero }), columns.constant];
                    for k in 0..RADIX {
                        v[k] = add(columns.unpacker.load(digit.add(k * width)), constant[k / HALF]);
                    }
                } else {
                    let first = columns.sum(&c, digit, if ENTRY == ROOMY { offset } else { c.zero });
                    for k in 0..HALF {
                        v[k] = first[k];
                    }
                    let second = columns.sum(&c, digit.add(half_words), c.zero);
                    for k in 0..HALF {
                        v[HALF + k] = second[k];
                    }
                }
                // The second half meets a multiplication first, which takes all words.
                for k in 0..HALF {
                    if ENTRY == NARROW {
                        v[k] = add(c.reduce_junk(v[k]), offset);
                    } else if ENTRY == WIDE {
                        v[k] = c.reduce(v[k]);
                    }
                }
                // Written out, so that the words stay in registers.
                if ENTRY == WIDE {
                    forward_stage::<0, RADIX, true>(&c, &mut v, table);
                    forward_stage::<1, RADIX, true>(&c, &mut v, table);
                    forward_stage::<2, RADIX, true>(&c, &mut v, table);
                    forward_stage::<3, RADIX, true>(&c, &mut v, table);
                } else {
                    forward_stage::<0, RADIX, false>(&c, &mut v, table);
                    forward_stage::<1, RADIX, false>(&c, &mut v, table);
                    forward_stage::<2, RADIX, false>(&c, &mut v, table);
                    forward_stage::<3, RADIX, false>(&c, &mut v, table);
                }
                for k in 0..RADIX {
                    store(x.add(i * LANES + k * stride), v[k]);
                }
            }
        }
    }

    /// [`SplitTransform::write_digit`].
    ///
    /// # Safety
    /// As [`Transform::extend`]; `columns` are whole vectors, and inside the row of a sixteenth of the degree.
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn pack(digit: &mut [u64], shape: &DigitShape, row: usize, i: usize, columns: &[&[u64]]) {
        let width = shape.width();
        let mut order = [0u8; 64];
        for byte in 0..LANES * width {
            order[byte] = (byte / width * 8 + byte % width) as u8;
        }
        // SAFETY: 64 bytes.
        let order = unsafe { _mm512_loadu_si512(order.as_ptr().cast()) };
        let words = _cvtu32_mask8((1u32 << width) - 1);
        let source = splat(shape.modulus);
        for vector in 0..columns[0].len() / LANES {
            let at = |column: &[u64]| {
                let column = &column[vector * LANES..(vector + 1) * LANES];
                // SAFETY: eight words.
                unsafe { load(column.as_ptr()) }
            };
            for (j, column) in columns[..shape.sources].iter().enumerate() {
                let mut y = at(column);
                if shape.is_single() && shape.centred {
                    let none = _mm512_testn_epi64_mask(at(columns[1]), splat(1));
                    y = _mm512_mask_add_epi64(y, none, y, source);
                }
                let target = &mut digit[shape.place(i + vector, row, j)..][..width];
                // SAFETY: `width` words are stored.
                unsafe { _mm512_mask_storeu_epi64(target.as_mut_ptr().cast(), words, _mm512_permutexvar_epi8(order, y)) };
            }
            if shape.has_counts() {
                let counts = _mm512_cvtepi64_epi8(at(columns[shape.sources]));
                digit[shape.place(i + vector, row, shape.sources)] = _mm_cvtsi128_si64(counts).cast_unsigned();
            }
        }
    }

    /// [`SplitTransform::tail`].
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn finish<const WIDE: bool>(&self, x: &mut [u64], start: usize) {
        let c = Constants::new(&self.words);
        let words = self.degree / RADIX;
        for (index, x) in x.chunks_exact_mut(words).enumerate() {
            let block = start / words + index;
            // SAFETY: `x` is block number `block` after the head's stages.
            unsafe {
                for pass in &self.split[1..] {
                    let log_count = pass.stages_before - HEAD_STAGES;
                    self.forward_pass::<WIDE>(&c, x.as_mut_ptr(), pass, block << log_count, 1 << log_count);
                }
                let count = words / INNER;
                let table = self.forward.as_ptr().add(self.inner_twiddles + block * count * INNER_TABLE);
                forward_inner::<WIDE>(&c, x.as_mut_ptr(), table, count);
            }
        }
    }
}

// SAFETY, for every block below: a `Transform` is made only where the kernel's instructions were found, and lends itself as a
// `SplitTransform` only where its degree has a split.
impl SplitTransform for Transform {
    fn takes(&self, shape: &DigitShape) -> bool {
        // One bit more where a digit of one prime is stored with its offset.
        shape.bits < FACTOR_BITS && shape.sources > 0 && shape.sources < 256 && self.bound(shape) <= 1 << FACTOR_BITS
    }

    fn write_digit(&self, digit: &mut [u64], shape: &DigitShape, row: usize, i: usize, columns: &[&[u64]]) {
        assert!(columns.len() == shape.sources + usize::from(shape.centred), "one column per source and z");
        assert!(columns.iter().all(|column| column.len() == columns[0].len() && column.len() % LANES == 0), "columns of whole vectors");
        assert!(digit.len() >= shape.words(self.degree) && row < RADIX && i + columns[0].len() / LANES <= self.degree / RADIX / LANES);
        // SAFETY: see above.
        unsafe { Self::pack(digit, shape, row, i, columns) };
    }

    fn digit_head(&self, x: &mut [u64], digit: &[u64], shape: &DigitShape, vectors: Range<usize>, weights: &[Multiplier]) {
        assert!(x.len() == self.degree && digit.len() >= shape.words(self.degree), "a row and a digit of its degree");
        assert!(weights.len() == shape.sources + usize::from(shape.centred), "one weight per column");
        assert!(vectors.end <= self.degree / RADIX / LANES && self.takes(shape), "vectors of a sixteenth, and a shape that is taken");
        let (x, digit) = (x.as_mut_ptr(), digit.as_ptr());
        // SAFETY: see above.
        unsafe {
            match (self.entry(shape), shape.is_single()) {
                (Entry::Roomy, false) => self.extend::<ROOMY, false>(x, digit, shape, vectors, weights),
                (Entry::Roomy, true) => self.extend::<ROOMY, true>(x, digit, shape, vectors, weights),
                (Entry::Narrow, false) => self.extend::<NARROW, false>(x, digit, shape, vectors, weights),
                (Entry::Narrow, true) => self.extend::<NARROW, true>(x, digit, shape, vectors, weights),
                (Entry::Wide, false) => self.extend::<WIDE, false>(x, digit, shape, vectors, weights),
                (Entry::Wide, true) => self.extend::<WIDE, true>(x, digit, shape, vectors, weights),
            }
        }
    }

    fn head(&self, x: &mut [u64]) {
        assert_eq!(x.len(), self.degree, "a row has `degree` words");
        // SAFETY: see above.
        unsafe { self.forward_head(x) };
    }

    fn tail(&self, x: &mut [u64], start: usize) {
        let words = self.degree / RADIX;
        assert!(x.len() % words == 0 && start % words == 0 && start + x.len() <= self.degree, "whole blocks of the row");
        // SAFETY: see above.
        unsafe {
            if self.narrow {
                self.finish::<false>(x, start);
            } else {
                self.finish::<true>(x, start);
            }
        }
    }
}

impl Transform {
    /// # Safety
    /// `x` is a row; the machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn forward_head(&self, x: &mut [u64]) {
        let c = Constants::new(&self.words);
        // SAFETY: the caller's.
        unsafe {
            if self.narrow {
                self.forward_pass::<false>(&c, x.as_mut_ptr(), &self.split[0], 0, 1);
            } else {
                self.forward_pass::<true>(&c, x.as_mut_ptr(), &self.split[0], 0, 1);
            }
        }
    }
}
