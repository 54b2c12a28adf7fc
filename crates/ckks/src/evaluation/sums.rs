//! Sums of the numbers of a row and of all rows, and the clearing of padding.
//!
//! In slots the numbers of a row are added by rotations, which add the padding, too. In coefficients one product of polynomials adds them, without a key: the
//! number `t` of a chunk is the coefficient of `X^(stride t)`, so the coefficient of `X^0` of
//!
//! ```text
//! m(X) sum_t w_t X^(-stride t)    is    sum_t w_t m_t,
//! ```
//!
//! with `w_t = 1` for the sum, exactly and without a level. Other coefficients hold other sums, so the padding is dirty.

use clathrate_lattice::{Bundle, Eval, Poly};

use super::arithmetic::check_factor;
use super::evaluator::{Evaluator, check_slots, joined};
use super::rows::check_rows;
use crate::arrays::{BodyAxis, Ciphertext, Encoding, Estimate, Layout, Padding};
use crate::encoding::check_product_room;
use crate::error::CkksError;

/// The operations' names in errors.
const TOTAL: &str = "the sum of a row";
const ROWS: &str = "the sum of all rows";
const CLEARING: &str = "clearing the padding";

/// Weights are rounded to integers below two to this power.
const INTEGER_BITS: f64 = 62.0;

impl Evaluator {
    /// The sum of every row: an array of one column.
    ///
    /// In slots chunks are added first, then the slots, by rotations by half the capacity, a quarter, .., 1. The padding is added too, so it must be zero. In
    /// coefficients no key is needed; the padding of the result is dirty.
    ///
    /// # Errors
    /// [`CkksError::DirtyPadding`]; [`CkksError::NoRotationKey`], [`CkksError::NoKey`]; [`CkksError::SharedMask`] where chunks of a row are under different
    /// secrets; [`CkksError::Conversion`] for coefficients of polynomials that were split.
    pub fn total(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_chunks(x)?;
        if x.encoding() == Encoding::Slots { self.total_of_slots(x) } else { self.weighted_total(x, None) }
    }

