//! Products of two encrypted matrices, and transpositions: right for every shape, rank and layout, with the
//! predicted errors; what does not fit is refused.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::encrypted_matrix::multiply_transposed;
use clathrate_ckks::circuits::encrypted_matrix::transpose;
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Lanes, Values};
use clathrate_ckks::{Ciphertext, CkksError, Encoding, Evaluator, KeyNeeds, Params, SecretKey};

fn coefficients(lanes: Option<Lanes>) -> EncryptOptions {
    EncryptOptions { encoding: Some(Encoding::Coefficients), lanes, ..EncryptOptions::default() }
}

/// The preset with a quarter of its degree: transpositions take time that grows with the square of the
/// degree.
fn quarter(name: &str) -> Params {
    let mut spec = to_change(&params(name));
    spec.degree /= 4;
    Params::new(spec, &base_runtime()).expect("parameters")
}

/// `X^T Y`, row-major.
fn product(x: &[f64], y: &[f64], (rows, inner, columns): (usize, usize, usize)) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..inner).map(|r| x[r * rows + i] * y[r * columns + j]).sum::<f64>();
    (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect()
}

fn transposed(x: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|j| (0..rows).map(move |i| x[i * columns + j])).collect()
}

type Circuit<'c> = &'c dyn Fn(&Evaluator, &[Ciphertext]) -> Result<Ciphertext, CkksError>;

/// Runs the circuit on data, with the keys that a dry run says: the result, its deviation and that predicted,
/// of one input without the errors of the encryption.
fn run(
    sk: &SecretKey,
    inputs: &[Ciphertext],
    expected: &[f64],
    circuit: Circuit<'_>,
) -> (Ciphertext, f64, f64) {
    let recorder = Evaluator::recording(sk.params());
    let symbol = |x: &Ciphertext| {
        let symbol =
            Ciphertext::symbol_with(x.params(), x.shape(), *x.layout(), x.secret(), x.level(), x.scale())
                .expect("a symbol");
        recorder.take_symbol(symbol, Some(1.0)).expect("a symbol")
    };
    let symbols: Vec<Ciphertext> = inputs.iter().map(symbol).collect();
    let planned = circuit(&recorder, &symbols).expect("a dry run");
    let ev = evaluator(sk, &recorder.needs());
    let result = circuit(&ev, inputs).expect("the circuit");
    assert_eq!(
        (result.shape(), result.level(), result.scale(), result.layout()),
        (planned.shape(), planned.level(), planned.scale(), planned.layout())
    );
    let measured = deviation(&decrypt(sk, &result), expected);
    let fresh = if inputs.len() == 1 { symbols[0].error_rms().expect("bounds") } else { 0.0 };
    // Independent errors add in squares.
    (result, measured, (planned.error_rms().expect("bounds").powi(2) - fresh * fresh).sqrt())
}

fn check_transposition(params: &Params, (rows, columns): (usize, usize), lanes: Option<Lanes>) {
    let (sk, data) = (secret(params, 3), noise(rows * columns, 7));
    let x = encrypt_as(&sk, &Values::Real(data.clone()), &[rows, columns], coefficients(lanes), 5);
    // Errors of the encryption are transposed with the numbers, so that those of the switches are left.
    let expected = transposed(&decrypt(&sk, &x), rows, columns);
    let (result, measured, predicted) = run(&sk, &[x], &expected, &|ev, x| transpose(ev, &x[0]));
    assert_eq!(result.shape(), [columns, rows]);
    assert_close(&decrypt(&sk, &result), &transposed(&data, rows, columns), 1e-7);
    let range = if rows * columns > 500 { 0.9..1.1 } else { 0.0..2.0 };
    assert!(
        range.contains(&(measured / predicted)),
        "{rows} x {columns}: {measured:e}, predicted {predicted:e}"
    );
}

#[test]
fn transpositions_are_right_for_every_shape() {
    for name in ["insecure_small", "insecure_rank2"] {
        let params = quarter(name);
        let n = params.degree();
        for shape in [(1, 1), (3, 5), (1, n), (n, 1), (n / 2, 7), (n + 3, 4), (5, n + 2)] {
            check_transposition(&params, shape, None);
        }
        for shape in [(12, 16), (5, 3), (3, 2), (2, 64)] {
            check_transposition(&params, shape, Some(Lanes::Most));
        }
    }
}

