//! Sums, means and variances along axes, and inner products.

use std::ops::Range;

use clathrate_ckks::keys::Values;
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, Padding};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::object::PyCiphertext;
use crate::arrays::array;
use crate::errors::{exception, out_of_range, raise, raise_for_array};
use crate::numbers::{Whole, Wholes};
use crate::run::detached;

/// The operations' names in errors.
const MEAN: &str = "a mean";
const INNER_PRODUCT: &str = "an inner product";

/// The axes that a reduction adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Along {
    /// None: the array is a single number.
    Nothing,
    /// The last axis: the numbers of each row.
    Columns,
    /// The first of two axes.
    Rows,
    /// Both axes of a matrix.
    Both,
}

/// Refuses a type or a target for a reduction.
fn no_target(dtype: Option<&Bound<'_, PyAny>>, out: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    if dtype.is_some() || out.is_some() {
        return Err(PyTypeError::new_err(
            "a reduction of a ciphertext has no `dtype` and no `out`: it is a new ciphertext of the same kind of numbers",
        ));
    }
    Ok(())
}

/// The axes of a reduction: a whole number, or a tuple of them.
#[derive(Debug)]
pub(super) struct Axes(Vec<Whole>);

impl Axes {
    /// One axis.
    pub(super) fn of(axis: i64) -> Self {
        Self(vec![Whole(axis)])
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Axes {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(axes) = data.cast::<PyTuple>() {
            return axes.iter().map(|axis| axis.extract::<Whole>()).collect::<PyResult<_>>().map(Self);
        }
        Ok(Self(vec![data.extract::<Whole>()?]))
    }
}

impl PyCiphertext {
    fn along(&self, py: Python<'_>, axis: Option<&Axes>) -> PyResult<Along> {
        let count = self.data.shape().len();
        let given = axis.map_or(&[][..], |Axes(axes)| axes);
        let mut places = Vec::new();
        for &Whole(axis) in given {
            let place = if axis < 0 { axis.saturating_add(count as i64) } else { axis };
            if !(0..count as i64).contains(&place) {
                let remedy = match count {
                    0 => "the array has no axes: use None".to_owned(),
                    _ => format!(
                        "the array has {count} axes: use None, or a number from {} to {}",
                        -(count as i64),
                        count as i64 - 1
                    ),
                };
                return Err(out_of_range(py, "`axis`", axis, remedy));
            }
            if places.contains(&place) {
                return Err(out_of_range(
                    py,
                    "`axis`",
                    axis,
                    "it is there twice: name each axis once".to_owned(),
                ));
            }
            places.push(place);
        }
        if axis.is_some() && places.is_empty() {
            return Err(exception(
                py,
                "DataError",
                "`axis` names no axes: use None for all of them".to_owned(),
            ));
        }
        match (count, places.as_slice()) {
            (0, _) => Ok(Along::Nothing),
            (1, _) | (2, [1]) => Ok(Along::Columns),
            (2, [0]) => Ok(Along::Rows),
            (2, _) => Ok(Along::Both),
            _ => Err(exception(
                py,
                "ShapeError",
                format!("the array has {count} axes: vectors and matrices are reduced"),
            )),
        }
    }

    /// How many numbers each number of a reduction comes from.
    fn count(&self, along: Along) -> usize {
        let layout = self.data.layout();
        match along {
            Along::Nothing => 1,
            Along::Columns => layout.columns,
            Along::Rows => layout.rows,
            Along::Both => layout.rows * layout.columns,
        }
    }

    pub(super) fn reshaped(&self, py: Python<'_>, shape: &[usize]) -> PyResult<Self> {
        self.map(py, |_, x| x.clone().reshaped(shape))
    }

    /// Whether several rows share a polynomial in slots.
    fn is_in_lanes(&self) -> bool {
        self.data.encoding() == Encoding::Slots && self.data.layout().lanes > 1
    }

