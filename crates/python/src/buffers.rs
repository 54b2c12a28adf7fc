//! Pickles made of the bytes of files.

use clathrate_ckks::file::Stored;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::numbers::Whole;
use crate::params::PyParams;
use crate::saving::{file_bytes_of, to_bytes};

/// What `__reduce_ex__` gives: the rebuilding function, and parameters and bytes to call it with.
pub type BufferAndRebuild<'py> = (Bound<'py, PyAny>, (Py<PyParams>, Bound<'py, PyAny>));

/// `bytes` as a read-only uint8 array, without a copy.
///
/// # Errors
/// Those of NumPy.
fn to_array(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Bound<'_, PyAny>> {
    let array = PyArray1::from_vec(py, bytes).into_any();
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}

/// A pickle of a file's bytes: beside the pickle's stream from protocol 5 on, else within it.
///
/// # Errors
/// Those of `pickle`.
pub fn reduce<'py>(
    py: Python<'py>,
    stored: &(impl Stored + Sync),
    bytes: usize,
    params: &Py<PyParams>,
    protocol: Whole,
) -> PyResult<BufferAndRebuild<'py>> {
    let buffer = if protocol.0 >= 5 {
        let array = to_array(py, file_bytes_of(py, stored, bytes)?)?;
        py.import("pickle")?.getattr("PickleBuffer")?.call1((array,))?
    } else {
        to_bytes(py, stored, bytes)?.into_any()
    };
    Ok((py.import("clathrate._pickle")?.getattr("rebuild")?, (params.clone_ref(py), buffer)))
}
