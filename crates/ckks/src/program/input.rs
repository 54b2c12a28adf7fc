//! What a program is given: the arrays that it computes on, and how they are encrypted.

use clathrate_lattice::Level;
use serde::{Deserialize, Serialize};

use crate::arrays::{Ciphertext, Encoding, Layout};
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::{EncryptOptions, Lanes};

/// An array that a program computes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramInput {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Whether its numbers are complex.
    #[serde(default)]
    pub is_complex: bool,
    /// The largest magnitude of its numbers, if it is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// How its numbers are encoded.
    pub encoding: Encoding,
    /// Whether as many rows as fit share a polynomial.
    #[serde(default)]
    pub lanes: bool,
}

impl ProgramInput {
    /// An array of real numbers in slots, without a bound.
    #[must_use]
    pub fn new(name: &str, shape: &[usize]) -> Self {
        Self {
            name: name.to_owned(),
            shape: shape.to_vec(),
            is_complex: false,
            bound: None,
            encoding: Encoding::Slots,
            lanes: false,
        }
    }

    /// The same array of numbers of magnitude at most `bound`.
    #[must_use]
    pub fn with_bound(self, bound: f64) -> Self {
        Self { bound: Some(bound), ..self }
    }

    /// How the array is encrypted at `level`.
    #[must_use]
    pub fn options(&self, level: Level) -> EncryptOptions {
        EncryptOptions {
            encoding: Some(self.encoding),
            level: Some(level),
            lanes: self.lanes.then_some(Lanes::Most),
            bound: self.bound,
            ..EncryptOptions::default()
        }
    }

    /// The layout of the array in polynomials of degree `degree`.
    ///
    /// # Errors
    /// Those of [`EncryptOptions::layout`].
    pub fn layout(&self, degree: usize) -> Result<Layout, CkksError> {
        self.options(Level(0)).layout(&self.shape, self.is_complex, degree)
    }

    /// The symbol of the array at `level`, for the dry run of `evaluator`.
    ///
    /// # Errors
    /// Those of the layout, and of [`Evaluator::take_symbol`].
    pub(super) fn symbol(&self, evaluator: &Evaluator, level: Level) -> Result<Ciphertext, CkksError> {
        let params = evaluator.params();
        params.check_level(level)?;
        let options = self.options(level);
        let layout = self.layout(params.degree())?;
        let scale = params.scale(level);
        let symbol = Ciphertext::symbol_with(params, &self.shape, layout, options.secret(), level, scale)?;
        evaluator.take_symbol(symbol, self.bound)
    }
}
