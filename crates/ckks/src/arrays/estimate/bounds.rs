//! What an estimate says: typical errors and bounds.

use super::source::{Source, share};
use super::{Estimate, LOG2_FAILURE, product};
use crate::arrays::layout::Layout;

impl Estimate {
    /// The typical and the worst root mean square of the error of a slot or a coefficient.
    #[must_use]
    pub fn slot_errors(&self) -> (f64, f64) {
        self.total(|_| 1.0)
    }

    /// The typical and the worst root mean square of the error in all places, including those without a
    /// number.
    pub(super) fn errors_everywhere(&self) -> (f64, f64) {
        if self.sources.iter().all(|source| source.factors.is_none()) {
            self.slot_errors()
        } else {
            self.clone().forgotten().slot_errors()
        }
    }

    pub(super) fn total(&self, share: impl Fn(&Source) -> f64) -> (f64, f64) {
        let squares: f64 = self
            .sources
            .iter()
            .map(|source| product(source.typical_of_numbers(), share(source)).powi(2))
            .sum();
        (squares.sqrt() + product(self.rest.typical.abs(), share(&self.rest)), self.worst(|_| true, share))
    }

    /// The worst root mean square of the sum of the sources that `part` selects.
    pub(super) fn worst(&self, part: impl Fn(&Source) -> bool, share: impl Fn(&Source) -> f64) -> f64 {
        let of = |entangled: bool| {
            self.sources
                .iter()
                .filter(move |source| source.entangled == entangled)
                .filter(|source| part(source))
        };
        let size = |source: &Source| product(source.worst_of_numbers().abs(), share(source));
        // At worst, sources of one origin add linearly; the squares of different origins add, counted once
        // per origin.
        let first = |(index, source): &(usize, &Source)| {
            !of(false).take(*index).any(|other| other.origin() == source.origin())
        };
        let all_of =
            |origin: u64| of(false).filter(|source| source.origin() == origin).map(size).sum::<f64>();
        let independent: f64 =
            of(false).enumerate().filter(first).map(|(_, source)| all_of(source.origin()).powi(2)).sum();
        // Sources that may depend on others add linearly, at worst.
        let entangled: f64 = of(true).chain(Some(&self.rest).filter(|rest| part(rest))).map(size).sum();
        independent.sqrt() + entangled
    }

    /// The typical and the worst root mean square of the error of a number in an array with this layout.
    pub(super) fn number_errors(&self, layout: &Layout) -> (f64, f64) {
        self.total(|source| source.share(layout))
    }

    /// The slot errors, typical and worst, that would give the errors of the numbers in an array with this
    /// layout: larger than [`Estimate::slot_errors`] if errors repeat as numbers do.
    pub(crate) fn repeated_slot_errors(&self, layout: &Layout) -> (f64, f64) {
        let ((typical, worst), unit, own) =
            (self.number_errors(layout), share(1.0, layout), self.slot_errors());
        ((typical / unit).max(own.0), (worst / unit).max(own.1))
    }

    /// The root mean square of a number's error in an array with this layout, for typical numbers. Infinite
    /// if unknown.
    #[must_use]
    pub fn error_rms(&self, layout: &Layout) -> f64 {
        self.number_errors(layout).0
    }

    /// A bound on the errors of all numbers of an array with this layout, for any numbers within their
    /// bounds, exceeded with a probability of at most 2^-40. Infinite if unknown.
    #[must_use]
    pub fn error_bound(&self, layout: &Layout) -> f64 {
        let decoded = if self.magnitude.is_finite() { self.magnitude * f64::EPSILON } else { 0.0 };
        self.encrypted_error_bound(layout) + decoded
    }

    /// [`Estimate::error_bound`] of the encrypted numbers, before they are rounded to doubles by decryption.
    #[must_use]
    pub fn encrypted_error_bound(&self, layout: &Layout) -> f64 {
        let parts = if layout.complex { 2.0 } else { 1.0 };
        // Both the normal and the heavy-tailed part of an error may exceed their bounds, hence the factor 2.
        let count = 2.0 * parts * layout.rows as f64 * layout.columns as f64;
        let worst = |heavy: bool| {
            self.worst(
                |source| source.tails.are_heavy(layout.encoding) == heavy,
                |source| source.share(layout),
            )
        };
        let [normal, products] = [worst(false), worst(true)];
        if products == 0.0 {
            normal * deviations(count / 2.0)
        } else {
            normal * deviations(count) + products * product_deviations(count)
        }
    }
}

/// The number of standard deviations that any of `count` errors exceeds with a probability of at most 2^-40:
/// `sqrt(2 ln 2 (40 + log2(count) + 1))`, by union and Chernoff bounds.
pub(super) fn deviations(count: f64) -> f64 {
    (2.0 * std::f64::consts::LN_2 * (LOG2_FAILURE + count.max(1.0).log2() + 1.0)).sqrt()
}

/// [`deviations`] for products of two independent normal errors, of which many may share a factor. If one
/// factor is a slot of a random polynomial (complex and normal), the real part of the product is Laplacian:
/// it exceeds `d` standard deviations with a probability of `exp(-sqrt(2) d)`. Sums of such products have
/// lighter tails at that distance: the variance of a sum is a mean of exponential variables, which is below
/// one of them in convex order, and the probability is a convex function of the variance.
pub(super) fn product_deviations(count: f64) -> f64 {
    std::f64::consts::LN_2 * (LOG2_FAILURE + count.max(1.0).log2()) / std::f64::consts::SQRT_2
}
