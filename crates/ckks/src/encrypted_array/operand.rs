//! What stands on the other side of an operator.

use rustfft::num_complex::Complex64;

use super::EncryptedArray;
use crate::byproducts::Byproducts;
use crate::circuits::linear::convolution::Kernel;
use crate::encoding::values::Values;
use crate::error::{CkksError, place};
use crate::evaluation::broadcasting::broadcast_sources;

/// Plain numbers with a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainArray {
    /// The numbers, row-major. They do not change.
    pub(crate) values: Values,
    /// The lengths of the axes; none for a single number.
    pub(crate) shape: Vec<usize>,
    /// While a function is recorded, the plain input of the program that these numbers stand for.
    pub input: Option<PlainInput>,
    /// The maps of these numbers as a matrix or a kernel; clones share them.
    pub(crate) kept: Byproducts,
}

/// A plain input of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainInput {
    /// The number of the recording, in this process.
    pub recording: u64,
    /// The number of the input among the plain ones.
    pub index: usize,
}

/// The other operand of an operator of an encrypted array.
#[derive(Debug, Clone)]
pub enum Operand<'a> {
    /// Another encrypted array.
    Encrypted(&'a EncryptedArray),
    /// One real number, by which a product takes a level.
    Number(f64),
    /// One number of an integer type, by which a product takes no level.
    Integer(f64),
    /// Plain numbers, which are broadcast.
    Plain(PlainArray),
}

impl<'a> From<&'a EncryptedArray> for Operand<'a> {
    fn from(array: &'a EncryptedArray) -> Self {
        Self::Encrypted(array)
    }
}

impl From<f64> for Operand<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for Operand<'_> {
    fn from(number: i32) -> Self {
        Self::Integer(f64::from(number))
    }
}

impl From<PlainArray> for Operand<'_> {
    fn from(array: PlainArray) -> Self {
        Self::Plain(array)
    }
}

impl PlainArray {
    /// Numbers of this shape.
    #[must_use]
    pub fn new(values: Values, shape: Vec<usize>) -> Self {
        Self { values, shape, input: None, kept: Byproducts::default() }
    }

    /// The numbers, row-major.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The lengths of the axes; none for a single number.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The numbers as the kernel of a convolution.
    #[must_use]
    pub fn kernel(&self) -> Kernel<'_> {
        Kernel { values: &self.values, shape: &self.shape, kept: &self.kept }
    }

    /// The same numbers as those of a plain input of a recording.
    #[must_use]
    pub fn of_input(self, input: Option<PlainInput>) -> Self {
        Self { input, ..self }
    }

    /// One number, without axes.
    #[must_use]
    pub fn number(value: f64) -> Self {
        Self::new(Values::Real(vec![value]), Vec::new())
    }

    /// The numbers repeated to `shape` by NumPy's rules.
    ///
    /// # Errors
    /// [`CkksError::Shape`] if they do not fit, or if the result would be larger than `shape`.
    pub fn broadcast(self, shape: &[usize], operation: &'static str) -> Result<Values, CkksError> {
        if self.shape == shape {
            return Ok(self.values);
        }
        let pairs = || self.shape.iter().rev().zip(shape.iter().rev());
        if self.shape.len() > shape.len() || !pairs().all(|(&own, &wanted)| own == wanted || own == 1) {
            let remedy = format!(
                "the array must broadcast to the ciphertext's shape {shape:?}, which an operation keeps"
            );
            return Err(CkksError::Shape { operation, left: shape.to_vec(), right: self.shape, remedy });
        }
        let index = broadcast_sources(&self.shape, shape).into_iter();
        Ok(match self.values {
            Values::Real(values) => Values::Real(index.map(|i| values[i]).collect()),
            Values::Complex(values) => Values::Complex(index.map(|i| values[i]).collect()),
        })
    }
}

/// `-values`.
pub(super) fn negated(values: Values) -> Values {
    match values {
        Values::Real(values) => Values::Real(values.into_iter().map(|v| -v).collect()),
        Values::Complex(values) => Values::Complex(values.into_iter().map(|v| -v).collect()),
    }
}

/// The inverse of a divisor, whose flat index in an array of shape `shape` is `index`. A number that is not
/// finite is its own inverse: it is refused where it is encoded.
///
/// # Errors
/// [`CkksError::OutOfRange`] for a divisor that is zero, or so near that its inverse is beyond double
/// precision.
pub(super) fn inverse_of(divisor: Complex64, index: usize, shape: &[usize]) -> Result<Complex64, CkksError> {
    let inverse = if divisor.im == 0.0 { Complex64::from(divisor.re.recip()) } else { divisor.inv() };
    if inverse.is_finite() || !divisor.is_finite() {
        return Ok(if divisor.is_finite() { inverse } else { divisor });
    }
    let number = match (divisor.re, divisor.im) {
        (0.0, 0.0) => "0".to_owned(),
        (re, 0.0) => format!("{re:e}"),
        _ => format!("{divisor:e}"),
    };
    let value = format!("{number} at index {}", place(index, Some(shape)));
    let remedy = "it has no finite inverse: divide by numbers that are further from zero".to_owned();
    Err(CkksError::OutOfRange { what: "the divisor", value, remedy })
}

/// `1 / values`, for an array of shape `shape`.
///
/// # Errors
/// As [`inverse_of`].
pub(super) fn inverted(values: Values, shape: &[usize]) -> Result<Values, CkksError> {
    let inverse = |(index, divisor): (usize, Complex64)| inverse_of(divisor, index, shape);
    Ok(match values {
        Values::Real(values) => {
            let divisors = values.into_iter().map(Complex64::from).enumerate();
            Values::Real(divisors.map(|divisor| Ok(inverse(divisor)?.re)).collect::<Result<_, CkksError>>()?)
        }
        Values::Complex(values) => {
            Values::Complex(values.into_iter().enumerate().map(inverse).collect::<Result<_, _>>()?)
        }
    })
}
