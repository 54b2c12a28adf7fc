//! Where the keys' randomness comes from.

use std::sync::{Arc, Mutex, PoisonError};

use clathrate_lattice::SecretRng;

use crate::error::CkksError;

/// The generator that was given, or for each operation a new one from the operating system's entropy. Clones
/// share the generator that was given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Randomness(Option<Arc<Mutex<SecretRng>>>);

impl Randomness {
    /// Randomness from `rng`.
    pub(super) fn of(rng: SecretRng) -> Self {
        Self(Some(Arc::new(Mutex::new(rng))))
    }

    /// One operation, which draws from the generator that it is given. Operations that share a generator wait
    /// for one another.
    ///
    /// # Errors
    /// [`CkksError::Lattice`] where entropy fails; those of `operation`.
    pub(super) fn draw<T>(
        &self,
        operation: impl FnOnce(&mut SecretRng) -> Result<T, CkksError>,
    ) -> Result<T, CkksError> {
        match &self.0 {
            Some(rng) => operation(&mut rng.lock().unwrap_or_else(PoisonError::into_inner)),
            None => operation(&mut SecretRng::from_os()?),
        }
    }
}
