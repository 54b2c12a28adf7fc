//! The innermost blocks of the transform: 64 words in eight vectors, whose six stages are computed in one
//! pass. In the forward direction, the last three of these stages combine words of the same vector. Ranges:
//! [`super::ntt`].

use std::arch::x86_64::*;

use super::lanes::{Constants, LANES, Lanes, add, load, multiply_high, splat, store};
use super::passes::{broadcast, forward_butterfly, inverse_butterfly};
use crate::kernels::split::Ahead;

/// Words of an innermost block, which goes through the last six stages in one pass.
pub const INNER: usize = 64;

/// Stages of the innermost block.
pub const INNER_STAGES: u32 = 6;

/// Twiddle words per block of 64.
pub const INNER_TABLE: usize = 72;

/// Offsets, in words, of the parts of a block's table. Each direction stores them in the order in which it
/// reads them, which suits hardware prefetching.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Stages between vectors: seven factors, each next to its quotient, in 16 words.
    broadcast: usize,
    /// The stage between words four apart: 2 quotients per pair of vectors.
    pub(super) four_apart: usize,
    /// The stage between words two apart: 4 quotients per pair.
    pub(super) two_apart: usize,
    /// The stage between neighbours: 8 quotients per pair.
    pub(super) one_apart: usize,
    /// For each lane of that stage: 0 for `A` or 1 for `B`, and the index of the pair of neighbours in it.
    pub(super) one_apart_lanes: [(usize, usize); LANES],
}

/// For each of four pairs of lanes of the stage between words two apart: 0 for `A` or 1 for `B`, and which
/// half of it.
pub(super) const TWO_APART_LANES: [(usize, usize); LANES / 2] = [(0, 0), (1, 0), (0, 1), (1, 1)];

pub const FORWARD: Layout = Layout {
    broadcast: 0,
    four_apart: 16,
    two_apart: 24,
    one_apart: 40,
    one_apart_lanes: [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
};
pub const INVERSE: Layout = Layout {
    one_apart: 0,
    two_apart: 32,
    four_apart: 48,
    broadcast: 56,
    one_apart_lanes: [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)],
};

/// Writes the table of the innermost block at `node`: seven factors and quotients to be broadcast, then the
/// quotients of each of its four pairs of vectors `(A, B)`, in the lane orders of [`forward_inner`].
pub fn fill_inner(table: &mut [u64], layout: &Layout, node: usize, factor: &dyn Fn(usize) -> [u64; 2]) {
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
        lanes(
            layout.two_apart + 4 * pair,
            &TWO_APART_LANES.map(|(vector, group)| 2 * [a, b][vector] + group),
        );
        lanes(
            layout.one_apart + 8 * pair,
            &layout.one_apart_lanes.map(|(vector, group)| 4 * [a, b][vector] + group),
        );
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
/// Every step but the last is a shuffle that runs on other execution ports than the multiplier; an arbitrary
/// permutation of two vectors (`vpermt2q`) occupies the two ports of the multiplier (measured).
struct Orders {
    /// From the forward order "one apart" to `A, B`.
    interleave: [Lanes; 2],
    /// From the inverse order "four apart" to `A, B`.
    separate: [Lanes; 2],
    /// Repeats each of two words in four lanes.
    fours: Lanes,
    /// Repeats each of four words in two lanes.
    twos: Lanes,
    /// 1 in every lane.
    one: Lanes,
}

impl Orders {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn new() -> Self {
        Self {
            interleave: [
                _mm512_setr_epi64(0, 8, 1, 9, 4, 12, 5, 13),
                _mm512_setr_epi64(2, 10, 3, 11, 6, 14, 7, 15),
            ],
            separate: [
                _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
                _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15),
            ],
            fours: _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1),
            twos: _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3),
            one: splat(1),
        }
    }
}

/// Applies both halves of a permutation to `a` and `b`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn permute(a: Lanes, b: Lanes, order: &[Lanes; 2]) -> (Lanes, Lanes) {
    (_mm512_permutex2var_epi64(a, order[0], b), _mm512_permutex2var_epi64(a, order[1], b))
}

/// Computes a factor from its quotient, because the stages inside vectors store quotients only: from `w 2^52
/// / q - 1 < w' <= w 2^52 / q`, where equality is impossible for `0 < w < q < 2^52`, `w - q / 2^52 < w' q /
/// 2^52 < w`, so `w = floor(w' q / 2^52) + 1`. This one instruction halves the largest part of the table,
/// which long rows read from memory.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn with_factor(c: &Constants, quotient: Lanes, one: Lanes) -> (Lanes, Lanes) {
    (multiply_high(one, quotient, c.q), quotient)
}

