//! Reads the container of [`container`](super::container), trusting nothing.
//!
//! Opening checks everything except the sections' bytes; a section is read and hashed on request. Every
//! length in the file is compared with the bytes present before anything is allocated.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clathrate_arith::mapped::{self, AlignedBytes, FileWords, MappedWords, TrustedMap};
use serde::de::DeserializeOwned;

use super::backing::{Backing, Bytes, OpenedFile, part};
use super::container::{
    CHECKED_HEADER_BYTES, FORMAT_VERSION, FileLabel, HEADER_BYTES, MAGIC, METADATA_LIMIT_BYTES, RawHeader,
    SECTION_LIMIT, SectionInfo, TABLE_ENTRY_BYTES, VERSION_END, aligned, encode_name, name_is_valid, u32_at,
};
use super::error::{FileError, ParameterId};
use super::kind::FileKind;
use super::metadata::Metadata;
use super::pieces;
use crate::progress::{Event, Progress};

/// Options for opening files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Maps the file into memory instead of copying its sections, and shares the pages with other processes.
    ///
    /// Requires the caller's promise that nothing changes the file meanwhile ([`TrustedMap::promised`], which
    /// is `unsafe`). A program that shortens a mapped file kills this process (SIGBUS on Unix) at the next
    /// access, and a program that writes to it changes bytes that were already checked.
    ///
    /// ```compile_fail,E0133
    /// # use clathrate_ckks::file::{OpenOptions, TrustedMap};
    /// let options = OpenOptions { trusted_map: Some(TrustedMap::promised()) };
    /// ```
    pub trusted_map: Option<TrustedMap>,
}

/// A checked container: its label, its metadata, and its sections on request.
#[derive(Debug)]
pub struct FileReader<'a> {
    backing: Backing<'a>,
    label: FileLabel,
    metadata: Metadata,
    sections: Vec<SectionInfo>,
    /// Indices of `sections`, sorted by name.
    by_name: Vec<u32>,
    /// For each section that cannot change, whether its checksum was compared.
    verified: Vec<AtomicBool>,
    progress: Progress,
    /// The path of an opened file.
    path: Option<PathBuf>,
}

impl FileReader<'static> {
    /// Opens the file at `path` and reads everything except the sections, which are copied into memory on
    /// request.
    ///
    /// If a program changes the file meanwhile, reading returns an error. (Replacing the file does not change
    /// it: the reader keeps the old one.)
    ///
    /// # Errors
    /// `Io`; those of [`FileReader::from_bytes`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::open_with(path, OpenOptions::default())
    }

    /// [`FileReader::open`] with `options`.
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, FileError> {
        let path = path.as_ref();
        let opened = OpenedFile::open(path)?;
        let reader = Self::parse(match options.trusted_map {
            Some(promise) => opened.mapped(promise),
            None => Backing::Opened(opened),
        })?;
        Ok(Self { path: Some(path.to_path_buf()), ..reader })
    }

    /// Reads a container from a pipe or another stream that ends after it. Reads at most the length in the
    /// header and one byte, and stops after the header if that length exceeds `limit_bytes`.
    ///
    /// # Errors
    /// `TooLarge` for the limit; those of [`FileReader::open`].
    pub fn from_stream(source: &mut dyn Read, limit_bytes: u64) -> Result<Self, FileError> {
        let failed = |error| FileError::io(Path::new("(stream)"), "read", error);
        let mut head = Vec::with_capacity(HEADER_BYTES);
        source.take(HEADER_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
        let stated = RawHeader::decode(&header_of(&head)?).total_bytes;
        if stated > limit_bytes {
            return Err(FileError::TooLarge {
                what: "the stream's length in bytes",
                value: stated,
                limit: limit_bytes,
            });
        }
        // A further byte would show that the stream does not end there.
        let mut whole = (&head[..]).chain(source).take(stated.saturating_add(1));
        let memory = AlignedBytes::read_from(&mut whole, u64::MAX).map_err(failed)?;
        Self::parse(Backing::Memory(memory))
    }
}

