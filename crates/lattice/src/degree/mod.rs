//! Moves of the degree at equal `n * k`, in either form: combining and splitting through the subring `Z[X^gap]`.
//!
//! `R_N` is a free module over `R_n` (`Y = X^gap`, `gap = N / n` a power of two) of rank `gap`. A product with a secret becomes a matrix product,
//! so an RLWE sample at degree `N` gives MLWE samples of rank `gap` at degree `n`, and back.
//!
//! # Order of components
//! With `brv` the reversal of `log gap` bits,
//!
//! ```text
//! secrets, messages    s = sum_p X^brv(p) s_p(Y)
//! masks                a = sum_p X^-brv(p) a_p(Y)
//! ```
//!
//! ([`SecretKey::split_degree`], [`Poly::split_components`]; [`Poly::split_mask`]), so that the component 0 of `a s` is `sum_p a_p s_p`. In this order
//! moves nest: splitting by 2 and by 2 again is splitting by 4. And they commute with halving the rank: of the `2^t` components of one polynomial the
//! first half are the components of its half of even powers.
//!
//! # Forms
//! [`coeff`] moves coefficients, [`eval`] runs the transform's last stages on values: no transform to the other form. Both give the same polynomials,
//! bit for bit. What is the same for both is here.
//!
//! # The paper's maps
//! `iota` and `epsilon` are its own. Its `pi` is [`Poly::split_components`] with component `p` at place `brv(p)`; its `K`-th value is ours in slot `brv_N(K)`. It embeds
//! masks by `pi^-1` and twists secrets by `rho`; here secrets are plain and the mask has the twist ([`Poly::combine_mask`]), so that one secret serves all degrees and ranks:
//! `rho` turns the order of a secret's components round and shifts them, and half of `rho(s)` is not `rho` of half of `s`.
//!
//! Source: [hermes, sec. 2.2 and 4.2], [dpad-he, sec. 4.1]; differs: orders, the twist on the masks, and `epsilon` in Eval form, which the paper leaves open
//! and is a mean of neighbouring slots here.

pub mod coeff;
pub mod eval;

use clathrate_arith::Twist;
use clathrate_arith::kernels::scalar::bit_reverse;

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Domain, Poly};
use crate::ring::Ring;
use crate::secret::SecretKey;

/// What a form must be able to do; arguments fit each other, as the methods built on it check.
pub trait DegreeMove: Domain {
    /// `x(X^gap)` in the ring `large`.
    fn repeat(x: &Poly<Self>, large: &Ring) -> Poly<Self>;

    /// The component at place 0, in the ring `small`.
    fn first(x: &Poly<Self>, small: &Ring) -> Poly<Self>;

    /// `sum_p X^(+-brv(p)) parts[p](X^gap)` in the ring `large`; at least one part.
    fn join(large: &Ring, parts: &[Poly<Self>], twist: Twist) -> Poly<Self>;

    /// The inverse of [`DegreeMove::join`].
    fn split(x: &Poly<Self>, small: &Ring, twist: Twist) -> Vec<Poly<Self>>;

    /// Every polynomial times `X^power`, `power` in `[0, 2 N)`; at least one, all over one basis.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] and its like where they are not.
    fn shift(polys: &[&Poly<Self>], power: usize) -> Result<Vec<Poly<Self>>, LatticeError>;
}

/// Checks that `target` divides `degree` into a power-of-two gap and returns the gap.
fn gap_of(degree: usize, target: usize, rank: usize, what: &'static str) -> Result<usize, LatticeError> {
    if target == 0 || !degree.is_multiple_of(target) || !(degree / target).is_power_of_two() {
        return Err(LatticeError::DegreeChange { degree, rank, target, what });
    }
    Ok(degree / target)
}

/// The gap between `degree` and a larger `target`; it must divide the rank.
fn gap_up(degree: usize, target: usize, rank: usize) -> Result<usize, LatticeError> {
    let refused = LatticeError::DegreeChange { degree, rank, target, what: "rank" };
    gap_of(target, degree, rank, "rank").ok().filter(|&gap| rank.is_multiple_of(gap)).ok_or(refused)
}

/// Refuses rings with other moduli: a degree move keeps every residue.
fn check_moduli(from: &Ring, to: &Ring) -> Result<(), LatticeError> {
    if from.moduli() == to.moduli() {
        return Ok(());
    }
    Err(LatticeError::RingMismatch { left: from.degree(), right: to.degree() })
}

