//! The negacyclic transform on the 52-bit multiplier: passes of up to four stages in registers, then blocks of 64 words
//! whose last three stages stay inside vectors.
//!
//! # Order of work
//! `2^L` words take `L - 6` stages in register passes (each word loaded and stored once per pass) and six in the block
//! pass. Passes over more than `2^12` words come first and stream through the second-level cache; the rest runs block by
//! block in the first-level cache. The inverse runs the same passes backwards. Twiddles lie in the order in which they are
//! read, each factor `w` next to `floor(w 2^52 / q)`.
//!
//! # Ranges
//! Write `r(y) = y w - floor(y w' / 2^52) q` with `w' = floor(w 2^52 / q)`. From `w 2^52 / q - 1 < w'` and `y < 2^52`,
//! `y w / q - y / 2^52 - 1 < floor(y w' / 2^52) <= y w / q`, so `0 <= r < (1 + y / 2^52) q < 2q < 2^52`.
//! Three multiplier instructions give a word whose low 52 bits are `r`; bit 52 is junk.
//!
//! **Narrow** (`max(4 L + 1, 64) q < 2^52`). Words stand for their low 52 bits; whatever lies above is junk that neither
//! additions nor the multiplier carry down.
//! - Forward, `(x, y) <- (x + r, x - r)`. The operands `x` of the first stage get `2 q L` added; a later `x` is an earlier
//!   output. By induction the true value after stage `s` lies in `[2q (L - s), q + 2q (L + s))`: the first stage starts from
//!   `x` in `[2qL, 2qL + q)`, each stage moves a value by less than `2q` either way. After `L` stages it lies in
//!   `[0, (4L + 1) q)`, below 2^52, so no value ever left the 52 bits. One reduction ends the transform.
//! - Inverse, `(x, y) <- (x + y, r(x - y + b))` where `b` bounds `y`. Products are below `2q`; only sums grow, twofold a
//!   stage. The block pass starts below `q` and runs six stages: the bound entering stage `s` (from 1) is `2^(s-1) q`, as
//!   `2q <= 2^s q`. Of the eight vectors that come out, the one that was summed in all three stages between vectors is below
//!   `64q` and is reduced to `2q`; one that was last multiplied three, two, one stages before the end is below `8q, 4q, 2q`.
//!   So register passes start below `8q`; after three stages a word summed throughout is below `64q` and is reduced, the
//!   others are below `8q`. A pass of four stages reduces the two words summed in its first three stages, and at the end
//!   the one multiplied in its first stage only (`16q`). All factors stay below `64q < 2^52`.
//!
//!   A decimation in time with the twist folded in would need no reduction at all, but its twist is one multiplication per
//!   word (two stages' worth) and its late twiddles are one vector per position; here one word in eight is reduced per pass.
//!
//! **Wide** (`q < 2^50`). Words are exact. Forward: `x` and `y` in `[0, 4q)`, `x` reduced to `[0, 2q)` at each stage
//! (Harvey). Inverse: everything in `[0, 2q)`, sums reduced at each stage; `x - y + 2q < 4q <= 2^52`.
//!
//! The last inverse stage multiplies sums by `1/n` and differences by `w/n`, so both end below `2q`.

use std::arch::x86_64::*;

use super::lanes::{Constants, LANES, Lanes, Words, add, load, quotient52, splat, store, sub};
use crate::aligned::AlignedWords;
use crate::kernels::scalar::RootPowers;
use crate::modulus::Modulus;

/// Words of the innermost block, whose six last stages are one pass.
const INNER: usize = 64;

/// Stages of the innermost block.
const INNER_STAGES: u32 = 6;

/// Stages of a block that stays in the first-level cache with its twiddles streaming by.
const BLOCK_STAGES: u32 = 12;

/// The smallest degree with a vector transform: one register pass and the block pass.
pub const MIN_DEGREE: usize = 128;

/// Twiddle words per block of 64.
const INNER_TABLE: usize = 128;
/// Where the factors of the stage between neighbours start, in a block's table: 16 words per pair of vectors.
const LAST_STAGE: usize = 16;
/// The stage between words two apart: 8 words per pair.
const MIDDLE_STAGE: usize = 80;
/// The stage between words four apart: 4 words per pair.
const FIRST_STAGE: usize = 112;

