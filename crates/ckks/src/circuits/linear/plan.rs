//! The plan of a linear transform: its baby steps and giant steps, its level and scales.
//!
//! ```text
//! sum_s d_s rot_s(x) = sum_g rot_g( sum_b rot_(-g)(d_(g+b)) rot_b(x) )
//! ```
//!
//! A baby step multiplies the shared digits of `x` by a key. A giant step divides the mask of its inner sum
//! by the special modulus, decomposes it and multiplies it by a key. The plan tries every power of two as the
//! number of baby steps per giant step.
//!
//! Iterated rotations need only two keys: each baby step rotates the previous one again, and Horner's rule
//! adds the inner sums. If the shifts do not start at 0, a third key rotates the input to the first shift.
//! Every step is then a complete switch, so this takes longer.
//!
//! The plan has the least predicted time among all that respect the limits on keys and their bytes. Source:
//! the iteration is MinKS [ARK: Kim et al., MICRO 2022, sec. IV].

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use clathrate_arith::text::counted;
use clathrate_lattice::{Level, PackedPlaintexts};
use serde::{Deserialize, Serialize};

use super::{LINEAR, LinearTransform};
use crate::arrays::{BodyAxis, Ciphertext, Encoding, Layout, SecretName};
use crate::encoding::check_headroom;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::levels::same_scale;
use crate::evaluation::recording::{Keeping, Recording};
use crate::keys::{Cost, KeyNeeds, TransformCosts};
use crate::parameters::Params;

/// Options of a plan of a linear transform.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinearTransformOptions {
    /// The scale of the result; `None` for the canonical scale of its level.
    pub output_scale: Option<f64>,
    /// The scale of the input; `None` for the canonical scale of its level.
    pub input_scale: Option<f64>,
    /// Maximum number of rotation keys; `None` for the fastest plan.
    pub most_keys: Option<usize>,
    /// Maximum bytes of the plan's rotation keys in memory, for keys of its level; `None` for the fastest
    /// plan.
    pub most_key_bytes: Option<usize>,
    /// Whether diagonals are encoded again for each use instead of kept: less memory, more time.
    pub on_the_fly: bool,
    /// Number of bodies that share the mask of the inputs, which affects the balance of baby and giant steps;
    /// 1 if `None`.
    pub bodies: Option<usize>,
}

/// Identifies one of the possible plans of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RotationSteps {
    /// Baby steps per giant step, as multiples of the largest power of two that divides all shifts.
    pub(crate) baby_steps: usize,
    /// Whether rotations are iterated.
    pub(crate) iterated: bool,
}

/// One diagonal of a giant step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    /// Index of the baby step that the diagonal multiplies.
    pub(super) baby: usize,
    /// The shift of the diagonal.
    pub(super) shift: usize,
}

/// A giant step: an inner sum, rotated left by `steps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) steps: i64,
    pub(super) terms: Vec<Term>,
}

impl Step {
    /// The indices of the baby steps that its diagonals multiply.
    pub(super) fn inputs(&self) -> Vec<usize> {
        self.terms.iter().map(|term| term.baby).collect()
    }
}

/// Iterated rotations. Baby steps are all multiples of `baby` from 0 on; giant steps are ascending multiples
/// of `giant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Iteration {
    /// The rotation of the input before all other rotations.
    pub(super) first: i64,
    /// The rotation from one baby step to the next.
    pub(super) baby: i64,
    /// The rotation from one giant step to the next.
    pub(super) giant: i64,
}

/// The encoded diagonals of each giant step, by the indices of the primes of their basis.
pub(super) type EncodedSteps = HashMap<Vec<usize>, Arc<Vec<PackedPlaintexts>>>;

