//! Ciphertexts of known numbers, and how far what they decrypt to is from them: for what the evaluator runs
//! as a whole.

use clathrate_ckks::keys::{EncryptOptions, Values};
use clathrate_ckks::{Ciphertext, Encoding, SecretKey};

use crate::failure::Failure;
use clathrate_arith::sequence;

/// Numbers in `[-LARGEST, LARGEST)`: squared again and again they neither grow nor, at first, vanish.
const LARGEST: f64 = 0.9;

/// Largest error of a slot that a row may be printed with.
const TOLERANCE: f64 = 1e-4;

/// So many numbers.
pub fn numbers(count: usize) -> Vec<f64> {
    sequence::numbers(40).take(count).map(|x| LARGEST * x).collect()
}

/// `values` at the top level, in slots.
pub fn encrypt(owner: &SecretKey, values: &[f64]) -> Result<Ciphertext, Failure> {
    let options = EncryptOptions { encoding: Some(Encoding::Slots), ..EncryptOptions::default() };
    Ok(owner.encrypt_array(values, &[values.len()], options)?)
}

/// The largest distance of a slot from its true value; a wrong result is no result.
pub fn deviation(owner: &SecretKey, ciphertext: &Ciphertext, expected: &[f64]) -> Result<f64, Failure> {
    let error = match owner.decrypt(ciphertext)? {
        Values::Real(found) if found.len() == expected.len() => {
            found.iter().zip(expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
        }
        _ => f64::INFINITY,
    };
    if error.is_nan() || error > TOLERANCE { Err(Failure::slot_error(error, TOLERANCE)) } else { Ok(error) }
}
