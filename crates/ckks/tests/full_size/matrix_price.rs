//! Predicted times of `W @ ct` against measured ones, on this machine's own profile. Alone in its program, so
//! that nothing else runs beside it.

use std::time::Instant;

use crate::alone;
use crate::common::measure::noise;
use crate::common::{encrypt_as, secret};
use clathrate_ckks::Weights;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Encoding, Evaluator, Params, Progress, Runtime};

/// Runs of each product, the shortest of which is compared: whatever else the machine does only adds to a
/// time.
const RUNS: usize = 15;

/// Rounds, of which one must find all predictions right: another program that runs during a profile, but not
/// during the products, makes them wrong.
const ROUNDS: usize = 3;

#[test]
#[ignore = "compares times, which needs a quiet machine and a release build: make test-full"]
fn predicted_times_of_matrix_products_are_within_a_factor_of_two() {
    let _alone = alone();
    let rounds: Vec<Vec<String>> =
        (0..ROUNDS).map(|_| wrong_predictions()).take_while(|faults| !faults.is_empty()).collect();
    assert!(rounds.len() < ROUNDS, "in every round: {rounds:#?}");
}

/// A line for each prediction that is wrong by more than a factor of two.
fn wrong_predictions() -> Vec<String> {
    let profile = Runtime::default().measure(&Progress::none()).expect("a profile");
    println!("{:?}", profile.matrix);
    let mut faults = Vec::new();
    for (name, shapes) in [
        (
            "matmul",
            &[
                (1, 1, 1),
                (1, 1, 20_000),
                (1, 64, 8192),
                (64, 1, 8192),
                (16, 16, 1),
                (64, 64, 8192),
                (200, 300, 4096),
            ][..],
        ),
        ("paper_pcmm", &[(1, 1, 1), (8, 8, 1), (1, 200, 1), (200, 1, 1), (128, 256, 4096)][..]),
        ("rank2_n14", &[(1, 1, 1), (32, 32, 8192)][..]),
    ] {
        let params = Params::preset(name, &Runtime { profile: Some(profile.clone()), ..Runtime::default() })
            .expect("preset");
        let owner = secret(&params, 1);
        let (recorder, evaluator) = (Evaluator::recording(&params), Evaluator::new(&params));
        for &(rows, inner, columns) in shapes {
            let values = noise(rows * inner, 2);
            let shape = [inner, columns];
            let symbol =
                recorder.symbol(&shape, Encoding::Coefficients, params.max_level(), 1.0).expect("a symbol");
            let weights = Weights::encode(&recorder, rows, inner, &values, &symbol).expect("weights");
            let before = recorder.recorded().cost().nanoseconds;
            weights.multiply(&recorder, &symbol).expect("a dry run");
            let predicted = recorder.recorded().cost().nanoseconds - before;

            let x = encrypt_as(
                &owner,
                &Values::Real(noise(inner * columns, 3)),
                &shape,
                EncryptOptions::default(),
                4,
            );
            let measured = (0..RUNS)
                .map(|_| {
                    let start = Instant::now();
                    let product = weights.multiply(&evaluator, &x).expect("a product");
                    let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
                    assert_eq!(product.shape(), [rows, columns]);
                    nanoseconds
                })
                .fold(f64::INFINITY, f64::min);
            let ratio = predicted / measured;
            let line = format!(
                "{name}: {rows} x {inner} times {columns}: {:.3} ms, predicted / measured = {ratio:.2}",
                measured / 1e6
            );
            println!("{line}");
            if !(0.5..=2.0).contains(&ratio) {
                faults.push(line);
            }
        }
    }
    faults
}
