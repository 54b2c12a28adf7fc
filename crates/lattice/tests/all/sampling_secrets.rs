//! Secret randomness: the documented generator, and each distribution against its law (false alarms: see
//! `statistics`).

use crate::statistics::{assert_fits, assert_normal, assert_pairs_uniform, assert_uniform};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use clathrate_lattice::sampling::{
    ERROR_BOUND, ERROR_STANDARD_DEVIATION, SamplingError, SecretDistribution, SecretRng,
};

fn rng(tag: u8) -> SecretRng {
    SecretRng::from_seed([tag; 32])
}

#[test]
fn generator_equals_the_documented_construction() {
    let mut expected = Vec::new();
    let mut key = [9u8; 32];
    for _ in 0..5 {
        let mut keystream = [0u8; 4096];
        ChaCha20::new(&key.into(), &[0u8; 12].into()).apply_keystream(&mut keystream);
        key.copy_from_slice(&keystream[..32]);
        expected.extend_from_slice(&keystream[32..]);
    }
    for piece in [1, 31, 4063, 4064, 4065, 20_000] {
        let mut generator = rng(9);
        let mut bytes = vec![0u8; expected.len()];
        bytes.chunks_mut(piece).for_each(|part| generator.fill_bytes(part));
        assert_eq!(bytes, expected, "pieces of {piece}");
    }
}

#[test]
fn generator_shows_nothing_when_printed() {
    assert_eq!(format!("{:?}", rng(1)), "SecretRng(redacted)");
    assert_eq!(format!("{:#?}", rng(2)), "SecretRng(redacted)");
}

#[test]
fn generators_from_the_operating_system_and_forks_differ() {
    let mut first = SecretRng::from_os().expect("entropy");
    let mut others = [SecretRng::from_os().expect("entropy"), first.fork(), first.fork()];
    let mut seeds = vec![first.mask_seed(), first.mask_seed()];
    others.iter_mut().for_each(|other| seeds.push(other.mask_seed()));
    for (i, seed) in seeds.iter().enumerate() {
        assert!(!seeds[..i].contains(seed));
    }
}

#[test]
fn empty_outputs_take_nothing() {
    let mut generator = rng(3);
    generator.ternary_uniform(&mut []);
    generator.gaussian(&mut []);
    generator.flooding_uniform(&mut [], 8).expect("supported");
    generator.ternary_fixed_weight(&mut [], 0).expect("weight 0 of 0");
    assert_eq!(generator.mask_seed(), rng(3).mask_seed());
}

#[test]
fn ternary_uniform_gives_each_value_a_third() {
    // Enough to see a byte too many accepted: 86 of 256 in place of a third.
    let mut values = vec![7i64; 3_000_000];
    rng(4).ternary_uniform(&mut values);
    let mut counts = [0u64; 3];
    values.iter().for_each(|&value| counts[(value + 1) as usize] += 1);
    assert_uniform("ternary values", &counts);
    let cells = |pair: &[i64]| ((pair[0] + 1) as usize, (pair[1] + 1) as usize);
    assert_pairs_uniform("neighbouring ternary values", 3, values.chunks_exact(2).map(cells));
    assert_pairs_uniform("ternary values at distance 1, shifted", 3, values[1..].chunks_exact(2).map(cells));
}

#[test]
fn ternary_uniform_does_not_depend_on_rejections_at_ends_of_rows() {
    // Every length is filled whole, across the 512-byte reads.
    for length in [1, 511, 512, 513, 1024, 5000] {
        let mut values = vec![7i64; length];
        rng(5).ternary_uniform(&mut values);
        assert!(values.iter().all(|value| (-1..=1).contains(value)), "{length}");
    }
}

