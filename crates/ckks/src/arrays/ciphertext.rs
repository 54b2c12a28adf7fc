//! Ciphertexts: arrays of bundles with a shape, an encoding, a level and a scale.
//!
//! The last axis of the shape is packed into bundles; the axes before it count rows. A row longer than one bundle's capacity takes
//! several. A scalar or a short vector is one bundle, a matrix one or more per row.

use clathrate_lattice::{Bundle, Eval, Level};
use serde::{Deserialize, Serialize};

use super::estimate::Estimate;
use super::memory::Footprint;
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::parameters::Params;

/// How the numbers of a row sit in a polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// In the slots of the canonical embedding: products are element-wise; n/2 complex numbers per bundle.
    Slots,
    /// In the coefficients: twice as dense; for sums, scalar products and plaintext matrix products.
    Coefficients,
}

impl Encoding {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Coefficients => "coefficients",
        }
    }
}

/// Where the entries of an array go: derived from shape, encoding and degree alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Product of all axes but the last.
    pub rows: usize,
    /// The last axis.
    pub columns: usize,
    /// Numbers per bundle: the degree, or a power of two of slots.
    pub capacity: usize,
    /// Bundles per row.
    pub chunks: usize,
}

impl Layout {
    /// The layout of `shape`.
    ///
    /// # Errors
    /// [`CkksError::Empty`] where an axis is 0; [`CkksError::OutOfRange`] for more than two axes or overflowing sizes.
    pub fn new(shape: &[usize], encoding: Encoding, degree: usize) -> Result<Self, CkksError> {
        if shape.contains(&0) {
            return Err(CkksError::Empty { shape: shape.to_vec() });
        }
        if shape.len() > 2 || shape.iter().try_fold(1usize, |size, &axis| size.checked_mul(axis)).is_none_or(|size| size >> 48 != 0) {
            return Err(CkksError::OutOfRange {
                what: "the array's shape",
                value: format!("{shape:?}"),
                remedy: "use at most two axes and fewer than 2^48 entries".to_owned(),
            });
        }
        let columns = shape.last().copied().unwrap_or(1);
        let rows = shape.iter().rev().skip(1).product();
        let capacity = match encoding {
            Encoding::Coefficients => degree,
            Encoding::Slots => columns.next_power_of_two().min(degree / 2),
        };
        Ok(Self { rows, columns, capacity, chunks: columns.div_ceil(capacity) })
    }

    /// Number of bundles.
    #[must_use]
    pub fn bundles(&self) -> usize {
        self.rows * self.chunks
    }

    /// The flat range of entries that bundle `index` holds.
    #[must_use]
    pub fn entries(&self, index: usize) -> std::ops::Range<usize> {
        let (row, chunk) = (index / self.chunks, index % self.chunks);
        let start = chunk * self.capacity;
        row * self.columns + start..row * self.columns + (start + self.capacity).min(self.columns)
    }
}

/// An encrypted array.
///
/// Immutable: operations give new ciphertexts. One without bundles is a symbol of a dry run.
#[derive(Debug, Clone)]
pub struct Ciphertext {
    pub(crate) params: Params,
    pub(crate) key_id: KeyId,
    pub(crate) shape: Vec<usize>,
    pub(crate) encoding: Encoding,
    pub(crate) complex: bool,
    pub(crate) level: Level,
    pub(crate) scale: f64,
    pub(crate) bundles: Vec<Bundle<Eval>>,
    /// Of a symbol: bounds on the numbers and on their error, and the memory that the array would take.
    pub(crate) symbol: Option<Symbol>,
}

/// What a dry run knows of an array beside its shape, level and scale.
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
    /// As an encryption of such an array: [`CkksError::Empty`], [`CkksError::OutOfRange`], [`CkksError::Encoding`], level and scale errors.
    pub fn symbol(
        params: &Params,
        shape: &[usize],
        encoding: Encoding,
        complex: bool,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        Layout::new(shape, encoding, params.degree())?;
        if complex && encoding == Encoding::Coefficients {
            let (expected, got) = (Encoding::Slots.name().to_owned(), encoding.name().to_owned());
            return Err(CkksError::Encoding { operation: "complex data", expected, got });
        }
        params.check_level(level)?;
        params.check_scale(scale, level)?;
        let key_id = KeyId([0; 16]);
        Ok(Self {
            params: params.clone(),
            key_id,
            shape: shape.to_vec(),
            encoding,
            complex,
            level,
            scale,
            bundles: Vec::new(),
            symbol: None,
        })
    }

    /// Whether it is a symbol: an encrypted array has at least one bundle.
    #[must_use]
    pub fn is_symbol(&self) -> bool {
        self.bundles.is_empty()
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

    /// Which secret it is under.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// The array's shape.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How entries sit in polynomials.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether entries are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.complex
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

    /// The bundles, row-major.
    #[must_use]
    pub fn bundles(&self) -> &[Bundle<Eval>] {
        &self.bundles
    }

    /// Bounds on the numbers and on their error, of a symbol computed from symbols that a recording evaluator made with bounds.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        self.symbol.as_ref().and_then(|symbol| symbol.estimate)
    }

    /// The same symbol with other bounds, `f` of those it has.
    pub(crate) fn estimated(mut self, f: impl FnOnce(Estimate) -> Estimate) -> Self {
        if let Some(symbol) = &mut self.symbol {
            symbol.estimate = symbol.estimate.map(f);
        }
        self
    }

    /// The same symbol without bounds.
    pub(crate) fn unbounded(mut self) -> Self {
        if let Some(symbol) = &mut self.symbol {
            symbol.estimate = None;
        }
        self
    }

    /// Bytes that the array takes, or, of a symbol, would take.
    #[must_use]
    pub fn predicted_bytes(&self) -> usize {
        let bundles = Layout::new(&self.shape, self.encoding, self.params.degree()).map_or(0, |layout| layout.bundles());
        bundles * (self.params.rank() + 1) * self.params.chain().basis(self.level).len() * self.params.degree() * 8
    }

    /// The layout of the shape.
    ///
    /// # Errors
    /// None for a ciphertext that exists; the type is [`Layout::new`]'s.
    pub fn layout(&self) -> Result<Layout, CkksError> {
        Layout::new(&self.shape, self.encoding, self.params.degree())
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bundles.iter().map(Bundle::bytes).sum()
    }

    /// The same array with other bundles, level and scale.
    pub(crate) fn with(&self, bundles: Vec<Bundle<Eval>>, level: Level, scale: f64) -> Self {
        self.with_shape((&self.params, self.shape.clone()), bundles, level, scale)
    }

    /// The same array at the shape of `params`.
    pub(crate) fn moved(&self, params: &Params, bundles: Vec<Bundle<Eval>>) -> Self {
        self.with_shape((params, self.shape.clone()), bundles, self.level, self.scale)
    }

    /// Another array of the same secret and encoding, of other parameters or another shape.
    pub(crate) fn with_shape(&self, (params, shape): (&Params, Vec<usize>), bundles: Vec<Bundle<Eval>>, level: Level, scale: f64) -> Self {
        let mut other = Self { params: params.clone(), shape, bundles, level, scale, symbol: None, ..*self };
        let bytes = other.predicted_bytes();
        other.symbol = self.symbol.as_ref().map(|symbol| Symbol { estimate: symbol.estimate, footprint: symbol.footprint.another(bytes) });
        other
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
}
