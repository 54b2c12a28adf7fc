//! Operators entry by entry.

use std::collections::{BTreeMap, BTreeSet};

use super::operand::{inverse_of, inverted, negated};
use super::{ArrayOperation, EncryptedArray, Operand, PlainArray, broadcast};
use crate::arrays::{Ciphertext, Encoding, Padding};
use crate::circuits::polynomial::{Polynomial, PolynomialPlan};
use crate::encoding::values::Values;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::broadcasting::common_shape;

/// The operations' names in errors.
const ADDITION: &str = "addition";
const SUBTRACTION: &str = "subtraction";
const PRODUCT: &str = "an element-wise product";
const DIVISION: &str = "a division";

/// Integers from here on are multiplied as other numbers are: no modulus has room for them.
const LARGEST_INTEGER: f64 = 1.3e36;

impl EncryptedArray {
    /// The sum.
    ///
    /// # Errors
    /// [`CkksError::Shape`] if the shapes do not broadcast; [`CkksError::NotFinite`].
    pub fn add<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, CkksError> {
        let other = other.into();
        if let Some(graph) = self.recorder_with(&other) {
            return graph.record(ArrayOperation::Add, &[self.into(), other.clone()], || self.add(other));
        }
        match other {
            Operand::Encrypted(other) => self.zip(other, ADDITION, Evaluator::add),
            plain => self.add_plain(plain.into_plain()?, ADDITION, false),
        }
    }

    /// The difference. From its own mean an array differs by zeros behind its numbers.
    ///
    /// # Errors
    /// As [`EncryptedArray::add`].
    pub fn sub<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, CkksError> {
        let other = other.into();
        if let Some(graph) = self.recorder_with(&other) {
            return graph.record(ArrayOperation::Sub, &[self.into(), other.clone()], || self.sub(other));
        }
        let other = match other {
            Operand::Encrypted(other) => other,
            plain => return self.add_plain(plain.into_plain()?, SUBTRACTION, true),
        };
        if let Some(centred) = self.centred(other)? {
            return Ok(centred);
        }
        if let Some(centred) = other.centred(self)? {
            return centred.negate();
        }
        self.difference(other)
    }

    /// `other - self`.
    ///
    /// # Errors
    /// As [`EncryptedArray::add`].
    pub fn sub_from<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, CkksError> {
        let other = other.into();
        if let Some(graph) = self.recorder_with(&other) {
            return graph
                .record(ArrayOperation::SubFrom, &[self.into(), other.clone()], || self.sub_from(other));
        }
        match other {
            Operand::Encrypted(other) => other.sub(self),
            plain => self.negate()?.add_plain(plain.into_plain()?, SUBTRACTION, false),
        }
    }

    /// The difference, with what is behind the numbers of both arrays.
    pub(super) fn difference(&self, other: &Self) -> Result<Self, CkksError> {
        self.zip(other, SUBTRACTION, Evaluator::sub)
    }

