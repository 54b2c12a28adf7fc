//! Text that crosses the border: hexadecimal digests, JSON, and reports.

use std::fmt::Display;

use pyo3::prelude::*;

use crate::errors::exception;

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON text as Python objects.
///
/// # Errors
/// `ValueError` for text that is not JSON.
pub fn from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}

/// A report as text, and its figures as JSON.
///
/// # Errors
/// `InternalError` where the figures cannot be written as JSON.
pub fn report(
    py: Python<'_>,
    report: &impl Display,
    figures: serde_json::Result<String>,
) -> PyResult<(String, String)> {
    let figures = figures.map_err(|error| exception(py, "InternalError", error.to_string()))?;
    Ok((report.to_string(), figures))
}
