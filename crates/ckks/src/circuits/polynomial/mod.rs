//! Polynomials of encrypted arrays: coefficients, the plan of a circuit, and its execution.
//!
//! ```text
//! p(x) = sum_i c_i B_i(y),    y = (2 x - a - b) / (b - a),    B_i(y) = y^i  or  T_i(y),    c_i real or complex
//! ```
//!
//! As in `numpy.polynomial`, coefficients are ordered from the lowest degree up, and the domain `[a, b]` is
//! mapped to `[-1, 1]`; the default domain `[-1, 1]` needs no map. [`Polynomial::plan`] makes a
//! [`PolynomialPlan`] from coefficients and parameters, without ciphertexts;
//! [`Polynomial::apply`] executes it.

use std::convert::Infallible;
use std::f64::consts::PI;
use std::ops::Mul;
use std::sync::Arc;

use rustfft::num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::arrays::Ciphertext;
use crate::arrays::estimate::name_of;
use crate::byproducts::Byproducts;
use crate::error::CkksError;

mod build;
mod dry_run;
mod explain;
mod levels_scales;
mod node;
mod plan;
mod powers;
mod run;
mod split;
mod within;

use split::{Split, split};

pub use explain::{NodeRow, PolynomialExplanation};
pub use node::{Node, Value};
pub use plan::PolynomialPlan;

/// Maximum degree. Planning higher degrees takes too long, and double precision is too low for them.
pub const MAX_DEGREE: usize = 511;

/// The functions that the coefficients multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolynomialBasis {
    /// `y^i`.
    Power,
    /// `T_i(y) = cos(i arccos y)`: for approximations; accurate at high degrees.
    Chebyshev,
}

impl PolynomialBasis {
    /// The name of the basis.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Chebyshev => "chebyshev",
        }
    }

    /// The basis called `name`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`].
    pub fn named(name: &str) -> Result<Self, CkksError> {
        [Self::Power, Self::Chebyshev].into_iter().find(|basis| basis.name() == name).ok_or_else(|| {
            CkksError::OutOfRange {
                what: "the basis of a polynomial",
                value: format!("\"{name}\""),
                remedy: "use \"power\" or \"chebyshev\"".to_owned(),
            }
        })
    }
}

/// Terms that are zero are omitted.
const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// A polynomial on a real interval, with real or complex coefficients.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let cube = Polynomial::new([0.0, 0.0, 0.0, 1.0], PolynomialBasis::Power, (-1.0, 1.0))?;
/// let sigmoid = Polynomial::fit(|x: f64| 1.0 / (1.0 + (-x).exp()), 7, (-2.0, 2.0))?;
/// assert!((sigmoid.evaluate_real(1.0) - 0.7310586).abs() < 1e-4);
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let evaluator = Evaluator::with_keys(owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top))?);
/// let y = cube.apply(&evaluator, &owner.encrypt(&[0.5, -0.5])?)?;
/// assert!((owner.decrypt(&y)?.into_real()?[0] - 0.125).abs() < 1e-6);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Polynomial {
    coefficients: Vec<Complex64>,
    basis: PolynomialBasis,
    domain: (f64, f64),
    /// Whether all numbers are in the domain by the caller's word: a function that numbers below zero do not
    /// have.
    is_by_word: bool,
    kept: Byproducts,
}

/// Coefficients and their split, which takes longer to find than the rest of a plan.
type Known = (Vec<Complex64>, Arc<Split>);

/// Relative excess of a bound over the domain that is attributed to rounding.
const ROUNDED: f64 = 1e-9;

/// The domain without a map.
pub const UNIT_DOMAIN: (f64, f64) = (-1.0, 1.0);

impl Polynomial {
    /// The split of these coefficients, which are those of a part of the polynomial.
    fn split_of(&self, coefficients: &[Complex64], basis: PolynomialBasis) -> Arc<Split> {
        let find = || Ok::<Known, Infallible>((coefficients.to_vec(), Arc::new(split(coefficients, basis))));
        let Ok(known) = self.kept.get(|own: &Known| own.0 == coefficients, find);
        known.1.clone()
    }

    /// A polynomial of real `coefficients`, lowest degree first; `domain` is mapped to `[-1, 1]`.
    ///
    /// Range: at most [`MAX_DEGREE`]` + 1` finite coefficients; a finite, proper interval.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without coefficients; [`CkksError::NotFinite`]; [`CkksError::OutOfRange`].
    pub fn new(
        coefficients: impl AsRef<[f64]>,
        basis: PolynomialBasis,
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        Self::new_complex(
            coefficients.as_ref().iter().map(Complex64::from).collect::<Vec<_>>(),
            basis,
            domain,
        )
    }

    /// The name of the polynomial, for estimates.
    fn name(&self) -> u64 {
        let domain = [self.domain.0, self.domain.1, f64::from(self.basis as u8)];
        name_of(self.coefficients.iter().flat_map(|value| [value.re, value.im]).chain(domain))
    }

