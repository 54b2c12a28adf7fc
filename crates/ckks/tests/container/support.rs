//! A stored value to try things on, and containers assembled by hand.

use std::fs;
use std::io::{Seek, Write};
use std::path::Path;

use clathrate_ckks::file::{
    FileError, FileKind, FileLabel, FileReader, FileWriter, OpenOptions, ParameterId, Stored, TrustedMap,
};
use serde::{Deserialize, Serialize};

pub const MEBIBYTE: usize = 1 << 20;
pub const DIGEST: [u8; 32] = *b"0123456789abcdef0123456789abcdef";

// SAFETY: the files are in folders of the tests', which do not write to what they have mapped, but for a
// process that is to be killed by it (`shrinking`).
pub const TRUSTED: OpenOptions = OpenOptions { trusted_map: Some(unsafe { TrustedMap::promised() }) };

pub fn label(kind: FileKind) -> FileLabel {
    FileLabel { kind, parameter_name: None, parameter_digest: DIGEST, insecure: true }
}

pub fn named(name: &str) -> ParameterId {
    ParameterId { name: Some(name.to_owned()), digest: DIGEST }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    pub rows: usize,
    pub level: u32,
    pub scale: f64,
}

/// A stand-in for a ciphertext: named parameters, metadata, words, and bytes of an odd length.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub shape: Shape,
    pub words: Vec<u64>,
    pub seed: Vec<u8>,
}

impl Sample {
    pub fn small() -> Self {
        // The scale is one that a careless decimal parser reads back one unit off.
        let shape = Shape { rows: 2, level: 3, scale: 1.1e21 / 3.0 };
        Self { shape, words: vec![0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 5], seed: b"thirteen byte".to_vec() }
    }

    pub fn read(reader: &FileReader<'_>) -> Result<Self, FileError> {
        reader.expect_kind(FileKind::Ciphertext)?;
        reader.expect_parameters(&named("any"))?;
        let shape = reader.metadata()?;
        Ok(Self {
            shape,
            words: reader.words("words", 5)?.into_owned(),
            seed: reader.section("seed")?.bytes().to_vec(),
        })
    }
}

impl Stored for Sample {
    type Metadata = Shape;
    fn file_label(&self) -> FileLabel {
        FileLabel { parameter_name: Some("sample".to_owned()), ..label(FileKind::Ciphertext) }
    }
    fn file_metadata(&self) -> Shape {
        self.shape.clone()
    }
    fn write_sections<W: Write + Seek>(&self, writer: &mut FileWriter<W>) -> Result<(), FileError> {
        writer.add_words("words", &self.words)?;
        writer.add_section("empty", &[])?;
        writer.write_section("seed", self.seed.len() as u64, |target| target.write_all(&self.seed))
    }
}

/// A container assembled by hand; the fields say what the header claims.
#[derive(Clone)]
pub struct ByHand {
    pub version: u32,
    pub kind: u32,
    pub flags: u64,
    pub metadata: Vec<u8>,
    pub metadata_bytes: Option<u64>,
    pub section_count: Option<u64>,
    pub total_bytes: Option<u64>,
    pub reserved: u64,
    /// Zeros become this in the padding after the metadata.
    pub padding: u8,
    /// Name, contents.
    pub sections: Vec<(Vec<u8>, Vec<u8>)>,
    /// Added to the stated offset and length of the section with this index.
    pub shifts: Vec<(usize, i64, i64)>,
    /// Bytes between the last section and the table.
    pub gap: Vec<u8>,
}

impl ByHand {
    pub fn new() -> Self {
        Self {
            version: 1,
            kind: 5,
            flags: 1,
            metadata: b"{\"rows\":2}".to_vec(),
            metadata_bytes: None,
            section_count: None,
            total_bytes: None,
            reserved: 0,
            padding: 0,
            sections: vec![(b"first".to_vec(), vec![7; 70]), (b"second".to_vec(), vec![9; 8])],
            shifts: Vec::new(),
            gap: Vec::new(),
        }
    }

    pub fn build(&self) -> Vec<u8> {
        let round_up = |bytes: &mut Vec<u8>, with: u8| bytes.resize(bytes.len().div_ceil(64) * 64, with);
        let mut file = vec![0; 128];
        file.extend(&self.metadata);
        round_up(&mut file, self.padding);
        let metadata_end = file.len();
        let mut table = Vec::new();
        for (index, (name, contents)) in self.sections.iter().enumerate() {
            let (mut offset, mut length) = (file.len() as u64, contents.len() as u64);
            for &(which, offset_shift, length_shift) in &self.shifts {
                if which == index {
                    offset = offset.wrapping_add_signed(offset_shift);
                    length = length.wrapping_add_signed(length_shift);
                }
            }
            let mut padded = name.clone();
            padded.resize(16, 0);
            table.extend(padded);
            table.extend(offset.to_le_bytes());
            table.extend(length.to_le_bytes());
            table.extend(blake3::hash(contents).as_bytes());
            file.extend(contents);
            round_up(&mut file, 0);
        }
        file.extend(&self.gap);
        file.extend(&table);
        let total = file.len() as u64;
        file[0..8].copy_from_slice(b"CLATHRAT");
        file[8..12].copy_from_slice(&self.version.to_le_bytes());
        file[12..16].copy_from_slice(&self.kind.to_le_bytes());
        file[16..24].copy_from_slice(&self.flags.to_le_bytes());
        file[24..56].copy_from_slice(&DIGEST);
        file[56..64]
            .copy_from_slice(&self.metadata_bytes.unwrap_or(self.metadata.len() as u64).to_le_bytes());
        file[64..72].copy_from_slice(&self.section_count.unwrap_or(self.sections.len() as u64).to_le_bytes());
        file[72..80].copy_from_slice(&self.total_bytes.unwrap_or(total).to_le_bytes());
        file[80..88].copy_from_slice(&self.reserved.to_le_bytes());
        let mut hasher = blake3::Hasher::new();
        hasher.update(&file[..96]).update(&file[128..metadata_end]).update(&table);
        file[96..128].copy_from_slice(hasher.finalize().as_bytes());
        file
    }
}

pub fn open_and_verify(bytes: &[u8]) -> Result<(), FileError> {
    FileReader::from_bytes(bytes)?.verify_all()
}

/// The error of a container that must not be readable.
pub fn refusal(bytes: &[u8]) -> FileError {
    open_and_verify(bytes).expect_err("a damaged container was accepted")
}

macro_rules! assert_error {
    ($error:expr, $pattern:pat $(if $guard:expr)?) => {{
        let error = $error;
        assert!(matches!(error, $pattern $(if $guard)?), "unexpected error: {error:?}");
    }};
}

pub fn files_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

pub(crate) use assert_error;
