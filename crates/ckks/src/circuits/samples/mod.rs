//! From samples to slots: LWE or MLWE samples of a small dimension become numbers in slots, at a high level.
//!
//! ```text
//! samples        level 0, dimension K, under the main secret or a device's
//! packing        coefficients of a ciphertext, level 0, under the ephemeral secret: the keys of packing lead straight to it
//! half bootstrap slots, at the level that a bootstrap leaves
//! ```
//!
//! The samples are packed at the shortest modulus, where keys are small and switches fast: in a smaller ring
//! first, from which one switch leads to the ring of the bootstrap. Fewer samples than a ring holds become a
//! sparse bootstrap; more become several ciphertexts.
//!
//! Source: [hermes, sec. 3, 4.5, Fig. 4]; differs: the paper packs in rings of degree 2^12, where this plan
//! prices every ring that is secure, and packing in the ring of the bootstrap at once.
//!
//! `options` and the parameters of samples, `plan` with its choice and prediction, `places` of numbers,
//! `checks` of clients and samples, `run` on data.

mod checks;
mod options;
mod places;
mod plan;
mod run;

pub use options::SamplesOptions;
pub use plan::SamplesPlan;

/// The operation's name in errors.
const OPERATION: &str = "a bootstrap of samples";
