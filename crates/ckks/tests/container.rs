//! The file container from outside: round trips, every kind of damage, hostile headers, and what writers leave behind.
//!
//! The format is assembled here a second time, by hand, so that reader and writer are not only compared with each other.

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::cell::Cell;
use std::fs;
use std::io::{self, Seek, Write};
use std::path::Path;

use clathrate_ckks::file::{FileError, FileKind, FileLabel, FileReader, FileWriter, Stored, check_residues};
use serde::{Deserialize, Serialize};

/// Counts what each thread has allocated, and its peak.
struct CountingAllocator;

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn count(more: usize, less: usize) {
    CURRENT.with(|current| {
        let now = (current.get() + more).saturating_sub(less);
        current.set(now);
        PEAK.with(|peak| peak.set(peak.get().max(now)));
    });
}

// SAFETY: every call is passed to the system's allocator unchanged; counting touches only thread-local cells without destructors.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Old and new may be alive together while the contents move.
        count(new_size, 0);
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(pointer, layout, new_size) };
        count(0, layout.size());
        moved
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Bytes that `work` had allocated at once on this thread, beyond those before it.
fn peak_of<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = CURRENT.get();
    PEAK.set(before);
    let result = work();
    (PEAK.get().saturating_sub(before), result)
}

const MEBIBYTE: usize = 1 << 20;
const DIGEST: [u8; 32] = *b"0123456789abcdef0123456789abcdef";

