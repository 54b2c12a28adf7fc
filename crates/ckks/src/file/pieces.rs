//! Splits long reads and writes into pieces and reports each piece.

use std::io;

use clathrate_arith::secrecy::clear_stack;
use zeroize::Zeroizing;

use crate::progress::{Event, Progress};

/// Bytes between two reports; any disk needs at most a hundredth of a second for them.
pub(super) const PIECE_BYTES: usize = 1 << 20;

/// Reports that `bytes` bytes are read or written next; 0 if only a checksum is computed.
///
/// # Errors
/// [`Cancelled`](crate::progress::Cancelled) in an `io::Error`, which passes through other code;
/// `FileError::io` recognises it.
pub(super) fn report(progress: &Progress, bytes: usize) -> io::Result<()> {
    progress.report(Event::Bytes(bytes as u64)).map_err(io::Error::other)
}

/// BLAKE3 of `bytes`.
pub(super) fn hash(bytes: &[u8], progress: &Progress) -> io::Result<blake3::Hash> {
    // Overwritten on drop, because it holds the last bytes, which may be those of a secret key.
    let mut hasher = Zeroizing::new(blake3::Hasher::new());
    for piece in bytes.chunks(PIECE_BYTES) {
        report(progress, 0)?;
        hasher.update(piece);
    }
    let hash = hasher.finalize();
    clear_stack();
    Ok(hash)
}
