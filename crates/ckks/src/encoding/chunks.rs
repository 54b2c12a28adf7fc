//! Converts between the numbers of an array and the coefficients of its polynomials, by the array's layout.

use clathrate_lattice::rounding::Rounding;
use clathrate_lattice::{Coeff, Eval, Level, Poly};
use rustfft::num_complex::Complex64;

use super::decode::centred_integers;
use super::encode::{encode_coefficients_below, encode_slots};
use super::values::{Values, ValuesRef};
use crate::arrays::{Encoding, Layout};
use crate::embedding::doubles_suffice;
use crate::error::CkksError;
use crate::parameters::Params;

/// Polynomial `polynomial` of an array with this layout, rounded to integers at `scale`; places without an
/// entry are zero.
///
/// `largest` is a bound on the magnitudes of the numbers. The time depends on this bound only.
///
/// # Errors
/// [`CkksError::NotFinite`], [`CkksError::TooLarge`].
pub(crate) fn encode_polynomial(
    params: &Params,
    (values, largest): (ValuesRef<'_>, f64),
    layout: &Layout,
    polynomial: usize,
    (scale, rounding): (f64, Rounding),
    level: Level,
) -> Result<Poly<Eval>, CkksError> {
    if layout.encoding() == Encoding::Slots {
        let fill = |slots: &mut [Complex64]| {
            for (position, index) in layout.held(polynomial) {
                slots[position..position + layout.copies()].fill(values.get(index));
            }
        };
        return encode_slots(params, layout.period(), largest, fill, (scale, rounding), level);
    }
    let (_, _, component) = layout.polynomial(polynomial);
    let mut coefficients = vec![0.0; layout.degree()];
    let mut set = |position: usize, value: f64| {
        if position % layout.components() == component {
            coefficients[position / layout.components()] = value;
        }
    };
    for (position, index) in layout.held(polynomial) {
        let value = values.get(index);
        set(position, value.re);
        if let Some(half) = layout.imaginary_offset() {
            set(position + half, value.im);
        }
    }
    encode_coefficients_below(params, coefficients, largest, (scale, rounding), level)
}

/// Writes the entries, or parts of entries, that polynomial `polynomial` holds to `numbers`: the inverse of
/// [`encode_polynomial`].
///
/// `coefficients` are the coefficients of `poly`, divided by `scale`.
#[inline(never)]
pub(crate) fn read_coefficients(
    params: &Params,
    (poly, coefficients): (&Poly<Coeff>, &[f64]),
    scale: f64,
    layout: &Layout,
    polynomial: usize,
    numbers: &mut Values,
) {
    if layout.encoding() == Encoding::Slots {
        let read = |slots: &[Complex64]| {
            for (position, index) in layout.held(polynomial) {
                let value = slots[position];
                numbers.set_real(index, value.re);
                numbers.set_imaginary(index, value.im);
            }
        };
        let (encoder, count) = (params.encoder(), layout.period());
        // By Parseval, the mean square of the slots is the sum of the squares of the coefficients.
        if doubles_suffice(count, root_of_squares(coefficients) * scale) {
            return encoder.evaluate_with(coefficients, count, read);
        }
        return encoder.evaluate_integers(&centred_integers(poly), scale, count, read);
    }
    let (_, _, component) = layout.polynomial(polynomial);
    let get = |position: usize| {
        (position % layout.components() == component).then(|| coefficients[position / layout.components()])
    };
    for (position, index) in layout.held(polynomial) {
        if let Some(value) = get(position) {
            numbers.set_real(index, value);
        }
        if let Some(value) = layout.imaginary_offset().and_then(|half| get(position + half)) {
            numbers.set_imaginary(index, value);
        }
    }
}

/// The root of the sum of the squares, with eight independent sums, so that the compiler vectorises the loop.
fn root_of_squares(values: &[f64]) -> f64 {
    let mut sums = [0.0f64; 8];
    let lanes = values.chunks_exact(sums.len());
    let rest: f64 = lanes.remainder().iter().map(|value| value * value).sum();
    for lane in lanes {
        sums.iter_mut().zip(lane).for_each(|(sum, value)| *sum += value * value);
    }
    sums.into_iter().fold(rest, |total, sum| total + sum).sqrt()
}
