//! Converts errors of light clients to errors of this crate.

use clathrate_samples::SampleError;

use crate::error::CkksError;
use crate::key_id::KeyId;

impl From<SampleError> for CkksError {
    fn from(error: SampleError) -> Self {
        match error {
            SampleError::NotFinite { index, value } => Self::NotFinite { index, value, shape: None },
            SampleError::Empty => Self::no_entries([0]),
            SampleError::OtherOwner { what, found, expected } => {
                Self::wrong_secret(what, KeyId(found), KeyId(expected))
            }
            SampleError::NotEnoughMemory { operation, needed, free, remedy } => {
                Self::NotEnoughMemory { operation, needed, free, remedy }
            }
            SampleError::Sampling(error) => error.into(),
            SampleError::OutOfRange { what, value, remedy } => Self::OutOfRange { what, value, remedy },
        }
    }
}
