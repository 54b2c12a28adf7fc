//! Plans of bootstraps.

use std::sync::Arc;

use clathrate_arith::text::counted;
use clathrate_ckks::{BootstrapOptions, BootstrapPlan};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::needs::PyNeeds;
use crate::numbers::Whole;
use crate::params::{PyParams, size};
use crate::run::detached;

#[pyclass(frozen, module = "clathrate._native", name = "BootstrapPlan")]
pub struct PyBootstrapPlan {
    pub plan: Arc<BootstrapPlan>,
}

#[pymethods]
impl PyBootstrapPlan {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyParams>,
        slots: Option<Whole>,
        is_complex: bool,
        rounds: Option<Whole>,
        key_bytes: Option<Whole>,
        arcsine: Option<Whole>,
        bodies: Option<Whole>,
        batch: Option<Whole>,
    ) -> PyResult<Self> {
        let params = params.get();
        let slots = slots.map(|slots| size(py, "slots", slots)).transpose()?;
        let rounds = rounds.map(|rounds| size(py, "rounds", rounds)).transpose()?;
        let most_key_bytes = key_bytes.map(|bytes| size(py, "key_bytes", bytes)).transpose()?;
        let arcsine = arcsine.map(|degree| size(py, "arcsine", degree)).transpose()?;
        let batch = batch.map(|polys| size(py, "batch", polys)).transpose()?;
        if batch.is_some() && bodies.is_some() {
            return Err(exception(
                py,
                "DataError",
                "`batch` chooses the bodies under a mask: leave out `bodies` or `batch`".to_owned(),
            ));
        }
        let bodies = bodies.map_or(Ok(1), |bodies| size(py, "bodies", bodies))?;
        let options = BootstrapOptions {
            slots,
            real: !is_complex,
            rounds,
            most_key_bytes,
            arcsine,
            bodies,
            ..BootstrapOptions::default()
        };
        let plan = detached(py, || match batch {
            Some(polys) => BootstrapPlan::for_batch(&params.params, polys, options),
            None => BootstrapPlan::with_options(&params.params, options),
        })?;
        Ok(Self { plan: Arc::new(plan) })
    }

    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<PyNeeds> {
        detached(py, || self.plan.needs()).map(|needs| PyNeeds { needs })
    }

    #[getter]
    fn input_level(&self) -> usize {
        self.plan.input_level().0
    }

    #[getter]
    fn output_level(&self) -> usize {
        self.plan.output_level().0
    }

    #[getter]
    fn key_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        detached(py, || self.plan.key_bytes())
    }

    #[getter]
    fn slots(&self) -> usize {
        self.plan.slots()
    }

    #[getter]
    fn bodies(&self) -> usize {
        self.plan.bodies()
    }

    #[getter]
    fn transform_slots(&self) -> usize {
        self.plan.transform_slots()
    }

    #[getter]
    fn rounds(&self) -> usize {
        self.plan.rounds()
    }

    #[getter]
    fn precision_bits(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(-detached(py, || self.plan.predicted_error())?.deviation().log2())
    }

    #[getter]
    fn log2_failure(&self) -> f64 {
        self.plan.log2_failure()
    }

    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.plan.explain())
    }

    fn __repr__(&self) -> String {
        let plan = &self.plan;
        format!(
            "BootstrapPlan({}, {} slots, {}, levels {} to {}, failure 2^{:.1})",
            plan.params().spec().name,
            plan.slots(),
            counted(plan.rounds(), "round"),
            plan.input_level(),
            plan.output_level(),
            plan.log2_failure()
        )
    }
}
