//! Levels and scales: rescaling, lower levels, and bringing operands to a common level and scale.
//!
//! Scales are exact: a fresh ciphertext, and a rescaled product of two ciphertexts of one level, have exactly the canonical scale of their level.
//! Operands of different levels are brought to the lower level; a product that is not yet rescaled and a fresh operand are brought together by an
//! integer factor. Operands whose scales cannot be brought together, because the caller chose one of them, give an error.

use std::borrow::Cow;

use clathrate_lattice::Level;

use super::evaluator::Evaluator;
use crate::arrays::Ciphertext;
use crate::error::CkksError;
use crate::parameters::Rescale;

/// Scales whose relative difference is below this count as equal, because an integer factor of 40 bits is rounded by as much.
const SCALE_TOLERANCE: f64 = 1e-11;

/// How much the rounding of an integer factor may change a scale, relatively: a message of magnitude 1 then changes by at most one unit of its integers,
/// which is below the noise of any encryption.
fn factor_tolerance(scale: f64) -> f64 {
    SCALE_TOLERANCE.max(1.0 / scale)
}

/// Whether two scales count as equal.
pub(crate) fn same_scale(x: f64, y: f64) -> bool {
    (x / y - 1.0).abs() < SCALE_TOLERANCE
}

impl Ciphertext {
    /// Whether this is a product, or a sum of products, that was not rescaled: a rescale would give it the canonical scale of the level below.
    #[must_use]
    pub fn awaits_rescale(&self) -> bool {
        let below = self.level.0.checked_sub(1).map(Level);
        below.is_some_and(|below| same_scale(self.scale / self.params.step_product(self.level), self.params.scale(below)))
    }

    /// Whether the scale is the canonical one of the level, as that of a fresh encryption and of a rescaled product.
    #[must_use]
    pub fn has_canonical_scale(&self) -> bool {
        same_scale(self.scale, self.params.scale(self.level))
    }
}

