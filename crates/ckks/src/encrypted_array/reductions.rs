//! Sums, means, variances and products along axes, and inner products.

use std::ops::Range;

use super::matrix::places_along;
use super::{ArrayOperation, EncryptedArray, Operand, PlainArray};
use crate::arrays::{Encoding, Padding};
use crate::circuits::linear::gather::{in_rows_alone, is_movable};
use crate::encoding::values::Values;
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// The operations' names in errors.
const MEAN: &str = "a mean";
const SUM: &str = "a sum";
const INNER_PRODUCT: &str = "an inner product";

/// The axes that a reduction adds up, where they are all rows, or all columns, or both. Axes before the last
/// one count rows together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    /// None: the array is a single number.
    Nothing,
    /// The last axis: the numbers of each row.
    Columns,
    /// All axes but the last one.
    Rows,
    /// All axes.
    Both,
}

/// The axes of a reduction, in ascending order.
fn axes_of(count: usize, axes: Option<&[i64]>) -> Result<Vec<usize>, CkksError> {
    let refused =
        |axis: String, remedy: String| CkksError::OutOfRange { what: "`axis`", value: axis, remedy };
    let Some(axes) = axes else { return Ok((0..count).collect()) };
    let mut places = Vec::new();
    for &axis in axes {
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
            return Err(refused(axis.to_string(), remedy));
        }
        if places.contains(&(place as usize)) {
            let remedy = "it is there twice: name each axis once".to_owned();
            return Err(refused(axis.to_string(), remedy));
        }
        places.push(place as usize);
    }
    if axes.is_empty() {
        return Err(refused("()".to_owned(), "it names no axes: use None for all of them".to_owned()));
    }
    places.sort_unstable();
    Ok(places)
}

impl Along {
    /// The axes `axes` of an array with `count` axes; `None` if they are neither all but the last, nor the
    /// last, nor all.
    fn new(count: usize, axes: &[usize]) -> Option<Self> {
        let (first, last) = (axes.first() == Some(&0), axes.last() == Some(&(count.saturating_sub(1))));
        match axes.len() {
            _ if count == 0 => Some(Self::Nothing),
            1 if last => Some(Self::Columns),
            all if all == count => Some(Self::Both),
            rows if rows + 1 == count && first && !last => Some(Self::Rows),
            _ => None,
        }
    }
}