fn label(kind: FileKind) -> FileLabel {
    FileLabel { kind, parameter_digest: DIGEST, insecure: true }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Shape {
    rows: usize,
    level: u32,
    scale: f64,
}

/// A stand-in for a ciphertext: metadata, words, and bytes of an odd length.
#[derive(Debug, Clone, PartialEq)]
struct Sample {
    shape: Shape,
    words: Vec<u64>,
    seed: Vec<u8>,
}

impl Sample {
    fn small() -> Self {
        // The scale is one that a careless decimal parser reads back one unit off.
        let shape = Shape { rows: 2, level: 3, scale: 1.1e21 / 3.0 };
        Self { shape, words: vec![0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 5], seed: b"thirteen byte".to_vec() }
    }

    fn read(reader: &FileReader<'_>) -> Result<Self, FileError> {
        reader.expect_kind(FileKind::Ciphertext)?;
        reader.expect_digest(&DIGEST)?;
        let shape = reader.metadata()?;
        Ok(Self { shape, words: reader.words("words", 5)?.into_owned(), seed: reader.section("seed")?.bytes().to_vec() })
    }
}

impl Stored for Sample {
    type Metadata = Shape;
    fn file_label(&self) -> FileLabel {
        label(FileKind::Ciphertext)
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
struct ByHand {
    version: u32,
    kind: u32,
    flags: u64,
    metadata: Vec<u8>,
    metadata_bytes: Option<u64>,
    section_count: Option<u64>,
    total_bytes: Option<u64>,
    reserved: u64,
    /// Zeros become this in the padding after the metadata.
    padding: u8,
    /// Name, contents.
    sections: Vec<(Vec<u8>, Vec<u8>)>,
    /// Added to the stated offset and length of the section with this index.
    shifts: Vec<(usize, i64, i64)>,
    /// Bytes between the last section and the table.
    gap: Vec<u8>,
}

impl ByHand {
    fn new() -> Self {
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

    fn build(&self) -> Vec<u8> {
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
        file[56..64].copy_from_slice(&self.metadata_bytes.unwrap_or(self.metadata.len() as u64).to_le_bytes());
        file[64..72].copy_from_slice(&self.section_count.unwrap_or(self.sections.len() as u64).to_le_bytes());
        file[72..80].copy_from_slice(&self.total_bytes.unwrap_or(total).to_le_bytes());
        file[80..88].copy_from_slice(&self.reserved.to_le_bytes());
        let mut hasher = blake3::Hasher::new();
        hasher.update(&file[..96]).update(&file[128..metadata_end]).update(&table);
        file[96..128].copy_from_slice(hasher.finalize().as_bytes());
        file
    }
}

fn open_and_verify(bytes: &[u8]) -> Result<(), FileError> {
    FileReader::from_bytes(bytes)?.verify_all()
}

/// The error of a container that must not be readable.
fn refusal(bytes: &[u8]) -> FileError {
    open_and_verify(bytes).expect_err("a damaged container was accepted")
}

macro_rules! assert_error {
    ($error:expr, $pattern:pat $(if $guard:expr)?) => {{
        let error = $error;
        assert!(matches!(error, $pattern $(if $guard)?), "unexpected error: {error:?}");
    }};
}

fn files_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

// Round trips.

#[test]
fn container_assembled_by_hand_equals_the_written_one() {
    let by_hand = ByHand::new();
    #[derive(Serialize)]
    struct Rows {
        rows: u32,
    }
    let mut writer = FileWriter::in_memory(label(FileKind::Ciphertext), &Rows { rows: 2 }).unwrap();
    for (name, contents) in &by_hand.sections {
        writer.add_section(std::str::from_utf8(name).unwrap(), contents).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), by_hand.build());
    assert!(open_and_verify(&by_hand.build()).is_ok());
}

#[test]
fn container_without_sections_or_metadata_round_trips() {
    let bytes = FileWriter::in_memory(label(FileKind::Params), &()).unwrap().finish().unwrap();
    assert_eq!(bytes.len(), 192);
    let reader = FileReader::from_bytes(&bytes).unwrap();
    assert!(reader.sections().is_empty() && reader.metadata_text() == "null");
    let bare = ByHand { metadata: Vec::new(), sections: Vec::new(), ..ByHand::new() }.build();
    assert_eq!(bare.len(), 128);
    assert_error!(refusal(&bare), FileError::Metadata { .. });
}

#[test]
fn stored_value_round_trips_through_memory_and_every_way_of_opening_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.clathrate");
    let sample = Sample::small();
    let bytes = sample.to_file_bytes().unwrap();
    assert_eq!(sample.save(&path).unwrap(), bytes.len() as u64);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(files_in(folder.path()), ["sample.clathrate"]);
    assert_eq!(Sample::read(&FileReader::open(&path).unwrap()).unwrap(), sample);
    assert_eq!(Sample::read(&FileReader::read(&path).unwrap()).unwrap(), sample);
    assert_eq!(Sample::read(&FileReader::from_bytes(&bytes).unwrap()).unwrap(), sample);
    assert_eq!(Sample::read(&FileReader::from_stream(&mut &bytes[..], 4096).unwrap()).unwrap(), sample);
    assert_error!(FileReader::from_stream(&mut &bytes[..], 100).unwrap_err(), FileError::Io { .. });
}

#[test]
fn label_of_each_kind_round_trips() {
    for kind in FileKind::ALL {
        for insecure in [false, true] {
            let label = FileLabel { kind, parameter_digest: [kind as u8; 32], insecure };
            let bytes = FileWriter::in_memory(label, &()).unwrap().finish().unwrap();
            assert_eq!(*FileReader::from_bytes(&bytes).unwrap().label(), label);
        }
    }
}

#[test]
fn words_of_an_opened_file_are_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample");
    Sample::small().save(&path).unwrap();
    for reader in [FileReader::open(&path).unwrap(), FileReader::read(&path).unwrap()] {
        assert!(matches!(reader.words("words", 5).unwrap(), Cow::Borrowed(_)));
        assert!(reader.sections().iter().all(|section| section.offset % 64 == 0));
        assert_eq!(reader.section("words").unwrap().bytes().as_ptr().addr() % 64, 0);
    }
}

#[test]
fn words_at_odd_addresses_read_the_same() {
    let bytes = Sample::small().to_file_bytes().unwrap();
    for shift in 0..8 {
        let mut moved = vec![0; shift];
        moved.extend(&bytes);
        let reader = FileReader::from_bytes(&moved[shift..]).unwrap();
        assert_eq!(Sample::read(&reader).unwrap(), Sample::small());
        let mut words = [0; 5];
        reader.section("words").unwrap().copy_words_into(&mut words).unwrap();
        assert_eq!(words[..], Sample::small().words);
        assert_error!(reader.section("words").unwrap().copy_words_into(&mut words[1..]).unwrap_err(), FileError::SectionLength { .. });
    }
}

// Wrong requests.

#[test]
fn reader_refuses_wrong_kind_digest_section_and_length() {
    let bytes = Sample::small().to_file_bytes().unwrap();
    let reader = FileReader::from_bytes(&bytes).unwrap();
    let (expected, found) = (FileKind::SecretKey, FileKind::Ciphertext);
    assert_error!(reader.expect_kind(expected).unwrap_err(), FileError::WrongKind { expected: e, found: f } if (e, f) == (expected, found));
    let mut other = DIGEST;
    other[31] ^= 1;
    assert_error!(reader.expect_digest(&other).unwrap_err(), FileError::WrongParameters { expected, found } if expected == other && found == DIGEST);
    assert_error!(reader.section("absent").unwrap_err(), FileError::MissingSection { count: 3, .. });
    assert_error!(reader.section("").unwrap_err(), FileError::MissingSection { .. });
    assert_error!(reader.section("a name that is far too long").unwrap_err(), FileError::MissingSection { .. });
    assert_error!(reader.words("words", 4).unwrap_err(), FileError::SectionLength { expected: 32, found: 40, .. });
    assert_error!(reader.words("words", usize::MAX).unwrap_err(), FileError::SectionLength { .. });
    assert_error!(reader.section("seed").unwrap().words().unwrap_err(), FileError::NotWords { bytes: 13, .. });
    assert_error!(reader.metadata::<Vec<u64>>().unwrap_err(), FileError::Metadata { .. });
}

#[test]
fn errors_name_numbers_and_remedy() {
    let bytes = Sample::small().to_file_bytes().unwrap();
    let message = FileReader::from_bytes(&bytes).unwrap().expect_kind(FileKind::SecretKey).unwrap_err().to_string();
    assert_eq!(message, "the file holds ciphertexts, expected a secret key: pass the right file");
    let message = refusal(&ByHand { version: 9, ..ByHand::new() }.build()).to_string();
    assert_eq!(message, "the file has format version 9, but this program reads versions up to 1: upgrade Clathrate");
    let message = FileReader::from_bytes(&bytes).unwrap().expect_digest(&[0xab; 32]).unwrap_err().to_string();
    assert!(message.contains("3031323334353637") && message.contains("abababababababab"), "{message}");
    let mut longer = bytes.clone();
    longer.extend([0; 5]);
    assert!(refusal(&longer).to_string().contains("has 5 bytes after its end"));
}

#[test]
fn opening_what_is_no_file_names_the_path() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_path_buf(), folder.path().join("absent"), folder.path().join("absent/deeper")] {
        for result in [FileReader::open(&path), FileReader::read(&path)] {
            let error = result.unwrap_err();
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
            assert_error!(error, FileError::Io { .. });
        }
    }
}

