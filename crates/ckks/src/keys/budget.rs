//! Counts how many results a secret key may still share, in the key's file.
//!
//! Flooding noise is dimensioned for a number of shared results ([`super::share`]), so these must be counted.
//! The count belongs to the secret, not to a program: a key that has a file counts in it, under a lock, so
//! that all programs and threads that use the file count together. The whole file is rewritten before
//! anything is decrypted: a program that ends in between has spent a query and revealed nothing.
//!
//! Copies of the file, its backups among them, cannot be counted: each copy has the whole count.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::CkksError;
use crate::file::{FileError, FileKind, FileReader, FileWriter};
use crate::key_id::KeyId;

/// Attempts to lock the file; each attempt only fails if another program replaced it in between.
const LOCK_ATTEMPTS: usize = 1000;

/// How many results a key may share in total, and how many of them are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// Number of results in total, for which flooding noise is dimensioned.
    pub budget: u64,
    /// Number of results that may still be shared.
    pub left: u64,
}

impl Shares {
    /// The count after one more shared result.
    fn spent(self) -> Result<Self, CkksError> {
        let refused = || {
            let remedy = format!(
                "its budget of {} is spent, and noise hides no more than these: make a new secret key",
                self.budget
            );
            CkksError::OutOfRange {
                what: "the number of results that this key may still share",
                value: "0".to_owned(),
                remedy,
            }
        };
        Ok(Self { left: self.left.checked_sub(1).ok_or_else(refused)?, ..self })
    }
}

/// Metadata of a secret key's file, which contain no secret.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretKeyMetadata {
    pub(crate) key_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shares: Option<Shares>,
}

/// Where the count is stored.
#[derive(Debug)]
enum Place {
    /// In memory, because the key has no file yet.
    Memory,
    /// In the key's file.
    File(PathBuf),
    /// In the stream or memory that the key was read from, which cannot be written to.
    Stream,
}

#[derive(Debug)]
struct State {
    shares: Shares,
    place: Place,
}

/// The count of a key, which all copies of the key in this program share.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Mutex<State>>);

impl Budget {
    fn at(shares: Shares, place: Place) -> Self {
        Self(Arc::new(Mutex::new(State { shares, place })))
    }

    /// The count of a key that has no file yet.
    pub(super) fn of(results: u64) -> Self {
        Self::at(Shares { budget: results, left: results }, Place::Memory)
    }

