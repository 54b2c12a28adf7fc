//! The bytes of a container that is being read: in memory, in a mapping of a trusted file, or in the file.
//!
//! An opened file is copied part by part, when a part is needed. If another program shortens or changes the
//! file meanwhile, this causes an error; with a mapping, the access would fault and kill the process.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clathrate_arith::mapped::{self, AlignedBytes, MappedFile, TrustedMap};
use clathrate_arith::secrecy::clear_stack;
use zeroize::Zeroizing;

use super::error::FileError;
use super::pieces::{self, PIECE_BYTES};
use crate::progress::Progress;

/// Bytes copied at a time when a part is hashed but not kept.
const HASHED_PIECE_BYTES: u64 = 256 * 1024;

/// A container's bytes.
#[derive(Debug)]
pub(super) enum Backing<'a> {
    /// A mapping of the file, which the caller has promised that nothing changes.
    Mapped(Arc<MappedFile>),
    /// A copy of all bytes.
    Memory(AlignedBytes),
    /// The caller's memory.
    Borrowed(&'a [u8]),
    /// A file, copied part by part.
    Opened(OpenedFile),
}

/// A part of a container's bytes, in place or copied.
#[derive(Debug)]
pub(super) enum Bytes<'a> {
    InPlace(&'a [u8]),
    Copied(AlignedBytes),
}

impl Deref for Bytes<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Copied(bytes) => bytes,
        }
    }
}

impl Backing<'_> {
    /// All bytes, or the opened file that they must be read from.
    pub(super) fn in_place(&self) -> Result<&[u8], &OpenedFile> {
        match self {
            Self::Mapped(bytes) => Ok(bytes),
            Self::Memory(bytes) => Ok(bytes),
            Self::Borrowed(bytes) => Ok(bytes),
            Self::Opened(opened) => Err(opened),
        }
    }

    /// The number of bytes; of an opened file, at the time of opening.
    pub(super) fn length(&self) -> u64 {
        self.in_place().map_or_else(|opened| opened.length, |bytes| bytes.len() as u64)
    }

    /// The bytes of `range`, which is within the length.
    ///
    /// # Errors
    /// For opened files only: `Truncated` if the file has become shorter, `Io`.
    pub(super) fn bytes(&self, range: Range<u64>, progress: &Progress) -> Result<Bytes<'_>, FileError> {
        match self.in_place() {
            Ok(all) => Ok(Bytes::InPlace(part(all, range))),
            Err(opened) => Ok(Bytes::Copied(opened.bytes(range, progress)?)),
        }
    }

    /// BLAKE3 of the bytes of `range`. Of an opened file, at most 256 KiB are in memory at a time.
    pub(super) fn hash(&self, range: Range<u64>, progress: &Progress) -> Result<blake3::Hash, FileError> {
        match self.in_place() {
            Ok(all) => pieces::hash(part(all, range), progress)
                .map_err(|error| FileError::io(Path::new("(memory)"), "read", error)),
            Err(opened) => opened.hash(range, progress).map_err(|error| opened.failed(error)),
        }
    }
}

/// The bytes of `range`, which is within `bytes`.
pub(super) fn part(bytes: &[u8], range: Range<u64>) -> &[u8] {
    &bytes[range.start as usize..range.end as usize]
}

/// A regular file open for reading, with its length at the time of opening.
#[derive(Debug)]
pub(super) struct OpenedFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl OpenedFile {
    /// Opens `path` unless it is a folder, a pipe or a device.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let failed = |action, source| FileError::io(path, action, source);
        let usable = |about: &std::fs::Metadata| match (about.is_file(), about.is_dir()) {
            (true, _) => Ok(()),
            (_, true) => Err(failed("read", io::ErrorKind::IsADirectory.into())),
            _ => Err(failed("read", io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))),
        };
        // Checked before opening, since opening a pipe waits for its writer, and again for the opened file.
        usable(&std::fs::metadata(path).map_err(|source| failed("open", source))?)?;
        let file = File::open(path).map_err(|source| failed("open", source))?;
        let about = file.metadata().map_err(|source| failed("open", source))?;
        usable(&about)?;
        Ok(Self { file, path: path.to_path_buf(), length: about.len() })
    }

    /// The file as a mapping, or as an opened file if the system cannot map it.
    pub(super) fn mapped(self, promise: TrustedMap) -> Backing<'static> {
        match MappedFile::map(&self.file, promise) {
            Ok(map) => Backing::Mapped(Arc::new(map)),
            Err(_) => Backing::Opened(self),
        }
    }

    fn bytes(&self, range: Range<u64>, progress: &Progress) -> Result<AlignedBytes, FileError> {
        let length = usize::try_from(range.end - range.start)
            .map_err(|_| self.failed(io::ErrorKind::OutOfMemory.into()))?;
        AlignedBytes::filled(length, |target| self.fill_by_pieces(target, range.start, progress))
            .map_err(|error| self.failed(error))
    }

    fn hash(&self, range: Range<u64>, progress: &Progress) -> io::Result<blake3::Hash> {
        // The hashed bytes may be a secret key.
        let mut hasher = Zeroizing::new(blake3::Hasher::new());
        let mut start = range.start;
        let mut piece = Zeroizing::new(vec![0; (range.end - start).min(HASHED_PIECE_BYTES) as usize]);
        while start < range.end {
            let end = range.end.min(start + HASHED_PIECE_BYTES);
            pieces::report(progress, (end - start) as usize)?;
            let piece = &mut piece[..(end - start) as usize];
            self.fill(piece, start)?;
            hasher.update(piece);
            start = end;
        }
        let hash = hasher.finalize();
        clear_stack();
        Ok(hash)
    }

    /// The words at `offset`. `check` receives the hash of their bytes and may refuse it.
    ///
    /// # Errors
    /// Those of [`Backing::bytes`] and of `check`.
    pub(super) fn words(
        &self,
        offset: u64,
        count: usize,
        progress: &Progress,
        check: impl FnOnce(blake3::Hash) -> Result<(), FileError>,
    ) -> Result<Vec<u64>, FileError> {
        let (mut hasher, mut position) = (blake3::Hasher::new(), offset);
        let words = mapped::words_filled(count, |target| {
            pieces::report(progress, target.len())?;
            self.fill(target, position)?;
            position += target.len() as u64;
            hasher.update(target);
            Ok(())
        });
        let words = words.map_err(|error| self.failed(error))?;
        check(hasher.finalize())?;
        Ok(words)
    }

    fn fill_by_pieces(&self, target: &mut [u8], offset: u64, progress: &Progress) -> io::Result<()> {
        target.chunks_mut(PIECE_BYTES).zip((offset..).step_by(PIECE_BYTES)).try_for_each(|(piece, offset)| {
            pieces::report(progress, piece.len())?;
            self.fill(piece, offset)
        })
    }

    #[cfg(unix)]
    fn fill(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, target, offset)
    }

    #[cfg(windows)]
    fn fill(&self, mut target: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !target.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.file, target, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    target = &mut target[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The error of a failed read: an early end means that the file has become shorter.
    fn failed(&self, source: io::Error) -> FileError {
        if source.kind() == io::ErrorKind::UnexpectedEof {
            let found = self.file.metadata().map_or(0, |about| about.len());
            return FileError::Truncated { expected: self.length, found };
        }
        FileError::io(&self.path, "read", source)
    }
}
