//! Applies the keys of one operation to bundles.

use clathrate_lattice::multiply::Tensor;
use clathrate_lattice::{Bundle, Eval};

use super::Evaluator;
use crate::arrays::Ciphertext;
use crate::error::CkksError;
use crate::keys::{Found, HeldKey, KeyName};

/// The operation's name in errors.
const PRODUCT: &str = "a product";

impl HeldKey {
    /// Switches a bundle's mask with this key and applies the automorphism that belongs to the key.
    fn apply(&self, bundle: &Bundle<Eval>) -> Result<Bundle<Eval>, CkksError> {
        let switcher = self.switcher()?;
        Ok(match (self.definition().name, self.automorphism()) {
            (KeyName::ReduceRank(rank), _) => bundle.reduce_rank(rank, switcher, self.key())?,
            (_, Some(phi)) => bundle.rotate(phi, switcher, self.key())?,
            (_, None) => bundle.switch_secret(switcher, self.key())?,
        })
    }
}

impl Found<'_> {
    /// Applies a rotation, a conjugation, a reduction of the rank or a change of the secret.
    pub(crate) fn apply(&self, bundle: &Bundle<Eval>) -> Result<Bundle<Eval>, CkksError> {
        match self {
            Self::Nothing => Ok(bundle.clone()),
            Self::InTurn(keys) => match keys.split_first() {
                None => Ok(bundle.clone()),
                Some((first, rest)) => {
                    rest.iter().try_fold(first.apply(bundle)?, |bundle, key| key.apply(&bundle))
                }
            },
            Self::TemporaryRank(keys, way_back) => {
                let steps: Vec<_> =
                    keys.iter().filter_map(|held| Some((held.automorphism()?, held.key()))).collect();
                Ok(bundle.rotate_rank_hoisted(&steps, *way_back)?)
            }
        }
    }

    /// Relinearises a product without a rescale.
    pub(crate) fn relinearise(&self, tensor: &Tensor) -> Result<Bundle<Eval>, CkksError> {
        match self {
            Self::TemporaryRank(keys, way_back) => {
                Ok(tensor.cross_relinearise(*way_back, first(keys)?.key())?)
            }
            Self::InTurn(keys) => {
                let held = first(keys)?;
                Ok(tensor.relinearise(held.switcher()?, held.key())?)
            }
            Self::Nothing => Err(CkksError::Internal { operation: PRODUCT }),
        }
    }

    /// Relinearises and rescales a product with a single division.
    pub(crate) fn relinearise_rescale(&self, tensor: &Tensor) -> Result<Bundle<Eval>, CkksError> {
        match self {
            Self::TemporaryRank(keys, way_back) => {
                Ok(tensor.cross_relinearise_rescale(*way_back, first(keys)?.key())?)
            }
            Self::InTurn(keys) => {
                let held = first(keys)?;
                Ok(tensor.relinearise_rescale(held.switcher()?, held.key())?)
            }
            Self::Nothing => Err(CkksError::Internal { operation: PRODUCT }),
        }
    }
}

impl Evaluator {
    /// The bundles of `x`, to each of which `keys` are applied; none on symbols, where there are no keys.
    pub(super) fn applied(
        &self,
        keys: Option<&Found<'_>>,
        x: &Ciphertext,
    ) -> Result<Vec<Bundle<Eval>>, CkksError> {
        keys.map_or_else(|| Ok(Vec::new()), |keys| self.for_each(&x.bundles, |bundle| keys.apply(bundle)))
    }
}

fn first<'k>(keys: &[&'k HeldKey]) -> Result<&'k HeldKey, CkksError> {
    keys.first().copied().ok_or(CkksError::Internal { operation: PRODUCT })
}
