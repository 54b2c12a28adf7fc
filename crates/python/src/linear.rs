//! Linear transforms of encrypted rows: the map, its plan, and the call.

use std::sync::Arc;

use clathrate_ckks::file::FileReader;
use clathrate_ckks::keys::Values;
use clathrate_ckks::{LinearTransform, LinearTransformOptions, LinearTransformPlan};
use numpy::Complex64;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{array, to_numpy};
use crate::buffers::{BufferAndRebuild, reduce};
use crate::ciphertext::PyCiphertext;
use crate::errors::{check_scale, exception, out_of_range, raise};
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::{PyParams, size};
use crate::paths::FilePath;
use crate::recipe::Reduced;
use crate::run::{detached, file_bytes, watch};
use crate::saving::save;
use crate::text::report_html;
use crate::trusted::options_of;

/// A matrix that multiplies encrypted rows in slots: `plan(ct)` is `matrix @ row` for each row.
///
/// The matrix is cut into diagonals. Each diagonal multiplies a rotation of the row, so a product needs rotation keys: `plan.needs` lists
/// them. A product with an encrypted array in coefficients, `matrix @ ct`, needs no keys; use that where no product of ciphertexts follows.
///
/// Parameters
/// ----------
/// matrix : array_like
///     A real or complex matrix (rows, columns).
///
/// Raises
/// ------
/// DataError
///     Where a number is not finite.
/// ShapeError
///     Where the matrix does not have two axes.
///
/// Examples
/// --------
/// >>> swap = cl.LinearTransform([[0.0, 1.0], [0.5, 0.0]])
/// >>> swap
/// LinearTransform(2 x 2, 1 diagonal)
/// >>> swap(np.array([3.0, 4.0]))
/// array([4. , 1.5])
#[pyclass(frozen, module = "clathrate", name = "LinearTransform")]
pub struct PyLinearTransform {
    transform: LinearTransform,
}

#[pymethods]
impl PyLinearTransform {
    #[new]
    #[pyo3(signature = (matrix))]
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

    /// The map with the given diagonals: entry j of the result is the sum of `diagonals[s][j] * row[(j + s) % slots]`.
    ///
    /// Parameters
    /// ----------
    /// diagonals : dict
    ///     From the shift s, which may be negative, to one period of the diagonal: real or complex numbers, as many as a power of two.
    /// slots : int
    ///     The length of rows, a power of two.
    ///
    /// Returns
    /// -------
    /// LinearTransform
    ///     The map.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where `slots` or a length is not a power of two, a diagonal is longer than `slots`, or a number is not finite.
    ///
    /// Examples
    /// --------
    /// >>> cl.LinearTransform.from_diagonals({0: [1.0], 1: [0.5]}, 4)(np.array([1.0, 2.0, 3.0, 4.0]))
    /// array([2. , 3.5, 5. , 4.5])
    #[staticmethod]
    #[pyo3(signature = (diagonals, slots))]
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

