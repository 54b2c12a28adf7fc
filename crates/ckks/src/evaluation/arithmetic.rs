//! Sums and differences, and products with numbers and plaintexts.

use std::borrow::Cow;

use clathrate_lattice::{Bundle, Eval, LatticeError, Level, Poly};

use super::evaluator::{Evaluator, LevelsNeeded, check_slots, entrywise};
use super::levels::same_scale;
use crate::arrays::estimate::product;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Padding};
use crate::embedding::encoding_errors;
use crate::encoding::plaintext::Plaintext;
use crate::encoding::{check_headroom, check_product_headroom};
use crate::error::CkksError;
use crate::keys::ValuesRef;

/// The name of a product with a plaintext in errors.
const ELEMENT_WISE: &str = "an element-wise product";

type Combine = fn(&Bundle<Eval>, &Bundle<Eval>) -> Result<Bundle<Eval>, LatticeError>;

type CombineInPlace = fn(&mut Bundle<Eval>, &Bundle<Eval>) -> Result<(), LatticeError>;

/// A sum or a difference: of bundles into a new bundle, in place, and of estimates.
type Combination = (Combine, CombineInPlace, fn(Estimate, Estimate) -> Estimate);

/// Combines every bundle of `x` with the bundle of `y`: in place if `x` is owned, otherwise into new bundles
/// in one pass, which saves a clone.
fn combined(
    x: Cow<'_, Ciphertext>,
    y: &Ciphertext,
    combine: Combine,
    in_place: CombineInPlace,
) -> Result<Ciphertext, CkksError> {
    match x {
        Cow::Owned(mut x) => {
            x.bundles.iter_mut().zip(&y.bundles).try_for_each(|(x, y)| in_place(x, y))?;
            Ok(x)
        }
        Cow::Borrowed(x) => {
            let bundles =
                x.bundles.iter().zip(&y.bundles).map(|(x, y)| combine(x, y)).collect::<Result<_, _>>()?;
            Ok(x.with(bundles, x.level, x.scale))
        }
    }
}

/// Minimum of the bits of the largest factor relative to the rounding error.
const MIN_FACTOR_BITS: f64 = 10.0;

/// Refuses factors of magnitude up to `largest` that are lost when they are rounded at `scale`, with rounding
/// errors of `rounding` units. Accepts factors that are all zero.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(crate) fn check_factor(largest: f64, scale: f64, rounding: f64) -> Result<(), CkksError> {
    let bits = (largest * scale / rounding).log2();
    if largest == 0.0 || bits >= MIN_FACTOR_BITS {
        return Ok(());
    }
    Err(CkksError::factor_too_small(largest, bits, scale.log2()))
}

/// Whether the bundles of `out` have the shape of those of `x`.
fn fits(out: &Ciphertext, x: &Ciphertext) -> bool {
    let same = |out: &Bundle<Eval>, x: &Bundle<Eval>| out.check_same_shape(x).is_ok();
    !x.is_symbol()
        && out.bundles.len() == x.bundles.len()
        && out.bundles.iter().zip(&x.bundles).all(|(out, x)| same(out, x))
}

/// The polynomial by which each bundle is multiplied: one for all of its bodies, because they share the mask.
///
/// # Errors
/// [`CkksError::Unsuitable`] if the bodies of one bundle have different factors.
fn common_factors<'m>(layout: &Layout, messages: &'m [Poly<Eval>]) -> Result<Vec<&'m Poly<Eval>>, CkksError> {
    let of_bundle = |bundle: usize| {
        let mut factors =
            (0..layout.bodies()).filter_map(|body| messages.get(layout.polynomial_at(bundle, body)?));
        let first = factors.next()?;
        factors.all(|factor| factor == first).then_some(first)
    };
    let factors: Option<Vec<_>> = (0..layout.bundles()).map(of_bundle).collect();
    factors.ok_or(CkksError::shared_mask(ELEMENT_WISE, layout.bodies(), "the factors differ from body to body", "multiply all rows or chunks of one mask by the same numbers, or take the bodies apart with split_mask"))
}

