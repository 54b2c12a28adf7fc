//! Paterson-Stockmeyer with several giant steps per relinearisation: splits a polynomial into parts that a
//! circuit evaluates.
//!
//! A part is a linear combination of computed powers, plus products of smaller parts and computed powers,
//!
//! ```text
//! p = sum_g q_g B_g + sum_i c_i B_i,
//! ```
//!
//! added at one scale before one relinearisation and one rescale. A textbook split has one product per sum
//! (`p = q B_g + r`), with a relinearisation each; here remainders are terms of the same sum. If few levels
//! are left, a leading part is split further, so that `ceil(log2 (degree + 1))` levels always suffice.
//!
//! A search chooses the powers of the baby and giant steps by their cost, which is mainly the number of
//! relinearisations, then of products.

use std::collections::{BTreeSet, HashMap};

use rustfft::num_complex::Complex64;

use super::powers::{Chain, chain_for, depth_of, levels_of, pruned};
use super::{PolynomialBasis, ZERO, bound_on_interval};

/// Relative costs of a relinearisation with its rescale, of a product before it, and of a separate rescale.
const RELINEARISATION_COST: u64 = 20;
const PRODUCT_COST: u64 = 2;
const RESCALE_COST: u64 = 3;

/// Number of the cheapest sets of powers that are evaluated completely.
const FINALISTS: usize = 12;

/// A part: `sum of parts times powers + sum of coefficients times powers + constant`, of depth at most
/// `budget`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// (part, power) of each product.
    pub products: Vec<(usize, usize)>,
    /// (power, coefficient) of each term.
    pub linear: Vec<(usize, Complex64)>,
    pub constant: Complex64,
    /// Degree of the polynomial that the part represents.
    pub degree: usize,
    /// Maximum number of levels of the part.
    pub budget: usize,
    /// A bound on the part's value on the interval.
    pub magnitude: f64,
}

/// A polynomial split into parts: the powers to compute, and the parts, each after the parts that it uses;
/// the last part is the complete polynomial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Split {
    pub chain: Chain,
    pub parts: Vec<Part>,
}

impl Split {
    /// Relinearisations: one per power and one per part with products.
    pub(super) fn relinearisations(&self) -> usize {
        self.chain.len() + self.parts.iter().filter(|part| !part.products.is_empty()).count()
    }

    /// Products of ciphertexts.
    pub(super) fn products(&self) -> usize {
        self.chain.len() + self.parts.iter().map(|part| part.products.len()).sum::<usize>()
    }

    fn cost(&self) -> u64 {
        RELINEARISATION_COST * self.relinearisations() as u64
            + PRODUCT_COST * self.products() as u64
            + RESCALE_COST * self.parts.iter().filter(|part| part.products.is_empty()).count() as u64
    }
}

/// Splits a polynomial of degree 1 or more with a nonzero leading coefficient.
pub(super) fn split(coefficients: &[Complex64], basis: PolynomialBasis) -> Split {
    let degree = coefficients.len() - 1;
    let odd = coefficients.iter().step_by(2).all(|&c| c == ZERO);
    let mut ranked: Vec<(u64, bool, Vec<usize>)> = Vec::new();
    // An odd polynomial is split in two ways: into odd parts, or like any other polynomial, where its zero
    // terms are omitted.
    for odd in if odd { vec![true, false] } else { vec![false] } {
        for powers in candidates(degree, odd) {
            let Some(parts) = Search::new(&powers, odd).cost(degree, levels_of(degree)) else { continue };
            let each = RELINEARISATION_COST + PRODUCT_COST;
            ranked.push((parts + each * chain_for(&powers, basis).len() as u64, odd, powers));
        }
    }
    ranked.sort();
    let finalists = [false, true]
        .into_iter()
        .flat_map(|odd| ranked.iter().filter(move |set| set.1 == odd).take(FINALISTS));
    let carried = finalists.map(|(_, odd, powers)| carry_through(coefficients, basis, powers, *odd));
    // The candidates include powers of two, which suffice for any polynomial.
    carried
        .min_by_key(Split::cost)
        .unwrap_or_else(|| carry_through(coefficients, basis, &powers_of_two(degree), odd))
}

