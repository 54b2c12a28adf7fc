//! The numbers of an array.

use clathrate_arith::text::counted;
use rustfft::num_complex::Complex64;

use crate::arrays::estimate::{name_of, name_of_all};
use crate::arrays::{Encoding, Layout, Order, count_of};
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

/// Words that are hashed together: BLAKE3 hashes long inputs several times as fast as many short ones.
const TOGETHER: usize = 1 << 13;

/// Adds words to a hash.
pub(crate) fn hash_words(hasher: &mut blake3::Hasher, words: impl IntoIterator<Item = u64>) {
    let mut bytes = Vec::with_capacity(8 * TOGETHER);
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
        if bytes.len() == 8 * TOGETHER {
            hasher.update(&bytes);
            bytes.clear();
        }
    }
    hasher.update(&bytes);
}

/// The words of complex numbers.
pub(crate) fn words_of(values: &[Complex64]) -> impl Iterator<Item = u64> {
    values.iter().flat_map(|value| [value.re.to_bits(), value.im.to_bits()])
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
    /// The number of values.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The largest magnitude.
    #[must_use]
    pub fn largest(self) -> f64 {
        match self {
            Self::Real(values) => largest_magnitude(values),
            Self::Complex(values) => {
                // Scaled by a power of two, so that the squares are in the range of doubles.
                let unit = power_of_two_above(largest_of(values, |value| value.re.abs().max(value.im.abs())));
                let inverse = unit.recip();
                largest_of(values, |value| (value * inverse).norm_sqr()).sqrt() * unit
            }
        }
    }

    /// The share of the numbers that are not zero.
    pub(crate) fn filled(self) -> f64 {
        let count = match self {
            Self::Real(values) => values.iter().filter(|value| **value != 0.0).count(),
            Self::Complex(values) => values.iter().filter(|value| value.norm_sqr() > 0.0).count(),
        };
        count as f64 / self.len().max(1) as f64
    }

    /// `largest` (the largest magnitude); and, over the numbers that are not zero, the root mean square and
    /// the mean of the real parts.
    pub(crate) fn size(self, largest: f64) -> (f64, f64, f64) {
        let [count, squares, sum] = match self {
            Self::Real(values) => {
                sums_of(values, |value| [f64::from(u8::from(*value != 0.0)), value * value, *value])
            }
            Self::Complex(values) => sums_of(values, |value| {
                let square = value.norm_sqr();
                [f64::from(u8::from(square > 0.0)), square, value.re]
            }),
        };
        let count = f64::max(count, 1.0);
        (largest, (squares / count).sqrt().min(largest), (sum / count).min(largest).max(-largest))
    }

    /// How the deviations of the numbers from their mean add up along the rows of an array and along its
    /// columns: the square of a sum of them, divided by the sum of their squares; at least 1. Zeros have no
    /// deviation. `columns` is the length of a row.
    pub(crate) fn together(self, columns: usize) -> [f64; 2] {
        match self {
            Self::Real(values) => together(values, columns, |value| *value),
            Self::Complex(values) => together(values, columns, |value| value.re),
        }
    }

    /// The name of the numbers, for estimates.
    pub(crate) fn name(self) -> u64 {
        match self {
            Self::Real(values) => name_of_all(values),
            Self::Complex(values) => name_of(values.iter().flat_map(|value| [value.re, value.im])),
        }
    }

    /// The name of the numbers at `indices`.
    pub(crate) fn name_of_some(self, indices: impl Iterator<Item = usize>) -> u64 {
        match self {
            Self::Real(values) => name_of_all(&indices.map(|index| values[index]).collect::<Vec<_>>()),
            Self::Complex(values) => name_of_all(
                &indices.flat_map(|index| [values[index].re, values[index].im]).collect::<Vec<_>>(),
            ),
        }
    }

    /// How often equal numbers repeat in the slots of each polynomial of an array with this layout: the
    /// number of equal rows in lanes, and the number of equal parts of each row, a power of two. The time
    /// depends on the numbers.
    pub(crate) fn repetitions(self, layout: &Layout) -> [usize; 2] {
        match self {
            Self::Real(values) => repetitions(values, layout),
            Self::Complex(values) => repetitions(values, layout),
        }
    }

    /// Whether all numbers are equal.
    pub(crate) fn is_one_number(self) -> bool {
        // Reads all numbers before the first branch.
        match self {
            Self::Real(values) => {
                values.first().is_some_and(|first| values.iter().fold(true, |same, v| same & (v == first)))
            }
            Self::Complex(values) => {
                values.first().is_some_and(|first| values.iter().fold(true, |same, v| same & (v == first)))
            }
        }
    }

    /// Whether the numbers are complex.
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
    #[inline(never)] // Tests know the one branch on numbers by the name of this function.
    pub fn check_finite(self) -> Result<(), CkksError> {
        // Reads all numbers before the first branch; the position is only searched for an error.
        let finite = match self {
            Self::Real(values) => values.iter().fold(true, |finite, v| finite & v.is_finite()),
            Self::Complex(values) => {
                values.iter().fold(true, |finite, v| finite & v.re.is_finite() & v.im.is_finite())
            }
        };
        if finite {
            return Ok(());
        }
        let bad = match self {
            Self::Real(values) => values.iter().position(|v| !v.is_finite()).map(|i| (i, values[i])),
            Self::Complex(values) => values
                .iter()
                .position(|v| !v.is_finite())
                .map(|i| (i, if values[i].re.is_finite() { values[i].im } else { values[i].re })),
        };
        bad.map_or(Ok(()), |(index, value)| Err(CkksError::NotFinite { index, value, shape: None }))
    }
}

