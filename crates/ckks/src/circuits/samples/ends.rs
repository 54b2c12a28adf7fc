//! What a plan of a bootstrap of samples starts from and leads to, and its choice of the packing between.

use clathrate_arith::text::counted;
use clathrate_lattice::Level;

use super::OPERATION;
use super::options::{SamplesOptions, sample_params};
use crate::arrays::{Ciphertext, SecretName};
use crate::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use crate::circuits::packing_plan::{PackingCost, PackingMethod, Stage, midpoints};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::{Cost, Operation, Switch};
use crate::parameters::{Params, packing_rounding};
use crate::shape::ModuleShape;

/// Packing with smaller keys is chosen if the whole takes at most this many times as long. Transforms of few
/// slots may take this many times as long as those of all slots.
const SLOWER: f64 = 1.1;

/// Transforms of few slots may have this many bits of precision less than those of all slots.
const LESS_PRECISE: f64 = 1.0;

/// The maximum error of the whole, relative to that with the most precise packing: a quarter of a bit.
const PACKING_ERROR: f64 = 1.19;

/// The two ends of a plan: samples of one shape, and the half bootstrap that they are packed for.
#[derive(Debug)]
pub(in crate::circuits) struct Ends {
    pub(super) samples: Params,
    pub(super) secret: SecretName,
    pub(super) count: usize,
    pub(super) pairs: bool,
    pub(super) half: BootstrapPlan,
}

impl Ends {
    /// Samples as the options describe them, and the half bootstrap of `target` for their numbers without a
    /// limit on its keys.
    pub(super) fn new(target: &Params, options: &SamplesOptions) -> Result<Self, CkksError> {
        let samples = sample_params(target, options)?;
        if options.degree > 1 && !options.pairs {
            let reason = format!(
                "samples of {} numbers fill real and imaginary parts: ask for `pairs`, or take samples of degree 1",
                options.degree
            );
            return Err(CkksError::Unsuitable { operation: OPERATION, reason });
        }
        let count = options.count.unwrap_or(target.degree());
        if count == 0 || !count.is_multiple_of(options.degree) {
            let remedy = format!("use a multiple of the degree {} from 1 up", options.degree);
            return Err(CkksError::OutOfRange {
                what: "the count of numbers",
                value: count.to_string(),
                remedy,
            });
        }
        let half = half_bootstrap(target, count, options, None)?;
        Ok(Self { samples, secret: options.secret, count, pairs: options.pairs, half })
    }

    /// The choices of packing, fastest first.
    fn priced(&self, options: &SamplesOptions) -> Result<Vec<PackingCost>, CkksError> {
        // The rings are held until all choices are priced, because parameters that nobody holds would be made
        // again.
        let rings = self.smaller_rings(options);
        let mut priced = self
            .candidates(options, &rings)?
            .into_iter()
            .map(|(method, ring)| self.price_packing(method, ring))
            .collect::<Result<Vec<_>, _>>()?;
        priced.sort_by(|a, b| a.price.total_cmp(&b.price));
        Ok(priced)
    }

    /// The same ends with a half bootstrap whose keys fit beside those of packing, and the packing between
    /// them.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for limits below the keys or the time of every choice.
    pub(super) fn chosen(self, options: &SamplesOptions) -> Result<(Self, Choice), CkksError> {
        let mut priced = self.priced(options)?;
        let least = priced.iter().map(|cost| cost.key_bytes).min().unwrap_or(0);
        let target = self.half.params().clone();
        let spared = ephemeral_key_bytes(&target)?;
        let half = match options.most_key_bytes {
            None => self.half,
            Some(most) => {
                let own = most.saturating_add(spared).saturating_sub(least);
                half_bootstrap(&target, self.count, options, Some(own)).map_err(|error| match error {
                    CkksError::OutOfRange { what, remedy, .. } => {
                        let remedy = format!("{remedy} for the bootstrap alone, and {least} for packing");
                        CkksError::OutOfRange { what, value: most.to_string(), remedy }
                    }
                    other => other,
                })?
            }
        };
        let ends = Self { half, ..self };
        let recording = ends.half.dry_run()?;
        // The keys of packing lead to the ephemeral secret, so the bootstrap has no change to it, and no
        // error of that.
        let error = ends.half.predicted_error()?;
        let bootstrap = HalfCost {
            price: recording.cost().price * ends.polys(ends.count) as f64,
            key_bytes: recording.keys(&target)?.bytes(&target)?.saturating_sub(spared),
            variance: error.deviation().powi(2) - error.encapsulation,
        };
        let packing = priced.remove(bootstrap.smallest_packing(&priced, ends.count, options)?);
        let error = bootstrap.error_with(&packing);
        Ok((ends, Choice { packing, others: priced, error }))
    }

