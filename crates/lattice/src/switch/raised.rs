//! Linear maps of raised polynomials: switches of inputs that are small integers and need no decomposition.
//!
//! The mask `a` of a raised ciphertext is an integer below `q0 / 2`, known modulo every prime. Its images
//! under automorphisms are as small. They can be multiplied without decomposition by a key with one gadget
//! digit for all ciphertext primes, because the noise `a e` is far below the special modulus:
//!
//! ```text
//! sum_j phi_j(a) key_j,    key_j encrypts P' T_j
//! ```
//!
//! has the phase `P' sum_j phi_j(a) T_j`. With `T_j = round(t nu_j) s`, `t` a product of primes, the division
//! by `P' t` gives the phase `sum_j phi_j(a) nu_j s`: a linear map of the mask and a change of its secret, at
//! the cost of the products and one mod-down. [`Chain::with_lowest_special_step`] gives the chain on which
//! `t` is the highest step.
//!
//! Source: [bootstrapping study], sec. 3.2; the idea is that of ePrint 2025/1403 and 2025/1298.

use std::sync::Arc;

use clathrate_arith::{Automorphism, FactorGroups};

use super::extended::Extended;
use super::frame::Frame;
use super::key::SwitchKey;
use super::switcher::Switcher;
use crate::bundle::Bundle;
use crate::chain::Chain;
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::poly::{Eval, Polys, PolysRef};

impl Chain {
    /// The chain whose highest step consists of the first `count` special primes, and whose special primes
    /// are the others. Keys for the highest levels of both chains are over the same primes.
    ///
    /// # Errors
    /// [`LatticeError::NoSpecialPrimes`] unless a special prime remains.
    pub fn with_lowest_special_step(&self, count: usize) -> Result<Self, LatticeError> {
        self.moved_special(count).ok_or(LatticeError::NoSpecialPrimes)
    }
}

impl Gadget {
    /// One digit of all ciphertext primes of `chain`: for inputs that are small integers.
    #[must_use]
    pub fn single(chain: &Chain) -> Self {
        Self::by_bits(chain, f64::INFINITY)
    }
}

impl Switcher {
    /// `sum_j sum_i phi_j(inputs_i) key_(j, i)`: `P'` times a bundle of this chain's highest level, for
    /// inputs that are small integers modulo all primes of the key. The key has one digit
    /// ([`Gadget::single`]) and an input for each pair `(j, i)`, `j` outer.
    ///
    /// Range: integers of `b` bits add noise of about `b + log2(sigma N R) / 2` bits before the division by
    /// `P'`.
    ///
    /// # Errors
    /// [`LatticeError::KeyInputs`], [`LatticeError::KeyGadget`] where the key does not fit;
    /// [`LatticeError::BasisMismatch`] where the inputs are not over the key's primes;
    /// [`LatticeError::RingMismatch`].
    pub fn raised_product(
        &self,
        inputs: PolysRef<'_, Eval>,
        phis: &[Automorphism],
        key: &SwitchKey,
    ) -> Result<Extended, LatticeError> {
        let (chain, ring) = (self.chain(), self.chain().ring());
        let count = inputs.len() * phis.len();
        if count == 0 || count != key.inputs() {
            return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: count });
        }
        if !inputs.ring().same_as(ring) || !key.ring().same_as(ring) {
            return Err(LatticeError::RingMismatch { left: inputs.ring().degree(), right: ring.degree() });
        }
        if key.digit_count() != 1 || *key.gadget() != *self.gadget() || key.level() != chain.max_level() {
            return Err(LatticeError::KeyGadget { key_digits: key.digit_count(), digits: 1 });
        }
        if inputs.basis() != key.basis() {
            return Err(LatticeError::BasisMismatch { left: inputs.basis().len(), right: key.basis().len() });
        }
        if let Some(phi) = phis.iter().find(|phi| phi.degree() != ring.degree()) {
            return Err(LatticeError::RingMismatch { left: phi.degree(), right: ring.degree() });
        }
        let frame = Arc::new(Frame::new(chain, key.level(), chain.special_basis())?);
        let (engine, basis, columns) = (ring.engine(), key.basis(), key.columns());
        let mut out = Polys::<Eval>::scratch(ring, basis, columns);
        let xs: Vec<_> = (0..inputs.len()).map(|index| inputs.at(index).rows()).collect();
        let rows: Vec<usize> = (0..basis.len()).collect();
        let by = FactorGroups { factors: key.factors(), groups: &[0], rows: &rows, moduli: basis.indices() };
        engine.permuted_factor_products(out.view_mut().into_rows(), &xs, phis, by);
        let eval = Some(Bundle::from_polys(out, key.rank())?);
        Ok(Extended { frame, coeff: None, eval })
    }
}
