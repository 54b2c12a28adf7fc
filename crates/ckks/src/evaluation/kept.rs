//! Plans that evaluators keep with their encoded plaintexts, which take longer to make than to use.
//!
//! Plans are kept within a byte budget ([`Runtime::plaintext_cache_bytes`](crate::Runtime)). Where it is
//! spent, a new plan takes the place of plans that were not used since it was last asked for. So a
//! computation that uses more than fits, again and again, keeps the same plans all the time, and encodes the
//! others for each use; a dry run counts on this ([`Recording`](super::recording::Recording)).
//!
//! Plans without plaintexts that follow from places and sizes alone are shared by the whole process.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use blake3::{Hash, Hasher};

use crate::error::CkksError;

/// Plans that are kept, whatever their size.
const MAX_PLANS: usize = 1024;

/// Purposes that are remembered without a plan.
const MAX_REMEMBERED: usize = 4096;

/// A plan that is made once for a purpose.
pub(crate) trait Keepable: Any + Send + Sync {
    /// Bytes that the plan takes of the budget: with all of its plaintexts encoded.
    fn kept_bytes(&self) -> usize;

    /// Tells the plan that it is not kept, so that there is no use in keeping its plaintexts.
    fn pass(&mut self) {}
}

/// A plan that is kept.
struct Kept {
    plan: Arc<dyn Keepable>,
    bytes: usize,
    /// When it was asked for last.
    asked: u64,
}

#[derive(Default)]
struct Plans {
    kept: HashMap<Hash, Kept>,
    bytes: usize,
    /// When the purposes without a plan were asked for, in this order.
    remembered: VecDeque<(Hash, u64)>,
    /// How often plans were asked for; serves as the clock.
    asked: u64,
}

impl Plans {
    /// The time at which a purpose without a plan was asked for last; forgets it.
    fn recall(&mut self, purpose: &Hash) -> Option<u64> {
        let place = self.remembered.iter().position(|(known, _)| known == purpose)?;
        self.remembered.remove(place).map(|(_, asked)| asked)
    }

    fn remember(&mut self, purpose: Hash, asked: u64) {
        self.recall(&purpose);
        self.remembered.push_back((purpose, asked));
        if self.remembered.len() > MAX_REMEMBERED {
            self.remembered.pop_front();
        }
    }

    /// Makes room for `bytes` by giving up plans that were not asked for since `before`. Returns whether
    /// there is room; if not, nothing was given up.
    fn make_room(&mut self, bytes: usize, before: Option<u64>, budget: usize) -> bool {
        let mut old: Vec<(u64, Hash, usize)> = self
            .kept
            .iter()
            .filter(|(_, kept)| before.is_some_and(|before| kept.asked < before))
            .map(|(purpose, kept)| (kept.asked, *purpose, kept.bytes))
            .collect();
        old.sort_unstable_by_key(|&(asked, ..)| asked);
        let (mut left, mut count, mut given_up) = (self.bytes, self.kept.len(), 0);
        while count >= MAX_PLANS || left.saturating_add(bytes) > budget {
            let Some(&(_, _, own)) = old.get(given_up) else { return false };
            (left, count, given_up) = (left - own, count - 1, given_up + 1);
        }
        for (asked, purpose, bytes) in old.into_iter().take(given_up) {
            self.kept.remove(&purpose);
            self.bytes -= bytes;
            self.remember(purpose, asked);
        }
        true
    }
}

/// Plans by what they are for; clones share them.
#[derive(Clone, Default)]
pub struct KeptPlans(Arc<Mutex<Plans>>);

impl std::fmt::Debug for KeptPlans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeptPlans({})", self.plans().kept.len())
    }
}

impl KeptPlans {
    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan for a purpose, which `make` makes unless it is kept; all plans together take at most `budget`
    /// bytes. `pass` is called for a plan that is not kept. Purposes of different types of plans have
    /// different names.
    pub(crate) fn plan<P: Keepable>(
        &self,
        purpose: &Hasher,
        budget: usize,
        make: impl FnOnce() -> Result<P, CkksError>,
        pass: impl FnOnce(&mut P),
    ) -> Result<Arc<P>, CkksError> {
        let purpose = purpose.finalize();
        let known = {
            let mut plans = self.plans();
            plans.asked += 1;
            let asked = plans.asked;
            plans.kept.get_mut(&purpose).and_then(|kept| {
                let plan: Arc<dyn Any + Send + Sync> = kept.plan.clone();
                kept.asked = asked;
                plan.downcast::<P>().ok()
            })
        };
        if let Some(plan) = known {
            return Ok(plan);
        }
        let mut plan = make()?;
        let bytes = plan.kept_bytes();
        let mut plans = self.plans();
        let (asked, before) = (plans.asked, plans.recall(&purpose));
        if !plans.make_room(bytes, before, budget) {
            plans.remember(purpose, asked);
            pass(&mut plan);
            return Ok(Arc::new(plan));
        }
        let plan = Arc::new(plan);
        // Another thread may have made it meanwhile.
        if let Some(other) = plans.kept.insert(purpose, Kept { plan: plan.clone(), bytes, asked }) {
            plans.bytes -= other.bytes;
        }
        plans.bytes += bytes;
        Ok(plan)
    }
}

