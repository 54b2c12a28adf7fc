//! The layout of an encrypted array: the bundle, body and coefficient or slot of each number.
//! [`places`](super::places) computes the place of each entry.
//!
//! A row of the array is cut into *chunks* of `capacity` numbers. One polynomial holds a chunk; a bundle has
//! one such polynomial in each of its bodies.
//!
//! ```text
//! slots            number t of a chunk is in the slots from p(t) copies on; the slots repeat with the period `capacity copies`
//! coefficients     number t is the coefficient of X^(stride p(t)),    stride = W / capacity
//! complex pairs    its real part is the coefficient of X^(stride p(t)), its imaginary part that of X^(stride p(t) + W/2),    stride = W / (2 capacity)
//! paired           a real number as the real part of a complex pair
//! ```
//!
//! with `p(t) = t` or the reversal of its bits, and `W` the degree of the polynomial that the chunk was
//! encoded in. Several consecutive short rows can share a polynomial (*lanes*). In coefficients lane `l` is
//! shifted by `l`, so that lanes alternate and a move to a lower degree separates them. In slots lane `l` is
//! shifted by `l capacity copies`, so that rows are contiguous: an array of one row, whose slots repeat, has
//! that row in every lane.
//!
//! A move to a lower degree `n = W / components` splits that polynomial: bundle `i` of the chunk holds the
//! coefficients of `X^i, X^(i + components), ..`, which is component `brv(i)` of
//! [`clathrate_lattice::degree`]. At `n = 1` every coefficient is an LWE sample.

use std::fmt;

use clathrate_arith::text::counted;
use serde::{Deserialize, Serialize};

use crate::error::CkksError;

/// Maximum number of bodies under one mask; the sizes of secrets and keys grow with this number.
pub const MAX_BODIES: usize = 4096;

/// Maximum number of axes.
pub const MAX_AXES: usize = 6;

/// Maximum of `W`: the largest degree of a polynomial.
const LARGEST_DEGREE: usize = 1 << 17;

/// Bound on counts of entries and of bodies, so that products of counts and degrees do not overflow.
const MAX_ENTRIES_BITS: u32 = 48;

/// How the numbers of a row are encoded in a polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// In the slots of the canonical embedding: products are element-wise; n/2 complex numbers per
    /// polynomial.
    Slots,
    /// In the coefficients: n real or n/2 complex numbers per polynomial. Sums, and products with numbers and
    /// plain matrices, are possible.
    Coefficients,
}

impl Encoding {
    /// The encoding's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Coefficients => "coefficients",
        }
    }
}

/// The axis of the array along which consecutive parts are bodies that share a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyAxis {
    /// Consecutive chunks of one row are bodies, so that one mask serves a complete row and linear
    /// combinations of rows keep the mask shared. The only choice for one body.
    #[default]
    Chunks,
    /// Consecutive rows are bodies, so that one operation within rows processes several rows at once. Rows of
    /// one bundle cannot be combined with each other.
    Rows,
}

/// The order of a chunk's numbers inside its polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Number `t` is at place `t`.
    #[default]
    Natural,
    /// Number `t` is at the place `brv(t)`, which is the order after a slots-to-coefficients transform.
    BitReversed,
}

/// The content of the padding, the places without an entry. Bodies without entries are always zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Padding {
    /// Zero, up to noise.
    #[default]
    Zero,
    /// Unspecified numbers, which would enter sums over all slots.
    Dirty,
}

