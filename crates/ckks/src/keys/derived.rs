//! Derived keys: the representations of evaluation keys that switching methods need. They are derived on
//! first use or in advance, and can be dropped again.

use std::sync::Arc;

use clathrate_lattice::switch::{DerivedKeys, SwitchMethod, SwitchTables};
use clathrate_lattice::{Level, SwitchKey, Switcher};

use super::evaluation::EvaluationKeys;
use crate::error::CkksError;
use crate::progress::Progress;

impl EvaluationKeys {
    /// Derives in advance the representations of the keys that switches at `levels` (`None`: all levels)
    /// need, as far as the budget for derived keys allows. Returns the bytes of all derived representations.
    ///
    /// For each key, levels above its highest level are skipped. Keys with different highest levels that are
    /// used in one operation may derive further representations later.
    ///
    /// Each derivation is reported to `progress`.
    ///
    /// # Errors
    /// `LevelOutOfRange`; [`CkksError::Cancelled`], after which the keys derived so far are kept.
    pub fn derive(&self, levels: Option<&[Level]>, progress: &Progress) -> Result<usize, CkksError> {
        levels.unwrap_or_default().iter().try_for_each(|&level| self.params().check_level(level))?;
        let mut work = Vec::new();
        self.derivations(levels, &mut work);
        let mut steps = progress.steps(work.len());
        for (switcher, key, plan) in &work {
            steps.begin()?;
            switcher.tables_for_keys(plan.level(), &[key])?;
        }
        steps.finish()?;
        Ok(self.derived_bytes())
    }

    /// Adds the derivations to be done to `work`; one derivation serves all levels that use the same method.
    fn derivations<'k>(
        &'k self,
        levels: Option<&[Level]>,
        work: &mut Vec<(&'k Switcher, &'k SwitchKey, Arc<SwitchTables>)>,
    ) {
        for (_, held) in self.iter() {
            let (Ok(switcher), key) = (held.switcher(), held.key()) else { continue };
            let as_made = SwitchMethod::as_made(switcher.chain());
            let all: Vec<Level> = (0..=key.level().0).map(Level).collect();
            let mut choices = Vec::new();
            for &level in levels.unwrap_or(&all).iter().filter(|&&level| level <= key.level()) {
                let Ok(plan) = switcher.tables_for(level, key.level()) else { continue }; // a fixed choice that does not fit: said when it is used
                if plan.method() != as_made && !choices.contains(&plan.method()) {
                    choices.push(plan.method());
                    work.push((switcher, key, plan));
                }
            }
        }
    }

    /// Bytes derived from these keys so far.
    #[must_use]
    pub fn derived_bytes(&self) -> usize {
        self.iter().map(|(_, held)| held.key().derived().bytes()).sum()
    }

    /// Drops all derived representations; they are derived again when needed.
    pub fn drop_derived(&self) {
        self.iter().map(|(_, held)| held.key()).for_each(|key| DerivedKeys::clear(key.derived()));
    }
}