impl Values {
    /// The same numbers, borrowed.
    #[must_use]
    pub fn view(&self) -> ValuesRef<'_> {
        self.into()
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }

    /// Whether the numbers are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.view().is_complex()
    }

    /// Real numbers as a vector.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for complex numbers; use [`Values::into_complex`] for them.
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

    /// Overwrites the imaginary part of number `index`; does nothing for real numbers.
    pub(crate) fn set_imaginary(&mut self, index: usize, value: f64) {
        if let Self::Complex(values) = self {
            values[index].im = value;
        }
    }
}

/// A power of two above `magnitude` and at most twice it, limited to those whose inverse is a normal double.
fn power_of_two_above(magnitude: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(magnitude.to_bits() & EXPONENT).clamp(f64::MIN_POSITIVE, 0.5f64.powi(-1022)) * 2.0
}

/// The largest magnitude; 0 for no values.
pub(crate) fn largest_magnitude(values: &[f64]) -> f64 {
    largest_of(values, |value| value.abs())
}

/// The largest `size` of any value, at least 0, with eight independent maxima, so that the compiler
/// vectorises the loop.
fn largest_of<T>(values: &[T], size: impl Fn(&T) -> f64) -> f64 {
    let mut largest = [0.0f64; 8];
    let lanes = values.chunks_exact(largest.len());
    let rest = lanes.remainder().iter().fold(0.0f64, |largest, value| largest.max(size(value)));
    for lane in lanes {
        largest.iter_mut().zip(lane).for_each(|(largest, value)| {
            *largest = if size(value) > *largest { size(value) } else { *largest }
        });
    }
    largest.into_iter().fold(rest, f64::max)
}

/// The sums of the three `parts` of each value, with eight independent sums each.
fn sums_of<T>(values: &[T], parts: impl Fn(&T) -> [f64; 3]) -> [f64; 3] {
    let mut sums = [[0.0f64; 8]; 3];
    let lanes = values.chunks_exact(8);
    let rest = lanes.remainder();
    let mut add = |place: usize, value: &T| {
        sums.iter_mut().zip(parts(value)).for_each(|(sums, part)| sums[place] += part)
    };
    for lane in lanes {
        lane.iter().enumerate().for_each(|(place, value)| add(place, value));
    }
    rest.iter().enumerate().for_each(|(place, value)| add(place, value));
    sums.map(|sums| sums.into_iter().sum())
}

fn together<T>(values: &[T], columns: usize, real: impl Fn(&T) -> f64) -> [f64; 2] {
    let [count, sum, _] =
        sums_of(values, |value| [f64::from(u8::from(real(value) != 0.0)), real(value), 0.0]);
    let mean = sum / f64::max(count, 1.0);
    let (mut of_columns, mut of_rows, mut squares) = (vec![0.0; columns], 0.0, 0.0);
    for row in values.chunks(columns.max(1)) {
        let mut of_row = 0.0;
        for (of_column, value) in of_columns.iter_mut().zip(row) {
            let deviation = if real(value) == 0.0 { 0.0 } else { real(value) - mean };
            (*of_column, of_row, squares) =
                (*of_column + deviation, of_row + deviation, squares + deviation * deviation);
        }
        of_rows += of_row * of_row;
    }
    if squares <= count * mean * mean * f64::EPSILON {
        return [1.0; 2];
    }
    let of_columns: f64 = of_columns.iter().map(|sum| sum * sum).sum();
    [(of_columns / squares).max(1.0), (of_rows / squares).max(1.0)]
}

