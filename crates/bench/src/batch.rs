//! Batch bootstrapping of real numbers: one polynomial at a time, compared with several that share masks in
//! the linear maps. [pcmm-mambo, Table 5]

use clathrate_arith::sequence::numbers;
use clathrate_ckks::keys::EncryptOptions;
use clathrate_ckks::{
    BootstrapOptions, BootstrapPlan, Ciphertext, CkksError, Encoding, Params, Runtime, SecretKey,
};
use serde_json::{Value, json};

use crate::bootstrap::{peak_bytes, reset_peak};
use crate::failure::Failure;
use crate::one_reading;
use crate::stages::{StageTimes, Staged};
use crate::timing::{Extra, Timer};

/// The operation's name.
pub const WORK: &str = "batch_bootstrap";

/// The parameter sets.
pub const PRESETS: [&str; 2] = ["boot_n15_batch", "boot_fast_batch"];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_boot"];

/// Polynomials that share a mask.
const BODIES: [usize; 4] = [1, 2, 4, 8];

/// Polynomials of the paper's largest batch, which is split into masks of the most bodies that fit into
/// memory.
const LARGE: usize = 32;

/// Timed bootstraps of a batch, after one that is not timed.
const RUNS: usize = 3;

/// Memory of a batch as a multiple of the bytes of its keys: the keys derived from them take as much again.
const MEMORY_FACTOR: f64 = 2.1;

/// Bytes of a batch that do not depend on the keys.
const MEMORY_BYTES: f64 = 2e9;

/// Numbers of polynomials under one mask whose times are predicted, whether they fit into this machine's
/// memory or not.
const PRICED: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Largest error of a slot with which a row is printed.
const TOLERANCE: f64 = 1e-3;

/// Times every set, with one thread and with all.
pub fn run(timer: &Timer<'_>, presets: &[&'static str], runtime: &Runtime) -> Result<(), Failure> {
    let all: &[&str] = if timer.is_quick() { &QUICK } else { &PRESETS };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for preset in all.iter().filter(|preset| presets.is_empty() || presets.contains(preset)) {
        one_reading::run(timer, preset, threads, runtime)?;
        if !timer.wants(WORK) {
            continue;
        }
        // Real numbers, and pairs of them as real and imaginary parts of complex numbers.
        for pairs in [false, true] {
            for bodies in BODIES {
                one(timer, preset, (bodies, pairs), None, None, runtime)?;
            }
        }
        for bodies in [2, 4].into_iter().filter(|_| !timer.is_quick()) {
            one(timer, preset, (bodies, true), Some(LARGE), None, runtime)?;
        }
        for bodies in [1, 4].into_iter().filter(|_| threads > 1 && !timer.is_quick()) {
            one(timer, preset, (bodies, true), None, Some(threads), runtime)?;
        }
    }
    Ok(())
}

/// The predicted milliseconds per polynomial of real numbers and the bytes of keys, for each secure number of
/// polynomials under a mask.
fn curve(params: &Params, pairs: bool) -> Result<Vec<Value>, Failure> {
    let mut points = Vec::new();
    for bodies in PRICED {
        let plan = match BootstrapPlan::with_options(
            params,
            BootstrapOptions { real: !pairs, bodies, ..BootstrapOptions::default() },
        ) {
            Err(CkksError::Insecure { .. }) => break,
            other => other?,
        };
        let polys = if pairs { 2 * bodies } else { bodies };
        let each = plan.dry_run()?.cost().nanoseconds / 1e6 / polys as f64;
        points.push(json!({ "bodies": bodies, "predicted_ms_each": each, "key_bytes": plan.key_bytes()? }));
    }
    Ok(points)
}

/// One polynomial of real numbers with a separate mask, with the same parameters and threads.
struct Alone {
    plan: BootstrapPlan,
    staged: Staged,
    low: Ciphertext,
    times: StageTimes,
}

impl Alone {
    /// The plan of a single polynomial; `None` if the batch is one.
    fn plan(params: &Params, (bodies, pairs): (usize, bool)) -> Result<Option<BootstrapPlan>, Failure> {
        if bodies == 1 && !pairs {
            return Ok(None);
        }
        Ok(Some(BootstrapPlan::with_options(
            params,
            BootstrapOptions { real: true, ..BootstrapOptions::default() },
        )?))
    }

    fn new(owner: &SecretKey, plan: BootstrapPlan) -> Result<Self, Failure> {
        let x: Vec<f64> = numbers(71).take(plan.slots()).collect();
        let (level, encoding) = (Some(plan.input_level()), Some(Encoding::Slots));
        let options =
            EncryptOptions { level, encoding, capacity: Some(plan.slots()), ..EncryptOptions::default() };
        let low = owner.encrypt_array(&x, &[1, plan.slots()], options)?;
        let staged = Staged::new(owner.evaluation_keys(&plan.needs()?)?);
        Ok(Self { plan, staged, low, times: StageTimes::default() })
    }

    /// An untimed run.
    fn warm(&mut self) -> Result<(), Failure> {
        let mut untimed = StageTimes::default();
        self.staged.time(&mut untimed, |evaluator| self.plan.run(evaluator, &self.low)).map(drop)
    }

