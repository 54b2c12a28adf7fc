//! Python's operators.

use clathrate_ckks::Encoding;
use pyo3::exceptions::{PyTypeError, PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;
use pyo3::types::PyNotImplemented;

use super::object::PyCiphertext;
use super::operand::Operand;
use super::transposed::PyTransposed;
use crate::arrays::Array;
use crate::errors::{exception, raise, raise_for_array};
use crate::run::detached_with;
use crate::values::{inverted, negated, scalar};

/// Result of an operator: a ciphertext, or Python's `NotImplemented`.
type OperatorResult<'py> = PyResult<Bound<'py, PyAny>>;

fn not_implemented(py: Python<'_>) -> OperatorResult<'_> {
    Ok(PyNotImplemented::get(py).to_owned().into_any())
}

impl PyCiphertext {
    fn add_values(&self, py: Python<'_>, array: Array, operation: &'static str, negate: bool) -> PyResult<Self> {
        let values = array.broadcast(py, self.data.shape(), operation)?;
        let values = if negate { negated(values) } else { values };
        self.with_values(py, &values, |evaluator, x, values| evaluator.add_plain(x, values))
    }

    fn multiply_by(&self, py: Python<'_>, factor: f64) -> PyResult<Self> {
        let translate = |error| raise_for_array(py, error, &[]);
        if factor.fract() == 0.0 || !factor.is_finite() {
            // An integer takes no level, and what is no number is refused.
            let (evaluator, data) = (self.evaluator(), &*self.data);
            let result = detached_with(py, translate, || evaluator.multiply_scalar(data, factor))?;
            return self.beside(py, result);
        }
        self.map_factor(py, translate, |evaluator, x| evaluator.multiply_scalar(x, factor))
    }

    fn multiply_values(&self, py: Python<'_>, array: Array, operation: &'static str, invert: bool) -> PyResult<Self> {
        let values = array.broadcast(py, self.data.shape(), operation)?;
        let values = if invert { inverted(py, values)? } else { values };
        let translate = |error| raise_for_array(py, error, self.data.shape());
        self.map_factor(py, translate, |evaluator, x| evaluator.multiply_plain(x, &values))
    }
}

#[pymethods]
impl PyCiphertext {
    /// NumPy hands operators over instead of treating a ciphertext as an object scalar.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    const ARRAY_UFUNC: Option<bool> = None;

    /// Pandas leaves operators to the operand of higher priority; its own go up to 4000.
    #[classattr]
    #[pyo3(name = "__pandas_priority__")]
    const PANDAS_PRIORITY: i32 = 5000;

    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let sum = match Operand::new(other)? {
            Operand::Ciphertext(other) => self.zip(py, other.get(), |evaluator, x, y| evaluator.add(x, y))?,
            Operand::Scalar(value) => self.add_values(py, scalar(value), "addition", false)?,
            Operand::Array(array) => self.add_values(py, array, "addition", false)?,
            Operand::Other => return not_implemented(py),
        };
        Ok(Bound::new(py, sum)?.into_any())
    }

    fn __radd__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        self.__add__(py, other)
    }

    fn __sub__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let difference = match Operand::new(other)? {
            Operand::Ciphertext(other) => self.zip(py, other.get(), |evaluator, x, y| evaluator.sub(x, y))?,
            Operand::Scalar(value) => self.add_values(py, scalar(value), "subtraction", true)?,
            Operand::Array(array) => self.add_values(py, array, "subtraction", true)?,
            Operand::Other => return not_implemented(py),
        };
        Ok(Bound::new(py, difference)?.into_any())
    }

    fn __rsub__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let array = match Operand::new(other)? {
            Operand::Scalar(value) => scalar(value),
            Operand::Array(array) => array,
            Operand::Ciphertext(_) | Operand::Other => return not_implemented(py),
        };
        let difference = self.__neg__(py)?.add_values(py, array, "subtraction", false)?;
        Ok(Bound::new(py, difference)?.into_any())
    }

    fn __mul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let product = match Operand::new(other)? {
            Operand::Ciphertext(other) => self.zip_factors(py, other.get(), |evaluator, x, y| evaluator.multiply(x, y))?,
            Operand::Scalar(value) => self.multiply_by(py, value)?,
            Operand::Array(array) => self.multiply_values(py, array, "an element-wise product", false)?,
            Operand::Other => return not_implemented(py),
        };
        Ok(Bound::new(py, product)?.into_any())
    }

    fn __rmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        self.__mul__(py, other)
    }

    /// Division by plain numbers: a product with their inverses.
    fn __truediv__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let quotient = match Operand::new(other)? {
            Operand::Ciphertext(_) => {
                return Err(PyTypeError::new_err("a ciphertext is no divisor: multiply by an approximation of its inverse"));
            }
            Operand::Scalar(0.0) => return Err(PyZeroDivisionError::new_err("division of a ciphertext by zero")),
            Operand::Scalar(value) if value.is_finite() && !value.recip().is_finite() => {
                return Err(exception(py, "DataError", format!("the divisor {value:e} has no finite inverse: scale it up")));
            }
            Operand::Scalar(value) if value.is_infinite() => self.multiply_by(py, value)?,
            Operand::Scalar(value) => self.multiply_by(py, value.recip())?,
            Operand::Array(array) => self.multiply_values(py, array, "a division", true)?,
            Operand::Other => return not_implemented(py),
        };
        Ok(Bound::new(py, quotient)?.into_any())
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = other;
        Err(PyTypeError::new_err("a ciphertext is no divisor: multiply by an approximation of its inverse"))
    }

    fn __pow__<'py>(&self, py: Python<'py>, exponent: &Bound<'py, PyAny>, modulus: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        if modulus.is_none() && exponent.extract::<i64>().is_ok_and(|exponent| exponent == 2) {
            return Ok(Bound::new(py, self.map_factor(py, |error| raise(py, error), |evaluator, x| evaluator.square(x))?)?.into_any());
        }
        Err(PyValueError::new_err("the only power is `ct ** 2`: multiply and rescale for the others"))
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        self.map(py, |evaluator, x| evaluator.negate(x))
    }

    fn __pos__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __rmatmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let in_slots = self.data.encoding() == Encoding::Slots;
        let product =
            if in_slots && self.data.shape().len() == 1 { self.image(py, other, false)? } else { self.matmul(py, other, None, None)? };
        Ok(Bound::new(py, product)?.into_any())
    }

    fn __matmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        if let Ok(other) = other.cast::<Self>() {
            return Ok(Bound::new(py, self.times_encrypted(py, other.get(), None)?)?.into_any());
        }
        if let Ok(other) = other.cast::<PyTransposed>() {
            let rows = other.call_method0("to_rows")?.cast_into::<Self>()?;
            return Ok(Bound::new(py, self.times_encrypted(py, rows.get(), None)?)?.into_any());
        }
        if self.data.encoding() != Encoding::Slots {
            let product = self.times_plain(py, other).map_err(|error| {
                if !error.get_type(py).name().is_ok_and(|name| name == "MissingKeyError") {
                    return error;
                }
                let hint = "`ct @ W` transposes the rows by switching keys, which `trace` finds; with X encrypted as its transpose, `X_transposed.T @ W` needs no key";
                exception(py, "MissingKeyError", format!("{}: {hint}", error.value(py)))
            })?;
            return Ok(Bound::new(py, product)?.into_any());
        }
        Ok(Bound::new(py, self.image(py, other, true)?)?.into_any())
    }
}
