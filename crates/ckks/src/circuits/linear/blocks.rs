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

use std::sync::Arc;

use clathrate_lattice::Level;

use super::LinearTransform;
use super::gather::{in_rows_alone, is_movable, laid_out, zeros};
use crate::arrays::estimate::{Along, MatrixNorms};
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Order, Padding};
use crate::byproducts::Byproducts;
use crate::embedding::encoding_errors;
use crate::encoding::linear::{Fold, RowMatrix};
use crate::error::CkksError;
use crate::evaluation::evaluator::LevelsNeeded;
use crate::evaluation::{Evaluator, check_chunks, doublings, selected_chunks, with_columns};

/// A plain matrix that multiplies rows, `rows x columns`.
pub(crate) struct PlainRows<'m> {
    pub(crate) matrix: RowMatrix<'m>,
    pub(crate) size: [usize; 2],
    /// Where its maps are kept.
    pub(crate) kept: &'m Byproducts,
}

/// The product of a matrix with each row of `x`.
///
/// # Errors
/// Those of [`LinearTransform::from_matrix`] and [`LinearTransform::apply`]; [`CkksError::Unsuitable`] for
/// rows of several polynomials under one mask.
pub(crate) fn multiply_rows(
    evaluator: &Evaluator,
    x: &Ciphertext,
    matrix: &PlainRows<'_>,
) -> Result<Ciphertext, CkksError> {
    let [rows, columns] = matrix.size;
    let layout = x.layout();
    let is_plain = layout.encoding() == Encoding::Slots && layout.is_plain() && layout.columns() == columns;
    let is_wide = layout.columns() == columns && rows.max(columns) > layout.capacity();
    // Rows in another order, with copies of their numbers, or without room for the row of the result beside
    // other rows.
    let lies_elsewhere = layout.order() != Order::Natural || layout.copies() > 1 || (!is_plain && is_wide);
    if lies_elsewhere && layout.columns() == columns && is_movable(x) {
        let moved = match shared_rows(x, matrix.size) {
            Some(to) => laid_out(evaluator, x, to)?,
            None => in_rows_alone(evaluator, x)?,
        };
        return multiply_rows(evaluator, &moved, matrix);
    }
    if !is_plain {
        let wanted = Wanted { chunks: 1, fold: FoldOf::Slots(rows.max(columns).next_power_of_two()) };
        return Blocks::of(matrix, wanted)?.map(0)?.apply(evaluator, x);
    }
    if layout.chunks() > 1 {
        check_chunks(x)?;
    }
    let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
    // Rows of several polynomials keep their capacity.
    let fold = FoldOf::Numbers { numbers: layout.capacity(), most: x.params().slot_count() };
    Blocks::of(matrix, Wanted { chunks: layout.chunks(), fold })?.multiply(evaluator, x)
}

/// A layout in which rows share polynomials and have room for their products; `None` for single rows, and
/// where rows alone take less work, because their numbers may repeat.
fn shared_rows(x: &Ciphertext, [rows, columns]: [usize; 2]) -> Option<Layout> {
    let count = x.layout().rows();
    let wide = [count, rows.max(columns).next_power_of_two()];
    let wide = Layout::new(&wide, Encoding::Slots, x.params().degree()).ok()?;
    if count == 1 || wide.chunks() > 1 {
        return None;
    }
    let shared = wide.with_lanes(None).ok()?.of_columns(columns);
    let together = shared.polynomials() as f64 * work_of(rows + columns);
    let alone = count as f64 * work_of(rows.min(columns).next_power_of_two());
    (together < alone).then_some(shared)
}

/// What the maps of a matrix depend on beside its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wanted {
    /// The polynomials of a row.
    chunks: usize,
    fold: FoldOf,
}

/// How the maps of a matrix are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FoldOf {
    /// A map of so many slots.
    Slots(usize),
    /// As few diagonals as numbers that repeat so, or their results in as many slots, let them have.
    Numbers { numbers: usize, most: usize },
}

/// What is kept of a matrix.
struct RowMaps {
    size: [usize; 2],
    transposed: bool,
    wanted: Wanted,
    fold: Fold,
    norms: MatrixNorms,
    is_complex: bool,
    /// The maps of all blocks in order, unless they take too much memory.
    maps: Option<Vec<Arc<LinearTransform>>>,
}

/// Maximum of the numbers on the diagonals of maps that are kept with a matrix: 64 MiB.
const MOST_KEPT: usize = 1 << 22;

/// A matrix in blocks of the slots of a polynomial, with as few diagonals as the numbers or the results
/// repeat.
struct Blocks<'m> {
    matrix: RowMatrix<'m>,
    known: Arc<RowMaps>,
}

/// The first row and the first column of a block, and its rows and columns.
type Block = ((usize, usize), (usize, usize));

/// The blocks of a matrix, `rows x columns`, for rows of so many polynomials: by polynomial of the results.
fn blocks_of([rows, columns]: [usize; 2], chunks: usize, fold: Fold) -> Vec<Block> {
    let Fold { slots, numbers, .. } = fold;
    let of_rows = |first: usize| {
        let height = slots.min(rows - first);
        let width = move |column: usize| numbers.min(columns - column);
        (0..chunks).map(move |chunk| ((first, chunk * numbers), (height, width(chunk * numbers))))
    };
    (0..rows).step_by(slots).flat_map(of_rows).collect()
}

