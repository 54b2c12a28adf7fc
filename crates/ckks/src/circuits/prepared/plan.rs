//! Plans of products with a prepared matrix: sizes, keys, precision and time.

use std::fmt;

use clathrate_arith::product::FractionProduct;
use clathrate_arith::text::counted;
use clathrate_lattice::Level;
use clathrate_lattice::row_products::{ProductNoise, RowShape};

use super::operands::{Operands, check_products};
use super::options::{Arrangement, PreparedOptions};
use crate::arrays::{BodyAxis, Ciphertext, Layout, SecretName};
use crate::circuits::matrix::Weights;
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::keys::definition::MAX_BODIES;
use crate::keys::{
    Cost, EncryptOptions, KeyLevel, KeyName, KeyNeeds, Lanes, Operation, Switch, format_switch_rounds,
};
use crate::parameters::Params;

/// A matrix, scaled to integers, for products with arrays of one shape, layout, level and scale; with
/// predictions, without keys.
#[derive(Debug, Clone)]
pub struct PreparedPlan {
    operands: Operands,
    weights: Weights,
    product: FractionProduct,
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
        let operands = Operands::new([rows, inner], x, options.own_masks)?;
        let matrix = Matrix::new(rows, inner, values);
        // Checks the weights and gives their bits.
        let exact = Weights::new(rows, inner, values, operands.weight_scale)?;
        let product = operands.most_precise(matrix, &exact, options)?;
        let weights = Weights::rounded_to(matrix, operands.weight_scale, product.shift)?;
        Self::with(operands, weights, product)
    }

    /// The plan of a product of these weights, which are multiples of `2^shift`.
    fn with(operands: Operands, weights: Weights, product: FractionProduct) -> Result<Self, CkksError> {
        let largest = weights.matrix().max_abs() >> product.shift;
        let noise = operands.largest_noise(product, (&weights.squares(), largest))?;
        if !noise.float.is_finite() {
            let remedy = "take one, or round the weights to fewer bits".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the largest weight of two floating-point products",
                value: largest.to_string(),
                remedy,
            });
        }
        let (cost, forward) = (operands.product_cost(product)?, operands.rounds_cost()?);
        Ok(Self { operands, weights, product, noise, cost, forward })
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
            None => most_bodies(params, level, &layout, options.own_masks),
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
        let operands = Operands::new([rows, inner], x, own_masks)?;
        check_products(products)?;
        let weights = Weights::of_multiples(multiples, (rows, inner), operands.weight_scale, shift)?;
        let product = operands.product(products, shift);
        Self::with(operands, weights, product)
    }

    /// How to encrypt the arrays that the matrix multiplies, if the plan was made for coefficients.
    #[must_use]
    pub fn encryption(&self) -> EncryptOptions {
        EncryptOptions {
            encoding: Some(self.operands.layout.encoding()),
            level: Some(self.operands.level),
            bodies: (!self.operands.own_masks).then_some(self.operands.layout.bodies()),
            axis: (!self.operands.own_masks).then_some(BodyAxis::Rows),
            lanes: Some(Lanes::Of(self.operands.layout.lanes())),
            ..EncryptOptions::default()
        }
    }

    /// The keys that preparation needs, and, for arrays with separate masks, those that bring them under
    /// shared masks.
    #[must_use]
    pub fn needs(&self) -> KeyNeeds {
        let key_level = KeyLevel::Level(self.operands.level.0);
        let needs = KeyNeeds::new().prepared_matrix(
            self.operands.layout.bodies(),
            self.operands.params.degree() / self.operands.layout.lanes(),
            key_level,
        );
        if self.operands.own_masks {
            needs.shared_mask_in_rounds(self.operands.layout.bodies(), key_level)
        } else {
            needs
        }
    }

    /// Whether arrays have separate masks.
    #[must_use]
    pub fn own_masks(&self) -> bool {
        self.operands.own_masks
    }

    /// The same plan, with the same rounding of the weights, for arrays with separate or with shared masks.
    pub fn with_own_masks(self, own_masks: bool) -> Result<Self, CkksError> {
        Self::with(Operands { own_masks, ..self.operands }, self.weights, self.product)
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.operands.params
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
        self.operands.level
    }

    /// Number of floating-point products.
    #[must_use]
    pub fn products(&self) -> usize {
        self.product.products
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
        self.operands.error(self.noise.total(), self.product.shift)
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
        let (definition, shape) =
            (self.operands.params.key_definition(KeyName::Switch(self.operands.switch()))?, self.row_shape());
        let columns = definition.columns();
        let bytes = crate::parameters::switch_key_bytes(
            definition.chain()?,
            definition.gadget()?,
            (self.key_inputs(), columns),
            self.operands.level,
        );
        Ok(bytes * shape.polys(self.rows()))
    }

    /// The layout of the arrays that the matrix multiplies.
    pub(crate) fn layout(&self) -> &Layout {
        &self.operands.layout
    }

    /// The scale of these arrays.
    pub(crate) fn scale(&self) -> f64 {
        self.operands.scale
    }

    /// The weights are multiples of `2^shift`.
    pub(crate) fn shift(&self) -> u32 {
        self.product.shift
    }

    /// The number of components that each key switches.
    pub(crate) fn key_inputs(&self) -> usize {
        self.operands.key_inputs()
    }

    /// The number of keys, one per polynomial of the result.
    pub(crate) fn key_count(&self) -> usize {
        self.row_shape().polys(self.rows())
    }

    /// How many rows share a polynomial, and polynomials a mask.
    pub(super) fn row_shape(&self) -> RowShape {
        self.operands.row_shape()
    }

    /// The scaled matrix.
    pub(in crate::circuits) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The operation whose key is combined with the matrix.
    pub(super) fn operation(&self) -> Operation {
        Operation::Switch(self.operands.switch())
    }

    /// The error of a result of numbers of magnitude 1 by rounding the weights to multiples of `2^shift`: its
    /// root mean square, and its maximum, for numbers with the signs of the rounding errors.
    pub(super) fn weight_rounding(&self) -> (f64, f64) {
        let (unit, inner) =
            (f64::from(self.product.shift).exp2() / self.weights.scale(), self.inner() as f64);
        (unit * (inner / 12.0).sqrt(), unit * inner / 2.0)
    }

    /// The same plan with one or two floating-point products and the same rounding of the weights.
    pub(super) fn with_products(self, products: usize) -> Result<Self, CkksError> {
        Self::with(self.operands, self.weights, FractionProduct { products, ..self.product })
    }

    /// The predicted cost of preparation on one thread: exact products of the matrix with all entries of the
    /// owner's key, over its primes.
    pub fn preparation_cost(&self) -> Result<Cost, CkksError> {
        let definition = self.operands.params.key_definition(KeyName::Switch(self.operands.switch()))?;
        let digits = definition.digits_as_made(self.operands.level)?.digits;
        let (chain, lanes) = (self.operands.params.chain(), self.operands.layout.lanes());
        let primes = chain.key_basis(self.operands.level).len();
        let mut cost = self.operands.params.combination_cost(
            self.weights.matrix(),
            self.operands.level,
            definition.columns(),
        );
        cost = cost.times(primes as f64 / chain.basis(self.operands.level).len() as f64);
        if lanes > 1 {
            // Rows of the result in one polynomial are shifted and added.
            cost += self.operands.params.passes_cost(2 * self.rows() * definition.columns() * primes);
        }
        Ok(cost.times((digits.len() * self.key_inputs()) as f64))
    }

    /// The plan in a few lines: sizes, keys, parts of the error, time.
    #[must_use]
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