#[test]
fn empty_and_foreign_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, b"").unwrap();
    assert_error!(FileReader::open(&path).unwrap_err(), FileError::Truncated { expected: 128, found: 0 });
    assert_error!(FileReader::read(&path).unwrap_err(), FileError::Truncated { expected: 128, found: 0 });
    fs::write(&path, b"\x93NUMPY some other format that is long enough to hold a header").unwrap();
    assert_error!(FileReader::open(&path).unwrap_err(), FileError::NotAClathrateFile);
    assert_error!(refusal(b"x"), FileError::NotAClathrateFile);
    assert_error!(refusal(&[0; 4096]), FileError::NotAClathrateFile);
}

// Damage.

#[test]
fn every_single_bit_flip_is_detected() {
    for original in [Sample::small().to_file_bytes().unwrap(), ByHand::new().build()] {
        let mut bytes = original.clone();
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(open_and_verify(&bytes).is_err(), "flip of bit {bit} of {} was accepted", 8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(open_and_verify(&bytes).is_ok() && bytes == original);
    }
}

#[test]
fn flipped_section_names_itself_and_leaves_the_others_readable() {
    let mut bytes = Sample::small().to_file_bytes().unwrap();
    let offset = FileReader::from_bytes(&bytes).unwrap().sections()[0].offset as usize;
    bytes[offset + 11] ^= 4;
    let reader = FileReader::from_bytes(&bytes).unwrap();
    // Asked twice: a failed comparison is not remembered as done.
    for _ in 0..2 {
        assert_error!(reader.section("words").unwrap_err(), FileError::SectionCorrupted { ref name, .. } if name == "words");
        assert_error!(reader.verify_all().unwrap_err(), FileError::SectionCorrupted { ref name, .. } if name == "words");
    }
    assert_eq!(reader.section("seed").unwrap().bytes(), b"thirteen byte");
}

#[test]
fn every_truncation_is_detected() {
    let bytes = Sample::small().to_file_bytes().unwrap();
    for len in 0..bytes.len() {
        assert_error!(refusal(&bytes[..len]), FileError::Truncated { found, .. } if found == len as u64);
    }
}

#[test]
fn trailing_bytes_are_detected() {
    let mut bytes = Sample::small().to_file_bytes().unwrap();
    for more in 1..=130 {
        bytes.push(0);
        assert_error!(refusal(&bytes), FileError::TrailingBytes { expected, found } if found == expected + more);
    }
}

#[test]
fn future_version_is_told_from_damage() {
    assert_error!(refusal(&ByHand { version: 2, ..ByHand::new() }.build()), FileError::FutureVersion { found: 2, supported: 1 });
    assert_error!(refusal(&ByHand { version: u32::MAX, ..ByHand::new() }.build()), FileError::FutureVersion { .. });
    // A future header may be laid out otherwise, so the version is reported before anything else is looked at.
    assert_error!(refusal(&ByHand { version: 2, ..ByHand::new() }.build()[..12]), FileError::FutureVersion { .. });
    assert_error!(refusal(&ByHand { version: 0, ..ByHand::new() }.build()), FileError::HeaderCorrupted { .. });
}

// Hostile headers, whose checksums are right.

#[test]
fn absurd_lengths_are_refused_without_allocating_them() {
    let base = ByHand::new();
    let total = base.build().len();
    for absurd in [1 << 21, 1 << 32, 1 << 60, u64::MAX - 63, u64::MAX] {
        let cases = [
            ("metadata", ByHand { metadata_bytes: Some(absurd), ..base.clone() }),
            ("sections", ByHand { section_count: Some(absurd), ..base.clone() }),
            ("total", ByHand { total_bytes: Some(absurd), ..base.clone() }),
            ("section length", ByHand { shifts: vec![(0, 0, absurd as i64)], ..base.clone() }),
            ("section offset", ByHand { shifts: vec![(1, absurd as i64, 0)], ..base.clone() }),
        ];
        for (what, case) in cases {
            let bytes = case.build();
            let (peak, error) = peak_of(|| refusal(&bytes));
            assert!(peak <= 2 * total, "{what} = {absurd}: {peak} bytes allocated");
            match what {
                "total" => assert_error!(error, FileError::Truncated { .. }),
                "section offset" => assert_error!(error, FileError::Malformed { .. }),
                // -1 and -64 added to the length make it shorter or negative, which other rules catch.
                "section length" => {
                    assert_error!(error, FileError::TooLarge { .. } | FileError::SectionCorrupted { .. } | FileError::Malformed { .. })
                }
                _ => assert_error!(error, FileError::TooLarge { .. }),
            }
        }
    }
}

#[test]
fn lengths_within_the_limits_but_not_the_file_are_refused() {
    let base = ByHand::new();
    for case in [
        ByHand { metadata_bytes: Some(1 << 20), ..base.clone() },
        ByHand { section_count: Some(1 << 16), ..base.clone() },
        ByHand { section_count: Some(7), ..base.clone() },
        ByHand { metadata_bytes: Some(11), ..base.clone() },
        ByHand { section_count: Some(1), ..base.clone() },
    ] {
        assert_error!(refusal(&case.build()), FileError::HeaderCorrupted { .. } | FileError::Metadata { .. } | FileError::Malformed { .. });
    }
    assert_error!(refusal(&ByHand { total_bytes: Some(128), ..base.clone() }.build()), FileError::TrailingBytes { .. });
}

#[test]
fn sections_that_overlap_move_or_leave_gaps_are_refused() {
    let with = |shifts: &[(usize, i64, i64)]| ByHand { shifts: shifts.to_vec(), ..ByHand::new() };
    // The second on top of the first; off the alignment; one slot further on; swapped; shorter by a slot.
    for shifts in [&[(1, -128, 0)][..], &[(1, 8, 0)], &[(1, 64, 0)], &[(0, 128, 0), (1, -128, 0)], &[(0, 0, -64)]] {
        assert_error!(refusal(&with(shifts).build()), FileError::Malformed { .. } | FileError::SectionCorrupted { .. });
    }
    let hidden = ByHand { gap: vec![0; 64], ..ByHand::new() };
    assert_error!(refusal(&hidden.build()), FileError::Malformed { what: "the end of the sections", .. });
    let unaligned = ByHand { gap: vec![0; 8], ..ByHand::new() };
    assert_error!(refusal(&unaligned.build()), FileError::Malformed { .. });
    // Contents that pass for padding: the section is stated too short.
    assert_error!(refusal(&with(&[(0, 0, -1)]).build()), FileError::SectionCorrupted { reason: "the padding after it is not zero", .. });
}

#[test]
fn header_fields_outside_the_format_are_refused() {
    let base = ByHand::new();
    for kind in [0, 8, u32::MAX] {
        assert_error!(refusal(&ByHand { kind, ..base.clone() }.build()), FileError::Malformed { what: "the kind number", .. });
    }
    assert_error!(refusal(&ByHand { flags: 3, ..base.clone() }.build()), FileError::Malformed { what: "the flag word", .. });
    assert_error!(refusal(&ByHand { reserved: 1, ..base.clone() }.build()), FileError::Malformed { .. });
    assert_error!(refusal(&ByHand { padding: b' ', ..base.clone() }.build()), FileError::Malformed { .. });
    // Not UTF-8; not JSON; JSON with more after it; a raw escape sequence, which printing would pass to a terminal.
    for metadata in [&b"\xff\xfe"[..], b"rows = 2", b"{}{}", b"\"\x1b[31m\""] {
        assert_error!(refusal(&ByHand { metadata: metadata.to_vec(), ..base.clone() }.build()), FileError::Metadata { .. });
    }
    let named = |names: [&[u8]; 2]| {
        let sections = names.iter().map(|name| (name.to_vec(), vec![1; 8])).collect();
        refusal(&ByHand { sections, ..ByHand::new() }.build())
    };
    assert_error!(named([b"same", b"same"]), FileError::DuplicateSection { ref name } if name == "same");
    for bad in [&b""[..], b"with space", b"a\0b", b"\xff\xfe", b"\x1b[31m"] {
        assert_error!(named([b"good", bad]), FileError::InvalidSectionName { .. });
    }
}

#[test]
fn deeply_nested_or_too_long_metadata_is_an_error() {
    let mut nested = vec![b'['; 1 << 19];
    nested.extend([b']'; 1 << 19]);
    let case = ByHand { metadata: nested, ..ByHand::new() }.build();
    let (peak, result) = peak_of(|| FileReader::from_bytes(&case).and_then(|reader| reader.metadata::<serde_json::Value>()));
    assert_error!(result.unwrap_err(), FileError::Metadata { .. });
    assert!(peak <= 2 * case.len() + MEBIBYTE, "{peak}");
    let case = ByHand { metadata: vec![b'['; (1 << 20) + 1], ..ByHand::new() }.build();
    assert_error!(refusal(&case), FileError::TooLarge { limit: 1_048_576, .. });
}

#[test]
fn reading_allocates_at_most_twice_the_input_and_a_mebibyte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let many_sections: Vec<_> = (0..1 << 16).map(|index| (format!("s{index}").into_bytes(), Vec::new())).collect();
    let mut spaces = vec![b' '; MEBIBYTE];
    spaces[MEBIBYTE - 1] = b'1';
    let cases = [
        ByHand { sections: vec![(b"words".to_vec(), vec![3; 5 * MEBIBYTE])], ..ByHand::new() }.build(),
        ByHand { metadata: spaces, ..ByHand::new() }.build(),
        ByHand { sections: many_sections, ..ByHand::new() }.build(),
    ];
    for bytes in cases {
        fs::write(&path, &bytes).unwrap();
        let allowed = 2 * bytes.len() + MEBIBYTE;
        let read = |reader: Result<FileReader<'_>, FileError>| {
            let reader = reader.unwrap();
            reader.verify_all().unwrap();
            // Not the metadata of a shape; what counts is that trying is cheap.
            drop(reader.metadata::<Shape>());
        };
        let peaks = [
            peak_of(|| read(FileReader::from_bytes(&bytes))).0,
            peak_of(|| read(FileReader::open(&path))).0,
            peak_of(|| read(FileReader::read(&path))).0,
        ];
        for peak in peaks {
            assert!(peak <= allowed, "{peak} bytes allocated for {}", bytes.len());
        }
    }
    // Unaligned memory is copied once.
    let words = ByHand { sections: vec![(b"words".to_vec(), vec![3; 5 * MEBIBYTE])], ..ByHand::new() }.build();
    let mut moved = vec![0];
    moved.extend(&words);
    let (peak, copied) = peak_of(|| FileReader::from_bytes(&moved[1..]).unwrap().words("words", 5 * MEBIBYTE / 8).unwrap().len());
    assert_eq!(copied, 5 * MEBIBYTE / 8);
    assert!(peak <= 2 * words.len() + MEBIBYTE, "{peak}");
}