    /// The keys of rotations by the powers of two of steps from `first` to below `end`, as Python code; forth
    /// and back where `both`.
    fn rotations_between(&self, first: usize, end: usize, both: bool) -> String {
        let steps = std::iter::successors(Some(first as i64), |step| Some(2 * step))
            .take_while(|&step| step < end as i64);
        let steps: Vec<i64> =
            steps.flat_map(|step| std::iter::once(step).chain(both.then_some(-step))).collect();
        self.needs_under_secret(&format!("rotations={steps:?}"))
    }

    /// The sum of every row, as one column.
    pub(super) fn totals(&self, py: Python<'_>) -> PyResult<Self> {
        if self.is_in_lanes() {
            return self.totals_in_lanes(py, 1.0);
        }
        let layout = self.data.layout();
        let needs = self.rotations_between(layout.copies, layout.copies * layout.capacity, false);
        self.map_needing(py, &needs, |evaluator, x| evaluator.total(x))
    }

    /// `factor` times the sum of every row that shares a polynomial with others in slots, as one column.
    fn totals_in_lanes(&self, py: Python<'_>, factor: f64) -> PyResult<Self> {
        let layout = self.data.layout();
        let needs = self.rotations_between(layout.copies, layout.copies * layout.capacity, true);
        // Sums may be larger than what a bootstrap takes: where levels run out, that is an error.
        let work = |evaluator: &Evaluator, x: &Ciphertext| {
            evaluator.without_bootstrapping().total_in_lanes(x, factor)
        };
        self.map_needing(py, &needs, work)
    }

    /// Sums with axes of length 1 in place of those that were added up.
    fn sums(&self, py: Python<'_>, along: Along) -> PyResult<Self> {
        match along {
            Along::Nothing => Ok(self.again(py)),
            Along::Columns => self.cleared(py)?.totals(py),
            Along::Rows if self.is_in_lanes() => {
                let layout = self.data.layout();
                // Slots of lanes without a row are added, too.
                let whole =
                    if layout.rows.is_multiple_of(layout.lanes) { self.again(py) } else { self.cleared(py)? };
                let needs = self.rotations_between(layout.lane_offset(1), layout.period(), false);
                whole
                    .map_needing(py, &needs, |evaluator, x| evaluator.sum_of_rows(x))?
                    .reshaped(py, &[1, layout.columns])
            }
            Along::Rows => {
                let columns = self.data.layout().columns;
                self.map(py, |evaluator, x| evaluator.sum_of_rows(x))?.reshaped(py, &[1, columns])
            }
            Along::Both => self.sums(py, Along::Rows)?.sums(py, Along::Columns),
        }
    }

    /// `factor` times this array. In slots the product clears the padding.
    fn share(&self, py: Python<'_>, factor: f64) -> PyResult<Self> {
        if self.data.encoding() != Encoding::Slots || self.data.padding() == Padding::Zero {
            return self.multiply_by(py, factor);
        }
        self.share_with_zeros(py, factor)
    }

    /// `factor` times the numbers, and zero times what is behind them in slots.
    fn share_with_zeros(&self, py: Python<'_>, factor: f64) -> PyResult<Self> {
        let converted = self.brought_to_slots(py, self)?;
        let own = converted.as_ref().unwrap_or(self);
        own.map_factor(
            py,
            |error| raise(py, error),
            |evaluator, x| evaluator.multiply_mask(x, |_| true, factor),
        )
    }

    /// The number nearest to `1 / count` that a factor of this array is without rounding: so many shares of a
    /// number are together a number that rounds no more.
    fn exact_share(&self, py: Python<'_>, count: usize) -> PyResult<f64> {
        let evaluator = self.evaluator();
        let scale =
            evaluator.factor_scale(&*self.factor(py, &evaluator)?).map_err(|error| raise(py, error))?;
        Ok((scale / count as f64).round() / scale)
    }

