//! Parameters: a plain specification, checked into an immutable [`Params`] that everything else holds.

use clathrate_arith::text::counted;
use std::fmt;
use std::sync::{Arc, OnceLock};

use clathrate_lattice::noise::NoiseModel;
use clathrate_lattice::switch::MachineProfile;
use clathrate_lattice::{Chain, Eval, Gadget, Level, Poly, SecretDistribution, Switcher};

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
    DEFAULT_KEY_EXPANSION, DEFAULT_TABLE_BYTES, DeviceDescription, EngineFactory, EngineRequest, PROCESSOR,
    Rescale, Runtime, Switching,
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

/// Least bits of security of a specification without `insecure` or `below_128`.
pub const SECURITY_BITS: f64 = 128.0;

/// Checked parameters with everything derived from them; cheap to clone.
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
    /// The family's specification, and which relative of it this is.
    spec: ParamsSpec,
    shape: ModuleShape,
    max_level: Level,
    chain: Arc<Chain>,
    gadget: Option<Arc<Gadget>>,
    switching: KeySwitchings,
    temporary: Option<Temporary>,
    /// Why there are no keys, where the dimension is too small for them: a shape of samples alone.
    without_keys: Option<String>,
    encoder: Encoder,
    /// `X^{n/2}` at the highest level, once asked for.
    imaginary_unit: OnceLock<Poly<Eval>>,
    security_bits: f64,
    digest: [u8; 32],
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
    /// Checks `spec` and prepares rings, tables and encoders.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`], also for the name of a preset with other contents;
    /// [`CkksError::Insecure`]; [`CkksError::TablesTooLarge`]; [`CkksError::Arith`] where primes run out.
    pub fn new(mut spec: ParamsSpec, runtime: &Runtime) -> Result<Self, CkksError> {
        let relative = spec.relative.take();
        let root = spec.shape();
        let whole = Family::new(spec, runtime)?.member(root)?;
        relative.map_or(Ok(whole.clone()), |shape| whole.relative(shape))
    }

    /// Parameters of a specification that others wrote, such as one in a file: as [`Params::new`], but
    /// whether fewer than 128 bits of security are enough is the word of the caller, `allow_insecure`, and
    /// not that of the specification.
    ///
    /// # Errors
    /// [`CkksError::InsecureSpec`] for a set below 128 bits without the word; those of [`Params::new`].
    pub fn received(spec: ParamsSpec, allow_insecure: bool, runtime: &Runtime) -> Result<Self, CkksError> {
        if allow_insecure {
            return Self::new(spec, runtime);
        }
        let accepts = spec.insecure || spec.below_128;
        // Without its own acceptance a set is refused by its figures, before its tables are made.
        Self::new(ParamsSpec { insecure: false, below_128: false, ..spec }, runtime).map_err(|error| {
            match error {
                CkksError::Insecure { bits, dimension, log2_qp, distribution, .. } if accepts => {
                    CkksError::InsecureSpec { bits, dimension, log2_qp, distribution }
                }
                // The caller's word alone would not do.
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
    /// [`CkksError::UnknownPreset`].
    pub fn preset(name: &str, runtime: &Runtime) -> Result<Self, CkksError> {
        Self::new(preset(name)?, runtime)
    }

    /// The specification that the parameters were made from.
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

    /// Why there is no switcher.
    fn cannot_switch(&self) -> CkksError {
        if let Some(reason) = &self.0.without_keys {
            return CkksError::InvalidParams { reason: reason.clone() };
        }
        if self.degree() < spec::LEAST_DEGREE {
            return CkksError::DegreeWithoutKeys { shape: self.shape(), least: spec::LEAST_DEGREE };
        }
        clathrate_lattice::LatticeError::NoSpecialPrimes.into()
    }

    /// The switcher.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where these parameters cannot switch; [`CkksError::DegreeWithoutKeys`] below degree
    /// 8.
    pub fn switcher(&self) -> Result<&Switcher, CkksError> {
        Ok(&self.key_switching(KeyModulus::Base)?.switcher)
    }

    /// The temporary rank, where there is one; its keys are over [`KeyModulus::Widened`].
    #[must_use]
    pub fn temporary(&self) -> Option<&Temporary> {
        self.0.temporary.as_ref()
    }

    /// The temporary rank, if products of ciphertexts go through it; `None` at rank 1, where a product has a
    /// single input, so that the rank-down would cost as much as a direct relinearisation. At rank 1 the
    /// temporary rank serves rotations alone.
    #[must_use]
    pub fn temporary_for_products(&self) -> Option<&Temporary> {
        self.0.temporary.as_ref().filter(|_| self.rank() > 1)
    }

    /// Whether products at `level` use a direct key of the ordinary rank over the widened chain: there is a
    /// temporary rank, the direct key is secure, and the runtime does not fix the method
    /// ([`Switching::AsMade`], [`Switching::Fixed`]).
    #[must_use]
    pub fn direct(&self, level: Level) -> Option<&Temporary> {
        self.temporary_for_products().filter(|temporary| {
            self.runtime().switching.is_planned() && temporary.direct_level.is_some_and(|most| level <= most)
        })
    }

    /// Parameters of another shape with the same moduli, scales and secret; conversions and rank reductions
    /// lead to them. At a smaller dimension, the highest level is the highest at which keys have the security
    /// that these parameters ask for.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`] where no move leads to the shape, or no level is secure there.
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

    /// As [`Params::relative`], and also of dimensions that are too small for keys: what LWE samples come as,
    /// before they are packed at a larger dimension. Their modulus is shorter; encryption refuses levels at
    /// which it is too long for the dimension.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`] where no move leads to the shape.
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

    /// Whether the dimension is too small for keys, so that the shape is for samples alone.
    #[must_use]
    pub fn is_for_samples(&self) -> bool {
        self.0.without_keys.is_some()
    }

    /// As [`Params::relative`], and also rings of packing, which have keys of packing alone.
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

    /// The parameters that this is a relative of, or these themselves.
    ///
    /// # Errors
    /// None: the root parameters exist already.
    pub fn root(&self) -> Result<Self, CkksError> {
        self.relative(self.root_shape())
    }

    /// The shape of equal dimension and rank 1, or of the least possible rank.
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

    /// Whether both belong to one family, that is, have the same root.
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

    /// As [`Params::distribution_of`], with the least weight to expect of such a part of a secret of fixed
    /// weight.
    pub(crate) fn least_distribution(&self, rank: usize) -> SecretDistribution {
        self.0.family.least_weight(ModuleShape { degree: self.degree(), rank })
    }

    /// Bits of security that every key must have: the root's, at most 128.
    pub(crate) fn wanted_bits(&self) -> f64 {
        self.0.family.wanted_bits()
    }

    /// `X^{n/2}` at `level`, the polynomial whose value is `i` in every slot: slot `j` is the value at
    /// `zeta^{5^j}`, and `(zeta^{n/2})^{5^j} = i^{5^j} = i` because `5^j = 1 mod 4`. It is also `i` in every
    /// slot of a shorter row, which lives in the subring of `X^{gap}`.
    pub(crate) fn imaginary_unit(&self, level: Level) -> Result<Poly<Eval>, CkksError> {
        let (ring, top) = (self.chain().ring(), self.chain().basis(self.max_level()));
        let unit = self.0.imaginary_unit.get_or_init(|| {
            let mut monomial = vec![0; self.degree()];
            monomial[self.degree() / 2] = 1;
            Poly::from_signed(ring, &top, &monomial).into_eval()
        });
        Ok(unit.restrict(&self.chain().basis(level))?)
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

    /// The canonical scale of a level, which fresh ciphertexts at that level have. The rescaled product of
    /// two such ciphertexts has the canonical scale of the level below, `s_{l-1} = s_l^2 / q_l`, if both
    /// levels are in one segment and the step matches the segment's scale.
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

    /// The scale of the rescaled product of two ciphertexts of canonical scale at `level`; `None` at level 0,
    /// and where the product does not fit the modulus or is below the noise.
    #[must_use]
    pub fn product_scale(&self, level: Level) -> Option<f64> {
        let below = Level(level.0.checked_sub(1)?);
        let scale = self.scale(level) * self.scale(level);
        let rescaled = scale / self.step_product(level);
        let above_noise = rescaled * rescaled >= self.noise_model().rounding();
        (above_noise && self.check_scale(scale, level).is_ok() && self.check_scale(rescaled, below).is_ok())
            .then_some(rescaled)
    }

    /// Segments whose steps do not match their scale: where repeated products of ciphertexts collapse, and
    /// why.
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

    /// Estimated bits of security: the minimum over all keys, including the keys of the temporary rank.
    #[must_use]
    pub fn security_bits(&self) -> f64 {
        self.0.security_bits
    }

    /// Whether the estimate is below 128 bits; every file made under such parameters is marked.
    #[must_use]
    pub fn is_insecure(&self) -> bool {
        self.0.security_bits < SECURITY_BITS
    }

    /// BLAKE3 of everything that must agree between two parties.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.digest
    }

    /// Name and digest, as messages and file labels state them.
    #[must_use]
    pub fn parameter_id(&self) -> ParameterId {
        ParameterId { name: Some(self.0.spec.name.clone()), digest: self.0.digest }
    }

    /// Threads the engine uses.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.family.threads()
    }

    /// The runtime that the caller asked for.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.0.family.runtime()
    }

    /// The same parameters under another runtime, on another device for example. They are made once for as
    /// long as they are in use.
    ///
    /// # Errors
    /// As [`Params::new`], for what depends on the runtime.
    pub fn under(&self, runtime: &Runtime) -> Result<Self, CkksError> {
        if runtime == self.runtime() {
            return Ok(self.clone());
        }
        self.0.family.under(runtime)?.member(self.shape())
    }

    /// The machine model that predicts times. Plans choose by other prices, which are the same on every
    /// machine ([`Cost::price`](crate::keys::Cost::price)).
    #[must_use]
    pub fn machine_profile(&self) -> &MachineProfile {
        &self.0.family.planning().profile
    }

    fn planning(&self) -> Option<&PlannerSettings> {
        self.has_keys_over(KeyModulus::Base).then(|| self.0.family.planning())
    }

    /// Refuses scales below 1, and those that leave no bit for a message.
    ///
    /// # Errors
    /// [`CkksError::ScaleOutOfRange`].
    pub fn check_scale(&self, scale: f64, level: Level) -> Result<(), CkksError> {
        let headroom = self.log2_q(level);
        if scale.is_finite() && scale >= 1.0 && scale.log2() + 1.0 <= headroom {
            return Ok(());
        }
        Err(CkksError::ScaleOutOfRange { log2_scale: scale.log2(), level: level.0, headroom })
    }

    /// Refuses numbers that may wrap around, or that decryption would not tell from such: a declared bound
    /// that, times the scale, exceeds a quarter of the modulus. The bound, where there is one.
    ///
    /// # Errors
    /// [`CkksError::BoundTooLarge`].
    pub(crate) fn check_bound(&self, magnitude: f64, scale: f64, level: Level) -> Result<(), CkksError> {
        // One bit for the sign, and one that shows overflows at decryption.
        let headroom = (self.log2_q(level) - 2.0 - scale.log2()).exp2();
        if magnitude.is_finite() && magnitude > headroom {
            return Err(CkksError::BoundTooLarge {
                magnitude,
                log2_scale: scale.log2(),
                level: level.0,
                headroom,
            });
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

    /// The variance that a reduction from rank `from` to the rank of these parameters adds at `level`, by a
    /// key made for levels up to `key_level`.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where these parameters cannot switch; level errors for a level above `key_level`.
    pub fn reduction_variance(&self, from: usize, level: Level, key_level: Level) -> Result<f64, CkksError> {
        let plan = self.switcher()?.tables_for(level, key_level)?;
        Ok(self.noise_model().coalesced_switch(
            from.saturating_sub(self.rank()),
            &plan.noise_digits(),
            plan.log2_special(),
        ))
    }

    /// The noise model of these parameters.
    #[must_use]
    pub fn noise_model(&self) -> NoiseModel {
        family::noise_model(self.shape(), self.0.family.distribution(self.shape()))
    }
}
