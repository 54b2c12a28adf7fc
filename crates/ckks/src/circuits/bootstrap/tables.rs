//! The tables of a bootstrap's steps: linear maps with their levels and scales, the lift of the raise, and
//! the modular reduction.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_arith::text::counted;
use clathrate_lattice::{Basis, Level, Raise};

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
use crate::parameters::{KeyModulus, KeySwitching, Params, StageLevels};

/// The default degree of the cosine's polynomial. Of 8 levels for the modular reduction, it leaves three
/// double angles.
const COSINE_DEGREE: usize = 30;

/// The minimum bits by which the raise multiplies a ciphertext, so that the noise of the change to the main
/// secret is small against the message.
const GUARD_BITS: f64 = 4.0;

/// The minimum accuracy of the modular reduction without noise, in bits, for the worst message.
const MIN_BITS: f64 = 10.0;

/// The modular reduction for secrets of weight `weight`, with a probability of failure of at most
/// `2^log2_failure`.
///
/// # Errors
/// [`CkksError::Unsupported`] if its approximation is poor; the errors of [`ModularReduction::new`].
pub(super) fn reduction_for(
    params: &Params,
    levels: &StageLevels,
    options: &BootstrapOptions,
    (weight, log2_failure): (usize, f64),
) -> Result<ModularReduction, CkksError> {
    let range = options.range.unwrap_or_else(|| least_range(weight, params.degree(), log2_failure));
    let degree = options.degree.unwrap_or(COSINE_DEGREE);
    // With an arcsine, the message has the canonical scale of the level below the application.
    let ratio = params.log2_q(Level(0)).exp2() / params.scale(Level(levels.start.0.saturating_sub(1)));
    let arcsine = options.arcsine.map(|degree| (degree, ratio));
    let reduction = ModularReduction::new(params, (levels.slots, levels.reduced), range, degree, arcsine)?;
    let (_, worst) = reduction.approximation_error(1.0, |_| 1.0);
    if options.range.is_none() && (worst.is_nan() || -worst.log2() < MIN_BITS) {
        let reason = format!(
            "for integer parts below {range}, a polynomial of degree {} and {} leave {:.1} bits at a ratio of 2^{:.1}, at least {MIN_BITS} are needed: \
             make the segment \"{REDUCTION}\" longer or its scale larger, or use a smaller `ephemeral_weight`",
            reduction.cosine().polynomial().degree(),
            counted(reduction.doublings(), "double angle"),
            -worst.log2(),
            reduction.ratio().log2()
        );
        return Err(CkksError::not_bootstrappable(&params.spec().name, reason));
    }
    Ok(reduction)
}

/// The factors of one transform, which candidates for a plan share.
type SharedMaps = Arc<[Arc<LinearTransform>]>;

/// The factors of transforms that were computed so far. Candidates for a plan share them: each takes as long
/// as the rest of a plan, and tens of megabytes. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(in crate::circuits) struct Factors(Arc<Mutex<BTreeMap<(Product, usize), SharedMaps>>>);

/// What some factors of a transform multiply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Product {
    /// The transform from slots to coefficients, as so many factors.
    ToCoefficients(usize),
    /// Its inverse, as so many factors.
    ToSlots(usize),
    /// The first layers of the inverse, as one factor.
    FirstToSlots(u32),
    /// The layers after so many, as so many factors.
    RestToSlots(u32, usize),
}

impl Factors {
    /// The factors of the transform of `slots` slots, the first one first.
    fn of(&self, product: Product, slots: usize) -> Result<SharedMaps, CkksError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&(product, slots)) {
            return Ok(known.clone());
        }
        let made = match product {
            Product::ToCoefficients(count) => dft::slots_to_coefficients(slots, count)?,
            Product::ToSlots(count) => dft::coefficients_to_slots(slots, count)?,
            Product::FirstToSlots(layers) => vec![dft::first_to_slots(slots, layers)?],
            Product::RestToSlots(layers, count) => dft::rest_to_slots(slots, layers, count)?,
        };
        let made: Arc<[_]> = made.into_iter().map(Arc::new).collect();
        known.insert((product, slots), made.clone());
        Ok(made)
    }
}