/// A small generator, so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Puts a checksum that fits into the header, where the claimed lengths leave one to compute.
fn repair_checksum(bytes: &mut [u8]) {
    if bytes.len() < 128 {
        return;
    }
    let field = |start: usize| u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap());
    let metadata_end = 128u64.saturating_add(field(56)).checked_next_multiple_of(64);
    let table_start = field(64).checked_mul(64).and_then(|table| (bytes.len() as u64).checked_sub(table));
    if let (Some(end), Some(start)) = (metadata_end, table_start)
        && end <= start
    {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes[..96]).update(&bytes[128..end as usize]).update(&bytes[start as usize..]);
        let checksum = hasher.finalize();
        bytes[96..128].copy_from_slice(checksum.as_bytes());
    }
}

/// Everything a caller can do with bytes from outside; panics are what the tests look for.
fn use_everything(bytes: &[u8]) -> bool {
    let Ok(reader) = FileReader::from_bytes(bytes) else { return false };
    drop(reader.metadata::<Shape>());
    for section in reader.sections() {
        if let Ok(section) = reader.section(section.name()) {
            drop(section.words());
        }
    }
    drop(Sample::read(&reader));
    reader.verify_all().is_ok()
}

#[test]
fn mutated_containers_never_panic_nor_allocate_much() {
    let originals = [Sample::small().to_file_bytes().unwrap(), ByHand::new().build()];
    let interesting = [0u64, 1, 7, 8, 63, 64, 65, 127, 128, 1 << 16, 1 << 20, (1 << 20) + 1, 1 << 32, 1 << 60, 1 << 63, u64::MAX];
    let mut random = Random(1);
    let (mut accepted, mut accepted_unrepaired) = (0, 0);
    for round in 0..300_000 {
        let original = &originals[round % originals.len()];
        let mut bytes = original.clone();
        let changes = 1 + random.below(4);
        for _ in 0..changes {
            match random.below(6) {
                0 => {
                    let place = random.below(bytes.len());
                    bytes[place] ^= 1 << random.below(8);
                }
                1 => {
                    let place = random.below(bytes.len());
                    bytes[place] = random.next() as u8;
                }
                2 | 3 => {
                    // A whole field, in the header or the table.
                    let slots = bytes.len() / 8;
                    let slot = if slots > 32 && random.below(2) == 0 { random.below(16) } else { random.below(slots.max(1)) };
                    let value = interesting[random.below(interesting.len())];
                    if let Some(field) = bytes.get_mut(8 * slot..8 * slot + 8) {
                        field.copy_from_slice(&value.to_le_bytes());
                    }
                }
                4 => bytes.truncate(1 + random.below(bytes.len())),
                _ => bytes.extend(std::iter::repeat_n(random.next() as u8, random.below(200))),
            }
        }
        let repaired = round % 3 != 0;
        if repaired {
            if bytes.len() >= 80 && random.below(2) == 0 {
                let total = bytes.len() as u64;
                bytes[72..80].copy_from_slice(&total.to_le_bytes());
            }
            repair_checksum(&mut bytes);
        }
        let unchanged = bytes == *original;
        let (peak, ok) = peak_of(|| use_everything(&bytes));
        assert!(peak <= 2 * bytes.len() + 64 * 1024, "{peak} bytes allocated for {}", bytes.len());
        if ok && !unchanged {
            accepted += 1;
            accepted_unrepaired += usize::from(!repaired);
        }
    }
    // With its checksum repaired, a change of the digest or the metadata makes another valid file; without, nothing may pass.
    assert_eq!(accepted_unrepaired, 0);
    assert!(accepted > 1000, "the repaired mutations hardly reach past the checksum: {accepted}");
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random(2);
    for _ in 0..100_000 {
        let mut bytes: Vec<u8> = (0..random.below(400)).map(|_| random.next() as u8).collect();
        if random.below(2) == 0 && bytes.len() >= 12 {
            bytes[..12].copy_from_slice(b"CLATHRAT\x01\0\0\0");
        }
        assert!(!use_everything(&bytes));
    }
}

