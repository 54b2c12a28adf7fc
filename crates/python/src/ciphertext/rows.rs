//! Rows and columns of encrypted matrices: indexing, and arrays one below the other.

use clathrate_ckks::CkksError;
use clathrate_ckks::encrypted_array::{EncryptedArray, Subscripts};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::transposed::PyTransposed;
use crate::errors::raise;

#[pymethods]
impl PyCiphertext {
    fn pick(
        &self,
        py: Python<'_>,
        rows: Option<Vec<usize>>,
        single: bool,
        columns: Option<(usize, usize)>,
    ) -> PyResult<Self> {
        self.compute(py, |x| x.pick(rows.as_deref(), single, columns.map(|(start, end)| start..end)))
    }

    fn pick_column(
        &self,
        py: Python<'_>,
        rows: Option<Vec<usize>>,
        single: bool,
        column: usize,
    ) -> PyResult<Self> {
        self.compute(py, |x| x.pick_column(rows.as_deref(), single, column))
    }

    fn pick_entry(&self, py: Python<'_>, place: usize) -> PyResult<Self> {
        self.compute(py, |x| x.pick_entry(place))
    }

    fn pick_entries(&self, py: Python<'_>, entries: (usize, usize)) -> PyResult<Self> {
        self.compute(py, |x| x.pick_entries(entries.0..entries.1))
    }

    fn gathered(&self, py: Python<'_>, shape: Vec<usize>, sources: Vec<Option<usize>>) -> PyResult<Self> {
        self.compute(py, |x| x.gathered(&shape, &sources))
    }

    fn einsum(&self, py: Python<'_>, other: &Bound<'_, Self>, subscripts: &str) -> PyResult<Self> {
        let subscripts = Subscripts::new(subscripts).map_err(|error| raise(py, error))?;
        self.join(py, other.get(), |x, y| x.einsum(y, &subscripts))
    }

    fn mapped(
        &self,
        py: Python<'_>,
        shape: Vec<usize>,
        sources: Vec<usize>,
        factors: Vec<f64>,
    ) -> PyResult<Self> {
        self.compute(py, |x| x.mapped(&shape, &sources, &factors))
    }

    fn permuted(&self, py: Python<'_>, axes: Vec<usize>) -> PyResult<Self> {
        self.compute(py, |x| x.permuted(&axes))
    }

    fn pad_columns(&self, py: Python<'_>, before: usize, after: usize) -> PyResult<Self> {
        self.compute(py, |x| x.pad_columns(before, after))
    }
}

/// The parts that the function `name` takes, each an encrypted array; `call` is an example.
pub(super) fn parts_of<'py>(
    parts: &Bound<'py, PyAny>,
    name: &str,
    call: &str,
) -> PyResult<Vec<Bound<'py, PyCiphertext>>> {
    let single = parts.is_instance_of::<PyCiphertext>() || parts.is_instance_of::<PyTransposed>();
    let items = match parts.try_iter() {
        Ok(items) if !single => items,
        _ => {
            let given = parts.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "{name} takes a list of ciphertexts, `{call}`, and a {given} was given"
            )));
        }
    };
    let part = |(index, item): (usize, PyResult<Bound<'py, PyAny>>)| {
        let item = item?;
        if let Ok(part) = item.cast::<PyCiphertext>() {
            return Ok(part.clone());
        }
        let remedy = if item.is_instance_of::<PyTransposed>() {
            "a view of a transposed matrix: take its rows by `x.T.to_rows()`, which switches keys".to_owned()
        } else {
            format!("a {}: encrypt it first", item.get_type().name()?)
        };
        Err(PyTypeError::new_err(format!("{name} takes ciphertexts, and part {index} is {remedy}")))
    };
    items.enumerate().map(part).collect()
}

#[pyfunction]
pub fn vstack(py: Python<'_>, parts: &Bound<'_, PyAny>) -> PyResult<PyCiphertext> {
    put_together(py, &parts_of(parts, "vstack", "cl.functions.vstack([x, y])")?, EncryptedArray::concatenate)
}

#[pyfunction]
pub fn hstack(py: Python<'_>, parts: &Bound<'_, PyAny>) -> PyResult<PyCiphertext> {
    put_together(py, &parts_of(parts, "hstack", "cl.functions.hstack([x, y])")?, EncryptedArray::join_columns)
}

/// What `work` makes of the parts.
fn put_together(
    py: Python<'_>,
    parts: &[Bound<'_, PyCiphertext>],
    work: fn(&[&EncryptedArray]) -> Result<EncryptedArray, CkksError>,
) -> PyResult<PyCiphertext> {
    let whole = PyCiphertext::gather(py, parts, work)?;
    beside_parts(py, parts, &whole)
}

/// A result of several arrays as Python's object.
pub(super) fn beside_parts(
    py: Python<'_>,
    parts: &[Bound<'_, PyCiphertext>],
    whole: &EncryptedArray,
) -> PyResult<PyCiphertext> {
    // An operation on no arrays has no result.
    let holder = PyCiphertext::holder_of(parts)
        .ok_or_else(|| raise(py, CkksError::Internal { operation: "an operation on several arrays" }))?;
    holder.beside(py, whole)
}

#[pyfunction]
pub fn chosen(
    py: Python<'_>,
    selected: &PyCiphertext,
    x: &PyCiphertext,
    y: &PyCiphertext,
    share: f64,
) -> PyResult<PyCiphertext> {
    selected.compute(py, |own| own.chosen_from(&x.array, &y.array, share))
}
