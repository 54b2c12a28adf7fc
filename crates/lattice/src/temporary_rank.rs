//! TemporaryRank a temporary rank: fewer digits there, one rank-down back. [dpad-he, sec. 3.2, 3.5]
//!
//! A larger special modulus `P^` makes fewer digits, and needs a larger dimension to be as secure: keys under `s || s'`, of rank `k^ > k`.
//! What is switched there comes back by a switch of its `k^ - k` further mask polynomials from `s'` to `s`, over the ordinary modulus.
//!
//! ```text
//! cross-relinearise   R = k (k + 1) / 2 inputs s_i s_j,  mu digits over P^ Q_l  ->  s || s'
//! rank-down           R = k^ - k        inputs s'_i,     d digits over P Q_l    ->  s
//! ```
//!
//! Both are the one switch, of a widened chain and of the ordinary one, with all that it has: coalesced keys, either engine, plans. Source: [dpad-he,
//! Algorithms 1, 2]; differs: the two products of a relinearisation meet before one mod-down, which the paper does once per stage: `(k + 1)(l + p)`
//! transforms fewer, `p` the primes of `P`, and one rounding less.

use clathrate_arith::Automorphism;

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::multiply::{Tensor, check_automorphism};
use crate::poly::{Coeff, Eval};
use crate::polys::PolysRef;
use crate::sampling::SecretRng;
use crate::secret::SecretKey;
use crate::switch::{Extended, SecretMatrix, SwitchKey, Switcher};

/// The way back from a temporary rank: who switches on either side, and the key between.
#[derive(Debug, Clone, Copy)]
pub struct TemporaryRank<'a> {
    /// Of the widened chain: switches to the temporary rank.
    pub wide: &'a Switcher,
    /// Of the ordinary chain.
    pub base: &'a Switcher,
    /// From `s'` to `s`: [`SwitchKey::rank_down`].
    pub down: &'a SwitchKey,
}

impl TemporaryRank<'_> {
    /// Refuses keys of the temporary rank that the rank-down key cannot bring to `rank`.
    fn check(&self, key: &SwitchKey, rank: usize) -> Result<(), LatticeError> {
        if self.down.rank() == rank && key.rank() > rank && self.down.inputs() == key.rank() - rank {
            return Ok(());
        }
        Err(LatticeError::RankDownKey { high: key.rank().max(rank), low: rank, inputs: self.down.inputs(), rank: self.down.rank() })
    }

    /// The rank-down of polynomials in Coeff form, before its mod-down.
    fn descend(&self, high: PolysRef<'_, Coeff>) -> Result<Extended, LatticeError> {
        self.base.product_coeff(&high.iter().collect::<Vec<_>>(), self.down)
    }

    /// `product` over the temporary rank, brought to `rank` before its mod-down.
    fn land(&self, mut product: Extended, rank: usize) -> Result<Extended, LatticeError> {
        let high = product.take_mask(rank)?;
        product.join(self.descend(high.view())?)
    }
}

impl Tensor {
    fn cross_extended(&self, temporary: TemporaryRank<'_>, up: &SwitchKey) -> Result<Extended, LatticeError> {
        temporary.check(up, self.rank())?;
        let product = temporary.wide.product(&self.quadratic().iter().collect::<Vec<_>>(), up)?;
        let mut sum = temporary.land(product, self.rank())?;
        sum.add_lifted_polys(self.terms())?;
        Ok(sum)
    }

    /// Relinearises through a temporary rank: the bundle of this rank with the same phase. [dpad-he, Algorithm 1]
    ///
    /// # Errors
    /// As [`Switcher::product`]; [`LatticeError::RankDownKey`] where the two keys do not belong together.
    pub fn cross_relinearise(&self, temporary: TemporaryRank<'_>, up: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
        temporary.wide.mod_down(&self.cross_extended(temporary, up)?)
    }

    /// As [`Tensor::cross_relinearise`], and a rescale, with one division by `P^ q_l`.
    ///
    /// # Errors
    /// As [`Tensor::cross_relinearise`]; [`LatticeError::NoLevelLeft`] at level 0.
    pub fn cross_relinearise_rescale(&self, temporary: TemporaryRank<'_>, up: &SwitchKey) -> Result<Bundle<Eval>, LatticeError> {
        temporary.wide.mod_down_rescale(&self.cross_extended(temporary, up)?)
    }
}

