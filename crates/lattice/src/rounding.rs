//! Rounding of numbers to integers, to the nearest or at random, and numbers of integers.
//!
//! Stochastic rounding: a number is rounded to one of the two neighbouring integers with probabilities that
//! make the mean of the result the number.
//!
//! Each error then has mean 0 and is independent of all others, for any numbers. The errors of rounding to
//! the nearest integer depend on the numbers: equal numbers have equal errors, and the errors of the `n`
//! coefficients of a polynomial may have the signs of the roots of unity of one slot, where they sum to `n /
//! pi` instead of a multiple of `sqrt(n)`. A polynomial with one number below the precision of the scale,
//! among zeros, has such errors.
//!
//! Source: Croci, Fasi, Higham, Mary and Mikaitis, Stochastic rounding: implementation, error analysis and
//! applications (2022), sec. 2. Neither branches nor addresses depend on the numbers.

use clathrate_arith::sequence::words;

use crate::sampling::SecretRng;

/// Bits of a random number.
const BITS: u32 = 16;

/// Random numbers in a word.
const IN_WORD: usize = 4;

/// Random numbers that are drawn together.
pub const GROUP: usize = 8 * IN_WORD;

/// A random number that decides between two integers. Probabilities are multiples of `2^-16`, so the mean of
/// an error is off by at most half of that: less than the errors' root mean square, even if all coefficients
/// of a polynomial are off in the same direction.
#[derive(Clone, Copy)]
pub struct Dither(u64);

impl Dither {
    /// The summand, below 1/2 in magnitude, for a number that is then rounded to the nearest integer.
    #[inline]
    pub fn to_add(self) -> f64 {
        // Sets the mantissa bits of a number between 1 and 2, which is faster than a conversion.
        const HALF_UNIT: f64 = 0.5 / (1u64 << BITS) as f64;
        f64::from_bits(1f64.to_bits() | (self.0 << (f64::MANTISSA_DIGITS - 1 - BITS))) - (1.5 - HALF_UNIT)
    }

    /// The summand, between 0 and `2^bits`, for a number in units of `2^-bits` that is then rounded down.
    /// Range: `0 < bits < 127`.
    #[inline]
    pub fn of_unit(self, bits: u32) -> i128 {
        // Branch-free, because `bits` may depend on secret numbers.
        (i128::from(2 * self.0 + 1) << (126 - BITS)) >> (127 - bits)
    }
}

#[inline]
fn dithers_of(word: u64) -> [Dither; IN_WORD] {
    std::array::from_fn(|place| Dither((word >> (BITS as usize * place)) & ((1 << BITS) - 1)))
}

/// The rounding of an array.
#[derive(Clone, Copy, Debug)]
pub enum Rounding {
    /// To the nearest integers: for arrays that users cannot choose, whose errors are no worse than random
    /// ones.
    Nearest,
    /// At random, with random numbers generated from a seed.
    Random(u64),
}

impl Rounding {
    /// Random rounding with a seed. For public arrays the seed is computed from the array.
    pub fn of(seed: u64) -> Self {
        Self::Random(words(seed).next().unwrap_or_default())
    }

    /// Random rounding with a new random seed.
    pub fn random(rng: &mut SecretRng) -> Self {
        let mut seed = [0; 8];
        rng.fill_bytes(&mut seed);
        Self::of(u64::from_le_bytes(seed))
    }

    /// The rounding of case `case`, with an independent seed for each case.
    pub fn of_case(self, case: u64) -> Self {
        match self {
            Self::Nearest => self,
            Self::Random(seed) => Self::of(seed ^ case.rotate_left(32)),
        }
    }

    /// Words of random numbers; for rounding to the nearest, of halves.
    #[inline]
    fn words(self) -> impl Iterator<Item = u64> {
        const HALVES: u64 = (u64::MAX / ((1 << BITS) - 1)) << (BITS - 1);
        let (seed, random) = match self {
            Self::Nearest => (0, 0),
            Self::Random(seed) => (seed, u64::MAX),
        };
        words(seed).map(move |word| (word & random) | (HALVES & !random))
    }

    /// The random numbers.
    #[inline]
    pub fn dithers(self) -> impl Iterator<Item = Dither> {
        self.words().flat_map(dithers_of)
    }

    /// The random numbers in groups.
    #[inline]
    pub fn groups(self) -> impl Iterator<Item = [Dither; GROUP]> {
        let mut words = self.words();
        std::iter::from_fn(move || {
            // Draws all words first, so that the loops over numbers are vectorised.
            let drawn: [u64; GROUP / IN_WORD] = std::array::from_fn(|_| words.next().unwrap_or_default());
            let mut dithers = [Dither(0); GROUP];
            dithers
                .as_chunks_mut::<IN_WORD>()
                .0
                .iter_mut()
                .zip(drawn)
                .for_each(|(dithers, word)| *dithers = dithers_of(word));
            Some(dithers)
        })
    }
}

/// Adding this number to a double of at most half its magnitude puts the nearest integer (ties to even) in
/// the last bits, because doubles of this size are integers. Processors without a vector rounding instruction
/// have vector additions.
const ROUNDER: f64 = (3u64 << 51) as f64;

/// The integer nearest to `x`, to even at ties. Range: `|x| <= 2^51`.
#[inline]
#[must_use]
pub fn nearest_51(x: f64) -> i64 {
    (x + ROUNDER).to_bits().wrapping_sub(ROUNDER.to_bits()).cast_signed()
}

/// `x` as `piece 2^bits + rest` with `|rest| <= 2^(bits - 1)`, both exact. Range: `|x| <= 2^(51 + bits)`.
#[inline]
fn cut(x: f64, bits: i32) -> (i64, f64) {
    let (unit, inverse) = (2f64.powi(bits), 2f64.powi(-bits));
    let piece = x * inverse + ROUNDER;
    (piece.to_bits().wrapping_sub(ROUNDER.to_bits()).cast_signed(), x - (piece - ROUNDER) * unit)
}

/// `x` rounded at random to a neighbouring integer; `x` if it is an integer. Range: `|x| <= 2^62`.
#[inline]
#[must_use]
pub fn rounded_62(x: f64, dither: Dither) -> i64 {
    let (high, low) = cut(x, 32);
    (high << 32) + nearest_51(low + dither.to_add())
}

/// `x` rounded at random to a neighbouring integer; `x` if it is an integer. Range: `|x| <= 2^126`.
#[inline]
#[must_use]
pub fn rounded_126(x: f64, dither: Dither) -> i128 {
    integer_126(x, dither.to_add())
}

/// The integer nearest to `x`, to even at ties. Range: `|x| <= 2^126`.
#[inline]
#[must_use]
pub fn nearest_126(x: f64) -> i128 {
    integer_126(x, 0.0)
}

/// The integer nearest to `x + added`, for `added` below 1/2.
#[inline]
fn integer_126(x: f64, added: f64) -> i128 {
    // Cut so that the remainder has enough bits for `added`.
    let (high, rest) = cut(x, 82);
    let (middle, low) = cut(rest, 31);
    (i128::from(high) << 82) + (i128::from(middle) << 31) + i128::from(nearest_51(low + added))
}

/// The double nearest to `word * 2^exponent / scale`, with an error of little more than half a unit in the
/// last place.
#[inline]
#[must_use]
pub fn quotient(word: i128, exponent: i32, scale: f64) -> f64 {
    let high = word as f64;
    let low = (word - high as i128) as f64;
    let quotient = high / scale;
    let rest = (-quotient).mul_add(scale, high) + low;
    (quotient + rest / scale) * f64::from(exponent).exp2()
}