// Writers.

#[test]
fn writer_dropped_before_finish_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut writer = FileWriter::create(&path, label(FileKind::Plan), &()).unwrap();
    writer.add_section("part", &[1; 1000]).unwrap();
    // While it is being written it has another name, and not even the magic.
    let names = files_in(folder.path());
    assert!(names.len() == 1 && names[0] != "file");
    assert_error!(FileReader::open(folder.path().join(&names[0])).unwrap_err(), FileError::NotAClathrateFile);
    drop(writer);
    assert_eq!(files_in(folder.path()), [] as [&str; 0]);
}

#[test]
fn writer_that_fails_leaves_nothing_and_keeps_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    Sample::small().save(&path).unwrap();
    let old = fs::read(&path).unwrap();
    let failures: [fn(&mut dyn Write) -> io::Result<()>; 4] = [
        |_| Err(io::Error::other("disk on fire")),
        |target| target.write_all(&[1; 99]),
        |target| target.write_all(&[1; 101]),
        |target| (0..1000).try_for_each(|_| target.write_all(&[1; 1000])),
    ];
    for (index, failure) in failures.into_iter().enumerate() {
        let mut writer = FileWriter::create(&path, label(FileKind::Plan), &()).unwrap();
        writer.add_section("good", &[1]).unwrap();
        let error = writer.write_section("bad", 100, failure).unwrap_err();
        match index {
            0 => assert_error!(error, FileError::Io { .. }),
            1 => assert_error!(error, FileError::SectionLength { expected: 100, found: 99, .. }),
            _ => assert_error!(error, FileError::SectionLength { expected: 100, .. }),
        }
        assert_error!(writer.add_section("more", &[1]).unwrap_err(), FileError::WriterFailed);
        assert_error!(writer.finish().unwrap_err(), FileError::WriterFailed);
        assert_eq!(files_in(folder.path()), ["file"]);
        assert_eq!(fs::read(&path).unwrap(), old);
    }
}

