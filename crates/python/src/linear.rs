//! Linear transforms of encrypted rows: the map, its plan, and the call.

use std::sync::Arc;

use clathrate_ckks::file::FileReader;
use clathrate_ckks::keys::Values;
use clathrate_ckks::{LinearTransform, LinearTransformOptions, LinearTransformPlan};
use numpy::Complex64;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{array, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::{check_scale, exception, out_of_range, raise};
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::{PyParams, size};
use crate::paths::FilePath;
use crate::run::{detached, file_bytes, transferring};
use crate::saving::{save, to_array, to_bytes};
use crate::trusted::options_of;

#[pyclass(frozen, module = "clathrate._native", name = "LinearTransform")]
pub struct PyLinearTransform {
    transform: LinearTransform,
}

#[pymethods]
impl PyLinearTransform {
    #[new]
    fn new(matrix: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = matrix.py();
        let array = array(matrix)?;
        let &[rows, columns] = &array.shape[..] else {
            let message = format!("the matrix has shape {:?}: give two axes, (rows, columns)", array.shape);
            return Err(exception(py, "ShapeError", message));
        };
        let values = array.values;
        let transform =
            LinearTransform::from_matrix(&values, rows, columns).map_err(|error| raise(py, error))?;
        Ok(Self { transform })
    }

    #[staticmethod]
    fn from_diagonals(py: Python<'_>, diagonals: &Bound<'_, PyDict>, slots: Whole) -> PyResult<Self> {
        let slots = usize::try_from(slots.0)
            .map_err(|_| out_of_range(py, "`slots`", slots.0, "use a power of two"))?;
        let entry =
            |(shift, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(i64, Vec<Complex64>)> {
                Ok((shift.extract::<Whole>()?.steps(py)?, array(&values)?.values.into_complex()))
            };
        let entries = diagonals.iter().map(entry).collect::<PyResult<Vec<_>>>()?;
        let transform = LinearTransform::from_diagonals(slots, entries).map_err(|error| raise(py, error))?;
        Ok(Self { transform })
    }

    fn __call__<'py>(&self, py: Python<'py>, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(ciphertext) = row.cast::<PyCiphertext>() {
            let image = ciphertext
                .get()
                .compute(py, |x| x.map_settled(|evaluator, x| self.transform.apply(evaluator, x)))?;
            return Ok(Bound::new(py, image)?.into_any());
        }
        let array = array(row)?;
        if array.shape.len() != 1 {
            return Err(PyTypeError::new_err(format!(
                "expected one row of numbers, got shape {:?}",
                array.shape
            )));
        }
        let complex = array.values.is_complex() || self.transform.is_complex();
        let image =
            self.transform.evaluate(&array.values.into_complex()).map_err(|error| raise(py, error))?;
        let count = image.len();
        let values = if complex {
            Values::Complex(image)
        } else {
            Values::Real(image.into_iter().map(|z| z.re).collect())
        };
        to_numpy(py, values, &[count])
    }

    fn plan(
        &self,
        py: Python<'_>,
        params: &PyParams,
        level: Option<Whole>,
        scale: Option<Real>,
        keys: Option<Whole>,
        key_bytes: Option<Whole>,
        on_the_fly: bool,
    ) -> PyResult<PyLinearTransformPlan> {
        let level = params.fresh_level(py, level)?;
        let scale = Real::given(scale);
        check_scale(py, "scale", scale, "or leave it out for the canonical scale of the level")?;
        let most_keys = keys.map(|keys| size(py, "the number of keys", keys)).transpose()?;
        let most_key_bytes = key_bytes.map(|bytes| size(py, "key_bytes", bytes)).transpose()?;
        let options = LinearTransformOptions {
            input_scale: scale,
            output_scale: None,
            most_keys,
            most_key_bytes,
            on_the_fly,
            bodies: None,
        };
        let plan = detached(py, || self.transform.plan_with(&params.params, level, options))?;
        Ok(PyLinearTransformPlan { plan: Arc::new(plan) })
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.transform.rows(), self.transform.columns())
    }

    #[getter]
    fn slots(&self) -> usize {
        self.transform.slots()
    }

    #[getter]
    fn shifts(&self) -> Vec<usize> {
        self.transform.shifts().collect()
    }

    fn diagonals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let diagonals = PyDict::new(py);
        for shift in self.transform.shifts() {
            let numbers = self.transform.diagonal(shift as i64).unwrap_or_default().to_vec();
            let count = numbers.len();
            diagonals.set_item(shift, to_numpy(py, Values::Complex(numbers), &[count])?)?;
        }
        Ok(diagonals)
    }

    fn of_shape(&self, py: Python<'_>, rows: usize, columns: usize) -> PyResult<Self> {
        let refuse = || {
            exception(py, "DataError", format!("the diagonals are not those of a {rows} x {columns} matrix"))
        };
        Ok(Self { transform: self.transform.clone().of_shape(rows, columns).ok_or_else(refuse)? })
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = self.shape();
        let count = clathrate_arith::text::counted(self.transform.shifts().count(), "diagonal");
        format!("LinearTransform({rows} x {columns}, {count})")
    }
}

#[pyclass(frozen, module = "clathrate._native", name = "LinearTransformPlan")]
pub struct PyLinearTransformPlan {
    pub plan: Arc<LinearTransformPlan>,
}

#[pymethods]
impl PyLinearTransformPlan {
    fn __call__(&self, py: Python<'_>, ciphertext: &PyCiphertext) -> PyResult<PyCiphertext> {
        ciphertext.compute(py, |x| x.map_settled(|evaluator, x| self.plan.run(evaluator, x)))
    }

    #[getter]
    fn rotations(&self) -> Vec<i64> {
        let slots = self.plan.params().slot_count() as i64;
        let mut steps: Vec<i64> =
            self.plan.rotations().into_iter().map(|steps| steps.rem_euclid(slots)).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
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
    fn output_scale(&self) -> f64 {
        self.plan.output_scale()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.plan.plaintext_bytes()
    }

    fn params(&self) -> PyParams {
        PyParams::from_core(self.plan.params().clone())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &*self.plan, self.plan.plaintext_bytes())
    }

    fn to_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_array(py, &*self.plan, self.plan.plaintext_bytes())
    }

    fn encode(&self, py: Python<'_>) -> PyResult<usize> {
        detached(py, || self.plan.encode())?;
        Ok(self.plan.plaintext_bytes())
    }

    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &*self.plan, &path, overwrite, self.plan.plaintext_bytes())
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: &PyParams, trusted_map: bool) -> PyResult<Self> {
        let plan = transferring(py, "loading", file_bytes(&path), |progress| {
            let reader = FileReader::open_with(&path, options_of(trusted_map))?;
            LinearTransformPlan::from_reader(&reader.with_progress(progress.clone()), &params.params)
        })?;
        Ok(Self { plan: Arc::new(plan) })
    }

    fn __repr__(&self) -> String {
        let (level, babies, giants) =
            (self.plan.input_level().0, self.plan.baby_steps().count(), self.plan.giant_steps().count());
        format!(
            "LinearTransformPlan(levels {level} to {}, {babies} baby steps, {giants} giant steps)",
            level - 1
        )
    }
}
