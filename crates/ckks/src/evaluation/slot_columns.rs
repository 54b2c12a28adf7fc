//! Selections of columns and concatenation of arrays along columns, in slots. Rotations move numbers, and a
//! product with a mask clears the slots around them.
//!
//! A row's slots repeat with a period, so a row of `c` slots is also a row of any larger power of two of
//! slots. A selection of `k` numbers gets the period of an array of `k` numbers: rotations by half of the old
//! period, by a quarter, and so on down to the new period fill the cleared slots with copies.

use std::ops::Range;

use super::evaluator::{Evaluator, check_slots};
use super::rows::check_masks;
use super::sums::{check_chunks, doublings};
use crate::arrays::estimate::Along;
use crate::arrays::{Ciphertext, Estimate, Order, Padding};
use crate::error::CkksError;

/// The operations' names in errors.
const SELECTION: &str = "a selection of columns";
const JOIN: &str = "arrays side by side";

impl Evaluator {
    /// The columns `columns`, which must exist, of an array in slots: a product with a mask that is not
    /// rescaled. If rows have several polynomials, a range that starts with one is only copied.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for slots in bit-reversed order, and if rows of several polynomials share
    /// masks; missing keys.
    pub(super) fn select_slots(
        &self,
        x: &Ciphertext,
        columns: &Range<usize>,
    ) -> Result<Ciphertext, CkksError> {
        check_place(x, SELECTION)?;
        let (capacity, chunks, copies) = (x.layout.capacity(), x.layout.chunks(), x.layout.copies());
        let (first, last) = (columns.start / capacity, (columns.end - 1) / capacity);
        let whole = columns.start.is_multiple_of(capacity)
            && (columns.end.is_multiple_of(capacity) || columns.end == x.layout.columns());
        if chunks > 1 {
            check_chunks(x)?;
            let part = selected_chunks(x, first..last + 1);
            let shift = columns.start % capacity;
            return if first == last && !whole {
                self.select_slots(&part, &(shift..shift + columns.len()))
            } else if shift > 0 {
                self.select_across(&part, shift..shift + columns.len())
            } else {
                // What follows the last number stays behind it.
                let padding = if whole { x.padding() } else { Padding::Dirty };
                let layout = part.layout.of_columns(columns.len()).with_padding(padding);
                Ok(part.rearranged(with_columns(x, columns.len()), layout))
            };
        }
        let alone = self.multiply_mask(x, |index| columns.contains(&(index % x.layout.columns())), 1.0)?;
        // The copies fill cleared slots, so numbers and errors keep their size.
        let rounding = x.column_mask_rounding(1.0, alone.scale);
        let kept = alone.estimate.clone();
        let mut moved = self.rotated(&alone.estimated(Estimate::without_numbers), columns.start as i64)?;
        let mut layout = x.layout.of_columns(columns.len()).with_padding(Padding::Zero);
        if layout.lanes() == 1 && copies == 1 {
            layout = layout.with_capacity(columns.len().next_power_of_two())?;
            let steps = doublings(layout.capacity(), capacity).rev();
            moved = self.plus_rotated(moved, &steps.map(|step| step as i64).collect::<Vec<_>>())?;
        }
        let kept = kept.rotated((columns.start * copies) as i64, x.layout.period()).cleared();
        let kept =
            kept.with_cleared(&x.estimate, capacity / layout.capacity(), rounding).copied(x.layout.period());
        let moved = moved.rearranged(with_columns(x, columns.len()), layout.with_padding(Padding::Zero));
        Ok(moved.estimated(|own| kept.with_noise_of(own, x.layout.period())))
    }

