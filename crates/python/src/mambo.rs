//! Products of plain matrices inside bootstraps.

use std::sync::Arc;

use clathrate_ckks::circuits::mambo::{MamboMatrix, MamboOptions, MamboPlan, Placement};
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions};
use clathrate_ckks::circuits::prepared::PreparedOptions;
use clathrate_ckks::{BootstrapOptions, Evaluator, Matrix};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::matrix;
use crate::ciphertext::PyCiphertext;
use crate::errors::out_of_range;
use crate::evaluation_keys::PyEvaluationKeys;
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::{PyParams, size};
use crate::run::{detached, running};

#[pyclass(frozen, module = "clathrate._native", name = "MamboPlan")]
pub struct PyMamboPlan {
    plan: Arc<MamboPlan>,
}

#[pymethods]
impl PyMamboPlan {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyParams>,
        weights: &Bound<'_, PyAny>,
        columns: Option<Whole>,
        is_complex: bool,
        bodies: Option<&Bound<'_, PyAny>>,
        method: Option<&str>,
        precision_bits: Option<Real>,
        key_bytes: Option<Whole>,
        uses: Option<Whole>,
        ring: Option<Whole>,
        placement: &str,
    ) -> PyResult<Self> {
        let (values, rows, inner) = matrix(weights, &[])?;
        let params = params.get();
        let columns =
            columns.map_or(Ok(params.params.slot_count()), |columns| columns.count(py, "`columns`"))?;
        let named = |name: &str| {
            let found = MatrixMethod::ALL.into_iter().find(|method| method.name() == name);
            let remedy = "use \"exact\", \"by rows\" or \"prepared\", or leave it out";
            found.ok_or_else(|| out_of_range(py, "`method`", format!("{name:?}"), remedy))
        };
        let name = bodies.and_then(|bodies| bodies.extract::<String>().ok());
        let fastest_bodies = name.as_deref() == Some("fastest");
        if let Some(name) = name.filter(|_| !fastest_bodies) {
            return Err(out_of_range(
                py,
                "`bodies`",
                format!("{name:?}"),
                "use a whole number or \"fastest\"",
            ));
        }
        let given: Option<Whole> =
            bodies.filter(|_| !fastest_bodies).map(|bodies| bodies.extract()).transpose()?;
        let bootstrap = BootstrapOptions {
            real: !is_complex,
            bodies: given.map_or(Ok(1), |bodies| size(py, "bodies", bodies))?,
            most_key_bytes: key_bytes.map(|bytes| size(py, "key_bytes", bytes)).transpose()?,
            ..BootstrapOptions::default()
        };
        let precision =
            PreparedOptions { precision_bits: Real::given(precision_bits), ..PreparedOptions::default() };
        let whole =
            |name: &'static str, value: Option<Whole>| value.map(|value| value.count(py, name)).transpose();
        let (method, uses, ring) =
            (method.map(named).transpose()?, whole("`uses`", uses)?, whole("`ring`", ring)?);
        let product = MatrixOptions { precision, method, uses, ring, ..MatrixOptions::default() };
        let placed = Placement::ALL.into_iter().find(|own| own.name() == placement);
        if placed.is_none() && placement != "fastest" {
            let remedy = "use \"inside\", \"before\" or \"fastest\"";
            return Err(out_of_range(py, "`placement`", format!("{placement:?}"), remedy));
        }
        let options = MamboOptions {
            bootstrap,
            matrix: product,
            placement: placed.unwrap_or_default(),
            fastest_bodies,
        };
        let weights = Matrix::new(rows, inner, &values);
        let plan = detached(py, || match placed {
            Some(_) => MamboPlan::new(&params.params, weights, columns, &options),
            None => MamboPlan::fastest(&params.params, weights, columns, &options),
        })?;
        Ok(Self { plan: Arc::new(plan) })
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.plan.shape()
    }

    #[getter]
    fn columns(&self) -> usize {
        self.plan.columns()
    }

    #[getter]
    fn input_shape(&self) -> (usize, usize) {
        self.plan.array_shapes().0.into()
    }

    #[getter]
    fn output_shape(&self) -> (usize, usize) {
        self.plan.array_shapes().1.into()
    }

    #[getter]
    fn bodies(&self) -> usize {
        self.plan.bootstrap().bodies()
    }

    #[getter]
    fn placement(&self) -> &'static str {
        self.plan.placement().name()
    }

    #[getter]
    fn input_level(&self) -> usize {
        self.plan.input_level().0
    }

    #[getter]
    fn output_level(&self) -> usize {
        self.plan.bootstrap().output_level().0
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.plan.matrix().chosen().method.name()
    }

    #[getter]
    fn ring(&self) -> usize {
        self.plan.matrix().chosen().ring.unwrap_or_else(|| self.plan.bootstrap().params().degree())
    }

    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<PyNeeds> {
        detached(py, || self.plan.needs()).map(|needs| PyNeeds { needs })
    }

    #[getter]
    fn encryption<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let arguments = PyDict::new(py);
        arguments.set_item("encoding", "slots")?;
        arguments.set_item("level", self.input_level())?;
        Ok(arguments)
    }

    #[getter]
    fn seconds(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(detached(py, || self.plan.predicted_nanoseconds())?.0 / 1e9)
    }

    #[getter]
    fn product_seconds(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(detached(py, || self.plan.predicted_nanoseconds())?.1 / 1e9)
    }

    #[getter]
    fn precision_bits(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(-detached(py, || self.plan.predicted_error())?.log2())
    }

    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.plan.explain())
    }

    fn prepare(
        &self,
        py: Python<'_>,
        keys: &PyEvaluationKeys,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyMamboMatrix> {
        let evaluator = Evaluator::with_keys(keys.keys.clone());
        let matrix = running(py, progress, "prepare", |progress| {
            self.plan.prepare(&evaluator.clone().with_progress(progress.clone()))
        })?;
        Ok(PyMamboMatrix { matrix, evaluator })
    }

    fn __repr__(&self) -> String {
        let (rows, inner) = self.plan.shape();
        format!("MamboPlan({rows} x {inner}, {} slots in a row, {})", self.plan.columns(), self.method())
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "MamboMatrix")]
pub struct PyMamboMatrix {
    matrix: MamboMatrix,
    evaluator: Evaluator,
}

