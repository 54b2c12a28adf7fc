//! CKKS over module lattices: parameters, encodings, keys, evaluation, circuits, files.
//!
//! One scheme for every rank: a [`Ciphertext`] is an array of bundles, and RLWE is rank 1. [`Params`] is
//! checked and immutable; [`SecretKey`] and [`PublicKey`] encrypt; [`Evaluator`] computes with
//! [`EvaluationKeys`] and without a secret. A computation states which keys it needs ([`KeyNeeds`]), and the
//! owner makes exactly those. The [`prelude`] has what most programs import.
//!
//! Types of the lower layers in signatures of this crate are re-exported: the frequent ones at its root
//! ([`Level`], [`Complex64`], [`SecretRng`], [`MachineProfile`], [`SwitchMethod`]), all others under
//! [`lattice`] and [`arith`].
#![forbid(unsafe_code)]
#![warn(unnameable_types)]
#![warn(unreachable_pub)]

pub mod arrays;
mod byproducts;
pub mod circuits;
mod cost;
pub mod embedding;
pub mod encoding;
pub mod encrypted_array;
pub mod error;
pub mod evaluation;
pub mod file;
pub mod functions;
pub mod key_id;
pub mod keys;
pub mod light;
pub mod names;
pub mod outside;
pub mod parameters;
pub mod prelude;
pub mod program;
pub mod progress;
pub mod shape;
pub mod store;
pub mod tune;

pub use arrays::{BodyAxis, Ciphertext, Encoding, Layout, Order, Padding, SecretName};
pub use circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
pub use circuits::linear::{LinearTransform, LinearTransformOptions, LinearTransformPlan};
pub use circuits::matrix::Weights;
pub use circuits::polynomial::{Polynomial, PolynomialBasis, PolynomialPlan};
pub use circuits::rank_schedule::{LevelWork, RankSchedule, RankSteps};
pub use encoding::matrix::Matrix;
pub use encoding::plaintext::Plaintext;
pub use encoding::values::{Values, ValuesRef};
pub use error::CkksError;
pub use evaluation::Evaluator;
pub use key_id::KeyId;
pub use keys::{EncryptOptions, EvaluationKeys, KeyLevel, KeyNeeds, Lanes, PublicKey, SecretKey};
pub use parameters::{Params, ParamsSpec, Runtime, Switching};
pub use progress::{Event, Progress};
pub use shape::ModuleShape;

pub use clathrate_arith as arith;
pub use clathrate_lattice as lattice;
pub use clathrate_lattice::switch::{MachineProfile, SwitchMethod};
pub use clathrate_lattice::{Level, SecretRng};
pub use rustfft::num_complex::Complex64;