/// The circuit of one linear transform for inputs of one level and scale. It takes one level.
#[derive(Debug)]
pub struct LinearTransformPlan {
    pub(super) params: Params,
    pub(super) transform: Arc<LinearTransform>,
    pub(super) level: Level,
    input_scale: f64,
    output_scale: f64,
    /// Rotations of the input, including 0 if it is used.
    pub(super) babies: Vec<i64>,
    pub(super) giants: Vec<Step>,
    pub(super) rotation_steps: RotationSteps,
    /// The iterated rotations; `None` if baby steps share a decomposition instead.
    pub(super) iteration: Option<Iteration>,
    /// Bytes of one rotation key of this level in memory.
    key_bytes: usize,
    /// The minimum number of keys of any plan of this map.
    fewest_keys: usize,
    /// Predicted price of the rotations, by which plans are compared.
    price: f64,
    /// Whether plaintexts are kept.
    pub(super) keeping: Keeping,
    /// Most bytes of plaintexts that are encoded together where they are not kept.
    pub(super) most_at_once: usize,
    /// Tells the plan from others; plans that an evaluator keeps for the same purpose have the same name.
    pub(super) name: [u8; 32],
    /// Number of bodies that share the mask of the inputs.
    pub(super) bodies: usize,
    pub(super) plaintexts: Mutex<EncodedSteps>,
}

/// Most bytes of plaintexts that are encoded together where they are not kept; one giant step may have more.
pub(super) const MOST_AT_ONCE: usize = 1 << 30;

/// The number of plans that this process made.
static PLANS: AtomicU64 = AtomicU64::new(0);

/// One way to split the rotations into baby and giant steps.
struct Split {
    rotation_steps: RotationSteps,
    babies: Vec<i64>,
    giants: Vec<Step>,
    iteration: Option<Iteration>,
}

/// The largest power of two that divides all shifts and the number of slots, a power of two.
fn unit_of(shifts: impl Iterator<Item = usize>, slots: usize) -> usize {
    shifts.filter(|&shift| shift != 0).map(|shift| 1 << shift.trailing_zeros()).min().unwrap_or(slots)
}

impl Split {
    /// Baby steps are multiples of `unit` below `unit * count`, giant steps are multiples of `unit * count`.
    fn new(transform: &LinearTransform, unit: usize, count: usize) -> Self {
        let slots = transform.slots() as i64;
        let width = (unit * count) as i64;
        let mut giants: BTreeMap<i64, Vec<(i64, usize)>> = BTreeMap::new();
        for shift in transform.shifts() {
            let signed = if shift as i64 > slots / 2 { shift as i64 - slots } else { shift as i64 };
            let baby = signed.rem_euclid(width);
            giants.entry((signed - baby).rem_euclid(slots)).or_default().push((baby, shift));
        }
        let mut babies: Vec<i64> = giants.values().flatten().map(|&(baby, _)| baby).collect();
        babies.sort_unstable();
        babies.dedup();
        let index = |baby: i64| babies.partition_point(|&other| other < baby);
        let term = |&(baby, shift): &(i64, usize)| Term { baby: index(baby), shift };
        let giants = giants
            .iter()
            .map(|(&steps, terms)| Step { steps, terms: terms.iter().map(term).collect() })
            .collect();
        Self {
            rotation_steps: RotationSteps { baby_steps: count, iterated: false },
            babies,
            giants,
            iteration: None,
        }
    }

    /// Iterated rotations with `count` baby steps per giant step. Shifts are counted from `first`, in
    /// multiples of `unit`.
    fn iterated(transform: &LinearTransform, unit: usize, first: usize, count: usize) -> Self {
        let slots = transform.slots();
        let mut giants: BTreeMap<usize, Vec<Term>> = BTreeMap::new();
        for shift in transform.shifts() {
            let place = (shift + slots - first * unit) % slots / unit;
            giants.entry(place / count).or_default().push(Term { baby: place % count, shift });
        }
        let used = giants.values().flatten().map(|term| term.baby).max().unwrap_or(0);
        let signed =
            |steps: usize| if steps > slots / 2 { steps as i64 - slots as i64 } else { steps as i64 };
        let babies = (0..=used).map(|baby| (baby * unit) as i64).collect();
        let giants = giants
            .into_iter()
            .map(|(place, terms)| Step { steps: (place * count * unit) as i64, terms })
            .collect();
        let iteration =
            Iteration { first: signed(first * unit), baby: unit as i64, giant: (count * unit) as i64 };
        Self {
            rotation_steps: RotationSteps { baby_steps: count, iterated: true },
            babies,
            giants,
            iteration: Some(iteration),
        }
    }

