//! Names of switching keys.
//!
//! A name is plain data. Its meaning is defined in one place, [`definition`](crate::keys::definition): the
//! matrix `T`, the secret switched to, the moduli. Requirements, key sets, files, cost predictions and error
//! messages all identify keys by these names.

use std::fmt;

use clathrate_arith::GaloisElement;
use serde::{Deserialize, Serialize};

use super::secret::SecretName;
use crate::shape::ModuleShape;

/// The name of a switching key at one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyName {
    /// From products `s_i s_j` to `s`.
    Relinearise,
    /// From products `s_i s_j` to the secret of the temporary rank, over the widened chain. [dpad-he, sec.
    /// 3.2]
    CrossRelinearise,
    /// From products `s_i s_j` to `s` over the widened chain, for levels at which keys of the ordinary rank
    /// are secure over that chain.
    DirectRelinearise,
    /// From the additional polynomials of the temporary secret to `s`. [dpad-he, sec. 3.2]
    RankDown,
    /// For the automorphism `X -> X^g`: from a secret to its preimage, so that the result after the
    /// automorphism is under the secret again. Keys exist for the main secret, for the secrets of bodies
    /// under one mask [pcmm-mambo, sec. 6.1], and at the temporary rank [dpad-he, sec. 3.5].
    Automorphism {
        /// The secret.
        secret: SecretName,
        /// The automorphism.
        element: GaloisElement,
    },
    /// From the last polynomials of `s` to its first polynomials, to reduce the rank to this one. [dpad-he,
    /// sec. 3.1.1]
    ReduceRank(usize),
    /// From one secret to another.
    Switch(Switch),
}

/// A switch from one secret to another with one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// A change of the secret of whole ciphertexts.
    ChangeSecret {
        /// The secret switched from.
        from: SecretName,
        /// The secret switched to.
        to: SecretName,
    },
    /// From `to / from` bundles, each with `from` bodies under one mask, to one bundle of `to` bodies.
    /// Bundles of one body are under `s`. [pcmm-mambo, sec. 3.2, 3.3]
    FormatSwitch {
        /// Bodies of each bundle.
        from: usize,
        /// Bodies of the result, a multiple.
        to: usize,
    },
    /// One step of packing, from samples of shape `from` to samples of degree `to`. The secrets of both are
    /// the parts, or the first parts, of `under` and of `onto` at these degrees. The key's shape has rank 1.
    /// [hermes, sec. 4.3]
    Pack {
        /// Degree and rank of the samples that are packed.
        from: ModuleShape,
        /// Degree of the result.
        to: usize,
        /// The secret of the samples: the main secret, or that of a device, of another library or of a
        /// smaller packing ring; for later steps `onto`.
        under: SecretName,
        /// The secret of the result: the main secret, the ephemeral secret from which a bootstrap starts, or
        /// the secret of a packing ring.
        onto: SecretName,
    },
    /// From the parts of degree `degree` of the secrets of bodies to `s`. Keys for products with a known
    /// matrix are combined from this key. [pcmm-mambo, sec. 4.3]
    BodyParts {
        /// How many bodies share the mask.
        bodies: usize,
        /// Degree of the parts.
        degree: usize,
    },
    /// From the automorphisms of a raised mask under the ephemeral secret to `s`, times the diagonals of the
    /// first map from coefficients to slots.
    RaiseToSlots(RaisedMap),
}

/// The first map of a transform from coefficients to slots, which a key applies to a raised ciphertext.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RaisedMap {
    /// Slots of the transform.
    pub slots: usize,
    /// Layers of the transform that the map multiplies.
    pub layers: u32,
    /// Binary logarithm of the factor by which diagonals are multiplied before they are rounded to integers.
    pub log2_scale: u32,
    /// Bodies under one mask that are raised together.
    #[serde(default = "one_body", skip_serializing_if = "is_one_body")]
    pub bodies: usize,
}

/// The number of bodies of needs that were stored before several bodies were supported.
fn one_body() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_one_body(bodies: &usize) -> bool {
    *bodies == 1
}

impl RaisedMap {
    /// Diagonals of the map. The highest layer combines slots half a row apart, so its two shifts are equal;
    /// every further layer doubles the number of diagonals.
    pub(crate) fn diagonals(self) -> usize {
        1 << self.layers
    }
}

