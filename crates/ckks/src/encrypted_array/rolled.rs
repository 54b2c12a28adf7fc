//! Stacks of products of matrices in slots, as sums of products of rolled arrays.
//!
//! ```text
//! z[b, i, j] = sum_k x[b, i, k] y[b, k, j]
//! ```
//!
//! Each product of the stack has a polynomial, or several, whose slots are rows of numbers. With
//!
//! ```text
//! X[i, j] = x[i, (i + j) mod K],    Y[i, j] = y[(i + j) mod K, j]
//! ```
//!
//! a rotation of `X` by `r` slots and one of `Y` by `r` rows bring the factors with `k = (i + j + r) mod K`
//! together, for all `i` and `j` at once, so
//!
//! ```text
//! z = sum_r rotated(X, r) * rotated(Y, r rows).
//! ```
//!
//! The products are added before one relinearisation. `X` has `K - 1` columns more than `z`, so that its rows
//! need no masks, and `Y` has `K` rows, which repeat. One gather makes each of `X` and `Y`. It takes two
//! levels where one step of a gather suffices for both.
//!
//! Source: Jiang, Kim, Lauter, Song: Secure outsourced matrix computation and application to neural networks
//! (CCS 2018), with more columns instead of masks.

use super::subscripts::{Subscripts, placed};
use crate::arrays::estimate::Along;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Padding};
use crate::circuits::linear::gather::gather;
use crate::circuits::linear::routing::work_of_array;
use crate::circuits::linear::work::{Work, work_of_rotations};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::combinations::ProductTerm;
use crate::evaluation::evaluator::LevelsNeeded;

/// The most rotated polynomials of each factor that are in memory together.
const MOST_TOGETHER: usize = 256;

/// Names of the factors' numbers.
const NAMES: [u64; 2] = [0x726f_6c6c_6564_0001, 0x726f_6c6c_6564_0002];

/// How stacks of products are computed of rolled arrays.
pub(super) struct Rolled {
    /// Whether the right array is the factor by rows.
    exchanged: bool,
    stacks: usize,
    /// The polynomials of one product.
    blocks: usize,
    rows: usize,
    columns: usize,
    inner: usize,
    /// The rotations of each factor: `inner` rounded up to a power of two.
    turns: usize,
    /// The slots of a row.
    capacity: usize,
    /// The places in both arrays from which the slots of both factors come.
    sources: [Vec<Option<usize>>; 2],
    /// How both factors lie: each polynomial is a row.
    factors: [Layout; 2],
    /// How the products lie.
    to: Layout,
    pub(super) work: Work,
}

