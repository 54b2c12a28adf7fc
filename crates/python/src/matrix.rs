//! Plans of products of plain matrices with encrypted ones, and matrices that are ready for them.

use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions, MatrixPlan, PlannedMatrix};
use clathrate_ckks::circuits::prepared::{Arrangement, PreparedMatrix, PreparedOptions};
use clathrate_ckks::file::FileReader;
use clathrate_ckks::keys::{Lanes, Values};
use clathrate_ckks::{CkksError, Evaluator};
use clathrate_lattice::Level;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{matrix, to_numpy};
use crate::ciphertext::PyCiphertext;
use crate::errors::{exception, out_of_range, raise};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::layout::body_count;
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::PyParams;
use crate::paths::FilePath;
use crate::recipe::{Recipe, Reduced, arguments};
use crate::run::{detached, file_bytes, watch, with_progress};
use crate::saving::save;
use crate::text::report_html;
use crate::trusted::options_of;

/// A plan of products of one plain matrix with encrypted matrices: by which method, how X is encrypted, which keys there must be.
///
/// There are three methods, and the plan takes the fastest that fits. "exact" multiplies the masks and the bodies of X with W, modulo each
/// prime, with several short rows in a polynomial; a key or two bring the rows of the result together again. "by rows" has one row in each
/// polynomial: slower for short rows, without any key. "prepared" needs rows that share masks. Keys that are combined for W then take the
/// place of the product of W with the masks, and what remains is one product of matrices in floating point, or two for more precision, and
/// work in proportion to the result. `prepare` combines the keys, which takes as long as many products.
///
/// The result is one level lower, with a mask for each polynomial, and needs no rescale. Its rows lie as those of X, so it can be the
/// factor of the next product (`masks="own"`).
///
/// Parameters
/// ----------
/// params : Params
///     The parameters, for prepared products of rank 1 and with special primes.
/// weights : array_like
///     The plain matrix W, of shape (rows, inner).
/// columns : int
///     The columns of the encrypted matrices, of shape (inner, columns).
/// level : int, optional
///     The level of the encrypted matrices, at least 1. The default is 1, where products are fastest and most precise. Prepared products
///     have no room for the modulus of high levels.
/// lanes : int, optional
///     How many rows of X share a polynomial, a power of two. By default as many as there are and is room for.
/// bodies : int, optional
///     How many polynomials of X share a mask, which makes the product a prepared one. By default all, as far as security allows. Fewer
///     take more keys.
/// masks : {"shared", "own"}, optional
///     How X comes to a prepared product. "shared", the default, is an encryption with the secret key as `encryption` says. "own" is
///     anything else: by a public key, or the result of a computation. Further keys then bring the rows under shared masks in each product.
/// precision_bits : float, optional
///     The correct bits after the binary point that the result of numbers of magnitude 1 and of independent signs must have. By default
///     a prepared product takes one floating-point product where that costs next to no precision, else two, and is taken only where it
///     is at most 4 bits less precise than an exact one.
/// products : {1, 2}, optional
///     The number of floating-point products, whatever the precision, which makes the product a prepared one.
/// method : {"exact", "by rows", "prepared"}, optional
///     The method. None, the default, is the fastest that fits.
/// uses : int, optional
///     For how many products the matrix is prepared: the time of the preparation counts among so many. None, the default, does not
///     count it.
/// key_bytes : int, optional
///     The most bytes that keys may take in memory, those of the owner and of the matrix. None, the default, is no limit.
/// ring : int, optional
///     The degree of the ring in which an exact product of rows that share polynomials is computed: that of the parameters, or a smaller
///     one, to which a switch of each polynomial leads at level 1 and from which one leads back. None, the default, is the best.
///
/// Raises
/// ------
/// DataError
///     Where weights are NaN, infinite or too large, or there are none; for a precision or a number of bytes that no method reaches, with
///     what each reaches; for numbers of lanes, bodies or products that do not exist, and options that do not go with the method.
/// ShapeError
///     Where the weights are no matrix, or "prepared" is asked for at a rank above 1.
/// LevelError
///     For a level that does not exist, and for level 0.
/// ParamsError
///     Where "prepared" is asked for and the parameters have no special primes.
/// SecurityError
///     For more bodies than the parameters protect.
/// TypeError
///     For weights that are not real numbers.
///
/// Examples
/// --------
/// >>> params = cl.Params.preset("insecure_matmul")
/// >>> owner = cl.SecretKey.generate(params)
/// >>> weights = np.linspace(-1, 1, 12).reshape(3, 4)
/// >>> plan = cl.MatrixPlan(params, weights, columns=2)
/// >>> W = plan.prepare(owner.evaluation_keys(plan.needs))
/// >>> X = np.array([[1.0, 0.5], [0.0, 1.0], [0.25, 0.0], [0.0, 1.0]])
/// >>> product = W @ owner.encrypt(X, **plan.encryption)
/// >>> bool(abs(owner.decrypt(product) - weights @ X).max() < 1e-4)
/// True
/// >>> cl.MatrixPlan(params, weights, columns=2, key_bytes=0).method
/// 'by rows'
#[pyclass(frozen, module = "clathrate", name = "MatrixPlan")]
pub struct PyMatrixPlan {
    plan: MatrixPlan,
    recipe: Recipe,
}

