//! The numbers of an array.

use clathrate_arith::text::counted;
use rustfft::num_complex::Complex64;

use crate::arrays::{Encoding, Layout};
use crate::error::CkksError;

/// The numbers of an array, row-major.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Real numbers.
    Real(Vec<f64>),
    /// Complex numbers.
    Complex(Vec<Complex64>),
}

impl Values {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Largest magnitude.
    #[must_use]
    pub fn largest(&self) -> f64 {
        match self {
            Self::Real(values) => values.iter().fold(0.0, |largest, v| largest.max(v.abs())),
            Self::Complex(values) => values.iter().fold(0.0, |largest, v| largest.max(v.norm())),
        }
    }

    /// Whether they are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        matches!(self, Self::Complex(_))
    }

    /// `count` zeros.
    #[must_use]
    pub fn zeros(count: usize, complex: bool) -> Self {
        if complex { Self::Complex(vec![Complex64::default(); count]) } else { Self::Real(vec![0.0; count]) }
    }

    /// Number `index` as a complex one.
    pub(crate) fn get(&self, index: usize) -> Complex64 {
        match self {
            Self::Real(values) => values[index].into(),
            Self::Complex(values) => values[index],
        }
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

    /// Refuses NaN and infinities, by flat index.
    ///
    /// # Errors
    /// [`CkksError::NotFinite`].
    pub fn check_finite(&self) -> Result<(), CkksError> {
        let bad = match self {
            Self::Real(values) => values.iter().position(|v| !v.is_finite()).map(|i| (i, values[i])),
            Self::Complex(values) => {
                values.iter().position(|v| !v.is_finite()).map(|i| (i, if values[i].re.is_finite() { values[i].im } else { values[i].re }))
            }
        };
        bad.map_or(Ok(()), |(index, value)| Err(CkksError::NotFinite { index, value }))
    }
}

/// Refuses numbers that do not fit the array: another count, complex ones where coefficients are real, or infinite ones.
///
/// # Errors
/// [`CkksError::Shape`], [`CkksError::Encoding`], [`CkksError::NotFinite`].
pub(crate) fn check_values(values: &Values, shape: &[usize], layout: &Layout) -> Result<(), CkksError> {
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
