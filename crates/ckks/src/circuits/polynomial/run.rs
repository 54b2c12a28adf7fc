//! Executes a polynomial's plan.

use std::borrow::Cow;

use clathrate_lattice::rounding::Rounding;
use rustfft::num_complex::Complex64;

use super::dry_run::Noise;
use super::node::{Node, Product};
use super::plan::PolynomialPlan;
use super::{Polynomial, ZERO};
use crate::arrays::estimate::name_of;
use crate::arrays::{Ciphertext, Estimate};
use crate::encoding::encode::encode_slots;
use crate::error::CkksError;
use crate::evaluation::combinations::ProductTerm;
use crate::evaluation::evaluator::{Evaluator, LevelsNeeded, check_slots};
use crate::evaluation::levels::same_scale;

/// The operation's name in errors.
const POLYNOMIAL: &str = "a polynomial";

impl Polynomial {
    /// `p(x)`, entry by entry, with a plan for the level and scale of `x`. Complex coefficients make the
    /// result complex.
    ///
    /// Range: numbers in the polynomial's domain. An array whose bound exceeds the domain is refused; without
    /// a bound, numbers outside of it give large values, which may wrap around unnoticed.
    pub fn apply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let x = &*evaluator.with_levels_needed_by(x, || {
            // The number of levels does not depend on the level of the input.
            self.plan(&x.params, x.params.fresh_level())
                .map_or(LevelsNeeded::Depth(0), |plan| LevelsNeeded::Depth(plan.depth()))
        })?;
        self.plan_at(&x.params, x.level, x.scale)?.run(evaluator, x)
    }
}

impl PolynomialPlan {
    /// Evaluates `plan` on `x`; an `x` above the plan's level is lowered.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] for an `x` below the plan's level, [`CkksError::ScaleMismatch`] for another
    /// scale; [`CkksError::TooLarge`] if the array's bound exceeds the domain; [`CkksError::Encoding`]
    /// unless slots; [`CkksError::NoKeys`], [`CkksError::MissingKey`]; parameter and secret errors.
    pub fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.polynomial().check_inside(x)?;
        self.run_inside(evaluator, x)
    }

    /// [`PolynomialPlan::run`] without the check of the domain.
    pub(super) fn run_inside(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        evaluator.params().check_related(&x.params, "the ciphertext")?;
        x.params.check_same(self.params(), "the plan")?;
        check_slots(x, POLYNOMIAL)?;
        x.check_main(POLYNOMIAL)?;
        let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Level(self.input_level()))?;
        if x.level < self.input_level() {
            return Err(CkksError::LevelTooLow {
                operation: "this plan",
                needed: self.input_level().0,
                level: x.level.0,
            });
        }
        let x = evaluator.at_level(x, self.input_level())?;
        if !same_scale(x.scale, self.input_scale()) {
            return Err(CkksError::ScaleMismatch { left: x.scale.log2(), right: self.input_scale().log2() });
        }
        let run = Run { evaluator, plan: self };
        let to = x.params.at_rank(self.output_rank())?;
        let layout = x.layout.of_numbers(x.layout.is_complex() || self.is_complex());
        let whole = |bundles| {
            x.with_all((&to, x.shape.clone()), layout, bundles, (self.output_level(), self.output_scale()))
        };
        run.clear_padding(evaluator.bundle_by_bundle(&x, whole, |part| run.part(part))?, &x)
    }
}

/// A value of a circuit; dropped after its last use.
type Value<'v> = Option<Cow<'v, Ciphertext>>;

/// The index of the input among the values.
const INPUT: usize = 0;

/// The values from which a node is computed. The node of a constant polynomial has no operands; it uses only
/// the shape of the input.
fn uses(node: &Node) -> Vec<usize> {
    let operands: Vec<usize> = node.operands().collect();
    if operands.is_empty() { vec![INPUT] } else { operands }
}

/// The evaluation of a plan on one bundle's part of an array, or on the symbol of that part.
struct Run<'r> {
    evaluator: &'r Evaluator,
    plan: &'r PolynomialPlan,
}

