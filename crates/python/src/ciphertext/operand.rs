//! What stands on the other side of an operator.

use clathrate_ckks::CkksError;
use clathrate_ckks::encrypted_array::{EncryptedArray, Operand};
use clathrate_ckks::keys::Values;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::transposed::PyTransposed;
use crate::arrays::operand_array;

/// The other operand of a ciphertext's operator.
pub enum Other<'py> {
    /// Another ciphertext.
    Ciphertext(Bound<'py, PyCiphertext>),
    /// Plain numbers.
    Plain(Operand<'static>),
}

impl<'py> Other<'py> {
    /// Sorts out `data`.
    ///
    /// # Errors
    /// Those of [`array`].
    pub fn new(data: &Bound<'py, PyAny>, x: &EncryptedArray) -> PyResult<Self> {
        if let Ok(ciphertext) = data.cast::<PyCiphertext>() {
            return Ok(Self::Ciphertext(ciphertext.clone()));
        }
        if data.is_instance_of::<PyTransposed>() {
            return Err(PyTypeError::new_err(
                "an array combines with the view of a transposed matrix as a view: take `.T` of both, or the rows of the view by \
                 `x.T.to_rows()`, which switches keys",
            ));
        }
        let array = operand_array(data, x)?;
        Ok(Self::Plain(match (&array.values, array.shape.is_empty()) {
            (Values::Real(values), true) if array.whole && array.input.is_none() => {
                Operand::Integer(values[0])
            }
            (Values::Real(values), true) if array.input.is_none() => Operand::Number(values[0]),
            _ => array.plain().into(),
        }))
    }
}

impl PyCiphertext {
    /// What `work` makes of this array and the operand `other`.
    pub fn operate(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        work: impl FnOnce(&EncryptedArray, Operand<'_>) -> Result<EncryptedArray, CkksError> + Send,
    ) -> PyResult<Self> {
        match Other::new(other, &self.array)? {
            Other::Ciphertext(other) => self.join(py, other.get(), |x, y| work(x, y.into())),
            Other::Plain(operand) => self.compute(py, |x| work(x, operand)),
        }
    }
}
