//! Plain matrices that are prepared for products with encrypted rows under shared masks.

use clathrate_ckks::Evaluator;
use clathrate_ckks::circuits::prepared::{MatrixOptions, MatrixPlan, PreparedMatrix};
use clathrate_ckks::file::{FileReader, OpenOptions, Stored};
use clathrate_ckks::keys::Lanes;
use clathrate_lattice::Level;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::matrix;
use crate::ciphertext::PyCiphertext;
use crate::errors::{out_of_range, raise};
use crate::evaluation_keys::PyEvaluationKeys;
use crate::layout::body_count;
use crate::needs::PyNeeds;
use crate::numbers::{Real, Whole};
use crate::params::{PyParams, size};
use crate::paths::FilePath;
use crate::run::{detached, with_progress};

/// A plan of products of one plain matrix with encrypted matrices, at the speed of one or two plain products.
///
/// `W @ X` alone multiplies the masks of all rows of X with W, too. Where the rows share masks, keys that are combined for W do away
/// with that: what remains is one product of matrices in floating point, or two for more precision, and work in proportion to the
/// result. A plan says how to encrypt X, which keys the owner makes, how long a product takes and how precise it is; `prepare`
/// combines the keys, which takes as long as many products. The result is one level lower, with a mask for each polynomial, and needs
/// no rescale.
///
/// Parameters
/// ----------
/// params : Params
///     The parameters, of rank 1 and with special primes.
/// weights : array_like
///     The plain matrix W, of shape (rows, inner).
/// columns : int
///     The columns of the encrypted matrices, of shape (inner, columns). Prepared matrices also multiply matrices of other columns, if as
///     many rows fit into a polynomial.
/// level : int, optional
///     The level of the encrypted matrices, at least 1. The default is 1, where products are fastest and most precise. There is
///     no room for the modulus of high levels; whatever leaves too few bits is refused.
/// bodies : int, optional
///     How many polynomials of X share a mask. By default all, as far as security allows. Fewer take more keys. Such matrices are encrypted
///     with the secret key; others come under masks by `Ciphertext.share_mask`, whose keys and noise come on top.
/// precision_bits : float, optional
///     The correct bits after the binary point that the result of numbers of magnitude 1 must have: the plan takes one product if that is
///     enough, else two. By default it takes one where that costs next to no precision, else two, and
///     refuses to leave less than 6 bits of the result's numbers.
/// products : {1, 2}, optional
///     The number of floating-point products, whatever the precision.
///
/// Raises
/// ------
/// DataError
///     Where weights are NaN, infinite or too large, or there are none; for a precision that cannot be reached, and numbers of bodies or
///     products that do not exist.
/// ShapeError
///     Where the weights are no matrix, or the parameters are not of rank 1.
/// LevelError
///     For a level that does not exist, and for level 0.
/// ParamsError
///     For parameters without special primes.
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
#[pyclass(frozen, module = "clathrate", name = "MatrixPlan")]
pub struct PyMatrixPlan {
    plan: MatrixPlan,
}

#[pymethods]
impl PyMatrixPlan {
    #[new]
    #[pyo3(signature = (params, weights, columns, *, level=None, bodies=None, precision_bits=None, products=None))]
    #[allow(clippy::too_many_arguments)] // as many as keywords
    fn new(
        py: Python<'_>,
        params: &PyParams,
        weights: &Bound<'_, PyAny>,
        columns: Whole,
        level: Option<Whole>,
        bodies: Option<Whole>,
        precision_bits: Option<Real>,
        products: Option<Whole>,
    ) -> PyResult<Self> {
        let (values, rows, inner) = matrix(weights, &[])?;
        let whole = |name: &'static str, value: Option<Whole>| value.map(|value| size(py, name, value)).transpose();
        let precision_bits = Real::given(precision_bits);
        if let Some(bits) = precision_bits.filter(|bits| !bits.is_finite() || bits.abs() > 1000.0) {
            return Err(out_of_range(py, "`precision_bits`", bits, "give the correct bits after the binary point, below 1000"));
        }
        let options = MatrixOptions { precision_bits, products: whole("products", products)? };
        let bodies = bodies.map(|bodies| body_count(py, "`bodies`", bodies)).transpose()?;
        let (level, columns) = (whole("level", level)?.map(Level), size(py, "columns", columns)?);
        let own = &params.params;
        let plan = detached(py, || MatrixPlan::for_columns(own, (rows, inner, &values), columns, (level, bodies), options))?;
        Ok(Self { plan })
    }

