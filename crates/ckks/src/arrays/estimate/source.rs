//! The sources of an error, and how their errors add up.

use serde::{Deserialize, Serialize};

use super::names::{StoredName, mixed_name, stored_name};
use super::spread::{Factors, Function};
use super::{EVERYWHERE, product};
use crate::arrays::layout::{Encoding, Layout};

/// The tails of the distribution of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tails {
    /// At most those of a normal error, but the error is deterministic: the rounding of public values. The
    /// numbers by which it is multiplied may have the same signs.
    Known,
    /// At most those of a normal error: a sum of many small independent parts, for any key.
    #[default]
    Normal,
    /// A polynomial `r s`, where `s` is a secret or an error in a key, and `r` is small and random. A
    /// coefficient is a sum of many independent parts and normal; a slot is the product of a slot of `r` and
    /// one of `s`.
    Convolution,
    /// Those of a slot of such a polynomial.
    Product,
}

impl Tails {
    /// The tails of sums of slots or coefficients of one polynomial.
    pub(super) fn summed(self) -> Self {
        if self <= Self::Normal { self } else { Self::Product }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    fn are_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the errors in this encoding have the tails of products.
    pub(super) fn are_heavy(self, encoding: Encoding) -> bool {
        self == Self::Product || (self == Self::Convolution && encoding == Encoding::Slots)
    }
}

/// The part of an error that has one origin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Source {
    #[serde(with = "stored_name")]
    pub(super) name: u64,
    /// The root mean square in all places, including those without a number: typical, and for the worst
    /// numbers.
    pub(super) typical: f64,
    pub(super) worst: f64,
    /// For rows and columns: the number of neighbours with the same error.
    #[serde(default = "each_alone", skip_serializing_if = "are_alone")]
    pub(super) alike: [f64; 2],
    /// For rows and columns: whether errors of different numbers, even unequal ones, may be dependent.
    #[serde(default, skip_serializing_if = "are_false")]
    pub(super) mixed: [bool; 2],
    /// The number of slots after which the error repeats; a mean over such repetitions does not reduce it.
    #[serde(default = "each_slot", skip_serializing_if = "is_each_slot")]
    pub(super) period: f64,
    /// For rows and columns: the typical square of a sum of many errors, divided by the sum of their squares:
    /// 1 if they are independent, their number if they are equal. Does not include the effect of
    /// [`Source::factors`].
    #[serde(default = "each_alone", skip_serializing_if = "are_alone")]
    pub(super) together: [f64; 2],
    /// Whether the signs of the coefficients are known; multiplying by numbers makes them unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) signed: bool,
    /// Whether the source may depend on other sources: at worst it adds linearly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) entangled: bool,
    #[serde(default, skip_serializing_if = "Tails::are_usual")]
    pub(super) tails: Tails,
    /// Whether a mask cleared the error in places without a number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cleared: bool,
    /// For rows and columns: whether all numbers have the same error to the last bit. [`Source::alike`]
    /// counts errors that may be the same.
    #[serde(default, skip_serializing_if = "are_false")]
    pub(super) equal: [bool; 2],
    /// Bound on the root mean square over all numbers of the worst errors, as a fraction of the largest of
    /// them, along the axes of the array's [`Root`](super::Root).
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub(super) root: f64,
    /// The axes along which the errors of the numbers sum to zero; if both are set, only the sum along both
    /// is zero.
    #[serde(default, skip_serializing_if = "are_false")]
    pub(super) centred: [bool; 2],
    /// Whether the error vanishes in the mean over the slots of one number, which repeat with
    /// [`Source::period`] or a shorter period.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) hidden: bool,
    /// The name of the source that this one was computed from, if any: at worst, sources of one origin add
    /// linearly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<StoredName>,
    /// The factor of each number's error as a function of the number, on the same nodes as the array's
    /// [`Spread`](super::spread::Spread). `None` if the error does not depend on the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) factors: Option<Factors>,
}

/// How errors add up (see [`Source::together`]) after a multiplication by numbers with this mean and root
/// mean square whose deviations add up as `numbers`. Independent factors make the products independent.
/// Errors that summed to zero no longer do, because half of the numbers may be zero and so remove their
/// errors from the sum.
pub(super) fn times_numbers(together: [f64; 2], (mean, typical): (f64, f64), numbers: [f64; 2]) -> [f64; 2] {
    let of_mean = if typical == 0.0 { 1.0 } else { (mean / typical).powi(2).min(1.0) };
    [0, 1].map(|axis| {
        let count = together[axis];
        let alike = match numbers[axis] < EVERYWHERE {
            true if count > 1.0 => ((numbers[axis] - 1.0) / (count - 1.0)).clamp(0.0, 1.0),
            true => 0.0,
            false => 1.0,
        };
        let kept = of_mean + (1.0 - of_mean) * alike;
        match count < EVERYWHERE {
            true if count < 1.0 => 1.0 + of_mean.min(0.5) * (count - 1.0),
            true => 1.0 + kept * (count - 1.0),
            // Equal everywhere, or nearly.
            false if kept > 0.25 => count,
            false => 1.0,
        }
    })
}

pub(super) fn each_alone() -> [f64; 2] {
    Source::NONE.alike
}

pub(super) fn are_alone(alike: &[f64; 2]) -> bool {
    *alike == each_alone()
}

