//! Encrypted arrays with NumPy's operators.
//!
//! A ciphertext may carry evaluation keys (`with_keys`), which results inherit: that is how an operator finds them. They are shared,
//! never copied, and never part of a file or a pickle.

use clathrate_arith::text::counted;
use std::sync::Arc;

use clathrate_ckks::circuits::matrix::Weights;
use clathrate_ckks::file::{FileReader, Stored};
use clathrate_ckks::keys::Values;
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator};
use pyo3::exceptions::{PyTypeError, PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;
use pyo3::types::{PyNotImplemented, PyTuple};

use crate::arrays::{Array, matrix};
use crate::errors::{exception, out_of_range, raise, raise_for_array};
use crate::files::{BufferAndRebuild, FilePath, reduce, to_array};
use crate::keys::PyEvaluationKeys;
use crate::operand::{Operand, Real, Whole, Wholes};
use crate::params::{PyParams, hex, size};
use crate::run::{detached, detached_with, with_progress};
use crate::values::{inverted, negated, scalar};

/// An encrypted array: immutable; operations give new ones and keep the shape.
///
/// `+ - *` take ciphertexts of equal shape, arrays that broadcast to the shape, and numbers, on either side; `ct ** 2`, `ct / number`;
/// `W @ ct` for a plain matrix. Products are not rescaled until `.rescale()`; a product with an integer needs none.
/// Products of ciphertexts, rotations and conjugation use the keys attached by `ct.with_keys(keys)`, which results inherit.
/// Comparing, converting to numbers and iterating raise `TypeError`: decrypt first.
#[pyclass(frozen, module = "clathrate", name = "Ciphertext")]
pub struct PyCiphertext {
    pub data: Arc<Ciphertext>,
    params: Py<PyParams>,
    keys: Keys,
}

/// Where operators find evaluation keys.
enum Keys {
    /// Nowhere.
    None,
    /// Attached by `with_keys`.
    Attached(Py<PyEvaluationKeys>),
    /// Nowhere yet: this is a symbol, and its operators write down what keys they would use.
    Recorded(Evaluator),
}

impl Keys {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::None => Self::None,
            Self::Attached(keys) => Self::Attached(keys.clone_ref(py)),
            Self::Recorded(evaluator) => Self::Recorded(evaluator.clone()),
        }
    }
}

/// Result of an operator: a ciphertext, or Python's `NotImplemented`.
type OperatorResult<'py> = PyResult<Bound<'py, PyAny>>;

fn not_implemented(py: Python<'_>) -> OperatorResult<'_> {
    Ok(PyNotImplemented::get(py).to_owned().into_any())
}

fn refuse<T>(what: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(format!("{what}: decrypt it first with `secret_key.decrypt(ct)`")))
}

impl PyCiphertext {
    /// A ciphertext without keys; `params` are those it was made or read with, its own may be of another shape.
    pub fn new(py: Python<'_>, data: Ciphertext, params: &Py<PyParams>) -> PyResult<Self> {
        let params = PyParams::of(py, data.params(), params)?;
        Ok(Self { data: Arc::new(data), params, keys: Keys::None })
    }

    /// A symbol whose operators write their needs to `recorder`.
    pub fn symbol(data: Ciphertext, params: Py<PyParams>, recorder: Evaluator) -> Self {
        Self { data: Arc::new(data), params, keys: Keys::Recorded(recorder) }
    }

    /// `data` as a ciphertext beside this one: same family of parameters, same keys.
    fn beside(&self, py: Python<'_>, data: Ciphertext) -> PyResult<Self> {
        let params = PyParams::of(py, data.params(), &self.params)?;
        Ok(Self { data: Arc::new(data), params, keys: self.keys.clone_ref(py) })
    }

    fn evaluator(&self) -> Evaluator {
        match &self.keys {
            Keys::Attached(keys) => Evaluator::with_keys(keys.get().keys.clone()),
            Keys::Recorded(evaluator) => evaluator.clone(),
            Keys::None => Evaluator::new(self.data.params()),
        }
    }

