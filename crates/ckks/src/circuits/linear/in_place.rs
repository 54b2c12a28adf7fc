//! Sums of products of the numbers of two arrays in slots, computed where the numbers lie.
//!
//! ```text
//! z[i] = sum_t x[left(t, i)] y[right(t, i)]
//! ```
//!
//! If the two factors of all terms of an entry are the same number of slots apart, a rotation of one array by
//! this distance brings them together. The products of several polynomials are added before one
//! relinearisation; what is left to add lies at equal distances in one polynomial, and is added by rotations.
//! Each product computes all entries with its distance. A gather moves the sums to the places of the result.
//! It takes two levels.
//!
//! Inner products of `n` long rows have `n` distances if rows share polynomials, and inner products of `n`
//! columns have `2 n - 1`; of an array with itself half of them suffice, because products commute.

use std::collections::{BTreeMap, BTreeSet};

use super::gather::{gather, in_lanes, signed};
use super::routing::work_of_gather;
use super::work::{Place, Work};
use crate::arrays::estimate::{Along, Gathered};
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Padding};
use crate::error::CkksError;
use crate::evaluation::combinations::ProductTerm;
use crate::evaluation::evaluator::LevelsNeeded;
use crate::evaluation::{Evaluator, doublings};

/// The factors of each term of sums of products.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The place of the left factor of each term, counted along the rows of its array: all terms `t = 0` in
    /// the order of the result's entries, then all terms `t = 1`, ..
    pub(crate) left: &'a [usize],
    /// As `left`, for the right factor.
    pub(crate) right: &'a [usize],
}

/// How many of the sums of products of one array's numbers are sums of squares, and of how many terms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Squares {
    share: f64,
    terms: f64,
}

impl Squares {
    /// Those among the sums of `count` entries.
    pub(crate) fn new(terms: Terms<'_>, count: usize) -> Self {
        let is_square = |entry: usize| {
            let own = (entry..terms.left.len()).step_by(count);
            own.into_iter().all(|term| terms.left[term] == terms.right[term])
        };
        let squares = (0..count).filter(|&entry| is_square(entry)).count() as f64;
        Self { share: squares / count as f64, terms: (terms.left.len() / count) as f64 }
    }

    /// The estimate of the sums, for that of sums of products of independent numbers.
    pub(crate) fn among(self, sums: Estimate, x: &Ciphertext) -> Estimate {
        let mean = self.terms * x.estimate.typical * x.estimate.typical;
        let typical = (sums.typical * sums.typical + self.share * mean * mean).sqrt();
        let typical = typical.min(sums.magnitude);
        sums.with_typical(typical)
    }
}

/// The most products of polynomials whose rotated factors are in memory together.
const MOST_TOGETHER: usize = 256;

/// Where the numbers of an array are.
struct Places {
    of: Vec<Place>,
    period: usize,
    /// The slots of all polynomials that may not be zero.
    filled: Vec<bool>,
}

impl Places {
    fn new(layout: &Layout) -> Self {
        let (period, polynomials) = (layout.period(), layout.polynomials());
        let mut of = vec![(0, 0); layout.rows() * layout.columns()];
        let mut filled = vec![layout.padding() != Padding::Zero; polynomials * period];
        for polynomial in 0..polynomials {
            for (slot, entry) in layout.held(polynomial) {
                of[entry] = (polynomial, slot);
                filled[polynomial * period + slot..][..layout.copies()].fill(true);
            }
        }
        Self { of, period, filled }
    }

    fn is_zero(&self, polynomial: usize, slot: usize) -> bool {
        !self.filled[polynomial * self.period + slot % self.period]
    }
}

/// A product of polynomials, or the sum of several: those of the array that stays, and of the one that is
/// rotated, in pairs.
type Pairs = Vec<(usize, usize)>;

