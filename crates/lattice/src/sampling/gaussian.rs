//! The error distribution: a centred discrete Gaussian of standard deviation 3.2, by a constant-time table.
//!
//! One sample takes 128 uniform bits: one for the sign, 126 for the magnitude `#{k : u < THRESHOLDS[k]}`
//! where `THRESHOLDS[k - 1] = round(2^126 * P(|X| >= k))`; one is unused. Every sample makes all 32
//! comparisons, as borrows of subtractions, so that no branch and no index depends on a sample. Magnitudes
//! stop at 32 = 10 sigma; the statistical distance from the ideal distribution over all integers is 2^-78.66
//! per sample, nearly all of it the mass beyond the bound.

use zeroize::Zeroizing;

use super::secret::SecretRng;

/// Standard deviation of the error distribution.
pub const ERROR_STANDARD_DEVIATION: f64 = 3.2;
/// Largest magnitude of an error.
pub const ERROR_BOUND: i64 = 32;

/// Samples per request for random bytes.
const BLOCK: usize = 64;
/// Samples compared with the thresholds at once: few enough that their words and counts stay in sixteen
/// 128-bit registers.
const LANES: usize = 8;
/// Random bytes per sample.
const SAMPLE_BYTES: usize = 16;
const HALF_MASK: u64 = (1 << 63) - 1;

/// `round(2^126 * P(|X| >= k))` for k = 1 .. 32 as (high, low) halves of 63 bits; made by
/// `scripts/gaussian_table.py`.
const THRESHOLDS: [(u64, u64); ERROR_BOUND as usize] = [
    (0x700ad4bf9b5e0da7, 0x6b107d26fc5a6391),
    (0x51a5da2bfd900092, 0x19910297c8100f4b),
    (0x37651d97d1c24644, 0x7ee76535d9b6ec2a),
    (0x22d43df21906aefa, 0x0f6a93f4413f2181),
    (0x143796b579d03231, 0x3d0a16ae27daa710),
    (0x0acd2767162e6a26, 0x0a53e86d3f5817e2),
    (0x054c69367f0a0534, 0x40cf2dcb8e12b45a),
    (0x0261b17098e8158f, 0x5bb63d4c68c6ae7e),
    (0x00fab6a9eaf5a6d4, 0x6de31bd3a431a451),
    (0x005e31660724096e, 0x611030ff6d8a2331),
    (0x00204c0ff570cc67, 0x75fe25af1329baf1),
    (0x000a190836829727, 0x345673fb53c00a9e),
    (0x0002e06a4c8d42ca, 0x186a4e9cbfe0028c),
    (0x0000bf080851239c, 0x13c6276771bb797d),
    (0x00002d19d2fa810f, 0x55c0d858c56155ca),
    (0x000009afc555d78b, 0x1e79cc9e4113c1a5),
    (0x000001e4546658bc, 0x0c9c214738d091b5),
    (0x00000055febf31ad, 0x3a60d4951408dc96),
    (0x0000000de075c588, 0x4eb9aa28f3028249),
    (0x0000000208dcfe0b, 0x74d690c69121e9d5),
    (0x0000000045602b8d, 0x5869becd7b576787),
    (0x0000000008648731, 0x503171bcc37e877e),
    (0x0000000000ec0906, 0x4f1d59eb3b1231be),
    (0x0000000000178b76, 0x2e2737fcec201d52),
    (0x00000000000221dc, 0x0eb044b8a5c161c6),
    (0x0000000000002ce0, 0x131d64a45954aaee),
    (0x0000000000000359, 0x23358b20e5a5b3b7),
    (0x000000000000003a, 0x07fc952a1bf41510),
    (0x0000000000000003, 0x48d3bed4cb100a51),
    (0x0000000000000000, 0x197b85d9822beb01),
    (0x0000000000000000, 0x014a35c09a1e6948),
    (0x0000000000000000, 0x000f2ab0f3d231ac),
];

impl SecretRng {
    /// Fills `out` with the error distribution: a centred discrete Gaussian of standard deviation 3.2.
    ///
    /// Range: `|e| <= ERROR_BOUND` = 32; statistical distance from the ideal distribution below 2^-78 per
    /// value. Constant time.
    pub fn gaussian(&mut self, out: &mut [i64]) {
        // Each sample takes exactly 16 bytes, so the samples do not depend on how a request is divided into
        // calls.
        let mut bytes = Zeroizing::new([0u8; BLOCK * SAMPLE_BYTES]);
        for block in out.chunks_mut(BLOCK) {
            self.fill_bytes(&mut bytes[..block.len() * SAMPLE_BYTES]);
            for (samples, bytes) in block.chunks_mut(LANES).zip(bytes.chunks_exact(LANES * SAMPLE_BYTES)) {
                samples.copy_from_slice(&from_bytes(bytes)[..samples.len()]);
            }
        }
    }
}

