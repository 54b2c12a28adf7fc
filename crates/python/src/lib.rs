//! The Python extension module: the CKKS layer on NumPy arrays.
//!
//! A front and nothing else: it turns arrays into numbers, errors into exceptions, progress into callbacks, and releases the
//! interpreter lock around everything that takes time. Objects are immutable (`frozen`) and share their data; `python/clathrate`
//! holds what is better written in Python, and the type stubs of this module.
#![forbid(unsafe_code)]

use pyo3::prelude::*;

mod arrays;
mod ciphertext;
mod errors;
mod files;
mod keys;
mod needs;
mod operand;
mod params;
mod polynomial;
mod run;
mod runtime;
mod switching;
mod trace;
mod values;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::ciphertext::PyCiphertext;
    #[pymodule_export]
    use crate::files::{from_bytes, inspect, load};
    #[pymodule_export]
    use crate::keys::{PyEvaluationKeys, PyPublicKey, PySecretKey};
    #[pymodule_export]
    use crate::needs::PyNeeds;
    #[pymodule_export]
    use crate::params::{PyExplanation, PyParams, doctor, preset_names};
    #[pymodule_export]
    use crate::polynomial::{PyPolynomial, PyPolynomialExplanation, PyPolynomialPlan};
    #[pymodule_export]
    use crate::switching::{PySwitchingPlan, tune};
    #[pymodule_export]
    use crate::trace::PyRecorder;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
