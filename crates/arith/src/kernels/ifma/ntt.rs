//! The negacyclic transform on the 52-bit multiplier: passes of up to four stages in registers, then blocks
//! of 64 words, whose last three stages combine words of the same vector.
//!
//! # Order of work
//! `2^L` words take `L - 6` stages in register passes (each word loaded and stored once per pass) and six in
//! the block pass. Passes over more than `2^16` words come first; the others run block by block in the
//! second-level cache. The inverse runs the same passes in reverse order. Twiddles are stored in the order in
//! which they are read, each factor `w` next to its quotient `floor(w 2^52 / q)`. For the stages inside
//! vectors only the quotient is stored.
//!
//! # Ranges
//! Write `r(y) = y w - floor(y w' / 2^52) q` with `w' = floor(w 2^52 / q)`. From `w 2^52 / q - 1 < w'` and
//! `y < 2^52`, `y w / q - y / 2^52 - 1 < floor(y w' / 2^52) <= y w / q`, so
//! `0 <= r < (1 + y / 2^52) q < 2q < 2^52`. Three multiplier instructions give a word whose low 52 bits are
//! `r`; bit 52 is junk.
//!
//! **Narrow** (`max(4 L + 2, 64) q < 2^52`). The value of a word is in its low 52 bits; the bits above are
//! junk, which neither additions nor the multiplier carry down.
//! - Forward, `(x, y) <- (x + r, x - r)`. `2 q L` is added to the operands `x` of the first stage; a later
//!   `x` is an earlier output. By induction the true value after stage `s` lies in `[2q (L - s), q + 2q (L +
//!   s))`: the first stage starts from `x` in `[2qL, 2qL + q)`, and each stage changes a value by less than
//!   `2q` up or down. After `L` stages the value lies in `[0, (4L + 1) q)`, below 2^52, so no value ever
//!   exceeds 52 bits. One reduction ends the transform. In the same way, an `x` that starts below a bound `B`
//!   other than `q` ends below `B + 4 L q`; the range of the `y` of the first stage does not matter.
//! - Inverse, `(x, y) <- (x + y, r(x - y))`, where `x - y` must not be negative. The range of a product is
//!   `2q` wide; only sums grow, by a factor of two per stage. Register passes add a bound `b` of `y` to the
//!   difference. The block pass mostly avoids this addition:
//!   - A product can start from any multiple of `q` (its bias) at no cost, because its multiplier
//!     instructions accumulate. Of the three stages inside vectors, or the three between vectors, let `m` be
//!     still to come. The bias of a product is `q (a - b)`, where it contributes to an `x` in `a` of these
//!     `m` stages and to a `y` in `b` of them. Before such a stage, a sum of `k` products that is an `x` has
//!     the bias of its partner `y` plus `2q k`, the width of both ranges, so the difference lies in
//!     `(0, 4q k)`. Over all `2^m` products of the last sum the biases cancel, so the sum lies in
//!     `[0, 2q 2^m)`, as without biases.
//!   - The block's words, in `[0, q)`, are the terms of the first stage. Each `x` of that stage gets `q`,
//!     plus `2q` for each of the two further stages inside vectors in which its sum is an `x`: 5q, 3q, 3q or
//!     q. Differences of the first stage lie in `(0, 6q)`. The sums in the second stage lie in `[5q, 7q)` or
//!     `[3q, 5q)` as `x` and `[3q, 5q)` or `[q, 3q)` as `y`, in the third stage in `[8q, 12q)` and
//!     `[4q, 8q)`. The sum of all eight ends in `[12q, 20q)`, in lane 0; other lanes end in `[0, 8q)`.
//!   - Between vectors, a bound is added to differences of words that these three stages have not multiplied
//!     yet: `8q, 16q, 32q`, above the width of their ranges, so they stay below `64q`; in lane 0 both ranges
//!     have the same lower end, which cancels. The vector summed in all three stages ends below `64q`, except
//!     lane 0, which ends in `[96q, 160q)` and from which `96q` is subtracted (nothing multiplies it before).
//!
//!   So the block pass ends as if it had started from `[0, q)` without biases. Of the eight resulting
//!   vectors, the one summed in all three stages between vectors is below `64q` and is reduced to `2q`; one
//!   that was last multiplied three, two, one stages before the end is below `8q, 4q, 2q`. Register passes
//!   start below `8q`; after three stages a word that was a sum in every stage is below `64q` and is reduced,
//!   the others are below `8q`. A pass of four stages reduces the two words that are sums in its first three
//!   stages, and at the end the word that was multiplied in its first stage only (`16q`). All factors stay
//!   below `64q < 2^52`.
//!
//!   A decimation in time with the twist folded in would need no reduction at all. But its twist is one
//!   multiplication per word (as much as two stages), and its late stages need one vector of twiddles per
//!   position; here one word in eight is reduced per pass.
//!
//! **Wide** (`q < 2^50`). Words are exact. Forward: `x` and `y` in `[0, 4q)`, `x` reduced to `[0, 2q)` at
//! each stage (Harvey). Inverse: all values in `[0, 2q)`, sums reduced at each stage; `x - y + 2q < 4q <=
//! 2^52`.
//!
//! The last inverse stage multiplies sums by `1/n` and differences by `w/n`, so both end below `2q`.

