//! Plans that evaluators keep with their encoded plaintexts, which take longer to make than to use.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blake3::{Hash, Hasher};

use crate::error::CkksError;

/// Plans that are kept.
const MAX_PLANS: usize = 64;

/// Bytes of encoded plaintexts that are kept, all plans together; the plan that was used last is kept
/// whatever its size.
pub(crate) const MAX_BYTES: usize = 1 << 30;

/// A plan that is made once for a purpose.
pub(crate) trait Keepable: Any + Send + Sync {
    /// Bytes of its encoded plaintexts.
    fn encoded_bytes(&self) -> usize;
}

/// Purposes and their plans; the one that was used last is in front.
type Plans = VecDeque<(Hash, Arc<dyn Keepable>)>;

/// Plans by what they are for; clones share them.
#[derive(Clone, Default)]
pub struct KeptPlans(Arc<Mutex<Plans>>);

impl std::fmt::Debug for KeptPlans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeptPlans({})", self.plans().len())
    }
}

impl KeptPlans {
    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan for a purpose, which `make` makes unless it is kept. Purposes of different types of plans
    /// have different names.
    pub(crate) fn plan<P: Keepable>(
        &self,
        purpose: &Hasher,
        make: impl FnOnce() -> Result<P, CkksError>,
    ) -> Result<Arc<P>, CkksError> {
        let purpose = purpose.finalize();
        let known = self.plans().iter().find(|(kept, _)| *kept == purpose).map(|(_, plan)| plan.clone());
        let known = known.map(|plan| -> Arc<dyn Any + Send + Sync> { plan });
        let plan = match known.and_then(|plan| plan.downcast::<P>().ok()) {
            Some(plan) => plan,
            None => Arc::new(make()?),
        };
        let mut plans = self.plans();
        plans.retain(|(kept, _)| *kept != purpose);
        plans.push_front((purpose, plan.clone()));
        let mut bytes = 0;
        let within = plans.iter().take(MAX_PLANS).take_while(|(_, plan)| {
            bytes += plan.encoded_bytes();
            bytes <= MAX_BYTES
        });
        let kept = within.count().max(1);
        plans.truncate(kept);
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Sized(usize);

    impl Keepable for Sized {
        fn encoded_bytes(&self) -> usize {
            self.0
        }
    }

    #[derive(Debug)]
    struct Other;

    impl Keepable for Other {
        fn encoded_bytes(&self) -> usize {
            0
        }
    }

    fn purpose(name: usize) -> Hasher {
        let mut purpose = Hasher::new();
        purpose.update(&name.to_le_bytes());
        purpose
    }

    /// How many plans are made where those with these names and sizes are asked for one after the other.
    fn made(asked: &[(usize, usize)]) -> usize {
        let (plans, mut count) = (KeptPlans::default(), 0);
        for &(name, size) in asked {
            let make = || {
                count += 1;
                Ok(Sized(size))
            };
            assert_eq!(plans.plan(&purpose(name), make).expect("a plan").0, size);
        }
        count
    }

    #[test]
    fn plans_are_made_once_within_their_limits() {
        assert_eq!(made(&[(1, 8), (2, 8), (1, 8), (2, 8)]), 2);
        // The one that was used longest ago goes first.
        let half = MAX_BYTES / 2;
        assert_eq!(made(&[(1, half), (2, half), (1, half), (3, half), (1, half), (3, half)]), 3);
        assert_eq!(made(&[(1, half), (2, half), (3, half), (1, half)]), 4);
        // One that is too large alone is kept until the next one.
        assert_eq!(made(&[(1, 2 * MAX_BYTES), (1, 2 * MAX_BYTES), (2, 8), (1, 2 * MAX_BYTES)]), 3);
        let many: Vec<(usize, usize)> = (0..=MAX_PLANS).map(|name| (name, 1)).collect();
        assert_eq!(made(&[&many[..], &[(1, 1), (0, 1)]].concat()), MAX_PLANS + 2);
    }

    #[test]
    fn errors_keep_nothing_and_types_are_told_apart() {
        let plans = KeptPlans::default();
        let refused =
            plans.plan(&purpose(1), || Err::<Sized, _>(CkksError::Internal { operation: "a test" }));
        assert!(refused.is_err() && plans.plans().is_empty());
        plans.plan(&purpose(1), || Ok(Sized(1))).expect("a plan");
        plans.plan(&purpose(1), || Ok(Other)).expect("a plan of another type");
        assert_eq!(plans.plans().len(), 1);
    }
}
