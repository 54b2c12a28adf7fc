//! The functions as methods of encrypted arrays.

use super::approximation::Approximation;
use super::curve::SmoothFunction;
use super::domain::{
    USUAL_ERROR, USUAL_ERROR_AT_KINKS, USUAL_SOFTMAX_BOUND, above_zero, check_real, domain_of, largest_in,
    reach, reach_of, stated, usual_reach,
};
use super::softmax::{Softmax, at_most, length_of};
use crate::encoding::values::ValuesRef;
use crate::encrypted_array::{ArrayOperation, EncryptedArray, Operand};
use crate::error::CkksError;

/// Functions of real numbers, approximated to an error that the caller states.
///
/// An interval that is not given is the one of the array's [bound](crate::Ciphertext::bound), or the usual
/// one where it is wider. Arrays whose bound exceeds the interval are refused; of an array without a bound
/// nobody notices a number outside, and its value is wrong.
///
/// An error that is not given is 1e-3, or 1e-2 of functions with a kink (`absolute`, `relu`, `maximum` and
/// `minimum`); a program chooses it by the error of its results.
///
/// All have the errors of [`Approximation::apply`], and those of the approximation's constructor.
impl EncryptedArray {
    /// A smooth function, entry by entry, to within `error` on `domain`; without a domain on
    /// [`SmoothFunction::usual_domain`].
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] without a domain for a function of numbers above 0.
    pub fn smooth(
        &self,
        function: SmoothFunction,
        error: impl Into<Option<f64>>,
        domain: Option<(f64, f64)>,
    ) -> Result<Self, CkksError> {
        let error = error.into();
        if let Some(graph) = self.recorder() {
            domain_of(function, domain, largest_in(self))?;
            let function_name = function.name().to_owned();
            let operation = ArrayOperation::Smooth { function: function_name, error, domain, unit: None };
            return graph.record(operation, &[self.into()], || self.smooth(function, error, domain));
        }
        check_real(function.name(), self)?;
        Approximation::smooth(function, error, domain_of(function, domain, largest_in(self))?)?.apply(self)
    }

    /// A smooth function of `unit` times the numbers, to within `error`, where `domain` is the interval of
    /// the products. With half the length of a symmetric interval as the unit it takes a level less.
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`]; [`CkksError::OutOfRange`] for a unit that is no positive number.
    pub(crate) fn smooth_in_units(
        &self,
        function: SmoothFunction,
        error: Option<f64>,
        domain: (f64, f64),
        unit: f64,
    ) -> Result<Self, CkksError> {
        check_real(function.name(), self)?;
        Approximation::smooth(function, error, domain)?.in_units(unit)?.apply(self)
    }

    /// The logistic function `1 / (1 + exp(-x))`, entry by entry; the usual domain is (-8, 8).
    ///
    /// ```
    /// use clathrate_ckks::encrypted_array::EncryptedArray;
    /// use clathrate_ckks::prelude::*;
    ///
    /// let params = Params::preset("insecure_deep", &Runtime::default())?;
    /// let owner = SecretKey::generate(&params)?;
    /// let keys = owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top))?;
    ///
    /// let x = EncryptedArray::new(owner.encrypt(&[-1.0, 0.0, 1.0])?, &Evaluator::with_keys(keys));
    /// let y = owner.decrypt(x.sigmoid(1e-3, None)?.data())?.into_real()?;
    /// assert!((y[2] - 0.7310586).abs() < 2e-3);
    /// # Ok::<(), CkksError>(())
    /// ```
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn sigmoid(
        &self,
        error: impl Into<Option<f64>>,
        domain: Option<(f64, f64)>,
    ) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::Sigmoid, error, domain)
    }

    /// The hyperbolic tangent, entry by entry; the usual domain is (-4, 4).
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn tanh(&self, error: impl Into<Option<f64>>, domain: Option<(f64, f64)>) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::Tanh, error, domain)
    }

    /// The sigmoid linear unit `x / (1 + exp(-x))`, entry by entry; the usual domain is (-8, 8).
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn silu(&self, error: impl Into<Option<f64>>, domain: Option<(f64, f64)>) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::Silu, error, domain)
    }

    /// The Gaussian error linear unit `x Phi(x)`, entry by entry; the usual domain is (-8, 8).
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn gelu(&self, error: impl Into<Option<f64>>, domain: Option<(f64, f64)>) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::Gelu, error, domain)
    }

    /// The exponential function, entry by entry; the usual domain is (-4, 4). The error is one of the values,
    /// not relative to them.
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn exp(&self, error: impl Into<Option<f64>>, domain: Option<(f64, f64)>) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::Exp, error, domain)
    }

    /// The natural logarithm, entry by entry, of numbers in `domain`, which is above 0.
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn log(&self, error: impl Into<Option<f64>>, domain: (f64, f64)) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::Log, error, Some(domain))
    }

    /// `1 / x`, entry by entry, of numbers in `domain`, which is above 0.
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn inverse(&self, error: impl Into<Option<f64>>, domain: (f64, f64)) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::Inverse, error, Some(domain))
    }

    /// The square root, entry by entry, of numbers in `domain`, which is above 0.
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn sqrt(&self, error: impl Into<Option<f64>>, domain: (f64, f64)) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::Sqrt, error, Some(domain))
    }

    /// `1 / sqrt(x)`, entry by entry, of numbers in `domain`, which is above 0.
    ///
    /// # Errors
    /// As [`EncryptedArray::smooth`].
    pub fn inverse_sqrt(&self, error: impl Into<Option<f64>>, domain: (f64, f64)) -> Result<Self, CkksError> {
        self.smooth(SmoothFunction::InverseSqrt, error, Some(domain))
    }

    /// The standard deviation along `axes`, the square root of [`EncryptedArray::variance`]. All deviations
    /// are in `domain`, which is above 0, by the caller's word.
    ///
    /// The error has two sources: the polynomial of the square root, which `error` bounds, and the noise of
    /// the variance, of which the root makes up to `1 / (2 a)` times as much, where `a` is the lower end of
    /// the domain.
    ///
    /// # Errors
    /// As [`EncryptedArray::variance`] and [`EncryptedArray::sqrt`].
    pub fn std(
        &self,
        axes: Option<&[i64]>,
        ddof: i64,
        keepdims: bool,
        error: impl Into<Option<f64>>,
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        let error = error.into();
        if let Some(graph) = self.recorder() {
            let operation =
                ArrayOperation::Std { axes: axes.map(<[i64]>::to_vec), ddof, keepdims, error, domain };
            return graph.record(operation, &[self.into()], || self.std(axes, ddof, keepdims, error, domain));
        }
        check_real("std", self)?;
        let domain = checked(error, domain)?;
        self.variance(axes, ddof, keepdims)?.root_of_squares(error, domain)
    }

    /// The Euclidean norm along `axes`, the square root of the sum of squares; of all numbers of a matrix the
    /// Frobenius norm. Its domain and errors are as those of [`EncryptedArray::std`].
    ///
    /// # Errors
    /// As [`EncryptedArray::mul`], [`EncryptedArray::sum`] and [`EncryptedArray::sqrt`].
    pub fn norm(
        &self,
        axes: Option<&[i64]>,
        keepdims: bool,
        error: impl Into<Option<f64>>,
        domain: (f64, f64),
    ) -> Result<Self, CkksError> {
        let error = error.into();
        if let Some(graph) = self.recorder() {
            let operation = ArrayOperation::Norm { axes: axes.map(<[i64]>::to_vec), keepdims, error, domain };
            return graph.record(operation, &[self.into()], || self.norm(axes, keepdims, error, domain));
        }
        check_real("norm", self)?;
        let domain = checked(error, domain)?;
        self.mul(self)?.sum(axes, keepdims)?.root_of_squares(error, domain)
    }

    /// The square root of numbers whose roots are in `domain`.
    fn root_of_squares(self, error: Option<f64>, (low, high): (f64, f64)) -> Result<Self, CkksError> {
        // That the results are in the domain is the caller's word, and says more than the bound on the
        // numbers.
        at_most(self, high * high)?.sqrt(error, (low * low, high * high))
    }

    /// `exp(x) / sum(exp(x))` along the last axis, for numbers of magnitude at most `bound`: without one 2,
    /// or the array's bound where it is larger.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for a single number; those of [`Softmax::new`] and [`Softmax::apply`].
    pub fn softmax(&self, error: impl Into<Option<f64>>, bound: Option<f64>) -> Result<Self, CkksError> {
        let error = error.into();
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Softmax { error, bound }, &[self.into()], || {
                self.softmax(error, bound)
            });
        }
        check_real("softmax", self)?;
        let count = length_of(self)?;
        Softmax::new(reach(bound, largest_in(self), USUAL_SOFTMAX_BOUND)?, error, count)?.apply(self)
    }

    /// The sign, entry by entry, of numbers of magnitude `margin` or more and at most `bound`: without one 1,
    /// or the array's bound where it is larger. Noise of the array is best kept well below the margin.
    ///
    /// # Errors
    /// Those of [`Approximation::sign`] and [`Approximation::apply`].
    pub fn sign(
        &self,
        margin: f64,
        error: impl Into<Option<f64>>,
        bound: Option<f64>,
    ) -> Result<Self, CkksError> {
        let error = error.into();
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Sign { margin, error, bound }, &[self.into()], || {
                self.sign(margin, error, bound)
            });
        }
        check_real("sign", self)?;
        Approximation::sign(margin, error, usual_reach(bound, largest_in(self))?)?.apply(self)
    }

    /// The magnitude, entry by entry, of numbers of magnitude at most `bound`, as in
    /// [`EncryptedArray::sign`].
    ///
    /// # Errors
    /// Those of [`Approximation::absolute`] and [`Approximation::apply`].
    pub fn absolute(&self, error: impl Into<Option<f64>>, bound: Option<f64>) -> Result<Self, CkksError> {
        let error = error.into();
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Absolute { error, bound }, &[self.into()], || {
                self.absolute(error, bound)
            });
        }
        check_real("absolute", self)?;
        Approximation::absolute(error, usual_reach(bound, largest_in(self))?)?.apply(self)
    }

    /// The rectified linear unit `max(x, 0)`, entry by entry, of numbers of magnitude at most `bound`, as in
    /// [`EncryptedArray::sign`].
    ///
    /// # Errors
    /// Those of [`Approximation::relu`] and [`Approximation::apply`].
    pub fn relu(&self, error: impl Into<Option<f64>>, bound: Option<f64>) -> Result<Self, CkksError> {
        let error = error.into();
        if let Some(graph) = self.recorder() {
            return graph
                .record(ArrayOperation::Relu { error, bound }, &[self.into()], || self.relu(error, bound));
        }
        check_real("relu", self)?;
        Approximation::relu(error, usual_reach(bound, largest_in(self))?)?.apply(self)
    }

    /// The larger one of two numbers, entry by entry, `y + max(x - y, 0)`. Both are of magnitude at most
    /// `bound`: without one 1, or the bound of either array, or the largest plain number, where it is larger.
    ///
    /// # Errors
    /// As [`EncryptedArray::sub`] and [`EncryptedArray::relu`]; [`CkksError::OutOfRange`] for plain numbers
    /// larger than the bound.
    pub fn maximum<'a>(
        &self,
        other: impl Into<Operand<'a>>,
        error: impl Into<Option<f64>>,
        bound: Option<f64>,
    ) -> Result<Self, CkksError> {
        let (other, error) = (other.into(), error.into());
        if let Some(graph) = self.recorder_with(&other) {
            let operation = ArrayOperation::Maximum { error, bound };
            let operands = [self.into(), other.clone()];
            return graph.record(operation, &operands, || self.maximum(other, error, bound));
        }
        self.excess("maximum", other.clone(), error, bound)?.add(other.clone())?.one_of(self, &other, error)
    }

    /// The smaller one of two numbers, entry by entry, `x - max(x - y, 0)`, as [`EncryptedArray::maximum`].
    ///
    /// # Errors
    /// As [`EncryptedArray::maximum`].
    pub fn minimum<'a>(
        &self,
        other: impl Into<Operand<'a>>,
        error: impl Into<Option<f64>>,
        bound: Option<f64>,
    ) -> Result<Self, CkksError> {
        let (other, error) = (other.into(), error.into());
        if let Some(graph) = self.recorder_with(&other) {
            let operation = ArrayOperation::Minimum { error, bound };
            let operands = [self.into(), other.clone()];
            return graph.record(operation, &operands, || self.minimum(other, error, bound));
        }
        self.sub(&self.excess("minimum", other.clone(), error, bound)?)?.one_of(self, &other, error)
    }

    /// This array, of which each number is the one of `x` or the one of `y` to within `error`: it is no
    /// larger than both may be.
    fn one_of(self, x: &Self, y: &Operand<'_>, error: Option<f64>) -> Result<Self, CkksError> {
        let other = match y {
            Operand::Encrypted(y) => y.data().bound(),
            Operand::Number(y) | Operand::Integer(y) => Some(y.abs()),
            Operand::Plain(y) => Some(ValuesRef::from(&y.values).largest()),
        };
        let Some((own, other)) = x.data().bound().zip(other) else { return Ok(self) };
        let most = own.max(other) + stated(error, USUAL_ERROR_AT_KINKS)?;
        self.map(|_, data| Ok(data.clone().estimated(|own| own.at_most(most))))
    }

    /// `max(self - other, 0)`.
    fn excess(
        &self,
        function: &'static str,
        other: Operand<'_>,
        error: Option<f64>,
        bound: Option<f64>,
    ) -> Result<Self, CkksError> {
        let reach = reach_of(function, &self.into(), bound)? + reach_of(function, &other, bound)?;
        let relu = Approximation::relu(error, reach)?;
        relu.apply(&self.sub(other)?)
    }
}

