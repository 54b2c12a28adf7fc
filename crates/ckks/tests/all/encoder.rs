//! The encoder: integers against an oracle of big integers, and numbers of very different magnitudes side by
//! side, at every scale and range.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::Weights;
use clathrate_ckks::encoding::Plaintext;
use clathrate_ckks::keys::{EncryptOptions, Lanes, Values};
use clathrate_ckks::{Encoding, Evaluator, KeyNeeds, LinearTransform, Params, SecretKey};
use clathrate_lattice::Level;
use clathrate_testkit::oracle::compose_centred;
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};
use rustfft::num_complex::Complex64;

/// Bits behind the point of the oracle's numbers.
const BITS: u32 = 320;

/// Parameters with room for 120 bits and more at the top, at any scale.
fn roomy(degree: usize) -> Params {
    custom(&format!(
        "name = \"d\"\ndegree = {degree}\nsteps = [[60, 60], [55, 55], [55, 55]]\nspecial = [60, 60]\nlog2_scale = 100\ninsecure = true\n"
    ))
}

/// `x` exactly, with [`BITS`] bits behind the point; doubles here are multiples of `2^-BITS`.
fn exact(x: f64) -> BigInt {
    if x == 0.0 {
        return BigInt::zero();
    }
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i64 - 1075;
    let mantissa = BigInt::from((x.to_bits() & ((1 << 52) - 1)) | 1 << 52);
    let shift = exponent + i64::from(BITS);
    assert!(shift >= 0, "{x:e} is not a multiple of 2^-{BITS}");
    let magnitude = mantissa << shift;
    if x < 0.0 { -magnitude } else { magnitude }
}

/// `exp(i pi e / degree)` for all `e` below `2 degree`, by the series of sine and cosine of the first one and
/// Machin's formula for pi.
fn roots(degree: usize) -> Vec<(BigInt, BigInt)> {
    let precise = BITS + 64;
    let one = BigInt::one() << precise;
    let arctan_of_inverse = |x: u32| {
        let (mut power, mut sum, mut k) = (&one / x, BigInt::zero(), 0u32);
        while !power.is_zero() {
            let term = &power / (2 * k + 1);
            sum += if k % 2 == 0 { term } else { -term };
            power /= x * x;
            k += 1;
        }
        sum
    };
    let pi: BigInt = (arctan_of_inverse(5) * 4 - arctan_of_inverse(239)) * 4;
    let angle = pi / degree;
    let (mut cos, mut sin, mut term, mut k) = (BigInt::zero(), BigInt::zero(), one.clone(), 0u32);
    while !term.is_zero() {
        match k % 4 {
            0 => cos += &term,
            1 => sin += &term,
            2 => cos -= &term,
            _ => sin -= &term,
        }
        k += 1;
        term = ((&term * &angle) >> precise) / k;
    }
    let (mut re, mut im) = (one, BigInt::zero());
    (0..2 * degree)
        .map(|_| {
            let root = (&re >> 64u32, &im >> 64u32);
            let next: BigInt = (&re * &cos - &im * &sin) >> precise;
            im = (&re * &sin + &im * &cos) >> precise;
            re = next;
            root
        })
        .collect()
}

/// Coefficient `t` of the polynomial with these slots times `scale`, with [`BITS`] bits behind the point:
/// `1/n sum_j Re(z_j zeta^(-t 5^j))`.
fn coefficient(slots: &[Complex64], roots: &[(BigInt, BigInt)], t: usize, scale: f64) -> BigInt {
    let (order, mut exponent) = (4 * slots.len(), 1usize);
    let mut sum = BigInt::zero();
    for z in slots {
        if *z != Complex64::new(0.0, 0.0) {
            let (re, im) = &roots[exponent * t % order];
            sum += exact(z.re) * re + exact(z.im) * im;
        }
        exponent = exponent * 5 % order;
    }
    // Three factors with bits behind the point.
    ((sum * exact(scale)) >> (2 * BITS)) / slots.len()
}

/// The centred coefficients of the first polynomial of a plaintext.
fn integers(plaintext: &Plaintext) -> Vec<BigInt> {
    let poly = plaintext.messages()[0].clone().into_coeff();
    let moduli: Vec<_> = poly.basis().indices().iter().map(|&i| poly.ring().moduli()[i]).collect();
    let words = poly.download();
    compose_centred(&words.chunks_exact(poly.ring().degree()).collect::<Vec<_>>(), &moduli)
}

