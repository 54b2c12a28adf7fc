//! The bootstrap of samples.

use super::OPERATION;
use super::ends::Ends;
use super::plan::SamplesPlan;
use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Estimate};
use crate::circuits::bootstrap::precision::check_range;
use crate::circuits::packing_plan::{Stage, members_in, pack_onwards};
use crate::error::CkksError;
use crate::evaluation::{Evaluator, Members, Packed};

/// Refuses samples of numbers that a bootstrap does not take.
///
/// # Errors
/// [`CkksError::TooLarge`].
fn check_numbers(x: &Ciphertext) -> Result<(), CkksError> {
    check_range(OPERATION, x, "let clients divide their numbers before they encrypt them")
}

/// The name of the stage of packing in dry runs.
const PACKING: &str = "packing";

impl SamplesPlan {
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
    /// [`CkksError::Unsuitable`] for samples of another shape, secret or layout than the plan's;
    /// [`CkksError::Level`] above level 0; [`CkksError::ScaleMismatch`]; [`CkksError::WrongParams`];
    /// errors of missing keys; [`CkksError::NotEnoughMemory`].
    pub fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let packed = self.pack(evaluator, x)?;
        self.raise(evaluator, &packed, x.shape().iter().product())
    }

    /// [`SamplesPlan::run`] for arrays of samples under several secrets, the main one and
    /// devices'. The result is one vector with the numbers of the first array first. Each array is packed
    /// with the key for its secret ([`SamplesPlan::needs_of`]) and adds the error of packing once.
    ///
    /// # Errors
    /// [`CkksError::Empty`] without arrays; the errors of [`SamplesPlan::run`] and
    /// [`SamplesPlan::check_secret`].
    pub fn run_on(&self, evaluator: &Evaluator, arrays: &[&Ciphertext]) -> Result<Ciphertext, CkksError> {
        if arrays.is_empty() {
            return Err(CkksError::no_terms(OPERATION));
        }
        let mut count = 0;
        for x in arrays {
            self.check_secret(x.secret())?;
            evaluator.check(x)?;
            self.check(x, x.secret())?;
            count += x.shape().iter().product::<usize>();
        }
        self.raise(evaluator, &self.ends.packed(evaluator, arrays, &self.stages)?, count)
    }

    /// The second part of [`SamplesPlan::run`]: moves `count` numbers, packed by
    /// [`SamplesPlan::pack`], from coefficients to slots.
    ///
    /// # Errors
    /// [`CkksError::Shape`] if `packed` does not have the number of ciphertexts of this count;
    /// [`CkksError::NotEnoughMemory`]; the errors of
    /// [`BootstrapPlan::run_half`](crate::BootstrapPlan::run_half).
    pub fn raise(
        &self,
        evaluator: &Evaluator,
        packed: &Ciphertext,
        count: usize,
    ) -> Result<Ciphertext, CkksError> {
        check_numbers(packed)?;
        self.ends.raise(evaluator, packed, count)
    }

    /// The first part of [`SamplesPlan::run`]: packs the samples into pairs of coefficients at
    /// level 0, under the secret under which the modulus is raised.
    pub fn pack(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        evaluator.check(x)?;
        self.check(x, self.ends.secret)?;
        self.ends.packed(evaluator, &[x], &self.stages)
    }
}

impl Ends {
    /// [`SamplesPlan::raise`], before the plan has its packing.
    pub(super) fn raise(
        &self,
        evaluator: &Evaluator,
        packed: &Ciphertext,
        count: usize,
    ) -> Result<Ciphertext, CkksError> {
        if packed.layout().bundles() != self.polys(count) {
            let remedy = "give the count of the samples that were packed".to_owned();
            return Err(CkksError::Shape {
                operation: OPERATION,
                left: packed.shape().to_vec(),
                right: vec![count],
                remedy,
            });
        }
        if evaluator.held().is_some() && !packed.is_symbol() {
            check_free(
                OPERATION,
                self.half.memory_bytes(self.polys(count))?,
                "bootstrap fewer samples at once, or free memory",
            )?;
        }
        let layout = self.result_layout(count)?;
        let estimate = self.half.bootstrapped(&packed.estimate, packed.layout(), &layout)?;
        let packed = &packed.clone().estimated(|_| Estimate::unknown());
        let shape = vec![layout.columns()];
        if self.pairs {
            return Ok(self
                .half
                .run_half(evaluator, packed)?
                .rearranged(shape, layout)
                .estimated(|_| estimate));
        }
        let parts = self.half.run_half_apart(evaluator, packed)?;
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

    /// The samples of all arrays, one after the other, as coefficients at level 0, under the secret under
    /// which the modulus is raised.
    pub(super) fn packed(
        &self,
        evaluator: &Evaluator,
        arrays: &[&Ciphertext],
        stages: &[Stage],
    ) -> Result<Ciphertext, CkksError> {
        arrays.iter().try_for_each(|x| check_numbers(x))?;
        let target = self.half.params();
        let numbers = |x: &Ciphertext| x.shape().iter().product::<usize>();
        let (layout, members) = self.placed(arrays.iter().map(|x| numbers(x)).sum())?;
        let [first, rest @ ..] = stages else { return Err(CkksError::Internal { operation: OPERATION }) };
        let shape =
            if layout.rows() == 1 { vec![layout.columns()] } else { vec![layout.rows(), layout.columns()] };
        let result = Packed { target: target.clone(), onto: self.packed_secret(), shape, layout };
        let placed = members_in(&members, target.degree() / first.params.degree());
        evaluator.stage(PACKING, || {
            let (mut sum, mut start): (Option<Ciphertext>, usize) = (None, 0);
            for x in arrays {
                let behind = start + numbers(x) / self.samples.degree();
                let own = |sample: &Option<usize>| {
                    sample.filter(|sample| (start..behind).contains(sample)).map(|sample| sample - start)
                };
                let members: Members =
                    placed.iter().map(|members| members.iter().map(own).collect()).collect();
                let packed =
                    evaluator.pack_as(x, &first.steps, &first.leaves(&result, placed.len())?, members)?;
                sum = Some(match sum {
                    Some(sum) => evaluator.add(&sum, &packed)?,
                    None => packed,
                });
                start = behind;
            }
            // Each number is in one of the arrays.
            let bounds: Option<Vec<f64>> = arrays.iter().map(|x| x.bound()).collect();
            let largest = bounds.and_then(|bounds| bounds.into_iter().reduce(f64::max));
            let sum = sum.ok_or(CkksError::Internal { operation: OPERATION })?;
            let sum = sum.estimated(|own| largest.map_or(own.clone(), |largest| own.at_most(largest)));
            pack_onwards(evaluator, sum, rest, &result, &placed)
        })
    }
}
