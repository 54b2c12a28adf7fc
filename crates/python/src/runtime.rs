//! How to run, as Python says it: threads, instruction set, key switching, memory limits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use clathrate_arith::Isa;
use clathrate_ckks::Runtime;
use clathrate_ckks::parameters::{
    DEFAULT_KEY_EXPANSION, DEFAULT_PLAINTEXT_CACHE_BYTES, DEFAULT_TABLE_BYTES, Rescale, Switching,
};
use clathrate_lattice::switch::{DEFAULT_DERIVED_KEY_BYTES, SwitchMethod};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::out_of_range;
use crate::numbers::{Real, Whole};
use crate::run::detached;

/// Bytes per mebibyte.
const MIB: f64 = 1_048_576.0;

/// Threads that are used where none are asked for, as `set_threads` says; 0 for as many as this machine has
/// cores.
static DEFAULT_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Most primes that a chain has, so more of them is a slip of the keyboard.
const MAX_PRIMES: i64 = 256;

/// More threads than this is a slip of the keyboard, and the system would refuse them one by one.
const MAX_THREADS: i64 = 4096;

/// The remedy for a wrong `switching`.
const SWITCHING_REMEDY: &str =
    "use \"fastest\", \"tuned\", \"as_made\", (\"hybrid\", r) or (\"klss\", r, r_tilde)";

/// The argument `switching`: a name, or a tuple of a method and its numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SwitchingOption(Switching);

impl<'a, 'py> FromPyObject<'a, 'py> for SwitchingOption {
    type Error = PyErr;

    fn extract(data: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let py = data.py();
        let refuse = || {
            let shown = data.repr().map_or_else(|_| "of another type".to_owned(), |text| text.to_string());
            out_of_range(py, "`switching`", shown, SWITCHING_REMEDY)
        };
        if let Ok(name) = data.extract::<&str>() {
            return match name {
                "fastest" => Ok(Self(Switching::Fastest)),
                "tuned" => Ok(Self(Switching::Tuned)),
                "as_made" => Ok(Self(Switching::AsMade)),
                _ => Err(refuse()),
            };
        }
        let Ok(parts) = data.cast::<PyTuple>() else {
            return Err(PyTypeError::new_err(format!("`switching` is of another type: {SWITCHING_REMEDY}")));
        };
        let name = parts.get_item(0).ok().and_then(|name| name.extract::<String>().ok());
        let number = |index: usize| -> PyResult<usize> {
            let Whole(value) = parts.get_item(index)?.extract()?;
            let fits = (1..=MAX_PRIMES).contains(&value);
            fits.then_some(value as usize).ok_or_else(|| {
                out_of_range(
                    py,
                    "a digit length of `switching`",
                    value,
                    format!("use 1 to {MAX_PRIMES} primes, and at most as many as the level leaves free"),
                )
            })
        };
        Ok(Self(match (name.as_deref(), parts.len()) {
            (Some("hybrid"), 2) => SwitchMethod::hybrid(number(1)?).into(),
            (Some("klss"), 3) => SwitchMethod::klss(number(1)?, number(2)?).into(),
            _ => return Err(refuse()),
        }))
    }
}

impl SwitchingOption {
    /// As it is written in Python.
    fn to_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.0 {
            Switching::Fastest => "fastest".into_pyobject(py)?.into_any(),
            Switching::Tuned => "tuned".into_pyobject(py)?.into_any(),
            Switching::AsMade => "as_made".into_pyobject(py)?.into_any(),
            Switching::Fixed(SwitchMethod { special, key_digit: Some(length), .. }) => {
                ("klss", special, length).into_pyobject(py)?.into_any()
            }
            Switching::Fixed(SwitchMethod { special, .. }) => {
                ("hybrid", special).into_pyobject(py)?.into_any()
            }
        })
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "Runtime")]
pub struct PyRuntime {
    /// Its options, none of them missing but the instruction set.
    runtime: Runtime,
}

