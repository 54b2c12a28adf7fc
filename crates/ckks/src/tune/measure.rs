//! Measures the kernels of a key switch, with operands as in a switch, and exact matrix products.

use std::sync::Arc;
use std::time::Instant;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::product::LeftMatrix;
use clathrate_arith::{Buffer, Engine, FactorGroups, FactorShape, Rounding};
use clathrate_lattice::switch::{KernelTimes, MachineProfile, MatrixTimes};

use crate::error::CkksError;
use crate::progress::Progress;

use super::Kernels;

/// Measured degrees; the times of other degrees are scaled from the nearest.
const LOG_DEGREES: std::ops::RangeInclusive<u32> = 12..=16;

/// Rows of a measured transform: at the larger degrees more than the second-level cache holds, as in a
/// switch.
const ROWS: usize = 12;

/// Bits of the measured primes, and how many of each: every transform class of every engine. The first are
/// the fastest on processors; all other kernels are measured with them.
const WIDTHS: [(u32, usize); 4] = [(45, ROWS), (29, 4), (49, 4), (60, 2)];

/// Bytes of factors that exceed any cache.
const MEMORY_BYTES: usize = 256 << 20;

/// Runs of each measurement.
const RUNS: usize = 21;

/// Makes an engine for a degree and moduli.
pub type MakeEngine<'a> = &'a dyn Fn(usize, &[u64]) -> Result<Arc<dyn Engine>, CkksError>;

/// The time of `work` on `engine` in nanoseconds: the lower quartile of its runs, because other programs can
/// only lengthen a run.
fn time(engine: &dyn Engine, mut work: impl FnMut()) -> f64 {
    work();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            engine.finish();
            let start = Instant::now();
            work();
            engine.finish();
            start.elapsed().as_secs_f64() * 1e9
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 4]
}

/// Measures the kernels of the engines that `engine` makes, in a few seconds; `kernels` names them.
/// The steps that are reported are the degrees, the reading speed and matrix products.
///
/// # Errors
/// Those of `engine`; [`CkksError::Cancelled`].
pub fn measure(
    kernels: Kernels,
    engine: MakeEngine<'_>,
    progress: &Progress,
) -> Result<MachineProfile, CkksError> {
    let mut steps = progress.steps(LOG_DEGREES.count() + 2);
    let mut times = Vec::new();
    for log_degree in LOG_DEGREES {
        steps.begin()?;
        times.push(measure_degree(engine, 1 << log_degree)?);
    }
    steps.begin()?;
    let matrix = measure_matrix(engine)?;
    steps.begin()?;
    let (read_ns_per_byte, cache_bytes) = measure_reading(engine)?;
    steps.finish()?;
    let source = format!("measured with {} kernels", kernels.name());
    Ok(MachineProfile {
        source,
        isa: Some(kernels.name),
        kernels: times,
        matrix,
        overhead: 1.0,
        read_ns_per_byte,
        cache_bytes,
    })
}

fn filled(engine: &dyn Engine, moduli: &[usize]) -> Buffer {
    let mut buffer = engine.zeroed(moduli.len());
    engine.upload_rows(buffer.view_mut(), &|row, words| {
        let q = engine.moduli()[moduli[row]].value();
        for (i, word) in words.iter_mut().enumerate() {
            *word = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q;
        }
    });
    buffer
}

