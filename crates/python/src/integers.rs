//! Whole numbers as Python has them, which know no width.

use pyo3::prelude::*;

use crate::errors::exception;

/// A whole number as Python has them; beyond 64 bits it saturates, and the range check that follows refuses it.
#[derive(Debug, Clone, Copy)]
pub struct Whole(pub i64);

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match data.extract::<i64>() {
            Ok(value) => Ok(Self(value)),
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(data.py()) => {
                Ok(Self(if data.lt(0)? { i64::MIN } else { i64::MAX }))
            }
            Err(error) => Err(error),
        }
    }
}

impl Whole {
    /// As rotation steps.
    ///
    /// # Errors
    /// `DataError` beyond 62 bits, where a saturated number would be another rotation.
    pub fn steps(self, py: Python<'_>) -> PyResult<i64> {
        match self.0.unsigned_abs() >> 62 {
            0 => Ok(self.0),
            _ => Err(exception(py, "DataError", "rotation steps are beyond 62 bits: reduce them modulo the slots".to_owned())),
        }
    }
}
