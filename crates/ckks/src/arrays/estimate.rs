//! Estimates of an array: bounds on its numbers, their typical size, and their errors. Data and symbols have
//! the same estimate, so that the prediction of a dry run equals that of the run.
//!
//! An error is a sum over independent *sources*: encryptions, switches, roundings. Each source has two
//! coefficients, to which every operation is applied:
//!
//! ```text
//! typical    root mean square for typical numbers, by default spread evenly over the interval of the bound: `error_rms`
//! worst      root mean square for the worst numbers within the bounds, from which `error_bound` follows for a probability of failure of 2^-40
//! ```
//!
//! The squares of the errors of different sources add. A source that occurs twice adds linearly: `x + x`
//! doubles the error of `x`, but the sum of two encryptions has `sqrt(2)` times the error of one. Each source
//! has a name, computed from the names of the operands; an operation repeated on the same array has the same
//! name, because it has the same noise.
//!
//! Coefficients refer to a slot of a polynomial. The error of a number is smaller ([`Estimate::error_rms`]):
//! a number is the mean of all slots that repeat it, and a real number has only the real part of the error.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use self::names::{StoredName, mixed_name};
pub(crate) use self::names::{name_of, name_of_all};
pub(crate) use self::norms::MatrixNorms;
use self::source::{Source, Tails, times_numbers};
use self::spread::{Factors, Function, Spread};
pub(crate) use self::stored::StoredEstimate;
use super::layout::{Encoding, Layout};
use clathrate_lattice::MaskSeed;
use rustfft::num_complex::Complex64;

mod names;
mod norms;
mod source;
mod spread;
mod stored;
#[cfg(test)]
mod tests;

/// Maximum number of separate sources; further ones, the smallest, are added to the rest.
const MOST_SOURCES: usize = 32;

/// Maximum number of remembered names of sources in the rest.
const MOST_DROPPED: usize = 1024;

/// A count of places above that of any array, which means all places.
const EVERYWHERE: f64 = (1u64 << 48) as f64;

/// Rounding errors of public values may all have the signs of the numbers that they are multiplied by. A sum
/// of `n` of their magnitudes is 0.8 n standard deviations on average, and an error bound is at least 7.5
/// standard deviations, so a worst root mean square of `n / KNOWN_SUM` covers the sum.
const KNOWN_SUM: f64 = 6.0;

/// Origins of the rounding errors of factors, of encodings and of plain arrays.
const FACTOR: u64 = 0x6661_6374_6f72_0001;
const ENCODING: u64 = 0x656e_636f_6465_0001;
const ROUNDING: u64 = 0x726f_756e_6469_6e67;

/// The origin of constant errors.
const BIAS: u64 = 0x6269_6173_0000_0001;

/// Salt of the names of differences from the mean.
const DIFFERENCES: u64 = 0x6469_6666_6572_0001;

/// Salt of the names of transposed arrays.
const TRANSPOSED: u64 = 0x7472_616e_7370_0001;

/// Salt of the names of left factors of matrix products.
const LEFT_FACTOR: u64 = 0x6c65_6674_6661_6301;

/// Salt of the names of negated numbers.
const NEGATIVE: u64 = 0x6e65_6761_7469_7665;

/// Negative binary logarithm of the probability with which some number of an array may exceed its error
/// bound.
const LOG2_FAILURE: f64 = 40.0;

/// The root mean square of numbers spread evenly over `[-1, 1]`.
const EVEN: f64 = 0.577_350_269_189_625_8;

/// The axis of a sum, a map or a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Along {
    /// The rows of an array are added.
    Rows,
    /// The numbers of a row are added.
    Columns,
}

/// Bounds on the numbers of an array, their typical size, and their errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The largest magnitude that a number may have; infinite if no bound is declared.
    pub magnitude: f64,
    /// The root mean square of typical numbers.
    pub typical: f64,
    /// The mean of typical numbers.
    pub mean: f64,
    /// Bounds on the means of the numbers along some axes, if known.
    root: Option<Root>,
    /// For rows and columns: the typical square of a sum of the numbers' deviations from their mean, divided
    /// by the sum of the squares of the deviations.
    together: [f64; 2],
    /// The axes along which the numbers sum to zero; if both are set, only the sum along both is zero.
    centred: [bool; 2],
    /// The numbers whose sums these are: along one axis (first entry), and along both axes (second entry).
    sums: Vec<Sums>,
    /// The numbers as a function of the numbers of one array, if they are such a function.
    spread: Option<Spread>,
    /// The name of the numbers: equal for equal numbers.
    name: u64,
    /// The name of the masks, from which the names of the noise of switches and rescales follow; sums with
    /// plain numbers keep it. `None` for plain numbers.
    masks: Option<u64>,
    sources: Vec<Source>,
    /// The sum of all further sources. It may depend on any other source.
    rest: Source,
    /// The name and the origin of each source in the rest, `None` if there are too many: the errors of a
    /// source that is added again add linearly.
    dropped: Option<Vec<[u64; 2]>>,
}

/// Bounds on means of the numbers along some axes, as fractions of their largest magnitude; [`Source::root`]
/// is the corresponding bound for the errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    axes: [bool; 2],
    /// Bound on the mean of the magnitudes.
    mean: f64,
    /// Bound on the root mean square.
    square: f64,
}

/// The numbers whose sums an array consists of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sums {
    numbers: Spread,
    /// Number of terms along rows and columns.
    counts: [f64; 2],
}

impl Sums {
    fn times(self, factor: f64) -> Self {
        Self { numbers: self.numbers.times(factor), ..self }
    }
}

/// The product of `x` and `y`, in which zero times infinity is zero.
pub(crate) fn product(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { x * y }
}

/// A random name for the numbers of an array, which also differs between forked processes.
fn new_name() -> u64 {
    getrandom::u64().unwrap_or_else(|_| RandomState::new().build_hasher().finish())
}

impl Estimate {
    /// The estimate of numbers without bounds and with unknown errors.
    #[must_use]
    pub fn unknown() -> Self {
        let rest = Source { typical: f64::INFINITY, worst: f64::INFINITY, ..Source::NONE };
        Self { rest, ..Self::exact(f64::INFINITY) }
    }

    /// Numbers without an error, spread evenly up to a bound, which may be infinite.
    #[must_use]
    pub fn exact(magnitude: f64) -> Self {
        let name = new_name();
        Self {
            magnitude,
            typical: EVEN * magnitude,
            mean: 0.0,
            root: None,
            together: [1.0; 2],
            centred: [false; 2],
            sums: Vec::new(),
            spread: Spread::even(name, magnitude),
            name,
            masks: Some(name),
            sources: Vec::new(),
            rest: Source::NONE,
            dropped: Some(Vec::new()),
        }
    }

    /// Numbers up to a bound with an independent error of root mean square `error` in a slot or coefficient.
    #[must_use]
    pub fn fresh(magnitude: f64, error: f64) -> Self {
        Self::exact(magnitude).with_error(error)
    }

    /// A fresh encryption of numbers up to a bound. `error` is the root mean square of the encryption error;
    /// `encoding` is the typical and the worst root mean square of the encoding error. The mask, which is
    /// unique to the encryption, names the numbers.
    pub(crate) fn encrypted(
        magnitude: f64,
        error: f64,
        encoding: (f64, f64),
        mask: Option<MaskSeed>,
        encoded: bool,
    ) -> Self {
        let name = mask.map_or_else(new_name, |MaskSeed(seed)| {
            seed.chunks(8).fold(0, |name, word| {
                mixed_name(name, word.iter().fold(0, |sum, &byte| (sum << 8) | u64::from(byte)))
            })
        });
        let fresh =
            Self { name, masks: Some(name), spread: Spread::even(name, magnitude), ..Self::exact(magnitude) };
        // Under a public key, which has no separate mask, the error is a product with the errors of the key.
        let tails = if mask.is_some() { Tails::Normal } else { Tails::Convolution };
        let noise = Source {
            name: mixed_name(name, error.to_bits()),
            typical: error,
            worst: error,
            tails,
            ..Source::NONE
        };
        let mut fresh = fresh;
        fresh.push(noise);
        // All encryptions of an encoded array have the same encoding error. A name computed from its numbers
        // would reveal them, so all such arrays share one origin.
        let (name, (typical, worst), origin) =
            (mixed_name(name, ENCODING), encoding, encoded.then_some(StoredName(ENCODING)));
        fresh.push(Source { name, typical, worst, signed: false, origin, ..Source::NONE });
        fresh
    }