use super::inner::{
    FORWARD, Fetch, INNER, INNER_STAGES, INNER_TABLE, INVERSE, Layout, fill_inner, forward_inner,
    inverse_inner,
};
use super::lanes::{Constants, LANES, Words, quotient52, splat};
use super::passes::{Places, forward_radix, inverse_radix};
use crate::aligned::AlignedWords;
use crate::kernels::scalar::RootPowers;
use crate::kernels::split::RADIX;
use crate::modulus::Modulus;

/// Stages of a block that stays in the second-level cache. Smaller blocks, for the first-level cache, were no
/// faster forward and a twentieth slower backward (measured), because every block starts new streams of words
/// and twiddles.
const BLOCK_STAGES: u32 = 16;

/// The smallest degree with a vector transform: one register pass and the block pass.
pub const MIN_DEGREE: usize = 128;

/// Stages of the head of a transform in two parts.
pub(super) const HEAD_STAGES: u32 = RADIX.trailing_zeros();

/// The smallest degree with a transform in two parts, because the innermost blocks are processed in pairs.
const MIN_SPLIT_DEGREE: usize = 2 * INNER * RADIX;

/// Smallest degree at which tables are prefetched. The tables of a ring with dozens of moduli exceed the
/// caches, and the hardware prefetcher does not follow their mixture of loads. At `2^16`, forward transforms
/// of 48 moduli take 0.6 times as long with prefetching, those of one modulus as long as without.
const FAR_DEGREE: usize = 1 << 15;

/// One register pass: `log_radix` stages on blocks of `2^log_radix` strides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    log_radix: u32,
    /// Number of stages before this pass, in the forward order.
    pub(super) stages_before: u32,
    /// Index of its first twiddle word.
    pub(super) twiddles: usize,
}

/// Tables and plan of one modulus and degree.
#[derive(Debug)]
pub struct Transform {
    pub(super) words: Words,
    pub(super) narrow: bool,
    pub(super) degree: usize,
    passes: Vec<Pass>,
    /// Number of passes that run over a complete block before its parts are processed one after another; the
    /// later passes run over all small blocks of a block.
    whole_block_passes: usize,
    /// The passes of the transform in two parts, the head first; empty where the degree is too small for it.
    pub(super) split: Vec<Pass>,
    /// Index of the first word of the innermost blocks' tables.
    pub(super) inner_twiddles: usize,
    pub(super) forward: AlignedWords,
    pub(super) inverse: AlignedWords,
    /// `1/n` and its quotient.
    inverse_degree: [u64; 2],
}

/// Whether the values of `stages` unreduced stages fit 52 bits; see the proof in the module documentation.
pub fn is_narrow(q: u64, stages: u32) -> bool {
    u128::from(q) * u128::from((4 * stages + 2).max(64)) < 1 << 52
}

/// Radices (as logarithms) of the register passes for `stages` stages, chosen by measurement. Sixteen rows
/// that are a multiple of 4 KiB apart map to one set of a twelve-way cache, so a radix of 16 comes last,
/// where rows are 512 bytes apart.
fn radices(stages: u32) -> Vec<u32> {
    match stages - INNER_STAGES {
        1..=4 => vec![stages - INNER_STAGES],
        5 => vec![2, 3],
        6 => vec![2, 4],
        7 => vec![3, 4],
        8 => vec![2, 2, 4],
        9 => vec![2, 3, 4],
        10 => vec![3, 3, 4],
        _ => vec![3, 2, 2, 4],
    }
}

/// Radices (as logarithms) of a transform in two parts: the head, then the passes of its blocks before their
/// last six stages.
fn split_radices(stages: u32) -> Vec<u32> {
    let mut radices = vec![HEAD_STAGES];
    match stages - INNER_STAGES - HEAD_STAGES {
        0 => {}
        rest @ 1..=4 => radices.push(rest),
        5 => radices.extend([2, 3]),
        6 => radices.extend([2, 4]),
        _ => radices.extend([3, 4]),
    }
    radices
}

