//! Random walks: long mixed computations on ciphertexts against the same in clear, at every rank, whatever
//! levels and scales meet.

use crate::common::measure::*;
use crate::common::*;
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Ciphertext, CkksError, KeyNeeds};
use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

type State = (Ciphertext, Vec<Complex64>);

fn zip(x: &State, y: &State, f: fn(Complex64, Complex64) -> Complex64) -> Vec<Complex64> {
    x.1.iter().zip(&y.1).map(|(a, b)| f(*a, *b)).collect()
}

#[test]
fn random_computations_match_the_clear_ones_at_every_rank() {
    for (name, slots) in
        [("insecure_tiny", 32), ("insecure_tiny", 8), ("insecure_rank2", 256), ("insecure_rank3", 128)]
    {
        let params = params(name);
        let sk = secret(&params, 1);
        let steps = [1i64, 3, -2];
        let ev = evaluator(
            &sk,
            &KeyNeeds::new()
                .relinearise(KeyLevel::Top)
                .conjugate(KeyLevel::Top)
                .rotations(steps, KeyLevel::Top),
        );
        let mut state = 9u64;
        let mut roll = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % bound
        };
        let (mut done, mut refused) = (0, 0);
        for walk in 0..20u64 {
            let fresh = |seed: u64| -> State {
                let z = phases(slots, 100 * walk + seed);
                (
                    encrypt_as(
                        &sk,
                        &Values::Complex(z.clone()),
                        &[slots],
                        EncryptOptions::default(),
                        (3 * walk + seed) as u8,
                    ),
                    z,
                )
            };
            let mut pool = vec![fresh(0), fresh(1), fresh(2)];
            for _ in 0..40 {
                let (x, y) = (pool[roll(pool.len())].clone(), pool[roll(pool.len())].clone());
                let plain = phases(slots, roll(1000) as u64);
                let values = Values::Complex(plain.clone());
                let step = steps[roll(3)];
                let (result, clear): (Result<Ciphertext, CkksError>, Vec<Complex64>) = match roll(12) {
                    0 => (ev.add(&x.0, &y.0), zip(&x, &y, |a, b| a + b)),
                    1 => (ev.sub(&x.0, &y.0), zip(&x, &y, |a, b| a - b)),
                    2 => (ev.multiply(&x.0, &y.0), zip(&x, &y, |a, b| a * b)),
                    3 => (ev.multiply_rescale(&x.0, &y.0), zip(&x, &y, |a, b| a * b)),
                    4 => (ev.rescale(&x.0), x.1.clone()),
                    5 => (ev.negate(&x.0), x.1.iter().map(|z| -z).collect()),
                    6 => (ev.conjugate(&x.0), x.1.iter().map(Complex64::conj).collect()),
                    7 => {
                        let mut rolled = x.1.clone();
                        rolled.rotate_left(step.rem_euclid(slots as i64) as usize);
                        (ev.rotate(&x.0, step), rolled)
                    }
                    8 => (ev.add_plain(&x.0, &values), zip(&x, &(x.0.clone(), plain), |a, b| a + b)),
                    9 => (ev.multiply_plain(&x.0, &values), zip(&x, &(x.0.clone(), plain), |a, b| a * b)),
                    10 => (ev.multiply_scalar(&x.0, -0.7), x.1.iter().map(|z| z * -0.7).collect()),
                    _ => (ev.drop_to_level(&x.0, Level(x.0.level().0.saturating_sub(1))), x.1.clone()),
                };
                match result {
                    Ok(ct) => {
                        let largest = clear.iter().map(|z| z.norm()).fold(1.0, f64::max);
                        // Past the room of the modulus the message would wrap around: the walk goes
                        // elsewhere.
                        if (largest * ct.scale()).log2() + 2.0 > params.log2_q(ct.level()) || largest > 64.0 {
                            continue;
                        }
                        let error = decrypt_complex(&sk, &ct)
                            .iter()
                            .zip(&clear)
                            .map(|(a, b)| (a - b).norm())
                            .fold(0.0, f64::max);
                        assert!(
                            error < 1e-5,
                            "{name}, walk {walk}: error {error:e} at level {} scale 2^{}",
                            ct.level(),
                            ct.scale().log2()
                        );
                        pool.push((ct, clear));
                        done += 1;
                    }
                    Err(error) => {
                        use clathrate_ckks::error::ErrorKind::{Level, Scale, Value};
                        assert!(
                            matches!(error.kind(), Level | Scale | Value),
                            "{name}, walk {walk}: {error}"
                        );
                        refused += 1;
                    }
                }
            }
        }
        println!("{name}: {done} steps, {refused} refused");
        assert!(done > 300, "{name}: {done} steps, {refused} refused");
    }
}
