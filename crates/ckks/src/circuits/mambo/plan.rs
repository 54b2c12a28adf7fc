//! The plan of a product inside a bootstrap.

use std::sync::Arc;

use clathrate_arith::kernels::scalar::bit_reverse;
use clathrate_arith::text::counted;
use clathrate_lattice::Level;

use super::{MAMBO, MamboOptions, Placement};
use crate::arrays::Encoding;
use crate::circuits::bootstrap::{BootstrapOptions, BootstrapPlan, stages};
use crate::circuits::matrix_plan::{MatrixOptions, MatrixPlan};
use crate::circuits::prepared::{Arrangement, PreparedOptions};
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::keys::{Cost, EncryptOptions, KeyNeeds};
use crate::parameters::Params;

/// A plan of `W X` inside a bootstrap, for a known matrix `W`. The slots of each polynomial hold several rows
/// of `X`, or a part of a row.
#[derive(Debug)]
pub struct MamboPlan {
    bootstrap: Arc<BootstrapPlan>,
    matrix: MatrixPlan,
    placement: Placement,
    /// Rows and columns of `W`.
    shape: (usize, usize),
    /// The slots of a row of `X`.
    columns: usize,
    /// The largest sum of squares along a row of `W`.
    row_squares: f64,
    /// The factor of the weights: the scale at which the bootstrap reads the product over the canonical
    /// scale.
    factor: f64,
}

/// The matrix, times `factor`, with its rows and columns in the order in which slots-to-coefficients leaves
/// `lanes` rows in a polynomial. Zeros fill the rows and columns up to whole polynomials.
fn placed(matrix: Matrix<'_>, lanes: usize, factor: f64) -> (usize, usize, Vec<f64>) {
    let bits = lanes.trailing_zeros();
    let lane = |row: usize| row / lanes * lanes + bit_reverse(row % lanes, bits);
    let (all_rows, all_inner) = (matrix.rows.next_multiple_of(lanes), matrix.columns.next_multiple_of(lanes));
    let mut moved = vec![0.0; all_rows * all_inner];
    for (row, values) in matrix.each_row().enumerate() {
        for (column, value) in values.iter().enumerate() {
            moved[lane(row) * all_inner + lane(column)] = value * factor;
        }
    }
    (all_rows, all_inner, moved)
}

impl MamboPlan {
    /// The plan for products of `weights` with matrices that have `columns` slots
    /// in a row, a power of two or a multiple of all slots. Numbers are complex unless the options say that
    /// they are real.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] if `columns` neither divides the slots nor fills them, and for further
    /// rounds around a product inside; [`CkksError::Unsupported`] if no level is left for a product, or
    /// for half a bootstrap; shape and value errors of the matrix; the errors of
    /// [`BootstrapPlan::with_options`] and [`MatrixPlan::new`].
    pub fn new(
        params: &Params,
        weights: Matrix<'_>,
        columns: usize,
        options: &MamboOptions,
    ) -> Result<Self, CkksError> {
        let slots = params.slot_count();
        check_columns(params, columns, options.placement)?;
        if options.bootstrap.half {
            let reason = "half a bootstrap starts behind a product: leave `half` out".to_owned();
            return Err(CkksError::not_bootstrappable(&params.spec().name, reason));
        }
        let inside = options.placement == Placement::Inside;
        // Further rounds would bootstrap the error of the product as well.
        let rounds = if inside { options.bootstrap.rounds.or(Some(1)) } else { options.bootstrap.rounds };
        let bodies = if options.fastest_bodies { 1 } else { options.bootstrap.bodies };
        let own = BootstrapOptions {
            product: inside,
            slots: Some(slots),
            transform_slots: Some(slots),
            rounds,
            bodies,
            ..options.bootstrap
        };
        let bootstrap = BootstrapPlan::with_options(params, own)?;
        if inside && bootstrap.rounds() > 1 {
            let remedy =
                "use 1, or leave it out: further rounds would bootstrap the error of the product as well"
                    .to_owned();
            return Err(CkksError::OutOfRange {
                what: "the rounds around a product",
                value: bootstrap.rounds().to_string(),
                remedy,
            });
        }
        let plan = Self::around(Arc::new(bootstrap), weights, columns, &options.matrix)?;
        if options.fastest_bodies { plan.with_fastest_bodies(own) } else { Ok(plan) }
    }

