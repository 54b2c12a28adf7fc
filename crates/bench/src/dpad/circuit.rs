//! Ciphertexts of known numbers and the errors of their decryptions, for operations of the evaluator.

use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Ciphertext, Encoding, SecretKey};

use crate::failure::Failure;
use clathrate_arith::sequence;

/// Numbers are in `[-LARGEST, LARGEST)`: repeated squares do not grow and do not vanish at once.
const LARGEST: f64 = 0.9;

/// Largest error of a slot with which a row is printed.
const TOLERANCE: f64 = 1e-4;

/// `count` numbers.
pub fn numbers(count: usize) -> Vec<f64> {
    sequence::numbers(40).take(count).map(|x| LARGEST * x).collect()
}

/// `values` at the top level, in slots.
pub fn encrypt(owner: &SecretKey, values: &[f64]) -> Result<Ciphertext, Failure> {
    let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    Ok(owner.encrypt_array(values, &[values.len()], options)?)
}

/// The largest distance of a slot from its true value; an error above the tolerance is a failure.
pub fn deviation(owner: &SecretKey, ciphertext: &Ciphertext, expected: &[f64]) -> Result<f64, Failure> {
    let error = match owner.decrypt(ciphertext)? {
        Values::Real(found) if found.len() == expected.len() => {
            found.iter().zip(expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
        }
        _ => f64::INFINITY,
    };
    if error.is_nan() || error > TOLERANCE { Err(Failure::slot_error(error, TOLERANCE)) } else { Ok(error) }
}
