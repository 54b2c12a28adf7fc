//! Cancellation of long reads and writes.

use std::fmt;
use std::io;
use std::sync::Arc;

use clathrate_arith::secrecy::clear_stack;
use thiserror::Error;
use zeroize::Zeroizing;

/// Bytes between two calls of the callback: at most a hundredth of a second of any disk.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// A callback that reading and writing call at least once per megabyte and that decides whether to continue.
#[derive(Clone)]
pub struct Watch(Arc<dyn Fn(u64) -> bool + Send + Sync>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// The callback returned `false`. Wrapped in an `io::Error`, which passes through other code; `FileError::io`
/// recognises it.
#[derive(Debug, Error)]
#[error("stopped")]
pub(super) struct Stopped;

impl Watch {
    /// Calls `go_on` with the number of bytes that are read or written next; 0 if only a checksum is
    /// computed.
    pub fn new(go_on: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(go_on))
    }

    /// An error if the callback returns `false`.
    pub(super) fn check(&self, bytes: usize) -> io::Result<()> {
        if (self.0)(bytes as u64) { Ok(()) } else { Err(io::Error::other(Stopped)) }
    }
}

/// An error if there is a watch and its callback returns `false`.
pub(super) fn check(watch: Option<&Watch>, bytes: usize) -> io::Result<()> {
    watch.map_or(Ok(()), |watch| watch.check(bytes))
}

/// BLAKE3 of `bytes`.
pub(super) fn hash(bytes: &[u8], watch: Option<&Watch>) -> io::Result<blake3::Hash> {
    // Overwritten on drop, because it holds the last bytes, which may be those of a secret key.
    let mut hasher = Zeroizing::new(blake3::Hasher::new());
    for piece in bytes.chunks(PIECE_BYTES) {
        check(watch, 0)?;
        hasher.update(piece);
    }
    let hash = hasher.finalize();
    clear_stack();
    Ok(hash)
}
