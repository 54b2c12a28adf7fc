//! A file's bytes as an array, and pickles made of them.

use numpy::PyArray1;
use pyo3::prelude::*;

use crate::numbers::Whole;
use crate::params::PyParams;

/// What `__reduce_ex__` gives: the rebuilding function, and parameters and bytes to call it with.
pub type BufferAndRebuild<'py> = (Bound<'py, PyAny>, (Py<PyParams>, Bound<'py, PyAny>));

/// `bytes` as a read-only uint8 array, without a copy.
///
/// # Errors
/// Those of NumPy.
pub fn to_array(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Bound<'_, PyAny>> {
    let array = PyArray1::from_vec(py, bytes).into_any();
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}

/// A pickle of a file's bytes: beside the pickle's stream from protocol 5 on, else within it.
///
/// # Errors
/// Those of `pickle`.
pub fn reduce<'py>(bytes: Bound<'py, PyAny>, params: &Py<PyParams>, protocol: Whole) -> PyResult<BufferAndRebuild<'py>> {
    let py = bytes.py();
    let buffer =
        if protocol.0 >= 5 { py.import("pickle")?.getattr("PickleBuffer")?.call1((bytes,))? } else { bytes.call_method0("tobytes")? };
    Ok((py.import("clathrate._pickle")?.getattr("rebuild")?, (params.clone_ref(py), buffer)))
}