/// Numbers of magnitude 1 and less, of which every third is large.
fn mixed(count: usize, magnitude: f64, seed: u64) -> Vec<Complex64> {
    let large = |(i, z): (usize, Complex64)| if i % 3 == 0 { z * magnitude } else { z };
    complex(count, seed).into_iter().enumerate().map(large).collect()
}

#[test]
fn encoded_integers_are_beside_those_of_big_integers_at_every_scale_and_magnitude() {
    for (degree, count) in
        [(8, 4), (64, 32), (64, 1), (64, 4), (1024, 512), (1 << 14, 1 << 13), (1 << 14, 1 << 6)]
    {
        let params = roomy(degree);
        let roots = roots(2 * count);
        let gap = degree / (2 * count);
        for log2_scale in [30.0, 40.0, 41.37, 52.0, 58.0, 60.5, 62.0, 104.0] {
            let scale: f64 = f64::exp2(log2_scale);
            for log2_magnitude in [0.0, 10.0, 20.3, 33.0, 52.0, 60.0, 75.0, 88.0] {
                if log2_scale + log2_magnitude > 118.0 {
                    continue;
                }
                let slots =
                    mixed(count, f64::exp2(log2_magnitude), log2_scale as u64 + 31 * log2_magnitude as u64);
                let encoded =
                    Plaintext::encode(&params, &slots, &[count], Encoding::Slots, params.max_level(), scale)
                        .expect("fits");
                let found = integers(&encoded);
                // Some coefficients of each part.
                let chosen = (0..2 * count).step_by((2 * count / 16).max(1)).chain([1, 2 * count - 1]);
                for t in chosen {
                    let error = (found[t * gap].clone() << BITS) - coefficient(&slots, &roots, t, scale);
                    // Rounding errs by less than one; a transform in double precision may add an eighth of
                    // the root mean square of rounding to the nearest, here eight times of that.
                    let error = error.to_f64().expect("small") / f64::from(BITS).exp2();
                    let allowed = 1.0 + 8.0 * 0.125 / 12f64.sqrt();
                    assert!(
                        error.abs() <= allowed,
                        "degree {degree}, {count} slots, scale 2^{log2_scale}, magnitude 2^{log2_magnitude}: {error}"
                    );
                }
                assert!(found.iter().enumerate().all(|(t, value)| t % gap == 0 || value.is_zero()));
            }
        }
    }
}

#[test]
fn wide_transforms_round_to_one_of_the_integers_beside() {
    // Far from where doubles suffice, no error beside that of rounding remains.
    let (degree, count) = (256, 128);
    let (params, roots) = (roomy(degree), roots(degree));
    for (log2_scale, log2_magnitude) in [(40.0, 40.0), (58.2, 30.0), (100.0, 0.0), (30.0, 75.0)] {
        let (scale, magnitude): (f64, f64) = (f64::exp2(log2_scale), f64::exp2(log2_magnitude));
        let slots = mixed(count, magnitude, 5);
        let found = integers(
            &Plaintext::encode(&params, &slots, &[count], Encoding::Slots, params.max_level(), scale)
                .expect("fits"),
        );
        for (t, value) in found.iter().enumerate() {
            let error: BigInt = (value << BITS) - coefficient(&slots, &roots, t, scale);
            let limit = (BigInt::one() << BITS) + (BigInt::one() << (BITS - 10));
            assert!(
                error.abs() <= limit,
                "scale 2^{log2_scale}, magnitude 2^{log2_magnitude}, coefficient {t}"
            );
        }
    }
}

