//! What stands on the other side of an operator.

use clathrate_ckks::keys::Values;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::transposed::PyTransposed;
use crate::arrays::{Array, array, is_numeric};

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
    /// Something else: Python asks it in turn (`NotImplemented`).
    Other,
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
        if !is_numeric(data)? {
            return Ok(Self::Other);
        }
        if is_numpy_matrix(data) {
            return Err(PyTypeError::new_err(
                "an operand is an `np.matrix`, whose `*` is another product than that of arrays: pass `np.asarray(x)`, and write `@` for a matrix product",
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

/// Whether `data` is a `numpy.matrix`, or of a class that derives from it.
pub fn is_numpy_matrix(data: &Bound<'_, PyAny>) -> bool {
    let of = |class: Bound<'_, PyAny>| -> PyResult<bool> {
        let (name, module) = (
            class.getattr("__name__")?.extract::<String>()?,
            class.getattr("__module__")?.extract::<String>()?,
        );
        Ok(name == "matrix" && (module == "numpy" || module.starts_with("numpy.")))
    };
    let classes = data.get_type().mro();
    classes.iter().any(|class| of(class).unwrap_or(false))
}