#[test]
fn writer_replaces_an_existing_file_only_when_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, b"old").unwrap();
    let writer = FileWriter::create(&path, label(FileKind::Plan), &()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    writer.finish().unwrap();
    assert_eq!(FileReader::open(&path).unwrap().label().kind, FileKind::Plan);
    assert_eq!(files_in(folder.path()), ["file"]);
}

#[test]
fn opened_file_keeps_its_contents_when_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    Sample::small().save(&path).unwrap();
    let reader = FileReader::open(&path).unwrap();
    let other = Sample { words: vec![9; 5], ..Sample::small() };
    other.save(&path).unwrap();
    assert_eq!(Sample::read(&reader).unwrap(), Sample::small());
    assert_eq!(Sample::read(&FileReader::open(&path).unwrap()).unwrap(), other);
}

#[test]
fn writer_without_a_usable_path_names_it() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_path_buf(), folder.path().join("absent/file"), folder.path().join("..")] {
        let error = FileWriter::create(&path, label(FileKind::Plan), &()).unwrap_err();
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        assert_error!(error, FileError::Io { .. });
    }
    assert_error!(FileWriter::create("", label(FileKind::Plan), &()).unwrap_err(), FileError::Io { .. });
    assert_eq!(files_in(folder.path()), [] as [&str; 0]);
}

