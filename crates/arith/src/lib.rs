//! Clathrate's ground floor: moduli, primes, negacyclic transforms, kernels per instruction set, and the
//! engine seam.
//!
//! Everything above this crate is `forbid(unsafe_code)`, but for one promise that the Python front makes for
//! its callers ([`mapped::TrustedMap`]); what `unsafe` the CPU and the system need is here, in [`kernels`],
//! [`aligned`], [`mapped`], [`process`], [`product`] and [`secrecy`]. The crate knows nothing of ciphertexts:
//! it works on rows of residues, each row with its own modulus.
//!
//! The layers, lowest first: [`modulus`], [`bit_packing`], [`limbs`] -> [`kernels`] -> [`ntt`] -> [`factors`]
//! -> [`conversion`], [`automorphism`] -> [`engine`].
#![warn(unnameable_types)]

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

pub use automorphism::{Automorphism, GaloisElement};
pub use buffer::{Buffer, DeviceMemory, Memory, Rows, RowsMut};
pub use conversion::{BaseConversion, EngineTables, Rounding};
pub use cpu::{CpuEngine, Threads};
pub use engine::{
    Dividend, DivisionInput, Engine, Factor2, FillRow, Form, GadgetInput, Hoisted, PermutedProduct,
    PlaintextSum, together,
};
pub use error::{ArithError, DeviceError, OutOfMemory};
pub use extension::DigitExtension;
pub use factors::{FactorLayout, FactorShape, Factors};
pub use kernels::Isa;
pub use kernels::components::Twist;
pub use meter::{Counts, Meter, Pass, ProductCounts};
pub use modulus::Modulus;
pub use ntt::NttTable;
