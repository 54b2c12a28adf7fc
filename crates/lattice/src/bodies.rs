//! Moves of the bodies: splitting a shared-mask bundle into bundles of one body.
//!
//! Joining bundles with different masks under one mask needs a key and is a switch (the format switch).

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::Domain;

impl<D: Domain> Bundle<D> {
    /// Body `body` with a copy of the mask: a one-body bundle under that body's secret.
    ///
    /// # Errors
    /// [`LatticeError::BodyOutOfRange`] where there is no such body.
    pub fn split_body(&self, body: usize) -> Result<Self, LatticeError> {
        let poly = self
            .bodies()
            .get(body)
            .ok_or(LatticeError::BodyOutOfRange { body, bodies: self.body_count() })?;
        Self::new(self.mask().iter(), [poly])
    }
}
