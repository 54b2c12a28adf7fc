//! The random generator of a key's operations.

use std::sync::{Arc, Mutex, PoisonError};

use clathrate_lattice::SecretRng;

use crate::error::CkksError;

/// The generator that the caller gave, or `None` for a new generator per operation, seeded from the operating
/// system's entropy. Clones share the caller's generator.
#[derive(Debug, Clone, Default)]
pub(crate) struct Randomness(Option<Arc<Mutex<SecretRng>>>);

impl Randomness {
    /// Randomness from `rng`.
    pub(super) fn of(rng: SecretRng) -> Self {
        Self(Some(Arc::new(Mutex::new(rng))))
    }

    /// Runs `operation` with the generator. Operations that share a generator run one after another.
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