    /// The same plan around a bootstrap with the number of bodies under a mask that makes the whole fastest,
    /// among those whose keys are within the limit ([`BootstrapPlan::for_batch`]).
    fn with_fastest_bodies(self, options: BootstrapOptions) -> Result<Self, CkksError> {
        let polys = self.polys_to_coeffs().max(self.polys_raised(self.bootstrap.is_real()));
        let own = |bootstrap: &BootstrapPlan| {
            Ok(self.cost_around(bootstrap, bootstrap.is_real())?.times(1.0 / polys as f64))
        };
        let bootstrap = BootstrapPlan::fastest_bodies(self.bootstrap.params(), polys, options, own)?;
        Ok(Self { bootstrap: Arc::new(bootstrap), ..self })
    }

    /// The number of polynomials of slots-to-coefficients before the product; 0 if the whole bootstrap
    /// follows the product.
    fn polys_to_coeffs(&self) -> usize {
        if self.placement == Placement::Inside { self.polys()[0] } else { 0 }
    }

    /// The number of polynomials that are bootstrapped after the product, for real or complex numbers.
    fn polys_raised(&self, real: bool) -> usize {
        let outputs = self.polys()[1];
        if self.pairs_reals(real, outputs) { outputs.div_ceil(2) } else { outputs }
    }

