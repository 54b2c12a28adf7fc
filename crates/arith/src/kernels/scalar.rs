//! The portable kernel, which specifies all other kernels: Harvey's lazy butterflies on 64-bit words.
//!
//! Range within the transforms: `[0, 4q)` forward, `[0, 2q)` inverse; because `q < 2^61`, `4q` fits a word.

use super::components::{Twist, inverse_of_parts};
use super::{Isa, RowKernel, assert_component_shape};
use crate::bit_packing::{Run, RunMut, VECTOR, pack, unpack};
use crate::error::ArithError;
use crate::modulus::{Modulus, Multiplier};
use crate::primes::primitive_root;

/// The largest degree with a transform.
pub const MAX_DEGREE: usize = 1 << 17;

/// Number of products of two reduced residues below 2^61 that fit a `u128`: 2^128 / 2^122.
const LAZY_TERMS: usize = 64;

/// What a transform needs of one modulus; that it exists is checked here, and tables are made of it later.
#[derive(Debug, Clone, Copy)]
pub struct Roots {
    modulus: Modulus,
    degree: usize,
    /// A root of order `2n` (degree 1 has `psi = -1`, and transforms that do nothing).
    psi: u64,
    psi_inverse: u64,
    /// `1 / n`.
    inverse_degree: u64,
}

impl Roots {
    /// The root of one modulus for rows of `degree` words.
    ///
    /// # Errors
    /// [`ArithError::InvalidDegree`], [`ArithError::NoRootOfUnity`].
    pub fn new(modulus: Modulus, degree: usize) -> Result<Self, ArithError> {
        if !degree.is_power_of_two() || degree > MAX_DEGREE {
            return Err(ArithError::InvalidDegree { degree });
        }
        let psi = primitive_root(&modulus, 2 * degree)?;
        // psi has finite order, so it is invertible.
        let missing = ArithError::NoRootOfUnity { modulus: modulus.value(), order: 2 * degree };
        let psi_inverse = modulus.inverse(psi).ok_or(missing.clone())?;
        let inverse_degree = modulus.inverse(degree as u64).ok_or(missing)?;
        Ok(Self { modulus, degree, psi, psi_inverse, inverse_degree })
    }

    /// The modulus.
    #[must_use]
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// Words of a row.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }
}

/// Powers of a primitive 2n-th root in bit-reversed order: entry `i` is `psi^brv(i)`, the order in which a
/// forward transform reads them. Shared by the kernels, which convert it to their own format.
#[derive(Debug)]
pub struct RootPowers {
    /// `psi^brv(i)` for `i` in `0..n`.
    pub forward: Vec<u64>,
    /// `psi^-brv(i)`.
    pub inverse: Vec<u64>,
    /// `1 / n`.
    pub inverse_degree: u64,
    /// The root itself, of order `2n` (degree 1 has `psi = -1`, and transforms that do nothing).
    pub psi: u64,
}

impl RootPowers {
    /// Computes the powers.
    #[must_use]
    pub fn new(&Roots { modulus, degree, psi, psi_inverse, inverse_degree }: &Roots) -> Self {
        let log = degree.trailing_zeros();
        let powers = |root: u64| {
            let mut table = vec![0; degree];
            let mut power = 1;
            for i in 0..degree {
                table[bit_reverse(i, log)] = power;
                power = modulus.mul(power, root);
            }
            table
        };
        Self { forward: powers(psi), inverse: powers(psi_inverse), inverse_degree, psi }
    }
}

/// `i` with its lowest `bits` bits in reverse order.
#[inline]
#[must_use]
pub fn bit_reverse(i: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) }
}

/// The portable kernel of one modulus.
#[derive(Debug)]
pub struct ScalarRow {
    modulus: Modulus,
    degree: usize,
    forward: Vec<Multiplier>,
    inverse: Vec<Multiplier>,
    inverse_degree: Multiplier,
}