/// What an array of mixed magnitudes looks like where it is stored.
fn layouts(degree: usize) -> Vec<(&'static str, Vec<usize>, bool, EncryptOptions)> {
    let slots = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    let coefficients = EncryptOptions { encoding: Some(Encoding::Coefficients), ..EncryptOptions::default() };
    vec![
        ("slots", vec![degree / 2], false, slots),
        ("few slots", vec![3], false, slots),
        ("two polynomials", vec![degree / 2 + 3], false, slots),
        ("complex slots", vec![degree / 2], true, slots),
        ("lanes", vec![degree / 8, 3], false, EncryptOptions { lanes: Some(Lanes::Most), ..slots }),
        ("complex lanes", vec![4, degree / 8], true, EncryptOptions { lanes: Some(Lanes::Most), ..slots }),
        ("coefficients", vec![degree], false, coefficients),
        ("complex coefficients", vec![degree / 2], true, coefficients),
        (
            "lanes of coefficients",
            vec![degree / 8, 3],
            false,
            EncryptOptions { lanes: Some(Lanes::Most), ..coefficients },
        ),
    ]
}

/// The largest error of numbers that are not large, and of all numbers, beyond the unit in the last place by
/// which a decrypted double may differ.
fn errors(found: &Values, expected: &Values, magnitude: f64) -> (f64, f64) {
    let parts = |values: &Values| -> Vec<f64> {
        match values {
            Values::Real(values) => values.clone(),
            Values::Complex(values) => values.iter().flat_map(|z| [z.re, z.im]).collect(),
        }
    };
    let (mut small, mut large) = (0.0f64, 0.0f64);
    for (found, expected) in parts(found).iter().zip(parts(expected)) {
        let error = (found - expected).abs() - expected.abs() * f64::EPSILON;
        small = if expected.abs() <= 1.0 || magnitude <= 1.0 { small.max(error) } else { small };
        large = large.max(error);
    }
    (small, large)
}

fn mixed_values(size: usize, complex_numbers: bool, magnitude: f64, seed: u64) -> Values {
    let numbers = mixed(size, magnitude, seed);
    if complex_numbers {
        Values::Complex(numbers)
    } else {
        Values::Real(numbers.iter().map(|z| z.re).collect())
    }
}

