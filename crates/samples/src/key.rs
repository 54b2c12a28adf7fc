//! The key by which a client and a server authenticate what they send to each other.
//!
//! ```text
//! owner      K    the authentication key, one for all clients, for the server
//! client     T = keyed BLAKE3(K, terms without the seed)                 in its state
//! bytes      first 16 bytes of keyed BLAKE3(T, what it is, the bytes)    at the end of an introduction, a message, a reply
//! ```

use std::fmt;

use zeroize::Zeroizing;

use crate::error::SampleError;
use crate::tag::{TAG_BYTES, same_tag, tag_of};
use crate::wire::unreadable;

/// The key of one client.
#[derive(Clone)]
pub struct ClientKey(Zeroizing<[u8; 32]>);

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientKey(redacted)")
    }
}

impl ClientKey {
    /// The key with these bytes, which follow from the owner's key and the client's terms.
    #[must_use]
    pub const fn new(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    /// The bytes, a secret.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// Appends the tag of `bytes`. The tag also covers `context`, which is not sent; `context` is empty for
    /// bytes that begin with a magic.
    pub fn seal(&self, context: &[u8], bytes: &mut Vec<u8>) {
        let tag = self.tag(context, bytes);
        bytes.extend_from_slice(&tag);
    }

    /// The bytes without their tag, after the tag has been checked.
    ///
    /// # Errors
    /// [`SampleError::OutOfRange`] for a tag of another key.
    pub fn open<'b>(
        &self,
        context: &[u8],
        bytes: &'b [u8],
        what: &'static str,
    ) -> Result<&'b [u8], SampleError> {
        let (content, tag) = split(bytes, what)?;
        if same_tag(&self.tag(context, content), tag) { Ok(content) } else { Err(unauthenticated(what)) }
    }

    fn tag(&self, context: &[u8], bytes: &[u8]) -> [u8; TAG_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(context);
        hasher.update(bytes);
        tag_of(hasher)
    }
}

/// Splits off the tag at the end of `bytes`.
///
/// # Errors
/// [`SampleError::OutOfRange`] for bytes that are too short.
pub fn split<'b>(bytes: &'b [u8], what: &'static str) -> Result<(&'b [u8], &'b [u8]), SampleError> {
    let length = bytes.len().checked_sub(TAG_BYTES);
    length.map(|length| bytes.split_at(length)).ok_or_else(|| {
        let value = format!("{} bytes where at least {TAG_BYTES} are needed", bytes.len());
        unreadable(what, value, "the bytes are cut off: send them again")
    })
}

/// The error for bytes with a wrong tag.
fn unauthenticated(what: &'static str) -> SampleError {
    let remedy = "it was changed or cut off on the way, or somebody else made it: send it again as it was made, and use the authentication key of the client's owner";
    unreadable(what, "not authenticated".to_owned(), remedy)
}