fn each_slot() -> f64 {
    Source::NONE.period
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_each_slot(period: &f64) -> bool {
    period.to_bits() == each_slot().to_bits()
}

fn whole() -> f64 {
    Source::NONE.root
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_whole(share: &f64) -> bool {
    share.to_bits() == whole().to_bits()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) fn are_false(flags: &[bool; 2]) -> bool {
    *flags == [false; 2]
}

impl Source {
    pub(super) const NONE: Self = Self {
        name: 0,
        typical: 0.0,
        worst: 0.0,
        alike: [1.0; 2],
        mixed: [false; 2],
        period: 1.0,
        together: [1.0; 2],
        signed: true,
        entangled: false,
        tails: Tails::Normal,
        cleared: false,
        equal: [false; 2],
        root: 1.0,
        centred: [false; 2],
        hidden: false,
        origin: None,
        factors: None,
    };

    pub(super) fn times(self, typical: f64, worst: f64) -> Self {
        let factors = self.factors.map(|factors| factors.times(Function::constant(typical)));
        Self { typical: product(self.typical, typical), worst: product(self.worst, worst), factors, ..self }
    }

    /// The factor of the error, as a function of the number.
    pub(super) fn factors(&self) -> Factors {
        // If their signs are known, sources of one name are the same error.
        let peak = (self.signed && self.typical != 0.0).then(|| self.worst / self.typical);
        self.factors.unwrap_or(Factors { by: Function::constant(self.typical), peak })
    }

    /// The typical root mean square in places with a number.
    pub(super) fn typical_of_numbers(&self) -> f64 {
        self.factors.map_or(self.typical, |factors| factors.typical())
    }

    /// The worst root mean square in places with a number.
    pub(super) fn worst_of_numbers(&self) -> f64 {
        self.factors.map_or(self.worst, |factors| self.worst.abs().min(factors.worst()))
    }

    /// Forgets the factors, because the numbers are no longer known as a function of others. The numbers'
    /// deviations from their mean add up as `numbers`, and so do those of the factors.
    pub(super) fn without_factors(self, numbers: [f64; 2]) -> Self {
        if self.factors.is_none() {
            return self;
        }
        Self {
            typical: self.typical_of_numbers(),
            together: self.together_in_numbers(numbers),
            factors: None,
            ..self.unsigned()
        }
    }

    /// How errors add up in places with a number, including their factors.
    fn together_in_numbers(&self, numbers: [f64; 2]) -> [f64; 2] {
        self.factors.map_or(self.together, |factors| {
            times_numbers(self.together, (factors.by.mean(), factors.typical()), numbers)
        })
    }

    pub(super) fn unsigned(self) -> Self {
        Self { typical: self.typical.abs(), worst: self.worst.abs(), signed: false, ..self }
    }

    /// The same source in slots that repeat with `period`. Properties of means over shorter repetitions are
    /// lost.
    pub(super) fn repeating(self, period: f64) -> Self {
        if period <= self.period {
            return self;
        }
        Self { period, hidden: false, equal: [self.equal[0], false], centred: [false; 2], ..self }
    }

    /// The ratio of a number's error to a slot's error, in an array with this layout.
    pub(super) fn share(&self, layout: &Layout) -> f64 {
        let hidden = self.hidden && layout.period() as f64 <= self.period;
        if hidden { 0.0 } else { share(self.period, layout) }
    }

    /// The same source at other places, under another name.
    pub(super) fn rotated(self, turn: u64) -> Self {
        let rotated = |name: u64| name.wrapping_add(turn);
        Self {
            name: rotated(self.name),
            origin: self.origin.map(|StoredName(origin)| StoredName(rotated(origin))),
            ..self
        }
    }

    /// A source computed from this one.
    pub(super) fn derived(self, salt: u64) -> Self {
        Self { name: mixed_name(self.name, salt), origin: Some(StoredName(self.origin())), ..self }
    }

    /// The name of the source that this one was computed from, or of this source.
    pub(super) fn origin(&self) -> u64 {
        self.origin.map_or(self.name, |StoredName(origin)| origin)
    }

    pub(super) fn joined(self, other: Self) -> Self {
        let (x, y) =
            if self.signed && other.signed { (self, other) } else { (self.unsigned(), other.unsigned()) };
        let both = |x: [f64; 2], y: [f64; 2]| [x[0].max(y[0]), x[1].max(y[1])];
        let any = |x: [bool; 2], y: [bool; 2]| [x[0] || y[0], x[1] || y[1]];
        // The signs of factors are known.
        let known = self.factors.is_some() || other.factors.is_some();
        Self {
            typical: x.typical + y.typical,
            worst: x.worst + y.worst,
            alike: both(x.alike, y.alike),
            mixed: any(x.mixed, y.mixed),
            period: x.period.max(y.period),
            together: both(x.together, y.together),
            entangled: x.entangled || y.entangled,
            tails: x.tails.max(y.tails),
            cleared: x.cleared && y.cleared,
            equal: [x.equal[0] && y.equal[0], x.equal[1] && y.equal[1]],
            root: x.root.max(y.root),
            centred: if x.centred == y.centred { x.centred } else { [false; 2] },
            hidden: x.hidden && y.hidden && x.period.to_bits() == y.period.to_bits(),
            factors: known.then(|| self.factors().plus(other.factors())),
            ..x
        }
    }
}

/// The ratio of a number's error to a slot's error, for errors that repeat with a period.
pub(super) fn share(period: f64, layout: &Layout) -> f64 {
    if layout.encoding == Encoding::Coefficients {
        return 1.0;
    }
    let slots = layout.degree as f64 / 2.0;
    // A real number has only the real part of a complex error.
    let part = if layout.complex { 1.0 } else { 0.5 };
    (part * (period.max(layout.period() as f64) / slots).min(1.0)).sqrt()
}
