//! Levels and scales: rescaling, dropping levels, and a common level and scale of operands.
//!
//! A fresh ciphertext, and a rescaled product of two ciphertexts of one level, have exactly the canonical
//! scale of their level. Operands of different levels are lowered to the lower level. A product that is not
//! rescaled and a fresh operand get a common scale by an integer factor. If no factor suffices, because the
//! caller chose a scale or the steps of a chain do not match the scales, both operands get a scale at a lower
//! level: with an integer factor and a rescale any scale is possible.

use std::borrow::Cow;

use clathrate_lattice::Level;

use super::evaluator::Evaluator;
use crate::arrays::Ciphertext;
use crate::error::CkksError;
use crate::parameters::{Params, Rescale};

/// Scales with a relative difference below this count as equal: the rounding of a 40-bit integer factor
/// causes such a difference.
const SCALE_TOLERANCE: f64 = 1e-11;

/// Maximum of the relative change of a scale by the rounding of an integer factor: a message of magnitude 1
/// then changes by at most one unit of its integers, which is below the noise of any encryption.
fn factor_tolerance(scale: f64) -> f64 {
    SCALE_TOLERANCE.max(1.0 / scale)
}

/// Maximum of an integer factor that changes a scale.
const LARGEST_FACTOR: f64 = (1u128 << 100) as f64;

/// Whether two scales count as equal.
pub(crate) fn same_scale(x: f64, y: f64) -> bool {
    (x / y - 1.0).abs() < SCALE_TOLERANCE
}

impl Ciphertext {
    /// Whether this is a product, or a sum of products, that was not rescaled: either a rescale would give
    /// the canonical scale of the level below, or the scale is that of a product of two arrays of the level.
    /// If steps do not match the scale of products, as between two segments, only the latter holds.
    #[must_use]
    pub fn awaits_rescale(&self) -> bool {
        let Some(below) = self.level.0.checked_sub(1).map(Level) else { return false };
        let (own, rescaled) =
            (self.params.scale(self.level), self.scale / self.params.step_product(self.level));
        let of_product = || {
            self.scale >= own * own / 2.0
                && is_above_noise(&self.params, rescaled)
                && self.params.check_scale(rescaled, below).is_ok()
        };
        same_scale(rescaled, self.params.scale(below)) || of_product()
    }

    /// Whether the scale is the canonical scale of the level, which fresh encryptions and rescaled products
    /// have.
    #[must_use]
    pub fn has_canonical_scale(&self) -> bool {
        same_scale(self.scale, self.params.scale(self.level))
    }
}

/// Whether the rounding noise is below a message of magnitude 1 at this scale.
fn is_above_noise(params: &Params, scale: f64) -> bool {
    scale * scale >= params.noise_model().rounding()
}

/// A change of level and scale: primes above level `above` are dropped, the polynomials are multiplied by
/// `factor`, and then rescaled down to the new level.
#[derive(Debug, Clone, Copy)]
struct Change {
    factor: i128,
    above: Level,
}

/// The change of `x` to `level` and `scale` with the fewest rescales; `None` if no integer factor is precise
/// enough.
fn change(x: &Ciphertext, level: Level, scale: f64) -> Option<Change> {
    if level <= x.level && same_scale(x.scale, scale) {
        return Some(Change { factor: 1, above: level });
    }
    let mut exact = scale / x.scale;
    for above in level.0..=x.level.0 {
        if above > level.0 {
            exact *= x.params.step_product(Level(above));
        }
        let factor = exact.round();
        if (1.0..=LARGEST_FACTOR).contains(&factor)
            && (exact / factor - 1.0).abs() <= factor_tolerance(scale.min(x.scale))
        {
            return Some(Change { factor: factor as i128, above: Level(above) });
        }
    }
    None
}

