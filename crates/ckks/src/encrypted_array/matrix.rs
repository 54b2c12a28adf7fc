//! Products of matrices, plain and encrypted.

use std::borrow::Cow;
use std::ops::Range;

use clathrate_arith::text::counted;

use super::subscripts::{Subscripts, check_terms};
use super::{ArrayOperation, EncryptedArray, PlainArray, PlainInput};
use crate::arrays::{Ciphertext, Encoding};
use crate::circuits::encrypted_matrix;
use crate::circuits::linear::blocks::{PlainRows, multiply_rows};
use crate::circuits::linear::gather::is_movable;
use crate::circuits::matrix::{self, Weights};
use crate::encoding::Matrix;
use crate::encoding::linear::RowMatrix;
use crate::encoding::matrix::check_entries;
use crate::encoding::values::Values;
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// The operations' names in errors.
const PRODUCT: &str = "a matrix product";
const VECTOR_PRODUCT: &str = "a product of a matrix and a vector";
const ROW_PRODUCT: &str = "a product with rows in slots";
const ENCRYPTED_PRODUCT: &str = "a product of encrypted matrices";

/// Bytes of weights, as doubles, that are read at a time.
const BLOCK_BYTES: usize = 1 << 26;

/// A plain matrix of real numbers that is read some rows at a time, such as one that is mapped from a file.
pub trait PlainMatrix {
    /// The numbers of rows and of columns.
    fn shape(&self) -> (usize, usize);

    /// The numbers of the rows `rows`, row-major.
    ///
    /// # Errors
    /// Those of reading them.
    fn rows(&self, rows: Range<usize>) -> Result<Cow<'_, [f64]>, CkksError>;

    /// While a function is recorded, the plain input of the program that the matrix stands for.
    fn input(&self) -> Option<PlainInput> {
        None
    }
}

impl PlainMatrix for Matrix<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    fn rows(&self, rows: Range<usize>) -> Result<Cow<'_, [f64]>, CkksError> {
        let range = rows.start * self.columns..rows.end * self.columns;
        let numbers = self.values.get(range).ok_or_else(|| CkksError::Shape {
            operation: PRODUCT,
            left: vec![self.rows, self.columns],
            right: vec![self.values.len()],
            remedy: "give as many numbers as the matrix has entries".to_owned(),
        });
        numbers.map(Cow::Borrowed)
    }
}

/// Real numbers of two axes; those of others are one row.
impl PlainMatrix for PlainArray {
    fn shape(&self) -> (usize, usize) {
        match self.shape[..] {
            [rows, columns] => (rows, columns),
            _ => (1, self.shape.iter().product()),
        }
    }

    fn input(&self) -> Option<PlainInput> {
        self.input
    }

    fn rows(&self, rows: Range<usize>) -> Result<Cow<'_, [f64]>, CkksError> {
        let (count, columns) = PlainMatrix::shape(self);
        match &self.values {
            Values::Real(values) => {
                Matrix::new(count, columns, values).rows(rows).map(|rows| Cow::Owned(rows.into_owned()))
            }
            Values::Complex(_) => Err(CkksError::Unsuitable {
                operation: PRODUCT,
                reason: "the matrix is complex: multiply by its real and by its imaginary part".to_owned(),
            }),
        }
    }
}

/// The rows of a matrix that are multiplied at a time.
fn row_blocks((rows, columns): (usize, usize)) -> Vec<Range<usize>> {
    let height = (BLOCK_BYTES / 8 / columns.max(1)).max(1);
    (0..rows).step_by(height).map(|start| start..rows.min(start + height)).collect()
}

/// `error` of the rows from `first` on, with the place in the whole matrix of `(rows, inner)` numbers.
fn placed(error: CkksError, first: usize, (rows, inner): (usize, usize)) -> CkksError {
    match error {
        CkksError::NotFinite { index, value, shape: None } => {
            CkksError::NotFinite { index: first * inner + index, value, shape: Some(vec![rows, inner]) }
        }
        other => other,
    }
}