    /// Rotations that need keys, without duplicates.
    fn rotations(&self) -> Vec<i64> {
        let mut rotations = keyed_steps(&self.babies, &self.giants, self.iteration);
        rotations.sort_unstable();
        rotations.dedup();
        rotations
    }

    fn cost(&self, costs: &TransformCosts) -> Cost {
        let (babies, giants) = switches(&self.babies, &self.giants, self.iteration);
        transform_cost(costs, (babies, giants), self.iteration.is_some())
    }
}

/// The shift, in multiples of `unit`, after the longest cyclic gap between shifts: counted from it, the
/// shifts have the smallest range.
fn first_place(transform: &LinearTransform, unit: usize) -> usize {
    let places: Vec<usize> = transform.shifts().map(|shift| shift / unit).collect();
    let all = transform.slots() / unit;
    let gap =
        |index: usize| (places[index] + all - places[(index + places.len() - 1) % places.len()] - 1) % all;
    (0..places.len())
        .max_by_key(|&index| (gap(index), std::cmp::Reverse(index)))
        .map_or(0, |index| places[index])
}

/// The rotations that need keys.
fn keyed_steps(babies: &[i64], giants: &[Step], iteration: Option<Iteration>) -> Vec<i64> {
    let mut steps: Vec<i64> = match iteration {
        None => babies.iter().copied().chain(giants.iter().map(|giant| giant.steps)).collect(),
        Some(Iteration { first, baby, giant }) => {
            let repeated =
                [(babies.len() > 1, baby), (giants.last().is_some_and(|last| last.steps > 0), giant)];
            repeated.into_iter().filter_map(|(used, steps)| used.then_some(steps)).chain([first]).collect()
        }
    };
    steps.retain(|&steps| steps != 0);
    steps
}

/// Numbers of rotations before and after the products with plaintexts.
fn switches(babies: &[i64], giants: &[Step], iteration: Option<Iteration>) -> (usize, usize) {
    match iteration {
        None => (
            babies.iter().filter(|&&steps| steps != 0).count(),
            giants.iter().filter(|giant| giant.steps != 0).count(),
        ),
        Some(Iteration { first, giant, .. }) => {
            let last = giants.last().map_or(0, |last| last.steps / giant) as usize;
            (babies.len().saturating_sub(1) + usize::from(first != 0), last)
        }
    }
}

/// The cost of the rotations of a transform, including the last mod-down or rescale.
pub(super) fn transform_cost(
    costs: &TransformCosts,
    (babies, giants): (usize, usize),
    iterated: bool,
) -> Cost {
    if iterated {
        let mut cost = costs.switch.times((babies + giants) as f64);
        cost += costs.rescale;
        return cost;
    }
    let mut cost = costs.inner_product.times((babies + giants) as f64);
    cost += costs.decomposition.times((usize::from(babies > 0) + giants) as f64);
    cost += costs.mask_division.times(giants as f64);
    if babies + giants > 0 {
        cost += costs.division;
    }
    cost
}

impl LinearTransform {
    /// The plan for fresh inputs at `level`; the result has the canonical scale of the level below.
    pub fn plan(&self, params: &Params, level: Level) -> Result<LinearTransformPlan, CkksError> {
        self.plan_with(params, level, LinearTransformOptions::default())
    }

