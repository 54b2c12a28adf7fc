//! The public name of a secret.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::CkksError;

/// A public name of a secret: ciphertexts and keys carry it, so that a wrong key is an error and not noise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyId(pub [u8; 16]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

impl KeyId {
    /// Refuses objects of another secret.
    ///
    /// # Errors
    /// [`CkksError::WrongSecret`].
    pub fn check_same(self, other: KeyId, what: &'static str) -> Result<(), CkksError> {
        if self == other {
            return Ok(());
        }
        Err(CkksError::WrongSecret { what, found: other.to_string(), expected: self.to_string() })
    }
}
