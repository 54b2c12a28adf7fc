//! What is written is read back, and wrong requests are refused.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;

use clathrate_ckks::file::{
    FileError, FileKind, FileLabel, FileReader, FileWriter, OpenOptions, ParameterId, Stored,
};
use serde::Serialize;

use crate::support::*;

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
    assert_eq!(Sample::read(&FileReader::open_with(&path, TRUSTED).unwrap()).unwrap(), sample);
    assert_eq!(Sample::read(&FileReader::from_bytes(&bytes).unwrap()).unwrap(), sample);
    assert_eq!(Sample::read(&FileReader::from_stream(&mut &bytes[..], 4096).unwrap()).unwrap(), sample);
    assert_error!(
        FileReader::from_stream(&mut &bytes[..], 100).unwrap_err(),
        FileError::TooLarge { limit: 100, .. }
    );
    // Streams without an end: after a whole file, and from the start.
    let mut endless = std::io::Read::chain(&bytes[..], std::io::repeat(0));
    assert_error!(
        FileReader::from_stream(&mut endless, u64::MAX).unwrap_err(),
        FileError::TrailingBytes { .. }
    );
    assert_error!(
        FileReader::from_stream(&mut std::io::repeat(0), u64::MAX).unwrap_err(),
        FileError::NotAClathrateFile
    );
    assert_error!(
        FileReader::from_stream(&mut &bytes[..bytes.len() - 1], u64::MAX).unwrap_err(),
        FileError::Truncated { .. }
    );
}

#[test]
fn label_of_each_kind_round_trips() {
    for kind in FileKind::ALL {
        for insecure in [false, true] {
            for name in [None, Some("n14"), Some(""), Some("\u{1b}[31m \"quoted\" \u{20ac}")] {
                let label = FileLabel {
                    kind,
                    parameter_name: name.map(str::to_owned),
                    parameter_digest: [kind as u8; 32],
                    insecure,
                };
                let bytes = FileWriter::in_memory(label.clone(), &BTreeMap::from([("rows", 2)]))
                    .unwrap()
                    .finish()
                    .unwrap();
                let reader = FileReader::from_bytes(&bytes).unwrap();
                assert_eq!(*reader.label(), label);
                assert_eq!(
                    reader.metadata::<BTreeMap<String, u32>>().unwrap(),
                    BTreeMap::from([("rows".to_owned(), 2)])
                );
            }
        }
    }
}

#[test]
fn words_of_a_trusted_file_are_not_copied_and_all_sections_are_aligned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample");
    Sample::small().save(&path).unwrap();
    for options in [TRUSTED, OpenOptions::default()] {
        let reader = FileReader::open_with(&path, options).unwrap();
        let words = reader.words("words", 5).unwrap();
        assert_eq!(matches!(words, Cow::Borrowed(_)), options.trusted_map.is_some());
        assert_eq!(words[..], Sample::small().words);
        assert!(reader.sections().iter().all(|section| section.offset % 64 == 0));
        let section = reader.section("words").unwrap();
        assert_eq!(section.bytes().as_ptr().addr() % 64, 0);
        assert!(matches!(section.words().unwrap(), Cow::Borrowed(_)));
        assert_eq!(reader.section("empty").unwrap().bytes(), [0; 0]);
    }
}

#[cfg(unix)]
#[test]
fn changes_of_a_file_that_is_open_are_refused() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample");
    Sample::small().save(&path).unwrap();
    let copied = FileReader::open(&path).unwrap();
    let offset = copied.sections()[0].offset;
    assert!(copied.verify_all().is_ok());
    assert_eq!(copied.words("words", 5).unwrap()[0], 0);
    fs::OpenOptions::new().write(true).open(&path).unwrap().write_all_at(&[1], offset).unwrap();
    assert_error!(copied.words("words", 5).unwrap_err(), FileError::SectionCorrupted { ref name, .. } if name == "words");
    assert_error!(copied.section("words").unwrap_err(), FileError::SectionCorrupted { .. });
    assert_error!(copied.verify_all().unwrap_err(), FileError::SectionCorrupted { .. });
    assert!(copied.section("seed").is_ok());
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
        assert_error!(
            reader.section("words").unwrap().copy_words_into(&mut words[1..]).unwrap_err(),
            FileError::SectionLength { .. }
        );
    }
}

// Wrong requests.