    /// The columns `columns`, which begin inside the first polynomial of a row and end in a later one. The
    /// upper numbers of each polynomial and the lower ones of the next come together, by two masks, and one
    /// rotation brings them to their places.
    fn select_across(&self, x: &Ciphertext, columns: Range<usize>) -> Result<Ciphertext, CkksError> {
        let (capacity, shift) = (x.layout.capacity(), columns.start);
        let after = x.layout.of_columns(columns.len()).with_padding(Padding::Zero);
        // The last polynomial of the result may have numbers of one polynomial alone.
        let (count, pairs) = (after.chunks(), after.chunks().min(x.layout.chunks() - 1));
        let low = selected_chunks(x, 1..pairs + 1);
        let high = selected_chunks(x, 0..count);
        let is_in = |part: &Ciphertext, index: usize, before: usize| {
            columns.contains(&(index % part.layout.columns() + before))
        };
        let high = self.multiply_mask(
            &high,
            |index| index % high.layout.columns() % capacity >= shift && is_in(&high, index, 0),
            1.0,
        )?;
        let low = self.multiply_mask(
            &low,
            |index| index % low.layout.columns() % capacity < shift && is_in(&low, index, capacity),
            1.0,
        )?;
        let rounding = x.column_mask_rounding(1.0, high.scale);
        let kept = [&high, &low].map(|part| part.estimate.clone().with_cleared(&x.estimate, 1, rounding));
        let filled = |part: &Ciphertext, chunks: usize| {
            let all = chunks * capacity;
            let layout = part.layout.of_columns(all).with_padding(Padding::Zero);
            part.clone().rearranged(with_columns(x, all), layout)
        };
        let high = filled(&high, count);
        let both = self.add(&selected_chunks(&high, 0..pairs), &filled(&low, pairs))?;
        let lines = both.bundles.chunks_exact(pairs).zip(high.bundles.chunks_exact(count));
        let bundles = lines.flat_map(|(both, high)| both.iter().chain(&high[pairs..]).cloned()).collect();
        let all =
            both.with_all((&x.params, high.shape.clone()), high.layout, bundles, (both.level, both.scale));
        let moved = self.rotated(&all.estimated(Estimate::without_numbers), shift as i64)?;
        let kept = Estimate::side_by_side((&kept, &[1, 1]), Along::Columns, &after);
        let moved = moved.rearranged(with_columns(x, columns.len()), after);
        Ok(moved.estimated(|own| kept.with_noise_of(own, after.period())))
    }

    /// The polynomials of `x`, rotated left by `steps` numbers of a row.
    fn rotated(&self, x: &Ciphertext, steps: i64) -> Result<Ciphertext, CkksError> {
        let steps = steps * x.layout.copies() as i64;
        self.rotate_slots(x, &[steps])?.pop().ok_or(CkksError::Internal { operation: SELECTION })
    }

    /// The concatenation of `parts` along columns: each row of the result consists of the rows of all parts,
    /// one after the other. A vector is one row, and gives a vector. Each polynomial of a part takes a
    /// rotation, unless it stays where it is, and a product with a mask, two if it comes to lie in two
    /// polynomials. The result is not rescaled.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without parts; [`CkksError::Encoding`] unless slots; [`CkksError::Shape`] if
    /// parts have different numbers of rows or axes, and for rows of several polynomials that are not full;
    /// [`CkksError::Unsuitable`] for slots in bit-reversed order, for rows that share polynomials, and for
    /// padding that is not zero; missing keys.
    pub fn join_columns(&self, parts: &[&Ciphertext]) -> Result<Ciphertext, CkksError> {
        let starts = parts.iter().scan(0, |total, part| {
            let start = *total;
            *total += part.layout.columns();
            Some(start)
        });
        let placed: Vec<(usize, &Ciphertext)> = starts.zip(parts.iter().copied()).collect();
        self.placed_columns(&placed, parts.iter().map(|part| part.layout.columns()).sum())
    }

    /// Each row of `x` with `before` zeros before it and `after` zeros behind it; cost and errors are those
    /// of [`Evaluator::join_columns`].
    ///
    /// # Errors
    /// Those of [`Evaluator::join_columns`].
    pub fn pad_columns(&self, x: &Ciphertext, before: usize, after: usize) -> Result<Ciphertext, CkksError> {
        self.placed_columns(&[(before, x)], before + x.layout.columns() + after)
    }

