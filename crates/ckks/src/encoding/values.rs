//! The numbers of an array, and the polynomial coefficients that hold them.

use clathrate_arith::text::counted;
use rustfft::num_complex::Complex64;

use crate::arrays::Encoding;
use crate::error::CkksError;
use crate::parameters::Params;

/// The numbers of an array, row-major.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Real numbers.
    Real(Vec<f64>),
    /// Complex numbers; slots only.
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

/// The polynomial coefficients (unscaled) that hold `values[range]`.
pub(crate) fn coefficients_of(
    params: &Params,
    values: &Values,
    range: std::ops::Range<usize>,
    encoding: Encoding,
    capacity: usize,
) -> Vec<f64> {
    match (encoding, values) {
        (Encoding::Coefficients, Values::Real(values)) => values[range].to_vec(),
        // Complex numbers have no place among coefficients: refused before.
        (Encoding::Coefficients, Values::Complex(values)) => values[range].iter().map(|v| v.re).collect(),
        (Encoding::Slots, values) => {
            let mut slots = vec![Complex64::default(); capacity];
            match values {
                Values::Real(values) => slots.iter_mut().zip(&values[range]).for_each(|(slot, &v)| *slot = v.into()),
                Values::Complex(values) => slots.iter_mut().zip(&values[range]).for_each(|(slot, &v)| *slot = v),
            }
            params.encoder().embed(&slots)
        }
    }
}

/// Refuses arrays that cannot be encoded so.
pub(crate) fn check_values(values: &Values, shape: &[usize], encoding: Encoding) -> Result<(), CkksError> {
    let size: usize = shape.iter().product();
    if size != values.len() {
        let remedy = format!("the shape needs {}", counted(size, "value"));
        return Err(CkksError::Shape { operation: "encode", left: shape.to_vec(), right: vec![values.len()], remedy });
    }
    if encoding == Encoding::Coefficients && values.is_complex() {
        return Err(CkksError::Encoding {
            operation: "complex data",
            expected: Encoding::Slots.name().to_owned(),
            got: encoding.name().to_owned(),
        });
    }
    values.check_finite()
}
