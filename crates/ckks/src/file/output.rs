//! An output file: replaced atomically if it is a regular file, written as one stream if it is a pipe or a
//! device.

use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use super::container::MAGIC;
use super::error::FileError;
use super::kind::FileKind;
use super::partial::{self, HEAD_BYTES, MARK};
use super::target::{self, Stream, Target};

/// Bytes copied to a stream at a time.
const COPY_BYTES: usize = 64 * 1024;

/// Which files a new file may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// No file.
    Nothing,
    /// Any file except a secret key.
    ButSecretKeys,
    /// Any file.
    Anything,
}

/// A file that gets its name when it is complete.
///
/// A regular file, or a file that does not exist yet, is written under a temporary name in the same folder
/// and renamed by [`commit`](OutputFile::commit): the name always shows the complete old or new contents.
/// Symbolic links are followed and kept. The file keeps the permission bits of the replaced file, and its
/// owner and group if the system allows it; hard links, access control lists and extended attributes are
/// lost.
///
/// A pipe or a character device (`/dev/stdout`, `/dev/null`) is written to. The contents are collected in an
/// unnamed temporary file, or in memory if they are private, and copied to the target by the commit; an error
/// during the copy leaves the target with a part.
///
/// If it is dropped without a commit, nothing remains. A killed program leaves a `.clathrate-*.partial`,
/// which the next writer to the folder removes (on Linux, until the next restart).
#[derive(Debug)]
pub struct OutputFile {
    /// As the caller gave it, for messages.
    path: PathBuf,
    sink: Sink,
    /// The first bytes, which are written last.
    head: [u8; HEAD_BYTES],
    position: u64,
    length: u64,
}

#[derive(Debug)]
enum Sink {
    Replace {
        partial: NamedTempFile,
        target: PathBuf,
        existing: Option<Box<Metadata>>,
        private: bool,
        new: bool,
    },
    /// Collects the contents in an unnamed temporary file, because they may exceed memory.
    Spool { spool: File, stream: Stream },
    /// Collects private contents in memory, because a disk keeps deleted data.
    Private { waiting: Cursor<Zeroizing<Vec<u8>>>, stream: Stream },
}

impl Sink {
    fn stream(stream: Stream, private: bool) -> io::Result<Self> {
        let mut sink = if private {
            Self::Private { waiting: Cursor::default(), stream }
        } else {
            Self::Spool { spool: tempfile::tempfile()?, stream }
        };
        sink.write_all(&MARK).map(|()| sink)
    }

    fn seek(&mut self, position: u64) -> io::Result<()> {
        match self {
            Self::Replace { partial, .. } => partial.as_file_mut().seek(SeekFrom::Start(position)).map(drop),
            Self::Spool { spool, .. } => spool.seek(SeekFrom::Start(position)).map(drop),
            Self::Private { waiting, .. } => {
                waiting.set_position(position);
                Ok(())
            }
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        match self {
            Self::Replace { partial, .. } => partial.as_file_mut().set_len(length),
            Self::Spool { spool, .. } => spool.set_len(length),
            Self::Private { waiting, .. } => {
                waiting.get_mut().truncate(usize::try_from(length).unwrap_or(usize::MAX));
                Ok(())
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Replace { partial, .. } => partial.as_file_mut().write(bytes),
            Self::Spool { spool, .. } => spool.write(bytes),
            Self::Private { waiting, .. } => {
                let start = usize::try_from(waiting.position()).map_err(|_| io::ErrorKind::OutOfMemory)?;
                let end = start + bytes.len();
                lengthen(waiting.get_mut(), end);
                waiting.get_mut()[start..end].copy_from_slice(bytes);
                waiting.set_position(end as u64);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Replace { partial, .. } => partial.as_file_mut().flush(),
            Self::Spool { spool, .. } => spool.flush(),
            Self::Private { .. } => Ok(()),
        }
    }
}

/// Extends `bytes` with zeros to at least `length`. A growing `Vec` would leave copies of secrets in freed
/// memory.
fn lengthen(bytes: &mut Zeroizing<Vec<u8>>, length: usize) {
    if length > bytes.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(length.max(2 * bytes.capacity())));
        larger.extend_from_slice(bytes);
        *bytes = larger;
    }
    if length > bytes.len() {
        bytes.resize(length, 0);
    }
}

impl OutputFile {
    /// Begins a file that will appear at `path`. If `private`, only its owner can read it (on Unix). Removes
    /// partial files of killed writers from the folder.
    ///
    /// # Errors
    /// `Io` if the folder is not writable, or `path` is a folder, a block device, a socket or a loop of
    /// links.
    pub fn create(path: impl AsRef<Path>, private: bool) -> Result<Self, FileError> {
        Self::begin(path.as_ref(), private, false)
    }

