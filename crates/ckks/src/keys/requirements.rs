//! Translates operations into keys: the names of the keys that the owner makes, each with the highest level
//! that it must serve.

use std::collections::BTreeMap;

use clathrate_lattice::Level;

use super::needs::{Descent, KeyLevel, KeyNeeds};
use super::route::{check_reduction, trace_operations};
use crate::error::CkksError;
use crate::names::{KeyAddress, KeyName, Operation, SecretName, Switch};
use crate::parameters::Params;
use crate::shape::ModuleShape;

/// Keys by name and shape, each with the highest level that it must serve.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRequirements {
    levels: BTreeMap<KeyAddress, Level>,
}

impl KeyRequirements {
    /// Requires the key at `address` for levels up to `level`.
    pub fn require(&mut self, address: KeyAddress, level: Level) {
        let slot = self.levels.entry(address).or_insert(level);
        *slot = (*slot).max(level);
    }

    /// The keys and their levels, in the order in which they are made and stored.
    pub fn iter(&self) -> impl Iterator<Item = (KeyAddress, Level)> {
        self.levels.iter().map(|(&address, &level)| (address, level))
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// Whether no key is required.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Bytes of all keys in memory.
    pub fn bytes(&self, params: &Params) -> Result<usize, CkksError> {
        let bytes = |(address, level): (KeyAddress, Level)| params.definition_at(address)?.bytes(level);
        self.iter().map(bytes).sum()
    }
}

impl Params {
    /// The needs of a conversion to the higher degree: rotations at that degree, and for conversions from
    /// degree 1 also the conjugation.
    #[must_use]
    pub fn rlwe_needs(&self, key_level: KeyLevel) -> KeyNeeds {
        self.rlwe_needs_under(SecretName::Main, key_level)
    }

    /// As [`Params::rlwe_needs`], for arrays under `secret`, which is the main secret or the secret of
    /// several bodies. Arrays under other secrets cannot be converted and need nothing.
    #[must_use]
    pub fn rlwe_needs_under(&self, secret: SecretName, key_level: KeyLevel) -> KeyNeeds {
        let target = self.rlwe_shape();
        if target == self.shape() {
            return KeyNeeds::new();
        }
        let operations =
            trace_operations(secret, self.degree(), target.degree).unwrap_or_default().into_iter();
        let needs =
            operations.fold(KeyNeeds::new(), |needs, operation| needs.operation(operation, key_level));
        KeyNeeds::new().relative(target, &needs)
    }

    /// The keys that the operations in `needs` use; `needs` is stated for this shape.
    ///
    /// # Errors
    /// `NoSpecialPrimes` where these parameters cannot switch; [`CkksError::Unsupported`] unless ranks go
    /// down, and by at least half unless single steps are allowed, and for secrets that the parameters do not
    /// have; [`CkksError::InvalidParams`] for shapes that cannot be reached.
    pub fn required_keys(&self, needs: &KeyNeeds) -> Result<KeyRequirements, CkksError> {
        let mut shapes = BTreeMap::new();
        self.collect(needs, &mut shapes)?;
        let mut required = KeyRequirements::default();
        for (params, needs) in shapes.values() {
            for (operation, key_level) in needs.operations() {
                params.require(operation, key_level, needs.allows_single_steps(), &mut required)?;
            }
        }
        Ok(required)
    }

    /// Collects the needs by shape: merges all needs of one shape and follows sequences of rank reductions.
    fn collect(
        &self,
        needs: &KeyNeeds,
        shapes: &mut BTreeMap<ModuleShape, (Self, KeyNeeds)>,
    ) -> Result<(), CkksError> {
        let entry = shapes.entry(self.shape()).or_insert_with(|| (self.clone(), KeyNeeds::new()));
        let own = needs
            .operations()
            .fold(KeyNeeds::new(), |own, (operation, key_level)| own.operation(operation, key_level));
        let own = if needs.allows_single_steps() { own.single_steps() } else { own };
        entry.1 = std::mem::take(&mut entry.1).merge(&own);
        for (shape, relative) in needs.relatives() {
            self.with_keys_at(shape)?.collect(relative, shapes)?;
        }
        needs.descents().iter().try_for_each(|descent| self.descend(descent, shapes))
    }

