//! Python's operators.

use clathrate_ckks::encrypted_array::Operand;
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::{CkksError, Encoding};
use pyo3::exceptions::{PyTypeError, PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::operand::Other;
use super::transposed::PyTransposed;
use crate::arrays::{operand_array, shape};
use crate::errors::{exception, raise};

/// Exponents end here: more levels than the longest chain has.
const LARGEST_EXPONENT: f64 = 4_294_967_296.0;

/// Whether plain numbers have one axis.
fn is_vector(other: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(shape(other)?.len() == 1)
}

impl PyCiphertext {
    /// The inner product with another vector, plain or encrypted.
    fn dot(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operate(py, other, |x, other| x.dot(other))
    }

    /// The product of each row in slots with a plain matrix: `matrix @ row`, or `row @ matrix` where
    /// `row_first`.
    fn map_rows(&self, py: Python<'_>, matrix: &Bound<'_, PyAny>, row_first: bool) -> PyResult<Self> {
        let matrix = operand_array(matrix, &self.array)?.plain();
        let hint = "rows in slots multiply with a matrix by rotations, whose keys `LinearTransform(W).plan(params).needs` lists; a vector \
                    in coefficients has inner products without a key, `[x.dot(row) for row in W]`";
        let translate = |error| raise_with_hint(py, error, hint);
        self.compute_with(py, translate, |x| x.map_rows(&matrix, row_first))
    }
}

#[pymethods]
impl PyCiphertext {
    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operate(py, other, |x, other| x.add(other))
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operate(py, other, |x, other| x.sub(other))
    }

    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operate(py, other, |x, other| x.sub_from(other))
    }

    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operate(py, other, |x, other| x.mul(other))
    }

    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Other::new(other, &self.array)? {
            Other::Ciphertext(_) => Err(PyTypeError::new_err("a ciphertext is no divisor")),
            Other::Plain(Operand::Number(0.0) | Operand::Integer(0.0)) => {
                Err(PyZeroDivisionError::new_err("division of a ciphertext by zero"))
            }
            Other::Plain(operand) => self.compute(py, |x| x.div(operand)),
        }
    }

    #[pyo3(name = "power")]
    fn to_power(&self, py: Python<'_>, exponent: Option<f64>) -> PyResult<Self> {
        let whole =
            exponent.filter(|exponent| exponent.fract() == 0.0 && (0.0..LARGEST_EXPONENT).contains(exponent));
        match whole {
            Some(whole) => self.compute(py, |x| x.power(whole as u64)),
            None => Err(PyValueError::new_err(format!(
                "a power of a ciphertext has a whole exponent from 0 to {LARGEST_EXPONENT}, and no modulus: take `cl.functions.sqrt`, `cl.functions.inverse` or \
                 `cl.functions.inverse_sqrt` on an interval, or approximate others by `cl.plans.Polynomial.fit`"
            ))),
        }
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        self.compute(py, |x| x.negate())
    }

    fn __rmatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let in_slots = self.data().encoding() == Encoding::Slots;
        let vector = self.data().shape().len() == 1;
        if vector && is_vector(other)? {
            self.dot(py, other)
        } else if vector && in_slots {
            self.map_rows(py, other, false)
        } else {
            self.matmul(py, other, None, None)
        }
    }

    fn __matmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let object = |result: Self| Ok(Bound::new(py, result)?.into_any());
        let encrypted = other.cast::<Self>().ok().map(|other| other.get());
        let in_slots = self.data().encoding() == Encoding::Slots;
        let vector = match encrypted {
            Some(other) => other.data().shape().len() == 1,
            None => is_vector(other)?,
        };
        if self.data().shape().len() == 1 {
            if vector {
                return object(self.dot(py, other)?);
            }
        } else if in_slots && vector {
            return object(self.operate(py, other, |x, vector| x.times_vector(vector))?);
        }
        if let Some(other) = encrypted {
            return object(self.times_encrypted(py, other, None, [false; 2])?);
        }
        if let Ok(other) = other.cast::<PyTransposed>() {
            return object(self.times_encrypted(py, other.get().base.get(), None, [false, true])?);
        }
        if in_slots {
            return object(self.map_rows(py, other, true)?);
        }
        Ok(Bound::new(py, self.times_plain(py, other)?)?.into_any())
    }
}

/// `error` in Python's words, with a hint where keys are missing.
pub(super) fn raise_with_hint(py: Python<'_>, error: CkksError, hint: &str) -> PyErr {
    let missing = error.kind() == ErrorKind::MissingKey;
    let error = raise(py, error);
    if missing { exception(py, "MissingKeyError", format!("{}: {hint}", error.value(py))) } else { error }
}