    /// [`OutputFile::create`] that replaces only files that `replaced` allows.
    ///
    /// # Errors
    /// [`FileError::SecretKeyInTheWay`]; `Io` of the kind `AlreadyExists`, which the commit may return too.
    pub fn create_as(path: impl AsRef<Path>, private: bool, replaced: Replaced) -> Result<Self, FileError> {
        let path = path.as_ref();
        if replaced != Replaced::Anything && holds_secret_key(path) {
            return Err(FileError::SecretKeyInTheWay { path: path.to_path_buf() });
        }
        Self::begin(path, private, replaced == Replaced::Nothing)
    }

    fn begin(path: &Path, private: bool, new: bool) -> Result<Self, FileError> {
        let failed = |action| move |source| FileError::io(path, action, source);
        let sink = match target::resolve(path).map_err(failed("write"))? {
            Target::Replace { existing: Some(_), .. } if new => {
                return Err(failed("create")(io::ErrorKind::AlreadyExists.into()));
            }
            Target::Replace { path: target, existing } => {
                let folder = folder_of(&target);
                partial::remove_abandoned(folder);
                // A new file gets the mode that the umask gives; a file that replaces another gets its final
                // mode at the end.
                let mode = if private || existing.is_some() { 0o600 } else { 0o666 };
                let partial = partial::create(folder, mode).map_err(failed("create a file beside"))?;
                Sink::Replace { partial, target, existing: existing.map(Box::new), private, new }
            }
            Target::Stream(stream) => {
                Sink::stream(stream, private).map_err(failed("create a temporary file for"))?
            }
        };
        Ok(Self { path: path.to_path_buf(), sink, head: [0; HEAD_BYTES], position: 0, length: 0 })
    }

    /// Begins a stream to this process's standard output. If `private`, no part of it is written to a disk.
    ///
    /// # Errors
    /// `Io` if no temporary file can be made.
    pub fn stdout(private: bool) -> Result<Self, FileError> {
        let path = PathBuf::from("(stdout)");
        let sink = Sink::stream(Stream::Stdout, private)
            .map_err(|source| FileError::io(&path, "create a temporary file for", source))?;
        Ok(Self { path, sink, head: [0; HEAD_BYTES], position: 0, length: 0 })
    }

    /// The path as the caller gave it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the target is a pipe or a device, where written bytes remain after an error.
    pub const fn is_stream(&self) -> bool {
        !matches!(self.sink, Sink::Replace { .. })
    }

