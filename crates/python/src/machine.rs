//! This machine: what kernels it runs, and how fast they are.

use std::path::PathBuf;

use clathrate_arith::Isa;
use clathrate_ckks::evaluation::measure_machine;
use clathrate_ckks::parameters;
use clathrate_ckks::tune as profile;
use clathrate_ckks::{Params, Runtime};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;
use crate::run::{detached, running};

#[pyfunction]
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
    running(py, progress, "tune", |progress| {
        if !dry_run {
            profile::place_to_store(&kernels)?;
        }
        let measured = measure_machine(&runtime, progress)?;
        if dry_run { Ok(None) } else { profile::store(&kernels, &measured).map(Some) }
    })
}

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