impl Run<'_> {
    fn part(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let nodes = &self.plan.nodes;
        let mut last_use = vec![0; nodes.len() + 1];
        for (index, node) in nodes.iter().enumerate() {
            uses(node).into_iter().for_each(|operand| last_use[operand] = index);
        }
        // The noise of each node alone; its effect on the result follows from the polynomial.
        let mut noise: Vec<Noise> = Vec::with_capacity(nodes.len());
        let known = x.estimate.clone();
        // Numbers beyond the domain are bounded by the sums and products of the nodes, and refused if they
        // might wrap around.
        let beyond = known.magnitude.is_finite() && known.magnitude > self.plan.domain_magnitude();
        let largest = if beyond { known.magnitude } else { self.plan.domain_magnitude() };
        let clean = x.clone().estimated(|own| own.within(largest).without_errors());
        let mut values: Vec<Value<'_>> = vec![Some(Cow::Borrowed(&clean))];
        // The same values, reduced to lower ranks.
        let mut lowered: Vec<Value<'_>> = vec![None; nodes.len() + 1];
        for (index, node) in nodes.iter().enumerate() {
            for operand in uses(node) {
                self.lower(node, operand, &values, &mut lowered)?;
            }
            let value = self.node(node, &values, &lowered, beyond)?;
            if beyond {
                value.check_bound()?;
            }
            noise.push(Noise::of(&value.estimate, &x.layout));
            let most = if beyond { value.estimate.magnitude } else { node.magnitude.max(f64::MIN_POSITIVE) };
            let value = value.estimated(|own| own.within(most).without_errors());
            values.push(Some(Cow::Owned(value)));
            uses(node).into_iter().filter(|&operand| last_use[operand] == index).for_each(|operand| {
                (values[operand], lowered[operand]) = (None, None);
            });
        }
        let value = values.pop().flatten().map_or_else(|| x.clone(), Cow::into_owned);
        let most = if beyond { value.estimate.magnitude } else { self.plan.largest() };
        let estimate = self.plan.estimate_of(&known, &x.layout, &noise, most);
        Ok(value.estimated(|_| estimate))
    }

    /// Reduces an operand of `node` to the node's rank, unless `lowered` already holds it at that rank and
    /// level.
    fn lower(
        &self,
        node: &Node,
        operand: usize,
        values: &[Value<'_>],
        lowered: &mut [Value<'_>],
    ) -> Result<(), CkksError> {
        let (level, rank) = (node.working_level(), self.plan.rank_at(node.working_level()));
        let Some(value) = values[operand].as_deref().filter(|value| value.params.rank() > rank) else {
            return Ok(());
        };
        if lowered[operand]
            .as_deref()
            .is_some_and(|known| known.params.rank() == rank && known.level >= level)
        {
            return Ok(());
        }
        lowered[operand] =
            Some(Cow::Owned(self.evaluator.to_rank(&*self.evaluator.restrict(value, level)?, rank)?));
        Ok(())
    }

    fn node(
        &self,
        node: &Node,
        values: &[Value<'_>],
        lowered: &[Value<'_>],
        beyond: bool,
    ) -> Result<Ciphertext, CkksError> {
        let (evaluator, level) = (self.evaluator, node.working_level());
        let rank = self.plan.rank_at(level);
        let operand = |value: usize| -> Result<&Ciphertext, CkksError> {
            let own = values[value].as_deref().filter(|value| value.params.rank() <= rank);
            own.or(lowered[value].as_deref()).ok_or(CkksError::Symbol { operation: POLYNOMIAL })
        };
        let nothing = [(INPUT, ZERO)];
        let multiples =
            if node.linear.is_empty() && node.products.is_empty() { &nothing[..] } else { &node.linear };
        // Operands at higher levels are not copied to the node's level: the copies would take as much memory
        // as all values.
        let terms = multiples
            .iter()
            .map(|&(value, c)| Ok((operand(value)?, c)))
            .collect::<Result<Vec<_>, CkksError>>()?;
        let sum = (!terms.is_empty())
            .then(|| evaluator.linear_combination_at(level, &terms, self.plan.sum_scale(node)))
            .transpose()?;
        let factor = |product: &Product| {
            Ok(ProductTerm {
                left: operand(product.left)?,
                right: operand(product.right)?,
                twice: product.twice,
            })
        };
        let products = node.products.iter().map(factor).collect::<Result<Vec<_>, CkksError>>()?;
        let mut value = match sum {
            Some(sum) if products.is_empty() && node.rescales() => evaluator.rescale(&sum)?,
            Some(sum) if products.is_empty() => sum,
            sum => evaluator.sum_of_products_at(level, &products, sum.as_ref())?,
        };
        if !same_scale(value.scale, node.scale) {
            return Err(CkksError::ScaleMismatch { left: value.scale.log2(), right: node.scale.log2() });
        }
        // Sets the scale of the plan, from which later factors were computed.
        value.scale = node.scale;
        if value.estimate.magnitude > node.magnitude && !beyond {
            // Large terms may cancel: the bounds of the terms do not bound the sum.
            let known = value.estimate.clone();
            let value = evaluator.with_constant(value.estimated(Estimate::without_numbers), node.constant)?;
            return Ok(value.estimated(|rounding| known.beside(rounding)));
        }
        evaluator.with_constant(value, node.constant)
    }

    /// Subtracts `p(0)` from the slots without an entry, so that zero padding stays zero.
    fn clear_padding(&self, value: Ciphertext, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (layout, at_zero) = (x.layout, self.plan.polynomial().evaluate(0.0));
        if at_zero == ZERO || !layout.has_padding() {
            return Ok(value.padded(x.padding()));
        }
        // The polynomials with padding: the last one of each row, or, if rows share polynomials and only the
        // last polynomial has free lanes, that one.
        let groups = layout.row_groups();
        let alike = layout.entries_in(layout.chunks() - 1) < layout.capacity();
        // One plaintext is enough for all rows, because they have the same padding, except for a polynomial
        // with free lanes.
        let partial = !layout.rows().is_multiple_of(layout.lanes());
        let plaintexts = usize::from(alike && (groups > 1 || !partial)) + usize::from(partial);
        self.evaluator.record_encoding(&value, plaintexts)?;
        // The plaintext's coefficients are rounded to integers.
        let (typical, worst) = value.encoding_errors();
        let mut value = value.estimated(|own| own.with_errors(typical, worst));
        if !x.is_symbol() {
            let (params, scale, level) = (value.params.clone(), value.scale, value.level);
            let rounding = Rounding::of(name_of([at_zero.re, at_zero.im])).of_case(scale.to_bits());
            let message = |polynomial: usize| {
                let padding = |slots: &mut [Complex64]| {
                    slots.fill(-at_zero);
                    layout
                        .held(polynomial)
                        .for_each(|(position, _)| slots[position..position + layout.copies()].fill(ZERO));
                };
                encode_slots(&params, layout.period(), at_zero.norm(), padding, (scale, rounding), level)
            };
            let last = |group: usize| layout.bundle(group, layout.chunks() - 1, 0);
            let full = if partial { groups - 1 } else { groups };
            if alike && full > 0 {
                let message = message(last(0))?;
                (0..full).try_for_each(|group| value.bundles[last(group)].add_message(0, &message))?;
            }
            if partial {
                let message = message(last(groups - 1))?;
                value.bundles[last(groups - 1)].add_message(0, &message)?;
            }
        }
        Ok(value.padded(x.padding()))
    }
}
