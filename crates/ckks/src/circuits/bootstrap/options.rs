//! What a plan of a bootstrap may choose, and the choices that are refused.

use clathrate_arith::text::counted;

use super::failure::MOST_WEIGHT;
use crate::error::CkksError;
use crate::parameters::{LOG2_FAILURE, Params, StageLevels};

/// The most bodies under one mask: keys of more are larger than any machine's memory at secure degrees.
pub(super) const MOST_BODIES: usize = 64;

/// What a plan of a bootstrap may choose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapOptions {
    /// Slots of each polynomial, a power of two; absent for all.
    pub slots: Option<usize>,
    /// Slots of the linear transforms, a power of two from `slots` up: numbers repeat in more slots than the
    /// array has. Absent for the better of `slots` and all, see
    /// [`BootstrapPlan::with_options`](super::BootstrapPlan::with_options). Half bootstraps take `slots`.
    pub transform_slots: Option<usize>,
    /// Whether numbers are real: half the work of the modular reduction, where slots-to-coefficients comes
    /// first.
    pub real: bool,
    /// Whether the circuit starts from coefficients at level 0
    /// ([`Evaluator::half_bootstrap`](crate::Evaluator::half_bootstrap)) and leaves slots-to-coefficients
    /// out, with its keys. Rounds need the whole circuit.
    pub half: bool,
    /// Polynomials that share a mask in the linear maps, from 1 to 64: those of m polynomials take (m + 1) /
    /// 2m of the products of as many maps of one, and have keys of half as many times the bytes. Fewer
    /// polynomials take the time of so many in these maps. [pcmm-mambo, sec. 6.2]
    pub bodies: usize,
    /// Whether slots-to-coefficients ends at level 1, so that a product with a known matrix can follow
    /// ([`MamboPlan`](crate::circuits::mambo::MamboPlan)). It has a factor less then, and masks come apart
    /// there.
    pub product: bool,
    /// Binary logarithm of the largest probability that the bootstrap of one polynomial fails; absent for
    /// that of the parameters
    /// ([`ParamsSpec::bootstrap_log2_failure`](crate::ParamsSpec::bootstrap_log2_failure)), or -128.
    pub log2_failure: Option<f64>,
    /// The range of the modular reduction in place of the one that follows from the probability: for tests of
    /// failures.
    pub range: Option<usize>,
    /// Degree of the cosine's polynomial; absent for 30.
    pub degree: Option<usize>,
    /// Degree of a polynomial of the arcsine that follows the double angles, an odd number from 3 to 15;
    /// absent for none. It takes away the error of the sine, which is cubic in the message, and takes 2 to 4
    /// levels of the modular reduction.
    pub arcsine: Option<usize>,
    /// Rounds: the second bootstraps what the first one left as error, multiplied by a power of two, and so
    /// on. Each further round takes the time of a bootstrap and one level, and adds its precision to that of
    /// the rounds before, up to what the application's scale can hold. Absent for as many as
    /// [`BootstrapPlan::with_options`](super::BootstrapPlan::with_options) says.
    pub rounds: Option<usize>,
    /// Whether keys that raise the modulus apply the first map from coefficients to slots as well, where the
    /// parameters have such keys and all slots are used: faster and without a level, for a key of many
    /// polynomials.
    pub raise_keys: bool,
    /// The most bytes that all keys of the bootstrap may take in memory; files take less, because masks are
    /// seeds there. The linear maps then use fewer rotation keys, up to two or three for each. Absent for the
    /// limit of the parameters ([`ParamsSpec::bootstrap_key_bytes`](crate::ParamsSpec::bootstrap_key_bytes)),
    /// or none.
    pub most_key_bytes: Option<usize>,
}

impl Default for BootstrapOptions {
    fn default() -> Self {
        Self {
            slots: None,
            transform_slots: None,
            real: false,
            half: false,
            bodies: 1,
            product: false,
            log2_failure: None,
            range: None,
            degree: None,
            arcsine: None,
            rounds: None,
            raise_keys: true,
            most_key_bytes: None,
        }
    }
}

