//! Plain matrix times encrypted matrix (PC-MM).
//!
//! The LZ algorithm: with the rows of an encrypted matrix as ciphertexts `(a_i, b_i)`, collected into
//! matrices `A` and `B` of residues,
//!
//! ```text
//! A Toep(s) + B ~ M  mod Q    =>    (W A) Toep(s) + (W B) ~ W M  mod Q
//! ```
//!
//! so the product is two integer matrix products modulo each prime, computed exactly by floating-point GEMM.
//! Rows wider than a polynomial take several ciphertexts. A higher rank adds mask matrices, and several
//! bodies under one mask add body matrices: if one mask serves a complete row, there is one mask matrix
//! instead of one per chunk. Linear combinations of rows commute with every linear encoding and with the
//! transform, so the residues stay in Eval form. Source: [pcmm-mambo, sec. 1.1 (LZ), sec. 7.1, App. C].

use std::borrow::Cow;
use std::sync::Arc;

use clathrate_arith::product::LeftMatrix;
use clathrate_arith::text::counted;
use clathrate_arith::{Modulus, ProductCounts};
use clathrate_lattice::{Bundle, Eval, Level};

use crate::arrays::estimate::{Along, MatrixNorms};
use crate::arrays::memory::check_free;
use crate::arrays::{BodyAxis, Ciphertext, Encoding, Estimate, SecretName};
use crate::encoding::Matrix;
use crate::error::CkksError;
use crate::evaluation::arithmetic::check_factor;
use crate::evaluation::evaluator::{Evaluator, LevelsNeeded};
use crate::keys::{Operation, Switch};
use crate::parameters::Params;

/// Maximum bits of a scaled weight, which exact products take as an entry.
const WEIGHT_LIMIT_BITS: f64 = 51.0;

/// A real matrix scaled to integers and prepared for exact products.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_matmul", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let x = owner.encrypt_array(&[1.0, 2.0, 3.0, 4.0], &[2, 2], EncryptOptions::default())?;
///
/// // No key is needed for a product with known weights.
/// let evaluator = Evaluator::new(&params);
/// let weights = Weights::encode(&evaluator, 1, 2, &[0.5, -1.0], &x)?;
/// let product = evaluator.rescale(&weights.multiply(&evaluator, &x)?)?;
/// let numbers = owner.decrypt(&product)?.into_real()?;
/// assert!((numbers[0] + 2.5).abs() < 1e-4 && (numbers[1] + 3.0).abs() < 1e-4);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Weights {
    matrix: Arc<LeftMatrix>,
    scale: f64,
    norms: MatrixNorms,
    /// Maxima over the rows of the root of the sum of squares, and of the sum of magnitudes, of the rounding
    /// errors.
    rounding: (f64, f64),
}

