//! Chooses the keys that an operation uses at a level. One function decides this for the making and storing
//! of keys, for predictions of cost and noise, and for computations.
//!
//! An operation may have several routes. A product switches directly or, at rank 2 and above, through the
//! temporary rank [dpad-he, Algorithm 1]; a rotation uses its own key, or rotations by powers of two at the
//! temporary rank [dpad-he, Algorithm 2], or several rotations in turn; a reduction of the rank may take
//! several steps. [`Params::route`] chooses a route for which keys exist.

use clathrate_arith::GaloisElement;
use clathrate_lattice::Level;

use crate::error::CkksError;
use crate::names::{KeyAddress, KeyName, Operation, SecretName, Switch};
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// The keys of one operation at one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The operation switches nothing.
    Nothing,
    /// One switch after another; most operations need only one.
    InTurn(Vec<KeyAddress>),
    /// Switches at the temporary rank, then the rank-down.
    TemporaryRank {
        /// The keys to and at the temporary rank.
        up: Vec<KeyAddress>,
        /// The rank-down key.
        down: KeyAddress,
    },
}

impl Route {
    /// All keys of the route.
    pub fn keys(&self) -> impl Iterator<Item = KeyAddress> {
        let (keys, down) = match self {
            Self::Nothing => (&[][..], None),
            Self::InTurn(keys) => (&keys[..], None),
            Self::TemporaryRank { up, down } => (&up[..], Some(*down)),
        };
        keys.iter().copied().chain(down)
    }
}

/// `step` as a sum of signed powers of two, no two of them neighbours, which is a sum with the fewest terms
/// (the non-adjacent form). [dpad-he, sec. 3.5]
fn non_adjacent_form(mut step: i64) -> Vec<i64> {
    let (mut terms, mut power) = (Vec::new(), 1i64);
    while step != 0 {
        if step & 1 == 1 {
            let digit = 2 - (step & 3); // 1 or -1, so that the next bit is zero
            terms.push(digit * power);
            step -= digit;
        }
        step >>= 1;
        power = power.wrapping_mul(2);
    }
    terms
}

/// The automorphisms of a move from `degree = n` to `target = N`, for arrays under `secret`; `None` if the
/// secret has no keys for them. The automorphism of stage `l = 1, 2, ..` fixes `X^(N / (2^(l-1) n))` and
/// negates `X^(N / (2^l n))`, so the powers of `X^(N/n)` are exactly the powers that all of them fix. The
/// automorphisms are the rotations by `n/2, n, 2n, ..`, except that at `n = 1` the first stage is the
/// conjugation, because it negates `X^(N/2)`, which no rotation of slots does. [dpad-he, Algorithm 5]
pub(crate) fn trace_operations(secret: SecretName, degree: usize, target: usize) -> Option<Vec<Operation>> {
    let stages = (target / degree).ilog2();
    let stage = |l: u32| match (degree << l) / 4 {
        0 => Operation::conjugation(secret),
        steps => Operation::rotation(secret, steps as i64),
    };
    (1..=stages).map(stage).collect()
}

impl Params {
    /// The keys that `operation` uses at `level`, among the keys for which `has` is true; `None` if these do
    /// not suffice.
    ///
    /// Slots repeat with the period `period`, a power of two, so rotations by steps that are equal modulo
    /// `period` have the same result.
    pub(crate) fn route(
        &self,
        operation: Operation,
        level: Level,
        period: usize,
        has: &dyn Fn(KeyAddress, Level) -> bool,
    ) -> Option<Route> {
        let at = |name: KeyName| KeyAddress { shape: self.shape(), name };
        let known = |name: KeyName| has(at(name), level);
        let single = |name: KeyName| known(name).then(|| Route::InTurn(vec![at(name)]));
        match operation {
            Operation::Multiply => self.product_route(level, &known),
            Operation::Conjugate(secret) => single(self.conjugation_key(secret)),
            Operation::Rotate { secret, steps } => self.rotation_route(secret, steps, period as i64, &known),
            Operation::RotateByPowers => {
                let up: Vec<KeyAddress> = self
                    .power_elements()
                    .into_iter()
                    .map(|element| at(KeyName::Automorphism { secret: SecretName::Temporary, element }))
                    .collect();
                let all = up.iter().all(|&key| has(key, level)) && known(KeyName::RankDown);
                all.then(|| Route::TemporaryRank { up, down: at(KeyName::RankDown) })
            }
            Operation::ReduceRank(rank) => self.reduction_route(rank, level, has).map(Route::InTurn),
            Operation::Switch(Switch::ChangeSecret { from, to }) if from == to => Some(Route::Nothing),
            Operation::Switch(switch) => single(KeyName::Switch(switch)),
        }
    }

