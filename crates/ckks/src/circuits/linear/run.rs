//! Executes the plan of a linear transform on data or symbols.

use std::borrow::Cow;
use std::sync::Arc;

use clathrate_lattice::linear_combination::PackedCombination;
use clathrate_lattice::switch::hoisted::BabyStep;
use clathrate_lattice::switch::{Extended, SwitchTables};
use clathrate_lattice::{Bundle, Eval, PackedPlaintexts, SwitchKey, Switcher};

use super::encode::Plaintexts;
use super::plan::{Iteration, LinearTransformPlan, Step, transform_cost};
use super::{LINEAR, LinearTransform};
use crate::arrays::estimate::Along;
use crate::arrays::{Ciphertext, Encoding, Order, Padding, SecretName};
use crate::embedding::encoding_errors;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::evaluation::evaluator::{KeyQuery, LevelsNeeded, check_slots};
use crate::keys::{Cost, Found, HeldKey, KeyDefinition, Operation};

/// The keys of the plan's rotations, and the tables that all rotations by a single switch share.
struct Rotations<'k> {
    switcher: &'k Switcher,
    tables: Arc<SwitchTables>,
    babies: Vec<Found<'k>>,
    giants: Vec<Found<'k>>,
}

/// Whether a baby step takes at most one switch.
fn is_direct(found: &Found<'_>) -> bool {
    matches!(found, Found::Nothing) || found.single().is_some()
}

/// The shape of the image of `x`.
fn mapped_shape(x: &Ciphertext, transform: &LinearTransform) -> Vec<usize> {
    let rows = x.shape.len().saturating_sub(1);
    [&x.shape[..rows], &[transform.rows()]].concat()
}

impl LinearTransform {
    /// `transform` of every row, at the level of `x`. The evaluator keeps the encoded diagonals within
    /// the budget of its runtime; a plan ([`LinearTransform::plan`]) keeps its own.
    ///
    /// # Errors
    /// Those of [`LinearTransform::plan`], [`LinearTransformPlan::run`], and for rows that share polynomials
    /// [`LinearTransform::in_lanes`].
    pub fn apply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let x = &*evaluator.with_levels_needed(x, LevelsNeeded::Depth(1))?;
        if x.layout.lanes() == 1 || x.encoding() != Encoding::Slots {
            return self.kept_plan(evaluator, x)?.run(evaluator, x);
        }
        self.check_rows_of(evaluator, x)?;
        let layout = x.layout;
        let plan = self.in_lanes(layout.capacity(), layout.lanes())?.kept_plan(evaluator, x)?;
        let mapped = plan.map_slots(evaluator, &x.polynomials_as_rows())?;
        let after = layout.of_columns(self.rows()).of_numbers(layout.is_complex() || self.is_complex());
        // Places after a row become zero; lanes without a row are mapped, too.
        let padding = if layout.rows().is_multiple_of(layout.lanes()) { Padding::Zero } else { x.padding() };
        Ok(mapped.rearranged(mapped_shape(x, self), after.with_padding(padding)))
    }

    /// Refuses arrays with rows that the map cannot take; rows may share polynomials.
    fn check_rows_of(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<(), CkksError> {
        evaluator.check(x)?;
        check_slots(x, LINEAR)?;
        if x.layout.order() != Order::Natural {
            return Err(CkksError::bit_reversed(LINEAR));
        }
        if x.layout.copies() > 1 {
            x.check_plain(LINEAR)?;
        }
        let columns = x.shape.last().copied().unwrap_or(1);
        if columns == self.columns() {
            return Ok(());
        }
        let remedy = format!("the map takes rows of {} numbers", self.columns());
        Err(CkksError::Shape {
            operation: LINEAR,
            left: x.shape.clone(),
            right: vec![self.rows(), self.columns()],
            remedy,
        })
    }
}

