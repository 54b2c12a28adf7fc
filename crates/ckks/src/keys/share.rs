//! How much noise hides a result's error from those who see the result.
//!
//! Flooding noise uniform over `2^b` integers hides an error of at most `E` up to the statistical distance `E
//! / 2^b` per coefficient. Summed over the coefficients of one decryption and over all decryptions that are
//! shared, it stays below `2^-lambda` for
//!
//! ```text
//! b = ceil(log2 E + log2(coefficients) + log2(queries) + lambda)
//! ```
//!
//! This is a statement about an evaluator that computed what was asked: for no other has the result's error a
//! bound. The security of shared results is a pair, the bits of the parameters against whoever computes much,
//! and `lambda` against whoever sees all shared results, however much he computes.
//!
//! Source: SECURITY.md; the attack is Li and Micciancio's on approximate decryptions.

use crate::arrays::{Ciphertext, Encoding};
use crate::error::CkksError;

/// Most bits of flooding noise: with the message, coefficients stay exact in 128 bits.
pub(super) const MOST_FLOOD_BITS: u32 = 118;

/// Bits of flooding noise that are drawn at once.
pub(super) const FLOOD_WORD_BITS: u32 = 62;

/// The presets for results that are shared, named in errors.
const PRESET: &str = "share_n14";

/// The caller's word that a result is from an evaluator that computed what was asked, which
/// [`crate::SecretKey::decrypt_to_share`] needs.
///
/// One that did not can put the secret into the result, where noise does not hide it. Where the evaluator is
/// not trusted so far, compute the result again, at the owner's or by a second evaluator, and compare both
/// with [`Ciphertext::same_as`]: the same steps give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HonestEvaluator;

impl Ciphertext {
    /// Flooding bits for [`crate::SecretKey::decrypt_to_share`] such that `queries` shared decryptions of
    /// this shape reveal their errors with statistical distance at most `2^-statistical_bits` in all, and the
    /// shared numbers have `correct_bits` right bits behind the point.
    ///
    /// This is for results of an evaluator that computed what was asked. For one that did not there is no
    /// bound on the error, and no number of bits that hides the secret: neither the numbers nor whether
    /// decryption failed may reach it.
    ///
    /// The security of shared results is a pair: the bits of the parameters
    /// ([`crate::Params::security_bits`]) against whoever computes much, and `statistical_bits` against
    /// whoever sees all of them. `queries` are all results that the key will ever share,
    /// [`Shares::budget`](super::Shares) where it has one.
    ///
    /// Units: `error_bound` is in units of the numbers: the caller's bound on how far the encrypted numbers
    /// may be from the exact ones. `None` takes what the array states
    /// ([`Estimate::encrypted_error_bound`](crate::arrays::Estimate::encrypted_error_bound)), which is less
    /// than [`Ciphertext::error_bound`] where the numbers have more bits than a double; the owner's own dry
    /// run states it for a symbol, whatever an evaluator wrote into a file.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a bound that is not positive, or none where the array states none, no
    /// queries, and where noise that is large enough has no room or leaves fewer correct bits.
    pub fn flood_bits(
        &self,
        error_bound: Option<f64>,
        queries: u64,
        statistical_bits: u32,
        correct_bits: u32,
    ) -> Result<u32, CkksError> {
        let stated = self.estimate().encrypted_error_bound(self.layout());
        if error_bound.is_none() && !stated.is_finite() {
            let remedy = "encrypt with a bound on the numbers, or give a bound on their errors, in units of the numbers".to_owned();
            return Err(CkksError::OutOfRange { what: "error_bound", value: "not known".to_owned(), remedy });
        }
        let error_bound = error_bound.unwrap_or(stated);
        if !(error_bound.is_finite() && error_bound > 0.0) {
            let remedy = "give a positive bound on the error, in units of the decrypted numbers".to_owned();
            return Err(CkksError::OutOfRange {
                what: "error_bound",
                value: error_bound.to_string(),
                remedy,
            });
        }
        if queries == 0 {
            let remedy = "count the decryptions that will be shared: at least 1".to_owned();
            return Err(CkksError::OutOfRange { what: "queries", value: "0".to_owned(), remedy });
        }
        let coefficients = (self.layout().bundles() * self.layout().bodies * self.params().degree()) as f64;
        // The error counts as at least one integer, because rounding alone causes that much.
        let error = (error_bound * self.scale()).max(1.0);
        let bits =
            (error.log2() + coefficients.log2() + (queries as f64).log2() + f64::from(statistical_bits))
                .ceil();
        let log2_scale = self.scale().log2();
        let correct = self.shared_bits(bits);
        if correct < f64::from(correct_bits) {
            let needed = (log2_scale + f64::from(correct_bits) - correct).ceil();
            let preset = if self.params().spec().name == PRESET {
                String::new()
            } else {
                format!(", as with the preset \"{PRESET}\"")
            };
            let remedy = format!(
                "the noise has {bits} bits at scale 2^{log2_scale:.1}: compute at a scale of at least 2^{needed:.0} and as small an error in integers{preset}, or ask \
                 for fewer queries, statistical bits or correct bits"
            );
            return Err(CkksError::OutOfRange {
                what: "the number of correct bits of shared numbers",
                value: format!("{correct:.1}"),
                remedy,
            });
        }
        let headroom = (self.params().log2_q(self.level()) - 2.0).floor().min(f64::from(MOST_FLOOD_BITS));
        if bits > headroom {
            let remedy = format!(
                "at level {} and scale 2^{log2_scale:.1} there is room for {headroom}: share at a higher level, ask for fewer queries or statistical bits, or compute with less error",
                self.level(),
            );
            return Err(CkksError::OutOfRange {
                what: "the flooding noise needed, in bits,",
                value: format!("{bits}"),
                remedy,
            });
        }
        Ok(bits as u32)
    }

    /// Correct bits behind the point of numbers of this ciphertext that are shared with `flood_bits` bits of
    /// noise: the negative binary logarithm of the noise's root mean square in an entry.
    #[must_use]
    pub fn shared_bits(&self, flood_bits: f64) -> f64 {
        // Uniform noise of width 2^b has the variance 2^(2 b) / 12. A slot is the sum of twice as many
        // coefficients as there are slots, times roots of unity; a real number has the real part of it. A
        // complex number among coefficients is two of them.
        let parts = if self.is_complex() { 2.0 } else { 1.0 };
        let terms =
            if self.encoding() == Encoding::Slots { parts * self.layout().period() as f64 } else { parts };
        self.scale().log2() - flood_bits + 0.5 * 12f64.log2() - 0.5 * terms.log2()
    }
}
