//! Fixed data for self-tests and timings, the same on every machine.

/// A sequence of words that depends only on the seed (SplitMix64).
pub fn words(seed: u64) -> impl Iterator<Item = u64> {
    (1..).map(move |i: u64| {
        let mut z = seed.wrapping_add(i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

/// A sequence of numbers in [-1, 1) that depends only on the seed.
pub fn numbers(seed: u64) -> impl Iterator<Item = f64> {
    words(seed).map(|word| (word >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
}