fn powers_of_two(limit: usize) -> Vec<usize> {
    (0..).map(|k| 1 << k).take_while(|&power| power <= limit).collect()
}

/// Candidate sets of powers: baby steps below some `m`, and giant steps `m, 2m, ..., (r-1) m, r m, 2 r m,
/// ...` for different radices `r`.
fn candidates(degree: usize, odd: bool) -> BTreeSet<Vec<usize>> {
    let mut found = BTreeSet::new();
    let root = degree.isqrt();
    for m in (root / 4).max(1)..=(2 * root + 4).min(degree + 1) {
        if odd && m % 2 == 1 {
            continue;
        }
        let babies: BTreeSet<usize> = (1..m).step_by(if odd { 2 } else { 1 }).chain([1]).collect();
        grow(&babies, m, degree, &mut found);
    }
    // Powers of two are added, because parts with small budgets are split at them.
    let twos: Vec<Vec<usize>> =
        found.iter().map(|set| set.iter().copied().chain(powers_of_two(degree)).collect()).collect();
    for set in twos {
        found.insert(BTreeSet::from_iter(set).into_iter().collect());
    }
    found
}

/// Maximum radix.
const MAX_RADIX: usize = 8;

fn grow(set: &BTreeSet<usize>, step: usize, degree: usize, found: &mut BTreeSet<Vec<usize>>) {
    if step > degree {
        found.insert(set.iter().copied().collect());
        return;
    }
    for radix in 2..=MAX_RADIX {
        // A radix that is too large for the degree gives the same set as the previous one.
        if radix > 2 && step * (radix - 1) > degree {
            break;
        }
        let mut set = set.clone();
        set.extend((1..radix).map(|j| j * step).filter(|&giant| giant <= degree));
        grow(&set, step * radix, degree, found);
    }
}

/// How a part is split: for each product, in descending order, its power and the last degree of its range.
type Cuts = Vec<(usize, usize)>;

/// Search for the minimal cost with given powers, for dense polynomials or polynomials with all odd terms.
struct Search<'p> {
    powers: &'p [usize],
    odd: bool,
    known: HashMap<(usize, usize), Option<(u64, Cuts)>>,
}

impl<'p> Search<'p> {
    fn new(powers: &'p [usize], odd: bool) -> Self {
        Self { powers, odd, known: HashMap::new() }
    }

    /// Powers that a part with this budget can use.
    fn usable(&self, budget: usize) -> &'p [usize] {
        &self.powers[..self.powers.partition_point(|&power| depth_of(power) < budget)]
    }

    fn cost(&mut self, degree: usize, budget: usize) -> Option<u64> {
        self.best(degree, budget).map(|(cost, _)| cost)
    }

    fn best(&mut self, degree: usize, budget: usize) -> Option<(u64, Cuts)> {
        if levels_of(degree) > budget {
            return None;
        }
        if let Some(known) = self.known.get(&(degree, budget)) {
            return known.clone();
        }
        let mut covers = HashMap::new();
        let best = self.cover(degree, budget, &mut covers).map(|(cost, cuts)| {
            (cost + if cuts.is_empty() { RESCALE_COST } else { RELINEARISATION_COST }, cuts)
        });
        self.known.insert((degree, budget), best.clone());
        best
    }

    /// Minimal cost of the terms up to `end` inside a part.
    fn cover(
        &mut self,
        end: usize,
        budget: usize,
        covers: &mut HashMap<usize, Option<(u64, Cuts)>>,
    ) -> Option<(u64, Cuts)> {
        if end == 0 {
            return Some((0, Cuts::new()));
        }
        if let Some(known) = covers.get(&end) {
            return known.clone();
        }
        let (usable, odd) = (self.usable(budget), self.odd);
        let mut best: Option<(u64, Cuts)> = None;
        if usable.binary_search(&end).is_ok() {
            best = self.cover(end.saturating_sub(if odd { 2 } else { 1 }), budget, covers);
        }
        // A range ends at no more than twice its giant step, so that the subtracted terms of the Chebyshev
        // rule are below the giant step.
        for &giant in
            usable.iter().filter(|&&giant| giant < end && end <= 2 * giant && !(odd && giant % 2 == 1))
        {
            let Some(part) = self.cost(end - giant, budget - 1) else { continue };
            let Some((rest, cuts)) = self.cover(giant - 1, budget, covers) else { continue };
            let cost = PRODUCT_COST + part + rest;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, [(giant, end)].into_iter().chain(cuts).collect()));
            }
        }
        covers.insert(end, best.clone());
        best
    }
}

