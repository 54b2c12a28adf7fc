//! The plan of a bootstrap of samples: its choice and its prediction.

use clathrate_arith::text::counted;
use clathrate_lattice::Level;

use super::OPERATION;
use super::options::{SamplesOptions, sample_params};
use crate::arrays::{Ciphertext, Order, SecretName};
use crate::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use crate::circuits::packing_plan::{PackingCost, PackingMethod, Stage, midpoints};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::{Cost, EvaluationKeys, KeyNeeds, Operation, Switch};
use crate::light::LightOptions;
use crate::parameters::{KeyModulus, Params, packing_rounding};
use crate::shape::ModuleShape;

/// Packing with smaller keys is chosen if the whole takes at most this many times as long. Transforms of few
/// slots may take this many times as long as those of all slots.
const SLOWER: f64 = 1.1;

/// Transforms of few slots may have this many bits of precision less than those of all slots.
const LESS_PRECISE: f64 = 1.0;

/// The maximum error of the whole, relative to that with the most precise packing: a quarter of a bit.
const PACKING_ERROR: f64 = 1.19;

/// A plan of the bootstrap of samples of one shape.
#[derive(Debug)]
pub struct SamplesPlan {
    pub(super) samples: Params,
    pub(super) secret: SecretName,
    pub(super) count: usize,
    pub(super) pairs: bool,
    pub(super) half: BootstrapPlan,
    pub(super) stages: Vec<Stage>,
    pub(super) packing: PackingCost,
    pub(super) others: Vec<PackingCost>,
    /// The shape for which `needs` is stated.
    pub(super) home: ModuleShape,
    pub(super) needs: KeyNeeds,
    /// The same keys, stated for the shape of the bootstrap's ring.
    pub(super) own_needs: KeyNeeds,
    /// The length of another library's secret; `None` for secrets of this library.
    pub(super) outside_dimension: Option<usize>,
    pub(super) key_bytes: usize,
    pub(super) nanoseconds: f64,
    pub(super) error: f64,
}

