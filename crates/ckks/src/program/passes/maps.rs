//! Sums of moved and weighted numbers of one array become one linear map, which takes one level.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::moves::sources_of;
use super::draft::{Draft, KnownByBase};
use crate::encoding::values::Values;
use crate::encrypted_array::{ArrayOperation as Op, GraphOperand as Of, PlainArray};
use crate::evaluation::broadcasting::broadcast_sources;

/// The most terms of one number, and of all numbers of a value together.
const MOST_TERMS: usize = 64;
const MOST: usize = 1 << 17;

/// For each number of a value the places of a base that it is a sum of, with their factors.
type Rows = Vec<BTreeMap<usize, f64>>;

/// A value as a linear map of another one.
#[derive(Debug, Clone)]
struct InPlaces {
    base: usize,
    /// None for the base itself.
    rows: Option<Arc<Rows>>,
    /// Whether numbers are multiplied, and whether they are moved.
    is_weighted: bool,
    is_moved: bool,
}

impl KnownByBase for InPlaces {
    fn itself(base: usize) -> Self {
        Self { base, rows: None, is_weighted: false, is_moved: false }
    }

    fn base(&self) -> usize {
        self.base
    }

    /// Numbers are moved and multiplied.
    fn is_worthwhile(&self) -> bool {
        let finite = |row: &BTreeMap<usize, f64>| row.values().all(|factor| factor.is_finite());
        self.is_weighted && self.is_moved && self.rows.as_ref().is_some_and(|rows| rows.iter().all(finite))
    }
}

impl InPlaces {
    /// The rows of a value with `count` numbers.
    fn rows(&self, count: usize) -> Arc<Rows> {
        let itself = || Arc::new((0..count).map(|place| BTreeMap::from([(place, 1.0)])).collect());
        self.rows.clone().unwrap_or_else(itself)
    }

    fn with(&self, rows: Rows) -> Option<Self> {
        let terms: usize = rows.iter().map(BTreeMap::len).sum();
        let fits = terms <= MOST && rows.iter().all(|row| row.len() <= MOST_TERMS);
        fits.then(|| Self { rows: Some(Arc::new(rows)), ..self.clone() })
    }
}

/// The factors of a plain operand for each number of an array of this shape.
fn factors_of(draft: &Draft<'_>, plain: Of, shape: &[usize]) -> Option<Vec<f64>> {
    let count = shape.iter().product();
    match plain {
        Of::Number(number) | Of::Integer(number) => Some(vec![number; count]),
        Of::Constant(_) => {
            let array = draft.numbers(plain)?;
            let Values::Real(values) = &array.values else { return None };
            if array.shape.len() > shape.len() {
                return None;
            }
            let fits = array.shape.iter().rev().zip(shape.iter().rev());
            fits.into_iter().all(|(&own, &wanted)| own == wanted || own == 1).then_some(())?;
            Some(broadcast_sources(&array.shape, shape).into_iter().map(|place| values[place]).collect())
        }
        Of::Value(_) | Of::Plain(_) => None,
    }
}

