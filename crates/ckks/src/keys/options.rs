//! Options of an encryption.

use clathrate_lattice::Level;

use crate::arrays::{BodyAxis, Encoding, Layout, Order};
use crate::encoding::values::ValuesRef;
use crate::error::CkksError;
use crate::names::SecretName;

/// How many consecutive rows share a polynomial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// As many as fit.
    Most,
    /// This many, a power of two.
    Of(usize),
}

/// Options of an encryption. The default encodes vectors in slots and matrices in coefficients, at
/// [`Params::fresh_level`](crate::Params::fresh_level), with one body in each bundle.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let options = EncryptOptions { encoding: Some(Encoding::Coefficients), level: Some(Level(1)), ..EncryptOptions::default() };
/// let x = owner.encrypt_array(&[1.0, 2.0, 3.0], &[3], options)?;
/// assert_eq!((x.encoding(), x.level()), (Encoding::Coefficients, Level(1)));
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EncryptOptions {
    /// How numbers are encoded in polynomials; absent for slots for vectors and coefficients for matrices.
    pub encoding: Option<Encoding>,
    /// The level; absent for [`Params::fresh_level`](crate::Params::fresh_level).
    pub level: Option<Level>,
    /// The scale; absent for the level's canonical one.
    pub scale: Option<f64>,
    /// The number of bodies under one mask, under the secret [`SecretName::Bodies`]; absent for one body
    /// under the main secret.
    pub bodies: Option<usize>,
    /// Which axis the bodies index; absent for the chunks of a row if a row has several chunks, otherwise for
    /// rows.
    pub axis: Option<BodyAxis>,
    /// Numbers per polynomial, a power of two; absent for as many as a row needs (slots) or as fit into a
    /// polynomial (coefficients).
    pub capacity: Option<usize>,
    /// How many consecutive rows, of slots or of real coefficients, share a polynomial if rows are shorter
    /// than a polynomial; absent for one row per polynomial.
    pub lanes: Option<Lanes>,
    /// The number of neighbouring slots that hold the same number, as in sums of rows that share polynomials;
    /// absent for one.
    pub copies: Option<usize>,
    /// The order of numbers inside a polynomial.
    pub order: Order,
    /// The largest magnitude that the numbers may have, which is public; absent for no bound. With a bound,
    /// results have bounds too ([`Ciphertext::bound`](crate::Ciphertext::bound)), and the time of an
    /// encryption does not depend on the numbers. Without a bound, the time reveals whether double precision
    /// suffices for the largest number.
    pub bound: Option<f64>,
}

impl EncryptOptions {
    /// The layout of an array of this shape at degree `degree`.
    pub fn layout(&self, shape: &[usize], complex: bool, degree: usize) -> Result<Layout, CkksError> {
        let encoding = self.encoding.unwrap_or(if shape.len() == 2 && !complex {
            Encoding::Coefficients
        } else {
            Encoding::Slots
        });
        let mut layout = Layout::new(shape, encoding, degree)?;
        if complex {
            layout = layout.with_complex()?;
        }
        if let Some(capacity) = self.capacity {
            layout = layout.with_capacity(capacity)?;
        }
        // Matrices of an array of more axes are small, so their rows share polynomials.
        let alone = self.capacity.is_none() && self.bodies.is_none_or(|bodies| bodies == 1);
        let stacked = shape.len() > 2 && encoding == Encoding::Slots && layout.chunks() == 1 && alone;
        if let Some(lanes) = self.lanes.or(stacked.then_some(Lanes::Most)) {
            let packed = layout.with_lanes(match lanes {
                Lanes::Most => None,
                Lanes::Of(count) => Some(count),
            })?;
            if let Some(capacity) =
                self.capacity.filter(|&capacity| packed.lanes() > 1 && capacity != packed.capacity())
            {
                let remedy =
                    format!("with several rows in a polynomial leave it out: it is {}", packed.capacity());
                return Err(CkksError::OutOfRange {
                    what: "the capacity of a polynomial",
                    value: capacity.to_string(),
                    remedy,
                });
            }
            layout = packed;
        }
        if let Some(copies) = self.copies {
            layout = layout.with_copies(copies)?;
        }
        Ok(layout.with_bodies(self.bodies.unwrap_or(1), self.axis)?.with_order(self.order))
    }

    /// Refuses numbers above the bound, and a bound that is not positive and finite.
    ///
    /// # Errors
    /// [`CkksError::OutOfRange`].
    #[inline(never)] // Tests find the branch on the numbers by the name of this function.
    pub(super) fn check_bound(&self, values: ValuesRef<'_>) -> Result<(), CkksError> {
        let Some(bound) = self.bound else { return Ok(()) };
        if !(bound.is_finite() && bound > 0.0) {
            let remedy = "give the largest magnitude that the numbers may have, above 0".to_owned();
            return Err(CkksError::OutOfRange {
                what: "the bound on the numbers",
                value: bound.to_string(),
                remedy,
            });
        }
        let largest = values.largest();
        if largest <= bound {
            return Ok(());
        }
        let remedy =
            format!("the declared bound is {bound:e}: declare a larger one, or scale the numbers down");
        Err(CkksError::OutOfRange {
            what: "the largest magnitude of the numbers",
            value: format!("{largest:e}"),
            remedy,
        })
    }

    /// The secret that the array is under.
    #[must_use]
    pub fn secret(&self) -> SecretName {
        self.bodies.map_or(SecretName::Main, SecretName::Bodies)
    }
}
