//! Norms of matrices: how much a product with a matrix enlarges numbers and errors, and how its results are
//! correlated.

use std::collections::BTreeMap;

use rustfft::num_complex::Complex64;

use super::names::name_of_all;

/// Norms of a matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MatrixNorms {
    /// The name of the matrix's numbers.
    pub(crate) name: u64,
    /// The largest sum of magnitudes along a row.
    pub(crate) row_sum: f64,
    /// The largest root of the sum of squares along a row.
    pub(crate) row_norm: f64,
    /// The mean, over rows that are not zero, of the sum of squares along a row.
    row_squares: f64,
    /// The mean, over these rows, of the square of the sum along a row, and the mean of these sums.
    square_sums: f64,
    mean_sum: f64,
    /// The sum of the squares of the sums along columns, divided by the number of these rows.
    column_sums: f64,
    rows: f64,
    columns: f64,
    /// How many rows of the matrix at most are equal; 1 if unknown.
    pub(super) equal_rows: f64,
}

impl MatrixNorms {
    /// The norms of the matrix `name`: for each row the sums of its numbers, magnitudes and squares, and for
    /// each column the sum of its numbers. `columns` is the true number of columns if the matrix repeats
    /// along both axes.
    pub(crate) fn new(
        name: u64,
        rows: &[(Complex64, f64, f64)],
        column_sums: &[Complex64],
        columns: usize,
    ) -> Self {
        let count = rows.iter().filter(|row| row.1 > 0.0).count().max(1) as f64;
        let repeated = (columns as f64 / column_sums.len() as f64).max(1.0);
        let mean = |of: fn(&(Complex64, f64, f64)) -> f64| rows.iter().map(of).sum::<f64>() / count;
        Self {
            name,
            row_sum: rows.iter().fold(0.0, |most, row| most.max(row.1)),
            row_norm: rows.iter().fold(0.0f64, |most, row| most.max(row.2)).sqrt(),
            row_squares: mean(|row| row.2),
            square_sums: mean(|row| row.0.norm_sqr()),
            mean_sum: mean(|row| row.0.re),
            column_sums: column_sums.iter().map(Complex64::norm_sqr).sum::<f64>() / count,
            rows: count * repeated,
            columns: columns as f64,
            equal_rows: 1.0,
        }
    }

    /// The norms of a row-major matrix of real numbers.
    pub(crate) fn of_matrix(values: &[f64], columns: usize) -> Self {
        let mut column_sums = vec![Complex64::ZERO; columns];
        let rows: Vec<(Complex64, f64, f64)> = values
            .chunks_exact(columns.max(1))
            .map(|row| {
                column_sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += value);
                row.iter().fold((Complex64::ZERO, 0.0, 0.0), |(sum, magnitudes, squares), &value| {
                    (sum + value, magnitudes + value.abs(), squares + value * value)
                })
            })
            .collect();
        let mut equal: BTreeMap<u64, usize> = BTreeMap::new();
        for row in values.chunks_exact(columns.max(1)) {
            *equal.entry(name_of_all(row)).or_default() += 1;
        }
        let equal_rows = equal.into_values().max().unwrap_or(1) as f64;
        Self { equal_rows, ..Self::new(name_of_all(values), &rows, &column_sums, columns) }
    }

    /// The mean of the products of numbers with mean `mean`.
    pub(crate) fn mean_of(&self, mean: f64) -> f64 {
        self.mean_sum * mean
    }

    /// The mean square of the products of numbers that all equal `mean`.
    pub(crate) fn square_of(&self, mean: f64) -> f64 {
        self.square_sums * mean * mean
    }

    /// For numbers or errors that add up as `together` along the rows of the matrix: the factor by which
    /// their typical root mean square grows, and how the results add up (see `Source::together`).
    pub(crate) fn typical(&self, together: f64) -> (f64, f64) {
        // All pairs have the same correlation.
        let correlation =
            if self.columns > 1.0 { (together.min(self.columns) - 1.0) / (self.columns - 1.0) } else { 0.0 };
        let square = (1.0 - correlation) * self.row_squares + correlation * self.square_sums;
        let sum =
            (1.0 - correlation) * self.column_sums + correlation * self.rows * self.mean_sum * self.mean_sum;
        if square > 0.0 { (square.sqrt(), sum / square) } else { (0.0, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up_as_a_matrix_makes_them() {
        // Independent errors e become M e: their squares are those of the rows, the square of their sum that
        // of the columns' sums.
        let norms = MatrixNorms::of_matrix(&[1.0, 2.0, 3.0, -4.0, 0.0, 1.0], 3);
        assert_eq!((norms.row_sum, norms.row_norm.powi(2)), (6.0, 17.0));
        let (factor, together) = norms.typical(1.0);
        assert!(
            (factor * factor - 15.5).abs() < 1e-12 && (together * 31.0 - (9.0 + 4.0 + 16.0)).abs() < 1e-12
        );
        // Equal errors become the sums of the rows.
        let (factor, together) = norms.typical(3.0);
        assert!(
            (factor * factor - (36.0 + 9.0) / 2.0).abs() < 1e-12 && (together * 45.0 - 9.0).abs() < 1e-12
        );
        // Weights of one sign correlate the errors; weights that sum to zero make them cancel.
        let (factor, together) = MatrixNorms::of_matrix(&[0.5; 64], 8).typical(1.0);
        assert!((factor * factor - 2.0).abs() < 1e-12 && (together - 8.0).abs() < 1e-12);
        assert!(MatrixNorms::of_matrix(&[1.0, 1.0, -1.0, -1.0], 2).typical(1.0).1.abs() < 1e-12);
        // A matrix that repeats along its diagonal: sums of neighbours.
        let repeated = MatrixNorms::new(0, &[(Complex64::from(2.0), 2.0, 2.0)], &[Complex64::from(2.0)], 8);
        assert_eq!(repeated.typical(1.0), (2f64.sqrt(), 2.0));
        assert_eq!(repeated.typical(8.0), (2.0, 8.0));
    }
}
