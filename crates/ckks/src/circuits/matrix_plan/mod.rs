//! Plans of products with a plain matrix: the algorithm is chosen by predicted time, keys and precision.
//!
//! ```text
//! exact       masks and bodies times W, modulo each prime; rows in lanes are taken apart before and packed again after     [pcmm-mambo, Algorithm 2]
//! by rows     the same with one row in a polynomial: slower for short rows, and without any key                          [pcmm-mambo, sec. 1.1 (LZ)]
//! prepared    bodies times W in floating point, masks by keys that were combined for W                                    [pcmm-mambo, Algorithms 3 and 4]
//! ```
//!
//! All results are rescaled, have one body in each bundle, are under the main secret, and have the layout of
//! their rows' operands. So a result can be the factor of the next product.

mod exact;

use std::collections::BTreeSet;
use std::fmt;

use clathrate_arith::text::counted;
use clathrate_lattice::Level;

use self::exact::ExactPlan;
use super::prepared::{Arrangement, PreparedMatrix, PreparedOptions, PreparedPlan};
use crate::arrays::Ciphertext;
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::{EncryptOptions, KeyNeeds, Lanes};
use crate::parameters::Params;

/// Maximum ratio of an error to that of the most precise method, if no precision is stated: 4 bits.
const MAX_LOSS: f64 = 16.0;

/// The operation's name in errors.
const PLAN: &str = "a plan of products";

/// The algorithm of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixMethod {
    /// Masks and bodies are multiplied exactly; rows share polynomials.
    Exact,
    /// Masks and bodies are multiplied exactly; a polynomial holds one row.
    ByRows,
    /// Bodies are multiplied in floating point, once or twice; masks are switched with keys combined for the
    /// matrix.
    Prepared,
}

impl MatrixMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Exact, Self::ByRows, Self::Prepared];

    /// The method's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::ByRows => "by rows",
            Self::Prepared => "prepared",
        }
    }
}

impl fmt::Display for MatrixMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Options of a plan of products.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MatrixOptions {
    /// How the encrypted matrices are encrypted; polynomials share masks only in prepared products.
    pub arrangement: Arrangement,
    /// Precision, number of floating-point products, and whether arrays have separate masks.
    pub precision: PreparedOptions,
    /// The method; `None` for the fastest that satisfies the limits.
    pub method: Option<MatrixMethod>,
    /// Number of products over which the time of the preparation is distributed; `None` to ignore that time.
    pub uses: Option<usize>,
    /// Maximum bytes of keys in memory, of the matrix and of the owner together; `None` for no limit.
    pub most_key_bytes: Option<usize>,
    /// The degree of the ring for exact products of rows in lanes: that of the parameters, or of a smaller
    /// ring, to which a switch at level 1 leads. `None` for the best.
    pub ring: Option<usize>,
}

/// A variant of a product with its predicted cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixCost {
    /// The method.
    pub method: MatrixMethod,
    /// The degree of the smaller ring, if the product is computed in one.
    pub ring: Option<usize>,
    /// Floating-point products of a prepared product, 0 for exact ones.
    pub products: usize,
    /// Nanoseconds of a product on one thread.
    pub nanoseconds: f64,
    /// Nanoseconds of the preparation on one thread.
    pub preparation: f64,
    /// The prices of a product and of the preparation, by which plans are compared
    /// ([`Cost::price`](crate::keys::Cost::price)).
    pub prices: (f64, f64),
    /// Bytes of the owner's keys in memory.
    pub owner_key_bytes: usize,
    /// Bytes of the matrix's keys in memory.
    pub matrix_key_bytes: usize,
    /// The predicted root mean square error of the row with the largest error, for numbers of magnitude 1.
    pub error: f64,
}

impl MatrixCost {
    /// The price of each of `uses` products, including its share of the preparation.
    fn each(&self, uses: Option<usize>) -> f64 {
        let (product, preparation) = self.prices;
        product + uses.map_or(0.0, |uses| preparation / uses as f64)
    }

    fn key_bytes(&self) -> usize {
        self.owner_key_bytes.saturating_add(self.matrix_key_bytes)
    }

    /// The variant in words.
    fn label(&self) -> String {
        match (self.products, self.ring) {
            (0, None) => self.method.to_string(),
            (0, Some(degree)) => format!("{}, degree {degree}", self.method),
            (products, _) => format!("{}, {}", self.method, counted(products, "product")),
        }
    }
}

/// The plan by one method.
#[derive(Debug, Clone)]
enum PlannedProduct {
    Exact(Box<ExactPlan>),
    Prepared(Box<PreparedPlan>),
}