impl PyRuntime {
    /// The runtime of parameters, defaults in their place.
    pub fn of(runtime: &Runtime) -> Self {
        let given = runtime.clone();
        Self {
            runtime: Runtime {
                threads: Some(given.threads.unwrap_or_else(get_threads)),
                key_expansion: Some(given.key_expansion.unwrap_or(DEFAULT_KEY_EXPANSION)),
                key_cache_bytes: Some(given.key_cache_bytes.unwrap_or(DEFAULT_DERIVED_KEY_BYTES)),
                plaintext_cache_bytes: Some(
                    given.plaintext_cache_bytes.unwrap_or(DEFAULT_PLAINTEXT_CACHE_BYTES),
                ),
                table_bytes: Some(given.table_bytes.unwrap_or(DEFAULT_TABLE_BYTES)),
                ..given
            },
        }
    }

    /// The same for another machine, on its processor: the instruction set is chosen there, and as many
    /// threads as it has cores where that was so here.
    pub fn for_any_machine(&self) -> Self {
        let threads = self.runtime.threads.filter(|&threads| threads != get_threads());
        Self { runtime: Runtime { isa: None, threads, engine: None, ..self.runtime.clone() } }
    }

    /// What the core takes for the argument `runtime`.
    pub fn given(runtime: Option<&Bound<'_, Self>>) -> Runtime {
        runtime.map_or_else(|| Self::of(&Runtime::default()).runtime, |runtime| runtime.get().runtime.clone())
    }

    /// The same, on the device of the argument `device`.
    pub fn given_on(
        py: Python<'_>,
        runtime: Option<&Bound<'_, Self>>,
        device: Option<&str>,
    ) -> PyResult<Runtime> {
        let runtime = Self::given(runtime);
        match device {
            Some(device) => detached(py, || runtime.on(device)),
            None => Ok(runtime),
        }
    }
}

#[pymethods]
impl PyRuntime {
    #[new]
    fn new(
        py: Python<'_>,
        threads: Option<Whole>,
        isa: Option<String>,
        switching: SwitchingOption,
        key_expansion: Option<Real>,
        key_cache_mib: Option<Real>,
        rescale: &str,
        device: &str,
        table_mib: Option<Real>,
        plaintext_cache_mib: Option<Real>,
    ) -> PyResult<Self> {
        let key_expansion = Real::given(key_expansion);
        let threads = threads.map(|threads| thread_count(py, threads)).transpose()?;
        let rescale = [Rescale::Automatic, Rescale::Explicit]
            .into_iter()
            .find(|choice| choice.name() == rescale)
            .ok_or_else(|| {
                let remedy = "use \"automatic\", or \"explicit\" to leave rescales to `ct.rescale()`";
                out_of_range(py, "`rescale`", format!("\"{rescale}\""), remedy)
            })?;
        // Whether this machine has it is asked when parameters are made: a runtime may come from another
        // machine.
        if let Some(name) = isa
            .as_ref()
            .filter(|name| [Isa::Scalar, Isa::Avx2, Isa::Ifma].iter().all(|isa| isa.name() != **name))
        {
            let remedy =
                "use \"scalar\", \"avx2\" or \"ifma\", or None for the fastest that this machine has";
            return Err(out_of_range(py, "`isa`", format!("\"{name}\""), remedy));
        }
        if let Some(factor) = key_expansion.filter(|factor| factor.is_nan() || *factor < 0.0) {
            return Err(out_of_range(
                py,
                "`key_expansion`",
                factor,
                "use 0 (nothing is derived) or more, inf for no limit",
            ));
        }
        let cache_bytes = |name, mib| match Real::given(mib) {
            None => Ok(None),
            // Saturates: infinity is no limit.
            Some(mib) if mib >= 0.0 => Ok(Some((mib * MIB) as usize)),
            Some(mib) => {
                Err(out_of_range(py, name, mib, "use 0 (nothing is kept) or more, inf for no limit"))
            }
        };
        let key_cache_bytes = cache_bytes("`key_cache_mib`", key_cache_mib)?;
        let plaintext_cache_bytes = cache_bytes("`plaintext_cache_mib`", plaintext_cache_mib)?;
        let table_bytes = match Real::given(table_mib) {
            None => None,
            Some(mib) if mib > 0.0 => Some((mib * MIB) as usize),
            Some(mib) => {
                return Err(out_of_range(py, "`table_mib`", mib, "use a positive number, inf for no limit"));
            }
        };
        let switching = switching.0;
        let runtime = Runtime {
            threads,
            isa,
            switching,
            key_expansion,
            key_cache_bytes,
            plaintext_cache_bytes,
            rescale,
            table_bytes,
            profile: None,
            engine: None,
        };
        Ok(Self::of(&detached(py, || runtime.on(device))?))
    }

