//! One odd modulus below 2^61 with its Barrett constants, and multipliers prepared by Shoup's method.

use crate::error::ArithError;

/// Moduli stay below this many bits so that `4q` fits a word with a bit to spare.
pub const MAX_MODULUS_BITS: u32 = 61;

/// An odd modulus `q`, `3 <= q < 2^61`, with the constants of its reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulus {
    value: u64,
    /// floor(2^128 / q), high and low word.
    barrett_high: u64,
    barrett_low: u64,
}

/// A constant `w < q` together with `floor(w * 2^64 / q)` (Shoup).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multiplier {
    /// The constant, in `[0, q)`.
    pub value: u64,
    /// `floor(value * 2^64 / q)`.
    pub quotient: u64,
}

impl Modulus {
    /// Checks and prepares `value`.
    ///
    /// # Errors
    /// [`ArithError::InvalidModulus`] unless `value` is odd and in `[3, 2^61)`.
    pub fn new(value: u64) -> Result<Self, ArithError> {
        if value < 3 || value.is_multiple_of(2) || value >> MAX_MODULUS_BITS != 0 {
            return Err(ArithError::InvalidModulus { value });
        }
        // q is odd and above 1, so floor((2^128 - 1) / q) = floor(2^128 / q).
        let ratio = u128::MAX / u128::from(value);
        Ok(Self { value, barrett_high: (ratio >> 64) as u64, barrett_low: ratio as u64 })
    }