impl Weights {
    /// `round(values * scale)`, row-major `rows x inner`.
    ///
    /// # Errors
    /// [`CkksError::Empty`], [`CkksError::NotFinite`], [`CkksError::OutOfRange`] if a weight exceeds 51 bits
    /// at this scale, or the scale is below 1.
    pub fn new(rows: usize, inner: usize, values: &[f64], scale: f64) -> Result<Self, CkksError> {
        Matrix::new(rows, inner, values).check("a weight matrix")?;
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            return Err(CkksError::NotFinite { index, value: values[index], shape: None });
        }
        if !(scale.is_finite() && scale >= 1.0) {
            let remedy = "use a finite scale of at least 1".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the scale of the weights",
                value: scale.to_string(),
                remedy,
            });
        }
        if scale == 1.0
            && let Some(fraction) = values.iter().find(|v| v.fract() != 0.0)
        {
            let remedy =
                "at scale 1 weights are whole numbers; leave the scale to the level, or scale the matrix up"
                    .to_owned();
            return Err(CkksError::OutOfRange { what: "a weight", value: fraction.to_string(), remedy });
        }
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if (largest * scale + 1.0).log2() > WEIGHT_LIMIT_BITS {
            let remedy = format!(
                "at scale 2^{:.1} weights stay below {:.3e}: scale the matrix down",
                scale.log2(),
                WEIGHT_LIMIT_BITS.exp2() / scale
            );
            return Err(CkksError::OutOfRange {
                what: "the largest weight",
                value: format!("{largest:e}"),
                remedy,
            });
        }
        let integers: Vec<i64> = values.iter().map(|v| (v * scale).round_ties_even() as i64).collect();
        let norms = MatrixNorms::of_matrix(values, inner);
        let changed = |(v, &integer): (&f64, &i64)| (v - integer as f64 / scale).abs();
        let rows_of = values.chunks_exact(inner).zip(integers.chunks_exact(inner));
        let rounding = rows_of.fold((0.0f64, 0.0f64), |(root, sum), (row, integers)| {
            let own = || row.iter().zip(integers).map(changed);
            (root.max(own().map(|changed| changed * changed).sum::<f64>().sqrt()), sum.max(own().sum()))
        });
        Ok(Self { matrix: Arc::new(LeftMatrix::new(rows, inner, &integers)?), scale, norms, rounding })
    }

    /// The weights that are these multiples of `2^shift` at scale `scale`.
    pub(super) fn of_multiples(
        multiples: &[i64],
        (rows, inner): (usize, usize),
        scale: f64,
        shift: u32,
    ) -> Result<Self, CkksError> {
        let unit = f64::from(shift).exp2() / scale;
        let values: Vec<f64> = multiples.iter().map(|&w| w as f64 * unit).collect();
        Self::rounded_to(Matrix::new(rows, inner, &values), scale, shift)
    }

    /// The weights rounded to multiples of `2^shift` at the same scale. Their estimates leave the error of
    /// rounding to the caller.
    pub(super) fn rounded_to(
        Matrix { rows, columns: inner, values }: Matrix<'_>,
        scale: f64,
        shift: u32,
    ) -> Result<Self, CkksError> {
        let unit = f64::from(shift).exp2();
        let coarse = Self { rounding: (0.0, 0.0), ..Self::new(rows, inner, values, scale)? };
        if shift == 0 {
            return Ok(coarse);
        }
        let integers: Vec<i64> =
            values.iter().map(|v| ((v * scale / unit).round_ties_even() as i64) << shift).collect();
        Ok(Self { matrix: Arc::new(LeftMatrix::new(rows, inner, &integers)?), ..coarse })
    }

    /// Rows of the matrix.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.matrix.rows()
    }

    /// Columns of the matrix.
    #[must_use]
    pub fn inner(&self) -> usize {
        self.matrix.inner()
    }

    /// The scale of the integers.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The integers.
    pub(super) fn matrix(&self) -> &Arc<LeftMatrix> {
        &self.matrix
    }

    /// For each row the sum of the squares of its integers.
    pub(super) fn squares(&self) -> Vec<f64> {
        (0..self.rows()).map(|row| self.matrix.sum_of_squares(row)).collect()
    }

    /// Largest sum of magnitudes along a row.
    #[must_use]
    pub fn row_sum(&self) -> f64 {
        self.norms.row_sum
    }

    /// Refuses weights whose product with numbers of magnitude 1 may wrap around at this scale and level.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`].
    pub(super) fn check_row_sum(&self, params: &Params, scale: f64, level: Level) -> Result<(), CkksError> {
        // As for declared bounds, one bit for the sign, and a guard bit that detects overflows.
        let headroom = (params.log2_q(level) - 2.0 - scale.log2()).exp2();
        if self.norms.row_sum <= headroom {
            return Ok(());
        }
        Err(CkksError::weights_too_large(self.norms.row_sum, scale.log2(), level.0, headroom))
    }

    /// The estimate of the product from that of the factor, including the error of rounding the weights.
    pub(super) fn estimate(&self, x: Estimate) -> Estimate {
        x.mapped(Along::Rows, &self.norms, self.rounding)
    }

    /// Unit operations of one product with polynomials of degree `degree` modulo `modulus`, on one thread.
    #[must_use]
    pub fn counts(&self, modulus: &Modulus, degree: usize) -> ProductCounts {
        self.matrix.counts(modulus, degree)
    }

    /// Number of floating-point products of one product modulo `modulus`.
    #[must_use]
    pub fn gemm_count(&self, modulus: &Modulus) -> usize {
        self.matrix.plan(modulus).gemm_count()
    }
}

