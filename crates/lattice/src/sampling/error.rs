//! What can go wrong while sampling.

use clathrate_arith::text::counted;
use thiserror::Error;

/// Errors of the samplers; each names the numbers and the remedy.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum SamplingError {
    /// The operating system gave no entropy.
    #[error("the operating system gave no entropy ({reason}): retry, or repair its random source")]
    NoEntropy {
        /// The system's own words.
        reason: String,
    },
    /// More non-zero coefficients were asked for than there are coefficients.
    #[error("a secret of {} cannot have {weight} non-zero: lower the weight to at most {length}", counted(*length, "coefficient"))]
    WeightTooLarge {
        /// The weight asked for.
        weight: usize,
        /// Coefficients there are.
        length: usize,
    },
    /// A flooding range that a signed word cannot hold, or an empty one.
    #[error("flooding noise of {} is not supported: use 1 to 63 bits", counted(*bits, "bit"))]
    FloodingBits {
        /// The width asked for.
        bits: u32,
    },
}
