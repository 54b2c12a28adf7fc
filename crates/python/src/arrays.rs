//! NumPy arrays in and out.
//!
//! Data is copied once on the way in, under the interpreter lock, into row-major double precision: what the
//! caller does to the array afterwards, or another thread during the call, changes nothing.

use clathrate_ckks::CkksError;
use clathrate_ckks::keys::Values;
use numpy::{Complex64, Element, PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyList, PyTuple};

use crate::errors::{exception, raise};
use crate::libraries::Library;

/// Numbers with a shape.
pub struct Array {
    pub values: Values,
    pub shape: Vec<usize>,
    /// Whether the numbers are of an integer type.
    pub whole: bool,
}

/// Anything NumPy makes a numeric array of: any order, strides, byte order and numeric type.
///
/// # Errors
/// `TypeError` for objects, strings and masked arrays; `DataError` for ragged lists.
pub fn array(data: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = data.py();
    let numpy = py.import("numpy")?;
    if data.is_instance(&numpy.getattr("ma")?.getattr("MaskedArray")?)? {
        return Err(PyTypeError::new_err(
            "a masked array has entries that are not there: fill them first, `x.filled(0)`",
        ));
    }
    // NumPy stops at 64 bits for integers; a wide Python integer is a number all the same.
    let wide = data.cast::<PyInt>().ok().map(|int| int.extract::<f64>());
    let plain = match wide {
        Some(Ok(value)) => PyFloat::new(py, value).into_any(),
        Some(Err(_)) => return Err(too_wide(py)),
        None => data.clone(),
    };
    let library = Library::of(data);
    if library == Some(Library::ScipySparse) {
        return Err(Library::ScipySparse.cannot_be_read(data, "NumPy has no sparse arrays"));
    }
    let array = numpy.call_method1("asarray", (plain,)).map_err(|error| match library {
        Some(library) => {
            let named = library.cannot_be_read(data, &error.value(py).to_string());
            named.set_cause(py, Some(error));
            named
        }
        None if error.is_instance_of::<PyValueError>(py) => {
            exception(py, "DataError", format!("this is no array: {}", error.value(py)))
        }
        None if error.is_instance_of::<PyOverflowError>(py) => too_wide(py),
        None => error,
    })?;
    let array = with_wide_integers(data, array)?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let values = match kind.as_str() {
        "b" | "i" | "u" | "f" => Values::Real(copy::<f64>(&numpy, &array, "float64")?),
        "c" => Values::Complex(copy::<Complex64>(&numpy, &array, "complex128")?),
        _ => {
            let dtype = array.getattr("dtype")?.str()?;
            if let Some(library) = library {
                return Err(
                    library.cannot_be_read(data, &format!("its entries of dtype {dtype} are no numbers"))
                );
            }
            let remedy = if kind == "O" { ", `x.astype(float)` where the objects are numbers" } else { "" };
            return Err(PyTypeError::new_err(format!(
                "an array of dtype {dtype} holds no numbers: use integers, floats or complex numbers{remedy}"
            )));
        }
    };
    let whole = matches!(kind.as_str(), "b" | "i" | "u") || data.is_instance_of::<PyInt>();
    Ok(Array { values, shape, whole })
}

/// The refusal of an integer that no double holds.
fn too_wide(py: Python<'_>) -> PyErr {
    exception(
        py,
        "DataError",
        "an integer is beyond double precision, which ends at 1.8e308: scale the data down".to_owned(),
    )
}

/// NumPy makes objects of a list's integers beyond 64 bits: doubles instead, where every entry of the list is
/// a real number.
fn with_wide_integers<'py>(
    data: &Bound<'py, PyAny>,
    array: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let is_list = data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>();
    if !is_list || array.getattr("dtype")?.getattr("kind")?.extract::<String>()? != "O" {
        return Ok(array);
    }
    for entry in array.getattr("flat")?.try_iter()? {
        let entry = entry?;
        if !(entry.is_instance_of::<PyInt>() || entry.is_instance_of::<PyFloat>()) {
            return Ok(array);
        }
    }
    let error = match array.call_method1("astype", ("float64",)) {
        Ok(doubles) => return Ok(doubles),
        Err(error) => error,
    };
    Err(if error.is_instance_of::<PyOverflowError>(py) { too_wide(py) } else { error })
}

