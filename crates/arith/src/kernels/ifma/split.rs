//! The forward transform in two parts, and a digit's extension as the first step of its head.
//!
//! # Ranges
//! A digit's residue is `u_0 + sum_l u_l w_l` plus a constant below `q`. With `w'_l = floor(w_l 2^52 / q)`
//! and `u_l < 2^52`, `u_l w_l - floor(u_l w'_l / 2^52) q` lies in `[0, 2q)` ([`super::ntt`]), so the sum of
//! the first limb and `m - 1` products, minus `(sum_l floor(u_l w'_l / 2^52)) q`, lies below
//! `B = 2^b + 2 (m - 1) q + q` for a first limb of `b` bits. This takes two multiplier instructions per limb
//! and one at the end, and no reduction. If a residue is subtracted, `q` is added first, so `B` is larger by
//! `q`; the code always uses this larger `B`. A transform of `L` stages that starts below `B` stays below
//! `B + 4 L q`, by the proof in [`super::ntt`]. There are three cases:
//! - **roomy**: `B + 4 L q <= 2^52`, and the sum is used as it is, with junk from bit 52 on;
//! - **narrow**: `B <= 2^52`, and the sum is reduced to `[0, 2q)` before the offset of the first stage is
//!   added, as `(4 L + 2) q <= 2^52`;
//! - **wide**: `B <= 2^52`, and the sum is reduced to `[0, q)`, exact.
//!
//! **Computing limbs.** Let `c_jl < 2^48` be the limbs of `D/q_j` (the highest `< 2^51`). The low halves of
//! `y_j c_jl` are added to limb `l`, the high halves, times 16, to limb `l + 1`. Over 64 sources `y_j < 2^52`
//! the former are below `2^58`, the latter below `2^6 2^48 2^4 = 2^58` too; `z D_l` with `z <= 64` stays
//! below `2^57`. So the sum of a limb fits a signed word, whose carry is an arithmetic shift. The integer is
//! not negative and fits its limbs, so its highest limb has at most the form's bits, and the high halves
//! there are zero.

use std::arch::x86_64::*;
use std::ops::Range;

use super::inner::{Fetch, INNER, INNER_TABLE, forward_inner, inner_steps};
use super::lanes::{
    Constants, FACTOR_BITS, LANES, Lanes, add, load, multiply_high, multiply_low, splat, store, sub,
};
use super::ntt::{HEAD_STAGES, Transform};
use super::passes::{Places, forward_stage};
use crate::kernels::split::{
    Ahead, HALF, RADIX, SplitTransform, digit_words, half_words, head_stride, head_words,
};
use crate::limbs::{LIMB_BITS, LIMB_BYTES, LimbForm, LimbWeights};
use crate::modulus::Multiplier;

/// Prefetch distance, in vectors, for a subtracted row: its sixteen streams are more than the hardware
/// prefetcher follows.
const LESS_AHEAD: usize = 8;

/// How a digit's sum enters the transform; see the proof in the module documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Roomy,
    Narrow,
    Wide,
}

const ROOMY: usize = 0;
const NARROW: usize = 1;
const WIDE: usize = 2;

/// The factor that repeats a byte in every byte of a word.
const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;

/// Constants to unpack eight words of whole bytes.
#[derive(Clone, Copy)]
struct Unpacker {
    order: Lanes,
    mask: __mmask64,
}

impl Unpacker {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    fn new(width: usize) -> Self {
        // Byte b of lane l comes from byte l * width + b.
        let starts =
            _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), splat(width as u64 * EVERY_BYTE));
        let used = u64::MAX >> (64 - 8 * width);
        Self {
            order: add(starts, splat(0x0706_0504_0302_0100)),
            mask: _mm512_test_epi8_mask(splat(used), splat(used)),
        }
    }

    /// # Safety
    /// `source` is valid for reading eight words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn load(&self, source: *const u64) -> Lanes {
        // SAFETY: guaranteed by the caller.
        _mm512_maskz_permutexvar_epi8(self.mask, self.order, unsafe { load(source) })
    }
}