    /// Forgets the function of the numbers if they may be complex.
    pub(crate) fn of_complex(self, complex: bool) -> Self {
        if complex { self.forgotten() } else { self }
    }

    /// Plain numbers with the name `name` ([`name_of`]) and the given largest magnitude, root mean square and
    /// mean. With `one_number`, all entries are equal.
    pub(crate) fn plain(name: u64, (magnitude, typical, mean): (f64, f64, f64), one_number: bool) -> Self {
        // The computed mean has rounding errors.
        let real = mean.abs() >= magnitude * (1.0 - 1e-9);
        let spread = (one_number && real).then(|| Spread::constant(magnitude.copysign(mean)));
        Self { typical, mean, name, masks: None, spread, ..Self::exact(magnitude) }
    }

    /// One plain number.
    pub(crate) fn number(value: Complex64) -> Self {
        Self::plain(name_of([value.re, value.im]), (value.norm(), value.norm(), value.re), true)
    }

    /// The same numbers and errors with another bound on the numbers.
    #[must_use]
    pub fn within(self, magnitude: f64) -> Self {
        let typical = if self.typical.is_finite() && self.typical > 0.0 {
            self.typical.min(magnitude)
        } else {
            EVEN * magnitude
        };
        // Numbers with a new bound are assumed to be spread evenly up to it, unless their function is known.
        let spread = if typical == self.typical && magnitude <= self.magnitude { self.spread } else { None };
        let within = Self {
            magnitude,
            typical,
            mean: self.mean.clamp(-typical, typical),
            sums: Vec::new(),
            ..self.without_root()
        };
        if spread.is_some() { within } else { within.forgotten() }
    }

    /// Forgets the function of the numbers.
    pub(crate) fn forgotten(self) -> Self {
        Self { spread: None, sums: Vec::new(), ..self }.map_sources(Source::without_factors)
    }

    /// `f` of both numbers, which are functions of the numbers of one array; `None` if they are not.
    fn spread_with(&self, other: &Self, f: impl Fn(Function, Function) -> Function) -> Option<Spread> {
        if self.spread.is_none() && other.spread.is_none() && self.name != other.name {
            return None;
        }
        self.known_spread()?.combined(other.known_spread()?, f)
    }

    /// Replaces the numbers' function, root mean square and mean.
    fn with_spread(self, spread: Spread) -> Self {
        let typical = spread.numbers.root_mean_square().min(self.magnitude);
        let mean = spread.numbers.mean().clamp(-typical, typical);
        Self { typical, mean, spread: Some(spread), ..self }
    }

    /// The number of terms along each axis if `mean` is the mean of these numbers; otherwise `None`.
    fn counts_of_mean(&self, mean: &Self) -> Option<[f64; 2]> {
        let own = self.known_spread()?;
        let of_these = |sums: &&Sums| own.is_near(sums.numbers.times(sums.counts[0] * sums.counts[1]));
        mean.sums.iter().find(of_these).map(|sums| sums.counts)
    }

    /// The estimate of `x - mean`, where `mean` is the mean of `counts` numbers of `x` along each axis, from
    /// the estimate of this difference as one of unrelated numbers. The differences have a root mean square
    /// of at most the bound of `x`. They sum to zero, so an error that is equal in all of them is multiplied
    /// by zero in a sum of products.
    fn less_mean(self, x: &Self, counts: [f64; 2]) -> Self {
        let along = counts.map(|count| count > 1.0);
        let share = if x.magnitude < self.magnitude { x.magnitude / self.magnitude } else { 1.0 };
        let root = Some(Root { axes: along, mean: share, square: share }).filter(|_| along != [false; 2]);
        let mut kept = Self { root, centred: along, ..self }.forgotten();
        let is_of_x = |source: &Source| x.sources.iter().any(|own| own.origin() == source.origin());
        let is_of_mean =
            |source: &Source| !is_of_x(source) && (0..2).all(|axis| !along[axis] || source.equal[axis]);
        // The differences sum to zero along the axis, and so do their errors, except the errors of the mean,
        // which are the same in all differences.
        if let [true, false] | [false, true] = along {
            let none = |together: [f64; 2]| [0, 1].map(|axis| if along[axis] { 0.0 } else { together[axis] });
            kept.together = none(kept.together);
            kept.sources
                .iter_mut()
                .filter(|source| !is_of_mean(source))
                .for_each(|source| source.together = none(source.together));
        }
        let Some(spread) = x.spread.filter(|_| kept.magnitude.is_finite()) else { return kept };
        for source in &mut kept.sources {
            source.factors = x
                .sources
                .iter()
                .find(|own| own.name == source.name)
                .and_then(|own| own.factors)
                .map(Factors::without_bound);
        }
        kept.with_spread(
            spread.less_mean(mixed_name(DIFFERENCES, mixed_name(counts[0].to_bits(), counts[1].to_bits()))),
        )
    }

    /// The estimate of a selection: a fraction `share` of the numbers are those of `x`, the others those of
    /// `y` at the same place, with their errors (see
    /// [`Ciphertext::as_chosen_from`](super::Ciphertext::as_chosen_from)).
    pub(crate) fn chosen(self, x: &Self, y: &Self, share: f64) -> Self {
        let of_both = |x: f64, y: f64| share * x + (1.0 - share) * y;
        let typical_of = |x: f64, y: f64| of_both(x * x, y * y).sqrt();
        let mut own = self.forgotten().without_cancelling(None);
        for source in &mut own.sources {
            let [of_x, of_y] = [x, y].map(|from| from.sources.iter().find(|own| own.name == source.name));
            if of_x.is_some() || of_y.is_some() {
                let errors = |of: Option<&Source>| {
                    of.map_or((0.0, 0.0), |own| (own.typical_of_numbers(), own.worst.abs()))
                };
                let (of_x, of_y) = (errors(of_x), errors(of_y));
                *source = source.unsigned();
                (source.typical, source.worst) =
                    (source.typical.min(typical_of(of_x.0, of_y.0)), source.worst.min(of_x.1.max(of_y.1)));
            }
        }
        let (magnitude, typical) = (x.magnitude.max(y.magnitude), typical_of(x.typical, y.typical));
        Self { magnitude, typical, mean: of_both(x.mean, y.mean), ..own }
    }

    /// Forgets that numbers or errors sum to zero along this axis (along both, if `None`), for operations
    /// that drop numbers or multiply them by different factors.
    fn without_cancelling(self, along: Option<Along>) -> Self {
        let least = |together: [f64; 2]| {
            [Along::Rows, Along::Columns].map(|axis| {
                if along.is_none_or(|along| along == axis) {
                    together[axis as usize].max(1.0)
                } else {
                    together[axis as usize]
                }
            })
        };
        let numbers = least(self.together);
        let kept =
            |axes: [bool; 2]| if along.is_none_or(|along| axes[along as usize]) { [false; 2] } else { axes };
        Self { together: numbers, centred: kept(self.centred), ..self.without_root() }.map_sources(|source| {
            Source { together: least(source.together), centred: kept(source.centred), ..source }
        })
    }

    /// Forgets the bounds on means along axes.
    fn without_root(self) -> Self {
        if self.root.is_none() {
            self
        } else {
            Self { root: None, ..self }.map_sources(|source| Source { root: 1.0, ..source })
        }
    }

    /// The estimate with the bound `magnitude` if it is smaller.
    pub(crate) fn at_most(self, magnitude: f64) -> Self {
        if magnitude < self.magnitude { self.within(magnitude) } else { self }
    }

    /// Zeros without errors. An operation on these zeros gives the operation's own noise.
    pub(crate) fn without_numbers(self) -> Self {
        let rest = if self.has_errors() { Source::NONE } else { self.rest };
        Self {
            magnitude: 0.0,
            typical: 0.0,
            mean: 0.0,
            root: None,
            sums: Vec::new(),
            spread: None,
            sources: Vec::new(),
            rest,
            dropped: Some(Vec::new()),
            ..self
        }
    }

