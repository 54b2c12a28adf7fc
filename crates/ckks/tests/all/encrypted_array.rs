//! Encrypted arrays: operators compute what NumPy computes, on data as on symbols, and what an array becomes
//! for one operation serves the next ones.

use crate::common::bootstraps::*;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::encrypted_array::{EncryptedArray, Operand, PlainArray, Subscripts};
use clathrate_ckks::keys::{EncryptOptions, Lanes, Values};
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, Level, Matrix, SecretKey};

/// What arrays and their plain numbers are computed by.
type Program = fn(&[EncryptedArray]) -> Result<EncryptedArray, CkksError>;

/// Runs `program` on symbols and on data made of `values`, and compares: acceptance, shape, level, scale; the
/// numbers with `expected`.
pub fn assert_computes(
    sk: &SecretKey,
    shapes: &[&[usize]],
    options: EncryptOptions,
    program: impl Fn(&[EncryptedArray]) -> Result<EncryptedArray, CkksError>,
    expected: impl Fn(&[Vec<f64>]) -> Vec<f64>,
    what: &str,
) {
    let params = sk.params();
    let values: Vec<Vec<f64>> = shapes
        .iter()
        .enumerate()
        .map(|(seed, shape)| noise(shape.iter().product::<usize>().max(1), 60 + seed as u64))
        .collect();
    let data: Vec<Ciphertext> = shapes
        .iter()
        .zip(&values)
        .enumerate()
        .map(|(seed, (shape, values))| encrypt_as(sk, values, shape, options, 70 + seed as u8))
        .collect();
    let recorder = Evaluator::recording(params);
    let symbol = |x: &Ciphertext| {
        let own = Ciphertext::symbol_with(params, x.shape(), *x.layout(), x.secret(), x.level(), x.scale());
        recorder.take_symbol(own.expect("symbol"), Some(1.0)).expect("symbol")
    };
    let symbols: Vec<_> = data.iter().map(|x| EncryptedArray::new(symbol(x), &recorder)).collect();
    let dry = program(&symbols).unwrap_or_else(|error| panic!("{what}, dry run: {error}"));
    let ev = Evaluator::with_keys(sk.evaluation_keys(&recorder.needs()).expect("keys"));
    let arrays: Vec<_> = data.into_iter().map(|x| EncryptedArray::new(x, &ev)).collect();
    let result = program(&arrays).unwrap_or_else(|error| panic!("{what}: {error}"));
    let place = |x: &EncryptedArray| (x.data().shape().to_vec(), x.data().level(), x.data().scale());
    assert_eq!(place(&result), place(&dry), "{what}");
    let numbers = decrypt(sk, result.data());
    let expected = expected(&values);
    assert_eq!(numbers.len(), expected.len(), "{what}");
    let bound = dry.data().error_bound().unwrap_or_else(|| panic!("{what}: no bound"));
    let error = deviation(&numbers, &expected);
    assert!(error <= bound && error < 1e-3, "{what}: {error:e}, stated {bound:e}");
}

fn slots() -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() }
}

fn plain(values: &[f64]) -> PlainArray {
    PlainArray::new(Values::Real(values.to_vec()), vec![values.len()])
}

