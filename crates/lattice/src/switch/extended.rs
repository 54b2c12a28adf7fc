//! What a switch's products are before their mod-down: a bundle over the extended modulus, `P` times as large.
//!
//! The engines leave it in different forms: the hybrid one in Eval form, the key-decomposed one in Coeff form. A sum keeps a part of each kind,
//! so that products of both engines, and terms that need no switch, share one mod-down without a transform between.

use std::borrow::Cow;
use std::sync::Arc;

use super::plan::SwitchPlan;
use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Coeff, Eval, Poly};

/// `P` times a switched bundle, to be added up with others before one mod-down.
#[derive(Debug, Clone)]
pub struct Extended {
    pub(super) plan: Arc<SwitchPlan>,
    /// Over the extended basis.
    pub(super) coeff: Option<Bundle<Coeff>>,
    /// Over the extended basis, or over the level's alone: zero modulo the special primes.
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
    /// The plan it was made by.
    #[must_use]
    pub fn plan(&self) -> &Arc<SwitchPlan> {
        &self.plan
    }

    /// `self <- self + other`: products that share one mod-down. [klss, sec. 4; lazy key switching]
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the two were made by different plans; shape errors.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        if !self.plan.ring().same_as(other.plan.ring()) {
            return Err(LatticeError::RingMismatch { left: self.plan.ring().degree(), right: other.plan.ring().degree() });
        }
        if self.plan.extended() != other.plan.extended() || self.plan.level() != other.plan.level() {
            return Err(LatticeError::BasisMismatch { left: self.plan.extended().len(), right: other.plan.extended().len() });
        }
        let ((rank, bodies), (other_rank, other_bodies)) = (self.shape(), other.shape());
        if rank != other_rank {
            return Err(LatticeError::RankMismatch { left: rank, right: other_rank });
        }
        if bodies != other_bodies {
            return Err(LatticeError::BodiesMismatch { left: bodies, right: other_bodies });
        }
        self.widen(other.eval.as_ref())?;
        let wide = other.eval.as_ref().map(|eval| other.plan.widen(eval)).transpose()?;
        add(&mut self.coeff, other.coeff.as_ref(), Bundle::add_assign)?;
        add(&mut self.eval, wide.as_deref(), Bundle::add_assign)
    }

    /// Brings a part that is zero modulo the special primes to the extended basis, where it is to meet one that is not.
    fn widen(&mut self, other: Option<&Bundle<Eval>>) -> Result<(), LatticeError> {
        if let (Some(own), Some(_)) = (&self.eval, other)
            && own.basis() != self.plan.extended()
        {
            self.eval = Some(self.plan.widen(own)?.into_owned());
        }
        Ok(())
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
        if let Some(bad) = terms.iter().find(|term| !self.plan.ring().same_as(term.ring())) {
            return Err(LatticeError::RingMismatch { left: bad.ring().degree(), right: self.plan.ring().degree() });
        }
        if let Some(bad) = terms.iter().find(|term| term.basis() != self.plan.basis()) {
            return Err(LatticeError::BasisMismatch { left: bad.basis().len(), right: self.plan.basis().len() });
        }
        match &mut self.eval {
            Some(eval) => eval.polys_mut().zip(terms).for_each(|(sum, term)| self.plan.add_lifted(sum, term)),
            None => {
                let zero = Poly::zero(self.plan.ring(), self.plan.basis());
                let mut lifted = Bundle::new(vec![zero.clone(); rank], vec![zero; bodies])?;
                lifted.polys_mut().zip(terms).for_each(|(sum, term)| self.plan.add_lifted(sum, term));
                self.eval = Some(lifted);
            }
        }
        Ok(())
    }

    /// Rank and bodies.
    fn shape(&self) -> (usize, usize) {
        let coeff = self.coeff.as_ref().map(|coeff| (coeff.rank(), coeff.body_count()));
        coeff.or_else(|| self.eval.as_ref().map(|eval| (eval.rank(), eval.body_count()))).unwrap_or((0, 0))
    }

    /// The sum over the extended modulus in Eval form, whatever its parts.
    ///
    /// # Errors
    /// None but those of arithmetic on bundles of one shape.
    pub fn to_eval(&self) -> Result<Bundle<Eval>, LatticeError> {
        let mut sum = self.coeff.clone().map(Bundle::into_eval);
        let eval = self.eval.as_ref().map(|eval| self.plan.widen(eval)).transpose()?;
        add(&mut sum, eval.as_deref(), Bundle::add_assign)?;
        sum.ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })
    }

    /// The sum in Coeff form.
    ///
    /// # Errors
    /// As [`Extended::to_eval`].
    pub fn to_coeff(&self) -> Result<Bundle<Coeff>, LatticeError> {
        let mut sum = self.eval.as_ref().map(|eval| self.plan.widen(eval)).transpose()?.map(Cow::into_owned).map(Bundle::into_coeff);
        add(&mut sum, self.coeff.as_ref(), Bundle::add_assign)?;
        sum.ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })
    }

    /// `round(self / D)` with the forms it has.
    pub(super) fn divide(&self, division: &crate::modulus::Division) -> Result<Bundle<Eval>, LatticeError> {
        let Some(coeff) = &self.coeff else {
            let eval = self.eval.as_ref().ok_or(LatticeError::EmptyShape { what: "the number of products", got: 0 })?;
            return self.plan.widen(eval)?.divide(division);
        };
        division.divide_parts(coeff, self.eval.as_ref())
    }
}
