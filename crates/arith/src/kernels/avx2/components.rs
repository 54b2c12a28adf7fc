//! Joining and splitting of components on 256-bit vectors. A pass over memory loads one vector of each of the
//! two, four or eight components and computes up to three stages of the transform between registers. Ranges
//! are those of the wide transforms, for means too.

use std::arch::x86_64::*;

use super::{
    Avx2Row, Constants, LANES, Twiddles, exchange_halves, exchange_neighbours, forward_butterfly,
    inverse_butterfly, load, store,
};
use crate::kernels::assert_component_shape;
use crate::kernels::components::{Twist, inverse_of_parts};

/// Moves lane `j` of vector `i` to lane `R j + i` of all vectors together. Each step rotates the `log 4R`
/// bits of a lane's position by one.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn interleave<const R: usize>(v: &[__m256d; R]) -> [__m256d; R] {
    let mut v = *v;
    for _ in 0..R.trailing_zeros() {
        let from = v;
        for i in 0..R / 2 {
            let (a, b) = exchange_neighbours(from[i], from[i + R / 2]);
            (v[2 * i], v[2 * i + 1]) = exchange_halves(a, b);
        }
    }
    v
}

/// The inverse of [`interleave`].
#[inline]
#[target_feature(enable = "avx2,fma")]
fn separate<const R: usize>(v: &[__m256d; R]) -> [__m256d; R] {
    let mut v = *v;
    for _ in 0..R.trailing_zeros() {
        let from = v;
        for i in 0..R / 2 {
            let (a, b) = exchange_halves(from[2 * i], from[2 * i + 1]);
            (v[i], v[i + R / 2]) = exchange_neighbours(a, b);
        }
    }
    v
}

/// Factors and quotients of the `4 WIDTH` nodes from `node` on: vector `i` has those of the nodes `node + i,
/// node + i + WIDTH, ..`.
///
/// # Safety
/// The table has these nodes.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn factors<const WIDTH: usize>(table: &Twiddles, node: usize) -> [[__m256d; WIDTH]; 2] {
    let mut v = [[_mm256_setzero_pd(); WIDTH]; 2];
    for i in 0..WIDTH {
        // SAFETY: guaranteed by the caller.
        unsafe {
            v[0][i] = _mm256_loadu_pd(table.factors.as_ptr().add(node + i * LANES));
            v[1][i] = _mm256_loadu_pd(table.quotients.as_ptr().add(node + i * LANES));
        }
    }
    [separate(&v[0]), separate(&v[1])]
}

/// One stage of a join of `R` components, which makes polynomials of `2 WIDTH` components from polynomials of
/// `WIDTH`. Vector `m WIDTH + i` has the words of polynomial `m` whose index is `i` modulo `WIDTH`. At width
/// 1, `first` is the node of the first of the four words.
///
/// # Safety
/// The table has the nodes `first WIDTH..(first + 4) WIDTH`.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn join_stage<const R: usize, const WIDTH: usize>(
    c: Constants,
    table: &Twiddles,
    first: usize,
    v: &mut [__m256d; R],
) {
    // SAFETY: guaranteed by the caller.
    let [w, quotients] = unsafe { factors::<WIDTH>(table, first * WIDTH) };
    let from = *v;
    for butterfly in 0..R / 2 {
        let (m, i) = (butterfly / WIDTH, butterfly % WIDTH);
        let at = 2 * m * WIDTH + i;
        (v[2 * butterfly], v[2 * butterfly + 1]) =
            forward_butterfly::<true>(c, from[at], from[at + WIDTH], w[i], quotients[i]);
    }
}

/// The inverse of [`join_stage`], times 2.
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn split_stage<const R: usize, const WIDTH: usize>(
    c: Constants,
    table: &Twiddles,
    first: usize,
    v: &mut [__m256d; R],
) {
    // SAFETY: guaranteed by the caller.
    let [w, quotients] = unsafe { factors::<WIDTH>(table, first * WIDTH) };
    let from = *v;
    for butterfly in 0..R / 2 {
        let (m, i) = (butterfly / WIDTH, butterfly % WIDTH);
        let at = 2 * m * WIDTH + i;
        (v[at], v[at + WIDTH]) =
            inverse_butterfly(c, from[2 * butterfly], from[2 * butterfly + 1], w[i], quotients[i]);
    }
}

