//! Flipped bits, truncations, additions, and hostile headers whose checksums are right.

use std::fs;
use std::io::{Seek, SeekFrom, Write};

use clathrate_ckks::file::{FileError, FileReader, OpenOptions, Stored};

use crate::allocation::peak_of;
use crate::support::*;

#[test]
fn every_single_bit_flip_is_detected() {
    for original in [Sample::small().to_file_bytes().unwrap(), ByHand::new().build()] {
        let mut bytes = original.clone();
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(
                open_and_verify(&bytes).is_err(),
                "flip of bit {bit} of {} was accepted",
                8 * bytes.len()
            );
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
fn every_bit_flip_and_truncation_of_a_file_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let judge = |options| FileReader::open_with(&path, options).and_then(|reader| reader.verify_all());
    let original = Sample::small().to_file_bytes().unwrap();
    for options in [OpenOptions::default(), TRUSTED] {
        let mut bytes = original.clone();
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            assert!(judge(options).is_err(), "flip of bit {bit} of {} was accepted", 8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..original.len() {
            fs::write(&path, &original[..length]).unwrap();
            assert_error!(judge(options).unwrap_err(), FileError::Truncated { found, .. } if found == length as u64);
        }
        fs::write(&path, &original).unwrap();
        assert!(judge(options).is_ok());
    }
}

#[test]
fn file_that_is_all_hole_costs_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    // A section of a terabyte of zeros, in a file that takes a few kilobytes of disk.
    let length = 1u64 << 40;
    let small = ByHand { sections: vec![(b"seeds".to_vec(), vec![0; 64])], ..ByHand::new() };
    let total = small.build().len() as u64 - 64 + length;
    let claims = ByHand { shifts: vec![(0, 0, (length - 64) as i64)], total_bytes: Some(total), ..small };
    let bytes = claims.build();
    let (head, table) = bytes.split_at(bytes.len() - 64);
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(head).unwrap();
    file.seek(SeekFrom::Start(total - 64)).unwrap();
    file.write_all(table).unwrap();
    let reader = FileReader::open(&path).unwrap();
    assert_eq!(reader.sections()[0].length, length);
    let (peak, error) = peak_of(|| reader.section_of_length("seeds", 64).unwrap_err());
    assert_error!(error, FileError::SectionLength { expected: 64, .. });
    assert!(peak <= 1024, "{peak}");
    let (peak, error) = peak_of(|| reader.words("seeds", 8).unwrap_err());
    assert_error!(error, FileError::SectionLength { expected: 64, .. });
    assert!(peak <= 1024, "{peak}");
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
    assert_error!(
        refusal(&ByHand { version: 2, ..ByHand::new() }.build()),
        FileError::FutureVersion { found: 2, supported: 1 }
    );
    assert_error!(
        refusal(&ByHand { version: u32::MAX, ..ByHand::new() }.build()),
        FileError::FutureVersion { .. }
    );
    // A future header may be laid out otherwise, so the version is reported before anything else is looked
    // at.
    assert_error!(
        refusal(&ByHand { version: 2, ..ByHand::new() }.build()[..12]),
        FileError::FutureVersion { .. }
    );
    assert_error!(
        refusal(&ByHand { version: 0, ..ByHand::new() }.build()),
        FileError::HeaderCorrupted { .. }
    );
}

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
                    assert_error!(
                        error,
                        FileError::TooLarge { .. }
                            | FileError::SectionCorrupted { .. }
                            | FileError::Malformed { .. }
                    )
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
        assert_error!(
            refusal(&case.build()),
            FileError::HeaderCorrupted { .. } | FileError::Metadata { .. } | FileError::Malformed { .. }
        );
    }
    assert_error!(
        refusal(&ByHand { total_bytes: Some(128), ..base.clone() }.build()),
        FileError::TrailingBytes { .. }
    );
}

#[test]
fn sections_that_overlap_move_or_leave_gaps_are_refused() {
    let with = |shifts: &[(usize, i64, i64)]| ByHand { shifts: shifts.to_vec(), ..ByHand::new() };
    // The second on top of the first; off the alignment; one slot further on; swapped; shorter by a slot.
    for shifts in
        [&[(1, -128, 0)][..], &[(1, 8, 0)], &[(1, 64, 0)], &[(0, 128, 0), (1, -128, 0)], &[(0, 0, -64)]]
    {
        assert_error!(
            refusal(&with(shifts).build()),
            FileError::Malformed { .. } | FileError::SectionCorrupted { .. }
        );
    }
    let hidden = ByHand { gap: vec![0; 64], ..ByHand::new() };
    assert_error!(refusal(&hidden.build()), FileError::Malformed { what: "the end of the sections", .. });
    let unaligned = ByHand { gap: vec![0; 8], ..ByHand::new() };
    assert_error!(refusal(&unaligned.build()), FileError::Malformed { .. });
    // Contents that pass for padding: the section is stated too short.
    assert_error!(
        refusal(&with(&[(0, 0, -1)]).build()),
        FileError::SectionCorrupted { reason: "the padding after it is not zero", .. }
    );
}

