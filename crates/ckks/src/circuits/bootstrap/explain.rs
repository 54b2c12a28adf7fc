//! The description of a plan for people.

use clathrate_arith::text::counted;

use super::plan::BootstrapPlan;
use super::raise::RaiseMethod;
use crate::circuits::linear::LinearTransformPlan;
use crate::error::CkksError;

impl BootstrapPlan {
    /// A description of the bootstrap: levels, scales, the accuracy of the modular reduction, the probability
    /// of failure, keys, and the predicted cost by stage.
    pub fn explain(&self) -> Result<String, CkksError> {
        const GIB: f64 = (1u64 << 30) as f64;
        let (recording, reduction) = (self.dry_run()?, &self.reduction);
        let keys = recording.keys(&self.params)?;
        let (mean, worst) = reduction.approximation_error(1.0, self.probabilities());
        let error = self.predicted_error()?;
        let kept = self.params.log2_q(self.output_level()) - self.params.log2_q(self.input_level());
        let splits = |plans: &[LinearTransformPlan]| {
            let one = |plan: &LinearTransformPlan| {
                let (before, after) = plan.switches();
                let keys = if plan.is_iterated() {
                    format!(" by {}", counted(plan.rotations().len(), "key"))
                } else {
                    String::new()
                };
                format!("{before} + {after}{keys}")
            };
            plans.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let mut batch = String::new();
        if let Some((polys, costs)) = &self.batch {
            batch = format!(
                "for {polys} polynomials, a star marks the choice:\n  bodies under a mask  milliseconds each  GiB of keys\n"
            );
            for cost in costs {
                let (milliseconds, gibibytes) = (cost.nanoseconds / 1e6, cost.key_bytes as f64 / GIB);
                let mark = if cost.bodies == self.bodies { '*' } else { ' ' };
                batch += &format!("{mark} {:>19}  {milliseconds:>17.1}  {gibibytes:>11.2}\n", cost.bodies);
            }
        }
        let numbers = if self.real { "real" } else { "complex" };
        Ok(format!(
            "bootstrap of {} {numbers} slots under \"{}\", {}{}{}\n\
             levels {} to {}: {kept:.1} bits left for the application\n\
             rotations of the linear maps, baby + giant steps: slots to coefficients {}; coefficients to slots {}{}\n\
             modular reduction: |I| < {}, degree {}, {}{}, ratio 2^{:.2}; its error alone: {:.1} bits (root mean square), {:.1} (worst)\n\
             predicted error of a real or imaginary part, uniform in [-1, 1]: {:.1} bits (root mean square); of slots to coefficients alone {:.1}, \
             encapsulation {:.1}, coefficients to slots {:.1}, noise of the modular reduction {:.1}\n\
             failure: 2^{:.1} for each polynomial\n\
             keys: {}, {:.2} GiB\n{batch}{recording}",
            self.slots,
            self.params.spec().name,
            counted(self.rounds, "round"),
            match self.transform_slots {
                all if all > self.slots => format!(", by transforms of {all} slots in which numbers repeat"),
                _ => String::new(),
            },
            match (self.bodies, self.product) {
                (1, _) => String::new(),
                (bodies, false) => format!(", {bodies} polynomials under one mask in the linear maps"),
                (bodies, true) => format!(
                    ", {bodies} polynomials under one mask in the linear maps, and apart for a product"
                ),
            },
            self.input_level(),
            self.output_level(),
            splits(&self.to_coefficients),
            if matches!(self.raise.method, RaiseMethod::Mapped(_)) { "in the raise, " } else { "" },
            splits(&self.to_slots),
            reduction.range(),
            reduction.cosine().polynomial().degree(),
            counted(reduction.doublings(), "double angle"),
            reduction.arcsine().map_or_else(String::new, |arcsine| format!(
                ", arcsine of degree {}",
                arcsine.polynomial().degree()
            )),
            reduction.ratio().log2(),
            -mean.log2(),
            -worst.log2(),
            -error.deviation().log2(),
            -error.to_coefficients.log2() / 2.0,
            -error.encapsulation.log2() / 2.0,
            -error.to_slots.log2() / 2.0,
            -error.reduction.log2() / 2.0,
            self.log2_failure(),
            keys.len(),
            keys.bytes(&self.params)? as f64 / GIB,
        ))
    }
}