impl Rolled {
    /// The plan for sums with these labels; `None` where they are no products of matrices, or a matrix does
    /// not fit into a polynomial.
    pub(super) fn new(subscripts: &Subscripts, arrays: [&Ciphertext; 2]) -> Option<Self> {
        let sizes = subscripts.sizes(arrays[0].shape(), arrays[1].shape()).ok()?;
        let result = &subscripts.result;
        let of_left = |label: &u8| subscripts.left.contains(label);
        let of_right = |label: &u8| subscripts.right.contains(label);
        let once = |labels: &[u8]| (1..labels.len()).all(|at| !labels[..at].contains(&labels[at]));
        if !once(&subscripts.left) || !once(&subscripts.right) {
            return None;
        }
        let chosen = |labels: &[u8], of: &dyn Fn(&u8) -> bool| -> Vec<u8> {
            labels.iter().copied().filter(|label| of(label)).collect()
        };
        let stack = chosen(result, &|label| of_left(label) && of_right(label));
        let alone = [
            chosen(result, &|label| of_left(label) && !of_right(label)),
            chosen(result, &|label| of_right(label) && !of_left(label)),
        ];
        let inner = chosen(&subscripts.left, &|label| of_right(label) && !result.contains(label));
        let counted = |label: &u8| stack.contains(label) || inner.contains(label) || result.contains(label);
        if ![&subscripts.left, &subscripts.right].into_iter().flatten().all(counted) || inner.is_empty() {
            return None;
        }
        let exchanged = match &alone {
            [first, second] if *result == [&stack[..], first, second].concat() => false,
            [first, second] if *result == [&stack[..], second, first].concat() => true,
            _ => return None,
        };
        let count = |labels: &[u8]| labels.iter().map(|label| sizes[label]).product::<usize>();
        let (by_rows, by_columns) = if exchanged { (1, 0) } else { (0, 1) };
        let (stacks, inner_count) = (count(&stack), count(&inner));
        let (rows, columns) = (count(&alone[by_rows]), count(&alone[by_columns]));
        let turns = inner_count.checked_next_power_of_two()?;
        let capacity = (columns + turns - 1).checked_next_power_of_two()?;
        let (degree, slot_count) = (arrays[0].params().degree(), arrays[0].params().slot_count());
        let lines = rows.max(turns).checked_next_power_of_two()?.min(slot_count / capacity);
        // The rows of a product follow those of the one before.
        if lines < turns || (stacks > 1 && !rows.is_multiple_of(lines)) {
            return None;
        }
        let (blocks, slots) = (rows.div_ceil(lines), lines * capacity);
        let places = |of: usize, group: &[u8]| {
            let labels = [&subscripts.left, &subscripts.right][of];
            placed(group, labels, arrays[of].shape(), &sizes)
        };
        let (x_stack, x_rows, x_inner) =
            (places(by_rows, &stack), places(by_rows, &alone[by_rows]), places(by_rows, &inner));
        let (y_stack, y_columns, y_inner) =
            (places(by_columns, &stack), places(by_columns, &alone[by_columns]), places(by_columns, &inner));
        let (of_x, of_y) = (blocks * slots, turns * capacity);
        let mut sources = [vec![None; stacks * of_x], vec![None; stacks * of_y]];
        for matrix in 0..stacks {
            for (line, at) in (0..blocks * lines).flat_map(|line| (0..capacity).map(move |at| (line, at))) {
                let (slot, term) = (line * capacity + at, (line + at) % turns);
                let Some((&x_term, &y_term)) = x_inner.get(term).zip(y_inner.get(term)) else { continue };
                if let (Some(row), true) = (x_rows.get(line), at < columns + turns - 1) {
                    sources[0][matrix * of_x + slot] = Some(x_stack[matrix] + row + x_term);
                }
                if let (Some(column), true) = (y_columns.get(at), line < turns) {
                    sources[1][matrix * of_y + slot] = Some(y_stack[matrix] + column + y_term);
                }
            }
        }
        let factor = |rows: usize, slots: usize| Layout::new(&[rows, slots], Encoding::Slots, degree).ok();
        let factors = [factor(stacks * blocks, slots)?, factor(stacks, of_y)?];
        let wide = Layout::new(&[stacks * rows, capacity], Encoding::Slots, degree).ok()?;
        let to = wide.with_lanes(Some(lines)).ok()?.of_columns(columns);
        let of = |own: usize, place: usize| {
            work_of_array(arrays[own].layout(), &factors[place], sources[place].iter().copied())
        };
        let rotations =
            work_of_rotations(stacks * blocks, turns - 1).beside(work_of_rotations(stacks, turns - 1));
        let sums = Work { switches: rotations.switches + (stacks * blocks) as f64, ..rotations };
        let work = of(by_rows, 0).beside(of(by_columns, 1)).then(sums);
        Some(Self {
            exchanged,
            stacks,
            blocks,
            rows,
            columns,
            inner: inner_count,
            turns,
            capacity,
            sources,
            factors,
            to,
            work,
        })
    }

