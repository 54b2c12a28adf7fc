//! An encrypted matrix read by columns, and products of encrypted matrices.

use clathrate_ckks::CkksError;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::object::PyCiphertext;
use crate::arrays::{Array, array, is_numeric, is_whole, to_numpy};
use crate::errors::raise;
use crate::numbers::Real;
use crate::recipe::Reduced;
use crate::run::with_progress;

/// An encrypted matrix read by columns: `ct.T`, without any computation.
///
/// The rows of an encrypted matrix are polynomials. This view has the same polynomials as columns. It is what the left factor of a product
/// of encrypted matrices, and the factor of `x @ W` with a plain matrix W, has to be: encrypt the transposed matrix and take its view.
/// `to_rows` makes an ordinary ciphertext of it, by switching keys.
///
/// Operators: `view @ ct`, for an encrypted matrix, gives a ciphertext; `view @ W`, for a plain matrix, `view + x`, `view - x` and
/// `view * x`, for plain numbers x, give views. `SecretKey.decrypt` takes views, too. `view[:, columns]` picks columns, by an integer, a
/// slice or a list, and `view[2:5]` a range of rows.
///
/// Examples
/// --------
/// >>> X = secret_key.encrypt([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], encoding="coefficients")
/// >>> X.T.shape
/// (2, 3)
/// >>> y = X.T @ [[1.0], [0.0], [1.0]]
/// >>> secret_key.decrypt(y.rescale()).round(4)
/// array([[6.],
///        [8.]])
#[pyclass(frozen, module = "clathrate", name = "TransposedCiphertext")]
pub struct PyTransposed {
    pub base: Py<PyCiphertext>,
}

impl PyTransposed {
    fn of(py: Python<'_>, base: PyCiphertext) -> PyResult<Self> {
        Ok(Self { base: Py::new(py, base)? })
    }

    /// The result of an operator of the ciphertext, which the numbers `other` were transposed for.
    fn operator(&self, py: Python<'_>, name: &str, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let other = match other.cast::<Self>() {
            Ok(view) => view.get().base.bind(py).clone().into_any(),
            Err(_) if other.is_instance_of::<PyCiphertext>() => {
                let message = "a view of the transposed matrix combines with views: take `.T` of both, or `to_rows()`, which switches keys";
                return Err(PyTypeError::new_err(message));
            }
            Err(_) if !is_numeric(other)? => {
                return Err(PyTypeError::new_err("a view takes plain numbers, and views"));
            }
            Err(_) => {
                // Numbers broadcast along the rows of the view, as everywhere, before they are transposed.
                let array = array(other)?;
                if array.shape.is_empty() {
                    other.clone()
                } else {
                    let shape: Vec<usize> = self.base.get().data.shape().iter().rev().copied().collect();
                    let operation = if name.contains("add") { "addition" } else { "subtraction" };
                    to_numpy(py, array.broadcast(py, &shape, operation)?, &shape)?.getattr("T")?
                }
            }
        };
        let result = self.base.bind(py).call_method1(name, (other,))?;
        let result = result
            .cast_into::<PyCiphertext>()
            .map_err(|_| PyTypeError::new_err("a view takes plain numbers, and views"))?;
        Ok(Self { base: result.unbind() })
    }
}

/// Why nothing is divided by a ciphertext.
pub(super) const DIVISOR: &str = "a ciphertext is no divisor: multiply by `cl.inverse(ct, domain=(low, high))`, an approximation of the inverse on an interval without zero";

/// Why a view has no products entry by entry.
const ENTRY_BY_ENTRY: &str = "a view of the transposed matrix is multiplied and divided by a single number, and multiplied by a matrix with `@`: products \
     entry by entry are those of arrays in slots, so multiply the array itself, before `.T`, or encrypt the transposed numbers in slots";

/// Integers from here on are multiplied as other numbers are: their products would be beyond any modulus.
const LARGEST_INTEGER: f64 = 9e18;

