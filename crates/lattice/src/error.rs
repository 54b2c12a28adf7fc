//! Errors of the lattice layer. Each message states the numbers that caused the error and a remedy.

use clathrate_arith::ArithError;
use clathrate_arith::text::counted;
use thiserror::Error;

use crate::sampling::SamplingError;

/// Errors of the lattice layer.
///
/// Operations check rings, bases, ranks, bodies and levels of their operands. `# Errors` of an operation
/// lists the errors that are special to it; it also returns the errors of the operations that it calls.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum LatticeError {
    /// An error of the arithmetic layer.
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
    /// A wrong number of polynomials.
    #[error("{what} takes {}, got {got}", counted(*expected, "polynomial"))]
    PolynomialCount {
        /// The operation.
        what: &'static str,
        /// The number that the operation takes.
        expected: usize,
        /// The number given.
        got: usize,
    },
    /// A body index out of range.
    #[error("there is no body {body}: the bundle has {bodies}, counted from 0")]
    BodyOutOfRange {
        /// Requested body.
        body: usize,
        /// Number of bodies of the bundle.
        bodies: usize,
    },
    /// A bundle of several bodies, given to an operation on one body.
    #[error("{operation} takes a bundle with one body, this one has {bodies}: split it first")]
    ManyBodies {
        /// The operation.
        operation: &'static str,
        /// Number of bodies given.
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
    /// Operands in the memory of two devices.
    #[error(
        "one operand is in the memory of the device `{left}`, the other in that of `{right}`: bring both to one device"
    )]
    MemoryMismatch {
        /// The kind of memory of the left operand.
        left: &'static str,
        /// The kind of memory of the right operand.
        right: &'static str,
    },
    /// A level above the highest level of the chain.
    #[error("level {level} is out of range: the chain has levels 0 to {max}")]
    LevelOutOfRange {
        /// Requested level.
        level: usize,
        /// Highest level.
        max: usize,
    },
    /// A rescale at level 0.
    #[error("rescaling needs a level above 0: this bundle is at level 0 and has one modulus step left")]
    NoLevelLeft,
    /// A switching key whose highest level is below the level of the input.
    #[error(
        "the key reaches level {key_level}, the input is at level {level}: drop the input's level or generate the key higher"
    )]
    KeyLevelTooLow {
        /// Highest level of the key.
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
        /// Digits that the switcher expects.
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
    /// A secret whose coefficients exceed the address space.
    #[error(
        "a secret of degree {degree}, rank {rank} and {} is too large for this machine's memory: use a smaller shape",
        counted(*bodies, "body")
    )]
    SecretTooLarge {
        /// Requested degree.
        degree: usize,
        /// Requested rank.
        rank: usize,
        /// Requested number of bodies.
        bodies: usize,
    },
    /// A prime that occurs twice in one ring.
    #[error("prime {prime} stands in the chain more than once: use distinct primes")]
    RepeatedPrime {
        /// The prime.
        prime: u64,
    },
    /// A size or count that must not be 0.
    #[error("{what} must be at least 1, got {got}")]
    EmptyShape {
        /// The size or count.
        what: &'static str,
        /// The value given.
        got: usize,
    },
    /// Packed residues whose number of words does not fit their shape.
    #[error("packed residues of this shape take {expected} words, got {found}")]
    WordCount {
        /// The words that the shape takes.
        expected: usize,
        /// The words given.
        found: usize,
    },
    /// A digit larger than the special modulus.
    #[error(
        "digit {digit} has {digit_bits:.1} bits, the special modulus only {special_bits:.1}: use shorter digits or more special primes"
    )]
    DigitTooLarge {
        /// Index of the digit.
        digit: usize,
        /// Size of the digit, in bits.
        digit_bits: f64,
        /// Size of the special modulus, in bits.
        special_bits: f64,
    },
    /// More special primes requested than are free at a level.
    #[error(
        "a switch at level {level} with {}: {} {} free there for keys of level {key_level}; ask for 1 to {free}",
        counted(*special, "special prime"),
        counted(*free, "prime"),
        if *free == 1 { "is" } else { "are" }
    )]
    FewFreePrimes {
        /// Requested number of special primes.
        special: usize,
        /// Number of free primes.
        free: usize,
        /// The level.
        level: usize,
        /// Highest level of the keys.
        key_level: usize,
    },
    /// Too few auxiliary primes for KLSS switching.
    #[error(
        "key digits of {bits:.0} bits need an auxiliary modulus of {needed:.0} bits, the chain's has {available:.0}: use shorter digits"
    )]
    FewAuxiliaryPrimes {
        /// Size of the longest key digit, in bits.
        bits: f64,
        /// Size that the auxiliary modulus must have, in bits.
        needed: f64,
        /// Size of the chain's auxiliary modulus, in bits.
        available: f64,
    },
    /// A key switch on a chain without special primes.
    #[error(
        "the chain has no special primes, so it has no switching keys: add special primes to the parameters"
    )]
    NoSpecialPrimes,
    /// More temporary primes requested than the chain has.
    #[error("{} asked for, the chain has {available}", counted(*wanted, "temporary prime"))]
    FewTemporaryPrimes {
        /// Requested number.
        wanted: usize,
        /// Number of temporary primes of the chain.
        available: usize,
    },
    /// A rank-down key whose inputs or rank do not fit the switch.
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
    /// A split of the rank that leaves no polynomial on one side.
    #[error("nothing can be cut off rank {rank} at {at}: the cut must be above 0 and below {rank}")]
    NothingBeyondRank {
        /// Rank before the split.
        rank: usize,
        /// Number of polynomials to keep.
        at: usize,
    },
    /// A temporary secret whose first polynomials are not the ordinary secret.
    #[error(
        "the temporary secret of rank {temporary} does not begin with the secret of rank {rank}: join the secret and further polynomials"
    )]
    NotNested {
        /// Rank of the secret.
        rank: usize,
        /// Rank of the temporary secret.
        temporary: usize,
    },
    /// A rank-up to a rank below the current one.
    #[error("rank-up from {from} to {to} is impossible: the target must not be smaller")]
    RankUp {
        /// Current rank.
        from: usize,
        /// Requested rank.
        to: usize,
    },
    /// A mask cut to more polynomials than it has.
    #[error("the mask has {rank} polynomials, so it cannot be cut to {requested}: use 1 to {rank}")]
    MaskRank {
        /// The mask's rank.
        rank: usize,
        /// Requested rank.
        requested: usize,
    },
    /// A secret cut to more polynomials than it has.
    #[error(
        "the secret has {rank} polynomials in each body, so it cannot be cut to {requested}: use 1 to {rank}"
    )]
    SecretRank {
        /// The secret's rank.
        rank: usize,
        /// Requested rank.
        requested: usize,
    },
    /// A change of degree by an unsupported factor.
    #[error(
        "degree {degree} with rank {rank} cannot become degree {target}: the factor must be a power of two that divides the {what}"
    )]
    DegreeChange {
        /// Current degree.
        degree: usize,
        /// Current rank.
        rank: usize,
        /// Requested degree.
        target: usize,
        /// What the factor must divide.
        what: &'static str,
    },
    /// A component index out of range.
    #[error("there is no component {component}: the degrees differ by a factor of {gap}, so components are 0 to {}", gap - 1)]
    ComponentOutOfRange {
        /// Requested component.
        component: usize,
        /// Number of components.
        gap: usize,
    },
    /// A linear combination with a term for an input that was not given.
    #[error("a linear combination names input {input}, there are {inputs}, counted from 0")]
    InputOutOfRange {
        /// Input of the term.
        input: usize,
        /// Number of inputs.
        inputs: usize,
    },
}