/// One register pass: `log_radix` stages on blocks that many strides long.
#[derive(Debug, Clone, Copy)]
struct Pass {
    log_radix: u32,
    /// Stages before it, in the forward order.
    stages_before: u32,
    /// Its first twiddle word.
    twiddles: usize,
}

/// Tables and plan of one modulus and degree.
#[derive(Debug)]
pub struct Transform {
    words: Words,
    narrow: bool,
    degree: usize,
    passes: Vec<Pass>,
    /// Passes that run over the whole row; the rest run block by block.
    whole_row_passes: usize,
    /// First word of the innermost blocks' tables.
    inner_twiddles: usize,
    forward: AlignedWords,
    inverse: AlignedWords,
    /// `1/n` and its quotient.
    inverse_degree: [u64; 2],
}

/// Whether `q` keeps `stages` stages unreduced inside 52 bits; see the module's proof.
pub fn is_narrow(q: u64, stages: u32) -> bool {
    u128::from(q) * u128::from((4 * stages + 1).max(64)) < 1 << 52
}

/// Radices (as logarithms) for `stages` stages, with how many of them run over the whole row.
fn radices(stages: u32) -> (Vec<u32>, usize) {
    let outer = stages - INNER_STAGES;
    let split = |stages: u32| match stages {
        0 => vec![],
        1..=4 => vec![stages],
        5 => vec![3, 2],
        6 => vec![3, 3],
        _ => vec![4, stages - 4],
    };
    if stages <= BLOCK_STAGES + 1 {
        return (split(outer), 0);
    }
    let whole = split(stages - BLOCK_STAGES);
    let count = whole.len();
    (whole.into_iter().chain(split(BLOCK_STAGES - INNER_STAGES)).collect(), count)
}

impl Transform {
    /// Range: `q < 2^50`, degree at least [`MIN_DEGREE`].
    pub fn new(modulus: &Modulus, degree: usize, roots: &RootPowers) -> Self {
        let q = modulus.value();
        let stages = degree.trailing_zeros();
        let (log_radices, whole_row_passes) = radices(stages);
        let mut passes = Vec::with_capacity(log_radices.len());
        let (mut stages_before, mut words) = (0, 0);
        for log_radix in log_radices {
            passes.push(Pass { log_radix, stages_before, twiddles: words });
            words += (2 * ((1 << log_radix) - 1)) << stages_before;
            stages_before += log_radix;
        }
        let inner_twiddles = usize::next_multiple_of(words, LANES);
        let scaled = modulus.mul(roots.inverse[1], roots.inverse_degree);
        let inverse_power = |node: usize| if node == 1 { scaled } else { roots.inverse[node] };
        let table = |power: &dyn Fn(usize) -> u64| {
            let mut table = AlignedWords::zeroed(inner_twiddles + degree / INNER * INNER_TABLE);
            for pass in &passes {
                fill_pass(&mut table[pass.twiddles..], pass, &|node| [power(node), quotient52(power(node), q)]);
            }
            for block in 0..degree / INNER {
                let start = inner_twiddles + block * INNER_TABLE;
                fill_inner(&mut table[start..start + INNER_TABLE], degree / INNER + block, &|node| {
                    [power(node), quotient52(power(node), q)]
                });
            }
            table
        };
        Self {
            words: Words::new(*modulus),
            narrow: is_narrow(q, stages),
            degree,
            whole_row_passes,
            inner_twiddles,
            forward: table(&|node| roots.forward[node]),
            inverse: table(&inverse_power),
            inverse_degree: [roots.inverse_degree, quotient52(roots.inverse_degree, q)],
            passes,
        }
    }

    /// Forward transform.
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub unsafe fn forward(&self, x: &mut [u64]) {
        assert_eq!(x.len(), self.degree, "a row has `degree` words");
        // SAFETY: `x` has `degree` words, for which the plan and its tables were made.
        unsafe {
            if self.narrow {
                self.forward_row::<false>(x.as_mut_ptr());
            } else {
                self.forward_row::<true>(x.as_mut_ptr());
            }
        }
    }

