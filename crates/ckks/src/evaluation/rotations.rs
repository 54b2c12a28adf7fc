//! Rotations and conjugation of the slots. Several rotations of one ciphertext share its decomposition (hoisting).

use clathrate_arith::GaloisElement;
use clathrate_lattice::{Bundle, Eval, SwitchKey};

use super::evaluator::{Evaluator, check_slots};
use crate::arrays::Ciphertext;
use crate::error::CkksError;
use crate::keys::{Found, HeldKey, KeyName, Operation};

/// How errors call them.
const ROTATION: &str = "a rotation";

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
        // Slots repeat with the period of the row's capacity: a multiple of it is no rotation and needs no key.
        let period = x.layout()?.capacity;
        let find = |&steps: &i64| {
            let nothing = steps.rem_euclid(period as i64) == 0;
            if nothing {
                Ok(Some(Found::Nothing))
            } else {
                self.keys_at(&x.params, x, ROTATION, Operation::Rotate(steps), (x.level, period))
            }
        };
        let found = steps.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        if found.iter().all(|found| matches!(found, Some(Found::Nothing))) {
            return Ok(vec![x.clone(); steps.len()]);
        }
        if x.is_symbol() {
            return self.rotated_symbols(x, steps);
        }
        let found: Vec<Found<'_>> = found.into_iter().flatten().collect();
        let switcher = x.params.switcher()?;
        // Rotations by a key of their own share the decomposition.
        let own: Vec<&SwitchKey> = found.iter().filter_map(own_key).map(HeldKey::key).collect();
        let shared = if own.len() < 2 { None } else { Some(switcher.tables_for_keys(x.level, &own)?) };
        let mut rotated: Vec<Vec<Bundle<Eval>>> = found.iter().map(|_| Vec::with_capacity(x.bundles.len())).collect();
        for bundle in &x.bundles {
            let digits = shared.as_ref().map(|tables| bundle.decompose_mask(switcher, tables)).transpose()?.unwrap_or_default();
            for (target, found) in rotated.iter_mut().zip(&found) {
                let hoisted = own_key(found).filter(|_| shared.is_some()).and_then(|held| Some((held, held.automorphism()?)));
                target.push(match hoisted {
                    Some((held, phi)) => bundle.rotate_hoisted(phi, &digits, switcher, held.key())?,
                    None => found.apply(bundle)?,
                });
            }
        }
        Ok(rotated.into_iter().map(|bundles| x.with(bundles, x.level, x.scale)).collect())
    }

    /// The symbols of several rotations: each costs a switch, and those that take one share their decomposition.
    fn rotated_symbols(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>, CkksError> {
        let (period, slots) = (x.layout()?.capacity as i64, x.params.slot_count() as i64);
        let moving: Vec<i64> = steps.iter().copied().filter(|steps| steps.rem_euclid(period) != 0).collect();
        let name = |steps: i64| KeyName::Automorphism(GaloisElement::rotation(steps.rem_euclid(slots), x.params.degree()));
        for &steps in moving.iter().skip(1) {
            self.spend(x, || Ok(x.params.key_definition(name(steps))?.decomposition_cost(x.level)?.times(-1.0)))?;
        }
        let rotated = |&steps: &i64| {
            if steps.rem_euclid(period) == 0 {
                Ok(x.clone())
            } else {
                self.switched(&x.params, x.clone(), Operation::Rotate(steps), x.level, 1.0)
            }
        };
        steps.iter().map(rotated).collect()
    }

    /// The complex conjugate of every entry.
    ///
    /// # Errors
    /// [`CkksError::NoConjugationKey`]; [`CkksError::Encoding`] unless slots.
    pub fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        check_slots(x, "conjugation")?;
        x.params.switcher()?;
        let keys = self.keys_for(&x.params, x, "conjugation", Operation::Conjugate, x.level)?;
        let bundles = keys.iter().flat_map(|keys| x.bundles.iter().map(|bundle| keys.apply(bundle)));
        self.switched(&x.params, x.with(bundles.collect::<Result<_, _>>()?, x.level, x.scale), Operation::Conjugate, x.level, 1.0)
    }
}

/// The key of a rotation that takes one switch.
fn own_key<'k>(found: &Found<'k>) -> Option<&'k HeldKey> {
    match found {
        Found::InTurn(keys) if keys.len() == 1 => Some(keys[0]),
        _ => None,
    }
}
