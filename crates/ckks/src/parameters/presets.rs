//! Presets: named parameter sets from data files.

use clathrate_lattice::SecretDistribution;
use clathrate_lattice::security::estimated_bits;
use serde::Deserialize;

use super::spec::{EPHEMERAL_SPECIAL, ParamsSpec, temporary_distribution};
use crate::error::CkksError;

/// The data files: ordinary sets and sets for tests; sets of papers.
const FILES: [&str; 2] =
    [include_str!("../../presets/presets.toml"), include_str!("../../presets/papers.toml")];

/// The line that begins a preset in a data file.
const HEAD: &str = "[[preset]]";

/// The field of the data files that is not part of a specification.
const PURPOSE: &str = "purpose";

#[derive(Deserialize)]
struct File {
    preset: Vec<toml::Table>,
}

/// A preset: a specification and its purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// The specification.
    pub spec: ParamsSpec,
    /// The purpose, in one or a few sentences.
    pub purpose: String,
}

impl Preset {
    /// Estimated bits of security from the sizes of primes, without a search for primes. Equal to
    /// [`Params::security_bits`](super::Params::security_bits) up to rounding.
    #[must_use]
    pub fn security_bits(&self) -> f64 {
        let (spec, dimension) = (&self.spec, self.spec.shape().dimension());
        let own = estimated_bits(dimension, self.log2_qp(), spec.distribution());
        let temporary = spec.temporary_rank.map(|rank| {
            let log2_qp = self.log2_qp() + spec.temporary.iter().sum::<f64>();
            estimated_bits(spec.degree * rank, log2_qp, temporary_distribution(spec, spec.shape(), rank))
        });
        let ephemeral = spec.ephemeral_weight.map(|weight| {
            let special = spec.ephemeral_special.unwrap_or(EPHEMERAL_SPECIAL).min(spec.special.len());
            let log2_qp = spec.steps[0].iter().chain(&spec.special[..special]).sum();
            estimated_bits(dimension, log2_qp, SecretDistribution::FixedWeight(weight))
        });
        [temporary, ephemeral].into_iter().flatten().fold(own, f64::min)
    }

    /// Bits of all primes of the ordinary chain, special primes included.
    #[must_use]
    pub fn log2_qp(&self) -> f64 {
        self.spec.steps.iter().flatten().chain(&self.spec.special).sum()
    }

    /// Bytes in a file of a fresh ciphertext of one polynomial, whose mask is a seed.
    #[must_use]
    pub fn ciphertext_bytes(&self) -> f64 {
        let bits: f64 = self.spec.steps.iter().flatten().map(|bits| bits.ceil()).sum();
        bits * self.spec.degree as f64 / 8.0
    }
}

/// All presets, in the order of the files.
///
/// # Errors
/// [`CkksError::InvalidParams`] if a data file cannot be read; the tests rule this out.
pub fn presets() -> Result<Vec<Preset>, CkksError> {
    Ok(FILES.map(read).into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

/// The presets in a data file or a part of it.
fn read(text: &str) -> Result<Vec<Preset>, CkksError> {
    let refuse = |reason: String| CkksError::InvalidParams { reason: format!("the preset file: {reason}") };
    let file: File = toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
    let entry = |mut table: toml::Table| {
        let purpose = table.remove(PURPOSE).and_then(|purpose| purpose.as_str().map(str::to_owned));
        let purpose = purpose.ok_or_else(|| refuse(format!("a preset has no {PURPOSE}")))?;
        Ok(Preset {
            spec: table.try_into().map_err(|error: toml::de::Error| refuse(error.to_string()))?,
            purpose,
        })
    };
    file.preset.into_iter().map(entry).collect()
}

/// The specification of the preset called `name`.
///
/// # Errors
/// [`CkksError::InvalidParams`].
pub fn preset(name: &str) -> Result<ParamsSpec, CkksError> {
    let unknown = || CkksError::unknown_preset(name, &preset_names().join(", "));
    presets()?.into_iter().map(|preset| preset.spec).find(|spec| spec.name == name).ok_or_else(unknown)
}

/// The prefix of the names of presets that protect nothing. Other sets must not use it, so that whoever asks
/// for an insecure set has to write the word.
const UNPROTECTED: &str = "insecure_";

/// The longest name of a set.
const LONGEST_NAME: usize = 200;

/// Refuses names that are no plain text, and the name of a preset for other contents, in upper or lower case,
/// because people trust a set by its name.
///
/// # Errors
/// [`CkksError::InvalidParams`].
pub(super) fn check_name(spec: &ParamsSpec) -> Result<(), CkksError> {
    // Other characters can look like those of a preset's name, or change what a terminal shows.
    if spec.name.len() > LONGEST_NAME || !spec.name.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        let reason = format!(
            "the name {:?} is no plain text: use at most {LONGEST_NAME} letters, digits, spaces and signs of ASCII",
            spec.name.chars().take(LONGEST_NAME).collect::<String>()
        );
        return Err(CkksError::InvalidParams { reason });
    }
    let name = spec.name.trim().to_ascii_lowercase();
    // Every set passes this check, so only the preset of this name is parsed, not the whole file.
    let own = FILES
        .iter()
        .flat_map(|file| file.split(HEAD))
        .find(|part| part.contains(&format!("\nname = {name:?}\n")));
    let reason = match own {
        Some(part) => {
            let (insecure, below_128) = (spec.insecure, spec.below_128);
            let same =
                |preset: Preset| *spec == ParamsSpec { insecure, below_128, ..preset.spec.normalised() };
            if read(&format!("{HEAD}{part}"))?.into_iter().any(same) {
                return Ok(());
            }
            format!(
                "the name {:?} belongs to the preset {name:?}, whose contents are others: give these parameters another name, or take the preset by its name",
                spec.name
            )
        }
        None if name.starts_with(UNPROTECTED) => {
            format!(
                "names that begin with {UNPROTECTED:?}, such as {:?}, belong to presets: give these parameters another name",
                spec.name
            )
        }
        None => return Ok(()),
    };
    Err(CkksError::InvalidParams { reason })
}

/// The names of all presets, in the order of the files.
#[must_use]
pub fn preset_names() -> Vec<String> {
    presets().unwrap_or_default().into_iter().map(|preset| preset.spec.name).collect()
}
