//! placeholder
#![forbid(unsafe_code)]

pub mod sampling;
pub mod security;
