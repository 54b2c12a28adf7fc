//! Parameters: a plain specification, checked into an immutable [`Params`] that everything else holds.

use std::fmt;
use std::sync::Arc;

use clathrate_arith::{CpuEngine, Isa};
use clathrate_lattice::gadget::DIGIT_SLACK_BITS;
use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::switch::{DEFAULT_FORM_BYTES, MachineProfile, Planner, SwitchChoice, SwitchPolicy};
use clathrate_lattice::{Chain, Gadget, Level, Ring, SecretDistribution, Switcher};

use crate::encoder::Encoder;
use crate::error::CkksError;
use crate::tune::{self, StoredProfile};

mod explain;
mod presets;
mod primes;
mod runtime;
mod spec;
mod switching;

pub use explain::Explanation;
pub use presets::{preset, preset_names};
pub use runtime::{DEFAULT_KEY_EXPANSION, Runtime, Switching};
pub use spec::ParamsSpec;
pub use switching::{ProfileOrigin, RefusedLevel, SwitchingPlan, SwitchingRow};

use switching::Planning;

/// Least bits of security without an explicit mark in the specification.
pub const SECURITY_BITS: f64 = 128.0;

/// Checked parameters with everything derived from them; cheap to clone.
#[derive(Clone)]
pub struct Params(Arc<Inner>);

struct Inner {
    spec: ParamsSpec,
    chain: Arc<Chain>,
    gadget: Option<Arc<Gadget>>,
    switcher: Option<Switcher>,
    encoder: Encoder,
    /// Canonical scale of each level.
    scales: Vec<f64>,
    security_bits: f64,
    digest: [u8; 32],
    threads: usize,
    /// As it was given.
    runtime: Runtime,
    /// Where there are switching keys.
    planning: Option<Planning>,
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Params({}, degree {}, rank {}, {} levels)", self.0.spec.name, self.degree(), self.rank(), self.max_level().0 + 1)
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest == other.0.digest
    }
}

impl Params {
    /// Checks `spec` and prepares rings, tables and encoders.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`], [`CkksError::Insecure`]; [`CkksError::Arith`] where primes run out.
    pub fn new(spec: ParamsSpec, runtime: &Runtime) -> Result<Self, CkksError> {
        spec.check()?;
        let primes = primes::choose(&spec)?;
        let dimension = spec.degree * spec.rank;
        let log2_qp: f64 = primes.moduli.iter().map(|&q| (q as f64).log2()).sum();
        let security_bits = estimated_bits(dimension, log2_qp, spec.distribution());
        check_security(&spec, security_bits, log2_qp)?;
        let isa = match &runtime.isa {
            Some(name) => Isa::named(name)?,
            None => Isa::detect()?,
        };
        let threads = runtime.threads.unwrap_or(1).max(1);
        let auxiliary = primes::auxiliary(&spec, &primes)?;
        let moduli: Vec<u64> = primes.moduli.iter().chain(&auxiliary).copied().collect();
        let engine = CpuEngine::new(spec.degree, &moduli, isa)?.with_threads(CpuEngine::thread_pool(threads)?);
        let ring = Ring::with_engine(Arc::new(engine));
        let chain = Arc::new(Chain::with_auxiliary(ring, &primes.step_lengths, auxiliary.len())?);
        let gadget = if chain.special_basis().is_empty() {
            None
        } else {
            let special_bits = chain.special_basis().log2(chain.ring());
            let gadget = Gadget::by_bits(&chain, spec.digit_bits.unwrap_or(special_bits + DIGIT_SLACK_BITS));
            gadget.check(&chain, special_bits + DIGIT_SLACK_BITS)?;
            Some(Arc::new(gadget))
        };
        let planning = gadget.is_some().then(|| planning(isa, runtime)).transpose()?;
        let switcher = match (&gadget, &planning) {
            (Some(gadget), Some(planning)) => Some(switcher(&spec, &chain, gadget, runtime, planning)?),
            _ => None,
        };
        let scales = primes::canonical_scales(&chain, spec.log2_scale);
        let digest = digest(&spec, &primes, gadget.as_deref());
        let encoder = Encoder::new(spec.degree);
        let runtime = runtime.clone();
        Ok(Self(Arc::new(Inner { spec, chain, gadget, switcher, encoder, scales, security_bits, digest, threads, runtime, planning })))
    }