    /// Runs a computation on this ciphertext alone.
    pub fn map(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let (evaluator, data) = (self.evaluator(), &*self.data);
        let result = detached(py, || work(&evaluator, data))?;
        self.beside(py, result)
    }

    /// Runs a computation on two ciphertexts, with the keys of the left one, or else of the right one.
    fn zip<'py>(
        &self,
        py: Python<'py>,
        other: &Self,
        work: impl FnOnce(&Evaluator, &Ciphertext, &Ciphertext) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let holder = if matches!(self.keys, Keys::None) { other } else { self };
        let (evaluator, left, right) = (holder.evaluator(), &*self.data, &*other.data);
        let result = detached(py, || work(&evaluator, left, right))?;
        holder.beside(py, result)
    }

    /// Runs a computation with an array of this shape.
    fn with_values(
        &self,
        py: Python<'_>,
        values: &Values,
        work: impl FnOnce(&Evaluator, &Ciphertext, &Values) -> Result<Ciphertext, CkksError> + Send,
    ) -> PyResult<Self> {
        let (evaluator, data) = (self.evaluator(), &*self.data);
        let translate = |error| raise_for_array(py, error, data.shape());
        let result = detached_with(py, translate, || work(&evaluator, data, values))?;
        self.beside(py, result)
    }

    fn add_values(&self, py: Python<'_>, array: Array, operation: &'static str, negate: bool) -> PyResult<Self> {
        let values = array.broadcast(py, self.data.shape(), operation)?;
        let values = if negate { negated(values) } else { values };
        self.with_values(py, &values, |evaluator, x, values| evaluator.add_plain(x, values))
    }

    fn multiply_by(&self, py: Python<'_>, factor: f64) -> PyResult<Self> {
        let translate = |error| raise_for_array(py, error, &[]);
        let (evaluator, data) = (self.evaluator(), &*self.data);
        let result = detached_with(py, translate, || evaluator.multiply_scalar(data, factor))?;
        self.beside(py, result)
    }

    fn multiply_values(&self, py: Python<'_>, array: Array, operation: &'static str, invert: bool) -> PyResult<Self> {
        let values = array.broadcast(py, self.data.shape(), operation)?;
        let values = if invert { inverted(py, values)? } else { values };
        self.with_values(py, &values, |evaluator, x, values| evaluator.multiply_plain(x, values))
    }
}

