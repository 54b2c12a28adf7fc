//! The diagonals of a plan as packed plaintexts. Diagonals with a short period are encoded in a subring,
//! which saves memory.

use std::sync::{Arc, PoisonError};

use clathrate_lattice::{Basis, Eval, PackedPlaintexts, Poly, Ring};

use super::plan::{LinearTransformPlan, Step};
use super::{LinearTransform, LinearTransformOptions};
use crate::arrays::Ciphertext;
use crate::encoding::encode::diagonal_to_poly;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::kept::{Keepable, MAX_BYTES};

impl Keepable for LinearTransformPlan {
    fn encoded_bytes(&self) -> usize {
        self.plaintext_bytes() + self.transform.bytes()
    }
}

impl LinearTransform {
    /// The plan for arrays like `x` with default options, which `evaluator` keeps. A plan whose diagonals
    /// take more than 1 GiB encodes them for each use.
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
        let make = || {
            let primes = params.chain().basis(level).len();
            let on_the_fly =
                self.shifts().count() * 2 * self.period() * primes * size_of::<u64>() > MAX_BYTES;
            let options =
                LinearTransformOptions { input_scale: Some(x.scale()), on_the_fly, ..Default::default() };
            shared().plan_of(params, level, options)
        };
        evaluator.kept().plan(&purpose, make)
    }
}

/// Minimum number of slots of a subring.
const MIN_SLOTS: usize = 4;

impl LinearTransformPlan {
    /// The plaintexts of each giant step over `basis`, encoded on the first call, or on each call if the plan
    /// does not keep them.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`] if a diagonal does not fit the modulus.
    pub(super) fn plaintexts(&self, basis: &Basis) -> Result<Arc<Vec<PackedPlaintexts>>, CkksError> {
        let mut known = self.plaintexts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plaintexts) = known.get(basis.indices()) {
            return Ok(plaintexts.clone());
        }
        if self.on_the_fly {
            drop(known);
            return self.encoded_over(basis).map(Arc::new);
        }
        let plaintexts = Arc::new(self.encoded_over(basis)?);
        known.insert(basis.indices().to_vec(), plaintexts.clone());
        Ok(plaintexts)
    }

    fn encoded_over(&self, basis: &Basis) -> Result<Vec<PackedPlaintexts>, CkksError> {
        let ring = self.plaintext_ring()?;
        let slots = ring.degree() / 2;
        let encoder = self.params.encoder().of_subring(ring.degree());
        let encode = |step: &Step| -> Result<PackedPlaintexts, CkksError> {
            let polys = step.terms.iter().map(|term| {
                let diagonal = self.transform.rotated_diagonal(term.shift as i64, step.steps, slots);
                diagonal_to_poly(&encoder, &ring, basis, &diagonal, self.diagonal_scale())
            });
            let polys: Vec<Poly<Eval>> = polys.collect::<Result<_, _>>()?;
            Ok(PackedPlaintexts::pack(&polys.iter().collect::<Vec<_>>())?)
        };
        self.giants.iter().map(encode).collect()
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
        if self.on_the_fly {
            return Err(CkksError::OutOfRange {
                what: "the diagonals that a plan keeps",
                value: "none".to_owned(),
                remedy: "make the plan without `on_the_fly`".to_owned(),
            });
        }
        let (before, after) = self.switches();
        let basis = if self.iteration.is_some() || before + after == 0 {
            self.params.chain().basis(self.level)
        } else {
            self.params.switcher()?.transform_tables_for(self.level, self.level)?.extended().clone()
        };
        self.plaintexts(&basis).map(drop)
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
