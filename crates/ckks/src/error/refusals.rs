//! The messages of refusals that several places share, or that have numbers to put into words.

use std::fmt::Display;

use clathrate_arith::text::counted;

use super::CkksError;
use crate::shape::ModuleShape;

/// Parameters.
impl CkksError {
    /// A name that no preset has.
    pub(crate) fn unknown_preset(name: &str, known: &str) -> Self {
        Self::InvalidParams { reason: format!("there is no preset {name:?}; there are: {known}") }
    }

    /// Parameters, called `name`, that cannot be bootstrapped.
    pub(crate) fn not_bootstrappable(name: &str, reason: impl Display) -> Self {
        Self::Unsupported { reason: format!("the parameters \"{name}\" cannot be bootstrapped: {reason}") }
    }

    /// An operation that takes a temporary rank, which the parameters do not have.
    pub(crate) fn no_temporary_rank(operation: &str) -> Self {
        let reason = format!(
            "{operation} needs a temporary rank: set `temporary_rank` and `temporary` in the parameters"
        );
        Self::Unsupported { reason }
    }

    /// An ephemeral secret that the parameters do not have.
    pub(crate) fn no_ephemeral_secret() -> Self {
        let reason = "these parameters have no ephemeral secret: set `ephemeral_weight`, e.g. to 32, in the specification";
        Self::Unsupported { reason: reason.to_owned() }
    }

    /// A key for products without the temporary rank, at a shape where no level is secure over the widened
    /// chain.
    pub(crate) fn no_direct_key(shape: ModuleShape) -> Self {
        let reason = format!(
            "at degree and rank {shape} no level is secure over the widened chain: products go through the temporary rank"
        );
        Self::Unsupported { reason }
    }

    /// A reduction of the rank for which no keys can be made.
    pub(crate) fn rank_step(from: usize, to: usize, remedy: impl Display) -> Self {
        Self::Unsupported { reason: format!("the rank cannot be reduced from {from} to {to}: {remedy}") }
    }
}

/// How operands come under one secret. Fronts replace it by the words of their language.
pub const SAME_SECRET_REMEDY: &str =
    "with share_mask, split_mask, change_secret, or pack for samples of a device";

/// Secrets.
impl CkksError {
    /// An object under another secret.
    pub(crate) fn wrong_secret(what: &str, found: impl Display, expected: impl Display) -> Self {
        let reason = format!(
            "{what} belongs to secret {found}, expected {expected}: it cannot be combined or decrypted with this one"
        );
        Self::WrongSecret { reason }
    }

    /// Operands under different secrets of one owner.
    pub(crate) fn different_secrets(operation: &str, left: impl Display, right: impl Display) -> Self {
        let reason = format!(
            "{operation}: the operands are under the secrets \"{left}\" and \"{right}\": bring both to one {SAME_SECRET_REMEDY}"
        );
        Self::WrongSecret { reason }
    }

    /// An operation that has no keys under a secret.
    pub(crate) fn secret_without_keys(operation: &str, secret: impl Display, remedy: &str) -> Self {
        let reason = format!("{operation} has no keys under the secret \"{secret}\": {remedy}");
        Self::WrongSecret { reason }
    }

    /// A secret of another library that the secret key was not given.
    pub(crate) fn no_outside_secret(number: u64) -> Self {
        let reason = format!(
            "the secret key does not have the secret of another library with the number {number}: give it by with_outside_secret"
        );
        Self::WrongSecret { reason }
    }
}

/// Numbers.
impl CkksError {
    /// A number too large for the scale and the modulus. `needed` counts the sign.
    pub(crate) fn value_too_large(
        value: f64,
        log2_scale: f64,
        needed: f64,
        headroom: f64,
        level: usize,
    ) -> Self {
        let reason = format!(
            "a value of magnitude {value:.4e} at scale 2^{log2_scale:.2} needs {needed:.1} bits, level {level} has room for {headroom:.1}: scale the data down or encrypt at a higher level"
        );
        Self::TooLarge { reason }
    }