    /// The name of the key of a conjugation under `secret`.
    pub(crate) fn conjugation_key(&self, secret: SecretName) -> KeyName {
        KeyName::Automorphism { secret, element: GaloisElement::conjugation(self.degree()) }
    }

    /// The name of the key of a rotation under `secret`.
    pub(crate) fn rotation_key(&self, secret: SecretName, steps: i64) -> KeyName {
        KeyName::Automorphism { secret, element: GaloisElement::rotation(steps, self.degree()) }
    }

    /// The route of a product. If keys of the ordinary rank are secure over the widened chain, a direct key
    /// costs less than the route through the temporary rank. With a fixed method or unchanged keys
    /// ([`crate::Switching`]), products use the temporary rank if its keys exist, as in the paper.
    fn product_route(&self, level: Level, known: &dyn Fn(KeyName) -> bool) -> Option<Route> {
        let at = |name: KeyName| KeyAddress { shape: self.shape(), name };
        let single = |name: KeyName| known(name).then(|| Route::InTurn(vec![at(name)]));
        if self.temporary_for_products().is_none() {
            return single(KeyName::Relinearise);
        }
        let direct = || single(KeyName::DirectRelinearise);
        let through = || {
            let (up, down) = (KeyName::CrossRelinearise, KeyName::RankDown);
            (known(up) && known(down)).then(|| Route::TemporaryRank { up: vec![at(up)], down: at(down) })
        };
        if self.direct(level).is_some() { direct().or_else(through) } else { through().or_else(direct) }
    }

    /// The route of a rotation under `secret`. Only the main secret has keys at the temporary rank.
    fn rotation_route(
        &self,
        secret: SecretName,
        steps: i64,
        period: i64,
        known: &dyn Fn(KeyName) -> bool,
    ) -> Option<Route> {
        let slots = self.slot_count() as i64;
        let at = |name: KeyName| KeyAddress { shape: self.shape(), name };
        // At degree 1 there are no slots.
        let residue = steps.checked_rem_euclid(period)?;
        if residue == 0 {
            return Some(Route::Nothing);
        }
        let own = |steps: i64| self.rotation_key(secret, steps);
        let temporary = |steps: i64| self.rotation_key(SecretName::Temporary, steps);
        let equal = (0..slots / period).map(|times| residue + times * period);
        if let Some(steps) = std::iter::once(steps).chain(equal).find(|&steps| known(own(steps))) {
            return Some(Route::InTurn(vec![at(own(steps))]));
        }
        // The two representatives nearest to zero; the one with fewer terms is tried first.
        let mut sums = [non_adjacent_form(residue), non_adjacent_form(residue - period)];
        sums.sort_by_key(Vec::len);
        let by = |name: &dyn Fn(i64) -> KeyName| {
            let terms = sums.iter().find(|terms| terms.iter().all(|&term| known(name(term))))?;
            Some(terms.iter().map(|&term| at(name(term))).collect::<Vec<_>>())
        };
        if secret == SecretName::Main
            && known(KeyName::RankDown)
            && let Some(up) = by(&temporary)
        {
            return Some(Route::TemporaryRank { up, down: at(KeyName::RankDown) });
        }
        by(&own).map(Route::InTurn)
    }

