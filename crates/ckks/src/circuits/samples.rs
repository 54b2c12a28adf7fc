//! From samples to slots: LWE or MLWE samples of a small dimension become numbers in slots, at a high level.
//!
//! ```text
//! samples        level 0, dimension K, under the main secret or a device's
//! packing        coefficients of a ciphertext, level 0, under the ephemeral secret: the keys of packing lead straight to it
//! half bootstrap slots, at the level that a bootstrap leaves
//! ```
//!
//! The samples are packed at the shortest modulus, where keys are small and switches fast, and directly in the ring of the bootstrap. Fewer samples than a ring holds
//! become a sparse bootstrap; more become several ciphertexts.
//!
//! Source: [hermes, sec. 3, 4.5, Fig. 4]; differs: the paper packs in rings of degree 2^12 and joins these afterwards. With midpoints, packing in the large ring has the same number of
//! transforms for each number, and keys of a similar size, and needs no secure ring in between.

use clathrate_arith::kernels::scalar::bit_reverse;
use clathrate_arith::text::counted;
use clathrate_lattice::Level;
use clathrate_lattice::packing::PackingStep;

use super::bootstrap::{BootstrapOptions, BootstrapPlan};
use super::packing::{PackingCost, PackingMethod, midpoints};
use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Encoding, Layout, Order, SecretName};
use crate::error::CkksError;
use crate::evaluation::levels::same_scale;
use crate::evaluation::{Evaluator, Members, Packed};
use crate::key_id::KeyId;
use crate::keys::{EvaluationKeys, KeyNeeds, Operation};
use crate::light::{LightOptions, Receiver};
use crate::outside::OutsideSamples;
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// The operation's name in errors.
const OPERATION: &str = "a bootstrap of samples";

/// The stage of a dry run that packs.
const PACKING: &str = "packing";

/// Packing with fewer bytes of keys, or transforms of few slots, may make the whole take this much more time.
const SLOWER: f64 = 1.1;

/// Transforms of few slots may leave this many bits of precision less than those of all.
const LESS_PRECISE: f64 = 1.0;

/// What a plan of a bootstrap of samples may choose.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplesOptions {
    /// How many numbers come at once; absent for as many as one ciphertext holds, two in each slot. More than that become several ciphertexts. The plan serves all counts, at the
    /// slots that this one needs.
    pub count: Option<usize>,
    /// Degree of the samples, a power of two: 1 for LWE samples. Samples of a higher degree have pairs.
    pub degree: usize,
    /// Dimension of the samples; absent for the least power of two that is secure at level 0.
    pub dimension: Option<usize>,
    /// The secret of the samples: the main one, a device's, or one of another library, whose samples have any dimension that is said.
    pub secret: SecretName,
    /// Whether two consecutive numbers are the real and the imaginary part of one slot, so that the result is complex and half as long. Without, the result is real, and both parts of a
    /// ciphertext become ciphertexts of their own.
    pub pairs: bool,
    /// Ranks between, falling; absent for the fastest whose keys fit, or for smaller keys at a tenth more time of the whole.
    pub midpoints: Option<Vec<usize>>,
    /// The most bytes that all keys may take in memory; absent for the limit of the parameters on a bootstrap's keys, beside those of packing.
    pub most_key_bytes: Option<usize>,
    /// The most seconds that the whole may take as predicted, for the count above: the fewest keys that are as fast. Absent for the fastest, or for smaller keys at a tenth more time.
    pub most_seconds: Option<f64>,
    /// As [`BootstrapOptions::log2_failure`].
    pub log2_failure: Option<f64>,
}

impl Default for SamplesOptions {
    fn default() -> Self {
        Self {
            count: None,
            degree: 1,
            dimension: None,
            secret: SecretName::Main,
            pairs: false,
            midpoints: None,
            most_key_bytes: None,
            most_seconds: None,
            log2_failure: None,
        }
    }
}

/// How samples of one shape become slots.
#[derive(Debug)]
pub struct SamplesPlan {
    samples: Params,
    secret: SecretName,
    count: usize,
    pairs: bool,
    half: BootstrapPlan,
    steps: Vec<PackingStep>,
    packing: PackingCost,
    others: Vec<PackingCost>,
    /// The shape that needs are stated for.
    home: ModuleShape,
    needs: KeyNeeds,
    /// The same, stated for the shape of the ring.
    own_needs: KeyNeeds,
    /// The length of another library's secret.
    outside_dimension: Option<usize>,
    key_bytes: usize,
    nanoseconds: f64,
    error: f64,
}

