//! Stochastic rounding: a number between two integers becomes one of them at random, with probabilities that make the mean the number.
//!
//! The error of each number then has the mean 0 and is independent of all others, whatever the numbers are. Rounding to the nearest integer has errors that follow from the numbers: those of equal
//! numbers are equal, and those of the `n` coefficients of a polynomial may have the signs of the roots of unity of one slot, where they add up to `n / pi` and not to a multiple of the root of `n`. A
//! single number below the precision of the scale, among zeros, is such a polynomial.
//!
//! Source: Croci, Fasi, Higham, Mary and Mikaitis, Stochastic rounding: implementation, error analysis and applications (2022), sec. 2.
//! Neither branches nor addresses depend on the numbers.

use clathrate_arith::sequence::words;
use clathrate_lattice::SecretRng;

use super::DOUBLE_SHARE;
use super::fixed::rounded_62;

/// The root mean square of the error that encoding and decoding cause in a sum of so many coefficients times factors of magnitude 1, in units of numbers at this scale: for numbers that lie anywhere between
/// integers, and a bound on it, for those half way between two.
///
/// Errors of rounding are independent, and each is in an interval of length 1, so that their sums have no heavier tails than normal ones of the larger variance (Hoeffding 1963, Theorem 2).
pub(crate) fn encoding_errors(terms: usize, scale: f64) -> (f64, f64) {
    let of = |variance: f64| error_of(terms, variance) / scale;
    (of(1.0 / 6.0), of(1.0 / 4.0))
}

/// As [`encoding_errors`], for arrays that are rounded to the nearest integers.
pub(crate) fn mask_error(terms: usize, scale: f64) -> f64 {
    error_of(terms, 1.0 / 12.0) / scale
}

/// Whether a mask with this number, scaled, is fine enough to be rounded to the nearest. Coefficients of a mask of one slot are `A cos(t angle)` with `A = 2 scaled / n`. Their rounding adds up in that slot to about
/// `n / (8 sqrt(A))` (the Bessel function of the sawtooth's first harmonic), which for `A` of `n / 8` and more is below the root mean square of random rounding, `sqrt(n / 12)`.
pub(crate) fn is_fine(degree: usize, scaled: f64) -> bool {
    scaled.abs() >= (degree as f64 / 4.0).powi(2)
}

/// Transforms to and from coefficients add, each, at most an eighth of the root mean square of rounding to the nearest integer, whatever the magnitudes of the numbers.
fn error_of(terms: usize, variance: f64) -> f64 {
    (terms as f64 * (variance + 2.0 * DOUBLE_SHARE * DOUBLE_SHARE / 12.0)).sqrt()
}

/// Bits of a random number.
const BITS: u32 = 16;

/// Random numbers in a word.
const IN_WORD: usize = 4;

/// A random number that decides between two integers. Probabilities are multiples of `2^-16`: the mean of an error is off by at most half of that, which is below the errors' root mean square even where
/// all coefficients of a polynomial are off in the same way.
#[derive(Clone, Copy)]
pub(crate) struct Dither(u64);

impl Dither {
    /// What is to be added to a number that is then rounded to the nearest integer: less than a half.
    #[inline]
    pub(super) fn to_add(self) -> f64 {
        // The bits of a number between 1 and 2, which is faster than a conversion.
        const HALF_UNIT: f64 = 0.5 / (1u64 << BITS) as f64;
        f64::from_bits(1f64.to_bits() | (self.0 << (f64::MANTISSA_DIGITS - 1 - BITS))) - (1.5 - HALF_UNIT)
    }

    /// What is to be added to a number in units of `2^-bits` that is then rounded down: between 0 and `2^bits`. Range: `0 < bits < 127`.
    #[inline]
    pub(super) fn of_unit(self, bits: u32) -> i128 {
        // Without a branch, as the number of bits may follow from secret numbers.
        (i128::from(2 * self.0 + 1) << (126 - BITS)) >> (127 - bits)
    }
}

fn dithers_of(word: u64) -> [Dither; IN_WORD] {
    std::array::from_fn(|place| Dither((word >> (BITS as usize * place)) & ((1 << BITS) - 1)))
}

