//! Bootstrapping: an array at a low level becomes an array of the same numbers at a high level.
//!
//! ```text
//! slots to coefficients     numbers move from slots to coefficients; the modulus shrinks to that of level 0
//! modulus raise             read as integers, the phase is m + q0 I with a small integer I in each coefficient
//! coefficients to slots     the coefficients (m + q0 I) / q0 move to slots
//! modular reduction         sin(2 pi x) / 2 pi removes I, separately for real and imaginary parts
//! ```
//!
//! Each stage is a separate operation of an [`Evaluator`](crate::Evaluator) and a function of the plan. The
//! layout, level and scale of its result say what the result holds. Slots-to-coefficients usually comes
//! first: its linear maps then run at a short modulus, and the precision does not depend on the message.
//!
//! The chain's segments, from the lowest level up, have these names:
//!
//! | segment | levels | its steps are for |
//! |---|---|---|
//! | [`BASE`] | `0 .. s - 1` | slots to coefficients, together with the step of level `s` |
//! | [`APPLICATION`] | `s .. A` | the application |
//! | [`REDUCTION`] | `A + 1 .. M` | modular reduction, together with the step of level `A + 1` |
//! | [`COEFFS_TO_SLOTS`] | `M + 1 .. top` | coefficients to slots |
//!
//! Slots-to-coefficients comes last if there is a segment [`SLOTS_TO_COEFFS`] with levels `A + 1 .. B`
//! between application and modular reduction. Then `s` is 1, the modular reduction ends at level `B`, and an
//! array at level 1 needs no linear map before the raise. The errors of the modular reduction are then in
//! coefficients, and every slot is a sum of all coefficients, so results have `log2(slots) / 2` fewer bits of
//! precision.
//!
//! Source: Cheon et al. (EUROCRYPT 2018); order of the stages: [pcmm-mambo, sec. 2.4], [hermes, sec. 2];
//! encapsulation: Bossuat, Troncoso-Pastoriza, Hubaux (ACNS 2022).

mod batch;
mod choose;
mod cosine;
pub mod eval_mod;
mod explain;
pub mod failure;
pub(in crate::circuits) mod groups;
mod options;
mod order;
mod plan;
pub(in crate::circuits) mod precision;
mod raise;
mod run;
mod stage;
mod steps;
mod tables;

pub use eval_mod::ModularReduction;
pub use options::{BatchCost, BootstrapOptions};
pub use plan::BootstrapPlan;
pub use precision::BootstrapError;
pub(in crate::circuits) use tables::Factors;

pub use crate::parameters::{APPLICATION, BASE, COEFFS_TO_SLOTS, REDUCTION, SLOTS_TO_COEFFS};

/// The names of the stages in progress reports and cost tables.
pub mod stages {
    /// All stages of a bootstrap that an evaluator runs automatically.
    pub const AUTOMATIC: &str = "automatic bootstrap";
    /// Slots to coefficients.
    pub const TO_COEFFICIENTS: &str = "slots to coefficients";
    /// The level for a product before the raise. Without a product it takes a rescale only.
    pub const PRODUCT: &str = "level of the product";
    /// The change to the ephemeral secret, the raise, the change back, and for few slots the sum into their
    /// subring.
    pub const RAISE: &str = "modulus raise";
    /// Coefficients to slots.
    pub const TO_SLOTS: &str = "coefficients to slots";
    /// The split into real and imaginary parts.
    pub const SPLIT: &str = "split";
    /// Modular reduction.
    pub const REDUCTION: &str = "modular reduction";
    /// Between two rounds: the error of the rounds before and its correction.
    pub const ROUNDS: &str = "rounds";
    /// The join of real and imaginary parts.
    pub const JOIN: &str = "join";
}
