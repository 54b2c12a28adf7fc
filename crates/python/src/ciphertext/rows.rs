//! Rows and columns of encrypted matrices: indexing, and arrays one below the other.

use std::ops::Range;

use clathrate_arith::text::counted;
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PySlice, PyTuple};

use super::object::PyCiphertext;
use super::reductions::Axes;
use super::transposed::PyTransposed;
use crate::errors::raise;
use crate::run::detached;

/// What a row index stands for.
struct Selection {
    rows: Vec<usize>,
    /// Whether the index is one integer, so that the result is a vector.
    single: bool,
}

/// What the numbers of a row are called, for messages.
#[derive(Clone, Copy)]
enum Numbers {
    /// Those of a matrix.
    Columns,
    /// Those of a vector.
    Entries,
    /// Those of a matrix read by columns.
    ViewRows,
}

impl Numbers {
    const fn name(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Entries => "entries of a vector",
            Self::ViewRows => "rows of a view",
        }
    }

    /// The index of a range, or of a single place.
    fn index(self, text: &str) -> String {
        match self {
            Self::Columns => format!("x[:, {text}]"),
            Self::Entries => format!("x[{text}]"),
            Self::ViewRows => format!("x.T[{text}]"),
        }
    }

    /// How to pick several of them, of `count` in all, that are no range.
    fn others(self, count: usize, encoding: Encoding) -> String {
        let told = match self {
            Self::Columns if encoding == Encoding::Slots => {
                return format!(
                    "for others multiply with a selection, `x @ np.eye({count})[:, columns]`, by rotations and a level"
                );
            }
            Self::Entries if encoding == Encoding::Slots => {
                return format!(
                    "for others multiply with a selection, `np.eye({count})[index] @ x`, by rotations and a level"
                );
            }
            Self::Columns => {
                "for others encrypt the transposed matrix, whose `.T[:, columns]` picks any, or take `x.T.to_rows()[columns]`, which switches keys \
                 and has them as rows"
            }
            Self::Entries => {
                "for others take each as a range, `[x[i:i + 1] for i in index]`, and the list as a column, `cl.stack(...)`, or encrypt the vector in slots"
            }
            Self::ViewRows => "for others take `x.T.to_rows()[rows]`, which switches keys",
        };
        told.to_owned()
    }

    /// Refuses an index that is no range.
    fn refuse(self, index: &Bound<'_, PyAny>, count: usize, encoding: Encoding) -> PyErr {
        let (name, example) = (self.name(), self.index("2:5"));
        let text = match index.extract::<i64>() {
            Ok(place) if !index.is_instance_of::<PyBool>() => {
                let range = if place == -1 { "-1:".to_owned() } else { format!("{place}:{}", place + 1) };
                format!(
                    "{name} are picked as a range: `{}` instead of `{}`",
                    self.index(&range),
                    self.index(&place.to_string())
                )
            }
            _ => format!(
                "{name} are picked as one range without steps, such as `{example}`: {}",
                self.others(count, encoding)
            ),
        };
        PyTypeError::new_err(text)
    }

    /// Resolves an index as NumPy does; absent for everything.
    fn range(
        self,
        count: usize,
        index: &Bound<'_, PyAny>,
        encoding: Encoding,
    ) -> PyResult<Option<Range<usize>>> {
        if takes_all(index)? {
            return Ok(None);
        }
        let slice = index.cast::<PySlice>().map_err(|_| self.refuse(index, count, encoding))?;
        let resolved = slice.indices(count as isize)?;
        if resolved.step != 1 {
            return Err(self.refuse(index, count, encoding));
        }
        let start = resolved.start as usize;
        Ok(Some(start..start + resolved.slicelength))
    }
}

/// Resolves an index of rows as NumPy does.
fn selection(py: Python<'_>, count: usize, index: &Bound<'_, PyAny>) -> PyResult<Selection> {
    let numpy = py.import("numpy")?;
    let picked = numpy.call_method1("arange", (count,))?.get_item(index)?;
    let single = picked.getattr("ndim")?.extract::<usize>()? == 0;
    let rows = numpy.call_method1("atleast_1d", (picked,))?;
    if rows.getattr("ndim")?.extract::<usize>()? != 1 {
        return Err(PyTypeError::new_err(
            "rows are picked by an integer, a slice, or a list of integers or booleans",
        ));
    }
    Ok(Selection { rows: rows.call_method0("tolist")?.extract()?, single })
}