impl EncryptedArray {
    /// `weights @ self` for a plain matrix, not yet rescaled. The weights are rounded at `weight_scale`, by
    /// default the one from which a rescale leads to the scale of the level below; at 1.0 they are integers,
    /// and the product takes no level.
    ///
    /// An array in slots without a free level is bootstrapped by an evaluator that bootstraps automatically:
    /// before the product, or around it. A large matrix is read and multiplied some rows at a time.
    ///
    /// # Errors
    /// [`CkksError::Shape`]; [`CkksError::NotFinite`]; [`CkksError::LevelTooLow`]; those of
    /// [`Weights::multiply`], [`MamboMatrix::multiply`](crate::circuits::mambo::MamboMatrix::multiply) and of
    /// reading the weights.
    pub fn left_multiply(
        &self,
        weights: &dyn PlainMatrix,
        weight_scale: Option<f64>,
    ) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let (rows, columns) = weights.shape();
            let values = Values::Real(weights.rows(0..rows)?.into_owned());
            let weights = PlainArray::new(values, vec![rows, columns]).of_input(weights.input());
            let operation = ArrayOperation::LeftMultiply { weight_scale };
            return graph.record(operation, &[self.into(), weights.clone().into()], || {
                self.left_multiply(&weights, weight_scale)
            });
        }
        let (shape, evaluator) = (weights.shape(), &self.evaluator);
        if self.multiplies_lanes() {
            return self.left_multiply_lanes(weights);
        }
        let blocks = row_blocks(shape);
        // All blocks are products of one array, bootstrapped once at most.
        let plain = evaluator.without_bootstrapping();
        let free = weight_scale.is_some() || !evaluator.bootstraps() || self.data.shape().len() != 2;
        if blocks.len() < 2 {
            let values = weights.rows(0..shape.0)?;
            let all = Matrix::new(shape.0, shape.1, &values);
            let data = if free {
                self.factor_by(&plain)?
            } else {
                if self.made.fresh.get().is_none() {
                    let settled = self.settled()?;
                    let fused = matrix::multiply_inside_bootstrap(evaluator, all, &settled);
                    if let Some(product) = fused.map_err(|error| placed(error, 0, shape))? {
                        return self.beside(product);
                    }
                    matrix::check_plain_matrix(evaluator, all, &settled)
                        .map_err(|error| placed(error, 0, shape))?;
                }
                self.factor_by(evaluator)?
            };
            return self.beside(times_rows(&plain, &data, (0, shape), &values, weight_scale)?);
        }
        if self.data.shape().len() != 2 || self.data.shape()[0] != shape.1 {
            let remedy = format!("the right operand is an encrypted matrix of {}", counted(shape.1, "row"));
            let (left, right) = (vec![shape.0, shape.1], self.data.shape().to_vec());
            return Err(CkksError::Shape { operation: PRODUCT, left, right, remedy });
        }
        let data = if free {
            self.factor_by(&plain)?
        } else {
            // The weights of the first block are checked before a bootstrap.
            let values = weights.rows(blocks[0].clone())?;
            let settled = self.settled()?;
            matrix::check_plain_matrix(evaluator, Matrix::new(blocks[0].len(), shape.1, &values), &settled)
                .map_err(|error| placed(error, 0, shape))?;
            self.factor_by(evaluator)?
        };
        let whole = plain.progress().steps(0);
        let count = blocks.len();
        let part = |(index, rows): (usize, Range<usize>)| {
            let values = weights.rows(rows.clone())?;
            let evaluator = plain.for_part(&whole, move |done, all| (index * all + done, count * all));
            times_rows(&evaluator, &data, (rows.start, shape), &values, weight_scale)
        };
        let parts = blocks.into_iter().enumerate().map(part).collect::<Result<Vec<_>, _>>()?;
        self.beside(plain.concatenate(&parts.iter().collect::<Vec<_>>())?)
    }

    /// Whether a plain matrix is multiplied with rows in slots that share polynomials.
    fn multiplies_lanes(&self) -> bool {
        self.is_in_lanes() && self.data.shape().len() == 2 && is_movable(&self.data)
    }

    /// How such a product is computed: by a dry run on a symbol.
    fn explain_lanes(&self, weights: &dyn PlainMatrix) -> Result<String, CkksError> {
        let (x, (rows, inner)) = (self.settled()?, weights.shape());
        let recorder = self.evaluator.recording_alike();
        let symbol =
            Ciphertext::symbol_with(x.params(), x.shape(), *x.layout(), x.secret(), x.level(), x.scale())?;
        let symbol = Self::new(recorder.take_symbol(symbol, x.bound())?, &recorder);
        let product = symbol.left_multiply_lanes(weights)?;
        let recorded = recorder.recorded();
        Ok(format!(
            "{rows} x {inner} matrix times an encrypted matrix of {} in slots, level {} to {}\n{} rows share a polynomial: a linear map with a diagonal for each distance between rows, by {}\npredicted {:.2} ms by one thread",
            counted(x.layout().columns(), "column"),
            x.level(),
            product.data().level(),
            x.layout().lanes(),
            counted(recorded.needs().rotation_steps().count(), "rotation key"),
            recorded.cost().nanoseconds / 1e6,
        ))
    }

    /// [`EncryptedArray::left_multiply`] for rows in slots that share polynomials, rescaled.
    fn left_multiply_lanes(&self, weights: &dyn PlainMatrix) -> Result<Self, CkksError> {
        let (shape, own) = (weights.shape(), self.data.shape());
        if own[0] != shape.1 {
            let (left, right) = (vec![shape.0, shape.1], own.to_vec());
            let remedy = format!("the left matrix needs {}", counted(own[0], "column"));
            return Err(CkksError::Shape { operation: PRODUCT, left, right, remedy });
        }
        let values = weights.rows(0..shape.0)?;
        check_entries(shape, values.len(), PRODUCT)?;
        if let Some((index, &value)) = values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(CkksError::NotFinite { index, value, shape: Some(vec![shape.0, shape.1]) });
        }
        let columns = own[1];
        let terms = || {
            (0..shape.1).flat_map(|k| (0..shape.0).flat_map(move |i| (0..columns).map(move |j| (i, j, k))))
        };
        check_terms(shape.0.saturating_mul(shape.1).saturating_mul(columns)).map_err(in_coefficients)?;
        let sources: Vec<usize> = terms().map(|(_, j, k)| k * columns + j).collect();
        let factors: Vec<f64> = terms().map(|(i, _, k)| values[i * shape.1 + k]).collect();
        self.mapped(&[shape.0, columns], &sources, &factors).map_err(in_coefficients)
    }

    /// How [`EncryptedArray::left_multiply`] would compute, and why.
    ///
    /// # Errors
    /// As [`EncryptedArray::left_multiply`].
    pub fn explain_left_multiply(&self, weights: &dyn PlainMatrix) -> Result<String, CkksError> {
        let shape = weights.shape();
        if self.multiplies_lanes() {
            return self.explain_lanes(weights);
        }
        let values = weights.rows(0..shape.0)?;
        let all = Matrix::new(shape.0, shape.1, &values);
        let evaluator = &self.evaluator;
        let explained = if self.made.fresh.get().is_some() {
            matrix::explain_bootstrapped_matrix(
                &evaluator.without_bootstrapping(),
                all,
                &*self.factor_by(evaluator)?,
            )
        } else {
            let settled = self.settled()?;
            // A matrix that is read some rows at a time is multiplied with the array as it is, or
            // bootstrapped.
            let inside = if row_blocks(shape).len() < 2 {
                matrix::explain_inside_bootstrap(evaluator, all, &settled)?
            } else {
                None
            };
            inside.map_or_else(|| matrix::explain_bootstrapped_matrix(evaluator, all, &settled), Ok)
        };
        explained.map_err(|error| placed(error, 0, shape))
    }

    /// The product of each row in slots with a plain matrix: `matrix @ row`, or `row @ matrix` where
    /// `row_first`.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless the matrix has two axes, one as long as a row; [`CkksError::MissingKeys`],
    /// [`CkksError::MissingKey`]; those of
    /// [`LinearTransform::apply`](crate::LinearTransform::apply).
    pub fn map_rows(&self, matrix: &PlainArray, row_first: bool) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::MapRows { row_first };
            let operands = [self.into(), matrix.clone().into()];
            return graph.record(operation, &operands, || self.map_rows(matrix, row_first));
        }
        let [rows, columns] = matrix.shape[..] else {
            let remedy = "the plain operand is a matrix of two axes".to_owned();
            let (left, right) = (matrix.shape.clone(), self.data.shape().to_vec());
            return Err(CkksError::Shape { operation: ROW_PRODUCT, left, right, remedy });
        };
        let size = if row_first { [columns, rows] } else { [rows, columns] };
        check_entries((rows, columns), matrix.values.len(), ROW_PRODUCT)?;
        let kept = &matrix.kept;
        let matrix = RowMatrix { values: (&matrix.values).into(), width: columns, transposed: row_first };
        self.map_settled(|evaluator, x| multiply_rows(evaluator, x, &PlainRows { matrix, size, kept }))
    }

    /// `self @ other` for encrypted matrices, stacks of matrices and vectors, as NumPy multiplies them.
    ///
    /// # Errors
    /// [`CkksError::Shape`]; those of [`EncryptedArray::einsum`].
    pub fn matmul(&self, other: &Self) -> Result<Self, CkksError> {
        self.matmul_of_views(other, [false; 2])
    }

    /// [`EncryptedArray::matmul`] of this array and the other one, each read by columns where `by_columns`:
    /// its last two axes are exchanged, without computation in slots, and of the left one in coefficients.
    ///
    /// # Errors
    /// As [`EncryptedArray::matmul`].
    pub fn matmul_of_views(&self, other: &Self, by_columns: [bool; 2]) -> Result<Self, CkksError> {
        let (shape, own) = (self.data.shape(), other.data.shape());
        let coefficients = [self, other].iter().all(|own| own.data.encoding() == Encoding::Coefficients);
        let matrices = shape.len() == 2 && own.len() == 2;
        let subscripts = Subscripts::of_matrices([shape, own], by_columns);
        match subscripts.filter(|_| matrices || !coefficients) {
            Some(subscripts) if matrices => self.einsum(other, &subscripts).map_err(in_coefficients),
            // Coefficients have no products of stacks and of vectors.
            Some(subscripts) => self.einsum(other, &subscripts),
            None => {
                let inner = if by_columns[0] { shape.first() } else { shape.get(1) };
                let vector = match own {
                    [count] if coefficients && inner == Some(count) => {
                        format!(". Encrypt the vector as a column, of shape ({count}, 1), or both in slots")
                    }
                    _ => String::new(),
                };
                Err(not_matching(shape, own, by_columns, &vector))
            }
        }
    }

    /// The transposed matrix: by a gather in slots, by key switching in coefficients.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless a matrix; those of [`EncryptedArray::gathered`] and of
    /// [`transpose`](crate::circuits::encrypted_matrix::transpose).
    pub fn transposed(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Transposed, &[self.into()], || self.transposed());
        }
        if self.data.shape().len() == 2 && self.data.encoding() == Encoding::Slots {
            return self.permuted(&[1, 0]);
        }
        self.map_settled(encrypted_matrix::transpose)
    }

    /// The array whose axis `i` is the axis `axes[i]` of this one, in slots.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] unless each axis is named once; those of [`EncryptedArray::gathered`].
    pub fn permuted(&self, axes: &[usize]) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Permuted { axes: axes.to_vec() }, &[self.into()], || {
                self.permuted(axes)
            });
        }
        let shape = self.data.shape();
        let named = |axis: usize| axes.iter().filter(|&&own| own == axis).count() == 1;
        if axes.len() != shape.len() || !(0..shape.len()).all(named) {
            let remedy = format!("name each of the {} once", counted(shape.len(), "axis"));
            return Err(CkksError::OutOfRange { what: "the axes", value: format!("{axes:?}"), remedy });
        }
        let result: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
        let places: Vec<Option<usize>> = places_along(shape, axes).into_iter().map(Some).collect();
        self.gathered(&result, &places)
    }
}

