//! The negacyclic transform on the 52-bit multiplier: passes of up to four stages in registers, then blocks of 64 words
//! whose last three stages stay inside vectors.
//!
//! # Order of work
//! `2^L` words take `L - 6` stages in register passes (each word loaded and stored once per pass) and six in the block
//! pass. Passes over more than `2^12` words come first and stream through the second-level cache; the rest runs block by
//! block in the first-level cache. The inverse runs the same passes backwards. Twiddles lie in the order in which they are
//! read, each factor `w` next to its quotient `floor(w 2^52 / q)`; the stages inside vectors store the quotient only.
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
//! - Inverse, `(x, y) <- (x + y, r(x - y))`, where `x - y` must not be negative. Products span `2q`; only sums grow, twofold a
//!   stage. Register passes add a bound `b` of `y` to the difference. The block pass mostly does without:
//!   - A product may start from any multiple of `q` at no cost, as its multiplier instructions add to it. Where `m` stages
//!     inside vectors (of three), or between them, are yet to come, it starts from `q` times the number of these stages in
//!     which it goes into an `x` less those in which it goes into a `y`. Before such a stage, a sum of `k` products that is an
//!     `x` has the bias of its partner `y` plus `2q k`, the width of both, so the difference lies in `(0, 4q k)`. Over all `2^m`
//!     products of the last sum the biases cancel: it lies in `[0, 2q 2^m)`, as if there had been none.
//!   - The block's words, in `[0, q)`, are the first stage's terms; each of its `x` gets `q` plus `2q` for each of the two
//!     further stages inside vectors in which its sum is an `x`: 5q, 3q, 3q or q. Differences there lie in `(0, 6q)`. The sums in
//!     the second stage lie in `[5q, 7q)` or `[3q, 5q)` as `x` and `[3q, 5q)` or `[q, 3q)` as `y`, in the third in `[8q, 12q)` and
//!     `[4q, 8q)`. The sum of all eight ends in `[12q, 20q)`, in lane 0; other lanes end in `[0, 8q)`.
//!   - Between vectors, differences of words not yet multiplied in these three stages get a bound added: `8q, 16q, 32q`, above
//!     the width of their ranges, and stay below `64q`; lane 0's lower ends are equal and cancel. The vector summed in all
//!     three stages ends below `64q`, in lane 0 in `[96q, 160q)`, from which `96q` is taken (nothing multiplies it before).
//!
//!   So the block pass ends as if from `[0, q)` without biases: of the eight vectors that come out, the one summed in all three
//!   stages between vectors is below `64q` and is reduced to `2q`; one that was last multiplied three, two, one stages before
//!   the end is below `8q, 4q, 2q`. Register passes start below `8q`; after three stages a word summed throughout is below
//!   `64q` and is reduced, the others are below `8q`. A pass of four stages reduces the two words summed in its first three
//!   stages, and at the end the one multiplied in its first stage only (`16q`). All factors stay below `64q < 2^52`.
//!
//!   A decimation in time with the twist folded in would need no reduction at all, but its twist is one multiplication per
//!   word (two stages' worth) and its late twiddles are one vector per position; here one word in eight is reduced per pass.
//!
//! **Wide** (`q < 2^50`). Words are exact. Forward: `x` and `y` in `[0, 4q)`, `x` reduced to `[0, 2q)` at each stage
//! (Harvey). Inverse: everything in `[0, 2q)`, sums reduced at each stage; `x - y + 2q < 4q <= 2^52`.
//!
//! The last inverse stage multiplies sums by `1/n` and differences by `w/n`, so both end below `2q`.

use std::arch::x86_64::*;

use super::lanes::{Constants, LANES, Lanes, Words, add, load, multiply_high, multiply_low, quotient52, splat, store, sub};
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
const INNER_TABLE: usize = 72;

/// Where the parts of a block's table start, each direction in its order of reading, as the hardware's prefetching likes.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Stages between vectors: seven factors, each next to its quotient, in 16 words.
    broadcast: usize,
    /// The stage between words four apart: 2 quotients per pair of vectors.
    four_apart: usize,
    /// The stage between words two apart: 4 quotients per pair.
    two_apart: usize,
    /// The stage between neighbours: 8 quotients per pair.
    one_apart: usize,
    /// That stage's lanes: whether of `A` or `B`, and which pair of neighbours there.
    one_apart_lanes: [(usize, usize); LANES],
}