/// The power of `X` that component `place` of `gap` carries.
fn power_of(gap: usize, place: usize) -> usize {
    bit_reverse(place, gap.trailing_zeros())
}

/// Refuses components that do not exist.
fn check_component(gap: usize, component: usize) -> Result<(), LatticeError> {
    if component < gap { Ok(()) } else { Err(LatticeError::ComponentOutOfRange { component, gap }) }
}

impl<D: DegreeMove> Poly<D> {
    /// `self(X^gap)` in the ring `large` of degree `N = gap n`: the map `iota`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit; [`LatticeError::RingMismatch`] where the moduli differ.
    pub fn iota(&self, large: &Ring) -> Result<Self, LatticeError> {
        gap_of(large.degree(), self.ring().degree(), 1, "degree").map_err(|_| self.degree_change(large))?;
        check_moduli(self.ring(), large)?;
        Ok(D::repeat(self, large))
    }

    /// The coefficients of powers of `X^gap`, in the ring `small` of degree `n = N / gap`: the map `epsilon`, with `epsilon(iota(b)) = b` and
    /// `epsilon(iota(b) x) = b epsilon(x)`.
    ///
    /// # Errors
    /// As [`Poly::iota`].
    pub fn epsilon(&self, small: &Ring) -> Result<Self, LatticeError> {
        self.check_split(small)?;
        Ok(D::first(self, small))
    }

    /// All components `p_i` of `self = sum_i X^brv(i) p_i(X^gap)`, in the ring `small` of degree `n = N / gap`: the map `pi`.
    ///
    /// # Errors
    /// As [`Poly::iota`].
    pub fn split_components(&self, small: &Ring) -> Result<Vec<Self>, LatticeError> {
        self.check_split(small)?;
        Ok(D::split(self, small, Twist::Positive))
    }

    /// One of them alone.
    ///
    /// # Errors
    /// As [`Poly::iota`]; [`LatticeError::ComponentOutOfRange`].
    pub fn split_component(&self, small: &Ring, component: usize) -> Result<Self, LatticeError> {
        let gap = self.check_split(small)?;
        check_component(gap, component)?;
        if component == 0 {
            return Ok(D::first(self, small));
        }
        Ok(D::split(self, small, Twist::Positive).swap_remove(component))
    }

    /// `sum_i X^brv(i) p_i(X^gap)` in the ring `large`: the inverse of [`Poly::split_components`], `pi^-1`.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without components; [`LatticeError::DegreeChange`] where their number is not the ratio of the degrees;
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where they differ.
    pub fn combine_components(large: &Ring, components: &[Self]) -> Result<Self, LatticeError> {
        Self::check_combine(large, components)?;
        Ok(D::join(large, components, Twist::Positive))
    }

    /// All components `a_i` of `self = sum_i X^-brv(i) a_i(X^gap)`: those of a mask, that meet the components of a secret.
    ///
    /// # Errors
    /// As [`Poly::iota`].
    pub fn split_mask(&self, small: &Ring) -> Result<Vec<Self>, LatticeError> {
        self.check_split(small)?;
        Ok(D::split(self, small, Twist::Negative))
    }

    /// `sum_i X^-brv(i) a_i(X^gap)` in the ring `large`: the inverse of [`Poly::split_mask`].
    ///
    /// # Errors
    /// As [`Poly::combine_components`].
    pub fn combine_mask(large: &Ring, components: &[Self]) -> Result<Self, LatticeError> {
        Self::check_combine(large, components)?;
        Ok(D::join(large, components, Twist::Negative))
    }

    fn degree_change(&self, target: &Ring) -> LatticeError {
        LatticeError::DegreeChange { degree: self.ring().degree(), rank: 1, target: target.degree(), what: "degree" }
    }

    fn check_split(&self, small: &Ring) -> Result<usize, LatticeError> {
        check_moduli(self.ring(), small)?;
        gap_of(self.ring().degree(), small.degree(), 1, "degree")
    }

    fn check_combine(large: &Ring, components: &[Self]) -> Result<(), LatticeError> {
        let first = components.first().ok_or(LatticeError::EmptyShape { what: "the number of components", got: 0 })?;
        check_moduli(first.ring(), large)?;
        let (small, rank, target) = (first.ring().degree(), components.len(), large.degree());
        if gap_up(small, target, rank)? != rank {
            return Err(LatticeError::DegreeChange { degree: small, rank, target, what: "rank" });
        }
        components.iter().try_for_each(|component| first.check_same_basis(component))
    }
}

