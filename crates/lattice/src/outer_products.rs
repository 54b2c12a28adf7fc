//! Products of two matrices of residues whose rows are polynomials, where the left matrix is read by
//! coefficients.
//!
//! With polynomials `l_r` and `x_r`, row after row,
//!
//! ```text
//! y_p = sum_r l_r[p] x_r,        l_r[p] the coefficient of X^p
//! ```
//!
//! is row `p` of `L^T X` for the matrix `L` of the coefficients of the `l_r`. It is the sum of the outer
//! products of `l_r` with `x_r`, the step of which products of two encrypted matrices consist.

use clathrate_arith::product::COLUMN_BAND;
use clathrate_arith::{Rows, RowsMut};

use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Eval, PolyRef, Polys, PolysRef};
use crate::ring::Ring;

/// `y_p` for each `p` in `positions`, exactly. Each `x_r` is one or more polynomials, the same number for
/// every `r`.
///
/// `progress` is called before each [`COLUMN_BAND`] positions; if it returns `false`, the work stops and the
/// result is `None`.
///
/// # Errors
/// [`LatticeError::EmptyShape`] without rows; [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`]
/// where rings or bases differ; [`LatticeError::Arith`] where the lengths of `left` and `right` differ, or
/// for a position beyond the degree.
pub fn outer_products(
    left: &[PolyRef<'_, Coeff>],
    positions: &[usize],
    right: &[PolysRef<'_, Eval>],
    progress: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<Polys<Eval>>>, LatticeError> {
    let first = right.first().ok_or(LatticeError::EmptyShape { what: "the number of rows", got: 0 })?;
    let (ring, basis, count) = (first.ring(), first.basis(), first.len());
    let fits = |other: (&Ring, &Basis), same_count: bool| {
        if !other.0.same_as(ring) {
            return Err(LatticeError::RingMismatch { left: ring.degree(), right: other.0.degree() });
        }
        if other.1 != basis || !same_count {
            return Err(LatticeError::BasisMismatch { left: basis.len(), right: other.1.len() });
        }
        Ok(())
    };
    left.iter().try_for_each(|x| fits((x.ring(), x.basis()), true))?;
    right.iter().try_for_each(|x| fits((x.ring(), x.basis()), x.len() == count))?;
    let left: Vec<Rows<'_>> = left.iter().map(PolyRef::rows).collect();
    let right: Vec<Rows<'_>> = right.iter().map(PolysRef::rows).collect();
    let mut out: Vec<Polys<Eval>> = positions.iter().map(|_| Polys::scratch(ring, basis, count)).collect();
    for (out, positions) in out.chunks_mut(COLUMN_BAND).zip(positions.chunks(COLUMN_BAND)) {
        if !progress() {
            return Ok(None);
        }
        let mut targets: Vec<RowsMut<'_>> =
            out.iter_mut().map(|polys| polys.view_mut().into_rows()).collect();
        ring.engine().combine_coefficients(&mut targets, &left, positions, &right, basis.indices())?;
    }
    Ok(Some(out))
}
