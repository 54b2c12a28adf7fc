//! Plans of conversions between slots and coefficients, kept with the parameters that they are for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_ckks::circuits::conversion::{ConversionOptions, ConversionPlan};
use clathrate_ckks::{Ciphertext, CkksError, Layout};

/// Plans that are kept, before all are dropped.
const MOST_PLANS: usize = 4;

/// Plans of conversions, by the layout, level and scale of what they convert, and the levels that they take. They hold encoded diagonals, which take longer to make than to use.
#[derive(Default)]
pub struct ConversionPlans(Mutex<HashMap<(Layout, usize, u64, Option<usize>), Arc<ConversionPlan>>>);

impl ConversionPlans {
    /// The plan for arrays like `x`.
    ///
    /// # Errors
    /// As [`ConversionPlan::new`].
    pub fn plan(&self, x: &Ciphertext, levels: Option<usize>) -> Result<Arc<ConversionPlan>, CkksError> {
        let key = (Layout { rows: 1, ..*x.layout() }, x.level().0, x.scale().to_bits(), levels);
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = known().get(&key) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(ConversionPlan::new(x, ConversionOptions { levels })?);
        let mut plans = known();
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        plans.insert(key, plan.clone());
        Ok(plan)
    }
}