    /// A polynomial of complex `coefficients`; real if all imaginary parts are zero.
    ///
    /// Cost: the levels and products of ciphertexts of real coefficients, and one product with `X^{n/2}` for
    /// each sum that has a complex coefficient.
    pub fn new_complex(
        coefficients: impl AsRef<[Complex64]>,
        basis: PolynomialBasis,
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        let coefficients = coefficients.as_ref().to_vec();
        if coefficients.is_empty() {
            return Err(CkksError::no_entries([0]));
        }
        if let Some(index) = coefficients.iter().position(|c| !c.is_finite()) {
            return Err(CkksError::NotFinite {
                index,
                value: not_finite_part(coefficients[index]),
                shape: None,
            });
        }
        check_degree(coefficients.len() - 1)?;
        check_domain(domain)?;
        Ok(Self { coefficients, basis, domain, is_by_word: false, kept: Byproducts::default() })
    }

    /// The Chebyshev interpolant of a real or complex `function`: equal to it at the `degree + 1` points
    /// `cos(pi (j + 1/2) / (degree + 1))`, mapped to the domain, and close to the best approximation of that
    /// degree if the function is smooth.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] with the point where the function is not finite; those of
    /// [`Polynomial::new`].
    pub fn fit<V: Copy + Into<Complex64>>(
        function: impl Fn(f64) -> V,
        degree: usize,
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        let values: Vec<V> = Self::fit_points(degree, domain)?.into_iter().map(function).collect();
        Self::from_fit_values(&values, domain)
    }

    /// The points at which [`Polynomial::fit`] calls its function.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`].
    pub fn fit_points(degree: usize, domain: (f64, f64)) -> Result<Vec<f64>, CkksError> {
        check_degree(degree)?;
        check_domain(domain)?;
        let (a, b) = domain;
        // Halves the ends first, because their sum may overflow.
        let (centre, radius) = (a / 2.0 + b / 2.0, b / 2.0 - a / 2.0);
        Ok((0..=degree)
            .map(|j| centre + radius * libm::cos(PI * (j as f64 + 0.5) / (degree + 1) as f64))
            .collect())
    }

    /// The Chebyshev interpolant with these values at [`Polynomial::fit_points`]: `c_i = 2/m sum_j f_j cos(pi
    /// i (j + 1/2) / m)`, `c_0` half of it.
    pub fn from_fit_values<V: Copy + Into<Complex64>>(
        values: &[V],
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        let values: Vec<Complex64> = values.iter().map(|&value| value.into()).collect();
        let count = values.len();
        let points = Self::fit_points(count.saturating_sub(1), domain)?;
        if let Some((value, &x)) = values.iter().zip(&points).find(|(value, _)| !value.is_finite()) {
            return Err(CkksError::function_not_finite(x, not_finite_part(*value)));
        }
        // The angles have the period 4 m; reducing the integer numerator keeps them exact.
        let cosine = |numerator: usize| libm::cos(PI * (numerator % (4 * count)) as f64 / (2 * count) as f64);
        let coefficient = |i: usize| {
            let sum: Complex64 = values.iter().enumerate().map(|(j, v)| v * cosine(i * (2 * j + 1))).sum();
            sum * if i == 0 { 1.0 } else { 2.0 } / count as f64
        };
        Self::new_complex((0..count).map(coefficient).collect::<Vec<_>>(), PolynomialBasis::Chebyshev, domain)
    }

    /// The given coefficients, lowest degree first.
    #[must_use]
    pub fn coefficients(&self) -> &[Complex64] {
        &self.coefficients
    }

