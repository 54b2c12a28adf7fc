//! The lowest layer of Clathrate: moduli, primes, negacyclic transforms, kernels for each instruction set,
//! and the engine interface.
//!
//! The crates above forbid `unsafe` code, except for one promise that the Python bindings make for their
//! callers ([`mapped::TrustedMap`]). The `unsafe` code for the CPU and the operating system is in
//! [`kernels`], [`aligned`], [`mapped`], [`process`], [`product`] and [`secrecy`]. The crate knows nothing of
//! ciphertexts: it computes with rows of residues, each row under its own modulus.
//!
//! The layers, lowest first: [`modulus`], [`bit_packing`], [`limbs`] -> [`kernels`] -> [`ntt`] -> [`factors`]
//! -> [`conversion`], [`automorphism`] -> [`engine`].
#![warn(unnameable_types)]
#![warn(unreachable_pub)]

pub mod aligned;
pub mod automorphism;
pub mod bit_packing;
pub mod buffer;
pub mod conversion;
pub mod cpu;
pub mod engine;
pub mod error;
pub mod extension;
pub mod factors;
pub mod kernels;
pub mod limbs;
pub mod machine;
pub mod mapped;
pub mod meter;
pub mod modulus;
pub mod ntt;
pub mod primes;
pub mod process;
pub mod product;
pub mod secrecy;
pub mod sequence;
pub mod text;
pub mod workers;

pub use automorphism::{Automorphism, GaloisElement};
pub use buffer::{Buffer, DeviceMemory, Memory, Rows, RowsMut};
pub use conversion::{BaseConversion, EngineTables, Rounding};
pub use cpu::{CpuEngine, Threads};
pub use engine::{
    Dividend, DivisionInput, Engine, Factor2, FactorGroups, FillRow, Form, GadgetInput, Hoisted,
    PermutedProduct, PlaintextSum, together,
};
pub use error::{ArithError, DeviceError, OutOfMemory};
pub use extension::DigitExtension;
pub use factors::{FactorLayout, FactorShape, Factors};
pub use kernels::Isa;
pub use kernels::components::Twist;
pub use meter::{Counts, Meter, Pass, ProductCounts};
pub use modulus::Modulus;
pub use ntt::NttTable;
