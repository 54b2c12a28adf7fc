//! The key set that an evaluator holds: switching keys by name and shape.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::{Level, SwitchKey, Switcher, TemporaryRank};

use super::definition::KeyDefinition;
use super::needs::{KeyLevel, KeyNeeds};
use super::route::Route;
use crate::error::CkksError;
use crate::key_id::KeyId;
use crate::names::{KeyAddress, KeyName, Operation, SecretName};
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// A switching key and its definition.
#[derive(Debug, Clone)]
pub struct HeldKey {
    definition: KeyDefinition,
    key: SwitchKey,
    automorphism: Option<Automorphism>,
}

impl HeldKey {
    pub(crate) fn new(definition: KeyDefinition, key: SwitchKey, degree: usize) -> Self {
        let automorphism = definition.automorphism.map(|element| Automorphism::new(element, degree));
        Self { definition, key, automorphism }
    }

    /// The key's definition.
    #[must_use]
    pub fn definition(&self) -> &KeyDefinition {
        &self.definition
    }

    /// The key itself.
    #[must_use]
    pub fn key(&self) -> &SwitchKey {
        &self.key
    }

    /// The automorphism that follows the switch.
    pub(crate) fn automorphism(&self) -> Option<&Automorphism> {
        self.automorphism.as_ref()
    }

    /// The switcher that uses the key.
    pub(crate) fn switcher(&self) -> Result<&Switcher, CkksError> {
        self.definition.switcher()
    }
}

/// The keys of one operation, found in a key set.
#[derive(Debug, Clone)]
pub(crate) enum Found<'k> {
    /// The operation switches nothing.
    Nothing,
    /// One switch after another.
    InTurn(Vec<&'k HeldKey>),
    /// Switches at the temporary rank, then the rank-down.
    TemporaryRank(Vec<&'k HeldKey>, TemporaryRank<'k>),
}

impl<'k> Found<'k> {
    /// The key of an operation that is one switch; `None` for an operation without switches or with several.
    pub(crate) fn single(&self) -> Option<&'k HeldKey> {
        match self {
            Self::InTurn(keys) if keys.len() == 1 => Some(keys[0]),
            _ => None,
        }
    }

    /// As [`Found::single`], for an operation that is always one switch.
    ///
    /// # Errors
    /// [`CkksError::NoKeys`].
    pub(crate) fn only(&self, operation: &'static str) -> Result<&'k HeldKey, CkksError> {
        self.single().ok_or(CkksError::NoKeys { operation })
    }
}

/// The public keys that an evaluator needs to compute: switching keys, no secrets.
///
/// ```
/// use clathrate_ckks::prelude::*;
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let owner = SecretKey::generate(&params)?;
/// let keys = owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top).rotations([1, 4], KeyLevel::Top))?;
/// assert_eq!(keys.rotation_steps(), [1, 4]);
///
/// // The owner stores them; whoever computes loads them.
/// let file = keys.to_file_bytes()?;
/// let keys = EvaluationKeys::from_reader(&FileReader::from_bytes(&file)?, &params)?;
/// let turned = Evaluator::with_keys(keys).rotate(&owner.encrypt(&[1.0, 2.0])?, 1)?;
/// assert!((owner.decrypt(&turned)?.into_real()?[0] - 2.0).abs() < 1e-6);
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct EvaluationKeys {
    params: Params,
    id: KeyId,
    keys: BTreeMap<KeyAddress, Arc<HeldKey>>,
    /// Cache of the variances that operations with these keys add.
    variances: Variances,
}

/// Variances that were computed once, by shape, operation, level and the period of the slots.
#[derive(Debug, Default)]
struct Variances(Mutex<HashMap<(ModuleShape, Operation, Level, usize), f64>>);

impl Clone for Variances {
    /// An empty cache, because a copy of the set may get other keys.
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The keys of one shape of a key set.
#[derive(Debug, Clone, Copy)]
pub struct KeysOfShape<'k> {
    all: &'k EvaluationKeys,
    shape: ModuleShape,
}

