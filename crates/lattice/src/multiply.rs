//! Operations that need a switch: products of bundles, rotations, changes of secret.
//!
//! Each operation calls the switch once, at every rank.

use std::sync::Arc;

use clathrate_arith::{Automorphism, Factor2, GaloisElement};

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::poly::{Eval, Polys, PolysRef};
use crate::ring::Ring;
use crate::sampling::SecretRng;
use crate::secret::SecretKey;
use crate::shape::Rank;
use crate::switch::{Digits, Extended, SecretMatrix, SwitchKey, SwitchTables, Switcher};

/// A product before relinearisation: phase `body + sum_i linear_i s_i + sum_{i<=j} quadratic_ij s_i s_j`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// The linear terms, the body, the quadratic terms.
    polys: Polys<Eval>,
    rank: usize,
}

impl Tensor {
    /// The tensor of the given polynomials: the terms of `s_i` in the phase, then the body, then the terms of
    /// `s_i s_j`, `i <= j` in lexicographic order.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] for rank 0; [`LatticeError::PolynomialCount`] where the number of
    /// polynomials does not fit the rank.
    pub fn from_polys(polys: Polys<Eval>, Rank(rank): Rank) -> Result<Self, LatticeError> {
        if rank == 0 {
            return Err(LatticeError::EmptyShape { what: "the rank", got: 0 });
        }
        let expected = rank + 1 + rank * (rank + 1) / 2;
        if polys.len() != expected {
            return Err(LatticeError::PolynomialCount {
                what: "a product of ciphertexts",
                expected,
                got: polys.len(),
            });
        }
        Ok(Self { polys, rank })
    }

    /// The terms of `s_i s_j` in the phase, `i <= j` in lexicographic order.
    #[must_use]
    pub fn quadratic(&self) -> PolysRef<'_, Eval> {
        self.polys.view().range(self.rank + 1..self.polys.len())
    }

    /// `self <- self + other`: products that share one relinearisation.
    ///
    /// # Errors
    /// [`LatticeError::RankMismatch`]; [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`].
    pub fn add_assign(&mut self, other: &Self) -> Result<(), LatticeError> {
        if self.rank != other.rank {
            return Err(LatticeError::RankMismatch { left: self.rank, right: other.rank });
        }
        self.polys.view_mut().add_assign(other.polys.view())
    }

    /// `self <- self + bundle`: adds a bundle, which needs no relinearisation, to a sum of products.
    ///
    /// # Errors
    /// [`LatticeError::RankMismatch`]; [`LatticeError::ManyBodies`]; [`LatticeError::RingMismatch`],
    /// [`LatticeError::BasisMismatch`].
    pub fn add_bundle(&mut self, bundle: &Bundle<Eval>) -> Result<(), LatticeError> {
        if self.rank != bundle.rank() {
            return Err(LatticeError::RankMismatch { left: self.rank, right: bundle.rank() });
        }
        if bundle.body_count() != 1 {
            return Err(LatticeError::ManyBodies {
                operation: "a product of ciphertexts",
                bodies: bundle.body_count(),
            });
        }
        self.polys.view_mut().split_at(self.rank + 1).0.add_assign(bundle.view())
    }

    /// The terms that need no switch: the terms of `s_i` in the phase, then the body.
    pub(crate) fn terms(&self) -> PolysRef<'_, Eval> {
        self.polys.view().range(0..self.rank + 1)
    }

    /// The rank of the factors.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Refuses keys whose result has another shape than [`Tensor::terms`].
    fn check_key(&self, key: &SwitchKey) -> Result<(), LatticeError> {
        if key.rank() != self.rank {
            return Err(LatticeError::RankMismatch { left: self.rank, right: key.rank() });
        }
        if key.body_count() != 1 {
            return Err(LatticeError::BodiesMismatch { left: 1, right: key.body_count() });
        }
        Ok(())
    }

    /// A bundle over the extended modulus whose phase is `P` times this tensor's.
    fn relinearise_extended(&self, switcher: &Switcher, key: &SwitchKey) -> Result<Extended, LatticeError> {
        self.check_key(key)?;
        let mut sum = switcher.product(&self.quadratic().iter().collect::<Vec<_>>(), key)?;
        sum.add_lifted_polys(self.terms())?;
        Ok(sum)
    }

    /// Relinearises the product: returns the bundle with the same phase.
    ///
    /// # Errors
    /// As [`Switcher::inner_product`]; [`LatticeError::RankMismatch`], [`LatticeError::BodiesMismatch`] where
    /// the key's result has another shape.
    pub fn relinearise(&self, switcher: &Switcher, key: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
        self.check_key(key)?;
        switcher.chain().ring().together(|| {
            let mut switched = switcher.switch(&self.quadratic().iter().collect::<Vec<_>>(), key)?;
            switched.view_mut().add_assign(self.terms())?;
            Ok(switched)
        })
    }

    /// Relinearises and rescales with one division by `P q_l`, which takes fewer transforms and one rounding
    /// fewer than two divisions.
    ///
    /// # Errors
    /// As [`Tensor::relinearise`]; [`LatticeError::NoLevelLeft`] at level 0.
    pub fn relinearise_rescale(
        &self,
        switcher: &Switcher,
        key: &SwitchKey,
    ) -> Result<Bundle<Eval>, LatticeError> {
        switcher
            .chain()
            .ring()
            .together(|| switcher.mod_down_rescale(&self.relinearise_extended(switcher, key)?))
    }
}

