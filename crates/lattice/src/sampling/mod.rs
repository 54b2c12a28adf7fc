//! Randomness of the lattice layer: public masks from seeds, secret samples from the operating system's
//! entropy.
//!
//! There are two separate generators: [`MaskXof`] expands a public, stored [`MaskSeed`] into uniform residues
//! (BLAKE3), and [`SecretRng`] draws secrets, errors and flooding noise (ChaCha20). The module works on rows
//! of integers and a modulus; it does not depend on polynomials, chains or keys.

mod distribution;
mod error;
mod gaussian;
mod secret;
mod sorting;
mod xof;

pub use distribution::SecretDistribution;
pub use error::SamplingError;
pub use gaussian::{ERROR_BOUND, ERROR_STANDARD_DEVIATION};
pub use secret::SecretRng;
pub use xof::{MaskSeed, MaskXof};
