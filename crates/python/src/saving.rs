//! Files of objects, and the same bytes in memory.

use clathrate_ckks::file::{FileWriter, Replaced, Stored};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::paths::FilePath;
use crate::run::transferring;

/// What a file that is no secret key may take the place of.
pub fn replaced(overwrite: bool) -> Replaced {
    if overwrite { Replaced::ButSecretKeys } else { Replaced::Nothing }
}

/// Writes `stored`, of about so many bytes, to a file, in the place of another one where `overwrite` is true;
/// a secret key stays. The file's length.
///
/// # Errors
/// `FileAccessError`; those of a signal or a progress function.
pub fn save(
    py: Python<'_>,
    stored: &(impl Stored + Sync),
    path: &FilePath,
    overwrite: bool,
    bytes: usize,
) -> PyResult<u64> {
    transferring(py, "saving", bytes as u64, |progress| {
        Ok(stored.save_as(path, replaced(overwrite), progress)?)
    })
}

/// The bytes that [`save`] would write.
///
/// # Errors
/// Those of a signal or a progress function, and of memory.
fn file_bytes_of(py: Python<'_>, stored: &(impl Stored + Sync), bytes: usize) -> PyResult<Vec<u8>> {
    transferring(py, "to_bytes", bytes as u64, |progress| {
        let writer = stored.write_with(|label, metadata| {
            Ok(FileWriter::in_memory(label, metadata)?.with_progress(progress.clone()))
        })?;
        Ok(writer.finish()?)
    })
}

/// [`file_bytes_of`] as Python's `bytes`, which every program takes, at the cost of a copy.
pub fn to_bytes<'py>(
    py: Python<'py>,
    stored: &(impl Stored + Sync),
    bytes: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &file_bytes_of(py, stored, bytes)?))
}

/// [`file_bytes_of`] as a read-only array of uint8, without a copy.
///
/// # Errors
/// Those of [`file_bytes_of`] and of NumPy.
pub fn to_array<'py>(
    py: Python<'py>,
    stored: &(impl Stored + Sync),
    bytes: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let array = PyArray1::from_vec(py, file_bytes_of(py, stored, bytes)?).into_any();
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}
