//! Element-wise operations, sums of products and base-conversion rows on the 52-bit multiplier. Every
//! function here processes whole vectors and returns the number of words it processed; the scalar kernel
//! processes the rest.
//!
//! # Ranges
//! **Products** `x y`, both below `q < 2^b`, `b <= 50`. With `s = 53 - b` split over both factors as `s1 +
//! s2`, `s1 = 52 - b` and `s2 = 1` (so both stay below 2^52), `h1 = floor(x 2^s1 * y 2 / 2^52) = floor(x y /
//! 2^(b-1)) < 2^(b+1)`. With `m = floor(2^(51+b) / q) < 2^52`, `h = floor(h1 m / 2^52)` is below `x y / q` by
//! less than `m / 2^52 + h1 / 2^52 + 1 < 1 + 1/2 + 1`, so `x y - h q` is in `[0, 5q/2)`, below `2^52`, and
//! its low 52 bits determine it.
//!
//! **Sums of products** use 64-bit accumulators for the low and the high halves of the products. A low half
//! is below 2^52, so 4095 of them and a start below `q` fit a word. The value is below `terms * X * Y` for
//! factors below `X`, `Y` (start included, as `q <= X + Y - 1` for `Y = q`), so its high part fits 52 bits,
//! as the next multiplication needs, for `terms <= 2^104 / (X Y)`. A chunk has at most the smaller of the two
//! numbers of terms. At the end of a chunk `high * (2^52 mod q) + low` is at most `4q < 2^52`.
//!
//! **Words above 2^52** (up to a whole word) are `high * 2^52 + low` with `high < 2^12`. Their products are
//! two prepared products, each below `2q`, together below `4q <= 2^52`.

use std::arch::x86_64::*;

use super::lanes::{
    Constants, FACTOR_BITS, LANES, Lanes, Words, add, load, multiply_high, multiply_low, quotient52, splat,
    store, sub,
};
use crate::modulus::Modulus;

/// Number of low halves that fit their accumulator together with one reduced word.
const LOW_HALF_TERMS: u128 = 4095;

/// Prefetch distance for right factors, in words.
const FETCH_WORDS: usize = 512;

/// Vectors whose sums are computed in parallel, to hide the multiplier's latency.
const UNROLL: usize = 8;

/// Constants of element-wise operations, in addition to [`Words`].
#[derive(Debug, Clone, Copy)]
pub struct ElementWords {
    words: Words,
    modulus: Modulus,
    /// `52 - b`.
    shift: u32,
    /// `floor(2^(51 + b) / q)`.
    reciprocal: u64,
    /// `2^52 mod q` and its quotient.
    carry: [u64; 2],
}

/// `floor(2^104 / bound)`, and at most [`LOW_HALF_TERMS`].
fn lazy_terms(bound: u128) -> usize {
    ((1u128 << (2 * FACTOR_BITS)) / bound).min(LOW_HALF_TERMS) as usize
}

