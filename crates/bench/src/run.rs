//! Selects and runs the benchmarks.
//!
//! Every operation's result is checked before it is timed: a row's `max_error` is the largest distance of a
//! decrypted slot from its true value.

use clathrate_arith::Isa;
use clathrate_ckks::{CkksError, Runtime};

use crate::arguments::{Arguments, BenchSet};
use crate::failure::Failure;
use crate::names::listed;
use crate::output::Output;
use crate::timing::Timer;
use crate::{
    batch, bootstrap, device, dpad, encrypted_matrix, hermes, keyswitch, mambo, matrix, one_reading, packing,
    scheme, stream, transform,
};

/// The operations in the order of their timing.
const WORKS: [&str; 43] = [
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
    bootstrap::WORK,
    packing::WORK,
    hermes::SAMPLES,
    hermes::TRANSCIPHER,
    batch::WORK,
    one_reading::WORK,
    mambo::WORK,
    matrix::PLAIN,
    matrix::APART,
    matrix::EXACT,
    matrix::OWN,
    matrix::PREPARED,
    encrypted_matrix::WORKS[0],
    encrypted_matrix::WORKS[1],
    encrypted_matrix::WORKS[2],
    device::WORKS[0],
    device::WORKS[1],
    device::WORKS[2],
    device::WORKS[3],
    device::WORKS[4],
];

/// The sets of `make bench`, cheapest first; key switching and ranks are separate benchmarks.
const ALL: [BenchSet; 6] =
    [BenchSet::Stream, BenchSet::Ntt, BenchSet::N14, BenchSet::N15, BenchSet::Ranks, BenchSet::N16];

/// The default sets of a quick run.
const QUICK: [BenchSet; 2] = [BenchSet::Ntt, BenchSet::N14];

/// Environment variable that requests quick runs of all benchmark programs, like `--quick`.
const QUICK_VARIABLE: &str = "QUICK";

const fn presets(set: BenchSet) -> &'static [&'static str] {
    match set {
        BenchSet::Stream
        | BenchSet::Ntt
        | BenchSet::Keyswitch
        | BenchSet::Dpad
        | BenchSet::Bootstrap
        | BenchSet::Packing
        | BenchSet::Hermes
        | BenchSet::Mambo
        | BenchSet::Matrix
        | BenchSet::Device => &[],
        BenchSet::N14 => &["bench_n14"],
        BenchSet::N15 => &["bench_n15_one", "bench_n15_mid", "bench_n15_low"],
        BenchSet::N16 => &["bench_n16_mid", "bench_n16_one"],
        BenchSet::Ranks => &["rank2_n14", "rank4_n13"],
    }
}

/// A checked command line.
struct Selection {
    sets: Vec<BenchSet>,
    works: Vec<&'static str>,
    presets: Vec<&'static str>,
}

/// Runs the benchmarks that the command line selects.
///
/// # Errors
/// [`Failure::Usage`] for unknown names, before anything runs; those of the benchmarks.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let quick = arguments.quick
        || std::env::var(QUICK_VARIABLE).is_ok_and(|value| !matches!(value.as_str(), "" | "0"));
    let selection = select(arguments, quick)?;
    let output = Output::new(arguments.quiet);
    if cfg!(debug_assertions) {
        output.note("this is a debug build: its times say nothing");
    }
    let runtime = Runtime { threads: Some(1), ..Runtime::default() };
    let timer = Timer::new(output, quick, &selection.works);
    for set in selection.sets {
        match set {
            BenchSet::Stream => stream::run(&timer)?,
            BenchSet::Ntt => transform::run(&timer, Isa::detect().map_err(CkksError::from)?)?,
            BenchSet::Keyswitch => keyswitch::run(&timer, &selection.presets, &runtime)?,
            BenchSet::Dpad => dpad::run(&timer, &selection.presets, &runtime)?,
            BenchSet::Bootstrap => bootstrap::run(&timer, &selection.presets, &runtime)?,
            BenchSet::Packing => packing::run(&timer, &selection.presets, &runtime)?,
            BenchSet::Hermes => hermes::run(&timer, &selection.presets, &runtime)?,
            BenchSet::Mambo => {
                batch::run(&timer, &selection.presets, &runtime)?;
                mambo::run(&timer, &selection.presets, &runtime)?;
            }
            BenchSet::Device => {
                device::run(&timer, arguments.device.as_deref(), &selection.presets, &runtime)?;
            }
            BenchSet::Matrix => {
                matrix::run(&timer, &selection.presets, &runtime, arguments.long)?;
                encrypted_matrix::run(&timer, &selection.presets, &runtime, arguments.long)?;
            }
            BenchSet::N14 | BenchSet::N15 | BenchSet::N16 | BenchSet::Ranks => {
                for preset in presets(set) {
                    scheme::run(&timer, preset, &runtime)?;
                }
            }
        }
    }
    Ok(())
}

/// The selected sets, operations and parameter sets.
fn select(arguments: &Arguments, quick: bool) -> Result<Selection, Failure> {
    if let Some(word) = arguments.stray.first() {
        let sets = BenchSet::ALL.map(BenchSet::name).join(", ");
        let remedy = "separate the names of a list by one comma and no spaces";
        return Err(Failure::Usage(format!(
            "\"{word}\" belongs to no option: {remedy}; the sets are: {sets}"
        )));
    }
    let names = listed(&arguments.set, "set", &BenchSet::ALL.map(BenchSet::name))?;
    let works = listed(&arguments.only, "operation", &WORKS)?;
    let dpad = dpad::names();
    let known: Vec<&'static str> = keyswitch::PRESETS
        .into_iter()
        .chain(dpad.iter().copied())
        .chain(bootstrap::PRESETS)
        .chain(packing::PRESETS)
        .chain(hermes::PRESETS)
        .chain(batch::PRESETS)
        .chain(mambo::PRESETS)
        .chain(matrix::PRESETS)
        .chain(encrypted_matrix::PRESETS)
        .collect();
    let presets = listed(&arguments.preset, "parameter set", &known)?;
    let sets: Vec<BenchSet> = match (names.is_empty(), quick) {
        (false, _) => names
            .iter()
            .filter_map(|name| BenchSet::ALL.into_iter().find(|set| set.name() == *name))
            .collect(),
        (true, true) => QUICK.to_vec(),
        (true, false) => ALL.to_vec(),
    };
    for preset in &presets {
        let owners = [
            (BenchSet::Keyswitch, keyswitch::PRESETS.contains(preset)),
            (BenchSet::Dpad, dpad.contains(preset)),
            (BenchSet::Device, device::TABLE.contains(preset)),
            (BenchSet::Bootstrap, bootstrap::PRESETS.contains(preset)),
            (BenchSet::Packing, packing::PRESETS.contains(preset)),
            (BenchSet::Hermes, hermes::PRESETS.contains(preset)),
            (BenchSet::Mambo, batch::PRESETS.contains(preset) || mambo::PRESETS.contains(preset)),
            (
                BenchSet::Matrix,
                matrix::PRESETS.contains(preset) || encrypted_matrix::PRESETS.contains(preset),
            ),
        ];
        let owners: Vec<BenchSet> =
            owners.into_iter().filter(|(_, owns)| *owns).map(|(set, _)| set).collect();
        if !owners.iter().any(|owner| sets.contains(owner)) {
            let owner = owners.first().map_or("", |owner| owner.name());
            return Err(Failure::Usage(format!(
                "the parameter set \"{preset}\" is one of {owner}, which does not run: add `--set {owner}`"
            )));
        }
    }
    Ok(Selection { sets, works, presets })
}
