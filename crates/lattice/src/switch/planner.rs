//! Chooses the switching method of each level: one fixed method, or the fastest method by a cost model within
//! a memory limit.

use std::collections::HashMap;

use super::coalesce::free_primes;
use super::cost::{MachineProfile, SwitchCounts, counts};
use super::method::SwitchMethod;
use super::representation::{KeyRepresentation, packed_bytes};
use crate::chain::{Chain, Level};
use crate::gadget::Gadget;

/// Numbers of special primes that a planner tries; a number is skipped if the level has fewer free primes.
const SPECIALS: [usize; 15] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32];

/// Lengths of KLSS key digits that a planner tries, in primes.
const KEY_DIGITS: [usize; 9] = [2, 3, 4, 5, 6, 7, 8, 10, 12];

/// How the method of each level is chosen.
#[derive(Debug)]
pub enum SwitchPolicy {
    /// One method at all levels. A level at which the method is impossible gives an error.
    Fixed(SwitchMethod),
    /// The fastest method at each level.
    Planned(Planner),
}

/// Finds the fastest method of each level by a cost model, within a memory limit for derived keys.
#[derive(Debug)]
pub struct Planner {
    /// The machine to plan for; `None` for prices that are the same on every machine.
    profile: Option<MachineProfile>,
    columns: usize,
    expansion: f64,
}

/// The methods that a planner chose for keys of one level, one row for each level of the inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodMap {
    /// Lowest level first.
    pub rows: Vec<MethodRow>,
    /// Bytes of one generated key.
    pub key_bytes: usize,
    /// Bytes of all keys that are derived from one generated key when all levels are in use.
    pub derived_bytes: usize,
}

/// One level of a [`MethodMap`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MethodRow {
    /// The level.
    pub level: Level,
    /// Its switching method.
    pub method: SwitchMethod,
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
    /// Index into the list of methods.
    method: usize,
    digits: usize,
    nanoseconds: f64,
    counts: SwitchCounts,
    /// Bytes of the derived key, if this level were the highest that uses it.
    bytes: usize,
}

impl Planner {
    /// A planner for keys whose entries have `columns` polynomials (rank and bodies). Derived keys may take
    /// up to `expansion` times the bytes of the generated keys. It plans for the machine of `profile`.
    #[must_use]
    pub fn new(profile: MachineProfile, columns: usize, expansion: f64) -> Self {
        Self { profile: Some(profile), columns, expansion }
    }

    /// [`Planner::new`] with prices that are the same on every machine ([`SwitchCounts::price`]), so that all
    /// machines choose the same methods and compute the same bits.
    #[must_use]
    pub fn by_prices(columns: usize, expansion: f64) -> Self {
        Self { profile: None, columns, expansion }
    }

    /// The profile by which the planner predicts times.
    #[must_use]
    pub fn profile(&self) -> &MachineProfile {
        self.profile.as_ref().unwrap_or(MachineProfile::reference())
    }

    fn nanoseconds(&self, degree: usize, counts: &SwitchCounts) -> f64 {
        self.profile
            .as_ref()
            .map_or_else(|| counts.price(degree), |profile| profile.nanoseconds(degree, counts))
    }

    fn methods(chain: &Chain) -> Vec<SwitchMethod> {
        let mut methods = vec![SwitchMethod::as_made(chain)];
        for special in SPECIALS.into_iter().chain([chain.special_basis().len()]) {
            let ways = KEY_DIGITS.into_iter().map(|length| SwitchMethod::klss(special, length));
            methods.extend([SwitchMethod::hybrid(special)].into_iter().chain(ways).filter(|_| special > 0));
        }
        methods.sort_unstable();
        methods.dedup();
        methods
    }

    fn candidates(
        &self,
        chain: &Chain,
        gadget: &Gadget,
        key_level: Level,
        inputs: usize,
        methods: &[SwitchMethod],
    ) -> Vec<Vec<Candidate>> {
        let degree = chain.ring().degree();
        let at = |level: Level| {
            let free = free_primes(chain, gadget, level, key_level);
            let levels = (level, key_level);
            let candidate = |(index, &method): (usize, &SwitchMethod)| {
                let representation =
                    KeyRepresentation::with_special_of(&free, chain, gadget, method, levels, inputs).ok()?;
                // If no digits can be merged, this method uses the generated key unchanged; the candidate
                // `SwitchMethod::as_made` covers that.
                if method.coalesced
                    && representation.is_base()
                    && method.special == chain.special_basis().len()
                {
                    return None;
                }
                let counts = counts(chain, gadget, &representation, level, inputs, self.columns);
                let nanoseconds = self.nanoseconds(degree, &counts);
                let (digits, bytes) =
                    (representation.runs.len(), representation.bytes_for(chain.ring(), inputs, self.columns));
                Some(Candidate { method: index, digits, nanoseconds, counts, bytes })
            };
            methods.iter().enumerate().filter_map(candidate).collect()
        };
        (0..=key_level.0).map(Level).map(at).collect()
    }

