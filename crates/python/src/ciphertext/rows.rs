//! Rows and columns of encrypted matrices: indexing, and arrays one below the other.

use std::ops::Range;

use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::reductions::Axes;
use super::transposed::PyTransposed;
use crate::errors::raise;
use crate::run::detached;

impl PyCiphertext {
    /// The rows with these places and, of each, a range of its numbers; all where they are absent. A single
    /// row is a vector.
    fn picked(
        &self,
        py: Python<'_>,
        rows: Option<&[usize]>,
        single: bool,
        columns: Option<Range<usize>>,
    ) -> PyResult<Self> {
        let in_slots = self.data.encoding() == Encoding::Slots;
        // In slots, columns are picked by a product, and so is one of several rows that share a polynomial.
        let takes_product = in_slots && (columns.is_some() || self.data.layout().lanes > 1);
        let work = |evaluator: &Evaluator, x: &Ciphertext| {
            let width = x.layout().columns;
            let Some(rows) = rows else { return evaluator.select_columns(x, columns.unwrap_or(0..width)) };
            let picked = evaluator.select_rows(x, rows)?;
            let picked = match columns {
                Some(columns) if picked.awaits_rescale() && !x.awaits_rescale() => {
                    evaluator.select_columns(&evaluator.rescale(&picked)?, columns)?
                }
                Some(columns) => evaluator.select_columns(&picked, columns)?,
                None => picked,
            };
            if single { picked.into_vector() } else { Ok(picked) }
        };
        if takes_product { self.map_settled(py, work) } else { self.map(py, work) }
    }
}

#[pymethods]
impl PyCiphertext {
    fn pick(
        &self,
        py: Python<'_>,
        rows: Option<Vec<usize>>,
        single: bool,
        columns: Option<(usize, usize)>,
    ) -> PyResult<Self> {
        self.picked(py, rows.as_deref(), single, columns.map(|(start, end)| start..end))
    }

    fn pick_column(
        &self,
        py: Python<'_>,
        rows: Option<Vec<usize>>,
        single: bool,
        column: usize,
    ) -> PyResult<Self> {
        let rows = match rows {
            Some(rows) => self.picked(py, Some(&rows), single, None)?,
            None => self.again(py),
        };
        if single {
            return rows.pick_entry(py, column);
        }
        let one = rows.picked(py, None, false, Some(column..column + 1))?;
        // The sum of a single number is the number, and sums of rows are a vector.
        one.sum(py, Some(Axes::of(1)), false, None, None)
    }

    fn pick_entry(&self, py: Python<'_>, place: usize) -> PyResult<Self> {
        self.map_settled(py, |evaluator, x| evaluator.select_columns(x, place..place + 1))?.reshaped(py, &[])
    }

    fn pick_entries(&self, py: Python<'_>, entries: (usize, usize)) -> PyResult<Self> {
        let pick = |evaluator: &Evaluator, x: &Ciphertext| evaluator.select_columns(x, entries.0..entries.1);
        if self.data.encoding() == Encoding::Slots { self.map_settled(py, pick) } else { self.map(py, pick) }
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
    let parts = parts_of(parts, "vstack", "cl.vstack([x, y])")?;
    // Products stay as they are where all parts are products.
    let products = parts.iter().all(|part| part.get().data.awaits_rescale());
    put_together(py, &parts, products, |evaluator, data| evaluator.concatenate(data))
}

#[pyfunction]
pub fn hstack(py: Python<'_>, parts: &Bound<'_, PyAny>) -> PyResult<PyCiphertext> {
    let parts = parts_of(parts, "hstack", "cl.hstack([x, y])")?;
    put_together(py, &parts, false, |evaluator, data| evaluator.join_columns(data))
}

#[pyfunction]
pub fn chosen(
    py: Python<'_>,
    selected: &PyCiphertext,
    x: &PyCiphertext,
    y: &PyCiphertext,
    share: f64,
) -> PyResult<PyCiphertext> {
    selected.map(py, |_, own| Ok(own.clone().as_chosen_from(&x.data, &y.data, share)))
}

/// What `work` makes of the parts, which are rescaled if they are products, unless `as_they_are`.
fn put_together(
    py: Python<'_>,
    parts: &[Bound<'_, PyCiphertext>],
    as_they_are: bool,
    work: impl FnOnce(&Evaluator, &[&Ciphertext]) -> Result<Ciphertext, CkksError> + Send,
) -> PyResult<PyCiphertext> {
    let holder = parts
        .iter()
        .map(|part| part.get())
        .find(|part| part.has_keys())
        .or_else(|| parts.first().map(|part| part.get()));
    let Some(holder) = holder else {
        return Err(raise(py, CkksError::NoTerms { operation: "a concatenation" }));
    };
    let evaluator = holder.evaluator();
    let settled = |part: &Bound<'_, PyCiphertext>| {
        let part = part.get();
        if as_they_are { Ok(part.data.clone()) } else { part.settled(py, &evaluator) }
    };
    let settled = parts.iter().map(settled).collect::<PyResult<Vec<_>>>()?;
    let data: Vec<&Ciphertext> = settled.iter().map(|part| &**part).collect();
    let whole = detached(py, || work(&evaluator, &data))?;
    holder.beside(py, whole)
}
