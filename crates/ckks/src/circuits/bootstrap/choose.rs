//! The choice among plans: rounds, and keys that fit into a given number of bytes.

use super::options::BootstrapOptions;
use super::plan::BootstrapPlan;
use crate::circuits::linear::LinearTransformPlan;
use crate::error::CkksError;
use crate::parameters::Params;

impl BootstrapPlan {
    /// The circuit for arrays in all slots, failing with a probability of at most 2^-128 for each polynomial.
    ///
    /// # Errors
    /// As [`BootstrapPlan::with_options`].
    pub fn new(params: &Params) -> Result<Self, CkksError> {
        Self::with_options(params, BootstrapOptions::default())
    }

    /// The circuit with these options. Without a number of rounds it has two where the application's scale holds 16 bits more than one round leaves, and one
    /// otherwise. Under a limit on the bytes of keys it is the fastest one that was found within the limit.
    ///
    /// # Errors
    /// [`CkksError::NotBootstrappable`] where the chain lacks a segment, the rank is not 1, no secret is sparse enough, the levels of the modular reduction do
    /// not suffice, or its approximation is poor; [`CkksError::OutOfRange`] for a number of slots or of rounds, and for a limit below what any plan's keys take;
    /// scale errors.
    pub fn with_options(params: &Params, options: BootstrapOptions) -> Result<Self, CkksError> {
        let given = params.spec().bootstrap_key_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        match options.most_key_bytes.or(given) {
            None => Self::one_round(params, options)?.with_rounds(options.rounds),
            Some(most) => within(most, options, |options| Self::one_round(params, options))?.with_rounds(options.rounds),
        }
    }

    /// Bytes of all keys in memory.
    ///
    /// # Errors
    /// As [`BootstrapPlan::dry_run`].
    pub fn key_bytes(&self) -> Result<usize, CkksError> {
        self.params.required_keys(self.known_needs()?)?.bytes(&self.params)
    }

    /// Gives the linear maps fewer keys, one map at a time, where a saved byte costs the least time, until all keys take at most `most` bytes or no map has fewer.
    /// Returns the bytes.
    fn limit_keys(&mut self, most: usize) -> Result<usize, CkksError> {
        loop {
            let bytes = self.key_bytes()?;
            if bytes <= most {
                return Ok(bytes);
            }
            let mut best: Option<(f64, usize, LinearTransformPlan)> = None;
            for (index, map) in self.linear_maps().enumerate() {
                let Some(fewer) = map.with_fewer_keys()? else { continue };
                let saved = map.key_bytes().saturating_sub(fewer.key_bytes()).max(1);
                let price = (fewer.predicted_nanoseconds() - map.predicted_nanoseconds()) / saved as f64;
                if best.as_ref().is_none_or(|(least, ..)| price < *least) {
                    best = Some((price, index, fewer));
                }
            }
            let Some((_, index, fewer)) = best else { return Ok(bytes) };
            self.set_linear_map(index, fewer);
        }
    }
}

/// The faster one of the plans with and without keys that raise the modulus, each with as many rotation keys as `most` bytes allow.
///
/// # Errors
/// [`CkksError::OutOfRange`] with the least bytes that any plan needs; those of `plan`.
fn within(
    most: usize,
    options: BootstrapOptions,
    plan: impl Fn(BootstrapOptions) -> Result<BootstrapPlan, CkksError>,
) -> Result<BootstrapPlan, CkksError> {
    let mut least = usize::MAX;
    let mut best: Option<(f64, BootstrapPlan)> = None;
    let choices: &[bool] = if options.raise_keys { &[true, false] } else { &[false] };
    for &raise_keys in choices {
        let mut plan = plan(BootstrapOptions { raise_keys, ..options })?;
        let bytes = plan.limit_keys(most)?;
        least = least.min(bytes);
        if bytes > most {
            continue;
        }
        let nanoseconds = plan.dry_run()?.cost().nanoseconds;
        if best.as_ref().is_none_or(|(fastest, _)| nanoseconds < *fastest) {
            best = Some((nanoseconds, plan));
        }
    }
    best.map(|(_, plan)| plan).ok_or_else(|| CkksError::OutOfRange {
        what: "the bytes of keys of a bootstrap",
        value: most.to_string(),
        remedy: format!("allow at least {least} bytes"),
    })
}
