//! Intervals of numbers, and the checks of arguments.

use super::curve::SmoothFunction;
use crate::encoding::values::ValuesRef;
use crate::encrypted_array::{EncryptedArray, Operand};
use crate::error::CkksError;

/// Relative excess over an interval that is attributed to the rounding of its ends.
const ROUNDED: f64 = 1e-9;

/// The largest magnitude where no number is larger and none is stated.
const USUAL_BOUND: f64 = 1.0;

/// The same of a softmax.
pub(super) const USUAL_SOFTMAX_BOUND: f64 = 2.0;

/// A number of a message, with at most six digits.
pub(super) fn short(value: f64) -> String {
    let rounded = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded == 0.0 || (1e-4..1e16).contains(&rounded.abs()) {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

pub(super) fn out_of_range<T>(what: &'static str, value: f64, remedy: String) -> Result<T, CkksError> {
    Err(CkksError::OutOfRange { what, value: short(value), remedy })
}

/// The error of an approximation where none is stated, and of functions that have a kink.
pub(super) const USUAL_ERROR: f64 = 1e-3;
pub(super) const USUAL_ERROR_AT_KINKS: f64 = 1e-2;

/// The error of an approximation: the one that was stated, or else the usual one.
///
/// # Errors
/// As [`positive`].
pub(super) fn stated(error: Option<f64>, usual: f64) -> Result<f64, CkksError> {
    positive("`error`", error.unwrap_or(usual))
}

/// `value`, which is finite and above 0.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(super) fn positive(what: &'static str, value: f64) -> Result<f64, CkksError> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    out_of_range(what, value, "use a finite number above 0".to_owned())
}

/// `domain`, which is above 0.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(super) fn above_zero(domain: (f64, f64)) -> Result<(f64, f64), CkksError> {
    let (low, high) = domain;
    if 0.0 < low && low < high && high.is_finite() {
        return Ok(domain);
    }
    Err(CkksError::OutOfRange {
        what: "`domain`",
        value: format!("({low}, {high})"),
        remedy: "it reaches zero, or does not end after it begins: give an interval above 0 that all numbers are in"
            .to_owned(),
    })
}

/// The interval of `function`: `domain`, or else the usual one of numbers of magnitude at most `largest`.
///
/// # Errors
/// [`CkksError::OutOfRange`] without an interval for a function of numbers above 0.
pub(super) fn domain_of(
    function: SmoothFunction,
    domain: Option<(f64, f64)>,
    largest: f64,
) -> Result<(f64, f64), CkksError> {
    domain.or_else(|| function.usual_domain(largest)).ok_or_else(|| CkksError::OutOfRange {
        what: "`domain`",
        value: "missing".to_owned(),
        remedy: format!("`{}` needs an interval above 0 that all numbers are in", function.name()),
    })
}

/// The largest magnitude that a function is approximated for: as stated, or `usual`, or `largest`, that of
/// the numbers, where it is larger.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(super) fn reach(bound: Option<f64>, largest: f64, usual: f64) -> Result<f64, CkksError> {
    positive("`bound`", bound.unwrap_or_else(|| largest.max(usual)))
}

/// As [`reach`], of functions with a jump or a kink.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(super) fn usual_reach(bound: Option<f64>, largest: f64) -> Result<f64, CkksError> {
    reach(bound, largest, USUAL_BOUND)
}

/// The largest magnitude among plain numbers, 0 of none.
pub(super) fn largest_of(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |largest, x| x.abs().max(largest))
}

/// The largest magnitude that encrypted numbers may have by their bound, 0 without one.
pub(super) fn largest_in(x: &EncryptedArray) -> f64 {
    x.data().bound().unwrap_or(0.0)
}

/// The bound of an operand of `function`, as [`usual_reach`]; refuses complex numbers, and plain numbers
/// outside.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(super) fn reach_of(
    function: &'static str,
    x: &Operand<'_>,
    bound: Option<f64>,
) -> Result<f64, CkksError> {
    let numbers: &[f64] = match x {
        Operand::Encrypted(x) => {
            check_real(function, x)?;
            return usual_reach(bound, largest_in(x));
        }
        Operand::Number(x) | Operand::Integer(x) => std::slice::from_ref(x),
        Operand::Plain(x) => real(function, (&x.values).into())?,
    };
    reach_of_numbers(function, numbers, bound)
}

/// The bound of plain numbers, as [`usual_reach`]; refuses numbers outside.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(super) fn reach_of_numbers(
    function: &'static str,
    x: &[f64],
    bound: Option<f64>,
) -> Result<f64, CkksError> {
    let reach = usual_reach(bound, largest_of(x))?;
    check_inside(function, x, (-reach, reach))?;
    Ok(reach)
}

/// Refuses plain numbers outside of the interval of `function`, where its approximation is far off.
///
/// # Errors
/// [`CkksError::OutOfRange`] with the first such number.
pub(super) fn check_inside(function: &'static str, x: &[f64], domain: (f64, f64)) -> Result<(), CkksError> {
    let (low, high) = domain;
    let slack = ROUNDED * low.abs().max(high.abs());
    match x.iter().find(|x| !(low - slack..=high + slack).contains(*x)) {
        None => Ok(()),
        Some(&outside) => out_of_range(
            "a number",
            outside,
            format!(
                "`{function}` is approximated for numbers from {} to {}, and is far off outside: give an interval that holds all numbers",
                short(low),
                short(high)
            ),
        ),
    }
}

/// Refuses complex numbers.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(super) fn check_real(function: &'static str, x: &EncryptedArray) -> Result<(), CkksError> {
    if x.data().is_complex() { Err(of_complex(function)) } else { Ok(()) }
}

/// Plain numbers, which are real.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(super) fn real<'x>(function: &'static str, x: ValuesRef<'x>) -> Result<&'x [f64], CkksError> {
    match x {
        ValuesRef::Real(x) => Ok(x),
        ValuesRef::Complex(_) => Err(of_complex(function)),
    }
}

fn of_complex(function: &'static str) -> CkksError {
    CkksError::OutOfRange {
        what: "the function",
        value: format!("`{function}` of complex numbers"),
        remedy: "take it of `x.real_part()` and `x.imaginary_part()`".to_owned(),
    }
}