    /// The route of a reduction to `rank`: one step if its key exists, otherwise several steps, where the
    /// highest intermediate rank is tried first.
    fn reduction_route(
        &self,
        rank: usize,
        level: Level,
        has: &dyn Fn(KeyAddress, Level) -> bool,
    ) -> Option<Vec<KeyAddress>> {
        let step = |to: usize| KeyAddress { shape: self.shape(), name: KeyName::ReduceRank(to) };
        if rank == self.rank() {
            return Some(Vec::new());
        }
        if rank > self.rank() {
            return None;
        }
        if has(step(rank), level) {
            return Some(vec![step(rank)]);
        }
        (rank + 1..self.rank()).rev().filter(|&between| has(step(between), level)).find_map(|between| {
            let mut rest = self.at_rank(between).ok()?.reduction_route(rank, level, has)?;
            rest.insert(0, step(between));
            Some(rest)
        })
    }

    /// The keys that `operation` uses at `level` if the owner has made every key that these parameters allow.
    pub(crate) fn full_route(&self, operation: Operation, level: Level) -> Option<Route> {
        let possible = |address: KeyAddress, level: Level| {
            let params =
                if address.shape == self.shape() { Ok(self.clone()) } else { self.relative(address.shape) };
            params
                .and_then(|params| params.key_definition(address.name))
                .is_ok_and(|definition| level <= definition.most)
        };
        self.route(operation, level, self.slot_count(), &possible)
    }

    /// The rotations by powers of two, left and right, up to half the slots.
    pub(crate) fn power_elements(&self) -> Vec<GaloisElement> {
        let (slots, degree) = (self.slot_count() as i64, self.degree());
        let mut elements = Vec::new();
        let mut step = 1;
        while step < slots {
            for element in [GaloisElement::rotation(step, degree), GaloisElement::rotation(-step, degree)] {
                if !elements.contains(&element) {
                    elements.push(element);
                }
            }
            step *= 2;
        }
        elements
    }

    /// The error for a missing key of `operation`, which names the keys that exist.
    pub(crate) fn missing_key(&self, operation: Operation, held: impl Iterator<Item = KeyName>) -> CkksError {
        let held = match operation {
            Operation::Multiply => "none".to_owned(),
            Operation::Rotate { secret: SecretName::Main, .. } | Operation::RotateByPowers => {
                list(self.signed_steps(held))
            }
            Operation::ReduceRank(_) => list(held.filter_map(|name| match name {
                KeyName::ReduceRank(rank) => Some(rank),
                _ => None,
            })),
            _ => list(held),
        };
        CkksError::MissingKey { operation, shape: self.shape(), held }
    }

    /// The rotation steps among `names`, in `[0, slots)`, ascending.
    pub(crate) fn rotation_steps(&self, names: impl Iterator<Item = KeyName>) -> Vec<i64> {
        let elements: std::collections::BTreeSet<usize> = names
            .filter_map(|name| match name {
                KeyName::Automorphism { secret: SecretName::Main, element } => Some(element.value()),
                _ => None,
            })
            .collect();
        let (degree, mut element) = (self.degree(), 1usize);
        let mut steps = Vec::new();
        for step in 0..(degree / 2) as i64 {
            if elements.contains(&element) {
                steps.push(step);
            }
            element = element * 5 % (2 * degree);
        }
        steps
    }

    /// As [`Params::rotation_steps`], with steps beyond half the slots as negative numbers.
    fn signed_steps(&self, names: impl Iterator<Item = KeyName>) -> Vec<i64> {
        let slots = self.slot_count() as i64;
        self.rotation_steps(names)
            .into_iter()
            .map(|step| if step > slots / 2 { step - slots } else { step })
            .collect()
    }
}

fn list(items: impl IntoIterator<Item: ToString>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// Refuses reductions of the rank by less than half unless `single_steps` allows them, because chains of keys
/// `k -> k - 1 -> k - 2` are a possible weakness. [dpad-he, footnote 4]
pub(crate) fn check_reduction(from: ModuleShape, to: usize, single_steps: bool) -> Result<(), CkksError> {
    if to <= from.rank.div_ceil(2) || single_steps {
        return Ok(());
    }
    let remedy = format!(
        "reduce to {} or less, or say `single_steps`: keys for many steps of less than half are a possible weakness",
        from.rank.div_ceil(2)
    );
    Err(CkksError::rank_step(from.rank, to, remedy))
}
