//! Matrix products inside a bootstrap (MaMBo): `W X` for a known `W`, at a high level, in about the time of the bootstrap alone.
//!
//! ```text
//! slots to coefficients, to level 1   ->   W times rows of coefficients   ->   level 0   ->   raise, coefficients to slots, modular reduction
//! ```
//!
//! Coefficients at level 1 have the shortest modulus at which a product is possible, and are how matrix products want their rows. Slots-to-coefficients leaves a row of `c` slots, of
//! several that share a polynomial, in the coefficients of `X^(l + L i)`: a lane, of which a planned product ([`MatrixPlan`]) has `L`. The lanes are in bit-reversed order, which is a
//! permutation of the rows and columns of `W`; the order within a lane is the same before and after, and so it is when slots come back.
//!
//! Source: [pcmm-mambo, sec. 6.3, option 1]; differs: rows of a smaller degree have the rank that keeps the dimension, so that no ring switch is needed on the way down, and a packing key on the
//! way up; the product is any of those that a matrix plan has.

use std::sync::Arc;

use clathrate_arith::kernels::scalar::bit_reverse;
use clathrate_arith::text::counted;
use clathrate_lattice::Level;

use super::bootstrap::{BootstrapOptions, BootstrapPlan, STAGES};
use super::matrix_plan::{MatrixOptions, MatrixPlan, PlannedMatrix};
use super::prepared::Arrangement;
use crate::arrays::memory::check_free;
use crate::arrays::{Ciphertext, Encoding, Layout, Order, Padding};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::{EncryptOptions, KeyNeeds};
use crate::parameters::Params;
use crate::progress::Progress;

/// The operation's name in errors.
const MAMBO: &str = "a product inside a bootstrap";

/// What a plan of a product inside a bootstrap may choose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MamboOptions {
    /// The bootstrap; that it has a level for a product goes without saying.
    pub bootstrap: BootstrapOptions,
    /// The product. Level and lanes follow from the bootstrap.
    pub matrix: MatrixOptions,
}

/// A plan of `W X` inside a bootstrap, for a known matrix `W` and arrays whose polynomials have several rows of `X` in their slots.
#[derive(Debug)]
pub struct MamboPlan {
    bootstrap: BootstrapPlan,
    matrix: MatrixPlan,
    /// Rows and columns of `W`.
    shape: (usize, usize),
    /// Slots of a row of `X`.
    columns: usize,
    /// The largest sum of squares along a row of `W`.
    row_squares: f64,
    /// What the weights are multiplied with: the scale of the bootstrap over the canonical one.
    factor: f64,
}

/// A matrix that is ready for its products inside bootstraps.
#[derive(Debug)]
pub struct MamboMatrix {
    plan: Arc<MamboPlan>,
    planned: PlannedMatrix,
}

/// Rows and columns in the order in which slots-to-coefficients leaves `lanes` rows in a polynomial, filled up with zeros to whole polynomials, and multiplied by `factor`.
fn placed((rows, inner, values): (usize, usize, &[f64]), lanes: usize, factor: f64) -> (usize, usize, Vec<f64>) {
    let bits = lanes.trailing_zeros();
    let lane = |row: usize| row / lanes * lanes + bit_reverse(row % lanes, bits);
    let (all_rows, all_inner) = (rows.next_multiple_of(lanes), inner.next_multiple_of(lanes));
    let mut moved = vec![0.0; all_rows * all_inner];
    for (row, values) in values.chunks_exact(inner).enumerate() {
        for (column, value) in values.iter().enumerate() {
            moved[lane(row) * all_inner + lane(column)] = value * factor;
        }
    }
    (all_rows, all_inner, moved)
}