    fn time(&mut self) -> Result<(), Failure> {
        self.staged.time(&mut self.times, |evaluator| self.plan.run(evaluator, &self.low)).map(drop)
    }
}

/// Times `polys` polynomials of real numbers, by default as many as fill one mask.
fn one(
    timer: &Timer<'_>,
    preset: &str,
    (bodies, pairs): (usize, bool),
    polys: Option<usize>,
    threads: Option<usize>,
    runtime: &Runtime,
) -> Result<(), Failure> {
    let runtime = Runtime { threads: threads.or(runtime.threads), ..runtime.clone() };
    let params = Params::preset(preset, &runtime)?;
    let plan = BootstrapPlan::with_options(
        &params,
        BootstrapOptions { real: !pairs, bodies, ..BootstrapOptions::default() },
    )?;
    let batch = polys.map_or(String::new(), |polys| format!(", a batch of {polys}"));
    let filled = if pairs { 2 * bodies } else { bodies };
    let polys = polys.unwrap_or(filled);
    let method = if pairs { "pairs" } else { "real" };
    let on_threads = threads.map_or(String::new(), |threads| format!(", {threads} threads"));
    let name = format!("{preset}, {method}, {bodies} under a mask{batch}{on_threads}");
    let recording = plan.dry_run()?;
    let key_bytes = plan.key_bytes()?;
    let alone = Alone::plan(&params, (bodies, pairs))?;
    let alone_bytes = alone.as_ref().map(BootstrapPlan::key_bytes).transpose()?.unwrap_or(0);
    let wanted = (key_bytes as f64 * MEMORY_FACTOR + MEMORY_BYTES) as u64 + alone_bytes as u64;
    if !timer.has_memory(WORK, &name, wanted)? {
        return Ok(());
    }
    reset_peak();
    let owner = SecretKey::generate(&params)?;
    let staged = Staged::new(owner.evaluation_keys(&plan.needs()?)?);
    let x: Vec<f64> = numbers(70).take(polys * plan.slots()).collect();
    let (level, encoding) = (Some(plan.input_level()), Some(Encoding::Slots));
    let options =
        EncryptOptions { level, encoding, capacity: Some(plan.slots()), ..EncryptOptions::default() };
    let low = owner.encrypt_array(&x, &[polys, plan.slots()], options)?;
    let (mut times, mut untimed) = (StageTimes::default(), StageTimes::default());
    let fresh = staged.time(&mut untimed, |evaluator| plan.run(evaluator, &low))?;
    let errors: Vec<f64> =
        owner.decrypt(&fresh)?.into_real()?.iter().zip(&x).map(|(a, b)| (a - b).abs()).collect();
    drop(fresh);
    let (mean, worst) = (
        errors.iter().sum::<f64>() / errors.len() as f64,
        errors.iter().fold(0.0f64, |worst, &error| worst.max(error)),
    );
    if worst.is_nan() || worst > TOLERANCE {
        return Err(Failure::slot_error(worst, TOLERANCE));
    }
    // The single polynomial is timed around each run of the batch, so that changes of the machine's speed
    // affect both.
    let mut alone = alone.map(|plan| Alone::new(&owner, plan)).transpose()?;
    alone.iter_mut().try_for_each(Alone::warm)?;
    for _ in 0..if timer.is_quick() { 1 } else { RUNS } {
        alone.iter_mut().try_for_each(Alone::time)?;
        staged.time(&mut times, |evaluator| plan.run(evaluator, &low))?;
        alone.iter_mut().try_for_each(Alone::time)?;
    }
    let whole = times.whole();
    let stages_of = |times: StageTimes| -> Vec<Value> {
        times
            .medians()
            .into_iter()
            .map(|(stage, median)| json!({ "stage": stage, "median_ms": median }))
            .collect()
    };
    let stages = stages_of(times);
    let (alone_ms, alone_stages) = match alone {
        Some(alone) => (alone.times.whole().median(), stages_of(alone.times)),
        None => (whole.median(), stages.clone()),
    };
    let fields = json!({
        "preset": preset,
        "degree": params.degree(),
        "bodies": bodies,
        "polys": polys,
        "method": method,
        "threads": runtime.threads.unwrap_or(1),
        "security_bits": params.security_bits() - (bodies as f64).log2(),
        "log2_failure": plan.log2_failure(),
        "predicted_ms": recording.cost().nanoseconds / 1e6 * polys as f64 / filled as f64,
        "key_rows": recording.cost().hadamard_products * polys as f64 / filled as f64,
        "curve": if bodies == 1 && threads.is_none() { curve(&params, pairs)? } else { Vec::new() },
        "mean_bits": -mean.log2(),
        "worst_bits": -worst.log2(),
        "max_error": worst,
        "key_bytes": key_bytes,
        "peak_bytes": peak_bytes(),
        "alone_ms": alone_ms,
        "alone_stages": alone_stages,
        "stages": stages,
        "quick": timer.is_quick(),
    });
    let extra: Extra = fields.as_object().cloned().unwrap_or_default();
    timer.print((WORK, &name), &whole, &extra)
}
