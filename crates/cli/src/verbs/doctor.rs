//! `clathrate doctor`: describes this machine and tests whether it computes correctly.

use clathrate_arith::kernels::FORCE_VARIABLE;
use clathrate_arith::{Isa, machine};
use clathrate_ckks::parameters::devices;
use clathrate_ckks::{CkksError, Runtime, tune};
use serde_json::json;

use super::{selftest, size};
use crate::console::Console;
use crate::failure::Failure;

/// Runs the verb.
pub fn run(console: &Console, runtime: &Runtime) -> Result<(), Failure> {
    let kernels = Isa::available();
    let forced = std::env::var(FORCE_VARIABLE).ok().filter(|name| !name.is_empty());
    // A forced instruction set that the machine lacks is an error before any test.
    let chosen = Isa::detect().map_err(CkksError::from)?;
    let profile = tune::stored(&runtime.kernels()?);
    let devices = devices();
    let threads = runtime.threads.unwrap_or(1);
    let (processor, features, memory) = (machine::processor(), machine::features(), machine::memory());
    let outcomes = selftest::run(&kernels, runtime);
    let failed = outcomes.iter().filter(|outcome| outcome.problem.is_some()).count();
    let version = env!("CARGO_PKG_VERSION");
    let build = if cfg!(debug_assertions) { "debug: slow" } else { "release" };
    let present: Vec<&str> = features.iter().filter(|feature| feature.1).map(|feature| feature.0).collect();
    let mut lines = vec![
        format!("clathrate {version} ({build}), {} {}", std::env::consts::OS, std::env::consts::ARCH),
        format!("processor  {processor}"),
        format!(
            "features   {}",
            if present.is_empty() { "none that kernels use".to_owned() } else { present.join(", ") }
        ),
        format!("kernels    {}; chosen: {}", names(&kernels).join(", "), chosen.name()),
        match &forced {
            Some(name) => format!("           forced by {FORCE_VARIABLE}={name}"),
            None => format!("           (to force one, set {FORCE_VARIABLE})"),
        },
        format!("device     {}", runtime.device()),
        format!("profile    {profile}"),
        format!("threads    {threads}"),
        match memory {
            Some(memory) => {
                format!("memory     {} of {} free", size(memory.free_bytes), size(memory.total_bytes))
            }
            None => "memory     unknown".to_owned(),
        },
    ];
    lines.extend(devices.iter().map(|(kind, found)| match found {
        Ok(names) if names.is_empty() => format!("{kind:10} none"),
        Ok(names) => format!("{kind:10} {}", names.join("; ")),
        Err(reason) => format!("{kind:10} none: {reason}"),
    }));
    lines.extend(outcomes.iter().map(|outcome| {
        let state =
            outcome.problem.as_ref().map_or_else(|| "ok".to_owned(), |problem| format!("FAILED: {problem}"));
        format!("self-test  {}: {state}", outcome.name)
    }));
    let tests: Vec<_> = outcomes
        .iter()
        .map(|outcome| json!({ "name": outcome.name, "ok": outcome.problem.is_none(), "problem": outcome.problem }))
        .collect();
    let document = json!({
        "version": version,
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "processor": processor,
        "features": present,
        "kernels": names(&kernels),
        "chosen": chosen.name(),
        "force_variable": FORCE_VARIABLE,
        "forced": forced,
        "device": runtime.device(),
        "devices": devices.iter().map(|(kind, found)| ((*kind).to_owned(), match found {
            Ok(names) => json!({ "found": names }),
            Err(reason) => json!({ "found": [], "reason": reason }),
        })).collect::<serde_json::Map<_, _>>(),
        "profile": { "state": profile.state(), "path": profile.path(), "message": profile.to_string() },
        "threads": threads,
        "memory_bytes": memory.map(|memory| memory.total_bytes),
        "memory_free_bytes": memory.map(|memory| memory.free_bytes),
        "self_tests": tests,
        "ok": failed == 0,
    });
    console.result(lines.join("\n"), &document)?;
    if failed == 0 { Ok(()) } else { Err(Failure::SelfTest { failed, total: outcomes.len() }) }
}

/// Names of kernels, slowest first.
fn names(kernels: &[Isa]) -> Vec<&'static str> {
    kernels.iter().map(|isa| isa.name()).collect()
}
