//! Operations on ciphertexts: arithmetic, rotations, moves between ranks and degrees.

pub mod evaluator;
pub mod moves;
pub mod rotations;

pub use evaluator::Evaluator;
