//! Carrying out a polynomial's plan with an evaluator.

use std::borrow::Cow;
use std::collections::BTreeMap;

use clathrate_lattice::{Bundle, Eval, Level, Poly};

use super::Polynomial;
use super::plan::{PolynomialPlan, Product, Step};
use crate::arrays::{Ciphertext, Encoding};
use crate::encoding::encode_coefficients;
use crate::encoding::values::{Values, coefficients_of};
use crate::error::CkksError;
use crate::evaluation::evaluator::{Evaluator, check_slots, same_scale};
use crate::keys::{Found, Operation};
use crate::parameters::Params;

/// How errors call it.
const POLYNOMIAL: &str = "a polynomial";

impl Evaluator {
    /// `p(x)`, entry by entry, at the canonical scale of its level; plans for `x` as it is.
    ///
    /// Range: numbers in the polynomial's domain; outside it, and off the real line, values grow and may wrap around unnoticed.
    ///
    /// # Errors
    /// As [`Polynomial::plan_at`] and [`Evaluator::run_polynomial`].
    pub fn evaluate_polynomial(&self, x: &Ciphertext, polynomial: &Polynomial) -> Result<Ciphertext, CkksError> {
        self.run_polynomial(x, &polynomial.plan_at(&x.params, x.level, x.scale)?)
    }

    /// Carries out `plan`; an `x` above its level is lowered to it.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] for an `x` below the plan's level, [`CkksError::ScaleMismatch`] for another scale;
    /// [`CkksError::Encoding`] unless slots; [`CkksError::NoKeys`], [`CkksError::NoRelinearisationKey`]; parameter and secret errors.
    pub fn run_polynomial(&self, x: &Ciphertext, plan: &PolynomialPlan) -> Result<Ciphertext, CkksError> {
        self.params().check_related(&x.params, "the ciphertext")?;
        x.params.check_same(plan.params(), "the plan")?;
        check_slots(x, POLYNOMIAL)?;
        if x.level < plan.input_level() {
            return Err(CkksError::LevelTooLow { operation: "this plan", needed: plan.input_level().0, level: x.level.0 });
        }
        let x = self.at_level(x, plan.input_level())?;
        if !same_scale(x.scale, plan.input_scale()) {
            return Err(CkksError::ScaleMismatch { left: x.scale.log2(), right: plan.input_scale().log2() });
        }
        let mut products = BTreeMap::new();
        for step in plan.steps.iter().filter(|step| !step.products.is_empty()) {
            // Each product is asked for: a dry run writes it down.
            let level = step.working_level();
            let at = x.params.at_rank(plan.rank_at(level))?;
            if let Some(keys) = self.keys_for(&at, &x, POLYNOMIAL, Operation::Multiply, level)? {
                products.insert(level, keys);
            }
        }
        let mut reductions = BTreeMap::new();
        for (from, to, level) in plan.reductions() {
            let at = x.params.at_rank(from)?;
            if let Some(keys) = self.keys_for(&at, &x, POLYNOMIAL, Operation::ReduceRank(to), level)? {
                reductions.insert((from, to, level), keys);
            }
        }
        let run = Run { params: plan.params(), plan, products, reductions };
        let layout = x.layout()?;
        let mut bundles = Vec::with_capacity(x.bundles.len());
        for (index, bundle) in x.bundles.iter().enumerate() {
            let mut value = run.bundle(bundle)?;
            let entries = layout.entries(index).len();
            if entries < layout.capacity {
                run.clear_padding(&mut value, entries, layout.capacity)?;
            }
            bundles.push(value);
        }
        let result = x.with(bundles, plan.output_level(), plan.output_scale());
        Ok(Ciphertext { params: x.params.at_rank(plan.output_rank())?, ..result })
    }
}

/// A value of a circuit, while it is needed.
type Value<'v> = Option<Cow<'v, Bundle<Eval>>>;

/// One plan on one array's bundles.
struct Run<'r> {
    params: &'r Params,
    plan: &'r PolynomialPlan,
    /// The keys of products, by level; none on dry runs, which have no bundles.
    products: BTreeMap<Level, Found<'r>>,
    /// The keys of reductions, by the ranks from and to and the level.
    reductions: BTreeMap<(usize, usize, Level), Found<'r>>,
}

fn zero(params: &Params, rank: usize, level: Level) -> Result<Bundle<Eval>, CkksError> {
    let zero = Poly::zero(params.chain().ring(), &params.chain().basis(level));
    Ok(Bundle::new(vec![zero.clone(); rank], vec![zero])?)
}

/// Adds an integer to every slot: the constant polynomial, whose values are all the same.
fn add_integer(bundle: &mut Bundle<Eval>, integer: i128) -> Result<(), CkksError> {
    let (ring, basis) = (bundle.ring().clone(), bundle.basis().clone());
    let mut data = ring.engine().scratch(basis.len());
    for (row, &index) in basis.indices().iter().enumerate() {
        data.row_mut(row).fill(ring.moduli()[index].reduce_i128(integer));
    }
    Ok(bundle.add_message(0, &Poly::from_buffer(&ring, &basis, data))?)
}

