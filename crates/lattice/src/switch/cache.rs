//! A byte budget for derived keys, shared by all keys of one or several switchers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use clathrate_arith::Factors;

use super::derived::DerivedKeys;
use super::key::SwitchKey;
use super::representation::KeyRepresentation;
use super::{coalesce, klss};
use crate::error::LatticeError;

/// Uses per derived key after which a derived key that was not used may be dropped for another one. Keys in steady use are never dropped for
/// each other, because a loop over one key too many would then derive every key anew in every round.
const STALE_ROUNDS: u64 = 4;

/// Keeps derived keys within a byte budget. When the budget is spent, keys out of use are dropped; where all are in use, a new one is refused
/// and the caller switches by the generated key.
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

    /// Bytes of derived keys now.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes()
    }

    /// Drops all derived keys; the next use derives them again.
    pub fn clear(&self) {
        self.lock().keys.drain(..).filter_map(|key| key.upgrade()).for_each(|key| key.clear());
    }

    /// A panic elsewhere cannot break an invariant of the state: it is a clock and a list of weak references.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> u64 {
        let mut state = self.lock();
        state.clock += 1;
        state.clock
    }

    /// `key` in `representation`, derived if the budget has room; `None` where it has not.
    pub(super) fn admit(&self, representation: &Arc<KeyRepresentation>, key: &SwitchKey) -> Result<Option<Arc<Factors>>, LatticeError> {
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
        // Not under a lock: two threads may derive the same representation at once, and one result is dropped.
        let factors = derive(representation, key).map(Arc::new)?;
        self.keep(representation, key, &factors, now);
        Ok(Some(factors))
    }

    /// `key` in `representation`, derived for this one use where the budget has no room to keep it.
    pub(super) fn get(&self, representation: &Arc<KeyRepresentation>, key: &SwitchKey) -> Result<Arc<Factors>, LatticeError> {
        match self.admit(representation, key)? {
            Some(factors) => Ok(factors),
            None => derive(representation, key).map(Arc::new),
        }
    }

    /// `key` in `representation`, where the generated key is used unchanged or the representation has been derived before.
    fn find(&self, representation: &KeyRepresentation, key: &SwitchKey) -> Option<Arc<Factors>> {
        if representation.is_base() {
            return Some(key.factors().clone());
        }
        key.derived().find(representation, self.tick())
    }

    fn keep(&self, representation: &Arc<KeyRepresentation>, key: &SwitchKey, factors: &Arc<Factors>, now: u64) {
        let mut state = self.lock();
        state.keys.retain(|other| other.strong_count() > 0);
        let known = state.keys.iter().any(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(key.derived())));
        if !known {
            state.keys.push(Arc::downgrade(key.derived()));
        }
        // Meanwhile other threads may have spent the room.
        if state.bytes() + factors.bytes() <= self.budget {
            key.derived().keep(representation, factors, now);
        }
    }
}

impl State {
    fn bytes(&self) -> usize {
        self.keys.iter().filter_map(Weak::upgrade).map(|key| key.bytes()).sum()
    }

    /// Drops keys out of use until `bytes` more fit the budget; tells whether they do.
    fn make_room(&mut self, budget: usize, bytes: usize) -> bool {
        let keys: Vec<Arc<DerivedKeys>> = self.keys.iter().filter_map(Weak::upgrade).collect();
        let mut total = self.bytes();
        let rounds = STALE_ROUNDS * keys.iter().map(|key| key.count() as u64).sum::<u64>().max(1);
        while total + bytes > budget {
            let oldest = keys.iter().filter_map(|key| key.oldest().map(|used| (used, key))).min_by_key(|(used, _)| *used);
            match oldest {
                Some((used, key)) if used + rounds < self.clock => total -= key.remove(used),
                _ => return false,
            }
        }
        true
    }
}

/// The key in `representation`, derived from the generated key: merged components, cut into key digits for KLSS.
fn derive(representation: &KeyRepresentation, key: &SwitchKey) -> Result<Factors, LatticeError> {
    let foreign = || LatticeError::KeyGadget { key_digits: key.digit_count(), digits: representation.runs.len() };
    let rows = key.basis().rows_of(representation.basis.indices()).ok_or_else(foreign)?;
    let terms = coalesce::merged_terms(&representation.runs, key.inputs());
    match &representation.klss {
        Some(digits) => klss::derive(digits, key, &terms).ok_or_else(foreign),
        None => Ok(coalesce::merge(key.ring(), key.factors(), &terms, &rows)),
    }
}
