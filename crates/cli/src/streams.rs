//! Names of streams: `-` for standard input or output, and pipes and devices.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clathrate_arith::machine;
use clathrate_ckks::file::{FileError, OutputFile, leads_to_stdout};

/// The name of standard input and output.
const DASH: &str = "-";

fn is_dash(path: &Path) -> bool {
    path.as_os_str() == DASH
}

/// Whether reading `path` reads this process's standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    is_dash(path) || ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name))
}

/// Whether writing to `path` writes to this process's standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    is_dash(path) || leads_to_stdout(path)
}

/// Whether this process was started without a standard output. What is printed then vanishes without an
/// error.
///
/// The program `clathrate` never is, because Rust opens `/dev/null` in place of closed streams. A Python
/// process can be.
pub(crate) fn stdout_is_closed() -> bool {
    #[cfg(unix)]
    let duplicate = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    #[cfg(windows)]
    let duplicate = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
    duplicate.is_err()
}

/// Whether writing to `path` would replace a file. Pipes and character devices are not replaced.
pub(crate) fn is_occupied(path: &Path) -> bool {
    let replaced = |about: Metadata| about.is_file() || about.is_symlink();
    // Links are followed; a broken link counts as a file.
    !is_stdout(path)
        && std::fs::metadata(path).or_else(|_| std::fs::symlink_metadata(path)).is_ok_and(replaced)
}

/// The canonical path of the file to which writing to `path` leads: links are followed.
pub(crate) fn place(path: &Path) -> PathBuf {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = path.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (std::fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// The name of an input in messages.
pub(crate) fn input_name(path: PathBuf) -> PathBuf {
    if is_dash(&path) { PathBuf::from("(stdin)") } else { path }
}

/// Opens the stream that `path` names; `None` for a file, a folder or a missing path. Waits for the writer of
/// a pipe.
///
/// # Errors
/// Errors of opening the stream.
pub(crate) fn input(path: &Path) -> io::Result<Option<Box<dyn Read>>> {
    if is_dash(path) {
        return Ok(Some(Box::new(io::stdin())));
    }
    // Other errors occur when the path is opened as a file.
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() && !about.is_dir() => {
            Ok(Some(if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(File::open(path)?) }))
        }
        _ => Ok(None),
    }
}

/// Creates the file at `path`, or the output to standard output.
pub(crate) fn create(path: &Path, private: bool) -> Result<OutputFile, FileError> {
    if is_dash(path) { OutputFile::stdout(private) } else { OutputFile::create(path, private) }
}

/// The limit on the bytes of a stream: the free memory.
pub(crate) fn free_memory() -> u64 {
    machine::memory().map_or(u64::MAX, |memory| memory.free_bytes)
}