    /// Inverse transform.
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub unsafe fn inverse(&self, x: &mut [u64]) {
        assert_eq!(x.len(), self.degree, "a row has `degree` words");
        // SAFETY: `x` has `degree` words, for which the plan and its tables were made.
        unsafe {
            if self.narrow {
                self.inverse_row::<false>(x.as_mut_ptr());
            } else {
                self.inverse_row::<true>(x.as_mut_ptr());
            }
        }
    }

    /// Stages before the blocks that run on their own.
    fn whole_row_stages(&self) -> u32 {
        self.passes[..self.whole_row_passes].iter().map(|pass| pass.log_radix).sum()
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn forward_row<const WIDE: bool>(&self, x: *mut u64) {
        let c = Constants::new(&self.words);
        let (whole, blocked) = self.passes.split_at(self.whole_row_passes);
        let table = self.forward.as_ptr();
        let stages = self.whole_row_stages();
        let block_words = self.degree >> stages;
        // SAFETY: blocks tile the row, and a pass's table holds one entry per block.
        unsafe {
            for pass in whole {
                self.forward_pass::<WIDE>(&c, x, pass, 0, 1 << pass.stages_before);
            }
            for block in 0..1usize << stages {
                let start = x.add(block * block_words);
                for pass in blocked {
                    let count = 1 << (pass.stages_before - stages);
                    self.forward_pass::<WIDE>(&c, start, pass, block * count, count);
                }
                let count = block_words / INNER;
                forward_inner::<WIDE>(&c, start, table.add(self.inner_twiddles + block * count * INNER_TABLE), count);
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn inverse_row<const WIDE: bool>(&self, x: *mut u64) {
        let c = Constants::new(&self.words);
        let (whole, blocked) = self.passes.split_at(self.whole_row_passes);
        let table = self.inverse.as_ptr();
        let stages = self.whole_row_stages();
        let block_words = self.degree >> stages;
        // SAFETY: blocks tile the row, and a pass's table holds one entry per block.
        unsafe {
            for block in 0..1usize << stages {
                let start = x.add(block * block_words);
                let count = block_words / INNER;
                inverse_inner::<WIDE>(&c, start, table.add(self.inner_twiddles + block * count * INNER_TABLE), count);
                for pass in blocked.iter().rev() {
                    let count = 1 << (pass.stages_before - stages);
                    self.inverse_pass::<WIDE>(&c, start, pass, block * count, count);
                }
            }
            for pass in whole.iter().rev() {
                self.inverse_pass::<WIDE>(&c, x, pass, 0, 1 << pass.stages_before);
            }
        }
    }

    /// Runs `count` blocks of `pass` from its block number `first` on; `x` points to that block.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn forward_pass<const WIDE: bool>(&self, c: &Constants, x: *mut u64, pass: &Pass, first: usize, count: usize) {
        let stride = self.degree >> (pass.stages_before + pass.log_radix);
        let table = &self.forward[pass.twiddles + first * 2 * ((1 << pass.log_radix) - 1)..];
        let table = table.as_ptr();
        // SAFETY: the caller's block lies in the row, its table in `forward`.
        unsafe {
            if pass.stages_before == 0 {
                let offset = splat(2 * self.words.q * u64::from(self.degree.trailing_zeros()));
                match pass.log_radix {
                    1 => forward_radix::<1, 2, WIDE, true>(c, x, table, count, stride, offset),
                    2 => forward_radix::<2, 4, WIDE, true>(c, x, table, count, stride, offset),
                    3 => forward_radix::<3, 8, WIDE, true>(c, x, table, count, stride, offset),
                    _ => forward_radix::<4, 16, WIDE, true>(c, x, table, count, stride, offset),
                }
            } else {
                match pass.log_radix {
                    1 => forward_radix::<1, 2, WIDE, false>(c, x, table, count, stride, c.zero),
                    2 => forward_radix::<2, 4, WIDE, false>(c, x, table, count, stride, c.zero),
                    3 => forward_radix::<3, 8, WIDE, false>(c, x, table, count, stride, c.zero),
                    _ => forward_radix::<4, 16, WIDE, false>(c, x, table, count, stride, c.zero),
                }
            }
        }
    }

    /// As [`Transform::forward_pass`], backwards.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn inverse_pass<const WIDE: bool>(&self, c: &Constants, x: *mut u64, pass: &Pass, first: usize, count: usize) {
        let stride = self.degree >> (pass.stages_before + pass.log_radix);
        let table = &self.inverse[pass.twiddles + first * 2 * ((1 << pass.log_radix) - 1)..];
        let table = table.as_ptr();
        let scale = &self.inverse_degree;
        // SAFETY: the caller's block lies in the row, its table in `inverse`.
        unsafe {
            if pass.stages_before == 0 {
                match pass.log_radix {
                    1 => inverse_radix::<1, 2, WIDE, true>(c, x, table, count, stride, scale),
                    2 => inverse_radix::<2, 4, WIDE, true>(c, x, table, count, stride, scale),
                    3 => inverse_radix::<3, 8, WIDE, true>(c, x, table, count, stride, scale),
                    _ => inverse_radix::<4, 16, WIDE, true>(c, x, table, count, stride, scale),
                }
            } else {
                match pass.log_radix {
                    1 => inverse_radix::<1, 2, WIDE, false>(c, x, table, count, stride, scale),
                    2 => inverse_radix::<2, 4, WIDE, false>(c, x, table, count, stride, scale),
                    3 => inverse_radix::<3, 8, WIDE, false>(c, x, table, count, stride, scale),
                    _ => inverse_radix::<4, 16, WIDE, false>(c, x, table, count, stride, scale),
                }
            }
        }
    }
}

/// Writes a register pass's factors: per block, stage by stage, factor and quotient.
fn fill_pass(table: &mut [u64], pass: &Pass, factor: &dyn Fn(usize) -> [u64; 2]) {
    let mut words = table.iter_mut();
    for block in 0..1usize << pass.stages_before {
        let node = (1 << pass.stages_before) + block;
        for stage in 0..pass.log_radix {
            for i in 0..1 << stage {
                for (value, word) in factor((node << stage) + i).into_iter().zip(words.by_ref()) {
                    *word = value;
                }
            }
        }
    }
}

/// Writes the table of one innermost block at `node`: seven broadcast factors, then the lane factors of its four pairs of
/// vectors `(A, B)`, in the lane orders of [`forward_inner`].
fn fill_inner(table: &mut [u64], node: usize, factor: &dyn Fn(usize) -> [u64; 2]) {
    for stage in 0..3 {
        for i in 0..1 << stage {
            let at = 2 * ((1 << stage) - 1 + i);
            table[at..at + 2].copy_from_slice(&factor((node << stage) + i));
        }
    }
    let mut lanes = |at: usize, nodes: &[usize]| {
        for (lane, &node) in nodes.iter().enumerate() {
            let [w, quotient] = factor(node);
            table[at + lane] = w;
            table[at + nodes.len() + lane] = quotient;
        }
    };
    for pair in 0..4 {
        let a = (node << 3) + 2 * pair;
        let b = a + 1;
        lanes(FIRST_STAGE + 4 * pair, &[a, b]);
        lanes(MIDDLE_STAGE + 8 * pair, &[2 * a, 2 * b, 2 * a + 1, 2 * b + 1]);
        lanes(LAST_STAGE + 16 * pair, &[4 * a, 4 * b, 4 * a + 2, 4 * b + 2, 4 * a + 1, 4 * b + 1, 4 * a + 3, 4 * b + 3]);
    }
}

/// `(x, y) <- (x + w y, x - w y)`; ranges in the module's proof.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn forward_butterfly<const WIDE: bool>(c: &Constants, x: Lanes, y: Lanes, w: Lanes, w_quotient: Lanes) -> (Lanes, Lanes) {
    if WIDE {
        let t = c.mul_lazy(y, w, w_quotient);
        let x = c.reduce_by(x, c.two_q);
        (add(x, t), sub(add(x, c.two_q), t))
    } else {
        let t = c.mul_junk(y, w, w_quotient);
        (add(x, t), sub(x, t))
    }
}

/// `(x, y) <- (x + y, w (x - y))`; `bound` is a multiple of `q` above `y`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn inverse_butterfly<const WIDE: bool>(
    c: &Constants,
    x: Lanes,
    y: Lanes,
    w: Lanes,
    w_quotient: Lanes,
    bound: Lanes,
) -> (Lanes, Lanes) {
    let sum = add(x, y);
    if WIDE {
        (c.reduce_by(sum, c.two_q), c.mul_lazy(sub(add(x, c.two_q), y), w, w_quotient))
    } else {
        (sum, c.mul_junk(sub(add(x, bound), y), w, w_quotient))
    }
}