const FORWARD: Layout = Layout {
    broadcast: 0,
    four_apart: 16,
    two_apart: 24,
    one_apart: 40,
    one_apart_lanes: [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
};
const INVERSE: Layout = Layout {
    one_apart: 0,
    two_apart: 32,
    four_apart: 48,
    broadcast: 56,
    one_apart_lanes: [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)],
};

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
    /// Passes that finish a block before its parts are visited one by one; the others run over small blocks at once.
    whole_block_passes: usize,
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

/// Radices (as logarithms) of the register passes for `stages` stages, by measurement. Sixteen rows a multiple of 4 KiB apart
/// fall into one set of a twelve-way cache, so a radix of 16 comes last, where rows are 512 bytes apart.
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

impl Transform {
    /// Range: `q < 2^50`, degree at least [`MIN_DEGREE`].
    pub fn new(modulus: &Modulus, degree: usize, roots: &RootPowers) -> Self {
        let q = modulus.value();
        let stages = degree.trailing_zeros();
        let log_radices = radices(stages);
        let mut passes = Vec::with_capacity(log_radices.len());
        let (mut stages_before, mut words) = (0, 0);
        for log_radix in log_radices {
            passes.push(Pass { log_radix, stages_before, twiddles: words });
            words += (2 * ((1 << log_radix) - 1)) << stages_before;
            stages_before += log_radix;
        }
        // A block's last pass never recurses, so that the innermost blocks come in even numbers.
        let small = |pass: &Pass| stages - pass.stages_before <= BLOCK_STAGES;
        let whole_block_passes = passes.iter().position(small).unwrap_or(passes.len() - 1);
        let inner_twiddles = usize::next_multiple_of(words, LANES);
        let scaled = modulus.mul(roots.inverse[1], roots.inverse_degree);
        let inverse_power = |node: usize| if node == 1 { scaled } else { roots.inverse[node] };
        let table = |layout: &Layout, power: &dyn Fn(usize) -> u64| {
            let mut table = AlignedWords::zeroed(inner_twiddles + degree / INNER * INNER_TABLE);
            for pass in &passes {
                fill_pass(&mut table[pass.twiddles..], pass, &|node| [power(node), quotient52(power(node), q)]);
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

    /// Runs the passes from number `depth` on over one block of theirs, the `block`-th; `x` points to it.
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
                    self.forward_block::<WIDE>(c, x.add(child * stride), depth + 1, (block << pass.log_radix) + child);
                }
            } else {
                let stages = self.passes[depth].stages_before;
                for pass in &self.passes[depth..] {
                    let log_count = pass.stages_before - stages;
                    self.forward_pass::<WIDE>(c, x, pass, block << log_count, 1 << log_count);
                }
                let count = (self.degree >> stages) / INNER;
                let table = self.forward.as_ptr().add(self.inner_twiddles + block * count * INNER_TABLE);
                forward_inner::<WIDE>(c, x, table, count);
            }
        }
    }

    /// [`Transform::forward_block`] backwards.
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
                    self.inverse_block::<WIDE>(c, x.add(child * stride), depth + 1, (block << pass.log_radix) + child);
                }
                self.inverse_pass::<WIDE>(c, x, pass, block, 1);
            } else {
                let stages = self.passes[depth].stages_before;
                let count = (self.degree >> stages) / INNER;
                let table = self.inverse.as_ptr().add(self.inner_twiddles + block * count * INNER_TABLE);
                inverse_inner::<WIDE>(c, x, table, count, self.words.q);
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
fn fill_inner(table: &mut [u64], layout: &Layout, node: usize, factor: &dyn Fn(usize) -> [u64; 2]) {
    for stage in 0..3 {
        for i in 0..1 << stage {
            let at = layout.broadcast + 2 * ((1 << stage) - 1 + i);
            table[at..at + 2].copy_from_slice(&factor((node << stage) + i));
        }
    }
    let mut lanes = |at: usize, nodes: &[usize]| {
        for (lane, &node) in nodes.iter().enumerate() {
            table[at + lane] = factor(node)[1];
        }
    };
    for pair in 0..4 {
        let a = (node << 3) + 2 * pair;
        let b = a + 1;
        lanes(layout.four_apart + 2 * pair, &[a, b]);
        lanes(layout.two_apart + 4 * pair, &[2 * a, 2 * b, 2 * a + 1, 2 * b + 1]);
        lanes(layout.one_apart + 8 * pair, &layout.one_apart_lanes.map(|(vector, group)| 4 * [a, b][vector] + group));
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
        // Accumulating on x saves an addition; x - r = 2 x - (x + r).
        let h = multiply_high(c.zero, y, w_quotient);
        let sum = multiply_low(multiply_low(x, y, w), h, c.negative_q);
        (sum, sub(add(x, x), sum))
    }
}

/// `(x, y) <- (x + y, w (x - y))`; `bound` is a multiple of `q` above `y - x`, added to the difference where there is one;
/// `bias`, another multiple, is added to the product. Wide words need neither.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn inverse_butterfly<const WIDE: bool>(
    c: &Constants,
    x: Lanes,
    y: Lanes,
    w: Lanes,
    w_quotient: Lanes,
    bound: Option<Lanes>,
    bias: Lanes,
) -> (Lanes, Lanes) {
    let sum = add(x, y);
    if WIDE {
        (c.reduce_by(sum, c.two_q), c.mul_lazy(sub(add(x, c.two_q), y), w, w_quotient))
    } else {
        let difference = bound.map_or(sub(x, y), |bound| sub(add(x, bound), y));
        let h = multiply_high(c.zero, difference, w_quotient);
        (sum, multiply_low(multiply_low(bias, difference, w), h, c.negative_q))
    }
}