impl ElementWords {
    /// Range: `q < 2^50`.
    pub fn new(modulus: Modulus) -> Self {
        let q = modulus.value();
        let carry = modulus.reduce(1 << FACTOR_BITS);
        Self {
            words: Words::new(modulus),
            modulus,
            shift: FACTOR_BITS - modulus.bits(),
            reciprocal: ((1u128 << (51 + modulus.bits())) / u128::from(q)) as u64,
            carry: [carry, quotient52(carry, q)],
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn pair(&self, [w, quotient]: [u64; 2]) -> (Lanes, Lanes) {
        (splat(w), splat(quotient))
    }

    /// The constants that reduce sums of products: those of the modulus, and `2^52 mod q` with its quotient.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn sum_constants(&self) -> (Constants, (Lanes, Lanes)) {
        (Constants::new(&self.words), self.pair(self.carry))
    }

    /// The number of products of reduced residues that the accumulators hold together with one reduced
    /// residue.
    pub fn product_terms(&self) -> usize {
        let q = u128::from(self.words.q);
        lazy_terms(q * q)
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn add_assign(&self, x: &mut [u64], y: &[u64]) -> usize {
        let c = Constants::new(&self.words);
        zip_assign(x, y, |x, y| c.reduce_by(add(x, y), c.q))
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn sub_assign(&self, x: &mut [u64], y: &[u64]) -> usize {
        let c = Constants::new(&self.words);
        zip_assign(x, y, |x, y| {
            let difference = sub(x, y);
            _mm512_min_epu64(difference, add(difference, c.q))
        })
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn add(&self, out: &mut [u64], x: &[u64], y: &[u64]) -> usize {
        let c = Constants::new(&self.words);
        zip_into(out, x, y, |x, y| c.reduce_by(add(x, y), c.q))
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn sub(&self, out: &mut [u64], x: &[u64], y: &[u64]) -> usize {
        let c = Constants::new(&self.words);
        zip_into(out, x, y, |x, y| {
            let difference = sub(x, y);
            _mm512_min_epu64(difference, add(difference, c.q))
        })
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn negate_assign(&self, x: &mut [u64]) -> usize {
        let c = Constants::new(&self.words);
        map_assign(x, |x| c.reduce_by(sub(c.q, x), c.q))
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn mul_assign(&self, x: &mut [u64], y: &[u64]) -> usize {
        let c = Constants::new(&self.words);
        let shift = _mm_cvtsi64_si128(i64::from(self.shift));
        let reciprocal = splat(self.reciprocal);
        zip_assign(x, y, |x, y| {
            let top = multiply_high(c.zero, _mm512_sll_epi64(x, shift), add(y, y));
            let h = multiply_high(c.zero, top, reciprocal);
            let rest = multiply_low(multiply_low(c.zero, x, y), h, c.negative_q);
            c.reduce_by(c.reduce_by(_mm512_and_si512(rest, c.mask), c.two_q), c.q)
        })
    }

    /// `x * w` for any words `x`; `w < q`.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn mul_constant_assign(&self, x: &mut [u64], w: u64) -> usize {
        let c = Constants::new(&self.words);
        let w_high = self.modulus.mul(w, self.carry[0]);
        let low = self.pair([w, quotient52(w, self.words.q)]);
        let high = self.pair([w_high, quotient52(w_high, self.words.q)]);
        map_assign(x, |x| mul_any_word(&c, x, low, high))
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn sub_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: u64) -> usize {
        let c = Constants::new(&self.words);
        let (w, quotient) = self.pair([w, quotient52(w, self.words.q)]);
        // x - y + q is below 2q < 2^52.
        zip_assign(x, y, |x, y| c.reduce_by(c.mul_lazy(sub(add(x, c.q), y), w, quotient), c.q))
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn quotient(&self, out: &mut [u64], x: &[u64], y: Option<&[u64]>, w: u64, far: bool) -> usize {
        let c = Constants::new(&self.words);
        let (w, quotient) = self.pair([w, quotient52(w, self.words.q)]);
        assert!(
            x.len() == out.len() && y.is_none_or(|y| y.len() == out.len()),
            "slices of one call have equal lengths"
        );
        let whole = out.len() / LANES * LANES;
        // Non-temporal stores write whole cache lines.
        let far = far && out.as_ptr().cast::<Lanes>().is_aligned();
        for i in (0..whole).step_by(LANES) {
            // SAFETY: i + 8 <= the length of all.
            unsafe {
                let x = load(x.as_ptr().add(i));
                // x - y + q is below 2q < 2^52.
                let difference = y.map_or(x, |y| sub(add(x, c.q), load(y.as_ptr().add(i))));
                let result = c.reduce_by(c.mul_lazy(difference, w, quotient), c.q);
                let target = out.as_mut_ptr().add(i);
                if far { _mm512_stream_si512(target.cast(), result) } else { store(target, result) }
            }
        }
        if far {
            // Non-temporal stores are weakly ordered; the fence orders them before later stores.
            _mm_sfence();
        }
        whole
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn add_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: u64) -> usize {
        let c = Constants::new(&self.words);
        let (w, quotient) = self.pair([w, quotient52(w, self.words.q)]);
        // The product is below 2q, the sum below 3q < 2^52.
        zip_assign(x, y, |x, y| c.reduce_by(c.reduce_by(add(x, c.mul_lazy(y, w, quotient)), c.two_q), c.q))
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn reduce_signed(&self, x: &mut [u64], values: &[i64]) -> usize {
        let c = Constants::new(&self.words);
        let low = (splat(1), c.inverse);
        let high = self.pair(self.carry);
        assert_eq!(x.len(), values.len(), "slices of one call have equal lengths");
        let whole = x.len() / LANES * LANES;
        for i in (0..whole).step_by(LANES) {
            // SAFETY: i + 8 <= the length of both.
            unsafe {
                let value = load(values.as_ptr().add(i).cast());
                let negative = _mm512_movepi64_mask(value);
                let magnitude = mul_any_word(&c, _mm512_abs_epi64(value), low, high);
                let negated = c.reduce_by(sub(c.q, magnitude), c.q);
                store(x.as_mut_ptr().add(i), _mm512_mask_mov_epi64(magnitude, negative, negated));
            }
        }
        whole
    }

    /// Range: `xs`, `ys` reduced.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn dot(&self, out: &mut [u64], xs: &[&[u64]], ys: &[&[u64]], accumulate: bool) -> usize {
        let chunk = self.product_terms();
        let len = out.len();
        assert!(xs.iter().chain(ys).all(|row| row.len() == len), "slices of one call have equal lengths");
        let terms = xs.len().min(ys.len());
        let (xs, ys) = (&xs[..terms], &ys[..terms]);
        self.sums(out, terms, chunk, accumulate, |j| {
            let (x, y) = (xs[j].as_ptr(), ys[j].as_ptr());
            // Right factors are keys. They are read from memory in more streams than the hardware prefetcher
            // follows. SAFETY: every row has `len` words, and the sums read only below it; a prefetch cannot
            // fault, whatever its address.
            move |i| unsafe {
                _mm_prefetch::<_MM_HINT_T0>(y.wrapping_add(i + FETCH_WORDS).cast());
                (load(x.add(i)), load(y.add(i)))
            }
        })
    }

    /// Range: `ys` below `1 << y_bits`, `y_bits <= 52`; `weights` reduced.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn combine(&self, out: &mut [u64], ys: &[&[u64]], weights: &[u64], y_bits: u32) -> usize {
        let chunk = lazy_terms(u128::from(self.words.q) << y_bits);
        let len = out.len();
        assert!(ys.iter().all(|row| row.len() == len), "slices of one call have equal lengths");
        let terms = ys.len().min(weights.len());
        let (ys, weights) = (&ys[..terms], &weights[..terms]);
        self.sums(out, terms, chunk, false, |j| {
            let (y, weight) = (ys[j].as_ptr(), splat(weights[j]));
            // SAFETY: every row has `len` words, and the sums read only below it.
            move |i| unsafe { (load(y.add(i)), weight) }
        })
    }

    /// Sums `term(j)(i).0 * term(j)(i).1` over `j` for the eight words from `i` on, reducing every `chunk`
    /// terms.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn sums<Row: Fn(usize) -> (Lanes, Lanes)>(
        &self,
        out: &mut [u64],
        terms: usize,
        chunk: usize,
        accumulate: bool,
        term: impl Fn(usize) -> Row,
    ) -> usize {
        let (c, carry) = self.sum_constants();
        let whole = out.len() / LANES * LANES;
        let unrolled = out.len() / (UNROLL * LANES) * (UNROLL * LANES);
        for i in (0..unrolled).step_by(UNROLL * LANES) {
            sum_block::<UNROLL, _>(
                &c,
                carry,
                &mut out[i..i + UNROLL * LANES],
                i,
                terms,
                chunk,
                accumulate,
                &term,
            );
        }
        for i in (unrolled..whole).step_by(LANES) {
            sum_block::<1, _>(&c, carry, &mut out[i..i + LANES], i, terms, chunk, accumulate, &term);
        }
        whole
    }
}

impl Constants {
    /// `2^52 high + low mod q` at the end of a sum of products; `carry` is `2^52 mod q` and its quotient.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub fn reduce_sum(&self, low: Lanes, high: Lanes, carry: (Lanes, Lanes)) -> Lanes {
        let high = add(high, _mm512_srli_epi64::<FACTOR_BITS>(low));
        let rest = _mm512_and_si512(self.reduce_junk(low), self.mask);
        let sum = add(self.mul_lazy(high, carry.0, carry.1), rest);
        self.reduce_by(self.reduce_by(sum, self.two_q), self.q)
    }
}

/// The sums of `B` neighbouring vectors, the first at word `i` of the rows.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn sum_block<const B: usize, Row: Fn(usize) -> (Lanes, Lanes)>(
    c: &Constants,
    carry: (Lanes, Lanes),
    out: &mut [u64],
    i: usize,
    terms: usize,
    chunk: usize,
    accumulate: bool,
    term: &impl Fn(usize) -> Row,
) {
    assert_eq!(out.len(), B * LANES);
    let mut low = [c.zero; B];
    if accumulate {
        for k in 0..B {
            // SAFETY: `out` has B vectors.
            low[k] = unsafe { load(out.as_ptr().add(k * LANES)) };
        }
    }
    let mut start = 0;
    while start < terms {
        let end = terms.min(start + chunk);
        let mut high = [c.zero; B];
        for j in start..end {
            let row = term(j);
            for k in 0..B {
                let (x, y) = row(i + k * LANES);
                low[k] = multiply_low(low[k], x, y);
                high[k] = multiply_high(high[k], x, y);
            }
        }
        for k in 0..B {
            low[k] = c.reduce_sum(low[k], high[k], carry);
        }
        start = end;
    }
    for k in 0..B {
        // SAFETY: `out` has B vectors.
        unsafe { store(out.as_mut_ptr().add(k * LANES), low[k]) };
    }
}

/// `x * w mod q` for any words `x`; `low` is the factor `w` and `high` the factor `2^52 w`, each with its
/// quotient.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn mul_any_word(c: &Constants, x: Lanes, low: (Lanes, Lanes), high: (Lanes, Lanes)) -> Lanes {
    let product = c.mul_lazy(x, low.0, low.1);
    let top = _mm512_srli_epi64::<FACTOR_BITS>(x);
    if _mm512_test_epi64_mask(top, top) == 0 {
        return c.reduce_by(product, c.q);
    }
    let sum = add(product, c.mul_lazy(top, high.0, high.1));
    c.reduce_by(c.reduce_by(sum, c.two_q), c.q)
}

/// `acc <- acc + x * inverse_modulus`, with the product and the sum rounded separately.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn add_fraction(acc: &mut [f64], x: &[u64], inverse_modulus: f64) -> usize {
    assert_eq!(acc.len(), x.len(), "slices of one call have equal lengths");
    let factor = _mm512_set1_pd(inverse_modulus);
    let whole = x.len() / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        // SAFETY: i + 8 <= the length of both.
        unsafe {
            let target = acc.as_mut_ptr().add(i);
            let product = _mm512_mul_pd(_mm512_cvtepu64_pd(load(x.as_ptr().add(i))), factor);
            _mm512_storeu_pd(target, _mm512_add_pd(_mm512_loadu_pd(target), product));
        }
    }
    whole
}

