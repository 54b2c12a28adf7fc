//! Products of square matrices inside bootstraps, compared with bootstraps without a product. [pcmm-mambo,
//! Table 6]

use std::sync::Arc;
use std::time::Instant;

use clathrate_arith::sequence::numbers;
use clathrate_ckks::circuits::mambo::{MamboOptions, MamboPlan};
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions, MatrixPlan};
use clathrate_ckks::circuits::prepared::{Arrangement, PreparedOptions};
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{
    BootstrapOptions, BootstrapPlan, Encoding, Evaluator, Level, Matrix, Params, Runtime, SecretKey,
};
use num_complex::Complex64;
use serde_json::json;

use crate::bootstrap::{peak_bytes, reset_peak};
use crate::failure::Failure;
use crate::stages::{StageTimes, Staged};
use crate::timing::{Extra, Timer, Times};

/// The operation's name.
pub const WORK: &str = "mambo";

/// The parameter sets in addition to those of batches.
pub const PRESETS: [&str; 2] = ["boot_n15_mambo", "boot_fast_batch"];

/// The set of a quick run.
const QUICK: [&str; 1] = ["insecure_boot"];

/// Binary logarithms of the rows and columns of the matrix.
const LOG_ROWS: [u32; 5] = [8, 9, 10, 11, 12];

/// Binary logarithms of the rows in a quick run.
const QUICK_LOG_ROWS: [u32; 2] = [5, 7];

/// Polynomials that share a mask in the linear maps, if the array has as many.
const BODIES: usize = 4;

/// The same for sets of degree 2^16, whose keys are larger.
const BODIES_OF_LARGE: usize = 2;

/// Maximum number of polynomials of a product that runs completely. For larger products, the product runs
/// alone, and the bootstrap with as many polynomials as share a mask.
const MAX_WHOLE: usize = 32;

/// Timed runs for few polynomials and for many.
const RUNS: [usize; 2] = [3, 1];

/// Number of polynomials from which on there is one run.
const MANY: usize = 16;

/// Rows of the matrix that is also timed with all threads.
const ROWS_OF_THREADS: usize = 512;

/// Bytes in addition to the keys, the keys derived from them, and the arrays.
const MEMORY_BYTES: u64 = 3_000_000_000;

/// Largest error of a number with which a row is printed.
const TOLERANCE: f64 = 1e-3;

