//! Parameter sets of one secret: a root, and its relatives of other degrees and ranks over the same moduli.
//!
//! All members share primes and canonical scales. Each member has its own shape, highest level and switchers.
//! The secret of a relative is the root's secret, split, combined or cut
//! ([`SecretKey::relative`](crate::SecretKey)).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use clathrate_arith::Isa;
use clathrate_lattice::gadget::DIGIT_SLACK_BITS;
use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::security::{estimated_bits, max_log2_qp, nearest_covered};
use clathrate_lattice::switch::{
    DEFAULT_DERIVED_KEY_BYTES, DerivedKeyCache, Planner, SwitchMethod, SwitchPolicy,
};
use clathrate_lattice::{Basis, Chain, Gadget, Level, Ring, SecretDistribution, Switcher};

use super::key_switching::{KeyModulus, KeySwitching, KeySwitchings, RAISE_STEP_BITS};
use super::presets;
use super::primes::{self, Primes};
use super::runtime::DEFAULT_TABLE_BYTES;
use super::scales::{self, ScaleWarning, Sizes};
use super::segments::Segments;
use super::spec::{
    EPHEMERAL_SPECIAL, LARGEST_DEGREE, LOG2_FAILURE, MIN_DEGREE, MIN_PRIMES, PAPER_SECURITY_BITS, part_of,
    temporary_distribution,
};
use super::switching_report::PlannerSettings;
use super::{EngineRequest, Inner, Params, ParamsSpec, ProfileOrigin, Runtime, SECURITY_BITS, Switching};
use crate::cost::KnownFigures;
use crate::embedding::Encoder;
use crate::error::CkksError;
use crate::shape::ModuleShape;
use crate::tune::{self, StoredProfile};

/// The temporary rank of one parameter set. [dpad-he, sec. 3.2]
#[derive(Debug)]
pub struct Temporary {
    /// `k^`.
    pub rank: usize,
    /// The highest level at which keys of the ordinary rank are secure over the widened chain. Up to this
    /// level, products use a direct key with the few digits of the widened chain and need no rank-down.
    pub direct_level: Option<Level>,
}

/// The data that the members of a family share.
pub(super) struct Family {
    spec: ParamsSpec,
    primes: Primes,
    auxiliary: usize,
    moduli: Vec<u64>,
    isa: Isa,
    threads: usize,
    runtime: Runtime,
    planning: PlannerSettings,
    forms: Arc<DerivedKeyCache>,
    segments: Segments,
    /// Canonical scale of each level.
    scales: Vec<f64>,
    /// The segments on which repeated products of ciphertexts collapse.
    scale_warnings: Vec<ScaleWarning>,
    /// Estimated bits of security of the root.
    security_bits: f64,
    digest: [u8; 32],
    chains: Mutex<BTreeMap<usize, Arc<Chain>>>,
    members: Mutex<BTreeMap<ModuleShape, Weak<Inner>>>,
    /// The same set under other runtimes.
    siblings: Arc<Mutex<Vec<Weak<Family>>>>,
}

