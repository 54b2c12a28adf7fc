//! Moves of the degree at equal `n * k`, in Coeff form: combining and splitting through the subring `Z[X^gap]`.
//!
//! `R_N` is a free module over `R_n` (`Y = X^gap`, `gap = N / n`) with basis `1, X, .., X^{gap-1}`. A product with a secret becomes
//! a matrix product, so an RLWE sample at degree `N` gives MLWE samples of rank `gap` at degree `n`, and back.
//! Source: [hermes, sec. 2.2], [dpad-he, sec. 4.1].

use clathrate_arith::automorphism::{subring_embed, subring_extract};

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Coeff, Poly};
use crate::ring::Ring;
use crate::secret::SecretKey;

/// Checks that `target` divides `degree` into a power-of-two gap and returns the gap.
fn gap_of(degree: usize, target: usize, rank: usize, what: &'static str) -> Result<usize, LatticeError> {
    if target == 0 || !degree.is_multiple_of(target) || !(degree / target).is_power_of_two() {
        return Err(LatticeError::DegreeChange { degree, rank, target, what });
    }
    Ok(degree / target)
}

/// The gap between `degree` and a larger `target`, checked likewise.
fn gap_up(degree: usize, target: usize, rank: usize) -> Result<usize, LatticeError> {
    gap_of(target, degree, rank, "rank").map_err(|_| LatticeError::DegreeChange { degree, rank, target, what: "rank" })
}

/// Refuses rings with other moduli: a degree move keeps every residue.
fn check_moduli(from: &Ring, to: &Ring) -> Result<(), LatticeError> {
    if from.moduli() == to.moduli() {
        return Ok(());
    }
    Err(LatticeError::RingMismatch { left: from.degree(), right: to.degree() })
}

impl Poly<Coeff> {
    /// The component `p_i` of `self = sum_i X^i p_i(X^gap)`, in the ring `small` of degree `n = N / gap`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit, or `component >= gap`; [`LatticeError::RingMismatch`] where the
    /// moduli differ.
    pub fn split_component(&self, small: &Ring, component: usize) -> Result<Self, LatticeError> {
        check_moduli(self.ring(), small)?;
        let gap = gap_of(self.ring().degree(), small.degree(), 1, "degree")?;
        if component >= gap {
            return Err(LatticeError::DegreeChange { degree: self.ring().degree(), rank: 1, target: small.degree(), what: "component" });
        }
        let mut data = small.engine().scratch(self.basis().len());
        for row in 0..self.basis().len() {
            subring_extract(data.row_mut(row), self.data().row(row), gap, component);
        }
        Ok(Self::from_buffer(small, self.basis(), data))
    }

    /// `sum_i X^i p_i(X^gap)` in the ring `large`: the inverse of splitting into all components.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the number of components is not the ratio of the degrees.
    pub fn combine_components(large: &Ring, components: &[Self]) -> Result<Self, LatticeError> {
        let first = components.first().ok_or(LatticeError::EmptyShape { what: "the number of components", got: 0 })?;
        check_moduli(first.ring(), large)?;
        let small = first.ring().degree();
        let gap = gap_up(small, large.degree(), components.len())?;
        if gap != components.len() {
            return Err(LatticeError::DegreeChange { degree: small, rank: components.len(), target: large.degree(), what: "rank" });
        }
        let mut data = large.engine().scratch(first.basis().len());
        for (offset, component) in components.iter().enumerate() {
            first.check_same_basis(component)?;
            for row in 0..first.basis().len() {
                subring_embed(data.row_mut(row), component.data().row(row), gap, offset);
            }
        }
        Ok(Self::from_buffer(large, first.basis(), data))
    }
}

impl Bundle<Coeff> {
    /// The MLWE sample, of rank `k * gap` at degree `n`, of component `component` of this bundle's messages.
    ///
    /// With `s = sum_i X^i s_i(Y)` and `a = sum_i X^i a_i(Y)`, the component `c` of `a s` is
    /// `sum_i s_i a_{c-i}` with `a_{c-i} = Y a_{c-i+gap}` for `i > c`: its secret is [`SecretKey::split_degree`].
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit.
    pub fn extract_component(&self, small: &Ring, component: usize) -> Result<Self, LatticeError> {
        let gap = gap_of(self.ring().degree(), small.degree(), self.rank(), "degree")?;
        let mut mask = Vec::with_capacity(self.rank() * gap);
        for poly in self.mask() {
            for i in 0..gap {
                let part = if i <= component {
                    poly.split_component(small, component - i)?
                } else {
                    poly.split_component(small, component + gap - i)?.mul_monomial(1)
                };
                mask.push(part);
            }
        }
        let bodies = self.bodies().iter().map(|poly| poly.split_component(small, component)).collect::<Result<_, _>>()?;
        Self::new(mask, bodies)
    }

