//! The choice of primes for the sizes in a specification.
//!
//! A fresh ciphertext at level `l` has the canonical scale `s_l`. The rescaled product of two such
//! ciphertexts has the scale `s_l^2 / q_l`, so this is the canonical scale `s_{l-1}`. The recursion doubles
//! every deviation from the nominal scale. Each scaling step is therefore chosen nearest to `s_l^2 /
//! 2^log2_scale`, which keeps deviations below the spacing of primes. Fresh ciphertexts and rescaled products
//! of one level then have exactly the same scale.

use clathrate_arith::primes::{is_prime, largest_primes, primes_near};

use super::scales::{FOLLOW_BITS, next_scale};
use super::segments::Segments;
use super::spec::ParamsSpec;
use crate::error::CkksError;

/// The primes of a specification.
pub(super) struct Primes {
    /// The primes of the steps from level 0 up, then the special primes, then the temporary primes.
    pub moduli: Vec<u64>,
    /// The number of temporary primes.
    pub temporary: usize,
    /// Primes per step.
    pub step_lengths: Vec<usize>,
}

/// A search for primes congruent to 1 modulo `step` that returns each prime at most once.
struct Search {
    step: u64,
    /// The degree whose transforms need this `step`, for messages.
    degree: usize,
    used: Vec<u64>,
}

/// The number of candidates for one prime of a pair. One of so many candidates has a partner such that the
/// product is near the wanted one.
const PAIR_CANDIDATES: usize = 256;

/// The largest distance in bits of the primes of a pair from their nominal sizes, for the sake of their
/// product. At degree 2^16, neighbouring 28-bit primes differ by a factor of about 1 + 2^-8, and 16
/// neighbours span about 0.1 bits.
const PAIR_SLACK_BITS: f64 = 0.5;

/// A pair whose product is within this relative distance of the wanted one ends the search, so that the
/// primes stay near their sizes if primes are dense.
const PAIR_TOLERANCE: f64 = 1.0 / (1u64 << 14) as f64;

impl Search {
    fn missing(&self, bits: f64) -> CkksError {
        CkksError::InvalidParams {
            reason: format!(
                "no prime of {bits} bits is left at degree {}: use fewer primes of this size, or another size",
                self.degree
            ),
        }
    }

    /// The largest unused prime between `2^(bits - 1)` and `2^bits`.
    fn largest(&mut self, bits: f64) -> Result<u64, CkksError> {
        let limit = bits.exp2();
        let mut candidate = Some(((limit as u64).saturating_sub(1) / self.step) * self.step + 1);
        while let Some(prime) = candidate.filter(|&candidate| candidate as f64 >= limit / 2.0) {
            if !self.used.contains(&prime) && is_prime(prime) {
                self.used.push(prime);
                return Ok(prime);
            }
            candidate = prime.checked_sub(self.step);
        }
        Err(self.missing(bits))
    }

    /// The unused primes below 2^60 between half and twice the `target`, nearest first.
    fn near(&self, target: f64) -> impl Iterator<Item = u64> {
        // Numbers above 2^60 cannot be moduli. With a larger target, the search would pass through all of
        // them first.
        let target = target.min(60f64.exp2());
        let near = (target >= 2.0).then(|| primes_near(target, self.step, &self.used));
        let close = move |&prime: &u64| (0.5 * target..=2.0 * target).contains(&(prime as f64));
        near.into_iter().flatten().take_while(close).filter(|prime| prime >> 60 == 0)
    }

    fn nearest(&mut self, target: f64) -> Result<u64, CkksError> {
        let prime = self.near(target).next().ok_or_else(|| self.missing(target.log2()))?;
        self.used.push(prime);
        Ok(prime)
    }

