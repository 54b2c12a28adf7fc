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
    /// rescaled. If rows have several polynomials, a range of complete polynomials is only copied.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for slots in bit-reversed order, for a range over several polynomials of a
    /// row that starts or ends inside one, and if rows of several polynomials share masks; missing keys.
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
            if first < last && !whole {
                let reason = format!(
                    "columns {} to {} lie in {} polynomials of each row, which hold {capacity} columns each: start and end at a multiple of {capacity}, or stay within one polynomial",
                    columns.start,
                    columns.end - 1,
                    last - first + 1
                );
                return Err(CkksError::Unsuitable { operation: SELECTION, reason });
            }
            let kept = first * capacity..x.layout.columns().min((last + 1) * capacity);
            let layout = x.layout.of_columns(kept.len()).with_padding(x.padding());
            let lines = x.bundles.chunks_exact(chunks);
            let bundles = lines.flat_map(|line| line[first..=last].iter().cloned()).collect();
            let part =
                x.with_all((&x.params, with_columns(x, kept.len())), layout, bundles, (x.level, x.scale));
            let part = part.estimated(|own| own.selected_columns(&kept));
            return if whole {
                Ok(part)
            } else {
                self.select_slots(&part, &(columns.start - kept.start..columns.end - kept.start))
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

    /// The polynomials of `x`, rotated left by `steps` numbers of a row.
    fn rotated(&self, x: &Ciphertext, steps: i64) -> Result<Ciphertext, CkksError> {
        let steps = steps * x.layout.copies() as i64;
        self.rotate_slots(x, &[steps])?.pop().ok_or(CkksError::Internal { operation: SELECTION })
    }

    /// The concatenation of `parts` along columns: each row of the result consists of the rows of all parts,
    /// one after the other. A vector is one row, and gives a vector. Each part takes a rotation and a product
    /// with a mask; the result is not rescaled.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without parts; [`CkksError::Encoding`] unless slots; [`CkksError::Shape`] if
    /// parts have different numbers of rows or axes, or a row would need several polynomials;
    /// [`CkksError::Unsuitable`] for slots in bit-reversed order, for rows that share polynomials, and for
    /// padding that is not zero; missing keys.
    pub fn join_columns(&self, parts: &[&Ciphertext]) -> Result<Ciphertext, CkksError> {
        let &[first, ..] = parts else { return Err(CkksError::no_terms(JOIN)) };
        let level = parts.iter().map(|part| part.level).min().unwrap_or(first.level);
        let total: usize = parts.iter().map(|part| part.layout.columns()).sum();
        for part in parts {
            self.check(part)?;
            check_place(part, JOIN)?;
            part.check_plain(JOIN)?;
            check_masks(part, JOIN)?;
            if part.layout.chunks() > 1 {
                let remedy = format!(
                    "a row has {} polynomials: encrypt it with a larger capacity",
                    part.layout.chunks()
                );
                return Err(CkksError::Shape {
                    operation: JOIN,
                    left: part.shape.clone(),
                    right: vec![],
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
        }
        let slots = first.params.slot_count();
        if total > slots {
            let remedy = format!(
                "rows of {total} numbers do not fit the {slots} slots of a polynomial: compute with the parts, or take a larger degree"
            );
            return Err(CkksError::Shape {
                operation: JOIN,
                left: first.shape.clone(),
                right: with_columns(first, total),
                remedy,
            });
        }
        // The capacity is at least that of every part, because rows of more slots do not repeat with a
        // smaller period.
        let capacity =
            parts.iter().fold(total.next_power_of_two(), |most, part| most.max(part.layout.capacity()));
        let mut sum: Option<Ciphertext> = None;
        let (mut start, mut complex) = (0, false);
        let mut kept = Vec::new();
        for &part in parts {
            let part = self.at_level(part, level)?;
            let columns = part.layout.columns();
            // The part repeats in a row of more slots.
            let layout = part.layout.with_capacity(capacity)?.of_columns(total).with_padding(Padding::Dirty);
            let wide = self.rotated(&part, -(start as i64))?.rearranged(with_columns(&part, total), layout);
            let alone =
                self.multiply_mask(&wide, |index| (start..start + columns).contains(&(index % total)), 1.0)?;
            // Each number is from one part; the masks of the other parts leave rounding errors at its place.
            kept.push(alone.estimate.clone().with_cleared(
                &part.estimate,
                parts.len() - 1,
                part.column_mask_rounding(1.0, alone.scale),
            ));
            complex |= alone.is_complex();
            sum = Some(match sum {
                None => alone,
                Some(sum) => self.add(&sum, &alone)?,
            });
            start += columns;
        }
        let sum = sum.ok_or(CkksError::Internal { operation: JOIN })?;
        let layout = sum.layout.of_numbers(complex);
        let shape = sum.shape.clone();
        Ok(sum
            .rearranged(shape, layout)
            .estimated(|_| Estimate::side_by_side(&kept, Along::Columns, &layout)))
    }
}

/// The shape of `x` with another last axis; a single number becomes a vector.
fn with_columns(x: &Ciphertext, columns: usize) -> Vec<usize> {
    let rows = x.shape.len().saturating_sub(1);
    [&x.shape[..rows], &[columns]].concat()
}

/// Refuses coefficients and bit-reversed order.
fn check_place(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    check_slots(x, operation)?;
    if x.layout.order() == Order::Natural { Ok(()) } else { Err(CkksError::bit_reversed(operation)) }
}
