//! Rows and columns of arrays, and arrays one below the other.

use std::ops::Range;

use super::reductions::Along;
use super::{ArrayOperation, EncryptedArray, Operand};
use crate::arrays::layout::MAX_AXES;
use crate::arrays::{Ciphertext, Encoding, count_of};
use crate::circuits::linear::gather::{gather, in_rows_alone, is_movable};
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// Whether arrays can be joined once each row is in polynomials of its own.
fn may_be_joined(parts: &[&Ciphertext]) -> bool {
    let rows = |part: &Ciphertext| (part.shape().len(), part.layout().rows());
    parts.iter().all(|part| is_movable(part) && rows(part) == rows(parts[0]))
}

/// Whether a gather can bring the rows of all parts to those of one array.
fn are_rows_of_one_length(parts: &[&Ciphertext]) -> bool {
    parts.iter().all(|part| is_movable(part) && part.layout().columns() == parts[0].layout().columns())
}

/// The rows of all parts, one below the other, as rows that share polynomials: the sum of arrays in which
/// the rows of other parts are zero.
fn rows_by_gathers(evaluator: &Evaluator, parts: &[&Ciphertext]) -> Result<Ciphertext, CkksError> {
    let rows: usize = parts.iter().map(|part| part.layout().rows()).sum();
    let columns = parts[0].layout().columns();
    let (mut before, mut sum) = (0, None);
    for &part in parts {
        let count = part.layout().rows() * columns;
        let sources: Vec<Option<usize>> = (0..rows * columns)
            .map(|place| place.checked_sub(before).filter(|&source| source < count))
            .collect();
        before += count;
        let own = gather(evaluator, part, &[rows, columns], None, &sources)?;
        sum = Some(match sum {
            None => own,
            Some(sum) => evaluator.add(&sum, &own)?,
        });
    }
    sum.ok_or(CkksError::no_terms(CONCATENATION))
}

/// The operation's name in errors.
const CONCATENATION: &str = "a concatenation";

