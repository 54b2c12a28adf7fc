//! Products of plain matrices with rows of slots of any length. The matrix is cut into blocks of the slots of
//! a polynomial, and each block that is not zero is a linear map:
//!
//! ```text
//! polynomial i of the result = sum_j block_ij (polynomial j of the row)
//! ```
//!
//! A row whose slots repeat is also a row of more slots, so a result may be longer than its row.

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::LinearTransform;
use super::gather::{in_rows_alone, is_movable, zeros};
use crate::arrays::estimate::{Along, MatrixNorms};
use crate::arrays::{Ciphertext, Encoding, Estimate, Order, Padding};
use crate::embedding::encoding_errors;
use crate::encoding::Matrix;
use crate::encoding::linear::RowMatrix;
use crate::encoding::values::ValuesRef;
use crate::error::CkksError;
use crate::evaluation::evaluator::LevelsNeeded;
use crate::evaluation::{Evaluator, check_chunks, doublings, selected_chunks, with_columns};

/// A matrix has few rows if a polynomial has at least this many times as many slots. Its diagonals would be
/// as many as the slots, with few numbers on each.
const FEW_ROWS: usize = 4;

/// In a matrix with at most one of so many entries other than zero, diagonals may be zero.
const SPARSE: usize = 4;

/// The product of a matrix, `rows x columns`, with each row of `x`.
///
/// # Errors
/// Those of [`LinearTransform::from_matrix`] and [`LinearTransform::apply`]; [`CkksError::Unsuitable`] for
/// rows of several polynomials under one mask.
pub(crate) fn multiply_rows(
    evaluator: &Evaluator,
    x: &Ciphertext,
    matrix: RowMatrix<'_>,
    [rows, columns]: [usize; 2],
) -> Result<Ciphertext, CkksError> {
    let whole = ((0, 0), (rows, columns));
    let layout = x.layout();
    let slots = rows.max(columns).next_power_of_two();
    let is_plain = layout.encoding() == Encoding::Slots && layout.is_plain() && layout.columns() == columns;
    let is_wide = layout.columns() == columns && rows.max(columns) > layout.capacity();
    // Rows in another order, with copies of their numbers, or without room for the row of the result beside
    // other rows.
    let lies_elsewhere = layout.order() != Order::Natural || layout.copies() > 1 || (!is_plain && is_wide);
    if lies_elsewhere && layout.columns() == columns && is_movable(x) {
        return multiply_rows(evaluator, &in_rows_alone(evaluator, x)?, matrix, [rows, columns]);
    }
    if !is_plain || (layout.chunks() == 1 && slots == layout.capacity()) {
        return LinearTransform::block(matrix, whole, slots)?.apply(evaluator, x);
    }
    if layout.chunks() > 1 {
        check_chunks(x)?;
    }
    let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
    // Rows of several polynomials keep their capacity.
    let capacity = match x.layout().chunks() {
        1 => slots.max(x.layout().capacity()).min(x.params().slot_count()),
        _ => x.layout().capacity(),
    };
    let wide = x.layout().with_capacity(capacity)?.with_padding(Padding::Dirty);
    let x = x.clone().rearranged(x.shape().to_vec(), wide);
    let chunks: Vec<Ciphertext> =
        (0..wide.chunks()).map(|chunk| selected_chunks(&x, chunk..chunk + 1)).collect();
    if let RowMatrix { values: ValuesRef::Real(weights), transposed: false, .. } = matrix
        && chunks.len() > 1
        && FEW_ROWS * rows.next_power_of_two() <= capacity
        && SPARSE * weights.iter().filter(|&&weight| weight != 0.0).count() > weights.len()
    {
        return multiply_few_rows(evaluator, &x, &chunks, Matrix::new(rows, columns, weights));
    }
    let mut results = Vec::with_capacity(rows.div_ceil(capacity));
    for first in (0..rows).step_by(capacity) {
        let mut sum: Option<Ciphertext> = None;
        for (index, chunk) in chunks.iter().enumerate() {
            let place = (first, index * capacity);
            let size = (capacity.min(rows - first), chunk.layout().columns());
            let block = LinearTransform::block(matrix, (place, size), capacity)?;
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

/// The product of a matrix of few rows with each row of `x`, whose polynomials are `chunks`. With the number
/// of rows rounded up to a power of two `p`, each polynomial takes `p` diagonals, and rotations by `p, 2 p,
/// ..` add the parts of each sum:
///
/// ```text
/// y_s = sum_(d < p) W[s mod p][s + d] x_(s + d),    (W x)_r = sum of y_s over all s = r mod p
/// ```
///
/// Source: Juvekar, Vaikuntanathan, Chandrakasan (USENIX Security 2018), the hybrid method;
/// differs: polynomials are added before the rotations.
fn multiply_few_rows(
    evaluator: &Evaluator,
    x: &Ciphertext,
    chunks: &[Ciphertext],
    weights: Matrix<'_>,
) -> Result<Ciphertext, CkksError> {
    let (capacity, period) = (x.layout().capacity(), weights.rows.next_power_of_two());
    let mut sum: Option<Ciphertext> = None;
    let mut rounding = (0.0, 0.0);
    for (index, chunk) in chunks.iter().enumerate() {
        let width = chunk.layout().columns();
        let weight = |slot: usize, shift: usize| {
            let (row, column) = (slot % period, (slot + shift) % capacity);
            let inside = row < weights.rows && column < width;
            let place = row * weights.columns + index * capacity + column;
            Complex64::from(if inside { weights.values[place] } else { 0.0 })
        };
        let diagonal = |shift: usize| {
            (shift as i64, (0..capacity).map(|slot| weight(slot, shift)).collect::<Vec<Complex64>>())
        };
        let transform = LinearTransform::from_diagonals(capacity, (0..period).map(diagonal))?;
        if transform.is_zero() {
            continue;
        }
        let plan = transform.kept_plan(evaluator, x)?;
        rounding = encoding_errors(x.params().degree(), plan.diagonal_scale());
        let filled = chunk.layout().of_columns(capacity);
        // The maps move noise alone; what is known of the numbers follows from the whole matrix.
        let chunk = chunk
            .clone()
            .rearranged(with_columns(chunk, capacity), filled)
            .estimated(Estimate::without_numbers);
        let mapped = plan.map_slots(evaluator, &chunk)?;
        sum = Some(match sum {
            None => mapped,
            Some(sum) => evaluator.add(&sum, &mapped)?,
        });
    }
    let Some(sum) = sum else { return zeros(evaluator, &chunks[0], weights.rows) };
    let steps: Vec<i64> = doublings(period, capacity).map(|step| step as i64).collect();
    let sum = evaluator.plus_rotated(sum, &steps)?;
    let layout = sum.layout().with_capacity(period)?.of_columns(weights.rows).with_padding(Padding::Zero);
    // Each sum has a rounding error of a weight for every number.
    let count = (chunks.len() * capacity) as f64;
    let rounding = (rounding.0 * count.sqrt(), rounding.1 * count);
    let norms = MatrixNorms::of_matrix(weights.values, weights.columns);
    let kept = x.estimate.clone().mapped(Along::Columns, &norms, rounding);
    // Copies of a sum have the same noise.
    Ok(sum
        .rearranged(with_columns(x, weights.rows), layout)
        .estimated(|own| kept.with_noise_of(own, capacity)))
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
    let shape = with_columns(&parts[0], columns);
    let bundles = (0..parts[0].bundles().len())
        .flat_map(|row| parts.iter().map(move |part| part.bundles()[row].clone()))
        .collect();
    let kept: Vec<Estimate> = parts.iter().map(|part| part.estimate.clone()).collect();
    let sizes: Vec<usize> = parts.iter().map(|part| part.layout().columns()).collect();
    parts[0]
        .with_all((parts[0].params(), shape), layout, bundles, (level, scale))
        .estimated(|_| Estimate::side_by_side((&kept, &sizes), Along::Columns, &layout))
}
