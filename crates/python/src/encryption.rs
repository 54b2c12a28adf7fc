//! The arguments of an encryption, with the secret key or the public one.

use clathrate_ckks::Encoding;
use clathrate_ckks::keys::EncryptOptions;
use pyo3::prelude::*;

use crate::errors::{check_scale, out_of_range};
use crate::numbers::{Real, Whole};
use crate::params::PyParams;

/// The arguments of an encryption, as core code takes them.
///
/// # Errors
/// `DataError` for an unknown encoding, `LevelError`, `ScaleError`.
pub fn options(
    py: Python<'_>,
    params: &PyParams,
    encoding: Option<&str>,
    level: Option<Whole>,
    scale: Option<Real>,
) -> PyResult<EncryptOptions> {
    let encoding = match encoding {
        None => None,
        Some("slots") => Some(Encoding::Slots),
        Some("coefficients") => Some(Encoding::Coefficients),
        Some(other) => {
            return Err(out_of_range(
                py,
                "`encoding`",
                format!("\"{other}\""),
                "use \"slots\" or \"coefficients\"",
            ));
        }
    };
    let level = level.map(|level| params.level(py, Some(level))).transpose()?;
    let scale = Real::given(scale);
    check_scale(py, "scale", scale, "or leave it out for the canonical scale of the level")?;
    Ok(EncryptOptions { encoding, level, scale, ..EncryptOptions::default() })
}