/// The places of an array's entries. Plain data; [`Layout::check`] refuses inconsistent fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Product of all axes but the last one.
    pub(super) rows: usize,
    /// Length of the last axis.
    pub(super) columns: usize,
    /// Slots or coefficients.
    pub(super) encoding: Encoding,
    /// Whether numbers are complex. A complex number takes two coefficients; in slots it takes one slot, like
    /// a real number.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) complex: bool,
    /// Whether real numbers in coefficients are the real parts of complex pairs, as after a
    /// slots-to-coefficients transform; the places of imaginary parts are padding.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) paired: bool,
    /// The ring degree `n` of the bundles.
    pub(super) degree: usize,
    /// Numbers per chunk, a power of two.
    pub(super) capacity: usize,
    /// Chunks per row.
    pub(super) chunks: usize,
    /// Polynomials that a chunk's polynomial of degree `W = n components` was split into, a power of two.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) components: usize,
    /// Consecutive rows that share a polynomial, a power of two: in coefficients at most the stride, in slots
    /// at most as many as fit into the slots. The last polynomial may have fewer rows.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) lanes: usize,
    /// Neighbouring slots that hold the same number, a power of two, as in sums of rows that share a
    /// polynomial; 1 in coefficients.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) copies: usize,
    /// Bodies under one mask.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) bodies: usize,
    /// The axis that the bodies index.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) axis: BodyAxis,
    /// The order of a chunk's numbers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) order: Order,
    /// The content of the places without an entry.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) padding: Padding,
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde calls
fn is_one(value: &usize) -> bool {
    *value == 1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Layout {
    /// Product of all axes but the last one.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Length of the last axis.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Slots or coefficients.
    #[must_use]
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether numbers are complex. A complex number takes two coefficients; in slots it takes one slot, like
    /// a real number.
    #[must_use]
    pub const fn is_complex(&self) -> bool {
        self.complex
    }

    /// Whether real numbers in coefficients are the real parts of complex pairs, as after a
    /// slots-to-coefficients transform.
    #[must_use]
    pub const fn is_paired(&self) -> bool {
        self.paired
    }

    /// The ring degree `n` of the bundles.
    #[must_use]
    pub const fn degree(&self) -> usize {
        self.degree
    }

    /// Numbers per chunk, a power of two.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Chunks per row.
    #[must_use]
    pub const fn chunks(&self) -> usize {
        self.chunks
    }

    /// Polynomials that a chunk's polynomial of degree `n components` was split into.
    #[must_use]
    pub const fn components(&self) -> usize {
        self.components
    }

    /// Consecutive rows that share a polynomial. The last polynomial may have fewer rows.
    #[must_use]
    pub const fn lanes(&self) -> usize {
        self.lanes
    }

    /// Neighbouring slots that hold the same number; 1 in coefficients.
    #[must_use]
    pub const fn copies(&self) -> usize {
        self.copies
    }

    /// Bodies under one mask.
    #[must_use]
    pub const fn bodies(&self) -> usize {
        self.bodies
    }

    /// The axis that the bodies index.
    #[must_use]
    pub const fn body_axis(&self) -> BodyAxis {
        self.axis
    }

    /// The order of a chunk's numbers.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.order
    }

    /// The content of the places without an entry.
    #[must_use]
    pub const fn padding(&self) -> Padding {
        self.padding
    }
}

impl Layout {
    /// The layout of real numbers in natural order, with one body in each bundle. A chunk has `n` numbers in
    /// coefficients; in slots, the row's length rounded up to a power of two, at most `n / 2`.
    ///
    /// # Errors
    /// [`CkksError::Empty`] where an axis is 0; [`CkksError::OutOfRange`] for more than six axes or
    /// overflowing sizes; [`CkksError::Unsuitable`] for slots at degree 1.
    pub fn new(shape: &[usize], encoding: Encoding, degree: usize) -> Result<Self, CkksError> {
        let (rows, columns) = axes(shape)?;
        let (axis, order, padding) = (BodyAxis::Chunks, Order::Natural, Padding::Zero);
        let layout = Self {
            rows,
            columns,
            encoding,
            complex: false,
            paired: false,
            degree,
            capacity: 1,
            chunks: 1,
            components: 1,
            lanes: 1,
            copies: 1,
            bodies: 1,
            axis,
            order,
            padding,
        };
        layout.with_native_capacity()
    }

    /// The same array with complex numbers, which are pairs in coefficients.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for pairs of coefficients at degree 1.
    pub fn with_complex(self) -> Result<Self, CkksError> {
        let layout = Self { complex: true, paired: false, ..self };
        if self.encoding == Encoding::Slots { Ok(layout) } else { layout.with_native_capacity() }
    }

    fn with_native_capacity(self) -> Result<Self, CkksError> {
        if self.lanes > 1 {
            let alone = Self { lanes: 1, copies: 1, ..self }.with_native_capacity()?;
            return if alone.columns.next_power_of_two() < alone.most_capacity() {
                alone.with_lanes(Some(self.lanes))
            } else {
                Ok(alone)
            };
        }
        let most = self.most_capacity();
        if most == 0 {
            let what = if self.encoding == Encoding::Slots {
                "slots"
            } else {
                "complex numbers as pairs of coefficients"
            };
            return Err(CkksError::no_room(what, self.degree));
        }
        let capacity = match self.encoding {
            Encoding::Coefficients => most,
            Encoding::Slots => self.columns.next_power_of_two().min(most),
        };
        Ok(Self { capacity, chunks: self.columns.div_ceil(capacity), copies: 1, ..self })
    }

