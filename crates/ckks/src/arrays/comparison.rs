//! Bitwise comparison of two arrays.
//!
//! Every processor computes the same bits, except the last bits of products with prepared matrices. Two
//! evaluators that perform the same other operations on the same ciphertexts with the same keys therefore
//! return the same array, and a difference proves that one of them computed something else. So the owner or a
//! second evaluator can verify a result by computing it again.

use std::fmt;

use clathrate_arith::text::counted;
use clathrate_lattice::{Bundle, Eval};
use serde::Serialize;

use super::ciphertext::Ciphertext;
use crate::error::CkksError;

/// Number of polynomials that a report names; further differing polynomials are only counted.
const NAMED_POLYNOMIALS: usize = 4;

/// The differences between two arrays; empty if they are the same to the last bit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// One description per difference.
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
    /// Compares two arrays bit for bit: parameters, key, secret, shape, layout, level, scale, declared bound,
    /// stated error bound, and every residue.
    ///
    /// Two honest evaluators that perform the same operations on the same ciphertexts with the same keys get
    /// the same result on any processor. Verify a result by computing it twice before it is shared
    /// ([`crate::SecretKey::decrypt_to_share`]).
    ///
    /// Two machines make the same plans if they have the same version, the same [`crate::Runtime`] on
    /// processors and, with [`Switching::Tuned`](crate::Switching::Tuned), the same profile.
    ///
    /// Cost: reads both arrays once, and downloads arrays on devices.
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
        // Residues modulo different primes are not comparable.
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

/// Descriptions of the polynomials whose residues differ.
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
