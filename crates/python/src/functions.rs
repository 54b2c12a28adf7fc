//! Functions of encrypted arrays and of plain ones, approximated to an error.

use clathrate_ckks::CkksError;
use clathrate_ckks::circuits::linear::Convolution;
use clathrate_ckks::encrypted_array::{EncryptedArray, Operand};
use clathrate_ckks::functions::{SmoothFunction, plain};
use clathrate_ckks::keys::Values;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Array, array, operand_array, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::raise;
use crate::numbers::{Real, Whole};
use crate::run::detached;

/// A function of one array: `encrypted` of a ciphertext, `plain` of numbers with a shape.
fn of_one<'py>(
    x: &Bound<'py, PyAny>,
    encrypted: impl FnOnce(&EncryptedArray) -> Result<EncryptedArray, CkksError> + Send,
    plain: impl FnOnce(&Values, &[usize]) -> Result<Vec<f64>, CkksError> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    if let Ok(ciphertext) = x.cast::<PyCiphertext>() {
        return Ok(Bound::new(py, ciphertext.get().compute(py, encrypted)?)?.into_any());
    }
    let Array { values, shape, .. } = array(x)?;
    let results = detached(py, || plain(&values, &shape))?;
    numbers(py, results, &shape)
}

/// A new NumPy array, or one number.
fn numbers<'py>(py: Python<'py>, values: Vec<f64>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let result = to_numpy(py, Values::Real(values), shape)?;
    if shape.is_empty() { result.get_item(PyTuple::empty(py)) } else { Ok(result) }
}

fn interval((low, high): (Real, Real)) -> (f64, f64) {
    (low.0, high.0)
}

#[pyfunction]
pub fn smooth<'py>(
    name: &str,
    x: &Bound<'py, PyAny>,
    error: Option<Real>,
    domain: Option<(Real, Real)>,
) -> PyResult<Bound<'py, PyAny>> {
    let function = SmoothFunction::named(name).map_err(|error| raise(x.py(), error))?;
    let (error, domain) = (Real::given(error), domain.map(interval));
    of_one(x, |x| x.smooth(function, error, domain), |x, _| plain::smooth(function, x, error, domain))
}

#[pyfunction]
pub fn convolved<'py>(
    x: &Bound<'py, PyAny>,
    kernel: &Bound<'py, PyAny>,
    stride: (usize, usize),
    padding: (usize, usize),
    dilation: (usize, usize),
    groups: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let (stride, padding, dilation) = (stride.into(), padding.into(), dilation.into());
    let convolution = Convolution { stride, padding, dilation, groups };
    if let Ok(ciphertext) = x.cast::<PyCiphertext>() {
        let kernel = operand_array(kernel, &ciphertext.get().array)?.plain();
        let result = ciphertext.get().compute(py, |x| x.convolved(&kernel, convolution))?;
        return Ok(Bound::new(py, result)?.into_any());
    }
    let (images, kernel) = (array(x)?.plain(), array(kernel)?.plain());
    let (values, shape) =
        detached(py, || convolution.of_numbers((images.values(), images.shape()), kernel.kernel()))?;
    to_numpy(py, values, &shape)
}

#[pyfunction]
pub fn sign<'py>(
    x: &Bound<'py, PyAny>,
    margin: Real,
    error: Option<Real>,
    bound: Option<Real>,
) -> PyResult<Bound<'py, PyAny>> {
    let (margin, error, bound) = (margin.0, Real::given(error), Real::given(bound));
    of_one(x, |x| x.sign(margin, error, bound), |x, _| plain::sign(x, margin, error, bound))
}

#[pyfunction]
pub fn absolute<'py>(
    x: &Bound<'py, PyAny>,
    error: Option<Real>,
    bound: Option<Real>,
) -> PyResult<Bound<'py, PyAny>> {
    let (error, bound) = (Real::given(error), Real::given(bound));
    of_one(x, |x| x.absolute(error, bound), |x, _| plain::absolute(x, error, bound))
}