impl SamplesPlan {
    /// The plan within the limits of `options`, for samples of the family of `params`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] without numbers, for an impossible degree, dimension, ring or midpoints, and
    /// for limits below the keys or the time of every choice; [`CkksError::Insecure`] for a dimension that is
    /// not secure; [`CkksError::Unsuitable`] for samples of several numbers without `pairs`; the errors of
    /// [`BootstrapPlan::with_options`], also if the family has no rank of 1.
    pub fn new(params: &Params, options: &SamplesOptions) -> Result<Self, CkksError> {
        let root = params.root()?;
        let target = root.relative(root.rlwe_shape())?;
        let samples = sample_params(&target, options)?;
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
        let wanted = if options.pairs { count.div_ceil(2) } else { count };
        let (few, all) = (wanted.next_power_of_two().min(target.slot_count()), target.slot_count());
        let half_of = |slots: usize, most_key_bytes: Option<usize>| {
            let own = BootstrapOptions {
                slots: Some(slots),
                real: !options.pairs && count <= slots,
                half: true,
                log2_failure: options.log2_failure,
                most_key_bytes,
                ..BootstrapOptions::default()
            };
            BootstrapPlan::with_options(&target, own)
        };
        // Few numbers can be in all slots of small transforms, or in the first slots of transforms of all
        // slots.
        let half = |most_key_bytes: Option<usize>| -> Result<BootstrapPlan, CkksError> {
            let own = half_of(few, most_key_bytes);
            if few == all {
                return own;
            }
            match (own, half_of(all, most_key_bytes)) {
                (Ok(own), Ok(whole)) => {
                    let time = |plan: &BootstrapPlan| Ok::<_, CkksError>(plan.dry_run()?.cost().price);
                    let bits = |plan: &BootstrapPlan| {
                        Ok::<_, CkksError>(-plan.predicted_error()?.deviation().log2())
                    };
                    let fewer =
                        time(&own)? <= SLOWER * time(&whole)? && bits(&own)? + LESS_PRECISE >= bits(&whole)?;
                    Ok(if fewer { own } else { whole })
                }
                (own, whole) => whole.or(own),
            }
        };
        let mut plan = Self {
            half: half(None)?,
            samples,
            secret: options.secret,
            count,
            pairs: options.pairs,
            stages: Vec::new(),
            packing: PackingCost {
                method: PackingMethod::Midpoints(Vec::new()),
                ring: None,
                nanoseconds: 0.0,
                price: 0.0,
                key_bytes: 0,
                error: 0.0,
            },
            others: Vec::new(),
            home: params.shape(),
            needs: KeyNeeds::new(),
            own_needs: KeyNeeds::new(),
            outside_dimension: options.dimension.filter(|_| matches!(options.secret, SecretName::Outside(_))),
            key_bytes: 0,
            nanoseconds: 0.0,
            error: f64::INFINITY,
        };
        // The rings are held until all choices are priced, because parameters that nobody holds would be made
        // again.
        let rings = plan.smaller_rings(options);
        let mut priced = plan
            .candidates(options, &rings)?
            .into_iter()
            .map(|(method, ring)| plan.price_packing(method, ring))
            .collect::<Result<Vec<_>, _>>()?;
        priced.sort_by(|a, b| a.price.total_cmp(&b.price));
        let least = priced.iter().map(|cost| cost.key_bytes).min().unwrap_or(0);
        // The keys of packing lead to the ephemeral secret, so the bootstrap needs no key to it.
        let change =
            Operation::Switch(Switch::ChangeSecret { from: SecretName::Main, to: SecretName::Ephemeral });
        let spared = match target.ephemeral_weight() {
            Some(_) => target.operation_definition(change, Level(0))?.bytes(Level(0))?,
            None => 0,
        };
        if let Some(most) = options.most_key_bytes {
            plan.half =
                half(Some(most.saturating_add(spared).saturating_sub(least))).map_err(
                    |error| match error {
                        CkksError::OutOfRange { what, remedy, .. } => {
                            let remedy = format!("{remedy} for the bootstrap alone, and {least} for packing");
                            CkksError::OutOfRange { what, value: most.to_string(), remedy }
                        }
                        other => other,
                    },
                )?;
        }
        let (half_time, half_keys) = {
            let recording = plan.half.dry_run()?;
            let bytes = recording.keys(&target)?.bytes(&target)?.saturating_sub(spared);
            (recording.cost().price * plan.polys(count) as f64, bytes)
        };
        let fits =
            |cost: &PackingCost| options.most_key_bytes.is_none_or(|most| cost.key_bytes + half_keys <= most);
        // The bootstrap has no change to the ephemeral secret, and no error of it.
        let own = plan.half.predicted_error()?;
        let own = own.deviation().powi(2) - own.encapsulation;
        let whole = |cost: &PackingCost| (own + cost.error.powi(2)).sqrt();
        let most_precise = priced.iter().filter(|cost| fits(cost)).map(whole).fold(f64::INFINITY, f64::min);
        let fits = |cost: &PackingCost| fits(cost) && whole(cost) <= PACKING_ERROR * most_precise;
        let refused = || CkksError::OutOfRange {
            what: "the bytes of the keys",
            value: options.most_key_bytes.unwrap_or(0).to_string(),
            remedy: format!(
                "allow at least {} bytes: {half_keys} for the bootstrap and {least} for packing",
                half_keys + least
            ),
        };
        let fastest = priced.iter().find(|cost| fits(cost)).ok_or_else(refused)?.price;
        let most = options.most_seconds.map_or(SLOWER * (half_time + fastest), |seconds| seconds * 1e9);
        if let Some(seconds) = options.most_seconds
            && (most.is_nan() || most < half_time + fastest)
        {
            let remedy = format!(
                "allow at least {:.3} s for {}: {:.3} for the bootstrap and {:.3} for packing, as predicted",
                (half_time + fastest) / 1e9,
                counted(count, "number"),
                half_time / 1e9,
                fastest / 1e9
            );
            return Err(CkksError::OutOfRange {
                what: "the seconds of a bootstrap of samples",
                value: seconds.to_string(),
                remedy,
            });
        }
        let near = |cost: &PackingCost| fits(cost) && half_time + cost.price <= most;
        let near = priced.iter().enumerate().filter(|(_, cost)| near(cost));
        let place = near.min_by_key(|(_, cost)| cost.key_bytes).map_or(0, |(place, _)| place);
        plan.packing = priced.remove(place);
        plan.others = priced;
        plan.stages = plan.stages_of(&plan.packing.method, plan.packing.ring)?;
        let recorder = Evaluator::recording(&target);
        let symbol =
            recorder.take_encrypted(plan.symbol(plan.secret, count)?, Some(1.0), plan.sample_variance())?;
        plan.run(&recorder, &symbol)?;
        let needs = recorder.needs();
        plan.key_bytes = target.required_keys(&needs)?.bytes(&target)?;
        plan.nanoseconds = recorder.recorded().cost().nanoseconds;
        plan.needs = plan.at_home(needs.clone());
        plan.own_needs = needs;
        plan.error = (own + plan.packing.error.powi(2)).sqrt();
        Ok(plan)
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

    /// The plan whose keys are in `keys`, among those that [`SamplesPlan::new`] considers, for samples under
    /// `secrets`. If the keys were made on another machine, other predicted times may have led to another
    /// ring or other midpoints.
    ///
    /// # Errors
    /// [`CkksError::MissingKeys`] for the best plan here if no plan has its keys; the errors of
    /// [`SamplesPlan::new`].
    pub fn for_keys(
        params: &Params,
        options: &SamplesOptions,
        keys: &EvaluationKeys,
        secrets: &[SecretName],
    ) -> Result<Self, CkksError> {
        let plan = Self::new(params, options)?;
        let missing = match plan.check_keys(keys, secrets) {
            Err(missing @ CkksError::MissingKeys { .. }) => missing,
            other => return other.map(|()| plan),
        };
        for other in &plan.others {
            let PackingMethod::Midpoints(ranks) = &other.method else { continue };
            let ring = Some(other.ring.unwrap_or_else(|| plan.half.params().degree()));
            let own = SamplesOptions { midpoints: Some(ranks.clone()), ring, ..options.clone() };
            // Choices beyond the limits are skipped.
            let Ok(own) = Self::new(params, &own) else { continue };
            if own.check_keys(keys, secrets).is_ok() {
                return Ok(own);
            }
        }
        Err(missing)
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
    fn sample_variance(&self) -> f64 {
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
    fn stages_of(&self, method: &PackingMethod, ring: Option<usize>) -> Result<Vec<Stage>, CkksError> {
        let target = self.half.params();
        let ranks = if let PackingMethod::Midpoints(ranks) = method { ranks.as_slice() } else { &[] };
        let last = |steps| Stage { params: target.clone(), onto: self.packed_secret(), steps };
        let Some(degree) = ring else { return Ok(vec![last(self.samples.packing_steps_to(target, ranks)?)]) };
        let params = target.for_samples(ModuleShape { degree, rank: 1 })?;
        let (within, out) =
            (self.samples.packing_steps_to(&params, ranks)?, params.packing_steps_to(target, &[])?);
        Ok(vec![Stage { params, onto: SecretName::Packing, steps: within }, last(out)])
    }

    /// States needs of the bootstrap's ring for the parameters with which the plan was made.
    fn at_home(&self, needs: KeyNeeds) -> KeyNeeds {
        let own = self.half.params().shape();
        if own == self.home { needs } else { KeyNeeds::new().relative(own, &needs) }
    }

    /// A symbol of samples of `count` numbers.
    fn symbol(&self, secret: SecretName, count: usize) -> Result<Ciphertext, CkksError> {
        let degree = self.samples.degree();
        let shape = if degree == 1 { vec![count] } else { vec![count / degree, degree] };
        let layout = self.layout_of(&shape)?;
        Ciphertext::symbol_with(&self.samples, &shape, layout, secret, Level(0), self.scale())
    }

    /// The parameters of the samples.
    #[must_use]
    pub fn samples(&self) -> &Params {
        &self.samples
    }

    /// The secret of the samples.
    #[must_use]
    pub fn secret(&self) -> SecretName {
        self.secret
    }

    /// The count of numbers of the prediction.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether two consecutive numbers are the real and the imaginary part of one slot.
    #[must_use]
    pub fn pairs(&self) -> bool {
        self.pairs
    }

    /// The scale that samples must have.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.half.message_scale()
    }

    /// The half bootstrap after packing.
    #[must_use]
    pub fn half_bootstrap(&self) -> &BootstrapPlan {
        &self.half
    }

    /// The keys, stated for the shape of the parameters with which the plan was made.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        &self.needs
    }

    /// The keys for samples under the plan's own secret and under each of these secrets, the main one or
    /// devices'. Each secret has a key of the first step of packing.
    pub fn needs_of(&self, secrets: &[SecretName]) -> Result<KeyNeeds, CkksError> {
        Ok(self.at_home(self.own_needs_of(secrets)?))
    }

    pub(super) fn own_needs_of(&self, secrets: &[SecretName]) -> Result<KeyNeeds, CkksError> {
        secrets.iter().try_for_each(|&secret| self.check_secret(secret))?;
        let recorder = Evaluator::recording(self.half.params());
        for &secret in secrets {
            let x = recorder.take_symbol(self.symbol(secret, self.samples.degree())?, Some(1.0))?;
            self.packed(&recorder, &[&x], &self.stages)?;
        }
        Ok(recorder.needs().merge(&self.own_needs))
    }

    /// Estimated bits of security of the least secure secret of the keys: the owner's, the ephemeral one, and
    /// that of a smaller ring.
    #[must_use]
    pub fn security_bits(&self) -> f64 {
        let ring =
            self.stages.iter().filter_map(|stage| stage.params.key_switching(KeyModulus::Packing).ok());
        ring.fold(self.half.params().security_bits(), |least, ring| least.min(ring.security_bits))
    }

    /// Bytes of all keys in memory.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Predicted nanoseconds of the whole for [`SamplesPlan::count`] numbers on one thread.
    #[must_use]
    pub fn predicted_nanoseconds(&self) -> f64 {
        self.nanoseconds
    }

    /// The predicted root mean square error of a number, including that of its encryption.
    #[must_use]
    pub fn predicted_error(&self) -> f64 {
        self.error
    }

    /// The method of packing with its predicted time, keys and error.
    #[must_use]
    pub fn packing(&self) -> &PackingCost {
        &self.packing
    }

    /// The options of light clients for this plan; `precision_bits` as in [`LightOptions`].
    #[must_use]
    pub fn client_options(&self, precision_bits: Option<f64>) -> LightOptions {
        LightOptions {
            degree: self.samples.degree(),
            dimension: Some(self.samples.shape().dimension()),
            level: Level(0),
            scale: Some(self.scale()),
            precision_bits,
            secret: self.secret,
            order: Order::BitReversed,
        }
    }

    /// A description of the plan and of the choices that it rejected: predicted times, keys, precision and
    /// failure.
    #[must_use]
    pub fn explain(&self) -> String {
        const MIB: f64 = (1 << 20) as f64;
        let under =
            if self.secret == SecretName::Main { String::new() } else { format!(" under {}", self.secret) };
        format!(
            "{} numbers from samples of shape {}{under} at scale 2^{:.2} to {} {} slots in each of {} ciphertexts, level {}\n  \
             {:.1} ms, of which packing {:.1}; keys {:.1} MiB, of which packing {:.1}; {:.1} bits of precision; failure 2^{:.1} for each ciphertext; {:.0} bits of security\n\
             {}",
            self.count,
            self.samples.shape(),
            self.scale().log2(),
            self.half.slots(),
            if self.pairs { "complex" } else { "real" },
            self.result_layout(self.count).map_or(0, |layout| layout.bundles()),
            self.half.output_level(),
            self.nanoseconds / 1e6,
            self.packing.nanoseconds / 1e6,
            self.key_bytes as f64 / MIB,
            self.packing.key_bytes as f64 / MIB,
            -self.error.log2(),
            self.half.log2_failure(),
            self.security_bits(),
            self.packing.table(&self.others),
        )
    }
}
