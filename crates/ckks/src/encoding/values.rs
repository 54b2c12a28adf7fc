//! The numbers of an array.

use clathrate_arith::text::counted;
use rustfft::num_complex::Complex64;

use crate::arrays::{Encoding, Layout};
use crate::error::CkksError;

/// The numbers of an array, row-major, as decryption returns them.
///
/// ```
/// use clathrate_ckks::{CkksError, Complex64, Values};
///
/// assert_eq!(Values::Real(vec![1.0, 2.0]).into_real()?, [1.0, 2.0]);
/// let complex = Values::Complex(vec![Complex64::i()]);
/// assert_eq!(complex.clone().into_complex(), [Complex64::i()]);
/// assert!(complex.into_real().is_err());
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Real numbers.
    Real(Vec<f64>),
    /// Complex numbers.
    Complex(Vec<Complex64>),
}

/// Borrowed numbers of an array, row-major, as encryption and encoding take them.
///
/// Converts from a reference to a slice, an array or a vector of `f64` or [`Complex64`], or to [`Values`].
///
/// ```
/// use clathrate_ckks::ValuesRef;
///
/// assert_eq!(ValuesRef::from(&[1.0, 2.0]), ValuesRef::from(&vec![1.0, 2.0]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValuesRef<'a> {
    /// Real numbers.
    Real(&'a [f64]),
    /// Complex numbers.
    Complex(&'a [Complex64]),
}

impl<'a> From<&'a Values> for ValuesRef<'a> {
    fn from(values: &'a Values) -> Self {
        match values {
            Values::Real(values) => Self::Real(values),
            Values::Complex(values) => Self::Complex(values),
        }
    }
}

/// References to the collections of numbers of one kind.
macro_rules! values_from {
    ($number:ty, $kind:ident) => {
        impl<'a> From<&'a [$number]> for ValuesRef<'a> {
            fn from(values: &'a [$number]) -> Self {
                Self::$kind(values)
            }
        }

        impl<'a, const N: usize> From<&'a [$number; N]> for ValuesRef<'a> {
            fn from(values: &'a [$number; N]) -> Self {
                Self::$kind(values)
            }
        }

        impl<'a> From<&'a Vec<$number>> for ValuesRef<'a> {
            fn from(values: &'a Vec<$number>) -> Self {
                Self::$kind(values)
            }
        }
    };
}

values_from!(f64, Real);
values_from!(Complex64, Complex);

impl ValuesRef<'_> {
    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Largest magnitude.
    #[must_use]
    pub fn largest(self) -> f64 {
        match self {
            Self::Real(values) => values.iter().fold(0.0, |largest, v| largest.max(v.abs())),
            Self::Complex(values) => {
                // The square of the magnitude needs no root; where it leaves the range of floating-point numbers, magnitudes are computed one by one.
                let square = values.iter().fold(0.0f64, |largest, v| largest.max(v.norm_sqr()));
                if square.is_normal() && square.is_finite() {
                    return square.sqrt();
                }
                values.iter().fold(0.0, |largest, v| largest.max(v.norm()))
            }
        }
    }

    /// Largest magnitude, and of the numbers that are not zero the root mean square and the mean of the real parts.
    pub(crate) fn size(self) -> (f64, f64, f64) {
        let add = |(count, squares, sum): (f64, f64, f64), square: f64, re: f64| {
            (count + f64::from(u8::from(square > 0.0)), squares + square, sum + re)
        };
        let (count, squares, sum) = match self {
            Self::Real(values) => values.iter().fold((0.0, 0.0, 0.0), |sums, v| add(sums, v * v, *v)),
            Self::Complex(values) => values.iter().fold((0.0, 0.0, 0.0), |sums, v| add(sums, v.norm_sqr(), v.re)),
        };
        let (count, largest) = (f64::max(count, 1.0), self.largest());
        (largest, (squares / count).sqrt().min(largest), (sum / count).clamp(-largest, largest))
    }

    /// Whether they are complex.
    #[must_use]
    pub fn is_complex(self) -> bool {
        matches!(self, Self::Complex(_))
    }

    /// Number `index` as a complex number.
    pub(crate) fn get(self, index: usize) -> Complex64 {
        match self {
            Self::Real(values) => values[index].into(),
            Self::Complex(values) => values[index],
        }
    }

    /// Refuses NaN and infinities, by flat index.
    ///
    /// # Errors
    /// [`CkksError::NotFinite`].
    pub fn check_finite(self) -> Result<(), CkksError> {
        let bad = match self {
            Self::Real(values) => values.iter().position(|v| !v.is_finite()).map(|i| (i, values[i])),
            Self::Complex(values) => {
                values.iter().position(|v| !v.is_finite()).map(|i| (i, if values[i].re.is_finite() { values[i].im } else { values[i].re }))
            }
        };
        bad.map_or(Ok(()), |(index, value)| Err(CkksError::NotFinite { index, value }))
    }
}

impl Values {
    /// The same numbers, borrowed.
    #[must_use]
    pub fn view(&self) -> ValuesRef<'_> {
        self.into()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }

    /// Whether they are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.view().is_complex()
    }

    /// Real numbers as a vector.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for complex numbers, which [`Values::into_complex`] takes.
    pub fn into_real(self) -> Result<Vec<f64>, CkksError> {
        match self {
            Self::Real(values) => Ok(values),
            Self::Complex(_) => Err(CkksError::OutOfRange {
                what: "the array",
                value: "complex".to_owned(),
                remedy: "take its numbers with `into_complex`, or encrypt real ones".to_owned(),
            }),
        }
    }

    /// Real or complex numbers as a vector of complex numbers.
    #[must_use]
    pub fn into_complex(self) -> Vec<Complex64> {
        match self {
            Self::Real(values) => values.into_iter().map(Complex64::from).collect(),
            Self::Complex(values) => values,
        }
    }

    /// `count` zeros.
    #[must_use]
    pub fn zeros(count: usize, complex: bool) -> Self {
        if complex { Self::Complex(vec![Complex64::default(); count]) } else { Self::Real(vec![0.0; count]) }
    }

    /// Overwrites the real part of number `index`.
    pub(crate) fn set_real(&mut self, index: usize, value: f64) {
        match self {
            Self::Real(values) => values[index] = value,
            Self::Complex(values) => values[index].re = value,
        }
    }

    /// Overwrites the imaginary part of number `index`, which real numbers do not have.
    pub(crate) fn set_imaginary(&mut self, index: usize, value: f64) {
        if let Self::Complex(values) = self {
            values[index].im = value;
        }
    }
}

/// Refuses numbers that do not fit the array: a wrong count, complex numbers for real coefficients, numbers that are not finite.
///
/// # Errors
/// [`CkksError::Shape`], [`CkksError::Encoding`], [`CkksError::NotFinite`].
pub(crate) fn check_values(values: ValuesRef<'_>, shape: &[usize], layout: &Layout) -> Result<(), CkksError> {
    let size: usize = shape.iter().product();
    if size != values.len() {
        let remedy = format!("the shape needs {}", counted(size, "value"));
        return Err(CkksError::Shape { operation: "encode", left: shape.to_vec(), right: vec![values.len()], remedy });
    }
    if layout.encoding == Encoding::Coefficients && values.is_complex() && !layout.complex {
        return Err(CkksError::Encoding {
            operation: "complex data",
            expected: Encoding::Slots.name().to_owned(),
            got: layout.encoding.name().to_owned(),
        });
    }
    values.check_finite()
}