impl Evaluator {
    /// `x` as an operand of operations that need the scale of a level: a product that awaits its rescale is rescaled, unless the runtime leaves rescales to the
    /// caller ([`Rescale::Explicit`]). To use a product several times, take this once.
    ///
    /// # Errors
    /// As [`Evaluator::rescale`].
    pub fn settled<'x>(&self, x: &'x Ciphertext) -> Result<Cow<'x, Ciphertext>, CkksError> {
        if x.params.runtime().rescale == Rescale::Explicit || !x.awaits_rescale() {
            return Ok(Cow::Borrowed(x));
        }
        self.rescale(x).map(Cow::Owned)
    }

    /// Brings both operands to the same level and scale; an operand that has them already is not copied.
    pub(super) fn align<'c>(&self, x: &'c Ciphertext, y: &'c Ciphertext) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>), CkksError> {
        let (x, y) = match x.level.cmp(&y.level) {
            std::cmp::Ordering::Equal => (Cow::Borrowed(x), Cow::Borrowed(y)),
            std::cmp::Ordering::Greater => (Cow::Owned(self.lower(x, y.level, y.scale)?), Cow::Borrowed(y)),
            std::cmp::Ordering::Less => (Cow::Borrowed(x), Cow::Owned(self.lower(y, x.level, x.scale)?)),
        };
        if same_scale(x.scale, y.scale) {
            return Ok((x, y));
        }
        let mismatch = CkksError::ScaleMismatch { left: x.scale.log2(), right: y.scale.log2() };
        let ratio = if x.scale > y.scale { x.scale / y.scale } else { y.scale / x.scale };
        let factor = ratio.round();
        if (ratio / factor - 1.0).abs() > factor_tolerance(x.scale.min(y.scale)) || factor > 2f64.powi(100) {
            return Err(mismatch);
        }
        let grow = |small: &Ciphertext, scale: f64| {
            let mut grown = small.clone();
            grown.bundles.iter_mut().for_each(|bundle| bundle.mul_integer_assign(factor as i128));
            let inexact = (factor * small.scale / scale - 1.0).abs();
            grown.scale = scale;
            grown.estimated(|own| own.inexact(inexact))
        };
        Ok(if x.scale < y.scale {
            (Cow::Owned(grow(&x, y.scale)), y)
        } else {
            let grown = grow(&y, x.scale);
            (x, Cow::Owned(grown))
        })
    }

    /// Drops primes down to `level` and changes the scale to `scale`, if a factor and one rescale can do that with little enough rounding. A product that is
    /// not yet rescaled is rescaled first.
    ///
    /// A scale that the lower modulus cannot hold is refused, because the message would wrap around unnoticed.
    pub(crate) fn lower(&self, x: &Ciphertext, level: Level, scale: f64) -> Result<Ciphertext, CkksError> {
        let restrict = |scale: f64| {
            x.params.check_scale(scale, level)?;
            x.params.check_bound(x.estimate.magnitude, scale, level)?;
            let basis = x.params.chain().basis(level);
            x.try_map(level, scale, |bundle| Ok(bundle.restrict(&basis)?))
        };
        if same_scale(x.scale, scale) {
            return restrict(scale);
        }
        // This check is needed here too, because the canonical scale of level 0 need not fit a short base step.
        x.params.check_scale(scale, level)?;
        let above = Level(level.0 + 1);
        let factor = (scale * x.params.step_product(above) / x.scale).round();
        if 0.5 / factor > factor_tolerance(scale) || factor > 2f64.powi(100) {
            let (below, rescaled) = self.rescaled(x, x.level, x.scale)?;
            if !same_scale(rescaled, x.params.scale(below)) {
                return restrict(x.scale);
            }
            let x = self.rescale(x)?;
            return if below == level { Ok(x) } else { self.lower(&x, level, scale) };
        }
        x.params.check_bound(x.estimate.magnitude, scale, level)?;
        let division = x.params.chain().rescale_division(above)?;
        let upper = x.params.chain().basis(above);
        self.spend(x, || Ok(x.params.rescale_cost(above, x.polys_per_bundle())))?;
        let lowered = x.try_map(level, scale, |bundle| {
            let mut bundle = bundle.restrict(&upper)?;
            bundle.mul_integer_assign(factor as i128);
            Ok(bundle.divide(&division)?)
        })?;
        let error = lowered.slot_error(lowered.params.noise_model().rounding());
        // The factor is a rounded one.
        let inexact = (factor * x.scale / (scale * x.params.step_product(above)) - 1.0).abs();
        Ok(lowered.estimated(|own| own.with_error(error).inexact(inexact)))
    }

    /// The same array at a lower level. If `x` has the canonical scale of its level, the result has the canonical scale of the lower level.
    ///
    /// # Errors
    /// [`CkksError::LevelUp`]; [`CkksError::ScaleOutOfRange`] where the scale does not fit the modulus there.
    pub fn drop_to_level(&self, x: &Ciphertext, level: Level) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if level > x.level {
            return Err(CkksError::LevelUp { from: x.level.0, to: level.0 });
        }
        self.at_level(x, level).map(Cow::into_owned)
    }

    /// As [`Evaluator::drop_to_level`]; an `x` that is at `level` already is borrowed.
    pub(crate) fn at_level<'c>(&self, x: &'c Ciphertext, level: Level) -> Result<Cow<'c, Ciphertext>, CkksError> {
        if level == x.level {
            return Ok(Cow::Borrowed(x));
        }
        let target = if same_scale(x.scale, x.params.scale(x.level)) { x.params.scale(level) } else { x.scale };
        self.lower(x, level, target).map(Cow::Owned)
    }

    /// Level and scale after a rescale from `level`; refused if the rescale would destroy the message.
    pub(crate) fn rescaled(&self, x: &Ciphertext, level: Level, scale: f64) -> Result<(Level, f64), CkksError> {
        let below = Level(level.0.checked_sub(1).ok_or(CkksError::LevelTooLow { operation: "rescaling", needed: 1, level: 0 })?);
        let rescaled = scale / x.params.step_product(level);
        let canonical = x.params.scale(below);
        // Rounding alone would exceed a message of magnitude 1.
        let lost = rescaled * rescaled < x.params.noise_model().rounding();
        if lost && same_scale(scale, x.params.scale(level)) {
            return Err(CkksError::NothingToRescale { log2_scale: scale.log2(), level: level.0 });
        }
        x.params.check_scale(rescaled, below)?;
        if lost {
            return Err(CkksError::ScaleOutOfRange { log2_scale: rescaled.log2(), level: below.0, room: x.params.log2_q(below) });
        }
        Ok((below, if same_scale(rescaled, canonical) { canonical } else { rescaled }))
    }

    /// Divides by the last modulus step: the level falls by one, and the scale is divided by the step.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::ScaleOutOfRange`] where the rescale would destroy the message.
    pub fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let (level, scale) = self.rescaled(x, x.level, x.scale)?;
        x.params.check_bound(x.estimate.magnitude, scale, level)?;
        let division = x.params.chain().rescale_division(x.level)?;
        self.spend(x, || Ok(x.params.rescale_cost(x.level, x.polys_per_bundle())))?;
        let rescaled = x.try_map(level, scale, |bundle| Ok(bundle.divide(&division)?))?;
        let error = rescaled.slot_error(rescaled.params.noise_model().rounding());
        Ok(rescaled.estimated(|own| own.with_error(error)))
    }
}