/// `out <- acc`, rounded to the nearest integers, ties to even. Range: `0 <= acc < 2^31`.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
pub fn round_fraction(out: &mut [u64], acc: &[f64]) -> usize {
    assert_eq!(out.len(), acc.len(), "slices of one call have equal lengths");
    let whole = acc.len() / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        // SAFETY: i + 8 <= the length of both.
        unsafe {
            let rounded = _mm512_cvt_roundpd_epu64::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(
                _mm512_loadu_pd(acc.as_ptr().add(i)),
            );
            store(out.as_mut_ptr().add(i), rounded);
        }
    }
    whole
}

/// `x <- f(x)` on whole vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn map_assign(x: &mut [u64], f: impl Fn(Lanes) -> Lanes) -> usize {
    let whole = x.len() / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        // SAFETY: i + 8 <= the length.
        unsafe {
            let target = x.as_mut_ptr().add(i);
            store(target, f(load(target)));
        }
    }
    whole
}

/// `x <- f(x, y)` on whole vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn zip_assign(x: &mut [u64], y: &[u64], f: impl Fn(Lanes, Lanes) -> Lanes) -> usize {
    assert_eq!(x.len(), y.len(), "slices of one call have equal lengths");
    let whole = x.len() / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        // SAFETY: i + 8 <= the length of both.
        unsafe {
            let target = x.as_mut_ptr().add(i);
            store(target, f(load(target), load(y.as_ptr().add(i))));
        }
    }
    whole
}

/// `out <- f(x, y)` on whole vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn zip_into(out: &mut [u64], x: &[u64], y: &[u64], f: impl Fn(Lanes, Lanes) -> Lanes) -> usize {
    assert!(out.len() == x.len() && x.len() == y.len(), "slices of one call have equal lengths");
    let whole = x.len() / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        // SAFETY: i + 8 <= the length of all three.
        unsafe { store(out.as_mut_ptr().add(i), f(load(x.as_ptr().add(i)), load(y.as_ptr().add(i)))) };
    }
    whole
}
