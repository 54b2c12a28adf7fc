//! Files that are being written under a temporary name, and what killed writers left of them.
//!
//! A partial file is called `.clathrate-BOOT-RANDOM.partial` and locked (flock) by its writer until it is
//! renamed or removed. BOOT identifies the running kernel. The kernel releases a lock when the process that
//! holds it ends, however it ends. So whoever can take the lock of a partial file of the *same* boot knows
//! that its writer is dead, also on a network file system: both locks are in the tables of one kernel. Files
//! of another boot may belong to a living writer on another machine and are left alone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::container::MAGIC;

/// Bytes at the beginning of a partial file that are written last. Until then [`MARK`] is there.
pub(super) const HEAD_BYTES: usize = 64;
/// How a partial file begins until it is complete.
pub(super) const MARK: [u8; HEAD_BYTES] =
    *b"CLATPART: unfinished; its writer holds a lock (flock) on it.\n\0\0\0";
/// How the arrays begin that `clathrate decrypt` writes.
const ARRAY_MAGIC: [u8; 6] = *b"\x93NUMPY";

const PREFIX: &str = ".clathrate-";
const SUFFIX: &str = ".partial";
/// Random characters of a name.
const RANDOM_CHARACTERS: usize = 6;
/// Hexadecimal digits of a name that identify the boot.
const BOOT_DIGITS: usize = 16;
/// Names tried when another process takes the lock of a new file first: a cleaner that looks at it, or
/// somebody who means to disturb.
const LOCK_ATTEMPTS: usize = 8;
/// Most entries of a folder that are looked at: some milliseconds. In larger folders leftovers may stay.
const SCAN_LIMIT: usize = 16_384;

/// A new file in `folder`, open for writing, locked, and with [`MARK`] at its beginning. Dropped before it is
/// renamed, it is removed.
///
/// `mode` are its permissions on Unix, less the umask.
///
/// # Errors
/// Those of the system, with its number.
pub(super) fn create(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let mut partial = create_locked(folder, mode)?;
    partial.as_file_mut().write_all(&MARK)?;
    Ok(partial)
}

fn create_locked(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    if let Some(boot) = boot() {
        for _ in 0..LOCK_ATTEMPTS {
            let partial = create_named(folder, &format!("{PREFIX}{boot}-"), mode)?;
            match partial.as_file().try_lock() {
                Ok(()) => return Ok(partial),
                Err(TryLockError::WouldBlock) => {}
                // A file system without locks.
                Err(TryLockError::Error(_)) => break,
            }
        }
    }
    // Nobody can prove that this one is abandoned, so its name does not ask for it.
    create_named(folder, PREFIX, mode)
}

fn create_named(folder: &Path, prefix: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    // Opened by hand, since `tempfile` would wrap the system's error and lose its number.
    tempfile::Builder::new()
        .prefix(prefix)
        .suffix(SUFFIX)
        .rand_bytes(RANDOM_CHARACTERS)
        .make_in(folder, |path| options.open(path))
}

/// Digits that identify the running kernel, where the system has them.
fn boot() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(BOOT_DIGITS).collect();
    (digits.len() == BOOT_DIGITS).then_some(digits)
}

/// Removes from `folder` the partial files whose writers are dead. What cannot be read, locked or removed
/// stays.
pub(super) fn remove_abandoned(folder: &Path) {
    let Some(boot) = boot() else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(SCAN_LIMIT).flatten() {
        if entry.file_name().to_str().is_some_and(|name| is_name_of(name, &boot)) {
            // A leftover that stays does no harm, and the caller's own file matters more.
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

/// Whether a file of this name was made by [`create`] under this boot.
fn is_name_of(name: &str, boot: &str) -> bool {
    let random = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_prefix(boot))
        .and_then(|rest| rest.strip_prefix('-'));
    let random = random.and_then(|rest| rest.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM_CHARACTERS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Removes the partial file at `path` if its lock can be taken. Whether it did.
fn remove_if_abandoned(path: &Path) -> io::Result<bool> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut file = open_carefully(path)?;
    // Written after the lock was taken: a file that has none of these may be new, and its writer not yet
    // there.
    let mut head = [0; HEAD_BYTES];
    file.read_exact(&mut head)?;
    if head != MARK && !head.starts_with(&MAGIC) && !head.starts_with(&ARRAY_MAGIC) {
        return Ok(false);
    }
    if file.try_lock().is_err() {
        return Ok(false);
    }
    // The writer may have renamed its file after it was opened here; what then has its old name, or nothing,
    // is not what was locked.
    if !is_same_file(&file, path)? {
        return Ok(false);
    }
    fs::remove_file(path)?;
    Ok(true)
}

#[cfg(unix)]
fn open_carefully(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // Neither through a link nor waiting for a pipe, should the name have changed hands. Writing, since
    // network file systems lock no others.
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

#[cfg(not(unix))]
fn open_carefully(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (open, named) = (file.metadata()?, fs::symlink_metadata(path)?);
    Ok(open.is_file() && (open.dev(), open.ino()) == (named.dev(), named.ino()))
}

#[cfg(not(unix))]
fn is_same_file(_file: &File, _path: &Path) -> io::Result<bool> {
    // There is no way to tell, and without a boot nothing comes this far.
    Ok(false)
}
