//! The engines that the tests of the upper crates use.

use std::sync::{Arc, LazyLock};

use clathrate_arith::{CpuEngine, Engine, Modulus};
use clathrate_cuda::{Device, DeviceEngine, HostDevice, NvidiaDevice};

/// The environment variable that chooses the engine of the tests: `host-device`; `cuda` or `cuda-graphs` for
/// the first NVIDIA device (or the stand-in for its driver), with kernels one by one or in graphs; `cpu` or
/// not set for the CPU engine.
pub const ENGINE_VARIABLE: &str = "CLATHRATE_TEST_ENGINE";

/// The engine that tests of the upper crates use: `inner`, or the engine of a device for the same degree and
/// moduli, as [`ENGINE_VARIABLE`] chooses. The host cannot read the memory of a device, so code that passes
/// its tests there accesses residues only through the engine's operations.
///
/// # Panics
/// For an unknown value of the variable, because a test with the wrong engine would prove nothing.
#[must_use]
pub fn test_engine(inner: CpuEngine) -> Arc<dyn Engine> {
    match std::env::var(ENGINE_VARIABLE).as_deref() {
        Ok("host-device") => Arc::new(device_engine(&inner)),
        Ok("cuda") => Arc::new(nvidia_engine(&inner, false)),
        Ok("cuda-graphs") => Arc::new(nvidia_engine(&inner, true)),
        Ok("") | Ok("cpu") | Err(_) => Arc::new(inner),
        Ok(other) => {
            panic!("{ENGINE_VARIABLE} is `{other}`; use `host-device`, `cuda`, `cuda-graphs` or `cpu`")
        }
    }
}

/// The engine of the host device for the moduli, degree and meter of `inner`. All engines of a process share
/// one device, as those of a GPU do.
///
/// # Panics
/// Where the engine refuses the degree of `inner`.
#[must_use]
pub fn device_engine(inner: &CpuEngine) -> DeviceEngine {
    static DEVICE: LazyLock<Arc<HostDevice>> = LazyLock::new(Arc::default);
    engine_on(DEVICE.clone(), inner)
}

fn nvidia_engine(inner: &CpuEngine, graphs: bool) -> DeviceEngine {
    let device = NvidiaDevice::open(0).expect("a device");
    device.set_graphs(graphs).expect("a device");
    engine_on(device, inner)
}

fn engine_on(device: Arc<dyn Device>, inner: &CpuEngine) -> DeviceEngine {
    let moduli: Vec<u64> = inner.moduli().iter().map(Modulus::value).collect();
    let engine =
        DeviceEngine::new(device, inner.degree(), &moduli).expect("a degree and moduli of the CPU's engine");
    engine.with_meter(inner.meter().cloned())
}