/// How sums of products are computed where the numbers lie.
pub(crate) struct InPlace {
    /// Whether the left array is rotated, and not the right one.
    is_left_rotated: bool,
    /// The slots of a product.
    slots: usize,
    /// The products, in the order of the distances.
    products: Vec<(usize, Pairs)>,
    /// The rotations whose sums are the sums of an entry's terms.
    folds: Vec<i64>,
    /// The slots after which sums repeat.
    period: usize,
    /// The product and the slot of each entry of the result.
    entries: Vec<Place>,
    to: Layout,
    /// The terms of an entry.
    terms: usize,
    /// The numbers of the array that stays, and of the rotated one, as factors of all terms.
    factors: [Gathered; 2],
    /// Where both are one array.
    squares: Option<Squares>,
}

/// Whether the numbers of an array may be multiplied where they lie.
fn suits(layout: &Layout) -> bool {
    layout.encoding() == Encoding::Slots && layout.bodies() == 1
}

impl InPlace {
    /// The plan for arrays that lie as `left` and `right`, `is_square` if they are one array; `None` where
    /// numbers are not at one distance, or sums have other terms between their own.
    pub(crate) fn new(
        (left, right, is_square): (&Layout, &Layout, bool),
        shape: &[usize],
        given: Terms<'_>,
    ) -> Option<Self> {
        if !suits(left) || !suits(right) {
            return None;
        }
        let to = in_lanes(shape, left.degree()).ok()?;
        let count = to.rows() * to.columns();
        // Rotated is what has the shorter period, or else fewer polynomials.
        let size = |layout: &Layout| (layout.period(), layout.polynomials());
        let is_left_rotated = size(left) < size(right);
        let (still, moving, of_still, of_moving) = if is_left_rotated {
            (right, left, given.right, given.left)
        } else {
            (left, right, given.left, given.right)
        };
        let layouts = [still, moving];
        let (still, moving) = (Places::new(still), Places::new(moving));
        let (slots, period) = (still.period, moving.period);
        let (mut products, mut entries) = (BTreeMap::<(usize, Pairs), usize>::new(), Vec::new());
        let mut fold: Option<(usize, usize)> = None;
        let mut own = Vec::new();
        for entry in 0..count {
            let places = (entry..of_still.len())
                .step_by(count)
                .map(|term| (still.of[of_still[term]], moving.of[of_moving[term]]));
            let distance = |(stays, moves): &(Place, Place)| (moves.1 + period - stays.1 % period) % period;
            own.clear();
            own.extend(places);
            let first = own.first()?;
            let (apart, polynomials) = (distance(first), (first.0.0, first.1.0));
            let later = 2 * apart > period || (2 * apart % period == 0 && polynomials.0 > polynomials.1);
            if is_square && later {
                own.iter_mut().for_each(|(stays, moves)| std::mem::swap(stays, moves));
            }
            let apart = distance(own.first()?);
            if own.iter().any(|places| distance(places) != apart) {
                return None;
            }
            let (slot, own_fold, pairs) = summed(&own, &still)?;
            if *fold.get_or_insert(own_fold) != own_fold {
                return None;
            }
            let next = products.len();
            let product = *products.entry((apart, pairs)).or_insert(next);
            entries.push((product, slot));
        }
        // Numbered in the order of the distances.
        let mut places = vec![0; products.len()];
        products.values().enumerate().for_each(|(place, &product)| places[product] = place);
        entries.iter_mut().for_each(|(product, _)| *product = places[*product]);
        let (unit, terms) = fold?;
        let folds = doublings(1, terms).map(|count| (count * unit) as i64).collect();
        // Sums over all places of a polynomial are equal in all of them.
        let period = if unit * terms == slots { unit } else { slots };
        entries.iter_mut().for_each(|(_, slot)| *slot %= period);
        let factor = |place: usize| {
            let of = Layout::new(&[of_still.len() / count, count], Encoding::Slots, left.degree()).ok()?;
            let sources = [of_still, of_moving][place].iter().copied().map(Some).collect::<Vec<_>>();
            Some(Gathered::new(&sources, (layouts[place], &of)))
        };
        let (factors, squares) = ([factor(0)?, factor(1)?], is_square.then(|| Squares::new(given, count)));
        Some(Self {
            is_left_rotated,
            slots,
            products: products.into_keys().collect(),
            folds,
            period,
            entries,
            to,
            terms: of_still.len() / count,
            factors,
            squares,
        })
    }

