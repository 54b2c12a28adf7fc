//! The file format: header, metadata, sections, section table. Defines bytes and limits;
//! [`writer`](super::writer) and [`reader`](super::reader) implement the format.
//!
//! All numbers are little-endian; everything begins at a multiple of 64 bytes, and the gaps are zero:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | `CLATHRAT` |
//! | 8..12 | format version, 1 |
//! | 12..16 | kind, see [`FileKind`] |
//! | 16..24 | flags; bit 0: made under insecure parameters; the others are zero |
//! | 24..56 | digest of the parameters |
//! | 56..64 | metadata length in bytes |
//! | 64..72 | number of sections |
//! | 72..80 | length of the whole file in bytes |
//! | 80..96 | zero |
//! | 96..128 | BLAKE3 of bytes 0..96, the metadata with its padding, and the section table |
//! | 128.. | metadata: JSON in UTF-8, at least one byte, padded; see below |
//! | .. | the sections in the order of the table, each padded |
//! | last 64 * sections | the section table: per section name (16 bytes ASCII, zero-filled), offset, length, BLAKE3 of its bytes |
//!
//! The table is last so that a file is written in one pass; its position follows from the file's length.
//! Offsets are stored and must equal the offsets that the lengths imply, so sections cannot overlap, and no
//! bytes lie between them unnoticed.
//!
//! Metadata that begins with `{"parameters":"NAME"` names the parameter set; the remaining fields describe
//! the contents. The field is optional and only used in messages; the digest decides whether parameters fit.

use super::error::FileError;
use super::kind::FileKind;

/// The first eight bytes of each file.
pub const MAGIC: [u8; 8] = *b"CLATHRAT";
/// The format version written, and the newest read.
pub const FORMAT_VERSION: u32 = 1;
/// Bytes of the fixed header.
pub const HEADER_BYTES: usize = 128;
/// Alignment of metadata, sections and table: a cache line, and a 512-bit vector.
pub const SECTION_ALIGNMENT: usize = 64;
/// Bytes of one entry of the section table.
pub const TABLE_ENTRY_BYTES: usize = 64;
/// Maximum length of a section name.
pub const SECTION_NAME_BYTES: usize = 16;
/// Maximum length of the metadata: enough for descriptions; data belongs in sections.
pub const METADATA_LIMIT_BYTES: usize = 1 << 20;
/// Maximum number of sections: a table of 4 MiB.
pub const SECTION_LIMIT: usize = 1 << 16;

/// Header bytes that the header's checksum covers; the checksum follows them.
pub(super) const CHECKED_HEADER_BYTES: usize = 96;
/// Bytes that are read to learn the version.
pub(super) const VERSION_END: usize = 12;

const FLAG_INSECURE: u64 = 1;

/// The label of a file: kind and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLabel {
    /// The content.
    pub kind: FileKind,
    /// Name of the parameters; `None` if the file states none. Stored as the first field of the metadata.
    pub parameter_name: Option<String>,
    /// Digest of the parameters.
    pub parameter_digest: [u8; 32],
    /// Whether the parameters are insecure.
    pub insecure: bool,
}

/// The fixed header without its checksum.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub label: &'a FileLabel,
    pub metadata_bytes: u64,
    pub section_count: u64,
    pub total_bytes: u64,
}

impl Header<'_> {
    pub(super) fn encode(&self) -> [u8; CHECKED_HEADER_BYTES] {
        let mut bytes = [0; CHECKED_HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.label.kind as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&if self.label.insecure { FLAG_INSECURE } else { 0 }.to_le_bytes());
        bytes[24..56].copy_from_slice(&self.label.parameter_digest);
        bytes[56..64].copy_from_slice(&self.metadata_bytes.to_le_bytes());
        bytes[64..72].copy_from_slice(&self.section_count.to_le_bytes());
        bytes[72..80].copy_from_slice(&self.total_bytes.to_le_bytes());
        bytes
    }
}

/// The header's fields as read, not validated.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawHeader {
    kind: u32,
    flags: u64,
    parameter_digest: [u8; 32],
    pub metadata_bytes: u64,
    pub section_count: u64,
    pub total_bytes: u64,
    reserved: [u64; 2],
    pub checksum: [u8; 32],
}