impl Avx2Row {
    /// Joins two, four or eight components, at a degree with a vector transform.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn join_vectors(&self, out: &mut [u64], parts: &[&[u64]], twist: Twist) {
        assert_component_shape(self.degree, out.len(), parts.iter().map(|part| part.len()));
        let table = if twist == Twist::Positive { &self.forward } else { &self.inverse };
        // SAFETY: shapes are checked above; a degree with a transform is a multiple of 32.
        unsafe {
            match parts.len() {
                2 => self.join::<2>(out, parts, table),
                4 => self.join::<4>(out, parts, table),
                _ => self.join::<8>(out, parts, table),
            }
        }
    }

    /// Splits into two, four or eight components, at a degree with a vector transform.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn split_vectors(&self, parts: &mut [&mut [u64]], x: &[u64], twist: Twist) {
        assert_component_shape(self.degree, x.len(), parts.iter().map(|part| part.len()));
        let table = if twist == Twist::Negative { &self.forward } else { &self.inverse };
        // SAFETY: as in `join_vectors`.
        unsafe {
            match parts.len() {
                2 => self.split_into::<2>(parts, x, table),
                4 => self.split_into::<4>(parts, x, table),
                _ => self.split_into::<8>(parts, x, table),
            }
        }
    }

    /// Means of two, four or eight neighbours, at a degree with a vector transform.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn mean_vectors(&self, out: &mut [u64], x: &[u64]) {
        let count = x.len() / out.len();
        assert_component_shape(self.degree, x.len(), std::iter::repeat_n(out.len(), count));
        // SAFETY: as in `join_vectors`.
        unsafe {
            match count {
                2 => self.mean::<2>(out, x),
                4 => self.mean::<4>(out, x),
                _ => self.mean::<8>(out, x),
            }
        }
    }

    /// # Safety
    /// There are `R` parts, each of an `R`-th of the degree, which is a multiple of four.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn join<const R: usize>(&self, out: &mut [u64], parts: &[&[u64]], table: &Twiddles) {
        let c = Constants::new(self.modulus);
        let small = self.degree / R;
        for j in (0..small).step_by(LANES) {
            // SAFETY: the caller guarantees the shapes; the nodes of a stage of b blocks are b..2b.
            unsafe {
                let mut v = [_mm256_setzero_pd(); R];
                for p in 0..R {
                    v[p] = c.to_double(load(parts[p].as_ptr().add(j)));
                }
                join_stage::<R, 1>(c, table, small + j, &mut v);
                if R >= 4 {
                    join_stage::<R, 2>(c, table, small + j, &mut v);
                }
                if R >= 8 {
                    join_stage::<R, 4>(c, table, small + j, &mut v);
                }
                for x in &mut v {
                    *x = c.lift(c.centre(*x));
                }
                let v = interleave(&v);
                for i in 0..R {
                    store(out.as_mut_ptr().add(j * R + i * LANES), c.to_words(v[i]));
                }
            }
        }
    }

    /// # Safety
    /// As [`Avx2Row::join`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn split_into<const R: usize>(&self, parts: &mut [&mut [u64]], x: &[u64], table: &Twiddles) {
        let c = Constants::new(self.modulus);
        let (scale, scale_quotient) = self.constant(inverse_of_parts(&self.modulus, R).value);
        let small = self.degree / R;
        for j in (0..small).step_by(LANES) {
            // SAFETY: as in `join`.
            unsafe {
                let mut v = [_mm256_setzero_pd(); R];
                for i in 0..R {
                    v[i] = c.to_double(load(x.as_ptr().add(j * R + i * LANES)));
                }
                v = separate(&v);
                if R >= 8 {
                    split_stage::<R, 4>(c, table, small + j, &mut v);
                }
                if R >= 4 {
                    split_stage::<R, 2>(c, table, small + j, &mut v);
                }
                split_stage::<R, 1>(c, table, small + j, &mut v);
                for p in 0..R {
                    store(parts[p].as_mut_ptr().add(j), c.mul_reduced(v[p], scale, scale_quotient));
                }
            }
        }
    }

    /// # Safety
    /// As [`Avx2Row::join`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn mean<const R: usize>(&self, out: &mut [u64], x: &[u64]) {
        let c = Constants::new(self.modulus);
        let (scale, scale_quotient) = self.constant(inverse_of_parts(&self.modulus, R).value);
        for j in (0..self.degree / R).step_by(LANES) {
            // SAFETY: as in `join`.
            unsafe {
                let mut v = [_mm256_setzero_pd(); R];
                for i in 0..R {
                    v[i] = c.to_double(load(x.as_ptr().add(j * R + i * LANES)));
                }
                let mut count = R / 2;
                while count > 0 {
                    for i in 0..count {
                        let (a, b) = exchange_halves(v[2 * i], v[2 * i + 1]);
                        let (even, odd) = exchange_neighbours(a, b);
                        v[i] = c.centre(_mm256_add_pd(even, odd));
                    }
                    count /= 2;
                }
                store(out.as_mut_ptr().add(j), c.mul_reduced(v[0], scale, scale_quotient));
            }
        }
    }
}
