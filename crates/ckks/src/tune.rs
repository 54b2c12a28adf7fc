//! What this machine's kernels take: measured in seconds, kept in the user's cache directory, used by every plan.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clathrate_arith::primes::largest_primes;
use clathrate_arith::{BaseConversion, Buffer, CpuEngine, Engine, FactorShape, Isa, Rounding};
use clathrate_lattice::switch::{KernelTimes, MachineProfile};

use crate::error::CkksError;
use crate::file::FileError;

/// Degrees that are measured; others are scaled from the nearest.
const LOG_DEGREES: std::ops::RangeInclusive<u32> = 12..=16;

/// Rows that a transform is measured over: more than the second-level cache holds at the larger degrees, as in a switch.
const ROWS: usize = 12;

/// Bytes of factors that certainly come from memory.
const MEMORY_BYTES: usize = 256 << 20;

/// Runs of each measurement; the median counts.
const RUNS: usize = 5;

/// Where the profile is kept: `clathrate/profile.toml` in the user's cache directory; none where the system names no such directory.
#[must_use]
pub fn profile_path() -> Option<PathBuf> {
    dirs::cache_dir().map(|directory| directory.join("clathrate").join("profile.toml"))
}

/// The stored profile, if there is one that can be read.
#[must_use]
pub fn stored() -> Option<MachineProfile> {
    let text = std::fs::read_to_string(profile_path()?).ok()?;
    let profile: MachineProfile = toml::from_str(&text).ok()?;
    is_sound(&profile).then_some(profile)
}

/// The stored profile, or the built-in one.
#[must_use]
pub fn stored_or_built_in() -> MachineProfile {
    stored().unwrap_or_else(MachineProfile::built_in)
}

/// Whether every time is a positive number.
fn is_sound(profile: &MachineProfile) -> bool {
    let positive = |x: f64| x.is_finite() && x > 0.0;
    let kernels = profile
        .kernels
        .iter()
        .all(|times| times.degree.is_power_of_two() && times.transform.into_iter().chain([times.convert, times.product]).all(positive));
    kernels && !profile.kernels.is_empty() && positive(profile.read_ns_per_byte) && profile.cache_bytes >= 0.0
}

/// Writes `profile` where [`stored`] looks for it; tells where that is.
///
/// # Errors
/// [`CkksError::File`] where the directory cannot be made or written.
pub fn store(profile: &MachineProfile) -> Result<PathBuf, CkksError> {
    let path =
        profile_path().ok_or_else(|| CkksError::InvalidParams { reason: "this system names no cache directory for users".to_owned() })?;
    let text = toml::to_string(profile).map_err(|error| CkksError::InvalidParams { reason: error.to_string() })?;
    write_atomically(&path, &text).map_err(|error| FileError::io(&path, "write", error))?;
    Ok(path)
}

/// Makes the directory, writes beside the target and renames: a reader sees the old profile or the new one.
fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|failure| failure.error)?;
    Ok(())
}

/// The median time of `work` in nanoseconds.
fn median(mut work: impl FnMut()) -> f64 {
    work();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e9
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

/// Measures this machine's kernels, one thread; about five seconds. `progress` hears each step's number and how many there are.
///
/// # Errors
/// [`CkksError::Arith`] where primes run out (they do not at these degrees).
pub fn measure(isa: Isa, progress: &mut dyn FnMut(usize, usize)) -> Result<MachineProfile, CkksError> {
    let steps = LOG_DEGREES.count() + 1;
    let mut kernels = Vec::new();
    for (step, log_degree) in LOG_DEGREES.enumerate() {
        progress(step, steps);
        kernels.push(measure_degree(isa, 1 << log_degree)?);
    }
    progress(steps - 1, steps);
    let read_ns_per_byte = measure_reading(isa)?;
    Ok(MachineProfile { source: format!("measured with {} kernels", isa.name()), kernels, read_ns_per_byte, cache_bytes: 16e6 })
}

fn filled(engine: &CpuEngine, moduli: &[usize]) -> Buffer {
    let mut buffer = engine.zeroed(moduli.len());
    for (row, &modulus) in moduli.iter().enumerate() {
        let q = engine.moduli()[modulus].value();
        for (i, word) in buffer.row_mut(row).iter_mut().enumerate() {
            *word = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % q;
        }
    }
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
    for (time, rows) in transform.iter_mut().zip([0..ROWS, ROWS..ROWS + 4, ROWS + 4..ROWS + 6]) {
        let rows: Vec<usize> = rows.collect();
        let mut x = filled(&engine, &rows);
        *time = median(|| engine.forward_ntt(&mut x, 0..rows.len(), &rows)) / rows.len() as f64;
    }
    let (sources, targets): (Vec<usize>, Vec<usize>) = ((0..4).collect(), (4..ROWS).collect());
    let conversion = BaseConversion::new(engine.moduli(), &sources, &targets, &[1; 4], Rounding::Centred);
    let x = filled(&engine, &sources);
    let mut out = engine.zeroed(targets.len());
    let places: Vec<usize> = (0..targets.len()).collect();
    let convert = conversion.map_or(1.0, |conversion| {
        median(|| engine.convert(&conversion, &x, 0, &mut out, &places)) / (conversion.columns() * targets.len()) as f64
    });
    // Few enough terms to stay in the cache.
    let rows = [0];
    let (terms, columns) = (4, 2);
    let x = filled(&engine, &rows);
    let mut factors = engine.zeroed_factors(FactorShape { groups: 1, terms, columns, packed: true }, &rows);
    engine.pack_factors(&mut factors, 0, &vec![vec![&x]; terms * columns], &rows);
    let mut out: Vec<Buffer> = (0..columns).map(|_| engine.zeroed(1)).collect();
    let product = median(|| engine.factor_products(&mut out, &vec![&x; terms], &factors, &[0], &rows, &rows)) / (terms * columns) as f64;
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
    engine.pack_factors(&mut factors, 0, &vec![vec![&x]; terms * columns], &rows);
    let mut out: Vec<Buffer> = (0..columns).map(|_| engine.zeroed(1)).collect();
    let xs = vec![&x; terms];
    Ok(median(|| engine.factor_products(&mut out, &xs, &factors, &[0], &rows, &rows)) / factors.bytes() as f64)
}
