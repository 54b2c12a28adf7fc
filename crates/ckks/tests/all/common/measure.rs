//! Errors measured in bits, against predicted variances.
#![allow(dead_code)]

use clathrate_ckks::{Ciphertext, Params, SecretKey};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

/// `count` numbers in [-1, 1) without visible pattern, from `seed`.
pub fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// `count` complex numbers whose parts are as those of [`noise`].
pub fn complex(count: usize, seed: u64) -> Vec<Complex64> {
    noise(2 * count, seed).chunks(2).map(|pair| Complex64::new(pair[0], pair[1])).collect()
}

/// `count` complex numbers of magnitude 1.
pub fn phases(count: usize, seed: u64) -> Vec<Complex64> {
    noise(count, seed).iter().map(|&x| Complex64::from_polar(1.0, x * std::f64::consts::PI)).collect()
}

/// Root mean square of the differences.
pub fn deviation(got: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    (got.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / got.len() as f64).sqrt()
}

/// Root mean square of the real and imaginary parts' differences.
pub fn complex_deviation(got: &[Complex64], expected: &[Complex64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    (got.iter().zip(expected).map(|(a, b)| (a - b).norm_sqr()).sum::<f64>() / (2 * got.len()) as f64).sqrt()
}

/// Decrypts complex slots.
pub fn decrypt_complex(sk: &SecretKey, ct: &Ciphertext) -> Vec<Complex64> {
    sk.decrypt(ct).expect("decrypt").into_complex()
}

/// Asserts that a measured deviation has the predicted bits right of the point, within `slack` bits either
/// way.
pub fn assert_bits(what: &str, measured: f64, predicted_bits: f64, slack: f64) {
    let bits = -measured.log2();
    println!("{what}: {bits:.2} bits, predicted {predicted_bits:.2}");
    assert!(
        (bits - predicted_bits).abs() <= slack,
        "{what}: measured {bits:.3} bits, predicted {predicted_bits:.3}"
    );
}

/// Bits of a slot's real part where every coefficient's error has this variance, in scaled units.
pub fn slot_bits(params: &Params, variance: f64, scale: f64) -> f64 {
    -((variance * params.degree() as f64 / 2.0).sqrt() / scale).log2()
}

/// Variance that one rotation, or the relinearisation with `inputs` inputs, adds at `level` by keys made for
/// levels up to `level`: they have no primes of higher steps to borrow.
pub fn switch_variance(params: &Params, inputs: usize, level: Level) -> f64 {
    let plan = params
        .switcher()
        .and_then(|switcher| Ok(switcher.tables_for(level, level)?))
        .expect("special primes");
    params.noise_model().coalesced_switch(inputs, &plan.noise_digits())
}

/// Checks the chain: primes distinct, congruent and below `limit_bits`; scales canonical and near the nominal
/// one. Answers the largest deviation of a scale, relatively.
pub fn check_chain(params: &Params, limit_bits: f64) -> f64 {
    let name = &params.spec().name;
    let moduli: Vec<u64> = params.chain().ring().moduli().iter().map(|q| q.value()).collect();
    for (i, &q) in moduli.iter().enumerate() {
        assert_eq!(q % (2 * params.degree() as u64), 1, "{name}: {q}");
        assert!(!moduli[..i].contains(&q), "{name}: {q} twice");
        assert!((q as f64).log2() < limit_bits, "{name}: {q} has {} bits", (q as f64).log2());
    }
    let nominal = params.spec().log2_scale.exp2();
    let top = params.max_level();
    assert_eq!(params.scale(top), nominal);
    let mut worst = 0f64;
    for level in (1..=top.0).rev() {
        let (here, below) = (params.scale(Level(level)), params.scale(Level(level - 1)));
        let product = here * here / params.step_product(Level(level));
        // A step of another size altogether starts from the nominal scale again.
        if (product / nominal).log2().abs() < 1.0 {
            assert_eq!(below, product, "{name} at level {level}");
        } else {
            assert_eq!(below, nominal, "{name} at level {level}");
        }
        worst = worst.max((below / nominal - 1.0).abs());
    }
    worst
}

/// The measured errors of an array are what it says: their root mean square within a factor of 2, or more
/// where there are few of them, and none beyond the bound.
pub fn assert_errors(errors: &[f64], stated: &Ciphertext, what: &str) {
    let (rms, bound) = (stated.error_rms().expect("known"), stated.error_bound().expect("known"));
    let measured = (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt();
    let largest = errors.iter().fold(0.0f64, |most, error| most.max(error.abs()));
    let factor = 2.0 * (1.0 + 3.0 / (errors.len() as f64).sqrt());
    println!("{what}: measured {measured:.2e}, stated {rms:.2e}; largest {largest:.2e}, bound {bound:.2e}");
    assert!(
        measured <= factor * rms && measured >= rms / factor,
        "{what}: measured {measured:e}, stated {rms:e}"
    );
    assert!(largest <= bound, "{what}: an error of {largest:e} beyond the bound {bound:e}");
}
