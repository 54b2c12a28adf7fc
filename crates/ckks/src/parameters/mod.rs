//! Parameters: a plain specification, checked into an immutable [`Params`] that everything else holds.

use std::fmt;
use std::sync::Arc;

use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::{Chain, Gadget, Level, SecretDistribution, Switcher};

use crate::embedding::Encoder;
use crate::error::CkksError;
use crate::shape::ModuleShape;

mod explain;
mod family;
mod presets;
mod primes;
mod runtime;
mod spec;
mod switching_report;

pub use explain::Explanation;
pub(crate) use explain::switch_key_bytes;
pub use family::{Encapsulation, Temporary};
pub use presets::{preset, preset_names};
pub use runtime::{DEFAULT_KEY_EXPANSION, Runtime, Switching};
pub use spec::ParamsSpec;
pub use switching_report::{ProfileOrigin, RefusedLevel, SwitchingReport, SwitchingRow};

use family::Family;
use switching_report::PlannerSettings;

/// Least bits of security without an explicit mark in the specification.
pub const SECURITY_BITS: f64 = 128.0;

/// Checked parameters with everything derived from them; cheap to clone.
#[derive(Clone)]
pub struct Params(Arc<Inner>);

struct Inner {
    family: Arc<Family>,
    /// The family's specification, and which relative of it this is.
    spec: ParamsSpec,
    shape: ModuleShape,
    max_level: Level,
    chain: Arc<Chain>,
    gadget: Option<Arc<Gadget>>,
    switcher: Option<Switcher>,
    temporary: Option<Temporary>,
    encapsulation: Option<Encapsulation>,
    encoder: Encoder,
    security_bits: f64,
    digest: [u8; 32],
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
    pub fn new(mut spec: ParamsSpec, runtime: &Runtime) -> Result<Self, CkksError> {
        let relative = spec.relative.take();
        let root = spec.shape();
        Family::new(spec, runtime)?.member(relative.unwrap_or(root))
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
        self.0.shape.degree
    }

