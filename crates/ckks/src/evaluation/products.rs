//! Products of ciphertexts, and products of the numbers of a row.

use std::borrow::Cow;

use clathrate_lattice::{Bundle, Eval, Level};

use super::evaluator::{Evaluator, KeyQuery, LevelsNeeded, check_slots, entrywise};
use super::sums::{doublings, of_one_column};
use crate::arrays::estimate::Along;
use crate::arrays::{Ciphertext, Estimate, Order};
use crate::error::CkksError;
use crate::keys::{Found, Operation};

/// The operations' names in errors.
const PRODUCT: &str = "a product of ciphertexts";
const PRODUCT_OF_ROW: &str = "the product of a row";

impl Evaluator {
    /// Checks the factors, before keys are looked up or recorded on a dry run.
    fn check_factors(&self, x: &Ciphertext, y: &Ciphertext) -> Result<(), CkksError> {
        self.check_pair(x, y, PRODUCT)?;
        check_slots(x, PRODUCT)?;
        x.check_main(PRODUCT)
    }

    fn multiply_operands<'c>(
        &self,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>, f64), CkksError> {
        let level = x.level.min(y.level);
        let (x, y) = (self.at_level(x, level)?, self.at_level(y, level)?);
        let scale = x.scale * y.scale;
        if let Err(no_headroom) = x.params.check_scale(scale, level) {
            let higher = (level.0 + 1..=x.params.max_level().0)
                .find(|&higher| x.params.check_scale(scale, Level(higher)).is_ok());
            return Err(higher.map_or(no_headroom, |needed| CkksError::LevelTooLow {
                operation: PRODUCT,
                needed,
                level: level.0,
            }));
        }
        x.params.check_bound(x.product_estimate(&y).magnitude, scale, level)?;
        Ok((x, y, scale))
    }

    fn finish_product(
        &self,
        x: &Ciphertext,
        y: &Ciphertext,
        bundles: Vec<Bundle<Eval>>,
        level: Level,
        scale: f64,
    ) -> Ciphertext {
        let product = x.with(bundles, level, scale).estimated(|_| x.product_estimate(y));
        // A product is zero where a factor is zero.
        entrywise(product, (x, y), x.padding().min(y.padding()))
    }

    /// `x * y`, element by element, relinearised, not rescaled.
    ///
    /// # Errors
    /// [`CkksError::NoKeys`], [`CkksError::MissingKey`]; [`CkksError::WrongSecret`] for
    /// several bodies under one mask; shape, encoding, layout, level, scale and secret errors.
    pub fn multiply(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check_factors(x, y)?;
        let (x, y) = &self.factors_with_levels(x, y)?;
        let keys = self.keys_of(KeyQuery::new(PRODUCT, Operation::Multiply, x).at(x.level.min(y.level)))?;
        let (x, y, scale) = self.multiply_operands(x, y)?;
        let product = |keys: &Found<'_>, a: &Bundle<Eval>, b: &Bundle<Eval>| keys.relinearise(&a.tensor(b)?);
        let products =
            |keys: &Found<'_>| self.for_each(x.bundles.iter().zip(&y.bundles), |(a, b)| product(keys, a, b));
        let bundles = keys.as_ref().map_or_else(|| Ok(Vec::new()), products)?;
        self.record(&x, || Ok(x.params.tensor_cost(x.level)))?;
        self.switched(
            &x.params,
            self.finish_product(&x, &y, bundles, x.level, scale),
            Operation::Multiply,
            x.level,
            1.0,
        )
    }

    /// `x * y`, relinearised and rescaled by one division, which is faster and less noisy than two.
    pub fn multiply_rescale(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check_factors(x, y)?;
        let (x, y) = &self.factors_with_levels(x, y)?;
        let keys = self.keys_of(KeyQuery::new(PRODUCT, Operation::Multiply, x).at(x.level.min(y.level)))?;
        let (x, y, scale) = self.multiply_operands(x, y)?;
        let (level, rescaled) = self.rescaled(&x, x.level, scale)?;
        let product =
            |keys: &Found<'_>, a: &Bundle<Eval>, b: &Bundle<Eval>| keys.relinearise_rescale(&a.tensor(b)?);
        let products =
            |keys: &Found<'_>| self.for_each(x.bundles.iter().zip(&y.bundles), |(a, b)| product(keys, a, b));
        let bundles = keys.as_ref().map_or_else(|| Ok(Vec::new()), products)?;
        self.record(&x, || Ok(x.params.tensor_cost(x.level)))?;
        let product = self.finish_product(&x, &y, bundles, level, rescaled);
        self.switched(&x.params, product, Operation::Multiply, x.level, x.params.step_product(x.level))
    }

    /// `x * x`, relinearised, not rescaled.
    pub fn square(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.multiply(x, x)
    }

    /// The product of the numbers of every row in slots, rescaled: an array of one column. A row of `n`
    /// numbers is padded with ones to a power of two. Each product then multiplies one half of the numbers
    /// with the other half, so the row takes `ceil(log2(n))` levels in either order. If a row has more
    /// places, some hold the product and others zero; sums of rotations copy the product to all.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::Unsuitable`] for padding that is not zero, and for rows that
    /// share polynomials or take several.
    pub fn row_product(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, PRODUCT_OF_ROW)?;
        if (x.layout.lanes(), x.layout.chunks()) != (1, 1) {
            let reason = "each row is in one polynomial of its own".to_owned();
            return Err(CkksError::Unsuitable { operation: PRODUCT_OF_ROW, reason });
        }
        let (columns, capacity) = (x.layout.columns(), x.layout.capacity());
        let (copies, order) = (x.layout.copies(), x.layout.order());
        let factors = columns.next_power_of_two();
        let mut product = self.with_ones(x, factors)?;
        // In bit-reversed order, neighbouring numbers are at the farthest places.
        let first = if order == Order::Natural { 1 } else { capacity / factors };
        let rotated = |x: &Ciphertext, step: usize| self.rotate_slots(x, &[(step * copies) as i64]);
        for step in doublings(first, first * factors).rev() {
            product = self.with_levels_needed(&product, LevelsNeeded::Depth(1))?.into_owned();
            product = rotated(&product, step)?
                .iter()
                .try_fold(product, |product, rotated| self.multiply_rescale(&product, rotated))?;
        }
        let (one, period) = (product.layout.of_shape(&of_one_column(x))?, product.layout.period());
        if factors < capacity {
            let single = product.estimate.clone().sum(Along::Columns, (1, capacity), period);
            product = product.estimated(Estimate::without_numbers);
            // In natural order the product is in one place, otherwise in the multiples of `first`.
            let steps = doublings(1, if order == Order::Natural { capacity } else { first });
            product =
                self.plus_rotated(product, &steps.map(|step| (step * copies) as i64).collect::<Vec<_>>())?;
            product = product.estimated(|own| single.with_noise_of(own, period));
        }
        Ok(Ciphertext { shape: of_one_column(x), ..product.laid_out(one) }
            .estimated(|own| own.summed_over(factors, period)))
    }

    /// Rows in slots, padded with ones up to `length` numbers.
    fn with_ones(&self, x: &Ciphertext, length: usize) -> Result<Ciphertext, CkksError> {
        let (layout, mut shape) = (x.layout, x.shape.clone());
        if length < layout.capacity() || layout.columns() < length {
            x.check_padding(PRODUCT_OF_ROW)?;
        }
        let Some(columns) = shape.last_mut().filter(|columns| **columns < length) else {
            return Ok(x.clone());
        };
        *columns = length;
        let row = (0..length).map(|place| if place < layout.columns() { 0.0 } else { 1.0 });
        let values: Vec<f64> = std::iter::repeat_n(row, layout.rows()).flatten().collect();
        let rows = x.clone().rearranged(shape, layout.of_columns(length).with_padding(x.padding()));
        let (most, ones) = (x.estimate.magnitude.max(1.0), (length - layout.columns()) as f64);
        // The numbers are unchanged, and all new numbers are 1.
        let squares = layout.columns() as f64 * x.estimate.typical.powi(2) + ones;
        let typical = (squares / length as f64).sqrt().min(most);
        Ok(self.add_plain(&rows, &values)?.estimated(|own| {
            let mut known = own.at_most(most);
            known.typical = typical;
            known
        }))
    }
}