/// A plan of products of a plain matrix with encrypted matrices of one shape and encryption.
#[derive(Debug, Clone)]
pub struct MatrixPlan {
    params: Params,
    shape: (usize, usize),
    columns: usize,
    product: PlannedProduct,
    chosen: MatrixCost,
    others: Vec<MatrixCost>,
    /// The methods that cannot compute the product, and the reasons.
    refused: Vec<(MatrixMethod, String)>,
    uses: Option<usize>,
    most_key_bytes: Option<usize>,
}

/// A matrix that is ready for products.
#[derive(Debug)]
pub struct PlannedMatrix {
    plan: MatrixPlan,
    prepared: Option<PreparedMatrix>,
}

fn prepared_cost(plan: &PreparedPlan) -> Result<MatrixCost, CkksError> {
    let (cost, preparation) = (plan.cost(), plan.preparation_cost()?);
    Ok(MatrixCost {
        method: MatrixMethod::Prepared,
        ring: None,
        products: plan.products(),
        nanoseconds: cost.nanoseconds,
        preparation: preparation.nanoseconds,
        prices: (cost.price, preparation.price),
        owner_key_bytes: plan.params().required_keys(&plan.needs())?.bytes(plan.params())?,
        matrix_key_bytes: plan.key_bytes()?,
        error: plan.error(),
    })
}