#[pymethods]
impl PyMamboMatrix {
    fn matmul(
        &self,
        py: Python<'_>,
        array: &PyCiphertext,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCiphertext> {
        // Keys that the array carries are for what comes next.
        let own = Some(&self.evaluator).filter(|_| !array.data().is_symbol());
        array.compute_long(py, ("matmul", progress), |x| {
            let evaluator = own.map(|own| own.clone().with_progress(x.evaluator().progress().clone()));
            let x = evaluator.map_or_else(|| x.clone(), |evaluator| x.with_evaluator(&evaluator));
            x.map_settled(|evaluator, x| self.matrix.multiply(evaluator, x))
        })
    }

    fn __repr__(&self) -> String {
        let plan = self.matrix.plan();
        let (rows, inner) = plan.shape();
        format!(
            "MamboMatrix({rows} x {inner}, {} slots in a row, {})",
            plan.columns(),
            plan.matrix().chosen().method.name()
        )
    }
}

#[pyfunction]
pub fn mambo(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    array: &PyCiphertext,
    columns: Option<Whole>,
) -> PyResult<PyCiphertext> {
    let (values, rows, inner) = matrix(weights, &[])?;
    let slots = array.data().params().slot_count();
    let columns = columns.map_or(Ok(slots), |columns| columns.count(py, "`columns`"))?;
    array.compute(py, |x| {
        x.map_settled(|evaluator, x| {
            let weights = Matrix::new(rows, inner, &values);
            let plan = Arc::new(MamboPlan::new(x.params(), weights, columns, &MamboOptions::default())?);
            plan.prepare(evaluator)?.multiply(evaluator, x)
        })
    })
}