/// The constants with which one modulus reads a digit's limbs.
struct Limbs<'a> {
    /// For all limbs but the highest.
    limb: Unpacker,
    top: Unpacker,
    /// Bytes of the highest limb, which are also the words of its packed vector.
    top_bytes: usize,
    powers: &'a [Multiplier],
    constant: Lanes,
}

impl<'a> Limbs<'a> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    fn new(form: &LimbForm, weights: &'a LimbWeights) -> Self {
        let top_bytes = form.top_bytes();
        Self {
            limb: Unpacker::new(LIMB_BYTES),
            top: Unpacker::new(top_bytes),
            top_bytes,
            powers: &weights.powers,
            constant: splat(weights.constant),
        }
    }

    /// The residues of row `k` of a half, plus `start`, with junk from bit 52 on. `M` is the number of limbs,
    /// or 0 if it is known only at run time.
    ///
    /// # Safety
    /// `digit` is one half of a vector's limbs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn residue<const M: usize>(
        &self,
        c: &Constants,
        digit: *const u64,
        k: usize,
        start: Lanes,
    ) -> Lanes {
        let products = if M == 0 { self.powers.len() } else { M - 1 };
        // SAFETY: guaranteed by the caller; `powers` has `products` entries.
        unsafe {
            let top = self.top.load(digit.add(products * HALF * LIMB_BYTES + k * self.top_bytes));
            if products == 0 {
                return add(top, start);
            }
            let (mut low, mut high) = (add(self.limb.load(digit.add(k * LIMB_BYTES)), start), c.zero);
            for l in 1..products {
                let u = self.limb.load(digit.add((l * HALF + k) * LIMB_BYTES));
                let [w, quotient] = operands(self.powers.get_unchecked(l - 1));
                low = multiply_low(low, u, splat(w));
                high = multiply_high(high, u, splat(quotient));
            }
            let [w, quotient] = operands(self.powers.get_unchecked(products - 1));
            low = multiply_low(low, top, splat(w));
            high = multiply_high(high, top, splat(quotient));
            multiply_low(low, high, c.negative_q)
        }
    }
}

/// The operands of the 52-bit multiplier for one weight: the factor and its quotient.
fn operands(weight: &Multiplier) -> [u64; 2] {
    // floor(floor(w 2^64 / q) / 2^12) = floor(w 2^52 / q).
    [weight.value, weight.quotient >> (64 - FACTOR_BITS)]
}

/// Constants to pack eight words into whole bytes.
#[derive(Clone, Copy)]
struct Packer {
    order: Lanes,
    words: __mmask8,
}

impl Packer {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    fn new(width: usize) -> Self {
        let mut order = [0u8; 64];
        for byte in 0..LANES * width {
            order[byte] = (byte / width * 8 + byte % width) as u8;
        }
        // SAFETY: 64 bytes.
        Self {
            order: unsafe { _mm512_loadu_si512(order.as_ptr().cast()) },
            words: ((1u32 << width) - 1) as u8,
        }
    }

    /// Writes eight packed words to `target`, which has as many words as a packed word has bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    fn store(&self, target: &mut [u64], x: Lanes) {
        assert!(
            target.len() == self.words.count_ones() as usize,
            "a packed vector has as many words as a packed word bytes"
        );
        // SAFETY: the mask names no more words than `target` has.
        unsafe {
            _mm512_mask_storeu_epi64(
                target.as_mut_ptr().cast(),
                self.words,
                _mm512_permutexvar_epi8(self.order, x),
            )
        };
    }
}

impl Transform {
    /// Whether the degree is large enough for a transform in two parts.
    pub fn has_split(&self) -> bool {
        !self.split.is_empty()
    }

    /// The bound `B` on a digit's sums, whether or not a row of residues is subtracted.
    fn bound(&self, form: &LimbForm) -> u128 {
        (1 << form.first_bits()) + 2 * form.count() as u128 * u128::from(self.words.q)
    }

    fn entry(&self, form: &LimbForm) -> Entry {
        let headroom = (1u128 << FACTOR_BITS)
            .saturating_sub(u128::from(4 * self.degree.trailing_zeros()) * u128::from(self.words.q));
        match self.narrow {
            false => Entry::Wide,
            true if self.bound(form) <= headroom => Entry::Roomy,
            true => Entry::Narrow,
        }
    }