/// The largest number of bodies under one mask that security allows for arrays of this layout, at most as
/// many as have rows.
fn most_bodies(params: &Params, level: Level, layout: &Layout, own_masks: bool) -> usize {
    let groups = layout.row_groups();
    // Rounds of format switches have small keys for powers of two; bodies without a row are zero.
    let groups = if own_masks { groups.next_power_of_two() } else { groups };
    let is_secure = |&(from, to): &(usize, usize)| {
        let key = params.key_definition(KeyName::Switch(Switch::FormatSwitch { from, to }));
        key.and_then(|key| key.check_security(level)).is_ok()
    };
    let fits = |bodies: usize| {
        (!own_masks || format_switch_rounds(bodies).iter().all(is_secure))
            && params.check_fresh(SecretName::Bodies(bodies), level).is_ok()
    };
    let mut most = groups.min(MAX_BODIES);
    while most > 1 && !fits(most) {
        most = most.div_ceil(2);
    }
    most
}

impl fmt::Display for PreparedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        let scale = self.operands.scale_below();
        let bits = |variance: f64| -0.5 * (variance / scale.powi(2)).log2();
        let shape = self.row_shape();
        writeln!(
            f,
            "{} x {} matrix times rows of {}: {} in a polynomial, {} under a mask, {}",
            self.rows(),
            self.inner(),
            counted(self.operands.layout.columns(), "number"),
            counted(shape.lanes, "row"),
            counted(shape.bodies, "polynomial"),
            counted(shape.masks(self.inner()) * self.operands.layout.groups(), "mask"),
        )?;
        writeln!(
            f,
            "level {} to {}, weights of {:.1} bits",
            self.operands.level,
            self.operands.level.0.saturating_sub(1),
            self.weights.scale().log2() - f64::from(self.product.shift)
        )?;
        writeln!(
            f,
            "{:.1} MiB of keys once it is prepared; a product takes {} and, by prediction, {:.2} ms",
            mebibytes(self.key_bytes().unwrap_or(0)),
            counted(self.product.products, "floating-point product"),
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
            -self.operands.error(0.0, self.product.shift).log2(),
        )
    }
}
