//! Names of the secrets that arrays are encrypted under.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret of one shape (degree and rank) of a parameter set. The owner's [`SecretKey`](crate::SecretKey)
/// makes all secrets except those of other libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretName {
    /// The secret that ciphertexts are encrypted under.
    Main,
    /// The main secret extended by further polynomials: the secret of the temporary rank. [dpad-he, sec. 3.2]
    Temporary,
    /// The ephemeral sparse secret of sparse-secret encapsulation. Its keys have a small modulus.
    Ephemeral,
    /// The secret of a device, independent of all other secrets and normally of the main secret's dimension,
    /// so that a device never has the main secret.
    Device(u64),
    /// A secret of another library, which the owner has imported
    /// ([`SecretKey::with_outside_secret`](crate::SecretKey::with_outside_secret)) so that samples under it
    /// can be packed.
    Outside(u64),
    /// The uniform secret of the smaller ring in which samples are packed first
    /// ([`KeyModulus::Packing`](crate::parameters::KeyModulus::Packing)).
    Packing,
    /// The secret `t(X^k)`, with `t` the secret of the smaller ring of this degree and `k` the quotient of
    /// the degrees. An array is switched to this secret before each of its polynomials is split into `k`
    /// polynomials of the smaller ring.
    Embedded(usize),
    /// The secrets of `m` bodies under one mask, independent of each other and of all other secrets.
    /// [pcmm-mambo, sec. 3]
    Bodies(usize),
    /// The ephemeral sparse secrets of `m` bodies under one mask, independent of each other.
    EphemeralBodies(usize),
    /// The secret of one of these bodies.
    Body {
        /// Number of bodies under the mask.
        count: usize,
        /// Index of this body, from 0.
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
    /// Parses the text that `Display` wrote; `None` if `text` names no secret.
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
        // Each name has one spelling, so leading zeros and signs are refused.
        (name.to_string() == text).then_some(name)
    }

    /// The secret of the device with this number; the main secret for `None`.
    #[must_use]
    pub fn of_device(number: Option<u64>) -> Self {
        number.map_or(Self::Main, Self::Device)
    }

    /// The number of the device whose secret this is; `None` for all other secrets.
    #[must_use]
    pub fn device_number(self) -> Option<u64> {
        if let Self::Device(number) = self { Some(number) } else { None }
    }

    /// How many bodies a bundle under this secret has.
    #[must_use]
    pub fn bodies(self) -> usize {
        if let Self::Bodies(count) | Self::EphemeralBodies(count) = self { count } else { 1 }
    }

    /// Whether the secret is ephemeral: sparse, with keys of a small modulus.
    #[must_use]
    pub fn is_ephemeral(self) -> bool {
        matches!(self, Self::Ephemeral | Self::EphemeralBodies(_))
    }
}
