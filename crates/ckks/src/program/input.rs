//! What a program is given: the arrays that it computes on, and how they are encrypted.

use clathrate_lattice::Level;
use serde::{Deserialize, Serialize};

use crate::arrays::{Ciphertext, Encoding, Layout};
use crate::encoding::values::Values;
use crate::encrypted_array::PlainArray;
use crate::error::CkksError;
use crate::evaluation::Evaluator;
use crate::keys::{EncryptOptions, Lanes};

/// The most numbers of a plain input, for which dry runs allocate 128 MiB.
const MOST_PLAIN: usize = 1 << 24;

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
    /// Whether it is given in the clear, by whoever runs the program.
    #[serde(default)]
    pub is_plain: bool,
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
            is_plain: false,
            encoding: Encoding::Slots,
            lanes: false,
        }
    }

    /// The same array of numbers of magnitude at most `bound`.
    #[must_use]
    pub fn with_bound(self, bound: f64) -> Self {
        Self { bound: Some(bound), ..self }
    }

    /// The same array, given in the clear by whoever runs the program.
    #[must_use]
    pub fn plain(self) -> Self {
        Self { is_plain: true, ..self }
    }

    /// The largest numbers that a plain input may have, in its shape, for dry runs.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] for complex numbers, [`CkksError::OutOfRange`] without a bound, and for a
    /// shape without numbers.
    pub(super) fn largest_numbers(&self) -> Result<PlainArray, CkksError> {
        if self.is_complex {
            let reason =
                format!("the plain input \"{}\" is complex: give its real and its imaginary part", self.name);
            return Err(CkksError::Unsuitable { operation: "a program", reason });
        }
        let bound = self.bound.filter(|bound| bound.is_finite() && *bound > 0.0);
        let bound = bound.ok_or_else(|| CkksError::OutOfRange {
            what: "the bound of a plain input",
            value: self.bound.map_or_else(|| "missing".to_owned(), |bound| bound.to_string()),
            remedy: "declare the largest magnitude of its numbers, above 0".to_owned(),
        })?;
        let count = self.shape.iter().try_fold(1usize, |product, &axis| product.checked_mul(axis));
        let count =
            count.filter(|count| (1..=MOST_PLAIN).contains(count)).ok_or_else(|| CkksError::OutOfRange {
                what: "the shape of a plain input",
                value: format!("{:?}", self.shape),
                remedy: format!("use 1 to {MOST_PLAIN} numbers"),
            })?;
        Ok(PlainArray::new(Values::Real(vec![bound; count]), self.shape.clone()))
    }

    /// Refuses plain numbers that are not those of this input.
    ///
    /// # Errors
    /// [`CkksError::Shape`], [`CkksError::Unsuitable`] for complex numbers, [`CkksError::OutOfRange`] for
    /// numbers above the bound.
    pub(super) fn check_plain(&self, given: &PlainArray) -> Result<(), CkksError> {
        if given.shape != self.shape {
            return Err(CkksError::Shape {
                operation: "a program",
                left: self.shape.clone(),
                right: given.shape.clone(),
                remedy: format!("the plain input \"{}\" has another shape", self.name),
            });
        }
        let Values::Real(values) = &given.values else {
            let reason =
                format!("the plain input \"{}\" is complex, and the program expects real numbers", self.name);
            return Err(CkksError::Unsuitable { operation: "a program", reason });
        };
        let bound = self.bound.unwrap_or(0.0);
        match values.iter().find(|value| value.is_nan() || value.abs() > bound) {
            None => Ok(()),
            Some(value) => Err(CkksError::OutOfRange {
                what: "a number of a plain input",
                value: format!("{value:e} in \"{}\"", self.name),
                remedy: match value.is_finite() {
                    true => format!(
                        "the program was compiled for numbers up to {bound:e}: compile it with a larger bound"
                    ),
                    false => "give finite numbers".to_owned(),
                },
            }),
        }
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
