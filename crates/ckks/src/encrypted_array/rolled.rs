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

/// The numbers of rotations: a sum of fewer terms has many copies of the left factor's numbers in a row.
const TURNS: std::ops::RangeInclusive<usize> = 4..=MOST_TOGETHER;

/// The most slots of a factor.
const MAX_SLOTS: usize = 1 << 22;

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
    pub(super) sources: [Vec<Option<usize>>; 2],
    /// How both factors lie: each polynomial is a row.
    factors: [Layout; 2],
    /// How the products lie.
    to: Layout,
    pub(super) work: Work,
}

impl Rolled {
    /// The plan for sums with these labels of arrays with these shapes and layouts; `None` where they are no
    /// products of matrices, and where few rows of a product fit into a polynomial.
    pub(super) fn new(subscripts: &Subscripts, shapes: [&[usize]; 2], layouts: [&Layout; 2]) -> Option<Self> {
        let sizes = subscripts.sizes(shapes[0], shapes[1]).ok()?;
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
        let counted = |label: &u8| inner.contains(label) || result.contains(label);
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
        // The rows of an array are those of its last axis.
        if alone[by_columns].len() != 1 {
            return None;
        }
        let (stacks, inner_count) = (count(&stack), count(&inner));
        let (rows, columns) = (count(&alone[by_rows]), count(&alone[by_columns]));
        let turns = inner_count.checked_next_power_of_two()?;
        let capacity = (columns + turns - 1).checked_next_power_of_two()?;
        let degree = layouts[0].degree();
        let lines = rows.max(turns).checked_next_power_of_two()?.min(degree / 2 / capacity);
        // The rows of a product follow those of the one before.
        if lines < turns || !TURNS.contains(&turns) || (stacks > 1 && !rows.is_multiple_of(lines)) {
            return None;
        }
        let (blocks, slots) = (rows.div_ceil(lines), lines * capacity);
        if stacks.checked_mul(blocks * slots).is_none_or(|all| all > MAX_SLOTS) {
            return None;
        }
        let places = |of: usize, group: &[u8]| {
            let labels = [&subscripts.left, &subscripts.right][of];
            placed(group, labels, shapes[of], &sizes)
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
            work_of_array(layouts[own], &factors[place], sources[place].iter().copied(), |_| true)
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

    /// Whether the rotations bring together so many factors that other ways take more.
    pub(super) fn is_wide(&self) -> bool {
        self.columns > 2 * self.turns.ilog2() as usize
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
        let polynomials: Vec<usize> = (0..self.stacks * self.blocks).collect();
        for rows in polynomials.chunks((MOST_TOGETHER / self.turns).max(1)) {
            let rotated = |own: &Ciphertext, rows: &[usize], by: usize| {
                evaluator.rotate_slots(&evaluator.select_rows(own, rows)?, &steps(by))
            };
            let matrices: Vec<usize> = (rows[0] / self.blocks..=rows[rows.len() - 1] / self.blocks).collect();
            let left = rotated(&whole[0], rows, 1)?;
            let right = rotated(&whole[1], &matrices, self.capacity)?;
            // Some rotations may be composed of several.
            let noise = |all: &[Ciphertext]| {
                let of = |own: &&Ciphertext| own.estimate.error_bound(own.layout());
                let largest = all.iter().max_by(|one, other| of(one).total_cmp(&of(other)));
                largest.map(|own| own.estimate.clone())
            };
            turned = turned.or(noise(&left).zip(noise(&right)));
            // All polynomials of a product have the same right factor.
            let own: Vec<usize> = rows.iter().map(|row| row / self.blocks - matrices[0]).collect();
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
        let copies = (self.columns + self.turns - 1).div_ceil(self.turns);
        let factor = |own: &Ciphertext, (times, copies): (usize, usize), name, noise: Option<Estimate>| {
            let known = own.estimate.clone().into_factors(times, copies, name);
            match noise {
                Some(noise) => {
                    known.with_noise_of_rows(noise, slots, (self.blocks, self.stacks * self.blocks))
                }
                None => known,
            }
        };
        let (of_x, of_y) =
            (factor(&x, (self.columns, copies), NAMES[0], of_x), factor(&y, (self.rows, 1), NAMES[1], of_y));
        let numbers = of_x.multiply(of_y).sum(Along::Rows, (self.inner, self.turns), slots);
        x.params().check_bound(numbers.magnitude, sums.scale(), sums.level())?;
        let complex = left.is_complex() || right.is_complex();
        let layout = self.to.of_numbers(complex).with_padding(Padding::Dirty);
        let polynomials = self.stacks * self.blocks;
        let sums = sums.estimated(|own| numbers.with_noise_of_rows(own, slots, (1, polynomials)));
        Ok(sums.rearranged(shape.to_vec(), layout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|index| ((index * 37 + seed * 101) % 23) as f64 - 11.0).collect()
    }

    /// What the plan computes, on plain slots.
    fn computed(plan: &Rolled, arrays: [&[f64]; 2]) -> Vec<f64> {
        let arrays = if plan.exchanged { [arrays[1], arrays[0]] } else { arrays };
        let slots_of = |own: usize| -> Vec<f64> {
            plan.sources[own].iter().map(|source| source.map_or(0.0, |at| arrays[own][at])).collect()
        };
        let (x, y) = (slots_of(0), slots_of(1));
        let [slots, period] = plan.factors.map(|own| own.columns());
        let mut all = Vec::new();
        for polynomial in 0..plan.stacks * plan.blocks {
            let (x, y) =
                (&x[polynomial * slots..][..slots], &y[polynomial / plan.blocks * period..][..period]);
            let product = |slot: usize| -> f64 {
                let rolled =
                    |turn: usize| x[(slot + turn) % slots] * y[(slot + turn * plan.capacity) % period];
                (0..plan.turns).map(rolled).sum()
            };
            let mut result = vec![0.0; plan.to.rows() * plan.to.columns()];
            for (slot, entry) in plan.to.held(polynomial) {
                result[entry] = product(slot);
            }
            all.push(result);
        }
        let sum = |entry: usize| all.iter().map(|own| own[entry]).sum();
        (0..plan.to.rows() * plan.to.columns()).map(sum).collect()
    }

    #[test]
    fn plans_compute_products_of_matrices() {
        let cases: [(&str, &[usize], &[usize], bool); 14] = [
            ("ik,kj->ij", &[5, 3], &[3, 4], true),
            ("ik,kj->ij", &[40, 7], &[7, 9], true),
            ("ik,kj->ij", &[1, 1], &[1, 1], false),
            ("ik,kj->ij", &[17, 2], &[2, 17], false),
            ("bik,bkj->bij", &[3, 16, 4], &[3, 4, 13], true),
            ("bik,bjk->bij", &[5, 8, 8], &[5, 8, 8], true),
            ("bki,bkj->bji", &[2, 4, 16], &[2, 4, 8], true),
            ("abik,bakj->abij", &[2, 3, 8, 5], &[3, 2, 5, 6], true),
            ("bilk,bklj->bij", &[2, 16, 2, 3], &[2, 3, 2, 4], true),
            // Rows of several products in one polynomial, too few rows in one, and other last axes.
            ("bik,bkjl->bijl", &[2, 16, 4], &[2, 4, 3, 3], false),
            ("bik,bk->bi", &[2, 16, 4], &[2, 4], false),
            ("ik,k->i", &[16, 4], &[4], false),
            ("bik,bkj->bij", &[3, 5, 4], &[3, 4, 13], false),
            ("ik,kj->ij", &[4, 64], &[64, 64], false),
        ];
        for (labels, left, right, is_possible) in cases {
            let subscripts = Subscripts::new(labels).expect("labels");
            let layout = |shape: &[usize]| {
                Layout::new(shape, Encoding::Slots, 512)
                    .and_then(|own| own.with_lanes(None))
                    .expect("a layout")
            };
            let layouts = [layout(left), layout(right)];
            let plan = Rolled::new(&subscripts, [left, right], [&layouts[0], &layouts[1]]);
            let Some(plan) = plan else {
                assert!(!is_possible, "{labels} {left:?} {right:?}");
                continue;
            };
            assert!(is_possible, "{labels} {left:?} {right:?}");
            let (x, y) = (numbers(left.iter().product(), 1), numbers(right.iter().product(), 2));
            let (shape, [of_left, of_right]) = subscripts.terms(left, right).expect("terms");
            let count: usize = shape.iter().product();
            let mut expected = vec![0.0; count];
            for (index, (&one, &other)) in of_left.iter().zip(&of_right).enumerate() {
                expected[index % count] += x[one] * y[other];
            }
            assert_eq!(computed(&plan, [&x, &y]), expected, "{labels} {left:?} {right:?}");
        }
    }
}
