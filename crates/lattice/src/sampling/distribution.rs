//! Distributions of secrets, shared by the sampler and the security tables.

/// Distribution of the `degree * rank` coefficients of one secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SecretDistribution {
    /// Each coefficient is -1, 0 or 1 with probability 1/3.
    UniformTernary,
    /// Exactly this many coefficients are non-zero, at uniform positions, each -1 or 1 with probability 1/2.
    FixedWeight(usize),
}
