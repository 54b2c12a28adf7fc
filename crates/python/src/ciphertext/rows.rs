//! Rows of encrypted matrices: indexing, and arrays one below the other.

use clathrate_ckks::{Ciphertext, CkksError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};

use super::object::PyCiphertext;
use super::transposed::PyTransposed;
use crate::errors::raise;
use crate::run::detached;

/// What a row index stands for.
struct Selection {
    rows: Vec<usize>,
    /// Whether the index is one integer, so that the result is a vector.
    single: bool,
}

/// Resolves an index of rows as NumPy does.
fn selection(py: Python<'_>, count: usize, index: &Bound<'_, PyAny>) -> PyResult<Selection> {
    let numpy = py.import("numpy")?;
    let picked = numpy.call_method1("arange", (count,))?.get_item(index)?;
    let single = picked.getattr("ndim")?.extract::<usize>()? == 0;
    let rows = numpy.call_method1("atleast_1d", (picked,))?;
    if rows.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(PyTypeError::new_err("rows are picked by an integer, a slice, or a list of integers or booleans"));
    }
    Ok(Selection { rows: rows.call_method0("tolist")?.extract()?, single })
}

/// Whether an index takes everything: `:` or `...`.
fn takes_all(index: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(slice) = index.cast::<PySlice>() else { return Ok(index.is_instance_of::<PyEllipsis>()) };
    let absent = |name: &str| Ok::<_, PyErr>(slice.getattr(name)?.is_none());
    Ok(absent("start")? && absent("stop")? && absent("step")?)
}

/// The index of one axis of two, where the other axis is taken whole.
fn index_of<'py>(index: &Bound<'py, PyAny>, axis: usize, refusal: &'static str) -> PyResult<Bound<'py, PyAny>> {
    let parts: Vec<Bound<'py, PyAny>> = match index.cast::<PyTuple>() {
        Ok(parts) => parts.iter().collect(),
        Err(_) => vec![index.clone()],
    };
    let whole = PySlice::full(index.py()).into_any();
    let part = |axis: usize| parts.get(axis).cloned().unwrap_or_else(|| whole.clone());
    if parts.len() > 2 || !takes_all(&part(1 - axis))? {
        return Err(PyTypeError::new_err(refusal));
    }
    Ok(part(axis))
}

impl PyCiphertext {
    fn rows(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let &[count, _] = self.data.shape() else {
            return Err(PyTypeError::new_err(
                "the entries of a vector are encrypted together and cannot be picked: decrypt it first, or encrypt a matrix of one column",
            ));
        };
        let Selection { rows, single } = selection(py, count, index)?;
        self.map(py, |evaluator, x| {
            let picked = evaluator.select_rows(x, &rows)?;
            if single { picked.into_vector() } else { Ok(picked) }
        })
    }
}

#[pymethods]
impl PyCiphertext {
    fn __getitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let refusal = "the entries of a row are encrypted together and cannot be picked: encrypt the transposed matrix, whose `.T[:, columns]` picks columns";
        self.rows(py, &index_of(index, 0, refusal)?)
    }
}

#[pymethods]
impl PyTransposed {
    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let refusal =
            "the entries of a column are encrypted together and cannot be picked: take columns, `view[:, columns]`, or `to_rows()`";
        let columns = Bound::new(py, self.base.get().rows(py, &index_of(index, 1, refusal)?)?)?;
        columns.getattr("T")
    }
}

/// Encrypted arrays one below the other, as `numpy.vstack`: a vector is one row. Nothing is computed.
///
/// Parameters
/// ----------
/// parts : sequence of Ciphertext
///     Matrices with as many columns, and vectors of that length, encrypted alike.
///
/// Returns
/// -------
/// Ciphertext
///     The matrix of all rows, at the lowest level of the parts.
///
/// Raises
/// ------
/// ShapeError
///     Where the lengths of rows differ, or rows share a mask or a polynomial.
/// WrongParamsError
///     Where parts have different parameters.
/// WrongSecretError
///     Where parts belong to different secrets.
/// ScaleError
///     Where parts have different scales.
///
/// Examples
/// --------
/// >>> x, y = secret_key.encrypt([1.0, 2.0]), secret_key.encrypt([3.0, 4.0])
/// >>> secret_key.decrypt(cl.vstack([x, y])).round(4)
/// array([[1., 2.],
///        [3., 4.]])
#[pyfunction]
pub fn vstack(py: Python<'_>, parts: Vec<Bound<'_, PyCiphertext>>) -> PyResult<PyCiphertext> {
    let holder = parts.iter().map(|part| part.get()).find(|part| part.has_keys()).or_else(|| parts.first().map(|part| part.get()));
    let Some(holder) = holder else { return Err(raise(py, CkksError::NoTerms { operation: "a concatenation" })) };
    let data: Vec<&Ciphertext> = parts.iter().map(|part| &*part.get().data).collect();
    let evaluator = holder.evaluator();
    let whole = detached(py, || evaluator.concatenate(&data))?;
    holder.beside(py, whole)
}
