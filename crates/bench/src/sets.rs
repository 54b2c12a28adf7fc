//! The parameter sets that only benchmarks use: a specification a file, in `sets`.

use clathrate_ckks::parameters::preset;
use clathrate_ckks::{CkksError, Params, ParamsSpec, Runtime};

/// The names of the sets and their specifications, in TOML.
const SETS: [(&str, &str); 7] = [
    ("bench_n14", include_str!("../sets/bench_n14.toml")),
    ("bench_n15_one", include_str!("../sets/bench_n15_one.toml")),
    ("bench_n15_mid", include_str!("../sets/bench_n15_mid.toml")),
    ("bench_n15_low", include_str!("../sets/bench_n15_low.toml")),
    ("bench_n16_one", include_str!("../sets/bench_n16_one.toml")),
    ("bench_n16_mid", include_str!("../sets/bench_n16_mid.toml")),
    ("bench_n16_low", include_str!("../sets/bench_n16_low.toml")),
];

/// The specification of the set called `name`: one of the sets here, or a preset.
///
/// # Errors
/// [`CkksError::InvalidParams`] for another name, and if the file cannot be read, which the tests rule out.
pub fn spec(name: &str) -> Result<ParamsSpec, CkksError> {
    let Some((_, text)) = SETS.iter().find(|(own, _)| *own == name) else { return preset(name) };
    toml::from_str(text)
        .map_err(|error| CkksError::InvalidParams { reason: format!("the set {name}: {error}") })
}

/// The parameters of the set called `name`.
///
/// # Errors
/// Those of [`spec`] and of [`Params::new`].
pub fn params(name: &str, runtime: &Runtime) -> Result<Params, CkksError> {
    Params::new(spec(name)?, runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_the_set_of_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/sets");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        let mut files: Vec<String> = SETS.iter().map(|(name, _)| format!("{name}.toml")).collect();
        found.sort();
        files.sort();
        assert_eq!(files, found);
        for (name, _) in SETS {
            assert_eq!(spec(name).expect("a set").name, name);
            assert!(preset(name).is_err(), "{name} is a preset, too");
        }
    }
}
