//! Reads the container of [`container`](super::container) in place, trusting nothing.
//!
//! Opening checks everything but the sections' own bytes; those are hashed when first asked for. Nothing is allocated by a length that
//! the file merely claims: each is compared with the bytes present first.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use clathrate_arith::mapped::{self, AlignedBytes, MappedFile};
use serde::de::DeserializeOwned;

use super::container::{
    CHECKED_HEADER_BYTES, FORMAT_VERSION, FileKind, FileLabel, HEADER_BYTES, MAGIC, METADATA_LIMIT_BYTES, RawHeader, SECTION_LIMIT,
    SectionInfo, TABLE_ENTRY_BYTES, VERSION_END, aligned, encode_name, name_is_valid, u32_at,
};
use super::error::FileError;

/// A checked container: its label, its metadata, and its sections on request.
#[derive(Debug)]
pub struct FileReader<'a> {
    backing: Backing<'a>,
    label: FileLabel,
    metadata: String,
    sections: Vec<SectionInfo>,
    /// Indices of `sections`, sorted by name.
    by_name: Vec<u32>,
    /// Which sections have already had their checksum compared.
    verified: Vec<AtomicBool>,
}

#[derive(Debug)]
enum Backing<'a> {
    Mapped(MappedFile),
    Memory(AlignedBytes),
    Borrowed(&'a [u8]),
}

impl Backing<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Memory(memory) => memory,
            Self::Borrowed(bytes) => bytes,
        }
    }
}

impl FileReader<'static> {
    /// Opens and maps the file at `path`; where it cannot be mapped, reads it.
    ///
    /// The caveat of [`MappedFile`] holds: the file must not be changed in place meanwhile (being replaced is harmless). For a file that
    /// others may write to, use [`FileReader::read`].
    ///
    /// # Errors
    /// `Io`, or what is wrong with the file; see [`FileReader::from_bytes`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let file = open_regular(path)?;
        match MappedFile::map(&file) {
            Ok(map) => Self::parse(Backing::Mapped(map)),
            Err(_) => Self::read_open(file, path),
        }
    }

    /// Reads the file at `path` into memory, which grows with the bytes actually read.
    ///
    /// # Errors
    /// As [`FileReader::open`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Self::read_open(open_regular(path)?, path)
    }

    fn read_open(mut file: File, path: &Path) -> Result<Self, FileError> {
        let memory = AlignedBytes::read_from(&mut file, u64::MAX).map_err(|source| FileError::io(path, "read", source))?;
        Self::parse(Backing::Memory(memory))
    }

    /// Reads a container from a pipe or another stream that ends after it, refusing more than `limit_bytes`.
    ///
    /// # Errors
    /// As [`FileReader::open`].
    pub fn from_stream(source: &mut dyn Read, limit_bytes: u64) -> Result<Self, FileError> {
        let memory = AlignedBytes::read_from(source, limit_bytes).map_err(|error| FileError::io(Path::new("(stream)"), "read", error))?;
        Self::parse(Backing::Memory(memory))
    }
}

