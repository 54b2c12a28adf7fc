//! The errors of the command: one type, with a name per kind for programs and an exit code per kind for
//! scripts.
//!
//! It includes the errors of `streams` and `npy`; all other modules return it.

use std::io;
use std::path::PathBuf;

use clathrate_arith::OutOfMemory;
use clathrate_ckks::CkksError;
use clathrate_ckks::arrays::Comparison;
use clathrate_ckks::error::ErrorKind;
use clathrate_ckks::file::FileError;
use clathrate_lattice::LatticeError;
use serde_json::{Value, json};
use thiserror::Error;

use crate::npy::ArrayError;
use crate::streams;

/// Kinds and exit codes as `--help` shows them; a test compares them with [`Failure`].
pub(crate) const EXIT_CODES: &str = "\
Exit codes (with --json the kind is in the field `error` of one object on stderr):
   0  done
   2  usage          a wrong command line
   3  params         parameters that cannot be used, or no such preset
   4  security       parameters below 128 bits of security
   5  value          data or an argument out of range: NaN, too large, empty
   6  shape          shapes or encodings that do not fit
   7  scale          scales that do not fit
   8  level          too low a level
   9  missing-key    a key that is not in the file
  10  wrong-params   files of different parameters
  11  wrong-secret   files of different secrets
  12  file           a file that is corrupted, of another kind, or not Clathrate's
  13  io             the operating system refused
  14  random         no randomness
  15  cancelled      stopped
  16  array          an .npy file that cannot be read
  17  exists         a secret key, or what is in the place of a new one, would be overwritten
  18  self-test      this machine computes wrongly
  19  memory         less free memory than the work takes
  20  internal       a defect of this program
  21  device         a device that is not there or does not do its work
  22  different      two encrypted arrays that `compare` finds to differ";

/// Why a command stopped.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The library refused.
    #[error("{}", in_options(.0))]
    Core(#[from] CkksError),
    /// The library refused a file, named here.
    #[error("{}: {}", path.display(), in_options(source))]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: Box<CkksError>,
    },
    /// An `.npy` file that cannot be read.
    #[error("{}: {source}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// The error.
        source: ArrayError,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
    /// A secret key would or might be lost.
    #[error("{} {what}: {remedy}", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// What exists at the path.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The secret key was stored, but its other keys could not be.
    #[error("{source}. The new secret key is in {}: make its other keys with --existing", secret.display())]
    Partly {
        /// The file of the secret key.
        secret: PathBuf,
        /// Why the other keys could not be stored.
        source: Box<Failure>,
    },
    /// Two arrays that should be equal.
    #[error("{} and {} are {comparison}", input.display(), with.display())]
    Different {
        /// The first array.
        input: PathBuf,
        /// The second array.
        with: PathBuf,
        /// Where they differ.
        comparison: Comparison,
    },
    /// A defect of this program.
    #[error("{0}: this is a defect, please report it")]
    Internal(String),
    /// The system has no memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// A self-test failed.
    #[error(
        "{failed} of {total} self-tests failed: this machine, or this build, computes wrongly; see the report"
    )]
    SelfTest {
        /// Tests that failed.
        failed: usize,
        /// All tests.
        total: usize,
    },
}

/// The text of an error, with the command's options as the remedy where the library's text names arguments of
/// functions.
fn in_options(error: &CkksError) -> String {
    let text = error.to_string();
    match error {
        CkksError::Insecure { .. } => text.replace("`allow_insecure`", "--allow-insecure"),
        CkksError::TablesTooLarge { bytes, .. } => {
            text.replace("`table_bytes` of the runtime", &format!("the limit with --table-bytes {bytes}"))
        }
        _ => text,
    }
}

impl From<LatticeError> for Failure {
    fn from(source: LatticeError) -> Self {
        Self::Core(source.into())
    }
}

impl Failure {
    /// A library error about the file at `path`; input and output errors name their file themselves.
    pub(crate) fn file(path: impl Into<PathBuf>, source: impl Into<CkksError>) -> Self {
        match source.into() {
            source @ CkksError::File(FileError::Io { .. }) => Self::Core(source),
            source => Self::File { path: streams::input_name(path.into()), source: Box::new(source) },
        }
    }

