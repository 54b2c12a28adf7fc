//! Ciphertexts: arrays of bundles with a shape, a layout, a secret, a level and a scale.
//!
//! The last axis of the shape is packed into bundles; the axes before it count rows. The [`Layout`] says which number is where.

use clathrate_arith::text::counted;
use clathrate_lattice::{Bundle, Eval, Level};

use super::estimate::Estimate;
use super::layout::{Encoding, Layout, Order, Padding};
use super::memory::{Footprint, check_free};
use super::secret::SecretName;
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::parameters::{Params, Runtime};

/// Arrays from this size on are compared with the free memory before an operation makes another one.
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
    /// For an array with data: the largest magnitude of its numbers, where it is declared.
    pub(crate) bound: Option<f64>,
    /// For a symbol: bounds on the numbers and on their error, and the memory that the array would take.
    pub(crate) symbol: Option<Symbol>,
}

/// The properties of an array that a dry run tracks beside its shape, level and scale.
#[derive(Debug, Clone)]
pub(crate) struct Symbol {
    /// Absent where no bound on the numbers is known.
    pub(crate) estimate: Option<Estimate>,
    pub(crate) footprint: Footprint,
}

impl Ciphertext {
    /// A symbol of a ciphertext: shape, encoding, level and scale without data, for dry runs with
    /// [`Evaluator::recording`](crate::Evaluator::recording). It cannot be decrypted or stored.
    ///
    /// # Errors
    /// As an encryption of such an array: [`CkksError::Empty`], [`CkksError::OutOfRange`], [`CkksError::NoRoom`], level and scale errors.
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

