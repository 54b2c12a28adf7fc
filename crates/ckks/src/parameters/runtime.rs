//! How to run a computation: threads, kernels, switching, memory. None of this is part of a parameter set,
//! because results do not depend on it beyond noise.

use std::fmt;
use std::sync::Arc;

use clathrate_arith::{ArithError, CpuEngine, Engine, Isa};
use clathrate_lattice::switch::{MachineProfile, SwitchMethod};

use crate::error::CkksError;
use crate::progress::Progress;
use crate::tune::{self, Kernels};

/// The name of the processor among devices.
pub const PROCESSOR: &str = "cpu";

/// Bytes that may be derived from one key, in multiples of the key's bytes: enough for a representation for
/// each halving of the number of digits, and for KLSS representations at the top levels.
pub const DEFAULT_KEY_EXPANSION: f64 = 4.0;

/// Most bytes of tables unless the runtime says otherwise: about twice what the largest preset takes.
pub const DEFAULT_TABLE_BYTES: usize = 256 << 20;

/// Most bytes of encoded plaintexts that an evaluator keeps unless the runtime says otherwise.
pub const DEFAULT_PLAINTEXT_CACHE_BYTES: usize = 1 << 30;

/// Which switching method each level uses. Results of different methods agree up to noise; those of one
/// method are equal bit for bit on all machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// The fastest method at each level, by the built-in cost model and within the memory limits: the same on
    /// every machine.
    #[default]
    Fastest,
    /// The fastest method at each level for this machine, by its measured profile: results differ from those
    /// of other machines by noise, and plans may ask for other keys than theirs.
    Tuned,
    /// The hybrid method with the generated keys unchanged, at every level.
    AsMade,
    /// One method at every level. A level at which the method is impossible gives an error.
    Fixed(SwitchMethod),
}

impl Switching {
    /// The choice in a few words, for people and programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fastest => "fastest",
            Self::Tuned => "tuned",
            Self::AsMade => "as made",
            Self::Fixed(_) => "fixed",
        }
    }

    /// Whether a planner chooses the methods.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        matches!(self, Self::Fastest | Self::Tuned)
    }
}

impl From<SwitchMethod> for Switching {
    fn from(choice: SwitchMethod) -> Self {
        Self::Fixed(choice)
    }
}

/// Who rescales products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rescale {
    /// [`Evaluator::settled`](crate::Evaluator::settled), which the operators of Python call: a product is
    /// rescaled where it is used next.
    #[default]
    Automatic,
    /// The caller alone.
    Explicit,
}

impl Rescale {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Explicit => "explicit",
        }
    }
}

/// The description of the engine that a ring needs.
#[derive(Debug, Clone, Copy)]
pub struct EngineRequest<'a> {
    /// The ring degree.
    pub degree: usize,
    /// All moduli, in the order in which the ring names them.
    pub moduli: &'a [u64],
    /// The instruction set that was asked for, or the fastest of this machine.
    pub isa: Isa,
    /// Worker threads.
    pub threads: usize,
}

impl EngineRequest<'_> {
    /// The CPU's engine, which computes unless the runtime has a factory.
    ///
    /// # Errors
    /// [`ArithError`] where the degree or a modulus is unusable, or the system refuses threads.
    pub fn cpu(&self) -> Result<CpuEngine, ArithError> {
        Ok(CpuEngine::new(self.degree, self.moduli, self.isa)?
            .with_threads(CpuEngine::thread_pool(self.threads)?))
    }
}

type MakeEngine = dyn Fn(&EngineRequest<'_>) -> Result<Arc<dyn Engine>, ArithError> + Send + Sync;

/// A device that computes in place of the processor, for whoever plans and shows what runs where.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceDescription {
    /// The device as runtimes name it, such as `cuda:0`.
    pub name: String,
    /// What profiles of it say that they were measured with: the name and the model.
    pub kernels: String,
    /// Predicted times of its kernels, where none were measured.
    pub profile: MachineProfile,
}

/// Makes the engine of each ring, so that another device can compute in place of the CPU.
#[derive(Clone)]
pub struct EngineFactory {
    make: Arc<MakeEngine>,
    device: Option<Arc<DeviceDescription>>,
}

impl EngineFactory {
    /// A factory that calls `make` for each ring: one for each degree that the parameters use.
    #[must_use]
    pub fn new(
        make: impl Fn(&EngineRequest<'_>) -> Result<Arc<dyn Engine>, ArithError> + Send + Sync + 'static,
    ) -> Self {
        Self { make: Arc::new(make), device: None }
    }

    /// The same factory, of engines on this device.
    #[must_use]
    pub fn on_device(mut self, device: DeviceDescription) -> Self {
        self.device = Some(Arc::new(device));
        self
    }

    /// The device, if the engines are not the processor's.
    #[must_use]
    pub fn device(&self) -> Option<&DeviceDescription> {
        self.device.as_deref()
    }

    /// The engine of one ring.
    ///
    /// # Errors
    /// Whatever the factory's function returns.
    pub fn make(&self, request: &EngineRequest<'_>) -> Result<Arc<dyn Engine>, ArithError> {
        (self.make)(request)
    }
}

impl fmt::Debug for EngineFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EngineFactory({})", self.device().map_or("own", |device| &device.name))
    }
}

