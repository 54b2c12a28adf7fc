//! `exp(x) / sum(exp(x))` along the last axis.

use super::approximation::approximated;
use super::cache::{Composition, fitted};
use super::curve::{Curve, SmoothFunction};
use super::domain::{
    USUAL_ERROR, above_zero, check_inside, check_real, out_of_range, positive, short, stated,
};
use crate::circuits::polynomial::Polynomial;
use crate::encrypted_array::EncryptedArray;
use crate::error::CkksError;

/// The function's name in errors.
const SOFTMAX: &str = "softmax";

/// Bounds that a remedy names are multiples of one hundredth.
const BOUNDS_PER_UNIT: f64 = 100.0;

/// The softmax `exp(x) / sum(exp(x))` of rows of numbers, as polynomials to a stated error: one for
/// `exp(x - bound) / count`, and one for the inverse of the sum.
///
/// ```
/// use clathrate_ckks::functions::Softmax;
/// # use clathrate_ckks::CkksError;
///
/// let softmax = Softmax::new(2.0, 1e-3, 3)?;
/// let row = softmax.evaluate(&[0.0, 1.0, 1.0])?;
/// assert!((row[0] - 0.155_362).abs() < 1e-3 && (row[1] - 0.422_319).abs() < 1e-3);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Softmax {
    bound: f64,
    error: f64,
    count: usize,
    exponential: Composition,
    inverse: Composition,
}

impl Softmax {
    /// The softmax of rows of `count` numbers of magnitude at most `bound`, to within `error`. The degree of
    /// the inverse grows with `exp(bound)`.
    ///
    /// Range: a `bound` above 0; an `error` above 0 and below 1, the largest value, 1e-3 without one; a
    /// `count` of 1 or more.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for arguments out of range, and where no degrees up to 511 reach the error;
    /// the message tells a bound and an error that are within reach.
    pub fn new(bound: f64, error: impl Into<Option<f64>>, count: usize) -> Result<Self, CkksError> {
        let (bound, error) = (positive("`bound`", bound)?, stated(error.into(), USUAL_ERROR)?);
        if error >= 1.0 {
            let remedy = "it is not below 1, and the values of softmax are at most 1: ask for less";
            return out_of_range("`error`", error, remedy.to_owned());
        }
        if count == 0 {
            return Err(CkksError::no_entries([count]));
        }
        Self::fitted(bound, error, count).map_err(|_| out_of_reach(bound, error, count))
    }

    fn fitted(bound: f64, error: f64, count: usize) -> Result<Self, CkksError> {
        // With z = exp(x - bound) / count <= 1 / count, s their sum, s >= least, and z', s' with errors:
        // |z'/s' - z/s| <= e(z) (1 + count z / s) / s' + z' e(1/s).
        let least = libm::exp(-2.0 * bound);
        // The terms' own errors change the sum by no more than a quarter of this.
        let slack = error * least;
        let domain = above_zero((least - slack / 2.0, 1.0 + slack))?;
        // The inverse first: it is what fails.
        let inverse = fitted(Curve::Smooth(SmoothFunction::Inverse), count as f64 * error / 8.0, domain)?;
        let within = error * least / (4.0 * count as f64);
        let exponential = fitted(Curve::Share { bound, count }, within, (-bound, bound))?;
        Ok(Self { bound, error, count, exponential, inverse })
    }

    /// The polynomial near `exp(x - bound) / count`.
    #[must_use]
    pub fn exponential(&self) -> &Polynomial {
        &self.exponential[0]
    }

    /// The polynomial near the inverse of the sum of these exponentials.
    #[must_use]
    pub fn inverse(&self) -> &Polynomial {
        &self.inverse[0]
    }

    /// The values of plain numbers, row after row.
    ///
    /// # Errors
    /// [`CkksError::Shape`] unless there are whole rows; [`CkksError::OutOfRange`] for a number larger than
    /// the bound.
    pub fn evaluate(&self, x: &[f64]) -> Result<Vec<f64>, CkksError> {
        check_inside(SOFTMAX, x, (-self.bound, self.bound))?;
        if !x.len().is_multiple_of(self.count) {
            let remedy = format!("give rows of {} numbers", self.count);
            let (left, right) = (vec![x.len()], vec![self.count]);
            return Err(CkksError::Shape { operation: SOFTMAX, left, right, remedy });
        }
        Ok(x.chunks_exact(self.count).flat_map(|row| self.row(row)).collect())
    }

    fn row(&self, row: &[f64]) -> impl Iterator<Item = f64> {
        let terms: Vec<f64> = row.iter().map(|&x| self.exponential().evaluate_real(x)).collect();
        let inverse = self.inverse().evaluate_real(terms.iter().sum());
        terms.into_iter().map(move |term| term * inverse)
    }