    /// A decrypted message that fills the modulus.
    pub(crate) fn overflow(log2_scale: f64, level: usize, log2_limit: f64) -> Self {
        let reason = format!(
            "the decrypted message does not fit its modulus: at scale 2^{log2_scale:.2}, level {level} holds magnitudes up to 2^{log2_limit:.1}, and a larger one has wrapped around; scale the data or the weights down, or leave more bits in the first modulus step"
        );
        Self::TooLarge { reason }
    }

    /// Numbers that may be too large for the modulus, by their declared bound. `headroom` is the largest
    /// number that the modulus holds.
    pub(crate) fn bound_too_large(magnitude: f64, log2_scale: f64, level: usize, headroom: f64) -> Self {
        let reason = format!(
            "numbers may be as large as {magnitude:.3e} here, by the bound on the inputs, and at scale 2^{log2_scale:.1} level {level} has room for {headroom:.3e}: scale the inputs or the factors down, state a smaller bound, or take parameters with a longer first step"
        );
        Self::TooLarge { reason }
    }

    /// A plain matrix whose product wraps around for numbers of magnitude 1. `row_sum` is the largest sum of
    /// magnitudes along a row, `headroom` the largest number that the modulus holds.
    pub(crate) fn weights_too_large(row_sum: f64, log2_scale: f64, level: usize, headroom: f64) -> Self {
        let reason = format!(
            "the magnitudes along a row of the matrix add up to {row_sum:.3e}, so that numbers of magnitude 1 have products as large, and at scale 2^{log2_scale:.1} level {level} has room for {headroom:.3e}: scale the matrix down, declare a bound below 1 where the numbers are smaller (`bound` at encryption), or take parameters with a longer first step"
        );
        Self::TooLarge { reason }
    }

    /// Numbers that may be too large for a bootstrap, by their declared bound.
    pub(crate) fn beyond_range(operation: &str, bound: f64, remedy: &str) -> Self {
        let reason = format!(
            "{operation} takes numbers of magnitude at most 1, and by the declared bound they may be as large as {bound:.3e}: {remedy}, divide by a plain number before and multiply by it behind, or declare a smaller bound where they are smaller (`with_bound`)"
        );
        Self::TooLarge { reason }
    }

    /// Numbers that may be outside the domain of a polynomial, by their declared bound.
    /// `from` is where a domain that holds them would begin.
    pub(crate) fn outside_domain(bound: f64, (low, high): (f64, f64), from: f64) -> Self {
        let reason = format!(
            "by the declared bound numbers may be as large as {bound:.3e}, and the polynomial is made for those from {low} to {high}: give a domain from {from} to {bound}, or declare a smaller bound where they are smaller (`with_bound`); where all numbers are in the domain by your word, take the bound away before, `with_bound(None)`, and declare that of the result behind"
        );
        Self::TooLarge { reason }
    }

    /// Factors so small that rounding at their scale would lose them.
    pub(crate) fn factor_too_small(largest: f64, bits: f64, log2_scale: f64) -> Self {
        let remedy = format!(
            "it has {bits:.1} bits at the scale 2^{log2_scale:.1} that it is rounded at, and would be lost: multiply the factors by a power of two and divide the decrypted result by it, choose a larger scale (`weight_scale` of a matrix), or take parameters with longer steps"
        );
        Self::OutOfRange { what: "the largest factor", value: format!("{largest:e}"), remedy }
    }

    /// A function that is not finite at a point of its domain.
    pub(crate) fn function_not_finite(x: f64, value: f64) -> Self {
        let remedy =
            "a fit needs finite values on the whole domain; choose a domain without this point".to_owned();
        Self::OutOfRange { what: "the function", value: format!("{value} at x = {x}"), remedy }
    }

    /// An array without entries.
    pub(crate) fn no_entries(shape: impl AsRef<[usize]>) -> Self {
        let reason = format!(
            "the array of shape {:?} has no entries: there is nothing to encrypt or multiply",
            shape.as_ref()
        );
        Self::Empty { reason }
    }

