//! What stands on the other side of an operator.

use clathrate_ckks::keys::Values;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::transposed::PyTransposed;
use crate::arrays::{Array, array};

/// The other operand of a ciphertext's operator.
pub enum Operand<'py> {
    /// Another ciphertext.
    Ciphertext(Bound<'py, PyCiphertext>),
    /// One real number that is of no integer type.
    Scalar(f64),
    /// One number of an integer type.
    Integer(f64),
    /// An array to be broadcast, or one complex number.
    Array(Array),
}

impl<'py> Operand<'py> {
    /// Sorts out `data`.
    ///
    /// # Errors
    /// Those of [`array`].
    pub fn new(data: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(ciphertext) = data.cast::<PyCiphertext>() {
            return Ok(Self::Ciphertext(ciphertext.clone()));
        }
        if data.is_instance_of::<PyTransposed>() {
            return Err(PyTypeError::new_err(
                "an array combines with the view of a transposed matrix as a view: take `.T` of both, or the rows of the view by \
                 `x.T.to_rows()`, which switches keys",
            ));
        }
        let array = array(data)?;
        Ok(match (&array.values, array.shape.is_empty()) {
            (Values::Real(values), true) => {
                if array.whole {
                    Self::Integer(values[0])
                } else {
                    Self::Scalar(values[0])
                }
            }
            _ => Self::Array(array),
        })
    }
}