    /// `factor` times the sums, without the axes that were added up unless `keepdims`. Numbers are multiplied
    /// before they are added, so that means are no larger than they on the way, which bootstraps need; but
    /// for sums of rows that share polynomials, whose one product comes behind the sum.
    fn scaled_sums(
        &self,
        py: Python<'_>,
        along: Along,
        keepdims: bool,
        factor: Option<f64>,
    ) -> PyResult<Self> {
        if along == Along::Columns && !keepdims && self.data.shape().len() == 2 && self.data.layout().rows > 1
        {
            return if self.is_in_lanes() {
                let column = self.filled(py)?.totals_in_lanes(py, factor.unwrap_or(1.0))?;
                column.reshaped(py, &[self.data.layout().rows])
            } else {
                self.sums_as_vector(py, factor)
            };
        }
        if along == Along::Columns && keepdims && self.is_in_lanes() {
            return self.filled(py)?.totals_in_lanes(py, factor.unwrap_or(1.0));
        }
        let sums = match factor {
            Some(factor) => self.share(py, factor)?.sums(py, along)?,
            None => self.sums(py, along)?,
        };
        if keepdims {
            return Ok(sums);
        }
        let kept: &[usize] = match along {
            Along::Nothing | Along::Both => &[],
            Along::Columns => &self.data.shape()[..self.data.shape().len() - 1],
            Along::Rows => &self.data.shape()[1..],
        };
        sums.reshaped(py, kept)
    }

    /// The mean along an axis. In slots, where an array has places behind its numbers, it remembers the sum,
    /// for [`Self::centred`]; of rows that share polynomials, which take the level of a mean for their sum,
    /// the mean itself.
    fn means(&self, py: Python<'_>, along: Along, keepdims: bool) -> PyResult<Self> {
        let (count, layout) = (self.count(along), self.data.layout());
        let stays = keepdims || along == Along::Both || layout.rows == 1;
        // Of parameters that bootstrap, not of keys that do: a dry run finds the keys, and takes the same
        // steps.
        let small = self.data.params().has_bootstrap_levels();
        let plain =
            self.data.encoding() == Encoding::Slots && !self.is_in_lanes() && self.is_automatic() && !small;
        let padded =
            layout.has_padding() && self.data.padding() == Padding::Zero && self.data.has_canonical_scale();
        // Twice the sum of numbers as large as the bound has room.
        let headroom = self.data.params().log2_q(self.data.level())
            - 3.0
            - self.data.scale().log2()
            - (count as f64).log2();
        let fits = self.data.bound().is_none_or(|bound| bound.log2() < headroom);
        if !(stays && plain && padded && fits && matches!(along, Along::Columns | Along::Both)) {
            let means = self.scaled_sums(py, along, keepdims, Some(1.0 / count as f64))?;
            // A mean of rows is in the places of columns, and in lanes without a row.
            let behind =
                layout.has_padding() && (along != Along::Rows || !layout.rows.is_multiple_of(layout.lanes));
            if self.is_in_lanes() && behind {
                let _ = means.mean_of.set((means.data.clone(), 1));
            }
            return Ok(means);
        }
        let sums = self.scaled_sums(py, along, keepdims, None)?;
        let means = sums.multiply_by(py, 1.0 / count as f64)?;
        // It is set once, here.
        let _ = means.mean_of.set((sums.data.clone(), count));
        Ok(means)
    }