    /// The same array with `capacity` numbers per chunk.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] unless `capacity` is a power of two and at most the slots, coefficients or
    /// pairs of a polynomial.
    pub fn with_capacity(self, capacity: usize) -> Result<Self, CkksError> {
        let most = self.most_capacity() / self.copies;
        if !capacity.is_power_of_two() || capacity > most {
            let remedy = format!("use a power of two up to {most}");
            return Err(CkksError::OutOfRange {
                what: "the capacity of a polynomial",
                value: capacity.to_string(),
                remedy,
            });
        }
        Ok(Self { capacity, chunks: self.columns.div_ceil(capacity), ..self })
    }

    /// The same array with each number in `copies` neighbouring slots.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] unless `copies` is a power of two and the copies fit into the slots of a
    /// polynomial; in coefficients it must be 1.
    pub fn with_copies(self, copies: usize) -> Result<Self, CkksError> {
        let most = if self.encoding == Encoding::Slots {
            self.most_capacity() / (self.capacity * self.lanes)
        } else {
            1
        };
        if !copies.is_power_of_two() || copies > most {
            let remedy = format!(
                "{} of each polynomial can be in neighbouring slots a power of two of times, up to {most}",
                self.numbers()
            );
            return Err(CkksError::OutOfRange {
                what: "the number of copies of a number",
                value: copies.to_string(),
                remedy,
            });
        }
        Ok(Self { copies, ..self })
    }

    /// Describes the content of a polynomial for messages.
    fn numbers(&self) -> String {
        format!("{} in {}", counted(self.capacity * self.lanes, "number"), self.encoding.name())
    }

    /// The same array with `lanes` consecutive rows in each polynomial, or the maximum if `None`. The
    /// capacity of each row is its length rounded up to a power of two.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] unless `lanes` is a power of two and the lanes fit into a polynomial;
    /// several lanes are only possible in slots and in real coefficients.
    pub fn with_lanes(self, lanes: Option<usize>) -> Result<Self, CkksError> {
        let packed = Self { capacity: self.columns.next_power_of_two().min(self.most_capacity()), ..self };
        let packed = Self { chunks: self.columns.div_ceil(packed.capacity), ..packed };
        let most = match self.encoding {
            Encoding::Slots => (packed.most_capacity() / (packed.capacity * packed.copies)).max(1),
            Encoding::Coefficients if !self.has_pairs() && self.components == 1 => packed.stride(),
            Encoding::Coefficients => 1,
        };
        // In slots, lanes beyond the last row would only lengthen the period of the slots; in coefficients
        // they cost nothing.
        let filled =
            if self.encoding == Encoding::Slots { most.min(self.rows.next_power_of_two()) } else { most };
        let lanes = lanes.unwrap_or(filled);
        if !lanes.is_power_of_two() || lanes > most {
            let places = if self.encoding == Encoding::Slots { "slots" } else { "real coefficients" };
            let remedy = format!(
                "rows of {} {places} at degree {} can share polynomials by a power of two up to {most}",
                self.columns, self.degree
            );
            return Err(CkksError::OutOfRange {
                what: "the number of rows in a polynomial",
                value: lanes.to_string(),
                remedy,
            });
        }
        Ok(if lanes == 1 { self } else { Self { lanes, ..packed } })
    }

    /// Whether the lanes fit into a polynomial: each row is one chunk, in slots or in real coefficients that
    /// are far enough apart. After a selection of columns the capacity may be smaller than a lane's space.
    fn has_room_for_lanes(&self) -> bool {
        if self.encoding == Encoding::Slots {
            return self.chunks == 1
                && self.lanes.is_power_of_two()
                && self.lanes <= self.most_capacity() / (self.capacity * self.copies);
        }
        !self.has_pairs()
            && self.components == 1
            && self.chunks == 1
            && self.lanes.is_power_of_two()
            && self.lanes <= self.stride()
    }

