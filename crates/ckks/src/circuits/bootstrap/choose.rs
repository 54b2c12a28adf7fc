//! The choice among plans: slots of the transforms, rounds, and keys that fit into a given number of bytes.

use clathrate_arith::GaloisElement;
use clathrate_lattice::Level;

use super::options::{BatchCost, BootstrapOptions, MOST_BODIES};
use super::plan::BootstrapPlan;
use crate::arrays::SecretName;
use crate::circuits::linear::LinearTransformPlan;
use crate::error::CkksError;
use crate::keys::{Cost, KeyName, Switch};
use crate::parameters::{Params, StageLevels};

/// Transforms of the array's own slots have fewer keys where these are not limited: they may take this much
/// more time than those of all slots.
const SLOWER: f64 = 1.05;

/// What errors call the limit on keys.
const KEY_BYTES: &str = "the bytes of keys of a bootstrap";

/// Without a limit, keys of a batch take at most so many times the bytes of those for one polynomial.
const BATCH_KEYS: usize = 3;

/// Transforms of all slots are taken where they are so many bits more precise, though slower.
const WORTHWHILE_BITS: f64 = 2.0;

impl BootstrapPlan {
    /// The circuit for arrays in all slots, failing with a probability of at most 2^-128 for each polynomial.
    pub fn new(params: &Params) -> Result<Self, CkksError> {
        Self::with_options(params, BootstrapOptions::default())
    }

    /// The circuit with these options. Without a number of rounds it has two where the application's scale
    /// holds 16 bits more than one round leaves, and one otherwise. For few slots its linear transforms are
    /// those of the slots or those of all slots, in which the numbers repeat: all where that is predicted to
    /// be faster by 5 %, or more precise by two bits, and where slots-to-coefficients comes last. That choice
    /// does not depend on the numbers being real, nor on rounds, so that one set of keys serves all of these.
    /// Under a limit on the bytes of keys it is the fastest one that was found within the limit.
    ///
    /// # Errors
    /// [`CkksError::Insecure`] for more bodies under a mask than the parameters protect;
    /// [`CkksError::NotBootstrappable`] where the chain lacks a segment, the rank is not 1, no secret is
    /// sparse enough, the levels of the modular reduction do not suffice, or its approximation is poor;
    /// [`CkksError::OutOfRange`] for a number of slots or of rounds, and for a limit below what any plan's
    /// keys take; scale errors.
    pub fn with_options(params: &Params, options: BootstrapOptions) -> Result<Self, CkksError> {
        check_bodies(params, options.bodies)?;
        let options = BootstrapOptions { transform_slots: transform_slots(params, options), ..options };
        Self::within_key_limit(params, options)?.with_rounds(options.rounds)
    }

    /// The circuit for arrays of `polys` polynomials: with as many bodies under a mask as make it fastest, a
    /// power of two, of those that are secure and whose keys take at most
    /// [`BootstrapOptions::most_key_bytes`], or the limit of the parameters, or else three times the bytes of
    /// keys for one polynomial. Polynomials are counted as they are bootstrapped: with a plan for complex
    /// numbers, two of real numbers are one. [pcmm-mambo, sec. 6.2]; differs: the paper has one mask for the
    /// whole batch.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] without polynomials, and where no number of bodies has keys within the
    /// limit; as [`BootstrapPlan::with_options`].
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