impl Bundle<Eval> {
    /// The same messages at rank `rank`, under the nested secret that its key switches to. Source: [dpad-he, sec. 3.1.1, RankReduce]
    ///
    /// # Errors
    /// As [`Switcher::switch`]; [`LatticeError::RankDownKey`] where the key is not one from this rank to `rank`.
    pub fn reduce_rank(&self, rank: usize, switcher: &Switcher, key: &SwitchKey) -> Result<Self, LatticeError> {
        if key.rank() != rank || rank >= self.rank() || key.inputs() != self.rank() - rank {
            return Err(LatticeError::RankDownKey { high: self.rank().max(rank), low: rank, inputs: key.inputs(), rank: key.rank() });
        }
        if key.body_count() != self.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: key.body_count() });
        }
        let mut reduced = switcher.switch(&self.mask().range(rank..self.rank()).iter().collect::<Vec<_>>(), key)?;
        let (mut mask, mut bodies) = reduced.view_mut().split_at(rank);
        mask.add_assign(self.mask().range(0..rank))?;
        bodies.add_assign(self.bodies())?;
        Ok(reduced)
    }

    /// `phi_m(.. phi_1(messages))`, each automorphism at the temporary rank under its key of few digits, and one rank-down at the end. Source:
    /// [dpad-he, Algorithm 2]; differs: the last switch leaves what the rank-down decomposes in Coeff form, as in a relinearisation.
    ///
    /// # Errors
    /// As [`Bundle::rotate`]; [`LatticeError::RankDownKey`] where keys do not belong together.
    pub fn rotate_rank_hoisted(&self, steps: &[(&Automorphism, &SwitchKey)], temporary: TemporaryRank<'_>) -> Result<Self, LatticeError> {
        let Some((&(phi, key), before)) = steps.split_last() else { return Ok(self.clone()) };
        let rank = self.rank();
        for &(phi, key) in steps {
            check_automorphism(phi, self.ring())?;
            temporary.check(key, rank)?;
            if key.inputs() != key.rank() {
                return Err(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: key.rank() });
            }
        }
        let mut bundle = self.rank_up(key.rank())?;
        for &(phi, key) in before {
            bundle = bundle.rotate(phi, temporary.wide, key)?;
        }
        let mut product = temporary.wide.product(&bundle.mask().iter().collect::<Vec<_>>(), key)?;
        let high = product.take_mask(rank)?.view().automorphism(phi);
        let mut rotated = bundle.finish(temporary.wide.mod_down(&product)?)?.automorphism(phi);
        rotated.add_assign(&temporary.base.mod_down(&temporary.descend(high.view())?)?)?;
        Ok(rotated)
    }
}

impl SwitchKey {
    /// A cross-relinearisation key: from `s_i s_j` to `temporary`, a secret that begins with `secret`; over the widened chain. [dpad-he, sec. 3.2]
    ///
    /// # Errors
    /// As [`SwitchKey::generate`]; [`LatticeError::NothingBeyondRank`] where `temporary` does not have a higher rank, [`LatticeError::NotNested`] where it does
    /// not begin with `secret`: its first polynomials are what stays.
    pub fn cross_relinearisation(
        wide: &Chain,
        gadget: &Gadget,
        level: Level,
        secret: &SecretKey,
        temporary: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        wide.check_level(level)?;
        if temporary.rank() <= secret.rank() {
            return Err(LatticeError::NothingBeyondRank { rank: temporary.rank(), at: secret.rank() });
        }
        temporary.check_degree(wide.ring())?;
        let matrix = SecretMatrix::quadratic(secret, wide.ring(), &wide.key_basis(level))?;
        if temporary.bodies() == secret.bodies() && temporary.truncate_rank(secret.rank())?.all_coefficients() != secret.all_coefficients()
        {
            return Err(LatticeError::NotNested { rank: secret.rank(), temporary: temporary.rank() });
        }
        Self::generate(wide, gadget, level, &matrix, temporary, rng)
    }

    /// A key that takes the polynomials of `secret` from rank `rank` on to its first `rank` ones: rank-down from a temporary rank, or a reduction of the
    /// rank. [dpad-he, sec. 3.1.1, 3.2]
    ///
    /// # Errors
    /// As [`SwitchKey::generate`]; [`LatticeError::NothingBeyondRank`] where `secret` has none beyond `rank`.
    pub fn rank_down(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        secret: &SecretKey,
        rank: usize,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        Self::change_of_secret(chain, gadget, level, &secret.beyond_rank(rank)?, &secret.truncate_rank(rank)?, rng)
    }
}
