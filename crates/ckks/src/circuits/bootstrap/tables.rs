//! The tables of a bootstrap's steps: linear maps with their levels and scales, the lift of the raise, the
//! modular reduction.

use clathrate_arith::text::counted;
use clathrate_lattice::{Level, Raise};

use super::REDUCTION;
use super::eval_mod::ModularReduction;
use super::failure::least_range;
use super::options::BootstrapOptions;
use super::raise::{ModRaise, RaiseMethod, RaisedTransform};
use crate::circuits::linear::factors::{plan_factors, rounding_weight};
use crate::circuits::linear::{LinearTransform, LinearTransformPlan};
use crate::encoding::dft;
use crate::error::CkksError;
use crate::keys::RaisedMap;
use crate::parameters::{MappedRaise, Params, StageLevels};

/// Degree of the cosine's polynomial: with 8 levels for the modular reduction, three double angles remain.
const COSINE_DEGREE: usize = 30;

/// Least bits by which the raised ciphertext is multiplied, so that the noise of the change to the main
/// secret is small against the message.
const GUARD_BITS: f64 = 4.0;

/// Least accuracy of the modular reduction without noise, in bits of the worst message.
const LEAST_BITS: f64 = 10.0;

/// The modular reduction for secrets of a weight, which fails with a given probability at most.
///
/// # Errors
/// [`CkksError::NotBootstrappable`] where its approximation is poor; as [`ModularReduction::new`].
pub(super) fn reduction_for(
    params: &Params,
    levels: &StageLevels,
    options: &BootstrapOptions,
    (weight, log2_failure): (usize, f64),
) -> Result<ModularReduction, CkksError> {
    let range = options.range.unwrap_or_else(|| least_range(weight, params.degree(), log2_failure));
    let degree = options.degree.unwrap_or(COSINE_DEGREE);
    // With an arcsine the message is at the nominal scale of the lowest segment.
    let ratio = params.log2_q(Level(0)).exp2() / params.scale(Level(levels.start.0.saturating_sub(1)));
    let arcsine = options.arcsine.map(|degree| (degree, ratio));
    let reduction = ModularReduction::new(params, (levels.slots, levels.reduced), range, degree, arcsine)?;
    let (_, worst) = reduction.approximation_error(1.0, |_| 1.0);
    if options.range.is_none() && (worst.is_nan() || -worst.log2() < LEAST_BITS) {
        let reason = format!(
            "for integer parts below {range}, a polynomial of degree {} and {} leave {:.1} bits at a ratio of 2^{:.1}, at least {LEAST_BITS} are needed: \
             make the segment \"{REDUCTION}\" longer or its scale larger, or use a smaller `ephemeral_weight`",
            reduction.cosine().polynomial().degree(),
            counted(reduction.doublings(), "double angle"),
            -worst.log2(),
            reduction.ratio().log2()
        );
        return Err(CkksError::NotBootstrappable { params: params.spec().name.clone(), reason });
    }
    Ok(reduction)
}

/// What the linear maps of a plan follow from.
pub(super) struct Maps<'p> {
    pub(super) params: &'p Params,
    pub(super) levels: &'p StageLevels,
    pub(super) transform_slots: usize,
    pub(super) options: &'p BootstrapOptions,
}