    /// The circuit for `polys` polynomials whose number of bodies under a mask has the least price of `cost`
    /// for each of them, as [`BootstrapPlan::for_batch`] chooses.
    ///
    /// # Errors
    /// As [`BootstrapPlan::for_batch`]; those of `cost`.
    pub(in crate::circuits) fn fastest_bodies(
        params: &Params,
        polys: usize,
        options: BootstrapOptions,
        cost: impl Fn(&Self) -> Result<Cost, CkksError>,
    ) -> Result<Self, CkksError> {
        let alone = Self::with_options(params, BootstrapOptions { bodies: 1, ..options })?;
        let given =
            params.spec().bootstrap_key_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let most = options.most_key_bytes.or(given).unwrap_or(BATCH_KEYS * alone.key_bytes()?);
        let own = |plan: &Self| -> Result<BatchCost, CkksError> {
            let Cost { nanoseconds, price, .. } = cost(plan)?;
            Ok(BatchCost { bodies: plan.bodies, nanoseconds, price, key_bytes: plan.key_bytes()? })
        };
        let mut costs = vec![own(&alone)?];
        let mut best = alone;
        let most_bodies = polys.next_power_of_two().min(MOST_BODIES);
        let mut bodies = 2;
        while bodies <= most_bodies {
            let plan = match Self::with_options(
                params,
                BootstrapOptions { bodies, most_key_bytes: Some(most), ..options },
            ) {
                // More bodies are less secure and have larger keys, so the first that do not fit are the last
                // to be tried.
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

    /// What was priced for a batch: for each number of bodies the time of a polynomial and the keys.
    #[must_use]
    pub fn batch_costs(&self) -> &[BatchCost] {
        self.batch.as_ref().map_or(&[], |(_, costs)| costs)
    }

    /// One round, with keys that fit into the limit.
    fn within_key_limit(params: &Params, options: BootstrapOptions) -> Result<Self, CkksError> {
        let given =
            params.spec().bootstrap_key_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        match options.most_key_bytes.or(given) {
            None => Self::one_round(params, options),
            Some(most) => within(most, options, |options| Self::one_round(params, options)),
        }
    }

    /// Bytes of all keys in memory.
    pub fn key_bytes(&self) -> Result<usize, CkksError> {
        self.params.required_keys(self.known_needs()?)?.bytes(&self.params)
    }

    /// Gives the linear maps fewer keys, one map at a time, where a saved byte costs the least time, until
    /// all keys take at most `most` bytes or no map has fewer. Returns the bytes.
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

/// Refuses more bodies under a mask than keys of the highest level protect, and those of the sparse secrets.
fn check_bodies(params: &Params, bodies: usize) -> Result<(), CkksError> {
    if !(2..=MOST_BODIES).contains(&bodies) {
        return Ok(());
    }
    let element = GaloisElement::conjugation(params.degree());
    params
        .key_definition(KeyName::Automorphism { secret: SecretName::Bodies(bodies), element })?
        .check_security(params.max_level())?;
    if params.encapsulation().is_some() {
        let (from, to) = (SecretName::Bodies(bodies), SecretName::EphemeralBodies(bodies));
        params
            .key_definition(KeyName::Switch(Switch::ChangeSecret { from, to }))?
            .check_security(Level(0))?;
    }
    Ok(())
}

/// The slots of the transforms for few slots; absent where there is no choice.
fn transform_slots(params: &Params, options: BootstrapOptions) -> Option<usize> {
    let all = params.slot_count();
    let few =
        options.slots.filter(|&slots| slots < all && options.transform_slots.is_none() && !options.half);
    let Some(slots) = few else { return options.transform_slots };
    if StageLevels::new(params).is_ok_and(|levels| levels.slots_last()) {
        return Some(all);
    }
    // What the options say of numbers, rounds and accuracy has no part in the choice.
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
        let plan = BootstrapPlan::within_key_limit(params, own)?;
        Ok((plan.dry_run()?.cost().price, -plan.predicted_error()?.deviation().log2()))
    };
    match (plan(slots), plan(all)) {
        (Ok((own_time, own_bits)), Ok((all_time, all_bits)))
            if own_time <= SLOWER * all_time && own_bits + WORTHWHILE_BITS > all_bits =>
        {
            Some(slots)
        }
        (_, Ok(_)) => Some(all),
        // Neither can be: the error to tell is that of the transforms with the least keys.
        (_, Err(_)) => {
            let least = |transform_slots: usize| {
                let own = BootstrapOptions { transform_slots: Some(transform_slots), ..options };
                least_key_bytes(params, own).unwrap_or(usize::MAX)
            };
            Some(if least(all) < least(slots) { all } else { slots })
        }
    }
}

/// The bytes of the fewest keys that any plan has.
fn least_key_bytes(params: &Params, options: BootstrapOptions) -> Result<usize, CkksError> {
    let one = |raise_keys: bool| {
        BootstrapPlan::one_round(params, BootstrapOptions { raise_keys, ..options })?.limit_keys(0)
    };
    Ok(if options.raise_keys { one(true)?.min(one(false)?) } else { one(false)? })
}

/// The faster one of the plans with and without keys that raise the modulus, each with as many rotation keys
/// as `most` bytes allow.
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
