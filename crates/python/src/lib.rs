//! The Python extension module: the CKKS layer on NumPy arrays.
//!
//! A front and nothing else: it turns arrays into numbers, errors into exceptions, progress into callbacks,
//! and releases the interpreter lock around everything that takes time. Objects are immutable (`frozen`) and
//! share their data.
//!
//! Programs see the classes of `python/clathrate`, which stand in front of these: there are the signatures
//! with their defaults, the docstrings, and what is Python's own. Here a method takes every argument, without
//! defaults. `scripts/stub.py` writes the signatures to `_native.pyi`.
#![deny(unsafe_code)]

use pyo3::prelude::*;

mod arrays;
mod authentication;
mod bootstrap;
mod ciphertext;
mod command;
mod encryption;
mod errors;
mod evaluation_keys;
mod executor;
mod files;
mod functions;
mod inbox;
mod keys;
mod layout;
mod light;
mod linear;
mod machine;
mod mambo;
mod matrix;
mod needs;
mod numbers;
mod outside;
mod packing_plan;
mod params;
mod paths;
mod polynomial;
mod primes;
mod program;
mod public_key;
mod run;
mod runtime;
mod samples;
mod saving;
mod stage;
mod text;
mod trace;
mod transcipher;
mod trusted;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::arrays::PyPlainSymbol;
    #[pymodule_export]
    use crate::authentication::PyAuthenticationKey;
    #[pymodule_export]
    use crate::bootstrap::PyBootstrapPlan;
    #[pymodule_export]
    use crate::ciphertext::{
        PyCiphertext, PyTransposed, bootstrap_batch, bootstrap_samples, chosen, hstack, vstack,
    };
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::evaluation_keys::PyEvaluationKeys;
    #[pymodule_export]
    use crate::files::{from_bytes, inspect, load};
    #[pymodule_export]
    use crate::functions::{
        absolute, convolved, maximum, minimum, norm, relu, root_of_squares, sign, smooth, softmax, std,
    };
    #[pymodule_export]
    use crate::inbox::{PyBatch, PyInbox};
    #[pymodule_export]
    use crate::keys::PySecretKey;
    #[pymodule_export]
    use crate::layout::PyLayout;
    #[pymodule_export]
    use crate::light::{PyLightClient, PyReceiver};
    #[pymodule_export]
    use crate::linear::{PyLinearTransform, PyLinearTransformPlan};
    #[pymodule_export]
    use crate::machine::{doctor, tune};
    #[pymodule_export]
    use crate::mambo::{PyMamboMatrix, PyMamboPlan, mambo};
    #[pymodule_export]
    use crate::matrix::{PyMatrixPlan, PyPreparedMatrix};
    #[pymodule_export]
    use crate::needs::PyNeeds;
    #[pymodule_export]
    use crate::packing_plan::PyPackingPlan;
    #[pymodule_export]
    use crate::params::{PyParams, preset_names};
    #[pymodule_export]
    use crate::polynomial::{PyPolynomial, PyPolynomialPlan};
    #[pymodule_export]
    use crate::program::{
        PyFunctionRecording, PyOwnerPart, PyProgram, PyRecordedFunction, compile_functions,
    };
    #[pymodule_export]
    use crate::public_key::PyPublicKey;
    #[pymodule_export]
    use crate::runtime::{PyRuntime, get_threads, set_device_memory_limit, set_threads};
    #[pymodule_export]
    use crate::samples::PySamplesPlan;
    #[pymodule_export]
    use crate::stage::PyStage;
    #[pymodule_export]
    use crate::trace::{PyRecorder, PyRecording};
    #[pymodule_export]
    use crate::transcipher::PyPreparedSamples;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
