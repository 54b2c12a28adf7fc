//! Speed of the samplers on this machine, one thread: median and minimum of 101 runs over 2^16 coefficients.
//!
//! `cargo run --release -p clathrate-lattice --example sampling_speed`

use std::hint::black_box;
use std::time::Instant;

use clathrate_arith::Modulus;
use clathrate_lattice::sampling::{MaskSeed, MaskXof, SamplingError, SecretRng};

const COUNT: usize = 1 << 16;
const RUNS: usize = 101;

fn report(name: &str, bytes: usize, mut work: impl FnMut()) {
    work();
    let mut seconds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let (median, least) = (seconds[RUNS / 2], seconds[0]);
    println!(
        "{name:32} median {:7.1} us = {:6.2} ns each = {:5.2} GB/s; least {:7.1} us",
        median * 1e6,
        median * 1e9 / COUNT as f64,
        bytes as f64 / median / 1e9,
        least * 1e6
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seed = MaskSeed([7; 32]);
    let bytes = COUNT * 8;
    let mut reader = blake3::Hasher::new_keyed(&seed.0).finalize_xof();
    let mut raw = vec![0u8; bytes];
    for read in [1 << 10, 1 << 12, 1 << 14, 1 << 16] {
        report(&format!("BLAKE3 output, {read}-byte reads"), bytes, || {
            raw.chunks_mut(read).for_each(|chunk| reader.fill(black_box(chunk)))
        });
    }
    let mut row = vec![0u64; COUNT];
    for q in [(1u64 << 40) - 87, (1 << 49) - 81, (1 << 60) - 93] {
        let modulus = Modulus::new(q)?;
        let mut xof = MaskXof::new(&seed, "speed", &[q]);
        report(&format!("uniform residues, {} bits", modulus.bits()), bytes, || {
            xof.fill_uniform(&modulus, black_box(&mut row))
        });
    }
    let mut rng = SecretRng::from_os()?;
    report("ChaCha20 bytes", bytes, || rng.fill_bytes(black_box(&mut raw)));
    let mut samples = vec![0i64; COUNT];
    report("ternary uniform", bytes, || rng.ternary_uniform(black_box(&mut samples)));
    report("gaussian", bytes, || rng.gaussian(black_box(&mut samples)));
    report("flooding, 40 bits", bytes, || {
        rng.flooding_uniform(black_box(&mut samples), 40).expect("40 bits are supported")
    });
    let mut result: Result<(), SamplingError> = Ok(());
    report("ternary of weight 192", bytes, || {
        result = rng.ternary_fixed_weight(black_box(&mut samples), 192)
    });
    result?;
    Ok(())
}
