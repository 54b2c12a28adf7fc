//! Output files against a model in memory: any order of writing and seeking.

use std::fs;
use std::io::{Cursor, ErrorKind, Seek, SeekFrom, Write};

use clathrate_ckks::file::{FileError, OutputFile, Replaced};

use crate::support::*;

#[test]
fn output_file_has_what_was_written_in_whatever_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut state = 1u64;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for round in 0..300 {
        let (mut file, mut model) = (OutputFile::create(&path, false).unwrap(), Cursor::new(Vec::new()));
        // The first 64 bytes are kept apart until the end, so most positions are near them.
        for step in 0..random(12) {
            let length = 1 + random(99) as usize;
            let piece = vec![1 + ((round + step) % 250) as u8; length];
            file.write_all(&piece).unwrap();
            model.write_all(&piece).unwrap();
            let position = match random(4) {
                0 => SeekFrom::Start(random(150)),
                1 => SeekFrom::Current(random(20) as i64),
                2 => SeekFrom::End(-(random(model.get_ref().len() as u64 + 1) as i64)),
                _ => continue,
            };
            assert_eq!(file.seek(position).unwrap(), model.seek(position).unwrap());
        }
        let expected = model.into_inner();
        assert_eq!(file.commit().unwrap(), expected.len() as u64);
        assert!(fs::read(&path).unwrap() == expected, "round {round}");
    }
    assert_eq!(files_in(folder.path()), ["file"]);
}

#[test]
fn a_new_file_takes_the_place_of_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let taken = |error: FileError| matches!(error, FileError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists);
    let mut file = OutputFile::create_as(&path, false, Replaced::Nothing).unwrap();
    file.write_all(b"first").unwrap();
    assert_eq!(file.commit().unwrap(), 5);
    assert!(OutputFile::create_as(&path, false, Replaced::Nothing).is_err_and(taken));
    // A file that appears while another is written is found by the commit.
    fs::remove_file(&path).unwrap();
    let mut late = OutputFile::create_as(&path, false, Replaced::Nothing).unwrap();
    late.write_all(b"late").unwrap();
    fs::write(&path, b"between").unwrap();
    assert!(late.commit().is_err_and(taken));
    assert_eq!(fs::read(&path).unwrap(), b"between");
    assert_eq!(files_in(folder.path()), ["file"]);
}

#[test]
fn positions_before_the_beginning_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = OutputFile::create(folder.path().join("file"), false).unwrap();
    file.write_all(b"five!").unwrap();
    assert!(file.seek(SeekFrom::Current(-6)).is_err() && file.seek(SeekFrom::End(-6)).is_err());
    assert_eq!(file.seek(SeekFrom::End(-5)).unwrap(), 0);
    file.write_all(b"F").unwrap();
    assert_eq!(file.commit().unwrap(), 5);
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"Five!");
}