    /// Primes of the given sizes whose product is near `wanted`. The last two primes are chosen together, so
    /// that their product is near the quotient that the others leave.
    fn product_near(&mut self, wanted: f64, sizes: &[f64]) -> Result<Vec<u64>, CkksError> {
        let Some((&last, others)) = sizes.split_last() else { return Ok(Vec::new()) };
        let Some((&first, others)) = others.split_last() else { return Ok(vec![self.nearest(wanted)?]) };
        let mut primes = Vec::with_capacity(sizes.len());
        let mut rest = wanted;
        for &bits in others {
            primes.push(self.nearest(bits.exp2())?);
            rest /= primes[primes.len() - 1] as f64;
        }
        let mut best: Option<(f64, [u64; 2])> = None;
        for prime in self.near(first.exp2()).take(PAIR_CANDIDATES) {
            if best.is_some() && ((prime as f64).log2() - first).abs() > PAIR_SLACK_BITS {
                break;
            }
            let Some(other) = self.near(rest / prime as f64).find(|&other| other != prime) else { continue };
            let off = (prime as f64 * other as f64 - rest).abs();
            if best.is_none_or(|(least, _)| off < least) {
                best = Some((off, [prime, other]));
            }
            if off < rest * PAIR_TOLERANCE {
                break;
            }
        }
        let (_, pair) = best.ok_or_else(|| self.missing(last))?;
        self.used.extend(pair);
        primes.extend(pair);
        Ok(primes)
    }
}

/// The order of the roots of unity that every prime must have: transforms at every degree that moves lead to
/// need them.
fn root_order(spec: &ParamsSpec) -> u64 {
    2 * spec.largest_degree() as u64
}

/// Chooses distinct primes congruent to 1 modulo twice the largest degree that moves lead to. The choice is
/// reproducible.
pub(super) fn choose(spec: &ParamsSpec, segments: &Segments) -> Result<Primes, CkksError> {
    let mut search = Search { step: root_order(spec), degree: spec.largest_degree(), used: Vec::new() };
    // Special primes are chosen first, because they should be as large as possible. Scaling primes should be
    // near their target instead.
    let special = spec
        .special
        .iter()
        .chain(&spec.temporary)
        .map(|&bits| search.largest(bits))
        .collect::<Result<Vec<_>, _>>()?;
    let mut steps: Vec<Vec<u64>> = vec![Vec::new(); spec.steps.len()];
    let mut scale = 0.0;
    for level in (0..spec.steps.len()).rev() {
        let (sizes, segment) = (&spec.steps[level], segments.at(level));
        let (size, nominal): (f64, f64) = (sizes.iter().sum(), segment.log2_scale.exp2());
        if level == segment.highest() {
            scale = nominal;
        }
        steps[level] = if level == 0 {
            sizes.iter().map(|&bits| search.largest(bits)).collect::<Result<_, _>>()?
        } else if level == segment.lowest() {
            // After the rescale that leaves the segment, a product should have the scale that the nominal
            // sizes give.
            search.product_near(scale * scale / (2.0 * segment.log2_scale - size).exp2(), sizes)?
        } else if (size - segment.log2_scale).abs() < FOLLOW_BITS {
            search.product_near(scale * scale / nominal, sizes)?
        } else {
            sizes.iter().map(|&bits| search.nearest(bits.exp2())).collect::<Result<_, _>>()?
        };
        let product = steps[level].iter().fold(1.0, |product, &prime| product * prime as f64);
        scale = next_scale(scale, product, segment.log2_scale);
    }
    let step_lengths = steps.iter().map(Vec::len).collect();
    Ok(Primes {
        moduli: steps.into_iter().flatten().chain(special).collect(),
        temporary: spec.temporary.len(),
        step_lengths,
    })
}

/// Bits of auxiliary primes. Primes of this size have the fastest transforms.
const AUXILIARY_BITS: u32 = 45;

/// The auxiliary primes of KLSS switching. They belong to no modulus of the scheme.
pub(super) fn auxiliary(spec: &ParamsSpec, primes: &Primes) -> Result<Vec<u64>, CkksError> {
    match spec.auxiliary_count(primes.moduli.len()) {
        0 => Ok(Vec::new()),
        count => Ok(largest_primes(AUXILIARY_BITS, root_order(spec), count, &primes.moduli)?),
    }
}