impl Family {
    pub(super) fn new(spec: ParamsSpec, runtime: &Runtime) -> Result<Arc<Self>, CkksError> {
        let family = Arc::new(Self::alone(spec, runtime)?);
        family.siblings.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&family));
        Ok(family)
    }

    /// The same set under another runtime. It is made once and shared while it is in use.
    pub(super) fn under(self: &Arc<Self>, runtime: &Runtime) -> Result<Arc<Self>, CkksError> {
        let mut siblings = self.siblings.lock().unwrap_or_else(PoisonError::into_inner);
        siblings.retain(|family| family.strong_count() > 0);
        if let Some(family) =
            siblings.iter().filter_map(Weak::upgrade).find(|family| family.runtime == *runtime)
        {
            return Ok(family);
        }
        let family =
            Arc::new(Self { siblings: self.siblings.clone(), ..Self::alone(self.spec.clone(), runtime)? });
        siblings.push(Arc::downgrade(&family));
        Ok(family)
    }

    fn alone(spec: ParamsSpec, runtime: &Runtime) -> Result<Self, CkksError> {
        spec.check()?;
        spec.check_tables(runtime.table_bytes.unwrap_or(DEFAULT_TABLE_BYTES))?;
        let mut spec = spec.normalised();
        let segments = Segments::new(&spec.segments, spec.steps.len() - 1, spec.log2_scale);
        let primes = primes::choose(&spec, &segments)?;
        let (log2, fixed) = (
            |moduli: &[u64]| moduli.iter().map(|&q| (q as f64).log2()).sum::<f64>(),
            primes.moduli.len() - primes.temporary,
        );
        let log2_qp = log2(&primes.moduli[..fixed]);
        let mut security_bits = estimated_bits(spec.shape().dimension(), log2_qp, spec.distribution());
        check_security(&spec, security_bits, spec.shape().dimension(), log2_qp, None)?;
        if let Some(rank) = spec.temporary_rank {
            let (dimension, log2_qp) = (spec.degree * rank, log2(&primes.moduli));
            let bits = estimated_bits(dimension, log2_qp, temporary_distribution(&spec, spec.shape(), rank));
            check_security(&spec, bits, dimension, log2_qp, Some(rank))?;
            security_bits = security_bits.min(bits);
        }
        if let Some(weight) = spec.ephemeral_weight {
            let base = spec.steps[0].len();
            let first = primes.moduli.len() - primes.temporary - spec.special.len();
            let special = ephemeral_special(&spec, &(first..first + spec.special.len()).collect::<Vec<_>>());
            let log2_qp = log2(&primes.moduli[..base]) + log2(&primes.moduli[special]);
            let (dimension, distribution) =
                (spec.shape().dimension(), SecretDistribution::FixedWeight(weight));
            let bits = estimated_bits(dimension, log2_qp, distribution);
            if bits < SECURITY_BITS && !spec.insecure && !(spec.below_128 && bits >= PAPER_SECURITY_BITS) {
                let headroom = max_log2_qp(dimension, 128, distribution)
                    .map_or_else(|| "none".to_owned(), |headroom| format!("{headroom:.0} bits"));
                let remedy = format!(
                    "{}raise `ephemeral_weight`, or take special primes away with `ephemeral_special`: weight {weight} has room for {headroom}",
                    nearest_in_words(bits, dimension, distribution)
                );
                let distribution = format!("ephemeral secret of weight {weight}");
                return Err(CkksError::Insecure { bits, dimension, log2_qp, distribution, remedy });
            }
            security_bits = security_bits.min(bits);
        }
        if security_bits >= SECURITY_BITS {
            // A secure set drops flags that it does not need, so that one set has one specification.
            (spec.insecure, spec.below_128) = (false, false);
        }
        presets::check_name(&spec)?;
        let isa = runtime.processor_isa()?;
        let threads = runtime.threads.unwrap_or(1).max(1);
        let planning = planning(runtime)?;
        let auxiliary = primes::auxiliary(&spec, &primes)?;
        let moduli: Vec<u64> = primes.moduli.iter().chain(&auxiliary).copied().collect();
        let forms =
            Arc::new(DerivedKeyCache::new(runtime.key_cache_bytes.unwrap_or(DEFAULT_DERIVED_KEY_BYTES)));
        let mut family = Self {
            primes,
            auxiliary: auxiliary.len(),
            moduli,
            isa,
            threads,
            runtime: runtime.clone(),
            planning,
            forms,
            segments,
            scales: Vec::new(),
            scale_warnings: Vec::new(),
            security_bits,
            digest: [0; 32],
            chains: Mutex::default(),
            members: Mutex::default(),
            siblings: Arc::default(),
            spec,
        };
        let chain = family.chain(family.spec.degree)?;
        family.scales = scales::canonical_scales(&chain, &family.segments);
        let rounding = noise_model(family.root_shape(), family.spec.distribution()).rounding();
        family.scale_warnings =
            Sizes::new(&chain, &family.scales, rounding).check_products(&family.segments)?;
        family.digest =
            digest(&family.spec, &family.segments, &family.primes, family.gadget(&chain)?.as_deref());
        Ok(family)
    }

    pub(super) fn root_shape(&self) -> ModuleShape {
        self.spec.shape()
    }

    pub(super) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    pub(super) fn scale(&self, level: Level) -> f64 {
        self.scales[level.0]
    }

    pub(super) fn segments(&self) -> &Segments {
        &self.segments
    }

    pub(super) fn scale_warnings(&self) -> &[ScaleWarning] {
        &self.scale_warnings
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(super) fn planning(&self) -> &PlannerSettings {
        &self.planning
    }

    /// The distribution of a secret of `shape`. A part of a root secret of fixed weight has, on average, a
    /// proportional part of the weight.
    pub(super) fn distribution(&self, shape: ModuleShape) -> SecretDistribution {
        part_of(self.spec.distribution(), shape.dimension(), self.root_shape().dimension())
    }

    /// [`Family::distribution`] with the smallest weight to expect of a part that was cut from a secret of
    /// fixed weight: six standard deviations below the mean.
    pub(super) fn least_weight(&self, shape: ModuleShape) -> SecretDistribution {
        let share = shape.dimension() as f64 / self.root_shape().dimension() as f64;
        match self.spec.distribution() {
            SecretDistribution::FixedWeight(weight) if share < 1.0 => {
                let (mean, deviation) =
                    (weight as f64 * share, (weight as f64 * share * (1.0 - share)).sqrt());
                SecretDistribution::FixedWeight((mean - 6.0 * deviation).max(1.0) as usize)
            }
            whole => whole,
        }
    }

    /// The member of `shape`. It is made unless someone still holds it.
    pub(super) fn member(self: &Arc<Self>, shape: ModuleShape) -> Result<Params, CkksError> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inner) = members.get(&shape).and_then(Weak::upgrade) {
            return Ok(Params(inner));
        }
        let inner = Arc::new(self.build(shape)?);
        members.insert(shape, Arc::downgrade(&inner));
        Ok(Params(inner))
    }

    /// Refuses shapes that no move leads to.
    fn check_shape(&self, shape: ModuleShape) -> Result<(), CkksError> {
        let root = self.root_shape();
        let refuse = |reason: String| Err(CkksError::InvalidParams { reason });
        if !shape.degree.is_power_of_two() || shape.degree > LARGEST_DEGREE {
            return refuse(format!(
                "degree {} is not a power of two from 1 to {LARGEST_DEGREE}",
                shape.degree
            ));
        }
        if shape.degree > self.spec.largest_degree() {
            return refuse(format!(
                "degree {} cannot be reached from degree {} and rank {}: the rank's power of two allows degrees up to {}",
                shape.degree,
                root.degree,
                root.rank,
                self.spec.largest_degree()
            ));
        }
        let most = root.dimension() / shape.degree;
        if shape.rank == 0 || shape.rank > most {
            return refuse(format!(
                "rank {} is out of range at degree {}: these parameters have 1 to {most} there",
                shape.rank, shape.degree
            ));
        }
        Ok(())
    }

    /// The chain at `degree`, with all moduli of the family.
    fn chain(&self, degree: usize) -> Result<Arc<Chain>, CkksError> {
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chain) = chains.get(&degree) {
            return Ok(chain.clone());
        }
        let request = EngineRequest { degree, moduli: &self.moduli, isa: self.isa, threads: self.threads };
        let ring = Ring::with_engine(self.runtime.engine_for(&request)?);
        let chain = Arc::new(Chain::with_temporary(
            ring,
            &self.primes.step_lengths,
            self.primes.temporary,
            self.auxiliary,
        )?);
        chains.insert(degree, chain.clone());
        Ok(chain)
    }

    fn gadget(&self, chain: &Chain) -> Result<Option<Arc<Gadget>>, CkksError> {
        if chain.special_basis().is_empty() {
            return Ok(None);
        }
        let most = chain.special_basis().log2(chain.ring()) + DIGIT_SLACK_BITS;
        let gadget = Gadget::by_bits(chain, self.spec.digit_bits.unwrap_or(most));
        gadget.check(chain, most)?;
        Ok(Some(Arc::new(gadget)))
    }

    /// The bits of security that relatives must have: the root's, but at most 128.
    pub(super) fn wanted_bits(&self) -> f64 {
        self.security_bits.min(SECURITY_BITS)
    }

    /// The cache of derived keys; the family has one budget for it.
    pub(super) fn key_cache(&self) -> &Arc<DerivedKeyCache> {
        &self.forms
    }

    /// The highest level up to `most` at which a modulus of `log2(level)` bits has the family's security at
    /// `shape`, for secrets of this distribution.
    pub(super) fn secure_level(
        &self,
        shape: ModuleShape,
        distribution: SecretDistribution,
        log2: &dyn Fn(usize) -> f64,
        most: Level,
    ) -> Result<Option<Level>, CkksError> {
        let (wanted, root) = (self.wanted_bits(), self.chain(self.spec.degree)?);
        let share = shape.dimension() as f64 / self.root_shape().dimension() as f64;
        // A set below 128 bits also limits the ratio of modulus to dimension to its own, because an estimate
        // of 0 bits would allow every modulus.
        let limit = if wanted < SECURITY_BITS {
            share * root.key_basis(root.max_level()).log2(root.ring())
        } else {
            f64::INFINITY
        };
        let secure = |&level: &usize| {
            log2(level) <= limit && estimated_bits(shape.dimension(), log2(level), distribution) >= wanted
        };
        Ok((0..=most.0).rev().find(secure).map(Level))
    }

    /// The highest level of `shape`, and the reason if it has no keys. The level is the highest one at which
    /// keys have the family's security, or else the highest one at which samples under uniform secrets have
    /// it. Relatives of an insecure set keep at most its ratio of modulus to dimension.
    pub(super) fn highest_level(
        &self,
        chain: &Chain,
        shape: ModuleShape,
    ) -> Result<(Level, Option<String>), CkksError> {
        if shape.dimension() == self.root_shape().dimension() {
            return Ok((chain.max_level(), None));
        }
        let distribution = self.least_weight(shape);
        let log2 = |level: usize| chain.key_basis(Level(level)).log2(chain.ring());
        if let Some(level) = self.secure_level(shape, distribution, &log2, chain.max_level())? {
            return Ok((level, None));
        }
        let wanted = self.wanted_bits();
        let reason = format!(
            "no level is secure at degree {}, rank {}: level 0 with its special primes has log2 QP = {:.1}, {:.0} bits of security allow {} for a {}",
            shape.degree,
            shape.rank,
            log2(0),
            wanted,
            max_log2_qp(shape.dimension(), wanted.ceil() as u32, distribution).map_or_else(
                || format!(
                    "none (the nearest combination in the security table is {})",
                    nearest_covered(shape.dimension(), distribution)
                ),
                |most| format!("{most:.0}")
            ),
            secret_in_words(distribution)
        );
        // Even if no samples of our own are secure at this dimension, samples of another library, which
        // answers for their security, can be packed.
        Ok((
            self.samples_level(chain, shape, SecretDistribution::UniformTernary)?.unwrap_or(Level(0)),
            Some(reason),
        ))
    }

    /// The highest level at which samples of `shape` have the family's security under secrets of this
    /// distribution. Samples have no special primes.
    pub(super) fn samples_level(
        &self,
        chain: &Chain,
        shape: ModuleShape,
        distribution: SecretDistribution,
    ) -> Result<Option<Level>, CkksError> {
        let log2 = |level: usize| chain.basis(Level(level)).log2(chain.ring());
        self.secure_level(shape, distribution, &log2, chain.max_level())
    }

    fn build(self: &Arc<Self>, shape: ModuleShape) -> Result<Inner, CkksError> {
        self.check_shape(shape)?;
        let chain = self.chain(shape.degree)?;
        // Shapes below the least degree of a specification, down to LWE at degree 1, have ciphertexts but no
        // switching keys. The same holds for shapes whose dimension is too small for the modulus of keys.
        let (max_level, without_keys) = self.highest_level(&chain, shape)?;
        let gadget =
            if shape.degree < MIN_DEGREE || without_keys.is_some() { None } else { self.gadget(&chain)? };
        let mut security_bits = if without_keys.is_none() {
            estimated_bits(
                shape.dimension(),
                chain.key_basis(max_level).log2(chain.ring()),
                self.least_weight(shape),
            )
        } else {
            estimated_bits(
                shape.dimension(),
                chain.basis(max_level).log2(chain.ring()),
                SecretDistribution::UniformTernary,
            )
        };
        let mut switching = KeySwitchings::new();
        let mut temporary = None;
        if let Some(gadget) = &gadget {
            let found = self.temporary(&chain, shape, max_level)?;
            let quadratic = shape.rank * (shape.rank + 1) / 2;
            let inputs = match &found {
                Some((temporary, _)) if shape.rank > 1 => shape.rank.max(temporary.rank - shape.rank),
                _ => quadratic,
            };
            let switcher = self.switcher(&chain, gadget, inputs, shape.rank + 1)?;
            if let Switching::Fixed(choice) = self.runtime.switching {
                check_choice(&switcher, choice)?;
            }
            let base = KeySwitching::new(switcher, max_level, |_| security_bits);
            let mut all = vec![(KeyModulus::Base, Some(base))];
            if let Some((rank, widened)) = found {
                security_bits = security_bits.min(widened.security_bits);
                all.push((KeyModulus::Widened, Some(widened)));
                temporary = Some(rank);
            }
            let encapsulation = self.encapsulation(&chain, shape)?;
            if let Some(encapsulation) = &encapsulation {
                security_bits = security_bits.min(encapsulation.security_bits);
                all.push((KeyModulus::Raise, self.mapped_raise(&chain, security_bits)?));
            }
            all.push((KeyModulus::Encapsulation, encapsulation));
            all.push((KeyModulus::SmallerRing, self.smaller_ring(&chain, shape)?));
            switching.extend(all.into_iter().filter_map(|(modulus, own)| Some((modulus, own?))));
        }
        switching.extend(self.packing_ring(&chain, shape)?.map(|ring| (KeyModulus::Packing, ring)));
        let root = self.root_shape();
        let mut spec = self.spec.clone();
        let mut digest = self.digest;
        if shape != root {
            spec.relative = Some(shape);
            let mut hasher = blake3::Hasher::new_derive_key("clathrate relative parameters v1");
            hasher.update(&self.digest);
            [shape.degree, shape.rank, max_level.0].iter().for_each(|&word| {
                hasher.update(&(word as u64).to_le_bytes());
            });
            digest = *hasher.finalize().as_bytes();
        }
        let encoder = Encoder::new(shape.degree);
        Ok(Inner {
            family: self.clone(),
            spec,
            shape,
            max_level,
            chain,
            gadget,
            switching,
            temporary,
            without_keys,
            encoder,
            imaginary_unit: OnceLock::new(),
            security_bits,
            digest,
            known_figures: KnownFigures::default(),
        })
    }

    /// The tables of keys to the ephemeral secret. Relatives of a smaller dimension have none, because a
    /// weight that is secure at the root's dimension may not be secure at theirs.
    fn encapsulation(
        &self,
        chain: &Arc<Chain>,
        shape: ModuleShape,
    ) -> Result<Option<KeySwitching>, CkksError> {
        let Some(weight) =
            self.spec.ephemeral_weight.filter(|_| shape.dimension() == self.root_shape().dimension())
        else {
            return Ok(None);
        };
        let narrow = Arc::new(
            chain.narrowed(Level(0), ephemeral_special(&self.spec, chain.special_basis().indices()))?,
        );
        let gadget = Arc::new(Gadget::for_special_modulus(&narrow, DIGIT_SLACK_BITS)?);
        let policy = SwitchPolicy::Fixed(SwitchMethod::as_made(&narrow));
        let switcher = Switcher::with_policy(narrow, gadget, policy, shape.rank, self.forms.budget())?
            .sharing(self.forms.clone());
        let distribution = SecretDistribution::FixedWeight(weight);
        let bits = |log2_qp: f64| estimated_bits(shape.dimension(), log2_qp, distribution);
        Ok(Some(KeySwitching::new(switcher, Level(0), bits)))
    }

    /// The tables of keys that raise the modulus and apply a linear map. `None` if too few special primes
    /// remain after the step. The keys are under the main secret, over no more primes than its other keys.
    fn mapped_raise(
        &self,
        chain: &Arc<Chain>,
        security_bits: f64,
    ) -> Result<Option<KeySwitching>, CkksError> {
        let (ring, special) = (chain.ring(), chain.special_basis());
        let bits = |count: usize| Basis::new(special.indices()[..count].iter().copied()).log2(ring);
        let Some(count) = (1..special.len()).find(|&count| bits(count) >= RAISE_STEP_BITS) else {
            return Ok(None);
        };
        let raised = Arc::new(chain.with_lowest_special_step(count)?);
        let gadget = Arc::new(Gadget::single(&raised));
        let policy = SwitchPolicy::Fixed(SwitchMethod::as_made(&raised));
        let switcher = Switcher::with_policy(raised, gadget, policy, 1, self.forms.budget())?
            .sharing(self.forms.clone());
        let most = switcher.chain().max_level();
        Ok(Some(KeySwitching::new(switcher, most, |_| security_bits)))
    }

    /// The temporary rank of `shape`. The root has that of the specification. A relative has as many
    /// temporary primes as are secure at a rank of at most twice its own, and the least such rank.
    fn temporary(
        &self,
        chain: &Chain,
        shape: ModuleShape,
        level: Level,
    ) -> Result<Option<(Temporary, KeySwitching)>, CkksError> {
        let Some(rank) = self.spec.temporary_rank else { return Ok(None) };
        let bits = |rank: usize, primes: usize| -> Result<f64, CkksError> {
            let log2_qp = chain.widened(primes)?.key_basis(level).log2(chain.ring());
            // The additional polynomials have exactly their share of the weight. The secret that they extend
            // may have less than its average share.
            let distribution = match (
                temporary_distribution(&self.spec, shape, rank),
                self.distribution(shape),
                self.least_weight(shape),
            ) {
                (
                    SecretDistribution::FixedWeight(all),
                    SecretDistribution::FixedWeight(own),
                    SecretDistribution::FixedWeight(least),
                ) => SecretDistribution::FixedWeight((all + least).saturating_sub(own).max(1)),
                (uniform, ..) => uniform,
            };
            Ok(estimated_bits(shape.degree * rank, log2_qp, distribution))
        };
        let all = self.primes.temporary;
        let mut found = (shape == self.root_shape()).then_some((rank, all));
        for primes in (1..=all).rev() {
            for rank in shape.rank + 1..=2 * shape.rank {
                if found.is_none() && bits(rank, primes)? >= self.wanted_bits() {
                    found = Some((rank, primes));
                }
            }
        }
        let Some((rank, primes)) = found else { return Ok(None) };
        let wide = Arc::new(chain.widened(primes)?);
        let gadget = Arc::new(Gadget::for_special_modulus(&wide, DIGIT_SLACK_BITS)?);
        let log2 = |level: usize| wide.key_basis(Level(level)).log2(wide.ring());
        let direct_level = self.secure_level(shape, self.least_weight(shape), &log2, level)?;
        let quadratic = shape.rank * (shape.rank + 1) / 2;
        let switcher = self.switcher(&wide, &gadget, quadratic.max(rank), rank + 1)?;
        let security_bits = bits(rank, primes)?;
        let widened = KeySwitching::new(switcher, level, |_| security_bits);
        Ok(Some((Temporary { rank, direct_level }, widened)))
    }

    /// The switcher with the policy of the runtime.
    fn switcher(
        &self,
        chain: &Arc<Chain>,
        gadget: &Arc<Gadget>,
        inputs: usize,
        columns: usize,
    ) -> Result<Switcher, CkksError> {
        let base = chain.special_basis().len() == self.spec.special.len();
        let policy = match self.runtime.switching {
            // A fixed method refers to the ordinary special primes.
            Switching::Fixed(choice) if base => SwitchPolicy::Fixed(choice),
            Switching::AsMade | Switching::Fixed(_) => SwitchPolicy::Fixed(SwitchMethod::as_made(chain)),
            Switching::Fastest => SwitchPolicy::Planned(Planner::by_prices(columns, self.planning.expansion)),
            Switching::Tuned => SwitchPolicy::Planned(Planner::new(
                self.planning.profile.clone(),
                columns,
                self.planning.expansion,
            )),
        };
        let switcher =
            Switcher::with_policy(chain.clone(), gadget.clone(), policy, inputs, self.forms.budget())?;
        Ok(switcher.sharing(self.forms.clone()))
    }
}

