//! The diagonals of a plan as packed plaintexts. Diagonals with a short period are encoded in a subring, so they take little memory.

use std::sync::Arc;

use clathrate_lattice::{Basis, Eval, PackedPlaintexts, Poly};

use super::plan::{LinearTransformPlan, Step};
use crate::embedding::Encoder;
use crate::encoding::decode::round_to_poly;
use crate::error::CkksError;

/// Least number of slots of a subring.
const LEAST_SLOTS: usize = 4;

impl LinearTransformPlan {
    /// The plaintexts of each giant step over `basis`, encoded on the first call.
    ///
    /// # Errors
    /// [`CkksError::ValueTooLarge`] where a diagonal does not fit the modulus.
    pub(super) fn plaintexts(&self, basis: &Basis) -> Result<Arc<Vec<PackedPlaintexts>>, CkksError> {
        let mut known = self.plaintexts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(plaintexts) = known.get(basis.indices()) {
            return Ok(plaintexts.clone());
        }
        let slots = self.transform.period().max(LEAST_SLOTS).min(self.params.slot_count());
        let ring = self.params.chain().ring().subring(2 * slots)?;
        let encoder = Encoder::new(2 * slots);
        let encode = |step: &Step| -> Result<PackedPlaintexts, CkksError> {
            let polys = step.terms.iter().map(|term| {
                let coefficients = encoder.embed(&self.transform.rotated_diagonal(term.shift as i64, step.steps, slots));
                round_to_poly(&ring, basis, coefficients, self.diagonal_scale()).map(Poly::into_eval)
            });
            let polys: Vec<Poly<Eval>> = polys.collect::<Result<_, _>>()?;
            Ok(PackedPlaintexts::pack(&polys.iter().collect::<Vec<_>>())?)
        };
        let plaintexts = Arc::new(self.giants.iter().map(encode).collect::<Result<Vec<_>, CkksError>>()?);
        known.insert(basis.indices().to_vec(), plaintexts.clone());
        Ok(plaintexts)
    }

    /// Bytes of all plaintexts that were encoded so far.
    #[must_use]
    pub fn plaintext_bytes(&self) -> usize {
        let known = self.plaintexts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.values().flat_map(|plaintexts| plaintexts.iter()).map(PackedPlaintexts::bytes).sum()
    }

    /// Drops the encoded plaintexts; they are encoded again when needed.
    pub fn drop_plaintexts(&self) {
        self.plaintexts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    }
}
