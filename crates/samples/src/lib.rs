//! Light clients: devices that encrypt a few numbers at a time with a secret and a counter, in a few bytes
//! per number and a few hundred KiB of memory. They need no ring and no tables, and this crate uses no files
//! and no locks. Computing in advance first checks the free memory ([`clathrate_arith::machine`]).
//!
//! The owner of a secret key makes a client, and a server receives the client's messages: both are in
//! `clathrate_ckks::light`, which describes their protocol. Of the layers below, a client uses single moduli,
//! the products of seeded masks with a secret ([`clathrate_lattice::counted`]), and random generation.
//!
//! Source: [hermes, sec. 5.4], the client's part; differs: truncated bodies, samples of any degree.
#![forbid(unsafe_code)]
#![warn(unnameable_types)]
#![warn(unreachable_pub)]

pub mod client;
pub mod error;
pub mod key;
pub mod tag;
pub mod wire;

pub use client::LightClient;
pub use error::SampleError;
pub use key::ClientKey;
pub use wire::{ClientId, Terms};
