//! The canonical embedding in 128-bit fixed point, for numbers of magnitudes so different that double
//! precision does not suffice.
//!
//! Let `n` be the number of slots and `w_t = m_t + i m_(t + n)` the complex coefficients, in bit-reversed
//! order. The slots are `z = L_n ... L_4 L_2 w`, where layer `L_len` combines slots that are `len / 2` apart,
//! with `u = x_j`, `v = x_(j + len/2)` and `omega = exp(2 pi i 5^j / (4 len))`:
//!
//! ```text
//! y_j = u + omega v,    y_(j + len/2) = u - omega v,    j in 0 .. len/2, and so in every block of len slots
//! ```
//!
//! Every layer is divided by 2, in both directions, so magnitudes do not grow. A layer's rounding adds at
//! most one unit of the last place, and passes on the mean of two errors, so the error of a result is one or
//! two units, where the largest magnitude is `2^123` to `2^125` units.
//!
//! Neither branches nor addresses depend on the numbers.

use clathrate_lattice::rounding::{Dither, GROUP, Rounding, nearest_126, quotient, rounded_62};
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

use super::Complex64;

/// A complex number in fixed point. Range: magnitudes up to `2^125` units.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    re: i128,
    im: i128,
}

/// Fraction bits of roots of unity and other factors.
const FACTOR_BITS: u32 = 126;

/// Numbers are scaled to magnitudes below `2^NUMBER_BITS`.
const NUMBER_BITS: i32 = 123;

/// Integers are shifted to magnitudes below `2^INTEGER_BITS`; two of them form a complex number below
/// `2^125`.
const INTEGER_BITS: u32 = 124;

/// Fraction bits of the roots of unity from which all others are multiplied.
const PRECISE_BITS: u32 = 192;

/// `round(x w / 2^126)` with an error of little more than 1/2. Range: `|x| < 2^126`, `|w| <= 2^126`.
#[inline]
fn times(x: i128, w: i128) -> i128 {
    let high = |value: i128| value >> 64;
    let low = |value: i128| i128::from(value as u64);
    let (xh, xl, wh, wl) = (high(x), low(x), high(w), low(w));
    let below = i128::from(((u128::from(xl as u64) * u128::from(wl as u64)) >> 64) as u64);
    // Each of the two products is below 2^126; the sum of their halves does not overflow.
    let middle = ((xh * wl) >> 1) + ((xl * wh) >> 1) + (below >> 1) + (1 << 60);
    ((xh * wh) << 2) + (middle >> 61)
}

/// `x / 2`, rounded to the nearest and to even at ties.
#[inline]
fn halved(x: i128) -> i128 {
    (x + ((x >> 1) & 1)) >> 1
}

impl Fixed {
    #[inline]
    fn plus_halved(self, other: Self) -> Self {
        Self { re: halved(self.re + other.re), im: halved(self.im + other.im) }
    }

    #[inline]
    fn minus_halved(self, other: Self) -> Self {
        Self { re: halved(self.re - other.re), im: halved(self.im - other.im) }
    }

    #[inline]
    fn times(self, w: Self) -> Self {
        Self {
            re: times(self.re, w.re) - times(self.im, w.im),
            im: times(self.re, w.im) + times(self.im, w.re),
        }
    }

    #[inline]
    fn conj(self) -> Self {
        Self { re: self.re, im: -self.im }
    }
}

/// The exponent `e` of a positive double with `2^(e - 1) <= x < 2^e`, and `x / 2^e` in units of `2^-126`,
/// which is exact.
fn parts(x: f64) -> (i32, i128) {
    let x = x.max(f64::MIN_POSITIVE);
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1022;
    let mantissa = (x.to_bits() & ((1 << 52) - 1)) | (1 << 52);
    (exponent, i128::from(mantissa) << (FACTOR_BITS - 53))
}

/// `2^exponent` for the exponents of normal doubles, without the branches of `powi`.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Integers `words[i] * 2^shift`.
pub(crate) struct Integers {
    pub(crate) words: Vec<i128>,
    pub(crate) shift: u32,
}

impl From<Vec<BigInt>> for Integers {
    fn from(integers: Vec<BigInt>) -> Self {
        let bits = integers.iter().map(BigInt::bits).max().unwrap_or(0);
        let shift = bits.saturating_sub(u64::from(INTEGER_BITS)) as u32;
        // At most `INTEGER_BITS` bits remain.
        Self { words: integers.iter().map(|value| (value >> shift).to_i128().unwrap_or(0)).collect(), shift }
    }
}

/// The conversion of numbers to words, and of words to integers at a scale.
struct Scaling {
    /// `2^shift`; numbers are multiples of `2^-shift`.
    unit: f64,
    /// The scale is `factor / 2^126 * 2^(shift - drop - more)`.
    factor: i128,
    drop: u32,
    more: u32,
}

