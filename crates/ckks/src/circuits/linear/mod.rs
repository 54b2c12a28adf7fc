//! Linear transforms of encrypted slots: the plan of a circuit, and its execution.
//!
//! The map is a [`LinearTransform`]. [`LinearTransform::plan`] chooses the rotations ([`plan`]);
//! [`LinearTransformPlan::run`] executes the plan with one decomposition for all
//! baby steps and one mod-down for the complete sum.
//!
//! Source: Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux (EUROCRYPT 2021), sec. 4.2 (double hoisting).

pub(crate) mod blocks;
pub(crate) mod convolution;
mod encode;
pub(super) mod factors;
pub(crate) mod gather;
pub(crate) mod in_place;
mod plan;
pub(crate) mod routing;
mod run;
pub(crate) mod work;

pub use convolution::{Convolution, Kernel, Placement};
pub(crate) use plan::RotationSteps;
pub use plan::{LinearTransformOptions, LinearTransformPlan};

use crate::encoding::linear::LINEAR;
pub use crate::encoding::linear::LinearTransform;