#[test]
fn products_of_encrypted_matrices_are_right_for_every_shape() {
    // At rank 3, which stays odd, the secret has products of different polynomials.
    for name in ["insecure_small", "insecure_rank2", "insecure_rank3"] {
        let params = quarter(name);
        let n = params.degree();
        for (rows, inner, columns) in
            [(1, 1, 1), (3, 2, 5), (n, 3, 4), (5, 9, n), (n + 1, 2, 3), (2, 3, n + 5), (33, 40, 17)]
        {
            let sk = secret(&params, 3);
            let (x, y) = (noise(inner * rows, 1), noise(inner * columns, 2));
            let left = encrypt_as(&sk, &Values::Real(x.clone()), &[inner, rows], coefficients(None), 5);
            let right = encrypt_as(&sk, &Values::Real(y.clone()), &[inner, columns], coefficients(None), 6);
            let expected = product(&x, &y, (rows, inner, columns));
            let (result, measured, predicted) = run(&sk, &[left, right], &expected, &|ev, x| {
                ev.rescale(&multiply_transposed(ev, &x[0], &x[1])?)
            });
            assert_eq!(result.shape(), [rows, columns]);
            assert!(
                measured < predicted,
                "{name}, {rows} x {inner} x {columns}: {measured:e}, predicted {predicted:e}"
            );
        }
    }
}

#[test]
fn rows_that_share_polynomials_are_multiplied() {
    let params = params("insecure_small");
    let (sk, rows, inner, columns) = (secret(&params, 3), 16, 21, 16);
    let (x, y) = (noise(inner * rows, 1), noise(inner * columns, 2));
    let left = encrypt_as(&sk, &Values::Real(x.clone()), &[inner, rows], coefficients(Some(Lanes::Most)), 5);
    let right =
        encrypt_as(&sk, &Values::Real(y.clone()), &[inner, columns], coefficients(Some(Lanes::Most)), 6);
    assert!(left.layout().lanes() > 1);
    let expected = product(&x, &y, (rows, inner, columns));
    let (result, measured, predicted) =
        run(&sk, &[left, right], &expected, &|ev, x| ev.rescale(&multiply_transposed(ev, &x[0], &x[1])?));
    assert_eq!(result.params().degree(), 16);
    assert!(measured < predicted, "{measured:e}, predicted {predicted:e}");
}

#[test]
fn operands_of_different_degrees_meet_at_the_lower_one() {
    let params = quarter("insecure_small");
    let (sk, rows, inner, columns) = (secret(&params, 3), 256, 6, 64);
    let (x, y) = (noise(inner * rows, 1), noise(inner * columns, 2));
    let left = encrypt_as(&sk, &Values::Real(x.clone()), &[inner, rows], coefficients(None), 5);
    let right =
        encrypt_as(&sk, &Values::Real(y.clone()), &[inner, columns], coefficients(Some(Lanes::Most)), 6);
    let expected = product(&x, &y, (rows, inner, columns));
    let (result, measured, predicted) =
        run(&sk, &[left, right], &expected, &|ev, x| ev.rescale(&multiply_transposed(ev, &x[0], &x[1])?));
    assert_eq!((result.params().degree(), result.shape()), (64, &[rows, columns][..]));
    assert!(measured < predicted, "{measured:e}, predicted {predicted:e}");
}

#[test]
fn what_is_missing_is_told_at_once() {
    let params = params("insecure_small");
    let sk = secret(&params, 3);
    let x = encrypt_as(&sk, &Values::Real(noise(6, 1)), &[2, 3], coefficients(None), 5);
    let none = evaluator(&sk, &KeyNeeds::new());
    assert!(matches!(multiply_transposed(&none, &x, &x), Err(CkksError::MissingKeys { .. })));
    let needs = KeyNeeds::new().encrypted_matrices(&params, KeyLevel::Level(params.max_level().0));
    let ev = evaluator(&sk, &needs);
    multiply_transposed(&ev, &x, &x).expect("a product");
    let other = encrypt_as(&sk, &Values::Real(noise(9, 1)), &[3, 3], coefficients(None), 5);
    assert!(matches!(multiply_transposed(&ev, &x, &other), Err(CkksError::Shape { .. })));
    let slots = encrypt_as(
        &sk,
        &Values::Real(noise(6, 1)),
        &[2, 3],
        EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() },
        5,
    );
    assert!(matches!(multiply_transposed(&ev, &x, &slots), Err(CkksError::Encoding { .. })));
    assert!(matches!(transpose(&ev, &slots), Err(CkksError::Encoding { .. })));
    let vector = encrypt_as(&sk, &Values::Real(noise(6, 1)), &[6], coefficients(None), 5);
    assert!(matches!(transpose(&ev, &vector), Err(CkksError::Shape { .. })));
    let low = ev.drop_to_level(&x, clathrate_lattice::Level(0)).expect("level 0");
    assert!(matches!(multiply_transposed(&ev, &low, &x), Err(CkksError::LevelTooLow { .. })));
    let samples = ev.to_lwe(&x).expect("samples");
    assert!(matches!(transpose(&ev, &samples), Err(CkksError::Unsuitable { .. })));
    assert!(matches!(multiply_transposed(&ev, &x, &samples), Err(CkksError::Unsuitable { .. })));
    let _ = KeyNeeds::new().encrypted_matrices(samples.params(), KeyLevel::Top);
    let stopped = multiply_transposed(&ev.with_progress(cancelling_after(3)), &x, &x);
    assert!(matches!(stopped, Err(CkksError::Cancelled)));
}
