//! Numbers, and the factors of their errors, as functions of the numbers of one array, so that sums and
//! products of an array with itself get the right errors: the error of `x^3 - x` is `3 x^2 - 1` times that of
//! `x`, not `3 x^2 + 1` times.

use serde::{Deserialize, Serialize};

use super::names::{StoredName, mixed_name};
use super::product;

/// The positive zeros of the Chebyshev polynomial of degree 16, and their weights in the mean over an
/// interval (Fejér's first rule), which is exact for polynomials up to degree 15.
const PLACES: [(f64, f64); 8] = [
    (0.098_017_140_329_560_77, 0.097_725_623_906_157_02),
    (0.290_284_677_254_462_33, 0.093_874_864_057_537),
    (0.471_396_736_825_997_8, 0.086_709_705_885_973_14),
    (0.634_393_284_163_645_5, 0.075_696_230_818_566_07),
    (0.773_010_453_362_737, 0.062_564_809_079_191_82),
    (0.881_921_264_348_355, 0.045_859_156_602_647_69),
    (0.956_940_335_732_208_8, 0.029_168_232_034_687_845),
    (0.995_184_726_672_196_9, 0.008_401_377_615_239_472),
];

/// Salt of the names of numbers whose distribution is only assumed.
const TYPICAL: u64 = 0x7479_7069_6361_6c01;

/// Relative difference up to which numbers count as equal; products with rounded factors differ by less.
const NEAR: f64 = 1e-9;

/// The highest power in the model of numbers that are small compared with their bound.
const HIGHEST_POWER: f64 = 4.0;

/// A polynomial in the numbers of one array, stored as its values at the zeros of a Chebyshev polynomial on
/// the interval of the numbers' bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Function {
    at: [f64; 16],
    degree: u32,
}

impl Function {
    pub(super) fn constant(value: f64) -> Self {
        Self { at: [value; 16], degree: 0 }
    }

    /// A function that is not a polynomial, with these values at the nodes.
    pub(super) fn of_values(at: [f64; 16]) -> Self {
        Self { at, degree: u32::MAX }
    }

    pub(super) fn values(&self) -> [f64; 16] {
        self.at
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            at: std::array::from_fn(|node| self.at[node] + other.at[node]),
            degree: self.degree.max(other.degree),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            at: std::array::from_fn(|node| self.at[node] * other.at[node]),
            degree: self.degree.saturating_add(other.degree),
        }
    }

    /// The mean over numbers spread evenly.
    pub(super) fn mean(&self) -> f64 {
        PLACES
            .iter()
            .enumerate()
            .map(|(place, (_, weight))| weight * (self.at[2 * place] + self.at[2 * place + 1]))
            .sum()
    }

    /// The root mean square over numbers spread evenly.
    pub(super) fn root_mean_square(&self) -> f64 {
        self.times(*self).mean().sqrt()
    }

    /// A bound on the magnitude on the whole interval. (Ehlich and Zeller, 1964: a polynomial of degree `d`
    /// is at most `1 / cos(pi d / 32)` times as large as at the 16 zeros.)
    pub(super) fn largest(&self) -> f64 {
        let nodes = self.at.len() as u32;
        if self.degree >= nodes {
            return f64::INFINITY;
        }
        let between = (std::f64::consts::FRAC_PI_2 * f64::from(self.degree) / f64::from(nodes)).cos();
        self.at.iter().fold(0.0, |most: f64, value| most.max(value.abs())) / between
    }

    pub(super) fn is_finite(&self) -> bool {
        self.at.iter().all(|value| value.is_finite())
    }
}

/// Numbers as a function of the numbers of one array, which are real and spread evenly up to their bound.
/// Places without a number are zero, because constants are not added there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spread {
    /// The name of that array with its bound; `None` for a constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<StoredName>,
    pub(super) numbers: Function,
    /// Whether the function only holds for typical numbers; others within their bounds may differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) typically: bool,
}

/// The model of numbers is moved to their mean if it is further off, by their root mean square.
const NEAR_MEAN: f64 = 0.1;

impl Spread {
    /// The numbers of the array `name`, spread evenly up to `magnitude`.
    pub(super) fn even(name: u64, magnitude: f64) -> Option<Self> {
        let node = |index: usize| {
            (if index.is_multiple_of(2) { magnitude } else { -magnitude }) * PLACES[index / 2].0
        };
        let numbers = Function { at: std::array::from_fn(node), degree: 1 };
        let of = Some(StoredName(mixed_name(name, magnitude.to_bits())));
        (magnitude.is_finite() && magnitude > 0.0).then_some(Self { of, numbers, typically: false })
    }

    /// A model of numbers of which only the largest magnitude, the root mean square and the mean are known:
    /// around the mean, as powers of evenly spread numbers or as evenly spread numbers.
    pub(super) fn typical(name: u64, (magnitude, typical, mean): (f64, f64, f64)) -> Option<Self> {
        let of = Some(StoredName(mixed_name(name, TYPICAL)));
        let deviation = (typical * typical - mean * mean).max(0.0).sqrt();
        // The k-th power of numbers spread evenly up to 1 has a root mean square of 1 / sqrt(2k + 1), and its
        // magnitude has a mean of 1 / (k + 1). Sums are not high powers.
        let power = (((magnitude / typical).powi(2) - 1.0) / 2.0).min(HIGHEST_POWER);
        let largest = typical * (2.0 * power + 1.0).sqrt();
        let mean_of_power = largest / (power + 1.0);
        let signed = |index: usize, value: f64| if index.is_multiple_of(2) { value } else { -value };
        let node = |index: usize| {
            let place = PLACES[index / 2].0;
            let number = match mean.abs() / typical {
                ratio if ratio < 0.5 => signed(index, largest * place.powf(power)),
                _ if mean.abs() < 1.5 * mean_of_power => largest.copysign(mean) * place.powf(power),
                _ => mean + signed(index, 3f64.sqrt() * deviation * place),
            };
            number.clamp(-magnitude, magnitude)
        };
        let known = magnitude.is_finite() && typical > 0.0;
        known.then(|| {
            let shape = Function::of_values(std::array::from_fn(node));
            let own = shape.mean();
            let spread = (shape.root_mean_square().powi(2) - own * own).max(0.0).sqrt();
            // Powers around another mean than theirs, with the deviation that is known.
            let apart =
                (own - mean).abs() > NEAR_MEAN * typical && mean.abs() >= 0.5 * typical && spread > 0.0;
            let moved = |value: f64| (mean + (value - own) * deviation / spread).clamp(-magnitude, magnitude);
            let numbers = if apart { Function::of_values(shape.at.map(moved)) } else { shape };
            Self { of, numbers, typically: true }
        })
    }

