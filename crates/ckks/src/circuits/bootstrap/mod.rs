//! Bootstrapping: an array at a low level becomes an array of the same numbers at a high level.
//!
//! ```text
//! slots to coefficients     numbers move from slots to coefficients; the modulus shrinks to that of level 0
//! modulus raise             read as integers, the phase is m + q0 I with a small integer I in each coefficient
//! coefficients to slots     the coefficients (m + q0 I) / q0 move to slots
//! modular reduction         sin(2 pi x) / 2 pi removes I, separately for real and imaginary parts
//! ```
//!
//! Each stage is an operation of its own on an [`Evaluator`](crate::Evaluator), a function of the plan, and
//! leaves an array whose layout, level and scale say what it holds. The order is usually
//! slots-to-coefficients first: its linear maps run where the modulus is short, and the precision does not
//! depend on the message.
//!
//! The chain's segments, from the lowest level up, have these names:
//!
//! | segment | levels | what its steps do |
//! |---|---|---|
//! | [`BASE`] | `0 .. s - 1` | with the step of level `s`, slots to coefficients |
//! | [`APPLICATION`] | `s .. A` | left to the application |
//! | [`REDUCTION`] | `A + 1 .. M` | with the step of level `A + 1`, modular reduction |
//! | [`COEFFS_TO_SLOTS`] | `M + 1 .. top` | coefficients to slots |
//!
//! Slots-to-coefficients comes last where a segment [`SLOTS_TO_COEFFS`] lies between application and modular
//! reduction: levels `A + 1 .. B`. Then `s` is 1, the modular reduction ends at level `B`, and an array at
//! level 1 needs no linear map before the raise. The modular reduction's errors are in coefficients, and all
//! of them meet in every slot, so results have `log2(slots) / 2` bits less.
//!
//! Source: Cheon et al. (EUROCRYPT 2018); order of the stages: [pcmm-mambo, sec. 2.4], [hermes, sec. 2];
//! encapsulation: Bossuat, Troncoso-Pastoriza, Hubaux (ACNS 2022).

mod batch;
mod choose;
mod cosine;
pub mod eval_mod;
mod explain;
pub mod failure;
mod groups;
mod options;
mod order;
mod plan;
mod precision;
mod raise;
mod run;
mod stage;
mod steps;
mod tables;

pub use eval_mod::ModularReduction;
pub use options::{BatchCost, BootstrapOptions};
pub use plan::BootstrapPlan;
pub use precision::BootstrapError;

pub use crate::parameters::{APPLICATION, BASE, COEFFS_TO_SLOTS, REDUCTION, SLOTS_TO_COEFFS};

/// Names of the stages, as progress and cost tables show them.
pub mod stages {
    /// Around all stages of a bootstrap that an evaluator runs by itself.
    pub const AUTOMATIC: &str = "automatic bootstrap";
    /// Slots to coefficients.
    pub const TO_COEFFICIENTS: &str = "slots to coefficients";
    /// The level at which a product may come before the raise: a rescale where there is none.
    pub const PRODUCT: &str = "level of the product";
    /// Change to the ephemeral secret, raise, change back, and the sum into the subring of few slots.
    pub const RAISE: &str = "modulus raise";
    /// Coefficients to slots.
    pub const TO_SLOTS: &str = "coefficients to slots";
    /// Real and imaginary parts apart.
    pub const SPLIT: &str = "split";
    /// Modular reduction.
    pub const REDUCTION: &str = "modular reduction";
    /// Between two rounds: the error of the rounds before, and its correction.
    pub const ROUNDS: &str = "rounds";
    /// Real and imaginary parts together.
    pub const JOIN: &str = "join";
}
