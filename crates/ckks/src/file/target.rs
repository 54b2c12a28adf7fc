//! What an output path leads to: a regular file to replace, or a pipe or device to stream to.
//!
//! Symbolic links are followed by hand, because a rename replaces the link itself and not the file that it
//! leads to.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Most symbolic links followed, as in the Linux kernel.
const LINK_LIMIT: usize = 40;

/// What will be written to.
#[derive(Debug)]
pub(super) enum Target {
    /// A regular file that exists or will: replaced by a rename.
    Replace {
        /// Its path, links resolved.
        path: PathBuf,
        /// What is there now.
        existing: Option<Metadata>,
    },
    /// What must stay where it is, and takes bytes in order.
    #[cfg_attr(not(unix), allow(dead_code))]
    Stream(Stream),
}

/// A target that takes bytes in order.
#[derive(Debug)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(super) enum Stream {
    /// A pipe or a character device.
    Node(PathBuf),
    /// This process's standard output.
    Stdout,
    /// This process's standard error.
    Stderr,
}

impl Stream {
    /// Opens it for writing. A pipe without a reader is waited for.
    #[cfg(unix)]
    pub fn open(&self) -> io::Result<File> {
        use std::io::Write;
        use std::os::fd::AsFd;
        // Duplicates, which share the position in the file that the descriptor may lead to.
        Ok(match self {
            Self::Node(path) => OpenOptions::new().write(true).open(path)?,
            Self::Stdout => {
                io::stdout().flush()?;
                io::stdout().as_fd().try_clone_to_owned()?.into()
            }
            Self::Stderr => io::stderr().as_fd().try_clone_to_owned()?.into(),
        })
    }

    /// Opens it for writing.
    #[cfg(windows)]
    pub fn open(&self) -> io::Result<File> {
        use std::os::windows::io::AsHandle;
        Ok(match self {
            Self::Node(path) => OpenOptions::new().write(true).open(path)?,
            Self::Stdout => io::stdout().as_handle().try_clone_to_owned()?.into(),
            Self::Stderr => io::stderr().as_handle().try_clone_to_owned()?.into(),
        })
    }
}

/// Whether writing to `path` writes to this process's standard output, as `/dev/stdout` does.
#[must_use]
pub fn leads_to_stdout(path: &Path) -> bool {
    matches!(resolve(path), Ok(Target::Stream(Stream::Stdout)))
}

/// Follows symbolic links from `path` to what will be written to.
///
/// # Errors
/// Those of the system, for folders, for loops of links and for paths without a file name among others;
/// `InvalidInput` for block devices, sockets and other processes' descriptors of regular files.
pub(super) fn resolve(path: &Path) -> io::Result<Target> {
    let mut current = path.to_path_buf();
    for _ in 0..=LINK_LIMIT {
        if let Some(target) = descriptor(&current)? {
            return Ok(target);
        }
        match fs::symlink_metadata(&current) {
            Ok(about) if about.is_symlink() => {
                let next = fs::read_link(&current)?;
                current = current.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
            }
            Ok(about) => return existing(current, about),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return absent(current),
            Err(error) => return Err(error),
        }
    }
    // The system gives up on such a path as well, and its error has a number.
    Err(fs::metadata(path).err().unwrap_or_else(|| invalid("too many symbolic links")))
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// The system's own error for opening what cannot be written to.
fn refusal(path: &Path) -> io::Error {
    OpenOptions::new().write(true).open(path).err().unwrap_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// A name that nothing has yet.
fn absent(path: PathBuf) -> io::Result<Target> {
    let folder_meant = path
        .as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|&byte| std::path::is_separator(char::from(byte)));
    if folder_meant {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if path.file_name().is_none() {
        return Err(refusal(&path));
    }
    Ok(Target::Replace { path, existing: None })
}

#[cfg(unix)]
fn existing(path: PathBuf, about: Metadata) -> io::Result<Target> {
    use std::os::unix::fs::FileTypeExt;
    let kind = about.file_type();
    if kind.is_file() {
        return Ok(Target::Replace { path, existing: Some(about) });
    }
    if kind.is_dir() {
        return Err(refusal(&path));
    }
    if kind.is_fifo() || kind.is_char_device() {
        return Ok(Target::Stream(Stream::Node(path)));
    }
    Err(invalid(if kind.is_block_device() {
        "it is a block device, and a file there would destroy what it holds; write to a regular file, and copy that on purpose"
    } else {
        "it is a socket; write to a regular file or a pipe"
    }))
}

#[cfg(not(unix))]
fn existing(path: PathBuf, about: Metadata) -> io::Result<Target> {
    if about.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Ok(Target::Replace { path, existing: Some(about) })
    }
}

/// What `/proc/PID/fd/N` leads to, and by it `/dev/stdout` and `/dev/fd/N`. Such a link leads to an open
/// file, which may have no name or have lost it, so the path that it shows must not be followed.
#[cfg(target_os = "linux")]
fn descriptor(path: &Path) -> io::Result<Option<Target>> {
    let (Some(folder), Some(number)) = (path.parent(), path.file_name()) else { return Ok(None) };
    if !folder.ends_with("fd") {
        return Ok(None);
    }
    let Ok(folder) = fs::canonicalize(folder) else { return Ok(None) };
    if !folder.starts_with("/proc") || !folder.ends_with("fd") {
        return Ok(None);
    }
    let about = fs::metadata(path)?;
    if folder.starts_with(format!("/proc/{}", std::process::id())) {
        match number.to_str() {
            Some("1") => return Ok(Some(Target::Stream(Stream::Stdout))),
            Some("2") => return Ok(Some(Target::Stream(Stream::Stderr))),
            _ => {}
        }
    }
    if about.is_file() {
        return Err(invalid("it is a descriptor of a regular file; give the file's own name"));
    }
    existing(path.to_path_buf(), about).map(Some)
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_path: &Path) -> io::Result<Option<Target>> {
    Ok(None)
}
