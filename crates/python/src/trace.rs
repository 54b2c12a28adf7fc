//! Dry runs: symbols of ciphertexts whose operators write down what keys they would use.
//!
//! A symbol is a `Ciphertext` without data. It goes through the same evaluator, so shapes, levels, scales and errors are the real ones.

use clathrate_ckks::{Ciphertext, Encoding, Evaluator};
use pyo3::prelude::*;

use crate::ciphertext::PyCiphertext;
use crate::errors::{out_of_range, raise};
use crate::keys::options;
use crate::needs::PyNeeds;
use crate::operand::{Real, Whole, Wholes};
use crate::params::PyParams;

/// Makes symbols and collects what their computations need; `clathrate.trace` wraps it.
#[pyclass(frozen, module = "clathrate._native", name = "Recorder")]
pub struct PyRecorder {
    params: Py<PyParams>,
    evaluator: Evaluator,
}

#[pymethods]
impl PyRecorder {
    #[new]
    fn new(params: Py<PyParams>) -> Self {
        let evaluator = Evaluator::recording(&params.get().params);
        Self { params, evaluator }
    }

    /// A symbol of what `SecretKey.encrypt` would give for an array of this shape and these arguments.
    ///
    /// Errors: those of `encrypt` but for the data's.
    #[pyo3(signature = (shape, encoding=None, level=None, scale=None, is_complex=false))]
    fn symbol(
        &self,
        py: Python<'_>,
        shape: Wholes,
        encoding: Option<&str>,
        level: Option<Whole>,
        scale: Option<Real>,
        is_complex: bool,
    ) -> PyResult<PyCiphertext> {
        let params = &self.params.get().params;
        let axis = |axis: &Whole| usize::try_from(axis.0).map_err(|_| out_of_range(py, "an axis", axis.0, "use 1 or more"));
        let shape = shape.0.iter().map(axis).collect::<PyResult<Vec<_>>>()?;
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let dense = shape.len() == 2 && !is_complex;
        let encoding = options.encoding.unwrap_or(if dense { Encoding::Coefficients } else { Encoding::Slots });
        let level = options.level.unwrap_or(params.max_level());
        let scale = options.scale.unwrap_or(params.scale(level));
        let symbol = Ciphertext::symbol(params, &shape, encoding, is_complex, level, scale).map_err(|error| raise(py, error))?;
        Ok(PyCiphertext::symbol(symbol, self.params.clone_ref(py), self.evaluator.clone()))
    }

    /// The keys that all computations on this recorder's symbols need so far.
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.evaluator.needs() }
    }
}
