//! Products of a plain matrix with encrypted rows that share masks, with keys that are combined for the
//! matrix in advance.
//!
//! Without preparation, `W @ x` also multiplies the masks of all rows by `W`. If the rows share masks, this
//! product is not needed: keys combined for `W` switch the masks directly to the rows of the result
//! ([`clathrate_lattice::row_products`]). What remains is one floating-point product of the size of `W @ x`,
//! or two for more precision, and work that grows with the size of the result.
//!
//! Rows shorter than a polynomial share polynomials ([`crate::arrays::Layout::with_lanes`]), in the result,
//! too. The result is rescaled and under the main secret, and each of its polynomials has a separate mask.
//!
//! Source: [pcmm-mambo, sec. 4.3, App. B, sec. 5].

mod operands;
mod options;
mod plan;
mod product;

pub use options::{Arrangement, PreparedOptions};
pub use plan::PreparedPlan;
pub use product::PreparedMatrix;

use crate::arrays::{BodyAxis, Ciphertext, SecretName};
use crate::error::CkksError;

/// The operation's name in errors.
const PREPARE: &str = "a prepared matrix";

/// Refuses arrays that prepared matrices do not multiply: those whose rows do not share masks, or whose
/// polynomials were split by a move to a lower degree.
fn check_rows(x: &Ciphertext) -> Result<(), CkksError> {
    let layout = x.layout();
    x.params().check_body_parts(x.params().degree())?;
    let refused = |reason: String| Err(CkksError::Unsuitable { operation: PREPARE, reason });
    if !matches!(x.secret(), SecretName::Bodies(_))
        || (layout.body_axis() != BodyAxis::Rows && layout.bodies() > 1)
    {
        return refused(
            "the rows do not share masks: encrypt them with several bodies along the rows, or bring them under one mask with share_mask"
                .to_owned(),
        );
    }
    if layout.components() > 1 {
        return refused("the polynomials of its rows were split: use the array at its own degree".to_owned());
    }
    Ok(())
}
