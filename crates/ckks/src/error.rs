//! Errors of the CKKS layer; each states the numbers and the remedy.

use clathrate_arith::text::counted;
use clathrate_arith::{ArithError, DeviceError};
use clathrate_lattice::LatticeError;
use clathrate_lattice::sampling::SamplingError;
use thiserror::Error;

use crate::file::FileError;
use crate::shape::ModuleShape;

/// Errors of the CKKS layer.
///
/// Operations check their operands before they work: keys, parameters, secrets, shapes, levels, scales and
/// bounds. What they refuse is unchanged. `# Errors` of an operation says what is special to it; it also has
/// the errors of the operations that it consists of.
///
/// ```
/// use clathrate_ckks::error::ErrorKind;
/// use clathrate_ckks::prelude::*;
///
/// let error = Params::preset("n99", &Runtime::default()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Params);
/// assert!(error.to_string().contains("there is no preset \"n99\""));
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CkksError {
    /// The lattice layer refused.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// The arithmetic refused.
    #[error(transparent)]
    Arith(#[from] ArithError),
    /// A file is not what it should be.
    #[error(transparent)]
    File(#[from] FileError),
    /// Random generation failed.
    #[error("random generation failed: {0}")]
    Sampling(#[from] SamplingError),
    /// A parameter specification that cannot be used.
    #[error("parameters: {reason}")]
    InvalidParams {
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A parameter set below the security threshold.
    #[error("{}: {remedy}", insecure_in_words(.bits, .dimension, .log2_qp, .distribution))]
    Insecure {
        /// Estimated bits; 0 where the security table does not cover the key.
        bits: f64,
        /// Module dimension, degree times rank.
        dimension: usize,
        /// Bits of the largest modulus.
        log2_qp: f64,
        /// The secret's distribution, in words.
        distribution: String,
        /// What to change.
        remedy: String,
    },
    /// A specification of others that accepts fewer than 128 bits of security, which the caller does not.
    #[error(
        "{}. The specification accepts that, and whoever reads it must, too: ask for parameters of 128 bits, or, for tests only, pass `allow_insecure`",
        insecure_in_words(.bits, .dimension, .log2_qp, .distribution)
    )]
    InsecureSpec {
        /// Estimated bits; 0 where the security table does not cover the key.
        bits: f64,
        /// Module dimension, degree times rank.
        dimension: usize,
        /// Bits of the largest modulus.
        log2_qp: f64,
        /// The secret's distribution, in words.
        distribution: String,
    },
    /// Parameters whose tables are larger than the runtime allows.
    #[error(
        "parameters: degree {degree} and {} take {} MiB of tables, more than the limit of {} MiB: take a smaller degree or fewer primes, or raise `table_bytes` of the runtime",
        counted(*primes, "prime"),
        bytes.div_ceil(1 << 20),
        limit >> 20
    )]
    TablesTooLarge {
        /// The largest degree that the rank leads to.
        degree: usize,
        /// All primes, those of key switching included.
        primes: usize,
        /// Bytes of the tables.
        bytes: usize,
        /// Most bytes that the runtime allows.
        limit: usize,
    },
    /// Parameters that cannot be bootstrapped.
    #[error("the parameters \"{params}\" cannot be bootstrapped: {reason}")]
    NotBootstrappable {
        /// The parameters' name.
        params: String,
        /// What is missing, and what would be right.
        reason: String,
    },
    /// An operation that needs a temporary rank, which the parameters do not have.
    #[error("{operation} needs a temporary rank: set `temporary_rank` and `temporary` in the parameters")]
    NoTemporaryRank {
        /// What was asked for.
        operation: &'static str,
    },
    /// An ephemeral secret that the parameters do not have.
    #[error(
        "these parameters have no ephemeral secret: set `ephemeral_weight`, e.g. to 32, in the specification"
    )]
    NoEphemeralSecret,
    /// A secret of another library that was not given to the key.
    #[error(
        "the secret key does not have the secret of another library with the number {number}: give it by with_outside_secret"
    )]
    NoOutsideSecret {
        /// Its number.
        number: u64,
    },
    /// A direct key at a shape at which no level is secure over the widened chain.
    #[error(
        "at degree and rank {shape} no level is secure over the widened chain: products go through the temporary rank"
    )]
    NoDirectKey {
        /// Degree and rank.
        shape: ModuleShape,
    },
    /// A switch at a degree too low for switching keys.
    #[error(
        "there are no switching keys at degree and rank {shape}: convert to degree {least} or higher first"
    )]
    DegreeWithoutKeys {
        /// Degree and rank.
        shape: ModuleShape,
        /// The least degree with keys.
        least: usize,
    },
    /// A name that no key has.
    #[error("there is no key called \"{name}\"")]
    UnknownKey {
        /// The name.
        name: String,
    },
    /// A missing key of an operation that has no specific error.
    #[error("to {operation} at degree and rank {shape} needs a key; the key set has: {available}")]
    NoKey {
        /// What was asked for.
        operation: String,
        /// Degree and rank.
        shape: ModuleShape,
        /// The names of the keys there are.
        available: String,
    },
    /// A reduction of the rank that keys are not made for.
    #[error("the rank cannot be reduced from {from} to {to}: {remedy}")]
    RankStep {
        /// Rank now.
        from: usize,
        /// Rank asked for.
        to: usize,
        /// What to do.
        remedy: String,
    },
    /// No key for a reduction of the rank.
    #[error("a reduction from rank {from} to {to} needs a key; the key set has reductions to: {available}")]
    NoReductionKey {
        /// Rank now.
        from: usize,
        /// Rank asked for.
        to: usize,
        /// Those there are.
        available: String,
    },
    /// No keys for a shape.
    #[error("a ciphertext of degree and rank {shape} needs keys of that shape; the key set has: {available}")]
    NoRelativeKeys {
        /// The ciphertext's.
        shape: ModuleShape,
        /// Those there are.
        available: String,
    },
    /// A level above the highest that is secure at another shape.
    #[error(
        "{operation} to degree and rank {shape} is secure up to level {most}, the ciphertext is at level {level}: drop it to level {most} or below first"
    )]
    LevelTooHigh {
        /// What was asked for.
        operation: &'static str,
        /// The shape.
        shape: ModuleShape,
        /// The ciphertext's level.
        level: usize,
        /// The highest there.
        most: usize,
    },
    /// A conversion that the ciphertext does not allow.
    #[error("{operation}: {reason}")]
    Conversion {
        /// What was asked for.
        operation: &'static str,
        /// Why not, and what to do.
        reason: String,
    },
    /// No preset of that name.
    #[error("there is no preset \"{name}\"; there are: {known}")]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Data that is not finite.
    #[error("the data has {value} at index {index}: only finite numbers can be encrypted")]
    NotFinite {
        /// Flat index.
        index: usize,
        /// NaN or an infinity.
        value: f64,
    },
    /// A function to be approximated has no finite value somewhere.
    #[error(
        "the function is {value} at x = {x}: a fit needs finite values on the whole domain; choose a domain without this point"
    )]
    FunctionNotFinite {
        /// The point.
        x: f64,
        /// NaN or an infinity.
        value: f64,
    },
    /// Data too large for the scale and the modulus.
    #[error(
        "a value of magnitude {value:.4e} at scale 2^{log2_scale:.2} needs {needed:.1} bits, level {level} has room for {headroom:.1}: scale the data down or encrypt at a higher level"
    )]
    ValueTooLarge {
        /// The largest magnitude.
        value: f64,
        /// The scale.
        log2_scale: f64,
        /// Bits needed, sign included.
        needed: f64,
        /// Bits there are.
        headroom: f64,
        /// The level.
        level: usize,
    },
    /// A decrypted message that fills the modulus.
    #[error(
        "the decrypted message does not fit its modulus: at scale 2^{log2_scale:.2}, level {level} holds magnitudes up to 2^{log2_limit:.1}, and a larger one has wrapped around; scale the data or the weights down, or leave more bits in the first modulus step"
    )]
    Overflow {
        /// The scale.
        log2_scale: f64,
        /// The level.
        level: usize,
        /// Binary logarithm of the largest magnitude that fits.
        log2_limit: f64,
    },
    /// An array without entries.
    #[error("the array of shape {shape:?} has no entries: there is nothing to encrypt or multiply")]
    Empty {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A sum of nothing.
    #[error("{operation} has no terms, and its shape and level are those of its terms: give at least one")]
    NoTerms {
        /// The operation.
        operation: &'static str,
    },
    /// A step that the checks before it rule out: a fault of this library.
    #[error("a bug in Clathrate, please report it: {operation} came to a step that its checks rule out")]
    Internal {
        /// The operation.
        operation: &'static str,
    },
    /// Shapes that do not fit.
    #[error("{operation}: shapes {left:?} and {right:?} do not fit: {remedy}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// Shape of the left operand.
        left: Vec<usize>,
        /// Shape of the right operand.
        right: Vec<usize>,
        /// What would fit.
        remedy: String,
    },
    /// Slots in bit-reversed order, for an operation that moves slots in natural order.
    #[error(
        "{operation} moves slots in natural order, and these are in bit-reversed order: encrypt the array in natural order"
    )]
    BitReversed {
        /// The operation.
        operation: &'static str,
    },
    /// Operands encoded differently.
    #[error(
        "{operation} needs the encoding {expected}, and {got} was given: encrypt the array in {expected}"
    )]
    Encoding {
        /// The operation.
        operation: &'static str,
        /// What it needs.
        expected: String,
        /// What it got.
        got: String,
    },
    /// One of several arrays that are no batch.
    #[error("array {index} of the batch: {error}")]
    InBatch {
        /// Its number, from 0.
        index: usize,
        /// What is wrong with it.
        error: Box<CkksError>,
    },
    /// Scales that cannot be brought together.
    #[error(
        "scales 2^{left:.4} and 2^{right:.4} do not match: rescale one operand, or encode the other at its scale"
    )]
    ScaleMismatch {
        /// Left scale.
        left: f64,
        /// Right scale.
        right: f64,
    },
    /// A scale that leaves the modulus no room, or is no scale.
    #[error(
        "scale 2^{log2_scale:.2} is out of range at level {level}, where the modulus has {headroom:.1} bits: use a scale above the noise and at most 2^{:.1}, or another level",
        headroom - 1.0
    )]
    ScaleOutOfRange {
        /// The scale.
        log2_scale: f64,
        /// The level.
        level: usize,
        /// Bits of the modulus.
        headroom: f64,
    },
    /// Too low a level for the operation.
    #[error(
        "{operation} needs level {needed} or higher, the ciphertext is at level {level}: start from a higher level or use parameters with more levels"
    )]
    LevelTooLow {
        /// The operation.
        operation: &'static str,
        /// The level needed.
        needed: usize,
        /// The level there is.
        level: usize,
    },
    /// Factors that are so small that rounding would lose them.
    #[error(
        "the largest factor, {largest:e}, has {bits:.1} bits at the scale 2^{log2_scale:.1} that it is rounded at, and would be lost: multiply the factors by a power of two and divide the decrypted result by it, choose a larger scale (`weight_scale` of a matrix), or take parameters with longer steps"
    )]
    FactorTooSmall {
        /// The largest magnitude of a factor.
        largest: f64,
        /// Bits that are left of it.
        bits: f64,
        /// Binary logarithm of the factors' scale.
        log2_scale: f64,
    },
    /// Numbers that, by a declared bound, may be too large for the modulus.
    #[error(
        "numbers may be as large as {magnitude:.3e} here, by the bound on the inputs, and at scale 2^{log2_scale:.1} level {level} has room for {headroom:.3e}: scale the inputs or the factors down, state a smaller bound, or take parameters with a longer first step"
    )]
    BoundTooLarge {
        /// The bound on the numbers.
        magnitude: f64,
        /// Binary logarithm of the scale.
        log2_scale: f64,
        /// The level.
        level: usize,
        /// The largest number that the modulus holds.
        headroom: f64,
    },
    /// Numbers that, by a declared bound, may be too large for a bootstrap.
    #[error(
        "{operation} takes numbers of magnitude at most 1, and by the declared bound they may be as large as {bound:.3e}; above the lowest level of the application they are divided by a power of two on the way: bootstrap at a higher level, divide by a plain number before and multiply by it behind, or declare a smaller bound where they are smaller (`with_bound`)"
    )]
    BeyondRange {
        /// The operation.
        operation: &'static str,
        /// The bound on the numbers.
        bound: f64,
    },
    /// Numbers that, by a declared bound, may be outside the interval that a polynomial is made for.
    #[error(
        "by the declared bound numbers may be as large as {bound:.3e}, and the polynomial is made for those from {low} to {high}: give a domain from {} to {bound}, or declare a smaller bound where they are smaller (`with_bound`)", -bound
    )]
    OutsideDomain {
        /// The bound on the numbers.
        bound: f64,
        /// The lower end of the domain.
        low: f64,
        /// Its upper end.
        high: f64,
    },
    /// A plain matrix whose product wraps around for numbers of magnitude 1.
    #[error(
        "the magnitudes along a row of the matrix add up to {row_sum:.3e}, so that numbers of magnitude 1 have products as large, and at scale 2^{log2_scale:.1} level {level} has room for {headroom:.3e}: scale the matrix down, declare a bound below 1 where the numbers are smaller (`bound` at encryption), or take parameters with a longer first step"
    )]
    WeightsTooLarge {
        /// The largest sum of magnitudes along a row.
        row_sum: f64,
        /// Binary logarithm of the product's scale.
        log2_scale: f64,
        /// The product's level.
        level: usize,
        /// The largest number that the modulus holds.
        headroom: f64,
    },
    /// A rescale of an array that is no product.
    #[error(
        "nothing to rescale: the scale 2^{log2_scale:.2} is that of level {level} already; only products have a larger one"
    )]
    NothingToRescale {
        /// Binary logarithm of the scale.
        log2_scale: f64,
        /// The level.
        level: usize,
    },
    /// Too low a level for a polynomial.
    #[error(
        "a polynomial of degree {degree} takes {} here, the ciphertext is at level {level}: {}lower the degree (a larger `error` of a function does), or use parameters with more levels",
        counted(*depth, "level"),
        higher_level(depth + lowest, *highest)
    )]
    PolynomialDepth {
        /// The degree.
        degree: usize,
        /// Levels it takes.
        depth: usize,
        /// The level there is.
        level: usize,
        /// The lowest level that a result may have: of parameters that bootstrap, the lowest of the
        /// application.
        lowest: usize,
        /// The highest level of arrays ([`Params::fresh_level`](crate::Params::fresh_level)).
        highest: usize,
    },
    /// A level above where the ciphertext is.
    #[error("cannot drop from level {from} to level {to}: levels only go down")]
    LevelUp {
        /// Level now.
        from: usize,
        /// Level asked for.
        to: usize,
    },
    /// No evaluation keys at all.
    #[error(
        "{operation} needs evaluation keys: make them with the secret key and give them to the evaluator"
    )]
    NoKeys {
        /// The operation.
        operation: &'static str,
    },
    /// Keys that a planned circuit needs are not in the key set.
    #[error(
        "{operation} needs {}, {:.2} GiB, that the key set does not have: {names}; make evaluation keys for the needs of its plan",
        clathrate_arith::text::counted(*count, "key"), *bytes as f64 / (1u64 << 30) as f64
    )]
    MissingKeys {
        /// The circuit.
        operation: &'static str,
        /// How many keys.
        count: usize,
        /// Their bytes in memory.
        bytes: usize,
        /// What they are for, the first few.
        names: String,
    },
    /// Less free memory than an operation takes.
    #[error("{operation} takes about {:.2} GiB of memory, and {:.2} GiB are free: {remedy}", gib(*needed), gib(*free))]
    NotEnoughMemory {
        /// The operation.
        operation: &'static str,
        /// Predicted bytes.
        needed: u64,
        /// Free bytes.
        free: u64,
        /// What would help.
        remedy: &'static str,
    },
    /// A device refused, or is not there.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// No relinearisation key.
    #[error(
        "multiplying ciphertexts needs a relinearisation key; the key set has none: ask for `relinearise` when making evaluation keys"
    )]
    NoRelinearisationKey,
    /// No conjugation key.
    #[error("conjugation needs a key; the key set has none: ask for `conjugate` when making evaluation keys")]
    NoConjugationKey,
    /// No key for this rotation.
    #[error(
        "rotation by {steps} needs a key; the key set has {available}: ask for it when making evaluation keys"
    )]
    NoRotationKey {
        /// Steps asked for.
        steps: i64,
        /// The steps there are.
        available: String,
    },
    /// Objects of different parameters.
    #[error(
        "{what} was made for other parameters: {found} instead of {expected}; use objects of one parameter set"
    )]
    WrongParams {
        /// What does not fit.
        what: &'static str,
        /// Name and digest of its parameters.
        found: String,
        /// Name and digest of the parameters expected.
        expected: String,
    },
    /// A key of another secret.
    #[error(
        "{what} belongs to secret {found}, expected {expected}: it cannot be combined or decrypted with this one"
    )]
    WrongSecret {
        /// What does not fit.
        what: &'static str,
        /// Its key id.
        found: String,
        /// The key id expected.
        expected: String,
    },
    /// Operands under different secrets of one owner.
    #[error(
        "{operation}: the operands are under the secrets \"{left}\" and \"{right}\": bring both to one with share_mask, split_mask, change_secret, or pack for samples of a device"
    )]
    DifferentSecrets {
        /// The operation.
        operation: &'static str,
        /// The left operand's secret.
        left: String,
        /// The right operand's secret.
        right: String,
    },
    /// An operation that has no keys under a secret.
    #[error("{operation} has no keys under the secret \"{secret}\": {remedy}")]
    SecretWithoutKeys {
        /// The operation.
        operation: &'static str,
        /// The ciphertext's secret.
        secret: String,
        /// What to do first.
        remedy: &'static str,
    },
    /// An operation across the bodies that share a mask.
    #[error("{operation}: {bodies} bodies share a mask, and {reason}: {remedy}")]
    SharedMask {
        /// The operation.
        operation: &'static str,
        /// Bodies under one mask.
        bodies: usize,
        /// Why not.
        reason: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Operands whose layouts differ.
    #[error("{operation}: the operands are laid out differently ({left}; {right}): {remedy}")]
    DifferentLayouts {
        /// The operation.
        operation: &'static str,
        /// The left operand's layout.
        left: String,
        /// The right operand's layout.
        right: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Dirty padding that would enter the result.
    #[error(
        "{operation}: rows of {columns} entries in {places} places have padding that is not zero and would come into the result: clear it with clear_padding first"
    )]
    DirtyPadding {
        /// The operation.
        operation: &'static str,
        /// Entries of a row.
        columns: usize,
        /// Places of a row.
        places: usize,
    },
    /// Numbers that a polynomial has no room for.
    #[error(
        "{what} do not fit polynomials of degree {degree}: use a higher degree, or real numbers in coefficients"
    )]
    NoRoom {
        /// Which numbers.
        what: &'static str,
        /// The degree.
        degree: usize,
    },
    /// A symbol of a dry run where data is needed.
    #[error(
        "{operation} has a symbol for an operand: a dry run has levels and scales, no data; use symbols alone there, and ciphertexts elsewhere"
    )]
    Symbol {
        /// The operation.
        operation: &'static str,
    },
    /// An argument out of its range.
    #[error("{what} is {value}: {remedy}")]
    OutOfRange {
        /// The argument.
        what: &'static str,
        /// Its value.
        value: String,
        /// The range.
        remedy: String,
    },
    /// The caller's progress callback asked to stop.
    #[error("stopped by the progress callback; nothing was changed")]
    Cancelled,
}

