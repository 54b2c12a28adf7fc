//! Bootstraps that an evaluator runs by itself, where levels run out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_lattice::Level;

use super::options::BootstrapOptions;
use super::plan::BootstrapPlan;
use super::stage_levels::StageLevels;
use super::stages;
use crate::arrays::{Ciphertext, Encoding, SecretName};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::evaluator::Room;
use crate::evaluation::levels::same_scale;
use crate::parameters::Params;

/// Plans by the slots of an array and whether its numbers are real; nothing where there is no plan.
type KnownPlans = BTreeMap<(usize, bool), Option<Arc<BootstrapPlan>>>;

/// The plans made so far.
#[derive(Debug, Default)]
struct Plans(Mutex<KnownPlans>);

impl Plans {
    fn plan(&self, x: &Ciphertext) -> Option<Arc<BootstrapPlan>> {
        // Two polynomials of real numbers share a bootstrap of complex ones.
        let (slots, real) = (x.layout().capacity, !x.is_complex() && x.layout().bundles() == 1);
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let options = BootstrapOptions { slots: Some(slots), real, ..BootstrapOptions::default() };
            BootstrapPlan::with_options(x.params(), options).ok().map(Arc::new)
        };
        plans.entry((slots, real)).or_insert_with(make).clone()
    }
}

impl Evaluator {
    /// The same evaluator, which bootstraps arrays by itself: the operands of products, polynomials and linear transforms whose results would, rescaled, be below
    /// `lowest`, by default the lowest level of the application. An array that cannot be bootstrapped stays as it is: without the keys, under another secret or
    /// rank, in coefficients, or at a scale that is not canonical.
    ///
    /// A higher `lowest` bootstraps earlier. That pays where an array is used several times afterwards: an operand is bootstrapped each time that it is used at
    /// too low a level. [`Evaluator::recorded`] tells what a dry run with each costs. Numbers must be at most 1 in magnitude wherever a bootstrap may come.
    ///
    /// # Errors
    /// [`CkksError::NotBootstrappable`] for parameters that cannot bootstrap; [`CkksError::OutOfRange`] for a level outside the application's.
    pub fn bootstrapping(self, lowest: Option<Level>) -> Result<Self, CkksError> {
        let levels = StageLevels::new(self.params())?;
        let least = lowest.unwrap_or(levels.start);
        if !(levels.start..levels.end).contains(&least) {
            let remedy = format!("use a level from {} to {}", levels.start, levels.end.0.saturating_sub(1));
            return Err(CkksError::OutOfRange { what: "the level to bootstrap below", value: least.to_string(), remedy });
        }
        let plans = Plans::default();
        Ok(self.refreshing(move |evaluator, x, room| evaluator.bootstrapped_for(x, room, (levels, least), &plans)))
    }

    fn bootstrapped_for(
        &self,
        x: &Ciphertext,
        room: Room,
        (levels, least): (StageLevels, Level),
        plans: &Plans,
    ) -> Result<Option<Ciphertext>, CkksError> {
        // The level that the operation should start from, and the one that it must start from.
        let (wanted, needed) = match room {
            Room::Depth(0) => return Ok(None),
            Room::Depth(depth) => (Level(least.0 + depth), Level(levels.start.0 + depth)),
            Room::Level(level) => (level, level),
        };
        let able = x.params() == self.params()
            && x.secret() == SecretName::Main
            && x.encoding() == Encoding::Slots
            && x.level() >= levels.start
            && same_scale(x.scale(), x.params().scale(x.level()));
        if x.level() >= wanted || !able {
            return Ok(None);
        }
        let Some(plan) = plans.plan(x) else { return Ok(None) };
        // Where the operation needs more levels than a bootstrap leaves, or the keys are missing, the operation says what is wrong.
        let lacks = self.held().is_some_and(|keys| plan.check_keys(keys).is_err());
        let output = plan.output_level();
        if x.level() >= output || output < needed || lacks {
            return Ok(None);
        }
        self.stage(stages::AUTOMATIC, || self.bootstrap(x, &plan)).map(Some)
    }
}

impl Params {
    /// Whether arrays under these parameters can be bootstrapped, as far as their levels tell.
    #[must_use]
    pub fn has_bootstrap_levels(&self) -> bool {
        StageLevels::new(self).is_ok() && self.rank() == 1
    }

    /// The lowest and the highest level of the application, between which bootstraps lift arrays.
    ///
    /// # Errors
    /// [`CkksError::NotBootstrappable`].
    pub fn application_levels(&self) -> Result<(Level, Level), CkksError> {
        let levels = StageLevels::new(self)?;
        Ok((levels.start, levels.end))
    }
}
