//! Plaintexts: arrays encoded once, as operands of any number of sums, products and encryptions.

use std::borrow::Cow;

use clathrate_lattice::rounding::Rounding;
use clathrate_lattice::{Eval, Level, Poly};

use super::chunks::encode_polynomial;
use super::encode::check_headroom;
use super::values::{ValuesRef, check_values};
use crate::arrays::estimate::name_of;
use crate::arrays::{Ciphertext, Encoding, Estimate, Layout, Padding};
use crate::embedding::{encoding_errors, is_fine, mask_error};
use crate::error::CkksError;
use crate::parameters::Params;

/// An encoded array. An operation with a ciphertext is only a sum or a product of polynomials.
///
/// Immutable. It holds `layout.polynomials()` polynomials at one level and scale, independent of the masks
/// under which they may be encrypted.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let evaluator = Evaluator::new(&params);
/// let inputs = [owner.encrypt(&[1.0, 2.0])?, owner.encrypt(&[3.0, 4.0])?];
///
/// // Encoded once, multiplied twice.
/// let half = Plaintext::encode_for(&inputs[0], &[0.5, 0.5], inputs[0].level(), evaluator.factor_scale(&inputs[0])?)?;
/// for (input, expected) in inputs.iter().zip([0.5, 1.5]) {
///     let product = evaluator.rescale(&evaluator.multiply_encoded(input, &half)?)?;
///     assert!((owner.decrypt(&product)?.into_real()?[0] - expected).abs() < 1e-6);
/// }
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plaintext {
    params: Params,
    shape: Vec<usize>,
    layout: Layout,
    level: Level,
    scale: f64,
    /// The largest magnitude, and the root mean square and the mean of the numbers that are not zero.
    size: (f64, f64, f64),
    /// The share of the numbers that are not zero.
    filled: f64,
    one_number: bool,
    name: u64,
    /// How often equal numbers repeat in each polynomial ([`ValuesRef::repetitions`]); 1 if unknown.
    repetitions: [usize; 2],
    /// How the numbers' deviations add up ([`ValuesRef::together`]); 1 if unknown.
    together: [f64; 2],
    /// Whether the array is a mask that is rounded to the nearest integers.
    nearest: bool,
    messages: Vec<Poly<Eval>>,
}

/// The layout of an operand for `x`. Slots can hold any complex number, so the values decide whether the
/// operand counts as complex.
fn own_layout(x: &Ciphertext, values: ValuesRef<'_>) -> Layout {
    let complex = if x.encoding() == Encoding::Slots { values.is_complex() } else { x.is_complex() };
    x.layout.of_numbers(complex)
}

