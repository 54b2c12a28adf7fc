//! Whether two arrays are the same to the last bit.
//!
//! Every processor computes the same bits, but for the last bits of products with prepared matrices. So two
//! evaluators that take the same other steps on the same ciphertexts and keys return the same array, and one
//! that differs tells that one of them did not do what was asked. Where the owner or a second evaluator
//! computes again, this is the check that no property of the numbers can replace.

use std::fmt;

use clathrate_arith::text::counted;
use clathrate_lattice::{Bundle, Eval};
use serde::Serialize;

use super::ciphertext::Ciphertext;
use crate::error::CkksError;

/// Polynomials that are named where residues differ; of the others the number is said.
const NAMED_POLYNOMIALS: usize = 4;

/// Where two arrays differ; nowhere if they are the same to the last bit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Each difference in words.
    pub differences: Vec<String>,
}

impl Comparison {
    /// Whether the arrays are the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.differences.is_empty()
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_same() {
            f.write_str("the same to the last bit")
        } else {
            write!(f, "different: {}", self.differences.join("; "))
        }
    }
}

impl Ciphertext {
    /// Compares with another array bit for bit: parameters, key, secret, shape, layout, level, scale,
    /// declared bound, the bound on the error that is stated, and every residue.
    ///
    /// Two honest evaluators that take the same steps on the same ciphertexts with the same keys have the
    /// same result, on whatever processor. So whoever has a result computed twice, or computes it again,
    /// finds out by this whether the result is what was asked for. Only then it may be shared
    /// ([`crate::SecretKey::decrypt_to_share`]).
    ///
    /// Two machines plan alike with one version and one [`crate::Runtime`], on processors; with
    /// [`Switching::Tuned`](crate::Switching::Tuned) with one profile, too.
    ///
    /// Cost: reads both arrays once; those on devices are downloaded.
    ///
    /// # Errors
    /// [`CkksError::Symbol`] for symbols of a dry run.
    ///
    /// ```
    /// use clathrate_ckks::prelude::*;
    ///
    /// let params = Params::preset("insecure_small", &Runtime::default())?;
    /// let owner = SecretKey::generate(&params)?;
    /// let (x, evaluator) = (owner.encrypt(&[1.0, 2.0])?, Evaluator::new(&params));
    /// let result = evaluator.add(&x, &x)?;
    /// assert!(result.same_as(&evaluator.add(&x, &x)?)?.is_same());
    /// let comparison = result.same_as(&evaluator.add(&result, &x)?)?;
    /// assert!(comparison.to_string().starts_with("different: residues of the mask of bundle 0"));
    /// # Ok::<(), CkksError>(())
    /// ```
    pub fn same_as(&self, other: &Self) -> Result<Comparison, CkksError> {
        self.check_data("a comparison")?;
        other.check_data("a comparison")?;
        let mut differences = Vec::new();
        let mut compare = |what: &str, same: bool, left: String, right: String| {
            if !same {
                differences.push(format!("{what} {left} and {right}"));
            }
        };
        let parameters = |array: &Self| array.params.parameter_id().to_string();
        compare("parameters", self.params == other.params, parameters(self), parameters(other));
        compare("key", self.key_id == other.key_id, self.key_id.to_string(), other.key_id.to_string());
        compare("secret", self.secret == other.secret, self.secret.to_string(), other.secret.to_string());
        compare(
            "shape",
            self.shape == other.shape,
            format!("{:?}", self.shape),
            format!("{:?}", other.shape),
        );
        compare("layout", self.layout == other.layout, self.layout.to_string(), other.layout.to_string());
        compare("level", self.level == other.level, self.level.to_string(), other.level.to_string());
        let same = self.scale.to_bits() == other.scale.to_bits();
        compare("scale", same, self.scale.to_string(), other.scale.to_string());
        let bound = |array: &Self| array.bound().map_or_else(|| "none".to_owned(), |bound| bound.to_string());
        compare(
            "bound",
            self.bound().map(f64::to_bits) == other.bound().map(f64::to_bits),
            bound(self),
            bound(other),
        );
        let (counts, others) = (self.bundles.len(), other.bundles.len());
        compare("number of bundles", counts == others, counts.to_string(), others.to_string());
        // Residues modulo other primes have nothing in common.
        if self.params == other.params && self.level == other.level {
            differences.extend(different_residues(&self.bundles, &other.bundles));
        }
        let error = |array: &Self| array.estimate.encrypted_error_bound(&array.layout);
        if error(self).to_bits() != error(other).to_bits() {
            differences.push(format!("stated bound on the error {:e} and {:e}", error(self), error(other)));
        }
        Ok(Comparison { differences })
    }
}

/// The polynomials whose residues differ, in words.
fn different_residues(left: &[Bundle<Eval>], right: &[Bundle<Eval>]) -> Vec<String> {
    let (mut words, mut further) = (Vec::new(), 0);
    for (index, (left, right)) in left.iter().zip(right).enumerate() {
        for (part, left, right) in
            [("mask", left.mask(), right.mask()), ("bodies", left.bodies(), right.bodies())]
        {
            if left.len() != right.len() {
                words.push(format!(
                    "polynomials in the {part} of bundle {index}, {} and {}",
                    left.len(),
                    right.len()
                ));
            }
            for (at, (left, right)) in left.into_iter().zip(right).enumerate() {
                let (left, right) = (left.download(), right.download());
                let count = left.iter().zip(right.iter()).filter(|(left, right)| left != right).count();
                if count == 0 {
                    continue;
                }
                if words.len() < NAMED_POLYNOMIALS {
                    words.push(format!(
                        "residues of the {part} of bundle {index}, polynomial {at}, {count} of {}",
                        left.len()
                    ));
                } else {
                    further += 1;
                }
            }
        }
    }
    if further > 0 {
        words.push(format!("residues of {}", counted(further, "further polynomial")));
    }
    words
}