impl Scaling {
    /// Range: `largest` is a bound on the numbers' magnitudes, and `largest * scale <= 2^120`.
    fn new(largest: f64, scale: f64) -> Self {
        // A larger shift would exceed the range of doubles; numbers that small have fewer bits than the
        // words.
        let shift = (NUMBER_BITS - parts(largest).0).min(1000);
        let (exponent, factor) = parts(scale);
        let drop = (shift - exponent).clamp(1, 126);
        Self {
            unit: power_of_two(shift),
            factor,
            drop: drop as u32,
            more: (shift - exponent - drop).clamp(0, 127) as u32,
        }
    }

    #[inline]
    fn word(&self, x: f64) -> i128 {
        nearest_126(x * self.unit)
    }

    /// The scaled number, rounded at random to a neighbouring integer.
    #[inline]
    fn integer(&self, word: i128, dither: Dither) -> i128 {
        ((times(word, self.factor) >> self.more) + dither.of_unit(self.drop)) >> self.drop
    }
}

/// `round(scale * number)` of each number. Range: magnitudes up to `2^62` after scaling.
pub(crate) fn short_integers(mut numbers: Vec<f64>, scale: f64, rounding: Rounding) -> Vec<i64> {
    // Writes the integers, as bits of doubles, into the numbers' memory, because fresh memory costs more;
    // collecting into a `Vec` of the same element size reuses the allocation.
    let round = |(number, dither): (&mut f64, Dither)| {
        *number = f64::from_bits(rounded_62(*number * scale, dither).cast_unsigned())
    };
    let (groups, rest) = numbers.as_chunks_mut::<GROUP>();
    let mut dithers = rounding.groups();
    groups
        .iter_mut()
        .zip(&mut dithers)
        .for_each(|(group, dithers)| group.iter_mut().zip(dithers).for_each(round));
    rest.iter_mut().zip(dithers.flatten()).for_each(round);
    numbers.into_iter().map(|bits| bits.to_bits().cast_signed()).collect()
}

/// `round(scale * number)` of each number, whose magnitudes are at most `largest`. Range: `largest * scale <=
/// 2^120`.
pub(crate) fn scaled_integers(numbers: &[f64], largest: f64, scale: f64, rounding: Rounding) -> Vec<i128> {
    let scaling = Scaling::new(largest, scale);
    numbers
        .iter()
        .zip(rounding.dithers())
        .map(|(&x, dither)| scaling.integer(scaling.word(x), dither))
        .collect()
}

/// The roots of unity of all layers up to a number of slots: `exp(2 pi i 5^j / (4 len))` at `len / 2 + j`.
pub(super) struct Roots(Vec<Fixed>);

impl Roots {
    /// The roots of up to `slots` slots, a power of two.
    pub(super) fn new(slots: usize) -> Self {
        let order = 4 * slots;
        // The root of exponent e is the product of two roots: of e / width * width, and of the remainder.
        let width = 1usize << (order.trailing_zeros() / 2);
        let (fine, coarse) = (powers(order, width), powers(order / width, order / width));
        let root = |exponent: usize| coarse[exponent / width].times(fine[exponent % width]);
        let mut roots = vec![Fixed::default(); slots.max(1)];
        let mut len = 2;
        while len <= slots {
            let mut exponent = 1usize;
            for place in &mut roots[len / 2..len] {
                *place = root(exponent * (slots / len));
                exponent = exponent * 5 % (4 * len);
            }
            len *= 2;
        }
        Self(roots)
    }

    /// `round(scale * m)` for the polynomial `m` of `2 n` coefficients with these `n` slots.
    ///
    /// Range: `largest` is a bound on the slots' magnitudes, and `largest * scale <= 2^120`.
    pub(super) fn embed(
        &self,
        slots: &[Complex64],
        largest: f64,
        scale: f64,
        rounding: Rounding,
    ) -> Vec<i128> {
        let scaling = Scaling::new(largest, scale);
        let fixed = |slot: &Complex64| Fixed { re: scaling.word(slot.re), im: scaling.word(slot.im) };
        let mut values: Vec<Fixed> = slots.iter().map(fixed).collect();
        let mut len = values.len();
        while len >= 2 {
            let roots = &self.0[len / 2..len];
            for block in values.chunks_exact_mut(len) {
                let (left, right) = block.split_at_mut(len / 2);
                for ((x, y), root) in left.iter_mut().zip(right).zip(roots) {
                    (*x, *y) = (x.plus_halved(*y), x.minus_halved(*y).times(root.conj()));
                }
            }
            len /= 2;
        }
        reverse_bits(&mut values);
        let parts = values.iter().map(|value| value.re).chain(values.iter().map(|value| value.im));
        parts.zip(rounding.dithers()).map(|(word, dither)| scaling.integer(word, dither)).collect()
    }