/// The interval of roots, checked before anything is computed.
fn checked(error: Option<f64>, domain: (f64, f64)) -> Result<(f64, f64), CkksError> {
    stated(error, USUAL_ERROR)?;
    above_zero(domain)
}

/// States the interval of an operation's approximation, where the caller left it to the numbers, which have a
/// magnitude of at most `largest`; 0 where no bound is known.
///
/// # Errors
/// Those of the function.
pub(crate) fn state_interval(operation: &mut ArrayOperation, largest: f64) -> Result<(), CkksError> {
    match operation {
        ArrayOperation::Smooth { function, domain: domain @ None, .. } => {
            *domain = Some(domain_of(SmoothFunction::named(function)?, None, largest)?);
        }
        ArrayOperation::Softmax { bound: bound @ None, .. } => {
            *bound = Some(reach(None, largest, USUAL_SOFTMAX_BOUND)?);
        }
        ArrayOperation::Sign { bound: bound @ None, .. }
        | ArrayOperation::Absolute { bound: bound @ None, .. }
        | ArrayOperation::Relu { bound: bound @ None, .. } => *bound = Some(usual_reach(None, largest)?),
        _ => {}
    }
    Ok(())
}

/// The error of a function where none is stated.
pub(crate) fn usual_error(operation: &ArrayOperation) -> f64 {
    match operation {
        ArrayOperation::Absolute { .. }
        | ArrayOperation::Relu { .. }
        | ArrayOperation::Maximum { .. }
        | ArrayOperation::Minimum { .. } => USUAL_ERROR_AT_KINKS,
        _ => USUAL_ERROR,
    }
}
