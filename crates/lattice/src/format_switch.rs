//! Format switches: convert several bundles with different masks to one bundle whose bodies share a mask, and
//! back.
//!
//! ```text
//! (a_b; b_b) under s_b, b in 0..m    ->    (a'; b'_0 .. b'_{m-1}) under s'_0 .. s'_{m-1}
//! b'_b + <a', s'_b>  ~  b_b + <a_b, s_b>
//! ```
//!
//! The forward direction is one switch of all masks together, with the secrets `s_b` on the block diagonal of
//! its matrix. Its key has `m k` inputs and `m` bodies, so it grows with `m^2`. The recursive version
//! switches pairs of bundles, then pairs of the results and so on, with one key for each round; the total
//! size of the keys grows with `m`. The backward direction is a change of secret for each body, all with one
//! decomposition of the mask.
//!
//! Source: [pcmm-mambo, sec. 3.2 (forward), 3.3 (recursive), 3.4 (backward)]; differs: any rank, any number
//! of bodies, bundles under different secrets, groups of any size.

use crate::bundle::Bundle;
use crate::chain::{Chain, Level};
use crate::error::LatticeError;
use crate::gadget::Gadget;
use crate::poly::{Eval, PolyRef, PolysRef};
use crate::sampling::SecretRng;
use crate::secret::SecretKey;
use crate::switch::{Digits, SecretMatrix, SwitchKey, Switcher};

impl SwitchKey {
    /// A key that switches bundles under the secrets `from`, in this order, to one bundle under `to`, whose
    /// number of bodies is the sum of theirs.
    ///
    /// # Errors
    /// As [`SwitchKey::generate`]; [`LatticeError::EmptyShape`] without secrets.
    pub fn format_switch(
        chain: &Chain,
        gadget: &Gadget,
        level: Level,
        from: &[&SecretKey],
        to: &SecretKey,
        rng: &mut SecretRng,
    ) -> Result<Self, LatticeError> {
        chain.check_level(level)?;
        let matrix = SecretMatrix::block_diagonal(from, chain.ring(), &chain.key_basis(level))?;
        Self::generate(chain, gadget, level, &matrix, to, rng)
    }
}

impl Bundle<Eval> {
    /// One bundle with the bodies of all `bundles` under one mask; `key` was made by
    /// [`SwitchKey::format_switch`] for their secrets in this order.
    ///
    /// The added noise is the noise of one switch whose inputs are the polynomials of all masks.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without bundles; [`LatticeError::BodiesMismatch`] where the key's result
    /// has other bodies; as [`Switcher::switch`].
    pub fn format_switch(
        bundles: &[&Self],
        switcher: &Switcher,
        key: &SwitchKey,
    ) -> Result<Self, LatticeError> {
        if bundles.is_empty() {
            return Err(LatticeError::EmptyShape { what: "the number of bundles", got: 0 });
        }
        let masks: Vec<PolyRef<'_, Eval>> = bundles.iter().flat_map(|bundle| bundle.mask()).collect();
        let bodies = bundles.iter().map(|bundle| bundle.body_count()).sum();
        if key.body_count() != bodies {
            return Err(LatticeError::BodiesMismatch { left: bodies, right: key.body_count() });
        }
        switcher.chain().ring().together(|| {
            let mut switched = switcher.switch(&masks, key)?;
            let mut rest = switched.bodies_mut();
            for bundle in bundles {
                let (mut own, others) = rest.split_at(bundle.body_count());
                own.add_assign(bundle.bodies())?;
                rest = others;
            }
            Ok(switched)
        })
    }

    /// [`Bundle::format_switch`] in several rounds with one key each. A round switches groups of neighbouring
    /// bundles; its key determines their size. The last round gives one bundle.
    ///
    /// # Errors
    /// As [`Bundle::format_switch`]; [`LatticeError::KeyInputs`] where the bundles of a round cannot be
    /// divided into groups; [`LatticeError::BodiesMismatch`] where the last round gives several bundles.
    pub fn format_switch_recursive(
        bundles: &[&Self],
        switcher: &Switcher,
        keys: &[&SwitchKey],
    ) -> Result<Self, LatticeError> {
        let mut round: Vec<Self> = bundles.iter().map(|&bundle| bundle.clone()).collect();
        for key in keys {
            let rank = round.first().map_or(0, Self::rank);
            let group = key
                .inputs()
                .checked_div(rank)
                .filter(|&group| group * rank == key.inputs() && round.len().is_multiple_of(group));
            let group = group
                .ok_or(LatticeError::KeyInputs { key_inputs: key.inputs(), inputs: round.len() * rank })?;
            let groups = round
                .chunks_exact(group)
                .map(|group| Self::format_switch(&group.iter().collect::<Vec<_>>(), switcher, key));
            round = groups.collect::<Result<_, _>>()?;
        }
        let bodies = round.iter().map(Self::body_count).sum();
        let first = round
            .into_iter()
            .next()
            .ok_or(LatticeError::EmptyShape { what: "the number of bundles", got: 0 })?;
        if first.body_count() != bodies {
            return Err(LatticeError::BodiesMismatch { left: bodies, right: first.body_count() });
        }
        Ok(first)
    }

    /// One bundle for each body, under the target secret of its key: `keys[b]` was made by
    /// [`SwitchKey::change_of_secret`] from the secret of body `b`.
    ///
    /// The mask is decomposed once. Cost, for each body: one product of the digits with its key and one
    /// mod-down.
    ///
    /// # Errors
    /// [`LatticeError::BodiesMismatch`] where the number of keys is not that of the bodies, or a key's result
    /// has several bodies; as [`Switcher::inner_product`].
    pub fn format_switch_back(
        &self,
        switcher: &Switcher,
        keys: &[&SwitchKey],
    ) -> Result<Vec<Self>, LatticeError> {
        if keys.len() != self.body_count() {
            return Err(LatticeError::BodiesMismatch { left: self.body_count(), right: keys.len() });
        }
        if let Some(key) = keys.iter().find(|key| key.body_count() != 1) {
            return Err(LatticeError::BodiesMismatch { left: 1, right: key.body_count() });
        }
        let level = switcher.chain().level_of(self.basis());
        let top = switcher.chain().basis(switcher.chain().max_level()).len();
        let level = level.ok_or(LatticeError::BasisMismatch { left: self.basis().len(), right: top })?;
        let digits = self.decompose_mask(switcher, &switcher.tables_for_keys(level, keys)?)?;
        let digits: Vec<&Digits> = digits.iter().collect();
        let switched = keys.iter().zip(self.bodies()).map(|(key, body)| {
            let mut switched = switcher.mod_down(&switcher.inner_product(&digits, key)?)?;
            switched.bodies_mut().add_assign(PolysRef::from(body))?;
            Ok(switched)
        });
        switched.collect()
    }
}