    /// The plan for inputs at `level`.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::OutOfRange`] if the parameters have fewer slots
    /// than the map, the map has no diagonal, the limits on keys or bytes are below the minimum, or the
    /// scales leave the diagonals too few bits; [`CkksError::TooLarge`] if the images of numbers of
    /// magnitude 1 overflow; [`CkksError::ScaleOutOfRange`]; `NoSpecialPrimes` if the parameters have no key
    /// switching; level errors.
    pub fn plan_with(
        &self,
        params: &Params,
        level: Level,
        options: LinearTransformOptions,
    ) -> Result<LinearTransformPlan, CkksError> {
        self.plan_shared(params, level, options, None, || Arc::new(self.clone()))
    }

    /// [`LinearTransform::plan_with`] without a copy of the map.
    pub(in crate::circuits) fn plan_of(
        self: &Arc<Self>,
        params: &Params,
        level: Level,
        options: LinearTransformOptions,
    ) -> Result<LinearTransformPlan, CkksError> {
        self.plan_shared(params, level, options, None, || self.clone())
    }

    /// The plan `way`, even if another one is faster.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] if the map has no such plan; those of [`LinearTransform::plan_with`].
    pub(crate) fn plan_by(
        self,
        params: &Params,
        level: Level,
        options: LinearTransformOptions,
        rotation_steps: RotationSteps,
    ) -> Result<LinearTransformPlan, CkksError> {
        let shared = Arc::new(self);
        shared.plan_shared(params, level, options, Some(rotation_steps), || shared.clone())
    }