#[pyfunction]
pub fn relu<'py>(
    x: &Bound<'py, PyAny>,
    error: Option<Real>,
    bound: Option<Real>,
) -> PyResult<Bound<'py, PyAny>> {
    let (error, bound) = (Real::given(error), Real::given(bound));
    of_one(x, |x| x.relu(error, bound), |x, _| plain::relu(x, error, bound))
}

#[pyfunction]
pub fn maximum<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    error: Option<Real>,
    bound: Option<Real>,
) -> PyResult<Bound<'py, PyAny>> {
    let (error, bound) = (Real::given(error), Real::given(bound));
    of_two(x, y, |x, y| x.maximum(y, error, bound), |x, y| plain::maximum(x, y, error, bound))
}

#[pyfunction]
pub fn minimum<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    error: Option<Real>,
    bound: Option<Real>,
) -> PyResult<Bound<'py, PyAny>> {
    let (error, bound) = (Real::given(error), Real::given(bound));
    of_two(x, y, |x, y| x.minimum(y, error, bound), |x, y| plain::minimum(x, y, error, bound))
}

/// A function of two arrays that does not depend on their order: `encrypted` where one is a ciphertext, and
/// `plain` of numbers, which have one shape.
fn of_two<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    encrypted: impl FnOnce(&EncryptedArray, Operand<'_>) -> Result<EncryptedArray, CkksError> + Send,
    plain: impl FnOnce(&Values, &Values) -> Result<Vec<f64>, CkksError> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let own = [(x, y), (y, x)].into_iter().find_map(|(x, y)| Some((x.cast::<PyCiphertext>().ok()?, y)));
    if let Some((own, other)) = own {
        return Ok(Bound::new(py, own.get().operate(py, other, encrypted)?)?.into_any());
    }
    let (x, y) = (array(x)?, array(y)?);
    let results = detached(py, || plain(&x.values, &y.values))?;
    numbers(py, results, &x.shape)
}

#[pyfunction]
pub fn softmax<'py>(
    x: &Bound<'py, PyAny>,
    error: Option<Real>,
    bound: Option<Real>,
) -> PyResult<Bound<'py, PyAny>> {
    let (error, bound) = (Real::given(error), Real::given(bound));
    of_one(x, |x| x.softmax(error, bound), |x, shape| plain::softmax(x, shape.last().copied(), error, bound))
}

#[pyfunction]
pub fn std(
    py: Python<'_>,
    x: &PyCiphertext,
    axis: Option<Whole>,
    ddof: Whole,
    keepdims: bool,
    error: Option<Real>,
    domain: (Real, Real),
) -> PyResult<PyCiphertext> {
    let axis = axis.map(|Whole(axis)| [axis]);
    let axes = axis.as_ref().map(|axis| &axis[..]);
    x.compute(py, |x| x.std(axes, ddof.0, keepdims, Real::given(error), interval(domain)))
}

#[pyfunction]
pub fn norm(
    py: Python<'_>,
    x: &PyCiphertext,
    axis: Option<Whole>,
    keepdims: bool,
    error: Option<Real>,
    domain: (Real, Real),
) -> PyResult<PyCiphertext> {
    let axis = axis.map(|Whole(axis)| [axis]);
    let axes = axis.as_ref().map(|axis| &axis[..]);
    x.compute(py, |x| x.norm(axes, keepdims, Real::given(error), interval(domain)))
}

// The last step of `std` and `norm` of plain numbers.
#[pyfunction]
pub fn root_of_squares<'py>(
    squares: &Bound<'py, PyAny>,
    error: Option<Real>,
    domain: (Real, Real),
) -> PyResult<Bound<'py, PyAny>> {
    let py = squares.py();
    let (Array { values, shape, .. }, error) = (array(squares)?, Real::given(error));
    let roots = detached(py, || plain::root_of_squares(&values, error, interval(domain)))?;
    numbers(py, roots, &shape)
}