impl<D: DegreeMove> Bundle<D> {
    /// The MLWE sample, of rank `k gap` at degree `n = N / gap`, whose messages are `epsilon` of this bundle's: the component at place 0.
    ///
    /// ```text
    /// epsilon(b + sum_j a_j s_j) = epsilon(b) + sum_(j, p) a_(j, p) s_(j, p)    for s_j = sum_p X^brv(p) s_(j, p)(Y), a_j = sum_p X^-brv(p) a_(j, p)(Y)
    /// ```
    ///
    /// Its secret is [`SecretKey::split_degree`]. One pass over the values in Eval form.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit; [`LatticeError::RingMismatch`] where the moduli differ.
    ///
    /// Source: [dpad-he, sec. 4.1.2]; differs: see the module.
    pub fn extract(&self, small: &Ring) -> Result<Self, LatticeError> {
        if self.check_extract(small)? == 1 {
            return Ok(self.clone());
        }
        let mask = self.mask().iter().flat_map(|poly| D::split(poly, small, Twist::Negative)).collect();
        Self::new(mask, self.bodies().iter().map(|poly| D::first(poly, small)).collect())
    }

    /// The MLWE sample of component `component` of this bundle's messages: [`Bundle::extract`] of `X^-brv(component)` times the bundle.
    ///
    /// Its secret is that of component 0. In Eval form, components other than 0 cost the transform of a monomial and a product more.
    ///
    /// # Errors
    /// As [`Bundle::extract`]; [`LatticeError::ComponentOutOfRange`].
    pub fn extract_component(&self, small: &Ring, component: usize) -> Result<Self, LatticeError> {
        let gap = self.check_extract(small)?;
        check_component(gap, component)?;
        if component == 0 {
            return self.extract(small);
        }
        let polys: Vec<&Poly<D>> = self.polys().collect();
        let mut mask = D::shift(&polys, 2 * self.ring().degree() - power_of(gap, component))?;
        let bodies = mask.split_off(self.rank());
        Self::new(mask, bodies)?.extract(small)
    }

    /// The sample at degree `N = n gap` and rank `k / gap` whose messages `m` have `epsilon(m) =` this bundle's: the inverse of [`Bundle::extract`], under
    /// [`SecretKey::combine_degree`].
    ///
    /// The other components of the messages are whatever the mask gives; they vanish by the traces over the rotations that fix `X^gap`.
    /// One pass over the values in Eval form.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the gap does not divide the rank or is no power of two; [`LatticeError::RingMismatch`] where the moduli differ.
    ///
    /// Source: [dpad-he, sec. 4.1.1]; differs: see the module.
    pub fn embed(&self, large: &Ring) -> Result<Self, LatticeError> {
        let gap = gap_up(self.ring().degree(), large.degree(), self.rank())?;
        check_moduli(self.ring(), large)?;
        if gap == 1 {
            return Ok(self.clone());
        }
        let mask = self.mask().chunks_exact(gap).map(|group| D::join(large, group, Twist::Negative)).collect();
        Self::new(mask, self.bodies().iter().map(|poly| D::repeat(poly, large)).collect())
    }

    fn check_extract(&self, small: &Ring) -> Result<usize, LatticeError> {
        check_moduli(self.ring(), small)?;
        gap_of(self.ring().degree(), small.degree(), self.rank(), "degree")
    }
}

impl SecretKey {
    /// The same secret as a vector of `rank * gap` polynomials of degree `degree`: `s_j = sum_p X^brv(p) s_(j, p)(X^gap)`, `s_(j, p)` at place `j gap + p`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit.
    pub fn split_degree(&self, degree: usize) -> Result<Self, LatticeError> {
        let gap = gap_of(self.degree(), degree, self.rank(), "degree")?;
        let mut coefficients = zeroize::Zeroizing::new(Vec::with_capacity(self.all_coefficients().len()));
        for poly in self.all_coefficients().chunks_exact(self.degree()) {
            for place in 0..gap {
                coefficients.extend(poly[power_of(gap, place)..].iter().step_by(gap));
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
        let mut coefficients = zeroize::Zeroizing::new(vec![0; self.all_coefficients().len()]);
        for (large, small) in coefficients.chunks_exact_mut(degree).zip(self.all_coefficients().chunks_exact(degree)) {
            for (place, part) in small.chunks_exact(self.degree()).enumerate() {
                for (target, &value) in large[power_of(gap, place)..].iter_mut().step_by(gap).zip(part) {
                    *target = value;
                }
            }
        }
        Self::from_coefficients(degree, self.rank() / gap, self.bodies(), self.distribution(), coefficients)
    }
}