#[test]
fn operators_compute_entry_by_entry() {
    let sk = secret(&params("insecure_small"), 90);
    let by = |f: fn(f64, f64) -> f64| {
        move |x: &[Vec<f64>]| x[0].iter().zip(&x[1]).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>()
    };
    for options in [slots(), EncryptOptions { encoding: Some(Encoding::Coefficients), ..slots() }] {
        let two: &[&[usize]] = &[&[6], &[6]];
        assert_computes(&sk, two, options, |x| x[0].add(&x[1]), by(|a, b| a + b), "a sum");
        assert_computes(&sk, two, options, |x| x[0].sub(&x[1]), by(|a, b| a - b), "a difference");
        assert_computes(&sk, two, options, |x| x[0].mul(&x[1]), by(|a, b| a * b), "a product");
        assert_computes(&sk, two, options, |x| x[0].sub_from(1.5), by(|a, _| 1.5 - a), "1.5 - x");
        assert_computes(&sk, two, options, |x| x[0].mul(-3), by(|a, _| -3.0 * a), "-3 x");
        assert_computes(&sk, two, options, |x| x[0].div(4.0), by(|a, _| a / 4.0), "x / 4");
        assert_computes(&sk, two, options, |x| x[0].power(3), by(|a, _| a * a * a), "a power");
        assert_computes(&sk, two, options, |x| x[0].power(0), by(|_, _| 1.0), "the power 0");
    }
    // A row for each row of a matrix, a column for each column.
    let broadcast = |x: &[Vec<f64>]| (0..12).map(|i| x[0][i] * x[1][i % 4] + x[2][i / 4]).collect::<Vec<_>>();
    let shapes: &[&[usize]] = &[&[3, 4], &[4], &[3, 1]];
    assert_computes(&sk, shapes, slots(), |x| x[0].mul(&x[1])?.add(&x[2]), broadcast, "broadcast");
    let halves = |x: &[Vec<f64>]| (0..12).map(|i| x[0][i] / [2.0, 4.0, -2.0, 8.0][i % 4]).collect::<Vec<_>>();
    assert_computes(
        &sk,
        &[&[3, 4]],
        slots(),
        |x| x[0].div(plain(&[2.0, 4.0, -2.0, 8.0])),
        halves,
        "quotients",
    );
}

#[test]
fn reductions_compute_along_axes() {
    let sk = secret(&params("insecure_small"), 91);
    let (rows, columns) = (3, 5);
    let sums = move |x: &[f64], axis: Option<usize>| -> Vec<f64> {
        match axis {
            None => vec![x.iter().sum()],
            Some(0) => (0..columns).map(|j| (0..rows).map(|i| x[i * columns + j]).sum()).collect(),
            _ => x.chunks(columns).map(|row| row.iter().sum()).collect(),
        }
    };
    let count = |axis: Option<usize>| [15, 3, 5][axis.map_or(0, |axis| axis + 1)] as f64;
    let axes: [(Option<usize>, Option<&[i64]>); 3] =
        [(None, None), (Some(0), Some(&[0])), (Some(1), Some(&[-1]))];
    let variance = move |x: &[f64], axis: Option<usize>| -> Vec<f64> {
        let means: Vec<f64> = sums(x, axis).iter().map(|sum| sum / count(axis)).collect();
        let at = |i: usize| match axis {
            None => 0,
            Some(0) => i % columns,
            _ => i / columns,
        };
        let squares: Vec<f64> = x.iter().enumerate().map(|(i, x)| (x - means[at(i)]).powi(2)).collect();
        sums(&squares, axis).iter().map(|sum| sum / count(axis)).collect()
    };
    let programs: [[Program; 3]; 3] = [
        [|x| x[0].sum(None, false), |x| x[0].sum(Some(&[0]), false), |x| x[0].sum(Some(&[-1]), false)],
        [|x| x[0].mean(None, false), |x| x[0].mean(Some(&[0]), true), |x| x[0].mean(Some(&[-1]), true)],
        [
            |x| x[0].variance(None, 0, false),
            |x| x[0].variance(Some(&[0]), 0, false),
            |x| x[0].variance(Some(&[-1]), 0, false),
        ],
    ];
    for ((axis, given), [sum, mean, var]) in
        axes.into_iter().zip((0..3).map(|i| [programs[0][i], programs[1][i], programs[2][i]]))
    {
        let what = format!("{given:?}");
        assert_computes(&sk, &[&[3, 5]], slots(), sum, |x| sums(&x[0], axis), &format!("sum {what}"));
        let means = |x: &[Vec<f64>]| sums(&x[0], axis).iter().map(|sum| sum / count(axis)).collect();
        assert_computes(&sk, &[&[3, 5]], slots(), mean, means, &format!("mean {what}"));
        assert_computes(
            &sk,
            &[&[3, 5]],
            slots(),
            var,
            |x| variance(&x[0], axis),
            &format!("variance {what}"),
        );
    }
    let dot = |x: &[Vec<f64>]| vec![x[0].iter().zip(&x[1]).map(|(a, b)| a * b).sum()];
    assert_computes(&sk, &[&[7], &[7]], slots(), |x| x[0].dot(&x[1]), dot, "an inner product");
    let product = |x: &[Vec<f64>]| vec![x[0].iter().product()];
    assert_computes(&sk, &[&[4]], slots(), |x| x[0].product(None, false), product, "a product");
    // Refusals name the axes that there are.
    let ev = Evaluator::new(sk.params());
    let x = EncryptedArray::new(encrypt_as(&sk, &noise(15, 1), &[3, 5], slots(), 1), &ev);
    assert_refused!(x.sum(Some(&[2]), false), CkksError::OutOfRange { .. }, "a number from -2 to 1");
    assert_refused!(x.sum(Some(&[1, -1]), false), CkksError::OutOfRange { .. }, "name each axis once");
    assert_refused!(x.sum(Some(&[]), false), CkksError::OutOfRange { .. }, "use None for all of them");
    assert_refused!(x.variance(None, 15, false), CkksError::OutOfRange { .. }, "there are 15 numbers");
}

