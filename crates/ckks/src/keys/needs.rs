//! The operations that a computation performs, stated before any key exists and without parameters.

use std::collections::BTreeMap;

use clathrate_lattice::Level;
use serde::{Deserialize, Serialize};

use crate::arrays::layout::MAX_BODIES;
use crate::names::{Operation, SecretName, Switch};
use crate::shape::ModuleShape;

/// The highest level that a key must serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyLevel {
    /// All levels up to this one.
    Level(usize),
    /// All levels, including those that a bootstrap uses.
    Top,
}

impl KeyLevel {
    /// The highest level as a [`Level`], at most `max`.
    #[must_use]
    pub fn level(self, max: Level) -> Level {
        match self {
            Self::Level(level) => Level(level.min(max.0)),
            Self::Top => max,
        }
    }
}

/// Operations, each with the highest level at which keys must serve it.
///
/// Needs of several computations merge. [`Params::required_keys`](crate::Params) turns them into keys by
/// name, and the owner makes exactly those.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let stated = KeyNeeds::new().relinearise(KeyLevel::Level(4)).rotations([1], KeyLevel::Level(3));
///
/// // A dry run finds the same needs.
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let dry = Evaluator::recording(&params);
/// let x = dry.symbol(&[8], Encoding::Slots, Level(4), 1.0)?;
/// dry.rotate(&dry.multiply_rescale(&x, &x)?, 1)?;
/// assert_eq!(dry.needs(), stated);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyNeeds {
    #[serde(with = "as_list")]
    operations: BTreeMap<Operation, KeyLevel>,
    /// Whether ranks may be reduced by less than half.
    #[serde(default)]
    single_steps: bool,
    /// The needs at other shapes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    relatives: BTreeMap<ModuleShape, KeyNeeds>,
    /// Needs along sequences of rank reductions; the parameters determine their shapes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    descents: Vec<Descent>,
}

/// Needs that are the same at every shape along a sequence of rank reductions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descent {
    /// The ranks after each reduction, in turn.
    pub ranks: Vec<usize>,
    /// Whether arrays are also converted to the higher degree, at the first rank and after each reduction.
    pub to_rlwe: bool,
    /// The highest level of the reductions and conversions.
    #[serde(alias = "reach")]
    pub key_level: KeyLevel,
    /// The needs at each shape.
    pub needs: KeyNeeds,
}