impl<'a> FileReader<'a> {
    /// Reads a container in memory, in place.
    ///
    /// # Errors
    /// `NotAClathrateFile`, `FutureVersion`, `Truncated`, `TrailingBytes`, `TooLarge`, `HeaderCorrupted`,
    /// `UnknownKind`, `Malformed`, `InvalidSectionName`, `DuplicateSection`, `SectionCorrupted`, `Metadata`.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, FileError> {
        Self::parse(Backing::Borrowed(bytes))
    }

    fn parse(backing: Backing<'a>) -> Result<Self, FileError> {
        let (total, silent) = (backing.length(), &Progress::none());
        let header = header_of(&backing.bytes(0..total.min(HEADER_BYTES as u64), silent)?)?;
        let raw = RawHeader::decode(&header);
        if total < raw.total_bytes {
            return Err(FileError::Truncated { expected: raw.total_bytes, found: total });
        }
        if total > raw.total_bytes {
            return Err(FileError::TrailingBytes { expected: raw.total_bytes, found: total });
        }
        let extent = Extent::of(&raw, total)?;
        // Copied before they are hashed, so that the parsed bytes are the checked ones even if the file
        // changes.
        let metadata = backing.bytes(HEADER_BYTES as u64..extent.metadata_end, silent)?.to_vec();
        let padding = backing.bytes(extent.metadata_end..extent.sections_start, silent)?.to_vec();
        let sections: Vec<SectionInfo> = backing
            .bytes(extent.table_start..total, silent)?
            .chunks_exact(TABLE_ENTRY_BYTES)
            .map(SectionInfo::decode)
            .collect();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&header[..CHECKED_HEADER_BYTES]);
        hasher.update(&metadata);
        hasher.update(&padding);
        sections.iter().for_each(|section| {
            hasher.update(&section.encode());
        });
        if hasher.finalize() != blake3::Hash::from_bytes(raw.checksum) {
            return Err(FileError::HeaderCorrupted { reason: "its checksum does not fit" });
        }
        // The writer made this header, so from here on violations of the format are no accident.
        let mut label = raw.label(None)?;
        let (metadata, parameter_name) = Metadata::parse(metadata)?;
        label.parameter_name = parameter_name;
        if let Some(&byte) = padding.iter().find(|&&byte| byte != 0) {
            return Err(FileError::Malformed {
                what: "a byte of padding after the metadata",
                found: u64::from(byte),
                expected: 0,
            });
        }
        check_sections(&sections, &backing, &extent)?;
        let by_name = index_by_name(&sections)?;
        let verified = sections.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Self {
            backing,
            label,
            metadata,
            sections,
            by_name,
            verified,
            progress: Progress::none(),
            path: None,
        })
    }

    /// The same reader, which reports the bytes of the sections that it reads to `progress`, at least once
    /// per mebibyte. If it is cancelled, reading a section fails with `Cancelled`.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// Reports 0 bytes, so that the receiver of progress can cancel a loop over data that was read.
    pub(crate) fn go_on(&self) -> Result<(), FileError> {
        Ok(self.progress.report(Event::Bytes(0))?)
    }

    fn hash_of(&self, bytes: &[u8]) -> Result<blake3::Hash, FileError> {
        pieces::hash(bytes, &self.progress).map_err(|_| FileError::Cancelled)
    }

    /// The path of the opened file; `None` for memory and streams.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The file's label.
    #[must_use]
    pub fn label(&self) -> &FileLabel {
        &self.label
    }

    /// The length of the file in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.backing.length()
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

    /// Refuses a file made under other parameters. Digests decide; names are for the message.
    ///
    /// # Errors
    /// `WrongParameters`.
    pub fn expect_parameters(&self, expected: &ParameterId) -> Result<(), FileError> {
        let FileLabel { parameter_digest: digest, parameter_name, .. } = &self.label;
        if *digest == expected.digest {
            return Ok(());
        }
        let found = ParameterId { name: parameter_name.clone(), digest: *digest };
        Err(FileError::WrongParameters { expected: expected.clone(), found })
    }

    /// The stored metadata: JSON text, including the name of the parameters.
    #[must_use]
    pub fn metadata_text(&self) -> &str {
        self.metadata.text()
    }

    /// The metadata as a `T`, without the name of the parameters, which is in [`FileReader::label`]. Its
    /// numbers are not trustworthy: compare them with the parameters before allocating.
    ///
    /// # Errors
    /// `Metadata` if the metadata do not describe a `T`.
    pub fn metadata<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        self.metadata.description()
    }

    /// Section `name`, with its checksum compared. Each call reads the section of an opened file again, into
    /// memory of its length.
    ///
    /// # Errors
    /// `MissingSection`, `SectionCorrupted`; for an opened file `Truncated` if it has become shorter, `Io`.
    pub fn section(&self, name: &str) -> Result<Section<'_>, FileError> {
        self.checked(self.find(name)?)
    }

    /// Section `name`, which must have `expected` bytes.
    ///
    /// # Errors
    /// `SectionLength` for another length, before anything is read or allocated; those of
    /// [`FileReader::section`].
    pub fn section_of_length(&self, name: &str, expected: u64) -> Result<Section<'_>, FileError> {
        let index = self.find(name)?;
        self.expect_length(index, expected)?;
        self.checked(index)
    }

    /// The `expected` words of section `name`.
    ///
    /// # Errors
    /// `SectionLength` for another number of words, before anything is read or allocated; those of
    /// [`FileReader::section`].
    pub fn words(&self, name: &str, expected: usize) -> Result<Cow<'_, [u64]>, FileError> {
        let index = self.find(name)?;
        self.expect_length(index, (expected as u64).saturating_mul(8))?;
        match self.backing.in_place() {
            Ok(all) => {
                self.verify(index)?;
                Ok(words_of(part(all, self.range(index))))
            }
            // Reads directly into words; reading bytes first would need twice the memory.
            Err(opened) => {
                let words = opened.words(self.range(index).start, expected, &self.progress, |hash| {
                    self.compare(index, hash)
                })?;
                Ok(Cow::Owned(words))
            }
        }
    }

    /// The words of [`FileReader::words`] in memory of their own, or in place for a mapped file, which then
    /// stays mapped as long as the words exist.
    ///
    /// # Errors
    /// `Io` if there is not enough memory; those of [`FileReader::words`].
    pub fn kept_words(&self, name: &str, expected: usize) -> Result<FileWords, FileError> {
        if let Backing::Mapped(file) = &self.backing {
            let index = self.find(name)?;
            self.expect_length(index, (expected as u64).saturating_mul(8))?;
            self.verify(index)?;
            let range = self.range(index);
            // Only a big-endian machine cannot use the words in place.
            if let Ok(words) = MappedWords::new(file, range.start as usize..range.end as usize) {
                return Ok(FileWords::Mapped(words));
            }
        }
        let words = self.words(name, expected)?;
        let refused = || FileError::io(Path::new("(memory)"), "read", std::io::ErrorKind::OutOfMemory.into());
        FileWords::copied_from(&words).ok_or_else(refused)
    }

    /// Compares the checksums of all sections, with little memory.
    ///
    /// # Errors
    /// `SectionCorrupted` for the first section that does not match; for an opened file `Truncated` if it has
    /// become shorter, `Io`.
    pub fn verify_all(&self) -> Result<(), FileError> {
        (0..self.sections.len()).try_for_each(|index| self.verify(index))
    }

    /// [`FileReader::verify_all`] for section `name`.
    ///
    /// # Errors
    /// `MissingSection`; those of [`FileReader::verify_all`].
    pub fn verify_section(&self, name: &str) -> Result<(), FileError> {
        self.verify(self.find(name)?)
    }

    fn find(&self, name: &str) -> Result<usize, FileError> {
        let missing = || FileError::MissingSection { name: name.to_owned(), count: self.sections.len() };
        let wanted = encode_name(name).map_err(|_| missing())?;
        let place = self
            .by_name
            .binary_search_by(|&index| self.sections[index as usize].name.cmp(&wanted))
            .map_err(|_| missing())?;
        Ok(self.by_name[place] as usize)
    }

    /// The byte range of a section, which is within the file, as was checked at opening.
    fn range(&self, index: usize) -> Range<u64> {
        let SectionInfo { offset, length, .. } = self.sections[index];
        offset..offset + length
    }

    fn expect_length(&self, index: usize, expected: u64) -> Result<(), FileError> {
        let section = &self.sections[index];
        if section.length == expected {
            return Ok(());
        }
        Err(FileError::SectionLength { name: section.name().to_owned(), expected, found: section.length })
    }

    fn compare(&self, index: usize, hash: blake3::Hash) -> Result<(), FileError> {
        let section = &self.sections[index];
        if hash != blake3::Hash::from_bytes(section.checksum) {
            return Err(FileError::SectionCorrupted {
                name: section.name().to_owned(),
                reason: "its checksum does not fit",
            });
        }
        Ok(())
    }

    fn verify(&self, index: usize) -> Result<(), FileError> {
        if self.verified[index].load(Ordering::Relaxed) {
            return Ok(());
        }
        self.compare(index, self.backing.hash(self.range(index), &self.progress)?)?;
        // An opened file may have other bytes at the next access.
        self.verified[index].store(self.backing.in_place().is_ok(), Ordering::Relaxed);
        Ok(())
    }

    fn checked(&self, index: usize) -> Result<Section<'_>, FileError> {
        let bytes = self.backing.bytes(self.range(index), &self.progress)?;
        match &bytes {
            Bytes::InPlace(_) => self.verify(index)?,
            Bytes::Copied(copy) => self.compare(index, self.hash_of(copy)?)?,
        }
        Ok(Section { info: &self.sections[index], bytes })
    }
}

