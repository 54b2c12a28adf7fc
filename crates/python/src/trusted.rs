//! The argument `trusted_map`, by which a Python program promises what Rust programs promise with `unsafe`:
//! the one place of this crate that has the word.

use clathrate_ckks::file::{OpenOptions, TrustedMap};

/// How a file is opened whose caller has passed `trusted_map`.
#[allow(unsafe_code, reason = "a promise that only the caller can keep, and has made")]
pub fn options_of(trusted_map: bool) -> OpenOptions {
    // SAFETY: the docstring of `trusted_map` asks for files that nothing changes while they are mapped, and
    // the caller has said that this is one.
    let promise = trusted_map.then(|| unsafe { TrustedMap::promised() });
    OpenOptions { trusted_map: promise }
}
