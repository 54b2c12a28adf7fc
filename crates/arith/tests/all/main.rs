//! What the crate promises, in one program.

mod coefficients;
mod common;
mod components;
mod conversion;
mod degrees;
mod divide;
mod engine;
mod factors;
mod fractions;
mod gadget;
mod kernels;
mod plaintext;
mod product;