/// A plain right factor with `inner` rows, transposed: what a product with the transposed matrix takes on the left.
fn transposed_factor<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    left: Vec<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let refuse = |right: Vec<usize>| {
        let rows = left.last().copied().unwrap_or(0);
        let vector = if right.len() == 1 && right[0] == rows {
            ". Make the vector a column, `w.reshape(-1, 1)`, or encrypt in slots"
        } else {
            ""
        };
        let remedy = format!("the right matrix has two axes, and {rows} rows{vector}");
        raise(py, CkksError::Shape { operation: "a matrix product", left: left.clone(), right, remedy })
    };
    // Arrays are transposed as they are: a large one is read in parts, and one with a mask is refused where it is read.
    if x.is_instance(&numpy.getattr("ndarray")?)? {
        let shape: Vec<usize> = x.getattr("shape")?.extract()?;
        if shape.len() != 2 || left.last() != shape.first() {
            return Err(refuse(shape));
        }
        return x.getattr("T");
    }
    let Array { values, shape, whole } = array(x)?;
    if shape.len() != 2 || left.last() != shape.first() {
        return Err(refuse(shape));
    }
    let transposed = to_numpy(py, values, &shape)?.getattr("T")?;
    // The type says whether the product takes a level.
    if whole { transposed.call_method1("astype", ("int64",)) } else { Ok(transposed) }
}

impl PyCiphertext {
    /// `self @ other` for encrypted matrices: the left one is transposed by switching keys first.
    pub(super) fn times_encrypted(
        &self,
        py: Python<'_>,
        other: &Self,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        self.encrypted_product(py, other, progress, false)
    }

    /// `self.T @ other`, or `self @ other` where this ciphertext is not `by_columns`.
    fn encrypted_product(
        &self,
        py: Python<'_>,
        other: &Self,
        progress: Option<&Bound<'_, PyAny>>,
        by_columns: bool,
    ) -> PyResult<Self> {
        let holder = if self.has_keys() { self } else { other };
        let evaluator = holder.evaluator();
        let (left, right) = (&*self.settled(py, &evaluator)?, &*other.settled(py, &evaluator)?);
        let (shape, own) = (left.shape(), right.shape());
        let inner = if by_columns { shape.first() } else { shape.get(1) };
        if shape.len() != 2 || own.len() != 2 || inner != own.first() {
            let left = if by_columns { shape.iter().rev().copied().collect() } else { shape.to_vec() };
            let vector = match own {
                [count] if inner == Some(count) => {
                    format!(". Encrypt the vector as a column, of shape ({count}, 1), or both in slots")
                }
                _ => String::new(),
            };
            let remedy = format!(
                "both operands are matrices, with as many rows on the right as columns on the left{vector}"
            );
            let operation = "a product of encrypted matrices";
            return Err(raise(py, CkksError::Shape { operation, left, right: own.to_vec(), remedy }));
        }
        let product = with_progress(
            py,
            progress,
            "matmul",
            |error| raise(py, error),
            |tick| {
                if by_columns {
                    return evaluator.multiply_transposed_with_progress(left, right, tick);
                }
                let columns = evaluator.transposed_with_progress(left, tick)?;
                evaluator.multiply_transposed_with_progress(&columns, right, tick)
            },
        )?;
        holder.beside(py, product)
    }

    /// `self @ weights` for a plain matrix on the right: the rows are transposed by switching keys first, and the product is read by columns.
    pub(super) fn times_plain<'py>(
        &self,
        py: Python<'py>,
        weights: &Bound<'py, PyAny>,
    ) -> PyResult<PyTransposed> {
        let weights = transposed_factor(py, weights, self.data.shape().to_vec())?;
        let columns = self.map_settled(py, |evaluator, x| evaluator.transposed(x))?;
        PyTransposed::of(py, columns.matmul(py, &weights, None, None)?)
    }
}

#[pymethods]
impl PyCiphertext {
    /// The matrix read by columns, without any computation; a vector is its own transpose.
    #[getter]
    #[pyo3(name = "T")]
    fn transposed<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().data.shape().len() != 2 {
            return Ok(slf.into_any());
        }
        let py = slf.py();
        Ok(Bound::new(py, PyTransposed { base: slf.unbind() })?.into_any())
    }
}

#[pymethods]
impl PyTransposed {
    /// The ciphertext whose columns are the rows of this view.
    #[getter]
    #[pyo3(name = "T")]
    fn transposed(&self, py: Python<'_>) -> Py<PyCiphertext> {
        self.base.clone_ref(py)
    }

