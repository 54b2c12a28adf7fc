//! An encrypted matrix read by columns, and products of encrypted matrices.

use clathrate_ckks::CkksError;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::arrays::{array, is_array, is_number, is_whole, shape, to_numpy};
use crate::errors::raise;
use crate::numbers::Real;
use crate::run::with_progress;

#[pyclass(frozen, module = "clathrate._native", name = "TransposedCiphertext")]
pub struct PyTransposed {
    pub base: Py<PyCiphertext>,
}

impl PyTransposed {
    fn of(py: Python<'_>, base: PyCiphertext) -> PyResult<Self> {
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
                    let shape: Vec<usize> = self.base.get().data.shape().iter().rev().copied().collect();
                    let operation = if name.contains("add") { "addition" } else { "subtraction" };
                    to_numpy(py, array.broadcast(py, &shape, operation)?, &shape)?.getattr("T")?
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
fn transposed_factor<'py>(
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
    // An array is transposed as it is: a large one is read in parts.
    let shape = shape(x)?;
    if shape.len() != 2 || left.last() != shape.first() {
        return Err(refuse(shape));
    }
    x.getattr("T")
}

impl PyCiphertext {
    /// `self @ other` for encrypted matrices: the left one is transposed by switching keys first.
    pub(super) fn times_encrypted(
        &self,
        py: Python<'_>,
        other: &Self,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.encrypted_product(py, other, progress, false)
    }

    /// `self.T @ other`, or `self @ other` where this ciphertext is not `by_columns`.
    fn encrypted_product(
        &self,
        py: Python<'_>,
        other: &Self,
        progress: Option<&Bound<'_, PyAny>>,
        by_columns: bool,
    ) -> PyResult<Self> {
        let holder = if self.has_keys() { self } else { other };
        let evaluator = holder.evaluator();
        let (left, right) = (&*self.settled(py, &evaluator)?, &*other.settled(py, &evaluator)?);
        let (shape, own) = (left.shape(), right.shape());
        let inner = if by_columns { shape.first() } else { shape.get(1) };
        if shape.len() != 2 || own.len() != 2 || inner != own.first() {
            let left = if by_columns { shape.iter().rev().copied().collect() } else { shape.to_vec() };
            let vector = match own {
                [count] if inner == Some(count) => {
                    format!(". Encrypt the vector as a column, of shape ({count}, 1), or both in slots")
                }
                _ => String::new(),
            };
            let remedy = format!(
                "both operands are matrices, with as many rows on the right as columns on the left{vector}"
            );
            let operation = "a product of encrypted matrices";
            return Err(raise(py, CkksError::Shape { operation, left, right: own.to_vec(), remedy }));
        }
        let product = with_progress(
            py,
            progress,
            "matmul",
            |error| raise(py, error),
            |tick| {
                if by_columns {
                    return evaluator.multiply_transposed_with_progress(left, right, tick);
                }
                let columns = evaluator.transposed_with_progress(left, tick)?;
                evaluator.multiply_transposed_with_progress(&columns, right, tick)
            },
        )?;
        holder.beside(py, product)
    }

    /// `self @ weights` for a plain matrix on the right: the rows are transposed by switching keys first, and
    /// the product is read by columns.
    pub(super) fn times_plain<'py>(
        &self,
        py: Python<'py>,
        weights: &Bound<'py, PyAny>,
    ) -> PyResult<PyTransposed> {
        let weights = transposed_factor(py, weights, self.data.shape().to_vec())?;
        let columns = self.map_settled(py, |evaluator, x| evaluator.transposed(x))?;
        PyTransposed::of(py, columns.matmul(py, &weights, None, None)?)
    }
}

#[pymethods]
impl PyCiphertext {
    #[getter]
    #[pyo3(name = "T")]
    fn transposed<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().data.shape().len() != 2 {
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
        let base = self.base.get();
        let evaluator = base.evaluator();
        let data = &*base.settled(py, &evaluator)?;
        let rows = with_progress(
            py,
            progress,
            "transpose",
            |error| raise(py, error),
            |tick| evaluator.transposed_with_progress(data, tick),
        )?;
        base.beside(py, rows)
    }

    fn with_keys(&self, py: Python<'_>, keys: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let base = self.base.bind(py).call_method1("with_keys", (keys, py.None()))?;
        Ok(Self { base: base.cast_into::<PyCiphertext>()?.unbind() })
    }

    fn rescale(&self, py: Python<'_>) -> PyResult<Self> {
        Self::of(py, self.base.get().rescaled_once(py)?)
    }

    fn matmul<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let base = self.base.get();
        if let Ok(other) = other.cast::<PyCiphertext>() {
            return Ok(Bound::new(py, base.encrypted_product(py, other.get(), progress, true)?)?.into_any());
        }
        if let Ok(other) = other.cast::<Self>() {
            // (X^T)(Y^T) = (Y X)^T
            let product = other.get().base.get().times_encrypted(py, base, progress)?;
            return Ok(Bound::new(py, Self::of(py, product)?)?.into_any());
        }
        let shape: Vec<usize> = base.data.shape().iter().rev().copied().collect();
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
        Self::of(py, self.base.get().map(py, |evaluator, x| evaluator.negate(x))?)
    }
}