/// The factor at `table` and its quotient, each in every lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn broadcast(table: *const u64) -> (Lanes, Lanes) {
    // SAFETY: the caller's table holds the pair.
    unsafe { (splat(*table), splat(*table.add(1))) }
}

/// The stages of one register pass on `R = 2^K` vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_stages<const K: usize, const R: usize, const WIDE: bool>(c: &Constants, v: &mut [Lanes; R], table: *const u64) {
    for stage in 0..K {
        let half = R >> (stage + 1);
        for block in 0..1 << stage {
            // SAFETY: the table holds R - 1 pairs.
            let (w, quotient) = unsafe { broadcast(table.add(2 * ((1 << stage) - 1 + block))) };
            for i in 2 * half * block..2 * half * block + half {
                (v[i], v[i + half]) = forward_butterfly::<WIDE>(c, v[i], v[i + half], w, quotient);
            }
        }
    }
}

/// One register pass over `count` blocks of `R` strides.
///
/// # Safety
/// `x` holds `count * R * stride` words and `table` `count * 2 (R - 1)`; 8 divides `stride`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_radix<const K: usize, const R: usize, const WIDE: bool, const FIRST: bool>(
    c: &Constants,
    x: *mut u64,
    table: *const u64,
    count: usize,
    stride: usize,
    offset: Lanes,
) {
    for block in 0..count {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * R * stride);
            let table = table.add(block * 2 * (R - 1));
            for i in (0..stride).step_by(LANES) {
                let mut v = [c.zero; R];
                for k in 0..R {
                    v[k] = load(x.add(i + k * stride));
                    if FIRST && !WIDE && k < R / 2 {
                        v[k] = add(v[k], offset);
                    }
                }
                forward_stages::<K, R, WIDE>(c, &mut v, table);
                for k in 0..R {
                    store(x.add(i + k * stride), v[k]);
                }
            }
        }
    }
}