    /// The shape of the transposed matrix.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.base.get().data.shape().iter().rev())
    }

    /// The level: the number of rescales that are left.
    #[getter]
    fn level(&self) -> usize {
        self.base.get().data.level().0
    }

    /// The scale: the factor between the numbers and the integers that are encrypted.
    #[getter]
    fn scale(&self) -> f64 {
        self.base.get().data.scale()
    }

    /// The same matrix as an ordinary ciphertext, whose rows are polynomials, by switching keys.
    ///
    /// The transposition takes about 2.5 switches for each power of X that a polynomial has, and adds their errors. `trace` finds the keys.
    ///
    /// Parameters
    /// ----------
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (switches done, switches in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// Ciphertext
    ///     The encrypted matrix.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they lack one of the rotations.
    /// ShapeError
    ///     For complex numbers, and unless the matrix is in coefficients.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> tiny = cl.Params.preset("insecure_tiny")
    /// >>> owner = cl.SecretKey.generate(tiny)
    /// >>> needs = cl.trace(lambda x: x.T.to_rows(), (2, 3), params=tiny, encoding="coefficients").needs
    /// >>> X = owner.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], encoding="coefficients")
    /// >>> rows = X.with_keys(owner.evaluation_keys(needs)).T.to_rows()
    /// >>> owner.decrypt(rows).round(3)
    /// array([[1., 4.],
    ///        [2., 5.],
    ///        [3., 6.]])
    #[pyo3(signature = (progress=None))]
    fn to_rows(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<PyCiphertext> {
        let base = self.base.get();
        let evaluator = base.evaluator();
        let data = &*base.settled(py, &evaluator)?;
        let rows = with_progress(
            py,
            progress,
            "transpose",
            |error| raise(py, error),
            |tick| evaluator.transposed_with_progress(data, tick),
        )?;
        base.beside(py, rows)
    }

    /// The same view with evaluation keys attached, which results inherit.
    ///
    /// Parameters
    /// ----------
    /// keys : EvaluationKeys or None
    ///     The keys; None detaches them.
    ///
    /// Returns
    /// -------
    /// TransposedCiphertext
    ///     The same encrypted matrix.
    ///
    /// Raises
    /// ------
    /// WrongParamsError
    ///     Where the keys were made for other parameters.
    /// WrongSecretError
    ///     Where the keys belong to another secret.
    ///
    /// Examples
    /// --------
    /// >>> X = secret_key.encrypt([[1.0, 2.0]], encoding="coefficients")
    /// >>> X.T.with_keys(keys).T.keys is keys
    /// True
    fn with_keys(&self, py: Python<'_>, keys: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let base = self.base.bind(py).call_method1("with_keys", (keys,))?;
        Ok(Self { base: base.cast_into::<PyCiphertext>()?.unbind() })
    }

    /// Divides the encrypted numbers' scale by the last step of the modulus and drops that step: one level less.
    ///
    /// Returns
    /// -------
    /// TransposedCiphertext
    ///     The same numbers, one level lower.
    ///
    /// Raises
    /// ------
    /// LevelError
    ///     At level 0, where no step is left to divide by.
    /// ScaleError
    ///     Where the scale would fall below 1, so that nothing of the numbers were left.
    ///
    /// Examples
    /// --------
    /// >>> X = secret_key.encrypt([[1.0, 2.0]], encoding="coefficients")
    /// >>> (X.T * 0.5).rescale().level == X.level - 1
    /// True
    fn rescale(&self, py: Python<'_>) -> PyResult<Self> {
        Self::of(py, self.base.get().rescaled_once(py)?)
    }

    /// The product with an encrypted matrix, or with a plain one, with progress. It is not rescaled.
    ///
    /// A product of encrypted matrices is exact up to the errors of encryption and of the rescale. Its rows are at the degree and rank of
    /// rows that were encrypted with `lanes`; `Ciphertext.pack` brings them together.
    ///
    /// Parameters
    /// ----------
    /// other : Ciphertext or array_like
    ///     The right factor.
    /// progress : bool or callable, optional
    ///     True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.
    ///
    /// Returns
    /// -------
    /// Ciphertext or TransposedCiphertext
    ///     The product with an encrypted matrix; a view of that with a plain one.
    ///
    /// Raises
    /// ------
    /// MissingKeyError
    ///     Where no keys are attached, or they lack some that a product of encrypted matrices needs.
    /// ShapeError
    ///     Where the shapes do not fit, and unless the matrices are real, in coefficients, with a mask for each polynomial.
    /// LevelError
    ///     At level 0.
    /// ScaleError
    ///     Where the scale of the product leaves its level no room.
    /// DataError
    ///     Where plain numbers are NaN, infinite or too large.
    /// WrongSecretError
    ///     Where the other ciphertext belongs to another secret.
    /// CancelledError
    ///     Where the progress function returned False.
    ///
    /// Examples
    /// --------
    /// >>> tiny = cl.Params.preset("insecure_tiny")
    /// >>> owner = cl.SecretKey.generate(tiny)
    /// >>> needs = cl.trace(lambda x, y: x.T @ y, (2, 2), (2, 2), params=tiny, encoding="coefficients").needs
    /// >>> x = owner.encrypt([[1.0, 3.0], [2.0, 4.0]], encoding="coefficients").with_keys(owner.evaluation_keys(needs))
    /// >>> y = owner.encrypt([[0.5, 0.0], [0.0, 0.25]], encoding="coefficients")
    /// >>> owner.decrypt(x.T.matmul(y).rescale()).round(3)
    /// array([[0.5, 0.5],
    ///        [1.5, 1. ]])
    #[pyo3(signature = (other, progress=None))]
    fn matmul<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let base = self.base.get();
        if let Ok(other) = other.cast::<PyCiphertext>() {
            return Ok(Bound::new(py, base.encrypted_product(py, other.get(), progress, true)?)?.into_any());
        }
        if let Ok(other) = other.cast::<Self>() {
            // (X^T)(Y^T) = (Y X)^T
            let product = other.get().base.get().times_encrypted(py, base, progress)?;
            return Ok(Bound::new(py, Self::of(py, product)?)?.into_any());
        }
        let shape: Vec<usize> = base.data.shape().iter().rev().copied().collect();
        let product = base.matmul(py, &transposed_factor(py, other, shape)?, None, progress)?;
        Ok(Bound::new(py, Self::of(py, product)?)?.into_any())
    }

    /// Pandas leaves operators to the operand of higher priority.
    #[classattr]
    #[pyo3(name = "__pandas_priority__")]
    const PANDAS_PRIORITY: i32 = 5000;

    fn __matmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.matmul(py, other, None)
    }

    fn __rmatmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let rows = Bound::new(py, self.to_rows(py, None)?)?;
        rows.call_method1("__rmatmul__", (other,))
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operator(py, "__add__", other)
    }

    fn __radd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operator(py, "__radd__", other)
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operator(py, "__sub__", other)
    }

    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.operator(py, "__rsub__", other)
    }

    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let encrypted = other.is_instance_of::<Self>() || other.is_instance_of::<PyCiphertext>();
        if encrypted || (is_numeric(other)? && !array(other)?.shape.is_empty()) {
            return Err(PyTypeError::new_err(ENTRY_BY_ENTRY));
        }
        // The number's type says whether the product takes a level.
        let Real(value) = other.extract()?;
        let factor = if is_whole(other)? && value.abs() < LARGEST_INTEGER {
            (value as i64).into_pyobject(py)?.into_any()
        } else {
            value.into_pyobject(py)?.into_any()
        };
        self.operator(py, "__mul__", &factor)
    }

    fn __rmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__mul__(py, other)
    }

    /// Division by a plain number.
    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let encrypted = other.is_instance_of::<Self>() || other.is_instance_of::<PyCiphertext>();
        if !encrypted && is_numeric(other)? && array(other)?.shape.is_empty() {
            return self.operator(py, "__truediv__", other);
        }
        Err(PyTypeError::new_err(if encrypted { DIVISOR } else { ENTRY_BY_ENTRY }))
    }

    fn __pos__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        Self::of(py, self.base.get().map(py, |evaluator, x| evaluator.negate(x))?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let turned = py.import("operator")?.getattr("attrgetter")?.call1(("T",))?;
        Ok((turned, (self.base.clone_ref(py),).into_pyobject(py)?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{}.T", self.base.bind(py).repr()?))
    }
}
