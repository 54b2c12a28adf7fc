//! What a ciphertext refuses, because it would need the numbers.

use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::object::PyCiphertext;
use super::operators::EXPONENT;
use super::transposed::{DIVISOR, PyTransposed};
use crate::libraries::Library;

/// Why nothing is compared with a ciphertext.
const COMPARED: &str = "a ciphertext cannot be compared: decrypt it first with `secret_key.decrypt(ct)`, or compute with `cl.sign`, `cl.maximum` and `cl.minimum`";

/// Why none is changed.
const CONSTANT: &str = "a ciphertext does not change: make another one with `cl.where(mask, x, y)`, or of encrypted parts with `cl.concatenate`";

/// Why there is no loop over the numbers of one.
const ITERATED: &str = "a ciphertext cannot be iterated over: loop over places, `[x[i:i + 1] for i in range(len(x))]`, or decrypt it first with `secret_key.decrypt(ct)`";

/// Why one, or a list of several, is no array.
const NO_NUMBERS: &str = "a ciphertext is no array of numbers: of a list of ciphertexts take `sum(cts)`, `sum(cts) / len(cts)` for the mean, or \
     `cl.stack(cts)` for one encrypted matrix of vectors, and store the list with `pickle.dump(cts, file)`; the numbers of one are \
     `secret_key.decrypt(ct)`";

/// What a view of a transposed matrix does not do.
fn refuse_view<T>(what: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(format!(
        "{what} of the view of a transposed matrix: compute with the ciphertext itself and transpose the result, or with the rows of the view, \
         `x.T.to_rows()`"
    )))
}

fn refuse<T>(what: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(format!("{what}: decrypt it first with `secret_key.decrypt(ct)`")))
}

/// The error of an attribute that an array does not have.
fn missing(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<PyErr> {
    let message =
        object.py().import("clathrate._numpy")?.call_method1("missing_attribute", (object, name))?;
    Ok(PyAttributeError::new_err(message.unbind()))
}

#[pymethods]
impl PyTransposed {
    fn __pow__(&self, exponent: &Bound<'_, PyAny>, modulus: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = (exponent, modulus);
        refuse_view("no power is taken")
    }

    fn __rpow__(&self, base: &Bound<'_, PyAny>, modulus: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = (base, modulus);
        Err(PyTypeError::new_err(EXPONENT))
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = other;
        Err(PyTypeError::new_err(DIVISOR))
    }

    fn __abs__(&self) -> PyResult<()> {
        refuse_view("no absolute value is taken")
    }

    fn __setitem__(&self, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = (index, value);
        Err(PyTypeError::new_err(CONSTANT))
    }

    fn __delitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = index;
        Err(PyTypeError::new_err(CONSTANT))
    }

    fn __bool__(&self) -> PyResult<bool> {
        refuse("a ciphertext has no truth value")
    }

    fn __float__(&self) -> PyResult<f64> {
        refuse("a ciphertext is no number")
    }

    fn __int__(&self) -> PyResult<i64> {
        refuse("a ciphertext is no number")
    }

    fn __complex__(&self) -> PyResult<f64> {
        refuse("a ciphertext is no number")
    }

    fn __iter__(&self) -> PyResult<()> {
        refuse_view("no loop goes over the rows")
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let _ = value;
        refuse("a ciphertext cannot be searched")
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(
        &self,
        py: Python<'_>,
        dtype: Option<&Bound<'_, PyAny>>,
        copy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (dtype, copy);
        match Library::of_caller(py) {
            Some(library) => Err(library.cannot_read_ciphertext()),
            None => refuse_view("no numbers are read, and no function of numbers is taken,"),
        }
    }

    fn __getattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>) -> PyResult<()> {
        Err(missing(slf.as_any(), name)?)
    }

    fn __len__(&self) -> usize {
        self.base.get().data.layout().columns
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, operator: CompareOp) -> PyResult<bool> {
        let _ = (other, operator);
        Err(PyTypeError::new_err(COMPARED))
    }
}

#[pymethods]
impl PyCiphertext {
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let _ = other;
        Err(PyTypeError::new_err(COMPARED))
    }

    fn __ne__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __lt__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __le__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __gt__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __ge__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __abs__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "abs() does not take ciphertexts: use `cl.absolute` of real numbers, which is told by `bound=` how large they are",
        ))
    }

    fn __setitem__(&self, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = (index, value);
        Err(PyTypeError::new_err(CONSTANT))
    }

    fn __delitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = index;
        Err(PyTypeError::new_err(CONSTANT))
    }

    /// Attributes that there are none of: those of NumPy's arrays name what to use instead.
    fn __getattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>) -> PyResult<()> {
        Err(missing(slf.as_any(), name)?)
    }

    fn __bool__(&self) -> PyResult<bool> {
        refuse("a ciphertext has no truth value")
    }

    fn __float__(&self) -> PyResult<f64> {
        refuse("a ciphertext is no number")
    }

    fn __int__(&self) -> PyResult<i64> {
        refuse("a ciphertext is no number")
    }

    fn __complex__(&self) -> PyResult<f64> {
        refuse("a ciphertext is no number")
    }

    fn __iter__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(ITERATED))
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let _ = value;
        refuse("a ciphertext cannot be searched")
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(
        &self,
        py: Python<'_>,
        dtype: Option<&Bound<'_, PyAny>>,
        copy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (dtype, copy);
        Err(match Library::of_caller(py) {
            Some(library) => library.cannot_read_ciphertext(),
            None => PyTypeError::new_err(NO_NUMBERS),
        })
    }
}
