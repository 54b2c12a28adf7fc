//! The kernel for machines with 256-bit vectors and floating-point FMA but no 52-bit multiplier, for primes
//! below 2^50.
//!
//! Products are reduced in double precision. For integers `|y| <= 2^51`, `0 <= w < q < 2^50` and `w' = fl(w /
//! q)`:
//!
//! ```text
//! hi = fl(y w),  lo = y w - hi  (exact, one FMA),  h = round(fl(y w')),  r = (hi - h q) + lo
//! ```
//!
//! `y w'` differs from `y w / q` by at most `|y| 2^-52 (1 + 2^-52)`, so `|r| = |y w - h q| <= (1/2 + |y|
//! 2^-52 (1 + 2^-52)) q`, and because `r` is an integer, `|r| <= q`. `hi` and `h q` are integers and their
//! difference is below `q + 2^49 < 2^53`, so the FMA that computes the difference is exact, and so is the
//! last addition.
//!
//! # Ranges of the transforms (signed integers held in doubles)
//! - Forward, **narrow** (`(L + 2) q <= 2^51` for `L` stages): `(x, y) <- (x + r, x - r)` adds at most `q`
//!   per stage to a start below `q`; factors stay below `(L + 1) q`. **Wide**: `x` is first reduced to
//!   `|x| <= q/2 + 1`, so values stay below `3q/2 + 1 <= 2q < 2^51`.
//! - Inverse: sums are reduced at every stage to `|x| <= q/2 + 1`, products are at most `q`: differences stay
//!   within `2q`.
//!
//! Sums of products split factors below 2^50 into halves of 25 bits, whose products are summed unreduced, up
//! to 4096 terms. The scalar kernel handles primes above 2^50, short transforms, words beyond the last whole
//! vector and the packing of factors; [`packed`] multiplies by packed factors.

mod components;
mod packed;

use std::arch::x86_64::*;

use super::components::Twist;
use super::scalar::{RootPowers, Roots, ScalarRow};
use super::{Isa, RowKernel, tails};
use crate::bit_packing::{Run, RunMut};
use crate::modulus::{Modulus, Multiplier};

/// Bits of the largest modulus.
pub(crate) const MAX_BITS: u32 = 50;

/// Lanes per vector.
const LANES: usize = 4;

/// The smallest degree with a vector transform.
const MIN_DEGREE: usize = 32;

/// Bits of half a factor in the sums of products.
const HALF_BITS: i32 = 25;

/// Terms that fit the middle accumulator: `2 * 2^50 * 4096 = 2^63`.
const LAZY_TERMS: usize = 4096;

/// The bits of 2^52 as a double: an integer below 2^52, put in the lowest bits, adds itself to the double's
/// value.
const MAGIC: i64 = 0x4330_0000_0000_0000;
/// The bits of `3 * 2^51` as a double, for the same conversion of signed integers within 2^51.
const SIGNED_MAGIC: i64 = 0x4338_0000_0000_0000;

/// The kernel of one modulus.
#[derive(Debug)]
pub(crate) struct Avx2Row {
    scalar: ScalarRow,
    modulus: Modulus,
    degree: usize,
    narrow: bool,
    forward: Twiddles,
    inverse: Twiddles,
    inverse_degree: f64,
}

/// Factors in tree order (entry `blocks + block`), and their quotients by `q`.
#[derive(Debug)]
struct Twiddles {
    factors: Vec<f64>,
    quotients: Vec<f64>,
}

impl Twiddles {
    fn new(powers: &[u64], q: u64) -> Self {
        let factors: Vec<f64> = powers.iter().map(|&w| w as f64).collect();
        // Both operands are exact, so the division is correctly rounded.
        let quotients = factors.iter().map(|w| w / q as f64).collect();
        Self { factors, quotients }
    }
}

/// Whether this machine has every instruction the kernel uses.
#[must_use]
pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Whether the kernel takes this modulus on this machine.
#[must_use]
pub(crate) fn takes(modulus: &Modulus) -> bool {
    modulus.bits() <= MAX_BITS && is_available()
}

