//! Ciphertexts: arrays of bundles with a shape, a layout, a secret, a level and a scale.
//!
//! The last axis of the shape is packed into bundles; the first axis, if there are two, counts rows. The
//! [`Layout`] gives the place of each number.

use clathrate_arith::text::counted;
use clathrate_lattice::{Bundle, Eval, Level};

use super::estimate::Estimate;
use super::layout::{Encoding, Layout, Order, Padding, axes};
use super::memory::{Footprint, check_free};
use crate::embedding::{encoding_errors, is_fine, mask_error};
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::names::SecretName;
use crate::parameters::{Params, Runtime};

/// Least size of a new array for which the free memory is checked before the operation.
const CHECKED_BYTES: usize = 64 << 20;

/// An encrypted array.
///
/// Immutable: operations return new ciphertexts. A ciphertext without bundles is a symbol of a dry run.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let x = owner.encrypt(&[0.5; 100])?;
/// assert_eq!((x.shape(), x.encoding(), x.level()), (&[100][..], Encoding::Slots, params.max_level()));
/// let file = x.to_file_bytes()?;
/// let again = Ciphertext::from_reader(&FileReader::from_bytes(&file)?, &params)?;
/// assert_eq!(owner.decrypt(&again)?, owner.decrypt(&x)?);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ciphertext {
    pub(crate) params: Params,
    pub(crate) key_id: KeyId,
    pub(crate) secret: SecretName,
    pub(crate) shape: Vec<usize>,
    pub(crate) layout: Layout,
    pub(crate) level: Level,
    pub(crate) scale: f64,
    pub(crate) bundles: Vec<Bundle<Eval>>,
    /// Bounds and error estimates of the numbers.
    pub(crate) estimate: Estimate,
    /// The bytes that a symbol's array would take, for a dry run that counts memory.
    pub(crate) footprint: Option<Footprint>,
}

impl Ciphertext {
    /// A symbol of a ciphertext: shape, encoding, level and scale without data, for dry runs with
    /// [`Evaluator::recording`](crate::Evaluator::recording). It cannot be decrypted or stored.
    ///
    /// # Errors
    /// The errors of an encryption of such an array: [`CkksError::Empty`], [`CkksError::OutOfRange`],
    /// [`CkksError::Unsuitable`], level and scale errors.
    pub fn symbol(
        params: &Params,
        shape: &[usize],
        encoding: Encoding,
        complex: bool,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        let layout = Layout::new(shape, encoding, params.degree())?;
        let layout = if complex { layout.with_complex()? } else { layout };
        Self::symbol_with(params, shape, layout, SecretName::Main, level, scale)
    }

    /// A symbol with the given layout and secret.
    ///
    /// # Errors
    /// Those of [`Layout::check`]; [`CkksError::OutOfRange`] for a secret with another number of bodies;
    /// level and scale errors.
    pub fn symbol_with(
        params: &Params,
        shape: &[usize],
        layout: Layout,
        secret: SecretName,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        layout.check(shape, params.degree())?;
        check_bodies(&layout, secret)?;
        params.check_level(level)?;
        params.check_scale(scale, level)?;
        let key_id = KeyId([0; 16]);
        Ok(Self {
            params: params.clone(),
            key_id,
            secret,
            shape: shape.to_vec(),
            layout,
            level,
            scale,
            bundles: Vec::new(),
            estimate: Estimate::unknown(),
            footprint: None,
        })
    }

    /// This symbol at another level, with the scale of that level and the same numbers and errors.
    pub(crate) fn as_symbol_at(&self, level: Level) -> Result<Self, CkksError> {
        let scale = self.params.scale(level);
        let symbol = Self::symbol_with(&self.params, &self.shape, self.layout, self.secret, level, scale)?;
        Ok(Self { estimate: self.estimate.clone(), footprint: self.footprint.clone(), ..symbol })
    }

    /// Whether the ciphertext is a symbol of a dry run: an encrypted array has at least one bundle.
    #[must_use]
    pub fn is_symbol(&self) -> bool {
        self.bundles.is_empty()
    }

    /// Refuses an array whose declared bound allows numbers that are too large for the modulus.
    ///
    /// # Errors
    /// [`CkksError::TooLarge`].
    pub fn check_bound(&self) -> Result<(), CkksError> {
        self.params.check_bound(self.estimate.magnitude, self.scale, self.level)
    }

