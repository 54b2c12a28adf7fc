//! Sums of powers of one value become one polynomial, which takes the fewest levels and shares its powers.

use super::super::schedule::values_of;
use super::draft::{Draft, KnownByBase};
use crate::circuits::polynomial::{PolynomialBasis, UNIT_DOMAIN};
use crate::encoding::values::Values;
use crate::encrypted_array::{ArrayOperation, GraphOperand, PlainArray};

/// The largest degree. Higher powers are rarely written out, and their coefficients lose digits.
const MOST_DEGREE: usize = 32;

/// A value as a polynomial of another one.
#[derive(Debug, Clone)]
struct InPowers {
    base: usize,
    /// The lowest degree first.
    coefficients: Vec<f64>,
}

impl KnownByBase for InPowers {
    fn itself(base: usize) -> Self {
        Self { base, coefficients: vec![0.0, 1.0] }
    }

    fn base(&self) -> usize {
        self.base
    }

    /// There are two powers at least.
    fn is_worthwhile(&self) -> bool {
        let powers = self.coefficients.iter().skip(1).filter(|own| **own != 0.0).count();
        powers > 1 && self.coefficients.iter().all(|own| own.is_finite())
    }
}

impl InPowers {
    fn times(&self, factor: f64) -> Self {
        Self { base: self.base, coefficients: self.coefficients.iter().map(|own| own * factor).collect() }
    }

    fn plus_number(mut self, number: f64) -> Self {
        self.coefficients[0] += number;
        self
    }

    fn plus(mut self, other: &Self) -> Option<Self> {
        let length = self.coefficients.len().max(other.coefficients.len());
        self.coefficients.resize(length, 0.0);
        self.coefficients.iter_mut().zip(&other.coefficients).for_each(|(own, other)| *own += other);
        (self.base == other.base).then_some(self)
    }

    fn product(&self, other: &Self) -> Option<Self> {
        let length = self.coefficients.len() + other.coefficients.len() - 1;
        if self.base != other.base || length > MOST_DEGREE + 1 {
            return None;
        }
        let mut coefficients = vec![0.0; length];
        for (place, own) in self.coefficients.iter().enumerate() {
            for (other_place, other) in other.coefficients.iter().enumerate() {
                coefficients[place + other_place] += own * other;
            }
        }
        Some(Self { base: self.base, coefficients })
    }

    fn power(&self, exponent: u64) -> Option<Self> {
        let exponent = usize::try_from(exponent).ok().filter(|own| (1..=MOST_DEGREE).contains(own))?;
        (1..exponent).try_fold(self.clone(), |power, _| power.product(self))
    }
}

/// The value of an old node as a polynomial of another value than itself.
fn in_powers(draft: &Draft<'_>, all: &[InPowers], index: usize) -> Option<InPowers> {
    use ArrayOperation as Op;
    use GraphOperand as Of;
    let old = draft.old();
    let (node, own) = (&old.nodes[index], &draft.known[old.inputs + index]);
    let fits = |value: usize| draft.known[value].shape == own.shape && !draft.known[value].is_complex;
    if own.is_complex || !values_of(node).into_iter().all(fits) {
        return None;
    }
    let of = |value: usize| &all[value];
    match (&node.operation, &node.operands[..]) {
        (Op::Negate, &[Of::Value(x)]) => Some(of(x).times(-1.0)),
        (Op::Power { exponent }, &[Of::Value(x)]) => of(x).power(*exponent),
        (Op::Mul, &[Of::Value(x), Of::Value(y)]) => of(x).product(of(y)),
        (Op::Mul, &[Of::Value(x), Of::Number(number) | Of::Integer(number)]) => Some(of(x).times(number)),
        (Op::Div, &[Of::Value(x), Of::Number(number) | Of::Integer(number)]) => {
            Some(of(x).times(number.recip()))
        }
        (Op::Add, &[Of::Value(x), Of::Value(y)]) => of(x).clone().plus(of(y)),
        (Op::Sub, &[Of::Value(x), Of::Value(y)]) => of(x).clone().plus(&of(y).times(-1.0)),
        (Op::SubFrom, &[Of::Value(x), Of::Value(y)]) => of(y).clone().plus(&of(x).times(-1.0)),
        (Op::Add, &[Of::Value(x), Of::Number(number) | Of::Integer(number)]) => {
            Some(of(x).clone().plus_number(number))
        }
        (Op::Sub, &[Of::Value(x), Of::Number(number) | Of::Integer(number)]) => {
            Some(of(x).clone().plus_number(-number))
        }
        (Op::SubFrom, &[Of::Value(x), Of::Number(number) | Of::Integer(number)]) => {
            Some(of(x).times(-1.0).plus_number(number))
        }
        _ => None,
    }
}

/// The pass: values that others than polynomials of the same value take are polynomials of that value.
pub(super) fn gather(draft: &mut Draft<'_>) {
    draft.gather(in_powers, |draft, own, index| {
        let shape = vec![own.coefficients.len()];
        let coefficients = draft.constant(PlainArray::new(Values::Real(own.coefficients.clone()), shape));
        let base = draft.image(GraphOperand::Value(own.base));
        let operation = ArrayOperation::Polynomial { basis: PolynomialBasis::Power, domain: UNIT_DOMAIN };
        Some(draft.push(operation, vec![base, coefficients], draft.place_of(index)))
    });
}
