//! The specification of a parameter set: plain data, as files and users write it.

use clathrate_arith::text::counted;
use clathrate_lattice::SecretDistribution;
use serde::{Deserialize, Serialize};

use super::segments::{self, Segment};
use crate::error::CkksError;
use crate::shape::ModuleShape;

/// The smallest ring degree of a specification, and of keys.
pub(super) const MIN_DEGREE: usize = 8;
pub(super) const LARGEST_DEGREE: usize = 1 << 17;

/// The minimum bits of security with `below_128`: enough for the parameter sets of the papers.
pub(super) const PAPER_SECURITY_BITS: f64 = 110.0;

/// Binary logarithm of the largest probability of failure of a bootstrap, if neither the options nor the
/// specification state one.
pub(crate) const LOG2_FAILURE: f64 = -128.0;

/// The default number of special primes of keys to the ephemeral secret.
pub(super) const EPHEMERAL_SPECIAL: usize = 2;

/// Bytes of tables per coefficient and prime: a root of unity and its quotient, for transforms in both
/// directions.
const TABLE_BYTES: usize = 4 * size_of::<u64>();

/// Chains of fewer primes have no auxiliary primes, because they switch fastest with the hybrid method.
pub(super) const MIN_PRIMES: usize = 12;

/// The number of auxiliary primes: enough for digits and key digits of 16 primes together.
const MAX_AUXILIARY: usize = 16;

/// The maximum bits of a prime.
const MAX_BITS: f64 = 60.0;

/// Parameters as users write them, with sizes of primes instead of primes. Sizes may be fractions of a bit,
/// e.g. 45.8.
///
/// ```
/// let spec: clathrate_ckks::ParamsSpec = toml::from_str(r#"
///     name = "mine"
///     degree = 16384
///     log2_scale = 40
///     steps = [[29, 29], [40], [40], [40]]
///     special = [44, 44]
/// "#).unwrap();
/// assert_eq!(spec.rank, 1);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamsSpec {
    /// A name for people.
    pub name: String,
    /// Ring degree, a power of two.
    pub degree: usize,
    /// Module rank, any positive integer; 1 is ordinary CKKS.
    #[serde(default = "one")]
    pub rank: usize,
    /// Bits of each prime of each modulus step, level 0 first.
    #[serde(serialize_with = "sizes::of_steps")]
    pub steps: Vec<Vec<f64>>,
    /// Bits of each special prime. Without special primes there are no switching keys.
    #[serde(default, serialize_with = "sizes::of_primes")]
    pub special: Vec<f64>,
    /// Bits of each temporary prime. The special modulus at the temporary rank is the product of these and
    /// the special primes. [dpad-he, sec. 3.2]
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "sizes::of_primes")]
    pub temporary: Vec<f64>,
    /// The temporary rank `k^ > k`, at which relinearisations and rank-hoisted rotations compute; needs
    /// `temporary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary_rank: Option<usize>,
    /// Another shape with the same moduli and the same secret, a target of conversions and rank reductions.
    /// See [`Params::relative`](super::Params::relative).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<ModuleShape>,
    /// Binary logarithm of the scale at the top level. With `segments` it may be left out (0), and is then
    /// the scale of the highest segment.
    #[serde(default)]
    pub log2_scale: f64,
    /// Segments of the chain, each with its own scale, which together cover every level once. Without
    /// segments, `log2_scale` is the scale of the whole chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
    /// The number of non-zero coefficients of the secret; absent for a uniform ternary secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_weight: Option<usize>,
    /// The number of non-zero coefficients of the ephemeral secret, under which bootstraps raise the modulus;
    /// absent for no such secret. Keys to it have key level 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral_weight: Option<usize>,
    /// The number of special primes of the keys to the ephemeral secret, the first ones of `special`; absent
    /// for 2, or for all if there are fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral_special: Option<usize>,
    /// The maximum bytes in memory of the keys of a bootstrap, unless a plan states its own; absent for as
    /// many as the fastest plan needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_key_bytes: Option<u64>,
    /// Binary logarithm of the largest probability of failure of a bootstrap, unless a plan states its own;
    /// absent for -128.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_log2_failure: Option<f64>,
    /// The maximum bits of a digit of key switching; absent for the bits of the special modulus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digit_bits: Option<f64>,
    /// Accepts any security, for tests only. Every file made under parameters below 128 bits says so.
    #[serde(default, skip_serializing_if = "is_false")]
    pub insecure: bool,
    /// Accepts at least 110 bits of security, for the parameter sets of papers.
    #[serde(default, skip_serializing_if = "is_false")]
    pub below_128: bool,
}

