//! The table of the moduli that switching keys are made over, each with its switcher and the security of the
//! secret that keys over it are under. A new modulus is one more entry of [`KeyModulus`], made in
//! `Family::build`.

use std::collections::BTreeMap;

use clathrate_lattice::{Level, Switcher};

use super::Params;
use crate::error::CkksError;

/// The moduli that a key is made over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyModulus {
    /// The ordinary chain with its special primes.
    Base,
    /// The chain with the temporary primes among the special ones. [dpad-he, sec. 3.2]
    Widened,
    /// A chain of the base step and some special primes alone, because the ephemeral secret is sparse and not
    /// secure over a longer modulus.
    Encapsulation,
    /// The ordinary primes, of which the lowest special ones are the highest step, with one digit: keys that
    /// raise the modulus and apply a linear map at once.
    Raise,
    /// The base step and as few other primes as its keys can do with: the modulus of a ring of packing.
    /// [hermes, sec. 3.2]
    Packing,
    /// The steps of levels 0 and 1 and as few other primes: the modulus of switches to the secrets of smaller
    /// rings. [pcmm-mambo, sec. 6.3]
    SmallerRing,
}

/// What keys over one modulus are used with.
#[derive(Debug)]
pub struct KeySwitching {
    /// The switcher, with its chain and gadget.
    pub switcher: Switcher,
    /// The highest level that the keys serve.
    pub most: Level,
    /// Bits of the modulus at that level, special primes included.
    pub log2_qp: f64,
    /// Estimated bits of security, over that modulus, of the secret that keys are under. Keys of smaller
    /// rings are under secrets of several dimensions, which are checked one by one: 0.
    pub security_bits: f64,
}

impl KeySwitching {
    pub(super) fn new(switcher: Switcher, most: Level, bits: impl FnOnce(f64) -> f64) -> Self {
        let log2_qp = switcher.chain().key_basis(most).log2(switcher.chain().ring());
        Self { switcher, most, log2_qp, security_bits: bits(log2_qp) }
    }
}

/// The moduli that one parameter set has keys over.
pub(super) type KeySwitchings = BTreeMap<KeyModulus, KeySwitching>;

impl Params {
    /// The switcher and the security of keys over one modulus.
    ///
    /// # Errors
    /// Says why these parameters have no such keys.
    pub fn key_switching(&self, modulus: KeyModulus) -> Result<&KeySwitching, CkksError> {
        self.0.switching.get(&modulus).ok_or_else(|| match modulus {
            KeyModulus::Base => self.cannot_switch(),
            KeyModulus::Widened => CkksError::NoTemporaryRank { operation: "a key of the temporary rank" },
            KeyModulus::Encapsulation | KeyModulus::Raise => CkksError::NoEphemeralSecret,
            KeyModulus::Packing | KeyModulus::SmallerRing => self.no_packing_ring(),
        })
    }

    /// Whether these parameters have keys over this modulus.
    #[must_use]
    pub fn has_keys_over(&self, modulus: KeyModulus) -> bool {
        self.0.switching.contains_key(&modulus)
    }

    /// The weight of the ephemeral secret that the modulus is raised under, where there is one.
    #[must_use]
    pub fn ephemeral_weight(&self) -> Option<usize> {
        self.spec().ephemeral_weight.filter(|_| self.has_keys_over(KeyModulus::Encapsulation))
    }
}
