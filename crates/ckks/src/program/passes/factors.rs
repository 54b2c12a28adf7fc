//! Plain factors are multiplied into plain numbers next to them, so that they take no level of their own.
//!
//! Backwards, a product by plain numbers becomes part of what computes its operand: of a matrix, of another
//! factor, of a polynomial. So do scales of functions, which map an interval to `[-1, 1]`. Forwards, a matrix
//! takes in what its operand was scaled and shifted by.

use super::draft::{Draft, Place};
use crate::circuits::polynomial::UNIT_DOMAIN;
use crate::encoding::values::Values;
use crate::encrypted_array::{ArrayOperation as Op, GraphOperand as Of, PlainArray};

/// How many operations a factor moves through.
const FURTHEST: usize = 64;

/// Whole factors up to this one take room of the modulus in place of a level.
const LARGEST_WHOLE: f64 = 1024.0;

/// A real factor of all numbers, or one for each place of the last axis.
#[derive(Debug, Clone, PartialEq)]
struct Factor(Vec<f64>);

impl Factor {
    fn number(&self) -> Option<f64> {
        match self.0[..] {
            [number] => Some(number),
            _ => None,
        }
    }

    /// The number of an operand, or its numbers along the last axis, which has `width` places.
    fn of(draft: &Draft<'_>, operand: Of, width: usize) -> Option<Self> {
        let numbers = match operand {
            Of::Number(number) | Of::Integer(number) => vec![number],
            Of::Constant(_) => {
                let array = draft.numbers(operand)?;
                let Values::Real(values) = &array.values else { return None };
                let along_last = array.shape.last() == Some(&width) && values.len() == width;
                (values.len() == 1 || along_last).then(|| values.clone())?
            }
            Of::Value(_) | Of::Plain(_) => return None,
        };
        numbers.iter().all(|number| number.is_finite()).then_some(Self(numbers))
    }

    fn inverse(&self) -> Option<Self> {
        let inverse: Vec<f64> = self.0.iter().map(|own| own.recip()).collect();
        inverse.iter().all(|own| own.is_finite()).then_some(Self(inverse))
    }

    /// What `work` makes of the numbers of both, place by place.
    fn with(&self, other: &Self, work: impl Fn(f64, f64) -> f64) -> Option<Self> {
        let numbers: Vec<f64> = match (&self.0[..], &other.0[..]) {
            (&[own], others) => others.iter().map(|&other| work(own, other)).collect(),
            (all, &[other]) => all.iter().map(|&own| work(own, other)).collect(),
            (all, others) if all.len() == others.len() => {
                all.iter().zip(others).map(|(&own, &other)| work(own, other)).collect()
            }
            _ => return None,
        };
        numbers.iter().all(|number| number.is_finite()).then_some(Self(numbers))
    }

    fn times(&self, other: &Self) -> Option<Self> {
        self.with(other, |own, other| own * other)
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        self.with(other, |own, other| own + other)
    }

    /// The factor as an operand. A product by a whole number takes no level.
    fn operand(&self, draft: &mut Draft<'_>) -> Of {
        match self.number() {
            Some(number) if number.fract() == 0.0 && number.abs() <= LARGEST_WHOLE => Of::Integer(number),
            Some(number) => Of::Number(number),
            None => draft.constant(PlainArray::new(Values::Real(self.0.clone()), vec![self.0.len()])),
        }
    }
}

/// Real plain numbers with each multiplied by what `factor` says for its place.
fn scaled_numbers(draft: &mut Draft<'_>, operand: Of, factor: impl Fn(usize) -> Option<f64>) -> Option<Of> {
    let array = draft.numbers(operand)?;
    let values = match &array.values {
        Values::Real(values) => {
            let values = values.iter().enumerate().map(|(place, own)| Some(own * factor(place)?));
            Values::Real(values.collect::<Option<Vec<_>>>()?)
        }
        Values::Complex(values) => {
            let values = values.iter().enumerate().map(|(place, own)| Some(own * factor(place)?));
            Values::Complex(values.collect::<Option<Vec<_>>>()?)
        }
    };
    Some(draft.constant(PlainArray::new(values, array.shape.clone())))
}

