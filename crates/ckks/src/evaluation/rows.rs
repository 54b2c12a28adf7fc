//! Rows of arrays: a selection of them, and arrays one below the other. Nothing is computed, and no key is needed.

use super::evaluator::Evaluator;
use crate::arrays::{BodyAxis, Ciphertext, Estimate, Layout};
use crate::error::CkksError;

/// The operations' names in errors.
const SELECTION: &str = "a selection of rows";
const CONCATENATION: &str = "a concatenation";

impl Evaluator {
    /// The rows `rows` of an encrypted matrix, in this order; a row may occur several times.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless a matrix; [`CkksError::Empty`] without rows; [`CkksError::OutOfRange`] for a row that it does not have;
    /// [`CkksError::SharedMask`] where rows share a mask; [`CkksError::Conversion`] where they share a polynomial.
    pub fn select_rows(&self, x: &Ciphertext, rows: &[usize]) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_rows(x, SELECTION)?;
        let [count, columns] = x.shape() else {
            let remedy = "rows are those of a matrix".to_owned();
            return Err(CkksError::Shape { operation: SELECTION, left: x.shape().to_vec(), right: vec![rows.len()], remedy });
        };
        if rows.is_empty() {
            return Err(CkksError::Empty { shape: vec![0, *columns] });
        }
        if let Some(row) = rows.iter().find(|&row| row >= count) {
            let remedy = format!("the matrix has {count}, counted from 0");
            return Err(CkksError::OutOfRange { what: "a row", value: row.to_string(), remedy });
        }
        let layout = Layout { rows: rows.len(), ..*x.layout() };
        layout.check(&[rows.len(), *columns], x.params().degree())?;
        let width = layout.bundles_per_line();
        let bundles = if x.is_symbol() {
            Vec::new()
        } else {
            rows.iter().flat_map(|row| x.bundles()[row * width..(row + 1) * width].iter().cloned()).collect()
        };
        Ok(x.with_all((x.params(), vec![rows.len(), *columns]), layout, bundles, (x.level(), x.scale())))
    }

    /// The rows of all `parts`, one array after the other, as one matrix; a vector is one row. Parts at higher levels are brought to the lowest one.
    ///
    /// # Errors
    /// [`CkksError::NoTerms`] without parts; [`CkksError::Shape`] where rows have different lengths; [`CkksError::DifferentLayouts`], [`CkksError::Encoding`],
    /// [`CkksError::ScaleMismatch`], parameter and secret errors where they are encrypted differently; as [`Evaluator::select_rows`] for rows that share a mask or a
    /// polynomial.
    pub fn concatenate(&self, parts: &[&Ciphertext]) -> Result<Ciphertext, CkksError> {
        let &[first, ..] = parts else { return Err(CkksError::NoTerms { operation: CONCATENATION }) };
        let level = parts.iter().map(|part| part.level()).min().unwrap_or(first.level());
        // Each part is compared with the first as if both had as many rows.
        let row = |part: &Ciphertext| {
            let layout = Layout { rows: 1, ..*part.layout() };
            let bundles = part.bundles().iter().take(layout.bundles_per_line()).cloned().collect();
            part.with_all((part.params(), vec![1, layout.columns]), layout, bundles, (part.level(), part.scale()))
        };
        let compared = row(first);
        let mut rows = 0;
        let mut bundles = Vec::new();
        let (mut estimate, mut complex, mut padding) = (first.estimate(), false, first.padding());
        let mut lowest: Option<Ciphertext> = None;
        for &part in parts {
            check_rows(part, CONCATENATION)?;
            self.check_pair(&compared, &row(part), CONCATENATION)?;
            let part = self.at_level(part, level)?;
            let lowest = lowest.get_or_insert_with(|| row(&part));
            if !super::levels::same_scale(lowest.scale(), part.scale()) {
                return Err(CkksError::ScaleMismatch { left: lowest.scale().log2(), right: part.scale().log2() });
            }
            rows += part.layout().rows;
            bundles.extend(part.bundles().iter().cloned());
            estimate = estimate
                .zip(part.estimate())
                .map(|(own, other)| Estimate { magnitude: own.magnitude.max(other.magnitude), error: own.error.max(other.error) });
            (complex, padding) = (complex || part.is_complex(), padding.max(part.padding()));
        }
        let first = lowest.ok_or(CkksError::NoTerms { operation: CONCATENATION })?;
        let layout = Layout { rows, complex, ..*first.layout() }.with_padding(padding);
        let shape = vec![rows, layout.columns];
        layout.check(&shape, first.params().degree())?;
        Ok(first.with_all((first.params(), shape), layout, bundles, (first.level(), first.scale())).bounded_by(estimate))
    }
}

/// Refuses arrays whose rows share a mask or a polynomial.
pub(super) fn check_rows(x: &Ciphertext, operation: &'static str) -> Result<(), CkksError> {
    x.check_one_lane(operation)?;
    if x.layout().axis == BodyAxis::Rows && x.layout().bodies > 1 {
        return Err(CkksError::SharedMask {
            operation,
            bodies: x.layout().bodies,
            reason: "rows under one mask are one ciphertext",
            remedy: "take the bodies apart with split_mask first",
        });
    }
    Ok(())
}
