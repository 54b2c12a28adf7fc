//! The words of a plan: a stage of the algorithm, and the steps that it consists of.

use clathrate_lattice::Level;

use crate::arrays::Order;

/// A stage of the algorithm, as cost tables and progress show it.
#[derive(Debug)]
pub(super) struct Stage {
    /// One of [`stages`].
    pub(super) name: &'static str,
    /// What it does, in order.
    pub(super) steps: Vec<Step>,
}

/// A step of a stage. Tables (linear maps, the lift, the cosine) are the plan's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Brings the array to the plan's lowest level; its numbers repeat in the slots of the transforms.
    Enter,
    /// The polynomials come under shared masks. [pcmm-mambo, sec. 6.2]
    ShareMasks(Place),
    /// The linear maps from slots to coefficients.
    SlotsToCoeffs,
    /// The polynomials get masks of their own again.
    SplitMasks(Place),
    /// The contents of slots are read as complex coefficients, in this order.
    ReadAsCoeffs(Order),
    /// Leaves a level for level 0 at the scale that the modular reduction asks for.
    Rescale,
    /// The change to the sparse secret.
    Encapsulate,
    /// The modulus raise, with the change back to the main secret.
    ModRaise,
    /// The linear maps from coefficients to slots.
    CoeffsToSlots,
    /// One array becomes the array of its real parts and that of its imaginary parts.
    SplitReIm,
    /// The modular reduction of each array.
    EvalMod,
    /// The arrays of real and imaginary parts become one.
    JoinReIm,
}

/// Where polynomials come under shared masks or leave them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) level: Level,
    pub(super) scale: f64,
    /// The variance of a number of the result, over that of a coefficient's error here in units of the
    /// message.
    pub(super) gain: f64,
}
