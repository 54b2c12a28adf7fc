//! The machine as the operating system describes it: processor, vector features, memory.

use std::fs;

/// The processor's name, or the architecture if the system does not report the name.
#[must_use]
pub fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        text.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// The vector features that kernels use, and whether this processor has each.
#[must_use]
pub fn features() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        vec![
            ("avx2", has!("avx2")),
            ("fma", has!("fma")),
            ("avx512f", has!("avx512f")),
            ("avx512dq", has!("avx512dq")),
            ("avx512vl", has!("avx512vl")),
            ("avx512ifma", has!("avx512ifma")),
        ]
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

/// Bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that this process may use.
    pub total_bytes: u64,
    /// Bytes of these that are free now.
    pub free_bytes: u64,
}

/// The environment variable with the largest number of bytes that this process may use, an integer.
pub const MEMORY_LIMIT: &str = "CLATHRATE_MEMORY_LIMIT";

/// The environment variable with the largest number of bytes that this process may use on each device, an
/// integer.
pub const DEVICE_MEMORY_LIMIT: &str = "CLATHRATE_DEVICE_MEMORY_LIMIT";

/// The limit in `variable` ([`MEMORY_LIMIT`], [`DEVICE_MEMORY_LIMIT`]), or the text that is not an integer;
/// `None` where the variable is empty or not set.
#[must_use]
pub fn limit_in(variable: &str) -> Option<Result<u64, String>> {
    let text = std::env::var(variable).ok()?;
    let text = text.trim();
    if text.is_empty() { None } else { Some(text.parse().map_err(|_| text.to_owned())) }
}

/// Bytes of a page, in which the system counts the memory of a process; larger pages make the count an
/// underestimate.
const PAGE_BYTES: u64 = 4096;

/// This process's memory: the smallest of the machine's, the control group's limit and the limit in
/// [`MEMORY_LIMIT`]; `None` if the system does not report it.
#[must_use]
pub fn memory() -> Option<Memory> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let (mut total_bytes, mut free_bytes) = (field("MemTotal")?, field("MemAvailable")?);
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    if let Some(limit) = number("/sys/fs/cgroup/memory.max") {
        total_bytes = total_bytes.min(limit);
        free_bytes =
            free_bytes.min(limit.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    }
    if let Some(limit) = limit_in(MEMORY_LIMIT).and_then(Result::ok) {
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let resident =
            statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0)
                * PAGE_BYTES;
        total_bytes = total_bytes.min(limit);
        free_bytes = free_bytes.min(limit.saturating_sub(resident));
    }
    Some(Memory { total_bytes, free_bytes })
}

/// Why an operation must not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortage {
    /// So many bytes are free, fewer than the operation takes.
    Free(u64),
    /// The variable [`MEMORY_LIMIT`] has this text, which is not an integer.
    Limit(String),
}

/// Refuses an operation that takes more memory than is free. Refuses nothing where the operating system does
/// not report the free memory.
///
/// # Errors
/// [`Shortage`].
pub fn check_free(needed: u64) -> Result<(), Shortage> {
    if let Some(Err(value)) = limit_in(MEMORY_LIMIT) {
        return Err(Shortage::Limit(value));
    }
    match memory() {
        Some(memory) if memory.free_bytes < needed => Err(Shortage::Free(memory.free_bytes)),
        _ => Ok(()),
    }
}
