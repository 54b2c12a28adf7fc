//! The class: checked parameters as Python holds them.

use clathrate_ckks::circuits::automatic::AutomaticPlans;
use clathrate_ckks::evaluation::KeptPlans;
use clathrate_ckks::{CkksError, Params, ParamsSpec, Runtime};
use clathrate_lattice::Level;
use pyo3::prelude::*;

use crate::errors::{exception, raise};
use crate::numbers::Whole;
use crate::run::detached;

#[pyclass(frozen, module = "clathrate._native", name = "Params")]
pub struct PyParams {
    pub params: Params,
    /// Plans that operations on arrays under these parameters made.
    pub plans: KeptPlans,
    /// Plans of bootstraps that operators ran by themselves.
    pub bootstraps: AutomaticPlans,
}

/// A number of things, as core code takes it.
pub fn size(py: Python<'_>, what: &str, value: Whole) -> PyResult<usize> {
    usize::try_from(value.0).map_err(|_| {
        let reason = format!("{what} {} is out of range: use a positive number", value.0);
        raise(py, CkksError::InvalidParams { reason })
    })
}

impl PyParams {
    pub fn from_core(params: Params) -> Self {
        let bootstraps = AutomaticPlans::new(&params);
        Self { params, plans: KeptPlans::default(), bootstraps }
    }

    pub fn build(py: Python<'_>, spec: ParamsSpec, runtime: Runtime) -> PyResult<Self> {
        detached(py, move || Params::new(spec, &runtime)).map(Self::from_core)
    }

    /// `params` as Python knows them: `near`, where they are the same.
    pub fn of(py: Python<'_>, params: &Params, near: &Py<Self>) -> PyResult<Py<Self>> {
        if near.get().params == *params {
            Ok(near.clone_ref(py))
        } else {
            Py::new(py, Self::from_core(params.clone()))
        }
    }

    /// A level, or the one that arrays have unless the caller states one.
    pub fn fresh_level(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<Level> {
        if level.is_some() { self.level(py, level) } else { Ok(self.params.fresh_level()) }
    }

    /// A level, or the top.
    pub fn level(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<Level> {
        let Some(Whole(value)) = level else { return Ok(self.params.max_level()) };
        match usize::try_from(value) {
            Ok(value) if value <= self.params.max_level().0 => Ok(Level(value)),
            _ => Err(exception(
                py,
                "LevelError",
                format!("level {value} is out of range: use 0 to {}", self.params.max_level()),
            )),
        }
    }
}

#[pymethods]
impl PyParams {
    #[getter]
    fn application_levels(&self) -> Option<(usize, usize)> {
        self.params.application_levels().ok().map(|(lowest, highest)| (lowest.0, highest.0))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().params == self.params)
    }

    fn __hash__(&self) -> u64 {
        let digest = self.params.digest();
        digest[..8].iter().fold(0, |hash, &byte| hash << 8 | u64::from(byte))
    }

    fn __repr__(&self) -> String {
        format!(
            "Params(\"{}\", degree={}, rank={}, max_level={}, security_bits={:.0}{})",
            self.params.spec().name,
            self.params.degree(),
            self.params.rank(),
            self.params.max_level(),
            self.params.security_bits(),
            if self.params.is_insecure() { ", INSECURE" } else { "" }
        )
    }
}