/// The places of an array of shape `shape` in the order in which its axes `axes` count, the last one first.
pub(super) fn places_along(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    let mut places = vec![0];
    for &axis in axes {
        let step: usize = shape[axis + 1..].iter().product();
        places = places.iter().flat_map(|&first| (0..shape[axis]).map(move |at| first + at * step)).collect();
    }
    places
}

/// The error of factors of a product whose shapes do not fit, with what else to do; the left one is read by
/// columns where `by_columns`.
fn not_matching(left: &[usize], right: &[usize], by_columns: [bool; 2], else_what: &str) -> CkksError {
    let as_read = |shape: &[usize], by_columns: bool| {
        let mut shape = shape.to_vec();
        if let (true, Some(last)) = (by_columns, shape.len().checked_sub(2)) {
            shape[last..].reverse();
        }
        shape
    };
    let (left, right) = (as_read(left, by_columns[0]), as_read(right, by_columns[1]));
    let remedy = format!(
        "both operands are matrices, with as many rows on the right as columns on the left{else_what}"
    );
    CkksError::Shape { operation: ENCRYPTED_PRODUCT, left, right, remedy }
}

/// The error of a product that is too large for slots, with what to do instead.
fn in_coefficients(error: CkksError) -> CkksError {
    match error {
        CkksError::OutOfRange { what, value, remedy } => {
            let remedy = format!(
                "{remedy}; or encrypt both matrices in coefficients, where products of matrices have any size"
            );
            CkksError::OutOfRange { what, value, remedy }
        }
        other => other,
    }
}

