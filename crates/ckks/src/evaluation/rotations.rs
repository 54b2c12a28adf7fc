//! Rotations and conjugation: by keys of their own, decomposed once for many, or by keys of powers of two at a temporary rank.

use clathrate_lattice::{Bundle, Eval, SwitchKey, TemporaryRank};

use crate::arrays::Ciphertext;
use crate::error::CkksError;
use crate::evaluation::evaluator::{Evaluator, check_slots, with_each};
use crate::keys::needs::Reach;
use crate::keys::{EvaluationKeys, GaloisKey};

/// How one rotation is made.
enum Turn<'k> {
    /// It is none; or on a dry run.
    Nothing,
    /// By a key of its own.
    Own(&'k GaloisKey),
    /// By keys of powers of two at the temporary rank.
    Powers(TemporaryRank<'k>, Vec<&'k GaloisKey>),
}

impl<'k> Turn<'k> {
    fn own_key(&self) -> Option<&'k SwitchKey> {
        match self {
            Self::Own(galois) => Some(&galois.key),
            Self::Nothing | Self::Powers(..) => None,
        }
    }
}

/// `step` as a sum of powers of two, plus and minus, no two of them neighbours: the fewest terms there can be. [dpad-he, sec. 3.5]
pub(crate) fn non_adjacent_form(mut step: i64) -> Vec<i64> {
    let (mut terms, mut power) = (Vec::new(), 1i64);
    while step != 0 {
        if step & 1 == 1 {
            let digit = 2 - (step & 3); // 1 or -1, so that the next bit is zero
            terms.push(digit * power);
            step -= digit;
        }
        step >>= 1;
        power = power.wrapping_mul(2);
    }
    terms
}

impl Evaluator {
    fn check_rotation(&self, x: &Ciphertext) -> Result<(), CkksError> {
        let layout = x.layout()?;
        check_slots(x, "a rotation")?;
        if layout.chunks > 1 {
            let remedy = format!("rows of at most {} entries rotate; split the array", x.params.slot_count());
            return Err(CkksError::Shape { operation: "a rotation", left: x.shape.clone(), right: vec![], remedy });
        }
        Ok(())
    }

    /// Every row rotated left by `steps`, within its slots: the row's length rounded up to a power of two (the padding is zero).
    ///
    /// # Errors
    /// [`CkksError::NoRotationKey`]; [`CkksError::Encoding`] unless slots; [`CkksError::Shape`] for rows of several bundles.
    pub fn rotate(&self, x: &Ciphertext, steps: i64) -> Result<Ciphertext, CkksError> {
        self.rotate_many(x, &[steps])?.pop().ok_or(CkksError::NoKeys { operation: "a rotation" })
    }

    /// Several rotations of one ciphertext that share its decomposition (hoisting).
    ///
    /// # Errors
    /// As [`Evaluator::rotate`].
    pub fn rotate_many(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, CkksError> {
        self.check(x)?;
        self.check_rotation(x)?;
        let capacity = x.layout()?.capacity as i64;
        // Slots repeat with the period of the row's capacity: a multiple of it is no rotation and needs no key.
        let turns: Vec<Turn<'_>> = steps
            .iter()
            .map(|&step| if step.rem_euclid(capacity) == 0 { Ok(Turn::Nothing) } else { self.turn(x, step, capacity) })
            .collect::<Result<_, _>>()?;
        if turns.iter().all(|turn| matches!(turn, Turn::Nothing)) || x.is_symbol() {
            return Ok(vec![x.clone(); steps.len()]);
        }
        let switcher = x.params.switcher()?;
        let own: Vec<&SwitchKey> = turns.iter().filter_map(Turn::own_key).collect();
        // One rotation alone shares nothing: its digits need not exist as a whole.
        let plan = if own.len() < 2 { None } else { Some(switcher.tables_for_keys(x.level, &own)?) };
        let mut rotated: Vec<Vec<Bundle<Eval>>> = turns.iter().map(|_| Vec::with_capacity(x.bundles.len())).collect();
        for bundle in &x.bundles {
            let digits = plan.as_ref().map(|plan| bundle.decompose_mask(switcher, plan)).transpose()?.unwrap_or_default();
            for (target, turn) in rotated.iter_mut().zip(&turns) {
                target.push(match turn {
                    Turn::Nothing => bundle.clone(),
                    Turn::Own(galois) if plan.is_none() => bundle.rotate(&galois.phi, switcher, &galois.key)?,
                    Turn::Own(galois) => bundle.rotate_hoisted(&galois.phi, &digits, switcher, &galois.key)?,
                    Turn::Powers(crossing, keys) => {
                        let steps: Vec<_> = keys.iter().map(|galois| (&galois.phi, &galois.key)).collect();
                        bundle.rotate_rank_hoisted(&steps, *crossing)?
                    }
                });
            }
        }
        Ok(rotated.into_iter().map(|bundles| x.with(bundles, x.level, x.scale)).collect())
    }

    /// How a rotation by `step` modulo `capacity` is made: by the key of an equal rotation, or by keys of powers of two at the temporary rank.
    fn turn(&self, x: &Ciphertext, step: i64, capacity: i64) -> Result<Turn<'_>, CkksError> {
        let Some(keys) = self.keys_for(x, "a rotation", |needs| needs.rotations([step], Reach::Level(x.level.0)))? else {
            return x.params.switcher().map(|_| Turn::Nothing);
        };
        let slots = x.params.slot_count() as i64;
        let equal = || (0..slots / capacity).map(|period| step.rem_euclid(capacity) + period * capacity);
        let missing = match keys.rotation(step) {
            Ok(galois) => return Ok(Turn::Own(galois)),
            Err(missing) => missing,
        };
        if let Some(galois) = equal().find_map(|step| keys.rotation(step).ok()) {
            return Ok(Turn::Own(galois));
        }
        if !keys.has_powers() {
            return Err(missing);
        }
        // The two residues next to zero: the one of fewer terms.
        let residue = step.rem_euclid(capacity);
        let terms = [non_adjacent_form(residue), non_adjacent_form(residue - capacity)];
        let terms = terms.into_iter().min_by_key(Vec::len).unwrap_or_default();
        let found: Option<Vec<&GaloisKey>> = terms.into_iter().map(|term| keys.power(term)).collect();
        Ok(Turn::Powers(keys.crossing()?, found.ok_or(missing)?))
    }

    /// The complex conjugate of every entry.
    ///
    /// # Errors
    /// [`CkksError::NoConjugationKey`]; [`CkksError::Encoding`] unless slots.
    pub fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        check_slots(x, "conjugation")?;
        let keys = self.keys_for(x, "conjugation", |needs| needs.conjugate(Reach::Level(x.level.0)))?;
        let (galois, switcher) = (keys.map(EvaluationKeys::conjugation).transpose()?, x.params.switcher()?);
        let conjugated = with_each(galois, &x.bundles).map(|(galois, bundle)| bundle.rotate(&galois.phi, switcher, &galois.key));
        Ok(x.with(conjugated.collect::<Result<_, _>>()?, x.level, x.scale))
    }
}
