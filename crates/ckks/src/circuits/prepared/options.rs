//! The options of a plan of products, and how its arrays are encrypted.

use clathrate_lattice::Level;

use crate::arrays::{Encoding, Layout};
use crate::error::CkksError;
use crate::parameters::Params;

/// Options of a plan of products.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PreparedOptions {
    /// Correct bits after the binary point, on average, of results of numbers of magnitude 1; decides between
    /// one and two floating-point products. `None`: one if it costs almost no precision, else two; a plan
    /// with fewer than 6 correct bits is refused.
    pub precision_bits: Option<f64>,
    /// Number of floating-point products, 1 or 2; `None` for a choice by precision.
    pub products: Option<usize>,
    /// Whether each polynomial of the arrays has a separate mask, so that they are first brought under shared
    /// masks ([`Evaluator::share_mask_in_rounds`](crate::Evaluator::share_mask_in_rounds)) with further keys.
    /// Their errors are taken as those of public-key encryptions.
    pub own_masks: bool,
}

/// How the arrays of a plan are encrypted. Fields that are `None` are chosen by the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrangement {
    /// The level; 1 if `None`, where products are fastest and most precise.
    pub level: Option<Level>,
    /// Rows in a polynomial, a power of two; as many as possible if `None`.
    pub lanes: Option<usize>,
    /// Polynomials under one mask; if `None`, all that security allows.
    pub bodies: Option<usize>,
}

impl Arrangement {
    /// The level and the layout, except for masks, of matrices with `inner` rows and `columns` columns that a
    /// matrix of `rows` rows multiplies.
    ///
    /// # Errors
    /// Level errors; [`CkksError::Empty`]; [`CkksError::OutOfRange`] for more lanes than polynomials have
    /// room for.
    pub(in crate::circuits) fn layout(
        &self,
        params: &Params,
        (rows, inner, columns): (usize, usize, usize),
    ) -> Result<(Level, Layout), CkksError> {
        let level = self.level.unwrap_or(Level(1));
        params.check_level(level)?;
        let layout = Layout::new(&[inner, columns], Encoding::Coefficients, params.degree())?;
        // Lanes beyond the number of rows would only need keys.
        let most =
            || Ok::<_, CkksError>(layout.with_lanes(None)?.lanes().min(rows.max(inner).next_power_of_two()));
        Ok((level, layout.with_lanes(Some(self.lanes.map_or_else(most, Ok)?))?))
    }
}