impl SamplesPlan {
    /// The plan within the limits that `options` state, for samples of the family of `params`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] without numbers, for an impossible degree, dimension or midpoints, and for limits below the keys or the time of every choice;
    /// [`CkksError::InvalidParams`], [`CkksError::Insecure`] for a dimension that is not secure; [`CkksError::Conversion`] where these parameters have no rank of 1, and for samples of
    /// several numbers without pairs; as [`BootstrapPlan::with_options`].
    pub fn new(params: &Params, options: &SamplesOptions) -> Result<Self, CkksError> {
        let root = params.root()?;
        let target = root.relative(root.rlwe_shape())?;
        let samples = sample_params(&target, options)?;
        if options.degree > 1 && !options.pairs {
            let reason = format!(
                "samples of {} numbers fill real and imaginary parts: ask for `pairs`, or take samples of degree 1",
                options.degree
            );
            return Err(CkksError::Conversion { operation: OPERATION, reason });
        }
        let count = options.count.unwrap_or(target.degree());
        if count == 0 || !count.is_multiple_of(options.degree) {
            let remedy = format!("use a multiple of the degree {} from 1 up", options.degree);
            return Err(CkksError::OutOfRange { what: "the count of numbers", value: count.to_string(), remedy });
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
        // Few numbers may as well lie far apart in the slots of transforms of few, or at the first of all slots.
        let half = |most_key_bytes: Option<usize>| -> Result<BootstrapPlan, CkksError> {
            let own = half_of(few, most_key_bytes);
            if few == all {
                return own;
            }
            match (own, half_of(all, most_key_bytes)) {
                (Ok(own), Ok(whole)) => {
                    let time = |plan: &BootstrapPlan| Ok::<_, CkksError>(plan.dry_run()?.cost().nanoseconds);
                    let bits = |plan: &BootstrapPlan| Ok::<_, CkksError>(-plan.predicted_error()?.deviation().log2());
                    let fewer = time(&own)? <= SLOWER * time(&whole)? && bits(&own)? + LESS_PRECISE >= bits(&whole)?;
                    Ok(if fewer { own } else { whole })
                }
                (own, whole) => whole.or(own),
            }
        };
        let midpoints = options.midpoints.as_ref().map_or_else(|| midpoints(&samples, target.degree()), |ranks| vec![ranks.clone()]);
        let mut plan = Self {
            half: half(None)?,
            samples,
            secret: options.secret,
            count,
            pairs: options.pairs,
            steps: Vec::new(),
            packing: PackingCost { method: PackingMethod::Midpoints(Vec::new()), nanoseconds: 0.0, key_bytes: 0, error: 0.0 },
            others: Vec::new(),
            home: params.shape(),
            needs: KeyNeeds::new(),
            own_needs: KeyNeeds::new(),
            outside_dimension: options.dimension.filter(|_| matches!(options.secret, SecretName::Outside(_))),
            key_bytes: 0,
            nanoseconds: 0.0,
            error: f64::INFINITY,
        };
        let mut priced = midpoints.into_iter().map(|ranks| plan.price_packing(ranks)).collect::<Result<Vec<_>, _>>()?;
        priced.sort_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
        let least = priced.iter().map(|cost| cost.key_bytes).min().unwrap_or(0);
        // The keys of packing lead to the ephemeral secret, and so the bootstrap has no key that does.
        let change = Operation::ChangeSecret(SecretName::Main, SecretName::Ephemeral);
        let spared = match target.encapsulation() {
            Some(_) => target.operation_definition(change, Level(0))?.bytes(Level(0))?,
            None => 0,
        };
        if let Some(most) = options.most_key_bytes {
            plan.half = half(Some((most + spared).saturating_sub(least))).map_err(|error| match error {
                CkksError::OutOfRange { what, remedy, .. } => {
                    let remedy = format!("{remedy} for the bootstrap alone, and {least} for packing");
                    CkksError::OutOfRange { what, value: most.to_string(), remedy }
                }
                other => other,
            })?;
        }
        let (half_time, half_keys) = {
            let recording = plan.half.dry_run()?;
            let bytes = recording.keys(&target)?.bytes(&target)?.saturating_sub(spared);
            (recording.cost().nanoseconds * plan.polys(count) as f64, bytes)
        };
        let fits = |cost: &PackingCost| options.most_key_bytes.is_none_or(|most| cost.key_bytes + half_keys <= most);
        let refused = || CkksError::OutOfRange {
            what: "the bytes of the keys",
            value: options.most_key_bytes.unwrap_or(0).to_string(),
            remedy: format!("allow at least {} bytes: {half_keys} for the bootstrap and {least} for packing", half_keys + least),
        };
        let fastest = priced.iter().find(|cost| fits(cost)).ok_or_else(refused)?.nanoseconds;
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
            return Err(CkksError::OutOfRange { what: "the seconds of a bootstrap of samples", value: seconds.to_string(), remedy });
        }
        let near = |cost: &PackingCost| fits(cost) && half_time + cost.nanoseconds <= most;
        let near = priced.iter().enumerate().filter(|(_, cost)| near(cost));
        let place = near.min_by_key(|(_, cost)| cost.key_bytes).map_or(0, |(place, _)| place);
        plan.packing = priced.remove(place);
        plan.others = priced;
        plan.steps = plan.steps_of(&plan.packing)?;
        let recorder = Evaluator::recording(&target);
        let symbol = recorder.take_encrypted(plan.symbol(plan.secret, count)?, Some(1.0), plan.sample_variance())?;
        recorder.bootstrap_samples(&symbol, &plan)?;
        let needs = recorder.needs();
        plan.key_bytes = target.required_keys(&needs)?.bytes(&target)?;
        plan.nanoseconds = recorder.recorded().cost().nanoseconds;
        plan.needs = plan.at_home(needs.clone());
        plan.own_needs = needs;
        // The bootstrap has no change to the ephemeral secret.
        let own = plan.half.predicted_error()?;
        plan.error = (own.deviation().powi(2) - own.encapsulation + plan.packing.error.powi(2)).sqrt();
        Ok(plan)
    }

