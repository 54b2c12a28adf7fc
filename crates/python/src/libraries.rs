//! Array libraries whose objects must be converted to NumPy arrays before they meet a ciphertext.
//!
//! Their operators turn the other operand into an array of numbers, which a ciphertext refuses
//! (`Ciphertext.__array__`), or they give arrays that NumPy cannot read. The messages name the library and
//! the conversion. A library is known by the names of modules, so that none is imported.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// A library with arrays of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    NumpyMasked,
    Pandas,
    ScipySparse,
    Torch,
}

impl Library {
    fn of_module(name: &str) -> Option<Self> {
        let within = |package: &str| {
            name.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match () {
            () if within("numpy.ma") => Some(Self::NumpyMasked),
            () if within("pandas") => Some(Self::Pandas),
            () if within("scipy.sparse") => Some(Self::ScipySparse),
            () if within("torch") => Some(Self::Torch),
            () => None,
        }
    }

    /// The library that defines the class of `object`, or one that it derives from.
    pub fn of(object: &Bound<'_, PyAny>) -> Option<Self> {
        let module = |class: Bound<'_, PyAny>| {
            class.cast::<PyType>().ok()?.getattr("__module__").ok()?.extract::<String>().ok()
        };
        let classes = object.get_type().getattr("__mro__").ok()?.cast_into::<PyTuple>().ok()?;
        classes.iter().filter_map(module).find_map(|name| Self::of_module(&name))
    }

    /// What people call one of its arrays.
    fn array(self) -> &'static str {
        match self {
            Self::NumpyMasked => "a masked array",
            Self::Pandas => "a pandas object",
            Self::ScipySparse => "a SciPy sparse array",
            Self::Torch => "a torch tensor",
        }
    }

    /// The call that makes a NumPy array of `x`, of which NumPy has the type of numbers unless it is
    /// `narrow`.
    fn conversion(self, narrow: bool) -> &'static str {
        match self {
            Self::NumpyMasked => "x.filled(0)",
            Self::Pandas => "x.to_numpy(dtype=float)",
            Self::ScipySparse => "x.toarray()",
            Self::Torch if narrow => "x.detach().cpu().float().numpy()",
            Self::Torch => "x.detach().cpu().numpy()",
        }
    }

    /// The error where NumPy cannot read `data`, one of the library's arrays, for `reason`.
    pub fn cannot_be_read(self, data: &Bound<'_, PyAny>, reason: &str) -> PyErr {
        // NumPy has neither bfloat16 nor numbers of 8 bits.
        let dtype = data
            .getattr("dtype")
            .and_then(|dtype| dtype.str())
            .map_or_else(|_| String::new(), |dtype| dtype.to_string());
        let conversion = self.conversion(dtype.contains("bfloat") || dtype.contains("float8"));
        PyTypeError::new_err(format!(
            "{} cannot be used as it is ({reason}): pass a NumPy array, `{conversion}`",
            self.array()
        ))
    }
}

#[pyfunction]
pub fn refusal_of_library(module: &str) -> Option<String> {
    Library::of_module(module).map(|library| {
        let (array, numbers) = (library.array(), library.conversion(false));
        format!(
            "{array} meets a ciphertext: its operators read the other operand as an array of numbers, and a ciphertext is encrypted; pass a NumPy \
             array instead, `{numbers}`, as in `{numbers} @ ct`"
        )
    })
}