impl Bundle<Eval> {
    /// The product of two one-body bundles before relinearisation. Cost: `(r + 1)^2 l` Hadamard products.
    /// [dpad-he, Table 1]
    ///
    /// # Errors
    /// [`LatticeError::ManyBodies`]; as [`Bundle::check_same_shape`].
    pub fn tensor(&self, other: &Self) -> Result<Tensor, LatticeError> {
        if self.body_count() != 1 {
            return Err(LatticeError::ManyBodies {
                operation: "a product of ciphertexts",
                bodies: self.body_count(),
            });
        }
        self.check_same_shape(other)?;
        let (ring, basis, rank) = (self.ring(), self.basis(), self.rank());
        let (b, a) = (self.bodies().at(0).rows(), |i| self.mask().at(i).rows());
        let (d, c) = (other.bodies().at(0).rows(), |i| other.mask().at(i).rows());
        let mut terms: Vec<Vec<Factor2<'_>>> = (0..rank).map(|i| vec![(b, c(i)), (a(i), d)]).collect();
        terms.push(vec![(b, d)]);
        for i in 0..rank {
            terms.push(vec![(a(i), c(i))]);
            terms.extend((i + 1..rank).map(|j| vec![(a(i), c(j)), (a(j), c(i))]));
        }
        let mut polys = Polys::scratch(ring, basis, terms.len());
        let rows: Vec<usize> = (0..basis.len()).collect();
        ring.engine().dot_products(polys.view_mut().into_rows(), &terms, &rows, basis.indices());
        Ok(Tensor { polys, rank })
    }

    /// The relinearised product.
    pub fn multiply(&self, other: &Self, switcher: &Switcher, key: &SwitchKey) -> Result<Self, LatticeError> {
        self.ring().together(|| self.tensor(other)?.relinearise(switcher, key))
    }

    /// Decomposes every mask polynomial with the tables `plan`; all rotations of one bundle can share the
    /// digits.
    pub fn decompose_mask(
        &self,
        switcher: &Switcher,
        plan: &Arc<SwitchTables>,
    ) -> Result<Vec<Digits>, LatticeError> {
        self.mask().iter().map(|poly| switcher.decompose_by(plan, poly)).collect()
    }

    /// Adds this bundle's bodies to its switched mask: the last step of every linear switch.
    pub(crate) fn finish(&self, mut switched: Self) -> Result<Self, LatticeError> {
        if switched.body_count() != self.body_count() {
            return Err(LatticeError::BodiesMismatch {
                left: self.body_count(),
                right: switched.body_count(),
            });
        }
        switched.bodies_mut().add_assign(self.bodies())?;
        Ok(switched)
    }

    /// The same messages under another secret: a change of secret, a rank-down, or the switch within a ring
    /// switch.
    ///
    /// # Errors
    /// As [`Switcher::switch`]; [`LatticeError::BodiesMismatch`] where the key's result has another number of
    /// bodies.
    pub fn switch_secret(&self, switcher: &Switcher, key: &SwitchKey) -> Result<Self, LatticeError> {
        self.ring().together(|| self.finish(switcher.switch(&self.mask().iter().collect::<Vec<_>>(), key)?))
    }