    /// The modulus itself.
    #[inline]
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// Bits of the modulus: the smallest `b` with `q < 2^b`.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        64 - self.value.leading_zeros()
    }

    /// `floor(2^128 / q)` as (high, low) words.
    #[must_use]
    pub const fn barrett(&self) -> (u64, u64) {
        (self.barrett_high, self.barrett_low)
    }

    /// `x mod q` for any word.
    #[inline]
    #[must_use]
    pub fn reduce(&self, x: u64) -> u64 {
        // floor(x * floor(2^64/q) / 2^64) is the quotient or one less.
        let quotient = ((u128::from(x) * u128::from(self.barrett_high)) >> 64) as u64;
        self.reduce_once(x.wrapping_sub(quotient.wrapping_mul(self.value)))
    }

    /// `x mod q` for any double word.
    #[inline]
    #[must_use]
    pub fn reduce_u128(&self, x: u128) -> u64 {
        let (low, high) = (x as u64, (x >> 64) as u64);
        // quotient = floor(x * floor(2^128 / q) / 2^128), exact in its four partial products: floor(x / q) or
        // one less.
        let carry = (u128::from(low) * u128::from(self.barrett_low)) >> 64;
        let middle_a = u128::from(low) * u128::from(self.barrett_high) + carry;
        let middle_b = u128::from(high) * u128::from(self.barrett_low) + u128::from(middle_a as u64);
        let quotient = high
            .wrapping_mul(self.barrett_high)
            .wrapping_add((middle_a >> 64) as u64)
            .wrapping_add((middle_b >> 64) as u64);
        let rest = low.wrapping_sub(quotient.wrapping_mul(self.value));
        self.reduce_once(rest)
    }

    /// `x mod q` for a signed word.
    #[inline]
    #[must_use]
    pub fn reduce_i64(&self, x: i64) -> u64 {
        // Secrets and errors are reduced here, so the sign is applied by a mask and not by a branch.
        let magnitude = self.reduce(x.unsigned_abs());
        let negative = (x >> 63) as u64;
        (self.neg(magnitude) & negative) | (magnitude & !negative)
    }

    /// `x mod q` for a signed double word.
    #[inline]
    #[must_use]
    pub fn reduce_i128(&self, x: i128) -> u64 {
        // Messages are reduced here, so the sign is applied by a mask, as above.
        let magnitude = self.reduce_u128(x.unsigned_abs());
        let negative = (x >> 127) as u64;
        (self.neg(magnitude) & negative) | (magnitude & !negative)
    }

    /// `x - q` if `x >= q`, else `x`. Range: `x < 2q` gives `[0, q)`.
    #[inline]
    #[must_use]
    pub fn reduce_once(&self, x: u64) -> u64 {
        x.min(x.wrapping_sub(self.value))
    }

    /// `x + y mod q`. Range: inputs and output in `[0, q)`.
    #[inline]
    #[must_use]
    pub fn add(&self, x: u64, y: u64) -> u64 {
        debug_assert!(x < self.value && y < self.value);
        self.reduce_once(x + y)
    }

    /// `x - y mod q`. Range: inputs and output in `[0, q)`.
    #[inline]
    #[must_use]
    pub fn sub(&self, x: u64, y: u64) -> u64 {
        debug_assert!(x < self.value && y < self.value);
        let difference = x.wrapping_sub(y);
        difference.min(difference.wrapping_add(self.value))
    }

    /// `-x mod q`. Range: input and output in `[0, q)`.
    #[inline]
    #[must_use]
    pub fn neg(&self, x: u64) -> u64 {
        debug_assert!(x < self.value);
        self.reduce_once(self.value - x)
    }

    /// `x * y mod q`. Range: inputs any words, output in `[0, q)`.
    #[inline]
    #[must_use]
    pub fn mul(&self, x: u64, y: u64) -> u64 {
        self.reduce_u128(u128::from(x) * u128::from(y))
    }

    /// `x ^ e mod q`.
    #[must_use]
    pub fn pow(&self, x: u64, mut e: u64) -> u64 {
        let mut base = self.reduce(x);
        let mut result = 1 % self.value;
        while e > 0 {
            if e & 1 == 1 {
                result = self.mul(result, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        result
    }

    /// `x ^ -1 mod q`, or `None` where `gcd(x, q) > 1` (extended Euclid, so the modulus need not be prime).
    #[must_use]
    pub fn inverse(&self, x: u64) -> Option<u64> {
        let (mut r0, mut r1) = (i128::from(self.value), i128::from(self.reduce(x)));
        let (mut t0, mut t1) = (0i128, 1i128);
        while r1 != 0 {
            let quotient = r0 / r1;
            (r0, r1) = (r1, r0 - quotient * r1);
            (t0, t1) = (t1, t0 - quotient * t1);
        }
        (r0 == 1).then(|| t0.rem_euclid(i128::from(self.value)) as u64)
    }

    /// Prepares the constant `w` for repeated multiplication.
    #[must_use]
    pub fn multiplier(&self, w: u64) -> Multiplier {
        let value = self.reduce(w);
        Multiplier { value, quotient: ((u128::from(value) << 64) / u128::from(self.value)) as u64 }
    }

    /// `x * w mod q`. Range: `x` any word, output in `[0, q)`.
    #[inline]
    #[must_use]
    pub fn mul_shoup(&self, x: u64, w: Multiplier) -> u64 {
        self.reduce_once(self.mul_shoup_lazy(x, w))
    }

    /// `x * w mod q`. Range: `x` any word, output in `[0, 2q)`.
    #[inline]
    #[must_use]
    pub fn mul_shoup_lazy(&self, x: u64, w: Multiplier) -> u64 {
        let quotient = ((u128::from(x) * u128::from(w.quotient)) >> 64) as u64;
        x.wrapping_mul(w.value).wrapping_sub(quotient.wrapping_mul(self.value))
    }

    /// The centred representative of `x` in `(-q/2, q/2)`.
    #[inline]
    #[must_use]
    pub fn centre(&self, x: u64) -> i64 {
        debug_assert!(x < self.value);
        if x > self.value / 2 { x as i64 - self.value as i64 } else { x as i64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges() -> Vec<u64> {
        vec![
            3,
            5,
            17,
            257,
            (1 << 29) - 3,
            (1 << 45) - 55,
            (1 << 50) - 27,
            (1 << 52) - 47,
            (1 << 60) - 93,
            (1 << 61) - 1,
        ]
    }

    #[test]
    fn reductions_agree_with_division_at_every_width() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for q in edges() {
            let modulus = Modulus::new(q).expect("valid");
            let mut words = vec![0, 1, q - 1, q, q + 1, 2 * q - 1, u64::MAX, u64::MAX - 1];
            words.extend((0..200).map(|_| next()));
            for &x in &words {
                assert_eq!(modulus.reduce(x), x % q);
                for &y in &words {
                    let double = (u128::from(x) << 64) | u128::from(y);
                    assert_eq!(modulus.reduce_u128(double), (double % u128::from(q)) as u64);
                    let signed = double.cast_signed();
                    assert_eq!(
                        i128::from(modulus.reduce_i128(signed)),
                        signed.rem_euclid(i128::from(q)),
                        "{signed} mod {q}"
                    );
                    assert_eq!(modulus.mul(x, y), (u128::from(x) * u128::from(y) % u128::from(q)) as u64);
                    assert_eq!(modulus.mul_shoup(x, modulus.multiplier(y)), modulus.mul(x, y));
                }
            }
        }
    }

    #[test]
    fn inverse_times_value_is_one() {
        let modulus = Modulus::new((1 << 45) - 55).expect("valid");
        for x in [1u64, 2, 3, 12345, (1 << 45) - 56] {
            let inverse = modulus.inverse(x).expect("coprime");
            assert_eq!(modulus.mul(x, inverse), 1);
        }
        assert_eq!(Modulus::new(15).expect("odd").inverse(5), None);
    }

    #[test]
    fn modulus_out_of_range_is_refused() {
        for q in [0, 1, 2, 4, 1 << 61, (1 << 61) + 1, u64::MAX] {
            assert_eq!(Modulus::new(q), Err(ArithError::InvalidModulus { value: q }));
        }
    }
}