impl Evaluator {
    /// `x + y`.
    ///
    /// The padding of the sum is zero if the padding of both operands is.
    ///
    /// # Errors
    /// Shape, encoding, layout, secret and scale errors.
    pub fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.combine(x, y, "addition", (Bundle::sum, Bundle::add_assign, Estimate::plus))
    }

    /// `x - y`.
    pub fn sub(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.combine(x, y, "subtraction", (Bundle::difference, Bundle::sub_assign, Estimate::minus))
    }

    /// A sum or a difference: brings the operands to a common level and scale and combines them bundle by
    /// bundle.
    fn combine(
        &self,
        x: &Ciphertext,
        y: &Ciphertext,
        operation: &'static str,
        (combine, in_place, join): Combination,
    ) -> Result<Ciphertext, CkksError> {
        self.check_pair(x, y, operation)?;
        let padding = x.padding().max(y.padding());
        let (left, right) = self.align(x, y, operation)?;
        let estimate = join(left.estimate.clone(), right.estimate.clone());
        x.params.check_bound(estimate.magnitude, left.scale, left.level)?;
        let result = combined(left, &right, combine, in_place)?;
        self.record_pass(&result)?;
        Ok(entrywise(result.estimated(|_| estimate), (x, y), padding))
    }

    /// `x <- x + y`, in `x`'s memory if both operands have the same level and scale. On an error `x` is
    /// unchanged.
    pub fn add_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<(), CkksError> {
        self.combine_in_place(x, y, "addition", (Bundle::sum, Bundle::add_assign, Estimate::plus))
    }

    /// `x <- x - y`, in `x`'s memory if both operands have the same level and scale. On an error `x` is
    /// unchanged.
    pub fn sub_assign(&self, x: &mut Ciphertext, y: &Ciphertext) -> Result<(), CkksError> {
        self.combine_in_place(x, y, "subtraction", (Bundle::difference, Bundle::sub_assign, Estimate::minus))
    }

    fn combine_in_place(
        &self,
        x: &mut Ciphertext,
        y: &Ciphertext,
        operation: &'static str,
        (combine, in_place, join): Combination,
    ) -> Result<(), CkksError> {
        self.check_pair(x, y, operation)?;
        if x.level != y.level || !same_scale(x.scale, y.scale) {
            *x = self.combine(x, y, operation, (combine, in_place, join))?;
            return Ok(());
        }
        let estimate = join(x.estimate.clone(), y.estimate.clone());
        x.params.check_bound(estimate.magnitude, x.scale, x.level)?;
        self.record_pass(x)?;
        x.bundles.iter_mut().zip(&y.bundles).try_for_each(|(x, y)| in_place(x, y))?;
        x.estimate = estimate;
        x.layout = x.layout.of_numbers(x.is_complex() || y.is_complex());
        x.layout = x.layout.with_padding(x.padding().max(y.padding()));
        Ok(())
    }

    /// `out <- x + y`, in `out`'s memory if `out` is as large as the sum and both operands have the same
    /// level and scale. The old content of `out` is lost; on an error `out` is unchanged.
    pub fn add_into(&self, out: &mut Ciphertext, x: &Ciphertext, y: &Ciphertext) -> Result<(), CkksError> {
        self.check_pair(x, y, "addition")?;
        if !fits(out, x) || x.level != y.level || !same_scale(x.scale, y.scale) {
            *out = self.add(x, y)?;
            return Ok(());
        }
        let padding = x.padding().max(y.padding());
        let estimate = x.estimate.clone().plus(y.estimate.clone());
        x.params.check_bound(estimate.magnitude, x.scale, x.level)?;
        for ((out, x), y) in out.bundles.iter_mut().zip(&x.bundles).zip(&y.bundles) {
            out.assign_sum(x, y)?;
        }
        let bundles = std::mem::take(&mut out.bundles);
        *out = entrywise(x.with(bundles, x.level, x.scale).estimated(|_| estimate), (x, y), padding);
        Ok(())
    }

    /// `-x`.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`].
    pub fn negate(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let mut x = x.clone().estimated(|own| own.scale(-1.0));
        x.bundles.iter_mut().for_each(Bundle::negate_assign);
        self.record_pass(&x)?;
        Ok(x)
    }

    /// Encodes an array for use in several operations; see [`Plaintext::encode`].
    pub fn encode<'v>(
        &self,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        encoding: Encoding,
        level: Level,
        scale: f64,
    ) -> Result<Plaintext, CkksError> {
        Plaintext::encode(self.params(), values, shape, encoding, level, scale)
    }

    /// `x + values`, an array of `x`'s shape. The padding is unchanged.
    ///
    /// # Errors
    /// Shape errors; [`CkksError::NotFinite`], [`CkksError::TooLarge`].
    pub fn add_plain<'v>(
        &self,
        x: &Ciphertext,
        values: impl Into<ValuesRef<'v>>,
    ) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        self.record_encoding(x, x.layout.polynomials())?;
        self.add_encoded(x, &Plaintext::for_operation(x, values, x.level, x.scale)?)
    }

    /// `x + plaintext` for operands of the same scale. The padding is unchanged.
    ///
    /// # Errors
    /// [`CkksError::ScaleMismatch`]; [`CkksError::OutOfRange`] for a plaintext of a lower level; shape and
    /// encoding errors.
    pub fn add_encoded(&self, x: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let messages = plaintext.operand(x, "a sum with a plaintext")?;
        if !same_scale(x.scale, plaintext.scale()) {
            return Err(CkksError::ScaleMismatch { left: x.scale.log2(), right: plaintext.scale().log2() });
        }
        let estimate = x.estimate.clone().plus(plaintext.term_estimate());
        x.params.check_bound(estimate.magnitude, x.scale, x.level)?;
        let mut sum = x.clone().estimated(|_| estimate);
        sum.layout = sum.layout.of_numbers(sum.is_complex() || plaintext.is_complex());
        for (index, bundle) in sum.bundles.iter_mut().enumerate() {
            for body in 0..x.layout.bodies() {
                let message =
                    x.layout.polynomial_at(index, body).and_then(|polynomial| messages.get(polynomial));
                message.map_or(Ok(()), |message| bundle.add_message(body, message))?;
            }
        }
        self.record_pass(&sum)?;
        Ok(sum)
    }

    /// The scale of a factor for `x` such that the rescaled product has the canonical scale of the level
    /// below.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::OutOfRange`] if that scale is below the square
    /// root of the step, because rounding would destroy the factor: at scale 1, for example, all fractions
    /// would be lost.
    pub fn factor_scale(&self, x: &Ciphertext) -> Result<f64, CkksError> {
        self.factor_scale_for(x, "a product with a plaintext")
    }

    pub(crate) fn factor_scale_for(&self, x: &Ciphertext, operation: &'static str) -> Result<f64, CkksError> {
        let below =
            x.level.0.checked_sub(1).ok_or(CkksError::LevelTooLow { operation, needed: 1, level: 0 })?;
        let step = x.params.step_product(x.level);
        let scale = x.params.scale(Level(below)) * step / x.scale;
        if scale >= step.sqrt() {
            return Ok(scale);
        }
        let remedy = if x.awaits_rescale() {
            "rescale it first".to_owned()
        } else {
            let canonical = x.params.scale(x.level).log2();
            format!(
                "encrypt at the level's scale, 2^{canonical:.1}, or choose the scale of the factor (`weight_scale` of a matrix)"
            )
        };
        let remedy = format!(
            "at scale 2^{:.1} the ciphertext leaves the factor too few bits; {remedy}",
            x.scale.log2()
        );
        Err(CkksError::OutOfRange {
            what: "the scale left for the factor",
            value: format!("2^{:.1}", scale.log2()),
            remedy,
        })
    }

    fn product_scale(&self, x: &Ciphertext, factor: f64) -> Result<f64, CkksError> {
        let scale = x.scale * factor;
        x.params.check_scale(scale, x.level)?;
        Ok(scale)
    }

    /// `x * values`, element by element, not rescaled. The padding is multiplied by zero.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless slots; [`CkksError::Unsuitable`] if bodies under one mask would be
    /// multiplied by different numbers; [`CkksError::LevelTooLow`] at level 0; [`CkksError::OutOfRange`] if
    /// `x`'s scale leaves no bits for the factor; shape and value errors.
    pub fn multiply_plain<'v>(
        &self,
        x: &Ciphertext,
        values: impl Into<ValuesRef<'v>>,
    ) -> Result<Ciphertext, CkksError> {
        self.multiply_operand(x, |x, scale| Plaintext::for_operation(x, values, x.level, scale))
    }

    /// `factor` times the numbers of `x` at the flat indices that `chosen` selects, and zeros elsewhere, not
    /// rescaled. The padding is multiplied by zero.
    ///
    /// Equals [`Evaluator::multiply_plain`] with an array that holds `factor` and zeros. If the scale is fine
    /// enough, the array is rounded differently, to the nearest integers, which leaves smaller remainders of
    /// large numbers where the mask is zero.
    pub fn multiply_mask(
        &self,
        x: &Ciphertext,
        chosen: impl Fn(usize) -> bool,
        factor: f64,
    ) -> Result<Ciphertext, CkksError> {
        self.multiply_operand(x, |x, scale| Plaintext::mask_for(x, chosen, factor, x.level, scale))
    }

    /// The product of `x` with the plaintext that `encoded` makes for `x` at the given scale.
    fn multiply_operand(
        &self,
        x: &Ciphertext,
        encoded: impl FnOnce(&Ciphertext, f64) -> Result<Plaintext, CkksError>,
    ) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, ELEMENT_WISE)?;
        let x = &*self.with_levels_needed(x, LevelsNeeded::Depth(1))?;
        let scale = self.factor_scale_for(x, ELEMENT_WISE)?;
        self.record_encoding(x, x.layout.polynomials())?;
        let operand = encoded(x, scale)?;
        // A slot is the sum of all rounded coefficients.
        check_factor(operand.largest(), scale, encoding_errors(x.params.degree(), 1.0).0)?;
        self.multiply_encoded(x, &operand)
    }

    /// `x * plaintext`, element by element, not rescaled. A plaintext at [`Evaluator::factor_scale`] gives
    /// canonical scales. The padding is multiplied by zero.
    ///
    /// # Errors
    /// [`CkksError::Encoding`] unless slots; [`CkksError::Unsuitable`] if bodies under one mask would be
    /// multiplied by different numbers; [`CkksError::ScaleOutOfRange`] if the modulus has no room for the
    /// product; [`CkksError::OutOfRange`] for a plaintext of a lower level; shape errors.
    pub fn multiply_encoded(&self, x: &Ciphertext, plaintext: &Plaintext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_slots(x, ELEMENT_WISE)?;
        let messages = plaintext.operand(x, ELEMENT_WISE)?;
        let scale = self.product_scale(x, plaintext.scale())?;
        let factors = if messages.is_empty() { Vec::new() } else { common_factors(&x.layout, &messages)? };
        let estimate = x
            .estimate
            .clone()
            .cleared()
            .product_with(plaintext.rounded_estimate(), plaintext.is_one_number());
        x.params.check_bound(estimate.magnitude, scale, x.level)?;
        let bundles = x
            .bundles
            .iter()
            .zip(factors)
            .map(|(bundle, factor)| bundle.times_poly(factor))
            .collect::<Result<_, _>>()?;
        let mut product = x.with(bundles, x.level, scale).estimated(|_| estimate);
        product.layout = product.layout.of_numbers(product.is_complex() || plaintext.is_complex());
        self.record(&product, || {
            Ok(x.params.rows_cost(x.polys_per_bundle() * x.params.chain().basis(x.level).len()))
        })?;
        Ok(product.padded(Padding::Zero))
    }

    /// `x * factor` for a real number, not rescaled. The product takes a level even for integers, so that the
    /// level of the result does not depend on the number; [`Evaluator::multiply_integer`] takes no level.
    ///
    /// # Errors
    /// [`CkksError::NotFinite`], [`CkksError::TooLarge`]; [`CkksError::LevelTooLow`] at level 0.
    pub fn multiply_scalar(&self, x: &Ciphertext, factor: f64) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if !factor.is_finite() {
            return Err(CkksError::NotFinite { index: 0, value: factor, shape: None });
        }
        let x = &*self.with_levels_needed(x, LevelsNeeded::Depth(1))?;
        let factor_scale = self.factor_scale_for(x, "a product with a real number")?;
        let scale = self.product_scale(x, factor_scale)?;
        check_product_headroom(&x.params, factor.abs(), scale, x.level)?;
        check_headroom(&x.params, factor.abs(), factor_scale, x.level)?;
        check_factor(factor.abs(), factor_scale, 1.0)?;
        let integer = (factor * factor_scale).round();
        self.times_integer(x, integer as i128, scale, (factor, integer / factor_scale - factor))
    }

    /// `x * factor` for an integer. Takes no level: the result has the scale of `x`.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`].
    pub fn multiply_integer(&self, x: &Ciphertext, factor: i128) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let magnitude = factor.unsigned_abs() as f64;
        check_product_headroom(&x.params, magnitude, x.scale, x.level)?;
        self.times_integer(x, factor, x.scale, (factor as f64, 0.0))
    }

    /// `integer` times the polynomials of `x`, at scale `scale`. This is the product with `number + error`.
    fn times_integer(
        &self,
        x: &Ciphertext,
        integer: i128,
        scale: f64,
        (number, error): (f64, f64),
    ) -> Result<Ciphertext, CkksError> {
        let error = error.abs();
        let (typical, worst) = (product(error, x.estimate.typical), product(error, x.estimate.magnitude));
        let scaled = |own: Estimate| own.scale(number).with_errors_of_factors([true; 2], typical, worst);
        let mut product = x.clone().estimated(scaled);
        x.params.check_bound(product.estimate.magnitude, scale, x.level)?;
        product.scale = scale;
        product.bundles.iter_mut().for_each(|bundle| bundle.mul_integer_assign(integer));
        self.record_pass(&product)?;
        Ok(product)
    }
}