/// Two factories are equal where they are the same function.
impl PartialEq for EngineFactory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

/// How to run a computation; the default is one thread, the fastest kernels and the fastest switching.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let runtime = Runtime { threads: Some(2), key_cache_bytes: Some(1 << 30), ..Runtime::default() };
/// let params = Params::preset("insecure_small", &runtime)?;
/// assert_eq!(params.threads(), 2);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Runtime {
    /// Worker threads; absent for one.
    pub threads: Option<usize>,
    /// A forced instruction set; absent for the fastest.
    pub isa: Option<String>,
    /// How levels switch.
    pub switching: Switching,
    /// The machine profile that predicts times, and by which [`Switching::Tuned`] chooses methods; absent for
    /// the profile that `clathrate tune` stored, or else the built-in profile.
    pub profile: Option<MachineProfile>,
    /// Bytes that may be derived from one key, in multiples of the key's bytes, infinity for no limit; absent
    /// for [`DEFAULT_KEY_EXPANSION`].
    pub key_expansion: Option<f64>,
    /// Most bytes of derived keys that are kept, over all keys; absent for
    /// [`clathrate_lattice::switch::DEFAULT_DERIVED_KEY_BYTES`].
    pub key_cache_bytes: Option<usize>,
    /// Most bytes of encoded plaintexts of linear maps that an evaluator keeps, over all maps; absent for
    /// [`DEFAULT_PLAINTEXT_CACHE_BYTES`]. Others are encoded for each use.
    pub plaintext_cache_bytes: Option<usize>,
    /// Who rescales products.
    pub rescale: Rescale,
    /// Most bytes of the tables of one parameter set, which take time and memory before anything is
    /// encrypted; absent for [`DEFAULT_TABLE_BYTES`]. A short text can ask for tables of a gigabyte.
    pub table_bytes: Option<usize>,
    /// The factory that makes the engines; absent for the CPU's engine.
    pub engine: Option<EngineFactory>,
}

impl Runtime {
    /// The device that computes, as runtimes name it: `cpu` for the processor.
    #[must_use]
    pub fn device(&self) -> &str {
        self.device_description().map_or(PROCESSOR, |device| &device.name)
    }

    fn device_description(&self) -> Option<&DeviceDescription> {
        self.engine.as_ref().and_then(EngineFactory::device)
    }

    /// The processor's instruction set: the one that was asked for, or the fastest.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where this machine lacks it.
    pub(super) fn processor_isa(&self) -> Result<Isa, CkksError> {
        Ok(self.isa.as_deref().map_or_else(Isa::detect, Isa::named)?)
    }

    /// The kernels that compute, as profiles name them.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where this machine lacks the instruction set.
    pub fn kernels(&self) -> Result<Kernels, CkksError> {
        Ok(match self.device_description() {
            Some(device) => Kernels::of_device(&device.name, &device.kernels),
            None => Kernels::from(self.processor_isa()?),
        })
    }

    /// Measures the kernels that compute, on one thread of the processor or on the device; a few seconds.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where this machine lacks the instruction set; [`CkksError::Cancelled`].
    pub fn measure(&self, progress: &Progress) -> Result<MachineProfile, CkksError> {
        let isa = self.processor_isa()?;
        let engine = |degree: usize, moduli: &[u64]| {
            self.engine_for(&EngineRequest { degree, moduli, isa, threads: 1 })
        };
        tune::measure(self.kernels()?, &engine, progress)
    }

    /// Most bytes of encoded plaintexts that an evaluator keeps.
    #[must_use]
    pub fn plaintext_budget(&self) -> usize {
        self.plaintext_cache_bytes.unwrap_or(DEFAULT_PLAINTEXT_CACHE_BYTES)
    }

    /// The times that serve where none were measured.
    pub(crate) fn built_in_profile(&self) -> MachineProfile {
        self.device_description().map_or_else(MachineProfile::built_in, |device| device.profile.clone())
    }

    /// The engine of one ring.
    pub(crate) fn engine_for(&self, request: &EngineRequest<'_>) -> Result<Arc<dyn Engine>, CkksError> {
        match &self.engine {
            Some(factory) => Ok(factory.make(request)?),
            None => Ok(Arc::new(request.cpu()?)),
        }
    }

    /// Bytes that may be derived from one key, in multiples of the key's bytes.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for negative numbers and NaN.
    pub(super) fn expansion(&self) -> Result<f64, CkksError> {
        match self.key_expansion {
            None => Ok(DEFAULT_KEY_EXPANSION),
            Some(factor) if factor >= 0.0 => Ok(factor),
            Some(factor) => Err(CkksError::OutOfRange {
                what: "key_expansion",
                value: factor.to_string(),
                remedy: format!("use 0 (nothing derived) or more; {DEFAULT_KEY_EXPANSION} is the default"),
            }),
        }
    }
}
