//! Products and rescaling.

use std::ops::Range;

use clathrate_arith::text::counted;
use clathrate_ckks::circuits::matrix::Weights;
use clathrate_ckks::{Ciphertext, CkksError, Evaluator, LinearTransform};
use numpy::Complex64;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use super::object::PyCiphertext;
use super::transposed::PyTransposed;
use crate::arrays::{array, is_whole, matrix, shape};
use crate::errors::{check_scale, exception, raise, raise_for_array};
use crate::numbers::Real;
use crate::run::{detached, detached_with, with_progress};

impl PyCiphertext {
    /// The product of each row in slots with a plain matrix: `matrix @ row`, or `row @ matrix`.
    pub(super) fn image<'py>(
        &self,
        py: Python<'py>,
        matrix: &Bound<'py, PyAny>,
        row_first: bool,
    ) -> PyResult<Self> {
        let array = array(matrix)?;
        let [rows, columns] = array.shape[..] else {
            let remedy = "the plain operand is a matrix of two axes".to_owned();
            let (left, right) = (array.shape, self.data.shape().to_vec());
            return Err(raise(
                py,
                CkksError::Shape { operation: "a product with rows in slots", left, right, remedy },
            ));
        };
        let transform = if row_first {
            let values = array.values.into_complex();
            let transposed: Vec<Complex64> = (0..columns)
                .flat_map(|j| (0..rows).map(move |i| (i, j)))
                .map(|(i, j)| values[i * columns + j])
                .collect();
            LinearTransform::from_matrix(&transposed, columns, rows)
        } else {
            LinearTransform::from_matrix(&array.values, rows, columns)
        };
        let transform = transform.map_err(|error| raise(py, error))?;
        self.map_settled(py, |evaluator, x| evaluator.evaluate_linear(x, &transform)).map_err(|error| {
            if !error.get_type(py).name().is_ok_and(|name| name == "MissingKeyError") {
                return error;
            }
            let hint = "rows in slots multiply with a matrix by rotations, whose keys `LinearTransform(W).plan(params).needs` lists; a vector \
                        in coefficients has inner products without a key, `[x.dot(row) for row in W]`";
            exception(py, "MissingKeyError", format!("{}: {hint}", error.value(py)))
        })
    }
}

impl PyCiphertext {
    /// One rescale; where products are rescaled by themselves, none for an array at the scale of its level.
    pub(super) fn rescaled_once(&self, py: Python<'_>) -> PyResult<Self> {
        if self.is_automatic() && self.data.has_canonical_scale() {
            return Ok(self.again(py));
        }
        self.map(py, |evaluator, x| evaluator.rescale(x))
    }
}

/// Bytes of weights, as doubles, that are read at a time.
const BLOCK_BYTES: usize = 1 << 26;

/// The rows of a matrix that are multiplied at a time: all of them, unless the array is mapped from a file or
/// too large to be copied whole.
fn row_blocks(weights: &Bound<'_, PyAny>) -> PyResult<Vec<Range<usize>>> {
    let [rows, columns] = shape(weights)?[..] else { return Ok(Vec::new()) };
    let height = (BLOCK_BYTES / 8 / columns.max(1)).max(1);
    Ok((0..rows).step_by(height).map(|start| start..rows.min(start + height)).collect())
}