#[test]
fn writer_refuses_what_the_format_cannot_hold_and_goes_on() {
    let mut writer = FileWriter::in_memory(label(FileKind::Plan), &()).unwrap();
    writer.add_section("exactly16letters", &[1]).unwrap();
    assert_error!(writer.add_section("exactly16letters", &[2]).unwrap_err(), FileError::DuplicateSection { .. });
    for name in ["", "seventeen_letters", "with space", "umlaut\u{e4}", "nul\0", "line\n"] {
        assert_error!(writer.add_section(name, &[2]).unwrap_err(), FileError::InvalidSectionName { .. });
    }
    let bytes = writer.finish().unwrap();
    let reader = FileReader::from_bytes(&bytes).unwrap();
    assert_eq!(reader.sections().len(), 1);
    assert_eq!(reader.section("exactly16letters").unwrap().bytes(), [1]);
    let long = "x".repeat(1 << 20);
    assert_error!(FileWriter::in_memory(label(FileKind::Plan), &long).unwrap_err(), FileError::TooLarge { value: 1_048_578, .. });
    let keys_that_are_no_strings = std::collections::HashMap::from([(vec![1u8], 1u8)]);
    assert_error!(FileWriter::in_memory(label(FileKind::Plan), &keys_that_are_no_strings).unwrap_err(), FileError::Metadata { .. });
}

