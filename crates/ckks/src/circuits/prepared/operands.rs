//! The operands of a prepared product: which errors its rounding leaves, and what it costs.

use clathrate_arith::product::{FractionPrimes, FractionProduct, MAX_SHIFT};
use clathrate_arith::text::counted;
use clathrate_lattice::Level;
use clathrate_lattice::row_products::{ProductNoise, RowShape};

use super::{PREPARE, PreparedOptions, check_rows};
use crate::arrays::{Ciphertext, Layout};
use crate::circuits::matrix::Weights;
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::evaluation::evaluator::Evaluator;
use crate::keys::{Cost, KeyName, Operation, Switch, format_switch_rounds};
use crate::parameters::Params;

/// Minimum of the correct bits in the largest row of a product, for numbers of magnitude 1, unless the caller
/// states a precision: plans with fewer bits are refused.
const MIN_BITS: f64 = 6.0;

/// Minimum of the bits of the largest weight.
const MIN_WEIGHT_BITS: u32 = 6;

/// Maximum of the variance of one floating-point product, relative to that of all other errors; if it is
/// larger, two products are used.
const FLOAT_SHARE: f64 = 0.25;

/// The size of a matrix, the scale of its weights, and the arrays that it multiplies.
#[derive(Debug, Clone)]
pub(super) struct Operands {
    pub(super) params: Params,
    /// The number of rows of the matrix.
    pub(super) rows: usize,
    /// The scale of the weights.
    pub(super) weight_scale: f64,
    /// The layout, level and scale of the arrays.
    pub(super) layout: Layout,
    pub(super) level: Level,
    pub(super) scale: f64,
    /// Whether arrays are first brought under shared masks.
    pub(super) own_masks: bool,
}

impl Operands {
    /// A matrix of `rows x inner` weights, and arrays like `x`.
    ///
    /// # Errors
    /// [`CkksError::Shape`]; [`CkksError::Unsuitable`] for arrays whose rows do not share masks, and at ranks
    /// above 1; [`CkksError::LevelTooLow`] at level 0; [`CkksError::OutOfRange`] if the scale leaves no bits
    /// for the weights.
    pub(super) fn new([rows, inner]: [usize; 2], x: &Ciphertext, own_masks: bool) -> Result<Self, CkksError> {
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
        let weight_scale = Evaluator::new(&params).factor_scale_for(x, "a product with a real matrix")?;
        params.check_scale(x.scale() * weight_scale, x.level())?;
        Ok(Self { params, rows, weight_scale, layout, level: x.level(), scale: x.scale(), own_masks })
    }

    /// Columns of the matrix, and rows of the arrays.
    pub(super) fn inner(&self) -> usize {
        self.layout.rows()
    }

    /// How many rows share a polynomial, and polynomials a mask.
    pub(super) fn row_shape(&self) -> RowShape {
        RowShape { lanes: self.layout.lanes(), bodies: self.layout.bodies() }
    }

    /// The switch whose key is combined with the matrix.
    pub(super) fn switch(&self) -> Switch {
        Switch::BodyParts { bodies: self.layout.bodies(), degree: self.params.degree() / self.layout.lanes() }
    }

    /// The number of components that each key switches.
    pub(super) fn key_inputs(&self) -> usize {
        self.row_shape().masks(self.inner()) * self.layout.lanes()
    }

    /// The scale of the result, one level below.
    pub(super) fn scale_below(&self) -> f64 {
        self.scale * self.weight_scale / self.params.step_product(self.level)
    }

    /// The number of floating-point products and the rounding of the weights with the smallest error of the
    /// largest row. `exact` are the weights without rounding. Two products are taken only for precision.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a precision that is not reached, with the reachable bits, and for
    /// another number of products than one or two.
    pub(super) fn most_precise(
        &self,
        matrix: Matrix<'_>,
        exact: &Weights,
        options: PreparedOptions,
    ) -> Result<FractionProduct, CkksError> {
        options.products.map_or(Ok(()), check_products)?;
        let (one, two) = (self.best_shift(exact, 1)?, self.best_shift(exact, 2)?);
        // Without a stated precision, correct bits are counted relative to the largest row, for numbers of
        // magnitude 1.
        let norm = matrix.each_row().map(length).fold(0.0, f64::max);
        let size = if norm == 0.0 { 1.0 } else { norm };
        let limit = options.precision_bits.map_or(size * (-MIN_BITS).exp2(), |bits| (-bits).exp2());
        let one_suffices = (options.precision_bits.is_some() && one.error <= limit)
            || one.error.powi(2) <= (1.0 + FLOAT_SHARE) * two.error.powi(2);
        let products = options.products.unwrap_or(if one_suffices { 1 } else { 2 });
        let chosen = if products == 1 { one } else { two };
        if chosen.error.is_nan() || chosen.error > limit {
            let remedy = format!(
                "these parameters, weights and {} at level {} reach {:.1} bits, for results of about {size:.1e}: take a lower level, larger weights, or multiply without \
                 preparation",
                counted(products, "floating-point product"),
                self.level,
                -chosen.error.log2(),
            );
            let value = format!("{:.1} bits", -limit.log2());
            return Err(CkksError::OutOfRange { what: "the precision of a prepared matrix", value, remedy });
        }
        Ok(chosen.product)
    }

