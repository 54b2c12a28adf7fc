//! What a parameter set means in numbers.

use clathrate_ckks::parameters::Explanation;
use pyo3::prelude::*;

use crate::text::report;

#[pyclass(frozen, module = "clathrate._native", name = "Explanation")]
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
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report(py, serde_json::to_string(&self.explanation))
    }

    fn __str__(&self) -> String {
        self.explanation.to_string()
    }

    fn __repr__(&self) -> String {
        self.explanation.to_string()
    }
}
