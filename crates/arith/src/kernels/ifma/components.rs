//! Joining and splitting of components on the 52-bit multiplier. A pass over memory loads one vector of each
//! of the two, four or eight components and computes up to three stages of the transform between registers,
//! with the table of the stages inside vectors.
//!
//! # Ranges
//! Ranges are those of the wide transform ([`super::ntt`]), for every modulus: words are exact, in `[0, 4q)`
//! between the stages of a join, in `[0, 2q)` between those of a split and of a mean, and reduced at the end.

use std::arch::x86_64::*;

use super::inner::{FORWARD, INNER, INNER_TABLE, INVERSE, Layout, TWO_APART_LANES, with_factor};
use super::lanes::{Constants, LANES, Lanes, add, load, quotient52, splat, store};
use super::ntt::Transform;
use super::passes::{forward_butterfly, inverse_butterfly};
use crate::kernels::assert_component_shape;
use crate::kernels::components::{Twist, inverse_of_parts};

/// Prefetch distance, in words, for a polynomial that is split. Without prefetching, splitting long rows into
/// eight takes 2.6 times as long (measured).
const AHEAD: usize = 512;

/// Prefetch distance, in words, for the table, of which only a part of each block is read. Without
/// prefetching, long rows take 1.1 to 1.9 times as long (measured).
const TABLE_AHEAD: usize = 8 * INNER_TABLE;

/// The permutations of lanes that all passes use.
struct Orders {
    /// Alternates the lanes of two vectors.
    interleave: [Lanes; 2],
    /// The inverse: the even lanes, then the odd lanes.
    separate: [Lanes; 2],
}

impl Orders {
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn new() -> Self {
        Self {
            interleave: [
                _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15),
            ],
            separate: [
                _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
                _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15),
            ],
        }
    }

    /// Moves word `j` of vector `i` to word `R j + i` of all vectors together. Each step rotates the `log 8R`
    /// bits of a word's position by one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn interleave<const R: usize>(&self, v: &[Lanes; R]) -> [Lanes; R] {
        let mut v = *v;
        for _ in 0..R.trailing_zeros() {
            let from = v;
            for i in 0..R / 2 {
                (v[2 * i], v[2 * i + 1]) = permute(from[i], from[i + R / 2], &self.interleave);
            }
        }
        v
    }

    /// The inverse of [`Orders::interleave`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn separate<const R: usize>(&self, v: &[Lanes; R]) -> [Lanes; R] {
        let mut v = *v;
        for _ in 0..R.trailing_zeros() {
            let from = v;
            for i in 0..R / 2 {
                (v[i], v[i + R / 2]) = permute(from[2 * i], from[2 * i + 1], &self.separate);
            }
        }
        v
    }
}

/// Applies both halves of a permutation to `a` and `b`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
fn permute(a: Lanes, b: Lanes, order: &[Lanes; 2]) -> (Lanes, Lanes) {
    (_mm512_permutex2var_epi64(a, order[0], b), _mm512_permutex2var_epi64(a, order[1], b))
}

/// The quotients of one direction's factors for the stages inside vectors, brought into the order of their
/// nodes.
struct Factors {
    /// The table of the first innermost block.
    table: *const u64,
    layout: Layout,
    one_apart: Lanes,
    two_apart: Lanes,
    one: Lanes,
}

