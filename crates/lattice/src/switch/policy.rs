//! Who chooses how a level switches: one way for all, or the fastest that a cost model and a memory limit allow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::choice::{KeyShape, SwitchChoice, packed_bytes};
use super::cost::{MachineProfile, SwitchCounts, counts};
use crate::chain::{Chain, Level};
use crate::gadget::Gadget;

/// Numbers of special primes that a planner tries, where so many are free.
const SPECIALS: [usize; 15] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32];

/// Lengths of key digits that a planner tries.
const KEY_DIGITS: [usize; 9] = [2, 3, 4, 5, 6, 7, 8, 10, 12];

/// Chooses the engine and the digits of each level.
#[derive(Debug)]
pub enum SwitchPolicy {
    /// One way at all levels; where a level cannot switch that way, an error says so.
    Fixed(SwitchChoice),
    /// The fastest way at each level.
    Planned(Planner),
}

/// Finds the fastest way at each level, by a cost model and under a memory limit.
#[derive(Debug)]
pub struct Planner {
    profile: MachineProfile,
    columns: usize,
    expansion: f64,
    maps: Mutex<HashMap<Level, Arc<SwitchMap>>>,
}

/// What a planner chose for keys of one level: one row per level of the inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct SwitchMap {
    /// Lowest level first.
    pub rows: Vec<MapRow>,
    /// Bytes of one key as it was made.
    pub key_bytes: usize,
    /// Bytes that are derived from one key when all levels are in use.
    pub derived_bytes: usize,
}

/// One level of a [`SwitchMap`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapRow {
    /// The level.
    pub level: Level,
    /// How it switches.
    pub choice: SwitchChoice,
    /// Number of digits `d`.
    pub digits: usize,
    /// Predicted nanoseconds of a switch of `inputs` polynomials.
    pub nanoseconds: f64,
    /// Unit operations.
    pub counts: SwitchCounts,
}

/// One candidate at one level.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Index into the list of choices.
    choice: usize,
    digits: usize,
    nanoseconds: f64,
    counts: SwitchCounts,
    /// Bytes of the key form, were this level the highest that uses it.
    bytes: usize,
}

impl Planner {
    /// A planner for keys of `columns` polynomials (rank and bodies), which lets derived keys take up to `expansion` times the bytes of the keys
    /// themselves.
    #[must_use]
    pub fn new(profile: MachineProfile, columns: usize, expansion: f64) -> Self {
        Self { profile, columns, expansion, maps: Mutex::default() }
    }

    /// The machine it plans for.
    #[must_use]
    pub fn profile(&self) -> &MachineProfile {
        &self.profile
    }

    /// The map for keys of level `reach` with `inputs` inputs.
    #[must_use]
    pub fn map(&self, chain: &Chain, gadget: &Gadget, reach: Level, inputs: usize) -> Arc<SwitchMap> {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        maps.entry(reach).or_insert_with(|| Arc::new(self.plan(chain, gadget, reach, inputs))).clone()
    }

    fn choices(chain: &Chain) -> Vec<SwitchChoice> {
        let mut choices = vec![SwitchChoice::as_made(chain)];
        for special in SPECIALS.into_iter().chain([chain.special_basis().len()]) {
            let ways = KEY_DIGITS.into_iter().map(|length| SwitchChoice::decomposed(special, length));
            choices.extend([SwitchChoice::hybrid(special)].into_iter().chain(ways).filter(|_| special > 0));
        }
        choices.sort_unstable();
        choices.dedup();
        choices
    }

