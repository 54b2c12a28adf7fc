//! Which levels belong to which stage, from the segments of the chain.

use clathrate_lattice::Level;

use super::{APPLICATION, BASE, LOWERING, RAISED, REDUCTION};
use crate::error::CkksError;
use crate::parameters::{Params, Segment};

/// The ends of the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::circuits) struct StageLevels {
    /// The lowest level of the application, where a bootstrap starts.
    pub(in crate::circuits) start: Level,
    /// The highest level of the application, where a bootstrap ends.
    pub(in crate::circuits) end: Level,
    /// The level after the modular reduction: `end`, or the highest one of slots-to-coefficients where that comes last.
    pub(in crate::circuits) reduced: Level,
    /// The level before the modular reduction.
    pub(in crate::circuits) slots: Level,
}

impl StageLevels {
    /// The levels of a chain that bootstraps.
    ///
    /// # Errors
    /// [`CkksError::NotBootstrappable`] where a segment is missing or at the wrong place.
    pub(in crate::circuits) fn new(params: &Params) -> Result<Self, CkksError> {
        let refuse = |reason: String| CkksError::NotBootstrappable { params: params.spec().name.clone(), reason };
        let find = |name: &str| params.segments().iter().find(|segment| segment.name == name);
        let segment = |name: &str| {
            find(name).ok_or_else(|| {
                refuse(format!(
                    "take a preset for bootstraps, such as \"boot_default\" or \"boot_n15\", or give the chain the segments \"{BASE}\", \"{APPLICATION}\", \
                     \"{REDUCTION}\" and \"{RAISED}\", of which \"{name}\" is missing"
                ))
            })
        };
        let (base, application, reduction, raised) = (segment(BASE)?, segment(APPLICATION)?, segment(REDUCTION)?, segment(RAISED)?);
        let last = find(LOWERING);
        let order: Vec<&Segment> = [base, application].into_iter().chain(last).chain([reduction, raised]).collect();
        let follow = order.windows(2).all(|pair| pair[1].lowest() == pair[0].highest() + 1);
        if base.lowest() != 0 || !follow {
            let names: Vec<String> = order.iter().map(|segment| format!("\"{}\"", segment.name)).collect();
            return Err(refuse(format!("the segments must follow one another from level 0 up: {}", names.join(", "))));
        }
        if last.is_some() && base.highest() != 0 {
            return Err(refuse(format!(
                "with a segment \"{LOWERING}\", slots-to-coefficients comes last and \"{BASE}\" is level 0 alone, but it reaches level {}",
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
    pub(in crate::circuits) fn slots_last(self) -> bool {
        self.reduced > self.end
    }
}