#[test]
fn header_fields_outside_the_format_are_refused() {
    let base = ByHand::new();
    for kind in [0, 13, u32::MAX] {
        assert_error!(
            refusal(&ByHand { kind, ..base.clone() }.build()),
            FileError::UnknownKind { newest: 12, .. }
        );
    }
    assert_error!(
        refusal(&ByHand { flags: 3, ..base.clone() }.build()),
        FileError::Malformed { what: "the flag word", .. }
    );
    assert_error!(refusal(&ByHand { reserved: 1, ..base.clone() }.build()), FileError::Malformed { .. });
    assert_error!(refusal(&ByHand { padding: b' ', ..base.clone() }.build()), FileError::Malformed { .. });
    // Not UTF-8; not JSON; JSON with more after it; a raw escape sequence, which printing would pass to a
    // terminal.
    for metadata in [&b"\xff\xfe"[..], b"rows = 2", b"{}{}", b"\"\x1b[31m\""] {
        assert_error!(
            refusal(&ByHand { metadata: metadata.to_vec(), ..base.clone() }.build()),
            FileError::Metadata { .. }
        );
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
    let (peak, result) =
        peak_of(|| FileReader::from_bytes(&case).and_then(|reader| reader.metadata::<serde_json::Value>()));
    assert_error!(result.unwrap_err(), FileError::Metadata { .. });
    assert!(peak <= 2 * case.len() + MEBIBYTE, "{peak}");
    let case = ByHand { metadata: vec![b'['; (1 << 20) + 1], ..ByHand::new() }.build();
    assert_error!(refusal(&case), FileError::TooLarge { limit: 1_048_576, .. });
}

#[test]
fn reading_allocates_at_most_twice_the_input_and_of_files_no_more_than_one_section() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let many_sections: Vec<_> =
        (0..1 << 16).map(|index| (format!("s{index}").into_bytes(), Vec::new())).collect();
    let mut spaces = vec![b' '; MEBIBYTE];
    spaces[MEBIBYTE - 1] = b'1';
    // Below 2 MiB, from which on aligned memory comes from the system directly and would not be counted here.
    let length = 3 * MEBIBYTE / 2;
    let long_sections: Vec<_> =
        ["words", "more", "last"].map(|name| (name.as_bytes().to_vec(), vec![3; length])).to_vec();
    let cases = [
        ByHand { sections: long_sections, ..ByHand::new() }.build(),
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
            peak_of(|| read(FileReader::open_with(&path, TRUSTED))).0,
        ];
        for peak in peaks {
            assert!(peak <= allowed, "{peak} bytes allocated for {}", bytes.len());
        }
        // An opened file is checked in pieces: its sections, however long, are not in memory.
        let sections: u64 =
            FileReader::open(&path).unwrap().sections().iter().map(|section| section.length).sum();
        let rest = bytes.len() - sections as usize;
        assert!(
            peaks[1] <= 2 * rest + MEBIBYTE / 2,
            "{} bytes allocated for {rest} and sections of {sections}",
            peaks[1]
        );
    }
    // A section of an opened file is in memory once, as bytes or as words.
    let words = ByHand { sections: vec![(b"words".to_vec(), vec![3; length])], ..ByHand::new() }.build();
    fs::write(&path, &words).unwrap();
    let reader = FileReader::open(&path).unwrap();
    let (as_bytes, found) = peak_of(|| reader.section("words").unwrap().bytes().len());
    let (as_words, count) = peak_of(|| reader.words("words", length / 8).unwrap().len());
    assert_eq!((found, count), (length, length / 8));
    for peak in [as_bytes, as_words] {
        assert!((length..=length + MEBIBYTE / 2).contains(&peak), "{peak}");
    }
    // A length that was not asked for costs nothing.
    let (peak, error) = peak_of(|| reader.section_of_length("words", 7).unwrap_err());
    assert_error!(error, FileError::SectionLength { expected: 7, .. });
    assert!(peak <= 1024, "{peak}");
    // Unaligned memory is copied once.
    let mut moved = vec![0];
    moved.extend(&words);
    let (peak, copied) =
        peak_of(|| FileReader::from_bytes(&moved[1..]).unwrap().words("words", length / 8).unwrap().len());
    assert_eq!(copied, length / 8);
    assert!(peak <= 2 * words.len() + MEBIBYTE, "{peak}");
}