impl Weights {
    /// The scale of [`Weights::encode`]; checks `x`, not the weights.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::OutOfRange`] if `x`'s scale leaves no bits for the
    /// weights.
    pub fn scale_for(evaluator: &Evaluator, x: &Ciphertext) -> Result<f64, CkksError> {
        evaluator.factor_scale_for(x, "a product with a real matrix")
    }

    /// Encodes `values` (`rows x inner`, row-major) for products with ciphertexts at the level and scale of
    /// `x`, such that the rescaled product has the canonical scale of the level below.
    ///
    /// # Errors
    /// [`CkksError::LevelTooLow`] at level 0; [`CkksError::OutOfRange`] if `x`'s scale leaves no bits for the
    /// weights; those of [`Weights::new`].
    pub fn encode(
        evaluator: &Evaluator,
        rows: usize,
        inner: usize,
        values: &[f64],
        x: &Ciphertext,
    ) -> Result<Weights, CkksError> {
        let scale = Weights::scale_for(evaluator, x)?;
        let weights = Weights::new(rows, inner, values, scale)?;
        check_factor(values.iter().fold(0.0, |largest, weight| weight.abs().max(largest)), scale, 1.0)?;
        Ok(weights)
    }

    /// `W @ x` for an encrypted matrix `x` of shape `(inner, columns)`; not rescaled. Rows that share a
    /// polynomial are first separated ([`Evaluator::to_mlwe`]), so the result is at the degree of a row;
    /// [`Evaluator::pack_rows`] joins its rows again. [pcmm-mambo, Algorithm 2] Rows under shared masks are
    /// first split ([`Evaluator::split_mask`]) if the evaluator has the keys, and on dry runs.
    ///
    /// Shapes: `weights` rows x inner, result rows x columns, at `x`'s level with scale `x.scale *
    /// weights.scale`. Cost: `(k + m) * primes` exact modular products of `rows x inner` by `inner x degree`
    /// for each of the `chunks / m` bundles of a row, which are the steps of the operation; memory beyond
    /// operands and result is bounded.
    ///
    /// # Errors
    /// [`CkksError::Shape`], [`CkksError::ScaleOutOfRange`], [`CkksError::WrongParams`];
    /// [`CkksError::TooLarge`] if numbers would wrap around; [`CkksError::Unsuitable`] if rows share a mask
    /// and the keys to split it are missing.
    pub fn multiply(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        evaluator.params().check_related(x.params(), "the ciphertext")?;
        if x.encoding() == Encoding::Slots {
            x.check_one_lane("a matrix product")?;
        }
        let (mut x, lanes) = (Cow::Borrowed(x), x.layout().lanes());
        if splits_masks_for(evaluator, &x) {
            x = Cow::Owned(evaluator.split_mask(&x)?);
        }
        if x.layout().body_axis() == BodyAxis::Rows {
            return Err(CkksError::shared_mask(
                "a matrix product",
                x.layout().bodies(),
                "rows under one mask are under different secrets and cannot be added",
                "attach the keys of split_mask, prepare the matrix for such rows, or put chunks of each row under one mask",
            ));
        }
        if lanes > 1 {
            x = Cow::Owned(evaluator.to_mlwe(&x, x.params().rank() * lanes)?);
        }
        let x = &*x;
        let params = x.params();
        let left = vec![self.rows(), self.inner()];
        if x.shape().len() != 2 {
            let remedy = "the right operand is an encrypted matrix; take the inner products of a vector with the rows, or encrypt the vector in slots".to_owned();
            return Err(CkksError::Shape {
                operation: "a matrix product",
                left,
                right: x.shape().to_vec(),
                remedy,
            });
        }
        if x.shape()[0] != self.inner() {
            let remedy = format!("the left matrix needs {}", counted(x.shape()[0], "column"));
            return Err(CkksError::Shape {
                operation: "a matrix product",
                left,
                right: x.shape().to_vec(),
                remedy,
            });
        }
        let scale = x.scale() * self.scale;
        params.check_scale(scale, x.level())?;
        let estimate = self.estimate(x.estimate.clone());
        params.check_bound(estimate.magnitude, scale, x.level())?;
        if x.bound().is_none() && !x.is_symbol() {
            self.check_row_sum(params, scale, x.level())?;
        }
        let layout = *x.layout();
        let finish = |bundles: Vec<Bundle<Eval>>| {
            let shape = vec![self.rows(), layout.columns()];
            x.with_all((params, shape), layout.of_rows(self.rows()), bundles, (x.level(), scale))
                .estimated(|_| estimate)
        };
        // One matrix product for each polynomial in a row's bundles: the factor's rows are the polynomials at
        // this position in all rows.
        let width = layout.bundles_per_line();
        let polys = width * x.polys_per_bundle();
        if x.is_symbol() {
            evaluator.record_once(x, || Ok(params.combination_cost(&self.matrix, x.level(), polys)))?;
            return Ok(finish(Vec::new()));
        }
        let words = self.rows().saturating_mul(
            width
                * (params.rank() + layout.bodies())
                * params.degree()
                * params.chain().basis(x.level()).len(),
        );
        check_free(
            "a matrix product",
            words.saturating_mul(8),
            "multiply fewer rows of the matrix at a time",
        )?;
        let mut steps = evaluator.progress().steps(polys * params.chain().basis(x.level()).len());
        let mut next = || steps.begin().is_ok();
        // columns[j] holds the bundle at position j of each row, in order.
        let mut columns: Vec<std::vec::IntoIter<Bundle<Eval>>> = Vec::with_capacity(width);
        for place in 0..width {
            let inputs: Vec<&Bundle<Eval>> = x.bundles().iter().skip(place).step_by(width).collect();
            let outputs = Bundle::combine_with_progress(&self.matrix, &inputs, &mut next)?
                .ok_or(CkksError::Cancelled)?;
            columns.push(outputs.into_iter());
        }
        steps.finish()?;
        let bundles = (0..self.rows())
            .flat_map(|_| columns.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>())
            .collect();
        Ok(finish(bundles))
    }

