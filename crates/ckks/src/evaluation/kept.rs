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