/// The indices of the special primes of keys to the ephemeral secret: the first ones.
fn ephemeral_special(spec: &ParamsSpec, special: &[usize]) -> std::ops::Range<usize> {
    let (first, count) = (
        special.first().copied().unwrap_or(0),
        spec.ephemeral_special.unwrap_or(EPHEMERAL_SPECIAL).min(special.len()),
    );
    first..first + count
}

/// The machine model and the memory limit of the planner.
fn planning(runtime: &Runtime) -> Result<PlannerSettings, CkksError> {
    let expansion = runtime.expansion()?;
    if let Some(profile) = &runtime.profile {
        return Ok(PlannerSettings { profile: profile.clone(), origin: ProfileOrigin::Given, expansion });
    }
    Ok(match tune::stored(&runtime.kernels()?) {
        StoredProfile::Ready { path, profile } => {
            PlannerSettings { profile, origin: ProfileOrigin::Measured { path }, expansion }
        }
        other => PlannerSettings {
            profile: runtime.built_in_profile(),
            origin: ProfileOrigin::BuiltIn { note: other.to_string() },
            expansion,
        },
    })
}

/// Refuses a fixed method that is impossible at every level. A method that is impossible only at some levels
/// is refused when one of them is used.
fn check_choice(switcher: &Switcher, choice: SwitchMethod) -> Result<(), CkksError> {
    let chain = switcher.chain();
    let least = MIN_PRIMES;
    match choice.key_digit {
        Some(0) => {
            let remedy = "key digits have 1 prime or more".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the length of key digits",
                value: 0.to_string(),
                remedy,
            });
        }
        Some(_) if chain.auxiliary_basis().is_empty() => {
            let primes = chain.key_basis(chain.max_level()).len();
            let reason = format!(
                "KLSS switching needs a chain of {least} primes or more, this one has {primes}: use the hybrid method"
            );
            return Err(CkksError::InvalidParams { reason });
        }
        _ => {}
    }
    // The lowest level leaves the most primes free, so the method is tried there.
    switcher.tables_of_method(choice, Level(0), chain.max_level())?;
    Ok(())
}