#[test]
fn fixed_weight_is_exact() {
    for (length, weight) in [
        (1, 0),
        (1, 1),
        (2, 1),
        (3, 3),
        (1000, 0),
        (1000, 1),
        (1000, 999),
        (1000, 1000),
        (4096, 192),
        (12288, 2730),
    ] {
        let mut values = vec![7i64; length];
        rng(6).ternary_fixed_weight(&mut values, weight).expect("fits");
        assert!(values.iter().all(|value| (-1..=1).contains(value)));
        assert_eq!(values.iter().filter(|&&value| value != 0).count(), weight, "{weight} of {length}");
    }
}

#[test]
fn fixed_weight_above_the_length_is_refused() {
    let mut values = [7i64; 5];
    let refused = Err(SamplingError::WeightTooLarge { weight: 6, length: 5 });
    assert_eq!(rng(7).ternary_fixed_weight(&mut values, 6), refused);
    assert_eq!(rng(7).secret(SecretDistribution::FixedWeight(6), &mut values), refused);
    assert_eq!(values, [7; 5]);
}

#[test]
fn fixed_weight_arrangements_are_equally_likely() {
    // All (8 choose 3) * 2^3 = 448 arrangements, by their base-3 number.
    let mut counts = std::collections::BTreeMap::new();
    let mut generator = rng(8);
    let mut values = [0i64; 8];
    for _ in 0..448 * 100 {
        generator.ternary_fixed_weight(&mut values, 3).expect("fits");
        *counts.entry(values.iter().fold(0, |number, value| 3 * number + value + 1)).or_insert(0u64) += 1;
    }
    assert_eq!(counts.len(), 448);
    assert_uniform("arrangements", &counts.into_values().collect::<Vec<_>>());
}

#[test]
fn fixed_weight_positions_and_signs_are_uniform_in_a_long_secret() {
    let (length, weight, trials) = (1000usize, 64usize, 2000usize);
    let mut generator = rng(10);
    let mut values = vec![0i64; length];
    let (mut blocks, mut sum) = (vec![0u64; 50], 0i64);
    for _ in 0..trials {
        generator.secret(SecretDistribution::FixedWeight(weight), &mut values).expect("fits");
        for (i, value) in values.iter().enumerate() {
            blocks[i * 50 / length] += value.unsigned_abs();
            sum += value;
        }
    }
    // Draws without replacement vary less by (length - weight) / (length - 1): scale the deviations back up
    // to multinomial ones.
    let mean = (trials * weight) as f64 / 50.0;
    let shrink = ((length - weight) as f64 / (length - 1) as f64).sqrt();
    let scaled: Vec<u64> =
        blocks.iter().map(|&count| (mean + (count as f64 - mean) / shrink).round() as u64).collect();
    assert_fits("positions", &scaled, &[mean; 50]);
    assert_normal("sum of signs", sum as f64, 0.0, ((trials * weight) as f64).sqrt());
}

/// P(X = x) of the ideal distribution.
fn gaussian_probability(x: i64) -> f64 {
    let weight = |x: i64| (-(x as f64).powi(2) / (2.0 * ERROR_STANDARD_DEVIATION.powi(2))).exp();
    weight(x) / (-60..=60).map(weight).sum::<f64>()
}

#[test]
fn gaussian_histogram_fits() {
    const COUNT: usize = 1 << 20;
    let mut samples = vec![0i64; COUNT];
    rng(11).gaussian(&mut samples);
    assert!(samples.iter().all(|sample| sample.abs() <= ERROR_BOUND));
    // Cells -13 .. 13; the outermost hold the tails.
    let mut counts = vec![0u64; 27];
    samples.iter().for_each(|&sample| counts[(sample.clamp(-13, 13) + 13) as usize] += 1);
    let mut expected: Vec<f64> = (-13..=13).map(|x| COUNT as f64 * gaussian_probability(x)).collect();
    let tail: f64 = (14..=60).map(|x| COUNT as f64 * gaussian_probability(x)).sum();
    expected[0] += tail;
    expected[26] += tail;
    assert_fits("gaussian histogram", &counts, &expected);
}