impl LinearTransformPlan {
    /// The plan's linear map of every row of `x`, rescaled to the level below the plan's.
    ///
    /// Shapes: `(.., columns)` to `(.., rows)`. Rows must have exactly as many slots as the map; results from
    /// `rows` on are zero. An input above the plan's level is lowered. Cost: one decomposition, a product
    /// with a key for each baby step, a mod-down of the mask and a switch for each giant step, a product with
    /// a plaintext for each diagonal, one mod-down.
    ///
    /// # Errors
    /// [`CkksError::MissingKey`]; [`CkksError::Shape`] for rows of another length or
    /// number of slots; [`CkksError::Encoding`] unless slots; [`CkksError::Unsuitable`];
    /// [`CkksError::ScaleMismatch`] for an input of another scale; level errors.
    pub fn run(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let transform = self.transform();
        transform.check_rows_of(evaluator, x)?;
        x.check_plain(LINEAR)?;
        if x.layout.chunks() > 1 {
            let remedy = format!(
                "rows of at most {} entries can be mapped; cut the matrix into blocks",
                x.params.slot_count()
            );
            return Err(CkksError::Shape { operation: LINEAR, left: x.shape.clone(), right: vec![], remedy });
        }
        let mapped = self.map_slots(
            evaluator,
            &*evaluator.with_levels_needed(x, LevelsNeeded::Level(self.input_level()))?,
        )?;
        let shape = mapped_shape(x, transform);
        let complex = mapped.layout.is_complex() || transform.is_complex();
        let layout =
            mapped.layout.of_columns(transform.rows()).of_numbers(complex).with_padding(Padding::Zero);
        Ok(mapped.rearranged(shape, layout))
    }

    /// The plan's map of the slots of every polynomial, regardless of order and padding; the result has the
    /// shape and layout of `x`.
    pub(crate) fn map_slots(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        x.params.check_same(&self.params, "the plan of a linear transform")?;
        let slots = self.transform.slots();
        if x.layout.capacity() != slots {
            let remedy = format!("the map is of {slots} slots: encrypt rows with a capacity of {slots}");
            return Err(CkksError::Shape {
                operation: LINEAR,
                left: vec![x.layout.capacity()],
                right: vec![slots],
                remedy,
            });
        }
        let x = self.input_of(evaluator, x)?;
        let bundles = if let Some(iteration) = self.iteration {
            match self.repeated_rotations(evaluator, &x, iteration)? {
                None => Vec::new(),
                Some(found) => {
                    let basis = self.params.chain().basis(self.level);
                    let plaintexts = self.plaintexts(&basis)?;
                    evaluator
                        .for_each(&x.bundles, |bundle| self.iterate(bundle, iteration, &found, &plaintexts))?
                }
            }
        } else {
            match &self.found_rotations(evaluator, &x)? {
                None => Vec::new(),
                Some(rotations) if rotations.babies.is_empty() => {
                    let basis = self.params.chain().basis(self.level);
                    let plaintexts = self.plaintexts(&basis)?;
                    evaluator.for_each(&x.bundles, |bundle| self.multiply(bundle, &plaintexts))?
                }
                Some(rotations) => {
                    let plaintexts = self.plaintexts(rotations.tables.extended())?;
                    evaluator.for_each(&x.bundles, |bundle| self.map(bundle, rotations, &plaintexts))?
                }
            }
        };
        let (level, scale) = (self.output_level(), self.output_scale());
        let mapped = x.with(bundles, level, scale);
        if !x.estimate.has_errors() {
            return Ok(
                mapped.estimated(|own| own.mapped(Along::Columns, &self.transform.norms(), (0.0, 0.0)))
            );
        }
        let error = mapped.slot_error(self.variance(x.secret)?);
        // The rounding errors of diagonals repeat with the slots, so the mean over the repetitions of a
        // number does not reduce them.
        let repeated = (x.params.slot_count() as f64 / x.layout.period() as f64).sqrt();
        let rounding = self.rounding();
        let rounding = (rounding.0 * repeated, rounding.1 * repeated);
        Ok(mapped
            .estimated(|own| own.mapped(Along::Columns, &self.transform.norms(), rounding).with_error(error)))
    }

