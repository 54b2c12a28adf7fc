//! The digests of all presets. Files name the digest of their parameters, so a preset whose primes or gadget
//! changed could no longer read them.

use std::fmt::Write as _;

use crate::common::params;
use clathrate_ckks::parameters::preset_names;

/// One preset a line: its name and the hexadecimal digest of its parameters.
const DIGESTS: &str = include_str!("data/preset_digests.txt");

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[test]
fn every_preset_keeps_its_digest() {
    let found: String =
        preset_names().iter().map(|name| format!("{name} {}\n", hex(params(name).digest()))).collect();
    assert_eq!(
        found, DIGESTS,
        "a new preset needs a line in preset_digests.txt; where all digests are meant to change, it is the text on the left"
    );
}
