//! The parts of a plan: the stages of the algorithm, and the steps of each.

use clathrate_lattice::Level;

use crate::arrays::Order;

/// A stage of the algorithm, as cost tables and progress reports show it.
#[derive(Debug)]
pub(super) struct Stage {
    /// One of [`stages`].
    pub(super) name: &'static str,
    /// Its steps, in order.
    pub(super) steps: Vec<Step>,
}

/// A step of a stage. The plan holds the tables (linear maps, the lift, the cosine).
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Lowers the array to the plan's lowest level, and reads it in the slots of the transforms, in which its
    /// numbers repeat.
    Enter,
    /// Switches the polynomials to shared masks. [pcmm-mambo, sec. 6.2]
    ShareMasks(Place),
    /// Runs the linear maps from slots to coefficients.
    SlotsToCoeffs,
    /// Switches the polynomials back to separate masks.
    SplitMasks(Place),
    /// Reads the contents of slots as complex coefficients in this order.
    ReadAsCoeffs(Order),
    /// Rescales to level 0, at the scale that the modular reduction needs.
    Rescale,
    /// Changes to the sparse secret.
    Encapsulate,
    /// Raises the modulus and changes back to the main secret.
    ModRaise,
    /// Runs the linear maps from coefficients to slots.
    CoeffsToSlots,
    /// Splits one array into the array of its real parts and that of its imaginary parts.
    SplitReIm,
    /// Runs the modular reduction on each array.
    EvalMod,
    /// Joins the arrays of real and imaginary parts to one array.
    JoinReIm,
}

/// The level and scale of a change to or from shared masks, and its effect on the error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) level: Level,
    pub(super) scale: f64,
    /// The variance of a number of the result divided by the variance of a coefficient's error here, in units
    /// of the message.
    pub(super) gain: f64,
}
