//! The distributions that a secret is drawn from, as both the sampler and the security tables name them.

/// Distribution of the coefficients of one secret, over its whole module dimension (degree times rank).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SecretDistribution {
    /// Each coefficient is -1, 0 or 1 with probability 1/3.
    UniformTernary,
    /// Exactly this many coefficients are non-zero, at uniform positions, each -1 or 1 with probability 1/2.
    FixedWeight(usize),
}
