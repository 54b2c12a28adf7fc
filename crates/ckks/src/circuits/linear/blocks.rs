//! Products of plain matrices with rows of slots of any length. The matrix is cut into blocks of the slots of
//! a polynomial, and each block that is not zero is a linear map:
//!
//! ```text
//! polynomial i of the result = sum_j block_ij (polynomial j of the row)
//! ```
//!
//! A row whose slots repeat is also a row of more slots, so a result may be longer than its row.

use clathrate_lattice::Level;

use super::LinearTransform;
use super::gather::{in_rows_alone, is_movable};
use crate::arrays::estimate::Along;
use crate::arrays::{Ciphertext, Encoding, Estimate, Padding};
use crate::encoding::values::ValuesRef;
use crate::error::CkksError;
use crate::evaluation::evaluator::LevelsNeeded;
use crate::evaluation::{Evaluator, check_chunks, selected_chunks};

/// The product of a matrix, row-major `rows x columns`, with each row of `x`.
///
/// # Errors
/// Those of [`LinearTransform::from_matrix`] and [`LinearTransform::apply`]; [`CkksError::Unsuitable`] for
/// rows of several polynomials under one mask.
pub(crate) fn multiply_rows(
    evaluator: &Evaluator,
    x: &Ciphertext,
    values: ValuesRef<'_>,
    [rows, columns]: [usize; 2],
) -> Result<Ciphertext, CkksError> {
    let layout = x.layout();
    let slots = rows.max(columns).next_power_of_two();
    let is_plain = layout.encoding() == Encoding::Slots && layout.is_plain() && layout.columns() == columns;
    let is_wide = layout.columns() == columns && rows.max(columns) > layout.capacity();
    if !is_plain && is_wide && is_movable(x) {
        // The row of the result does not fit where other rows share the polynomial.
        return multiply_rows(evaluator, &in_rows_alone(evaluator, x)?, values, [rows, columns]);
    }
    if !is_plain || (layout.chunks() == 1 && slots == layout.capacity()) {
        return LinearTransform::from_matrix(values, rows, columns)?.apply(evaluator, x);
    }
    if layout.chunks() > 1 {
        check_chunks(x)?;
    }
    let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
    // Rows of several polynomials keep their capacity.
    let capacity = match layout.chunks() {
        1 => slots.max(layout.capacity()).min(x.params().slot_count()),
        _ => layout.capacity(),
    };
    let wide = x.layout().with_capacity(capacity)?.with_padding(Padding::Dirty);
    let x = x.clone().rearranged(x.shape().to_vec(), wide);
    let chunks: Vec<Ciphertext> =
        (0..wide.chunks()).map(|chunk| selected_chunks(&x, chunk..chunk + 1)).collect();
    let mut results = Vec::with_capacity(rows.div_ceil(capacity));
    for first in (0..rows).step_by(capacity) {
        let mut sum: Option<Ciphertext> = None;
        for (index, chunk) in chunks.iter().enumerate() {
            let place = (first, index * capacity);
            let size = (capacity.min(rows - first), chunk.layout().columns());
            let block = LinearTransform::block(values, columns, (place, size), capacity)?;
            if block.is_zero() {
                continue;
            }
            let mapped = block.apply(evaluator, chunk)?;
            sum = Some(match sum {
                None => mapped,
                Some(sum) => evaluator.add(&sum, &mapped)?,
            });
        }
        results.push(match sum {
            Some(sum) => sum,
            None => zeros(evaluator, &chunks[0], capacity.min(rows - first))?,
        });
    }
    Ok(in_chunks(results, rows))
}

/// Rows of `columns` zeros at the level and scale of a product of `x` with a matrix.
fn zeros(evaluator: &Evaluator, x: &Ciphertext, columns: usize) -> Result<Ciphertext, CkksError> {
    let zeros = evaluator.rescale(&evaluator.multiply_mask(x, |_| false, 1.0)?)?;
    let mut shape = x.shape().to_vec();
    shape.pop();
    shape.push(columns);
    let layout = zeros.layout().of_columns(columns).with_padding(Padding::Zero);
    Ok(zeros.rearranged(shape, layout))
}

/// Arrays whose rows fill a polynomial, but for the last one's, as the polynomials of rows of `columns`
/// numbers.
fn in_chunks(mut parts: Vec<Ciphertext>, columns: usize) -> Ciphertext {
    if parts.len() == 1 {
        return parts.swap_remove(0);
    }
    let (level, scale): (Level, f64) = (parts[0].level(), parts[0].scale());
    let complex = parts.iter().any(Ciphertext::is_complex);
    let layout = parts[0].layout().of_columns(columns).of_numbers(complex).with_padding(Padding::Zero);
    let mut shape = parts[0].shape().to_vec();
    shape.pop();
    shape.push(columns);
    let bundles = (0..parts[0].bundles().len())
        .flat_map(|row| parts.iter().map(move |part| part.bundles()[row].clone()))
        .collect();
    let kept: Vec<Estimate> = parts.iter().map(|part| part.estimate.clone()).collect();
    parts[0]
        .with_all((parts[0].params(), shape), layout, bundles, (level, scale))
        .estimated(|_| Estimate::side_by_side(&kept, Along::Columns, &layout))
}
