//! Converts between the numbers of an array and the coefficients of its polynomials, by the array's layout.

use super::values::{Values, ValuesRef};
use crate::arrays::{Encoding, Layout};
use crate::parameters::Params;

/// The unscaled coefficients of polynomial `polynomial` of an array with this layout; places without an entry are zero.
pub(crate) fn coefficients_of(params: &Params, values: ValuesRef<'_>, layout: &Layout, polynomial: usize) -> Vec<f64> {
    if layout.encoding == Encoding::Slots {
        return params.encoder().embed_with(layout.period(), |slots| {
            for (position, index) in layout.held(polynomial) {
                slots[position..position + layout.copies].fill(values.get(index));
            }
        });
    }
    let (_, _, component) = layout.polynomial(polynomial);
    let mut coefficients = vec![0.0; layout.degree];
    let mut set = |position: usize, value: f64| {
        if position % layout.components == component {
            coefficients[position / layout.components] = value;
        }
    };
    for (position, index) in layout.held(polynomial) {
        let value = values.get(index);
        set(position, value.re);
        if let Some(half) = layout.imaginary_offset() {
            set(position + half, value.im);
        }
    }
    coefficients
}

/// Writes the entries that polynomial `polynomial` holds, or the parts of them, to `numbers`: the inverse of [`coefficients_of`].
pub(crate) fn read_coefficients(params: &Params, coefficients: &[f64], layout: &Layout, polynomial: usize, numbers: &mut Values) {
    if layout.encoding == Encoding::Slots {
        return params.encoder().evaluate_with(coefficients, layout.period(), |slots| {
            for (position, index) in layout.held(polynomial) {
                let value = slots[position];
                numbers.set_real(index, value.re);
                numbers.set_imaginary(index, value.im);
            }
        });
    }
    let (_, _, component) = layout.polynomial(polynomial);
    let get = |position: usize| (position % layout.components == component).then(|| coefficients[position / layout.components]);
    for (position, index) in layout.held(polynomial) {
        if let Some(value) = get(position) {
            numbers.set_real(index, value);
        }
        if let Some(value) = layout.imaginary_offset().and_then(|half| get(position + half)) {
            numbers.set_imaginary(index, value);
        }
    }
}