    /// `x - mean` with zeros behind the numbers of each row, where the difference alone would have the
    /// negative mean there: its square times the rounding of a zero would enter every sum. It is `(n x - sum)
    /// / n`, of which `n x - sum` is exact, and the product with 1 / n in the places of numbers takes the
    /// level that a mean takes. Of rows that share polynomials it takes a level more.
    ///
    /// Nothing where the other operand is no mean of arrays like this one.
    pub(super) fn centred(&self, py: Python<'_>, mean: &Self) -> PyResult<Option<Self>> {
        let Some((sum, count)) = mean.mean_of.get() else { return Ok(None) };
        let x = &self.data;
        if self.is_in_lanes() {
            let difference = self.difference(py, mean)?.rescaled_anyway(py)?;
            // At level 0 nothing is multiplied any more.
            return if difference.data.level().0 == 0 {
                Ok(Some(difference))
            } else {
                difference.cleared(py).map(Some)
            };
        }
        let alike = x.encoding() == Encoding::Slots
            && x.padding() == Padding::Zero
            && x.layout().has_padding()
            && x.layout().bodies == 1
            && (x.level(), x.params(), x.secret()) == (sum.level(), sum.params(), sum.secret())
            && x.scale() == sum.scale()
            && x.is_symbol() == sum.is_symbol();
        let rows = x.layout().rows;
        let fits = sum.layout().period() == 1
            && (sum.layout().rows == 1
                || (sum.layout().rows == rows && sum.shape().len() == x.shape().len()));
        let headroom = x.params().log2_q(x.level()) - 2.0 - x.scale().log2();
        let largest = x.bound().zip(sum.bound()).map(|(own, sum)| own * *count as f64 + sum);
        if !alike || !fits || x.level().0 == 0 || largest.is_some_and(|largest| largest.log2() > headroom) {
            return Ok(None);
        }
        let holder = if self.has_keys() { self } else { mean };
        let evaluator = holder.evaluator().without_bootstrapping();
        let count = *count;
        let centred = crate::run::detached(py, || {
            x.check_room_for_another(MEAN)?;
            let (x, sum) = evaluator.broadcast_pair(x, sum, MEAN)?;
            let difference = evaluator.sub(&evaluator.multiply_integer(&x, count as i128)?, &sum)?;
            evaluator.multiply_mask(&difference, |_| true, 1.0 / count as f64)
        })?;
        holder.beside(py, centred).map(Some)
    }

    /// The squares of the differences from the mean along axes, not yet rescaled; where there is a `share`,
    /// so many times, and with zeros behind the numbers.
    fn squared_differences(&self, py: Python<'_>, along: Along, share: Option<f64>) -> PyResult<Self> {
        let count = self.count(along);
        let (centred, factor) = if let Some(share) = share {
            let unit = self.exact_share(py, count)?;
            let one = unit * count as f64;
            let means = self.scaled_sums(py, along, true, Some(unit))?;
            (self.multiply_by(py, one)?.difference(py, &means)?, Some(share.sqrt() / one))
        } else {
            (self.minus(py, &self.means(py, along, true)?)?, None)
        };
        let centred = centred.rescaled_anyway(py)?;
        let centred = match factor {
            Some(factor) => centred.share_with_zeros(py, factor)?.rescaled_anyway(py)?,
            None => centred,
        };
        if !self.data.is_complex() {
            return centred.times(py, &centred);
        }
        let needs = self.needs_under_secret("conjugate=True");
        let conjugates = centred.map_needing(py, &needs, |evaluator, x| evaluator.conjugate(x))?;
        centred.times(py, &conjugates)
    }

    /// This array with zeros behind each row, where there are places.
    fn filled(&self, py: Python<'_>) -> PyResult<Self> {
        let layout = self.data.layout();
        if layout.columns == layout.capacity { Ok(self.again(py)) } else { self.cleared(py) }
    }

    /// `factor` times the sum of every row, as a vector.
    fn sums_as_vector(&self, py: Python<'_>, factor: Option<f64>) -> PyResult<Self> {
        if self.data.encoding() != Encoding::Slots {
            let rows = self.data.layout().rows;
            let message = format!(
                "sums of {rows} rows in coefficients are in {rows} polynomials, and no vector: keep the axis with `keepdims=True`, or encrypt the array \
                 with `encoding=\"slots\"`"
            );
            return Err(exception(py, "ShapeError", message));
        }
        // Sums may be larger than what a bootstrap takes: where levels run out, that is an error.
        let vector = |evaluator: &Evaluator, x: &Ciphertext| {
            evaluator.without_bootstrapping().column_to_vector(x, factor.unwrap_or(1.0))
        };
        self.sums(py, Along::Columns)?.map_settled(py, vector)
    }

    /// The product of the numbers of each row in slots, as one column: by rotations by half the places, a
    /// quarter, .., 1.
    fn row_products(&self, py: Python<'_>) -> PyResult<Self> {
        let layout = *self.data.layout();
        if self.is_in_lanes() || layout.chunks > 1 {
            let message = if layout.chunks > 1 {
                let capacity = layout.capacity;
                format!(
                    "a row of {} numbers takes several polynomials: multiply the products of parts, `x[:{capacity}].prod() * x[{capacity}:].prod()`",
                    layout.columns
                )
            } else {
                "rows that share polynomials would be multiplied with each other: encrypt the array without `lanes`".to_owned()
            };
            return Err(exception(py, "ShapeError", message));
        }
        let needs = self.rotations_between(layout.copies, layout.copies * layout.capacity, false);
        self.cleared(py)?.map_needing(py, &needs, |evaluator, x| evaluator.row_product(x))
    }

