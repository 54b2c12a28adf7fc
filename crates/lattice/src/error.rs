//! What can go wrong in the lattice layer; each error names the numbers and the remedy.

use clathrate_arith::ArithError;
use clathrate_arith::text::counted;
use thiserror::Error;

use crate::sampling::SamplingError;

/// Errors of the lattice layer.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum LatticeError {
    /// The arithmetic below refused.
    #[error(transparent)]
    Arith(#[from] ArithError),
    /// Random generation failed.
    #[error("random generation failed: {0}")]
    Sampling(#[from] SamplingError),
    /// Operands of different rank.
    #[error("operands have ranks {left} and {right}: bring both to one rank first")]
    RankMismatch {
        /// Rank of the left operand.
        left: usize,
        /// Rank of the right operand.
        right: usize,
    },
    /// Operands with different numbers of bodies.
    #[error("operands have {left} and {right} bodies: only bundles with the same number of bodies combine")]
    BodiesMismatch {
        /// Bodies of the left operand.
        left: usize,
        /// Bodies of the right operand.
        right: usize,
    },
    /// A body that the bundle does not have.
    #[error("there is no body {body}: the bundle has {bodies}, counted from 0")]
    BodyOutOfRange {
        /// Body asked for.
        body: usize,
        /// Bodies there are.
        bodies: usize,
    },
    /// An operation that takes one body only.
    #[error("{operation} takes a bundle with one body, this one has {bodies}: split it first")]
    ManyBodies {
        /// The operation.
        operation: &'static str,
        /// Bodies given.
        bodies: usize,
    },
    /// Operands over different residue bases.
    #[error("operands are over {left} and {right} primes (or different ones): bring both to one level first")]
    BasisMismatch {
        /// Primes of the left operand.
        left: usize,
        /// Primes of the right operand.
        right: usize,
    },
    /// Operands of different rings.
    #[error("operands belong to rings of degrees {left} and {right} (or rings built separately)")]
    RingMismatch {
        /// Degree of the left ring.
        left: usize,
        /// Degree of the right ring.
        right: usize,
    },
    /// A level the chain does not have.
    #[error("level {level} is out of range: the chain has levels 0 to {max}")]
    LevelOutOfRange {
        /// Level asked for.
        level: usize,
        /// Highest level.
        max: usize,
    },
    /// Nothing left to rescale by.
    #[error("rescaling needs a level above 0: this bundle is at level 0 and has one modulus step left")]
    NoLevelLeft,
    /// A switching key at too low a level.
    #[error("the key reaches level {key_level}, the input is at level {level}: drop the input's level or generate the key higher")]
    KeyLevelTooLow {
        /// Highest level the key serves.
        key_level: usize,
        /// Level of the input.
        level: usize,
    },
    /// A key made for another number of inputs.
    #[error("the key switches {}, not the {inputs} given: it was made for another operation or rank", counted(*key_inputs, "polynomial"))]
    KeyInputs {
        /// Inputs the key was made for.
        key_inputs: usize,
        /// Inputs given.
        inputs: usize,
    },
    /// A key made for another chain or gadget.
    #[error("the key or the digits were made for another modulus chain or gadget ({} here, {digits} expected)", counted(*key_digits, "digit"))]
    KeyGadget {
        /// Digits of the key.
        key_digits: usize,
        /// Digits of this switcher.
        digits: usize,
    },
    /// A secret that does not fit the bundle.
    #[error(
        "the secret has rank {secret_rank} and {} at degree {secret_degree}; the bundle has rank {rank} and {} at degree {degree}",
        counted(*secret_bodies, "body"),
        counted(*bodies, "body")
    )]
    SecretShape {
        /// Rank of the secret.
        secret_rank: usize,
        /// Bodies of the secret.
        secret_bodies: usize,
        /// Degree of the secret.
        secret_degree: usize,
        /// Rank of the bundle.
        rank: usize,
        /// Bodies of the bundle.
        bodies: usize,
        /// Degree of the bundle.
        degree: usize,
    },
    /// A secret that no machine can hold.
    #[error(
        "a secret of degree {degree}, rank {rank} and {} is too large for this machine's memory: use a smaller shape",
        counted(*bodies, "body")
    )]
    SecretTooLarge {
        /// Degree asked for.
        degree: usize,
        /// Rank asked for.
        rank: usize,
        /// Bodies asked for.
        bodies: usize,
    },
    /// A prime that stands twice in one ring.
    #[error("prime {prime} stands in the chain more than once: use distinct primes")]
    RepeatedPrime {
        /// The prime.
        prime: u64,
    },
    /// A shape without ciphertexts.
    #[error("{what} must be at least 1, got {got}")]
    EmptyShape {
        /// Which dimension.
        what: &'static str,
        /// The value given.
        got: usize,
    },
    /// A digit larger than the special modulus.
    #[error(
        "digit {digit} has {digit_bits:.1} bits, the special modulus only {special_bits:.1}: use shorter digits or more special primes"
    )]
    DigitTooLarge {
        /// Index of the digit.
        digit: usize,
        /// Its size.
        digit_bits: f64,
        /// Size of the special modulus.
        special_bits: f64,
    },
    /// More special primes asked for than a level leaves free.
    #[error(
        "a switch at level {level} with {}: {} {} free there for keys of level {reach}; ask for 1 to {free}",
        counted(*special, "special prime"),
        counted(*free, "prime"),
        if *free == 1 { "is" } else { "are" }
    )]
    FewFreePrimes {
        /// Special primes asked for.
        special: usize,
        /// Primes that are free.
        free: usize,
        /// The level.
        level: usize,
        /// Highest level of the keys.
        reach: usize,
    },
    /// Too few auxiliary primes for KLSS switching.
    #[error(
        "key digits of {bits:.0} bits need an auxiliary modulus of {needed:.0} bits, the chain's has {available:.0}: use shorter digits"
    )]
    FewAuxiliaryPrimes {
        /// Size of the longest key digit.
        bits: f64,
        /// Size the auxiliary modulus must have.
        needed: f64,
        /// Size it has.
        available: f64,
    },
    /// A chain without special primes asked to switch.
    #[error("the chain has no special primes, so it has no switching keys: add special primes to the parameters")]
    NoSpecialPrimes,
    /// More temporary primes asked for than the chain has.
    #[error("{} asked for, the chain has {available}", counted(*wanted, "temporary prime"))]
    FewTemporaryPrimes {
        /// Asked for.
        wanted: usize,
        /// There are.
        available: usize,
    },
    /// Switchers or keys of a temporary rank that do not belong together.
    #[error("a rank-down from rank {high} to {low} needs a key of {} to rank {low}, this one has {inputs} to rank {rank}", counted(high - low, "input"))]
    RankDownKey {
        /// Temporary rank.
        high: usize,
        /// Rank to return to.
        low: usize,
        /// Inputs of the key.
        inputs: usize,
        /// Rank of the key's result.
        rank: usize,
    },
    /// A cut by rank that leaves nothing on one side.
    #[error("nothing can be cut off rank {rank} at {at}: the cut must be above 0 and below {rank}")]
    NothingBeyondRank {
        /// Rank there is.
        rank: usize,
        /// Where the cut was to be.
        at: usize,
    },
    /// A temporary secret that is none of the secret's.
    #[error(
        "the temporary secret of rank {temporary} does not begin with the secret of rank {rank}: join the secret and further polynomials"
    )]
    NotNested {
        /// Rank of the secret.
        rank: usize,
        /// Rank of the temporary one.
        temporary: usize,
    },
    /// Ranks that a rank move cannot join.
    #[error("rank-up from {from} to {to} is impossible: the target must not be smaller")]
    RankUp {
        /// Rank now.
        from: usize,
        /// Rank asked for.
        to: usize,
    },
    /// Degrees that a degree move cannot join.
    #[error("degree {degree} with rank {rank} cannot become degree {target}: the factor must be a power of two that divides the {what}")]
    DegreeChange {
        /// Degree now.
        degree: usize,
        /// Rank now.
        rank: usize,
        /// Degree asked for.
        target: usize,
        /// What the factor must divide.
        what: &'static str,
    },
    /// A component that a polynomial does not have.
    #[error("there is no component {component}: the degrees differ by a factor of {gap}, so components are 0 to {}", gap - 1)]
    ComponentOutOfRange {
        /// Component asked for.
        component: usize,
        /// Components there are.
        gap: usize,
    },
    /// A term of a linear combination that names an input which is not there.
    #[error("a linear combination names input {input}, there are {inputs}, counted from 0")]
    InputOutOfRange {
        /// Input named.
        input: usize,
        /// Inputs there are.
        inputs: usize,
    },
}
