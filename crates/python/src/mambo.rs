//! Products of plain matrices inside bootstraps.

use std::sync::Arc;

use clathrate_ckks::circuits::mambo::{MamboMatrix, MamboOptions, MamboPlan, Placement};
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions};
use clathrate_ckks::circuits::prepared::PreparedOptions;
use clathrate_ckks::keys::Values;
use clathrate_ckks::{BootstrapOptions, Evaluator};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{matrix, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::{out_of_range, raise};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::{PyParams, size};
use crate::recipe::{Recipe, Reduced, arguments};
use crate::run::{detached, interruptible, with_progress};
use crate::text::report_html;

/// A plan of products of one plain matrix with encrypted matrices inside a bootstrap: the product comes out at a high level, for the
/// price of a product at the shortest modulus.
///
/// A bootstrap passes level 1 with the numbers in coefficients, where products with plain matrices are fastest. The rows of X lie one
/// behind the other in the slots: a matrix X of shape (inner, columns) is encrypted as `X.reshape(-1, slots)`, filled up with zeros, and so
/// comes the product.
///
/// Parameters
/// ----------
/// params : Params
///     Parameters that can be bootstrapped, with two levels or more below those of the application for a product inside.
/// weights : array_like
///     The plain matrix W, of shape (rows, inner), of real numbers.
/// columns : int
///     The slots of a row of X, a power of two or a multiple of all slots. By default all slots of a polynomial.
/// is_complex : bool, optional
///     Whether the numbers of X may be complex. For real numbers alone the bootstrap takes less time. The default is True.
/// bodies : int or "fastest", optional
///     How many polynomials share a mask in the linear maps, as in `BootstrapPlan`. "fastest" takes the power of two that is predicted to
///     be fastest for the polynomials of this product, of those that are secure and whose keys are within `key_bytes`, or else the
///     parameters' own limit, or else three times those of one body. The default is 1.
/// method : {"exact", "by rows", "prepared"}, optional
///     The method of the product, as in `MatrixPlan`. None, the default, is the fastest that fits.
/// precision_bits : float, optional
///     The correct bits that the product alone must have, as in `MatrixPlan`.
/// key_bytes : int, optional
///     The most bytes that the keys of the bootstrap may take in memory.
/// uses : int, optional
///     For how many products the matrix is prepared: the time of the preparation counts among so many. None, the default, does not
///     count it.
/// ring : int, optional
///     The degree of the ring in which an exact product is computed, as in `MatrixPlan`. None, the default, is the best.
/// placement : {"inside", "before", "fastest"}, optional
///     Where the product is: "inside", the default, is between the stages of the bootstrap, at level 1. "before" is for rows that fill
///     polynomials: one level above the bootstrap, or at level 1 for one round where slots-to-coefficients comes last. It bootstraps the
///     product's polynomials alone, which are few where W has few rows. "fastest" takes the one that is predicted to be faster.
///
/// Raises
/// ------
/// ParamsError
///     Where the parameters cannot be bootstrapped, or have no level for the product.
/// DataError
///     For weights that are NaN, infinite, too large or none, for columns that neither divide nor fill the slots, and for a precision or
///     keys that nothing reaches.
/// ShapeError
///     Where the weights are no matrix.
/// TypeError
///     For weights that are not real numbers.
///
/// Notes
/// -----
/// Numbers must be at most 1 in magnitude, in X and in the product: scale W where sums are larger. Source: the product inside the bootstrap
/// is MaMBo (Bae, Cheon, Hanrot, Park, Stehle), section 6.3.
///
/// Examples
/// --------
/// >>> params = cl.Params.preset("insecure_boot")
/// >>> owner = cl.SecretKey.generate(params)
/// >>> W = np.linspace(-1, 1, 64).reshape(8, 8) / 8
/// >>> plan = cl.MamboPlan(params, W, columns=64)
/// >>> matrix = plan.prepare(owner.evaluation_keys(plan.needs))
/// >>> X = np.linspace(-1, 1, 512).reshape(8, 64)
/// >>> x = owner.encrypt(X.reshape(plan.input_shape), **plan.encryption)
/// >>> y = matrix @ x
/// >>> x.level, y.level
/// (3, 6)
/// >>> bool(abs(owner.decrypt(y).reshape(8, 64) - W @ X).max() < 1e-4)
/// True
#[pyclass(frozen, module = "clathrate", name = "MamboPlan")]
pub struct PyMamboPlan {
    plan: Arc<MamboPlan>,
    recipe: Recipe,
}

#[pymethods]
impl PyMamboPlan {
    #[new]
    #[pyo3(signature = (params, weights, columns=None, *, is_complex=true, bodies=None, method=None, precision_bits=None, key_bytes=None, uses=None, ring=None, placement="inside"))]
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
        let arguments = arguments!(
            py,
            params,
            columns,
            is_complex,
            bodies,
            method,
            precision_bits,
            key_bytes,
            uses,
            ring,
            placement
        );
        // The numbers may change in the caller's array.
        arguments.set_item("weights", to_numpy(py, Values::Real(values.clone()), &[rows, inner])?)?;
        let recipe = Recipe::new(&py.get_type::<Self>(), arguments);
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
        let weights = (rows, inner, &values[..]);
        let plan = detached(py, || match placed {
            Some(_) => MamboPlan::new(&params.params, weights, columns, &options),
            None => MamboPlan::fastest(&params.params, weights, columns, &options),
        })?;
        Ok(Self { plan: Arc::new(plan), recipe })
    }

    /// The shape of the matrix.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.plan.shape()
    }

    /// The slots of a row of X.
    #[getter]
    fn columns(&self) -> usize {
        self.plan.columns()
    }

    /// The shape of encrypted factors: polynomials and slots.
    #[getter]
    fn input_shape(&self) -> (usize, usize) {
        self.plan.array_shapes().0.into()
    }

    /// The shape of products: polynomials and slots.
    #[getter]
    fn output_shape(&self) -> (usize, usize) {
        self.plan.array_shapes().1.into()
    }

    /// The number of polynomials that share a mask in the linear maps.
    #[getter]
    fn bodies(&self) -> usize {
        self.plan.bootstrap().bodies()
    }

    /// Where the product is: "inside" the bootstrap or "before" it.
    #[getter]
    fn placement(&self) -> &'static str {
        self.plan.placement().name()
    }

    /// The lowest level of a factor.
    #[getter]
    fn input_level(&self) -> usize {
        self.plan.input_level().0
    }

    /// The level of a product.
    #[getter]
    fn output_level(&self) -> usize {
        self.plan.bootstrap().output_level().0
    }

    /// The method of the product: "exact", "by rows" or "prepared".
    #[getter]
    fn method(&self) -> &'static str {
        self.plan.matrix().chosen().method.name()
    }

    /// The degree of the ring in which the product is computed: that of the parameters, or of a smaller ring.
    #[getter]
    fn ring(&self) -> usize {
        self.plan.matrix().chosen().ring.unwrap_or_else(|| self.plan.bootstrap().params().degree())
    }

    /// The keys of the bootstrap and of the product, for `SecretKey.evaluation_keys`.
    #[getter]
    fn needs(&self, py: Python<'_>) -> PyResult<PyNeeds> {
        detached(py, || self.plan.needs()).map(|needs| PyNeeds { needs })
    }

    /// The keyword arguments of `SecretKey.encrypt` for factors that come fresh.
    #[getter]
    fn encryption<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let arguments = PyDict::new(py);
        arguments.set_item("encoding", "slots")?;
        arguments.set_item("level", self.input_level())?;
        Ok(arguments)
    }

    /// The predicted seconds of a product with all of its bootstraps, by one thread.
    #[getter]
    fn seconds(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(detached(py, || self.plan.predicted_nanoseconds())?.0 / 1e9)
    }

    /// The predicted seconds of the product alone, by one thread.
    #[getter]
    fn product_seconds(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(detached(py, || self.plan.predicted_nanoseconds())?.1 / 1e9)
    }

    /// The predicted precision in bits: minus the binary logarithm of the root mean square error of a real or imaginary part of the
    /// worst row, for numbers whose parts are uniform in [-1, 1].
    #[getter]
    fn precision_bits(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(-detached(py, || self.plan.predicted_error())?.log2())
    }

    /// For notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(report_html(&self.explain(py)?))
    }

    /// What the plan does: predicted times and precision, the methods of the product, the stages of the bootstrap.
    ///
    /// Returns
    /// -------
    /// str
    ///     Tables.
    ///
    /// Examples
    /// --------
    /// >>> plan = cl.MamboPlan(cl.Params.preset("insecure_boot"), np.eye(8) / 2, columns=64)
    /// >>> print(plan.explain().splitlines()[0])
    /// 8 x 8 matrix inside a bootstrap, 8 rows in a polynomial: from 1 polynomial to 1 polynomial
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.plan.explain())
    }

    /// Makes the matrix ready for products. Whoever computes does this once, without the secret.
    ///
    /// Parameters
    /// ----------
    /// keys : EvaluationKeys
    ///     Keys that the owner made for `needs`. Products find them here, unless their array has keys attached.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// MamboMatrix
    ///     The matrix with its keys.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where the keys are not those of `needs`.
    /// WrongParamsError
    ///     For keys of other parameters.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    /// >>> plan = cl.MamboPlan(owner.params, np.eye(2) / 2)
    /// >>> plan.prepare(owner.evaluation_keys(plan.needs))
    /// MamboMatrix(2 x 2, 512 slots in a row, by rows)
    #[pyo3(signature = (keys, progress=None))]
    fn prepare(
        slf: &Bound<'_, Self>,
        keys: &PyEvaluationKeys,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyMamboMatrix> {
        let (py, own) = (slf.py(), &slf.get().plan);
        let evaluator = Evaluator::with_keys(keys.keys.clone());
        let translate = |error| raise(py, error);
        let matrix = with_progress(py, progress, "prepare", translate, |tick| own.prepare(&evaluator, tick))?;
        Ok(PyMamboMatrix { matrix, evaluator, plan: slf.clone().unbind() })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.recipe.reduce(py)
    }

    fn __repr__(&self) -> String {
        let (rows, inner) = self.plan.shape();
        format!("MamboPlan({rows} x {inner}, {} slots in a row, {})", self.plan.columns(), self.method())
    }
}