    /// The sample at degree `N = n * gap` and rank `k / gap` whose messages are this bundle's, embedded by `Y -> X^gap`:
    /// the inverse of [`Bundle::extract_component`] at component 0, under [`SecretKey::combine_degree`].
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the gap does not divide the rank.
    pub fn embed(&self, large: &Ring) -> Result<Self, LatticeError> {
        let (small, rank) = (self.ring().clone(), self.rank());
        let gap = gap_up(small.degree(), large.degree(), rank)?;
        if !rank.is_multiple_of(gap) {
            return Err(LatticeError::DegreeChange { degree: small.degree(), rank, target: large.degree(), what: "rank" });
        }
        let last_shift = 2 * small.degree() - 1; // Y^-1 = Y^(2n - 1)
        let mask = self
            .mask()
            .chunks(gap)
            .map(|group| {
                // group[0] = a_0, group[i] = Y a_{gap-i}
                let mut parts = vec![group[0].clone()];
                parts.extend((1..gap).map(|j| group[gap - j].mul_monomial(last_shift)));
                Poly::combine_components(large, &parts)
            })
            .collect::<Result<_, _>>()?;
        let zero = Poly::zero(&small, self.basis());
        let bodies = self
            .bodies()
            .iter()
            .map(|body| {
                let parts: Vec<_> = std::iter::once(body.clone()).chain(std::iter::repeat_with(|| zero.clone()).take(gap - 1)).collect();
                Poly::combine_components(large, &parts)
            })
            .collect::<Result<_, _>>()?;
        Self::new(mask, bodies)
    }
}

impl SecretKey {
    /// The same secret as a vector of `rank * gap` polynomials of degree `degree`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit.
    pub fn split_degree(&self, degree: usize) -> Result<Self, LatticeError> {
        let gap = gap_of(self.degree(), degree, self.rank(), "degree")?;
        let mut coefficients = zeroize::Zeroizing::new(Vec::with_capacity(self.all_coefficients().len()));
        for poly in self.all_coefficients().chunks_exact(self.degree()) {
            for component in 0..gap {
                coefficients.extend(poly[component..].iter().step_by(gap));
            }
        }
        Self::from_coefficients(degree, self.rank() * gap, self.bodies(), self.distribution(), coefficients)
    }

    /// The inverse of [`SecretKey::split_degree`].
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the gap does not divide the rank.
    pub fn combine_degree(&self, degree: usize) -> Result<Self, LatticeError> {
        let gap = gap_up(self.degree(), degree, self.rank())?;
        if !self.rank().is_multiple_of(gap) {
            return Err(LatticeError::DegreeChange { degree: self.degree(), rank: self.rank(), target: degree, what: "rank" });
        }
        let mut coefficients = zeroize::Zeroizing::new(vec![0; self.all_coefficients().len()]);
        for (large, small) in coefficients.chunks_exact_mut(degree).zip(self.all_coefficients().chunks_exact(degree)) {
            for (component, part) in small.chunks_exact(self.degree()).enumerate() {
                for (target, &value) in large[component..].iter_mut().step_by(gap).zip(part) {
                    *target = value;
                }
            }
        }
        Self::from_coefficients(degree, self.rank() / gap, self.bodies(), self.distribution(), coefficients)
    }
}

impl Bundle<crate::poly::Eval> {
    /// placeholder
    pub fn embed(&self, large: &Ring) -> Result<Self, LatticeError> {
        Ok(self.clone().into_coeff().embed(large)?.into_eval())
    }
    /// placeholder
    pub fn extract(&self, small: &Ring) -> Result<Self, LatticeError> {
        Ok(self.clone().into_coeff().extract_component(small, 0)?.into_eval())
    }
}