    /// The preset called `name`.
    ///
    /// # Errors
    /// [`CkksError::UnknownPreset`].
    pub fn preset(name: &str, runtime: &Runtime) -> Result<Self, CkksError> {
        Self::new(preset(name)?, runtime)
    }

    /// The specification they were made from.
    #[must_use]
    pub fn spec(&self) -> &ParamsSpec {
        &self.0.spec
    }

    /// Ring degree `n`.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.0.spec.degree
    }

    /// Rank `k`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.spec.rank
    }

    /// Complex slots of a ciphertext: `n / 2`.
    #[must_use]
    pub fn slot_count(&self) -> usize {
        self.degree() / 2
    }

    /// The modulus chain.
    #[must_use]
    pub fn chain(&self) -> &Arc<Chain> {
        &self.0.chain
    }

    /// The gadget of switching keys.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where these parameters cannot switch.
    pub fn gadget(&self) -> Result<&Gadget, CkksError> {
        self.0.gadget.as_deref().ok_or(clathrate_lattice::LatticeError::NoSpecialPrimes.into())
    }

    /// The switcher.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where these parameters cannot switch.
    pub fn switcher(&self) -> Result<&Switcher, CkksError> {
        self.0.switcher.as_ref().ok_or(clathrate_lattice::LatticeError::NoSpecialPrimes.into())
    }

    /// The encoder.
    #[must_use]
    pub fn encoder(&self) -> &Encoder {
        &self.0.encoder
    }

    /// Highest level.
    #[must_use]
    pub fn max_level(&self) -> Level {
        self.0.chain.max_level()
    }

    /// The canonical scale of a level: a fresh ciphertext there has it, and a product of two such, rescaled, has the next level's.
    #[must_use]
    pub fn scale(&self, level: Level) -> f64 {
        self.0.scales[level.0]
    }

    /// Product of the step that a rescale from `level` divides by.
    #[must_use]
    pub fn step_product(&self, level: Level) -> f64 {
        primes::step_product(self.chain(), level)
    }

    /// Bits of the ciphertext modulus at `level`.
    #[must_use]
    pub fn log2_q(&self, level: Level) -> f64 {
        self.0.chain.basis(level).log2(self.0.chain.ring())
    }

    /// Bits of the largest key modulus, special primes included.
    #[must_use]
    pub fn log2_qp(&self) -> f64 {
        self.0.chain.key_basis(self.max_level()).log2(self.0.chain.ring())
    }

    /// Estimated bits of security.
    #[must_use]
    pub fn security_bits(&self) -> f64 {
        self.0.security_bits
    }

    /// Whether the estimate is below 128 bits: such parameters mark every file made from them.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        self.0.security_bits < SECURITY_BITS
    }

    /// BLAKE3 of everything that must agree between two parties.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.digest
    }

    /// Threads the engine uses.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.threads
    }

    /// How they run, as it was asked for.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    fn planning(&self) -> Option<&Planning> {
        self.0.planning.as_ref()
    }

    /// Refuses scales below 1, and those that leave no bit for a message.
    ///
    /// # Errors
    /// [`CkksError::ScaleOutOfRange`].
    pub fn check_scale(&self, scale: f64, level: Level) -> Result<(), CkksError> {
        let room = self.log2_q(level);
        if scale.is_finite() && scale >= 1.0 && scale.log2() + 1.0 <= room {
            return Ok(());
        }
        Err(CkksError::ScaleOutOfRange { log2_scale: scale.log2(), level: level.0, room })
    }

    /// Refuses objects of other parameters.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`].
    pub fn check_same(&self, other: &Params, what: &'static str) -> Result<(), CkksError> {
        if self.0.digest == other.0.digest {
            return Ok(());
        }
        let short = crate::file::error::short_hex;
        Err(CkksError::WrongParams { what, found: short(&other.0.digest), expected: short(&self.0.digest) })
    }

    /// The noise model of these parameters.
    #[must_use]
    pub fn noise_model(&self) -> NoiseModel {
        let secret_variance = match self.0.spec.distribution() {
            SecretDistribution::UniformTernary => 2.0 / 3.0,
            SecretDistribution::FixedWeight(weight) => weight as f64 / (self.degree() * self.rank()) as f64,
        };
        NoiseModel { degree: self.degree(), rank: self.rank(), secret_variance }
    }
}

