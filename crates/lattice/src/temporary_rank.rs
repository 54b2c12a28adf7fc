//! Switching through a temporary rank: a product at a higher rank with fewer digits, then one rank-down.
//! [dpad-he, sec. 3.2, 3.5]
//!
//! Keys over a larger special modulus `P^` have fewer digits, but need a larger dimension for the same
//! security. They are therefore under `s
//!
//! s'`, of rank `k^ > k`. A rank-down switches the `k^ - k` additional mask polynomials of the result from
//! `s'` to `s`, over the ordinary modulus.
//!
//! ```text
//! cross-relinearise   R = k (k + 1) / 2 inputs s_i s_j,  mu digits over P^ Q_l  ->  s || s'
//! rank-down           R = k^ - k        inputs s'_i,     d digits over P Q_l    ->  s
//! ```
//!
//! Both stages are ordinary switches ([`crate::switch`]), the first on a widened chain and the second on the
//! ordinary chain, so merged digits, both methods and planners work for them. Source: [dpad-he, Algorithms 1,
//! 2]; differs: the two products of a relinearisation share one mod-down, while the paper divides once per
//! stage. This saves `(k + 1)(l + p)` transforms, where `P` has `p` primes, and one rounding.

use clathrate_arith::Automorphism;

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::multiply::{Tensor, check_automorphism};
use crate::poly::{Coeff, Eval, PolysRef};
use crate::sampling::SecretRng;
use crate::secret::SecretKey;
use crate::switch::{Extended, SecretMatrix, SwitchKey, Switcher};

/// A temporary rank: the switchers of both chains, and the key of the rank-down.
#[derive(Debug, Clone, Copy)]
pub struct TemporaryRank<'a> {
    /// The switcher of the widened chain, for keys of the temporary rank.
    pub wide: &'a Switcher,
    /// The switcher of the ordinary chain, for the rank-down.
    pub base: &'a Switcher,
    /// The rank-down key from `s'` to `s`; see [`SwitchKey::rank_down`].
    pub down: &'a SwitchKey,
}

impl TemporaryRank<'_> {
    /// Refuses keys of the temporary rank that do not fit a rank-down to `rank` with `self.down`.
    fn check(&self, key: &SwitchKey, rank: usize) -> Result<(), LatticeError> {
        if self.down.rank() == rank && key.rank() > rank && self.down.inputs() == key.rank() - rank {
            return Ok(());
        }
        Err(LatticeError::RankDownKey {
            high: key.rank().max(rank),
            low: rank,
            inputs: self.down.inputs(),
            rank: self.down.rank(),
        })
    }

    /// The rank-down of the mask polynomials beyond the ordinary rank, given in Coeff form; not yet divided
    /// by the special modulus.
    fn descend(&self, high: PolysRef<'_, Coeff>) -> Result<Extended, LatticeError> {
        self.base.product_coeff(&high.iter().collect::<Vec<_>>(), self.down)
    }

    /// The rank-down of `product`, which is at the temporary rank, to `rank`; not yet divided by the special
    /// modulus.
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

    /// Relinearises through a temporary rank to a bundle of the original rank with the same phase. [dpad-he,
    /// Algorithm 1]
    ///
    /// # Errors
    /// As [`Switcher::product`]; [`LatticeError::RankDownKey`] where the ranks of the two keys do not fit.
    pub fn cross_relinearise(
        &self,
        temporary: TemporaryRank<'_>,
        up: &SwitchKey,
    ) -> Result<Bundle<Eval>, LatticeError> {
        temporary
            .wide
            .chain()
            .ring()
            .together(|| temporary.wide.mod_down(&self.cross_extended(temporary, up)?))
    }

    /// [`Tensor::cross_relinearise`] and a rescale, with one division by `P^ q_l`.
    ///
    /// # Errors
    /// As [`Tensor::cross_relinearise`]; [`LatticeError::NoLevelLeft`] at level 0.
    pub fn cross_relinearise_rescale(
        &self,
        temporary: TemporaryRank<'_>,
        up: &SwitchKey,
    ) -> Result<Bundle<Eval>, LatticeError> {
        temporary
            .wide
            .chain()
            .ring()
            .together(|| temporary.wide.mod_down_rescale(&self.cross_extended(temporary, up)?))
    }
}