#[pymethods]
impl PyCiphertext {
    /// NumPy hands operators over instead of treating a ciphertext as an object scalar.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    const ARRAY_UFUNC: Option<bool> = None;

    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let sum = match Operand::new(other)? {
            Operand::Ciphertext(other) => self.zip(py, other.get(), |evaluator, x, y| evaluator.add(x, y))?,
            Operand::Scalar(value) => self.add_values(py, scalar(value), "addition", false)?,
            Operand::Array(array) => self.add_values(py, array, "addition", false)?,
            Operand::Other => return not_implemented(py),
        };
        Ok(Bound::new(py, sum)?.into_any())
    }

    fn __radd__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        self.__add__(py, other)
    }

    fn __sub__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let difference = match Operand::new(other)? {
            Operand::Ciphertext(other) => self.zip(py, other.get(), |evaluator, x, y| evaluator.sub(x, y))?,
            Operand::Scalar(value) => self.add_values(py, scalar(value), "subtraction", true)?,
            Operand::Array(array) => self.add_values(py, array, "subtraction", true)?,
            Operand::Other => return not_implemented(py),
        };
        Ok(Bound::new(py, difference)?.into_any())
    }

    fn __rsub__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let array = match Operand::new(other)? {
            Operand::Scalar(value) => scalar(value),
            Operand::Array(array) => array,
            Operand::Ciphertext(_) | Operand::Other => return not_implemented(py),
        };
        let difference = self.__neg__(py)?.add_values(py, array, "subtraction", false)?;
        Ok(Bound::new(py, difference)?.into_any())
    }

    fn __mul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let product = match Operand::new(other)? {
            Operand::Ciphertext(other) => self.zip(py, other.get(), |evaluator, x, y| evaluator.multiply(x, y))?,
            Operand::Scalar(value) => self.multiply_by(py, value)?,
            Operand::Array(array) => self.multiply_values(py, array, "an element-wise product", false)?,
            Operand::Other => return not_implemented(py),
        };
        Ok(Bound::new(py, product)?.into_any())
    }

    fn __rmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        self.__mul__(py, other)
    }

    /// Division by plain numbers: a product with their inverses.
    fn __truediv__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        let quotient = match Operand::new(other)? {
            Operand::Ciphertext(_) => {
                return Err(PyTypeError::new_err("a ciphertext is no divisor: multiply by an approximation of its inverse"));
            }
            Operand::Scalar(0.0) => return Err(PyZeroDivisionError::new_err("division of a ciphertext by zero")),
            Operand::Scalar(value) if value.is_finite() && !value.recip().is_finite() => {
                return Err(exception(py, "DataError", format!("the divisor {value:e} has no finite inverse: scale it up")));
            }
            Operand::Scalar(value) if value.is_infinite() => self.multiply_by(py, value)?,
            Operand::Scalar(value) => self.multiply_by(py, value.recip())?,
            Operand::Array(array) => self.multiply_values(py, array, "a division", true)?,
            Operand::Other => return not_implemented(py),
        };
        Ok(Bound::new(py, quotient)?.into_any())
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = other;
        Err(PyTypeError::new_err("a ciphertext is no divisor: multiply by an approximation of its inverse"))
    }

    fn __pow__<'py>(&self, py: Python<'py>, exponent: &Bound<'py, PyAny>, modulus: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        if modulus.is_none() && exponent.extract::<i64>().is_ok_and(|exponent| exponent == 2) {
            return Ok(Bound::new(py, self.map(py, |evaluator, x| evaluator.square(x))?)?.into_any());
        }
        Err(PyValueError::new_err("the only power is `ct ** 2`: multiply and rescale for the others"))
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        self.map(py, |evaluator, x| evaluator.negate(x))
    }

    fn __pos__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __rmatmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> OperatorResult<'py> {
        Ok(Bound::new(py, self.matmul(py, other, None, None)?)?.into_any())
    }

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(if other.is_instance_of::<Self>() {
            "products of two encrypted matrices are not available: one operand of `@` is a plain matrix, on the left"
        } else {
            "`ct @ W` is not available: rows are encrypted together, so the plain matrix goes on the left; encrypt the transpose and \
             compute `W.T @ ct`"
        }))
    }

    /// `W @ ct` for a plain real matrix of shape (rows, inner) and an encrypted one of shape (inner, columns); not yet rescaled.
    ///
    /// Parameters
    /// ----------
    /// weights : any numeric dtype, order and strides.
    /// weight_scale : what weights are multiplied by before rounding to integers of at most 51 bits. None: such that the product,
    ///     rescaled, has the next level's scale. 1.0 for a matrix of integers needs no level and no rescale.
    /// progress : True for a bar, or a function of (done, total) that may return False to stop.
    ///
    /// Errors: `ShapeError`, `DataError` (NaN, infinities, weights too large, empty), `LevelError` at level 0, `ScaleError`,
    /// `CancelledError`.
    #[pyo3(signature = (weights, weight_scale=None, progress=None))]
    fn matmul<'py>(
        &self,
        py: Python<'py>,
        weights: &Bound<'py, PyAny>,
        weight_scale: Option<Real>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        if weights.is_instance_of::<Self>() {
            return Err(PyTypeError::new_err("products of two encrypted matrices are not available: the left operand is a plain matrix"));
        }
        let data = &*self.data;
        let (values, rows, inner) = matrix(weights, data.shape())?;
        let weight_scale = Real::given(weight_scale);
        if let Some(scale) = weight_scale.filter(|scale| !(scale.is_finite() && *scale > 0.0)) {
            return Err(exception(py, "ScaleError", format!("`weight_scale` is {scale}: use a positive number that a double holds")));
        }
        if data.shape().len() != 2 || data.shape()[0] != inner {
            let remedy = match data.shape() {
                [expected, _] => format!("the left matrix needs {}", counted(*expected, "column")),
                _ => "the right operand is an encrypted matrix; encrypt a vector as a matrix of one column".to_owned(),
            };
            let (left, right) = (vec![rows, inner], data.shape().to_vec());
            return Err(raise(py, CkksError::Shape { operation: "a matrix product", left, right, remedy }));
        }
        let evaluator = self.evaluator();
        let translate = |error| raise_for_array(py, error, &[rows, inner]);
        let product = with_progress(py, progress, "matmul", translate, |tick| {
            let weights = match weight_scale {
                Some(scale) => Weights::new(rows, inner, &values, scale)?,
                None => evaluator.prepare_weights(rows, inner, &values, data)?,
            };
            evaluator.multiply_matrix(&weights, data, tick)
        })?;
        self.beside(py, product)
    }

    /// `self * other` for ciphertexts, element by element; with `rescale`, by one division: faster and less noisy than in turn.
    ///
    /// Errors: `MissingKeyError`, `ShapeError`, `LevelError`, `ScaleError`, `WrongParamsError`, `WrongSecretError`.
    #[pyo3(signature = (other, rescale=true))]
    fn multiply(&self, py: Python<'_>, other: &Bound<'_, Self>, rescale: bool) -> PyResult<Self> {
        self.zip(py, other.get(), |evaluator, x, y| if rescale { evaluator.multiply_rescale(x, y) } else { evaluator.multiply(x, y) })
    }

    /// Divides by the last modulus step: one level less, and the scale of a product back to a level's own.
    ///
    /// Errors: `LevelError` at level 0; `ScaleError` where nothing would be left.
    fn rescale(&self, py: Python<'_>) -> PyResult<Self> {
        self.map(py, |evaluator, x| evaluator.rescale(x))
    }

    /// The same numbers at a lower level: smaller and faster.
    ///
    /// Errors: `LevelError` for a higher level or one out of range.
    fn drop_to_level(&self, py: Python<'_>, level: Whole) -> PyResult<Self> {
        let level = self.params.get().level(py, Some(level))?;
        self.map(py, |evaluator, x| evaluator.drop_to_level(x, level))
    }

    /// Flooding bits for `SecretKey.decrypt_to_share` such that `queries` shared decryptions of this shape reveal their errors with
    /// statistical distance at most 2**-statistical_bits in all.
    ///
    /// `error_bound` is your bound on the error of these numbers, in their own units. What is shared is then right to about
    /// 2**(flood_bits - 1) / scale.
    ///
    /// Errors: `DataError` for a bound that is not positive, no queries, or a budget that the modulus has no room for.
    #[pyo3(signature = (error_bound, queries=Whole(1), statistical_bits=Whole(40)),
           text_signature = "($self, error_bound, queries=1, statistical_bits=40)")]
    fn flood_bits(&self, py: Python<'_>, error_bound: Real, queries: Whole, statistical_bits: Whole) -> PyResult<u32> {
        let Real(error_bound) = error_bound;
        let queries = u64::try_from(queries.0).map_err(|_| out_of_range(py, "`queries`", queries.0, "use 1 or more"))?;
        let statistical_bits = u32::try_from(statistical_bits.0).map_err(|_| {
            out_of_range(py, "`statistical_bits`", statistical_bits.0, "use 0 or more, as many as the modulus has room for")
        })?;
        self.data.flood_bits(error_bound, queries, statistical_bits).map_err(|error| raise(py, error))
    }

    /// Every row rotated left by `steps` (like `numpy.roll` by `-steps`), within its length rounded up to a power of two, padded with zeros.
    ///
    /// Errors: `MissingKeyError`; `ShapeError` unless encoded in slots, or for rows longer than `params.slot_count`.
    fn rotate(&self, py: Python<'_>, steps: Whole) -> PyResult<Self> {
        let steps = steps.steps(py)?;
        self.map(py, |evaluator, x| evaluator.rotate(x, steps))
    }

    /// Several rotations of one ciphertext, which share its decomposition: cheaper than one by one.
    ///
    /// Errors: those of `rotate`.
    fn rotate_many(&self, py: Python<'_>, steps: Wholes) -> PyResult<Vec<Self>> {
        let steps: Vec<i64> = steps.0.into_iter().map(|step| step.steps(py)).collect::<PyResult<_>>()?;
        let (evaluator, data) = (self.evaluator(), &*self.data);
        let rotated = detached(py, || evaluator.rotate_many(data, &steps))?;
        rotated.into_iter().map(|data| self.beside(py, data)).collect()
    }

    /// The complex conjugate of every entry.
    ///
    /// Errors: `MissingKeyError`; `ShapeError` unless encoded in slots.
    fn conj(&self, py: Python<'_>) -> PyResult<Self> {
        self.map(py, |evaluator, x| evaluator.conjugate(x))
    }

    /// The same ciphertext with evaluation keys attached, which results inherit; None detaches them.
    ///
    /// Where both operands carry keys, the left one's serve. Keys are shared, and not part of files and pickles.
    ///
    /// Errors: `WrongParamsError`, `WrongSecretError`.
    #[pyo3(signature = (keys))]
    fn with_keys(&self, py: Python<'_>, keys: Option<Py<PyEvaluationKeys>>) -> PyResult<Self> {
        if let (Some(keys), false) = (&keys, self.data.is_symbol()) {
            let keys = &keys.get().keys;
            self.data.params().check_related(keys.params(), "the set of evaluation keys").map_err(|error| raise(py, error))?;
            self.data.key_id().check_same(keys.id(), "the set of evaluation keys").map_err(|error| raise(py, error))?;
        }
        let keys = match (&self.keys, keys) {
            (Keys::Recorded(recorder), _) => Keys::Recorded(recorder.clone()),
            (_, Some(keys)) => Keys::Attached(keys),
            (_, None) => Keys::None,
        };
        Ok(Self { data: self.data.clone(), params: self.params.clone_ref(py), keys })
    }

    /// The same array at another rank of the same degree: lower, by reduction keys, or higher, up to the parameters' rank, by zeros.
    ///
    /// Lower ranks are smaller and faster, and secure at lower levels only: `params.at_rank(rank).max_level`. Keys: `Needs(ranks=[..])`.
    ///
    /// >>> low = ct.drop_to_level(ct.params.at_rank(2).max_level).to_rank(2)
    ///
    /// Errors: `MissingKeyError`; `LevelError` above the levels that are secure there; `ParamsError` for ranks that are not there.
    fn to_rank(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        self.map(py, |evaluator, x| evaluator.to_rank(x, rank))
    }

    /// The same array at rank 1 and the degree of equal dimension: `params.rlwe()`. Where the rank is not a power of two, its odd part stays.
    ///
    /// Keys: `Needs(to_rlwe=True)`. The message does not change, and neither does its level.
    ///
    /// Errors: `MissingKeyError`; `ShapeError` unless encoded in slots, for rows longer than `params.slot_count` and for odd ranks above 1.
    fn to_rlwe(&self, py: Python<'_>) -> PyResult<Self> {
        self.map(py, |evaluator, x| evaluator.to_rlwe(x))
    }

    /// The same array at rank `rank` and the degree of equal dimension: the way back from `to_rlwe`. It is a rearrangement: no key.
    ///
    /// Errors: `ShapeError` unless `rank` is this rank times a power of two, encoded in slots, and rows fit the slots of the lower degree.
    fn to_mlwe(&self, py: Python<'_>, rank: Whole) -> PyResult<Self> {
        let rank = size(py, "rank", rank)?;
        self.map(py, |evaluator, x| evaluator.to_mlwe(x, rank))
    }

    /// The attached evaluation keys, or None.
    #[getter]
    fn keys(&self, py: Python<'_>) -> Option<Py<PyEvaluationKeys>> {
        match &self.keys {
            Keys::Attached(keys) => Some(keys.clone_ref(py)),
            Keys::None | Keys::Recorded(_) => None,
        }
    }

    /// Shape of the encrypted array.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.data.shape())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.data.shape().len()
    }

    /// Number of entries.
    #[getter]
    fn size(&self) -> usize {
        self.data.shape().iter().product()
    }

    /// Level: rescales that are left.
    #[getter]
    fn level(&self) -> usize {
        self.data.level().0
    }

    /// Module rank: polynomials of a mask.
    #[getter]
    fn rank(&self) -> usize {
        self.data.params().rank()
    }

    /// Ring degree.
    #[getter]
    fn degree(&self) -> usize {
        self.data.params().degree()
    }

    /// What the numbers are multiplied by in the polynomials.
    #[getter]
    fn scale(&self) -> f64 {
        self.data.scale()
    }

    /// "slots" or "coefficients".
    #[getter]
    fn encoding(&self) -> &'static str {
        match self.data.encoding() {
            Encoding::Slots => "slots",
            Encoding::Coefficients => "coefficients",
        }
    }

    /// Whether entries are complex: what `decrypt` gives.
    #[getter]
    fn is_complex(&self) -> bool {
        self.data.is_complex()
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.data.bytes()
    }

    /// The parameters.
    #[getter]
    fn params(&self, py: Python<'_>) -> Py<PyParams> {
        self.params.clone_ref(py)
    }

    /// The public name of the secret it is under, 32 hexadecimal digits.
    #[getter]
    fn key_id(&self) -> String {
        hex(&self.data.key_id().0)
    }

    /// Writes the ciphertext to `path`, which is replaced at once or not at all. Returns the file's bytes.
    ///
    /// Errors: `FileAccessError`.
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<u64> {
        detached(py, || Ok(self.data.save(&path)?))
    }

    /// A ciphertext from a file that `save` wrote.
    ///
    /// Errors: `FileFormatError`, `FileAccessError`, `WrongParamsError`.
    #[staticmethod]
    fn load(py: Python<'_>, path: FilePath, params: Py<PyParams>) -> PyResult<Self> {
        let data = detached(py, || Ciphertext::from_reader(&FileReader::open(&path)?, &params.get().params))?;
        Self::new(py, data, &params)
    }

    /// The file's bytes as a read-only uint8 array; `clathrate.from_bytes` reads them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_array(py, detached(py, || Ok(self.data.to_file_bytes()?))?)
    }

    fn __repr__(&self) -> String {
        format!(
            "Ciphertext(shape={}, encoding=\"{}\", level={}, scale=2**{:.2}{}, params=\"{}\"{}{})",
            python_shape(self.data.shape()),
            self.encoding(),
            self.level(),
            self.scale().log2(),
            if self.is_complex() { ", complex" } else { "" },
            self.data.params().spec().name,
            match self.data.params().spec().relative {
                Some(shape) => format!(", degree={}, rank={}", shape.degree, shape.rank),
                None => String::new(),
            },
            match self.keys {
                Keys::None => "",
                Keys::Attached(_) => ", with keys",
                Keys::Recorded(_) => ", symbol",
            }
        )
    }

    fn __len__(&self) -> PyResult<usize> {
        self.data.shape().first().copied().ok_or_else(|| PyTypeError::new_err("an encrypted scalar has no length"))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let _ = other;
        refuse("a ciphertext cannot be compared")
    }

    fn __ne__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __lt__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __le__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __gt__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __ge__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__eq__(other)
    }

    fn __bool__(&self) -> PyResult<bool> {
        refuse("a ciphertext has no truth value")
    }

    fn __float__(&self) -> PyResult<f64> {
        refuse("a ciphertext is no number")
    }

    fn __int__(&self) -> PyResult<i64> {
        refuse("a ciphertext is no number")
    }

    fn __complex__(&self) -> PyResult<f64> {
        refuse("a ciphertext is no number")
    }

    fn __iter__(&self) -> PyResult<()> {
        refuse("a ciphertext cannot be iterated over")
    }

    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = index;
        refuse("the entries of a ciphertext are encrypted together and cannot be picked")
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let _ = value;
        refuse("a ciphertext cannot be searched")
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(&self, dtype: Option<&Bound<'_, PyAny>>, copy: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let _ = (dtype, copy);
        refuse("a ciphertext is no array of numbers")
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        slf
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: Whole) -> PyResult<BufferAndRebuild<'py>> {
        reduce(self.to_bytes(py)?, &self.params, protocol)
    }
}

fn python_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
