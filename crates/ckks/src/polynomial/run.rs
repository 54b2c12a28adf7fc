//! Carrying out a polynomial's plan with an evaluator.

use std::borrow::Cow;

use clathrate_lattice::{Bundle, Eval, Level, Poly};

use super::Polynomial;
use super::plan::{PolynomialPlan, Product, Step};
use crate::ciphertext::{Ciphertext, Encoding};
use crate::decode::encode_coefficients;
use crate::error::CkksError;
use crate::evaluator::{Evaluator, check_slots, same_scale};
use crate::keys::{Relineariser, Values, coefficients_of};
use crate::params::Params;

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
        let mut key = None;
        for step in plan.steps.iter().filter(|step| !step.products.is_empty()) {
            // Each level of a product is asked for: a dry run writes it down.
            key = self.relineariser(&x, step.working_level())?;
        }
        let run = Run { params: plan.params(), plan, key };
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
        Ok(x.with(bundles, plan.output_level(), plan.output_scale()))
    }
}

/// One plan on one array's bundles.
struct Run<'r> {
    params: &'r Params,
    plan: &'r PolynomialPlan,
    /// Nothing where no step has products, and on dry runs, which have no bundles.
    key: Option<Relineariser<'r>>,
}

fn zero(params: &Params, level: Level) -> Result<Bundle<Eval>, CkksError> {
    let zero = Poly::zero(params.chain().ring(), &params.chain().basis(level));
    Ok(Bundle::new(vec![zero.clone(); params.rank()], vec![zero])?)
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
        let mut values: Vec<Option<Cow<'_, Bundle<Eval>>>> = vec![Some(Cow::Borrowed(x))];
        for (index, step) in steps.iter().enumerate() {
            let value = self.step(step, &values)?;
            values.push(Some(Cow::Owned(value)));
            step.operands().filter(|&operand| last_use[operand] == index).for_each(|operand| values[operand] = None);
        }
        Ok(values.pop().flatten().map_or_else(|| x.clone(), Cow::into_owned))
    }

    fn step(&self, step: &Step, values: &[Option<Cow<'_, Bundle<Eval>>>]) -> Result<Bundle<Eval>, CkksError> {
        let level = step.working_level();
        let chain = self.params.chain();
        let basis = chain.basis(level);
        let operand = |value: usize| -> Result<Cow<'_, Bundle<Eval>>, CkksError> {
            let bundle = values[value].as_deref().ok_or(CkksError::Symbol { operation: POLYNOMIAL })?;
            Ok(if bundle.basis() == &basis { Cow::Borrowed(bundle) } else { Cow::Owned(bundle.restrict(&basis)?) })
        };
        let multiples = if step.linear.is_empty() && !step.products.is_empty() {
            None
        } else {
            let mut sum = zero(self.params, level)?;
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
                let key = self.key.ok_or(CkksError::NoKeys { operation: POLYNOMIAL })?;
                key.relinearise_rescale(&tensor)?
            }
            (None, Some(sum)) if step.rescales() => sum.divide(&chain.rescale_division(level)?)?,
            (None, Some(sum)) => sum,
            (None, None) => zero(self.params, level)?,
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