    /// `x` at the plan's level and scale.
    fn input_of<'c>(
        &self,
        evaluator: &Evaluator,
        x: &'c Ciphertext,
    ) -> Result<Cow<'c, Ciphertext>, CkksError> {
        let level = self.input_level();
        if x.level < level {
            return Err(CkksError::LevelTooLow { operation: LINEAR, needed: level.0, level: x.level.0 });
        }
        let x = evaluator.at_level(x, level)?;
        self.check_scale(x.scale)?;
        Ok(x)
    }

    /// The keys of an iteration: of the first rotation, of baby steps, of giant steps; `None` on a dry run,
    /// which records the uses and the cost.
    fn repeated_rotations<'k>(
        &self,
        evaluator: &'k Evaluator,
        x: &Ciphertext,
        iteration: Iteration,
    ) -> Result<Option<[Found<'k>; 3]>, CkksError> {
        let period = self.transform.slots();
        let (before, after) = self.switches();
        let first = usize::from(iteration.first != 0);
        let find = |steps: i64, uses: usize| {
            if uses == 0 {
                return Ok(Some(Found::Nothing));
            }
            let operation = evaluator.operation_under(x, LINEAR, Operation::rotation(x.secret, steps))?;
            let bundles = uses * x.layout.bundles();
            evaluator.keys_of(
                KeyQuery::new(LINEAR, operation, x)
                    .under(&self.params)
                    .at(self.level)
                    .repeating(period)
                    .switching(bundles),
            )
        };
        let found = [
            find(iteration.first, first)?,
            find(iteration.baby, before - first)?,
            find(iteration.giant, after)?,
        ];
        let basis = self.params.chain().basis(self.level);
        evaluator.record(x, || Ok(self.products_cost(x, basis.len())))?;
        evaluator.record_plaintexts(x, || self.needed_plaintexts(&basis, x.layout.bundles()))?;
        Ok(match found {
            [Some(first), Some(baby), Some(giant)] if !x.is_symbol() => Some([first, baby, giant]),
            _ => None,
        })
    }

    /// The keys of the plan's rotations; `None` on a dry run, which records the rotations and the cost.
    fn found_rotations<'k>(
        &'k self,
        evaluator: &'k Evaluator,
        x: &Ciphertext,
    ) -> Result<Option<Rotations<'k>>, CkksError> {
        let params = &self.params;
        let period = self.transform.slots();
        let find = |steps: i64| {
            if steps == 0 {
                return Ok(if x.is_symbol() { None } else { Some(Found::Nothing) });
            }
            let operation = evaluator.operation_under(x, LINEAR, Operation::rotation(x.secret, steps))?;
            evaluator.keys_of(
                KeyQuery::new(LINEAR, operation, x)
                    .under(params)
                    .at(self.level)
                    .repeating(period)
                    .without_cost(),
            )
        };
        let babies = self.babies.iter().map(|&steps| find(steps)).collect::<Result<Vec<_>, _>>()?;
        let giants = self.giants.iter().map(|giant| find(giant.steps)).collect::<Result<Vec<_>, _>>()?;
        if x.is_symbol() {
            evaluator.record(x, || self.cost(evaluator, x))?;
            evaluator.record_plaintexts(x, || {
                let basis = match self.rotations_definition(evaluator, x)? {
                    None => self.params.chain().basis(self.level),
                    Some(definition) => definition.transform_basis(self.level)?,
                };
                self.needed_plaintexts(&basis, x.layout.bundles())
            })?;
            return Ok(None);
        }
        let (babies, giants): (Vec<Found<'_>>, Vec<Found<'_>>) =
            (babies.into_iter().flatten().collect(), giants.into_iter().flatten().collect());
        let switcher = params.switcher()?;
        let keys: Vec<&SwitchKey> =
            babies.iter().chain(&giants).filter_map(Found::single).map(HeldKey::key).collect();
        let tables = switcher.transform_tables_for_keys(self.level, &keys)?;
        let none = babies.iter().chain(&giants).all(|found| matches!(found, Found::Nothing));
        Ok(Some(if none {
            Rotations { switcher, tables, babies: Vec::new(), giants: Vec::new() }
        } else {
            Rotations { switcher, tables, babies, giants }
        }))
    }
}