    /// What the products and their sums take.
    pub(crate) fn work_of_products(&self) -> Work {
        let rotated: BTreeSet<(usize, usize)> = self
            .products
            .iter()
            .filter(|(apart, _)| *apart != 0)
            .flat_map(|(apart, pairs)| pairs.iter().map(|pair| (*apart, pair.1)))
            .collect();
        let distances: BTreeSet<usize> = rotated.iter().map(|(apart, _)| *apart).collect();
        let products = self.products.len() as f64;
        Work {
            switches: rotated.len() as f64 + products * (1.0 + self.folds.len() as f64),
            keys: (distances.len() + self.folds.len()) as f64,
            levels: 1,
        }
    }

    /// What the gather of the sums takes; see [`work_of_gather`].
    pub(crate) fn work_of_gather(&self, is_worth: impl FnOnce(Work) -> bool) -> Work {
        let from = self.entries.iter().map(|&entry| Some(entry));
        work_of_gather(from, &self.to, self.period, is_worth)
    }

    /// The sums of products of `left` and `right`, at the level two below theirs.
    ///
    /// # Errors
    /// Those of rotations, products and of [`gather`].
    pub(crate) fn run(
        &self,
        evaluator: &Evaluator,
        (left, right): (&Ciphertext, &Ciphertext),
        shape: &[usize],
    ) -> Result<Ciphertext, CkksError> {
        let left = evaluator.with_levels_needed(left, LevelsNeeded::Depth(2))?;
        let right = evaluator.with_levels_needed(right, LevelsNeeded::Depth(2))?;
        let level = left.level().min(right.level());
        let (left, right) = (evaluator.at_level(&left, level)?, evaluator.at_level(&right, level)?);
        let (still, moving) = if self.is_left_rotated { (&*right, &*left) } else { (&*left, &*right) };
        let whole = |x: &Ciphertext| x.polynomials_as_rows().estimated(Estimate::without_numbers);
        let (stays, moves) = (whole(still), whole(moving));
        let as_wide = |x: Ciphertext| {
            let layout = x.layout().with_capacity(self.slots)?.of_columns(self.slots);
            Ok::<_, CkksError>(x.rearranged(vec![layout.rows(), self.slots], layout))
        };
        let (mut parts, mut turned) = (Vec::new(), None);
        for products in self.blocks() {
            let of_block = || products.iter().flat_map(|(_, pairs)| pairs.iter());
            let used: BTreeSet<usize> = of_block().map(|pair| pair.1).collect();
            let used: Vec<usize> = used.into_iter().collect();
            let distances: BTreeSet<usize> = products.iter().map(|(apart, _)| *apart).collect();
            let distances: Vec<usize> = distances.into_iter().collect();
            let period = moving.layout().period();
            let steps = |&apart: &usize| signed(apart, period);
            let rotated = evaluator.rotate_slots(
                &evaluator.select_rows(&moves, &used)?,
                &distances.iter().map(steps).collect::<Vec<_>>(),
            )?;
            for (rotated, _) in rotated.iter().zip(&distances).filter(|(_, apart)| **apart != 0) {
                turned.get_or_insert_with(|| rotated.estimate.clone());
            }
            let rotated = as_wide(evaluator.concatenate(&rotated.iter().collect::<Vec<_>>())?)?;
            let place = |apart: usize, polynomial: usize| {
                let of = |all: &[usize], one| all.partition_point(|&other| other < one);
                of(&distances, apart) * used.len() + of(&used, polynomial)
            };
            let factors = (0..products[0].1.len())
                .map(|pair| {
                    let own: Vec<usize> = products.iter().map(|(_, pairs)| pairs[pair].0).collect();
                    let other: Vec<usize> =
                        products.iter().map(|(apart, pairs)| place(*apart, pairs[pair].1)).collect();
                    Ok((evaluator.select_rows(&stays, &own)?, evaluator.select_rows(&rotated, &other)?))
                })
                .collect::<Result<Vec<_>, CkksError>>()?;
            let sums: Vec<ProductTerm<'_>> =
                factors.iter().map(|(left, right)| ProductTerm { left, right, twice: false }).collect();
            parts.push(evaluator.sum_of_products_rescale(&sums, None)?);
        }
        let sums = evaluator.concatenate(&parts.iter().collect::<Vec<_>>())?;
        let numbers = self.estimate_of_sums((still, moving), turned);
        still.params().check_bound(numbers.magnitude, sums.scale(), sums.level())?;
        let sums = evaluator.plus_rotated(sums, &self.folds)?;
        let count = self.products.len();
        let sums = sums.estimated(|own| numbers.with_noise_of_rows(own, self.slots, (1, count)));
        let complex = left.is_complex() || right.is_complex();
        let layout = sums.layout().of_numbers(complex).with_padding(Padding::Dirty);
        let layout = layout.with_capacity(self.period)?.of_columns(self.period);
        let sums = sums.rearranged(vec![count, self.period], layout);
        let sources: Vec<Option<usize>> =
            self.entries.iter().map(|&(product, slot)| Some(product * self.period + slot)).collect();
        gather(evaluator, &sums, shape, Some(self.to), &sources)
    }

