//! What a switch's products are before their mod-down: a bundle over the extended modulus, `P` times as large.
//!
//! The engines leave it in different forms: the hybrid one in Eval form, the key-decomposed one in Coeff form. A sum keeps a part of each kind,
//! so that products of both engines, and terms that need no switch, share one mod-down without a transform between.

use std::borrow::Cow;
use std::sync::Arc;

use super::frame::Frame;
use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Coeff, Domain, Eval, Poly};

/// `P` times a switched bundle, to be added up with others before one mod-down.
#[derive(Debug, Clone)]
pub struct Extended {
    pub(super) frame: Arc<Frame>,
    /// Over the extended basis.
    pub(super) coeff: Option<Bundle<Coeff>>,
    /// Over the extended basis, or over the level's and some special primes or none: zero modulo those it lacks. They need no transforms.
    pub(super) eval: Option<Bundle<Eval>>,
}

/// `a + b` where either may be missing.
fn add<B>(a: &mut Option<B>, b: Option<&B>, add: impl FnOnce(&mut B, &B) -> Result<(), LatticeError>) -> Result<(), LatticeError>
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
    /// The modulus it is over.
    #[must_use]
    pub fn frame(&self) -> &Arc<Frame> {
        &self.frame
    }

    /// `self <- self + other`: products that share one mod-down. [klss, sec. 4; lazy key switching]
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the two were made by different plans; shape errors.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        if !self.frame.ring().same_as(other.frame.ring()) {
            return Err(LatticeError::RingMismatch { left: self.frame.ring().degree(), right: other.frame.ring().degree() });
        }
        if self.frame.extended() != other.frame.extended() || self.frame.level() != other.frame.level() {
            return Err(LatticeError::BasisMismatch { left: self.frame.extended().len(), right: other.frame.extended().len() });
        }
        let ((rank, bodies), (other_rank, other_bodies)) = (self.shape(), other.shape());
        if rank != other_rank {
            return Err(LatticeError::RankMismatch { left: rank, right: other_rank });
        }
        if bodies != other_bodies {
            return Err(LatticeError::BodiesMismatch { left: bodies, right: other_bodies });
        }
        add(&mut self.coeff, other.coeff.as_ref(), Bundle::add_assign)?;
        let frame = &self.frame;
        add(&mut self.eval, other.eval.as_ref(), |own, other| {
            // Parts that are zero modulo different special primes meet over all of them.
            if own.basis() != other.basis() {
                *own = frame.widen(own)?.into_owned();
                return own.add_assign(&*frame.widen(other)?);
            }
            own.add_assign(other)
        })
    }

    /// `self <- self + P terms`: terms over the level's modulus that need no switch, mask first.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where a term is not over the level's basis;
    /// [`LatticeError::BodiesMismatch`] where they are not as many.
    pub fn add_lifted<'a>(&mut self, terms: impl IntoIterator<Item = &'a Poly<Eval>>) -> Result<(), LatticeError> {
        let terms: Vec<&Poly<Eval>> = terms.into_iter().collect();
        let (rank, bodies) = self.shape();
        if terms.len() != rank + bodies {
            return Err(LatticeError::BodiesMismatch { left: rank + bodies, right: terms.len() });
        }
        if let Some(bad) = terms.iter().find(|term| !self.frame.ring().same_as(term.ring())) {
            return Err(LatticeError::RingMismatch { left: bad.ring().degree(), right: self.frame.ring().degree() });
        }
        if let Some(bad) = terms.iter().find(|term| term.basis() != self.frame.basis()) {
            return Err(LatticeError::BasisMismatch { left: bad.basis().len(), right: self.frame.basis().len() });
        }
        match &mut self.eval {
            Some(eval) => eval.polys_mut().zip(terms).for_each(|(sum, term)| self.frame.add_lifted(sum, term)),
            None => {
                let zero = Poly::zero(self.frame.ring(), self.frame.basis());
                let mut lifted = Bundle::new(vec![zero.clone(); rank], vec![zero; bodies])?;
                lifted.polys_mut().zip(terms).for_each(|(sum, term)| self.frame.add_lifted(sum, term));
                self.eval = Some(lifted);
            }
        }
        Ok(())
    }

    /// `self + other`, over the special primes of both: products of other special moduli share one mod-down.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`]; [`LatticeError::BasisMismatch`] where they are of two levels; shape errors.
    pub fn join(self, other: Self) -> Result<Self, LatticeError> {
        let frame = if self.frame.holds(&other.frame) { self.frame.clone() } else { Arc::new(self.frame.join(&other.frame)?) };
        let mut sum = self.lift(&frame)?;
        sum.add_assign(&other.lift(&frame)?)?;
        Ok(sum)
    }

    /// The same over `frame`, which has these special primes and others: times those.
    fn lift(self, frame: &Arc<Frame>) -> Result<Self, LatticeError> {
        if self.frame.special() == frame.special() {
            return Ok(self);
        }
        let coeff =
            self.coeff.as_ref().map(|coeff| frame.lift(&self.frame, coeff)?.try_map(|poly| Ok(frame.widen_poly(poly)))).transpose()?;
        let eval = self.eval.as_ref().map(|eval| frame.lift(&self.frame, eval)).transpose()?;
        Ok(Self { frame: frame.clone(), coeff, eval })
    }

    /// Takes the mask's polynomials from `rank` on away, divided by the special modulus, in Coeff form: a decomposition wants them so, and the
    /// transforms there and back are saved. Takes a part of the mask; [`Extended::split_mask`] takes all of it. [dpad-he, Fig. 2]
    ///
    /// # Errors
    /// [`LatticeError::NothingBeyondRank`] where there are none, or nothing would be left.
    pub fn take_mask(&mut self, rank: usize) -> Result<Vec<Poly<Coeff>>, LatticeError> {
        let (high, _) = self.shape();
        if rank == 0 || rank >= high {
            return Err(LatticeError::NothingBeyondRank { rank: high, at: rank });
        }
        fn cut<D: Domain>(bundle: Bundle<D>, rank: usize) -> Result<(Bundle<D>, Vec<Poly<D>>), LatticeError> {
            let (mut mask, bodies) = bundle.into_parts();
            let taken = mask.split_off(rank);
            Ok((Bundle::new(mask, bodies)?, taken))
        }
        let coeff = self.coeff.take().map(|coeff| cut(coeff, rank)).transpose()?;
        let eval = self.eval.take().map(|eval| cut(eval, rank)).transpose()?;
        let (coeff, taken_coeff) = coeff.map_or((None, Vec::new()), |(rest, taken)| (Some(rest), taken));
        let (eval, taken_eval) = eval.map_or((None, Vec::new()), |(rest, taken)| (Some(rest), taken));
        (self.coeff, self.eval) = (coeff, eval);
        self.frame.divide_to_coeff(taken_coeff, taken_eval)
    }

    /// Rank and bodies.
    pub(super) fn shape(&self) -> (usize, usize) {
        let coeff = self.coeff.as_ref().map(|coeff| (coeff.rank(), coeff.body_count()));
        coeff.or_else(|| self.eval.as_ref().map(|eval| (eval.rank(), eval.body_count()))).unwrap_or((0, 0))
    }

    /// The sum over the extended modulus in Eval form, whatever its parts.
    ///
    /// # Errors
    /// None but those of arithmetic on bundles of one shape.
    pub fn to_eval(&self) -> Result<Bundle<Eval>, LatticeError> {
        let mut sum = self.coeff.clone().map(Bundle::into_eval);
        let eval = self.eval.as_ref().map(|eval| self.frame.widen(eval)).transpose()?;
        add(&mut sum, eval.as_deref(), Bundle::add_assign)?;
        sum.ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })
    }

    /// The sum in Coeff form.
    ///
    /// # Errors
    /// As [`Extended::to_eval`].
    pub fn to_coeff(&self) -> Result<Bundle<Coeff>, LatticeError> {
        let mut sum = self.eval.as_ref().map(|eval| self.frame.widen(eval)).transpose()?.map(Cow::into_owned).map(Bundle::into_coeff);
        add(&mut sum, self.coeff.as_ref(), Bundle::add_assign)?;
        sum.ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })
    }

    /// `round(self / D)` with the forms it has.
    pub(super) fn divide(&self, division: &crate::modulus::Division) -> Result<Bundle<Eval>, LatticeError> {
        let Some(coeff) = &self.coeff else {
            let eval = self.eval.as_ref().ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })?;
            return self.frame.widen(eval)?.divide(division);
        };
        division.divide_parts(coeff, self.eval.as_ref())
    }
}
