//! Kernels: the operations on rows of residues modulo one prime, implemented once per instruction set.
//!
//! [`scalar`] is the specification: readable, and valid for every modulus below 2^61. Every other kernel
//! gives the same results bit for bit on fully reduced inputs, and is tested for that. A kernel is chosen
//! once, when the table of a modulus is built ([`build`]). It holds twiddles and constants in its own format,
//! and no call detects the machine's features again.

use std::fmt::Debug;

use crate::bit_packing::{Run, RunMut};
use crate::error::ArithError;
use crate::modulus::{Modulus, Multiplier};
use components::Twist;
use split::SplitTransform;

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
pub(crate) mod blocks;
pub mod components;
#[cfg(target_arch = "x86_64")]
pub(crate) mod ifma;
pub mod scalar;
pub mod split;
pub mod stream;

/// Environment variable that forces an instruction set (`scalar`, `avx2`, `ifma`).
pub const FORCE_VARIABLE: &str = "CLATHRATE_ISA";

/// Instruction sets with kernels, slowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Portable Rust.
    Scalar,
    /// AVX2 with floating-point fused multiply-add.
    Avx2,
    /// AVX-512 with 52-bit integer fused multiply-add.
    Ifma,
}

impl Isa {
    /// All instruction sets this machine can run, slowest first.
    #[must_use]
    pub fn available() -> Vec<Isa> {
        [Isa::Scalar, Isa::Avx2, Isa::Ifma].into_iter().filter(|isa| isa.is_available()).collect()
    }

