//! What the machine is: processor, features, memory, as far as the operating system tells.

use std::fs;

use clathrate_arith::Isa;

/// The processor's name.
pub fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")).and_then(|rest| rest.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// The vector features that kernels ask for, and whether they are there.
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

/// Memory in bytes: all of it, and what is free for this process; the smaller of machine and control group.
pub fn memory() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let (mut total, mut free) = (field("MemTotal")?, field("MemAvailable")?);
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    if let Some(limit) = number("/sys/fs/cgroup/memory.max") {
        total = total.min(limit);
        free = free.min(limit.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    }
    Some((total, free))
}

/// Names of kernels, slowest first.
pub fn names(kernels: &[Isa]) -> Vec<&'static str> {
    kernels.iter().map(|isa| isa.name()).collect()
}
