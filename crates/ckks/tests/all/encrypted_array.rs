//! Encrypted arrays: operators compute what NumPy computes, on data as on symbols, and what an array becomes
//! for one operation serves the next ones.

use crate::common::bootstraps::*;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::encrypted_array::{EncryptedArray, Operand, PlainArray};
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, Level, Matrix, SecretKey};

/// What arrays and their plain numbers are computed by.
type Program = fn(&[EncryptedArray]) -> Result<EncryptedArray, CkksError>;

/// Runs `program` on symbols and on data made of `values`, and compares: acceptance, shape, level, scale; the
/// numbers with `expected`.
fn assert_computes(
    sk: &SecretKey,
    shapes: &[&[usize]],
    options: EncryptOptions,
    program: Program,
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
    PlainArray { values: Values::Real(values.to_vec()), shape: vec![values.len()] }
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
    let matrix = |values: [f64; 6]| PlainArray { values: Values::Real(values.to_vec()), shape: vec![2, 3] };
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
