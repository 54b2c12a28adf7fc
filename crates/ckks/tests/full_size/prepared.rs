//! Products by plans at secure parameters: every method, rows under shared masks and with masks of their own,
//! odd shapes, against plain arithmetic.

use crate::alone;
use crate::common::measure::*;
use crate::common::*;
use clathrate_arith::product::multiply_f64;
use clathrate_ckks::Matrix;
use clathrate_ckks::circuits::matrix_plan::{MatrixMethod, MatrixOptions, MatrixPlan};
use clathrate_ckks::circuits::prepared::PreparedOptions;

fn products(shape: (usize, usize, usize), ways: &[(MatrixMethod, bool)]) {
    let (rows, inner, columns) = shape;
    let params = params("matmul");
    assert!(params.security_bits() >= 128.0);
    let sk = secret(&params, 3);
    let (weights, data) = (noise(rows * inner, 1), noise(inner * columns, 2));
    let expected = multiply_f64(rows, inner, columns, &weights, &data).expect("a product");
    for &(method, own_masks) in ways {
        let precision = PreparedOptions { own_masks, ..PreparedOptions::default() };
        let options = MatrixOptions { method: Some(method), precision, ..MatrixOptions::default() };
        let plan =
            MatrixPlan::new(&params, Matrix::new(rows, inner, &weights), columns, &options).expect("a plan");
        let ev = evaluator(&sk, &plan.needs());
        let matrix = plan.prepare(&ev).expect("ready");
        let x = if own_masks {
            sk.public_key().expect("public key").encrypt_array(&data, &[inner, columns], plan.encryption())
        } else {
            sk.encrypt_array(&data, &[inner, columns], plan.encryption())
        };
        let y = matrix.multiply(&ev, &x.expect("encrypted")).expect("a product");
        let (measured, predicted) = (deviation(&decrypt(&sk, &y), &expected), plan.chosen().error);
        println!(
            "{rows} x {inner} x {columns}, {method}, {own_masks}: 2^{:.1}, predicted 2^{:.1}",
            measured.log2(),
            predicted.log2()
        );
        // Numbers are uniform, so the rounding of weights counts a third; a few numbers may lie further out.
        let most = if rows * columns < 20 { 5.0 } else { 1.2 };
        assert!(
            measured < most * predicted && predicted < 2f64.powi(-12),
            "{shape:?} {method}: {measured:e}, {predicted:e}"
        );
    }
}

/// All methods.
const ALL: [(MatrixMethod, bool); 5] = [
    (MatrixMethod::Exact, false),
    (MatrixMethod::ByRows, true),
    (MatrixMethod::Exact, true),
    (MatrixMethod::Prepared, false),
    (MatrixMethod::Prepared, true),
];

#[test]
#[ignore = "full size: make test-full"]
fn products_of_odd_shapes_are_numpys() {
    let _alone = alone();
    products((1, 1, 1), &ALL);
    products((3, 1000, 40), &[(MatrixMethod::Exact, false), (MatrixMethod::Prepared, true)]);
    products((1000, 3, 129), &[(MatrixMethod::ByRows, true), (MatrixMethod::Prepared, false)]);
    products((129, 4097, 10), &[(MatrixMethod::Exact, true)]);
    products((5, 7, 9000), &[(MatrixMethod::Exact, true), (MatrixMethod::Prepared, true)]);
}

#[test]
#[ignore = "full size: make test-full"]
fn square_products_of_512_rows_are_as_precise_as_predicted() {
    let _alone = alone();
    products((512, 512, 512), &[(MatrixMethod::Exact, true), (MatrixMethod::Prepared, true)]);
}

#[test]
#[ignore = "full size: make test-full"]
fn many_rows_of_short_vectors_are_as_precise_as_predicted() {
    let _alone = alone();
    products((4097, 129, 100), &[(MatrixMethod::Exact, false), (MatrixMethod::Prepared, true)]);
}
