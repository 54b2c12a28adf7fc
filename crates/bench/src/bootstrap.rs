//! Bootstraps of all slots: the whole and each stage, beside the predicted times; precision, failure, keys, memory.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clathrate_arith::machine;
use clathrate_arith::sequence::numbers;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{BootstrapPlan, Evaluator, Params, Runtime, SecretKey};
use num_complex::Complex64;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::timing::{Extra, Timer, Times};

/// The operation's name.
pub const WORK: &str = "bootstrap";

/// The parameter sets, cheapest first.
pub const PRESETS: [&str; 4] = ["boot_n15", "boot_fast", "boot_default", "boot_precise"];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_boot"];

/// Bootstraps that are timed, after one that is not.
const RUNS: usize = 5;

/// Memory that a bootstrap takes beside its keys, in multiples of these.
const MEMORY_FACTOR: f64 = 1.6;

/// Largest error of a slot that a row may be printed with.
const TOLERANCE: f64 = 1e-3;

/// Names and starts of the stages of one bootstrap.
type Marks = Arc<Mutex<Vec<(String, Instant)>>>;

/// Times every set.
pub fn run(timer: &Timer<'_>, presets: &[&'static str], runtime: &Runtime) -> Result<(), Failure> {
    if !timer.wants(WORK) {
        return Ok(());
    }
    let all: &[&str] = if timer.is_quick() { &QUICK } else { &PRESETS };
    for preset in all.iter().filter(|preset| presets.is_empty() || presets.contains(preset)) {
        one(timer, preset, runtime)?;
    }
    Ok(())
}

fn one(timer: &Timer<'_>, preset: &str, runtime: &Runtime) -> Result<(), Failure> {
    let params = Params::preset(preset, runtime)?;
    let plan = BootstrapPlan::new(&params)?;
    let recording = plan.dry_run()?;
    let key_bytes = recording.keys(&params)?.bytes(&params)?;
    let wanted = (key_bytes as f64 * MEMORY_FACTOR) as u64;
    if let Some(memory) = machine::memory().filter(|memory| memory.free_bytes < wanted) {
        return timer.absent(WORK, preset, &format!("{} MiB of free memory, about {} are needed", memory.free_bytes >> 20, wanted >> 20));
    }
    let owner = SecretKey::generate(&params)?;
    let start = Instant::now();
    let keys = owner.evaluation_keys(&plan.needs()?)?;
    let key_seconds = start.elapsed().as_secs_f64();
    let marks: Marks = Arc::default();
    let evaluator = {
        let marks = marks.clone();
        Evaluator::with_keys(keys).watched(move |stage| {
            marks.lock().unwrap_or_else(PoisonError::into_inner).push((stage.to_owned(), Instant::now()));
            true
        })
    };
    let x: Vec<Complex64> = numbers(40).zip(numbers(41)).map(|(re, im)| Complex64::new(re, im)).take(plan.slots()).collect();
    let options = EncryptOptions { level: Some(plan.input_level()), ..EncryptOptions::default() };
    let low = owner.encrypt_array(&Values::Complex(x.clone()), &[x.len()], options)?;
    let (mut whole, mut stages): (Vec<f64>, Vec<(String, Vec<f64>)>) = (Vec::new(), Vec::new());
    let mut errors = (0.0, 0.0f64, 0.0);
    let predicted_deviation = plan.predicted_error()?.deviation();
    for round in 0..=RUNS {
        marks.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let start = Instant::now();
        let fresh = evaluator.bootstrap(&low, &plan)?;
        let end = Instant::now();
        if round == 0 {
            let found = owner.decrypt(&fresh)?.into_complex();
            let parts = || found.iter().zip(&x).flat_map(|(a, b)| [(a - b).re.abs(), (a - b).im.abs()]);
            let mean = |power: i32| parts().map(|part| part.powi(power)).sum::<f64>() / (2 * x.len()) as f64;
            errors = (mean(1), parts().fold(0.0, f64::max), mean(2).sqrt());
            if errors.1.is_nan() || errors.1 > TOLERANCE {
                return Err(Failure::slot_error(errors.1, TOLERANCE));
            }
            continue;
        }
        whole.push((end - start).as_secs_f64() * 1e3);
        let marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = marks.iter().skip(1).map(|(_, at)| *at).chain([end]);
        // A stage that runs several times in one bootstrap is listed once, with its whole time.
        for ((stage, at), end) in marks.iter().zip(ends) {
            let took = (end - *at).as_secs_f64() * 1e3;
            let place = stages.iter().position(|(name, _)| name == stage).unwrap_or_else(|| {
                stages.push((stage.clone(), Vec::new()));
                stages.len() - 1
            });
            let times = &mut stages[place].1;
            times.resize(round, 0.0);
            times[round - 1] += took;
        }
    }
    let predicted = |stage: &str| recording.stages().iter().find(|known| known.name == stage).map(|known| known.cost.nanoseconds / 1e6);
    let split: Vec<Value> = stages
        .into_iter()
        .map(|(stage, times)| json!({ "predicted_ms": predicted(&stage), "stage": stage, "median_ms": Times::new(times).median() }))
        .collect();
    let fields = json!({
        "preset": preset,
        "degree": params.degree(),
        "slots": plan.slots(),
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
        "quick": timer.is_quick(),
    });
    let extra: Extra = fields.as_object().cloned().unwrap_or_default();
    timer.print((WORK, preset), &Times::new(whole), &extra)
}

/// The most memory that this process has had, where the system tells it.
fn peak_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
