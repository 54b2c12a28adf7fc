//! Clathrate's test kit: a big-integer oracle, the operations by which engines are compared, and the choice
//! of the engine that tests compute on. For tests only; nothing in the product depends on it.
#![forbid(unsafe_code)]

pub mod conformance;
pub mod engines;
pub mod oracle;

pub use engines::{device_engine, test_engine};
