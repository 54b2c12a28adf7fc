//! The stages of a bootstrap in their order. The run of a bootstrap, its dry run, its progress and its
//! predicted error are folds over this list.

use clathrate_lattice::Level;

use super::plan::BootstrapPlan;
use super::stage::{Place, Stage, Step};
use super::stages;
use crate::arrays::Order;
use crate::circuits::linear::factors::gain_from;

impl BootstrapPlan {
    /// The stages of the plan, in the order of the paper that matches the options. [pcmm-mambo, sec. 2.4]
    pub(super) fn in_order(&self) -> Vec<Stage> {
        use Step::{
            CoeffsToSlots, EvalMod, JoinReIm, ModRaise, ReadAsCoeffs, Rescale, SlotsToCoeffs, SplitReIm,
        };
        let stage = |name, steps: Vec<Step>| Stage { name, steps };
        let params = &self.params;
        let place = |level: Level, gain: f64| Place { level, scale: params.scale(level), gain };
        let at = |shares: bool, step: Step| (shares && self.bodies > 1).then_some(step);
        let (slots, spread) = (self.slots as f64, self.coefficient_to_slot());
        let reduction = self.reduction.input_level();
        let before_reduction = self.halves() * self.transform_slots as f64 * self.reduction_gain();

        let mut all = Vec::new();
        if !self.half && !self.slots_last() {
            let start = place(self.levels.start, slots);
            let mut steps = vec![Step::Enter];
            steps.extend(at(true, Step::ShareMasks(start)));
            steps.push(SlotsToCoeffs);
            // A product combines arrays with separate masks.
            steps.extend(at(self.product, Step::SplitMasks(place(Level(1), spread))));
            steps.push(ReadAsCoeffs(Order::BitReversed));
            all.push(stage(stages::TO_COEFFICIENTS, steps));
        }
        // Without a product, the stage only leaves the level. A rescale can do so in coefficients as well as
        // in slots.
        if self.product {
            all.push(stage(stages::PRODUCT, vec![Rescale]));
        } else if !self.half && self.slots_last() {
            all.push(stage(stages::PRODUCT, vec![Step::Enter, ReadAsCoeffs(Order::Natural), Rescale]));
        }
        let mut raise = Vec::new();
        let lowest = Place { level: Level(0), scale: self.message_scale(), gain: spread };
        raise.extend(at(self.half || self.slots_last() || self.product, Step::ShareMasks(lowest)));
        raise.extend(params.ephemeral_weight().map(|_| Step::Encapsulate));
        raise.push(ModRaise);
        all.push(stage(stages::RAISE, raise));
        all.push(stage(stages::TO_SLOTS, vec![CoeffsToSlots]));
        let mut split = vec![SplitReIm];
        // Products of ciphertexts take polynomials with separate masks.
        split.extend(at(true, Step::SplitMasks(place(reduction, before_reduction))));
        all.push(stage(stages::SPLIT, split));
        all.push(stage(stages::REDUCTION, vec![EvalMod]));
        all.push(stage(stages::JOIN, vec![JoinReIm]));
        if self.ends_in_slots_to_coeffs() {
            let reduced = place(self.levels.reduced, slots * gain_from(&self.to_coefficients, 0));
            let mut steps: Vec<Step> = at(true, Step::ShareMasks(reduced)).into_iter().collect();
            steps.push(SlotsToCoeffs);
            steps.extend(at(true, Step::SplitMasks(place(self.levels.end, slots))));
            all.push(stage(stages::TO_COEFFICIENTS, steps));
        }
        all
    }

    /// The stages of one round.
    pub(super) fn stages(&self) -> &[Stage] {
        self.stages.get_or_init(|| self.in_order())
    }

    /// The number of stages of all rounds, which is the total of progress reports.
    pub(in crate::circuits) fn stage_count(&self) -> usize {
        self.rounds * self.stages().len()
    }

    /// The index of the first stage with this name, or the number of stages if there is none.
    fn position(&self, name: &str) -> usize {
        self.stages().iter().position(|stage| stage.name == name).unwrap_or(self.stages().len())
    }

    /// The stages before the level of the product and the raise: slots to coefficients, if that comes first.
    pub(super) fn before_product(&self) -> &[Stage] {
        let end = self.position(stages::PRODUCT).min(self.position(stages::RAISE));
        &self.stages()[..end]
    }

    /// The stages from the raise on. They take coefficients at level 0.
    pub(super) fn raise_onwards(&self) -> &[Stage] {
        &self.stages()[self.position(stages::RAISE)..]
    }

    /// The stages from the raise to the modular reduction. Their results are the real and the imaginary
    /// parts.
    pub(super) fn raise_to_parts(&self) -> &[Stage] {
        &self.stages()[self.position(stages::RAISE)..self.position(stages::JOIN)]
    }

    /// The stages for one array (all), or for two arrays of real numbers, which are the real and imaginary
    /// parts of one: all but the join.
    pub(super) fn stages_of(&self, parts: usize) -> &[Stage] {
        let end = if parts == 2 { self.position(stages::JOIN) } else { self.stages().len() };
        &self.stages()[..end]
    }
}