/// Refuses keys with too few bits of security, at the ordinary or at a temporary rank.
fn check_security(
    spec: &ParamsSpec,
    bits: f64,
    dimension: usize,
    log2_qp: f64,
    temporary: Option<usize>,
) -> Result<(), CkksError> {
    if bits >= SECURITY_BITS || spec.insecure || (spec.below_128 && bits >= PAPER_SECURITY_BITS) {
        return Ok(());
    }
    let distribution = part_of(spec.distribution(), dimension, spec.shape().dimension());
    let headroom = max_log2_qp(dimension, 128, distribution);
    let nearest = nearest_in_words(bits, dimension, distribution);
    let remedy = match (temporary, headroom) {
        (Some(rank), headroom) => {
            let headroom =
                headroom.map_or_else(|| "nothing".to_owned(), |headroom| format!("{headroom:.0} bits"));
            format!(
                "temporary_rank {rank} has room for {headroom}: raise it to {} or take `temporary` primes away, or, for tests only, set insecure = true",
                rank + 1
            )
        }
        (None, Some(headroom)) => {
            format!(
                "shorten the chain to log2 QP <= {headroom:.0}, raise degree or rank, or, for tests only, set insecure = true"
            )
        }
        (None, None) if spec.secret_weight.is_some() => {
            "change secret_weight, degree or rank, or, for tests only, set insecure = true".to_owned()
        }
        (None, None) => "raise degree or rank, or, for tests only, set insecure = true".to_owned(),
    };
    let distribution = secret_in_words(distribution);
    Err(CkksError::Insecure { bits, dimension, log2_qp, distribution, remedy: nearest + &remedy })
}