impl Factors {
    /// The factors of the forward or the inverse direction of `transform`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn new(transform: &Transform, forward: bool) -> Self {
        let (words, layout) =
            if forward { (&transform.forward, FORWARD) } else { (&transform.inverse, INVERSE) };
        let [mut one, mut two] = [[0u64; LANES]; 2];
        for (lane, (vector, group)) in layout.one_apart_lanes.into_iter().enumerate() {
            one[4 * vector + group] = lane as u64;
        }
        for (lane, (vector, group)) in TWO_APART_LANES.into_iter().enumerate() {
            let place = 2 * vector + group;
            (two[place], two[place + 4]) = (lane as u64, lane as u64 + 4);
        }
        Self {
            table: words[transform.inner_twiddles..].as_ptr(),
            layout,
            // SAFETY: arrays of eight words.
            one_apart: unsafe { load(one.as_ptr()) },
            // SAFETY: as above.
            two_apart: unsafe { load(two.as_ptr()) },
            one: splat(1),
        }
    }

    /// The quotients of the stage between words `R / (2 WIDTH)` apart, in a pass over `R` components, for
    /// group number `group` of `8 R` words. Vector `i` has those of the words whose index is `i` modulo
    /// `WIDTH`.
    ///
    /// # Safety
    /// The degree is above `8 R group`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn quotients<const R: usize, const WIDTH: usize>(
        &self,
        orders: &Orders,
        group: usize,
    ) -> [Lanes; WIDTH] {
        let apart = R / (2 * WIDTH);
        let (block, inside) = (group * R / LANES, group % (LANES / R));
        let start = match apart {
            1 => self.layout.one_apart,
            2 => self.layout.two_apart,
            _ => self.layout.four_apart,
        };
        let mut v = [self.one; WIDTH];
        for i in 0..WIDTH {
            // SAFETY: a block's table has 32 / apart quotients of the stage, 8 WIDTH of them for the group.
            // A prefetch cannot fault, whatever its address.
            let words = unsafe {
                let at = self.table.add(block * INNER_TABLE + start + (inside * WIDTH + i) * LANES);
                _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(TABLE_AHEAD).cast());
                load(at)
            };
            v[i] = match apart {
                1 => _mm512_permutexvar_epi64(self.one_apart, words),
                2 => _mm512_permutexvar_epi64(self.two_apart, words),
                _ => words,
            };
        }
        orders.separate(&v)
    }

    /// One stage of a join of `R` components, which makes polynomials of `2 WIDTH` components from
    /// polynomials of `WIDTH`. Vector `m WIDTH + i` has the words of polynomial `m` whose index is `i` modulo
    /// `WIDTH`.
    ///
    /// # Safety
    /// As [`Factors::quotients`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn join_stage<const R: usize, const WIDTH: usize>(
        &self,
        c: &Constants,
        orders: &Orders,
        group: usize,
        v: &mut [Lanes; R],
    ) {
        // SAFETY: guaranteed by the caller.
        let quotients = unsafe { self.quotients::<R, WIDTH>(orders, group) };
        let from = *v;
        for butterfly in 0..R / 2 {
            let (m, i) = (butterfly / WIDTH, butterfly % WIDTH);
            let (w, quotient) = with_factor(c, quotients[i], self.one);
            let at = 2 * m * WIDTH + i;
            (v[2 * butterfly], v[2 * butterfly + 1]) =
                forward_butterfly::<true>(c, from[at], from[at + WIDTH], w, quotient);
        }
    }

    /// The inverse of [`Factors::join_stage`], times 2.
    ///
    /// # Safety
    /// As [`Factors::quotients`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn split_stage<const R: usize, const WIDTH: usize>(
        &self,
        c: &Constants,
        orders: &Orders,
        group: usize,
        v: &mut [Lanes; R],
    ) {
        // SAFETY: guaranteed by the caller.
        let quotients = unsafe { self.quotients::<R, WIDTH>(orders, group) };
        let from = *v;
        for butterfly in 0..R / 2 {
            let (m, i) = (butterfly / WIDTH, butterfly % WIDTH);
            let (w, quotient) = with_factor(c, quotients[i], self.one);
            let at = 2 * m * WIDTH + i;
            let (even, odd) = inverse_butterfly::<true>(
                c,
                from[2 * butterfly],
                from[2 * butterfly + 1],
                w,
                quotient,
                None,
                c.zero,
            );
            (v[at], v[at + WIDTH]) = (even, odd);
        }
    }
}

impl Transform {
    /// Joins two, four or eight components.
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub unsafe fn join_components(&self, out: &mut [u64], parts: &[&[u64]], twist: Twist) {
        assert_component_shape(self.degree, out.len(), parts.iter().map(|part| part.len()));
        let factors = Factors::new(self, twist == Twist::Positive);
        // SAFETY: shapes are checked above; a degree with a transform is a multiple of 64.
        unsafe {
            match parts.len() {
                2 => self.join::<2>(out, parts, &factors),
                4 => self.join::<4>(out, parts, &factors),
                _ => self.join::<8>(out, parts, &factors),
            }
        }
    }

    /// Splits into two, four or eight components.
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub unsafe fn split_components(&self, parts: &mut [&mut [u64]], x: &[u64], twist: Twist) {
        assert_component_shape(self.degree, x.len(), parts.iter().map(|part| part.len()));
        let factors = Factors::new(self, twist == Twist::Negative);
        // SAFETY: as in `join_components`.
        unsafe {
            match parts.len() {
                2 => self.split_into::<2>(parts, x, &factors),
                4 => self.split_into::<4>(parts, x, &factors),
                _ => self.split_into::<8>(parts, x, &factors),
            }
        }
    }