/// `LANES` samples from 16 bytes each: the high word, whose top bit is the sign, then the low word.
fn from_bytes(bytes: &[u8]) -> [i64; LANES] {
    let high_words: [u64; LANES] = std::array::from_fn(|i| word(&bytes[SAMPLE_BYTES * i..]));
    let high = high_words.map(|word| word & HALF_MASK);
    let low: [u64; LANES] = std::array::from_fn(|i| word(&bytes[SAMPLE_BYTES * i + 8..]) & HALF_MASK);
    let magnitude = count_thresholds(&high, &low);
    std::array::from_fn(|i| {
        // -m = (m ^ -1) + 1.
        let sign = (high_words[i] >> 63) as i64;
        (magnitude[i] as i64 ^ -sign) + sign
    })
}

/// `#{k : u_i < THRESHOLDS[k]}` where `u_i = high[i] * 2^63 + low[i]`. Range: both halves below 2^63.
fn count_thresholds(high: &[u64; LANES], low: &[u64; LANES]) -> [u64; LANES] {
    let mut magnitude = [0; LANES];
    for &(threshold_high, threshold_low) in &THRESHOLDS {
        for i in 0..LANES {
            // Both sides are below 2^63, so the top bit of a wrapped difference is its borrow.
            let borrow_low = low[i].wrapping_sub(threshold_low) >> 63;
            magnitude[i] += high[i].wrapping_sub(threshold_high).wrapping_sub(borrow_low) >> 63;
        }
    }
    magnitude
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    /// Fixed-point bits of the derivation below.
    const BITS: u64 = 320;

    /// P(|X| >= k) * 2^126 for k = 1 .. 32, rounded, from powers of exp(-1 / 20.48) in fixed point.
    fn derived_thresholds() -> Vec<BigUint> {
        let one = BigUint::from(1u32) << BITS;
        // exp(-y) at y = 1 / (2 * 3.2^2) = 100 / 2048 by its alternating series: even terms less odd terms.
        let (mut even, mut odd, mut term) = (BigUint::ZERO, BigUint::ZERO, one.clone());
        for i in 1..=80u32 {
            if i % 2 == 1 {
                even += &term
            } else {
                odd += &term
            }
            term = term * 100u32 / (2048u32 * i);
        }
        let base = even - odd;
        let power = |exponent: u32| (0..exponent).fold(one.clone(), |product, _| (product * &base) >> BITS);
        let weights: Vec<BigUint> =
            (0..=60u32).map(|k| power(k * k) * if k == 0 { 1u32 } else { 2 }).collect();
        let total: BigUint = weights.iter().sum();
        let rounded = |k: usize| ((weights[k..].iter().sum::<BigUint>() << 127u32) / &total + 1u32) >> 1u32;
        (1..=ERROR_BOUND as usize).map(rounded).collect()
    }

    fn bytes_of(high: u64, low: u64, negative: bool) -> [u8; LANES * SAMPLE_BYTES] {
        let mut bytes = [0u8; LANES * SAMPLE_BYTES];
        for sample in bytes.chunks_exact_mut(SAMPLE_BYTES) {
            sample[..8].copy_from_slice(&(high | u64::from(negative) << 63).to_le_bytes());
            // The top bit of the low word is unused; the test sets it to check that it is ignored.
            sample[8..].copy_from_slice(&(low | 1 << 63).to_le_bytes());
        }
        bytes
    }

    #[test]
    fn thresholds_are_those_of_the_discrete_gaussian() {
        for (k, (&(high, low), expected)) in THRESHOLDS.iter().zip(derived_thresholds()).enumerate() {
            assert!(high <= HALF_MASK && low <= HALF_MASK);
            assert_eq!((BigUint::from(high) << 63u32) + low, expected, "row {k}");
        }
    }

    #[test]
    fn magnitude_steps_exactly_at_each_threshold() {
        for (k, &(high, low)) in THRESHOLDS.iter().enumerate() {
            let (high_before, low_before) = if low == 0 { (high - 1, HALF_MASK) } else { (high, low - 1) };
            for negative in [false, true] {
                let signed = |magnitude: usize| if negative { -(magnitude as i64) } else { magnitude as i64 };
                assert_eq!(from_bytes(&bytes_of(high, low, negative)), [signed(k); LANES]);
                assert_eq!(from_bytes(&bytes_of(high_before, low_before, negative)), [signed(k + 1); LANES]);
            }
        }
        assert_eq!(from_bytes(&bytes_of(HALF_MASK, HALF_MASK, false)), [0; LANES]);
        assert_eq!(from_bytes(&bytes_of(0, 0, true)), [-ERROR_BOUND; LANES]);
    }
}