#[test]
fn wrong_operands_are_refused_with_their_places() {
    let sk = secret(&params("insecure_small"), 92);
    let ev = Evaluator::new(sk.params());
    let x = EncryptedArray::new(encrypt_as(&sk, &noise(6, 1), &[2, 3], slots(), 1), &ev);
    let matrix = |values: [f64; 6]| PlainArray::new(Values::Real(values.to_vec()), vec![2, 3]);
    let bad = [1.0, 1.0, 1.0, 1.0, f64::NAN, 1.0];
    assert_refused!(x.add(matrix(bad)), CkksError::NotFinite { index: 4, .. }, "nan at index (1, 1)");
    assert_refused!(x.mul(f64::INFINITY), CkksError::NotFinite { .. }, "inf at index ()");
    assert_refused!(
        x.div(matrix([1.0, 0.0, 1.0, 1.0, 1.0, 1.0])),
        CkksError::OutOfRange { .. },
        "0 at index (0, 1)"
    );
    assert_refused!(x.div(0.0), CkksError::OutOfRange { .. }, "no finite inverse");
    assert_refused!(x.div(&x), CkksError::Unsuitable { .. }, "no divisor");
    let four = plain(&[1.0; 4]);
    assert_refused!(x.add(four.clone()), CkksError::Shape { .. }, "axis by axis");
    assert_refused!(x.dot(Operand::Plain(four)), CkksError::Shape { .. }, "vectors of one length");
    assert_refused!(
        EncryptedArray::concatenate(&[]),
        CkksError::Empty { .. },
        "has no terms",
        "a concatenation"
    );
}

/// An array that several products need at a higher level is bootstrapped once.
#[test]
fn one_bootstrap_serves_all_products_of_an_array() {
    let params = small();
    let recorder = Evaluator::recording(&params).bootstrapping(None).expect("evaluator");
    let low = Level(3);
    let symbol = |level: Level| {
        let own = recorder.symbol(&[params.slot_count()], Encoding::Slots, level, 1.0);
        EncryptedArray::new(own.expect("symbol"), &recorder)
    };
    let bootstraps = || {
        let recording = recorder.recorded();
        let own = recording.stages().iter().filter(|stage| stage.name.starts_with("automatic bootstrap/"));
        own.map(|stage| stage.cost.transforms).sum::<f64>()
    };
    let (x, y) = (symbol(low), symbol(params.fresh_level()));
    let square = x.mul(&x).expect("a square");
    let once = bootstraps();
    assert!(once > 0.0, "no bootstrap");
    x.mul(&y).expect("a product");
    y.mul(&x).expect("a product");
    x.mul(0.5).expect("half");
    x.left_multiply(&Matrix::new(1, 1, &[0.5]), None).err();
    assert_eq!(bootstraps(), once);
    // A product is rescaled once for all that follows, and a copy of the array knows it.
    let (settled, again) = (square.settled().expect("rescaled"), square.clone().settled().expect("rescaled"));
    assert!(std::sync::Arc::ptr_eq(&settled, &again));
    // The same numbers in another array are bootstrapped again.
    symbol(low).mul(&y).expect("a product");
    assert_eq!(bootstraps(), 2.0 * once);
}

/// Slots in which as many rows as there is room for share a polynomial.
fn in_lanes() -> EncryptOptions {
    EncryptOptions { lanes: Some(Lanes::Most), ..slots() }
}

