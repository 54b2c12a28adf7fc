//! Python's operators.

use std::collections::{BTreeMap, BTreeSet};

use clathrate_ckks::evaluation::broadcasting::common_shape;
use clathrate_ckks::keys::Values;
use clathrate_ckks::{Encoding, Padding};
use pyo3::exceptions::{PyTypeError, PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;

use super::object::PyCiphertext;
use super::operand::Operand;
use super::transposed::PyTransposed;
use crate::arrays::{Array, shape};
use crate::errors::{exception, raise, raise_for_array};
use crate::run::detached_with;
use crate::values::{inverted, negated, scalar};

/// The operations' names in errors.
const ADDITION: &str = "addition";
const SUBTRACTION: &str = "subtraction";
const PRODUCT: &str = "an element-wise product";

/// Integers from here on are multiplied as other numbers are: no modulus has room for them.
const LARGEST_INTEGER: f64 = 1.3e36;

/// Exponents end here: more levels than the longest chain has.
const LARGEST_EXPONENT: f64 = 4_294_967_296.0;

/// Whether plain numbers have one axis.
fn is_vector(other: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(shape(other)?.len() == 1)
}

impl PyCiphertext {
    /// Numbers repeated to the shape that they have together with this ciphertext, and that shape.
    fn spread(
        &self,
        py: Python<'_>,
        array: Array,
        operation: &'static str,
    ) -> PyResult<(Values, Vec<usize>)> {
        let shape =
            common_shape(self.data.shape(), &array.shape, operation).map_err(|error| raise(py, error))?;
        Ok((array.broadcast(py, &shape, operation)?, shape))
    }

    fn add_values(
        &self,
        py: Python<'_>,
        array: Array,
        operation: &'static str,
        negate: bool,
    ) -> PyResult<Self> {
        let (values, shape) = self.spread(py, array, operation)?;
        let values = if negate { negated(values) } else { values };
        let (evaluator, data) = (self.evaluator(), &*self.data);
        let translate = |error| raise_for_array(py, error, &shape);
        let sum = detached_with(py, translate, || {
            data.check_room_for_another(operation)?;
            evaluator.add_plain(&*evaluator.spread(data, &shape)?, &values)
        })?;
        self.beside(py, sum)
    }

    /// The product with a number that takes a level, whatever the number is.
    pub(super) fn multiply_by(&self, py: Python<'_>, factor: f64) -> PyResult<Self> {
        self.map_factor(
            py,
            |error| raise_for_array(py, error, &[]),
            |evaluator, x| evaluator.multiply_scalar(x, factor),
        )
    }

    /// The product with a number of an integer type, which takes no level.
    fn multiply_integer(&self, py: Python<'_>, factor: f64) -> PyResult<Self> {
        if factor.abs() >= LARGEST_INTEGER {
            return self.multiply_by(py, factor);
        }
        self.map(py, |evaluator, x| evaluator.multiply_integer(x, factor as i128))
    }

    pub(super) fn multiply_values(
        &self,
        py: Python<'_>,
        array: Array,
        operation: &'static str,
        invert: bool,
    ) -> PyResult<Self> {
        let (values, shape) = self.spread(py, array, operation)?;
        let values = if invert { inverted(py, values)? } else { values };
        let translate = |error| raise_for_array(py, error, &shape);
        let converted = self.brought_to_slots(py, self)?;
        let own = converted.as_ref().unwrap_or(self);
        own.map_factor(py, translate, |evaluator, x| {
            evaluator.multiply_plain(&*evaluator.spread(x, &shape)?, &values)
        })
    }

    /// The difference of two ciphertexts. From its own mean an array differs by zeros behind its numbers.
    pub(super) fn minus(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        if let Some(centred) = self.centred(py, other)? {
            return Ok(centred);
        }
        if let Some(centred) = other.centred(py, self)? {
            return centred.map(py, |evaluator, x| evaluator.negate(x));
        }
        self.difference(py, other)
    }

    /// The difference of two ciphertexts, with what is behind their numbers.
    pub(super) fn difference(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.zip(py, other, SUBTRACTION, |evaluator, x, y| evaluator.sub(x, y))
    }

    /// The product of two ciphertexts, entry by entry, not yet rescaled.
    pub(super) fn times(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let holder = if self.has_keys() { self } else { other };
        let left = self.brought_to_slots(py, holder)?;
        // A square converts its operand once.
        let square = std::ptr::eq(self, other);
        let right = if square { None } else { other.brought_to_slots(py, holder)? };
        let left = left.as_ref().unwrap_or(self);
        let right = if square { left } else { right.as_ref().unwrap_or(other) };
        left.zip_factors(py, right, PRODUCT, |evaluator, x, y| evaluator.multiply(x, y))
    }

    /// `self ** exponent`, by halves, so that `ceil(log2(exponent))` products follow one another.
    fn power(&self, py: Python<'_>, exponent: u64) -> PyResult<Self> {
        if exponent == 0 {
            return self.multiply_integer(py, 0.0)?.add_values(py, scalar(1.0), "a power", false);
        }
        // Every power but the first one is a product of its halves.
        let (mut wanted, mut open) = (BTreeSet::new(), vec![exponent]);
        while let Some(exponent) = open.pop() {
            if exponent > 1 && wanted.insert(exponent) {
                open.extend([exponent / 2, exponent - exponent / 2]);
            }
        }
        let count = wanted.len();
        // High powers of what is in the padding could be beyond the modulus.
        let cleared = if exponent > 2 && self.data.padding() == Padding::Dirty {
            Some(self.cleared(py)?)
        } else {
            None
        };
        let one = cleared.as_ref().unwrap_or(self);
        // Ascending, so that the halves of each exponent are there before it.
        let mut powers = BTreeMap::<u64, Self>::new();
        for exponent in wanted {
            let of = |exponent: u64| if exponent == 1 { one } else { &powers[&exponent] };
            let product = of(exponent - exponent / 2).times(py, of(exponent / 2))?;
            let last = powers.len() + 1 == count;
            powers.insert(exponent, if last { product } else { product.rescaled_anyway(py)? });
        }
        Ok(powers.remove(&exponent).unwrap_or_else(|| self.again(py)))
    }
}

#[pymethods]
impl PyCiphertext {
    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Operand::new(other)? {
            Operand::Ciphertext(other) => {
                self.zip(py, other.get(), ADDITION, |evaluator, x, y| evaluator.add(x, y))
            }
            Operand::Scalar(value) | Operand::Integer(value) => {
                self.add_values(py, scalar(value), ADDITION, false)
            }
            Operand::Array(array) => self.add_values(py, array, ADDITION, false),
        }
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Operand::new(other)? {
            Operand::Ciphertext(other) => self.minus(py, other.get()),
            Operand::Scalar(value) | Operand::Integer(value) => {
                self.add_values(py, scalar(value), SUBTRACTION, true)
            }
            Operand::Array(array) => self.add_values(py, array, SUBTRACTION, true),
        }
    }

    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = match Operand::new(other)? {
            Operand::Scalar(value) | Operand::Integer(value) => scalar(value),
            Operand::Array(array) => array,
            Operand::Ciphertext(other) => return other.get().minus(py, self),
        };
        self.__neg__(py)?.add_values(py, array, SUBTRACTION, false)
    }

    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Operand::new(other)? {
            Operand::Ciphertext(other) => self.times(py, other.get()),
            Operand::Scalar(value) => self.multiply_by(py, value),
            Operand::Integer(value) => self.multiply_integer(py, value),
            Operand::Array(array) => self.multiply_values(py, array, PRODUCT, false),
        }
    }

    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Operand::new(other)? {
            Operand::Scalar(0.0) | Operand::Integer(0.0) => {
                Err(PyZeroDivisionError::new_err("division of a ciphertext by zero"))
            }
            Operand::Scalar(value) | Operand::Integer(value)
                if value.is_finite() && !value.recip().is_finite() =>
            {
                let message = format!("the divisor {value:e} has no finite inverse: scale it up");
                Err(exception(py, "DataError", message))
            }
            Operand::Scalar(value) if value.is_infinite() => self.multiply_by(py, value),
            Operand::Scalar(value) | Operand::Integer(value) => self.multiply_by(py, value.recip()),
            Operand::Array(array) => self.multiply_values(py, array, "a division", true),
            Operand::Ciphertext(_) => Err(PyTypeError::new_err("a ciphertext is no divisor")),
        }
    }

    #[pyo3(name = "power")]
    fn to_power(&self, py: Python<'_>, exponent: Option<f64>) -> PyResult<Self> {
        let whole =
            exponent.filter(|exponent| exponent.fract() == 0.0 && (0.0..LARGEST_EXPONENT).contains(exponent));
        match whole {
            Some(whole) => self.power(py, whole as u64),
            None => Err(PyValueError::new_err(format!(
                "a power of a ciphertext has a whole exponent from 0 to {LARGEST_EXPONENT}, and no modulus: take `cl.sqrt`, `cl.inverse` or \
                 `cl.inverse_sqrt` on an interval, or approximate others by `cl.Polynomial.fit`"
            ))),
        }
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        self.map(py, |evaluator, x| evaluator.negate(x))
    }

    fn __rmatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let in_slots = self.data.encoding() == Encoding::Slots;
        let vector = self.data.shape().len() == 1;
        if vector && is_vector(other)? {
            self.dot_plain(py, other)
        } else if vector && in_slots {
            self.image(py, other, false)
        } else {
            self.matmul(py, other, None, None)
        }
    }

    fn __matmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.data.shape().len() == 1 {
            if let Ok(other) = other.cast::<Self>()
                && other.get().data.shape().len() == 1
            {
                return Ok(Bound::new(py, self.dot_encrypted(py, other.get())?)?.into_any());
            }
            if is_vector(other)? {
                return Ok(Bound::new(py, self.dot_plain(py, other)?)?.into_any());
            }
        } else if self.data.encoding() == Encoding::Slots {
            let vector = other.cast::<Self>().ok().filter(|other| other.get().data.shape().len() == 1);
            if vector.is_some() || is_vector(other)? {
                return Ok(Bound::new(py, self.times_vector(py, other, vector.map(|vector| vector.get()))?)?
                    .into_any());
            }
        }
        if let Ok(other) = other.cast::<Self>() {
            return Ok(Bound::new(py, self.times_encrypted(py, other.get(), None)?)?.into_any());
        }
        if let Ok(other) = other.cast::<PyTransposed>() {
            let rows = other.get().to_rows(py, None)?;
            return Ok(Bound::new(py, self.times_encrypted(py, &rows, None)?)?.into_any());
        }
        if self.data.encoding() != Encoding::Slots {
            let product = self.times_plain(py, other).map_err(|error| {
                if !error.get_type(py).name().is_ok_and(|name| name == "MissingKeyError") {
                    return error;
                }
                let hint = "`ct @ W` transposes the rows by switching keys, which `trace` finds; with X encrypted as its transpose, `X_transposed.T @ W` needs no key";
                exception(py, "MissingKeyError", format!("{}: {hint}", error.value(py)))
            })?;
            return Ok(Bound::new(py, product)?.into_any());
        }
        Ok(Bound::new(py, self.image(py, other, true)?)?.into_any())
    }
}
