//! The sources of an error: parts of one origin each, with what tells how they add up.

use serde::{Deserialize, Serialize};

use super::names::{StoredName, mixed_name, stored_name};
use super::spread::{Factors, Function};
use super::{EVERYWHERE, product, share};
use crate::arrays::layout::{Encoding, Layout};

/// How often an error is many times its root mean square.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tails {
    /// As that of a normal one, but no chance decides: the rounding of what is known to all. The numbers that
    /// it meets may have its signs.
    Known,
    /// As often as a normal one, at most: a sum of many small independent parts, whatever the key is.
    #[default]
    Normal,
    /// A polynomial `r s`, where `s` is a secret, or an error in a key, and `r` is small and random. A
    /// coefficient is a sum of many independent parts, and normal. A slot is the product of one slot of `r`
    /// and one of `s`.
    Convolution,
    /// As often as a slot of such a polynomial.
    Product,
}

impl Tails {
    /// Those of sums of slots or coefficients of one polynomial.
    pub(super) fn summed(self) -> Self {
        if self <= Self::Normal { self } else { Self::Product }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    fn are_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the errors of slots or coefficients are as those of products.
    pub(super) fn are_heavy(self, encoding: Encoding) -> bool {
        self == Self::Product || (self == Self::Convolution && encoding == Encoding::Slots)
    }
}

/// The part of an error that has one origin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Source {
    #[serde(with = "stored_name")]
    pub(super) name: u64,
    /// The root mean square, and that for the worst numbers, in all places, those without a number too.
    pub(super) typical: f64,
    pub(super) worst: f64,
    /// For rows and columns: how many neighbours have the same error.
    #[serde(default = "each_alone", skip_serializing_if = "are_alone")]
    pub(super) alike: [f64; 2],
    /// For rows and columns: whether the errors of different numbers may depend on each other in another way.
    #[serde(default, skip_serializing_if = "are_false")]
    pub(super) mixed: [bool; 2],
    /// The slots after which the error repeats, so that a mean over repetitions does not make it smaller.
    #[serde(default = "each_slot", skip_serializing_if = "is_each_slot")]
    pub(super) period: f64,
    /// For rows and columns: the typical square of a sum of errors over the sum of their squares, for many of
    /// them: 1 where they are independent, their number where they are the same. What [`Source::factors`]
    /// does to it is not in it.
    #[serde(default = "each_alone", skip_serializing_if = "are_alone")]
    pub(super) together: [f64; 2],
    /// Whether the coefficients have known signs: those of a source that was multiplied by numbers have not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) signed: bool,
    /// Whether it may depend on other sources: at worst it adds linearly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) entangled: bool,
    #[serde(default, skip_serializing_if = "Tails::are_usual")]
    pub(super) tails: Tails,
    /// Whether places without a number have none of it, which a mask cleared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cleared: bool,
    /// For rows and columns: whether all numbers have the same error, to the last bit, and not only errors
    /// that may be as if they were the same.
    #[serde(default, skip_serializing_if = "are_false")]
    pub(super) equal: [bool; 2],
    /// The share of the worst root mean square that the errors have together, at most, along the axes of the
    /// array's [`Root`](super::Root).
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub(super) root: f64,
    /// The axes along which the errors of the numbers add up to zero: along both of them together where both
    /// are named.
    #[serde(default, skip_serializing_if = "are_false")]
    pub(super) centred: [bool; 2],
    /// Whether the mean over the slots of one number, which repeat with [`Source::period`] or sooner, has
    /// none of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) hidden: bool,
    /// The name of the source that this one was computed from, where that is another: sources of one origin
    /// add linearly at worst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<StoredName>,
    /// What the error of numbers is multiplied by, where the numbers are those of the array's
    /// [`Spread`](super::spread::Spread). Nothing where it is the same for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) factors: Option<Factors>,
}

/// How numbers or errors add up that are multiplied by numbers of this mean and root mean square, whose
/// deviations from the mean add up so: where these are independent, they make the products independent. What
/// adds up to zero does so no longer, as half of the numbers may be zeros, which are in neither.
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
            // The same everywhere, or by far the most of it.
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

    /// What the error is multiplied by, wherever the numbers are.
    pub(super) fn factors(&self) -> Factors {
        // Sources of one name are the same error where their signs are known.
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

    /// The same where the numbers are not known as a function of others.
    pub(super) fn without_factors(self) -> Self {
        if self.factors.is_none() {
            return self;
        }
        Self {
            typical: self.typical_of_numbers(),
            together: self.together_in_numbers(),
            factors: None,
            ..self.unsigned()
        }
    }

    /// How errors add up where the numbers are, with their factors.
    fn together_in_numbers(&self) -> [f64; 2] {
        self.factors.map_or(self.together, |factors| {
            times_numbers(self.together, (factors.by.mean(), factors.typical()), [1.0; 2])
        })
    }

    pub(super) fn unsigned(self) -> Self {
        Self { typical: self.typical.abs(), worst: self.worst.abs(), signed: false, ..self }
    }

    /// The same in slots that repeat with a period, or did. Of what is known of means over shorter
    /// repetitions nothing is left.
    pub(super) fn repeating(self, period: f64) -> Self {
        if period <= self.period {
            return self;
        }
        Self { period, hidden: false, equal: [self.equal[0], false], centred: [false; 2], ..self }
    }

    /// The share of a slot's error that a number's error is, in an array with this layout.
    pub(super) fn share(&self, layout: &Layout) -> f64 {
        let hidden = self.hidden && layout.period() as f64 <= self.period;
        if hidden { 0.0 } else { share(self.period, layout) }
    }

    /// The same source at other places, where it is another one.
    pub(super) fn rotated(self, turn: u64) -> Self {
        let rotated = |name: u64| name.wrapping_add(turn);
        Self {
            name: rotated(self.name),
            origin: self.origin.map(|StoredName(origin)| StoredName(rotated(origin))),
            ..self
        }
    }

    /// A source that was computed from this one.
    pub(super) fn derived(self, salt: u64) -> Self {
        Self { name: mixed_name(self.name, salt), origin: Some(StoredName(self.origin())), ..self }
    }

    /// The name of the source that this one was computed from, or its own.
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
