//! The diagonals of a plan as packed plaintexts. Diagonals with a short period are encoded in a subring,
//! which saves memory.

use std::sync::{Arc, MutexGuard, PoisonError};

use clathrate_lattice::{Basis, Eval, PackedPlaintexts, Poly, Ring};

use super::plan::{EncodedSteps, LinearTransformPlan, Step};
use super::{LinearTransform, LinearTransformOptions};
use crate::arrays::Ciphertext;
use crate::encoding::encode::diagonal_to_poly;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::kept::Keepable;
use crate::evaluation::recording::{Keeping, NeededPlaintexts};

impl Keepable for LinearTransformPlan {
    fn kept_bytes(&self) -> usize {
        let encoded = self.basis_as_made().and_then(|basis| self.bytes_over(&basis)).unwrap_or(usize::MAX);
        self.transform.bytes().saturating_add(encoded)
    }

    fn pass(&mut self) {
        self.keeping = Keeping::Never;
    }
}

impl LinearTransform {
    /// The plan for arrays like `x` with default options, which `evaluator` keeps within its byte budget.
    /// Other plans encode their diagonals for each use.
    ///
    /// # Errors
    /// Those of [`LinearTransform::plan_with`].
    pub(crate) fn kept_plan(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Arc<LinearTransformPlan>, CkksError> {
        self.kept_plan_shared(evaluator, x, || Arc::new(self.clone()))
    }

    /// [`LinearTransform::kept_plan`] without a copy of the map.
    ///
    /// # Errors
    /// Those of [`LinearTransform::plan_with`].
    pub(super) fn kept_plan_of(
        self: &Arc<Self>,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Arc<LinearTransformPlan>, CkksError> {
        self.kept_plan_shared(evaluator, x, || self.clone())
    }

    fn kept_plan_shared(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
        shared: impl FnOnce() -> Arc<Self>,
    ) -> Result<Arc<LinearTransformPlan>, CkksError> {
        let (params, level) = (x.params(), x.level());
        let mut purpose = blake3::Hasher::new_derive_key("clathrate plan of a linear map");
        purpose.update(&self.digest());
        purpose.update(&level.0.to_le_bytes()).update(&x.scale().to_le_bytes());
        purpose.update(params.digest());
        purpose.update(&params.degree().to_le_bytes()).update(&params.rank().to_le_bytes());
        evaluator.kept_plan(x, &purpose, || {
            let options = LinearTransformOptions { input_scale: Some(x.scale()), ..Default::default() };
            let mut plan = shared().plan_of(params, level, options)?;
            plan.keep_within_budget(*purpose.finalize().as_bytes());
            Ok(plan)
        })
    }
}

/// Minimum number of slots of a subring.
const MIN_SLOTS: usize = 4;

/// The plaintexts of a plan for one run of it.
pub(super) enum Plaintexts<'p> {
    /// Those of all giant steps.
    Encoded(Arc<Vec<PackedPlaintexts>>),
    /// To be encoded giant step by giant step over this basis.
    ForEachUse(&'p Basis),
}

impl LinearTransformPlan {
    /// Makes this a plan that an evaluator keeps within its byte budget, for a purpose with this name.
    pub(in crate::circuits) fn keep_within_budget(&mut self, name: [u8; 32]) {
        (self.keeping, self.name) = (Keeping::WithinBudget, name);
    }

    /// The plaintexts over `basis`, encoded on the first call if the plan keeps them.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`] if a diagonal does not fit the modulus.
    pub(super) fn plaintexts<'p>(&self, basis: &'p Basis) -> Result<Plaintexts<'p>, CkksError> {
        let known = self.plaintexts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plaintexts) = known.get(basis.indices()) {
            return Ok(Plaintexts::Encoded(plaintexts.clone()));
        }
        if !self.is_on_the_fly() {
            return self.keep_encoded(known, basis).map(Plaintexts::Encoded);
        }
        drop(known);
        if self.bytes_over(basis)? > self.most_at_once {
            return Ok(Plaintexts::ForEachUse(basis));
        }
        let encoded =
            self.giants.iter().map(|giant| self.encoded_step(giant, basis)).collect::<Result<_, _>>();
        Ok(Plaintexts::Encoded(Arc::new(encoded?)))
    }

    fn keep_encoded(
        &self,
        mut known: MutexGuard<'_, EncodedSteps>,
        basis: &Basis,
    ) -> Result<Arc<Vec<PackedPlaintexts>>, CkksError> {
        let encoded = self.giants.iter().map(|giant| {
            let polys = self.encoded_terms(giant, basis)?;
            Ok(PackedPlaintexts::pack(&polys.iter().collect::<Vec<_>>())?)
        });
        let encoded = Arc::new(encoded.collect::<Result<Vec<_>, CkksError>>()?);
        known.insert(basis.indices().to_vec(), encoded.clone());
        Ok(encoded)
    }

    /// The plaintexts of one giant step, to be used and dropped.
    pub(super) fn encoded_step(&self, giant: &Step, basis: &Basis) -> Result<PackedPlaintexts, CkksError> {
        let polys = self.encoded_terms(giant, basis)?;
        Ok(PackedPlaintexts::pack_for_one_use(&polys.iter().collect::<Vec<_>>())?)
    }

    fn encoded_terms(&self, giant: &Step, basis: &Basis) -> Result<Vec<Poly<Eval>>, CkksError> {
        let ring = self.plaintext_ring()?;
        let slots = ring.degree() / 2;
        let encoder = self.params.encoder().of_subring(ring.degree());
        self.params.for_each(&giant.terms, |term| {
            let diagonal = self.transform.rotated_diagonal(term.shift as i64, giant.steps, slots);
            diagonal_to_poly(&encoder, &ring, basis, &diagonal, self.diagonal_scale())
        })
    }

    /// The basis of the plaintexts for keys that are made for this plan.
    fn basis_as_made(&self) -> Result<Basis, CkksError> {
        let (before, after) = self.switches();
        Ok(if self.iteration.is_some() || before + after == 0 {
            self.params.chain().basis(self.level)
        } else {
            self.params.switcher()?.transform_tables_for(self.level, self.level)?.extended().clone()
        })
    }

    /// Bytes of all plaintexts over `basis`.
    fn bytes_over(&self, basis: &Basis) -> Result<usize, CkksError> {
        let ring = self.plaintext_ring()?;
        let words = |count| PackedPlaintexts::word_count(&ring, basis, count);
        Ok(self.diagonal_counts().map(words).sum::<usize>() * size_of::<u64>())
    }

    /// What one use takes of plaintexts over `basis`, for `bundles` bundles.
    pub(super) fn needed_plaintexts(
        &self,
        basis: &Basis,
        bundles: usize,
    ) -> Result<NeededPlaintexts, CkksError> {
        let (encoded, diagonals) = (self.bytes_over(basis)?, self.transform.bytes());
        let (count, most) =
            self.diagonal_counts().fold((0, 0), |(sum, most), own| (sum + own, most.max(own)));
        let cost = self.params.encoding_cost(&self.plaintext_ring()?, basis).times(count as f64);
        // Where they are encoded step by step, they are encoded for each bundle, whose rotations are stored.
        let (at_once, times) = if encoded <= self.most_at_once {
            (encoded, 1)
        } else {
            let polys = self.babies.len() * (self.params.rank() + self.bodies);
            let rotated = polys * basis.len() * self.params.degree() * size_of::<u64>();
            (encoded / count.max(1) * most + rotated, bundles)
        };
        Ok(NeededPlaintexts {
            plan: self.name,
            keeping: self.keeping,
            bytes: encoded + diagonals,
            bytes_at_once: at_once + diagonals,
            cost,
            times,
        })
    }

    /// The ring of the plaintexts: the subring that holds diagonals of the map's period.
    pub(crate) fn plaintext_ring(&self) -> Result<Ring, CkksError> {
        let slots = self.transform.period().max(MIN_SLOTS).min(self.params.slot_count());
        Ok(self.params.chain().ring().subring(2 * slots)?)
    }

    /// The number of diagonals of each giant step.
    pub(crate) fn diagonal_counts(&self) -> impl Iterator<Item = usize> {
        self.giants.iter().map(|giant| giant.terms.len())
    }

    /// Encodes the diagonals now instead of at the first use, for keys that are made for this plan.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`] if a diagonal does not fit the modulus; [`CkksError::OutOfRange`] for a
    /// plan that does not keep plaintexts.
    pub fn encode(&self) -> Result<(), CkksError> {
        if self.is_on_the_fly() {
            return Err(CkksError::OutOfRange {
                what: "the diagonals that a plan keeps",
                value: "none".to_owned(),
                remedy: "make the plan without `on_the_fly`".to_owned(),
            });
        }
        self.plaintexts(&self.basis_as_made()?).map(drop)
    }

    /// The encoded diagonals, by basis.
    pub(crate) fn encoded(&self) -> Vec<(Basis, Arc<Vec<PackedPlaintexts>>)> {
        let known = self.plaintexts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = known
            .iter()
            .map(|(indices, plaintexts)| (Basis::new(indices.iter().copied()), plaintexts.clone()))
            .collect();
        all.sort_by(|(x, _), (y, _)| x.indices().cmp(y.indices()));
        all
    }

    /// Adds plaintexts that were encoded before, one group for each giant step.
    pub(crate) fn take_encoded(&self, basis: &Basis, plaintexts: Vec<PackedPlaintexts>) {
        self.plaintexts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(basis.indices().to_vec(), Arc::new(plaintexts));
    }

    /// Bytes of all encoded plaintexts, including those in a mapped file.
    #[must_use]
    pub fn plaintext_bytes(&self) -> usize {
        let known = self.plaintexts.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().flat_map(|plaintexts| plaintexts.iter()).map(PackedPlaintexts::bytes).sum()
    }

    /// Drops the encoded plaintexts; the next use encodes them again.
    pub fn drop_plaintexts(&self) {
        self.plaintexts.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use clathrate_lattice::SecretRng;
    use rustfft::num_complex::Complex64;

    use super::super::plan::MOST_AT_ONCE;
    use super::*;
    use crate::SecretKey;
    use crate::parameters::Runtime;

    #[test]
    fn plaintexts_that_are_not_kept_give_the_same_bits() {
        let params = crate::Params::preset("insecure_small", &Runtime::default()).expect("a preset");
        let slots = params.slot_count();
        let owner = SecretKey::generate_with(&params, &mut SecretRng::from_seed([1; 32])).expect("a key");
        let x = owner.encrypt(&vec![0.25; slots]).expect("encrypted");
        let map = |count: i64, period: usize| {
            let diagonal =
                |shift: i64| (shift, (0..period).map(|j| Complex64::new(j as f64, shift as f64)).collect());
            LinearTransform::from_diagonals(slots, (0..count).map(diagonal)).expect("a map")
        };
        let fewest = LinearTransformOptions { most_keys: Some(2), ..Default::default() };
        let default = LinearTransformOptions::default();
        for (map, options) in [
            (map(24, slots), default),
            (map(24, 8), default),
            (map(24, 8), fewest),
            (map(5, slots), fewest),
            (map(1, slots), default),
        ] {
            let mut plan = map.plan_with(&params, x.level(), options).expect("a plan");
            let evaluator =
                Evaluator::with_keys(owner.evaluation_keys(&plan.needs().unwrap()).expect("keys"));
            let kept = plan.run(&evaluator, &x).expect("a run");
            assert!(plan.plaintext_bytes() > 0);
            plan.drop_plaintexts();
            plan.pass();
            for most_at_once in [MOST_AT_ONCE, 0] {
                plan.most_at_once = most_at_once;
                let again = plan.run(&evaluator, &x).expect("a run");
                assert!(plan.plaintext_bytes() == 0 && again.bundles() == kept.bundles());
            }
        }
    }
}
