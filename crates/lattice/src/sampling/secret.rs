//! Secret randomness: ChaCha20 seeded by the operating system, and the distributions drawn from it.
//!
//! The generator erases its past (fast key erasure): each refill takes 4096 bytes of the keystream of
//! ChaCha20 (zero nonce, one key per refill). The first 32 bytes are the next key, the rest is output, and
//! output is overwritten when read. So the memory at any time reveals nothing about earlier output, and no
//! key is used for more than one short stream.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use zeroize::{Zeroize, Zeroizing};

use super::distribution::SecretDistribution;
use super::error::SamplingError;
use super::sorting::sort_oblivious;
use super::xof::MaskSeed;

const KEY_BYTES: usize = 32;
/// Bytes per refill: 64 blocks of the cipher, so that its vector code never handles a partial batch.
const REFILL_BYTES: usize = 4096;
/// Bytes below this give one ternary value each: 255 = 3 * 85, so each value comes from exactly 85 byte
/// values.
const TERNARY_ACCEPTED_BELOW: u8 = 255;

/// Source of secrets, errors and flooding noise. Its state is overwritten on drop and not printed by `Debug`.
pub struct SecretRng {
    key: Zeroizing<[u8; KEY_BYTES]>,
    keystream: Box<Zeroizing<[u8; REFILL_BYTES]>>,
    /// First unread byte of `keystream`.
    position: usize,
}

impl std::fmt::Debug for SecretRng {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SecretRng(redacted)")
    }
}

impl SecretRng {
    /// A generator keyed with 256 bits of the operating system's entropy.
    ///
    /// # Errors
    /// [`SamplingError::NoEntropy`] if the system gives none.
    pub fn from_os() -> Result<Self, SamplingError> {
        let mut seed = Zeroizing::new([0u8; KEY_BYTES]);
        getrandom::fill(seed.as_mut())
            .map_err(|error| SamplingError::NoEntropy { reason: error.to_string() })?;
        Ok(Self::from_seed(*seed))
    }

    /// A generator with a fixed key: the same seed gives the same samples. For tests and reproducible benches
    /// only.
    #[must_use]
    pub fn from_seed(mut seed: [u8; KEY_BYTES]) -> Self {
        let key = Zeroizing::new(seed);
        seed.zeroize();
        Self { key, keystream: Box::new(Zeroizing::new([0u8; REFILL_BYTES])), position: REFILL_BYTES }
    }

    /// Fills `out` with uniform bytes.
    pub fn fill_bytes(&mut self, out: &mut [u8]) {
        let mut done = 0;
        while done < out.len() {
            if self.position == REFILL_BYTES {
                self.refill();
            }
            let take = (REFILL_BYTES - self.position).min(out.len() - done);
            let unread = &mut self.keystream[self.position..self.position + take];
            out[done..done + take].copy_from_slice(unread);
            unread.fill(0);
            self.position += take;
            done += take;
        }
    }

    /// A fresh public seed for a mask.
    pub fn mask_seed(&mut self) -> MaskSeed {
        let mut bytes = [0u8; 32];
        self.fill_bytes(&mut bytes);
        MaskSeed(bytes)
    }