    /// Time, keys and error of packing alone.
    fn price_packing(&self, ranks: Vec<usize>) -> Result<PackingCost, CkksError> {
        let target = self.half.params();
        let mut cost = PackingCost { method: PackingMethod::Midpoints(ranks), nanoseconds: 0.0, key_bytes: 0, error: 0.0 };
        let recorder = Evaluator::recording(target);
        let x = recorder.take_encrypted(self.symbol(self.secret, self.count)?, Some(1.0), self.sample_variance())?;
        let steps = self.steps_of(&cost)?;
        recorder.packed_samples(&[&x], self, &steps)?;
        cost.error = self.packing_error(&steps)?;
        cost.nanoseconds = recorder.recorded().cost().nanoseconds;
        cost.key_bytes = target.required_keys(&recorder.needs())?.bytes(target)?;
        Ok(cost)
    }

    /// The variance of a sample's error: that of its encryption, or for samples of another library at most what switching its modulus adds.
    fn sample_variance(&self) -> f64 {
        match self.secret {
            SecretName::Outside(_) => (self.samples.rank() + 1) as f64 / 12.0,
            _ => self.samples.noise_model().fresh_secret(),
        }
    }

    /// The root mean square error of a number behind these steps: that of the sample, and of each step the noise of its key and the rounding under the secret of the result.
    fn packing_error(&self, steps: &[PackingStep]) -> Result<f64, CkksError> {
        let target = self.half.params();
        let onto = self.packed_secret();
        let rounding = target.encapsulation().map_or_else(|| target.noise_model().rounding(), |own| (1 + own.weight) as f64 / 12.0);
        let mut variance = self.sample_variance();
        for (number, step) in steps.iter().enumerate() {
            let from = ModuleShape { degree: step.degree(), rank: step.rank() };
            let under = if number == 0 { self.secret } else { onto };
            variance += target.operation_variance(Operation::Pack { from, to: step.target(), under, onto }, Level(0))? + rounding;
        }
        Ok(variance.sqrt() / self.scale())
    }

    /// The secret that samples are packed under.
    fn packed_secret(&self) -> SecretName {
        if self.half.params().encapsulation().is_some() { SecretName::Ephemeral } else { SecretName::Main }
    }

    fn steps_of(&self, cost: &PackingCost) -> Result<Vec<PackingStep>, CkksError> {
        let ranks = if let PackingMethod::Midpoints(ranks) = &cost.method { ranks.as_slice() } else { &[] };
        self.samples.packing_steps_to(self.half.params(), ranks)
    }

