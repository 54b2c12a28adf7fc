//! Bootstraps of all slots: total and stages, compared with predicted times; precision, failure, keys,
//! memory.

use std::time::Instant;

use clathrate_arith::sequence::numbers;
use clathrate_arith::text::counted;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{BootstrapOptions, BootstrapPlan, Params, Runtime, SecretKey};
use num_complex::Complex64;
use serde_json::{Value, json};

use crate::bootstrap_ranks;
use crate::failure::Failure;
use crate::stages::{StageTimes, Staged};
use crate::timing::{Extra, Timer};

/// The operation's name.
pub const WORK: &str = "bootstrap";

/// The parameter sets, cheapest first.
pub const PRESETS: [&str; 6] =
    ["boot_n15", "boot_fast", "boot_fast_64", "boot_default", "boot_small", "boot_precise"];

/// The sets that are also timed with all threads.
const THREADED: [&str; 2] = ["boot_n15", "boot_fast"];

/// Numbers of slots with which the first set is also timed, and whether the transforms have that many slots.
const FEWER_SLOTS: [(usize, bool); 6] =
    [(1, false), (64, false), (1024, false), (8192, false), (1, true), (64, true)];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_boot"];

/// Timed bootstraps, after one that is not timed.
const RUNS: usize = 5;

/// Memory of a bootstrap as a multiple of the bytes of its keys.
const MEMORY_FACTOR: f64 = 1.6;

/// Largest error of a slot with which a row is printed.
const TOLERANCE: f64 = 1e-3;

/// Times every set.
pub fn run(timer: &Timer<'_>, presets: &[&'static str], runtime: &Runtime) -> Result<(), Failure> {
    if !timer.wants(WORK) {
        return Ok(());
    }
    let all: &[&str] = if timer.is_quick() { &QUICK } else { &PRESETS };
    for (index, preset) in
        all.iter().enumerate().filter(|(_, preset)| presets.is_empty() || presets.contains(preset))
    {
        let whole = Variant { preset, slots: None, own: false, threads: None };
        one(timer, whole, runtime)?;
        if THREADED.contains(preset) {
            one(
                timer,
                Variant { threads: std::thread::available_parallelism().ok().map(usize::from), ..whole },
                runtime,
            )?;
        }
        for (slots, own) in FEWER_SLOTS.into_iter().filter(|_| index == 0 && !timer.is_quick()) {
            one(timer, Variant { slots: Some(slots), own, ..whole }, runtime)?;
        }
    }
    Ok(())
}

/// A bootstrap to be timed.
#[derive(Clone, Copy)]
struct Variant<'p> {
    preset: &'p str,
    /// Slots of each polynomial; `None` for all.
    slots: Option<usize>,
    /// Whether the linear transforms have these slots; otherwise the plan chooses.
    own: bool,
    /// Threads; `None` for those of the run.
    threads: Option<usize>,
}

impl Variant<'_> {
    fn name(&self) -> String {
        let slots = self.slots.map(|slots| format!(", {}", counted(slots, "slot")));
        let threads = self.threads.map(|threads| format!(", {}", counted(threads, "thread")));
        let own = if self.own { ", own transforms" } else { "" };
        [self.preset, &slots.unwrap_or_default(), own, &threads.unwrap_or_default()].concat()
    }
}

