//! Where two encrypted arrays differ.

use clathrate_ckks::arrays::Comparison;
use pyo3::prelude::*;

/// Whether two ciphertexts are the same to the last bit, and where not: true if they are. `Ciphertext.same_as` makes it.
///
/// Examples
/// --------
/// >>> comparison = (ct + 1).same_as(ct + 1)
/// >>> bool(comparison), comparison
/// (True, the same to the last bit)
#[pyclass(frozen, module = "clathrate", name = "Comparison")]
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
    /// Each difference in words; none where the ciphertexts are the same.
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