/// The numbers of a plain operand of a sum, times a factor.
fn scaled_term(draft: &mut Draft<'_>, operand: Of, factor: &Factor, width: usize) -> Option<Of> {
    if let Some(number) = factor.number().filter(|_| matches!(operand, Of::Constant(_))) {
        return scaled_numbers(draft, operand, |_| Some(number));
    }
    let term = Factor::of(draft, operand, width)?.times(factor)?;
    Some(match term.number() {
        Some(number) => Of::Number(number),
        None => term.operand(draft),
    })
}

/// `value * factor`, if it takes no level more than `value`, and no operation that takes long.
fn scaled(draft: &mut Draft<'_>, value: usize, factor: &Factor, depth: usize) -> Option<usize> {
    let node = draft.node(value)?.clone();
    let (shape, is_alone) = (draft.written(value).shape.clone(), draft.written(value).uses == 1);
    let place = Place { shape: &shape, stage: &node.stage, origin: node.origin };
    let width = shape.last().copied().unwrap_or(1);
    let keeps_shape = |draft: &Draft<'_>, x: usize| draft.written(x).shape == shape;
    // A product by plain numbers may be repeated; what takes longer is only moved.
    if let (
        Op::Mul | Op::Div,
        &[Of::Value(x), plain @ (Of::Number(_) | Of::Integer(_) | Of::Constant(_) | Of::Plain(_))],
    ) = (&node.operation, &node.operands[..])
    {
        if !keeps_shape(draft, x) || !(is_alone || matches!(plain, Of::Number(_) | Of::Integer(_))) {
            return None;
        }
        let own = Factor::of(draft, plain, width)?;
        let own = if matches!(node.operation, Op::Div) { own.inverse()? } else { own };
        let product = own.times(factor)?;
        if product.number() == Some(1.0) {
            return Some(x);
        }
        if let Some(further) = depth.checked_sub(1).and_then(|depth| scaled(draft, x, &product, depth)) {
            return Some(further);
        }
        let product = product.operand(draft);
        return Some(draft.push(Op::Mul, vec![Of::Value(x), product], place));
    }
    if !is_alone || depth == 0 {
        return None;
    }
    let mut deeper = |draft: &mut Draft<'_>, x: usize| scaled(draft, x, factor, depth - 1);
    let number = factor.number();
    match (&node.operation, &node.operands[..]) {
        (Op::Negate | Op::Rescale, &[Of::Value(x)]) => {
            let x = deeper(draft, x)?;
            Some(draft.push(node.operation.clone(), vec![Of::Value(x)], place))
        }
        (Op::Add | Op::Sub | Op::SubFrom, &[Of::Value(x), other]) if keeps_shape(draft, x) => {
            let other = match other {
                Of::Value(y) if y != x && (number.is_some() || keeps_shape(draft, y)) => {
                    Of::Value(deeper(draft, y)?)
                }
                Of::Value(_) | Of::Plain(_) => return None,
                plain => scaled_term(draft, plain, factor, width)?,
            };
            let x = deeper(draft, x)?;
            Some(draft.push(node.operation.clone(), vec![Of::Value(x), other], place))
        }
        (&Op::MapRows { row_first }, &[Of::Value(x), matrix]) => {
            let columns = draft.numbers(matrix)?.shape.get(1).copied()?;
            let at = |entry: usize| if row_first { entry % columns } else { entry / columns };
            let of = |entry: usize| number.or_else(|| factor.0.get(at(entry)).copied());
            let matrix = scaled_numbers(draft, matrix, of)?;
            Some(draft.push(node.operation.clone(), vec![Of::Value(x), matrix], place))
        }
        (operation, operands) => scaled_by_number(draft, (operation, operands), number?, place, &mut deeper),
    }
}

