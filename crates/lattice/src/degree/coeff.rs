//! Moves of the degree in Coeff form.

use super::DegreeMove;
use crate::error::LatticeError;
use crate::poly::{Coeff, Polys, PolysRef};

impl DegreeMove for Coeff {
    fn shift(polys: PolysRef<'_, Self>, power: usize) -> Result<Polys<Self>, LatticeError> {
        let data = polys.ring().engine().mul_monomial(polys.rows(), power, polys.basis().indices());
        Ok(Polys::from_buffer(polys.ring(), polys.basis(), data))
    }
}
