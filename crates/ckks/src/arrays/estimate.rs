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

use std::hash::{BuildHasher, Hasher, RandomState};

use serde::{Deserialize, Serialize};

use self::masks::Masks;
pub(crate) use self::moves::Gathered;
use self::names::StoredName;
pub(crate) use self::names::{mixed_name, name_of, name_of_all};
pub(crate) use self::norms::MatrixNorms;
use self::source::{Source, Tails};
use self::spread::{Function, Spread};
pub(crate) use self::stored::StoredEstimate;
use clathrate_lattice::MaskSeed;
use rustfft::num_complex::Complex64;

mod arithmetic;
mod bounds;
mod errors;
mod masks;
mod moves;
mod names;
mod norms;
mod source;
mod spread;
mod stored;
#[cfg(test)]
mod tests;

/// Maximum number of separate sources; further ones, the smallest, are added to the rest.
const MAX_SOURCES: usize = 32;

/// Maximum number of remembered names of sources in the rest.
const MAX_DROPPED: usize = 1024;

/// A count of places above that of any array, which means all places.
const EVERYWHERE: f64 = (1u64 << 48) as f64;

/// Rounding errors of public values may all have the signs of the numbers that they are multiplied by. A sum
/// of `n` of their magnitudes is 0.8 n standard deviations on average, and an error bound is at least 7.5
/// standard deviations, so a worst root mean square of `n / KNOWN_SUM` covers the sum.
const KNOWN_SUM: f64 = 6.0;

/// A bound on an error is at least so many times its worst root mean square, whatever its tails
/// ([`LOG2_FAILURE`]).
const LEAST_DEVIATIONS: f64 = 7.5;

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
    masks: Masks,
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
            masks: Masks::alone(name),
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
        let fresh = Self {
            name,
            masks: Masks::alone(name),
            spread: Spread::even(name, magnitude),
            ..Self::exact(magnitude)
        };
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
    /// mean, whose deviations add up as `together`. With `one_number`, all entries are equal; with `nearest`,
    /// equal rows are rounded in the same way.
    pub(crate) fn plain(
        name: u64,
        ((magnitude, typical, mean), together): ((f64, f64, f64), [f64; 2]),
        (one_number, nearest): (bool, bool),
    ) -> Self {
        // The computed mean has rounding errors.
        let real = mean.abs() >= magnitude * (1.0 - 1e-9);
        let spread = (one_number && real).then(|| Spread::constant(magnitude.copysign(mean)));
        Self {
            typical,
            mean,
            together,
            name,
            masks: Masks::of_plain(one_number || nearest),
            spread,
            ..Self::exact(magnitude)
        }
    }

    /// One plain number.
    pub(crate) fn number(value: Complex64) -> Self {
        let size = (value.norm(), value.norm(), value.re);
        Self::plain(name_of([value.re, value.im]), (size, [1.0; 2]), (true, true))
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
        let numbers = self.together;
        Self { spread: None, sums: Vec::new(), ..self }.map_sources(|source| source.without_factors(numbers))
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

    /// These numbers among zeros, of which they are the share `filled`.
    pub(crate) fn among_zeros(self, filled: f64) -> Self {
        if filled >= 1.0 {
            return self;
        }
        let own = self.forgotten();
        Self { typical: own.typical * filled.sqrt(), mean: own.mean * filled, ..own }
    }

    /// The estimate with the bound `magnitude` if it is smaller.
    pub(crate) fn at_most(self, magnitude: f64) -> Self {
        if magnitude < self.magnitude { self.within(magnitude) } else { self }
    }

    /// The estimate of numbers with another root mean square.
    pub(crate) fn with_typical(self, typical: f64) -> Self {
        Self { typical, ..self }
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

    /// The numbers as a function of one array's numbers; of themselves if no function is known.
    fn known_spread(&self) -> Option<Spread> {
        self.spread.or_else(|| Spread::typical(self.name, (self.magnitude, self.typical, self.mean)))
    }

    /// Sixteen typical numbers of the array.
    pub(crate) fn typical_numbers(&self) -> [f64; 16] {
        self.known_spread().map_or([0.0; 16], |spread| spread.numbers.values())
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

    /// Numbers with a known bound and unknown errors.
    pub(crate) fn bounded(magnitude: f64) -> Self {
        Self { magnitude, typical: EVEN * magnitude, ..Self::unknown() }
    }
}
