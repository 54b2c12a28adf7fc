//! Operations on ciphertexts: arithmetic, rotations, moves between ranks and degrees.

mod apply;
pub mod evaluator;
pub mod moves;
pub mod recording;
pub mod rotations;

pub use evaluator::Evaluator;
