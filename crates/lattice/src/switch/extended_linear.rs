//! Linear operations on bundles over the extended modulus, for double hoisting: many rotations and products
//! share one mod-down.
//!
//! A linear transform `sum_j d_j phi_j(x)` decomposes the mask of `x` once, multiplies the digits with the
//! keys of all rotations, multiplies the results by the plaintexts `d_j` while they are still over `P Q_l`,
//! adds them up and divides the sum by `P` once. So an [`Extended`] needs automorphisms, products with
//! plaintexts over `P Q_l`, and sums of both.
//!
//! The KLSS method leaves its results in Coeff form, where polynomials cannot be multiplied residue by
//! residue. The products here first transform such a part to Eval form, with one forward transform per
//! polynomial and prime. [`Extended::into_eval_form`] transforms an input of several products once.
//!
//! Source: double hoisting of Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux (EUROCRYPT 2021), sec. 4.2;
//! differs: any rank, any number of bodies, both methods.

use std::borrow::Cow;
use std::sync::Arc;

use clathrate_arith::Automorphism;

use super::extended::Extended;
use super::frame::Frame;
use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::linear_combination::{PackedCombination, combine_packed};
use crate::packed_plaintext::PackedPlaintexts;
use crate::poly::{Basis, Coeff, Domain, Eval, Poly, Polys, PolysMut, PolysRef};
use crate::shape::{Bodies, Rank};

/// The bodies of an [`Extended`] whose mask was removed, to be added to the switched mask.
#[derive(Debug, Clone)]
pub struct ExtendedBodies {
    frame: Arc<Frame>,
    /// A part in Coeff form, over the extended basis.
    coeff: Option<Polys<Coeff>>,
    /// A part in Eval form, over the extended basis or a part of it.
    eval: Option<Polys<Eval>>,
}

/// Inputs in Eval form; inputs that were in Eval form already are borrowed.
type EvalForms<'a> = Vec<Cow<'a, Bundle<Eval>>>;

impl ExtendedBodies {
    /// The extended modulus of the bodies.
    #[must_use]
    pub fn frame(&self) -> &Arc<Frame> {
        &self.frame
    }

    /// Number of bodies.
    #[must_use]
    pub fn body_count(&self) -> usize {
        self.coeff.as_ref().map(Polys::len).or(self.eval.as_ref().map(Polys::len)).unwrap_or(0)
    }
}

/// Refuses operands over another modulus or of another level.
fn check_frame(frame: &Frame, other: &Frame) -> Result<(), LatticeError> {
    if !frame.ring().same_as(other.ring()) {
        return Err(LatticeError::RingMismatch { left: frame.ring().degree(), right: other.ring().degree() });
    }
    if frame.extended() != other.extended() || frame.level() != other.level() {
        return Err(LatticeError::BasisMismatch {
            left: frame.extended().len(),
            right: other.extended().len(),
        });
    }
    Ok(())
}

impl Extended {
    /// Zero over the modulus of `frame`.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for rank 0 or no bodies.
    pub fn zero(frame: &Arc<Frame>, rank: Rank, bodies: Bodies) -> Result<Self, LatticeError> {
        let bundle = Bundle::zero(frame.ring(), frame.basis(), rank, bodies)?;
        Ok(Self { frame: frame.clone(), coeff: None, eval: Some(bundle) })
    }

    /// `P x` for a bundle `x` over the level's modulus, which needs no switch.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the bundle is not over the
    /// level's basis.
    pub fn lift_of(bundle: &Bundle<Eval>, frame: &Arc<Frame>) -> Result<Self, LatticeError> {
        let mut lifted = Self::zero(frame, Rank(bundle.rank()), Bodies(bundle.body_count()))?;
        lifted.add_lifted_polys(bundle.view())?;
        Ok(lifted)
    }