impl<'a> FileReader<'a> {
    /// Reads a container in memory, in place.
    ///
    /// # Errors
    /// `NotAClathrateFile`, `FutureVersion`, `Truncated`, `TrailingBytes`, `TooLarge`, `HeaderCorrupted`, `Malformed`,
    /// `InvalidSectionName`, `DuplicateSection`, `SectionCorrupted`, `Metadata`: each for what its name says.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, FileError> {
        Self::parse(Backing::Borrowed(bytes))
    }

    fn parse(backing: Backing<'a>) -> Result<Self, FileError> {
        let bytes = backing.bytes();
        let total = bytes.len() as u64;
        let header = header_of(bytes)?;
        let raw = RawHeader::decode(&header);
        if total < raw.total_bytes {
            return Err(FileError::Truncated { expected: raw.total_bytes, found: total });
        }
        if total > raw.total_bytes {
            return Err(FileError::TrailingBytes { expected: raw.total_bytes, found: total });
        }
        let extent = Extent::of(&raw, total)?;
        // Copied before it is hashed: what is parsed below is what was checked, whatever happens to a mapped file meanwhile.
        let metadata = bytes[HEADER_BYTES..extent.metadata_end].to_vec();
        let sections: Vec<SectionInfo> = bytes[extent.table_start..].chunks_exact(TABLE_ENTRY_BYTES).map(SectionInfo::decode).collect();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&header[..CHECKED_HEADER_BYTES]);
        hasher.update(&metadata);
        hasher.update(&bytes[extent.metadata_end..extent.sections_start]);
        sections.iter().for_each(|section| {
            hasher.update(&section.encode());
        });
        if hasher.finalize() != blake3::Hash::from_bytes(raw.checksum) {
            return Err(FileError::HeaderCorrupted { reason: "its checksum does not fit" });
        }
        // From here on the header is as its writer meant it; what breaks the format now is no accident.
        let label = raw.label()?;
        let metadata = String::from_utf8(metadata).map_err(|error| FileError::Metadata { reason: error.to_string() })?;
        if bytes[extent.metadata_end..extent.sections_start].iter().any(|&byte| byte != 0) {
            return Err(FileError::Malformed { what: "a byte of padding after the metadata", found: 1, expected: 0 });
        }
        check_sections(&sections, bytes, &extent)?;
        let by_name = index_by_name(&sections)?;
        let verified = sections.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Self { backing, label, metadata, sections, by_name, verified })
    }

    /// What the file states about itself.
    #[must_use]
    pub fn label(&self) -> &FileLabel {
        &self.label
    }

    /// The length of the whole file in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.backing.bytes().len() as u64
    }

    /// The section table, in the order of the file.
    #[must_use]
    pub fn sections(&self) -> &[SectionInfo] {
        &self.sections
    }

    /// Refuses a file of another kind.
    ///
    /// # Errors
    /// `WrongKind`.
    pub fn expect_kind(&self, expected: FileKind) -> Result<(), FileError> {
        let found = self.label.kind;
        if found == expected { Ok(()) } else { Err(FileError::WrongKind { expected, found }) }
    }

    /// Refuses a file made under other parameters.
    ///
    /// # Errors
    /// `WrongParameters`.
    pub fn expect_digest(&self, expected: &[u8; 32]) -> Result<(), FileError> {
        let found = self.label.parameter_digest;
        if found == *expected { Ok(()) } else { Err(FileError::WrongParameters { expected: *expected, found }) }
    }

    /// The metadata as stored: JSON text.
    #[must_use]
    pub fn metadata_text(&self) -> &str {
        &self.metadata
    }

    /// The metadata as a `T`. Its numbers are claims of the file: compare them with the parameters before allocating by them.
    ///
    /// # Errors
    /// `Metadata` if it does not describe a `T`.
    pub fn metadata<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        serde_json::from_str(&self.metadata).map_err(|error| FileError::Metadata { reason: error.to_string() })
    }

    /// The section called `name`, its checksum compared (once per reader).
    ///
    /// # Errors
    /// `MissingSection`, `SectionCorrupted`.
    pub fn section(&self, name: &str) -> Result<Section<'_>, FileError> {
        let index = self.find(name)?;
        self.verify(index)?;
        Ok(Section { info: &self.sections[index], bytes: self.bytes_of(index) })
    }

    /// The words of section `name`, of which there must be `expected`.
    ///
    /// # Errors
    /// As [`FileReader::section`]; `SectionLength` for another number of words, before anything is read or allocated.
    pub fn words(&self, name: &str, expected: usize) -> Result<Cow<'_, [u64]>, FileError> {
        let index = self.find(name)?;
        let (found, expected) = (self.sections[index].length, (expected as u64).saturating_mul(8));
        if found != expected {
            return Err(FileError::SectionLength { name: name.to_owned(), expected, found });
        }
        self.verify(index)?;
        Section { info: &self.sections[index], bytes: self.bytes_of(index) }.words()
    }

    /// Compares the checksums of all sections.
    ///
    /// # Errors
    /// `SectionCorrupted` for the first that does not fit.
    pub fn verify_all(&self) -> Result<(), FileError> {
        (0..self.sections.len()).try_for_each(|index| self.verify(index))
    }

    fn find(&self, name: &str) -> Result<usize, FileError> {
        let missing = || FileError::MissingSection { name: name.to_owned(), count: self.sections.len() };
        let wanted = encode_name(name).map_err(|_| missing())?;
        let place = self.by_name.binary_search_by(|&index| self.sections[index as usize].name.cmp(&wanted)).map_err(|_| missing())?;
        Ok(self.by_name[place] as usize)
    }

    fn bytes_of(&self, index: usize) -> &[u8] {
        let SectionInfo { offset, length, .. } = self.sections[index];
        // Both were compared with the length in memory, so they fit usize.
        &self.backing.bytes()[offset as usize..(offset + length) as usize]
    }

    fn verify(&self, index: usize) -> Result<(), FileError> {
        if self.verified[index].load(Ordering::Relaxed) {
            return Ok(());
        }
        let section = &self.sections[index];
        if blake3::hash(self.bytes_of(index)) != blake3::Hash::from_bytes(section.checksum) {
            return Err(FileError::SectionCorrupted { name: section.name().to_owned(), reason: "its checksum does not fit" });
        }
        self.verified[index].store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// One section whose checksum has been compared.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    info: &'a SectionInfo,
    bytes: &'a [u8],
}