/// A section with a verified checksum.
#[derive(Debug)]
pub struct Section<'a> {
    info: &'a SectionInfo,
    bytes: Bytes<'a>,
}

impl<'a> Section<'a> {
    /// The section's table entry.
    #[must_use]
    pub fn info(&self) -> &'a SectionInfo {
        self.info
    }

    /// The section's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The section's words: in place if alignment and byte order allow (always for a section of a file on a
    /// little-endian machine), else a copy.
    ///
    /// # Errors
    /// `NotWords` if the length is not a multiple of 8 bytes.
    pub fn words(&self) -> Result<Cow<'_, [u64]>, FileError> {
        if !self.bytes.len().is_multiple_of(8) {
            return Err(FileError::NotWords {
                name: self.info.name().to_owned(),
                bytes: self.bytes.len() as u64,
            });
        }
        Ok(words_of(&self.bytes))
    }

    /// Copies the section's words to `target`, which must have the same length.
    ///
    /// # Errors
    /// `SectionLength` if the lengths differ.
    pub fn copy_words_into(&self, target: &mut [u64]) -> Result<(), FileError> {
        let (expected, found) = (8 * target.len() as u64, self.bytes.len() as u64);
        if expected != found {
            return Err(FileError::SectionLength { name: self.info.name().to_owned(), expected, found });
        }
        target.iter_mut().zip(words_in(&self.bytes)).for_each(|(target, word)| *target = word);
        Ok(())
    }
}

