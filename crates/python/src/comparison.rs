//! Where two encrypted arrays differ.

use clathrate_ckks::arrays::Comparison;
use pyo3::prelude::*;

#[pyclass(frozen, module = "clathrate._native", name = "Comparison")]
pub struct PyComparison {
    comparison: Comparison,
}

impl PyComparison {
    pub fn new(comparison: Comparison) -> Self {
        Self { comparison }
    }
}

#[pymethods]
impl PyComparison {
    #[getter]
    fn differences(&self) -> Vec<String> {
        self.comparison.differences.clone()
    }

    fn __bool__(&self) -> bool {
        self.comparison.is_same()
    }

    fn __repr__(&self) -> String {
        self.comparison.to_string()
    }
}
