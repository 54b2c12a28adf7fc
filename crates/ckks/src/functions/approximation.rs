//! A function of single numbers as polynomials.

use super::cache::{Composition, fitted};
use super::curve::{Curve, SmoothFunction};
use super::domain::{
    USUAL_ERROR, USUAL_ERROR_AT_KINKS, above_zero, check_inside, check_real, out_of_range, positive, short,
    stated,
};
use super::signs::{levels, sign};
use crate::circuits::polynomial::Polynomial;
use crate::encrypted_array::EncryptedArray;
use crate::error::CkksError;

/// A function of real numbers on an interval, as polynomials to a stated error: one polynomial, a composition
/// of several, or a product of the number with a composition.
///
/// The same value is evaluated on plain numbers and on encrypted arrays; it depends on neither.
///
/// ```
/// use clathrate_ckks::functions::{Approximation, SmoothFunction};
/// # use clathrate_ckks::CkksError;
///
/// let sigmoid = Approximation::smooth(SmoothFunction::Sigmoid, 1e-3, (-8.0, 8.0))?;
/// assert_eq!(sigmoid.polynomials()[0].degree(), 17);
/// assert!((sigmoid.evaluate(&[1.0])?[0] - 0.731_058_6).abs() < 1e-3);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Approximation {
    curve: Curve,
    /// The largest difference from the function.
    error: f64,
    polynomials: Composition,
    product: Option<Product>,
    /// The number that an encrypted 1 stands for.
    unit: f64,
}

/// The product `(factor x) (s + shift)` of the number `x` with the composition's value `s`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Product {
    factor: f64,
    shift: f64,
}

impl Approximation {
    /// A smooth function as the Chebyshev series of least degree whose difference from it is at most `error`
    /// at 2049 points of `domain`, both ends included.
    ///
    /// Range: an `error` above 0, 1e-3 without one; a `domain` of two finite numbers, the lower one first,
    /// both above 0 for `Log`, `Inverse`, `Sqrt` and `InverseSqrt`, whose degree grows with the square root
    /// of their quotient.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for arguments out of range, and where no degree up to 511 reaches the error.
    pub fn smooth(
        function: SmoothFunction,
        error: impl Into<Option<f64>>,
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        let error = stated(error.into(), USUAL_ERROR)?;
        let domain = if function.is_above_zero() { above_zero(domain)? } else { domain };
        let polynomials = fitted(Curve::Smooth(function), error, domain)?;
        Ok(Self { curve: Curve::Smooth(function), error, polynomials, product: None, unit: 1.0 })
    }

    /// The sign of numbers of magnitude at most `bound`: -1 below zero and 1 above, to within `error` for
    /// magnitudes of `margin` or more. Nearer to zero the value is between -1 and 1 and has the right sign.
    ///
    /// A composition of odd polynomials, each the best one on the interval that the one before it leaves
    /// (Lee, Lee, No, Kim: Minimax Approximation of Sign Function by Composite Polynomial for Homomorphic
    /// Comparison, ePrint 2020/834, section 3). Every factor of ten of the margin takes three to four levels.
    ///
    /// Range: an `error` above 0, 1e-3 without one, and a `margin` above 0 and below `bound`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for arguments out of range, and for a margin too narrow for the error.
    pub fn sign(margin: f64, error: impl Into<Option<f64>>, bound: f64) -> Result<Self, CkksError> {
        let margin = positive("`margin`", margin)?;
        let (error, bound) = (stated(error.into(), USUAL_ERROR)?, positive("`bound`", bound)?);
        if margin >= bound {
            let remedy =
                format!("it is not below the bound {}, so that no number would have a sign", short(bound));
            return out_of_range("`margin`", margin, remedy);
        }
        let polynomials = sign(margin, error, bound)?;
        Ok(Self { curve: Curve::Sign { margin }, error, polynomials, product: None, unit: 1.0 })
    }

    /// The magnitude of numbers of magnitude at most `bound`: one polynomial, or the product of the number
    /// with its sign, whichever takes fewer levels.
    ///
    /// Range: an `error`, 1e-2 without one, and a `bound` above 0.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for arguments out of range, and where no polynomials reach the error.
    pub fn absolute(error: impl Into<Option<f64>>, bound: f64) -> Result<Self, CkksError> {
        Self::kinked(Curve::Magnitude, (error.into(), 1.0), bound, Product { factor: 1.0, shift: 0.0 })
    }

    /// The rectified linear unit `max(x, 0)` of numbers of magnitude at most `bound`, as
    /// [`Approximation::absolute`].
    ///
    /// # Errors
    /// As [`Approximation::absolute`].
    pub fn relu(error: impl Into<Option<f64>>, bound: f64) -> Result<Self, CkksError> {
        Self::kinked(Curve::PositivePart, (error.into(), 2.0), bound, Product { factor: 0.5, shift: 1.0 })
    }

