//! Functions of plain numbers, by the polynomials of the encrypted computation: its results without noise.
//!
//! Arguments are those of the methods of [`EncryptedArray`](crate::encrypted_array::EncryptedArray) with the
//! same names; where no interval is given, the largest magnitude of the numbers stands for their bound. All
//! refuse complex numbers, and numbers outside of the interval ([`CkksError::OutOfRange`]).

use super::approximation::Approximation;
use super::curve::SmoothFunction;
use super::domain::{
    USUAL_SOFTMAX_BOUND, above_zero, domain_of, largest_of, reach, reach_of_numbers, real, usual_reach,
};
use super::softmax::{Softmax, of_single};
use crate::encoding::values::ValuesRef;
use crate::error::CkksError;

/// A smooth function, entry by entry.
///
/// # Errors
/// Those of [`Approximation::smooth`]; [`CkksError::OutOfRange`] for numbers outside.
pub fn smooth<'x>(
    function: SmoothFunction,
    x: impl Into<ValuesRef<'x>>,
    error: impl Into<Option<f64>>,
    domain: Option<(f64, f64)>,
) -> Result<Vec<f64>, CkksError> {
    let x = real(function.name(), x.into())?;
    Approximation::smooth(function, error, domain_of(function, domain, largest_of(x))?)?.evaluate(x)
}

/// The sign, entry by entry.
///
/// # Errors
/// Those of [`Approximation::sign`]; [`CkksError::OutOfRange`] for numbers outside.
pub fn sign<'x>(
    x: impl Into<ValuesRef<'x>>,
    margin: f64,
    error: impl Into<Option<f64>>,
    bound: Option<f64>,
) -> Result<Vec<f64>, CkksError> {
    let x = real("sign", x.into())?;
    Approximation::sign(margin, error, usual_reach(bound, largest_of(x))?)?.evaluate(x)
}

/// The magnitude, entry by entry.
///
/// # Errors
/// Those of [`Approximation::absolute`]; [`CkksError::OutOfRange`] for numbers outside.
pub fn absolute<'x>(
    x: impl Into<ValuesRef<'x>>,
    error: impl Into<Option<f64>>,
    bound: Option<f64>,
) -> Result<Vec<f64>, CkksError> {
    let x = real("absolute", x.into())?;
    Approximation::absolute(error, usual_reach(bound, largest_of(x))?)?.evaluate(x)
}

/// The rectified linear unit `max(x, 0)`, entry by entry.
///
/// # Errors
/// Those of [`Approximation::relu`]; [`CkksError::OutOfRange`] for numbers outside.
pub fn relu<'x>(
    x: impl Into<ValuesRef<'x>>,
    error: impl Into<Option<f64>>,
    bound: Option<f64>,
) -> Result<Vec<f64>, CkksError> {
    let x = real("relu", x.into())?;
    Approximation::relu(error, usual_reach(bound, largest_of(x))?)?.evaluate(x)
}

/// The larger one of two numbers, entry by entry.
///
/// # Errors
/// [`CkksError::Shape`] for another number of others; as [`relu`].
pub fn maximum<'x>(
    x: impl Into<ValuesRef<'x>>,
    y: impl Into<ValuesRef<'x>>,
    error: impl Into<Option<f64>>,
    bound: Option<f64>,
) -> Result<Vec<f64>, CkksError> {
    let (x, y) = (real("maximum", x.into())?, real("maximum", y.into())?);
    let excess = excess("maximum", x, y, error.into(), bound)?;
    Ok(y.iter().zip(excess).map(|(y, excess)| y + excess).collect())
}

/// The smaller one of two numbers, entry by entry.
///
/// # Errors
/// As [`maximum`].
pub fn minimum<'x>(
    x: impl Into<ValuesRef<'x>>,
    y: impl Into<ValuesRef<'x>>,
    error: impl Into<Option<f64>>,
    bound: Option<f64>,
) -> Result<Vec<f64>, CkksError> {
    let (x, y) = (real("minimum", x.into())?, real("minimum", y.into())?);
    let excess = excess("minimum", x, y, error.into(), bound)?;
    Ok(x.iter().zip(excess).map(|(x, excess)| x - excess).collect())
}

/// `max(x - y, 0)`, entry by entry.
fn excess(
    function: &'static str,
    x: &[f64],
    y: &[f64],
    error: Option<f64>,
    bound: Option<f64>,
) -> Result<Vec<f64>, CkksError> {
    if x.len() != y.len() {
        let (left, right) = (vec![x.len()], vec![y.len()]);
        let remedy = "give as many numbers".to_owned();
        return Err(CkksError::Shape { operation: function, left, right, remedy });
    }
    let reach = reach_of_numbers(function, x, bound)? + reach_of_numbers(function, y, bound)?;
    let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
    Approximation::relu(error, reach)?.evaluate(&differences)
}

/// `exp(x) / sum(exp(x))` of rows of `count` numbers; `None` stands for a single number without an axis.
///
/// # Errors
/// Those of [`Softmax::new`] and [`Softmax::evaluate`]; [`CkksError::Unsuitable`] for a single number.
pub fn softmax<'x>(
    x: impl Into<ValuesRef<'x>>,
    count: Option<usize>,
    error: impl Into<Option<f64>>,
    bound: Option<f64>,
) -> Result<Vec<f64>, CkksError> {
    let x = real("softmax", x.into())?;
    let count = count.ok_or_else(of_single)?;
    Softmax::new(reach(bound, largest_of(x), USUAL_SOFTMAX_BOUND)?, error, count)?.evaluate(x)
}

/// The roots of squares, entry by entry: the last step of a norm or a standard deviation. `domain` is the
/// interval of the roots, above 0.
///
/// # Errors
/// Those of [`Approximation::smooth`]; [`CkksError::OutOfRange`] for numbers outside.
pub fn root_of_squares<'x>(
    squares: impl Into<ValuesRef<'x>>,
    error: impl Into<Option<f64>>,
    domain: (f64, f64),
) -> Result<Vec<f64>, CkksError> {
    let (low, high) = above_zero(domain)?;
    smooth(SmoothFunction::Sqrt, squares, error, Some((low * low, high * high)))
}