/// A plain matrix that is ready for products inside bootstraps, made by `MamboPlan.prepare`: `matrix @ x`.
///
/// Examples
/// --------
/// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
/// >>> plan = cl.MamboPlan(owner.params, [[0.0, 1.0], [1.0, 0.0]], columns=256)
/// >>> swap = plan.prepare(owner.evaluation_keys(plan.needs))
/// >>> x = owner.encrypt(np.repeat([0.25, 0.5], 256), **plan.encryption)
/// >>> owner.decrypt(swap @ x).reshape(2, 256)[:, 0].round(3)
/// array([0.5 , 0.25])
#[pyclass(frozen, module = "clathrate", name = "MamboMatrix")]
pub struct PyMamboMatrix {
    matrix: MamboMatrix,
    evaluator: Evaluator,
    plan: Py<PyMamboPlan>,
}

#[pymethods]
impl PyMamboMatrix {
    /// The plan.
    #[getter]
    fn plan(&self, py: Python<'_>) -> Py<PyMamboPlan> {
        self.plan.clone_ref(py)
    }

    /// The product inside a bootstrap, as `matrix @ x`, with progress.
    ///
    /// Parameters
    /// ----------
    /// array : Ciphertext
    ///     An array of the plan's `input_shape` in slots, at `input_level` or above.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The product, of the plan's `output_shape`, at `output_level`.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     For an array of another shape, and for complex numbers where the plan is for real ones.
    /// LevelError
    ///     Below `input_level`.
    /// MissingKeyError
    ///     Where the keys that the matrix was prepared with lack some of `needs`.
    /// WrongSecretError
    ///     For an array under another secret key.
    /// WrongParamsError
    ///     For an array of other parameters.
    /// NotEnoughMemoryError
    ///     Where the work takes more memory than is free.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    /// >>> plan = cl.MamboPlan(owner.params, np.eye(2) / 2, columns=256)
    /// >>> half = plan.prepare(owner.evaluation_keys(plan.needs))
    /// >>> half.matmul(owner.encrypt(np.ones(512), **plan.encryption)).shape
    /// (1, 512)
    #[pyo3(signature = (array, progress=None))]
    fn matmul(
        &self,
        py: Python<'_>,
        array: &PyCiphertext,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCiphertext> {
        // Keys that the array carries are for what comes next.
        let evaluator =
            if array.data.is_symbol() { array.evaluator() } else { interruptible(self.evaluator.clone()) };
        let data = &*array.settled(py, &evaluator)?;
        let translate = |error| raise(py, error);
        let product = with_progress(py, progress, "matmul", translate, |tick| {
            evaluator.mambo(&self.matrix, data, tick)
        })?;
        array.beside(py, product)
    }

    fn __matmul__(&self, py: Python<'_>, array: &PyCiphertext) -> PyResult<PyCiphertext> {
        self.matmul(py, array, None)
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

/// The product of a plain matrix with an encrypted one inside a bootstrap: `W X` at a high level.
///
/// For several products with one matrix, make it ready once: `cl.MamboPlan(params, W, columns).prepare(keys)`. This form plans anew, by
/// what this machine is predicted to take: for keys that were made elsewhere, or for a plan with other choices, use that one.
///
/// Parameters
/// ----------
/// weights : array_like
///     The plain matrix W, of shape (rows, inner).
/// array : Ciphertext
///     X with its rows one behind the other, in rows of all slots, with the keys of `MamboPlan(params, W, columns).needs` attached.
/// columns : int, optional
///     The slots of a row of X. By default all slots of a polynomial.
///
/// Returns
/// -------
/// Ciphertext
///     W X, lying as X.
///
/// Raises
/// ------
/// ShapeError
///     Where the shapes do not fit.
/// MissingKeyError
///     Where the array has no such keys attached.
/// ParamsError
///     Where the parameters have no level for the product.
/// DataError
///     For weights that do not fit.
///
/// Examples
/// --------
/// >>> params = cl.Params.preset("insecure_boot")
/// >>> owner = cl.SecretKey.generate(params)
/// >>> W = np.array([[0.5, -0.25]])
/// >>> plan = cl.MamboPlan(params, W, columns=256)
/// >>> x = owner.encrypt(np.repeat([0.5, 0.25], 256), **plan.encryption).with_keys(owner.evaluation_keys(plan.needs))
/// >>> float(owner.decrypt(cl.mambo(W, x, columns=256))[0, 0].round(4))
/// 0.1875
#[pyfunction]
#[pyo3(signature = (weights, array, columns=None))]
pub fn mambo(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    array: &PyCiphertext,
    columns: Option<Whole>,
) -> PyResult<PyCiphertext> {
    let (values, rows, inner) = matrix(weights, &[])?;
    let evaluator = array.evaluator();
    let data = &*array.settled(py, &evaluator)?;
    let params = data.params();
    let columns = columns.map_or(Ok(params.slot_count()), |columns| columns.count(py, "`columns`"))?;
    let product = detached(py, || {
        let plan =
            Arc::new(MamboPlan::new(params, (rows, inner, &values), columns, &MamboOptions::default())?);
        let matrix = plan.prepare(&evaluator, &mut |_, _| true)?;
        evaluator.mambo(&matrix, data, &mut |_, _| true)
    })?;
    array.beside(py, product)
}
