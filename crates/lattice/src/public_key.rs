//! Public-key encryption at any rank and number of bodies.
//!
//! The key is `k` fresh encryptions of zero; a ciphertext is a ternary combination of them with new errors:
//! `ct = sum_i u_i * zero_i + (e_1 .. e_k; e'_1 .. e'_m)`. For k = m = 1 this is the usual RLWE public key.

use clathrate_arith::Factor2;

use crate::bundle::{Bundle, set_gaussian};
use crate::error::LatticeError;
use crate::poly::{Basis, Eval, Poly, Polys};
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
    pub fn generate(
        secret: &SecretKey,
        ring: &Ring,
        basis: &Basis,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        let zeroes = (0..secret.rank())
            .map(|_| Bundle::encrypt_zero(secret, ring, basis, rng))
            .collect::<Result<_, _>>()?;
        Ok(Self { zeroes })
    }

    /// A key from stored encryptions of zero.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without encryptions; [`LatticeError::RankMismatch`] where their number is
    /// not their rank; as [`Bundle::check_same_shape`].
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

    /// A fresh encryption of zero over `basis`, a subset of the key's basis. The `u_i` are uniform ternary,
    /// the errors Gaussian with sigma = 3.2.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] where `basis` is empty; [`LatticeError::BasisMismatch`] where the key
    /// lacks a prime of `basis`.
    pub fn encrypt_zero(&self, basis: &Basis, rng: &mut SecretRng) -> Result<Bundle<Eval>, LatticeError> {
        let ring = self.zeroes[0].ring();
        basis.check(ring)?;
        let key_basis = self.zeroes[0].basis();
        let mismatch = LatticeError::BasisMismatch { left: key_basis.len(), right: basis.len() };
        let rows = key_basis.rows_of(basis.indices()).ok_or(mismatch)?;
        let ephemeral: Vec<SecretPoly> = (0..self.zeroes.len())
            .map(|_| {
                let mut u = zeroize::Zeroizing::new(vec![0i64; ring.degree()]);
                rng.ternary_uniform(&mut u);
                SecretPoly::new(Poly::from_signed(ring, basis, &u).into_eval())
            })
            .collect();
        let polys = self.zeroes[0].view().len();
        let terms: Vec<Vec<Factor2<'_>>> = (0..polys)
            .map(|i| {
                ephemeral
                    .iter()
                    .zip(&self.zeroes)
                    .map(|(u, zero)| (u.get().rows(), zero.view().at(i).rows()))
                    .collect()
            })
            .collect();
        let mut sums = ring.engine().scratch(polys * basis.len());
        ring.engine().dot_products(sums.view_mut(), &terms, &rows, basis.indices());
        let mut sums = Polys::from_buffer(ring, basis, sums);
        for mut sum in sums.view_mut() {
            let mut error = Poly::zero(ring, basis);
            set_gaussian(&mut error.view_mut(), rng);
            sum.add_assign(SecretPoly::new(error).get())?;
        }
        Bundle::from_polys(sums, self.zeroes[0].rank())
    }
}
