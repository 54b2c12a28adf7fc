//! Light clients: devices that encrypt a few numbers at a time with a secret and a counter, in a few bytes
//! per number and a few hundred KiB of memory.
//!
//! ```text
//! owner      SecretKey::light_client          the device's state, with the secret
//!            SecretKey::authentication_key    for the server, which refuses what no client of the owner sent
//! device     LightClient::introduction        once: parameters, seed, layout
//!            LightClient::encrypt             a message: a counter and the highest bits of the bodies
//! server     Receiver::receive                an array of LWE or MLWE samples, to be packed, multiplied, ..
//!            Receiver::reply                  bytes for the device
//! device     LightClient::decrypt             the numbers
//! ```
//!
//! A message has no masks: both sides expand them from the seed and the counter
//! ([`clathrate_lattice::counted`]). The low bits of the bodies, which hold only errors, are dropped. Every
//! client draws a new seed, even if it is made from a stored state, so no mask is used twice.
//!
//! Source: [hermes, sec. 5.4], the client's part; differs: truncated bodies, samples of any degree.

mod authentication;
mod error;
mod owner;
mod receiver;

pub use authentication::AuthenticationKey;
pub use clathrate_samples::{ClientId, LightClient, SampleError};
pub use owner::{LightOptions, load_client, save_client};
pub use receiver::{Kind, Opened, Receiver};
