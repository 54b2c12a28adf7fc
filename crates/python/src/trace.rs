//! Dry runs: symbols of ciphertexts whose operators write down what keys they would use.
//!
//! A symbol is a `Ciphertext` without data. It goes through the same evaluator, so shapes, levels, scales and errors are the real ones.

use clathrate_ckks::{Ciphertext, Evaluator};
use pyo3::prelude::*;

use crate::ciphertext::PyCiphertext;
use crate::errors::{out_of_range, raise};
use crate::keys::options;
use crate::layout::Placing;
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole, Wholes};
use crate::params::PyParams;

/// Makes symbols for a dry run and collects the keys that their computations need; `clathrate.trace` wraps it.
///
/// Parameters
/// ----------
/// params : Params
///     The parameters of the dry run.
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

    /// A symbol: the ciphertext that `SecretKey.encrypt` would give for these arguments, without data.
    ///
    /// Parameters
    /// ----------
    /// shape : sequence of int
    ///     The shape of the array.
    /// encoding : {"slots", "coefficients"}, optional
    ///     As `SecretKey.encrypt` takes it.
    /// level : int, optional
    ///     As `SecretKey.encrypt` takes it.
    /// scale : float, optional
    ///     As `SecretKey.encrypt` takes it.
    /// is_complex : bool, optional
    ///     Whether the array has complex entries. The default is False.
    /// bodies : int, optional
    ///     As `SecretKey.encrypt` takes it.
    /// axis : {"rows", "chunks"}, optional
    ///     As `SecretKey.encrypt` takes it.
    /// capacity : int, optional
    ///     As `SecretKey.encrypt` takes it.
    /// order : {"natural", "bit-reversed"}, optional
    ///     As `SecretKey.encrypt` takes it.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The symbol.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the shape has no entries or more than two axes; for bodies, an axis, a capacity or an order that `SecretKey.encrypt`
    ///     refuses.
    /// LevelError
    ///     Where there is no such level.
    /// ScaleError
    ///     Where the scale is not positive, or leaves the level no room.
    #[pyo3(signature = (shape, encoding=None, level=None, scale=None, is_complex=false, *, bodies=None, axis=None, capacity=None, order="natural"))]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn symbol(
        &self,
        py: Python<'_>,
        shape: Wholes,
        encoding: Option<&str>,
        level: Option<Whole>,
        scale: Option<Real>,
        is_complex: bool,
        bodies: Option<Whole>,
        axis: Option<&str>,
        capacity: Option<Whole>,
        order: &str,
    ) -> PyResult<PyCiphertext> {
        let params = &self.params.get().params;
        let length = |axis: &Whole| usize::try_from(axis.0).map_err(|_| out_of_range(py, "an axis", axis.0, "use 1 or more"));
        let shape = shape.0.iter().map(length).collect::<PyResult<Vec<_>>>()?;
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let options = Placing { bodies, axis, capacity, order }.apply(py, options)?;
        let level = options.level.unwrap_or(params.max_level());
        let scale = options.scale.unwrap_or(params.scale(level));
        let layout = options.layout(&shape, is_complex, params.degree());
        let symbol = layout.and_then(|layout| Ciphertext::symbol_with(params, &shape, layout, options.secret(), level, scale));
        let symbol = symbol.map_err(|error| raise(py, error))?;
        Ok(PyCiphertext::symbol(symbol, self.params.clone_ref(py), self.evaluator.clone()))
    }

    /// The keys that all computations on the symbols needed so far.
    ///
    /// Returns
    /// -------
    /// Needs
    ///     Each key with the highest level that it was needed at.
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.evaluator.needs() }
    }
}
