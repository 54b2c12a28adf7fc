//! Matrix products inside bootstraps beside bootstraps of the same polynomials without a product. [pcmm-mambo, Table 6]

use std::sync::Arc;

use clathrate_arith::sequence::numbers;
use clathrate_ckks::circuits::mambo::{MamboOptions, MamboPlan};
use clathrate_ckks::keys::Values;
use clathrate_ckks::{BootstrapOptions, BootstrapPlan, Params, Runtime, SecretKey};
use num_complex::Complex64;
use serde_json::json;

use crate::bootstrap::{peak_bytes, reset_peak};
use crate::failure::Failure;
use crate::stages::{StageTimes, Staged};
use crate::timing::{Extra, Timer};

/// The operation's name.
pub const WORK: &str = "mambo";

/// The parameter sets.
pub const PRESETS: [&str; 1] = ["boot_n15_mambo"];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_boot"];

/// Binary logarithms of the rows and columns of the matrix.
const LOG_ROWS: [u32; 5] = [8, 9, 10, 11, 12];

/// Those of a quick run.
const QUICK_LOG_ROWS: [u32; 2] = [5, 7];

/// Polynomials of complex numbers that the encrypted matrix takes, and that share a mask behind the product.
const POLYS: usize = 4;

/// Products that are timed, after one that is not.
const RUNS: usize = 3;

/// Memory beside that of the keys and of what is derived from them, in bytes.
const MEMORY_BYTES: u64 = 4_000_000_000;

/// Largest error of a number that a row may be printed with.
const TOLERANCE: f64 = 1e-3;

/// Times every set and size.
pub fn run(timer: &Timer<'_>, presets: &[&'static str], runtime: &Runtime) -> Result<(), Failure> {
    if !timer.wants(WORK) {
        return Ok(());
    }
    let (all, sizes): (&[&str], &[u32]) = if timer.is_quick() { (&QUICK, &QUICK_LOG_ROWS) } else { (&PRESETS, &LOG_ROWS) };
    for preset in all.iter().filter(|preset| presets.is_empty() || presets.contains(preset)) {
        for &log in sizes {
            one(timer, preset, 1 << log, runtime)?;
        }
    }
    Ok(())
}

/// A square matrix of `rows` rows times one of as many rows, in [`POLYS`] polynomials.
fn one(timer: &Timer<'_>, preset: &str, rows: usize, runtime: &Runtime) -> Result<(), Failure> {
    let params = Params::preset(preset, runtime)?;
    let columns = POLYS * params.slot_count() / rows;
    // Rows of magnitude 1 and less in the product.
    let weights: Vec<f64> = numbers(80).take(rows * rows).map(|w| w / (rows as f64).sqrt() / 4.0).collect();
    let bootstrap = BootstrapOptions { bodies: POLYS, ..BootstrapOptions::default() };
    let options = MamboOptions { bootstrap, ..MamboOptions::default() };
    let plan = Arc::new(MamboPlan::new(&params, (rows, rows, &weights), columns, &options)?);
    let name = format!("{preset}, {rows} rows");
    // The bootstrap that there would be without a product.
    let ordinary = BootstrapPlan::with_options(&params, bootstrap)?;
    let needs = plan.needs()?.merge(&ordinary.needs()?);
    let key_bytes = params.required_keys(&plan.needs()?)?.bytes(&params)? + plan.matrix().chosen().matrix_key_bytes;
    if !timer.has_memory(WORK, &name, 2 * key_bytes as u64 + MEMORY_BYTES)? {
        return Ok(());
    }
    reset_peak();
    let owner = SecretKey::generate(&params)?;
    let staged = Staged::new(owner.evaluation_keys(&needs)?);
    let shape = plan.array_shapes().0;
    let x: Vec<Complex64> = numbers(81).zip(numbers(82)).map(|(re, im)| Complex64::new(re, im)).take(rows * columns).collect();
    let low = owner.encrypt_array(&Values::Complex(x.clone()), &shape, plan.encryption())?;
    let (mut times, mut alone, mut untimed) = (StageTimes::default(), StageTimes::default(), StageTimes::default());
    let start = std::time::Instant::now();
    let mut matrix = None;
    staged.with(|evaluator| {
        matrix = Some(plan.prepare(evaluator, &mut |_, _| true)?);
        Ok(())
    })?;
    let preparation = start.elapsed().as_secs_f64();
    let Some(matrix) = matrix else { return Ok(()) };
    let fresh = staged.time(&mut untimed, |evaluator| evaluator.mambo(&matrix, &low, &mut |_, _| true))?;
    let found = owner.decrypt(&fresh)?.into_complex();
    drop(fresh);
    // A few rows of the product in the clear.
    let (mut sum, mut worst, mut count) = (0.0, 0.0f64, 0);
    for row in (0..rows).step_by((rows / 8).max(1)) {
        for column in 0..columns {
            let expected: Complex64 = (0..rows).map(|k| x[k * columns + column] * weights[row * rows + k]).sum();
            for error in [(found[row * columns + column] - expected).re.abs(), (found[row * columns + column] - expected).im.abs()] {
                (sum, worst, count) = (sum + error, worst.max(error), count + 1);
            }
        }
    }
    if worst.is_nan() || worst > TOLERANCE {
        return Err(Failure::slot_error(worst, TOLERANCE));
    }
    for _ in 0..if timer.is_quick() { 1 } else { RUNS } {
        staged.time(&mut times, |evaluator| evaluator.mambo(&matrix, &low, &mut |_, _| true))?;
        staged.time(&mut alone, |evaluator| evaluator.bootstrap(&low, &ordinary))?;
    }
    let (whole, without) = (times.whole(), alone.whole());
    let fields = json!({
        "preset": preset,
        "degree": params.degree(),
        "rows": rows,
        "columns": columns,
        "polys": POLYS,
        "bodies": POLYS,
        "lanes": plan.lanes(),
        "method": plan.matrix().chosen().method.name(),
        "bootstrap_ms": without.median(),
        "predicted_ms": plan.predicted_nanoseconds()?.0 / 1e6,
        "predicted_product_ms": plan.predicted_nanoseconds()?.1 / 1e6,
        "preparation_seconds": preparation,
        "predicted_bits": -plan.predicted_error()?.log2(),
        "mean_bits": -(sum / f64::from(count)).log2(),
        "worst_bits": -worst.log2(),
        "max_error": worst,
        "key_bytes": key_bytes,
        "peak_bytes": peak_bytes(),
        "quick": timer.is_quick(),
    });
    let extra: Extra = fields.as_object().cloned().unwrap_or_default();
    timer.print((WORK, &name), &whole, &extra)
}