    /// An error about the array at `path`.
    pub(crate) fn array(path: impl Into<PathBuf>, source: ArrayError) -> Self {
        let path = streams::input_name(path.into());
        match source {
            ArrayError::Io { action, source } => Self::Io { path, action, source },
            source => Self::Array { path, source },
        }
    }

    /// The kind's name and exit code.
    pub(crate) fn kind(&self) -> (&'static str, u8) {
        match self {
            Self::Usage(_) => ("usage", 2),
            Self::Core(source) => core_kind(source.kind()),
            Self::File { source, .. } => core_kind(source.kind()),
            Self::Partly { source, .. } => source.kind(),
            Self::Io { .. } => core_kind(ErrorKind::Io),
            Self::Memory(_) => core_kind(ErrorKind::Memory),
            Self::Array { source: ArrayError::Memory { .. }, .. } => core_kind(ErrorKind::Memory),
            Self::Array { .. } => ("array", 16),
            Self::Exists { .. } => ("exists", 17),
            Self::SelfTest { .. } => ("self-test", 18),
            Self::Internal(_) => ("internal", 20),
            Self::Different { .. } => ("different", 22),
        }
    }

    /// `{"error": kind, "message": text, "exit": code}`.
    pub(crate) fn json(&self) -> Value {
        let (kind, code) = self.kind();
        json!({ "error": kind, "message": self.to_string(), "exit": code })
    }
}

const fn core_kind(kind: ErrorKind) -> (&'static str, u8) {
    match kind {
        ErrorKind::Params => ("params", 3),
        ErrorKind::Security => ("security", 4),
        ErrorKind::Value => ("value", 5),
        ErrorKind::Shape => ("shape", 6),
        ErrorKind::Scale => ("scale", 7),
        ErrorKind::Level => ("level", 8),
        ErrorKind::MissingKey => ("missing-key", 9),
        ErrorKind::WrongParams => ("wrong-params", 10),
        ErrorKind::WrongSecret => ("wrong-secret", 11),
        ErrorKind::File => ("file", 12),
        ErrorKind::Io => ("io", 13),
        ErrorKind::Random => ("random", 14),
        ErrorKind::Cancelled => ("cancelled", 15),
        ErrorKind::Memory => ("memory", 19),
        ErrorKind::Device => ("device", 21),
        ErrorKind::Internal => ("internal", 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_line_in_the_help() {
        let core = [
            ErrorKind::Params,
            ErrorKind::Security,
            ErrorKind::Value,
            ErrorKind::Shape,
            ErrorKind::Scale,
            ErrorKind::Level,
            ErrorKind::MissingKey,
            ErrorKind::WrongParams,
            ErrorKind::WrongSecret,
            ErrorKind::File,
            ErrorKind::Io,
            ErrorKind::Random,
            ErrorKind::Cancelled,
            ErrorKind::Memory,
            ErrorKind::Device,
        ]
        .map(core_kind);
        let own = [
            Failure::Usage(String::new()),
            Failure::Array { path: PathBuf::new(), source: ArrayError::NotNpy },
            Failure::Exists { path: PathBuf::new(), what: "", remedy: "" },
            Failure::SelfTest { failed: 1, total: 1 },
            Failure::Internal(String::new()),
            Failure::Different {
                input: PathBuf::new(),
                with: PathBuf::new(),
                comparison: Comparison { differences: Vec::new() },
            },
        ];
        let mut all: Vec<(&str, u8)> = core.into_iter().chain(own.iter().map(Failure::kind)).collect();
        for (name, code) in &all {
            let line = EXIT_CODES.lines().find(|line| line.trim_start().starts_with(&format!("{code} ")));
            assert!(
                line.is_some_and(|line| line.split_whitespace().nth(1) == Some(name)),
                "{name} {code}: {line:?}"
            );
        }
        assert_eq!(all.len() + 2, EXIT_CODES.lines().count());
        all.sort_by_key(|entry| entry.1);
        all.dedup_by_key(|entry| entry.1);
        assert_eq!(all.len(), 21);
    }
}
