//! Sums of the numbers of each row, sums of all rows, and the clearing of padding.
//!
//! In slots the numbers of a row are added by rotations, which also add the padding. If rows share a
//! polynomial, the sum of a row is only in the row's first slot; a product with a mask keeps this slot, and
//! rotations in the other direction copy the sum to all slots of the row. The sum of all rows is in the
//! places of every row, because the slots repeat with the period of all rows of the polynomial, so that its
//! rotations are cyclic. In coefficients one product of polynomials adds the numbers without a key: number
//! `t` of a chunk is the coefficient of `X^(stride t)`, so the coefficient of `X^0` of
//!
//! ```text
//! m(X) sum_t w_t X^(-stride t)    is    sum_t w_t m_t,
//! ```
//!
//! with `w_t = 1` for the sum. This sum is exact and takes no level. The other coefficients hold other sums,
//! so the padding is dirty.

use clathrate_lattice::{Bundle, Eval, Poly};

use super::arithmetic::check_factor;
use super::evaluator::{Evaluator, LevelsNeeded, check_slots};
use super::rows::check_rows_or_lanes;
use crate::arrays::estimate::{Along, MatrixNorms};
use crate::arrays::{BodyAxis, Ciphertext, Encoding, Estimate, Padding};
use crate::embedding::encoding_errors;
use crate::encoding::check_product_headroom;
use crate::error::CkksError;

/// The operations' names in errors.
const TOTAL: &str = "the sum of a row";
const ROWS: &str = "the sum of all rows";
const CLEARING: &str = "clearing the padding";

/// Weights are rounded to integers below `2^INTEGER_BITS`.
const INTEGER_BITS: f64 = 62.0;

