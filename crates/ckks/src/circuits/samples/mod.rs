//! Bootstraps of samples: LWE or MLWE samples of a small dimension become numbers in slots, at a high level.
//!
//! ```text
//! samples        level 0, dimension K, under the main secret or a device's
//! packing        coefficients of a ciphertext, level 0, under the ephemeral secret: the keys of packing lead straight to it
//! half bootstrap slots, at the level that a bootstrap leaves
//! ```
//!
//! Samples are packed at the shortest modulus, at which keys are small and switches fast. They may be packed
//! in a smaller ring first; one switch then leads to the ring of the bootstrap. Fewer samples than a ring
//! holds become a bootstrap of few slots; more become several ciphertexts.
//!
//! Source: [hermes, sec. 3, 4.5, Fig. 4]; differs: the paper packs in rings of degree 2^12, while this plan
//! compares the prices of every secure ring, and of packing directly in the ring of the bootstrap.
//!
//! `options` has the options and the parameters of samples, `ends` the choice of the packing between samples
//! and half bootstrap, `plan` its prediction, `places` the places of numbers, `checks` the checks of clients
//! and samples, and `run` the computation.

mod checks;
mod ends;
mod options;
mod places;
mod plan;
mod run;

pub use options::SamplesOptions;
pub use plan::SamplesPlan;

/// The operation's name in errors.
const OPERATION: &str = "a bootstrap of samples";