    /// Means of two, four or eight neighbours.
    ///
    /// # Safety
    /// The machine has AVX-512 F, DQ, VL and IFMA.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    pub unsafe fn mean_of_neighbours(&self, out: &mut [u64], x: &[u64]) {
        let count = x.len() / out.len();
        assert_component_shape(self.degree, x.len(), std::iter::repeat_n(out.len(), count));
        // SAFETY: as in `join_components`.
        unsafe {
            match count {
                2 => self.mean::<2>(out, x),
                4 => self.mean::<4>(out, x),
                _ => self.mean::<8>(out, x),
            }
        }
    }

    /// # Safety
    /// There are `R` parts, each of an `R`-th of the degree, which is a multiple of eight.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn join<const R: usize>(&self, out: &mut [u64], parts: &[&[u64]], factors: &Factors) {
        let (c, orders) = (Constants::new(&self.words), Orders::new());
        let parts: [*const u64; R] = std::array::from_fn(|p| parts[p].as_ptr());
        for group in 0..self.degree / (R * LANES) {
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                let mut v = [c.zero; R];
                for p in 0..R {
                    v[p] = load(parts[p].add(group * LANES));
                }
                factors.join_stage::<R, 1>(&c, &orders, group, &mut v);
                if R >= 4 {
                    factors.join_stage::<R, 2>(&c, &orders, group, &mut v);
                }
                if R >= 8 {
                    factors.join_stage::<R, 4>(&c, &orders, group, &mut v);
                }
                for x in &mut v {
                    *x = c.reduce_by(c.reduce_by(*x, c.two_q), c.q);
                }
                let v = orders.interleave(&v);
                for i in 0..R {
                    store(out.as_mut_ptr().add((group * R + i) * LANES), v[i]);
                }
            }
        }
    }

    /// # Safety
    /// As [`Transform::join`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn split_into<const R: usize>(&self, parts: &mut [&mut [u64]], x: &[u64], factors: &Factors) {
        let (c, orders) = (Constants::new(&self.words), Orders::new());
        let (scale, scale_quotient) = self.scale(R);
        let parts: [*mut u64; R] = std::array::from_fn(|p| parts[p].as_mut_ptr());
        for group in 0..self.degree / (R * LANES) {
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                let mut v = [c.zero; R];
                for i in 0..R {
                    let words = x.as_ptr().add((group * R + i) * LANES);
                    // A prefetch cannot fault, whatever its address.
                    _mm_prefetch::<_MM_HINT_T0>(words.wrapping_add(AHEAD).cast());
                    v[i] = load(words);
                }
                v = orders.separate(&v);
                if R >= 8 {
                    factors.split_stage::<R, 4>(&c, &orders, group, &mut v);
                }
                if R >= 4 {
                    factors.split_stage::<R, 2>(&c, &orders, group, &mut v);
                }
                factors.split_stage::<R, 1>(&c, &orders, group, &mut v);
                for p in 0..R {
                    store(
                        parts[p].add(group * LANES),
                        c.reduce_by(c.mul_lazy(v[p], scale, scale_quotient), c.q),
                    );
                }
            }
        }
    }

    /// # Safety
    /// As [`Transform::join`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    unsafe fn mean<const R: usize>(&self, out: &mut [u64], x: &[u64]) {
        let (c, orders) = (Constants::new(&self.words), Orders::new());
        let (scale, scale_quotient) = self.scale(R);
        for group in 0..self.degree / (R * LANES) {
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                let mut v = [c.zero; R];
                for i in 0..R {
                    v[i] = load(x.as_ptr().add((group * R + i) * LANES));
                }
                let mut count = R / 2;
                while count > 0 {
                    for i in 0..count {
                        let (even, odd) = permute(v[2 * i], v[2 * i + 1], &orders.separate);
                        v[i] = c.reduce_by(add(even, odd), c.two_q);
                    }
                    count /= 2;
                }
                store(
                    out.as_mut_ptr().add(group * LANES),
                    c.reduce_by(c.mul_lazy(v[0], scale, scale_quotient), c.q),
                );
            }
        }
    }

    /// `1 / parts` and its quotient.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512ifma")]
    fn scale(&self, parts: usize) -> (Lanes, Lanes) {
        let inverse = inverse_of_parts(&self.words.modulus, parts).value;
        (splat(inverse), splat(quotient52(inverse, self.words.q)))
    }
}

// A block consists of whole groups of words, for every number of components.
const _: () = assert!(INNER.is_multiple_of(crate::kernels::components::MAX_PARTS * LANES));
