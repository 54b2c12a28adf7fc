//! What a parameter set means in numbers.

use clathrate_ckks::parameters::Explanation;
use pyo3::prelude::*;

use crate::text::{report, report_html};

/// What a parameter set means in numbers: security, sizes, expected precision.
///
/// `Params.explain()` makes it; print it, or read the figures from `to_dict()`.
///
/// Examples
/// --------
/// >>> print(params.explain())  # doctest: +ELLIPSIS
/// insecure_small...
#[pyclass(frozen, module = "clathrate", name = "Explanation")]
pub struct PyExplanation {
    explanation: Explanation,
}

impl PyExplanation {
    pub fn new(explanation: Explanation) -> Self {
        Self { explanation }
    }
}

#[pymethods]
impl PyExplanation {
    /// The figures by name.
    ///
    /// Returns
    /// -------
    /// dict
    ///     Names that start with `log2_` or end in `_bits` are in bits, names that end in `_mib` in MiB. The dict can be written as JSON.
    ///
    /// Examples
    /// --------
    /// >>> figures = params.explain().to_dict()
    /// >>> figures["degree"], figures["slot_count"]
    /// (1024, 512)
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report(py, serde_json::to_string(&self.explanation))
    }

    fn __str__(&self) -> String {
        self.explanation.to_string()
    }

    fn __repr__(&self) -> String {
        self.explanation.to_string()
    }

    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.explanation.to_string())
    }
}