impl Avx2Row {
    /// Prepares the kernel, or returns `None` where [`takes`] refuses the modulus.
    pub(crate) fn new(roots: &Roots) -> Option<Self> {
        let (modulus, degree) = (*roots.modulus(), roots.degree());
        if !takes(&modulus) {
            return None;
        }
        let powers = RootPowers::new(roots);
        let q = modulus.value();
        let stages = u64::from(degree.trailing_zeros());
        let vectors = degree >= MIN_DEGREE;
        let table = |powers: &[u64]| Twiddles::new(if vectors { powers } else { &[] }, q);
        Some(Self {
            scalar: if vectors { ScalarRow::without_transform(modulus) } else { ScalarRow::new(roots) },
            modulus,
            degree,
            narrow: (stages + 2) * q <= 1 << 51,
            forward: table(&powers.forward),
            inverse: table(&powers.inverse),
            inverse_degree: powers.inverse_degree as f64,
        })
    }
}

/// The constants of one modulus in every lane.
#[derive(Clone, Copy)]
struct Constants {
    q: __m256d,
    inverse: __m256d,
    magic: __m256i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(modulus: Modulus) -> Self {
        let q = modulus.value() as f64;
        Self { q: _mm256_set1_pd(q), inverse: _mm256_set1_pd(1.0 / q), magic: _mm256_set1_epi64x(MAGIC) }
    }

    /// Integers below 2^52 as doubles.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn to_double(self, x: __m256i) -> __m256d {
        _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(x, self.magic)), _mm256_castsi256_pd(self.magic))
    }

    /// Doubles that are integers in `[0, 2^52)`, as words.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn to_words(self, x: __m256d) -> __m256i {
        _mm256_xor_si256(_mm256_castpd_si256(_mm256_add_pd(x, _mm256_castsi256_pd(self.magic))), self.magic)
    }

    /// `x mod q`, as a signed value of magnitude at most `q/2 + 1`. Range: `|x| <= 2^51`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn centre(self, x: __m256d) -> __m256d {
        _mm256_fnmadd_pd(round(_mm256_mul_pd(x, self.inverse)), self.q, x)
    }

    /// `x` or `x + q`, whichever is not negative. Range: `-q <= x < q`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn lift(self, x: __m256d) -> __m256d {
        let negative = _mm256_cmp_pd::<_CMP_LT_OQ>(x, _mm256_setzero_pd());
        _mm256_add_pd(x, _mm256_and_pd(negative, self.q))
    }

    /// `y * w mod q`, signed; see the proof in the module documentation.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn mul(self, y: __m256d, w: __m256d, w_quotient: __m256d) -> __m256d {
        let high = _mm256_mul_pd(y, w);
        let low = _mm256_fmsub_pd(y, w, high);
        let h = round(_mm256_mul_pd(y, w_quotient));
        _mm256_add_pd(_mm256_fnmadd_pd(h, self.q, high), low)
    }

    /// `x * w mod q` in `[0, q)`, for `|x| <= 2^51`. The product is centred first, because the signed product
    /// can be `q` itself.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn mul_reduced(self, x: __m256d, w: __m256d, w_quotient: __m256d) -> __m256i {
        self.to_words(self.lift(self.centre(self.mul(x, w, w_quotient))))
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn round(x: __m256d) -> __m256d {
    _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x)
}

/// Four words of any alignment.
///
/// # Safety
/// `source` is valid for reading four words.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn load(source: *const u64) -> __m256i {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm256_loadu_si256(source.cast()) }
}

/// Four words of any alignment.
///
/// # Safety
/// `target` is valid for writing four words.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn store(target: *mut u64, x: __m256i) {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm256_storeu_si256(target.cast(), x) }
}

