//! Plans of switching, and measuring the machine they are made for.

use std::path::PathBuf;

use clathrate_arith::Isa;
use clathrate_ckks::parameters::SwitchingReport;
use clathrate_ckks::tune as machine;
use pyo3::prelude::*;

use crate::errors::{exception, raise};
use crate::params::from_json;
use crate::run::with_progress;

/// How each level switches: `print(params.switching_report())`, or its `rows`.
#[pyclass(frozen, module = "clathrate", name = "SwitchingReport")]
pub struct PySwitchingPlan {
    pub plan: SwitchingReport,
}

#[pymethods]
impl PySwitchingPlan {
    /// The plan as a table, with the memory limits and where the machine model comes from.
    fn explain(&self) -> String {
        self.plan.to_string()
    }

    /// One dict per level, lowest first: `level`; `engine` ("hybrid" or "decomposed"); `as_made` (nothing derived); `r` special primes; `r_tilde`,
    /// primes per key digit; `digits`; `log2_digit`, bits of the longest; `key_digits`; `auxiliary` primes; predicted `milliseconds`, one thread;
    /// `read_bytes` of key per switch; `derived_bytes` per key.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.get_item("rows")
    }

    /// All figures by name: bytes for `*_bytes`; `origin` of the machine model is "built-in", "measured" or "given"; `refused` has the levels that a
    /// fixed choice does not fit, with reasons.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.plan).map_err(|error| exception(py, "InternalError", error.to_string()))?;
        from_json(py, &text)
    }

    fn __str__(&self) -> String {
        self.plan.to_string()
    }

    fn __repr__(&self) -> String {
        self.plan.to_string()
    }
}

/// Measures this machine's kernels, one thread, a few seconds, and stores what plans go by from now on. Parameters that exist keep their plans.
///
/// progress : True for a bar, or a function of (done, total) that may return False to stop.
/// dry_run : measure, and store nothing.
///
/// Returns the file's path, None for a dry run.
///
/// The profile is kept in the user's cache directory, or in the file that the environment variable `CLATHRATE_PROFILE` names. Where that is
/// "none", no profile is read or stored.
///
/// Errors: `FileAccessError` where it cannot be written; `CancelledError`; `ParamsError` where `CLATHRATE_ISA` names what this machine lacks, and
/// where `CLATHRATE_PROFILE` is "none".
#[pyfunction]
#[pyo3(signature = (progress=None, dry_run=false))]
pub fn tune(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, dry_run: bool) -> PyResult<Option<PathBuf>> {
    let isa = Isa::detect().map_err(|error| raise(py, error.into()))?;
    with_progress(
        py,
        progress,
        "tune",
        |error| raise(py, error),
        |tick| {
            if !dry_run {
                machine::place_to_store()?;
            }
            let profile = machine::measure(isa, tick)?;
            if dry_run { Ok(None) } else { machine::store(&profile).map(Some) }
        },
    )
}
