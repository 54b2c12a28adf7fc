//! Targets that are no new regular file: pipes, devices, links, folders, files with modes and owners of their
//! own.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use clathrate_ckks::file::{FileError, FileKind, FileReader, FileWriter, Stored};

use crate::processes::{Copy, NOBODY, is_superuser, part};
use crate::support::*;

/// The system's error for saving to `path`.
fn refused(path: &Path) -> io::Error {
    match Sample::small().save(path).unwrap_err() {
        FileError::Io { path: named, source, .. } => {
            assert_eq!(named, path);
            source
        }
        error => panic!("unexpected error: {error:?}"),
    }
}

fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// A character device like `/dev/NAME`. The superuser gets one of their own: a test that fails must not
/// replace the system's.
fn device(folder: &Path, name: &str, minor: u32) -> PathBuf {
    let own = folder.join(name);
    let made = is_superuser()
        && Command::new("mknod")
            .arg(&own)
            .args(["c", "1", &minor.to_string()])
            .status()
            .is_ok_and(|s| s.success());
    if made && fs::OpenOptions::new().write(true).open(&own).is_ok() {
        return own;
    }
    let _ = fs::remove_file(&own);
    Path::new("/dev").join(name)
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn assert_sample(path: &Path) {
    assert_eq!(Sample::read(&FileReader::open(path).unwrap()).unwrap(), Sample::small());
}

#[test]
fn pipe_gets_the_whole_file_and_stays_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(folder.path());
    // Longer than a pipe holds at once, and shorter.
    for sample in [Sample { words: vec![7; 50_000], ..Sample::small() }, Sample::small()] {
        let expected = sample.to_file_bytes().unwrap();
        let reader = thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        assert_eq!(sample.save(&path).unwrap(), expected.len() as u64);
        assert!(reader.join().unwrap() == expected);
        assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(files_in(folder.path()), ["pipe"]);
    }
}

#[test]
fn pipe_whose_reader_leaves_early_is_an_error_and_stays_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(folder.path());
    let reader = thread::spawn({
        let path = path.clone();
        move || fs::File::open(path).unwrap().read_exact(&mut [0; 10]).unwrap()
    });
    let sample = Sample { words: vec![7; 50_000], ..Sample::small() };
    assert_error!(sample.save(&path).unwrap_err(), FileError::Io { ref source, .. } if source.kind() == ErrorKind::BrokenPipe);
    reader.join().unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(files_in(folder.path()), ["pipe"]);
}

#[test]
fn pipe_is_not_opened_before_the_file_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe(folder.path());
    // Nobody reads: beginning, writing and dropping must not wait.
    let mut writer = FileWriter::create(&path, label(FileKind::Plan), &()).unwrap();
    writer.add_section("part", &[1; 1000]).unwrap();
    drop(writer);
    assert_eq!(files_in(folder.path()), ["pipe"]);
}

#[test]
fn null_device_takes_everything_and_stays_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = device(folder.path(), "null", 3);
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    for path in [&path, &link] {
        assert_eq!(
            Sample::small().save(path).unwrap(),
            Sample::small().to_file_bytes().unwrap().len() as u64
        );
    }
    let about = fs::symlink_metadata(&path).unwrap();
    assert!(about.file_type().is_char_device() && fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read(&path).unwrap().is_empty());
}

#[test]
fn full_device_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = device(folder.path(), "full", 7);
    let before = files_in(folder.path());
    let error = Sample::small().save(&path).unwrap_err();
    assert!(
        error.to_string().contains(path.to_str().unwrap())
            && error.to_string().contains("No space left on device"),
        "{error}"
    );
    assert_error!(error, FileError::Io { ref source, .. } if source.kind() == ErrorKind::StorageFull && source.raw_os_error().is_some());
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_char_device());
    assert_eq!(files_in(folder.path()), before);
}

#[test]
fn socket_is_refused_and_stays_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let error = refused(&path);
    assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains("socket"), "{error}");
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_socket());
    assert_eq!(files_in(folder.path()), ["socket"]);
}

