//! Predicts the time of a switch on a machine from counts of its transforms, conversions, products and key
//! bytes. The same machine profile prices exact matrix products.

use std::ops::AddAssign;
use std::sync::LazyLock;

use clathrate_arith::ProductCounts;
use clathrate_arith::cpu::transform_class;
use clathrate_arith::limbs::serve_division;
use serde::{Deserialize, Serialize};

use super::representation::{KeyRepresentation, packed_bytes};
use crate::chain::{Chain, Level};
use crate::gadget::Gadget;
use crate::poly::Basis;

/// Bits of a limb.
const LIMB_BITS: f64 = clathrate_arith::limbs::LIMB_BITS as f64;

/// Slow-down, as a factor, of a base conversion whose rows come from memory instead of the cache.
const FAR_CONVERSION: f64 = 1.4;

/// Cost of one limb of a digit or of a division's remainder, in units of one source of a base conversion
/// ([`KernelTimes::convert`]): the limb is unpacked and multiplied twice, inside a transform.
const LIMB_SOURCES: f64 = 1.6;

/// Times of the kernels of one machine on one thread, either measured or built in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineProfile {
    /// The origin of the numbers, as a text for users.
    pub source: String,
    /// Instruction set whose kernels were measured; `None` in the built-in model, which is used for every
    /// instruction set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isa: Option<String>,
    /// Times at each ring degree, in ascending order of the degree.
    pub kernels: Vec<KernelTimes>,
    /// Times of exact matrix products, which do not depend on the degree.
    pub matrix: MatrixTimes,
    /// The time of whole operations, as a multiple of the time of their kernels: copies, sums and memory.
    #[serde(default = "no_overhead")]
    pub overhead: f64,
    /// Nanoseconds to read one byte of a key or an array from memory.
    pub read_ns_per_byte: f64,
    /// Keys and arrays up to this size stay in the cache.
    pub cache_bytes: f64,
}

/// Profiles of earlier versions have no overhead.
const fn no_overhead() -> f64 {
    1.0
}

/// Times of the unit operations of exact matrix products, in nanoseconds; see [`ProductCounts`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixTimes {
    /// Fixed time of one product modulo one prime, in addition to its counted operations.
    pub start: f64,
    /// One multiply-add of the floating-point products.
    pub multiply_add: f64,
    /// One digit of a weight or a residue, from its conversion to its place in the product's operand.
    pub digit: f64,
    /// One result of a floating-point product, from the product's end to the residue that the result is added
    /// to.
    pub sum: f64,
}

/// Times at one degree, in nanoseconds per row of that degree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelTimes {
    /// Ring degree.
    pub degree: usize,
    /// A transform, by class of prime ([`clathrate_arith::Engine::transform_class`]); on a processor: primes
    /// below 2^45.9, below 2^50, above.
    pub transform: [f64; 3],
    /// One source of one target of a base conversion.
    pub convert: f64,
    /// One term of one sum of packed factors, with the factors in the cache.
    pub product: f64,
}

/// Unit operations of one switch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SwitchCounts {
    /// Transforms, by class of prime.
    pub transforms: [f64; 3],
    /// Sources times targets of base conversions; the correction counts as one more source.
    pub conversions: f64,
    /// The part of `conversions` that extends digits.
    pub digit_conversions: f64,
    /// Limbs of the digits times targets of their extension: replaces `digit_conversions` if the engine
    /// extends digits as integers.
    pub digit_limbs: f64,
    /// The part of `conversions` that belongs to divisions large enough for the engine to use limbs.
    pub division_conversions: f64,
    /// Limbs of the remainders of those divisions times targets: replaces `division_conversions` if the
    /// engine reads remainders as integers.
    pub division_limbs: f64,
    /// Whether the engine converts digits and the remainders of large divisions as integers in limbs;
    /// otherwise it converts them from their residues.
    pub by_limbs: bool,
    /// Products of a digit with a key component, over all rows.
    pub products: f64,
    /// Bytes of key read.
    pub key_bytes: f64,
    /// The counts that depend on the engine, for a processor with all kernels; prices use them.
    pub priced: PricedCounts,
}

