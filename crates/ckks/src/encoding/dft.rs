//! The transforms between slots and coefficients, as products of sparse linear maps.
//!
//! Let `n` be the number of slots and `w_t = m_t + i m_{t + n}` the complex coefficients of a message, taken
//! in bit-reversed order. Its slots are
//!
//! ```text
//! z = L_n ... L_4 L_2 w
//! ```
//!
//! where layer `L_len` combines slots that are `len / 2` apart: with `u = x_j`, `v = x_(j + len/2)` and
//! `omega = exp(2 pi i 5^j / (4 len))`,
//!
//! ```text
//! y_j = u + omega v,    y_(j + len/2) = u - omega v,    j in 0 .. len/2, and so in every block of len slots
//! ```
//!
//! Several layers are multiplied into one factor, which takes one level. The factor has `2^(w+1) - 1`
//! diagonals for `w` layers; the diagonals of the layers up to `L_len` have the period `len`. The
//! bit-reversed order cancels between the two directions, and slot-wise operations in between do not depend
//! on the order.
//!
//! Source: Chen, Chillotti, Song (EUROCRYPT 2019), sec. 3.1, 4.1; periods: [bootstrapping study].

use std::f64::consts::PI;

use rustfft::num_complex::Complex64;

use super::linear::LinearTransform;
use crate::error::CkksError;

/// The twiddles `exp(2 pi i 5^j / (4 len))` of a layer, each computed from its exact angle.
fn twiddles(len: usize) -> Vec<Complex64> {
    let modulus = 4 * len;
    let mut exponent = 1usize;
    let twiddle = |_| {
        let value = Complex64::from_polar(1.0, 2.0 * PI * exponent as f64 / modulus as f64);
        exponent = exponent * 5 % modulus;
        value
    };
    (0..len / 2).map(twiddle).collect()
}

/// The map of a layer. `row` gives the factors of a pair of rows: on the diagonal, and at distance `len / 2`
/// to the right and to the left.
fn layer(
    slots: usize,
    len: usize,
    row: impl Fn(Complex64) -> [(Complex64, Complex64); 2],
) -> Result<LinearTransform, CkksError> {
    let zero = Complex64::new(0.0, 0.0);
    let half = len / 2;
    let (mut own, mut right, mut left) = (vec![zero; len], vec![zero; len], vec![zero; len]);
    for (j, omega) in twiddles(len).into_iter().enumerate() {
        let [(upper_own, upper_right), (lower_left, lower_own)] = row(omega);
        (own[j], right[j]) = (upper_own, upper_right);
        (left[j + half], own[j + half]) = (lower_left, lower_own);
    }
    LinearTransform::from_diagonals(slots, [(0, own), (half as i64, right), (-(half as i64), left)])
}

fn forward(slots: usize, len: usize) -> Result<LinearTransform, CkksError> {
    let one = Complex64::new(1.0, 0.0);
    layer(slots, len, |omega| [(one, omega), (one, -omega)])
}

fn inverse(slots: usize, len: usize) -> Result<LinearTransform, CkksError> {
    let half = Complex64::new(0.5, 0.0);
    layer(slots, len, |omega| [(half, half), (half * omega.conj(), -half * omega.conj())])
}

/// The composition of `layers`, the first one applied first.
fn composed(layers: impl Iterator<Item = LinearTransform>) -> Result<Option<LinearTransform>, CkksError> {
    let mut product: Option<LinearTransform> = None;
    for layer in layers {
        product = Some(match product {
            None => layer,
            Some(product) => product.then(&layer)?,
        });
    }
    Ok(product)
}

/// Groups neighbouring `layers` into `factors` products of equal sizes; the first products have one layer
/// more if the number of layers is not a multiple. For one slot, which has no layers, one identity factor.
fn grouped(layers: Vec<LinearTransform>, factors: usize) -> Result<Vec<LinearTransform>, CkksError> {
    if layers.is_empty() && factors > 0 {
        return Ok(vec![LinearTransform::from_diagonals(1, [(0, vec![Complex64::new(1.0, 0.0)])])?]);
    }
    let (each, more) = (layers.len() / factors.max(1), layers.len() % factors.max(1));
    let mut layers = layers.into_iter();
    let mut product = |index: usize| composed(layers.by_ref().take(each + usize::from(index < more)));
    let products = (0..factors).map(&mut product).collect::<Result<Vec<_>, CkksError>>()?;
    Ok(products.into_iter().flatten().collect())
}

/// The factors that map slots to complex coefficients in bit-reversed order, first one first: at most
/// `factors`, and at most one per layer.
///
/// The result encrypts `sum_t w_t X^t`, where `w` are the numbers in the slots.
///
/// # Errors
/// [`CkksError::OutOfRange`] unless `slots` is a power of two.
pub fn slots_to_coefficients(slots: usize, factors: usize) -> Result<Vec<LinearTransform>, CkksError> {
    let layers =
        (1..=slots.trailing_zeros()).map(|log| forward(slots, 1 << log)).collect::<Result<Vec<_>, _>>()?;
    grouped(layers, factors)
}

/// The inverse of [`slots_to_coefficients`]: the factors that map complex coefficients in bit-reversed order
/// to slots.
pub fn coefficients_to_slots(slots: usize, factors: usize) -> Result<Vec<LinearTransform>, CkksError> {
    let layers = (1..=slots.trailing_zeros())
        .rev()
        .map(|log| inverse(slots, 1 << log))
        .collect::<Result<Vec<_>, _>>()?;
    grouped(layers, factors)
}

/// The first factor of a transform from coefficients to slots: the product of the first `layers` layers, at
/// least 1 and at most all.
pub fn first_to_slots(slots: usize, layers: u32) -> Result<LinearTransform, CkksError> {
    let all = slots.trailing_zeros();
    let used = layers.clamp(1, all.max(1)).min(all);
    let layers =
        (all - used + 1..=all).rev().map(|log| inverse(slots, 1 << log)).collect::<Result<Vec<_>, _>>()?;
    let product = composed(layers.into_iter())?;
    product.ok_or_else(|| CkksError::OutOfRange {
        what: "the number of slots",
        value: slots.to_string(),
        remedy: "use at least 2".to_owned(),
    })
}

/// The factors that follow [`first_to_slots`] with the same `layers`, first one first.
pub fn rest_to_slots(slots: usize, layers: u32, factors: usize) -> Result<Vec<LinearTransform>, CkksError> {
    let rest = slots.trailing_zeros().saturating_sub(layers);
    grouped((1..=rest).rev().map(|log| inverse(slots, 1 << log)).collect::<Result<Vec<_>, _>>()?, factors)
}
