//! How each level switches keys, in figures.

use clathrate_ckks::parameters::SwitchingReport;
use pyo3::prelude::*;

use crate::text::report;

#[pyclass(frozen, module = "clathrate._native", name = "SwitchingReport")]
pub struct PySwitchingReport {
    report: SwitchingReport,
}

impl PySwitchingReport {
    pub fn new(report: SwitchingReport) -> Self {
        Self { report }
    }
}

#[pymethods]
impl PySwitchingReport {
    fn explain(&self) -> String {
        self.report.to_string()
    }

    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.get_item("rows")
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report(py, serde_json::to_string(&self.report))
    }

    fn __str__(&self) -> String {
        self.report.to_string()
    }

    fn __repr__(&self) -> String {
        self.report.to_string()
    }
}