/// The highest level to which all of `parts` can be brought at a common scale, and this scale, which is that
/// of one of the parts if possible.
///
/// # Errors
/// [`CkksError::LevelTooLow`] if scales differ and no level is left to adjust them;
/// [`CkksError::ScaleMismatch`] if scales differ and the runtime leaves rescales to the caller.
pub(super) fn meeting(parts: &[&Ciphertext], operation: &'static str) -> Result<(Level, f64), CkksError> {
    let Some(first) = parts.iter().copied().min_by_key(|part| part.level) else {
        return Err(CkksError::no_terms(operation));
    };
    let (params, lowest) = (&first.params, first.level);
    if parts.iter().all(|part| part.level == lowest && same_scale(part.scale, first.scale)) {
        return Ok((lowest, first.scale));
    }
    let all_reach = |level: Level, scale: f64| {
        params.check_scale(scale, level).is_ok()
            && parts.iter().all(|part| change(part, level, scale).is_some())
    };
    let largest_first = |scales: &mut Vec<f64>| scales.sort_by(|x, y| y.total_cmp(x));
    let mut own: Vec<f64> = parts.iter().filter(|part| part.level == lowest).map(|part| part.scale).collect();
    largest_first(&mut own);
    if let Some(&scale) = own.iter().find(|&&scale| all_reach(lowest, scale)) {
        return Ok((lowest, scale));
    }
    let other =
        parts.iter().find(|part| !same_scale(part.scale, first.scale)).map_or(first.scale, |part| part.scale);
    let mismatch = CkksError::ScaleMismatch { left: first.scale.log2(), right: other.log2() };
    if params.runtime().rescale == Rescale::Explicit {
        return Err(mismatch);
    }
    for level in (0..lowest.0).rev().map(Level) {
        let steps = |part: &Ciphertext| {
            (level.0 + 1..=part.level.0).map(|from| params.step_product(Level(from))).product::<f64>()
        };
        let mut rescaled: Vec<f64> = parts
            .iter()
            .map(|part| part.scale / steps(part))
            .filter(|&scale| scale * scale >= params.scale(level))
            .collect();
        largest_first(&mut rescaled);
        rescaled.insert(0, params.scale(level));
        if let Some(&scale) =
            rescaled.iter().find(|&&scale| is_above_noise(params, scale) && all_reach(level, scale))
        {
            return Ok((level, scale));
        }
    }
    // If steps are as long as scales, one level suffices.
    Err(CkksError::LevelTooLow { operation, needed: lowest.0 + 1, level: lowest.0 })
}

