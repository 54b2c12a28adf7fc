//! Moves of the degree in Eval form; see [`clathrate_arith::kernels::components`].

use super::DegreeMove;
use crate::error::LatticeError;
use crate::poly::{Eval, Poly, Polys, PolysRef};

impl DegreeMove for Eval {
    fn shift(polys: PolysRef<'_, Self>, power: usize) -> Result<Polys<Self>, LatticeError> {
        let degree = polys.ring().degree();
        let mut monomial = vec![0; degree];
        monomial[power % degree] = if power < degree { 1 } else { -1 };
        let monomial = Poly::from_signed(polys.ring(), polys.basis(), &monomial).into_eval();
        let mut shifted = polys.to_owned();
        shifted.view_mut().mul_poly_assign(&monomial)?;
        Ok(shifted)
    }
}
