//! CKKS over module lattices: parameters, encodings, evaluation, encrypted matrix products, files.
//!
//! One scheme for every rank: a [`Ciphertext`] is an array of bundles, RLWE is rank 1. [`Params`] is checked and immutable;
//! [`SecretKey`] and [`PublicKey`] encrypt, [`Evaluator`] computes with [`EvaluationKeys`] and never sees a secret.
//! A computation states what keys it needs ([`KeyNeeds`]) and the owner makes exactly those.
#![forbid(unsafe_code)]

pub mod ciphertext;
pub mod decode;
pub mod derived;
pub mod encoder;
pub mod error;
pub mod evaluator;
pub mod file;
pub mod key_id;
pub mod keys;
pub mod matrix;
pub mod moves;
pub mod needs;
pub mod params;
pub mod plaintext;
pub mod polynomial;
pub mod rotations;
pub mod schedule;
pub mod shape;
pub mod share;
pub mod store;
pub mod tune;

pub use ciphertext::{Ciphertext, Encoding};
pub use error::CkksError;
pub use evaluator::Evaluator;
pub use key_id::KeyId;
pub use keys::{EvaluationKeys, PublicKey, SecretKey};
pub use needs::KeyNeeds;
pub use params::{Params, ParamsSpec, Runtime};
pub use plaintext::Plaintext;
pub use polynomial::{Polynomial, PolynomialBasis, PolynomialPlan};
pub use schedule::{LevelWork, RankSchedule, RankSteps};
pub use shape::ModuleShape;