#[test]
fn writer_refuses_one_section_above_the_limit() {
    let mut writer = FileWriter::in_memory(label(FileKind::Plan), &()).unwrap();
    for index in 0..1 << 16 {
        writer.add_section(&format!("s{index}"), &[]).unwrap();
    }
    assert_error!(writer.add_section("more", &[]).unwrap_err(), FileError::TooLarge { value: 65_537, limit: 65_536, .. });
    assert_eq!(FileReader::from_bytes(&writer.finish().unwrap()).unwrap().sections().len(), 1 << 16);
}

#[test]
fn streamed_section_in_many_small_pieces_equals_the_whole() {
    let contents: Vec<u8> = (0..300_001u32).map(|i| (i % 251) as u8).collect();
    let mut whole = FileWriter::in_memory(label(FileKind::Plan), &()).unwrap();
    whole.add_section("data", &contents).unwrap();
    let mut pieces = FileWriter::in_memory(label(FileKind::Plan), &()).unwrap();
    pieces
        .write_section("data", contents.len() as u64, |target| contents.chunks(13).try_for_each(|piece| target.write_all(piece)))
        .unwrap();
    assert_eq!(whole.finish().unwrap(), pieces.finish().unwrap());
}

#[cfg(unix)]
#[test]
fn secret_keys_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (secret, public, plain) = (folder.path().join("secret"), folder.path().join("public"), folder.path().join("plain"));
    // Also where a file that everyone may read is replaced.
    fs::write(&secret, b"old").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o666)).unwrap();
    let writer = FileWriter::create(&secret, label(FileKind::SecretKey), &()).unwrap();
    let partial = files_in(folder.path()).into_iter().find(|name| name != "secret").unwrap();
    assert_eq!(mode_of(&folder.path().join(partial)), 0o600);
    writer.finish().unwrap();
    assert_eq!(mode_of(&secret), 0o600);
    // Other kinds get what any new file gets.
    FileWriter::create(&public, label(FileKind::PublicKey), &()).unwrap().finish().unwrap();
    fs::write(&plain, b"").unwrap();
    assert_eq!(mode_of(&public), mode_of(&plain));
}

// Residues.

#[test]
fn residues_are_checked_row_by_row() {
    let moduli = [17, u64::MAX, 5];
    let words = [0, 1, 15, 16, u64::MAX - 1, 17, 18, 0, 4, 3, 2, 1];
    assert!(check_residues(&words, 4, &moduli).is_ok());
    assert!(check_residues(&[], 4, &[]).is_ok());
    assert!(check_residues(&[], 0, &moduli).is_ok());
    for (index, &modulus) in moduli.iter().enumerate() {
        for column in 0..4 {
            let mut bad = words;
            bad[4 * index + column] = modulus;
            // A later one as well: the first is named.
            bad[11] = 5;
            let (row, column) = if index == 2 { (2, column) } else { (index, column) };
            assert_error!(check_residues(&bad, 4, &moduli).unwrap_err(),
                FileError::ResidueTooLarge { row: r, column: c, value, modulus: m } if (r, c, value, m) == (row, column, modulus, modulus));
        }
    }
    for (count, degree) in [(11, 4), (13, 4), (0, 4), (12, usize::MAX), (12, 0)] {
        let words = vec![0; count];
        assert_error!(check_residues(&words, degree, &moduli).unwrap_err(), FileError::ResidueCount { rows: 3, .. });
    }
}