/// Times every set and size.
pub fn run(timer: &Timer<'_>, presets: &[&'static str], runtime: &Runtime) -> Result<(), Failure> {
    if !timer.wants(WORK) {
        return Ok(());
    }
    let (all, sizes): (&[&str], &[u32]) =
        if timer.is_quick() { (&QUICK, &QUICK_LOG_ROWS) } else { (&PRESETS, &LOG_ROWS) };
    for preset in all.iter().filter(|preset| presets.is_empty() || presets.contains(preset)) {
        let alone = alone(timer, preset, runtime)?;
        for &log in sizes {
            one(timer, preset, 1 << log, (alone, None), runtime)?;
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        if threads > 1 && !timer.is_quick() {
            one(timer, preset, ROWS_OF_THREADS, (None, Some(threads)), runtime)?;
        }
    }
    Ok(())
}

/// Milliseconds of the bootstrap of one polynomial of real numbers and of one of complex numbers, with a
/// separate mask; `None` if memory does not suffice.
fn alone(timer: &Timer<'_>, preset: &str, runtime: &Runtime) -> Result<Option<[f64; 2]>, Failure> {
    let params = Params::preset(preset, runtime)?;
    let plans = [true, false].map(|real| {
        BootstrapPlan::with_options(&params, BootstrapOptions { real, ..BootstrapOptions::default() })
    });
    let [real, complex] = plans;
    let (real, complex) = (real?, complex?);
    let needs = real.needs()?.merge(&complex.needs()?);
    let key_bytes = params.required_keys(&needs)?.bytes(&params)? as u64;
    if !timer.has_memory(WORK, &format!("{preset}, one polynomial"), 2 * key_bytes + MEMORY_BYTES)? {
        return Ok(None);
    }
    let owner = SecretKey::generate(&params)?;
    let evaluator = Evaluator::with_keys(owner.evaluation_keys(&needs)?);
    let options = EncryptOptions {
        level: Some(real.input_level()),
        encoding: Some(Encoding::Slots),
        ..EncryptOptions::default()
    };
    let x: Vec<f64> = numbers(83).take(params.slot_count()).collect();
    let low = owner.encrypt_array(&x, &[1, params.slot_count()], options)?;
    let pairs: Vec<Complex64> = x.iter().map(|&x| Complex64::new(x, -x)).collect();
    let low_pairs = owner.encrypt_array(&Values::Complex(pairs), &[1, params.slot_count()], options)?;
    let (own, both) = timer
        .measure_both(|| Ok(real.run(&evaluator, &low)?), || Ok(complex.run(&evaluator, &low_pairs)?))?;
    Ok(Some([own.median(), both.median()]))
}

/// The mean and the largest error of some rows of a product.
fn errors(
    found: &[Complex64],
    (x, weights): (&[Complex64], &[f64]),
    rows: usize,
) -> Result<(f64, f64), Failure> {
    let columns = x.len() / rows;
    let (mut sum, mut worst, mut count) = (0.0, 0.0f64, 0);
    for row in (0..rows).step_by((rows / 8).max(1)) {
        for column in (0..columns).step_by((columns / 64).max(1)) {
            let expected: Complex64 =
                (0..rows).map(|k| x[k * columns + column] * weights[row * rows + k]).sum();
            let error = found[row * columns + column] - expected;
            for error in [error.re.abs(), error.im.abs()] {
                (sum, worst, count) = (sum + error, worst.max(error), count + 1);
            }
        }
    }
    if worst.is_nan() || worst > TOLERANCE {
        return Err(Failure::slot_error(worst, TOLERANCE));
    }
    Ok((sum / f64::from(count), worst))
}

/// Times the product of a square matrix of `rows` rows with a matrix of as many rows and columns, two columns
/// in one of complex numbers.
fn one(
    timer: &Timer<'_>,
    preset: &str,
    rows: usize,
    (alone, threads): (Option<[f64; 2]>, Option<usize>),
    runtime: &Runtime,
) -> Result<(), Failure> {
    // New parameters, so that the keys of the previous row are freed.
    let runtime = Runtime { threads: threads.or(runtime.threads), ..runtime.clone() };
    let params = Params::preset(preset, &runtime)?;
    let (slots, columns) = (params.slot_count(), rows / 2);
    let polys = (rows * columns).div_ceil(slots);
    let most = if params.degree() > 1 << 15 { BODIES_OF_LARGE } else { BODIES };
    let bodies = most.min(polys.next_power_of_two());
    // Keeps the numbers of the product below 1.
    let weights: Vec<f64> = numbers(80).take(rows * rows).map(|w| w / (rows as f64).sqrt() / 4.0).collect();
    let bootstrap = BootstrapOptions { bodies, ..BootstrapOptions::default() };
    // One product, without the time of a preparation.
    let own = MatrixOptions { method: Some(MatrixMethod::Exact), uses: Some(1), ..MatrixOptions::default() };
    let plan = Arc::new(MamboPlan::new(
        &params,
        Matrix::new(rows, rows, &weights),
        columns,
        &MamboOptions { bootstrap, matrix: own, ..MamboOptions::default() },
    )?);
    // The product alone, with rows in the order of their encryption.
    let arrangement =
        Arrangement { level: Some(Level(1)), lanes: Some(plan.lanes()), ..Arrangement::default() };
    let precision = PreparedOptions { own_masks: true, ..PreparedOptions::default() };
    let product = MatrixPlan::new(
        &params,
        Matrix::new(rows, rows, &weights),
        2 * columns,
        &MatrixOptions { arrangement, precision, ..own },
    )?;
    let name = format!(
        "{preset}, {rows} rows{}",
        threads.map_or(String::new(), |threads| format!(", {threads} threads"))
    );
    let ordinary = BootstrapPlan::with_options(&params, bootstrap)?;
    let whole = polys <= MAX_WHOLE;
    let key_bytes = params.required_keys(&plan.needs()?)?.bytes(&params)?;
    // The keys of the bootstraps for comparison are in memory, too.
    let needs = plan.needs()?.merge(&product.needs()).merge(&ordinary.needs()?);
    let held_bytes = params.required_keys(&needs)?.bytes(&params)?;
    // Two primes at level 1, mask and body, for the rows and their product, each twice.
    let array_bytes = polys * params.degree() * size_of::<u64>() * 2 * 2 * 4;
    if !timer.has_memory(WORK, &name, (2 * held_bytes + array_bytes) as u64 + MEMORY_BYTES)? {
        return Ok(());
    }
    reset_peak();
    let owner = SecretKey::generate(&params)?;
    let staged = Staged::new(owner.evaluation_keys(&needs)?);
    let x: Vec<Complex64> =
        numbers(81).zip(numbers(82)).map(|(re, im)| Complex64::new(re, im)).take(rows * columns).collect();
    let (product_ms, product_errors) = {
        let values: Vec<f64> = x.iter().flat_map(|x| [x.re, x.im]).collect();
        let low = owner.encrypt_array(&values, &[rows, 2 * columns], product.encryption())?;
        let matrix = staged.with(|evaluator| product.prepare(evaluator))?;
        let mut result = staged.with(|evaluator| matrix.multiply(evaluator, &low))?;
        let mut times = Vec::new();
        for _ in 0..RUNS[usize::from(polys >= MANY)] {
            let start = Instant::now();
            result = staged.with(|evaluator| matrix.multiply(evaluator, &low))?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let took = Times::new(times).median();
        let found = owner.decrypt(&result)?.into_real()?;
        let pairs: Vec<Complex64> =
            found.chunks_exact(2).map(|pair| Complex64::new(pair[0], pair[1])).collect();
        (took, errors(&pairs, (&x, &weights), rows)?)
    };
    let runs = if timer.is_quick() { 1 } else { RUNS[usize::from(polys >= MANY)] };
    let ((times, without), (mean, worst)) = if whole {
        let mut all = x.clone();
        all.resize(plan.array_shapes().0.iter().product(), Complex64::default());
        let low = owner.encrypt_array(&Values::Complex(all), &plan.array_shapes().0, plan.encryption())?;
        let matrix = staged.with(|evaluator| plan.prepare(evaluator))?;
        let (mut times, mut apart, mut untimed) =
            (StageTimes::default(), StageTimes::default(), StageTimes::default());
        // The first bootstrap derives the keys that later ones use.
        staged.time(&mut untimed, |evaluator| ordinary.run(evaluator, &low))?;
        let mut found = None;
        for _ in 0..runs {
            found = Some(staged.time(&mut times, |evaluator| matrix.multiply(evaluator, &low))?);
            staged.time(&mut apart, |evaluator| ordinary.run(evaluator, &low))?;
        }
        let found = found.ok_or_else(|| Failure::slot_error(f64::NAN, TOLERANCE))?;
        let numbers = owner.decrypt(&found)?.into_complex();
        ((times.whole(), apart.whole().median() / polys as f64), errors(&numbers, (&x, &weights), rows)?)
    } else {
        // The bootstrap with a level for the product, of as many polynomials as share a mask.
        let own: Vec<Complex64> = x.iter().copied().take(bodies * slots).collect();
        let low = owner.encrypt_array(&Values::Complex(own), &[bodies, slots], plan.encryption())?;
        let (mut times, mut apart, mut untimed) =
            (StageTimes::default(), StageTimes::default(), StageTimes::default());
        staged.time(&mut untimed, |evaluator| plan.bootstrap().run(evaluator, &low))?;
        for _ in 0..RUNS[0] {
            staged.time(&mut times, |evaluator| plan.bootstrap().run(evaluator, &low))?;
            staged.time(&mut apart, |evaluator| ordinary.run(evaluator, &low))?;
        }
        let each = times.whole().median() / bodies as f64;
        (
            (Times::new(vec![each * polys as f64 + product_ms]), apart.whole().median() / bodies as f64),
            product_errors,
        )
    };
    let fields = json!({
        "preset": preset,
        "degree": params.degree(),
        "threads": runtime.threads.unwrap_or(1),
        "rows": rows,
        "columns": columns,
        "polys": polys,
        "bodies": bodies,
        "lanes": plan.lanes(),
        "method": product.chosen().method.name(),
        "ring": product.chosen().ring.unwrap_or_else(|| params.degree()),
        "whole": whole,
        "product_ms": product_ms,
        "bootstrap_ms": without,
        "alone_ms": alone,
        "predicted_ms": plan.predicted_nanoseconds()?.0 / 1e6,
        "predicted_product_ms": plan.predicted_nanoseconds()?.1 / 1e6,
        "predicted_bits": -plan.predicted_error()?.log2(),
        "mean_bits": -mean.log2(),
        "worst_bits": -worst.log2(),
        "max_error": worst,
        "key_bytes": key_bytes,
        "peak_bytes": peak_bytes(),
        "quick": timer.is_quick(),
    });
    let extra: Extra = fields.as_object().cloned().unwrap_or_default();
    timer.print((WORK, &name), &times, &extra)
}
