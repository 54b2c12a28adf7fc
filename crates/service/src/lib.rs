//! What a server keeps of light clients: an [`Inbox`] on disk, which has every message that it acknowledged,
//! until the results computed from it are safe.
//!
//! `clathrate_ckks::light` has the clients' owner and the receiver of one client.
#![forbid(unsafe_code)]
#![warn(unnameable_types)]
#![warn(unreachable_pub)]

pub mod inbox;
mod queue;

pub use inbox::{Batch, Inbox, MOST_WAITING, TOO_MANY_WAITING};