#[pymethods]
impl PyMatrixPlan {
    #[new]
    #[pyo3(signature = (params, weights, columns, *, level=None, lanes=None, bodies=None, masks="shared", precision_bits=None, products=None, method=None, uses=None, key_bytes=None, ring=None))]
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
        let arguments = arguments!(
            py,
            params,
            columns,
            level,
            lanes,
            bodies,
            masks,
            precision_bits,
            products,
            method,
            uses,
            key_bytes,
            ring
        );
        // The numbers may change in the caller's array.
        arguments.set_item("weights", to_numpy(py, Values::Real(values.clone()), &[rows, inner])?)?;
        let recipe = Recipe::new(&py.get_type::<Self>(), arguments);
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
        let plan = detached(py, || MatrixPlan::new(own, (rows, inner, &values), columns, &options))?;
        Ok(Self { plan, recipe })
    }

    /// The shape of the matrix.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.plan.shape()
    }

    /// The level of the encrypted matrices.
    #[getter]
    fn level(&self) -> usize {
        self.plan.level().0
    }

    /// The method: "exact", "by rows" or "prepared".
    #[getter]
    fn method(&self) -> &'static str {
        self.plan.chosen().method.name()
    }

    /// The degree of the ring in which the product is computed: that of the parameters, or of a smaller ring.
    #[getter]
    fn ring(&self) -> usize {
        self.plan.chosen().ring.unwrap_or_else(|| self.plan.params().degree())
    }

    /// The number of floating-point products of matrices that a prepared product takes, 1 or 2; 0 for the other methods.
    #[getter]
    fn products(&self) -> usize {
        self.plan.chosen().products
    }

    /// The predicted seconds of a product, by one thread.
    #[getter]
    fn seconds(&self) -> f64 {
        self.plan.chosen().nanoseconds / 1e9
    }

    /// The predicted seconds of the preparation, by one thread; 0 for methods without one.
    #[getter]
    fn preparation_seconds(&self) -> f64 {
        self.plan.chosen().preparation / 1e9
    }

    /// The predicted precision in bits: minus the binary logarithm of the root mean square error, for numbers of magnitude 1 and of
    /// independent signs.
    #[getter]
    fn precision_bits(&self) -> f64 {
        -self.plan.chosen().error.log2()
    }

    /// The bytes of the keys that belong to the matrix once it is prepared.
    #[getter]
    fn key_bytes(&self) -> usize {
        self.plan.chosen().matrix_key_bytes
    }

    /// The bytes of the keys that the owner makes for `needs`.
    #[getter]
    fn owner_key_bytes(&self) -> usize {
        self.plan.chosen().owner_key_bytes
    }

    /// The keyword arguments of `SecretKey.encrypt` for matrices that the plan multiplies.
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

    /// The keys, for `SecretKey.evaluation_keys`. They do not depend on the weights.
    #[getter]
    fn needs(&self) -> PyNeeds {
        PyNeeds { needs: self.plan.needs() }
    }

    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.explain())
    }

    /// The method and those that were not chosen, each with predicted time, keys and precision; and what a product takes.
    ///
    /// Returns
    /// -------
    /// str
    ///     A few lines.
    ///
    /// Examples
    /// --------
    /// >>> print(cl.MatrixPlan(cl.Params.preset("insecure_matmul"), np.eye(8), 16).explain().splitlines()[0])
    /// 8 x 8 matrix times encrypted matrices of 16 columns, level 1 to 0
    fn explain(&self) -> String {
        self.plan.explain()
    }

    /// Makes the matrix ready for products: combines the keys for a prepared one. Whoever computes does this once, without
    /// the secret.
    ///
    /// Parameters
    /// ----------
    /// keys : EvaluationKeys, optional
    ///     Keys that the owner made for `needs`; the method "by rows" has none. A product that needs keys of the owner
    ///     itself finds them
    ///     here, unless its array has keys attached.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// PreparedMatrix
    ///     The matrix with its keys.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where the keys are not those of `needs`, or there are none.
    /// WrongParamsError
    ///     For keys of other parameters.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    /// >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
    /// >>> plan.prepare(owner.evaluation_keys(plan.needs))
    /// PreparedMatrix(2 x 2, prepared, 0.0 MiB of keys)
    #[pyo3(signature = (keys=None, progress=None))]
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
        let translate = |error| raise(py, error);
        let matrix =
            with_progress(py, progress, "prepare", translate, |tick| self.plan.prepare(&evaluator, tick))?;
        Ok(PyPreparedMatrix { matrix, evaluator: Some(evaluator) })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.recipe.reduce(py)
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

