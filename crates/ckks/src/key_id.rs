//! The public name of a secret.

use std::fmt;

use clathrate_samples::tag::key_name;
use serde::{Deserialize, Serialize};

use crate::error::CkksError;

/// A public name of a secret. Ciphertexts and keys carry it, so that an operation with a wrong key returns an
/// error instead of noise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyId(pub [u8; 16]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&key_name(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

impl KeyId {
    /// Checks that an object belongs to the same secret; `what` names the object in the error.
    ///
    /// # Errors
    /// [`CkksError::WrongSecret`] if it does not.
    pub fn check_same(self, other: KeyId, what: &'static str) -> Result<(), CkksError> {
        if self == other {
            return Ok(());
        }
        Err(CkksError::wrong_secret(what, other.to_string(), self.to_string()))
    }
}