/// One register pass of the inverse over `count` blocks of `R` strides; `LAST` ends the transform.
///
/// # Safety
/// As [`forward_radix`].
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_radix<const K: usize, const R: usize, const WIDE: bool, const LAST: bool>(
    c: &Constants,
    x: *mut u64,
    table: *const u64,
    count: usize,
    stride: usize,
    scale: &[u64; 2],
) {
    let bounds = [_mm512_slli_epi64(c.q, 3), _mm512_slli_epi64(c.q, 4), _mm512_slli_epi64(c.q, 5), _mm512_slli_epi64(c.q, 3)];
    let (scale, scale_quotient) = (splat(scale[0]), splat(scale[1]));
    for block in 0..count {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * R * stride);
            let table = table.add(block * 2 * (R - 1));
            for i in (0..stride).step_by(LANES) {
                let mut v = [c.zero; R];
                for k in 0..R {
                    v[k] = load(x.add(i + k * stride));
                }
                for stage in 0..K {
                    let half = 1 << stage;
                    let blocks = R >> (stage + 1);
                    if !WIDE && stage == 3 {
                        v[0] = c.reduce_junk(v[0]);
                        v[R / 2] = c.reduce_junk(v[R / 2]);
                    }
                    for group in 0..blocks {
                        let (w, quotient) = broadcast(table.add(2 * (blocks - 1 + group)));
                        for k in 2 * half * group..2 * half * group + half {
                            let sum = add(v[k], v[k + half]);
                            let product;
                            (v[k], product) = inverse_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient, bounds[stage]);
                            v[k + half] = product;
                            if LAST && stage == K - 1 {
                                v[k] = c.reduce_by(c.mul_lazy(sum, scale, scale_quotient), c.q);
                                v[k + half] = c.reduce_by(_mm512_and_si512(product, c.mask), c.q);
                            }
                        }
                    }
                }
                if !WIDE && !LAST {
                    if K <= 3 {
                        v[0] = c.reduce_junk(v[0]);
                    } else {
                        v[1] = c.reduce_junk(v[1]);
                    }
                }
                for k in 0..R {
                    store(x.add(i + k * stride), v[k]);
                }
            }
        }
    }
}

