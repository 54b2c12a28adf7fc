//! Dry runs: symbols of ciphertexts whose operators write down what keys they would use and what they would
//! cost.
//!
//! A symbol is a `Ciphertext` without data. It goes through the same evaluator, so shapes, levels, scales and
//! errors are the real ones.

use clathrate_ckks::arrays::Estimate;
use clathrate_ckks::evaluation::recording::Recording;
use clathrate_ckks::keys::Cost;
use clathrate_ckks::{Ciphertext, Evaluator, Level, SecretName};
use pyo3::prelude::*;

use crate::ciphertext::PyCiphertext;
use crate::encryption::options;
use crate::errors::{out_of_range, raise};
use crate::layout::{LaneCount, Placing, layout_of};
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole, Wholes};
use crate::params::PyParams;

#[pyclass(frozen, module = "clathrate._native", name = "Recorder")]
pub struct PyRecorder {
    params: Py<PyParams>,
    evaluator: Evaluator,
}

#[pymethods]
impl PyRecorder {
    #[new]
    fn new(py: Python<'_>, params: Py<PyParams>, bootstrap_below: Option<Whole>) -> PyResult<Self> {
        let below = bootstrap_below.map(|level| params.get().level(py, Some(level))).transpose()?;
        let mut evaluator = Evaluator::recording(&params.get().params);
        if below.is_some() {
            evaluator = evaluator
                .bootstrapping_by(&params.get().bootstraps, below)
                .map_err(|error| raise(py, error))?;
        }
        Ok(Self { params, evaluator })
    }

    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn symbol(
        &self,
        py: Python<'_>,
        shape: Wholes,
        encoding: Option<&str>,
        level: Option<Whole>,
        scale: Option<Real>,
        is_complex: bool,
        bound: Option<Real>,
        bodies: Option<Whole>,
        axis: Option<&str>,
        capacity: Option<Whole>,
        lanes: Option<LaneCount>,
        copies: Option<Whole>,
        order: &str,
    ) -> PyResult<PyCiphertext> {
        let params = &self.params.get().params;
        let length = |axis: &Whole| {
            usize::try_from(axis.0).map_err(|_| out_of_range(py, "an axis", axis.0, "use 1 or more"))
        };
        let shape = shape.0.iter().map(length).collect::<PyResult<Vec<_>>>()?;
        let options = options(py, self.params.get(), encoding, level, scale)?;
        let options = Placing { bodies, axis, capacity, lanes, copies, order }.apply(py, options)?;
        let level = options.level.unwrap_or(params.fresh_level());
        let scale = options.scale.unwrap_or(params.scale(level));
        let layout = options.layout(&shape, is_complex, params.degree());
        let symbol = layout
            .and_then(|layout| {
                Ciphertext::symbol_with(params, &shape, layout, options.secret(), level, scale)
            })
            .and_then(|symbol| self.evaluator.take_symbol(symbol, Real::given(bound)))
            .map_err(|error| raise(py, error))?;
        Ok(PyCiphertext::symbol(symbol, self.params.clone_ref(py), &self.evaluator))
    }

    fn symbol_of(
        &self,
        py: Python<'_>,
        layout: &str,
        shape: Vec<usize>,
        level: usize,
        scale: f64,
        secret: &str,
        estimate: &str,
    ) -> PyResult<PyCiphertext> {
        let layout = layout_of(py, layout)?;
        let unknown = || out_of_range(py, "the name of a secret", secret, "use that of an array");
        let secret = SecretName::parse(secret).ok_or_else(unknown)?;
        let nonsense = || out_of_range(py, "what is known of a symbol", estimate, "use what a pickle holds");
        let estimate = Estimate::from_text(estimate).ok_or_else(nonsense)?;
        let symbol =
            Ciphertext::symbol_with(&self.params.get().params, &shape, layout, secret, Level(level), scale)
                .and_then(|symbol| self.evaluator.take_symbol_of(symbol, estimate))
                .map_err(|error| raise(py, error))?;
        Ok(PyCiphertext::symbol(symbol, self.params.clone_ref(py), &self.evaluator))
    }

    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.evaluator.needs() }
    }

    fn recording(&self) -> PyRecording {
        PyRecording { recording: self.evaluator.recorded() }
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "Recording")]
pub struct PyRecording {
    recording: Recording,
}

impl PyRecording {
    pub const fn new(recording: Recording) -> Self {
        Self { recording }
    }
}

/// Seconds, transforms, Hadamard products, multiply-adds and bytes of keys.
type Figures = (f64, u64, u64, u64, u64);

fn figures(cost: Cost) -> Figures {
    // Counts are whole numbers; what exceeds the integers' range is taken as its end.
    let whole = |count: f64| count.round() as u64;
    (
        cost.nanoseconds * 1e-9,
        whole(cost.transforms),
        whole(cost.hadamard_products),
        whole(cost.multiply_adds),
        whole(cost.key_bytes),
    )
}

#[pymethods]
impl PyRecording {
    #[getter]
    fn total(&self) -> Figures {
        figures(self.recording.cost())
    }

    #[getter]
    fn price(&self) -> f64 {
        self.recording.cost().price
    }

    #[getter]
    fn stages(&self) -> Vec<(String, Figures)> {
        self.recording.stages().iter().map(|stage| (stage.name.clone(), figures(stage.cost))).collect()
    }

    #[getter]
    fn bootstraps(&self) -> bool {
        self.recording.stages().iter().any(|stage| {
            stage.name.split('/').any(|name| name == clathrate_ckks::circuits::bootstrap::stages::AUTOMATIC)
        })
    }

    #[getter]
    fn peak_bytes(&self) -> usize {
        self.recording.peak_array_bytes()
    }

    #[getter]
    fn plaintext_bytes(&self) -> usize {
        self.recording.plaintext_bytes()
    }

    #[getter]
    fn encoding_seconds(&self) -> f64 {
        self.recording.encoding_cost().nanoseconds * 1e-9
    }

    fn explain(&self) -> String {
        self.recording.to_string()
    }
}