impl ScalarRow {
    /// Prepares the kernel.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        let (modulus, powers) = (roots.modulus, RootPowers::new(roots));
        let prepare = |powers: &[u64]| powers.iter().map(|&w| modulus.multiplier(w)).collect();
        Self {
            modulus,
            degree: roots.degree,
            forward: prepare(&powers.forward),
            inverse: prepare(&powers.inverse),
            inverse_degree: modulus.multiplier(powers.inverse_degree),
        }
    }

    /// A kernel for element-wise operations only, without tables, for kernels that have their own transforms.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn without_transform(modulus: Modulus) -> Self {
        Self {
            modulus,
            degree: 0,
            forward: Vec::new(),
            inverse: Vec::new(),
            inverse_degree: modulus.multiplier(1),
        }
    }
}

impl ScalarRow {
    /// The stages of the forward transform from the one with `first_blocks` blocks on, and the final
    /// reduction to `[0, q)`.
    fn forward_stages(&self, x: &mut [u64], factors: &[Multiplier], first_blocks: usize) {
        let q = self.modulus;
        let two_q = 2 * q.value();
        let mut blocks = first_blocks;
        let mut half = x.len() / (2 * blocks);
        while half > 0 {
            for (block, w) in x.chunks_exact_mut(2 * half).zip(&factors[blocks..2 * blocks]) {
                let (lower, upper) = block.split_at_mut(half);
                for (a, b) in lower.iter_mut().zip(upper) {
                    // a, b in [0, 4q)
                    let u = (*a).min(a.wrapping_sub(two_q)); // [0, 2q)
                    let v = q.mul_shoup_lazy(*b, *w); // [0, 2q)
                    *a = u + v;
                    *b = u + two_q - v;
                }
            }
            half /= 2;
            blocks *= 2;
        }
        for a in x {
            *a = q.reduce_once((*a).min(a.wrapping_sub(two_q)));
        }
    }

    /// The stages of the inverse transform up to and including the one with `last_blocks` blocks. Range:
    /// output in `[0, 2q)`.
    fn inverse_stages(&self, x: &mut [u64], factors: &[Multiplier], last_blocks: usize) {
        let q = self.modulus;
        let two_q = 2 * q.value();
        let mut half = 1;
        let mut blocks = x.len() / 2;
        while blocks >= last_blocks {
            for (block, w) in x.chunks_exact_mut(2 * half).zip(&factors[blocks..2 * blocks]) {
                let (lower, upper) = block.split_at_mut(half);
                for (a, b) in lower.iter_mut().zip(upper) {
                    // a, b in [0, 2q)
                    let sum = *a + *b;
                    let difference = *a + two_q - *b;
                    *a = sum.min(sum.wrapping_sub(two_q));
                    *b = q.mul_shoup_lazy(difference, *w);
                }
            }
            half *= 2;
            blocks /= 2;
        }
    }

    /// The sum of the given slots of one packed vector.
    fn sum_of_slots(&self, bytes: &[u8], bits: u32, slots: &[usize]) -> [u64; VECTOR] {
        slots.iter().fold([0; VECTOR], |mut sum, &slot| {
            for (sum, x) in sum.iter_mut().zip(unpack(&bytes[slot * bits as usize..], bits)) {
                *sum = self.modulus.add(*sum, x);
            }
            sum
        })
    }
}

impl RowKernel for ScalarRow {
    fn isa(&self) -> Isa {
        Isa::Scalar
    }

    fn forward(&self, x: &mut [u64]) {
        assert_eq!(x.len(), self.degree, "a row has `degree` words");
        self.forward_stages(x, &self.forward, 1);
    }

    fn inverse(&self, x: &mut [u64]) {
        assert_eq!(x.len(), self.degree, "a row has `degree` words");
        self.inverse_stages(x, &self.inverse, 1);
        for a in x {
            *a = self.modulus.mul_shoup(*a, self.inverse_degree);
        }
    }

    fn add_assign(&self, x: &mut [u64], y: &[u64]) {
        for (a, b) in x.iter_mut().zip(y) {
            *a = self.modulus.add(*a, *b);
        }
    }

