//! The choice among plans: the slots of the transforms, the rounds, the bodies, and the keys within a limit
//! on their bytes.

use clathrate_arith::GaloisElement;
use clathrate_lattice::Level;

use super::options::{BatchCost, BootstrapOptions, MAX_BODIES};
use super::plan::BootstrapPlan;
use super::tables::Factors;
use crate::arrays::SecretName;
use crate::circuits::linear::LinearTransformPlan;
use crate::error::CkksError;
use crate::keys::{Cost, KeyName, Switch};
use crate::parameters::{Params, StageLevels};

/// Transforms of the array's own slots have fewer keys than those of all slots, so they are chosen if they
/// take at most this many times as long.
const SLOWER: f64 = 1.05;

/// The name of the limit on keys in errors.
const KEY_BYTES: &str = "the bytes of keys of a bootstrap";

/// Without a limit, the keys of a batch may take this many times the bytes of the keys for one polynomial.
const BATCH_KEYS: usize = 3;

/// Slower transforms of all slots are chosen if they are this many bits more precise.
const WORTHWHILE_BITS: f64 = 2.0;

impl BootstrapPlan {
    /// The circuit for arrays in all slots, with the default options.
    pub fn new(params: &Params) -> Result<Self, CkksError> {
        Self::with_options(params, BootstrapOptions::default())
    }

    /// The circuit with these options.
    ///
    /// If no number of rounds is given, the circuit has two rounds if the application's scale holds at least
    /// 16 bits more than one round leaves, and one round otherwise. For few slots, the linear transforms have
    /// the array's own slots, or all slots, in which the numbers repeat. They have all slots if
    /// slots-to-coefficients comes last, or if the prediction for all slots is faster by more than 5 % or
    /// more precise by at least two bits. That choice does not depend on whether numbers are real, nor on the
    /// rounds, so that one set of keys serves all these plans. Under a limit on the bytes of keys, the
    /// circuit is the fastest that was found within the limit.
    ///
    /// # Errors
    /// [`CkksError::Insecure`] for more bodies under a mask than the parameters protect;
    /// [`CkksError::Unsupported`] if the chain lacks a segment, the rank is not 1, no secret is sparse
    /// enough, the levels of the modular reduction do not suffice, or its approximation is poor;
    /// [`CkksError::OutOfRange`] for an impossible number of slots or rounds, and for a limit below the keys
    /// of every plan; scale errors.
    pub fn with_options(params: &Params, options: BootstrapOptions) -> Result<Self, CkksError> {
        Self::with_factors(params, options, &Factors::default())
    }

    /// [`BootstrapPlan::with_options`] with factors of transforms that plans share.
    ///
    /// # Errors
    /// Those of [`BootstrapPlan::with_options`].
    pub(in crate::circuits) fn with_factors(
        params: &Params,
        options: BootstrapOptions,
        factors: &Factors,
    ) -> Result<Self, CkksError> {
        check_bodies(params, options.bodies)?;
        let transform_slots = transform_slots(params, options, factors);
        let options = BootstrapOptions { transform_slots, ..options };
        Self::within_key_limit(params, options, factors)?.with_rounds(options.rounds)
    }

    /// The circuit for arrays of `polys` polynomials, with the fastest number of bodies under a mask.
    ///
    /// The number is a power of two that is secure, and whose keys are within a limit:
    /// [`BootstrapOptions::most_key_bytes`], or the limit of the parameters, or three times the bytes of the
    /// keys for one polynomial. `polys` counts polynomials as they are bootstrapped: a plan for complex
    /// numbers bootstraps two polynomials of real numbers as one. [pcmm-mambo, sec. 6.2]; differs: the paper
    /// has one mask for the whole batch.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] without polynomials, and if the limit excludes every number of bodies; the
    /// errors of [`BootstrapPlan::with_options`].
    pub fn for_batch(params: &Params, polys: usize, options: BootstrapOptions) -> Result<Self, CkksError> {
        if polys == 0 {
            let remedy = "plan for one polynomial or more".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the polynomials of a batch",
                value: polys.to_string(),
                remedy,
            });
        }
        Self::fastest_bodies(params, polys, options, |plan| {
            Ok(plan.dry_run_of(polys)?.cost().times(1.0 / polys as f64))
        })
    }

    /// The circuit for `polys` polynomials with the number of bodies under a mask for which the price of
    /// `cost` is the least, among those that [`BootstrapPlan::for_batch`] allows.
    ///
    /// # Errors
    /// The errors of [`BootstrapPlan::with_options`] and of `cost`.
    pub(in crate::circuits) fn fastest_bodies(
        params: &Params,
        polys: usize,
        options: BootstrapOptions,
        cost: impl Fn(&Self) -> Result<Cost, CkksError>,
    ) -> Result<Self, CkksError> {
        let factors = Factors::default();
        let alone = Self::with_factors(params, BootstrapOptions { bodies: 1, ..options }, &factors)?;
        let given =
            params.spec().bootstrap_key_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let most = options.most_key_bytes.or(given).unwrap_or(BATCH_KEYS * alone.key_bytes()?);
        let own = |plan: &Self| -> Result<BatchCost, CkksError> {
            let Cost { nanoseconds, price, .. } = cost(plan)?;
            Ok(BatchCost { bodies: plan.bodies, nanoseconds, price, key_bytes: plan.key_bytes()? })
        };
        let mut costs = vec![own(&alone)?];
        let mut best = alone;
        let most_bodies = polys.next_power_of_two().min(MAX_BODIES);
        let mut bodies = 2;
        while bodies <= most_bodies {
            let plan = match Self::with_factors(
                params,
                BootstrapOptions { bodies, most_key_bytes: Some(most), ..options },
                &factors,
            ) {
                // More bodies are less secure and have larger keys, so the search ends at the first number
                // that is refused.
                Err(CkksError::Insecure { .. } | CkksError::OutOfRange { what: KEY_BYTES, .. }) => break,
                other => other?,
            };
            let cost = own(&plan)?;
            if costs.iter().all(|other| cost.price < other.price) {
                best = plan;
            }
            costs.push(cost);
            bodies *= 2;
        }
        best.batch = Some((polys, costs));
        Ok(best)
    }

    /// The candidates for a batch: for each number of bodies, the time per polynomial and the keys.
    #[must_use]
    pub fn batch_costs(&self) -> &[BatchCost] {
        self.batch.as_ref().map_or(&[], |(_, costs)| costs)
    }

    /// The circuit of one round, with keys within the limit.
    fn within_key_limit(
        params: &Params,
        options: BootstrapOptions,
        factors: &Factors,
    ) -> Result<Self, CkksError> {
        let given =
            params.spec().bootstrap_key_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        match options.most_key_bytes.or(given) {
            None => Self::one_round(params, options, factors),
            Some(most) => within(most, options, |options| Self::one_round(params, options, factors)),
        }
    }

    /// Bytes of all keys in memory.
    pub fn key_bytes(&self) -> Result<usize, CkksError> {
        self.params.required_keys(self.known_needs()?)?.bytes(&self.params)
    }

    /// Reduces the keys of the linear maps until all keys take at most `most` bytes or no map has fewer keys.
    /// Each step changes the map for which a saved byte costs the least time. Returns the bytes.
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
                let price = (fewer.price() - map.price()) / saved as f64;
                if best.as_ref().is_none_or(|(least, ..)| price < *least) {
                    best = Some((price, index, fewer));
                }
            }
            let Some((_, index, fewer)) = best else { return Ok(bytes) };
            self.set_linear_map(index, fewer);
        }
    }
}

