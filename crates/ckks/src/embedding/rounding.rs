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
use clathrate_lattice::SecretRng;

use super::DOUBLE_SHARE;

/// The root mean square of the error that encoding and decoding cause in a sum of `terms` coefficients times
/// factors of magnitude 1, in units of numbers at this scale: for scaled numbers uniform between integers,
/// and a bound on it, for numbers half-way between integers.
///
/// Rounding errors are independent and each is in an interval of length 1, so their sums have no heavier
/// tails than normal errors of the larger variance (Hoeffding 1963, Theorem 2).
pub(crate) fn encoding_errors(terms: usize, scale: f64) -> (f64, f64) {
    let of = |variance: f64| error_of(terms, variance) / scale;
    (of(1.0 / 6.0), of(1.0 / 4.0))
}

/// The root mean square of [`encoding_errors`] for arrays that are rounded to the nearest integers.
pub(crate) fn mask_error(terms: usize, scale: f64) -> f64 {
    error_of(terms, 1.0 / 12.0) / scale
}

/// Whether a mask with this scaled number can be rounded to the nearest integers. The coefficients of a mask
/// of one slot are `A cos(t angle)` with `A = 2 scaled / n`. Their rounding errors sum in that slot to about
/// `n / (8 sqrt(A))` (the Bessel function of the sawtooth's first harmonic). For `A >= n / 8` this is below
/// the root mean square of random rounding, `sqrt(n / 12)`.
pub(crate) fn is_fine(degree: usize, scaled: f64) -> bool {
    scaled.abs() >= (degree as f64 / 4.0).powi(2)
}

/// Each of the two transforms adds at most an eighth of the root mean square of rounding to the nearest
/// integer, for numbers of any magnitude.
fn error_of(terms: usize, variance: f64) -> f64 {
    (terms as f64 * (variance + 2.0 * DOUBLE_SHARE * DOUBLE_SHARE / 12.0)).sqrt()
}

/// Bits of a random number.
const BITS: u32 = 16;

/// Random numbers in a word.
const IN_WORD: usize = 4;

/// Random numbers that are drawn together.
pub(super) const GROUP: usize = 8 * IN_WORD;

/// A random number that decides between two integers. Probabilities are multiples of `2^-16`, so the mean of
/// an error is off by at most half of that: less than the errors' root mean square, even if all coefficients
/// of a polynomial are off in the same direction.
#[derive(Clone, Copy)]
pub(crate) struct Dither(u64);

impl Dither {
    /// The summand, below 1/2 in magnitude, for a number that is then rounded to the nearest integer.
    #[inline]
    pub(super) fn to_add(self) -> f64 {
        // Sets the mantissa bits of a number between 1 and 2, which is faster than a conversion.
        const HALF_UNIT: f64 = 0.5 / (1u64 << BITS) as f64;
        f64::from_bits(1f64.to_bits() | (self.0 << (f64::MANTISSA_DIGITS - 1 - BITS))) - (1.5 - HALF_UNIT)
    }

    /// The summand, between 0 and `2^bits`, for a number in units of `2^-bits` that is then rounded down.
    /// Range: `0 < bits < 127`.
    #[inline]
    pub(super) fn of_unit(self, bits: u32) -> i128 {
        // Branch-free, because `bits` may depend on secret numbers.
        (i128::from(2 * self.0 + 1) << (126 - BITS)) >> (127 - bits)
    }
}

fn dithers_of(word: u64) -> [Dither; IN_WORD] {
    std::array::from_fn(|place| Dither((word >> (BITS as usize * place)) & ((1 << BITS) - 1)))
}

/// The rounding of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rounding {
    /// To the nearest integers: for arrays that users cannot choose, whose errors are no worse than random
    /// ones.
    Nearest,
    /// At random, with random numbers generated from a seed.
    Random(u64),
}

impl Rounding {
    /// Random rounding with a seed. For public arrays the seed is computed from the array.
    pub(crate) fn of(seed: u64) -> Self {
        Self::Random(words(seed).next().unwrap_or_default())
    }

    /// Random rounding with a new random seed.
    pub(crate) fn random(rng: &mut SecretRng) -> Self {
        let mut seed = [0; 8];
        rng.fill_bytes(&mut seed);
        Self::of(u64::from_le_bytes(seed))
    }

    /// The rounding of case `case`, with an independent seed for each case.
    pub(crate) fn of_case(self, case: u64) -> Self {
        match self {
            Self::Nearest => self,
            Self::Random(seed) => Self::of(seed ^ case.rotate_left(32)),
        }
    }

    /// Words of random numbers; for rounding to the nearest, of halves.
    fn words(self) -> impl Iterator<Item = u64> {
        const HALVES: u64 = (u64::MAX / ((1 << BITS) - 1)) << (BITS - 1);
        let (seed, random) = match self {
            Self::Nearest => (0, 0),
            Self::Random(seed) => (seed, u64::MAX),
        };
        words(seed).map(move |word| (word & random) | (HALVES & !random))
    }

    /// The random numbers.
    pub(crate) fn dithers(self) -> impl Iterator<Item = Dither> {
        self.words().flat_map(dithers_of)
    }

    /// The random numbers in groups.
    pub(super) fn groups(self) -> impl Iterator<Item = [Dither; GROUP]> {
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
