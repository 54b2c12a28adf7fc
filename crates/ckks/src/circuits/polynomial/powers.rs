//! The computed powers (or Chebyshev polynomials), their factors and their depths.
//!
//! ```text
//! y^i = y^a y^b            T_i = 2 T_a T_b - T_{a-b},        i = a + b, a >= b
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::PolynomialBasis;

/// Products on the longest path from `y` to `y^index`: `ceil(log2 index)`.
pub(super) fn depth_of(index: usize) -> usize {
    (usize::BITS - (index.max(1) - 1).leading_zeros()) as usize
}

/// Levels of a polynomial of this degree: `ceil(log2 (degree + 1))`.
pub(super) fn levels_of(degree: usize) -> usize {
    (usize::BITS - degree.leading_zeros()) as usize
}

/// The two factors of each computed power, the larger first, by its index. `y` itself, index 1, is given.
pub(super) type Chain = BTreeMap<usize, (usize, usize)>;

/// The powers from which a power with these factors is computed: the factors, and in the Chebyshev basis the
/// subtracted term.
pub(super) fn operands(factors: (usize, usize), basis: PolynomialBasis) -> impl Iterator<Item = usize> {
    let (a, b) = factors;
    let subtracted = (basis == PolynomialBasis::Chebyshev && a > b).then(|| a - b);
    [Some(a), (a != b).then_some(b), subtracted].into_iter().flatten()
}

/// A chain that computes all of `wanted`, each at its minimal depth, with few other powers.
pub(super) fn chain_for(wanted: &[usize], basis: PolynomialBasis) -> Chain {
    let mut open: BTreeSet<usize> = wanted.iter().copied().collect();
    let mut chain = Chain::new();
    // Factors have smaller indices than their product, so each power is handled once in descending order.
    while let Some(index) = open.pop_last() {
        if index <= 1 {
            continue;
        }
        let deepest = 1 << (depth_of(index) - 1);
        let missing =
            |&a: &usize| operands((a, index - a), basis).filter(|&i| i > 1 && !open.contains(&i)).count();
        let a = (index.div_ceil(2)..=deepest.min(index - 1)).min_by_key(missing).unwrap_or(index - 1);
        open.extend(operands((a, index - a), basis));
        chain.insert(index, (a, index - a));
    }
    chain
}

/// The part of `chain` that the powers in `used` need.
pub(super) fn pruned(chain: &Chain, used: impl IntoIterator<Item = usize>, basis: PolynomialBasis) -> Chain {
    let mut open: BTreeSet<usize> = used.into_iter().collect();
    let mut kept = Chain::new();
    while let Some(index) = open.pop_last() {
        if let Some(&factors) = chain.get(&index) {
            open.extend(operands(factors, basis));
            kept.insert(index, factors);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_logarithms_rounded_up() {
        let by_loops = |target: usize| (0..).find(|&d| 1usize << d >= target).expect("found");
        for i in 1..300 {
            assert_eq!(depth_of(i), by_loops(i), "power {i}");
            assert_eq!(levels_of(i), by_loops(i + 1), "degree {i}");
        }
        assert_eq!((depth_of(1), levels_of(0), levels_of(1)), (0, 0, 1));
    }

    #[test]
    fn chains_reach_every_power_at_its_least_depth() {
        for basis in [PolynomialBasis::Power, PolynomialBasis::Chebyshev] {
            for wanted in [
                vec![1],
                vec![2],
                vec![7],
                vec![1, 3, 5, 7, 8, 16],
                vec![31],
                vec![5, 23, 100],
                (1..40).collect(),
            ] {
                let chain = chain_for(&wanted, basis);
                let mut depths = BTreeMap::from([(1, 0)]);
                for (&index, &(a, b)) in &chain {
                    assert_eq!(a + b, index);
                    let depth = operands((a, b), basis).map(|i| depths[&i]).max().expect("operands") + 1;
                    depths.insert(index, depth);
                    assert_eq!(depth, depth_of(index), "{basis:?} {index}");
                }
                assert!(wanted.iter().all(|i| depths.contains_key(i)));
            }
        }
        // An odd power needs few other powers.
        assert_eq!(chain_for(&[1, 3, 5, 7, 8], PolynomialBasis::Chebyshev).len(), 6);
        assert_eq!(chain_for(&(1..=9).collect::<Vec<_>>(), PolynomialBasis::Power).len(), 8);
    }

    #[test]
    fn pruning_keeps_what_is_used_and_what_it_rests_on() {
        let chain = chain_for(&(1..=8).collect::<Vec<_>>(), PolynomialBasis::Power);
        assert_eq!(
            pruned(&chain, [8], PolynomialBasis::Power).keys().copied().collect::<Vec<_>>(),
            [2, 4, 8]
        );
        assert!(pruned(&chain, [1], PolynomialBasis::Power).is_empty());
    }
}
