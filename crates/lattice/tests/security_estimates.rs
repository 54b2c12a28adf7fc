//! The security tables from outside: exact at their entries, never above them between, close to the papers' sets.

use clathrate_lattice::sampling::SecretDistribution::{FixedWeight, UniformTernary};
use clathrate_lattice::security::{estimated_bits, max_log2_qp};

const DIMENSIONS: [usize; 12] = [1024, 2048, 4096, 8192, 16384, 24576, 32768, 40960, 49152, 57344, 65536, 131_072];
const BUDGETS_128: [f64; 12] = [26., 53., 106., 214., 430., 648., 868., 1087., 1307., 1528., 1746., 3523.];
const BUDGETS_192: [f64; 11] = [36., 73., 147., 297., 447., 596., 747., 897., 1048., 1199., 2411.];
const BUDGETS_256: [f64; 11] = [27., 56., 114., 230., 346., 462., 579., 696., 812., 929., 1866.];

/// The papers' sets: (dimension, log2(QP), bits by a run of the estimator at that very point).
const PAPER_SETS: [(usize, f64, f64); 14] = [
    (16384, 440., 125.2),
    (24576, 640., 129.9),
    (32768, 880., 126.1),
    (40960, 1120., 124.2),
    (49152, 1320., 126.7),
    (57344, 1520., 128.6),
    (65536, 1760., 127.1),
    (24576, 660., 125.7),
    (49152, 1210., 138.9),
    (2048, 54., 126.3),
    (2048, 58., 117.1),
    (4096, 109., 125.1),
    (4096, 116., 117.2),
    // Weight one third of the dimension, so a little below what uniform ternary has.
    (8192, 152., 185.0),
];

fn entries() -> impl Iterator<Item = (usize, u32, f64)> {
    let column = |bits: u32, from: usize, budgets: &'static [f64]| DIMENSIONS[from..].iter().zip(budgets).map(move |(&d, &l)| (d, bits, l));
    column(128, 0, &BUDGETS_128).chain(column(192, 1, &BUDGETS_192)).chain(column(256, 1, &BUDGETS_256))
}

#[test]
fn dense_estimate_at_each_entry_is_the_entry() {
    assert_eq!(entries().count(), 34);
    for (dimension, bits, budget) in entries() {
        assert_eq!(estimated_bits(dimension, budget, UniformTernary), f64::from(bits), "{dimension} at {budget}");
        assert!(estimated_bits(dimension, budget + 1.0, UniformTernary) < f64::from(bits), "{dimension} at {}", budget + 1.0);
        assert_eq!(max_log2_qp(dimension, bits, UniformTernary), Some(budget), "{dimension} for {bits} bits");
    }
}

#[test]
fn dense_estimate_of_the_papers_sets_is_not_above_theirs() {
    for (dimension, log2_qp, listed) in PAPER_SETS {
        let ours = estimated_bits(dimension, log2_qp, UniformTernary);
        assert!(ours <= listed + 0.1, "{dimension} at {log2_qp}: {ours} > {listed}");
        assert!(ours >= listed - 5.0, "{dimension} at {log2_qp}: {ours} far below {listed}");
        if (listed - 128.0).abs() < 3.0 {
            assert!(ours >= listed - 1.5, "{dimension} at {log2_qp}: {ours} below {listed}");
        }
        // Which side of 128 a set lies on is what decides its family of presets.
        assert_eq!(ours >= 128.0, listed >= 128.0, "{dimension} at {log2_qp}");
    }
}

#[test]
fn dense_estimate_between_dimensions_stays_below_the_chord_and_grows() {
    for pair in DIMENSIONS.windows(2) {
        let mut previous = 0.0;
        for step in 0..=16 {
            let dimension = pair[0] + (pair[1] - pair[0]) * step / 16;
            let budget = max_log2_qp(dimension, 128, UniformTernary).expect("tabulated range");
            let ends = pair.iter().map(|&d| max_log2_qp(d, 128, UniformTernary).expect("entry")).collect::<Vec<_>>();
            let chord = ends[0] + (ends[1] - ends[0]) * step as f64 / 16.0;
            assert!(budget <= chord, "{dimension}: {budget} above {chord}");
            assert!(budget >= previous && budget >= ends[0] - 1.0, "{dimension}: {budget}");
            previous = budget;
        }
    }
}

#[test]
fn dense_estimate_falls_as_the_modulus_grows() {
    for dimension in [1024, 1500, 2048, 8192, 12288, 20480, 65536, 131_072, 1 << 20] {
        let mut previous = f64::INFINITY;
        for half_bits in 2..9000 {
            let bits = estimated_bits(dimension, f64::from(half_bits) / 2.0, UniformTernary);
            assert!(bits <= previous && (0.0..=256.0).contains(&bits), "{dimension} at {}", f64::from(half_bits) / 2.0);
            previous = bits;
        }
        assert!(previous < 129.0 || dimension >= 131_072);
    }
}

