//! Samples that TFHE-rs encrypted and computed on are packed and bootstrapped here, computed on, and decrypted.

use clathrate_ckks::circuits::samples::{SamplesOptions, SamplesPlan};
use clathrate_ckks::keys::KeyLevel;
use clathrate_ckks::outside::{OutsideSamples, Phase};
use clathrate_ckks::{Evaluator, KeyNeeds, Params, Runtime, SecretKey, SecretName};
use clathrate_interop_tfhe::{Party, words};
use tfhe::core_crypto::commons::math::random::Uniform;
use tfhe::core_crypto::prelude::*;

/// The number that the owner gives to the other library's secret.
const OTHER: u64 = 1;

/// Numbers in [-1/2, 1/2].
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5).collect()
}

/// Encrypted and computed on there, packed, bootstrapped and squared here: the largest error of a number and of a square.
fn errors<Word>(preset: &str, (dimension, deviation): (usize, f64), count: usize) -> (f64, f64)
where
    Word: UnsignedTorus + Encryptable<Uniform, Gaussian<f64>> + CastFrom<u64> + CastInto<u64>,
{
    let params = Params::preset(preset, &Runtime::default()).expect("a preset");
    let mut party = Party::<Word>::new(dimension, deviation, 11);
    let owner = SecretKey::generate(&params)
        .and_then(|key| key.with_outside_secret(OTHER, &party.secret()))
        .expect("both secrets");
    let options = SamplesOptions {
        count: Some(count),
        dimension: Some(dimension),
        secret: SecretName::Outside(OTHER),
        ..SamplesOptions::default()
    };
    let plan = SamplesPlan::new(&params, &options).expect("a plan");
    let scale = params.outside_scale(plan.scale(), Party::<Word>::modulus()).expect("a scale");
    // There: x - 2 y of two encryptions.
    let (x, y) = (numbers(count), numbers(2 * count)[count..].iter().map(|y| y / 4.0).collect::<Vec<_>>());
    let computed: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - 2.0 * y).collect();
    let mut samples = Vec::new();
    for (&x, &y) in x.iter().zip(&y) {
        let mut x = party.encrypt(x, scale);
        let mut y = party.encrypt(y, scale);
        lwe_ciphertext_cleartext_mul_assign(&mut y, Cleartext(Word::TWO));
        lwe_ciphertext_sub_assign(&mut x, &y);
        samples.push(x);
    }
    // Here.
    let words = words(&samples);
    let taken = OutsideSamples {
        words: &words,
        dimension,
        modulus: Party::<Word>::modulus(),
        phase: Phase::Difference,
        scale,
        secret: OTHER,
    };
    let taken = plan.outside_samples(owner.id(), &taken).expect("samples");
    let mut needs = plan.needs().clone();
    needs = needs.merge(&KeyNeeds::new().relinearise(KeyLevel::Top));
    let evaluator = Evaluator::with_keys(owner.evaluation_keys(&needs).expect("keys"));
    let fresh = plan.run(&evaluator, &taken).expect("in slots");
    let square = evaluator.multiply_rescale(&fresh, &fresh).expect("a square");
    let found = owner.decrypt(&fresh).expect("numbers").into_real().expect("real");
    let squares = owner.decrypt(&square).expect("squares").into_real().expect("real");
    assert_eq!((found.len(), squares.len()), (count, count));
    let worst = |found: &[f64], expected: &dyn Fn(f64) -> f64| {
        found
            .iter()
            .zip(&computed)
            .map(|(found, &number)| (found - expected(number)).abs())
            .fold(0.0, f64::max)
    };
    (worst(&found, &|x| x), worst(&squares, &|x| x * x))
}

/// TFHE-rs' own parameters for the encryption key of two bits of message and two of carry: dimension 2048, 128 bits of security.
#[test]
fn samples_of_the_torus_of_64_bits_at_128_bits_of_security() {
    let (numbers, squares) = errors::<u64>("boot_n15", (2048, 2.845_267_479_601_915e-15), 300);
    println!("2^{:.1} of a number, 2^{:.1} of a square", numbers.log2(), squares.log2());
    assert!(numbers < 2f64.powi(-17) && squares < 2f64.powi(-17), "{numbers:e}, {squares:e}");
}

#[test]
fn samples_of_the_torus_of_32_bits() {
    // The noise of the samples times the square root of 5 is 2^-28.8 of the modulus, numbers are 2^-12 of it.
    let (numbers, squares) = errors::<u32>("insecure_boot", (630, 2f64.powi(-30)), 100);
    assert!(numbers < 2f64.powi(-13) && squares < 2f64.powi(-12), "{numbers:e}, {squares:e}");
}