/// The factor at `table` and its quotient, each in every lane.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn broadcast(table: *const u64) -> (Lanes, Lanes) {
    // SAFETY: the caller's table holds the pair.
    unsafe { (splat(*table), splat(*table.add(1))) }
}

/// Stage `S` of a register pass on `R` vectors. One flat loop, which the compiler unrolls whole.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_stage<const S: usize, const R: usize, const WIDE: bool>(c: &Constants, v: &mut [Lanes; R], table: *const u64) {
    let half = R >> (S + 1);
    for butterfly in 0..R / 2 {
        let (group, i) = (butterfly / half, butterfly % half);
        // SAFETY: the table holds R - 1 pairs.
        let (w, quotient) = unsafe { broadcast(table.add(2 * ((1 << S) - 1 + group))) };
        let k = 2 * half * group + i;
        (v[k], v[k + half]) = forward_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient);
    }
}

/// Stage `S` of an inverse pass on `R` vectors, finest first.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_stage<const S: usize, const R: usize, const WIDE: bool>(
    c: &Constants,
    v: &mut [Lanes; R],
    table: *const u64,
    bound: Lanes,
) {
    let half = 1 << S;
    for butterfly in 0..R / 2 {
        let (group, i) = (butterfly / half, butterfly % half);
        // SAFETY: the table holds R - 1 pairs.
        let (w, quotient) = unsafe { broadcast(table.add(2 * ((R >> (S + 1)) - 1 + group))) };
        let k = 2 * half * group + i;
        (v[k], v[k + half]) = inverse_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient, Some(bound), c.zero);
    }
}

/// Stage `S` of the innermost block's three between vectors, finest first. Only differences of sums from before get a bound
/// added; products are biased by `biases`, the multiples of `q` from -2 to 2, by the roles they have yet to play.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_biased_stage<const S: usize, const WIDE: bool>(
    c: &Constants,
    v: &mut [Lanes],
    table: *const u64,
    bound: Lanes,
    biases: &[Lanes; 5],
) {
    let half = 1 << S;
    for butterfly in 0..4 {
        let (group, i) = (butterfly / half, butterfly % half);
        // SAFETY: the table holds seven pairs.
        let (w, quotient) = unsafe { broadcast(table.add(2 * ((4 >> S) - 1 + group))) };
        let k = 2 * half * group + i;
        // A stage to come in which the product is the first term gives q, the second term -q.
        let bias = biases[4 - S - 2 * group.count_ones() as usize];
        let bound = if i == 0 { Some(bound) } else { None };
        (v[k], v[k + half]) = inverse_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient, bound, bias);
    }
}