impl PyCiphertext {
    /// The product with a whole matrix: inside a bootstrap, of the bootstrapped array, or of the array as it
    /// is.
    fn times_all(
        &self,
        py: Python<'_>,
        evaluator: &Evaluator,
        weights: &Bound<'_, PyAny>,
        weight_scale: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Ciphertext> {
        let plain = evaluator.without_bootstrapping();
        if weight_scale.is_some() || !evaluator.bootstraps() || self.data.shape().len() != 2 {
            let data = self.factor(py, &plain)?;
            return Self::times_rows(py, (&plain, &data), weights, (0, 0, 1), weight_scale, progress);
        }
        if !self.is_fresh() {
            let (values, rows, inner) = matrix(weights, self.data.shape())?;
            let translate = |error| raise_for_array(py, error, &[rows, inner]);
            let (all, data) = ((rows, inner, &values[..]), &*self.settled(py, evaluator)?);
            let fused = with_progress(py, progress, "matmul", translate, |tick| {
                evaluator.multiply_inside_bootstrap(all, data, tick)
            })?;
            if let Some(product) = fused {
                return Ok(product);
            }
            detached_with(py, translate, || evaluator.check_plain_matrix(all, data))?;
        }
        let data = self.factor(py, evaluator)?;
        Self::times_rows(py, (&plain, &data), weights, (0, 0, 1), weight_scale, progress)
    }

    /// The product of `data` with the rows `weights` of a matrix, which begin with row `first`: block `index`
    /// of `count`.
    fn times_rows(
        py: Python<'_>,
        (evaluator, data): (&Evaluator, &Ciphertext),
        weights: &Bound<'_, PyAny>,
        (first, index, count): (usize, usize, usize),
        weight_scale: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Ciphertext> {
        let (values, rows, inner) = matrix(weights, data.shape())?;
        if data.shape().len() != 2 || data.shape()[0] != inner {
            let remedy = match data.shape() {
                [expected, _] => format!("the left matrix needs {}", counted(*expected, "column")),
                [_] => "take the inner products, `[x.dot(row) for row in W]`, or `cl.stack([x.dot(row).reshape(1) for row in W])` as one array, whose numbers \
                        are a polynomial each; with `encoding=\"slots\"` the vector is multiplied as it is, by rotations"
                    .to_owned(),
                _ => "the right operand is an encrypted matrix, and this is a single number: multiply with `*`".to_owned(),
            };
            let (left, right) = (vec![rows, inner], data.shape().to_vec());
            return Err(raise(py, CkksError::Shape { operation: "a matrix product", left, right, remedy }));
        }
        let translate = |error| {
            let error = match error {
                CkksError::NotFinite { index, value } => {
                    CkksError::NotFinite { index: first * inner + index, value }
                }
                other => other,
            };
            raise_for_array(py, error, &[first + rows, inner])
        };
        with_progress(py, progress, "matmul", translate, |tick| {
            let mut steps = |done, total| tick(index * total + done, count * total);
            match weight_scale {
                Some(scale) => evaluator.multiply_matrix_with_progress(
                    &Weights::new(rows, inner, &values, scale)?,
                    data,
                    &mut steps,
                ),
                None => evaluator.multiply_matrix_with_progress(
                    &evaluator.encode_weights(rows, inner, &values, data)?,
                    data,
                    &mut steps,
                ),
            }
        })
    }
}

#[pymethods]
impl PyCiphertext {
    pub(super) fn matmul<'py>(
        &self,
        py: Python<'py>,
        weights: &Bound<'py, PyAny>,
        weight_scale: Option<Real>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        if weights.is_instance_of::<Self>() || weights.is_instance_of::<PyTransposed>() {
            return Err(PyTypeError::new_err(
                "`matmul` takes a plain matrix: multiply encrypted ones by `x @ y`, or by `x.T.matmul(y)`",
            ));
        }
        // Integers are multiplied as they are, which takes no level.
        let whole = weight_scale.is_none() && is_whole(weights)?;
        let weight_scale = Real::given(weight_scale).or(whole.then_some(1.0));
        check_scale(py, "weight_scale", weight_scale, "1.0 for a matrix of integers, or leave it out")?;
        let blocks = row_blocks(weights)?;
        let evaluator = self.evaluator();
        if blocks.len() < 2 {
            let product = self.times_all(py, &evaluator, weights, weight_scale, progress)?;
            return self.beside(py, product);
        }
        let shape = shape(weights)?;
        if self.data.shape().len() != 2 || self.data.shape()[0] != shape[1] {
            let remedy = format!("the right operand is an encrypted matrix of {}", counted(shape[1], "row"));
            let right = self.data.shape().to_vec();
            return Err(raise(
                py,
                CkksError::Shape { operation: "a matrix product", left: shape, right, remedy },
            ));
        }
        // All blocks are products of one array, bootstrapped once at most; the first one's weights are
        // checked before.
        let plain = evaluator.without_bootstrapping();
        let data = if weight_scale.is_some() {
            self.factor(py, &plain)?
        } else {
            let first = weights.get_item(PySlice::new(py, 0, blocks[0].end as isize, 1))?;
            let (values, rows, inner) = matrix(&first, self.data.shape())?;
            let data = self.settled(py, &evaluator)?;
            detached(py, || evaluator.check_plain_matrix((rows, inner, &values), &data))?;
            self.factor(py, &evaluator)?
        };
        let mut parts = Vec::with_capacity(blocks.len());
        for (index, rows) in blocks.iter().enumerate() {
            let part = weights.get_item(PySlice::new(py, rows.start as isize, rows.end as isize, 1))?;
            parts.push(Self::times_rows(
                py,
                (&plain, &data),
                &part,
                (rows.start, index, blocks.len()),
                weight_scale,
                progress,
            )?);
        }
        let whole = detached(py, || evaluator.concatenate(&parts.iter().collect::<Vec<_>>()))?;
        self.beside(py, whole)
    }

    fn explain_matmul(&self, py: Python<'_>, weights: &Bound<'_, PyAny>) -> PyResult<String> {
        let evaluator = self.evaluator();
        let data = &*self.settled(py, &evaluator)?;
        let (values, rows, inner) = matrix(weights, data.shape())?;
        // Matrices that are read some rows at a time are multiplied with the array as it is, or bootstrapped.
        let whole = row_blocks(weights)?.len() < 2;
        let all = (rows, inner, &values[..]);
        let fresh = if self.is_fresh() { Some(self.factor(py, &evaluator)?) } else { None };
        if let Some(fresh) = fresh {
            let plain = evaluator.without_bootstrapping();
            return detached_with(
                py,
                |error| raise_for_array(py, error, &[rows, inner]),
                || plain.explain_plain_matrix(all, &fresh),
            );
        }
        let explain = || {
            if whole {
                evaluator.explain_plain_matrix(all, data)
            } else {
                evaluator.explain_refreshed_matrix(all, data)
            }
        };
        detached_with(py, |error| raise_for_array(py, error, &[rows, inner]), explain)
    }

    fn multiply(&self, py: Python<'_>, other: &Bound<'_, Self>, rescale: bool) -> PyResult<Self> {
        self.zip_factors(py, other.get(), "an element-wise product", |evaluator, x, y| {
            if rescale { evaluator.multiply_rescale(x, y) } else { evaluator.multiply(x, y) }
        })
    }

    fn rescale(&self, py: Python<'_>) -> PyResult<Self> {
        self.rescaled_once(py)
    }
}