impl Evaluator {
    /// The sum of every row: an array of one column.
    ///
    /// In slots, chunks are added first and then slots, by rotations by half the capacity, a quarter, .., 1.
    /// The padding is added too, so it must be zero. In coefficients no key is needed; the padding of the
    /// result is dirty. For rows that share polynomials in slots, see [`Evaluator::total_in_lanes`].
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::Unsuitable`] for padding that is not zero, if chunks of a row
    /// are under different secrets, and for coefficients of split polynomials.
    pub fn total(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_chunks(x)?;
        match x.encoding() {
            Encoding::Slots if x.layout.lanes() > 1 => self.total_in_lanes(x, 1.0),
            Encoding::Slots => self.total_of_slots(x),
            Encoding::Coefficients => self.weighted_total(x, None),
        }
    }

    /// `factor` times the sum of every row, for rows that share polynomials in slots: an array of one column
    /// whose numbers fill all slots of their rows. The product with `factor` is not rescaled.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] if rows do not share polynomials.
    pub fn total_in_lanes(&self, x: &Ciphertext, factor: f64) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, TOTAL)?;
        check_chunks(x)?;
        // Sums may exceed the range of a bootstrap, so the array is bootstrapped before the sum.
        let x = &*self.with_levels_needed(x, LevelsNeeded::Depth(1))?;
        let layout = x.layout;
        if layout.lanes() == 1 {
            let reason = "rows do not share polynomials: add them up with total".to_owned();
            return Err(CkksError::Unsuitable { operation: TOTAL, reason });
        }
        if layout.capacity() == 1 && factor == 1.0 {
            return Ok(x.clone());
        }
        // Slots of lanes without a row are not added to slots of other lanes.
        if layout.columns() < layout.capacity() {
            x.check_padding(TOTAL)?;
        }
        let summed =
            x.estimate.clone().sum(Along::Columns, (layout.columns(), layout.capacity()), layout.period());
        x.params.check_bound(summed.magnitude, x.scale, x.level)?;
        let row = layout.capacity() * layout.copies();
        let steps = |sum: Ciphertext, sign: i64| {
            self.plus_rotated(
                sum,
                &doublings(layout.copies(), row).map(|step| sign * step as i64).collect::<Vec<_>>(),
            )
        };
        let sums = steps(x.clone().estimated(Estimate::without_numbers), 1)?
            .estimated(|own| summed.with_noise_of(own, layout.period()));
        let column = layout.first_column();
        let sums = sums.rearranged(of_one_column(x), column);
        let first = self.without_bootstrapping().multiply_mask(&sums, |_| true, factor)?;
        // The copies do not overlap, so numbers and errors keep their size.
        let cleared = sums.column_mask_rounding(factor, first.scale) * (row as f64).sqrt();
        // Sums at neighbouring places differ by one number, so they cannot all have the signs of the mask's
        // error.
        let kept = first.estimate.clone().with_rounding_of_mask(row, (cleared, cleared), &sums.estimate);
        let all = steps(first.estimated(Estimate::without_numbers), -1)?
            .estimated(|own| kept.with_noise_of(own, layout.period()));
        let copied = column.repeated_column(row);
        let sums = all.rearranged(of_one_column(x), copied);
        // The product with the mask has a larger scale, so fewer bits of the modulus remain for the numbers.
        sums.check_bound()?;
        Ok(sums)
    }

    /// The sum of `weights[t]` times number `t` of every row: an array of one column, not rescaled. Needs
    /// rotations in slots and no key in coefficients, like [`Evaluator::total`]. For rows that share
    /// polynomials in slots it takes two levels.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless there is one weight for each column; [`CkksError::NotFinite`],
    /// [`CkksError::TooLarge`]; [`CkksError::LevelTooLow`] at level 0.
    pub fn total_weighted(&self, x: &Ciphertext, weights: &[f64]) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_chunks(x)?;
        if weights.len() != x.layout.columns() {
            let remedy = "give one weight for each number of a row".to_owned();
            return Err(CkksError::Shape {
                operation: TOTAL,
                left: x.shape.clone(),
                right: vec![weights.len()],
                remedy,
            });
        }
        if let Some((index, &value)) = weights.iter().enumerate().find(|(_, weight)| !weight.is_finite()) {
            return Err(CkksError::NotFinite { index, value, shape: None });
        }
        if x.encoding() == Encoding::Coefficients {
            return self.weighted_total(x, Some(weights));
        }
        // The product with a plaintext also clears the padding.
        let all: Vec<f64> = weights.iter().copied().cycle().take(x.layout.rows() * weights.len()).collect();
        let product = self.multiply_plain(x, &all)?;
        let (typical, worst) = (x.estimate.typical, x.estimate.magnitude);
        let norms = MatrixNorms::of_matrix(weights, weights.len());
        // The estimate is that of the weighted sum, which is smaller than that of a sum of products with the
        // largest weight.
        let summed = x
            .estimate
            .clone()
            .mapped(Along::Columns, &norms, (0.0, 0.0))
            .summed_over(weights.len(), x.layout.period());
        let (rounding, count) =
            (encoding_errors(x.params.degree(), product.scale / x.scale), weights.len() as f64);
        let summed = summed.with_rounding(rounding.0 * count.sqrt() * typical, rounding.1 * count * worst);
        product.params.check_bound(summed.magnitude, product.scale, product.level)?;
        let product = product.estimated(Estimate::without_numbers);
        let total = match (x.layout.lanes(), x.layout.capacity()) {
            (1, _) => self.total_of_slots(&product),
            (_, 1) => Ok(product),
            _ => self.total_in_lanes(&self.rescale(&product)?, 1.0),
        };
        let total = total?.estimated(|own| summed.with_noise_of(own, x.layout.period()));
        total.check_bound()?;
        Ok(total)
    }

    /// [`Evaluator::total`] in coefficients, with weights if given.
    fn weighted_total(&self, x: &Ciphertext, weights: Option<&[f64]>) -> Result<Ciphertext, CkksError> {
        let layout = x.layout;
        if layout.components() > 1 {
            let reason = format!(
                "the numbers of a row are spread over {} polynomials of degree {}: bring them back to degree {} with to_rlwe first",
                layout.components(),
                layout.degree(),
                layout.whole_degree()
            );
            return Err(CkksError::Unsuitable { operation: TOTAL, reason });
        }
        let factor = if weights.is_some() { self.factor_scale_for(x, "a weighted sum")? } else { 1.0 };
        let scale = x.scale * factor;
        x.params.check_scale(scale, x.level)?;
        let largest =
            weights.unwrap_or(&[1.0]).iter().fold(0.0f64, |largest, weight| largest.max(weight.abs()));
        check_product_headroom(&x.params, largest, scale, x.level)?;
        let summed = match weights {
            None => {
                x.estimate.clone().sum(Along::Columns, (layout.columns(), layout.columns()), layout.period())
            }
            Some(weights) => {
                let norms = MatrixNorms::of_matrix(weights, weights.len());
                let changed = || {
                    weights.iter().map(|weight| (weight - (weight * factor).round_ties_even() / factor).abs())
                };
                let rounding =
                    (changed().map(|changed| changed * changed).sum::<f64>().sqrt(), changed().sum());
                x.estimate
                    .clone()
                    .mapped(Along::Columns, &norms, rounding)
                    .summed_over(layout.columns(), layout.period())
            }
        };
        x.params.check_bound(summed.magnitude, scale, x.level)?;
        if weights.is_some() {
            check_factor(largest, factor, 1.0)?;
        }
        if (largest * factor).log2() >= INTEGER_BITS {
            let value = format!("2^{:.1}", (largest * factor).log2());
            let remedy = format!(
                "at scale 2^{:.1} of the ciphertext weights must be below 2^{INTEGER_BITS} / 2^{:.1}",
                x.scale.log2(),
                factor.log2()
            );
            return Err(CkksError::OutOfRange { what: "the largest weight times its scale", value, remedy });
        }
        let rounded = |column: usize| weights.map_or(1, |weights| (weights[column] * factor).round() as i64);
        let chunks = layout.groups();
        let polys = |chunk: usize| {
            let first = chunk * layout.capacity();
            reversed_sum(x, (0..layout.entries_in(chunk)).map(|t| (layout.position(t), rounded(first + t))))
        };
        let factors: Vec<Poly<Eval>> =
            if x.is_symbol() { Vec::new() } else { (0..chunks).map(polys).collect() };
        let add_line = |line: &[Bundle<Eval>]| {
            let mut products = line.iter().zip(&factors).map(|(bundle, factor)| bundle.times_poly(factor));
            let first = products.next().transpose()?;
            let sum = |mut sum: Bundle<Eval>, product: Result<Bundle<Eval>, _>| {
                sum.add_assign(&product?).map(|()| sum)
            };
            first.map(|first| products.try_fold(first, sum)).transpose()
        };
        let bundles = x
            .bundles
            .chunks_exact(chunks)
            .filter_map(|line| add_line(line).transpose())
            .collect::<Result<_, _>>()?;
        self.record_once(x, || {
            let products = layout.lines() * chunks * x.polys_per_bundle();
            let mut cost = x.params.rows_cost(products * x.params.chain().basis(x.level).len());
            cost += x.params.transforms_cost(x.level, x.params.degree()).times(chunks as f64);
            Ok(cost)
        })?;
        let one = layout.first_column();
        let total = x.with_all((&x.params, of_one_column(x)), one, bundles, (x.level, scale));
        Ok(total.estimated(|_| summed))
    }

    /// The sum of all rows, along all axes but the last one: a vector. Needs rotations if rows share
    /// polynomials in slots, otherwise no key.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for a vector; [`CkksError::Unsuitable`] if rows share a mask, if they
    /// share a polynomial in coefficients, and if a polynomial in slots has lanes without a row; missing
    /// keys.
    pub fn sum_of_rows(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_rows_or_lanes(x, ROWS)?;
        if !x.layout.rows().is_multiple_of(x.layout.lanes()) {
            x.check_padding(ROWS)?;
        }
        let (rows, columns) = (x.layout.rows(), x.layout.columns());
        if x.shape().len() < 2 {
            let remedy =
                "rows are those of a matrix; the numbers of a vector are added by `total`".to_owned();
            let (left, right) = (x.shape().to_vec(), Vec::new());
            return Err(CkksError::Shape { operation: ROWS, left, right, remedy });
        }
        let summed = x.estimate.clone().sum(
            Along::Rows,
            (rows, rows.next_multiple_of(x.layout.lanes())),
            x.layout.period(),
        );
        x.params.check_bound(summed.magnitude, x.scale, x.level)?;
        let width = x.layout.bundles_per_line();
        let mut lines = x.bundles.chunks_exact(width);
        let mut bundles: Vec<Bundle<Eval>> = lines.next().map(<[_]>::to_vec).unwrap_or_default();
        for line in lines {
            bundles.iter_mut().zip(line).try_for_each(|(sum, bundle)| sum.add_assign(bundle))?;
        }
        self.record_once(x, || {
            let polys = width * x.polys_per_bundle() * x.params.chain().basis(x.level).len();
            Ok(x.params.passes_cost(polys).times((x.layout.row_groups() - 1) as f64))
        })?;
        let lanes = x.layout.lanes();
        // One polynomial per chunk remains, with all lanes filled.
        let filled = x.layout.of_rows(lanes).with_padding(x.padding());
        let mut sum = x.with_all((&x.params, vec![lanes, columns]), filled, bundles, (x.level, x.scale));
        sum = sum.estimated(Estimate::without_numbers);
        sum = self.plus_rotated(
            sum,
            &doublings(1, lanes).rev().map(|lane| x.layout.lane_offset(lane) as i64).collect::<Vec<_>>(),
        )?;
        // A single number is in all slots.
        let copies = if filled.capacity() == 1 { 1 } else { filled.copies() };
        let layout = filled.of_one_lane(copies).with_padding(x.padding());
        let sum = sum.rearranged(vec![columns], layout);
        let places = (lanes, x.layout.degree() / 2 / x.layout.lane_offset(1));
        // Lanes of single numbers become neighbouring slots of one number.
        let (along, exact) =
            if filled.capacity() == 1 { (Along::Columns, filled.copies() == 1) } else { (Along::Rows, true) };
        Ok(sum.estimated(|own| summed.with_noise_of_halves(own, along, places, exact)))
    }

    fn total_of_slots(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        x.check_padding(TOTAL)?;
        // The padding is zero, so it adds no numbers.
        let places = x.layout.capacity() * x.layout.chunks();
        let summed = x.estimate.clone().sum(Along::Columns, (x.layout.columns(), places), x.layout.period());
        x.params.check_bound(summed.magnitude, x.scale, x.level)?;
        let chunks = x.layout.bundles_per_line();
        let mut bundles = Vec::with_capacity(x.bundles.len() / chunks);
        for line in x.bundles.chunks_exact(chunks) {
            let mut sum = line[0].clone();
            line[1..].iter().try_for_each(|bundle| sum.add_assign(bundle))?;
            bundles.push(sum);
        }
        // Each row is now a single chunk.
        let one = x.layout.of_columns(x.layout.columns().min(x.layout.capacity()));
        let mut sum = x.with_layout(one, bundles).estimated(Estimate::without_numbers);
        self.record(&sum, || {
            Ok(sum
                .params
                .passes_cost(sum.polys_per_bundle() * sum.params.chain().basis(sum.level).len())
                .times((chunks - 1) as f64))
        })?;
        sum = self.plus_rotated(
            sum,
            &doublings(1, x.layout.capacity())
                .rev()
                .map(|step| (step * x.layout.copies()) as i64)
                .collect::<Vec<_>>(),
        )?;
        let shape = of_one_column(x);
        // Every slot now holds the sum, so the slots repeat with period 1.
        let layout = x.layout.of_shape(&shape)?;
        let slots = x.layout.degree() / 2;
        let sum = sum.estimated(|own| {
            let (places, exact) = ((x.layout.capacity(), slots / x.layout.copies()), x.layout.copies() == 1);
            summed.in_slots(slots, x.layout.copies()).with_noise_of_halves(own, Along::Columns, places, exact)
        });
        Ok(Ciphertext { shape, ..sum.laid_out(layout) })
    }

    /// The same array with zero padding, by a product with a mask that is not rescaled. An array with zero
    /// padding is returned unchanged.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless slots.
    pub fn clear_padding(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if x.padding() == Padding::Zero {
            return Ok(x.clone());
        }
        check_slots(x, CLEARING)?;
        self.multiply_mask(x, |_| true, 1.0)
    }
}

/// The powers of two `first`, `2 first`, .. below `end`.
pub(crate) fn doublings(first: usize, end: usize) -> impl DoubleEndedIterator<Item = usize> {
    (first.trailing_zeros()..end.trailing_zeros()).map(|doublings| 1 << doublings)
}

/// The shape of the row sums of `x`.
pub(super) fn of_one_column(x: &Ciphertext) -> Vec<usize> {
    let rows = x.shape.len().saturating_sub(1);
    [&x.shape[..rows], &[1]].concat()
}

/// Refuses chunks of a row under one mask, because they are under different secrets.
pub(crate) fn check_chunks(x: &Ciphertext) -> Result<(), CkksError> {
    let layout = x.layout;
    if layout.body_axis() != BodyAxis::Chunks || layout.bodies() == 1 || layout.chunks() == 1 {
        return Ok(());
    }
    Err(CkksError::shared_mask(
        TOTAL,
        layout.bodies(),
        "chunks of a row under one mask are under different secrets and cannot be added",
        "take the bodies apart with split_mask, or put rows under one mask",
    ))
}

/// `sum_k c_k X^(-k)` of pairs `(k, c_k)` with `0 <= k < n`.
fn reversed_sum(x: &Ciphertext, terms: impl Iterator<Item = (usize, i64)>) -> Poly<Eval> {
    let (ring, basis) = (x.params.chain().ring(), x.params.chain().basis(x.level));
    let degree = ring.degree();
    let mut coefficients = vec![0i64; degree];
    for (power, value) in terms {
        if power == 0 {
            coefficients[0] += value;
        } else {
            coefficients[degree - power] -= value;
        }
    }
    Poly::from_signed(ring, &basis, &coefficients).into_eval()
}
