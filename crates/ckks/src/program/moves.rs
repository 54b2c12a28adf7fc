//! Operations that move numbers, as lists of places.

use std::ops::Range;
use std::sync::Arc;

use crate::encrypted_array::ArrayOperation as Op;

/// For each number of the result of an operation that moves numbers its place in the array of shape `from`,
/// nothing for a zero; `None` for what does more than that.
pub(super) fn sources_of(
    lists: &[Arc<Vec<Option<usize>>>],
    operation: &Op,
    (from, shape): (&[usize], &[usize]),
) -> Option<Vec<Option<usize>>> {
    let count: usize = shape.iter().product();
    match operation {
        Op::Gathered { sources, .. } => lists.get(sources.0).map(|list| list.to_vec()),
        Op::Reshaped { .. } => Some((0..count).map(Some).collect()),
        &Op::Rotate { steps } => {
            let width = i64::try_from(*shape.last()?).ok()?;
            let source = |place: usize| {
                let (row, column) = (place / width as usize, (place % width as usize) as i64);
                Some(row * width as usize + (column + steps).rem_euclid(width) as usize)
            };
            Some((0..count).map(source).collect())
        }
        Op::Pick { rows, single: _, columns } if from.len() > 1 => {
            let (&first, &width) = (from.first()?, from.last()?);
            let (start, end) = columns.unwrap_or((0, width));
            Some(picked(
                (first, from.iter().product::<usize>() / first.max(1), width),
                rows.as_deref(),
                start..end,
            ))
        }
        Op::PickColumn { rows, single: _, column } if from.len() > 1 => {
            let (&first, &width) = (from.first()?, from.last()?);
            let row = from.iter().product::<usize>() / first.max(1);
            Some(picked((first, row, width), rows.as_deref(), *column..*column + 1))
        }
        &Op::PickEntry { place } if from.len() == 1 => Some(vec![Some(place)]),
        &Op::PickEntries { places: (start, end) } if from.len() == 1 => {
            Some((start..end).map(Some).collect())
        }
        Op::Transposed => {
            let mut axes: Vec<usize> = (0..from.len()).collect();
            let last = axes.len().checked_sub(2)?;
            axes[last..].reverse();
            Some(permuted(from, &axes))
        }
        Op::Permuted { axes } => Some(permuted(from, axes)),
        _ => None,
    }
}

/// The places of chosen rows, which have `row` numbers each, of columns of the last axis, which has `width`.
fn picked(
    (count, row, width): (usize, usize, usize),
    rows: Option<&[usize]>,
    columns: Range<usize>,
) -> Vec<Option<usize>> {
    let all: Vec<usize> = rows.map_or_else(|| (0..count).collect(), <[usize]>::to_vec);
    let starts = all.into_iter().flat_map(|own| (own * row..(own + 1) * row).step_by(width.max(1)));
    starts.flat_map(|start| columns.clone().map(move |column| Some(start + column))).collect()
}

/// The places of an array of shape `from` whose axes have another order.
fn permuted(from: &[usize], axes: &[usize]) -> Vec<Option<usize>> {
    let mut steps = vec![1; from.len()];
    for axis in (1..from.len()).rev() {
        steps[axis - 1] = steps[axis] * from[axis];
    }
    let mut places = vec![0];
    for &axis in axes {
        let next = places.iter().flat_map(|place| (0..from[axis]).map(move |own| (place, own)));
        places = next.map(|(place, own)| place + own * steps[axis]).collect();
    }
    places.into_iter().map(Some).collect()
}
