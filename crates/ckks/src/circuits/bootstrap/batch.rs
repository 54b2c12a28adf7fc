//! The bootstrap of several arrays as one batch.

use super::plan::{BOOTSTRAP, BootstrapPlan};
use crate::arrays::{Ciphertext, Padding};
use crate::error::CkksError;
use crate::evaluation::Evaluator;

impl BootstrapPlan {
    /// As [`BootstrapPlan::run`], for several arrays, whose polynomials are one batch: they
    /// share masks where the plan has several bodies, and two polynomials of real numbers are one of complex
    /// ones, whichever arrays hold them. The results keep the shapes and the order of the arrays. The arrays
    /// have rank 1 and may be at different levels, from the plan's lowest level up.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without arrays; [`CkksError::InBatch`] with the index of an array that does not
    /// match the plan, before any work; the errors of [`BootstrapPlan::run`].
    pub fn run_batch(
        &self,
        evaluator: &Evaluator,
        arrays: &[&Ciphertext],
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let whole = evaluator.progress().steps(0);
        let Some(first) = arrays.first() else { return Err(CkksError::no_terms(BOOTSTRAP)) };
        for (index, x) in arrays.iter().enumerate() {
            let own = self
                .check_input(evaluator, x)
                .and_then(|()| x.check_kind_of(first, self))
                .and_then(|()| x.check_scale_of_level());
            own.map_err(|error| CkksError::InBatch { index, error: Box::new(error) })?;
        }
        let divided = |x: &&Ciphertext| {
            Ok::<_, CkksError>(self.divided(evaluator, x)?.unwrap_or_else(|| ((*x).clone(), 0)))
        };
        let (arrays, powers): (Vec<Ciphertext>, Vec<u32>) =
            arrays.iter().map(divided).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let low = arrays.iter().map(|x| self.entry(evaluator, x)).collect::<Result<Vec<_>, _>>()?;
        let (polys, capacity) = (low.iter().map(|x| x.layout.bundles()).sum::<usize>(), self.slots);
        let layout = low[0].layout.of_whole_polynomials(polys, capacity).with_padding(Padding::Zero);
        let bundles = low.iter().flat_map(|x| x.bundles.iter().cloned()).collect();
        let all = low[0].with_all(
            (&self.params, vec![polys, capacity]),
            layout,
            bundles,
            (low[0].level, low[0].scale),
        );
        drop(low);
        // Two polynomials of real numbers may be bootstrapped as one of complex numbers. Which two depends on
        // the batch.
        let size = |x: &Ciphertext| x.estimate.slot_errors().1;
        let largest =
            arrays.iter().max_by(|x, y| size(x).total_cmp(&size(y))).filter(|_| self.goes_in_pairs(&all));
        let fresh = self.run(&evaluator.for_part(&whole, |done, all| (done, all)), &all)?;
        let (params, place) = (fresh.params.clone(), (fresh.level, fresh.scale));
        let mut bundles = fresh.bundles.iter();
        let apart = |(x, bits): (&Ciphertext, u32)| {
            let own = bundles.by_ref().take(x.layout.bundles()).cloned().collect();
            let fresh = fresh.with_all((&params, x.shape.clone()), x.layout, own, place);
            let own = x.estimate.clone();
            let own = if let Some(largest) = largest {
                own.with_imaginary_part_of(&largest.estimate, &largest.layout)
            } else {
                own
            };
            let estimate = self.bootstrapped(&own, &x.layout, &x.layout)?;
            let fresh = fresh.estimated(|_| estimate);
            if bits == 0 { Ok(fresh) } else { evaluator.multiply_integer(&fresh, 1 << bits) }
        };
        arrays.iter().zip(powers).map(apart).collect()
    }
}

impl Ciphertext {
    /// Refuses arrays of another owner, complex numbers if the plan is for real ones, and a mixture of real
    /// and complex numbers: such a batch would be complex, but real arrays have no imaginary parts.
    fn check_kind_of(&self, first: &Self, plan: &BootstrapPlan) -> Result<(), CkksError> {
        self.key_id.check_same(first.key_id, "an array of the batch")?;
        if self.is_symbol() != first.is_symbol() {
            return Err(CkksError::Symbol { operation: BOOTSTRAP });
        }
        plan.check_numbers(self, BOOTSTRAP)?;
        if self.is_complex() == first.is_complex() {
            return Ok(());
        }
        let kind = |complex: bool| if complex { "complex" } else { "real" };
        let reason = format!(
            "its numbers are {} and those of the first array {}: bootstrap real and complex arrays in batches of their own",
            kind(self.is_complex()),
            kind(first.is_complex())
        );
        Err(CkksError::Unsuitable { operation: BOOTSTRAP, reason })
    }

    /// Refuses a scale other than the canonical one of the level.
    fn check_scale_of_level(&self) -> Result<(), CkksError> {
        let canonical = self.params.scale(self.level);
        if crate::evaluation::levels::same_scale(self.scale, canonical) {
            return Ok(());
        }
        Err(CkksError::ScaleMismatch { left: self.scale.log2(), right: canonical.log2() })
    }
}
