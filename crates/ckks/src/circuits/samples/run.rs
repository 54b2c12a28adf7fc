//! The bootstrap of samples.

use super::OPERATION;
use super::plan::SamplesPlan;
use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Estimate};
use crate::circuits::packing_plan::{Stage, members_in};
use crate::error::CkksError;
use crate::evaluation::{Evaluator, Members, Packed};

/// The name of the stage of packing in dry runs.
const PACKING: &str = "packing";

impl Evaluator {
    /// The numbers of LWE or MLWE samples in slots, at the level of a bootstrapped array. The samples are
    /// packed, and then bootstrapped by half a bootstrap. [hermes, sec. 4.5]
    ///
    /// The result is a vector of the samples' numbers in their order. It is real, or, with
    /// [`SamplesOptions::pairs`](super::SamplesOptions::pairs), complex with two consecutive numbers in each
    /// slot. Range: numbers of magnitude at most 1. A sample with a wrong or large number damages its own
    /// place, whose number may then be hundreds of times larger than 1. A later product of this number can
    /// exceed the modulus and damage all places of its ciphertext.
    ///
    /// # Errors
    /// [`CkksError::Conversion`] for samples of another shape, secret or layout than the plan's;
    /// [`CkksError::LevelTooHigh`] above level 0; [`CkksError::ScaleMismatch`]; [`CkksError::WrongParams`];
    /// errors of missing keys; [`CkksError::NotEnoughMemory`].
    pub fn bootstrap_samples(&self, x: &Ciphertext, plan: &SamplesPlan) -> Result<Ciphertext, CkksError> {
        let packed = self.pack_samples(x, plan)?;
        self.raise_samples(&packed, x.shape().iter().product(), plan)
    }

    /// [`Evaluator::bootstrap_samples`] for arrays of samples under several secrets, the main one and
    /// devices'. The result is one vector with the numbers of the first array first. Each array is packed
    /// with the key for its secret ([`SamplesPlan::needs_of`]) and adds the error of packing once.
    ///
    /// # Errors
    /// [`CkksError::NoTerms`] without arrays; the errors of [`Evaluator::bootstrap_samples`] and
    /// [`SamplesPlan::check_secret`].
    pub fn bootstrap_samples_of(
        &self,
        arrays: &[&Ciphertext],
        plan: &SamplesPlan,
    ) -> Result<Ciphertext, CkksError> {
        if arrays.is_empty() {
            return Err(CkksError::NoTerms { operation: OPERATION });
        }
        let mut count = 0;
        for x in arrays {
            plan.check_secret(x.secret())?;
            self.check(x)?;
            plan.check(x, x.secret())?;
            count += x.shape().iter().product::<usize>();
        }
        self.raise_samples(&self.packed_samples(arrays, plan, &plan.stages)?, count, plan)
    }

    /// The second part of [`Evaluator::bootstrap_samples`]: moves `count` numbers, packed by
    /// [`Evaluator::pack_samples`], from coefficients to slots.
    ///
    /// # Errors
    /// [`CkksError::Shape`] if `packed` does not have the number of ciphertexts of this count;
    /// [`CkksError::NotEnoughMemory`]; the errors of [`Evaluator::half_bootstrap`].
    pub fn raise_samples(
        &self,
        packed: &Ciphertext,
        count: usize,
        plan: &SamplesPlan,
    ) -> Result<Ciphertext, CkksError> {
        if packed.layout().bundles() != plan.polys(count) {
            let remedy = "give the count of the samples that were packed".to_owned();
            return Err(CkksError::Shape {
                operation: OPERATION,
                left: packed.shape().to_vec(),
                right: vec![count],
                remedy,
            });
        }
        if self.held().is_some() && !packed.is_symbol() {
            check_free(
                OPERATION,
                plan.half.memory_bytes(plan.polys(count))?,
                "bootstrap fewer samples at once, or free memory",
            )?;
        }
        let layout = plan.result_layout(count)?;
        let estimate = plan.half.bootstrapped(&packed.estimate, packed.layout(), &layout)?;
        let packed = &packed.clone().estimated(|_| Estimate::unknown());
        let shape = vec![layout.columns];
        if plan.pairs {
            return Ok(self
                .half_bootstrap(packed, &plan.half)?
                .rearranged(shape, layout)
                .estimated(|_| estimate));
        }
        let parts = self.half_bootstrap_apart(packed, &plan.half)?;
        let [first, rest @ ..] = &parts[..] else { return Err(CkksError::Internal { operation: OPERATION }) };
        let mut bundles = Vec::with_capacity(layout.bundles());
        for (index, real) in first.bundles().iter().enumerate() {
            bundles.push(real.clone());
            bundles.extend(rest.iter().map(|imaginary| imaginary.bundles()[index].clone()));
        }
        // If the number of parts is odd, the last one is empty.
        bundles.truncate(layout.bundles());
        Ok(first
            .with_all((first.params(), shape), layout, bundles, (first.level(), first.scale()))
            .estimated(|_| estimate))
    }

    /// The first part of [`Evaluator::bootstrap_samples`]: packs the samples into pairs of coefficients at
    /// level 0, under the secret under which the modulus is raised.
    pub fn pack_samples(&self, x: &Ciphertext, plan: &SamplesPlan) -> Result<Ciphertext, CkksError> {
        self.check(x)?;
        plan.check(x, plan.secret)?;
        self.packed_samples(&[x], plan, &plan.stages)
    }

    /// The samples of all arrays, one after the other, as coefficients at level 0, under the secret under
    /// which the modulus is raised.
    pub(super) fn packed_samples(
        &self,
        arrays: &[&Ciphertext],
        plan: &SamplesPlan,
        stages: &[Stage],
    ) -> Result<Ciphertext, CkksError> {
        let target = plan.half.params();
        let numbers = |x: &Ciphertext| x.shape().iter().product::<usize>();
        let (layout, members) = plan.placed(arrays.iter().map(|x| numbers(x)).sum())?;
        let [first, rest @ ..] = stages else { return Err(CkksError::Internal { operation: OPERATION }) };
        let shape = if layout.rows == 1 { vec![layout.columns] } else { vec![layout.rows, layout.columns] };
        let result = Packed { target: target.clone(), onto: plan.packed_secret(), shape, layout };
        let placed = members_in(&members, target.degree() / first.params.degree());
        self.stage(PACKING, || {
            let (mut sum, mut start): (Option<Ciphertext>, usize) = (None, 0);
            for x in arrays {
                let behind = start + numbers(x) / plan.samples.degree();
                let own = |sample: &Option<usize>| {
                    sample.filter(|sample| (start..behind).contains(sample)).map(|sample| sample - start)
                };
                let members: Members =
                    placed.iter().map(|members| members.iter().map(own).collect()).collect();
                let packed = self.pack_as(x, &first.steps, &first.leaves(&result, placed.len())?, members)?;
                sum = Some(match sum {
                    Some(sum) => self.add(&sum, &packed)?,
                    None => packed,
                });
                start = behind;
            }
            let sum = sum.ok_or(CkksError::Internal { operation: OPERATION })?;
            self.pack_onwards(sum, rest, &result, &placed)
        })
    }
}