/// The inputs from which the linear maps of a plan follow.
pub(super) struct Maps<'p> {
    pub(super) factors: &'p Factors,
    pub(super) params: &'p Params,
    pub(super) levels: &'p StageLevels,
    pub(super) transform_slots: usize,
    pub(super) options: &'p BootstrapOptions,
}

impl Maps<'_> {
    /// The maps of slots-to-coefficients. Their output scale is `message_scale` if they end at level 0.
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
        let maps = self.factors.of(Product::ToCoefficients(count), slots)?;
        let level = Level(maps.len() + end);
        plan_factors(params, &maps, level, scales, self.options.bodies)
    }

    /// The raise, and the maps from coefficients to slots after it. For the raised phase `v` the maps put `v`
    /// divided by `unit` in slots, at half the canonical scale, because the sum with the conjugate doubles
    /// it.
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
        let (raise, maps) = match params.key_switching(KeyModulus::Raise).ok().filter(|_| mapped) {
            Some(own) => self.mapped(own, (steps, output_scale), unit)?,
            None => self.plain(steps, unit)?,
        };
        let scales = (raise.scale, output_scale);
        let maps = plan_factors(params, &maps, raise.level, scales, self.options.bodies)?;
        Ok((raise, maps))
    }

    /// The raise by keys that also apply the first map, and the other maps.
    fn mapped(
        &self,
        raise_keys: &KeySwitching,
        (steps, output_scale): (usize, f64),
        unit: f64,
    ) -> Result<(ModRaise, SharedMaps), CkksError> {
        let (params, input, slots) = (self.params, self.levels.slots, self.transform_slots);
        let chain = raise_keys.switcher.chain();
        let log2_step = Basis::new(chain.step(chain.max_level())).log2(chain.ring());
        let layers = slots.trailing_zeros().div_ceil(steps as u32 + 1);
        let first = self.factors.of(Product::FirstToSlots(layers), slots)?;
        let rest = self.factors.of(Product::RestToSlots(layers, steps), slots)?;
        // All factors get relative rounding errors of one size: b_k - w_k is equal for all factors, where b_k
        // are the bits at which the diagonals of a factor are rounded and w_k those of its rounding weight.
        // The bits of the first factor are those of the step and of the growth of the scale.
        let divided =
            (1..=rest.len()).map(|index| params.step_product(Level(input.0 + index)).log2()).sum::<f64>();
        let weights = rest.iter().chain(&*first).map(|factor| rounding_weight(factor).log2()).sum::<f64>();
        let each =
            (log2_step + divided + output_scale.log2() - unit.log2() - weights) / (rest.len() + 1) as f64;
        // The mod-down of the raise rounds at the raised scale, so the message must be larger there than at
        // level 0.
        let log2_scale = (each + rounding_weight(&first[0]).log2()).max(log2_step + GUARD_BITS).ceil();
        let bodies = self.options.bodies;
        let map = RaisedMap { slots, layers, log2_scale: log2_scale as u32, bodies };
        let raise = ModRaise {
            method: RaiseMethod::Mapped(Box::new(RaisedTransform::new(params, map, &first[0])?)),
            level: Level(input.0 + steps),
            scale: (unit.log2() + log2_scale - log2_step).exp2(),
        };
        Ok((raise, rest))
    }

    /// The raise by the lift alone, and all maps. A sum into a subring multiplies the phase by the number of
    /// terms.
    fn plain(&self, steps: usize, unit: f64) -> Result<(ModRaise, SharedMaps), CkksError> {
        let (params, chain) = (self.params, self.params.chain());
        let maps = self.factors.of(Product::ToSlots(steps), self.transform_slots)?;
        let level = Level(self.levels.slots.0 + maps.len());
        let guard = GUARD_BITS.exp2();
        let terms = (params.slot_count() / self.transform_slots) as f64;
        let lift = Raise::new(chain.ring(), &chain.basis(Level(0)), &chain.basis(level))?;
        let method = RaiseMethod::Plain { lift: Box::new(lift), guard: guard as i128 };
        Ok((ModRaise { method, level, scale: unit * guard * terms }, maps))
    }
}
