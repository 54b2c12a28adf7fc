//! How the owner makes evaluation keys: counted and refused first, then one after another.

use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::{Level, SecretRng, SwitchKey};

use super::{EvaluationKeys, GaloisKey, Progress, SecretKey};
use crate::error::CkksError;
use crate::keys::needs::KeyNeeds;

impl SecretKey {
    /// Exactly the evaluation keys that `needs` states.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where the parameters cannot switch; level errors.
    pub fn evaluation_keys(&self, needs: &KeyNeeds, progress: Progress<'_>) -> Result<EvaluationKeys, CkksError> {
        self.evaluation_keys_rng(needs, progress, &mut SecretRng::from_os()?)
    }

    /// As [`SecretKey::evaluation_keys`] with given randomness.
    ///
    /// # Errors
    /// As [`SecretKey::evaluation_keys`].
    pub fn evaluation_keys_rng(&self, needs: &KeyNeeds, progress: Progress<'_>, rng: &mut SecretRng) -> Result<EvaluationKeys, CkksError> {
        let needs = &self.params.resolve(needs)?.flattened(self.params.shape());
        let total = self.key_count(needs)?;
        let mut done = 0;
        let mut tick = || {
            let go_on = progress(done, total);
            done += 1;
            if go_on { Ok(()) } else { Err(CkksError::Cancelled) }
        };
        let keys = self.make_keys(needs, &mut tick, rng)?;
        progress(total, total);
        Ok(keys)
    }

    /// How many keys `needs` are; refused before one is made where they cannot be.
    fn key_count(&self, needs: &KeyNeeds) -> Result<usize, CkksError> {
        let crossing = self.params.crossing().is_some() && needs.relinearisation().is_some();
        if needs.powers().is_some() && self.params.temporary().is_none() {
            return Err(CkksError::NoTemporaryRank { operation: "rotations by powers of two" });
        }
        let mut count =
            needs.rotation_steps().count() + usize::from(needs.relinearisation().is_some()) + usize::from(needs.conjugation().is_some());
        count += usize::from(needs.relinearisation().is_some() && self.params.direct(Level(0)).is_some());
        count += usize::from(crossing || needs.powers().is_some()) + needs.powers().map_or(0, |_| self.powers().len());
        for (rank, _) in needs.reductions() {
            let from = self.params.rank();
            if rank == 0 || rank >= from {
                return Err(CkksError::RankStep { from, to: rank, remedy: format!("reduce to 1 to {}", from.saturating_sub(1)) });
            }
            if rank > from.div_ceil(2) && !needs.allows_single_steps() {
                let remedy = format!(
                    "reduce to {} or less, or say `single_steps`: keys for many steps of less than half are a possible weakness",
                    from.div_ceil(2)
                );
                return Err(CkksError::RankStep { from, to: rank, remedy });
            }
            self.params.at_rank(rank)?;
            count += 1;
        }
        for (shape, relative) in needs.relatives() {
            count += self.relative(&self.params.relative(shape)?)?.key_count(relative)?;
        }
        Ok(count)
    }

    /// The rotations by powers of two, left and right, up to half the slots.
    fn powers(&self) -> Vec<GaloisElement> {
        let (slots, degree) = (self.params.slot_count() as i64, self.params.degree());
        let mut elements = Vec::new();
        let mut step = 1;
        while step < slots {
            for element in [GaloisElement::rotation(step, degree), GaloisElement::rotation(-step, degree)] {
                if !elements.contains(&element) {
                    elements.push(element);
                }
            }
            step *= 2;
        }
        elements
    }

    fn make_keys(
        &self,
        needs: &KeyNeeds,
        tick: &mut dyn FnMut() -> Result<(), CkksError>,
        rng: &mut SecretRng,
    ) -> Result<EvaluationKeys, CkksError> {
        let (chain, top, degree) = (self.params.chain(), self.params.max_level(), self.params.degree());
        let mut keys = EvaluationKeys::none(&self.params, self.id);
        // The further secret of the temporary rank lives as long as the making of these keys.
        let temporary = match self.params.temporary() {
            Some(temporary) if needs.powers().is_some() || (needs.relinearisation().is_some() && self.params.rank() > 1) => {
                let rank = temporary.rank - self.params.rank();
                let distribution = self.params.distribution_of(rank);
                let extra = clathrate_lattice::SecretKey::generate(degree, rank, 1, distribution, rng)?;
                Some((temporary, self.secret.join_rank(&extra)?))
            }
            _ => None,
        };
        if let Some((_, secret)) = &temporary {
            tick()?;
            let crossing = needs.relinearisation().filter(|_| self.params.rank() > 1);
            let reach = crossing.max(needs.powers()).map_or(top, |reach| reach.level(top));
            keys.rank_down = Some(SwitchKey::rank_down(chain, self.params.gadget()?, reach, secret, self.params.rank(), rng)?);
        }
        if let Some(reach) = needs.relinearisation() {
            tick()?;
            let reach = reach.level(top);
            keys.relinearisation = Some(match &temporary {
                Some((temporary, secret)) if self.params.rank() > 1 => {
                    SwitchKey::cross_relinearisation(temporary.chain(), &temporary.gadget, reach, &self.secret, secret, rng)?
                }
                _ => SwitchKey::relinearisation(chain, self.params.gadget()?, reach, &self.secret, rng)?,
            });
            if let Some((temporary, most)) = self.params.direct(Level(0)).and_then(|temporary| Some((temporary, temporary.direct_level?))) {
                tick()?;
                let key = SwitchKey::relinearisation(temporary.chain(), &temporary.gadget, reach.min(most), &self.secret, rng)?;
                keys.direct = Some(key);
            }
        }
        let rotations = needs.rotation_steps().map(|(steps, reach)| (GaloisElement::rotation(steps, degree), reach));
        let conjugation = needs.conjugation().map(|reach| (GaloisElement::conjugation(degree), reach));
        for (element, reach) in rotations.chain(conjugation) {
            tick()?;
            if keys.galois.get(&element).is_some_and(|key| key.key.level() >= reach.level(top)) {
                continue; // two steps may be one rotation
            }
            let phi = Automorphism::new(element, degree);
            let key = SwitchKey::automorphism(chain, self.params.gadget()?, reach.level(top), &self.secret, &phi, rng)?;
            keys.galois.insert(element, GaloisKey { phi, key });
        }
        if let (Some(reach), Some((temporary, secret))) = (needs.powers(), &temporary) {
            for element in self.powers() {
                tick()?;
                let phi = Automorphism::new(element, degree);
                let key = SwitchKey::automorphism(temporary.chain(), &temporary.gadget, reach.level(top), secret, &phi, rng)?;
                keys.powers.insert(element, GaloisKey { phi, key });
            }
        }
        for (rank, reach) in needs.reductions() {
            tick()?;
            let lower = self.params.at_rank(rank)?;
            let reach = reach.level(lower.max_level());
            let key = SwitchKey::rank_down(lower.chain(), lower.gadget()?, reach, &self.secret, rank, rng)?;
            keys.reductions.insert(rank, (lower, key));
        }
        for (shape, relative) in needs.relatives() {
            let owner = self.relative(&self.params.relative(shape)?)?;
            keys.relatives.insert(shape, owner.make_keys(relative, tick, rng)?);
        }
        Ok(keys)
    }
}
