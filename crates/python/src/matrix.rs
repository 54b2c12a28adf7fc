//! Plans of products of plain matrices with encrypted ones, and matrices that are ready for them.

use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions, MatrixPlan, PlannedMatrix};
use clathrate_ckks::circuits::prepared::{Arrangement, PreparedMatrix, PreparedOptions};
use clathrate_ckks::file::FileReader;
use clathrate_ckks::keys::Lanes;
use clathrate_ckks::{CkksError, Evaluator, Matrix};
use clathrate_lattice::Level;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::matrix;
use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, out_of_range};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::layout::body_count;
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::run::{detached, file_bytes, running, transferring};
use crate::saving::save;
use crate::trusted::options_of;

#[pyclass(frozen, module = "clathrate._native", name = "MatrixPlan")]
pub struct PyMatrixPlan {
    plan: MatrixPlan,
}

#[pymethods]
impl PyMatrixPlan {
    #[new]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn new(
        py: Python<'_>,
        params: &Bound<'_, PyParams>,
        weights: &Bound<'_, PyAny>,
        columns: Whole,
        level: Option<Whole>,
        lanes: Option<Whole>,
        bodies: Option<Whole>,
        masks: &str,
        precision_bits: Option<Real>,
        products: Option<Whole>,
        method: Option<&str>,
        uses: Option<Whole>,
        key_bytes: Option<Whole>,
        ring: Option<Whole>,
    ) -> PyResult<Self> {
        let (values, rows, inner) = matrix(weights, &[])?;
        let params = params.get();
        let whole =
            |name: &'static str, value: Option<Whole>| value.map(|value| value.count(py, name)).transpose();
        let precision_bits = Real::given(precision_bits);
        if let Some(bits) = precision_bits.filter(|bits| !bits.is_finite() || bits.abs() > 1000.0) {
            return Err(out_of_range(
                py,
                "`precision_bits`",
                bits,
                "give the correct bits after the binary point, below 1000",
            ));
        }
        let own_masks = match masks {
            "shared" => false,
            "own" => true,
            other => {
                return Err(out_of_range(py, "`masks`", format!("{other:?}"), "use \"shared\" or \"own\""));
            }
        };
        let named = |name: &str| {
            let found = MatrixMethod::ALL.into_iter().find(|method| method.name() == name);
            found.ok_or_else(|| {
                out_of_range(
                    py,
                    "`method`",
                    format!("{name:?}"),
                    "use \"exact\", \"by rows\" or \"prepared\", or leave it out",
                )
            })
        };
        let bodies = bodies.map(|bodies| body_count(py, "`bodies`", bodies)).transpose()?;
        let options = MatrixOptions {
            arrangement: Arrangement {
                level: whole("`level`", level)?.map(Level),
                lanes: whole("`lanes`", lanes)?,
                bodies,
            },
            precision: PreparedOptions {
                precision_bits,
                products: whole("`products`", products)?,
                own_masks,
            },
            method: method.map(named).transpose()?,
            uses: whole("`uses`", uses)?,
            most_key_bytes: whole("`key_bytes`", key_bytes)?,
            ring: whole("`ring`", ring)?,
        };
        let (columns, own) = (columns.count(py, "`columns`")?, &params.params);
        let plan =
            detached(py, || MatrixPlan::new(own, Matrix::new(rows, inner, &values), columns, &options))?;
        Ok(Self { plan })
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.plan.shape()
    }

    #[getter]
    fn level(&self) -> usize {
        self.plan.level().0
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.plan.chosen().method.name()
    }

    #[getter]
    fn ring(&self) -> usize {
        self.plan.chosen().ring.unwrap_or_else(|| self.plan.params().degree())
    }

    #[getter]
    fn products(&self) -> usize {
        self.plan.chosen().products
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.plan.chosen().nanoseconds / 1e9
    }

    #[getter]
    fn preparation_seconds(&self) -> f64 {
        self.plan.chosen().preparation / 1e9
    }

    #[getter]
    fn precision_bits(&self) -> f64 {
        -self.plan.chosen().error.log2()
    }

    #[getter]
    fn key_bytes(&self) -> usize {
        self.plan.chosen().matrix_key_bytes
    }

    #[getter]
    fn owner_key_bytes(&self) -> usize {
        self.plan.chosen().owner_key_bytes
    }

    #[getter]
    fn encryption<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let options = self.plan.encryption();
        let arguments = PyDict::new(py);
        arguments.set_item("encoding", "coefficients")?;
        arguments.set_item("level", options.level.map(|level| level.0))?;
        if let Some(bodies) = options.bodies {
            arguments.set_item("bodies", bodies)?;
            arguments.set_item("axis", "rows")?;
        }
        if let Some(Lanes::Of(lanes)) = options.lanes {
            arguments.set_item("lanes", lanes)?;
        }
        Ok(arguments)
    }

    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.plan.needs() }
    }

    fn explain(&self) -> String {
        self.plan.explain()
    }

    fn prepare(
        &self,
        py: Python<'_>,
        keys: Option<&PyEvaluationKeys>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyPreparedMatrix> {
        if keys.is_none() && self.plan.prepared().is_some() {
            let message =
                "a prepared product needs keys: `plan.prepare(owner.evaluation_keys(plan.needs))`".to_owned();
            return Err(exception(py, "MissingKeyError", message));
        }
        let evaluator = keys.map_or_else(
            || Evaluator::new(self.plan.params()),
            |keys| Evaluator::with_keys(keys.keys.clone()),
        );
        let matrix = running(py, progress, "prepare", |progress| {
            self.plan.prepare(&evaluator.clone().with_progress(progress.clone()))
        })?;
        Ok(PyPreparedMatrix { matrix, evaluator: Some(evaluator) })
    }

    fn __repr__(&self) -> String {
        let (rows, inner) = self.shape();
        format!(
            "MatrixPlan({rows} x {inner}, {}, products={}, precision_bits={:.1})",
            self.method(),
            self.products(),
            self.precision_bits()
        )
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "PreparedMatrix")]
pub struct PyPreparedMatrix {
    matrix: PlannedMatrix,
    /// With the keys that the matrix was prepared with; absent for a matrix from a file.
    evaluator: Option<Evaluator>,
}

