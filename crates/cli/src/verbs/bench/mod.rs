//! `clathrate bench`: times operations on one thread and prints one JSON row per line; `bench/README.md` describes rows.
//!
//! Every operation's result is checked before it is timed: a row's `max_error` is the largest distance of a decrypted slot from
//! its true value.

mod dpad;
mod keyswitch;
mod scheme;
mod stream;
mod timing;
mod transform;

use clathrate_arith::Isa;
use clathrate_ckks::{CkksError, Runtime};

use crate::arguments::{Bench, BenchSet};
use crate::console::Console;
use crate::failure::Failure;
use timing::Timer;

/// The operations, in the order they are timed.
pub const WORKS: [&str; 23] = [
    stream::WORK,
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
    "hoisted_rotations_8",
    keyswitch::SWITCH,
    keyswitch::SWITCH_PLANNED,
    keyswitch::SWITCH_UNLIMITED,
    keyswitch::MULTIPLY,
    keyswitch::AUTOMORPHISM,
    keyswitch::EXPAND,
    keyswitch::POLYNOMIAL,
    dpad::MULTIPLY,
    dpad::CONVERSION,
    dpad::SQUARING,
    dpad::ROTATIONS,
];

/// The sets of `make bench`, cheapest first; key switching and ranks are benchmarks of their own.
const ALL: [BenchSet; 6] = [BenchSet::Stream, BenchSet::Ntt, BenchSet::N14, BenchSet::N15, BenchSet::Ranks, BenchSet::N16];

/// What a quick run times unless told.
const QUICK: [BenchSet; 2] = [BenchSet::Ntt, BenchSet::N14];

/// Asks for quick runs, as `--quick` does, of every program of a benchmark.
const QUICK_VARIABLE: &str = "QUICK";

const fn presets(set: BenchSet) -> &'static [&'static str] {
    match set {
        BenchSet::Stream | BenchSet::Ntt | BenchSet::Keyswitch | BenchSet::Dpad => &[],
        BenchSet::N14 => &["bench_n14"],
        BenchSet::N15 => &["bench_n15_one", "bench_n15_mid", "bench_n15_low"],
        BenchSet::N16 => &["bench_n16_mid", "bench_n16_one"],
        BenchSet::Ranks => &["rank2_n14", "rank4_n13"],
    }
}

/// Runs the verb.
pub fn run(arguments: &Bench, console: &Console) -> Result<(), Failure> {
    if let Some(unknown) = arguments.only.iter().find(|work| !WORKS.contains(&work.as_str())) {
        return Err(Failure::Usage(format!("there is no operation \"{unknown}\"; there are: {}", WORKS.join(", "))));
    }
    let (keyswitch, dpad) = (keyswitch::PRESETS, dpad::names());
    if let Some(unknown) = arguments.preset.iter().find(|name| !keyswitch.iter().chain(&dpad).any(|known| known == name)) {
        let (keyswitch, dpad) = (keyswitch.join(", "), dpad.join(", "));
        return Err(Failure::Usage(format!("there is no parameter set \"{unknown}\"; keyswitch has: {keyswitch}; dpad has: {dpad}")));
    }
    if cfg!(debug_assertions) {
        console.warn("this is a debug build: its times say nothing");
    }
    let runtime = Runtime { threads: Some(1), ..Runtime::default() };
    let quick = arguments.quick || std::env::var(QUICK_VARIABLE).is_ok_and(|value| !matches!(value.as_str(), "" | "0"));
    let timer = Timer::new(console, quick, &arguments.only);
    let sets = match (arguments.set.is_empty(), quick) {
        (false, _) => &arguments.set[..],
        (true, true) => &QUICK[..],
        (true, false) => &ALL[..],
    };
    for &set in sets {
        if set == BenchSet::Stream {
            stream::run(&timer)?;
        }
        if set == BenchSet::Ntt {
            transform::run(&timer, Isa::detect().map_err(CkksError::from)?)?;
        }
        if set == BenchSet::Keyswitch {
            keyswitch::run(&timer, &arguments.preset, &runtime)?;
        }
        if set == BenchSet::Dpad {
            dpad::run(&timer, &arguments.preset, &runtime)?;
        }
        for preset in presets(set) {
            scheme::run(&timer, preset, &runtime)?;
        }
    }
    Ok(())
}