/// `sum_k x[i, k] y[k, j]` for each of `count` matrices.
fn products(x: &[f64], y: &[f64], [count, rows, inner, columns]: [usize; 4]) -> Vec<f64> {
    let entries = (0..count).flat_map(|c| (0..rows).flat_map(move |i| (0..columns).map(move |j| (c, i, j))));
    let entry = |(c, i, j): (usize, usize, usize)| {
        let term = |k: usize| x[(c * rows + i) * inner + k] * y[(c * inner + k) * columns + j];
        (0..inner).map(term).sum()
    };
    entries.map(entry).collect()
}

#[test]
fn matrices_and_stacks_in_slots_are_multiplied() {
    let sk = secret(&params("insecure_small"), 96);
    for options in [slots(), in_lanes()] {
        for sizes in [[1, 2, 3, 2], [1, 1, 5, 1], [1, 3, 1, 4], [1, 8, 8, 8], [1, 5, 7, 3]] {
            let [_, rows, inner, columns] = sizes;
            let expected = |x: &[Vec<f64>]| products(&x[0], &x[1], sizes);
            let shapes: &[&[usize]] = &[&[rows, inner], &[inner, columns]];
            assert_computes(&sk, shapes, options, |x| x[0].matmul(&x[1]), expected, "x y");
            let shapes: &[&[usize]] = &[&[inner, rows], &[inner, columns]];
            let expected = |x: &[Vec<f64>]| {
                let transposed: Vec<f64> = (0..rows)
                    .flat_map(|i| (0..inner).map(move |k| (i, k)))
                    .map(|(i, k)| x[0][k * rows + i])
                    .collect();
                products(&transposed, &x[1], sizes)
            };
            assert_computes(
                &sk,
                shapes,
                options,
                |x| x[0].matmul_of_views(&x[1], [true, false]),
                expected,
                "x^T y",
            );
        }
        let sizes = [3, 2, 4, 2];
        let shapes: &[&[usize]] = &[&[3, 2, 4], &[3, 4, 2]];
        assert_computes(
            &sk,
            shapes,
            options,
            |x| x[0].matmul(&x[1]),
            |x| products(&x[0], &x[1], sizes),
            "stacks",
        );
        let shapes: &[&[usize]] = &[&[4], &[4, 3]];
        assert_computes(
            &sk,
            shapes,
            options,
            |x| x[0].matmul(&x[1]),
            |x| products(&x[0], &x[1], [1, 1, 4, 3]),
            "v x",
        );
    }
}

#[test]
fn sums_of_chosen_terms_are_computed() {
    let sk = secret(&params("insecure_small"), 97);
    let shapes: &[&[usize]] = &[&[2, 5], &[2]];
    let program: Program = |x| x[0].einsum(&x[1], &Subscripts::new("ij,i->j")?);
    let expected =
        |x: &[Vec<f64>]| (0..5).map(|j| x[0][j] * x[1][0] + x[0][5 + j] * x[1][1]).collect::<Vec<_>>();
    let weighted: Program =
        |x| x[0].mapped(&[2, 2], &[9, 0, 3, 3, 1, 2, 4, 5], &[0.5, -2.0, 1.0, 0.0, 1.5, 0.25, 0.0, 0.0]);
    let sums = |x: &[Vec<f64>]| {
        let x = &x[0];
        vec![0.5 * x[9] + 1.5 * x[1], -2.0 * x[0] + 0.25 * x[2], x[3], 0.0]
    };
    for options in [slots(), in_lanes()] {
        assert_computes(&sk, shapes, options, program, expected, "chosen products");
        assert_computes(&sk, shapes, options, weighted, sums, "weighted sums");
        let turned = |x: &[Vec<f64>]| (0..5).flat_map(|j| [x[0][j], x[0][5 + j]]).collect::<Vec<_>>();
        assert_computes(&sk, shapes, options, |x| x[0].permuted(&[1, 0]), turned, "a transposition");
        let padded: Program = |x| x[0].gathered(&[2, 2], &[Some(7), None, None, Some(0)]);
        assert_computes(
            &sk,
            shapes,
            options,
            padded,
            |x| vec![x[0][7], 0.0, 0.0, x[0][0]],
            "numbers and zeros",
        );
    }
}

