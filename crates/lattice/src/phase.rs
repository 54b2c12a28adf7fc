//! Phases `b_i + <a, s_i>` of bundles, which a decryption decodes.

use clathrate_arith::Rows;

use crate::basis::Basis;
use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Eval, Poly, Polys};
use crate::ring::Ring;
use crate::secret::{SecretKey, SecretPoly};

/// A secret in Eval form modulo the primes of a basis, so that it is transformed once for many decryptions.
/// It reveals the secret, and is overwritten when it is dropped.
#[derive(Debug)]
pub struct EvalSecret {
    ring: Ring,
    basis: Basis,
    /// The polynomials of each body.
    bodies: Vec<Vec<SecretPoly>>,
    rank: usize,
}

impl SecretKey {
    /// This secret in Eval form modulo the primes of `basis`.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`] where the ring has another degree than the secret.
    pub fn to_eval(&self, ring: &Ring, basis: &Basis) -> Result<EvalSecret, LatticeError> {
        self.check_degree(ring)?;
        let bodies = (0..self.bodies()).map(|body| self.eval(ring, basis, body)).collect();
        Ok(EvalSecret { ring: ring.clone(), basis: basis.clone(), bodies, rank: self.rank() })
    }
}

impl Bundle<Eval> {
    /// The phase of each body: `b_i + <a, s_i>`.
    ///
    /// # Errors
    /// [`LatticeError::SecretShape`] where rank, bodies or degree differ.
    pub fn phase(&self, secret: &SecretKey) -> Result<Vec<Poly<Eval>>, LatticeError> {
        self.check_secret((secret.rank(), secret.bodies(), secret.degree()))?;
        self.phase_over(&secret.to_eval(self.ring(), self.basis())?)
    }

    /// The phases modulo the primes of `secret`, without a copy of the bundle over these primes.
    pub fn phase_over(&self, secret: &EvalSecret) -> Result<Vec<Poly<Eval>>, LatticeError> {
        self.check_secret((secret.rank, secret.bodies.len(), secret.ring.degree()))?;
        let mut phases = Polys::scratch(self.ring(), &secret.basis, self.body_count());
        self.phases_into(secret, &mut phases)?;
        Ok(phases.to_vec())
    }

    /// The phases modulo the primes of `out`, one polynomial for each body, written to `out`. The bundle and
    /// the secret may both have further primes.
    ///
    /// # Errors
    /// [`LatticeError::SecretShape`] where rank, bodies or degree differ; [`LatticeError::BodiesMismatch`]
    /// where `out` does not have one polynomial for each body; [`LatticeError::BasisMismatch`] where the
    /// bundle or the secret lacks a prime of `out`; [`LatticeError::RingMismatch`].
    pub fn phases_into(&self, secret: &EvalSecret, out: &mut Polys<Eval>) -> Result<(), LatticeError> {
        self.check_secret((secret.rank, secret.bodies.len(), secret.ring.degree()))?;
        if out.len() != self.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: out.len() });
        }
        for ring in [&secret.ring, out.ring()] {
            if !ring.same_as(self.ring()) {
                return Err(LatticeError::RingMismatch { left: self.ring().degree(), right: ring.degree() });
            }
        }
        let missing =
            |basis: &Basis| LatticeError::BasisMismatch { left: out.basis().len(), right: basis.len() };
        let rows_of = |basis: &Basis| basis.rows_of(out.basis().indices()).ok_or_else(|| missing(basis));
        // Left factors have the primes of the result; right factors may have more. The secret is the left
        // factor if it has no further primes.
        let secret_is_left = secret.basis == *out.basis();
        if !secret_is_left && self.basis() != out.basis() {
            return self.restrict(out.basis())?.phases_into(secret, out);
        }
        let rows = rows_of(if secret_is_left { self.basis() } else { &secret.basis })?;
        let mut terms: Vec<Vec<(Rows<'_>, Rows<'_>)>> = Vec::with_capacity(secret.bodies.len());
        for body in &secret.bodies {
            let pairs = self.mask().iter().zip(body).map(|(a, s)| (a.rows(), s.get().rows()));
            terms.push(pairs.map(|(a, s)| if secret_is_left { (s, a) } else { (a, s) }).collect());
        }
        let view = out.view_mut();
        let (ring, indices) = (view.ring(), view.basis().indices());
        ring.engine().dot_products(view.into_rows(), &terms, &rows, indices);
        if self.basis() == out.basis() {
            return out.view_mut().add_assign(self.bodies());
        }
        let bodies = self.bodies().restrict(out.basis())?;
        out.view_mut().add_assign(bodies.view())
    }

    /// Refuses secrets of another rank, number of bodies or degree.
    fn check_secret(&self, (rank, bodies, degree): (usize, usize, usize)) -> Result<(), LatticeError> {
        if (rank, bodies, degree) == (self.rank(), self.body_count(), self.ring().degree()) {
            return Ok(());
        }
        Err(LatticeError::SecretShape {
            secret_rank: rank,
            secret_bodies: bodies,
            secret_degree: degree,
            rank: self.rank(),
            bodies: self.body_count(),
            degree: self.ring().degree(),
        })
    }
}