impl RawHeader {
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Self {
        Self {
            kind: u32_at(bytes, 12),
            flags: u64_at(bytes, 16),
            parameter_digest: array_at(bytes, 24),
            metadata_bytes: u64_at(bytes, 56),
            section_count: u64_at(bytes, 64),
            total_bytes: u64_at(bytes, 72),
            reserved: [u64_at(bytes, 80), u64_at(bytes, 88)],
            checksum: array_at(bytes, CHECKED_HEADER_BYTES),
        }
    }

    /// The label, for a header with a valid checksum; `parameter_name` comes from the metadata.
    pub(super) fn label(&self, parameter_name: Option<String>) -> Result<FileLabel, FileError> {
        let Some(kind) = FileKind::from_number(self.kind) else {
            return Err(FileError::UnknownKind { found: self.kind, newest: FileKind::ALL.len() as u32 });
        };
        if self.flags & !FLAG_INSECURE != 0 {
            return Err(FileError::Malformed {
                what: "the flag word",
                found: self.flags,
                expected: self.flags & FLAG_INSECURE,
            });
        }
        if let Some(&found) = self.reserved.iter().find(|&&word| word != 0) {
            return Err(FileError::Malformed { what: "a reserved word of the header", found, expected: 0 });
        }
        let insecure = self.flags & FLAG_INSECURE != 0;
        Ok(FileLabel { kind, parameter_name, parameter_digest: self.parameter_digest, insecure })
    }
}

/// An entry of the section table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionInfo {
    pub(super) name: [u8; SECTION_NAME_BYTES],
    /// Offset of the section in the file.
    pub offset: u64,
    /// Length of the section in bytes.
    pub length: u64,
    /// BLAKE3 of the section's bytes.
    pub checksum: [u8; 32],
}

impl SectionInfo {
    /// The section's name.
    #[must_use]
    pub fn name(&self) -> &str {
        let end = self.name.iter().position(|&byte| byte == 0).unwrap_or(SECTION_NAME_BYTES);
        std::str::from_utf8(&self.name[..end]).unwrap_or("?")
    }

    pub(super) fn encode(&self) -> [u8; TABLE_ENTRY_BYTES] {
        let mut bytes = [0; TABLE_ENTRY_BYTES];
        bytes[0..16].copy_from_slice(&self.name);
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.length.to_le_bytes());
        bytes[32..64].copy_from_slice(&self.checksum);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Self {
        Self {
            name: array_at(bytes, 0),
            offset: u64_at(bytes, 16),
            length: u64_at(bytes, 24),
            checksum: array_at(bytes, 32),
        }
    }
}

/// A section name as stored in the table.
pub(super) fn encode_name(name: &str) -> Result<[u8; SECTION_NAME_BYTES], FileError> {
    let usable =
        (1..=SECTION_NAME_BYTES).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    if !usable {
        // Shortened, so that a long name does not make a long message.
        return Err(FileError::InvalidSectionName { name: name.chars().take(40).collect() });
    }
    let mut bytes = [0; SECTION_NAME_BYTES];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Ok(bytes)
}

/// Whether [`encode_name`] can give this stored name.
pub(super) fn name_is_valid(name: &[u8; SECTION_NAME_BYTES]) -> bool {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(SECTION_NAME_BYTES);
    end > 0 && name[..end].iter().all(u8::is_ascii_graphic) && name[end..].iter().all(|&byte| byte == 0)
}

/// The next multiple of [`SECTION_ALIGNMENT`]; `None` if it exceeds 64 bits.
pub(super) fn aligned(position: u64) -> Option<u64> {
    position.checked_next_multiple_of(SECTION_ALIGNMENT as u64)
}

fn array_at<const LEN: usize>(bytes: &[u8], start: usize) -> [u8; LEN] {
    let mut array = [0; LEN];
    array.copy_from_slice(&bytes[start..start + LEN]);
    array
}

pub(super) fn u32_at(bytes: &[u8], start: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, start))
}

fn u64_at(bytes: &[u8], start: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, start))
}
