//! Changes of the degree in Eval form, expressed as stages of the transform. Every kernel has its own
//! implementation.
//!
//! # Joining and splitting
//! Over `Y = X^g`, `g` a power of two, a polynomial of degree `N = g n` has `g` components of degree `n`:
//!
//! ```text
//! x = sum_p X^brv_g(p) x_p(Y)         positive twist         x = sum_p X^-brv_g(p) x_p(Y)         negative twist
//! ```
//!
//! Components are in bit-reversed order, so that splits nest: splitting each of the two components of a
//! polynomial gives its four components, in order. Slot `i` of the Eval form holds the value at `psi_2N^(2
//! brv_N(i) + 1)`. Slots `2 j` and `2 j + 1` belong to the points `w_j` and `-w_j`,
//!
//! ```text
//! w_j = psi_2N^(2 brv_N(2 j) + 1),    w_j^2 = psi_N^(2 brv_(N/2)(j) + 1) = the point of slot j at degree N/2
//! ```
//!
//! because the roots of all degrees are powers of one another ([`crate::primes::primitive_root`]). So `x =
//! e(X^2) + X o(X^2)` has the values
//!
//! ```text
//! x[2 j], x[2 j + 1] = e[j] + w_j o[j], e[j] - w_j o[j]
//! ```
//!
//! which is the last stage of the forward transform, factors included (`w_j` is the factor of node `N/2 +
//! j`), with the two operands in separate rows. So joining `g` components is the last `log g` stages of the
//! forward transform; for the negative twist they use the inverse transform's factors. Splitting is the first
//! `log g` stages of the inverse transform, and a factor `1/g`. No extra pass multiplies by twiddles, because
//! the factors of these stages contain them.
//!
//! With either twist, component 0 is the mean of `g` neighbouring slots. The Eval form of `b(X^g)` has each
//! value of `b` `g` times.
//!
//! Source: [dpad-he, sec. 4.1, Theorems 4.1 and 4.2, Alg. 3 and 4], in bit-reversed orders; differs: the
//! paper leaves component 0 in Coeff form.

use crate::modulus::{Modulus, Multiplier};

/// The most components that a kernel joins or splits in one pass.
pub const MAX_PARTS: usize = 8;

/// The sign of the powers of `X` that multiply the components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    /// `x = sum_p X^brv(p) x_p(X^g)`: used for secrets.
    Positive,
    /// `x = sum_p X^-brv(p) x_p(X^g)`: used for masks, so that component 0 of mask times secret is the sum of
    /// the products of their components.
    Negative,
}

/// `1 / parts` for a power of two `parts`, which is invertible because moduli are odd.
#[must_use]
pub fn inverse_of_parts(modulus: &Modulus, parts: usize) -> Multiplier {
    modulus.multiplier(modulus.pow(modulus.value().div_ceil(2), u64::from(parts.trailing_zeros())))
}

/// `out[g j + i] <- x[j]` for `i` below `g = out.len() / x.len()`: the Eval form of `b(X^g)` from that of
/// `b`.
pub fn repeat(out: &mut [u64], x: &[u64]) {
    match out.len() / x.len() {
        1 => out.copy_from_slice(x),
        2 => repeat_array::<2>(out, x),
        4 => repeat_array::<4>(out, x),
        8 => repeat_array::<8>(out, x),
        gap => out.chunks_exact_mut(gap).zip(x).for_each(|(group, &value)| group.fill(value)),
    }
}

/// [`repeat`] with `g` known at compile time.
fn repeat_array<const G: usize>(out: &mut [u64], x: &[u64]) {
    let (groups, _) = out.as_chunks_mut::<G>();
    groups.iter_mut().zip(x).for_each(|(group, &value)| *group = [value; G]);
}
