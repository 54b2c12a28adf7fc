//! Errors of the CKKS layer; each states the numbers and the remedy.

use clathrate_arith::text::counted;
use clathrate_arith::{ArithError, DeviceError};
use clathrate_lattice::LatticeError;
use clathrate_lattice::sampling::SamplingError;
use thiserror::Error;

use crate::file::FileError;
use crate::names::{Operation, SecretName};
use crate::progress::Cancelled;
use crate::shape::ModuleShape;

/// Errors of the CKKS layer.
///
/// Operations check their operands (keys, parameters, secrets, shapes, levels, scales and bounds) before they
/// compute, and leave refused operands unchanged. `# Errors` of an operation lists the errors that are
/// special to it; it also has the errors of the operations that it calls.
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
    /// An error of the lattice layer.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// An error of the arithmetic layer.
    #[error(transparent)]
    Arith(#[from] ArithError),
    /// A file that cannot be read, written or used.
    #[error(transparent)]
    File(FileError),
    /// Random generation failed.
    #[error("random generation failed: {0}")]
    Sampling(#[from] SamplingError),
    /// A parameter specification that cannot be used.
    #[error("parameters: {reason}")]
    InvalidParams {
        /// What is wrong and which value would be right.
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
    /// A specification from someone else that accepts fewer than 128 bits of security, where the caller did
    /// not allow that.
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
        /// The largest ring degree that conversions of the rank lead to.
        degree: usize,
        /// All primes, those of key switching included.
        primes: usize,
        /// Bytes of the tables.
        bytes: usize,
        /// Limit of the runtime in bytes.
        limit: usize,
    },
    /// Parameters that cannot be bootstrapped.
    #[error("the parameters \"{params}\" cannot be bootstrapped: {reason}")]
    NotBootstrappable {
        /// The parameters' name.
        params: String,
        /// What is missing, and which parameters would be right.
        reason: String,
    },
    /// An operation that needs a temporary rank, which the parameters do not have.
    #[error("{operation} needs a temporary rank: set `temporary_rank` and `temporary` in the parameters")]
    NoTemporaryRank {
        /// The operation.
        operation: &'static str,
    },
    /// An ephemeral secret that the parameters do not have.
    #[error(
        "these parameters have no ephemeral secret: set `ephemeral_weight`, e.g. to 32, in the specification"
    )]
    NoEphemeralSecret,
    /// A secret of another library that the secret key was not given.
    #[error(
        "the secret key does not have the secret of another library with the number {number}: give it by with_outside_secret"
    )]
    NoOutsideSecret {
        /// The number of that secret.
        number: u64,
    },
    /// A key for a direct product (without the temporary rank) at a shape where no level is secure over the
    /// widened chain.
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
        /// The lowest degree with keys.
        least: usize,
    },
    /// A name that no key has.
    #[error("there is no key called \"{name}\"")]
    UnknownKey {
        /// The name.
        name: String,
    },
    /// A missing key.
    #[error("{}", missing(*operation, *shape, held))]
    MissingKey {
        /// The operation that needs it.
        operation: Operation,
        /// Degree and rank of the ciphertext.
        shape: ModuleShape,
        /// What the key set has instead: rotations, ranks, or names of keys.
        held: String,
    },
    /// A reduction of the rank for which no keys can be made.
    #[error("the rank cannot be reduced from {from} to {to}: {remedy}")]
    RankStep {
        /// The ciphertext's rank.
        from: usize,
        /// The rank asked for.
        to: usize,
        /// What to do.
        remedy: String,
    },
    /// No keys for the ciphertext's degree and rank.
    #[error("a ciphertext of degree and rank {shape} needs keys of that shape; the key set has: {available}")]
    NoRelativeKeys {
        /// Degree and rank of the ciphertext.
        shape: ModuleShape,
        /// The degrees and ranks that the key set has keys for.
        available: String,
    },
    /// A ciphertext above the highest level that is secure at the shape it is converted to.
    #[error(
        "{operation} to degree and rank {shape} is secure up to level {most}, the ciphertext is at level {level}: drop it to level {most} or below first"
    )]
    LevelTooHigh {
        /// The operation.
        operation: &'static str,
        /// Degree and rank of the result.
        shape: ModuleShape,
        /// The ciphertext's level.
        level: usize,
        /// The highest secure level at that shape.
        most: usize,
    },
    /// A conversion that the ciphertext does not allow.
    #[error("{operation}: {reason}")]
    Conversion {
        /// The operation.
        operation: &'static str,
        /// Why the ciphertext does not allow it, and what to do.
        reason: String,
    },
    /// No preset of the given name.
    #[error("there is no preset \"{name}\"; there are: {known}")]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The names of all presets.
        known: String,
    },
    /// Data with an entry that is not finite.
    #[error("the data has {} at index {}: only finite numbers can be encrypted", number(*value), place(*index, shape.as_deref()))]
    NotFinite {
        /// Flat index of the entry.
        index: usize,
        /// NaN or an infinity.
        value: f64,
        /// The shape of the data, if it is known.
        shape: Option<Vec<usize>>,
    },
    /// A function to be approximated that is not finite at a point of its domain.
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
        /// Bits that the modulus has room for.
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
    /// A sum without terms.
    #[error("{operation} has no terms, and its shape and level are those of its terms: give at least one")]
    NoTerms {
        /// The operation.
        operation: &'static str,
    },
    /// A step that earlier checks rule out: a bug of this library.
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
    /// An array that cannot be part of the given batch.
    #[error("array {index} of the batch: {error}")]
    InBatch {
        /// The array's index in the batch, from 0.
        index: usize,
        /// What is wrong with the array.
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
    /// A scale that leaves no room in the modulus, or is not a positive finite number.
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
        /// The ciphertext's level.
        level: usize,
    },
    /// Factors so small that rounding at their scale would lose them.
    #[error(
        "the largest factor, {largest:e}, has {bits:.1} bits at the scale 2^{log2_scale:.1} that it is rounded at, and would be lost: multiply the factors by a power of two and divide the decrypted result by it, choose a larger scale (`weight_scale` of a matrix), or take parameters with longer steps"
    )]
    FactorTooSmall {
        /// The largest magnitude of a factor.
        largest: f64,
        /// Bits of that factor at its scale.
        bits: f64,
        /// Binary logarithm of the factors' scale.
        log2_scale: f64,
    },
    /// Numbers that may be too large for the modulus, by their declared bound.
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
    /// Numbers that may be too large for a bootstrap, by their declared bound.
    #[error(
        "{operation} takes numbers of magnitude at most 1, and by the declared bound they may be as large as {bound:.3e}; above the lowest level of the application they are divided by a power of two on the way: bootstrap at a higher level, divide by a plain number before and multiply by it behind, or declare a smaller bound where they are smaller (`with_bound`)"
    )]
    BeyondRange {
        /// The operation.
        operation: &'static str,
        /// The bound on the numbers.
        bound: f64,
    },
    /// Numbers that may be outside the interval of a polynomial, by their declared bound.
    #[error(
        "by the declared bound numbers may be as large as {bound:.3e}, and the polynomial is made for those from {low} to {high}: give a domain from {} to {bound}, or declare a smaller bound where they are smaller (`with_bound`)", -bound
    )]
    OutsideDomain {
        /// The bound on the numbers.
        bound: f64,
        /// The lower end of the domain.
        low: f64,
        /// The upper end of the domain.
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
        /// Levels that the polynomial takes.
        depth: usize,
        /// The ciphertext's level.
        level: usize,
        /// The lowest level of results: where parameters bootstrap, the lowest level of the application.
        lowest: usize,
        /// The highest level of arrays ([`Params::fresh_level`](crate::Params::fresh_level)).
        highest: usize,
    },
    /// A drop to a level above the ciphertext's.
    #[error("cannot drop from level {from} to level {to}: levels only go down")]
    LevelUp {
        /// The ciphertext's level.
        from: usize,
        /// The level asked for.
        to: usize,
    },
    /// An evaluator without evaluation keys.
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
        /// The names of the first few keys.
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
    /// A device that is missing or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Objects of different parameters.
    #[error(
        "{what} was made for other parameters: {found} instead of {expected}; use objects of one parameter set"
    )]
    WrongParams {
        /// The object that does not fit.
        what: &'static str,
        /// Name and digest of the object's parameters.
        found: String,
        /// Name and digest of the parameters expected.
        expected: String,
    },
    /// A key of another secret.
    #[error(
        "{what} belongs to secret {found}, expected {expected}: it cannot be combined or decrypted with this one"
    )]
    WrongSecret {
        /// The object that does not fit.
        what: &'static str,
        /// The object's key id.
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
        /// Why the bodies must not share a mask here.
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
        /// Numbers in a row.
        columns: usize,
        /// Places for a row.
        places: usize,
    },
    /// Numbers that do not fit a polynomial of this degree.
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
    /// An argument out of range.
    #[error("{what} is {value}: {remedy}")]
    OutOfRange {
        /// The argument.
        what: &'static str,
        /// Its value.
        value: String,
        /// The range.
        remedy: String,
    },
    /// The receiver of the operation's reports cancelled it.
    #[error("stopped by the progress callback; nothing was changed")]
    Cancelled,
}

