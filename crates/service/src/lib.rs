//! The server's storage for light clients: an [`Inbox`] on disk, which keeps every acknowledged message until
//! the results computed from it are safe.
//!
//! `clathrate_ckks::light` contains the functions of the clients' owner and the receiver of one client.
#![forbid(unsafe_code)]
#![warn(unnameable_types)]
#![warn(unreachable_pub)]

pub mod inbox;
mod queue;

pub use inbox::{Batch, Inbox, MAX_WAITING, TOO_MANY_WAITING};
