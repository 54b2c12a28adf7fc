//! This machine: what kernels it runs, and how fast they are.

use std::path::PathBuf;

use clathrate_arith::Isa;
use clathrate_ckks::parameters::{self, PROCESSOR};
use clathrate_ckks::tune as profile;
use clathrate_ckks::{Params, Runtime};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;
use crate::run::{detached, with_progress};

/// Measures this machine's arithmetic for a few seconds and stores the times, by which times are predicted from then on.
///
/// `trace` and plans predict times from these measurements; without them they use a built-in model. What they choose (keys, steps,
/// switching methods) does not depend on the measurements unless a runtime says `switching="tuned"`. Parameters that exist already keep
/// their times. One thread is measured. The times are kept in the user's cache directory, or in the file that the
/// environment variable CLATHRATE_PROFILE names; where that is "none", no times are read or stored.
///
/// Parameters
/// ----------
/// progress : bool or callable, optional
///     True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.
/// dry_run : bool, optional
///     True measures and stores nothing. The default is False.
/// device : str, optional
///     What is measured: "cpu", the default, or "cuda" and so on. A device's times have a file of their own.
///
/// Returns
/// -------
/// pathlib.Path or None
///     The file that the times were written to; None for a dry run.
///
/// Raises
/// ------
/// FileAccessError
///     Where the file cannot be written.
/// CancelledError
///     Where the progress function returned False.
/// DeviceError
///     Where there is no such device, or no driver for it.
/// ParamsError
///     Where the environment variable CLATHRATE_ISA names an instruction set that this machine does not have, or CLATHRATE_PROFILE is
///     "none".
///
/// Examples
/// --------
/// >>> cl.tune(dry_run=True)
#[pyfunction]
#[pyo3(signature = (progress=None, dry_run=false, *, device=PROCESSOR))]
#[pyo3(text_signature = "(progress=None, dry_run=False, *, device='cpu')")]
pub fn tune(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    dry_run: bool,
    device: &str,
) -> PyResult<Option<PathBuf>> {
    let (runtime, kernels) = detached(py, || {
        let runtime = Runtime::default().on(device)?;
        let kernels = runtime.kernels()?;
        Ok((runtime, kernels))
    })?;
    with_progress(
        py,
        progress,
        "tune",
        |error| raise(py, error),
        |tick| {
            if !dry_run {
                profile::place_to_store(&kernels)?;
            }
            let measured = runtime.measure(tick)?;
            if dry_run { Ok(None) } else { profile::store(&kernels, &measured).map(Some) }
        },
    )
}

/// What this machine runs: instruction sets, processors, and the state of the stored measurements.
///
/// Returns
/// -------
/// dict
///     `version` of Clathrate; `kernels`, whether each instruction set runs here, by name; `fastest`, the fastest of them; `chosen`, the
///     one in use, which the environment variable CLATHRATE_ISA may force; `cpus`, the number of processors; `engine`, what a small
///     parameter set computes with, in words; `devices`, by kind of device the names of those that are there, or a text that says why
///     there are none; `profile`, the measurements that `tune` stores, with their `state`, `path` and `message`. The state is "ready",
///     "absent", "broken", "foreign" where they were measured with another instruction set, or "off" where the environment variable
///     CLATHRATE_PROFILE is "none".
///
/// Raises
/// ------
/// ParamsError
///     Where CLATHRATE_ISA names an instruction set that this machine does not have.
///
/// Examples
/// --------
/// >>> cl.doctor()["kernels"]["scalar"]
/// True
#[pyfunction]
pub fn doctor(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let available = Isa::available();
    let kernels = PyDict::new(py);
    for isa in [Isa::Scalar, Isa::Avx2, Isa::Ifma] {
        kernels.set_item(isa.name(), available.contains(&isa))?;
    }
    let chosen = Isa::detect().map_err(|error| raise(py, error.into()))?;
    let sample = detached(py, || Params::preset("insecure_tiny", &Runtime::default()))?;
    let report = PyDict::new(py);
    report.set_item("version", env!("CARGO_PKG_VERSION"))?;
    report.set_item("kernels", kernels)?;
    report.set_item("fastest", available.last().map(|isa| isa.name()))?;
    report.set_item("chosen", chosen.name())?;
    report.set_item("cpus", std::thread::available_parallelism().map_or(1, usize::from))?;
    report.set_item("engine", sample.explain().engine)?;
    let devices = PyDict::new(py);
    for (kind, found) in detached(py, || Ok(parameters::devices()))? {
        match found {
            Ok(names) => devices.set_item(kind, names)?,
            Err(reason) => devices.set_item(kind, reason)?,
        }
    }
    report.set_item("devices", devices)?;
    let stored = profile::stored(&chosen.into());
    let profile = PyDict::new(py);
    profile.set_item("state", stored.state())?;
    profile.set_item("path", stored.path())?;
    profile.set_item("message", stored.to_string())?;
    report.set_item("profile", profile)?;
    Ok(report)
}
