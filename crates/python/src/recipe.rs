//! How a plan was made, so that a pickle can make the same plan again.
//!
//! Plans have no file form of their own but that of linear transforms: they follow from their arguments and the times of the machine, and
//! the process that reads a pickle plans anew.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The call of Python that made an object: a function, and the arguments by name.
pub struct Recipe {
    maker: Py<PyAny>,
    arguments: Py<PyDict>,
}

/// What `__reduce__` gives: the function that calls again, and what it calls.
pub type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

impl Recipe {
    /// The call `maker(**arguments)`.
    pub fn new(maker: &Bound<'_, PyAny>, arguments: Bound<'_, PyDict>) -> Self {
        Self { maker: maker.clone().unbind(), arguments: arguments.unbind() }
    }

    /// For `__reduce__`.
    ///
    /// # Errors
    /// Those of importing the package.
    pub fn reduce<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let call = py.import("clathrate._pickle")?.getattr("call")?;
        Ok((call, PyTuple::new(py, [self.maker.bind(py), self.arguments.bind(py).as_any()])?))
    }
}

/// A dict of the arguments that are named, each by its name.
macro_rules! arguments {
    ($py:expr, $($name:ident),* $(,)?) => {{
        let arguments = pyo3::types::PyDict::new($py);
        $(arguments.set_item(stringify!($name), &$name)?;)*
        arguments
    }};
}
pub(crate) use arguments;
