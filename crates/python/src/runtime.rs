//! How to run, as Python says it: threads, kernels, ways of switching, memory limits.

use clathrate_ckks::Runtime;
use clathrate_ckks::parameters::Switching;
use clathrate_lattice::switch::SwitchMethod;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::out_of_range;
use crate::operand::{Real, Whole};

/// Bytes per mebibyte.
pub const MIB: f64 = 1_048_576.0;

/// Most primes that a chain has, so more of them is a slip of the keyboard.
const MOST_PRIMES: i64 = 256;

/// What a wrong `switching` is told.
const SWITCHING_REMEDY: &str = "use \"fastest\", \"as_made\", (\"hybrid\", r) or (\"decomposed\", r, r_tilde)";

/// A way of switching: a name, or a tuple of one and its numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SwitchingOption(pub Switching);

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
            let fits = (1..=MOST_PRIMES).contains(&value);
            fits.then_some(value as usize).ok_or_else(|| {
                out_of_range(
                    py,
                    "a digit length of `switching`",
                    value,
                    format!("use 1 to {MOST_PRIMES} primes, and at most as many as the level leaves free"),
                )
            })
        };
        Ok(Self(match (name.as_deref(), parts.len()) {
            (Some("hybrid"), 2) => SwitchMethod::hybrid(number(1)?).into(),
            (Some("decomposed"), 3) => SwitchMethod::klss(number(1)?, number(2)?).into(),
            _ => return Err(refuse()),
        }))
    }
}

impl SwitchingOption {
    /// As it is written.
    pub fn to_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.0 {
            Switching::Fastest => "fastest".into_pyobject(py)?.into_any(),
            Switching::AsMade => "as_made".into_pyobject(py)?.into_any(),
            Switching::Fixed(SwitchMethod { special, key_digit: Some(length), .. }) => {
                ("decomposed", special, length).into_pyobject(py)?.into_any()
            }
            Switching::Fixed(SwitchMethod { special, .. }) => ("hybrid", special).into_pyobject(py)?.into_any(),
        })
    }
}

/// The arguments that every maker of parameters takes.
pub struct Options {
    pub threads: Option<Whole>,
    pub isa: Option<String>,
    pub switching: SwitchingOption,
    pub key_expansion: Option<Real>,
    pub key_cache_mib: Option<Real>,
}

impl Options {
    /// Checked.
    ///
    /// # Errors
    /// `DataError`.
    pub fn runtime(self, py: Python<'_>) -> PyResult<Runtime> {
        // More threads than this is a slip of the keyboard, and the system would refuse them one by one.
        let threads = match self.threads.map(|threads| threads.0) {
            None => None,
            Some(threads @ 1..=4096) => Some(threads as usize),
            Some(threads) => return Err(out_of_range(py, "`threads`", threads, "use 1 to 4096")),
        };
        let key_expansion = Real::given(self.key_expansion);
        if let Some(factor) = key_expansion.filter(|factor| factor.is_nan() || *factor < 0.0) {
            return Err(out_of_range(py, "`key_expansion`", factor, "use 0 (nothing derived) or more, inf for no limit"));
        }
        let key_cache_bytes = match Real::given(self.key_cache_mib) {
            None => None,
            // Saturates: infinity is no limit.
            Some(mib) if mib >= 0.0 => Some((mib * MIB) as usize),
            Some(mib) => return Err(out_of_range(py, "`key_cache_mib`", mib, "use 0 (nothing kept) or more, inf for no limit")),
        };
        Ok(Runtime { threads, isa: self.isa, switching: self.switching.0, key_expansion, key_cache_bytes, profile: None, engine: None })
    }
}