impl MamboPlan {
    /// The plan for products of `values` (`rows x inner`, row-major) with matrices of `columns` slots in a row, a power of two: real numbers, or complex ones unless the options say that
    /// numbers are real.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for columns that do not divide the slots; [`CkksError::NotBootstrappable`] where no level is left for a product; shape and value errors of the matrix; as
    /// [`BootstrapPlan::with_options`] and [`MatrixPlan::new`].
    pub fn new(
        params: &Params,
        (rows, inner, values): (usize, usize, &[f64]),
        columns: usize,
        options: &MamboOptions,
    ) -> Result<Self, CkksError> {
        let slots = params.slot_count();
        if !columns.is_power_of_two() || columns > slots {
            let remedy = format!("use a power of two up to {slots}, and fill rows with zeros");
            return Err(CkksError::OutOfRange { what: "the slots of a row", value: columns.to_string(), remedy });
        }
        if rows == 0 || inner == 0 {
            return Err(CkksError::Empty { shape: vec![rows, inner] });
        }
        if rows.checked_mul(inner) != Some(values.len()) {
            let remedy = "the matrix needs rows * columns values".to_owned();
            return Err(CkksError::Shape { operation: MAMBO, left: vec![rows, inner], right: vec![values.len()], remedy });
        }
        // Further rounds would bootstrap the error of the product as well.
        let rounds = options.bootstrap.rounds.or(Some(1));
        let bootstrap = BootstrapOptions { product: true, slots: Some(slots), transform_slots: Some(slots), rounds, ..options.bootstrap };
        let bootstrap = BootstrapPlan::with_options(params, bootstrap)?;
        if bootstrap.rounds() > 1 {
            let remedy = "use 1, or leave it out: further rounds would bootstrap the error of the product as well".to_owned();
            return Err(CkksError::OutOfRange { what: "the rounds around a product", value: bootstrap.rounds().to_string(), remedy });
        }
        let lanes = slots / columns;
        let arrangement = Arrangement { level: Some(Level(1)), lanes: Some(lanes), ..options.matrix.arrangement };
        let precision = super::prepared::PreparedOptions { own_masks: true, ..options.matrix.precision };
        let matrix = MatrixOptions { arrangement, precision, ..options.matrix };
        // The product ends at the canonical scale and is read at that of the bootstrap.
        let factor = bootstrap.message_scale() / params.scale(Level(0));
        let (all_rows, all_inner, moved) = placed((rows, inner, values), lanes, factor);
        let matrix = MatrixPlan::new(params, (all_rows, all_inner, &moved), 2 * columns, &matrix)?;
        let row_squares = values.chunks_exact(inner).map(|row| row.iter().map(|v| v * v).sum()).fold(0.0, f64::max);
        Ok(Self { bootstrap, matrix, shape: (rows, inner), columns, row_squares, factor })
    }

    /// The bootstrap around the product.
    #[must_use]
    pub fn bootstrap(&self) -> &BootstrapPlan {
        &self.bootstrap
    }

    /// The product at level 1.
    #[must_use]
    pub fn matrix(&self) -> &MatrixPlan {
        &self.matrix
    }

    /// Rows and columns of the matrix.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Slots of a row.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows that share a polynomial.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.bootstrap.params().slot_count() / self.columns
    }

    /// The shapes of factor and product: a row for each polynomial, all of its slots.
    #[must_use]
    pub fn array_shapes(&self) -> ([usize; 2], [usize; 2]) {
        let slots = self.bootstrap.params().slot_count();
        let polys = |rows: usize| [rows.div_ceil(self.lanes()), slots];
        (polys(self.shape.1), polys(self.shape.0))
    }

    /// How arrays are encrypted that have nothing else before them.
    #[must_use]
    pub fn encryption(&self) -> EncryptOptions {
        let (level, encoding) = (Some(self.bootstrap.input_level()), Some(Encoding::Slots));
        EncryptOptions { level, encoding, capacity: Some(self.bootstrap.params().slot_count()), ..EncryptOptions::default() }
    }

    /// The keys of the bootstrap and of the product.
    ///
    /// # Errors
    /// As [`BootstrapPlan::dry_run`].
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        Ok(self.bootstrap.needs()?.merge(&self.matrix.needs()))
    }

    /// Predicted nanoseconds of a product with all of its bootstraps, one thread; those of the product alone.
    ///
    /// # Errors
    /// As [`BootstrapPlan::dry_run`].
    pub fn predicted_nanoseconds(&self) -> Result<(f64, f64), CkksError> {
        let ([inputs, _], [outputs, _]) = self.array_shapes();
        let lowering = |polys: usize| -> Result<(f64, f64), CkksError> {
            let recording = self.bootstrap.dry_run_of(polys)?;
            let stages = recording.stages().iter().filter(|stage| stage.name == super::bootstrap::stages::TO_COEFFICIENTS);
            let lowering: f64 = stages.map(|stage| stage.cost.nanoseconds).sum();
            Ok((lowering, recording.cost().nanoseconds - lowering))
        };
        let product = self.matrix.chosen().nanoseconds;
        Ok((lowering(inputs)?.0 + product + lowering(outputs)?.1, product))
    }

    /// The predicted root mean square error of a real or imaginary part of the row with the largest one, for numbers whose parts are uniform in [-1, 1] in the factor and in the product. Smaller
    /// products have smaller errors.
    ///
    /// # Errors
    /// As [`BootstrapPlan::dry_run`].
    pub fn predicted_error(&self) -> Result<f64, CkksError> {
        let (before, behind) = self.bootstrap.error_around_product()?;
        Ok((before * self.row_squares + (self.matrix.chosen().error / self.factor).powi(2) + behind).sqrt())
    }

    /// Makes the matrix ready: combines keys where the product is a prepared one.
    ///
    /// # Errors
    /// As [`MatrixPlan::prepare`].
    pub fn prepare(self: &Arc<Self>, evaluator: &Evaluator, progress: Progress<'_>) -> Result<MamboMatrix, CkksError> {
        let planned = self.matrix.prepare(evaluator, progress)?;
        Ok(MamboMatrix { plan: self.clone(), planned })
    }

    /// What the plan does, and the tables of the bootstrap and of the product.
    ///
    /// # Errors
    /// As [`BootstrapPlan::dry_run`].
    pub fn explain(&self) -> Result<String, CkksError> {
        let ((all, product), ([inputs, _], [outputs, _])) = (self.predicted_nanoseconds()?, self.array_shapes());
        Ok(format!(
            "{} x {} matrix inside a bootstrap, {} in a polynomial: from {} to {}\n\
             {:.1} ms in all, of which {:.1} for the product at level 1; {:.1} bits of precision (root mean square)\n{}\n{}",
            self.shape.0,
            self.shape.1,
            counted(self.lanes(), "row"),
            counted(inputs, "polynomial"),
            counted(outputs, "polynomial"),
            all / 1e6,
            product / 1e6,
            -self.predicted_error()?.log2(),
            self.matrix,
            self.bootstrap.explain()?
        ))
    }
}

