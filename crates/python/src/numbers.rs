//! Numbers as Python has them, which know no width, and lists of them.

use std::convert::Infallible;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyFloat, PyInt, PyList, PyString};

use crate::errors::{exception, out_of_range};

/// Most characters of a wrong argument that an error repeats.
const REPR_LIMIT: usize = 80;

/// A whole number as Python has them; beyond 64 bits it saturates, and the range check that follows refuses
/// it.
#[derive(Debug, Clone, Copy)]
pub struct Whole(pub i64);

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match data.extract::<i64>() {
            Ok(value) => Ok(Self(value)),
            Err(error) if error.is_instance_of::<PyOverflowError>(data.py()) => {
                Ok(Self(if data.lt(0)? { i64::MIN } else { i64::MAX }))
            }
            Err(error) => Err(wrong_type(data, "a whole number, such as 2", error)),
        }
    }
}

impl Whole {
    /// As a count.
    ///
    /// # Errors
    /// `DataError`, which names the argument, below 0.
    pub fn count(self, py: Python<'_>, name: &'static str) -> PyResult<usize> {
        usize::try_from(self.0).map_err(|_| out_of_range(py, name, self.0, "use 0 or more"))
    }

    /// As the number of a device or of another library's secret.
    ///
    /// # Errors
    /// `DataError`, which names the argument, below 0 and beyond 62 bits: saturated numbers would make two
    /// devices one.
    pub fn secret_number(self, py: Python<'_>, name: &'static str) -> PyResult<u64> {
        let number = u64::try_from(self.0).ok().filter(|number| number >> 62 == 0);
        number.ok_or_else(|| out_of_range(py, name, self.0, "use a number from 0 to 2^62 - 1"))
    }

    /// As rotation steps.
    ///
    /// # Errors
    /// `DataError` beyond 62 bits, where a saturated number would be another rotation.
    pub fn steps(self, py: Python<'_>) -> PyResult<i64> {
        match self.0.unsigned_abs() >> 62 {
            0 => Ok(self.0),
            _ => Err(exception(
                py,
                "DataError",
                "rotation steps are beyond 62 bits: reduce them modulo the slots".to_owned(),
            )),
        }
    }
}

/// A real number as Python has them. A whole number beyond double precision becomes an infinity of its sign,
/// and the range check that follows refuses the argument by name, or takes it for "no limit".
#[derive(Debug, Clone, Copy)]
pub struct Real(pub f64);

impl<'a, 'py> FromPyObject<'a, 'py> for Real {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match data.extract::<f64>() {
            Ok(value) => Ok(Self(value)),
            Err(error) if error.is_instance_of::<PyOverflowError>(data.py()) => {
                Ok(Self(if data.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY }))
            }
            Err(error) => Err(wrong_type(data, "a real number, such as 0.5", error)),
        }
    }
}

impl Real {
    /// The number that an argument has, where it is given.
    pub fn given(argument: Option<Self>) -> Option<f64> {
        argument.map(|Self(value)| value)
    }
}

impl<'py> IntoPyObject<'py> for &Whole {
    type Target = PyInt;
    type Output = Bound<'py, PyInt>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        self.0.into_pyobject(py)
    }
}

impl<'py> IntoPyObject<'py> for &Real {
    type Target = PyFloat;
    type Output = Bound<'py, PyFloat>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        self.0.into_pyobject(py)
    }
}

impl<'py> IntoPyObject<'py> for &Wholes {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        PyList::new(py, self.0.iter().map(|whole| whole.0))
    }
}

/// A list of whole numbers.
#[derive(Debug, Default)]
pub struct Wholes(pub Vec<Whole>);

impl<'a, 'py> FromPyObject<'a, 'py> for Wholes {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let wanted = "a list of whole numbers, such as [1, 2]";
        let number = |item: &Bound<'py, PyAny>| {
            item.extract::<Whole>().map_err(|error| wrong_type(data, wanted, error))
        };
        list(data, wanted)?.iter().map(number).collect::<PyResult<_>>().map(Self)
    }
}

/// A list of real numbers.
#[derive(Debug, Default)]
pub struct Reals(pub Vec<Real>);

impl<'a, 'py> FromPyObject<'a, 'py> for Reals {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let wanted = "a list of numbers, such as [45.4, 45]";
        let number = |item: &Bound<'py, PyAny>| {
            item.extract::<Real>().map_err(|error| wrong_type(data, wanted, error))
        };
        list(data, wanted)?.iter().map(number).collect::<PyResult<_>>().map(Self)
    }
}

/// The items of a sequence. Text and bytes are sequences too, of characters, and never what was meant.
///
/// # Errors
/// `TypeError` that names what is `wanted`.
pub fn list<'py>(data: Borrowed<'_, 'py, PyAny>, wanted: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if data.is_instance_of::<PyString>()
        || data.is_instance_of::<PyBytes>()
        || data.is_instance_of::<PyByteArray>()
    {
        return Err(wrong_type(data, wanted, PyTypeError::new_err("")));
    }
    data.extract::<Vec<Bound<'py, PyAny>>>().map_err(|error| wrong_type(data, wanted, error))
}

/// `error` where it is more than a wrong type, else one that names what is `wanted` and what was given.
pub fn wrong_type(data: Borrowed<'_, '_, PyAny>, wanted: &str, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyTypeError>(data.py()) {
        return error;
    }
    let given: String = data.repr().map_or_else(
        |_| "an object".to_owned(),
        |text| text.to_string_lossy().chars().take(REPR_LIMIT).collect(),
    );
    PyTypeError::new_err(format!("use {wanted}; got {given}"))
}