/// Whether any of the words is at least `1 << bit`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn any_above(x: __m256i, bit: u32) -> bool {
    let mask = _mm256_set1_epi64x(-1i64 << bit);
    _mm256_testz_si256(x, mask) == 0
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn forward_butterfly<const WIDE: bool>(
    c: Constants,
    x: __m256d,
    y: __m256d,
    w: __m256d,
    quotient: __m256d,
) -> (__m256d, __m256d) {
    let t = c.mul(y, w, quotient);
    let x = if WIDE { c.centre(x) } else { x };
    (_mm256_add_pd(x, t), _mm256_sub_pd(x, t))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_butterfly(
    c: Constants,
    x: __m256d,
    y: __m256d,
    w: __m256d,
    quotient: __m256d,
) -> (__m256d, __m256d) {
    (c.centre(_mm256_add_pd(x, y)), c.mul(_mm256_sub_pd(x, y), w, quotient))
}

/// The factor of `node` in every lane, and its quotient.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn broadcast(table: &Twiddles, node: usize) -> (__m256d, __m256d) {
    (_mm256_set1_pd(table.factors[node]), _mm256_set1_pd(table.quotients[node]))
}

/// Factors and quotients of nodes `node` and `node + 1`, in two lanes each, for the stage whose operands are
/// two words apart.
///
/// # Safety
/// The table has these nodes.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn factors_two_apart(table: &Twiddles, node: usize) -> (__m256d, __m256d) {
    // SAFETY: guaranteed by the caller.
    let (factors, quotients) = unsafe {
        (_mm_loadu_pd(table.factors.as_ptr().add(node)), _mm_loadu_pd(table.quotients.as_ptr().add(node)))
    };
    let twice = |pair| _mm256_permute4x64_pd::<0x50>(_mm256_castpd128_pd256(pair));
    (twice(factors), twice(quotients))
}

/// Factors and quotients of the four nodes from `node` on, for the stage whose operands are neighbours.
///
/// # Safety
/// The table has these nodes.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn factors_one_apart(table: &Twiddles, node: usize) -> (__m256d, __m256d) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        (
            _mm256_loadu_pd(table.factors.as_ptr().add(node)),
            _mm256_loadu_pd(table.quotients.as_ptr().add(node)),
        )
    }
}

/// Exchanges the upper half of `a` with the lower half of `b`: `A0 A1 B0 B1` and `A2 A3 B2 B3`. Applied
/// twice, it gives `a` and `b` back.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn exchange_halves(a: __m256d, b: __m256d) -> (__m256d, __m256d) {
    (_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b))
}

/// Collects the even and the odd lanes within each half: `A0 B0 A2 B2` and `A1 B1 A3 B3`. Applied twice, it
/// gives `a` and `b` back.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn exchange_neighbours(a: __m256d, b: __m256d) -> (__m256d, __m256d) {
    (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b))
}