    /// The same array with `bodies` bodies under each mask: consecutive rows (polynomials of rows, with
    /// lanes), or consecutive chunks of a row. By default chunks if a row has several chunks, otherwise rows.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] unless there are 1 to [`MAX_BODIES`] bodies.
    pub fn with_bodies(self, bodies: usize, axis: Option<BodyAxis>) -> Result<Self, CkksError> {
        if !(1..=MAX_BODIES).contains(&bodies) {
            let remedy = format!("use 1 to {MAX_BODIES} bodies under one mask");
            return Err(CkksError::OutOfRange {
                what: "the number of bodies",
                value: bodies.to_string(),
                remedy,
            });
        }
        let usual = if self.chunks > 1 { BodyAxis::Chunks } else { BodyAxis::Rows };
        let axis = if bodies == 1 { BodyAxis::Chunks } else { axis.unwrap_or(usual) };
        Ok(Self { bodies, axis, ..self })
    }

    /// The same array with each chunk's numbers in another order.
    #[must_use]
    pub fn with_order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// The same places with the padding marked as `padding`; [`Padding::Zero`] if there is no padding.
    #[must_use]
    pub fn with_padding(self, padding: Padding) -> Self {
        Self { padding: if self.has_padding() { padding } else { Padding::Zero }, ..self }
    }

    /// The layout of an array of shape `shape` with the same encoding, type of numbers, degree, bodies and
    /// order; capacity and chunks follow from `shape`.
    pub fn of_shape(self, shape: &[usize]) -> Result<Self, CkksError> {
        let (rows, columns) = axes(shape)?;
        Self { rows, columns, padding: Padding::Zero, ..self }.with_native_capacity()
    }

    /// The layout of a vector at the places of a matrix of one column, or the reverse: the rows of a column
    /// that share a polynomial are the numbers of a chunk of the vector. `None` for other shapes, and for
    /// coefficients, orders and masks that a column does not have.
    pub(crate) fn transposed(self, shape: &[usize]) -> Option<Self> {
        let turns = match *shape {
            [count] => count > 1 && (self.rows, self.columns) == (count, 1),
            [count, 1] => count > 1 && (self.rows, self.columns) == (1, count),
            _ => false,
        };
        let alike = self.encoding == Encoding::Slots && self.order == Order::Natural && self.bodies == 1;
        (turns && alike).then(|| self.digits().transposed().to_layout(self.complex, self.padding)).flatten()
    }

    /// `W`: the degree of the polynomial that a chunk was encoded in.
    #[must_use]
    pub fn whole_degree(&self) -> usize {
        self.degree * self.components
    }

    /// Maximum count of numbers in a polynomial of degree `W`.
    fn most_capacity(&self) -> usize {
        self.whole_degree() >> u32::from(self.has_pairs())
    }

    /// Whether each number takes two coefficients, as in slots and in complex pairs.
    fn has_pairs(&self) -> bool {
        self.encoding == Encoding::Slots || self.complex || self.paired
    }

    /// Distance between neighbouring numbers of a row, in coefficients or slots.
    #[must_use]
    pub fn stride(&self) -> usize {
        if self.encoding == Encoding::Slots { self.copies } else { self.most_capacity() / self.capacity }
    }

    /// Offset of lane `lane` in the polynomial that it shares with lane 0, in coefficients or slots.
    #[must_use]
    pub fn lane_offset(&self, lane: usize) -> usize {
        if self.encoding == Encoding::Slots { lane * self.capacity * self.copies } else { lane }
    }

    /// Number of coefficients, in polynomials of degree `degree`, whose errors sum to the error of one
    /// number: all for a slot, which is a sum of all coefficients times roots of unity; two for a complex
    /// pair; otherwise one.
    pub(crate) fn coefficients_of_number(&self, degree: usize) -> usize {
        match (self.encoding, self.complex) {
            (Encoding::Slots, _) => degree,
            (Encoding::Coefficients, true) => 2,
            (Encoding::Coefficients, false) => 1,
        }
    }

    /// The period of a polynomial's slots.
    #[must_use]
    pub fn period(&self) -> usize {
        self.lanes * self.capacity * self.copies
    }

    /// Whether there is padding: a slot or coefficient without an entry in a body that holds entries.
    #[must_use]
    pub fn has_padding(&self) -> bool {
        let between = self.encoding == Encoding::Coefficients && (self.paired || self.stride() > self.lanes);
        self.columns < self.chunks * self.capacity || between || !self.rows.is_multiple_of(self.lanes)
    }

