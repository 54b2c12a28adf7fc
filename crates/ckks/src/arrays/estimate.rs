//! Bounds on the numbers of an array and on their error, which symbols carry through a dry run.
//!
//! Errors are root mean squares of one entry, in units of the numbers. By Minkowski's inequality the sum of errors bounds the error of a sum, even if the
//! errors are dependent:
//!
//! ```text
//! e(x + y) <= e(x) + e(y),        e(x y) <= |x| e(y) + |y| e(x) + e(x) e(y)
//! ```

/// A bound on the numbers of an array and on their error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Largest magnitude of a number.
    pub magnitude: f64,
    /// Root mean square of a number's error.
    pub error: f64,
}

/// `x y` for magnitudes. One may be infinite; the product with zero is still zero.
fn product(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { x * y }
}

impl Estimate {
    /// The bounds of `x + y` and `x - y`.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { magnitude: self.magnitude + other.magnitude, error: self.error + other.error }
    }

    /// The bounds of `x y`.
    #[must_use]
    pub fn multiply(self, other: Self) -> Self {
        let error = product(self.magnitude, other.error) + product(other.magnitude, self.error) + product(self.error, other.error);
        Self { magnitude: product(self.magnitude, other.magnitude), error }
    }

    /// The bounds of `c x`.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        Self { magnitude: product(self.magnitude, factor.abs()), error: product(self.error, factor.abs()) }
    }

    /// The same bounds with an additional error.
    #[must_use]
    pub fn with_error(self, error: f64) -> Self {
        Self { error: self.error + error, ..self }
    }

    /// Correct bits after the binary point: `-log2` of the error.
    #[must_use]
    pub fn precision_bits(self) -> f64 {
        -self.error.log2()
    }
}