impl<'a> Section<'a> {
    /// Its line of the table.
    #[must_use]
    pub fn info(&self) -> &'a SectionInfo {
        self.info
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its words: in place where the memory allows (always for an opened file on a little-endian machine), else a copy.
    ///
    /// # Errors
    /// `NotWords` if it ends inside a word.
    pub fn words(&self) -> Result<Cow<'a, [u64]>, FileError> {
        if !self.bytes.len().is_multiple_of(8) {
            return Err(FileError::NotWords { name: self.info.name().to_owned(), bytes: self.bytes.len() as u64 });
        }
        Ok(match mapped::little_endian_words(self.bytes) {
            Ok(words) => Cow::Borrowed(words),
            Err(_) => Cow::Owned(words_in(self.bytes).collect()),
        })
    }

    /// Copies its words to `target`, which must have exactly their number.
    ///
    /// # Errors
    /// `SectionLength` otherwise.
    pub fn copy_words_into(&self, target: &mut [u64]) -> Result<(), FileError> {
        let (expected, found) = (8 * target.len() as u64, self.bytes.len() as u64);
        if expected != found {
            return Err(FileError::SectionLength { name: self.info.name().to_owned(), expected, found });
        }
        target.iter_mut().zip(words_in(self.bytes)).for_each(|(target, word)| *target = word);
        Ok(())
    }
}

