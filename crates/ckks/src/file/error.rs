//! Errors of files; each states the numbers and the remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use clathrate_arith::text::counted;
use thiserror::Error;

use super::kind::FileKind;
use crate::progress::Cancelled;

/// Errors of reading and writing files.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file does not begin with the magic bytes.
    #[error("not a Clathrate file: it does not begin with the bytes `CLATHRAT`; check the path")]
    NotAClathrateFile,
    /// The file's format version is newer than this program's.
    #[error(
        "the file has format version {found}, but this program reads versions up to {supported}: upgrade Clathrate"
    )]
    FutureVersion {
        /// The file's version.
        found: u32,
        /// The newest version that this program reads.
        supported: u32,
    },
    /// The file ends early.
    #[error("the file is truncated: it should have {} but has {found}; copy or write it again", counted(*expected, "byte"))]
    Truncated {
        /// The length that the header states, or that a header needs.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// The file has bytes after its end.
    #[error("the file has {} after its end ({found} instead of {expected}); copy or write it again", counted(found - expected, "byte"))]
    TrailingBytes {
        /// The length that the header states.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// Header, metadata or section table do not match the header's checksum.
    #[error("the file's header is corrupted ({reason}); copy or write it again")]
    HeaderCorrupted {
        /// Which part did not match.
        reason: &'static str,
    },
    /// A section does not match its checksum in the table.
    #[error("section `{name}` is corrupted ({reason}); copy or write the file again")]
    SectionCorrupted {
        /// The section.
        name: String,
        /// Which part did not match.
        reason: &'static str,
    },
    /// A header with a valid checksum that violates the format: the program that wrote it is faulty or
    /// hostile.
    #[error(
        "the file breaks the format: {what} is {found}, expected {expected}; write it again with Clathrate"
    )]
    Malformed {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The value that the format requires.
        expected: u64,
    },
    /// A kind number that this program does not know.
    #[error("the file's kind number is {found}, but this program knows 1 to {newest}: upgrade Clathrate")]
    UnknownKind {
        /// The number.
        found: u32,
        /// The largest number that this program knows.
        newest: u32,
    },
    /// A file of another kind than the one asked for.
    #[error("the file holds {found}, expected {expected}: pass the right file")]
    WrongKind {
        /// The kind asked for.
        expected: FileKind,
        /// The kind found.
        found: FileKind,
    },
    /// A file made under other parameters.
    #[error(
        "the file was made for parameters {found}, these are {expected}: use the parameters it was made with{}",
        same_name(found, expected)
    )]
    WrongParameters {
        /// The parameters in use.
        expected: ParameterId,
        /// The parameters that the file states.
        found: ParameterId,
    },
    /// A size above the format's limit.
    #[error("{what} is {value}, above the limit of {limit}: the file is corrupted, or must be split")]
    TooLarge {
        /// What was measured.
        what: &'static str,
        /// Its size.
        value: u64,
        /// The maximum.
        limit: u64,
    },
    /// A section that the reader needs is absent.
    #[error("the file has no section `{name}`, but {}: it was written for something else", counted(*count, "other"))]
    MissingSection {
        /// The section.
        name: String,
        /// Number of sections in the file.
        count: usize,
    },
    /// Two sections with the same name.
    #[error("section `{name}` appears twice: names must differ")]
    DuplicateSection {
        /// The name.
        name: String,
    },
    /// A section name that the format does not allow.
    #[error("section name `{name}` is not usable: use 1 to 16 printable ASCII characters without spaces")]
    InvalidSectionName {
        /// The name.
        name: String,
    },
    /// A section whose length is not the expected or announced one.
    #[error("section `{name}` has {}, expected {expected}", counted(*found, "byte"))]
    SectionLength {
        /// The section.
        name: String,
        /// Bytes expected.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// A section that is read as words, but whose length is not a multiple of 8 bytes.
    #[error("section `{name}` has {}, not a whole number of 8-byte words", counted(*bytes, "byte"))]
    NotWords {
        /// The section.
        name: String,
        /// The section's length.
        bytes: u64,
    },
    /// Metadata that cannot be written, or that do not describe the expected content.
    #[error("the file's metadata cannot be used: {reason}")]
    Metadata {
        /// The parser's message.
        reason: String,
    },
    /// A number of residues that does not match degree and moduli.
    #[error("expected {} ({} of {degree}), found {found}", counted(*expected, "residue"), counted(*rows, "row"))]
    ResidueCount {
        /// Rows * degree.
        expected: u64,
        /// Rows, one per modulus.
        rows: usize,
        /// The ring degree.
        degree: usize,
        /// Words given.
        found: u64,
    },
    /// A residue that is not below its modulus.
    #[error(
        "residue {value} in row {row}, column {column} is not below its modulus {modulus}: the data was not made by Clathrate"
    )]
    ResidueTooLarge {
        /// The row, counted from 0.
        row: usize,
        /// The column, counted from 0.
        column: usize,
        /// The residue.
        value: u64,
        /// The row's modulus.
        modulus: u64,
    },
    /// A writer that is used after an error.
    #[error("an earlier section could not be written, so the file was not finished: handle that error first")]
    WriterFailed,
    /// A secret key that would be overwritten.
    #[error("{} holds a secret key, which may be the only copy: write to another name, or replace it on purpose", path.display())]
    SecretKeyInTheWay {
        /// The key's file.
        path: PathBuf,
    },
    /// An error of the operating system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The file that was read or was to be written.
        path: PathBuf,
        /// The failed action, as in "cannot ... the file".
        action: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The receiver of progress reports cancelled the reading or writing.
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for FileError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl FileError {
    /// The error for an operating system's error at `path` during `action`, a verb such as "read".
    #[must_use]
    pub fn io(path: &Path, action: &'static str, source: io::Error) -> Self {
        if source.get_ref().is_some_and(|inner| inner.is::<Cancelled>()) {
            return Self::Cancelled;
        }
        Self::Io { path: path.to_path_buf(), action, source }
    }
}

/// Maximum number of characters of a parameter set's name in messages.
const NAME_LIMIT: usize = 64;

/// A parameter set in messages: its name, which need not be unique, and its digest, which is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterId {
    /// The name, if it is known.
    pub name: Option<String>,
    /// The digest.
    pub digest: [u8; 32],
}

impl fmt::Display for ParameterId {
    /// `"n14" (digest 0123456789abcdef)`. Escapes control characters of the name, because it may come from a
    /// file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = short_hex(&self.digest);
        let Some(name) = &self.name else { return write!(f, "without a name (digest {digest})") };
        let shown: String = name.chars().take(NAME_LIMIT).collect();
        let cut = if shown.len() < name.len() { "..." } else { "" };
        write!(f, "{shown:?}{cut} (digest {digest})")
    }
}

/// The part of the message for a file whose parameters have the same name but another digest.
fn same_name(found: &ParameterId, expected: &ParameterId) -> &'static str {
    if found.name.is_none() || found.name != expected.name {
        return "";
    }
    ", at the same degree and rank; a file of this name that an earlier version of Clathrate wrote has to be made again with this one, because earlier digests \
     could stand for two parameter sets"
}

/// The first eight bytes of a digest in hexadecimal, enough to tell two parameter sets apart.
#[must_use]
pub fn short_hex(digest: &[u8; 32]) -> String {
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