impl PyPreparedMatrix {
    pub fn new(matrix: PreparedMatrix) -> Result<Self, CkksError> {
        Ok(Self { matrix: PlannedMatrix::from_prepared(matrix)?, evaluator: None })
    }
}

#[pymethods]
impl PyPreparedMatrix {
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.matrix.plan().shape()
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.matrix.plan().chosen().method.name()
    }

    #[getter]
    fn key_bytes(&self) -> usize {
        self.matrix.prepared().map_or(0, PreparedMatrix::key_bytes)
    }

    fn explain(&self) -> String {
        self.matrix.explain()
    }

    fn matmul(
        &self,
        py: Python<'_>,
        array: &PyCiphertext,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCiphertext> {
        let own = self.evaluator.as_ref().filter(|_| !array.has_keys());
        array.compute_long(py, ("matmul", progress), |x| {
            let evaluator = own.map(|own| own.clone().with_progress(x.evaluator().progress().clone()));
            let x = evaluator.map_or_else(|| x.clone(), |evaluator| x.with_evaluator(&evaluator));
            x.map_settled(|evaluator, x| self.matrix.multiply(evaluator, x))
        })
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        let Some(prepared) = self.matrix.prepared() else {
            let remedy = "keep the numbers, with numpy.save for example, and plan again";
            return Err(out_of_range(
                py,
                "a file of a product by the method",
                format!("{:?}", self.method()),
                remedy,
            ));
        };
        save(py, prepared, &path, overwrite, prepared.key_bytes())
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: &PyParams, trusted_map: bool) -> PyResult<Self> {
        transferring(py, "loading", file_bytes(&path), |progress| {
            let reader = FileReader::open_with(&path, options_of(trusted_map))?;
            Self::new(PreparedMatrix::from_reader(&reader.with_progress(progress.clone()), &params.params)?)
        })
    }

    fn __matmul__(&self, py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<PyCiphertext> {
        let Ok(array) = array.cast::<PyCiphertext>() else {
            let message = format!(
                "a prepared matrix multiplies encrypted matrices, not {}: encrypt it as `MatrixPlan.encryption` says",
                array.get_type().name()?
            );
            return Err(PyTypeError::new_err(message));
        };
        self.matmul(py, array.get(), None)
    }

    fn __repr__(&self) -> String {
        let (rows, inner) = self.shape();
        format!(
            "PreparedMatrix({rows} x {inner}, {}, {:.1} MiB of keys)",
            self.method(),
            self.key_bytes() as f64 / f64::from(1 << 20)
        )
    }
}