#[test]
fn small_numbers_beside_large_ones_come_back_within_the_stated_error() {
    for degree in [64, 1 << 14] {
        let params = roomy(degree);
        let sk = secret(&params, 1);
        let public = sk.public_key().expect("key");
        for &log2_scale in at_least(4, &[30.0, 44.2, 60.0, 104.0, 40.0, 58.0, 64.0]) {
            let scale: f64 = f64::exp2(log2_scale);
            for log2_magnitude in [0.0, 10.0, 33.2, 52.0, 66.0, 85.0] {
                if log2_scale + log2_magnitude > 117.0 {
                    continue;
                }
                let magnitude = f64::exp2(log2_magnitude);
                for (name, shape, complex_numbers, options) in layouts(degree) {
                    let values = mixed_values(
                        shape.iter().product(),
                        complex_numbers,
                        magnitude,
                        log2_magnitude as u64,
                    );
                    let options = EncryptOptions { scale: Some(scale), ..options };
                    // Errors of a public-key encryption at this scale, in the entries.
                    let terms = if options.encoding == Some(Encoding::Slots) { degree as f64 } else { 1.0 };
                    let stated = (params.noise_model().fresh_public() * terms).sqrt() / scale;
                    // In slots the error of a public-key encryption is a product of two normal numbers, which
                    // is beyond 7 deviations once in some runs of this test.
                    let bounded = EncryptOptions { bound: Some(2.0 * magnitude), ..options };
                    for (ciphertext, deviations) in [
                        (encrypt_as(&sk, &values, &shape, options, 2), 7.0),
                        (encrypt_as(&sk, &values, &shape, bounded, 2), 7.0),
                        (public.encrypt_array(&values, &shape, options).expect("encrypt"), 20.0),
                    ] {
                        let found = sk.decrypt(&ciphertext).expect("decrypt");
                        let (small, large) = errors(&found, &values, magnitude);
                        assert!(
                            small <= deviations * stated && large <= deviations * stated,
                            "{name}, degree {degree}, scale 2^{log2_scale}, magnitude 2^{log2_magnitude}: {small:e}, {large:e}, stated {stated:e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_declared_bound_decides_how_precise_a_transform_is_and_numbers_do_not() {
    // The same numbers with and without a bound that asks for the precise transform: the coefficients differ
    // by less than an integer.
    let params = roomy(256);
    let sk = secret(&params, 3);
    let values = noise(128, 4);
    let scale = f64::exp2(40.0);
    let decrypted = |bound| {
        let options = EncryptOptions { scale: Some(scale), bound, ..EncryptOptions::default() };
        decrypt(&sk, &encrypt_as(&sk, &values, &[128], options, 5))
    };
    let (plain, bounded) = (decrypted(None), decrypted(Some(1e9)));
    assert_close(&plain, &bounded, 8.0 * 2.0 * (256f64 / 12.0).sqrt() / scale);
    // A bound for which integers would have more than 120 bits, far above the numbers, refuses nothing.
    assert_close(&decrypted(Some(f64::exp2(100.0))), &values, 1e-7);
}

#[test]
fn plain_operands_of_mixed_magnitudes_keep_their_small_numbers() {
    for degree in [128, 1 << 13] {
        let params = custom(&format!(
            "name = \"d\"\ndegree = {degree}\nsteps = [[60, 60], [50], [50]]\nspecial = [60, 60]\nlog2_scale = 50\ninsecure = true\n"
        ));
        let sk = secret(&params, 6);
        let count = degree / 2;
        for magnitude in [1.0, 1e6, 4e11] {
            let large = |i: usize| if i.is_multiple_of(3) { magnitude } else { 1.0 };
            let numbers: Vec<f64> = noise(count, 7).iter().enumerate().map(|(i, x)| x * large(i)).collect();
            let x: Vec<f64> = noise(count, 8);
            let ct = encrypt(&sk, &x);
            let ev = evaluator(&sk, &KeyNeeds::new());
            let sum = decrypt(&sk, &ev.add_plain(&ct, &numbers).expect("sum"));
            let product = decrypt(
                &sk,
                &ev.rescale(&ev.multiply_plain(&ct, &numbers).expect("product")).expect("rescale"),
            );
            // Fresh errors, and those of rounding the operand's coefficients.
            let noise_variance = params.noise_model().fresh_secret() + params.noise_model().rounding() + 1.0;
            let stated = (noise_variance * degree as f64).sqrt() / f64::exp2(49.9);
            for i in 0..count {
                let (plus, times) = (x[i] + numbers[i], x[i] * numbers[i]);
                assert!(
                    (sum[i] - plus).abs() <= 8.0 * stated + plus.abs() * f64::EPSILON,
                    "{magnitude:e}: sum {i}"
                );
                let allowed = 8.0 * stated * (1.0 + numbers[i].abs()) + times.abs() * f64::EPSILON;
                assert!(
                    (product[i] - times).abs() <= allowed,
                    "{magnitude:e}: product {i}: {:e} {allowed:e}",
                    product[i] - times
                );
            }
        }
    }
}

#[test]
fn linear_maps_of_mixed_magnitudes_keep_their_small_numbers() {
    let params = custom(
        "name = \"d\"\ndegree = 128\nsteps = [[60, 60], [50], [50]]\nspecial = [60, 60]\nlog2_scale = 50\ninsecure = true\n",
    );
    let sk = secret(&params, 9);
    let size = 64;
    for magnitude in [1.0, 1e6, 4e11] {
        // Rows of large numbers and rows of small ones: each diagonal has both.
        let entries = noise(size * size, 10);
        let matrix: Vec<f64> = entries
            .iter()
            .enumerate()
            .map(|(i, x)| if i / size % 5 == 0 { x * magnitude } else { *x })
            .collect();
        let x = noise(size, 11);
        let map = LinearTransform::from_matrix(&matrix, size, size).expect("map");
        let plan = map.plan(&params, params.max_level()).expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let y = decrypt(&sk, &plan.run(&ev, &encrypt(&sk, &x)).expect("map"));
        let exact = |row: usize| -> f64 { (0..size).map(|i| matrix[row * size + i] * x[i]).sum() };
        // Each of 64 diagonals is rounded, and multiplies an array with errors of encryption and rotation.
        let variance = params.noise_model().fresh_secret()
            + 16.0 * switch_variance(&params, 1, params.max_level())
            + 1.0;
        let stated = (variance * 128.0 * size as f64).sqrt() / f64::exp2(49.9);
        for row in (0..size).filter(|row| row % 5 != 0) {
            assert!(
                (y[row] - exact(row)).abs() <= 8.0 * stated,
                "{magnitude:e}, row {row}: {:e}, {stated:e}",
                y[row] - exact(row)
            );
        }
    }
}

#[test]
fn matrices_times_columns_of_mixed_magnitudes_keep_their_small_numbers() {
    let params = custom(
        "name = \"d\"\ndegree = 128\nsteps = [[60, 60], [40], [40]]\nspecial = [60, 60]\nlog2_scale = 40\ninsecure = true\n",
    );
    let sk = secret(&params, 12);
    let (rows, inner, columns) = (4, 8, 128);
    for magnitude in [1.0, 1e8, 1e13] {
        let weights = noise(rows * inner, 13);
        let entries = noise(inner * columns, 14);
        let matrix: Vec<f64> = entries
            .iter()
            .enumerate()
            .map(|(i, x)| if i % columns % 3 == 0 { x * magnitude } else { *x })
            .collect();
        let ct = encrypt_as(&sk, &matrix, &[inner, columns], EncryptOptions::default(), 15);
        let ev = Evaluator::new(&params);
        let prepared = Weights::encode(&ev, rows, inner, &weights, &ct).expect("weights");
        let found =
            decrypt(&sk, &ev.rescale(&prepared.multiply(&ev, &ct).expect("product")).expect("rescale"));
        let noise_variance = params.noise_model().fresh_secret() + params.noise_model().rounding() + 1.0;
        let stated = (noise_variance * inner as f64).sqrt() / f64::exp2(39.9);
        for (place, found) in found.iter().enumerate().filter(|(place, _)| place % columns % 3 != 0) {
            let (row, column) = (place / columns, place % columns);
            let exact: f64 =
                (0..inner).map(|i| weights[row * inner + i] * matrix[i * columns + column]).sum();
            assert!((found - exact).abs() <= 8.0 * stated, "{magnitude:e}: {:e}, {stated:e}", found - exact);
        }
    }
}

#[test]
fn numbers_beyond_120_bits_are_refused_with_the_room() {
    let params = roomy(64);
    let sk = secret(&params, 16);
    let encode = |value: f64, encoding| {
        let mut values = vec![0.25; 32];
        values[7] = value;
        let options = EncryptOptions {
            encoding: Some(encoding),
            scale: Some(f64::exp2(40.0)),
            ..EncryptOptions::default()
        };
        sk.encrypt_array(&values, &[32], options)
    };
    for encoding in [Encoding::Slots, Encoding::Coefficients] {
        assert!(encode(f64::exp2(78.9), encoding).is_ok());
        for value in [f64::exp2(79.1), -1e40, 1e300, f64::MAX] {
            assert_refused!(
                encode(value, encoding),
                clathrate_ckks::CkksError::TooLarge { .. },
                "has room for",
                "120"
            );
        }
        for value in [f64::NAN, f64::INFINITY] {
            assert_refused!(
                encode(value, encoding),
                clathrate_ckks::CkksError::NotFinite { index: 7, .. },
                "at index 7"
            );
        }
    }
}

#[test]
fn big_integers_decode_with_small_numbers_beside_them() {
    // A product that is not rescaled is at twice the scale, and its coefficients need more than 128 bits.
    let params = custom(
        "name = \"d\"\ndegree = 64\nsteps = [[60, 60], [58, 58], [58, 58]]\nspecial = [60, 60]\nlog2_scale = 80\ninsecure = true\n",
    );
    let sk: SecretKey = secret(&params, 17);
    let ev = evaluator(&sk, &KeyNeeds::new());
    let mut values = noise(32, 18);
    values[5] = 3.0e11;
    let ct = encrypt(&sk, &values);
    let product = ev.multiply_plain(&ct, &vec![1.0; 32]).expect("product");
    assert!(product.scale() > f64::exp2(150.0) && product.level() > Level(0));
    let found = decrypt(&sk, &product);
    for (i, (found, expected)) in found.iter().zip(&values).enumerate().filter(|(i, _)| *i != 5) {
        assert!((found - expected).abs() < 1e-16, "{i}: {:e}", found - expected);
    }
    assert!((found[5] - values[5]).abs() <= values[5] * f64::EPSILON);
}
