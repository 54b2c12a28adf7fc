//! Products with plain matrices, and rescaling.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Mutex;

use clathrate_ckks::CkksError;
use clathrate_ckks::encrypted_array::{PlainInput, PlainMatrix};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use super::object::PyCiphertext;
use super::transposed::PyTransposed;
use crate::arrays::{is_whole, matrix, matrix_shape, no_numbers, plain_symbol};
use crate::errors::check_scale;
use crate::numbers::Real;
use crate::run::computing;

/// A plain matrix of real numbers, which is read some rows at a time: it may be mapped from a file.
pub(super) struct Numbers {
    array: Py<PyAny>,
    shape: (usize, usize),
    /// The plain input of a program that they stand for.
    input: Option<PlainInput>,
    /// What reading them raised.
    failure: Mutex<Option<PyErr>>,
}

impl Numbers {
    /// # Errors
    /// `TypeError` for complex numbers; `ShapeError` unless two axes. `right` is the shape of the right
    /// factor.
    pub(super) fn new(array: &Bound<'_, PyAny>, right: &[usize]) -> PyResult<Self> {
        Ok(Self {
            shape: matrix_shape(array, right)?,
            array: array.clone().unbind(),
            input: plain_symbol(array).and_then(|symbol| symbol.get().numbers.input),
            failure: Mutex::new(None),
        })
    }

    /// `error`, or what reading the numbers raised.
    pub(super) fn raised(&self, error: PyErr) -> PyErr {
        self.failure.lock().ok().and_then(|mut failure| failure.take()).unwrap_or(error)
    }
}

impl PlainMatrix for Numbers {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn input(&self) -> Option<PlainInput> {
        self.input
    }

    fn rows(&self, rows: Range<usize>) -> Result<Cow<'_, [f64]>, CkksError> {
        let read = |py: Python<'_>| {
            let whole = rows == (0..self.shape.0);
            let all = self.array.bind(py);
            let part = if whole {
                all.clone()
            } else {
                all.get_item(PySlice::new(py, rows.start as isize, rows.end as isize, 1))?
            };
            matrix(&part, &[]).map(|(values, ..)| Cow::Owned(values))
        };
        Python::attach(read).map_err(|error| {
            if let Ok(mut failure) = self.failure.lock() {
                *failure = Some(error);
            }
            CkksError::Cancelled
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
        if plain_symbol(weights).is_some() && !self.array.is_recorded() {
            return Err(no_numbers());
        }
        // Integers are multiplied as they are, which takes no level.
        let whole = weight_scale.is_none() && is_whole(weights)?;
        let weight_scale = Real::given(weight_scale).or(whole.then_some(1.0));
        check_scale(py, "weight_scale", weight_scale, "1.0 for a matrix of integers, or leave it out")?;
        let numbers = Numbers::new(weights, self.data().shape())?;
        self.compute_long(py, ("matmul", progress), |x| x.left_multiply(&numbers, weight_scale))
            .map_err(|error| numbers.raised(error))
    }

    fn explain_matmul(&self, py: Python<'_>, weights: &Bound<'_, PyAny>) -> PyResult<String> {
        let numbers = Numbers::new(weights, self.data().shape())?;
        let x = &self.array;
        computing(py, |progress| x.with_progress(progress).explain_left_multiply(&numbers))
            .map_err(|error| numbers.raised(error))
    }

    fn multiply(&self, py: Python<'_>, other: &Bound<'_, Self>, rescale: bool) -> PyResult<Self> {
        self.join(py, other.get(), |x, y| x.multiply(y, rescale))
    }

    fn rescale(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.rescale())
    }
}

impl PyCiphertext {
    /// `self @ weights` for a plain matrix on the right: the rows are transposed by switching keys first, and
    /// the product is read by columns.
    pub(super) fn times_plain<'py>(
        &self,
        py: Python<'py>,
        weights: &Bound<'py, PyAny>,
    ) -> PyResult<PyTransposed> {
        let weights = super::transposed::transposed_factor(py, weights, self.data().shape().to_vec())?;
        let hint = "`ct @ W` transposes the rows by switching keys, which `trace` finds; with X encrypted as its transpose, `X_transposed.T @ W` needs no key";
        let translate = |error| super::operators::raise_with_hint(py, error, hint);
        let columns = self.compute_with(py, translate, |x| x.transposed())?;
        PyTransposed::of(py, columns.matmul(py, &weights, None, None)?)
    }
}
