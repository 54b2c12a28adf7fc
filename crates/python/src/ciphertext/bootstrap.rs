//! Bootstraps.

use clathrate_ckks::BootstrapPlan;
use clathrate_ckks::encrypted_array::EncryptedArray;
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::rows::{beside_parts, parts_of};
use crate::bootstrap::PyBootstrapPlan;
use crate::run::running;
use crate::samples::PySamplesPlan;

#[pymethods]
impl PyCiphertext {
    fn bootstrap(
        &self,
        py: Python<'_>,
        plan: Option<&PyBootstrapPlan>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let plan: Option<&BootstrapPlan> = plan.map(|plan| &*plan.plan);
        self.compute_long(py, ("bootstrap", progress), |x| x.bootstrap(plan))
    }

    fn bootstrap_samples(&self, py: Python<'_>, plan: &PySamplesPlan) -> PyResult<Self> {
        let plan = &*plan.plan;
        self.compute(py, |x| x.map_settled(|evaluator, x| plan.run(evaluator, x)))
    }
}

#[pyfunction]
pub fn bootstrap_samples(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    plan: &PySamplesPlan,
) -> PyResult<PyCiphertext> {
    let parts = parts_of(arrays, "bootstrap_samples", "cl.plans.bootstrap_samples([x, y], plan)")?;
    let plan = &*plan.plan;
    let whole = PyCiphertext::gather(py, &parts, |parts| {
        EncryptedArray::gather(parts, "a bootstrap of samples", |holder, data| {
            holder.beside(plan.run_on(holder.evaluator(), data)?)
        })
    })?;
    beside_parts(py, &parts, &whole)
}

#[pyfunction]
pub fn bootstrap_batch(
    py: Python<'_>,
    arrays: &Bound<'_, PyAny>,
    plan: &PyBootstrapPlan,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<PyCiphertext>> {
    let parts = parts_of(arrays, "bootstrap_batch", "cl.plans.bootstrap_batch([x, y], plan)")?;
    let plan = &*plan.plan;
    let own: Vec<&EncryptedArray> = parts.iter().map(|part| &part.get().array).collect();
    let fresh = running(py, progress, "bootstrap", |progress| {
        let own: Vec<EncryptedArray> = own.iter().map(|part| part.with_progress(progress)).collect();
        let own: Vec<&EncryptedArray> = own.iter().collect();
        EncryptedArray::gather(&own, "a bootstrap of a batch", |holder, data| {
            let fresh = plan.run_batch(holder.evaluator(), data)?;
            fresh.into_iter().map(|fresh| holder.beside(fresh)).collect::<Result<Vec<_>, _>>()
        })
    })?;
    fresh.iter().map(|fresh| beside_parts(py, &parts, fresh)).collect()
}