    /// Products whose rotated factors are in memory together; all of a block have the same number of pairs.
    fn blocks(&self) -> Vec<&[(usize, Pairs)]> {
        let (mut blocks, mut rest) = (Vec::new(), &self.products[..]);
        while let Some((_, pairs)) = rest.first() {
            let most = (MOST_TOGETHER / pairs.len()).max(1);
            let alike = rest.iter().take(most).take_while(|(_, own)| own.len() == pairs.len()).count();
            let (block, others) = rest.split_at(alike);
            blocks.push(block);
            rest = others;
        }
        blocks
    }

    /// The estimate of a sum before its noise: of products of the arrays' numbers, where the rotated ones
    /// have the noise of a rotation.
    fn estimate_of_sums(
        &self,
        (still, moving): (&Ciphertext, &Ciphertext),
        turned: Option<Estimate>,
    ) -> Estimate {
        let numbers = |x: &Ciphertext, by: &Gathered| x.estimate.clone().gathered(by);
        let mut other = numbers(moving, &self.factors[1]);
        if let Some(turned) = turned {
            other = other.with_noise_of_rows(turned, self.slots, (1, moving.layout().polynomials()));
        }
        // Places without a number have errors, too, and are added.
        let most = self.products.iter().map(|(_, pairs)| pairs.len() << self.folds.len()).max();
        let places = most.unwrap_or(self.terms).max(self.terms);
        let product = numbers(still, &self.factors[0]).multiply(other);
        let sums = product.sum(Along::Rows, (self.terms, places), self.slots);
        match self.squares {
            Some(squares) => squares.among(sums, still),
            None => sums,
        }
    }

    /// Bytes that the plan takes.
    pub(crate) fn bytes(&self) -> usize {
        let pairs: usize = self.products.iter().map(|(_, pairs)| pairs.len()).sum();
        (self.entries.len() + pairs) * size_of::<(usize, usize)>()
    }
}

