//! Products of several values are arranged so that they take the fewest levels, and sums of products read the
//! axes of their factors in any order.

use std::collections::HashMap;

use super::draft::{Draft, Place};
use crate::encrypted_array::{ArrayOperation, GraphOperand};

/// The most factors of a product.
const MOST_FACTORS: usize = 256;

/// The two values that an old node multiplies entry by entry, of its own shape.
fn product_of(draft: &Draft<'_>, index: usize) -> Option<[usize; 2]> {
    let old = draft.old();
    let node = &old.nodes[index];
    let (ArrayOperation::Mul, &[GraphOperand::Value(x), GraphOperand::Value(y)]) =
        (&node.operation, &node.operands[..])
    else {
        return None;
    };
    let shape = |value: usize| &draft.known[value].shape;
    let own = shape(old.inputs + index);
    (shape(x) == own && shape(y) == own).then_some([x, y])
}

/// The factors of an old node's product: those of a factor that is a product itself and used there alone.
fn factors_of(draft: &Draft<'_>, index: usize) -> Vec<usize> {
    let inputs = draft.old().inputs;
    let (mut factors, mut open) = (Vec::new(), vec![inputs + index]);
    while let Some(value) = open.pop() {
        let node = value.checked_sub(inputs);
        let is_part = value == inputs + index || draft.uses[value] == 1;
        match node.filter(|_| is_part && factors.len() + open.len() < MOST_FACTORS) {
            Some(node) => match product_of(draft, node) {
                // The left factor comes first.
                Some([x, y]) => open.extend([y, x]),
                None => factors.push(value),
            },
            None => factors.push(value),
        }
    }
    factors
}

/// For each value of the old graph whether it is a factor of one product alone, which takes it apart.
fn inner(draft: &Draft<'_>) -> Vec<bool> {
    let mut inner = vec![false; draft.uses.len()];
    for index in 0..draft.old().nodes.len() {
        for value in product_of(draft, index).into_iter().flatten() {
            inner[value] = draft.uses[value] == 1;
        }
    }
    inner
}

/// The pass: the two factors that took the fewest levels are multiplied first.
pub(super) fn balance(draft: &mut Draft<'_>) {
    let inner = inner(draft);
    draft.rewrite(|draft, index| {
        if let Some(sums) = with_axes_in_order(draft, index) {
            return Some(sums);
        }
        product_of(draft, index)?;
        if inner[draft.old().inputs + index] {
            return None;
        }
        let factors = factors_of(draft, index);
        if factors.len() < 3 {
            return None;
        }
        let place = draft.place_of(index);
        let image = |draft: &Draft<'_>, value: usize| match draft.image(GraphOperand::Value(value)) {
            GraphOperand::Value(value) => value,
            _ => value,
        };
        if factors.iter().all(|&factor| factor == factors[0]) {
            let x = GraphOperand::Value(image(draft, factors[0]));
            let operation = ArrayOperation::Power { exponent: factors.len() as u64 };
            return Some(draft.push(operation, vec![x], place));
        }
        let mut open: Vec<(usize, usize)> =
            factors.iter().map(|&factor| (draft.depths[factor], image(draft, factor))).collect();
        let mut made = HashMap::new();
        while open.len() > 1 {
            // The same factors next to each other: a product that is needed twice is computed once.
            open.sort_unstable();
            let (first, second) = (open.remove(0), open.remove(0));
            let value = *made
                .entry((first.1, second.1))
                .or_insert_with(|| multiplied(draft, [first.1, second.1], place));
            open.push((first.0.max(second.0) + 1, value));
        }
        open.first().map(|&(_, value)| value)
    });
}

/// Sums of products of the arrays whose axes were put in another order for them.
fn with_axes_in_order(draft: &mut Draft<'_>, index: usize) -> Option<usize> {
    let ArrayOperation::Einsum { subscripts } = &draft.old().nodes[index].operation else { return None };
    let (mut subscripts, mut operands, mut changed) = (subscripts.clone(), draft.operands(index), false);
    for (place, operand) in operands.iter_mut().enumerate() {
        // A permutation of a permutation is one, too.
        while let &mut GraphOperand::Value(value) = operand {
            let Some((axes, from)) = permuted(draft, value) else { break };
            subscripts = subscripts.of_permuted(place == 1, &axes)?;
            (*operand, changed) = (from, true);
        }
    }
    if !changed {
        return None;
    }
    let place = draft.place_of(index);
    Some(draft.push(ArrayOperation::Einsum { subscripts }, operands, place))
}

/// The order of the axes of a new value that is another one with its axes in that order.
fn permuted(draft: &Draft<'_>, value: usize) -> Option<(Vec<usize>, GraphOperand)> {
    let (node, count) = (draft.node(value)?, draft.written(value).shape.len());
    let &[from] = &node.operands[..] else { return None };
    match &node.operation {
        ArrayOperation::Permuted { axes } => Some((axes.clone(), from)),
        ArrayOperation::Transposed => {
            let mut axes: Vec<usize> = (0..count).collect();
            axes[count.checked_sub(2)?..].reverse();
            Some((axes, from))
        }
        _ => None,
    }
}

fn multiplied(draft: &mut Draft<'_>, factors: [usize; 2], place: Place<'_>) -> usize {
    draft.push(ArrayOperation::Mul, factors.map(GraphOperand::Value).to_vec(), place)
}