    /// The same numbers without errors.
    pub(crate) fn without_errors(self) -> Self {
        Self { sources: Vec::new(), rest: Source::NONE, dropped: Some(Vec::new()), ..self }
    }

    /// The noise of operations on two arrays whose slots have independent errors.
    pub(crate) fn beside(self, other: Self) -> Self {
        let (own, foreign) = (self.slot_errors(), other.slot_errors());
        self.without_numbers().with_errors(own.0.hypot(foreign.0), own.1.hypot(foreign.1))
    }

    /// Adds the noise of `steps` to these numbers. The noise may be equal in `period` neighbouring slots and
    /// may repeat after them.
    pub(crate) fn with_noise_of(mut self, steps: Self, period: usize) -> Self {
        let (typical, worst) = steps.slot_errors();
        let (name, alike) = (mixed_name(self.name_of_noise(), worst.to_bits()), [1.0, period as f64]);
        let tails = steps.tails().max(Tails::Convolution);
        self.push(Source {
            name,
            typical,
            worst,
            alike,
            together: alike,
            period: period as f64,
            signed: false,
            tails,
            ..Source::NONE
        });
        self
    }

    /// [`Estimate::with_noise_of`] for sums of `places` numbers or lanes by rotations by `places / 2`,
    /// `places / 4`, .., 1, in slots with `all` places. The noise of the rotation by `step` is added to
    /// itself, by the later rotations, at `step` neighbouring places. The mean of this noise over all places
    /// is the same everywhere and has `step^2 / all` of its square; it is equal to the last bit if a place is
    /// one slot (`exact`). The rest of the noise is most correlated with numbers that form a wave of one
    /// period, among all numbers that sum to zero, and it vanishes in the mean of a number that repeats.
    pub(crate) fn with_noise_of_halves(
        mut self,
        steps: Self,
        along: Along,
        (places, all): (usize, usize),
        exact: bool,
    ) -> Self {
        let halves =
            || std::iter::successors(Some(places / 2), |step| Some(step / 2)).take_while(|&step| step >= 1);
        let (halves, axis, all) = (|| halves().map(|step| step as f64), along as usize, all as f64);
        let (sum, same): (f64, f64) = (halves().sum(), halves().map(|step| step * step / all).sum());
        if sum == 0.0 {
            return self;
        }
        let wave = |step: f64| ((PI * step / all).sin() / (PI / all).sin()).powi(2);
        let waves = (halves().map(wave).sum::<f64>() / (sum - same)).max(1.0);
        let (noise, tails) = (steps.slot_errors(), steps.tails().max(Tails::Convolution));
        let mut add = |part: u64, share: f64, own: Source| {
            let (typical, worst) = (noise.0 * share.sqrt(), noise.1 * share.sqrt());
            let name = mixed_name(mixed_name(self.name_of_noise(), worst.to_bits()), part);
            self.push(Source { name, typical, worst, signed: false, tails, ..own });
        };
        let of_axis = |count: f64| [0, 1].map(|other| if other == axis { count } else { 1.0 });
        let (alike, equal) = (of_axis(all), [0, 1].map(|other| other == axis && exact));
        let period = if exact { EVERYWHERE } else { all };
        add(0, same / sum, Source { alike, together: alike, equal, period, ..Source::NONE });
        add(1, 1.0 - same / sum, Source { alike: of_axis(waves), ..Source::NONE });
        self
    }

    /// The errors in `slots` slots, with each number in `copies` neighbouring slots. Sums by rotations of
    /// numbers whose slots repeat are equal in all slots, but their errors are not: only the means of the
    /// errors over the repetitions are equal.
    pub(crate) fn in_slots(self, slots: usize, copies: usize) -> Self {
        self.map_sources(|source| match source.period < slots as f64 {
            false if copies == 1 => Source { period: EVERYWHERE, ..source },
            false => Source { equal: [source.equal[0], false], ..source },
            true => source,
        })
    }

    /// The numbers as the only sum of `count` numbers in each row, in slots with period `period`.
    pub(crate) fn summed_over(self, count: usize, period: usize) -> Self {
        self.forgotten().map_sources(|source| {
            let most = |own: [f64; 2]| [own[0], own[1].max(count as f64)];
            Source {
                alike: most(source.alike),
                together: most(source.together),
                cleared: false,
                ..source.repeating(period as f64)
            }
        })
    }