impl EvaluationKeys {
    /// No keys yet.
    pub(crate) fn none(params: &Params, id: KeyId) -> Self {
        Self { params: params.clone(), id, keys: BTreeMap::new(), variances: Variances::default() }
    }

    /// Adds a key; returns whether the set had no key at this address.
    pub(crate) fn insert(&mut self, address: KeyAddress, key: HeldKey) -> bool {
        self.keys.insert(address, Arc::new(key)).is_none()
    }

    /// The union of both sets, which must belong to one secret. If both have a key of one name, the key with
    /// the higher level is taken. Keys are shared, not copied.
    ///
    /// # Errors
    /// [`CkksError::WrongParams`], [`CkksError::WrongSecret`] if the sets belong to different parameters or
    /// secrets.
    pub fn merged(&self, other: &Self) -> Result<Self, CkksError> {
        self.params.check_same(&other.params, "the other set of evaluation keys")?;
        self.id.check_same(other.id, "the other set of evaluation keys")?;
        let mut all = self.clone();
        for (&address, key) in &other.keys {
            if all.keys.get(&address).is_none_or(|own| own.key.level() < key.key.level()) {
                all.keys.insert(address, key.clone());
            }
        }
        Ok(all)
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public name of the secret that the keys belong to.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The keys by name and shape.
    pub fn iter(&self) -> impl Iterator<Item = (KeyAddress, &HeldKey)> {
        self.keys.iter().map(|(&address, key)| (address, &**key))
    }

    /// The key called `address`, if there is one.
    #[must_use]
    pub fn get(&self, address: KeyAddress) -> Option<&HeldKey> {
        self.keys.get(&address).map(|held| &**held)
    }

    /// Whether there is a key called `address` that serves `level`.
    fn serves(&self, address: KeyAddress, level: Level) -> bool {
        self.keys.get(&address).is_some_and(|held| level <= held.key.level())
    }

    /// The names of the keys at `shape`.
    fn names_at(&self, shape: ModuleShape) -> impl Iterator<Item = KeyName> {
        self.keys.keys().filter(move |address| address.shape == shape).map(|address| address.name)
    }

    /// The keys at `shape`.
    ///
    /// # Errors
    /// [`CkksError::NoRelativeKeys`] for another shape without keys; it lists the shapes with keys.
    pub fn relative(&self, shape: ModuleShape) -> Result<KeysOfShape<'_>, CkksError> {
        if shape == self.params.shape() || self.names_at(shape).next().is_some() {
            return Ok(KeysOfShape { all: self, shape });
        }
        let shapes: Vec<String> = self.shapes().iter().map(ToString::to_string).collect();
        Err(CkksError::NoRelativeKeys { shape, available: shapes.join(", ") })
    }

    /// The shapes that the set has keys for; the shape of the set's own parameters comes first.
    #[must_use]
    pub fn shapes(&self) -> Vec<ModuleShape> {
        let mut shapes = vec![self.params.shape()];
        for address in self.keys.keys().rev() {
            if !shapes.contains(&address.shape) {
                shapes.push(address.shape);
            }
        }
        shapes
    }

