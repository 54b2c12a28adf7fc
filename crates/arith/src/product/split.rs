//! Splits an exact product into floating-point products: bounds, costs, and the proof that no operation
//! rounds.
//!
//! Does not depend on how matrices are stored.

use crate::meter::ProductCounts;
use crate::text::counted;

/// Integers up to this magnitude are exact in `f64`, and so is every sum whose partial sums stay within it.
pub(crate) const EXACT_LIMIT: u64 = 1 << 53;

/// Inner dimension that is converted, multiplied and reduced at a time.
pub(crate) const MAX_INNER_BLOCK: usize = 1024;

/// Bound on the quotient by `q` of the value that one reduction takes (see [`SplitPlan`], step 4).
const QUOTIENT_LIMIT: u128 = 1 << 46;

/// Cost of one more inner block, in multiply-adds per output element: the pass that adds its sums to the
/// integer accumulators, and the start of a product (measured on AVX-512 at 512 and 1024: blocks of 32, 16
/// and 8 take 1.4, 1.8 and 2.5 times as long as undivided dimensions, which 12 to 13 explains).
const BLOCK_OVERHEAD: u128 = 13;

/// The decomposition of a signed integer into balanced digits, lowest first: `x = sum_j digit_j 2^(bits j)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slices {
    /// Number of digits, at least 1.
    pub count: usize,
    /// `log2` of the base; 0 when there is one digit.
    pub bits: u32,
    /// The largest magnitude of any digit.
    pub max_digit: u64,
}

impl Slices {
    /// The decomposition of `|x| <= bound` into `count` digits that minimises their largest magnitude.
    ///
    /// A digit is `d = ((x + h) mod 2^bits) - h` in `[-h, h - 1]`, `h = 2^(bits - 1)`; the rest is `(x - d) /
    /// 2^bits`, of magnitude at most `(bound + h) / 2^bits` rounded down (it is an integer). The top digit is
    /// the rest after `count - 1` digits.
    fn balanced(bound: u64, count: usize) -> Self {
        if count == 1 {
            return Self { count, bits: 0, max_digit: bound };
        }
        (1..=52)
            .map(|bits| {
                let half = 1u64 << (bits - 1);
                let top = (1..count).fold(bound, |rest, _| (rest + half) >> bits);
                Self { count, bits, max_digit: top.max(half) }
            })
            .min_by_key(|slices| slices.max_digit)
            .unwrap_or(Self { count: 1, bits: 0, max_digit: bound })
    }

    /// A bound on `sum_j |digit_j| 2^(bits j)`.
    fn mass(&self) -> u128 {
        (0..self.count as u32).map(|j| u128::from(self.max_digit) << (self.bits * j).min(64)).sum()
    }
}

/// The decomposition of a product with moduli of a given size in which every floating-point operation is
/// exact.
///
/// With balanced digits ([`Slices`]) `u = sum_j u_j 2^(b j)` of the centred residues and `w = sum_i w_i 2^(c
/// i)` of the weights,
///
/// ```text
/// W U = sum_i 2^(c i) sum_j 2^(b j) (W_i U_j),      computed modulo q, the products W_i U_j in floating point.
/// ```
///
/// Proof of exactness, for an inner dimension taken in blocks of `k` = [`SplitPlan::exact_block`] within
/// ranges of at most `K = 1024`:
///
/// 1. *Digits.* A residue `u` in `[0, q)`, `q` odd and below `2^m`, has the centred representative `|u'| <=
///    (q - 1)/2 <= 2^(m-1) - 1`. The digits of `u'` and of `w` (an integer, `|w| <= 2^52`) are found in
///    integer arithmetic, and are at most `D_u` and `D_w` in magnitude, both below `2^53`: they convert to
///    `f64` exactly.
/// 2. *Products.* `k D_w D_u <= 2^53`. Every partial sum that any order of summation forms within a block is
///    a sum of at most `k` products of digits: an integer of magnitude at most `2^53`, hence a `f64`. The
///    exact value of each operation (fused or not) being representable, IEEE 754 returns it. So the order of
///    the additions, fused operations, vector widths and numbers of threads change no bit.
/// 3. *Sums over blocks* of one range are `i64` of magnitude at most `K D_w D_u < 2^62`: no overflow.
/// 4. *Reduction.* For slice `i`, `T = 2^c R + sum_j 2^(b j) v_j` is computed twice: modulo `2^64` in
///    wrapping integers, and approximately in `f64`. `R` in `[0, q)` is the result of the slices above
///    (Horner's rule) or of the earlier ranges (then without the factor). Let `S` be the sum of the
///    magnitudes of the terms; the plan guarantees `S/q <= 2^46`. The floating-point sum has at most `s + 3`
///    roundings per term (`s` slices of U, `s <= 8`), the product with the rounded `1/q` two more: the
///    quotient is off by at most `(s + 6) 2^-53 S/q <= 14/128 < 1/2`, and rounding it to an integer `z` adds
///    at most `1/2`. So `|T - z q| < q < 2^61`, the value of `T - z q` modulo `2^64` determines it, and
///    adding `q` when it is negative gives a residue in `[0, q)`.
///
/// Source: [pcmm-mambo, sec. 7.1, App. C]; differs: digits are balanced (one bit shorter), the weights may be
/// split too, the inner dimension may be divided where that saves a product, and the combination is reduced
/// with one quotient instead of 93-bit integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitPlan {
    pub(crate) left: Slices,
    pub(crate) right: Slices,
    /// Whether the weights are first replaced by their centred residues modulo q.
    pub(crate) reduce_left: bool,
    pub(crate) exact_block: usize,
    inner: usize,
    modulus_bits: u32,
}