/// Refuses more bodies under a mask than are secure at the highest level, and, for the sparse secret, at
/// level 0.
fn check_bodies(params: &Params, bodies: usize) -> Result<(), CkksError> {
    if !(2..=MAX_BODIES).contains(&bodies) {
        return Ok(());
    }
    let element = GaloisElement::conjugation(params.degree());
    params
        .key_definition(KeyName::Automorphism { secret: SecretName::Bodies(bodies), element })?
        .check_security(params.max_level())?;
    if params.ephemeral_weight().is_some() {
        let (from, to) = (SecretName::Bodies(bodies), SecretName::EphemeralBodies(bodies));
        params
            .key_definition(KeyName::Switch(Switch::ChangeSecret { from, to }))?
            .check_security(Level(0))?;
    }
    Ok(())
}

/// The slots of the transforms if the array has few slots; `None` if the options leave no choice.
fn transform_slots(params: &Params, options: BootstrapOptions, factors: &Factors) -> Option<usize> {
    let all = params.slot_count();
    let few =
        options.slots.filter(|&slots| slots < all && options.transform_slots.is_none() && !options.half);
    let Some(slots) = few else { return options.transform_slots };
    if StageLevels::new(params).is_ok_and(|levels| levels.slots_last()) {
        return Some(all);
    }
    // The kind of numbers, the rounds and the accuracy have no part in the choice.
    let BootstrapOptions { raise_keys, most_key_bytes, bodies, product, .. } = options;
    let plan = |transform_slots: usize| -> Result<(f64, f64), CkksError> {
        let own = BootstrapOptions {
            slots: Some(slots),
            transform_slots: Some(transform_slots),
            raise_keys,
            most_key_bytes,
            bodies,
            product,
            ..Default::default()
        };
        let plan = BootstrapPlan::within_key_limit(params, own, factors)?;
        Ok((plan.dry_run()?.cost().price, -plan.predicted_error()?.deviation().log2()))
    };
    match (plan(slots), plan(all)) {
        (Ok((own_time, own_bits)), Ok((all_time, all_bits)))
            if own_time <= SLOWER * all_time && own_bits + WORTHWHILE_BITS > all_bits =>
        {
            Some(slots)
        }
        (_, Ok(_)) => Some(all),
        // There is no plan of all slots. If there is none of the array's own slots either, the error should
        // be that of the transforms with the fewest keys.
        (_, Err(_)) => {
            let least = |transform_slots: usize| {
                let own = BootstrapOptions { transform_slots: Some(transform_slots), ..options };
                least_key_bytes(params, own, factors).unwrap_or(usize::MAX)
            };
            Some(if least(all) < least(slots) { all } else { slots })
        }
    }
}

/// The bytes of keys of the plan with the fewest.
fn least_key_bytes(
    params: &Params,
    options: BootstrapOptions,
    factors: &Factors,
) -> Result<usize, CkksError> {
    let one = |raise_keys: bool| {
        BootstrapPlan::one_round(params, BootstrapOptions { raise_keys, ..options }, factors)?.limit_keys(0)
    };
    Ok(if options.raise_keys { one(true)?.min(one(false)?) } else { one(false)? })
}

/// The faster of the plans with and without keys that raise the modulus, each with as many rotation keys as
/// `most` bytes allow.
///
/// # Errors
/// [`CkksError::OutOfRange`] with the bytes of the plan with the fewest keys; the errors of `plan`.
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
        let price = plan.dry_run()?.cost().price;
        if best.as_ref().is_none_or(|(least, _)| price < *least) {
            best = Some((price, plan));
        }
    }
    best.map(|(_, plan)| plan).ok_or_else(|| CkksError::OutOfRange {
        what: KEY_BYTES,
        value: most.to_string(),
        remedy: format!("allow at least {least} bytes"),
    })
}
