//! Errors of the core as Python exceptions: one class per kind, the message as it is.
//!
//! The classes are Python (`clathrate.errors`), looked up when raised, so that they can derive from `ValueError`, `LookupError`
//! and `OSError` and be pickled.

use std::any::Any;

use clathrate_ckks::CkksError;
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::file::FileError;
use pyo3::prelude::*;

fn class_name(error: &CkksError) -> &'static str {
    match error.kind() {
        ErrorKind::Params => "ParamsError",
        ErrorKind::Security => "SecurityError",
        ErrorKind::Value => "DataError",
        ErrorKind::Shape => "ShapeError",
        ErrorKind::Scale => "ScaleError",
        ErrorKind::Level => "LevelError",
        ErrorKind::MissingKey => "MissingKeyError",
        ErrorKind::WrongParams => "WrongParamsError",
        ErrorKind::WrongSecret => "WrongSecretError",
        ErrorKind::File => "FileFormatError",
        ErrorKind::Io => "FileAccessError",
        ErrorKind::Random => "RandomError",
        ErrorKind::Cancelled => "CancelledError",
    }
}

/// The exception `class` of `clathrate.errors`.
pub fn exception(py: Python<'_>, class: &str, message: String) -> PyErr {
    let make = || py.import("clathrate.errors")?.getattr(class)?.call1((message,));
    make().map_or_else(|error| error, PyErr::from_value)
}

/// `error` as an exception.
pub fn raise(py: Python<'_>, error: CkksError) -> PyErr {
    if let CkksError::File(FileError::Io { path, source, .. }) = &error {
        return io_exception(py, error.to_string(), path, source);
    }
    // Rust's evaluator is an object; here keys ride on ciphertexts, so the remedy has another name.
    let remedy = matches!(error, CkksError::NoKeys { .. }).then_some(" (here: `ct.with_keys(keys)`)").unwrap_or_default();
    exception(py, class_name(&error), format!("{error}{remedy}"))
}

fn io_exception(py: Python<'_>, message: String, path: &std::path::Path, source: &std::io::Error) -> PyErr {
    let missing = source.kind() == std::io::ErrorKind::NotFound;
    let error = exception(py, if missing { "MissingFileError" } else { "FileAccessError" }, message);
    let value = error.value(py);
    // Decoration: a failure here must not hide the error itself.
    let _ = value.setattr("errno", source.raw_os_error());
    let _ = value.setattr("filename", path);
    error
}

/// As [`raise`], with the index of a bad entry in the array's own axes.
pub fn raise_for_array(py: Python<'_>, error: CkksError, shape: &[usize]) -> PyErr {
    let CkksError::NotFinite { index, value } = error else { return raise(py, error) };
    let position = match shape {
        [] => "()".to_owned(),
        [_] => format!("{index}"),
        [.., columns] => format!("({}, {})", index / columns, index % columns),
    };
    let text = if value.is_nan() { "nan".to_owned() } else { format!("{value}") };
    exception(py, "DataError", format!("the data has {text} at index {position}: only finite numbers can be encrypted"))
}

/// The exception for a panic: a bug of ours, told as an error and not as an abort.
pub fn internal(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let reason = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
    exception(py, "InternalError", format!("a bug in Clathrate, please report it: {reason}"))
}

/// An argument out of its range.
pub fn out_of_range(py: Python<'_>, what: &'static str, value: impl ToString, remedy: impl ToString) -> PyErr {
    raise(py, CkksError::OutOfRange { what, value: value.to_string(), remedy: remedy.to_string() })
}
