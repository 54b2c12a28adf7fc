//! A file being written: whole or not at all where it is a regular file, in one stream where it is a pipe or
//! a device.

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

/// What a new file may take the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaced {
    /// No file.
    Nothing,
    /// Any file that holds no secret key.
    ButSecretKeys,
    /// Any file.
    Anything,
}

/// A file that appears under its name when it is complete.
///
/// A regular file, or a name that nothing has yet, is written under a temporary name in the same folder and
/// renamed by [`commit`](OutputFile::commit): the name shows the old contents or the new, never a part.
/// Symbolic links are followed and stay. The file keeps the permission bits of the one that it replaces, and
/// its owner and group as far as the system allows; hard links, access control lists and extended attributes
/// are not carried over.
///
/// A pipe or a character device (`/dev/stdout`, `/dev/null`) stays what it is. The contents go to an unnamed
/// temporary file, or to memory if they are private, which the commit copies to the target; an error in the
/// middle leaves the target with a part.
///
/// Dropped without a commit, it leaves nothing behind. Killed, it leaves a `.clathrate-*.partial`, which the
/// next writer to the folder removes (on Linux, until the next restart).
#[derive(Debug)]
pub struct OutputFile {
    /// As the caller gave it, for messages.
    path: PathBuf,
    sink: Sink,
    /// The first bytes, which go to the file last.
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
    /// Waits in an unnamed temporary file, because it may be larger than memory.
    Spool { spool: File, stream: Stream },
    /// What only its owner may read waits in memory, because a disk keeps what was deleted.
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

/// At least `length` bytes, zero where there were none. A `Vec` that grows by itself would leave a copy
/// behind.
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
    /// from the folder what killed writers left there.
    ///
    /// # Errors
    /// `Io` if the folder cannot be written to, or `path` is a folder, a block device, a socket or a loop of
    /// links.
    pub fn create(path: impl AsRef<Path>, private: bool) -> Result<Self, FileError> {
        Self::begin(path.as_ref(), private, false)
    }

    /// As [`OutputFile::create`], where `replaced` allows what is there.
    ///
    /// # Errors
    /// As [`OutputFile::create`]; [`FileError::SecretKeyInTheWay`]; `Io` of the kind `AlreadyExists`, which
    /// the commit may give, too.
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
                // A new file gets what the umask leaves, as any other; one that replaces another gets its
                // final mode at the end.
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

    /// Begins what this process's standard output will get, in one stream. If `private`, nothing of it gets
    /// to a disk on its way.
    ///
    /// # Errors
    /// `Io` if there can be no temporary file.
    pub fn stdout(private: bool) -> Result<Self, FileError> {
        let path = PathBuf::from("(stdout)");
        let sink = Sink::stream(Stream::Stdout, private)
            .map_err(|source| FileError::io(&path, "create a temporary file for", source))?;
        Ok(Self { path, sink, head: [0; HEAD_BYTES], position: 0, length: 0 })
    }

    /// As it was named.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it goes to a pipe or a device, where what was written stays written, whatever fails later.
    pub const fn is_stream(&self) -> bool {
        !matches!(self.sink, Sink::Replace { .. })
    }

    /// Completes the file: waits until it is on disk and gives it its name, or copies it to the pipe or
    /// device. Its length in bytes.
    ///
    /// # Errors
    /// `Io` if the disk, the rename or the target fails. A regular file at the path is then as it was.
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

    /// Replaces the mark by the first bytes of the contents.
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
        // Within the head, the file waits where the head ends.
        self.sink.seek(wanted.max(HEAD_BYTES as u64))?;
        self.position = wanted;
        Ok(wanted)
    }
}

/// What `path` has now; an error if that must not be replaced by a rename.
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

/// Gives `file` owner, group and permission bits of `existing`, of which `private` leaves the owner's reading
/// and writing.
#[cfg(unix)]
fn keep_owner_and_mode(file: &File, existing: &Metadata, private: bool) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let mut mode = existing.mode() & if private { 0o600 } else { 0o777 };
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (existing.uid(), existing.gid()) {
        // The superuser can give files away; others can at most choose among their groups.
        let kept = fchown(file, Some(existing.uid()), Some(existing.gid()))
            .or_else(|_| fchown(file, None, Some(existing.gid())));
        if kept.is_err() {
            // The bits for the group were meant for another one: it gets what everybody has.
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

/// Makes the rename itself durable, where folders can be synchronised.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder).and_then(|handle| handle.sync_all()) {
        // Some network file systems cannot, and need not.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        // A folder that may be written to but not read; the rename has happened and its durability is the
        // system's.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

/// Whether the file at `path` begins like a secret key: even a damaged one may be the only copy.
#[must_use]
pub fn holds_secret_key(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut head = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[..8] == MAGIC && head[12..] == (FileKind::SecretKey as u32).to_le_bytes()
}