/// The counts of a switch that depend on the engine, for a processor with all kernels.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PricedCounts {
    /// Transforms, by class of prime on a processor.
    pub transforms: [f64; 3],
    /// [`SwitchCounts::division_conversions`] of a processor.
    pub division_conversions: f64,
    /// [`SwitchCounts::division_limbs`] of a processor.
    pub division_limbs: f64,
}

impl SwitchCounts {
    /// The time that plans compare, in nanoseconds at `degree`. It uses the built-in model and the counts of
    /// a processor, independent of the machine and engine, so that owners and servers choose the same methods
    /// and keys.
    #[must_use]
    pub fn price(&self, degree: usize) -> f64 {
        let PricedCounts { transforms, division_conversions, division_limbs } = self.priced;
        let counts = Self { transforms, division_conversions, division_limbs, by_limbs: true, ..*self };
        MachineProfile::reference().nanoseconds(degree, &counts)
    }
}

impl AddAssign for SwitchCounts {
    fn add_assign(&mut self, other: Self) {
        self.transforms.iter_mut().zip(other.transforms).for_each(|(own, other)| *own += other);
        self.conversions += other.conversions;
        self.digit_conversions += other.digit_conversions;
        self.digit_limbs += other.digit_limbs;
        self.division_conversions += other.division_conversions;
        self.division_limbs += other.division_limbs;
        self.by_limbs |= other.by_limbs;
        self.products += other.products;
        self.key_bytes += other.key_bytes;
        self.priced.transforms.iter_mut().zip(other.priced.transforms).for_each(|(own, other)| *own += other);
        self.priced.division_conversions += other.priced.division_conversions;
        self.priced.division_limbs += other.priced.division_limbs;
    }
}

/// The profile with which plans are priced.
static REFERENCE: LazyLock<MachineProfile> = LazyLock::new(MachineProfile::built_in);

impl MachineProfile {
    /// The built-in model: times measured once on a server core with 512-bit multipliers. Their ratios carry
    /// over to other machines better than the times do.
    #[must_use]
    pub fn built_in() -> Self {
        let at = |log_degree: u32, transform: f64| {
            let degree = 1usize << log_degree;
            let words = degree as f64;
            KernelTimes {
                degree,
                transform: [transform, 1.4 * transform, 9.0 * transform],
                convert: 0.1 * words,
                product: 0.16 * words,
            }
        };
        Self {
            source: "built in".to_owned(),
            isa: None,
            kernels: vec![
                at(12, 2_100.0),
                at(13, 4_600.0),
                at(14, 10_500.0),
                at(15, 24_000.0),
                at(16, 56_000.0),
            ],
            matrix: MatrixTimes { start: 8_000.0, multiply_add: 0.022, digit: 0.39, sum: 0.23 },
            overhead: 1.9,
            read_ns_per_byte: 0.038,
            cache_bytes: 16e6,
        }
    }