    /// The shape of the matrix.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.plan.rows(), self.plan.inner())
    }

    /// The level of the encrypted matrices.
    #[getter]
    fn level(&self) -> usize {
        self.plan.level().0
    }

    /// The number of floating-point products of matrices that a product takes, 1 or 2.
    #[getter]
    fn products(&self) -> usize {
        self.plan.products()
    }

    /// The predicted seconds of a product, by one thread.
    #[getter]
    fn seconds(&self) -> f64 {
        self.plan.cost().nanoseconds / 1e9
    }

    /// The predicted precision in bits: minus the binary logarithm of the root mean square error, for numbers of magnitude 1.
    #[getter]
    fn precision_bits(&self) -> f64 {
        -self.plan.error().log2()
    }

    /// The bytes of the keys that belong to the matrix once it is prepared.
    #[getter]
    fn key_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.plan.key_bytes().map_err(|error| raise(py, error))
    }

    /// The keyword arguments of `SecretKey.encrypt` for matrices that the plan multiplies.
    #[getter]
    fn encryption<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let options = self.plan.encryption();
        let arguments = PyDict::new(py);
        arguments.set_item("encoding", "coefficients")?;
        arguments.set_item("level", options.level.map(|level| level.0))?;
        arguments.set_item("bodies", options.bodies)?;
        arguments.set_item("axis", "rows")?;
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

    /// Sizes, keys, predicted time, and what the precision is made of.
    ///
    /// Returns
    /// -------
    /// str
    ///     A few lines.
    ///
    /// Examples
    /// --------
    /// >>> print(cl.MatrixPlan(cl.Params.preset("insecure_matmul"), np.eye(8), 16).explain().splitlines()[0])
    /// 8 x 8 matrix times rows of 16 numbers: 8 rows in a polynomial, 1 polynomial under a mask, 1 mask
    fn explain(&self) -> String {
        self.plan.explain()
    }

    /// Combines the keys for the matrix. Whoever computes does this once, without the secret.
    ///
    /// Parameters
    /// ----------
    /// keys : EvaluationKeys
    ///     Keys that the owner made for `needs`.
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
    ///     Where the keys are not those of `needs`.
    /// WrongParamsError
    ///     For keys of other parameters.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    /// >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3)
    /// >>> plan.prepare(owner.evaluation_keys(plan.needs))
    /// PreparedMatrix(2 x 2, 0.0 MiB of keys)
    #[pyo3(signature = (keys, progress=None))]
    fn prepare(&self, py: Python<'_>, keys: &PyEvaluationKeys, progress: Option<&Bound<'_, PyAny>>) -> PyResult<PyPreparedMatrix> {
        let evaluator = Evaluator::with_keys(keys.keys.clone());
        let translate = |error| raise(py, error);
        let matrix = with_progress(py, progress, "prepare", translate, |tick| self.plan.prepare(&evaluator, tick))?;
        Ok(PyPreparedMatrix { matrix })
    }

    fn __repr__(&self) -> String {
        let (rows, inner) = self.shape();
        format!("MatrixPlan({rows} x {inner}, products={}, precision_bits={:.1})", self.products(), self.precision_bits())
    }
}

/// A plain matrix with the keys for its products with encrypted matrices, made by `MatrixPlan.prepare`: `W @ X`.
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
    matrix: PreparedMatrix,
}

impl PyPreparedMatrix {
    pub fn new(matrix: PreparedMatrix) -> Self {
        Self { matrix }
    }
}

#[pymethods]
impl PyPreparedMatrix {
    /// The shape of the matrix.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.matrix.plan().rows(), self.matrix.plan().inner())
    }

    /// The bytes of its keys in memory.
    #[getter]
    fn key_bytes(&self) -> usize {
        self.matrix.key_bytes()
    }

    /// What `MatrixPlan.explain` said.
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
    /// >>> plan.prepare(owner.evaluation_keys(plan.needs)).explain() == plan.explain()
    /// True
    fn explain(&self) -> String {
        self.matrix.plan().explain()
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
    fn matmul(&self, py: Python<'_>, array: &PyCiphertext, progress: Option<&Bound<'_, PyAny>>) -> PyResult<PyCiphertext> {
        let (evaluator, data) = (array.evaluator(), &*array.data);
        let translate = |error| raise(py, error);
        let product =
            with_progress(py, progress, "matmul", translate, |tick| evaluator.multiply_prepared_with_progress(&self.matrix, data, tick))?;
        array.beside(py, product)
    }

    /// Writes the matrix and its keys to a file. The file holds no secret, but the numbers of the matrix.
    ///
    /// Parameters
    /// ----------
    /// path : str, bytes or path-like
    ///     The file.
    ///
    /// Returns
    /// -------
    /// int
    ///     The file's length in bytes.
    ///
    /// Raises
    /// ------
    /// FileAccessError
    ///     Where the file cannot be written.
    ///
    /// Examples
    /// --------
    /// >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    /// >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3)
    /// >>> size = plan.prepare(owner.evaluation_keys(plan.needs)).save("identity.clt")
    /// >>> cl.PreparedMatrix.load("identity.clt", owner.params)
    /// PreparedMatrix(2 x 2, 0.0 MiB of keys)
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<u64> {
        detached(py, || Ok(self.matrix.save(&path)?))
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
    ///     Whether the keys stay in the file and are read from there when they are used: for files that no other program can change
    ///     meanwhile, because that would change results or end this process. The default is False.
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
    /// >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3)
    /// >>> size = plan.prepare(owner.evaluation_keys(plan.needs)).save("identity.clt")
    /// >>> cl.PreparedMatrix.load("identity.clt", owner.params, trusted_map=True).shape
    /// (2, 2)
    #[staticmethod]
    #[pyo3(signature = (path, params, trusted_map=false))]
    fn load(py: Python<'_>, path: FilePath, params: &PyParams, trusted_map: bool) -> PyResult<Self> {
        let read = || PreparedMatrix::from_reader(&FileReader::open_with(&path, OpenOptions { trusted_map })?, &params.params);
        Ok(Self { matrix: detached(py, read)? })
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
        format!("PreparedMatrix({rows} x {inner}, {:.1} MiB of keys)", self.key_bytes() as f64 / f64::from(1 << 20))
    }
}
