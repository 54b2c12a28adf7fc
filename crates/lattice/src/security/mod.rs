//! Estimated bits of security of one key: from its module dimension, its log2(QP) and the distribution of its
//! secret.
//!
//! The figures come from a checked-in table, `data/security.csv`, which says how each row was made. A row
//! holds for every secret of at least its dimension and weight and at most its log2(QP). Between rows this
//! module rounds down, so that a result is a lower bound of the estimator's figure: `uniform.rs` and
//! `fixed_weight.rs` state each rule and why it rounds down.
//!
//! A module of degree `n` and rank `r` is looked up at dimension `n r`. The attack on sparse secrets guesses
//! across the rotations of a secret: `n r` in the ring of that dimension, only `n` in the module. The ring's
//! row is therefore a lower bound for the module.
//!
//! Each key is checked with its own dimension, modulus and secret, including temporary sparse secrets. The
//! security of a scheme is the minimum over its keys.

mod fixed_weight;
mod guessing;
mod table;
mod uniform;

use std::fmt;

use crate::sampling::SecretDistribution;
use fixed_weight::{MIN_DIMENSION, MIN_WEIGHT};

/// Commit of malb/lattice-estimator that made the rows of uniform ternary secrets.
pub const ESTIMATOR_COMMIT: &str = "27a581bb";
/// Commit of jdumezy/sparse-key-estimate, whose published tables are the rows of fixed-weight secrets.
pub const SPARSE_ESTIMATOR_COMMIT: &str = "44e1068";

/// The lowest security level of the table, and the default minimum of secure parameter sets.
const BASE_BITS: f64 = 128.0;
/// Relative loss of bits per relative excess `1 - L/log2(QP)` over the largest log2(QP) `L` of the table; see
/// [`bits_above`].
const LOSS_ABOVE_BUDGET: f64 = 1.125;

/// The table's statement about the security of one key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimate {
    /// The key has at least this many bits of security; the number is above 0.
    AtLeast(f64),
    /// No row of the table bounds the key's security from below.
    NotCovered {
        /// The nearest combination that the table covers.
        nearest: Covered,
    },
}

impl Estimate {
    /// The bits, 0 where the table does not cover the key.
    #[must_use]
    pub fn bits(self) -> f64 {
        match self {
            Self::AtLeast(bits) => bits,
            Self::NotCovered { .. } => 0.0,
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Rounded down: 127.97 must not print as 128.
            Self::AtLeast(bits) => write!(f, "{:.1} bits", (bits * 10.0).floor() / 10.0),
            Self::NotCovered { nearest } => {
                write!(f, "no estimate: the nearest combination in the security table is {nearest}")
            }
        }
    }
}

/// A combination of dimension, secret and modulus that has 128 bits of security.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Covered {
    /// Module dimension, degree times rank.
    pub dimension: usize,
    /// The distribution of the secret.
    pub distribution: SecretDistribution,
    /// The largest log2(QP) with 128 bits, an integer.
    pub log2_qp: f64,
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.distribution {
            SecretDistribution::UniformTernary => write!(f, "a uniform ternary secret")?,
            SecretDistribution::FixedWeight(weight) => write!(f, "a secret of weight {weight}")?,
        }
        write!(f, " of dimension {}, which has 128 bits up to log2 QP = {:.0}", self.dimension, self.log2_qp)
    }
}

/// The table's statement about a secret of `dimension` (degree times rank) under a modulus of `log2_qp` bits,
/// special primes included.
///
///
/// Exact at the rows of the table, rounded down between them.
#[must_use]
pub fn estimate(dimension: usize, log2_qp: f64, distribution: SecretDistribution) -> Estimate {
    let bits = estimated_bits(dimension, log2_qp, distribution);
    if bits > 0.0 {
        Estimate::AtLeast(bits)
    } else {
        Estimate::NotCovered { nearest: nearest_covered(dimension, distribution) }
    }
}

/// Estimated bits of a secret of `dimension` (degree times rank) at `log2_qp`, rounded down; 0 where the
/// table does not cover them.
///
/// For secrets that are not covered, [`estimate`] names the nearest combination that is.
#[must_use]
pub fn estimated_bits(dimension: usize, log2_qp: f64, distribution: SecretDistribution) -> f64 {
    // No modulus has such a size: zero or negative, infinite, not a number.
    if !(log2_qp.is_finite() && log2_qp > 0.0) {
        return 0.0;
    }
    match distribution {
        SecretDistribution::UniformTernary => uniform::bits(dimension, log2_qp),
        SecretDistribution::FixedWeight(weight) => {
            let sparse = fixed_weight::bits(dimension, log2_qp, weight);
            if counts_as_uniform(dimension, weight) {
                sparse.max(uniform::bits(dimension, log2_qp))
            } else {
                sparse
            }
        }
    }
}

