//! Levels and scales: rescaling, lower levels, operands that meet.
//!
//! Scales are exact per level: a fresh ciphertext, and a rescaled product of two of one level, have the canonical scale of their
//! level to the bit. Operands of different levels meet at the lower one; a product not yet rescaled and a fresh operand meet by an
//! integer factor. What is left is a scale the caller chose, and an error that says so.

use std::borrow::Cow;

use clathrate_lattice::Level;

use super::evaluator::{Evaluator, entry_error};
use crate::arrays::Ciphertext;
use crate::error::CkksError;

/// Scales closer than this (relatively) are one scale: an integer factor of 40 bits rounds that much.
const SCALE_TOLERANCE: f64 = 1e-11;

/// What an integer factor may round a scale by: a message of magnitude 1 then moves by no more than one unit of its integers, which is
/// below the noise of any encryption.
fn factor_tolerance(scale: f64) -> f64 {
    SCALE_TOLERANCE.max(1.0 / scale)
}

/// Whether two scales are one.
pub(crate) fn same_scale(x: f64, y: f64) -> bool {
    (x / y - 1.0).abs() < SCALE_TOLERANCE
}

impl Evaluator {
    /// Brings both to one level and one scale; what is there already is not copied.
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
            grown.scale = scale;
            grown
        };
        Ok(if x.scale < y.scale {
            (Cow::Owned(grow(&x, y.scale)), y)
        } else {
            let grown = grow(&y, x.scale);
            (x, Cow::Owned(grown))
        })
    }

    /// Drops primes to `level`, and brings the scale to `scale` where one rescale on the way can do that exactly enough. A product
    /// not yet rescaled is divided by its own step first.
    ///
    /// A scale that the lower modulus cannot hold is refused: the message would wrap around unnoticed.
    pub(super) fn lower(&self, x: &Ciphertext, level: Level, scale: f64) -> Result<Ciphertext, CkksError> {
        let restrict = |scale: f64| {
            x.params.check_scale(scale, level)?;
            let basis = x.params.chain().basis(level);
            x.try_map(level, scale, |bundle| Ok(bundle.restrict(&basis)?))
        };
        if same_scale(x.scale, scale) {
            return restrict(scale);
        }
        // Also here: the canonical scale of a level need not fit a base step that is shorter than it.
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
        let division = x.params.chain().rescale_division(above)?;
        let upper = x.params.chain().basis(above);
        self.spend(x, || Ok(x.params.rescale_cost(above, x.polys_per_bundle())))?;
        let lowered = x.try_map(level, scale, |bundle| {
            let mut bundle = bundle.restrict(&upper)?;
            bundle.mul_integer_assign(factor as i128);
            Ok(bundle.divide(&division)?)
        })?;
        let error = entry_error(&lowered, lowered.params.noise_model().rounding());
        Ok(lowered.estimated(|own| own.with_error(error)))
    }

    /// The same array at a lower level, with that level's canonical scale where `x` has its own level's.
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

    /// `x` at a level not above its own, with that level's canonical scale where it has its own level's.
    pub(crate) fn at_level<'c>(&self, x: &'c Ciphertext, level: Level) -> Result<Cow<'c, Ciphertext>, CkksError> {
        if level == x.level {
            return Ok(Cow::Borrowed(x));
        }
        let target = if same_scale(x.scale, x.params.scale(x.level)) { x.params.scale(level) } else { x.scale };
        self.lower(x, level, target).map(Cow::Owned)
    }

    /// Level and scale after a rescale from `level`; refused where nothing would be left of the message.
    pub(crate) fn rescaled(&self, x: &Ciphertext, level: Level, scale: f64) -> Result<(Level, f64), CkksError> {
        let below = Level(level.0.checked_sub(1).ok_or(CkksError::LevelTooLow { operation: "rescaling", needed: 1, level: 0 })?);
        let rescaled = scale / x.params.step_product(level);
        let canonical = x.params.scale(below);
        x.params.check_scale(rescaled, below)?;
        // Rounding alone would exceed a message of magnitude 1.
        if rescaled * rescaled < x.params.noise_model().rounding() {
            return Err(CkksError::ScaleOutOfRange { log2_scale: rescaled.log2(), level: below.0, room: x.params.log2_q(below) });
        }
        Ok((below, if same_scale(rescaled, canonical) { canonical } else { rescaled }))
    }

    /// Divides by the last modulus step: one level and one step of scale less.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::ScaleOutOfRange`] where nothing would be left of the message.
    pub fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let (level, scale) = self.rescaled(x, x.level, x.scale)?;
        let division = x.params.chain().rescale_division(x.level)?;
        self.spend(x, || Ok(x.params.rescale_cost(x.level, x.polys_per_bundle())))?;
        let rescaled = x.try_map(level, scale, |bundle| Ok(bundle.divide(&division)?))?;
        let error = entry_error(&rescaled, rescaled.params.noise_model().rounding());
        Ok(rescaled.estimated(|own| own.with_error(error)))
    }
}