    /// The faster of the possible plans with the product inside the bootstrap and before it. A product before
    /// it takes one more level if slots-to-coefficients comes first.
    ///
    /// # Errors
    /// The errors of [`MamboPlan::new`], if no plan is possible.
    pub fn fastest(
        params: &Params,
        weights: Matrix<'_>,
        columns: usize,
        options: &MamboOptions,
    ) -> Result<Self, CkksError> {
        let plan = |placement| {
            let plan = Self::new(params, weights, columns, &MamboOptions { placement, ..*options })?;
            Ok((plan.price_of(plan.bootstrap.is_real())?, plan))
        };
        match (plan(Placement::Inside), plan(Placement::Before)) {
            (Ok((inside, plan)), Ok((before, _))) if inside <= before => Ok(plan),
            (_, Ok((_, plan))) | (Ok((_, plan)), Err(_)) => Ok(plan),
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// The plan for a product inside `bootstrap`, or before it if it has no level for a product. The
    /// bootstrap must have all slots.
    pub(in crate::circuits) fn around(
        bootstrap: Arc<BootstrapPlan>,
        weights: Matrix<'_>,
        columns: usize,
        options: &MatrixOptions,
    ) -> Result<Self, CkksError> {
        let (params, slots) = (bootstrap.params(), bootstrap.params().slot_count());
        let placement = if bootstrap.has_product() { Placement::Inside } else { Placement::Before };
        check_columns(params, columns, placement)?;
        weights.check(MAMBO)?;
        let (lanes, level) = ((slots / columns).max(1), product_level(&bootstrap)?);
        let arrangement = Arrangement { level: Some(level), lanes: Some(lanes), ..options.arrangement };
        let precision = PreparedOptions { own_masks: true, ..options.precision };
        let matrix = MatrixOptions { arrangement, precision, ..*options };
        // A product inside the bootstrap ends at the canonical scale of level 0, but the bootstrap reads it
        // at its own scale.
        let factor = if level == Level(1) { bootstrap.message_scale() / params.scale(Level(0)) } else { 1.0 };
        let (all_rows, all_inner, moved) = placed(weights, lanes, factor);
        let matrix = MatrixPlan::new(params, Matrix::new(all_rows, all_inner, &moved), 2 * columns, &matrix)?;
        let row_squares = weights.each_row().map(|row| row.iter().map(|v| v * v).sum()).fold(0.0, f64::max);
        Ok(Self { bootstrap, matrix, placement, shape: weights.shape(), columns, row_squares, factor })
    }

    /// The bootstrap around the product.
    #[must_use]
    pub fn bootstrap(&self) -> &BootstrapPlan {
        &self.bootstrap
    }

    /// The place of the product.
    #[must_use]
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// The lowest level of an array that can be multiplied.
    #[must_use]
    pub fn input_level(&self) -> Level {
        match self.placement {
            Placement::Inside => self.bootstrap.input_level(),
            Placement::Before => self.matrix.level(),
        }
    }

    /// The product, which is at level 1 if it is inside the bootstrap.
    #[must_use]
    pub fn matrix(&self) -> &MatrixPlan {
        &self.matrix
    }

    /// Rows and columns of the matrix.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The slots of a row.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of rows that share a polynomial.
    #[must_use]
    pub fn lanes(&self) -> usize {
        (self.bootstrap.params().slot_count() / self.columns).max(1)
    }

    /// The shapes of the factor and of the product. Each has a row of all slots for each polynomial, or a
    /// longer row for each row that fills several polynomials.
    #[must_use]
    pub fn array_shapes(&self) -> ([usize; 2], [usize; 2]) {
        let slots = self.bootstrap.params().slot_count();
        let shape = |rows: usize| [rows.div_ceil(self.lanes()), self.columns.max(slots)];
        (shape(self.shape.1), shape(self.shape.0))
    }

    /// The numbers of polynomials of the factor and of the product.
    fn polys(&self) -> [usize; 2] {
        let ([inputs, columns], [outputs, _]) = self.array_shapes();
        [inputs, outputs].map(|rows| rows * columns / self.bootstrap.params().slot_count())
    }

    /// The options of encryption for a factor that is encrypted for this product.
    #[must_use]
    pub fn encryption(&self) -> EncryptOptions {
        let (level, encoding) = (Some(self.input_level()), Some(Encoding::Slots));
        EncryptOptions {
            level,
            encoding,
            capacity: Some(self.bootstrap.params().slot_count()),
            ..EncryptOptions::default()
        }
    }

    /// The keys of the bootstrap and of the product.
    pub fn needs(&self) -> Result<KeyNeeds, CkksError> {
        Ok(self.bootstrap.needs()?.merge(&self.matrix.needs()))
    }

    /// Whether two of `polys` polynomials of real numbers are bootstrapped as one after the product.
    pub(super) fn pairs_reals(&self, real: bool, polys: usize) -> bool {
        real && !self.bootstrap.is_real() && !self.bootstrap.slots_last() && polys > 1
    }

    /// Predicted nanoseconds on one thread of a product with all its bootstraps, and of the product alone. A
    /// plan for complex numbers takes less for real numbers ([`MamboPlan::nanoseconds_of`]).
    pub fn predicted_nanoseconds(&self) -> Result<(f64, f64), CkksError> {
        Ok((self.nanoseconds_of(self.bootstrap.is_real())?, self.matrix.chosen().nanoseconds))
    }

    /// Predicted nanoseconds on one thread of a product with all its bootstraps, for real or complex numbers.
    /// After the product, a plan for complex numbers bootstraps two polynomials of real numbers as one.
    pub fn nanoseconds_of(&self, real: bool) -> Result<f64, CkksError> {
        Ok(self.cost_around(&self.bootstrap, real)?.nanoseconds + self.matrix.chosen().nanoseconds)
    }

    /// [`MamboPlan::nanoseconds_of`] in the prices that plans compare ([`Cost::price`]).
    pub(in crate::circuits) fn price_of(&self, real: bool) -> Result<f64, CkksError> {
        Ok(self.cost_around(&self.bootstrap, real)?.price + self.matrix.chosen().prices.0)
    }

    /// The cost of all stages of `bootstrap`, with the product at the place of this plan.
    fn cost_around(&self, bootstrap: &BootstrapPlan, real: bool) -> Result<Cost, CkksError> {
        let (inputs, outputs) = (self.polys_to_coeffs(), self.polys_raised(real));
        if self.placement == Placement::Before {
            return Ok(bootstrap.dry_run_of(outputs)?.cost());
        }
        let slots_to_coeffs = |polys: usize| -> Result<(Cost, Cost), CkksError> {
            let recording = bootstrap.dry_run_of(polys)?;
            let stages = recording.stages().iter().filter(|stage| stage.name == stages::TO_COEFFICIENTS);
            let mut slots_to_coeffs = Cost::default();
            stages.for_each(|stage| slots_to_coeffs += stage.cost);
            let mut rest = recording.cost();
            rest += slots_to_coeffs.times(-1.0);
            Ok((slots_to_coeffs, rest))
        };
        let mut cost = slots_to_coeffs(inputs)?.0;
        cost += slots_to_coeffs(outputs)?.1;
        Ok(cost)
    }

    /// The number of polynomials that are bootstrapped if the product is separate. Arrays for a product
    /// inside a bootstrap may lack the level of a product before one, so they are bootstrapped first.
    fn polys_apart(&self) -> usize {
        let [inputs, outputs] = self.polys();
        if self.placement == Placement::Inside { inputs } else { outputs }
    }

    /// Predicted nanoseconds of the same work with a separate product: the product, and bootstraps one by one
    /// of the polynomials of the factor, or of the product if that comes before. Excludes the moves between
    /// slots and coefficients that a separate product of several rows in a polynomial would need.
    ///
    /// A plan for complex numbers bootstraps two polynomials of real numbers as one here as well.
    pub fn nanoseconds_apart(&self, real: bool) -> Result<f64, CkksError> {
        let (params, polys) = (self.bootstrap.params(), self.polys_apart());
        let polys = if self.pairs_reals(real, polys) { polys.div_ceil(2) } else { polys };
        let rounds = Some(self.bootstrap.rounds());
        let own = BootstrapOptions { real: self.bootstrap.is_real(), rounds, ..BootstrapOptions::default() };
        let alone = BootstrapPlan::with_options(params, own)?.dry_run_of(1)?.cost().nanoseconds;
        Ok(polys as f64 * alone + self.matrix.chosen().nanoseconds)
    }

    /// The predicted root mean square error of a real or imaginary part, for numbers whose parts are uniform
    /// in [-1, 1] in the factor and in the product. It is that of the row with the largest error; smaller
    /// products have smaller errors.
    pub fn predicted_error(&self) -> Result<f64, CkksError> {
        let product = (self.matrix.chosen().error / self.factor).powi(2);
        if self.placement == Placement::Before {
            // A slot has the noise of all coefficients.
            let noise = self.bootstrap.params().slot_count() as f64 * product;
            return Ok((noise + self.bootstrap.predicted_error()?.deviation().powi(2)).sqrt());
        }
        let (before, behind) = self.bootstrap.error_around_product()?;
        Ok((before * self.row_squares + product + behind).sqrt())
    }

    /// A description of the plan and what it saves, with the tables of the bootstrap and of the product.
    pub fn explain(&self) -> Result<String, CkksError> {
        self.explain_of(self.bootstrap.is_real())
    }

    /// [`MamboPlan::explain`] for real or complex numbers. A plan for complex numbers bootstraps two
    /// polynomials of real numbers as one.
    pub fn explain_of(&self, real: bool) -> Result<String, CkksError> {
        let (all, product, [inputs, outputs]) =
            (self.nanoseconds_of(real)?, self.matrix.chosen().nanoseconds, self.polys());
        let apart = self.nanoseconds_apart(real)?;
        let together = if self.pairs_reals(real, self.polys_apart()) { "two by two" } else { "one by one" };
        Ok(format!(
            "{} x {} matrix {} a bootstrap, {} in a polynomial: from {} to {}\n\
             {:.1} ms in all, of which {:.1} for the product at level {}; {:.1} bits of precision (root mean square)\n\
             {}: the product and bootstraps of {} {together} take {:.1} ms\n{}\n{}",
            self.shape.0,
            self.shape.1,
            self.placement,
            counted(self.lanes(), "row"),
            counted(inputs, "polynomial"),
            counted(outputs, "polynomial"),
            all / 1e6,
            product / 1e6,
            self.matrix.level(),
            -self.predicted_error()?.log2(),
            if apart > all {
                format!("{:.1} ms saved", (apart - all) / 1e6)
            } else {
                "nothing saved".to_owned()
            },
            counted(self.polys_apart(), "polynomial"),
            apart / 1e6,
            self.matrix,
            self.bootstrap.explain()?
        ))
    }
}

/// The level of the product: the lowest one that leaves the bootstrap its own levels.
fn product_level(bootstrap: &BootstrapPlan) -> Result<Level, CkksError> {
    // If slots-to-coefficients comes last and there is one round, only the raise follows a product at level
    // 1.
    if bootstrap.has_product() || (bootstrap.slots_last() && bootstrap.rounds() == 1) {
        return Ok(Level(1));
    }
    let (params, level) = (bootstrap.params(), Level(bootstrap.input_level().0 + 1));
    if level > params.application_levels()?.1 {
        let reason = format!(
            "there is no level above {} that a product before the bootstrap could take",
            bootstrap.input_level()
        );
        return Err(CkksError::not_bootstrappable(&params.spec().name, reason));
    }
    Ok(level)
}

/// Refuses rows of lengths that the placement does not allow.
fn check_columns(params: &Params, columns: usize, placement: Placement) -> Result<(), CkksError> {
    let slots = params.slot_count();
    let whole = columns > 0 && columns.is_multiple_of(slots);
    if whole || (columns.is_power_of_two() && columns < slots && placement == Placement::Inside) {
        return Ok(());
    }
    let remedy = match placement {
        Placement::Inside => {
            format!("use a power of two up to {slots} or a multiple of it, and fill rows with zeros")
        }
        Placement::Before => format!(
            "before a bootstrap rows fill polynomials: use a multiple of {slots}, or put the product inside"
        ),
    };
    Err(CkksError::OutOfRange { what: "the slots of a row", value: columns.to_string(), remedy })
}
