//! Derived keys: what switching makes of evaluation keys, ahead of its first use or on it, and gives up again.

use std::sync::Arc;

use clathrate_lattice::switch::{KeyForms, SwitchChoice, SwitchPlan};
use clathrate_lattice::{Level, SwitchKey};

use crate::error::CkksError;
use crate::keys::{EvaluationKeys, Progress};

impl EvaluationKeys {
    /// Derives now what switches at `levels` (all, if absent) would derive on first use, as far as the budget of derived keys allows; tells the bytes
    /// that are derived then. `progress` hears about each derivation.
    ///
    /// Levels above a key's own are left out. Keys that are used together at different levels of their own may derive more later.
    ///
    /// # Errors
    /// `LevelOutOfRange`; [`CkksError::Cancelled`], with what was derived so far kept.
    pub fn prepare(&self, levels: Option<&[Level]>, progress: Progress<'_>) -> Result<usize, CkksError> {
        let Ok(switcher) = self.params.switcher() else {
            progress(0, 0);
            return Ok(0); // without special primes there are no keys
        };
        let chain = self.params.chain();
        let all: Vec<Level> = (0..=self.params.max_level().0).map(Level).collect();
        let levels = levels.unwrap_or(&all);
        levels.iter().try_for_each(|&level| chain.check_level(level))?;
        let as_made = SwitchChoice::as_made(chain);
        // One derivation serves all levels of one choice.
        let mut work: Vec<(&SwitchKey, Arc<SwitchPlan>)> = Vec::new();
        for key in self.switch_keys() {
            let mut choices = Vec::new();
            for &level in levels.iter().filter(|&&level| level <= key.level()) {
                let Ok(plan) = switcher.plan_for(level, key.level()) else { continue }; // a fixed choice that does not fit: said when it is used
                if plan.choice() != as_made && !choices.contains(&plan.choice()) {
                    choices.push(plan.choice());
                    work.push((key, plan));
                }
            }
        }
        for (done, (key, plan)) in work.iter().enumerate() {
            if !progress(done, work.len()) {
                return Err(CkksError::Cancelled);
            }
            switcher.plan_for_keys(plan.level(), &[key])?;
        }
        progress(work.len(), work.len());
        Ok(self.derived_bytes())
    }

    /// Bytes derived from these keys so far.
    #[must_use]
    pub fn derived_bytes(&self) -> usize {
        self.switch_keys().map(|key| key.forms().bytes()).sum()
    }

    /// Drops what is derived; it is derived again when needed.
    pub fn drop_derived(&self) {
        self.switch_keys().for_each(|key| KeyForms::clear(key.forms()));
    }
}