    /// The sum of `weights[t]` times number `t` of every row: an array of one column, not yet rescaled. As [`Evaluator::total`], it needs rotations in slots
    /// and no key in coefficients.
    ///
    /// # Errors
    /// As [`Evaluator::total`]; [`CkksError::Shape`] unless there is one weight for each column; [`CkksError::NotFinite`], [`CkksError::ValueTooLarge`];
    /// [`CkksError::LevelTooLow`] at level 0.
    pub fn total_weighted(&self, x: &Ciphertext, weights: &[f64]) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_chunks(x)?;
        if weights.len() != x.layout.columns {
            let remedy = "give one weight for each number of a row".to_owned();
            return Err(CkksError::Shape { operation: TOTAL, left: x.shape.clone(), right: vec![weights.len()], remedy });
        }
        if let Some((index, &value)) = weights.iter().enumerate().find(|(_, weight)| !weight.is_finite()) {
            return Err(CkksError::NotFinite { index, value });
        }
        if x.encoding() == Encoding::Coefficients {
            return self.weighted_total(x, Some(weights));
        }
        // The product with a plaintext clears the padding, too.
        let all: Vec<f64> = weights.iter().copied().cycle().take(x.layout.rows * weights.len()).collect();
        self.total_of_slots(&self.multiply_plain(x, &all)?)
    }

    /// [`Evaluator::total`] in coefficients, with weights where there are any.
    fn weighted_total(&self, x: &Ciphertext, weights: Option<&[f64]>) -> Result<Ciphertext, CkksError> {
        let layout = x.layout;
        if layout.components > 1 {
            let reason = format!(
                "the numbers of a row are spread over {} polynomials of degree {}: bring them back to degree {} with to_rlwe first",
                layout.components,
                layout.degree,
                layout.whole_degree()
            );
            return Err(CkksError::Conversion { operation: TOTAL, reason });
        }
        let factor = if weights.is_some() { self.factor_scale_for(x, "a weighted sum")? } else { 1.0 };
        let scale = x.scale * factor;
        x.params.check_scale(scale, x.level)?;
        let largest = weights.unwrap_or(&[1.0]).iter().fold(0.0f64, |largest, weight| largest.max(weight.abs()));
        check_product_room(&x.params, largest, scale, x.level)?;
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
            let first = chunk * layout.capacity;
            reversed_sum(x, (0..layout.entries_in(chunk)).map(|t| (layout.position(t), rounded(first + t))))
        };
        let factors: Vec<Poly<Eval>> = if x.is_symbol() { Vec::new() } else { (0..chunks).map(polys).collect() };
        let add_line = |line: &[Bundle<Eval>]| {
            let mut products = line.iter().zip(&factors).map(|(bundle, factor)| bundle.times_poly(factor));
            let first = products.next().transpose()?;
            let sum = |mut sum: Bundle<Eval>, product: Result<Bundle<Eval>, _>| sum.add_assign(&product?).map(|()| sum);
            first.map(|first| products.try_fold(first, sum)).transpose()
        };
        let bundles = x.bundles.chunks_exact(chunks).filter_map(|line| add_line(line).transpose()).collect::<Result<_, _>>()?;
        self.spend_once(x, || {
            let products = layout.lines() * chunks * x.polys_per_bundle();
            let mut cost = x.params.rows_cost(products * x.params.chain().basis(x.level).len());
            cost += x.params.transforms_cost(x.level, x.params.degree()).times(chunks as f64);
            Ok(cost)
        })?;
        let one = Layout { columns: 1, chunks: 1, ..layout }.with_padding(Padding::Dirty);
        let total = x.with_all((&x.params, of_one_column(x)), one, bundles, (x.level, scale));
        let magnitude = weights.map_or(layout.columns as f64, |weights| weights.iter().map(|weight| weight.abs()).sum());
        let rounding = if weights.is_some() { layout.columns as f64 * 0.5 / factor } else { 0.0 };
        Ok(total.estimated(|own| own.multiply(Estimate { magnitude, error: rounding })))
    }

    /// The sum of all rows of a matrix: a vector. It needs no key.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless a matrix; [`CkksError::SharedMask`] where rows share a mask; [`CkksError::Conversion`] where they share a polynomial.
    pub fn sum_of_rows(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_rows(x, ROWS)?;
        let &[rows, columns] = x.shape() else {
            let remedy = "rows are those of a matrix; the numbers of a vector are added by `total`".to_owned();
            return Err(CkksError::Shape { operation: ROWS, left: x.shape().to_vec(), right: vec![], remedy });
        };
        let width = x.layout.bundles_per_line();
        let mut lines = x.bundles.chunks_exact(width);
        let mut bundles: Vec<Bundle<Eval>> = lines.next().map(<[_]>::to_vec).unwrap_or_default();
        for line in lines {
            bundles.iter_mut().zip(line).try_for_each(|(sum, bundle)| sum.add_assign(bundle))?;
        }
        self.spend_once(x, || {
            let polys = width * x.polys_per_bundle() * x.params.chain().basis(x.level).len();
            Ok(x.params.passes_cost(polys).times((rows - 1) as f64))
        })?;
        let layout = Layout { rows: 1, ..x.layout };
        let sum = x.with_all((&x.params, vec![columns]), layout, bundles, (x.level, x.scale));
        Ok(sum.estimated(|own| own.scale(rows as f64)))
    }

    fn total_of_slots(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        x.check_padding(TOTAL)?;
        // The padding is zero, so that no more numbers are added than a row has.
        let most = x.estimate().map_or(f64::INFINITY, |own| own.magnitude * x.layout.columns as f64);
        let chunks = x.layout.bundles_per_line();
        let mut bundles = Vec::with_capacity(x.bundles.len() / chunks);
        for line in x.bundles.chunks_exact(chunks) {
            let mut sum = line[0].clone();
            line[1..].iter().try_for_each(|bundle| sum.add_assign(bundle))?;
            bundles.push(sum);
        }
        // Each row is now a single chunk.
        let one = Layout { columns: x.layout.columns.min(x.layout.capacity), chunks: 1, ..x.layout };
        let mut sum = x.with_layout(one, bundles).estimated(|own| own.scale(chunks as f64));
        self.spend(&sum, || {
            Ok(sum.params.passes_cost(sum.polys_per_bundle() * sum.params.chain().basis(sum.level).len()).times((chunks - 1) as f64))
        })?;
        let mut step = x.layout.capacity / 2;
        while step > 0 {
            for turned in self.rotate_slots(&sum, &[step as i64])? {
                sum.bundles.iter_mut().zip(&turned.bundles).try_for_each(|(sum, turned)| sum.add_assign(turned))?;
                self.spend_pass(&sum)?;
                sum = joined(sum, &turned, Estimate::plus);
            }
            step /= 2;
        }
        let shape = of_one_column(x);
        // Every slot now holds the sum, so the slots repeat with period 1.
        let layout = x.layout.of_shape(&shape)?;
        let sum = sum.estimated(|own| Estimate { magnitude: own.magnitude.min(most), ..own });
        Ok(Ciphertext { shape, ..sum.laid_out(layout) })
    }

    /// The same array with zero padding, computed as a product with ones and zeros that is not yet rescaled. An array whose padding is zero is returned
    /// unchanged.
    ///
    /// # Errors
    /// As [`Evaluator::multiply_plain`]; [`CkksError::Encoding`] unless slots.
    pub fn clear_padding(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if x.padding() == Padding::Zero {
            return Ok(x.clone());
        }
        check_slots(x, CLEARING)?;
        self.multiply_plain(x, &vec![1.0; x.layout.rows * x.layout.columns])
    }
}

/// The shape of a sum of every row.
fn of_one_column(x: &Ciphertext) -> Vec<usize> {
    let rows = x.shape.len().saturating_sub(1);
    [&x.shape[..rows], &[1]].concat()
}

/// Refuses chunks of a row under one mask, because they are under different secrets.
fn check_chunks(x: &Ciphertext) -> Result<(), CkksError> {
    let layout = x.layout;
    if layout.axis != BodyAxis::Chunks || layout.bodies == 1 || layout.chunks == 1 {
        return Ok(());
    }
    Err(CkksError::SharedMask {
        operation: TOTAL,
        bodies: layout.bodies,
        reason: "chunks of a row under one mask are under different secrets and cannot be added",
        remedy: "take the bodies apart with split_mask, or put rows under one mask",
    })
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
