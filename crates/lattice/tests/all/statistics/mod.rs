//! Chi-square and normal tests with a stated false-alarm rate, for the sampling tests.
//!
//! Every test here raises a false alarm with probability about 10^-6 over random seeds. The seeds are fixed,
//! so a test that passes once always passes; the rate says how much a pass is worth, and what to expect on
//! changing a seed.

#![allow(dead_code, reason = "each test program uses its own part")]

/// Two-sided normal quantile of 10^-6.
pub const NORMAL_LIMIT: f64 = 4.891_638;
/// One-sided normal quantile of 10^-6.
const ONE_SIDED_LIMIT: f64 = 4.753_424;

/// Upper 10^-6 quantile of chi-square with `freedom` degrees, by Wilson and Hilferty.
///
/// Above the true quantile by 10 % at 2 degrees (rate 3 * 10^-7), 3 % at 8, 0.4 % at 48, less beyond.
pub fn chi_square_limit(freedom: usize) -> f64 {
    let part = 2.0 / (9.0 * freedom as f64);
    freedom as f64 * (1.0 - part + ONE_SIDED_LIMIT * part.sqrt()).powi(3)
}

/// Lower 10^-6 quantile: counts that fit too well are no better.
pub fn chi_square_floor(freedom: usize) -> f64 {
    let part = 2.0 / (9.0 * freedom as f64);
    freedom as f64 * (1.0 - part - ONE_SIDED_LIMIT * part.sqrt()).max(0.0).powi(3)
}

/// `sum (observed - expected)^2 / expected`; asserts that every cell expects at least 5.
pub fn chi_square(observed: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(observed.len(), expected.len());
    observed
        .iter()
        .zip(expected)
        .map(|(&seen, &wanted)| {
            assert!(wanted >= 5.0, "a cell expects only {wanted}");
            (seen as f64 - wanted).powi(2) / wanted
        })
        .sum()
}

/// Asserts that the cells fit their expectations, neither too badly nor too well (2 * 10^-6).
pub fn assert_fits(what: &str, observed: &[u64], expected: &[f64]) {
    let (statistic, freedom) = (chi_square(observed, expected), observed.len() - 1);
    let (floor, limit) = (chi_square_floor(freedom), chi_square_limit(freedom));
    assert!(
        (floor..limit).contains(&statistic),
        "{what}: chi-square {statistic:.1} outside {floor:.1} .. {limit:.1}, {freedom} degrees"
    );
}

/// Asserts that the cells are equally likely (2 * 10^-6).
pub fn assert_uniform(what: &str, observed: &[u64]) {
    let expected = observed.iter().sum::<u64>() as f64 / observed.len() as f64;
    assert_fits(what, observed, &vec![expected; observed.len()]);
}

/// Asserts that the pairs (`left[i]`, `right[i]`) are uniform on `cells` x `cells`.
pub fn assert_pairs_uniform(what: &str, cells: usize, pairs: impl Iterator<Item = (usize, usize)>) {
    let mut counts = vec![0u64; cells * cells];
    for (left, right) in pairs {
        counts[left * cells + right] += 1;
    }
    assert_uniform(what, &counts);
}

/// Asserts that `value` is within the two-sided 10^-6 band of a normal variable.
pub fn assert_normal(what: &str, value: f64, mean: f64, deviation: f64) {
    let score = (value - mean) / deviation;
    assert!(score.abs() < NORMAL_LIMIT, "{what}: {value} is {score:.2} standard deviations from {mean}");
}
