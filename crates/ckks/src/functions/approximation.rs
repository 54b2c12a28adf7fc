//! A function of single numbers as polynomials.

use super::cache::{Composition, fitted};
use super::curve::{Curve, SmoothFunction};
use super::domain::{above_zero, check_inside, check_real, out_of_range, positive, short};
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
    /// The function's name in errors.
    function: &'static str,
    polynomials: Composition,
    product: Option<Product>,
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
    /// Range: an `error` above 0; a `domain` of two finite numbers, the lower one first, both above 0 for
    /// `Log`, `Inverse`, `Sqrt` and `InverseSqrt`, whose degree grows with the square root of their quotient.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for arguments out of range, and where no degree up to 511 reaches the error.
    pub fn smooth(function: SmoothFunction, error: f64, domain: (f64, f64)) -> Result<Self, CkksError> {
        let error = positive("`error`", error)?;
        let domain = if function.is_above_zero() { above_zero(domain)? } else { domain };
        let polynomials = fitted(Curve::Smooth(function), error, domain)?;
        Ok(Self { function: function.name(), polynomials, product: None })
    }

    /// The sign of numbers of magnitude at most `bound`: -1 below zero and 1 above, to within `error` for
    /// magnitudes of `margin` or more. Nearer to zero the value is between -1 and 1 and has the right sign.
    ///
    /// A composition of odd polynomials, each the best one on the interval that the one before it leaves
    /// (Lee, Lee, No, Kim: Minimax Approximation of Sign Function by Composite Polynomial for Homomorphic
    /// Comparison, ePrint 2020/834, section 3). Every factor of ten of the margin takes three to four levels.
    ///
    /// Range: an `error` above 0, and a `margin` above 0 and below `bound`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for arguments out of range, and for a margin too narrow for the error.
    pub fn sign(margin: f64, error: f64, bound: f64) -> Result<Self, CkksError> {
        let margin = positive("`margin`", margin)?;
        let (error, bound) = (positive("`error`", error)?, positive("`bound`", bound)?);
        if margin >= bound {
            let remedy =
                format!("it is not below the bound {}, so that no number would have a sign", short(bound));
            return out_of_range("`margin`", margin, remedy);
        }
        Ok(Self { function: "sign", polynomials: sign(margin, error, bound)?, product: None })
    }

    /// The magnitude of numbers of magnitude at most `bound`: one polynomial, or the product of the number
    /// with its sign, whichever takes fewer levels.
    ///
    /// Range: an `error` and a `bound` above 0.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for arguments out of range, and where no polynomials reach the error.
    pub fn absolute(error: f64, bound: f64) -> Result<Self, CkksError> {
        Self::kinked("absolute", Curve::Magnitude, (error, 1.0), bound, Product { factor: 1.0, shift: 0.0 })
    }

    /// The rectified linear unit `max(x, 0)` of numbers of magnitude at most `bound`, as
    /// [`Approximation::absolute`].
    ///
    /// # Errors
    /// As [`Approximation::absolute`].
    pub fn relu(error: f64, bound: f64) -> Result<Self, CkksError> {
        Self::kinked("relu", Curve::PositivePart, (error, 2.0), bound, Product { factor: 0.5, shift: 1.0 })
    }

    /// A function with a kink at zero: a polynomial, or a `product` with the sign to within `share` times the
    /// error of the function.
    fn kinked(
        function: &'static str,
        curve: Curve,
        (error, share): (f64, f64),
        bound: f64,
        product: Product,
    ) -> Result<Self, CkksError> {
        let (error, bound) = (positive("`error`", error)?, positive("`bound`", bound)?);
        let polynomial = fitted(curve, error, (-bound, bound)).ok();
        let margin = share * error;
        let signs = if margin < bound { sign(margin, margin / bound, bound).ok() } else { None };
        // The product takes a level.
        let takes_less = |polynomial: &Composition| {
            signs.as_ref().is_none_or(|signs| levels(polynomial) <= levels(signs) + 1)
        };
        if let Some(polynomials) = polynomial.filter(takes_less) {
            return Ok(Self { function, polynomials, product: None });
        }
        match signs {
            Some(polynomials) => Ok(Self { function, polynomials, product: Some(product) }),
            None => out_of_range(
                "`error`",
                error,
                format!(
                    "no polynomials come so near to `{function}` of numbers up to {}: allow a larger error",
                    short(bound)
                ),
            ),
        }
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
        check_inside(self.function, x, self.domain())?;
        let value = |&x: &f64| {
            let composed = self.polynomials.iter().fold(x, |x, polynomial| polynomial.evaluate_real(x));
            match self.product {
                None => composed,
                Some(Product { factor, shift }) => (factor * x) * (composed + shift),
            }
        };
        Ok(x.iter().map(value).collect())
    }

    /// The values at encrypted numbers. Of numbers without a bound nobody notices one outside of the domain,
    /// and its value is wrong.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for complex numbers; [`CkksError::TooLarge`] for numbers that may be
    /// outside of the domain by their bound; [`CkksError::Level`] and [`CkksError::LevelTooLow`]
    /// where too few levels are left; [`CkksError::MissingKey`]; [`CkksError::Encoding`] for an
    /// array in coefficients without the keys to convert it.
    pub fn apply(&self, x: &EncryptedArray) -> Result<EncryptedArray, CkksError> {
        check_real(self.function, x)?;
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