    /// The product of all rows, entry by entry, as one row: of the upper half with the lower one, and so on.
    fn product_of_rows(&self, py: Python<'_>) -> PyResult<Self> {
        let rows = self.data.layout().rows;
        if rows == 1 {
            return Ok(self.again(py));
        }
        let part = |rows: Range<usize>| {
            self.map(py, |evaluator, x| evaluator.select_rows(x, &rows.collect::<Vec<_>>()))
        };
        let half = rows / 2;
        let product = part(0..half)?.times(py, &part(half..2 * half)?)?.rescaled_anyway(py)?;
        if rows.is_multiple_of(2) {
            return product.product_of_rows(py);
        }
        let last = part(rows - 1..rows)?;
        let last = last.settled(py, &last.evaluator())?;
        let (evaluator, product_data) = (product.evaluator(), product.data.clone());
        let together = detached(py, || evaluator.concatenate(&[&*product_data, &*last]))?;
        product.beside(py, together)?.product_of_rows(py)
    }

    /// The inner product of two encrypted vectors.
    pub(super) fn dot_encrypted(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.check_lengths(py, other.data.shape())?;
        let product = self.times(py, other)?.rescaled_anyway(py)?;
        product.scaled_sums(py, Along::Columns, false, None)
    }

    /// The inner product of an encrypted vector and a plain one.
    pub(super) fn dot_plain(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let weights = array(other)?;
        self.check_lengths(py, &weights.shape)?;
        if self.data.encoding() == Encoding::Slots {
            return self.multiply_values(py, weights, INNER_PRODUCT, false)?.scaled_sums(
                py,
                Along::Columns,
                false,
                None,
            );
        }
        let Values::Real(values) = weights.values else {
            let message = "coefficients take real weights: multiply by the real and the imaginary part in turn, or encrypt in slots";
            return Err(exception(py, "DataError", message.to_owned()));
        };
        let translate = |error| raise_for_array(py, error, &weights.shape);
        self.map_factor(py, translate, |evaluator, x| evaluator.total_weighted(x, &values))?.reshaped(py, &[])
    }

    /// The product of a matrix in slots with a vector, plain or encrypted: the inner products of its rows
    /// with the vector.
    pub(super) fn times_vector(
        &self,
        py: Python<'_>,
        vector: &Bound<'_, PyAny>,
        encrypted: Option<&Self>,
    ) -> PyResult<Self> {
        let columns = self.data.layout().columns;
        let product = match encrypted {
            Some(vector) if vector.data.shape() == [columns] => self.times(py, vector)?,
            Some(vector) => return Err(self.vector_error(py, vector.data.shape())),
            None => {
                let plain = array(vector)?;
                if plain.shape != [columns] {
                    return Err(self.vector_error(py, &plain.shape));
                }
                self.multiply_values(py, plain, INNER_PRODUCT, false)?
            }
        };
        product.rescaled_anyway(py)?.scaled_sums(py, Along::Columns, false, None)
    }

    fn vector_error(&self, py: Python<'_>, length: &[usize]) -> PyErr {
        let remedy =
            format!("the vector has one number for each of the {} columns", self.data.layout().columns);
        let left = self.data.shape().to_vec();
        raise(py, CkksError::Shape { operation: INNER_PRODUCT, left, right: length.to_vec(), remedy })
    }

    fn check_lengths(&self, py: Python<'_>, other: &[usize]) -> PyResult<()> {
        if self.data.shape() == other {
            return Ok(());
        }
        let remedy = "both are vectors of one length".to_owned();
        let (left, right) = (self.data.shape().to_vec(), other.to_vec());
        Err(raise(py, CkksError::Shape { operation: INNER_PRODUCT, left, right, remedy }))
    }
}

#[pymethods]
impl PyCiphertext {
    pub(super) fn sum(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        no_target(dtype, out)?;
        let along = self.along(py, axis.as_ref())?;
        self.scaled_sums(py, along, keepdims, None)
    }

