//! The matrix product at full size: right to the predicted error, in memory that grows as the data. Alone in
//! its program, whose peak memory is what it measures.

#[path = "all/common/mod.rs"]
mod common;

use std::time::Instant;

use clathrate_ckks::Evaluator;
use clathrate_ckks::Weights;
use clathrate_ckks::keys::{EncryptOptions, Values};
use common::measure::*;
use common::*;

/// Peak resident memory of this process in bytes.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10)
}

#[test]
#[ignore = "full size: make test-full"]
fn product_of_2_to_10_by_2_to_10_with_2_to_12_columns_is_right_in_bounded_memory() {
    let (rows, inner, columns) = (1 << 10, 1 << 10, 1 << 12);
    let params = params("matmul");
    let sk = secret(&params, 1);
    let (w, m) = (noise(rows * inner, 2), Values::Real(noise(inner * columns, 3)));
    let start = Instant::now();
    let ct = encrypt_as(&sk, &m, &[inner, columns], EncryptOptions::default(), 4);
    println!("encrypt {:.1} s", start.elapsed().as_secs_f64());
    let ev = Evaluator::new(&params);
    let weights = Weights::encode(&ev, rows, inner, &w, &ct).expect("weights");
    let start = Instant::now();
    let product = weights.multiply(&ev, &ct).expect("product");
    println!("product {:.1} s", start.elapsed().as_secs_f64());
    let data = ct.bytes() + product.bytes();
    let product = ev.rescale(&product).expect("rescale");
    let got = decrypt(&sk, &product);
    if let Some(peak) = peak_memory() {
        println!("peak {} MiB for {} MiB of ciphertexts", peak >> 20, data >> 20);
        assert!(peak <= 2 * data + (256 << 20), "{peak} bytes for {data} of ciphertexts");
    }
    let Values::Real(m) = m else { unreachable!("made so above") };
    // Uniform in [-1, 1): mean square 1/3. Errors of the encryption and of both roundings to integers, then
    // of the rescale.
    let (terms, third, model) = (inner as f64, 1.0 / 3.0, params.noise_model());
    let variance = terms * third * (model.fresh_secret() + 1.0 / 12.0) / ct.scale().powi(2)
        + terms * third / 12.0 / weights.scale().powi(2)
        + model.rounding() / product.scale().powi(2);
    let mut squares = 0.0;
    let mut worst = 0f64;
    let mut line = vec![0.0; columns];
    for i in 0..rows {
        line.fill(0.0);
        for j in 0..inner {
            let weight = w[i * inner + j];
            line.iter_mut().zip(&m[j * columns..(j + 1) * columns]).for_each(|(sum, m)| *sum += weight * m);
        }
        for (g, e) in got[i * columns..(i + 1) * columns].iter().zip(&line) {
            squares += (g - e).powi(2);
            worst = worst.max((g - e).abs());
        }
    }
    assert_bits("matrix product", (squares / (rows * columns) as f64).sqrt(), -variance.sqrt().log2(), 0.1);
    let bound = clathrate_lattice::noise::bound(variance, rows * columns, 20.0);
    assert!(worst <= bound, "worst error {worst:e} over {bound:e}");
}
