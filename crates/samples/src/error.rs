//! Errors of light clients; each states the numbers and the remedy.

use clathrate_lattice::sampling::SamplingError;
use thiserror::Error;

use crate::tag::key_name;

/// Errors of light clients.
#[derive(Debug, Error)]
pub enum SampleError {
    /// An argument, or a field of received bytes, is out of range.
    #[error("{what} is {value}: {remedy}")]
    OutOfRange {
        /// Names the argument or the bytes.
        what: &'static str,
        /// Its value.
        value: String,
        /// The range.
        remedy: String,
    },
    /// A number that is not finite.
    #[error("the data has {value} at index {index}: only finite numbers can be encrypted")]
    NotFinite {
        /// The number's index.
        index: usize,
        /// NaN or an infinity.
        value: f64,
    },
    /// No numbers.
    #[error("there are no numbers to encrypt: give at least one")]
    Empty,
    /// Bytes for a client of another owner.
    #[error(
        "{what} belongs to secret {}, expected {}: it is for a client of another owner",
        key_name(found),
        key_name(expected)
    )]
    OtherOwner {
        /// Names the bytes.
        what: &'static str,
        /// The name of the secret that they belong to.
        found: [u8; 16],
        /// The name of the owner's secret.
        expected: [u8; 16],
    },
    /// Less free memory than an operation takes.
    #[error("{operation} takes {needed} bytes of memory, and {free} are free: {remedy}")]
    NotEnoughMemory {
        /// The operation.
        operation: &'static str,
        /// Bytes that it takes.
        needed: u64,
        /// Free bytes.
        free: u64,
        /// A remedy.
        remedy: &'static str,
    },
    /// Random generation failed.
    #[error("random generation failed: {0}")]
    Sampling(#[from] SamplingError),
}