fn measure_degree(make: MakeEngine<'_>, degree: usize) -> Result<KernelTimes, CkksError> {
    let step = 2 * degree as u64;
    let mut moduli = Vec::new();
    for (bits, count) in WIDTHS {
        moduli.extend(largest_primes(bits, step, count, &moduli)?);
    }
    let engine = &*make(degree, &moduli)?;
    let (mut transform, mut first) = ([None; 3], 0);
    for (_, count) in WIDTHS {
        let class = engine.transform_class(first);
        // If several widths have one class, the first one counts.
        if transform[class].is_none() {
            let rows: Vec<usize> = (first..first + count).collect();
            let mut x = filled(engine, &rows);
            transform[class] = Some(time(engine, || engine.forward_ntt(x.view_mut(), &rows)) / count as f64);
        }
        first += count;
    }
    // Classes that no width has are not used by any prime.
    let slowest = transform.into_iter().flatten().last().unwrap_or_default();
    let transform = transform.map(|nanoseconds| nanoseconds.unwrap_or(slowest));
    let (sources, targets): (Vec<usize>, Vec<usize>) = ((0..4).collect(), (4..ROWS).collect());
    let conversion = engine.base_conversion(&sources, &targets, &[1; 4], Rounding::Centred);
    let x = filled(engine, &sources);
    let mut out = engine.zeroed(targets.len());
    let places: Vec<usize> = (0..targets.len()).collect();
    let convert = conversion.map_or(1.0, |conversion| {
        time(engine, || engine.convert(&conversion, x.view(), out.view_mut(), &places))
            / (conversion.columns() * targets.len()) as f64
    });
    // So few terms that they stay in the cache.
    let rows = [0];
    let (terms, columns) = (4, 2);
    let x = filled(engine, &rows);
    let mut factors = engine.zeroed_factors(FactorShape { groups: 1, terms, columns, packed: true }, &rows);
    engine.pack_factors(&mut factors, 0, &vec![vec![x.view()]; terms * columns], &rows);
    let mut out = engine.zeroed(columns);
    let by = FactorGroups { factors: &factors, groups: &[0], rows: &rows, moduli: &rows };
    let product = time(engine, || engine.factor_products(out.view_mut(), &vec![x.view(); terms], by))
        / (terms * columns) as f64;
    Ok(KernelTimes { degree, transform, convert, product })
}

/// Largest cache that is tried, in bytes of factors.
const LARGEST_CACHE: usize = 128 << 20;

/// Bytes of factors that are assumed to fit the cache.
const MIN_CACHE: usize = 16_000_000;

/// Bytes that are read in less than this fraction of the time for memory come from a cache.
const CACHED: f64 = 0.7;

/// Nanoseconds per byte of factors from memory, and the cache size: the largest tried number of bytes that is
/// read clearly faster.
fn measure_reading(make: MakeEngine<'_>) -> Result<(f64, f64), CkksError> {
    let degree = 1 << 15;
    let moduli = largest_primes(45, 2 * degree as u64, 1, &[])?;
    let engine = &*make(degree, &moduli)?;
    let (rows, columns) = ([0], 2);
    let x = filled(engine, &rows);
    let mut out = engine.zeroed(columns);
    let mut reading = |bytes: usize| {
        let terms = bytes / (columns * degree * 45 / 8);
        let mut factors =
            engine.zeroed_factors(FactorShape { groups: 1, terms, columns, packed: true }, &rows);
        engine.pack_factors(&mut factors, 0, &vec![vec![x.view()]; terms * columns], &rows);
        let xs = vec![x.view(); terms];
        let by = FactorGroups { factors: &factors, groups: &[0], rows: &rows, moduli: &rows };
        time(engine, || engine.factor_products(out.view_mut(), &xs, by)) / factors.bytes() as f64
    };
    let memory = reading(MEMORY_BYTES);
    let mut cache = LARGEST_CACHE;
    while cache > MIN_CACHE && reading(cache) > CACHED * memory {
        cache /= 2;
    }
    Ok((memory, cache.max(MIN_CACHE) as f64))
}

/// Measured products: rows and columns of the matrix, and binary logarithm of the polynomials' degree. Each
/// is dominated by another unit operation: the start, digits, sums, multiply-adds.
const MATRICES: [(usize, usize, u32); 4] = [(1, 1, 8), (1, 64, 12), (64, 1, 12), (64, 64, 12)];

/// Primes of the polynomials in these products: 64 polynomials then exceed the second-level cache, like the
/// rows of an encrypted matrix.
const MATRIX_PRIMES: usize = 3;

/// Bits of the entries of these matrices: with 45-bit primes, weights and residues are split into several
/// digits each, as in products with real matrices.
const WEIGHT_BITS: u32 = 40;

