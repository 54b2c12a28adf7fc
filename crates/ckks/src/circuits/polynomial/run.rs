//! Carrying out a polynomial's plan with an evaluator.

use std::borrow::Cow;
use std::collections::BTreeMap;

use clathrate_lattice::{Bundle, Eval, Level, Poly};
use rustfft::num_complex::Complex64;

use super::node::{Node, Product};
use super::plan::PolynomialPlan;
use super::{Polynomial, ZERO};
use crate::arrays::{Ciphertext, Layout};
use crate::encoding::encode_coefficients;
use crate::error::CkksError;
use crate::evaluation::evaluator::{Evaluator, check_slots, same_scale};
use crate::keys::{Cost, Found, Operation};
use crate::parameters::Params;

/// How errors call it.
const POLYNOMIAL: &str = "a polynomial";

impl Evaluator {
    /// `p(x)`, entry by entry, at the scale that its plan states; plans for `x` as it is. Complex coefficients make the result complex.
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
        x.check_main(POLYNOMIAL)?;
        if x.level < plan.input_level() {
            return Err(CkksError::LevelTooLow { operation: "this plan", needed: plan.input_level().0, level: x.level.0 });
        }
        let x = self.at_level(x, plan.input_level())?;
        if !same_scale(x.scale, plan.input_scale()) {
            return Err(CkksError::ScaleMismatch { left: x.scale.log2(), right: plan.input_scale().log2() });
        }
        let mut products = BTreeMap::new();
        for node in plan.nodes.iter().filter(|node| !node.products.is_empty()) {
            // Each product is asked for: a dry run writes it down.
            let level = node.working_level();
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
        for node in &plan.nodes {
            self.spend(&x, || node_cost(&x.params.at_rank(plan.rank_at(node.working_level()))?, node))?;
        }
        // A dry run has no bundles to multiply.
        let imaginary_unit = (plan.is_complex() && !x.bundles.is_empty()).then(|| imaginary_unit(plan.params(), plan.input_level()));
        let run = Run { params: plan.params(), plan, products, reductions, imaginary_unit };
        let layout = x.layout();
        let mut bundles = Vec::with_capacity(x.bundles.len());
        for (index, bundle) in x.bundles.iter().enumerate() {
            let mut value = run.bundle(bundle)?;
            if layout.entries(index).len() < layout.capacity {
                run.clear_padding(&mut value, layout, index)?;
            }
            bundles.push(value);
        }
        let to = x.params.at_rank(plan.output_rank())?;
        let layout = Layout { complex: x.layout.complex || plan.is_complex(), ..x.layout };
        let result = x.with_all((&to, x.shape.clone()), layout, bundles, (plan.output_level(), plan.output_scale()));
        Ok(result.estimated(|own| plan.estimate(own)))
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
    /// [`imaginary_unit`] at the input's level, where the plan has complex numbers.
    imaginary_unit: Option<Poly<Eval>>,
}

/// `X^{n/2}`, the polynomial whose value is `i` in every slot: slot `j` is the value at `zeta^{5^j}`, and `(zeta^{n/2})^{5^j} = i^{5^j} = i` because
/// `5^j = 1 mod 4`. It is also `i` in every slot of a shorter row, which lives in the subring of `X^{gap}`.
fn imaginary_unit(params: &Params, level: Level) -> Poly<Eval> {
    let mut monomial = vec![0; params.degree()];
    monomial[params.degree() / 2] = 1;
    Poly::from_signed(params.chain().ring(), &params.chain().basis(level), &monomial).into_eval()
}

/// Real and imaginary part rounded to integers.
fn integers(c: Complex64) -> (i128, i128) {
    (c.re.round_ties_even() as i128, c.im.round_ties_even() as i128)
}

/// What a node costs beside its switches, for one bundle: products before relinearisation, a pass for each multiple, the rescale where no switch does it.
fn node_cost(params: &Params, node: &Node) -> Result<Cost, CkksError> {
    let level = node.working_level();
    let polys = params.rank() + 1;
    let doubled = node.products.iter().filter(|product| product.twice).count();
    let passes = params.rows_cost((node.terms() + doubled) * polys * params.chain().basis(level).len())?;
    let mut cost = params.tensor_cost(level)?.times(node.products() as f64);
    cost += passes;
    if node.rescales() && node.products.is_empty() {
        cost += params.rescale_cost(level, polys)?;
    }
    Ok(cost)
}

fn zero(params: &Params, rank: usize, level: Level) -> Result<Bundle<Eval>, CkksError> {
    Ok(Bundle::zero(params.chain().ring(), &params.chain().basis(level), rank, 1)?)
}

/// An integer in every slot: the constant polynomial, whose values are all the same.
fn constant(params: &Params, level: Level, integer: i128) -> Poly<Eval> {
    let (ring, basis) = (params.chain().ring(), params.chain().basis(level));
    let residues = basis.residues_of(ring, integer);
    Poly::constant(ring, &basis, &residues)
}

impl Run<'_> {
    fn bundle(&self, x: &Bundle<Eval>) -> Result<Bundle<Eval>, CkksError> {
        let nodes = &self.plan.nodes;
        let mut last_use = vec![0; nodes.len() + 1];
        for (index, node) in nodes.iter().enumerate() {
            node.operands().for_each(|operand| last_use[operand] = index);
        }
        let mut values: Vec<Value<'_>> = vec![Some(Cow::Borrowed(x))];
        // The same values at lower ranks.
        let mut lowered: Vec<Value<'_>> = vec![None; nodes.len() + 1];
        for (index, node) in nodes.iter().enumerate() {
            self.lower(node, &values, &mut lowered)?;
            let value = self.node(node, &values, &lowered)?;
            values.push(Some(Cow::Owned(value)));
            node.operands().filter(|&operand| last_use[operand] == index).for_each(|operand| {
                (values[operand], lowered[operand]) = (None, None);
            });
        }
        Ok(values.pop().flatten().map_or_else(|| x.clone(), Cow::into_owned))
    }

