//! NumPy arrays in and out.
//!
//! Data is copied once on the way in, under the interpreter lock, into row-major double precision: what the
//! caller does to the array afterwards, or another thread during the call, changes nothing.

use clathrate_ckks::CkksError;
use clathrate_ckks::encrypted_array::{EncryptedArray, PlainArray, PlainInput};
use clathrate_ckks::keys::Values;
use numpy::{Complex64, Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyTuple};

use crate::errors::raise;

/// Numbers with a shape.
pub struct Array {
    pub values: Values,
    pub shape: Vec<usize>,
    /// Whether the numbers are of an integer type.
    pub whole: bool,
    /// The plain input of a program that they stand for.
    pub input: Option<PlainInput>,
}

// What stands for a plain input while a function is recorded. It has a shape, and numbers that nobody reads.
#[pyclass(frozen, module = "clathrate._native", name = "PlainSymbol")]
pub struct PyPlainSymbol {
    pub numbers: PlainArray,
}

#[pymethods]
impl PyPlainSymbol {
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.numbers.shape().to_vec()
    }
}

/// The error where numbers of a plain input are read.
pub fn no_numbers() -> PyErr {
    PyTypeError::new_err(
        "a plain input of a program has no numbers while the program is compiled: use it as it is, in that program, with an operator and an encrypted \
         array (`x * w`, `x + w`, `w @ x`), and make what is computed from plain numbers alone an input of its own",
    )
}

/// The plain input that `data` stands for.
pub fn plain_symbol<'a, 'py>(data: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyPlainSymbol>> {
    data.cast::<PyPlainSymbol>().ok()
}

/// The numbers of an operand of `x`: those of [`array`], or, where operations on `x` are recorded, a plain
/// input of a program.
///
/// # Errors
/// As [`array`].
pub fn operand_array(data: &Bound<'_, PyAny>, x: &EncryptedArray) -> PyResult<Array> {
    let symbol = plain_symbol(data).filter(|_| x.is_recorded());
    let Some(symbol) = symbol else { return array(data) };
    let numbers = &symbol.get().numbers;
    let (values, shape) = (numbers.values().clone(), numbers.shape().to_vec());
    Ok(Array { values, shape, whole: false, input: numbers.input })
}

/// Plain numbers, as `clathrate._reading` hands them over: one of Python's numbers, or a NumPy array of a
/// numeric type in any order, strides and byte order.
///
/// # Errors
/// `TypeError` for anything else, and for plain inputs of programs, which have no numbers yet.
pub fn array(data: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = data.py();
    if plain_symbol(data).is_some() {
        return Err(no_numbers());
    }
    let whole = data.is_instance_of::<PyInt>();
    let number = |values| Array { values, shape: Vec::new(), whole, input: None };
    if let Ok(value) = data.cast::<PyComplex>() {
        return Ok(number(Values::Complex(vec![Complex64::new(value.real(), value.imag())])));
    }
    if data.is_instance_of::<PyFloat>() || data.is_instance_of::<PyInt>() {
        return Ok(number(Values::Real(vec![data.extract()?])));
    }
    let numpy = py.import("numpy")?;
    let (kind, shape) = (kind(data)?, shape(data)?);
    let values = match kind.as_str() {
        "c" => Values::Complex(copy::<Complex64>(&numpy, data, "complex128")?),
        _ => Values::Real(copy::<f64>(&numpy, data, "float64")?),
    };
    Ok(Array { values, shape, whole: is_whole(data)?, input: None })
}

/// The kind of an array's type of numbers, in NumPy's letters.
fn kind(array: &Bound<'_, PyAny>) -> PyResult<String> {
    if plain_symbol(array).is_some() {
        return Ok("f".to_owned());
    }
    array.getattr("dtype")?.getattr("kind")?.extract()
}

/// The lengths of the axes of plain numbers; none of one number.
///
/// # Errors
/// Those of reading NumPy's attributes.
pub fn shape(data: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    if is_array(data) { data.getattr("shape")?.extract() } else { Ok(Vec::new()) }
}

/// Whether `data` is one of Python's numbers.
pub fn is_number(data: &Bound<'_, PyAny>) -> bool {
    data.is_instance_of::<PyFloat>() || data.is_instance_of::<PyInt>() || data.is_instance_of::<PyComplex>()
}

/// Whether plain numbers are an array, and not a single one.
pub fn is_array(data: &Bound<'_, PyAny>) -> bool {
    data.cast::<PyUntypedArray>().is_ok() || plain_symbol(data).is_some()
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

/// Whether plain numbers are of an integer type.
///
/// # Errors
/// Those of reading NumPy's attributes.
pub fn is_whole(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(data.is_instance_of::<PyInt>() || (is_array(data) && matches!(kind(data)?.as_str(), "b" | "i" | "u")))
}

/// Refuses complex numbers and other than two axes; the numbers of rows and columns. `right` is the shape of
/// the right factor.
///
/// # Errors
/// `TypeError`, `ShapeError`.
pub fn matrix_shape(data: &Bound<'_, PyAny>, right: &[usize]) -> PyResult<(usize, usize)> {
    if data.is_instance_of::<PyComplex>() || (is_array(data) && kind(data)? == "c") {
        return Err(PyTypeError::new_err(
            "the plain matrix of a product is real: multiply by its real and imaginary part in turn",
        ));
    }
    let left = shape(data)?;
    let [rows, columns] = left[..] else {
        let remedy = match (data.is_instance_of::<PyPlainSymbol>(), &left[..]) {
            (true, [count]) => format!(
                "the left operand is a matrix; for a vector declare the input as one row, `cl.Input((1, {count}), .., plain=True)`"
            ),
            _ => "the left operand is a matrix; for a vector use `w[None, :] @ ct`".to_owned(),
        };
        let error = CkksError::Shape { operation: "a matrix product", left, right: right.to_vec(), remedy };
        return Err(raise(data.py(), error));
    };
    Ok((rows, columns))
}

/// A real matrix: values row-major, rows, columns.
///
/// # Errors
/// Those of [`array`] and [`matrix_shape`].
pub fn matrix(data: &Bound<'_, PyAny>, right: &[usize]) -> PyResult<(Vec<f64>, usize, usize)> {
    let (rows, columns) = matrix_shape(data, right)?;
    let values = match plain_symbol(data) {
        Some(symbol) => symbol.get().numbers.values().clone(),
        None => array(data)?.values,
    };
    let values = values.into_real().map_err(|error| raise(data.py(), error))?;
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

impl Array {
    /// The numbers without their type.
    pub fn plain(self) -> PlainArray {
        PlainArray::new(self.values, self.shape).of_input(self.input)
    }
}