impl Evaluator {
    /// `x`, rescaled if it is a product that awaits its rescale, unless the runtime leaves rescales to the
    /// caller ([`Rescale::Explicit`]). Call this once for a product that several operations use.
    pub fn settled<'x>(&self, x: &'x Ciphertext) -> Result<Cow<'x, Ciphertext>, CkksError> {
        if x.params.runtime().rescale == Rescale::Explicit || !x.awaits_rescale() {
            return Ok(Cow::Borrowed(x));
        }
        self.rescale(x).map(Cow::Owned)
    }

    /// Brings both operands to the same level and scale; operands that already have them are not copied.
    pub(super) fn align<'c>(
        &self,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
        operation: &'static str,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>), CkksError> {
        let (level, scale) = meeting(&[x, y], operation)?;
        Ok((self.brought(x, level, scale)?, self.brought(y, level, scale)?))
    }

    /// `x` at `level` with the scale `scale`, borrowed if `x` already has them.
    pub(super) fn brought<'c>(
        &self,
        x: &'c Ciphertext,
        level: Level,
        scale: f64,
    ) -> Result<Cow<'c, Ciphertext>, CkksError> {
        if level == x.level && same_scale(x.scale, scale) {
            Ok(Cow::Borrowed(x))
        } else {
            self.lower(x, level, scale).map(Cow::Owned)
        }
    }

    /// Lowers `x` to `level` and changes its scale to `scale`, if an integer factor and rescales can do so
    /// with sufficiently small rounding errors; otherwise keeps the scale.
    ///
    /// Refuses a scale that does not fit the lower modulus, because the message would wrap around unnoticed.
    pub(crate) fn lower(&self, x: &Ciphertext, level: Level, scale: f64) -> Result<Ciphertext, CkksError> {
        let (change, scale) = change(x, level, scale)
            .map_or((Change { factor: 1, above: level }, x.scale), |change| (change, scale));
        let params = &x.params;
        params.check_scale(scale, level)?;
        params.check_bound(x.estimate.magnitude, scale, level)?;
        let levels: Vec<Level> = (level.0 + 1..=change.above.0).rev().map(Level).collect();
        let divisions =
            levels.iter().map(|&from| params.rescale_division(from)).collect::<Result<Vec<_>, _>>()?;
        for &from in &levels {
            self.record(x, || Ok(params.rescale_cost(from, x.polys_per_bundle())))?;
        }
        let upper = params.chain().basis(change.above);
        let mut lowered = x.try_map(level, scale, |bundle| {
            let mut bundle = bundle.restrict(&upper)?;
            if change.factor != 1 {
                bundle.mul_integer_assign(change.factor);
            }
            for division in &divisions {
                bundle = bundle.divide(division)?;
            }
            Ok(bundle)
        })?;
        let mut left = 1.0;
        for &from in levels.iter().rev() {
            // Later rescales divide the rounding error of earlier ones.
            let error = lowered.slot_error(params.noise_model().rounding()) / left;
            lowered = lowered.estimated(|own| own.with_error(error));
            left *= params.step_product(from);
        }
        // The rounding of the factor is an error of the numbers.
        let inexact = (change.factor as f64 * (x.scale / scale) / left - 1.0).abs();
        Ok(lowered.estimated(|own| own.inexact(inexact)))
    }

    /// The same array at a lower level. If `x` has the canonical scale of its level, the result has the
    /// canonical scale of the lower level.
    ///
    /// # Errors
    /// [`CkksError::Level`]; [`CkksError::ScaleOutOfRange`] where the scale does not fit the modulus there.
    pub fn drop_to_level(&self, x: &Ciphertext, level: Level) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        if level > x.level {
            return Err(CkksError::level_up(x.level.0, level.0));
        }
        self.at_level(x, level).map(Cow::into_owned)
    }

    /// [`Evaluator::drop_to_level`] that borrows an `x` which is already at `level`.
    pub(crate) fn at_level<'c>(
        &self,
        x: &'c Ciphertext,
        level: Level,
    ) -> Result<Cow<'c, Ciphertext>, CkksError> {
        if level == x.level {
            return Ok(Cow::Borrowed(x));
        }
        let target =
            if same_scale(x.scale, x.params.scale(x.level)) { x.params.scale(level) } else { x.scale };
        self.lower(x, level, target).map(Cow::Owned)
    }

    /// Level and scale after a rescale from `level`. Refuses a rescale that would destroy the message.
    pub(crate) fn rescaled(
        &self,
        x: &Ciphertext,
        level: Level,
        scale: f64,
    ) -> Result<(Level, f64), CkksError> {
        let below = Level(level.0.checked_sub(1).ok_or(CkksError::LevelTooLow {
            operation: "rescaling",
            needed: 1,
            level: 0,
        })?);
        let rescaled = scale / x.params.step_product(level);
        let canonical = x.params.scale(below);
        let lost = !is_above_noise(&x.params, rescaled);
        if lost && same_scale(scale, x.params.scale(level)) {
            return Err(CkksError::nothing_to_rescale(scale.log2(), level.0));
        }
        x.params.check_scale(rescaled, below)?;
        if lost {
            return Err(CkksError::ScaleOutOfRange {
                log2_scale: rescaled.log2(),
                level: below.0,
                headroom: x.params.log2_q(below),
            });
        }
        Ok((below, if same_scale(rescaled, canonical) { canonical } else { rescaled }))
    }

    /// Divides by the last modulus step: the level falls by one, and the scale is divided by the step.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::Level`] for an array that is not a
    /// product; [`CkksError::ScaleOutOfRange`] if the rescale would destroy the message.
    pub fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        let (level, scale) = self.rescaled(x, x.level, x.scale)?;
        x.params.check_bound(x.estimate.magnitude, scale, level)?;
        let division = x.params.rescale_division(x.level)?;
        self.record(x, || Ok(x.params.rescale_cost(x.level, x.polys_per_bundle())))?;
        let rescaled = x.try_map(level, scale, |bundle| Ok(bundle.divide(&division)?))?;
        let error = rescaled.slot_error(rescaled.params.noise_model().rounding());
        Ok(rescaled.estimated(|own| own.with_error(error)))
    }
}