#[test]
fn dense_estimate_outside_the_table_claims_nothing_more() {
    assert_eq!(estimated_bits(1023, 1.0, UniformTernary), 0.0);
    assert_eq!(estimated_bits(0, 1.0, UniformTernary), 0.0);
    assert_eq!(max_log2_qp(1023, 1, UniformTernary), None);
    assert_eq!(estimated_bits(1 << 20, 3523.0, UniformTernary), 128.0);
    assert_eq!(max_log2_qp(usize::MAX, 128, UniformTernary), Some(3523.0));
    // No column above the last: a small modulus earns its bits and no more.
    assert_eq!(estimated_bits(65536, 1.0, UniformTernary), 256.0);
    assert_eq!(estimated_bits(1024, 1.0, UniformTernary), 128.0);
    assert_eq!(max_log2_qp(1024, 192, UniformTernary), None);
    assert_eq!(max_log2_qp(65536, 257, UniformTernary), None);
    for log2_qp in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(estimated_bits(65536, log2_qp, UniformTernary), 0.0);
    }
}

#[test]
fn budget_is_the_largest_that_keeps_its_bits() {
    for distribution in [UniformTernary, FixedWeight(32), FixedWeight(192), FixedWeight(256), FixedWeight(6000)] {
        for dimension in [1024, 2048, 3000, 8192, 24576, 32768, 50000, 65536, 131_072] {
            for bits in [1, 80, 100, 127, 128, 129, 130, 150, 173, 192, 220, 256] {
                let Some(budget) = max_log2_qp(dimension, bits, distribution) else {
                    assert!(estimated_bits(dimension, 1.0, distribution) < f64::from(bits), "{dimension} {distribution:?} {bits}");
                    continue;
                };
                let wanted = f64::from(bits);
                assert!(estimated_bits(dimension, budget, distribution) >= wanted, "{dimension} {distribution:?} {bits}: {budget}");
                assert!(estimated_bits(dimension, budget + 1.0, distribution) < wanted, "{dimension} {distribution:?} {bits}: {budget}");
            }
        }
    }
}

#[test]
fn sparse_estimate_at_each_entry_is_the_entry() {
    let entries = [
        (65536, 192, 1555., 133.8),
        (65536, 192, 1600., 130.6),
        (65536, 192, 1640., 127.9),
        (65536, 256, 1640., 130.9),
        (32768, 192, 790., 130.8),
        (32768, 192, 820., 126.6),
        (32768, 256, 820., 129.9),
        (65536, 32, 58., 193.),
        (65536, 32, 116., 173.),
        (65536, 64, 116., 279.),
        (32768, 32, 116., 148.7),
        (32768, 48, 116., 192.0),
        (32768, 64, 116., 230.6),
        (8192, 2730, 152., 185.),
    ];
    for (dimension, weight, log2_qp, bits) in entries {
        assert_eq!(estimated_bits(dimension, log2_qp, FixedWeight(weight)), bits, "{dimension}, h = {weight}, {log2_qp}");
    }
    for (dimension, weight, budget) in [(65536, 192, 1638.), (65536, 256, 1680.), (32768, 192, 810.), (32768, 256, 833.), (65536, 32, 116.)]
    {
        assert_eq!(max_log2_qp(dimension, 128, FixedWeight(weight)), Some(budget), "{dimension}, h = {weight}");
    }
}

#[test]
fn sparse_estimate_between_entries_rounds_down() {
    let bits = |log2_qp| estimated_bits(65536, log2_qp, FixedWeight(192));
    // Joined: 1555 and 1600 are near. Not joined: nothing is known between 58 and 116 at weight 32.
    assert!(bits(1577.0) < (133.8 + 130.6) / 2.0 + 0.1 && bits(1577.0) > 130.6);
    assert_eq!(estimated_bits(65536, 59.0, FixedWeight(32)), 173.0);
    // The nearest smaller weight speaks for a larger one, a smaller dimension for a larger one; never the other way.
    assert_eq!(estimated_bits(65536, 1555.0, FixedWeight(200)), 133.8);
    assert_eq!(estimated_bits(49152, 790.0, FixedWeight(192)), 130.8);
    assert_eq!(estimated_bits(65535, 1555.0, FixedWeight(192)), 0.0);
    assert_eq!(estimated_bits(65536, 1555.0, FixedWeight(191)), 0.0);
}

#[test]
fn sparse_secret_above_its_level_is_not_estimated() {
    assert_eq!(estimated_bits(65536, 117.0, FixedWeight(32)), 0.0);
    assert_eq!(estimated_bits(65536, 1546.0, FixedWeight(32)), 0.0);
    assert_eq!(estimated_bits(65536, 1641.0, FixedWeight(192)), 0.0);
    assert_eq!(estimated_bits(16384, 50.0, FixedWeight(32)), 0.0);
    assert_eq!(estimated_bits(65536, 50.0, FixedWeight(31)), 0.0);
    assert_eq!(max_log2_qp(65536, 128, FixedWeight(31)), None);
    assert_eq!(max_log2_qp(65536, 1, FixedWeight(0)), None);
}

#[test]
fn dense_fixed_weight_counts_as_uniform_ternary_only_near_its_mean() {
    let budget = 214.0;
    assert_eq!(estimated_bits(8192, budget, FixedWeight(5462)), 128.0);
    assert_eq!(estimated_bits(8192, budget, FixedWeight(6144)), 128.0);
    assert_eq!(estimated_bits(8192, budget, FixedWeight(5461)), 0.0);
    assert_eq!(estimated_bits(8192, budget, FixedWeight(6145)), 0.0);
    assert_eq!(estimated_bits(8192, 100.0, FixedWeight(8192)), 0.0);
    assert_eq!(estimated_bits(8192, 100.0, FixedWeight(usize::MAX)), 0.0);
    assert_eq!(estimated_bits(usize::MAX, 100.0, FixedWeight(usize::MAX)), 0.0);
}