impl EncryptedArray {
    /// The sum along `axes`, counted as NumPy counts them; of all numbers if absent. The axes stay, with
    /// length 1, if `keepdims`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for axes that the array does not have; [`CkksError::Shape`] for sums of rows
    /// in coefficients as a vector; [`CkksError::MissingKey`]; [`CkksError::LevelTooLow`].
    pub fn sum(&self, axes: Option<&[i64]>, keepdims: bool) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::Sum { axes: axes.map(<[i64]>::to_vec), keepdims };
            return graph.record(operation, &[self.into()], || self.sum(axes, keepdims));
        }
        match self.along(axes)? {
            Ok(along) => self.scaled_sums(along, keepdims, None),
            Err(axes) => self.sum_along(&axes, keepdims),
        }
    }

    /// The mean along `axes`, as [`EncryptedArray::sum`]. In slots, an array that has places behind its
    /// numbers remembers the sum, so that the array minus its mean has zeros there.
    ///
    /// # Errors
    /// As [`EncryptedArray::sum`].
    pub fn mean(&self, axes: Option<&[i64]>, keepdims: bool) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::Mean { axes: axes.map(<[i64]>::to_vec), keepdims };
            return graph.record(operation, &[self.into()], || self.mean(axes, keepdims));
        }
        match self.along(axes)? {
            Ok(along) => self.means(along, keepdims),
            Err(axes) => self.mean_along(&axes, keepdims),
        }
    }

    /// The variance along `axes`, as [`EncryptedArray::sum`]: squares of differences from the mean, of
    /// complex numbers squares of magnitudes, over the count less `ddof`.
    ///
    /// # Errors
    /// As [`EncryptedArray::sum`]; [`CkksError::OutOfRange`] for a `ddof` of the count or more;
    /// [`CkksError::MissingKey`]; [`CkksError::Encoding`] for an array in coefficients without the
    /// keys to convert it.
    pub fn variance(&self, axes: Option<&[i64]>, ddof: i64, keepdims: bool) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::Variance { axes: axes.map(<[i64]>::to_vec), ddof, keepdims };
            return graph.record(operation, &[self.into()], || self.variance(axes, ddof, keepdims));
        }
        // Squares are those of slots.
        if let Some(converted) = self.brought_to_slots(self)? {
            return converted.variance(axes, ddof, keepdims);
        }
        let along = self.along(axes)?;
        let count = match &along {
            Ok(along) => self.count(*along),
            Err(axes) => axes.iter().map(|&axis| self.data.shape()[axis]).product(),
        };
        let left = i64::try_from(count).ok().and_then(|count| count.checked_sub(ddof));
        let left = left.filter(|&left| left > 0).ok_or_else(|| CkksError::OutOfRange {
            what: "`ddof`",
            value: ddof.to_string(),
            remedy: format!("there are {count} numbers: use less"),
        })?;
        let share = 1.0 / left as f64;
        let along = match along {
            Ok(along) => along,
            Err(axes) => {
                let centred = self.difference(&self.mean_along(&axes, true)?)?.rescaled_anyway()?;
                return centred
                    .squares()?
                    .rescaled_anyway()?
                    .share(share)?
                    .rescaled_anyway()?
                    .sum_along(&axes, keepdims);
            }
        };
        // The difference from the mean has the mean behind its numbers. The root of the share, with zeros
        // there, is a factor of the differences, and so stands twice in their squares: what its rounding
        // leaves behind the numbers is squared.
        let masked = !self.is_in_lanes() && self.data.layout().has_padding() && along != Along::Rows;
        let squares = self.squared_differences(along, masked.then_some(share))?;
        // A vector takes a product more, and whoever rescales himself gets the last one as it is.
        let last = masked && (keepdims || along == Along::Both || self.data.layout().rows() == 1);
        let squares = if last { squares } else { squares.rescaled_anyway()? };
        squares.scaled_sums(along, keepdims, (!masked).then_some(share))
    }

    /// The product of the numbers along `axes`, as [`EncryptedArray::sum`].
    ///
    /// # Errors
    /// As [`EncryptedArray::sum`]; [`CkksError::MissingKey`]; level errors.
    pub fn product(&self, axes: Option<&[i64]>, keepdims: bool) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::Product { axes: axes.map(<[i64]>::to_vec), keepdims };
            return graph.record(operation, &[self.into()], || self.product(axes, keepdims));
        }
        // Products are those of slots.
        if let Some(converted) = self.brought_to_slots(self)? {
            return converted.product(axes, keepdims);
        }
        let shape = self.data.shape();
        let along = match self.along(axes)? {
            Ok(along) => along,
            Err(places) => {
                // The factors of each product become a row.
                let kept: Vec<usize> = (0..shape.len()).filter(|axis| !places.contains(axis)).collect();
                let order = [&kept[..], &places].concat();
                let rows: usize = kept.iter().map(|&axis| shape[axis]).product();
                let numbers = places_along(shape, &order).into_iter().map(Some).collect::<Vec<_>>();
                let factors = self.gathered(&[rows, numbers.len() / rows], &numbers)?;
                let (result, _) = self.places_of_sums(&places, keepdims);
                return factors.product(Some(&[1]), false)?.reshaped(&result);
            }
        };
        // Rows that share polynomials would be multiplied with each other.
        if self.is_in_lanes() && is_movable(&self.data) {
            return self.map_settled(in_rows_alone)?.product(axes, keepdims);
        }
        if along == Along::Nothing {
            return Ok(self.clone());
        }
        if shape.len() > 2 {
            // Products of rows are those of a matrix.
            let layout = self.data.layout();
            let axes: &[i64] = if along == Along::Rows { &[0] } else { &[0, 1] };
            let product = self.reshaped(&[layout.rows(), layout.columns()])?.product(Some(axes), keepdims)?;
            let ones = vec![1; if keepdims { shape.len() - 2 } else { 0 }];
            let result = [&ones[..], product.data.shape()].concat();
            return product.reshaped(&result);
        }
        let rows =
            if along == Along::Columns || shape.len() < 2 { self.clone() } else { self.product_of_rows()? };
        let product = if along == Along::Rows { rows } else { rows.row_products()? };
        match (along, shape) {
            _ if keepdims => Ok(product),
            (Along::Rows, &[_, columns]) => product.reshaped(&[columns]),
            (Along::Columns, &[rows, _]) if rows > 1 => {
                product.map_settled(|evaluator, x| evaluator.column_to_vector(x, 1.0))
            }
            (Along::Columns, &[rows, _]) => product.reshaped(&[rows]),
            _ => product.reshaped(&[]),
        }
    }

    /// The sum of every row, as one column.
    ///
    /// # Errors
    /// As [`EncryptedArray::sum`].
    pub fn sum_rows(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::SumRows, &[self.into()], || self.sum_rows());
        }
        if self.is_in_lanes() { self.totals_in_lanes(1.0) } else { self.map_settled(Evaluator::total) }
    }

    /// The inner product with another vector.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless both are vectors of one length; as [`EncryptedArray::mul`] and
    /// [`EncryptedArray::sum`].
    pub fn dot<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, CkksError> {
        let other = other.into();
        if let Some(graph) = self.recorder_with(&other) {
            return graph.record(ArrayOperation::Dot, &[self.into(), other.clone()], || self.dot(other));
        }
        match other {
            Operand::Encrypted(other) => {
                self.check_lengths(other.data.shape())?;
                let product = self.times(other)?.rescaled_anyway()?;
                product.scaled_sums(Along::Columns, false, None)
            }
            Operand::Plain(weights) => self.dot_plain(weights),
            Operand::Number(number) | Operand::Integer(number) => self.dot_plain(PlainArray::number(number)),
        }
    }

    fn dot_plain(&self, weights: PlainArray) -> Result<Self, CkksError> {
        self.check_lengths(&weights.shape)?;
        if self.data.encoding() == Encoding::Slots {
            let product = self.multiply_plain(weights, INNER_PRODUCT, false)?;
            return product.scaled_sums(Along::Columns, false, None);
        }
        let Values::Real(values) = weights.values else {
            let reason = "coefficients take real weights: multiply by the real and the imaginary part in turn, or encrypt in slots";
            return Err(CkksError::Unsuitable { operation: INNER_PRODUCT, reason: reason.to_owned() });
        };
        let shape = weights.shape;
        let total = self.map_factor(|evaluator, x| {
            evaluator.total_weighted(x, &values).map_err(|error| error.in_shape(&shape))
        });
        total?.reshaped(&[])
    }

    /// The product of a matrix in slots with a vector: the inner products of its rows with the vector.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless the vector has a number for each column; as [`EncryptedArray::mul`] and
    /// [`EncryptedArray::sum`].
    pub fn times_vector<'a>(&self, vector: impl Into<Operand<'a>>) -> Result<Self, CkksError> {
        let vector = vector.into();
        if let Some(graph) = self.recorder_with(&vector) {
            return graph.record(ArrayOperation::TimesVector, &[self.into(), vector.clone()], || {
                self.times_vector(vector)
            });
        }
        let columns = self.data.layout().columns();
        let check = |shape: &[usize]| {
            if shape == [columns] {
                return Ok(());
            }
            let remedy = format!("the vector has one number for each of the {columns} columns");
            let left = self.data.shape().to_vec();
            Err(CkksError::Shape { operation: INNER_PRODUCT, left, right: shape.to_vec(), remedy })
        };
        let product = match vector {
            Operand::Encrypted(vector) => {
                check(vector.data.shape())?;
                self.times(vector)?
            }
            plain => {
                let plain = plain.into_plain()?;
                check(&plain.shape)?;
                self.multiply_plain(plain, INNER_PRODUCT, false)?
            }
        };
        product.rescaled_anyway()?.scaled_sums(Along::Columns, false, None)
    }

    /// The axes as rows and columns, or their places where they are neither. Of more than two axes, sums of
    /// the last one are sums along places too, because they take a mask and the shape another one.
    fn along(&self, axes: Option<&[i64]>) -> Result<Result<Along, Vec<usize>>, CkksError> {
        let count = self.data.shape().len();
        let axes = axes_of(count, axes)?;
        Ok(match Along::new(count, &axes) {
            Some(Along::Columns) if count > 2 => Err(axes),
            Some(along) => Ok(along),
            None => Err(axes),
        })
    }

    /// The shape without the axes `axes`, or with length 1 in their place, and the places of the numbers of
    /// each sum along them, the first one of each sum first.
    fn places_of_sums(&self, axes: &[usize], keepdims: bool) -> (Vec<usize>, Vec<usize>) {
        let shape = self.data.shape();
        let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        let order: Vec<usize> = axes.iter().chain(&kept).copied().collect();
        let result = if keepdims {
            (0..shape.len()).map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] }).collect()
        } else {
            kept.iter().map(|&axis| shape[axis]).collect()
        };
        (result, places_along(shape, &order))
    }

    /// The sum along any axes, in slots: numbers move to rows, which are added.
    fn sum_along(&self, axes: &[usize], keepdims: bool) -> Result<Self, CkksError> {
        let (shape, sources) = self.places_of_sums(axes, keepdims);
        self.sums_of(&shape, &sources)
    }

    /// The mean along any axes, in slots: the sum of numbers that are multiplied where they move.
    fn mean_along(&self, axes: &[usize], keepdims: bool) -> Result<Self, CkksError> {
        let sums = self.sum_along(axes, keepdims)?;
        let count: usize = axes.iter().map(|&axis| self.data.shape()[axis]).product();
        sums.multiply_by(1.0 / count as f64)
    }

    /// The squares of the magnitudes, not yet rescaled.
    fn squares(&self) -> Result<Self, CkksError> {
        if !self.data.is_complex() {
            return self.times(self);
        }
        self.times(&self.map_settled(Evaluator::conjugate)?)
    }

    /// How many numbers each number of a reduction comes from.
    fn count(&self, along: Along) -> usize {
        let layout = self.data.layout();
        match along {
            Along::Nothing => 1,
            Along::Columns => layout.columns(),
            Along::Rows => layout.rows(),
            Along::Both => layout.rows() * layout.columns(),
        }
    }

    /// `factor` times the sum of every row that shares a polynomial with others in slots, as one column.
    fn totals_in_lanes(&self, factor: f64) -> Result<Self, CkksError> {
        // Sums may be larger than what a bootstrap takes: where levels run out, that is an error.
        self.map_settled(|evaluator, x| evaluator.without_bootstrapping().total_in_lanes(x, factor))
    }

    /// Sums with axes of length 1 in place of those that were added up.
    fn sums(&self, along: Along) -> Result<Self, CkksError> {
        let layout = self.data.layout();
        match along {
            Along::Nothing => Ok(self.clone()),
            Along::Columns => self.cleared()?.sum_rows(),
            Along::Rows if self.is_in_lanes() => {
                // Slots of lanes without a row are added, too.
                let whole =
                    if layout.rows().is_multiple_of(layout.lanes()) { self.clone() } else { self.cleared()? };
                whole.map_settled(Evaluator::sum_of_rows)?.reshaped(&[1, layout.columns()])
            }
            Along::Rows => self.map(Evaluator::sum_of_rows)?.reshaped(&[1, layout.columns()]),
            Along::Both => self.sums(Along::Rows)?.sums(Along::Columns),
        }
    }

    /// `factor` times this array. In slots the product clears the padding.
    fn share(&self, factor: f64) -> Result<Self, CkksError> {
        if self.data.encoding() != Encoding::Slots || self.data.padding() == Padding::Zero {
            return self.multiply_by(factor);
        }
        self.share_with_zeros(factor)
    }

    /// `factor` times the numbers, and zero times what is behind them in slots.
    fn share_with_zeros(&self, factor: f64) -> Result<Self, CkksError> {
        self.in_slots()?.map_factor(|evaluator, x| evaluator.multiply_mask(x, |_| true, factor))
    }

    /// The number nearest to `1 / count` that a factor of this array is without rounding: so many shares of a
    /// number are together a number that rounds no more.
    fn exact_share(&self, count: usize) -> Result<f64, CkksError> {
        let scale = self.evaluator.factor_scale(&*self.factor_by(&self.evaluator)?)?;
        Ok((scale / count as f64).round() / scale)
    }

    /// `factor` times the sums, without the axes that were added up unless `keepdims`. Numbers are multiplied
    /// before they are added, so that means are no larger than they on the way, which bootstraps need; but
    /// for sums of rows that share polynomials, whose one product comes behind the sum.
    pub(super) fn scaled_sums(
        &self,
        along: Along,
        keepdims: bool,
        factor: Option<f64>,
    ) -> Result<Self, CkksError> {
        let (shape, layout) = (self.data.shape(), self.data.layout());
        if along == Along::Columns && !keepdims && shape.len() == 2 && layout.rows() > 1 {
            return if self.is_in_lanes() {
                let column = self.filled()?.totals_in_lanes(factor.unwrap_or(1.0))?;
                column.reshaped(&[layout.rows()])
            } else {
                self.sums_as_vector(factor)
            };
        }
        if along == Along::Columns && keepdims && self.is_in_lanes() {
            return self.filled()?.totals_in_lanes(factor.unwrap_or(1.0));
        }
        let sums = match factor {
            Some(factor) => self.share(factor)?.sums(along)?,
            None => self.sums(along)?,
        };
        if keepdims {
            // Sums of rows are a matrix of one row.
            let ones = vec![1; shape.len().saturating_sub(sums.data.shape().len())];
            return sums.reshaped(&[&ones[..], sums.data.shape()].concat());
        }
        let kept: &[usize] = match along {
            Along::Nothing | Along::Both => &[],
            Along::Columns => &shape[..shape.len() - 1],
            Along::Rows => &shape[shape.len() - 1..],
        };
        sums.reshaped(kept)
    }

    /// The mean. Of rows that share polynomials, which take the level of a mean for their sum, the mean
    /// remembers itself.
    fn means(&self, along: Along, keepdims: bool) -> Result<Self, CkksError> {
        let (count, layout) = (self.count(along), self.data.layout());
        let stays = keepdims || along == Along::Both || layout.rows() == 1;
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
            let means = self.scaled_sums(along, keepdims, Some(1.0 / count as f64))?;
            // A mean of rows is in the places of columns, and in lanes without a row.
            let behind = layout.has_padding()
                && (along != Along::Rows || !layout.rows().is_multiple_of(layout.lanes()));
            if self.is_in_lanes() && behind {
                return Ok(means.with_mean_of(means.data.clone(), 1));
            }
            return Ok(means);
        }
        let sums = self.scaled_sums(along, keepdims, None)?;
        let means = sums.multiply_by(1.0 / count as f64)?;
        Ok(means.with_mean_of(sums.data, count))
    }

    /// `x - mean` with zeros behind the numbers of each row, where the difference alone would have the
    /// negative mean there: its square times the rounding of a zero would enter every sum. It is `(n x - sum)
    /// / n`, of which `n x - sum` is exact, and the product with 1 / n in the places of numbers takes the
    /// level that a mean takes. Of rows that share polynomials it takes a level more.
    ///
    /// Nothing where the other operand is no mean of arrays like this one.
    pub(super) fn centred(&self, mean: &Self) -> Result<Option<Self>, CkksError> {
        let Some((sum, count)) = mean.mean_of() else { return Ok(None) };
        let x = &self.data;
        if self.is_in_lanes() {
            let difference = self.difference(mean)?.rescaled_anyway()?;
            // At level 0 nothing is multiplied any more.
            return if difference.data.level().0 == 0 {
                Ok(Some(difference))
            } else {
                difference.cleared().map(Some)
            };
        }
        let alike = x.encoding() == Encoding::Slots
            && x.padding() == Padding::Zero
            && x.layout().has_padding()
            && x.layout().bodies() == 1
            && (x.level(), x.params(), x.secret()) == (sum.level(), sum.params(), sum.secret())
            && x.scale() == sum.scale()
            && x.is_symbol() == sum.is_symbol();
        let rows = x.layout().rows();
        let fits = sum.layout().period() == 1
            && (sum.layout().rows() == 1
                || (sum.layout().rows() == rows && sum.shape().len() == x.shape().len()));
        let headroom = x.params().log2_q(x.level()) - 2.0 - x.scale().log2();
        let largest = x.bound().zip(sum.bound()).map(|(own, sum)| own * *count as f64 + sum);
        if !alike || !fits || x.level().0 == 0 || largest.is_some_and(|largest| largest.log2() > headroom) {
            return Ok(None);
        }
        let holder = self.holder(mean);
        let evaluator = holder.evaluator.without_bootstrapping();
        x.check_room_for_another(MEAN)?;
        let (x, sum) = evaluator.broadcast_pair(x, sum, MEAN)?;
        let difference = evaluator.sub(&evaluator.multiply_integer(&x, *count as i128)?, &sum)?;
        holder.beside(evaluator.multiply_mask(&difference, |_| true, 1.0 / *count as f64)?).map(Some)
    }

    /// The squares of the differences from the mean along axes, not yet rescaled; where there is a `share`,
    /// so many times, and with zeros behind the numbers.
    fn squared_differences(&self, along: Along, share: Option<f64>) -> Result<Self, CkksError> {
        let count = self.count(along);
        let (centred, factor) = if let Some(share) = share {
            let unit = self.exact_share(count)?;
            let one = unit * count as f64;
            let means = self.scaled_sums(along, true, Some(unit))?;
            (self.multiply_by(one)?.difference(&means)?, Some(share.sqrt() / one))
        } else {
            (self.sub(&self.means(along, true)?)?, None)
        };
        let centred = centred.rescaled_anyway()?;
        let centred = match factor {
            Some(factor) => centred.share_with_zeros(factor)?.rescaled_anyway()?,
            None => centred,
        };
        centred.squares()
    }

    /// This array with zeros behind each row, where there are places.
    fn filled(&self) -> Result<Self, CkksError> {
        let layout = self.data.layout();
        if layout.columns() == layout.capacity() { Ok(self.clone()) } else { self.cleared() }
    }

    /// `factor` times the sum of every row, as a vector.
    fn sums_as_vector(&self, factor: Option<f64>) -> Result<Self, CkksError> {
        if self.data.encoding() != Encoding::Slots {
            let rows = self.data.layout().rows();
            let remedy = format!(
                "sums of {rows} rows in coefficients are in {rows} polynomials, and no vector: keep the axis, or encrypt the array in slots"
            );
            let (left, right) = (self.data.shape().to_vec(), vec![rows]);
            return Err(CkksError::Shape { operation: SUM, left, right, remedy });
        }
        // Sums may be larger than what a bootstrap takes: where levels run out, that is an error.
        self.sums(Along::Columns)?.map_settled(|evaluator, x| {
            evaluator.without_bootstrapping().column_to_vector(x, factor.unwrap_or(1.0))
        })
    }

    /// The product of the numbers of each row in slots, as one column: by rotations by half the places, a
    /// quarter, .., 1.
    fn row_products(&self) -> Result<Self, CkksError> {
        let layout = *self.data.layout();
        if layout.chunks() > 1 && layout.bodies() == 1 {
            // Ranges that start with a polynomial are free.
            let half = layout.chunks() / 2 * layout.capacity();
            let part = |columns: Range<usize>| self.map_settled(|ev, x| ev.select_columns(x, columns));
            let (left, right) =
                (part(0..half)?.row_products()?, part(half..layout.columns())?.row_products()?);
            return left.times(&right)?.rescaled_anyway();
        }
        self.cleared()?.map_settled(Evaluator::row_product)
    }

    /// The product of all rows, entry by entry, as one row: of the upper half with the lower one, and so on.
    fn product_of_rows(&self) -> Result<Self, CkksError> {
        let rows = self.data.layout().rows();
        if rows == 1 {
            return Ok(self.clone());
        }
        let part =
            |rows: Range<usize>| self.map(|evaluator, x| evaluator.select_rows(x, &rows.collect::<Vec<_>>()));
        let half = rows / 2;
        let product = part(0..half)?.times(&part(half..2 * half)?)?.rescaled_anyway()?;
        if rows.is_multiple_of(2) {
            return product.product_of_rows();
        }
        let last = part(rows - 1..rows)?;
        let together = [&*product.data, &*last.settled()?];
        product.beside(product.evaluator.concatenate(&together)?)?.product_of_rows()
    }

    fn check_lengths(&self, other: &[usize]) -> Result<(), CkksError> {
        if self.data.shape() == other && other.len() < 2 {
            return Ok(());
        }
        let remedy = "both are vectors of one length".to_owned();
        let (left, right) = (self.data.shape().to_vec(), other.to_vec());
        Err(CkksError::Shape { operation: INNER_PRODUCT, left, right, remedy })
    }
}