    /// Whether a coefficient has a nonzero imaginary part.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.coefficients.iter().any(|c| c.im != 0.0)
    }

    /// The basis.
    #[must_use]
    pub fn basis(&self) -> PolynomialBasis {
        self.basis
    }

    /// The interval that is mapped to `[-1, 1]`.
    #[must_use]
    pub fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// The degree: index of the last nonzero coefficient, 0 for constants.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.coefficients.iter().rposition(|&c| c != ZERO).unwrap_or(0)
    }

    /// Whether the polynomial is only meant on its domain, like an approximation. Polynomials in powers on
    /// the unit domain are meant for all numbers.
    pub(crate) fn is_of_domain(&self) -> bool {
        self.basis != PolynomialBasis::Power || self.domain != UNIT_DOMAIN
    }

    /// The same polynomial for numbers that are in its domain by the caller's word: a bound says how large
    /// they are, and not that they are above zero.
    pub(crate) fn by_word(self) -> Self {
        Self { is_by_word: true, ..self }
    }

    /// The polynomial of `unit` times its argument.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] where its domain is no interval of finite numbers.
    pub(crate) fn in_units(self, unit: f64) -> Result<Self, CkksError> {
        let domain = (self.domain.0 / unit, self.domain.1 / unit);
        check_domain(domain)?;
        Ok(Self { domain, ..self })
    }

    /// Refuses an array whose numbers may be outside of the domain by their bound.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`].
    pub(crate) fn check_inside(&self, x: &Ciphertext) -> Result<(), CkksError> {
        let (low, high) = self.domain;
        let most = if self.is_by_word { high.abs().max(low.abs()) } else { high.min(-low).max(0.0) };
        match x
            .bound()
            .filter(|&bound| bound > most * (1.0 + ROUNDED) && self.is_of_domain() && !x.is_complex())
        {
            Some(bound) => {
                // Functions of numbers above zero have a domain above zero.
                let from = if self.is_by_word { low } else { -bound };
                Err(CkksError::outside_domain(bound, (low, high), from))
            }
            None => Ok(()),
        }
    }

    /// `(alpha, beta)` of the map `y = alpha x + beta` that takes the domain to `[-1, 1]`.
    #[must_use]
    pub fn map(&self) -> (f64, f64) {
        let (a, b) = self.domain;
        let radius = b / 2.0 - a / 2.0;
        (1.0 / radius, -(a / 2.0 + b / 2.0) / radius)
    }

    /// `p(x)` at a plain real or complex number.
    #[must_use]
    pub fn evaluate(&self, x: impl Into<Complex64>) -> Complex64 {
        let x: Complex64 = x.into();
        let (alpha, beta) = if self.domain == UNIT_DOMAIN { (1.0, 0.0) } else { self.map() };
        let y = x * alpha + beta;
        if y.im == 0.0 {
            self.basis.evaluate(&self.coefficients, y.re)
        } else {
            self.basis.evaluate(&self.coefficients, y)
        }
    }

    /// The real part of `p(x)` at a real number, the value of a real polynomial.
    #[must_use]
    pub fn evaluate_real(&self, x: f64) -> f64 {
        self.evaluate(x).re
    }
}

/// The part of a complex number that is not finite.
fn not_finite_part(value: Complex64) -> f64 {
    if value.re.is_finite() { value.im } else { value.re }
}

impl PolynomialBasis {
    /// `sum_i c_i B_i(y)` by Horner's rule or Clenshaw's, at a real or complex `y`. Requires at least one
    /// coefficient.
    ///
    /// Does not convert a real `y` to a complex number, because then an infinite real part would make the
    /// imaginary part NaN.
    fn evaluate<Y: Copy>(self, coefficients: &[Complex64], y: Y) -> Complex64
    where
        Complex64: Mul<Y, Output = Complex64>,
    {
        match self {
            Self::Power => coefficients.iter().rev().fold(ZERO, |sum, &c| sum * y + c),
            Self::Chebyshev => {
                let (last, before) = coefficients[1..]
                    .iter()
                    .rev()
                    .fold((ZERO, ZERO), |(last, before), &c| ((last * y).scale(2.0) - before + c, last));
                last * y - before + coefficients[0]
            }
        }
    }
}

/// Points per degree at which a bound evaluates the polynomial.
const POINTS_PER_DEGREE: usize = 4;

/// A bound on `|p(y)|` for `y` in `[-1, 1]`: at most the sum of magnitudes, less if the terms cancel.
///
/// A polynomial of degree `d` is at most `1 / cos(pi d / (2 m))` times its largest value at the `m > d`
/// points `cos(pi (j + 1/2) / m)`; the sum of magnitudes bounds the rounding errors of the evaluation. The
/// same holds for complex coefficients: multiply `p` by the number of magnitude 1 that makes its largest
/// value real; the real part is then a real polynomial with the same largest value.
fn bound_on_interval(coefficients: &[Complex64], basis: PolynomialBasis) -> f64 {
    let sum: f64 = coefficients.iter().map(|c| c.norm()).sum();
    let degree = coefficients.len().saturating_sub(1);
    if degree == 0 || !sum.is_finite() {
        return sum;
    }
    let count = POINTS_PER_DEGREE * degree;
    let values = (0..count)
        .map(|j| basis.evaluate(coefficients, libm::cos(PI * (j as f64 + 0.5) / count as f64)).norm());
    let excess = libm::cos(PI / 2.0 * degree as f64 / count as f64).recip();
    let rounding = sum * f64::EPSILON * (degree * degree) as f64;
    sum.min(values.fold(0.0, f64::max) * excess + rounding)
}

fn check_degree(degree: usize) -> Result<(), CkksError> {
    if degree <= MAX_DEGREE {
        return Ok(());
    }
    let remedy = format!("use at most {MAX_DEGREE}, or compose polynomials of lower degree");
    Err(CkksError::OutOfRange { what: "the degree of a polynomial", value: degree.to_string(), remedy })
}

fn check_domain(domain: (f64, f64)) -> Result<(), CkksError> {
    let (a, b) = domain;
    let radius = b / 2.0 - a / 2.0;
    if a.is_finite() && b.is_finite() && a < b && radius.recip().is_finite() {
        return Ok(());
    }
    let remedy = "use two finite numbers, the lower one first".to_owned();
    Err(CkksError::OutOfRange { what: "the domain of a polynomial", value: format!("({a}, {b})"), remedy })
}
