//! The dry run of a polynomial's circuit: its keys, its cost and a bound on its error.
//!
//! The general rules ([`crate::arrays::estimate`]) bound the values of any circuit. A plan knows tighter bounds: powers are at most 1, and parts are at most
//! their largest value on the interval.

use super::plan::PolynomialPlan;
use crate::arrays::{Ciphertext, Encoding, Estimate};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::recording::Recording;
use crate::keys::KeyNeeds;

impl PolynomialPlan {
    /// Root mean square of a slot's error in a fresh public-key encryption at the input's level and scale.
    #[must_use]
    pub fn fresh_error(&self) -> f64 {
        (self.params.noise_model().fresh_public() * self.params.degree() as f64).sqrt() / self.input_scale()
    }

    /// Bound on the root mean square of a slot's error in the result, for inputs in the domain with an error of this root mean square, and the keys of
    /// [`PolynomialPlan::needs`].
    ///
    /// # Errors
    /// As [`PolynomialPlan::dry_run`].
    pub fn error(&self, input_error: f64) -> Result<f64, CkksError> {
        let input = Estimate { magnitude: self.domain_magnitude(), error: input_error };
        Ok(self.dry_run(input)?.1.error)
    }

    /// Runs the circuit on a symbol of one bundle and returns its needs, its cost and bounds on its result. If the bound on the input's numbers exceeds every
    /// number of the domain, the bounds are infinite, because the polynomial is not bounded outside its domain.
    ///
    /// # Errors
    /// As [`Evaluator::run_polynomial`].
    pub fn dry_run(&self, input: Estimate) -> Result<(Recording, Estimate), CkksError> {
        let (evaluator, result) = self.run_on_symbol(Evaluator::recording_for(&self.params, self.needs()?), input)?;
        let estimate = result.estimate().ok_or(CkksError::Symbol { operation: "a bound on the error" })?;
        Ok((evaluator.recorded(), estimate))
    }

    /// The keys that the circuit needs: the keys of its products, and with a rank schedule the keys of the schedule.
    ///
    /// # Errors
    /// As [`Evaluator::run_polynomial`].
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        let input = Estimate { magnitude: self.domain_magnitude(), error: 0.0 };
        let needs = self.run_on_symbol(Evaluator::recording(&self.params), input)?.0.needs();
        Ok(match &self.schedule {
            Some(schedule) => schedule.allowing_steps(needs),
            None => needs,
        })
    }

    fn run_on_symbol(&self, evaluator: Evaluator, input: Estimate) -> Result<(Evaluator, Ciphertext), CkksError> {
        // The symbol's row has padding, because clearing the padding adds an error too.
        let (columns, bound) = (self.params.slot_count() - 1, self.domain_magnitude().max(f64::MIN_POSITIVE));
        let symbol = evaluator.symbol(&[columns], Encoding::Slots, self.input_level(), bound)?;
        let symbol = symbol.estimated(|_| input).at_scale(self.input_scale());
        let result = evaluator.run_polynomial(&symbol, self)?;
        Ok((evaluator, result))
    }

    /// The largest magnitude of a number of the domain.
    pub(super) fn domain_magnitude(&self) -> f64 {
        let (a, b) = self.polynomial.domain();
        a.abs().max(b.abs())
    }
}
