//! Plans of packing.

use std::sync::Arc;

use clathrate_ckks::SecretName;
use clathrate_ckks::circuits::packing_plan::{PackingMethod, PackingOptions, PackingPlan};
use clathrate_lattice::Level;
use pyo3::prelude::*;

use crate::errors::out_of_range;
use crate::needs::PyNeeds;
use crate::numbers::{Whole, Wholes};
use crate::params::PyParams;
use crate::run::detached;

#[pyclass(frozen, module = "clathrate._native", name = "PackingPlan")]
pub struct PyPackingPlan {
    pub plan: Arc<PackingPlan>,
}

/// The method that `"rows"`, `"column"` or a list of ranks stands for.
fn method_of(py: Python<'_>, method: &Bound<'_, PyAny>) -> PyResult<PackingMethod> {
    if let Ok(name) = method.extract::<String>() {
        return match name.as_str() {
            "rows" => Ok(PackingMethod::Rows),
            "column" => Ok(PackingMethod::Midpoints(Vec::new())),
            _ => Err(out_of_range(py, "method", name, "use \"rows\", \"column\", or the ranks of midpoints")),
        };
    }
    let ranks: Wholes = method.extract()?;
    let ranks =
        ranks.0.into_iter().map(|rank| rank.count(py, "a rank of `method`")).collect::<PyResult<_>>()?;
    Ok(PackingMethod::Midpoints(ranks))
}

#[pymethods]
impl PyPackingPlan {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyParams>,
        count: Option<Whole>,
        degree: Option<Whole>,
        level: Option<Whole>,
        method: Option<&Bound<'_, PyAny>>,
        key_bytes: Option<Whole>,
        device: Option<Whole>,
    ) -> PyResult<Self> {
        let params = params.get();
        let whole =
            |name: &'static str, value: Option<Whole>| value.map(|value| value.count(py, name)).transpose();
        let method = method.map(|method| method_of(py, method)).transpose()?;
        let options = PackingOptions {
            degree: whole("`degree`", degree)?.unwrap_or(1),
            count: whole("`count`", count)?,
            level: whole("`level`", level)?.map(Level),
            method,
            most_key_bytes: whole("`key_bytes`", key_bytes)?,
            secret: device.map_or(Ok(SecretName::Main), |device| {
                device.secret_number(py, "`device`").map(SecretName::Device)
            })?,
        };
        let plan = detached(py, || PackingPlan::new(&params.params, &options))?;
        Ok(Self { plan: Arc::new(plan) })
    }

    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.plan.needs().clone() }
    }

    #[getter]
    fn method(&self) -> String {
        self.plan.chosen().method.to_string()
    }

    #[getter]
    fn degree(&self) -> usize {
        self.plan.samples().degree()
    }

    #[getter]
    fn key_bytes(&self) -> usize {
        self.plan.chosen().key_bytes
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.plan.chosen().nanoseconds / 1e9
    }

    #[getter]
    fn precision_bits(&self) -> f64 {
        -self.plan.chosen().error.log2()
    }

    fn explain(&self) -> String {
        self.plan.explain()
    }

    fn __repr__(&self) -> String {
        let (plan, chosen) = (&self.plan, self.plan.chosen());
        format!(
            "PackingPlan({}, {}, {} bytes of keys)",
            plan.samples().spec().name,
            chosen.method,
            chosen.key_bytes
        )
    }
}
