//! Plans of products with a prepared matrix: sizes, keys, precision and time.

use std::fmt;

use clathrate_arith::product::{FractionPrimes, FractionProduct, MAX_SHIFT};
use clathrate_arith::text::counted;
use clathrate_lattice::Level;
use clathrate_lattice::row_products::{ProductNoise, RowShape};

use super::{PREPARE, check_rows};
use crate::arrays::{BodyAxis, Ciphertext, Encoding, Layout, SecretName};
use crate::circuits::matrix::Weights;
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::evaluation::evaluator::Evaluator;
use crate::keys::definition::MAX_BODIES;
use crate::keys::{
    Cost, EncryptOptions, KeyLevel, KeyName, KeyNeeds, Lanes, Operation, Switch, format_switch_rounds,
};
use crate::parameters::Params;

/// Minimum of the correct bits in the largest row of a product, for numbers of magnitude 1, unless the caller
/// states a precision: plans with fewer bits are refused.
const MIN_BITS: f64 = 6.0;

/// Minimum of the bits of the largest weight.
const MIN_WEIGHT_BITS: u32 = 6;

/// Maximum of the variance of one floating-point product, relative to that of all other errors; if it is
/// larger, two products are used.
const FLOAT_SHARE: f64 = 0.25;

/// Options of a plan of products.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PreparedOptions {
    /// Correct bits after the binary point, on average, of results of numbers of magnitude 1; decides between
    /// one and two floating-point products. `None`: one if it costs almost no precision, else two; a plan
    /// with fewer than 6 correct bits is refused.
    pub precision_bits: Option<f64>,
    /// Number of floating-point products, 1 or 2; `None` for a choice by precision.
    pub products: Option<usize>,
    /// Whether each polynomial of the arrays has a separate mask, so that they are first brought under shared
    /// masks ([`Evaluator::share_mask_in_rounds`]) with further keys. Their errors are taken as those of
    /// public-key encryptions.
    pub own_masks: bool,
}

/// How the arrays of a plan are encrypted. Fields that are `None` are chosen by the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrangement {
    /// The level; 1 if `None`, where products are fastest and most precise.
    pub level: Option<Level>,
    /// Rows in a polynomial, a power of two; as many as possible if `None`.
    pub lanes: Option<usize>,
    /// Polynomials under one mask; if `None`, all that security allows.
    pub bodies: Option<usize>,
}

impl Arrangement {
    /// The level and the layout, except for masks, of matrices with `inner` rows and `columns` columns that a
    /// matrix of `rows` rows multiplies.
    ///
    /// # Errors
    /// Level errors; [`CkksError::Empty`]; [`CkksError::OutOfRange`] for more lanes than polynomials have
    /// room for.
    pub(in crate::circuits) fn layout(
        &self,
        params: &Params,
        (rows, inner, columns): (usize, usize, usize),
    ) -> Result<(Level, Layout), CkksError> {
        let level = self.level.unwrap_or(Level(1));
        params.check_level(level)?;
        let layout = Layout::new(&[inner, columns], Encoding::Coefficients, params.degree())?;
        // Lanes beyond the number of rows would only need keys.
        let most =
            || Ok::<_, CkksError>(layout.with_lanes(None)?.lanes().min(rows.max(inner).next_power_of_two()));
        Ok((level, layout.with_lanes(Some(self.lanes.map_or_else(most, Ok)?))?))
    }
}

/// A matrix, scaled to integers, for products with arrays of one shape, layout, level and scale; with
/// predictions, without keys.
#[derive(Debug, Clone)]
pub struct PreparedPlan {
    params: Params,
    weights: Weights,
    layout: Layout,
    level: Level,
    scale: f64,
    products: usize,
    /// Whether arrays are first brought under shared masks.
    own_masks: bool,
    /// The weights are multiples of `2^shift`.
    shift: u32,
    /// The noise of the row with the largest noise.
    noise: ProductNoise,
    /// The cost of the product under shared masks, and of bringing an array under them.
    cost: Cost,
    forward: Cost,
}