    /// The count of a key that `reader` has read.
    ///
    /// # Errors
    /// `Metadata` if more results are left than the budget has.
    pub(crate) fn of_file(shares: Shares, reader: &FileReader<'_>) -> Result<Self, FileError> {
        check(shares)?;
        let place =
            reader.path().and_then(|path| path.canonicalize().ok()).map_or(Place::Stream, Place::File);
        Ok(Self::at(shares, place))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The count in the key's file if this file can be read; otherwise the last known count.
    pub(crate) fn shares(&self, id: KeyId) -> Shares {
        let mut state = self.state();
        if let Place::File(path) = &state.place
            && let Ok((_, _, shares)) = read(path, id)
        {
            state.shares = shares;
        }
        state.shares
    }

    /// Counts one shared result.
    pub(super) fn record(&self, id: KeyId) -> Result<(), CkksError> {
        let mut state = self.state();
        state.shares = match &state.place {
            Place::Memory => state.shares.spent()?,
            Place::File(path) => locked(path, || {
                let (reader, metadata, shares) = read(path, id)?;
                let shares = shares.spent()?;
                write(path, &reader, &SecretKeyMetadata { shares: Some(shares), ..metadata })?;
                Ok::<_, CkksError>(shares)
            })?,
            Place::Stream => {
                return Err(CkksError::OutOfRange {
                    what: "the place where the shared results of this key are counted",
                    value: "a stream or memory that the key was read from".to_owned(),
                    remedy: "load the key from its file, where the count can be written".to_owned(),
                });
            }
        };
        Ok(())
    }

    /// Stores the key at `path` with `store`, which receives the count. A key without a file counts in this
    /// file from then on; for a key that already has a file, the new file is a copy.
    ///
    /// # Errors
    /// Those of `store`.
    pub(crate) fn stored(
        &self,
        path: &Path,
        id: KeyId,
        store: impl FnOnce(Shares) -> Result<u64, FileError>,
    ) -> Result<u64, FileError> {
        let mut state = self.state();
        let counted = if let Place::File(counted) = &state.place { Some(counted.clone()) } else { None };
        let Some(counted) = counted.filter(|counted| counted.exists()) else {
            // The file may have been renamed, and other programs may have counted in it.
            if let Ok((_, _, there)) = read(path, id) {
                state.shares.left = state.shares.left.min(there.left);
            }
            let bytes = store(state.shares)?;
            if let Some(path) = path.canonicalize().ok().filter(|path| path.is_file()) {
                state.place = Place::File(path);
            }
            return Ok(bytes);
        };
        // Other programs may have counted in the file since this key knew its count.
        let known = state.shares;
        locked(&counted, || {
            let shares = read(&counted, id).map_or(known, |(_, _, shares)| shares);
            Ok((store(shares)?, shares))
        })
        .map(|(bytes, shares)| {
            state.shares = shares;
            bytes
        })
    }
}

fn check(shares: Shares) -> Result<(), FileError> {
    if shares.left <= shares.budget {
        return Ok(());
    }
    let reason = format!("{} shared results are left of {}", shares.left, shares.budget);
    Err(FileError::Metadata { reason })
}

/// Opens the file of the key with this id; returns its reader, its metadata and its count.
fn read(path: &Path, id: KeyId) -> Result<(FileReader<'static>, SecretKeyMetadata, Shares), CkksError> {
    let reader = FileReader::open(path)?;
    reader.expect_kind(FileKind::SecretKey)?;
    let metadata: SecretKeyMetadata = reader.metadata()?;
    let wanted: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
    if metadata.key_id != wanted {
        let (found, expected) = (metadata.key_id.chars().take(12).collect::<String>(), id);
        return Err(CkksError::wrong_secret(
            "the key in the file that counts shared results",
            found,
            expected,
        ));
    }
    let missing = || FileError::Metadata {
        reason: format!("{} has no budget of shared results any more", path.display()),
    };
    let shares = metadata.shares.ok_or_else(missing)?;
    check(shares)?;
    Ok((reader, metadata, shares))
}

/// Replaces the file at `path` by a file with the same sections and the given metadata.
fn write(path: &Path, reader: &FileReader<'_>, metadata: &SecretKeyMetadata) -> Result<(), FileError> {
    let mut writer = FileWriter::create(path, reader.label().clone(), metadata)?;
    for section in reader.sections() {
        writer.add_section(section.name(), reader.section(section.name())?.bytes())?;
    }
    writer.finish().map(drop)
}

/// Does `work` under an exclusive lock on the file at `path`.
fn locked<T, E: From<FileError>>(path: &Path, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let failed = |source| FileError::io(path, "count shared results in", source);
    for _ in 0..LOCK_ATTEMPTS {
        // The file is opened for writing, although it is replaced as a whole, so that a read-only file is
        // refused and stays as it is.
        let file = File::options().read(true).write(true).open(path).map_err(failed)?;
        file.lock().map_err(failed)?;
        // The previous holder of the lock may have replaced the file, so that this lock is on the old one.
        if is_one(&file.metadata().map_err(failed)?, &std::fs::metadata(path).map_err(failed)?) {
            return work();
        }
    }
    Err(failed(io::ErrorKind::ResourceBusy.into()).into())
}

#[cfg(unix)]
fn is_one(open: &Metadata, named: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

#[cfg(not(unix))]
fn is_one(_open: &Metadata, _named: &Metadata) -> bool {
    // On other systems an open file cannot be replaced.
    true
}
