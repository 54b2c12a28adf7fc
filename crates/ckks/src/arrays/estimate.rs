//! How large the numbers of an array can be, and how large their error: carried by symbols through a dry run.
//!
//! Errors are root mean squares of one entry, in units of the numbers. They add up whatever their dependence (Minkowski), so these are bounds and no
//! independence is assumed:
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

/// `x y` of magnitudes, of which one may be infinite: an unbounded number times zero is zero.
fn product(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { x * y }
}

impl Estimate {
    /// Of `x + y` and `x - y`.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { magnitude: self.magnitude + other.magnitude, error: self.error + other.error }
    }

    /// Of `x y`.
    #[must_use]
    pub fn multiply(self, other: Self) -> Self {
        let error = product(self.magnitude, other.error) + product(other.magnitude, self.error) + product(self.error, other.error);
        Self { magnitude: product(self.magnitude, other.magnitude), error }
    }

    /// Of `c x`.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        Self { magnitude: product(self.magnitude, factor.abs()), error: product(self.error, factor.abs()) }
    }

    /// With a further error.
    #[must_use]
    pub fn with_error(self, error: f64) -> Self {
        Self { error: self.error + error, ..self }
    }

    /// Bits right of the point that hold: `-log2` of the error.
    #[must_use]
    pub fn precision_bits(self) -> f64 {
        -self.error.log2()
    }
}
