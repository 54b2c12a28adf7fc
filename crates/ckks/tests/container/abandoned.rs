//! Partial files of killed writers: removed by the next writer, and nothing else is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use clathrate_ckks::file::{FileKind, FileReader, FileWriter, OutputFile, Stored};

use crate::processes::{Copy, part, wait};
use crate::support::*;

/// In a copy: writes half a file, waits, and finishes it.
fn write_slowly(folder: &Path) {
    let mut writer = FileWriter::create(folder.join("slow"), label(FileKind::Plan), &()).unwrap();
    writer.add_section("half", &[1; 100_000]).unwrap();
    wait("half written");
    writer.add_section("rest", &[2; 100_000]).unwrap();
    writer.finish().unwrap();
}

fn partials(folder: &Path) -> Vec<String> {
    files_in(folder).into_iter().filter(|name| name.ends_with(".partial")).collect()
}

/// A writer killed in the middle; its partial file.
fn leftover(test: &str, folder: &Path) -> PathBuf {
    let mut copy = Copy::start(test, "writer", folder);
    copy.wait_for("half written");
    copy.kill();
    let left = partials(folder);
    assert_eq!(left.len(), 1, "{left:?}");
    folder.join(&left[0])
}

#[test]
fn partial_file_of_a_killed_writer_goes_and_that_of_a_living_one_stays() {
    const TEST: &str = "abandoned::partial_file_of_a_killed_writer_goes_and_that_of_a_living_one_stays";
    if let Some((_, folder)) = part() {
        return write_slowly(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut living = Copy::start(TEST, "writer", folder.path());
    living.wait_for("half written");
    let own = partials(folder.path());
    assert_eq!(own.len(), 1);
    let mut killed = Copy::start(TEST, "writer", folder.path());
    killed.wait_for("half written");
    // The second did not take the first for dead, nor does a third, in this process, either of them.
    assert_eq!(partials(folder.path()).len(), 2);
    Sample::small().save(folder.path().join("file")).unwrap();
    assert_eq!(partials(folder.path()).len(), 2);
    killed.kill();
    assert_eq!(partials(folder.path()).len(), 2);
    // Begun is enough: a writer that fails cleans up as well.
    drop(OutputFile::create(folder.path().join("other"), false).unwrap());
    assert_eq!(partials(folder.path()), own);
    living.go_on();
    assert!(living.end().success());
    assert_eq!(files_in(folder.path()), ["file", "slow"]);
    let reader = FileReader::open(folder.path().join("slow")).unwrap();
    assert!(reader.verify_all().is_ok() && reader.sections().len() == 2);
}

#[test]
fn writers_of_one_process_do_not_take_each_other_for_dead() {
    let folder = tempfile::tempdir().unwrap();
    let first = FileWriter::create(folder.path().join("first"), label(FileKind::Plan), &()).unwrap();
    let second = FileWriter::create(folder.path().join("second"), label(FileKind::Plan), &()).unwrap();
    assert_eq!(partials(folder.path()).len(), 2);
    Sample::small().save(folder.path().join("third")).unwrap();
    assert_eq!(partials(folder.path()).len(), 2);
    first.finish().unwrap();
    second.finish().unwrap();
    assert_eq!(files_in(folder.path()), ["first", "second", "third"]);
}

#[test]
fn complete_file_that_was_never_renamed_goes_as_well() {
    if let Some((_, folder)) = part() {
        return write_slowly(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let left = leftover("abandoned::complete_file_that_was_never_renamed_goes_as_well", folder.path());
    // As it is between the writing of the first bytes and the rename: a container, or an array of the command
    // line.
    for contents in [Sample::small().to_file_bytes().unwrap(), [&b"\x93NUMPY"[..], &[0; 100]].concat()] {
        fs::write(&left, contents).unwrap();
        Sample::small().save(folder.path().join("file")).unwrap();
        assert_eq!(files_in(folder.path()), ["file"]);
    }
}

#[test]
fn files_that_are_not_ours_by_name_and_beginning_stay() {
    if let Some((_, folder)) = part() {
        return write_slowly(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let left = leftover("abandoned::files_that_are_not_ours_by_name_and_beginning_stay", folder.path());
    let contents = fs::read(&left).unwrap();
    let name = left.file_name().unwrap().to_str().unwrap().to_owned();
    let [stem, random] = ["-", "."].map(|mark| name.rfind(mark).unwrap());
    let (stem, random) = (&name[..=stem], &name[stem + 1..random]);
    assert_eq!((stem.len(), random.len()), (".clathrate-0123456789abcdef-".len(), 6), "{name}");
    fs::remove_file(&left).unwrap();
    let mut kept = Vec::new();
    let mut keep = |name: String, contents: &[u8]| {
        fs::write(at(&name), contents).unwrap();
        kept.push((name, contents.to_vec()));
    };
    // By name: of another boot or another machine, of a file system without locks, of other programs.
    let other_boot = stem
        .chars()
        .map(|c| {
            if c == '0' {
                '1'
            } else if c.is_ascii_digit() {
                '0'
            } else {
                c
            }
        })
        .collect::<String>();
    assert_ne!(other_boot, stem);
    for name in [
        format!("{other_boot}{random}.partial"),
        format!(".clathrate-{random}.partial"),
        format!("{stem}{random}x.partial"),
        format!("{stem}{}.partial", &random[1..]),
        format!("{stem}a_b-cd.partial"),
        format!("{stem}{random}.part"),
        format!("x{stem}{random}.partial"),
    ] {
        keep(name, &contents);
    }
    // By beginning: empty, short, another's. One bit is enough.
    for (index, beginning) in [
        &b""[..],
        &contents[..63],
        b"PK\x03\x04 an archive that somebody gave a strange name, 64 bytes and more...",
    ]
    .iter()
    .enumerate()
    {
        keep(format!("{stem}short{index}.partial"), beginning);
    }
    for bit in 0..512 {
        let mut changed = contents.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        keep(format!("{stem}bit{bit:03}.partial"), &changed);
    }
    // What is no file.
    fs::write(at("precious"), &contents).unwrap();
    symlink(at("precious"), at(&format!("{stem}link01.partial"))).unwrap();
    fs::create_dir(at(&format!("{stem}folder.partial"))).unwrap();
    assert!(Command::new("mkfifo").arg(at(&format!("{stem}pipe01.partial"))).status().unwrap().success());
    // Of those who may be removed there is one as well, so that the test sees the others spared and not
    // overlooked.
    fs::write(&left, &contents).unwrap();
    Sample::small().save(at("file")).unwrap();
    assert!(!left.exists());
    for (name, contents) in &kept {
        assert!(fs::read(at(name)).is_ok_and(|found| found == *contents), "{name}");
    }
    for name in [
        "precious".to_owned(),
        format!("{stem}link01.partial"),
        format!("{stem}folder.partial"),
        format!("{stem}pipe01.partial"),
    ] {
        assert!(at(&name).symlink_metadata().is_ok(), "{name}");
    }
    assert_eq!(files_in(folder.path()).len(), kept.len() + 5);
}

#[test]
fn partial_file_that_another_program_locks_stays() {
    if let Some((_, folder)) = part() {
        return write_slowly(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let left = leftover("abandoned::partial_file_that_another_program_locks_stays", folder.path());
    let lock = fs::File::open(&left).unwrap();
    lock.lock_shared().unwrap();
    Sample::small().save(folder.path().join("file")).unwrap();
    assert!(left.exists());
    drop(lock);
    Sample::small().save(folder.path().join("file")).unwrap();
    assert!(!left.exists());
}
