//! The target of an output path: a regular file to replace, or a pipe or device to stream to.
//!
//! Symbolic links are resolved here, because a rename replaces a link instead of the file that it leads to.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of symbolic links that are followed, as in the Linux kernel.
const LINK_LIMIT: usize = 40;

/// The target of an output path.
#[derive(Debug)]
pub(super) enum Target {
    /// A regular file, existing or new, to be replaced by a rename.
    Replace {
        /// Its path with links resolved.
        path: PathBuf,
        /// The existing file's metadata.
        existing: Option<Metadata>,
    },
    /// A target that must not be replaced and receives a stream.
    #[cfg_attr(not(unix), allow(dead_code))]
    Stream(Stream),
}

/// A target that receives a stream.
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
    /// Opens the target for writing. Waits until a pipe has a reader.
    #[cfg(unix)]
    pub(super) fn open(&self) -> io::Result<File> {
        use std::io::Write;
        use std::os::fd::AsFd;
        // Duplicates of the descriptors, which share the position in a file behind them.
        Ok(match self {
            Self::Node(path) => OpenOptions::new().write(true).open(path)?,
            Self::Stdout => {
                io::stdout().flush()?;
                io::stdout().as_fd().try_clone_to_owned()?.into()
            }
            Self::Stderr => io::stderr().as_fd().try_clone_to_owned()?.into(),
        })
    }

    /// Opens the target for writing.
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

/// Follows symbolic links from `path` to the target.
///
/// # Errors
/// Those of the system, among others for folders, loops of links and paths without a file name;
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
    // The system refuses such a path, too, and its error has a number.
    Err(fs::metadata(path).err().unwrap_or_else(|| invalid("too many symbolic links")))
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// The system's error for opening a path that cannot be written to.
fn refusal(path: &Path) -> io::Error {
    OpenOptions::new().write(true).open(path).err().unwrap_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// The target for a path that does not exist.
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

/// The target of `/proc/PID/fd/N`, and so of `/dev/stdout` and `/dev/fd/N`. Such a link leads to an open
/// file, which may have no name any more, so the path that the link shows must not be followed.
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