impl Avx2Row {
    /// One stage whose operands are in different vectors: `blocks` blocks of two halves of `half` doubles.
    ///
    /// # Safety
    /// `x` holds `2 * blocks * half` doubles; 4 divides `half`.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn forward_one_stage<const WIDE: bool>(
        &self,
        c: Constants,
        x: *mut f64,
        blocks: usize,
        half: usize,
    ) {
        for block in 0..blocks {
            let (w, quotient) = broadcast(&self.forward, blocks + block);
            for i in (0..half).step_by(LANES) {
                // SAFETY: within the caller's doubles.
                unsafe {
                    let lower = x.add(2 * half * block + i);
                    let upper = lower.add(half);
                    let (a, b) = forward_butterfly::<WIDE>(
                        c,
                        _mm256_loadu_pd(lower),
                        _mm256_loadu_pd(upper),
                        w,
                        quotient,
                    );
                    _mm256_storeu_pd(lower, a);
                    _mm256_storeu_pd(upper, b);
                }
            }
        }
    }

    /// Two stages in one pass: `blocks` blocks of four quarters of `quarter` doubles.
    ///
    /// # Safety
    /// `x` holds `4 * blocks * quarter` doubles; 4 divides `quarter`.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn forward_two_stages<const WIDE: bool>(
        &self,
        c: Constants,
        x: *mut f64,
        blocks: usize,
        quarter: usize,
    ) {
        for block in 0..blocks {
            let node = blocks + block;
            let (w, p) = broadcast(&self.forward, node);
            let (w0, p0) = broadcast(&self.forward, 2 * node);
            let (w1, p1) = broadcast(&self.forward, 2 * node + 1);
            for i in (0..quarter).step_by(LANES) {
                // SAFETY: within the caller's doubles.
                unsafe {
                    let first = x.add(4 * block * quarter + i);
                    let at = [first, first.add(quarter), first.add(2 * quarter), first.add(3 * quarter)];
                    let v = [
                        _mm256_loadu_pd(at[0]),
                        _mm256_loadu_pd(at[1]),
                        _mm256_loadu_pd(at[2]),
                        _mm256_loadu_pd(at[3]),
                    ];
                    let (v0, v2) = forward_butterfly::<WIDE>(c, v[0], v[2], w, p);
                    let (v1, v3) = forward_butterfly::<WIDE>(c, v[1], v[3], w, p);
                    let (v0, v1) = forward_butterfly::<WIDE>(c, v0, v1, w0, p0);
                    let (v2, v3) = forward_butterfly::<WIDE>(c, v2, v3, w1, p1);
                    _mm256_storeu_pd(at[0], v0);
                    _mm256_storeu_pd(at[1], v1);
                    _mm256_storeu_pd(at[2], v2);
                    _mm256_storeu_pd(at[3], v3);
                }
            }
        }
    }

    /// The inverse counterpart of [`Avx2Row::forward_two_stages`].
    ///
    /// # Safety
    /// As there.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn inverse_two_stages(&self, c: Constants, x: *mut f64, blocks: usize, quarter: usize) {
        for block in 0..blocks {
            let node = blocks + block;
            let (w, p) = broadcast(&self.inverse, node);
            let (w0, p0) = broadcast(&self.inverse, 2 * node);
            let (w1, p1) = broadcast(&self.inverse, 2 * node + 1);
            for i in (0..quarter).step_by(LANES) {
                // SAFETY: within the caller's doubles.
                unsafe {
                    let first = x.add(4 * block * quarter + i);
                    let at = [first, first.add(quarter), first.add(2 * quarter), first.add(3 * quarter)];
                    let v = [
                        _mm256_loadu_pd(at[0]),
                        _mm256_loadu_pd(at[1]),
                        _mm256_loadu_pd(at[2]),
                        _mm256_loadu_pd(at[3]),
                    ];
                    let (v0, v1) = inverse_butterfly(c, v[0], v[1], w0, p0);
                    let (v2, v3) = inverse_butterfly(c, v[2], v[3], w1, p1);
                    let (v0, v2) = inverse_butterfly(c, v0, v2, w, p);
                    let (v1, v3) = inverse_butterfly(c, v1, v3, w, p);
                    _mm256_storeu_pd(at[0], v0);
                    _mm256_storeu_pd(at[1], v1);
                    _mm256_storeu_pd(at[2], v2);
                    _mm256_storeu_pd(at[3], v3);
                }
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn forward_row<const WIDE: bool>(&self, words: &mut [u64]) {
        assert_eq!(words.len(), self.degree, "a row has `degree` words");
        let c = Constants::new(self.modulus);
        let n = self.degree;
        let x = words.as_mut_ptr().cast::<f64>();
        // SAFETY: offsets stay below n; a double and a word have the same size, and each word holds one or
        // the other at a time.
        unsafe {
            for i in (0..n).step_by(LANES) {
                _mm256_storeu_pd(x.add(i), c.to_double(load(x.add(i).cast())));
            }
            // Stages whose operands are in different vectors: from half = n/2 down to 4.
            let (mut blocks, mut half) = (1, n / 2);
            if n.trailing_zeros() % 2 == 1 {
                self.forward_one_stage::<WIDE>(c, x, blocks, half);
                (blocks, half) = (2, half / 2);
            }
            while half >= 2 * LANES {
                self.forward_two_stages::<WIDE>(c, x, blocks, half / 2);
                (blocks, half) = (4 * blocks, half / 4);
            }
            for i in (0..n).step_by(2 * LANES) {
                let (a, b) = exchange_halves(_mm256_loadu_pd(x.add(i)), _mm256_loadu_pd(x.add(i + LANES)));
                let (w, quotient) = factors_two_apart(&self.forward, n / 4 + i / 4);
                let (a, b) = forward_butterfly::<WIDE>(c, a, b, w, quotient);
                let (a, b) = exchange_neighbours(a, b);
                let (w, quotient) = factors_one_apart(&self.forward, n / 2 + i / 2);
                let (a, b) = forward_butterfly::<WIDE>(c, a, b, w, quotient);
                let (a, b) = exchange_neighbours(c.lift(c.centre(a)), c.lift(c.centre(b)));
                let (a, b) = exchange_halves(a, b);
                store(x.add(i).cast(), c.to_words(a));
                store(x.add(i + LANES).cast(), c.to_words(b));
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn inverse_row(&self, words: &mut [u64]) {
        assert_eq!(words.len(), self.degree, "a row has `degree` words");
        let c = Constants::new(self.modulus);
        let n = self.degree;
        let x = words.as_mut_ptr().cast::<f64>();
        // SAFETY: as in `forward_row`.
        unsafe {
            for i in (0..n).step_by(2 * LANES) {
                let (a, b) = (c.to_double(load(x.add(i).cast())), c.to_double(load(x.add(i + LANES).cast())));
                let (a, b) = exchange_halves(a, b);
                let (a, b) = exchange_neighbours(a, b);
                let (w, quotient) = factors_one_apart(&self.inverse, n / 2 + i / 2);
                let (a, b) = inverse_butterfly(c, a, b, w, quotient);
                let (a, b) = exchange_neighbours(a, b);
                let (w, quotient) = factors_two_apart(&self.inverse, n / 4 + i / 4);
                let (a, b) = inverse_butterfly(c, a, b, w, quotient);
                let (a, b) = exchange_halves(a, b);
                _mm256_storeu_pd(x.add(i), a);
                _mm256_storeu_pd(x.add(i + LANES), b);
            }
            let (mut blocks, mut quarter) = (n / 16, LANES);
            while blocks >= 1 {
                self.inverse_two_stages(c, x, blocks, quarter);
                (blocks, quarter) = (blocks / 4, 4 * quarter);
            }
            let odd = n.trailing_zeros() % 2 == 1;
            let scale = _mm256_set1_pd(self.inverse_degree);
            let scale_quotient = _mm256_set1_pd(self.inverse_degree / self.modulus.value() as f64);
            let (w, quotient) = broadcast(&self.inverse, 1);
            for i in (0..n / 2).step_by(LANES) {
                let (lower, upper) = (x.add(i), x.add(i + n / 2));
                let (mut a, mut b) = (_mm256_loadu_pd(lower), _mm256_loadu_pd(upper));
                if odd {
                    (a, b) = inverse_butterfly(c, a, b, w, quotient);
                }
                store(lower.cast(), c.mul_reduced(a, scale, scale_quotient));
                store(upper.cast(), c.mul_reduced(b, scale, scale_quotient));
            }
        }
    }

    /// `out[i] <- sum_j x_j[i] y_j[i]` for factors below 2^50, on whole vectors; returns the number of words
    /// computed.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn sums(
        &self,
        out: &mut [u64],
        terms: usize,
        accumulate: bool,
        term: impl Fn(usize, usize) -> (__m256i, __m256i),
    ) -> usize {
        let whole = out.len() / LANES * LANES;
        let mask = _mm256_set1_epi64x((1 << HALF_BITS) - 1);
        for i in (0..whole).step_by(LANES) {
            let mut total = [0u64; LANES];
            if accumulate {
                total.copy_from_slice(&out[i..i + LANES]);
            }
            for start in (0..terms).step_by(LAZY_TERMS) {
                let mut sums = [_mm256_setzero_si256(); 3];
                for j in start..terms.min(start + LAZY_TERMS) {
                    let (x, y) = term(j, i);
                    let (x1, y1) = (_mm256_srli_epi64::<HALF_BITS>(x), _mm256_srli_epi64::<HALF_BITS>(y));
                    let (x0, y0) = (_mm256_and_si256(x, mask), _mm256_and_si256(y, mask));
                    sums[0] = _mm256_add_epi64(sums[0], _mm256_mul_epu32(x0, y0));
                    let cross = _mm256_add_epi64(_mm256_mul_epu32(x0, y1), _mm256_mul_epu32(x1, y0));
                    sums[1] = _mm256_add_epi64(sums[1], cross);
                    sums[2] = _mm256_add_epi64(sums[2], _mm256_mul_epu32(x1, y1));
                }
                let mut parts = [[0u64; LANES]; 3];
                for (part, sum) in parts.iter_mut().zip(sums) {
                    // SAFETY: a part has four words.
                    unsafe { store(part.as_mut_ptr(), sum) };
                }
                for (lane, total) in total.iter_mut().enumerate() {
                    let [low, middle, high] = parts.map(|part| u128::from(part[lane]));
                    *total = self.modulus.reduce_u128(
                        u128::from(*total) + low + (middle << HALF_BITS) + (high << (2 * HALF_BITS)),
                    );
                }
            }
            out[i..i + LANES].copy_from_slice(&total);
        }
        whole
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn dot_vectors(&self, out: &mut [u64], xs: &[&[u64]], ys: &[&[u64]], accumulate: bool) -> usize {
        let len = out.len();
        assert!(xs.iter().chain(ys).all(|row| row.len() == len), "slices of one call have equal lengths");
        let terms = xs.len().min(ys.len());
        // SAFETY: `sums` reads only whole vectors below `len`.
        self.sums(out, terms, accumulate, |j, i| unsafe {
            (load(xs[j].as_ptr().add(i)), load(ys[j].as_ptr().add(i)))
        })
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn combine_vectors(&self, out: &mut [u64], ys: &[&[u64]], weights: &[u64]) -> usize {
        let len = out.len();
        assert!(ys.iter().all(|row| row.len() == len), "slices of one call have equal lengths");
        let terms = ys.len().min(weights.len());
        // SAFETY: `sums` reads only whole vectors below `len`.
        self.sums(out, terms, false, |j, i| unsafe {
            (load(ys[j].as_ptr().add(i)), _mm256_set1_epi64x(weights[j].cast_signed()))
        })
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn mul_vectors(&self, x: &mut [u64], y: &[u64]) -> usize {
        let c = Constants::new(self.modulus);
        zip_assign(x, y, |x, y| {
            let (x, y) = (c.to_double(x), c.to_double(y));
            let high = _mm256_mul_pd(x, y);
            let low = _mm256_fmsub_pd(x, y, high);
            // The quotient is below 2^50 and is rounded three times, so `h` is off by less than 1/2 + 3/8.
            let h = round(_mm256_mul_pd(high, c.inverse));
            c.to_words(c.lift(_mm256_add_pd(_mm256_fnmadd_pd(h, c.q, high), low)))
        })
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn sub_mul_vectors(&self, x: &mut [u64], y: &[u64], w: u64) -> usize {
        let c = Constants::new(self.modulus);
        let (factor, quotient) = self.constant(w);
        zip_assign(x, y, |x, y| {
            c.mul_reduced(_mm256_sub_pd(c.to_double(x), c.to_double(y)), factor, quotient)
        })
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn mul_constant_vectors(&self, x: &mut [u64], w: Multiplier) -> usize {
        let c = Constants::new(self.modulus);
        let (factor, quotient) = self.constant(w.value);
        let whole = x.len() / LANES * LANES;
        for chunk in x[..whole].chunks_exact_mut(LANES) {
            // SAFETY: a chunk has four words.
            let value = unsafe { load(chunk.as_ptr()) };
            if any_above(value, 51) {
                self.scalar.mul_constant_assign(chunk, w);
            } else {
                // SAFETY: as above.
                unsafe { store(chunk.as_mut_ptr(), c.mul_reduced(c.to_double(value), factor, quotient)) };
            }
        }
        whole
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn constant(&self, w: u64) -> (__m256d, __m256d) {
        (_mm256_set1_pd(w as f64), _mm256_set1_pd(w as f64 / self.modulus.value() as f64))
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn add_vectors(&self, x: &mut [u64], y: &[u64]) -> usize {
        let q = _mm256_set1_epi64x(self.modulus.value().cast_signed());
        zip_assign(x, y, |x, y| add_if_negative(_mm256_sub_epi64(_mm256_add_epi64(x, y), q), q))
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn sub_vectors(&self, x: &mut [u64], y: &[u64]) -> usize {
        let q = _mm256_set1_epi64x(self.modulus.value().cast_signed());
        zip_assign(x, y, |x, y| add_if_negative(_mm256_sub_epi64(x, y), q))
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn reduce_signed_vectors(&self, x: &mut [u64], values: &[i64]) -> usize {
        assert_eq!(x.len(), values.len(), "slices of one call have equal lengths");
        let c = Constants::new(self.modulus);
        let magic = _mm256_set1_epi64x(SIGNED_MAGIC);
        let whole = x.len() / LANES * LANES;
        for (target, values) in x[..whole].chunks_exact_mut(LANES).zip(values.chunks_exact(LANES)) {
            // SAFETY: both chunks have four words.
            unsafe {
                let value = load(values.as_ptr().cast());
                // For values within 2^50 of zero, and only for those, the shifted value is below 2^51.
                if any_above(_mm256_add_epi64(value, _mm256_set1_epi64x(1 << 50)), 51) {
                    self.scalar.reduce_signed(target, values);
                } else {
                    let double = _mm256_sub_pd(
                        _mm256_castsi256_pd(_mm256_add_epi64(value, magic)),
                        _mm256_castsi256_pd(magic),
                    );
                    store(target.as_mut_ptr(), c.to_words(c.lift(c.centre(double))));
                }
            }
        }
        whole
    }
}

/// `x + q` where `x` is negative, else `x`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_if_negative(x: __m256i, q: __m256i) -> __m256i {
    _mm256_add_epi64(x, _mm256_and_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), x), q))
}

/// `x <- f(x, y)` on whole vectors; returns the number of words computed.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn zip_assign(x: &mut [u64], y: &[u64], f: impl Fn(__m256i, __m256i) -> __m256i) -> usize {
    assert_eq!(x.len(), y.len(), "slices of one call have equal lengths");
    let whole = x.len() / LANES * LANES;
    for (x, y) in x[..whole].chunks_exact_mut(LANES).zip(y.chunks_exact(LANES)) {
        // SAFETY: both chunks have four words.
        unsafe { store(x.as_mut_ptr(), f(load(x.as_ptr()), load(y.as_ptr()))) };
    }
    whole
}

impl RowKernel for Avx2Row {
    fn isa(&self) -> Isa {
        Isa::Avx2
    }

    fn forward(&self, x: &mut [u64]) {
        if self.degree < MIN_DEGREE {
            self.scalar.forward(x);
        } else if self.narrow {
            // SAFETY: detected in `new`.
            unsafe { self.forward_row::<false>(x) };
        } else {
            // SAFETY: detected in `new`.
            unsafe { self.forward_row::<true>(x) };
        }
    }

    fn inverse(&self, x: &mut [u64]) {
        if self.degree < MIN_DEGREE {
            self.scalar.inverse(x);
        } else {
            // SAFETY: detected in `new`.
            unsafe { self.inverse_row(x) };
        }
    }

    fn add_assign(&self, x: &mut [u64], y: &[u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.add_vectors(x, y) };
        self.scalar.add_assign(&mut x[done..], &y[done..]);
    }

    fn sub_assign(&self, x: &mut [u64], y: &[u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.sub_vectors(x, y) };
        self.scalar.sub_assign(&mut x[done..], &y[done..]);
    }

    fn negate_assign(&self, x: &mut [u64]) {
        self.scalar.negate_assign(x);
    }

    fn mul_assign(&self, x: &mut [u64], y: &[u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.mul_vectors(x, y) };
        self.scalar.mul_assign(&mut x[done..], &y[done..]);
    }

    fn mul_constant_assign(&self, x: &mut [u64], w: Multiplier) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.mul_constant_vectors(x, w) };
        self.scalar.mul_constant_assign(&mut x[done..], w);
    }

    fn sub_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: Multiplier) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.sub_mul_vectors(x, y, w.value) };
        self.scalar.sub_mul_constant_assign(&mut x[done..], &y[done..], w);
    }

    fn add_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: Multiplier) {
        // A product and then a sum, by the two vector loops that exist: one pass more than necessary.
        let mut product = y.to_vec();
        self.mul_constant_assign(&mut product, w);
        self.add_assign(x, &product);
    }

    fn dot(&self, out: &mut [u64], xs: &[&[u64]], ys: &[&[u64]], accumulate: bool) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.dot_vectors(out, xs, ys, accumulate) };
        if done < out.len() {
            self.scalar.dot(&mut out[done..], &tails(xs, done), &tails(ys, done), accumulate);
        }
    }

    fn dot_packed(&self, out: &mut [&mut [u64]], xs: &[&[u64]], factors: Run<'_>, accumulate: bool) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.dot_packed_vectors(out, xs, factors, accumulate) };
        if out.first().is_some_and(|column| done < column.len()) {
            let mut out: Vec<&mut [u64]> = out.iter_mut().map(|column| &mut column[done..]).collect();
            self.scalar.dot_packed(&mut out, &tails(xs, done), factors.after(done), accumulate);
        }
    }

    fn pack_sums(&self, out: RunMut<'_>, slots: &[Vec<&[u64]>]) {
        self.scalar.pack_sums(out, slots);
    }

    fn sum_packed(&self, out: RunMut<'_>, source: Run<'_>, slots: &[Vec<usize>], count: usize) {
        self.scalar.sum_packed(out, source, slots, count);
    }

    fn unpack_sum(&self, out: &mut [u64], source: Run<'_>, slots: &[usize]) {
        self.scalar.unpack_sum(out, source, slots);
    }

    fn combine(&self, out: &mut [u64], ys: &[&[u64]], weights: &[u64], y_bits: u32) {
        // SAFETY: detected in `new`.
        let done = if y_bits <= MAX_BITS { unsafe { self.combine_vectors(out, ys, weights) } } else { 0 };
        if done < out.len() {
            self.scalar.combine(&mut out[done..], &tails(ys, done), weights, y_bits);
        }
    }

    fn add_fraction(&self, acc: &mut [f64], x: &[u64], inverse_modulus: f64) {
        self.scalar.add_fraction(acc, x, inverse_modulus);
    }

    fn round_fraction(&self, out: &mut [u64], acc: &[f64]) {
        self.scalar.round_fraction(out, acc);
    }

    fn reduce_signed(&self, x: &mut [u64], values: &[i64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.reduce_signed_vectors(x, values) };
        self.scalar.reduce_signed(&mut x[done..], &values[done..]);
    }

    fn join_components(&self, out: &mut [u64], parts: &[&[u64]], twist: Twist) {
        if self.degree < MIN_DEGREE {
            self.scalar.join_components(out, parts, twist);
        } else {
            // SAFETY: detected in `new`.
            unsafe { self.join_vectors(out, parts, twist) };
        }
    }

    fn split_components(&self, parts: &mut [&mut [u64]], x: &[u64], twist: Twist) {
        if self.degree < MIN_DEGREE {
            self.scalar.split_components(parts, x, twist);
        } else {
            // SAFETY: detected in `new`.
            unsafe { self.split_vectors(parts, x, twist) };
        }
    }

    fn mean_of_neighbours(&self, out: &mut [u64], x: &[u64]) {
        if self.degree < MIN_DEGREE {
            self.scalar.mean_of_neighbours(out, x);
        } else {
            // SAFETY: detected in `new`.
            unsafe { self.mean_vectors(out, x) };
        }
    }
}