#[test]
fn links_are_followed_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("deep")).unwrap();
    fs::create_dir(at("deep/deeper")).unwrap();
    fs::write(at("deep/file"), b"old").unwrap();
    symlink(at("deep/file"), at("absolute")).unwrap();
    symlink("deep/file", at("relative")).unwrap();
    symlink("../file", at("deep/deeper/up")).unwrap();
    symlink("deep/deeper/up", at("chain")).unwrap();
    symlink("deep/deeper", at("folder")).unwrap();
    for link in ["absolute", "relative", "deep/deeper/up", "chain", "folder/up"] {
        fs::write(at("deep/file"), b"old").unwrap();
        Sample::small().save(at(link)).unwrap();
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
        assert!(fs::symlink_metadata(at("deep/file")).unwrap().is_file(), "{link}");
        assert_sample(&at("deep/file"));
    }
    assert_eq!(files_in(folder.path()), ["absolute", "chain", "deep", "folder", "relative"]);
    assert_eq!(files_in(&at("deep")), ["deeper", "file"]);
}

#[test]
fn link_to_nothing_yet_makes_the_file_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("deep")).unwrap();
    symlink("deep/file", at("link")).unwrap();
    Sample::small().save(at("link")).unwrap();
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert_sample(&at("deep/file"));
    // In a folder that is not there either.
    symlink("absent/file", at("lost")).unwrap();
    assert_eq!(refused(&at("lost")).kind(), ErrorKind::NotFound);
    assert_eq!(files_in(folder.path()), ["deep", "link", "lost"]);
}

#[test]
fn links_in_a_circle_are_the_system_s_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    symlink("itself", at("itself")).unwrap();
    symlink("there", at("here")).unwrap();
    symlink("here", at("there")).unwrap();
    for link in ["itself", "here", "there", "here/file"] {
        let error = refused(&at(link));
        assert!(
            error.raw_os_error().is_some()
                && error.raw_os_error() == fs::metadata(at(link)).unwrap_err().raw_os_error(),
            "{error}"
        );
    }
    assert_eq!(files_in(folder.path()), ["here", "itself", "there"]);
}

#[test]
fn folders_are_refused_under_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    symlink("folder", at("link")).unwrap();
    for name in ["folder", "folder/", "link", "link/", "folder/.", "folder/..", ".", "absent/"] {
        assert_eq!(refused(&at(name)).kind(), ErrorKind::IsADirectory, "{name}");
    }
    assert_eq!(refused(Path::new("/")).kind(), ErrorKind::IsADirectory);
    fs::write(at("file"), b"old").unwrap();
    assert_eq!(refused(&at("file/deeper")).kind(), ErrorKind::NotADirectory);
    assert_eq!(refused(&at("file/")).kind(), ErrorKind::NotADirectory);
    assert_eq!(files_in(folder.path()), ["file", "folder", "link"]);
    assert_eq!(files_in(&at("folder")), [""; 0]);
}

#[test]
fn replaced_file_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for mode in [0o600, 0o644, 0o640, 0o666, 0o400, 0o777] {
        fs::write(&path, b"old").unwrap();
        set_mode(&path, mode);
        Sample::small().save(&path).unwrap();
        assert_eq!(mode_of(&path), mode, "{mode:o}");
        assert_sample(&path);
        fs::remove_file(&path).unwrap();
    }
    // While it is being written, nobody else can read what may be meant for few.
    fs::write(&path, b"old").unwrap();
    set_mode(&path, 0o644);
    let writer = FileWriter::create(&path, label(FileKind::Plan), &()).unwrap();
    let partial = files_in(folder.path()).into_iter().find(|name| name != "file").unwrap();
    assert_eq!(mode_of(&folder.path().join(partial)), 0o600);
    // What counts is the mode at the end.
    set_mode(&path, 0o660);
    writer.finish().unwrap();
    assert_eq!(mode_of(&path), 0o660);
}

