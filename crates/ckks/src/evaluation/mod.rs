//! Operations on ciphertexts: arithmetic, rotations, moves between ranks and degrees.

mod apply;
pub mod evaluator;
pub mod recording;
pub mod moves;
pub mod rotations;

pub use evaluator::Evaluator;
