//! The table of the key moduli. Each modulus has a switcher, and an estimate of the security of the secret
//! that encrypts its keys. A new modulus is one more variant of [`KeyModulus`], built in `Family::build`.

use std::collections::BTreeMap;

use clathrate_lattice::{Level, Switcher};

use super::Params;
use crate::error::CkksError;

/// Minimum bits of the step of a raise key: two primes of the usual sizes. The diagonals in the key are
/// rounded at about this precision, so that the other maps from coefficients to slots can use all bits of
/// their steps.
pub(super) const RAISE_STEP_BITS: f64 = 60.0;

/// The modulus of a switching key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyModulus {
    /// The ordinary chain with its special primes.
    Base,
    /// The chain with the temporary primes among the special ones. [dpad-he, sec. 3.2]
    Widened,
    /// A chain of the base step and some special primes only, because the ephemeral secret is sparse and not
    /// secure over a longer modulus.
    Encapsulation,
    /// The ordinary primes, with the lowest special primes as the highest step and a single digit: for keys
    /// that raise the modulus and apply a linear map in one switch.
    Raise,
    /// The base step and the fewest further primes that its keys need: the modulus of a ring of packing.
    /// [hermes, sec. 3.2]
    Packing,
    /// The steps of levels 0 and 1 and the fewest further primes that its keys need: for switches to the
    /// secrets of smaller rings. [pcmm-mambo, sec. 6.3]
    SmallerRing,
}

/// The tables for the keys over one modulus.
#[derive(Debug)]
pub struct KeySwitching {
    /// The switcher, with its chain and gadget.
    pub switcher: Switcher,
    /// The key level.
    pub most: Level,
    /// Bits of the key modulus at that level, special primes included.
    pub log2_qp: f64,
    /// Estimated bits of security of the secret that encrypts the keys, over that modulus. The value is 0 for
    /// [`KeyModulus::SmallerRing`], because these keys are under secrets of several dimensions and each ring
    /// is checked separately.
    pub security_bits: f64,
}

impl KeySwitching {
    pub(super) fn new(switcher: Switcher, most: Level, bits: impl FnOnce(f64) -> f64) -> Self {
        let log2_qp = switcher.chain().key_basis(most).log2(switcher.chain().ring());
        Self { switcher, most, log2_qp, security_bits: bits(log2_qp) }
    }
}

/// The key moduli of one parameter set.
pub(super) type KeySwitchings = BTreeMap<KeyModulus, KeySwitching>;

impl Params {
    /// The switcher and the security of keys over one modulus.
    ///
    /// # Errors
    /// If these parameters have no such keys: [`CkksError::Unsupported`] at the temporary rank, for
    /// encapsulation and the raise, [`CkksError::InvalidParams`] where the special primes do not suffice for
    /// the raise, [`CkksError::Unsuitable`] for smaller rings, and otherwise the errors of
    /// [`Params::switcher`].
    pub fn key_switching(&self, modulus: KeyModulus) -> Result<&KeySwitching, CkksError> {
        self.0.switching.get(&modulus).ok_or_else(|| match modulus {
            KeyModulus::Base => self.cannot_switch(),
            KeyModulus::Widened => CkksError::no_temporary_rank("a key of the temporary rank"),
            KeyModulus::Raise if self.ephemeral_weight().is_some() => {
                let special = self.chain().special_basis();
                let reason = format!(
                    "keys of the raise take special primes of {RAISE_STEP_BITS} bits for a step, and at least one more; these are {} of {:.0} bits: state more `special` primes",
                    special.len(),
                    special.log2(self.chain().ring())
                );
                CkksError::InvalidParams { reason }
            }
            KeyModulus::Encapsulation | KeyModulus::Raise => CkksError::no_ephemeral_secret(),
            KeyModulus::Packing | KeyModulus::SmallerRing => self.no_packing_ring(),
        })
    }

    /// Whether these parameters have keys over this modulus.
    #[must_use]
    pub fn has_keys_over(&self, modulus: KeyModulus) -> bool {
        self.0.switching.contains_key(&modulus)
    }

    /// The weight of the ephemeral secret, under which a bootstrap raises the modulus; `None` without such a
    /// secret.
    #[must_use]
    pub fn ephemeral_weight(&self) -> Option<usize> {
        self.spec().ephemeral_weight.filter(|_| self.has_keys_over(KeyModulus::Encapsulation))
    }
}