impl MatrixPlan {
    /// The fastest plan within the limits of `options`, for products of `weights`
    /// with encrypted matrices of `columns` columns that are encrypted as by [`MatrixPlan::encryption`].
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] if no method reaches the precision within the limit on keys, with the needs
    /// of each, and for contradictory options; if all methods fail, the error of the first: those of
    /// [`PreparedPlan::for_columns`] and [`Weights::encode`](crate::Weights::encode).
    pub fn new(
        params: &Params,
        weights: Matrix<'_>,
        columns: usize,
        options: &MatrixOptions,
    ) -> Result<Self, CkksError> {
        let arrangement = options.arrangement;
        params.check_level(arrangement.level.unwrap_or(Level(1)))?;
        if let Some(lanes) = arrangement.lanes.filter(|lanes| !lanes.is_power_of_two()) {
            let remedy = "use a power of two".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the number of rows in a polynomial",
                value: lanes.to_string(),
                remedy,
            });
        }
        if options.uses == Some(0) {
            let remedy = "state 1 or more, or leave it out".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the products that a matrix is prepared for",
                value: "0".to_owned(),
                remedy,
            });
        }
        let smaller_ring = options.ring.is_some_and(|degree| degree != params.degree());
        let wanted = |method| options.method.is_none_or(|own| own == method);
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        let mut first: Option<CkksError> = None;
        for (method, lanes) in [(MatrixMethod::Exact, arrangement.lanes), (MatrixMethod::ByRows, Some(1))] {
            if !wanted(method) {
                continue;
            }
            if let Some(reason) = foreign_option(method, options, smaller_ring) {
                refused.push((method, reason.to_owned()));
                continue;
            }
            let exact = ExactPlan::new(params, weights, columns, Arrangement { lanes, ..arrangement });
            match exact
                .and_then(|plan| plan.candidates(params, method, options.precision.own_masks, options.ring))
            {
                // If rows fill polynomials, both exact methods are the same.
                Ok(candidates)
                    if method == MatrixMethod::Exact
                        && options.method.is_none()
                        && candidates.iter().all(|(_, plan)| plan.layout.lanes() == 1) => {}
                Ok(candidates) => {
                    // Takes the best variant of each ring, because one ring may be more precise and another
                    // faster.
                    let degrees: BTreeSet<_> = candidates.iter().map(|(cost, _)| cost.ring).collect();
                    for degree in degrees {
                        let own =
                            candidates.iter().filter(|(cost, _)| cost.ring == degree).cloned().collect();
                        found.extend(
                            smallest_near_fastest(own, options)
                                .map(|(cost, plan)| (cost, PlannedProduct::Exact(Box::new(plan)))),
                        );
                    }
                }
                Err(error) => {
                    refused.push((method, error.to_string()));
                    first.get_or_insert(error);
                }
            }
        }
        let mut others = Vec::new();
        if wanted(MatrixMethod::Prepared) {
            match PreparedPlan::for_columns(params, weights, columns, arrangement, options.precision) {
                Ok(_) if smaller_ring => {
                    refused.push((MatrixMethod::Prepared, "rings are those of exact products".to_owned()))
                }
                Ok(plan) => {
                    // Also lists the other number of products; the plan has chosen by precision.
                    let other = PreparedOptions { products: Some(3 - plan.products()), ..options.precision };
                    if options.precision.products.is_none()
                        && let Ok(other) =
                            PreparedPlan::for_columns(params, weights, columns, arrangement, other)
                    {
                        others.push(prepared_cost(&other)?);
                    }
                    found.push((prepared_cost(&plan)?, PlannedProduct::Prepared(Box::new(plan))));
                }
                Err(error) => {
                    refused.push((MatrixMethod::Prepared, error.to_string()));
                    first.get_or_insert(error);
                }
            }
        }
        let shape = weights.shape();
        // An error of every method is an error of the matrix, the shape or the level.
        if found.is_empty() {
            let reasons: Vec<String> =
                refused.iter().map(|(method, reason)| format!("{method}: {reason}")).collect();
            let value = options
                .method
                .map_or_else(|| "any method".to_owned(), |method| format!("the method \"{method}\""));
            return Err(first.unwrap_or(CkksError::OutOfRange {
                what: PLAN,
                value,
                remedy: reasons.join("; "),
            }));
        }
        found.sort_by(|(a, _), (b, _)| a.each(options.uses).total_cmp(&b.each(options.uses)));
        let most = options.precision.precision_bits.map_or(f64::INFINITY, |bits| (-bits).exp2());
        // If no precision is stated, the choice may lose a few bits for speed.
        let least = found.iter().map(|(cost, _)| cost.error).fold(f64::INFINITY, f64::min);
        let most = if options.precision.precision_bits.is_none() && options.method.is_none() {
            MAX_LOSS * least
        } else {
            most
        };
        let precise = |cost: &MatrixCost| cost.error <= most;
        let fits = |cost: &MatrixCost| options.most_key_bytes.is_none_or(|most| cost.key_bytes() <= most);
        let Some(place) = found.iter().position(|(cost, _)| precise(cost) && fits(cost)) else {
            return Err(no_method(
                options,
                &found.iter().map(|(cost, _)| *cost).collect::<Vec<_>>(),
                &refused,
            ));
        };
        let (chosen, product) = found.remove(place);
        others.extend(found.into_iter().map(|(cost, _)| cost));
        others.sort_by(|a, b| a.each(options.uses).total_cmp(&b.each(options.uses)));
        let (uses, most_key_bytes) = (options.uses, options.most_key_bytes);
        Ok(Self {
            params: params.clone(),
            shape,
            columns,
            product,
            chosen,
            others,
            refused,
            uses,
            most_key_bytes,
        })
    }

    /// How to encrypt the arrays of the plan. A plan for separate masks leaves the masks open.
    #[must_use]
    pub fn encryption(&self) -> EncryptOptions {
        match &self.product {
            PlannedProduct::Prepared(plan) => plan.encryption(),
            PlannedProduct::Exact(plan) => EncryptOptions {
                encoding: Some(plan.layout.encoding()),
                level: Some(plan.level),
                lanes: Some(Lanes::Of(plan.layout.lanes())),
                ..EncryptOptions::default()
            },
        }
    }

    /// The keys for preparation and products.
    #[must_use]
    pub fn needs(&self) -> KeyNeeds {
        match &self.product {
            PlannedProduct::Prepared(plan) => plan.needs(),
            PlannedProduct::Exact(plan) => plan.needs.clone(),
        }
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Rows and columns of the matrix.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The level of the arrays; the product is one level below.
    #[must_use]
    pub fn level(&self) -> Level {
        match &self.product {
            PlannedProduct::Prepared(plan) => plan.level(),
            PlannedProduct::Exact(plan) => plan.level,
        }
    }

    /// Refuses numbers up to this magnitude, or up to 1 if it is unknown, whose product might wrap around
    /// before or after the rescale.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`].
    pub(in crate::circuits) fn check_numbers(&self, bound: Option<f64>) -> Result<(), CkksError> {
        match &self.product {
            PlannedProduct::Prepared(_) => Ok(()),
            PlannedProduct::Exact(plan) => plan.check_numbers(&self.params, bound),
        }
    }

    /// Bytes of the product before its rows are packed; 0 if they are not packed.
    pub(in crate::circuits) fn product_bytes(&self) -> usize {
        match &self.product {
            PlannedProduct::Prepared(_) => 0,
            PlannedProduct::Exact(plan) => plan.product_bytes(&self.params),
        }
    }

    /// The method with its predicted time, keys and error.
    #[must_use]
    pub fn chosen(&self) -> &MatrixCost {
        &self.chosen
    }

    /// The other variants, fastest first, including those beyond the limits.
    #[must_use]
    pub fn others(&self) -> &[MatrixCost] {
        &self.others
    }

    /// The plan of the prepared product, if this is the method.
    #[must_use]
    pub fn prepared(&self) -> Option<&PreparedPlan> {
        match &self.product {
            PlannedProduct::Prepared(plan) => Some(plan),
            PlannedProduct::Exact(_) => None,
        }
    }

    /// Prepares the matrix: for a prepared product combines the keys of `evaluator`'s key set, which takes as
    /// long as many products; otherwise does nothing.
    pub fn prepare(&self, evaluator: &Evaluator) -> Result<PlannedMatrix, CkksError> {
        let prepared = self.prepared().map(|plan| plan.prepare(evaluator)).transpose()?;
        Ok(PlannedMatrix { plan: self.clone(), prepared })
    }

    /// The chosen and the other variants with predicted time, keys and precision, and why other methods are
    /// impossible.
    #[must_use]
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

/// The reason why a method cannot have an option of another method.
fn foreign_option(method: MatrixMethod, options: &MatrixOptions, smaller_ring: bool) -> Option<&'static str> {
    let by_rows = method == MatrixMethod::ByRows;
    if by_rows && smaller_ring {
        return Some("rings are those of rows in lanes");
    }
    if options.precision.products.is_some() {
        Some("a number of floating-point products is one of prepared products")
    } else if options.arrangement.bodies.is_some() {
        Some("bodies under a mask are those of prepared products")
    } else if by_rows && options.arrangement.lanes.is_some_and(|lanes| lanes > 1) {
        Some("it has one row in a polynomial")
    } else {
        None
    }
}

