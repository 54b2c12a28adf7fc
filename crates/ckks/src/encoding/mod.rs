//! Encoding and decoding: numbers to polynomials and back, rounding to residues, encoded arrays.

pub(crate) mod chunks;
pub mod decode;
pub mod dft;
pub(crate) mod diagonal;
pub mod encode;
pub mod linear;
pub mod matrix;
pub mod plaintext;
pub mod values;

pub use decode::*;
pub use encode::*;
pub use matrix::Matrix;
pub use plaintext::Plaintext;
