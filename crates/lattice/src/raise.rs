//! Raising the modulus: every coefficient, given modulo a small modulus, is read as a centred integer and
//! reduced modulo a large modulus.
//!
//! ```text
//! x mod q0  ->  [x] mod Q,    [x] = x mod q0 in [-q0/2, q0/2]
//! ```
//!
//! A bundle with phase `m` modulo `q0` becomes one with phase `m + q0 I` for a polynomial `I` of small
//! coefficients; bootstrapping removes `q0 I` afterwards. The modulus `q0` may be a product of several
//! primes. The lift is centred, so that `I` is as small as possible.

use std::sync::Arc;

use clathrate_arith::{BaseConversion, Rounding};

use crate::bundle::Bundle;
use crate::error::LatticeError;
use crate::poly::{Basis, Coeff, Domain, Eval, Poly, PolyRef, Polys, PolysRef};
use crate::ring::Ring;
use crate::switch::{Extended, Frame};

/// Precomputed lift from the primes of a small modulus to those of a large one.
///
/// The lift is exact modulo the small modulus `q0`: the result is `x` modulo `q0`, whatever the rounding. It
/// is centred, except that a coefficient within `2^-44 q0` of the boundary `q0/2` may be lifted to the other
/// side of it, because the quotient by `q0` is a floating-point sum.
#[derive(Debug, Clone)]
pub struct Raise {
    ring: Ring,
    from: Basis,
    to: Basis,
    conversion: BaseConversion,
}

impl Raise {
    /// The lift from the primes `from` to the primes `to`. They may have common primes, as when a ciphertext
    /// at level 0 is raised to a high level.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`], [`LatticeError::BasisMismatch`] where `from` or `to` is not a basis of
    /// `ring`.
    pub fn new(ring: &Ring, from: &Basis, to: &Basis) -> Result<Self, LatticeError> {
        from.check(ring)?;
        to.check(ring)?;
        let ones = vec![1; from.len()];
        let conversion = ring
            .engine()
            .base_conversion(from.indices(), to.indices(), &ones, Rounding::Centred)
            .ok_or(LatticeError::BasisMismatch { left: from.len(), right: to.len() })?;
        Ok(Self { ring: ring.clone(), from: from.clone(), to: to.clone(), conversion })
    }

    /// The primes of the small modulus.
    #[must_use]
    pub fn from(&self) -> &Basis {
        &self.from
    }

    /// The primes of the large modulus.
    #[must_use]
    pub fn to(&self) -> &Basis {
        &self.to
    }

    fn check<D: Domain>(&self, x: PolysRef<'_, D>) -> Result<(), LatticeError> {
        if !x.ring().same_as(&self.ring) {
            return Err(LatticeError::RingMismatch { left: x.ring().degree(), right: self.ring.degree() });
        }
        if *x.basis() != self.from {
            return Err(LatticeError::BasisMismatch { left: x.basis().len(), right: self.from.len() });
        }
        Ok(())
    }

    /// The lift of a polynomial in Coeff form. Cost: no transforms.
    ///
    /// # Errors
    /// [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where the polynomial is not over the
    /// small modulus.
    pub fn raise_coeff<'a>(&self, x: impl Into<PolyRef<'a, Coeff>>) -> Result<Poly<Coeff>, LatticeError> {
        Ok(Poly::from_buffer(&self.ring, &self.to, self.raise_coeffs(x.into().into())?.into_buffer()))
    }

    /// As [`Raise::raise_coeff`], for several polynomials.
    pub fn raise_coeffs(&self, x: PolysRef<'_, Coeff>) -> Result<Polys<Coeff>, LatticeError> {
        self.check(x)?;
        let mut out = Polys::scratch(&self.ring, &self.to, x.len());
        // The conversion reproduces the residues modulo common primes, so it can write all rows.
        let rows: Vec<usize> = (0..self.to.len()).collect();
        for (x, out) in x.iter().zip(out.view_mut()) {
            self.ring.engine().convert(&self.conversion, x.rows(), out.into_rows(), &rows);
        }
        Ok(out)
    }

    /// The lift of a polynomial in Eval form. Cost: one inverse transform per prime of the small modulus, one
    /// forward transform per prime of the large one.
    pub fn raise<'a>(&self, x: impl Into<PolyRef<'a, Eval>>) -> Result<Poly<Eval>, LatticeError> {
        Ok(Poly::from_buffer(&self.ring, &self.to, self.raise_all(x.into().into())?.into_buffer()))
    }

    /// As [`Raise::raise`], for several polynomials, which are transformed together.
    pub fn raise_all(&self, x: PolysRef<'_, Eval>) -> Result<Polys<Eval>, LatticeError> {
        self.check(x)?;
        Ok(self.raise_coeffs(x.to_coeff().view())?.into_eval())
    }
}

impl Bundle<Eval> {
    /// The same samples lifted to a larger modulus: phase `m + q0 I` for phase `m` modulo `q0`.
    pub fn raise(&self, raise: &Raise) -> Result<Self, LatticeError> {
        Self::from_polys(raise.raise_all(self.view())?, self.rank())
    }

    /// [`Bundle::raise`] to the extended modulus `P Q_l` of `frame`, which must be the large modulus of
    /// `raise`. The mod-down divides the lifted phase by `P`.
    ///
    /// # Errors
    /// As [`Raise::raise_coeff`]; [`LatticeError::BasisMismatch`] where `raise` has another large modulus.
    pub fn raise_extended(&self, raise: &Raise, frame: &Arc<Frame>) -> Result<Extended, LatticeError> {
        Extended::from_bundle(self.raise(raise)?, frame)
    }
}