/// How an array is rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rounding {
    /// To the nearest integers: for arrays that no user chooses, whose errors are no worse than random ones.
    Nearest,
    /// At random, with the random numbers of a seed.
    Random(u64),
}

impl Rounding {
    /// With the random numbers of a seed. Arrays that everybody knows are their own seeds.
    pub(crate) fn of(seed: u64) -> Self {
        Self::Random(words(seed).next().unwrap_or_default())
    }

    /// With new random numbers.
    pub(crate) fn random(rng: &mut SecretRng) -> Self {
        let mut seed = [0; 8];
        rng.fill_bytes(&mut seed);
        Self::of(u64::from_le_bytes(seed))
    }

    /// Another one for each of many cases.
    pub(crate) fn of_case(self, case: u64) -> Self {
        match self {
            Self::Nearest => self,
            Self::Random(seed) => Self::of(seed ^ case.rotate_left(32)),
        }
    }

    /// Words of random numbers, or of halves.
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

    /// `round(scale * number)` of each number. Range: magnitudes up to `2^62` after scaling.
    pub(crate) fn rounded(self, mut numbers: Vec<f64>, scale: f64) -> Vec<i64> {
        // In the memory of the numbers, because fresh memory costs more: integers as the bits of doubles, and a collected `Vec` of the same size reuses that of the first one.
        let round = |number: &mut f64, dither| *number = f64::from_bits(rounded_62(*number * scale, dither).cast_unsigned());
        let (groups, rest) = numbers.as_chunks_mut::<{ 8 * IN_WORD }>();
        let mut words = self.words();
        for group in groups {
            // Words first: the loop over numbers then consists of vectors.
            let drawn: [u64; 8] = std::array::from_fn(|_| words.next().unwrap_or_default());
            let mut dithers = [Dither(0); 8 * IN_WORD];
            for (dithers, word) in dithers.as_chunks_mut::<IN_WORD>().0.iter_mut().zip(drawn) {
                *dithers = dithers_of(word);
            }
            group.iter_mut().zip(dithers).for_each(|(number, dither)| round(number, dither));
        }
        rest.iter_mut().zip(words.flat_map(dithers_of)).for_each(|(number, dither)| round(number, dither));
        numbers.into_iter().map(|bits| bits.to_bits().cast_signed()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Complex64, Encoder, scaled_integers};
    use super::*;

    /// The mean and the variance of the errors by both ways of rounding one number.
    fn moments(x: f64) -> [(f64, f64); 2] {
        let count = 1 << 16;
        let rounding = Rounding::of(x.to_bits());
        let short: Vec<f64> = rounding.rounded(vec![x; count], 1.0).into_iter().map(|integer| integer as f64 - x).collect();
        let wide = scaled_integers(&vec![x; count], 2.0 * x.abs(), 1.0, rounding);
        let wide: Vec<f64> = wide.into_iter().map(|integer| integer as f64 - x).collect();
        [short, wide].map(|errors| {
            let mean = errors.iter().sum::<f64>() / count as f64;
            (mean, errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / count as f64)
        })
    }

    #[test]
    fn the_mean_of_rounded_numbers_is_the_number() {
        for x in [0.0, 1.0, -7.0, 0.5, -0.5, 0.25, 1e-3, -2.1, 1e6 + 0.3, -3e9 - 0.9, 2f64.powi(45) + 0.125] {
            let fraction = x - x.floor();
            let variance = fraction * (1.0 - fraction);
            for (mean, found) in moments(x) {
                // Five deviations of a mean of 2^16 numbers, and half a unit of the probabilities.
                assert!(mean.abs() <= 5.0 * (variance / 65536.0).sqrt() + 0.5f64.powi(17), "{x}: {mean}");
                assert!((found - variance).abs() <= 0.01, "{x}: {found} instead of {variance}");
            }
        }
    }

    #[test]
    fn halves_round_to_the_nearest() {
        for x in [0.0, 1.0, -7.0, 0.499, 0.501, -0.499, -0.501, 1e6 + 0.3, -3e9 - 0.9, 2f64.powi(45) + 0.125] {
            let nearest = x.round();
            assert!(Rounding::Nearest.rounded(vec![x; 9], 1.0).iter().all(|&integer| integer == nearest as i64), "{x}");
            let wide = scaled_integers(&[x; 9], 2.0 * x.abs(), 1.0, Rounding::Nearest.of_case(3));
            assert!(wide.iter().all(|&integer| integer == nearest as i128), "{x}");
        }
    }

    #[test]
    fn seeds_decide_all_random_numbers() {
        let numbers: Vec<f64> = (0..1027).map(|i| f64::from(i) * 0.37).collect();
        let with = |rounding: Rounding| rounding.rounded(numbers.clone(), 1.0);
        assert_eq!(with(Rounding::of(5)), with(Rounding::of(5)));
        let others = [Rounding::of(6), Rounding::of(5).of_case(0), Rounding::of(5).of_case(1)].map(with);
        for (index, other) in others.iter().enumerate() {
            // Numbers half way between integers become one or the other one in a quarter of two times a half.
            let differ = |x: &[i64], y: &[i64]| x.iter().zip(y).filter(|(x, y)| x != y).count();
            assert!((200..500).contains(&differ(other, &with(Rounding::of(5)))), "{index}");
            others[..index].iter().for_each(|earlier| assert!((200..500).contains(&differ(other, earlier)), "{index}"));
        }
    }

    #[test]
    fn masks_that_are_fine_have_errors_like_random_ones_in_all_slots() {
        for log in [10, 12, 14] {
            let count = 1 << log;
            let (degree, encoder) = (2 * count, Encoder::new(2 * count));
            let beyond = |scaled: f64, slots: usize| {
                let fill = |values: &mut [Complex64]| values[..slots].fill(Complex64::new(scaled, 0.0));
                let rounded: Vec<f64> =
                    Rounding::Nearest.rounded(encoder.embed_with(count, fill), 1.0).into_iter().map(|integer| integer as f64).collect();
                let expected = |slot: usize| if slot < slots { scaled } else { 0.0 };
                let errors = encoder.evaluate(&rounded, count).into_iter().enumerate().map(|(slot, value)| (value - expected(slot)).norm());
                errors.fold(0.0, f64::max) / mask_error(degree, 1.0)
            };
            let least = (degree as f64 / 4.0).powi(2);
            assert!(is_fine(degree, least) && !is_fine(degree, 0.99 * least));
            for scaled in [1.0, 1.1, 1.37, 2.0, 3.3, 17.0, 1000.3].map(|times| times * least) {
                for slots in [1, 2, 3, 7, 100, count / 2 + 1, count - 1] {
                    assert!(beyond(scaled, slots) < 6.5, "degree {degree}, {scaled}, {slots} slots: {}", beyond(scaled, slots));
                }
            }
            // Coarser ones have not.
            assert!(log < 14 || beyond(least / 64.0, 1) > 7.7, "degree {degree}: {}", beyond(least / 64.0, 1));
        }
    }

    #[test]
    fn errors_of_coefficients_do_not_meet_in_a_slot() {
        // Among zeros, one number just below the precision: rounded to the nearest integers, all coefficients become 0, and the errors in its slot are all of one sign.
        let count = 1 << 12;
        let encoder = Encoder::new(2 * count);
        let error_in_slot = |scaled: f64, rounding: Rounding| {
            let coefficients = encoder.embed_with(count, |slots| slots[0] = Complex64::new(scaled, 0.0));
            let rounded: Vec<f64> = rounding.rounded(coefficients, 1.0).into_iter().map(|integer| integer as f64).collect();
            (encoder.evaluate(&rounded, count)[0].re - scaled).abs()
        };
        let (_, worst) = encoding_errors(2 * count, 1.0);
        for share in [0.98, 0.5, 0.02] {
            let scaled = share * count as f64 / 2.0;
            assert!(scaled / count as f64 <= 0.5, "each coefficient is nearest to 0");
            let squares: f64 = (0..100).map(|seed| error_in_slot(scaled, Rounding::of(seed)).powi(2)).sum();
            // The real part has half of the variance.
            assert!(squares / 100.0 <= worst * worst / 2.0 * 1.5, "{share}: {squares}");
            assert!(scaled > 10.0 * worst || share < 0.5, "rounding to the nearest would err by far more");
        }
    }
}
