//! Errors of light clients; each states the numbers and the remedy.

use clathrate_lattice::sampling::SamplingError;
use thiserror::Error;

/// Errors of light clients.
#[derive(Debug, Error)]
pub enum SampleError {
    /// An argument, or a field of bytes that were received, out of range.
    #[error("{what} is {value}: {remedy}")]
    OutOfRange {
        /// The argument, or what the bytes are.
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
    /// A number too large for the scale and the modulus.
    #[error(
        "a value of magnitude {value:.4e} at scale 2^{log2_scale:.2} needs {needed:.1} bits, level {level} has room for {headroom:.1}: scale the data down or encrypt at a higher level"
    )]
    ValueTooLarge {
        /// The number.
        value: f64,
        /// Binary logarithm of the scale.
        log2_scale: f64,
        /// Bits needed, sign included.
        needed: f64,
        /// Bits that the modulus has room for.
        headroom: f64,
        /// The level.
        level: usize,
    },
    /// No numbers.
    #[error("there are no numbers to encrypt")]
    Empty,
    /// Bytes for a client of another owner.
    #[error("{what} belongs to another secret: it cannot be decrypted with this one")]
    OtherOwner {
        /// What the bytes are.
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
        /// What would help.
        remedy: &'static str,
    },
    /// Random generation failed.
    #[error("random generation failed: {0}")]
    Sampling(#[from] SamplingError),
}