    /// The image of a row: of numbers, or of an encrypted array, with a plan made for it.
    fn __call__<'py>(&self, py: Python<'py>, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(ciphertext) = row.cast::<PyCiphertext>() {
            let image = ciphertext
                .get()
                .map_settled(py, |evaluator, x| evaluator.evaluate_linear(x, &self.transform))?;
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

    /// The circuit for encrypted rows of one level: which rotations are computed, and how they are shared.
    ///
    /// Parameters
    /// ----------
    /// params : Params
    ///     The parameters.
    /// level : int, optional
    ///     The level of the input; by default that of `SecretKey.encrypt`.
    /// scale : float, optional
    ///     The scale of the input; by default the canonical scale of the level.
    /// keys : int, optional
    ///     The most rotation keys to use; by default as many as the fastest plan needs. Every map can be had with three keys or less, by
    ///     rotations that follow one another, which takes longer.
    /// key_bytes : int, optional
    ///     The most bytes that the rotation keys may take in memory; by default as many as the fastest plan needs.
    /// on_the_fly : bool, optional
    ///     Whether the diagonals are encoded anew for each use and not kept: less memory, more time. The default is False.
    ///
    /// Returns
    /// -------
    /// LinearTransformPlan
    ///     The plan.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the parameters have fewer slots than the map, or the map is zero, or every plan needs more keys or bytes.
    /// LevelError
    ///     Where the level is 0 or not one of the parameters.
    ///
    /// Examples
    /// --------
    /// >>> plan = cl.LinearTransform([[0.0, 1.0], [0.5, 0.0]]).plan(params)
    /// >>> keys = secret_key.evaluation_keys(plan.needs)
    /// >>> row = secret_key.encrypt([3.0, 4.0]).with_keys(keys)
    /// >>> secret_key.decrypt(plan(row)).round(4)
    /// array([4. , 1.5])
    #[pyo3(signature = (params, level=None, scale=None, keys=None, key_bytes=None, on_the_fly=false))]
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

    /// The matrix's shape, (rows, columns).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.transform.rows(), self.transform.columns())
    }

    /// The number of slots that rows must be encrypted with, a power of two.
    #[getter]
    fn slots(&self) -> usize {
        self.transform.slots()
    }

    /// The shifts of the diagonals that are not zero, ascending.
    #[getter]
    fn shifts(&self) -> Vec<usize> {
        self.transform.shifts().collect()
    }