/// The inverse's last stage: sums times `1/n`, differences times the table's `w/n`, all reduced to `[0, q)`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_last_stage<const R: usize>(c: &Constants, v: &mut [Lanes; R], table: *const u64, bound: Lanes, scale: &[u64; 2]) {
    // SAFETY: the table holds at least one pair.
    let (w, quotient) = unsafe { broadcast(table) };
    let (scale, scale_quotient) = (splat(scale[0]), splat(scale[1]));
    for k in 0..R / 2 {
        let (x, y) = (v[k], v[k + R / 2]);
        v[k] = c.reduce_by(c.mul_lazy(add(x, y), scale, scale_quotient), c.q);
        v[k + R / 2] = c.reduce_by(c.mul_lazy(sub(add(x, bound), y), w, quotient), c.q);
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
                forward_stage::<0, R, WIDE>(c, &mut v, table);
                if K > 1 {
                    forward_stage::<1, R, WIDE>(c, &mut v, table);
                }
                if K > 2 {
                    forward_stage::<2, R, WIDE>(c, &mut v, table);
                }
                if K > 3 {
                    forward_stage::<3, R, WIDE>(c, &mut v, table);
                }
                for k in 0..R {
                    store(x.add(i + k * stride), v[k]);
                }
            }
        }
    }
}

/// One register pass of the inverse over `count` blocks of `R` strides, `COLUMNS` vectors of each row at a time; `LAST` ends
/// the transform.
///
/// # Safety
/// As [`forward_radix`]; `8 COLUMNS` divides `stride`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_radix<const K: usize, const R: usize, const COLUMNS: usize, const WIDE: bool, const LAST: bool>(
    c: &Constants,
    x: *mut u64,
    table: *const u64,
    count: usize,
    stride: usize,
    scale: &[u64; 2],
) {
    let bounds = [_mm512_slli_epi64(c.q, 3), _mm512_slli_epi64(c.q, 4), _mm512_slli_epi64(c.q, 5), _mm512_slli_epi64(c.q, 3)];
    for block in 0..count {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * R * stride);
            let table = table.add(block * 2 * (R - 1));
            for i in (0..stride).step_by(COLUMNS * LANES) {
                let mut columns = [[c.zero; R]; COLUMNS];
                for (column, v) in columns.iter_mut().enumerate() {
                    for k in 0..R {
                        v[k] = load(x.add(i + column * LANES + k * stride));
                    }
                }
                let inner_stages = if LAST { K - 1 } else { K };
                if inner_stages > 0 {
                    columns.iter_mut().for_each(|v| inverse_stage::<0, R, WIDE>(c, v, table, bounds[0]));
                }
                if inner_stages > 1 {
                    columns.iter_mut().for_each(|v| inverse_stage::<1, R, WIDE>(c, v, table, bounds[1]));
                }
                if inner_stages > 2 {
                    columns.iter_mut().for_each(|v| inverse_stage::<2, R, WIDE>(c, v, table, bounds[2]));
                }
                for v in &mut columns {
                    if !WIDE && K > 3 {
                        v[0] = c.reduce_junk(v[0]);
                        v[R / 2] = c.reduce_junk(v[R / 2]);
                    }
                    if inner_stages > 3 {
                        inverse_stage::<3, R, WIDE>(c, v, table, bounds[3]);
                    }
                    if LAST {
                        inverse_last_stage::<R>(c, v, table, if WIDE { c.two_q } else { bounds[K - 1] }, scale);
                    }
                    if !WIDE && !LAST {
                        if K <= 3 {
                            v[0] = c.reduce_junk(v[0]);
                        } else {
                            v[1] = c.reduce_junk(v[1]);
                        }
                    }
                }
                for (column, v) in columns.iter().enumerate() {
                    for k in 0..R {
                        store(x.add(i + column * LANES + k * stride), v[k]);
                    }
                }
            }
        }
    }
}

