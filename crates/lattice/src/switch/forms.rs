//! Keys in the shapes that plans ask for: derived when first used, kept within a byte budget, derived again when needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use clathrate_arith::Factors;

use super::choice::KeyShape;
use super::decomposed::derive;
use super::key::SwitchKey;
use crate::error::LatticeError;

/// What is derived from one key; lives and dies with it.
#[derive(Debug, Default)]
pub struct KeyForms(Mutex<Vec<Form>>);

#[derive(Debug)]
struct Form {
    shape: Arc<KeyShape>,
    factors: Arc<Factors>,
    used: u64,
}

/// Derived keys hold no invariant that a panic elsewhere could break: each is complete or absent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Uses per derived key after which one that was not among them may give way to another: keys in steady use never chase each other out.
const STALE_ROUNDS: u64 = 4;

/// The derived keys of one switcher, or of several that share a budget. When the budget is spent, those out of use give way; where all are in use, a new one is refused, and
/// the caller switches by the key as it was made.
#[derive(Debug)]
pub struct FormCache {
    budget: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    clock: u64,
    keys: Vec<Weak<KeyForms>>,
}

impl FormCache {
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
        lock(&self.state).bytes()
    }

    /// Drops everything derived; it is derived again when needed.
    pub fn clear(&self) {
        let mut state = lock(&self.state);
        state.keys.drain(..).filter_map(|key| key.upgrade()).for_each(|key| lock(&key.0).clear());
    }

    /// `key` in `shape`, derived if there is room for it; `None` where there is not.
    pub(super) fn admit(&self, shape: &Arc<KeyShape>, key: &SwitchKey) -> Result<Option<Arc<Factors>>, LatticeError> {
        if let Some(factors) = self.find(shape, key) {
            return Ok(Some(factors));
        }
        let bytes = shape.bytes(key);
        let now = {
            let mut state = lock(&self.state);
            state.clock += 1;
            if !state.make_room(self.budget, bytes) {
                return Ok(None);
            }
            state.clock
        };
        // Not under a lock: two threads may derive the same form at once, and one of the two is dropped.
        let factors = derive(shape, key).map(Arc::new)?;
        self.keep(shape, key, &factors, now);
        Ok(Some(factors))
    }

    /// `key` in `shape`, derived for this one use where there is no room to keep it.
    pub(super) fn get(&self, shape: &Arc<KeyShape>, key: &SwitchKey) -> Result<Arc<Factors>, LatticeError> {
        match self.admit(shape, key)? {
            Some(factors) => Ok(factors),
            None => derive(shape, key).map(Arc::new),
        }
    }

    /// `key` in `shape`, where that is the key itself or has been derived.
    fn find(&self, shape: &Arc<KeyShape>, key: &SwitchKey) -> Option<Arc<Factors>> {
        if shape.is_base() {
            return Some(key.factors().clone());
        }
        let now = {
            let mut state = lock(&self.state);
            state.clock += 1;
            state.clock
        };
        let mut forms = lock(&key.forms().0);
        let form = forms.iter_mut().find(|form| form.shape == *shape)?;
        form.used = now;
        Some(form.factors.clone())
    }

    fn keep(&self, shape: &Arc<KeyShape>, key: &SwitchKey, factors: &Arc<Factors>, now: u64) {
        let mut state = lock(&self.state);
        state.keys.retain(|other| other.strong_count() > 0);
        let known = state.keys.iter().any(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(key.forms())));
        if !known {
            state.keys.push(Arc::downgrade(key.forms()));
        }
        // Meanwhile other threads may have spent the room that there was, or derived the same.
        let fits = state.bytes() + factors.bytes() <= self.budget;
        let mut forms = lock(&key.forms().0);
        if fits && forms.iter().all(|form| form.shape != *shape) {
            forms.push(Form { shape: shape.clone(), factors: factors.clone(), used: now });
        }
    }
}

impl State {
    fn bytes(&self) -> usize {
        self.keys.iter().filter_map(Weak::upgrade).map(|key| key.bytes()).sum()
    }

    /// Drops forms out of use until `bytes` more fit the budget; tells whether they do.
    fn make_room(&mut self, budget: usize, bytes: usize) -> bool {
        let keys: Vec<Arc<KeyForms>> = self.keys.iter().filter_map(Weak::upgrade).collect();
        let mut total = self.bytes();
        let rounds = STALE_ROUNDS * keys.iter().map(|key| lock(&key.0).len() as u64).sum::<u64>().max(1);
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

impl KeyForms {
    /// Bytes of what is derived.
    #[must_use]
    pub fn bytes(&self) -> usize {
        lock(&self.0).iter().map(|form| form.factors.bytes()).sum()
    }

    /// Drops what is derived; it is derived again when needed.
    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    fn oldest(&self) -> Option<u64> {
        lock(&self.0).iter().map(|form| form.used).min()
    }

    fn remove(&self, used: u64) -> usize {
        let mut forms = lock(&self.0);
        let Some(place) = forms.iter().position(|form| form.used == used) else { return 0 };
        forms.swap_remove(place).factors.bytes()
    }
}