/// The quotients of the forward stage between words four apart, for pair `pair` of vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_four_apart(table: *const u64, pair: usize, orders: &Orders) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    let words = unsafe {
        _mm_loadu_si128(table.add(pair / 4 * INNER_TABLE + FORWARD.four_apart + 2 * (pair % 4)).cast())
    };
    _mm512_permutexvar_epi64(orders.fours, _mm512_castsi128_si512(words))
}

/// The quotients of the forward stage between words two apart.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn forward_two_apart(table: *const u64, pair: usize, orders: &Orders) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    let words = unsafe {
        _mm256_loadu_si256(table.add(pair / 4 * INNER_TABLE + FORWARD.two_apart + 4 * (pair % 4)).cast())
    };
    _mm512_permutexvar_epi64(orders.twos, _mm512_castsi256_si512(words))
}

/// The quotients of the inverse stage between words four apart.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_four_apart(table: *const u64, pair: usize) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe {
        _mm512_broadcast_i64x2(_mm_loadu_si128(
            table.add(pair / 4 * INNER_TABLE + INVERSE.four_apart + 2 * (pair % 4)).cast(),
        ))
    }
}

/// The quotients of the inverse stage between words two apart.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn inverse_two_apart(table: *const u64, pair: usize) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe {
        _mm512_broadcast_i64x4(_mm256_loadu_si256(
            table.add(pair / 4 * INNER_TABLE + INVERSE.two_apart + 4 * (pair % 4)).cast(),
        ))
    }
}

/// The quotients of the stage between neighbours.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
unsafe fn one_apart(layout: Layout, table: *const u64, pair: usize) -> Lanes {
    // SAFETY: the caller's table has INNER_TABLE words.
    unsafe { load(table.add(pair / 4 * INNER_TABLE + layout.one_apart + 8 * (pair % 4))) }
}

/// Number of innermost blocks processed together. The instructions of one block depend on one another and
/// exceed the processor's out-of-order window.
const SIDE_BY_SIDE: usize = 2;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetch distance, in blocks, for the forward tables, where they exceed the caches.
const FORWARD_AHEAD: usize = 16;

/// Prefetch distance, in blocks, for the tables of the wide inverse. The narrow inverse, whose steps are
/// shorter, is as fast without prefetching.
const INVERSE_AHEAD: usize = 8;

/// Prefetches the table of one step.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn fetch_table(table: *const u64) {
    for word in (0..SIDE_BY_SIDE * INNER_TABLE).step_by(LANES) {
        // A prefetch cannot fault, whatever its address.
        _mm_prefetch::<_MM_HINT_T0>(table.wrapping_add(word).cast());
    }
}

/// The prefetches of a pass: runs of cache lines, a fixed number of lines per step of the computation.
#[derive(Debug, Clone, Copy)]
pub struct Fetch {
    at: *const u8,
    /// Lines left in the current run.
    left: usize,
    /// Lines per run, and bytes from the end of one run to the start of the next.
    run: usize,
    skip: usize,
    /// Lines per step.
    lines: usize,
}

impl Fetch {
    /// Prefetches nothing.
    pub const NONE: Self = Self { at: std::ptr::null(), left: 0, run: 0, skip: 0, lines: 0 };

    /// Prefetches all of `ahead` in `steps` steps.
    pub fn new(ahead: &Ahead<'_>, steps: usize) -> Self {
        // Adjacent runs are treated as one run.
        let (bytes, runs) =
            if ahead.run == ahead.stride { (ahead.run * ahead.runs, 1) } else { (ahead.run, ahead.runs) };
        if bytes * runs == 0 || steps == 0 {
            return Self::NONE;
        }
        // A run may begin inside a line and then end in one line more.
        let run = if runs == 1 { bytes.div_ceil(LINE) } else { bytes.div_ceil(LINE) + 1 };
        let skip = ahead.stride.wrapping_sub(run * LINE);
        Self { at: ahead.bytes.as_ptr(), left: run, run, skip, lines: (run * runs).div_ceil(steps) }
    }

    /// Prefetches the lines of the next step to the second-level cache.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn step(&mut self) {
        for _ in 0..self.lines {
            // A prefetch cannot fault, whatever its address.
            _mm_prefetch::<_MM_HINT_T1>(self.at.cast());
            self.at = self.at.wrapping_add(LINE);
            self.left -= 1;
            if self.left == 0 {
                self.at = self.at.wrapping_add(self.skip);
                self.left = self.run;
            }
        }
    }
}

