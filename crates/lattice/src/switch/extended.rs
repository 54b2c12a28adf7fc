//! The result of a switch before its mod-down: a bundle over the extended modulus `P Q_l` whose phase is `P`
//! times as large.
//!
//! The hybrid method gives this bundle in Eval form, the KLSS method in Coeff form. A sum keeps one part in
//! each form, so that products of both methods and terms that need no switch share one mod-down, and no part
//! is transformed only to be added to the other.

use std::borrow::Cow;
use std::sync::Arc;

use super::frame::Frame;
use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Eval, PolyRef, Polys, PolysRef};
use crate::ring::Ring;
use crate::shape::{Bodies, Rank};

/// `P` times a switched bundle, which can be added to others before one mod-down.
#[derive(Debug, Clone)]
pub struct Extended {
    pub(super) frame: Arc<Frame>,
    /// Over the extended basis.
    pub(super) coeff: Option<Bundle<Coeff>>,
    /// Over the level's primes and all, some or none of the special primes. The part is zero modulo the
    /// special primes that it lacks, so it has no rows for them.
    pub(super) eval: Option<Bundle<Eval>>,
}

/// `a <- a + b`; a missing operand is zero.
fn add<B>(
    a: &mut Option<B>,
    b: Option<&B>,
    add: impl FnOnce(&mut B, &B) -> Result<(), LatticeError>,
) -> Result<(), LatticeError>
where
    B: Clone,
{
    match (a.as_mut(), b) {
        (_, None) => Ok(()),
        (Some(a), Some(b)) => add(a, b),
        (None, Some(b)) => {
            *a = Some(b.clone());
            Ok(())
        }
    }
}

impl Extended {
    /// The extended modulus of this sum.
    #[must_use]
    pub fn frame(&self) -> &Arc<Frame> {
        &self.frame
    }