    /// The built-in model, with which plans choose methods and keys on every machine. It is fixed for a
    /// version of this library; measurements do not change it.
    #[must_use]
    pub fn reference() -> &'static Self {
        &REFERENCE
    }

    /// The built-in model of a large graphics processor, computed and not measured: 132 multiprocessors at
    /// 1.7 GHz that issue 64 instructions a cycle, of which half do arithmetic; memory of 3.3 TB/s; a cache
    /// of 50 MB. A butterfly takes 27 instructions of 32 bits, or 8 for moduli below 2^30. With `doubles`, it
    /// takes 8 instructions on doubles for moduli below 2^50, which are issued at the same rate.
    #[must_use]
    pub fn built_in_device(doubles: bool) -> Self {
        let rate = 132.0 * 64.0 * 1.7 / 2.0;
        let bandwidth = 3_300.0;
        let at = |log_degree: u32| {
            let words = f64::from(1u32 << log_degree);
            // A butterfly for each pair of words in each stage; rows longer than 2^14 are read and written
            // twice.
            let moved = words * if log_degree > 14 { 32.0 } else { 16.0 } / bandwidth;
            let transform =
                |instructions: f64| (words / 2.0 * f64::from(log_degree) * instructions / rate).max(moved);
            let (short, long) = (transform(8.0), transform(27.0));
            // Products of words that are added to a sum of two words take 12 instructions, and 4 more where a
            // residue is unpacked.
            KernelTimes {
                degree: 1 << log_degree,
                transform: [short, if doubles { short } else { long }, long],
                convert: 12.0 * words / rate,
                product: 16.0 * words / rate,
            }
        };
        Self {
            source: "computed for a large graphics processor".to_owned(),
            isa: None,
            kernels: (12..=16).map(at).collect(),
            matrix: MatrixTimes { start: 3_000.0, multiply_add: 12.0 / rate, digit: 1e-3, sum: 1e-3 },
            overhead: no_overhead(),
            read_ns_per_byte: 1.0 / bandwidth,
            cache_bytes: 50e6,
        }
    }

    /// The times at `degree`: the times of the nearest degree in the profile, scaled by `n log n`
    /// (transforms) or `n` (all others).
    #[must_use]
    pub fn at(&self, degree: usize) -> KernelTimes {
        let far = |times: &&KernelTimes| times.degree.ilog2().abs_diff(degree.ilog2());
        let Some(near) = self.kernels.iter().min_by_key(far) else {
            return KernelTimes { degree, transform: [1.0; 3], convert: 1.0, product: 1.0 };
        };
        let linear = degree as f64 / near.degree as f64;
        let transform = linear * f64::from(degree.ilog2().max(1)) / f64::from(near.degree.ilog2().max(1));
        KernelTimes {
            degree,
            transform: near.transform.map(|time| time * transform),
            convert: near.convert * linear,
            product: near.product * linear,
        }
    }

    /// Nanoseconds of exact matrix products with these counts, on residues in the cache.
    #[must_use]
    pub fn product_nanoseconds(&self, counts: &ProductCounts) -> f64 {
        let times = &self.matrix;
        counts.products as f64 * times.start
            + counts.multiply_adds as f64 * times.multiply_add
            + counts.digits as f64 * times.digit
            + counts.sums as f64 * times.sum
    }

    /// Nanoseconds that memory traffic adds to an operation that reads and writes arrays of these sizes once;
    /// 0 if the arrays fit the cache. A written byte counts twice, because the processor fetches a cache line
    /// before it writes to the line.
    #[must_use]
    pub fn memory_nanoseconds(&self, read_bytes: f64, written_bytes: f64) -> f64 {
        if read_bytes + written_bytes > self.cache_bytes {
            (read_bytes + 2.0 * written_bytes) * self.read_ns_per_byte
        } else {
            0.0
        }
    }

    /// Nanoseconds of a switch with these counts at `degree`.
    #[must_use]
    pub fn nanoseconds(&self, degree: usize, counts: &SwitchCounts) -> f64 {
        let times = self.at(degree);
        let transforms: f64 =
            counts.transforms.iter().zip(times.transform).map(|(count, time)| count * time).sum();
        let reading =
            if counts.key_bytes > self.cache_bytes { counts.key_bytes * self.read_ns_per_byte } else { 0.0 };
        let (near, far) = if counts.by_limbs {
            (
                LIMB_SOURCES * (counts.digit_limbs + counts.division_limbs),
                counts.conversions - counts.digit_conversions - counts.division_conversions,
            )
        } else {
            (counts.digit_conversions, counts.conversions - counts.digit_conversions)
        };
        let conversions = near + FAR_CONVERSION * far;
        transforms + conversions * times.convert + (counts.products * times.product).max(reading)
    }
}