/// The split of these coefficients with these powers; unused powers are omitted.
fn carry_through(coefficients: &[Complex64], basis: PolynomialBasis, powers: &[usize], odd: bool) -> Split {
    let mut cutter = Cutter { search: Search::new(powers, odd), basis, parts: Vec::new() };
    cutter.part(coefficients.to_vec(), levels_of(coefficients.len() - 1));
    let parts = cutter.parts;
    let used = parts.iter().flat_map(|part| {
        part.linear.iter().map(|term| term.0).chain(part.products.iter().map(|product| product.1))
    });
    Split { chain: pruned(&chain_for(powers, basis), used, basis), parts }
}

struct Cutter<'p> {
    search: Search<'p>,
    basis: PolynomialBasis,
    parts: Vec<Part>,
}

impl Cutter<'_> {
    /// Adds the part of these coefficients after the parts that it uses, and returns its index.
    fn part(&mut self, mut coefficients: Vec<Complex64>, budget: usize) -> usize {
        let degree = coefficients.iter().rposition(|&c| c != ZERO).unwrap_or(0);
        let magnitude = bound_on_interval(&coefficients[..=degree], self.basis);
        let (mut products, mut linear) = (Vec::new(), Vec::new());
        let usable = self.search.usable(budget);
        let scattered = |coefficients: &[Complex64]| {
            (1..=degree).any(|i| coefficients[i] != ZERO && usable.binary_search(&i).is_err())
        };
        if scattered(&coefficients) {
            let cuts = self.search.best(degree, budget).map(|(_, cuts)| cuts).unwrap_or_default();
            for (giant, end) in cuts {
                let quotient = divide(&mut coefficients, giant, end, self.basis);
                if quotient[1..].iter().all(|&c| c == ZERO) {
                    coefficients[giant] = quotient[0];
                } else {
                    products.push((self.part(quotient, budget - 1), giant));
                }
            }
        }
        linear.extend(coefficients.iter().copied().enumerate().skip(1).filter(|&(_, c)| c != ZERO));
        debug_assert!(
            linear.iter().all(|(power, _)| usable.binary_search(power).is_ok()),
            "every term has its power"
        );
        self.parts.push(Part { products, linear, constant: coefficients[0], degree, budget, magnitude });
        self.parts.len() - 1
    }
}