/// Lane orders of the stages inside vectors. With `A`, `B` two neighbouring vectors, forward:
///
/// ```text
/// four apart   A0 A1 A2 A3 B0 B1 B2 B3   with   A4 A5 A6 A7 B4 B5 B6 B7     one factor per four lanes
/// two apart    A0 A1 B0 B1 A4 A5 B4 B5   with   A2 A3 B2 B3 A6 A7 B6 B7     one factor per two lanes
/// one apart    A0 A2 B0 B2 A4 A6 B4 B6   with   A1 A3 B1 B3 A5 A7 B5 B7
/// ```
///
/// and inverse:
///
/// ```text
/// one apart    A0 B0 A2 B2 A4 B4 A6 B6   with   A1 B1 A3 B3 A5 B5 A7 B7
/// two apart    A0 B0 A4 B4 A1 B1 A5 B5   with   A2 B2 A6 B6 A3 B3 A7 B7     factors repeat every 4 lanes
/// four apart   A0 B0 A1 B1 A2 B2 A3 B3   with   A4 B4 A5 B5 A6 B6 A7 B7     factors repeat every 2 lanes
/// ```
///
/// Every step but the last is a shuffle that leaves the multiplier's two pipes alone, where a permutation of two vectors at
/// will (`vpermt2q`) competes with it.
struct Orders {
    /// The forward's one apart to `A, B`.
    interleave: [Lanes; 2],
    /// The inverse's four apart to `A, B`.
    separate: [Lanes; 2],
    /// Two words to four lanes each.
    fours: Lanes,
    /// Four words to two lanes each.
    twos: Lanes,
    /// 1 in every lane.
    one: Lanes,
}

impl Orders {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn new() -> Self {
        Self {
            interleave: [_mm512_setr_epi64(0, 8, 1, 9, 4, 12, 5, 13), _mm512_setr_epi64(2, 10, 3, 11, 6, 14, 7, 15)],
            separate: [_mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15)],
            fours: _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1),
            twos: _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3),
            one: splat(1),
        }
    }
}

/// Both vectors of an order, from `a` and `b`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn permute(a: Lanes, b: Lanes, order: &[Lanes; 2]) -> (Lanes, Lanes) {
    (_mm512_permutex2var_epi64(a, order[0], b), _mm512_permutex2var_epi64(a, order[1], b))
}

/// A factor from its quotient. The stages inside vectors store quotients only: from `w 2^52 / q - 1 < w' <= w 2^52 / q`, where
/// `0 < w < q < 2^52` leaves no equality, `w - q / 2^52 < w' q / 2^52 < w`, so `w = floor(w' q / 2^52) + 1`. One instruction
/// halves the largest part of the table, which long rows read from far.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn with_factor(c: &Constants, quotient: Lanes, one: Lanes) -> (Lanes, Lanes) {
    (multiply_high(one, quotient, c.q), quotient)
}

/// The quotients of the forward's stage four apart, for pair `pair`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_four_apart(table: *const u64, pair: usize, orders: &Orders) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    let words = unsafe { _mm_loadu_si128(table.add(pair / 4 * INNER_TABLE + FORWARD.four_apart + 2 * (pair % 4)).cast()) };
    _mm512_permutexvar_epi64(orders.fours, _mm512_castsi128_si512(words))
}

/// The quotients of the forward's stage two apart.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_two_apart(table: *const u64, pair: usize, orders: &Orders) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    let words = unsafe { _mm256_loadu_si256(table.add(pair / 4 * INNER_TABLE + FORWARD.two_apart + 4 * (pair % 4)).cast()) };
    _mm512_permutexvar_epi64(orders.twos, _mm512_castsi256_si512(words))
}

/// The quotients of the inverse's stage four apart.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_four_apart(table: *const u64, pair: usize) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe { _mm512_broadcast_i64x2(_mm_loadu_si128(table.add(pair / 4 * INNER_TABLE + INVERSE.four_apart + 2 * (pair % 4)).cast())) }
}