/// The first slot of the terms of an entry, the distance between neighbours and their number, as a power of
/// two, and the pairs of polynomials that have terms; `None` where sums by rotations would have other terms.
fn summed(terms: &[(Place, Place)], still: &Places) -> Option<(usize, (usize, usize), Pairs)> {
    let mut pairs: Pairs = terms.iter().map(|(stays, moves)| (stays.0, moves.0)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut slots: Vec<usize> = terms.iter().map(|(stays, _)| stays.1).collect();
    slots.sort_unstable();
    slots.dedup();
    let &first = slots.first()?;
    let unit = slots.get(1).map_or(0, |second| second - first);
    if slots.iter().enumerate().any(|(place, &slot)| slot != first + place * unit) {
        return None;
    }
    let all = slots.len().next_power_of_two();
    if unit * all > still.period {
        return None;
    }
    let mut own: Vec<(usize, (usize, usize))> =
        terms.iter().map(|(stays, moves)| (stays.1, (stays.0, moves.0))).collect();
    own.sort_unstable();
    // No product is there twice, and none of others between them.
    if own.windows(2).any(|two| two[0] == two[1]) {
        return None;
    }
    if own.len() < all * pairs.len() {
        let is_own = |slot: usize, pair: (usize, usize)| own.binary_search(&(slot, pair)).is_ok();
        let strange =
            |&(slot, pair): &(usize, (usize, usize))| !is_own(slot, pair) && !still.is_zero(pair.0, slot);
        let places = (0..all).flat_map(|place| pairs.iter().map(move |&pair| (first + place * unit, pair)));
        if places.collect::<Vec<_>>().iter().any(strange) {
            return None;
        }
    }
    Some((first, (unit, all), pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of products by labels, as places: `i` and `j` of the result, within a stack of `b`, over `k`.
    fn terms(
        (stacks, rows, columns, inner): (usize, usize, usize, usize),
        left: impl Fn(usize, usize, usize) -> usize,
        right: impl Fn(usize, usize, usize) -> usize,
    ) -> (Vec<usize>, Vec<usize>) {
        let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
        for k in 0..inner {
            for b in 0..stacks {
                for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    of_left.push(left(b, i, k));
                    of_right.push(right(b, j, k));
                }
            }
        }
        (of_left, of_right)
    }

    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let number = |index: usize| {
            let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed) >> 40;
            (mixed % 201) as f64 - 100.0
        };
        (0..count).map(number).collect()
    }

    /// The slots of all polynomials.
    fn slots_of(layout: &Layout, numbers: &[f64], count: usize) -> Vec<Vec<f64>> {
        let mut all = vec![vec![0.0; layout.period()]; layout.polynomials()];
        for (polynomial, slots) in all.iter_mut().enumerate() {
            for (slot, entry) in layout.held(polynomial) {
                slots[slot..slot + layout.copies()].fill(numbers[entry]);
            }
        }
        let repeated = |slots: Vec<f64>| slots.iter().copied().cycle().take(count).collect();
        all.into_iter().map(repeated).collect()
    }

    /// What the plan computes, on plain slots.
    fn computed(plan: &InPlace, layouts: [&Layout; 2], arrays: [&[f64]; 2]) -> Vec<f64> {
        let [left, right] = [0, 1].map(|own| slots_of(layouts[own], arrays[own], plan.slots));
        let (still, moving) = if plan.is_left_rotated { (right, left) } else { (left, right) };
        let rotated = |slots: &[f64], by: usize| -> Vec<f64> {
            (0..slots.len()).map(|slot| slots[(slot + by) % slots.len()]).collect()
        };
        let product = |(apart, pairs): &(usize, Pairs)| {
            let mut sum = vec![0.0; plan.slots];
            for &(stays, moves) in pairs {
                let other = rotated(&moving[moves], *apart);
                sum.iter_mut().zip(still[stays].iter().zip(&other)).for_each(|(sum, (x, y))| *sum += x * y);
            }
            for &fold in &plan.folds {
                let turned = rotated(&sum, fold as usize);
                sum.iter_mut().zip(turned).for_each(|(sum, turned)| *sum += turned);
            }
            sum
        };
        let products: Vec<Vec<f64>> = plan.products.iter().map(product).collect();
        plan.entries.iter().map(|&(product, slot)| products[product][slot]).collect()
    }

    #[test]
    fn plans_compute_the_sums_or_refuse() {
        let degree = 128;
        let (mut plans, mut refused) = (0, 0);
        let sizes: [(usize, usize, usize, usize); 8] = [
            (1, 3, 5, 7),
            (1, 4, 4, 9),
            (1, 8, 2, 30),
            (1, 5, 6, 100),
            (2, 3, 3, 4),
            (3, 2, 4, 5),
            (1, 9, 9, 64),
            (2, 2, 2, 3),
        ];
        for (stacks, rows, columns, inner) in sizes {
            for (by_terms, share) in [(false, false), (false, true), (true, false), (true, true)] {
                let shape = |own: usize| if by_terms { [stacks * inner, own] } else { [stacks * own, inner] };
                let layout = |own: usize| {
                    let layout = Layout::new(&shape(own), Encoding::Slots, degree).expect("a shape");
                    let capacity = rows.max(columns).next_power_of_two();
                    let layout =
                        if by_terms { layout.with_capacity(capacity).expect("places") } else { layout };
                    match share && layout.chunks() == 1 {
                        true => layout
                            .of_columns(layout.capacity())
                            .with_lanes(None)
                            .expect("lanes")
                            .of_columns(shape(own)[1]),
                        false => layout,
                    }
                };
                let place = |own: usize| {
                    move |b: usize, i: usize, k: usize| match by_terms {
                        true => (b * inner + k) * own + i,
                        false => (b * own + i) * inner + k,
                    }
                };
                let (of_left, of_right) = terms((stacks, rows, columns, inner), place(rows), place(columns));
                let (left, right) = (layout(rows), layout(columns));
                let is_square = rows == columns;
                let x = numbers(left.rows() * left.columns(), 1);
                let y = if is_square { x.clone() } else { numbers(right.rows() * right.columns(), 2) };
                let given = Terms { left: &of_left, right: &of_right };
                let Some(plan) = InPlace::new((&left, &right, is_square), &[stacks * rows, columns], given)
                else {
                    refused += 1;
                    continue;
                };
                plans += 1;
                let entries = stacks * rows * columns;
                let mut expected = vec![0.0; entries];
                for (index, (&left, &right)) in of_left.iter().zip(&of_right).enumerate() {
                    expected[index % entries] += x[left] * y[right];
                }
                let case = (stacks, rows, columns, inner, by_terms, share);
                assert_eq!(computed(&plan, [&left, &right], [&x, &y]), expected, "{case:?}");
                let work = plan.work_of_products().then(plan.work_of_gather(|_| false));
                assert!(work.levels == 2, "{case:?}");
            }
        }
        // Rows of three terms have those of the next matrix behind them.
        assert!(plans >= 24 && refused >= 1, "{plans} plans, {refused} refused");
    }

    #[test]
    fn an_array_times_itself_takes_half_of_the_distances() {
        let layout = Layout::new(&[100, 8], Encoding::Slots, 2048).and_then(|own| own.with_lanes(None));
        let layout = layout.expect("a layout");
        let (left, right) = terms((1, 8, 8, 100), |_, i, k| k * 8 + i, |_, j, k| k * 8 + j);
        let products = |is_square: bool| {
            let terms = Terms { left: &left, right: &right };
            InPlace::new((&layout, &layout, is_square), &[8, 8], terms).expect("a plan").products.len()
        };
        assert_eq!([products(true), products(false)], [8, 15]);
    }

    #[test]
    fn numbers_without_zeros_behind_them_are_refused() {
        let layout = Layout::new(&[4, 3], Encoding::Slots, 64).expect("a layout");
        let (left, right) = terms((1, 4, 4, 3), |_, i, k| i * 3 + k, |_, j, k| j * 3 + k);
        let terms = Terms { left: &left, right: &right };
        let dirty = layout.with_padding(Padding::Dirty);
        assert!(InPlace::new((&layout, &layout, false), &[4, 4], terms).is_some());
        assert!(InPlace::new((&dirty, &dirty, false), &[4, 4], terms).is_none());
    }
}
