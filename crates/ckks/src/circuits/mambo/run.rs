//! Products inside bootstraps, on data or on symbols.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clathrate_lattice::Level;
use rustfft::num_complex::Complex64;

use super::plan::MamboPlan;
use super::{MAMBO, Placement};
use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Order, Padding};
use crate::circuits::bootstrap::{BootstrapPlan, groups::in_groups};
use crate::circuits::matrix_plan::PlannedMatrix;
use crate::error::CkksError;
use crate::evaluation::Evaluator;

/// A matrix that is prepared for products inside bootstraps.
#[derive(Debug)]
pub struct MamboMatrix {
    plan: Arc<MamboPlan>,
    planned: PlannedMatrix,
}

impl MamboPlan {
    /// Prepares the matrix: combines its keys if the product is a prepared one.
    ///
    /// # Errors
    /// The errors of [`MatrixPlan::prepare`](crate::circuits::matrix_plan::MatrixPlan::prepare).
    pub fn prepare(self: &Arc<Self>, evaluator: &Evaluator) -> Result<MamboMatrix, CkksError> {
        let planned = self.matrix().prepare(evaluator)?;
        Ok(MamboMatrix { plan: self.clone(), planned })
    }

    /// Refuses arrays that do not match the plan.
    fn check(&self, x: &Ciphertext) -> Result<(), CkksError> {
        let factor = self.array_shapes().0;
        if x.shape() != factor && !(factor[0] == 1 && x.shape() == &factor[1..]) {
            let remedy = format!(
                "lay the {} rows of {} numbers one behind the other in rows of {} slots: X.reshape(-1, {})",
                self.shape().1,
                self.columns(),
                factor[1],
                factor[1]
            );
            return Err(CkksError::Shape {
                operation: MAMBO,
                left: x.shape().to_vec(),
                right: factor.to_vec(),
                remedy,
            });
        }
        self.bootstrap().check_numbers(x, MAMBO)?;
        if x.encoding() != Encoding::Slots {
            let (expected, got) = (Encoding::Slots.name().to_owned(), x.encoding().name().to_owned());
            return Err(CkksError::Encoding { operation: MAMBO, expected, got });
        }
        if x.layout().order() != Order::Natural {
            return Err(CkksError::bit_reversed(MAMBO));
        }
        x.check_main(MAMBO)?;
        let slots = self.bootstrap().params().slot_count();
        if x.layout().capacity() != slots {
            let remedy = format!("encrypt rows with a capacity of {slots}, as the plan's `encryption` says");
            return Err(CkksError::Shape {
                operation: MAMBO,
                left: vec![x.layout().capacity()],
                right: vec![slots],
                remedy,
            });
        }
        let needed = self.input_level();
        if x.level() < needed {
            return Err(CkksError::LevelTooLow { operation: MAMBO, needed: needed.0, level: x.level().0 });
        }
        Ok(())
    }

    /// The shape and layout of `rows` rows of polynomials as rows of coefficients. Rows that share a
    /// polynomial are in lanes.
    fn rows_in_lanes(&self, rows: usize) -> Result<(Vec<usize>, Layout), CkksError> {
        let shape = vec![rows * self.lanes(), 2 * self.columns()];
        let layout = Layout::new(&shape, Encoding::Coefficients, self.bootstrap().params().degree())?
            .with_lanes(Some(self.lanes()))?;
        Ok((shape, layout))
    }

    /// The shape and layout of the product in slots.
    fn product_layout(&self) -> Result<(Vec<usize>, Layout), CkksError> {
        let (params, shape) = (self.bootstrap().params(), self.array_shapes().1);
        let layout =
            Layout::new(&shape, Encoding::Slots, params.degree())?.with_capacity(params.slot_count())?;
        Ok((shape.to_vec(), layout))
    }
}

impl MamboMatrix {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<MamboPlan> {
        &self.plan
    }
}

