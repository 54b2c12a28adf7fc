//! Data-oblivious sorting: the sequence of comparisons and memory accesses depends only on the length.

/// Sorts words below 2^63 in ascending order by Batcher's merge exchange (Knuth, TAOCP vol. 3, algorithm
/// 5.2.2M).
///
/// Cost: about `n * (log2 n)^2 / 4` compare-exchanges, for any length.
pub(super) fn sort_oblivious(words: &mut [u64]) {
    let length = words.len();
    if length < 2 {
        return;
    }
    let top = length.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut distance) = (top, 0, p);
        loop {
            // All i < length - distance with i & p == r: runs of p consecutive indices, every other run.
            let mut start = r;
            while start + distance < length {
                let count = p.min(length - distance - start);
                let (lower, upper) = words[start..].split_at_mut(distance);
                for (low, high) in lower[..count].iter_mut().zip(&mut upper[..count]) {
                    compare_exchange(low, high);
                }
                start += 2 * p;
            }
            if q == p {
                break;
            }
            distance = q - p;
            q /= 2;
            r = p;
        }
        p /= 2;
    }
}

/// Orders two words below 2^63 without a branch: the top bit of `high - low` is the borrow.
#[inline]
fn compare_exchange(low: &mut u64, high: &mut u64) {
    debug_assert!(*low >> 63 == 0 && *high >> 63 == 0);
    let swap = (high.wrapping_sub(*low) >> 63).wrapping_neg();
    let difference = (*low ^ *high) & swap;
    *low ^= difference;
    *high ^= difference;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_of_every_zero_one_input_is_sorted_up_to_length_13() {
        // The zero-one principle: a network that sorts these sorts everything.
        for length in 0..=13usize {
            for pattern in 0u32..1 << length {
                let mut words: Vec<u64> = (0..length).map(|i| u64::from(pattern >> i & 1)).collect();
                sort_oblivious(&mut words);
                assert_eq!(words.iter().sum::<u64>(), u64::from(pattern.count_ones()));
                assert!(words.is_sorted(), "length {length}, pattern {pattern:b}");
            }
        }
    }

    #[test]
    fn sort_agrees_with_the_standard_library_at_odd_lengths() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for length in [1usize, 2, 63, 64, 65, 1000, 1023, 1024, 1025, 12288] {
            let mut words: Vec<u64> = (0..length)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    state >> 1
                })
                .collect();
            let mut expected = words.clone();
            expected.sort_unstable();
            sort_oblivious(&mut words);
            assert_eq!(words, expected);
        }
    }
}