    /// The same map for a matrix of this shape, of which the diagonals are those.
    fn _of_shape(&self, py: Python<'_>, rows: usize, columns: usize) -> PyResult<Self> {
        let refuse = || {
            exception(py, "DataError", format!("the diagonals are not those of a {rows} x {columns} matrix"))
        };
        Ok(Self { transform: self.transform.clone().of_shape(rows, columns).ok_or_else(refuse)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let diagonals = PyDict::new(py);
        for shift in self.transform.shifts() {
            let numbers = self.transform.diagonal(shift as i64).unwrap_or_default().to_vec();
            let count = numbers.len();
            diagonals.set_item(shift, to_numpy(py, Values::Complex(numbers), &[count])?)?;
        }
        let rebuild = py.import("clathrate._pickle")?.getattr("rebuild_transform")?;
        Ok((rebuild, (diagonals, self.slots(), self.shape()).into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = self.shape();
        let count = clathrate_arith::text::counted(self.transform.shifts().count(), "diagonal");
        format!("LinearTransform({rows} x {columns}, {count})")
    }
}

/// The circuit of a linear transform for inputs of one level and scale: `plan(ct)` carries it out.
///
/// `LinearTransform.plan` makes it. The encoded diagonals are kept with the plan, so later calls are faster than the first one; a file of
/// the plan holds them, too.
///
/// Examples
/// --------
/// >>> cl.LinearTransform(np.eye(4)[::-1]).plan(params).rotations
/// [1, 3]
#[pyclass(frozen, module = "clathrate", name = "LinearTransformPlan")]
pub struct PyLinearTransformPlan {
    pub plan: Arc<LinearTransformPlan>,
}

#[pymethods]
impl PyLinearTransformPlan {
    fn __call__(&self, py: Python<'_>, ciphertext: &PyCiphertext) -> PyResult<PyCiphertext> {
        ciphertext.map_settled(py, |evaluator, x| evaluator.run_linear(x, &self.plan))
    }

    /// The rotations that the plan needs keys for, ascending, modulo the parameters' slots.
    #[getter]
    fn rotations(&self) -> Vec<i64> {
        let slots = self.plan.params().slot_count() as i64;
        let mut steps: Vec<i64> =
            self.plan.rotations().into_iter().map(|steps| steps.rem_euclid(slots)).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// The keys that the plan needs, for `SecretKey.evaluation_keys`.
    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<PyNeeds> {
        detached(py, || self.plan.needs()).map(|needs| PyNeeds { needs })
    }

    /// The level of the input; the result is one level below.
    #[getter]
    fn input_level(&self) -> usize {
        self.plan.input_level().0
    }

    /// The scale of the result.
    #[getter]
    fn output_scale(&self) -> f64 {
        self.plan.output_scale()
    }

    /// The bytes of the diagonals that were encoded so far.
    #[getter]
    fn nbytes(&self) -> usize {
        self.plan.plaintext_bytes()
    }

    /// Encodes the diagonals now, unless that has been done, so that the first call with keys made for this plan need not do it.
    ///
    /// Returns
    /// -------
    /// int
    ///     The bytes of the encoded diagonals, as `nbytes`.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     Where the plan keeps no diagonals (`on_the_fly`).
    ///
    /// Examples
    /// --------
    /// >>> plan = cl.LinearTransform(np.eye(4)[::-1]).plan(params)
    /// >>> plan.encode() == plan.nbytes > 0
    /// True
    fn encode(&self, py: Python<'_>) -> PyResult<usize> {
        detached(py, || self.plan.encode())?;
        Ok(self.plan.plaintext_bytes())
    }

    /// Writes the plan to a file: the numbers of the matrix, and the diagonals that have been encoded so far.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
    /// overwrite : bool, optional
    ///     Whether a file that exists may be replaced. The default is True; for secret keys it is False.
    ///
    /// Returns
    /// -------
    /// int
    ///     The file's length in bytes.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.
    ///
    /// Examples
    /// --------
    /// >>> plan = cl.LinearTransform(np.eye(4)[::-1]).plan(params)
    /// >>> encoded = plan.encode()
    /// >>> size = plan.save("flip.clt")
    /// >>> cl.LinearTransformPlan.load("flip.clt", params).rotations
    /// [1, 3]
    #[pyo3(signature = (path, overwrite=true))]
    fn save(&self, py: Python<'_>, path: FilePath, overwrite: bool) -> PyResult<u64> {
        save(py, &*self.plan, &path, overwrite, self.plan.plaintext_bytes())
    }

    /// Reads a plan from a file.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    /// params : Params
    ///     The parameters that the plan was made for.
    /// trusted_map : bool, optional
    ///     Whether encoded diagonals stay in the file and are read from there when they are used. True is a promise that no program
    ///     changes the file as long as the object lives, because that would change results or end this process. The default is False.
    ///
    /// Returns
    /// -------
    /// LinearTransformPlan
    ///     The plan.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     Where the file does not hold the plan of a linear transform, or is damaged.
    /// FileAccessError
    ///     Where the file cannot be read.
    /// WrongParamsError
    ///     Where the plan was made for other parameters.
    ///
    /// Examples
    /// --------
    /// >>> size = cl.LinearTransform(np.eye(4)[::-1]).plan(params).save("flip.clt")
    /// >>> cl.LinearTransformPlan.load("flip.clt", params, trusted_map=True)
    /// LinearTransformPlan(levels 5 to 4, 2 baby steps, 0 giant steps)
    #[staticmethod]
    #[pyo3(signature = (path, params, trusted_map=false))]
    fn load(py: Python<'_>, path: FilePath, params: &PyParams, trusted_map: bool) -> PyResult<Self> {
        let read = || {
            LinearTransformPlan::from_reader(
                &FileReader::open_with(&path, options_of(trusted_map))?
                    .watched_by(watch("loading", file_bytes(&path))),
                &params.params,
            )
        };
        Ok(Self { plan: Arc::new(detached(py, read)?) })
    }

    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.__repr__())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: Whole) -> PyResult<BufferAndRebuild<'py>> {
        let params = Py::new(py, PyParams::from_core(self.plan.params().clone()))?;
        reduce(py, &*self.plan, self.plan.plaintext_bytes(), &params, protocol)
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
