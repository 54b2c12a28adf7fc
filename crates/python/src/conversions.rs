//! Plans of conversions between slots and coefficients, kept with the parameters that they are for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_ckks::circuits::conversion::{ConversionOptions, ConversionPlan};
use clathrate_ckks::{Ciphertext, CkksError, Layout};

/// Plans that are kept.
const MOST_PLANS: usize = 8;

/// Bytes of encoded diagonals that are kept, all plans together; the plan in use is kept whatever its size.
const MOST_BYTES: usize = 1 << 30;

/// What a plan is for: a row's layout, the level and the bits of the scale of arrays, and the levels that it
/// takes.
type Inputs = (Layout, usize, u64, Option<usize>);

/// Plans of conversions, the one that was used last in front. They hold encoded diagonals, which take longer
/// to make than to use.
#[derive(Default)]
pub struct ConversionPlans(Mutex<VecDeque<(Inputs, Arc<ConversionPlan>)>>);

impl ConversionPlans {
    /// The plan for arrays like `x`.
    pub fn plan(&self, x: &Ciphertext, levels: Option<usize>) -> Result<Arc<ConversionPlan>, CkksError> {
        let inputs = (Layout { rows: 1, ..*x.layout() }, x.level().0, x.scale().to_bits(), levels);
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
fn keep(plans: &mut VecDeque<(Inputs, Arc<ConversionPlan>)>, inputs: Inputs, plan: Arc<ConversionPlan>) {
    plans.retain(|(kept, _)| *kept != inputs);
    plans.push_front((inputs, plan));
    let mut bytes = 0;
    let headroom = plans.iter().take(MOST_PLANS).take_while(|(_, plan)| {
        bytes += plan.plaintext_bytes();
        bytes <= MOST_BYTES
    });
    let kept = headroom.count().max(1);
    plans.truncate(kept);
}
