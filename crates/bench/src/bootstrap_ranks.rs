//! Predicted cost of the stages after the raise at higher ranks, by dry runs: whether arrays of rank 2 or 4
//! should be bootstrapped directly or converted to rank 1 first.

use clathrate_ckks::arrays::Estimate;
use clathrate_ckks::circuits::bootstrap::ModularReduction;
use clathrate_ckks::encoding::dft;
use clathrate_ckks::lattice::Level;
use clathrate_ckks::{BootstrapPlan, CkksError, Encoding, Evaluator, ModuleShape};
use serde_json::{Value, json};

/// The ranks that are compared.
const RANKS: [usize; 3] = [1, 2, 4];

/// Milliseconds of the operations that `evaluator` recorded.
fn milliseconds(evaluator: &Evaluator) -> f64 {
    evaluator.recorded().cost().nanoseconds / 1e6
}

/// Predicted milliseconds for as many numbers as rank 1 has slots: of coefficients-to-slots without the
/// raise's key, of the split, of the modular reduction, and of the conversion to rank 1 at the start of a
/// bootstrap.
///
/// # Errors
/// Those of the dry runs.
pub fn predicted(plan: &BootstrapPlan) -> Result<Vec<Value>, CkksError> {
    RANKS.iter().map(|&rank| at_rank(plan, rank)).collect()
}

fn at_rank(plan: &BootstrapPlan, rank: usize) -> Result<Value, CkksError> {
    let root = plan.params();
    let params = root.relative(ModuleShape { degree: root.degree() / rank, rank })?;
    let (top, slots, times) = (params.max_level(), params.slot_count(), rank as f64);
    let reduction: &ModularReduction = plan.reduction();
    let factors = dft::coefficients_to_slots(slots, top.0 - reduction.input_level().0)?;
    let mut to_slots = 0.0;
    for (index, factor) in factors.iter().enumerate() {
        to_slots += factor.plan(&params, Level(top.0 - index))?.dry_run()?.cost().nanoseconds / 1e6;
    }
    let symbol =
        |evaluator: &Evaluator, level: Level| evaluator.symbol(&[slots], Encoding::Slots, level, 1.0);
    let split = Evaluator::recording(&params);
    split.conjugate(&symbol(&split, reduction.input_level())?)?;
    let halves = if plan.is_real() { 1.0 } else { 2.0 };
    let polynomial = reduction.cosine().polynomial().plan(&params, reduction.input_level())?;
    let mut reduced = polynomial.dry_run(Estimate::exact(1.0))?.0.cost().nanoseconds / 1e6;
    for doubling in 0..reduction.doublings() {
        let product = Evaluator::recording(&params);
        let x = symbol(&product, Level(polynomial.output_level().0 - doubling))?;
        product.multiply_rescale(&x, &x)?;
        reduced += milliseconds(&product);
    }
    let conversion = Evaluator::recording(&params);
    conversion.to_rlwe(&symbol(&conversion, plan.input_level())?)?;
    Ok(json!({
        "rank": rank,
        "degree": params.degree(),
        "slots": slots,
        "to_slots_ms": times * to_slots,
        "split_ms": times * milliseconds(&split),
        "reduction_ms": times * halves * reduced,
        "conversion_ms": times * milliseconds(&conversion),
    }))
}
