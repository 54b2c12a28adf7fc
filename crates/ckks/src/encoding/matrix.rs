//! Plain matrices of real numbers.

use crate::error::CkksError;

/// A plain matrix of real numbers. What computes with it checks first that it has as many numbers as entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matrix<'a> {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The numbers, row by row.
    pub values: &'a [f64],
}

impl<'a> Matrix<'a> {
    /// The matrix of `rows` rows and `columns` columns whose numbers are `values`, row by row. Nothing is
    /// checked.
    #[must_use]
    pub fn new(rows: usize, columns: usize, values: &'a [f64]) -> Self {
        Self { rows, columns, values }
    }

    /// The numbers of rows and of columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Each row's numbers.
    pub fn each_row(&self) -> impl Iterator<Item = &'a [f64]> + use<'a> {
        self.values.chunks_exact(self.columns.max(1))
    }

    /// Refuses a matrix without entries, and one that has more or fewer numbers than entries.
    ///
    /// # Errors
    /// [`CkksError::Empty`]; [`CkksError::Shape`], which names the operation.
    pub(crate) fn check(&self, operation: &'static str) -> Result<(), CkksError> {
        check_entries(self.shape(), self.values.len(), operation)
    }
}

/// Refuses a matrix without entries, and `count` numbers for a matrix of another number of entries.
///
/// # Errors
/// [`CkksError::Empty`]; [`CkksError::Shape`], which names the operation.
pub(crate) fn check_entries(
    (rows, columns): (usize, usize),
    count: usize,
    operation: &'static str,
) -> Result<(), CkksError> {
    if rows == 0 || columns == 0 {
        return Err(CkksError::no_entries(vec![rows, columns]));
    }
    if rows.checked_mul(columns) != Some(count) {
        let remedy = "the matrix needs rows * columns values".to_owned();
        return Err(CkksError::Shape { operation, left: vec![rows, columns], right: vec![count], remedy });
    }
    Ok(())
}
