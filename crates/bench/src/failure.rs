//! Errors of benchmarks.

use std::io;

use clathrate_ckks::CkksError;
use clathrate_ckks::light::SampleError;
use clathrate_lattice::LatticeError;
use thiserror::Error;

/// Why a benchmark stopped.
#[derive(Debug, Error)]
pub enum Failure {
    /// An error of the library.
    #[error(transparent)]
    Core(#[from] CkksError),
    /// Arguments that cannot be used.
    #[error("{0}")]
    Usage(String),
    /// An operation gave a wrong result, so its time means nothing.
    #[error(
        "a result is wrong, so its time is not printed: {error}; run `clathrate doctor` to test this machine"
    )]
    WrongResult {
        /// The distance of the result from the true one.
        error: String,
    },
    /// An error of standard output.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl From<LatticeError> for Failure {
    fn from(source: LatticeError) -> Self {
        Self::Core(source.into())
    }
}

impl From<SampleError> for Failure {
    fn from(error: SampleError) -> Self {
        Self::Core(error.into())
    }
}

impl Failure {
    /// 2 for a wrong command line, as in clap, and 1 for all other errors.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            _ => 1,
        }
    }

    /// The error for a slot whose error is above `tolerance`.
    pub fn slot_error(error: f64, tolerance: f64) -> Self {
        Self::WrongResult {
            error: format!("a slot is wrong by {error:.1e}, at most {tolerance:.1e} is allowed"),
        }
    }

    /// The error for a polynomial whose error is above `most_bits`, or is not the same integer modulo all
    /// primes.
    pub fn noise(bits: f64, same_for_all_primes: bool, most_bits: f64) -> Self {
        let error = if same_for_all_primes {
            format!("the largest error has {bits:.0} bits, at most {most_bits:.0} are allowed")
        } else {
            "the error is no small integer: its residues differ between primes".to_owned()
        };
        Self::WrongResult { error }
    }
}
