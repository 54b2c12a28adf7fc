//! How fast masks come from their seed, beside what keys are read at: `cargo run --release -p
//! clathrate-lattice --example masks`.

use std::time::Instant;

use clathrate_arith::primes::largest_primes;
use clathrate_lattice::bundle::expand_mask;
use clathrate_lattice::{Basis, Ring, SecretRng};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (degree, rows) = (1 << 16, 16);
    let ring = Ring::new(degree, &largest_primes(44, 2 * degree as u64, rows, &[])?)?;
    let (basis, seed) = (Basis::new(0..rows), SecretRng::from_seed([1; 32]).mask_seed());
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            let mask = expand_mask(&seed, &ring, &basis, 1);
            assert_eq!(mask.len(), 1);
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let packed = (rows * degree * 44 / 8) as f64;
    println!(
        "masks from a seed: {:.1} GB/s of packed 44-bit residues (median of 9)",
        packed / times[4] / 1e9
    );
    Ok(())
}