/// The number of diagonals of each block.
fn diagonals_of(matrix: RowMatrix<'_>, size: [usize; 2], chunks: usize, fold: Fold) -> Vec<usize> {
    let count = |(place, (rows, columns)): Block| {
        let mut shifts = vec![false; fold.slots];
        matrix.for_each(place, (rows, columns), |row, column, _, _| {
            shifts[fold.place(row, column).0] = true;
        });
        shifts.into_iter().filter(|&some| some).count()
    };
    blocks_of(size, chunks, fold).into_iter().map(count).collect()
}

impl RowMaps {
    fn new(rows: &PlainRows<'_>, wanted: Wanted) -> Result<Self, CkksError> {
        let (matrix, size, chunks) = (rows.matrix, rows.size, wanted.chunks);
        let fold = match wanted.fold {
            FoldOf::Slots(slots) => Fold::none(slots),
            FoldOf::Numbers { numbers, most } => Self::fold(matrix, size, (chunks, numbers, most)),
        };
        let diagonals: usize = diagonals_of(matrix, size, chunks, fold).into_iter().sum();
        let map = |block: Block| LinearTransform::block(matrix, block, fold).map(Arc::new);
        let maps = if diagonals.saturating_mul(fold.slots) <= MOST_KEPT {
            Some(blocks_of(size, chunks, fold).into_iter().map(map).collect::<Result<_, _>>()?)
        } else {
            None
        };
        let (transposed, norms, is_complex) = (matrix.transposed, matrix.norms(size), matrix.is_complex());
        Ok(Self { size, transposed, wanted, fold, norms, is_complex, maps })
    }

    /// The fold with the least work.
    fn fold(matrix: RowMatrix<'_>, size: [usize; 2], (chunks, numbers, most): (usize, usize, usize)) -> Fold {
        let results = match chunks {
            1 => size[0].next_power_of_two().min(most),
            _ => size[0].next_power_of_two().min(numbers),
        };
        let slots = numbers.max(results);
        let with = |results: usize| Fold { slots, numbers, results };
        if results == slots {
            return with(slots);
        }
        let work =
            |fold: Fold| diagonals_of(matrix, size, chunks, fold).into_iter().map(work_of).sum::<f64>();
        let steps = f64::from((slots / results).trailing_zeros());
        if work(with(results)) + steps < work(with(slots)) { with(results) } else { with(slots) }
    }
}

impl<'m> Blocks<'m> {
    /// The maps that are kept with the matrix, or are from now on.
    fn of(rows: &PlainRows<'m>, wanted: Wanted) -> Result<Self, CkksError> {
        let same = |own: &RowMaps| {
            own.wanted == wanted && own.size == rows.size && own.transposed == rows.matrix.transposed
        };
        let known = rows.kept.get(same, || RowMaps::new(rows, wanted))?;
        Ok(Self { matrix: rows.matrix, known })
    }

    fn blocks(&self) -> Vec<Block> {
        blocks_of(self.known.size, self.known.wanted.chunks, self.known.fold)
    }

    /// The map of a block.
    fn map(&self, block: usize) -> Result<Arc<LinearTransform>, CkksError> {
        match &self.known.maps {
            Some(maps) => Ok(maps[block].clone()),
            None => LinearTransform::block(self.matrix, self.blocks()[block], self.known.fold).map(Arc::new),
        }
    }

    fn multiply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (Fold { slots, numbers, results }, [rows, _]) = (self.known.fold, self.known.size);
        let count = self.known.wanted.chunks;
        // The maps move noise alone; what is known of the numbers follows from the whole matrix.
        let wide = x.layout().with_capacity(slots)?.with_padding(Padding::Dirty);
        let moved = x.clone().rearranged(x.shape().to_vec(), wide).estimated(Estimate::without_numbers);
        let chunks: Vec<Ciphertext> =
            (0..count).map(|chunk| selected_chunks(&moved, chunk..chunk + 1)).collect();
        let mut parts = Vec::with_capacity(rows.div_ceil(slots));
        let (mut rounding, mut terms) = ((0.0f64, 0.0f64), 0);
        for (part, first) in (0..rows).step_by(slots).enumerate() {
            let (mut sum, mut own_terms): (Option<Ciphertext>, usize) = (None, 0);
            for (index, chunk) in chunks.iter().enumerate() {
                let block = self.map(part * count + index)?;
                if block.is_zero() {
                    continue;
                }
                let plan = block.kept_plan_of(evaluator, x)?;
                let own = encoding_errors(x.params().degree(), plan.diagonal_scale());
                rounding = (rounding.0.max(own.0), rounding.1.max(own.1));
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
        let kept = x.estimate.clone().mapped(Along::Columns, &self.known.norms, rounding).copied(slots);
        // Copies of a sum have the same noise.
        let period = if results < slots { slots } else { 1 };
        let whole = in_chunks(parts, rows);
        let layout = whole.layout().of_numbers(x.is_complex() || self.known.is_complex);
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