    fn sub_assign(&self, x: &mut [u64], y: &[u64]) {
        for (a, b) in x.iter_mut().zip(y) {
            *a = self.modulus.sub(*a, *b);
        }
    }

    fn negate_assign(&self, x: &mut [u64]) {
        for a in x {
            *a = self.modulus.neg(*a);
        }
    }

    fn mul_assign(&self, x: &mut [u64], y: &[u64]) {
        for (a, b) in x.iter_mut().zip(y) {
            *a = self.modulus.mul(*a, *b);
        }
    }

    fn mul_constant_assign(&self, x: &mut [u64], w: Multiplier) {
        for a in x {
            *a = self.modulus.mul_shoup(*a, w);
        }
    }

    fn sub_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: Multiplier) {
        for (a, b) in x.iter_mut().zip(y) {
            *a = self.modulus.mul_shoup(*a + self.modulus.value() - *b, w);
        }
    }

    fn add_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: Multiplier) {
        for (a, b) in x.iter_mut().zip(y) {
            *a = self.modulus.add(*a, self.modulus.mul_shoup(*b, w));
        }
    }

    fn dot(&self, out: &mut [u64], xs: &[&[u64]], ys: &[&[u64]], accumulate: bool) {
        for (i, target) in out.iter_mut().enumerate() {
            let mut sum = if accumulate { *target } else { 0 };
            for (xs, ys) in xs.chunks(LAZY_TERMS - 1).zip(ys.chunks(LAZY_TERMS - 1)) {
                let terms = xs.iter().zip(ys).map(|(x, y)| u128::from(x[i]) * u128::from(y[i]));
                sum = self.modulus.reduce_u128(terms.fold(u128::from(sum), |total, term| total + term));
            }
            *target = sum;
        }
    }

    fn dot_packed(&self, out: &mut [&mut [u64]], xs: &[&[u64]], factors: Run<'_>, accumulate: bool) {
        let (length, columns, bits) =
            (out.first().map_or(0, |column| column.len()), out.len(), factors.bits as usize);
        for (vector, start) in (0..length).step_by(VECTOR).enumerate() {
            let slots = &factors.bytes[vector * factors.stride..];
            let lanes = VECTOR.min(length - start);
            for (p, out) in out.iter_mut().enumerate() {
                let mut sums = [0; VECTOR];
                if accumulate {
                    sums[..lanes].copy_from_slice(&out[start..start + lanes]);
                }
                for (chunk, xs) in xs.chunks(LAZY_TERMS - 1).enumerate() {
                    let mut totals = sums.map(u128::from);
                    for (j, x) in xs.iter().enumerate() {
                        let slot = (chunk * (LAZY_TERMS - 1) + j) * columns + p;
                        let y = unpack(&slots[slot * bits..], factors.bits);
                        for (lane, x) in x[start..start + lanes].iter().enumerate() {
                            totals[lane] += u128::from(*x) * u128::from(y[lane]);
                        }
                    }
                    sums = totals.map(|total| self.modulus.reduce_u128(total));
                }
                out[start..start + lanes].copy_from_slice(&sums[..lanes]);
            }
        }
    }

    fn pack_sums(&self, out: RunMut<'_>, slots: &[Vec<&[u64]>]) {
        let length = slots.iter().flatten().next().map_or(0, |row| row.len());
        for (vector, start) in (0..length).step_by(VECTOR).enumerate() {
            let lanes = VECTOR.min(length - start);
            for (slot, rows) in slots.iter().enumerate() {
                let mut sum = [0; VECTOR];
                for row in rows {
                    for (sum, x) in sum.iter_mut().zip(&row[start..start + lanes]) {
                        *sum = self.modulus.add(*sum, *x);
                    }
                }
                pack(&mut out.bytes[vector * out.stride + slot * out.bits as usize..], out.bits, &sum);
            }
        }
    }

    fn sum_packed(&self, out: RunMut<'_>, source: Run<'_>, slots: &[Vec<usize>], count: usize) {
        for vector in 0..count {
            for (slot, parts) in slots.iter().enumerate() {
                let sum = self.sum_of_slots(&source.bytes[vector * source.stride..], source.bits, parts);
                pack(&mut out.bytes[vector * out.stride + slot * out.bits as usize..], out.bits, &sum);
            }
        }
    }

    fn unpack_sum(&self, out: &mut [u64], source: Run<'_>, slots: &[usize]) {
        for (vector, out) in out.chunks_mut(VECTOR).enumerate() {
            let sum = self.sum_of_slots(&source.bytes[vector * source.stride..], source.bits, slots);
            out.copy_from_slice(&sum[..out.len()]);
        }
    }

    fn combine(&self, out: &mut [u64], ys: &[&[u64]], weights: &[u64], y_bits: u32) {
        debug_assert!(y_bits <= crate::modulus::MAX_MODULUS_BITS);
        for (i, target) in out.iter_mut().enumerate() {
            let mut sum = 0;
            for (ys, weights) in ys.chunks(LAZY_TERMS - 1).zip(weights.chunks(LAZY_TERMS - 1)) {
                let terms = ys.iter().zip(weights).map(|(y, &w)| u128::from(y[i]) * u128::from(w));
                sum = self.modulus.reduce_u128(terms.fold(u128::from(sum), |total, term| total + term));
            }
            *target = sum;
        }
    }

    fn add_fraction(&self, acc: &mut [f64], x: &[u64], inverse_modulus: f64) {
        for (a, &x) in acc.iter_mut().zip(x) {
            *a += x as f64 * inverse_modulus;
        }
    }

    fn round_fraction(&self, out: &mut [u64], acc: &[f64]) {
        for (target, a) in out.iter_mut().zip(acc) {
            *target = a.round_ties_even() as u64;
        }
    }

    fn reduce_signed(&self, x: &mut [u64], values: &[i64]) {
        for (target, &value) in x.iter_mut().zip(values) {
            *target = self.modulus.reduce_i64(value);
        }
    }

    fn join_components(&self, out: &mut [u64], parts: &[&[u64]], twist: Twist) {
        assert_component_shape(self.degree, out.len(), parts.iter().map(|part| part.len()));
        let bits = parts.len().trailing_zeros();
        for (p, part) in parts.iter().enumerate() {
            for (target, &value) in out[bit_reverse(p, bits)..].iter_mut().step_by(parts.len()).zip(*part) {
                *target = value;
            }
        }
        let factors = match twist {
            Twist::Positive => &self.forward,
            Twist::Negative => &self.inverse,
        };
        self.forward_stages(out, factors, self.degree / parts.len());
    }

    fn split_components(&self, parts: &mut [&mut [u64]], x: &[u64], twist: Twist) {
        assert_component_shape(self.degree, x.len(), parts.iter().map(|part| part.len()));
        let (count, bits) = (parts.len(), parts.len().trailing_zeros());
        let factors = match twist {
            Twist::Positive => &self.inverse,
            Twist::Negative => &self.forward,
        };
        let mut work = x.to_vec();
        self.inverse_stages(&mut work, factors, self.degree / count);
        let scale = inverse_of_parts(&self.modulus, count);
        for (p, part) in parts.iter_mut().enumerate() {
            for (target, &value) in part.iter_mut().zip(work[bit_reverse(p, bits)..].iter().step_by(count)) {
                *target = self.modulus.mul_shoup(value, scale);
            }
        }
    }

    fn mean_of_neighbours(&self, out: &mut [u64], x: &[u64]) {
        let count = x.len() / out.len();
        let scale = inverse_of_parts(&self.modulus, count);
        for (target, group) in out.iter_mut().zip(x.chunks_exact(count)) {
            let sum = group.iter().fold(0, |sum, &value| self.modulus.add(sum, value));
            *target = self.modulus.mul_shoup(sum, scale);
        }
    }
}
