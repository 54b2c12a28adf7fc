//! What a ciphertext refuses, because it would need the numbers.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use crate::libraries::Library;

fn refuse<T>(what: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(format!("{what}: decrypt it first with `secret_key.decrypt(ct)`")))
}

#[pymethods]
impl PyCiphertext {
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let _ = other;
        refuse("a ciphertext cannot be compared")
    }

    fn __ne__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __lt__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __le__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __gt__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __ge__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __bool__(&self) -> PyResult<bool> {
        refuse("a ciphertext has no truth value")
    }

    fn __float__(&self) -> PyResult<f64> {
        refuse("a ciphertext is no number")
    }

    fn __int__(&self) -> PyResult<i64> {
        refuse("a ciphertext is no number")
    }

    fn __complex__(&self) -> PyResult<f64> {
        refuse("a ciphertext is no number")
    }

    fn __iter__(&self) -> PyResult<()> {
        refuse("a ciphertext cannot be iterated over")
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let _ = value;
        refuse("a ciphertext cannot be searched")
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(&self, py: Python<'_>, dtype: Option<&Bound<'_, PyAny>>, copy: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = (dtype, copy);
        match Library::of_caller(py) {
            Some(library) => Err(library.cannot_read_ciphertext()),
            None => refuse("a ciphertext is no array of numbers"),
        }
    }
}
