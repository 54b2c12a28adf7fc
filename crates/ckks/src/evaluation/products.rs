//! Products of ciphertexts.

use std::borrow::Cow;

use clathrate_lattice::{Bundle, Eval, Level};

use super::evaluator::{Evaluator, check_slots, entrywise};
use crate::arrays::Ciphertext;
use crate::error::CkksError;
use crate::keys::{Found, Operation};

/// The name of a product of ciphertexts in errors.
const PRODUCT: &str = "a product of ciphertexts";

impl Evaluator {
    /// Refuses factors before any key is looked for, or written down on a dry run.
    fn check_factors(&self, x: &Ciphertext, y: &Ciphertext) -> Result<(), CkksError> {
        self.check_pair(x, y, PRODUCT)?;
        check_slots(x, PRODUCT)?;
        x.check_main(PRODUCT)
    }

    fn multiply_operands<'c>(
        &self,
        x: &'c Ciphertext,
        y: &'c Ciphertext,
    ) -> Result<(Cow<'c, Ciphertext>, Cow<'c, Ciphertext>, f64), CkksError> {
        let level = x.level.min(y.level);
        let (x, y) = (self.at_level(x, level)?, self.at_level(y, level)?);
        let scale = x.scale * y.scale;
        if let Err(no_room) = x.params.check_scale(scale, level) {
            let higher = (level.0 + 1..=x.params.max_level().0).find(|&higher| x.params.check_scale(scale, Level(higher)).is_ok());
            return Err(higher.map_or(no_room, |needed| CkksError::LevelTooLow { operation: PRODUCT, needed, level: level.0 }));
        }
        x.params.check_bound(x.estimate.clone().multiply(y.estimate.clone()).magnitude, scale, level)?;
        Ok((x, y, scale))
    }

    fn finish_product(&self, x: &Ciphertext, y: &Ciphertext, bundles: Vec<Bundle<Eval>>, level: Level, scale: f64) -> Ciphertext {
        let product = x.with(bundles, level, scale).estimated(|own| own.multiply(y.estimate.clone()));
        // A product is zero where one of the factors is.
        entrywise(product, (x, y), x.padding().min(y.padding()))
    }

    /// `x * y`, element by element, relinearised, not yet rescaled.
    ///
    /// # Errors
    /// [`CkksError::NoKeys`], [`CkksError::NoRelinearisationKey`]; [`CkksError::SecretWithoutKeys`] for several bodies under one mask; shape, encoding,
    /// layout, level, scale and secret errors.
    pub fn multiply(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check_factors(x, y)?;
        let (x, y) = &self.refreshed_factors(x, y)?;
        let keys = self.keys_for(&x.params, x, PRODUCT, Operation::Multiply, x.level.min(y.level))?;
        let (x, y, scale) = self.multiply_operands(x, y)?;
        let product = |keys: &Found<'_>, a: &Bundle<Eval>, b: &Bundle<Eval>| keys.relinearise(&a.tensor(b)?);
        let pairs = || self.ticking(x.bundles.iter().zip(&y.bundles));
        let products = |keys: &Found<'_>| pairs().map(|pair| pair.and_then(|(a, b)| product(keys, a, b))).collect();
        let bundles = keys.as_ref().map_or_else(|| Ok(Vec::new()), products)?;
        self.spend(&x, || Ok(x.params.tensor_cost(x.level)))?;
        self.switched(&x.params, self.finish_product(&x, &y, bundles, x.level, scale), Operation::Multiply, x.level, 1.0)
    }

    /// `x * y`, relinearised and rescaled by one division, which is faster and less noisy than two divisions.
    ///
    /// # Errors
    /// As [`Evaluator::multiply`] and [`Evaluator::rescale`].
    pub fn multiply_rescale(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.check_factors(x, y)?;
        let (x, y) = &self.refreshed_factors(x, y)?;
        let keys = self.keys_for(&x.params, x, PRODUCT, Operation::Multiply, x.level.min(y.level))?;
        let (x, y, scale) = self.multiply_operands(x, y)?;
        let (level, rescaled) = self.rescaled(&x, x.level, scale)?;
        let product = |keys: &Found<'_>, a: &Bundle<Eval>, b: &Bundle<Eval>| keys.relinearise_rescale(&a.tensor(b)?);
        let pairs = || self.ticking(x.bundles.iter().zip(&y.bundles));
        let products = |keys: &Found<'_>| pairs().map(|pair| pair.and_then(|(a, b)| product(keys, a, b))).collect();
        let bundles = keys.as_ref().map_or_else(|| Ok(Vec::new()), products)?;
        self.spend(&x, || Ok(x.params.tensor_cost(x.level)))?;
        let product = self.finish_product(&x, &y, bundles, level, rescaled);
        self.switched(&x.params, product, Operation::Multiply, x.level, x.params.step_product(x.level))
    }

    /// `x * x`, relinearised, not yet rescaled.
    ///
    /// # Errors
    /// As [`Evaluator::multiply`].
    pub fn square(&self, x: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.multiply(x, x)
    }
}
