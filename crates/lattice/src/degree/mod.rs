//! Changes the degree `n` of polynomials, and of bundles at equal `n * k`, in either form: combines and
//! splits them over the subring `Z[X^gap]`.
//!
//! `R_N` is a free module over `R_n` (`Y = X^gap`, `gap = N / n` a power of two) of rank `gap`. A product
//! with a secret becomes a matrix product, so an RLWE sample at degree `N` gives MLWE samples of rank `gap`
//! at degree `n`, and back.
//!
//! # Order of components
//! With `brv` the reversal of `log gap` bits,
//!
//! ```text
//! secrets, messages    s = sum_p X^brv(p) s_p(Y)
//! masks                a = sum_p X^-brv(p) a_p(Y)
//! ```
//!
//! ([`SecretKey::split_degree`], [`Poly::split_components`]; [`Poly::split_mask`]), so that component 0 of `a
//! s` is `sum_p a_p s_p`. In this order the moves nest: splitting by 2 twice is splitting by 4. They also
//! commute with halving the rank: the first half of the `2^t` components of a polynomial are the components
//! of its even powers.
//!
//! # Forms
//! In Coeff form the engine moves coefficients; in Eval form it runs the transform's last stages on the
//! values. Neither needs a transform to the other form, and both give the same polynomials, bit for bit.
//! [`coeff`] and [`eval`] hold the steps that differ between the forms.
//!
//! # The paper's maps
//! `iota` and `epsilon` are the paper's maps. The paper's `pi` is [`Poly::split_components`] with component
//! `p` at place `brv(p)`; its `K`-th value is our value in slot `brv_N(K)`. The paper embeds masks by `pi^-1`
//! and twists secrets by `rho`. Here the mask is twisted ([`Poly::combine_mask`]) and secrets are not, so
//! that one secret serves all degrees and ranks: `rho` reverses and shifts a secret's components, so half of
//! `rho(s)` is not `rho` of half of `s`.
//!
//! Source: [hermes, sec. 2.2 and 4.2], [dpad-he, sec. 4.1]; differs: the order of components, the twist on
//! the masks, and `epsilon` in Eval form, which the papers leave open and which is a mean of neighbouring
//! slots here.

pub mod coeff;
pub mod eval;

use clathrate_arith::kernels::scalar::bit_reverse;
use clathrate_arith::{Rows, RowsMut, Twist};

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Domain, Poly, PolyMut, PolyRef, Polys, PolysMut, PolysRef};
use crate::ring::Ring;
use crate::secret::SecretKey;
use crate::shape::{Bodies, Degree, Rank};

/// The operation that each form implements itself, because engines do not offer it in both forms.
pub trait DegreeMove: Domain {
    /// Every polynomial times `X^power`, `power` in `[0, 2 N)`.
    ///
    /// # Errors
    /// Those of products of polynomials over one basis.
    fn shift(polys: PolysRef<'_, Self>, power: usize) -> Result<Polys<Self>, LatticeError>;
}

/// `x(X^gap)` for every polynomial `x`, in the ring of `out`.
fn repeat<D: Domain>(out: PolysMut<'_, D>, x: PolysRef<'_, D>) {
    out.ring().engine().repeat(D::FORM, out.into_rows(), x.rows());
}

/// Component 0 of every polynomial, in the ring of `out`.
fn first<D: Domain>(out: PolysMut<'_, D>, x: PolysRef<'_, D>) {
    x.ring().engine().first_component(D::FORM, out.into_rows(), x.rows(), x.basis().indices());
}

/// `sum_p X^(+-brv(p)) parts[p](X^gap)` for every `gap` consecutive parts, in the ring of `out`.
fn join<D: Domain>(out: PolysMut<'_, D>, parts: &[PolyRef<'_, D>], twist: Twist) {
    let (ring, indices) = (out.ring(), out.basis().indices());
    let parts: Vec<Rows<'_>> = parts.iter().map(PolyRef::rows).collect();
    ring.engine().join_components(D::FORM, out.into_rows(), &parts, twist, indices);
}

/// The inverse of [`join`]: all components of every polynomial.
fn split<D: Domain>(out: PolysMut<'_, D>, x: PolysRef<'_, D>, twist: Twist) {
    let mut parts: Vec<RowsMut<'_>> = out.into_iter().map(PolyMut::into_rows).collect();
    x.ring().engine().split_components(D::FORM, &mut parts, x.rows(), twist, x.basis().indices());
}

