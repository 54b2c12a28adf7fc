//! Tags of files that the owner stores elsewhere, with which the owner recognises unchanged files.
//!
//! ```text
//! K      = derive_key("clathrate tags of an owner's files v1", seed of the secret key)
//! tag    = first 16 bytes of keyed BLAKE3(K, length of the name as 8 little-endian bytes, the name, the file)
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clathrate_samples::tag::{TAG_BYTES, finished, tag_of};

use super::secret::SecretKey;
use crate::error::CkksError;
use crate::file::FileError;

/// Domain-separation string of the keys of tags.
const DOMAIN: &str = "clathrate tags of an owner's files v1";

impl SecretKey {
    /// The tag of a file under a name of the caller's choice, such as its path and date. A server that stores
    /// the file cannot make the tag of another file, or of the same file under another name. The owner keeps
    /// the tag and compares it, and so detects files that were changed, exchanged or replaced by an older
    /// version. Checksums within files detect only accidental changes.
    ///
    /// # Errors
    /// Those of `file`.
    pub fn tag(&self, name: &str, mut file: impl Read) -> io::Result<[u8; TAG_BYTES]> {
        let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
        hasher.update(self.seed().as_ref());
        let mut hasher = blake3::Hasher::new_keyed(&finished(hasher));
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        let mut block = vec![0; 1 << 16];
        loop {
            match file.read(&mut block) {
                Ok(0) => return Ok(tag_of(hasher)),
                Ok(count) => _ = hasher.update(&block[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// [`SecretKey::tag`] of the file at `path`.
    ///
    /// # Errors
    /// [`CkksError::File`] if the file cannot be read.
    pub fn tag_of_file(&self, name: &str, path: impl AsRef<Path>) -> Result<[u8; TAG_BYTES], CkksError> {
        let path = path.as_ref();
        let tag = File::open(path).and_then(|file| self.tag(name, file));
        Ok(tag.map_err(|error| FileError::io(path, "read", error))?)
    }
}