    /// Needs at the shape of the ring, for the parameters that the plan was made with.
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

    /// The layout of samples as an array of this shape.
    fn layout_of(&self, shape: &[usize]) -> Result<Layout, CkksError> {
        let degree = self.samples.degree();
        let order = if degree == 1 { Order::Natural } else { Order::BitReversed };
        Ok(Layout::new(shape, Encoding::Coefficients, degree)?.with_order(order))
    }

    /// Ciphertexts that `count` numbers are packed to.
    fn polys(&self, count: usize) -> usize {
        let in_each = if self.half.is_real() { self.half.slots() } else { 2 * self.half.slots() };
        count.div_ceil(in_each)
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

    /// The numbers that the prediction is for.
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

    /// The second part of the circuit.
    #[must_use]
    pub fn half_bootstrap(&self) -> &BootstrapPlan {
        &self.half
    }

    /// The keys, stated for the shape of the parameters that the plan was made with.
    #[must_use]
    pub fn needs(&self) -> &KeyNeeds {
        &self.needs
    }

    /// The keys for samples under each of these secrets, the main one or devices', and under the plan's own: for each a key of the first step of packing.
    ///
    /// # Errors
    /// As [`SamplesPlan::check_secret`].
    pub fn needs_of(&self, secrets: &[SecretName]) -> Result<KeyNeeds, CkksError> {
        Ok(self.at_home(self.own_needs_of(secrets)?))
    }

    fn own_needs_of(&self, secrets: &[SecretName]) -> Result<KeyNeeds, CkksError> {
        secrets.iter().try_for_each(|&secret| self.check_secret(secret))?;
        let recorder = Evaluator::recording(self.half.params());
        for &secret in secrets {
            let x = recorder.take_symbol(self.symbol(secret, self.samples.degree())?, Some(1.0))?;
            recorder.packed_samples(&[&x], self, &self.steps)?;
        }
        Ok(recorder.needs().merge(&self.own_needs))
    }

    /// Refuses keys that do not serve samples under these secrets, before there are samples.
    ///
    /// # Errors
    /// [`CkksError::MissingKeys`], with all that are missing; as [`SamplesPlan::check_secret`].
    pub fn check_keys(&self, keys: &EvaluationKeys, secrets: &[SecretName]) -> Result<(), CkksError> {
        let target = self.half.params();
        keys.check_needs(target, OPERATION, &self.own_needs_of(secrets)?, target.slot_count())
    }

    /// Refuses a secret whose samples this plan cannot pack.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for other secrets than the plan's own, the main one and devices'; [`CkksError::InvalidParams`], [`CkksError::Insecure`] where the dimension is not secure for
    /// samples under it.
    pub fn check_secret(&self, secret: SecretName) -> Result<(), CkksError> {
        if secret == self.secret {
            return Ok(());
        }
        if !matches!(secret, SecretName::Main | SecretName::Device(_)) || matches!(self.secret, SecretName::Outside(_)) {
            let remedy = format!(
                "this plan is for samples under \"{}\"; those of the owner's secret and of devices alone are packed together",
                self.secret
            );
            return Err(CkksError::OutOfRange { what: "the secret of the samples", value: secret.to_string(), remedy });
        }
        self.samples.check_fresh(secret, Level(0))
    }

    /// Bytes of all keys in memory.
    #[must_use]
    pub fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Predicted nanoseconds of the whole for [`SamplesPlan::count`] numbers, one thread.
    #[must_use]
    pub fn predicted_nanoseconds(&self) -> f64 {
        self.nanoseconds
    }

    /// The predicted root mean square error of a number, that of its encryption included.
    #[must_use]
    pub fn predicted_error(&self) -> f64 {
        self.error
    }

    /// Packing with its predicted time, keys and error.
    #[must_use]
    pub fn packing(&self) -> &PackingCost {
        &self.packing
    }

    /// How light clients encrypt for this plan; `precision_bits` as in [`LightOptions`].
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

    /// Samples of another library, as [`Params::outside_samples`] takes them in, for this plan.
    ///
    /// # Errors
    /// [`CkksError::Conversion`] for samples of another secret or dimension than the plan's; as [`Params::outside_samples`].
    pub fn outside_samples(&self, key_id: KeyId, samples: &OutsideSamples<'_>) -> Result<Ciphertext, CkksError> {
        let secret = SecretName::Outside(samples.secret);
        if self.outside_dimension != Some(samples.dimension) || secret != self.secret {
            let reason = format!(
                "the plan is for samples of dimension {} under the secret \"{}\"; these are of dimension {} under \"{secret}\"",
                self.outside_dimension.unwrap_or_else(|| self.samples.shape().dimension()),
                self.secret,
                samples.dimension
            );
            return Err(CkksError::Conversion { operation: OPERATION, reason });
        }
        self.half.params().outside_samples(key_id, samples)
    }

    /// What the plan does and what it did not choose: predicted times, keys, precision and failure.
    #[must_use]
    pub fn explain(&self) -> String {
        const MIB: f64 = (1 << 20) as f64;
        let under = if self.secret == SecretName::Main { String::new() } else { format!(" under {}", self.secret) };
        format!(
            "{} numbers from samples of shape {}{under} at scale 2^{:.2} to {} {} slots in each of {} ciphertexts, level {}\n  \
             {:.1} ms, of which packing {:.1}; keys {:.1} MiB, of which packing {:.1}; {:.1} bits of precision; failure 2^{:.1} for each ciphertext\n\
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
            self.packing.table(&self.others),
        )
    }

    /// The layout of the result.
    fn result_layout(&self, count: usize) -> Result<Layout, CkksError> {
        let (degree, slots) = (self.half.params().degree(), self.half.slots());
        let length = if self.pairs { count.div_ceil(2) } else { count };
        let layout = Layout::new(&[length], Encoding::Slots, degree)?;
        if self.pairs { layout.with_complex()?.with_capacity(slots) } else { layout.with_capacity(slots) }
    }

    /// Where `count` numbers are among the coefficients: pairs in bit-reversed order, from which coefficients-to-slots makes the natural one. For each ciphertext the samples that it is
    /// packed from, by powers of `X`.
    pub(super) fn placed(&self, count: usize) -> Result<(Layout, Members), CkksError> {
        let (target, slots, degree) = (self.half.params(), self.half.slots(), self.samples.degree());
        let (polys, gap) = (self.polys(count), target.degree() / degree);
        let layout = Layout::new(&[polys * slots], Encoding::Coefficients, target.degree())?;
        let layout = layout.with_complex()?.with_capacity(slots)?.with_order(Order::BitReversed);
        let (stride, half) = (layout.stride(), target.degree() / 2);
        let mut members = vec![vec![None; gap]; polys];
        if degree > 1 {
            let in_each = 2 * slots / degree;
            for sample in 0..count / degree {
                members[sample / in_each][stride * bit_reverse(sample % in_each, in_each.trailing_zeros())] = Some(sample);
            }
            return Ok((layout, members));
        }
        let place = |t: usize| stride * bit_reverse(t, slots.trailing_zeros());
        for entry in 0..count {
            let (poly, part, t) = match (self.pairs, self.half.is_real()) {
                (true, _) => (entry / (2 * slots), entry % 2, entry / 2 % slots),
                (false, true) => (entry / slots, 0, entry % slots),
                (false, false) => (entry / (2 * slots), entry / slots % 2, entry % slots),
            };
            members[poly][part * half + place(t)] = Some(entry);
        }
        Ok((layout, members))
    }

    /// Refuses a client whose samples the plan, with keys of the owner `owner` for samples under `secrets`, is not for.
    ///
    /// # Errors
    /// [`CkksError::WrongSecret`] for a client of another owner; as [`Evaluator::bootstrap_samples`] for a sample of the client.
    pub fn check_client(&self, receiver: &Receiver, owner: KeyId, secrets: &[SecretName]) -> Result<(), CkksError> {
        if receiver.key_id() != owner {
            return Err(CkksError::WrongSecret {
                what: "a light client",
                found: receiver.key_id().to_string(),
                expected: owner.to_string(),
            });
        }
        secrets.iter().try_for_each(|&secret| self.check_secret(secret))?;
        let sample = receiver.masks(0..1)?;
        let secret = secrets.iter().find(|&&secret| secret == sample.secret()).or(secrets.first()).copied().unwrap_or(self.secret);
        self.check(&sample, secret)
    }

    /// Refuses samples that the plan is not for, or that are under another secret.
    fn check(&self, x: &Ciphertext, secret: SecretName) -> Result<(), CkksError> {
        let (own, planned) = (x.params().shape(), self.samples.shape());
        if own != planned || x.secret() != secret {
            let reason = format!(
                "the plan is for samples of shape {planned} under the secret \"{secret}\", not {own} under \"{}\": make one for those",
                x.secret()
            );
            return Err(CkksError::Conversion { operation: OPERATION, reason });
        }
        x.params().check_same(&self.samples, "the plan of a bootstrap of samples")?;
        if !x.layout().same_places(&self.layout_of(x.shape())?) {
            let reason = format!(
                "samples of degree {} hold real numbers as the plan's `client_options` place them; these are {}",
                planned.degree,
                x.layout()
            );
            return Err(CkksError::Conversion { operation: OPERATION, reason });
        }
        if x.level() != Level(0) {
            return Err(CkksError::LevelTooHigh { operation: OPERATION, shape: own, level: x.level().0, most: 0 });
        }
        if !same_scale(x.scale(), self.scale()) {
            return Err(CkksError::ScaleMismatch { left: x.scale().log2(), right: self.scale().log2() });
        }
        Ok(())
    }
}

/// The parameters of the samples.
fn sample_params(target: &Params, options: &SamplesOptions) -> Result<Params, CkksError> {
    let most = target.degree();
    if !options.degree.is_power_of_two() || options.degree >= most {
        let remedy = format!("use a power of two below {most}");
        return Err(CkksError::OutOfRange { what: "the degree of the samples", value: options.degree.to_string(), remedy });
    }
    if !matches!(options.secret, SecretName::Main | SecretName::Device(_) | SecretName::Outside(_)) {
        return Err(CkksError::OutOfRange {
            what: "the secret of the samples",
            value: options.secret.to_string(),
            remedy: "use the main secret, a device's, or one of another library".to_owned(),
        });
    }
    let of = |dimension: usize| {
        let samples = target.for_samples(ModuleShape { degree: options.degree, rank: dimension / options.degree })?;
        if !matches!(options.secret, SecretName::Outside(_)) {
            samples.check_fresh(options.secret, Level(0))?;
        }
        Ok(samples)
    };
    if let SecretName::Outside(_) = options.secret {
        let Some(dimension) = options.dimension.filter(|&dimension| options.degree == 1 && (1..=most).contains(&dimension)) else {
            let value = options.dimension.map_or_else(|| "not said".to_owned(), |dimension| dimension.to_string());
            let remedy = format!("say 1 to {most}, the length of the secret, for samples of degree 1");
            return Err(CkksError::OutOfRange { what: "the dimension of samples of another library", value, remedy });
        };
        return of(dimension.next_power_of_two());
    }
    if let Some(dimension) = options.dimension {
        if dimension == 0 || dimension > most || !dimension.is_multiple_of(options.degree) {
            let remedy = format!("use a multiple of the degree {} up to {most}", options.degree);
            return Err(CkksError::OutOfRange { what: "the dimension of the samples", value: dimension.to_string(), remedy });
        }
        return of(dimension);
    }
    let mut dimension = options.degree;
    while dimension < most {
        if let Ok(samples) = of(dimension) {
            return Ok(samples);
        }
        dimension *= 2;
    }
    of(most)
}

impl Evaluator {
    /// The numbers of LWE or MLWE samples in slots, at the level of a bootstrapped array: packed, and bootstrapped by the second half of a bootstrap. [hermes, sec. 4.5]
    ///
    /// The result is a vector of the samples' numbers in their order, real, or with [`SamplesOptions::pairs`] complex, with two consecutive numbers in each slot.
    /// Range: numbers of magnitude at most 1. A sample with a wrong or a large number damages its own place, and the places of its ciphertext where it exceeds the range by far.
    ///
    /// # Errors
    /// [`CkksError::Conversion`] for samples of another shape, secret or layout than the plan's; [`CkksError::LevelTooHigh`], [`CkksError::ScaleMismatch`]; [`CkksError::WrongParams`];
    /// errors of missing keys; [`CkksError::NotEnoughMemory`].
    pub fn bootstrap_samples(&self, x: &Ciphertext, plan: &SamplesPlan) -> Result<Ciphertext, CkksError> {
        let packed = self.pack_samples(x, plan)?;
        self.raise_samples(&packed, x.shape().iter().product(), plan)
    }

