//! Encrypted arrays: which number sits in which bundle, body and coefficient or slot.

pub mod ciphertext;
pub mod estimate;
pub mod memory;

pub use ciphertext::{Ciphertext, Encoding, Layout};
pub use estimate::Estimate;
