//! Moves of the degree in Eval form: which of the transform's stages they are. Every kernel has its own version of the passes.
//!
//! # Joining and splitting
//! Over `Y = X^g`, `g` a power of two, a polynomial of degree `N = g n` has `g` components of degree `n`:
//!
//! ```text
//! x = sum_p X^brv_g(p) x_p(Y)         positive twist         x = sum_p X^-brv_g(p) x_p(Y)         negative twist
//! ```
//!
//! Components are in bit-reversed order, so that moves nest: the two components of a polynomial, split again, are its four.
//! Slot `i` of the Eval form holds the value at `psi_2N^(2 brv_N(i) + 1)`. Slots `2 j` and `2 j + 1` belong to the points `w_j` and `-w_j`,
//!
//! ```text
//! w_j = psi_2N^(2 brv_N(2 j) + 1),    w_j^2 = psi_N^(2 brv_(N/2)(j) + 1) = the point of slot j at degree N/2
//! ```
//!
//! as roots of all degrees are powers of one another ([`crate::primes::primitive_root`]). So `x = e(X^2) + X o(X^2)` has the values
//!
//! ```text
//! x[2 j], x[2 j + 1] = e[j] + w_j o[j], e[j] - w_j o[j]
//! ```
//!
//! which is the last stage of the forward transform, factors included (`w_j` stands at node `N/2 + j`), with its two operands in rows of their
//! own. So joining `g` components is the last `log g` stages; with the negative twist they have the inverse transform's factors. Splitting is
//! the inverse transform's first `log g` stages, and a factor `1/g`. No pass of its own multiplies by twiddles: the transform's own factors have them.
//!
//! The component at place 0, with either twist, is the mean of `g` neighbours, and `b(X^g)` has each value of `b` `g` times.
//!
//! Source: [dpad-he, sec. 4.1, Theorems 4.1 and 4.2, Alg. 3 and 4], in bit-reversed orders; differs: the paper leaves the component at place 0
//! in Coeff form.

use crate::modulus::{Modulus, Multiplier};

/// The most components that a kernel joins or splits in one pass.
pub const MAX_PARTS: usize = 8;

/// Which powers of `X` the components carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    /// `x = sum_p X^brv(p) x_p(X^g)`: as secrets are split.
    Positive,
    /// `x = sum_p X^-brv(p) x_p(X^g)`: as masks are, so that the component at place 0 of a product is the sum of the products of components.
    Negative,
}

/// `1 / parts` for a power of two; moduli are odd.
#[must_use]
pub fn inverse_of_parts(modulus: &Modulus, parts: usize) -> Multiplier {
    modulus.multiplier(modulus.pow(modulus.value().div_ceil(2), u64::from(parts.trailing_zeros())))
}

/// `out[g j + i] <- x[j]` for `i` below `g = out.len() / x.len()`: the Eval form of `b(X^g)` from that of `b`.
pub fn repeat(out: &mut [u64], x: &[u64]) {
    match out.len() / x.len() {
        1 => out.copy_from_slice(x),
        2 => repeat_array::<2>(out, x),
        4 => repeat_array::<4>(out, x),
        8 => repeat_array::<8>(out, x),
        gap => out.chunks_exact_mut(gap).zip(x).for_each(|(group, &value)| group.fill(value)),
    }
}

/// [`repeat`] with a length that the compiler knows.
fn repeat_array<const G: usize>(out: &mut [u64], x: &[u64]) {
    let (groups, _) = out.as_chunks_mut::<G>();
    groups.iter_mut().zip(x).for_each(|(group, &value)| *group = [value; G]);
}