    /// The rounding of these weights with the smallest error, for a number of floating-point products.
    fn best_shift(&self, exact: &Weights, products: usize) -> Result<Rounded, CkksError> {
        let (squares, largest) = (exact.squares(), exact.matrix().max_abs());
        let bits = (u64::BITS - largest.leading_zeros()).saturating_sub(MIN_WEIGHT_BITS).min(MAX_SHIFT);
        let mut best = Rounded { error: f64::INFINITY, product: self.product(products, 0) };
        for shift in 0..=bits {
            // The largest multiple of 2^shift to which a weight is rounded.
            let largest = if shift == 0 { largest } else { ((largest >> (shift - 1)) + 1) >> 1 };
            let product = self.product(products, shift);
            let error = self.error(self.largest_noise(product, (&squares, largest))?.total(), shift);
            if error < best.error {
                best = Rounded { error, product };
            }
        }
        Ok(best)
    }

    /// This many floating-point products of weights that are multiples of `2^shift`.
    pub(super) fn product(&self, products: usize, shift: u32) -> FractionProduct {
        FractionProduct { lanes: self.layout.lanes(), products, shift }
    }

    /// The error of a number of the result whose noise has this variance, including the rounding of the
    /// weights to multiples of `2^shift`.
    pub(super) fn error(&self, variance: f64, shift: u32) -> f64 {
        let unit = f64::from(shift).exp2() / self.weight_scale;
        (variance / self.scale_below().powi(2) + self.inner() as f64 / 12.0 * unit.powi(2)).sqrt()
    }

    /// The largest noise of any row, for rows of integers with these sums of squares whose largest integer is
    /// `largest * 2^shift`.
    pub(super) fn largest_noise(
        &self,
        product: FractionProduct,
        (squares, largest): (&[f64], u64),
    ) -> Result<ProductNoise, CkksError> {
        let model = self.params.noise_model();
        let definition = self.params.key_definition(KeyName::Switch(self.switch()))?;
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
            let most = rows.iter().copied().fold(0.0, f64::max) * (-2.0 * f64::from(product.shift)).exp2();
            let float = if chain.ring().engine().multiplies_whole_fractions() {
                FractionProduct::deviation_of_whole_fractions(most, primes)
            } else {
                product.deviation(inner, largest.max(1), most, primes)
            };
            let bits = (basis(self.level.0) - below, below);
            ProductNoise::of(&model, rows, variance, &digits, bits, (float, ranges))
        };
        let worst = squares.chunks(product.lanes).map(noise).max_by(|a, b| a.total().total_cmp(&b.total()));
        worst.ok_or(CkksError::no_entries([self.rows, self.inner()]))
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

    /// The switches that bring arrays under shared masks.
    fn rounds(&self) -> Vec<Operation> {
        let rounds = if self.own_masks { format_switch_rounds(self.layout.bodies()) } else { Vec::new() };
        rounds.into_iter().map(|(from, to)| Operation::Switch(Switch::FormatSwitch { from, to })).collect()
    }

    /// The cost of a product with an array under shared masks.
    pub(super) fn product_cost(&self, product: FractionProduct) -> Result<Cost, CkksError> {
        let (params, shape) = (&self.params, self.row_shape());
        let definition = params.key_definition(KeyName::Switch(self.switch()))?;
        let (inputs, polys) = (self.key_inputs(), shape.polys(self.rows));
        let [decomposition, multiplication, division] = definition.steps_as_made(self.level, inputs)?;
        let mut cost = decomposition;
        cost += multiplication.times(polys as f64);
        cost += division.times(polys as f64);
        // Transforms of the masks' components and the bodies to coefficients, and of the result back.
        let masks = if shape.lanes > 1 { inputs + shape.masks(self.inner()) } else { 0 };
        cost += params
            .transforms_cost(self.level, params.degree())
            .times((shape.polys(self.inner()) + masks) as f64);
        cost += params.transforms_cost(Level(self.level.0 - 1), params.degree()).times(polys as f64);
        let counts = product.counts(self.rows, self.inner(), params.degree() / shape.lanes);
        cost += params.product_cost(&counts);
        Ok(cost.times(self.layout.groups() as f64))
    }

    /// The cost of bringing an array under shared masks.
    pub(super) fn rounds_cost(&self) -> Result<Cost, CkksError> {
        let mut cost = Cost::default();
        for operation in self.rounds() {
            let Operation::Switch(Switch::FormatSwitch { to, .. }) = operation else { continue };
            let bundles = self.layout.with_bodies(to, Some(self.layout.body_axis()))?.bundles();
            cost += self.params.operation_cost_by(operation, self.level, self.level)?.times(bundles as f64);
        }
        Ok(cost)
    }
}

/// A rounding of the weights, and the error of the largest row with it.
#[derive(Debug, Clone, Copy)]
struct Rounded {
    error: f64,
    product: FractionProduct,
}

/// Refuses another number of floating-point products than one or two.
pub(super) fn check_products(products: usize) -> Result<(), CkksError> {
    if (1..=2).contains(&products) {
        return Ok(());
    }
    let (value, remedy) = (products.to_string(), "take one or two".to_owned());
    Err(CkksError::OutOfRange { what: "the number of floating-point products", value, remedy })
}

/// The root of the sum of the squares of a row.
fn length(row: &[f64]) -> f64 {
    // Divided by the largest, so that no square underflows.
    let largest = row.iter().fold(0.0f64, |most, w| most.max(w.abs()));
    if largest == 0.0 { 0.0 } else { largest * row.iter().map(|w| (w / largest).powi(2)).sum::<f64>().sqrt() }
}