impl Bundle<Eval> {
    /// The same messages at the lower rank `rank`, under the first `rank` polynomials of the secret. Source:
    /// [dpad-he, sec. 3.1.1, RankReduce]
    ///
    /// # Errors
    /// As [`Switcher::switch`]; [`LatticeError::RankDownKey`] where the key does not switch from this rank to
    /// `rank`.
    pub fn reduce_rank(
        &self,
        rank: usize,
        switcher: &Switcher,
        key: &SwitchKey,
    ) -> Result<Self, LatticeError> {
        if key.rank() != rank || rank >= self.rank() || key.inputs() != self.rank() - rank {
            return Err(LatticeError::RankDownKey {
                high: self.rank().max(rank),
                low: rank,
                inputs: key.inputs(),
                rank: key.rank(),
            });
        }
        if key.body_count() != self.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: key.body_count() });
        }
        self.ring().together(|| {
            let mut reduced =
                switcher.switch(&self.mask().range(rank..self.rank()).iter().collect::<Vec<_>>(), key)?;
            let (mut mask, mut bodies) = reduced.view_mut().split_at(rank);
            mask.add_assign(self.mask().range(0..rank))?;
            bodies.add_assign(self.bodies())?;
            Ok(reduced)
        })
    }

    /// `phi_m(.. phi_1(messages))`: each automorphism is switched at the temporary rank, with a key of few
    /// digits, and one rank-down follows at the end. Source: [dpad-he, Algorithm 2]; differs: the mask
    /// polynomials that the rank-down decomposes stay in Coeff form after the last switch, as in a
    /// relinearisation.
    ///
    /// # Errors
    /// As [`Bundle::rotate`]; [`LatticeError::RankDownKey`] where the ranks of the keys do not fit.
    pub fn rotate_rank_hoisted(
        &self,
        steps: &[(&Automorphism, &SwitchKey)],
        temporary: TemporaryRank<'_>,
    ) -> Result<Self, LatticeError> {
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
        self.ring().together(|| {
            let mut product = temporary.wide.product(&bundle.mask().iter().collect::<Vec<_>>(), key)?;
            let high = product.take_mask(rank)?.view().automorphism(phi);
            let mut rotated = bundle.finish(temporary.wide.mod_down(&product)?)?.automorphism(phi);
            rotated.add_assign(&temporary.base.mod_down(&temporary.descend(high.view())?)?)?;
            Ok(rotated)
        })
    }
}

impl SwitchKey {
    /// A cross-relinearisation key, over the widened chain: it switches `s_i s_j` to the secret `temporary`,
    /// which begins with `secret`. [dpad-he, sec. 3.2]
    ///
    /// # Errors
    /// As [`SwitchKey::generate`]; [`LatticeError::NothingBeyondRank`] where `temporary` does not have a
    /// higher rank; [`LatticeError::NotNested`] where `temporary` does not begin with `secret`, because the
    /// rank-down keeps its first polynomials.
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
        if temporary.bodies() == secret.bodies()
            && temporary.truncate_rank(secret.rank())?.all_coefficients() != secret.all_coefficients()
        {
            return Err(LatticeError::NotNested { rank: secret.rank(), temporary: temporary.rank() });
        }
        Self::generate(wide, gadget, level, &matrix, temporary, rng)
    }

    /// A key that switches from the polynomials of `secret` beyond the first `rank` to its first `rank`
    /// polynomials, for a rank-down from a temporary rank or a reduction of the rank. [dpad-he, sec. 3.1.1,
    /// 3.2]
    ///
    /// # Errors
    /// As [`SwitchKey::generate`]; [`LatticeError::NothingBeyondRank`] where `secret` has no polynomials
    /// beyond `rank`.
    pub fn rank_down(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        secret: &SecretKey,
        rank: usize,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        Self::change_of_secret(
            chain,
            gadget,
            level,
            &secret.beyond_rank(rank)?,
            &secret.truncate_rank(rank)?,
            rng,
        )
    }
}