/// A switching key and the shape that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyAddress {
    /// Degree and rank of the ciphertexts that are switched.
    pub shape: ModuleShape,
    /// The key's name.
    pub name: KeyName,
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relinearise => f.write_str("relinearise"),
            Self::CrossRelinearise => f.write_str("cross-relinearise"),
            Self::DirectRelinearise => f.write_str("direct-relinearise"),
            Self::RankDown => f.write_str("rank-down"),
            Self::Automorphism { secret, element } => {
                match secret {
                    SecretName::Main => f.write_str("automorphism")?,
                    SecretName::Temporary => f.write_str("temporary-automorphism")?,
                    SecretName::Bodies(bodies) => write!(f, "bodies-automorphism {bodies}")?,
                    other => write!(f, "automorphism-of {other}")?,
                }
                write!(f, " {}", element.value())
            }
            Self::ReduceRank(rank) => write!(f, "reduce-rank {rank}"),
            Self::Switch(switch) => switch.fmt(f),
        }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChangeSecret { from, to } => write!(f, "change-secret {from} {to}"),
            Self::FormatSwitch { from: 1, to } => write!(f, "format-switch {to}"),
            Self::FormatSwitch { from, to } => write!(f, "format-switch {from} {to}"),
            Self::Pack { from, to, under: SecretName::Main, onto: SecretName::Main } => {
                write!(f, "pack {from} {to}")
            }
            Self::Pack { from, to, under, onto: SecretName::Main } => write!(f, "pack {from} {to} {under}"),
            Self::Pack { from, to, under, onto } => write!(f, "pack {from} {to} {under} {onto}"),
            Self::BodyParts { bodies, degree } => write!(f, "body-parts {bodies} {degree}"),
            Self::RaiseToSlots(RaisedMap { slots, layers, log2_scale, bodies: 1 }) => {
                write!(f, "raise-to-slots {slots} {layers} {log2_scale}")
            }
            Self::RaiseToSlots(RaisedMap { slots, layers, log2_scale, bodies }) => {
                write!(f, "raise-to-slots {slots} {layers} {log2_scale} {bodies}")
            }
        }
    }
}

impl fmt::Display for KeyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.name, self.shape)
    }
}

impl KeyName {
    /// Parses the text that [`KeyName`]'s `Display` wrote, for ciphertexts of degree `degree`; `None` if
    /// `text` is no key's name, or names an automorphism that the degree does not have.
    #[must_use]
    pub fn parse(text: &str, degree: usize) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let element = |value: &str| GaloisElement::new(value.parse().ok()?, degree).ok();
        let secret = SecretName::parse;
        let count = |value: &str| value.parse::<usize>().ok();
        let name = match words[..] {
            ["relinearise"] => Self::Relinearise,
            ["cross-relinearise"] => Self::CrossRelinearise,
            ["direct-relinearise"] => Self::DirectRelinearise,
            ["rank-down"] => Self::RankDown,
            ["automorphism", value] => {
                Self::Automorphism { secret: SecretName::Main, element: element(value)? }
            }
            ["temporary-automorphism", value] => {
                Self::Automorphism { secret: SecretName::Temporary, element: element(value)? }
            }
            ["bodies-automorphism", bodies, value] => {
                Self::Automorphism { secret: SecretName::Bodies(count(bodies)?), element: element(value)? }
            }
            ["reduce-rank", rank] => Self::ReduceRank(count(rank)?),
            ["change-secret", from, to] => {
                Self::Switch(Switch::ChangeSecret { from: secret(from)?, to: secret(to)? })
            }
            ["format-switch", to] => Self::Switch(Switch::FormatSwitch { from: 1, to: count(to)? }),
            ["format-switch", from, to] => {
                Self::Switch(Switch::FormatSwitch { from: count(from)?, to: count(to)? })
            }
            ["pack", from, to, ref secrets @ ..] if secrets.len() <= 2 => {
                let of = |place: usize| {
                    secrets.get(place).map_or(Some(SecretName::Main), |name: &&str| secret(name))
                };
                Self::Switch(Switch::Pack {
                    from: from.parse().ok()?,
                    to: count(to)?,
                    under: of(0)?,
                    onto: of(1)?,
                })
            }
            ["body-parts", bodies, degree] => {
                Self::Switch(Switch::BodyParts { bodies: count(bodies)?, degree: count(degree)? })
            }
            ["raise-to-slots", slots, layers, log2_scale, ref bodies @ ..] if bodies.len() <= 1 => {
                let small = |value: &str| value.parse::<u32>().ok();
                let bodies = bodies.first().map_or(Some(1), |bodies| count(bodies))?;
                let (slots, layers, log2_scale) = (count(slots)?, small(layers)?, small(log2_scale)?);
                Self::Switch(Switch::RaiseToSlots(RaisedMap { slots, layers, log2_scale, bodies }))
            }
            _ => return None,
        };
        // Each key has one spelling, so leading zeros and signs are refused.
        (name.to_string() == text).then_some(name)
    }
}