/// The machine model and the memory limit to plan by.
fn planning(isa: Isa, runtime: &Runtime) -> Result<Planning, CkksError> {
    let expansion = runtime.expansion()?;
    if let Some(profile) = &runtime.profile {
        return Ok(Planning { profile: profile.clone(), origin: ProfileOrigin::Given, expansion });
    }
    Ok(match tune::stored(isa) {
        StoredProfile::Ready { path, profile } => Planning { profile, origin: ProfileOrigin::Measured { path }, expansion },
        other => Planning { profile: MachineProfile::built_in(), origin: ProfileOrigin::BuiltIn { note: other.to_string() }, expansion },
    })
}

/// The switcher that `runtime` asks for.
fn switcher(
    spec: &ParamsSpec,
    chain: &Arc<Chain>,
    gadget: &Arc<Gadget>,
    runtime: &Runtime,
    planning: &Planning,
) -> Result<Switcher, CkksError> {
    let policy = match runtime.switching {
        Switching::Fixed(choice) => SwitchPolicy::Fixed(choice),
        Switching::AsMade => SwitchPolicy::Fixed(SwitchChoice::as_made(chain)),
        Switching::Fastest => SwitchPolicy::Planned(Planner::new(planning.profile.clone(), spec.rank + 1, planning.expansion)),
    };
    let inputs = spec.rank * (spec.rank + 1) / 2;
    let form_bytes = runtime.key_cache_bytes.unwrap_or(DEFAULT_FORM_BYTES);
    let switcher = Switcher::with_policy(chain.clone(), gadget.clone(), policy, inputs, form_bytes)?;
    if let Switching::Fixed(choice) = runtime.switching {
        check_choice(&switcher, choice)?;
    }
    Ok(switcher)
}

/// Refuses a choice that fits no level; one that fits some is refused where it does not, when it is used.
fn check_choice(switcher: &Switcher, choice: SwitchChoice) -> Result<(), CkksError> {
    let chain = switcher.chain();
    let least = primes::LEAST_PRIMES;
    match choice.key_digit {
        Some(0) => {
            let remedy = "key digits have 1 prime or more".to_owned();
            return Err(CkksError::OutOfRange { what: "the length of key digits", value: 0.to_string(), remedy });
        }
        Some(_) if chain.auxiliary_basis().is_empty() => {
            let primes = chain.key_basis(chain.max_level()).len();
            let reason =
                format!("key-decomposed switching needs a chain of {least} primes or more, this one has {primes}: use the hybrid engine");
            return Err(CkksError::InvalidParams { reason });
        }
        _ => {}
    }
    // The lowest level has most primes free; its plan is made for the highest level that has enough.
    switcher.plan_of_choice(choice, Level(0), chain.max_level())?;
    Ok(())
}

fn check_security(spec: &ParamsSpec, bits: f64, log2_qp: f64) -> Result<(), CkksError> {
    if bits >= SECURITY_BITS || spec.insecure || (spec.below_128 && bits >= spec::PAPER_SECURITY_BITS) {
        return Ok(());
    }
    let dimension = spec.degree * spec.rank;
    let distribution = spec.distribution();
    let room = clathrate_lattice::security::max_log2_qp(dimension, 128, distribution);
    let remedy = match room {
        Some(room) => format!("shorten the chain to log2 QP <= {room:.0}, raise degree or rank, or, for tests only, set insecure = true"),
        None => "raise degree or rank, or, for tests only, set insecure = true".to_owned(),
    };
    let distribution = match distribution {
        SecretDistribution::UniformTernary => "uniform ternary secret".to_owned(),
        SecretDistribution::FixedWeight(weight) => format!("secret of weight {weight}"),
    };
    Err(CkksError::Insecure { bits, dimension, log2_qp, distribution, remedy })
}

fn digest(spec: &ParamsSpec, primes: &primes::Primes, gadget: Option<&Gadget>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("clathrate parameters v1");
    let mut word = |x: u64| {
        hasher.update(&x.to_le_bytes());
    };
    word(spec.degree as u64);
    word(spec.rank as u64);
    word(spec.secret_weight.map_or(0, |weight| weight as u64));
    word(spec.log2_scale.to_bits());
    word(primes.step_lengths.len() as u64);
    primes.step_lengths.iter().for_each(|&length| word(length as u64));
    word(primes.moduli.len() as u64);
    primes.moduli.iter().for_each(|&q| word(q));
    for digit in gadget.map_or(&[][..], Gadget::digits) {
        word(digit.len() as u64);
    }
    *hasher.finalize().as_bytes()
}
