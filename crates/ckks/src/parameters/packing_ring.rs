//! Rings of packing: smaller rings in which samples are packed before one switch leads to the ring of a bootstrap.
//!
//! A smaller ring has a smaller modulus, which level 0 with one special prime or two does not exceed: its transforms are shorter, and its keys are smaller. Its secret is uniform and
//! drawn for it alone, because a part of the owner's secret may be sparse. Source: [hermes, sec. 3.2, 4.5].

use std::ops::Range;
use std::sync::Arc;

use clathrate_lattice::gadget::DIGIT_SLACK_BITS;
use clathrate_lattice::security::estimated_bits;
use clathrate_lattice::switch::{SwitchMethod, SwitchPolicy};
use clathrate_lattice::{Basis, Chain, Gadget, Level, SecretDistribution, Switcher};

use super::Params;
use super::family::Family;
use super::spec::LEAST_DEGREE;
use crate::error::CkksError;
use crate::shape::ModuleShape;

/// The most special primes of a ring of packing.
const MOST_SPECIAL: usize = 3;

/// The keys' modulus of a ring of packing.
#[derive(Debug)]
pub struct PackingRing {
    /// The switcher of keys of packing to this ring's secret, over the base step and the fewest other primes that are as long.
    pub switcher: Switcher,
    /// Bits of that modulus.
    pub log2_qp: f64,
    /// Estimated bits of security of the ring's secret there.
    pub security_bits: f64,
}

impl Family {
    /// The ring of packing of `shape`; `None` at the root's dimension, at ranks above 1, and where no modulus of such keys is secure.
    pub(super) fn packing_ring(&self, chain: &Arc<Chain>, shape: ModuleShape) -> Result<Option<PackingRing>, CkksError> {
        if shape.rank != 1 || shape.degree < LEAST_DEGREE || shape.degree >= self.root_shape().dimension() {
            return Ok(None);
        }
        let Some((narrow, gadget)) = least_modulus(chain) else { return Ok(None) };
        let log2_qp = narrow.key_basis(Level(0)).log2(narrow.ring());
        let distribution = SecretDistribution::UniformTernary;
        if self.secure_level(shape, distribution, &|_| log2_qp, Level(0))?.is_none() {
            return Ok(None);
        }
        let policy = SwitchPolicy::Fixed(SwitchMethod::as_made(&narrow));
        let switcher = Switcher::with_policy(Arc::new(narrow), Arc::new(gadget), policy, 1, self.key_cache().budget())?;
        let security_bits = estimated_bits(shape.dimension(), log2_qp, distribution);
        Ok(Some(PackingRing { switcher: switcher.sharing(self.key_cache().clone()), log2_qp, security_bits }))
    }
}

/// Level 0 with the fewest and shortest other primes that are as long as its digits. Primes of higher levels serve as well: no ciphertext of a ring of packing has them.
fn least_modulus(chain: &Chain) -> Option<(Chain, Gadget)> {
    let first = chain.step(Level(0)).end;
    let end = chain.special_basis().indices().last()? + 1;
    // Thousandths of a bit, so that the order does not depend on the last bit of a logarithm; neighbours of one size stay in the chain's order.
    let bits = |range: &Range<usize>| (Basis::new(range.clone()).log2(chain.ring()) * 1e3).round() as i64;
    (1..=MOST_SPECIAL).find_map(|count| {
        let mut ranges: Vec<Range<usize>> = (first..=end.checked_sub(count)?).map(|start| start..start + count).collect();
        ranges.sort_by_key(bits);
        ranges.into_iter().find_map(|special| {
            let narrow = chain.narrowed(Level(0), special).ok()?;
            let gadget = Gadget::for_special_modulus(&narrow, DIGIT_SLACK_BITS).ok()?;
            Some((narrow, gadget))
        })
    })
}

impl Params {
    /// The modulus of keys that pack samples in this ring, where the ring is smaller than the family's and protects it: under [`SecretName::Packing`](crate::SecretName::Packing).
    #[must_use]
    pub fn packing_ring(&self) -> Option<&PackingRing> {
        self.0.packing_ring.as_ref()
    }

    /// The family's rings of packing, of degrees of at least `least`, rising.
    pub(crate) fn packing_rings(&self, least: usize) -> Vec<Self> {
        let degrees = (0..self.root_shape().dimension().ilog2()).map(|log| 1usize << log).filter(|&degree| degree >= least);
        let rings = degrees.filter_map(|degree| self.for_samples(ModuleShape { degree, rank: 1 }).ok());
        rings.filter(|ring| ring.packing_ring().is_some()).collect()
    }

    /// Refuses switches that these parameters have no switcher for: those of a ring of packing, or all others.
    ///
    /// # Errors
    /// As [`Params::switcher`]; [`CkksError::Conversion`] where this is no ring of packing.
    pub(crate) fn check_switching(&self, in_packing_ring: bool) -> Result<(), CkksError> {
        if in_packing_ring { self.packing_ring().map(|_| ()).ok_or_else(|| self.no_packing_ring()) } else { self.switcher().map(|_| ()) }
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