    /// A function with a kink at zero: a polynomial, or a `product` with the sign to within `share` times the
    /// error of the function.
    fn kinked(
        curve: Curve,
        (error, share): (Option<f64>, f64),
        bound: f64,
        product: Product,
    ) -> Result<Self, CkksError> {
        let (error, bound) = (stated(error, USUAL_ERROR_AT_KINKS)?, positive("`bound`", bound)?);
        let polynomial = fitted(curve, error, (-bound, bound)).ok();
        let margin = share * error;
        let signs = if margin < bound { sign(margin, margin / bound, bound).ok() } else { None };
        // The product takes a level.
        let takes_less = |polynomial: &Composition| {
            signs.as_ref().is_none_or(|signs| levels(polynomial) <= levels(signs) + 1)
        };
        if let Some(polynomials) = polynomial.filter(takes_less) {
            return Ok(Self { curve, error, polynomials, product: None, unit: 1.0 });
        }
        match signs {
            Some(polynomials) => Ok(Self { curve, error, polynomials, product: Some(product), unit: 1.0 }),
            None => out_of_range(
                "`error`",
                error,
                format!(
                    "no polynomials come so near to `{}` of numbers up to {}: allow a larger error",
                    curve.name(),
                    short(bound)
                ),
            ),
        }
    }

    /// The same function of encrypted numbers that are given in units of `unit`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a unit that is no positive number, or with which the domain has no
    /// length.
    pub(crate) fn in_units(self, unit: f64) -> Result<Self, CkksError> {
        let unit = positive("`unit`", unit)?;
        let [first, rest @ ..] = &self.polynomials[..] else { return Ok(self) };
        let first = first.clone().in_units(unit)?;
        let polynomials = std::iter::once(first).chain(rest.iter().cloned()).collect();
        let product = self.product.map(|own| Product { factor: own.factor * unit, ..own });
        Ok(Self { polynomials, product, unit: self.unit * unit, ..self })
    }

    /// The polynomials of the composition, the first one first; a single one for smooth functions.
    #[must_use]
    pub fn polynomials(&self) -> &[Polynomial] {
        &self.polynomials
    }

    /// Whether the value is a product of the number with the composition's value.
    #[must_use]
    pub fn is_product(&self) -> bool {
        self.product.is_some()
    }

    /// The interval of the numbers, outside of which the approximation is far off.
    #[must_use]
    pub fn domain(&self) -> (f64, f64) {
        self.polynomials.first().map_or((0.0, 0.0), Polynomial::domain)
    }

    /// The values at plain numbers.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a number outside of the domain.
    pub fn evaluate(&self, x: &[f64]) -> Result<Vec<f64>, CkksError> {
        check_inside(self.curve.name(), x, self.domain())?;
        Ok(x.iter().map(|&x| self.at(x)).collect())
    }

    fn at(&self, x: f64) -> f64 {
        let composed = self.polynomials.iter().fold(x, |x, polynomial| polynomial.evaluate_real(x));
        match self.product {
            None => composed,
            Some(Product { factor, shift }) => (factor * x) * (composed + shift),
        }
    }

    /// The difference from the function at the encrypted number of the domain that is nearest to `x`.
    fn difference(&self, x: f64) -> f64 {
        let (low, high) = self.domain();
        let x = x.clamp(low, high);
        let number = self.unit * x;
        match self.curve {
            Curve::Sign { margin } if number.abs() < margin => 0.0,
            curve => (self.at(x) - curve.at(number)).clamp(-self.error, self.error),
        }
    }

    /// The values at encrypted numbers. Their predicted errors are differences from the function, so they
    /// have the error of the approximation, too. Of numbers without a bound nobody notices one outside of the
    /// domain, and its value is wrong.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for complex numbers; [`CkksError::TooLarge`] for numbers that may be
    /// outside of the domain by their bound; [`CkksError::Level`] and [`CkksError::LevelTooLow`]
    /// where too few levels are left; [`CkksError::MissingKey`]; [`CkksError::Encoding`] for an
    /// array in coefficients without the keys to convert it.
    pub fn apply(&self, x: &EncryptedArray) -> Result<EncryptedArray, CkksError> {
        check_real(self.curve.name(), x)?;
        let differences = x.data().estimate().typical_numbers().map(|number| self.difference(number));
        approximated(&self.composed(x)?, differences, self.error)
    }

    fn composed(&self, x: &EncryptedArray) -> Result<EncryptedArray, CkksError> {
        let mut composed = x.clone();
        for polynomial in self.polynomials.iter() {
            composed = composed.polynomial(polynomial)?;
        }
        let Some(Product { factor, shift }) = self.product else { return Ok(composed) };
        let factor = if factor == 1.0 { x.clone() } else { x.mul(factor)? };
        let shifted = if shift == 0.0 { composed } else { composed.add(shift)? };
        factor.mul(&shifted)
    }
}

/// `values` with the error of their approximation: what it is at typical numbers, and the most that it may
/// be.
pub(super) fn approximated(
    values: &EncryptedArray,
    differences: [f64; 16],
    error: f64,
) -> Result<EncryptedArray, CkksError> {
    values.map(|_, values| {
        let layout = *values.layout();
        Ok(values.clone().estimated(|own| own.with_error_of_numbers(&layout, differences, error)))
    })
}
