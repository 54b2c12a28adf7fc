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

/// A report as HTML, which notebooks show: the first line as a caption, the others as rows of a table, headed by their first word where they are indented by
/// two spaces.
pub fn report_html(report: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut lines = report.lines();
    let caption = escaped(lines.next().unwrap_or_default());
    let row = |line: &str| {
        let words = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
            .and_then(|rest| rest.split_once(' '));
        let (head, rest) = words.map_or(("", line.trim_start()), |(head, rest)| (head, rest.trim_start()));
        format!(
            "<tr><th style=\"text-align: left\">{}</th><td style=\"text-align: left; white-space: pre\">{}</td></tr>",
            escaped(head),
            escaped(rest)
        )
    };
    let rows: String = lines.map(row).collect();
    format!("<table><caption style=\"text-align: left\">{caption}</caption>{rows}</table>")
}