/// The quotients of the inverse's stage two apart.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_two_apart(table: *const u64, pair: usize) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe { _mm512_broadcast_i64x4(_mm256_loadu_si256(table.add(pair / 4 * INNER_TABLE + INVERSE.two_apart + 4 * (pair % 4)).cast())) }
}

/// The quotients of the stage between neighbours.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn one_apart(layout: Layout, table: *const u64, pair: usize) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe { load(table.add(pair / 4 * INNER_TABLE + layout.one_apart + 8 * (pair % 4))) }
}

/// Innermost blocks worked on side by side: one block's chain of dependent instructions is longer than the machine looks ahead.
const SIDE_BY_SIDE: usize = 2;

/// The last six stages on `count` blocks of 64 words, and the reduction to `[0, q)`.
///
/// # Safety
/// `x` holds `64 count` words and `table` `INNER_TABLE count`; `count` is even.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_inner<const WIDE: bool>(c: &Constants, x: *mut u64, table: *const u64, count: usize) {
    let orders = Orders::new();
    for block in (0..count).step_by(SIDE_BY_SIDE) {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * INNER);
            let table = table.add(block * INNER_TABLE);
            let mut v = [c.zero; 8 * SIDE_BY_SIDE];
            for k in 0..8 * SIDE_BY_SIDE {
                v[k] = load(x.add(k * LANES));
            }
            for stage in 0..3 {
                let half = 4 >> stage;
                for side in 0..SIDE_BY_SIDE {
                    for group in 0..1 << stage {
                        let (w, quotient) = broadcast(table.add(side * INNER_TABLE + FORWARD.broadcast + 2 * ((1 << stage) - 1 + group)));
                        let first = 8 * side + 2 * half * group;
                        for k in first..first + half {
                            (v[k], v[k + half]) = forward_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient);
                        }
                    }
                }
            }
            for pair in 0..4 * SIDE_BY_SIDE {
                let (a, b) = (v[2 * pair], v[2 * pair + 1]);
                let (a, b) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
                let (w, quotient) = with_factor(c, forward_four_apart(table, pair, &orders), orders.one);
                (v[2 * pair], v[2 * pair + 1]) = forward_butterfly::<WIDE>(c, a, b, w, quotient);
            }
            for pair in 0..4 * SIDE_BY_SIDE {
                let (a, b) = (v[2 * pair], v[2 * pair + 1]);
                let (a, b) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
                let (w, quotient) = with_factor(c, forward_two_apart(table, pair, &orders), orders.one);
                (v[2 * pair], v[2 * pair + 1]) = forward_butterfly::<WIDE>(c, a, b, w, quotient);
            }
            for pair in 0..4 * SIDE_BY_SIDE {
                let (a, b) = (v[2 * pair], v[2 * pair + 1]);
                let (a, b) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
                let (w, quotient) = with_factor(c, one_apart(FORWARD, table, pair), orders.one);
                (v[2 * pair], v[2 * pair + 1]) = forward_butterfly::<WIDE>(c, a, b, w, quotient);
            }
            for pair in 0..4 * SIDE_BY_SIDE {
                let (a, b) = (v[2 * pair], v[2 * pair + 1]);
                let (a, b) = if WIDE {
                    (c.reduce_by(c.reduce_by(a, c.two_q), c.q), c.reduce_by(c.reduce_by(b, c.two_q), c.q))
                } else {
                    (c.reduce(a), c.reduce(b))
                };
                let (a, b) = permute(a, b, &orders.interleave);
                store(x.add(2 * pair * LANES), a);
                store(x.add((2 * pair + 1) * LANES), b);
            }
        }
    }
}

/// Biases of the inverse's stages inside vectors, modulo 2^64, each in its stage's order of lanes; see the module's proof.
struct LaneBiases {
    /// To the first terms of the first stage.
    first_terms: Lanes,
    /// To that stage's products.
    one_apart: Lanes,
    /// To the second stage's products.
    two_apart: Lanes,
    /// What takes the first terms' bias out of the sum of 64 words.
    last: Lanes,
}