    /// [`LinearTransform::plan_with`], optionally with a given way; `shared` returns this map.
    fn plan_shared(
        &self,
        params: &Params,
        level: Level,
        options: LinearTransformOptions,
        rotation_steps: Option<RotationSteps>,
        shared: impl FnOnce() -> Arc<Self>,
    ) -> Result<LinearTransformPlan, CkksError> {
        params.check_level(level)?;
        let below = Level(level.0.checked_sub(1).ok_or(CkksError::LevelTooLow {
            operation: LINEAR,
            needed: 1,
            level: 0,
        })?);
        let refuse = |what: &'static str, value: String, remedy: String| {
            Err(CkksError::OutOfRange { what, value, remedy })
        };
        if self.slots() > params.slot_count() {
            let remedy = format!(
                "these parameters have {} slots: take a larger degree, or cut the matrix into blocks",
                params.slot_count()
            );
            return refuse("the number of slots of a linear transform", self.slots().to_string(), remedy);
        }
        if self.shifts().next().is_none() {
            return refuse(
                "the number of diagonals",
                "0".to_owned(),
                "the map is zero: subtract the array from itself instead".to_owned(),
            );
        }
        let input_scale = options.input_scale.unwrap_or_else(|| params.scale(level));
        let output_scale = options.output_scale.unwrap_or_else(|| params.scale(below));
        params.check_scale(input_scale, level)?;
        params.check_scale(output_scale, below)?;
        let diagonal_scale = output_scale * params.step_product(level) / input_scale;
        params.check_scale(input_scale * diagonal_scale, level)?;
        params.check_scale(diagonal_scale, level)?;
        if diagonal_scale < params.step_product(level).sqrt() {
            let remedy =
                "the input's scale and the step leave the diagonals too few bits: rescale the input first"
                    .to_owned();
            return refuse("the scale left for diagonals", format!("2^{:.1}", diagonal_scale.log2()), remedy);
        }
        // As for products with plaintexts, numbers of magnitude 1 must fit.
        check_headroom(params, self.row_sum(), output_scale, below)?;
        let unit = unit_of(self.shifts(), self.slots());
        let counts = (0..=(self.slots() / unit).ilog2()).map(|log| 1usize << log);
        let first = first_place(self, unit);
        let mut splits: Vec<Split> = counts
            .flat_map(|count| [Split::new(self, unit, count), Split::iterated(self, unit, first, count)])
            .collect();
        let fewest = splits.iter().map(|split| split.rotations().len()).min().unwrap_or(0);
        if let Some(rotation_steps) = rotation_steps {
            splits.retain(|split| split.rotation_steps == rotation_steps);
            if splits.is_empty() {
                return refuse(
                    "the number of baby steps",
                    rotation_steps.baby_steps.to_string(),
                    "use a power of two up to that of rotations".to_owned(),
                );
            }
        }
        let bodies = options.bodies.unwrap_or(1);
        // All rotations have the same cost and key size, so one key represents all.
        let priced = if fewest == 0 {
            None
        } else {
            let secret = if bodies == 1 { SecretName::Main } else { SecretName::Bodies(bodies) };
            let name = params.rotation_key(secret, 1);
            let definition = params.key_definition(name)?.serving(level);
            Some((definition.transform_costs(level)?, definition.bytes(level)?))
        };
        let key_bytes = priced.as_ref().map_or(0, |(_, bytes)| *bytes);
        let most = options.most_keys.unwrap_or(usize::MAX);
        if most < fewest {
            return refuse(
                "the number of rotation keys of a linear transform",
                most.to_string(),
                format!("allow at least {fewest}"),
            );
        }
        let most_bytes = options.most_key_bytes.unwrap_or(usize::MAX);
        if most_bytes < fewest * key_bytes {
            let remedy = format!("allow at least {}: {}", fewest * key_bytes, counted(fewest, "key"));
            return refuse(
                "the bytes of rotation keys of a linear transform",
                most_bytes.to_string(),
                remedy,
            );
        }
        let time = |split: &Split| priced.as_ref().map_or(0.0, |(costs, _)| split.cost(costs).price);
        let fits = |split: &Split| {
            split.rotations().len() <= most && split.rotations().len() * key_bytes <= most_bytes
        };
        let allowed = splits.into_iter().filter(fits);
        let best = allowed
            .min_by(|x, y| time(x).total_cmp(&time(y)).then(x.rotations().len().cmp(&y.rotations().len())));
        let Some(best) = best else {
            return refuse("the number of diagonals", "0".to_owned(), String::new());
        };
        let price = time(&best);
        let Split { rotation_steps, babies, giants, iteration } = best;
        Ok(LinearTransformPlan {
            params: params.clone(),
            transform: shared(),
            level,
            input_scale,
            output_scale,
            babies,
            giants,
            rotation_steps,
            iteration,
            key_bytes,
            fewest_keys: fewest,
            price,
            keeping: if options.on_the_fly { Keeping::Never } else { Keeping::Always },
            most_at_once: MOST_AT_ONCE,
            name: *blake3::hash(&PLANS.fetch_add(1, Ordering::Relaxed).to_le_bytes()).as_bytes(),
            bodies,
            plaintexts: Mutex::default(),
        })
    }
}

impl LinearTransformPlan {
    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The map.
    #[must_use]
    pub fn transform(&self) -> &LinearTransform {
        &self.transform
    }

    /// Whether diagonals are encoded again for each use.
    #[must_use]
    pub fn is_on_the_fly(&self) -> bool {
        self.keeping == Keeping::Never
    }

    /// Identifies this plan among those of its map.
    pub(crate) fn rotation_steps(&self) -> RotationSteps {
        self.rotation_steps
    }

    /// Level of the input; the result is at the level below.
    #[must_use]
    pub fn input_level(&self) -> Level {
        self.level
    }

    /// Level of the result.
    #[must_use]
    pub fn output_level(&self) -> Level {
        Level(self.level.0 - 1)
    }

    /// Scale of the input.
    #[must_use]
    pub fn input_scale(&self) -> f64 {
        self.input_scale
    }