/// Whether an index takes everything: `:` or `...`.
fn takes_all(index: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(slice) = index.cast::<PySlice>() else { return Ok(index.is_instance_of::<PyEllipsis>()) };
    let absent = |name: &str| Ok::<_, PyErr>(slice.getattr(name)?.is_none());
    Ok(absent("start")? && absent("stop")? && absent("step")?)
}

/// The index of each of `axes` axes, `:` where it is not stated.
fn indices_of<'py>(index: &Bound<'py, PyAny>, axes: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let parts: Vec<Bound<'py, PyAny>> = match index.cast::<PyTuple>() {
        Ok(parts) => parts.iter().collect(),
        Err(_) => vec![index.clone()],
    };
    let dots = parts.iter().filter(|part| part.is_instance_of::<PyEllipsis>()).count();
    let stated = parts.len() - dots;
    if dots > 1 || stated > axes {
        return Err(PyTypeError::new_err(format!(
            "an index of {} for an array of {}: give at most one for each axis, and at most one `...`",
            counted(stated, "part"),
            counted(axes, "axis")
        )));
    }
    let whole = || std::iter::repeat_n(PySlice::full(index.py()).into_any(), axes - stated);
    let mut indices = Vec::with_capacity(axes);
    for part in parts {
        if part.is_instance_of::<PyEllipsis>() { indices.extend(whole()) } else { indices.push(part) }
    }
    if dots == 0 {
        indices.extend(whole());
    }
    Ok(indices)
}

/// An index without its new axes (`None`), and where new axes are among the axes that it leaves; absent where
/// it has none.
type WithNewAxes<'py> = Option<(Bound<'py, PyAny>, Vec<bool>)>;

fn new_axes<'py>(index: &Bound<'py, PyAny>, axes: usize) -> PyResult<WithNewAxes<'py>> {
    let parts: Vec<Bound<'py, PyAny>> = match index.cast::<PyTuple>() {
        Ok(parts) => parts.iter().collect(),
        Err(_) => vec![index.clone()],
    };
    if !parts.iter().any(|part| part.is_none()) {
        return Ok(None);
    }
    let is_dots = |part: &Bound<'_, PyAny>| part.is_instance_of::<PyEllipsis>();
    let stated = parts.iter().filter(|part| !part.is_none() && !is_dots(part)).count();
    let unstated = axes.saturating_sub(stated);
    let mut left = Vec::new();
    for part in &parts {
        match part {
            part if part.is_none() => left.push(true),
            part if is_dots(part) => left.extend(std::iter::repeat_n(false, unstated)),
            // A place takes its axis away.
            part if part.extract::<i64>().is_ok() && !part.is_instance_of::<PyBool>() => {}
            _ => left.push(false),
        }
    }
    if !parts.iter().any(is_dots) {
        left.extend(std::iter::repeat_n(false, unstated));
    }
    let bare: Vec<Bound<'py, PyAny>> = parts.into_iter().filter(|part| !part.is_none()).collect();
    let bare = PyTuple::new(index.py(), bare)?;
    Ok(Some((bare.into_any(), left)))
}

impl PyCiphertext {
    /// The rows and, of each, the numbers that two indices pick.
    fn picked(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        columns: &Bound<'_, PyAny>,
        numbers: Numbers,
    ) -> PyResult<Self> {
        let &[count, width] = self.data.shape() else {
            return Err(PyTypeError::new_err("rows are those of a matrix"));
        };
        let columns = numbers.range(width, columns, self.data.encoding())?;
        let rows = if takes_all(rows)? { None } else { Some(selection(py, count, rows)?) };
        let columns_picked = columns.is_some();
        if rows.is_none() && columns.is_none() {
            return Ok(self.again(py));
        }
        let work = |evaluator: &Evaluator, x: &Ciphertext| {
            let Some(Selection { rows, single }) = &rows else {
                return evaluator.select_columns(x, columns.unwrap_or(0..width));
            };
            let picked = evaluator.select_rows(x, rows)?;
            let picked = match columns {
                Some(columns) if picked.awaits_rescale() && !x.awaits_rescale() => {
                    evaluator.select_columns(&evaluator.rescale(&picked)?, columns)?
                }
                Some(columns) => evaluator.select_columns(&picked, columns)?,
                None => picked,
            };
            if *single { picked.into_vector() } else { Ok(picked) }
        };
        // In slots, columns are picked by a product, and so is one of several rows that share a polynomial.
        let in_slots = self.data.encoding() == Encoding::Slots;
        let takes_product = in_slots && (columns_picked || self.data.layout().lanes > 1);
        if takes_product { self.map_settled(py, work) } else { self.map(py, work) }
    }