/// The gap `degree / target`, which must be a power of two.
fn gap_of(
    Degree(degree): Degree,
    Degree(target): Degree,
    Rank(rank): Rank,
    what: &'static str,
) -> Result<usize, LatticeError> {
    if target == 0 || !degree.is_multiple_of(target) || !(degree / target).is_power_of_two() {
        return Err(LatticeError::DegreeChange { degree, rank, target, what });
    }
    Ok(degree / target)
}

/// The gap `target / degree`, a power of two that must divide the rank.
fn gap_up(degree: Degree, target: Degree, rank: Rank) -> Result<usize, LatticeError> {
    let refused =
        LatticeError::DegreeChange { degree: degree.0, rank: rank.0, target: target.0, what: "rank" };
    gap_of(target, degree, rank, "rank").ok().filter(|&gap| rank.0.is_multiple_of(gap)).ok_or(refused)
}

/// Refuses rings with other moduli: a degree move keeps every residue.
fn check_moduli(from: &Ring, to: &Ring) -> Result<(), LatticeError> {
    if from.same_moduli_as(to) {
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

impl<D: DegreeMove> PolyRef<'_, D> {
    /// `self(X^gap)` in the ring `large` of degree `N = gap n`: the map `iota`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit; [`LatticeError::RingMismatch`] where the
    /// moduli differ.
    pub fn iota(&self, large: &Ring) -> Result<Poly<D>, LatticeError> {
        gap_of(Degree(large.degree()), Degree(self.ring().degree()), Rank(1), "degree")
            .map_err(|_| self.degree_change(large))?;
        check_moduli(self.ring(), large)?;
        let mut out = Polys::scratch(large, self.basis(), 1);
        repeat(out.view_mut(), (*self).into());
        Ok(Poly::from_buffer(large, self.basis(), out.into_buffer()))
    }

    /// The coefficients of powers of `X^gap`, in the ring `small` of degree `n = N / gap`: the map `epsilon`,
    /// with `epsilon(iota(b)) = b` and `epsilon(iota(b) x) = b epsilon(x)`.
    pub fn epsilon(&self, small: &Ring) -> Result<Poly<D>, LatticeError> {
        self.check_split(small)?;
        let mut out = Polys::scratch(small, self.basis(), 1);
        first(out.view_mut(), (*self).into());
        Ok(Poly::from_buffer(small, self.basis(), out.into_buffer()))
    }

    fn components(&self, small: &Ring, twist: Twist) -> Result<Polys<D>, LatticeError> {
        let mut out = Polys::scratch(small, self.basis(), self.check_split(small)?);
        split(out.view_mut(), (*self).into(), twist);
        Ok(out)
    }

    /// All components `p_i` of `self = sum_i X^brv(i) p_i(X^gap)`, in the ring `small` of degree `n = N /
    /// gap`: the map `pi`.
    pub fn split_components(&self, small: &Ring) -> Result<Polys<D>, LatticeError> {
        self.components(small, Twist::Positive)
    }

    /// Component `component` of [`PolyRef::split_components`].
    ///
    /// # Errors
    /// As [`PolyRef::iota`]; [`LatticeError::ComponentOutOfRange`].
    pub fn split_component(&self, small: &Ring, component: usize) -> Result<Poly<D>, LatticeError> {
        check_component(self.check_split(small)?, component)?;
        if component == 0 {
            return self.epsilon(small);
        }
        Ok(self.components(small, Twist::Positive)?.at(component).to_owned())
    }

    /// All components `a_i` of `self = sum_i X^-brv(i) a_i(X^gap)`: the components of a mask, which are
    /// multiplied with the components of a secret.
    pub fn split_mask(&self, small: &Ring) -> Result<Polys<D>, LatticeError> {
        self.components(small, Twist::Negative)
    }

    fn degree_change(&self, target: &Ring) -> LatticeError {
        LatticeError::DegreeChange {
            degree: self.ring().degree(),
            rank: 1,
            target: target.degree(),
            what: "degree",
        }
    }

    fn check_split(&self, small: &Ring) -> Result<usize, LatticeError> {
        check_moduli(self.ring(), small)?;
        gap_of(Degree(self.ring().degree()), Degree(small.degree()), Rank(1), "degree")
    }
}

impl<D: DegreeMove> Poly<D> {
    /// As [`PolyRef::iota`].
    pub fn iota(&self, large: &Ring) -> Result<Self, LatticeError> {
        self.view().iota(large)
    }

    /// As [`PolyRef::epsilon`].
    pub fn epsilon(&self, small: &Ring) -> Result<Self, LatticeError> {
        self.view().epsilon(small)
    }

    /// As [`PolyRef::split_components`].
    pub fn split_components(&self, small: &Ring) -> Result<Polys<D>, LatticeError> {
        self.view().split_components(small)
    }

    /// As [`PolyRef::split_component`].
    pub fn split_component(&self, small: &Ring, component: usize) -> Result<Self, LatticeError> {
        self.view().split_component(small, component)
    }

    /// As [`PolyRef::split_mask`].
    pub fn split_mask(&self, small: &Ring) -> Result<Polys<D>, LatticeError> {
        self.view().split_mask(small)
    }

    /// `sum_i X^brv(i) p_i(X^gap)` in the ring `large`: the inverse of [`Poly::split_components`], `pi^-1`.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without components; [`LatticeError::DegreeChange`] where their number is
    /// not the ratio of the degrees; [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where
    /// they differ.
    pub fn combine_components<'a, P: Into<PolyRef<'a, D>>>(
        large: &Ring,
        components: impl IntoIterator<Item = P>,
    ) -> Result<Self, LatticeError> {
        Self::combine(large, components, Twist::Positive)
    }

    /// `sum_i X^-brv(i) a_i(X^gap)` in the ring `large`: the inverse of [`Poly::split_mask`].
    pub fn combine_mask<'a, P: Into<PolyRef<'a, D>>>(
        large: &Ring,
        components: impl IntoIterator<Item = P>,
    ) -> Result<Self, LatticeError> {
        Self::combine(large, components, Twist::Negative)
    }

    fn combine<'a, P: Into<PolyRef<'a, D>>>(
        large: &Ring,
        components: impl IntoIterator<Item = P>,
        twist: Twist,
    ) -> Result<Self, LatticeError> {
        let components: Vec<PolyRef<'a, D>> = components.into_iter().map(Into::into).collect();
        let first = components
            .first()
            .ok_or(LatticeError::EmptyShape { what: "the number of components", got: 0 })?;
        check_moduli(first.ring(), large)?;
        let (small, rank, target) = (first.ring().degree(), components.len(), large.degree());
        if gap_up(Degree(small), Degree(target), Rank(rank))? != rank {
            return Err(LatticeError::DegreeChange { degree: small, rank, target, what: "rank" });
        }
        components.iter().try_for_each(|component| first.check_same_basis(*component))?;
        let mut out = Polys::scratch(large, first.basis(), 1);
        join(out.view_mut(), &components, twist);
        Ok(Self::from_buffer(large, first.basis(), out.into_buffer()))
    }
}

impl<D: DegreeMove> Bundle<D> {
    /// The MLWE sample, of rank `k gap` at degree `n = N / gap`, whose messages are component 0 of this
    /// bundle's messages (`epsilon`).
    ///
    /// ```text
    /// epsilon(b + sum_j a_j s_j) = epsilon(b) + sum_(j, p) a_(j, p) s_(j, p)    for s_j = sum_p X^brv(p) s_(j, p)(Y), a_j = sum_p X^-brv(p) a_(j, p)(Y)
    /// ```
    ///
    /// Its secret is [`SecretKey::split_degree`]. Cost in Eval form: one pass over the values.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit; [`LatticeError::RingMismatch`] where the
    /// moduli differ.
    ///
    /// Source: [dpad-he, sec. 4.1.2]; differs: see the module.
    pub fn extract(&self, small: &Ring) -> Result<Self, LatticeError> {
        let gap = self.check_extract(small)?;
        if gap == 1 {
            return Ok(self.clone());
        }
        self.extract_from(self.view(), small)
    }

    /// The MLWE sample of component `component` of this bundle's messages: [`Bundle::extract`] of
    /// `X^-brv(component)` times the bundle.
    ///
    /// The secret is the same for all components. In Eval form, a component other than 0 costs an additional
    /// transform of a monomial and a product.
    ///
    /// # Errors
    /// As [`Bundle::extract`]; [`LatticeError::ComponentOutOfRange`].
    pub fn extract_component(&self, small: &Ring, component: usize) -> Result<Self, LatticeError> {
        let gap = self.check_extract(small)?;
        check_component(gap, component)?;
        if component == 0 {
            return self.extract(small);
        }
        let shifted = D::shift(self.view(), 2 * self.ring().degree() - power_of(gap, component))?;
        self.extract_from(shifted.view(), small)
    }

    /// [`Bundle::extract`] of `polys`, the mask and bodies of a bundle of this shape.
    fn extract_from(&self, polys: PolysRef<'_, D>, small: &Ring) -> Result<Self, LatticeError> {
        let rank = self.rank() * (self.ring().degree() / small.degree());
        let mut out = Polys::scratch(small, self.basis(), rank + self.body_count());
        let (mask, bodies) = out.view_mut().split_at(rank);
        split(mask, polys.range(0..self.rank()), Twist::Negative);
        first(bodies, polys.range(self.rank()..polys.len()));
        Self::from_polys(out, rank)
    }

    /// The sample at degree `N = n gap` and rank `k / gap` whose messages `m` satisfy `epsilon(m) =` this
    /// bundle's messages: the inverse of [`Bundle::extract`], under the secret of
    /// [`SecretKey::combine_degree`].
    ///
    /// The other components of the messages are unspecified, because they depend on the mask; the traces over
    /// the rotations that fix `X^gap` remove them. Cost in Eval form: one pass over the values.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the gap does not divide the rank or is no power of two;
    /// [`LatticeError::RingMismatch`] where the moduli differ.
    ///
    /// Source: [dpad-he, sec. 4.1.1]; differs: see the module.
    pub fn embed(&self, large: &Ring) -> Result<Self, LatticeError> {
        let gap = gap_up(Degree(self.ring().degree()), Degree(large.degree()), Rank(self.rank()))?;
        check_moduli(self.ring(), large)?;
        if gap == 1 {
            return Ok(self.clone());
        }
        let rank = self.rank() / gap;
        let mut out = Polys::scratch(large, self.basis(), rank + self.body_count());
        let (mask, bodies) = out.view_mut().split_at(rank);
        join(mask, &self.mask().iter().collect::<Vec<_>>(), Twist::Negative);
        repeat(bodies, self.bodies());
        Self::from_polys(out, rank)
    }

    fn check_extract(&self, small: &Ring) -> Result<usize, LatticeError> {
        check_moduli(self.ring(), small)?;
        gap_of(Degree(self.ring().degree()), Degree(small.degree()), Rank(self.rank()), "degree")
    }
}

impl SecretKey {
    /// The same secret as a vector of `rank * gap` polynomials of degree `degree`: `s_j = sum_p X^brv(p)
    /// s_(j, p)(X^gap)`, where polynomial `j gap + p` is `s_(j, p)`.
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit.
    pub fn split_degree(&self, degree: usize) -> Result<Self, LatticeError> {
        let gap = gap_of(Degree(self.degree()), Degree(degree), Rank(self.rank()), "degree")?;
        let mut coefficients = zeroize::Zeroizing::new(Vec::with_capacity(self.all_coefficients().len()));
        for poly in self.all_coefficients().chunks_exact(self.degree()) {
            for place in 0..gap {
                coefficients.extend(poly[power_of(gap, place)..].iter().step_by(gap));
            }
        }
        Self::from_coefficients(
            Degree(degree),
            Rank(self.rank() * gap),
            Bodies(self.bodies()),
            self.distribution(),
            coefficients,
        )
    }

    /// The inverse of [`SecretKey::split_degree`].
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the gap does not divide the rank.
    pub fn combine_degree(&self, degree: usize) -> Result<Self, LatticeError> {
        let gap = gap_up(Degree(self.degree()), Degree(degree), Rank(self.rank()))?;
        let mut coefficients = zeroize::Zeroizing::new(vec![0; self.all_coefficients().len()]);
        for (large, small) in
            coefficients.chunks_exact_mut(degree).zip(self.all_coefficients().chunks_exact(degree))
        {
            for (place, part) in small.chunks_exact(self.degree()).enumerate() {
                for (target, &value) in large[power_of(gap, place)..].iter_mut().step_by(gap).zip(part) {
                    *target = value;
                }
            }
        }
        Self::from_coefficients(
            Degree(degree),
            Rank(self.rank() / gap),
            Bodies(self.bodies()),
            self.distribution(),
            coefficients,
        )
    }
}
