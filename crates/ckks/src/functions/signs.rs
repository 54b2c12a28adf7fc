//! The sign as a composition of odd polynomials.
//!
//! Each polynomial is the best one on the interval that the one before it leaves: Lee, Lee, No, Kim, Minimax
//! Approximation of Sign Function by Composite Polynomial for Homomorphic Comparison (ePrint 2020/834),
//! section 3. But for the last one they have one degree, 15 or 31, whichever takes fewer levels; the last one
//! has the least that reaches the error.

use super::cache::{Composition, Wanted, kept_or};
use super::domain::short;
use super::minimax::odd_minimax;
use crate::circuits::polynomial::{Polynomial, PolynomialBasis};
use crate::error::CkksError;

/// The degrees of all polynomials but the last.
const DEGREES: [usize; 2] = [15, 31];

/// The degrees of the last polynomial.
const LAST_DEGREES: [usize; 7] = [3, 5, 7, 11, 15, 23, 31];

/// Polynomials at most.
const MAX_POLYNOMIALS: usize = 12;

/// Points of either kind at which the error is measured.
const CHECKS: usize = 10_001;

/// More than a dry run overestimates the largest value of a polynomial by.
const ROOM: f64 = 0.1;

/// Room for the noise of numbers of the largest magnitude, relative to it.
const NOISE: f64 = 1.0 / 1024.0;

/// Polynomials that, one after the other, take numbers from `margin` to `bound` to within `error` of 1, and
/// are odd.
///
/// # Errors
/// [`CkksError::OutOfRange`] where there are none.
pub(super) fn sign(margin: f64, error: f64, bound: f64) -> Result<Composition, CkksError> {
    kept_or(Wanted::Sign { margin, error, bound }, || {
        let mut best: Option<Vec<Polynomial>> = None;
        for degree in DEGREES {
            let found = of_degree(degree, margin, error, bound)?;
            let fewer =
                |found: &Vec<Polynomial>| best.as_ref().is_none_or(|best| levels(found) < levels(best));
            if let Some(found) = found.filter(fewer) {
                best = Some(found);
            }
        }
        best.filter(|found| reaches(found, margin, error, bound)).ok_or_else(|| CkksError::OutOfRange {
            what: "`margin`",
            value: short(margin),
            remedy: format!(
                "no {MAX_POLYNOMIALS} polynomials tell the signs of numbers of magnitude {} to {} with an error of {}: widen the margin, or allow a \
                 larger error",
                short(margin),
                short(bound),
                short(error)
            ),
        })
    })
}

/// Polynomials of one degree, but the last, which may have less; none where that leads nowhere.
///
/// All but the last are divided by their largest value, with room to spare, so that the next one is on
/// (-1, 1): noise does not lead out of it, and no level is taken to map the numbers.
fn of_degree(
    degree: usize,
    margin: f64,
    error: f64,
    bound: f64,
) -> Result<Option<Vec<Polynomial>>, CkksError> {
    let mut found = Vec::new();
    let (mut low, mut high, mut domain) = (margin, bound * (1.0 + NOISE), bound);
    for _ in 0..MAX_POLYNOMIALS {
        let mut nearest = (Vec::new(), f64::INFINITY);
        for last in LAST_DEGREES.into_iter().filter(|&last| last <= degree) {
            let (coefficients, distance) = odd_minimax(low, high, last);
            nearest = (on_domain(coefficients, high, domain)?, distance);
            if distance <= error {
                found.push(polynomial(nearest.0, domain)?);
                return Ok(Some(found));
            }
        }
        let (coefficients, distance) = nearest;
        if distance >= 1.0 {
            break;
        }
        let largest = (1.0 + distance) * (1.0 + ROOM);
        found.push(polynomial(coefficients.iter().map(|c| c / largest).collect(), domain)?);
        (low, high, domain) = ((1.0 - distance) / largest, 1.0, 1.0);
    }
    Ok(None)
}

fn polynomial(coefficients: Vec<f64>, bound: f64) -> Result<Polynomial, CkksError> {
    Polynomial::new(coefficients, PolynomialBasis::Chebyshev, (-bound, bound))
}

/// The coefficients on `(-domain, domain)` of the odd series with `coefficients` on `(-high, high)`.
fn on_domain(coefficients: Vec<f64>, high: f64, domain: f64) -> Result<Vec<f64>, CkksError> {
    if high == domain {
        return Ok(coefficients);
    }
    let degree = coefficients.len() - 1;
    let series = polynomial(coefficients, high)?;
    // As many points as coefficients: the interpolant is the polynomial itself.
    let moved = Polynomial::fit(|x| series.evaluate_real(x), degree, (-domain, domain))?;
    let odd = |(order, c): (usize, &crate::Complex64)| if order % 2 == 1 { c.re } else { 0.0 };
    Ok(moved.coefficients().iter().enumerate().map(odd).collect())
}

/// Whether the composition is within `error` of 1 from `margin` to `bound`, as far as double precision tells.
fn reaches(polynomials: &[Polynomial], margin: f64, error: f64, bound: f64) -> bool {
    let ratio = bound / margin;
    let last = (CHECKS - 1) as f64;
    let geometric = (0..CHECKS).map(|i| margin * libm::pow(ratio, i as f64 / last));
    let even = (0..CHECKS).map(|i| margin + (bound - margin) * (i as f64 / last));
    geometric.chain(even).all(|x| {
        // The last point of a grid may be rounded up.
        let sign = polynomials.iter().fold(x.min(bound), |x, polynomial| polynomial.evaluate_real(x));
        (sign - 1.0).abs() <= (1.0 + 1e-6) * error + 1e-14
    })
}

/// The levels of polynomials, one after the other, each on an interval around 0.
pub(super) fn levels(polynomials: &[Polynomial]) -> usize {
    let own = |polynomial: &Polynomial| {
        let products = (polynomial.degree() + 1).next_power_of_two().ilog2() as usize;
        // Numbers are mapped to (-1, 1) by a product, unless the factor is whole.
        let mapped = polynomial.domain().1.recip().fract() != 0.0;
        products + usize::from(mapped)
    };
    polynomials.iter().map(own).sum()
}