    /// Rows of `total` columns with those of each part from a column on, and zeros where there is none.
    fn placed_columns(&self, parts: &[(usize, &Ciphertext)], total: usize) -> Result<Ciphertext, CkksError> {
        let &[(_, first), ..] = parts else { return Err(CkksError::no_terms(JOIN)) };
        let level = parts.iter().map(|(_, part)| part.level).min().unwrap_or(first.level);
        let slots = first.params.slot_count();
        // The capacity is at least that of every part, because rows of more slots do not repeat with a
        // smaller period.
        let capacity = parts
            .iter()
            .fold(total.next_power_of_two().min(slots), |most, (_, part)| most.max(part.layout.capacity()));
        for (_, part) in parts {
            self.check_joined(part, first, capacity)?;
        }
        let layout = first.layout.with_capacity(capacity)?.of_columns(total).with_padding(Padding::Zero);
        let mut pieces: Vec<Piece> = Vec::new();
        for &(start, part) in parts {
            pieces.extend(self.pieces(&*self.at_level(part, level)?, start, capacity)?);
        }
        let of_chunk = |chunk: usize| pieces.iter().filter(move |piece| piece.chunks().contains(&chunk));
        // Each number is from one piece; the masks of the others in its polynomial leave rounding errors at
        // its place.
        let others = (0..layout.chunks()).map(|chunk| of_chunk(chunk).count()).max().unwrap_or(1);
        let cleared = |piece: &Piece| {
            let places = others.saturating_sub(1);
            piece.numbers.estimate.clone().with_cleared(&piece.before, places, piece.rounding)
        };
        let kept: Vec<Estimate> = pieces.iter().map(cleared).collect();
        let mut chunks = Vec::with_capacity(layout.chunks());
        for chunk in 0..layout.chunks() {
            let mut sum: Option<Ciphertext> = None;
            for piece in of_chunk(chunk) {
                let place = chunk - piece.first;
                let own = selected_chunks(&piece.numbers, place..place + 1);
                sum = Some(match sum {
                    None => own,
                    Some(sum) => self.add(&sum, &own)?,
                });
            }
            chunks.push(match sum {
                Some(sum) => sum,
                None => self.zero_chunk(&pieces)?,
            });
        }
        let one = &chunks[0];
        let bundles = (0..one.bundles.len())
            .flat_map(|row| chunks.iter().map(move |chunk| chunk.bundles[row].clone()))
            .collect();
        let complex = pieces.iter().any(|piece| piece.numbers.is_complex());
        let layout = layout.of_numbers(complex);
        let joined =
            one.with_all((&one.params, with_columns(first, total)), layout, bundles, (one.level, one.scale));
        let filled: usize = parts.iter().map(|(_, part)| part.layout.columns()).sum();
        let filled = filled as f64 / total as f64;
        let sizes: Vec<usize> = pieces.iter().map(|piece| piece.numbers.layout.columns()).collect();
        let joined_estimate = Estimate::side_by_side((&kept, &sizes), Along::Columns, &layout);
        Ok(joined.estimated(|_| joined_estimate.among_zeros(filled)))
    }

    /// A polynomial of zeros for each row, like those of the pieces.
    fn zero_chunk(&self, pieces: &[Piece]) -> Result<Ciphertext, CkksError> {
        let piece = pieces.first().ok_or(CkksError::Internal { operation: JOIN })?;
        let one = selected_chunks(&piece.numbers, 0..1);
        self.sub(&one, &one)
    }

