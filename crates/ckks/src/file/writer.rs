//! Writes the container of [`container`](super::container), to a file or to memory, in one pass.
//!
//! A file is written under a temporary name in the same folder and renamed when complete: its final name shows the old contents or the
//! new, never a part.

use std::collections::HashSet;
use std::io::{self, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clathrate_arith::mapped;
use serde::Serialize;
use tempfile::NamedTempFile;

use super::container::{
    FileKind, FileLabel, HEADER_BYTES, Header, METADATA_LIMIT_BYTES, SECTION_ALIGNMENT, SECTION_LIMIT, SECTION_NAME_BYTES, SectionInfo,
    TABLE_ENTRY_BYTES, aligned, encode_name,
};
use super::error::FileError;

/// Bytes gathered before a streamed section is hashed and written.
const STREAM_BUFFER_BYTES: usize = 64 * 1024;

/// A file under a temporary name, to be renamed when it is complete.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: NamedTempFile,
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.as_file_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.temporary.as_file_mut().seek(position)
    }
}

/// Memory that is written like a file.
pub type MemoryFile = Cursor<Vec<u8>>;

/// Writes one container: `create` or `in_memory`, then sections, then `finish`.
///
/// Dropped before `finish`, or after an error, it leaves nothing behind.
#[derive(Debug)]
pub struct FileWriter<W: Write + Seek = AtomicFile> {
    target: W,
    /// The final name, for messages and for the rename; a placeholder in memory.
    path: PathBuf,
    label: FileLabel,
    metadata: Vec<u8>,
    sections: Vec<SectionInfo>,
    names: HashSet<[u8; SECTION_NAME_BYTES]>,
    position: u64,
    failed: bool,
}

impl FileWriter<AtomicFile> {
    /// Begins a file that will appear as `path` when finished, replacing what is there.
    ///
    /// A [`FileKind::SecretKey`] is readable by its owner only (on Unix).
    ///
    /// # Errors
    /// `Io` if the folder cannot be written to or `path` is a folder; `Metadata` or `TooLarge` if the metadata cannot be stored.
    pub fn create(path: impl AsRef<Path>, label: FileLabel, metadata: &impl Serialize) -> Result<Self, FileError> {
        let path = path.as_ref();
        let metadata = encode_metadata(metadata)?;
        if path.is_dir() {
            return Err(FileError::io(path, "write", io::ErrorKind::IsADirectory.into()));
        }
        if path.file_name().is_none() {
            return Err(FileError::io(path, "write", io::ErrorKind::InvalidInput.into()));
        }
        let temporary = temporary_beside(path, label.kind).map_err(|source| FileError::io(path, "create a file beside", source))?;
        Self::begin(AtomicFile { temporary }, path.to_path_buf(), label, metadata)
    }

    /// Completes the file, waits until it is on disk and gives it its name; its length in bytes.
    ///
    /// # Errors
    /// `WriterFailed` after an earlier error; `Io` if the disk or the rename fails. The file at the path is then as it was.
    pub fn finish(mut self) -> Result<u64, FileError> {
        let total = self.complete()?;
        let Self { target, path, .. } = self;
        target.temporary.as_file().sync_all().map_err(|source| FileError::io(&path, "write to disk", source))?;
        target.temporary.persist(&path).map_err(|failure| FileError::io(&path, "replace", failure.error))?;
        sync_folder(folder_of(&path)).map_err(|source| FileError::io(&path, "write to disk the folder of", source))?;
        Ok(total)
    }
}

impl FileWriter<MemoryFile> {
    /// Begins a container in memory, byte for byte what [`FileWriter::create`] would write.
    ///
    /// # Errors
    /// `Metadata` or `TooLarge` if the metadata cannot be stored.
    pub fn in_memory(label: FileLabel, metadata: &impl Serialize) -> Result<Self, FileError> {
        let metadata = encode_metadata(metadata)?;
        Self::begin(Cursor::new(Vec::new()), PathBuf::from("(memory)"), label, metadata)
    }

    /// Completes the container; its bytes.
    ///
    /// # Errors
    /// `WriterFailed` after an earlier error.
    pub fn finish(mut self) -> Result<Vec<u8>, FileError> {
        self.complete()?;
        Ok(self.target.into_inner())
    }
}

impl<W: Write + Seek> FileWriter<W> {
    fn begin(target: W, path: PathBuf, label: FileLabel, metadata: Vec<u8>) -> Result<Self, FileError> {
        let mut writer = Self { target, path, label, metadata, sections: Vec::new(), names: HashSet::new(), position: 0, failed: false };
        // Zeros hold the header's place: until `complete`, the file does not even have its magic.
        writer.put(&[0; HEADER_BYTES])?;
        let metadata = std::mem::take(&mut writer.metadata);
        writer.put(&metadata)?;
        writer.metadata = metadata;
        writer.pad()?;
        Ok(writer)
    }

    /// Adds a section of bytes.
    ///
    /// # Errors
    /// `InvalidSectionName`, `DuplicateSection` or `TooLarge` (too many sections), after which the writer can go on; `Io` and
    /// `WriterFailed`, after which it cannot.
    pub fn add_section(&mut self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let name = self.claim(name)?;
        let offset = self.position;
        self.put(bytes)?;
        self.close_section(name, offset, blake3::hash(bytes).into())
    }

    /// Adds a section of words, little-endian.
    ///
    /// # Errors
    /// As [`FileWriter::add_section`].
    pub fn add_words(&mut self, name: &str, words: &[u64]) -> Result<(), FileError> {
        match mapped::little_endian_bytes(words) {
            Some(bytes) => self.add_section(name, bytes),
            None => self.write_section(name, 8 * words.len() as u64, |target| {
                words.iter().try_for_each(|word| target.write_all(&word.to_le_bytes()))
            }),
        }
    }