/// Bytes of the plans that all evaluators share.
const SHARED_BYTES: usize = 128 << 20;

/// Plans that follow from places and sizes alone: they have no plaintexts, and serve all parameters.
static SHARED: LazyLock<KeptPlans> = LazyLock::new(KeptPlans::default);

/// The plan for a purpose, which `make` makes unless this process has it. It must follow from the purpose,
/// for all parameters, so that a run, and each dry run of a search, has the same.
///
/// # Errors
/// Those of `make`.
pub(crate) fn shared_plan<P: Keepable>(
    purpose: &Hasher,
    make: impl FnOnce() -> Result<P, CkksError>,
) -> Result<Arc<P>, CkksError> {
    SHARED.plan(purpose, SHARED_BYTES, make, |_| {})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Sized {
        bytes: usize,
        passed: bool,
    }

    impl Keepable for Sized {
        fn kept_bytes(&self) -> usize {
            self.bytes
        }

        fn pass(&mut self) {
            self.passed = true;
        }
    }

    #[derive(Debug)]
    struct Other;

    impl Keepable for Other {
        fn kept_bytes(&self) -> usize {
            0
        }
    }

    const BUDGET: usize = 100;

    fn purpose(name: usize) -> Hasher {
        let mut purpose = Hasher::new();
        purpose.update(&name.to_le_bytes());
        purpose
    }

    /// How many plans are made where those with these names and sizes are asked for one after the other.
    fn made(asked: &[(usize, usize)]) -> usize {
        let (plans, mut count) = (KeptPlans::default(), 0);
        for &(name, bytes) in asked {
            let make = || {
                count += 1;
                Ok(Sized { bytes, passed: false })
            };
            let plan = plans.plan(&purpose(name), BUDGET, make, Sized::pass).expect("a plan");
            let kept: usize = plans.plans().kept.values().map(|kept| kept.bytes).sum();
            assert!(kept == plans.plans().bytes && kept <= BUDGET);
            assert_eq!(
                (plan.bytes, plan.passed),
                (bytes, !plans.plans().kept.contains_key(&purpose(name).finalize()))
            );
        }
        count
    }

    #[test]
    fn plans_are_made_once_within_the_budget() {
        assert_eq!(made(&[(1, 8), (2, 8), (1, 8), (2, 8)]), 2);
        assert_eq!(made(&[(1, 50), (2, 50), (1, 50), (2, 50)]), 2);
        // One that is too large alone is never kept.
        assert_eq!(made(&[(1, 101), (1, 101), (2, 8), (1, 101), (2, 8)]), 4);
        let many: Vec<(usize, usize)> = (0..=MAX_PLANS).map(|name| (name, 0)).collect();
        assert_eq!(made(&[&many[..], &[(0, 0), (1, 0)]].concat()), MAX_PLANS + 1);
    }

    #[test]
    fn a_round_of_too_many_keeps_the_same_ones() {
        // Three of four fit: each round makes the fourth alone.
        let round = [(1, 30), (2, 30), (3, 30), (4, 30)];
        assert_eq!(made(&round.repeat(5)), 3 + 5);
    }

    #[test]
    fn plans_that_are_no_longer_used_make_room() {
        // The second round of other plans finds the old ones unused.
        let (old, new) = ([(1, 50), (2, 50)], [(3, 40), (4, 40)]);
        assert_eq!(made(&[&old.repeat(3)[..], &new.repeat(5)].concat()), 2 + 4);
        // None is given up where that would not make room enough.
        assert_eq!(made(&[(1, 60), (2, 40), (3, 101), (3, 101), (1, 60), (2, 40)]), 4);
        assert_eq!(made(&[(1, 60), (3, 50), (2, 40), (3, 50), (1, 60), (2, 40)]), 5);
    }

    #[test]
    fn errors_keep_nothing_and_types_are_told_apart() {
        let plans = KeptPlans::default();
        let refused = plans.plan(
            &purpose(1),
            BUDGET,
            || Err::<Sized, _>(CkksError::Internal { operation: "a test" }),
            Sized::pass,
        );
        assert!(refused.is_err() && plans.plans().kept.is_empty());
        plans
            .plan(&purpose(1), BUDGET, || Ok(Sized { bytes: 1, passed: false }), Sized::pass)
            .expect("a plan");
        plans.plan(&purpose(1), BUDGET, || Ok(Other), Other::pass).expect("a plan of another type");
        let plans = plans.plans();
        assert_eq!((plans.kept.len(), plans.bytes), (1, 0));
    }
}