impl MamboMatrix {
    /// The product `W X` inside a bootstrap: `x` is at a low level, and the result at a high level.
    ///
    /// Shapes: `x` has a row of all slots for each polynomial. Each row of `X` takes [`MamboPlan::columns`]
    /// slots, one after the other. The result has the same form ([`MamboPlan::array_shapes`]). Range:
    /// numbers of magnitude at most 1, in `X` and in `W X`. The result is at the level and scale of a
    /// bootstrapped array. Its steps are those of the product and the stages of the bootstrap.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for an array of another shape; [`CkksError::LevelTooLow`] below
    /// [`MamboPlan::input_level`]; [`CkksError::Unsuitable`] for complex numbers if the plan is for real
    /// ones, and for slots that are not in natural order; [`CkksError::Encoding`] unless in slots;
    /// [`CkksError::TooLarge`] if the bound of `X` or of the product exceeds 1; [`CkksError::MissingKeys`];
    /// [`CkksError::NotEnoughMemory`]; [`CkksError::Cancelled`]; the errors of [`PlannedMatrix::multiply`].
    pub fn multiply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (plan, bootstrap) = (&self.plan, self.plan.bootstrap());
        evaluator.check(x)?;
        x.params().check_same(bootstrap.params(), "the plan of a product inside a bootstrap")?;
        plan.check(x)?;
        bootstrap.check_range(x)?;
        plan.matrix().check_numbers(x.bound())?;
        let (factor, product) = plan.array_shapes();
        if let Some(keys) = evaluator.held().filter(|_| !x.is_symbol()) {
            bootstrap.check_keys(keys)?;
            let polys = factor.iter().product::<usize>().max(product.iter().product())
                / bootstrap.params().slot_count();
            // The memory of the product is free when its packed rows are bootstrapped.
            let needed = bootstrap.memory_bytes(polys)?.max(plan.matrix().product_bytes());
            check_free(MAMBO, needed, "multiply fewer columns at once, or free memory")?;
        }
        let polys = product.iter().product::<usize>() / bootstrap.params().slot_count();
        let pairs = plan.pairs_reals(!x.is_complex(), polys);
        let size = if pairs { 2 * bootstrap.group() } else { bootstrap.group() };
        let groups = if x.is_symbol() { 1 } else { polys.div_ceil(size) };
        let stages = groups * bootstrap.stage_count();
        let whole = evaluator.progress().steps(0);
        let low = match plan.placement() {
            Placement::Inside => {
                // How many steps the product has is not known yet.
                let lowering = evaluator.for_part(&whole, move |_, _| (0, stages));
                let lowered =
                    in_groups(&lowering, std::slice::from_ref(x), bootstrap.group(), |evaluator, own| {
                        let [own] = own else { return Err(CkksError::Internal { operation: MAMBO }) };
                        Ok(vec![bootstrap.slots_to_coefficients(evaluator, own)?])
                    })?;
                lowered.into_iter().next().ok_or(CkksError::Internal { operation: MAMBO })?
            }
            Placement::Before => bootstrap.entry_at(evaluator, x, plan.matrix().level())?,
        };
        let (shape, layout) = plan.rows_in_lanes(factor[0])?;
        // The steps of the product are known when it reports the first one.
        let steps = Arc::new(AtomicUsize::new(0));
        let counted = steps.clone();
        let of_product = evaluator.for_part(&whole, move |done, all| {
            counted.store(all, Ordering::Relaxed);
            (done, all + stages)
        });
        // The numbers of the slots are in coefficients now, so bounds of slots are bounds of coefficients.
        let parts = if x.is_complex() { 2.0 } else { 1.0 };
        let slots_to_coeffs = if plan.placement() == Placement::Inside {
            (parts * bootstrap.error_around_product()?.0).sqrt()
        } else {
            0.0
        };
        let known = x.estimate.clone().moved(&x.layout, &layout, (slots_to_coeffs, slots_to_coeffs));
        let low = low.rearranged(shape, layout).estimated(|_| known);
        let multiplied = self.planned.multiply(&of_product, &low)?;
        let steps = steps.load(Ordering::Relaxed);
        let of_stages = evaluator.for_part(&whole, move |done, all| (steps + done, steps + all));
        let (shape, slots) = plan.product_layout()?;
        let slots = slots.of_numbers(x.is_complex()).with_padding(Padding::Zero);
        if multiplied.level() > Level(0) {
            return bootstrap.run(&of_stages, &multiplied.rearranged(shape, slots));
        }
        bootstrap.check_range(&multiplied)?;
        // The maps of slots-to-coefficients leave numbers in bit-reversed order.
        let order = if plan.placement() == Placement::Inside { Order::BitReversed } else { Order::Natural };
        let coefficients = slots.as_complex_coefficients(order);
        let own = multiplied.estimate.clone();
        let paired = pairs && multiplied.layout().bundles() > 1;
        let own =
            if paired { own.with_imaginary_part_of(&multiplied.estimate, &multiplied.layout) } else { own };
        let estimate = bootstrap.bootstrapped(&own, &multiplied.layout, &slots)?;
        let low = multiplied
            .rearranged(shape.clone(), coefficients)
            .at_scale(bootstrap.message_scale())
            .estimated(|_| Estimate::unknown());
        let fresh = in_groups(&of_stages, &[low], size, |evaluator, own| {
            let [own] = own else { return Err(CkksError::Internal { operation: MAMBO }) };
            Ok(vec![if pairs && own.layout().bundles() > 1 {
                bootstrap.run_in_pairs(evaluator, own)?
            } else {
                bootstrap.bootstrapped_coefficients(evaluator, own)?
            }])
        })?;
        let fresh = fresh.into_iter().next().ok_or(CkksError::Internal { operation: MAMBO })?;
        // The product of a real matrix and real numbers is real.
        Ok(fresh.rearranged(shape, slots).estimated(|_| estimate))
    }
}

impl BootstrapPlan {
    /// Bootstraps coefficients of real numbers, whose imaginary parts are zero, with a plan for complex
    /// numbers. Two polynomials become the real and the imaginary part of one.
    fn run_in_pairs(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        let (bundles, capacity) = (x.layout().bundles(), x.layout().capacity());
        let count = bundles.div_ceil(2);
        // Multiplication by i is multiplication by X^(N / 2), both for numbers in slots and for complex pairs
        // of coefficients.
        let half = |first: usize| {
            let layout = x.layout().of_polynomials(count, capacity);
            let layout = layout.as_slots(layout.is_complex(), Order::Natural);
            let own = x.bundles().iter().skip(first).take(count).cloned().collect();
            x.with_all((x.params(), vec![count, capacity]), layout, own, (x.level(), x.scale()))
        };
        // If the number of polynomials is odd, the middle one is in both halves.
        let (upper, lower) = (half(0), half(bundles - count));
        let joined = evaluator
            .linear_combination(&[(&upper, Complex64::from(1.0)), (&lower, Complex64::i())], x.scale())?;
        let layout = joined.layout().as_complex_coefficients(x.layout().order());
        let halves = self.run_half_apart(evaluator, &joined.laid_out(layout))?;
        let [re, im] = &halves[..] else { return Err(CkksError::Internal { operation: MAMBO }) };
        let own = re.bundles().iter().chain(im.bundles().iter().skip(2 * count - bundles)).cloned().collect();
        let layout = x.layout().of_numbers(false).with_bodies(1, None)?;
        Ok(re.with_all((x.params(), x.shape().to_vec()), layout, own, (re.level(), re.scale())))
    }
}