    /// Refuses symbols.
    ///
    /// # Errors
    /// [`CkksError::Symbol`].
    pub fn check_data(&self, operation: &'static str) -> Result<(), CkksError> {
        if self.is_symbol() { Err(CkksError::Symbol { operation }) } else { Ok(()) }
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public name of the key whose secret encrypts the array.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// The owner's secret that encrypts the array.
    #[must_use]
    pub fn secret(&self) -> SecretName {
        self.secret
    }

    /// The array's shape.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How numbers are encoded in polynomials.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.layout.encoding
    }

    /// Whether entries are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.layout.complex
    }

    /// The level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The factor by which numbers are multiplied before they are rounded to integers.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The bundles, in the layout's order.
    #[must_use]
    pub fn bundles(&self) -> &[Bundle<Eval>] {
        &self.bundles
    }

    /// Bounds and error estimates of the numbers.
    #[must_use]
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// The largest magnitude that the numbers may have, without their errors; `None` if unknown. The bound is
    /// declared at encryption ([`EncryptOptions::bound`](crate::keys::EncryptOptions::bound)) or by
    /// [`Ciphertext::with_bound`], and computed for results. Operations whose result might exceed the modulus
    /// are refused.
    #[must_use]
    pub fn bound(&self) -> Option<f64> {
        Some(self.estimate.magnitude).filter(|bound| bound.is_finite())
    }

    /// The root mean square of the error of one number, for numbers spread evenly up to their bounds; `None`
    /// if unknown, as for products of arrays without a bound.
    #[must_use]
    pub fn error_rms(&self) -> Option<f64> {
        Some(self.estimate.error_rms(&self.layout)).filter(|error| error.is_finite())
    }

    /// A bound on the errors of all numbers, for any numbers within their bounds, exceeded with a probability
    /// of at most 2^-40; `None` if unknown, as for products of arrays without a bound.
    #[must_use]
    pub fn error_bound(&self) -> Option<f64> {
        Some(self.estimate.error_bound(&self.layout)).filter(|error| error.is_finite())
    }

    /// The root mean square of the rounding error in a slot of a mask with entries `number`, encoded such
    /// that its product with this array has scale `product_scale`.
    pub(crate) fn mask_rounding(&self, number: f64, product_scale: f64) -> f64 {
        let (degree, scale) = (self.params.degree(), product_scale / self.scale);
        if is_fine(degree, number * scale) {
            mask_error(degree, scale)
        } else {
            encoding_errors(degree, scale).1
        }
    }

    /// [`Ciphertext::mask_rounding`] for a mask that is the same in all rows. If no lane is empty, the mask
    /// has the period of one lane, so most of its coefficients are zero.
    pub(crate) fn column_mask_rounding(&self, number: f64, product_scale: f64) -> f64 {
        let repeated = if self.layout.rows.is_multiple_of(self.layout.lanes) { self.layout.lanes } else { 1 };
        self.mask_rounding(number, product_scale) / (repeated as f64).sqrt()
    }

    /// The estimate of the entry-wise product. If the padding of one factor is zero, the product's padding
    /// has no error from the other factor.
    pub(crate) fn product_estimate(&self, other: &Self) -> Estimate {
        let factor = |x: &Self, y: &Self| {
            if y.padding() == Padding::Zero { x.estimate.clone().cleared() } else { x.estimate.clone() }
        };
        factor(self, other).multiply(factor(other, self))
    }

    /// The same array with the estimate of a selection: each number, with its error, is that of `x` (a
    /// fraction `share` of them) or that of `y` at the same place.
    #[must_use]
    pub fn as_chosen_from(self, x: &Self, y: &Self, share: f64) -> Self {
        self.estimated(|own| own.chosen(&x.estimate, &y.estimate, share.clamp(0.0, 1.0)))
    }

    /// The same array with another declared bound, or without a bound, for numbers that are known to be
    /// smaller than the computed bound.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a bound that is not positive and finite; [`CkksError::TooLarge`]
    /// for a bound that exceeds the modulus at the array's level and scale.
    pub fn with_bound(&self, bound: Option<f64>) -> Result<Self, CkksError> {
        if let Some(bound) = bound.filter(|bound| !(bound.is_finite() && *bound > 0.0)) {
            let remedy = "give the largest magnitude of the numbers, above 0".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the bound on the numbers",
                value: bound.to_string(),
                remedy,
            });
        }
        let bounded = self.clone().estimated(|own| own.within(bound.unwrap_or(f64::INFINITY)));
        bounded.check_bound()?;
        Ok(bounded)
    }

    /// The same array with the estimate of a fresh encryption: numbers up to `bound`, if it is declared, an
    /// error of variance `variance` in each coefficient, and the rounding error of encoding. With `encoded`,
    /// the array was encoded earlier, so all its encryptions have the same rounding error.
    pub(crate) fn freshly(self, bound: Option<f64>, variance: f64, encoded: bool) -> Self {
        let encoding = self.encoding_errors();
        let mask = self.bundles.first().and_then(Bundle::seed);
        let estimate = Estimate::encrypted(
            bound.unwrap_or(f64::INFINITY),
            self.slot_error(variance),
            encoding,
            mask,
            encoded,
        );
        let estimate = estimate.of_complex(self.is_complex());
        Self { estimate, ..self }
    }

    /// The root mean square of the error of a slot, or of an entry in coefficients, from the variance of one
    /// coefficient's error.
    pub(crate) fn slot_error(&self, variance: f64) -> f64 {
        (variance * self.layout.coefficients_of_number(self.params.degree()) as f64).sqrt() / self.scale
    }

    /// The typical and the worst root mean square of the encoding error of a slot or of an entry in
    /// coefficients.
    pub(crate) fn encoding_errors(&self) -> (f64, f64) {
        encoding_errors(self.layout.coefficients_of_number(self.params.degree()), self.scale)
    }

    /// The same array with its estimate mapped by `f`.
    pub(crate) fn estimated(self, f: impl FnOnce(Estimate) -> Estimate) -> Self {
        Self { estimate: f(self.estimate.clone()), ..self }
    }

    /// The same polynomials at another scale: the numbers are multiplied by the quotient of the scales.
    pub(crate) fn at_scale(self, scale: f64) -> Self {
        let ratio = self.scale / scale;
        Self { scale, estimate: self.estimate.clone().scale(ratio), ..self }
    }

    /// Polynomials in each bundle: `k` in the mask, and one per body.
    #[must_use]
    pub fn polys_per_bundle(&self) -> usize {
        self.params.rank() + self.layout.bodies
    }

    /// Bytes of the array; for a symbol, the bytes it would take.
    #[must_use]
    pub fn predicted_bytes(&self) -> usize {
        self.layout.bundles()
            * self.polys_per_bundle()
            * self.params.chain().basis(self.level).len()
            * self.params.degree()
            * 8
    }

    /// Refuses an operation whose result is as large as this array if less memory is free. Small arrays are
    /// not checked, because the check would take as long as the operation.
    ///
    /// # Errors
    /// [`CkksError::NotEnoughMemory`].
    pub fn check_room_for_another(&self, operation: &'static str) -> Result<(), CkksError> {
        let bytes = self.predicted_bytes();
        if self.is_symbol() || bytes < CHECKED_BYTES {
            return Ok(());
        }
        check_free(
            operation,
            bytes,
            "compute on a part of the array at a time, or drop arrays that are no longer used",
        )
    }

    /// The layout, which gives the place of each number.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The content of the padding, the slots or coefficients without an entry.
    #[must_use]
    pub fn padding(&self) -> Padding {
        self.layout.padding
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bundles.iter().map(Bundle::bytes).sum()
    }

    /// The same array under another runtime; its residues are copied to the runtime's device.
    pub fn under(&self, runtime: &Runtime) -> Result<Self, CkksError> {
        let params = self.params.under(runtime)?;
        let ring = params.chain().ring();
        let bundles = self.bundles.iter().map(|bundle| bundle.on_ring(ring)).collect::<Result<_, _>>()?;
        Ok(self.moved(&params, bundles))
    }

    /// The same array with other bundles, level and scale.
    pub(crate) fn with(&self, bundles: Vec<Bundle<Eval>>, level: Level, scale: f64) -> Self {
        self.with_all((&self.params, self.shape.clone()), self.layout, bundles, (level, scale))
    }

    /// The same array at the shape of `params`.
    pub(crate) fn moved(&self, params: &Params, bundles: Vec<Bundle<Eval>>) -> Self {
        self.moved_as(params, self.layout, bundles)
    }

    /// The same array at the shape of `params`, in another layout.
    pub(crate) fn moved_as(&self, params: &Params, layout: Layout, bundles: Vec<Bundle<Eval>>) -> Self {
        self.with_all((params, self.shape.clone()), layout, bundles, (self.level, self.scale))
    }

    /// The same array with other bundles in another layout.
    pub(crate) fn with_layout(&self, layout: Layout, bundles: Vec<Bundle<Eval>>) -> Self {
        self.moved_as(&self.params, layout, bundles)
    }

    /// Another array under the same secret, with other parameters, shape and layout. The estimate is kept;
    /// the caller changes it if it changes the numbers. A symbol's footprint becomes that of the new layout.
    pub(crate) fn with_all(
        &self,
        (params, shape): (&Params, Vec<usize>),
        layout: Layout,
        bundles: Vec<Bundle<Eval>>,
        (level, scale): (Level, f64),
    ) -> Self {
        let mut other = Self {
            params: params.clone(),
            shape,
            layout,
            bundles,
            level,
            scale,
            footprint: None,
            estimate: self.estimate.clone(),
            ..*self
        };
        let bytes = other.predicted_bytes();
        other.footprint = self.footprint.as_ref().map(|footprint| footprint.another(bytes));
        other
    }

    /// The same polynomials as an array with another shape and layout.
    pub(crate) fn rearranged(mut self, shape: Vec<usize>, layout: Layout) -> Self {
        let bundles = std::mem::take(&mut self.bundles);
        let params = self.params.clone();
        self.with_all((&params, shape), layout, bundles, (self.level, self.scale))
    }

    /// The same numbers with another layout. A symbol's footprint becomes that of the new layout.
    pub(crate) fn laid_out(self, layout: Layout) -> Self {
        let before = self.predicted_bytes();
        let mut other = Self { layout, ..self };
        let bytes = other.predicted_bytes();
        if let Some(footprint) = other.footprint.as_mut().filter(|_| bytes != before) {
            *footprint = footprint.another(bytes);
        }
        other
    }

    /// The same array with its padding, if any, marked as `padding`.
    pub(crate) fn padded(self, padding: Padding) -> Self {
        let layout = self.layout.with_padding(padding);
        self.laid_out(layout)
    }

    /// The content of bundle `index`, a part of a row or several short rows, as a separate array. Requires
    /// one body in each bundle.
    pub(crate) fn part(&self, index: usize) -> Self {
        let columns = self.layout.entries(index, 0).len();
        let rows = self.layout.lanes.min(self.layout.rows - self.layout.polynomial(index).0);
        let layout = Layout { rows, columns, chunks: 1, ..self.layout }.with_padding(self.padding());
        let bundles = self.bundles.get(index).into_iter().cloned().collect();
        let shape = if self.layout.lanes > 1 { vec![rows, columns] } else { vec![columns] };
        self.with_all((&self.params, shape), layout, bundles, (self.level, self.scale))
    }

    /// The polynomials of this array as complex numbers in `capacity` slots, in natural order and without
    /// padding, for linear maps of slots that ignore their meaning.
    pub(crate) fn read_as_slots(self, capacity: usize) -> Self {
        let columns = capacity * self.layout.chunks;
        let shape = [&self.shape[..self.shape.len().saturating_sub(1)], &[columns]].concat();
        let (encoding, order, padding) = (Encoding::Slots, Order::Natural, Padding::Zero);
        let layout = Layout {
            encoding,
            capacity,
            columns,
            complex: true,
            paired: false,
            order,
            padding,
            ..self.layout
        };
        self.rearranged(shape, layout)
    }

    /// Each polynomial as a row of one period of its slots, padding included, for slot-wise operations that
    /// ignore rows. [`Ciphertext::rearranged`] restores the rows.
    pub(crate) fn polynomials_as_rows(&self) -> Self {
        let (rows, period) = (self.layout.polynomials(), self.layout.period());
        let layout =
            Layout { rows, columns: period, capacity: period, chunks: 1, lanes: 1, copies: 1, ..self.layout };
        self.clone().rearranged(vec![rows, period], layout.with_padding(Padding::Zero))
    }

    /// A matrix of one row as a vector.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for several rows.
    pub fn into_vector(self) -> Result<Self, CkksError> {
        let columns = self.layout.columns;
        self.reshaped(&[columns])
    }

    /// The same numbers in another shape with the same rows: a matrix of one row becomes a vector, and a
    /// vector of one number a single number. In slots a vector can also become a matrix of one column, whose
    /// rows share polynomials.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for other rows.
    pub fn reshaped(self, shape: &[usize]) -> Result<Self, CkksError> {
        let layout = self.layout;
        if let Some(transposed) = layout.transposed(shape) {
            return Ok(self.rearranged(shape.to_vec(), transposed).estimated(Estimate::transposed));
        }
        if axes(shape)? != (layout.rows, layout.columns) {
            let remedy = format!(
                "the numbers stay where they are, in {} of {}: axes before the last one can be split and joined, and a single row can be a vector",
                counted(layout.rows, "row"),
                counted(layout.columns, "number")
            );
            return Err(CkksError::Shape {
                operation: "a change of the shape",
                left: self.shape,
                right: shape.to_vec(),
                remedy,
            });
        }
        Ok(self.rearranged(shape.to_vec(), layout))
    }

    /// A ciphertext with every bundle mapped by `f`, several at the same time where the engine has threads.
    pub(crate) fn try_map(
        &self,
        level: Level,
        scale: f64,
        f: impl Fn(&Bundle<Eval>) -> Result<Bundle<Eval>, CkksError> + Sync,
    ) -> Result<Self, CkksError> {
        let bundles = self.params.for_each(&self.bundles, f)?;
        Ok(self.with(bundles, level, scale))
    }

    /// Refuses arrays under other secrets than the main one, which have no keys for `operation`.
    ///
    /// # Errors
    /// [`CkksError::WrongSecret`].
    pub(crate) fn check_main(&self, operation: &'static str) -> Result<(), CkksError> {
        let remedy = match self.secret {
            SecretName::Main => return Ok(()),
            SecretName::Bodies(_) => "take the bodies apart with split_mask first",
            SecretName::Outside(_) => "pack the samples of the other library, with a plan for their secret",
            SecretName::Device(_) => {
                "pack the samples of the device, with a plan for its secret, or change to the main secret with change_secret"
            }
            _ => "change to the main secret with change_secret first",
        };
        Err(CkksError::secret_without_keys(operation, self.secret, remedy))
    }

    /// Refuses arrays with several rows in a polynomial.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`].
    pub(crate) fn check_one_lane(&self, operation: &'static str) -> Result<(), CkksError> {
        let Layout { lanes, degree, .. } = self.layout;
        if lanes == 1 {
            return Ok(());
        }
        let reason = match self.layout.encoding {
            Encoding::Slots => format!(
                "{lanes} rows share a polynomial, one behind the other in its slots: encrypt with lanes=1"
            ),
            Encoding::Coefficients => {
                let rank = self.params.rank() * lanes;
                format!(
                    "{lanes} rows share a polynomial: to_mlwe({rank}) takes them apart, at degree {} and rank {rank}, and needs no key",
                    degree / lanes
                )
            }
        };
        Err(CkksError::Unsuitable { operation, reason })
    }

    /// Refuses arrays with several rows in a polynomial, and arrays with several slots for each number.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`], with the remedy.
    pub(crate) fn check_plain(&self, operation: &'static str) -> Result<(), CkksError> {
        self.check_one_lane(operation)?;
        if self.layout.copies == 1 {
            return Ok(());
        }
        let reason = format!(
            "each number is in {} neighbouring slots, as sums of rows that share polynomials are",
            self.layout.copies
        );
        Err(CkksError::Unsuitable { operation, reason })
    }

    /// Refuses arrays whose dirty padding would enter the result.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`].
    pub(crate) fn check_padding(&self, operation: &'static str) -> Result<(), CkksError> {
        if self.layout.padding == Padding::Zero {
            return Ok(());
        }
        let (columns, places) = (self.layout.columns, self.layout.chunks * self.layout.capacity);
        Err(CkksError::dirty_padding(operation, columns, places))
    }
}

/// Refuses a secret whose number of bodies differs from the layout's.
///
/// # Errors
/// [`CkksError::OutOfRange`].
pub(crate) fn check_bodies(layout: &Layout, secret: SecretName) -> Result<(), CkksError> {
    if layout.bodies == secret.bodies() {
        return Ok(());
    }
    let remedy = format!("the secret \"{secret}\" is of {}", secret.bodies());
    Err(CkksError::OutOfRange { what: "the number of bodies", value: layout.bodies.to_string(), remedy })
}