    /// `-self`.
    ///
    /// # Errors
    /// [`CkksError::NotEnoughMemory`].
    pub fn negate(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Negate, &[self.into()], || self.negate());
        }
        self.map(Evaluator::negate)
    }

    /// The product, not yet rescaled.
    ///
    /// # Errors
    /// [`CkksError::Shape`] if the shapes do not broadcast; [`CkksError::Encoding`] for arrays in
    /// coefficients without the keys to convert them; [`CkksError::MissingKey`];
    /// [`CkksError::LevelTooLow`]; [`CkksError::NotFinite`].
    pub fn mul<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, CkksError> {
        let other = other.into();
        if let Some(graph) = self.recorder_with(&other) {
            return graph.record(ArrayOperation::Mul, &[self.into(), other.clone()], || self.mul(other));
        }
        match other {
            Operand::Encrypted(other) => self.times(other),
            Operand::Number(factor) => self.multiply_by(factor),
            Operand::Integer(factor) => self.multiply_integer(factor),
            Operand::Plain(array) => self.multiply_plain(array, PRODUCT, false),
        }
    }

    /// The quotient by plain numbers, not yet rescaled.
    ///
    /// # Errors
    /// As [`EncryptedArray::mul`]; [`CkksError::OutOfRange`] if a divisor has no finite inverse;
    /// [`CkksError::Unsuitable`] for an encrypted divisor.
    pub fn div<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Self, CkksError> {
        let other = other.into();
        if let Some(graph) = self.recorder_with(&other) {
            if let Operand::Plain(PlainArray { input: Some(_), .. }) = other {
                let reason = "nothing is known of how near to zero a plain input is: give its inverse as the input, and multiply";
                return Err(CkksError::Unsuitable { operation: DIVISION, reason: reason.to_owned() });
            }
            return graph.record(ArrayOperation::Div, &[self.into(), other.clone()], || self.div(other));
        }
        match other {
            Operand::Encrypted(_) => {
                let reason = "a ciphertext is no divisor: multiply by an approximation of its inverse on the interval of its numbers";
                Err(CkksError::Unsuitable { operation: DIVISION, reason: reason.to_owned() })
            }
            Operand::Number(divisor) | Operand::Integer(divisor) => {
                self.multiply_by(inverse_of(divisor.into(), 0, &[])?.re)
            }
            Operand::Plain(array) => self.multiply_plain(array, DIVISION, true),
        }
    }

    /// `self` to a whole power, by halves, so that `ceil(log2(exponent))` products follow one another; not
    /// yet rescaled.
    ///
    /// # Errors
    /// As [`EncryptedArray::mul`].
    pub fn power(&self, exponent: u64) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Power { exponent }, &[self.into()], || self.power(exponent));
        }
        if exponent == 0 {
            return self.multiply_integer(0.0)?.add_plain(PlainArray::number(1.0), "a power", false);
        }
        // Every power but the first one is a product of its halves.
        let (mut wanted, mut open) = (BTreeSet::new(), vec![exponent]);
        while let Some(exponent) = open.pop() {
            if exponent > 1 && wanted.insert(exponent) {
                open.extend([exponent / 2, exponent - exponent / 2]);
            }
        }
        let count = wanted.len();
        // High powers of what is behind the numbers could be beyond the modulus.
        let one = if exponent > 2 && self.data.padding() == Padding::Dirty {
            self.cleared()?
        } else {
            self.clone()
        };
        // Ascending, so that the halves of each exponent are there before it.
        let mut powers = BTreeMap::<u64, Self>::new();
        for exponent in wanted {
            let of = |exponent: u64| if exponent == 1 { &one } else { &powers[&exponent] };
            let product = of(exponent - exponent / 2).times(of(exponent / 2))?;
            let last = powers.len() + 1 == count;
            powers.insert(exponent, if last { product } else { product.rescaled_anyway()? });
        }
        Ok(powers.remove(&exponent).unwrap_or_else(|| self.clone()))
    }

    /// The product of two arrays, without a rescale, or with one where `rescale`; neither array is converted.
    ///
    /// # Errors
    /// As [`EncryptedArray::mul`].
    pub fn multiply(&self, other: &Self, rescale: bool) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder_with(&other.into()) {
            let operation = ArrayOperation::Multiply { rescale };
            return graph.record(operation, &[self.into(), other.into()], || self.multiply(other, rescale));
        }
        let work = if rescale { Evaluator::multiply_rescale } else { Evaluator::multiply };
        self.zip_factors(other, PRODUCT, work)
    }

    /// The product of two arrays, converted to slots where needed.
    pub(super) fn times(&self, other: &Self) -> Result<Self, CkksError> {
        let holder = self.holder(other);
        let left = self.brought_to_slots(holder)?;
        let left = left.as_ref().unwrap_or(self);
        // A square converts its operand once.
        if std::ptr::eq(self, other) {
            return left.multiply(left, false);
        }
        let right = other.brought_to_slots(holder)?;
        left.multiply(right.as_ref().unwrap_or(other), false)
    }

    /// The product with a number that takes a level, whatever the number is.
    pub(super) fn multiply_by(&self, factor: f64) -> Result<Self, CkksError> {
        self.map_factor(|evaluator, x| evaluator.multiply_scalar(x, factor).map_err(|e| e.in_shape(&[])))
    }

    /// The product with a number of an integer type, which takes no level.
    fn multiply_integer(&self, factor: f64) -> Result<Self, CkksError> {
        if factor.is_nan() || factor.abs() >= LARGEST_INTEGER {
            return self.multiply_by(factor);
        }
        self.map(|evaluator, x| evaluator.multiply_integer(x, factor as i128))
    }

    /// Numbers broadcast to the shape that they have together with this array, and that shape.
    fn spread(&self, array: PlainArray, operation: &'static str) -> Result<(Values, Vec<usize>), CkksError> {
        let shape = common_shape(self.data.shape(), &array.shape, operation)?;
        Ok((array.broadcast(&shape, operation)?, shape))
    }

    fn add_plain(&self, array: PlainArray, operation: &'static str, negate: bool) -> Result<Self, CkksError> {
        let (values, shape) = self.spread(array, operation)?;
        let values = if negate { negated(values) } else { values };
        self.data.check_room_for_another(operation)?;
        let sum = |evaluator: &Evaluator, x: &Ciphertext| {
            evaluator.add_plain(&*broadcast(evaluator, x, &shape)?, &values).map_err(|e| e.in_shape(&shape))
        };
        self.beside(sum(&self.evaluator, &self.data)?)
    }

    /// The product with plain numbers, or with their inverses where `invert`.
    pub(super) fn multiply_plain(
        &self,
        array: PlainArray,
        operation: &'static str,
        invert: bool,
    ) -> Result<Self, CkksError> {
        let (values, shape) = self.spread(array, operation)?;
        let values = if invert { inverted(values, &shape)? } else { values };
        self.in_slots()?.map_factor(|evaluator, x| {
            evaluator
                .multiply_plain(&*broadcast(evaluator, x, &shape)?, &values)
                .map_err(|e| e.in_shape(&shape))
        })
    }

    /// The complex conjugate of every entry.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::Encoding`] unless slots.
    pub fn conjugate(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::Conjugate, &[self.into()], || self.conjugate());
        }
        self.in_slots()?.map_settled(Evaluator::conjugate)
    }

    /// The real part of every entry, not yet rescaled where the numbers are complex.
    ///
    /// # Errors
    /// As [`EncryptedArray::conjugate`].
    pub fn real_part(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::RealPart, &[self.into()], || self.real_part());
        }
        if !self.data.is_complex() {
            return Ok(self.clone());
        }
        self.in_slots()?.map_factor(Evaluator::real_part)
    }

    /// The imaginary part of every entry, not yet rescaled where the numbers are complex.
    ///
    /// # Errors
    /// As [`EncryptedArray::conjugate`].
    pub fn imaginary_part(&self) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            return graph.record(ArrayOperation::ImaginaryPart, &[self.into()], || self.imaginary_part());
        }
        if !self.data.is_complex() {
            return self.map(Evaluator::imaginary_part);
        }
        self.in_slots()?.map_factor(Evaluator::imaginary_part)
    }

    /// A polynomial of every entry, at the level that [`Polynomial::apply`] chooses.
    ///
    /// # Errors
    /// Those of [`Polynomial::apply`].
    pub fn polynomial(&self, polynomial: &Polynomial) -> Result<Self, CkksError> {
        if let Some(graph) = self.recorder() {
            let (basis, domain) = (polynomial.basis(), polynomial.domain());
            let coefficients = PlainArray::new(
                Values::Complex(polynomial.coefficients().to_vec()),
                vec![polynomial.coefficients().len()],
            );
            let operands = [self.into(), coefficients.into()];
            let operation = ArrayOperation::Polynomial { basis, domain };
            return graph.record(operation, &operands, || self.polynomial(polynomial));
        }
        self.in_slots()?.cleared()?.map_settled(|evaluator, x| polynomial.apply(evaluator, x))
    }

    /// A polynomial of every entry by a plan.
    ///
    /// # Errors
    /// Those of [`PolynomialPlan::run`].
    pub fn planned_polynomial(&self, plan: &PolynomialPlan) -> Result<Self, CkksError> {
        // What is behind the numbers may be outside of the domain. A product clears it if a level is left.
        let cleared =
            if self.settled()?.level() > plan.input_level() { self.cleared()? } else { self.clone() };
        cleared.map_settled(|evaluator, x| plan.run(evaluator, x))
    }

    /// Whether several rows share a polynomial in slots.
    pub(super) fn is_in_lanes(&self) -> bool {
        self.data.encoding() == Encoding::Slots && self.data.layout().lanes() > 1
    }
}

impl Operand<'_> {
    /// Plain numbers as an array.
    pub(super) fn into_plain(self) -> Result<PlainArray, CkksError> {
        match self {
            Self::Plain(array) => Ok(array),
            Self::Number(value) | Self::Integer(value) => Ok(PlainArray::number(value)),
            Self::Encrypted(_) => Err(CkksError::Internal { operation: "an operator of plain numbers" }),
        }
    }
}
