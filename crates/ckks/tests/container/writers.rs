//! What writers leave behind, finished, dropped or failed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clathrate_ckks::file::{FileError, FileKind, FileReader, FileWriter, Stored};

use crate::support::*;

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
    assert_error!(
        writer.add_section("exactly16letters", &[2]).unwrap_err(),
        FileError::DuplicateSection { .. }
    );
    for name in ["", "seventeen_letters", "with space", "umlaut\u{e4}", "nul\0", "line\n"] {
        assert_error!(writer.add_section(name, &[2]).unwrap_err(), FileError::InvalidSectionName { .. });
    }
    let bytes = writer.finish().unwrap();
    let reader = FileReader::from_bytes(&bytes).unwrap();
    assert_eq!(reader.sections().len(), 1);
    assert_eq!(reader.section("exactly16letters").unwrap().bytes(), [1]);
    let long = "x".repeat(1 << 20);
    assert_error!(
        FileWriter::in_memory(label(FileKind::Plan), &long).unwrap_err(),
        FileError::TooLarge { value: 1_048_578, .. }
    );
    let keys_that_are_no_strings = std::collections::HashMap::from([(vec![1u8], 1u8)]);
    assert_error!(
        FileWriter::in_memory(label(FileKind::Plan), &keys_that_are_no_strings).unwrap_err(),
        FileError::Metadata { .. }
    );
}

#[test]
fn writer_refuses_one_section_above_the_limit() {
    let mut writer = FileWriter::in_memory(label(FileKind::Plan), &()).unwrap();
    for index in 0..1 << 16 {
        writer.add_section(&format!("s{index}"), &[]).unwrap();
    }
    assert_error!(
        writer.add_section("more", &[]).unwrap_err(),
        FileError::TooLarge { value: 65_537, limit: 65_536, .. }
    );
    assert_eq!(FileReader::from_bytes(&writer.finish().unwrap()).unwrap().sections().len(), 1 << 16);
}

#[test]
fn streamed_section_in_many_small_pieces_equals_the_whole() {
    let contents: Vec<u8> = (0..300_001u32).map(|i| (i % 251) as u8).collect();
    let mut whole = FileWriter::in_memory(label(FileKind::Plan), &()).unwrap();
    whole.add_section("data", &contents).unwrap();
    let mut pieces = FileWriter::in_memory(label(FileKind::Plan), &()).unwrap();
    pieces
        .write_section("data", contents.len() as u64, |target| {
            contents.chunks(13).try_for_each(|piece| target.write_all(piece))
        })
        .unwrap();
    assert_eq!(whole.finish().unwrap(), pieces.finish().unwrap());
}

#[cfg(unix)]
#[test]
fn secret_keys_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (secret, public, plain) =
        (folder.path().join("secret"), folder.path().join("public"), folder.path().join("plain"));
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
