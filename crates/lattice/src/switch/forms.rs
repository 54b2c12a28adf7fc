//! Keys in the shapes that plans ask for: derived when first used, kept within a byte budget, derived again when needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use clathrate_arith::Factors;

use super::choice::KeyShape;
use super::decomposed::derive_shared;
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

/// The derived keys of one switcher: the least recently used ones give way when the budget is spent.
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
    /// A cache that keeps at most `budget` bytes of derived keys, and always the one in use.
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
        let keys: Vec<Arc<KeyForms>> = lock(&self.state).keys.iter().filter_map(Weak::upgrade).collect();
        keys.iter().map(|key| key.bytes()).sum()
    }

    /// Drops everything derived; it is derived again when needed.
    pub fn clear(&self) {
        let mut state = lock(&self.state);
        state.keys.drain(..).filter_map(|key| key.upgrade()).for_each(|key| lock(&key.0).clear());
    }

    /// `key` in `shape`.
    pub(super) fn get(&self, shape: &Arc<KeyShape>, key: &SwitchKey) -> Result<Arc<Factors>, LatticeError> {
        if shape.is_base() {
            return Ok(key.factors().clone());
        }
        let now = {
            let mut state = lock(&self.state);
            state.clock += 1;
            state.clock
        };
        if let Some(form) = lock(&key.forms().0).iter_mut().find(|form| form.shape == *shape) {
            form.used = now;
            return Ok(form.factors.clone());
        }
        // Not under a lock: two threads may derive the same form at once, and one of the two is dropped.
        let factors = derive_shared(shape, key)?;
        let mut state = lock(&self.state);
        state.keys.retain(|other| other.strong_count() > 0);
        let known = state.keys.iter().any(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(key.forms())));
        if !known {
            state.keys.push(Arc::downgrade(key.forms()));
        }
        let mut forms = lock(&key.forms().0);
        forms.retain(|form| form.shape != *shape);
        forms.push(Form { shape: shape.clone(), factors: factors.clone(), used: now });
        drop(forms);
        state.shrink(self.budget, now);
        Ok(factors)
    }
}

impl State {
    /// Drops forms, the least recently used first, until the rest fits; never the one used at `keep`.
    fn shrink(&self, budget: usize, keep: u64) {
        let keys: Vec<Arc<KeyForms>> = self.keys.iter().filter_map(Weak::upgrade).collect();
        let mut total: usize = keys.iter().map(|key| key.bytes()).sum();
        while total > budget {
            let oldest = keys.iter().filter_map(|key| key.oldest(keep).map(|used| (used, key))).min_by_key(|(used, _)| *used);
            let Some((used, key)) = oldest else { return };
            total -= key.remove(used);
        }
    }
}

impl KeyForms {
    /// Bytes of what is derived.
    #[must_use]
    pub fn bytes(&self) -> usize {
        lock(&self.0).iter().map(|form| form.factors.bytes()).sum()
    }

    fn oldest(&self, except: u64) -> Option<u64> {
        lock(&self.0).iter().map(|form| form.used).filter(|&used| used != except).min()
    }

    fn remove(&self, used: u64) -> usize {
        let mut forms = lock(&self.0);
        let Some(place) = forms.iter().position(|form| form.used == used) else { return 0 };
        forms.swap_remove(place).factors.bytes()
    }
}