    /// A sum without terms.
    pub(crate) fn no_terms(operation: &str) -> Self {
        let reason = format!(
            "{operation} has no terms, and its shape and level are those of its terms: give at least one"
        );
        Self::Empty { reason }
    }
}

/// Shapes and layouts.
impl CkksError {
    /// An operation across the bodies that share a mask.
    pub(crate) fn shared_mask(operation: &'static str, bodies: usize, reason: &str, remedy: &str) -> Self {
        Self::Unsuitable {
            operation,
            reason: format!("{bodies} bodies share a mask, and {reason}: {remedy}"),
        }
    }

    /// Operands whose layouts differ.
    pub(crate) fn different_layouts(
        operation: &'static str,
        left: impl Display,
        right: impl Display,
        remedy: &str,
    ) -> Self {
        let reason = format!("the operands are laid out differently ({left}; {right}): {remedy}");
        Self::Unsuitable { operation, reason }
    }

    /// Padding that is not zero and would come into the result.
    pub(crate) fn dirty_padding(operation: &'static str, columns: usize, places: usize) -> Self {
        let reason = format!(
            "rows of {columns} entries in {places} places have padding that is not zero and would come into the result: clear it with clear_padding first"
        );
        Self::Unsuitable { operation, reason }
    }

    /// Slots in bit-reversed order, for an operation that moves slots in natural order.
    pub(crate) fn bit_reversed(operation: &'static str) -> Self {
        let reason = "it moves slots in natural order, and these are in bit-reversed order: encrypt the array in natural order";
        Self::Unsuitable { operation, reason: reason.to_owned() }
    }

    /// Numbers that do not fit a polynomial of this degree.
    pub(crate) fn no_room(what: &'static str, degree: usize) -> Self {
        let reason = format!(
            "they do not fit polynomials of degree {degree}: use a higher degree, or real numbers in coefficients"
        );
        Self::Unsuitable { operation: what, reason }
    }

    /// A switch at a degree below `least`, the lowest with switching keys.
    pub(crate) fn degree_without_keys(shape: ModuleShape, least: usize) -> Self {
        let reason = format!(
            "there are no switching keys at degree and rank {shape}: convert to degree {least} or higher first"
        );
        Self::Unsuitable { operation: "key switching", reason }
    }
}

/// Levels.
impl CkksError {
    /// Too low a level for a polynomial. `lowest` is the lowest level of results, `highest` the highest level
    /// of arrays ([`Params::fresh_level`](crate::Params::fresh_level)).
    pub(crate) fn polynomial_depth(
        degree: usize,
        depth: usize,
        level: usize,
        lowest: usize,
        highest: usize,
    ) -> Self {
        let needed = depth + lowest;
        let higher = if needed > highest {
            format!(
                "level {needed} would be needed, and arrays under these parameters have levels up to {highest}: "
            )
        } else {
            format!("start from level {needed} or higher, ")
        };
        let depth = counted(depth, "level");
        let reason = format!(
            "a polynomial of degree {degree} takes {depth} here, the ciphertext is at level {level}: {higher}lower the degree (a larger `error` of a function does), or use parameters with more levels"
        );
        Self::Level { reason }
    }

    /// A drop to a level above the ciphertext's.
    pub(crate) fn level_up(from: usize, to: usize) -> Self {
        Self::Level { reason: format!("cannot drop from level {from} to level {to}: levels only go down") }
    }

    /// A rescale of an array that is no product.
    pub(crate) fn nothing_to_rescale(log2_scale: f64, level: usize) -> Self {
        let reason = format!(
            "nothing to rescale: the scale 2^{log2_scale:.2} is that of level {level} already; only products have a larger one"
        );
        Self::Level { reason }
    }

    /// A ciphertext above `most`, the highest level that is secure at the shape of the result.
    pub(crate) fn level_too_high(operation: &str, shape: ModuleShape, level: usize, most: usize) -> Self {
        let reason = format!(
            "{operation} to degree and rank {shape} is secure up to level {most}, the ciphertext is at level {level}: drop it to level {most} or below first"
        );
        Self::Level { reason }
    }
}
