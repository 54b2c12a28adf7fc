//! Which number of an array sits where, and the arguments of an encryption that choose it.

use std::hash::{DefaultHasher, Hash, Hasher};

use clathrate_ckks::arrays::Place;
use clathrate_ckks::arrays::layout::MOST_BODIES;
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
/// `DataError` unless there are 1 to [`MOST_BODIES`].
pub fn body_count(py: Python<'_>, what: &'static str, bodies: Whole) -> PyResult<usize> {
    let count = usize::try_from(bodies.0).ok().filter(|count| (1..=MOST_BODIES).contains(count));
    count.ok_or_else(|| {
        out_of_range(py, what, bodies.0, format!("use 1 to {MOST_BODIES} bodies under one mask"))
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
    /// `DataError` for a number of bodies, an axis, a capacity, lanes, copies or an order that does not exist.
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

/// Which number of an encrypted array sits where; `Ciphertext.layout` gives it.
///
/// A row of the array, the last axis, is cut into *chunks* of `capacity` numbers, and each chunk fills a polynomial. A bundle is a mask and
/// `bodies` polynomials under it. The bodies of a mask are consecutive chunks of one row or consecutive rows, as `axis` says. After a move
/// of coefficients to a lower degree, the polynomial of a chunk is split into `components` polynomials, each in a bundle of its own. With
/// `lanes`, as many consecutive rows share a polynomial: number t of lane r is coefficient t * stride + r, or slot
/// (r * capacity + t) * copies and the `copies` - 1 slots behind it.
///
/// Examples
/// --------
/// >>> secret_key.encrypt(np.zeros((4, 8)), "slots", bodies=2).layout
/// 8 real numbers in slots of degree 1024, 2 rows under one mask
#[pyclass(frozen, module = "clathrate", name = "Layout")]
pub struct PyLayout {
    layout: Layout,
}

/// The layout that [`PyLayout::json`] wrote.
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

    /// The layout as text, for pickles.
    pub fn json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.layout).map_err(|error| exception(py, "InternalError", error.to_string()))
    }

    /// Row and column of an entry, as core code counts them.
    fn entry(&self, py: Python<'_>, row: Whole, column: Whole) -> PyResult<(usize, usize)> {
        let index = |what: &'static str, index: Whole, count: usize| {
            usize::try_from(index.0).map_err(|_| {
                out_of_range(py, what, index.0, format!("the array has {count}, counted from 0"))
            })
        };
        Ok((index("a row", row, self.layout.rows)?, index("a column", column, self.layout.columns)?))
    }
}

/// A place as Python has it: bundle, body, slot or coefficient.
type PlaceTuple = (usize, usize, usize);

fn tuple(place: Place) -> PlaceTuple {
    (place.bundle, place.body, place.index)
}

#[pymethods]
impl PyLayout {
    /// The number of rows: the product of all axes but the last, 1 for arrays of at most one axis.
    #[getter]
    fn rows(&self) -> usize {
        self.layout.rows
    }

    /// The length of a row: the last axis, 1 for one number.
    #[getter]
    fn columns(&self) -> usize {
        self.layout.columns
    }

    /// The encoding, "slots" or "coefficients".
    #[getter]
    fn encoding(&self) -> &'static str {
        self.layout.encoding.name()
    }

    /// Whether the numbers are complex. Among coefficients a complex number takes two.
    #[getter]
    fn is_complex(&self) -> bool {
        self.layout.complex
    }

    /// The ring degree of the bundles.
    #[getter]
    fn degree(&self) -> usize {
        self.layout.degree
    }

    /// The most numbers of a chunk, a power of two.
    #[getter]
    fn capacity(&self) -> usize {
        self.layout.capacity
    }

    /// The number of rows that share a polynomial: its lanes.
    #[getter]
    fn lanes(&self) -> usize {
        self.layout.lanes
    }

    /// The number of neighbouring slots that each hold the same number, as those of sums of rows with `lanes` do; otherwise 1.
    #[getter]
    fn copies(&self) -> usize {
        self.layout.copies
    }

    /// The number of chunks of a row.
    #[getter]
    fn chunks(&self) -> usize {
        self.layout.chunks
    }

    /// The distance of neighbouring numbers of a row in their polynomial, in coefficients or slots.
    #[getter]
    fn stride(&self) -> usize {
        self.layout.stride()
    }

    /// The number of polynomials that the polynomial of a chunk is split into. It is 1 but after a move to a lower degree.
    #[getter]
    fn components(&self) -> usize {
        self.layout.components
    }

    /// The number of bodies under one mask.
    #[getter]
    fn bodies(&self) -> usize {
        self.layout.bodies
    }

    /// The axis that runs over the bodies of a mask: "rows", or "chunks" of one row. With one body it is "chunks".
    #[getter]
    fn axis(&self) -> &'static str {
        match self.layout.axis {
            BodyAxis::Chunks => "chunks",
            BodyAxis::Rows => "rows",
        }
    }

    /// The order of the numbers of a chunk, "natural" or "bit-reversed".
    #[getter]
    fn order(&self) -> &'static str {
        match self.layout.order {
            Order::Natural => "natural",
            Order::BitReversed => "bit-reversed",
        }
    }

    /// What the places without a number hold: "zero" up to noise, or "dirty", any numbers.
    ///
    /// Rotations leave dirty padding and refuse it; `Ciphertext.clear_padding` clears it.
    #[getter]
    fn padding(&self) -> &'static str {
        match self.layout.padding {
            Padding::Zero => "zero",
            Padding::Dirty => "dirty",
        }
    }

    /// The number of bundles.
    #[getter]
    fn bundles(&self) -> usize {
        self.layout.bundles()
    }

    /// Where a number is; of a complex number among coefficients, the real part.
    ///
    /// Parameters
    /// ----------
    /// row : int
    ///     The row, from 0.
    /// column : int
    ///     The column, from 0.
    ///
    /// Returns
    /// -------
    /// tuple of int
    ///     The bundle, the body, and the slot or the coefficient.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the array has no such row or column.
    ///
    /// Examples
    /// --------
    /// >>> secret_key.encrypt(np.zeros((4, 8)), "slots", bodies=2).layout.place(3, 5)
    /// (1, 1, 5)
    fn place(&self, py: Python<'_>, row: Whole, column: Whole) -> PyResult<PlaceTuple> {
        let (row, column) = self.entry(py, row, column)?;
        self.layout.place(row, column).map(tuple).map_err(|error| raise(py, error))
    }

    /// Where the imaginary part of a number is, where it is a coefficient of its own.
    ///
    /// Parameters
    /// ----------
    /// row : int
    ///     The row, from 0.
    /// column : int
    ///     The column, from 0.
    ///
    /// Returns
    /// -------
    /// tuple of int or None
    ///     The bundle, the body and the coefficient. None in slots and in arrays of real numbers.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the array has no such row or column.
    ///
    /// Examples
    /// --------
    /// >>> secret_key.encrypt([1 + 2j, 3j], "coefficients").layout.imaginary_place(0, 1)
    /// (0, 0, 513)
    fn imaginary_place(&self, py: Python<'_>, row: Whole, column: Whole) -> PyResult<Option<PlaceTuple>> {
        let (row, column) = self.entry(py, row, column)?;
        self.layout
            .imaginary_place(row, column)
            .map(|place| place.map(tuple))
            .map_err(|error| raise(py, error))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.import("clathrate._pickle")?.getattr("rebuild_layout")?, (self.json(py)?,)))
    }

    #[staticmethod]
    fn _from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
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
