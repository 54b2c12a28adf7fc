//! Which number of an array sits where, and the arguments of an encryption that choose it.

use std::hash::{DefaultHasher, Hash, Hasher};

use clathrate_ckks::arrays::Place;
use clathrate_ckks::arrays::layout::MAX_BODIES;
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::{BodyAxis, Lanes, Layout, Order, Padding};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::{exception, out_of_range, raise};
use crate::numbers::Whole;

/// The axis that runs over the bodies of a mask, by its name in Python.
///
/// # Errors
/// `DataError` for another name.
pub fn body_axis(py: Python<'_>, axis: Option<&str>) -> PyResult<Option<BodyAxis>> {
    Ok(match axis {
        None => None,
        Some("rows") => Some(BodyAxis::Rows),
        Some("chunks") => Some(BodyAxis::Chunks),
        Some(other) => {
            return Err(out_of_range(
                py,
                "`axis`",
                format!("\"{other}\""),
                "use \"rows\", \"chunks\" or None",
            ));
        }
    })
}

/// A number of bodies under one mask.
///
/// # Errors
/// `DataError` unless there are 1 to [`MAX_BODIES`].
pub fn body_count(py: Python<'_>, what: &'static str, bodies: Whole) -> PyResult<usize> {
    let count = usize::try_from(bodies.0).ok().filter(|count| (1..=MAX_BODIES).contains(count));
    count.ok_or_else(|| {
        out_of_range(py, what, bodies.0, format!("use 1 to {MAX_BODIES} bodies under one mask"))
    })
}

/// How many rows share a polynomial, as Python gives it: a number or "most".
pub enum LaneCount {
    Number(Whole),
    Name(String),
}

impl<'a, 'py> FromPyObject<'a, 'py> for LaneCount {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = data.extract::<String>() {
            return Ok(Self::Name(name));
        }
        let refused = |_| PyTypeError::new_err("`lanes` is a whole number or \"most\"");
        data.extract::<Whole>().map(Self::Number).map_err(refused)
    }
}

impl LaneCount {
    fn lanes(self, py: Python<'_>) -> PyResult<Lanes> {
        let refused = |value: String| out_of_range(py, "`lanes`", value, "use a power of two or \"most\"");
        match self {
            Self::Number(Whole(count)) => {
                usize::try_from(count).map(Lanes::Of).map_err(|_| refused(count.to_string()))
            }
            Self::Name(name) if name == "most" => Ok(Lanes::Most),
            Self::Name(name) => Err(refused(format!("\"{name}\""))),
        }
    }
}

/// The choices of an encryption that say where numbers are placed.
pub struct Placing<'a> {
    pub bodies: Option<Whole>,
    pub axis: Option<&'a str>,
    pub capacity: Option<Whole>,
    pub lanes: Option<LaneCount>,
    pub copies: Option<Whole>,
    pub order: &'a str,
}

impl Placing<'_> {
    /// `options` with these choices.
    ///
    /// # Errors
    /// `DataError` for a number of bodies, an axis, a capacity, lanes, copies or an order that does not
    /// exist.
    pub fn apply(self, py: Python<'_>, options: EncryptOptions) -> PyResult<EncryptOptions> {
        let capacity = |Whole(capacity)| {
            let remedy = "use a power of two, at most the slots, coefficients or pairs of coefficients of a polynomial";
            usize::try_from(capacity).map_err(|_| out_of_range(py, "`capacity`", capacity, remedy))
        };
        let copies = |Whole(copies)| {
            let remedy = "use a power of two, 1 in coefficients";
            usize::try_from(copies).map_err(|_| out_of_range(py, "`copies`", copies, remedy))
        };
        let order = match self.order {
            "natural" => Order::Natural,
            "bit-reversed" => Order::BitReversed,
            other => {
                return Err(out_of_range(
                    py,
                    "`order`",
                    format!("\"{other}\""),
                    "use \"natural\" or \"bit-reversed\"",
                ));
            }
        };
        Ok(EncryptOptions {
            bodies: self.bodies.map(|bodies| body_count(py, "`bodies`", bodies)).transpose()?,
            axis: body_axis(py, self.axis)?,
            capacity: self.capacity.map(capacity).transpose()?,
            lanes: self.lanes.map(|lanes| lanes.lanes(py)).transpose()?,
            copies: self.copies.map(copies).transpose()?,
            order,
            ..options
        })
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "Layout")]
pub struct PyLayout {
    layout: Layout,
}