    /// The keys of `operation` at the shape of `params` and at `level`, for slots that repeat with the period
    /// `period`.
    ///
    /// # Errors
    /// An error that says whether the key is missing or only serves lower levels.
    pub(crate) fn find(
        &self,
        params: &Params,
        operation: Operation,
        level: Level,
        period: usize,
    ) -> Result<Found<'_>, CkksError> {
        let serves = |address, level| self.serves(address, level);
        let Some(route) = params.route(operation, level, period, &serves) else {
            return Err(self.missing(params, operation, level, period));
        };
        let held = |address: KeyAddress| {
            self.get(address).ok_or_else(|| self.missing(params, operation, level, period))
        };
        Ok(match route {
            Route::Nothing => Found::Nothing,
            Route::InTurn(keys) => Found::InTurn(keys.into_iter().map(held).collect::<Result<_, _>>()?),
            Route::TemporaryRank { up, down } => {
                let up = up.into_iter().map(held).collect::<Result<Vec<_>, _>>()?;
                let down = held(down)?;
                let wide = up.first().map_or_else(|| down.switcher(), |key| key.switcher())?;
                Found::TemporaryRank(up, TemporaryRank { wide, base: down.switcher()?, down: &down.key })
            }
        })
    }

    /// The variance that the switches of `operation` with these keys, at the shape of `params` and at
    /// `level`, add to a coefficient, without the rounding of the last mod-down.
    pub(crate) fn variance(
        &self,
        params: &Params,
        operation: Operation,
        level: Level,
        period: usize,
    ) -> Result<f64, CkksError> {
        let place = (params.shape(), operation, level, period);
        let known = || self.variances.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&variance) = known().get(&place) {
            return Ok(variance);
        }
        let serves = |address, level| self.serves(address, level);
        let missing = || self.missing(params, operation, level, period);
        let route = params.route(operation, level, period, &serves).ok_or_else(missing)?;
        let held = route.keys().map(|address| {
            self.get(address).map(|held| (held.definition.clone(), held.key.level())).ok_or_else(missing)
        });
        let variance =
            params.route_variance(operation, level, &route, &held.collect::<Result<Vec<_>, _>>()?)?;
        known().insert(place, variance);
        Ok(variance)
    }

    /// What of `needs` these keys do not serve, in slots that repeat with `period`, and the operations'
    /// number and first names.
    fn lacking(
        &self,
        params: &Params,
        needs: &KeyNeeds,
        period: usize,
    ) -> Result<(KeyNeeds, Vec<Operation>), CkksError> {
        let missing_of = |params: &Params, needs: &KeyNeeds| -> Vec<(Operation, KeyLevel)> {
            let lacks = |&(needed, key_level): &(Operation, KeyLevel)| {
                self.find(params, needed, key_level.level(params.max_level()), period).is_err()
            };
            needs.operations().filter(lacks).collect()
        };
        let stated = |missing: &[(Operation, KeyLevel)]| {
            missing.iter().fold(KeyNeeds::new(), |own, &(needed, key_level)| own.operation(needed, key_level))
        };
        let mut missing = missing_of(params, needs);
        let mut own = stated(&missing);
        for (shape, relative) in needs.relatives() {
            let there = missing_of(&params.with_keys_at(shape)?, relative);
            own = own.relative(shape, &stated(&there));
            missing.extend(there);
        }
        Ok((own, missing.into_iter().map(|(operation, _)| operation).collect()))
    }

    /// What of `needs` these keys do not serve; their owner makes keys for it, and joins both sets
    /// ([`EvaluationKeys::merged`]).
    ///
    /// # Errors
    /// Those of the shapes that `needs` names.
    pub fn missing_of(&self, needs: &KeyNeeds) -> Result<KeyNeeds, CkksError> {
        Ok(self.lacking(self.params(), needs, self.params().slot_count())?.0)
    }

    /// Refuses `needs` that these keys do not serve, and lists all missing keys in one error before a long
    /// computation starts. Slots repeat with `period`.
    ///
    /// # Errors
    /// [`CkksError::MissingKeys`]; as [`Params::required_keys`].
    pub(crate) fn check_needs(
        &self,
        params: &Params,
        operation: &'static str,
        needs: &KeyNeeds,
        period: usize,
    ) -> Result<(), CkksError> {
        const SHOWN: usize = 6;
        let (own, missing) = self.lacking(params, needs, period)?;
        if missing.is_empty() {
            return Ok(());
        }
        let keys = params.required_keys(&own)?;
        let mut names: Vec<String> = missing.iter().take(SHOWN).map(ToString::to_string).collect();
        if missing.len() > SHOWN {
            names.push(format!("{} more", missing.len() - SHOWN));
        }
        Err(CkksError::MissingKeys {
            operation,
            count: keys.len(),
            bytes: keys.bytes(params)?,
            names: names.join(", "),
        })
    }

    /// The error for missing keys of `operation`: the set has keys for lower levels only, or no keys.
    fn missing(&self, params: &Params, operation: Operation, level: Level, period: usize) -> CkksError {
        let shape = params.shape();
        if let Err(error) = self.relative(shape) {
            return error;
        }
        let exists = |address, _| self.keys.contains_key(&address);
        if let Some(route) = params.route(operation, level, period, &exists) {
            let lowest = route.keys().filter_map(|address| Some(self.keys.get(&address)?.key.level())).min();
            if let Some(key_level) = lowest.filter(|&key_level| key_level < level) {
                return clathrate_lattice::LatticeError::KeyLevelTooLow {
                    key_level: key_level.0,
                    level: level.0,
                }
                .into();
            }
        }
        params.missing_key(operation, self.names_at(shape))
    }

    /// The keys at the shape of these parameters.
    #[must_use]
    pub fn own(&self) -> KeysOfShape<'_> {
        KeysOfShape { all: self, shape: self.params.shape() }
    }

    /// The relinearisation key of these parameters, if there is one; the cross-relinearisation key if
    /// products go through the temporary rank.
    #[must_use]
    pub fn relinearisation(&self) -> Option<&SwitchKey> {
        self.own().relinearisation()
    }

    /// The rotation steps, in `[0, slots)`, that have their own keys; rotations that are only composed of
    /// others are not listed.
    #[must_use]
    pub fn rotation_steps(&self) -> Vec<i64> {
        self.params.rotation_steps(self.own().names())
    }

    /// The ranks to which the set has reduction keys from the rank of these parameters.
    pub fn reduced_ranks(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.own().reduced_ranks().into_iter()
    }

    /// Whether every rotation can be composed of rotations by powers of two at the temporary rank.
    #[must_use]
    pub fn has_powers(&self) -> bool {
        self.own()
            .names()
            .any(|name| matches!(name, KeyName::Automorphism { secret: SecretName::Temporary, .. }))
    }

    /// Bytes of all keys in memory, with their masks expanded from the seeds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.keys.values().map(|held| held.key.bytes()).sum()
    }
}

