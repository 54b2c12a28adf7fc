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

mod refusals;

pub use refusals::SAME_SECRET_REMEDY;

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
    /// An error of the lattice layer, of arithmetic, or of random generation.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// A file that cannot be read, written or used.
    #[error(transparent)]
    File(FileError),
    /// A device that is missing or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A parameter specification that cannot be used.
    #[error("parameters: {reason}")]
    InvalidParams {
        /// What is wrong and which value would be right.
        reason: String,
    },
    /// What correct parameters do not have, such as a temporary rank or a segment for bootstraps.
    #[error("{reason}")]
    Unsupported {
        /// What is missing, and which parameters would have it.
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
    /// An evaluator without evaluation keys.
    #[error(
        "{operation} needs evaluation keys: make them with the secret key and give them to the evaluator"
    )]
    NoKeys {
        /// The operation.
        operation: &'static str,
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
    /// No keys for the ciphertext's degree and rank.
    #[error("a ciphertext of degree and rank {shape} needs keys of that shape; the key set has: {available}")]
    NoRelativeKeys {
        /// Degree and rank of the ciphertext.
        shape: ModuleShape,
        /// The degrees and ranks that the key set has keys for.
        available: String,
    },
    /// Objects under another secret than the operation expects.
    #[error("{reason}")]
    WrongSecret {
        /// The secrets, and what to do.
        reason: String,
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
    /// Numbers that are too large, or may be by their declared bound: for a modulus, for a bootstrap, or for
    /// the domain of a polynomial.
    #[error("{reason}")]
    TooLarge {
        /// The numbers, the limit, and what to do.
        reason: String,
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
    /// An array without entries, or a sum without terms.
    #[error("{reason}")]
    Empty {
        /// What is empty.
        reason: String,
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
    /// An operand whose shape, layout or secret an operation cannot work on.
    #[error("{operation}: {reason}")]
    Unsuitable {
        /// The operation.
        operation: &'static str,
        /// Why the operand is unsuitable, and what to do.
        reason: String,
    },
    /// An array that cannot be part of the given batch.
    #[error("array {index} of the batch: {error}")]
    InBatch {
        /// The array's index in the batch, from 0.
        index: usize,
        /// What is wrong with the array.
        error: Box<CkksError>,
    },
    /// A symbol of a dry run where data is needed.
    #[error(
        "{operation} has a symbol for an operand: a dry run has levels and scales, no data; use symbols alone there, and ciphertexts elsewhere"
    )]
    Symbol {
        /// The operation.
        operation: &'static str,
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
    /// A level that does not suit the operation for another reason than [`CkksError::LevelTooLow`].
    #[error("{reason}")]
    Level {
        /// The levels, and what to do.
        reason: String,
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
    /// The receiver of the operation's reports cancelled it.
    #[error("stopped by the progress callback; nothing was changed")]
    Cancelled,
    /// A step that earlier checks rule out: a bug of this library.
    #[error("a bug in Clathrate, please report it: {operation} came to a step that its checks rule out")]
    Internal {
        /// The operation.
        operation: &'static str,
    },
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

impl From<ArithError> for CkksError {
    fn from(error: ArithError) -> Self {
        Self::Lattice(error.into())
    }
}

impl From<SamplingError> for CkksError {
    fn from(error: SamplingError) -> Self {
        Self::Lattice(error.into())
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
            Self::InvalidParams { .. } | Self::Unsupported { .. } | Self::TablesTooLarge { .. } => {
                ErrorKind::Params
            }
            Self::Insecure { .. } => ErrorKind::Security,
            Self::NotFinite { .. }
            | Self::TooLarge { .. }
            | Self::Empty { .. }
            | Self::OutOfRange { .. }
            | Self::Symbol { .. } => ErrorKind::Value,
            Self::Shape { .. } | Self::Encoding { .. } | Self::Unsuitable { .. } => ErrorKind::Shape,
            Self::ScaleMismatch { .. } | Self::ScaleOutOfRange { .. } => ErrorKind::Scale,
            Self::LevelTooLow { .. } | Self::Level { .. } => ErrorKind::Level,
            Self::NoKeys { .. }
            | Self::MissingKeys { .. }
            | Self::MissingKey { .. }
            | Self::NoRelativeKeys { .. } => ErrorKind::MissingKey,
            Self::WrongParams { .. } => ErrorKind::WrongParams,
            Self::WrongSecret { .. } => ErrorKind::WrongSecret,
            Self::File(error) => file_kind(error),
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
    /// Objects under another secret than the operation expects.
    WrongSecret,
    /// A file that cannot be read or used.
    File,
    /// An error of the operating system at a file.
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
