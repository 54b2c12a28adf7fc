//! Parameters: a plain specification, and the immutable [`Params`] that result from checking it.

use clathrate_arith::text::counted;
use clathrate_arith::workers::{share_out, threads_for};
use std::fmt;
use std::sync::{Arc, OnceLock};

use clathrate_lattice::modulus::Division;
use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::switch::MachineProfile;
use clathrate_lattice::{Chain, Eval, Gadget, Level, Poly, SecretDistribution, Switcher};

use crate::cost::KnownFigures;
use crate::embedding::Encoder;
use crate::error::CkksError;
use crate::file::ParameterId;
use crate::shape::ModuleShape;

mod devices;
mod explain;
mod family;
mod key_switching;
mod packing_ring;
mod presets;
mod primes;
mod runtime;
mod scales;
mod segments;
mod spec;
mod stage_levels;
mod switching_report;

pub use devices::{devices, set_device_graphs, set_device_memory_limit};
pub(crate) use explain::switch_key_bytes;
pub use explain::{
    Explanation, MoveExplanation, SecretExplanation, SegmentExplanation, TemporaryExplanation,
};
pub use family::Temporary;
pub use key_switching::{KeyModulus, KeySwitching};
pub(crate) use packing_ring::{SMALLER_RING_LEVEL, packing_rounding};
pub use presets::{Preset, preset, preset_names, presets};
pub use runtime::{
    DEFAULT_KEY_EXPANSION, DEFAULT_PLAINTEXT_CACHE_BYTES, DEFAULT_TABLE_BYTES, DeviceDescription,
    EngineFactory, EngineRequest, PROCESSOR, Rescale, Runtime, Switching,
};
pub use scales::ScaleWarning;
pub use segments::Segment;
pub(crate) use spec::LOG2_FAILURE;
pub use spec::ParamsSpec;
pub(crate) use stage_levels::StageLevels;
pub use stage_levels::{APPLICATION, BASE, COEFFS_TO_SLOTS, REDUCTION, SLOTS_TO_COEFFS};
pub use switching_report::{ProfileOrigin, RefusedLevel, SwitchingReport, SwitchingRow};

use family::Family;
use key_switching::KeySwitchings;
use switching_report::PlannerSettings;

/// The minimum bits of security of a specification without `insecure` or `below_128`.
pub const SECURITY_BITS: f64 = 128.0;

/// Checked parameters with all tables that follow from them; cheap to clone.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("n14", &Runtime::default())?;
/// assert_eq!((params.degree(), params.rank(), params.slot_count()), (16384, 1, 8192));
/// assert!(params.security_bits() >= 128.0 && params.max_level() >= Level(5));
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Clone)]
pub struct Params(Arc<Inner>);

struct Inner {
    family: Arc<Family>,
    /// The family's specification, with the shape of this relative.
    spec: ParamsSpec,
    shape: ModuleShape,
    max_level: Level,
    chain: Arc<Chain>,
    gadget: Option<Arc<Gadget>>,
    switching: KeySwitchings,
    temporary: Option<Temporary>,
    /// The reason why there are no keys, if the dimension is too small for them. Such a shape is for samples
    /// only.
    without_keys: Option<String>,
    encoder: Encoder,
    /// `X^{n/2}` at the highest level, made on first use.
    imaginary_unit: OnceLock<Poly<Eval>>,
    security_bits: f64,
    digest: [u8; 32],
    /// What was computed of rescales and switches so far.
    known_figures: KnownFigures,
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Params({}, degree {}, rank {}, {})",
            self.0.spec.name,
            self.degree(),
            self.rank(),
            counted(self.max_level().0 + 1, "level")
        )
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest == other.0.digest
    }
}

