//! How much noise hides a result's error from those who see the result.
//!
//! Flooding noise uniform over `2^b` integers hides an error of at most `E` up to the statistical distance `E / 2^b` per coefficient.
//! Summed over the coefficients of one decryption and over all decryptions that are shared, it stays below `2^-lambda` for
//!
//! ```text
//! b = ceil(log2 E + log2(coefficients) + log2(queries) + lambda)
//! ```
//!
//! Source: SECURITY.md; the attack is Li and Micciancio's on approximate decryptions.

use crate::arrays::Ciphertext;
use crate::error::CkksError;

/// Most bits of flooding noise: a sample is one signed word.
const FLOOD_LIMIT_BITS: f64 = 62.0;

impl Ciphertext {
    /// Flooding bits for [`crate::SecretKey::decrypt_to_share`] such that `queries` shared decryptions of this shape reveal their
    /// errors with statistical distance at most `2^-statistical_bits` in all.
    ///
    /// Units: `error_bound` is in units of the decrypted numbers: the caller's bound on how far this ciphertext's numbers may be from the exact
    /// numbers. The shared numbers are then correct to about `2^(flood_bits - 1) / scale`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a bound that is not positive, no queries, or a budget that needs more than 62 bits or more than the
    /// modulus has.
    pub fn flood_bits(&self, error_bound: f64, queries: u64, statistical_bits: u32) -> Result<u32, CkksError> {
        if !(error_bound.is_finite() && error_bound > 0.0) {
            let remedy = "give a positive bound on the error, in units of the decrypted numbers".to_owned();
            return Err(CkksError::OutOfRange { what: "error_bound", value: error_bound.to_string(), remedy });
        }
        if queries == 0 {
            let remedy = "count the decryptions that will be shared: at least 1".to_owned();
            return Err(CkksError::OutOfRange { what: "queries", value: "0".to_owned(), remedy });
        }
        let coefficients = (self.bundles().len() * self.layout().bodies * self.params().degree()) as f64;
        // The error counts as at least one integer, because rounding alone causes that much.
        let error = (error_bound * self.scale()).max(1.0);
        let bits = (error.log2() + coefficients.log2() + (queries as f64).log2() + f64::from(statistical_bits)).ceil();
        let room = (self.params().log2_q(self.level()) - 1.0).floor().min(FLOOD_LIMIT_BITS);
        if bits > room {
            let remedy = format!(
                "at level {} and scale 2^{:.1} there is room for {room}: share at a higher level, ask for fewer queries or statistical bits, or compute with less error",
                self.level(),
                self.scale().log2()
            );
            return Err(CkksError::OutOfRange { what: "the flooding noise needed, in bits,", value: format!("{bits}"), remedy });
        }
        Ok(bits as u32)
    }
}