    #[getter]
    fn threads(&self) -> usize {
        self.runtime.threads.unwrap_or_else(get_threads)
    }

    #[getter]
    fn isa(&self) -> Option<&str> {
        self.runtime.isa.as_deref()
    }

    #[getter]
    fn switching<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        SwitchingOption(self.runtime.switching).to_python(py)
    }

    #[getter]
    fn key_expansion(&self) -> f64 {
        self.runtime.key_expansion.unwrap_or(DEFAULT_KEY_EXPANSION)
    }

    #[getter]
    fn key_cache_mib(&self) -> f64 {
        mebibytes(self.runtime.key_cache_bytes.unwrap_or(DEFAULT_DERIVED_KEY_BYTES))
    }

    #[getter]
    fn table_mib(&self) -> f64 {
        mebibytes(self.runtime.table_bytes.unwrap_or(DEFAULT_TABLE_BYTES))
    }

    #[getter]
    fn plaintext_cache_mib(&self) -> f64 {
        mebibytes(self.runtime.plaintext_budget())
    }

    #[getter]
    fn device(&self) -> &str {
        self.runtime.device()
    }

    #[getter]
    fn rescale(&self) -> &'static str {
        self.runtime.rescale.name()
    }

    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (switching, device) = (self.switching(py)?, self.device());
        (
            self.runtime.threads,
            self.isa(),
            switching,
            self.key_expansion(),
            self.key_cache_mib(),
            self.rescale(),
            device,
            self.table_mib(),
            self.plaintext_cache_mib(),
        )
            .into_pyobject(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().runtime == self.runtime)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.arguments(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let isa = self.isa().map_or_else(|| "None".to_owned(), |isa| format!("'{isa}'"));
        Ok(format!(
            "Runtime(threads={}, isa={isa}, switching={}, key_expansion={:?}, key_cache_mib={:?}, rescale='{}', device='{}', table_mib={:?}, plaintext_cache_mib={:?})",
            self.threads(),
            self.switching(py)?.repr()?,
            self.key_expansion(),
            self.key_cache_mib(),
            self.rescale(),
            self.device(),
            self.table_mib(),
            self.plaintext_cache_mib(),
        ))
    }
}

/// Bytes in MiB, infinity where there is no limit.
fn mebibytes(bytes: usize) -> f64 {
    if bytes == usize::MAX { f64::INFINITY } else { bytes as f64 / MIB }
}

/// A number of threads.
fn thread_count(py: Python<'_>, Whole(threads): Whole) -> PyResult<usize> {
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(out_of_range(py, "`threads`", threads, format!("use 1 to {MAX_THREADS}")));
    }
    Ok(threads as usize)
}

#[pyfunction]
pub fn get_threads() -> usize {
    match DEFAULT_THREADS.load(Ordering::Relaxed) {
        0 => available_parallelism().map_or(1, std::num::NonZero::get),
        threads => threads,
    }
}

#[pyfunction]
pub fn set_threads(py: Python<'_>, threads: Option<Whole>) -> PyResult<()> {
    let threads = threads.map_or(Ok(0), |threads| thread_count(py, threads))?;
    DEFAULT_THREADS.store(threads, Ordering::Relaxed);
    Ok(())
}

#[pyfunction]
pub fn set_device_memory_limit(py: Python<'_>, limit: Option<Whole>, device: &str) -> PyResult<()> {
    let limit = limit.map(|limit| limit.count(py, "`limit`")).transpose()?;
    detached(py, || {
        clathrate_ckks::parameters::set_device_memory_limit(device, limit.map(|bytes| bytes as u64))
    })
}