impl Transform {
    /// Range: `q < 2^50`, degree at least [`MIN_DEGREE`].
    pub fn new(modulus: &Modulus, degree: usize, roots: &RootPowers) -> Self {
        let q = modulus.value();
        let stages = degree.trailing_zeros();
        let mut words = 0;
        let mut plan = |log_radices: Vec<u32>| {
            let mut stages_before = 0;
            let pass = |log_radix| {
                let pass = Pass { log_radix, stages_before, twiddles: words };
                words += (2 * ((1 << log_radix) - 1)) << stages_before;
                stages_before += log_radix;
                pass
            };
            log_radices.into_iter().map(pass).collect::<Vec<Pass>>()
        };
        let passes = plan(radices(stages));
        let split = plan(if degree >= MIN_SPLIT_DEGREE { split_radices(stages) } else { Vec::new() });
        // The last pass does not recurse, so that a call processes an even number of innermost blocks.
        let small = |pass: &Pass| stages - pass.stages_before <= BLOCK_STAGES;
        let whole_block_passes = passes.iter().position(small).unwrap_or(passes.len() - 1);
        let inner_twiddles = usize::next_multiple_of(words, LANES);
        let scaled = modulus.mul(roots.inverse[1], roots.inverse_degree);
        let inverse_power = |node: usize| if node == 1 { scaled } else { roots.inverse[node] };
        let table = |layout: &Layout, power: &dyn Fn(usize) -> u64| {
            let mut table = AlignedWords::zeroed(inner_twiddles + degree / INNER * INNER_TABLE);
            for pass in passes.iter().chain(&split) {
                fill_pass(&mut table[pass.twiddles..], pass, &|node| {
                    [power(node), quotient52(power(node), q)]
                });
            }
            for block in 0..degree / INNER {
                let start = inner_twiddles + block * INNER_TABLE;
                fill_inner(&mut table[start..start + INNER_TABLE], layout, degree / INNER + block, &|node| {
                    [power(node), quotient52(power(node), q)]
                });
            }
            table
        };
        Self {
            words: Words::new(*modulus),
            narrow: is_narrow(q, stages),
            degree,
            whole_block_passes,
            inner_twiddles,
            forward: table(&FORWARD, &|node| roots.forward[node]),
            inverse: table(&INVERSE, &inverse_power),
            inverse_degree: [roots.inverse_degree, quotient52(roots.inverse_degree, q)],
            passes,
            split,
        }
    }

    /// Forward transform.
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub unsafe fn forward(&self, x: &mut [u64]) {
        assert_eq!(x.len(), self.degree, "a row has `degree` words");
        let c = Constants::new(&self.words);
        // SAFETY: `x` has `degree` words, for which the plan and its tables were made.
        unsafe {
            if self.narrow {
                self.forward_block::<false>(&c, x.as_mut_ptr(), 0, 0);
            } else {
                self.forward_block::<true>(&c, x.as_mut_ptr(), 0, 0);
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
        let c = Constants::new(&self.words);
        // SAFETY: `x` has `degree` words, for which the plan and its tables were made.
        unsafe {
            if self.narrow {
                self.inverse_block::<false>(&c, x.as_mut_ptr(), 0, 0);
            } else {
                self.inverse_block::<true>(&c, x.as_mut_ptr(), 0, 0);
            }
        }
    }

    /// Runs the passes from index `depth` on over block number `block` of the first of them; `x` points to
    /// the block.
    ///
    /// # Safety
    /// `x` holds the block's words.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn forward_block<const WIDE: bool>(&self, c: &Constants, x: *mut u64, depth: usize, block: usize) {
        // SAFETY: a pass's blocks tile the block before it, and its table holds one entry per block.
        unsafe {
            if depth < self.whole_block_passes {
                let pass = &self.passes[depth];
                let stride = self.degree >> (pass.stages_before + pass.log_radix);
                self.forward_pass::<WIDE>(c, x, pass, block, 1);
                for child in 0..1 << pass.log_radix {
                    self.forward_block::<WIDE>(
                        c,
                        x.add(child * stride),
                        depth + 1,
                        (block << pass.log_radix) + child,
                    );
                }
            } else {
                let stages = self.passes[depth].stages_before;
                for pass in &self.passes[depth..] {
                    let log_count = pass.stages_before - stages;
                    self.forward_pass::<WIDE>(c, x, pass, block << log_count, 1 << log_count);
                }
                let count = (self.degree >> stages) / INNER;
                let table = self.forward.as_ptr().add(self.inner_twiddles + block * count * INNER_TABLE);
                forward_inner::<WIDE>(c, x, table, count, self.far_tables(), &mut [Fetch::NONE; 2]);
            }
        }
    }

    /// The inverse of the passes of [`Transform::forward_block`], in reverse order.
    ///
    /// # Safety
    /// As there.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn inverse_block<const WIDE: bool>(&self, c: &Constants, x: *mut u64, depth: usize, block: usize) {
        // SAFETY: as in `forward_block`.
        unsafe {
            if depth < self.whole_block_passes {
                let pass = &self.passes[depth];
                let stride = self.degree >> (pass.stages_before + pass.log_radix);
                for child in 0..1 << pass.log_radix {
                    self.inverse_block::<WIDE>(
                        c,
                        x.add(child * stride),
                        depth + 1,
                        (block << pass.log_radix) + child,
                    );
                }
                self.inverse_pass::<WIDE>(c, x, pass, block, 1);
            } else {
                let stages = self.passes[depth].stages_before;
                let count = (self.degree >> stages) / INNER;
                let table = self.inverse.as_ptr().add(self.inner_twiddles + block * count * INNER_TABLE);
                inverse_inner::<WIDE>(c, x, table, count, self.far_tables(), self.words.q);
                for pass in self.passes[depth..].iter().rev() {
                    let log_count = pass.stages_before - stages;
                    self.inverse_pass::<WIDE>(c, x, pass, block << log_count, 1 << log_count);
                }
            }
        }
    }