impl LaneBiases {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn new(q: u64) -> Self {
        let q = q.cast_signed();
        let lanes = |m: [i64; LANES]| _mm512_setr_epi64(m[0] * q, m[1] * q, m[2] * q, m[3] * q, m[4] * q, m[5] * q, m[6] * q, m[7] * q);
        Self {
            first_terms: lanes([5, 5, 3, 3, 3, 3, 1, 1]),
            one_apart: lanes([2, 2, 0, 0, 0, 0, -2, -2]),
            two_apart: lanes([1, 1, -1, -1, 1, 1, -1, -1]),
            last: lanes([-96, 0, 0, 0, 0, 0, 0, 0]),
        }
    }
}

/// The first six stages of the inverse on `count` blocks of 64 words.
///
/// # Safety
/// As [`forward_inner`].
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_inner<const WIDE: bool>(c: &Constants, x: *mut u64, table: *const u64, count: usize, q: u64) {
    let orders = Orders::new();
    // `m q` for `m` from -2 to 2, modulo 2^64.
    let biases = [-2, -1, 0, 1, 2].map(|m| _mm512_set1_epi64(m * q.cast_signed()));
    let lane_biases = LaneBiases::new(q);
    let bounds = [_mm512_slli_epi64(c.q, 3), _mm512_slli_epi64(c.q, 4), _mm512_slli_epi64(c.q, 5)];
    for block in (0..count).step_by(SIDE_BY_SIDE) {
        // SAFETY: within the caller's words.
        unsafe {
            let x = x.add(block * INNER);
            let table = table.add(block * INNER_TABLE);
            let mut v = [c.zero; 8 * SIDE_BY_SIDE];
            for pair in 0..4 * SIDE_BY_SIDE {
                let (a, b) = (load(x.add(2 * pair * LANES)), load(x.add((2 * pair + 1) * LANES)));
                let (a, b) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
                let a = if WIDE { a } else { add(a, lane_biases.first_terms) };
                let (w, quotient) = with_factor(c, one_apart(INVERSE, table, pair), orders.one);
                (v[2 * pair], v[2 * pair + 1]) = inverse_butterfly::<WIDE>(c, a, b, w, quotient, None, lane_biases.one_apart);
            }
            for pair in 0..4 * SIDE_BY_SIDE {
                let (a, b) = (v[2 * pair], v[2 * pair + 1]);
                let (a, b) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
                let (w, quotient) = with_factor(c, inverse_two_apart(table, pair), orders.one);
                (v[2 * pair], v[2 * pair + 1]) = inverse_butterfly::<WIDE>(c, a, b, w, quotient, None, lane_biases.two_apart);
            }
            for pair in 0..4 * SIDE_BY_SIDE {
                let (a, b) = (v[2 * pair], v[2 * pair + 1]);
                let (a, b) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
                let (w, quotient) = with_factor(c, inverse_four_apart(table, pair), orders.one);
                let (a, b) = inverse_butterfly::<WIDE>(c, a, b, w, quotient, None, c.zero);
                (v[2 * pair], v[2 * pair + 1]) = permute(a, b, &orders.separate);
            }
            let factors = |side: usize| table.add(side * INNER_TABLE + INVERSE.broadcast);
            for (side, v) in v.chunks_exact_mut(8).enumerate() {
                inverse_biased_stage::<0, WIDE>(c, v, factors(side), bounds[0], &biases);
            }
            for (side, v) in v.chunks_exact_mut(8).enumerate() {
                inverse_biased_stage::<1, WIDE>(c, v, factors(side), bounds[1], &biases);
            }
            for (side, v) in v.chunks_exact_mut(8).enumerate() {
                inverse_biased_stage::<2, WIDE>(c, v, factors(side), bounds[2], &biases);
            }
            for k in 0..8 * SIDE_BY_SIDE {
                if !WIDE && k % 8 == 0 {
                    v[k] = c.reduce_junk(add(v[k], lane_biases.last));
                }
                store(x.add(k * LANES), v[k]);
            }
        }
    }
}
