//! Products of plain matrices with rows of slots of any length. The matrix is cut into blocks of the slots of
//! a polynomial, and each block that is not zero is a linear map:
//!
//! ```text
//! polynomial i of the result = sum_j block_ij (polynomial j of the row)
//! ```
//!
//! The slots of a short row repeat, so that the result may be longer than its row; those of a short result
//! may repeat, too. Then a block has no more diagonals than the shorter of both has numbers ([`Fold`]).
//!
//! Source: Juvekar, Vaikuntanathan, Chandrakasan (USENIX Security 2018), the hybrid method; differs:
//! polynomials are added before the rotations.

use clathrate_lattice::Level;

use super::LinearTransform;
use super::gather::{in_rows_alone, is_movable, zeros};
use crate::arrays::estimate::Along;
use crate::arrays::{Ciphertext, Encoding, Estimate, Order, Padding};
use crate::embedding::encoding_errors;
use crate::encoding::linear::{Fold, RowMatrix};
use crate::error::CkksError;
use crate::evaluation::evaluator::LevelsNeeded;
use crate::evaluation::{Evaluator, check_chunks, doublings, selected_chunks, with_columns};

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
    if !is_plain {
        return LinearTransform::block(matrix, whole, Fold::none(slots))?.apply(evaluator, x);
    }
    if layout.chunks() > 1 {
        check_chunks(x)?;
    }
    let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
    Blocks::of(x, matrix, [rows, columns]).multiply(evaluator, x)
}

/// A matrix in blocks of the slots of a polynomial, with as few diagonals as the numbers or the results
/// repeat.
struct Blocks<'m> {
    matrix: RowMatrix<'m>,
    size: [usize; 2],
    /// The polynomials of a row.
    chunks: usize,
    fold: Fold,
}

impl<'m> Blocks<'m> {
    fn of(x: &Ciphertext, matrix: RowMatrix<'m>, size: [usize; 2]) -> Self {
        let (layout, most) = (x.layout(), x.params().slot_count());
        // Rows of several polynomials keep their capacity.
        let (numbers, chunks) = (layout.capacity(), layout.chunks());
        let results = match chunks {
            1 => size[0].next_power_of_two().min(most),
            _ => size[0].next_power_of_two().min(numbers),
        };
        let slots = numbers.max(results);
        let with = |results: usize| Self { matrix, size, chunks, fold: Fold { slots, numbers, results } };
        let wide = with(slots);
        if results == slots {
            return wide;
        }
        let repeated = with(results);
        let work = |own: &Self| own.diagonals().into_iter().map(work_of).sum::<f64>();
        let steps = f64::from((slots / results).trailing_zeros());
        if work(&repeated) + steps < work(&wide) { repeated } else { wide }
    }

    /// The blocks, by polynomial of the results: the first row, and for each polynomial of the numbers the
    /// first column and the sizes.
    fn places(&self) -> impl Iterator<Item = (usize, Vec<(usize, [usize; 2])>)> + use<'_> {
        let ([rows, columns], Fold { slots, numbers, .. }) = (self.size, self.fold);
        (0..rows).step_by(slots).map(move |first| {
            let height = slots.min(rows - first);
            let block = |chunk: usize| (chunk * numbers, [height, numbers.min(columns - chunk * numbers)]);
            (first, (0..self.chunks).map(block).collect())
        })
    }

    /// The number of diagonals of each block.
    fn diagonals(&self) -> Vec<usize> {
        let count = |place: (usize, usize), [rows, columns]: [usize; 2]| {
            let mut shifts = vec![false; self.fold.slots];
            self.matrix.for_each(place, (rows, columns), |row, column, _, _| {
                shifts[self.fold.place(row, column).0] = true;
            });
            shifts.into_iter().filter(|&some| some).count()
        };
        let blocks = self.places().flat_map(|(first, blocks)| {
            blocks.into_iter().map(move |(column, size)| ((first, column), size))
        });
        blocks.map(|(place, size)| count(place, size)).collect()
    }

    fn multiply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (Fold { slots, numbers, results }, [rows, columns]) = (self.fold, self.size);
        let wide = x.layout().with_capacity(slots)?.with_padding(Padding::Dirty);
        // The maps move noise alone; what is known of the numbers follows from the whole matrix.
        let moved = x.clone().rearranged(x.shape().to_vec(), wide).estimated(Estimate::without_numbers);
        let chunks: Vec<Ciphertext> =
            (0..self.chunks).map(|chunk| selected_chunks(&moved, chunk..chunk + 1)).collect();
        let mut parts = Vec::with_capacity(rows.div_ceil(slots));
        let (mut rounding, mut terms, mut complex) = ((0.0f64, 0.0f64), 0, x.is_complex());
        for (first, blocks) in self.places() {
            let (mut sum, mut own_terms): (Option<Ciphertext>, usize) = (None, 0);
            for (chunk, (column, [height, width])) in chunks.iter().zip(blocks) {
                let block =
                    LinearTransform::block(self.matrix, ((first, column), (height, width)), self.fold)?;
                if block.is_zero() {
                    continue;
                }
                let plan = block.kept_plan(evaluator, x)?;
                let own = encoding_errors(x.params().degree(), plan.diagonal_scale());
                rounding = (rounding.0.max(own.0), rounding.1.max(own.1));
                complex |= block.is_complex();
                own_terms += block.shifts().count() * (numbers / results).max(1);
                let filled = chunk.layout().of_columns(slots);
                let mapped =
                    plan.map_slots(evaluator, &chunk.clone().rearranged(with_columns(chunk, slots), filled))?;
                sum = Some(match sum {
                    None => mapped,
                    Some(sum) => evaluator.add(&sum, &mapped)?,
                });
            }
            terms = terms.max(own_terms);
            let height = slots.min(rows - first);
            let Some(sum) = sum else {
                parts.push(zeros(evaluator, &chunks[0], height)?);
                continue;
            };
            let steps: Vec<i64> = doublings(results, slots).map(|step| step as i64).collect();
            let sum = evaluator.plus_rotated(sum, &steps)?;
            let layout = sum.layout().with_capacity(results)?.of_columns(height).with_padding(Padding::Zero);
            parts.push(sum.rearranged(with_columns(x, height), layout));
        }
        // Each result has a rounding error of the matrix for every number, and those that repeat have the
        // same.
        let count = terms as f64;
        let rounding = (rounding.0 * count.sqrt(), rounding.1 * count);
        let norms = self.matrix.norms([rows, columns]);
        let kept = x.estimate.clone().mapped(Along::Columns, &norms, rounding).copied(slots);
        // Copies of a sum have the same noise.
        let period = if results < slots { slots } else { 1 };
        let whole = in_chunks(parts, rows);
        let layout = whole.layout().of_numbers(complex);
        Ok(whole.laid_out(layout).estimated(|own| kept.with_repeated_noise_of(own, period)))
    }
}

/// About how many key switches take as long as a map of so many diagonals: a product with a diagonal takes an
/// eighth of the time of one.
fn work_of(diagonals: usize) -> f64 {
    2.0 * (diagonals as f64).sqrt() + diagonals as f64 / 8.0
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
