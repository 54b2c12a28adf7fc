//! Encrypted arrays: which number sits in which bundle, body and coefficient or slot.

pub mod ciphertext;

pub use ciphertext::{Ciphertext, Encoding, Layout};
