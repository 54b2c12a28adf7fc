//! The probability that a bootstrap fails because an integer part exceeds the range of the modular reduction.
//!
//! A sample `(a, b)` modulo `q0`, read as integers, has the phase `b + a s = m + q0 I`. If `h` coefficients
//! of the secret are 1 or -1 and the others are 0, `a s / q0` is a sum of `h` numbers that are uniform in
//! `[-1/2, 1/2]`, and `I` is this sum, rounded to an integer. Hence
//!
//! ```text
//! Pr[|I| >= i] = (2 / h!) sum_k (-1)^k C(h, k) (x - k)^h,    0 <= k <= x,    x = h/2 - i + 1/2
//! ```
//!
//! which is the tail of the Irwin-Hall distribution. The terms alternate and cancel, so the sum is computed
//! with integers.

use num_bigint::{BigInt, BigUint};
use num_traits::{One, ToPrimitive, Zero};

/// The largest weight of a secret in a plan. The tail takes `O(h^2)` operations on integers of `O(h log h)`
/// bits, and no polynomial covers the range that larger weights need.
pub const MAX_WEIGHT: usize = 256;

/// `log2 x` of an integer; minus infinity for 0.
fn log2(x: &BigUint) -> f64 {
    let shift = x.bits().saturating_sub(64);
    let head = (x >> shift).to_f64().unwrap_or(0.0);
    head.log2() + shift as f64
}

/// `log2 Pr[|I| >= range]` for one coefficient and a secret of weight `weight`; minus infinity if no integer
/// part is so large.
#[must_use]
pub fn log2_tail(weight: usize, range: usize) -> f64 {
    // Twice x, an integer.
    let Some(twice) = (weight + 1).checked_sub(2 * range) else { return f64::NEG_INFINITY };
    if range == 0 {
        return 0.0;
    }
    let (mut sum, mut binomial, mut factorial) = (BigInt::zero(), BigInt::one(), BigUint::one());
    for k in 0..=twice / 2 {
        let term = &binomial * BigInt::from(twice - 2 * k).pow(weight as u32);
        sum += if k % 2 == 0 { term } else { -term };
        binomial = binomial * (weight - k) / (k + 1);
    }
    (2..=weight).for_each(|factor| factorial *= factor);
    let Some(sum) = sum.to_biguint().filter(|sum| !sum.is_zero()) else { return f64::NEG_INFINITY };
    1.0 + log2(&sum) - weight as f64 - log2(&factorial)
}

/// The least range such that all `coefficients` integer parts are smaller in magnitude, except with a
/// probability of at most `2^log2_probability`.
#[must_use]
pub fn least_range(weight: usize, coefficients: usize, log2_probability: f64) -> usize {
    let fails = |range: usize| log2_tail(weight, range) + (coefficients as f64).log2() > log2_probability;
    // The tail decreases with the range, and no integer part exceeds half the weight.
    let (mut low, mut high) = (0, weight / 2 + 1);
    while low < high {
        let middle = usize::midpoint(low, high);
        if fails(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_has_the_known_values() {
        // One uniform number always rounds to 0. The sum of two has a magnitude of at least 1/2 with
        // probability 1/4.
        assert_eq!(log2_tail(1, 1), f64::NEG_INFINITY);
        assert!((log2_tail(2, 1) - (0.25f64).log2()).abs() < 1e-12);
        // Three: S + 3/2 is a sum of three numbers in [0, 1]. It is below 1 in a simplex of volume 1/6, and
        // above 2 with the same probability.
        assert!((log2_tail(3, 1) - (1.0f64 / 3.0).log2()).abs() < 1e-12);
        // h = 32: 6.37e-4 for 6 [design study, checked there by 10^7 samples].
        assert!((log2_tail(32, 6).exp2() / 6.37e-4 - 1.0).abs() < 2e-3);
    }

    #[test]
    fn ranges_have_the_wanted_probability_and_are_least() {
        for (weight, degree, wanted, range, log2_failure) in [
            (32, 1 << 16, -128.0, 16, -132.7),
            (32, 1 << 15, -40.0, 13, -43.8),
            (48, 1 << 16, -128.0, 23, -157.9),
            (64, 1 << 16, -128.0, 28, -140.1),
        ] {
            assert_eq!(least_range(weight, degree, wanted), range, "weight {weight}");
            let failure = |range| log2_tail(weight, range) + (degree as f64).log2();
            assert!((failure(range) - log2_failure).abs() < 0.1, "weight {weight}: 2^{}", failure(range));
            assert!(failure(range - 1) > wanted);
        }
        assert_eq!(
            least_range(32, 1 << 16, f64::NEG_INFINITY),
            17,
            "no integer part exceeds half the weight"
        );
    }
}
