//! Rings of packing: smaller rings in which samples are packed before one switch leads to the ring of a
//! bootstrap, and in which matrix products take their rows.
//!
//! A smaller ring has a smaller modulus, which level 0 with one special prime or two does not exceed: its
//! transforms are shorter, and its keys are smaller. Its secret is uniform and drawn for it alone, because a
//! part of the owner's secret may be sparse. Source: [hermes, sec. 3.2, 4.5].

use std::ops::Range;
use std::sync::Arc;

use clathrate_lattice::gadget::DIGIT_SLACK_BITS;
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::switch::{SwitchMethod, SwitchPolicy};
use clathrate_lattice::{Basis, Chain, Gadget, Level, SecretDistribution, Switcher};

use super::Params;
use super::family::Family;
use super::key_switching::{KeyModulus, KeySwitching};
use super::spec::LEAST_DEGREE;
use crate::error::CkksError;
use crate::shape::ModuleShape;

/// The most special primes of a ring of packing.
const MOST_SPECIAL: usize = 3;

/// The variance of a rounding under the secret of a ring of packing of degree `n`, which is uniform whatever
/// the parameters' own: `(1 + 2 n / 3) / 12`.
pub(crate) fn packing_rounding(degree: usize) -> f64 {
    (1.0 + 2.0 / 3.0 * degree as f64) / 12.0
}

/// The level at which arrays come under the secrets of smaller rings.
pub(crate) const SMALLER_RING_LEVEL: Level = Level(1);

impl Family {
    /// The switches of `shape` to the secrets of smaller rings; `None` but at rank 1 and the root's
    /// dimension, and without a level 1.
    pub(super) fn smaller_ring(
        &self,
        chain: &Arc<Chain>,
        shape: ModuleShape,
    ) -> Result<Option<KeySwitching>, CkksError> {
        if shape.rank != 1
            || shape.degree != self.root_shape().dimension()
            || chain.max_level() < SMALLER_RING_LEVEL
        {
            return Ok(None);
        }
        let Some((narrow, gadget)) = least_modulus(chain, SMALLER_RING_LEVEL) else { return Ok(None) };
        let switcher = self.narrow_switcher(narrow, gadget)?;
        Ok(Some(KeySwitching::new(switcher, SMALLER_RING_LEVEL, |_| 0.0)))
    }

    fn narrow_switcher(&self, narrow: Chain, gadget: Gadget) -> Result<Switcher, CkksError> {
        let policy = SwitchPolicy::Fixed(SwitchMethod::as_made(&narrow));
        let switcher =
            Switcher::with_policy(Arc::new(narrow), Arc::new(gadget), policy, 1, self.key_cache().budget())?;
        Ok(switcher.sharing(self.key_cache().clone()))
    }

    /// Whether a uniform secret of `shape` protects a modulus of so many bits.
    fn protects(&self, shape: ModuleShape, log2_qp: f64) -> Result<bool, CkksError> {
        Ok(self.secure_level(shape, SecretDistribution::UniformTernary, &|_| log2_qp, Level(0))?.is_some())
    }

    /// The ring of packing of `shape`; `None` at the root's dimension, at ranks above 1, and where no modulus
    /// of such keys is secure.
    pub(super) fn packing_ring(
        &self,
        chain: &Arc<Chain>,
        shape: ModuleShape,
    ) -> Result<Option<KeySwitching>, CkksError> {
        if shape.rank != 1 || shape.degree < LEAST_DEGREE || shape.degree >= self.root_shape().dimension() {
            return Ok(None);
        }
        let Some((narrow, gadget)) = least_modulus(chain, Level(0)) else { return Ok(None) };
        let log2_qp = narrow.key_basis(Level(0)).log2(narrow.ring());
        if !self.protects(shape, log2_qp)? {
            return Ok(None);
        }
        let bits =
            |log2_qp: f64| estimated_bits(shape.dimension(), log2_qp, SecretDistribution::UniformTernary);
        Ok(Some(KeySwitching::new(self.narrow_switcher(narrow, gadget)?, Level(0), bits)))
    }
}