impl Params {
    /// Checks `spec` and makes rings, tables and encoders.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`] for an impossible specification, if no prime of a size is left, and if
    /// the name is that of a preset with other contents; [`CkksError::Insecure`];
    /// [`CkksError::TablesTooLarge`]; [`CkksError::OutOfRange`] for an impossible runtime;
    /// [`CkksError::Lattice`] if auxiliary primes run out or the engine refuses the ring.
    pub fn new(mut spec: ParamsSpec, runtime: &Runtime) -> Result<Self, CkksError> {
        let relative = spec.relative.take();
        let root = spec.shape();
        let whole = Family::new(spec, runtime)?.member(root)?;
        relative.map_or(Ok(whole.clone()), |shape| whole.relative(shape))
    }

    /// Parameters of a specification from another party, such as one in a file. Unlike in [`Params::new`],
    /// the caller (`allow_insecure`) and not the specification decides whether fewer than 128 bits of
    /// security are acceptable.
    ///
    /// # Errors
    /// [`CkksError::Insecure`] for a set below 128 bits without `allow_insecure`; the errors of
    /// [`Params::new`].
    pub fn received(spec: ParamsSpec, allow_insecure: bool, runtime: &Runtime) -> Result<Self, CkksError> {
        if allow_insecure {
            return Self::new(spec, runtime);
        }
        let accepts = spec.insecure || spec.below_128;
        // Without its own flags, an insecure set is refused by its sizes, before its tables are made.
        Self::new(ParamsSpec { insecure: false, below_128: false, ..spec }, runtime).map_err(|error| {
            match error {
                CkksError::Insecure { bits, dimension, log2_qp, distribution, .. } if accepts => {
                    let remedy = "the specification accepts that, and whoever reads it must, too: ask for parameters of 128 bits, or, for tests only, pass `allow_insecure`".to_owned();
                    CkksError::Insecure { bits, dimension, log2_qp, distribution, remedy }
                }
                // `allow_insecure` alone would not suffice, because the specification has no flag either.
                CkksError::Insecure { bits, dimension, log2_qp, distribution, remedy }
                    if remedy.ends_with("insecure = true") =>
                {
                    CkksError::Insecure {
                        bits,
                        dimension,
                        log2_qp,
                        distribution,
                        remedy: remedy + " and pass `allow_insecure`",
                    }
                }
                other => other,
            }
        })
    }

    /// The preset called `name`.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`].
    pub fn preset(name: &str, runtime: &Runtime) -> Result<Self, CkksError> {
        Self::new(preset(name)?, runtime)
    }

    /// The specification of these parameters.
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
    pub fn gadget(&self) -> Result<&Gadget, CkksError> {
        self.0.gadget.as_deref().ok_or_else(|| self.cannot_switch())
    }

    /// The error that says why there is no switcher.
    fn cannot_switch(&self) -> CkksError {
        if let Some(reason) = &self.0.without_keys {
            return CkksError::InvalidParams { reason: reason.clone() };
        }
        if self.degree() < spec::MIN_DEGREE {
            return CkksError::degree_without_keys(self.shape(), spec::MIN_DEGREE);
        }
        clathrate_lattice::LatticeError::NoSpecialPrimes.into()
    }

    /// The switcher of keys over the ordinary chain.
    ///
    /// # Errors
    /// `NoSpecialPrimes` without special primes; [`CkksError::Unsuitable`] below degree 8;
    /// [`CkksError::InvalidParams`] for a shape that is for samples only.
    pub fn switcher(&self) -> Result<&Switcher, CkksError> {
        Ok(&self.key_switching(KeyModulus::Base)?.switcher)
    }

    /// The temporary rank, if there is one. Its keys are over [`KeyModulus::Widened`].
    #[must_use]
    pub fn temporary(&self) -> Option<&Temporary> {
        self.0.temporary.as_ref()
    }

    /// The temporary rank, if products of ciphertexts use it. `None` at rank 1: there a product has a single
    /// input, so the rank-down would cost as much as a direct relinearisation, and the temporary rank serves
    /// rotations only.
    #[must_use]
    pub fn temporary_for_products(&self) -> Option<&Temporary> {
        self.0.temporary.as_ref().filter(|_| self.rank() > 1)
    }

