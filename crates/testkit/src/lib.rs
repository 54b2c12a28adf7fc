//! Clathrate's test kit: a big-integer oracle and an engine that counts. For tests only; nothing in the product depends on it.
#![forbid(unsafe_code)]

pub mod counting;
pub mod oracle;

pub use counting::{CountingEngine, Counts};