    /// [`SplitTransform::digit_head`].
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, BW, VL, IFMA and VBMI; `out` has the words of a head; `digit` is a
    /// digit of this form and degree; `vectors` end within a sixteenth of the degree; `weights` belong to the
    /// form; with `LESS`, `less` points to a row; with `far`, `out` is aligned to a cache line.
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn extend<const ENTRY: usize, const M: usize, const LESS: bool>(
        &self,
        out: *mut u64,
        digit: *const u64,
        form: &LimbForm,
        vectors: Range<usize>,
        weights: &LimbWeights,
        less: *const u64,
        far: bool,
    ) {
        let c = Constants::new(&self.words);
        let (half_words, stride) = (half_words(form), head_stride(self.degree));
        let offset = splat(2 * self.words.q * u64::from(self.degree.trailing_zeros()));
        let table = self.forward[self.split[0].twiddles..].as_ptr();
        let limbs = Limbs::new(form, weights);
        let second = if LESS { add(limbs.constant, c.q) } else { limbs.constant };
        let first = if ENTRY == ROOMY { add(second, offset) } else { second };
        let row = self.degree / RADIX;
        for i in vectors {
            // SAFETY: within the digit and the row; the table has the head's factors.
            unsafe {
                let digit = digit.add(2 * i * half_words);
                let mut v = [c.zero; RADIX];
                for k in 0..HALF {
                    v[k] = limbs.residue::<M>(&c, digit, k, first);
                }
                for k in 0..HALF {
                    v[HALF + k] = limbs.residue::<M>(&c, digit.add(half_words), k, second);
                }
                if LESS {
                    for k in 0..RADIX {
                        // A prefetch cannot fault, whatever its address.
                        _mm_prefetch::<_MM_HINT_T0>(
                            less.wrapping_add((i + LESS_AHEAD) * LANES + k * row).cast(),
                        );
                        v[k] = sub(v[k], load(less.add(i * LANES + k * row)));
                    }
                }
                // The second half is multiplied first, and the multiplier accepts all words.
                for k in 0..HALF {
                    if ENTRY == NARROW {
                        v[k] = add(c.reduce_junk(v[k]), offset);
                    } else if ENTRY == WIDE {
                        v[k] = c.reduce(v[k]);
                    }
                }
                // Unrolled by hand, so that the words stay in registers.
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
                if far {
                    for k in 0..RADIX {
                        _mm512_stream_si512(out.add(i * LANES + k * stride).cast(), v[k]);
                    }
                } else {
                    for k in 0..RADIX {
                        store(out.add(i * LANES + k * stride), v[k]);
                    }
                }
            }
        }
        if far {
            // Non-temporal stores are weakly ordered; the fence orders them before later stores.
            _mm_sfence();
        }
    }

    /// [`Transform::extend`] with the form's number of limbs as a constant, where it is small.
    ///
    /// # Safety
    /// As there.
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn extend_by_form<const LESS: bool>(
        &self,
        out: &mut [u64],
        digit: &[u64],
        form: &LimbForm,
        vectors: Range<usize>,
        weights: &LimbWeights,
        less: *const u64,
        far: bool,
    ) {
        let (out, digit) = (out.as_mut_ptr(), digit.as_ptr());
        // Non-temporal stores write whole cache lines; the rows are whole lines apart.
        let far = far && out.cast::<Lanes>().is_aligned();
        // SAFETY: guaranteed by the caller.
        unsafe {
            match (self.entry(form), form.count()) {
                (Entry::Roomy, 1) => {
                    self.extend::<ROOMY, 1, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 2) => {
                    self.extend::<ROOMY, 2, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 3) => {
                    self.extend::<ROOMY, 3, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 4) => {
                    self.extend::<ROOMY, 4, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 5) => {
                    self.extend::<ROOMY, 5, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 6) => {
                    self.extend::<ROOMY, 6, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 7) => {
                    self.extend::<ROOMY, 7, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 8) => {
                    self.extend::<ROOMY, 8, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 9) => {
                    self.extend::<ROOMY, 9, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 10) => {
                    self.extend::<ROOMY, 10, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, 11) => {
                    self.extend::<ROOMY, 11, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Roomy, _) => {
                    self.extend::<ROOMY, 0, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Narrow, 1) => {
                    self.extend::<NARROW, 1, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Narrow, 2) => {
                    self.extend::<NARROW, 2, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Narrow, 3) => {
                    self.extend::<NARROW, 3, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Narrow, 4) => {
                    self.extend::<NARROW, 4, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Narrow, _) => {
                    self.extend::<NARROW, 0, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Wide, 1) => {
                    self.extend::<WIDE, 1, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Wide, 2) => {
                    self.extend::<WIDE, 2, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Wide, 3) => {
                    self.extend::<WIDE, 3, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Wide, 4) => {
                    self.extend::<WIDE, 4, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Wide, 5) => {
                    self.extend::<WIDE, 5, LESS>(out, digit, form, vectors, weights, less, far)
                }
                (Entry::Wide, _) => {
                    self.extend::<WIDE, 0, LESS>(out, digit, form, vectors, weights, less, far)
                }
            }
        }
    }

