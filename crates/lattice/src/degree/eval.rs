//! Moves of the degree in Eval form: the engine of the larger degree joins and splits values; see [`clathrate_arith::kernels::components`].

use clathrate_arith::{Buffer, Twist};

use super::DegreeMove;
use crate::error::LatticeError;
use crate::poly::{Eval, Poly};
use crate::ring::Ring;

impl DegreeMove for Eval {
    fn repeat(x: &Poly<Self>, large: &Ring) -> Poly<Self> {
        Poly::from_buffer(large, x.basis(), large.engine().repeat_values(x.data()))
    }

    fn first(x: &Poly<Self>, small: &Ring) -> Poly<Self> {
        let mut data = small.engine().scratch(x.basis().len());
        x.ring().engine().mean_of_neighbours(&mut data, x.data(), x.basis().indices());
        Poly::from_buffer(small, x.basis(), data)
    }

    fn join(large: &Ring, parts: &[Poly<Self>], twist: Twist) -> Poly<Self> {
        let basis = parts[0].basis();
        let parts: Vec<&Buffer> = parts.iter().map(Poly::data).collect();
        Poly::from_buffer(large, basis, large.engine().join_components(&parts, twist, basis.indices()))
    }

    fn split(x: &Poly<Self>, small: &Ring, twist: Twist) -> Vec<Poly<Self>> {
        let gap = x.ring().degree() / small.degree();
        let mut parts: Vec<Buffer> = (0..gap).map(|_| small.engine().scratch(x.basis().len())).collect();
        x.ring().engine().split_components(&mut parts, x.data(), twist, x.basis().indices());
        parts.into_iter().map(|part| Poly::from_buffer(small, x.basis(), part)).collect()
    }

    fn shift(polys: &[&Poly<Self>], power: usize) -> Result<Vec<Poly<Self>>, LatticeError> {
        let (ring, basis) = (polys[0].ring(), polys[0].basis());
        let degree = ring.degree();
        let mut monomial = vec![0; degree];
        monomial[power % degree] = if power < degree { 1 } else { -1 };
        let monomial = Poly::from_signed(ring, basis, &monomial).into_eval();
        polys
            .iter()
            .map(|&poly| {
                let mut shifted = poly.clone();
                shifted.mul_assign(&monomial)?;
                Ok(shifted)
            })
            .collect()
    }
}