#[test]
fn terms_that_do_not_fit_are_named() {
    let params = params("insecure_small");
    let sk = secret(&params, 98);
    let ev = Evaluator::new(&params);
    let x = EncryptedArray::new(encrypt_as(&sk, &noise(6, 1), &[6], slots(), 1), &ev);
    let refused = |labels: &str| {
        let subscripts = Subscripts::new(labels).expect("labels");
        x.einsum(&x, &subscripts).expect_err("refused").to_string()
    };
    assert!(refused("ij,ij->i").contains("a letter for each axis"));
    let mapped = |sources: &[usize], factors: &[f64]| {
        x.mapped(&[1], sources, factors).expect_err("refused").to_string()
    };
    assert!(mapped(&[0, 1], &[1.0]).contains("a factor for each"));
    assert!(mapped(&[6], &[1.0]).contains("places below 6"));
    assert!(mapped(&[0], &[f64::NAN]).to_lowercase().contains("nan"));
    assert!(x.permuted(&[0, 0]).is_err() && x.permuted(&[1]).is_err());
    assert!(x.dot(&EncryptedArray::new(encrypt_as(&sk, &noise(6, 1), &[2, 3], slots(), 1), &ev)).is_err());
}

#[test]
fn axes_of_stacks_are_added() {
    let sk = secret(&params("insecure_small"), 99);
    let shapes: &[&[usize]] = &[&[2, 3, 4]];
    let place = |a: usize, b: usize, c: usize| (a * 3 + b) * 4 + c;
    for options in [slots(), EncryptOptions { lanes: Some(Lanes::Of(1)), ..slots() }] {
        let middle = |x: &[Vec<f64>]| {
            let sum = |a: usize, c: usize| (0..3).map(|b| x[0][place(a, b, c)]).sum();
            (0..2).flat_map(|a| (0..4).map(move |c| (a, c))).map(|(a, c)| sum(a, c)).collect::<Vec<f64>>()
        };
        assert_computes(&sk, shapes, options, |x| x[0].sum(Some(&[1]), false), middle, "the middle axis");
        assert_computes(
            &sk,
            shapes,
            options,
            |x| x[0].sum(Some(&[1]), true),
            middle,
            "the middle axis, kept",
        );
        let ends = |x: &[Vec<f64>]| {
            let all = |b: usize| (0..2).flat_map(move |a| (0..4).map(move |c| place(a, b, c)));
            (0..3).map(|b| all(b).map(|at| x[0][at]).sum::<f64>() / 8.0).collect::<Vec<f64>>()
        };
        assert_computes(&sk, shapes, options, |x| x[0].mean(Some(&[0, -1]), false), ends, "two axes");
        let total = |x: &[Vec<f64>]| vec![x[0].iter().sum()];
        assert_computes(&sk, shapes, options, |x| x[0].sum(None, false), total, "all axes");
    }
}

#[test]
fn evaluators_keep_the_plans_of_their_maps() {
    let params = params("insecure_small");
    let sk = secret(&params, 100);
    let recorder = Evaluator::recording(&params);
    let symbol = recorder.symbol(&[4, 4], Encoding::Slots, params.fresh_level(), 1.0).expect("symbol");
    EncryptedArray::new(symbol, &recorder).permuted(&[1, 0]).expect("dry run");
    let ev = Evaluator::with_keys(sk.evaluation_keys(&recorder.needs()).expect("keys"));
    let x = EncryptedArray::new(encrypt_as(&sk, &noise(16, 3), &[4, 4], slots(), 3), &ev);
    let kept = || format!("{:?}", ev.kept());
    assert_eq!(kept(), "KeptPlans(0)");
    let first = x.permuted(&[1, 0]).expect("transposed");
    let once = kept();
    assert_ne!(once, "KeptPlans(0)");
    let second = x.permuted(&[1, 0]).expect("transposed");
    assert_eq!(kept(), once);
    assert_eq!(first.data().bundles(), second.data().bundles());
    // Another level is another plan.
    let lower = x.map(|ev, x| ev.drop_to_level(x, Level(1))).expect("lowered");
    lower.permuted(&[1, 0]).expect("transposed");
    assert_ne!(kept(), once);
}