    /// [`SplitTransform::write_digit`].
    ///
    /// # Safety
    /// As [`Transform::extend`]; `columns` are whole vectors, which lie inside row `row`, a sixteenth of the
    /// degree.
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi")]
    unsafe fn pack(digit: &mut [u64], form: &LimbForm, row: usize, i: usize, columns: &[&[u64]]) {
        let (half_words, count) = (half_words(form), form.count());
        let (limb, top) = (Packer::new(LIMB_BYTES), Packer::new(form.top_bytes()));
        let zero = _mm512_setzero_si512();
        let mask = splat((1 << LIMB_BITS) - 1);
        let (sources, counts) = columns.split_at(form.sources.len());
        for vector in 0..columns[0].len() / LANES {
            // SAFETY: eight words.
            let at = |column: &[u64]| unsafe { load(column[vector * LANES..(vector + 1) * LANES].as_ptr()) };
            let mut place = (2 * (i + vector) + row / HALF) * half_words
                + row % HALF * if count > 1 { LIMB_BYTES } else { form.top_bytes() };
            let (mut carry, mut above) = (zero, zero);
            for l in 0..count {
                let (mut low, mut high) = (
                    add(
                        add(carry, splat(form.offset[l])),
                        _mm512_slli_epi64::<{ FACTOR_BITS - LIMB_BITS }>(above),
                    ),
                    zero,
                );
                for (column, factor) in sources.iter().zip(&form.sources) {
                    let (y, factor) = (at(column), splat(factor[l]));
                    low = multiply_low(low, y, factor);
                    high = multiply_high(high, y, factor);
                }
                if let (Some(modulus), Some(z)) = (&form.modulus, counts.first()) {
                    low = sub(low, _mm512_mullo_epi64(at(z), splat(modulus[l])));
                }
                above = high;
                if l + 1 < count {
                    limb.store(&mut digit[place..place + LIMB_BYTES], _mm512_and_si512(low, mask));
                    place += if l + 2 < count {
                        HALF * LIMB_BYTES
                    } else {
                        HALF * LIMB_BYTES - row % HALF * LIMB_BYTES + row % HALF * form.top_bytes()
                    };
                    carry = _mm512_srai_epi64::<LIMB_BITS>(low);
                } else {
                    top.store(&mut digit[place..place + form.top_bytes()], low);
                }
            }
        }
    }