impl LinearTransformPlan {
    /// A map without rotations: the product with one diagonal.
    fn multiply(
        &self,
        bundle: &Bundle<Eval>,
        plaintexts: &Plaintexts<'_>,
    ) -> Result<Bundle<Eval>, CkksError> {
        let division = self.params.rescale_division(self.level)?;
        let [giant] = &self.giants[..] else { return Err(CkksError::Internal { operation: LINEAR }) };
        let diagonal = self.of_step(plaintexts, (0, giant))?;
        Ok(bundle.mul_packed(&diagonal)?.divide(&division)?)
    }

    /// The plaintexts of giant step `index`.
    fn of_step<'p>(
        &self,
        plaintexts: &'p Plaintexts<'_>,
        (index, giant): (usize, &Step),
    ) -> Result<Cow<'p, PackedPlaintexts>, CkksError> {
        match plaintexts {
            Plaintexts::Encoded(all) => {
                all.get(index).map(Cow::Borrowed).ok_or(CkksError::Internal { operation: LINEAR })
            }
            Plaintexts::ForEachUse(basis) => self.encoded_step(giant, basis).map(Cow::Owned),
        }
    }

    /// The map of one bundle: baby steps, inner sums, giant steps, one mod-down with the rescale.
    fn map(
        &self,
        bundle: &Bundle<Eval>,
        rotations: &Rotations<'_>,
        plaintexts: &Plaintexts<'_>,
    ) -> Result<Bundle<Eval>, CkksError> {
        let Rotations { switcher, tables, babies, giants } = rotations;
        let frame = tables.frame();
        let hoisted = babies.iter().any(|found| found.single().is_some());
        let digits = if hoisted { bundle.decompose_mask(switcher, tables)? } else { Vec::new() };
        let baby = |found: &Found<'_>| -> Result<Extended, CkksError> {
            match found.single().and_then(|held| Some((held, held.automorphism()?))) {
                Some((held, phi)) => {
                    Ok(bundle.rotate_extended(phi, &digits, switcher, held.key())?.into_eval_form()?)
                }
                None => Ok(Extended::lift_of(&found.apply(bundle)?, frame)?),
            }
        };
        let rotated = || babies.iter().map(baby).collect::<Result<Vec<_>, _>>();
        let mut total: Option<Extended> = None;
        let mut add = |sum: Extended, found: &Found<'_>| -> Result<(), CkksError> {
            let sum = match (found, found.single().and_then(|held| Some((held, held.automorphism()?)))) {
                (Found::Nothing, _) => sum,
                (_, Some((held, phi))) => sum.rotate(phi, switcher, tables, held.key())?,
                (found, None) => Extended::lift_of(&found.apply(&switcher.mod_down(&sum)?)?, frame)?,
            };
            match &mut total {
                None => total = Some(sum),
                Some(total) => total.add_assign(&sum)?,
            }
            Ok(())
        };
        match plaintexts {
            Plaintexts::Encoded(plaintexts) => {
                let inputs: Vec<Vec<usize>> = self.giants.iter().map(Step::inputs).collect();
                let combinations: Vec<PackedCombination<'_>> = plaintexts
                    .iter()
                    .zip(&inputs)
                    .map(|(plaintexts, inputs)| PackedCombination { plaintexts, inputs })
                    .collect();
                let fused = hoisted
                    && tables.method().key_digit.is_none()
                    && babies.iter().all(|found| is_direct(found));
                let sums = if fused {
                    let steps: Vec<BabyStep<'_>> = babies
                        .iter()
                        .map(|found| found.single().and_then(|held| Some((held.automorphism()?, held.key()))))
                        .collect();
                    switcher.hoisted_combinations(bundle, &digits, &steps, &combinations)?
                } else {
                    Extended::packed_combinations(&rotated()?.iter().collect::<Vec<_>>(), &combinations)?
                };
                sums.into_iter().zip(giants).try_for_each(|(sum, found)| add(sum, found))?;
            }
            Plaintexts::ForEachUse(basis) => {
                let rotated = rotated()?;
                let rotated: Vec<&Extended> = rotated.iter().collect();
                for (giant, found) in self.giants.iter().zip(giants) {
                    let (plaintexts, inputs) = (&self.encoded_step(giant, basis)?, &giant.inputs());
                    let sums =
                        Extended::packed_combinations(&rotated, &[PackedCombination { plaintexts, inputs }])?;
                    sums.into_iter().try_for_each(|sum| add(sum, found))?;
                }
            }
        }
        let total = total.ok_or(CkksError::Internal { operation: LINEAR })?;
        Ok(switcher.mod_down_rescale(&total)?)
    }

    /// The map of one bundle by iterated rotations: the first rotation, baby steps, inner sums, and Horner's
    /// rule for the giant steps.
    fn iterate(
        &self,
        bundle: &Bundle<Eval>,
        iteration: Iteration,
        [first, baby, giant]: &[Found<'_>; 3],
        plaintexts: &Plaintexts<'_>,
    ) -> Result<Bundle<Eval>, CkksError> {
        let mut babies = vec![first.apply(bundle)?];
        for index in 1..self.babies.len() {
            babies.push(baby.apply(&babies[index - 1])?);
        }
        let rotated: Vec<&Bundle<Eval>> = babies.iter().collect();
        let sums_of = |steps: &[Step], plaintexts: &[PackedPlaintexts]| {
            let inputs: Vec<Vec<usize>> = steps.iter().map(Step::inputs).collect();
            let combinations: Vec<PackedCombination<'_>> = plaintexts
                .iter()
                .zip(&inputs)
                .map(|(plaintexts, inputs)| PackedCombination { plaintexts, inputs })
                .collect();
            Bundle::packed_combinations(&rotated, &combinations)
        };
        let mut sums = match plaintexts {
            Plaintexts::Encoded(plaintexts) => sums_of(&self.giants, plaintexts)?,
            Plaintexts::ForEachUse(_) => Vec::new(),
        };
        let mut total: Option<Bundle<Eval>> = None;
        let mut place = 0;
        for step in self.giants.iter().rev() {
            if let Plaintexts::ForEachUse(basis) = plaintexts {
                sums = sums_of(std::slice::from_ref(step), &[self.encoded_step(step, basis)?])?;
            }
            let sum = sums.pop().ok_or(CkksError::Internal { operation: LINEAR })?;
            total = Some(match total {
                None => sum,
                Some(mut total) => {
                    for _ in step.steps / iteration.giant..place {
                        total = giant.apply(&total)?;
                    }
                    total.add_assign(&sum)?;
                    total
                }
            });
            place = step.steps / iteration.giant;
        }
        let mut total = total.ok_or(CkksError::Internal { operation: LINEAR })?;
        for _ in 0..place {
            total = giant.apply(&total)?;
        }
        Ok(total.divide(&*self.params.rescale_division(self.level)?)?)
    }

    /// The cost of the products of one bundle's polynomials with plaintexts over `primes` primes, and of the
    /// following rescale without a mod-down.
    fn products_cost(&self, x: &Ciphertext, primes: usize) -> Cost {
        let polys = x.polys_per_bundle();
        let terms: usize = self.giants.iter().map(|giant| giant.terms.len()).sum();
        let mut cost = self.params.rows_cost(polys * primes * terms);
        cost += self.params.rescale_cost(self.level, polys);
        cost
    }

    /// The definition of the plan's keys, which share tables, for the lowest of their key levels; `None`
    /// without rotations.
    fn rotations_definition(
        &self,
        evaluator: &Evaluator,
        x: &Ciphertext,
    ) -> Result<Option<KeyDefinition>, CkksError> {
        let operations =
            self.baby_steps().chain(self.giant_steps()).map(|steps| Operation::rotation(x.secret, steps));
        let operations: Vec<Operation> =
            operations.collect::<Option<_>>().ok_or(CkksError::NoKeys { operation: LINEAR })?;
        let Some(&operation) = operations.first() else { return Ok(None) };
        let key_levels =
            operations.iter().map(|&operation| evaluator.key_level(&self.params, operation, self.level));
        let key_level = key_levels.min().unwrap_or(self.level);
        Ok(Some(self.params.operation_definition(operation, self.level)?.serving(key_level)))
    }

    /// The cost for one bundle of `x`.
    fn cost(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Cost, CkksError> {
        let (babies, giants) = self.switches();
        let polys = x.polys_per_bundle();
        let terms = self.giants.iter().flat_map(|giant| &giant.terms);
        let primes = self.params.chain().basis(self.level).len();
        if babies + giants == 0 {
            return Ok(self.products_cost(x, primes));
        }
        let definition = self.rotations_definition(evaluator, x)?;
        let definition = definition.ok_or(CkksError::Internal { operation: LINEAR })?;
        let costs = definition.transform_costs(self.level)?;
        let mut cost = transform_cost(&costs, (babies, giants), false);
        // The unrotated input is zero modulo the special primes, so it is only multiplied modulo the level's
        // primes.
        let rows: usize =
            terms.map(|term| if self.babies[term.baby] == 0 { primes } else { costs.extended_primes }).sum();
        cost += self.params.rows_cost(polys * rows);
        Ok(cost)
    }

    /// The variance that the rotations and the last division add to a coefficient of the result.
    pub(crate) fn variance(&self, secret: SecretName) -> Result<f64, CkksError> {
        let (babies, giants) = self.switches();
        let rounding = self.params.noise_model().rounding();
        if babies + giants == 0 {
            return Ok(rounding);
        }
        let steps = self.rotations().first().copied().unwrap_or(1);
        let operation = Operation::rotation(secret, steps).ok_or(CkksError::NoKeys { operation: LINEAR })?;
        let switch = self.params.operation_variance(operation, self.level)?;
        if let Some(iteration) = self.iteration {
            // A baby step has the noise of all rotations before it, and each diagonal multiplies other slots
            // of it.
            let rotations = |baby: usize| (baby + usize::from(iteration.first != 0)) as f64;
            let mut rows = vec![0.0f64; self.transform.period()];
            for term in self.giants.iter().flat_map(|giant| &giant.terms) {
                let (rotations, values) = (rotations(term.baby), self.transform.diagonal(term.shift as i64));
                let values = values.unwrap_or_default();
                rows.iter_mut().zip(&*values).for_each(|(row, value)| *row += rotations * value.norm_sqr());
            }
            let growth = rows.into_iter().fold(0.0, f64::max);
            let (scale, step) = (self.diagonal_scale(), self.params.step_product(self.level));
            return Ok((switch + rounding)
                * (growth * (scale / step).powi(2) + giants as f64 / (step * step))
                + rounding);
        }
        // Baby steps are multiplied by diagonals at their scale, giant steps follow the product; both are
        // divided by the step.
        // Every giant step uses other slots of a baby step's noise, which is independent between slots.
        let turned =
            self.giants.iter().flat_map(|giant| &giant.terms).filter(|term| self.babies[term.baby] != 0);
        let growth: f64 = turned.map(|term| self.transform.largest_square(term.shift)).sum();
        let (scale, step) = (self.diagonal_scale(), self.params.step_product(self.level));
        Ok(switch * growth * (scale / step).powi(2)
            + giants as f64 * (switch + rounding) / (step * step)
            + rounding)
    }

    /// The errors of a result's entry by rounding the diagonals, for numbers of magnitude 1: typical, with
    /// random signs, and worst, with the signs of the rounding errors.
    fn rounding(&self) -> (f64, f64) {
        let terms = self.giants.iter().map(|giant| giant.terms.len()).sum::<usize>() as f64;
        let (typical, worst) = encoding_errors(2 * self.transform.period(), self.diagonal_scale());
        (typical * terms.sqrt(), worst * terms)
    }
}