/// As [`scaled`], for operations that a single number goes through.
fn scaled_by_number(
    draft: &mut Draft<'_>,
    (operation, operands): (&Op, &[Of]),
    number: f64,
    place: Place<'_>,
    deeper: &mut impl FnMut(&mut Draft<'_>, usize) -> Option<usize>,
) -> Option<usize> {
    let operands = match (operation, operands) {
        (
            Op::LeftMultiply { .. } | Op::TimesVector | Op::Dot | Op::Mapped { .. } | Op::Polynomial { .. },
            &[Of::Value(x), plain @ Of::Constant(_)],
        ) => {
            let plain = scaled_numbers(draft, plain, |_| Some(number))?;
            vec![Of::Value(x), plain]
        }
        (Op::Mean { axes, keepdims }, &[Of::Value(x)]) => {
            let own = place.shape.iter().product::<usize>().max(1);
            let count = draft.written(x).shape.iter().product::<usize>() / own;
            let operation = Op::Sum { axes: axes.clone(), keepdims: *keepdims };
            let sum = draft.push(operation, vec![Of::Value(x)], place);
            let factor = Factor(vec![number / count as f64]).operand(draft);
            return Some(draft.push(Op::Mul, vec![Of::Value(sum), factor], place));
        }
        (
            Op::Mul | Op::Multiply { .. } | Op::Einsum { .. } | Op::TimesVector | Op::Dot,
            &[Of::Value(x), Of::Value(y)],
        ) if x != y => match deeper(draft, x) {
            Some(x) => vec![Of::Value(x), Of::Value(y)],
            None => vec![Of::Value(x), Of::Value(deeper(draft, y)?)],
        },
        (
            Op::Sum { .. }
            | Op::SumRows
            | Op::Reshaped { .. }
            | Op::Gathered { .. }
            | Op::Transposed
            | Op::Permuted { .. }
            | Op::Pick { .. }
            | Op::PickColumn { .. }
            | Op::PickEntry { .. }
            | Op::PickEntries { .. }
            | Op::Rotate { .. }
            | Op::RepeatColumn { .. }
            | Op::Concatenate
            | Op::JoinColumns
            | Op::PadColumns { .. }
            | Op::RealPart
            | Op::ImaginaryPart
            | Op::Conjugate
            | Op::InSlots
            | Op::Cleared
            | Op::ClearPadding,
            all,
        ) => {
            let scaled = all.iter().map(|&operand| match operand {
                Of::Value(value) => deeper(draft, value).map(Of::Value),
                _ => None,
            });
            scaled.collect::<Option<Vec<_>>>()?
        }
        (Op::WithBound { bound }, &[Of::Value(x)]) => {
            let bound = bound.map(|bound| bound * number.abs());
            let x = Of::Value(deeper(draft, x)?);
            return Some(draft.push(Op::WithBound { bound }, vec![x], place));
        }
        _ => return None,
    };
    Some(draft.push(operation.clone(), operands, place))
}

/// What a value was made of by plain numbers alone: `x`, by which it was multiplied, and what was added then.
struct Affine {
    x: usize,
    factor: Factor,
    shift: Factor,
}

/// A value as an affine function of another one, whose plain numbers lie along an axis of `length` places:
/// the last one, or else the one before. `None` where nothing is multiplied.
fn affine(draft: &Draft<'_>, value: usize, length: usize, is_last: bool) -> Option<Affine> {
    let along = |draft: &Draft<'_>, operand: Of| match (is_last, draft.numbers(operand)) {
        // Numbers along the axis before the last one have one place along the last one.
        (false, Some(array)) if array.values.len() != 1 => {
            let [rest @ .., 1] = &array.shape[..] else { return None };
            let Values::Real(values) = &array.values else { return None };
            let is_column = rest.last() == Some(&length) && values.len() == length;
            (is_column && values.iter().all(|own| own.is_finite())).then(|| Factor(values.clone()))
        }
        _ => Factor::of(draft, operand, length),
    };
    let shape = draft.written(value).shape.clone();
    let mut own = Affine { x: value, factor: Factor(vec![1.0]), shift: Factor(vec![0.0]) };
    let mut multiplied = false;
    for _ in 0..FURTHEST {
        let Some(node) = draft.node(own.x) else { break };
        let next = match (&node.operation, &node.operands[..]) {
            (Op::Negate, &[Of::Value(x)]) => {
                let factor = own.factor.times(&Factor(vec![-1.0]));
                factor.map(|factor| (Affine { x, factor, shift: own.shift.clone() }, false))
            }
            (operation @ (Op::Mul | Op::Div), &[Of::Value(x), plain]) => along(draft, plain)
                .and_then(|by| if matches!(operation, Op::Div) { by.inverse() } else { Some(by) })
                .and_then(|by| own.factor.times(&by))
                .map(|factor| (Affine { x, factor, shift: own.shift.clone() }, true)),
            (operation @ (Op::Add | Op::Sub | Op::SubFrom), &[Of::Value(x), plain]) => {
                let sign = |negative: bool| Factor(vec![if negative { -1.0 } else { 1.0 }]);
                let of_term = sign(matches!(operation, Op::Sub));
                let of_value = sign(matches!(operation, Op::SubFrom));
                along(draft, plain).and_then(|term| {
                    let shift = own.shift.plus(&own.factor.times(&term.times(&of_term)?)?)?;
                    Some((Affine { x, factor: own.factor.times(&of_value)?, shift }, false))
                })
            }
            _ => None,
        };
        match next {
            Some((next, by_product)) if draft.written(next.x).shape == shape => {
                multiplied |= by_product;
                own = next;
            }
            _ => break,
        }
    }
    multiplied.then_some(own)
}

