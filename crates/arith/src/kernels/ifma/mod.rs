//! The AVX-512 kernel with 52-bit integer fused multiply-add, for primes below 2^50.
//!
//! [`lanes`] holds the vector arithmetic, [`ntt`] the transform, [`passes`] its register passes, [`inner`]
//! its innermost blocks, [`split`] the transform in two parts, [`components`] changes of the degree, which
//! are the transform's last stages, [`packed`] the operations on packed residues, and [`elementwise`] the
//! other operations. Each module's first lines prove its ranges. The scalar kernel handles short transforms,
//! words beyond the last whole vector and base conversions from words above 52 bits.

mod components;
mod elementwise;
mod inner;
mod lanes;
mod ntt;
mod packed;
mod passes;
mod split;

use super::components::Twist;
use super::scalar::{RootPowers, Roots, ScalarRow};
use super::split::SplitTransform;
use super::{Isa, RowKernel, tails};
use crate::bit_packing::{Run, RunMut};
use crate::modulus::{Modulus, Multiplier};
use elementwise::ElementWords;
use ntt::Transform;

/// Bits of the largest modulus.
pub(crate) const MAX_BITS: u32 = 50;

/// The kernel of one modulus.
#[derive(Debug)]
pub(crate) struct IfmaRow {
    /// For short transforms and for words beyond the last whole vector.
    scalar: ScalarRow,
    elements: ElementWords,
    transform: Option<Transform>,
}

/// Whether this machine has every instruction that the kernel uses. Processors with the 52-bit multiplier
/// also have byte permutations (VBMI).
#[must_use]
pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("avx512vbmi")
}

/// Whether the kernel takes this modulus on this machine.
#[must_use]
pub(crate) fn takes(modulus: &Modulus) -> bool {
    modulus.bits() <= MAX_BITS && is_available()
}

impl IfmaRow {
    /// Prepares the kernel, or returns `None` where [`takes`] refuses the modulus.
    pub(crate) fn new(roots: &Roots) -> Option<Self> {
        let (modulus, degree) = (*roots.modulus(), roots.degree());
        if !takes(&modulus) {
            return None;
        }
        let vectors = degree >= ntt::MIN_DEGREE;
        Some(Self {
            scalar: if vectors { ScalarRow::without_transform(modulus) } else { ScalarRow::new(roots) },
            elements: ElementWords::new(modulus),
            transform: vectors.then(|| Transform::new(&modulus, degree, &RootPowers::new(roots))),
        })
    }
}

// SAFETY, for every block below: `IfmaRow::new` made this value only after `is_available` found the
// instructions.
impl RowKernel for IfmaRow {
    fn isa(&self) -> Isa {
        Isa::Ifma
    }

    fn forward(&self, x: &mut [u64]) {
        match &self.transform {
            // SAFETY: detected in `new`.
            Some(transform) => unsafe { transform.forward(x) },
            None => self.scalar.forward(x),
        }
    }

    fn split(&self) -> Option<&dyn SplitTransform> {
        self.transform
            .as_ref()
            .filter(|transform| transform.has_split())
            .map(|transform| transform as &dyn SplitTransform)
    }

    fn inverse(&self, x: &mut [u64]) {
        match &self.transform {
            // SAFETY: detected in `new`.
            Some(transform) => unsafe { transform.inverse(x) },
            None => self.scalar.inverse(x),
        }
    }

    fn add_assign(&self, x: &mut [u64], y: &[u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.add_assign(x, y) };
        self.scalar.add_assign(&mut x[done..], &y[done..]);
    }

    fn sub_assign(&self, x: &mut [u64], y: &[u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.sub_assign(x, y) };
        self.scalar.sub_assign(&mut x[done..], &y[done..]);
    }

    fn add(&self, out: &mut [u64], x: &[u64], y: &[u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.add(out, x, y) };
        self.scalar.add(&mut out[done..], &x[done..], &y[done..]);
    }

    fn sub(&self, out: &mut [u64], x: &[u64], y: &[u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.sub(out, x, y) };
        self.scalar.sub(&mut out[done..], &x[done..], &y[done..]);
    }

    fn negate_assign(&self, x: &mut [u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.negate_assign(x) };
        self.scalar.negate_assign(&mut x[done..]);
    }

    fn mul_assign(&self, x: &mut [u64], y: &[u64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.mul_assign(x, y) };
        self.scalar.mul_assign(&mut x[done..], &y[done..]);
    }