    /// A bundle over the extended modulus `P Q_l`, taken unchanged: the mod-down divides its phase by `P`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`]; [`LatticeError::BasisMismatch`] where the bundle is not over the
    /// extended basis.
    pub fn from_bundle(bundle: Bundle<Eval>, frame: &Arc<Frame>) -> Result<Self, LatticeError> {
        if !bundle.ring().same_as(frame.ring()) {
            return Err(LatticeError::RingMismatch {
                left: bundle.ring().degree(),
                right: frame.ring().degree(),
            });
        }
        if bundle.basis() != frame.extended() {
            return Err(LatticeError::BasisMismatch {
                left: bundle.basis().len(),
                right: frame.extended().len(),
            });
        }
        Ok(Self { frame: frame.clone(), coeff: None, eval: Some(bundle) })
    }

    /// The rank `k`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape().0.0
    }

    /// The number of bodies `m`.
    #[must_use]
    pub fn body_count(&self) -> usize {
        self.shape().1.0
    }

    /// `self <- -self`.
    pub fn negate_assign(&mut self) {
        if let Some(coeff) = &mut self.coeff {
            coeff.negate_assign();
        }
        if let Some(eval) = &mut self.eval {
            eval.negate_assign();
        }
    }

    /// `phi(self)`, under the secrets `phi(s_i)`. Commutes with the mod-down.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] for an automorphism of another degree.
    pub fn automorphism(&self, phi: &Automorphism) -> Result<Self, LatticeError> {
        let degree = self.frame.ring().degree();
        if phi.degree() != degree {
            return Err(LatticeError::RingMismatch { left: phi.degree(), right: degree });
        }
        let coeff = self
            .coeff
            .as_ref()
            .map(|coeff| Bundle::from_polys(coeff.view().automorphism(phi), coeff.rank()))
            .transpose()?;
        Ok(Self {
            frame: self.frame.clone(),
            coeff,
            eval: self.eval.as_ref().map(|eval| eval.automorphism(phi)),
        })
    }

    /// The same sum without a part in Coeff form. Cost: none for the hybrid method; one forward transform per
    /// polynomial and prime for KLSS.
    ///
    /// # Errors
    /// Those of arithmetic on bundles of one shape.
    pub fn into_eval_form(self) -> Result<Self, LatticeError> {
        if self.coeff.is_none() {
            return Ok(self);
        }
        Ok(Self { eval: Some(self.to_eval()?), coeff: None, frame: self.frame })
    }

    /// The sum in Eval form, over the extended basis or a part of it that contains the level's primes.
    fn eval_form(&self) -> Result<Cow<'_, Bundle<Eval>>, LatticeError> {
        match (&self.coeff, &self.eval) {
            (None, Some(eval)) if eval.basis() == self.frame.basis() => Ok(Cow::Borrowed(eval)),
            (None, Some(eval)) => self.frame.widen(eval),
            _ => self.to_eval().map(Cow::Owned),
        }
    }

    /// `self * p` for a plaintext polynomial over the primes of `P Q_l` and any others. A part in Coeff form
    /// is transformed first.
    pub fn mul_plaintext(&self, p: &Poly<Eval>) -> Result<Self, LatticeError> {
        Self::linear_combination(&[(self, p)])
    }

    /// `self * p` for the one packed plaintext `p` in `plaintext`, of this ring or of a subring.
    pub fn mul_packed(&self, plaintext: &PackedPlaintexts) -> Result<Self, LatticeError> {
        Ok(Self::packed_combinations(&[self], &[PackedCombination { plaintexts: plaintext, inputs: &[0] }])?
            .swap_remove(0))
    }

    /// `self <- self + x p`. For several terms, [`Extended::linear_combination`] computes the sum in one pass
    /// over the residues.
    pub fn add_product_assign(&mut self, x: &Self, p: &Poly<Eval>) -> Result<(), LatticeError> {
        check_frame(&self.frame, &x.frame)?;
        self.add_assign(&x.mul_plaintext(p)?)
    }

    /// `sum_t p_t x_t` for plaintext polynomials over the primes of `P Q_l` and any others, in one pass over
    /// the residues.
    ///
    /// Cost: one product for each term, polynomial and prime of `P Q_l`, or of `Q_l` for terms that are zero
    /// modulo the special primes ([`Extended::lift_of`]). Every call transforms parts in Coeff form: see
    /// [`Extended::into_eval_form`].
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without terms; [`LatticeError::BasisMismatch`] where terms are of
    /// different levels or special moduli, or a plaintext lacks a prime; [`LatticeError::RingMismatch`];
    /// [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`] where terms differ in shape.
    pub fn linear_combination(terms: &[(&Self, &Poly<Eval>)]) -> Result<Self, LatticeError> {
        let inputs: Vec<&Self> = terms.iter().map(|(x, _)| *x).collect();
        let (frame, forms) = Self::eval_forms(&inputs)?;
        let products = |narrow: bool| {
            let chosen =
                forms.iter().zip(terms).filter(|(form, _)| (form.basis() == frame.basis()) == narrow);
            let chosen: Vec<(&Bundle<Eval>, &Poly<Eval>)> =
                chosen.map(|(form, (_, p))| (&**form, *p)).collect();
            if chosen.is_empty() { Ok(None) } else { Bundle::linear_combination(&chosen).map(Some) }
        };
        let sum = match (products(false)?, products(true)?) {
            (Some(mut wide), Some(narrow)) => {
                wide.check_shape_of(&narrow)?;
                frame.add_narrow(wide.view_mut(), narrow.view());
                wide
            }
            (Some(sum), None) | (None, Some(sum)) => sum,
            (None, None) => return Err(LatticeError::EmptyShape { what: "the number of terms", got: 0 }),
        };
        Ok(Self { frame: frame.clone(), coeff: None, eval: Some(sum) })
    }

    /// Several linear combinations of the same inputs with packed plaintexts, of this ring or of a subring:
    /// `sum_t x_(inputs[t]) * plaintexts[t]` for each.
    ///
    /// All combinations are computed in one pass, prime by prime, so that the inputs are read once. Used for
    /// the giant steps of a linear transform, whose inputs are the baby steps. Cost: as
    /// [`Extended::linear_combination`] for each.
    ///
    /// # Errors
    /// As [`Extended::linear_combination`]; [`LatticeError::InputOutOfRange`],
    /// [`clathrate_arith::ArithError::Shape`] where a combination does not name one of the inputs for each
    /// plaintext; [`LatticeError::DegreeChange`] where the degree of the plaintexts does not divide the
    /// ring's.
    pub fn packed_combinations(
        inputs: &[&Self],
        combinations: &[PackedCombination<'_>],
    ) -> Result<Vec<Self>, LatticeError> {
        let (frame, forms) = Self::eval_forms(inputs)?;
        let forms: Vec<&Bundle<Eval>> = forms.iter().map(|form| &**form).collect();
        for form in &forms[1..] {
            forms[0].check_shape_of(form)?;
        }
        let narrow = forms.iter().all(|form| form.basis() == frame.basis());
        let sums =
            combine_packed(if narrow { frame.basis() } else { frame.extended() }, &forms, combinations)?;
        Ok(sums.into_iter().map(|sum| Self { frame: frame.clone(), coeff: None, eval: Some(sum) }).collect())
    }

    /// All inputs in Eval form, and their common modulus. Refuses an empty list.
    fn eval_forms<'a>(inputs: &[&'a Self]) -> Result<(&'a Arc<Frame>, EvalForms<'a>), LatticeError> {
        let first = inputs.first().ok_or(LatticeError::EmptyShape { what: "the number of terms", got: 0 })?;
        inputs.iter().try_for_each(|x| check_frame(&first.frame, &x.frame))?;
        Ok((&first.frame, inputs.iter().map(|x| x.eval_form()).collect::<Result<_, _>>()?))
    }

    /// `self <- self + P bodies`, for bodies over the level's modulus. A switch reads only the mask, so the
    /// bodies are added separately.
    pub fn add_lifted_bodies(&mut self, bodies: PolysRef<'_, Eval>) -> Result<(), LatticeError> {
        if bodies.len() != self.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: bodies.len() });
        }
        self.check_term(bodies.ring(), bodies.basis())?;
        let (rank, count) = self.shape();
        let eval = match &mut self.eval {
            Some(eval) => eval,
            none => none.insert(Bundle::zero(self.frame.ring(), self.frame.basis(), rank, count)?),
        };
        self.frame.add_lifted(eval.bodies_mut(), bodies);
        Ok(())
    }

    /// Splits the sum into the mask, divided by the special modulus and in Coeff form (where a decomposition
    /// starts), and the bodies, which stay over the extended modulus. The giant steps of double hoisting use
    /// this: they switch the mask, and [`Extended::add_bodies`] adds the bodies to the result.
    ///
    /// Cost: for each mask polynomial, one inverse transform per prime of its part in Eval form and one
    /// conversion. The phase changes by the mask's rounding.
    ///
    /// # Errors
    /// Those of arithmetic on bundles of one shape.
    pub fn split_mask(mut self) -> Result<(Polys<Coeff>, ExtendedBodies), LatticeError> {
        let mask = self.cut_mask(0)?;
        let (coeff, eval) = (self.coeff.map(Bundle::into_polys), self.eval.map(Bundle::into_polys));
        Ok((mask, ExtendedBodies { frame: self.frame, coeff, eval }))
    }

    /// `self <- self + bodies`: adds the bodies that [`Extended::split_mask`] returned to the switched mask.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`]; [`LatticeError::BasisMismatch`] where the two are of different levels
    /// or special moduli; [`LatticeError::BodiesMismatch`].
    pub fn add_bodies(&mut self, bodies: ExtendedBodies) -> Result<(), LatticeError> {
        check_frame(&self.frame, &bodies.frame)?;
        if bodies.body_count() != self.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: bodies.body_count() });
        }
        let (frame, rank) = (&self.frame, self.rank());
        if let Some(bodies) = &bodies.coeff {
            match &mut self.coeff {
                Some(coeff) => coeff.bodies_mut().add_assign(bodies.view())?,
                none => *none = Some(with_zero_mask(frame, frame.extended(), rank, bodies)?),
            }
        }
        let Some(bodies) = &bodies.eval else { return Ok(()) };
        let Some(eval) = &mut self.eval else {
            self.eval = Some(with_zero_mask(frame, bodies.basis(), rank, bodies)?);
            return Ok(());
        };
        if eval.basis() != bodies.basis() && eval.basis() != frame.extended() {
            *eval = frame.widen(eval)?.into_owned();
        }
        let mut sums = eval.bodies_mut();
        if sums.basis() == bodies.basis() {
            sums.add_assign(bodies.view())
        } else if bodies.basis() == frame.basis() {
            frame.add_narrow(sums, bodies.view());
            Ok(())
        } else {
            sums.add_assign(frame.widen_polys(bodies.view())?.view())
        }
    }
}

