//! What NumPy's functions do with ciphertexts: `clathrate._numpy` decides.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::object::PyCiphertext;
use super::transposed::PyTransposed;

fn function<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyAny>,
    keywords: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("clathrate._numpy")?.call_method1("array_function", (function, arguments, keywords))
}

fn universal<'py>(
    py: Python<'py>,
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    operands: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = keywords.map_or_else(|| PyDict::new(py), Clone::clone);
    py.import("clathrate._numpy")?.call_method1("array_ufunc", (ufunc, method, operands, keywords))
}

macro_rules! numpy_protocols {
    ($class:ty) => {
        #[pymethods]
        impl $class {
            /// Functions of NumPy (NEP 18).
            fn __array_function__<'py>(
                &self,
                py: Python<'py>,
                called: &Bound<'py, PyAny>,
                types: &Bound<'py, PyAny>,
                arguments: &Bound<'py, PyAny>,
                keywords: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let _ = types;
                function(py, called, arguments, keywords)
            }

            /// Universal functions of NumPy and operators of its arrays (NEP 13).
            #[pyo3(signature = (ufunc, method, *operands, **keywords))]
            fn __array_ufunc__<'py>(
                &self,
                py: Python<'py>,
                ufunc: &Bound<'py, PyAny>,
                method: &str,
                operands: &Bound<'py, PyTuple>,
                keywords: Option<&Bound<'py, PyDict>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                universal(py, ufunc, method, operands, keywords)
            }
        }
    };
}

numpy_protocols!(PyCiphertext);
numpy_protocols!(PyTransposed);