impl PreparedPlan {
    /// A plan for products of `values` (`rows x inner`, row-major) with arrays like `x`.
    ///
    /// # Errors
    /// [`CkksError::Shape`]; [`CkksError::Unsuitable`] for arrays whose rows do not share masks, and at ranks
    /// above 1; [`CkksError::OutOfRange`] for a precision that these parameters do not reach, with the
    /// reachable bits; [`CkksError::LevelTooLow`] at level 0; `NoSpecialPrimes`; those of [`Weights::new`].
    pub fn new(
        rows: usize,
        inner: usize,
        values: &[f64],
        x: &Ciphertext,
        options: PreparedOptions,
    ) -> Result<Self, CkksError> {
        let (params, layout) = (x.params().clone(), *x.layout());
        check_rows(x)?;
        if layout.rows() != inner || x.shape().len() != 2 {
            let remedy = format!(
                "the left matrix needs {} and the right operand two axes",
                counted(layout.rows(), "column")
            );
            return Err(CkksError::Shape {
                operation: PREPARE,
                left: vec![rows, inner],
                right: x.shape().to_vec(),
                remedy,
            });
        }
        let scale = Evaluator::new(&params).factor_scale_for(x, "a product with a real matrix")?;
        let matrix = Matrix::new(rows, inner, values);
        // Checks the weights and gives their bits.
        let weights = Weights::new(rows, inner, values, scale)?;
        params.check_scale(x.scale() * weights.scale(), x.level())?;
        if let Some(products) = options.products.filter(|products| !(1..=2).contains(products)) {
            let remedy = "take one or two".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the number of floating-point products",
                value: products.to_string(),
                remedy,
            });
        }
        let bits = (u64::BITS - weights.matrix().max_abs().leading_zeros())
            .saturating_sub(MIN_WEIGHT_BITS)
            .min(MAX_SHIFT);
        let plan = Self {
            params,
            weights,
            layout,
            level: x.level(),
            scale: x.scale(),
            products: 1,
            own_masks: options.own_masks,
            shift: 0,
            noise: ProductNoise { input: 0.0, switch: 0.0, rounding: 0.0, float: 0.0 },
            cost: Cost::default(),
            forward: Cost::default(),
        };
        // The best rounding of the weights for one product and for two.
        let (squares, largest) = (plan.squares(), plan.weights.matrix().max_abs());
        let best = |products: usize| -> Result<(f64, u32), CkksError> {
            let mut best = (f64::INFINITY, 0);
            for shift in 0..=bits {
                // The largest multiple of 2^shift to which a weight is rounded.
                let largest = if shift == 0 { largest } else { ((largest >> (shift - 1)) + 1) >> 1 };
                let error =
                    plan.error_with(plan.largest_noise(products, shift, (&squares, largest))?.total(), shift);
                best = if error < best.0 { (error, shift) } else { best };
            }
            Ok(best)
        };
        let (one, two) = (best(1)?, best(2)?);
        // Without a stated precision, correct bits are counted relative to the largest row, for numbers of
        // magnitude 1.
        let length = |row: &[f64]| {
            // Divided by the largest, so that no square underflows.
            let largest = row.iter().fold(0.0f64, |most, w| most.max(w.abs()));
            if largest == 0.0 {
                0.0
            } else {
                largest * row.iter().map(|w| (w / largest).powi(2)).sum::<f64>().sqrt()
            }
        };
        let norm = matrix.each_row().map(length).fold(0.0, f64::max);
        let size = if norm == 0.0 { 1.0 } else { norm };
        let most = options.precision_bits.map_or(size * (-MIN_BITS).exp2(), |bits| (-bits).exp2());
        let products = match options.products {
            Some(products) => products,
            None if options.precision_bits.is_some() && one.0 <= most => 1,
            None if one.0.powi(2) <= (1.0 + FLOAT_SHARE) * two.0.powi(2) => 1,
            None => 2,
        };
        let chosen = if products == 1 { one } else { two };
        if chosen.0.is_nan() || chosen.0 > most {
            let remedy = format!(
                "these parameters, weights and {} at level {} reach {:.1} bits, for results of about {size:.1e}: take a lower level, larger weights, or multiply without \
                 preparation",
                counted(products, "floating-point product"),
                plan.level,
                -chosen.0.log2(),
            );
            let value = format!("{:.1} bits", -most.log2());
            return Err(CkksError::OutOfRange { what: "the precision of a prepared matrix", value, remedy });
        }
        let shift = chosen.1;
        let weights = Weights::rounded_to(matrix, scale, shift)?;
        Self { weights, products, shift, ..plan }.priced()
    }

    /// The plan with its noise and cost.
    fn priced(mut self) -> Result<Self, CkksError> {
        let largest = self.weights.matrix().max_abs() >> self.shift;
        self.noise = self.largest_noise(self.products, self.shift, (&self.squares(), largest))?;
        if !self.noise.float.is_finite() {
            let remedy = "take one, or round the weights to fewer bits".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the largest weight of two floating-point products",
                value: largest.to_string(),
                remedy,
            });
        }
        (self.cost, self.forward) = (self.predicted_cost()?, self.rounds_cost()?);
        Ok(self)
    }

    /// For each row the sum of the squares of its integers.
    fn squares(&self) -> Vec<f64> {
        (0..self.rows()).map(|row| self.weights.matrix().sum_of_squares(row)).collect()
    }

    /// A plan for products with arrays of `columns` columns that are encrypted for it
    /// ([`PreparedPlan::encryption`]).
    ///
    /// # Errors
    /// [`CkksError::Insecure`] for more bodies than these parameters protect; those of [`PreparedPlan::new`].
    pub fn for_columns(
        params: &Params,
        Matrix { rows, columns: inner, values }: Matrix<'_>,
        columns: usize,
        arrangement: Arrangement,
        options: PreparedOptions,
    ) -> Result<Self, CkksError> {
        let (level, layout) = arrangement.layout(params, (rows, inner, columns))?;
        let shape = [inner, columns];
        let bodies = match arrangement.bodies {
            Some(bodies) => bodies,
            None => {
                // Rounds of format switches have small keys for powers of two; bodies without a row are zero.
                let groups = if options.own_masks {
                    layout.row_groups().next_power_of_two()
                } else {
                    layout.row_groups()
                };
                let fits = |bodies: usize| {
                    let key = |(from, to): &(usize, usize)| {
                        params
                            .key_definition(KeyName::Switch(Switch::FormatSwitch { from: *from, to: *to }))
                            .and_then(|key| key.check_security(level))
                            .is_ok()
                    };
                    let keys = !options.own_masks || format_switch_rounds(bodies).iter().all(key);
                    keys && params.check_fresh(SecretName::Bodies(bodies), level).is_ok()
                };
                let mut most = groups.min(MAX_BODIES);
                while most > 1 && !fits(most) {
                    most = most.div_ceil(2);
                }
                most
            }
        };
        params.check_fresh(SecretName::Bodies(bodies), level)?;
        let layout = layout.with_bodies(bodies, Some(BodyAxis::Rows))?;
        let x = Ciphertext::symbol_with(
            params,
            &shape,
            layout,
            SecretName::Bodies(bodies),
            level,
            params.scale(level),
        )?;
        Self::new(rows, inner, values, &x, options)
    }

    /// The plan in a file: its weights are these multiples of `2^shift` at their scale.
    ///
    /// # Errors
    /// Those of [`PreparedPlan::new`], except for the precision.
    pub(crate) fn of_multiples(
        (rows, inner, multiples): (usize, usize, &[i64]),
        shift: u32,
        x: &Ciphertext,
        (products, own_masks): (usize, bool),
    ) -> Result<Self, CkksError> {
        let scale = Evaluator::new(x.params()).factor_scale_for(x, "a product with a real matrix")?;
        let weights = Weights::of_multiples(multiples, (rows, inner), scale, shift)?;
        let options =
            PreparedOptions { precision_bits: Some(f64::NEG_INFINITY), products: Some(products), own_masks };
        // The checks only use the matrix's size; noise and cost follow from the weights below.
        let plan = Self::new(rows, inner, &vec![0.0; rows * inner], x, options)?;
        Self { weights, shift, ..plan }.priced()
    }

    /// How to encrypt the arrays that the matrix multiplies, if the plan was made for coefficients.
    #[must_use]
    pub fn encryption(&self) -> EncryptOptions {
        EncryptOptions {
            encoding: Some(self.layout.encoding()),
            level: Some(self.level),
            bodies: (!self.own_masks).then_some(self.layout.bodies()),
            axis: (!self.own_masks).then_some(BodyAxis::Rows),
            lanes: Some(Lanes::Of(self.layout.lanes())),
            ..EncryptOptions::default()
        }
    }

    /// The keys that preparation needs, and, for arrays with separate masks, those that bring them under
    /// shared masks.
    #[must_use]
    pub fn needs(&self) -> KeyNeeds {
        let key_level = KeyLevel::Level(self.level.0);
        let needs = KeyNeeds::new().prepared_matrix(
            self.layout.bodies(),
            self.params.degree() / self.layout.lanes(),
            key_level,
        );
        if self.own_masks { needs.shared_mask_in_rounds(self.layout.bodies(), key_level) } else { needs }
    }

    /// Whether arrays have separate masks.
    #[must_use]
    pub fn own_masks(&self) -> bool {
        self.own_masks
    }

    /// The same plan, with the same rounding of the weights, for arrays with separate or with shared masks.
    pub fn with_own_masks(self, own_masks: bool) -> Result<Self, CkksError> {
        Self { own_masks, ..self }.priced()
    }

    /// The switches that bring arrays under shared masks.
    fn rounds(&self) -> Vec<Operation> {
        let rounds = if self.own_masks { format_switch_rounds(self.layout.bodies()) } else { Vec::new() };
        rounds.into_iter().map(|(from, to)| Operation::Switch(Switch::FormatSwitch { from, to })).collect()
    }

    /// The variance of the errors of rows under shared masks.
    fn input_variance(&self) -> Result<f64, CkksError> {
        let model = self.params.noise_model();
        if !self.own_masks {
            return Ok(model.fresh_secret());
        }
        let switch = |operation| {
            Ok(self.params.operation_variance_by(operation, self.level, self.level)? + model.rounding())
        };
        Ok(model.fresh_public() + self.rounds().into_iter().map(switch).sum::<Result<f64, CkksError>>()?)
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Rows of the matrix and of the product.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.weights.rows()
    }

    /// Columns of the matrix, and rows of the arrays that it multiplies.
    #[must_use]
    pub fn inner(&self) -> usize {
        self.weights.inner()
    }

    /// The level of the arrays; the product is one level below.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Number of floating-point products.
    #[must_use]
    pub fn products(&self) -> usize {
        self.products
    }

    /// The parts of the error of a coefficient in the row with the largest error.
    #[must_use]
    pub fn noise(&self) -> ProductNoise {
        self.noise
    }

    /// The predicted root mean square error of the row with the largest error, for numbers of magnitude 1
    /// with independent signs: noise, and the rounding of the weights.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.error_with(self.noise.total(), self.shift)
    }

    /// The predicted cost of one product on one thread, including that of bringing arrays with separate masks
    /// under shared masks.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let mut cost = self.cost;
        cost += self.forward;
        cost
    }

    /// The cost of a product with an array under shared masks.
    pub(super) fn product_cost(&self) -> Cost {
        self.cost
    }

    /// Bytes of the keys of the prepared matrix.
    pub fn key_bytes(&self) -> Result<usize, CkksError> {
        let (definition, shape) = (self.params.key_definition(self.key_name())?, self.row_shape());
        let columns = definition.columns();
        let inputs = shape.masks(self.inner()) * shape.lanes;
        let bytes = crate::parameters::switch_key_bytes(
            definition.chain()?,
            definition.gadget()?,
            (inputs, columns),
            self.level,
        );
        Ok(bytes * shape.polys(self.rows()))
    }

    /// The layout of the arrays that the matrix multiplies.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The scale of these arrays.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// The weights are multiples of `2^shift`.
    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    /// The number of components that each key switches.
    pub(crate) fn key_inputs(&self) -> usize {
        self.row_shape().masks(self.inner()) * self.layout.lanes()
    }

    /// The number of keys, one per polynomial of the result.
    pub(crate) fn key_count(&self) -> usize {
        self.row_shape().polys(self.rows())
    }

    /// How many rows share a polynomial, and polynomials a mask.
    pub(super) fn row_shape(&self) -> RowShape {
        RowShape { lanes: self.layout.lanes(), bodies: self.layout.bodies() }
    }

    /// The scaled matrix.
    pub(in crate::circuits) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The operation whose key is combined with the matrix.
    pub(super) fn operation(&self) -> Operation {
        Operation::Switch(Switch::BodyParts {
            bodies: self.layout.bodies(),
            degree: self.params.degree() / self.layout.lanes(),
        })
    }

    /// The error of a result of numbers of magnitude 1 by rounding the weights to multiples of `2^shift`: its
    /// root mean square, and its maximum, for numbers with the signs of the rounding errors.
    pub(super) fn weight_rounding(&self) -> (f64, f64) {
        let (unit, inner) = (f64::from(self.shift).exp2() / self.weights.scale(), self.inner() as f64);
        (unit * (inner / 12.0).sqrt(), unit * inner / 2.0)
    }

    /// The same plan with one or two floating-point products and the same rounding of the weights.
    pub(super) fn with_products(self, products: usize) -> Result<Self, CkksError> {
        Self { products, ..self }.priced()
    }

    fn key_name(&self) -> KeyName {
        KeyName::Switch(Switch::BodyParts {
            bodies: self.layout.bodies(),
            degree: self.params.degree() / self.layout.lanes(),
        })
    }

    fn scale_below(&self) -> Result<f64, CkksError> {
        Ok(self.scale * self.weights.scale() / self.params.step_product(self.level))
    }

    /// The error of a number of the result whose noise has this variance, including the rounding of the
    /// weights to multiples of `2^shift`.
    fn error_with(&self, variance: f64, shift: u32) -> f64 {
        let scale = self.scale_below().unwrap_or(1.0);
        let unit = f64::from(shift).exp2() / self.weights.scale();
        (variance / scale.powi(2) + self.inner() as f64 / 12.0 * unit.powi(2)).sqrt()
    }

    /// The largest noise of any row, for rows of integers with these sums of squares whose largest integer is
    /// `largest * 2^shift`.
    fn largest_noise(
        &self,
        products: usize,
        shift: u32,
        (squares, largest): (&[f64], u64),
    ) -> Result<ProductNoise, CkksError> {
        let (model, lanes) = (self.params.noise_model(), self.layout.lanes());
        let definition = self.params.key_definition(self.key_name())?;
        let digits = definition.digits_as_made(self.level)?;
        let chain = self.params.chain();
        let basis = |level: usize| chain.basis(Level(level)).log2(chain.ring());
        let below = basis(self.level.0 - 1);
        let bits = |&index: &usize| chain.ring().moduli()[index].bits();
        let indices = chain.basis(self.level);
        let primes = FractionPrimes {
            bits: indices.indices().iter().map(bits).max().unwrap_or(0),
            count: indices.len(),
        };
        let (inner, variance) = (self.inner(), self.input_variance()?);
        let ranges = FractionProduct::ranges(inner);
        let noise = |rows: &[f64]| {
            let most = rows.iter().copied().fold(0.0, f64::max) * (-2.0 * f64::from(shift)).exp2();
            let float = if chain.ring().engine().multiplies_whole_fractions() {
                FractionProduct::deviation_of_whole_fractions(most, primes)
            } else {
                FractionProduct { lanes, products, shift }.deviation(inner, largest.max(1), most, primes)
            };
            let bits = (basis(self.level.0) - below, below);
            ProductNoise::of(&model, rows, variance, &digits, bits, (float, ranges))
        };
        let worst = squares.chunks(lanes).map(noise).max_by(|a, b| a.total().total_cmp(&b.total()));
        worst.ok_or(CkksError::no_entries([self.rows(), self.inner()]))
    }

    fn predicted_cost(&self) -> Result<Cost, CkksError> {
        let (params, shape) = (&self.params, self.row_shape());
        let definition = params.key_definition(self.key_name())?;
        let inputs = shape.masks(self.inner()) * shape.lanes;
        let polys = shape.polys(self.rows());
        let [decomposition, product, division] = definition.steps_as_made(self.level, inputs)?;
        let mut cost = decomposition;
        cost += product.times(polys as f64);
        cost += division.times(polys as f64);
        // Transforms of the masks' components and the bodies to coefficients, and of the result back.
        let masks = if shape.lanes > 1 { inputs + shape.masks(self.inner()) } else { 0 };
        cost += params
            .transforms_cost(self.level, params.degree())
            .times((shape.polys(self.inner()) + masks) as f64);
        cost += params.transforms_cost(Level(self.level.0 - 1), params.degree()).times(polys as f64);
        let counts = FractionProduct { lanes: shape.lanes, products: self.products, shift: self.shift }
            .counts(self.rows(), self.inner(), params.degree() / shape.lanes);
        cost += params.product_cost(&counts);
        Ok(cost.times(self.layout.groups() as f64))
    }

    /// The cost of bringing an array under shared masks.
    fn rounds_cost(&self) -> Result<Cost, CkksError> {
        let mut cost = Cost::default();
        for operation in self.rounds() {
            let Operation::Switch(Switch::FormatSwitch { to, .. }) = operation else { continue };
            let bundles = self.layout.under_masks_of(to, self.layout.body_axis()).bundles();
            cost += self.params.operation_cost_by(operation, self.level, self.level)?.times(bundles as f64);
        }
        Ok(cost)
    }

    /// The predicted cost of preparation on one thread: exact products of the matrix with all entries of the
    /// owner's key, over its primes.
    pub fn preparation_cost(&self) -> Result<Cost, CkksError> {
        let definition = self.params.key_definition(self.key_name())?;
        let digits = definition.digits_as_made(self.level)?.digits;
        let (chain, lanes) = (self.params.chain(), self.layout.lanes());
        let primes = chain.key_basis(self.level).len();
        let mut cost = self.params.combination_cost(self.weights.matrix(), self.level, definition.columns());
        cost = cost.times(primes as f64 / chain.basis(self.level).len() as f64);
        if lanes > 1 {
            // Rows of the result in one polynomial are shifted and added.
            cost += self.params.passes_cost(2 * self.rows() * definition.columns() * primes);
        }
        Ok(cost.times((digits.len() * lanes * self.row_shape().masks(self.inner())) as f64))
    }

    /// The plan in a few lines: sizes, keys, parts of the error, time.
    #[must_use]
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for PreparedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        let scale = self.scale_below().unwrap_or(1.0);
        let bits = |variance: f64| -0.5 * (variance / scale.powi(2)).log2();
        let shape = self.row_shape();
        writeln!(
            f,
            "{} x {} matrix times rows of {}: {} in a polynomial, {} under a mask, {}",
            self.rows(),
            self.inner(),
            counted(self.layout.columns(), "number"),
            counted(shape.lanes, "row"),
            counted(shape.bodies, "polynomial"),
            counted(shape.masks(self.inner()) * self.layout.groups(), "mask"),
        )?;
        writeln!(
            f,
            "level {} to {}, weights of {:.1} bits",
            self.level,
            self.level.0.saturating_sub(1),
            self.weights.scale().log2() - f64::from(self.shift)
        )?;
        writeln!(
            f,
            "{:.1} MiB of keys once it is prepared; a product takes {} and, by prediction, {:.2} ms",
            mebibytes(self.key_bytes().unwrap_or(0)),
            counted(self.products, "floating-point product"),
            self.cost().nanoseconds / 1e6,
        )?;
        write!(
            f,
            "bits of precision {:.1}, limited by: errors of the rows {:.1}, keys {:.1}, rounding {:.1}, floating point {:.1}, rounding of weights {:.1}",
            -self.error().log2(),
            bits(self.noise.input),
            bits(self.noise.switch),
            bits(self.noise.rounding),
            bits(self.noise.float),
            -self.error_with(0.0, self.shift).log2(),
        )
    }
}
