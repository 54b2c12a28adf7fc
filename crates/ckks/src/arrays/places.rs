//! Places: the bundle, body and slot or coefficient of each entry of an array, computed from its [`Layout`].
//!
//! The polynomials that hold entries are numbered by rows, chunks and components. Assigning polynomials to
//! masks is a second step, so that two layouts that differ only in their masks have the same polynomials.

use super::layout::{BodyAxis, Encoding, Layout, Order};
use crate::error::CkksError;

/// The place of a number: a body of a bundle, and a slot or a coefficient of its polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The bundle.
    pub bundle: usize,
    /// The body.
    pub body: usize,
    /// The slot, or the coefficient.
    pub index: usize,
}

/// The part of a number that a coefficient holds, because complex numbers are pairs of coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The real part; in slots and in arrays of real numbers, the number itself.
    Real,
    /// The imaginary part.
    Imaginary,
}

/// An entry of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// The row.
    pub row: usize,
    /// The column.
    pub column: usize,
    /// The part of the number.
    pub part: Part,
}

/// `index` with its `log2(size)` bits reversed; `size` is a power of two.
fn reversed(index: usize, size: usize) -> usize {
    if size <= 1 { 0 } else { index.reverse_bits() >> (usize::BITS - size.trailing_zeros()) }
}

impl Layout {
    /// Numbers in chunk `chunk` of a row.
    #[must_use]
    pub fn entries_in(&self, chunk: usize) -> usize {
        self.capacity.min(self.columns.saturating_sub(chunk * self.capacity))
    }

    /// Number of groups of rows that share polynomials; without lanes each row is a group.
    #[must_use]
    pub fn row_groups(&self) -> usize {
        self.rows.div_ceil(self.lanes)
    }

    /// Lines of bundles: groups of rows, divided by the number of bodies if bodies hold different rows.
    #[must_use]
    pub fn lines(&self) -> usize {
        if self.axis == BodyAxis::Rows { self.row_groups().div_ceil(self.bodies) } else { self.row_groups() }
    }

    /// Bundles of a line, not counting components: chunks, divided by the number of bodies if bodies hold
    /// different chunks.
    #[must_use]
    pub fn groups(&self) -> usize {
        if self.axis == BodyAxis::Chunks { self.chunks.div_ceil(self.bodies) } else { self.chunks }
    }

    /// Number of components that are stored for group `group`: for unpaired real numbers in natural order
    /// only the components that hold an entry, otherwise all.
    #[must_use]
    pub fn stored_components(&self, group: usize) -> usize {
        let first = if self.axis == BodyAxis::Chunks { group * self.bodies } else { group };
        // Component i holds the numbers i, i + components, ..; in bit-reversed order, and with complex pairs,
        // any component may hold entries.
        let ascending = self.order == Order::Natural && !self.complex && !self.paired;
        if ascending { self.components.min(self.entries_in(first)) } else { self.components }
    }

    /// Bundles of a line.
    #[must_use]
    pub fn bundles_per_line(&self) -> usize {
        (self.groups() - 1) * self.components + self.stored_components(self.groups() - 1)
    }

    /// Number of bundles.
    #[must_use]
    pub fn bundles(&self) -> usize {
        self.lines() * self.bundles_per_line()
    }

    /// The bundle of component `component` of group `group` of line `line`.
    #[must_use]
    pub fn bundle(&self, line: usize, group: usize, component: usize) -> usize {
        line * self.bundles_per_line() + group * self.components + component
    }

    /// Number of polynomials that hold entries, over all bodies.
    #[must_use]
    pub fn polynomials(&self) -> usize {
        self.row_groups() * self.polynomials_per_row()
    }

    fn polynomials_per_row(&self) -> usize {
        let one = Self { bodies: 1, axis: BodyAxis::Chunks, ..*self };
        one.bundles_per_line()
    }

    /// The polynomial in body `body` of bundle `bundle`, numbered by rows, chunks and components; `None` for
    /// a body without entries. The numbering does not depend on which polynomials share a mask.
    #[must_use]
    pub fn polynomial_at(&self, bundle: usize, body: usize) -> Option<usize> {
        if bundle >= self.bundles() || body >= self.bodies {
            return None;
        }
        let (line, rest) = (bundle / self.bundles_per_line(), bundle % self.bundles_per_line());
        let (group, component) = (rest / self.components, rest % self.components);
        let (row, chunk) = match self.axis {
            BodyAxis::Rows => (line * self.bodies + body, group),
            BodyAxis::Chunks => (line, group * self.bodies + body),
        };
        let one = Self { bodies: 1, axis: BodyAxis::Chunks, ..*self };
        let there =
            row < self.row_groups() && chunk < self.chunks && component < one.stored_components(chunk);
        there.then(|| one.bundle(row, chunk, component))
    }