    /// The same numbers with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        let swap = |source: Source| Source {
            alike: [source.alike[1], source.alike[0]],
            together: [source.together[1], source.together[0]],
            mixed: [source.mixed[1], source.mixed[0]],
            equal: [source.equal[1], source.equal[0]],
            // The numbers of a column are in one polynomial.
            tails: source.tails.summed(),
            ..source
        };
        let swapped = self.map_sources(swap).elsewhere(None, TRANSPOSED);
        Self { together: [swapped.together[1], swapped.together[0]], ..swapped }
    }

    /// The same numbers at other places along an axis (both, if `None`), where they are combined with other
    /// numbers. Sources that are equal in all places keep their names, because moving them changes nothing.
    fn elsewhere(mut self, along: Option<Along>, salt: u64) -> Self {
        (self.spread, self.sums) = (self.spread.map(|spread| spread.elsewhere(salt)), Vec::new());
        let same = |source: &Source| {
            source.period >= EVERYWHERE
                && along.map_or(source.equal == [true; 2], |along| source.equal[along as usize])
        };
        self.without_cancelling(along)
            .map_sources(|source| if same(&source) { source } else { source.derived(salt) })
            .named(salt)
    }

    /// The numbers of the left factor of a matrix product: they are multiplied with the right factor's
    /// numbers at other places, and the products along columns are added.
    pub(crate) fn into_left_factor(self) -> Self {
        self.elsewhere(None, LEFT_FACTOR)
    }

    /// Marks errors of different numbers as possibly dependent.
    pub(crate) fn mixed(self) -> Self {
        self.map_sources(|source| Source { mixed: [true; 2], ..source })
    }

    /// Marks the errors in places without a number as multiplied by zero.
    pub(crate) fn cleared(self) -> Self {
        self.map_sources(|source| Source { cleared: true, ..source })
    }

    /// Slots that repeated with a longer period now repeat with `period`, filled with copies.
    pub(crate) fn copied(self, period: usize) -> Self {
        self.map_sources(|source| source.repeating(period as f64))
    }

    /// The complex conjugates of the numbers.
    pub(crate) fn conjugated(self) -> Self {
        self.forgotten().map_sources(Source::unsigned).named(5)
    }

    /// Whether the errors are known (finite).
    pub(crate) fn has_errors(&self) -> bool {
        self.rest.worst.is_finite()
    }

    fn has_no_errors(&self) -> bool {
        self.rest.worst == 0.0 && self.sources.iter().all(|source| source.worst == 0.0)
    }

    fn map_sources(mut self, f: impl Fn(Source) -> Source) -> Self {
        self.sources.iter_mut().for_each(|source| *source = f(*source));
        let rest = self.rest;
        for [name, origin] in self.dropped.iter_mut().flatten() {
            let own = f(Source { name: *name, origin: Some(StoredName(*origin)), ..rest });
            (*name, *origin) = (own.name, own.origin());
        }
        self.rest = Source { name: 0, origin: None, ..f(self.rest).without_factors() };
        self
    }

    /// Adds `other` to the rest. Their errors add linearly, unless the names in both are known and disjoint.
    fn with_rest(&mut self, other: Source, dropped: Option<&[[u64; 2]]>) {
        let (own, other) = (self.rest.unsigned(), other.unsigned());
        let differ_in = |which: usize| {
            let of = |names: &[[u64; 2]]| names.iter().map(|names| names[which]).collect::<BTreeSet<u64>>();
            self.dropped.as_ref().zip(dropped).is_some_and(|(own, other)| of(own).is_disjoint(&of(other)))
        };
        let sum = own.joined(other);
        let typical = if differ_in(0) { own.typical.hypot(other.typical) } else { sum.typical };
        let worst = if differ_in(1) && !sum.entangled { own.worst.hypot(other.worst) } else { sum.worst };
        self.rest = Source { typical, worst, ..sum };
        self.dropped = match (self.dropped.take(), dropped) {
            (Some(own), Some(other)) if own.len() + other.len() <= MOST_DROPPED => {
                Some(own.iter().chain(other.iter().filter(|name| !own.contains(name))).copied().collect())
            }
            _ => None,
        };
    }

    fn push(&mut self, source: Source) {
        if let Some(known) = self.sources.iter_mut().find(|known| known.name == source.name) {
            *known = known.joined(source);
            return;
        }
        if source.typical == 0.0 && source.worst == 0.0 {
            return;
        }
        if self.sources.len() < MOST_SOURCES {
            self.sources.push(source);
            return;
        }
        // The source that is smallest, by its typical and worst sizes, is added to the rest.
        let largest = |of: fn(&Source) -> f64| self.sources.iter().map(of).fold(of(&source), f64::max);
        let (typical, worst) = (largest(|own| own.typical.abs()), largest(|own| own.worst.abs()));
        let size = |own: &Source| (own.typical.abs() / typical).max(own.worst.abs() / worst);
        let smallest = (0..self.sources.len())
            .min_by(|&a, &b| size(&self.sources[a]).total_cmp(&size(&self.sources[b])))
            .unwrap_or(0);
        let dropped = if size(&self.sources[smallest]) < size(&source) {
            std::mem::replace(&mut self.sources[smallest], source)
        } else {
            source
        };
        let (rest, dropped) = (self.rest.unsigned(), dropped.unsigned().without_factors());
        let sum = rest.joined(dropped);
        let (typical, worst) = (rest.typical.hypot(dropped.typical), rest.worst.hypot(dropped.worst));
        let is_new = |which: usize, name: u64| {
            self.dropped
                .as_ref()
                .is_some_and(|names| names.len() < MOST_DROPPED && names.iter().all(|own| own[which] != name))
        };
        let (new, alone) = (is_new(0, dropped.name), is_new(1, dropped.origin()) && !dropped.entangled);
        let (typical, worst) =
            (if new { typical } else { sum.typical }, if new && alone { worst } else { sum.worst });
        self.rest = Source { name: 0, origin: None, typical, worst, ..sum };
        match &mut self.dropped {
            Some(names) if new => names.push([dropped.name, dropped.origin()]),
            Some(names) if names.len() >= MOST_DROPPED => self.dropped = None,
            _ => {}
        }
    }

    /// The numbers under the name that results from an operation with salt `salt`.
    fn named(self, salt: u64) -> Self {
        Self {
            name: mixed_name(self.name, salt),
            masks: self.masks.map(|masks| mixed_name(masks, salt)),
            ..self
        }
    }

    /// The name from which the names of the noise of operations on the array follow.
    fn name_of_noise(&self) -> u64 {
        self.masks.unwrap_or(self.name)
    }

    /// Adds an error of root mean square `error` in a slot or coefficient. The error's name follows from the
    /// name of the numbers and its size.
    #[must_use]
    pub fn with_error(self, error: f64) -> Self {
        self.with_errors(error, error)
    }

    /// [`Estimate::with_error`] for an error that depends on the numbers: typical and worst size.
    pub(crate) fn with_errors(self, typical: f64, worst: f64) -> Self {
        self.with_own(Tails::Convolution, typical, worst)
    }

    /// [`Estimate::with_errors`] for the rounding of public values, which contains no key. Equal arrays have
    /// equal rounding errors, and the numbers by which these are multiplied may have the same signs.
    pub(crate) fn with_rounding(self, typical: f64, worst: f64) -> Self {
        self.with_rounding_alike([1.0; 2], typical, worst)
    }

    /// [`Estimate::with_rounding`] for an error that `alike` neighbouring rows, or numbers of a row, share.
    pub(crate) fn with_rounding_alike(mut self, alike: [f64; 2], typical: f64, worst: f64) -> Self {
        let name = mixed_name(self.name, worst.to_bits());
        let source = Source { name, typical, worst, alike, together: alike, ..Source::NONE };
        self.push(Source { signed: false, mixed: [true; 2], tails: Tails::Known, ..source });
        self
    }

    /// [`Estimate::with_rounding`] for the factors of a linear map.
    fn with_rounding_of_map(mut self, typical: f64, worst: f64) -> Self {
        let name = mixed_name(self.name, worst.to_bits());
        let source = Source { name, typical, worst, origin: Some(StoredName(FACTOR)), ..Source::NONE };
        self.push(Source { signed: false, mixed: [true; 2], tails: Tails::Known, ..source });
        self
    }

    /// [`Estimate::with_rounding`] for sums over `slots` neighbouring slots of the rounding of a mask (root
    /// mean squares, typical and worst) times numbers. The same mask has the same rounding.
    pub(crate) fn with_rounding_of_mask(
        mut self,
        slots: usize,
        rounding: (f64, f64),
        numbers: &Self,
    ) -> Self {
        let (typical, worst) = (product(rounding.0, numbers.typical), product(rounding.1, numbers.magnitude));
        let (name, alike) = (mixed_name(self.name, worst.to_bits()), [1.0, slots as f64]);
        let mask = mixed_name(ROUNDING, mixed_name(slots as u64, rounding.1.to_bits()));
        let source = Source {
            name,
            typical,
            worst,
            alike,
            together: alike,
            signed: false,
            mixed: [true; 2],
            ..Source::NONE
        };
        self.push(Source { origin: Some(StoredName(mask)), ..source });
        self
    }

    fn with_own(mut self, tails: Tails, typical: f64, worst: f64) -> Self {
        let name = mixed_name(self.name_of_noise(), worst.to_bits());
        self.push(Source { name, typical, worst, signed: false, tails, ..Source::NONE });
        self
    }

    /// [`Estimate::with_error`] for an error that is a product of secrets and random numbers in any encoding.
    pub(crate) fn with_error_of_products(self, error: f64) -> Self {
        self.with_own(Tails::Product, error, error)
    }

    /// Adds the errors of the imaginary part of an array with this layout, where these numbers were its real
    /// part and `other` its imaginary part.
    pub(crate) fn with_imaginary_part_of(mut self, other: &Self, layout: &Layout) -> Self {
        let (typical, worst) = other.repeated_slot_errors(layout);
        let (name, tails) = (mixed_name(self.name, mixed_name(other.name, 13)), other.tails());
        self.push(Source { name, typical, worst, signed: false, mixed: [true; 2], tails, ..Source::NONE });
        self
    }

    /// The heaviest tails of all sources.
    fn tails(&self) -> Tails {
        self.sources.iter().fold(self.rest.tails, |tails, source| tails.max(source.tails))
    }

    /// [`Estimate::with_error`] for numbers multiplied by a factor between `1 - error` and `1 + error`.
    pub(crate) fn inexact(self, error: f64) -> Self {
        let (typical, worst) = (product(error, self.typical), product(error, self.magnitude));
        self.with_errors_of_factors([true; 2], typical, worst)
    }

    /// [`Estimate::with_errors`] for the rounding of factors that are the same in all places along the axes
    /// `alike`: a number's error is a multiple of the number, so it repeats with the number. Different
    /// factors may have the same rounding error.
    pub(crate) fn with_errors_of_factors(mut self, alike: [bool; 2], typical: f64, worst: f64) -> Self {
        let name = mixed_name(self.name, worst.to_bits());
        let alike = alike.map(|alike| if alike { EVERYWHERE } else { 1.0 });
        let together = times_numbers(alike, (self.mean, self.typical), self.together);
        let source = Source {
            name,
            typical,
            worst,
            alike,
            together,
            mixed: [true; 2],
            period: EVERYWHERE,
            ..Source::NONE
        };
        self.push(Source { signed: false, origin: Some(StoredName(FACTOR)), ..source });
        self
    }

    /// Adds an error that is `bias`, or its negative, in all numbers of an array with this layout.
    pub(crate) fn with_bias(mut self, layout: &Layout, bias: f64) -> Self {
        let of_slot = bias / share(EVERYWHERE, layout);
        let source = Source {
            typical: of_slot,
            worst: of_slot,
            origin: Some(StoredName(BIAS)),
            period: EVERYWHERE,
            ..Source::NONE
        };
        let name = mixed_name(BIAS, of_slot.to_bits());
        self.push(Source {
            name,
            alike: [EVERYWHERE; 2],
            together: [EVERYWHERE; 2],
            equal: [true; 2],
            mixed: [true; 2],
            ..source
        });
        self
    }

    /// The numbers as a function of one array's numbers; of themselves if no function is known.
    fn known_spread(&self) -> Option<Spread> {
        self.spread.or_else(|| Spread::typical(self.name, (self.magnitude, self.typical, self.mean)))
    }

    /// Sixteen typical numbers of the array.
    pub(crate) fn typical_numbers(&self) -> [f64; 16] {
        self.known_spread().map_or([0.0; 16], |spread| spread.numbers.values())
    }

    /// Adds an error, in an array with this layout, that is a function of the numbers. `at` are the
    /// function's values for [`Estimate::typical_numbers`], `largest` is its largest magnitude.
    pub(crate) fn with_error_of_numbers(mut self, layout: &Layout, at: [f64; 16], largest: f64) -> Self {
        let to_slot = share(EVERYWHERE, layout).recip();
        let by = Function::of_values(at.map(|error| error * to_slot));
        // An error bound has more than `KNOWN_SUM` deviations.
        let typical = by.root_mean_square();
        let worst = typical.max(largest * to_slot / KNOWN_SUM);
        let name = mixed_name(self.name, worst.to_bits());
        let (alike, everywhere) = ([EVERYWHERE; 2], Factors { by, peak: None });
        let source = Source {
            name,
            typical,
            worst,
            alike,
            together: alike,
            mixed: [true; 2],
            period: EVERYWHERE,
            ..Source::NONE
        };
        let source = Source { factors: Some(everywhere), ..source };
        // The error is deterministic, so at worst it adds linearly to the bound of the other errors.
        self.spread = self.known_spread();
        let source = if self.spread.is_some() { source } else { source.without_factors() };
        self.push(Source { signed: false, entangled: true, tails: Tails::Known, ..source });
        self
    }

    /// One plain number with its rounding error, which is the same in all places.
    pub(crate) fn rounded_number(value: Complex64, error: f64) -> Self {
        let mut number = Self::number(value);
        let source = Source {
            name: mixed_name(number.name, error.to_bits()),
            typical: error,
            worst: error,
            ..Source::NONE
        };
        let everywhere = [EVERYWHERE; 2];
        number.push(Source {
            alike: everywhere,
            together: everywhere,
            equal: [true; 2],
            period: EVERYWHERE,
            signed: false,
            ..source
        });
        number
    }

    fn joined(mut self, mut other: Self, sign: f64) -> Self {
        (self, other) = (self.without_root(), other.without_root());
        let spread = self.spread_with(&other, |x, y| x.plus(y.times(Function::constant(sign))));
        if spread.is_none() {
            (self, other) = (self.forgotten(), other.forgotten());
        }
        if sign < 0.0 {
            other = other.map_sources(|source| match (source.signed, spread) {
                (true, _) => source.times(-1.0, -1.0),
                (false, None) => source,
                (false, Some(_)) => {
                    Source { factors: Some(source.factors().times(Function::constant(-1.0))), ..source }
                }
            });
        }
        other.sources.iter().for_each(|&source| self.push(source));
        self.with_rest(other.rest, other.dropped.as_deref());
        let same = self.name == other.name;
        let variance = |x: &Self| (x.typical * x.typical - x.mean * x.mean).max(0.0);
        let mean = self.mean + sign * other.mean;
        let sum_of_variances = if same {
            (variance(&self).sqrt() + variance(&other).sqrt()).powi(2)
        } else {
            variance(&self) + variance(&other)
        };
        let magnitude = self.magnitude + other.magnitude;
        let typical = if magnitude.is_finite() {
            (mean * mean + sum_of_variances).sqrt().min(magnitude)
        } else {
            f64::INFINITY
        };
        let salt = mixed_name(other.name, sign.to_bits());
        let (own, foreign) =
            if variance(&self) > variance(&other) { (&self, &other) } else { (&other, &self) };
        let together = if variance(foreign) == 0.0 {
            own.together
        } else {
            [0, 1].map(|axis| own.together[axis].max(foreign.together[axis]))
        };
        let centred =
            if self.centred == other.centred || other.magnitude == 0.0 { self.centred } else { [false; 2] };
        let mut sum = Self { magnitude, typical, mean, together, centred, sums: Vec::new(), ..self };
        if let Some(spread) = spread {
            sum = sum.with_spread(spread);
        }
        // Adding zeros without an error changes nothing.
        if other.magnitude == 0.0 && other.has_no_errors() {
            return sum;
        }
        let masks = match (sum.masks, other.masks) {
            (own, None) => own,
            (None, Some(masks)) => Some(if sign < 0.0 { masks ^ NEGATIVE } else { masks }),
            (Some(own), Some(masks)) => Some(mixed_name(own, mixed_name(masks, sign.to_bits()))),
        };
        Self { name: mixed_name(sum.name, salt), masks, ..sum }
    }

    /// `x + y`.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.joined(other, 1.0)
    }

    /// `x - y`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        match self.counts_of_mean(&other) {
            Some(counts) => self.clone().joined(other, -1.0).less_mean(&self, counts),
            None => self.joined(other, -1.0),
        }
    }

    /// `x y`, number by number.
    #[must_use]
    pub fn multiply(self, other: Self) -> Self {
        self.product_with(other, false)
    }

    /// [`Estimate::multiply`]; with `one_number`, all entries of `other` may be one number.
    pub(crate) fn product_with(self, other: Self, one_number: bool) -> Self {
        let magnitude = product(self.magnitude, other.magnitude);
        let typical = product(self.typical, other.typical);
        let mean = if self.name == other.name {
            typical
        } else {
            product(self.mean, other.mean).clamp(-typical, typical)
        };
        let spread = self.spread_with(&other, Function::times);
        let (own, foreign) = (self.errors_everywhere(), other.errors_everywhere());
        let root = match (self.root, other.root) {
            (Some(x), Some(y)) if x.axes == y.axes => {
                Some(Root { mean: x.square * y.square, square: x.square.min(y.square), ..x })
            }
            (Some(_), Some(_)) => None,
            (own, other) => own.or(other),
        };
        let together = times_numbers(self.together, (other.mean, other.typical), other.together);
        let foreign_together = times_numbers(other.together, (self.mean, self.typical), self.together);
        let together = [0, 1].map(|axis| together[axis].max(foreign_together[axis]));
        let mut result = Self { magnitude, typical, mean, root, together, ..Self::exact(0.0) };
        if let Some(spread) = spread {
            result = result.with_spread(spread);
        }
        let constant = |x: &Self| x.spread.and_then(|spread| spread.one_number());
        let times =
            |x: &Self, factor: f64| (x.centred, x.sums.iter().map(|sums| sums.times(factor)).collect());
        (result.centred, result.sums) = match (constant(&self), constant(&other)) {
            (_, Some(factor)) => times(&self, factor),
            (Some(factor), None) => times(&other, factor),
            (None, None) => ([false; 2], Vec::new()),
        };
        for (x, y) in [(&self, &other), (&other, &self)] {
            let numbers = y.known_spread().filter(|_| spread.is_some());
            let times = |source: &Source| {
                let own = source.unsigned().without_factors().times(y.typical, y.magnitude);
                // Along the axes of the bounds, a product has the smaller of the factors' bounds.
                let own = Source {
                    root: root.map_or(1.0, |_| y.root.map_or(1.0, |root| root.square).min(source.root)),
                    ..own
                };
                let times = |numbers: Spread| {
                    let factors = source.factors().times(numbers.numbers);
                    if numbers.typically { factors.without_bound() } else { factors }
                };
                // An error that is the same for all numbers, times numbers that sum to zero, sums to zero.
                if y.centred != [false; 2] && (0..2).all(|axis| !y.centred[axis] || source.equal[axis]) {
                    return Source { equal: [false; 2], together: [1.0; 2], centred: y.centred, ..own };
                }
                let own = Source { factors: numbers.map(times), ..own };
                let equal = source.equal.map(|equal| equal && one_number);
                let centred = if constant(y).is_some() { source.centred } else { [false; 2] };
                // If an error is a function of the numbers, the function determines its sums.
                let together = if numbers.is_some() {
                    source.together
                } else {
                    times_numbers(own.together, (y.mean, y.typical), y.together)
                };
                Source { equal, together, centred, ..own }
            };
            let rest_times = |rest: &Source| {
                let together = times_numbers(rest.together, (y.mean, y.typical), y.together);
                Source { together, ..rest.unsigned().times(y.typical, y.magnitude) }
            };
            x.sources.iter().for_each(|source| result.push(times(source)));
            result.with_rest(rest_times(&x.rest), x.dropped.as_deref());
        }
        let both = |x: u64, y: u64| mixed_name(x.min(y), x.max(y));
        result.name = both(self.name, other.name);
        result.masks = self.masks.or(other.masks).map(|_| both(self.name_of_noise(), other.name_of_noise()));
        // Adds the product of both errors; at worst one of them is at its bound.
        result.with_errors(product(own.0, foreign.0), product(product_deviations(1.0) * own.1, foreign.1))
    }

    /// `c x` for a public number `c`.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        if factor == 1.0 {
            return self;
        }
        let (magnitude, typical, mean) = (
            product(self.magnitude, factor.abs()),
            product(self.typical, factor.abs()),
            product(self.mean, factor),
        );
        let spread = self.known_spread();
        let scaled = self.map_sources(|source| {
            let scaled = source.times(factor, factor);
            match (source.signed, spread) {
                (true, _) => scaled,
                // A positive factor does not need a function for an error that is the same for all numbers.
                (false, Some(_)) if factor < 0.0 || source.factors.is_some() => Source {
                    factors: Some(source.factors().times(Function::constant(factor))),
                    ..scaled.unsigned()
                },
                (false, _) => scaled.unsigned(),
            }
        });
        let spread = spread.map(|spread| spread.times(factor));
        let sums = scaled.sums.iter().map(|sums| sums.times(factor)).collect();
        let scaled = Self { magnitude, typical, mean, spread, sums, ..scaled };
        // Negating twice gives the array itself.
        if factor == -1.0 {
            return Self {
                name: scaled.name ^ NEGATIVE,
                masks: scaled.masks.map(|masks| masks ^ NEGATIVE),
                ..scaled
            };
        }
        scaled.named(factor.to_bits())
    }

    /// `c x` for a public complex number `c`.
    pub(crate) fn times_complex(self, factor: Complex64) -> Self {
        if factor.im == 0.0 {
            return self.scale(factor.re);
        }
        // A real and an imaginary multiple of one error do not cancel.
        let scaled = self.map_sources(Source::unsigned).scale(factor.norm()).forgotten();
        Self { mean: 0.0, ..scaled }.named(name_of([factor.re, factor.im]))
    }

    /// The sum of `count` numbers along an axis of an array whose slots repeat with the period `period`. The
    /// numbers occupy `places` places; all of them have errors, including those without a number.
    pub(crate) fn sum(self, along: Along, (count, places): (usize, usize), period: usize) -> Self {
        if (count, places) == (1, 1) {
            return self;
        }
        let (axis, numbers, terms) = (along as usize, count as f64, places.max(count) as f64);
        let mean = product(self.mean, numbers);
        let spread = (self.typical * self.typical - self.mean * self.mean).max(0.0)
            * numbers
            * self.together[axis].min(numbers);
        let without = |axes: [bool; 2]| [0, 1].map(|other| axes[other] && other != axis);
        // A sum along the last axis of the bounds turns them into a bound on the sum.
        let ends = self.root.is_some_and(|root| root.axes[axis] && without(root.axes) == [false; 2]);
        let magnitude =
            product(self.magnitude, numbers * self.root.filter(|_| ends).map_or(1.0, |root| root.mean));
        let root = self.root.filter(|_| !ends).map(|root| {
            let square = if root.axes[axis] { 1.0 } else { root.square };
            Root { axes: without(root.axes), square, ..root }
        });
        let typical =
            if magnitude.is_finite() { (mean * mean + spread).sqrt().min(magnitude) } else { f64::INFINITY };
        let all = product(self.rest.worst, terms);
        let own = self.known_spread().map(|numbers| Sums { numbers, counts: [1.0; 2] });
        let mut sums: Vec<Sums> = own.into_iter().chain(self.sums.iter().copied()).take(2).collect();
        sums.iter_mut().for_each(|sums| sums.counts[axis] *= numbers);
        let summed = self.map_sources(|source| {
            // The lanes of sums of rows are neighbouring slots in the sum of such a row.
            let lanes = if along == Along::Columns && source.period == 1.0 { source.alike[0] } else { 1.0 };
            let source = source.repeating(period as f64);
            let own = if source.cleared { numbers } else { terms };
            // The root mean square over places with a number and places without one.
            let of_places = |number: f64, place: f64| {
                ((numbers * number * number + (own - numbers) * place * place) / own).sqrt()
            };
            let alike = source.alike[axis] >= own;
            let coherent = source.factors.filter(|_| alike).map(|factors| numbers * factors.by.mean());
            let source = match source.factors {
                None => source,
                Some(_) => Source {
                    typical: of_places(source.typical_of_numbers(), source.typical),
                    worst: of_places(source.worst_of_numbers(), source.worst),
                    ..source.without_factors()
                },
            };
            let source = if ends {
                Source { worst: of_places(source.root, 1.0) * source.worst, root: 1.0, ..source }
            } else {
                source
            };
            let independent = (own * source.alike[axis].min(own)).sqrt();
            let typical = match coherent {
                // The mean of the factors of one error adds linearly, the deviations from it do not.
                Some(sum) => (sum / source.typical)
                    .hypot((own - sum * sum / (numbers * source.typical * source.typical)).max(0.0).sqrt()),
                None => (own * source.together[axis].min(own)).sqrt(),
            };
            let worst = match (source.mixed[axis], source.tails) {
                // See `KNOWN_SUM`.
                (true, Tails::Known) if along == Along::Columns && source.alike[axis] == 1.0 => {
                    independent.max(own / KNOWN_SUM)
                }
                (true, _) => own,
                (false, _) => independent,
            };
            let (mut alike, mut together, mut equal) = (source.alike, source.together, source.equal);
            (alike[axis], equal[axis]) = (alike[axis].max(terms * lanes), true);
            together[axis] = alike[axis];
            let tails = if along == Along::Columns { source.tails.summed() } else { source.tails };
            // Errors that sum to zero over the numbers, but not over all places, vanish only in means over
            // repetitions.
            let centred =
                if own == numbers || !source.centred[axis] { without(source.centred) } else { [false; 2] };
            let hidden = source.hidden || (own == numbers && source.centred[axis] && centred == [false; 2]);
            // A sum over other places is another error.
            let cleared = source.cleared && along == Along::Rows;
            Source { alike, together, equal, tails, cleared, hidden, centred, ..source.times(typical, worst) }
                // Sources that grow differently at worst do not cancel in sums.
                .derived(mixed_name(mixed_name(axis as u64, count as u64), worst.to_bits()))
        });
        // The rest may depend on all other sources, so it adds linearly.
        let rest = Source { worst: all, equal: [false; 2], ..summed.rest };
        let mut together = summed.together;
        together[axis] = 1.0;
        let centred = without(summed.centred);
        Self { rest, magnitude, mean, typical, root, together, centred, sums, spread: None, ..summed }
            .named(mixed_name(axis as u64, count as u64))
    }

    /// The numbers of each row, rotated by the public number `steps`; places repeat with the period `period`,
    /// a power of two. The names of rotations add, as the rotations do.
    pub(crate) fn rotated(self, steps: i64, period: usize) -> Self {
        let turn = steps.cast_unsigned().wrapping_mul((u64::MAX / period as u64).wrapping_add(1));
        let mut rotated = self.forgotten().without_root().map_sources(|source| {
            // Errors that are equal in all places stay the same.
            let source = Source { cleared: false, ..source };
            let columns = Along::Columns as usize;
            if source.equal[columns] && source.period >= EVERYWHERE {
                return source;
            }
            // If the errors of different numbers depend on each other, the rotated errors depend on the
            // original ones.
            let entangled = source.entangled || source.mixed[columns];
            let mixed = Source { mixed: [source.mixed[0], true], entangled, centred: [false; 2], ..source };
            // Errors that may be equal in several places become another source with the same origin.
            if source.alike[columns] > 1.0 { mixed.derived(turn) } else { mixed.rotated(turn) }
        });
        rotated.centred = [false; 2];
        rotated.name = rotated.name.wrapping_add(turn);
        rotated.masks = rotated.masks.map(|masks| masks.wrapping_add(turn));
        rotated
    }

    /// The selected rows, each of which occurs at most `times` times.
    pub(crate) fn selected(self, rows: &[usize], times: usize) -> Self {
        let salt = rows.iter().fold(17, |salt, &row| mixed_name(salt, row as u64));
        self.elsewhere(Some(Along::Rows), salt).repeated(Along::Rows, times).named(salt)
    }

    /// The selected columns, moved to the first places of a row.
    pub(crate) fn selected_columns(self, columns: &Range<usize>) -> Self {
        self.elsewhere(
            Some(Along::Columns),
            mixed_name(mixed_name(19, columns.start as u64), columns.end as u64),
        )
    }

    /// Each row, or each number of a row, repeated `count` times.
    pub(crate) fn repeated(self, along: Along, count: usize) -> Self {
        let mut numbers = self.together;
        numbers[along as usize] *= count as f64;
        let sums = self.sums.clone();
        Self { together: numbers, sums, ..self.forgotten() }.map_sources(|source| {
            let (mut alike, mut together) = (source.alike, source.together);
            alike[along as usize] *= count as f64;
            together[along as usize] *= count as f64;
            Source { alike, together, cleared: false, ..source }
        })
    }

    /// The only number of each row, which fills its polynomial, repeated as all numbers of `chunks`
    /// polynomials. An error with a period is equal in as many numbers as the period has slots.
    pub(crate) fn with_number_repeated(self, chunks: usize) -> Self {
        let everywhere = self.map_sources(|source| {
            let most = |own: [f64; 2]| [own[0], own[1].max(source.period)];
            Source { alike: most(source.alike), together: most(source.together), ..source }
        });
        let together = [everywhere.together[0], EVERYWHERE];
        Self { together, ..everywhere.repeated(Along::Columns, chunks) }
    }

    /// The only row repeated `rows` times. Polynomials are copied with their errors; slots of different lanes
    /// have different errors, except errors that are equal in all slots.
    pub(crate) fn with_rows_repeated(self, rows: usize, lanes: usize) -> Self {
        let repeated = self.repeated(Along::Rows, rows);
        if rows == 1 {
            return repeated;
        }
        let equal = |equal: [bool; 2]| [equal[0] || equal[1] || lanes == 1, equal[1]];
        repeated.map_sources(|source| Source { equal: equal(source.equal), ..source })
    }

    /// Adds the errors that remain in `places` places that a mask cleared and that are then added to others:
    /// the numbers in these places times the mask's rounding error, of root mean square `rounding` in a slot.
    /// The mask's rounding error is deterministic, so at worst the numbers have its signs.
    pub(crate) fn with_cleared(self, numbers: &Self, places: usize, rounding: f64) -> Self {
        let count = places as f64;
        self.with_rounding_of_mask(
            1,
            (rounding * count.sqrt(), rounding * count.sqrt().max(count / KNOWN_SUM)),
            numbers,
        )
    }

    /// The product with a matrix along an axis; `rounding` is the root of the sum of squares, and the sum of
    /// magnitudes, of the rounding errors in a row of the matrix.
    pub(crate) fn mapped(self, along: Along, norms: &MatrixNorms, rounding: (f64, f64)) -> Self {
        let (axis, row_sum) = (along as usize, norms.row_sum);
        let salt = mixed_name(norms.name, axis as u64);
        let (typical, mean, worst, all) =
            (self.typical, self.mean, self.magnitude, product(self.rest.worst, row_sum));
        let mapped = self.forgotten().without_root().map_sources(|source| {
            let (mut mixed, mut equal, mut together) = (source.mixed, source.equal, source.together);
            let centred = if source.centred[axis] { [false; 2] } else { source.centred };
            (mixed[axis], equal[axis]) = (true, false);
            let tails = if along == Along::Columns { source.tails.summed() } else { source.tails };
            let (typical, own) = norms.typical(together[axis]);
            together[axis] = own;
            let worst = if source.alike[axis] > 1.0 || source.mixed[axis] { row_sum } else { norms.row_norm };
            Source {
                mixed,
                equal,
                together,
                centred,
                tails,
                cleared: false,
                ..source.unsigned().times(typical, worst)
            }
            .derived(salt)
        });
        let rest = Source { worst: all, ..mapped.rest };
        let magnitude = product(worst, row_sum);
        let centred = if mapped.centred[axis] { [false; 2] } else { mapped.centred };
        let mut own = Self { rest, magnitude, centred, ..mapped }.named(salt);
        let (deviation, together) = norms.typical(own.together[axis]);
        let variance = product(deviation, (typical * typical - mean * mean).max(0.0).sqrt()).powi(2);
        own.together[axis] = together;
        own.typical = if typical.is_finite() {
            (variance + norms.square_of(mean)).sqrt().min(magnitude)
        } else {
            magnitude
        };
        own.mean = norms.mean_of(mean).clamp(-own.typical, own.typical);
        // In a map of rows, each weight multiplies all numbers of a row.
        let (typical, worst) = (product(typical, rounding.0), product(worst, rounding.1));
        if along == Along::Rows {
            own.with_errors_of_factors([false, true], typical, worst)
        } else {
            own.with_rounding_of_map(typical, worst)
        }
    }

    /// `f(x)` for a function `f` of one number with name `name`: its values have this largest magnitude, root
    /// mean square and mean, its derivative this root mean square and largest magnitude.
    pub(crate) fn applied(
        self,
        name: u64,
        (magnitude, typical, mean): (f64, f64, f64),
        derivative: (f64, f64),
    ) -> Self {
        let applied = self.forgotten().without_cancelling(None).map_sources(|source| Source {
            equal: [false; 2],
            ..source.unsigned().times(derivative.0, derivative.1)
        });
        Self { magnitude, typical, mean, ..applied }.named(name)
    }

    /// Arrays of the same kind, joined along an axis to an array with this layout.
    pub(crate) fn side_by_side(parts: &[Self], along: Along, layout: &Layout) -> Self {
        let Some((first, others)) = parts.split_first() else { return Self::exact(0.0) };
        let axis = along as usize;
        if others.iter().all(|other| other == first) {
            return first.clone().repeated(along, parts.len());
        }
        let parts: Vec<Self> = parts.iter().cloned().map(Self::forgotten).collect();
        let largest = |part: fn(&Self) -> f64| parts.iter().map(part).fold(0.0, f64::max);
        let mean = parts
            .iter()
            .map(|part| part.mean)
            .fold(0.0f64, |most, mean| if mean.abs() > most.abs() { mean } else { most });
        let mut own = Self {
            magnitude: largest(|x| x.magnitude),
            typical: largest(|x| x.typical),
            mean,
            ..Self::exact(0.0)
        };
        own.name = parts.iter().fold(axis as u64, |name, part| mixed_name(name, part.name));
        own.masks = Some(parts.iter().fold(axis as u64, |name, part| mixed_name(name, part.name_of_noise())));
        // One error, as large as the largest of all parts, replaces the errors of the parts. It depends on
        // all their sources.
        let all = || parts.iter().flat_map(|part| part.sources.iter().chain([&part.rest]));
        let mut one = all().copied().reduce(Source::joined).unwrap_or(Source::NONE).unsigned();
        let mut times: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
        for source in parts.iter().flat_map(|part| &part.sources) {
            let own = times.entry(source.name).or_default();
            *own = [own[0] + source.alike[axis], own[1] + source.together[axis]];
        }
        (one.alike[axis], one.together[axis]) = times
            .into_values()
            .fold((1.0, 0.0), |most, own| (f64::max(most.0, own[0]), f64::max(most.1, own[1])));
        // Parts of one array may have the same numbers.
        let names: BTreeSet<(u64, u64)> = parts
            .iter()
            .flat_map(|part| &part.sources)
            .map(|source| (source.origin(), source.name))
            .collect();
        let related = names.iter().zip(names.iter().skip(1)).any(|(one, next)| one.0 == next.0);
        one.mixed[axis] |= related
            || all().any(|source| source.entangled)
            || parts.iter().any(|part| part.rest.worst != 0.0);
        let errors = || parts.iter().map(|part| part.repeated_slot_errors(layout));
        (one.typical, one.worst) =
            errors().fold((0.0, 0.0), |most: (f64, f64), own| (most.0.max(own.0), most.1.max(own.1)));
        one.period = layout.period() as f64;
        (one.entangled, one.equal, one.centred, one.hidden, one.origin) =
            (true, [false; 2], [false; 2], false, None);
        if !one.worst.is_finite() {
            return Self { rest: Source { name: 0, ..one }, ..own };
        }
        own.push(Source { name: all().fold(own.name, |name, source| mixed_name(name, source.name)), ..one });
        own
    }

    /// All errors multiplied by `factor`, for moves that only change the error of a slot.
    pub(crate) fn errors_times(self, factor: f64) -> Self {
        self.map_sources(|source| source.times(factor, factor))
    }

    /// The typical and the worst root mean square of the error of a slot or a coefficient.
    #[must_use]
    pub fn slot_errors(&self) -> (f64, f64) {
        self.total(|_| 1.0)
    }

    /// The typical and the worst root mean square of the error in all places, including those without a
    /// number.
    fn errors_everywhere(&self) -> (f64, f64) {
        if self.sources.iter().all(|source| source.factors.is_none()) {
            self.slot_errors()
        } else {
            self.clone().forgotten().slot_errors()
        }
    }

    fn total(&self, share: impl Fn(&Source) -> f64) -> (f64, f64) {
        let squares: f64 = self
            .sources
            .iter()
            .map(|source| product(source.typical_of_numbers(), share(source)).powi(2))
            .sum();
        (squares.sqrt() + product(self.rest.typical.abs(), share(&self.rest)), self.worst(|_| true, share))
    }

    /// The worst root mean square of the sum of the sources that `part` selects.
    fn worst(&self, part: impl Fn(&Source) -> bool, share: impl Fn(&Source) -> f64) -> f64 {
        let of = |entangled: bool| {
            self.sources
                .iter()
                .filter(move |source| source.entangled == entangled)
                .filter(|source| part(source))
        };
        let size = |source: &Source| product(source.worst_of_numbers().abs(), share(source));
        // At worst, sources of one origin add linearly; the squares of different origins add, counted once
        // per origin.
        let first = |(index, source): &(usize, &Source)| {
            !of(false).take(*index).any(|other| other.origin() == source.origin())
        };
        let all_of =
            |origin: u64| of(false).filter(|source| source.origin() == origin).map(size).sum::<f64>();
        let independent: f64 =
            of(false).enumerate().filter(first).map(|(_, source)| all_of(source.origin()).powi(2)).sum();
        // Sources that may depend on others add linearly, at worst.
        let entangled: f64 = of(true).chain(Some(&self.rest).filter(|rest| part(rest))).map(size).sum();
        independent.sqrt() + entangled
    }

    /// The typical and the worst root mean square of the error of a number in an array with this layout.
    fn number_errors(&self, layout: &Layout) -> (f64, f64) {
        self.total(|source| source.share(layout))
    }

    /// The slot errors, typical and worst, that would give the errors of the numbers in an array with this
    /// layout: larger than [`Estimate::slot_errors`] if errors repeat as numbers do.
    pub(crate) fn repeated_slot_errors(&self, layout: &Layout) -> (f64, f64) {
        let ((typical, worst), unit, own) =
            (self.number_errors(layout), share(1.0, layout), self.slot_errors());
        ((typical / unit).max(own.0), (worst / unit).max(own.1))
    }

    /// Numbers with a known bound and unknown errors.
    pub(crate) fn bounded(magnitude: f64) -> Self {
        Self { magnitude, typical: EVEN * magnitude, ..Self::unknown() }
    }

    /// The same numbers and errors in an array with another layout, after a move that made different numbers
    /// depend on each other and added an error of numbers of these root mean squares, typical and worst.
    pub(crate) fn moved(self, from: &Layout, to: &Layout, (typical, worst): (f64, f64)) -> Self {
        let unit = share(1.0, to);
        // If numbers stay in their slots, errors that repeat with the numbers still do.
        let stays = from.encoding == to.encoding && from.period() == to.period();
        let moved = if stays { self } else { self.forgotten() }.map_sources(|source| {
            let (kept, period) =
                if stays { (1.0, source.period) } else { (share(source.period, from) / unit, 1.0) };
            let hidden = source.hidden && stays;
            // Independent errors stay independent.
            let mixed = source.mixed.map(|mixed| mixed || source.tails == Tails::Known);
            let (tails, cleared, own) = (source.tails.summed(), false, source.times(kept, kept));
            Source { mixed, period, hidden, tails, cleared, equal: [false; 2], centred: [false; 2], ..own }
        });
        moved.named(11).with_own(Tails::Product, typical / unit, worst / unit)
    }

    /// [`Estimate::with_rounding`] for the error of a number in an array with this layout.
    pub(crate) fn with_rounding_of_numbers(self, layout: &Layout, (typical, worst): (f64, f64)) -> Self {
        let unit = share(1.0, layout);
        self.with_rounding(typical / unit, worst / unit)
    }

    /// The root mean square of a number's error in an array with this layout, for typical numbers. Infinite
    /// if unknown.
    #[must_use]
    pub fn error_rms(&self, layout: &Layout) -> f64 {
        self.number_errors(layout).0
    }

    /// A bound on the errors of all numbers of an array with this layout, for any numbers within their
    /// bounds, exceeded with a probability of at most 2^-40. Infinite if unknown.
    #[must_use]
    pub fn error_bound(&self, layout: &Layout) -> f64 {
        let decoded = if self.magnitude.is_finite() { self.magnitude * f64::EPSILON } else { 0.0 };
        self.encrypted_error_bound(layout) + decoded
    }

    /// [`Estimate::error_bound`] of the encrypted numbers, before they are rounded to doubles by decryption.
    #[must_use]
    pub fn encrypted_error_bound(&self, layout: &Layout) -> f64 {
        let parts = if layout.complex { 2.0 } else { 1.0 };
        // Both the normal and the heavy-tailed part of an error may exceed their bounds, hence the factor 2.
        let count = 2.0 * parts * layout.rows as f64 * layout.columns as f64;
        let worst = |heavy: bool| {
            self.worst(
                |source| source.tails.are_heavy(layout.encoding) == heavy,
                |source| source.share(layout),
            )
        };
        let [normal, products] = [worst(false), worst(true)];
        if products == 0.0 {
            normal * deviations(count / 2.0)
        } else {
            normal * deviations(count) + products * product_deviations(count)
        }
    }
}

