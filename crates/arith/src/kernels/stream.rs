//! Sums a run of words with the widest loads available. Benchmarks use its speed as the speed of reading
//! memory.
//!
//! Eight independent sums are computed, so that additions do not wait for each other and only the memory
//! limits the speed.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Number of independent sums.
const CHAINS: usize = 8;

/// `sum_i words[i] mod 2^64`, with the widest loads of this machine.
#[must_use]
pub fn wrapping_sum(words: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the machine has the feature.
            return unsafe { sum_512(words) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has the feature.
            return unsafe { sum_256(words) };
        }
    }
    sum_portable(words)
}

fn sum_portable(words: &[u64]) -> u64 {
    let mut sums = [0u64; CHAINS];
    let blocks = words.chunks_exact(CHAINS);
    let rest = blocks.remainder().iter().fold(0u64, |sum, &word| sum.wrapping_add(word));
    for block in blocks {
        sums.iter_mut().zip(block).for_each(|(sum, &word)| *sum = sum.wrapping_add(word));
    }
    sums.iter().fold(rest, |sum, &part| sum.wrapping_add(part))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn sum_512(words: &[u64]) -> u64 {
    let mut sums = [_mm512_setzero_si512(); CHAINS];
    let blocks = words.chunks_exact(8 * CHAINS);
    let rest = sum_portable(blocks.remainder());
    for block in blocks {
        for (chain, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the block has 8 words for each chain; the load needs no alignment.
            *sum =
                _mm512_add_epi64(*sum, unsafe { _mm512_loadu_si512(block.as_ptr().add(8 * chain).cast()) });
        }
    }
    let whole = sums.iter().fold(_mm512_setzero_si512(), |whole, &sum| _mm512_add_epi64(whole, sum));
    rest.wrapping_add(_mm512_reduce_add_epi64(whole) as u64)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_256(words: &[u64]) -> u64 {
    let mut sums = [_mm256_setzero_si256(); CHAINS];
    let blocks = words.chunks_exact(4 * CHAINS);
    let rest = sum_portable(blocks.remainder());
    for block in blocks {
        for (chain, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the block has 4 words for each chain; the load needs no alignment.
            *sum =
                _mm256_add_epi64(*sum, unsafe { _mm256_loadu_si256(block.as_ptr().add(4 * chain).cast()) });
        }
    }
    let whole = sums.iter().fold(_mm256_setzero_si256(), |whole, &sum| _mm256_add_epi64(whole, sum));
    let mut lanes = [0u64; 4];
    // SAFETY: four lanes of eight bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), whole) };
    lanes.iter().fold(rest, |sum, &lane| sum.wrapping_add(lane))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_of_any_length_and_width_wraps_like_the_plain_one() {
        let words: Vec<u64> = (0..300u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63).collect();
        for len in [0, 1, 7, 8, 31, 32, 33, 63, 64, 65, 300] {
            let plain = words[..len].iter().fold(0u64, |sum, &word| sum.wrapping_add(word));
            assert_eq!(sum_portable(&words[..len]), plain, "{len} words, portable");
            assert_eq!(wrapping_sum(&words[..len]), plain, "{len} words");
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has the feature.
                assert_eq!(unsafe { sum_256(&words[..len]) }, plain, "{len} words, 256 bits");
            }
        }
    }
}
