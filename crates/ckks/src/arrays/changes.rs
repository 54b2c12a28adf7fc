//! Changes of a layout that leave the places of polynomials as they are: other numbers of rows and columns,
//! and other readings of the same slots and coefficients. Operations of the evaluator and circuits build the
//! layouts of their results from these, and name no field of a layout.

use super::layout::{Encoding, Layout, Order, Padding};

impl Layout {
    /// The same places for `rows` rows.
    #[must_use]
    pub(crate) fn of_rows(self, rows: usize) -> Self {
        Self { rows, ..self }
    }

    /// The same places for rows of `columns` numbers.
    #[must_use]
    pub fn of_columns(self, columns: usize) -> Self {
        Self { columns, chunks: columns.div_ceil(self.capacity), ..self }
    }

    /// The same places for complex or for real numbers. In coefficients complex numbers are pairs.
    #[must_use]
    pub fn of_numbers(self, complex: bool) -> Self {
        Self { complex, ..self }
    }

    /// The slots of these numbers, read as complex coefficients in `order`, as slots-to-coefficients leaves
    /// them.
    #[must_use]
    pub(crate) fn as_complex_coefficients(self, order: Order) -> Self {
        Self { encoding: Encoding::Coefficients, complex: true, order, ..self }
    }

    /// The coefficients of these numbers, read as slots in `order`, as coefficients-to-slots leaves them.
    #[must_use]
    pub(crate) fn as_slots(self, complex: bool, order: Order) -> Self {
        Self { encoding: Encoding::Slots, complex, order, ..self }
    }

    /// The chunks of `capacity` places of another encoding, for the same rows: `paired` says whether real
    /// numbers are real parts of complex pairs.
    #[must_use]
    pub(crate) fn in_chunks(self, encoding: Encoding, capacity: usize, order: Order, paired: bool) -> Self {
        Self { encoding, capacity, order, paired, ..self }.of_columns(self.columns)
    }

    /// Each polynomial as a row of its own, of `columns` numbers.
    #[must_use]
    pub(crate) fn of_polynomials(self, count: usize, columns: usize) -> Self {
        Self { rows: count, columns, chunks: 1, ..self }
    }

    /// Each polynomial as a row of its own that fills it, of `capacity` numbers.
    #[must_use]
    pub(crate) fn of_whole_polynomials(self, count: usize, capacity: usize) -> Self {
        Self { capacity, lanes: 1, copies: 1, ..self }.of_polynomials(count, capacity)
    }

    /// The first column of each row, with unspecified numbers in the other places.
    #[must_use]
    pub(crate) fn first_column(self) -> Self {
        Self { columns: 1, chunks: 1, ..self }.with_padding(Padding::Dirty)
    }

    /// The one number of each row, repeated in `copies` neighbouring slots.
    #[must_use]
    pub(crate) fn repeated_column(self, copies: usize) -> Self {
        Self { capacity: 1, copies, ..self }.with_padding(Padding::Zero)
    }

    /// Neighbouring slots that repeat one number, read as the places of `columns` numbers.
    #[must_use]
    pub(crate) fn copies_as_columns(self, columns: usize) -> Self {
        Self { columns, capacity: self.copies, copies: 1, ..self }
    }

    /// One row in place of all rows of a polynomial, where each number is in `copies` neighbouring slots.
    #[must_use]
    pub(crate) fn of_one_lane(self, copies: usize) -> Self {
        Self { rows: 1, lanes: 1, copies, ..self }
    }

    /// The polynomials of degree `degree` that those of this layout are split into, `components` of each.
    #[must_use]
    pub(crate) fn in_components(self, degree: usize, components: usize) -> Self {
        Self { degree, components, ..self }
    }
}