/// The message of a missing key.
fn missing(operation: Operation, shape: ModuleShape, held: &str) -> String {
    match operation {
        Operation::Multiply => {
            "multiplying ciphertexts needs a relinearisation key; the key set has none: ask for `relinearise` when making evaluation keys".to_owned()
        }
        Operation::Conjugate(SecretName::Main) => {
            "conjugation needs a key; the key set has none: ask for `conjugate` when making evaluation keys".to_owned()
        }
        Operation::Rotate { secret: SecretName::Main, steps } => {
            format!("rotation by {steps} needs a key; the key set has {held}: ask for it when making evaluation keys")
        }
        Operation::ReduceRank(to) => {
            let from = shape.rank;
            format!("a reduction from rank {from} to {to} needs a key; the key set has reductions to: {held}")
        }
        other => format!("to {other} at degree and rank {shape} needs a key; the key set has: {held}"),
    }
}

/// A number that is not finite, in the words of most languages.
fn number(value: f64) -> String {
    if value.is_nan() { "nan".to_owned() } else { value.to_string() }
}

/// The place of an entry with the flat index `index` in an array of shape `shape`.
pub(crate) fn place(index: usize, shape: Option<&[usize]>) -> String {
    match shape {
        Some([]) => "()".to_owned(),
        Some([.., columns]) if shape.is_some_and(|axes| axes.len() > 1) => {
            format!("({}, {})", index / columns, index % columns)
        }
        _ => index.to_string(),
    }
}