/// If the security table does not cover a key (`bits` is 0), the start of a sentence that names the nearest
/// covered key; otherwise an empty text.
fn nearest_in_words(bits: f64, dimension: usize, distribution: SecretDistribution) -> String {
    if bits > 0.0 {
        String::new()
    } else {
        format!("the nearest combination in the table is {}; ", nearest_covered(dimension, distribution))
    }
}

fn secret_in_words(distribution: SecretDistribution) -> String {
    match distribution {
        SecretDistribution::UniformTernary => "uniform ternary secret".to_owned(),
        SecretDistribution::FixedWeight(weight) => format!("secret of weight {weight}"),
    }
}

/// The noise model of one shape.
pub(super) fn noise_model(shape: ModuleShape, distribution: SecretDistribution) -> NoiseModel {
    let secret_variance = match distribution {
        SecretDistribution::UniformTernary => 2.0 / 3.0,
        SecretDistribution::FixedWeight(weight) => weight as f64 / shape.dimension() as f64,
    };
    NoiseModel { degree: shape.degree, rank: shape.rank, secret_variance }
}

/// A hash of named lists of words. Each list is hashed with its name and its length, so that different lists
/// are different inputs of the hash.
struct Fields(blake3::Hasher);

impl Fields {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn words(&mut self, name: &str, words: impl IntoIterator<Item = u64>) {
        self.bytes(name.as_bytes());
        self.bytes(&words.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<_>>());
    }
}

