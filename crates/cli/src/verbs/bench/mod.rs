//! `clathrate bench`: times operations on one thread and prints one JSON row per line; `bench/README.md` describes rows.
//!
//! Every operation's result is checked before it is timed: a row's `max_error` is the largest distance of a decrypted slot from
//! its true value.

mod scheme;
mod timing;
mod transform;

use clathrate_arith::Isa;
use clathrate_ckks::{CkksError, Runtime};

use crate::arguments::{Bench, BenchSet};
use crate::console::Console;
use crate::failure::Failure;
use timing::Timer;

/// The operations, in the order they are timed.
pub const WORKS: [&str; 11] = [
    "ntt_forward",
    "ntt_inverse",
    "encode",
    "encrypt",
    "decrypt",
    "decrypt_decode",
    "add",
    "multiply_plain",
    "multiply_relinearise_rescale",
    "rotate",
    "rotate_8_hoisted",
];

/// All sets, cheapest first.
const ALL: [BenchSet; 5] = [BenchSet::Ntt, BenchSet::N14, BenchSet::N15, BenchSet::Ranks, BenchSet::N16];

const fn presets(set: BenchSet) -> &'static [&'static str] {
    match set {
        BenchSet::Ntt => &[],
        BenchSet::N14 => &["bench_n14_one", "bench_n14"],
        BenchSet::N15 => &["bench_n15_one", "bench_n15"],
        BenchSet::N16 => &["bench_n16_one", "bench_n16"],
        BenchSet::Ranks => &["rank2_n14", "rank4_n13"],
    }
}

/// Runs the verb.
pub fn run(arguments: &Bench, console: &Console) -> Result<(), Failure> {
    if let Some(unknown) = arguments.only.iter().find(|work| !WORKS.contains(&work.as_str())) {
        return Err(Failure::Usage(format!("there is no operation \"{unknown}\"; there are: {}", WORKS.join(", "))));
    }
    if cfg!(debug_assertions) {
        console.warn("this is a debug build: its times say nothing");
    }
    let runtime = Runtime { threads: Some(1), isa: None };
    let timer = Timer::new(console, arguments.quick, &arguments.only);
    let sets = if arguments.set.is_empty() { &ALL[..] } else { &arguments.set[..] };
    for &set in sets {
        if set == BenchSet::Ntt {
            transform::run(&timer, Isa::detect().map_err(CkksError::from)?)?;
        }
        for preset in presets(set) {
            scheme::run(&timer, preset, &runtime)?;
        }
    }
    Ok(())
}
