//! The canonical scale of each level, and checks for chains whose steps do not match their scale.

use std::fmt;

use clathrate_lattice::{Chain, Level};
use serde::Serialize;

use super::segments::{Segment, Segments};
use crate::error::CkksError;

/// A step matches the scale if their sizes differ by at most this many bits.
pub(super) const FOLLOW_BITS: f64 = 1.0;

/// The canonical scale below a level of scale `scale` and step product `product`, inside one segment. It is
/// the nominal scale if the step does not match the scale.
pub(super) fn next_scale(scale: f64, product: f64, log2_scale: f64) -> f64 {
    let next = scale * scale / product;
    if (next.log2() - log2_scale).abs() < FOLLOW_BITS { next } else { log2_scale.exp2() }
}

/// The product of a step's primes. The order of the factors is fixed, so that equal computations give equal
/// bits.
pub(super) fn step_product(chain: &Chain, level: Level) -> f64 {
    chain.step(level).fold(1.0, |product, i| product * chain.ring().moduli()[i].value() as f64)
}

/// The canonical scale of each level, level 0 first. The highest level of a segment has the nominal scale,
/// and each level below has its [`next_scale`].
pub(super) fn canonical_scales(chain: &Chain, segments: &Segments) -> Vec<f64> {
    let levels = chain.max_level().0 + 1;
    let mut scales = vec![0.0; levels];
    for level in (0..levels).rev() {
        let segment = segments.at(level);
        scales[level] = if level == segment.highest() {
            segment.log2_scale.exp2()
        } else {
            next_scale(scales[level + 1], step_product(chain, Level(level + 1)), segment.log2_scale)
        };
    }
    scales
}

/// A segment on which repeated products of ciphertexts collapse at `level`, because steps do not match the
/// scale or the modulus is too short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScaleWarning {
    /// The segment's name.
    pub segment: String,
    /// The level at which products collapse: their scale does not fit the modulus, or is below the noise.
    pub level: usize,
    /// Binary logarithm of the scale that products have at that level.
    pub log2_product: f64,
    /// Bits of the modulus at that level.
    pub room_bits: f64,
    /// Binary logarithm of the noise of one rescale, as a root mean square.
    pub log2_noise: f64,
    /// The highest step that does not match the scale, and its bits. `None` if the steps down to `level`
    /// match and the modulus is too short.
    pub step: Option<(usize, f64)>,
    /// Binary logarithm of the segment's scale.
    pub log2_scale: f64,
}

impl fmt::Display for ScaleWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment, level, log2_product, room_bits, log2_noise, log2_scale, .. } = self;
        write!(f, "segment \"{segment}\": products of ciphertexts collapse at level {level}, ")?;
        if *log2_product < *log2_noise {
            write!(f, "where their scale 2^{log2_product:.1} is below the rounding noise 2^{log2_noise:.1}")?;
        } else {
            write!(
                f,
                "where their scale 2^{log2_product:.1} does not fit the modulus of {room_bits:.1} bits"
            )?;
        }
        match self.step {
            Some((step, bits)) => write!(
                f,
                ", because step {step} has {bits:.1} bits and the scale is 2^{log2_scale:.1}: for products of ciphertexts use steps of {log2_scale:.1} \
                 bits, or a scale of the steps' size; products with plaintexts keep their scale"
            ),
            None => write!(f, ": use a longer base step, or a smaller scale, to compute down to this level"),
        }
    }
}

/// The sizes that decide which products fit a chain, all in bits, level 0 first.
pub(super) struct Sizes {
    pub steps: Vec<f64>,
    /// Bits of the modulus of each level.
    pub moduli: Vec<f64>,
    /// Binary logarithm of the canonical scale of each level.
    pub scales: Vec<f64>,
    /// Binary logarithm of the root mean square of the rounding error of a rescale.
    pub noise: f64,
}