#[test]
fn gaussian_moments_and_correlations_fit() {
    const COUNT: usize = 1 << 20;
    let mut samples = vec![0i64; COUNT];
    rng(12).gaussian(&mut samples);
    let (count, variance) = (COUNT as f64, ERROR_STANDARD_DEVIATION.powi(2));
    let sum = |term: &dyn Fn(usize) -> i64| (0..COUNT).map(term).sum::<i64>() as f64;
    assert_normal("mean", sum(&|i| samples[i]) / count, 0.0, (variance / count).sqrt());
    // The fourth moment is that of the continuous normal to 10^-40 at this width: Var(X^2) = 2 sigma^4.
    assert_normal("variance", sum(&|i| samples[i].pow(2)) / count, variance, variance * (2.0 / count).sqrt());
    for lag in [1, 2, 7, 8, 64] {
        let terms = COUNT - lag;
        let products: i64 = (0..terms).map(|i| samples[i] * samples[i + lag]).sum();
        assert_normal(
            &format!("correlation at lag {lag}"),
            products as f64,
            0.0,
            variance * (terms as f64).sqrt(),
        );
    }
    let agreeing = samples.windows(2).filter(|pair| pair[0] * pair[1] > 0).count() as f64;
    let nonzero_share = 1.0 - gaussian_probability(0);
    let share = nonzero_share.powi(2) / 2.0;
    // Neighbouring windows overlap: their covariance is share * nonzero / 2 - share^2.
    let spread = share * (1.0 - share) + 2.0 * (nonzero_share.powi(3) / 4.0 - share.powi(2));
    assert_normal("neighbours of equal sign", agreeing, share * (count - 1.0), (spread * count).sqrt());
}

#[test]
fn gaussian_does_not_depend_on_how_rows_are_cut() {
    let mut whole = vec![0i64; 1000];
    rng(13).gaussian(&mut whole);
    for piece in [1, 7, 8, 9, 63, 64, 65, 999] {
        let mut generator = rng(13);
        let mut cut = vec![0i64; 1000];
        cut.chunks_mut(piece).for_each(|part| generator.gaussian(part));
        assert_eq!(cut, whole, "pieces of {piece}");
    }
}

#[test]
fn flooding_is_uniform_in_its_range() {
    for bits in [1, 2, 4, 8] {
        let mut values = vec![0i64; 1 << 16];
        rng(14).flooding_uniform(&mut values, bits).expect("supported");
        let mut counts = vec![0u64; 1 << bits];
        values.iter().for_each(|&value| counts[(value + (1 << (bits - 1))) as usize] += 1);
        assert_uniform(&format!("flooding of {bits} bits"), &counts);
    }
    for bits in [9, 40, 62, 63] {
        let mut values = vec![0i64; 1 << 16];
        rng(15).flooding_uniform(&mut values, bits).expect("supported");
        let half = 1i64 << (bits - 1);
        let mut counts = vec![0u64; 256];
        for &value in &values {
            assert!((-half..half).contains(&value));
            counts[((i128::from(value) + i128::from(half)) >> (bits - 8)) as usize] += 1;
        }
        assert_uniform(&format!("flooding of {bits} bits, top byte"), &counts);
    }
}

#[test]
fn flooding_of_unsupported_width_is_refused() {
    for bits in [0, 64, u32::MAX] {
        let mut values = [7i64; 3];
        assert_eq!(rng(16).flooding_uniform(&mut values, bits), Err(SamplingError::FloodingBits { bits }));
        assert_eq!(values, [7; 3]);
    }
}

#[test]
fn secret_follows_its_distribution() {
    let mut values = vec![0i64; 999];
    let mut expected = values.clone();
    rng(17).secret(SecretDistribution::UniformTernary, &mut values).expect("always fits");
    rng(17).ternary_uniform(&mut expected);
    assert_eq!(values, expected);
}
