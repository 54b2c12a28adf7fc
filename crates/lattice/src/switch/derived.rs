//! Stores the representations that have been derived from one switching key.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clathrate_arith::Factors;

use super::representation::KeyRepresentation;

/// The representations derived from one key. They are dropped with the key, or at any time before: the next
/// use derives them again.
#[derive(Debug, Default)]
pub struct DerivedKeys(Mutex<Vec<DerivedKey>>);

#[derive(Debug)]
struct DerivedKey {
    representation: Arc<KeyRepresentation>,
    factors: Arc<Factors>,
    /// The cache's clock at the last use of this derived key.
    used: u64,
}

impl DerivedKeys {
    /// Takes the lock even if a thread panicked while it held the lock: each derived key is complete or
    /// absent, so no invariant can be broken.
    fn lock(&self) -> MutexGuard<'_, Vec<DerivedKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of all derived representations.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().iter().map(|derived| derived.factors.bytes()).sum()
    }

    /// Drops all derived representations.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Number of derived representations.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// The key in `representation`, if derived; marks it as used at `now`.
    pub(super) fn find(&self, representation: &KeyRepresentation, now: u64) -> Option<Arc<Factors>> {
        let mut all = self.lock();
        let derived = all.iter_mut().find(|derived| *derived.representation == *representation)?;
        derived.used = now;
        Some(derived.factors.clone())
    }

    /// Keeps `factors` unless another thread has stored the same representation meanwhile.
    pub(super) fn keep(&self, representation: &Arc<KeyRepresentation>, factors: &Arc<Factors>, now: u64) {
        let mut all = self.lock();
        if all.iter().all(|derived| derived.representation != *representation) {
            all.push(DerivedKey {
                representation: representation.clone(),
                factors: factors.clone(),
                used: now,
            });
        }
    }

    /// The cache's clock at the last use of the representation that has been unused longest.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.lock().iter().map(|derived| derived.used).min()
    }

    /// Drops the representation that was last used at `used`; returns the bytes that this frees.
    pub(super) fn remove(&self, used: u64) -> usize {
        let mut all = self.lock();
        let Some(place) = all.iter().position(|derived| derived.used == used) else { return 0 };
        all.swap_remove(place).factors.bytes()
    }
}
