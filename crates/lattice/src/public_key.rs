//! Public-key encryption at any rank and number of bodies.
//!
//! The key is `k` fresh encryptions of zero; a ciphertext is a ternary combination of them with new errors:
//! `ct = sum_i u_i * zero_i + (e_1 .. e_k; e'_1 .. e'_m)`. For k = m = 1 this is the usual RLWE public key.

use crate::bundle::{Bundle, gaussian_poly};
use crate::error::LatticeError;
use crate::poly::{Basis, Eval, Poly};
use crate::ring::Ring;
use crate::sampling::SecretRng;
use crate::secret::{SecretKey, SecretPoly};

/// `k` encryptions of zero under one secret.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicKey {
    zeroes: Vec<Bundle<Eval>>,
}

impl PublicKey {
    /// A fresh public key over `basis`.
    ///
    /// # Errors
    /// As [`Bundle::encrypt_zero`].
    pub fn generate(secret: &SecretKey, ring: &Ring, basis: &Basis, rng: &mut SecretRng) -> Result<Self, LatticeError> {
        let zeroes = (0..secret.rank()).map(|_| Bundle::encrypt_zero(secret, ring, basis, rng)).collect::<Result<_, _>>()?;
        Ok(Self { zeroes })
    }

    /// A key from its encryptions of zero.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`], [`LatticeError::RankMismatch`] and their like where they do not fit together.
    pub fn from_zeroes(zeroes: Vec<Bundle<Eval>>) -> Result<Self, LatticeError> {
        let first = zeroes.first().ok_or(LatticeError::EmptyShape { what: "the rank", got: 0 })?;
        if first.rank() != zeroes.len() {
            return Err(LatticeError::RankMismatch { left: first.rank(), right: zeroes.len() });
        }
        zeroes.iter().try_for_each(|zero| first.check_same_shape(zero))?;
        Ok(Self { zeroes })
    }

    /// The encryptions of zero.
    #[must_use]
    pub fn zeroes(&self) -> &[Bundle<Eval>] {
        &self.zeroes
    }

    /// A fresh encryption of zero over `basis`, a subset of the key's.
    ///
    /// # Errors
    /// [`LatticeError::BasisMismatch`] where the key lacks a prime.
    pub fn encrypt_zero(&self, basis: &Basis, rng: &mut SecretRng) -> Result<Bundle<Eval>, LatticeError> {
        let ring = self.zeroes[0].ring();
        basis.check(ring)?;
        let zeroes = self.zeroes.iter().map(|zero| zero.restrict(basis)).collect::<Result<Vec<_>, _>>()?;
        let ephemeral: Vec<SecretPoly> = (0..self.zeroes.len())
            .map(|_| {
                let mut u = zeroize::Zeroizing::new(vec![0i64; ring.degree()]);
                rng.ternary_uniform(&mut u);
                SecretPoly::new(Poly::from_signed(ring, basis, &u).into_eval())
            })
            .collect();
        let xs: Vec<&Poly<Eval>> = ephemeral.iter().map(SecretPoly::get).collect();
        let mut combine = |pick: &dyn Fn(&Bundle<Eval>) -> Poly<Eval>| -> Result<Poly<Eval>, LatticeError> {
            let columns: Vec<Poly<Eval>> = zeroes.iter().map(pick).collect();
            let ys: Vec<&Poly<Eval>> = columns.iter().collect();
            let mut sum = Poly::inner_product(&xs, &ys)?;
            sum.add_assign(SecretPoly::new(gaussian_poly(ring, basis, rng).into_eval()).get())?;
            Ok(sum)
        };
        let mask = (0..zeroes[0].rank()).map(|i| combine(&|zero| zero.mask()[i].clone())).collect::<Result<_, _>>()?;
        let bodies = (0..zeroes[0].body_count()).map(|i| combine(&|zero| zero.bodies()[i].clone())).collect::<Result<_, _>>()?;
        Bundle::new(mask, bodies)
    }
}