/// Serialises sizes: a whole number of bits as an integer.
mod sizes {
    use serde::{Serialize, Serializer};

    #[derive(Serialize)]
    #[serde(untagged)]
    enum Bits {
        Whole(u32),
        Fraction(f64),
    }

    impl From<&f64> for Bits {
        fn from(&bits: &f64) -> Self {
            let whole = bits as u32;
            if f64::from(whole) == bits { Self::Whole(whole) } else { Self::Fraction(bits) }
        }
    }

    pub(super) fn of_primes<S: Serializer>(primes: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(primes.iter().map(Bits::from))
    }

    pub(super) fn of_steps<S: Serializer>(steps: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(steps.iter().map(|step| step.iter().map(Bits::from).collect::<Vec<_>>()))
    }
}

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature serde calls
fn is_false(value: &bool) -> bool {
    !*value
}

impl ParamsSpec {
    /// A specification with `steps` and special primes, and nothing out of the ordinary.
    pub(crate) fn of_chain(
        name: &str,
        degree: usize,
        (steps, special): (Vec<Vec<f64>>, Vec<f64>),
        log2_scale: f64,
        insecure: bool,
    ) -> Self {
        Self {
            name: name.to_owned(),
            degree,
            rank: 1,
            steps,
            special,
            temporary: Vec::new(),
            temporary_rank: None,
            relative: None,
            log2_scale,
            segments: Vec::new(),
            secret_weight: None,
            ephemeral_weight: None,
            ephemeral_special: None,
            bootstrap_key_bytes: None,
            bootstrap_log2_failure: None,
            digit_bits: None,
            insecure,
            below_128: false,
        }
    }

    /// The distribution of the secret.
    #[must_use]
    pub fn distribution(&self) -> SecretDistribution {
        self.secret_weight.map_or(SecretDistribution::UniformTernary, SecretDistribution::FixedWeight)
    }

    /// Degree and rank.
    #[must_use]
    pub fn shape(&self) -> ModuleShape {
        ModuleShape { degree: self.degree, rank: self.rank }
    }

    /// The largest degree that conversions of the rank lead to. Primes are chosen for this degree.
    #[must_use]
    pub fn largest_degree(&self) -> usize {
        (self.degree << self.rank.trailing_zeros()).min(LARGEST_DEGREE).max(self.degree)
    }

    /// The same specification with `log2_scale` set from the segments, if there are any.
    pub(super) fn normalised(mut self) -> Self {
        if let Some(highest) = self.segments.iter().max_by_key(|segment| segment.levels) {
            self.log2_scale = highest.log2_scale;
        }
        self
    }

    /// The number of auxiliary primes of a chain of `primes` primes.
    pub(super) fn auxiliary_count(&self, primes: usize) -> usize {
        if self.special.is_empty() || primes < MIN_PRIMES { 0 } else { MAX_AUXILIARY }
    }

    /// Refuses specifications whose tables would take more than `limit` bytes, before anything is computed.
    /// The tables are those of the largest degree that the rank leads to.
    ///
    /// # Errors
    /// [`CkksError::TablesTooLarge`].
    pub(super) fn check_tables(&self, limit: usize) -> Result<(), CkksError> {
        let chain =
            self.steps.iter().map(Vec::len).sum::<usize>() + self.special.len() + self.temporary.len();
        let (degree, primes) = (self.largest_degree(), chain + self.auxiliary_count(chain));
        let bytes = degree.saturating_mul(primes).saturating_mul(TABLE_BYTES);
        if bytes > limit { Err(CkksError::TablesTooLarge { degree, primes, bytes, limit }) } else { Ok(()) }
    }

