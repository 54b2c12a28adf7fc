//! Making of evaluation keys: the required keys are listed, insecure ones are refused, and each key is then
//! made from its definition.

use std::borrow::Cow;

use clathrate_lattice::{SecretRng, SwitchKey};

use super::evaluation::{EvaluationKeys, HeldKey};
use super::needs::KeyNeeds;
use super::secret::SecretKey;
use crate::arrays::memory::check_free;
use crate::error::CkksError;
use crate::names::{KeyAddress, KeyName, Switch};
use crate::parameters::Params;

impl SecretKey {
    /// Exactly the evaluation keys that `needs` states.
    ///
    /// # Errors
    /// As [`Params::required_keys`]; [`CkksError::Insecure`] for a key whose secret does not protect its
    /// modulus; [`CkksError::NotEnoughMemory`]; [`CkksError::Cancelled`].
    pub fn evaluation_keys(&self, needs: &KeyNeeds) -> Result<EvaluationKeys, CkksError> {
        self.randomness.draw(|rng| self.make_keys(needs, rng))
    }

    fn make_keys(&self, needs: &KeyNeeds, rng: &mut SecretRng) -> Result<EvaluationKeys, CkksError> {
        let required = self.params.required_keys(needs)?;
        let mut work = Vec::with_capacity(required.len());
        for (address, level) in required.iter() {
            let definition = self.params.definition_at(address)?;
            definition.check_security(level)?;
            work.push((address, level, definition));
        }
        let remedy = "ask for fewer keys or lower levels, or give bootstraps a limit on the bytes of keys";
        check_free("making these evaluation keys", required.bytes(&self.params)?, remedy)?;
        let mut steps = self.progress.steps(work.len());
        let mut keys = EvaluationKeys::none(&self.params, self.id);
        for (address, level, definition) in work {
            steps.begin()?;
            let owner = self.relative(&self.params.with_keys_at(address.shape)?)?;
            let (chain, gadget) = (definition.chain()?, definition.gadget()?);
            let source = match definition.name {
                KeyName::Switch(Switch::Pack { from, under, .. }) => {
                    Cow::Owned(owner.of_samples(under, from)?)
                }
                _ => owner.named(definition.source().secret)?,
            };
            let target = owner.named(definition.target.secret)?;
            let matrix = definition.matrix(&source, chain.ring(), &chain.key_basis(level))?;
            let target = definition.target_secret(&target)?;
            let key = SwitchKey::generate(chain, gadget, level, &matrix, &target, rng)?;
            keys.insert(address, HeldKey::new(definition, key, address.shape.degree));
        }
        steps.finish()?;
        Ok(keys)
    }
}

impl Params {
    /// The parameters and definition of the key called `address`.
    pub fn definition_at(&self, address: KeyAddress) -> Result<super::definition::KeyDefinition, CkksError> {
        self.with_keys_at(address.shape)?.key_definition(address.name)
    }
}
