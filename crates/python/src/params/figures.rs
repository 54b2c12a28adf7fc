//! What parameters tell: sizes, security, scales, primes, reports, and the parameters at other degrees and
//! ranks.

use clathrate_ckks::ModuleShape;
use clathrate_ckks::parameters::Segment;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::object::{PyParams, size};
use crate::errors::raise;
use crate::numbers::Whole;
use crate::primes::{Primes, roots_of_unity};
use crate::run::detached;
use crate::runtime::PyRuntime;
use crate::text::{hex, report};

#[pymethods]
impl PyParams {
    fn explain(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let explanation = self.params.explain();
        report(py, &explanation, serde_json::to_string(&explanation))
    }

    fn switching_report(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<(String, String)> {
        let highest = self.level(py, level)?;
        let switching = detached(py, || self.params.switching_report(Some(highest)))?;
        report(py, &switching, serde_json::to_string(&switching))
    }

    fn scale(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<f64> {
        Ok(self.params.scale(self.level(py, level)?))
    }

    fn segment<'py>(&self, py: Python<'py>, level: Option<Whole>) -> PyResult<Bound<'py, PyDict>> {
        segment_dict(py, self.params.segment(self.level(py, level)?))
    }

    #[getter]
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.params.segments().iter().map(|segment| segment_dict(py, segment)).collect()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.params.scale_warnings().iter().map(ToString::to_string).collect()
    }

    fn log2_q(&self, py: Python<'_>, level: Option<Whole>) -> PyResult<f64> {
        Ok(self.params.log2_q(self.level(py, level)?))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.params.spec().name
    }

    #[getter]
    fn degree(&self) -> usize {
        self.params.degree()
    }

    #[getter]
    fn rank(&self) -> usize {
        self.params.rank()
    }

    #[getter]
    fn temporary_rank(&self) -> Option<usize> {
        self.params.temporary().map(|temporary| temporary.rank)
    }

    fn at_rank(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        detached(py, || self.params.at_rank(rank)).map(Self::from_core)
    }

    fn relative(&self, py: Python<'_>, degree: Option<Whole>, rank: Option<Whole>) -> PyResult<Self> {
        let degree = degree.map_or(Ok(self.degree()), |degree| size(py, "degree", degree))?;
        let rank = rank.map_or(Ok(self.rank()), |rank| size(py, "rank", rank))?;
        detached(py, || self.params.relative(ModuleShape { degree, rank })).map(Self::from_core)
    }

    fn rlwe(&self, py: Python<'_>) -> PyResult<Self> {
        detached(py, || self.params.relative(self.params.rlwe_shape())).map(Self::from_core)
    }

    #[getter]
    fn slot_count(&self) -> usize {
        self.params.slot_count()
    }

    #[getter]
    fn max_level(&self) -> usize {
        self.params.max_level().0
    }

    #[getter]
    fn security_bits(&self) -> f64 {
        self.params.security_bits()
    }

    #[getter]
    fn log2_qp(&self) -> f64 {
        self.params.log2_qp()
    }

    #[getter]
    fn insecure(&self) -> bool {
        self.params.is_insecure()
    }

    #[getter]
    fn digest(&self) -> String {
        hex(self.params.digest())
    }

    #[getter]
    fn runtime(&self) -> PyRuntime {
        PyRuntime::of(self.params.runtime())
    }

    #[getter]
    fn primes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Primes { steps, special, temporary, auxiliary } = Primes::of(&self.params);
        let primes = PyDict::new(py);
        primes.set_item("steps", steps)?;
        primes.set_item("special", special)?;
        primes.set_item("temporary", temporary)?;
        primes.set_item("auxiliary", auxiliary)?;
        Ok(primes)
    }

    #[getter]
    fn roots_of_unity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let roots = PyDict::new(py);
        for (prime, root) in roots_of_unity(&self.params).map_err(|error| raise(py, error))? {
            roots.set_item(prime, root)?;
        }
        Ok(roots)
    }
}

fn segment_dict<'py>(py: Python<'py>, segment: &Segment) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("name", &segment.name)?;
    fields.set_item("log2_scale", segment.log2_scale)?;
    fields.set_item("levels", segment.levels)?;
    Ok(fields)
}
