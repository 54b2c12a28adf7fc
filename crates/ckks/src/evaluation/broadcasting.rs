//! Broadcasting: arrays repeated along an axis, for operators of arrays of different shapes.

use std::borrow::Cow;

use clathrate_lattice::{Bundle, Eval};

use super::evaluator::{Evaluator, check_slots};
use super::rows::check_rows;
use crate::arrays::layout::MAX_AXES;
use crate::arrays::memory::check_free;
use crate::arrays::{BodyAxis, Ciphertext, Encoding, Estimate, Layout, Padding};
use crate::error::CkksError;

/// The operations' names in errors.
const BROADCAST: &str = "a repetition of one number";
const REPETITION: &str = "a repetition of an array";
const COLUMN: &str = "a column as a vector";

/// The common shape of arrays of shapes `x` and `y` by NumPy's rules: axes are compared from the last one;
/// two axes must be equal, or one of them 1.
///
/// # Errors
/// [`CkksError::Shape`]; [`CkksError::OutOfRange`] for more than six axes.
pub fn common_shape(x: &[usize], y: &[usize], operation: &'static str) -> Result<Vec<usize>, CkksError> {
    let axis = |shape: &[usize], back: usize| shape.len().checked_sub(back).map_or(1, |index| shape[index]);
    let axes = x.len().max(y.len());
    if axes > MAX_AXES {
        let larger = if x.len() > y.len() { x } else { y };
        let remedy = format!("use at most {MAX_AXES} axes");
        return Err(CkksError::OutOfRange {
            what: "the array's shape",
            value: format!("{larger:?}"),
            remedy,
        });
    }
    let both = (1..=axes).rev().map(|back| match (axis(x, back), axis(y, back)) {
        (own, other) if own == other || other == 1 => Some(own),
        (1, other) => Some(other),
        _ => None,
    });
    both.collect::<Option<Vec<usize>>>().ok_or_else(|| {
        let remedy =
            "shapes combine where they are equal, axis by axis from the last one, or an axis is 1".to_owned();
        CkksError::Shape { operation, left: x.to_vec(), right: y.to_vec(), remedy }
    })
}

/// For each entry of an array of shape `to`, the entry of one of shape `from` that broadcasts to it, both
/// counted along the rows.
pub(crate) fn broadcast_sources(from: &[usize], to: &[usize]) -> Vec<usize> {
    let mut sources = vec![0];
    let mut step = 1;
    let mut steps = Vec::with_capacity(to.len());
    for back in 1..=to.len() {
        let own = from.len().checked_sub(back).map_or(1, |index| from[index]);
        steps.push(if own == 1 { 0 } else { step });
        step *= own;
    }
    for (&length, &step) in to.iter().zip(steps.iter().rev()) {
        sources = sources.iter().flat_map(|&first| (0..length).map(move |at| first + at * step)).collect();
    }
    sources
}

/// Whether the only number of each row is in all slots of its polynomial.
fn is_everywhere(layout: &Layout) -> bool {
    (layout.columns(), layout.period()) == (1, 1)
}

