//! Plaintexts: arrays encoded once, for any number of sums, products and encryptions.
//!
//! Sits between the keys, whose encoding it uses, and the evaluator, whose operands it makes.

use std::borrow::Cow;

use clathrate_lattice::{Eval, Level, Poly};

use crate::arrays::{Ciphertext, Encoding, Layout};
use crate::encoding::encode_coefficients;
use crate::encoding::values::{Values, check_values, coefficients_of};
use crate::error::CkksError;
use crate::parameters::Params;

/// An encoded array: what is left to do when it meets a ciphertext is a sum or a product of polynomials.
///
/// Immutable; holds `layout.bundles()` polynomials at one level and scale.
#[derive(Debug, Clone)]
pub struct Plaintext {
    params: Params,
    shape: Vec<usize>,
    encoding: Encoding,
    complex: bool,
    level: Level,
    scale: f64,
    largest: f64,
    messages: Vec<Poly<Eval>>,
}

impl Plaintext {
    /// Encodes an array: `round(scale * coefficients)`, bundle by bundle.
    ///
    /// Shapes: `values` row-major of `shape`, at most two axes; bundles as in [`Layout`].
    ///
    /// # Errors
    /// [`CkksError::Empty`], [`CkksError::Shape`], [`CkksError::Encoding`], [`CkksError::NotFinite`], [`CkksError::ValueTooLarge`],
    /// [`CkksError::ScaleOutOfRange`], level errors.
    pub fn encode(
        params: &Params,
        values: &Values,
        shape: &[usize],
        encoding: Encoding,
        level: Level,
        scale: f64,
    ) -> Result<Self, CkksError> {
        let layout = Layout::new(shape, encoding, params.degree())?;
        check_values(values, shape, encoding)?;
        params.check_level(level)?;
        params.check_scale(scale, level)?;
        let messages = (0..layout.bundles())
            .map(|index| {
                let coefficients = coefficients_of(params, values, layout.entries(index), encoding, layout.capacity);
                encode_coefficients(params, &coefficients, scale, level)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            params: params.clone(),
            shape: shape.to_vec(),
            encoding,
            complex: values.is_complex(),
            level,
            scale,
            largest: values.largest(),
            messages,
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

    /// The scale.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Largest magnitude of its numbers.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// The encoded polynomials, in the order of the array's bundles.
    #[must_use]
    pub fn messages(&self) -> &[Poly<Eval>] {
        &self.messages
    }

    /// The messages as an operand for `x`: those of its shape and encoding, modulo the primes of its level.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`], [`CkksError::Encoding`], [`CkksError::Shape`]; [`CkksError::OutOfRange`] for a level below `x`'s.
    pub(crate) fn operand(&self, x: &Ciphertext, operation: &'static str) -> Result<Cow<'_, [Poly<Eval>]>, CkksError> {
        x.params.check_same(&self.params, "the plaintext")?;
        if self.encoding != x.encoding {
            let (expected, got) = (x.encoding.name().to_owned(), self.encoding.name().to_owned());
            return Err(CkksError::Encoding { operation, expected, got });
        }
        if self.shape != x.shape {
            let remedy = "ciphertext and plaintext combine at equal shapes".to_owned();
            return Err(CkksError::Shape { operation, left: x.shape.clone(), right: self.shape.clone(), remedy });
        }
        if self.level < x.level {
            let remedy = format!("encode it at level {} or higher, or drop the ciphertext", x.level);
            return Err(CkksError::OutOfRange { what: "the plaintext's level", value: self.level.to_string(), remedy });
        }
        if self.level == x.level {
            return Ok(Cow::Borrowed(&self.messages));
        }
        let basis = self.params.chain().basis(x.level);
        let restricted: Result<Vec<_>, _> = self.messages.iter().map(|message| message.restrict(&basis)).collect();
        Ok(Cow::Owned(restricted?))
    }
}
