//! A party that uses TFHE-rs: it encrypts numbers as LWE samples, and computes on them.

use clathrate_ckks::outside::OutsideModulus;
use tfhe::core_crypto::commons::generators::DeterministicSeeder;
use tfhe::core_crypto::commons::math::random::{Seed, Uniform};
use tfhe::core_crypto::prelude::*;

/// The other party: a secret key, and a source of randomness for encryptions.
pub struct Party<Word: UnsignedInteger> {
    secret: LweSecretKeyOwned<Word>,
    noise: Gaussian<f64>,
    generator: EncryptionRandomGenerator<DefaultRandomGenerator>,
}

impl<Word: UnsignedTorus + Encryptable<Uniform, Gaussian<f64>> + CastFrom<u64>> Party<Word> {
    /// A party with a binary secret of length `dimension`. `deviation` is that of the noise, as a part of the modulus.
    #[must_use]
    pub fn new(dimension: usize, deviation: f64, seed: u128) -> Self {
        let mut seeder = DeterministicSeeder::<DefaultRandomGenerator>::new(Seed(seed));
        let mut secrets = SecretRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed());
        let secret = allocate_and_generate_new_binary_lwe_secret_key(LweDimension(dimension), &mut secrets);
        let noise = Gaussian::from_dispersion_parameter(StandardDev(deviation), 0.0);
        let generator = EncryptionRandomGenerator::new(seeder.seed(), &mut seeder);
        Self { secret, noise, generator }
    }

    /// The modulus of the party's samples.
    #[must_use]
    pub fn modulus() -> OutsideModulus {
        OutsideModulus::PowerOfTwo(Word::BITS as u32)
    }

    /// The party's secret, for the owner of the result.
    #[must_use]
    pub fn secret(&self) -> Vec<i8> {
        self.secret.as_ref().iter().map(|&bit| i8::from(bit != Word::ZERO)).collect()
    }

    /// An encryption of `number` times `scale`.
    pub fn encrypt(&mut self, number: f64, scale: f64) -> LweCiphertextOwned<Word> {
        let message = Plaintext(Word::cast_from((number * scale).round() as i64 as u64));
        let modulus = CiphertextModulus::new_native();
        allocate_and_encrypt_new_lwe_ciphertext(
            &self.secret,
            message,
            self.noise,
            modulus,
            &mut self.generator,
        )
    }
}

/// The words of samples, mask first.
pub fn words<Word: UnsignedInteger + CastInto<u64>>(samples: &[LweCiphertextOwned<Word>]) -> Vec<u64> {
    samples.iter().flat_map(|sample| sample.as_ref().iter().map(|&word| word.cast_into())).collect()
}