/// A plain linear map of an affine function of `x` as a map of `x`, and plain numbers.
fn taken_in(draft: &mut Draft<'_>, index: usize) -> Option<usize> {
    let operation = draft.old().nodes[index].operation.clone();
    let &[Of::Value(value), plain @ Of::Constant(_)] = &draft.operands(index)[..] else { return None };
    let numbers = draft.numbers(plain)?;
    let shape = draft.written(value).shape.clone();
    let place = draft.place_of(index);
    // Which place of the operand's axis an entry of the plain numbers belongs to, and which of the result's.
    let columns = numbers.shape.last().copied()?;
    let (length, outputs, is_first): (usize, usize, bool) = match (&operation, &numbers.shape[..]) {
        (Op::MapRows { row_first: true }, &[rows, columns]) => (rows, columns, true),
        (Op::MapRows { row_first: false } | Op::LeftMultiply { .. }, &[rows, columns]) => {
            (columns, rows, false)
        }
        (Op::TimesVector | Op::Dot, &[length]) => (length, 1, false),
        _ => return None,
    };
    let is_last = !matches!(operation, Op::LeftMultiply { .. }) || shape.len() == 1;
    let own = affine(draft, value, length, is_last)?;
    let input = |entry: usize| if is_first { entry / columns } else { entry % columns };
    let output = |entry: usize| if is_first { entry % columns } else { entry / columns };
    let at =
        |numbers: &Factor, entry: usize| numbers.number().or_else(|| numbers.0.get(input(entry)).copied());
    let Values::Real(entries) = &numbers.values else { return None };
    let matrix = scaled_numbers(draft, plain, |entry| at(&own.factor, entry))?;
    let mut shifts = vec![0.0; outputs];
    for (entry, number) in entries.iter().enumerate() {
        shifts[output(entry)] += number * at(&own.shift, entry)?;
    }
    let product = draft.push(operation.clone(), vec![Of::Value(own.x), matrix], place);
    if shifts.iter().all(|&shift| shift == 0.0) {
        return Some(product);
    }
    let shift = match operation {
        Op::TimesVector | Op::Dot => Of::Number(shifts[0]),
        _ => {
            let shape = if is_last { vec![outputs] } else { vec![outputs, 1] };
            draft.constant(PlainArray::new(Values::Real(shifts), shape))
        }
    };
    Some(draft.push(Op::Add, vec![Of::Value(product), shift], place))
}