/// A plain matrix that is ready for its products with encrypted matrices, made by `MatrixPlan.prepare`: `W @ X`.
///
/// Examples
/// --------
/// >>> params = cl.Params.preset("insecure_matmul")
/// >>> owner = cl.SecretKey.generate(params)
/// >>> plan = cl.MatrixPlan(params, [[0.0, 1.0], [1.0, 0.0]], columns=3)
/// >>> swap = plan.prepare(owner.evaluation_keys(plan.needs))
/// >>> X = owner.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **plan.encryption)
/// >>> owner.decrypt(swap @ X).round(3)
/// array([[4., 5., 6.],
///        [1., 2., 3.]])
#[pyclass(frozen, module = "clathrate", name = "PreparedMatrix")]
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
    /// The shape of the matrix.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.matrix.plan().shape()
    }

    /// The method of its products: "exact", "by rows" or "prepared".
    #[getter]
    fn method(&self) -> &'static str {
        self.matrix.plan().chosen().method.name()
    }

    /// The bytes of its own keys in memory; 0 unless the method is "prepared".
    #[getter]
    fn key_bytes(&self) -> usize {
        self.matrix.prepared().map_or(0, PreparedMatrix::key_bytes)
    }

    /// For notebooks.
    fn _repr_html_(&self) -> String {
        report_html(&self.explain())
    }

    /// Sizes, keys, predicted time of a product, and what its precision is made of.
    ///
    /// Returns
    /// -------
    /// str
    ///     A few lines.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    /// >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3)
    /// >>> plan.prepare(owner.evaluation_keys(plan.needs)).explain() in plan.explain()
    /// True
    fn explain(&self) -> String {
        self.matrix.explain()
    }

    /// The product with an encrypted matrix, as `W @ X`, with progress.
    ///
    /// Parameters
    /// ----------
    /// array : Ciphertext
    ///     An encrypted matrix with as many rows as this matrix has columns, encrypted as `MatrixPlan.encryption` says.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The product, one level below the operand, under the secret "main".
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     Where the shapes do not fit, or the rows are not under masks as the matrix was prepared for.
    /// MissingKeyError
    ///     Where rows with masks of their own are brought under shared ones, or packed, and there are no keys for it.
    /// DataError
    ///     For an operand at another level or scale.
    /// WrongSecretError
    ///     For an operand under another secret key.
    /// WrongParamsError
    ///     For an operand of other parameters.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    /// >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3)
    /// >>> identity = plan.prepare(owner.evaluation_keys(plan.needs))
    /// >>> identity.matmul(owner.encrypt(np.ones((2, 3)), **plan.encryption)).shape
    /// (2, 3)
    #[pyo3(signature = (array, progress=None))]
    fn matmul(
        &self,
        py: Python<'_>,
        array: &PyCiphertext,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCiphertext> {
        let own = self.evaluator.as_ref().filter(|_| !array.has_keys() && !array.data.is_symbol());
        let evaluator = own.cloned().unwrap_or_else(|| array.evaluator());
        let data = &*array.settled(py, &evaluator)?;
        let translate = |error| raise(py, error);
        let product = with_progress(py, progress, "matmul", translate, |tick| {
            evaluator.multiply_planned(&self.matrix, data, tick)
        })?;
        array.beside(py, product)
    }

    /// Writes the matrix and its keys to a file. The file holds no secret, but the numbers of the matrix.
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
    /// DataError
    ///     Unless the method is "prepared": other methods have no keys of the matrix, so that its numbers are all there is to keep.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    /// >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
    /// >>> size = plan.prepare(owner.evaluation_keys(plan.needs)).save("identity.clt")
    /// >>> cl.PreparedMatrix.load("identity.clt", owner.params)
    /// PreparedMatrix(2 x 2, prepared, 0.0 MiB of keys)
    #[pyo3(signature = (path, overwrite=true))]
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

    /// Reads a prepared matrix from a file.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    /// params : Params
    ///     The parameters that the matrix was prepared for.
    /// trusted_map : bool, optional
    ///     Whether the keys stay in the file and are read from there when they are used. True is a promise that no program
    ///     changes the file as long as the object lives, because that would change results or end this process. The default is False.
    ///
    /// Returns
    /// -------
    /// PreparedMatrix
    ///     The matrix.
    ///
    /// Raises
    /// ------
    /// FileFormatError
    ///     Where the file does not hold a prepared matrix, or is damaged.
    /// FileAccessError
    ///     Where the file cannot be read.
    /// WrongParamsError
    ///     Where the matrix was prepared for other parameters.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    /// >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
    /// >>> size = plan.prepare(owner.evaluation_keys(plan.needs)).save("identity.clt")
    /// >>> cl.PreparedMatrix.load("identity.clt", owner.params, trusted_map=True).shape
    /// (2, 2)
    #[staticmethod]
    #[pyo3(signature = (path, params, trusted_map=false))]
    fn load(py: Python<'_>, path: FilePath, params: &PyParams, trusted_map: bool) -> PyResult<Self> {
        let read = || {
            PreparedMatrix::from_reader(
                &FileReader::open_with(&path, options_of(trusted_map))?
                    .watched_by(watch("loading", file_bytes(&path))),
                &params.params,
            )
        };
        detached(py, || Self::new(read()?))
    }

    /// NumPy leaves `array @ matrix` to this class, which refuses it.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<bool> {
        None
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