/// Bits of a secret of `dimension` at `log2_qp` against attackers whose meet in the middle always succeeds,
/// whereas [`estimated_bits`] counts its known probability of success: `guessing.rs` has the model. At most
/// [`estimated_bits`], and less only for secrets of a small fixed weight. No check uses this figure.
#[must_use]
pub fn bits_against_ideal_guessing(dimension: usize, log2_qp: f64, distribution: SecretDistribution) -> f64 {
    let estimated = estimated_bits(dimension, log2_qp, distribution);
    match distribution {
        SecretDistribution::FixedWeight(weight)
            if estimated > 0.0 && !counts_as_uniform(dimension, weight) =>
        {
            estimated.min((guessing::bits(dimension, log2_qp, weight) * 10.0).floor() / 10.0)
        }
        _ => estimated,
    }
}

/// Largest log2(QP), an integer, at which a secret of `dimension` has at least `bits` bits by
/// [`estimated_bits`]; `None` if there is none.
#[must_use]
pub fn max_log2_qp(dimension: usize, bits: u32, distribution: SecretDistribution) -> Option<f64> {
    // Every table ends below this log2(QP). Estimates fall as log2(QP) grows, so a binary search finds the
    // largest one that suffices.
    const BEYOND: u32 = 1 << 20;
    let suffices = |log2_qp: u32| {
        let found = estimated_bits(dimension, f64::from(log2_qp), distribution);
        found > 0.0 && found >= f64::from(bits)
    };
    let (mut most, mut above) = (1, BEYOND);
    if !suffices(most) {
        return None;
    }
    while above - most > 1 {
        let middle = most.midpoint(above);
        if suffices(middle) {
            most = middle;
        } else {
            above = middle;
        }
    }
    Some(f64::from(most))
}

/// The combination with 128 bits that is nearest to a secret of `dimension`: the same secret if the table
/// covers it, otherwise the nearest dimension and weight in the table.
#[must_use]
pub fn nearest_covered(dimension: usize, distribution: SecretDistribution) -> Covered {
    let (dimension, distribution) = match distribution {
        SecretDistribution::UniformTernary => (dimension.max(uniform::least_dimension()), distribution),
        SecretDistribution::FixedWeight(weight)
            if counts_as_uniform(dimension, weight) && dimension >= uniform::least_dimension() =>
        {
            (dimension, distribution)
        }
        SecretDistribution::FixedWeight(weight) => {
            let dimension = dimension.max(MIN_DIMENSION);
            (dimension, SecretDistribution::FixedWeight(weight.clamp(MIN_WEIGHT, largest_weight(dimension))))
        }
    };
    let log2_qp = max_log2_qp(dimension, BASE_BITS as u32, distribution).unwrap_or(0.0);
    Covered { dimension, distribution, log2_qp }
}

/// Whether the rows of uniform ternary secrets apply to a fixed weight: from their mean weight `2 d / 3` up
/// to `3 d / 4`.
fn counts_as_uniform(dimension: usize, weight: usize) -> bool {
    dimension - dimension / 3 <= weight && weight <= largest_weight(dimension)
}

/// The largest weight with an estimate. Above this weight almost only the signs are random, as in a binary
/// secret.
fn largest_weight(dimension: usize) -> usize {
    dimension / 4 * 3
}

/// A lower bound of the bits at `log2_qp`, which is at least `budget`, the largest tabulated log2(QP), where
/// the table has `bits` bits.
///
/// With `x = 1 / log2(QP)` it is the line `bits (1 - 1.125 (1 - budget x))`. Where bits are concave in `x`,
/// they are above the ray through the origin, `bits budget x`, which is above this line. Where they are
/// convex in `x`, the chord through the points of 128 and 192 bits is below them outside; 1.125 is steeper
/// than that chord in every row, which a test checks.
fn bits_above((budget, bits): (f64, f64), log2_qp: f64) -> f64 {
    (bits * (1.0 - LOSS_ABOVE_BUDGET * (1.0 - budget / log2_qp))).max(0.0)
}
