//! Clathrate's lattice layer: polynomials over RNS bases, bundles of Module-LWE samples, and key switching.
//!
//! Every ciphertext is a [`Bundle`]: a mask of `k` polynomials (the rank) shared by `m` bodies, with phase
//! `b_i + <a, s_i>`. LWE, RLWE, MLWE and shared-mask ciphertexts are values of this one type. All operations
//! that need a key use one key switch, [`switch`]. Changes of the modulus, the rank, the degree and the
//! number of bodies are in [`modulus`], [`rank`], [`degree`] and [`bodies`].
//!
//! This crate does not depend on encodings, scales or slots. It computes only through
//! [`clathrate_arith::Engine`].
#![forbid(unsafe_code)]
#![warn(unnameable_types)]
#![warn(unreachable_pub)]

pub mod basis;
pub mod bodies;
pub mod bundle;
pub mod chain;
pub mod counted;
pub mod degree;
pub mod error;
pub mod format_switch;
pub mod gadget;
pub mod hoisting;
pub mod linear_combination;
pub mod modulus;
pub mod multiply;
pub mod noise;
pub mod outer_products;
pub mod packed_plaintext;
pub mod packing;
mod phase;
pub mod poly;
pub mod public_key;
pub mod raise;
pub mod rank;
pub mod ring;
mod rotated_sums;
pub mod rounding;
pub mod row_products;
pub mod sample_batch;
pub mod sampling;
pub mod secret;
pub mod security;
pub mod shape;
pub mod subring;
pub mod switch;
pub mod temporary_rank;
pub mod transposition;

pub use bundle::Bundle;
pub use chain::{Chain, Level};
pub use error::LatticeError;
pub use gadget::Gadget;
pub use linear_combination::PackedCombination;
pub use packed_plaintext::PackedPlaintexts;
pub use phase::EvalSecret;
pub use poly::{
    AsPoly, Basis, Coeff, Count, Domain, Eval, Many, One, Poly, PolyMut, PolyRef, Polynomials,
    PolynomialsMut, PolynomialsRef, Polys, PolysMut, PolysRef,
};
pub use public_key::PublicKey;
pub use raise::Raise;
pub use ring::Ring;
pub use sample_batch::SampleBatch;
pub use sampling::{MaskSeed, SecretDistribution, SecretRng};
pub use secret::SecretKey;
pub use shape::{Bodies, Degree, Rank};
pub use switch::{SwitchKey, Switcher};
pub use temporary_rank::TemporaryRank;

pub use clathrate_arith as arith;
