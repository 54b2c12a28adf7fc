//! `clathrate tune`: measures this machine's kernels and stores the profile for predicted times.

use clathrate_ckks::evaluation::measure_machine;
use clathrate_ckks::{Runtime, tune};
use clathrate_lattice::switch::MachineProfile;
use serde_json::json;

use crate::arguments::Tune;
use crate::console::Console;
use crate::failure::Failure;

/// Runs the verb.
pub(crate) fn run(arguments: &Tune, console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let kernels = runtime.kernels()?;
    if cfg!(debug_assertions) {
        console.warn("this is a debug build: its times are not those of a release build");
    }
    // Fails before the measurement if the profile cannot be stored.
    if !arguments.dry_run {
        tune::place_to_store(&kernels)?;
    }
    let bar = console.progress("tune");
    let profile = measure_machine(runtime, &bar.progress())?;
    drop(bar);
    let path = if arguments.dry_run { None } else { Some(tune::store(&kernels, &profile)?) };
    let last = match &path {
        Some(path) => {
            format!("wrote {}: plans for {} kernels go by it from now on", path.display(), kernels.name())
        }
        None => "dry run: nothing written".to_owned(),
    };
    console.result(format!("{}\n{last}", table(&profile)), &json!({ "output": path, "profile": profile }))
}

/// The profile as a table.
fn table(profile: &MachineProfile) -> String {
    let mut lines = vec![
        format!("{}; microseconds per row of residues, one thread of a processor", profile.source),
        "  degree  transform: 46 bits     50 bits      any  convert  product".to_owned(),
    ];
    lines.extend(profile.kernels.iter().map(|times| {
        let [small, middle, any] = times.transform.map(|time| time / 1e3);
        let (convert, product) = (times.convert / 1e3, times.product / 1e3);
        format!(
            "{:>8}  {small:>18.2}  {middle:>10.2}  {any:>7.1}  {convert:>7.2}  {product:>7.2}",
            times.degree
        )
    }));
    let matrix = profile.matrix;
    lines.push(format!(
        "matrix products: {:.1} multiply-adds per nanosecond, {:.2} ns per digit, {:.2} ns per sum, {:.1} us to start",
        1.0 / matrix.multiply_add,
        matrix.digit,
        matrix.sum,
        matrix.start / 1e3
    ));
    lines.push(format!("whole operations: {:.2} times their kernels", profile.overhead));
    lines.push(format!("keys from memory: {:.1} GB/s", 1.0 / profile.read_ns_per_byte));
    lines.join("\n")
}