    fn candidates(&self, chain: &Chain, gadget: &Gadget, reach: Level, inputs: usize, choices: &[SwitchChoice]) -> Vec<Vec<Candidate>> {
        let degree = chain.ring().degree();
        let at = |level: Level| {
            let candidate = |(index, &choice): (usize, &SwitchChoice)| {
                let shape = KeyShape::new(chain, gadget, choice, level, reach, inputs).ok()?;
                // Where nothing can be joined, the key serves as it is, under its own name.
                if choice.coalesced && shape.is_base() && choice.special == chain.special_basis().len() {
                    return None;
                }
                let counts = counts(chain, gadget, &shape, level, inputs, self.columns);
                let nanoseconds = self.profile.nanoseconds(degree, &counts);
                let (digits, bytes) = (shape.runs.len(), shape.bytes_for(chain.ring(), inputs, self.columns));
                Some(Candidate { choice: index, digits, nanoseconds, counts, bytes })
            };
            choices.iter().enumerate().filter_map(candidate).collect()
        };
        (0..=reach.0).map(Level).map(at).collect()
    }

    /// The fastest allowed candidate of each level, and what their forms take together.
    fn best<'c>(levels: &'c [Vec<Candidate>], allowed: &[bool]) -> (Vec<&'c Candidate>, usize) {
        let fastest = |candidates: &'c Vec<Candidate>| {
            candidates.iter().filter(|c| allowed[c.choice]).min_by(|x, y| x.nanoseconds.total_cmp(&y.nanoseconds))
        };
        let chosen: Vec<&Candidate> = levels.iter().filter_map(fastest).collect();
        let mut bytes: HashMap<usize, usize> = HashMap::new();
        // Later levels are higher: the last one to use a form sizes it.
        for candidate in &chosen {
            bytes.insert(candidate.choice, candidate.bytes);
        }
        (chosen, bytes.values().sum())
    }

    fn plan(&self, chain: &Chain, gadget: &Gadget, reach: Level, inputs: usize) -> SwitchMap {
        let choices = Self::choices(chain);
        let levels = self.candidates(chain, gadget, reach, inputs, &choices);
        let as_made = choices.iter().position(|&choice| choice == SwitchChoice::as_made(chain)).unwrap_or(0);
        let polys = gadget.digit_count(chain, reach) * inputs * self.columns;
        let key_bytes = polys * packed_bytes(chain.ring(), &chain.key_basis(reach));
        let limit = (self.expansion * key_bytes as f64) as usize;
        let mut allowed = vec![true; choices.len()];
        let (mut chosen, mut bytes) = Self::best(&levels, &allowed);
        let total = |chosen: &[&Candidate]| chosen.iter().map(|c| c.nanoseconds).sum::<f64>();
        // Too much: give up the form that costs least time per byte it frees, until the rest fits. Choices that no level prefers go first.
        for choice in 0..choices.len() {
            allowed[choice] = choice == as_made || chosen.iter().any(|c| c.choice == choice);
        }
        while bytes > limit {
            let time = total(&chosen);
            let without = |choice: usize| {
                let mut fewer = allowed.clone();
                fewer[choice] = false;
                let (chosen, fewer_bytes) = Self::best(&levels, &fewer);
                (bytes > fewer_bytes).then(|| (choice, (total(&chosen) - time) / (bytes - fewer_bytes) as f64))
            };
            let used = (0..choices.len()).filter(|&choice| allowed[choice] && choice != as_made);
            let Some((choice, _)) = used.filter_map(without).min_by(|x, y| x.1.total_cmp(&y.1)) else { break };
            allowed[choice] = false;
            (chosen, bytes) = Self::best(&levels, &allowed);
        }
        let row = |(level, c): (usize, &&Candidate)| MapRow {
            level: Level(level),
            choice: choices[c.choice],
            digits: c.digits,
            nanoseconds: c.nanoseconds,
            counts: c.counts,
        };
        SwitchMap { rows: chosen.iter().enumerate().map(row).collect(), key_bytes, derived_bytes: bytes }
    }
}

impl SwitchPolicy {
    /// How `level` switches with keys of level `reach`.
    pub(super) fn choose(&self, chain: &Chain, gadget: &Gadget, level: Level, reach: Level, inputs: usize) -> SwitchChoice {
        match self {
            Self::Fixed(choice) => *choice,
            Self::Planned(planner) => {
                let map = planner.map(chain, gadget, reach, inputs);
                map.rows.get(level.0).map_or_else(|| SwitchChoice::as_made(chain), |row| row.choice)
            }
        }
    }
}