    /// Whether no polynomial has several rows and no number has copies.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.lanes == 1 && self.copies == 1
    }

    /// The layout after a move to the degree `n / gap`. Slots, and numbers `gap` or more coefficients apart,
    /// stay in the component of the powers of `X^gap`; other numbers are spread over more components.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] where the lower degree has too few slots.
    pub fn split_degree(self, gap: usize) -> Result<Self, CkksError> {
        let degree = self.degree / gap;
        if self.lanes > 1 && self.encoding == Encoding::Coefficients {
            if gap != self.lanes || self.bodies > 1 {
                let reason = format!(
                    "{} rows share a polynomial of degree {}, under masks of {}: such rows come apart at degree {} and with one body in each bundle",
                    self.lanes,
                    self.degree,
                    counted(self.bodies, "body"),
                    self.degree / self.lanes,
                );
                return Err(CkksError::Unsuitable { operation: "a move to a lower degree", reason });
            }
            return Ok(Self { degree, lanes: 1, ..self }.with_padding(self.padding));
        }
        if self.encoding == Encoding::Slots {
            let layout = Self { degree, ..self };
            return if self.period() <= layout.most_capacity() {
                Ok(layout)
            } else {
                Err(CkksError::no_room("these slots", degree))
            };
        }
        let layout = Self { degree, components: self.components * gap / self.stride().min(gap), ..self };
        // An LWE sample of a real number does not depend on the polynomial from which it was split, so each
        // sample becomes a chunk of one number.
        let samples = layout.is_of_samples() && layout.stride() == 1;
        let layout = if samples {
            Self { components: 1, capacity: 1, chunks: self.columns, ..layout }
        } else {
            layout
        };
        Ok(layout.with_padding(self.padding))
    }

    /// The layout after a move to the degree `n gap`: components are joined first; beyond their number, the
    /// stride of the numbers grows.
    #[must_use]
    pub fn merge_degree(self, gap: usize) -> Self {
        let degree = self.degree * gap;
        if self.encoding == Encoding::Slots {
            return Self { degree, ..self };
        }
        let layout = self.as_samples_of(gap);
        Self { degree, components: layout.components / layout.components.min(gap), ..layout }
    }

    /// The layout after the polynomials of `gap` consecutive rows, of degree `n`, are merged into one of
    /// degree `n gap`: the inverse of [`Layout::split_degree`] for lanes.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] unless each row is one polynomial of real coefficients with a separate mask,
    /// and the stride leaves room for `gap` lanes.
    pub fn gathered(self, gap: usize) -> Result<Self, CkksError> {
        let full = self.chunks == 1 && self.components == 1 && self.lanes == 1 && self.bodies == 1;
        let layout = Self { degree: self.degree * gap, lanes: gap, ..self };
        if full && !self.has_pairs() && (gap == 1 || layout.has_room_for_lanes()) {
            return Ok(layout.with_padding(self.padding));
        }
        let reason = format!(
            "rows are brought into one polynomial where each came from one (to_mlwe), or fills one of real coefficients alone; these are {self}"
        );
        Err(CkksError::Unsuitable { operation: "packing of rows", reason })
    }

    /// The same LWE samples of real numbers as the coefficients of polynomials of degree `gap`; other layouts
    /// are unchanged.
    #[must_use]
    pub fn as_samples_of(self, gap: usize) -> Self {
        if self.is_of_samples() && self.components == 1 {
            Self { components: gap, capacity: gap, chunks: self.columns.div_ceil(gap), ..self }
        } else {
            self
        }
    }

    /// Whether bundles are LWE samples of real numbers, where each mask belongs to one number of a row.
    fn is_of_samples(&self) -> bool {
        let real = !self.has_pairs() && self.order == Order::Natural;
        self.degree == 1 && real && (self.bodies == 1 || self.axis == BodyAxis::Rows)
    }

    /// Refuses a layout, read from a file, whose fields are inconsistent or do not fit the shape or the
    /// degree.
    ///
    /// # Errors
    /// Those of [`Layout::new`]; [`CkksError::OutOfRange`].
    pub fn check(&self, shape: &[usize], degree: usize) -> Result<(), CkksError> {
        let refuse = |what: &'static str, value: String| {
            let remedy = "the layout's fields do not fit the array's shape and degree".to_owned();
            Err(CkksError::OutOfRange { what, value, remedy })
        };
        if (self.rows, self.columns) != axes(shape)? || self.degree != degree {
            return refuse("a layout", format!("{} x {} at degree {}", self.rows, self.columns, self.degree));
        }
        let split = self.components.is_power_of_two()
            && self.components <= LARGEST_DEGREE
            && self.whole_degree() <= LARGEST_DEGREE;
        if !split || (self.encoding == Encoding::Slots && self.components != 1) {
            return refuse("the number of components", self.components.to_string());
        }
        let one = Self { lanes: 1, copies: 1, ..*self };
        one.with_capacity(self.capacity)?.with_copies(self.copies)?;
        self.with_bodies(self.bodies, Some(self.axis))?;
        if self.chunks != self.columns.div_ceil(self.capacity) {
            return refuse("the number of chunks", self.chunks.to_string());
        }
        if (self.stride() > 1 && self.components > 1)
            || (self.bodies == 1 && self.axis == BodyAxis::Rows)
            || (self.paired && (self.complex || self.encoding == Encoding::Slots))
            || (self.lanes != 1 && !self.has_room_for_lanes())
            || *self != self.with_padding(self.padding)
        {
            return refuse("a layout", self.to_string());
        }
        let bodies = self
            .lines()
            .checked_mul(self.bundles_per_line())
            .and_then(|bundles| bundles.checked_mul(self.bodies));
        if bodies.is_none_or(|bodies| bodies >> MAX_ENTRIES_BITS != 0) {
            return refuse(
                "the number of bodies",
                bodies.map_or_else(|| "more than 2^64".to_owned(), |bodies| bodies.to_string()),
            );
        }
        Ok(())
    }

    /// Whether every entry of the two arrays is in the same polynomial at the same place, regardless of
    /// masks.
    #[must_use]
    pub fn same_polynomials(&self, other: &Self) -> bool {
        let key = |layout: &Self| Self {
            bodies: 1,
            axis: BodyAxis::Chunks,
            padding: Padding::Zero,
            complex: layout.complex && layout.encoding == Encoding::Coefficients,
            ..*layout
        };
        key(self) == key(other)
    }

    /// Whether every entry of the two arrays is at the same place, whatever fields say so.
    #[must_use]
    pub fn same_places(&self, other: &Self) -> bool {
        let alike = |own: &Self| Self { padding: Padding::Zero, ..*own };
        alike(self) == alike(other) || self.digits().canonical() == other.digits().canonical()
    }
}