    /// Runs `count` blocks of `pass` from its block number `first` on; `x` points to that block.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub(super) unsafe fn forward_pass<const WIDE: bool>(
        &self,
        c: &Constants,
        x: *mut u64,
        pass: &Pass,
        first: usize,
        count: usize,
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.forward_pass_between::<WIDE>(c, Places::same(x, self.stride(pass)), pass, first, count)
        }
    }

    /// Whether the degree is so large that the tables of a ring's moduli exceed the caches.
    pub(super) fn far_tables(&self) -> bool {
        self.degree >= FAR_DEGREE
    }

    /// Words between the rows of a pass.
    pub(super) fn stride(&self, pass: &Pass) -> usize {
        self.degree >> (pass.stages_before + pass.log_radix)
    }

    /// [`Transform::forward_pass`] from one place in memory to another.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub(super) unsafe fn forward_pass_between<const WIDE: bool>(
        &self,
        c: &Constants,
        places: Places,
        pass: &Pass,
        first: usize,
        count: usize,
    ) {
        let table = &self.forward[pass.twiddles + first * 2 * ((1 << pass.log_radix) - 1)..];
        let table = table.as_ptr();
        // SAFETY: the caller's block lies in the row, its table in `forward`.
        unsafe {
            if pass.stages_before == 0 {
                let offset = splat(2 * self.words.q * u64::from(self.degree.trailing_zeros()));
                match pass.log_radix {
                    1 => forward_radix::<1, 2, WIDE, true>(c, places, table, count, offset),
                    2 => forward_radix::<2, 4, WIDE, true>(c, places, table, count, offset),
                    3 => forward_radix::<3, 8, WIDE, true>(c, places, table, count, offset),
                    _ => forward_radix::<4, 16, WIDE, true>(c, places, table, count, offset),
                }
            } else {
                match pass.log_radix {
                    1 => forward_radix::<1, 2, WIDE, false>(c, places, table, count, c.zero),
                    2 => forward_radix::<2, 4, WIDE, false>(c, places, table, count, c.zero),
                    3 => forward_radix::<3, 8, WIDE, false>(c, places, table, count, c.zero),
                    _ => forward_radix::<4, 16, WIDE, false>(c, places, table, count, c.zero),
                }
            }
        }
    }

    /// The inverse of [`Transform::forward_pass`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn inverse_pass<const WIDE: bool>(
        &self,
        c: &Constants,
        x: *mut u64,
        pass: &Pass,
        first: usize,
        count: usize,
    ) {
        let stride = self.degree >> (pass.stages_before + pass.log_radix);
        let table = &self.inverse[pass.twiddles + first * 2 * ((1 << pass.log_radix) - 1)..];
        let table = table.as_ptr();
        let scale = &self.inverse_degree;
        // SAFETY: the caller's block lies in the row, its table in `inverse`.
        unsafe {
            if pass.stages_before == 0 {
                match pass.log_radix {
                    1 => inverse_radix::<1, 2, 8, WIDE, true>(c, x, table, count, stride, scale),
                    2 => inverse_radix::<2, 4, 4, WIDE, true>(c, x, table, count, stride, scale),
                    3 => inverse_radix::<3, 8, 2, WIDE, true>(c, x, table, count, stride, scale),
                    _ => inverse_radix::<4, 16, 1, WIDE, true>(c, x, table, count, stride, scale),
                }
            } else {
                match pass.log_radix {
                    1 => inverse_radix::<1, 2, 8, WIDE, false>(c, x, table, count, stride, scale),
                    2 => inverse_radix::<2, 4, 4, WIDE, false>(c, x, table, count, stride, scale),
                    3 => inverse_radix::<3, 8, 2, WIDE, false>(c, x, table, count, stride, scale),
                    _ => inverse_radix::<4, 16, 1, WIDE, false>(c, x, table, count, stride, scale),
                }
            }
        }
    }
}

/// Writes the factors of a register pass: per block and stage, each factor and its quotient.
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