#[test]
fn reader_refuses_wrong_kind_digest_section_and_length() {
    let bytes = Sample::small().to_file_bytes().unwrap();
    let reader = FileReader::from_bytes(&bytes).unwrap();
    let (expected, found) = (FileKind::SecretKey, FileKind::Ciphertext);
    assert_error!(reader.expect_kind(expected).unwrap_err(), FileError::WrongKind { expected: e, found: f } if (e, f) == (expected, found));
    let mut other = named("other");
    other.digest[31] ^= 1;
    assert_error!(reader.expect_parameters(&other).unwrap_err(),
        FileError::WrongParameters { ref expected, ref found } if *expected == other && *found == named("sample"));
    // The digest decides, the name does not.
    assert!(reader.expect_parameters(&named("other")).is_ok());
    assert_error!(reader.section("absent").unwrap_err(), FileError::MissingSection { count: 3, .. });
    assert_error!(reader.section("").unwrap_err(), FileError::MissingSection { .. });
    assert_error!(
        reader.section("a name that is far too long").unwrap_err(),
        FileError::MissingSection { .. }
    );
    assert_error!(
        reader.words("words", 4).unwrap_err(),
        FileError::SectionLength { expected: 32, found: 40, .. }
    );
    assert_error!(reader.words("words", usize::MAX).unwrap_err(), FileError::SectionLength { .. });
    assert_error!(
        reader.section_of_length("seed", 12).unwrap_err(),
        FileError::SectionLength { expected: 12, found: 13, .. }
    );
    assert_eq!(reader.section_of_length("seed", 13).unwrap().bytes(), b"thirteen byte");
    assert_error!(reader.verify_section("absent").unwrap_err(), FileError::MissingSection { .. });
    assert_error!(
        reader.section("seed").unwrap().words().unwrap_err(),
        FileError::NotWords { bytes: 13, .. }
    );
    assert_error!(reader.metadata::<Vec<u64>>().unwrap_err(), FileError::Metadata { .. });
}

#[test]
fn errors_name_numbers_and_remedy() {
    let bytes = Sample::small().to_file_bytes().unwrap();
    let message =
        FileReader::from_bytes(&bytes).unwrap().expect_kind(FileKind::SecretKey).unwrap_err().to_string();
    assert_eq!(message, "the file holds ciphertexts, expected a secret key: pass the right file");
    let message = refusal(&ByHand { version: 9, ..ByHand::new() }.build()).to_string();
    assert_eq!(
        message,
        "the file has format version 9, but this program reads versions up to 1: upgrade Clathrate"
    );
    let other = ParameterId { name: Some("n15".to_owned()), digest: [0xab; 32] };
    let message = FileReader::from_bytes(&bytes).unwrap().expect_parameters(&other).unwrap_err().to_string();
    assert_eq!(
        message,
        "the file was made for parameters \"sample\" (digest 3031323334353637), these are \"n15\" (digest abababababababab): \
         use the parameters it was made with"
    );
    let unnamed = ByHand::new().build();
    let message =
        FileReader::from_bytes(&unnamed).unwrap().expect_parameters(&other).unwrap_err().to_string();
    assert!(
        message.contains("parameters without a name (digest 3031323334353637), these are \"n15\""),
        "{message}"
    );
    // A name from a hostile file neither floods nor drives a terminal.
    let hostile = ParameterId { name: Some("\u{1b}[2J".repeat(1000)), digest: DIGEST }.to_string();
    assert!(hostile.len() < 400 && hostile.chars().all(|c| !c.is_control()), "{hostile}");
    let mut longer = bytes.clone();
    longer.extend([0; 5]);
    assert!(refusal(&longer).to_string().contains("has 5 bytes after its end"));
}

#[test]
fn opening_what_is_no_file_names_the_path() {
    let folder = tempfile::tempdir().unwrap();
    for path in
        [folder.path().to_path_buf(), folder.path().join("absent"), folder.path().join("absent/deeper")]
    {
        for result in [FileReader::open(&path), FileReader::open_with(&path, TRUSTED)] {
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
    assert_error!(
        FileReader::open_with(&path, TRUSTED).unwrap_err(),
        FileError::Truncated { expected: 128, found: 0 }
    );
    fs::write(&path, b"\x93NUMPY some other format that is long enough to hold a header").unwrap();
    assert_error!(FileReader::open(&path).unwrap_err(), FileError::NotAClathrateFile);
    assert_error!(refusal(b"x"), FileError::NotAClathrateFile);
    assert_error!(refusal(&[0; 4096]), FileError::NotAClathrateFile);
}