    /// Brings the operands of `node` to its rank, where they are not in `lowered` at that rank and level already.
    fn lower(&self, node: &Node, values: &[Value<'_>], lowered: &mut [Value<'_>]) -> Result<(), CkksError> {
        let (level, rank) = (node.working_level(), self.plan.rank_at(node.working_level()));
        let basis = self.params.chain().basis(level);
        for operand in node.operands() {
            let Some(value) = values[operand].as_deref().filter(|value| value.rank() > rank) else { continue };
            if lowered[operand].as_deref().is_some_and(|known| known.rank() == rank && known.basis().len() >= basis.len()) {
                continue;
            }
            let keys = self.reductions.get(&(value.rank(), rank, level)).ok_or(CkksError::NoKeys { operation: POLYNOMIAL })?;
            lowered[operand] = Some(Cow::Owned(keys.apply(&value.restrict(&basis)?)?));
        }
        Ok(())
    }

    fn node(&self, node: &Node, values: &[Value<'_>], lowered: &[Value<'_>]) -> Result<Bundle<Eval>, CkksError> {
        let level = node.working_level();
        let chain = self.params.chain();
        let (basis, rank) = (chain.basis(level), self.plan.rank_at(level));
        let operand = |value: usize| -> Result<Cow<'_, Bundle<Eval>>, CkksError> {
            let own = values[value].as_deref().filter(|bundle| bundle.rank() <= rank);
            let bundle = own.or(lowered[value].as_deref()).ok_or(CkksError::Symbol { operation: POLYNOMIAL })?;
            Ok(if bundle.basis() == &basis { Cow::Borrowed(bundle) } else { Cow::Owned(bundle.restrict(&basis)?) })
        };
        let multiples = if node.linear.is_empty() && !node.products.is_empty() {
            None
        } else {
            let mut sum = zero(self.params, rank, level)?;
            let mut imaginary = None;
            let scale = self.plan.sum_scale(node);
            for &(value, c) in &node.linear {
                let (re, im) = integers(c * scale / self.plan.scale_of(value));
                let x = operand(value)?;
                if re != 0 {
                    sum.add_multiple(&x, re)?;
                }
                if im != 0 {
                    let sum = imaginary.get_or_insert(zero(self.params, rank, level)?);
                    sum.add_multiple(&x, im)?;
                }
            }
            // One product with X^{n/2} for all imaginary parts.
            if let (Some(mut imaginary), Some(unit)) = (imaginary, &self.imaginary_unit) {
                imaginary.mul_poly_assign(&unit.restrict(&basis)?)?;
                sum.add_assign(&imaginary)?;
            }
            Some(sum)
        };
        let mut tensor = None;
        for &Product { left, right, twice } in &node.products {
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
            (None, Some(sum)) if node.rescales() => sum.divide(&chain.rescale_division(level)?)?,
            (None, Some(sum)) => sum,
            (None, None) => zero(self.params, rank, level)?,
        };
        self.add_constant(&mut value, node)?;
        Ok(value)
    }

    /// Adds the node's constant to every slot.
    fn add_constant(&self, value: &mut Bundle<Eval>, node: &Node) -> Result<(), CkksError> {
        let (re, im) = integers(node.constant * node.scale);
        if re != 0 {
            value.add_message(0, &constant(self.params, node.level, re))?;
        }
        if let (true, Some(unit)) = (im != 0, &self.imaginary_unit) {
            let mut imaginary = unit.restrict(&self.params.chain().basis(node.level))?;
            imaginary.mul_integer_assign(im);
            value.add_message(0, &imaginary)?;
        }
        Ok(())
    }

    /// Takes `p(0)` off the slots without an entry: padding that was zero is zero again.
    fn clear_padding(&self, value: &mut Bundle<Eval>, layout: &Layout, index: usize) -> Result<(), CkksError> {
        let at_zero = self.plan.polynomial().evaluate(0.0);
        if at_zero == ZERO {
            return Ok(());
        }
        let mut padding = vec![-at_zero; layout.capacity];
        (0..layout.entries(index).len()).for_each(|t| padding[layout.position(t)] = ZERO);
        let coefficients = self.params.encoder().embed(&padding);
        let message = encode_coefficients(self.params, &coefficients, self.plan.output_scale(), self.plan.output_level())?;
        Ok(value.add_message(0, &message)?)
    }
}
