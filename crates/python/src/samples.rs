//! Plans that bring samples to slots.

use std::sync::Arc;

use clathrate_ckks::SecretName;
use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole, Wholes};
use crate::params::PyParams;
use crate::run::detached;

#[pyclass(frozen, module = "clathrate._native", name = "SamplesPlan")]
pub struct PySamplesPlan {
    pub plan: Arc<SamplesPlan>,
}

#[pymethods]
impl PySamplesPlan {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyParams>,
        count: Option<Whole>,
        degree: Option<Whole>,
        dimension: Option<Whole>,
        device: Option<Whole>,
        outside: Option<Whole>,
        pairs: Option<bool>,
        midpoints: Option<Wholes>,
        ring: Option<Whole>,
        key_bytes: Option<Whole>,
        seconds: Option<Real>,
    ) -> PyResult<Self> {
        let params = params.get();
        let whole =
            |name: &'static str, value: Option<Whole>| value.map(|value| value.count(py, name)).transpose();
        let degree = whole("`degree`", degree)?.unwrap_or(1);
        let secret = match (device, outside) {
            (None, None) => SecretName::Main,
            (Some(device), None) => SecretName::Device(device.secret_number(py, "`device`")?),
            (None, Some(outside)) => SecretName::Outside(outside.secret_number(py, "`outside`")?),
            (Some(_), Some(_)) => {
                let message =
                    "samples are a device's or another library's: leave out `device` or `outside`".to_owned();
                return Err(exception(py, "DataError", message));
            }
        };
        let ranks = |ranks: Wholes| {
            ranks.0.into_iter().map(|rank| rank.count(py, "a rank of `midpoints`")).collect::<PyResult<_>>()
        };
        let options = SamplesOptions {
            count: whole("`count`", count)?,
            degree,
            dimension: whole("`dimension`", dimension)?,
            secret,
            pairs: pairs.unwrap_or(degree > 1),
            midpoints: midpoints.map(ranks).transpose()?,
            ring: whole("`ring`", ring)?,
            most_key_bytes: whole("`key_bytes`", key_bytes)?,
            most_seconds: Real::given(seconds),
            ..SamplesOptions::default()
        };
        let plan = detached(py, || SamplesPlan::new(&params.params, &options))?;
        Ok(Self { plan: Arc::new(plan) })
    }

    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.plan.needs().clone() }
    }

    fn needs_of(&self, py: Python<'_>, devices: Wholes) -> PyResult<PyNeeds> {
        let secret =
            |device: Whole| device.secret_number(py, "a number of `devices`").map(SecretName::Device);
        let secrets: Vec<SecretName> = devices.0.into_iter().map(secret).collect::<PyResult<_>>()?;
        let needs = detached(py, || self.plan.needs_of(&secrets))?;
        Ok(PyNeeds { needs })
    }

    #[getter]
    fn count(&self) -> usize {
        self.plan.count()
    }

    #[getter]
    fn degree(&self) -> usize {
        self.plan.samples().degree()
    }

    #[getter]
    fn dimension(&self) -> usize {
        self.plan.samples().shape().dimension()
    }

    #[getter]
    fn ring(&self) -> usize {
        self.plan.packing().ring.unwrap_or_else(|| self.plan.half_bootstrap().params().degree())
    }

    #[getter]
    fn security_bits(&self) -> f64 {
        self.plan.security_bits()
    }

    #[getter]
    fn pairs(&self) -> bool {
        self.plan.pairs()
    }

    #[getter]
    fn scale(&self) -> f64 {
        self.plan.scale()
    }

    #[getter]
    fn slots(&self) -> usize {
        self.plan.half_bootstrap().slots()
    }

    #[getter]
    fn output_level(&self) -> usize {
        self.plan.half_bootstrap().output_level().0
    }

    #[getter]
    fn key_bytes(&self) -> usize {
        self.plan.key_bytes()
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.plan.predicted_nanoseconds() / 1e9
    }

    #[getter]
    fn precision_bits(&self) -> f64 {
        -self.plan.predicted_error().log2()
    }

    #[getter]
    fn log2_failure(&self) -> f64 {
        self.plan.half_bootstrap().log2_failure()
    }

    fn explain(&self) -> String {
        self.plan.explain()
    }

    fn __repr__(&self) -> String {
        let plan = &self.plan;
        let name = &plan.half_bootstrap().params().spec().name;
        format!(
            "SamplesPlan({name}, {} numbers of samples of shape {}, {} bytes of keys)",
            plan.count(),
            plan.samples().shape(),
            plan.key_bytes()
        )
    }
}
