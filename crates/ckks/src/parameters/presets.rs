//! Named parameter sets, from a data file.

use serde::Deserialize;

use super::spec::ParamsSpec;
use crate::error::CkksError;

const PRESETS: &str = include_str!("../../presets/presets.toml");

#[derive(Deserialize)]
struct File {
    preset: Vec<ParamsSpec>,
}

fn all() -> Result<Vec<ParamsSpec>, CkksError> {
    let file: File = toml::from_str(PRESETS).map_err(|error| CkksError::InvalidParams { reason: format!("the preset file: {error}") })?;
    Ok(file.preset)
}

/// The specification of the preset called `name`.
///
/// # Errors
/// [`CkksError::UnknownPreset`].
pub fn preset(name: &str) -> Result<ParamsSpec, CkksError> {
    let unknown = || CkksError::UnknownPreset { name: name.to_owned(), known: preset_names().join(", ") };
    all()?.into_iter().find(|spec| spec.name == name).ok_or_else(unknown)
}

/// The names of all presets, in the order of the file.
#[must_use]
pub fn preset_names() -> Vec<String> {
    all().unwrap_or_default().into_iter().map(|spec| spec.name).collect()
}