    /// How [`Weights::multiply`] computes `W @ x`: the preceding steps, and the predicted time, keys
    /// and precision, after a rescale if a level is left.
    pub fn explain(&self, evaluator: &Evaluator, x: &Ciphertext) -> Result<String, CkksError> {
        let (params, layout) = (x.params(), x.layout());
        let splits = splits_masks_for(evaluator, x);
        let recorder = Evaluator::recording(evaluator.params());
        let symbol = Ciphertext::symbol_with(params, x.shape(), *layout, x.secret(), x.level(), x.scale())?;
        let symbol = recorder.take_symbol(symbol, Some(1.0))?;
        if layout.body_axis() == BodyAxis::Rows && layout.bodies() > 1 && !splits {
            // Returns the error of the product.
            self.multiply(evaluator, x)?;
        }
        let product = self.multiply(&recorder, &symbol)?;
        let product = if x.level().0 > 0 { recorder.rescale(&product)? } else { product };
        let steps = [
            splits
                .then(|| format!("the masks of {} rows each are split, because rows under one mask have different secrets", layout.bodies())),
            (layout.lanes() > 1).then(|| {
                let (lanes, degree) = (layout.lanes(), params.degree() / layout.lanes());
                format!("{lanes} rows share a polynomial and come apart at degree {degree}, without a key; pack brings them together again")
            }),
            (layout.bodies() > 1 && layout.body_axis() == BodyAxis::Chunks)
                .then(|| "one mask serves a whole row and is multiplied once for it".to_owned()),
        ];
        let columns = counted(layout.columns(), "column");
        let mut lines = vec![format!(
            "{} x {} matrix times {columns}, exactly modulo each prime; {layout}",
            self.rows(),
            self.inner()
        )];
        lines.extend(steps.into_iter().flatten());
        if lines.len() == 1 {
            lines.push(
                "each row has polynomials and masks of its own: no key, and no change of the rows".to_owned(),
            );
        }
        let error = product.error_rms().unwrap_or(f64::INFINITY);
        lines.push(format!(
            "predicted {:.2} ms by one thread; the root mean square of the errors is 2^{:.1} for numbers up to 1",
            recorder.recorded().cost().nanoseconds / 1e6,
            error.log2(),
        ));
        Ok(lines.join("\n"))
    }
}

