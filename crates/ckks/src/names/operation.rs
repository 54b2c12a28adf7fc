//! Operations that use key switching.

use std::fmt;

use clathrate_arith::text::counted;
use serde::{Deserialize, Serialize};

use super::key::{RaisedMap, Switch};
use super::secret::SecretName;

/// An operation that uses key switching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A product of ciphertexts.
    Multiply,
    /// Complex conjugation of the slots of arrays under this secret.
    Conjugate(SecretName),
    /// A rotation of the slots.
    Rotate {
        /// The secret of the array.
        secret: SecretName,
        /// The number of places, left when positive.
        steps: i64,
    },
    /// Any rotation, composed at the temporary rank from rotations by powers of two.
    RotateByPowers,
    /// A reduction to this rank.
    ReduceRank(usize),
    /// A switch from one secret to another.
    Switch(Switch),
}

impl Operation {
    /// Whether the operation uses keys of a packing ring
    /// ([`KeyModulus::Packing`](crate::parameters::KeyModulus::Packing)), which has no other keys.
    pub(crate) fn is_in_packing_ring(self) -> bool {
        matches!(self, Self::Switch(Switch::Pack { onto: SecretName::Packing, .. }))
    }

    /// A rotation of an array under `secret`; `None` for a secret without rotation keys.
    #[must_use]
    pub fn rotation(secret: SecretName, steps: i64) -> Option<Self> {
        has_automorphisms(secret).then_some(Self::Rotate { secret, steps })
    }

    /// A conjugation of an array under `secret`; `None` for a secret without conjugation keys.
    #[must_use]
    pub fn conjugation(secret: SecretName) -> Option<Self> {
        has_automorphisms(secret).then_some(Self::Conjugate(secret))
    }
}

/// Whether keys of automorphisms are made for arrays under `secret`.
fn has_automorphisms(secret: SecretName) -> bool {
    matches!(secret, SecretName::Main | SecretName::Bodies(_))
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Multiply => f.write_str("relinearise"),
            Self::Conjugate(SecretName::Bodies(bodies)) => {
                write!(f, "conjugate {bodies} bodies under one mask")
            }
            Self::Conjugate(_) => f.write_str("conjugate"),
            Self::Rotate { secret: SecretName::Bodies(bodies), steps } => {
                write!(f, "rotate {bodies} bodies under one mask by {steps}")
            }
            Self::Rotate { steps, .. } => write!(f, "rotate {steps}"),
            Self::RotateByPowers => f.write_str("rotate by powers of two"),
            Self::ReduceRank(rank) => write!(f, "reduce to rank {rank}"),
            Self::Switch(switch) => f.write_str(&described(*switch)),
        }
    }
}

/// A switch in words.
fn described(switch: Switch) -> String {
    match switch {
        Switch::ChangeSecret { from, to } => format!("change the secret from {from} to {to}"),
        Switch::FormatSwitch { from: 1, to } => format!("bring {to} bundles under one mask"),
        Switch::FormatSwitch { from, to } => {
            format!("bring {} bundles of {from} bodies under one mask", to.checked_div(from).unwrap_or(0))
        }
        Switch::Pack { from, to, under, onto } => {
            let name = |secret: SecretName| {
                if secret == SecretName::Main { String::new() } else { format!(" under {secret}") }
            };
            let (under, onto) = (name(under), name(onto));
            format!("pack samples of degree and rank {from}{under} to degree {to}{onto}")
        }
        Switch::BodyParts { bodies, degree } => format!(
            "multiply a known matrix with rows of degree {degree}, {} under one mask",
            counted(bodies, "polynomial")
        ),
        Switch::RaiseToSlots(RaisedMap { slots, layers, bodies: 1, .. }) => {
            format!("raise the modulus with {layers} layers to {slots} slots")
        }
        Switch::RaiseToSlots(RaisedMap { slots, layers, bodies, .. }) => format!(
            "raise the modulus of {bodies} bodies under one mask with {layers} layers to {slots} slots"
        ),
    }
}
