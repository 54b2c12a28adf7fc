//! Names of the secrets that arrays are encrypted under.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::CkksError;

/// A secret of one shape (degree and rank) of a parameter set. All but those of other libraries are made by
/// the owner's [`SecretKey`](crate::SecretKey) alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretName {
    /// The secret that ciphertexts are encrypted under.
    Main,
    /// The main secret and further polynomials: the secret of the temporary rank. [dpad-he, sec. 3.2]
    Temporary,
    /// The ephemeral sparse secret of encapsulation, whose keys are bound to a small modulus.
    Ephemeral,
    /// The secret of a device: of the same dimension as the main secret, independent of it and of all others,
    /// so that a device can do without the main one.
    Device(u64),
    /// A secret of another library, which the owner has taken in
    /// ([`SecretKey::with_outside_secret`](crate::SecretKey::with_outside_secret)): samples under it are
    /// packed.
    Outside(u64),
    /// The secret of a smaller ring in which samples are packed first
    /// ([`Params::packing_ring`](crate::Params::packing_ring)): uniform, and drawn for that ring alone.
    Packing,
    /// The secret of the smaller ring of this degree, `t(X^k)` at a degree `k` times as large: what an array
    /// is under before its polynomials come apart into `k` of the smaller ring.
    Embedded(usize),
    /// The secrets of `m` bodies under one mask, independent of each other and of all others. [pcmm-mambo,
    /// sec. 3]
    Bodies(usize),
    /// The ephemeral sparse secrets of `m` bodies under one mask, independent of each other.
    EphemeralBodies(usize),
    /// The secret of one of the bodies alone.
    Body {
        /// How many bodies share the mask.
        count: usize,
        /// Which of them, from 0.
        index: usize,
    },
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Temporary => f.write_str("temporary"),
            Self::Ephemeral => f.write_str("ephemeral"),
            Self::Packing => f.write_str("packing"),
            Self::Embedded(degree) => write!(f, "embedded:{degree}"),
            Self::Device(number) => write!(f, "device:{number}"),
            Self::Outside(number) => write!(f, "outside:{number}"),
            Self::Bodies(count) => write!(f, "bodies:{count}"),
            Self::EphemeralBodies(count) => write!(f, "ephemeral-bodies:{count}"),
            Self::Body { count, index } => write!(f, "body:{index}/{count}"),
        }
    }
}

impl SecretName {
    /// Parses `text`, which the name's `Display` wrote; `None` if `text` names no secret.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok();
        let (kind, value) = text.split_once(':').unwrap_or((text, ""));
        let name = match (kind, value) {
            ("main", _) => Self::Main,
            ("temporary", _) => Self::Temporary,
            ("ephemeral", _) => Self::Ephemeral,
            ("packing", _) => Self::Packing,
            ("device", value) => Self::Device(value.parse().ok()?),
            ("outside", value) => Self::Outside(value.parse().ok()?),
            ("embedded", degree) => Self::Embedded(number(degree)?),
            ("bodies", count) => Self::Bodies(number(count)?),
            ("ephemeral-bodies", count) => Self::EphemeralBodies(number(count)?),
            ("body", value) => {
                let (index, count) = value.split_once('/')?;
                Self::Body { count: number(count)?, index: number(index)? }
            }
            _ => return None,
        };
        // One spelling for each name: no leading zeros or signs.
        (name.to_string() == text).then_some(name)
    }

    /// How many bodies a bundle under this secret has.
    #[must_use]
    pub fn bodies(self) -> usize {
        if let Self::Bodies(count) | Self::EphemeralBodies(count) = self { count } else { 1 }
    }

    /// Whether it is sparse, and its keys bound to a small modulus.
    #[must_use]
    pub fn is_ephemeral(self) -> bool {
        matches!(self, Self::Ephemeral | Self::EphemeralBodies(_))
    }

    /// Refuses operands under different secrets.
    ///
    /// # Errors
    /// [`CkksError::DifferentSecrets`], naming both.
    pub fn check_same(self, other: Self, operation: &'static str) -> Result<(), CkksError> {
        if self == other {
            return Ok(());
        }
        Err(CkksError::DifferentSecrets { operation, left: self.to_string(), right: other.to_string() })
    }
}