    /// The same number in all places.
    pub(super) fn constant(value: f64) -> Self {
        Self { of: None, numbers: Function::constant(value), typically: false }
    }

    /// `f` of both as functions of the numbers of one array; `None` if they belong to different arrays.
    pub(super) fn combined(self, other: Self, f: impl Fn(Function, Function) -> Function) -> Option<Self> {
        match (self.of, other.of) {
            (Some(own), Some(other)) if own != other => None,
            (own, of) => Some(Self {
                of: own.or(of),
                numbers: f(self.numbers, other.numbers),
                typically: self.typically || other.typically,
            }),
        }
    }

    /// The same function of the same numbers at other places.
    pub(super) fn elsewhere(self, salt: u64) -> Self {
        Self { of: self.of.map(|StoredName(name)| StoredName(mixed_name(name, salt))), ..self }
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self { numbers: self.numbers.times(Function::constant(factor)), ..self }
    }

    /// The number, if it is equal in all places.
    pub(super) fn one_number(&self) -> Option<f64> {
        self.of.is_none().then_some(self.numbers.at[0])
    }

    /// Whether these are the same numbers up to rounding.
    pub(super) fn is_near(&self, other: Self) -> bool {
        let largest = self.numbers.at.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let near = |(own, other): (&f64, &f64)| (own - other).abs() <= NEAR * largest;
        self.of == other.of && self.numbers.at.iter().zip(&other.numbers.at).all(near)
    }

    /// The differences from the mean, which is that of evenly spread numbers only for typical numbers.
    pub(super) fn less_mean(self, salt: u64) -> Self {
        let numbers = self.numbers.plus(Function::constant(-self.numbers.mean()));
        Self { numbers, typically: true, ..self }.elsewhere(salt)
    }
}

/// The factor of an error as a function of the numbers of the array's [`Spread`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Factors {
    /// The factors times the typical root mean square of the error.
    pub(super) by: Function,
    /// The error's worst root mean square divided by its typical one. `None` if errors of this name have the
    /// same size but may differ, so that at worst they do not cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) peak: Option<f64>,
}

impl Factors {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { by: self.by.plus(other.by), peak: self.peak.zip(other.peak).map(|(x, y)| x.max(y)) }
    }

    pub(super) fn times(self, numbers: Function) -> Self {
        Self { by: self.by.times(numbers), ..self }
    }

    /// The typical root mean square.
    pub(super) fn typical(&self) -> f64 {
        self.by.root_mean_square()
    }

    /// A bound on the worst root mean square.
    pub(super) fn worst(&self) -> f64 {
        self.peak.map_or(f64::INFINITY, |peak| product(peak, self.by.largest()))
    }

    /// The same without a bound for the worst numbers.
    pub(super) fn without_bound(self) -> Self {
        Self { peak: None, ..self }
    }

    pub(super) fn is_finite(&self) -> bool {
        self.by.is_finite() && self.peak.is_none_or(|peak| peak.is_finite() && peak >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_have_the_means_of_an_even_spread_and_are_nowhere_larger_than_stated() {
        let x = Spread::even(1, 2.0).expect("a finite bound").numbers;
        let mut random = 0x2545_f491_4f6c_dd1du64;
        let mut sign = || {
            random = random.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            (random >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        for degree in [0u32, 1, 2, 3, 5, 7, 10, 15] {
            for _ in 0..50 {
                let weights: Vec<f64> = (0..=degree).map(|_| sign()).collect();
                let f = weights.iter().rev().fold(Function::constant(0.0), |sum, &weight| {
                    sum.times(x).plus(Function::constant(weight))
                });
                // Horner's first step is a product with zero.
                let f = Function { degree: f.degree - 1, ..f };
                let value = |t: f64| weights.iter().rev().fold(0.0, |sum, &weight| sum * t + weight);
                let most =
                    (0..=4000).map(|step| value(f64::from(step) / 1000.0 - 2.0).abs()).fold(0.0, f64::max);
                assert!(most <= f.largest() * (1.0 + 1e-12), "degree {degree}: {most} and {}", f.largest());
                // The mean over [-2, 2] of t^k is 2^k / (k + 1) for even k.
                let mean: f64 = weights
                    .iter()
                    .enumerate()
                    .step_by(2)
                    .map(|(k, weight)| weight * 2f64.powi(k as i32) / (k + 1) as f64)
                    .sum();
                assert!(
                    (f.mean() - mean).abs() < 1e-9 * (1.0 + most),
                    "degree {degree}: {} and {mean}",
                    f.mean()
                );
            }
        }
        assert_eq!((0..16).fold(x, |power, _| power.times(x)).largest(), f64::INFINITY);
    }
}