    /// Refuses specifications that no parameter set can satisfy.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`].
    pub fn check(&self) -> Result<(), CkksError> {
        let refuse = |reason: String| Err(CkksError::InvalidParams { reason });
        if !self.degree.is_power_of_two() || !(MIN_DEGREE..=LARGEST_DEGREE).contains(&self.degree) {
            return refuse(format!("degree {} is not a power of two from 2^3 to 2^17", self.degree));
        }
        if !(1..=64).contains(&self.rank) {
            return refuse(format!("rank {} is out of range: use 1 to 64", self.rank));
        }
        if self.steps.is_empty() || self.steps.iter().any(Vec::is_empty) {
            return refuse(
                "`steps` needs at least one step and each step at least one prime, e.g. [[29, 29], [40]]"
                    .to_owned(),
            );
        }
        let sizes = || self.steps.iter().flatten().chain(&self.special).chain(&self.temporary);
        let largest = self.largest_degree();
        let least = f64::from(largest.ilog2() + 2);
        if let Some(bits) = sizes().find(|&&bits| !(least..=MAX_BITS).contains(&bits)) {
            return refuse(format!(
                "a prime of {bits} bits: at degree {largest} primes have {least} to {MAX_BITS} bits"
            ));
        }
        match (self.temporary_rank, self.temporary.len()) {
            (None, 0) => {}
            (None, count) => {
                return refuse(format!(
                    "`temporary` has {} and there is no `temporary_rank`: set it, e.g. {}",
                    counted(count, "prime"),
                    self.rank + 1
                ));
            }
            (Some(rank), 0) => {
                return refuse(format!(
                    "temporary_rank {rank} needs `temporary`, bits of the primes that lengthen the special modulus there"
                ));
            }
            (Some(_), _) if self.special.is_empty() => {
                return refuse("temporary_rank needs `special`, the modulus of the way back".to_owned());
            }
            (Some(rank), _) if rank <= self.rank || rank > 128 => {
                return refuse(format!(
                    "temporary_rank {rank} is out of range: use {} to 128",
                    self.rank + 1
                ));
            }
            (Some(_), _) => {}
        }
        if sizes().count() > 256 {
            return refuse(format!("{} primes: at most 256", sizes().count()));
        }
        if self.segments.is_empty() {
            segments::check_log2_scale(self.log2_scale, "")?;
            let headroom: f64 = self.steps.iter().flatten().sum();
            if self.log2_scale + 1.0 > headroom {
                return refuse(format!(
                    "log2_scale {} leaves no room in a modulus of {headroom} bits",
                    self.log2_scale
                ));
            }
        } else {
            segments::check(&self.segments, &self.steps, self.log2_scale)?;
        }
        if let Some(weight) = self.secret_weight
            && !(1..=self.degree * self.rank).contains(&weight)
        {
            return refuse(format!(
                "secret_weight {weight} is out of range: use 1 to degree * rank = {}",
                self.degree * self.rank
            ));
        }
        if let Some(weight) = self.ephemeral_weight {
            if !(1..=self.degree * self.rank).contains(&weight) {
                return refuse(format!(
                    "ephemeral_weight {weight} is out of range: use 1 to degree * rank = {}",
                    self.degree * self.rank
                ));
            }
            if self.special.is_empty() {
                return refuse(
                    "ephemeral_weight needs `special`, primes for the keys to the ephemeral secret"
                        .to_owned(),
                );
            }
        }
        match self.ephemeral_special {
            Some(_) if self.ephemeral_weight.is_none() => {
                return refuse(
                    "ephemeral_special needs `ephemeral_weight`, the weight of the ephemeral secret"
                        .to_owned(),
                );
            }
            Some(count) if !(1..=self.special.len()).contains(&count) => {
                return refuse(format!(
                    "ephemeral_special {count} is out of range: use 1 to the {} special primes",
                    self.special.len()
                ));
            }
            _ => {}
        }
        if let Some(log2) = self.bootstrap_log2_failure
            && !(log2.is_finite() && log2 < 0.0)
        {
            return refuse(format!(
                "bootstrap_log2_failure {log2} is not a negative number, the binary logarithm of a probability"
            ));
        }
        if let Some(bits) = self.digit_bits
            && !(bits.is_finite() && bits > 0.0)
        {
            return refuse(format!("digit_bits {bits} is not a positive number"));
        }
        Ok(())
    }
}

/// The distribution of `part` of `whole` coefficients.
pub(super) fn part_of(distribution: SecretDistribution, part: usize, whole: usize) -> SecretDistribution {
    match distribution {
        SecretDistribution::FixedWeight(weight) => {
            SecretDistribution::FixedWeight(((weight as u128 * part as u128 / whole as u128) as usize).max(1))
        }
        uniform => uniform,
    }
}

/// The distribution of a secret of the temporary rank. Its additional polynomials are uniform ternary or have
/// the density of the secret.
pub(super) fn temporary_distribution(
    spec: &ParamsSpec,
    shape: ModuleShape,
    rank: usize,
) -> SecretDistribution {
    part_of(spec.distribution(), shape.degree * rank, spec.shape().dimension())
}