/// The quantities that the counts of a switch at one level depend on.
struct Work<'a> {
    chain: &'a Chain,
    representation: &'a KeyRepresentation,
    /// Primes of the level.
    primes: usize,
    /// For each digit in use, its primes that belong to the level.
    digits: Vec<Vec<usize>>,
    /// The level's primes and the special primes.
    extended: Vec<usize>,
}

impl<'a> Work<'a> {
    fn new(chain: &'a Chain, gadget: &Gadget, representation: &'a KeyRepresentation, level: Level) -> Self {
        let primes = chain.basis(level).len();
        let own = |run: &std::ops::Range<usize>| -> Vec<usize> {
            let members =
                gadget.digits()[run.clone()].iter().flat_map(|digit| digit.indices().iter().copied());
            members.filter(|&i| i < primes).collect()
        };
        let digits = representation.runs.iter().map(own).filter(|digit| !digit.is_empty()).collect();
        let extended = (0..primes).chain(representation.special.indices().iter().copied()).collect();
        Self { chain, representation, primes, digits, extended }
    }

    /// Limbs of a product of primes. The lowest limb counts as half a limb, because it needs no
    /// multiplication by a power of the limb's base.
    fn limbs(&self, primes: &[usize]) -> f64 {
        (primes.iter().map(|&index| self.chain.ring().log2_modulus(index)).sum::<f64>() / LIMB_BITS).ceil()
            - 0.5
    }

    /// The primes modulo which digits and keys are multiplied.
    fn product_primes(&self) -> &[usize] {
        self.representation.klss.as_ref().map_or(&self.extended[..], |digits| digits.auxiliary.indices())
    }

    fn transform(&self, counts: &mut SwitchCounts, index: usize, count: f64) {
        let ring = self.chain.ring();
        counts.transforms[ring.engine().transform_class(index)] += count;
        counts.priced.transforms[transform_class(&ring.moduli()[index])] += count;
    }
}

/// Counts of decomposing `inputs` polynomials in Eval form: the work that several switches of the same
/// polynomials share (hoisting).
#[must_use]
pub(super) fn decomposition_counts(
    chain: &Chain,
    gadget: &Gadget,
    representation: &KeyRepresentation,
    level: Level,
    inputs: usize,
) -> SwitchCounts {
    let work = Work::new(chain, gadget, representation, level);
    let by_limbs = chain.ring().engine().extends_by_limbs();
    let (mut counts, inputs) = (SwitchCounts { by_limbs, ..SwitchCounts::default() }, inputs as f64);
    (0..work.primes).for_each(|index| work.transform(&mut counts, index, inputs));
    let digits: Vec<(&Vec<usize>, f64)> =
        work.digits.iter().map(|digit| (digit, work.limbs(digit))).collect();
    for &index in work.product_primes() {
        let foreign = digits.iter().filter(|(digit, _)| !digit.contains(&index));
        work.transform(&mut counts, index, inputs * foreign.clone().count() as f64);
        let extended = inputs * foreign.clone().map(|(digit, _)| digit.len() + 1).sum::<usize>() as f64;
        counts.conversions += extended;
        counts.digit_conversions += extended;
        counts.digit_limbs += inputs * foreign.map(|(_, limbs)| limbs).sum::<f64>();
    }
    counts
}

/// Counts of a switch at `level` by keys in `representation`, of `inputs` polynomials to `columns`, from Eval
/// to Eval form: the decomposition, the products and the mod-down. [klss, Table 1], with the transforms from
/// and to Eval form.
#[must_use]
pub(super) fn counts(
    chain: &Chain,
    gadget: &Gadget,
    representation: &KeyRepresentation,
    level: Level,
    inputs: usize,
    columns: usize,
) -> SwitchCounts {
    let work = Work::new(chain, gadget, representation, level);
    let mut counts = decomposition_counts(chain, gadget, representation, level, inputs);
    counts += mod_down_counts(&work, representation.special.indices(), columns);
    counts += inner_product_counts(chain, gadget, representation, level, (inputs, columns));
    counts
}

