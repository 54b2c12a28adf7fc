//! What Python warns of: parameters that protect little, and numbers without a bound.

use clathrate_ckks::parameters::SECURITY_BITS;
use pyo3::prelude::*;

/// What is said where parameters protect nothing, of their bits of security; `None` from 128 bits up.
pub fn insecurity(bits: f64) -> Option<String> {
    let figure = if bits > 0.0 {
        format!("have {:.0} bits of security, below 128", bits.floor())
    } else {
        "are not covered by the security table and count as below 128 bits of security".to_owned()
    };
    (bits < SECURITY_BITS)
        .then(|| format!("these parameters {figure}: what is encrypted with them is not protected, so use them for tests only"))
}

/// Warns the caller in Python of parameters that protect nothing.
///
/// # Errors
/// `InsecureWarning`, where warnings are errors.
pub fn warn_insecure(py: Python<'_>, warning: Option<&str>) -> PyResult<()> {
    let Some(warning) = warning else { return Ok(()) };
    let class = py.import("clathrate.errors")?.getattr("InsecureWarning")?;
    PyErr::warn(py, &class, &std::ffi::CString::new(warning)?, 2)
}

/// Says once what is assumed of numbers without a declared bound.
///
/// # Errors
/// `BoundWarning`, where warnings are errors.
pub fn warn_unbounded(py: Python<'_>) -> PyResult<()> {
    py.import("clathrate._assume")?.call_method0("warn_unbounded").map(drop)
}
