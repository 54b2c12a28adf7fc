//! Clathrate's test kit: a big-integer oracle, the operations with which engines are compared, and the choice
//! of the engine that tests use. No other crate depends on it except in tests.
#![forbid(unsafe_code)]

pub mod conformance;
pub mod engines;
pub mod oracle;

pub use engines::{device_engine, test_engine};