/// Lane orders of the stages inside vectors. With `A`, `B` two neighbouring vectors, forward:
///
/// ```text
/// four apart   A0 B0 A1 B1 A2 B2 A3 B3   with   A4 B4 A5 B5 A6 B6 A7 B7     factors repeat every 2 lanes
/// two apart    A0 B0 A4 B4 A1 B1 A5 B5   with   A2 B2 A6 B6 A3 B3 A7 B7     factors repeat every 4 lanes
/// one apart    A0 B0 A4 B4 A2 B2 A6 B6   with   A1 B1 A5 B5 A3 B3 A7 B7
/// ```
struct Orders {
    /// `A, B` to four apart.
    interleave: [Lanes; 2],
    /// Four apart to two apart.
    interleave_pairs: [Lanes; 2],
    /// One apart to `A, B`, and `A, B` to one apart.
    exchange: [Lanes; 2],
    /// Four apart to `A, B`.
    separate: [Lanes; 2],
}

impl Orders {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn new() -> Self {
        Self {
            interleave: [_mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15)],
            interleave_pairs: [_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15)],
            exchange: [_mm512_setr_epi64(0, 8, 4, 12, 2, 10, 6, 14), _mm512_setr_epi64(1, 9, 5, 13, 3, 11, 7, 15)],
            separate: [_mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15)],
        }
    }
}

/// Both vectors of an order, from `a` and `b`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn permute(a: Lanes, b: Lanes, order: &[Lanes; 2]) -> (Lanes, Lanes) {
    (_mm512_permutex2var_epi64(a, order[0], b), _mm512_permutex2var_epi64(a, order[1], b))
}

/// The factors of the stage four apart, for pair `pair`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn factors_four_apart(table: *const u64, pair: usize) -> (Lanes, Lanes) {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe {
        let at = table.add(FIRST_STAGE + 4 * pair);
        (_mm512_broadcast_i64x2(_mm_loadu_si128(at.cast())), _mm512_broadcast_i64x2(_mm_loadu_si128(at.add(2).cast())))
    }
}

/// The factors of the stage two apart.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn factors_two_apart(table: *const u64, pair: usize) -> (Lanes, Lanes) {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe {
        let at = table.add(MIDDLE_STAGE + 8 * pair);
        (_mm512_broadcast_i64x4(_mm256_loadu_si256(at.cast())), _mm512_broadcast_i64x4(_mm256_loadu_si256(at.add(4).cast())))
    }
}

/// The factors of the stage between neighbours.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn factors_one_apart(table: *const u64, pair: usize) -> (Lanes, Lanes) {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe {
        let at = table.add(LAST_STAGE + 16 * pair);
        (load(at), load(at.add(8)))
    }
}