#[test]
fn replaced_file_keeps_its_owner_as_far_as_the_system_allows() {
    const TEST: &str = "special::replaced_file_keeps_its_owner_as_far_as_the_system_allows";
    if let Some((_, folder)) = part() {
        // Without rights: the file was another user's, and of a group that this one is not in.
        let path = folder.join("open/file");
        Sample::small().save(&path).unwrap();
        let about = fs::metadata(&path).unwrap();
        assert_eq!(
            (about.uid(), about.gid(), about.mode() & 0o777),
            (NOBODY, NOBODY, 0o644),
            "the bits for the group were for another one"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    Sample::small().save(&path).unwrap();
    let own = fs::metadata(folder.path()).unwrap();
    let owner = |path: &Path| fs::metadata(path).map(|about| (about.uid(), about.gid())).unwrap();
    assert_eq!(owner(&path), (own.uid(), own.gid()));
    if !is_superuser() {
        return;
    }
    for mode in [0o640, 0o600] {
        chown(&path, Some(12_345), Some(12_346)).unwrap();
        set_mode(&path, mode);
        Sample::small().save(&path).unwrap();
        assert_eq!((owner(&path), mode_of(&path)), ((12_345, 12_346), mode));
    }
    // A secret key in place of a file that others could read.
    set_mode(&path, 0o664);
    FileWriter::create(&path, label(FileKind::SecretKey), &()).unwrap().finish().unwrap();
    assert_eq!((owner(&path), mode_of(&path)), ((12_345, 12_346), 0o600));
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    chown(&open, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::write(open.join("file"), b"old").unwrap();
    set_mode(&open.join("file"), 0o664);
    let status = Copy::start_without_rights(TEST, "nobody", folder.path()).end();
    assert!(status.success(), "{status}");
}

#[test]
fn folder_that_cannot_be_written_to_is_the_system_s_error() {
    const TEST: &str = "special::folder_that_cannot_be_written_to_is_the_system_s_error";
    if let Some((_, folder)) = part() {
        for name in ["file", "new"] {
            let path = folder.join("closed").join(name);
            let error = Sample::small().save(&path).unwrap_err();
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
            assert_error!(error, FileError::Io { ref source, .. }
                if source.kind() == ErrorKind::PermissionDenied && source.raw_os_error().is_some());
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("file"), b"old").unwrap();
    set_mode(&closed.join("file"), 0o666);
    set_mode(&closed, 0o555);
    let status = Copy::start_without_rights(TEST, "nobody", folder.path()).end();
    set_mode(&closed, 0o755);
    assert!(status.success(), "{status}");
    assert_eq!(files_in(&closed), ["file"]);
    assert_eq!(fs::read(closed.join("file")).unwrap(), b"old");
}

#[test]
fn secret_key_behind_a_link_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (key, link) = (folder.path().join("key"), folder.path().join("link"));
    FileWriter::create(&key, label(FileKind::SecretKey), &()).unwrap().finish().unwrap();
    symlink("key", &link).unwrap();
    let before = fs::read(&key).unwrap();
    assert_error!(Sample::small().save(&link).unwrap_err(), FileError::SecretKeyInTheWay { ref path } if *path == link);
    assert_eq!(fs::read(&key).unwrap(), before);
    Sample::small().replace(&link).unwrap();
    assert_sample(&key);
}

#[test]
fn pipe_that_takes_the_place_of_a_file_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let writer = FileWriter::create(folder.path().join("pipe"), label(FileKind::Plan), &()).unwrap();
    let path = pipe(folder.path());
    assert_error!(writer.finish().unwrap_err(), FileError::Io { ref source, .. } if source.kind() == ErrorKind::InvalidInput);
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(files_in(folder.path()), ["pipe"]);
}

#[test]
fn pipes_and_devices_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    for path in [pipe(folder.path()), PathBuf::from("/dev/null"), PathBuf::from("/dev/zero")] {
        assert_error!(FileReader::open(&path).unwrap_err(), FileError::Io { ref source, .. } if source.kind() == ErrorKind::InvalidInput);
    }
}