    fn mul_constant_assign(&self, x: &mut [u64], w: Multiplier) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.mul_constant_assign(x, w.value) };
        self.scalar.mul_constant_assign(&mut x[done..], w);
    }

    fn sub_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: Multiplier) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.sub_mul_constant_assign(x, y, w.value) };
        self.scalar.sub_mul_constant_assign(&mut x[done..], &y[done..], w);
    }

    fn quotient(&self, out: &mut [u64], x: &[u64], y: Option<&[u64]>, w: Multiplier, far: bool) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.quotient(out, x, y, w.value, far) };
        self.scalar.quotient(&mut out[done..], &x[done..], y.map(|y| &y[done..]), w, far);
    }

    fn add_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: Multiplier) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.add_mul_constant_assign(x, y, w.value) };
        self.scalar.add_mul_constant_assign(&mut x[done..], &y[done..], w);
    }

    fn dot(&self, out: &mut [u64], xs: &[&[u64]], ys: &[&[u64]], accumulate: bool) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.dot(out, xs, ys, accumulate) };
        if done < out.len() {
            self.scalar.dot(&mut out[done..], &tails(xs, done), &tails(ys, done), accumulate);
        }
    }

    fn dot_packed(&self, out: &mut [&mut [u64]], xs: &[&[u64]], factors: Run<'_>, accumulate: bool) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.dot_packed(out, xs, factors, accumulate) };
        if out.first().is_some_and(|column| done < column.len()) {
            let mut out: Vec<&mut [u64]> = out.iter_mut().map(|column| &mut column[done..]).collect();
            self.scalar.dot_packed(&mut out, &tails(xs, done), factors.after(done), accumulate);
        }
    }

    fn pack_sums(&self, mut out: RunMut<'_>, slots: &[Vec<&[u64]>]) {
        // SAFETY: detected in `new`.
        if !unsafe { self.elements.pack_sums(&mut out, slots) } {
            self.scalar.pack_sums(out, slots);
        }
    }

    fn sum_packed(&self, mut out: RunMut<'_>, source: Run<'_>, slots: &[Vec<usize>], count: usize) {
        // SAFETY: detected in `new`.
        if !unsafe { self.elements.sum_packed(&mut out, source, slots, count) } {
            self.scalar.sum_packed(out, source, slots, count);
        }
    }

    fn unpack_sum(&self, out: &mut [u64], source: Run<'_>, slots: &[usize]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.unpack_sum(out, source, slots) };
        if done < out.len() {
            self.scalar.unpack_sum(&mut out[done..], source.after(done), slots);
        }
    }

    fn combine(&self, out: &mut [u64], ys: &[&[u64]], weights: &[u64], y_bits: u32) {
        let done = if y_bits <= lanes::FACTOR_BITS {
            // SAFETY: detected in `new`.
            unsafe { self.elements.combine(out, ys, weights, y_bits) }
        } else {
            0
        };
        if done < out.len() {
            self.scalar.combine(&mut out[done..], &tails(ys, done), weights, y_bits);
        }
    }

    fn add_fraction(&self, acc: &mut [f64], x: &[u64], inverse_modulus: f64) {
        // SAFETY: detected in `new`.
        let done = unsafe { elementwise::add_fraction(acc, x, inverse_modulus) };
        self.scalar.add_fraction(&mut acc[done..], &x[done..], inverse_modulus);
    }

    fn round_fraction(&self, out: &mut [u64], acc: &[f64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { elementwise::round_fraction(out, acc) };
        self.scalar.round_fraction(&mut out[done..], &acc[done..]);
    }

    fn reduce_signed(&self, x: &mut [u64], values: &[i64]) {
        // SAFETY: detected in `new`.
        let done = unsafe { self.elements.reduce_signed(x, values) };
        self.scalar.reduce_signed(&mut x[done..], &values[done..]);
    }

    fn join_components(&self, out: &mut [u64], parts: &[&[u64]], twist: Twist) {
        match &self.transform {
            // SAFETY: detected in `new`.
            Some(transform) => unsafe { transform.join_components(out, parts, twist) },
            None => self.scalar.join_components(out, parts, twist),
        }
    }

    fn split_components(&self, parts: &mut [&mut [u64]], x: &[u64], twist: Twist) {
        match &self.transform {
            // SAFETY: detected in `new`.
            Some(transform) => unsafe { transform.split_components(parts, x, twist) },
            None => self.scalar.split_components(parts, x, twist),
        }
    }

    fn mean_of_neighbours(&self, out: &mut [u64], x: &[u64]) {
        match &self.transform {
            // SAFETY: detected in `new`.
            Some(transform) => unsafe { transform.mean_of_neighbours(out, x) },
            None => self.scalar.mean_of_neighbours(out, x),
        }
    }
}