/// A time indistinguishable from zero, in nanoseconds.
const MIN_NANOSECONDS: f64 = 1e-6;

/// Times of the unit operations of exact matrix products, from products that are each dominated by one of
/// them.
fn measure_matrix(make: MakeEngine<'_>) -> Result<MatrixTimes, CkksError> {
    let moduli: Vec<usize> = (0..MATRIX_PRIMES).collect();
    let mut equations = Vec::new();
    for (rows, inner, log_degree) in MATRICES {
        let degree = 1 << log_degree;
        let engine = &*make(degree, &largest_primes(45, 2 * degree as u64, MATRIX_PRIMES, &[])?)?;
        // Odd multipliers spread the entries over all residues modulo 2^40.
        let weight = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - WEIGHT_BITS);
        let weights: Vec<i64> =
            (1..=rows * inner).map(|i| weight(i) as i64 - (1 << (WEIGHT_BITS - 1))).collect();
        let left = LeftMatrix::new(rows, inner, &weights)?;
        let right: Vec<Buffer> = (0..inner).map(|_| filled(engine, &moduli)).collect();
        let right: Vec<_> = right.iter().map(Buffer::view).collect();
        let mut out: Vec<Buffer> = (0..rows).map(|_| engine.zeroed(MATRIX_PRIMES)).collect();
        let mut targets: Vec<_> = out.iter_mut().map(Buffer::view_mut).collect();
        // The first product checks the operands; the others are timed.
        engine.combine(&mut targets, &left, &right, &moduli)?;
        let nanoseconds = time(engine, || drop(engine.combine(&mut targets, &left, &right, &moduli)));
        // All primes have one width, so all have the same counts.
        let counts = left.counts(&engine.moduli()[0], degree);
        let counts =
            [counts.products, counts.digits, counts.sums, counts.multiply_adds].map(|count| count as f64);
        equations.push((counts, nanoseconds / MATRIX_PRIMES as f64));
    }
    let [start, digit, sum, multiply_add] = solve(&equations);
    Ok(MatrixTimes { start, multiply_add, digit, sum })
}

/// Iterations of [`solve`]; a few would do, because the equations are nearly independent.
const ITERATIONS: usize = 60;

/// Unit times `x` with `sum_j counts_j x_j = nanoseconds` for each equation, by Gauss-Seidel iteration, which
/// keeps each time positive for any measurement noise. It converges because equation `i` has many more
/// operations of unit `i` than the other equations.
fn solve(equations: &[([f64; 4], f64)]) -> [f64; 4] {
    let mut times = [0.0; 4];
    for _ in 0..ITERATIONS {
        for (unit, (counts, nanoseconds)) in equations.iter().enumerate() {
            let others: f64 =
                (0..4).filter(|&other| other != unit).map(|other| counts[other] * times[other]).sum();
            times[unit] = ((nanoseconds - others) / counts[unit]).max(MIN_NANOSECONDS);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_times_come_back_from_the_times_of_products() {
        let modulus = clathrate_arith::Modulus::new((1 << 45) - 55).expect("odd");
        let truth = [8_000.0, 0.4, 0.3, 0.02];
        let equations = MATRICES.map(|(rows, inner, log_degree)| {
            let left =
                LeftMatrix::new(rows, inner, &vec![-(1 << (WEIGHT_BITS - 1)); rows * inner]).expect("valid");
            let counts = left.counts(&modulus, 1 << log_degree);
            let counts =
                [counts.products, counts.digits, counts.sums, counts.multiply_adds].map(|count| count as f64);
            (counts, counts.iter().zip(truth).map(|(count, time)| count * time).sum::<f64>())
        });
        for (solved, time) in solve(&equations).into_iter().zip(truth) {
            assert!((solved / time - 1.0).abs() < 1e-6, "{solved} for {time}");
        }
        // Disturbed measurements still give valid times.
        let disturbed = equations.map(|(counts, _)| (counts, 1.0));
        assert!(solve(&disturbed).iter().all(|&time| time > 0.0 && time.is_finite()));
    }
}