    /// A symbol of any layout, under any secret.
    ///
    /// # Errors
    /// As [`Layout::check`]; [`CkksError::OutOfRange`] for a secret of another number of bodies; level and scale errors.
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
            bound: None,
            symbol: None,
        })
    }

    /// Whether it is a symbol: an encrypted array has at least one bundle.
    #[must_use]
    pub fn is_symbol(&self) -> bool {
        self.bundles.is_empty()
    }

    /// Refuses a symbol whose numbers may be too large for the modulus, by the bounds that it carries.
    ///
    /// # Errors
    /// [`CkksError::BoundTooLarge`].
    pub fn check_bound(&self) -> Result<(), CkksError> {
        // One bit for the sign, and one that shows overflows at decryption.
        let room = self.params.log2_q(self.level) - 2.0 - self.scale.log2();
        match self.estimate() {
            Some(Estimate { magnitude, .. }) if magnitude.is_finite() && magnitude.log2() > room => {
                let (log2_scale, level) = (self.scale.log2(), self.level.0);
                Err(CkksError::BoundTooLarge { magnitude, log2_scale, level, room: room.exp2() })
            }
            _ => Ok(()),
        }
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

    /// Which of the owner's secrets encrypts the array.
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

    /// The scale that messages are multiplied by.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The bundles, in the layout's order.
    #[must_use]
    pub fn bundles(&self) -> &[Bundle<Eval>] {
        &self.bundles
    }

    /// Bounds on the numbers and on their error, of a symbol computed from symbols that a recording evaluator made with bounds.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        self.symbol.as_ref().and_then(|symbol| symbol.estimate)
    }

    /// The largest magnitude that the numbers may have, where it is known: declared at encryption ([`EncryptOptions::bound`](crate::keys::EncryptOptions::bound)) and carried through
    /// sums, products, rescales, lower levels, rotations, conjugations, products with plain matrices, polynomials and broadcasting. Other operations lose it. An operation whose result might
    /// exceed the modulus is refused. For a symbol it is that of [`Ciphertext::estimate`].
    #[must_use]
    pub fn bound(&self) -> Option<f64> {
        self.bound.or(self.estimate().map(|own| own.magnitude)).filter(|bound| bound.is_finite())
    }

    /// The same array with another declared bound, or none: for numbers that are known to be smaller than what was carried here tells.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`] for a bound that is not above 0; [`CkksError::BoundTooLarge`] for one without room at the array's level and scale.
    pub fn with_bound(&self, bound: Option<f64>) -> Result<Self, CkksError> {
        if let Some(bound) = bound.filter(|bound| !(bound.is_finite() && *bound > 0.0)) {
            let remedy = "give the largest magnitude of the numbers, above 0".to_owned();
            return Err(CkksError::OutOfRange { what: "the bound on the numbers", value: bound.to_string(), remedy });
        }
        let bound = self.params.check_bound(bound, self.scale, self.level)?;
        if self.is_symbol() {
            // A dry run without bounds stays one.
            return Ok(self.clone().estimated(|own| Estimate { magnitude: bound.unwrap_or(own.magnitude), ..own }));
        }
        Ok(self.clone().within(bound))
    }

    /// The same array with data, whose numbers are at most `bound`.
    pub(crate) fn within(self, bound: Option<f64>) -> Self {
        Self { bound, ..self }
    }

    /// What `f` makes of the declared bounds of two arrays.
    pub(crate) fn joint_bound(&self, other: &Self, f: impl FnOnce(f64, f64) -> f64) -> Option<f64> {
        self.bound.zip(other.bound).map(|(own, other)| f(own, other))
    }

    /// The same symbol with the bounds that `f` computes from its bounds.
    pub(crate) fn estimated(mut self, f: impl FnOnce(Estimate) -> Estimate) -> Self {
        if let Some(symbol) = &mut self.symbol {
            symbol.estimate = symbol.estimate.map(f);
        }
        self
    }

    /// The same symbol without bounds.
    pub(crate) fn unbounded(self) -> Self {
        self.bounded_by(None)
    }

    /// The same symbol with these bounds.
    pub(crate) fn bounded_by(mut self, estimate: Option<Estimate>) -> Self {
        if let Some(symbol) = &mut self.symbol {
            symbol.estimate = estimate;
        }
        self
    }

    /// The same polynomials read at another scale, so that the numbers change.
    pub(crate) fn at_scale(self, scale: f64) -> Self {
        Self { scale, bound: None, ..self }
    }

    /// Number of polynomials in each bundle: those of the mask and one for each body.
    #[must_use]
    pub fn polys_per_bundle(&self) -> usize {
        self.params.rank() + self.layout.bodies
    }

    /// Bytes that the array takes, or for a symbol, would take.
    #[must_use]
    pub fn predicted_bytes(&self) -> usize {
        self.layout.bundles() * self.polys_per_bundle() * self.params.chain().basis(self.level).len() * self.params.degree() * 8
    }

    /// Refuses an operation whose result is as large as this array where less memory is free. Of small arrays nothing is asked, since that takes as long as the operation.
    ///
    /// # Errors
    /// [`CkksError::NotEnoughMemory`].
    pub fn check_room_for_another(&self, operation: &'static str) -> Result<(), CkksError> {
        let bytes = self.predicted_bytes();
        if self.is_symbol() || bytes < CHECKED_BYTES {
            return Ok(());
        }
        check_free(operation, bytes, "compute on a part of the array at a time, or drop arrays that are no longer used")
    }

    /// Where each number is stored.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The state of the padding: the slots or coefficients without an entry.
    #[must_use]
    pub fn padding(&self) -> Padding {
        self.layout.padding
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bundles.iter().map(Bundle::bytes).sum()
    }

    /// The same array under another runtime: on another device, its residues are copied there.
    ///
    /// # Errors
    /// As [`Params::under`].
    pub fn under(&self, runtime: &Runtime) -> Result<Self, CkksError> {
        let params = self.params.under(runtime)?;
        let ring = params.chain().ring();
        let bundles = self.bundles.iter().map(|bundle| bundle.on_ring(ring)).collect::<Result<_, _>>()?;
        Ok(self.moved(&params, bundles).within(self.bound))
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

    /// Another array under the same secret, with other parameters, shape and layout. A symbol keeps its bounds and gets the memory of the new layout;
    /// an array with data has no bound, because its numbers may be others.
    pub(crate) fn with_all(
        &self,
        (params, shape): (&Params, Vec<usize>),
        layout: Layout,
        bundles: Vec<Bundle<Eval>>,
        (level, scale): (Level, f64),
    ) -> Self {
        let mut other = Self { params: params.clone(), shape, layout, bundles, level, scale, bound: None, symbol: None, ..*self };
        let bytes = other.predicted_bytes();
        other.symbol = self.symbol.as_ref().map(|symbol| Symbol { estimate: symbol.estimate, footprint: symbol.footprint.another(bytes) });
        other
    }

    /// The same polynomials as an array with another shape and layout.
    pub(crate) fn rearranged(mut self, shape: Vec<usize>, layout: Layout) -> Self {
        let bundles = std::mem::take(&mut self.bundles);
        let params = self.params.clone();
        self.with_all((&params, shape), layout, bundles, (self.level, self.scale))
    }

    /// The same numbers with another layout. A symbol gets the memory of the new layout.
    pub(crate) fn laid_out(self, layout: Layout) -> Self {
        let before = self.predicted_bytes();
        let mut other = Self { layout, ..self };
        let bytes = other.predicted_bytes();
        if let Some(symbol) = other.symbol.as_mut().filter(|_| bytes != before) {
            symbol.footprint = symbol.footprint.another(bytes);
        }
        other
    }

    /// The same array with its padding, if any, marked as in this state.
    pub(crate) fn padded(self, padding: Padding) -> Self {
        let layout = self.layout.with_padding(padding);
        self.laid_out(layout)
    }

    /// What bundle `index` holds, the part of a row or several short rows, as a separate array, for arrays with one body in each bundle.
    pub(crate) fn part(&self, index: usize) -> Self {
        let columns = self.layout.entries(index, 0).len();
        let rows = self.layout.lanes.min(self.layout.rows - self.layout.polynomial(index).0);
        let layout = Layout { rows, columns, chunks: 1, ..self.layout }.with_padding(self.padding());
        let bundles = self.bundles.get(index).into_iter().cloned().collect();
        let shape = if self.layout.lanes > 1 { vec![rows, columns] } else { vec![columns] };
        self.with_all((&self.params, shape), layout, bundles, (self.level, self.scale))
    }

    /// The polynomials of this array read as complex numbers in `capacity` slots, in natural order and without padding, for maps of slots that do not see what they hold.
    pub(crate) fn read_as_slots(self, capacity: usize) -> Self {
        let columns = capacity * self.layout.chunks;
        let shape = [&self.shape[..self.shape.len().saturating_sub(1)], &[columns]].concat();
        let (encoding, order, padding) = (Encoding::Slots, Order::Natural, Padding::Zero);
        let layout = Layout { encoding, capacity, columns, complex: true, paired: false, order, padding, ..self.layout };
        self.rearranged(shape, layout)
    }

    /// Each polynomial as a row of all its different slots, whatever they hold, for operations slot by slot that do not see rows; [`Ciphertext::rearranged`] is the way back.
    pub(crate) fn polynomials_as_rows(&self) -> Self {
        let (rows, period) = (self.layout.polynomials(), self.layout.period());
        let layout = Layout { rows, columns: period, capacity: period, chunks: 1, lanes: 1, copies: 1, ..self.layout };
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

    /// The same numbers in another shape that has the same rows: a matrix of one row is a vector, and a vector of one number a single number. In slots, a vector is a column as well, whose rows share
    /// polynomials: numbers that lie one behind the other.
    ///
    /// # Errors
    /// [`CkksError::Shape`] for other rows.
    pub fn reshaped(self, shape: &[usize]) -> Result<Self, CkksError> {
        let layout = self.layout;
        if let Some(turned) = layout.turned(shape) {
            let bound = self.bound;
            return Ok(self.rearranged(shape.to_vec(), turned).within(bound));
        }
        let rows = if shape.len() == 2 { shape[0] } else { 1 };
        if shape.len() > 2 || (rows, shape.last().copied().unwrap_or(1)) != (layout.rows, layout.columns) {
            let remedy = format!(
                "the numbers stay where they are, in {} of {}: only a single row can be a vector or a matrix, and a single number lose its axes",
                counted(layout.rows, "row"),
                counted(layout.columns, "number")
            );
            return Err(CkksError::Shape { operation: "a change of the shape", left: self.shape, right: shape.to_vec(), remedy });
        }
        let bound = self.bound;
        Ok(self.rearranged(shape.to_vec(), layout).within(bound))
    }

    /// A ciphertext with every bundle mapped by `f`.
    pub(crate) fn try_map(
        &self,
        level: Level,
        scale: f64,
        f: impl FnMut(&Bundle<Eval>) -> Result<Bundle<Eval>, CkksError>,
    ) -> Result<Self, CkksError> {
        let bundles = self.bundles.iter().map(f).collect::<Result<_, _>>()?;
        Ok(self.with(bundles, level, scale))
    }

    /// Refuses arrays under a secret without keys for `operation`.
    ///
    /// # Errors
    /// [`CkksError::SecretWithoutKeys`], with the remedy.
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
        Err(CkksError::SecretWithoutKeys { operation, secret: self.secret.to_string(), remedy })
    }

    /// Refuses arrays with several rows in a polynomial.
    ///
    /// # Errors
    /// [`CkksError::Conversion`], with the remedy.
    pub(crate) fn check_one_lane(&self, operation: &'static str) -> Result<(), CkksError> {
        let Layout { lanes, degree, .. } = self.layout;
        if lanes == 1 {
            return Ok(());
        }
        let reason = match self.layout.encoding {
            Encoding::Slots => format!("{lanes} rows share a polynomial, one behind the other in its slots: encrypt with lanes=1"),
            Encoding::Coefficients => {
                format!("{lanes} rows share a polynomial; a move to degree {} takes them apart (to_mlwe), and needs no key", degree / lanes)
            }
        };
        Err(CkksError::Conversion { operation, reason })
    }

    /// Refuses arrays with several rows in a polynomial, and those with several slots for each number.
    ///
    /// # Errors
    /// [`CkksError::Conversion`], with the remedy.
    pub(crate) fn check_plain(&self, operation: &'static str) -> Result<(), CkksError> {
        self.check_one_lane(operation)?;
        if self.layout.copies == 1 {
            return Ok(());
        }
        let reason = format!("each number is in {} neighbouring slots, as sums of rows that share polynomials are", self.layout.copies);
        Err(CkksError::Conversion { operation, reason })
    }

    /// Refuses arrays whose dirty padding would enter the result.
    ///
    /// # Errors
    /// [`CkksError::DirtyPadding`].
    pub(crate) fn check_padding(&self, operation: &'static str) -> Result<(), CkksError> {
        if self.layout.padding == Padding::Zero {
            return Ok(());
        }
        let (columns, places) = (self.layout.columns, self.layout.chunks * self.layout.capacity);
        Err(CkksError::DirtyPadding { operation, columns, places })
    }
}

/// Refuses a secret of another number of bodies than the layout has.
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