impl MamboMatrix {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<MamboPlan> {
        &self.plan
    }
}

impl Evaluator {
    /// `W X` at a high level, for `x` at a low one: the product inside the bootstrap.
    ///
    /// Shapes: `x` has a row for each polynomial and all slots, of which each row of `X` takes [`MamboPlan::columns`], one behind the other; so has the result
    /// ([`MamboPlan::array_shapes`]). Range: numbers of magnitude at most 1, in `X` and in `W X`. The result is at the level and scale of a bootstrapped array. `progress` is called with the
    /// steps of the product and the stages of the bootstrap done, and all.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for an array of another shape; [`CkksError::Conversion`] for complex numbers where the plan is for real ones; [`CkksError::BitReversed`];
    /// [`CkksError::MissingKeys`]; [`CkksError::NotEnoughMemory`]; [`CkksError::Cancelled`]; as [`Evaluator::slots_to_coefficients`], [`Evaluator::multiply_planned`] and [`Evaluator::half_bootstrap`].
    pub fn mambo(&self, matrix: &MamboMatrix, x: &Ciphertext, progress: Progress<'_>) -> Result<Ciphertext, CkksError> {
        let plan = &matrix.plan;
        let (factor, product) = plan.array_shapes();
        let (params, lanes) = (plan.bootstrap.params(), plan.lanes());
        if x.shape() != factor && !(factor[0] == 1 && x.shape() == &factor[1..]) {
            let remedy = format!(
                "lay the {} rows of {} numbers one behind the other in rows of {} slots: X.reshape(-1, {})",
                plan.shape.1, plan.columns, factor[1], factor[1]
            );
            return Err(CkksError::Shape { operation: MAMBO, left: x.shape().to_vec(), right: factor.to_vec(), remedy });
        }
        if plan.bootstrap.is_real() && x.is_complex() {
            let reason = "the plan is for real numbers and the array is complex: make a plan for complex numbers".to_owned();
            return Err(CkksError::Conversion { operation: MAMBO, reason });
        }
        if x.layout().order != Order::Natural {
            return Err(CkksError::BitReversed { operation: MAMBO });
        }
        if let Some(keys) = self.held().filter(|_| !x.is_symbol()) {
            plan.bootstrap.check_keys(keys)?;
            let polys = factor[0].max(product[0]);
            check_free(MAMBO, plan.bootstrap.memory_bytes(polys)?, "multiply fewer columns at once, or free memory")?;
        }
        let low = self.slots_to_coefficients(x, &plan.bootstrap)?;
        let rows_in_lanes = |rows: usize| -> Result<(Vec<usize>, Layout), CkksError> {
            let shape = vec![rows, 2 * plan.columns];
            let layout = Layout::new(&shape, Encoding::Coefficients, params.degree())?.with_lanes(Some(lanes))?;
            Ok((shape, layout))
        };
        let (shape, layout) = rows_in_lanes(factor[0] * lanes)?;
        let mut steps = 0;
        let mut of_product = |done: usize, all: usize| {
            steps = all;
            progress(done, all + STAGES)
        };
        let multiplied = self.multiply_planned(&matrix.planned, &low.rearranged(shape, layout), &mut of_product)?;
        let layout = Layout::new(&product, Encoding::Slots, params.degree())?.with_capacity(factor[1])?;
        let layout =
            Layout { encoding: Encoding::Coefficients, complex: true, order: Order::BitReversed, padding: Padding::Zero, ..layout };
        let pairs = multiplied.rearranged(product.to_vec(), layout).at_scale(plan.bootstrap.message_scale());
        let bounds = pairs.estimate().map(|own| plan.bootstrap.bounds(own)).transpose()?;
        let mut of_stages = |done: usize, _: usize| progress(steps + done, steps + STAGES);
        let fresh = self.half_bootstrap_with_progress(&pairs, &plan.bootstrap, &mut of_stages)?;
        // A real matrix leaves real numbers real.
        let layout = Layout { complex: x.is_complex(), ..*fresh.layout() };
        Ok(fresh.laid_out(layout).bounded_by(bounds))
    }
}
