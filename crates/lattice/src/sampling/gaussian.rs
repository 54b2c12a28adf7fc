//! The error distribution: a centred discrete Gaussian of standard deviation 3.2, by a constant-time table.
//!
//! One sample takes 128 uniform bits: one for the sign, 126 for the magnitude `#{k : u < THRESHOLDS[k]}` where
//! `THRESHOLDS[k - 1] = round(2^126 * P(|X| >= k))`. All 32 comparisons are made, on borrows of subtractions: no branch and no index
//! depends on a sample. Magnitudes stop at 32 = 10 sigma; the statistical distance from the ideal distribution over all integers is
//! 2^-78.66 per sample, nearly all of it the mass beyond the tail.

use zeroize::Zeroize;

use super::secret::SecretRng;

/// Standard deviation of the error distribution.
pub const ERROR_STANDARD_DEVIATION: f64 = 3.2;
/// Largest magnitude that an error takes.
pub const ERROR_BOUND: i64 = 32;

/// Samples made together: their words and counts stay in registers and the first-level cache.
const BLOCK: usize = 32;
/// Bytes of randomness that one sample takes.
const SAMPLE_BYTES: usize = 16;
const HALF_MASK: u64 = (1 << 63) - 1;

/// `round(2^126 * P(|X| >= k))` for k = 1 .. 32 as (high, low) halves of 63 bits; made by `scripts/gaussian_table.py`.
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

/// Fills `out` with independent samples; takes exactly 16 bytes of `rng` each, so cutting `out` changes nothing.
pub(super) fn fill(rng: &mut SecretRng, out: &mut [i64]) {
    let mut bytes = [0u8; BLOCK * SAMPLE_BYTES];
    let mut high = [0u64; BLOCK];
    let mut low = [0u64; BLOCK];
    let mut magnitude = [0u64; BLOCK];
    for block in out.chunks_mut(BLOCK) {
        rng.fill_bytes(&mut bytes[..block.len() * SAMPLE_BYTES]);
        for (i, sample) in bytes.chunks_exact(SAMPLE_BYTES).enumerate() {
            high[i] = word(&sample[..8]);
            low[i] = word(&sample[8..]);
        }
        count_thresholds(&high, &low, &mut magnitude);
        for i in 0..block.len() {
            // The top bit of the high word is the sign: -m = (m ^ -1) + 1.
            let sign = (high[i] >> 63) as i64;
            block[i] = (magnitude[i] as i64 ^ -sign) + sign;
        }
    }
    bytes.zeroize();
    high.zeroize();
    low.zeroize();
    magnitude.zeroize();
}

/// `magnitude[i] = #{k : u_i < THRESHOLDS[k]}` where `u_i` is the 126-bit number of the low 63 bits of each half.
fn count_thresholds(high: &[u64; BLOCK], low: &[u64; BLOCK], magnitude: &mut [u64; BLOCK]) {
    *magnitude = [0; BLOCK];
    for &(threshold_high, threshold_low) in &THRESHOLDS {
        for i in 0..BLOCK {
            // Both sides are below 2^63, so the top bit of a wrapped difference is its borrow.
            let borrow_low = (low[i] & HALF_MASK).wrapping_sub(threshold_low) >> 63;
            magnitude[i] += (high[i] & HALF_MASK).wrapping_sub(threshold_high).wrapping_sub(borrow_low) >> 63;
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
