//! Moves of the degree in Coeff form: every `gap`-th coefficient.

use clathrate_arith::Twist;
use clathrate_arith::automorphism::{mul_monomial, subring_embed, subring_extract};

use super::{DegreeMove, power_of};
use crate::error::LatticeError;
use crate::poly::{Coeff, Poly};
use crate::ring::Ring;

impl DegreeMove for Coeff {
    fn repeat(x: &Poly<Self>, large: &Ring) -> Poly<Self> {
        let gap = large.degree() / x.ring().degree();
        let mut data = large.engine().zeroed(x.basis().len());
        for row in 0..x.basis().len() {
            subring_embed(data.row_mut(row), x.data().row(row), gap, 0);
        }
        Poly::from_buffer(large, x.basis(), data)
    }

    fn first(x: &Poly<Self>, small: &Ring) -> Poly<Self> {
        component(x, small, 0)
    }

    fn join(large: &Ring, parts: &[Poly<Self>], twist: Twist) -> Poly<Self> {
        let (gap, small, basis) = (parts.len(), parts[0].ring(), parts[0].basis());
        let mut data = large.engine().scratch(basis.len());
        let mut shifted = vec![0; small.degree()];
        for (place, part) in parts.iter().enumerate() {
            let power = power_of(gap, place);
            for (row, &index) in basis.indices().iter().enumerate() {
                if twist == Twist::Negative && power > 0 {
                    // X^-power = X^(gap - power) Y^-1, and Y^-1 = Y^(2n - 1).
                    mul_monomial(&mut shifted, part.data().row(row), 2 * small.degree() - 1, &small.moduli()[index]);
                    subring_embed(data.row_mut(row), &shifted, gap, gap - power);
                } else {
                    subring_embed(data.row_mut(row), part.data().row(row), gap, power);
                }
            }
        }
        Poly::from_buffer(large, basis, data)
    }

    fn split(x: &Poly<Self>, small: &Ring, twist: Twist) -> Vec<Poly<Self>> {
        let gap = x.ring().degree() / small.degree();
        let part = |place: usize| match (twist, power_of(gap, place)) {
            (Twist::Negative, power @ 1..) => component(x, small, gap - power).mul_monomial(1),
            (_, power) => component(x, small, power),
        };
        (0..gap).map(part).collect()
    }

    fn shift(polys: &[&Poly<Self>], power: usize) -> Result<Vec<Poly<Self>>, LatticeError> {
        Ok(polys.iter().map(|poly| poly.mul_monomial(power)).collect())
    }
}

/// The coefficients of `X^offset`, `X^(offset + gap)`, ..
fn component(x: &Poly<Coeff>, small: &Ring, offset: usize) -> Poly<Coeff> {
    let gap = x.ring().degree() / small.degree();
    let mut data = small.engine().scratch(x.basis().len());
    for row in 0..x.basis().len() {
        subring_extract(data.row_mut(row), x.data().row(row), gap, offset);
    }
    Poly::from_buffer(small, x.basis(), data)
}