/// The layout that [`PyLayout::to_json`] wrote.
///
/// # Errors
/// `DataError` for any other text.
pub fn layout_of(py: Python<'_>, text: &str) -> PyResult<Layout> {
    serde_json::from_str(text)
        .map_err(|error| exception(py, "DataError", format!("this is no layout: {error}")))
}

impl PyLayout {
    pub fn new(layout: Layout) -> Self {
        Self { layout }
    }

    /// Row and column of an entry, as core code counts them.
    fn entry(&self, py: Python<'_>, row: Whole, column: Whole) -> PyResult<(usize, usize)> {
        let index = |what: &'static str, index: Whole, count: usize| {
            usize::try_from(index.0).map_err(|_| {
                out_of_range(py, what, index.0, format!("the array has {count}, counted from 0"))
            })
        };
        Ok((index("a row", row, self.layout.rows())?, index("a column", column, self.layout.columns())?))
    }
}

/// A place as Python has it: bundle, body, slot or coefficient.
type PlaceTuple = (usize, usize, usize);

fn tuple(place: Place) -> PlaceTuple {
    (place.bundle, place.body, place.index)
}

#[pymethods]
impl PyLayout {
    #[getter]
    fn rows(&self) -> usize {
        self.layout.rows()
    }

    #[getter]
    fn columns(&self) -> usize {
        self.layout.columns()
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        self.layout.encoding().name()
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.layout.is_complex()
    }

    #[getter]
    fn degree(&self) -> usize {
        self.layout.degree()
    }

    #[getter]
    fn capacity(&self) -> usize {
        self.layout.capacity()
    }

    #[getter]
    fn lanes(&self) -> usize {
        self.layout.lanes()
    }

    #[getter]
    fn copies(&self) -> usize {
        self.layout.copies()
    }

    #[getter]
    fn chunks(&self) -> usize {
        self.layout.chunks()
    }

    #[getter]
    fn stride(&self) -> usize {
        self.layout.stride()
    }

    #[getter]
    fn components(&self) -> usize {
        self.layout.components()
    }

    #[getter]
    fn bodies(&self) -> usize {
        self.layout.bodies()
    }

    #[getter]
    fn axis(&self) -> &'static str {
        match self.layout.body_axis() {
            BodyAxis::Chunks => "chunks",
            BodyAxis::Rows => "rows",
        }
    }

    #[getter]
    fn order(&self) -> &'static str {
        match self.layout.order() {
            Order::Natural => "natural",
            Order::BitReversed => "bit-reversed",
        }
    }

    #[getter]
    fn padding(&self) -> &'static str {
        match self.layout.padding() {
            Padding::Zero => "zero",
            Padding::Dirty => "dirty",
        }
    }

    #[getter]
    fn bundles(&self) -> usize {
        self.layout.bundles()
    }

    fn place(&self, py: Python<'_>, row: Whole, column: Whole) -> PyResult<PlaceTuple> {
        let (row, column) = self.entry(py, row, column)?;
        self.layout.place(row, column).map(tuple).map_err(|error| raise(py, error))
    }

    fn imaginary_place(&self, py: Python<'_>, row: Whole, column: Whole) -> PyResult<Option<PlaceTuple>> {
        let (row, column) = self.entry(py, row, column)?;
        self.layout
            .imaginary_place(row, column)
            .map(|place| place.map(tuple))
            .map_err(|error| raise(py, error))
    }

    pub fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.layout).map_err(|error| exception(py, "InternalError", error.to_string()))
    }

    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        layout_of(py, text).map(Self::new)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().layout == self.layout)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        format!("{:?}", self.layout).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        self.layout.to_string()
    }
}