    /// As [`Evaluator::bootstrap_samples`], for arrays of samples under several secrets, the main one and devices': one vector, of the first array's numbers first. Each array is packed with the
    /// first key of its secret ([`SamplesPlan::needs_of`]) and adds the error of packing once.
    ///
    /// # Errors
    /// As [`Evaluator::bootstrap_samples`] and [`SamplesPlan::check_secret`]; [`CkksError::NoTerms`] without arrays.
    pub fn bootstrap_samples_of(&self, arrays: &[&Ciphertext], plan: &SamplesPlan) -> Result<Ciphertext, CkksError> {
        if arrays.is_empty() {
            return Err(CkksError::NoTerms { operation: OPERATION });
        }
        let mut count = 0;
        for x in arrays {
            plan.check_secret(x.secret())?;
            self.check(x)?;
            plan.check(x, x.secret())?;
            count += x.shape().iter().product::<usize>();
        }
        self.raise_samples(&self.packed_samples(arrays, plan, &plan.steps)?, count, plan)
    }

    /// The second part of [`Evaluator::bootstrap_samples`]: `count` numbers that [`Evaluator::pack_samples`] packed, from coefficients to slots.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for another number of ciphertexts than hold this count; [`CkksError::NotEnoughMemory`]; as [`Evaluator::half_bootstrap`].
    pub fn raise_samples(&self, packed: &Ciphertext, count: usize, plan: &SamplesPlan) -> Result<Ciphertext, CkksError> {
        if packed.layout().bundles() != plan.polys(count) {
            let remedy = "give the count of the samples that were packed".to_owned();
            return Err(CkksError::Shape { operation: OPERATION, left: packed.shape().to_vec(), right: vec![count], remedy });
        }
        if self.held().is_some() && !packed.is_symbol() {
            check_free(OPERATION, plan.half.memory_bytes(plan.polys(count))?, "bootstrap fewer samples at once, or free memory")?;
        }
        let bounds = packed.estimate().map(|own| plan.half.bounds(own)).transpose()?;
        let layout = plan.result_layout(count)?;
        let shape = vec![layout.columns];
        if plan.pairs {
            return Ok(self.half_bootstrap(packed, &plan.half)?.rearranged(shape, layout).bounded_by(bounds));
        }
        let parts = self.half_bootstrap_apart(packed, &plan.half)?;
        let [first, rest @ ..] = &parts[..] else { return Err(CkksError::NoTerms { operation: OPERATION }) };
        let mut bundles = Vec::with_capacity(layout.bundles());
        for (index, real) in first.bundles().iter().enumerate() {
            bundles.push(real.clone());
            bundles.extend(rest.iter().map(|imaginary| imaginary.bundles()[index].clone()));
        }
        // Of an odd number of parts the last one is empty.
        bundles.truncate(layout.bundles());
        Ok(first.with_all((first.params(), shape), layout, bundles, (first.level(), first.scale())).bounded_by(bounds))
    }