    /// The column in slots that an integer picks; absent for other indices.
    fn column(&self, width: usize, index: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        if self.data.encoding() != Encoding::Slots || index.is_instance_of::<PyBool>() {
            return Ok(None);
        }
        let Ok(place) = index.extract::<isize>() else { return Ok(None) };
        let from_front = if place < 0 { place.saturating_add(width as isize) } else { place };
        match usize::try_from(from_front).ok().filter(|&place| place < width) {
            Some(place) => Ok(Some(place)),
            None => Err(PyIndexError::new_err(format!(
                "column {place} is out of bounds for {width} columns, counted from 0"
            ))),
        }
    }

    /// The numbers of one column in the rows that an index picks: a vector, or a single number of one row.
    fn numbers_of_column(&self, py: Python<'_>, rows: &Bound<'_, PyAny>, column: usize) -> PyResult<Self> {
        let (all, range) = (
            PySlice::full(py).into_any(),
            PySlice::new(py, column as isize, column as isize + 1, 1).into_any(),
        );
        let picked = self.picked(py, rows, &all, Numbers::Columns)?;
        if let &[_] = picked.data.shape() {
            return picked
                .map_settled(py, |evaluator, x| evaluator.select_columns(x, column..column + 1))?
                .reshaped(py, &[]);
        }
        let one = picked.picked(py, &all, &range, Numbers::Columns)?;
        // The sum of a single number is the number, and sums of rows are a vector.
        one.sum(py, Some(Axes::of(1)), false, None, None)
    }

    /// The entry of a vector in slots that an integer picks, as a single number; absent for other indices.
    fn entry(&self, py: Python<'_>, count: usize, index: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if self.data.encoding() != Encoding::Slots || index.is_instance_of::<PyBool>() {
            return Ok(None);
        }
        let Ok(place) = index.extract::<isize>() else { return Ok(None) };
        let from_front = if place < 0 { place.saturating_add(count as isize) } else { place };
        let Some(place) = usize::try_from(from_front).ok().filter(|&place| place < count) else {
            let message =
                format!("index {place} is out of bounds for a vector of {count} numbers, counted from 0");
            return Err(PyIndexError::new_err(message));
        };
        self.map_settled(py, |evaluator, x| evaluator.select_columns(x, place..place + 1))?
            .reshaped(py, &[])
            .map(Some)
    }
}

#[pymethods]
impl PyCiphertext {
    fn __getitem__(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let axes = self.data.shape().len();
        if let Some((bare, new)) = new_axes(index, axes)? {
            let picked = self.__getitem__(py, &bare)?;
            let mut lengths = picked.data.shape().iter();
            let shape: Vec<usize> =
                new.iter().map(|&new| if new { 1 } else { lengths.next().copied().unwrap_or(1) }).collect();
            return picked.reshaped(py, &shape);
        }
        let indices = indices_of(index, axes)?;
        match (&indices[..], self.data.shape()) {
            ([rows, columns], &[_, width]) => match self.column(width, columns)? {
                Some(column) => self.numbers_of_column(py, rows, column),
                None => self.picked(py, rows, columns, Numbers::Columns),
            },
            ([rows, columns], _) => self.picked(py, rows, columns, Numbers::Columns),
            ([entries], &[count]) => {
                if let Some(entry) = self.entry(py, count, entries)? {
                    return Ok(entry);
                }
                match Numbers::Entries.range(count, entries, self.data.encoding())? {
                    None => Ok(self.again(py)),
                    Some(range) if self.data.encoding() == Encoding::Slots => {
                        self.map_settled(py, |evaluator, x| evaluator.select_columns(x, range))
                    }
                    Some(range) => self.map(py, |evaluator, x| evaluator.select_columns(x, range)),
                }
            }
            _ => Ok(self.again(py)),
        }
    }
}

#[pymethods]
impl PyTransposed {
    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let indices = indices_of(index, 2)?;
        let [rows, columns] = &indices[..] else { return Err(PyTypeError::new_err("a view has two axes")) };
        let picked = Bound::new(py, self.base.get().picked(py, columns, rows, Numbers::ViewRows)?)?;
        picked.getattr("T")
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
