//! Linear transforms: the map in the clear, the plan, the encrypted result against the clear one, keys and
//! refusals.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::linear::{LinearTransform, LinearTransformOptions};
use clathrate_ckks::file::Stored;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{CkksError, Complex64, Evaluator, KeyLevel, Params};
use clathrate_lattice::Level;

/// The product of a row-major matrix with a vector, from the definition.
fn product(matrix: &[Complex64], x: &[Complex64]) -> Vec<Complex64> {
    matrix.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum()).collect()
}

fn assert_near(got: &[Complex64], expected: &[Complex64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    let worst = got.iter().zip(expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "worst error {worst:e} over {tolerance:e}");
}

#[test]
fn maps_in_the_clear_follow_their_definitions() {
    for (rows, columns) in [(1, 1), (3, 5), (5, 3), (8, 8), (1, 7), (7, 1)] {
        let (matrix, x) = (complex(rows * columns, 1), complex(columns, 2));
        let map = LinearTransform::from_matrix(&matrix, rows, columns).expect("map");
        assert_eq!(
            (map.rows(), map.columns(), map.slots()),
            (rows, columns, rows.max(columns).next_power_of_two())
        );
        assert_near(&map.evaluate(&x).expect("image"), &product(&matrix, &x), 1e-12);
    }
    // Diagonals: negative shifts, short periods, equal shifts added, zero ones left out.
    let values = complex(4, 3);
    let map = LinearTransform::from_diagonals(
        8,
        [(-1, values[..2].to_vec()), (7, values[2..].to_vec()), (3, vec![Complex64::default(); 4])],
    )
    .expect("map");
    assert_eq!((map.shifts().collect::<Vec<_>>(), map.period()), (vec![7], 2));
    let x = complex(8, 4);
    let expected: Vec<Complex64> =
        (0..8).map(|j| (values[j % 2] + values[2 + j % 2]) * x[(j + 7) % 8]).collect();
    assert_near(&map.evaluate(&x).expect("image"), &expected, 1e-12);
    // Composition is the composition of the functions.
    let (f, g) = (
        LinearTransform::from_matrix(&complex(8 * 5, 5), 8, 5).expect("map"),
        LinearTransform::from_matrix(&complex(3 * 8, 6), 3, 8).expect("map"),
    );
    let x = complex(5, 7);
    let both = f.then(&g).expect("composition");
    assert_eq!((both.rows(), both.columns()), (3, 5));
    assert_near(
        &both.evaluate(&x).expect("image"),
        &g.evaluate(&f.evaluate(&x).expect("image")).expect("image"),
        1e-12,
    );
    assert_near(
        &f.clone().scaled(Complex64::i()).evaluate(&x).expect("image"),
        &f.evaluate(&x).expect("image").iter().map(|y| y * Complex64::i()).collect::<Vec<_>>(),
        1e-12,
    );
    assert!(
        (f.row_sum()
            - (0..8)
                .map(|j| complex(40, 5)[5 * j..5 * j + 5].iter().map(|v| v.norm()).sum::<f64>())
                .fold(0.0, f64::max))
        .abs()
            < 1e-12
    );
}

/// A map of every kind: dense and real, complex, of few diagonals, of one, rectangular, of short period.
fn maps(slots: usize) -> Vec<(&'static str, LinearTransform)> {
    let banded = [-3i64, 0, 1, 5].map(|shift| (shift, complex(slots, shift.unsigned_abs() + 20)));
    vec![
        ("dense", LinearTransform::from_matrix(&noise(64 * 64, 8), 64, 64).expect("map")),
        ("complex", LinearTransform::from_matrix(&complex(16 * 16, 9), 16, 16).expect("map")),
        ("banded", LinearTransform::from_diagonals(slots, banded).expect("map")),
        ("one diagonal", LinearTransform::from_diagonals(slots, [(0, complex(slots, 10))]).expect("map")),
        (
            "one rotation",
            LinearTransform::from_diagonals(slots, [(-2, vec![Complex64::new(1.0, 0.0)])]).expect("map"),
        ),
        ("wide", LinearTransform::from_matrix(&noise(3 * 30, 11), 3, 30).expect("map")),
        ("tall", LinearTransform::from_matrix(&noise(30 * 3, 12), 30, 3).expect("map")),
        (
            "short period",
            LinearTransform::from_diagonals(
                slots,
                [-8i64, 0, 8, 16].map(|shift| (shift, complex(8, shift.unsigned_abs() + 40))),
            )
            .expect("map"),
        ),
    ]
}

#[test]
fn encrypted_maps_equal_the_clear_ones_within_the_predicted_error() {
    for name in ["insecure_small", "insecure_rank2", "insecure_rank3", "insecure_deep", "insecure_dpad"] {
        let params = params(name);
        let sk = secret(&params, 1);
        for (what, map) in maps(params.slot_count()) {
            for (level, most_keys) in
                [(params.max_level(), None), (Level(1), None), (params.max_level(), Some(3))]
            {
                let plan = map
                    .plan_with(&params, level, LinearTransformOptions { most_keys, ..Default::default() })
                    .expect("plan");
                assert!(plan.rotations().len() <= most_keys.unwrap_or(usize::MAX));
                let ev = evaluator(&sk, &plan.needs().expect("needs"));
                // Two rows, in slots of the map's number, at the level.
                let (rows, columns) = (2, map.columns());
                let x = complex(rows * columns, 13);
                let options = EncryptOptions {
                    level: Some(level),
                    capacity: Some(map.slots()),
                    ..EncryptOptions::default()
                };
                let ct = encrypt_as(&sk, &Values::Complex(x.clone()), &[rows, columns], options, 3);
                let y = plan.run(&ev, &ct).expect("image");
                assert_eq!(
                    (y.shape(), y.level(), y.scale()),
                    (&[rows, map.rows()][..], Level(level.0 - 1), params.scale(Level(level.0 - 1)))
                );
                let expected: Vec<Complex64> =
                    x.chunks_exact(columns).flat_map(|row| map.evaluate(row).expect("image")).collect();
                let measured = complex_deviation(&decrypt_complex(&sk, &y), &expected);
                // The bound on symbols: numbers of magnitude at most sqrt 2.
                let recorder = Evaluator::recording(&params);
                let layout = ct.layout();
                let symbol = clathrate_ckks::Ciphertext::symbol_with(
                    &params,
                    &[rows, columns],
                    *layout,
                    ct.secret(),
                    level,
                    ct.scale(),
                )
                .expect("symbol");
                let symbol = recorder.take_symbol(symbol, Some(2f64.sqrt())).expect("symbol");
                let planned = plan.run(&recorder, &symbol).expect("dry run");
                assert_eq!(
                    (planned.layout(), planned.shape(), planned.scale()),
                    (y.layout(), y.shape(), y.scale())
                );
                let bound = planned.error_bound().expect("bounds");
                println!(
                    "{name}, {what}, level {level}: {:.2} bits, bound {:.2}",
                    -measured.log2(),
                    -bound.log2()
                );
                assert!(measured <= bound, "{name}, {what}: error {measured:e} over {bound:e}");
                assert!(
                    measured > bound / 4096.0,
                    "{name}, {what}: the bound {bound:e} is far above {measured:e}"
                );
                // Padding beyond the results is zero: the sum of a row is the sum of its entries.
                assert_eq!(y.padding(), clathrate_ckks::Padding::Zero);
            }
        }
    }
}

#[test]
fn every_split_and_route_gives_the_same_map() {
    let params = params("insecure_deep");
    let sk = secret(&params, 2);
    let map = LinearTransform::from_matrix(&noise(32 * 32, 14), 32, 32).expect("map");
    let x = noise(32, 15);
    let expected: Vec<f64> = map
        .evaluate(&x.iter().map(|&x| x.into()).collect::<Vec<_>>())
        .expect("image")
        .iter()
        .map(|y| y.re)
        .collect();
    let ct = encrypt(&sk, &x);
    let mut fewest = usize::MAX;
    for most in (1..=40).rev() {
        let options = LinearTransformOptions { most_keys: Some(most), ..Default::default() };
        match map.plan_with(&params, ct.level(), options) {
            Ok(plan) => {
                let keys = plan.rotations().len();
                assert!(keys <= most);
                fewest = fewest.min(keys);
                let ev = evaluator(&sk, &plan.needs().expect("needs"));
                assert_close(&decrypt(&sk, &plan.run(&ev, &ct).expect("image")), &expected, 1e-5);
                // The plaintexts can be dropped and are made again.
                assert!(plan.plaintext_bytes() > 0);
                plan.drop_plaintexts();
                assert_eq!(plan.plaintext_bytes(), 0);
                assert_close(&decrypt(&sk, &plan.run(&ev, &ct).expect("image")), &expected, 1e-5);
            }
            Err(error) => {
                assert!(most < fewest, "{error}");
                assert!(error.to_string().contains(&format!("at least {fewest}")), "{error}");
            }
        }
    }
    assert_eq!(fewest, 1, "one rotation over and over");
    // Bytes bound the number of keys.
    let every = map.plan(&params, ct.level()).expect("plan");
    let one = every.key_bytes() / every.rotations().len();
    for keys in [1, 2, 5] {
        let options =
            LinearTransformOptions { most_key_bytes: Some(keys * one + one / 2), ..Default::default() };
        let plan = map.plan_with(&params, ct.level(), options).expect("plan");
        assert!(plan.rotations().len() <= keys && plan.price() >= every.price());
        let held: usize =
            params.required_keys(&plan.needs().expect("needs")).expect("keys").bytes(&params).expect("bytes");
        assert_eq!(held, plan.key_bytes());
    }
    let options = LinearTransformOptions { most_key_bytes: Some(one - 1), ..Default::default() };
    assert_refused!(
        map.plan_with(&params, ct.level(), options),
        CkksError::OutOfRange { .. },
        &one.to_string()
    );
    // Keys for powers of two alone: rotations in turn.
    let plan = map.plan(&params, ct.level()).expect("plan");
    let powers = (0..5).flat_map(|log| [1i64 << log, -(1i64 << log)]);
    let ev = evaluator(&sk, &clathrate_ckks::KeyNeeds::new().rotations(powers, KeyLevel::Top));
    assert_close(&decrypt(&sk, &plan.run(&ev, &ct).expect("image")), &expected, 1e-5);
}

#[test]
fn results_do_not_depend_on_the_threads_or_the_instruction_set() {
    let mut results = Vec::new();
    for (threads, isa) in [(1, None), (2, None), (1, Some("scalar".to_owned()))] {
        let runtime = clathrate_ckks::Runtime { threads: Some(threads), isa, ..base_runtime() };
        let params = Params::preset("insecure_deep", &runtime).expect("preset");
        let sk = secret(&params, 3);
        let map = LinearTransform::from_matrix(&complex(16 * 16, 16), 16, 16).expect("map");
        let plan = map.plan(&params, params.max_level()).expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let ct = encrypt_as(&sk, &Values::Complex(complex(16, 17)), &[16], EncryptOptions::default(), 4);
        results.push(plan.run(&ev, &ct).expect("image").to_file_bytes().expect("bytes"));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn what_does_not_fit_is_refused_with_the_remedy() {
    let params = params("insecure_small");
    let sk = secret(&params, 4);
    let slots = params.slot_count();
    let zero = Complex64::default();
    assert_refused!(LinearTransform::from_matrix(&[1.0; 5], 2, 3), CkksError::Shape { .. }, "rows * columns");
    assert_refused!(
        LinearTransform::from_matrix(&[0.0; 0], 0, 3),
        CkksError::Empty { .. },
        "no entries",
        "0"
    );
    assert_refused!(
        LinearTransform::from_matrix(&[1.0, f64::NAN], 1, 2),
        CkksError::NotFinite { index: 1, .. },
        "1"
    );
    assert_refused!(
        LinearTransform::from_diagonals(12, [(0, vec![zero])]),
        CkksError::OutOfRange { .. },
        "12",
        "power of two"
    );
    assert_refused!(
        LinearTransform::from_diagonals(4, [(0, vec![zero; 8])]),
        CkksError::OutOfRange { .. },
        "8",
        "up to 4"
    );
    assert_refused!(
        LinearTransform::from_diagonals(4, [(0, vec![zero; 3])]),
        CkksError::OutOfRange { .. },
        "3"
    );
    assert_refused!(
        LinearTransform::from_diagonals(4, [(0, vec![Complex64::new(f64::INFINITY, 0.0)])]),
        CkksError::NotFinite { .. },
        "inf"
    );
    let map = LinearTransform::from_matrix(&noise(16, 1), 4, 4).expect("map");
    let big = LinearTransform::from_diagonals(2 * slots, [(1, vec![Complex64::new(1.0, 0.0)])]).expect("map");
    assert_refused!(big.plan(&params, params.max_level()), CkksError::OutOfRange { .. }, &slots.to_string());
    let nothing = LinearTransform::from_diagonals(4, [(1, vec![zero])]).expect("map");
    assert_refused!(nothing.plan(&params, params.max_level()), CkksError::OutOfRange { .. }, "zero");
    assert_refused!(map.plan(&params, Level(0)), CkksError::LevelTooLow { .. }, "level 0");
    assert_refused!(map.plan(&params, Level(99)), CkksError::Lattice(_), "99");
    let options = LinearTransformOptions { most_keys: Some(0), ..Default::default() };
    assert_refused!(
        map.plan_with(&params, params.max_level(), options),
        CkksError::OutOfRange { .. },
        "at least"
    );
    let plan = map.plan(&params, params.max_level()).expect("plan");
    let x = encrypt(&sk, &[1.0, 2.0, 3.0, 4.0]);
    assert_refused!(plan.run(&Evaluator::new(&params), &x), CkksError::NoKeys { .. }, "a linear transform");
    let few = evaluator(&sk, &clathrate_ckks::KeyNeeds::new().rotations([1], KeyLevel::Level(0)));
    assert_refused!(plan.run(&few, &x), CkksError::Lattice(_), "level 0");
    let ev = evaluator(&sk, &plan.needs().expect("needs"));
    assert_refused!(plan.run(&ev, &encrypt(&sk, &[1.0; 5])), CkksError::Shape { .. }, "rows of 4");
    let wide =
        encrypt_as(&sk, &[1.0; 4], &[4], EncryptOptions { capacity: Some(8), ..Default::default() }, 1);
    assert_refused!(plan.run(&ev, &wide), CkksError::Shape { .. }, "capacity of 4");
    let low = ev.drop_to_level(&x, Level(0)).expect("lower");
    assert_refused!(plan.run(&ev, &low), CkksError::LevelTooLow { .. }, "level");
    let coefficients =
        EncryptOptions { encoding: Some(clathrate_ckks::Encoding::Coefficients), ..Default::default() };
    assert_refused!(
        plan.run(&ev, &encrypt_as(&sk, &[1.0; 4], &[4], coefficients, 1)),
        CkksError::Encoding { .. },
        "slots"
    );
    let square = ev.multiply_scalar(&x, 0.5).expect("product");
    assert_refused!(plan.run(&ev, &square), CkksError::ScaleMismatch { .. }, "scale");
    // What would round diagonals away, overflow, or take all memory.
    assert_refused!(map.apply(&ev, &square), CkksError::OutOfRange { .. }, "rescale the input first");
    let large = map.clone().scaled(Complex64::new(1e9, 0.0));
    assert_refused!(large.plan(&params, Level(1)), CkksError::TooLarge { .. }, "has room for", "level 0");
    assert_refused!(
        LinearTransform::from_matrix(&vec![1.0; 1 << 14], 1, 1 << 14),
        CkksError::OutOfRange { .. },
        "blocks"
    );
    let huge = Complex64::new(1e308, 0.0);
    assert_refused!(
        LinearTransform::from_diagonals(4, [(0, vec![huge]), (4, vec![huge])]),
        CkksError::NotFinite { .. },
        "inf"
    );
}