/// Half the length of a symmetric interval whose map takes a level.
fn unit_of((low, high): (f64, f64)) -> Option<f64> {
    let is_free = high.recip().fract() == 0.0;
    (low == -high && high > 0.0 && high.is_finite() && !is_free).then_some(high)
}

/// What an old node becomes, if a factor of its own goes elsewhere.
fn merged(draft: &mut Draft<'_>, index: usize) -> Option<usize> {
    let node = &draft.old().nodes[index];
    let (operands, place) = (draft.operands(index), draft.place_of(index));
    let width = place.shape.last().copied().unwrap_or(1);
    match (&node.operation, &operands[..]) {
        // A product by a whole number takes no level.
        (Op::Mul, &[Of::Value(_), Of::Integer(_)]) => None,
        (operation @ (Op::Mul | Op::Div), &[Of::Value(x), plain])
            if draft.written(x).shape == place.shape =>
        {
            let factor = Factor::of(draft, plain, width)?;
            let factor = if matches!(operation, Op::Div) { factor.inverse()? } else { factor };
            scaled(draft, x, &factor, FURTHEST)
        }
        (Op::Add | Op::Sub, &[Of::Value(x), plain]) => {
            let term = |operation: &Op, term: Factor| match operation {
                Op::Sub => term.times(&Factor(vec![-1.0])),
                _ => Some(term),
            };
            let own = term(&node.operation, Factor::of(draft, plain, width)?)?;
            let before = draft.node(x)?.clone();
            let (Op::Add | Op::Sub, &[Of::Value(first), plain]) = (&before.operation, &before.operands[..])
            else {
                return None;
            };
            if draft.written(x).uses != 1 || draft.written(first).shape != place.shape {
                return None;
            }
            let sum = own.plus(&term(&before.operation, Factor::of(draft, plain, width)?)?)?;
            let sum = match sum.number() {
                Some(number) => Of::Number(number),
                None => sum.operand(draft),
            };
            Some(draft.push(Op::Add, vec![Of::Value(first), sum], place))
        }
        (Op::Mean { axes, keepdims }, &[Of::Value(x)]) => {
            let count = draft.written(x).shape.iter().product::<usize>();
            let own = place.shape.iter().product::<usize>().max(1);
            let x = scaled(draft, x, &Factor(vec![own as f64 / count as f64]), FURTHEST)?;
            let operation = Op::Sum { axes: axes.clone(), keepdims: *keepdims };
            Some(draft.push(operation, vec![Of::Value(x)], place))
        }
        (Op::Polynomial { basis, domain }, &[Of::Value(x), coefficients]) => {
            let x = scaled(draft, x, &Factor(vec![unit_of(*domain)?.recip()]), FURTHEST)?;
            let operation = Op::Polynomial { basis: *basis, domain: UNIT_DOMAIN };
            Some(draft.push(operation, vec![Of::Value(x), coefficients], place))
        }
        (Op::Smooth { function, error, domain: Some(domain), unit: None }, &[Of::Value(x)]) => {
            let unit = unit_of(*domain)?;
            let x = scaled(draft, x, &Factor(vec![unit.recip()]), FURTHEST)?;
            let operation = Op::Smooth {
                function: function.clone(),
                error: *error,
                domain: Some(*domain),
                unit: Some(unit),
            };
            Some(draft.push(operation, vec![Of::Value(x)], place))
        }
        _ => taken_in(draft, index),
    }
}

/// The pass.
pub(super) fn merge(draft: &mut Draft<'_>) {
    draft.rewrite(merged);
}
