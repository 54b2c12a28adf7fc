//! The digests of all presets, and of the sets of the benchmarks. Files name the digest of their parameters,
//! so a set whose primes or gadget changed could no longer read them.

use std::fmt::Write as _;

use crate::common::{all_sets, base_runtime};
use clathrate_ckks::{Params, ParamsSpec};

/// One set a line: its name and the hexadecimal digest of its parameters.
const DIGESTS: &str = include_str!("data/preset_digests.txt");

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[test]
fn every_preset_keeps_its_digest() {
    let line = |spec: ParamsSpec| {
        let params = Params::new(spec, &base_runtime()).expect("a set");
        format!("{} {}\n", params.spec().name, hex(params.digest()))
    };
    let found: String = all_sets().into_iter().map(line).collect();
    assert_eq!(
        found, DIGESTS,
        "a new set needs a line in preset_digests.txt; where all digests are meant to change, it is the text on the left"
    );
}