impl Maps<'_> {
    /// The maps of slots-to-coefficients, which end at `message_scale` where level 0 follows them.
    pub(super) fn to_coefficients(&self, message_scale: f64) -> Result<Vec<LinearTransformPlan>, CkksError> {
        let (params, levels, slots) = (self.params, self.levels, self.transform_slots);
        if self.options.half {
            return Ok(Vec::new());
        }
        let (count, end, scales) = if levels.slots_last() {
            // From the level after the modular reduction to the application's highest.
            let scales = (params.scale(levels.reduced), params.scale(levels.end));
            (levels.reduced.0 - levels.end.0, levels.end.0, scales)
        } else {
            // From the application's lowest level to level 0, or to level 1 where a product follows.
            let end = usize::from(self.options.product);
            let output = if self.options.product { params.scale(Level(1)) } else { message_scale };
            (levels.start.0 - end, end, (params.scale(levels.start), output))
        };
        let maps = dft::slots_to_coefficients(slots, count)?;
        plan_factors(params, &maps, Level(maps.len() + end), scales, self.options.bodies)
    }

    /// The raise, and the maps from coefficients to slots behind it. Of the raised phase `v`, `v / unit` is
    /// to be in slots, and half of it for the sum with the conjugate.
    pub(super) fn raise_and_to_slots(
        &self,
        unit: f64,
    ) -> Result<(ModRaise, Vec<LinearTransformPlan>), CkksError> {
        let (params, input) = (self.params, self.levels.slots);
        let steps = params.max_level().0 - input.0;
        let output_scale = params.scale(input) / 2.0;
        let mapped = self.options.raise_keys
            && self.transform_slots == params.slot_count()
            && (self.transform_slots.trailing_zeros() as usize) > steps;
        let (raise, maps) = match params.mapped_raise().filter(|_| mapped) {
            Some(own) => self.mapped(own, (steps, output_scale), unit)?,
            None => self.plain(steps, unit)?,
        };
        let scales = (raise.scale, output_scale);
        let maps = plan_factors(params, &maps, raise.level, scales, self.options.bodies)?;
        Ok((raise, maps))
    }

    /// The raise by keys that apply the first map as well, and the other maps.
    fn mapped(
        &self,
        mapped_raise: &MappedRaise,
        (steps, output_scale): (usize, f64),
        unit: f64,
    ) -> Result<(ModRaise, Vec<LinearTransform>), CkksError> {
        let (params, input, slots) = (self.params, self.levels.slots, self.transform_slots);
        let layers = slots.trailing_zeros().div_ceil(steps as u32 + 1);
        let (first, rest) = (dft::first_to_slots(slots, layers)?, dft::rest_to_slots(slots, layers, steps)?);
        // All factors get relative rounding errors of one size: b_k - w_k is equal for all, with b_k the bits
        // at which a factor's diagonals are rounded and w_k those of its rounding weight. The first factor's
        // bits are those of the step and of the growth of the scale.
        let divided =
            (1..=rest.len()).map(|index| params.step_product(Level(input.0 + index)).log2()).sum::<f64>();
        let weights = rest.iter().chain([&first]).map(|factor| rounding_weight(factor).log2()).sum::<f64>();
        let each = (mapped_raise.log2_step + divided + output_scale.log2() - unit.log2() - weights)
            / (rest.len() + 1) as f64;
        // The mod-down of the raise rounds at the raised scale, so the message must be larger there than it
        // was at level 0.
        let log2_scale =
            (each + rounding_weight(&first).log2()).max(mapped_raise.log2_step + GUARD_BITS).ceil();
        let bodies = self.options.bodies;
        let map = RaisedMap { slots, layers, log2_scale: log2_scale as u32, bodies };
        let raise = ModRaise {
            method: RaiseMethod::Mapped(Box::new(RaisedTransform::new(params, map)?)),
            level: Level(input.0 + steps),
            scale: (unit.log2() + log2_scale - mapped_raise.log2_step).exp2(),
        };
        Ok((raise, rest))
    }

    /// The lift alone, and all maps. A sum into a subring multiplies the phase by the number of terms.
    fn plain(&self, steps: usize, unit: f64) -> Result<(ModRaise, Vec<LinearTransform>), CkksError> {
        let (params, chain) = (self.params, self.params.chain());
        let maps = dft::coefficients_to_slots(self.transform_slots, steps)?;
        let level = Level(self.levels.slots.0 + maps.len());
        let guard = GUARD_BITS.exp2();
        let terms = (params.slot_count() / self.transform_slots) as f64;
        let lift = Raise::new(chain.ring(), &chain.basis(Level(0)), &chain.basis(level))?;
        let method = RaiseMethod::Plain { lift: Box::new(lift), guard: guard as i128 };
        Ok((ModRaise { method, level, scale: unit * guard * terms }, maps))
    }
}