impl From<Cancelled> for CkksError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<FileError> for CkksError {
    fn from(error: FileError) -> Self {
        if matches!(error, FileError::Cancelled) { Self::Cancelled } else { Self::File(error) }
    }
}

impl CkksError {
    /// The same error of an array of shape `shape`, which tells the place of an entry in its axes.
    #[must_use]
    pub fn in_shape(self, axes: &[usize]) -> Self {
        match self {
            Self::NotFinite { index, value, shape: None } => {
                Self::NotFinite { index, value, shape: Some(axes.to_vec()) }
            }
            other => other,
        }
    }

    /// The error for a limit in the environment that is not a number.
    pub(crate) fn no_bytes(what: &'static str, value: String) -> Self {
        Self::OutOfRange { what, value, remedy: "give a whole number of bytes".to_owned() }
    }

    /// The kind of the error, stable across versions: language bindings map it to an exception, the command
    /// line to an exit code.
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
            | Self::MissingKey { .. }
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

/// The security estimate in words, rounded down, so that 127.97 does not read as 128.
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

/// The part of a remedy that asks for level `needed`; `highest` is the highest level of arrays.
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
    /// A file that cannot be read or used.
    WrongSecret,
    /// An error of the operating system.
    File,
    /// The operating system refused.
    Io,
    /// Random generation failed.
    Random,
    /// Stopped by the caller.
    Cancelled,
    /// Less free memory than needed.
    Memory,
    /// A device that is missing or failed.
    Device,
    /// A bug of this library.
    Internal,
}