/// Maximum time of a variant with smaller keys, relative to the fastest.
const SLOWER: f64 = 1.1;

/// The variant with the smallest keys among the nearly fastest, of those whose keys fit the limit, or of all
/// if none fit.
fn smallest_near_fastest(
    candidates: Vec<(MatrixCost, ExactPlan)>,
    options: &MatrixOptions,
) -> Option<(MatrixCost, ExactPlan)> {
    let fits = |cost: &MatrixCost| options.most_key_bytes.is_none_or(|most| cost.key_bytes() <= most);
    let any = candidates.iter().any(|(cost, _)| fits(cost));
    let able = || candidates.iter().filter(|(cost, _)| !any || fits(cost));
    let fastest = able().map(|(cost, _)| cost.prices.0).fold(f64::INFINITY, f64::min);
    able()
        .filter(|(cost, _)| cost.prices.0 <= SLOWER * fastest)
        .min_by_key(|(cost, _)| cost.key_bytes())
        .cloned()
}

/// The error if no variant satisfies the limits.
fn no_method(options: &MatrixOptions, costs: &[MatrixCost], refused: &[(MatrixMethod, String)]) -> CkksError {
    let bits = |cost: &MatrixCost| -cost.error.log2();
    let list = costs
        .iter()
        .map(|cost| format!("{}: {:.1} bits, {} bytes of keys", cost.label(), bits(cost), cost.key_bytes()));
    let others = refused.iter().map(|(method, reason)| format!("{method} is not possible: {reason}"));
    let remedy = format!("allow one of these: {}", list.chain(others).collect::<Vec<_>>().join("; "));
    let limit = |bytes: usize| format!("{bytes} bytes of keys");
    match (options.precision.precision_bits, options.most_key_bytes) {
        (Some(wanted), None) => CkksError::OutOfRange {
            what: "the precision of products",
            value: format!("{wanted:.1} bits"),
            remedy,
        },
        (None, Some(most)) => {
            CkksError::OutOfRange { what: "the bytes of keys for products", value: most.to_string(), remedy }
        }
        (wanted, most) => {
            let value = format!("{:.1} bits with {}", wanted.unwrap_or(0.0), limit(most.unwrap_or(0)));
            CkksError::OutOfRange { what: "the limits of a plan of products", value, remedy }
        }
    }
}

