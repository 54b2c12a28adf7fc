//! The devices that a runtime can name, and the engines on them.

use super::runtime::{EngineFactory, PROCESSOR, Runtime};
use crate::error::CkksError;

impl Runtime {
    /// The same runtime on another device: `cpu`, `cuda` for NVIDIA's first device, or `cuda:1` and so on.
    ///
    /// # Errors
    /// [`CkksError::Device`] where the device or its driver is not there; [`CkksError::OutOfRange`] for other names.
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

/// The engines of a device; none for the processor, whose engine needs no factory. The same name gives the same factory.
fn factory(name: &str) -> Result<Option<EngineFactory>, CkksError> {
    match name {
        PROCESSOR => Ok(None),
        _ => available::factory(name).map(Some),
    }
}

/// One line on each kind of device: what there is, or why there is none.
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
    use clathrate_cuda::{Butterflies, Device, DeviceEngine};
    use clathrate_lattice::switch::MachineProfile;

    use super::*;
    use crate::parameters::runtime::DeviceDescription;

    pub(super) fn factory(name: &str) -> Result<EngineFactory, CkksError> {
        static KNOWN: Mutex<BTreeMap<String, EngineFactory>> = Mutex::new(BTreeMap::new());
        let name = if name == "cuda" { "cuda:0" } else { name };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(factory) = known.get(name) {
            return Ok(factory.clone());
        }
        let device = open(name)?;
        let profile = MachineProfile::built_in_device(device.butterflies() == Butterflies::Doubles);
        let description = DeviceDescription { name: name.to_owned(), kernels: device.name(), profile };
        let factory = EngineFactory::new(move |request| {
            let engine: Arc<dyn Engine> = Arc::new(DeviceEngine::new(device.clone(), request.degree, request.moduli)?);
            Ok(engine)
        })
        .on_device(description);
        known.insert(name.to_owned(), factory.clone());
        Ok(factory)
    }

    /// The number behind `cuda:`, as it is written there.
    #[cfg(feature = "cuda")]
    fn ordinal(name: &str) -> Option<usize> {
        let number = name.strip_prefix("cuda:")?;
        let plain = number == "0" || (!number.starts_with('0') && number.len() <= 4 && number.bytes().all(|byte| byte.is_ascii_digit()));
        number.parse().ok().filter(|_| plain)
    }

    fn open(name: &str) -> Result<Arc<dyn Device>, CkksError> {
        #[cfg(feature = "cuda")]
        if let Some(ordinal) = ordinal(name) {
            return Ok(clathrate_cuda::NvidiaDevice::open(ordinal)?);
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
            let told = |device: Result<String, DeviceError>| device.unwrap_or_else(|error| format!("not used: {error}"));
            let all = clathrate_cuda::nvidia::list().map(|devices| devices.into_iter().map(told).collect());
            found.push(("cuda", all.map_err(|error| error.to_string())));
        }
        #[cfg(not(feature = "cuda"))]
        found.push(("cuda", Err("this build has no engine for NVIDIA's devices (the feature `cuda`)".to_owned())));
        #[cfg(feature = "host-device")]
        found.push(("host-device", Ok(vec!["host device, for tests: the kernels of devices on this processor".to_owned()])));
        found
    }
}
