//! Which levels of a chain that bootstraps belong to the application, and which to the stages of a bootstrap,
//! by the names of its segments.

use clathrate_lattice::Level;

use super::{Params, Segment};
use crate::error::CkksError;

/// Name of the segment of the lowest levels.
pub const BASE: &str = "base";

/// Name of the segment that is left to the application.
pub const APPLICATION: &str = "application";

/// Name of the segment of slots-to-coefficients, in chains where it comes last.
pub const SLOTS_TO_COEFFS: &str = "slots to coefficients";

/// Name of the segment of the modular reduction.
pub const REDUCTION: &str = "modular reduction";

/// Name of the segment of the highest levels.
pub const COEFFS_TO_SLOTS: &str = "coefficients to slots";

/// The ends of the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StageLevels {
    /// The lowest level of the application, where a bootstrap starts.
    pub start: Level,
    /// The highest level of the application, where a bootstrap ends.
    pub end: Level,
    /// The level after the modular reduction: `end`, or the highest one of slots-to-coefficients where that
    /// comes last.
    pub reduced: Level,
    /// The level before the modular reduction.
    pub slots: Level,
}

impl StageLevels {
    /// The levels of a chain that bootstraps.
    ///
    /// # Errors
    /// [`CkksError::NotBootstrappable`] where a segment is missing or at the wrong place.
    pub(crate) fn new(params: &Params) -> Result<Self, CkksError> {
        let refuse =
            |reason: String| CkksError::NotBootstrappable { params: params.spec().name.clone(), reason };
        let find = |name: &str| params.segments().iter().find(|segment| segment.name == name);
        let segment = |name: &str| {
            find(name).ok_or_else(|| {
                refuse(format!(
                    "take a preset for bootstraps, such as \"boot_default\" or \"boot_n15\", or give the chain the segments \"{BASE}\", \"{APPLICATION}\", \
                     \"{REDUCTION}\" and \"{COEFFS_TO_SLOTS}\", of which \"{name}\" is missing"
                ))
            })
        };
        let (base, application, reduction, raised) =
            (segment(BASE)?, segment(APPLICATION)?, segment(REDUCTION)?, segment(COEFFS_TO_SLOTS)?);
        let last = find(SLOTS_TO_COEFFS);
        let order: Vec<&Segment> =
            [base, application].into_iter().chain(last).chain([reduction, raised]).collect();
        let follow = order.windows(2).all(|pair| pair[1].lowest() == pair[0].highest() + 1);
        if base.lowest() != 0 || !follow {
            let names: Vec<String> = order.iter().map(|segment| format!("\"{}\"", segment.name)).collect();
            return Err(refuse(format!(
                "the segments must follow one another from level 0 up: {}",
                names.join(", ")
            )));
        }
        if last.is_some() && base.highest() != 0 {
            return Err(refuse(format!(
                "with a segment \"{SLOTS_TO_COEFFS}\", slots-to-coefficients comes last and \"{BASE}\" is level 0 alone, but it reaches level {}",
                base.highest()
            )));
        }
        let end = Level(application.highest());
        Ok(Self {
            start: Level(application.lowest()),
            end,
            reduced: last.map_or(end, |last| Level(last.highest())),
            slots: Level(reduction.highest()),
        })
    }

    /// Whether slots-to-coefficients comes last.
    pub(crate) fn slots_last(self) -> bool {
        self.reduced > self.end
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

    /// The level at which arrays are encrypted, circuits are planned and keys are made unless the caller
    /// states another one: the highest level of the application in parameters that bootstrap, because the
    /// levels above belong to the bootstrap, whose scales products do not keep; otherwise
    /// [`Params::max_level`].
    #[must_use]
    pub fn fresh_level(&self) -> Level {
        let top = self.max_level();
        if self.segments().iter().all(|segment| segment.name != APPLICATION) {
            return top;
        }
        StageLevels::new(self).map_or(top, |levels| levels.end.min(top))
    }
}
