//! The amount of noise that hides a result's error from everybody who sees the result.
//!
//! Flooding noise uniform over `2^b` integers hides an error of at most `E` up to the statistical distance `E
//! / 2^b` per coefficient. Summed over the coefficients of one decryption and over all decryptions that are
//! shared, it stays below `2^-lambda` for
//!
//! ```text
//! b = ceil(log2 E + log2(coefficients) + log2(queries) + lambda)
//! ```
//!
//! This holds for an evaluator that computed what was asked, because otherwise the result's error has no
//! bound. The security of shared results is a pair: the parameters' bits against an adversary with bounded
//! computing power, and `lambda` against any adversary who sees all shared results.
//!
//! Source: SECURITY.md; the attack is Li and Micciancio's on approximate decryptions.

use crate::arrays::{Ciphertext, Encoding};
use crate::error::CkksError;

/// Most bits of flooding noise, such that the sum of message and noise is exact in 128 bits.
pub(super) const MAX_FLOOD_BITS: u32 = 118;

/// Bits of flooding noise that are drawn as one word.
pub(super) const FLOOD_WORD_BITS: u32 = 62;

/// The preset for shared results, which errors recommend.
const PRESET: &str = "share_n14";

/// The caller's statement that a result is from an evaluator that computed what was asked.
/// [`crate::SecretKey::decrypt_to_share`] requires it.
///
/// A dishonest evaluator can put the secret into the result, where noise does not hide it. For an evaluator
/// that is not trusted, compute the result again, at the owner's or on a second evaluator, and compare both
/// results with [`Ciphertext::same_as`]: the same operations give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HonestEvaluator;

impl Ciphertext {
    /// Flooding bits for [`crate::SecretKey::decrypt_to_share`] such that `queries` shared decryptions of
    /// this shape reveal their errors with statistical distance at most `2^-statistical_bits` in total, and
    /// the shared numbers have `correct_bits` correct bits after the binary point.
    ///
    /// This holds for results of an evaluator that computed what was asked. For another evaluator the error
    /// has no bound, and no number of bits hides the secret: such an evaluator must learn neither the numbers
    /// nor whether decryption failed.
    ///
    /// The security of shared results is a pair: the parameters' bits ([`crate::Params::security_bits`])
    /// against an adversary with limited computing power, and `statistical_bits` against any adversary who
    /// sees all shared results. `queries` is the number of results that the key will ever share,
    /// [`Shares::budget`](super::Shares) if it has a budget.
    ///
    /// Units: `error_bound` is in units of the numbers: the caller's bound on the difference between the
    /// encrypted and the exact numbers. `None` takes the array's own bound
    /// ([`Estimate::encrypted_error_bound`](crate::arrays::Estimate::encrypted_error_bound)), which is less
    /// than [`Ciphertext::error_bound`] if the numbers have more bits than a double. An evaluator may have
    /// written a false bound into a file; the owner can trust the bound of a symbol from the owner's own dry
    /// run.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a bound that is not positive, or no bound if the array has none; for no
    /// queries; and if noise of the required size does not fit into the modulus or leaves fewer correct bits.
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
        let coefficients = (self.layout().bundles() * self.layout().bodies() * self.params().degree()) as f64;
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
        let headroom = (self.params().log2_q(self.level()) - 2.0).floor().min(f64::from(MAX_FLOOD_BITS));
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

    /// Correct bits after the binary point of this ciphertext's numbers if they are shared with `flood_bits`
    /// bits of noise: the negative binary logarithm of the noise's root mean square in an entry.
    #[must_use]
    pub fn shared_bits(&self, flood_bits: f64) -> f64 {
        // Uniform noise of width 2^b has the variance 2^(2 b) / 12. A slot is the sum of twice as many
        // coefficients as there are slots, times roots of unity; a real number is its real part. A complex
        // number in coefficients consists of two coefficients.
        let parts = if self.is_complex() { 2.0 } else { 1.0 };
        let terms =
            if self.encoding() == Encoding::Slots { parts * self.layout().period() as f64 } else { parts };
        self.scale().log2() - flood_bits + 0.5 * 12f64.log2() - 0.5 * terms.log2()
    }
}
