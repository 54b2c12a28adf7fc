//! Files that are being written under temporary names, and files that killed writers left behind.
//!
//! A partial file is called `.clathrate-BOOT-RANDOM.partial` and locked (flock) by its writer until it is
//! renamed or removed. BOOT identifies the running kernel. The kernel releases a lock when its process ends
//! for any reason. A process that gets the lock of a partial file of the *same* boot therefore knows that its
//! writer is dead, on network file systems, too: one kernel manages both locks. Files of another boot may
//! belong to a living writer on another machine and are kept.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::container::MAGIC;

/// Bytes at the beginning of a partial file that are written last, in place of [`MARK`].
pub(super) const HEAD_BYTES: usize = 64;
/// The beginning of an incomplete file.
pub(super) const MARK: [u8; HEAD_BYTES] =
    *b"CLATPART: unfinished; its writer holds a lock (flock) on it.\n\0\0\0";
/// The beginning of arrays that `clathrate decrypt` writes.
const ARRAY_MAGIC: [u8; 6] = *b"\x93NUMPY";

const PREFIX: &str = ".clathrate-";
const SUFFIX: &str = ".partial";
/// Random characters of a name.
const RANDOM_CHARACTERS: usize = 6;
/// Hexadecimal digits of a name that identify the boot.
const BOOT_DIGITS: usize = 16;
/// Number of names that are tried if another process, such as a cleaner, locks a new file first.
const LOCK_ATTEMPTS: usize = 8;
/// Maximum number of folder entries that are examined, which takes some milliseconds. In larger folders
/// partial files may remain.
const SCAN_LIMIT: usize = 16_384;

/// Creates a file in `folder`, open for writing, locked, and starting with [`MARK`]. It is removed if it is
/// dropped before it is renamed.
///
/// `mode` are its permissions on Unix, before the umask.
///
/// # Errors
/// Those of the system, with their numbers.
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
                // The file system has no locks.
                Err(TryLockError::Error(_)) => break,
            }
        }
    }
    // Without a lock nobody can tell that this file is abandoned, so its name does not have the boot.
    create_named(folder, PREFIX, mode)
}

fn create_named(folder: &Path, prefix: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    // `tempfile` would wrap the system's error and lose its number.
    tempfile::Builder::new()
        .prefix(prefix)
        .suffix(SUFFIX)
        .rand_bytes(RANDOM_CHARACTERS)
        .make_in(folder, |path| options.open(path))
}

/// Digits that identify the running kernel; `None` on other systems than Linux.
fn boot() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(BOOT_DIGITS).collect();
    (digits.len() == BOOT_DIGITS).then_some(digits)
}

/// Removes the partial files in `folder` whose writers are dead. Files that cannot be read, locked or removed
/// are kept.
pub(super) fn remove_abandoned(folder: &Path) {
    let Some(boot) = boot() else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.take(SCAN_LIMIT).flatten() {
        if entry.file_name().to_str().is_some_and(|name| is_name_of(name, &boot)) {
            // A partial file that remains does no harm; the caller's file matters more.
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

/// Whether [`create`] made a file of this name under this boot.
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

/// Removes the partial file at `path` if its lock can be taken, and returns whether it did.
fn remove_if_abandoned(path: &Path) -> io::Result<bool> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut file = open_carefully(path)?;
    // These bytes are written after the lock is taken: a file without them may be new and not locked yet.
    let mut head = [0; HEAD_BYTES];
    file.read_exact(&mut head)?;
    if head != MARK && !head.starts_with(&MAGIC) && !head.starts_with(&ARRAY_MAGIC) {
        return Ok(false);
    }
    if file.try_lock().is_err() {
        return Ok(false);
    }
    // The writer may have renamed its file after it was opened here; then the locked file does not have this
    // name any more.
    if !is_same_file(&file, path)? {
        return Ok(false);
    }
    fs::remove_file(path)?;
    Ok(true)
}

#[cfg(unix)]
fn open_carefully(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // Does not follow a link or wait for a pipe, if the name was reused. Opens for writing, since network
    // file systems lock only such files.
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
    // Not reached: without a boot identifier no file is examined.
    Ok(false)
}
