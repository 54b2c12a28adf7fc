//! From sizes to primes, and the canonical scale of each level.
//!
//! A fresh ciphertext at level `l` has the canonical scale `s_l`; the product of two, rescaled, has `s_l^2 / q_l`, and that is what
//! `s_{l-1}` is. The recursion doubles every deviation, so each scaling prime is the nearest one to `s_l^2 / 2^log2_scale`:
//! deviations stay below the spacing of primes. Every ciphertext of a level then has that level's scale exactly.

use clathrate_arith::primes::{largest_primes, primes_near};
use clathrate_arith::text::counted;
use clathrate_lattice::{Chain, Level};

use super::spec::ParamsSpec;
use crate::error::CkksError;

/// The primes of a specification.
pub(super) struct Primes {
    /// Steps from level 0 up, then special primes, then temporary ones.
    pub moduli: Vec<u64>,
    /// How many of them are temporary.
    pub temporary: usize,
    /// Primes per step.
    pub step_lengths: Vec<usize>,
}

/// Steps whose size is within this many bits of the scale follow it.
const FOLLOW_BITS: f64 = 1.0;

/// The order of the roots of unity that every prime has: transforms at every degree that moves lead to.
fn root_order(spec: &ParamsSpec) -> u64 {
    2 * spec.largest_degree() as u64
}

/// Chooses primes congruent to 1 mod twice the largest degree that the rank can be moved to, distinct and reproducible.
pub(super) fn choose(spec: &ParamsSpec) -> Result<Primes, CkksError> {
    let step = root_order(spec);
    let mut used: Vec<u64> = Vec::new();
    let mut steps: Vec<Vec<u64>> = vec![Vec::new(); spec.steps.len()];
    // Special and base primes first: they want to be large, the scaling primes near their target.
    let mut special = Vec::with_capacity(spec.special.len() + spec.temporary.len());
    for &bits in spec.special.iter().chain(&spec.temporary) {
        let prime = largest_primes(bits, step, 1, &used)?[0];
        used.push(prime);
        special.push(prime);
    }
    // The nearest prime to 2^60 may lie above it.
    let usable = |p: &u64| p >> 60 == 0;
    let target = spec.log2_scale.exp2();
    let mut scale = target;
    for level in (0..spec.steps.len()).rev() {
        let sizes = &spec.steps[level];
        let nominal: u32 = sizes.iter().sum();
        let follows = level > 0 && (f64::from(nominal) - spec.log2_scale).abs() < FOLLOW_BITS;
        let mut product = 1.0;
        for (i, &bits) in sizes.iter().enumerate() {
            let prime = if follows && i + 1 == sizes.len() {
                let wanted = scale * scale / target / product;
                primes_near(wanted, step, &used).find(usable)
            } else if level > 0 {
                primes_near(f64::from(bits).exp2(), step, &used).find(usable)
            } else {
                Some(largest_primes(bits, step, 1, &used)?[0])
            };
            let missing = || CkksError::InvalidParams {
                reason: format!("no prime of {} is left at degree {}", counted(bits, "bit"), spec.largest_degree()),
            };
            let prime = prime.ok_or_else(missing)?;
            used.push(prime);
            product *= prime as f64;
            steps[level].push(prime);
        }
        scale = next_scale(scale, product, spec.log2_scale);
    }
    let step_lengths = steps.iter().map(Vec::len).collect();
    Ok(Primes { moduli: steps.into_iter().flatten().chain(special).collect(), temporary: spec.temporary.len(), step_lengths })
}

/// Chains of fewer primes switch fastest without key digits: no auxiliary primes for them.
pub(super) const LEAST_PRIMES: usize = 12;

/// Most auxiliary primes: they hold digits and key digits of 16 primes together.
const MOST_AUXILIARY: usize = 16;

/// Bits of auxiliary primes: of the fastest transforms' class.
const AUXILIARY_BITS: u32 = 45;

/// The auxiliary primes of KLSS switching; they belong to no modulus of the scheme.
pub(super) fn auxiliary(spec: &ParamsSpec, primes: &Primes) -> Result<Vec<u64>, CkksError> {
    if spec.special.is_empty() || primes.moduli.len() < LEAST_PRIMES {
        return Ok(Vec::new());
    }
    Ok(largest_primes(AUXILIARY_BITS, root_order(spec), MOST_AUXILIARY, &primes.moduli)?)
}

/// The canonical scale below a level of scale `scale` and step product `product`; where the step is of another size
/// altogether, the nominal scale again.
fn next_scale(scale: f64, product: f64, log2_scale: f64) -> f64 {
    let next = scale * scale / product;
    if (next.log2() - log2_scale).abs() < FOLLOW_BITS { next } else { log2_scale.exp2() }
}

/// Product of a step's primes, in the one order that makes equal computations equal to the bit.
pub(super) fn step_product(chain: &Chain, level: Level) -> f64 {
    chain.step(level).fold(1.0, |product, i| product * chain.ring().moduli()[i].value() as f64)
}

/// The canonical scale of each level, level 0 first.
pub(super) fn canonical_scales(chain: &Chain, log2_scale: f64) -> Vec<f64> {
    let levels = chain.max_level().0 + 1;
    let mut scales = vec![log2_scale.exp2(); levels];
    for level in (1..levels).rev() {
        scales[level - 1] = next_scale(scales[level], step_product(chain, Level(level)), log2_scale);
    }
    scales
}
