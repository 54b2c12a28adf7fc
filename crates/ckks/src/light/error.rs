//! Converts errors of light clients to errors of this crate.

use clathrate_samples::SampleError;

use crate::error::CkksError;
use crate::key_id::KeyId;

impl From<SampleError> for CkksError {
    fn from(error: SampleError) -> Self {
        match error {
            SampleError::NotFinite { index, value } => Self::NotFinite { index, value, shape: None },
            SampleError::Empty => Self::Empty { shape: vec![0] },
            SampleError::OtherOwner { what, found, expected } => Self::WrongSecret {
                what,
                found: KeyId(found).to_string(),
                expected: KeyId(expected).to_string(),
            },
            SampleError::NotEnoughMemory { operation, needed, free, remedy } => {
                Self::NotEnoughMemory { operation, needed, free, remedy }
            }
            SampleError::Sampling(error) => Self::Sampling(error),
            SampleError::OutOfRange { what, value, remedy } => Self::OutOfRange { what, value, remedy },
        }
    }
}