    /// A generator with its own fresh key, for another thread or task. The key is drawn from this generator,
    /// whose later output is independent of it.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        let mut seed = Zeroizing::new([0u8; KEY_BYTES]);
        self.fill_bytes(seed.as_mut());
        Self::from_seed(*seed)
    }

    /// Fills `out` with a secret of the given distribution.
    ///
    /// # Errors
    /// [`SamplingError::WeightTooLarge`] if a fixed weight exceeds `out.len()`.
    pub fn secret(&mut self, distribution: SecretDistribution, out: &mut [i64]) -> Result<(), SamplingError> {
        match distribution {
            SecretDistribution::UniformTernary => {
                self.ternary_uniform(out);
                Ok(())
            }
            SecretDistribution::FixedWeight(weight) => self.ternary_fixed_weight(out, weight),
        }
    }

    /// Fills `out` with independent values of {-1, 0, 1}, each with probability exactly 1/3.
    ///
    /// One uniform byte per value; the byte 255 is skipped. Timing can reveal only how many bytes were
    /// skipped, which is independent of the values.
    #[inline(never)] // Tests know the branches on skipped bytes by the name of this function.
    pub fn ternary_uniform(&mut self, out: &mut [i64]) {
        let mut bytes = Zeroizing::new([0u8; 512]);
        let mut done = 0;
        while done < out.len() {
            let take = bytes.len().min(out.len() - done);
            self.fill_bytes(&mut bytes[..take]);
            let rest = &mut out[done..];
            let mut written = 0;
            for &byte in &bytes[..take] {
                // floor(byte / 3) = floor(byte * 171 / 2^9) for every byte, which gives the remainder without
                // a division.
                let byte_word = u32::from(byte);
                let trit = byte_word - 3 * ((byte_word * 171) >> 9);
                rest[written] = i64::from(trit) - 1;
                written += usize::from(byte < TERNARY_ACCEPTED_BELOW);
            }
            done += written;
        }
    }

    /// Fills `out` with exactly `weight` non-zero values, at uniform positions, each -1 or 1 with probability
    /// 1/2.
    ///
    /// The values get uniform 61-bit tags, and a sorting network sorts them by tag, so no branch and no
    /// address depends on the secret. Two equal tags (probability below `out.len()^2 / 2^62`) restart the
    /// procedure: for distinct tags every arrangement is exactly equally likely, and the restart is
    /// independent of the arrangement.
    ///
    /// # Errors
    /// [`SamplingError::WeightTooLarge`] if `weight > out.len()`.
    #[inline(never)] // Tests know the branch on equal tags by the name of this function.
    pub fn ternary_fixed_weight(&mut self, out: &mut [i64], weight: usize) -> Result<(), SamplingError> {
        if weight > out.len() {
            return Err(SamplingError::WeightTooLarge { weight, length: out.len() });
        }
        let mut words = Zeroizing::new(vec![0u64; out.len()]);
        loop {
            // Bits 62..2: the tag; bit 1: the sign; bit 0: whether the value is non-zero.
            for (index, word) in words.iter_mut().enumerate() {
                *word = (self.word() >> 1 & !1) | u64::from(index < weight);
            }
            sort_oblivious(&mut words);
            let equal_tags =
                words.windows(2).fold(0, |count, pair| count + u64::from(pair[0] >> 2 == pair[1] >> 2));
            if equal_tags == 0 {
                break;
            }
        }
        for (value, word) in out.iter_mut().zip(words.iter()) {
            let (non_zero, negative) = ((word & 1) as i64, (word >> 1 & 1) as i64);
            *value = non_zero * (1 - 2 * negative);
        }
        Ok(())
    }
    /// Fills `out` with noise uniform in `[-2^(bits - 1), 2^(bits - 1))`, for noise flooding: the noise hides
    /// the error that a decryption would reveal.
    ///
    /// # Errors
    /// [`SamplingError::FloodingBits`] unless `1 <= bits <= 63`.
    pub fn flooding_uniform(&mut self, out: &mut [i64], bits: u32) -> Result<(), SamplingError> {
        if !(1..=63).contains(&bits) {
            return Err(SamplingError::FloodingBits { bits });
        }
        for value in out.iter_mut() {
            // An arithmetic shift keeps the top `bits` bits, including the sign.
            *value = self.word() as i64 >> (64 - bits);
        }
        Ok(())
    }

    fn word(&mut self) -> u64 {
        let mut bytes = [0u8; 8];
        self.fill_bytes(&mut bytes);
        let word = u64::from_le_bytes(bytes);
        bytes.zeroize();
        word
    }

    /// Computes the next keystream and takes the next key from it. All earlier output was overwritten with
    /// zeros when read, so the buffer is all zeros here.
    fn refill(&mut self) {
        debug_assert!(self.keystream.iter().all(|&byte| byte == 0));
        let mut cipher = ChaCha20::new((&*self.key).into(), &[0u8; 12].into());
        cipher.apply_keystream(&mut self.keystream[..]);
        let (next_key, _) = self.keystream.split_at_mut(KEY_BYTES);
        self.key.copy_from_slice(next_key);
        next_key.fill(0);
        self.position = KEY_BYTES;
    }
}