fn words_in(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// Opens `path` for reading unless it is a folder, a pipe or a device: opening a pipe would wait for its writer.
fn open_regular(path: &Path) -> Result<File, FileError> {
    let about = std::fs::metadata(path).map_err(|source| FileError::io(path, "open", source))?;
    if about.is_dir() {
        return Err(FileError::io(path, "read", io::ErrorKind::IsADirectory.into()));
    }
    if !about.is_file() {
        return Err(FileError::io(path, "read", io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    File::open(path).map_err(|source| FileError::io(path, "open", source))
}

/// The header, once magic and version are ours.
fn header_of(bytes: &[u8]) -> Result<[u8; HEADER_BYTES], FileError> {
    let prefix = bytes.len().min(MAGIC.len());
    if bytes[..prefix] != MAGIC[..prefix] {
        return Err(FileError::NotAClathrateFile);
    }
    // The version comes before the length: another version may have another header.
    if bytes.len() >= VERSION_END {
        match u32_at(bytes, MAGIC.len()) {
            0 => return Err(FileError::HeaderCorrupted { reason: "format version 0 does not exist" }),
            FORMAT_VERSION => {}
            found => return Err(FileError::FutureVersion { found, supported: FORMAT_VERSION }),
        }
    }
    let truncated = FileError::Truncated { expected: HEADER_BYTES as u64, found: bytes.len() as u64 };
    bytes.first_chunk::<HEADER_BYTES>().copied().ok_or(truncated)
}

/// Where the parts lie, from the header's lengths; all within the bytes present.
struct Extent {
    metadata_end: usize,
    sections_start: usize,
    table_start: usize,
}

impl Extent {
    fn of(raw: &RawHeader, total: u64) -> Result<Self, FileError> {
        let limited = |what, value, limit: usize| {
            if value > limit as u64 { Err(FileError::TooLarge { what, value, limit: limit as u64 }) } else { Ok(()) }
        };
        limited("the metadata's length in bytes", raw.metadata_bytes, METADATA_LIMIT_BYTES)?;
        limited("the number of sections", raw.section_count, SECTION_LIMIT)?;
        // Below 2^21 and 2^23: no overflow.
        let metadata_end = HEADER_BYTES as u64 + raw.metadata_bytes;
        let sections_start = aligned(metadata_end).unwrap_or(u64::MAX);
        let table_bytes = raw.section_count * TABLE_ENTRY_BYTES as u64;
        let table_start = total.checked_sub(table_bytes).filter(|&start| start >= sections_start);
        let Some(table_start) = table_start else {
            return Err(FileError::HeaderCorrupted { reason: "metadata and section table do not fit the file's length" });
        };
        // At most `total`, which is the length of a slice.
        Ok(Self { metadata_end: metadata_end as usize, sections_start: sections_start as usize, table_start: table_start as usize })
    }
}

/// Checks names, and that the sections fill the space before the table exactly, gaps zero.
fn check_sections(sections: &[SectionInfo], bytes: &[u8], extent: &Extent) -> Result<(), FileError> {
    let table_start = extent.table_start as u64;
    let mut position = extent.sections_start as u64;
    for section in sections {
        if !name_is_valid(&section.name) {
            return Err(FileError::InvalidSectionName { name: String::from_utf8_lossy(&section.name).into_owned() });
        }
        if section.offset != position {
            return Err(FileError::Malformed { what: "a section's offset", found: section.offset, expected: position });
        }
        let room = table_start - position;
        if section.length > room {
            return Err(FileError::TooLarge { what: "a section's length in bytes", value: section.length, limit: room });
        }
        let end = position + section.length;
        let Some(next) = aligned(end).filter(|&next| next <= table_start) else {
            return Err(FileError::Malformed { what: "the end of the sections", found: end, expected: table_start });
        };
        if bytes[end as usize..next as usize].iter().any(|&byte| byte != 0) {
            let name = section.name().to_owned();
            return Err(FileError::SectionCorrupted { name, reason: "the padding after it is not zero" });
        }
        position = next;
    }
    if position != table_start {
        return Err(FileError::Malformed { what: "the end of the sections", found: position, expected: table_start });
    }
    Ok(())
}

fn index_by_name(sections: &[SectionInfo]) -> Result<Vec<u32>, FileError> {
    let mut by_name: Vec<u32> = (0..sections.len() as u32).collect();
    by_name.sort_unstable_by_key(|&index| sections[index as usize].name);
    for pair in by_name.windows(2) {
        let (first, second) = (&sections[pair[0] as usize], &sections[pair[1] as usize]);
        if first.name == second.name {
            return Err(FileError::DuplicateSection { name: first.name().to_owned() });
        }
    }
    Ok(by_name)
}