    /// The scale that samples must have.
    pub(super) fn scale(&self) -> f64 {
        self.half.message_scale()
    }

    /// A symbol of samples of `count` numbers.
    pub(super) fn symbol(&self, secret: SecretName, count: usize) -> Result<Ciphertext, CkksError> {
        let degree = self.samples.degree();
        let shape = if degree == 1 { vec![count] } else { vec![count / degree, degree] };
        let layout = self.layout_of(&shape)?;
        Ciphertext::symbol_with(&self.samples, &shape, layout, secret, Level(0), self.scale())
    }

    /// The smaller rings in which samples may be packed first.
    fn smaller_rings(&self, options: &SamplesOptions) -> Vec<Params> {
        let target = self.half.params();
        if options.ring == Some(target.degree()) {
            return Vec::new();
        }
        target.packing_rings(self.samples.shape().dimension().max(2 * self.samples.degree()))
    }

    /// The choices: midpoints, and the degree of the smaller ring in which they are, if any.
    fn candidates(
        &self,
        options: &SamplesOptions,
        rings: &[Params],
    ) -> Result<Vec<(PackingMethod, Option<usize>)>, CkksError> {
        let whole = self.half.params().degree();
        let smaller: Vec<usize> = rings.iter().map(Params::degree).collect();
        let rings: Vec<Option<usize>> = match options.ring {
            None => std::iter::once(None).chain(smaller.into_iter().map(Some)).collect(),
            Some(degree) if degree == whole => vec![None],
            Some(degree) if smaller.contains(&degree) => vec![Some(degree)],
            Some(degree) => {
                let all: Vec<String> = smaller.iter().chain([&whole]).map(ToString::to_string).collect();
                let (what, value) = ("the degree of the ring that samples are packed in", degree.to_string());
                return Err(CkksError::OutOfRange {
                    what,
                    value,
                    remedy: format!("use one of {}", all.join(", ")),
                });
            }
        };
        let Some(ranks) = &options.midpoints else {
            let of = |ring: Option<usize>| {
                midpoints(&self.samples, ring.unwrap_or(whole)).into_iter().map(move |ranks| (ranks, ring))
            };
            return Ok(rings
                .into_iter()
                .flat_map(of)
                .map(|(ranks, ring)| (PackingMethod::Midpoints(ranks), ring))
                .collect());
        };
        // If no ring suits the given ranks, the first one gives the error.
        let method = PackingMethod::Midpoints(ranks.clone());
        let fitting: Vec<Option<usize>> =
            rings.iter().copied().filter(|&ring| self.stages_of(&method, ring).is_ok()).collect();
        let rings = if fitting.is_empty() { rings[..1].to_vec() } else { fitting };
        Ok(rings.into_iter().map(|ring| (method.clone(), ring)).collect())
    }

