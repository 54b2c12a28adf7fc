//! Moves of the degree on this machine, one thread: a bundle between degree 2^16 at rank 1 and smaller
//! degrees, in Eval form, through Coeff form, and beside the time that reading and writing its words takes at
//! all.
//!
//! `cargo run --release -p clathrate-lattice --example degree_moves [primes] [runs]`

use std::hint::black_box;
use std::time::Instant;

use clathrate_arith::kernels::stream::wrapping_sum;
use clathrate_arith::primes::largest_primes;
use clathrate_lattice::bundle::expand_mask;
use clathrate_lattice::sampling::MaskSeed;
use clathrate_lattice::{Basis, Bundle, Eval, LatticeError, Ring};

const DEGREE: usize = 1 << 16;
const BITS: u32 = 45;

/// A thing to time: its name, bytes read and written, what it does.
type Contender<'a> = (String, f64, Box<dyn Fn() -> Result<(), LatticeError> + 'a>);

fn bundle(ring: &Ring, basis: &Basis, rank: usize, seed: u8) -> Result<Bundle<Eval>, LatticeError> {
    Bundle::from_seed(MaskSeed([seed; 32]), rank, &expand_mask(&MaskSeed([seed + 1; 32]), ring, basis, 1))
}

/// Interleaved medians, in seconds.
fn medians(contenders: &[Contender], runs: usize) -> Result<Vec<f64>, LatticeError> {
    let mut times = vec![Vec::with_capacity(runs); contenders.len()];
    for run in 0..=runs {
        for turn in 0..contenders.len() {
            let which = (turn + run) % contenders.len();
            let start = Instant::now();
            contenders[which].2()?;
            // One round warms up.
            if run > 0 {
                times[which].push(start.elapsed().as_secs_f64());
            }
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(times.into_iter().map(median).collect())
}

fn main() -> Result<(), LatticeError> {
    let argument = |index: usize, default: usize| {
        std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (primes, runs) = (argument(1, 42), argument(2, 15));
    let moduli = largest_primes(BITS, 2 * DEGREE as u64, primes, &[])?;
    let (large, basis) = (Ring::new(DEGREE, &moduli)?, Basis::new(0..primes));
    println!("{}, {primes} primes of {BITS} bits, medians of {runs}", large.engine().describe());
    let whole = bundle(&large, &basis, 1, 1)?;
    let polynomial = (primes * DEGREE * 8) as f64;
    // Other words than those that the moves leave in the caches, and of the same size as what a move touches.
    let mut words = vec![0u64; 2 * primes * DEGREE];
    words.iter_mut().enumerate().for_each(|(i, word)| *word = i as u64);
    let mut copy = vec![0u64; words.len()];
    let target = std::cell::RefCell::new(&mut copy);
    for gap in [2, 4, 8] {
        let small = Ring::new(DEGREE / gap, &moduli)?;
        let parts = bundle(&small, &basis, gap, 3)?;
        // Mask and body at the large degree, mask and 1/gap of a body at the small one, and 1 - 1/gap of a
        // polynomial of quotients from the tables.
        let moved = 4.0 * polynomial;
        let embed = || {
            black_box(parts.embed(&large)?);
            Ok(())
        };
        let extract = || {
            black_box(whole.extract(&small)?);
            Ok(())
        };
        let embed_coeff = || {
            let coefficients = parts.try_map(|poly| Ok(poly.to_coeff()))?;
            black_box(coefficients.embed(&large)?.into_eval());
            Ok(())
        };
        let extract_coeff = || {
            let coefficients = whole.try_map(|poly| Ok(poly.to_coeff()))?;
            black_box(coefficients.extract(&small)?.into_eval());
            Ok(())
        };
        let read = || {
            black_box(wrapping_sum(&words));
            Ok(())
        };
        let copied = || {
            target.borrow_mut().copy_from_slice(&words);
            black_box(&target);
            Ok(())
        };
        let contenders: [Contender; 6] = [
            (format!("embed by {gap}"), moved, Box::new(embed)),
            (format!("extract by {gap}"), moved, Box::new(extract)),
            (format!("embed by {gap} through Coeff form"), moved, Box::new(embed_coeff)),
            (format!("extract by {gap} through Coeff form"), moved, Box::new(extract_coeff)),
            ("reading as many words".into(), 2.0 * polynomial, Box::new(read)),
            ("copying as many words".into(), 4.0 * polynomial, Box::new(copied)),
        ];
        let times = medians(&contenders, runs)?;
        let rates: Vec<f64> =
            contenders.iter().zip(&times).map(|((_, bytes, _), time)| bytes / time / 1e9).collect();
        for (((name, ..), time), rate) in contenders.iter().zip(&times).zip(&rates) {
            println!("{name:36} {:8.2} ms {rate:6.1} GB/s", time * 1e3);
        }
        println!(
            "gap {gap}: Coeff form takes {:.1} and {:.1} times as long; a copy of the same traffic {:.2} and {:.2} times",
            times[2] / times[0],
            times[3] / times[1],
            rates[0] / rates[5],
            rates[1] / rates[5],
        );
    }
    Ok(())
}