/// What a number of bodies under a mask takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchCost {
    /// Polynomials that share a mask in the linear maps.
    pub bodies: usize,
    /// Predicted nanoseconds of each polynomial of the batch, one thread.
    pub nanoseconds: f64,
    /// The same by the prices that plans compare ([`Cost::price`](crate::keys::Cost::price)).
    pub price: f64,
    /// Bytes of all keys in memory.
    pub key_bytes: usize,
}

/// Options that parameters allow, with what follows from both.
pub(super) struct Checked {
    pub(super) levels: StageLevels,
    pub(super) slots: usize,
    pub(super) transform_slots: usize,
    /// The weight of the secret that the modulus is raised under.
    pub(super) weight: usize,
    pub(super) log2_failure: f64,
}

impl BootstrapOptions {
    /// Refuses what these parameters do not allow.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a number outside its range; [`CkksError::NotBootstrappable`] for a
    /// combination of options, or parameters, that have no bootstrap.
    pub(super) fn check(&self, params: &Params) -> Result<Checked, CkksError> {
        let refuse =
            |reason: String| Err(CkksError::NotBootstrappable { params: params.spec().name.clone(), reason });
        let beyond = |what: &'static str, value: String, remedy: String| {
            Err(CkksError::OutOfRange { what, value, remedy })
        };
        if params.rank() != 1 {
            return refuse(format!("the rank is {}: convert to rank 1 with to_rlwe first", params.rank()));
        }
        let (levels, all) = (StageLevels::new(params)?, params.slot_count());
        let slots = self.slots.unwrap_or(all);
        if !slots.is_power_of_two() || slots > all {
            let remedy = format!("use a power of two from 1 to {all}");
            return beyond("the number of slots of a bootstrap", slots.to_string(), remedy);
        }
        let transform_slots = self.transform_slots.unwrap_or(slots);
        let allowed = if self.half { slots..=slots } else { slots..=all };
        if !transform_slots.is_power_of_two() || !allowed.contains(&transform_slots) {
            let remedy = if self.half {
                format!("use {slots}, those of the array: half bootstraps have no numbers that repeat")
            } else {
                format!("use a power of two from {slots} to {all}")
            };
            return beyond("the slots of a bootstrap's transforms", transform_slots.to_string(), remedy);
        }
        if !(1..=MOST_BODIES).contains(&self.bodies) {
            let remedy = format!("use 1 to {MOST_BODIES}");
            return beyond("the bodies under one mask of a bootstrap", self.bodies.to_string(), remedy);
        }
        if self.product && self.half {
            return refuse(
                "half a bootstrap starts behind the product: leave out `product` or `half`".to_owned(),
            );
        }
        if self.product && (levels.slots_last() || levels.start.0 < 2) {
            return refuse(format!(
                "a product inside the bootstrap needs slots-to-coefficients first, with two levels or more below the application, and these parameters have {}",
                if levels.slots_last() { "that last".to_owned() } else { counted(levels.start.0, "level") }
            ));
        }
        let weight = match (params.encapsulation(), params.spec().secret_weight) {
            (Some(encapsulation), _) => encapsulation.weight,
            (None, Some(weight)) => weight,
            (None, None) => {
                return refuse("the secret is uniform and there is no ephemeral sparse secret: set `ephemeral_weight`, e.g. 32".to_owned());
            }
        };
        if weight > MOST_WEIGHT {
            return refuse(format!(
                "secrets of weight {weight} need too wide a range: use a weight of at most {MOST_WEIGHT}"
            ));
        }
        let log2_failure = self.log2_failure.or(params.spec().bootstrap_log2_failure).unwrap_or(LOG2_FAILURE);
        if !(log2_failure.is_finite() && log2_failure < 0.0) {
            let remedy = "give a negative number, the binary logarithm of a probability".to_owned();
            return beyond("log2_failure", log2_failure.to_string(), remedy);
        }
        Ok(Checked { levels, slots, transform_slots, weight, log2_failure })
    }
}
