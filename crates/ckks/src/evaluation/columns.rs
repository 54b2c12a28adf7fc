//! Selections of a range of columns. In coefficients they need no key; for slots see
//! [`slot_columns`](super::slot_columns).
//!
//! Number `t` of a row's chunk is the coefficient of `X^(stride t)`. A product of the ciphertext with
//! `X^(-stride a)` therefore moves number `a` to the front and the later numbers behind it:
//!
//! ```text
//! X^(-stride a) sum_t m_t X^(stride t)  =  sum_(t >= a) m_t X^(stride (t - a))  -  sum_(t < a) m_t X^(W - stride (a - t))
//! ```
//!
//! The product is exact: it takes no level and adds no error. Numbers outside the selection stay in the
//! polynomial after the selected numbers, so the padding is dirty. Pairs of coefficients, `W/2` apart, move
//! together; pairs before `a` come after the others, with real and imaginary part exchanged. If the
//! polynomial was split, the components are permuted.

use std::collections::BTreeMap;
use std::ops::Range;

use clathrate_lattice::{Bundle, Eval, Poly};

use super::evaluator::Evaluator;
use crate::arrays::{BodyAxis, Ciphertext, Encoding, Layout, Order, Padding};
use crate::error::CkksError;
use crate::parameters::Params;

/// The operation's name in errors.
const SELECTION: &str = "a selection of columns";

/// The source of a bundle of the result: a bundle of the same line, divided by this power of `X`.
struct Source {
    bundle: usize,
    power: usize,
}

impl Evaluator {
    /// The columns `columns` of an encrypted matrix, or the entries `columns` of a vector.
    ///
    /// In slots this takes a product with a mask, not rescaled, and rotations; the padding is zero. In
    /// coefficients the other numbers of the selected polynomials stay in the padding, where the owner of the
    /// secret can read them; if the range contains all numbers of its polynomials, the padding is unchanged.
    ///
    /// Cost in coefficients: a product with a power of `X` for each polynomial; none if the range starts at a
    /// multiple of the layout's capacity.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without columns; [`CkksError::OutOfRange`] for columns beyond the last;
    /// [`CkksError::Shape`] for a single number; [`CkksError::Unsuitable`] for numbers in bit-reversed order,
    /// and for a range over several polynomials of a row that starts, or in slots ends, inside one, and if
    /// chunks of a row share a mask and some of them are selected; in slots missing keys and the errors of
    /// [`Evaluator::multiply_plain`].
    pub fn select_columns(&self, x: &Ciphertext, columns: Range<usize>) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        check_range(x, &columns)?;
        if columns == (0..x.layout.columns()) {
            return Ok(x.clone());
        }
        if x.encoding() == Encoding::Slots {
            return self.select_slots(x, &columns);
        }
        let (after, sources) = selected(x, &columns)?;
        let mut shape = x.shape.clone();
        shape.pop();
        shape.push(after.columns());
        after.check(&shape, x.params.degree())?;
        let powers: Vec<usize> =
            sources.iter().map(|source| source.power).filter(|&power| power > 0).collect();
        let monomials = Monomials::new(x, &powers);
        self.record_once(x, || {
            let products = powers.len() * after.lines() * x.polys_per_bundle();
            let mut cost = x.params.rows_cost(products * x.params.chain().basis(x.level).len());
            cost += x.params.transforms_cost(x.level, x.params.degree()).times(monomials.0.len() as f64);
            Ok(cost)
        })?;
        let lines = x.bundles.chunks_exact(x.layout.bundles_per_line());
        let bundles = lines.flat_map(|line| {
            sources.iter().map(|source| monomials.divide(&line[source.bundle], source.power))
        });
        let bundles = bundles.collect::<Result<_, CkksError>>()?;
        Ok(x.with_all((&x.params, shape), after, bundles, (x.level, x.scale))
            .estimated(|own| own.selected_columns(&columns)))
    }
}

/// The inverses of powers of `X`, as factors; `None` on a dry run.
struct Monomials(BTreeMap<usize, Option<Poly<Eval>>>);

impl Monomials {
    fn new(x: &Ciphertext, powers: &[usize]) -> Self {
        let inverse = |&power: &usize| (power, (!x.is_symbol()).then(|| inverse_power(&x.params, x, power)));
        // Components of one polynomial are divided by at most two different powers.
        let mut distinct = powers.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        Self(distinct.iter().map(inverse).collect())
    }