impl<'k> KeysOfShape<'k> {
    /// The key called `name`, if there is one.
    #[must_use]
    pub fn get(self, name: KeyName) -> Option<&'k SwitchKey> {
        self.all.get(KeyAddress { shape: self.shape, name }).map(HeldKey::key)
    }

    /// The relinearisation key, if there is one; the cross-relinearisation key if products go through the
    /// temporary rank.
    #[must_use]
    pub fn relinearisation(self) -> Option<&'k SwitchKey> {
        let names = [KeyName::CrossRelinearise, KeyName::Relinearise, KeyName::DirectRelinearise];
        names.into_iter().find_map(|name| self.get(name))
    }

    /// The key of a rotation by exactly `steps`, if the set has one.
    #[must_use]
    pub fn rotation(self, steps: i64) -> Option<&'k SwitchKey> {
        self.get(KeyName::Automorphism {
            secret: SecretName::Main,
            element: GaloisElement::rotation(steps, self.shape.degree),
        })
    }

    /// The conjugation key, if the set has one.
    #[must_use]
    pub fn conjugation(self) -> Option<&'k SwitchKey> {
        self.get(KeyName::Automorphism {
            secret: SecretName::Main,
            element: GaloisElement::conjugation(self.shape.degree),
        })
    }

    /// The ranks to which the set has reduction keys, ascending.
    #[must_use]
    pub fn reduced_ranks(self) -> Vec<usize> {
        self.names()
            .filter_map(|name| if let KeyName::ReduceRank(rank) = name { Some(rank) } else { None })
            .collect()
    }

    /// The names of the keys.
    pub fn names(self) -> impl Iterator<Item = KeyName> + 'k {
        self.all.names_at(self.shape)
    }
}