impl Evaluator {
    /// Both arrays broadcast to their common shape ([`common_shape`]).
    ///
    /// # Errors
    /// [`CkksError::Shape`] if there is no common shape.
    pub fn broadcast_pair<'c>(
        &self,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
        operation: &'static str,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>), CkksError> {
        let shape = common_shape(x.shape(), y.shape(), operation)?;
        // The array that has the common shape, or whose rows share polynomials, determines the places of the
        // numbers; if both have the common shape, the array whose numbers are not in all slots.
        let decides = y.shape() == shape && !(x.shape() == shape && is_everywhere(&y.layout));
        if decides || (y.layout.lanes() > 1 && x.shape() != shape) {
            let y = self.spread(y, &shape)?;
            return Ok((self.spread_like(x, &y)?, y));
        }
        let x = self.spread(x, &shape)?;
        let y = self.spread_like(y, &x)?;
        Ok((x, y))
    }

    /// `x` broadcast to the shape and the places of `like`, in slots. A number in all slots of its polynomial
    /// is at every place. A row, or a single number, is in all lanes, because the slots of its polynomial
    /// repeat.
    fn spread_like<'c>(
        &self,
        x: &'c Ciphertext,
        like: &Ciphertext,
    ) -> Result<Cow<'c, Ciphertext>, CkksError> {
        let (own, to) = (x.layout, like.layout);
        let in_slots = own.encoding() == Encoding::Slots && to.encoding() == Encoding::Slots;
        let placed = x.shape() == like.shape() && own.capacity() == to.capacity();
        if placed || !in_slots || (own.lanes(), own.bodies(), to.bodies()) != (1, 1, 1) {
            return self.spread(x, like.shape());
        }
        let everywhere =
            is_everywhere(&own) && (own.rows() == 1 || (own.rows() == to.rows() && to.lanes() == 1));
        let alike = (own.columns(), own.capacity(), own.copies(), own.order())
            == (to.columns(), to.capacity(), to.copies(), to.order());
        let row = own.rows() == 1 && own.chunks() == 1 && alike;
        if !(everywhere || row) {
            return self.spread(x, like.shape());
        }
        let layout = to.of_numbers(own.is_complex());
        // The row is also in lanes without a row.
        let padding =
            if everywhere || !to.rows().is_multiple_of(to.lanes()) { Padding::Dirty } else { x.padding() };
        let layout = layout.with_padding(padding);
        layout.check(like.shape(), x.params.degree())?;
        if !x.is_symbol() {
            let bytes = x.predicted_bytes() / own.bundles() * layout.bundles();
            check_free(REPETITION, bytes, "combine a few rows at a time, or check the shapes")?;
        }
        // Bundles of the result for each row of `x`.
        let each = if own.rows() == 1 { layout.bundles() } else { layout.bundles_per_line() };
        let bundles = x.bundles.iter().flat_map(|bundle| std::iter::repeat_n(bundle.clone(), each)).collect();
        let repeated = x.with_all((&x.params, like.shape().to_vec()), layout, bundles, (x.level, x.scale));
        // The row is repeated for each row, or the number in each polynomial of a row.
        let rows = if own.rows() == 1 { to.rows() } else { 1 };
        let in_row = |own: Estimate| if everywhere { own.with_number_repeated(to.chunks()) } else { own };
        Ok(Cow::Owned(repeated.estimated(|own| in_row(own).with_rows_repeated(rows, to.lanes()))))
    }

    /// [`Evaluator::broadcast_to`] that borrows an array which already has the shape.
    pub fn spread<'c>(&self, x: &'c Ciphertext, shape: &[usize]) -> Result<Cow<'c, Ciphertext>, CkksError> {
        if x.shape() == shape { Ok(Cow::Borrowed(x)) } else { self.broadcast_to(x, shape).map(Cow::Owned) }
    }

    /// The array broadcast to `shape` by NumPy's rules: repeated along axes of length 1 and along additional
    /// first axes. Rows can be repeated in both encodings, single numbers of rows only in slots.
    ///
    /// # Errors
    /// [`CkksError::Shape`] if the array does not broadcast to the shape; [`CkksError::Unsuitable`] if rows
    /// share a mask or a polynomial; the errors of [`Evaluator::broadcast`].
    pub fn broadcast_to(&self, x: &Ciphertext, shape: &[usize]) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if x.shape() == shape {
            return Ok(x.clone());
        }
        let own = x.shape();
        let fits = own.len() <= shape.len()
            && own.iter().rev().zip(shape.iter().rev()).all(|(&own, &wanted)| own == wanted || own == 1);
        if !fits {
            let remedy = "repeat axes of length 1, or add axes in front".to_owned();
            return Err(CkksError::Shape {
                operation: REPETITION,
                left: own.to_vec(),
                right: shape.to_vec(),
                remedy,
            });
        }
        let (rows, columns) = (shape.iter().rev().skip(1).product(), shape.last().copied().unwrap_or(1));
        let wide = if x.layout.columns() == columns { x.clone() } else { self.broadcast(x, columns)? };
        let layout = wide.layout.of_rows(rows);
        layout.check(shape, x.params.degree())?;
        if wide.layout.rows() == rows {
            return Ok(wide.rearranged(shape.to_vec(), layout));
        }
        check_rows(&wide, REPETITION)?;
        if wide.layout.rows() > 1 {
            let remedy = "repeat single rows, or numbers of rows".to_owned();
            let (left, right) = (own.to_vec(), shape.to_vec());
            return Err(CkksError::Shape { operation: REPETITION, left, right, remedy });
        }
        if !x.is_symbol() {
            check_free(
                REPETITION,
                wide.predicted_bytes().saturating_mul(rows),
                "combine a few rows at a time, or check the shapes",
            )?;
        }
        let bundles: Vec<Bundle<Eval>> =
            if x.is_symbol() { Vec::new() } else { vec![&wide.bundles[..]; rows].concat() };
        let repeated = wide.with_all((&x.params, shape.to_vec()), layout, bundles, (x.level, x.scale));
        Ok(repeated.estimated(|own| own.with_rows_repeated(rows, layout.lanes())))
    }

    /// `factor` times an array of one column in slots, such as sums of rows, as a vector: one product with a
    /// plaintext for each row, not rescaled. The time grows with the number of rows.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless one column whose number is in every slot; [`CkksError::Encoding`] in
    /// coefficients; [`CkksError::Unsuitable`] if rows share a mask.
    pub fn column_to_vector(&self, x: &Ciphertext, factor: f64) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, COLUMN)?;
        check_rows(x, COLUMN)?;
        let &[rows, 1] = x.shape() else {
            let remedy = "the array is a matrix of one column".to_owned();
            return Err(CkksError::Shape {
                operation: COLUMN,
                left: x.shape().to_vec(),
                right: vec![],
                remedy,
            });
        };
        let alone = |row: usize| {
            let number = self.broadcast(&self.select_rows(x, &[row])?.into_vector()?, rows)?;
            self.multiply_mask(&number, |place| place == row, factor)
        };
        let vector = if x.is_symbol() {
            // All rows cost the same.
            self.repeated(rows, || {
                let alone = alone(0)?;
                self.add(&alone, &alone)
            })?
        } else {
            let mut vector = alone(0)?;
            for row in 1..rows {
                self.add_assign(&mut vector, &alone(row)?)?;
            }
            vector
        };
        // Each place holds the number of its row, and the rounding errors of the masks of the other rows.
        let rounding = x.mask_rounding(factor, vector.scale());
        let estimate =
            x.estimate.clone().scale(factor).transposed().with_cleared(&x.estimate, rows, rounding);
        Ok(vector.estimated(|_| estimate))
    }

    /// Repeats the column of an array of one column, so that each row has `columns` equal numbers. The
    /// padding holds the number too, so it is dirty. If rows share polynomials, or numbers have copies,
    /// `columns` is at most the number of copies.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless there is one column; [`CkksError::Encoding`] unless slots;
    /// [`CkksError::Unsuitable`] if the row would need several chunks under one mask; [`CkksError::Empty`],
    /// [`CkksError::OutOfRange`].
    pub fn broadcast(&self, x: &Ciphertext, columns: usize) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, BROADCAST)?;
        if x.layout.lanes() > 1 || x.layout.copies() > 1 {
            return self.broadcast_copies(x, columns);
        }
        if (x.layout.columns(), x.layout.capacity()) != (1, 1) {
            let remedy = "repeat arrays of one column, as sums of rows are".to_owned();
            return Err(CkksError::Shape {
                operation: BROADCAST,
                left: x.shape.clone(),
                right: vec![columns],
                remedy,
            });
        }
        let rows = x.shape.len().saturating_sub(1);
        let shape = [&x.shape[..rows], &[columns]].concat();
        let layout = x.layout.of_shape(&shape)?.with_padding(Padding::Dirty);
        if layout.chunks() > 1 && x.layout.body_axis() == BodyAxis::Chunks && x.layout.bodies() > 1 {
            return Err(CkksError::shared_mask(
                BROADCAST,
                x.layout.bodies(),
                "the chunks of a row would be under different secrets",
                "take the bodies apart with split_mask, or put rows under one mask",
            ));
        }
        let bundles = x
            .bundles
            .iter()
            .flat_map(|bundle| std::iter::repeat_n(bundle.clone(), layout.chunks()))
            .collect();
        let repeated = Ciphertext { shape, ..x.with_layout(layout, bundles) };
        Ok(repeated.estimated(|own| own.with_number_repeated(layout.chunks())))
    }

    /// [`Evaluator::broadcast`] of numbers with several copies: the copies become the numbers of the row.
    fn broadcast_copies(&self, x: &Ciphertext, columns: usize) -> Result<Ciphertext, CkksError> {
        let (copies, lanes) = (x.layout.copies(), x.layout.lanes());
        let shape = [&x.shape[..x.shape.len().saturating_sub(1)], &[columns]].concat();
        if (x.layout.columns(), x.layout.capacity()) != (1, 1) || columns > copies {
            let remedy = format!(
                "each number of the first array is in {copies} neighbouring slots, {lanes} rows in a polynomial: of sums of rows keep the column, or encrypt a \
                 column with `copies` as many as its rows are to have numbers, rounded up to a power of two"
            );
            return Err(CkksError::Shape {
                operation: BROADCAST,
                left: x.shape.clone(),
                right: shape,
                remedy,
            });
        }
        let layout = x.layout.copies_as_columns(columns);
        let padding = if columns < copies { Padding::Dirty } else { x.padding() };
        Ok(x.clone().rearranged(shape, layout.with_padding(padding)))
    }
}