impl CkksError {
    /// For a limit in the environment that is no number.
    pub(crate) fn no_bytes(what: &'static str, value: String) -> Self {
        Self::OutOfRange { what, value, remedy: "give a whole number of bytes".to_owned() }
    }

    /// A name for the kind of error, stable across versions: fronts map it to an exception and an exit code.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InBatch { error, .. } => error.kind(),
            Self::InvalidParams { .. }
            | Self::UnknownPreset { .. }
            | Self::TablesTooLarge { .. }
            | Self::Arith(_) => ErrorKind::Params,
            Self::Insecure { .. } | Self::InsecureSpec { .. } => ErrorKind::Security,
            Self::NotFinite { .. }
            | Self::FunctionNotFinite { .. }
            | Self::ValueTooLarge { .. }
            | Self::Overflow { .. }
            | Self::Empty { .. }
            | Self::NoTerms { .. }
            | Self::FactorTooSmall { .. }
            | Self::BoundTooLarge { .. }
            | Self::BeyondRange { .. }
            | Self::OutsideDomain { .. }
            | Self::WeightsTooLarge { .. }
            | Self::OutOfRange { .. }
            | Self::Symbol { .. } => ErrorKind::Value,
            Self::Shape { .. }
            | Self::Encoding { .. }
            | Self::BitReversed { .. }
            | Self::Conversion { .. }
            | Self::SharedMask { .. }
            | Self::DifferentLayouts { .. }
            | Self::DirtyPadding { .. }
            | Self::NoRoom { .. } => ErrorKind::Shape,
            Self::NotBootstrappable { .. }
            | Self::NoTemporaryRank { .. }
            | Self::RankStep { .. }
            | Self::NoEphemeralSecret
            | Self::NoDirectKey { .. } => ErrorKind::Params,
            Self::DegreeWithoutKeys { .. } => ErrorKind::Shape,
            Self::UnknownKey { .. } => ErrorKind::File,
            Self::ScaleMismatch { .. } | Self::ScaleOutOfRange { .. } => ErrorKind::Scale,
            Self::LevelTooLow { .. }
            | Self::NothingToRescale { .. }
            | Self::PolynomialDepth { .. }
            | Self::LevelUp { .. }
            | Self::LevelTooHigh { .. } => ErrorKind::Level,
            Self::NoKeys { .. }
            | Self::MissingKeys { .. }
            | Self::NoRelinearisationKey
            | Self::NoConjugationKey
            | Self::NoRotationKey { .. }
            | Self::NoReductionKey { .. }
            | Self::NoKey { .. }
            | Self::NoRelativeKeys { .. } => ErrorKind::MissingKey,
            Self::WrongParams { .. } => ErrorKind::WrongParams,
            Self::NoOutsideSecret { .. }
            | Self::WrongSecret { .. }
            | Self::DifferentSecrets { .. }
            | Self::SecretWithoutKeys { .. } => ErrorKind::WrongSecret,
            Self::File(error) => file_kind(error),
            Self::Sampling(_) => ErrorKind::Random,
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Internal { .. } => ErrorKind::Internal,
            Self::NotEnoughMemory { .. } | Self::Device(DeviceError::OutOfMemory { .. }) => ErrorKind::Memory,
            Self::Device(_) => ErrorKind::Device,
            Self::Lattice(error) => lattice_kind(error),
        }
    }
}

