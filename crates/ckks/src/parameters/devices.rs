//! The devices that a runtime can name, and the factories of their engines.

use super::runtime::{EngineFactory, PROCESSOR, Runtime};
use crate::error::CkksError;

impl Runtime {
    /// The same runtime on another device: `cpu`, `cuda` for NVIDIA's first device, or `cuda:1` and so on.
    ///
    /// # Errors
    /// [`CkksError::Device`] if the device or its driver is missing; [`CkksError::OutOfRange`] for an unknown
    /// name.
    pub fn on(self, device: &str) -> Result<Self, CkksError> {
        Ok(Self { engine: factory(device)?, ..self })
    }
}

fn unknown(name: &str) -> CkksError {
    let remedy = if cfg!(feature = "cuda") {
        "use \"cpu\", \"cuda\" for NVIDIA's first device, or \"cuda:1\" and so on"
    } else {
        "use \"cpu\": this build has no engine for other devices (the feature `cuda`)"
    };
    CkksError::OutOfRange { what: "`device`", value: format!("\"{name}\""), remedy: remedy.to_owned() }
}

/// The factory of a device's engines; `None` for the processor, whose engine needs no factory. Equal names
/// give the same factory.
fn factory(name: &str) -> Result<Option<EngineFactory>, CkksError> {
    match name {
        PROCESSOR => Ok(None),
        _ => available::factory(name).map(Some),
    }
}

/// Limits the memory that this process allocates on a device. An allocation beyond the limit fails with an
/// error that names the numbers; existing allocations stay. With `None`, the limit is the environment
/// variable `CLATHRATE_DEVICE_MEMORY_LIMIT`, or else the whole memory of the device.
///
/// # Errors
/// [`CkksError::OutOfRange`] for the processor, whose memory `CLATHRATE_MEMORY_LIMIT` limits, for an unknown
/// name, and if the environment variable is not a number of bytes; [`CkksError::Device`] if the device or its
/// driver is missing.
pub fn set_device_memory_limit(name: &str, bytes: Option<u64>) -> Result<(), CkksError> {
    if name == PROCESSOR {
        let remedy =
            "name a device; the environment variable CLATHRATE_MEMORY_LIMIT limits the processor's memory"
                .to_owned();
        return Err(CkksError::OutOfRange { what: "`device`", value: format!("\"{name}\""), remedy });
    }
    available::set_memory_limit(name, bytes)
}

/// Sets whether a device with graphs submits the kernels of one operation as one graph. The environment
/// variable `CLATHRATE_DEVICE_GRAPHS` sets the initial value.
///
/// # Errors
/// [`CkksError::OutOfRange`] for the processor and for an unknown name; [`CkksError::Device`] if the device
/// or its driver is missing.
pub fn set_device_graphs(name: &str, on: bool) -> Result<(), CkksError> {
    if name == PROCESSOR {
        return Err(CkksError::OutOfRange {
            what: "`device`",
            value: format!("\"{name}\""),
            remedy: "name a device".to_owned(),
        });
    }
    available::set_graphs(name, on)
}

/// For each kind of device, a line for each device that was found, or the reason why there is none.
#[must_use]
pub fn devices() -> Vec<(&'static str, Result<Vec<String>, String>)> {
    available::devices()
}

#[cfg(not(any(feature = "cuda", feature = "host-device")))]
mod available {
    use super::*;

    pub(super) fn factory(name: &str) -> Result<EngineFactory, CkksError> {
        Err(unknown(name))
    }

    pub(super) fn set_memory_limit(name: &str, _: Option<u64>) -> Result<(), CkksError> {
        Err(unknown(name))
    }

    pub(super) fn set_graphs(name: &str, _: bool) -> Result<(), CkksError> {
        Err(unknown(name))
    }

    pub(super) fn devices() -> Vec<(&'static str, Result<Vec<String>, String>)> {
        vec![("cuda", Err("this build has no engine for NVIDIA's devices (the feature `cuda`)".to_owned()))]
    }
}

