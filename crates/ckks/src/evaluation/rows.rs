//! Selections of rows, and concatenation of arrays along rows. Both only rearrange bundles and need no key,
//! except for a single row of several that share a polynomial in slots.

use super::evaluator::Evaluator;
use super::levels::meeting;
use crate::arrays::estimate::Along;
use crate::arrays::{BodyAxis, Ciphertext, Encoding, Estimate};
use crate::error::CkksError;

/// The operations' names in errors.
const SELECTION: &str = "a selection of rows";
const CONCATENATION: &str = "a concatenation";

impl Evaluator {
    /// The rows `rows` of an encrypted matrix, in this order; a row may occur several times. If rows share
    /// polynomials in slots, `rows` must be all rows of some polynomials, or a single row, which takes a
    /// product with a mask, not rescaled, and rotations.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless `x` is a matrix; [`CkksError::Empty`] without rows;
    /// [`CkksError::OutOfRange`] for a row beyond the last; [`CkksError::Unsuitable`] if rows share a mask,
    /// if they share a polynomial in coefficients, and for some of the rows of a polynomial in slots; missing
    /// keys for one row.
    pub fn select_rows(&self, x: &Ciphertext, rows: &[usize]) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let in_slots = x.encoding() == Encoding::Slots;
        check_rows_or_lanes(x, SELECTION)?;
        let [count, columns] = x.shape() else {
            let remedy = "rows are those of a matrix".to_owned();
            return Err(CkksError::Shape {
                operation: SELECTION,
                left: x.shape().to_vec(),
                right: vec![rows.len()],
                remedy,
            });
        };
        if rows.is_empty() {
            return Err(CkksError::no_entries([0, *columns]));
        }
        if let Some(row) = rows.iter().find(|&row| row >= count) {
            let remedy = format!("the matrix has {count}, counted from 0");
            return Err(CkksError::OutOfRange { what: "a row", value: row.to_string(), remedy });
        }
        match *rows {
            [row] if in_slots && x.layout().lanes() > 1 => self.row_of_lanes(x, row),
            _ => self.rows_of_polynomials(x, rows),
        }
    }

    /// The rows `rows`, which must exist and must be all rows of some polynomials.
    fn rows_of_polynomials(&self, x: &Ciphertext, rows: &[usize]) -> Result<Ciphertext, CkksError> {
        let (lanes, count, columns) = (x.layout().lanes(), x.layout().rows(), x.layout().columns());
        // The first row of each group is in the first lane and is followed by the other rows of its
        // polynomial.
        let whole = rows.chunks(lanes).enumerate().all(|(index, group)| {
            let last = (index + 1) * lanes >= rows.len();
            let complete = group.len() == lanes || (last && group.last() == Some(&(count - 1)));
            group[0].is_multiple_of(lanes) && complete && group.windows(2).all(|pair| pair[1] == pair[0] + 1)
        });
        if !whole {
            let reason = format!(
                "{lanes} rows share a polynomial, one behind the other in its slots: pick one row, or a range that starts and ends at a multiple of {lanes}, or encrypt with \
                 lanes=1"
            );
            return Err(CkksError::Unsuitable { operation: SELECTION, reason });
        }
        let layout = x.layout().of_rows(rows.len()).with_padding(x.padding());
        layout.check(&[rows.len(), columns], x.params().degree())?;
        let width = layout.bundles_per_line();
        let bundles = if x.is_symbol() {
            Vec::new()
        } else {
            let lines = rows.iter().step_by(lanes).map(|row| row / lanes);
            lines.flat_map(|line| x.bundles()[line * width..(line + 1) * width].iter().cloned()).collect()
        };
        let selected =
            x.with_all((x.params(), vec![rows.len(), columns]), layout, bundles, (x.level(), x.scale()));
        if rows.iter().copied().eq(0..count) {
            return Ok(selected);
        }
        let mut times = vec![0; count];
        rows.iter().for_each(|&row| times[row] += 1);
        let most = times.into_iter().max().unwrap_or(1);
        Ok(selected.estimated(|own| own.selected(rows, most)))
    }

    /// One row of several that share a polynomial in slots, as a matrix of one row: the product with a mask,
    /// and then the sum of all rows of the polynomial.
    fn row_of_lanes(&self, x: &Ciphertext, row: usize) -> Result<Ciphertext, CkksError> {
        let (lanes, columns) = (x.layout().lanes(), x.layout().columns());
        let first = row / lanes * lanes;
        let group: Vec<usize> = (first..(first + lanes).min(x.layout().rows())).collect();
        let group = self.rows_of_polynomials(x, &group)?;
        let alone = self.multiply_mask(&group, |index| first + index / columns == row, 1.0)?;
        // The mask makes all other rows zero.
        let kept = alone
            .estimate
            .clone()
            .with_cleared(&x.estimate, lanes, x.mask_rounding(1.0, alone.scale()))
            .selected(&[row], 1);
        let row = self.sum_of_rows(&alone.estimated(Estimate::without_numbers))?;
        row.estimated(|own| kept.copied(x.layout.period()).with_noise_of(own, x.layout.period()))
            .reshaped(&[1, columns])
    }

    /// The rows of all `parts` as one matrix, where a vector is one row. Parts are brought to a common level
    /// and scale, like operands of a sum.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without parts; [`CkksError::Shape`] for rows of different lengths;
    /// [`CkksError::Unsuitable`], [`CkksError::Encoding`], parameter and secret errors for parts that were
    /// encrypted differently, and for rows that share a mask or a polynomial; level errors.
    pub fn concatenate(&self, parts: &[&Ciphertext]) -> Result<Ciphertext, CkksError> {
        let &[first, ..] = parts else { return Err(CkksError::no_terms(CONCATENATION)) };
        // Compares one line of each part with one line of the first part.
        let row = |part: &Ciphertext| {
            let layout = part.layout().of_rows(part.layout().lanes()).with_padding(part.padding());
            let bundles = part.bundles().iter().take(layout.bundles_per_line()).cloned().collect();
            part.with_all(
                (part.params(), vec![layout.rows(), layout.columns()]),
                layout,
                bundles,
                (part.level(), part.scale()),
            )
        };
        let compared = row(first);
        for (index, &part) in parts.iter().enumerate() {
            check_rows_or_lanes(part, CONCATENATION)?;
            let (own, lanes) = (part.layout().rows(), part.layout().lanes());
            if index + 1 < parts.len() && !own.is_multiple_of(lanes) {
                let reason = format!(
                    "{lanes} rows share a polynomial and part {index} has {own}, which leaves places free before the next part: use a multiple of {lanes}, or encrypt with lanes=1"
                );
                return Err(CkksError::Unsuitable { operation: CONCATENATION, reason });
            }
            self.check_pair(&compared, &row(part), CONCATENATION)?;
        }
        let (level, scale) = meeting(parts, CONCATENATION)?;
        let mut rows = 0;
        let mut bundles = Vec::new();
        let (mut estimates, mut sizes) = (Vec::new(), Vec::new());
        let (mut complex, mut padding) = (false, first.padding());
        let mut lowest: Option<Ciphertext> = None;
        for &part in parts {
            let part = self.brought(part, level, scale)?;
            lowest.get_or_insert_with(|| row(&part));
            rows += part.layout().rows();
            bundles.extend(part.bundles().iter().cloned());
            estimates.push(part.estimate.clone());
            sizes.push(part.layout().rows());
            (complex, padding) = (complex || part.is_complex(), padding.max(part.padding()));
        }
        let first = lowest.ok_or(CkksError::Internal { operation: CONCATENATION })?;
        let layout = first.layout().of_rows(rows).of_numbers(complex).with_padding(padding);
        let shape = vec![rows, layout.columns()];
        layout.check(&shape, first.params().degree())?;
        let joined = first.with_all((first.params(), shape), layout, bundles, (first.level(), first.scale()));
        Ok(joined.estimated(|_| Estimate::side_by_side((&estimates, &sizes), Along::Rows, &layout)))
    }
}

/// Refuses arrays whose rows share a mask or a polynomial.
pub(super) fn check_rows(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    x.check_one_lane(operation)?;
    check_masks(x, operation)
}

/// [`check_rows`], but rows may share polynomials in slots, because masks and rotations can extract them.
pub(super) fn check_rows_or_lanes(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    match x.encoding() {
        Encoding::Slots => check_masks(x, operation),
        Encoding::Coefficients => check_rows(x, operation),
    }
}

/// Refuses arrays whose rows share a mask.
pub(super) fn check_masks(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    if x.layout().body_axis() == BodyAxis::Rows && x.layout().bodies() > 1 {
        return Err(CkksError::shared_mask(
            operation,
            x.layout().bodies(),
            "rows under one mask are one ciphertext",
            "take the bodies apart with split_mask first",
        ));
    }
    Ok(())
}