    /// The predicted time, keys and error of packing.
    fn price_packing(&self, method: PackingMethod, ring: Option<usize>) -> Result<PackingCost, CkksError> {
        let target = self.half.params();
        let recorder = Evaluator::recording(target);
        let x = recorder.take_encrypted(
            self.symbol(self.secret, self.count)?,
            Some(1.0),
            self.sample_variance(),
        )?;
        let stages = self.stages_of(&method, ring)?;
        self.packed(&recorder, &[&x], &stages)?;
        let error = self.packing_error(&stages)?;
        let Cost { nanoseconds, price, .. } = recorder.recorded().cost();
        let key_bytes = target.required_keys(&recorder.needs())?.bytes(target)?;
        Ok(PackingCost { method, ring, nanoseconds, price, key_bytes, error })
    }

    /// The variance of a sample's error: that of its encryption, or, for samples of another library, at most
    /// that of the switch of their modulus.
    pub(super) fn sample_variance(&self) -> f64 {
        match self.secret {
            SecretName::Outside(_) => (self.samples.rank() + 1) as f64 / 12.0,
            _ => self.samples.noise_model().fresh_secret(),
        }
    }

    /// The root mean square error of a number after these stages: the error of the sample, and for each step
    /// the noise of its key and the rounding under the secret of the result.
    fn packing_error(&self, stages: &[Stage]) -> Result<f64, CkksError> {
        let (mut variance, mut under) = (self.sample_variance(), self.secret);
        for Stage { params, onto, steps } in stages {
            // The rounding depends on the squared norm of the secret. The secret of a smaller ring is
            // uniform, so two thirds of its coefficients are not zero.
            let rounding = match (onto, params.ephemeral_weight()) {
                (SecretName::Packing, _) => packing_rounding(params.degree()),
                (_, Some(weight)) => (1 + weight) as f64 / 12.0,
                _ => params.noise_model().rounding(),
            };
            for step in steps {
                let from = ModuleShape { degree: step.degree(), rank: step.rank() };
                let operation =
                    Operation::Switch(Switch::Pack { from, to: step.target(), under, onto: *onto });
                variance += params.operation_variance(operation, Level(0))? + rounding;
                under = *onto;
            }
        }
        Ok(variance.sqrt() / self.scale())
    }

    /// The secret under which samples are packed.
    pub(super) fn packed_secret(&self) -> SecretName {
        if self.half.params().ephemeral_weight().is_some() { SecretName::Ephemeral } else { SecretName::Main }
    }

    /// The stages of packing: first in a smaller ring if `ring` names one.
    pub(super) fn stages_of(
        &self,
        method: &PackingMethod,
        ring: Option<usize>,
    ) -> Result<Vec<Stage>, CkksError> {
        let target = self.half.params();
        let ranks = if let PackingMethod::Midpoints(ranks) = method { ranks.as_slice() } else { &[] };
        let last = |steps| Stage { params: target.clone(), onto: self.packed_secret(), steps };
        let Some(degree) = ring else { return Ok(vec![last(self.samples.packing_steps_to(target, ranks)?)]) };
        let params = target.for_samples(ModuleShape { degree, rank: 1 })?;
        let (within, out) =
            (self.samples.packing_steps_to(&params, ranks)?, params.packing_steps_to(target, &[])?);
        Ok(vec![Stage { params, onto: SecretName::Packing, steps: within }, last(out)])
    }
}

/// The packing of a plan.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) packing: PackingCost,
    /// The others, fastest first.
    pub(super) others: Vec<PackingCost>,
    /// The root mean square error of a number after packing and the half bootstrap.
    pub(super) error: f64,
}

/// What the half bootstrap behind packing takes, and the variance of its errors.
struct HalfCost {
    price: f64,
    key_bytes: usize,
    variance: f64,
}

impl HalfCost {
    /// The root mean square error of a number after this packing and the half bootstrap.
    fn error_with(&self, packing: &PackingCost) -> f64 {
        (self.variance + packing.error.powi(2)).sqrt()
    }