fn copy<T: Element + Copy>(
    numpy: &Bound<'_, PyModule>,
    array: &Bound<'_, PyAny>,
    dtype: &str,
) -> PyResult<Vec<T>> {
    let dense = numpy.call_method1("require", (array, dtype, ["C", "A"]))?;
    let dense = dense.cast::<PyArrayDyn<T>>()?.try_readonly()?;
    Ok(dense.as_slice()?.to_vec())
}

/// Whether `data` is an array, or a list, of an integer type.
///
/// # Errors
/// Those of importing NumPy; what NumPy cannot read is of no integer type.
pub fn is_whole(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let array = data.py().import("numpy")?.call_method1("asarray", (data,));
    let kind = array.and_then(|array| array.getattr("dtype")?.getattr("kind")?.extract::<String>());
    Ok(kind.is_ok_and(|kind| matches!(kind.as_str(), "b" | "i" | "u")))
}

/// A real matrix: values row-major, rows, columns.
///
/// # Errors
/// Those of [`array`]; `TypeError` for complex entries; `ShapeError` unless two axes.
pub fn matrix(data: &Bound<'_, PyAny>, right: &[usize]) -> PyResult<(Vec<f64>, usize, usize)> {
    let Array { values, shape, .. } = array(data)?;
    let Values::Real(values) = values else {
        return Err(PyTypeError::new_err(
            "the plain matrix of a product is real: multiply by its real and imaginary part in turn",
        ));
    };
    let [rows, columns] = shape[..] else {
        let remedy = "the left operand is a matrix; for a vector use `w[None, :] @ ct`".to_owned();
        let error =
            CkksError::Shape { operation: "a matrix product", left: shape, right: right.to_vec(), remedy };
        return Err(raise(data.py(), error));
    };
    Ok((values, rows, columns))
}

/// A new NumPy array of `shape`.
pub fn to_numpy<'py>(py: Python<'py>, values: Values, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let flat = match values {
        Values::Real(values) => PyArray1::from_vec(py, values).into_any(),
        Values::Complex(values) => PyArray1::from_vec(py, values).into_any(),
    };
    flat.call_method1("reshape", (PyTuple::new(py, shape)?,))
}

/// Whether `data` is something that an operator takes as numbers, or refuses by name, and not an object with
/// operators of its own.
pub fn is_numeric(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    if data.is_instance_of::<PyFloat>()
        || data.is_instance_of::<PyInt>()
        || data.is_instance_of::<PyComplex>()
    {
        return Ok(true);
    }
    if data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>() {
        return Ok(true);
    }
    Ok(data.hasattr("__array__")? || Library::of(data).is_some())
}

impl Array {
    /// The values repeated to `shape` by NumPy's rules.
    ///
    /// # Errors
    /// `ShapeError` where they do not fit, or where the result would be larger than `shape`.
    pub fn broadcast(self, py: Python<'_>, shape: &[usize], operation: &'static str) -> PyResult<Values> {
        if self.shape == shape {
            return Ok(self.values);
        }
        let fits = self.shape.len() <= shape.len()
            && self
                .shape
                .iter()
                .rev()
                .zip(shape.iter().rev())
                .all(|(&own, &wanted)| own == wanted || own == 1);
        if !fits {
            let remedy = format!(
                "the array must broadcast to the ciphertext's shape {shape:?}, which an operation keeps"
            );
            let error = CkksError::Shape { operation, left: shape.to_vec(), right: self.shape, remedy };
            return Err(raise(py, error));
        }
        let axis = |back: usize| self.shape.len().checked_sub(back).map_or(1, |i| self.shape[i]);
        let wanted = |back: usize| shape.len().checked_sub(back).map_or(1, |i| shape[i]);
        let (row_step, column_step) = (if axis(2) == 1 { 0 } else { axis(1) }, usize::from(axis(1) != 1));
        let columns = wanted(1);
        let index = (0..wanted(2))
            .flat_map(|row| (0..columns).map(move |column| row * row_step + column * column_step));
        Ok(match self.values {
            Values::Real(values) => Values::Real(index.map(|i| values[i]).collect()),
            Values::Complex(values) => Values::Complex(index.map(|i| values[i]).collect()),
        })
    }
}