    /// The first part of [`Evaluator::bootstrap_samples`]: the samples as pairs of coefficients at level 0, under the secret that the modulus is raised under.
    ///
    /// # Errors
    /// As [`Evaluator::bootstrap_samples`].
    pub fn pack_samples(&self, x: &Ciphertext, plan: &SamplesPlan) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        plan.check(x, plan.secret)?;
        self.packed_samples(&[x], plan, &plan.steps)
    }

    /// The samples of all arrays, one after the other, as coefficients at level 0, under the secret that the modulus is raised under.
    fn packed_samples(&self, arrays: &[&Ciphertext], plan: &SamplesPlan, steps: &[PackingStep]) -> Result<Ciphertext, CkksError> {
        let target = plan.half.params();
        let onto = plan.packed_secret();
        let numbers = |x: &Ciphertext| x.shape().iter().product::<usize>();
        let (layout, members) = plan.placed(arrays.iter().map(|x| numbers(x)).sum())?;
        self.stage(PACKING, || {
            let (mut sum, mut first): (Option<Ciphertext>, usize) = (None, 0);
            for x in arrays {
                let behind = first + numbers(x) / plan.samples.degree();
                let own = |sample: &Option<usize>| sample.filter(|sample| (first..behind).contains(sample)).map(|sample| sample - first);
                let members: Members = members.iter().map(|members| members.iter().map(own).collect()).collect();
                let packed = Packed { target: target.clone(), onto, shape: vec![layout.columns], layout };
                let packed = self.pack_as(x, steps, &packed, members)?;
                sum = Some(match sum {
                    Some(sum) => self.add(&sum, &packed)?,
                    None => packed,
                });
                first = behind;
            }
            sum.ok_or(CkksError::NoTerms { operation: OPERATION })
        })
    }
}