    /// The `n` slots of a polynomial, divided by `scale`; coefficient `t < 2 n` of the polynomial is integer
    /// `t * gap`.
    pub(super) fn evaluate(
        &self,
        integers: &Integers,
        gap: usize,
        count: usize,
        scale: f64,
    ) -> Vec<Complex64> {
        let largest = integers.words.iter().map(|word| word.unsigned_abs()).max().unwrap_or(0);
        let shift = INTEGER_BITS as i32 - (128 - largest.leading_zeros()) as i32;
        let word = |t: usize| {
            if shift >= 0 { integers.words[t * gap] << shift } else { integers.words[t * gap] >> -shift }
        };
        let mut values: Vec<Fixed> = (0..count).map(|t| Fixed { re: word(t), im: word(t + count) }).collect();
        reverse_bits(&mut values);
        let mut len = 2;
        while len <= count {
            let roots = &self.0[len / 2..len];
            for block in values.chunks_exact_mut(len) {
                let (left, right) = block.split_at_mut(len / 2);
                for ((x, y), root) in left.iter_mut().zip(right).zip(roots) {
                    let turned = y.times(*root);
                    (*x, *y) = (x.plus_halved(turned), x.minus_halved(turned));
                }
            }
            len *= 2;
        }
        // Each layer was divided by 2.
        let exponent = count.trailing_zeros() as i32 + integers.shift as i32 - shift;
        values
            .iter()
            .map(|z| Complex64::new(quotient(z.re, exponent, scale), quotient(z.im, exponent, scale)))
            .collect()
    }
}

/// Moves number `t` to index `brv(t)`.
fn reverse_bits(values: &mut [Fixed]) {
    let unused = usize::BITS - values.len().trailing_zeros();
    for t in 0..values.len() {
        let place = t.reverse_bits().checked_shr(unused).unwrap_or(0);
        if t < place {
            values.swap(t, place);
        }
    }
}

/// The first `count` powers of `exp(2 pi i / order)`, `order` a power of two.
fn powers(order: usize, count: usize) -> Vec<Fixed> {
    let one = BigInt::one() << PRECISE_BITS;
    // Halves the angle repeatedly: cos(a / 2)^2 = (1 + cos(a)) / 2, 2 sin(a / 2) cos(a / 2) = sin(a).
    let (mut cos, mut sin) = match order {
        1 => (one.clone(), BigInt::zero()),
        2 => (-one.clone(), BigInt::zero()),
        _ => (BigInt::zero(), one.clone()),
    };
    for _ in 2..order.trailing_zeros() {
        let half = (((&one + &cos) << PRECISE_BITS) >> 1u32).sqrt();
        sin = (sin << (PRECISE_BITS - 1)) / &half;
        cos = half;
    }
    let (mut re, mut im) = (one, BigInt::zero());
    let short = |value: &BigInt| {
        let drop = PRECISE_BITS - FACTOR_BITS;
        ((value + (BigInt::one() << (drop - 1))) >> drop).to_i128().unwrap_or(0)
    };
    let power = |_| {
        let power = Fixed { re: short(&re), im: short(&im) };
        let next: BigInt = (&re * &cos - &im * &sin) >> PRECISE_BITS;
        im = (&re * &sin + &im * &cos) >> PRECISE_BITS;
        re = next;
        power
    };
    (0..count).map(power).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_halves_are_rounded_to_the_nearest() {
        let mut random = 1u128;
        let mut word = |bits: u32| {
            random = random.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
            (random.cast_signed() >> 1) >> (126 - bits)
        };
        for i in 0..10_000 {
            let (x, w) = (word(126 - i % 100), word(126));
            let exact: BigInt = BigInt::from(x) * w;
            let error: BigInt = (BigInt::from(times(x, w)) << FACTOR_BITS) - exact;
            assert!(
                error.magnitude() <= ((BigInt::one() << 125u32) + (BigInt::one() << 67u32)).magnitude(),
                "{x} {w}"
            );
            assert!((2 * halved(x) - x).abs() <= 1 && (x & 1 == 0 || halved(x) & 1 == 0));
        }
    }

    #[test]
    fn roots_are_on_the_circle_and_at_their_angles() {
        let slots = 1 << 12;
        let roots = Roots::new(slots).0;
        for len in (1..=12).map(|log| 1usize << log) {
            let mut exponent = 1usize;
            for root in &roots[len / 2..len] {
                let square =
                    (BigInt::from(root.re).pow(2) + BigInt::from(root.im).pow(2)) - (BigInt::one() << 252u32);
                assert!(square.bits() <= 128, "length 1 within a few units");
                let angle = std::f64::consts::TAU * exponent as f64 / (4 * len) as f64;
                let unit = 2f64.powi(-126);
                let (re, im) = (root.re as f64 * unit, root.im as f64 * unit);
                assert!((re - angle.cos()).abs() < 1e-14 && (im - angle.sin()).abs() < 1e-14);
                exponent = exponent * 5 % (4 * len);
            }
        }
        // Repeated squaring of the last layer's first root gives i.
        let mut power = roots[slots / 2];
        for _ in 0..slots.trailing_zeros() {
            power = power.times(power);
        }
        assert!(power.re.abs() < 1 << 16 && (power.im - (1 << 126)).abs() < 1 << 16, "{power:?}");
    }
}
