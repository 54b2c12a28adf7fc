//! Operations on ciphertexts: arithmetic, sums of products, rotations, selections of rows and columns, sums
//! of rows, conversions of rank and degree, masks for several bodies.

mod apply;
pub(crate) mod arithmetic;
pub mod broadcasting;
mod columns;
pub mod combinations;
pub mod evaluator;
pub mod kept;
pub(crate) mod levels;
pub mod masks;
pub mod moves;
mod overhead;
mod pack_samples;
mod products;
pub mod recording;
pub mod rotations;
mod rows;
mod slot_columns;
pub mod sums;

pub use evaluator::Evaluator;
pub use kept::KeptPlans;
pub(crate) use moves::Members;
pub use overhead::measure_machine;
pub(crate) use pack_samples::Packed;
pub(crate) use slot_columns::{selected_chunks, with_columns};
pub(crate) use sums::{check_chunks, doublings};
