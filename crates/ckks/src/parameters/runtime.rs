//! How to run a computation: threads, kernels, switching, memory. None of this is part of a parameter set, because results do not depend on it beyond noise.

use std::fmt;
use std::sync::Arc;

use clathrate_arith::{ArithError, CpuEngine, Engine, Isa};
use clathrate_lattice::switch::{MachineProfile, SwitchMethod};

use crate::error::CkksError;

/// Bytes that may be derived from one key, in multiples of the key's bytes: enough for a representation for each halving of the number of digits, and for
/// KLSS representations at the top levels.
pub const DEFAULT_KEY_EXPANSION: f64 = 4.0;

/// Which switching method each level uses. Results agree up to noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// The fastest method at each level, by a cost model and within the memory limits.
    #[default]
    Fastest,
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
            Self::AsMade => "as made",
            Self::Fixed(_) => "fixed",
        }
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
    /// [`Evaluator::settled`](crate::Evaluator::settled), which the operators of Python call: a product is rescaled where it is used next.
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
        Ok(CpuEngine::new(self.degree, self.moduli, self.isa)?.with_threads(CpuEngine::thread_pool(self.threads)?))
    }
}

type MakeEngine = dyn Fn(&EngineRequest<'_>) -> Result<Arc<dyn Engine>, ArithError> + Send + Sync;

/// Makes the engine of each ring, so that another device can compute in place of the CPU.
#[derive(Clone)]
pub struct EngineFactory(Arc<MakeEngine>);

impl EngineFactory {
    /// A factory that calls `make` for each ring: one for each degree that the parameters use.
    #[must_use]
    pub fn new(make: impl Fn(&EngineRequest<'_>) -> Result<Arc<dyn Engine>, ArithError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// The engine of one ring.
    ///
    /// # Errors
    /// Whatever the factory's function returns.
    pub fn make(&self, request: &EngineRequest<'_>) -> Result<Arc<dyn Engine>, ArithError> {
        (self.0)(request)
    }
}

impl fmt::Debug for EngineFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineFactory")
    }
}

/// Two factories are equal where they are the same function.
impl PartialEq for EngineFactory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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
    /// The machine profile that the planner uses; absent for the profile that `clathrate tune` stored, or else the built-in profile.
    pub profile: Option<MachineProfile>,
    /// Bytes that may be derived from one key, in multiples of the key's bytes, infinity for no limit; absent for [`DEFAULT_KEY_EXPANSION`].
    pub key_expansion: Option<f64>,
    /// Most bytes of derived keys that are kept, over all keys; absent for [`clathrate_lattice::switch::DEFAULT_DERIVED_KEY_BYTES`].
    pub key_cache_bytes: Option<usize>,
    /// Who rescales products.
    pub rescale: Rescale,
    /// The factory that makes the engines; absent for the CPU's engine.
    pub engine: Option<EngineFactory>,
}

impl Runtime {
    /// The engine of one ring.
    pub(super) fn engine_for(&self, request: &EngineRequest<'_>) -> Result<Arc<dyn Engine>, CkksError> {
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