    /// Refuses inputs of another scale.
    pub(in crate::circuits) fn check_scale(&self, scale: f64) -> Result<(), CkksError> {
        if same_scale(scale, self.input_scale) {
            return Ok(());
        }
        Err(CkksError::ScaleMismatch { left: scale.log2(), right: self.input_scale.log2() })
    }

    /// Scale of the result.
    #[must_use]
    pub fn output_scale(&self) -> f64 {
        self.output_scale
    }

    /// The scale at which diagonals are encoded.
    #[must_use]
    pub fn diagonal_scale(&self) -> f64 {
        self.output_scale * self.params.step_product(self.level) / self.input_scale
    }

    /// Whether rotations are iterated with two or three keys, instead of sharing a decomposition.
    #[must_use]
    pub fn is_iterated(&self) -> bool {
        self.iteration.is_some()
    }

    /// The rotations that need keys.
    #[must_use]
    pub fn rotations(&self) -> Vec<i64> {
        keyed_steps(&self.babies, &self.giants, self.iteration)
    }

    /// Bytes of the rotation keys of the plan's level in memory.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.rotations().len() * self.key_bytes
    }

    /// The price of the rotations of one bundle ([`Cost::price`]), without the products with diagonals, which
    /// are the same for every plan of a map.
    #[must_use]
    pub fn price(&self) -> f64 {
        self.price
    }

    /// The fastest plan of the same map and scales with fewer keys; `None` if there is none.
    pub fn with_fewer_keys(&self) -> Result<Option<Self>, CkksError> {
        let Some(fewer) = self.rotations().len().checked_sub(1).filter(|&fewer| fewer >= self.fewest_keys)
        else {
            return Ok(None);
        };
        let (input_scale, output_scale) = (Some(self.input_scale), Some(self.output_scale));
        let options = LinearTransformOptions {
            input_scale,
            output_scale,
            most_keys: Some(fewer),
            most_key_bytes: None,
            on_the_fly: self.is_on_the_fly(),
            bodies: Some(self.bodies),
        };
        self.transform
            .plan_shared(&self.params, self.level, options, None, || self.transform.clone())
            .map(Some)
    }

    /// Numbers of rotations before and after the products with plaintexts.
    #[must_use]
    pub fn switches(&self) -> (usize, usize) {
        switches(&self.babies, &self.giants, self.iteration)
    }

    /// Nonzero rotations of the input, which share a decomposition or are iterated.
    pub fn baby_steps(&self) -> impl Iterator<Item = i64> {
        self.babies.iter().copied().filter(|&steps| steps != 0)
    }

    /// Nonzero rotations of inner sums.
    pub fn giant_steps(&self) -> impl Iterator<Item = i64> {
        self.giants.iter().map(|giant| giant.steps).filter(|&steps| steps != 0)
    }

    /// The rotation keys of the plan.
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        Ok(self.run_on_symbol(Evaluator::recording(&self.params))?.needs().clone())
    }

    /// Runs the circuit on a symbol of one bundle, with keys made for [`LinearTransformPlan::needs`], and
    /// records predicted time, transforms and products.
    pub fn dry_run(&self) -> Result<Recording, CkksError> {
        self.run_on_symbol(Evaluator::recording_for(&self.params, self.needs()?))
    }

    fn run_on_symbol(&self, evaluator: Evaluator) -> Result<Recording, CkksError> {
        let shape = [self.bodies, self.transform.columns()];
        let layout = Layout::new(&shape, Encoding::Slots, self.params.degree())?
            .with_capacity(self.transform.slots())?;
        let (layout, secret) = match self.bodies {
            1 => (layout, SecretName::Main),
            bodies => (layout.with_bodies(bodies, Some(BodyAxis::Rows))?, SecretName::Bodies(bodies)),
        };
        let symbol =
            Ciphertext::symbol_with(&self.params, &shape, layout, secret, self.level, self.input_scale)?;
        self.run(&evaluator, &evaluator.take_symbol(symbol, None)?)?;
        Ok(evaluator.recorded())
    }
}