#[cfg(any(feature = "cuda", feature = "host-device"))]
mod available {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex, PoisonError};

    #[cfg(feature = "cuda")]
    use clathrate_arith::DeviceError;
    use clathrate_arith::Engine;
    use clathrate_arith::machine::{self, DEVICE_MEMORY_LIMIT};
    use clathrate_cuda::{Device, DeviceEngine};
    use clathrate_lattice::switch::MachineProfile;

    use super::*;
    use crate::parameters::runtime::DeviceDescription;

    /// An open device and the factory of its engines.
    #[derive(Clone)]
    struct Opened {
        device: Arc<dyn Device>,
        factory: EngineFactory,
    }

    pub(super) fn factory(name: &str) -> Result<EngineFactory, CkksError> {
        opened(name).map(|opened| opened.factory)
    }

    pub(super) fn set_memory_limit(name: &str, bytes: Option<u64>) -> Result<(), CkksError> {
        let limit = bytes.map_or_else(limit_in_environment, Ok)?;
        opened(name)?.device.set_memory_limit(limit);
        Ok(())
    }

    /// Whether the environment turns graphs on. They are off by default, because on an H100 they change the
    /// time of products by -7 to +5 %.
    #[cfg(feature = "cuda")]
    fn graphs_in_environment() -> Result<bool, CkksError> {
        match std::env::var("CLATHRATE_DEVICE_GRAPHS").as_deref() {
            Err(_) | Ok("" | "0") => Ok(false),
            Ok("1") => Ok(true),
            Ok(other) => {
                let (value, remedy) = (other.to_owned(), "use 1, or 0 for kernels one by one".to_owned());
                Err(CkksError::OutOfRange {
                    what: "the environment variable CLATHRATE_DEVICE_GRAPHS",
                    value,
                    remedy,
                })
            }
        }
    }

    pub(super) fn set_graphs(name: &str, on: bool) -> Result<(), CkksError> {
        Ok(opened(name)?.device.set_graphs(on)?)
    }

    fn limit_in_environment() -> Result<u64, CkksError> {
        let limit = machine::limit_in(DEVICE_MEMORY_LIMIT).unwrap_or(Ok(u64::MAX));
        limit.map_err(|value| {
            CkksError::no_bytes("the environment variable CLATHRATE_DEVICE_MEMORY_LIMIT", value)
        })
    }

    /// The device of this name. The first call opens it.
    fn opened(name: &str) -> Result<Opened, CkksError> {
        static KNOWN: Mutex<BTreeMap<String, Opened>> = Mutex::new(BTreeMap::new());
        let name = if name == "cuda" { "cuda:0" } else { name };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = known.get(name) {
            return Ok(opened.clone());
        }
        let limit = limit_in_environment()?;
        let device = open(name)?;
        device.set_memory_limit(limit);
        let profile = MachineProfile::built_in_device(device.butterflies().doubles);
        let description = DeviceDescription { name: name.to_owned(), kernels: device.name(), profile };
        let of = device.clone();
        let factory = EngineFactory::new(move |request| {
            let engine: Arc<dyn Engine> =
                Arc::new(DeviceEngine::new(of.clone(), request.degree, request.moduli)?);
            Ok(engine)
        })
        .on_device(description);
        let opened = Opened { device, factory };
        known.insert(name.to_owned(), opened.clone());
        Ok(opened)
    }

    /// The number after `cuda:`, in its canonical decimal form only.
    #[cfg(feature = "cuda")]
    fn ordinal(name: &str) -> Option<usize> {
        let number = name.strip_prefix("cuda:")?;
        let plain = number == "0"
            || (!number.starts_with('0')
                && number.len() <= 4
                && number.bytes().all(|byte| byte.is_ascii_digit()));
        number.parse().ok().filter(|_| plain)
    }

    fn open(name: &str) -> Result<Arc<dyn Device>, CkksError> {
        #[cfg(feature = "cuda")]
        if let Some(ordinal) = ordinal(name) {
            let device = clathrate_cuda::NvidiaDevice::open(ordinal)?;
            device.set_graphs(graphs_in_environment()?)?;
            return Ok(device);
        }
        #[cfg(feature = "host-device")]
        if name == "host-device" {
            return Ok(Arc::new(clathrate_cuda::HostDevice::default()));
        }
        Err(unknown(name))
    }

    pub(super) fn devices() -> Vec<(&'static str, Result<Vec<String>, String>)> {
        let mut found = Vec::new();
        #[cfg(feature = "cuda")]
        {
            let told = |device: Result<String, DeviceError>| {
                device.unwrap_or_else(|error| format!("not used: {error}"))
            };
            let all = clathrate_cuda::nvidia::list().map(|devices| devices.into_iter().map(told).collect());
            found.push(("cuda", all.map_err(|error| error.to_string())));
        }
        #[cfg(not(feature = "cuda"))]
        found.push((
            "cuda",
            Err("this build has no engine for NVIDIA's devices (the feature `cuda`)".to_owned()),
        ));
        #[cfg(feature = "host-device")]
        found.push((
            "host-device",
            Ok(vec!["host device, for tests: the kernels of devices on this processor".to_owned()]),
        ));
        found
    }
}
