//! How each level switches keys, in figures.

use clathrate_ckks::parameters::SwitchingReport;
use pyo3::prelude::*;

use crate::text::{report, report_html};

/// How each level of a parameter set switches keys, with predicted times and memory.
///
/// Key switching is the step that ends every product of ciphertexts, rotation and conjugation; `Runtime` explains its two methods.
/// `Params.switching_report()` makes the report. Print it for a table with a legend, or read its `rows`.
///
/// Examples
/// --------
/// >>> report = params.switching_report()
/// >>> report.rows[-1]["level"], report.rows[-1]["method"]
/// (5, 'hybrid')
#[pyclass(frozen, module = "clathrate", name = "SwitchingReport")]
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
    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.explain())
    }

    /// The report as text: a table with one line per level, its legend, the memory limits, and where the predicted times come from.
    ///
    /// Returns
    /// -------
    /// str
    ///     What `print(report)` prints.
    ///
    /// Examples
    /// --------
    /// >>> "special primes of the switch" in params.switching_report().explain()
    /// True
    fn explain(&self) -> String {
        self.report.to_string()
    }

    /// One dict per level, lowest level first.
    ///
    /// The keys: `level`; `method`, "hybrid" or "klss"; `as_made`, whether the key is used as it is stored in its file; `r`, the number of
    /// special primes; `digits`, the number of digits that a polynomial is cut into; `log2_digit`, the bits of the longest digit;
    /// `milliseconds`, the predicted time with one thread; `read_bytes`, the bytes of key that one switch reads; `derived_bytes`, the bytes
    /// derived from one key for this level. For the KLSS method also `r_tilde`, the primes per key digit; `key_digits`, the number of
    /// digits that the key is cut into; `auxiliary`, the number of auxiliary primes that the products are computed modulo. They are None
    /// for the hybrid method.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.get_item("rows")
    }

    /// All figures by name.
    ///
    /// Returns
    /// -------
    /// dict
    ///     `rows` as above; names that end in `_bytes` are in bytes. `origin` says where the machine model behind the predicted times comes
    ///     from: "built-in", or "measured" by `tune`. `refused` lists the levels that cannot switch with the method that the runtime
    ///     fixes, each with the reason. `temporary` is the report of the temporary rank, where the parameters have one.
    ///
    /// Examples
    /// --------
    /// >>> params.switching_report().to_dict()["key_level"]
    /// 5
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
