//! A byte budget for derived keys, shared by all keys of one or several switchers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use clathrate_arith::Factors;

use super::derived::DerivedKeys;
use super::key::SwitchKey;
use super::representation::KeyRepresentation;
use super::{coalesce, klss};
use crate::error::LatticeError;

/// A derived key may be dropped for another one when, since its last use, the cache has been asked more than
/// this many times per stored derived key. So keys in regular use do not displace one another: otherwise a
/// loop whose keys exceed the budget by one would derive every key again in each round.
const STALE_ROUNDS: u64 = 4;

/// Keeps derived keys within a byte budget. When the budget is exhausted, the cache drops derived keys that
/// have not been used for long. If all have been used recently, it refuses the new key, and the caller
/// switches with the generated key.
#[derive(Debug)]
pub struct DerivedKeyCache {
    budget: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    clock: u64,
    keys: Vec<Weak<DerivedKeys>>,
}

impl DerivedKeyCache {
    /// A cache that keeps at most `budget` bytes of derived keys.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { budget, state: Mutex::default() }
    }

    /// The budget in bytes.
    #[must_use]
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Bytes of the derived keys that are stored now.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes()
    }

    /// Drops all derived keys; the next use derives them again.
    pub fn clear(&self) {
        self.lock().keys.drain(..).filter_map(|key| key.upgrade()).for_each(|key| key.clear());
    }

    /// Takes the lock even if a thread panicked while it held the lock: the state is a clock and a list of
    /// weak references, so it has no invariant to break.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> u64 {
        let mut state = self.lock();
        state.clock += 1;
        state.clock
    }

    /// `key` in `representation`, derived and kept if the budget has room for it; otherwise `None`.
    pub(super) fn admit(
        &self,
        representation: &Arc<KeyRepresentation>,
        key: &SwitchKey,
    ) -> Result<Option<Arc<Factors>>, LatticeError> {
        if let Some(factors) = self.find(representation, key) {
            return Ok(Some(factors));
        }
        let bytes = key.bytes_in(representation);
        let now = {
            let mut state = self.lock();
            state.clock += 1;
            if !state.make_room(self.budget, bytes) {
                return Ok(None);
            }
            state.clock
        };
        // The lock is not held here: if two threads derive the same representation, one of the results is
        // dropped.
        let factors = derive(representation, key).map(Arc::new)?;
        key.ring().engine().submit();
        self.keep(representation, key, &factors, now);
        Ok(Some(factors))
    }

    /// `key` in `representation`. If the budget has no room, the key is derived for this one use.
    pub(super) fn get(
        &self,
        representation: &Arc<KeyRepresentation>,
        key: &SwitchKey,
    ) -> Result<Arc<Factors>, LatticeError> {
        match self.admit(representation, key)? {
            Some(factors) => Ok(factors),
            None => derive(representation, key).map(Arc::new),
        }
    }

    /// `key` in `representation` if that is the generated key or is stored already.
    fn find(&self, representation: &KeyRepresentation, key: &SwitchKey) -> Option<Arc<Factors>> {
        if representation.is_base() {
            return Some(key.factors().clone());
        }
        key.derived().find(representation, self.tick())
    }

    fn keep(
        &self,
        representation: &Arc<KeyRepresentation>,
        key: &SwitchKey,
        factors: &Arc<Factors>,
        now: u64,
    ) {
        let mut state = self.lock();
        state.keys.retain(|other| other.strong_count() > 0);
        let known = state.keys.iter().any(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(key.derived())));
        if !known {
            state.keys.push(Arc::downgrade(key.derived()));
        }
        // Other threads may have used the budget since `make_room`.
        if state.bytes() + factors.bytes() <= self.budget {
            key.derived().keep(representation, factors, now);
        }
    }
}

impl State {
    fn bytes(&self) -> usize {
        self.keys.iter().filter_map(Weak::upgrade).map(|key| key.bytes()).sum()
    }

    /// Drops derived keys that have not been used for long until `bytes` more fit the budget; returns whether
    /// they fit.
    fn make_room(&mut self, budget: usize, bytes: usize) -> bool {
        let keys: Vec<Arc<DerivedKeys>> = self.keys.iter().filter_map(Weak::upgrade).collect();
        let mut total = self.bytes();
        let rounds = STALE_ROUNDS * keys.iter().map(|key| key.count() as u64).sum::<u64>().max(1);
        while total + bytes > budget {
            let oldest = keys
                .iter()
                .filter_map(|key| key.oldest().map(|used| (used, key)))
                .min_by_key(|(used, _)| *used);
            match oldest {
                Some((used, key)) if used + rounds < self.clock => total -= key.remove(used),
                _ => return false,
            }
        }
        true
    }
}

/// Derives the key in `representation` from the generated key: merges components and, for KLSS, decomposes
/// the results into key digits.
fn derive(representation: &KeyRepresentation, key: &SwitchKey) -> Result<Factors, LatticeError> {
    let foreign =
        || LatticeError::KeyGadget { key_digits: key.digit_count(), digits: representation.runs.len() };
    let rows = key.basis().rows_of(representation.basis.indices()).ok_or_else(foreign)?;
    let terms = coalesce::merged_terms(&representation.runs, key.inputs());
    match &representation.klss {
        Some(digits) => klss::derive(digits, key, &terms).ok_or_else(foreign),
        None => Ok(coalesce::merge(key.ring(), key.factors(), &terms, &rows)),
    }
}