    /// The products of `left` and `right`, as an array of this shape.
    ///
    /// # Errors
    /// Those of [`gather`], of rotations and of products.
    pub(super) fn run(
        &self,
        evaluator: &Evaluator,
        (left, right): (&Ciphertext, &Ciphertext),
        shape: &[usize],
    ) -> Result<Ciphertext, CkksError> {
        let (x, y) = if self.exchanged { (right, left) } else { (left, right) };
        let slots = self.factors[0].columns();
        let factor = |own: &Ciphertext, place: usize| {
            let to = self.factors[place];
            let own = gather(evaluator, own, &[to.rows(), to.columns()], Some(to), &self.sources[place])?;
            Ok::<_, CkksError>(evaluator.with_levels_needed(&own, LevelsNeeded::Depth(1))?.into_owned())
        };
        let (x, y) = (factor(x, 0)?, factor(y, 1)?);
        let level = x.level().min(y.level());
        let (x, y) = (evaluator.at_level(&x, level)?, evaluator.at_level(&y, level)?);
        let without = |own: &Ciphertext| own.polynomials_as_rows().estimated(Estimate::without_numbers);
        let whole = [without(&x), without(&y)];
        let steps = |by: usize| (0..self.turns).map(|turn| (turn * by) as i64).collect::<Vec<_>>();
        let (mut parts, mut turned) = (Vec::new(), None);
        let as_wide = |x: &Ciphertext| {
            let layout = x.layout().with_capacity(slots)?.of_columns(slots);
            Ok::<_, CkksError>(x.clone().rearranged(vec![layout.rows(), slots], layout))
        };
        let stacks: Vec<usize> = (0..self.stacks).collect();
        for block in stacks.chunks((MOST_TOGETHER / (self.turns * self.blocks)).max(1)) {
            let rotated = |own: &Ciphertext, rows: &[usize], by: usize| {
                evaluator.rotate_slots(&evaluator.select_rows(own, rows)?, &steps(by))
            };
            let of = |matrix: &usize| matrix * self.blocks..(matrix + 1) * self.blocks;
            let rows: Vec<usize> = block.iter().flat_map(of).collect();
            let (left, right) = (rotated(&whole[0], &rows, 1)?, rotated(&whole[1], block, self.capacity)?);
            let noise = |all: &[Ciphertext]| all.last().map(|own| own.estimate.clone());
            turned = turned.or(noise(&left).zip(noise(&right)));
            // All polynomials of a product have the same right factor.
            let own: Vec<usize> = (0..rows.len()).map(|row| row / self.blocks).collect();
            let wide = right.iter().map(|right| evaluator.select_rows(&as_wide(right)?, &own));
            let right = wide.collect::<Result<Vec<_>, CkksError>>()?;
            let terms: Vec<ProductTerm<'_>> = left
                .iter()
                .zip(&right)
                .map(|(left, right)| ProductTerm { left, right, twice: false })
                .collect();
            parts.push(evaluator.sum_of_products_rescale(&terms, None)?);
        }
        let sums = evaluator.concatenate(&parts.iter().collect::<Vec<_>>())?;
        let (of_x, of_y) = turned.filter(|_| self.turns > 1).unzip();
        // Each number of a factor is part of one term of a sum, and of as many sums as the other has.
        let factor = |own: &Ciphertext, times: usize, name: u64, noise: Option<Estimate>| {
            let known = own.estimate.clone().into_factors(times, name);
            match noise {
                Some(noise) => {
                    known.with_noise_of_rows(noise, slots, (self.blocks, self.stacks * self.blocks))
                }
                None => known,
            }
        };
        let (of_x, of_y) = (factor(&x, self.columns, NAMES[0], of_x), factor(&y, self.rows, NAMES[1], of_y));
        let numbers = of_x.multiply(of_y).sum(Along::Rows, (self.inner, self.turns), slots);
        x.params().check_bound(numbers.magnitude, sums.scale(), sums.level())?;
        let complex = left.is_complex() || right.is_complex();
        let layout = self.to.of_numbers(complex).with_padding(Padding::Dirty);
        let polynomials = self.stacks * self.blocks;
        let sums = sums.estimated(|own| numbers.with_noise_of_rows(own, slots, (1, polynomials)));
        Ok(sums.rearranged(shape.to_vec(), layout))
    }
}