    /// Bundle and body of polynomial `polynomial`: the inverse of [`Layout::polynomial_at`].
    #[must_use]
    pub fn seat(&self, polynomial: usize) -> (usize, usize) {
        let (row, chunk, component) = self.group_of(polynomial);
        match self.axis {
            BodyAxis::Rows => (self.bundle(row / self.bodies, chunk, component), row % self.bodies),
            BodyAxis::Chunks => (self.bundle(row, chunk / self.bodies, component), chunk % self.bodies),
        }
    }

    /// Row, chunk and component of polynomial `polynomial`; of several rows the first one.
    #[must_use]
    pub fn polynomial(&self, polynomial: usize) -> (usize, usize, usize) {
        let (group, chunk, component) = self.group_of(polynomial);
        (group * self.lanes, chunk, component)
    }

    /// Group of rows, chunk and component of polynomial `polynomial`.
    fn group_of(&self, polynomial: usize) -> (usize, usize, usize) {
        let (row, rest) = (polynomial / self.polynomials_per_row(), polynomial % self.polynomials_per_row());
        (row, rest / self.components, rest % self.components)
    }

    /// The range of flat indices of the entries in polynomial `polynomial`'s chunk of the row in lane `lane`;
    /// empty for a lane without a row.
    #[must_use]
    pub fn entries(&self, polynomial: usize, lane: usize) -> std::ops::Range<usize> {
        let (first, chunk, _) = self.polynomial(polynomial);
        let row = first + lane;
        if row >= self.rows {
            return 0..0;
        }
        let start = row * self.columns + chunk * self.capacity;
        start..start + self.entries_in(chunk)
    }

    /// The coefficients or slots of polynomial `polynomial` that hold entries, each with the flat index of
    /// its entry: the real part of a complex number in coefficients, the first of a number's copies in slots.
    pub fn held(&self, polynomial: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.lanes).flat_map(move |lane| {
            let offset = self.lane_offset(lane);
            self.entries(polynomial, lane)
                .enumerate()
                .map(move |(t, index)| (self.position(t) + offset, index))
        })
    }

    /// The first slot of number `t` of a chunk, or its coefficient in the polynomial of degree `W`, for the
    /// first lane.
    #[must_use]
    pub fn position(&self, t: usize) -> usize {
        let place = if self.order == Order::Natural { t } else { reversed(t, self.capacity) };
        place * self.stride()
    }

    /// The place of the entry in `row` and `column`; in coefficients, the place of its real part.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] if the array has no such entry.
    pub fn place(&self, row: usize, column: usize) -> Result<Place, CkksError> {
        self.check_entry(row, column)?;
        Ok(self.seat_of(row, column, self.position(column % self.capacity)))
    }

    /// The place of the imaginary part of an entry; `None` unless complex numbers are pairs of coefficients.
    pub fn imaginary_place(&self, row: usize, column: usize) -> Result<Option<Place>, CkksError> {
        self.check_entry(row, column)?;
        let half = self.imaginary_offset();
        Ok(half.map(|half| self.seat_of(row, column, self.position(column % self.capacity) + half)))
    }

    /// `W/2`, the distance from a real part to its imaginary part, if complex numbers are pairs of
    /// coefficients.
    #[must_use]
    pub fn imaginary_offset(&self) -> Option<usize> {
        (self.encoding == Encoding::Coefficients && self.complex).then(|| self.whole_degree() / 2)
    }

    fn seat_of(&self, row: usize, column: usize, position: usize) -> Place {
        let chunk = column / self.capacity;
        let component = position % self.components;
        let polynomial = row / self.lanes * self.polynomials_per_row() + chunk * self.components + component;
        let (bundle, body) = self.seat(polynomial);
        Place { bundle, body, index: position / self.components + self.lane_offset(row % self.lanes) }
    }

    fn check_entry(&self, row: usize, column: usize) -> Result<(), CkksError> {
        for (what, index, count) in [("a row", row, self.rows), ("a column", column, self.columns)] {
            if index >= count {
                let remedy = format!("the array has {count}, counted from 0");
                return Err(CkksError::OutOfRange { what, value: index.to_string(), remedy });
            }
        }
        Ok(())
    }

    /// The entry at `place`: the inverse of [`Layout::place`] and [`Layout::imaginary_place`]. `None` for
    /// padding.
    #[must_use]
    pub fn entry(&self, place: Place) -> Option<Entry> {
        let (row, chunk, component) = self.polynomial(self.polynomial_at(place.bundle, place.body)?);
        let mut position = place.index * self.components + component;
        let mut part = Part::Real;
        if let Some(half) = self.imaginary_offset()
            && position >= half
        {
            (position, part) = (position - half, Part::Imaginary);
        }
        let (index, lane) = match self.encoding {
            Encoding::Slots => {
                (position / self.stride() % self.capacity, position / (self.stride() * self.capacity))
            }
            Encoding::Coefficients => (position / self.stride(), position % self.stride()),
        };
        let row = row + lane;
        if lane >= self.lanes || row >= self.rows || index >= self.capacity {
            return None;
        }
        let t = if self.order == Order::Natural { index } else { reversed(index, self.capacity) };
        (t < self.entries_in(chunk)).then(|| Entry { row, column: chunk * self.capacity + t, part })
    }
}
