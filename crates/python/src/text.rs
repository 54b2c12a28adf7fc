//! Text that crosses the border: hexadecimal digests, and reports as JSON and as HTML.

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

/// What `serde_json::to_string` made of a report, as Python objects.
///
/// # Errors
/// `InternalError` where the report could not be written as JSON.
pub fn report<'py>(py: Python<'py>, json: serde_json::Result<String>) -> PyResult<Bound<'py, PyAny>> {
    let text = json.map_err(|error| exception(py, "InternalError", error.to_string()))?;
    from_json(py, &text)
}