/// The levels up to `most` with the fewest and shortest other primes that are as long as their digits. Primes
/// of higher levels serve as well: no ciphertext that such keys switch has them.
fn least_modulus(chain: &Chain, most: Level) -> Option<(Chain, Gadget)> {
    let first = chain.step(most).end;
    let end = chain.special_basis().indices().last()? + 1;
    // Thousandths of a bit, so that the order does not depend on the last bit of a logarithm; neighbours of
    // one size stay in the chain's order.
    let bits = |range: &Range<usize>| (Basis::new(range.clone()).log2(chain.ring()) * 1e3).round() as i64;
    (1..=MOST_SPECIAL).find_map(|count| {
        let mut ranges: Vec<Range<usize>> =
            (first..=end.checked_sub(count)?).map(|start| start..start + count).collect();
        ranges.sort_by_key(bits);
        ranges.into_iter().find_map(|special| {
            let narrow = chain.narrowed(most, special).ok()?;
            let gadget = Gadget::for_special_modulus(&narrow, DIGIT_SLACK_BITS).ok()?;
            Some((narrow, gadget))
        })
    })
}

impl Params {
    /// The family's rings of packing, of degrees of at least `least`, rising.
    pub(crate) fn packing_rings(&self, least: usize) -> Vec<Self> {
        let degrees = (0..self.root_shape().dimension().ilog2())
            .map(|log| 1usize << log)
            .filter(|&degree| degree >= least);
        let rings = degrees.filter_map(|degree| self.for_samples(ModuleShape { degree, rank: 1 }).ok());
        rings.filter(|ring| ring.has_keys_over(KeyModulus::Packing)).collect()
    }

    /// The ring of degree `degree` that rows of level 1 are switched to: a ring of packing whose secret
    /// protects the keys of these switches, too.
    ///
    /// # Errors
    /// [`CkksError::Conversion`] where there is none.
    pub(crate) fn product_ring(&self, degree: usize) -> Result<Self, CkksError> {
        let root = self.root()?;
        let ring = root.for_samples(ModuleShape { degree, rank: 1 });
        if let (Ok(smaller_ring), Ok(ring)) = (root.key_switching(KeyModulus::SmallerRing), ring)
            && ring.has_keys_over(KeyModulus::Packing)
            && self.0.family.protects(ring.shape(), smaller_ring.log2_qp)?
        {
            return Ok(ring);
        }
        let reason = format!(
            "no ring of degree {degree} protects keys for level {SMALLER_RING_LEVEL}, or the parameters have no smaller rings"
        );
        Err(CkksError::Conversion { operation: "a switch to a smaller ring", reason })
    }

    /// The rings that rows of level 1 may be switched to, of degrees of at least `least`, rising.
    pub(crate) fn product_rings(&self, least: usize) -> Vec<Self> {
        self.packing_rings(least).iter().filter_map(|ring| self.product_ring(ring.degree()).ok()).collect()
    }

    /// Refuses switches that these parameters have no switcher for: those of a ring of packing, or all
    /// others.
    ///
    /// # Errors
    /// As [`Params::switcher`]; [`CkksError::Conversion`] where this is no ring of packing.
    pub(crate) fn check_switching(&self, in_packing_ring: bool) -> Result<(), CkksError> {
        let modulus = if in_packing_ring { KeyModulus::Packing } else { KeyModulus::Base };
        self.key_switching(modulus).map(|_| ())
    }

    /// Why samples are not packed in this ring under a secret of its own.
    pub(crate) fn no_packing_ring(&self) -> CkksError {
        let reason = format!(
            "there is no ring of packing at {}: one has rank 1, a smaller degree than the parameters, and protects the modulus of level 0 and special primes",
            self.shape()
        );
        CkksError::Conversion { operation: "packing", reason }
    }
}