impl Frame {
    /// `sum <- sum + x` for polynomials `x` over the level's basis, whose rows come first in those of `sum`;
    /// `x` counts as zero modulo the special primes.
    fn add_narrow(&self, sum: PolysMut<'_, Eval>, x: PolysRef<'_, Eval>) {
        let ones = vec![1; x.basis().len()];
        self.ring().engine().add_mul_constants_assign(sum.into_rows(), x.rows(), &ones, x.basis().indices());
    }
}

/// The given bodies over `basis`, under a mask of `rank` zeroes.
fn with_zero_mask<D: Domain>(
    frame: &Frame,
    basis: &Basis,
    rank: usize,
    bodies: &Polys<D>,
) -> Result<Bundle<D>, LatticeError> {
    let mut bundle = Bundle::zero(frame.ring(), basis, Rank(rank), Bodies(bodies.len()))?;
    bundle.bodies_mut().assign(bodies.view())?;
    Ok(bundle)
}

impl<D: Domain> Bundle<D> {
    /// Refuses an operand of another rank or number of bodies; the primes may differ.
    fn check_shape_of(&self, other: &Self) -> Result<(), LatticeError> {
        if self.rank() != other.rank() {
            return Err(LatticeError::RankMismatch { left: self.rank(), right: other.rank() });
        }
        if self.body_count() != other.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: other.body_count() });
        }
        Ok(())
    }
}
