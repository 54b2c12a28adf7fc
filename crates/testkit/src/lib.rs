//! Clathrate's test kit: a big-integer oracle and an engine with memory of its own. For tests only; nothing in the product depends on it.
#![forbid(unsafe_code)]

pub mod oracle;
pub mod remote;

pub use remote::{RemoteEngine, test_engine};
