//! Bootstraps.

use std::sync::Arc;

use clathrate_ckks::{BootstrapOptions, BootstrapPlan, Ciphertext, CkksError};
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::rows::parts_of;
use crate::bootstrap::PyBootstrapPlan;
use crate::errors::{raise, raise_for_key};
use crate::run::{detached, detached_with, with_progress};
use crate::samples::PySamplesPlan;

#[pymethods]
impl PyCiphertext {
    fn bootstrap(
        &self,
        py: Python<'_>,
        plan: Option<&PyBootstrapPlan>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let evaluator = self.evaluator();
        let x = &*self.settled(py, &evaluator)?;
        let own = plan.map(|plan| plan.plan.clone());
        let plan = detached(py, || own.map_or_else(|| plan_for(x), Ok))?;
        let translate = |error| raise_for_key(py, error, "cl.BootstrapPlan(params).needs");
        let fresh = with_progress(py, progress, "bootstrap", translate, |tick| {
            evaluator.bootstrap_with_progress(x, &plan, tick)
        })?;
        self.beside(py, fresh)
    }

    fn bootstrap_samples(&self, py: Python<'_>, plan: &PySamplesPlan) -> PyResult<Self> {
        let plan = plan.plan.clone();
        self.map_needing(py, SAMPLES_NEEDS, move |evaluator, x| evaluator.bootstrap_samples(x, &plan))
    }

    fn bootstrap_pair(
        &self,
        py: Python<'_>,
        other: &Self,
        plan: Option<&PyBootstrapPlan>,
    ) -> PyResult<(Self, Self)> {
        let evaluator = self.evaluator();
        let (x, y) = (&*self.settled(py, &evaluator)?, &*other.settled(py, &evaluator)?);
        let own = plan.map(|plan| plan.plan.clone());
        let plan = detached(py, || own.map_or_else(|| plan_of(x, false), Ok))?;
        let translate = |error| raise_for_key(py, error, "cl.BootstrapPlan(params).needs");
        let (fresh, beside) = detached_with(py, translate, || evaluator.bootstrap_pair(x, y, &plan))?;
        Ok((self.beside(py, fresh)?, self.beside(py, beside)?))
    }
}

/// A plan for the slots and numbers of `x`; several polynomials of real numbers share bootstraps of complex
/// ones.
fn plan_for(x: &clathrate_ckks::Ciphertext) -> Result<Arc<BootstrapPlan>, CkksError> {
    plan_of(x, !x.is_complex() && x.layout().bundles() == 1)
}

fn plan_of(x: &clathrate_ckks::Ciphertext, real: bool) -> Result<Arc<BootstrapPlan>, CkksError> {
    let options = BootstrapOptions { slots: Some(x.layout().period()), real, ..BootstrapOptions::default() };
    BootstrapPlan::with_options(x.params(), options).map(Arc::new)
}

/// The hint of an error of missing keys.
const SAMPLES_NEEDS: &str = "cl.SamplesPlan(params).needs";

#[pyfunction]
pub fn bootstrap_samples(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    plan: &PySamplesPlan,
) -> PyResult<PyCiphertext> {
    let parts = parts_of(arrays, "bootstrap_samples", "cl.bootstrap_samples([x, y], plan)")?;
    let plan = plan.plan.clone();
    let holder = parts
        .iter()
        .map(|part| part.get())
        .find(|part| part.has_keys())
        .or_else(|| parts.first().map(|part| part.get()));
    let Some(holder) = holder else {
        return Err(raise(py, CkksError::NoTerms { operation: "a bootstrap of samples" }));
    };
    let evaluator = holder.evaluator();
    let settled =
        parts.iter().map(|part| part.get().settled(py, &evaluator)).collect::<PyResult<Vec<_>>>()?;
    let data: Vec<&Ciphertext> = settled.iter().map(|part| &**part).collect();
    let translate = |error| raise_for_key(py, error, SAMPLES_NEEDS);
    let whole = detached_with(py, translate, || evaluator.bootstrap_samples_of(&data, &plan))?;
    holder.beside(py, whole)
}

#[pyfunction]
pub fn bootstrap_batch(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    plan: &PyBootstrapPlan,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<PyCiphertext>> {
    let parts = parts_of(arrays, "bootstrap_batch", "cl.bootstrap_batch([x, y], plan)")?;
    let plan = plan.plan.clone();
    let holder = parts
        .iter()
        .map(|part| part.get())
        .find(|part| part.has_keys())
        .or_else(|| parts.first().map(|part| part.get()));
    let Some(holder) = holder else {
        return Err(raise(py, CkksError::NoTerms { operation: "a bootstrap of a batch" }));
    };
    let evaluator = holder.evaluator();
    let settled =
        parts.iter().map(|part| part.get().settled(py, &evaluator)).collect::<PyResult<Vec<_>>>()?;
    let data: Vec<&Ciphertext> = settled.iter().map(|part| &**part).collect();
    let translate = |error| raise_for_key(py, error, "cl.BootstrapPlan(params).needs");
    let fresh = with_progress(py, progress, "bootstrap", translate, |tick| {
        evaluator.bootstrap_batch(&data, &plan, tick)
    })?;
    fresh.into_iter().map(|fresh| holder.beside(py, fresh)).collect()
}