    fn divide(&self, bundle: &Bundle<Eval>, power: usize) -> Result<Bundle<Eval>, CkksError> {
        match self.0.get(&power).and_then(Option::as_ref) {
            Some(factor) => Ok(bundle.times_poly(factor)?),
            None => Ok(bundle.clone()),
        }
    }
}

/// `X^(-power) = -X^(n - power)`, for a power from 1 to `n`.
fn inverse_power(params: &Params, x: &Ciphertext, power: usize) -> Poly<Eval> {
    let (ring, basis) = (params.chain().ring(), params.chain().basis(x.level));
    let mut coefficients = vec![0; ring.degree()];
    coefficients[ring.degree() - power] = -1;
    Poly::from_signed(ring, &basis, &coefficients).into_eval()
}

/// Refuses columns that the array does not have.
fn check_range(x: &Ciphertext, columns: &Range<usize>) -> Result<(), CkksError> {
    let Some((&count, rows)) = x.shape.split_last() else {
        let remedy = "a single number has no columns".to_owned();
        return Err(CkksError::Shape {
            operation: SELECTION,
            left: vec![],
            right: vec![columns.len()],
            remedy,
        });
    };
    if columns.is_empty() {
        return Err(CkksError::no_entries([rows, &[0]].concat()));
    }
    if columns.end > count {
        let remedy = format!("the array has {count}, counted from 0");
        return Err(CkksError::OutOfRange { what: "a column", value: (columns.end - 1).to_string(), remedy });
    }
    Ok(())
}

/// The layout of the selection, and the sources of the bundles of each line.
fn selected(x: &Ciphertext, columns: &Range<usize>) -> Result<(Layout, Vec<Source>), CkksError> {
    let (layout, Range { start, end }) = (x.layout, columns.clone());
    let refused = |reason: String| Err(CkksError::Unsuitable { operation: SELECTION, reason });
    if layout.order() != Order::Natural {
        return refused(
            "the numbers are in bit-reversed order: encrypt the array in natural order".to_owned(),
        );
    }
    let capacity = layout.capacity();
    let (first, last, shift) = (start / capacity, (end - 1) / capacity, start % capacity);
    if shift > 0 && first < last {
        let remedy = if x.shape.len() == 1 {
            "encrypt the numbers as a matrix of one column, whose rows can be selected"
        } else {
            "transpose the matrix (x.T.to_rows()) and select rows"
        };
        return refused(format!(
            "columns {start} to {} lie in {} polynomials of each row, which hold {capacity} columns each: start at a multiple of {capacity}, stay within one \
             polynomial, or {remedy}",
            end - 1,
            last - first + 1
        ));
    }
    check_masks(&layout, columns)?;
    let whole = shift == 0 && (end == layout.columns() || end.is_multiple_of(capacity));
    let padding = if whole { layout.padding() } else { Padding::Dirty };
    let after = layout.of_columns(end - start).with_padding(padding);
    let group = if layout.body_axis() == BodyAxis::Chunks { first / layout.bodies() } else { first };
    let mut sources = Vec::with_capacity(after.bundles_per_line());
    for own in 0..after.groups() {
        for component in 0..after.stored_components(own) {
            // Bundle `component` starts with the coefficient of X^component.
            let position = component + shift * layout.stride();
            let bundle = layout.bundle(0, group + own, position % layout.components());
            sources.push(Source { bundle, power: position / layout.components() });
        }
    }
    Ok((after, sources))
}

/// Refuses ranges that would leave chunks in bodies without an entry, which must hold zero, or move a chunk
/// to another body.
fn check_masks(layout: &Layout, &Range { start, end }: &Range<usize>) -> Result<(), CkksError> {
    if layout.body_axis() == BodyAxis::Rows || layout.bodies() == 1 {
        return Ok(());
    }
    let (first, last) = (start / layout.capacity(), (end - 1) / layout.capacity());
    let ends = end == layout.columns()
        || (end.is_multiple_of(layout.capacity()) && (last + 1).is_multiple_of(layout.bodies()));
    // The last chunk under its mask may be cut, unless its polynomial is split and some components would have
    // no entry.
    let cut = layout.components() == 1
        && ((last + 1).is_multiple_of(layout.bodies()) || last + 1 == layout.chunks());
    if first.is_multiple_of(layout.bodies()) && (ends || cut) {
        return Ok(());
    }
    Err(CkksError::shared_mask(
        SELECTION,
        layout.bodies(),
        "columns under one mask are selected together",
        "take the bodies apart with split_mask first, or select whole masks, all bodies of each",
    ))
}