/// Stores the map as a list of pairs, because operations carry data and the keys of a JSON object are
/// strings.
mod as_list {
    use super::{BTreeMap, Deserialize, KeyLevel, Operation};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<Operation, KeyLevel>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<BTreeMap<Operation, KeyLevel>, D::Error> {
        Ok(Vec::<(Operation, KeyLevel)>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Most bundles that one round of a format switch brings under one mask, if their number has such a factor:
/// rounds of four need half as many divisions as rounds of two, with keys of 1.3 times the size.
const MAX_IN_A_ROUND: usize = 4;

/// The rounds of a format switch from bundles of one body to bundles of `bodies` bodies: for each round, the
/// bodies per bundle before and after it. Large factors come first, because the key of a round has an entry
/// for each bundle and each body of the result; a large prime factor makes one large key. For no bodies or
/// more than [`MAX_BODIES`] the result is one round, for which no key can be made. [pcmm-mambo, sec. 3.3]
#[must_use]
pub fn format_switch_rounds(bodies: usize) -> Vec<(usize, usize)> {
    if bodies <= 1 || bodies > MAX_BODIES {
        // One body, or a number of bodies for which no key can be made.
        return vec![(1, bodies)];
    }
    let (mut factors, mut rest) = (Vec::new(), bodies);
    while rest.is_multiple_of(MAX_IN_A_ROUND) {
        factors.push(MAX_IN_A_ROUND);
        rest /= MAX_IN_A_ROUND;
    }
    let mut factor = 2;
    while factor <= rest {
        if rest.is_multiple_of(factor) {
            factors.push(factor);
            rest /= factor;
        } else {
            factor += 1;
        }
    }
    factors.sort_unstable_by(|a, b| b.cmp(a));
    let mut below = 1;
    let round = |factor| {
        let from = below;
        below *= factor;
        (from, below)
    };
    factors.into_iter().map(round).collect()
}

impl KeyNeeds {
    /// No needs yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one operation.
    #[must_use]
    pub fn operation(mut self, operation: Operation, key_level: KeyLevel) -> Self {
        let slot = self.operations.entry(operation).or_insert(key_level);
        *slot = (*slot).max(key_level);
        self
    }

    /// Products of ciphertexts.
    #[must_use]
    pub fn relinearise(self, key_level: KeyLevel) -> Self {
        self.operation(Operation::Multiply, key_level)
    }

    /// Complex conjugation.
    #[must_use]
    pub fn conjugate(self, key_level: KeyLevel) -> Self {
        self.operation(Operation::Conjugate(SecretName::Main), key_level)
    }

    /// Rotations by `steps`, left when positive. A rotation by 0 needs no key.
    #[must_use]
    pub fn rotations(self, steps: impl IntoIterator<Item = i64>, key_level: KeyLevel) -> Self {
        steps.into_iter().filter(|&step| step != 0).fold(self, |needs, step| {
            needs.operation(Operation::Rotate { secret: SecretName::Main, steps: step }, key_level)
        })
    }

    /// Any rotation, composed at the temporary rank from rotations by powers of two, left and right.
    /// [dpad-he, sec. 3.5]
    #[must_use]
    pub fn power_rotations(self, key_level: KeyLevel) -> Self {
        self.operation(Operation::RotateByPowers, key_level)
    }

    /// A reduction of the rank to `rank`, at most half of the present rank unless [`KeyNeeds::single_steps`]
    /// is set.
    #[must_use]
    pub fn reduce_to(self, rank: usize, key_level: KeyLevel) -> Self {
        self.operation(Operation::ReduceRank(rank), key_level)
    }

    /// A change from one secret to another.
    #[must_use]
    pub fn change_secret(self, from: SecretName, to: SecretName, key_level: KeyLevel) -> Self {
        self.operation(Operation::Switch(Switch::ChangeSecret { from, to }), key_level)
    }

    /// Bringing `bodies` bundles under one mask, and extracting each of them again.
    ///
    /// More than [`MAX_BODIES`] bodies have no keys: [`Params::required_keys`](crate::Params::required_keys)
    /// refuses them.
    #[must_use]
    pub fn shared_mask(self, bodies: usize, key_level: KeyLevel) -> Self {
        let out = |index| {
            Operation::Switch(Switch::ChangeSecret {
                from: SecretName::Body { count: bodies, index },
                to: SecretName::Main,
            })
        };
        (0..bodies.min(MAX_BODIES)).fold(
            self.operation(Operation::Switch(Switch::FormatSwitch { from: 1, to: bodies }), key_level),
            |needs, index| needs.operation(out(index), key_level),
        )
    }

    /// Bringing `bodies` bundles under one mask in rounds ([`format_switch_rounds`]). For powers of two the
    /// keys together grow with `bodies`, not with its square.
    #[must_use]
    pub fn shared_mask_in_rounds(self, bodies: usize, key_level: KeyLevel) -> Self {
        let rounds = format_switch_rounds(bodies);
        rounds.into_iter().fold(self, |needs, (from, to)| {
            needs.operation(Operation::Switch(Switch::FormatSwitch { from, to }), key_level)
        })
    }

    /// Products of known matrices with rows of degree `degree` that share a mask, in `bodies` polynomials
    /// ([`crate::circuits::prepared::PreparedPlan`]).
    #[must_use]
    pub fn prepared_matrix(self, bodies: usize, degree: usize, key_level: KeyLevel) -> Self {
        self.operation(Operation::Switch(Switch::BodyParts { bodies, degree }), key_level)
    }

    /// Rotations of arrays with `bodies` bodies under one mask.
    #[must_use]
    pub fn rotations_of_bodies(
        self,
        bodies: usize,
        steps: impl IntoIterator<Item = i64>,
        key_level: KeyLevel,
    ) -> Self {
        let need = |needs: Self, steps: i64| {
            needs.operation(Operation::Rotate { secret: SecretName::Bodies(bodies), steps }, key_level)
        };
        steps.into_iter().filter(|&step| step != 0).fold(self, need)
    }

    /// Complex conjugation of arrays with `bodies` bodies under one mask.
    #[must_use]
    pub fn conjugation_of_bodies(self, bodies: usize, key_level: KeyLevel) -> Self {
        self.operation(Operation::Conjugate(SecretName::Bodies(bodies)), key_level)
    }

    /// Allows reductions of the rank by less than half. Such reductions must be requested explicitly, because
    /// chains of keys `k -> k - 1 -> k - 2` are a possible weakness. [dpad-he, footnote 4]
    #[must_use]
    pub fn single_steps(mut self) -> Self {
        self.single_steps = true;
        self
    }

    /// As [`KeyNeeds::single_steps`], for the needs at all other shapes as well.
    pub(crate) fn single_steps_at_all_shapes(mut self) -> Self {
        self.relatives = self
            .relatives
            .into_iter()
            .map(|(shape, needs)| (shape, needs.single_steps_at_all_shapes()))
            .collect();
        self.single_steps()
    }

    /// Adds needs at another shape of the same secret.
    #[must_use]
    pub fn relative(mut self, shape: ModuleShape, needs: &Self) -> Self {
        let merged = self.relatives.remove(&shape).unwrap_or_default().merge(needs);
        self.relatives.insert(shape, merged);
        self
    }

    /// These needs, and the same needs at every shape to which reductions to `ranks` and, if `to_rlwe` is
    /// set, conversions to the higher degree lead. Needs that an earlier call of this function added are not
    /// repeated at these shapes.
    #[must_use]
    pub fn along(mut self, ranks: &[usize], to_rlwe: bool, key_level: KeyLevel) -> Self {
        if !ranks.is_empty() || to_rlwe {
            let mut needs = Self { relatives: BTreeMap::new(), descents: Vec::new(), ..self.clone() };
            needs.operations.retain(|operation, _| !matches!(operation, Operation::ReduceRank(_)));
            self.descents.push(Descent { ranks: ranks.to_vec(), to_rlwe, key_level, needs });
        }
        self
    }

    /// The union of both needs.
    #[must_use]
    pub fn merge(mut self, other: &Self) -> Self {
        self = other
            .operations
            .iter()
            .fold(self, |needs, (&operation, &key_level)| needs.operation(operation, key_level));
        self.single_steps |= other.single_steps;
        self = other.relatives.iter().fold(self, |needs, (&shape, relative)| needs.relative(shape, relative));
        for descent in &other.descents {
            if !self.descents.contains(descent) {
                self.descents.push(descent.clone());
            }
        }
        self
    }

    /// The operations and their levels at this shape, without those of other shapes.
    pub fn operations(&self) -> impl Iterator<Item = (Operation, KeyLevel)> {
        self.operations.iter().map(|(&operation, &key_level)| (operation, key_level))
    }

    /// The level of one operation, if it is needed.
    #[must_use]
    pub fn key_level_of(&self, operation: Operation) -> Option<KeyLevel> {
        self.operations.get(&operation).copied()
    }

    /// The highest level at which `operation` is needed at shape `at`, if `own` is the shape of these needs;
    /// needs at other shapes are searched too.
    #[must_use]
    pub fn key_level_at(&self, own: ModuleShape, at: ModuleShape, operation: Operation) -> Option<KeyLevel> {
        let here = self.key_level_of(operation).filter(|_| own == at);
        let there = self.relatives().filter_map(|(shape, needs)| needs.key_level_at(shape, at, operation));
        there.chain(here).max()
    }

    /// Rotation steps and their levels.
    pub fn rotation_steps(&self) -> impl Iterator<Item = (i64, KeyLevel)> {
        self.operations().filter_map(|(operation, key_level)| {
            if let Operation::Rotate { secret: SecretName::Main, steps } = operation {
                Some((steps, key_level))
            } else {
                None
            }
        })
    }

    /// Ranks to reduce to and their levels.
    pub fn reductions(&self) -> impl Iterator<Item = (usize, KeyLevel)> {
        self.operations().filter_map(|(operation, key_level)| {
            if let Operation::ReduceRank(rank) = operation { Some((rank, key_level)) } else { None }
        })
    }

    /// Whether ranks may be reduced by less than half.
    #[must_use]
    pub fn allows_single_steps(&self) -> bool {
        self.single_steps
    }

    /// Needs at other shapes.
    pub fn relatives(&self) -> impl Iterator<Item = (ModuleShape, &Self)> {
        self.relatives.iter().map(|(&shape, needs)| (shape, needs))
    }

    /// Needs along sequences of rank reductions; the parameters determine their shapes.
    #[must_use]
    pub fn descents(&self) -> &[Descent] {
        &self.descents
    }

    /// Whether nothing is needed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty() && self.descents.is_empty() && self.relatives.values().all(Self::is_empty)
    }
}
