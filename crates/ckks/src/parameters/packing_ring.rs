//! Rings of packing: smaller rings that pack samples before one switch to the ring of a bootstrap, and that
//! hold the rows of some matrix products.
//!
//! A smaller ring has a smaller modulus: level 0 and one to three further primes. Its transforms are shorter
//! and its keys smaller. Its secret is uniform and independent of the owner's secret, because a part of the
//! owner's secret may be sparse. Source: [hermes, sec. 3.2, 4.5].

use std::ops::Range;
use std::sync::Arc;

use clathrate_lattice::gadget::DIGIT_SLACK_BITS;
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::switch::{SwitchMethod, SwitchPolicy};
use clathrate_lattice::{Basis, Chain, Gadget, Level, SecretDistribution, Switcher};

use super::Params;
use super::family::Family;
use super::key_switching::{KeyModulus, KeySwitching};
use super::spec::MIN_DEGREE;
use crate::error::CkksError;
use crate::shape::ModuleShape;

/// The maximum number of special primes of a ring of packing.
const MAX_SPECIAL: usize = 3;

/// The variance of a rounding error under the secret of a ring of packing of degree `n`, which is uniform
/// even if the owner's secret is sparse: `(1 + 2 n / 3) / 12`.
pub(crate) fn packing_rounding(degree: usize) -> f64 {
    (1.0 + 2.0 / 3.0 * degree as f64) / 12.0
}

/// The level at which arrays are switched to the secrets of smaller rings.
pub(crate) const SMALLER_RING_LEVEL: Level = Level(1);

impl Family {
    /// The tables of the switches from `shape` to the secrets of smaller rings. `None` unless `shape` has
    /// rank 1 and the root's dimension, and the chain has a level 1 and suitable special primes.
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

    /// Whether a uniform secret of `shape` has the family's security over a modulus of `log2_qp` bits.
    fn protects(&self, shape: ModuleShape, log2_qp: f64) -> Result<bool, CkksError> {
        Ok(self.secure_level(shape, SecretDistribution::UniformTernary, &|_| log2_qp, Level(0))?.is_some())
    }

    /// The ring of packing of `shape`. `None` at ranks above 1, at the root's dimension and above, below the
    /// least degree with keys, and if the shortest modulus of its keys is not secure.
    pub(super) fn packing_ring(
        &self,
        chain: &Arc<Chain>,
        shape: ModuleShape,
    ) -> Result<Option<KeySwitching>, CkksError> {
        if shape.rank != 1 || shape.degree < MIN_DEGREE || shape.degree >= self.root_shape().dimension() {
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

/// The steps of the levels up to `most` and the fewest special primes, at most three, whose product bounds
/// every digit; of equally many primes, the shortest. Primes of higher levels may be special primes here,
/// because no ciphertext that these keys switch contains them.
fn least_modulus(chain: &Chain, most: Level) -> Option<(Chain, Gadget)> {
    let first = chain.step(most).end;
    let end = chain.special_basis().indices().last()? + 1;
    // Logarithms are rounded to thousandths of a bit, so that the order does not depend on their last bits.
    // The sort is stable: ranges of equal size stay in the order of the chain.
    let bits = |range: &Range<usize>| (Basis::new(range.clone()).log2(chain.ring()) * 1e3).round() as i64;
    (1..=MAX_SPECIAL).find_map(|count| {
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
    /// The family's rings of packing of a degree of at least `least`, in ascending order.
    pub(crate) fn packing_rings(&self, least: usize) -> Vec<Self> {
        let degrees = (0..self.root_shape().dimension().ilog2())
            .map(|log| 1usize << log)
            .filter(|&degree| degree >= least);
        let rings = degrees.filter_map(|degree| self.for_samples(ModuleShape { degree, rank: 1 }).ok());
        rings.filter(|ring| ring.has_keys_over(KeyModulus::Packing)).collect()
    }

    /// The ring of degree `degree` to which rows of level 1 are switched: a ring of packing whose secret also
    /// protects the keys of these switches.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] if there is no such ring.
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
        Err(CkksError::Unsuitable { operation: "a switch to a smaller ring", reason })
    }

    /// The rings of a degree of at least `least` to which rows of level 1 may be switched, in ascending
    /// order.
    pub(crate) fn product_rings(&self, least: usize) -> Vec<Self> {
        self.packing_rings(least).iter().filter_map(|ring| self.product_ring(ring.degree()).ok()).collect()
    }

    /// Checks that these parameters have the switcher of a ring of packing, or the ordinary switcher.
    ///
    /// # Errors
    /// [`CkksError::Unsuitable`] if this is not a ring of packing; the errors of [`Params::switcher`].
    pub(crate) fn check_switching(&self, in_packing_ring: bool) -> Result<(), CkksError> {
        let modulus = if in_packing_ring { KeyModulus::Packing } else { KeyModulus::Base };
        self.key_switching(modulus).map(|_| ())
    }

    /// The error that says why this ring cannot pack samples under a secret of its own.
    pub(crate) fn no_packing_ring(&self) -> CkksError {
        let reason = format!(
            "there is no ring of packing at {}: one has rank 1, a smaller degree than the parameters, and protects the modulus of level 0 and special primes",
            self.shape()
        );
        CkksError::Unsuitable { operation: "packing", reason }
    }
}