    /// Refuses arrays that [`Evaluator::join_columns`] does not join to others like `first`, in polynomials
    /// of `capacity` numbers.
    fn check_joined(&self, part: &Ciphertext, first: &Ciphertext, capacity: usize) -> Result<(), CkksError> {
        self.check(part)?;
        check_place(part, JOIN)?;
        part.check_plain(JOIN)?;
        check_masks(part, JOIN)?;
        if part.layout.chunks() > 1 && part.layout.capacity() != capacity {
            let remedy = format!(
                "a row has {} polynomials of {} numbers: encrypt it with a capacity of {capacity}",
                part.layout.chunks(),
                part.layout.capacity()
            );
            return Err(CkksError::Shape {
                operation: JOIN,
                left: part.shape.clone(),
                right: vec![capacity],
                remedy,
            });
        }
        if (part.shape.len(), part.layout.rows()) != (first.shape.len(), first.layout.rows()) {
            let remedy = "give arrays with as many rows, or vectors".to_owned();
            return Err(CkksError::Shape {
                operation: JOIN,
                left: first.shape.clone(),
                right: part.shape.clone(),
                remedy,
            });
        }
        Ok(())
    }

    /// The numbers of `part`, moved to the columns from `start` on in polynomials of `capacity` numbers: one
    /// piece, and a second one with the numbers that come to lie in the polynomials behind theirs.
    fn pieces(&self, part: &Ciphertext, start: usize, capacity: usize) -> Result<Vec<Piece>, CkksError> {
        let (chunks, columns) = (part.layout.chunks(), part.layout.columns());
        let (first, shift, filled) = (start / capacity, start % capacity, chunks * capacity);
        // A row of fewer slots repeats in a row of more.
        let layout = part.layout.with_capacity(capacity)?.of_columns(filled);
        let wide = self.rotated(part, -(shift as i64))?.rearranged(with_columns(part, filled), layout);
        let behind =
            if shift == 0 { 0 } else { (columns + shift).saturating_sub(capacity).div_ceil(capacity) };
        let mut pieces = Vec::new();
        for (first, chunks, is_behind) in [(first, chunks, false), (first + 1, behind, true)] {
            if chunks == 0 {
                continue;
            }
            let holds = |index: usize| {
                let place = index % capacity;
                let column = index % filled - place + (place + capacity - shift) % capacity;
                (place < shift) == is_behind && column < columns
            };
            let numbers = self.multiply_mask(&wide, holds, 1.0)?;
            let rounding = part.column_mask_rounding(1.0, numbers.scale);
            let numbers = selected_chunks(&numbers, 0..chunks);
            pieces.push(Piece { first, numbers, before: part.estimate.clone(), rounding });
        }
        Ok(pieces)
    }
}

/// Numbers at their places in the polynomials of an array that is put together, with zeros around them.
struct Piece {
    /// The polynomial of a row in which they begin.
    first: usize,
    numbers: Ciphertext,
    /// What was known of them before a mask cleared the others, and the rounding error of that mask.
    before: Estimate,
    rounding: f64,
}

impl Piece {
    /// The polynomials of a row that have a part of it.
    fn chunks(&self) -> Range<usize> {
        self.first..self.first + self.numbers.layout.chunks()
    }
}

/// The numbers of some polynomials of each row.
pub(crate) fn selected_chunks(x: &Ciphertext, chunks: Range<usize>) -> Ciphertext {
    let (capacity, columns) = (x.layout.capacity(), x.layout.columns());
    let kept = chunks.start * capacity..columns.min(chunks.end * capacity);
    if kept == (0..columns) {
        return x.clone();
    }
    let layout = x.layout.of_columns(kept.len()).with_padding(x.padding());
    let lines = x.bundles.chunks_exact(x.layout.chunks());
    let bundles = lines.flat_map(|line| line[chunks.clone()].iter().cloned()).collect();
    let part = x.with_all((&x.params, with_columns(x, kept.len())), layout, bundles, (x.level, x.scale));
    part.estimated(|own| own.selected_columns(&kept))
}

/// The shape of `x` with another last axis; a single number becomes a vector.
pub(crate) fn with_columns(x: &Ciphertext, columns: usize) -> Vec<usize> {
    let rows = x.shape.len().saturating_sub(1);
    [&x.shape[..rows], &[columns]].concat()
}

/// Refuses coefficients and bit-reversed order.
fn check_place(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    check_slots(x, operation)?;
    if x.layout.order() == Order::Natural { Ok(()) } else { Err(CkksError::bit_reversed(operation)) }
}
