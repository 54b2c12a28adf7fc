//! Writes the container of [`container`](super::container) to a file or to memory, in one pass.

use std::collections::HashSet;
use std::io::{self, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clathrate_arith::mapped;
use serde::Serialize;

use super::container::{
    FileLabel, HEADER_BYTES, Header, SECTION_ALIGNMENT, SECTION_LIMIT, SECTION_NAME_BYTES, SectionInfo,
    TABLE_ENTRY_BYTES, aligned, encode_name,
};
use super::error::FileError;
use super::metadata;
use super::output::OutputFile;
use super::pieces::{self, PIECE_BYTES};
use crate::progress::Progress;

/// Bytes collected before a streamed section is hashed and written.
const STREAM_BUFFER_BYTES: usize = 64 * 1024;

/// A file in memory.
pub type MemoryFile = Cursor<Vec<u8>>;

/// Writes one container: `create` or `in_memory`, then sections, then `finish`.
///
/// If it is dropped before `finish`, or after an error, nothing remains.
#[derive(Debug)]
pub struct FileWriter<W: Write + Seek = OutputFile> {
    target: W,
    /// The final path, for messages; a placeholder for memory.
    path: PathBuf,
    label: FileLabel,
    metadata: Vec<u8>,
    sections: Vec<SectionInfo>,
    names: HashSet<[u8; SECTION_NAME_BYTES]>,
    position: u64,
    failed: bool,
    progress: Progress,
}

impl FileWriter<OutputFile> {
    /// Begins a file that replaces `path` when it is finished; see [`OutputFile`].
    ///
    /// Only the owner can read a file of a private kind
    /// ([`FileKind::is_private`](super::FileKind::is_private)) (on Unix).
    ///
    /// # Errors
    /// Those of [`OutputFile::create`]; `Metadata` or `TooLarge` if the metadata cannot be stored.
    pub fn create(
        path: impl AsRef<Path>,
        label: FileLabel,
        metadata: &impl Serialize,
    ) -> Result<Self, FileError> {
        let target = OutputFile::create(path, label.kind.is_private())?;
        Self::create_in(target, label, metadata)
    }

    /// [`FileWriter::create`] in an output file that has begun.
    ///
    /// # Errors
    /// `Metadata` or `TooLarge` if the metadata cannot be stored.
    pub fn create_in(
        target: OutputFile,
        label: FileLabel,
        metadata: &impl Serialize,
    ) -> Result<Self, FileError> {
        let metadata = metadata::encode(metadata, label.parameter_name.as_deref())?;
        let path = target.path().to_path_buf();
        Self::begin(target, path, label, metadata)
    }

    /// Whether the target is a pipe or a device ([`OutputFile::is_stream`]).
    pub const fn is_stream(&self) -> bool {
        self.target.is_stream()
    }

    /// Completes the file and returns its length in bytes.
    ///
    /// # Errors
    /// `WriterFailed` after an earlier error; those of [`OutputFile::commit`].
    pub fn finish(mut self) -> Result<u64, FileError> {
        let total = self.complete()?;
        let committed = self.target.commit()?;
        debug_assert_eq!(committed, total);
        Ok(total)
    }
}

impl FileWriter<MemoryFile> {
    /// Begins a container in memory, with the same bytes as [`FileWriter::create`].
    ///
    /// # Errors
    /// `Metadata` or `TooLarge` if the metadata cannot be stored.
    pub fn in_memory(label: FileLabel, metadata: &impl Serialize) -> Result<Self, FileError> {
        let metadata = metadata::encode(metadata, label.parameter_name.as_deref())?;
        Self::begin(Cursor::new(Vec::new()), PathBuf::from("(memory)"), label, metadata)
    }

    /// Completes the container and returns its bytes.
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
        let mut writer = Self {
            target,
            path,
            label,
            metadata,
            sections: Vec::new(),
            names: HashSet::new(),
            position: 0,
            failed: false,
            progress: Progress::none(),
        };
        // Zeros in place of the header: the file gets its magic only in `complete`.
        writer.put(&[0; HEADER_BYTES])?;
        let metadata = std::mem::take(&mut writer.metadata);
        writer.put(&metadata)?;
        writer.metadata = metadata;
        writer.pad()?;
        Ok(writer)
    }

    /// The same writer, which reports its bytes to `progress`, at least once per mebibyte. If it is
    /// cancelled, adding a section fails with `Cancelled`, and the writer cannot be used any more.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// Adds a section of bytes.
    ///
    /// # Errors
    /// `InvalidSectionName`, `DuplicateSection` or `TooLarge` (too many sections), after which the writer is
    /// usable; `Io` and `WriterFailed`, after which it is not.
    pub fn add_section(&mut self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let name = self.claim(name)?;
        let offset = self.position;
        self.put(bytes)?;
        let checksum = pieces::hash(bytes, &self.progress).map_err(|source| {
            self.failed = true;
            FileError::io(&self.path, "write", source)
        })?;
        self.close_section(name, offset, checksum.into())
    }

    /// Adds a section of little-endian words.
    pub fn add_words(&mut self, name: &str, words: &[u64]) -> Result<(), FileError> {
        match mapped::little_endian_bytes(words) {
            Some(bytes) => self.add_section(name, bytes),
            None => self.write_section(name, 8 * words.len() as u64, |target| {
                words.iter().try_for_each(|word| target.write_all(&word.to_le_bytes()))
            }),
        }
    }

    /// Adds a section of exactly `length` bytes that `produce` writes in pieces.
    ///
    /// # Errors
    /// `SectionLength` if `produce` writes more or fewer bytes; `Io` with the error of `produce`; those of
    /// [`FileWriter::add_section`]. The writer is not usable after any error of `produce`.
    pub fn write_section(
        &mut self,
        name: &str,
        length: u64,
        mut produce: impl FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let encoded = self.claim(name)?;
        let offset = self.position;
        // An early return before the section is closed leaves the writer unusable.
        self.failed = true;
        let mut stream = HashingWriter {
            target: &mut self.target,
            hasher: blake3::Hasher::new(),
            written: 0,
            room: length,
            progress: &self.progress,
        };
        let outcome = {
            let mut buffered = BufWriter::with_capacity(STREAM_BUFFER_BYTES, &mut stream);
            let produced = produce(&mut buffered).and_then(|()| buffered.flush());
            // `into_parts` instead of a drop, which would try to write the rest again.
            drop(buffered.into_parts());
            produced
        };
        let (checksum, written, overrun) =
            (stream.hasher.finalize().into(), stream.written, stream.room < stream.written);
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

    fn close_section(
        &mut self,
        name: [u8; SECTION_NAME_BYTES],
        offset: u64,
        checksum: [u8; 32],
    ) -> Result<(), FileError> {
        self.sections.push(SectionInfo { name, offset, length: self.position - offset, checksum });
        self.pad()
    }

    /// Appends the table and writes the header; returns the container's length.
    fn complete(&mut self) -> Result<u64, FileError> {
        if self.failed {
            return Err(FileError::WriterFailed);
        }
        let table: Vec<u8> = self.sections.iter().flat_map(SectionInfo::encode).collect();
        debug_assert_eq!(table.len(), self.sections.len() * TABLE_ENTRY_BYTES);
        self.put(&table)?;
        let header = Header {
            label: &self.label,
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
        let mut pieces = bytes.chunks(PIECE_BYTES);
        let written = pieces.try_for_each(|piece| {
            pieces::report(&self.progress, piece.len()).and_then(|()| self.target.write_all(piece))
        });
        if let Err(source) = written {
            self.failed = true;
            return Err(FileError::io(&self.path, "write", source));
        }
        self.position += bytes.len() as u64;
        Ok(())
    }
}

/// Forwards, hashes and counts bytes, and refuses more than announced.
struct HashingWriter<'a, W: Write> {
    target: &'a mut W,
    hasher: blake3::Hasher,
    written: u64,
    room: u64,
    progress: &'a Progress,
}

impl<W: Write> Write for HashingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.room.saturating_sub(self.written) {
            self.written += bytes.len() as u64;
            return Err(io::Error::other("the section is longer than announced"));
        }
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        pieces::report(self.progress, piece.len())?;
        let count = self.target.write(piece)?;
        self.hasher.update(&bytes[..count]);
        self.written += count as u64;
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

/// The zeros between `position` and the next multiple of the alignment.
fn padding_after(position: u64) -> Vec<u8> {
    let end = aligned(position).unwrap_or(position);
    debug_assert!(end - position < SECTION_ALIGNMENT as u64);
    vec![0; (end - position) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::FileKind;

    /// Memory that stops accepting bytes, like a full disk.
    #[derive(Debug)]
    struct FullDisk {
        memory: MemoryFile,
        room: usize,
    }

    impl Write for FullDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = self.memory.write(&bytes[..bytes.len().min(self.room)])?;
            self.room -= count;
            Ok(count)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for FullDisk {
        fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
            self.memory.seek(position)
        }
    }

    fn write_until_full(room: usize) -> (Result<(), FileError>, Vec<u8>) {
        let label = FileLabel {
            kind: FileKind::Plan,
            parameter_name: None,
            parameter_digest: [0; 32],
            insecure: false,
        };
        let target = FullDisk { memory: Cursor::new(Vec::new()), room };
        let mut writer = match FileWriter::begin(target, PathBuf::from("full"), label, b"{}".to_vec()) {
            Ok(writer) => writer,
            Err(error) => return (Err(error), Vec::new()),
        };
        let outcome = writer
            .add_section("first", &[1; 100])
            .and_then(|()| writer.write_section("second", 100, |target| target.write_all(&[2; 100])))
            .and_then(|()| writer.complete().map(drop));
        if outcome.is_err() {
            // Later calls are refused: nothing can make the file look complete.
            assert!(writer.add_section("third", &[]).is_err());
            assert!(writer.complete().is_err());
        }
        (outcome, writer.target.memory.into_inner())
    }

    #[test]
    fn disk_that_fills_up_at_any_byte_is_an_error_and_no_file() {
        // 128 header, 64 metadata, 2 x 128 sections, 2 x 64 table; then the header again.
        let total = 128 + 64 + 256 + 128;
        for room in 0..total + 128 {
            let (outcome, memory) = write_until_full(room);
            assert!(matches!(outcome, Err(FileError::Io { .. })), "room {room}: {outcome:?}");
            assert!(crate::file::FileReader::from_bytes(&memory).is_err(), "room {room}");
        }
        let (outcome, memory) = write_until_full(total + 128);
        assert!(outcome.is_ok() && memory.len() == total);
        assert!(crate::file::FileReader::from_bytes(&memory).is_ok_and(|reader| reader.verify_all().is_ok()));
    }
}
