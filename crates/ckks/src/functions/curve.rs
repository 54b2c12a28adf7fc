//! The functions themselves, in double precision.

use std::f64::consts::SQRT_2;

use crate::error::CkksError;

/// A function of one real number that is smooth where it is approximated, so that polynomials of low degree
/// are near it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SmoothFunction {
    /// The logistic function `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The sigmoid linear unit `x / (1 + exp(-x))`.
    Silu,
    /// The Gaussian error linear unit `x Phi(x)`, with the normal distribution's `Phi`.
    Gelu,
    /// The exponential function.
    Exp,
    /// The natural logarithm.
    Log,
    /// `1 / x`.
    Inverse,
    /// The square root.
    Sqrt,
    /// `1 / sqrt(x)`: what a normalisation multiplies by.
    InverseSqrt,
}

impl SmoothFunction {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Sigmoid,
        Self::Tanh,
        Self::Silu,
        Self::Gelu,
        Self::Exp,
        Self::Log,
        Self::Inverse,
        Self::Sqrt,
        Self::InverseSqrt,
    ];

    /// The name of the function.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sigmoid => "sigmoid",
            Self::Tanh => "tanh",
            Self::Silu => "silu",
            Self::Gelu => "gelu",
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Inverse => "inverse",
            Self::Sqrt => "sqrt",
            Self::InverseSqrt => "inverse_sqrt",
        }
    }

    /// The function called `name`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`].
    pub fn named(name: &str) -> Result<Self, CkksError> {
        Self::ALL.into_iter().find(|function| function.name() == name).ok_or_else(|| CkksError::OutOfRange {
            what: "the name of a function",
            value: format!("\"{name}\""),
            remedy: format!("use one of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }

    /// The value at `x`.
    #[must_use]
    pub fn at(self, x: f64) -> f64 {
        match self {
            Self::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
            Self::Tanh => libm::tanh(x),
            Self::Silu => x / (1.0 + libm::exp(-x)),
            Self::Gelu => 0.5 * x * (1.0 + libm::erf(x / SQRT_2)),
            Self::Exp => libm::exp(x),
            Self::Log => libm::log(x),
            Self::Inverse => 1.0 / x,
            Self::Sqrt => libm::sqrt(x),
            Self::InverseSqrt => 1.0 / libm::sqrt(x),
        }
    }

    /// Whether the function is defined for numbers above 0 alone, or has a pole there.
    #[must_use]
    pub const fn is_above_zero(self) -> bool {
        self.usual_reach().is_none()
    }

    /// The interval of the function where none is given, for numbers of magnitude at most `largest`: (-8, 8),
    /// or (-4, 4) of `tanh` and `exp`, or a wider one that has all numbers. None for functions of numbers
    /// above 0, whose interval the caller has to state.
    #[must_use]
    pub fn usual_domain(self, largest: f64) -> Option<(f64, f64)> {
        let reach = self.usual_reach()?.max(largest);
        Some((-reach, reach))
    }

    const fn usual_reach(self) -> Option<f64> {
        match self {
            Self::Sigmoid | Self::Silu | Self::Gelu => Some(8.0),
            Self::Tanh | Self::Exp => Some(4.0),
            Self::Log | Self::Inverse | Self::Sqrt | Self::InverseSqrt => None,
        }
    }
}

/// A function of one real number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Curve {
    /// A smooth one.
    Smooth(SmoothFunction),
    /// `|x|`.
    Magnitude,
    /// `max(x, 0)`.
    PositivePart,
    /// -1 below zero and 1 above, of numbers of magnitude `margin` or more.
    Sign {
        /// The least magnitude.
        margin: f64,
    },
    /// `exp(x - bound) / count`: a term of a softmax of `count` numbers, at most `1 / count`.
    Share {
        /// The largest magnitude of the numbers.
        bound: f64,
        /// How many numbers there are.
        count: usize,
    },
}

impl Curve {
    /// The function's name in errors.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Smooth(function) => function.name(),
            Self::Magnitude => "absolute",
            Self::PositivePart => "relu",
            Self::Sign { .. } => "sign",
            Self::Share { .. } => "softmax",
        }
    }

    pub(super) fn at(self, x: f64) -> f64 {
        match self {
            Self::Smooth(function) => function.at(x),
            Self::Magnitude => x.abs(),
            Self::PositivePart => x.max(0.0),
            Self::Sign { .. } => x.signum(),
            Self::Share { bound, count } => libm::exp(x - bound) / count as f64,
        }
    }
}
