//! Tags of bytes by keyed BLAKE3.

use zeroize::{Zeroize, Zeroizing};

/// The first bytes of a secret key's name in hexadecimal, for messages.
#[must_use]
pub fn key_name(id: &[u8; 16]) -> String {
    id[..6].iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// Bytes of a tag.
pub const TAG_BYTES: usize = 16;

/// Whether two tags are the same. Always compares all bytes, so that the time does not reveal where the tags
/// differ.
#[must_use]
pub fn same_tag(own: &[u8; TAG_BYTES], other: &[u8]) -> bool {
    let difference = own.iter().zip(other).fold(0, |difference, (own, other)| difference | (own ^ other));
    other.len() == TAG_BYTES && std::hint::black_box(difference) == 0
}

/// The first bytes of the hash, as a tag.
#[must_use]
pub fn tag_of(hasher: blake3::Hasher) -> [u8; TAG_BYTES] {
    let whole = finished(hasher);
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&whole[..TAG_BYTES]);
    tag
}

/// The hash; the hasher and other copies of the hash are overwritten.
#[must_use]
pub fn finished(mut hasher: blake3::Hasher) -> Zeroizing<[u8; 32]> {
    let mut hash = hasher.finalize();
    let bytes = Zeroizing::new(*hash.as_bytes());
    hash.zeroize();
    hasher.zeroize();
    bytes
}
