//! An encrypted matrix read by columns, and products of encrypted matrices.

use clathrate_ckks::CkksError;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::arrays::{array, is_array, is_number, is_whole, plain_symbol, shape, to_numpy};
use crate::errors::raise;
use crate::numbers::Real;
use crate::run::running;

#[pyclass(frozen, module = "clathrate._native", name = "TransposedCiphertext")]
pub struct PyTransposed {
    pub base: Py<PyCiphertext>,
}

impl PyTransposed {
    pub(super) fn of(py: Python<'_>, base: PyCiphertext) -> PyResult<Self> {
        Ok(Self { base: Py::new(py, base)? })
    }

    /// The result of an operator of the ciphertext, which the numbers `other` were transposed for.
    fn operator(&self, py: Python<'_>, name: &str, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let other = match other.cast::<Self>() {
            Ok(view) => view.get().base.bind(py).clone().into_any(),
            Err(_) if other.is_instance_of::<PyCiphertext>() => {
                let message = "a view of the transposed matrix combines with views: take `.T` of both, or `to_rows()`, which switches keys";
                return Err(PyTypeError::new_err(message));
            }
            Err(_) => {
                // Numbers broadcast along the rows of the view, as everywhere, before they are transposed.
                let array = array(other)?;
                if array.shape.is_empty() {
                    other.clone()
                } else {
                    let shape: Vec<usize> = self.base.get().data().shape().iter().rev().copied().collect();
                    let operation = if name.contains("add") { "addition" } else { "subtraction" };
                    {
                        let values =
                            array.plain().broadcast(&shape, operation).map_err(|error| raise(py, error))?;
                        to_numpy(py, values, &shape)?.getattr("T")?
                    }
                }
            }
        };
        let result = self.base.bind(py).call_method1(name, (other,))?;
        let result = result
            .cast_into::<PyCiphertext>()
            .map_err(|_| PyTypeError::new_err("a view takes plain numbers, and views"))?;
        Ok(Self { base: result.unbind() })
    }
}

/// Why a view has no products entry by entry.
const ENTRY_BY_ENTRY: &str = "a view of the transposed matrix is multiplied and divided by a single number, and multiplied by a matrix with `@`: products \
     entry by entry are those of arrays in slots, so multiply the array itself, before `.T`, or encrypt the transposed numbers in slots";

/// Integers from here on are multiplied as other numbers are: their products would be beyond any modulus.
const LARGEST_INTEGER: f64 = 9e18;

/// A plain right factor with `inner` rows, transposed: what a product with the transposed matrix takes on the
/// left.
pub(super) fn transposed_factor<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    left: Vec<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let refuse = |right: Vec<usize>| {
        let rows = left.last().copied().unwrap_or(0);
        let vector = if right.len() == 1 && right[0] == rows {
            ". Make the vector a column, `w.reshape(-1, 1)`, or encrypt in slots"
        } else {
            ""
        };
        let remedy = format!("the right matrix has two axes, and {rows} rows{vector}");
        raise(py, CkksError::Shape { operation: "a matrix product", left: left.clone(), right, remedy })
    };
    if plain_symbol(x).is_some() {
        return Err(PyTypeError::new_err(
            "a plain input of a program stands on the left of an encrypted matrix in coefficients, or the matrix is in slots",
        ));
    }
    // An array is transposed as it is: a large one is read in parts.
    let shape = shape(x)?;
    if shape.len() != 2 || left.last() != shape.first() {
        return Err(refuse(shape));
    }
    x.getattr("T")
}

impl PyCiphertext {
    /// `self @ other` for encrypted matrices, each read by columns where `by_columns`.
    pub(super) fn times_encrypted(
        &self,
        py: Python<'_>,
        other: &Self,
        progress: Option<&Bound<'_, PyAny>>,
        by_columns: [bool; 2],
    ) -> PyResult<Self> {
        let (holder, x, y) = (self.holder(other), &self.array, &other.array);
        let product = running(py, progress, "matmul", |progress| {
            x.with_progress(progress).matmul_of_views(&y.with_progress(progress), by_columns)
        })?;
        holder.beside(py, &product)
    }
}

#[pymethods]
impl PyCiphertext {
    #[getter]
    #[pyo3(name = "T")]
    fn transposed<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().data().shape().len() != 2 {
            return Ok(slf.into_any());
        }
        let py = slf.py();
        Ok(Bound::new(py, PyTransposed { base: slf.unbind() })?.into_any())
    }
}

#[pymethods]
impl PyTransposed {
    #[getter]
    #[pyo3(name = "T")]
    fn transposed(&self, py: Python<'_>) -> Py<PyCiphertext> {
        self.base.clone_ref(py)
    }

    pub(super) fn to_rows(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCiphertext> {
        self.base.get().compute_long(py, ("transpose", progress), |x| x.transposed())
    }

    fn with_keys(&self, py: Python<'_>, keys: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let base = self.base.bind(py).call_method1("with_keys", (keys, py.None()))?;
        Ok(Self { base: base.cast_into::<PyCiphertext>()?.unbind() })
    }

    fn rescale(&self, py: Python<'_>) -> PyResult<Self> {
        Self::of(py, self.base.get().compute(py, |x| x.rescale())?)
    }

    fn matmul<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let base = self.base.get();
        if let Ok(other) = other.cast::<PyCiphertext>() {
            return Ok(
                Bound::new(py, base.times_encrypted(py, other.get(), progress, [true, false])?)?.into_any()
            );
        }
        if let Ok(other) = other.cast::<Self>() {
            // (X^T)(Y^T) = (Y X)^T
            let product = other.get().base.get().times_encrypted(py, base, progress, [false; 2])?;
            return Ok(Bound::new(py, Self::of(py, product)?)?.into_any());
        }
        let shape: Vec<usize> = base.data().shape().iter().rev().copied().collect();
        let product = base.matmul(py, &transposed_factor(py, other, shape)?, None, progress)?;
        Ok(Bound::new(py, Self::of(py, product)?)?.into_any())
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operator(py, "__add__", other)
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operator(py, "__sub__", other)
    }

    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operator(py, "__rsub__", other)
    }

    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let encrypted = other.is_instance_of::<Self>() || other.is_instance_of::<PyCiphertext>();
        if encrypted || is_array(other) {
            return Err(PyTypeError::new_err(ENTRY_BY_ENTRY));
        }
        // The number's type says whether the product takes a level.
        let Real(value) = other.extract()?;
        let factor = if is_whole(other)? && value.abs() < LARGEST_INTEGER {
            (value as i64).into_pyobject(py)?.into_any()
        } else {
            value.into_pyobject(py)?.into_any()
        };
        self.operator(py, "__mul__", &factor)
    }

    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        if is_number(other) {
            return self.operator(py, "__truediv__", other);
        }
        Err(PyTypeError::new_err(ENTRY_BY_ENTRY))
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        Self::of(py, self.base.get().compute(py, |x| x.negate())?)
    }
}
