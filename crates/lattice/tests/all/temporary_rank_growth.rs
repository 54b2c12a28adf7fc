//! How unit operations of a product grow with the rank `r` and the primes `l`: polynomials fitted to counts
//! have the leading terms of [dpad-he, Table 2].

use std::collections::BTreeSet;

use crate::common::rng;
use crate::common::temporary_rank::*;
use clathrate_arith::Counts;

const DEGREE: usize = 32;
/// Digits of the first stage: `K = l / 2`, and the largest temporary rank, `r^ = 2 r`.
const MU: usize = 2;

/// Transforms and Hadamard products of tensor and relinearisation at the top level: plain and through a
/// temporary rank.
fn counts(rank: usize, primes: usize) -> [[f64; 2]; 2] {
    let (chain, engine) = Primes::equal(DEGREE, primes, 1, primes / MU - 1, 0).counting_chain();
    let (sides, rng) = (Sides::new(&chain, None, 1), &mut rng(41));
    let (secrets, top) = (Secrets::new(&chain, rank, 2 * rank, rng), chain.max_level());
    let (up, down, plain) =
        (secrets.up(&sides, top, rng), secrets.down(&sides, top, rng), secrets.plain(&sides, top, rng));
    let (wide, base) = sides.plans(top, top);
    assert_eq!((wide.digit_count(), base.digit_count()), (MU, primes));
    let [x, y] = secrets.pair(&sides, top, rng);
    let taken = |counts: Counts| {
        [counts.ntt() as f64, (counts.hadamard + counts.conversion + counts.division) as f64]
    };
    engine.take();
    x.tensor(&y).expect("tensor").relinearise(&sides.base, &plain).expect("relinearised");
    let single = taken(engine.take());
    x.tensor(&y).expect("tensor").cross_relinearise(sides.crossing(&down), &up).expect("relinearised");
    [single, taken(engine.take())]
}

/// A term `r^a l^b`: its powers and its coefficient.
type Term = ((usize, usize), f64);

/// Coefficients, lowest first, of the polynomial with these values at these points (Lagrange).
fn fit(points: &[f64], values: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; points.len()];
    for (i, (&x, &value)) in points.iter().zip(values).enumerate() {
        let mut basis = vec![1.0];
        for &other in points.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, other)| other) {
            // Times (X - other) / (x - other).
            let shifted = [0.0].iter().chain(&basis).copied().collect::<Vec<f64>>();
            basis.push(0.0);
            basis.iter_mut().zip(shifted).for_each(|(low, high)| *low = (high - other * *low) / (x - other));
        }
        sum.iter_mut().zip(basis).for_each(|(sum, b)| *sum += value * b);
    }
    sum
}

/// Powers `(a, b)` of the terms `r^a l^b` of the polynomial through the values, by rank and then primes.
fn terms(ranks: &[usize], primes: &[usize], values: &[Vec<f64>]) -> Vec<Term> {
    let floats = |points: &[usize]| points.iter().map(|&point| point as f64).collect::<Vec<_>>();
    let by_primes: Vec<Vec<f64>> = values.iter().map(|row| fit(&floats(primes), row)).collect();
    let mut terms = Vec::new();
    for b in 0..primes.len() {
        let column: Vec<f64> = by_primes.iter().map(|row| row[b]).collect();
        let found = fit(&floats(ranks), &column)
            .into_iter()
            .enumerate()
            .map(|(a, coefficient)| ((a, b), coefficient));
        terms.extend(found.filter(|(_, coefficient)| coefficient.abs() > 1e-6));
    }
    terms
}

#[test]
fn counts_over_rank_and_primes_grow_by_the_leading_terms_of_the_table() {
    let (ranks, primes) = ([1, 2, 3, 4, 5], [4, 6, 8, 10]);
    let table: Vec<Vec<[[f64; 2]; 2]>> =
        ranks.iter().map(|&rank| primes.iter().map(|&l| counts(rank, l)).collect()).collect();
    // In transforms or rows of degree n; the table's N is r n.
    let leading: [[&[(usize, usize)]; 2]; 2] = [
        // ModHE: O(r l^2 N log n), O(r^2 l^2 N).
        [&[(2, 2)], &[(3, 2)]],
        // DPad-HE: O((r + l) l N log n), O((r l^2 + r^2 l) N).
        [&[(2, 1), (1, 2)], &[(2, 2), (3, 1)]],
    ];
    let mut fitted: [Vec<Vec<Term>>; 2] = Default::default();
    for way in 0..2 {
        for operation in 0..2 {
            let values: Vec<Vec<f64>> =
                table.iter().map(|row| row.iter().map(|counts| counts[way][operation]).collect()).collect();
            let terms = terms(&ranks, &primes, &values);
            let powers: BTreeSet<(usize, usize)> = terms.iter().map(|&(power, _)| power).collect();
            // The points are more than the powers: fifth values of a rank, fourth of primes.
            assert!(powers.iter().all(|&(a, b)| a <= 3 && b <= 2), "{way}, {operation}: {terms:?}");
            let expected = leading[way][operation];
            for power in expected {
                let coefficient =
                    terms.iter().find(|(found, _)| found == power).map(|&(_, coefficient)| coefficient);
                assert!(
                    coefficient.is_some_and(|coefficient| coefficient > 0.0),
                    "{way}, {operation}: {power:?} in {terms:?}"
                );
            }
            for (a, b) in powers {
                assert!(
                    expected.iter().any(|&(up, to)| a <= up && b <= to),
                    "{way}, {operation}: r^{a} l^{b} in {terms:?}"
                );
            }
            // RNS-CKKS is rank 1: O(l^2 N log N) and O(l^2 N).
            if way == 0 {
                let row: Vec<f64> = values[0].clone();
                let one = fit(&primes.map(|l| l as f64), &row);
                assert!(one[2] > 0.0 && one[3].abs() < 1e-6, "{one:?}");
            }
            fitted[way].push(terms);
        }
    }
    // What that means at the paper's largest set, r = 8 and l = 42 (there r^ is 10, here 16): fewer of both;
    // at r = 5 and l = 10, fewer transforms alone.
    let at = |terms: &[Term], r: f64, l: f64| -> f64 {
        terms.iter().map(|&((a, b), coefficient)| coefficient * r.powi(a as i32) * l.powi(b as i32)).sum()
    };
    let ratio = |operation: usize, r, l| at(&fitted[0][operation], r, l) / at(&fitted[1][operation], r, l);
    assert!(
        ratio(0, 8.0, 42.0) > 3.2 && ratio(1, 8.0, 42.0) > 2.0,
        "{} and {}",
        ratio(0, 8.0, 42.0),
        ratio(1, 8.0, 42.0)
    );
    assert!(
        ratio(0, 5.0, 10.0) > 1.0 && ratio(1, 5.0, 10.0) < 1.0,
        "{} and {}",
        ratio(0, 5.0, 10.0),
        ratio(1, 5.0, 10.0)
    );
}

#[test]
fn fits_find_the_polynomial_that_they_are_given() {
    let points = [1.0, 2.0, 4.0, 5.0];
    let values = points.map(|x: f64| 3.0 - x + 2.0 * x * x);
    let fitted = fit(&points, &values);
    assert!(
        fitted.iter().zip([3.0, -1.0, 2.0, 0.0]).all(|(found, expected)| (found - expected).abs() < 1e-9),
        "{fitted:?}"
    );
}