    /// Whether this machine can run it.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Isa::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::is_available(),
            #[cfg(target_arch = "x86_64")]
            Isa::Ifma => ifma::is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Ifma => false,
        }
    }

    /// The fastest instruction set that this machine can run, or the one named by [`FORCE_VARIABLE`].
    ///
    /// # Errors
    /// [`ArithError::IsaUnavailable`] where the named instruction set is unknown or this machine lacks it.
    pub fn detect() -> Result<Isa, ArithError> {
        match std::env::var(FORCE_VARIABLE) {
            Ok(name) if !name.is_empty() => Self::named(&name),
            _ => Ok(Self::available().last().copied().unwrap_or(Isa::Scalar)),
        }
    }

    /// The instruction set called `name`, if this machine has it.
    ///
    /// # Errors
    /// [`ArithError::IsaUnavailable`] where it is unknown or this machine lacks it.
    pub fn named(name: &str) -> Result<Isa, ArithError> {
        let available = Self::available();
        available.iter().copied().find(|isa| isa.name() == name).ok_or_else(|| ArithError::IsaUnavailable {
            isa: name.to_owned(),
            available: available.iter().map(|isa| isa.name()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Its name, as [`FORCE_VARIABLE`] takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Ifma => "ifma",
        }
    }
}

/// The operations on rows of residues modulo one prime `q`.
///
/// Range: unless a method says otherwise, all residues in inputs and outputs are fully reduced, in `[0, q)`.
/// The slices of one call have equal lengths unless stated otherwise; element-wise methods work for any
/// length.
pub trait RowKernel: Send + Sync + Debug {
    /// The instruction set of this kernel.
    fn isa(&self) -> Isa;

    /// Negacyclic forward transform in place, natural order in, bit-reversed order out:
    /// `x[brv(i)] <- sum_t x[t] psi^{(2i + 1) t}`.
    fn forward(&self, x: &mut [u64]);

    /// The same transform in two parts; `None` if the kernel has no such transform.
    fn split(&self) -> Option<&dyn SplitTransform> {
        None
    }

    /// The inverse of [`RowKernel::forward`], including the factor 1/n.
    fn inverse(&self, x: &mut [u64]);

    /// `x <- x + y`.
    fn add_assign(&self, x: &mut [u64], y: &[u64]);

    /// `x <- x - y`.
    fn sub_assign(&self, x: &mut [u64], y: &[u64]);

    /// `out <- x + y`.
    fn add(&self, out: &mut [u64], x: &[u64], y: &[u64]) {
        copied(out, x, y, |out, y| self.add_assign(out, y));
    }

    /// `out <- x - y`.
    fn sub(&self, out: &mut [u64], x: &[u64], y: &[u64]) {
        copied(out, x, y, |out, y| self.sub_assign(out, y));
    }

    /// `x <- -x`.
    fn negate_assign(&self, x: &mut [u64]);

    /// `x <- x * y`, element by element.
    fn mul_assign(&self, x: &mut [u64], y: &[u64]);

    /// `x <- x * w` for a constant. Range: `x` any value below 2^61 (not only reduced), output in `[0, q)`.
    fn mul_constant_assign(&self, x: &mut [u64], w: Multiplier);

    /// `x <- (x - y) * w`: the last step of a division by a modulus.
    fn sub_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: Multiplier);

    /// `out <- (x - y) * w`, or `x * w` without `y`. With `far`, the kernel may write with non-temporal
    /// stores, which bypass the caches.
    fn quotient(&self, out: &mut [u64], x: &[u64], y: Option<&[u64]>, w: Multiplier, far: bool) {
        let _ = far;
        out.copy_from_slice(x);
        match y {
            Some(y) => self.sub_mul_constant_assign(out, y, w),
            None => self.mul_constant_assign(out, w),
        }
    }

    /// `x <- x + y * w`: adds a term that needs no switch to the result of a switch before its mod-down.
    fn add_mul_constant_assign(&self, x: &mut [u64], y: &[u64], w: Multiplier);

    /// `out <- sum_j xs[j] * ys[j]`, or `out + ...` when `accumulate`. Products are summed lazily and reduced
    /// at the end.
    fn dot(&self, out: &mut [u64], xs: &[&[u64]], ys: &[&[u64]], accumulate: bool);

    /// `out[p] <- sum_j xs[j] * y[j][p]` (or `out[p] + ...` when `accumulate`), where `y[j][p]` is slot `j *
    /// out.len() + p` of `factors`: several sums as by [`RowKernel::dot`], in one pass over packed factors.
    ///
    /// Range: any length; a length that is no multiple of eight uses only part of the last vector of
    /// `factors`.
    fn dot_packed(&self, out: &mut [&mut [u64]], xs: &[&[u64]], factors: Run<'_>, accumulate: bool);

    /// Slot `s` of `out` `<- sum of slots[s]`, where each summand is a row of reduced residues; lanes beyond
    /// the end of a row are zero.
    fn pack_sums(&self, out: RunMut<'_>, slots: &[Vec<&[u64]>]);

    /// Slot `s` of each of `count` vectors of `out` `<- sum of the slots named in slots[s]` of `source`:
    /// merges key digits without unpacking the whole key.
    fn sum_packed(&self, out: RunMut<'_>, source: Run<'_>, slots: &[Vec<usize>], count: usize);

    /// `out <- sum of the slots named in slots` of `source`.
    fn unpack_sum(&self, out: &mut [u64], source: Run<'_>, slots: &[usize]);

    /// `out <- sum_j weights[j] * ys[j]`: one output row of a base conversion.
    ///
    /// Range: `ys` hold any values below `2^61` and below `1 << y_bits`; `weights` are reduced.
    fn combine(&self, out: &mut [u64], ys: &[&[u64]], weights: &[u64], y_bits: u32);

    /// `acc[i] <- acc[i] + x[i] as f64 * inverse_modulus`: the fractional part of a base conversion. Every
    /// kernel rounds the product and then the sum, in that order, so that all kernels agree to the bit.
    fn add_fraction(&self, acc: &mut [f64], x: &[u64], inverse_modulus: f64);

    /// `out[i] <- acc[i]` rounded to the nearest integer, ties to even. Range: `0 <= acc < 2^31`.
    fn round_fraction(&self, out: &mut [u64], acc: &[f64]);

    /// `x <- value mod q` for signed words, such as samples and coefficients of plaintexts.
    fn reduce_signed(&self, x: &mut [u64], values: &[i64]);

    /// `out <- sum_p X^(+-brv(p)) parts[p](X^g)` in Eval form, for `g = parts.len()` in 2, 4, 8; see
    /// [`components`].
    ///
    /// Shapes: `out` has `degree` words, every part `degree / g`.
    fn join_components(&self, out: &mut [u64], parts: &[&[u64]], twist: Twist);

    /// The inverse of [`RowKernel::join_components`].
    fn split_components(&self, parts: &mut [&mut [u64]], x: &[u64], twist: Twist);

    /// `out[j] <- (x[g j] + .. + x[g j + g - 1]) / g` for `g = x.len() / out.len()` in 2, 4, 8: component 0
    /// of `x`.
    ///
    /// Shapes: `x` has `degree` words.
    fn mean_of_neighbours(&self, out: &mut [u64], x: &[u64]);
}

/// The instruction set of the kernel for one modulus: `isa`, or the next smaller one that takes it.
#[must_use]
pub fn chosen(isa: Isa, modulus: &Modulus) -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        if isa >= Isa::Ifma && ifma::takes(modulus) {
            return Isa::Ifma;
        }
        if isa >= Isa::Avx2 && avx2::takes(modulus) {
            return Isa::Avx2;
        }
    }
    // On other processors every `isa` gives the scalar kernel.
    let _ = (isa, modulus);
    Isa::Scalar
}

/// Builds the kernel of the [`chosen`] instruction set, with its tables.
#[must_use]
pub fn build(isa: Isa, roots: &scalar::Roots) -> Box<dyn RowKernel> {
    #[cfg(target_arch = "x86_64")]
    match chosen(isa, roots.modulus()) {
        Isa::Ifma => {
            if let Some(row) = ifma::IfmaRow::new(roots) {
                return Box::new(row);
            }
        }
        Isa::Avx2 => {
            if let Some(row) = avx2::Avx2Row::new(roots) {
                return Box::new(row);
            }
        }
        Isa::Scalar => (),
    }
    let _ = isa;
    Box::new(scalar::ScalarRow::new(roots))
}

/// Asserts that a row of `whole = degree` words and rows of the given lengths fit a change of the degree by
/// two, four or eight.
fn assert_component_shape(degree: usize, whole: usize, mut lengths: impl ExactSizeIterator<Item = usize>) {
    let parts = lengths.len();
    assert!(whole == degree, "a row has `degree` words");
    assert!(
        parts.is_power_of_two() && (2..=components::MAX_PARTS).contains(&parts),
        "two, four or eight components in one pass"
    );
    assert!(lengths.all(|length| length * parts == whole), "components share the words of the whole");
}

/// The rows from word `start` on, which a vector kernel leaves to the scalar kernel.
#[cfg(target_arch = "x86_64")]
fn tails<'a>(rows: &[&'a [u64]], start: usize) -> Vec<&'a [u64]> {
    rows.iter().map(|row| &row[start..]).collect()
}

/// Words per block of [`copied`].
const COPY_BLOCK: usize = 1024;

/// `out <- x`, then `work` on each block of `out`, while it is in the first-level cache, and the same block
/// of `y`.
fn copied(out: &mut [u64], x: &[u64], y: &[u64], work: impl Fn(&mut [u64], &[u64])) {
    for ((out, x), y) in out.chunks_mut(COPY_BLOCK).zip(x.chunks(COPY_BLOCK)).zip(y.chunks(COPY_BLOCK)) {
        out.copy_from_slice(x);
        work(out, y);
    }
}