fn one(timer: &Timer<'_>, variant: Variant<'_>, runtime: &Runtime) -> Result<(), Failure> {
    let (preset, name) = (variant.preset, variant.name());
    let runtime = Runtime { threads: variant.threads.or(runtime.threads), ..runtime.clone() };
    let params = Params::preset(preset, &runtime)?;
    let transform_slots = variant.slots.filter(|_| variant.own);
    let options = BootstrapOptions { slots: variant.slots, transform_slots, ..BootstrapOptions::default() };
    let plan = BootstrapPlan::with_options(&params, options)?;
    let recording = plan.dry_run()?;
    let key_bytes = recording.keys(&params)?.bytes(&params)?;
    let wanted = (key_bytes as f64 * MEMORY_FACTOR) as u64;
    if !timer.has_memory(WORK, &name, wanted)? {
        return Ok(());
    }
    reset_peak();
    let owner = SecretKey::generate(&params)?;
    let start = Instant::now();
    let keys = owner.evaluation_keys(&plan.needs()?)?;
    let key_seconds = start.elapsed().as_secs_f64();
    let staged = Staged::new(keys);
    let x: Vec<Complex64> =
        numbers(40).zip(numbers(41)).map(|(re, im)| Complex64::new(re, im)).take(plan.slots()).collect();
    let options = EncryptOptions {
        level: Some(plan.input_level()),
        capacity: Some(plan.slots()),
        ..EncryptOptions::default()
    };
    let low = owner.encrypt_array(&Values::Complex(x.clone()), &[x.len()], options)?;
    let mut times = StageTimes::default();
    let mut errors = (0.0, 0.0f64, 0.0);
    let predicted_deviation = plan.predicted_error()?.deviation();
    for round in 0..=RUNS {
        let mut untimed = StageTimes::default();
        let fresh = staged.time(if round == 0 { &mut untimed } else { &mut times }, |evaluator| {
            plan.run(evaluator, &low)
        })?;
        if round == 0 {
            let found = owner.decrypt(&fresh)?.into_complex();
            let parts = || found.iter().zip(&x).flat_map(|(a, b)| [(a - b).re.abs(), (a - b).im.abs()]);
            let mean = |power: i32| parts().map(|part| part.powi(power)).sum::<f64>() / (2 * x.len()) as f64;
            errors = (mean(1), parts().fold(0.0, f64::max), mean(2).sqrt());
            if errors.1.is_nan() || errors.1 > TOLERANCE {
                return Err(Failure::slot_error(errors.1, TOLERANCE));
            }
        }
    }
    let whole = times.whole();
    let cost =
        |stage: &str| recording.stages().iter().find(|known| known.name == stage).map(|known| known.cost);
    let row = |(stage, median): (String, f64)| {
        let cost = cost(&stage);
        json!({
            "predicted_ms": cost.map(|cost| cost.nanoseconds / 1e6),
            "transforms": cost.map(|cost| cost.transforms),
            "key_bytes": cost.map(|cost| cost.key_bytes),
            "stage": stage,
            "median_ms": median,
        })
    };
    let split: Vec<Value> = times.medians().into_iter().map(row).collect();
    let fields = json!({
        "preset": preset,
        "degree": params.degree(),
        "slots": plan.slots(),
        "threads": runtime.threads.unwrap_or(1),
        "log_qp": params.log2_qp(),
        "security_bits": params.security_bits(),
        "log2_failure": plan.log2_failure(),
        "bits_left": params.log2_q(plan.output_level()) - params.log2_q(plan.input_level()),
        "levels_left": plan.output_level().0 - plan.input_level().0,
        "rounds": plan.rounds(),
        "predicted_bits": -predicted_deviation.log2(),
        "rms_bits": -errors.2.log2(),
        "mean_bits": -errors.0.log2(),
        "worst_bits": -errors.1.log2(),
        "max_error": errors.1,
        "key_bytes": key_bytes,
        "key_seconds": key_seconds,
        "peak_bytes": peak_bytes(),
        "predicted_ms": recording.cost().nanoseconds / 1e6,
        "stages": split,
        "ranks": if variant.slots.is_none() && variant.threads.is_none() { Some(bootstrap_ranks::predicted(&plan)?) } else { None },
        "quick": timer.is_quick(),
    });
    let extra: Extra = fields.as_object().cloned().unwrap_or_default();
    timer.print((WORK, &name), &whole, &extra)
}

/// Resets the system's peak of this process's memory, if possible.
pub fn reset_peak() {
    // If the system refuses, the peak is that of the process so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak of this process's memory since [`reset_peak`]; `None` if the system does not report it.
pub fn peak_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
