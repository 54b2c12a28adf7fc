//! The product of two encrypted matrices at a secure set.

use std::time::Instant;

use crate::alone;
use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::circuits::encrypted_matrix::multiply_transposed;
use clathrate_ckks::keys::{EncryptOptions, KeyLevel, Lanes, Values};
use clathrate_ckks::{Encoding, KeyNeeds};

#[test]
#[ignore = "full size: make test-full"]
fn product_of_encrypted_matrices_is_right_at_a_secure_set() {
    let _alone = alone();
    let (rows, inner, columns) = (300, 1000, 500);
    let params = params("ccmm_n12");
    let sk = secret(&params, 1);
    let (x, y) = (noise(inner * rows, 2), noise(inner * columns, 3));
    let options = EncryptOptions {
        encoding: Some(Encoding::Coefficients),
        lanes: Some(Lanes::Most),
        ..EncryptOptions::default()
    };
    let left = encrypt_as(&sk, &Values::Real(x.clone()), &[inner, rows], options, 4);
    let right = encrypt_as(&sk, &Values::Real(y.clone()), &[inner, columns], options, 5);
    assert_eq!((left.layout().lanes(), right.layout().lanes()), (8, 8));
    let needs = KeyNeeds::new().encrypted_matrices(&params, KeyLevel::Top);
    let ev = evaluator(&sk, &needs);
    let start = Instant::now();
    let product = ev.rescale(&multiply_transposed(&ev, &left, &right).expect("product")).expect("rescale");
    println!("product {:.1} s", start.elapsed().as_secs_f64());
    let got = decrypt(&sk, &product);
    // Uniform in [-1, 1): mean square 1/3. Errors of both encryptions, then of the rescale; those of the
    // switches are far below.
    let (terms, third, model) = (inner as f64, 1.0 / 3.0, params.noise_model());
    let fresh = model.fresh_secret() + 1.0 / 12.0;
    let variance =
        2.0 * terms * third * fresh / left.scale().powi(2) + model.rounding() / product.scale().powi(2);
    let mut expected = vec![0.0; rows * columns];
    for r in 0..inner {
        for i in 0..rows {
            let factor = x[r * rows + i];
            expected[i * columns..(i + 1) * columns]
                .iter_mut()
                .zip(&y[r * columns..])
                .for_each(|(sum, y)| *sum += factor * y);
        }
    }
    let measured = deviation(&got, &expected);
    assert!(
        (0.95..1.05).contains(&(measured / variance.sqrt())),
        "{measured:e}, predicted {:e}",
        variance.sqrt()
    );
}
