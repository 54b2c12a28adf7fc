//! The file container from outside: round trips, every kind of damage, hostile headers, and what writers
//! leave behind.
//!
//! The format is assembled in [`support`] a second time, by hand, so that reader and writer are not only
//! compared with each other.
#![allow(clippy::unwrap_used, missing_docs)] // a failed unwrap is a failed test

#[cfg(target_os = "linux")]
mod abandoned;
mod allocation;
#[path = "../all/common/mod.rs"]
mod common;
mod damage;
mod files;
mod fuzz;
mod outputs;
#[cfg(unix)]
mod processes;
mod residues;
mod round_trips;
#[cfg(target_os = "linux")]
mod shrinking;
#[cfg(unix)]
mod special;
mod support;
mod writers;
