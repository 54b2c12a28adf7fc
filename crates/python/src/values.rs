//! Small arithmetic on plain numbers, for the operators of ciphertexts.

use clathrate_ckks::keys::Values;
use pyo3::prelude::*;

use crate::arrays::Array;
use crate::errors::exception;

/// `-values`.
pub fn negated(values: Values) -> Values {
    match values {
        Values::Real(values) => Values::Real(values.into_iter().map(|v| -v).collect()),
        Values::Complex(values) => Values::Complex(values.into_iter().map(|v| -v).collect()),
    }
}

/// `1 / values`.
///
/// # Errors
/// `DataError` where an entry is zero, or so near that its inverse is beyond double precision: in the words
/// of a division.
pub fn inverted(py: Python<'_>, values: Values) -> PyResult<Values> {
    let (inverse, bad) = match values {
        Values::Real(values) => {
            let bad = values.iter().position(|v| v.is_finite() && !v.recip().is_finite());
            (Values::Real(values.into_iter().map(f64::recip).collect()), bad)
        }
        Values::Complex(values) => {
            let bad = values.iter().position(|v| v.is_finite() && !v.inv().is_finite());
            (Values::Complex(values.into_iter().map(|v| v.inv()).collect()), bad)
        }
    };
    match bad {
        None => Ok(inverse),
        Some(index) => {
            let message = format!(
                "division by zero: entry {index} of the divisor (counted flat, broadcast) has no finite inverse"
            );
            Err(exception(py, "DataError", message))
        }
    }
}

/// One number as an array without axes.
pub fn scalar(value: f64) -> Array {
    Array { values: Values::Real(vec![value]), shape: vec![], whole: false }
}
