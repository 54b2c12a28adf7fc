//! The file container from outside: round trips, every kind of damage, hostile headers, and what writers leave behind.
//!
//! The format is assembled in [`support`] a second time, by hand, so that reader and writer are not only compared with each other.
#![allow(clippy::unwrap_used, missing_docs)] // a failed unwrap is a failed test

mod allocation;
mod damage;
mod fuzz;
mod residues;
mod round_trips;
mod support;
mod writers;