/// The product of `data` with the rows from `first` on, `values`, of a matrix of shape `whole`.
fn times_rows(
    evaluator: &Evaluator,
    data: &Ciphertext,
    (first, whole): (usize, (usize, usize)),
    values: &[f64],
    weight_scale: Option<f64>,
) -> Result<Ciphertext, CkksError> {
    let inner = whole.1;
    let rows = values.len() / inner.max(1);
    if data.shape().len() != 2 || data.shape()[0] != inner {
        let remedy = match data.shape() {
            [expected, _] => format!("the left matrix needs {}", counted(*expected, "column")),
            [_] => "take the inner products of the vector with the rows of the matrix, or encrypt the vector in slots, where rotations multiply it as it is".to_owned(),
            _ => "the right operand is an encrypted matrix, and this is a single number, which is multiplied entry by entry".to_owned(),
        };
        let (left, right) = (vec![rows, inner], data.shape().to_vec());
        let operation = if right.len() == 1 { VECTOR_PRODUCT } else { PRODUCT };
        return Err(CkksError::Shape { operation, left, right, remedy });
    }
    let weights = match weight_scale {
        Some(scale) => Weights::new(rows, inner, values, scale),
        None => Weights::encode(evaluator, rows, inner, values, data),
    };
    weights.map_err(|error| placed(error, first, whole))?.multiply(evaluator, data)
}