    /// Completes the file: flushes it to disk and renames it, or copies it to the pipe or device. Returns its
    /// length in bytes.
    ///
    /// # Errors
    /// `Io` if the disk, the rename or the target fails; a regular file at the path is then unchanged.
    pub fn commit(mut self) -> Result<u64, FileError> {
        self.put_head().map_err(|source| FileError::io(&self.path, "write", source))?;
        let Self { path, sink, length, .. } = self;
        let path = path.as_path();
        let failed = |action| move |source| FileError::io(path, action, source);
        match sink {
            Sink::Replace { partial, target, new: true, .. } => {
                partial.as_file().sync_all().map_err(failed("write to disk"))?;
                partial
                    .persist_noclobber(&target)
                    .map_err(|error| FileError::io(path, "create", error.error))?;
                sync_folder(folder_of(&target)).map_err(failed("write to disk the folder of"))?;
            }
            Sink::Replace { partial, target, existing, private, .. } => {
                if let Some(existing) =
                    regular_file(&target).map_err(failed("replace"))?.or(existing.map(|metadata| *metadata))
                {
                    keep_owner_and_mode(partial.as_file(), &existing, private)
                        .map_err(failed("set the permissions of"))?;
                }
                partial.as_file().sync_all().map_err(failed("write to disk"))?;
                partial.persist(&target).map_err(|error| FileError::io(path, "replace", error.error))?;
                sync_folder(folder_of(&target)).map_err(failed("write to disk the folder of"))?;
            }
            Sink::Spool { spool, stream } => {
                let mut open = stream.open().map_err(failed("open"))?;
                copy(spool, &mut open).map_err(failed("write"))?;
            }
            Sink::Private { waiting, stream } => {
                let mut open = stream.open().map_err(failed("open"))?;
                open.write_all(waiting.get_ref()).and_then(|()| open.flush()).map_err(failed("write"))?;
            }
        }
        Ok(length)
    }

    /// Replaces the mark with the first bytes of the contents.
    fn put_head(&mut self) -> io::Result<()> {
        let present = self.length.min(HEAD_BYTES as u64) as usize;
        self.sink.seek(0)?;
        self.sink.write_all(&self.head[..present])?;
        if present < HEAD_BYTES { self.sink.truncate(self.length) } else { Ok(()) }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = match usize::try_from(self.position) {
            Ok(start) if start < HEAD_BYTES => {
                let count = bytes.len().min(HEAD_BYTES - start);
                self.head[start..start + count].copy_from_slice(&bytes[..count]);
                count
            }
            _ => self.sink.write(bytes)?,
        };
        self.position += count as u64;
        self.length = self.length.max(self.position);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let wanted = match position {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.length.checked_add_signed(distance),
        };
        let wanted = wanted.ok_or(io::ErrorKind::InvalidInput)?;
        // While the position is in the head, the file is positioned at the end of the head.
        self.sink.seek(wanted.max(HEAD_BYTES as u64))?;
        self.position = wanted;
        Ok(wanted)
    }
}

/// The metadata of the file at `path`; an error if a rename must not replace it.
fn regular_file(path: &Path) -> io::Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(about) if about.is_file() => Ok(Some(about)),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it has become something else than a regular file meanwhile",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn copy(mut from: File, to: &mut File) -> io::Result<()> {
    from.seek(SeekFrom::Start(0))?;
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return to.flush(),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Gives `file` the owner, group and permission bits of `existing`; if `private`, only the owner's read and
/// write bits.
#[cfg(unix)]
fn keep_owner_and_mode(file: &File, existing: &Metadata, private: bool) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let mut mode = existing.mode() & if private { 0o600 } else { 0o777 };
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (existing.uid(), existing.gid()) {
        // The superuser can give files away; other users can only choose among their groups.
        let kept = fchown(file, Some(existing.uid()), Some(existing.gid()))
            .or_else(|_| fchown(file, None, Some(existing.gid())));
        if kept.is_err() {
            // The group bits were meant for another group: this group gets the bits of all others.
            mode = (mode & 0o707) | ((mode & 0o007) << 3);
        }
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_owner_and_mode(_file: &File, _existing: &Metadata, _private: bool) -> io::Result<()> {
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes the rename durable, if folders can be synchronised.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder).and_then(|handle| handle.sync_all()) {
        // Some network file systems cannot synchronise folders and need not.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        // The folder is writable but not readable; the rename has happened, and the system decides about its
        // durability.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

/// Whether the file at `path` begins like a secret key: a damaged key may be the only copy, too.
#[must_use]
pub fn holds_secret_key(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut head = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[..8] == MAGIC && head[12..] == (FileKind::SecretKey as u32).to_le_bytes()
}
