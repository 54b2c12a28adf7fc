//! What keys a computation needs, stated before any key exists.

use std::collections::BTreeMap;

use clathrate_lattice::Level;
use serde::{Deserialize, Serialize};

/// Keys by purpose, each with the highest level it must serve (absent: the top).
///
/// Needs of several computations merge; key generation makes exactly what is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyNeeds {
    relinearise: Option<Reach>,
    conjugate: Option<Reach>,
    rotations: BTreeMap<i64, Reach>,
}

/// The level a key must reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Levels up to this one.
    Level(usize),
    /// All levels.
    Top,
}

impl Reach {
    /// The level, at most `max`.
    #[must_use]
    pub fn level(self, max: Level) -> Level {
        match self {
            Self::Level(level) => Level(level.min(max.0)),
            Self::Top => max,
        }
    }

    fn merge(slot: &mut Option<Self>, other: Self) {
        *slot = Some(slot.map_or(other, |reach| reach.max(other)));
    }
}

impl KeyNeeds {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Products of ciphertexts.
    #[must_use]
    pub fn relinearise(mut self, reach: Reach) -> Self {
        Reach::merge(&mut self.relinearise, reach);
        self
    }

    /// Complex conjugation.
    #[must_use]
    pub fn conjugate(mut self, reach: Reach) -> Self {
        Reach::merge(&mut self.conjugate, reach);
        self
    }

    /// Rotations by `steps`, left when positive. A rotation by 0 needs no key.
    #[must_use]
    pub fn rotations(mut self, steps: impl IntoIterator<Item = i64>, reach: Reach) -> Self {
        for step in steps.into_iter().filter(|&step| step != 0) {
            let slot = self.rotations.entry(step).or_insert(reach);
            *slot = (*slot).max(reach);
        }
        self
    }

    /// The needs of both.
    #[must_use]
    pub fn merge(mut self, other: &Self) -> Self {
        if let Some(reach) = other.relinearise {
            self = self.relinearise(reach);
        }
        if let Some(reach) = other.conjugate {
            self = self.conjugate(reach);
        }
        for (&step, &reach) in &other.rotations {
            self = self.rotations([step], reach);
        }
        self
    }

    /// Level of the relinearisation key, if one is needed.
    #[must_use]
    pub fn relinearisation(&self) -> Option<Reach> {
        self.relinearise
    }

    /// Level of the conjugation key, if one is needed.
    #[must_use]
    pub fn conjugation(&self) -> Option<Reach> {
        self.conjugate
    }

    /// Rotation steps and their levels.
    pub fn rotation_steps(&self) -> impl Iterator<Item = (i64, Reach)> {
        self.rotations.iter().map(|(&step, &reach)| (step, reach))
    }

    /// Whether nothing is needed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.relinearise.is_none() && self.conjugate.is_none() && self.rotations.is_empty()
    }
}