    /// `phi` of the messages, under the same secret; `key` was made by [`SwitchKey::automorphism`].
    ///
    /// # Errors
    /// As [`Bundle::switch_secret`]; [`LatticeError::RingMismatch`] for an automorphism of another degree.
    pub fn rotate(
        &self,
        phi: &Automorphism,
        switcher: &Switcher,
        key: &SwitchKey,
    ) -> Result<Self, LatticeError> {
        check_automorphism(phi, self.ring())?;
        self.ring().together(|| Ok(self.switch_secret(switcher, key)?.automorphism(phi)))
    }

    /// [`Bundle::rotate`] from this bundle's digits, which are computed once for many rotations
    /// ([`Bundle::decompose_mask`]).
    ///
    /// # Errors
    /// As [`Bundle::switch_secret`]; [`LatticeError::RingMismatch`] for an automorphism of another degree.
    pub fn rotate_hoisted(
        &self,
        phi: &Automorphism,
        digits: &[Digits],
        switcher: &Switcher,
        key: &SwitchKey,
    ) -> Result<Self, LatticeError> {
        check_automorphism(phi, self.ring())?;
        let inputs: Vec<&Digits> = digits.iter().collect();
        self.ring().together(|| {
            let switched = switcher.mod_down(&switcher.inner_product(&inputs, key)?)?;
            Ok(self.finish(switched)?.automorphism(phi))
        })
    }
}

impl SwitchKey {
    /// A relinearisation key: switches from `s_i s_j` to `s`.
    ///
    /// # Errors
    /// As [`SwitchKey::generate`]; [`LatticeError::ManyBodies`].
    pub fn relinearisation(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        secret: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        chain.check_level(level)?;
        let matrix = SecretMatrix::quadratic(secret, chain.ring(), &chain.key_basis(level))?;
        Self::generate(chain, gadget, level, &matrix, secret, rng)
    }

    /// A key for `phi`: switches from `s` to `phi^-1(s)`. The automorphism follows the switch, so that it
    /// permutes the few results of the switch and not the many digits. Source: [klss, sec. 4.3], [dpad-he,
    /// sec. 3.1]; differs: the papers permute first; the message is the same.
    pub fn automorphism(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        secret: &SecretKey,
        phi: &Automorphism,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        check_automorphism(phi, chain.ring())?;
        let inverse = inverse_automorphism(phi)?;
        Self::change_of_secret(chain, gadget, level, secret, &secret.automorphism(&inverse), rng)
    }

    /// A key that switches from one secret to another, each of any rank.
    pub fn change_of_secret(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        from: &SecretKey,
        to: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        chain.check_level(level)?;
        from.check_degree(chain.ring())?;
        let matrix = SecretMatrix::linear(from, chain.ring(), &chain.key_basis(level));
        Self::generate(chain, gadget, level, &matrix, to, rng)
    }
}

pub(crate) fn check_automorphism(phi: &Automorphism, ring: &Ring) -> Result<(), LatticeError> {
    if phi.degree() == ring.degree() {
        return Ok(());
    }
    Err(LatticeError::RingMismatch { left: phi.degree(), right: ring.degree() })
}

/// `phi^-1`: the automorphism of `g^-1` modulo `2n`.
pub(crate) fn inverse_automorphism(phi: &Automorphism) -> Result<Automorphism, LatticeError> {
    Ok(Automorphism::new(inverse_element(phi.element(), phi.degree())?, phi.degree()))
}

/// `g^-1` modulo `2n`: the element of the inverse automorphism at degree `n`.
///
/// # Errors
/// [`LatticeError::Arith`] where `g` is not below `2n`.
pub fn inverse_element(element: GaloisElement, degree: usize) -> Result<GaloisElement, LatticeError> {
    let (mask, element) = (2 * degree - 1, element.value());
    // Newton's iteration doubles the number of correct bits in each step. It starts with three correct bits,
    // because g g = 1 mod 8 for odd g.
    let mut inverse = element;
    for _ in 0..usize::BITS.ilog2() {
        inverse = inverse.wrapping_mul(2usize.wrapping_sub(element.wrapping_mul(inverse)));
    }
    Ok(GaloisElement::new(inverse & mask, degree)?)
}