    /// The temporary rank, if products at `level` use a direct key of the ordinary rank over the widened
    /// chain. They do so if the direct key is secure at `level` and a planner chooses the methods (not
    /// [`Switching::AsMade`] or [`Switching::Fixed`]).
    #[must_use]
    pub fn direct(&self, level: Level) -> Option<&Temporary> {
        self.temporary_for_products().filter(|temporary| {
            self.runtime().switching.is_planned() && temporary.direct_level.is_some_and(|most| level <= most)
        })
    }

    /// Parameters of another shape with the same moduli, scales and secret; the target of conversions and
    /// rank reductions. At a smaller dimension, the highest level is the highest one at which keys have the
    /// security of these parameters, or 128 bits if that is less.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`] if no move leads to the shape, or if no level is secure there.
    pub fn relative(&self, shape: ModuleShape) -> Result<Self, CkksError> {
        let relative = self.for_samples(shape)?;
        if shape == self.shape() {
            return Ok(relative);
        }
        match &relative.0.without_keys {
            Some(reason) => Err(CkksError::InvalidParams { reason: reason.clone() }),
            None => Ok(relative),
        }
    }

    /// [`Params::relative`] that also allows dimensions that are too small for keys. LWE samples have such
    /// dimensions before they are packed to a larger one. The highest level of the result may be lower, and
    /// encryption refuses levels whose modulus is too long for the dimension.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`] if no move leads to the shape.
    pub fn for_samples(&self, shape: ModuleShape) -> Result<Self, CkksError> {
        if shape == self.shape() {
            return Ok(self.clone());
        }
        self.0.family.member(shape)
    }

    /// The highest level at which samples of this shape are secure under secrets of this distribution.
    pub(crate) fn samples_level(&self, distribution: SecretDistribution) -> Result<Option<Level>, CkksError> {
        self.0.family.samples_level(self.chain(), self.shape(), distribution)
    }

    /// Whether the dimension is too small for keys, so that the shape is for samples only.
    #[must_use]
    pub fn is_for_samples(&self) -> bool {
        self.0.without_keys.is_some()
    }

    /// [`Params::relative`] that also allows rings of packing, which have only keys of packing.
    pub(crate) fn with_keys_at(&self, shape: ModuleShape) -> Result<Self, CkksError> {
        match self.for_samples(shape) {
            Ok(ring) if ring.has_keys_over(KeyModulus::Packing) => Ok(ring),
            _ => self.relative(shape),
        }
    }

    /// Parameters of the same degree at rank `rank`.
    pub fn at_rank(&self, rank: usize) -> Result<Self, CkksError> {
        self.relative(ModuleShape { degree: self.degree(), rank })
    }

    /// The root of the family: these parameters, or those that they are a relative of.
    ///
    /// # Errors
    /// No error is expected, because the root was made before.
    pub fn root(&self) -> Result<Self, CkksError> {
        self.relative(self.root_shape())
    }

    /// The shape of equal dimension and the least possible rank: the odd part of this rank, which is 1 for
    /// powers of two.
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

    /// Whether both belong to one family, which is to say that they have the same root.
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

    /// The distribution of a secret of `rank` polynomials of this degree.
    pub(crate) fn distribution_of(&self, rank: usize) -> SecretDistribution {
        self.0.family.distribution(ModuleShape { degree: self.degree(), rank })
    }

    /// [`Params::distribution_of`] with the smallest weight to expect if this secret is a part of one of
    /// fixed weight.
    pub(crate) fn least_distribution(&self, rank: usize) -> SecretDistribution {
        self.0.family.least_weight(ModuleShape { degree: self.degree(), rank })
    }

    /// Bits of security that every key must have: the root's, but at most 128.
    pub(crate) fn wanted_bits(&self) -> f64 {
        self.0.family.wanted_bits()
    }