impl SplitPlan {
    /// The cheapest plan for weights `|w| <= max_abs_w`, `inner` of them in a row, and moduli `q <
    /// 2^modulus_bits`.
    ///
    /// Cost of a plan, per output element: products x (inner + 13 x inner blocks). Arguments beyond the
    /// supported range (`max_abs_w` above `2^52`, `modulus_bits` outside `2..=61`, `inner` 0) are clamped to
    /// it.
    #[must_use]
    pub fn choose(inner: usize, max_abs_w: u64, modulus_bits: u32) -> SplitPlan {
        let (inner, modulus_bits) = (inner.max(1), modulus_bits.clamp(2, 61));
        let residue_bound = (1u64 << (modulus_bits - 1)) - 1;
        let max_abs_w = max_abs_w.clamp(1, super::MAX_WEIGHT);
        let left_bound = max_abs_w.min(residue_bound);
        let cuts = |bound: u64| (1..=8).map(|count| Slices::balanced(bound, count)).collect::<Vec<_>>();
        let (lefts, rights) = (cuts(left_bound), cuts(residue_bound));
        let candidates = lefts.iter().flat_map(|&left| rights.iter().map(move |&right| (left, right)));
        candidates
            .filter_map(|(left, right)| {
                Self::within_bounds(left, right, inner, modulus_bits, max_abs_w > residue_bound)
            })
            .min_by_key(|plan| (plan.cost(), plan.left.count))
            // Eight digits of a 61-bit residue and eight of a weight have magnitudes of at most 2^8 and 2^6,
            // which is always within bounds.
            .expect("eight slices of each always fit")
    }

    fn within_bounds(
        left: Slices,
        right: Slices,
        inner: usize,
        modulus_bits: u32,
        reduce_left: bool,
    ) -> Option<Self> {
        let digits = u128::from(left.max_digit) * u128::from(right.max_digit);
        let range = inner.min(MAX_INNER_BLOCK) as u128;
        let exact_block = (u128::from(EXACT_LIMIT) / digits).min(range) as usize;
        let quotient = (range * u128::from(left.max_digit) * right.mass()) / (1u128 << (modulus_bits - 1))
            + (1u128 << left.bits)
            + 2;
        let fits = exact_block >= 1
            && right.max_digit < EXACT_LIMIT
            && range * digits < 1 << 62
            && quotient <= QUOTIENT_LIMIT;
        fits.then_some(Self { left, right, reduce_left, exact_block, inner, modulus_bits })
    }

    /// Unit operations of the product of `rows` rows of weights with rows of `columns` residues, on one
    /// thread. More threads may convert the same residues several times.
    #[must_use]
    pub fn counts(&self, rows: usize, columns: usize) -> ProductCounts {
        let (left, sums) = (self.left.count, rows * columns * self.right.count);
        let weights = if left > 1 || self.reduce_left { rows * self.inner * left } else { 0 };
        // Residues of a longer inner dimension are converted again for each slice of the weights.
        let conversions = if self.inner <= MAX_INNER_BLOCK { 1 } else { left };
        // A range that takes several blocks is read once for each of them and once more from the integer
        // sums.
        let reads = |range: usize| match range.div_ceil(self.exact_block) {
            1 => 1,
            blocks => blocks + 1,
        };
        let (ranges, last) = (self.inner / MAX_INNER_BLOCK, self.inner % MAX_INNER_BLOCK);
        let reads = ranges * reads(MAX_INNER_BLOCK) + if last > 0 { reads(last) } else { 0 };
        ProductCounts {
            products: 1,
            multiply_adds: left * self.inner * sums,
            digits: weights + conversions * self.inner * columns * self.right.count,
            sums: left * reads * sums,
        }
    }

    fn cost(&self) -> u128 {
        let blocks = self.inner.div_ceil(self.exact_block) as u128;
        self.gemm_count() as u128 * (self.inner as u128 + BLOCK_OVERHEAD * blocks)
    }

    /// The number of floating-point products of the full size that the exact product takes.
    #[must_use]
    pub fn gemm_count(&self) -> usize {
        self.left.count * self.right.count
    }

    /// The digits of the weights.
    #[must_use]
    pub fn left(&self) -> Slices {
        self.left
    }

    /// The digits of the centred residues.
    #[must_use]
    pub fn right(&self) -> Slices {
        self.right
    }

    /// Longest inner dimension whose floating-point sums are exact, at most 1024.
    #[must_use]
    pub fn exact_block(&self) -> usize {
        self.exact_block
    }

    /// The plan in one sentence.
    #[must_use]
    pub fn explain(&self) -> String {
        format!(
            "{}: weights{} in {} of magnitude <= {}, centred {}-bit residues in {} of magnitude <= {}; inner dimension {} in blocks of {}, \
             {} x {} x {} <= 2^53",
            counted(self.gemm_count(), "product"),
            if self.reduce_left { " (reduced modulo q)" } else { "" },
            counted(self.left.count, "slice"),
            self.left.max_digit,
            self.modulus_bits,
            counted(self.right.count, "slice"),
            self.right.max_digit,
            self.inner,
            self.exact_block,
            self.exact_block,
            self.left.max_digit,
            self.right.max_digit,
        )
    }
}