/// `target <- target + integer * x`, in one pass.
fn add_multiple(target: &mut Bundle<Eval>, x: &Bundle<Eval>, integer: i128) {
    for (target, x) in target.polys_mut().zip(x.polys()) {
        let residues = x.residues_of(integer);
        x.ring().engine().add_mul_constants_assign(target.data_mut(), x.data(), &residues, x.basis().indices());
    }
}

impl Run<'_> {
    fn bundle(&self, x: &Bundle<Eval>) -> Result<Bundle<Eval>, CkksError> {
        let steps = &self.plan.steps;
        let mut last_use = vec![0; steps.len() + 1];
        for (index, step) in steps.iter().enumerate() {
            step.operands().for_each(|operand| last_use[operand] = index);
        }
        let mut values: Vec<Value<'_>> = vec![Some(Cow::Borrowed(x))];
        // The same values at lower ranks.
        let mut lowered: Vec<Value<'_>> = vec![None; steps.len() + 1];
        for (index, step) in steps.iter().enumerate() {
            self.lower(step, &values, &mut lowered)?;
            let value = self.step(step, &values, &lowered)?;
            values.push(Some(Cow::Owned(value)));
            step.operands().filter(|&operand| last_use[operand] == index).for_each(|operand| {
                (values[operand], lowered[operand]) = (None, None);
            });
        }
        Ok(values.pop().flatten().map_or_else(|| x.clone(), Cow::into_owned))
    }

    /// Brings the operands of `step` to its rank, where they are not in `lowered` at that rank and level already.
    fn lower(&self, step: &Step, values: &[Value<'_>], lowered: &mut [Value<'_>]) -> Result<(), CkksError> {
        let (level, rank) = (step.working_level(), self.plan.rank_at(step.working_level()));
        let basis = self.params.chain().basis(level);
        for operand in step.operands() {
            let Some(value) = values[operand].as_deref().filter(|value| value.rank() > rank) else { continue };
            if lowered[operand].as_deref().is_some_and(|known| known.rank() == rank && known.basis().len() >= basis.len()) {
                continue;
            }
            let keys = self.reductions.get(&(value.rank(), rank, level)).ok_or(CkksError::NoKeys { operation: POLYNOMIAL })?;
            lowered[operand] = Some(Cow::Owned(keys.apply(&value.restrict(&basis)?)?));
        }
        Ok(())
    }

    fn step(&self, step: &Step, values: &[Value<'_>], lowered: &[Value<'_>]) -> Result<Bundle<Eval>, CkksError> {
        let level = step.working_level();
        let chain = self.params.chain();
        let (basis, rank) = (chain.basis(level), self.plan.rank_at(level));
        let operand = |value: usize| -> Result<Cow<'_, Bundle<Eval>>, CkksError> {
            let own = values[value].as_deref().filter(|bundle| bundle.rank() <= rank);
            let bundle = own.or(lowered[value].as_deref()).ok_or(CkksError::Symbol { operation: POLYNOMIAL })?;
            Ok(if bundle.basis() == &basis { Cow::Borrowed(bundle) } else { Cow::Owned(bundle.restrict(&basis)?) })
        };
        let multiples = if step.linear.is_empty() && !step.products.is_empty() {
            None
        } else {
            let mut sum = zero(self.params, rank, level)?;
            let scale = self.plan.sum_scale(step);
            for &(value, c) in &step.linear {
                let factor = c * scale / self.plan.scale_of(value);
                add_multiple(&mut sum, &*operand(value)?, factor.round_ties_even() as i128);
            }
            Some(sum)
        };
        let mut tensor = None;
        for &Product { left, right, twice } in &step.products {
            let mut left = operand(left)?;
            if twice {
                left.to_mut().mul_integer_assign(2);
            }
            let product = left.tensor(&*operand(right)?)?;
            match &mut tensor {
                None => tensor = Some(product),
                Some(sum) => sum.add_assign(&product)?,
            }
        }
        let mut value = match (tensor, multiples) {
            (Some(mut tensor), multiples) => {
                if let Some(multiples) = multiples {
                    tensor.add_bundle(&multiples)?;
                }
                let key = self.products.get(&level).ok_or(CkksError::NoKeys { operation: POLYNOMIAL })?;
                key.relinearise_rescale(&tensor)?
            }
            (None, Some(sum)) if step.rescales() => sum.divide(&chain.rescale_division(level)?)?,
            (None, Some(sum)) => sum,
            (None, None) => zero(self.params, rank, level)?,
        };
        let constant = (step.constant * step.scale).round_ties_even() as i128;
        if constant != 0 {
            add_integer(&mut value, constant)?;
        }
        Ok(value)
    }

    /// Takes `p(0)` off the slots behind the last entry: padding is zero before and after.
    fn clear_padding(&self, value: &mut Bundle<Eval>, entries: usize, capacity: usize) -> Result<(), CkksError> {
        let at_zero = self.plan.polynomial().evaluate(0.0);
        if at_zero == 0.0 {
            return Ok(());
        }
        let padding = (0..capacity).map(|slot| if slot < entries { 0.0 } else { -at_zero }).collect();
        let coefficients = coefficients_of(self.params, &Values::Real(padding), 0..capacity, Encoding::Slots, capacity);
        let message = encode_coefficients(self.params, &coefficients, self.plan.output_scale(), self.plan.output_level())?;
        Ok(value.add_message(0, &message)?)
    }
}