/// The ratio of a number's error to a slot's error, for errors that repeat with a period.
fn share(period: f64, layout: &Layout) -> f64 {
    if layout.encoding == Encoding::Coefficients {
        return 1.0;
    }
    let slots = layout.degree as f64 / 2.0;
    // A real number has only the real part of a complex error.
    let part = if layout.complex { 1.0 } else { 0.5 };
    (part * (period.max(layout.period() as f64) / slots).min(1.0)).sqrt()
}

/// The number of standard deviations that any of `count` errors exceeds with a probability of at most 2^-40:
/// `sqrt(2 ln 2 (40 + log2(count) + 1))`, by union and Chernoff bounds.
fn deviations(count: f64) -> f64 {
    (2.0 * std::f64::consts::LN_2 * (LOG2_FAILURE + count.max(1.0).log2() + 1.0)).sqrt()
}

/// [`deviations`] for products of two independent normal errors, of which many may share a factor. If one
/// factor is a slot of a random polynomial (complex and normal), the real part of the product is Laplacian:
/// it exceeds `d` standard deviations with a probability of `exp(-sqrt(2) d)`. Sums of such products have
/// lighter tails at that distance: the variance of a sum is a mean of exponential variables, which is below
/// one of them in convex order, and the probability is a convex function of the variance.
fn product_deviations(count: f64) -> f64 {
    std::f64::consts::LN_2 * (LOG2_FAILURE + count.max(1.0).log2()) / std::f64::consts::SQRT_2
}
