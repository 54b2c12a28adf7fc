//! What keys a computation needs, stated before any key exists.

use std::collections::BTreeMap;

use clathrate_lattice::Level;
use serde::{Deserialize, Serialize};

use crate::shape::ModuleShape;

/// Keys by purpose, each with the highest level it must serve (absent: the top).
///
/// Needs of several computations merge; key generation makes exactly what is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyNeeds {
    relinearise: Option<Reach>,
    conjugate: Option<Reach>,
    rotations: BTreeMap<i64, Reach>,
    /// Rotations by powers of two at the temporary rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    powers: Option<Reach>,
    /// Ranks to reduce to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    reductions: BTreeMap<usize, Reach>,
    /// Whether ranks may be reduced by less than half.
    #[serde(default)]
    single_steps: bool,
    /// What is needed at other shapes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    relatives: BTreeMap<ModuleShape, KeyNeeds>,
    /// Ways through shapes that only parameters tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
}

/// The same needs at every shape of a way down the ranks: made of shapes where the parameters are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Ranks to reduce to, one after the other.
    pub ranks: Vec<usize>,
    /// Whether conversions to the higher degree are wanted, from the first rank and from these.
    pub to_rlwe: bool,
    /// Levels that the reductions and conversions serve.
    pub reach: Reach,
    /// What is needed at each shape.
    pub needs: KeyNeeds,
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

    /// Any rotation, from keys of the powers of two alone, left and right, at the temporary rank. [dpad-he, sec. 3.5]
    #[must_use]
    pub fn power_rotations(mut self, reach: Reach) -> Self {
        Reach::merge(&mut self.powers, reach);
        self
    }

    /// A reduction of the rank to `rank`, at most half of the present one unless [`KeyNeeds::single_steps`] is said.
    #[must_use]
    pub fn reduce_to(mut self, rank: usize, reach: Reach) -> Self {
        let slot = self.reductions.entry(rank).or_insert(reach);
        *slot = (*slot).max(reach);
        self
    }

    /// The caller's word that ranks may go down by less than half: chains of keys `k -> k - 1 -> k - 2` are a possible weakness. [dpad-he, footnote 4]
    #[must_use]
    pub fn single_steps(mut self) -> Self {
        self.single_steps = true;
        self
    }

    /// What is needed at another shape of the same secret.
    #[must_use]
    pub fn relative(mut self, shape: ModuleShape, needs: &Self) -> Self {
        let merged = self.relatives.remove(&shape).unwrap_or_default().merge(needs);
        self.relatives.insert(shape, merged);
        self
    }

    /// These needs, and the same at every shape that `ranks` and, where `to_rlwe` is said, a conversion to the higher degree lead to.
    ///
    /// Ways known already are not followed again.
    #[must_use]
    pub fn along(mut self, ranks: &[usize], to_rlwe: bool, reach: Reach) -> Self {
        if !ranks.is_empty() || to_rlwe {
            let needs = Self { reductions: BTreeMap::new(), relatives: BTreeMap::new(), routes: Vec::new(), ..self.clone() };
            self.routes.push(Route { ranks: ranks.to_vec(), to_rlwe, reach, needs });
        }
        self
    }

    /// The same with every shape beside `own`, none within another, and what is said of one shape in several places put together.
    #[must_use]
    pub fn flattened(&self, own: ModuleShape) -> Self {
        fn collect(needs: &KeyNeeds, at: ModuleShape, shapes: &mut BTreeMap<ModuleShape, KeyNeeds>) {
            needs.relatives.iter().for_each(|(&shape, relative)| collect(relative, shape, shapes));
            let alone = KeyNeeds { relatives: BTreeMap::new(), ..needs.clone() };
            let merged = shapes.remove(&at).unwrap_or_default().merge(&alone);
            shapes.insert(at, merged);
        }
        let mut shapes = BTreeMap::new();
        collect(self, own, &mut shapes);
        let flat = shapes.remove(&own).unwrap_or_default();
        Self { relatives: shapes, ..flat }
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
        if let Some(reach) = other.powers {
            self = self.power_rotations(reach);
        }
        for (&rank, &reach) in &other.reductions {
            self = self.reduce_to(rank, reach);
        }
        self.single_steps |= other.single_steps;
        for (&shape, needs) in &other.relatives {
            self = self.relative(shape, needs);
        }
        for route in &other.routes {
            if !self.routes.contains(route) {
                self.routes.push(route.clone());
            }
        }
        self
    }

    /// Ways through shapes that only parameters tell.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// These needs without the ways.
    pub(crate) fn without_routes(&self) -> Self {
        Self { routes: Vec::new(), ..self.clone() }
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

    /// Level of the keys of powers of two, if they are needed.
    #[must_use]
    pub fn powers(&self) -> Option<Reach> {
        self.powers
    }

    /// Ranks to reduce to and their levels.
    pub fn reductions(&self) -> impl DoubleEndedIterator<Item = (usize, Reach)> {
        self.reductions.iter().map(|(&rank, &reach)| (rank, reach))
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

    /// Whether nothing is needed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let own = self.relinearise.is_none() && self.conjugate.is_none() && self.rotations.is_empty();
        own && self.powers.is_none() && self.reductions.is_empty() && self.routes.is_empty() && self.relatives.values().all(Self::is_empty)
    }
}