/// The last six stages on `count` blocks of 64 words, and the reduction to `[0, q)`.
///
/// # Safety
/// `x` holds `64 count` words and `table` `INNER_TABLE count`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_inner<const WIDE: bool>(c: &Constants, x: *mut u64, table: *const u64, count: usize) {
    let orders = Orders::new();
    for block in 0..count {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * INNER);
            let table = table.add(block * INNER_TABLE);
            let mut v = [c.zero; 8];
            for k in 0..8 {
                v[k] = load(x.add(k * LANES));
            }
            forward_stages::<3, 8, WIDE>(c, &mut v, table);
            // Step by step over the pairs rather than pair by pair: four independent chains hide each other's latency.
            for pair in 0..4 {
                (v[2 * pair], v[2 * pair + 1]) = permute(v[2 * pair], v[2 * pair + 1], &orders.interleave);
            }
            for pair in 0..4 {
                let (w, quotient) = factors_four_apart(table, pair);
                (v[2 * pair], v[2 * pair + 1]) = forward_butterfly::<WIDE>(c, v[2 * pair], v[2 * pair + 1], w, quotient);
            }
            for pair in 0..4 {
                (v[2 * pair], v[2 * pair + 1]) = permute(v[2 * pair], v[2 * pair + 1], &orders.interleave_pairs);
            }
            for pair in 0..4 {
                let (w, quotient) = factors_two_apart(table, pair);
                (v[2 * pair], v[2 * pair + 1]) = forward_butterfly::<WIDE>(c, v[2 * pair], v[2 * pair + 1], w, quotient);
            }
            for pair in 0..4 {
                let (a, b) = (v[2 * pair], v[2 * pair + 1]);
                (v[2 * pair], v[2 * pair + 1]) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
            }
            for pair in 0..4 {
                let (w, quotient) = factors_one_apart(table, pair);
                (v[2 * pair], v[2 * pair + 1]) = forward_butterfly::<WIDE>(c, v[2 * pair], v[2 * pair + 1], w, quotient);
            }
            for k in 0..8 {
                v[k] = if WIDE { c.reduce_by(c.reduce_by(v[k], c.two_q), c.q) } else { c.reduce(v[k]) };
            }
            for pair in 0..4 {
                let (a, b) = permute(v[2 * pair], v[2 * pair + 1], &orders.exchange);
                store(x.add(2 * pair * LANES), a);
                store(x.add((2 * pair + 1) * LANES), b);
            }
        }
    }
}

/// The first six stages of the inverse on `count` blocks of 64 words.
///
/// # Safety
/// As [`forward_inner`].
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_inner<const WIDE: bool>(c: &Constants, x: *mut u64, table: *const u64, count: usize) {
    let orders = Orders::new();
    let bounds = [
        c.q,
        c.two_q,
        _mm512_slli_epi64(c.q, 2),
        _mm512_slli_epi64(c.q, 3),
        _mm512_slli_epi64(c.q, 4),
        _mm512_slli_epi64(c.q, 5),
    ];
    for block in 0..count {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * INNER);
            let table = table.add(block * INNER_TABLE);
            let mut v = [c.zero; 8];
            for pair in 0..4 {
                let (a, b) = (load(x.add(2 * pair * LANES)), load(x.add((2 * pair + 1) * LANES)));
                let (a, b) = permute(a, b, &orders.exchange);
                let (w, quotient) = factors_one_apart(table, pair);
                let (a, b) = inverse_butterfly::<WIDE>(c, a, b, w, quotient, bounds[0]);
                let (a, b) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
                let (w, quotient) = factors_two_apart(table, pair);
                let (a, b) = inverse_butterfly::<WIDE>(c, a, b, w, quotient, bounds[1]);
                let (a, b) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
                let (w, quotient) = factors_four_apart(table, pair);
                let (a, b) = inverse_butterfly::<WIDE>(c, a, b, w, quotient, bounds[2]);
                (v[2 * pair], v[2 * pair + 1]) = permute(a, b, &orders.separate);
            }
            for stage in 0..3 {
                let half = 1 << stage;
                let blocks = 4 >> stage;
                for group in 0..blocks {
                    let (w, quotient) = broadcast(table.add(2 * (blocks - 1 + group)));
                    for k in 2 * half * group..2 * half * group + half {
                        (v[k], v[k + half]) = inverse_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient, bounds[3 + stage]);
                    }
                }
            }
            if !WIDE {
                v[0] = c.reduce_junk(v[0]);
            }
            for k in 0..8 {
                store(x.add(k * LANES), v[k]);
            }
        }
    }
}