    /// Adds a section of exactly `length` bytes that `produce` writes piece by piece.
    ///
    /// # Errors
    /// As [`FileWriter::add_section`]; `SectionLength` if `produce` writes more or fewer bytes; `Io` with the error of `produce`. The
    /// writer cannot go on after any error of `produce`.
    pub fn write_section(
        &mut self,
        name: &str,
        length: u64,
        mut produce: impl FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let encoded = self.claim(name)?;
        let offset = self.position;
        // Until the section is closed below, an early return leaves the writer refused.
        self.failed = true;
        let mut stream = HashingWriter { target: &mut self.target, hasher: blake3::Hasher::new(), written: 0, room: length };
        let outcome = {
            let mut buffered = BufWriter::with_capacity(STREAM_BUFFER_BYTES, &mut stream);
            let produced = produce(&mut buffered).and_then(|()| buffered.flush());
            // Taken apart, not dropped: a drop would try to write what is left once more.
            drop(buffered.into_parts());
            produced
        };
        let (checksum, written, overrun) = (stream.hasher.finalize().into(), stream.written, stream.room < stream.written);
        if overrun || (outcome.is_ok() && written != length) {
            return Err(FileError::SectionLength { name: name.to_owned(), expected: length, found: written });
        }
        outcome.map_err(|source| FileError::io(&self.path, "write", source))?;
        self.failed = false;
        self.position += length;
        self.close_section(encoded, offset, checksum)
    }

    /// Checks that a section of this name can be added, and reserves the name.
    fn claim(&mut self, name: &str) -> Result<[u8; SECTION_NAME_BYTES], FileError> {
        if self.failed {
            return Err(FileError::WriterFailed);
        }
        let encoded = encode_name(name)?;
        if self.sections.len() == SECTION_LIMIT {
            let (value, limit) = (SECTION_LIMIT as u64 + 1, SECTION_LIMIT as u64);
            return Err(FileError::TooLarge { what: "the number of sections", value, limit });
        }
        if !self.names.insert(encoded) {
            return Err(FileError::DuplicateSection { name: name.to_owned() });
        }
        Ok(encoded)
    }

    fn close_section(&mut self, name: [u8; SECTION_NAME_BYTES], offset: u64, checksum: [u8; 32]) -> Result<(), FileError> {
        self.sections.push(SectionInfo { name, offset, length: self.position - offset, checksum });
        self.pad()
    }

    /// Appends the table, then puts the header in its place; the container's length.
    fn complete(&mut self) -> Result<u64, FileError> {
        if self.failed {
            return Err(FileError::WriterFailed);
        }
        let table: Vec<u8> = self.sections.iter().flat_map(SectionInfo::encode).collect();
        debug_assert_eq!(table.len(), self.sections.len() * TABLE_ENTRY_BYTES);
        self.put(&table)?;
        let header = Header {
            label: self.label,
            metadata_bytes: self.metadata.len() as u64,
            section_count: self.sections.len() as u64,
            total_bytes: self.position,
        }
        .encode();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&header);
        hasher.update(&self.metadata);
        hasher.update(&padding_after(self.metadata.len() as u64));
        hasher.update(&table);
        let checksum = hasher.finalize();
        let total = self.position;
        self.target.seek(SeekFrom::Start(0)).map_err(|source| FileError::io(&self.path, "write", source))?;
        self.put(&header)?;
        self.put(checksum.as_bytes())?;
        self.target.flush().map_err(|source| FileError::io(&self.path, "write", source))?;
        Ok(total)
    }

    fn pad(&mut self) -> Result<(), FileError> {
        self.put(&padding_after(self.position))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        if let Err(source) = self.target.write_all(bytes) {
            self.failed = true;
            return Err(FileError::io(&self.path, "write", source));
        }
        self.position += bytes.len() as u64;
        Ok(())
    }
}

/// Passes bytes on, hashes and counts them, and refuses more than announced.
struct HashingWriter<'a, W: Write> {
    target: &'a mut W,
    hasher: blake3::Hasher,
    written: u64,
    room: u64,
}

impl<W: Write> Write for HashingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.room.saturating_sub(self.written) {
            self.written += bytes.len() as u64;
            return Err(io::Error::other("the section is longer than announced"));
        }
        let count = self.target.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.written += count as u64;
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

fn encode_metadata(metadata: &impl Serialize) -> Result<Vec<u8>, FileError> {
    let text = serde_json::to_vec(metadata).map_err(|error| FileError::Metadata { reason: error.to_string() })?;
    if text.len() > METADATA_LIMIT_BYTES {
        let (value, limit) = (text.len() as u64, METADATA_LIMIT_BYTES as u64);
        return Err(FileError::TooLarge { what: "the metadata's length in bytes", value, limit });
    }
    Ok(text)
}

/// The zeros between `position` and the next multiple of the alignment.
fn padding_after(position: u64) -> Vec<u8> {
    let end = aligned(position).unwrap_or(position);
    debug_assert!(end - position < SECTION_ALIGNMENT as u64);
    vec![0; (end - position) as usize]
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn temporary_beside(path: &Path, kind: FileKind) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".clathrate-").suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What the umask leaves of the usual mode, as for any other file; nothing for others where the contents are secret.
        let mode = if kind == FileKind::SecretKey { 0o600 } else { 0o666 };
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = kind;
    builder.tempfile_in(folder_of(path))
}

/// Makes the rename itself durable, where folders can be synchronised.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match std::fs::File::open(folder).and_then(|handle| handle.sync_all()) {
        // Some network file systems cannot, and need not.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        // A folder that may be written to but not read; the rename has happened and its durability is the system's.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}