    /// The fastest allowed candidate of each level, and the bytes of all derived keys that they need.
    fn best<'c>(levels: &'c [Vec<Candidate>], allowed: &[bool]) -> (Vec<&'c Candidate>, usize) {
        let fastest = |candidates: &'c Vec<Candidate>| {
            candidates
                .iter()
                .filter(|c| allowed[c.method])
                .min_by(|x, y| x.nanoseconds.total_cmp(&y.nanoseconds))
        };
        let chosen: Vec<&Candidate> = levels.iter().filter_map(fastest).collect();
        let mut bytes: HashMap<usize, usize> = HashMap::new();
        // Levels ascend, so the last level that uses a derived key decides its size.
        for candidate in &chosen {
            bytes.insert(candidate.method, candidate.bytes);
        }
        (chosen, bytes.values().sum())
    }

    /// The fastest method at each level for keys of level `key_level` with `inputs` inputs.
    #[must_use]
    pub fn map(&self, chain: &Chain, gadget: &Gadget, key_level: Level, inputs: usize) -> MethodMap {
        self.map_of(chain, gadget, key_level, inputs, Self::methods(chain))
    }

    /// The fastest hybrid method at each level for keys of level `key_level` with one input. Used for sums
    /// that are multiplied by plaintexts before the mod-down.
    #[must_use]
    pub fn hybrid_map(&self, chain: &Chain, gadget: &Gadget, key_level: Level) -> MethodMap {
        let hybrid = Self::methods(chain).into_iter().filter(|method| method.key_digit.is_none()).collect();
        self.map_of(chain, gadget, key_level, 1, hybrid)
    }

    fn map_of(
        &self,
        chain: &Chain,
        gadget: &Gadget,
        key_level: Level,
        inputs: usize,
        methods: Vec<SwitchMethod>,
    ) -> MethodMap {
        let levels = self.candidates(chain, gadget, key_level, inputs, &methods);
        let as_made = methods.iter().position(|&method| method == SwitchMethod::as_made(chain)).unwrap_or(0);
        let polys = gadget.digit_count(chain, key_level) * inputs * self.columns;
        let key_bytes = polys * packed_bytes(chain.ring(), &chain.key_basis(key_level));
        let limit = (self.expansion * key_bytes as f64) as usize;
        let mut allowed = vec![true; methods.len()];
        let (mut chosen, mut bytes) = Self::best(&levels, &allowed);
        let total = |chosen: &[&Candidate]| chosen.iter().map(|c| c.nanoseconds).sum::<f64>();
        // Drops methods that no level prefers. Then, while the derived keys exceed the limit, drops the
        // method that costs the least time per freed byte.
        for method in 0..methods.len() {
            allowed[method] = method == as_made || chosen.iter().any(|c| c.method == method);
        }
        while bytes > limit {
            let time = total(&chosen);
            let without = |method: usize| {
                let mut fewer = allowed.clone();
                fewer[method] = false;
                let (chosen, fewer_bytes) = Self::best(&levels, &fewer);
                (bytes > fewer_bytes)
                    .then(|| (method, (total(&chosen) - time) / (bytes - fewer_bytes) as f64))
            };
            let used = (0..methods.len()).filter(|&method| allowed[method] && method != as_made);
            let Some((method, _)) = used.filter_map(without).min_by(|x, y| x.1.total_cmp(&y.1)) else {
                break;
            };
            allowed[method] = false;
            (chosen, bytes) = Self::best(&levels, &allowed);
        }
        let row = |(level, c): (usize, &&Candidate)| MethodRow {
            level: Level(level),
            method: methods[c.method],
            digits: c.digits,
            nanoseconds: c.nanoseconds,
            counts: c.counts,
        };
        MethodMap { rows: chosen.iter().enumerate().map(row).collect(), key_bytes, derived_bytes: bytes }
    }
}
