//! Measuring the kernels that switching is made of, as a switch uses them.

use std::time::Instant;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{BaseConversion, Buffer, CpuEngine, Engine, FactorShape, Isa, Rounding};
use clathrate_lattice::switch::{KernelTimes, MachineProfile};

use crate::error::CkksError;
use crate::progress::Progress;

/// Degrees that are measured; others are scaled from the nearest.
const LOG_DEGREES: std::ops::RangeInclusive<u32> = 12..=16;

/// Rows that a transform is measured over: more than the second-level cache holds at the larger degrees, as in a switch.
const ROWS: usize = 12;

/// Bytes of factors that certainly come from memory.
const MEMORY_BYTES: usize = 256 << 20;

/// Runs of each measurement.
const RUNS: usize = 21;

/// The time of `work` in nanoseconds: the lower quartile of its runs, for whatever else the machine does only ever adds to them.
fn time(mut work: impl FnMut()) -> f64 {
    work();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e9
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 4]
}

/// Measures this machine's kernels, one thread; a few seconds.
///
/// # Errors
/// [`CkksError::Arith`] where this machine lacks `isa`.
pub fn measure(isa: Isa) -> Result<MachineProfile, CkksError> {
    measure_with_progress(isa, &mut |_, _| true)
}

/// As [`measure`]; `progress` hears of each degree and of the reading speed.
///
/// # Errors
/// As [`measure`]; [`CkksError::Cancelled`].
pub fn measure_with_progress(isa: Isa, progress: Progress<'_>) -> Result<MachineProfile, CkksError> {
    let total = LOG_DEGREES.count() + 1;
    let mut tick = |done| if progress(done, total) { Ok(()) } else { Err(CkksError::Cancelled) };
    let mut kernels = Vec::new();
    for (done, log_degree) in LOG_DEGREES.enumerate() {
        tick(done)?;
        kernels.push(measure_degree(isa, 1 << log_degree)?);
    }
    tick(total - 1)?;
    let read_ns_per_byte = measure_reading(isa)?;
    progress(total, total);
    let source = format!("measured with {} kernels", isa.name());
    Ok(MachineProfile { source, isa: Some(isa.name().to_owned()), kernels, read_ns_per_byte, cache_bytes: 16e6 })
}

fn filled(engine: &CpuEngine, moduli: &[usize]) -> Buffer {
    let mut buffer = engine.zeroed(moduli.len());
    engine.upload_rows(buffer.view_mut(), &|row, words| {
        let q = engine.moduli()[moduli[row]].value();
        for (i, word) in words.iter_mut().enumerate() {
            *word = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q;
        }
    });
    buffer
}

fn measure_degree(isa: Isa, degree: usize) -> Result<KernelTimes, CkksError> {
    let step = 2 * degree as u64;
    let mut moduli = Vec::new();
    for (bits, count) in [(45, ROWS), (49, 4), (60, 2)] {
        moduli.extend(largest_primes(bits, step, count, &moduli)?);
    }
    let engine = CpuEngine::new(degree, &moduli, isa)?;
    let mut transform = [0.0; 3];
    for (nanoseconds, rows) in transform.iter_mut().zip([0..ROWS, ROWS..ROWS + 4, ROWS + 4..ROWS + 6]) {
        let rows: Vec<usize> = rows.collect();
        let mut x = filled(&engine, &rows);
        *nanoseconds = time(|| engine.forward_ntt(x.view_mut(), &rows)) / rows.len() as f64;
    }
    let (sources, targets): (Vec<usize>, Vec<usize>) = ((0..4).collect(), (4..ROWS).collect());
    let conversion = BaseConversion::new(engine.moduli(), &sources, &targets, &[1; 4], Rounding::Centred);
    let x = filled(&engine, &sources);
    let mut out = engine.zeroed(targets.len());
    let places: Vec<usize> = (0..targets.len()).collect();
    let convert = conversion.map_or(1.0, |conversion| {
        time(|| engine.convert(&conversion, x.view(), out.view_mut(), &places)) / (conversion.columns() * targets.len()) as f64
    });
    // Few enough terms to stay in the cache.
    let rows = [0];
    let (terms, columns) = (4, 2);
    let x = filled(&engine, &rows);
    let mut factors = engine.zeroed_factors(FactorShape { groups: 1, terms, columns, packed: true }, &rows);
    engine.pack_factors(&mut factors, 0, &vec![vec![x.view()]; terms * columns], &rows);
    let mut out = engine.zeroed(columns);
    let product =
        time(|| engine.factor_products(out.view_mut(), &vec![x.view(); terms], &factors, &[0], &rows, &rows)) / (terms * columns) as f64;
    Ok(KernelTimes { degree, transform, convert, product })
}

/// Nanoseconds per byte of factors that do not fit any cache.
fn measure_reading(isa: Isa) -> Result<f64, CkksError> {
    let degree = 1 << 15;
    let moduli = largest_primes(45, 2 * degree as u64, 1, &[])?;
    let engine = CpuEngine::new(degree, &moduli, isa)?;
    let (rows, columns) = ([0], 2);
    let terms = MEMORY_BYTES / (columns * degree * 45 / 8);
    let x = filled(&engine, &rows);
    let mut factors = engine.zeroed_factors(FactorShape { groups: 1, terms, columns, packed: true }, &rows);
    engine.pack_factors(&mut factors, 0, &vec![vec![x.view()]; terms * columns], &rows);
    let mut out = engine.zeroed(columns);
    let xs = vec![x.view(); terms];
    Ok(time(|| engine.factor_products(out.view_mut(), &xs, &factors, &[0], &rows, &rows)) / factors.bytes() as f64)
}