    /// `self <- self + other`: products that share one mod-down. [klss, sec. 4; lazy key switching]
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where levels or special primes differ; ring and shape errors.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        if !self.frame.ring().same_as(other.frame.ring()) {
            return Err(LatticeError::RingMismatch {
                left: self.frame.ring().degree(),
                right: other.frame.ring().degree(),
            });
        }
        if self.frame.extended() != other.frame.extended() || self.frame.level() != other.frame.level() {
            return Err(LatticeError::BasisMismatch {
                left: self.frame.extended().len(),
                right: other.frame.extended().len(),
            });
        }
        let ((rank, bodies), (other_rank, other_bodies)) = (self.shape(), other.shape());
        if rank != other_rank {
            return Err(LatticeError::RankMismatch { left: rank.0, right: other_rank.0 });
        }
        if bodies != other_bodies {
            return Err(LatticeError::BodiesMismatch { left: bodies.0, right: other_bodies.0 });
        }
        add(&mut self.coeff, other.coeff.as_ref(), Bundle::add_assign)?;
        let frame = &self.frame;
        add(&mut self.eval, other.eval.as_ref(), |own, other| {
            // The parts may lack different special primes, so both are extended to all of them.
            if own.basis() != other.basis() {
                *own = frame.widen(own)?.into_owned();
                return own.add_assign(&*frame.widen(other)?);
            }
            own.add_assign(other)
        })
    }

    /// `self <- self + P terms`, for terms over the level's modulus that need no switch. Terms are mask
    /// polynomials, then bodies.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where a term is not over the level's
    /// basis; [`LatticeError::BodiesMismatch`] where the number of terms differs.
    pub fn add_lifted<'a, P: Into<PolyRef<'a, Eval>>>(
        &mut self,
        terms: impl IntoIterator<Item = P>,
    ) -> Result<(), LatticeError> {
        let terms: Vec<PolyRef<'a, Eval>> = terms.into_iter().map(Into::into).collect();
        terms.iter().try_for_each(|term| self.check_term(term.ring(), term.basis()))?;
        self.check_count(terms.len())?;
        self.add_lifted_polys(Polys::copied(terms)?.view())
    }

    /// [`Extended::add_lifted`] for terms in one allocation.
    pub fn add_lifted_polys(&mut self, terms: PolysRef<'_, Eval>) -> Result<(), LatticeError> {
        self.check_count(terms.len())?;
        self.check_term(terms.ring(), terms.basis())?;
        match &mut self.eval {
            Some(eval) => self.frame.add_lifted(eval.view_mut(), terms),
            None => {
                let (rank, bodies) = self.shape();
                let mut lifted = Bundle::zero(self.frame.ring(), self.frame.basis(), rank, bodies)?;
                self.frame.add_lifted(lifted.view_mut(), terms);
                self.eval = Some(lifted);
            }
        }
        Ok(())
    }

    fn check_count(&self, terms: usize) -> Result<(), LatticeError> {
        let (Rank(rank), Bodies(bodies)) = self.shape();
        if terms == rank + bodies {
            Ok(())
        } else {
            Err(LatticeError::BodiesMismatch { left: rank + bodies, right: terms })
        }
    }

    pub(super) fn check_term(&self, ring: &Ring, basis: &Basis) -> Result<(), LatticeError> {
        if !self.frame.ring().same_as(ring) {
            return Err(LatticeError::RingMismatch {
                left: ring.degree(),
                right: self.frame.ring().degree(),
            });
        }
        if basis != self.frame.basis() {
            return Err(LatticeError::BasisMismatch { left: basis.len(), right: self.frame.basis().len() });
        }
        Ok(())
    }

    /// `self + other`, over the special primes of both, so that products with different special moduli share
    /// one mod-down.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`]; [`LatticeError::BasisMismatch`] where the levels differ; shape errors.
    pub fn join(self, other: Self) -> Result<Self, LatticeError> {
        let frame = if self.frame.holds(&other.frame) {
            self.frame.clone()
        } else {
            Arc::new(self.frame.join(&other.frame)?)
        };
        let mut sum = self.lift(&frame)?;
        sum.add_assign(&other.lift(&frame)?)?;
        Ok(sum)
    }

    /// The same sum over `frame`, which has further special primes: the sum is multiplied by their product.
    fn lift(self, frame: &Arc<Frame>) -> Result<Self, LatticeError> {
        if self.frame.special() == frame.special() {
            return Ok(self);
        }
        let coeff = self
            .coeff
            .map(|coeff| frame.widen(&frame.lift(&self.frame, coeff)).map(Cow::into_owned))
            .transpose()?;
        let eval = self.eval.map(|eval| frame.lift(&self.frame, eval));
        Ok(Self { frame: frame.clone(), coeff, eval })
    }

    /// Removes the mask's polynomials from index `rank` on and returns them, divided by the special modulus,
    /// in Coeff form, in which a decomposition starts. [`Extended::split_mask`] removes the complete mask.
    /// [dpad-he, Fig. 2]
    ///
    /// # Errors
    /// [`LatticeError::NothingBeyondRank`] where the mask has no polynomial from `rank` on, or none would be
    /// left.
    pub fn take_mask(&mut self, rank: usize) -> Result<Polys<Coeff>, LatticeError> {
        let (Rank(high), _) = self.shape();
        if rank == 0 || rank >= high {
            return Err(LatticeError::NothingBeyondRank { rank: high, at: rank });
        }
        self.cut_mask(rank)
    }

    /// [`Extended::take_mask`] where `rank` may be 0, which removes the complete mask.
    pub(super) fn cut_mask(&mut self, rank: usize) -> Result<Polys<Coeff>, LatticeError> {
        let frame = &self.frame;
        // If there is no part in Eval form, the division reads the polynomials in place.
        if let (Some(coeff), None) = (&mut self.coeff, &self.eval) {
            return coeff.cut_mask(rank, |taken| frame.mod_down().divide_coeffs(taken));
        }
        let coefficients = |taken: PolysRef<'_, Eval>| -> Result<Polys<Coeff>, LatticeError> {
            let taken_coeff = taken.to_coeff();
            if taken.basis() == frame.extended() {
                Ok(taken_coeff)
            } else {
                frame.widen_polys(taken_coeff.view())
            }
        };
        let eval = self.eval.as_mut().map(|eval| eval.cut_mask(rank, coefficients));
        let coeff = self.coeff.as_mut().map(|coeff| coeff.cut_mask(rank, |taken| taken.to_owned()));
        let mut sum = eval.transpose()?;
        match (&mut sum, coeff) {
            (Some(sum), Some(coeff)) => sum.view_mut().add_assign(coeff.view())?,
            (_, coeff) => sum = sum.or(coeff),
        }
        let sum = sum.ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })?;
        frame.mod_down().divide_coeffs(sum.view())
    }

    /// Rank and number of bodies.
    pub(super) fn shape(&self) -> (Rank, Bodies) {
        let coeff = self.coeff.as_ref().map(|coeff| (coeff.rank(), coeff.body_count()));
        let shape = coeff.or_else(|| self.eval.as_ref().map(|eval| (eval.rank(), eval.body_count())));
        let (rank, bodies) = shape.unwrap_or((0, 0));
        (Rank(rank), Bodies(bodies))
    }

    /// The sum over the extended modulus as one bundle in Eval form.
    ///
    /// # Errors
    /// Those of arithmetic on bundles of one shape.
    pub fn to_eval(&self) -> Result<Bundle<Eval>, LatticeError> {
        let mut sum = self.coeff.clone().map(Bundle::into_eval);
        let eval = self.eval.as_ref().map(|eval| self.frame.widen(eval)).transpose()?;
        add(&mut sum, eval.as_deref(), Bundle::add_assign)?;
        sum.ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })
    }

    /// [`Extended::to_eval`] without a copy where the sum has only a part in Eval form.
    pub fn into_eval(self) -> Result<Bundle<Eval>, LatticeError> {
        match (self.coeff, self.eval) {
            (None, Some(eval)) if eval.basis() == self.frame.extended() => Ok(eval),
            (coeff, eval) => Self { frame: self.frame, coeff, eval }.to_eval(),
        }
    }

    /// The sum over the extended modulus as one bundle in Coeff form.
    pub fn to_coeff(&self) -> Result<Bundle<Coeff>, LatticeError> {
        let mut sum = self
            .eval
            .as_ref()
            .map(|eval| self.frame.widen(eval))
            .transpose()?
            .map(Cow::into_owned)
            .map(Bundle::into_coeff);
        add(&mut sum, self.coeff.as_ref(), Bundle::add_assign)?;
        sum.ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })
    }

    /// `round(self / D)`, from the parts in the forms in which they are stored.
    pub(super) fn divide(&self, division: &crate::modulus::Division) -> Result<Bundle<Eval>, LatticeError> {
        let Some(coeff) = &self.coeff else {
            let eval = self
                .eval
                .as_ref()
                .ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })?;
            return self.frame.widen(eval)?.divide(division);
        };
        division.divide_parts(coeff, self.eval.as_ref())
    }
}