fn repetitions<T: PartialEq>(values: &[T], layout: &Layout) -> [usize; 2] {
    if layout.encoding() != Encoding::Slots || values.is_empty() {
        return [1, 1];
    }
    let rows = || values.chunks_exact(layout.columns());
    let alike =
        |group: &[T]| group.chunks_exact(layout.columns()).all(|row| *row == group[..layout.columns()]);
    let full = layout.lanes() > 1 && layout.rows().is_multiple_of(layout.lanes());
    let lanes = if full && values.chunks_exact(layout.lanes() * layout.columns()).all(alike) {
        layout.lanes()
    } else {
        1
    };
    // Repetitions within a row require that rows fill their polynomials.
    let mut length = layout.capacity();
    if layout.order() == Order::Natural
        && layout.columns().is_multiple_of(layout.capacity())
        && (lanes > 1 || layout.lanes() == 1)
    {
        let halves = |length: usize| {
            let half = length / 2;
            rows().all(|row| {
                row.chunks_exact(layout.capacity()).all(|chunk| chunk[..half] == chunk[half..length])
            })
        };
        while length > 1 && halves(length) {
            length /= 2;
        }
    }
    [lanes, layout.capacity() / length]
}

/// Refuses numbers that do not fit the array: a wrong count, complex numbers for real coefficients, numbers
/// that are not finite.
///
/// # Errors
/// [`CkksError::Shape`], [`CkksError::Encoding`], [`CkksError::NotFinite`].
pub(crate) fn check_values(values: ValuesRef<'_>, shape: &[usize], layout: &Layout) -> Result<(), CkksError> {
    let size = count_of(shape);
    if size != values.len() {
        let remedy = format!("the shape needs {}", counted(size, "value"));
        return Err(CkksError::Shape {
            operation: "encode",
            left: shape.to_vec(),
            right: vec![values.len()],
            remedy,
        });
    }
    if layout.encoding() == Encoding::Coefficients && values.is_complex() && !layout.is_complex() {
        return Err(CkksError::Encoding {
            operation: "complex data",
            expected: Encoding::Slots.name().to_owned(),
            got: layout.encoding().name().to_owned(),
        });
    }
    values.check_finite().map_err(|error| error.in_shape(shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_magnitude_reads_every_place() {
        for len in [0usize, 1, 7, 8, 9, 24, 31] {
            for place in 0..len {
                let mut values = vec![0.25; len];
                values[place] = -3.0;
                assert_eq!(largest_magnitude(&values), 3.0);
            }
            assert_eq!(largest_magnitude(&vec![0.0; len]), 0.0);
        }
    }

    #[test]
    fn largest_magnitude_of_complex_numbers_is_that_of_the_largest_at_every_size() {
        let of = |values: &[Complex64]| ValuesRef::from(values).largest();
        assert_eq!(of(&[]), 0.0);
        assert_eq!(of(&[Complex64::default(); 9]), 0.0);
        for exponent in [-1074, -1060, -1022, -800, -3, 0, 1, 40, 800, 1020] {
            let unit = f64::from(exponent).exp2();
            let mut values = vec![Complex64::new(-unit, 0.0); 11];
            for place in 0..11 {
                assert_eq!(of(&values), unit, "2^{exponent}");
                values[place] = Complex64::new(3.0 * unit, -4.0 * unit);
                assert_eq!(of(&values), 5.0 * unit, "2^{exponent}");
                values[place] = Complex64::new(0.0, unit);
            }
        }
        assert_eq!(of(&[Complex64::new(f64::MAX, f64::MAX)]), f64::INFINITY);
    }

    #[test]
    fn numbers_that_are_not_finite_are_named_by_their_first_place() {
        for place in 0..20 {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut real = vec![1.0; 21];
                (real[place], real[20]) = (bad, bad);
                assert!(
                    matches!(ValuesRef::from(&real).check_finite(), Err(CkksError::NotFinite { index, .. }) if index == place)
                );
                let mut complex = vec![Complex64::i(); 21];
                complex[place].im = bad;
                assert!(
                    matches!(ValuesRef::from(&complex).check_finite(), Err(CkksError::NotFinite { index, .. }) if index == place)
                );
            }
        }
        assert!(ValuesRef::from(&[f64::MAX, f64::MIN_POSITIVE, -0.0]).check_finite().is_ok());
    }
}