    /// Rank `k`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.shape.rank
    }

    /// Degree and rank.
    #[must_use]
    pub fn shape(&self) -> ModuleShape {
        self.0.shape
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

    /// The temporary rank: keys and switcher of the higher rank, where there is one.
    #[must_use]
    pub fn temporary(&self) -> Option<&Temporary> {
        self.0.temporary.as_ref()
    }

    /// The ephemeral sparse secret's chain and switcher, where the parameters have such a secret.
    #[must_use]
    pub fn encapsulation(&self) -> Option<&Encapsulation> {
        self.0.encapsulation.as_ref()
    }

    /// The temporary rank, where products of ciphertexts go through it: at rank 1 a product has one input, and the way back would be as long as
    /// the direct one; there it serves rotations alone.
    #[must_use]
    pub fn crossing(&self) -> Option<&Temporary> {
        self.0.temporary.as_ref().filter(|_| self.rank() > 1)
    }

    /// Whether products at `level` take a key of the rank itself over the widened chain: with a temporary rank, where that is secure, unless keys
    /// are to be used as the paper makes them ([`Switching::AsMade`], [`Switching::Fixed`]).
    #[must_use]
    pub fn direct(&self, level: Level) -> Option<&Temporary> {
        self.crossing()
            .filter(|temporary| self.runtime().switching == Switching::Fastest && temporary.direct_level.is_some_and(|most| level <= most))
    }

    /// Parameters of another shape with the same moduli, scales and secret: what conversions and rank reductions lead to. Where the dimension is
    /// smaller, the levels end where keys are as secure as these parameters ask for.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`] where the shape cannot be reached, or no level is secure there.
    pub fn relative(&self, shape: ModuleShape) -> Result<Self, CkksError> {
        if shape == self.shape() {
            return Ok(self.clone());
        }
        self.0.family.member(shape)
    }

    /// Parameters of the same degree at rank `rank`.
    ///
    /// # Errors
    /// As [`Params::relative`].
    pub fn at_rank(&self, rank: usize) -> Result<Self, CkksError> {
        self.relative(ModuleShape { degree: self.degree(), rank })
    }

    /// The parameters that this is a relative of, or these themselves.
    ///
    /// # Errors
    /// None: they were made before.
    pub fn root(&self) -> Result<Self, CkksError> {
        self.relative(self.root_shape())
    }

    /// The shape of rank 1, or of the least rank there is, at equal dimension.
    #[must_use]
    pub fn rlwe_shape(&self) -> ModuleShape {
        let gap = 1 << self.rank().trailing_zeros();
        ModuleShape { degree: self.degree() * gap, rank: self.rank() / gap }
    }

    /// The root's degree and rank.
    #[must_use]
    pub fn root_shape(&self) -> ModuleShape {
        self.0.family.root_shape()
    }

    /// Whether both are of one family: one root.
    #[must_use]
    pub fn is_related(&self, other: &Self) -> bool {
        self.0.family.digest() == other.0.family.digest()
    }

    /// Refuses objects of another family.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`].
    pub fn check_related(&self, other: &Self, what: &'static str) -> Result<(), CkksError> {
        if self.is_related(other) {
            return Ok(());
        }
        self.check_same(other, what)
    }

    /// How a secret of `rank` polynomials of this degree is distributed.
    pub(crate) fn distribution_of(&self, rank: usize) -> SecretDistribution {
        self.0.family.distribution(ModuleShape { degree: self.degree(), rank })
    }

    /// As [`Params::distribution_of`], with the least weight that such a part of a secret of fixed weight has.
    pub(crate) fn least_distribution(&self, rank: usize) -> SecretDistribution {
        self.0.family.least_weight(ModuleShape { degree: self.degree(), rank })
    }

    /// Bits of security that every key must have: the root's, at most 128.
    pub(crate) fn wanted_bits(&self) -> f64 {
        self.0.family.wanted_bits()
    }

    /// The encoder.
    #[must_use]
    pub fn encoder(&self) -> &Encoder {
        &self.0.encoder
    }

    /// Highest level.
    #[must_use]
    pub fn max_level(&self) -> Level {
        self.0.max_level
    }

    /// Refuses levels above the highest.
    ///
    /// # Errors
    /// `LevelOutOfRange`.
    pub fn check_level(&self, level: Level) -> Result<(), CkksError> {
        if level > self.0.max_level {
            return Err(clathrate_lattice::LatticeError::LevelOutOfRange { level: level.0, max: self.0.max_level.0 }.into());
        }
        Ok(())
    }

    /// The canonical scale of a level: a fresh ciphertext there has it, and a product of two such, rescaled, has the next level's.
    #[must_use]
    pub fn scale(&self, level: Level) -> f64 {
        self.0.family.scale(level)
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

    /// Estimated bits of security: the least of all keys, those of the temporary rank included.
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
        self.0.family.threads()
    }

    /// How they run, as it was asked for.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.0.family.runtime()
    }

    fn planning(&self) -> Option<&PlannerSettings> {
        self.0.switcher.as_ref().map(|_| self.0.family.planning())
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

    /// The variance that the products of a relinearisation at `level` add, without the rounding that ends it; by keys of the highest level.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where these parameters cannot switch; level errors.
    pub fn switch_variance(&self, level: Level) -> Result<f64, CkksError> {
        let (model, inputs, reach) = (self.noise_model(), self.rank() * (self.rank() + 1) / 2, self.max_level());
        if let Some((temporary, most)) = self.direct(level).and_then(|temporary| Some((temporary, temporary.direct_level?))) {
            let plan = temporary.switcher.tables_for(level, most)?;
            return Ok(model.products_over(inputs, &plan.noise_digits(), plan.log2_special()));
        }
        let plan = self.switcher()?.tables_for(level, reach)?;
        let base = (&plan.noise_digits()[..], plan.log2_special());
        Ok(match self.crossing() {
            None => model.products_over(inputs, base.0, base.1),
            Some(temporary) => {
                let plan = temporary.switcher.tables_for(level, reach)?;
                model.crossing(inputs, (&plan.noise_digits(), plan.log2_special()), temporary.rank - self.rank(), base) - model.rounding()
            }
        })
    }

    /// The noise model of these parameters.
    #[must_use]
    pub fn noise_model(&self) -> NoiseModel {
        let secret_variance = match self.0.family.distribution(self.shape()) {
            SecretDistribution::UniformTernary => 2.0 / 3.0,
            SecretDistribution::FixedWeight(weight) => weight as f64 / (self.degree() * self.rank()) as f64,
        };
        NoiseModel { degree: self.degree(), rank: self.rank(), secret_variance }
    }
}
