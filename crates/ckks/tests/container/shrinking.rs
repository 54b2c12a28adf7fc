//! Files that other programs shorten or change while they are read: an error, never a signal.

use std::fs::{self, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use clathrate_ckks::file::{FileError, FileReader, Stored};

use crate::processes::{Copy, part, wait};
use crate::support::*;

/// Bus error: an access to a page of a mapping that the file no longer has.
const SIGBUS: i32 = 7;

/// Long enough that its sections lie in other pages than its header.
fn long_sample() -> Sample {
    Sample { words: (0..200_000).collect(), seed: vec![7; 100_001], ..Sample::small() }
}

/// In a copy: opens the file, waits while it is shortened, and reads it.
fn read_what_shrinks(folder: &Path, trusted: bool) {
    let options = if trusted { TRUSTED } else { Default::default() };
    let reader = FileReader::open_with(folder.join("file"), options).unwrap();
    wait("open");
    let truncated = |error: FileError| {
        assert_error!(&error, FileError::Truncated { expected, found } if *expected == reader.total_bytes() && found < expected);
        assert!(error.to_string().contains("truncated"), "{error}");
    };
    truncated(reader.words("words", 200_000).unwrap_err());
    truncated(reader.section("seed").unwrap_err());
    truncated(reader.verify_all().unwrap_err());
    // What was read at the beginning is still there.
    assert_eq!(reader.metadata::<Shape>().unwrap(), Sample::small().shape);
    println!("told");
}

#[test]
fn file_shortened_between_opening_and_reading_is_an_error_and_not_a_signal() {
    const TEST: &str = "shrinking::file_shortened_between_opening_and_reading_is_an_error_and_not_a_signal";
    if let Some((part, folder)) = part() {
        return read_what_shrinks(&folder, part == "trusting");
    }
    for length in [0, 1, 4096, 100_000] {
        for part in ["careful", "trusting"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            long_sample().save(&path).unwrap();
            let mut copy = Copy::start(TEST, part, folder.path());
            copy.wait_for("open");
            OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
            copy.go_on();
            if part == "careful" {
                copy.wait_for("told");
                let status = copy.end();
                assert!(status.success(), "shortened to {length}: {status}");
            } else {
                // What the option warns of. It also shows that this test can tell the difference.
                assert_eq!(copy.end().signal(), Some(SIGBUS), "shortened to {length}");
            }
        }
    }
}

#[test]
fn file_that_changes_all_the_time_is_read_right_or_refused() {
    const TEST: &str = "shrinking::file_that_changes_all_the_time_is_read_right_or_refused";
    let sample = Sample { words: vec![1, 2, 3, 4, 5], seed: vec![7; 30_000], ..Sample::small() };
    if let Some((_, folder)) = part() {
        let (mut right, mut refused) = (0, 0);
        println!("reading");
        while right < 20 || refused < 200 {
            match FileReader::open(folder.join("file")).and_then(|reader| Sample::read(&reader)) {
                Ok(read) => {
                    assert!(read == sample);
                    right += 1;
                }
                Err(error) => {
                    assert!(
                        !matches!(error, FileError::Metadata { .. }),
                        "a damaged part was believed: {error}"
                    );
                    refused += 1;
                }
            }
        }
        println!("done");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let bytes = sample.to_file_bytes().unwrap();
    fs::write(&path, &bytes).unwrap();
    let mut copy = Copy::start(TEST, "reader", folder.path());
    copy.wait_for("reading");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            let mut round = 0u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                round += 1;
                // In place: shorter, with another byte, and as it was, for a while.
                file.set_len(round * 7919 % bytes.len() as u64).unwrap();
                fs::write(&path, &bytes).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(round % 500));
            }
        });
        copy.wait_for("done");
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let status = copy.end();
    assert!(status.success(), "{status}");
}
