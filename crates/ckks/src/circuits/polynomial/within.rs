//! The polynomial of minimal degree that approximates a function within a given error.

use std::f64::consts::PI;

use rustfft::num_complex::Complex64;

use super::{MAX_DEGREE, Polynomial, PolynomialBasis, check_domain};
use crate::byproducts::Byproducts;
use crate::error::CkksError;

/// Intervals between the points at which errors are measured: four per degree, so that errors between the
/// points are not much larger.
const INTERVALS: usize = 4 * (MAX_DEGREE + 1);

impl Polynomial {
    /// The points at which [`Polynomial::fit_within`] calls its function: those of [`Polynomial::fit_points`]
    /// at the maximum degree, followed by those at which errors are measured, which include both ends of the
    /// domain.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`].
    pub fn points_within(domain: (f64, f64)) -> Result<Vec<f64>, CkksError> {
        let mut points = Self::fit_points(MAX_DEGREE, domain)?;
        let (a, b) = domain;
        let (centre, radius) = (a / 2.0 + b / 2.0, b / 2.0 - a / 2.0);
        points.extend(
            (0..=INTERVALS)
                .map(|j| (centre + radius * libm::cos(PI * j as f64 / INTERVALS as f64)).clamp(a, b)),
        );
        Ok(points)
    }

    /// The truncated Chebyshev series of minimal degree whose values differ from those of `function` by at
    /// most `error` at the 2049 measured points of the domain.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for an error that is not positive, or that no degree up to 511 reaches;
    /// those of [`Polynomial::fit`].
    pub fn fit_within<V: Copy + Into<Complex64>>(
        function: impl Fn(f64) -> V,
        error: f64,
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        let values: Vec<V> = Self::points_within(domain)?.into_iter().map(function).collect();
        Self::from_values_within(&values, error, domain)
    }

    /// [`Polynomial::fit_within`] of the function with these values at [`Polynomial::points_within`].
    ///
    /// # Errors
    /// [`CkksError::Shape`] for another number of values; those of [`Polynomial::fit_within`].
    pub fn from_values_within<V: Copy + Into<Complex64>>(
        values: &[V],
        error: f64,
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        check_domain(domain)?;
        let points = Self::points_within(domain)?;
        if values.len() != points.len() {
            return Err(CkksError::Shape {
                operation: "a fit of a function",
                left: vec![points.len()],
                right: vec![values.len()],
                remedy: "give one value for each point".to_owned(),
            });
        }
        let out_of_range = |remedy: String| {
            Err(CkksError::OutOfRange { what: "the error of a polynomial", value: error.to_string(), remedy })
        };
        if !(error.is_finite() && error > 0.0) {
            return out_of_range("use a number above 0".to_owned());
        }
        let (fitted, measured) = values.split_at(MAX_DEGREE + 1);
        let series = Self::from_fit_values(fitted, domain)?;
        let measured: Vec<(f64, Complex64)> = points[MAX_DEGREE + 1..]
            .iter()
            .copied()
            .zip(measured.iter().map(|&value| value.into()))
            .collect();
        if let Some(&(x, value)) = measured.iter().find(|(_, value)| !value.is_finite()) {
            return Err(CkksError::function_not_finite(x, super::not_finite_part(value)));
        }
        // For each point: the remainder of the value, the Chebyshev polynomials of this degree and the next,
        // and the point.
        let (alpha, beta) = series.map();
        let start = |&(x, value): &(f64, Complex64)| {
            let y = (alpha * x + beta).clamp(-1.0, 1.0);
            (value, 1.0, y, y)
        };
        let mut left: Vec<(Complex64, f64, f64, f64)> = measured.iter().map(start).collect();
        let mut best = (f64::INFINITY, domain.0);
        for (degree, coefficient) in series.coefficients.iter().enumerate() {
            let mut worst = (0.0, domain.0);
            for ((rest, current, next, y), &(x, _)) in left.iter_mut().zip(&measured) {
                *rest -= coefficient * *current;
                (*current, *next) = (*next, 2.0 * *y * *next - *current);
                if rest.norm() > worst.0 {
                    worst = (rest.norm(), x);
                }
            }
            if worst.0 <= error {
                let coefficients = series.coefficients[..=degree].to_vec();
                return Ok(Self {
                    coefficients,
                    basis: PolynomialBasis::Chebyshev,
                    domain,
                    is_by_word: false,
                    kept: Byproducts::default(),
                });
            }
            if worst.0 < best.0 {
                best = worst;
            }
        }
        let (best, x) = best;
        out_of_range(format!(
            "on the domain ({}, {}) no polynomial up to degree {MAX_DEGREE} differs from the function by less than {best:.3e}, at {x}: allow that, or take a \
             shorter domain; a function with a jump or a kink is approximated by a composition of polynomials",
            domain.0, domain.1
        ))
    }
}