/// The value of an old node as a linear map of another value than itself.
fn in_places(draft: &Draft<'_>, all: &[InPlaces], index: usize) -> Option<InPlaces> {
    let old = draft.old();
    let (node, own) = (&old.nodes[index], &draft.known[old.inputs + index]);
    let count_of = |value: usize| draft.known[value].shape.iter().product::<usize>();
    let count: usize = own.shape.iter().product();
    if own.is_complex || count > MOST {
        return None;
    }
    let keeps_shape = |value: usize| draft.known[value].shape == own.shape;
    match (&node.operation, &node.operands[..]) {
        (
            Op::Gathered { .. }
            | Op::Reshaped { .. }
            | Op::Rotate { .. }
            | Op::Pick { .. }
            | Op::PickColumn { .. }
            | Op::PickEntry { .. }
            | Op::PickEntries { .. }
            | Op::Transposed
            | Op::Permuted { .. },
            &[Of::Value(x)],
        ) => {
            let sources = sources_of(&old.places, &node.operation, (&draft.known[x].shape, &own.shape))?;
            if sources.len() != count {
                return None;
            }
            let rows = all[x].rows(count_of(x));
            let row = |source: Option<usize>| match source {
                Some(source) => rows.get(source).cloned(),
                None => Some(BTreeMap::new()),
            };
            let rows = sources.into_iter().map(row).collect::<Option<Rows>>()?;
            let is_moved = all[x].is_moved || !matches!(node.operation, Op::Reshaped { .. });
            Some(InPlaces { is_moved, ..all[x].with(rows)? })
        }
        (Op::Mul | Op::Div, &[Of::Value(x), plain]) if keeps_shape(x) => {
            let factors = factors_of(draft, plain, &own.shape)?;
            let by = |factor: f64| if matches!(node.operation, Op::Div) { factor.recip() } else { factor };
            let rows = all[x].rows(count);
            let times = |(row, &factor): (&BTreeMap<usize, f64>, &f64)| {
                row.iter().map(|(&place, own)| (place, own * by(factor))).collect()
            };
            let rows = rows.iter().zip(&factors).map(times).collect();
            Some(InPlaces { is_weighted: true, ..all[x].with(rows)? })
        }
        (Op::Negate, &[Of::Value(x)]) => {
            let rows = all[x].rows(count);
            let negated =
                rows.iter().map(|row| row.iter().map(|(&place, own)| (place, -own)).collect()).collect();
            all[x].with(negated)
        }
        (Op::Add | Op::Sub | Op::SubFrom, &[Of::Value(x), Of::Value(y)])
            if all[x].base == all[y].base && keeps_shape(x) && keeps_shape(y) =>
        {
            let (of_x, of_y) = match node.operation {
                Op::Add => (1.0, 1.0),
                Op::Sub => (1.0, -1.0),
                _ => (-1.0, 1.0),
            };
            let (left, right) = (all[x].rows(count), all[y].rows(count));
            let sum = |(left, right): (&BTreeMap<usize, f64>, &BTreeMap<usize, f64>)| {
                let mut sum: BTreeMap<usize, f64> =
                    left.iter().map(|(&place, own)| (place, own * of_x)).collect();
                right.iter().for_each(|(&place, own)| *sum.entry(place).or_insert(0.0) += own * of_y);
                sum
            };
            let rows = left.iter().zip(right.iter()).map(sum).collect();
            let is_weighted = all[x].is_weighted || all[y].is_weighted;
            let is_moved = all[x].is_moved || all[y].is_moved;
            Some(InPlaces { is_weighted, is_moved, ..all[x].with(rows)? })
        }
        _ => None,
    }
}

/// The pass: values that others than maps of the same array take are one map of it.
pub(super) fn gather(draft: &mut Draft<'_>) {
    let mut kept: usize = 0;
    let of = |draft: &Draft<'_>, all: &[InPlaces], index: usize| {
        // What is known of all values together has a bound, too.
        let own = if kept < 8 * MOST { in_places(draft, all, index)? } else { return None };
        kept += own.rows.as_ref().map_or(0, |rows| rows.iter().map(BTreeMap::len).sum());
        Some(own)
    };
    draft.gather(of, |draft, own, index| {
        let rows = own.rows.as_ref()?;
        let terms = rows.iter().map(BTreeMap::len).max().unwrap_or(0).max(1);
        let (mut sources, mut factors) = (Vec::new(), Vec::new());
        for term in 0..terms {
            for row in rows.iter() {
                let (place, factor) =
                    row.iter().nth(term).map_or((0, 0.0), |(&place, &factor)| (place, factor));
                sources.push(Some(place));
                factors.push(factor);
            }
        }
        let place = draft.place_of(index);
        let length = factors.len();
        let factors = draft.constant(PlainArray::new(Values::Real(factors), vec![length]));
        let sources = draft.places(sources);
        let base = draft.image(Of::Value(own.base));
        Some(draft.push(Op::Mapped { shape: place.shape.to_vec(), sources }, vec![base, factors], place))
    });
}