    /// The place of the packing with the smallest keys in `priced`, which has the fastest first, among those
    /// within the limits that are fast and precise enough.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for limits below the keys or the time of every choice.
    fn smallest_packing(
        &self,
        priced: &[PackingCost],
        count: usize,
        options: &SamplesOptions,
    ) -> Result<usize, CkksError> {
        let has_room = |cost: &&PackingCost| {
            options.most_key_bytes.is_none_or(|most| cost.key_bytes + self.key_bytes <= most)
        };
        let most_precise = priced.iter().filter(has_room).map(|cost| self.error_with(cost));
        let error_limit = PACKING_ERROR * most_precise.fold(f64::INFINITY, f64::min);
        let fits = |cost: &&PackingCost| has_room(cost) && self.error_with(cost) <= error_limit;
        let fastest = priced.iter().find(fits).ok_or_else(|| {
            let least = priced.iter().map(|cost| cost.key_bytes).min().unwrap_or(0);
            CkksError::OutOfRange {
                what: "the bytes of the keys",
                value: options.most_key_bytes.unwrap_or(0).to_string(),
                remedy: format!(
                    "allow at least {} bytes: {} for the bootstrap and {least} for packing",
                    self.key_bytes + least,
                    self.key_bytes
                ),
            }
        })?;
        let least_time = self.price + fastest.price;
        let time_limit = options.most_seconds.map_or(SLOWER * least_time, |seconds| seconds * 1e9);
        if let Some(seconds) = options.most_seconds
            && (time_limit.is_nan() || time_limit < least_time)
        {
            let remedy = format!(
                "allow at least {:.3} s for {}: {:.3} for the bootstrap and {:.3} for packing, as predicted",
                least_time / 1e9,
                counted(count, "number"),
                self.price / 1e9,
                fastest.price / 1e9
            );
            return Err(CkksError::OutOfRange {
                what: "the seconds of a bootstrap of samples",
                value: seconds.to_string(),
                remedy,
            });
        }
        let near =
            priced.iter().enumerate().filter(|(_, cost)| fits(cost) && self.price + cost.price <= time_limit);
        Ok(near.min_by_key(|(_, cost)| cost.key_bytes).map_or(0, |(place, _)| place))
    }
}

/// Bytes of the key of the change to the ephemeral secret; 0 if the parameters have none.
fn ephemeral_key_bytes(target: &Params) -> Result<usize, CkksError> {
    let change = Switch::ChangeSecret { from: SecretName::Main, to: SecretName::Ephemeral };
    match target.ephemeral_weight() {
        Some(_) => target.operation_definition(Operation::Switch(change), Level(0))?.bytes(Level(0)),
        None => Ok(0),
    }
}

/// The half bootstrap of `count` numbers with at most these bytes of keys. Few numbers can be in all slots of
/// small transforms, or in the first slots of transforms of all slots.
fn half_bootstrap(
    target: &Params,
    count: usize,
    options: &SamplesOptions,
    most_key_bytes: Option<usize>,
) -> Result<BootstrapPlan, CkksError> {
    let wanted = if options.pairs { count.div_ceil(2) } else { count };
    let of_slots = |slots: usize| {
        let own = BootstrapOptions {
            slots: Some(slots),
            real: !options.pairs && count <= slots,
            half: true,
            log2_failure: options.log2_failure,
            most_key_bytes,
            ..BootstrapOptions::default()
        };
        BootstrapPlan::with_options(target, own)
    };
    let (few, all) = (wanted.next_power_of_two().min(target.slot_count()), target.slot_count());
    let own = of_slots(few);
    if few == all {
        return own;
    }
    match (own, of_slots(all)) {
        (Ok(own), Ok(whole)) => {
            let time = |plan: &BootstrapPlan| Ok::<_, CkksError>(plan.dry_run()?.cost().price);
            let bits = |plan: &BootstrapPlan| Ok::<_, CkksError>(-plan.predicted_error()?.deviation().log2());
            let fewer = time(&own)? <= SLOWER * time(&whole)? && bits(&own)? + LESS_PRECISE >= bits(&whole)?;
            Ok(if fewer { own } else { whole })
        }
        (own, whole) => whole.or(own),
    }
}
