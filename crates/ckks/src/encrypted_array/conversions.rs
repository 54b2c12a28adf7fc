//! Plans of conversions between slots and coefficients, which arrays share.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::arrays::{Ciphertext, Layout};
use crate::circuits::conversion::{ConversionOptions, ConversionPlan};
use crate::error::CkksError;

/// Plans that are kept.
const MAX_PLANS: usize = 8;

/// Bytes of encoded diagonals that are kept, all plans together; the plan in use is kept whatever its size.
const MAX_BYTES: usize = 1 << 30;

/// What a plan is for: a row's layout, the level and the bits of the scale of arrays, and the levels that it
/// takes.
type Inputs = (Layout, usize, u64, Option<usize>);

/// What plans are for, and the plans, the one that was used last in front.
type Kept = VecDeque<(Inputs, Arc<ConversionPlan>)>;

/// Plans of conversions; clones share them. They hold encoded diagonals,
/// which take longer to make than to use.
#[derive(Debug, Clone, Default)]
pub struct ConversionPlans(Arc<Mutex<Kept>>);

impl ConversionPlans {
    /// The plan for arrays like `x`.
    pub(super) fn plan(
        &self,
        x: &Ciphertext,
        levels: Option<usize>,
    ) -> Result<Arc<ConversionPlan>, CkksError> {
        let inputs = (x.layout().of_rows(1), x.level().0, x.scale().to_bits(), levels);
        let plans = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = plans().iter().find(|(kept, _)| *kept == inputs).map(|(_, plan)| plan.clone());
        let plan = match known {
            Some(plan) => plan,
            None => Arc::new(ConversionPlan::new(x, ConversionOptions { levels })?),
        };
        keep(&mut plans(), inputs, plan.clone());
        Ok(plan)
    }
}

/// Puts `plan` in front, and drops those behind that are too many or too large.
fn keep(plans: &mut Kept, inputs: Inputs, plan: Arc<ConversionPlan>) {
    plans.retain(|(kept, _)| *kept != inputs);
    plans.push_front((inputs, plan));
    let mut bytes = 0;
    let headroom = plans.iter().take(MAX_PLANS).take_while(|(_, plan)| {
        bytes += plan.plaintext_bytes();
        bytes <= MAX_BYTES
    });
    let kept = headroom.count().max(1);
    plans.truncate(kept);
}