/// Steps of [`forward_inner`] over `count` blocks.
pub fn inner_steps(count: usize) -> usize {
    count / SIDE_BY_SIDE
}

/// The last six stages on `count` blocks of 64 words, and the reduction to `[0, q)`. Issues the prefetches of
/// `fetch` between its steps, and those of the table if `far`.
///
/// # Safety
/// `x` holds `64 count` words and `table` `INNER_TABLE count`; `count` is even.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
#[inline]
pub unsafe fn forward_inner<const WIDE: bool>(
    c: &Constants,
    x: *mut u64,
    table: *const u64,
    count: usize,
    far: bool,
    fetch: &mut [Fetch; 2],
) {
    let orders = Orders::new();
    for block in (0..count).step_by(SIDE_BY_SIDE) {
        fetch[0].step();
        fetch[1].step();
        if far {
            fetch_table(table.wrapping_add((block + FORWARD_AHEAD) * INNER_TABLE));
        }
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
                        let (w, quotient) = broadcast(
                            table
                                .add(side * INNER_TABLE + FORWARD.broadcast + 2 * ((1 << stage) - 1 + group)),
                        );
                        let first = 8 * side + 2 * half * group;
                        for k in first..first + half {
                            (v[k], v[k + half]) =
                                forward_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient);
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

/// Stage `S` of the innermost block's three stages between vectors in the inverse, finest first. `bound` is
/// added only to differences of words that these stages have not multiplied yet. Products get a bias from
/// `biases`, the multiples of `q` from -2 to 2, that depends on their roles in the stages to come; see the
/// proof in [`super::ntt`].
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
        // Each later stage adds q to the bias if the product is its first term, and -q if it is its second
        // term.
        let bias = biases[4 - S - 2 * group.count_ones() as usize];
        let bound = if i == 0 { Some(bound) } else { None };
        (v[k], v[k + half]) = inverse_butterfly::<WIDE>(c, v[k], v[k + half], w, quotient, bound, bias);
    }
}

/// Biases of the inverse's stages inside vectors, modulo 2^64, each in its stage's order of lanes; see the
/// proof in [`super::ntt`].
struct LaneBiases {
    /// Added to the first terms of the first stage.
    first_terms: Lanes,
    /// Added to the products of the first stage.
    one_apart: Lanes,
    /// Added to the products of the second stage.
    two_apart: Lanes,
    /// Added at the end, to cancel the bias of the first terms in the sum of 64 words.
    last: Lanes,
}

impl LaneBiases {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn new(q: u64) -> Self {
        let q = q.cast_signed();
        let lanes = |m: [i64; LANES]| {
            _mm512_setr_epi64(m[0] * q, m[1] * q, m[2] * q, m[3] * q, m[4] * q, m[5] * q, m[6] * q, m[7] * q)
        };
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
#[inline]
pub unsafe fn inverse_inner<const WIDE: bool>(
    c: &Constants,
    x: *mut u64,
    table: *const u64,
    count: usize,
    far: bool,
    q: u64,
) {
    let orders = Orders::new();
    // `m q` for `m` from -2 to 2, modulo 2^64.
    let biases = [-2, -1, 0, 1, 2].map(|m| _mm512_set1_epi64(m * q.cast_signed()));
    let lane_biases = LaneBiases::new(q);
    let bounds = [_mm512_slli_epi64(c.q, 3), _mm512_slli_epi64(c.q, 4), _mm512_slli_epi64(c.q, 5)];
    for block in (0..count).step_by(SIDE_BY_SIDE) {
        if WIDE && far {
            fetch_table(table.wrapping_add((block + INVERSE_AHEAD) * INNER_TABLE));
        }
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
                (v[2 * pair], v[2 * pair + 1]) =
                    inverse_butterfly::<WIDE>(c, a, b, w, quotient, None, lane_biases.one_apart);
            }
            for pair in 0..4 * SIDE_BY_SIDE {
                let (a, b) = (v[2 * pair], v[2 * pair + 1]);
                let (a, b) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
                let (w, quotient) = with_factor(c, inverse_two_apart(table, pair), orders.one);
                (v[2 * pair], v[2 * pair + 1]) =
                    inverse_butterfly::<WIDE>(c, a, b, w, quotient, None, lane_biases.two_apart);
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