/// Bits that a message needs in addition to its scale, for the sign.
const SIGN_BITS: f64 = 1.0;

impl Sizes {
    pub(super) fn new(chain: &Chain, scales: &[f64], rounding_variance: f64) -> Self {
        let levels = || (0..=chain.max_level().0).map(Level);
        Self {
            steps: levels().map(|level| step_product(chain, level).log2()).collect(),
            moduli: levels().map(|level| chain.basis(level).log2(chain.ring())).collect(),
            scales: scales.iter().map(|scale| scale.log2()).collect(),
            noise: rounding_variance.log2() / 2.0,
        }
    }

    fn fits(&self, log2_scale: f64, level: usize) -> bool {
        log2_scale + SIGN_BITS <= self.moduli[level]
    }

    /// Refuses chains on which no product can be rescaled at some level of a segment. Returns warnings for
    /// segments on which repeated products of ciphertexts collapse.
    ///
    /// A rescaled product of two ciphertexts has a scale of `2 s_l - q_l` bits. This scale must exceed the
    /// noise. It must also fit the modulus below. If it does not, the scale of a product with a plaintext,
    /// which can be chosen, must fit: such a chain is for products with plaintexts, and a warning says so.
    /// The modulus of level 0 may be too short for the nominal scale: level 0 then holds small scales only.
    ///
    /// # Errors
    /// [`CkksError::InvalidParams`].
    pub(super) fn check_products(&self, segments: &Segments) -> Result<Vec<ScaleWarning>, CkksError> {
        let mut warnings = Vec::new();
        for segment in segments.all() {
            for level in (segment.lowest() + 1..=segment.highest()).rev() {
                self.check_product(level, segment)?;
            }
            warnings.extend(self.collapse(segment));
        }
        Ok(warnings)
    }

    fn check_product(&self, level: usize, segment: &Segment) -> Result<(), CkksError> {
        let (scale, step, below) = (self.scales[level], self.steps[level], level - 1);
        let product = 2.0 * scale - step;
        let name = &segment.name;
        if product < self.noise {
            return Err(CkksError::InvalidParams {
                reason: format!(
                    "step {level} has {step:.1} bits, the scale at level {level} is 2^{scale:.1} (segment \"{name}\"): a product of ciphertexts leaves scale \
                     2^{product:.1}, below the rounding noise 2^{:.1}; use steps of {scale:.1} bits there, or a scale of the steps' size",
                    self.noise
                ),
            });
        }
        if below > 0 && !self.fits(product, below) && !self.fits(self.scales[below], below) {
            return Err(CkksError::InvalidParams {
                reason: format!(
                    "no product can be rescaled at level {level}: the modulus of level {below} has {:.1} bits, the scale there is 2^{:.1}, and step {level} has \
                     {step:.1} bits (segment \"{name}\"); use longer steps below, or a smaller scale",
                    self.moduli[below], self.scales[below]
                ),
            });
        }
        Ok(())
    }

    /// A warning for the first level, from the segment's highest level down, at which the scale of repeated
    /// products of ciphertexts is unusable.
    fn collapse(&self, segment: &Segment) -> Option<ScaleWarning> {
        let (mut product, mut culprit) = (self.scales[segment.highest()], None);
        for level in (segment.lowest() + 1..=segment.highest()).rev() {
            let (below, step) = (level - 1, self.steps[level]);
            if culprit.is_none()
                && (2.0 * self.scales[level] - step - segment.log2_scale).abs() >= FOLLOW_BITS
            {
                culprit = Some((level, step));
            }
            product = 2.0 * product - step;
            if product < self.noise || !self.fits(product, below) {
                return Some(ScaleWarning {
                    segment: segment.name.clone(),
                    level: below,
                    log2_product: product,
                    room_bits: self.moduli[below],
                    log2_noise: self.noise,
                    step: culprit,
                    log2_scale: segment.log2_scale,
                });
            }
        }
        None
    }
}