    /// `X^{n/2}` at `level`, the polynomial whose value is `i` in every slot: slot `j` is the value at
    /// `zeta^{5^j}`, and `(zeta^{n/2})^{5^j} = i^{5^j} = i` because `5^j = 1 mod 4`. It is also `i` in every
    /// slot of a shorter row, whose polynomial is in the subring of `X^{gap}`.
    pub(crate) fn imaginary_unit(&self, level: Level) -> Result<Poly<Eval>, CkksError> {
        let (ring, top) = (self.chain().ring(), self.chain().basis(self.max_level()));
        let unit = self.0.imaginary_unit.get_or_init(|| {
            let mut monomial = vec![0; self.degree()];
            monomial[self.degree() / 2] = 1;
            Poly::from_signed(ring, &top, &monomial).into_eval()
        });
        Ok(unit.restrict(&self.chain().basis(level))?)
    }

    /// What was computed of rescales and switches so far.
    pub(crate) fn known_figures(&self) -> &KnownFigures {
        &self.0.known_figures
    }

    /// The division of a rescale from `level`, made on first use.
    ///
    /// # Errors
    /// Level errors.
    pub(crate) fn rescale_division(&self, level: Level) -> Result<Arc<Division>, CkksError> {
        let make = || Ok(Arc::new(self.chain().rescale_division(level)?));
        self.known_figures().rescales.get_or_insert(level, make)
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
            return Err(clathrate_lattice::LatticeError::LevelOutOfRange {
                level: level.0,
                max: self.0.max_level.0,
            }
            .into());
        }
        Ok(())
    }

    /// The canonical scale of a level, which is the scale of fresh ciphertexts at that level. The rescaled
    /// product of two such ciphertexts has the canonical scale of the level below, `s_{l-1} = s_l^2 / q_l`,
    /// if both levels are in one segment and the step matches the segment's scale.
    #[must_use]
    pub fn scale(&self, level: Level) -> f64 {
        self.0.family.scale(level)
    }

    /// The segments of the chain, the lowest first; a single segment if the specification names none. A
    /// relative with fewer levels has the same segments.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        self.0.family.segments().all()
    }

    /// The segment of `level`.
    #[must_use]
    pub fn segment(&self, level: Level) -> &Segment {
        self.0.family.segments().at(level.0)
    }

    /// The scale of the rescaled product of two ciphertexts of canonical scale at `level`. `None` at level 0,
    /// and if the scale does not fit the modulus or is below the noise.
    #[must_use]
    pub fn product_scale(&self, level: Level) -> Option<f64> {
        let below = Level(level.0.checked_sub(1)?);
        let scale = self.scale(level) * self.scale(level);
        let rescaled = scale / self.step_product(level);
        let above_noise = rescaled * rescaled >= self.noise_model().rounding();
        (above_noise && self.check_scale(scale, level).is_ok() && self.check_scale(rescaled, below).is_ok())
            .then_some(rescaled)
    }

    /// A warning for each segment on which repeated products of ciphertexts collapse, with the reason.
    #[must_use]
    pub fn scale_warnings(&self) -> &[ScaleWarning] {
        self.0.family.scale_warnings()
    }

    /// Product of the step that a rescale from `level` divides by.
    #[must_use]
    pub fn step_product(&self, level: Level) -> f64 {
        scales::step_product(self.chain(), level)
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

    /// Estimated bits of security: the minimum over the secret of ordinary rank, the secret of the temporary
    /// rank and the ephemeral secret, each over the largest modulus of its keys. For a shape that is for
    /// samples only, it is that of a uniform secret at the highest level.
    #[must_use]
    pub fn security_bits(&self) -> f64 {
        self.0.security_bits
    }

    /// Whether the estimate is below 128 bits. Every file made under such parameters says so.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        self.0.security_bits < SECURITY_BITS
    }

    /// The BLAKE3 digest of everything that two parties must agree on.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.digest
    }

    /// The name and digest, as messages and file labels show them.
    #[must_use]
    pub fn parameter_id(&self) -> ParameterId {
        ParameterId { name: Some(self.0.spec.name.clone()), digest: self.0.digest }
    }

    /// The number of threads of the engine.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.family.threads()
    }

    /// What `work` makes of each of `items`, in their order; several at the same time, each on a thread of
    /// its own, where the engine gains from it.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) fn for_each<I: Send, T: Send>(
        &self,
        items: impl IntoIterator<Item = I, IntoIter: ExactSizeIterator + Send>,
        work: impl Fn(I) -> Result<T, CkksError> + Sync,
    ) -> Result<Vec<T>, CkksError> {
        let items = items.into_iter();
        let mut results: Vec<Option<T>> = std::iter::repeat_with(|| None).take(items.len()).collect();
        let threads = threads_for(items.len(), self.chain().ring().engine().workers());
        let jobs = items.zip(&mut results);
        share_out(
            jobs,
            threads,
            || (),
            |(item, result), ()| {
                *result = Some(work(item)?);
                Ok::<(), CkksError>(())
            },
        )?;
        Ok(results.into_iter().flatten().collect())
    }

    /// The runtime that the caller asked for.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.0.family.runtime()
    }

    /// The same parameters under another runtime, for example on another device. Parameters under one runtime
    /// are made once and shared while they are in use.
    ///
    /// # Errors
    /// The errors of [`Params::new`] that depend on the runtime.
    pub fn under(&self, runtime: &Runtime) -> Result<Self, CkksError> {
        if runtime == self.runtime() {
            return Ok(self.clone());
        }
        self.0.family.under(runtime)?.member(self.shape())
    }

    /// The machine model that predicts times. Plans are chosen by prices instead, which are the same on every
    /// machine ([`Cost::price`](crate::keys::Cost::price)).
    #[must_use]
    pub fn machine_profile(&self) -> &MachineProfile {
        &self.0.family.planning().profile
    }

    /// Whether the machine model is that of the library, not of this machine.
    pub(crate) fn has_built_in_profile(&self) -> bool {
        matches!(self.0.family.planning().origin, ProfileOrigin::BuiltIn { .. })
    }

    fn planning(&self) -> Option<&PlannerSettings> {
        self.has_keys_over(KeyModulus::Base).then(|| self.0.family.planning())
    }

    /// Refuses scales below 1, and scales that leave no bit for a message.
    pub fn check_scale(&self, scale: f64, level: Level) -> Result<(), CkksError> {
        let headroom = self.log2_q(level);
        if scale.is_finite() && scale >= 1.0 && scale.log2() + 1.0 <= headroom {
            return Ok(());
        }
        Err(CkksError::ScaleOutOfRange { log2_scale: scale.log2(), level: level.0, headroom })
    }

    /// Refuses a declared bound whose product with the scale exceeds a quarter of the modulus: such numbers
    /// may wrap around, or decryption could not tell them from numbers that did. An infinite bound means that
    /// there is none.
    pub(crate) fn check_bound(&self, magnitude: f64, scale: f64, level: Level) -> Result<(), CkksError> {
        // One bit is for the sign, and one for decryption to detect overflows.
        let headroom = (self.log2_q(level) - 2.0 - scale.log2()).exp2();
        if magnitude.is_finite() && magnitude > headroom {
            return Err(CkksError::bound_too_large(magnitude, scale.log2(), level.0, headroom));
        }
        Ok(())
    }

    /// Refuses objects of other parameters.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`].
    pub fn check_same(&self, other: &Params, what: &'static str) -> Result<(), CkksError> {
        if self.0.digest == other.0.digest {
            return Ok(());
        }
        Err(CkksError::WrongParams {
            what,
            found: other.parameter_id().to_string(),
            expected: self.parameter_id().to_string(),
        })
    }

    /// The variance that a reduction from rank `from` to the rank of these parameters adds at `level`, with a
    /// key of key level `key_level`.
    ///
    /// # Errors
    /// `NoSpecialPrimes` without special primes; level errors for a level above `key_level`.
    pub fn reduction_variance(&self, from: usize, level: Level, key_level: Level) -> Result<f64, CkksError> {
        let plan = self.switcher()?.tables_for(level, key_level)?;
        Ok(self.noise_model().coalesced_switch(from.saturating_sub(self.rank()), &plan.noise_digits()))
    }

    /// The noise model of these parameters.
    #[must_use]
    pub fn noise_model(&self) -> NoiseModel {
        family::noise_model(self.shape(), self.0.family.distribution(self.shape()))
    }
}