/// The digest of everything that two parties must agree on: secrets, moduli, keys, and the defaults of plans.
/// An absent value is hashed as an empty list, and a default value like the same value written out, so that
/// one set has one digest however it is written.
fn digest(spec: &ParamsSpec, segments: &Segments, primes: &Primes, gadget: Option<&Gadget>) -> [u8; 32] {
    let mut fields = Fields(blake3::Hasher::new_derive_key("clathrate parameters v2"));
    let size = |size: usize| size as u64;
    fields.words("shape", [spec.degree, spec.rank].map(size));
    fields.words("secret weight", spec.secret_weight.map(size));
    fields.words("steps", primes.step_lengths.iter().copied().map(size));
    fields.words("special and temporary primes", [spec.special.len(), primes.temporary].map(size));
    fields.words("moduli", primes.moduli.iter().copied());
    fields.words("digits", gadget.map_or(&[][..], Gadget::digits).iter().map(|digit| size(digit.len())));
    fields.words("temporary rank", spec.temporary_rank.map(size));
    fields.words("ephemeral weight", spec.ephemeral_weight.map(size));
    let ephemeral = spec
        .ephemeral_weight
        .map(|_| ephemeral_special(spec, &(0..spec.special.len()).collect::<Vec<_>>()).len());
    fields.words("ephemeral special primes", ephemeral.map(size));
    fields.words(
        "segments",
        segments.all().iter().flat_map(|segment| [size(segment.lowest()), segment.log2_scale.to_bits()]),
    );
    // A bootstrap finds its stages by the names of segments. A single segment is the whole chain, whatever
    // its name.
    if segments.all().len() > 1 {
        segments.all().iter().for_each(|segment| fields.bytes(segment.name.as_bytes()));
    }
    fields.words("bootstrap key bytes", spec.bootstrap_key_bytes);
    fields.words("bootstrap failure", [spec.bootstrap_log2_failure.unwrap_or(LOG2_FAILURE).to_bits()]);
    *fields.0.finalize().as_bytes()
}