/// The numbers of an array of this shape; the largest integer where there would be more.
pub(crate) fn count_of(shape: &[usize]) -> usize {
    shape.iter().fold(1, |count, &axis| count.saturating_mul(axis))
}

/// Rows and columns of a shape.
pub(crate) fn axes(shape: &[usize]) -> Result<(usize, usize), CkksError> {
    if shape.contains(&0) {
        return Err(CkksError::no_entries(shape));
    }
    if shape.len() > MAX_AXES || count_of(shape) >> MAX_ENTRIES_BITS != 0 {
        return Err(CkksError::OutOfRange {
            what: "the array's shape",
            value: format!("{shape:?}"),
            remedy: format!("use at most {MAX_AXES} axes and fewer than 2^48 entries"),
        });
    }
    Ok((shape.iter().rev().skip(1).product(), shape.last().copied().unwrap_or(1)))
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = match (self.complex, self.paired) {
            (true, _) => "complex numbers",
            (false, true) => "real numbers as real parts",
            (false, false) => "real numbers",
        };
        write!(f, "{} {numbers} in {} of degree {}", self.capacity, self.encoding.name(), self.degree)?;
        if self.order == Order::BitReversed {
            f.write_str(", bit-reversed")?;
        }
        if self.components > 1 {
            write!(f, ", {} components", self.components)?;
        }
        if self.lanes > 1 {
            write!(f, ", {} rows in a polynomial", self.lanes)?;
        }
        if self.copies > 1 {
            write!(f, ", each in {} neighbouring slots", self.copies)?;
        }
        if self.bodies > 1 {
            let axis = match self.axis {
                BodyAxis::Rows if self.lanes > 1 => "polynomials",
                BodyAxis::Rows => "rows",
                BodyAxis::Chunks => "chunks of a row",
            };
            write!(f, ", {} {axis} under one mask", self.bodies)?;
        }
        Ok(())
    }
}
