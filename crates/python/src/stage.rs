//! Named stages of a dry run.

use clathrate_ckks::Evaluator;
use pyo3::prelude::*;

#[pyclass(frozen, module = "clathrate._native", name = "Stage")]
pub struct PyStage {
    pub name: String,
    pub evaluator: Evaluator,
}

#[pymethods]
impl PyStage {
    fn __enter__(&self) {
        self.evaluator.enter_stage(&self.name);
    }

    fn __exit__(&self, kind: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>, traceback: &Bound<'_, PyAny>) {
        let _ = (kind, value, traceback);
        self.evaluator.leave_stage();
    }
}