/// Counts of multiplying the digits of `inputs` polynomials with a key of `columns` polynomials. With KLSS
/// the products are recombined to the extended modulus, in Coeff form.
#[must_use]
pub(super) fn inner_product_counts(
    chain: &Chain,
    gadget: &Gadget,
    representation: &KeyRepresentation,
    level: Level,
    (inputs, columns): (usize, usize),
) -> SwitchCounts {
    let work = Work::new(chain, gadget, representation, level);
    let mut counts =
        SwitchCounts { by_limbs: chain.ring().engine().extends_by_limbs(), ..SwitchCounts::default() };
    let (inputs, columns) = (inputs as f64, columns as f64);
    let groups = representation.klss.as_ref().map_or(1, |key| {
        key.digits
            .iter()
            .filter(|digit| digit.indices().iter().any(|index| work.extended.contains(index)))
            .count()
    });
    let products = work.product_primes();
    for &index in products {
        counts.products += inputs * columns * (work.digits.len() * groups) as f64;
        counts.key_bytes += inputs
            * columns
            * (work.digits.len() * groups * packed_bytes(chain.ring(), &Basis::new([index]))) as f64;
    }
    if representation.klss.is_some() {
        products.iter().for_each(|&index| work.transform(&mut counts, index, columns * groups as f64));
        counts.conversions += columns * ((products.len() + 1) * work.extended.len()) as f64;
    }
    counts
}

/// Counts of the division that ends a switch at `level`, of `columns` polynomials.
#[must_use]
pub(super) fn division_counts(
    chain: &Chain,
    gadget: &Gadget,
    representation: &KeyRepresentation,
    level: Level,
    columns: usize,
) -> SwitchCounts {
    mod_down_counts(
        &Work::new(chain, gadget, representation, level),
        representation.special.indices(),
        columns,
    )
}

/// Counts of the work that is saved if a product in `representation` shares one mod-down with a product over
/// the special primes `other`: one division by the common special primes.
#[must_use]
pub(super) fn shared_mod_down_counts(
    chain: &Chain,
    gadget: &Gadget,
    representation: &KeyRepresentation,
    level: Level,
    (other, columns): (&Basis, usize),
) -> SwitchCounts {
    let common: Vec<usize> = representation
        .special
        .indices()
        .iter()
        .copied()
        .filter(|index| other.indices().contains(index))
        .collect();
    mod_down_counts(&Work::new(chain, gadget, representation, level), &common, columns)
}

/// Counts of dividing `columns` polynomials by the primes `special`. With KLSS the polynomials are in Coeff
/// form, which saves the transforms of `special`.
fn mod_down_counts(work: &Work<'_>, special: &[usize], columns: usize) -> SwitchCounts {
    let engine = work.chain.ring().engine();
    let (by_limbs, division_by_limbs) =
        (engine.extends_by_limbs(), engine.divides_by_limbs(special.len(), work.primes, columns));
    let (mut counts, columns) = (SwitchCounts { by_limbs, ..SwitchCounts::default() }, columns as f64);
    (0..work.primes).for_each(|index| work.transform(&mut counts, index, columns));
    if work.representation.klss.is_none() {
        special.iter().for_each(|&index| work.transform(&mut counts, index, columns));
    }
    let division = columns * ((special.len() + 1) * work.primes) as f64;
    counts.conversions += division;
    let limbs = columns * work.limbs(special) * work.primes as f64;
    if division_by_limbs {
        counts.division_conversions += division;
        counts.division_limbs += limbs;
    }
    if serve_division(special.len(), work.primes, columns as usize, work.chain.ring().degree()) {
        counts.priced.division_conversions += division;
        counts.priced.division_limbs += limbs;
    }
    counts
}
