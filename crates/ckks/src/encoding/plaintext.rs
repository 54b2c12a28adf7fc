//! Plaintexts: arrays encoded once, for any number of sums, products and encryptions.
//!
//! Sits between the keys, whose encoding it uses, and the evaluator, whose operands it makes.

use std::borrow::Cow;

use clathrate_lattice::{Bundle, Eval, Level, Poly, SecretRng};

use crate::arrays::{Ciphertext, Encoding, Layout};
use crate::encoding::encode_coefficients;
use crate::error::CkksError;
use crate::encoding::values::{Values, check_values, coefficients_of};
use crate::keys::SecretKey;
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
        Ok(Self { params: params.clone(), shape: shape.to_vec(), encoding, complex: values.is_complex(), level, scale, messages })
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

impl SecretKey {
    /// Encrypts an encoded array, at its level and scale.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`]; [`CkksError::Lattice`] where entropy fails.
    pub fn encrypt_encoded(&self, plaintext: &Plaintext) -> Result<Ciphertext, CkksError> {
        self.encrypt_encoded_rng(plaintext, &mut SecretRng::from_os()?)
    }

    /// As [`SecretKey::encrypt_encoded`] with given randomness: tests fix its seed.
    ///
    /// # Errors
    /// As [`SecretKey::encrypt_encoded`].
    pub fn encrypt_encoded_rng(&self, plaintext: &Plaintext, rng: &mut SecretRng) -> Result<Ciphertext, CkksError> {
        self.params().check_same(&plaintext.params, "the plaintext")?;
        let (chain, level) = (self.params().chain(), plaintext.level);
        let basis = chain.basis(level);
        let encrypt = |message: &Poly<Eval>| -> Result<_, CkksError> {
            let mut bundle = Bundle::encrypt_zero(self.secret(), chain.ring(), &basis, rng)?;
            bundle.add_message(0, message)?;
            Ok(bundle)
        };
        Ok(Ciphertext {
            params: self.params().clone(),
            key_id: self.id(),
            shape: plaintext.shape.clone(),
            encoding: plaintext.encoding,
            complex: plaintext.complex,
            level,
            scale: plaintext.scale,
            bundles: plaintext.messages.iter().map(encrypt).collect::<Result<_, _>>()?,
        })
    }
}
