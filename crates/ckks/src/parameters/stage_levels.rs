//! The levels of a chain with bootstraps, by the names of its segments: those of the application, and those
//! of the stages of a bootstrap.

use clathrate_lattice::Level;

use super::{Params, Segment};
use crate::error::CkksError;

/// Name of the segment of the lowest levels.
pub const BASE: &str = "base";

/// Name of the segment of the application.
pub const APPLICATION: &str = "application";

/// Name of the segment of slots-to-coefficients, in chains on which this stage comes last.
pub const SLOTS_TO_COEFFS: &str = "slots to coefficients";

/// Name of the segment of the modular reduction.
pub const REDUCTION: &str = "modular reduction";

/// Name of the segment of the highest levels.
pub const COEFFS_TO_SLOTS: &str = "coefficients to slots";

/// The levels at which the stages start and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StageLevels {
    /// The lowest level of the application, where a bootstrap starts.
    pub start: Level,
    /// The highest level of the application, where a bootstrap ends.
    pub end: Level,
    /// The level after the modular reduction: `end`, or the highest level of slots-to-coefficients if that
    /// stage comes last.
    pub reduced: Level,
    /// The level before the modular reduction.
    pub slots: Level,
}

impl StageLevels {
    /// The levels of a chain with bootstraps.
    ///
    /// # Errors
    /// [`CkksError::Unsupported`] if a segment is missing or in the wrong place.
    pub(crate) fn new(params: &Params) -> Result<Self, CkksError> {
        let refuse = |reason: String| CkksError::not_bootstrappable(&params.spec().name, reason);
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
    /// Whether the levels and the rank of these parameters allow bootstraps.
    #[must_use]
    pub fn has_bootstrap_levels(&self) -> bool {
        StageLevels::new(self).is_ok() && self.rank() == 1
    }

    /// The lowest and the highest level of the application. A bootstrap of one round brings arrays from the
    /// former to the latter.
    ///
    /// # Errors
    /// [`CkksError::Unsupported`].
    pub fn application_levels(&self) -> Result<(Level, Level), CkksError> {
        let levels = StageLevels::new(self)?;
        Ok((levels.start, levels.end))
    }

    /// The default level of encryption, of planned circuits and of keys. In parameters with bootstraps it is
    /// the highest level of the application, because the levels above are for the bootstrap and have scales
    /// that products do not keep. Otherwise it is [`Params::max_level`].
    #[must_use]
    pub fn fresh_level(&self) -> Level {
        let top = self.max_level();
        if self.segments().iter().all(|segment| segment.name != APPLICATION) {
            return top;
        }
        StageLevels::new(self).map_or(top, |levels| levels.end.min(top))
    }
}
