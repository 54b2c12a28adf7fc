//! Stops long reading and writing between two pieces.

use std::fmt;
use std::io;
use std::sync::Arc;

use clathrate_arith::secrecy::clear_stack;
use thiserror::Error;
use zeroize::Zeroizing;

/// Bytes between two questions: a hundredth of a second, and less, of any disk.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// What reading and writing asks in its course, before every megabyte at least, whether to go on.
#[derive(Clone)]
pub struct Watch(Arc<dyn Fn(u64) -> bool + Send + Sync>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// The answer was to stop. As an error of input and output it passes through code that knows no other;
/// `FileError::io` tells it apart.
#[derive(Debug, Error)]
#[error("stopped")]
pub(super) struct Stopped;

impl Watch {
    /// Asks `go_on`, which is told how many bytes are read or written next; none where only a checksum is
    /// computed.
    pub fn new(go_on: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(go_on))
    }

    /// An error where the answer is to stop.
    pub(super) fn check(&self, bytes: usize) -> io::Result<()> {
        if (self.0)(bytes as u64) { Ok(()) } else { Err(io::Error::other(Stopped)) }
    }
}

/// An error where there is a watch and its answer is to stop.
pub(super) fn check(watch: Option<&Watch>, bytes: usize) -> io::Result<()> {
    watch.map_or(Ok(()), |watch| watch.check(bytes))
}

/// BLAKE3 of `bytes`.
pub(super) fn hash(bytes: &[u8], watch: Option<&Watch>) -> io::Result<blake3::Hash> {
    // Overwritten in the end, because it holds the last bytes, which may be those of a secret key.
    let mut hasher = Zeroizing::new(blake3::Hasher::new());
    for piece in bytes.chunks(PIECE_BYTES) {
        check(watch, 0)?;
        hasher.update(piece);
    }
    let hash = hasher.finalize();
    clear_stack();
    Ok(hash)
}
