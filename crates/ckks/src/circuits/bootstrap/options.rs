//! The options of a plan of a bootstrap, and their checks.

use clathrate_arith::text::counted;

use super::failure::MAX_WEIGHT;
use crate::error::CkksError;
use crate::parameters::{LOG2_FAILURE, Params, StageLevels};

/// The maximum number of bodies under one mask. At secure degrees, keys of more bodies would not fit the
/// memory of any machine.
pub(super) const MAX_BODIES: usize = 64;

/// The options of a plan of a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapOptions {
    /// The number of slots of each polynomial, a power of two; absent for all.
    pub slots: Option<usize>,
    /// The number of slots of the linear transforms, a power of two from `slots` up. In more slots than the
    /// array has, numbers repeat. Absent for the better of `slots` and all slots, see
    /// [`BootstrapPlan::with_options`](super::BootstrapPlan::with_options). Half bootstraps take `slots`.
    pub transform_slots: Option<usize>,
    /// Whether numbers are real. This halves the work of the modular reduction, unless the bootstrap ends
    /// with slots-to-coefficients.
    pub real: bool,
    /// Whether the circuit starts from coefficients at level 0
    /// ([`BootstrapPlan::run_half`](crate::BootstrapPlan::run_half)). It then lacks slots-to-coefficients
    /// and its keys, and has one round.
    pub half: bool,
    /// The number of polynomials that share a mask in the linear maps, from 1 to 64. Maps of m polynomials
    /// take (m + 1) / 2m of the products of m separate maps, and keys of about m / 2 times the bytes. Fewer
    /// polynomials take the time of m in these maps. [pcmm-mambo, sec. 6.2]
    pub bodies: usize,
    /// Whether slots-to-coefficients ends at level 1, so that a product with a known matrix can follow
    /// ([`MamboPlan`](crate::circuits::mambo::MamboPlan)). It then has one factor less, and splits shared
    /// masks before the product.
    pub product: bool,
    /// Binary logarithm of the largest probability of failure for one polynomial; absent for that of the
    /// parameters ([`ParamsSpec::bootstrap_log2_failure`](crate::ParamsSpec::bootstrap_log2_failure)), or
    /// -128.
    pub log2_failure: Option<f64>,
    /// The range of the modular reduction, for tests of failures; absent for the range that follows from the
    /// probability of failure.
    pub range: Option<usize>,
    /// The degree of the cosine's polynomial; absent for 30.
    pub degree: Option<usize>,
    /// The degree of a polynomial of the arcsine after the double angles, an odd number from 3 to 15; absent
    /// for none. The arcsine removes the error of the sine, which is cubic in the message. It takes 2 to 4
    /// levels of the modular reduction.
    pub arcsine: Option<usize>,
    /// The number of rounds. The second round bootstraps the error of the first, multiplied by a power of
    /// two, and so on. Each further round takes the time of a bootstrap and one level. It adds its precision
    /// to that of the rounds before, up to the precision of the application's scale. Absent for the number
    /// that [`BootstrapPlan::with_options`](super::BootstrapPlan::with_options) chooses.
    pub rounds: Option<usize>,
    /// Whether keys that raise the modulus also apply the first map from coefficients to slots, if the
    /// parameters have such keys and the transforms have all slots. That is faster and saves a level, but
    /// needs a key of many polynomials.
    pub raise_keys: bool,
    /// The maximum bytes of all keys of the bootstrap in memory; files are smaller, because seeds replace the
    /// masks. To meet the limit, the linear maps use fewer rotation keys, at least two or three each. Absent
    /// for the limit of the parameters
    /// ([`ParamsSpec::bootstrap_key_bytes`](crate::ParamsSpec::bootstrap_key_bytes)), or none.
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

/// The cost of a number of bodies under a mask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchCost {
    /// The number of polynomials that share a mask in the linear maps.
    pub bodies: usize,
    /// Predicted nanoseconds per polynomial of the batch, on one thread.
    pub nanoseconds: f64,
    /// The same in the prices that plans compare ([`Cost::price`](crate::keys::Cost::price)).
    pub price: f64,
    /// Bytes of all keys in memory.
    pub key_bytes: usize,
}

/// Checked options, and what follows from them and the parameters.
pub(super) struct Checked {
    pub(super) levels: StageLevels,
    pub(super) slots: usize,
    pub(super) transform_slots: usize,
    /// The weight of the secret under which the modulus is raised.
    pub(super) weight: usize,
    pub(super) log2_failure: f64,
}

impl BootstrapOptions {
    /// Refuses options that these parameters do not allow.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a number outside its range; [`CkksError::Unsupported`] for a
    /// combination of options, or parameters, without a bootstrap.
    pub(super) fn check(&self, params: &Params) -> Result<Checked, CkksError> {
        let refuse = |reason: String| Err(CkksError::not_bootstrappable(&params.spec().name, reason));
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
        if !(1..=MAX_BODIES).contains(&self.bodies) {
            let remedy = format!("use 1 to {MAX_BODIES}");
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
        let weight = match (params.ephemeral_weight(), params.spec().secret_weight) {
            (Some(weight), _) | (None, Some(weight)) => weight,
            (None, None) => {
                return refuse("the secret is uniform and there is no ephemeral sparse secret: set `ephemeral_weight`, e.g. 32".to_owned());
            }
        };
        if weight > MAX_WEIGHT {
            return refuse(format!(
                "secrets of weight {weight} need too wide a range: use a weight of at most {MAX_WEIGHT}"
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