impl EncryptedArray {
    /// The rows with the places `rows` and, of each, the numbers with the places `columns`; all of them where
    /// these are absent. If `single`, the only row is a vector.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for places beyond the array; [`CkksError::LevelTooLow`] in slots, where the
    /// choice of columns takes a product.
    pub fn pick(
        &self,
        rows: Option<&[usize]>,
        single: bool,
        columns: Option<Range<usize>>,
    ) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let ends = columns.as_ref().map(|columns| (columns.start, columns.end));
            let operation = ArrayOperation::Pick { rows: rows.map(<[_]>::to_vec), single, columns: ends };
            return graph.record(operation, &[self.into()], || self.pick(rows, single, columns));
        }
        let in_slots = self.data.encoding() == Encoding::Slots;
        // In slots a product picks columns, and one of several rows that share a polynomial.
        let takes_product = in_slots && (columns.is_some() || self.data.layout().lanes() > 1);
        let work = |evaluator: &Evaluator, x: &Ciphertext| {
            let (width, columns) = (x.layout().columns(), columns.clone());
            let Some(rows) = rows else { return evaluator.select_columns(x, columns.unwrap_or(0..width)) };
            let picked = evaluator.select_rows(x, rows)?;
            let picked = match columns {
                Some(columns) if picked.awaits_rescale() && !x.awaits_rescale() => {
                    evaluator.select_columns(&evaluator.rescale(&picked)?, columns)?
                }
                Some(columns) => evaluator.select_columns(&picked, columns)?,
                None => picked,
            };
            if single { picked.into_vector() } else { Ok(picked) }
        };
        let picked = if takes_product { self.map_settled(work) } else { self.map(work) };
        match (&picked, rows) {
            // Rows that share polynomials move to others.
            (Err(CkksError::Unsuitable { .. }), Some(rows)) if is_movable(&self.data) => {
                let width = self.data.layout().columns();
                let columns = columns.unwrap_or(0..width);
                let count = self.data.shape().first().copied().unwrap_or(0);
                if columns.end > width || rows.iter().any(|&row| row >= count) {
                    return picked;
                }
                let sources =
                    rows.iter().flat_map(|row| columns.clone().map(move |at| Some(row * width + at)));
                let sources: Vec<Option<usize>> = sources.collect();
                let shape = [rows.len(), columns.len()];
                self.gathered(&shape[usize::from(single)..], &sources)
            }
            _ => picked,
        }
    }

    /// The numbers with the place `column` in the rows `rows`, as a vector; a single number if `single`.
    ///
    /// # Errors
    /// As [`EncryptedArray::pick`] and [`EncryptedArray::sum`].
    pub fn pick_column(
        &self,
        rows: Option<&[usize]>,
        single: bool,
        column: usize,
    ) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::PickColumn { rows: rows.map(<[_]>::to_vec), single, column };
            return graph.record(operation, &[self.into()], || self.pick_column(rows, single, column));
        }
        let picked = if rows.is_some() { self.pick(rows, single, None)? } else { self.clone() };
        if single {
            return picked.pick_entry(column);
        }
        // The sum of a single number is the number, and sums of rows are a vector.
        picked.pick(None, false, Some(column..column.saturating_add(1)))?.scaled_sums(
            Along::Columns,
            false,
            None,
        )
    }

    /// The number at `place` of a vector, as a single number.
    ///
    /// # Errors
    /// As [`EncryptedArray::pick`].
    pub fn pick_entry(&self, place: usize) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph
                .record(ArrayOperation::PickEntry { place }, &[self.into()], || self.pick_entry(place));
        }
        self.map_settled(|evaluator, x| evaluator.select_columns(x, place..place.saturating_add(1)))?
            .reshaped(&[])
    }

    /// The numbers at `places` of a vector.
    ///
    /// # Errors
    /// As [`EncryptedArray::pick`].
    pub fn pick_entries(&self, places: Range<usize>) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(
                ArrayOperation::PickEntries { places: (places.start, places.end) },
                &[self.into()],
                || self.pick_entries(places.clone()),
            );
        }
        let pick = |evaluator: &Evaluator, x: &Ciphertext| evaluator.select_columns(x, places);
        if self.data.encoding() == Encoding::Slots { self.map_settled(pick) } else { self.map(pick) }
    }

    /// The same numbers in another shape, counted along the rows. Where each row stays a row, nothing moves;
    /// other shapes are a gather, in slots.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for another number of entries, and in coefficients if numbers would lie
    /// elsewhere; those of [`EncryptedArray::gathered`].
    pub fn reshaped(&self, shape: &[usize]) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Reshaped { shape: shape.to_vec() }, &[self.into()], || {
                self.reshaped(shape)
            });
        }
        let count: usize = self.data.shape().iter().product();
        let stays = self.map(|_, x| x.clone().reshaped(shape));
        let fits = shape.len() <= MAX_AXES && count_of(shape) == count;
        if stays.is_ok() || !fits || self.data.encoding() != Encoding::Slots {
            return stays;
        }
        self.gathered(shape, &(0..count).map(Some).collect::<Vec<_>>())
    }

    /// The array of shape `shape` whose entries are those at `sources`, counted along the rows, in slots;
    /// zero where there is none. Each distance that a number moves takes a product with a plaintext, and
    /// rotations grow with the root of their number. It takes a level; where numbers move by more than 2048
    /// distances they move in three steps, which take three.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless slots; [`CkksError::Shape`] and [`CkksError::OutOfRange`] for sources
    /// that do not fit, and where each step has more than 2048 distances, too; [`CkksError::Unsuitable`] for
    /// shared masks; missing keys; level errors.
    pub fn gathered(&self, shape: &[usize], sources: &[Option<usize>]) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let places = graph.places(sources.iter().copied());
            let operation = ArrayOperation::Gathered { shape: shape.to_vec(), sources: places };
            return graph.record(operation, &[self.into()], || self.gathered(shape, sources));
        }
        self.map_settled(|evaluator, x| gather(evaluator, x, shape, None, sources))
    }

    /// The rows of all parts, one below the other.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without parts; those of [`Evaluator::concatenate`].
    pub fn concatenate(parts: &[&Self]) -> Result<Self, CkksError> {
        if let Some(graph) = parts.iter().find_map(|part| part.recorder()) {
            let operands: Vec<Operand<'_>> = parts.iter().map(|&part| part.into()).collect();
            return graph.record(ArrayOperation::Concatenate, &operands, || Self::concatenate(parts));
        }
        // Products stay as they are if all parts are products.
        if parts.iter().all(|part| part.data.awaits_rescale()) {
            let holder = Self::holder_of(parts, CONCATENATION)?;
            let data: Vec<&Ciphertext> = parts.iter().map(|part| &*part.data).collect();
            match holder.evaluator.concatenate(&data) {
                // Rows that move are rescaled first.
                Err(CkksError::Shape { .. } | CkksError::Unsuitable { .. })
                    if are_rows_of_one_length(&data) => {}
                joined => return holder.beside(joined?),
            }
        }
        Self::gather(parts, CONCATENATION, |holder, data| {
            let joined = match holder.evaluator.concatenate(data) {
                Err(CkksError::Shape { .. } | CkksError::Unsuitable { .. })
                    if are_rows_of_one_length(data) =>
                {
                    rows_by_gathers(&holder.evaluator, data)
                }
                joined => joined,
            };
            holder.beside(joined?)
        })
    }

    /// The columns of all parts, one beside the other.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without parts; those of [`Evaluator::join_columns`].
    pub fn join_columns(parts: &[&Self]) -> Result<Self, CkksError> {
        if let Some(graph) = parts.iter().find_map(|part| part.recorder()) {
            let operands: Vec<Operand<'_>> = parts.iter().map(|&part| part.into()).collect();
            return graph.record(ArrayOperation::JoinColumns, &operands, || Self::join_columns(parts));
        }
        Self::gather(parts, CONCATENATION, |holder, data| {
            let evaluator = &holder.evaluator;
            let joined = match evaluator.join_columns(data) {
                Err(CkksError::Shape { .. } | CkksError::Unsuitable { .. }) if may_be_joined(data) => {
                    let alone = data.iter().map(|part| in_rows_alone(evaluator, part));
                    let alone = alone.collect::<Result<Vec<_>, _>>()?;
                    evaluator.join_columns(&alone.iter().collect::<Vec<_>>())
                }
                joined => joined,
            };
            holder.beside(joined?)
        })
    }

    /// Each row with `before` zeros before it and `after` zeros behind it.
    ///
    /// # Errors
    /// Those of [`Evaluator::pad_columns`].
    pub fn pad_columns(&self, before: usize, after: usize) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::PadColumns { before, after }, &[self.into()], || {
                self.pad_columns(before, after)
            });
        }
        self.map_settled(|evaluator, x| match evaluator.pad_columns(x, before, after) {
            Err(CkksError::Shape { .. } | CkksError::Unsuitable { .. }) if may_be_joined(&[x]) => {
                evaluator.pad_columns(&in_rows_alone(evaluator, x)?, before, after)
            }
            padded => padded,
        })
    }
}