impl fmt::Display for MatrixPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, inner) = self.shape;
        let columns = counted(self.columns, "column");
        writeln!(
            f,
            "{rows} x {inner} matrix times encrypted matrices of {columns}, level {} to {}",
            self.level(),
            self.level().0.saturating_sub(1)
        )?;
        if let Some(uses) = self.uses {
            writeln!(f, "the fastest way for {}", counted(uses, "product"))?;
        }
        let titles = ["method", "ms", "preparation s", "owner's MiB", "matrix's MiB", "bits"];
        let [method, ms, preparation, owner, matrix, bits] = titles;
        writeln!(f, "  {method:<21} {ms:>10} {preparation:>14} {owner:>12} {matrix:>13} {bits:>6}")?;
        let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        for (index, cost) in std::iter::once(&self.chosen).chain(&self.others).enumerate() {
            let mark = if index == 0 { '*' } else { ' ' };
            let beyond = if self.most_key_bytes.is_some_and(|most| cost.key_bytes() > most) {
                "  too many bytes of keys"
            } else {
                ""
            };
            writeln!(
                f,
                "{mark} {:<21} {:>10.2} {:>14.2} {:>12.2} {:>13.2} {:>6.1}{beyond}",
                cost.label(),
                cost.nanoseconds / 1e6,
                cost.preparation / 1e9,
                mebibytes(cost.owner_key_bytes),
                mebibytes(cost.matrix_key_bytes),
                -cost.error.log2(),
            )?;
        }
        for (method, reason) in &self.refused {
            writeln!(f, "  {method}: {reason}")?;
        }
        let row_sum = match &self.product {
            PlannedProduct::Prepared(plan) => plan.weights().row_sum(),
            PlannedProduct::Exact(plan) => plan.weights.row_sum(),
        };
        let below = Level(self.level().0.saturating_sub(1));
        // The result has the canonical scale of its level.
        let headroom = (self.params.log2_q(below) - 1.0).exp2() / self.params.scale(below);
        writeln!(f, "results up to {headroom:.1e} fit; numbers up to 1 give {row_sum:.1e} at most")?;
        write!(f, "{}", self.product)
    }
}

impl fmt::Display for PlannedProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepared(plan) => write!(f, "{plan}"),
            Self::Exact(plan) => write!(
                f,
                "{} in a polynomial, weights of {:.1} bits; keys: {}",
                counted(plan.layout.lanes(), "row"),
                plan.weights.scale().log2(),
                match (plan.layout.lanes(), &plan.midpoints[..]) {
                    _ if plan.ring.is_some() => plan.ring_in_words(),
                    (1, _) => "none".to_owned(),
                    (lanes, []) => format!("one of {lanes} inputs, which packs the rows of the result"),
                    (_, midpoints) => format!(
                        "those that pack the rows of the result by samples of rank {midpoints:?} in between"
                    ),
                },
            ),
        }
    }
}

impl PlannedMatrix {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &MatrixPlan {
        &self.plan
    }

    /// The matrix with its keys, if the method is a prepared product.
    #[must_use]
    pub fn prepared(&self) -> Option<&PreparedMatrix> {
        self.prepared.as_ref()
    }

    /// A prepared matrix, for example from a file, with a plan without other variants.
    pub fn from_prepared(matrix: PreparedMatrix) -> Result<Self, CkksError> {
        let own = matrix.plan();
        let plan = MatrixPlan {
            params: own.params().clone(),
            shape: (own.rows(), own.inner()),
            columns: own.layout().columns(),
            chosen: prepared_cost(own)?,
            product: PlannedProduct::Prepared(Box::new(own.clone())),
            others: Vec::new(),
            refused: Vec::new(),
            uses: None,
            most_key_bytes: None,
        };
        Ok(Self { plan, prepared: Some(matrix) })
    }

    /// Sizes, keys, precision and time of a product, without other variants.
    #[must_use]
    pub fn explain(&self) -> String {
        self.plan.product.to_string()
    }
}

impl PlannedMatrix {
    /// `W @ x` as planned, rescaled: at the level below, with one body in each bundle, under the main secret,
    /// with rows placed as in `x`.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] if `x` does not have the level and scale of the plan;
    /// [`CkksError::Cancelled`]; those of [`PreparedMatrix::multiply`], or of
    /// [`Weights::multiply`](crate::Weights::multiply) and [`Evaluator::pack_rows`].
    pub fn multiply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        match (&self.plan.product, &self.prepared) {
            (_, Some(prepared)) => prepared.multiply(evaluator, x),
            (PlannedProduct::Exact(plan), None) => {
                if x.level() != plan.level || x.scale() != plan.scale {
                    let value = format!("level {} and scale 2^{:.3}", x.level(), x.scale().log2());
                    let remedy =
                        format!("the plan is for level {} and scale 2^{:.3}", plan.level, plan.scale.log2());
                    return Err(CkksError::OutOfRange {
                        what: "the level of the factor of a planned product",
                        value,
                        remedy,
                    });
                }
                plan.multiply(evaluator, x)
            }
            (PlannedProduct::Prepared(_), None) => Err(CkksError::NoKeys { operation: PLAN }),
        }
    }
}