    /// [`SplitTransform::tail`].
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn finish<const WIDE: bool>(
        &self,
        out: &mut [u64],
        x: &[u64],
        start: usize,
        near: bool,
        ahead: [Ahead<'_>; 2],
    ) {
        let c = Constants::new(&self.words);
        let (words, stride) = (self.degree / RADIX, head_stride(self.degree));
        let far = self.far_tables() && !near;
        let mut fetch = ahead.map(|ahead| Fetch::new(&ahead, inner_steps(out.len() / INNER)));
        for (block, out) in (start / words..).zip(out.chunks_exact_mut(words)) {
            let x = &x[block * stride..block * stride + words];
            let (x, out) = (x.as_ptr(), out.as_mut_ptr());
            // SAFETY: `x` is block number `block` after the head's stages; at every degree with a split there
            // is a second pass.
            unsafe {
                for (number, pass) in self.split[1..].iter().enumerate() {
                    let log_count = pass.stages_before - HEAD_STAGES;
                    let stride = self.stride(pass);
                    let places = if number == 0 {
                        Places { x, stride, out, out_stride: stride }
                    } else {
                        Places::same(out, stride)
                    };
                    self.forward_pass_between::<WIDE>(&c, places, pass, block << log_count, 1 << log_count);
                }
                let count = words / INNER;
                let table = self.forward.as_ptr().add(self.inner_twiddles + block * count * INNER_TABLE);
                forward_inner::<WIDE>(&c, out, table, count, far, &mut fetch);
            }
        }
    }
}

// SAFETY, for every block below: a `Transform` is made only where the kernel's instructions were found, and
// is given out as a `SplitTransform` only where its degree has a split.
impl SplitTransform for Transform {
    fn takes(&self, form: &LimbForm) -> bool {
        self.bound(form) <= 1 << FACTOR_BITS
    }

    fn write_digit(&self, digit: &mut [u64], form: &LimbForm, row: usize, i: usize, columns: &[&[u64]]) {
        assert!(
            columns.len() == form.sources.len() + usize::from(form.modulus.is_some()),
            "one column per source and z"
        );
        assert!(
            columns
                .iter()
                .all(|column| column.len() == columns[0].len() && column.len().is_multiple_of(LANES)),
            "columns of whole vectors"
        );
        assert!(digit.len() >= digit_words(form, self.degree), "a digit of this degree");
        assert!(
            row < RADIX && i + columns[0].len() / LANES <= self.degree / RADIX / LANES,
            "words of a sixteenth"
        );
        // SAFETY: see above.
        unsafe { Self::pack(digit, form, row, i, columns) };
    }

    fn digit_head(
        &self,
        out: &mut [u64],
        digit: &[u64],
        form: &LimbForm,
        vectors: Range<usize>,
        weights: &LimbWeights,
        less: Option<&[u64]>,
        far: bool,
    ) {
        assert!(
            out.len() >= head_words(self.degree) && digit.len() >= digit_words(form, self.degree),
            "a head and a digit of this degree"
        );
        assert!(weights.powers.len() + 1 == form.count(), "one weight per limb");
        assert!(
            vectors.end <= self.degree / RADIX / LANES && self.takes(form),
            "vectors of a sixteenth, and a form that is taken"
        );
        assert!(less.is_none_or(|less| less.len() == self.degree), "a row has `degree` words");
        // SAFETY: see above.
        unsafe {
            match less {
                Some(less) => {
                    self.extend_by_form::<true>(out, digit, form, vectors, weights, less.as_ptr(), far)
                }
                None => {
                    self.extend_by_form::<false>(out, digit, form, vectors, weights, std::ptr::null(), far)
                }
            }
        }
    }

    fn head(&self, out: &mut [u64], x: &[u64]) {
        assert!(
            x.len() == self.degree && out.len() >= head_words(self.degree),
            "a row has `degree` words, a head its own"
        );
        let places = Places {
            x: x.as_ptr(),
            stride: self.degree / RADIX,
            out: out.as_mut_ptr(),
            out_stride: head_stride(self.degree),
        };
        // SAFETY: see above.
        unsafe {
            let c = Constants::new(&self.words);
            if self.narrow {
                self.forward_pass_between::<false>(&c, places, &self.split[0], 0, 1);
            } else {
                self.forward_pass_between::<true>(&c, places, &self.split[0], 0, 1);
            }
        }
    }

    fn tail(&self, out: &mut [u64], x: &[u64], start: usize, near: bool, ahead: [Ahead<'_>; 2]) {
        let words = self.degree / RADIX;
        assert!(
            out.len().is_multiple_of(words)
                && start.is_multiple_of(words)
                && start + out.len() <= self.degree,
            "whole blocks of the row"
        );
        assert!(x.len() >= head_words(self.degree), "what a head wrote");
        // SAFETY: see above.
        unsafe {
            if self.narrow {
                self.finish::<false>(out, x, start, near, ahead);
            } else {
                self.finish::<true>(out, x, start, near, ahead);
            }
        }
    }
}