    fn descend(
        &self,
        descent: &Descent,
        shapes: &mut BTreeMap<ModuleShape, (Self, KeyNeeds)>,
    ) -> Result<(), CkksError> {
        let Descent { ranks, to_rlwe, key_level, needs } = descent;
        let mut at = self.clone();
        for step in 0..=ranks.len() {
            at.collect(self.possible_at(&at, needs)?, shapes)?;
            if *to_rlwe {
                at.collect(&at.rlwe_needs(*key_level), shapes)?;
                let higher = at.rlwe_shape();
                if higher != at.shape() {
                    let higher = at.relative(higher)?;
                    higher.collect(self.possible_at(&higher, needs)?, shapes)?;
                }
            }
            let Some(&rank) = ranks.get(step) else { break };
            if rank == 0 || rank >= at.rank() {
                let remedy =
                    "name the ranks from the highest to the lowest, each below the one before it".to_owned();
                return Err(CkksError::rank_step(at.rank(), rank, remedy));
            }
            let reduction = KeyNeeds::new().reduce_to(rank, *key_level);
            at.collect(
                &if needs.allows_single_steps() { reduction.single_steps() } else { reduction },
                shapes,
            )?;
            at = at.at_rank(rank)?;
        }
        Ok(())
    }

    /// Returns `needs`; an error if they need a temporary rank that this shape has but `at` lacks.
    fn possible_at<'n>(&self, at: &Self, needs: &'n KeyNeeds) -> Result<&'n KeyNeeds, CkksError> {
        if needs.key_level_of(Operation::RotateByPowers).is_some()
            && at.temporary().is_none()
            && self.temporary().is_some()
        {
            let reason = format!(
                "degree and rank {} have no temporary rank that is as secure as these parameters: ask for rotations by powers of two apart, \
                 and for `rotations` by steps there",
                at.shape()
            );
            return Err(CkksError::InvalidParams { reason });
        }
        Ok(needs)
    }

    /// Requires the keys of one operation at all levels up to `key_level`.
    fn require(
        &self,
        operation: Operation,
        key_level: KeyLevel,
        single_steps: bool,
        required: &mut KeyRequirements,
    ) -> Result<(), CkksError> {
        let mut most = self.max_level();
        if let Operation::ReduceRank(to) = operation {
            most = self.key_definition(KeyName::ReduceRank(to))?.most;
            check_reduction(self.shape(), to, single_steps)?;
        }
        let ephemeral =
            matches!(operation, Operation::Switch(Switch::ChangeSecret { to, .. }) if to.is_ephemeral());
        if ephemeral
            || matches!(
                operation,
                Operation::Switch(Switch::Pack { onto: SecretName::Ephemeral | SecretName::Packing, .. })
            )
        {
            most = Level(0);
        }
        if let Operation::Switch(Switch::RaiseToSlots(map)) = operation {
            // The key contains all primes, whatever level a ciphertext is raised to.
            let name = KeyName::Switch(Switch::RaiseToSlots(map));
            required.require(KeyAddress { shape: self.shape(), name }, self.key_definition(name)?.most);
            return Ok(());
        }
        let top = key_level.level(most);
        // Only products use different keys at different levels.
        let first = if operation == Operation::Multiply { 0 } else { top.0 };
        for level in (first..=top.0).map(Level) {
            let route = self.full_route(operation, level).ok_or_else(|| self.impossible(operation))?;
            route.keys().for_each(|key| required.require(key, level));
        }
        Ok(())
    }

    /// The error that says why these parameters have no keys for `operation`.
    fn impossible(&self, operation: Operation) -> CkksError {
        let name = match operation {
            Operation::Multiply => KeyName::Relinearise,
            Operation::Conjugate(secret) => self.conjugation_key(secret),
            Operation::Rotate { secret, steps } => self.rotation_key(secret, steps),
            Operation::RotateByPowers => self.rotation_key(SecretName::Temporary, 1),
            Operation::ReduceRank(rank) => KeyName::ReduceRank(rank),
            Operation::Switch(switch) => KeyName::Switch(switch),
        };
        let unknown = || CkksError::MissingKey { operation, shape: self.shape(), held: "none".to_owned() };
        self.key_definition(name).err().unwrap_or_else(unknown)
    }
}