/// Removes the terms `giant..=end` from `coefficients` and returns the quotient `q` with `sum c_i B_i = q
/// B_giant + remainder`.
///
/// In the Chebyshev basis `T_{g+i} = 2 T_i T_g - T_{g-i}`: the subtracted terms, all below `giant`, are added
/// to the remainder.
fn divide(
    coefficients: &mut [Complex64],
    giant: usize,
    end: usize,
    basis: PolynomialBasis,
) -> Vec<Complex64> {
    let mut quotient = vec![ZERO; end - giant + 1];
    for i in 0..quotient.len() {
        let c = std::mem::take(&mut coefficients[giant + i]);
        quotient[i] = c;
        if basis == PolynomialBasis::Chebyshev && i > 0 {
            quotient[i] = c * 2.0;
            coefficients[giant - i] -= c;
        }
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuits::polynomial::{Polynomial, UNIT_DOMAIN};

    const BASES: [PolynomialBasis; 2] = [PolynomialBasis::Power, PolynomialBasis::Chebyshev];

    fn coefficients(degree: usize, seed: usize) -> Vec<Complex64> {
        let number = |i: usize| ((i * 7919 + seed * 104_729 + 13) % 1009) as f64 / 504.5 - 1.0;
        // Every other seed gives complex coefficients.
        (0..=degree)
            .map(|i| {
                Complex64::new(
                    number(i),
                    if seed.is_multiple_of(2) { number(i + 3 * degree + 1) } else { 0.0 },
                )
            })
            .collect()
    }

    /// The split evaluated on plain numbers, part by part.
    fn value(split: &Split, basis: PolynomialBasis, y: f64) -> Complex64 {
        let power = |i: usize| match basis {
            PolynomialBasis::Power => y.powi(i as i32),
            PolynomialBasis::Chebyshev => (i as f64 * y.acos()).cos(),
        };
        let mut values: Vec<Complex64> = Vec::new();
        for part in &split.parts {
            let products: Complex64 = part.products.iter().map(|&(q, g)| values[q] * power(g)).sum();
            let linear: Complex64 = part.linear.iter().map(|&(i, c)| c * power(i)).sum();
            values.push(products + linear + part.constant);
        }
        values[values.len() - 1]
    }

    fn check(coefficients: &[Complex64], basis: PolynomialBasis) -> Split {
        let split = split(coefficients, basis);
        let whole = Polynomial::new_complex(coefficients, basis, UNIT_DOMAIN).expect("polynomial");
        for y in [-1.0, -0.77, -0.1, 0.0, 0.3, 0.98, 1.0] {
            let (got, expected) = (value(&split, basis, y), whole.evaluate(y));
            assert!(
                (got - expected).norm() < 1e-9,
                "{basis:?} degree {}: {got} {expected}",
                coefficients.len() - 1
            );
        }
        let budget = |part: &Part| part.budget;
        assert_eq!(split.parts.last().map(budget), Some(levels_of(coefficients.len() - 1)));
        for part in &split.parts {
            let powers =
                part.linear.iter().map(|term| term.0).chain(part.products.iter().map(|product| product.1));
            for power in powers {
                assert!(depth_of(power) < part.budget, "power {power} in a part of {} levels", part.budget);
                assert!(power == 1 || split.chain.contains_key(&power));
            }
            assert!(part.products.iter().all(|&(quotient, _)| split.parts[quotient].budget < part.budget));
        }
        split
    }

    #[test]
    fn splits_are_the_polynomial_within_its_levels_at_every_degree() {
        for basis in BASES {
            for degree in (1..=72).chain([100, 127, 128, 200]) {
                check(&coefficients(degree, degree), basis);
            }
        }
    }

    #[test]
    fn odd_and_sparse_polynomials_take_fewer_products() {
        for basis in BASES {
            for degree in [3, 5, 7, 15, 21, 31, 63] {
                let mut odd = coefficients(degree, 5);
                odd.iter_mut().step_by(2).for_each(|c| *c = ZERO);
                let (odd, dense) = (check(&odd, basis), check(&coefficients(degree, 5), basis));
                assert!(odd.cost() <= dense.cost(), "{basis:?} {degree}: {} {}", odd.cost(), dense.cost());
            }
            let mut sparse = vec![ZERO; 65];
            (sparse[1], sparse[64]) = (0.5.into(), 0.25.into());
            assert!(check(&sparse, basis).relinearisations() <= 12, "{basis:?}");
        }
    }

    /// Degree, relinearisations, products of dense polynomials.
    const COUNTS: [(usize, usize, usize); 10] = [
        (2, 1, 1),
        (3, 2, 2),
        (7, 4, 5),
        (8, 4, 4),
        (15, 7, 8),
        (16, 6, 8),
        (31, 10, 13),
        (32, 8, 13),
        (63, 13, 23),
        (127, 18, 28),
    ];

    #[test]
    fn counts_stay_where_they_are() {
        for (degree, relinearisations, products) in COUNTS {
            for basis in BASES {
                let split = check(&coefficients(degree, 3), basis);
                assert_eq!(
                    (split.relinearisations(), split.products()),
                    (relinearisations, products),
                    "{basis:?} {degree}"
                );
            }
        }
    }
}