    /// The differences from the softmax in a row of these numbers, repeated or cut to its length.
    fn differences(&self, numbers: [f64; 16]) -> [f64; 16] {
        let row: Vec<f64> = (0..self.count)
            .map(|place| numbers[place % numbers.len()].clamp(-self.bound, self.bound))
            .collect();
        let terms: Vec<f64> = row.iter().map(|x| libm::exp(x - self.bound)).collect();
        let sum: f64 = terms.iter().sum();
        let found: Vec<f64> = self
            .row(&row)
            .zip(&terms)
            .map(|(found, term)| (found - term / sum).clamp(-self.error, self.error))
            .collect();
        std::array::from_fn(|node| found[node % self.count])
    }

    /// The values of encrypted numbers, along the last axis, with predicted errors as
    /// [`Approximation::apply`](super::Approximation::apply). Of numbers without a bound nobody notices a
    /// larger one, and its row is wrong.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for rows of another length; as
    /// [`Approximation::apply`](super::Approximation::apply); [`CkksError::MissingKey`].
    pub fn apply(&self, x: &EncryptedArray) -> Result<EncryptedArray, CkksError> {
        check_real(SOFTMAX, x)?;
        let count = length_of(x)?;
        if count != self.count {
            let remedy = format!("give rows of {} numbers", self.count);
            let (left, right) = (x.data().shape().to_vec(), vec![self.count]);
            return Err(CkksError::Shape { operation: SOFTMAX, left, right, remedy });
        }
        let differences = self.differences(x.data().estimate().typical_numbers());
        let terms = x.polynomial(self.exponential())?;
        let total = terms.sum(Some(&[-1]), true)?;
        // A sum of terms of at most 1 / count is at most 1, which the bounds on single terms do not tell.
        let total = at_most(total, self.inverse().domain().1)?;
        approximated(&terms.mul(&total.polynomial(self.inverse())?)?, differences, self.error)
    }
}

/// The length of the last axis.
///
/// # Errors
/// [`CkksError::Unsuitable`] for a single number.
pub(super) fn length_of(x: &EncryptedArray) -> Result<usize, CkksError> {
    x.data().shape().last().copied().ok_or_else(of_single)
}

/// The error of a softmax without an axis.
pub(super) fn of_single() -> CkksError {
    CkksError::Unsuitable {
        operation: "softmax of a single number",
        reason: "give an array with at least one axis".to_owned(),
    }
}

/// `x` with a bound of at most `bound`, where it has one.
///
/// # Errors
/// Those of [`Ciphertext::with_bound`](crate::Ciphertext::with_bound).
pub(super) fn at_most(x: EncryptedArray, bound: f64) -> Result<EncryptedArray, CkksError> {
    match x.data().bound().filter(|own| *own > bound) {
        Some(_) => x.map(|_, x| x.with_bound(Some(bound))),
        None => Ok(x),
    }
}

fn is_within_reach(bound: f64, error: f64, count: usize) -> bool {
    Softmax::fitted(bound, error, count).is_ok()
}

/// The error of a softmax that no polynomials reach: it tells the largest bound for this error, to a
/// hundredth, and the least of some errors for this bound.
fn out_of_reach(bound: f64, error: f64, count: usize) -> CkksError {
    let (mut low, mut high) = (0.0, (BOUNDS_PER_UNIT * bound).ceil());
    while high - low > 1.0 {
        let middle = ((low + high) / 2.0_f64).floor();
        if is_within_reach(middle / BOUNDS_PER_UNIT, error, count) { low = middle } else { high = middle }
    }
    let lower = if low > 0.0 {
        format!("lower `bound` to {}", low / BOUNDS_PER_UNIT)
    } else {
        "no bound of 0.01 or more reaches this error".to_owned()
    };
    let doubled = |error: &f64| Some(2.0 * error).filter(|error| *error < 1.0);
    let larger = std::iter::successors(doubled(&error), doubled)
        .find(|&error| is_within_reach(bound, error, count))
        // Rounded up to what is said.
        .map(|error| format!("{:.1e}", 1.05 * error).parse().unwrap_or(error))
        .filter(|error: &f64| *error < 1.0);
    let larger = match larger {
        Some(error) => format!("raise `error` to {}", short(error)),
        None => "no `error` below 1 is within reach of this bound".to_owned(),
    };
    CkksError::OutOfRange {
        what: "the function",
        value: format!(
            "softmax of {count} numbers with `bound` {} and `error` {}",
            short(bound),
            short(error)
        ),
        remedy: format!(
            "the sum of exponentials that it divides by is up to {:.1e} times its least, and no polynomials up to degree 511 reach this error: \
             {lower}; {larger}",
            libm::exp((2.0 * bound).min(700.0))
        ),
    }
}