    fn prod(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        no_target(dtype, out)?;
        // Products are those of slots.
        if let Some(converted) = self.brought_to_slots(py, self)? {
            return converted.prod(py, axis, keepdims, None, None);
        }
        let shape = self.data.shape();
        let along = self.along(py, axis.as_ref())?;
        if along == Along::Nothing {
            return Ok(self.again(py));
        }
        let rows = if along == Along::Columns || shape.len() < 2 {
            self.again(py)
        } else {
            self.product_of_rows(py)?
        };
        let product = if along == Along::Rows { rows } else { rows.row_products(py)? };
        match (along, shape) {
            _ if keepdims => Ok(product),
            (Along::Rows, &[_, columns]) => product.reshaped(py, &[columns]),
            (Along::Columns, &[rows, _]) if rows > 1 => {
                product.map_settled(py, |evaluator, x| evaluator.column_to_vector(x, 1.0))
            }
            (Along::Columns, &[rows, _]) => product.reshaped(py, &[rows]),
            _ => product.reshaped(py, &[]),
        }
    }

    fn mean(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        no_target(dtype, out)?;
        let along = self.along(py, axis.as_ref())?;
        self.means(py, along, keepdims)
    }

    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn var(
        &self,
        py: Python<'_>,
        axis: Option<Axes>,
        ddof: Whole,
        keepdims: bool,
        dtype: Option<&Bound<'_, PyAny>>,
        out: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        no_target(dtype, out)?;
        // Squares are those of slots.
        if let Some(converted) = self.brought_to_slots(py, self)? {
            return converted.var(py, axis, ddof, keepdims, None, None);
        }
        let along = self.along(py, axis.as_ref())?;
        let count = self.count(along);
        let left =
            i64::try_from(count).ok().and_then(|count| count.checked_sub(ddof.0)).filter(|&left| left > 0);
        let left = left.ok_or_else(|| {
            out_of_range(py, "`ddof`", ddof.0, format!("there are {count} numbers: use less"))
        })?;
        let share = 1.0 / left as f64;
        // The difference from the mean has the mean behind its numbers. The root of the share, with zeros
        // there, is a factor of the differences, and so stands twice in their squares: what its rounding
        // leaves behind the numbers is squared.
        let masked = !self.is_in_lanes() && self.data.layout().has_padding() && along != Along::Rows;
        let squares = self.squared_differences(py, along, masked.then_some(share))?;
        // A vector takes a product more, and whoever rescales himself gets the last one as it is.
        let last = masked && (keepdims || along == Along::Both || self.data.layout().rows == 1);
        let squares = if last { squares } else { squares.rescaled_anyway(py)? };
        squares.scaled_sums(py, along, keepdims, (!masked).then_some(share))
    }

    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let axes: Wholes = match shape.len() {
            1 => shape.get_item(0)?.extract().or_else(|_| shape.extract())?,
            _ => shape.extract()?,
        };
        let refuse = |value: i64| {
            out_of_range(py, "an axis of the shape", value, "use numbers above 0, and -1 once at most")
        };
        let unknown = axes.0.iter().filter(|Whole(axis)| *axis == -1).count();
        let size = self.data.layout().rows * self.data.layout().columns;
        let known =
            axes.0.iter().filter(|Whole(axis)| *axis != -1).try_fold(1usize, |product, Whole(axis)| {
                let axis =
                    usize::try_from(*axis).ok().filter(|&axis| axis > 0).ok_or_else(|| refuse(*axis))?;
                product.checked_mul(axis).ok_or_else(|| refuse(i64::MAX))
            })?;
        if unknown > 1 {
            return Err(refuse(-1));
        }
        let length = |Whole(axis): Whole| usize::try_from(axis).unwrap_or(size / known);
        let wanted: Vec<usize> = axes.0.iter().copied().map(length).collect();
        self.reshaped(py, &wanted)
    }
}
