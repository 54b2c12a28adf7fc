//! Security estimates (in progress).

use crate::sampling::SecretDistribution;

/// Largest log2(QP).
#[must_use]
pub fn max_log2_qp(_dimension: usize, _bits: u32, _distribution: SecretDistribution) -> Option<f64> {
    None
}
