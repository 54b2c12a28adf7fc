//! Products inside bootstraps: every shape, method and number of bodies against the product in the clear. Small degrees are not secure.

mod common;

use clathrate_ckks::circuits::bootstrap::{BootstrapOptions, BootstrapPlan};
use clathrate_ckks::circuits::mambo::{MamboOptions, MamboPlan};
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions};
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Ciphertext, CkksError, Complex64, Encoding, SecretKey};
use common::bootstraps::*;
use common::measure::*;
use common::*;

/// Weights whose products with numbers of magnitude 1 stay so, as rows.
fn weights(rows: usize, inner: usize, seed: u64) -> Vec<f64> {
    noise(rows * inner, seed).into_iter().map(|w| w / inner as f64 * 1.4).collect()
}

fn encrypted(sk: &SecretKey, plan: &MamboPlan, x: &[Complex64], real: bool) -> Ciphertext {
    let shape = plan.array_shapes().0;
    let mut all = x.to_vec();
    all.resize(shape.iter().product(), Complex64::default());
    let values = if real { Values::Real(all.iter().map(|x| x.re).collect()) } else { Values::Complex(all) };
    encrypt_as(sk, &values, &shape, plan.encryption(), 3)
}

/// `W X` for rows of `columns` numbers.
fn product(w: &[f64], x: &[Complex64], columns: usize) -> Vec<Complex64> {
    let inner = x.len() / columns;
    let entry = |row: &[f64], column: usize| row.iter().enumerate().map(|(k, w)| x[k * columns + column] * w).sum();
    w.chunks_exact(inner).flat_map(|row| (0..columns).map(move |column| entry(row, column))).collect()
}

#[test]
fn products_inside_bootstraps_are_the_products() {
    let params = small();
    let sk = secret(&params, 3);
    let slots = params.slot_count();
    let exact = Some(MatrixMethod::Exact);
    for (rows, inner, columns, bodies, real, method) in [
        (1, 1, slots, 1, false, None),
        (3, 5, slots, 1, false, Some(MatrixMethod::ByRows)),
        (16, 16, 32, 1, false, exact),
        (5, 40, 32, 2, false, exact),
        (40, 7, 64, 2, true, exact),
        (64, 64, 8, 1, false, exact),
        (1, 100, 16, 1, true, exact),
        (128, 128, 16, 4, false, None),
    ] {
        let w = weights(rows, inner, 4);
        let x = complex(inner * columns, 5);
        let x: Vec<Complex64> = if real { x.iter().map(|x| x.re.into()).collect() } else { x };
        let options = MamboOptions {
            bootstrap: BootstrapOptions { bodies, real, ..BootstrapOptions::default() },
            matrix: MatrixOptions { method, ..MatrixOptions::default() },
        };
        let plan = MamboPlan::new(&params, (rows, inner, &w), columns, &options).expect("plan");
        let ev = evaluator(&sk, &plan.needs().expect("needs"));
        let ct = encrypted(&sk, &plan, &x, real);
        let (shapes, predicted, bootstrap) =
            (plan.array_shapes(), plan.predicted_error().expect("prediction"), plan.bootstrap().output_level());
        let matrix = plan.prepare(&ev, &mut |_, _| true).expect("keys");
        let fresh = ev.mambo(&matrix, &ct, &mut |_, _| true).expect("product");
        assert_eq!((fresh.shape(), fresh.level(), fresh.encoding()), (&shapes.1[..], bootstrap, Encoding::Slots));
        let got = decrypt_complex(&sk, &fresh);
        let expected = product(&w, &x, columns);
        let measured = complex_deviation(&got[..expected.len()], &expected) * if real { 2f64.sqrt() } else { 1.0 };
        println!(
            "{rows} x {inner}, {columns} slots a row, {bodies} bodies: {:.2} bits, predicted {:.2}",
            -measured.log2(),
            -predicted.log2()
        );
        assert!(measured < 1.2 * predicted && measured > 0.3 * predicted, "{rows} x {inner}: {measured:e}, predicted {predicted:e}");
        // Rows behind those of the product are zero.
        assert!(got[expected.len()..].iter().all(|z| z.norm() < 1e-3));
    }
}