/// Complete words, in place if possible.
fn words_of(bytes: &[u8]) -> Cow<'_, [u64]> {
    match mapped::little_endian_words(bytes) {
        Ok(words) => Cow::Borrowed(words),
        Err(_) => Cow::Owned(words_in(bytes).collect()),
    }
}

fn words_in(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// The header, if magic and version are supported.
fn header_of(bytes: &[u8]) -> Result<[u8; HEADER_BYTES], FileError> {
    let prefix = bytes.len().min(MAGIC.len());
    if bytes[..prefix] != MAGIC[..prefix] {
        return Err(FileError::NotAClathrateFile);
    }
    // The version is checked before the length, because another version may have another header.
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

/// The positions of the parts, from the header's lengths; all within the bytes present.
struct Extent {
    metadata_end: u64,
    sections_start: u64,
    table_start: u64,
}

impl Extent {
    fn of(raw: &RawHeader, total: u64) -> Result<Self, FileError> {
        let limited = |what, value, limit: usize| {
            if value > limit as u64 {
                Err(FileError::TooLarge { what, value, limit: limit as u64 })
            } else {
                Ok(())
            }
        };
        limited("the metadata's length in bytes", raw.metadata_bytes, METADATA_LIMIT_BYTES)?;
        limited("the number of sections", raw.section_count, SECTION_LIMIT)?;
        // The lengths are below 2^21 and 2^23, so nothing overflows.
        let metadata_end = HEADER_BYTES as u64 + raw.metadata_bytes;
        let sections_start = aligned(metadata_end).unwrap_or(u64::MAX);
        let table_bytes = raw.section_count * TABLE_ENTRY_BYTES as u64;
        let table_start = total.checked_sub(table_bytes).filter(|&start| start >= sections_start);
        let Some(table_start) = table_start else {
            return Err(FileError::HeaderCorrupted {
                reason: "metadata and section table do not fit the file's length",
            });
        };
        Ok(Self { metadata_end, sections_start, table_start })
    }
}

/// Checks names, and that the sections fill the space before the table exactly, with zero padding.
fn check_sections(sections: &[SectionInfo], backing: &Backing<'_>, extent: &Extent) -> Result<(), FileError> {
    let table_start = extent.table_start;
    let mut position = extent.sections_start;
    for section in sections {
        if !name_is_valid(&section.name) {
            return Err(FileError::InvalidSectionName {
                name: String::from_utf8_lossy(&section.name).into_owned(),
            });
        }
        if section.offset != position {
            return Err(FileError::Malformed {
                what: "a section's offset",
                found: section.offset,
                expected: position,
            });
        }
        let room = table_start - position;
        if section.length > room {
            return Err(FileError::TooLarge {
                what: "a section's length in bytes",
                value: section.length,
                limit: room,
            });
        }
        let end = position + section.length;
        let Some(next) = aligned(end).filter(|&next| next <= table_start) else {
            return Err(FileError::Malformed {
                what: "the end of the sections",
                found: end,
                expected: table_start,
            });
        };
        if end < next && backing.bytes(end..next, &Progress::none())?.iter().any(|&byte| byte != 0) {
            let name = section.name().to_owned();
            return Err(FileError::SectionCorrupted { name, reason: "the padding after it is not zero" });
        }
        position = next;
    }
    if position != table_start {
        return Err(FileError::Malformed {
            what: "the end of the sections",
            found: position,
            expected: table_start,
        });
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
