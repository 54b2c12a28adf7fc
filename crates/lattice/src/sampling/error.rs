//! Errors of the samplers.

use clathrate_arith::text::counted;
use thiserror::Error;

/// Errors of the samplers. Each message states the numbers that caused the error and a remedy.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum SamplingError {
    /// The operating system provided no entropy.
    #[error("the operating system gave no entropy ({reason}): retry, or repair its random source")]
    NoEntropy {
        /// The operating system's message.
        reason: String,
    },
    /// A weight above the number of coefficients.
    #[error("a secret of {} cannot have {weight} non-zero: lower the weight to at most {length}", counted(*length, "coefficient"))]
    WeightTooLarge {
        /// Requested weight.
        weight: usize,
        /// Number of coefficients.
        length: usize,
    },
    /// A width of flooding noise outside 1 to 63 bits.
    #[error("flooding noise of {} is not supported: use 1 to 63 bits", counted(*bits, "bit"))]
    FloodingBits {
        /// Requested width in bits.
        bits: u32,
    },
}