impl Plaintext {
    /// Encodes an array: `round(scale * coefficients)`, polynomial by polynomial, zero in the padding.
    ///
    /// Shapes: `values` row-major of `shape`, at most six axes; polynomials as in [`Layout::new`], complex if
    /// `values` are complex.
    ///
    /// # Errors
    /// [`CkksError::Empty`], [`CkksError::Shape`], [`CkksError::Unsuitable`], [`CkksError::NotFinite`],
    /// [`CkksError::TooLarge`], [`CkksError::ScaleOutOfRange`], level errors.
    pub fn encode<'v>(
        params: &Params,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        encoding: Encoding,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        let (values, layout) = (values.into(), Layout::new(shape, encoding, params.degree())?);
        let layout = if values.is_complex() { layout.with_complex()? } else { layout };
        Self::encode_as(params, values, shape, layout, level, scale)
    }

    /// Encodes an array of `x`'s shape as an operand for `x`, with the layout of `x`.
    ///
    /// # Errors
    /// Those of [`Plaintext::encode`]; [`CkksError::Encoding`] for complex numbers where `x` has real
    /// coefficients.
    pub fn encode_for<'v>(
        x: &Ciphertext,
        values: impl Into<ValuesRef<'v>>,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        let values = values.into();
        Self::operand_for(x, values, own_layout(x, values), (level, scale), (false, false))
    }

    /// As [`Plaintext::encode_for`] for an operation on `x`: for a symbol nothing is encoded, because dry
    /// runs need no polynomials.
    ///
    /// # Errors
    /// As [`Plaintext::encode_for`].
    pub(crate) fn for_operation<'v>(
        x: &Ciphertext,
        values: impl Into<ValuesRef<'v>>,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        let values = values.into();
        Self::operand_for(x, values, own_layout(x, values), (level, scale), (false, x.is_symbol()))
    }

    /// Encodes an array with a given layout.
    ///
    /// # Errors
    /// Those of [`Plaintext::encode`] and [`Layout::check`].
    pub fn encode_as<'v>(
        params: &Params,
        values: impl Into<ValuesRef<'v>>,
        shape: &[usize],
        layout: Layout,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        Self::rounded(params, values.into(), (shape, layout), (level, scale), false)
    }

    /// Encodes a public array, whose numbers may be examined in variable time, unlike those of an array to be
    /// encrypted; where `outlined`, without its polynomials, unless these decide something.
    fn operand_for(
        x: &Ciphertext,
        values: ValuesRef<'_>,
        layout: Layout,
        (level, scale): (Level, f64),
        (mask, outlined): (bool, bool),
    ) -> Result<Self, CkksError> {
        // Bodies under one mask are compared. Numbers that may have no room are encoded to find out.
        let is_outline = outlined
            && layout.bodies() == 1
            && check_headroom(&x.params, values.largest(), scale, level).is_ok();
        let encode = if is_outline { Self::outlined } else { Self::rounded };
        let encoded = encode(&x.params, values, (&x.shape, layout), (level, scale), mask)?;
        let (repetitions, together) =
            (values.repetitions(&encoded.layout), values.together(encoded.layout.columns()));
        Ok(Self { repetitions, together, ..encoded })
    }

    /// [`Plaintext::encode_for`] for a mask: `number` at the flat indices that `chosen` selects, zeros
    /// elsewhere.
    pub(crate) fn mask_for(
        x: &Ciphertext,
        chosen: impl Fn(usize) -> bool,
        number: f64,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        let values: Vec<f64> =
            (0..x.shape.iter().product()).map(|index| if chosen(index) { number } else { 0.0 }).collect();
        let layout = x.layout.of_numbers(x.is_complex() && x.encoding() != Encoding::Slots);
        Self::operand_for(x, ValuesRef::from(&values), layout, (level, scale), (true, x.is_symbol()))
    }

    fn rounded(
        params: &Params,
        values: ValuesRef<'_>,
        (shape, layout): (&[usize], Layout),
        (level, scale): (Level, f64),
        mask: bool,
    ) -> Result<Self, CkksError> {
        let mut own = Self::outlined(params, values, (shape, layout), (level, scale), mask)?;
        let (layout, name, nearest, largest) = (own.layout, own.name, own.nearest, values.largest());
        let encode = |polynomial| {
            let case = if layout.bodies() == 1 {
                polynomial as u64
            } else {
                values.name_of_some(layout.held(polynomial).map(|(_, index)| index))
            };
            let random = Rounding::of(name).of_case(scale.to_bits()).of_case(case);
            let rounding = if nearest { Rounding::Nearest } else { random };
            encode_polynomial(params, (values, largest), &layout, polynomial, (scale, rounding), level)
        };
        own.messages = (0..layout.polynomials()).map(encode).collect::<Result<_, _>>()?;
        Ok(own)
    }

    /// What is known of an encoding, without its polynomials.
    fn outlined(
        params: &Params,
        values: ValuesRef<'_>,
        (shape, layout): (&[usize], Layout),
        (level, scale): (Level, f64),
        mask: bool,
    ) -> Result<Self, CkksError> {
        let layout = layout.with_padding(Padding::Zero);
        layout.check(shape, params.degree())?;
        check_values(values, shape, &layout)?;
        params.check_level(level)?;
        params.check_scale(scale, level)?;
        let largest = values.largest();
        let (size, one_number, name) = (values.size(largest), values.is_one_number(), values.name());
        let repetitions = [1, 1];
        // Every encoding of an array gives the same integers. Polynomials under one mask are multiplied by
        // one factor, so equal polynomials must have equal encodings.
        let nearest = mask && is_fine(params.degree(), largest * scale);
        Ok(Self {
            params: params.clone(),
            shape: shape.to_vec(),
            layout,
            level,
            scale,
            size,
            filled: values.filled(),
            one_number,
            name,
            repetitions,
            together: [1.0; 2],
            nearest,
            messages: Vec::new(),
        })
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The array's shape.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How numbers are encoded in polynomials.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.layout.encoding()
    }

    /// Whether entries are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.layout.is_complex()
    }

    /// The place of each number.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The largest magnitude of the numbers.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.size.0
    }

    /// The estimate of the numbers, without the encoding error.
    pub(crate) fn estimate(&self) -> Estimate {
        let (magnitude, _, mean) = self.size;
        // An array of one real number has the name of that number, for any shape.
        let name = if self.one_number && mean.abs() == magnitude { name_of([mean, 0.0]) } else { self.name };
        Estimate::plain(name, (self.size, self.together), (self.one_number, self.nearest))
    }

    /// The estimate of the numbers with the encoding error.
    pub(crate) fn rounded_estimate(&self) -> Estimate {
        let terms = self.layout.coefficients_of_number(self.params.degree());
        let (typical, worst) = if self.nearest {
            let error = mask_error(terms, self.scale);
            (error, error)
        } else {
            encoding_errors(terms, self.scale)
        };
        // Zeros are encoded exactly. Where numbers repeat, most coefficients are zero.
        let repetitions = self.repetitions.map(|count| count as f64);
        let share =
            if self.largest() == 0.0 { 0.0 } else { (repetitions[0] * repetitions[1]).sqrt().recip() };
        self.estimate().with_rounding_alike(repetitions, typical * share, worst * share)
    }

    /// As [`Plaintext::rounded_estimate`], of the term of a sum: there, zeros are numbers like others, while
    /// a product has no errors at them.
    pub(crate) fn term_estimate(&self) -> Estimate {
        let mut own = self.rounded_estimate();
        (own.typical, own.mean) = (own.typical * self.filled.sqrt(), own.mean * self.filled);
        own
    }

    /// Whether all numbers are equal.
    pub(crate) fn is_one_number(&self) -> bool {
        self.one_number
    }

    /// The encoded polynomials, numbered as by [`Layout::polynomial_at`].
    #[must_use]
    pub fn messages(&self) -> &[Poly<Eval>] {
        &self.messages
    }

    /// The encoded polynomials as an operand for `x`, modulo the primes of `x`'s level.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`], [`CkksError::Encoding`], [`CkksError::Shape`],
    /// [`CkksError::Unsuitable`]; [`CkksError::OutOfRange`] for a level below `x`'s.
    pub(crate) fn operand(
        &self,
        x: &Ciphertext,
        operation: &'static str,
    ) -> Result<Cow<'_, [Poly<Eval>]>, CkksError> {
        x.params.check_same(&self.params, "the plaintext")?;
        if self.encoding() != x.encoding() {
            let (expected, got) = (x.encoding().name().to_owned(), self.encoding().name().to_owned());
            return Err(CkksError::Encoding { operation, expected, got });
        }
        if self.shape != x.shape {
            let remedy = "ciphertext and plaintext combine at equal shapes".to_owned();
            return Err(CkksError::Shape {
                operation,
                left: x.shape.clone(),
                right: self.shape.clone(),
                remedy,
            });
        }
        if !self.layout.same_polynomials(&x.layout) {
            let remedy = "encode the plaintext for this ciphertext with encode_for";
            return Err(CkksError::different_layouts(operation, x.layout, self.layout, remedy));
        }
        if self.level < x.level {
            let remedy = format!("encode it at level {} or higher, or drop the ciphertext", x.level);
            return Err(CkksError::OutOfRange {
                what: "the plaintext's level",
                value: self.level.to_string(),
                remedy,
            });
        }
        if self.level == x.level {
            return Ok(Cow::Borrowed(&self.messages));
        }
        let basis = self.params.chain().basis(x.level);
        let restricted: Result<Vec<_>, _> =
            self.messages.iter().map(|message| message.restrict(&basis)).collect();
        Ok(Cow::Owned(restricted?))
    }
}