/// `W @ x` computed inside a bootstrap, not rescaled; `None` unless this evaluator bootstraps
/// automatically, rows of `x` fill polynomials, no level is free, it has the keys, the product is in the
/// range of a bootstrap (the sums of magnitudes along rows of `W`, times 1 or a larger bound of a dry
/// run, are at most 1), and this is predicted to be faster than the product of the bootstrapped array.
pub fn multiply_inside_bootstrap(
    evaluator: &Evaluator,
    weights: Matrix<'_>,
    x: &Ciphertext,
) -> Result<Option<Ciphertext>, CkksError> {
    evaluator.check(x)?;
    evaluator
        .automatic()
        .map_or(Ok(None), |automatic| automatic.product(&evaluator.without_bootstrapping(), x, weights))
}

/// Refuses weights that the bootstrapped array could not be multiplied with.
/// Checks nothing if there is no bootstrap, because the product then fails early.
pub fn check_plain_matrix(
    evaluator: &Evaluator,
    Matrix { rows, columns: inner, values }: Matrix<'_>,
    x: &Ciphertext,
) -> Result<(), CkksError> {
    let Some((fresh, recorder)) = bootstrapped_symbol(evaluator, x)? else { return Ok(()) };
    Weights::encode(&recorder, rows, inner, values, &fresh)?.multiply(&recorder, &fresh).map(|_| ())
}

/// A symbol of `x` after the bootstrap that precedes a product, and its recorder; `None` if there is no
/// bootstrap.
fn bootstrapped_symbol(
    evaluator: &Evaluator,
    x: &Ciphertext,
) -> Result<Option<(Ciphertext, Evaluator)>, CkksError> {
    evaluator.check(x)?;
    if !evaluator.bootstraps() {
        return Ok(None);
    }
    let recorder = evaluator.recording_alike();
    let symbol =
        Ciphertext::symbol_with(x.params(), x.shape(), *x.layout(), x.secret(), x.level(), x.scale())?;
    let fresh = recorder
        .with_levels_needed(&recorder.take_symbol(symbol, None)?, LevelsNeeded::Depth(1))?
        .into_owned();
    let rises = fresh.level() != x.level() && evaluator.holds_all(&recorder.needs())?;
    Ok(rises.then(|| (fresh, recorder.without_bootstrapping())))
}

/// How [`multiply_inside_bootstrap`] computes `W @ x`; `None` if it does not.
pub(crate) fn explain_inside_bootstrap(
    evaluator: &Evaluator,
    weights: Matrix<'_>,
    x: &Ciphertext,
) -> Result<Option<String>, CkksError> {
    evaluator
        .automatic()
        .map_or(Ok(None), |automatic| automatic.explained(&evaluator.without_bootstrapping(), x, weights))
}

/// How a product that is not inside a bootstrap is computed: with the array, or with the bootstrapped
/// array if no level is free.
pub fn explain_bootstrapped_matrix(
    evaluator: &Evaluator,
    Matrix { rows, columns: inner, values }: Matrix<'_>,
    x: &Ciphertext,
) -> Result<String, CkksError> {
    let Some((fresh, recorder)) = bootstrapped_symbol(evaluator, x)? else {
        return Weights::encode(evaluator, rows, inner, values, x)?.explain(evaluator, x);
    };
    let (from, to, time) = (x.level(), fresh.level(), recorder.recorded().cost().nanoseconds / 1e6);
    let text = Weights::encode(&recorder, rows, inner, values, &fresh)?.explain(&recorder, &fresh)?;
    Ok(format!("the array is bootstrapped first, from level {from} to {to}: {time:.1} ms\n{text}"))
}

/// Whether the rows of `x` share masks that can be split.
pub(super) fn splits_masks_for(evaluator: &Evaluator, x: &Ciphertext) -> bool {
    let (layout, count) = (x.layout(), x.secret().bodies());
    if layout.body_axis() != BodyAxis::Rows || layout.bodies() == 1 {
        return false;
    }
    let out = |index| {
        Operation::Switch(Switch::ChangeSecret {
            from: SecretName::Body { count, index },
            to: SecretName::Main,
        })
    };
    x.is_symbol() || (0..count).all(|index| evaluator.holds(x, out(index)))
}
