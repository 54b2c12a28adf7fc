//! The engines that the tests of the layers above compute on.

use std::sync::{Arc, LazyLock};

use clathrate_arith::{CpuEngine, Engine, Modulus};
use clathrate_cuda::{Device, DeviceEngine, HostDevice, NvidiaDevice};

/// The variable that chooses the engine of the tests: `host-device`, `cuda` and `cuda-graphs` for
/// NVIDIA's first device (or the stand-in for its driver), with kernels one by one or in graphs, or absent
/// for the CPU's.
pub const ENGINE_VARIABLE: &str = "CLATHRATE_TEST_ENGINE";

/// The engine that tests of the layers above compute on: `inner` itself, or as [`ENGINE_VARIABLE`] says, a
/// device's for the same moduli. The host cannot read the memory of any device's engine, so that code which
/// passes its tests there reaches residues through the engine's operations alone.
///
/// # Panics
/// For another value of the variable: a test run on the wrong engine would prove nothing.
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

/// The engine of the host device for the moduli, degree and meter of `inner`. All engines of a process are of
/// one device, as those of a graphics card are.
///
/// # Panics
/// Where a degree that the CPU's engine takes is refused.
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
