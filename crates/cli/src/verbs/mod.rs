//! The verbs, one file each, and their common output.

pub(crate) mod bootstrap;
pub(crate) mod compare;
pub(crate) mod decrypt;
pub(crate) mod doctor;
pub(crate) mod encrypt;
pub(crate) mod evaluate;
pub(crate) mod inspect;
pub(crate) mod keygen;
pub(crate) mod matmul;
pub(crate) mod pack;
pub(crate) mod params;
pub(crate) mod run;
pub(crate) mod selftest;
pub(crate) mod tag;
pub(crate) mod tune;

use std::path::Path;

use clathrate_arith::text::counted;
use clathrate_ckks::{Ciphertext, Params};
use serde_json::{Value, json};

use crate::console::Console;

/// Warns of insecure parameters.
fn warn_insecure(console: &Console, params: &Params) {
    if params.is_insecure() {
        let bits = match params.security_bits() {
            bits if bits > 0.0 => format!("have {:.0} bits of security, below 128", bits.floor()),
            _ => "are not covered by the security table and count as below 128 bits".to_owned(),
        };
        console.warn(format!("these parameters {bits}: for tests only"));
    }
}

/// A ciphertext as text.
fn describe(ciphertext: &Ciphertext) -> String {
    format!(
        "shape {:?}, {}, level {}, scale 2^{:.2}, {}",
        ciphertext.shape(),
        ciphertext.encoding().name(),
        ciphertext.level(),
        ciphertext.scale().log2(),
        bundles(ciphertext)
    )
}

/// The number of bundles of a ciphertext, and the number of bodies under a mask if it is above 1.
fn bundles(ciphertext: &Ciphertext) -> String {
    let bundles = counted(ciphertext.bundles().len(), "polynomial bundle");
    match ciphertext.layout().bodies() {
        1 => bundles,
        bodies => format!("{bundles} of {bodies} bodies"),
    }
}

/// The JSON description of a ciphertext that was written to a file.
fn document(ciphertext: &Ciphertext, path: &Path, bytes: u64) -> Value {
    json!({
        "output": path,
        "bytes": bytes,
        "shape": ciphertext.shape(),
        "encoding": ciphertext.encoding().name(),
        "complex": ciphertext.is_complex(),
        "level": ciphertext.level().0,
        "log2_scale": ciphertext.scale().log2(),
        "bound": ciphertext.bound(),
        "bundles": ciphertext.bundles().len(),
        "secret": ciphertext.secret().to_string(),
        "layout": ciphertext.layout(),
        "key_id": ciphertext.key_id().to_string(),
        "insecure": ciphertext.params().is_insecure(),
    })
}

/// A number of bytes as text.
fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        _ if bytes < 1024.0 => format!("{bytes} B"),
        _ if bytes < 1_048_576.0 => format!("{:.1} KiB", bytes / 1024.0),
        _ if bytes < 1_073_741_824.0 => format!("{:.1} MiB", bytes / 1_048_576.0),
        _ => format!("{:.2} GiB", bytes / 1_073_741_824.0),
    }
}