/// The estimate of a refused set; rounded down, so that 127.97 does not read as 128.
fn insecure_in_words(bits: &f64, dimension: &usize, log2_qp: &f64, distribution: &str) -> String {
    let key = format!("(dimension {dimension}, log2 QP = {log2_qp:.1}, {distribution})");
    if *bits > 0.0 {
        format!(
            "parameters have an estimated {:.1} bits of security {key}, below 128",
            (bits * 10.0).floor() / 10.0
        )
    } else {
        format!("the security table does not cover these parameters {key}, which count as below 128 bits")
    }
}

/// Bytes in GiB.
fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// The part of a remedy that asks for level `needed`, where arrays have levels up to `highest`.
fn higher_level(needed: usize, highest: usize) -> String {
    if needed > highest {
        return format!(
            "level {needed} would be needed, and arrays under these parameters have levels up to {highest}: "
        );
    }
    format!("start from level {needed} or higher, ")
}

fn lattice_kind(error: &LatticeError) -> ErrorKind {
    match error {
        LatticeError::LevelOutOfRange { .. }
        | LatticeError::NoLevelLeft
        | LatticeError::KeyLevelTooLow { .. } => ErrorKind::Level,
        LatticeError::KeyInputs { .. } | LatticeError::KeyGadget { .. } => ErrorKind::WrongParams,
        LatticeError::NoSpecialPrimes
        | LatticeError::DigitTooLarge { .. }
        | LatticeError::FewFreePrimes { .. }
        | LatticeError::FewAuxiliaryPrimes { .. }
        | LatticeError::Arith(_) => ErrorKind::Params,
        LatticeError::Sampling(_) => ErrorKind::Random,
        LatticeError::MemoryMismatch { .. } => ErrorKind::Device,
        _ => ErrorKind::Shape,
    }
}

fn file_kind(error: &FileError) -> ErrorKind {
    match error {
        FileError::WrongParameters { .. } => ErrorKind::WrongParams,
        FileError::Cancelled => ErrorKind::Cancelled,
        FileError::Io { .. } | FileError::SecretKeyInTheWay { .. } => ErrorKind::Io,
        _ => ErrorKind::File,
    }
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Parameters that cannot be used.
    Params,
    /// Parameters below the security threshold.
    Security,
    /// Data or an argument out of range.
    Value,
    /// Shapes or encodings that do not fit.
    Shape,
    /// Scales that do not fit.
    Scale,
    /// A level that does not fit.
    Level,
    /// A key that is not there.
    MissingKey,
    /// Objects of different parameters.
    WrongParams,
    /// Objects of different secrets.
    WrongSecret,
    /// A file that is not what it should be.
    File,
    /// The operating system refused.
    Io,
    /// Random generation failed.
    Random,
    /// Stopped by the caller.
    Cancelled,
    /// Less free memory than needed.
    Memory,
    /// A device that is not there or does not do its work.
    Device,
    /// A fault of this library.
    Internal,
}
